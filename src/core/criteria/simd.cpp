// Loops over arrays, each also compiled for AVX2 where the compiler can choose at load time.

#include "criteria/simd.hpp"

#include <algorithm>
#include <bit>
#include <limits>

// Also compiled for AVX2 and selected at load time; the results do not depend on it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(TREEWISE_SANITIZED)
#define TREEWISE_SIMD __attribute__((target_clones("avx2", "default")))
#else
#define TREEWISE_SIMD
#endif

namespace treewise {

TREEWISE_SIMD Range32 range_of(const uint32_t* numbers, size_t n) {
    uint32_t low = ~0u, high = 0;
    for (size_t i = 0; i < n; ++i) low = std::min(low, numbers[i]), high = std::max(high, numbers[i]);
    return {low, high};
}

TREEWISE_SIMD KeyRange range_of(const int64_t* keys, size_t n) {
    constexpr int64_t kMissing = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
    int64_t low = kMissing, high = kLeast;
    for (size_t i = 0; i < n; ++i) low = std::min(low, keys[i]), high = std::max(high, keys[i]);
    if (high != kMissing) return {low, high, static_cast<int64_t>(n)};
    int64_t present = 0;
    high = kLeast;
    for (size_t i = 0; i < n; ++i) {
        const bool is_present = keys[i] != kMissing;
        present += is_present, high = std::max(high, is_present ? keys[i] : kLeast);
    }
    return {low, high, present};
}

TREEWISE_SIMD LeftSums sum_left(const int64_t* keys, size_t n, int64_t max_key, const int64_t* weight,
                                const int64_t* target) {
    int64_t rows = 0, weights = 0, targets = 0;
    for (size_t i = 0; i < n; ++i) {
        const int64_t mask = -int64_t{keys[i] <= max_key};
        rows -= mask, weights += weight[i] & mask, targets += target[i] & mask;
    }
    return {rows, weights, targets};
}

TREEWISE_SIMD size_t argmax(const double* numbers, size_t n) {
    constexpr size_t kLanes = 4;
    double max[kLanes];
    std::fill_n(max, kLanes, n ? numbers[0] : 0.0);
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (size_t k = 0; k < kLanes; ++k) max[k] = numbers[i + k] > max[k] ? numbers[i + k] : max[k];
    for (; i < n; ++i) max[0] = std::max(max[0], numbers[i]);
    const double largest = std::max(std::max(max[0], max[1]), std::max(max[2], max[3]));
    for (i = 0; i < n && numbers[i] != largest;) ++i;
    return i;
}

TREEWISE_SIMD void compute_ranks(int32_t* numbers, size_t n, int32_t* places) {
    const size_t padded = (n + 7) / 8 * 8;
    std::fill(numbers + n, numbers + padded, std::numeric_limits<int32_t>::max());
    for (size_t i = 0; i < n; ++i) {
        const int32_t number = numbers[i];
        int32_t n_smaller = 0;
        for (size_t j = 0; j < padded; ++j) n_smaller += numbers[j] < number;
        places[i] = n_smaller;
    }
}

TREEWISE_SIMD size_t find_either(const uint64_t* sets, size_t n, uint64_t one, uint64_t other) {
    uint64_t any = 0;
    for (size_t i = 0; i < n; ++i) any |= uint64_t{sets[i] == one} | uint64_t{sets[i] == other};
    size_t at = any ? 0 : n;
    while (at < n && sets[at] != one && sets[at] != other) ++at;
    return at;
}

TREEWISE_SIMD void count_bits(const uint64_t* sets, size_t n, const WeightBits& bits, int64_t* rows, double* weight,
                              double* ones) {
    for (size_t i = 0; i < n; ++i) {
        const uint64_t set = sets[i];
        int weight_sum = 0, ones_weight = 0;
        for (int k = 0; k < bits.n; ++k) {
            weight_sum += __builtin_popcountll(set & bits.weight[k]) << k;
            ones_weight += __builtin_popcountll(set & bits.ones[k]) << k;
        }
        rows[i] = __builtin_popcountll(set), weight[i] = weight_sum, ones[i] = ones_weight;
    }
}

TREEWISE_SIMD void purity_of_cuts_gini(const CutSweep& s, const double* inverse) {
    const double sum = s.sum, total = static_cast<double>(s.total),
                 left_weight = static_cast<double>(s.left_weight) + 1;
    if (s.weight) {  // a² + b² of a side equals m² − 2·a·m + 2·a²
        const double rest = total - 2 * sum;
        for (int64_t k = 0; k < s.n; ++k) {
            const double m = s.weight[k], a = s.prefix[k], c = sum - a;
            const double left = std::max(m, 1.0), right = std::max(total - m, 1.0);  // the purity of an empty side is 0
            s.out[k] = rest + 2 * (a * a * right + c * c * left) / (left * right);
        }
        return;
    }
    const double* left_reciprocal = inverse + s.left_weight + 1;
    const double* right_reciprocal = inverse + (s.total - s.left_weight - 1);
    for (int64_t k = 0; k < s.n; ++k) {
        const double m = left_weight + static_cast<double>(k), a = s.prefix[k], b = m - a;
        const double c = sum - a, d = (total - m) - c;
        s.out[k] = (a * a + b * b) * left_reciprocal[k] + (c * c + d * d) * right_reciprocal[-k];
    }
}

TREEWISE_SIMD void purity_of_cuts_entropy(const CutSweep& s, const double* nlogn) {
    const auto sum = static_cast<int32_t>(s.sum);
    const auto total = static_cast<int32_t>(s.total), left_weight = static_cast<int32_t>(s.left_weight) + 1;
    const auto purity = [&](int32_t m, int32_t a) {
        const int32_t c = sum - a, n = total - m;
        return nlogn[a] + nlogn[m - a] - nlogn[m] + nlogn[c] + nlogn[n - c] - nlogn[n];
    };
    if (s.weight) {
        for (int64_t k = 0; k < s.n; ++k)
            s.out[k] = purity(static_cast<int32_t>(s.weight[k]), static_cast<int32_t>(s.prefix[k]));
        return;
    }
    for (int64_t k = 0; k < s.n; ++k)
        s.out[k] = purity(left_weight + static_cast<int32_t>(k), static_cast<int32_t>(s.prefix[k]));
}

TREEWISE_SIMD void purity_of_cuts_error(const CutSweep& s) {
    const double total = static_cast<double>(s.total), left_weight = static_cast<double>(s.left_weight) + 1;
    for (int64_t k = 0; k < s.n; ++k) {
        const double m = s.weight ? s.weight[k] : left_weight + static_cast<double>(k), a = s.prefix[k], c = s.sum - a;
        s.out[k] = std::max(a, m - a) + std::max(c, total - m - c);
    }
}

namespace {

// log2 of a positive normal number: x = 2^e·m with m in [√½, √2), and log2 m = 2/ln 2·artanh((m − 1)/(m + 1)), whose
// series ends where its terms fall below 2^-45. Only operations that have a vector form.
inline double approx_log2(double x) {
    constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCDu, kOne = 0x3FF0000000000000u, kWide = 0x4330000000000000u;
    const auto bits = std::bit_cast<uint64_t>(x);
    const uint64_t exponent = (bits + (kOne - kRootHalf)) >> 52;  // biased by 1023
    const double m = std::bit_cast<double>(bits - (exponent << 52) + kOne);
    const double e = std::bit_cast<double>(exponent | kWide) - (0x1p52 + 1023);
    const double z = (m - 1) / (m + 1), q = z * z;
    double series = 1.0 / 17;
    series = series * q + 1.0 / 15, series = series * q + 1.0 / 13, series = series * q + 1.0 / 11;
    series = series * q + 1.0 / 9, series = series * q + 1.0 / 7, series = series * q + 1.0 / 5;
    series = series * q + 1.0 / 3, series = series * q + 1.0;
    return e + 2.885390081777926814719849362 * z * series;
}

}  // namespace

TREEWISE_SIMD void purity_of_cuts_poisson(const CutSweep& s) {
    const double total = static_cast<double>(s.total), left_weight = static_cast<double>(s.left_weight) + 1;
    const auto side = [](double sum, double weight) {
        const double positive = sum > 0 ? sum : weight;
        return (sum > 0 ? sum : 0.0) * approx_log2(positive / weight);
    };
    if (s.weight) {
        for (int64_t k = 0; k < s.n; ++k)
            s.out[k] = side(s.prefix[k], s.weight[k]) + side(s.sum - s.prefix[k], total - s.weight[k]);
        return;
    }
    for (int64_t k = 0; k < s.n; ++k) {
        const double m = left_weight + static_cast<double>(k);
        s.out[k] = side(s.prefix[k], m) + side(s.sum - s.prefix[k], total - m);
    }
}

TREEWISE_SIMD void purity_of_cuts_squared_error(const CutSweep& s, const double* inverse) {
    const double sum = s.sum, total = static_cast<double>(s.total);
    if (s.weight) {
        for (int64_t k = 0; k < s.n; ++k) {
            const double m = s.weight[k], a = s.prefix[k], c = sum - a;
            s.out[k] = a * a / m + c * c / (total - m);
        }
        return;
    }
    const double* left_reciprocal = inverse + s.left_weight + 1;
    const double* right_reciprocal = inverse + (s.total - s.left_weight - 1);
    for (int64_t k = 0; k < s.n; ++k) {
        const double a = s.prefix[k], c = sum - a;
        s.out[k] = a * a * left_reciprocal[k] + c * c * right_reciprocal[-k];
    }
}

}  // namespace treewise
