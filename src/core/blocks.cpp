#include "blocks.hpp"

#include <algorithm>

// Compiled for newer processors too; which is taken is decided when the module is loaded. No result depends on it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(TREEWISE_SANITIZED)
#define TREEWISE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define TREEWISE_VECTORS
#endif

namespace treewise {

TREEWISE_VECTORS void sweep_gini(const Sweep& s, const double* inverse) {
    const double* here = inverse + s.before + 1;
    const double* there = inverse + (s.rows - s.before - 1);
    const double sum = s.sum, rows = static_cast<double>(s.rows), before = static_cast<double>(s.before) + 1;
    for (int64_t k = 0; k < s.n; ++k) {
        const double m = before + static_cast<double>(k), a = s.prefix[k], b = m - a;
        const double c = sum - a, d = (rows - m) - c;
        s.out[k] = (a * a + b * b) * here[k] + (c * c + d * d) * there[-k];
    }
}

TREEWISE_VECTORS void sweep_entropy(const Sweep& s, const double* nlogn) {
    const auto sum = static_cast<int32_t>(s.sum);
    const auto rows = static_cast<int32_t>(s.rows), before = static_cast<int32_t>(s.before) + 1;
    for (int64_t k = 0; k < s.n; ++k) {
        const int32_t m = before + static_cast<int32_t>(k), a = static_cast<int32_t>(s.prefix[k]), c = sum - a,
                      n = rows - m;
        s.out[k] = nlogn[a] + nlogn[m - a] - nlogn[m] + nlogn[c] + nlogn[n - c] - nlogn[n];
    }
}

TREEWISE_VECTORS void sweep_error(const Sweep& s) {
    const double rows = static_cast<double>(s.rows), before = static_cast<double>(s.before) + 1;
    for (int64_t k = 0; k < s.n; ++k) {
        const double m = before + static_cast<double>(k), a = s.prefix[k], c = s.sum - a;
        s.out[k] = std::max(a, m - a) + std::max(c, rows - m - c);
    }
}

TREEWISE_VECTORS void sweep_squares(const Sweep& s, const double* inverse) {
    const double* here = inverse + s.before + 1;
    const double* there = inverse + (s.rows - s.before - 1);
    const double sum = s.sum;
    for (int64_t k = 0; k < s.n; ++k) {
        const double a = s.prefix[k], c = sum - a;
        s.out[k] = a * a * here[k] + c * c * there[-k];
    }
}

}  // namespace treewise
