// The growth loop: take a node from the frontier, apply its split, and search each child; a child with a split joins
// the frontier, one without becomes a leaf with a stop reason.
//
// The frontier decides which node comes next: the last one added (depth-first), or the one with the largest gain (best-
// first, with max_leaf_nodes). The engine decides where rows are stored and which candidates are worth evaluating.
// Nodes are numbered in pre-order at the end (grow/engine_choice.cpp), so neither the order of growth nor the engine
// shows in the result.

#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <functional>
#include <memory>

#include "criteria/leaf_value.hpp"
#include "search/exact_splitter.hpp"
#include "util/chunked_vector.hpp"

namespace treewise {

// Total decrease of impurity as exponent and mantissa (cannot overflow); the mantissa is rounded to 40 bits, so gains
// that differ only by rounding are equal.
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

// The split of an inner node.
struct SplitNode {
    ChosenSplit chosen;
    double gain = 0.0;
    Priority priority;  // for best-first growth
};

struct Subtree;

// A node while the tree grows. Half the nodes are leaves, so what only inner nodes have is kept in SplitNode.
struct GrowingNode {
    int64_t parent = -1;
    int64_t first_child = -1;
    Segment segment;
    uint64_t node_key = 0;  // for random draws; derived from the seed and the path
    int64_t weight = 0;
    NodeSummary summary;
    int64_t counts_begin = 0, counts_end = 0;  // in Subtree::counts
    std::unique_ptr<Subtree> subtree;          // grown by another engine; its first node is this node again
    int64_t split = -1;                        // index in Subtree::splits, if one was found
    int32_t depth = 0;
    StopReason stop = kNone;
    double p_value = std::numeric_limits<double>::quiet_NaN();  // Selection::test: of the node's best test
    NodeConstraints constraints;
};

// Nodes grown by one grower: a branch, or the whole tree.
struct Subtree {
    ChunkedVector<GrowingNode> nodes;
    ChunkedVector<SplitNode> splits;
    std::vector<std::pair<int32_t, int64_t>> counts;  // classes and their weights

    const ChosenSplit& chosen_split(const GrowingNode& node) const {
        return splits[static_cast<size_t>(node.split)].chosen;
    }
};

template <class Impurity>
class Grower {
public:
    // on_rows_done: called with the number of rows that have reached a leaf since the last call; may throw to stop.
    Grower(NodeContext& node_context, SplitEngine& engine, const std::vector<Column>& columns, const Settings& settings,
           int64_t total_weight, const std::function<void(int64_t)>& on_rows_done)
        : target_(node_context.target),
          columns_(columns),
          is_constrained_(has_constraints(columns)),
          settings_(settings),
          on_rows_done_(on_rows_done),
          node_context_(node_context),
          engine_(engine),
          splitter_(node_context, engine, columns, settings, total_weight) {
        node_context.check_interrupt = check_interrupt_;
    }

    Subtree run() {
        GrowingNode root;
        root.segment = engine_.all();
        root.depth = static_cast<int32_t>(settings_.root_depth);
        root.node_key = root.depth ? settings_.root_key : mix64(0, settings_.seed);
        root.constraints = {settings_.root_low, settings_.root_high, settings_.root_groups, settings_.root_acquired};
        subtree_.nodes.push_back(std::move(root));
        if (prepare_node(0)) find_split(0);
        return grow();
    }
    // Grows below a node of another grower; its rows are all rows of this engine.
    Subtree run(const GrowingNode& start) {
        GrowingNode root;
        root.segment = engine_.all();
        root.node_key = start.node_key, root.depth = start.depth, root.constraints = start.constraints;
        subtree_.nodes.push_back(std::move(root));
        if (prepare_node(0)) find_split(0);
        return grow();
    }
    // Nodes left to another engine.
    const std::vector<int64_t>& handed_over() const { return handed_over_; }

private:
    Subtree grow() {
        while (!frontier_.empty()) {
            const int64_t next = pop();
            if (settings_.max_leaf_nodes > 0) {
                const int64_t extra_leaves = subtree_.chosen_split(node_at(next)).n_branches - 1;
                if (leaves_ + extra_leaves > settings_.max_leaf_nodes) {
                    stop_all(next);
                    break;
                }
            }
            split_node(next);
        }
        return std::move(subtree_);
    }
    GrowingNode& node_at(int64_t id) { return subtree_.nodes[static_cast<size_t>(id)]; }
    const GrowingNode& node_at(int64_t id) const { return subtree_.nodes[static_cast<size_t>(id)]; }

