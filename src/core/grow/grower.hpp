// The growth loop (chapter 8, algorithm 8.1, without recursion): take a node from the frontier, apply its split, look
// at each child; a child that has a split joins the frontier, one that has none is a leaf and says why.
//
// Which node is taken next is a matter of the frontier alone: the last one made (depth-first) or the one whose split
// gains most (best-first, when max_leaf_nodes is given). Where rows stand and which candidates are worth a closer look
// is the engine's affair (engines/exact.hpp, engines/histogram.hpp, engines/subtree.hpp). Nodes are drafted as they
// come and numbered in pre-order at the end (grow/engine_choice.cpp), so neither the order of growth nor who grew what
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

// The split of an inner node.
struct Parted {
    Chosen chosen;
    double gain = 0.0;
    Priority priority;  // for best-first growth
};

struct Block;

// A node; half of them are leaves and large trees have many, so what only inner nodes have is kept apart.
struct Draft {
    int64_t parent = -1;
    int64_t first_child = -1;
    Segment segment;
    uint64_t key = 0;  // for what is drawn at random: depends on the seed and the path
    int64_t weight = 0;
    Summary summary;
    int64_t counts_begin = 0, counts_end = 0;  // in Block::counts
    std::unique_ptr<Block> below;              // grown by someone else: the first draft there is this node again
    int64_t split = -1;                        // in Block::splits, if one was found
    int32_t depth = 0;
    Stop stop = kInner;
};

// What one grower has drafted.
struct Block {
    Pieces<Draft> drafts;
    Pieces<Parted> splits;
    std::vector<std::pair<int32_t, int64_t>> counts;  // classes and their weights

    const Chosen& chosen(const Draft& draft) const { return splits[static_cast<size_t>(draft.split)].chosen; }
};

template <class Side>
class Grower {
public:
    // tick: called now and then with the rows finished since the last call; may throw to stop.
    Grower(Desk& desk, Engine& engine, const std::vector<Column>& columns, const Settings& settings,
           int64_t total_weight, const std::function<void(int64_t)>& tick)
        : target_(desk.target),
          settings_(settings),
          tick_(tick),
          desk_(desk),
          engine_(engine),
          finder_(desk, engine, columns, settings, total_weight) {
        desk.pulse = still_;
    }

    Block run() {
        Draft root;
        root.segment = engine_.all();
        root.key = stir(0, settings_.seed);
        block_.drafts.push_back(std::move(root));
        if (prepare(0)) search(0);
        return grow();
    }
    // Go on from a node that another grower has prepared; its rows are all of this engine's.
    Block run(const Draft& begun) {
        Draft root;
        root.segment = engine_.all();
        root.key = begun.key, root.depth = begun.depth;
        block_.drafts.push_back(std::move(root));
        if (prepare(0)) search(0);
        return grow();
    }
    // Nodes that were left to others.
    const std::vector<int64_t>& handed_over() const { return handed_over_; }

private:
    Block grow() {
        while (!frontier_.empty()) {
            const int64_t next = pop();
            if (settings_.max_leaf_nodes > 0) {
                const int64_t more = block_.chosen(draft(next)).n_branches - 1;
                if (leaves_ + more > settings_.max_leaf_nodes) {
                    stop_all(next);
                    break;
                }
            }
            split(next);
        }
        return std::move(block_);
    }
    Draft& draft(int64_t id) { return block_.drafts[static_cast<size_t>(id)]; }
    const Draft& draft(int64_t id) const { return block_.drafts[static_cast<size_t>(id)]; }

    // Between two passes over many rows: Ctrl-C should not wait for both.
    void breathe(Segment node) const {
        constexpr int64_t kMany = 1 << 16;
        if (node.size() >= kMany) tick_(0);
    }

    // -- one node -----------------------------------------------------------------------------------------------------

