// Exact arithmetic for the criteria: 128-bit integers and fixed-point logarithms.
//
// train/criteria.py has the readable versions (log2_fixed, nlogn). Both perform the same integer steps, so both
// languages and every compiler produce the same bits; no library logarithm is called.

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace treewise {

using int128 = __int128;
using uint128 = unsigned __int128;

inline constexpr int kFraction = 61;      // fractional bits …
inline constexpr double kUnit = 0x1p-61;  // … and the value of one unit

// x·2^exponent, equal to std::ldexp; one multiplication where the power of two is itself a normal double.
inline double scale_pow2(double x, int exponent) {
    constexpr int kBias = 1023;
    if (exponent <= -kBias || exponent > kBias) return std::ldexp(x, exponent);
    return x * std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << 52);
}

inline int bit_length(uint128 x) {
    const auto high = static_cast<uint64_t>(x >> 64);
    return high ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<uint64_t>(x));
}

inline int128 floor_div(int128 a, int128 b) {
    const int128 q = a / b;
    return (q * b != a && (a < 0) != (b < 0)) ? q - 1 : q;
}

// The fractional bits of log2(n). Normalise n to x in [1, 2) with 63 bits; squaring x doubles its logarithm, and
// whether x^2 reaches 2 is the next bit of the answer.
inline uint64_t log2_fraction(uint64_t n) {
    uint64_t x = n << std::countl_zero(n);
    uint64_t bits = 0;
    for (int i = 0; i < kFraction; ++i) {
        uint128 square = (static_cast<uint128>(x) * x) >> 63;
        bits <<= 1;
        if (square >> 64) {
            bits |= 1;
            square >>= 1;
        }
        x = static_cast<uint64_t>(square);
    }
    return bits;
}
// log2(n) in units of 2^-61, rounded down.
inline int128 log2_fixed(uint64_t n, uint64_t fraction) {
    return (static_cast<int128>(63 - std::countl_zero(n)) << kFraction) | fraction;
}
inline int128 log2_fixed(uint64_t n) { return log2_fixed(n, log2_fraction(n)); }

// n·log2(n) in units of 2^-61, with 0·log 0 = 0. Row counts are small and recur, so results are cached.
class NLogN {
public:
    using Table = std::vector<int128>;

    // table: from `make_table`, owned by the caller and shared by several threads.
    explicit NLogN(uint64_t expected, const Table* table = nullptr) : size_(size_for(expected)), table_(table) {}
    static Table make_table(uint64_t expected) {
        Table table(size_for(expected), 0);
        for (uint64_t n = 2; n < table.size(); ++n) table[n] = static_cast<int128>(n) * log2_fixed(n);
        return table;
    }

    int128 operator()(int64_t n) {
        const auto u = static_cast<uint64_t>(n);
        if (u < 2) return 0;
        if (table_ && u < table_->size()) return (*table_)[u];
        if (u >= size_) return static_cast<int128>(n) * log2_fixed(u);
        if (cache_.empty()) cache_.resize(size_, 0);  // allocated lazily: not every criterion needs logarithms
        if (cache_[u] == 0) cache_[u] = static_cast<int128>(n) * log2_fixed(u);
        return cache_[u];
    }

private:
    static constexpr uint64_t kMaxTableSize = 1 << 16;
    static uint64_t size_for(uint64_t expected) { return expected < kMaxTableSize ? expected + 1 : kMaxTableSize; }
    uint64_t size_;
    const Table* table_;
    std::vector<int128> cache_;
};

}  // namespace treewise