    // Between two passes over many rows, so that Ctrl-C reacts quickly.
    void check_interrupt_if_large(Segment node) const {
        constexpr int64_t kMany = 1 << 16;
        if (node.size() >= kMany) on_rows_done_(0);
    }

    // -- one node -----------------------------------------------------------------------------------------------------

    // Sets what the node predicts; returns whether it may be split.
    bool prepare_node(int64_t id, const RowStats* known_stats = nullptr) {
        GrowingNode& node = node_at(id);
        if (node.segment.size() == 0) {
            node.stop = kNoRows;
            return false;
        }
        const auto rows = load_node(node.segment, known_stats);
        loaded_ = id;
        check_interrupt_if_large(node.segment);
        const Row *first = rows.data(), *last = rows.data() + rows.size();
        const bool is_pure = same_targets(rows);
        const Impurity& node_total = splitter_.node_total;
        node.weight = node_total.weight;
        node.summary = summarise(node_total, node_context_, first, last);
        check_interrupt_if_large(node.segment);
        if (target_.n_classes == 0 && is_pure) node.summary.value = target_.raw[*first];
        node.summary.value = node.constraints.clip(node.summary.value);
        keep_counts(node);
        node.stop = leaf_condition(node, is_pure);
        if (node.stop != kNone) on_rows_done_(node.segment.size());
        return node.stop == kNone;
    }
    // Loads the statistics of a node into the splitter; returns its rows (none for classification with statistics).
    std::span<const Row> load_node(Segment node, const RowStats* known_stats) {
        std::span<const Row> rows;
        if (target_.n_classes == 0 || !engine_.has_stats()) rows = engine_.rows(node);
        const Row *first = rows.data(), *last = rows.data() + rows.size();
        Impurity& node_total = splitter_.node_total;
        node_context_.begin_node(first, last);
        check_interrupt_if_large(node);
        Impurity::prepare_node(node_context_, first, last);
        node_total.clear();
        engine_.set_targets(node_context_.y);
        if constexpr (requires { node_total.add(node_total_.data()); }) {
            if (engine_.has_stats()) {
                if (known_stats)
                    node_total_ = *known_stats;
                else
                    engine_.node_total(node, node_total_);
                node_total.add(node_total_.data());
                node_total.set_tolerance();
                return rows;
            }
        }
        if constexpr (requires { node_total.add(first, last); })
            node_total.add(first, last);
        else
            for (Row row : rows) node_total.add(row);
        node_total.set_tolerance();
        return rows;
    }

    bool same_targets(std::span<const Row> rows) const {
        if constexpr (std::derived_from<Impurity, ClassImpurity>) {
            const auto& classes = splitter_.node_total.classes();
            return std::count_if(classes.begin(), classes.end(),
                                 [&](int32_t c) { return splitter_.node_total.counts()[c] > 0; }) == 1;
        } else {
            return std::all_of(rows.begin(), rows.end(), [&](Row r) { return target_.raw[r] == target_.raw[rows[0]]; });
        }
    }

    void keep_counts(GrowingNode& node) {
        if constexpr (std::derived_from<Impurity, ClassImpurity>) {
            node.counts_begin = static_cast<int64_t>(subtree_.counts.size());
            for (int32_t c : splitter_.node_total.classes()) {
                if (splitter_.node_total.counts()[c]) subtree_.counts.push_back({c, splitter_.node_total.counts()[c]});
            }
            std::sort(subtree_.counts.begin() + node.counts_begin, subtree_.counts.end());
            node.counts_end = static_cast<int64_t>(subtree_.counts.size());
        }
    }

