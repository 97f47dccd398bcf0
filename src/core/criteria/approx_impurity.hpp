// Approximate impurity in doubles with a proven error bound; used to discard candidates before the exact comparison.
//
// The purity of a split is the sum of the purities (negative impurities) of its branches: larger is better;
// `error_bound` bounds its error. Purities are weighted by the branch and leave out terms that depend only on the node.
// Candidates within that error of the best are compared again in integers (search/exact_splitter.hpp), so purities
// affect only the running time, never the tree.
//
//     entropy   Σ c·log c − m·log m     gini   Σ c²/m     error   max c     squared error   S²/m     poisson  S·log S/m
//
// All five are convex in the statistics and subadditive, φ(a + b) <= φ(a) + φ(b); criteria/bin_bound.hpp relies on
// both.

#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "criteria/row_stats.hpp"
#include "problem/problem.hpp"

namespace treewise {

enum class TargetKind { binary, multiclass, regression };

// n·log2(n) in doubles, tabulated.
class NLogNTable {
public:
    explicit NLogNTable(int64_t max) : table_(static_cast<size_t>(std::min<int64_t>(max, kMaxTableSize) + 1), 0.0) {
        for (size_t n = 2; n < table_.size(); ++n)
            table_[n] = static_cast<double>(n) * std::log2(static_cast<double>(n));
    }
    const double* data() const { return table_.data(); }
    double operator()(int64_t n) const {
        if (static_cast<uint64_t>(n) < table_.size()) return table_[static_cast<size_t>(n)];
        return static_cast<double>(n) * std::log2(static_cast<double>(n));
    }

private:
    static constexpr int64_t kMaxTableSize = 1 << 20;
    std::vector<double> table_;
};

// Bounds the error of a row's quantised target: a constant per row plus a term per unit of its weight.
struct QuantError {
    double row = 0, weight = 0;
};

// What prices in bits (criteria/price.hpp) are converted by at a regression node, in quantised units: Σ w·(v − mean)²
// for squared error, and the size of one bit for Poisson.
struct PriceUnits {
    double sum_of_squares = 0, bit = 0;
};

// Quantises weighted targets: centred at `centre`, without the last `shift` bits.
struct Quantiser {
    int64_t centre = 0;
    int shift = 0;

    // Keeps as many bits as the range of y and the total weight allow without overflow.
    static Quantiser of(int64_t low, int64_t high, int128 weight, bool centre_at_zero) {
        Quantiser q;
        q.centre = centre_at_zero ? 0 : static_cast<int64_t>((static_cast<int128>(low) + high) >> 1);
        const int128 reach = std::max(static_cast<int128>(high) - q.centre, static_cast<int128>(q.centre) - low) + 1;
        q.shift = std::max(0, bit_length(static_cast<uint128>(reach)) + bit_length(static_cast<uint128>(weight)) - 61);
        return q;
    }
    int64_t operator()(int64_t y, int64_t weight) const {
        return static_cast<int64_t>((static_cast<int128>(weight) * (static_cast<int128>(y) - centre)) >> shift);
    }
    // rounded: whether the targets were already rounded to their own units (train/fixed_point.py).
    QuantError error(bool rounded) const { return {shift > 0 ? 1.0 : 0.0, rounded ? scale_pow2(1.0, -shift) : 0.0}; }
    double to_double(int64_t y) const {
        return scale_pow2(static_cast<double>(static_cast<int128>(y) - centre), -shift);
    }
};

// Purity of one branch, by criterion.
template <TargetKind K>
class ApproxImpurity {
public:
    ApproxImpurity(Criterion criterion, const NLogNTable& nlogn, int64_t n_classes)
        : criterion_(criterion), nlogn_(&nlogn), n_classes_(static_cast<size_t>(n_classes)) {}

    Criterion criterion() const { return criterion_; }

    // Called with the statistics of a node before its branches are scored. low and high: its smallest and largest
    // quantised target per unit of weight.
    void begin_node(const int64_t* node_total, double low, double high, QuantError error) {
        const auto rows = static_cast<double>(node_total[kRows]), weight = static_cast<double>(node_total[kWeight]);
        if constexpr (K == TargetKind::regression) {
            // The sum S of a side has an error of at most e = rows·a + weight·b + r (r: rounding of doubles), hence
            // S²/m one of 2·|S|/m·e + e²/m, where |S|/m, relative to the mean, lies within the range of the node.
            mean_ = criterion_ == Criterion::squared_error ? static_cast<double>(node_total[kQuantised]) / weight : 0.0;
            const double range = high - low + 1,
                         r = scale_pow2(std::max(std::abs(low), std::abs(high)) * weight + 1, -49);
            const double e = rows * error.row + weight * error.weight + 2 * r;
            if (criterion_ == Criterion::squared_error)
                error_bound_ = 2 * range * e +
                               3 * (rows * error.row + weight * error.weight * error.weight + 2 * r * r) +
                               scale_pow2(range * range * weight, -46);
            else  // S·log2(S/m): the logarithm is within ±63
                error_bound_ = 256 * e + scale_pow2(static_cast<double>(node_total[kQuantised]) * 64, -44);
        } else {
            error_bound_ = scale_pow2(weight * (2 + std::log2(weight)), -36);
        }
        node_purity_ = purity(node_total);
    }
    double error_bound() const { return error_bound_; }
    double node_purity() const { return node_purity_; }

