// Statistics of a set of rows as flat integer vectors: exact, order-independent, added and subtracted elementwise.
//
//     classification   rows  weight  weight of class 0, 1, 2, …
//     regression       rows  weight  Σ w·y in four limbs  Σ v
//
// where v is the quantised target, whose sums fit 64 bits (criteria/approx_impurity.hpp: Quantiser).
// criteria/exact_impurity.hpp and criteria/approx_impurity.hpp derive impurities from them.

#pragma once

#include <cstdint>
#include <vector>

#include "util/fixed_point.hpp"

namespace treewise {

inline constexpr size_t kRows = 0, kWeight = 1, kCounts = 2, kLimbs = 2, kQuantised = 6;

inline size_t stats_width(int64_t n_classes) {
    return n_classes ? kCounts + static_cast<size_t>(n_classes) : kQuantised + 1;
}

using RowStats = std::vector<int64_t>;

inline void add(int64_t* stats, const int64_t* other, size_t width) {
    for (size_t i = 0; i < width; ++i) stats[i] += other[i];
}
inline void sub(int64_t* stats, const int64_t* other, size_t width) {
    for (size_t i = 0; i < width; ++i) stats[i] -= other[i];
}

// Σ w·y exceeds 64 bits: four limbs of 31 bits, which can be added up for 2^32 rows without carrying.
inline constexpr int kLimbBits = 31;
inline void add_sum(int64_t* limbs, int128 sum) {
    constexpr int64_t kMask = (int64_t{1} << kLimbBits) - 1;
    limbs[0] += static_cast<int64_t>(sum) & kMask;
    limbs[1] += static_cast<int64_t>(sum >> kLimbBits) & kMask;
    limbs[2] += static_cast<int64_t>(sum >> (2 * kLimbBits)) & kMask;
    limbs[3] += static_cast<int64_t>(sum >> (3 * kLimbBits));
}
inline void add_product(int64_t* limbs, int64_t weight, int64_t y) { add_sum(limbs, static_cast<int128>(weight) * y); }
inline int128 target_sum(const int64_t* stats) {
    int128 sum = 0;
    for (size_t i = 4; i-- > 0;) sum = sum * (int128{1} << kLimbBits) + stats[kLimbs + i];
    return sum;
}

}  // namespace treewise
