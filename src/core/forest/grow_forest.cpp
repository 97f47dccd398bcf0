// Growing many trees, one a worker: draw the bag, grow on its rows, keep only what cannot be derived.
//
// What all trees read (columns, their codes and ranks) is made once; what a tree needs beside, its weights and lists,
// lives in its worker and goes when it is packed, so that memory is a matter of workers, not of trees.

#include "forest/grow_forest.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>

#include "grow/grow.hpp"
#include "util/fixed_point.hpp"
#include "util/rng.hpp"
#include "util/thread_pool.hpp"

namespace treewise {
namespace {

// -- what is kept -----------------------------------------------------------------------------------------------------

template <class T>
std::vector<T> only(const std::vector<T>& all, const std::vector<uint32_t>& nodes) {
    std::vector<T> some(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) some[i] = all[nodes[i]];
    return some;
}

// An array that says nothing is left out.
template <class T>
void drop_if_all(std::vector<T>& values, T nothing) {
    if (std::all_of(values.begin(), values.end(), [&](T v) { return v == nothing; })) values = {};
}

std::vector<double> decreases(const Nodes& n, size_t n_columns) {
    std::vector<double> gone(n_columns, 0.0);
    for (size_t i = 0; i < n.kind.size(); ++i)
        if (n.kind[i] != kLeaf) gone[static_cast<size_t>(n.column[i])] += n.gain[i] * (n.weight[i] / n.weight[0]);
    return gone;
}

void keep_counts(const Nodes& n, const std::vector<uint32_t>& leaves, Member& m) {
    for (uint32_t leaf : leaves) {
        const auto begin = static_cast<size_t>(n.count_start[leaf]), end = static_cast<size_t>(n.count_start[leaf + 1]);
        m.n_counts.push_back(static_cast<int32_t>(end - begin));
        m.count_class.insert(m.count_class.end(), n.count_class.begin() + begin, n.count_class.begin() + end);
        m.count_weight.insert(m.count_weight.end(), n.count_weight.begin() + begin, n.count_weight.begin() + end);
    }
}

Member pack(Nodes&& n, size_t n_columns, const Settings& settings) {
    Member m;
    std::vector<uint32_t> inner, leaves;
    for (size_t i = 0; i < n.kind.size(); ++i)
        (n.kind[i] == kLeaf ? leaves : inner).push_back(static_cast<uint32_t>(i));
    m.decrease = decreases(n, n_columns);
    m.column = only(n.column, inner);
    m.cut = only(n.cut, inner);
    m.cut_int = only(n.cut_int, inner);
    m.missing = only(n.missing, inner);
    m.other = only(n.other, inner);
    m.missing_rows = only(n.missing_rows, inner);
    m.n_codes.reserve(inner.size());
    for (uint32_t i : inner) m.n_codes.push_back(static_cast<int32_t>(n.code_start[i + 1] - n.code_start[i]));
    m.codes = std::move(n.codes);
    drop_if_all(m.cut_int, int64_t{0});
    drop_if_all(m.other, -1);
    drop_if_all(m.missing_rows, int64_t{0});
    drop_if_all(m.n_codes, 0);
    m.stop = only(n.stop, leaves);
    m.rows = only(n.rows, leaves);
    if (n.value.empty()) {
        keep_counts(n, leaves, m);
    } else {
        m.weight = only(n.weight, leaves);
        const bool by_leaf = settings.criterion == Criterion::squared_error;  // means and squares add up from leaves
        m.value = by_leaf ? only(n.value, leaves) : std::move(n.value);
        m.spread = by_leaf ? only(n.spread, leaves) : std::move(n.spread);
        if (!by_leaf) m.impurity = std::move(n.impurity);
    }
    m.kind = std::move(n.kind);
    return m;
}

// -- one tree ---------------------------------------------------------------------------------------------------------

class Nursery {
public:
    Nursery(const std::vector<Column>& columns, const Target& target, const Settings& settings, const Plan& plan,
            const Monitor& monitor)
        : columns_(columns), target_(target), settings_(settings), plan_(plan) {
        if (plan.n_columns == 0) shared_ = share(columns, target, settings, monitor);
    }

    struct Bench {  // a worker's own memory
        Bag bag;
        std::vector<int64_t> weight;
    };