    double purity(const int64_t* s) const {
        switch (criterion_) {
            case Criterion::entropy: return purity<Criterion::entropy>(s);
            case Criterion::gini: return purity<Criterion::gini>(s);
            case Criterion::error: return purity<Criterion::error>(s);
            case Criterion::squared_error: return purity<Criterion::squared_error>(s);
            default: return purity<Criterion::poisson>(s);
        }
    }
    template <Criterion C>
    double purity(const int64_t* s) const {
        if constexpr (K == TargetKind::binary) return purity_binary<C>(s[kWeight], s[kCounts + 1]);
        if constexpr (K == TargetKind::regression) return purity_regression<C>(s[kWeight], s[kQuantised]);
        const auto m = static_cast<double>(s[kWeight]);
        if (m == 0) return 0;
        double sum = 0;
        for (size_t c = 0; c < n_classes_; ++c) {
            const int64_t n = s[kCounts + c];
            if constexpr (C == Criterion::gini) sum += static_cast<double>(n) * static_cast<double>(n);
            if constexpr (C == Criterion::entropy) sum += nlogn(n);
            if constexpr (C == Criterion::error) sum = std::max(sum, static_cast<double>(n));
        }
        if constexpr (C == Criterion::gini) return sum / m;
        if constexpr (C == Criterion::entropy) return sum - nlogn(s[kWeight]);
        return sum;
    }
    template <Criterion C>
    double purity_binary(int64_t weight, int64_t ones) const {
        const auto m = static_cast<double>(weight), a = static_cast<double>(ones), b = m - a;
        if (m == 0) return 0;
        if constexpr (C == Criterion::gini) return (a * a + b * b) / m;
        if constexpr (C == Criterion::entropy) return nlogn(ones) + nlogn(weight - ones) - nlogn(weight);
        return std::max(a, b);
    }
    template <Criterion C>
    double purity_regression(int64_t weight, int64_t sum) const {
        const auto m = static_cast<double>(weight), s = static_cast<double>(sum) - mean_ * m;
        if constexpr (C == Criterion::squared_error) return m == 0 ? 0 : s * s / m;
        return s > 0 ? s * std::log2(s / m) : 0;
    }
    double nlogn(int64_t n) const { return (*nlogn_)(n); }
    size_t n_classes() const { return n_classes_; }
    double mean() const { return mean_; }

private:
    Criterion criterion_;
    const NLogNTable* nlogn_;
    size_t n_classes_;
    double mean_ = 0, error_bound_ = 0, node_purity_ = 0;
};

// Statistics of both sides of a split while rows move from right to left; scoring is O(1) for any number of classes.
template <Criterion C, TargetKind K>
class RunningSplit {
public:
    explicit RunningSplit(const ApproxImpurity<K>& approx) : approx_(approx) {
        if constexpr (K == TargetKind::multiclass)
            left_counts_.resize(approx.n_classes()), right_counts_.resize(approx.n_classes());
    }
    int64_t left_weight() const { return left_weight_; }
    int64_t right_weight() const { return right_weight_; }
    int64_t left_sum() const { return left_sum_; }
    int64_t right_sum() const { return right_sum_; }

    void start(const int64_t* left, const int64_t* right) {
        left_weight_ = left[kWeight], right_weight_ = right[kWeight];
        if constexpr (K == TargetKind::multiclass) {
            std::copy_n(left + kCounts, left_counts_.size(), left_counts_.begin());
            std::copy_n(right + kCounts, right_counts_.size(), right_counts_.begin());
            recount();
        } else {
            constexpr size_t at = K == TargetKind::binary ? kCounts + 1 : kQuantised;
            left_sum_ = left[at], right_sum_ = right[at];
        }
    }
    // value: the class (binary, multiclass) or the quantised target (regression).
    void move_row(int64_t value, int64_t weight) {
        left_weight_ += weight, right_weight_ -= weight;
        if constexpr (K == TargetKind::binary) {
            const int64_t moved = value ? weight : 0;
            left_sum_ += moved, right_sum_ -= moved;
        } else if constexpr (K == TargetKind::regression) {
            left_sum_ += value, right_sum_ -= value;
        } else {
            move_class(static_cast<size_t>(value), weight);
        }
    }
    // Moves many rows at once: their total weight, and their weight of class 1 (or sum of targets).
    void move_weight(int64_t weight, int64_t sum) {
        left_weight_ += weight, right_weight_ -= weight, left_sum_ += sum, right_sum_ -= sum;
    }

