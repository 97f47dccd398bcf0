// Score bounds for the best split of a categorical column, from the statistics of its levels.
//
// This scan only decides whether the column can be discarded. It scores the candidates of search/two_way_splits.hpp,
// the multiway split and the presence test approximately and reports the best bounds; if the column survives the
// filter, search/exact_splitter.hpp evaluates all its splits again.

#pragma once

#include <utility>
#include <vector>

#include "search/candidate_filter.hpp"
#include "search/two_way_splits.hpp"

namespace treewise {

template <TargetKind K>
class CategoryScan : private TwoWaySplits<CategoryScan<K>> {
    friend class TwoWaySplits<CategoryScan<K>>;

public:
    CategoryScan(const Settings& settings, const ScoreBounds<K>& score_bounds, int64_t n_classes)
        : settings_(settings),
          score_bounds_(score_bounds),
          n_classes_(n_classes),
          width_(stats_width(n_classes)),
          left_(width_),
          right_(width_) {}

    // stats: of the levels that occur, consecutive; missing: of the missing rows.
    void scan(const Column& column, int32_t column_index, const int64_t* stats, size_t n, const int64_t* node_total,
              const int64_t* missing_stats, bool separates_missing, CandidateFilter& filter) {
        stats_ = stats, n_ = n, node_total_ = node_total, missing_stats_ = missing_stats,
        separates_missing_ = separates_missing;
        lower_ = upper_ = -std::numeric_limits<double>::infinity();
        has_pool_ = false;
        for (SplitKind kind : column.kinds) {
            if (!has_pool_ && pools_rare_levels(settings_, column, kind)) pool_rare_levels();
            price_ = score_bounds_.price(naming_bits(settings_, kind, n_, score_bounds_.classes()));
            switch (kind) {
                case kThreshold:
                case kOrdinal: this->scan_thresholds(kind); break;
                case kOneValue: this->scan_one_values(); break;
                case kSubset: this->scan_subsets(); break;
                case kMultiway: multiway(); break;
                default:
                    upper_ = std::numeric_limits<double>::infinity();  // unknown kind: leave it to the exact splitter
            }
        }
        price_ = {};
        if (missing_stats_[kRows]) presence();
        filter.offer(column_index, 0, lower_, upper_);
    }

private:
    const int64_t* stats(size_t i) const { return stats_ + i * width_; }

    // -- what TwoWaySplits needs --------------------------------------------------------------------------------------

    size_t n_buckets() const { return n_; }
    size_t n_nameable() const { return n_ - has_pool_; }
    int64_t position(size_t) const { return 0; }  // bounds are per column
    int64_t n_classes() const { return n_classes_; }
    int64_t weight() const { return node_total_[kWeight]; }
    int64_t class_weight(int64_t cls) const { return node_total_[kCounts + static_cast<size_t>(cls)]; }
    Rate rate(size_t i, int64_t cls) const {
        const int64_t* s = stats(i);
        return {n_classes_ ? s[kCounts + static_cast<size_t>(cls)] : target_sum(s), s[kWeight]};
    }
    int placements() const { return missing_stats_[kRows] && !separates_missing_ ? 2 : 1; }
    void start_placement(int placement) {
        std::fill(left_.begin(), left_.end(), 0);
        std::copy_n(node_total_, width_, right_.begin());
        if (!missing_stats_[kRows] || (placement == 1 && !separates_missing_)) return;
        sub(right_.data(), missing_stats_, width_);
        if (!separates_missing_) add(left_.data(), missing_stats_, width_);
    }
    void move_left(size_t i) { add(left_.data(), stats(i), width_), sub(right_.data(), stats(i), width_); }
    void move_right(size_t i) { sub(left_.data(), stats(i), width_), add(right_.data(), stats(i), width_); }

    // As ExactSplitter::pool_rare_levels.
    void pool_rare_levels() {
        pooled_.resize(n_ * width_);
        pool_.assign(width_, 0);
        size_t n_nameable = 0;
        for (size_t i = 0; i < n_; ++i) {
            if (stats(i)[kRows] < settings_.min_level_rows)
                add(pool_.data(), stats(i), width_);
            else
                std::copy_n(stats(i), width_, pooled_.data() + n_nameable++ * width_);
        }
        if (!(has_pool_ = n_nameable < n_)) return;
        std::copy_n(pool_.data(), width_, pooled_.data() + n_nameable * width_);
        stats_ = pooled_.data(), n_ = n_nameable + 1;
    }

