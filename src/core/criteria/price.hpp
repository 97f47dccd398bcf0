// The price of a test under selection "priced": the bits it takes to name it among its column's tests, in the units of
// a node's scores. train/price.py is the specification and says why; both perform the same integer steps.

#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "criteria/exact_impurity.hpp"

namespace treewise {

inline constexpr int64_t kFreeBits = 4;
inline constexpr int64_t kMaxBitsPerRow = 8;

// Bits that a test of a kind pays; n_levels: levels it tells apart; classes: at the node, 0 for regression.
inline int64_t naming_bits(const Settings& settings, SplitKind kind, size_t n_levels, int64_t classes) {
    if (settings.selection != Selection::priced) return 0;
    const auto n = static_cast<int64_t>(n_levels);
    int64_t bits = 0;
    if (kind == kSubset && !settings.random_cuts) bits = n - 1;  // a random set is the only one that competes
    if (kind == kMultiway) bits = (n - 2) * std::max<int64_t>(1, classes - 1);
    return std::max<int64_t>(0, bits - kFreeBits);
}

// Whether levels with fewer than min_level_rows rows are pooled for tests of this kind.
inline bool pools_rare_levels(const Settings& settings, const Column& column, SplitKind kind) {
    constexpr int64_t kFewLevels = 10;
    return settings.min_level_rows > 1 && column.n_levels > kFewLevels &&
           (kind == kOneValue || kind == kSubset || kind == kMultiway);
}

// 2^(1/2), 2^(1/4), … in units of 2^-62, rounded down.
inline constexpr auto kRootsOfTwo = [] {
    std::array<uint64_t, kFraction> roots{};
    uint128 previous = uint128{2} << (kFraction + 1);
    for (uint64_t& root : roots) {
        const uint128 square = previous << (kFraction + 1);
        uint64_t r = 0;
        for (int bit = 63; bit >= 0; --bit) {
            const uint64_t next = r | uint64_t{1} << bit;
            if (static_cast<uint128>(next) * next <= square) r = next;
        }
        previous = root = r;
    }
    return roots;
}();

// 2^(numerator / denominator), below 4, in units of 2^-61.
inline uint64_t exp2_fixed(int64_t numerator, int64_t denominator) {
    const int64_t whole = numerator / denominator;
    const auto fraction = static_cast<uint64_t>((static_cast<uint128>(numerator % denominator) << kFraction) /
                                                static_cast<uint128>(denominator));
    uint64_t product = uint64_t{1} << (kFraction + 1);
    for (int place = 1; place <= kFraction; ++place) {
        if (fraction >> (kFraction - place) & 1)
            product = static_cast<uint64_t>(
                static_cast<uint128>(product) * kRootsOfTwo[static_cast<size_t>(place - 1)] >> (kFraction + 1));
    }
    return static_cast<uint64_t>((static_cast<uint128>(product) << whole) >> 1);
}

// What a test pays: subtracted from its gain, or for squared and absolute error, the share by which the impurity that
// is left grows, in units of 2^-61.
struct Price {
    int64_t bits = 0;
    int128 amount = 0;
    uint64_t growth = 0;
};

template <class Impurity>
class NodePrice {
public:
    // rows: of the node; read for squared error only.
    void begin_node(const Impurity& node, NodeContext& node_context, std::span<const uint32_t> rows) {
        rows_ = node.rows, weight_ = node.weight, impurity_ = node.total_impurity();
        classes_ = 0, entropy_ = 0;
        if constexpr (kClasses) {
            entropy_ = node_context.nlogn(weight_);
            for (int32_t c : node.classes()) {
                entropy_ -= node_context.nlogn(node.counts()[static_cast<size_t>(c)]);
                classes_ += node.counts()[static_cast<size_t>(c)] > 0;
            }
        } else if constexpr (kNormal) {
            impurity_ += sum_of_squares(node, node_context, rows);
        }
        poisson_shift_ = node_context.scale - node_context.shift;
    }
    int64_t classes() const { return classes_; }

