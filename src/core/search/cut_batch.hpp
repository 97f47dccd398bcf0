// Cuts of a binary target with known totals, scored many at a time in one SIMD loop (criteria/simd.hpp): those between
// the bins of a column (search/binned_column.hpp) and those of a small node (search/bitset_node.hpp).

#pragma once

#include <vector>

#include "criteria/simd.hpp"
#include "problem/fit_context.hpp"
#include "search/candidate_filter.hpp"

namespace treewise {

// Totals to the left of each cut, and the purities of the cuts.
struct CutBatch {
    size_t n = 0;
    std::vector<int64_t> rows;  // present rows; the capacity of these vectors only grows
    std::vector<double> weight, ones, purities;

    void resize(size_t count) {
        n = count;
        if (rows.size() >= n) return;
        rows.resize(2 * n), weight.resize(2 * n), ones.resize(2 * n), purities.resize(2 * n);
    }
    void put(size_t k, int64_t cut_rows, int64_t cut_weight, int64_t cut_ones) {
        rows[k] = cut_rows, weight[k] = static_cast<double>(cut_weight), ones[k] = static_cast<double>(cut_ones);
    }
};

// What the cuts of a batch have in common. By default nothing is missing, and all rows of the node are on either side.
struct BatchSides {
    explicit BatchSides(const RowStats& node_total)
        : rows(node_total[kRows]), weight(node_total[kWeight]), ones(node_total[kCounts + 1]) {}

    int64_t rows, weight, ones;  // of both sides together
    int64_t missing_left = 0;    // missing rows to the left of every cut
    double missing_purity = 0;   // of the branch of the missing rows, if they have one …
    int n_filled = 2;            // … which is the third
};

// The part of a node between two neighbouring cuts, which may hide a better cut.
struct CutGap {
    uint32_t bin;
    double weight, ones;          // to its left
    double gap_weight, gap_ones;  // in it
};

class BatchScorer {
public:
    BatchScorer(const FitContext& context, const ScoreBounds<TargetKind::binary>& score_bounds)
        : settings_(context.settings), tables_(context.tables), score_bounds_(score_bounds) {}

    // The lookup tables end at a certain weight; only gains are scored in batches.
    bool supports(int64_t weight) const { return settings_.rule == Rule::gain && weight <= tables_.reciprocals.max(); }
    // The purity a cut needs to be competitive.
    double required_purity(const BatchSides& sides, double best_lower_bound) const {
        return score_bounds_.required_purity(best_lower_bound, sides.n_filled) - sides.missing_purity;
    }
    double upper_bound(const BatchSides& sides, double purity) const { return bounds(sides, purity).upper; }
    // Score of a single cut.
    double purity(const BatchSides& sides, int64_t weight, int64_t ones) const {
        constexpr size_t kWidth = kCounts + 2;
        const int64_t left[kWidth] = {0, weight, weight - ones, ones};
        const int64_t right[kWidth] = {0, sides.weight - weight, 0, sides.ones - ones};
        return score_bounds_.approx.purity(left) + score_bounds_.approx.purity(right);
    }

    // Scores the cuts and offers the competitive ones, best first; column(k): the column of cut k. Returns the best
    // purity.
    template <class ColumnOf>
    double offer(const BatchSides& sides, CutBatch& cuts, const ColumnOf& column, CandidateFilter& filter) const {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        compute_purities(sides, cuts.weight.data(), cuts.ones.data(), cuts.n, cuts.purities.data());
        const double* purities = cuts.purities.data();
        const bool all_meet_limits = settings_.min_samples_leaf <= 1 && settings_.min_leaf_weight <= 1;
        const size_t best = all_meet_limits ? argmax(purities, cuts.n) : best_within_limits(sides, cuts);
        if (best >= cuts.n) return -kInf;
        if (purities[best] < required_purity(sides, filter.best_lower_bound(column(best)))) return purities[best];
        const auto offer_cut = [&](size_t k) {
            const auto [lower, upper] = bounds(sides, purities[k]);
            filter.offer(column(k), cuts.rows[k], lower, upper);
        };
        offer_cut(best);
        const double threshold = required_purity(sides, filter.best_lower_bound(column(best)));
        for (size_t k = 0; k < cuts.n; ++k) {
            if (purities[k] >= threshold && k != best && (all_meet_limits || meets_limits(sides, cuts, k)))
                offer_cut(k);
        }
        return purities[best];
    }

