#include "criteria/simd.hpp"

#include <algorithm>
#include <limits>

// Compiled for newer processors too; which is taken is decided when the module is loaded. No result depends on it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(TREEWISE_SANITIZED)
#define TREEWISE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define TREEWISE_VECTORS
#endif

namespace treewise {

TREEWISE_VECTORS Range32 range_of(const uint32_t* numbers, size_t n) {
    uint32_t low = ~0u, high = 0;
    for (size_t i = 0; i < n; ++i) low = std::min(low, numbers[i]), high = std::max(high, numbers[i]);
    return {low, high};
}

TREEWISE_VECTORS KeyRange range_of(const int64_t* keys, size_t n) {
    constexpr int64_t kGone = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
    int64_t low = kGone, high = kLeast;
    for (size_t i = 0; i < n; ++i) low = std::min(low, keys[i]), high = std::max(high, keys[i]);
    if (high != kGone) return {low, high, static_cast<int64_t>(n)};
    int64_t present = 0;
    high = kLeast;
    for (size_t i = 0; i < n; ++i) {
        const bool here = keys[i] != kGone;
        present += here, high = std::max(high, here ? keys[i] : kLeast);
    }
    return {low, high, present};
}

TREEWISE_VECTORS UpTo count_up_to(const int64_t* keys, size_t n, int64_t most, const int64_t* weight,
                                  const int64_t* load) {
    int64_t rows = 0, weights = 0, loads = 0;
    for (size_t i = 0; i < n; ++i) {
        const int64_t mask = -int64_t{keys[i] <= most};
        rows -= mask, weights += weight[i] & mask, loads += load[i] & mask;
    }
    return {rows, weights, loads};
}

TREEWISE_VECTORS size_t first_largest(const double* numbers, size_t n) {
    constexpr size_t kLanes = 4;
    double most[kLanes];
    std::fill_n(most, kLanes, n ? numbers[0] : 0.0);
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        for (size_t k = 0; k < kLanes; ++k) most[k] = numbers[i + k] > most[k] ? numbers[i + k] : most[k];
    for (; i < n; ++i) most[0] = std::max(most[0], numbers[i]);
    const double largest = std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
    for (i = 0; i < n && numbers[i] != largest;) ++i;
    return i;
}

TREEWISE_VECTORS void count_before(int32_t* numbers, size_t n, int32_t* places) {
    const size_t padded = (n + 7) / 8 * 8;
    std::fill(numbers + n, numbers + padded, std::numeric_limits<int32_t>::max());
    for (size_t i = 0; i < n; ++i) {
        const int32_t here = numbers[i];
        int32_t before = 0;
        for (size_t j = 0; j < padded; ++j) before += numbers[j] < here;
        places[i] = before;
    }
}

TREEWISE_VECTORS size_t find_either(const uint64_t* sets, size_t n, uint64_t one, uint64_t other) {
    uint64_t any = 0;
    for (size_t i = 0; i < n; ++i) any |= uint64_t{sets[i] == one} | uint64_t{sets[i] == other};
    size_t at = any ? 0 : n;
    while (at < n && sets[at] != one && sets[at] != other) ++at;
    return at;
}

TREEWISE_VECTORS void count_sets(const uint64_t* sets, size_t n, const WeightBits& bits, int64_t* rows, double* weight,
                                 double* ones) {
    for (size_t i = 0; i < n; ++i) {
        const uint64_t set = sets[i];
        int all = 0, of_them = 0;
        for (int k = 0; k < bits.n; ++k) {
            all += __builtin_popcountll(set & bits.weight[k]) << k;
            of_them += __builtin_popcountll(set & bits.ones[k]) << k;
        }
        rows[i] = __builtin_popcountll(set), weight[i] = all, ones[i] = of_them;
    }
}

TREEWISE_VECTORS void sweep_gini(const Sweep& s, const double* inverse) {
    const double sum = s.sum, all = static_cast<double>(s.all), before = static_cast<double>(s.before) + 1;
    if (s.weight) {  // a² + b² of a side is m² − 2·a·m + 2·a²
        const double rest = all - 2 * sum;
        for (int64_t k = 0; k < s.n; ++k) {
            const double m = s.weight[k], a = s.prefix[k], c = sum - a;
            const double here = std::max(m, 1.0), there = std::max(all - m, 1.0);  // an empty side scores 0
            s.out[k] = rest + 2 * (a * a * there + c * c * here) / (here * there);
        }
        return;
    }
    const double* here = inverse + s.before + 1;
    const double* there = inverse + (s.all - s.before - 1);
    for (int64_t k = 0; k < s.n; ++k) {
        const double m = before + static_cast<double>(k), a = s.prefix[k], b = m - a;
        const double c = sum - a, d = (all - m) - c;
        s.out[k] = (a * a + b * b) * here[k] + (c * c + d * d) * there[-k];
    }
}

TREEWISE_VECTORS void sweep_entropy(const Sweep& s, const double* nlogn) {
    const auto sum = static_cast<int32_t>(s.sum);
    const auto all = static_cast<int32_t>(s.all), before = static_cast<int32_t>(s.before) + 1;
    const auto score = [&](int32_t m, int32_t a) {
        const int32_t c = sum - a, n = all - m;
        return nlogn[a] + nlogn[m - a] - nlogn[m] + nlogn[c] + nlogn[n - c] - nlogn[n];
    };
    if (s.weight) {
        for (int64_t k = 0; k < s.n; ++k)
            s.out[k] = score(static_cast<int32_t>(s.weight[k]), static_cast<int32_t>(s.prefix[k]));
        return;
    }
    for (int64_t k = 0; k < s.n; ++k)
        s.out[k] = score(before + static_cast<int32_t>(k), static_cast<int32_t>(s.prefix[k]));
}

TREEWISE_VECTORS void sweep_error(const Sweep& s) {
    const double all = static_cast<double>(s.all), before = static_cast<double>(s.before) + 1;
    for (int64_t k = 0; k < s.n; ++k) {
        const double m = s.weight ? s.weight[k] : before + static_cast<double>(k), a = s.prefix[k], c = s.sum - a;
        s.out[k] = std::max(a, m - a) + std::max(c, all - m - c);
    }
}

TREEWISE_VECTORS void sweep_squares(const Sweep& s, const double* inverse) {
    const double sum = s.sum, all = static_cast<double>(s.all);
    if (s.weight) {
        for (int64_t k = 0; k < s.n; ++k) {
            const double m = s.weight[k], a = s.prefix[k], c = sum - a;
            s.out[k] = a * a / m + c * c / (all - m);
        }
        return;
    }
    const double* here = inverse + s.before + 1;
    const double* there = inverse + (s.all - s.before - 1);
    for (int64_t k = 0; k < s.n; ++k) {
        const double a = s.prefix[k], c = sum - a;
        s.out[k] = a * a * here[k] + c * c * there[-k];
    }
}

}  // namespace treewise
