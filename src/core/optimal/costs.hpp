// What a leaf costs, as an integer that never grows when rows are taken away.
//
// That is all the bounds need: fewer rows cost no more. Where one row changes the cost of a tree by at most its
// `reach`, a node also costs no more than its rows without some, plus the reach of these (the one-row or Lipschitz
// bound).

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "optimal/optimal.hpp"
#include "util/fixed_point.hpp"

namespace treewise::optimal {

inline constexpr int kMaxClasses = 64;

// Two classes, errors or costs of mistakes. A row has a signed weight: its cost if the leaf predicts class 0
// (positive) or class 1 (negative).
class SignedCost {
public:
    static constexpr bool kIsSigned = true, kHasReach = true;
    static constexpr int64_t kRounding = 0;
    struct Sum {
        int64_t positive = 0, negative = 0;
    };
    explicit SignedCost(const Problem& p) {
        weight_.resize(static_cast<size_t>(p.n_rows));
        for (size_t r = 0; r < weight_.size(); ++r) {
            const int64_t first = p.cost[static_cast<size_t>(2 * p.target[r])] * p.weight[r];
            const int64_t second = p.cost[static_cast<size_t>(2 * p.target[r] + 1)] * p.weight[r];
            weight_[r] = first - second;
            constant_ += std::min(first, second);
        }
    }
    int64_t constant() const { return constant_; }  // what every tree costs
    // Rows that no test tells apart become one row: their smaller side is paid by every tree.
    void merge(const std::vector<uint32_t>& group, const std::vector<uint32_t>& kept) {
        std::vector<Sum> sums(kept.size());
        for (size_t r = 0; r < group.size(); ++r) add(sums[group[r]], static_cast<uint32_t>(r));
        weight_.resize(kept.size());
        for (size_t g = 0; g < kept.size(); ++g) {
            constant_ += leaf(sums[g]);
            weight_[g] = sums[g].positive - sums[g].negative;
        }
    }
    void add(Sum& sum, uint32_t row) const {
        const int64_t w = weight_[row];
        (w > 0 ? sum.positive : sum.negative) += std::abs(w);
    }
    int64_t leaf(const Sum& sum) const { return std::min(sum.positive, sum.negative); }
    int64_t leaf_of_rest(const Sum& total, const Sum& part) const {
        return std::min(total.positive - part.positive, total.negative - part.negative);
    }
    int64_t reach(uint32_t row) const { return std::abs(weight_[row]); }
    const std::vector<int64_t>& weights() const { return weight_; }

private:
    std::vector<int64_t> weight_;
    int64_t constant_ = 0;
};

// Any number of classes, errors or costs of mistakes: one sum for each class that the leaf may predict.
class LinearCost {
public:
    static constexpr bool kIsSigned = false, kHasReach = true;
    static constexpr int64_t kRounding = 0;
    using Sum = std::array<int64_t, kMaxClasses>;
    explicit LinearCost(const Problem& p) : k_(static_cast<size_t>(p.n_classes)), target_(p.target), weight_(p.weight) {
        cost_ = p.cost;
        for (size_t y = 0; y < k_; ++y) most_.push_back(*std::max_element(&cost_[y * k_], &cost_[y * k_] + k_));
    }
    int64_t constant() const { return 0; }
    void add(Sum& sum, uint32_t row) const {
        const int64_t w = weight_[row];
        const int64_t* cost = &cost_[static_cast<size_t>(target_[row]) * k_];
        for (size_t k = 0; k < k_; ++k) sum[k] += w * cost[k];
    }
    int64_t leaf(const Sum& sum) const { return *std::min_element(sum.begin(), sum.begin() + k_); }
    int64_t leaf_of_rest(const Sum& total, const Sum& part) const {
        int64_t least = total[0] - part[0];
        for (size_t k = 1; k < k_; ++k) least = std::min(least, total[k] - part[k]);
        return least;
    }
    int64_t reach(uint32_t row) const { return weight_[row] * most_[static_cast<size_t>(target_[row])]; }
    size_t n_classes() const { return k_; }
    int64_t label(uint32_t row) const { return target_[row]; }
    int64_t weight(uint32_t row) const { return weight_[row]; }
    bool counts_errors() const {  // every mistake costs 1
        for (size_t y = 0; y < k_; ++y)
            for (size_t k = 0; k < k_; ++k)
                if (cost_[y * k_ + k] != (y != k)) return false;
        return true;
    }

private:
    size_t k_;
    const int64_t *target_, *weight_;
    std::vector<int64_t> cost_, most_;
};

// Sum of squared errors about the mean: Σwy² − (Σwy)²/W, exact, then rounded down.
class SquaredCost {
public:
    static constexpr bool kIsSigned = false, kHasReach = false;
    static constexpr int64_t kRounding = 0;
    struct Sum {
        int64_t weight = 0;
        int128 first = 0, second = 0;
    };
    explicit SquaredCost(const Problem& p) : target_(p.target), weight_(p.weight), shift_(p.shift) {}
    int64_t constant() const { return 0; }
    void add(Sum& sum, uint32_t row) const {
        const int128 moment = static_cast<int128>(weight_[row]) * target_[row];
        sum.weight += weight_[row], sum.first += moment, sum.second += moment * target_[row];
    }
    int64_t leaf(const Sum& s) const {
        if (s.weight == 0) return 0;
        // (Σwy)²/W with Σwy = qW + r: q²W + 2qr + r²/W
        const int128 q = floor_div(s.first, s.weight), r = s.first - q * s.weight;
        const int128 exact = s.second - q * q * s.weight - 2 * q * r - (r * r + s.weight - 1) / s.weight;
        return static_cast<int64_t>(exact >> shift_);
    }
    int64_t leaf_of_rest(const Sum& total, const Sum& part) const {
        return leaf({total.weight - part.weight, total.first - part.first, total.second - part.second});
    }
    int64_t reach(uint32_t) const { return 0; }

private:
    const int64_t *target_, *weight_;
    int shift_;
};

// Total gini impurity W − Σc²/W, or total entropy Σ c·log2(W/c), in units of 2^-40 rounded down to 2^shift of these.
template <bool kEntropy>
class ImpurityCost {
public:
    static constexpr bool kIsSigned = false, kHasReach = false;
    static constexpr int64_t kRounding = kEntropy ? 2 : 0;  // rounded logarithms: not quite monotone
    struct Sum {
        int64_t weight = 0;
        std::array<int64_t, kMaxClasses> count{};
    };
    explicit ImpurityCost(const Problem& p)
        : k_(static_cast<size_t>(p.n_classes)), target_(p.target), weight_(p.weight), shift_(p.shift) {}
    int64_t constant() const { return 0; }
    void add(Sum& sum, uint32_t row) const {
        sum.weight += weight_[row], sum.count[static_cast<size_t>(target_[row])] += weight_[row];
    }
    int64_t leaf(const Sum& s) const {
        return impurity(s.weight, [&](size_t k) { return s.count[k]; });
    }
    int64_t leaf_of_rest(const Sum& total, const Sum& part) const {
        return impurity(total.weight - part.weight, [&](size_t k) { return total.count[k] - part.count[k]; });
    }
    int64_t reach(uint32_t) const { return 0; }

private:
    template <class Count>
    int64_t impurity(int64_t weight, const Count& count) const {
        if (weight == 0) return 0;
        if constexpr (kEntropy) {
            int128 total = log2_fixed(static_cast<uint64_t>(weight)) * weight;
            for (size_t k = 0; k < k_; ++k)
                if (const int64_t c = count(k)) total -= log2_fixed(static_cast<uint64_t>(c)) * c;
            return static_cast<int64_t>(std::max<int128>(total, 0) >> (kFraction - kUnits + shift_));
        } else {
            int128 squares = 0;
            for (size_t k = 0; k < k_; ++k) squares += static_cast<int128>(count(k)) * count(k);
            const int128 rest = static_cast<int128>(weight) * weight - squares;
            // (rest << 40) / weight without overflow: quotient and remainder apart
            const int128 whole = rest / weight, remainder = rest % weight;
            const int128 exact = (whole << kUnits) + ((remainder << kUnits) / weight);
            return static_cast<int64_t>(exact >> shift_);
        }
    }
    static constexpr int kUnits = 40;
    size_t k_;
    const int64_t *target_, *weight_;
    int shift_;
};

}  // namespace treewise::optimal