    // By how much a cut in a gap can exceed the mean purity of the two cuts around it, given the weight in the gap:
    // moving one unit of weight changes the purity of a side by at most one. Entropy has no such bound.
    struct RiseBound {
        double steepness, rounding;
        double operator()(double weight) const { return steepness * weight + rounding; }
    };
    RiseBound rise_bound() const {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        return {settings_.criterion == Criterion::entropy ? kInf : 1.0, 2 * score_bounds_.error_bound(2)};
    }
    // Upper bounds for the purities of the cuts in each gap: all ones first, or all others first. The other two corners
    // of the box (criteria/bin_bound.hpp) are the neighbouring cuts themselves, which have been offered.
    const std::vector<double>& bound_gaps(const BatchSides& sides, const std::vector<CutGap>& gaps) {
        if (bounds_.size() < gaps.size())
            for (auto* scratch : {&bounds_, &weight_, &ones_, &purities_}) scratch->resize(2 * gaps.size());
        for (const bool ones_first : {true, false}) {
            for (size_t i = 0; i < gaps.size(); ++i) {
                const CutGap& gap = gaps[i];
                weight_[i] = gap.weight + (ones_first ? gap.gap_ones : gap.gap_weight - gap.gap_ones);
                ones_[i] = gap.ones + (ones_first ? gap.gap_ones : 0);
            }
            compute_purities(sides, weight_.data(), ones_.data(), gaps.size(),
                             ones_first ? bounds_.data() : purities_.data());
        }
        for (size_t i = 0; i < gaps.size(); ++i) bounds_[i] = std::max(bounds_[i], purities_[i]);
        return bounds_;
    }

private:
    using Bounds = ScoreBounds<TargetKind::binary>;

    Bounds::Range bounds(const BatchSides& sides, double purity) const {
        return score_bounds_.bounds(purity + sides.missing_purity, sides.n_filled, [] { return 0.0; });
    }
    // Whether both sides meet the leaf limits.
    bool meets_limits(const BatchSides& sides, const CutBatch& cuts, size_t k) const {
        const auto is_large_enough = [&](int64_t rows, int64_t weight) {
            return rows >= settings_.min_samples_leaf && weight >= settings_.min_leaf_weight;
        };
        const int64_t rows = cuts.rows[k] + sides.missing_left, weight = static_cast<int64_t>(cuts.weight[k]);
        return is_large_enough(rows, weight) && is_large_enough(sides.rows - rows, sides.weight - weight);
    }
    size_t best_within_limits(const BatchSides& sides, const CutBatch& cuts) const {
        size_t best = cuts.n;
        for (size_t k = 0; k < cuts.n; ++k) {
            if ((best == cuts.n || cuts.purities[k] > cuts.purities[best]) && meets_limits(sides, cuts, k)) best = k;
        }
        return best;
    }
    void compute_purities(const BatchSides& sides, const double* weight, const double* ones, size_t n,
                          double* out) const {
        const CutSweep all{
            static_cast<int64_t>(n), 0, sides.weight, static_cast<double>(sides.ones), ones, weight, out};
        if (settings_.criterion == Criterion::gini) purity_of_cuts_gini(all, tables_.reciprocals.data());
        if (settings_.criterion == Criterion::entropy) purity_of_cuts_entropy(all, tables_.nlogn.data());
        if (settings_.criterion == Criterion::error) purity_of_cuts_error(all);
    }

    const Settings& settings_;
    const LookupTables& tables_;
    const Bounds& score_bounds_;
    std::vector<double> bounds_, weight_, ones_, purities_;  // of bound_gaps
};

}  // namespace treewise