    double purity() const {
        if constexpr (K == TargetKind::binary)
            return approx_.template purity_binary<C>(left_weight_, left_sum_) +
                   approx_.template purity_binary<C>(right_weight_, right_sum_);
        if constexpr (K == TargetKind::regression)
            return approx_.template purity_regression<C>(left_weight_, left_sum_) +
                   approx_.template purity_regression<C>(right_weight_, right_sum_);
        if constexpr (C == Criterion::gini) {
            if (fits_int64_)
                return static_cast<double>(left_squares64_) / static_cast<double>(left_weight_) +
                       static_cast<double>(right_squares64_) / static_cast<double>(right_weight_);
            return static_cast<double>(left_squares_) / static_cast<double>(left_weight_) +
                   static_cast<double>(right_squares_) / static_cast<double>(right_weight_);
        }
        if constexpr (C == Criterion::entropy)
            return left_term_ + right_term_ - approx_.nlogn(left_weight_) - approx_.nlogn(right_weight_);
        return left_term_ + right_term_;
    }

private:
    // Exact Σ c² of both sides (left_squares_, right_squares_; or left_squares64_, right_squares64_ where 64 bits
    // suffice), because after heavy rows have moved the remainder may be tiny compared with what was subtracted. Σ
    // c·log c or max c in doubles (left_term_, right_term_); the former is recomputed regularly, since rounding errors
    // accumulate.
    void recount() {
        left_term_ = right_term_ = 0, left_squares_ = right_squares_ = 0, n_moves_ = 0;
        fits_int64_ = left_weight_ + right_weight_ < int64_t{1} << 31;
        for (size_t c = 0; c < left_counts_.size(); ++c) {
            if constexpr (C == Criterion::gini)
                left_squares_ += square(left_counts_[c]), right_squares_ += square(right_counts_[c]);
            if constexpr (C == Criterion::entropy)
                left_term_ += approx_.nlogn(left_counts_[c]), right_term_ += approx_.nlogn(right_counts_[c]);
            if constexpr (C == Criterion::error) {
                left_term_ = std::max(left_term_, static_cast<double>(left_counts_[c])),
                right_term_ = std::max(right_term_, static_cast<double>(right_counts_[c]));
            }
        }
        if (fits_int64_)
            left_squares64_ = static_cast<int64_t>(left_squares_),
            right_squares64_ = static_cast<int64_t>(right_squares_);
    }
    static uint128 square(int64_t n) { return static_cast<uint128>(static_cast<int128>(n) * n); }
    void move_class(size_t c, int64_t w) {
        const int64_t l = left_counts_[c], r = right_counts_[c];
        left_counts_[c] += w, right_counts_[c] -= w;
        if constexpr (C == Criterion::gini) {
            if (fits_int64_) {
                left_squares64_ += w * (2 * l + w), right_squares64_ -= w * (2 * r - w);
                return;
            }
            left_squares_ += square(l + w) - square(l);
            right_squares_ -= square(r) - square(r - w);
        } else if constexpr (C == Criterion::entropy) {
            left_term_ += approx_.nlogn(l + w) - approx_.nlogn(l);
            right_term_ += approx_.nlogn(r - w) - approx_.nlogn(r);
            if (++n_moves_ == kStepsBetweenRecounts) recount();
        } else {
            left_term_ = std::max(left_term_, static_cast<double>(l + w));
            if (static_cast<double>(r) == right_term_) {  // the largest class may have changed
                right_term_ = 0;
                for (int64_t n : right_counts_) right_term_ = std::max(right_term_, static_cast<double>(n));
            }
        }
    }

    static constexpr int kStepsBetweenRecounts = 1 << 14;
    const ApproxImpurity<K>& approx_;
    int64_t left_weight_ = 0, right_weight_ = 0, left_sum_ = 0, right_sum_ = 0;
    double left_term_ = 0, right_term_ = 0;
    uint128 left_squares_ = 0, right_squares_ = 0;
    int64_t left_squares64_ = 0, right_squares64_ = 0;
    bool fits_int64_ = false;
    int n_moves_ = 0;
    std::vector<int64_t> left_counts_, right_counts_;
};

}  // namespace treewise
