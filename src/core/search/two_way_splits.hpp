// The splits of a column into two branches, enumerated from its buckets: its values or levels at a node, in ascending
// order.
//
// The exact splitter (search/exact_splitter.hpp) and the score bounds of categories (search/category_scan.hpp) derive
// from this class, so both try the same candidates; train/candidates.py is the specification. Self provides
//
// clang-format off
//     n_buckets(), position(i)                 the buckets; position: of the cut after bucket i
//     n_nameable()                             the first ones, of a level each: the last may be the pool of rare levels
//     n_classes(), class_weight(c), weight()   of the node
//     placements(), start_placement(p)         of the missing rows; afterwards every bucket is on the right
//     move_left(i), move_right(i)              one bucket
//     offer_two(kind, position, placement)     the two sides as they are
//     rate(i, c)                               rate of class c in bucket i, or its mean
// clang-format on

#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "criteria/exact_impurity.hpp"

namespace treewise {

template <class Self>
class TwoWaySplits {
protected:
    // Cuts the sequence of buckets at every position:   a | b c d      a b | c d      a b c | d
    void scan_thresholds(SplitKind kind) {
        for_each_placement([&](int placement) {
            for (size_t i = 0; i + 1 < self().n_buckets(); ++i) {
                self().move_left(i);
                self().offer_two(kind, self().position(i), placement);
            }
        });
    }
    void scan_one_values() {
        if (self().n_buckets() < 2) return;
        for_each_placement([&](int placement) {
            for (size_t i = 0; i < self().n_nameable(); ++i) {
                self().move_left(i);
                self().offer_two(kOneValue, static_cast<int64_t>(i), placement);
                self().move_right(i);
            }
        });
    }
    // For two classes and for regression some prefix of the levels ordered by rate or mean is optimal (Breiman et al.
    // 1984, theorem 4.5). For more classes: all subsets while that is affordable, then the prefixes of the
    // orders by the rates of the heaviest classes.
    void scan_subsets() {
        if (is_exhaustive()) return scan_all_subsets();
        if (self().n_classes() <= 2) return scan_rate_order(self().n_classes() ? 1 : 0);
        for (int64_t cls : heaviest_classes()) scan_rate_order(cls);
    }
    // The buckets that the subset at this position sends left.
    void list_subset(size_t position, std::vector<uint8_t>& goes_left) {
        const size_t n = self().n_buckets();
        const bool by_class = self().n_classes() > 2;
        goes_left.assign(n, 0);
        if (is_exhaustive()) {
            for (size_t i = 0; i < n; ++i) goes_left[i] = i == 0 || !(position >> (i - 1) & 1);
            return;
        }
        order_by_rate(by_class ? static_cast<int64_t>(position / n) : self().n_classes() ? 1 : 0);
        for (size_t k = 0; k < (by_class ? position % n : position); ++k) goes_left[order_[k]] = 1;
    }

private:
    Self& self() { return static_cast<Self&>(*this); }
    bool is_exhaustive() { return self().n_classes() > 2 && self().n_buckets() <= kMaxExhaustiveLevels; }

    template <class Work>
    void for_each_placement(const Work& work) {
        for (int placement = 0; placement < self().placements(); ++placement) {
            self().start_placement(placement);
            work(placement);
        }
    }
    // The first bucket stays in place; bit j of the mask moves bucket j + 1 to the other side.
    void scan_all_subsets() {
        const size_t n = self().n_buckets();
        for_each_placement([&](int placement) {
            for (size_t i = 0; i < n; ++i) self().move_left(i);
            for (uint32_t mask = 1; mask < (1u << (n - 1)); ++mask) {
                for (uint32_t changed = mask ^ (mask - 1), j = 0; changed; changed >>= 1, ++j)
                    mask >> j & 1 ? self().move_right(j + 1) : self().move_left(j + 1);
                self().offer_two(kSubset, mask, placement);
            }
        });
    }
    void scan_rate_order(int64_t cls) {
        const auto n = static_cast<int64_t>(self().n_buckets()), first = self().n_classes() > 2 ? cls * n : 0;
        order_by_rate(cls);
        for_each_placement([&](int placement) {
            for (int64_t k = 1; k < n; ++k) {
                self().move_left(order_[static_cast<size_t>(k - 1)]);
                self().offer_two(kSubset, first + k, placement);
            }
        });
    }
    // Those of the node, in ascending order; of classes of equal weight, the first.
    const std::vector<int64_t>& heaviest_classes() {
        classes_.clear();
        for (int64_t cls = 0; cls < self().n_classes(); ++cls) {
            if (self().class_weight(cls) > 0) classes_.push_back(cls);
        }
        if (classes_.size() <= kMaxRateOrders) return classes_;
        std::stable_sort(classes_.begin(), classes_.end(),
                         [&](int64_t a, int64_t b) { return self().class_weight(a) > self().class_weight(b); });
        classes_.resize(kMaxRateOrders);
        std::sort(classes_.begin(), classes_.end());
        return classes_;
    }
    // Ascending; equal rates stay in the order of the levels.
    void order_by_rate(int64_t cls) {
        const size_t n = self().n_buckets();
        order_.resize(n);
        if (self().n_classes() && self().weight() < int64_t{1} << 26) {  // doubles distinguish all such fractions
            double_rates_.resize(n);
            for (size_t i = 0; i < n; ++i) {
                const Rate r = self().rate(i, cls);
                double_rates_[i] = {
                    static_cast<double>(static_cast<int64_t>(r.numerator)) / static_cast<double>(r.denominator), i};
            }
            std::sort(double_rates_.begin(), double_rates_.end());
            for (size_t i = 0; i < n; ++i) order_[i] = double_rates_[i].second;
            return;
        }
        rates_.resize(n);
        for (size_t i = 0; i < n; ++i) rates_[i] = self().rate(i, cls);
        std::iota(order_.begin(), order_.end(), size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return rates_[a] < rates_[b]; });
    }

    std::vector<int64_t> classes_;  // of heaviest_classes
    std::vector<size_t> order_;     // of the buckets, by rate
    std::vector<Rate> rates_;
    std::vector<std::pair<double, size_t>> double_rates_;
};

}  // namespace treewise
