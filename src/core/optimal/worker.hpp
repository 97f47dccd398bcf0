// Branch and bound below the root, by one thread.
//
// `solve` returns the least cost of a subtree if it is below a bound, else a proof that it is not. A column's cuts are
// searched by bisection (Brița et al. 2025, ConTree): a cut whose sides cost L and R closes every cut within L + R −
// bound of reach, and an interval [a, b] is closed if L(a) + R(b) reaches the bound, because sides only grow. Depth two
// needs nothing but stumps on both sides (stumps.hpp).

#pragma once

#include <atomic>
#include <vector>

#include "optimal/archive.hpp"
#include "optimal/costs.hpp"
#include "optimal/stumps.hpp"

namespace treewise::optimal {

struct Stopped {};

// A cut that was evaluated, or an end of the range: lower bounds on the costs of its sides.
struct Probe {
    int64_t reach = 0, left = 0, right = 0;
};
struct Interval {
    size_t low = 0, high = 0;  // cuts, inclusive
    Probe before, after;
    int64_t rounding = 0;  // by which a side may cost more than one with more rows (Worker::rounding)
};

inline int64_t most_leaves(int depth) { return depth < 31 ? int64_t{1} << depth : int64_t{1} << 31; }

// The pairs (leaves on the left, leaves on the right) that are worth trying; more leaves never cost more.
inline std::vector<std::pair<int, int>> leaf_shares(int depth, int leaves) {
    const int64_t most = most_leaves(depth - 1);
    if (leaves >= 2 * most) return {{static_cast<int>(most), static_cast<int>(most)}};
    std::vector<std::pair<int, int>> shares;
    for (int64_t left = std::max<int64_t>(1, leaves - most); left <= std::min<int64_t>(most, leaves - 1); ++left)
        shares.emplace_back(static_cast<int>(left), static_cast<int>(leaves - left));
    return shares;
}

template <class Cost, class Stumps>
class Worker {
public:
    static constexpr int kMaxDepth = 64;

    Worker(const Table<Cost>& table, const Options& options, int64_t archive_bytes, const std::atomic<bool>& stop)
        : table_(table), options_(options), stop_(stop), stumps_(table), favourites_(table.rank.size()) {
        std::iota(favourites_.begin(), favourites_.end(), 0u);
        archives_.resize(kMaxDepth + 1);
        for (Archive& archive : archives_) archive.reserve(table.n_words, archive_bytes);
    }

    int64_t n_evaluated = 0, n_cached = 0, n_similar = 0;

    Rows<Cost> child(const Rows<Cost>& at, size_t feature, int32_t cut, bool right) {
        return at.child(table_, feature, cut, right, side_);
    }

    // The least cost of a subtree of this depth and number of leaves if it is below `bound`; else a lower bound.
    Solved solve(const Rows<Cost>& at, int depth, int leaves, int64_t bound) {
        const int64_t leaf = table_.leaf(at.total), floor = 2 * table_.penalty;
        if (depth == 0 || leaves < 2 || leaf <= floor) return {leaf, true, nullptr};
        if (bound <= floor) return {floor, false, nullptr};
        leaves = static_cast<int>(std::min<int64_t>(leaves, most_leaves(depth)));
        if (depth == 1 || leaves == 2) return solve_stump(at, leaf);
        Archive& archive = archives_[static_cast<size_t>(std::min(depth, kMaxDepth))];
        int64_t known = floor;
        if (options_.cache)
            if (const Solved* found = archive.find(at, leaves)) {
                if (found->exact || found->value >= bound) return ++n_cached, *found;
                known = found->value;
            }
        if (Cost::kHasReach && options_.similarity) {
            known = archive.lower_bound(table_, at, leaves, known);
            if (known >= bound) return ++n_similar, Solved{known, false, nullptr};
        }
        Solved solved = depth == 2 ? solve_two(at, leaves, bound, known) : solve_deep(at, depth, leaves, bound, known);
        solved.value = std::max(solved.value, known);
        if (options_.cache || options_.similarity) archive.add(at, leaves, solved);
        return solved;
    }