    Price price(int64_t bits) const {
        Price p;
        if ((p.bits = bits) == 0) return p;
        if constexpr (kNormal || kLaplace)
            p.growth = exp2_fixed(kNormal ? 2 * bits : bits, rows_) - (uint64_t{1} << kFraction);
        else
            p.amount = amount(bits);
        return p;
    }
    // Turns a gain and its tolerance into the score and its tolerance.
    void subtract_price(const Price& price, int128& score, int128& tolerance) const {
        if (price.bits == 0) return;
        if constexpr (kNormal || kLaplace) {
            score -= multiply(std::max<int128>(0, impurity_ - score), price.growth);
            tolerance = 4 * tolerance + (tolerance > 0);
        } else {
            score -= price.amount;
        }
    }

private:
    static constexpr bool kClasses = std::derived_from<Impurity, ClassImpurity>,
                          kNormal = std::same_as<Impurity, SquaredErrorImpurity>,
                          kLaplace = std::same_as<Impurity, AbsoluteErrorImpurity>,
                          kPoisson = std::same_as<Impurity, PoissonImpurity>;

    // floor(a·b / 2^61) for a >= 0 and b below 2^67.
    static int128 multiply(int128 a, uint128 b) {
        constexpr uint128 kMask = (uint128{1} << kFraction) - 1;
        const auto high = static_cast<uint128>(a) >> kFraction, low = static_cast<uint128>(a) & kMask;
        return static_cast<int128>(high * b + (low * b >> kFraction));
    }
    int128 amount(int64_t bits) const {
        const int128 weighted =
            std::min(bits, kMaxBitsPerRow * rows_) * ((static_cast<int128>(weight_) << kFraction) / rows_);
        if constexpr (std::same_as<Impurity, EntropyImpurity>) return weighted;
        if constexpr (kPoisson) {
            constexpr int128 kLargest = int128{1} << 125;
            if (poisson_shift_ < 0) return poisson_shift_ < -126 ? 0 : weighted >> -poisson_shift_;
            return bit_length(static_cast<uint128>(weighted)) + poisson_shift_ > 125 ? kLargest
                                                                                     : weighted << poisson_shift_;
        }
        // The share weighted / entropy in units of 2^-61, at most 64, by long division.
        uint128 share = static_cast<uint128>(weighted / entropy_);
        int128 rest = weighted % entropy_;
        if (share >= 64) return multiply(impurity_, uint128{64} << kFraction);
        for (int i = 0; i < kFraction; ++i) {
            rest <<= 1, share <<= 1;
            if (rest >= entropy_) rest -= entropy_, ++share;
        }
        return multiply(impurity_, share);
    }
    // Σ w·(y − mean)² in the units of the node's totals, which leave it out. Deviations are truncated so that it fits.
    static int128 sum_of_squares(const Impurity& node, const NodeContext& node_context,
                                 std::span<const uint32_t> rows) {
        const int128 mean = floor_div(node.sum, node.weight);
        const auto range = static_cast<int128>(node_context.high) - node_context.low + 1;
        const int max_bits = (126 - bit_length(static_cast<uint128>(node.weight))) / 2;
        const int shift = std::max(0, bit_length(static_cast<uint128>(range)) - max_bits);
        int128 squares = 0;
        for (uint32_t row : rows) {
            const auto d = static_cast<int64_t>((node_context.y[row] - mean) >> shift);
            squares += static_cast<int128>(node_context.target.weight[row]) * d * d;
        }
        const int exponent = 2 * (shift - node_context.shift) + node_context.fraction;
        return exponent >= 0 ? squares << exponent : squares >> -exponent;
    }

    int64_t rows_ = 0, weight_ = 0, classes_ = 0;
    int128 impurity_ = 0;  // of the node, nothing left out
    int128 entropy_ = 0;   // classification: total entropy of the node
    int poisson_shift_ = 0;
};

}  // namespace treewise
