// Scan over rows sorted by a numeric column: which cuts could be the best?
//
// Used for whole columns of small nodes and for the few bins that may hide a better cut (search/binned_column.hpp).
// Whether the values on both sides of a cut differ is checked only for cuts of enough purity.
//
// For binary targets with small weights, blocks of 64 rows can be skipped at once: over all orders of a block's rows,
// the purity is convex in the (weight, ones) moved to the left, so no cut inside is purer than "all ones first",
// "all others first" or the end of the block.
//
//         ones ▲      ┌──────● end of block
//              │      │     /          every order of the block's rows is a path from the start to the end;
//              │      │ paths          the corners of the box bound the purity on all of them
//              │ start●─────┘
//              └──────────────▶ others

#pragma once

#include "criteria/simd.hpp"
#include "problem/fit_context.hpp"
#include "search/candidate_filter.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

// Position of a run of sorted rows within its node.
struct RunContext {
    int32_t column;
    const int64_t* left;                  // statistics of everything below the run …
    const int64_t* right;                 // … and of the run together with everything above it
    const int64_t* missing_branch_stats;  // statistics of the missing rows, if they have their own branch; else null
    int64_t rows_below;                   // present rows below the run
};

template <TargetKind K>
class SortedScan {
public:
    SortedScan(const Settings& settings, const LookupTables& tables, const ScoreBounds<K>& score_bounds,
               CheckInterrupt check_interrupt)
        : settings_(settings),
          tables_(tables),
          score_bounds_(score_bounds),
          check_interrupt_(std::move(check_interrupt)) {}

    // target_of(i): of row i, 0 or 1 (binary), the class, or the quantised target times the weight; weight_of(i): its
    // weight.
    // differs(i): whether rows i − 1 and i have different values. Cuts after row 1 … n_cuts.
    template <class TargetOf, class WeightOf, class Differs>
    void scan(const RunContext& run, int64_t n_cuts, const TargetOf& target_of, const WeightOf& weight_of,
              const Differs& differs, CandidateFilter& filter) {
        const auto with = [&]<Criterion C>() {
            Scan<C>{*this, run, filter}.scan(n_cuts, target_of, weight_of, differs);
        };
        const Criterion criterion = settings_.criterion;
        if constexpr (K == TargetKind::regression) {
            if (criterion == Criterion::poisson) return with.template operator()<Criterion::poisson>();
            with.template operator()<Criterion::squared_error>();
        } else {
            if (criterion == Criterion::entropy) return with.template operator()<Criterion::entropy>();
            if (criterion == Criterion::gini) return with.template operator()<Criterion::gini>();
            with.template operator()<Criterion::error>();
        }
    }

private:
    static constexpr int64_t kBlock = 64;
    static constexpr size_t kBlocksBetweenChecks = kRowsBetweenChecks / kBlock;

    template <Criterion C>
    struct Scan {
        Scan(const SortedScan& scan, const RunContext& scanned, CandidateFilter& candidates)
            : settings(scan.settings_),
              score_bounds(scan.score_bounds_),
              tables(scan.tables_),
              check_interrupt(scan.check_interrupt_),
              run(scanned),
              filter(candidates),
              sides(scan.score_bounds_.approx) {
            missing_purity = run.missing_branch_stats ? score_bounds.approx.purity(run.missing_branch_stats) : 0.0;
            n_filled = 2 + (run.missing_branch_stats != nullptr);
        }

        template <class TargetOf, class WeightOf, class Differs>
        void scan(int64_t n_cuts, const TargetOf& target_of, const WeightOf& weight_of, const Differs& differs) {
            const int64_t first = std::max<int64_t>(1, settings.min_samples_leaf - run.left[kRows]);
            const int64_t last = std::min(n_cuts, run.right[kRows] - std::max<int64_t>(1, settings.min_samples_leaf));
            sides.start(run.left, run.right);
            int64_t i = 0;
            for (; i < first - 1 && i < last; ++i) sides.move_row(target_of(i), weight_of(i));
            if constexpr (C == Criterion::poisson) return scan_blocks(i, last, target_of, weight_of, differs);
            if constexpr (K == TargetKind::binary || C == Criterion::squared_error) {
                if (sides.left_weight() + sides.right_weight() <= tables.reciprocals.max())
                    return scan_blocks(i, last, target_of, weight_of, differs);
            }
            for (size_t blocks = 1; i < last; ++blocks) {
                if (blocks % kBlocksBetweenChecks == 0) check_interrupt();
                const int64_t stop = std::min(last, i + kBlock);
                for (; i < stop; ++i) {
                    sides.move_row(target_of(i), weight_of(i));
                    offer_current_cut(i + 1, differs);
                }
            }
        }

