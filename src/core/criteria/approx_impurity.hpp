// Scores: what a criterion thinks of a branch, quickly and almost exactly.
//
// The kernel's scans look at millions of candidates and need to know which few could win. A score answers that in
// doubles: larger is better, the sum over the branches of a split is its score, and `delta` bounds by how much it may
// be off. Whatever is nearer to the best than that is judged again in integers (judge.hpp), so that scores decide how
// long a fit takes, never which tree comes out.
//
//     entropy   Σ c·log c − m·log m     gini   Σ c²/m     error   max c     squared error   S²/m     poisson  S·log S/m
//
// All five are convex in the statistics and grow no faster than them (φ(a + b) <= φ(a) + φ(b)); the bounds of
// engines/histogram.hpp stand on that.

#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "criteria/stats.hpp"
#include "problem/problem.hpp"

namespace treewise {

enum class Shape { two, many, sums };

// n·log2(n) in doubles.
class Logs {
public:
    explicit Logs(int64_t most) : table_(static_cast<size_t>(std::min<int64_t>(most, kMost) + 1), 0.0) {
        for (size_t n = 2; n < table_.size(); ++n)
            table_[n] = static_cast<double>(n) * std::log2(static_cast<double>(n));
    }
    const double* data() const { return table_.data(); }
    double operator()(int64_t n) const {
        if (static_cast<uint64_t>(n) < table_.size()) return table_[static_cast<size_t>(n)];
        return static_cast<double>(n) * std::log2(static_cast<double>(n));
    }

private:
    static constexpr int64_t kMost = 1 << 20;
    std::vector<double> table_;
};

// By how much a row's v may be off: by itself, and for each unit of its weight.
struct Off {
    double row = 0, weight = 0;
};

// How targets become v: about `middle`, without their last `shift` bits.
struct Quantiser {
    int64_t middle = 0;
    int shift = 0;

    // The range of y and the rows that will be added up decide how many bits can be kept. Weights count too.
    static Quantiser of(int64_t low, int64_t high, int128 weight, bool about_zero) {
        Quantiser q;
        q.middle = about_zero ? 0 : static_cast<int64_t>((static_cast<int128>(low) + high) >> 1);
        const int128 reach = std::max(static_cast<int128>(high) - q.middle, static_cast<int128>(q.middle) - low) + 1;
        q.shift = std::max(0, bit_length(static_cast<uint128>(reach)) + bit_length(static_cast<uint128>(weight)) - 61);
        return q;
    }
    int64_t operator()(int64_t y, int64_t weight) const {
        return static_cast<int64_t>((static_cast<int128>(weight) * (static_cast<int128>(y) - middle)) >> shift);
    }
    // rounded: whether the targets themselves were, in units of their own (treewise/problem).
    Off off(bool rounded) const { return {shift > 0 ? 1.0 : 0.0, rounded ? scaled(1.0, -shift) : 0.0}; }
    double back(int64_t y) const { return scaled(static_cast<double>(static_cast<int128>(y) - middle), -shift); }
};

// A criterion that has no score is grown by sorted lists alone (grow/engine_choice.cpp), every candidate exactly.
constexpr bool has_score(Criterion criterion) {
    switch (criterion) {
        case Criterion::entropy:
        case Criterion::gini:
        case Criterion::error:
        case Criterion::squared_error:
        case Criterion::poisson: return true;
        default: return false;
    }
}

template <Shape S>
class Scorer {
public:
    Scorer(Criterion criterion, const Logs& logs, int64_t n_classes)
        : criterion_(criterion), logs_(&logs), n_classes_(static_cast<size_t>(n_classes)) {}

    Criterion criterion() const { return criterion_; }