    // What rounding may take from the cost of a tree when rows are added: leaves of entropy only.
    int64_t rounding(int leaves) const {
        if constexpr (Cost::kRounding == 0) return 0;
        return Cost::kRounding * table_.scale * std::min<int64_t>(leaves, static_cast<int64_t>(table_.n_rows));
    }
    // Lower bounds on the sides of a cut that follow from its neighbours.
    Probe bound_cut(const Interval& interval, int64_t reach) const {
        Probe probe{reach, interval.before.left - interval.rounding, interval.after.right - interval.rounding};
        if (Cost::kHasReach && options_.lipschitz) {
            probe.left = std::max(probe.left, interval.after.left - (interval.after.reach - reach));
            probe.right = std::max(probe.right, interval.before.right - (reach - interval.before.reach));
        }
        return probe;
    }
    // Narrows an interval to the cuts that may cost less than `bound`; false if there is none.
    bool narrow(Interval& interval, const Cuts& cuts, int64_t bound) const {
        const Probe &a = interval.before, &b = interval.after;
        if (a.left + b.right - interval.rounding >= bound) return false;
        if (!Cost::kHasReach || !options_.lipschitz) return interval.low <= interval.high;
        if (b.left + a.right - (b.reach - a.reach) >= bound) return false;
        const int64_t near = a.left + a.right - bound, far = b.left + b.right - bound;
        const auto first = cuts.reach.begin();
        if (near >= 0) {
            const auto open =
                std::upper_bound(first + static_cast<int64_t>(interval.low), cuts.reach.end(), a.reach + near);
            interval.low = static_cast<size_t>(open - first);
        }
        if (interval.low > interval.high) return false;
        if (far >= 0) {
            const auto closed = std::lower_bound(first + static_cast<int64_t>(interval.low),
                                                 first + static_cast<int64_t>(interval.high) + 1, b.reach - far);
            if (closed == first + static_cast<int64_t>(interval.low)) return false;
            interval.high = static_cast<size_t>(closed - first) - 1;
        }
        return true;
    }
    // A lower bound on every cut of an interval.
    int64_t lower_bound(const Interval& interval) const {
        const Probe &a = interval.before, &b = interval.after;
        int64_t bound = a.left + b.right - interval.rounding;
        if (!Cost::kHasReach || !options_.lipschitz) return bound;
        const int64_t span = b.reach - a.reach;
        bound = std::max(bound, b.left + a.right - span);
        const int64_t sum = a.left + a.right + b.left + b.right - span;  // where the two slopes meet
        return std::max(bound, sum / 2);
    }

    // What a cut at depth two costs with these shares of leaves.
    static Probe with_leaves(const CutCosts& costs, std::pair<int, int> share, int64_t reach) {
        return {reach, share.first > 1 ? costs.left.stump : costs.left.leaf,
                share.second > 1 ? costs.right.stump : costs.right.leaf};
    }

    // Evaluates a cut of a node of depth three or more: its sides, as far as the bound needs them. Larger side first.
    Probe evaluate(const Rows<Cost>& at, int depth, std::pair<int, int> share, size_t feature, const Cuts& cuts,
                   size_t cut, const Interval& interval, int64_t bound, Solved* left, Solved* right) {
        ++n_evaluated;
        Probe probe = bound_cut(interval, cuts.reach[cut]);
        *left = {probe.left, false, nullptr}, *right = {probe.right, false, nullptr};
        // A side that costs more than needed closes more cuts nearby, as far as there are any.
        int64_t slack = 0;
        if (Cost::kHasReach && options_.lipschitz)
            slack = std::max(cuts.reach[cut] - cuts.reach[interval.low], cuts.reach[interval.high] - cuts.reach[cut]);
        const bool left_first = cuts.n_left[cut] * 2 >= at.size();
        for (int turn = 0; turn < 2; ++turn) {
            const bool is_left = (turn == 0) == left_first;
            if (turn == 1 && probe.left + probe.right >= bound) break;
            const int64_t other = is_left ? probe.right : probe.left;
            Solved& side = is_left ? *left : *right;
            side = solve(child(at, feature, cuts.rank[cut], !is_left), depth - 1, is_left ? share.first : share.second,
                         bound - other + slack / kSlackShare);
            int64_t& cost = is_left ? probe.left : probe.right;
            cost = std::max(cost, side.value);
        }
        return probe;
    }

    Stumps& stumps() { return stumps_; }
    void check_stop() const {
        if (stop_.load(std::memory_order_relaxed)) throw Stopped{};
    }
    // Searches the cuts of a feature at a node by bisection. evaluate(cut, interval) returns a probe; bound(cut) is the
    // cost that a cut must stay below, for this and later cuts.
    template <class Evaluate, class Bound>
    void search_cuts(const Cuts& cuts, const Probe& before, const Probe& after, int64_t rounding,
                     const Evaluate& evaluate, const Bound& bound) {
        std::vector<Interval> open{{0, cuts.size() - 1, before, after, rounding}};
        while (!open.empty()) {
            Interval interval = open.back();
            open.pop_back();
            if (!narrow(interval, cuts, bound(interval.low))) continue;
            const size_t cut = interval.low + (interval.high - interval.low) / 2;
            const Probe probe = evaluate(cut, interval);
            if (cut < interval.high) open.push_back({cut + 1, interval.high, probe, interval.after, rounding});
            if (cut > interval.low) open.push_back({interval.low, cut - 1, interval.before, probe, rounding});
        }
    }

private:
    static constexpr int64_t kSlackShare = 4;

