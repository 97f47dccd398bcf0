// Input of the core: columns as arrays, an integer target, integer weights, and the settings (problem/settings.hpp).
//
// train/grow.py prepares them and bind/bind_grow.cpp fills them in without copying. Nothing here owns the caller's
// memory.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "problem/settings.hpp"

namespace treewise {

// Split kinds and stop reasons with their names and numbers in model files; tests compare them with tree/arrays.py.

// X(enumerator, number, name). The order is the preference among equal gains; a presence test comes last in its column
// and is stored as one of the other kinds.
#define TREEWISE_SPLIT_KINDS(X)   \
    X(kLeaf, 0, "leaf")           \
    X(kThreshold, 1, "threshold") \
    X(kOrdinal, 2, "ordinal")     \
    X(kOneValue, 3, "one_value")  \
    X(kSubset, 4, "subset")       \
    X(kMultiway, 5, "multiway")   \
    X(kPresence, 6, "presence")

// X(enumerator, number, name), in order of precedence. kNone: the node is not a leaf.
#define TREEWISE_STOP_REASONS(X)                        \
    X(kNone, 0, "")                                     \
    X(kNoRows, 1, "no_rows")                            \
    X(kPure, 2, "pure")                                 \
    X(kSufficientAccuracy, 3, "sufficient_accuracy")    \
    X(kMaxDepth, 4, "max_depth")                        \
    X(kMinSamplesSplit, 5, "min_samples_split")         \
    X(kNotSignificant, 18, "not_significant")           \
    X(kNoCandidate, 6, "no_candidate")                  \
    X(kMinSamplesLeaf, 7, "min_samples_leaf")           \
    X(kConstraints, 20, "constraints")                  \
    X(kMinImpurityDecrease, 8, "min_impurity_decrease") \
    X(kMaxLeafNodes, 9, "max_leaf_nodes")

#define TREEWISE_ENUMERATOR(enumerator, number, name) enumerator = number,
enum SplitKind : uint8_t { TREEWISE_SPLIT_KINDS(TREEWISE_ENUMERATOR) };
enum StopReason : uint8_t { TREEWISE_STOP_REASONS(TREEWISE_ENUMERATOR) };
#undef TREEWISE_ENUMERATOR

// With more than two classes, all subsets are tried up to this many levels.
inline constexpr size_t kMaxExhaustiveLevels = 10;
// Beyond, they are ordered by the rates of this many classes, so that many classes by many levels take linear time.
inline constexpr size_t kMaxRateOrders = 64;

inline constexpr int64_t kMissingInt = std::numeric_limits<int64_t>::min();
inline constexpr int32_t kMissingCode = -1;

// A number that is known not to be negative, as an index.
template <class Integer>
constexpr size_t to_index(Integer i) {
    return static_cast<size_t>(i);
}

enum class ValueType : uint8_t {
    f32,   // NaN is missing. Every float is exactly a double, so f32 or f64 does not change the tree
    f64,   // NaN is missing
    i64,   // integers beyond 2^53 and timestamps; kMissingInt is missing
    code,  // int32 category codes 0 … n_levels−1; kMissingCode is missing
};

// Strided, possibly unaligned view of a column in the caller's memory.
template <class T>
struct View {
    const std::byte* base;
    int64_t stride;  // in bytes; negative for a reversed array

    T operator[](size_t row) const {
        T value;
        std::memcpy(&value, base + static_cast<int64_t>(row) * stride, sizeof value);
        return value;
    }
    void prefetch(size_t row) const { __builtin_prefetch(base + static_cast<int64_t>(row) * stride); }
    bool contiguous() const { return stride == sizeof(T); }
};

inline bool is_missing(float x) { return std::isnan(x); }
inline bool is_missing(double x) { return std::isnan(x); }
inline bool is_missing(int64_t x) { return x == kMissingInt; }
inline bool is_missing(int32_t code) { return code == kMissingCode; }

inline constexpr uint64_t kAllGroups = ~uint64_t{0};

// One encoded column: a strided view of the caller's memory.
struct Column {
    const void* data = nullptr;
    ValueType type = ValueType::f64;
    int64_t stride = 0;  // in bytes
    int64_t n_levels = 0;
    std::vector<SplitKind> kinds;              // allowed split kinds, in order of preference
    bool ordered = false;                      // codes of ordered levels: tests of independence use them as numbers
    double feature_cost = 0;                   // of testing it for the first time on a path, per unit of weight …
    uint64_t feature_cost_bit = 0;             // … and its bit among the columns that cost something
    uint64_t interaction_groups = kAllGroups;  // groups of columns that it belongs to, as a mask
    int monotone = 0;  // +1: predictions may not fall as it grows; -1: not rise; 0: no constraint

    bool is_number() const { return type == ValueType::f32 || type == ValueType::f64; }
    bool is_code() const { return type == ValueType::code; }

    // The values as T, which must match the column's type.
    template <class T>
    View<T> view() const {
        return {static_cast<const std::byte*>(data), stride};
    }

    // Calls f with a view of the column's type.
    template <class F>
    decltype(auto) visit(F&& f) const {
        switch (type) {
            case ValueType::f32: return f(view<float>());
            case ValueType::f64: return f(view<double>());
            case ValueType::i64: return f(view<int64_t>());
            default: return f(view<int32_t>());
        }
    }
};

inline constexpr int kNothingRounded = std::numeric_limits<int>::min();

// Class of each row; one byte where that suffices.
struct Labels {
    const uint8_t* bytes = nullptr;
    const int32_t* wide = nullptr;  // for more than 256 classes

    int32_t operator[](size_t row) const { return bytes ? bytes[row] : wide[row]; }
};

struct Target {
    Labels label;                 // classification: class of each row
    const int64_t* y = nullptr;   // regression: the scaled integer target …
    const double* raw = nullptr;  // … and the target as given
    View<int64_t> weight;         // stride 0 where all rows have the same weight
    int64_t n_rows = 0;
    int64_t n_classes = 0;               // 0: regression
    int scale = 0;                       // regression: y = raw·2^scale
    int weight_scale = 0;                // weight = given weight·2^weight_scale
    int max_exponent = kNothingRounded;  // regression: exponent of the largest |raw|, if some y had to be rounded
};

// Called regularly with the fraction of work done; may throw to stop (Ctrl-C).
using ProgressCallback = std::function<void(double)>;

}  // namespace treewise
