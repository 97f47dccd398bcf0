// Context shared by the engines of one fit: columns, target, settings, and lookup tables computed once.

#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "criteria/approx_impurity.hpp"
#include "criteria/simd.hpp"
#include "problem/sort_keys.hpp"

namespace treewise {

// Tabulated functions of integers.
struct LookupTables {
    LookupTables(int64_t n_rows, bool logarithms)
        : nlogn(logarithms ? n_rows : 1), reciprocals(std::min(n_rows, kMaxReciprocal)) {}
    NLogNTable nlogn;
    ReciprocalTable reciprocals;

private:
    static constexpr int64_t kMaxReciprocal = 1 << 17;
};

struct FitContext {
    // rows: the rows to train on; empty for all.
    FitContext(const std::vector<Column>& c, const Target& t, const Settings& s, const LookupTables& shared,
               std::span<const uint32_t> rows = {})
        : columns(c), target(t), settings(s), tables(shared) {
        int128 weights = 0;
        int64_t low = 0, high = 0;
        const size_t n = rows.empty() ? static_cast<size_t>(t.n_rows) : rows.size();
        for (size_t i = 0; i < n; ++i) {
            const size_t r = rows.empty() ? i : rows[i];
            weights += t.weight[r];
            unit_weights = unit_weights && t.weight[r] == 1;
            if (t.n_classes) continue;
            low = i ? std::min(low, t.y[r]) : t.y[r], high = i ? std::max(high, t.y[r]) : t.y[r];
        }
        quantiser = Quantiser::of(low, high, weights, s.criterion == Criterion::poisson);
    }

    const std::vector<Column>& columns;
    const Target& target;
    const Settings& settings;
    const LookupTables& tables;
    bool unit_weights = true;  // every row has weight 1
    Quantiser quantiser;       // of the targets, for engines that see the whole table

    int64_t n_classes() const { return target.n_classes; }
    size_t width() const { return stats_width(target.n_classes); }

    // Adds one row to the statistics.
    void add_row(int64_t* stats, uint32_t row, const int64_t* y, const Quantiser& q) const {
        const int64_t w = target.weight[row];
        ++stats[kRows];
        stats[kWeight] += w;
        if (target.n_classes) {
            stats[kCounts + static_cast<size_t>(target.label[row])] += w;
        } else {
            add_product(stats + kLimbs, w, y[row]);
            stats[kQuantised] += q(target.y[row], w);
        }
    }
    // Adds many rows; quantised: the quantised target of each row (see `quantise`). The sum over all rows fits 128
    // bits.
    void add_rows(int64_t* stats, std::span<const uint32_t> rows, const int64_t* y,
                  const std::vector<int64_t>& quantised) const {
        stats[kRows] += static_cast<int64_t>(rows.size());
        int128 sum = 0;
        for (uint32_t row : rows) {
            const int64_t w = target.weight[row];
            stats[kWeight] += w;
            if (target.n_classes)
                stats[kCounts + static_cast<size_t>(target.label[row])] += w;
            else
                sum += static_cast<int128>(w) * y[row], stats[kQuantised] += quantised[row];
        }
        if (!target.n_classes) add_sum(stats + kLimbs, sum);
    }
    std::vector<int64_t> quantise(std::span<const uint32_t> rows) const {
        std::vector<int64_t> all(static_cast<size_t>(target.n_rows));
        for (uint32_t r : rows) all[r] = quantiser(target.y[r], target.weight[r]);
        return all;
    }
    // Sets the score bounds up for a node with these statistics. q: quantises its targets; row(i): its i-th row, read
    // only for regression.
    template <class ScoreBounds, class RowOf>
    void begin_node(ScoreBounds& score_bounds, const RowStats& node_total, const Quantiser& q, const RowOf& row) const {
        double low = 0, high = 0;
        PriceUnits units;
        if (target.n_classes == 0) {
            int64_t lower = target.y[row(0)], upper = lower;
            for (size_t i = 1; i < static_cast<size_t>(node_total[kRows]); ++i) {
                const int64_t y = target.y[row(i)];
                lower = std::min(lower, y), upper = std::max(upper, y);
            }
            low = q.to_double(lower), high = q.to_double(upper);
            units = price_units(q, node_total, row);
        }
        score_bounds.begin_node(node_total.data(), low, high, q.error(target.max_exponent != kNothingRounded), units);
    }
    // For engines that see the whole table.
    template <class ScoreBounds>
    void begin_node(ScoreBounds& score_bounds, const RowStats& node_total, std::span<const uint32_t> rows) const {
        begin_node(score_bounds, node_total, quantiser, [rows](size_t i) { return rows[i]; });
    }
    // row(i): the i-th row of the node.
    template <class RowOf>
    PriceUnits price_units(const Quantiser& q, const RowStats& node_total, const RowOf& row) const {
        PriceUnits units;
        if (settings.selection != Selection::priced) return units;
        units.bit = scale_pow2(1.0, target.scale - q.shift);
        if (settings.criterion != Criterion::squared_error) return units;
        const double mean = static_cast<double>(node_total[kQuantised]) / static_cast<double>(node_total[kWeight]);
        for (size_t i = 0; i < static_cast<size_t>(node_total[kRows]); ++i) {
            const double d = q.to_double(target.y[row(i)]) - mean;
            units.sum_of_squares += static_cast<double>(target.weight[row(i)]) * d * d;
        }
        return units;
    }
    bool separates_missing(const int64_t* missing_stats) const {  // whether missing rows get their own branch
        if (!settings.missing_branch || missing_stats[kRows] < std::max<int64_t>(1, settings.min_samples_leaf))
            return false;
        if (missing_stats[kWeight] < settings.min_leaf_weight) return false;
        return settings.criterion != Criterion::poisson || target_sum(missing_stats) > 0;
    }
};

}  // namespace treewise
