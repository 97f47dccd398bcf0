// The growth loop (chapter 8, algorithm 8.1, without recursion): take a node from the frontier, apply its split, look
// at each child; a child that has a split joins the frontier, one that has none is a leaf and says why.
//
// Which node is taken next is a matter of the frontier alone: the last one made (depth-first) or the one whose split
// gains most (best-first, when max_leaf_nodes is given). Nodes are drafted as they come and numbered in pre-order at
// the end, so the order of growth does not show in the result.

#include "grow.hpp"

#include <algorithm>
#include <concepts>

#include "scan.hpp"
#include "summary.hpp"

namespace treewise {
namespace {

// Total decrease of impurity as mantissa and exponent (squares of 1e200 compare as well as any), the mantissa in 40
// bits: gains that differ only in the last ones are equal for the order of growth.
struct Priority {
    bool any = false;
    int64_t exponent = 0;
    double mantissa = 0.0;
    auto operator<=>(const Priority&) const = default;

    static Priority of(double total, int scale) {  // total·2^scale
        if (!(total > 0.0)) return {};
        int exponent = 0, carried = 0;
        const double mantissa = std::frexp(total, &exponent);
        const double rounded = std::frexp(std::rint(std::ldexp(mantissa, 40)), &carried);
        return {true, int64_t{exponent} + carried + scale, rounded};
    }
};

struct Draft {
    int64_t parent = -1;
    int64_t first_child = -1;
    Segment segment;
    int64_t depth = 0;
    uint64_t key = 0;  // for random ties: depends on the seed and the path
    Priority priority;
    Stop stop = kInner;
    Chosen chosen;
    Summary summary;
    int64_t weight = 0;
    double gain = 0.0;
    int64_t counts_begin = 0, counts_end = 0;  // in Grower::counts_
};

template <class Side>
class Grower {
public:
    Grower(const std::vector<Column>& columns, const Target& target, const Settings& settings, const Monitor& monitor)
        : target_(target),
          settings_(settings),
          monitor_(monitor),
          total_weight_(sum_weights(target)),
          desk_(target),
          lists_(columns, target.n_rows, monitor),
          finder_(desk_, lists_, columns, settings, total_weight_) {}

    Nodes run() {
        Draft root;
        root.segment = {0, target_.n_rows};
        root.key = stir(0, settings_.seed);
        drafts_.push_back(root);
        look_at(0);
        while (!frontier_.empty()) {
            const int64_t next = pop();
            if (settings_.max_leaf_nodes > 0) {
                const int64_t more = drafts_[next].chosen.n_branches - 1;
                if (leaves_ + more > settings_.max_leaf_nodes) {
                    stop_all(next);
                    break;
                }
            }
            split(next);
        }
        return finish();
    }

private:
    static int64_t sum_weights(const Target& target) {
        int64_t sum = 0;
        for (int64_t i = 0; i < target.n_rows; ++i) sum += target.weight[i];
        return sum;
    }

    // -- one node -----------------------------------------------------------------------------------------------------

    void look_at(int64_t id) {
        Draft& d = drafts_[id];
        const Row* first = lists_.all() + d.segment.begin;
        const Row* last = lists_.all() + d.segment.end;
        if (first == last) {
            d.stop = kNoRows;
            return;
        }
        Side& whole = finder_.whole;
        desk_.sit(first, last);
        Side::open(desk_, first, last);
        whole.clear();
        for (const Row* row = first; row != last; ++row) whole.add(*row);
        const bool pure = same_targets(first, last);
        whole.measure();
        d.weight = whole.weight;
        d.summary = summarise(whole, desk_, first, last);
        if (target_.n_classes == 0 && pure) d.summary.value = target_.raw[*first];
        keep_counts(d);
        d.stop = leaf_condition(d, pure);
        if (d.stop == kInner) d.stop = finder_.find(d.segment, d.key, d.chosen, [this] { tick(); });
        if (d.stop != kInner) {
            finished_ += d.segment.size();
            tick();
            return;
        }
        d.gain = desk_.in_users_units(d.chosen.gain, d.weight);
        d.priority = Priority::of(static_cast<double>(d.chosen.gain) * desk_.worth, -desk_.degree * desk_.scale);
        push(id);
    }

