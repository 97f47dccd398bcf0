// Score bounds for the best split of a categorical column, from the statistics of its levels.
//
// This scan only decides whether the column can be discarded. It scores approximately the candidates that
// search/exact_splitter.hpp defines (scan_prefixes, scan_one_values, scan_subsets, scan_multiway, scan_presence) and
// reports the best bounds; if the column survives the filter, the exact splitter evaluates all its splits again.

#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "criteria/exact_impurity.hpp"
#include "search/candidate_filter.hpp"

namespace treewise {

template <TargetKind S>
class CategoryScan {
public:
    CategoryScan(const Settings& settings, const ScoreBounds<S>& score_bounds, int64_t n_classes)
        : settings_(settings),
          score_bounds_(score_bounds),
          n_classes_(n_classes),
          width_(stat_width(n_classes)),
          left_(width_),
          right_(width_) {}

    // stats: of the levels that occur, consecutive; missing: of the missing rows.
    void scan(const Column& column, int32_t column_index, const int64_t* stats, size_t n, const int64_t* node_total,
              const int64_t* missing, bool missing_branch, CandidateFilter& filter) {
        stats_ = stats, n_ = n, node_total_ = node_total, missing_ = missing, missing_branch_ = missing_branch;
        lower_ = upper_ = -std::numeric_limits<double>::infinity();
        order_.resize(n);
        for (SplitKind kind : column.kinds) {
            std::iota(order_.begin(), order_.end(), size_t{0});
            switch (kind) {
                case kThreshold:
                case kOrdinal: prefixes(); break;
                case kOneValue: one_values(); break;
                case kSubset: subsets(); break;
                case kMultiway: multiway(); break;
                default:
                    upper_ = std::numeric_limits<double>::infinity();  // unknown kind: leave it to the exact splitter
            }
        }
        if (missing_[kRows]) presence();
        filter.offer(column_index, 0, lower_, upper_);
    }

private:
    const int64_t* stat(size_t i) const { return stats_ + i * width_; }

    int placements() const { return missing_[kRows] && !missing_branch_ ? 2 : 1; }
    void start_placement(int placement) {
        std::fill(left_.begin(), left_.end(), 0);
        std::copy_n(node_total_, width_, right_.begin());
        if (!missing_[kRows] || (placement == 1 && !missing_branch_)) return;
        sub(right_.data(), missing_, width_);
        if (!missing_branch_) add(left_.data(), missing_, width_);
    }
    void move_left(size_t i) { add(left_.data(), stat(i), width_), sub(right_.data(), stat(i), width_); }
    void move_right(size_t i) { sub(left_.data(), stat(i), width_), add(right_.data(), stat(i), width_); }

    void prefixes() {
        for (int placement = 0; placement < placements(); ++placement) {
            start_placement(placement);
            for (size_t i = 0; i + 1 < n_; ++i) move_left(order_[i]), offer_two();
        }
    }
    void one_values() {
        if (n_ < 2) return;
        for (int placement = 0; placement < placements(); ++placement) {
            start_placement(placement);
            for (size_t i = 0; i < n_; ++i) move_left(i), offer_two(), move_right(i);
        }
    }
    void subsets() {
        if (n_classes_ > 2 && n_ <= kMaxExhaustiveLevels) return all_subsets();
        if (n_classes_ <= 2) return order_by_rate(n_classes_ ? 1 : 0), prefixes();
        for (int64_t cls = 0; cls < n_classes_; ++cls) {
            if (node_total_[kCounts + static_cast<size_t>(cls)]) order_by_rate(cls), prefixes();
        }
    }
    void all_subsets() {
        for (int placement = 0; placement < placements(); ++placement) {
            start_placement(placement);
            for (size_t i = 0; i < n_; ++i) move_left(i);
            for (uint32_t mask = 1; mask < (1u << (n_ - 1)); ++mask) {
                for (uint32_t changed = mask ^ (mask - 1), j = 0; changed; changed >>= 1, ++j)
                    mask >> j & 1 ? move_right(j + 1) : move_left(j + 1);
                offer_two();
            }
        }
    }
    void multiway() {
        double score = 0;
        size_t unfit = 0;
        for (size_t i = 0; i < n_; ++i) {
            score += score_bounds_.approx.negative_impurity(stat(i));
            unfit += !fits(stat(i));
        }
        const auto nlogn_sum = [&](const int64_t* extra, size_t joined) {
            double sum = extra && joined == n_ ? score_bounds_.nlogn(extra[kWeight]) : 0.0;
            for (size_t i = 0; i < n_; ++i)
                sum += score_bounds_.nlogn(stat(i)[kWeight] + (i == joined ? extra[kWeight] : 0));
            return sum;
        };
        if (!missing_[kRows] || missing_branch_) {
            const int n_filled = static_cast<int>(n_) + missing_branch_;
            if (n_filled < 2 || unfit) return;
            if (missing_branch_) score += score_bounds_.approx.negative_impurity(missing_);
            offer(score, n_filled, [&] { return nlogn_sum(missing_branch_ ? missing_ : nullptr, n_); });
            return;
        }
        if (n_ < 2) return;
        for (size_t i = 0; i < n_; ++i) {  // the missing rows join branch i
            std::copy_n(stat(i), width_, left_.begin());
            add(left_.data(), missing_, width_);
            if (unfit - !fits(stat(i)) || !fits(left_.data())) continue;
            const double joined = score - score_bounds_.approx.negative_impurity(stat(i)) +
                                  score_bounds_.approx.negative_impurity(left_.data());
            offer(joined, static_cast<int>(n_), [&] { return nlogn_sum(missing_, i); });
        }
    }
    void presence() {
        std::copy_n(missing_, width_, left_.begin());
        std::copy_n(node_total_, width_, right_.begin());
        sub(right_.data(), missing_, width_);
        const bool missing_branch = std::exchange(missing_branch_, false);
        offer_two();
        missing_branch_ = missing_branch;
    }

