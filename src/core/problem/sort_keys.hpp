// Sort keys: cells as int64 whose order is the order of the values, whatever the column type; missing sorts last.
//
//     double   its bits, transformed so that they compare as integers (−0.0 becomes 0.0)
//     int64    value − 1 (the smallest integer is reserved for missing, so this cannot overflow)
//     code     itself
//
// Engines sort, compare and derive thresholds from keys alone, independent of the column type.

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "problem/problem.hpp"

namespace treewise {

inline constexpr int64_t kMissingKey = std::numeric_limits<int64_t>::max();

inline int64_t key_of(double value) {
    if (is_missing(value)) return kMissingKey;
    const auto bits = std::bit_cast<int64_t>(value + 0.0);
    return bits >= 0 ? bits : bits ^ std::numeric_limits<int64_t>::max();
}
inline int64_t key_of(float value) { return key_of(static_cast<double>(value)); }
inline int64_t key_of(int64_t value) { return is_missing(value) ? kMissingKey : value - 1; }
inline int64_t key_of(int32_t code) { return code < 0 ? kMissingKey : code; }

inline double key_to_double(int64_t key) {
    return std::bit_cast<double>(key >= 0 ? key : key ^ std::numeric_limits<int64_t>::max());
}
inline int64_t key_to_int(int64_t key) { return key + 1; }

int64_t key_of(const Column& column, uint32_t row);
void read_keys(const Column& column, std::span<const uint32_t> rows, int64_t* out);
bool is_splittable(const Column& column, std::span<const uint32_t> rows);  // whether the keys differ

}  // namespace treewise