    bool same_targets(const Row* first, const Row* last) const {
        if (target_.n_classes)
            return std::all_of(first, last, [&](Row r) { return target_.y[r] == target_.y[*first]; });
        return std::all_of(first, last, [&](Row r) { return target_.raw[r] == target_.raw[*first]; });
    }

    void keep_counts(Draft& d) {
        if constexpr (std::derived_from<Side, Counts>) {
            std::vector<int32_t> present;
            for (int32_t c : finder_.whole.seen()) {
                if (finder_.whole.counts()[c]) present.push_back(c);
            }
            std::sort(present.begin(), present.end());
            d.counts_begin = static_cast<int64_t>(counts_.size());
            for (int32_t c : present) counts_.push_back({c, finder_.whole.counts()[c]});
            d.counts_end = static_cast<int64_t>(counts_.size());
        }
    }

    Stop leaf_condition(const Draft& d, bool pure) const {
        if (pure) return kPure;
        if constexpr (std::derived_from<Side, Counts>) {
            const auto most = static_cast<int128>(finder_.whole.counts()[d.summary.label]);
            const bool asked = settings_.accuracy_over < settings_.accuracy_under;
            const auto enough = static_cast<int128>(settings_.accuracy_over) * d.weight;
            if (asked && most * settings_.accuracy_under >= enough) return kSufficientAccuracy;
        }
        if (settings_.max_depth >= 0 && d.depth >= settings_.max_depth) return kMaxDepth;
        if (d.segment.size() < settings_.min_samples_split) return kMinSamplesSplit;
        return kInner;
    }

    void split(int64_t id) {
        const Chosen chosen = drafts_[id].chosen;
        const Segment segment = drafts_[id].segment;
        const auto k = static_cast<size_t>(chosen.n_branches);
        std::vector<int64_t> sizes(k, 0);
        std::vector<Bucket> buckets;
        const auto gone = lists_.buckets(chosen.column, segment.begin, segment.end, buckets);
        for (const Bucket& b : buckets) {
            const uint32_t branch = chosen.branch(b.rank);
            for (const Row* row = b.first; row != b.last; ++row) lists_.branch()[*row] = branch;
            sizes[branch] += b.last - b.first;
        }
        for (Row row : gone) lists_.branch()[row] = static_cast<uint32_t>(chosen.missing);
        if (!gone.empty()) sizes[chosen.missing] += static_cast<int64_t>(gone.size());
        lists_.partition(segment.begin, segment.end, sizes);

        const auto first_child = static_cast<int64_t>(drafts_.size());
        drafts_[id].first_child = first_child;
        leaves_ += chosen.n_branches - 1;
        int64_t begin = segment.begin;
        for (size_t b = 0; b < k; ++b) {
            Draft child;
            child.parent = id;
            child.depth = drafts_[id].depth + 1;
            child.key = stir(drafts_[id].key, b);
            child.segment = {begin, begin + sizes[b]};
            begin += sizes[b];
            drafts_.push_back(child);
        }
        // The last branch first: depth-first growth then takes the first branch next.
        for (size_t b = k; b-- > 0;) look_at(first_child + static_cast<int64_t>(b));
    }

    // -- the frontier -------------------------------------------------------------------------------------------------

