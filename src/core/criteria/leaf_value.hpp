// FindBestPrediction: what a node says of its rows once they are on a side (criteria/exact_impurity.hpp): prediction,
// impurity, spread.
//
// Figures for people and files, not for decisions; still computed from integers, so that they do not depend on the
// order of rows.

#pragma once

#include <cmath>
#include <concepts>

#include "criteria/exact_impurity.hpp"

namespace treewise {

struct Summary {
    int32_t label = -1;
    double value = std::numeric_limits<double>::quiet_NaN();
    double impurity = 0.0;  // per unit of weight
    double spread = 0.0;
};

template <class Side>
    requires std::derived_from<Side, Counts>
Summary summarise(const Side& side, const Desk& desk, const uint32_t*, const uint32_t*) {
    Summary s;
    int64_t most = -1;
    for (int32_t c : side.seen()) {  // the largest class, the first of equals
        const int64_t count = side.counts()[c];
        if (count > most || (count == most && c < s.label)) most = count, s.label = c;
    }
    s.impurity = static_cast<double>(side.total()) * desk.worth / static_cast<double>(side.weight);
    return s;
}

// Variance about the mean, as square·4^exponent: the standard deviation is a double also where its square is past them.
struct Variance {
    double square;
    int exponent;
    double value() const { return scaled(square, 2 * exponent); }
    double deviation() const { return scaled(std::sqrt(square), exponent); }
};

// Deviations are cut to so many bits that their weighted squares add up in 128.
inline Variance variance(const Desk& desk, int128 sum, int64_t weight, const uint32_t* first, const uint32_t* last) {
    if (desk.low == desk.high) return {0.0, 0};
    const int128 mean = floor_div(sum, weight);
    const int room = (126 - bit_length(static_cast<uint128>(weight))) / 2;
    const auto range = static_cast<int128>(desk.high) - desk.low + 1;
    const int shift = std::max(0, bit_length(static_cast<uint128>(range)) - room);
    int128 squares = 0, deviations = 0;
    for (const uint32_t* row = first; row != last; ++row) {
        const auto d = static_cast<int64_t>((desk.y[*row] - mean) >> shift);  // room is 62 bits at most
        const int128 weighed = static_cast<int128>(desk.target.weight[*row]) * d;
        squares += weighed * d, deviations += weighed;
    }
    const double w = static_cast<double>(weight), off = static_cast<double>(deviations) / w;
    const double v = std::max(0.0, static_cast<double>(squares) / w - off * off);
    return {v, shift - desk.scale};
}

inline double mean_of(const Desk& desk, int128 sum, int64_t weight) {
    return scaled(static_cast<double>(sum) / static_cast<double>(weight), -desk.scale);
}

inline Summary summarise(const SquaredSide& side, const Desk& desk, const uint32_t* first, const uint32_t* last) {
    Summary s;
    s.value = mean_of(desk, side.sum, side.weight);
    const Variance v = variance(desk, side.sum, side.weight, first, last);
    s.impurity = v.value();
    s.spread = v.deviation();
    return s;
}

inline Summary summarise(const AbsoluteSide& side, const Desk& desk, const uint32_t* first, const uint32_t* last) {
    Summary s;
    const auto [low, high] = side.medians();
    s.value = scaled(static_cast<double>(low) / 2 + static_cast<double>(high) / 2, -desk.scale);
    s.impurity = scaled(static_cast<double>(side.total()) / static_cast<double>(side.weight), -desk.scale);
    s.spread = variance(desk, side.sum, side.weight, first, last).deviation();
    return s;
}

// Half the mean Poisson deviance: (Σ y·log y)/m − mean·log mean, in nats.
inline Summary summarise(const PoissonSide& side, const Desk& desk, const uint32_t* first, const uint32_t* last) {
    constexpr double kLn2 = 0.6931471805599453;
    Summary s;
    s.value = mean_of(desk, side.sum, side.weight);
    s.spread = variance(desk, side.sum, side.weight, first, last).deviation();
    if (side.sum <= 0) return s;
    const auto scale = static_cast<int128>(desk.scale) << kFraction;
    // Σ w·y·log2 y: y is cut to 53 bits, and each term to what leaves room for the sum.
    const auto magnitude = [&](int64_t y) {
        const int128 log = log2_fixed(static_cast<uint64_t>(y)) - scale;
        return log < 0 ? -log : log;
    };
    const int spare = std::max(0, bit_length(static_cast<uint128>(desk.high)) - 53);
    const int128 largest = (desk.high >> spare) * (std::max(magnitude(desk.high), magnitude(1)) + 1);
    const int down =
        std::max(0, bit_length(static_cast<uint128>(largest)) + bit_length(static_cast<uint128>(side.weight)) - 125);
    int128 terms = 0;
    for (const uint32_t* row = first; row != last; ++row) {
        const int64_t y = desk.y[*row];
        if (y <= 0) continue;
        terms += desk.target.weight[*row] * (((y >> spare) * (log2_fixed(static_cast<uint64_t>(y)) - scale)) >> down);
    }
    const int cut = std::max(0, bit_length(static_cast<uint128>(side.sum)) - 62);
    const int128 log_mean = log2_fixed(static_cast<uint64_t>(side.sum >> cut)) +
                            (static_cast<int128>(cut) << kFraction) - log2_fixed(static_cast<uint64_t>(side.weight)) -
                            scale;
    const double m = static_cast<double>(side.weight);
    const double ylogy = scaled(static_cast<double>(terms) / m, spare + down - kFraction - desk.scale);
    const double of_mean = s.value * scaled(static_cast<double>(log_mean), -kFraction);
    s.impurity = std::max(0.0, kLn2 * (ylogy - of_mean));
    return s;
}

}  // namespace treewise