    // Called with all rows of a node before its branches are scored. low and high: its smallest and largest v/weight;
    // off: by how much a row's v may be off by itself, and by unit of its weight (Quantiser).
    void open(const int64_t* whole, double low, double high, Off off) {
        const auto rows = static_cast<double>(whole[kRows]), weight = static_cast<double>(whole[kWeight]);
        if constexpr (S == Shape::sums) {
            // A side's sum S is off by e = rows·a + weight·b + r (r: doubles are rounded), so S²/m by 2·|S|/m·e + e²/m,
            // where |S|/m, about the mean, is within the range of the node.
            mean_ = criterion_ == Criterion::squared_error ? static_cast<double>(whole[kLoad]) / weight : 0.0;
            const double range = high - low + 1, r = scaled(std::max(std::abs(low), std::abs(high)) * weight + 1, -49);
            const double e = rows * off.row + weight * off.weight + 2 * r;
            if (criterion_ == Criterion::squared_error)
                delta_ = 2 * range * e + 3 * (rows * off.row + weight * off.weight * off.weight + 2 * r * r) +
                         scaled(range * range * weight, -46);
            else  // S·log2(S/m): the logarithm is within ±63
                delta_ = 256 * e + scaled(static_cast<double>(whole[kLoad]) * 64, -44);
        } else {
            delta_ = scaled(weight * (2 + std::log2(weight)), -36);
        }
        whole_ = side(whole);
    }
    double delta() const { return delta_; }
    double whole() const { return whole_; }

    double side(const int64_t* s) const {
        switch (criterion_) {
            case Criterion::entropy: return side<Criterion::entropy>(s);
            case Criterion::gini: return side<Criterion::gini>(s);
            case Criterion::error: return side<Criterion::error>(s);
            case Criterion::squared_error: return side<Criterion::squared_error>(s);
            default: return side<Criterion::poisson>(s);
        }
    }
    template <Criterion C>
    double side(const int64_t* s) const {
        if constexpr (S == Shape::two) return two<C>(s[kWeight], s[kCounts + 1]);
        if constexpr (S == Shape::sums) return sums<C>(s[kWeight], s[kLoad]);
        const auto m = static_cast<double>(s[kWeight]);
        if (m == 0) return 0;
        double sum = 0;
        for (size_t c = 0; c < n_classes_; ++c) {
            const int64_t n = s[kCounts + c];
            if constexpr (C == Criterion::gini) sum += static_cast<double>(n) * static_cast<double>(n);
            if constexpr (C == Criterion::entropy) sum += log(n);
            if constexpr (C == Criterion::error) sum = std::max(sum, static_cast<double>(n));
        }
        if constexpr (C == Criterion::gini) return sum / m;
        if constexpr (C == Criterion::entropy) return sum - log(s[kWeight]);
        return sum;
    }
    template <Criterion C>
    double two(int64_t weight, int64_t ones) const {
        const auto m = static_cast<double>(weight), a = static_cast<double>(ones), b = m - a;
        if (m == 0) return 0;
        if constexpr (C == Criterion::gini) return (a * a + b * b) / m;
        if constexpr (C == Criterion::entropy) return log(ones) + log(weight - ones) - log(weight);
        return std::max(a, b);
    }
    template <Criterion C>
    double sums(int64_t weight, int64_t sum) const {
        const auto m = static_cast<double>(weight), s = static_cast<double>(sum) - mean_ * m;
        if constexpr (C == Criterion::squared_error) return m == 0 ? 0 : s * s / m;
        return s > 0 ? s * std::log2(s / m) : 0;
    }
    double log(int64_t n) const { return (*logs_)(n); }
    size_t n_classes() const { return n_classes_; }
    double mean() const { return mean_; }

private:
    Criterion criterion_;
    const Logs* logs_;
    size_t n_classes_;
    double mean_ = 0, delta_ = 0, whole_ = 0;
};

// The two sides of a split while rows pass from the right to the left, one at a time: scoring costs O(1) for any
// number of classes.
template <Criterion C, Shape S>
class Run {
public:
    explicit Run(const Scorer<S>& scorer) : scorer_(scorer) {
        if constexpr (S == Shape::many) l_.resize(scorer.n_classes()), r_.resize(scorer.n_classes());
    }
    int64_t left_weight() const { return m_; }
    int64_t right_weight() const { return n_; }
    int64_t left_load() const { return a_; }
    int64_t right_load() const { return b_; }

