// Grows many trees in parallel, one per thread: draw a sample, grow on its rows, keep only what cannot be derived.
//
// What all trees share (columns, ranks) is computed once; a tree's own weights and lists belong to its thread and are
// freed once the tree is packed, so memory grows with the number of threads, not of trees.

#include "forest/grow_forest.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>

#include "forest/regression_grower.hpp"
#include "grow/grow.hpp"
#include "grow/shared_tables.hpp"
#include "util/fixed_point.hpp"
#include "util/rng.hpp"
#include "util/thread_pool.hpp"

namespace treewise {
namespace {

// -- packing ----------------------------------------------------------------------------------------------------------

template <class T>
std::vector<T> select(const std::vector<T>& all, const std::vector<uint32_t>& nodes) {
    std::vector<T> selected(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) selected[i] = all[nodes[i]];
    return selected;
}

// Constant arrays are stored empty.
template <class T>
void drop_if_constant(std::vector<T>& values, T default_value) {
    if (std::all_of(values.begin(), values.end(), [&](T v) { return v == default_value; })) values = {};
}

std::vector<double> impurity_decreases(const Nodes& n, size_t n_columns) {
    std::vector<double> sums(n_columns, 0.0);
    for (size_t i = 0; i < n.kind.size(); ++i)
        if (n.kind[i] != kLeaf) sums[static_cast<size_t>(n.column[i])] += n.gain[i] * (n.weight[i] / n.weight[0]);
    return sums;
}

void keep_counts(const Nodes& n, const std::vector<uint32_t>& leaves, PackedTree& tree) {
    for (uint32_t leaf : leaves) {
        const auto begin = static_cast<size_t>(n.count_start[leaf]), end = static_cast<size_t>(n.count_start[leaf + 1]);
        tree.n_counts.push_back(static_cast<int32_t>(end - begin));
        tree.count_class.insert(tree.count_class.end(), n.count_class.begin() + begin, n.count_class.begin() + end);
        tree.count_weight.insert(tree.count_weight.end(), n.count_weight.begin() + begin, n.count_weight.begin() + end);
    }
}

PackedTree pack(Nodes&& n, size_t n_columns, const Settings& settings) {
    PackedTree tree;
    std::vector<uint32_t> inner, leaves;
    for (size_t i = 0; i < n.kind.size(); ++i)
        (n.kind[i] == kLeaf ? leaves : inner).push_back(static_cast<uint32_t>(i));
    tree.impurity_decrease = impurity_decreases(n, n_columns);
    tree.column = select(n.column, inner);
    tree.cut = select(n.cut, inner);
    tree.cut_int = select(n.cut_int, inner);
    tree.missing = select(n.missing, inner);
    tree.other = select(n.other, inner);
    tree.missing_rows = select(n.missing_rows, inner);
    tree.n_codes.reserve(inner.size());
    for (uint32_t i : inner) tree.n_codes.push_back(static_cast<int32_t>(n.code_start[i + 1] - n.code_start[i]));
    tree.codes = std::move(n.codes);
    drop_if_constant(tree.cut_int, int64_t{0});
    drop_if_constant(tree.other, -1);
    drop_if_constant(tree.missing_rows, int64_t{0});
    drop_if_constant(tree.n_codes, 0);
    tree.stop = select(n.stop, leaves);
    tree.rows = select(n.rows, leaves);
    if (n.value.empty()) {
        keep_counts(n, leaves, tree);
    } else {
        tree.weight = select(n.weight, leaves);
        const bool by_leaf = settings.criterion ==
                             Criterion::squared_error;  // means and variances of inner nodes follow from the leaves
        tree.value = by_leaf ? select(n.value, leaves) : std::move(n.value);
        tree.spread = by_leaf ? select(n.spread, leaves) : std::move(n.spread);
        if (!by_leaf) tree.impurity = std::move(n.impurity);
    }
    tree.kind = std::move(n.kind);
    return tree;
}

// -- one tree ---------------------------------------------------------------------------------------------------------

class ForestGrower {
public:
    ForestGrower(const std::vector<Column>& columns, const Target& target, const Settings& settings,
                 const SamplingPlan& plan, const ProgressCallback& progress)
        : columns_(columns), target_(target), settings_(settings), plan_(plan) {
        if (plan.n_columns > 0) return;
        shared_tables_ = make_shared_tables(columns, target, settings, progress);
        is_plain_regression_ = is_plain_regression(columns, target, settings);
    }

    struct ThreadScratch {  // per-thread memory
        BootstrapSample sample;
        std::vector<int64_t> weight;
        RegressionScratchPtr regression;
    };

