// Upper bound on the purity of any cut inside a bin, whatever the order of its rows.
//
// L and R are the statistics to the left and right of the bin B; a cut sends a part b of B to the left and the rest to
// the right. φ is the purity of a side (criteria/approx_impurity.hpp): convex and subadditive, φ(x + y) <= φ(x) + φ(y).
//
//   any criterion   φ(L + b) + φ(R + B − b) <= φ(L) + φ(R) + φ(b) + φ(B − b) <= φ(L) + φ(R) + Σ φ(row alone).
//                   The purity of a row alone is its weight (gini, error), 0 (entropy), its square about the mean
//                   (squared error).
//   two classes     b is a point of the box [0, others] × [0, ones]; φ(L + b) + φ(R + B − b) is convex in it, so the
//                   largest value is at a corner. Two corners are the bin's edges, which are scored anyway.
//   squared error   by Cauchy-Schwarz a part b of weight k has a sum within √(k·(w − k)/w·Q) <= √(w·Q)/2 of k/w of B's
//                   (w: its weight, Q: its squares about its own mean). So (weight, sum) lies in a strip with four
//                   corners, and the purity, convex in them, is largest at one.
//   poisson         the same strip; S·log(S/m) is convex, too.
//
// The gain ratio inside a bin is at most the largest gain over the smallest split information, which is concave in the
// weight on the left and so smallest at an edge of the bin (search/binned_column.hpp).

#pragma once

#include <algorithm>
#include <cmath>

#include "criteria/approx_impurity.hpp"

namespace treewise {

inline double bound_binary(const ApproxImpurity<TargetKind::binary>& approx, const int64_t* l, const int64_t* bin,
                           const int64_t* r) {
    const int64_t ones = bin[kCounts + 1], others = bin[kCounts];
    const auto side_purity = [&](const int64_t* stats_beside, int64_t more, int64_t more_ones) {
        const int64_t stats[] = {0, stats_beside[kWeight] + more, 0, stats_beside[kCounts + 1] + more_ones};
        return approx.purity(stats);
    };
    return std::max(side_purity(l, ones, ones) + side_purity(r, others, 0),
                    side_purity(l, others, 0) + side_purity(r, ones, ones));
}

// squares: at least Σ v²/weight over the rows of the bin.
inline double bound_squared_error(const ApproxImpurity<TargetKind::regression>& approx, const int64_t* l,
                                  const int64_t* bin, const int64_t* r, double squares) {
    const auto w = static_cast<double>(bin[kWeight]), s = static_cast<double>(bin[kQuantised]), mean = approx.mean();
    const double rounding = 0x1p-48 * (squares + std::abs(mean * s) + mean * mean * w + s * s / w);
    const double about_mean = std::max(0.0, squares - 2 * mean * s + mean * mean * w) + rounding;
    const double edge_bound = approx.purity(l) + approx.purity(r) + about_mean;
    if (l[kWeight] == 0 || r[kWeight] == 0) return edge_bound;
    const double within = std::max(0.0, squares - s * s / w) + rounding;
    const auto d = static_cast<int64_t>(std::sqrt(w * within) / 2) + 1;
    const int64_t weight = l[kWeight] + bin[kWeight] + r[kWeight],
                  sum = l[kQuantised] + bin[kQuantised] + r[kQuantised];
    const auto corner = [&](int64_t m, int64_t a) {
        constexpr Criterion C = Criterion::squared_error;
        return approx.template purity_regression<C>(m, a) + approx.template purity_regression<C>(weight - m, sum - a);
    };
    const int64_t m = l[kWeight], a = l[kQuantised], n = m + bin[kWeight], b = a + bin[kQuantised];
    return std::min(edge_bound, std::max({corner(m, a - d), corner(m, a + d), corner(n, b - d), corner(n, b + d)}));
}

// The part moved left, of weight k and sum s, lies in the strip of bound_squared_error; targets are not negative, so s
// increases with k; and at least one unit of weight stays on either side. Where that strip, cut off at both sums, has
// its corners, the purity, convex in (k, s), is largest.
inline double bound_poisson(const int64_t* l, const int64_t* bin, const int64_t* r, double squares) {
    const auto m = static_cast<double>(l[kWeight]), a = static_cast<double>(l[kQuantised]);
    const auto w = static_cast<double>(bin[kWeight]), s = static_cast<double>(bin[kQuantised]), b = a + s;
    const double weight = m + w + static_cast<double>(r[kWeight]), sum = b + static_cast<double>(r[kQuantised]);
    const double within = std::max(0.0, squares - s * s / w) + 0x1p-48 * (squares + s * s / w);
    const double d = std::sqrt(w * within) / 2 + 1, slope = s / w;
    const double first = m + 1, last = m + w - 1;
    const auto side = [](double k, double total) { return total > 0 ? total * std::log2(total / k) : 0.0; };
    const auto corner = [&](double k, double at) {
        const double weight_left = std::clamp(k, first, last), left = std::clamp(at, a, b);
        return side(weight_left, left) + side(weight - weight_left, std::max(0.0, sum - left));
    };
    const double at_b = s > 0 ? m + (s - d) / slope : first, at_a = s > 0 ? m + d / slope : last;
    return std::max({corner(first, a + slope - d), corner(first, a + slope + d), corner(last, b - slope - d),
                     corner(last, b - slope + d), corner(at_b, b), corner(at_a, a)});
}

template <TargetKind K>
double bound_bin(const ApproxImpurity<K>& approx, const int64_t* l, const int64_t* bin, const int64_t* r,
                 double squares) {
    if constexpr (K == TargetKind::binary) return bound_binary(approx, l, bin, r);
    if constexpr (K == TargetKind::regression)
        return approx.criterion() == Criterion::poisson ? bound_poisson(l, bin, r, squares)
                                                        : bound_squared_error(approx, l, bin, r, squares);
    const double rows_alone = approx.criterion() == Criterion::entropy ? 0.0 : static_cast<double>(bin[kWeight]);
    return approx.purity(l) + approx.purity(r) + rows_alone;
}

}  // namespace treewise