        // For small weights: skip the block if no cut in it can win, otherwise score all its cuts at once.
        template <class TargetOf, class WeightOf, class Differs>
        void scan_blocks(int64_t i, int64_t last, const TargetOf& target_of, const WeightOf& weight_of,
                         const Differs& differs) {
            const double mean = score_bounds.approx.mean();
            const int64_t total_weight = sides.left_weight() + sides.right_weight();
            const double sum =
                static_cast<double>(sides.left_sum() + sides.right_sum()) - mean * static_cast<double>(total_weight);
            constexpr bool kUnit = requires { WeightOf::unit_weights; };
            const bool by_ratio = settings.rule == Rule::ratio;
            double prefix[kBlock], weights[kBlock], purities[kBlock];
            for (size_t blocks = 1; i < last; ++blocks) {
                if (blocks % kBlocksBetweenChecks == 0) check_interrupt();
                const int64_t n = std::min(kBlock, last - i);
                // of a purity, or of the upper bound of a ratio
                const double best = filter.best_lower_bound(run.column);
                const double required_purity =
                    by_ratio ? best : score_bounds.required_purity(best, n_filled) - missing_purity;
                if constexpr (K == TargetKind::binary) {
                    if (settings.tuning.use_bounds && n == kBlock) {
                        int64_t block_weight = 0, block_ones = 0;  // of all classes, and of class 1
                        for (int64_t k = 0; k < n; ++k)
                            block_weight += weight_of(i + k), block_ones += summand(target_of(i + k), weight_of(i + k));
                        if ((by_ratio ? bound_ratios(block_weight, block_ones)
                                      : bound_block(block_weight, block_ones)) < required_purity) {
                            sides.move_weight(block_weight, block_ones), i += n;
                            continue;
                        }
                    }
                }
                int64_t left_sum = sides.left_sum(), left_weight = sides.left_weight();
                for (int64_t k = 0; k < n; ++k) {
                    left_weight += weight_of(i + k);
                    left_sum += summand(target_of(i + k), weight_of(i + k));
                    weights[k] = static_cast<double>(left_weight);
                    prefix[k] = static_cast<double>(left_sum) - (K == TargetKind::regression ? mean * weights[k] : 0.0);
                }
                const CutSweep block{n,      sides.left_weight(),       total_weight, sum,
                                     prefix, kUnit ? nullptr : weights, purities};
                if constexpr (C == Criterion::gini) purity_of_cuts_gini(block, tables.reciprocals.data());
                if constexpr (C == Criterion::entropy) purity_of_cuts_entropy(block, tables.nlogn.data());
                if constexpr (C == Criterion::error) purity_of_cuts_error(block);
                if constexpr (C == Criterion::squared_error)
                    purity_of_cuts_squared_error(block, tables.reciprocals.data());
                if constexpr (C == Criterion::poisson) purity_of_cuts_poisson(block);
                double ratios[kBlock];
                if (by_ratio) {
                    for (int64_t k = 0; k < n; ++k)
                        ratios[k] = ratio_upper_bound(purities[k], static_cast<int64_t>(weights[k]));
                }
                const double* scores = by_ratio ? ratios : purities;
                double upper = scores[0];
                for (int64_t k = 1; k < n; ++k) upper = std::max(upper, scores[k]);
                for (int64_t k = 0; upper >= required_purity && k < n; ++k) {
                    if (scores[k] < required_purity) continue;
                    const bool valid =
                        C != Criterion::poisson || (prefix[k] > 0 && sum - prefix[k] > 0);  // as in offer_current_cut
                    offer(i + k + 1, purities[k], static_cast<int64_t>(weights[k]), total_weight, valid, differs);
                }
                sides.move_weight(left_weight - sides.left_weight(), left_sum - sides.left_sum()), i += n;
            }
        }
        // What a row adds to the sum of the left side.
        static int64_t summand(int64_t target, int64_t weight) {
            return K == TargetKind::binary ? target * weight : target;
        }
        template <class Differs>
        void offer(int64_t i, double purity, int64_t left_weight, int64_t total_weight, bool valid,
                   const Differs& differs) {
            const auto [lower, upper] =
                score_bounds.bounds(purity + missing_purity, n_filled, [&] { return nlogn_of_branches(left_weight); });
            if (!filter.can_win(run.column, upper) || !differs(i)) return;
            const int64_t min_weight = settings.min_leaf_weight;
            if (left_weight < min_weight || total_weight - left_weight < min_weight) return;
            filter.offer(run.column, run.rows_below + i, valid ? lower : -std::numeric_limits<double>::infinity(),
                         upper);
        }
        double nlogn_of_branches(int64_t left_weight) const {
            const int64_t total_weight = sides.left_weight() + sides.right_weight();
            return score_bounds.nlogn(left_weight) + score_bounds.nlogn(total_weight - left_weight) +
                   (run.missing_branch_stats ? score_bounds.nlogn(run.missing_branch_stats[kWeight]) : 0.0);
        }
        double ratio_upper_bound(double purity, int64_t left_weight) const {
            return score_bounds.ratio_upper_bound(purity + missing_purity, n_filled,
                                                  score_bounds.node_nlogn() - nlogn_of_branches(left_weight));
        }
        // Upper bound of the gain ratios over all orders of the block's rows: a ratio of a convex and a concave
        // function is quasi-convex, hence largest at a corner, its ends included.
        double bound_ratios(int64_t block_weight, int64_t block_ones) const {
            const int64_t m = sides.left_weight(), a = sides.left_sum(), n = sides.right_weight(),
                          b = sides.right_sum();
            const auto ratio_at = [&](int64_t moved, int64_t moved_ones) {
                const double purity = score_bounds.approx.template purity_binary<C>(m + moved, a + moved_ones) +
                                      score_bounds.approx.template purity_binary<C>(n - moved, b - moved_ones);
                return ratio_upper_bound(purity, m + moved);
            };
            return std::max(std::max(ratio_at(0, 0), ratio_at(block_weight, block_ones)),
                            std::max(ratio_at(block_ones, block_ones), ratio_at(block_weight - block_ones, 0)));
        }
        // Upper bound over all orders of the block's rows.
        double bound_block(int64_t block_weight, int64_t block_ones) const {
            const int64_t m = sides.left_weight(), a = sides.left_sum(), n = sides.right_weight(),
                          b = sides.right_sum();
            const auto side = [&](int64_t weight, int64_t moved_ones) {
                const auto x = static_cast<double>(moved_ones), y = static_cast<double>(weight - moved_ones);
                if constexpr (C == Criterion::gini) return (x * x + y * y) * tables.reciprocals.data()[weight];
                return score_bounds.approx.template purity_binary<C>(weight, moved_ones);
            };
            const auto purity_at = [&](int64_t moved, int64_t moved_ones) {
                return side(m + moved, a + moved_ones) + side(n - moved, b - moved_ones);
            };
            return std::max({purity_at(block_ones, block_ones), purity_at(block_weight - block_ones, 0),
                             purity_at(block_weight, block_ones)});
        }

