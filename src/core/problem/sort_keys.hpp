// A column's cells as ordered integers: whatever the type, a smaller value has a smaller key, and missing comes last.
//
//     3.5   →  its 64 bits, turned so that integers compare as the doubles do (−0.0 is 0.0)
//     int   →  itself, less one (the smallest integer stands for missing, so there is room)
//     code  →  itself
//
// The kernel sorts, compares and finds thresholds by keys alone and never asks what kind of column it looks at.

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
bool is_splittable(const Column& column, std::span<const uint32_t> rows);  // whether not all keys are the same

}  // namespace treewise