    PackedTree grow_tree(int64_t t, ThreadScratch& scratch, int n_jobs, const ProgressCallback& progress) const {
        const BootstrapSample& sample = scratch.sample;
        draw_sample(plan_, t, target_.n_rows, columns_.size(), scratch.sample);
        Settings settings = settings_;
        settings.seed = mix64(plan_.seed, static_cast<uint64_t>(t));
        settings.n_jobs = n_jobs, settings.quartiles = false;
        const Target target = weigh_sample(scratch, settings);
        if (is_plain_regression_)
            return grow_plain_regression(columns_, target, settings, progress, sample.rows, *shared_tables_,
                                         scratch.regression);
        if (shared_tables_)
            return pack(grow(columns_, target, settings, progress, sample.rows, *shared_tables_), columns_.size(),
                        settings);
        std::vector<Column> sampled_columns;
        for (uint32_t c : sample.columns) sampled_columns.push_back(columns_[c]);
        const auto own_tables = make_shared_tables(sampled_columns, target, settings, progress);
        Nodes nodes = grow(sampled_columns, target, settings, progress, sample.rows, *own_tables);
        for (size_t i = 0; i < nodes.kind.size(); ++i)
            if (nodes.kind[i] != kLeaf)
                nodes.column[i] = static_cast<int32_t>(sample.columns[static_cast<size_t>(nodes.column[i])]);
        return pack(std::move(nodes), columns_.size(), settings);
    }

private:
    static constexpr int128 kMaxTotalWeight = int128{1}
                                              << 53;  // as train/fixed_point.py guarantees for all rows together

    // Weights of the sampled rows, and the limits that are fractions of them.
    Target weigh_sample(ThreadScratch& scratch, Settings& settings) const {
        const BootstrapSample& sample = scratch.sample;
        Target target = target_;
        if (plan_.n_samples > 0) {
            scratch.weight.resize(static_cast<size_t>(target.n_rows));
            int shift = 0;
            while (add_weights(scratch, shift) >= kMaxTotalWeight) shift += 8;  // a heavy row was drawn often
            target.weight = {reinterpret_cast<const std::byte*>(scratch.weight.data()), sizeof(int64_t)};
            target.weight_scale = plan_.weight_scale - shift;
        }
        const auto n = static_cast<int64_t>(sample.rows.size());
        if (plan_.split.numerator) settings.min_samples_split = std::max<int64_t>(1, plan_.split.of(n));
        if (plan_.leaf.numerator) settings.min_samples_leaf = std::max<int64_t>(1, plan_.leaf.of(n));
        if (plan_.leaf_weight.numerator) {
            int64_t total = 0;
            for (uint32_t row : sample.rows) total += target.weight[row];
            settings.min_leaf_weight = plan_.leaf_weight.of(total);
        }
        return target;
    }
    // Weight times number of draws, with `shift` bits dropped; returns the total.
    int128 add_weights(ThreadScratch& scratch, int shift) const {
        int128 total = 0;
        for (uint32_t row : scratch.sample.rows) {
            const int128 exact = static_cast<int128>(plan_.weight[row]) * scratch.sample.counts[row];
            const int128 weight = std::max<int128>(1, exact >> shift);
            total += weight;
            scratch.weight[row] = static_cast<int64_t>(std::min(weight, kMaxTotalWeight));
        }
        return total;
    }

    const std::vector<Column>& columns_;
    const Target& target_;
    const Settings& settings_;
    const SamplingPlan& plan_;
    std::shared_ptr<const SharedTables> shared_tables_;  // null if trees sample their columns: each then makes its own
    bool is_plain_regression_ = false;
};

// Lets each tree reuse the memory freed by the last. glibc returns arrays beyond its mmap threshold (128 kB) to the
// system, and gets them back page by page, until it has seen a block of that size freed, which raises the threshold. No
// effect elsewhere.
void raise_mmap_threshold(int64_t n_rows) {
    if (n_rows <= 1 << 14) return;
    void* volatile block = std::malloc(size_t{16} << 20);
    std::free(block);
}

}  // namespace

// -- the forest -------------------------------------------------------------------------------------------------------

std::vector<PackedTree> grow_forest(const std::vector<Column>& columns, const Target& target, const Settings& settings,
                                    const SamplingPlan& plan, int64_t first, int64_t n_trees,
                                    const ProgressCallback& progress) {
    const auto n = static_cast<size_t>(n_trees);
    const bool single = n == 1;  // then the threads work within the tree
    raise_mmap_threshold(target.n_rows);
    const ForestGrower grower(columns, target, settings, plan, [&](double) { progress(0.0); });
    std::vector<PackedTree> trees(n);
    ThreadPool pool(single ? 1
                           : static_cast<int>(std::min<size_t>(n, static_cast<size_t>(std::max(1, settings.n_jobs)))));
    std::vector<ForestGrower::ThreadScratch> scratches(static_cast<size_t>(pool.size()));
    std::vector<std::atomic<double>> tree_progress(scratches.size());  // fraction of each thread's current tree
    std::atomic<size_t> finished = 0;
    const auto report_progress = [&] {
        auto done = static_cast<double>(finished);
        for (const auto& part : tree_progress) done += part;
        progress(std::min(1.0, done / static_cast<double>(n)));
    };
    pool.parallel_for(
        n,
        [&](size_t i, int worker) {
            auto& part = tree_progress[static_cast<size_t>(worker)];
            const ProgressCallback report = [&](double done) {
                part = done;
                if (worker == 0) return report_progress();
                if (pool.stopped()) throw Cancelled{};
            };
            trees[i] = grower.grow_tree(first + static_cast<int64_t>(i), scratches[static_cast<size_t>(worker)],
                                        single ? settings.n_jobs : 1, report);
            part = 0.0, ++finished;
        },
        report_progress);
    return trees;
}

}  // namespace treewise
