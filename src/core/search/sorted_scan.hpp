// Scan over rows sorted by a numeric column: which cuts could be the best?
//
// Used for whole columns of small nodes and for the few bins of large nodes that may hide a better cut
// (engines/histogram.hpp). Whether the values on both sides of a cut differ is checked only for cuts that score well
// enough.
//
// For binary targets with small weights, blocks of 64 rows can be skipped at once: over all orders of a block's rows,
// the score is convex in the (weight, ones) moved to the left, so no cut inside scores higher than "all ones first",
// "all others first" or the end of the block.
//
//         ones ▲      ┌──────● end of block
//              │      │     /          every order of the block's rows is a path from the start to the end;
//              │      │ paths          the corners of the box bound the score on all of them
//              │ start●─────┘
//              └──────────────▶ others

#pragma once

#include <array>
#include <numeric>

#include "criteria/simd.hpp"
#include "problem/fit_context.hpp"
#include "search/candidate_filter.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

// Position of a run of sorted rows within its node.
struct RunContext {
    int32_t column;
    const int64_t* left;            // statistics of everything below the run …
    const int64_t* right;           // … and of the run together with everything above it
    const int64_t* missing_branch;  // statistics of the missing rows, if they have their own branch; else null
    int64_t rows_below;             // present rows below the run
};

// Totals to the left of each cut of a batch.
struct CutBatch {
    size_t n = 0;
    std::vector<int64_t> rows;  // capacity only grows
    std::vector<double> weight, ones, scores;

    void resize(size_t count) {
        n = count;
        if (rows.size() >= n) return;
        rows.resize(2 * n), weight.resize(2 * n), ones.resize(2 * n), scores.resize(2 * n);
    }
    void put(size_t k, int64_t cut_rows, int64_t cut_weight, int64_t cut_ones) {
        rows[k] = cut_rows, weight[k] = static_cast<double>(cut_weight), ones[k] = static_cast<double>(cut_ones);
    }
};

// Rows between two neighbouring cuts, which may hide a better cut.
struct BinBound {
    size_t bucket;
    double weight, ones;          // to the left of the bin
    double bin_weight, bin_ones;  // in the bin
};
struct BinBounds {
    std::vector<BinBound> bins;
    std::vector<double> bounds;                // best possible score of a cut inside
    std::vector<double> weight, ones, scores;  // scratch

    size_t size() const { return bins.size(); }
    void resize_scratch() {
        if (bounds.size() >= size()) return;
        for (auto* scratch : {&bounds, &weight, &ones, &scores}) scratch->resize(2 * size());
    }
};

template <TargetKind S>
class SortedScan {
public:
    SortedScan(const Settings& settings, const LookupTables& tables, const ScoreBounds<S>& score_bounds,
               CheckInterrupt check_interrupt)
        : settings_(settings),
          tables_(tables),
          score_bounds_(score_bounds),
          check_interrupt_(std::move(check_interrupt)) {}

    // value(i), weight(i): of row i; differs(i): whether rows i − 1 and i have different values. Cuts after row 1 …
    // n_cuts.
    template <class Load, class Weight, class Differs>
    void scan(const RunContext& run, int64_t n_cuts, const Load& value, const Weight& weight, const Differs& differs,
              CandidateFilter& filter) {
        const auto with = [&]<Criterion C>() { Scan<C>{*this, run, filter}.scan(n_cuts, value, weight, differs); };
        const Criterion criterion = settings_.criterion;
        if constexpr (S == TargetKind::regression) {
            if (criterion == Criterion::poisson) return with.template operator()<Criterion::poisson>();
            with.template operator()<Criterion::squared_error>();
        } else {
            if (criterion == Criterion::entropy) return with.template operator()<Criterion::entropy>();
            if (criterion == Criterion::gini) return with.template operator()<Criterion::gini>();
            with.template operator()<Criterion::error>();
        }
    }

    // -- binary targets, nothing missing: cuts with known totals
    // ----------------------------------------------------------

