// A numeric column of a node as bins with known statistics, searched in four steps by every engine that counts:
//
//     count              the engine sums its rows per bin: histograms, blocks of sorted rows, ranks
//     score the edges     every cut between two bins is scored
//     bound the bins     every bin gets an upper bound for the cuts inside it (criteria/bin_bound.hpp)
//     open the few       the rows of the bins that may hide a better cut are sorted and scanned
//     (search/sorted_scan.hpp)
//
// Binary targets of small weight are scored and bounded in batches (search/cut_batch.hpp).

#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "criteria/bin_bound.hpp"
#include "search/cut_batch.hpp"
#include "search/sorted_scan.hpp"

namespace treewise {

// The counted bins of a column.
template <class StatOf, class IsMixed, class Squares>
struct Bins {
    size_t n;
    StatOf stats;     // stats(b): statistics of bin b, as an array or a pointer that is valid until the next call
    IsMixed mixed;    // mixed(b): whether it may have more than one value
    Squares squares;  // squares(b): for regression, at least Σ v²/weight of its rows
};
template <class StatOf, class IsMixed, class Squares>
Bins(size_t, StatOf, IsMixed, Squares) -> Bins<StatOf, IsMixed, Squares>;

// A bin that may hide a better cut.
struct OpenBin {
    int32_t column;
    uint32_t bin;
    double upper;  // bound for the purities of the cuts inside
};

template <TargetKind K>
class BinnedColumn {
public:
    BinnedColumn(const FitContext& context, const ScoreBounds<K>& score_bounds)
        : context_(context), score_bounds_(score_bounds), batch_(context, score_bounds), width_(context.width()) {}

    // Offers the cuts between bins. run: all present rows of the column.
    template <class Bins>
    void score_edges(const Bins& bins, const RunContext& run, CandidateFilter& filter) {
        start(run);
        if constexpr (kHasBatches) {
            if (use_batch()) return score_batch(bins, run, filter);
        }
        int64_t rows_below = 0;
        for (size_t b = 0; b < bins.n; ++b) {
            const auto& stats = bins.stats(b);
            if (stats[kRows] == 0) continue;
            if (rows_below > 0 && meets_limits(left_) && meets_limits(right_)) offer_edge(run, rows_below, filter);
            rows_below += stats[kRows];
            move_left(&stats[0]);
        }
    }
    // Lists the bins with a cut inside that can still win; directly after score_edges.
    template <class Bins>
    void list_open(const Bins& bins, const RunContext& run, const CandidateFilter& filter, std::vector<OpenBin>& out) {
        start(run);
        if constexpr (kHasBatches) {
            if (use_batch()) return list_open_batch(bins, run, filter, out);
        }
        for (size_t b = 0; b < bins.n; ++b) {
            const auto& stats = bins.stats(b);
            if (stats[kRows] == 0) continue;
            sub(right_.data(), &stats[0], width());
            if (stats[kRows] > 1 && bins.mixed(b)) {
                const double bound =
                    bound_bin(score_bounds_.approx, left_.data(), &stats[0], right_.data(), bins.squares(b));
                const double upper = upper_bound(bound, &stats[0], run);
                if (!context_.settings.tuning.use_bounds || filter.can_win(run.column, upper))
                    out.push_back({run.column, static_cast<uint32_t>(b), upper});
            }
            add(left_.data(), &stats[0], width());
        }
    }
    // Calls work(b, number of its rows, run) for each open bin, where the run is the bin.
    template <class Bins, class IsOpen, class Work>
    void for_each_open(const Bins& bins, const IsOpen& is_open, RunContext run, const Work& work) {
        start(run);
        run.left = left_.data(), run.right = right_.data();
        for (size_t b = 0; b < bins.n; ++b) {
            const auto& stats = bins.stats(b);
            const int64_t rows = stats[kRows];
            if (is_open(b) && rows) work(b, rows, run);
            move_left(&stats[0]);
            run.rows_below += rows;
        }
    }
    double best_edge_purity() const { return best_edge_purity_; }  // if scored in a batch

private:
    static constexpr bool kHasBatches = K == TargetKind::binary;
    struct NoBatches {
        NoBatches(const FitContext&, const ScoreBounds<K>&) {}
    };

