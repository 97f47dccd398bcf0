// A numeric column of a node as bins with known statistics: scores the cuts between bins, and bounds the cuts inside
// them (criteria/bin_bound.hpp), so that only the few bins that may hide a better cut have to be opened.

#pragma once

#include "criteria/bin_bound.hpp"
#include "search/missing_placement.hpp"

namespace treewise {

template <class StatOf, class IsMixed, class Squares>
struct BinnedColumn {
    size_t n_bins;
    StatOf stat;      // stat(b): statistics of bin b, valid until the next call
    IsMixed mixed;    // mixed(b): whether it has more than one value
    Squares squares;  // squares(b): for regression, at least Σ v²/weight of its rows
};
template <class StatOf, class IsMixed, class Squares>
BinnedColumn(size_t, StatOf, IsMixed, Squares) -> BinnedColumn<StatOf, IsMixed, Squares>;

template <TargetKind S>
class BinScan {
public:
    BinScan(const FitContext& context, const ScoreBounds<S>& score_bounds)
        : context_(context), score_bounds_(score_bounds), width_(context.width()) {}

    // Offers every cut between bins; present: rows of the node that are not missing. Moves the bins in `placement` from
    // right to left.
    template <class Bins>
    void score_edges(const Bins& bins, const RunContext& run, int64_t present, MissingPlacement<S>& placement,
                     CandidateFilter& filter) const {
        int64_t position = 0;
        for (size_t b = 0; b < bins.n_bins && position < present; ++b) {
            const int64_t* stat = bins.stat(b);
            if (stat[kRows] == 0) continue;
            position += stat[kRows];
            move_left(stat, placement);
            if (position == present || !fits(placement.left) || !fits(placement.right)) continue;
            const double score = score_bounds_.approx.negative_impurity(placement.left.data()) +
                                 score_bounds_.approx.negative_impurity(placement.right.data());
            const auto [lower, upper] = bounds(score, run);
            filter.offer(run.column, position, lower, upper);
        }
    }
    // Calls work(b, upper bound, run) for each bin with a cut inside that can still win, while `placement` has
    // the rows below the bin on the left, and the bin with everything above it on the right.
    template <class Bins, class Work>
    void open_bins(const Bins& bins, RunContext run, MissingPlacement<S>& placement, const CandidateFilter& filter,
                   const Work& work) const {
        for (size_t b = 0; b < bins.n_bins; ++b) {
            const int64_t* stat = bins.stat(b);
            const int64_t rows = stat[kRows];
            if (rows == 0) continue;
            if (rows > 1 && bins.mixed(b)) {
                sub(placement.right.data(), stat, width_);
                const double bound = bound_bin(score_bounds_.approx, placement.left.data(), stat,
                                               placement.right.data(), bins.squares(b));
                add(placement.right.data(), stat, width_);
                const double upper = bounds(bound, run).upper;
                if (!context_.settings.tuning.use_bounds || filter.can_win(run.column, upper)) work(b, upper, run);
            }
            move_left(stat, placement);
            run.rows_below += rows;
        }
    }

private:
    void move_left(const int64_t* stat, MissingPlacement<S>& placement) const {
        add(placement.left.data(), stat, width_), sub(placement.right.data(), stat, width_);
    }
    bool fits(const Stat& side) const {
        return side[kRows] >= std::max<int64_t>(1, context_.settings.min_samples_leaf) &&
               side[kWeight] >= context_.settings.min_leaf_weight;
    }
    typename ScoreBounds<S>::Range bounds(double score, const RunContext& run) const {
        const int64_t* missing = run.missing_branch;
        if (missing) score += score_bounds_.approx.negative_impurity(missing);
        return score_bounds_.bounds(score, 2 + (missing != nullptr), [] { return 0.0; });
    }

    const FitContext& context_;
    const ScoreBounds<S>& score_bounds_;
    size_t width_;
};

}  // namespace treewise