    StopReason leaf_condition(const GrowingNode& node, bool is_pure) const {
        if (is_pure) return kPure;
        if constexpr (std::derived_from<Impurity, ClassImpurity>) {
            const auto max_count = static_cast<int128>(splitter_.node_total.counts()[node.summary.label]);
            const bool is_set = settings_.accuracy_numerator < settings_.accuracy_denominator;
            const auto enough = static_cast<int128>(settings_.accuracy_numerator) * node.weight;
            if (is_set && max_count * settings_.accuracy_denominator >= enough) return kSufficientAccuracy;
        }
        if (settings_.max_depth >= 0 && node.depth >= settings_.max_depth) return kMaxDepth;
        if (node.segment.size() < settings_.min_samples_split) return kMinSamplesSplit;
        return kNone;
    }

    // Finds the best split; if there is one, the node joins the frontier. The node's statistics are loaded again if its
    // siblings have been prepared in between.
    void find_split(int64_t id, const RowStats* known_stats = nullptr) {
        GrowingNode& node = node_at(id);
        if (engine_.has_stats() || loaded_ != id) load_node(node.segment, known_stats), loaded_ = id;
        node.stop = splitter_.find_best_split(node.segment, node_total_, node.node_key, node.constraints, split_.chosen,
                                              check_interrupt_);
        node.p_value = splitter_.p_value();
        if (node.stop != kNone) return on_rows_done_(node.segment.size());
        const int128 gain = split_.chosen.total_gain;
        split_.gain = node_context_.to_user_units(gain, node.weight);
        if (settings_.max_leaf_nodes > 0)
            split_.priority = Priority::of(static_cast<double>(gain) * node_context_.unit_value,
                                           -node_context_.degree * node_context_.scale);
        node.split = static_cast<int64_t>(subtree_.splits.size());
        subtree_.splits.push_back(std::move(split_));
        push(id);
    }

