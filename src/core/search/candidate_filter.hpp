// Filter of candidates that can still win, based on approximate scores with error bounds.
//
// Each candidate is offered with a lower and an upper bound of its score. Candidates whose upper bound is below the
// best lower bound are discarded; what remains, usually one cut of one column, is compared exactly
// (search/exact_splitter.hpp). Under C4.5's rule every column has its own bound, since each column nominates its best
// test.

#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "criteria/approx_impurity.hpp"
#include "criteria/price.hpp"
#include "problem/problem.hpp"

namespace treewise {

// A cut with `rows_below` present rows on its left; 0 stands for all splits of a categorical column.
struct Survivor {
    int32_t column;
    int64_t rows_below;
    double upper;
};

class CandidateFilter {
public:
    void begin_node(bool by_column, size_t n_columns) {
        by_column_ = by_column;
        best_lower_bounds_.assign(by_column ? n_columns : 1, -std::numeric_limits<double>::infinity());
        survivors_.clear();
        prune_size_ = 64;
    }
    double best_lower_bound(int32_t column) const {
        return best_lower_bounds_[by_column_ ? static_cast<size_t>(column) : 0];
    }
    void raise_bound(int32_t column, double bound) {
        double& own_bound = best_lower_bounds_[by_column_ ? static_cast<size_t>(column) : 0];
        own_bound = std::max(own_bound, bound);
    }
    bool can_win(int32_t column, double upper) const { return !(upper < best_lower_bound(column)); }

    void offer(int32_t column, int64_t rows_below, double lower, double upper) {
        if (!can_win(column, upper) || upper == -std::numeric_limits<double>::infinity()) return;
        raise_bound(column, lower);
        survivors_.push_back({column, rows_below, upper});
        if (survivors_.size() > prune_size_) {
            prune();
            prune_size_ = 2 * survivors_.size() + 64;
        }
    }
    void raise_bounds(const CandidateFilter& other) {
        for (size_t i = 0; i < best_lower_bounds_.size(); ++i)
            best_lower_bounds_[i] = std::max(best_lower_bounds_[i], other.best_lower_bounds_[i]);
    }
    void merge(const CandidateFilter& other) {
        raise_bounds(other);
        survivors_.insert(survivors_.end(), other.survivors_.begin(), other.survivors_.end());
    }
    // Returns the columns with a surviving candidate.
    const std::vector<size_t>& finish() {
        prune();
        std::sort(survivors_.begin(), survivors_.end(), [](const Survivor& a, const Survivor& b) {
            return a.column != b.column ? a.column < b.column : a.rows_below < b.rows_below;
        });
        const auto same = [](const Survivor& a, const Survivor& b) {
            return a.column == b.column && a.rows_below == b.rows_below;
        };
        survivors_.erase(std::unique(survivors_.begin(), survivors_.end(), same), survivors_.end());
        columns_.clear();
        for (const Survivor& survivor : survivors_) {
            if (columns_.empty() || columns_.back() != static_cast<size_t>(survivor.column))
                columns_.push_back(static_cast<size_t>(survivor.column));
        }
        return columns_;
    }
    // Sorted by column and rows_below, without duplicates.
    const std::vector<Survivor>& survivors() const { return survivors_; }
    // Surviving cuts of a numeric column.
    void list_cuts(size_t column, std::vector<int64_t>& cuts) const {
        cuts.clear();
        for (const Survivor& survivor : survivors_) {
            if (survivor.column == static_cast<int32_t>(column) && survivor.rows_below > 0)
                cuts.push_back(survivor.rows_below);
        }
    }

private:
    void prune() {
        std::erase_if(survivors_,
                      [this](const Survivor& survivor) { return !can_win(survivor.column, survivor.upper); });
    }
    bool by_column_ = false;
    std::vector<double> best_lower_bounds_;
    std::vector<Survivor> survivors_;
    std::vector<size_t> columns_;
    size_t prune_size_ = 64;
};

// Bounds of a price (criteria/price.hpp): a gain g is worth at least factor·g − upper and at most factor·g − lower.
struct PriceBounds {
    double factor = 1, lower = 0, upper = 0;
};

// Turns approximate purities of splits into lower and upper bounds of what the rule ranks by (gain or gain ratio).
template <TargetKind K>
class ScoreBounds {
public:
    ScoreBounds(const Settings& settings, const NLogNTable& nlogn, int64_t n_classes)
        : approx(settings.criterion, nlogn, n_classes), settings_(settings), nlogn_(nlogn) {}

    ApproxImpurity<K> approx;

    void begin_node(const int64_t* node_total, double low, double high, QuantError quantisation_error,
                    PriceUnits units = {}) {
        approx.begin_node(node_total, low, high, quantisation_error);
        weight_ = node_total[kWeight];
        if (settings_.selection == Selection::priced) begin_prices(node_total, high - low + 1, units);
        if (settings_.rule != Rule::ratio) return;
        const auto w = static_cast<double>(weight_);
        ratio_error_ = std::ldexp(w * (2 + std::log2(w)), -48);
    }