    void multiway() {
        if (n_nameable() == 0) return;
        double purity = 0;
        size_t unfit = 0;
        for (size_t i = 0; i < n_; ++i) {
            purity += score_bounds_.approx.purity(stats(i));
            unfit += !meets_limits(stats(i));
        }
        const auto nlogn_sum = [&](const int64_t* extra, size_t joined) {
            double sum = extra && joined == n_ ? score_bounds_.nlogn(extra[kWeight]) : 0.0;
            for (size_t i = 0; i < n_; ++i)
                sum += score_bounds_.nlogn(stats(i)[kWeight] + (i == joined ? extra[kWeight] : 0));
            return sum;
        };
        if (!missing_stats_[kRows] || separates_missing_) {
            const int n_filled = static_cast<int>(n_) + separates_missing_;
            if (n_filled < 2 || unfit) return;
            if (separates_missing_) purity += score_bounds_.approx.purity(missing_stats_);
            offer(purity, n_filled, [&] { return nlogn_sum(separates_missing_ ? missing_stats_ : nullptr, n_); });
            return;
        }
        if (n_ < 2) return;
        for (size_t i = 0; i < n_; ++i) {  // the missing rows join branch i
            std::copy_n(stats(i), width_, left_.begin());
            add(left_.data(), missing_stats_, width_);
            if (unfit - !meets_limits(stats(i)) || !meets_limits(left_.data())) continue;
            const double joined =
                purity - score_bounds_.approx.purity(stats(i)) + score_bounds_.approx.purity(left_.data());
            offer(joined, static_cast<int>(n_), [&] { return nlogn_sum(missing_stats_, i); });
        }
    }
    void presence() {
        std::copy_n(missing_stats_, width_, left_.begin());
        std::copy_n(node_total_, width_, right_.begin());
        sub(right_.data(), missing_stats_, width_);
        const bool separates_missing = std::exchange(separates_missing_, false);
        offer_two(kPresence, 0, 0);
        separates_missing_ = separates_missing;
    }

    bool meets_limits(const int64_t* s) const {
        return s[kRows] >= settings_.min_samples_leaf && s[kWeight] >= settings_.min_leaf_weight && valid(s);
    }
    bool valid(const int64_t* s) const { return settings_.criterion != Criterion::poisson || target_sum(s) > 0; }
    void offer_two(SplitKind, int64_t, int) {
        const bool l = left_[kRows], r = right_[kRows];
        const int n_filled = l + r + separates_missing_;
        if (n_filled < 2 || (l && !meets_limits(left_.data())) || (r && !meets_limits(right_.data()))) return;
        double purity = 0;
        if (l) purity += score_bounds_.approx.purity(left_.data());
        if (r) purity += score_bounds_.approx.purity(right_.data());
        if (separates_missing_) purity += score_bounds_.approx.purity(missing_stats_);
        offer(purity, n_filled, [&] {
            return score_bounds_.nlogn(left_[kWeight]) + score_bounds_.nlogn(right_[kWeight]) +
                   (separates_missing_ ? score_bounds_.nlogn(missing_stats_[kWeight]) : 0.0);
        });
    }
    template <class NLogNSum>
    void offer(double purity, int n_filled, const NLogNSum& nlogn_sum) {
        const auto [lower, upper] = score_bounds_.bounds(purity, n_filled, nlogn_sum, price_);
        lower_ = std::max(lower_, lower), upper_ = std::max(upper_, upper);
    }

    const Settings& settings_;
    const ScoreBounds<K>& score_bounds_;
    int64_t n_classes_;
    size_t width_;
    RowStats left_, right_;
    // the current column
    const int64_t* stats_ = nullptr;
    size_t n_ = 0;
    const int64_t* node_total_ = nullptr;
    const int64_t* missing_stats_ = nullptr;
    bool separates_missing_ = false;
    bool has_pool_ = false;  // the last of the statistics are those of the rare levels
    RowStats pooled_, pool_;
    PriceBounds price_;             // of the tests of the kind being scanned
    double lower_ = 0, upper_ = 0;  // best bounds so far
};

}  // namespace treewise