    void start(const int64_t* left, const int64_t* right) {
        m_ = left[kWeight], n_ = right[kWeight];
        if constexpr (S == Shape::many) {
            std::copy_n(left + kCounts, l_.size(), l_.begin());
            std::copy_n(right + kCounts, r_.size(), r_.begin());
            measure();
        } else {
            constexpr size_t at = S == Shape::two ? kCounts + 1 : kLoad;
            a_ = left[at], b_ = right[at];
        }
    }
    // A row of class `load` (two, many) or of weighted target `load` (sums).
    void step(int64_t load, int64_t weight) {
        m_ += weight, n_ -= weight;
        if constexpr (S == Shape::two) {
            const int64_t moved = load ? weight : 0;
            a_ += moved, b_ -= moved;
        } else if constexpr (S == Shape::sums) {
            a_ += load, b_ -= load;
        } else {
            pass(static_cast<size_t>(load), weight);
        }
    }
    // Many rows at once, so many of them of class 1, each of weight 1.
    void skip(int64_t rows, int64_t ones) { m_ += rows, n_ -= rows, a_ += ones, b_ -= ones; }

    double score() const {
        if constexpr (S == Shape::two) return scorer_.template two<C>(m_, a_) + scorer_.template two<C>(n_, b_);
        if constexpr (S == Shape::sums) return scorer_.template sums<C>(m_, a_) + scorer_.template sums<C>(n_, b_);
        if constexpr (C == Criterion::gini) {
            if (light_)
                return static_cast<double>(s_) / static_cast<double>(m_) +
                       static_cast<double>(t_) / static_cast<double>(n_);
            return static_cast<double>(p_) / static_cast<double>(m_) +
                   static_cast<double>(q_) / static_cast<double>(n_);
        }
        if constexpr (C == Criterion::entropy) return x_ + y_ - scorer_.log(m_) - scorer_.log(n_);
        return x_ + y_;
    }

private:
    // Σ c² of the sides exactly (p, q; s, t where 64 bits hold them): what is left when heavy rows have gone is small
    // beside what they took along.
    // Σ c·log c or max c of the sides (x, y); the former anew from time to time, since roundings add up.
    void measure() {
        x_ = y_ = 0, p_ = q_ = 0, steps_ = 0;
        light_ = m_ + n_ < int64_t{1} << 31;
        for (size_t c = 0; c < l_.size(); ++c) {
            if constexpr (C == Criterion::gini) p_ += square(l_[c]), q_ += square(r_[c]);
            if constexpr (C == Criterion::entropy) x_ += scorer_.log(l_[c]), y_ += scorer_.log(r_[c]);
            if constexpr (C == Criterion::error) {
                x_ = std::max(x_, static_cast<double>(l_[c])), y_ = std::max(y_, static_cast<double>(r_[c]));
            }
        }
        if (light_) s_ = static_cast<int64_t>(p_), t_ = static_cast<int64_t>(q_);
    }
    static uint128 square(int64_t n) { return static_cast<uint128>(static_cast<int128>(n) * n); }
    void pass(size_t c, int64_t w) {
        const int64_t l = l_[c], r = r_[c];
        l_[c] += w, r_[c] -= w;
        if constexpr (C == Criterion::gini) {
            if (light_) {
                s_ += w * (2 * l + w), t_ -= w * (2 * r - w);
                return;
            }
            p_ += square(l + w) - square(l);
            q_ -= square(r) - square(r - w);
        } else if constexpr (C == Criterion::entropy) {
            x_ += scorer_.log(l + w) - scorer_.log(l);
            y_ += scorer_.log(r - w) - scorer_.log(r);
            if (++steps_ == kRemeasure) measure();
        } else {
            x_ = std::max(x_, static_cast<double>(l + w));
            if (static_cast<double>(r) == y_) {  // the largest class may be another one now
                y_ = 0;
                for (int64_t n : r_) y_ = std::max(y_, static_cast<double>(n));
            }
        }
    }

    static constexpr int kRemeasure = 1 << 14;
    const Scorer<S>& scorer_;
    int64_t m_ = 0, n_ = 0, a_ = 0, b_ = 0;
    double x_ = 0, y_ = 0;
    uint128 p_ = 0, q_ = 0;
    int64_t s_ = 0, t_ = 0;
    bool light_ = false;
    int steps_ = 0;
    std::vector<int64_t> l_, r_;
};

}  // namespace treewise