    size_t width() const { return K == TargetKind::binary ? kCounts + 2 : width_; }  // a constant unrolls the loops
    void start(const RunContext& run) {
        left_.assign(run.left, run.left + width());
        right_.assign(run.right, run.right + width());
    }
    void move_left(const int64_t* stats) { add(left_.data(), stats, width()), sub(right_.data(), stats, width()); }
    bool meets_limits(const RowStats& side) const {
        return side[kRows] >= std::max<int64_t>(1, context_.settings.min_samples_leaf) &&
               side[kWeight] >= context_.settings.min_leaf_weight;
    }
    void offer_edge(const RunContext& run, int64_t rows_below, CandidateFilter& filter) const {
        const auto [lower, upper] =
            bounds(score_bounds_.approx.purity(left_.data()) + score_bounds_.approx.purity(right_.data()), run,
                   [&] { return nlogn_sum(left_[kWeight], right_[kWeight]); });
        // Poisson: a branch whose targets are all 0 is no candidate; one whose quantised sum is 0 may still be one.
        const bool sure = K != TargetKind::regression || context_.settings.criterion != Criterion::poisson ||
                          (left_[kQuantised] > 0 && right_[kQuantised] > 0);
        filter.offer(run.column, rows_below, sure ? lower : -std::numeric_limits<double>::infinity(), upper);
    }
    template <class NLogNSum>
    typename ScoreBounds<K>::Range bounds(double purity, const RunContext& run, const NLogNSum& sum) const {
        const int64_t* missing_stats = run.missing_branch_stats;
        if (missing_stats) purity += score_bounds_.approx.purity(missing_stats);
        return score_bounds_.bounds(purity, 2 + (missing_stats != nullptr), [&] {
            return sum() + (missing_stats ? score_bounds_.nlogn(missing_stats[kWeight]) : 0.0);
        });
    }
    double nlogn_sum(int64_t left, int64_t right) const {
        return score_bounds_.nlogn(left) + score_bounds_.nlogn(right);
    }
    // For the gain ratio: that of the edge with the smaller split information.
    double upper_bound(double purity, const int64_t* bin, const RunContext& run) const {
        const int64_t left = left_[kWeight], inside = bin[kWeight], right = right_[kWeight];
        if (context_.settings.rule == Rule::ratio) {  // a smaller split information makes only a positive gain larger
            const double missing_purity =
                run.missing_branch_stats ? score_bounds_.approx.purity(run.missing_branch_stats) : 0.0;
            purity = std::max(purity, score_bounds_.approx.node_purity() - missing_purity);
        }
        return bounds(purity, run,
                      [&] { return std::max(nlogn_sum(left, inside + right), nlogn_sum(left + inside, right)); })
            .upper;
    }

    // -- binary targets of small weight -------------------------------------------------------------------------------

    bool use_batch() const {
        return context_.settings.tuning.use_bounds && batch_.supports(left_[kWeight] + right_[kWeight]);
    }
    BatchSides batch_sides(const RunContext& run) const {
        BatchSides sides(right_);
        sides.rows += left_[kRows], sides.weight += left_[kWeight], sides.ones += left_[kCounts + 1];
        sides.missing_left = left_[kRows];
        if (run.missing_branch_stats)
            sides.missing_purity = score_bounds_.approx.purity(run.missing_branch_stats), sides.n_filled = 3;
        return sides;
    }
    template <class Bins>
    void score_batch(const Bins& bins, const RunContext& run, CandidateFilter& filter) {
        edges_.resize(bins.n);
        if (edge_bins_.size() < bins.n) edge_bins_.resize(2 * bins.n);
        size_t n = 0;
        int64_t rows_below = 0, weight = left_[kWeight], ones = left_[kCounts + 1];
        for (size_t b = 0; b < bins.n; ++b) {
            const auto& stats = bins.stats(b);
            rows_below += stats[kRows], weight += stats[kWeight], ones += stats[kCounts + 1];
            edges_.put(n, rows_below, weight, ones);
            edge_bins_[n] = static_cast<uint32_t>(b);
            n += stats[kRows] > 0;
        }
        edges_.n = n - 1;  // nothing is above the last
        best_edge_purity_ = batch_.offer(batch_sides(run), edges_, [&](size_t) { return run.column; }, filter);
    }
    // Discards most bins by the purities at both edges, and bounds the others at once.
    template <class Bins>
    void list_open_batch(const Bins& bins, const RunContext& run, const CandidateFilter& filter,
                         std::vector<OpenBin>& out) {
        const BatchSides sides = batch_sides(run);
        const double required_purity = batch_.required_purity(sides, filter.best_lower_bound(run.column));
        const auto max_rise = batch_.rise_bound();
        const auto purity = [&](double weight, double ones) {
            return batch_.purity(sides, static_cast<int64_t>(weight), static_cast<int64_t>(ones));
        };
        double weight = static_cast<double>(left_[kWeight]), ones = static_cast<double>(left_[kCounts + 1]);
        double purity_below = purity(weight, ones);
        const size_t last = edges_.n;
        edges_.purities[last] = purity(edges_.weight[last], edges_.ones[last]);
        gaps_.clear();
        for (size_t k = 0; k <= last; ++k) {
            const double bin_weight = edges_.weight[k] - weight, ends = purity_below + edges_.purities[k];
            const int64_t rows = edges_.rows[k] - (k ? edges_.rows[k - 1] : 0);
            if (ends + 2 * max_rise(bin_weight) >= 2 * required_purity && rows > 1 && bins.mixed(edge_bins_[k]))
                gaps_.push_back({edge_bins_[k], weight, ones, bin_weight, edges_.ones[k] - ones});
            weight = edges_.weight[k], ones = edges_.ones[k], purity_below = edges_.purities[k];
        }
        const std::vector<double>& gap_bounds = batch_.bound_gaps(sides, gaps_);
        for (size_t i = 0; i < gaps_.size(); ++i) {
            if (gap_bounds[i] >= required_purity)
                out.push_back({run.column, gaps_[i].bin, batch_.upper_bound(sides, gap_bounds[i])});
        }
    }

    const FitContext& context_;
    const ScoreBounds<K>& score_bounds_;
    std::conditional_t<kHasBatches, BatchScorer, NoBatches> batch_;
    size_t width_;
    RowStats left_, right_;
    CutBatch edges_;                   // of the non-empty bins …
    std::vector<uint32_t> edge_bins_;  // … which are these
    std::vector<CutGap> gaps_;
    double best_edge_purity_ = 0;
};

}  // namespace treewise