    // Best-first: the larger gain, then the earlier place in pre-order. Depth-first: the last in.
    bool later(int64_t a, int64_t b) const {
        if (drafts_[a].priority != drafts_[b].priority) return drafts_[a].priority < drafts_[b].priority;
        while (drafts_[a].depth > drafts_[b].depth) a = drafts_[a].parent;
        while (drafts_[b].depth > drafts_[a].depth) b = drafts_[b].parent;
        while (drafts_[a].parent != drafts_[b].parent) a = drafts_[a].parent, b = drafts_[b].parent;
        return a > b;
    }
    auto order() const {
        return [this](int64_t a, int64_t b) { return later(a, b); };
    }
    void push(int64_t id) {
        frontier_.push_back(id);
        if (settings_.max_leaf_nodes > 0) std::push_heap(frontier_.begin(), frontier_.end(), order());
    }
    int64_t pop() {
        if (settings_.max_leaf_nodes > 0) std::pop_heap(frontier_.begin(), frontier_.end(), order());
        const int64_t id = frontier_.back();
        frontier_.pop_back();
        return id;
    }
    void stop_all(int64_t id) {
        frontier_.push_back(id);
        for (int64_t left : frontier_) drafts_[left].stop = kMaxLeafNodes;
        frontier_.clear();
    }

    void tick() const { monitor_(static_cast<double>(finished_) / static_cast<double>(target_.n_rows)); }

    // -- the result ---------------------------------------------------------------------------------------------------

    Nodes finish() const {
        Nodes nodes;
        std::vector<std::pair<int64_t, int64_t>> stack{{0, -1}};  // draft, number of its parent
        while (!stack.empty()) {
            const auto [id, parent] = stack.back();
            stack.pop_back();
            const auto number = static_cast<int64_t>(nodes.parent.size());
            write(drafts_[id], parent, nodes);
            const int64_t first = drafts_[id].first_child;
            if (first < 0) continue;
            for (int64_t c = first + drafts_[id].chosen.n_branches; c-- > first;) stack.push_back({c, number});
        }
        return nodes;
    }

    void write(const Draft& d, int64_t parent, Nodes& out) const {
        const bool inner = d.first_child >= 0;
        const Chosen none;
        const Chosen& chosen = inner ? d.chosen : none;
        out.parent.push_back(parent);
        out.kind.push_back(chosen.kind);
        out.column.push_back(chosen.column);
        out.cut.push_back(chosen.cut);
        out.cut_int.push_back(chosen.cut_int);
        out.missing.push_back(chosen.missing);
        out.other.push_back(chosen.other);
        out.codes.insert(out.codes.end(), chosen.codes.begin(), chosen.codes.end());
        out.code_start.push_back(static_cast<int64_t>(out.codes.size()));
        out.stop.push_back(inner ? kInner : d.stop);
        out.rows.push_back(d.segment.size());
        out.missing_rows.push_back(chosen.missing_rows);
        out.weight.push_back(std::ldexp(static_cast<double>(d.weight), -target_.weight_scale));
        out.impurity.push_back(d.summary.impurity);
        out.gain.push_back(inner ? d.gain : 0.0);
        const Draft& said = d.stop == kNoRows ? drafts_[settings_.empty_from_root ? 0 : d.parent] : d;
        if (target_.n_classes) {
            out.label.push_back(said.summary.label);
            for (int64_t i = d.counts_begin; i < d.counts_end; ++i) {
                out.count_class.push_back(counts_[i].first);
                out.count_weight.push_back(std::ldexp(static_cast<double>(counts_[i].second), -target_.weight_scale));
            }
        } else {
            out.value.push_back(said.summary.value);
            out.spread.push_back(d.summary.spread);
        }
        out.count_start.push_back(static_cast<int64_t>(out.count_class.size()));
    }

    const Target& target_;
    const Settings& settings_;
    const Monitor& monitor_;
    int64_t total_weight_;
    Desk desk_;
    SortedLists lists_;
    Finder<Side> finder_;
    std::vector<Draft> drafts_;
    std::vector<std::pair<int32_t, int64_t>> counts_;
    std::vector<int64_t> frontier_;
    int64_t leaves_ = 1;
    int64_t finished_ = 0;  // rows in leaves
};

}  // namespace

Nodes grow(const std::vector<Column>& columns, const Target& target, const Settings& settings, const Monitor& monitor) {
    return with_side(settings.criterion,
                     [&]<class Side>() { return Grower<Side>(columns, target, settings, monitor).run(); });
}

}  // namespace treewise