    void order_by_rate(int64_t cls) {
        if (node_total_[kWeight] < (int64_t{1} << 26) && n_classes_) {  // doubles distinguish all such fractions
            double_rates_.resize(n_);
            for (size_t i = 0; i < n_; ++i) {
                const Rate r = rate(stat(i), cls);
                double_rates_[i] = {
                    static_cast<double>(static_cast<int64_t>(r.numerator)) / static_cast<double>(r.denominator), i};
            }
            std::sort(double_rates_.begin(), double_rates_.end());
            for (size_t i = 0; i < n_; ++i) order_[i] = double_rates_[i].second;
            return;
        }
        rates_.resize(n_);
        for (size_t i = 0; i < n_; ++i) rates_[i] = rate(stat(i), cls);
        std::iota(order_.begin(), order_.end(), size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return rates_[a] < rates_[b]; });
    }
    Rate rate(const int64_t* s, int64_t cls) const {
        if (n_classes_) return {s[kCounts + static_cast<size_t>(cls)], s[kWeight]};
        return {target_sum(s), s[kWeight]};
    }

    bool fits(const int64_t* s) const {
        return s[kRows] >= settings_.min_samples_leaf && s[kWeight] >= settings_.min_leaf_weight && valid(s);
    }
    bool valid(const int64_t* s) const { return settings_.criterion != Criterion::poisson || target_sum(s) > 0; }
    void offer_two() {
        const bool l = left_[kRows], r = right_[kRows];
        const int n_filled = l + r + missing_branch_;
        if (n_filled < 2 || (l && !fits(left_.data())) || (r && !fits(right_.data()))) return;
        double score = 0;
        if (l) score += score_bounds_.approx.negative_impurity(left_.data());
        if (r) score += score_bounds_.approx.negative_impurity(right_.data());
        if (missing_branch_) score += score_bounds_.approx.negative_impurity(missing_);
        offer(score, n_filled, [&] {
            return score_bounds_.nlogn(left_[kWeight]) + score_bounds_.nlogn(right_[kWeight]) +
                   (missing_branch_ ? score_bounds_.nlogn(missing_[kWeight]) : 0.0);
        });
    }
    template <class Spread>
    void offer(double score, int n_filled, const Spread& nlogn_sum) {
        const auto [lower, upper] = score_bounds_.bounds(score, n_filled, nlogn_sum);
        lower_ = std::max(lower_, lower), upper_ = std::max(upper_, upper);
    }

    const Settings& settings_;
    const ScoreBounds<S>& score_bounds_;
    int64_t n_classes_;
    size_t width_;
    Stat left_, right_;
    std::vector<size_t> order_;
    std::vector<Rate> rates_;
    std::vector<std::pair<double, size_t>> double_rates_;
    // the current column
    const int64_t* stats_ = nullptr;
    size_t n_ = 0;
    const int64_t* node_total_ = nullptr;
    const int64_t* missing_ = nullptr;
    bool missing_branch_ = false;
    double lower_ = 0, upper_ = 0;  // best bounds so far
};

}  // namespace treewise