        template <class Differs>
        void offer_current_cut(int64_t i, const Differs& differs) {
            const auto [lower, upper] = score_bounds.bounds(sides.purity() + missing_purity, n_filled,
                                                            [&] { return nlogn_of_branches(sides.left_weight()); });
            if (!filter.can_win(run.column, upper) || !differs(i)) return;
            if (sides.left_weight() < settings.min_leaf_weight || sides.right_weight() < settings.min_leaf_weight)
                return;
            // Poisson: a branch whose targets are all 0 is no candidate; one whose quantised sum is 0 may still be one.
            const bool sure = C != Criterion::poisson || (sides.left_sum() > 0 && sides.right_sum() > 0);
            filter.offer(run.column, run.rows_below + i, sure ? lower : -std::numeric_limits<double>::infinity(),
                         upper);
        }

        const Settings& settings;
        const ScoreBounds<K>& score_bounds;
        const LookupTables& tables;
        const CheckInterrupt& check_interrupt;
        const RunContext& run;
        CandidateFilter& filter;
        RunningSplit<C, K> sides;
        double missing_purity;
        int n_filled;
    };

    const Settings& settings_;
    const LookupTables& tables_;
    const ScoreBounds<K>& score_bounds_;
    CheckInterrupt check_interrupt_;
};

struct UnitWeight {
    static constexpr bool unit_weights = true;
    int64_t operator()(int64_t) const { return 1; }
};

}  // namespace treewise