    // The score a cut needs to be competitive; upper bound = (score − parent_score + error)·factor.
    double required_score(const CandidateFilter& filter) const {
        return filter.best_lower_bound(0) / score_bounds_.score_of_gain(1.0, 2) - score_bounds_.error_bound(2) +
               score_bounds_.approx.parent_score();
    }
    double parent_score() const { return score_bounds_.approx.parent_score(); }
    // Scores the cuts and offers the competitive ones, best first; column(k): the column of cut k. Returns the best
    // score.
    template <class ColumnOf>
    double score_cuts(const Stat& node_total, CutBatch& cuts, const ColumnOf& column, CandidateFilter& filter) const {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        const double* scores = cuts.scores.data();
        score(node_total, cuts.weight.data(), cuts.ones.data(), cuts.n, cuts.scores.data());
        const bool any_cut_fits = settings_.min_samples_leaf <= 1 && settings_.min_leaf_weight <= 1;
        const size_t best = any_cut_fits ? argmax(scores, cuts.n) : best_fitting(node_total, cuts);
        if (best >= cuts.n || scores[best] < required_score(filter)) return best < cuts.n ? scores[best] : -kInf;
        const auto offer = [&](size_t k) {
            const auto [low, high] = score_bounds_.bounds(scores[k], 2, [] { return 0.0; });
            filter.offer(column(k), cuts.rows[k], low, high);
        };
        offer(best);
        const double threshold = required_score(filter);
        for (size_t k = 0; k < cuts.n; ++k) {
            if (scores[k] >= threshold && k != best && (any_cut_fits || fits(node_total, cuts, k))) offer(k);
        }
        return scores[best];
    }
    // By how much a cut between two neighbouring cuts can exceed the mean of their scores, given the weight between
    // them: moving one unit of weight changes the score of a side by at most one. Entropy has no such bound.
    struct RiseBound {
        double steepness, rounding;
        double operator()(double weight) const { return steepness * weight + rounding; }
    };
    RiseBound rise_bound() const {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        return {settings_.criterion == Criterion::entropy ? kInf : 1.0, 2 * score_bounds_.error_bound(2)};
    }
    // Upper bounds for cuts between neighbouring cuts: all ones first, or all others first. The other two corners of
    // the box are the neighbouring cuts themselves, which have been offered.
    void bound_bins(const Stat& node_total, BinBounds& bin_bounds) const {
        bin_bounds.resize_scratch();
        for (const bool ones_first : {true, false}) {
            for (size_t b = 0; b < bin_bounds.size(); ++b) {
                const auto& [bucket, weight, ones, bin_weight, bin_ones] = bin_bounds.bins[b];
                bin_bounds.weight[b] = weight + (ones_first ? bin_ones : bin_weight - bin_ones);
                bin_bounds.ones[b] = ones + (ones_first ? bin_ones : 0);
            }
            score(node_total, bin_bounds.weight.data(), bin_bounds.ones.data(), bin_bounds.size(),
                  ones_first ? bin_bounds.bounds.data() : bin_bounds.scores.data());
        }
        for (size_t b = 0; b < bin_bounds.size(); ++b)
            bin_bounds.bounds[b] = std::max(bin_bounds.bounds[b], bin_bounds.scores[b]);
    }

private:
    static constexpr int64_t kBlock = 64;
    static constexpr size_t kBlocksBetweenChecks = kRowsBetweenChecks / kBlock;

