// Sweeps a sorted column from one end to the other and finds the absolute error of both sides of every cut.
//
// The rows of a node are linked in the order of their targets. Rows that leave a side are unlinked, and the median of
// the others is then the same link or one next to it: a step takes constant time, where a search tree takes log n.
// A side that grows is a side that shrinks, read backwards, so a column takes two passes over its rows:
//
//     targets   1 ⇄ 3 ⇄ 4 ⇄ 7 ⇄ 9      median 4
//     remove 3  1 ⇄ 4 ⇄ 7 ⇄ 9          lower median 4: as much weight below as before, or a link further
//
// Both passes run side by side, so that one waits for memory while the other computes.
//
// Targets are shifted until sums of 64 bits hold them, at most nodes by nothing. What a cut's error may be off by is
// returned beside; search/exact_splitter.hpp compares the few cuts within it.

#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "problem/problem.hpp"
#include "util/fixed_point.hpp"

namespace treewise {

class MedianSweep {
public:
    explicit MedianSweep(const Target& target) : target_(target), place_(static_cast<size_t>(target.n_rows)) {}

    // rows: of a node, by ascending y.
    void begin_node(std::span<const uint32_t> rows, const int64_t* y) {
        n_ = static_cast<uint32_t>(rows.size());
        for (auto* list : {&y_, &weight_})
            if (list->size() < n_ + 2) list->resize(n_ + 2);
        for (auto* links : {&left_links_, &right_links_})
            if (links->size() < n_ + 2) links->resize(n_ + 2);
        if (places_.size() < n_) places_.resize(n_), errors_.resize(n_);
        all_ = {};
        unit_weights_ = true;
        for (uint32_t i = 0; i < n_; ++i) {
            weight_[i + 1] = target_.weight[rows[i]], place_[rows[i]] = i + 1;
            all_.weight += weight_[i + 1], unit_weights_ = unit_weights_ && weight_[i + 1] == 1;
        }
        const int64_t low = y[rows.front()];
        const auto range = static_cast<uint64_t>(y[rows.back()] - low);
        const int shift = std::max(0, bit_length(range) + bit_length(static_cast<uint64_t>(all_.weight)) - 60);
        tolerance_ = shift ? 4 * all_.weight : 0;
        for (uint32_t i = 0; i < n_; ++i) {
            y_[i + 1] = (y[rows[i]] - low) >> shift;
            all_.sum += weight_[i + 1] * y_[i + 1];
        }
        weight_[0] = weight_[n_ + 1] = 0, y_[0] = y_[n_ + 1] = 0;
        all_.middle = 1;
        while (all_.is_before_middle(weight_[all_.middle])) all_.step_up(*this);
    }
    // Fills errors(): after k + 1 rows on the left. row(k): the node's rows in the order of the column.
    template <class RowAt>
    void sweep(const RowAt& row) {
        for (uint32_t k = 0; k < n_; ++k) places_[k] = place_[row(k)];
        unit_weights_ ? sweep_both<true>() : sweep_both<false>();
    }
    const int64_t* errors() const { return errors_.data(); }
    // Two errors whose exact values are equal differ by at most this.
    int64_t tolerance() const { return tolerance_; }

private:
    struct Link {
        uint32_t before, after;
    };
    // The rows that are still linked.
    struct Side {
        uint32_t middle = 1;                      // the lower median
        int64_t weight = 0, sum = 0;              // of all …
        int64_t weight_below = 0, sum_below = 0;  // … and of those before the median

        bool is_before_middle(int64_t weight_of_middle) const { return 2 * (weight_below + weight_of_middle) < weight; }
        bool is_after_middle() const { return 2 * weight_below >= weight; }
        void step_up(const MedianSweep& sweep) {
            weight_below += sweep.weight_[middle], sum_below += sweep.weight_[middle] * sweep.y_[middle];
            ++middle;  // while all rows are linked
        }
        int64_t error(int64_t median) const {
            return median * weight_below - sum_below + (sum - sum_below - median * (weight - weight_below));
        }
    };

    static Link unlink(std::vector<Link>& links, uint32_t place) {
        const Link link = links[place];
        links[link.before].after = link.after, links[link.after].before = link.before;
        return link;
    }
    void remove(Side& side, std::vector<Link>& links, uint32_t place) const {
        const Link link = unlink(links, place);
        const int64_t w = weight_[place], wy = w * y_[place];
        const int64_t is_below = place < side.middle;
        side.weight -= w, side.sum -= wy;
        side.weight_below -= w & -is_below, side.sum_below -= wy & -is_below;
        if (place == side.middle) side.middle = link.after;
        while (side.is_after_middle()) {
            side.middle = links[side.middle].before;
            const int64_t moved = weight_[side.middle];
            side.weight_below -= moved, side.sum_below -= moved * y_[side.middle];
        }
        while (side.is_before_middle(weight_[side.middle])) {
            const int64_t moved = weight_[side.middle];
            side.weight_below += moved, side.sum_below += moved * y_[side.middle];
            side.middle = links[side.middle].after;
        }
    }
    // The same if all weights are 1: (m − 1) / 2 of m rows are below the lower median, so that it moves by one link at
    // most, and no branch depends on the data.
    void remove_unit(Side& side, std::vector<Link>& links, uint32_t place) const {
        const Link link = unlink(links, place);
        const int64_t is_below = place < side.middle;
        --side.weight, side.sum -= y_[place];
        side.weight_below -= is_below, side.sum_below -= y_[place] & -is_below;
        const uint32_t middle = place == side.middle ? link.after : side.middle;
        const int64_t missing = ((side.weight - 1) >> 1) - side.weight_below;  // −1, 0 or 1
        const Link next = links[middle];
        side.sum_below += (y_[middle] & -int64_t{missing > 0}) - (y_[next.before] & -int64_t{missing < 0});
        side.weight_below += missing;
        side.middle = missing > 0 ? next.after : missing < 0 ? next.before : middle;
    }
    template <bool kUnit>
    void sweep_both() {
        for (uint32_t i = 0; i <= n_ + 1; ++i) left_links_[i] = right_links_[i] = {i - 1, i + 1};
        std::fill_n(errors_.begin(), n_, 0);
        Side left = all_, right = all_;
        for (uint32_t k = 0; k + 1 < n_; ++k) {
            const uint32_t back = n_ - 1 - k;
            if constexpr (kUnit) {
                remove_unit(right, right_links_, places_[k]);
                remove_unit(left, left_links_, places_[back]);
            } else {
                remove(right, right_links_, places_[k]);
                remove(left, left_links_, places_[back]);
            }
            errors_[k] += right.error(y_[right.middle]);
            errors_[back - 1] += left.error(y_[left.middle]);
        }
    }

    const Target& target_;
    std::vector<uint32_t> place_;  // of each row of the node among its targets, from 1
    // the current node
    uint32_t n_ = 0;
    bool unit_weights_ = true;
    int64_t tolerance_ = 0;
    Side all_;
    std::vector<int64_t> y_, weight_;  // by place, with one more at either end
    std::vector<Link> left_links_, right_links_;
    // the current column
    std::vector<uint32_t> places_;
    std::vector<int64_t> errors_;
};

}  // namespace treewise
