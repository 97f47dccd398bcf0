// What the core is given: columns as arrays, an integer target, integer weights, and the settings.
//
// treewise/problem prepares these; bind/bind_grow.cpp fills them without copying. Nothing here owns memory of the
// caller's.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

namespace treewise {

// The numbers of the split kinds, in nodes.py too. The order is that in which equal gains are preferred; a test of mere
// presence comes last in its column and is stored as one of the others.
enum SplitKind : uint8_t { kLeaf, kThreshold, kOrdinal, kOneValue, kSubset, kMultiway, kPresence };

// Why a node is a leaf, in order of precedence; the names are in nodes.py (STOPS).
enum StopReason : uint8_t {
    kInner,
    kNoRows,
    kPure,
    kSufficientAccuracy,
    kMaxDepth,
    kMinSamplesSplit,
    kNoCandidate,
    kMinSamplesLeaf,
    kMinImpurityDecrease,
    kMaxLeafNodes,
};

enum class Criterion { entropy, gini, error, squared_error, absolute_error, poisson };
inline constexpr size_t kMaxExhaustiveLevels = 10;  // with more than two classes, all subsets of up to so many levels

enum class Rule { gain, ratio, c45 };  // what candidates compete by

inline constexpr int64_t kMissingInt = std::numeric_limits<int64_t>::min();
inline constexpr int32_t kMissingCode = -1;

enum class ValueType : uint8_t {
    f32,   // numbers; NaN is missing. Every float is a double: which of the two a column is changes no tree
    f64,   // numbers; NaN is missing
    i64,   // whole numbers past 2^53, and points in time; kMissingInt is missing
    code,  // int32: kMissingCode is missing; the others are 0 … n_levels-1
};

// The values of a column where the caller keeps them: every `stride` bytes one, which need not be aligned.
template <class T>
struct View {
    const std::byte* base;
    int64_t stride;  // negative in a reversed array

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

// One encoded column (encode/): a strided view of the caller's memory.
struct Column {
    const void* data = nullptr;
    ValueType type = ValueType::f64;
    int64_t stride = 0;  // in bytes
    int64_t n_levels = 0;
    std::vector<SplitKind> kinds;  // the split kinds it may be tested by, in order of preference

    bool is_number() const { return type == ValueType::f32 || type == ValueType::f64; }
    bool is_code() const { return type == ValueType::code; }

    // The values as T, which must be the one that goes with the type.
    template <class T>
    View<T> view() const {
        return {static_cast<const std::byte*>(data), stride};
    }

    // Calls f with the view of the column's own type.
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

// The class number of each row: a byte where a byte will do.
struct Labels {
    const uint8_t* bytes = nullptr;
    const int32_t* wide = nullptr;  // more than 256 classes

    int32_t operator[](size_t row) const { return bytes ? bytes[row] : wide[row]; }
};

struct Target {
    Labels label;                 // classification: class numbers
    const int64_t* y = nullptr;   // regression: the scaled target …
    const double* raw = nullptr;  // … and the target as given
    View<int64_t> weight;         // rows of equal weight share one (a stride of 0)
    int64_t n_rows = 0;
    int64_t n_classes = 0;  // 0: regression
    int scale = 0;          // regression: y = raw·2^scale
    int weight_scale = 0;   // weight = given weight·2^weight_scale
    int max_exponent =
        kNothingRounded;  // regression: the exponent of the largest |raw|, where some y had to be rounded
};

// How the work is done, never what comes out: tests turn these one by one and find the same tree.
struct Tuning {
    bool exact_only = false;           // judge every candidate exactly, from sorted lists
    bool use_bounds = true;            // pass over what cannot win
    bool use_forest_engine = true;     // where nodes look at some columns only, nothing is kept in order …
    int64_t bitset_rows = 64;          // … and of two classes a node of so few rows (64 at most) becomes a word
    bool subtract_histograms = true;   // the larger child's histogram is its parent's less the smaller's
    int64_t subtree_cells = 1 << 20;   // a node of so many cells (which is also what random cuts read at a time) …
    int64_t subtree_rows = 1 << 12;    // … or so few rows is sorted once for its whole subtree
    int64_t histogram_rows = 1 << 12;  // with fewer rows a node is sorted rather than counted
};

struct Settings {
    Criterion criterion = Criterion::entropy;
    Rule rule = Rule::gain;
    bool gain_per_branch = false;  // kinds compete: gains are divided by (branches − 1)
    bool missing_branch = false;   // missing rows get a branch of their own where they are enough
    bool empty_from_root = false;  // a branch without rows answers with the root's distribution, not its parent's
    bool random_ties = false;
    bool random_cuts = false;  // each column a node looks at sends one test of each kind, drawn at random
    int64_t max_features = 0;  // columns a node looks at, drawn at random (more until one can be used); 0: all
    uint64_t seed = 0;
    int64_t max_depth = -1;  // -1: no limit
    int64_t max_leaf_nodes = -1;
    int64_t min_samples_split = 2;
    int64_t min_samples_leaf = 1;
    int64_t min_leaf_weight = 0;
    double min_impurity_decrease = 0.0;
    int64_t accuracy_numerator = 1;  // sufficient accuracy as the fraction over/under; 1: never stops
    int64_t accuracy_denominator = 1;
    int n_jobs = 1;          // workers
    bool quartiles = false;  // whether those of the columns are asked for
    Tuning tuning;
};

// Called now and then with the share of work done; may throw to stop (Ctrl-C).
using ProgressCallback = std::function<void(double)>;

}  // namespace treewise