    // Whether both sides meet the leaf limits.
    bool fits(const Stat& node_total, const CutBatch& cuts, size_t k) const {
        const auto is_large_enough = [&](int64_t rows, int64_t weight) {
            return rows >= settings_.min_samples_leaf && weight >= settings_.min_leaf_weight;
        };
        const auto weight = static_cast<int64_t>(cuts.weight[k]);
        return is_large_enough(cuts.rows[k], weight) &&
               is_large_enough(node_total[kRows] - cuts.rows[k], node_total[kWeight] - weight);
    }
    size_t best_fitting(const Stat& node_total, const CutBatch& cuts) const {
        size_t best = cuts.n;
        for (size_t k = 0; k < cuts.n; ++k) {
            if ((best == cuts.n || cuts.scores[k] > cuts.scores[best]) && fits(node_total, cuts, k)) best = k;
        }
        return best;
    }
    void score(const Stat& node_total, const double* weight, const double* ones, size_t n, double* out) const {
        const double sum = static_cast<double>(node_total[kCounts + 1]);
        const CutSweep all{static_cast<int64_t>(n), 0, node_total[kWeight], sum, ones, weight, out};
        if (settings_.criterion == Criterion::gini) score_cuts_gini(all, tables_.reciprocals.data());
        if (settings_.criterion == Criterion::entropy) score_cuts_entropy(all, tables_.nlogn.data());
        if (settings_.criterion == Criterion::error) score_cuts_error(all);
    }

    template <Criterion C>
    struct Scan {
        Scan(const SortedScan& s, const RunContext& a, CandidateFilter& c)
            : settings(s.settings_),
              score_bounds(s.score_bounds_),
              tables(s.tables_),
              check_interrupt(s.check_interrupt_),
              run(a),
              filter(c),
              sides(s.score_bounds_.approx) {
            missing_score = run.missing_branch ? score_bounds.approx.negative_impurity(run.missing_branch) : 0.0;
            n_filled = 2 + (run.missing_branch != nullptr);
        }

        template <class Load, class Weight, class Differs>
        void scan(int64_t n_cuts, const Load& value, const Weight& weight, const Differs& differs) {
            const int64_t first = std::max<int64_t>(1, settings.min_samples_leaf - run.left[kRows]);
            const int64_t last = std::min(n_cuts, run.right[kRows] - std::max<int64_t>(1, settings.min_samples_leaf));
            sides.start(run.left, run.right);
            int64_t i = 0;
            for (; i < first - 1 && i < last; ++i) sides.move_row(value(i), weight(i));
            if constexpr (S == TargetKind::binary || C == Criterion::squared_error) {
                if (settings.rule == Rule::gain &&
                    sides.left_weight() + sides.right_weight() <= tables.reciprocals.max())
                    return scan_blocks(i, last, value, weight, differs);
            }
            for (size_t blocks = 1; i < last; ++blocks) {
                if (blocks % kBlocksBetweenChecks == 0) check_interrupt();
                const int64_t stop = std::min(last, i + kBlock);
                for (; i < stop; ++i) {
                    sides.move_row(value(i), weight(i));
                    offer_current_cut(i + 1, differs);
                }
            }
        }