    // Says what the node predicts; returns whether it may be split.
    bool prepare(int64_t id, const Stat* known = nullptr) {
        Draft& d = draft(id);
        if (d.segment.size() == 0) {
            d.stop = kNoRows;
            return false;
        }
        const auto rows = sit(d.segment, known);
        breathe(d.segment);
        const Row *first = rows.data(), *last = rows.data() + rows.size();
        const bool pure = same_targets(rows);
        const Side& whole = finder_.whole;
        d.weight = whole.weight;
        d.summary = summarise(whole, desk_, first, last);
        breathe(d.segment);
        if (target_.n_classes == 0 && pure) d.summary.value = target_.raw[*first];
        keep_counts(d);
        d.stop = leaf_condition(d, pure);
        if (d.stop != kInner) tick_(d.segment.size());
        return d.stop == kInner;
    }
    // Puts all rows of a node on the finder's side; returns them (of classes with statistics: none, they are not
    // needed).
    std::span<const Row> sit(Segment node, const Stat* known) {
        std::span<const Row> rows;
        if (target_.n_classes == 0 || !engine_.gives_stats()) rows = engine_.rows(node);
        const Row *first = rows.data(), *last = rows.data() + rows.size();
        Side& whole = finder_.whole;
        desk_.sit(first, last);
        breathe(node);
        Side::open(desk_, first, last);
        whole.clear();
        if constexpr (requires { whole.add(whole_.data()); }) {
            if (engine_.gives_stats()) {
                engine_.targets(desk_.y);
                if (known)
                    whole_ = *known;
                else
                    engine_.whole(node, whole_);
                whole.add(whole_.data());
                whole.measure();
                return rows;
            }
        }
        for (Row row : rows) whole.add(row);
        whole.measure();
        return rows;
    }

    bool same_targets(std::span<const Row> rows) const {
        if constexpr (std::derived_from<Side, Counts>) {
            const auto& seen = finder_.whole.seen();
            return std::count_if(seen.begin(), seen.end(), [&](int32_t c) { return finder_.whole.counts()[c] > 0; }) ==
                   1;
        } else {
            return std::all_of(rows.begin(), rows.end(), [&](Row r) { return target_.raw[r] == target_.raw[rows[0]]; });
        }
    }

