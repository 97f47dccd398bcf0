#include "optimal/stump_scan.hpp"

#include <bit>
#include <limits>

// Also compiled for AVX2 and selected at load time; the results do not depend on it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(TREEWISE_SANITIZED)
#define TREEWISE_SIMD __attribute__((target_clones("avx2", "default")))
#define TREEWISE_INLINE inline __attribute__((always_inline))
#else
#define TREEWISE_SIMD
#define TREEWISE_INLINE inline
#endif

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wpsabi"  // no vector crosses the boundary of this file
#endif

namespace treewise::optimal {
namespace {

template <class T>
struct VectorOf {
    typedef T type __attribute__((vector_size(32), may_alias));
};

template <class T>
TREEWISE_INLINE void join_lanes(const Lanes<T>& sum, const Lanes<T>& high, const Lanes<T>& low, Extremes& extremes) {
    int64_t before = 0;
    for (size_t j = 0; j < Lanes<T>::kCount; ++j) {
        if (high.lane[j] != std::numeric_limits<T>::min())
            extremes.include(before + high.lane[j], before + low.lane[j]);
        before += sum.lane[j];
    }
}

template <class T>
TREEWISE_INLINE void scan_lanes(const Lanes<T>* cut_rank, const Lanes<T>* sign, const Lanes<T>* is_end, size_t n, T cut,
                                Extremes& left, Extremes& right) {
    using V = typename VectorOf<T>::type;
    constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
    const V zero = {}, least = zero + kLeast, most = zero + kMost, bound = zero + cut;
    V left_sum = zero, right_sum = zero, left_high = least, right_high = least, left_low = most, right_low = most;
    for (size_t i = 0; i < n; ++i) {
        const V rank = *reinterpret_cast<const V*>(&cut_rank[i]), weight = *reinterpret_cast<const V*>(&sign[i]);
        const V end = *reinterpret_cast<const V*>(&is_end[i]);
        const V is_right = rank > bound;
        left_sum += weight & ~is_right, right_sum += weight & is_right;
        const V no_high = ~end & least, no_low = ~end & most;
        const V a = left_sum & end, b = right_sum & end;
        const V a_high = a | no_high, a_low = a | no_low, b_high = b | no_high, b_low = b | no_low;
        left_high = left_high > a_high ? left_high : a_high, left_low = left_low < a_low ? left_low : a_low;
        right_high = right_high > b_high ? right_high : b_high, right_low = right_low < b_low ? right_low : b_low;
    }
    const auto lanes = [](const V& v) { return std::bit_cast<Lanes<T>>(v); };
    join_lanes(lanes(left_sum), lanes(left_high), lanes(left_low), left);
    join_lanes(lanes(right_sum), lanes(right_high), lanes(right_low), right);
}

// The number of classes is a constant, so that the running sums can stay in registers.
template <class T, size_t kClasses>
TREEWISE_INLINE void scan_class_lanes(const Lanes<T>* cut_rank, const Lanes<T>* label, const Lanes<T>* weight,
                                      const Lanes<T>* is_end, size_t n, T cut, ClassSides& sides) {
    using V = typename VectorOf<T>::type;
    const V zero = {}, bound = zero + cut;
    V left[kClasses] = {}, right[kClasses] = {};
    for (size_t i = 0; i < n; ++i) {  // the sums of each lane
        const V is_right = *reinterpret_cast<const V*>(&cut_rank[i]) > bound;
        const V w = *reinterpret_cast<const V*>(&weight[i]), y = *reinterpret_cast<const V*>(&label[i]);
        for (size_t k = 0; k < kClasses; ++k) {
            const V own = (y == static_cast<T>(k)) & w;
            left[k] += own & ~is_right, right[k] += own & is_right;
        }
    }
    V left_total[kClasses], right_total[kClasses];
    for (size_t k = 0; k < kClasses; ++k) {  // where each lane begins
        Lanes<T> l = std::bit_cast<Lanes<T>>(left[k]), r = std::bit_cast<Lanes<T>>(right[k]);
        T left_sum = 0, right_sum = 0;
        for (size_t j = 0; j < Lanes<T>::kCount; ++j) {
            const T of_left = l.lane[j], of_right = r.lane[j];
            l.lane[j] = left_sum, r.lane[j] = right_sum;
            left_sum = static_cast<T>(left_sum + of_left), right_sum = static_cast<T>(right_sum + of_right);
        }
        left[k] = std::bit_cast<V>(l), right[k] = std::bit_cast<V>(r);
        left_total[k] = zero + left_sum, right_total[k] = zero + right_sum;
    }
    V best_left = zero, best_right = zero;
    for (size_t i = 0; i < n; ++i) {
        const V is_right = *reinterpret_cast<const V*>(&cut_rank[i]) > bound;
        const V w = *reinterpret_cast<const V*>(&weight[i]), y = *reinterpret_cast<const V*>(&label[i]);
        V most[4] = {};
        for (size_t k = 0; k < kClasses; ++k) {
            const V own = (y == static_cast<T>(k)) & w;
            left[k] += own & ~is_right, right[k] += own & is_right;
            const V a = left_total[k] - left[k], b = right_total[k] - right[k];
            most[0] = most[0] > left[k] ? most[0] : left[k], most[1] = most[1] > a ? most[1] : a;
            most[2] = most[2] > right[k] ? most[2] : right[k], most[3] = most[3] > b ? most[3] : b;
        }
        const V end = *reinterpret_cast<const V*>(&is_end[i]);
        const V l = (most[0] + most[1]) & end, r = (most[2] + most[3]) & end;
        best_left = best_left > l ? best_left : l, best_right = best_right > r ? best_right : r;
    }
    const Lanes<T> l = std::bit_cast<Lanes<T>>(best_left), r = std::bit_cast<Lanes<T>>(best_right);
    for (size_t j = 0; j < Lanes<T>::kCount; ++j) {
        sides.best_left = sides.best_left > l.lane[j] ? sides.best_left : l.lane[j];
        sides.best_right = sides.best_right > r.lane[j] ? sides.best_right : r.lane[j];
    }
}

template <class T>
TREEWISE_INLINE void scan_any_classes(const Lanes<T>* cut_rank, const Lanes<T>* label, const Lanes<T>* weight,
                                      const Lanes<T>* is_end, size_t n, T cut, ClassSides& sides) {
    switch (sides.n_classes) {
        case 3: return scan_class_lanes<T, 3>(cut_rank, label, weight, is_end, n, cut, sides);
        case 4: return scan_class_lanes<T, 4>(cut_rank, label, weight, is_end, n, cut, sides);
        case 5: return scan_class_lanes<T, 5>(cut_rank, label, weight, is_end, n, cut, sides);
        case 6: return scan_class_lanes<T, 6>(cut_rank, label, weight, is_end, n, cut, sides);
        case 7: return scan_class_lanes<T, 7>(cut_rank, label, weight, is_end, n, cut, sides);
        case 8: return scan_class_lanes<T, 8>(cut_rank, label, weight, is_end, n, cut, sides);
        default: return scan_class_lanes<T, kMaxScanned>(cut_rank, label, weight, is_end, n, cut, sides);
    }
}

template <class T>
TREEWISE_INLINE void add_row_lanes(const uint32_t* rows, size_t n, const T* sign, const Lanes<T>* bits, size_t stride,
                                   Lanes<T>* sum) {
    using V = typename VectorOf<T>::type;
    constexpr size_t kBlock = 8;
    for (size_t first = 0; first < stride; first += kBlock) {
        const size_t width = stride - first < kBlock ? stride - first : kBlock;
        V sums[kBlock] = {};
        if (width == kBlock) {
            for (size_t i = 0; i < n; ++i) {
                const V* row = reinterpret_cast<const V*>(&bits[rows[i] * stride + first]);
                const V weight = V{} + sign[rows[i]];
                for (size_t b = 0; b < kBlock; ++b) sums[b] += row[b] & weight;
            }
        } else {
            for (size_t i = 0; i < n; ++i) {
                const V* row = reinterpret_cast<const V*>(&bits[rows[i] * stride + first]);
                const V weight = V{} + sign[rows[i]];
                for (size_t b = 0; b < width; ++b) sums[b] += row[b] & weight;
            }
        }
        for (size_t b = 0; b < width; ++b) sum[first + b] = std::bit_cast<Lanes<T>>(sums[b]);
    }
}

}  // namespace

#define TREEWISE_SCANS(T)                                                                                            \
    TREEWISE_SIMD void scan(const Lanes<T>* cut_rank, const Lanes<T>* sign, const Lanes<T>* is_end, size_t n, T cut, \
                            Extremes& left, Extremes& right) {                                                       \
        scan_lanes(cut_rank, sign, is_end, n, cut, left, right);                                                     \
    }                                                                                                                \
    TREEWISE_SIMD void add_rows(const uint32_t* rows, size_t n, const T* sign, const Lanes<T>* bits, size_t stride,  \
                                Lanes<T>* sum) {                                                                     \
        add_row_lanes(rows, n, sign, bits, stride, sum);                                                             \
    }
#define TREEWISE_CLASS_SCANS(T)                                                                              \
    TREEWISE_SIMD void scan_classes(const Lanes<T>* cut_rank, const Lanes<T>* label, const Lanes<T>* weight, \
                                    const Lanes<T>* is_end, size_t n, T cut, ClassSides& sides) {            \
        scan_any_classes(cut_rank, label, weight, is_end, n, cut, sides);                                    \
    }
TREEWISE_CLASS_SCANS(int16_t)
TREEWISE_CLASS_SCANS(int32_t)
TREEWISE_SCANS(int16_t)
TREEWISE_SCANS(int32_t)
TREEWISE_SCANS(int64_t)

TREEWISE_SIMD int64_t count_difference(const uint64_t* set, const uint64_t* other, size_t n_words) {
    int64_t count = 0;
    for (size_t i = 0; i < n_words; ++i) count += std::popcount(set[i] & ~other[i]);
    return count;
}

}  // namespace treewise::optimal