    void split_node(int64_t id) {
        const ChosenSplit& chosen = subtree_.chosen_split(node_at(id));
        const auto k = static_cast<size_t>(chosen.n_branches);
        const Segment segment = node_at(id).segment;
        sizes_.assign(k, 0);
        engine_.partition(segment, chosen, sizes_);
        check_interrupt_if_large(segment);

        const auto first_child = static_cast<int64_t>(subtree_.nodes.size());
        node_at(id).first_child = first_child;
        leaves_ += static_cast<int64_t>(k) - 1;
        int64_t begin = segment.begin;
        for (size_t b = 0; b < k; ++b) {
            GrowingNode child;
            child.parent = id;
            child.depth = node_at(id).depth + 1;
            child.node_key = mix64(node_at(id).node_key, b);
            child.segment = {begin, begin + sizes_[b]};
            begin += sizes_[b];
            subtree_.nodes.push_back(std::move(child));
        }
        is_open_.assign(k, 0);
        if (child_totals_.size() < k) child_totals_.resize(k);
        const bool are_counted = count_children(id), has_stats = engine_.has_stats();
        for (size_t b = 0; b < k; ++b) {
            const int64_t child = first_child + static_cast<int64_t>(b);
            is_open_[b] = prepare_node(child, are_counted ? &child_totals_[b] : nullptr);
            if (has_stats && !are_counted && is_open_[b]) child_totals_[b] = node_total_;
            if (is_open_[b] && settings_.max_leaf_nodes <= 0 &&
                engine_.should_hand_over(node_at(child).segment, levels_left(child)))
                handed_over_.push_back(child), is_open_[b] = 0;
        }
        if (is_constrained_) constrain_children(id, k);
        engine_.on_children_known(segment, sizes_, is_open_);
        // last branch first: depth-first growth then continues with the first branch
        for (size_t b = k; b-- > 0;) {
            if (is_open_[b]) find_split(first_child + static_cast<int64_t>(b), has_stats ? &child_totals_[b] : nullptr);
        }
    }
    void constrain_children(int64_t id, size_t k) {
        const GrowingNode& node = node_at(id);
        const ChosenSplit& chosen = subtree_.chosen_split(node);
        const auto child = [&](size_t b) -> GrowingNode& {
            return node_at(node.first_child + static_cast<int64_t>(b));
        };
        const Column& column = columns_[static_cast<size_t>(chosen.column)];
        for (size_t b = 0; b < k; ++b) {
            child(b).constraints = node.constraints;
            child(b).constraints.interaction_groups &= column.interaction_groups,
                child(b).constraints.acquired |= column.feature_cost_bit;
            child(b).summary.value = node.constraints.clip(child(b).summary.value);
        }
        if (column.monotone && !chosen.is_presence)
            NodeConstraints::separate(column, child(0).constraints, child(1).constraints, child(0).summary.value,
                                      child(1).summary.value);
    }
    // Classification: statistics of a node's children, the largest by subtraction. Returns whether child_totals_ is
    // filled.
    bool count_children(int64_t id) {
        if (target_.n_classes == 0 || !engine_.has_stats()) return false;
        const GrowingNode& node = node_at(id);
        const auto largest = static_cast<size_t>(std::max_element(sizes_.begin(), sizes_.end()) - sizes_.begin());
        RowStats& rest = child_totals_[largest];
        rest.assign(stats_width(target_.n_classes), 0);
        rest[kRows] = node.segment.size(), rest[kWeight] = node.weight;
        for (int64_t i = node.counts_begin; i < node.counts_end; ++i) {
            const auto [cls, weight] = subtree_.counts[static_cast<size_t>(i)];
            rest[kCounts + static_cast<size_t>(cls)] = weight;
        }
        int64_t begin = node.segment.begin;
        for (size_t b = 0; b < sizes_.size(); ++b) {
            const Segment child{begin, begin + sizes_[b]};
            begin = child.end;
            if (b == largest || child.size() == 0) continue;
            engine_.node_total(child, child_totals_[b]);
            sub(rest.data(), child_totals_[b].data(), rest.size());
        }
        return true;
    }
    int64_t levels_left(int64_t id) const {
        return settings_.max_depth < 0 ? std::numeric_limits<int64_t>::max() : settings_.max_depth - node_at(id).depth;
    }

    // -- the frontier -------------------------------------------------------------------------------------------------

    // Best-first: larger gain, then earlier in pre-order. Depth-first: last in, first out.
    bool comes_later(int64_t a, int64_t b) const {
        if (priority(a) != priority(b)) return priority(a) < priority(b);
        while (node_at(a).depth > node_at(b).depth) a = node_at(a).parent;
        while (node_at(b).depth > node_at(a).depth) b = node_at(b).parent;
        while (node_at(a).parent != node_at(b).parent) a = node_at(a).parent, b = node_at(b).parent;
        return a > b;
    }
    const Priority& priority(int64_t id) const {
        return subtree_.splits[static_cast<size_t>(node_at(id).split)].priority;
    }
    auto order() const {
        return [this](int64_t a, int64_t b) { return comes_later(a, b); };
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
        for (int64_t remaining : frontier_) node_at(remaining).stop = kMaxLeafNodes;
        frontier_.clear();
    }

    const Target& target_;
    const std::vector<Column>& columns_;
    const bool is_constrained_;
    const Settings& settings_;
    const std::function<void(int64_t)>& on_rows_done_;
    const std::function<void()> check_interrupt_ = [this] { on_rows_done_(0); };
    NodeContext& node_context_;
    SplitEngine& engine_;
    ExactSplitter<Impurity> splitter_;
    Subtree subtree_;
    std::vector<int64_t> frontier_, handed_over_;
    int64_t leaves_ = 1;

    // the current node
    int64_t loaded_ = -1;  // the last one prepared
    RowStats node_total_;
    SplitNode split_;
    std::vector<int64_t> sizes_;          // of its children …
    std::vector<uint8_t> is_open_;        // … which may be split …
    std::vector<RowStats> child_totals_;  // … and their statistics
};

}  // namespace treewise