    Solved solve_stump(const Rows<Cost>& at, int64_t leaf) {
        Cuts whole;  // one cut, with all rows on its left
        whole.rank = {INT16_MAX}, whole.n_left = {static_cast<uint32_t>(at.size())}, whole.reach = {0};
        if (table_.rank.empty()) return {leaf, true, nullptr};
        if (table_.n_rows > INT16_MAX) whole.rank = {INT32_MAX};
        stumps_.begin(at);
        stumps_.begin_feature(whole_feature(), whole);
        const int64_t value = stumps_.at(0).left.stump;
        if (value >= leaf) return {leaf, true, nullptr};
        Plan plan;
        plan.depth = 1;
        return {value, true, std::make_shared<const Plan>(plan)};
    }
    size_t whole_feature() const { return table_.numeric.empty() ? table_.binary[0] : table_.numeric[0]; }

    // Moves a feature to the front.
    void favour(size_t i) {
        const auto first = favourites_.begin();
        std::rotate(first, first + static_cast<int64_t>(i), first + static_cast<int64_t>(i) + 1);
    }

    Solved solve_two(const Rows<Cost>& at, int leaves, int64_t bound, int64_t known) {
        const int64_t leaf = table_.leaf(at.total), one = table_.penalty;
        Solved best{std::min(bound, leaf), leaf < bound, nullptr};
        stumps_.begin(at);
        const Probe before{0, one, one};
        for (size_t i = 0; i < favourites_.size() && best.value > known; ++i) {
            const size_t feature = favourites_[i];
            check_stop();
            bool improved = false;
            const auto offer = [&](const Probe& probe, int32_t cut, std::pair<int, int> share) {
                if (probe.left + probe.right >= best.value) return;
                best.value = probe.left + probe.right, best.exact = improved = true;
                best.plan = std::make_shared<const Plan>(
                    Plan{static_cast<int32_t>(feature), cut, 2, share.first, share.second, {}, {}});
            };
            CutCosts costs;
            if (table_.is_binary[feature] && stumps_.at_binary(feature, costs)) {
                ++n_evaluated;
                for (const auto& share : leaf_shares(2, leaves)) offer(with_leaves(costs, share, 0), 0, share);
                if (improved) favour(i);
                continue;
            }
            cuts_.find(table_, at, feature);
            if (cuts_.size() == 0) continue;
            stumps_.begin_feature(feature, cuts_);
            const Probe after{cuts_.total_reach, one, one};
            for (const auto& share : leaf_shares(2, leaves)) {
                search_cuts(
                    cuts_, before, after, rounding(leaves),
                    [&](size_t cut, const Interval&) {
                        ++n_evaluated;
                        const Probe probe = with_leaves(stumps_.at(cut), share, cuts_.reach[cut]);
                        offer(probe, cuts_.rank[cut], share);
                        return probe;
                    },
                    [&](size_t) { return best.value; });
            }
            if (improved) favour(i);
        }
        return best;
    }

    Solved solve_deep(const Rows<Cost>& at, int depth, int leaves, int64_t bound, int64_t known) {
        const int64_t leaf = table_.leaf(at.total), one = table_.penalty;
        Solved best{std::min(bound, leaf), leaf < bound, nullptr};
        const Solved shallow = solve(at, depth - 1, leaves, best.value);
        if (shallow.exact && shallow.value < best.value) best = shallow;
        const std::vector<uint32_t> features = favourites_;  // of now: deeper searches change the order
        for (size_t i = 0; i < features.size() && best.value > known; ++i) {
            const size_t feature = features[i];
            Cuts cuts;
            cuts.find(table_, at, feature);
            if (cuts.size() == 0) continue;
            const Probe before{0, one, shallow.value}, after{cuts.total_reach, shallow.value, one};
            for (const auto& share : leaf_shares(depth, leaves)) {
                search_cuts(
                    cuts, before, after, rounding(leaves),
                    [&](size_t cut, const Interval& interval) {
                        Solved left, right;
                        const Probe probe =
                            evaluate(at, depth, share, feature, cuts, cut, interval, best.value, &left, &right);
                        if (left.exact && right.exact && left.value + right.value < best.value) {
                            best.value = left.value + right.value, best.exact = true;
                            best.plan =
                                std::make_shared<const Plan>(Plan{static_cast<int32_t>(feature), cuts.rank[cut], depth,
                                                                  share.first, share.second, left.plan, right.plan});
                        }
                        return probe;
                    },
                    [&](size_t) { return best.value; });
            }
        }
        return best;
    }

    const Table<Cost>& table_;
    const Options& options_;
    const std::atomic<bool>& stop_;
    Stumps stumps_;
    std::vector<uint32_t> favourites_;  // features, the last successful one first
    std::vector<Archive> archives_;
    std::vector<uint8_t> side_;
    Cuts cuts_;
};

}  // namespace treewise::optimal