        // For small weights: skip the block if no cut in it can win, otherwise score all its cuts at once.
        template <class Load, class Weight, class Differs>
        void scan_blocks(int64_t i, int64_t last, const Load& value, const Weight& weight, const Differs& differs) {
            const double mean = score_bounds.approx.mean(), share = score_bounds.score_of_gain(1.0, n_filled);
            const int64_t all = sides.left_weight() + sides.right_weight();
            const double sum =
                static_cast<double>(sides.left_sum() + sides.right_sum()) - mean * static_cast<double>(all);
            constexpr bool kUnit = requires { Weight::unit_weights; };
            double prefix[kBlock], weights[kBlock], scores[kBlock];
            for (size_t blocks = 1; i < last; ++blocks) {
                if (blocks % kBlocksBetweenChecks == 0) check_interrupt();
                const int64_t n = std::min(kBlock, last - i);
                // The score a cut needs to be competitive.
                const double required_score = filter.best_lower_bound(run.column) / share -
                                              score_bounds.error_bound(n_filled) + score_bounds.approx.parent_score() -
                                              missing_score;
                if constexpr (S == TargetKind::binary) {
                    if (settings.tuning.use_bounds && n == kBlock) {
                        int64_t rows = 0, ones = 0;  // by weight
                        for (int64_t k = 0; k < n; ++k)
                            rows += weight(i + k), ones += moved(value(i + k), weight(i + k));
                        if (bound_block(rows, ones) < required_score) {
                            sides.move_rows(rows, ones), i += n;
                            continue;
                        }
                    }
                }
                int64_t left_sum = sides.left_sum(), left_weight = sides.left_weight();
                for (int64_t k = 0; k < n; ++k) {
                    left_weight += weight(i + k);
                    left_sum += moved(value(i + k), weight(i + k));
                    weights[k] = static_cast<double>(left_weight);
                    prefix[k] = static_cast<double>(left_sum) - (S == TargetKind::regression ? mean * weights[k] : 0.0);
                }
                const CutSweep block{n, sides.left_weight(), all, sum, prefix, kUnit ? nullptr : weights, scores};
                if constexpr (C == Criterion::gini) score_cuts_gini(block, tables.reciprocals.data());
                if constexpr (C == Criterion::entropy) score_cuts_entropy(block, tables.nlogn.data());
                if constexpr (C == Criterion::error) score_cuts_error(block);
                if constexpr (C == Criterion::squared_error) score_cuts_squared_error(block, tables.reciprocals.data());
                double upper = scores[0];
                for (int64_t k = 1; k < n; ++k) upper = std::max(upper, scores[k]);
                for (int64_t k = 0; upper >= required_score && k < n; ++k) {
                    if (scores[k] >= required_score)
                        offer(i + k + 1, scores[k], static_cast<int64_t>(weights[k]), all, differs);
                }
                sides.move_rows(left_weight - sides.left_weight(), left_sum - sides.left_sum()), i += n;
            }
        }
        static int64_t moved(int64_t value, int64_t weight) { return S == TargetKind::binary ? value * weight : value; }
        template <class Differs>
        void offer(int64_t i, double score, int64_t left_weight, int64_t all, const Differs& differs) {
            const auto [lower, upper] = score_bounds.bounds(score + missing_score, n_filled, [] { return 0.0; });
            if (!filter.can_win(run.column, upper) || !differs(i)) return;
            const auto least_weight = settings.min_leaf_weight;
            if (left_weight < least_weight || all - left_weight < least_weight) return;
            filter.offer(run.column, run.rows_below + i, lower, upper);
        }
        // Upper bound over all orders of the block's rows.
        double bound_block(int64_t rows, int64_t ones) const {
            const int64_t m = sides.left_weight(), a = sides.left_sum(), n = sides.right_weight(),
                          b = sides.right_sum();
            const auto side = [&](int64_t weight, int64_t moved_ones) {
                const auto x = static_cast<double>(moved_ones), y = static_cast<double>(weight - moved_ones);
                if constexpr (C == Criterion::gini) return (x * x + y * y) * tables.reciprocals.data()[weight];
                return score_bounds.approx.template negative_impurity_binary<C>(weight, moved_ones);
            };
            const auto score_at = [&](int64_t moved, int64_t moved_ones) {
                return side(m + moved, a + moved_ones) + side(n - moved, b - moved_ones);
            };
            return std::max({score_at(ones, ones), score_at(rows - ones, 0), score_at(rows, ones)});
        }

        template <class Differs>
        void offer_current_cut(int64_t i, const Differs& differs) {
            const auto [lower, upper] = score_bounds.bounds(sides.score() + missing_score, n_filled, [&] {
                return score_bounds.nlogn(sides.left_weight()) + score_bounds.nlogn(sides.right_weight()) +
                       (run.missing_branch ? score_bounds.nlogn(run.missing_branch[kWeight]) : 0.0);
            });
            if (!filter.can_win(run.column, upper) || !differs(i)) return;
            if (sides.left_weight() < settings.min_leaf_weight || sides.right_weight() < settings.min_leaf_weight)
                return;
            // Poisson: a branch whose targets are all 0 is no candidate; one whose quantised sum is 0 may still be one.
            const bool sure = C != Criterion::poisson || (sides.left_sum() > 0 && sides.right_sum() > 0);
            filter.offer(run.column, run.rows_below + i, sure ? lower : -std::numeric_limits<double>::infinity(),
                         upper);
        }