    struct Range {
        double lower, upper;
    };
    // n_filled: non-empty branches; nlogn_sum: Σ m·log m of their weights, called only for the gain ratio.
    template <class NLogNSum>
    Range bounds(double purity, int n_filled, const NLogNSum& nlogn_sum) const {
        const double gain = purity - approx.node_purity(), error = this->error_bound(n_filled);
        if (settings_.rule == Rule::ratio) return ratio(gain, error, nlogn_(weight_) - nlogn_sum());
        return {score_of_gain(gain - error, n_filled), score_of_gain(gain + error, n_filled)};
    }
    // The same for a test that has a price.
    template <class NLogNSum>
    Range bounds(double purity, int n_filled, const NLogNSum& nlogn_sum, const PriceBounds& price) const {
        if (settings_.rule == Rule::ratio) return bounds(purity, n_filled, nlogn_sum);
        const double gain = purity - approx.node_purity(), error = this->error_bound(n_filled);
        return {score_of_gain(price.factor * (gain - error) - price.upper, n_filled),
                score_of_gain(price.factor * (gain + error) - price.lower, n_filled)};
    }
    // Upper bound of the gain ratio. split_info: m·log m of the node minus that of the branches.
    double ratio_upper_bound(double purity, int n_filled, double split_info) const {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        const double gain = purity - approx.node_purity() + error_bound(n_filled);
        const double larger = std::max(gain / (split_info - ratio_error_), gain / (split_info + ratio_error_));
        return split_info <= 4 * ratio_error_ ? kInf : larger + 0x1p-42;
    }
    double node_nlogn() const { return nlogn_(weight_); }
    int64_t classes() const { return classes_; }  // at the node, if tests are priced

    PriceBounds price(int64_t bits) const {
        if (bits == 0) return {};
        constexpr double kInf = std::numeric_limits<double>::infinity();
        if (settings_.criterion == Criterion::squared_error) {
            const double factor = std::exp2(2 * static_cast<double>(bits) / rows_), growth = factor - 1;
            return {factor, growth * (impurity_ - price_error_), growth * (impurity_ + price_error_)};
        }
        const double weighted =
            std::min(static_cast<double>(bits), kMaxBitsPerRow * rows_) * static_cast<double>(weight_) / rows_;
        double amount = weighted * per_bit_;
        if (std::isnan(amount)) return {1, 0, kInf};
        const double error = amount * (0x1p-36 + price_error_) + price_error_ * weighted;
        return {1, std::min(amount - error, max_price_ * (1 - 0x1p-36)), amount + error};
    }
    // Also covers the rounding of the exact score, which is far smaller.
    double error_bound(int n_filled) const { return approx.error_bound() * (1 + n_filled / 64.0); }
    // The purity a split needs for its upper bound to reach a lower bound of the rule's gain.
    double required_purity(double lower_bound, int n_filled) const {
        return lower_bound / score_of_gain(1.0, n_filled) - error_bound(n_filled) + approx.node_purity();
    }
    double score_of_gain(double gain, int n_filled) const {
        return settings_.gain_per_branch && settings_.rule == Rule::gain ? gain / (n_filled - 1) : gain;
    }
    double nlogn(int64_t weight) const { return nlogn_(weight); }

private:
    Range ratio(double gain, double error, double split_info) const {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        if (split_info <= 4 * ratio_error_) return {-kInf, kInf};
        const double a = (gain - error) / (split_info - ratio_error_), b = (gain - error) / (split_info + ratio_error_);
        const double c = (gain + error) / (split_info - ratio_error_), d = (gain + error) / (split_info + ratio_error_);
        return {std::min(a, b) - 0x1p-42, std::max(c, d) + 0x1p-42};
    }
    // What one bit is worth in the units of the scores, with its error, and the largest price (criteria/price.hpp).
    void begin_prices(const int64_t* node_total, double range, PriceUnits units) {
        const auto weight = static_cast<double>(weight_);
        rows_ = static_cast<double>(node_total[kRows]);
        classes_ = 0, per_bit_ = 1, price_error_ = 0, max_price_ = std::numeric_limits<double>::infinity();
        if constexpr (K == TargetKind::regression) {
            if (settings_.criterion == Criterion::squared_error) {
                // Rounding: of the sum of positive terms, of the factor, of the mean, and of truncated deviations.
                impurity_ = units.sum_of_squares;
                price_error_ = impurity_ * (rows_ + 64) * 0x1p-51 + 4 * approx.error_bound() +
                               scale_pow2(range * range * weight, -32);
            } else {
                per_bit_ = units.bit;
                max_price_ = 128 * static_cast<double>(node_total[kQuantised]);
            }
        } else {
            double entropy = nlogn_(weight_);
            for (size_t c = 0; c < approx.n_classes(); ++c) {
                classes_ += node_total[kCounts + c] > 0;
                entropy -= nlogn_(node_total[kCounts + c]);
            }
            if (settings_.criterion == Criterion::entropy) return;
            const double impurity = weight - approx.node_purity();
            const double noise = scale_pow2(weight * (2 + std::log2(weight)), -46);
            const bool is_known = entropy > noise * 0x1p+26;  // otherwise too small beside its error
            per_bit_ = is_known ? impurity / entropy : std::numeric_limits<double>::quiet_NaN();
            price_error_ = is_known ? noise / entropy : 0;
            max_price_ = 64 * (impurity - noise);
        }
    }

    const Settings& settings_;
    const NLogNTable& nlogn_;
    int64_t weight_ = 0;
    double ratio_error_ = 0;
    // prices
    int64_t classes_ = 0;
    double rows_ = 0, impurity_ = 0, per_bit_ = 1, price_error_ = 0, max_price_ = 0;
};

}  // namespace treewise