    Member grow_member(int64_t t, Bench& bench, int n_jobs, const Monitor& monitor) const {
        const Bag& bag = bench.bag;
        draw_bag(plan_, t, target_.n_rows, columns_.size(), bench.bag);
        Settings settings = settings_;
        settings.seed = stir(plan_.seed, static_cast<uint64_t>(t));
        settings.n_jobs = n_jobs, settings.quartiles = false;
        const Target target = weigh(bench, settings);
        if (shared_)
            return pack(grow(columns_, target, settings, monitor, bag.rows, *shared_), columns_.size(), settings);
        std::vector<Column> some;
        for (uint32_t c : bag.columns) some.push_back(columns_[c]);
        const auto own = share(some, target, settings, monitor);
        Nodes nodes = grow(some, target, settings, monitor, bag.rows, *own);
        for (size_t i = 0; i < nodes.kind.size(); ++i)
            if (nodes.kind[i] != kLeaf)
                nodes.column[i] = static_cast<int32_t>(bag.columns[static_cast<size_t>(nodes.column[i])]);
        return pack(std::move(nodes), columns_.size(), settings);
    }

private:
    static constexpr int128 kMostWeight = int128{1} << 53;  // as integers.py promises of all rows together

    // What the bag's rows weigh, and the limits that are shares of them.
    Target weigh(Bench& bench, Settings& settings) const {
        const Bag& bag = bench.bag;
        Target target = target_;
        if (plan_.n_drawn > 0) {
            bench.weight.resize(static_cast<size_t>(target.n_rows));
            int shift = 0;
            while (add_weights(bench, shift) >= kMostWeight) shift += 8;  // a heavy row, drawn often
            target.weight = {reinterpret_cast<const std::byte*>(bench.weight.data()), sizeof(int64_t)};
            target.weight_scale = plan_.weight_scale - shift;
        }
        const auto n = static_cast<int64_t>(bag.rows.size());
        if (plan_.split.over) settings.min_samples_split = std::max<int64_t>(1, plan_.split.of(n));
        if (plan_.leaf.over) settings.min_samples_leaf = std::max<int64_t>(1, plan_.leaf.of(n));
        if (plan_.leaf_weight.over) {
            int64_t total = 0;
            for (uint32_t row : bag.rows) total += target.weight[row];
            settings.min_leaf_weight = plan_.leaf_weight.of(total);
        }
        return target;
    }
    // Each row's weight as often as it was drawn, coarser by some bits; returns their sum.
    int128 add_weights(Bench& bench, int shift) const {
        int128 total = 0;
        for (uint32_t row : bench.bag.rows) {
            const int128 exact = static_cast<int128>(plan_.weight[row]) * bench.bag.times[row];
            const int128 kept = std::max<int128>(1, exact >> shift);
            total += kept;
            bench.weight[row] = static_cast<int64_t>(std::min(kept, kMostWeight));
        }
        return total;
    }

    const std::vector<Column>& columns_;
    const Target& target_;
    const Settings& settings_;
    const Plan& plan_;
    std::shared_ptr<const Shared> shared_;  // of all columns; trees that draw theirs make their own
};

// What a tree gives back the next one takes. Of arrays that pass its threshold (128 kB, so those of more than 2^14
// rows) glibc returns it to the system instead, to be had page by page again, until it has seen a block as large given
// back, as whoever frees a large array lets it see: from then on it keeps what is smaller. Elsewhere this does nothing.
void keep_memory(int64_t n_rows) {
    if (n_rows <= 1 << 14) return;
    void* volatile block = std::malloc(size_t{16} << 20);
    std::free(block);
}

}  // namespace

// -- all of them ------------------------------------------------------------------------------------------------------

std::vector<Member> grow_forest(const std::vector<Column>& columns, const Target& target, const Settings& settings,
                                const Plan& plan, int64_t first, int64_t n_trees, const Monitor& monitor) {
    const auto n = static_cast<size_t>(n_trees);
    const bool alone = n == 1;  // then its threads work inside the tree
    keep_memory(target.n_rows);
    const Nursery nursery(columns, target, settings, plan, [&](double) { monitor(0.0); });
    std::vector<Member> members(n);
    Crew crew(alone ? 1 : static_cast<int>(std::min<size_t>(n, static_cast<size_t>(std::max(1, settings.n_jobs)))));
    std::vector<Nursery::Bench> benches(static_cast<size_t>(crew.size()));
    std::vector<std::atomic<double>> under_way(benches.size());  // share of each worker's tree that is grown
    std::atomic<size_t> finished = 0;
    const auto tell = [&] {
        auto done = static_cast<double>(finished);
        for (const auto& part : under_way) done += part;
        monitor(std::min(1.0, done / static_cast<double>(n)));
    };
    crew.share(
        n,
        [&](size_t i, int worker) {
            auto& part = under_way[static_cast<size_t>(worker)];
            const Monitor look = [&](double done) {
                part = done;
                if (worker == 0) return tell();
                if (crew.stopped()) throw Cancelled{};
            };
            members[i] = nursery.grow_member(first + static_cast<int64_t>(i), benches[static_cast<size_t>(worker)],
                                             alone ? settings.n_jobs : 1, look);
            part = 0.0, ++finished;
        },
        tell);
    return members;
}

}  // namespace treewise