        const Settings& settings;
        const ScoreBounds<S>& score_bounds;
        const LookupTables& tables;
        const CheckInterrupt& check_interrupt;
        const RunContext& run;
        CandidateFilter& filter;
        RunningSplit<C, S> sides;
        double missing_score;
        int n_filled;
    };

    const Settings& settings_;
    const LookupTables& tables_;
    const ScoreBounds<S>& score_bounds_;
    CheckInterrupt check_interrupt_;
};

struct UnitWeight {
    static constexpr bool unit_weights = true;
    int64_t operator()(int64_t) const { return 1; }
};

// Sorts rows by key: radix sort on the highest differing bits, then comparison sort within equal prefixes. `rows` are
// indices into `keys`.
class KeySorter {
public:
    void sort(const std::vector<int64_t>& keys, std::vector<uint32_t>& rows, const CheckInterrupt& check_interrupt) {
        const size_t n = rows.size();
        if (n < 64) return comparison_sort(keys, rows.begin(), rows.end());
        uint64_t low = ~uint64_t{0}, high = 0;
        in_chunks(n, check_interrupt, [&](size_t i) {
            const uint64_t key = to_unsigned(keys[rows[i]]);
            low = std::min(low, key), high = std::max(high, key);
        });
        const int bits = 64 - std::countl_zero((high - low) | 1), shift = std::max(0, bits - 32);
        a_.resize(n), b_.resize(n);
        for (auto& digit : starts_) digit.fill(0);
        in_chunks(n, check_interrupt, [&](size_t i) {
            const auto key = static_cast<uint32_t>((to_unsigned(keys[rows[i]]) - low) >> shift);
            a_[i] = {key, rows[i]};
            for (int d = 0; d < kPasses; ++d) ++starts_[d][key >> (d * kDigitBits) & kMask];
        });
        for (int d = 0; d < kPasses; ++d) {
            auto& start = starts_[d];
            if (start[a_[0].key >> (d * kDigitBits) & kMask] == n) continue;  // all equal
            std::exclusive_scan(start.begin(), start.end(), start.begin(), 0u);
            in_chunks(n, check_interrupt,
                      [&](size_t i) { b_[start[a_[i].key >> (d * kDigitBits) & kMask]++] = a_[i]; });
            std::swap(a_, b_);
        }
        for (size_t i = 0; i < n; ++i) rows[i] = a_[i].row;
        if (shift == 0) return;
        for (size_t i = 0; i < n;) {
            size_t j = i + 1;
            while (j < n && a_[j].key == a_[i].key) ++j;
            if (j - i > 1)
                comparison_sort(keys, rows.begin() + static_cast<int64_t>(i), rows.begin() + static_cast<int64_t>(j));
            if (j / kRowsBetweenChecks != i / kRowsBetweenChecks) check_interrupt();
            i = j;
        }
    }

private:
    static constexpr int kDigitBits = 11, kPasses = 3;
    static constexpr uint32_t kBuckets = 1u << kDigitBits, kMask = kBuckets - 1;
    struct Entry {
        uint32_t key, row;
    };
    template <class Work>
    static void in_chunks(size_t n, const CheckInterrupt& check_interrupt, const Work& work) {
        for (size_t begin = 0; begin < n; begin += kRowsBetweenChecks) {
            if (begin) check_interrupt();
            for (size_t i = begin; i < std::min(n, begin + kRowsBetweenChecks); ++i) work(i);
        }
    }
    static uint64_t to_unsigned(int64_t key) { return static_cast<uint64_t>(key) ^ (uint64_t{1} << 63); }
    template <class It>
    static void comparison_sort(const std::vector<int64_t>& keys, It first, It last) {
        std::sort(first, last, [&](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
    }
    std::vector<Entry> a_, b_;
    std::array<std::array<uint32_t, kBuckets>, kPasses> starts_;
};

}  // namespace treewise
