// What a node predicts (label or value), its impurity and its spread, from the exact statistics of its rows.
//
// Splits are not compared by these numbers, but monotone constraints and sufficient_accuracy read them. They are
// computed from integers, so they do not depend on the order of rows.

#pragma once

#include <cmath>
#include <concepts>

#include "criteria/exact_impurity.hpp"

namespace treewise {

struct NodeSummary {
    int32_t label = -1;
    double value = std::numeric_limits<double>::quiet_NaN();
    double impurity = 0.0;  // per unit of weight
    double spread = 0.0;
};

// What a node of these rows predicts: the share of the second of two classes, the mean or the median.
inline double predicted_value(const ClassImpurity& side, const NodeContext&) {
    return static_cast<double>(side.counts()[1]) / static_cast<double>(side.weight);
}
inline double predicted_value(const SumImpurity& side, const NodeContext& node_context) {
    return scale_pow2(static_cast<double>(side.sum) / static_cast<double>(side.weight), -node_context.scale);
}
inline double predicted_value(const AbsoluteErrorImpurity& side, const NodeContext& node_context) {
    const auto [low, high] = side.medians();
    return scale_pow2(static_cast<double>(low) / 2 + static_cast<double>(high) / 2, -node_context.scale);
}

template <class Impurity>
    requires std::derived_from<Impurity, ClassImpurity>
NodeSummary summarise(const Impurity& side, const NodeContext& node_context, const uint32_t*, const uint32_t*) {
    NodeSummary s;
    int64_t max_count = -1;
    for (int32_t c : side.classes()) {  // the largest class; the first one among equals
        const int64_t count = side.counts()[c];
        if (count > max_count || (count == max_count && c < s.label)) max_count = count, s.label = c;
    }
    s.impurity =
        static_cast<double>(side.total_impurity()) * node_context.unit_value / static_cast<double>(side.weight);
    if (side.counts().size() == 2) s.value = predicted_value(side, node_context);
    return s;
}

// Variance as square·4^exponent, so that the standard deviation is finite even where the variance overflows a double.
struct Variance {
    double square;
    int exponent;
    double value() const { return scale_pow2(square, 2 * exponent); }
    double deviation() const { return scale_pow2(std::sqrt(square), exponent); }
};

// Deviations are truncated so that their weighted squares add up in 128 bits.
inline Variance variance(const NodeContext& node_context, int128 sum, int64_t weight, const uint32_t* first,
                         const uint32_t* last) {
    if (node_context.low == node_context.high) return {0.0, 0};
    const int128 mean = floor_div(sum, weight);
    const int max_bits = (126 - bit_length(static_cast<uint128>(weight))) / 2;
    const auto range = static_cast<int128>(node_context.high) - node_context.low + 1;
    const int shift = std::max(0, bit_length(static_cast<uint128>(range)) - max_bits);
    int128 squares = 0, deviations = 0;
    for (const uint32_t* row = first; row != last; ++row) {
        const auto d = static_cast<int64_t>((node_context.y[*row] - mean) >> shift);  // at most 62 bits
        const int128 weighted = static_cast<int128>(node_context.target.weight[*row]) * d;
        squares += weighted * d, deviations += weighted;
    }
    const double w = static_cast<double>(weight), mean_deviation = static_cast<double>(deviations) / w;
    const double v = std::max(0.0, static_cast<double>(squares) / w - mean_deviation * mean_deviation);
    return {v, shift - node_context.scale};
}

inline NodeSummary summarise(const SquaredErrorImpurity& side, const NodeContext& node_context, const uint32_t* first,
                             const uint32_t* last) {
    NodeSummary s;
    s.value = predicted_value(side, node_context);
    const Variance v = variance(node_context, side.sum, side.weight, first, last);
    s.impurity = v.value();
    s.spread = v.deviation();
    return s;
}

inline NodeSummary summarise(const AbsoluteErrorImpurity& side, const NodeContext& node_context, const uint32_t* first,
                             const uint32_t* last) {
    NodeSummary s;
    s.value = predicted_value(side, node_context);
    s.impurity =
        scale_pow2(static_cast<double>(side.total_impurity()) / static_cast<double>(side.weight), -node_context.scale);
    s.spread = variance(node_context, side.sum, side.weight, first, last).deviation();
    return s;
}

// Half the mean Poisson deviance: (Σ y·log y)/m − mean·log mean, in nats.
inline NodeSummary summarise(const PoissonImpurity& side, const NodeContext& node_context, const uint32_t* first,
                             const uint32_t* last) {
    constexpr double kLn2 = 0.6931471805599453;
    NodeSummary s;
    s.value = predicted_value(side, node_context);
    s.spread = variance(node_context, side.sum, side.weight, first, last).deviation();
    if (side.sum <= 0 || node_context.low == node_context.high) return s;  // 0, without the rounding of logarithms
    const auto scale = static_cast<int128>(node_context.scale) << kFraction;
    // Σ w·y·log2 y with y truncated to 53 bits and each term truncated to leave room for the sum.
    const auto magnitude = [&](int64_t y) {
        const int128 log = log2_fixed(static_cast<uint64_t>(y)) - scale;
        return log < 0 ? -log : log;
    };
    const int y_shift = std::max(0, bit_length(static_cast<uint128>(node_context.high)) - 53);
    const int128 largest = (node_context.high >> y_shift) * (std::max(magnitude(node_context.high), magnitude(1)) + 1);
    const int term_shift =
        std::max(0, bit_length(static_cast<uint128>(largest)) + bit_length(static_cast<uint128>(side.weight)) - 125);
    int128 terms = 0;
    for (const uint32_t* row = first; row != last; ++row) {
        const int64_t y = node_context.y[*row];
        if (y <= 0) continue;
        terms += node_context.target.weight[*row] *
                 (((y >> y_shift) * (node_context.log2_target(*row) - scale)) >> term_shift);
    }
    const int sum_shift = std::max(0, bit_length(static_cast<uint128>(side.sum)) - 62);
    const int128 log_mean = log2_fixed(static_cast<uint64_t>(side.sum >> sum_shift)) +
                            (static_cast<int128>(sum_shift) << kFraction) -
                            log2_fixed(static_cast<uint64_t>(side.weight)) - scale;
    const double m = static_cast<double>(side.weight);
    const double ylogy =
        scale_pow2(static_cast<double>(terms) / m, y_shift + term_shift - kFraction - node_context.scale);
    const double mean_term = s.value * scale_pow2(static_cast<double>(log_mean), -kFraction);
    s.impurity = std::max(0.0, kLn2 * (ylogy - mean_term));
    return s;
}

}  // namespace treewise