    void keep_counts(Draft& d) {
        if constexpr (std::derived_from<Side, Counts>) {
            d.counts_begin = static_cast<int64_t>(block_.counts.size());
            for (int32_t c : finder_.whole.seen()) {
                if (finder_.whole.counts()[c]) block_.counts.push_back({c, finder_.whole.counts()[c]});
            }
            std::sort(block_.counts.begin() + d.counts_begin, block_.counts.end());
            d.counts_end = static_cast<int64_t>(block_.counts.size());
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

    // Looks for the best split; with one, the node joins the frontier. The side of all its rows is made again, since
    // its siblings have been prepared meanwhile.
    void search(int64_t id, const Stat* known = nullptr) {
        Draft& d = draft(id);
        sit(d.segment, known);
        d.stop = finder_.find(d.segment, whole_, d.key, found_.chosen, still_);
        if (d.stop != kInner) return tick_(d.segment.size());
        const int128 gain = found_.chosen.gain;
        found_.gain = desk_.in_users_units(gain, d.weight);
        if (settings_.max_leaf_nodes > 0)
            found_.priority = Priority::of(static_cast<double>(gain) * desk_.worth, -desk_.degree * desk_.scale);
        d.split = static_cast<int64_t>(block_.splits.size());
        block_.splits.push_back(std::move(found_));
        push(id);
    }

    void split(int64_t id) {
        const Chosen& chosen = block_.chosen(draft(id));
        const auto k = static_cast<size_t>(chosen.n_branches);
        const Segment segment = draft(id).segment;
        sizes_.assign(k, 0);
        engine_.divide(segment, chosen, sizes_);
        breathe(segment);

        const auto first_child = static_cast<int64_t>(block_.drafts.size());
        draft(id).first_child = first_child;
        leaves_ += static_cast<int64_t>(k) - 1;
        int64_t begin = segment.begin;
        for (size_t b = 0; b < k; ++b) {
            Draft child;
            child.parent = id;
            child.depth = draft(id).depth + 1;
            child.key = stir(draft(id).key, b);
            child.segment = {begin, begin + sizes_[b]};
            begin += sizes_[b];
            block_.drafts.push_back(std::move(child));
        }
        open_.assign(k, 0);
        if (wholes_.size() < k) wholes_.resize(k);
        const bool counted = count_children(id), known = engine_.gives_stats();
        for (size_t b = 0; b < k; ++b) {
            const int64_t child = first_child + static_cast<int64_t>(b);
            open_[b] = prepare(child, counted ? &wholes_[b] : nullptr);
            if (known && !counted && open_[b]) wholes_[b] = whole_;
            if (open_[b] && settings_.max_leaf_nodes <= 0 &&
                engine_.too_small(draft(child).segment, levels_left(child)))
                handed_over_.push_back(child), open_[b] = 0;
        }
        engine_.settle(segment, sizes_, open_);
        // The last branch first: depth-first growth then takes the first branch next.
        for (size_t b = k; b-- > 0;) {
            if (open_[b]) search(first_child + static_cast<int64_t>(b), known ? &wholes_[b] : nullptr);
        }
    }
    // Statistics of a node's children, where the target has classes: the largest is the parent less the others, so its
    // rows need not be counted. Returns whether wholes_ has them.
    bool count_children(int64_t id) {
        if (target_.n_classes == 0 || !engine_.gives_stats()) return false;
        const Draft& d = draft(id);
        const auto largest = static_cast<size_t>(std::max_element(sizes_.begin(), sizes_.end()) - sizes_.begin());
        Stat& rest = wholes_[largest];
        rest.assign(stat_width(target_.n_classes), 0);
        rest[kRows] = d.segment.size(), rest[kWeight] = d.weight;
        for (int64_t i = d.counts_begin; i < d.counts_end; ++i) {
            const auto [cls, weight] = block_.counts[static_cast<size_t>(i)];
            rest[kCounts + static_cast<size_t>(cls)] = weight;
        }
        int64_t begin = d.segment.begin;
        for (size_t b = 0; b < sizes_.size(); ++b) {
            const Segment child{begin, begin + sizes_[b]};
            begin = child.end;
            if (b == largest || child.size() == 0) continue;
            engine_.whole(child, wholes_[b]);
            sub(rest.data(), wholes_[b].data(), rest.size());
        }
        return true;
    }
    int64_t levels_left(int64_t id) const {
        return settings_.max_depth < 0 ? std::numeric_limits<int64_t>::max() : settings_.max_depth - draft(id).depth;
    }

    // -- the frontier -------------------------------------------------------------------------------------------------

    // Best-first: the larger gain, then the earlier place in pre-order. Depth-first: the last in.
    bool later(int64_t a, int64_t b) const {
        if (priority(a) != priority(b)) return priority(a) < priority(b);
        while (draft(a).depth > draft(b).depth) a = draft(a).parent;
        while (draft(b).depth > draft(a).depth) b = draft(b).parent;
        while (draft(a).parent != draft(b).parent) a = draft(a).parent, b = draft(b).parent;
        return a > b;
    }
    const Priority& priority(int64_t id) const { return block_.splits[static_cast<size_t>(draft(id).split)].priority; }
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
        for (int64_t left : frontier_) draft(left).stop = kMaxLeafNodes;
        frontier_.clear();
    }

    const Target& target_;
    const Settings& settings_;
    const std::function<void(int64_t)>& tick_;
    const std::function<void()> still_ = [this] { tick_(0); };
    Desk& desk_;
    Engine& engine_;
    Finder<Side> finder_;
    Block block_;
    std::vector<int64_t> frontier_, handed_over_;
    int64_t leaves_ = 1;

    // of the node at hand
    Stat whole_;
    Parted found_;
    std::vector<int64_t> sizes_;  // of its children …
    std::vector<uint8_t> open_;   // … which may be split further …
    std::vector<Stat> wholes_;    // … and their statistics
};

}  // namespace treewise
