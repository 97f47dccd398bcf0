// What the core is given: columns as arrays, an integer target, integer weights, and the settings.
//
// problem.py prepares these; bindings.cpp fills them without copying. Nothing here owns memory of the caller's.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

namespace treewise {

// The numbers of the split kinds, in tree.py too. The order is that in which equal gains are preferred; a test of mere
// presence comes last in its column and is stored as one of the others.
enum Kind : uint8_t { kLeaf, kThreshold, kOrdinal, kOneValue, kSubset, kMultiway, kPresence };

// Why a node is a leaf, in order of precedence; the names are in tree.py (STOPS).
enum Stop : uint8_t {
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
enum class Rule { gain, ratio, c45 };  // what candidates compete by

inline constexpr int64_t kMissingInt = std::numeric_limits<int64_t>::min();
inline constexpr int32_t kMissingCode = -1;

// One encoded column (encode.py): exactly one of the pointers is set.
struct Column {
    const double* numbers = nullptr;    // NaN is missing
    const int64_t* integers = nullptr;  // kMissingInt is missing
    const int32_t* codes = nullptr;     // kMissingCode is missing; the others are 0 … n_levels-1
    int64_t n_levels = 0;
    std::vector<Kind> kinds;  // the split kinds it may be tested by, in order of preference
};

struct Target {
    const int64_t* y = nullptr;   // class number, or scaled target
    const double* raw = nullptr;  // regression: the target as given
    const int64_t* weight = nullptr;
    int64_t n_rows = 0;
    int64_t n_classes = 0;  // 0: regression
    int scale = 0;          // regression: y = raw·2^scale
    int weight_scale = 0;   // weight = given weight·2^weight_scale
};

struct Settings {
    Criterion criterion = Criterion::entropy;
    Rule rule = Rule::gain;
    bool by_branches = false;      // kinds compete: gains are divided by (branches − 1)
    bool missing_branch = false;   // missing rows get a branch of their own where they are enough
    bool empty_from_root = false;  // a branch without rows answers with the root's distribution, not its parent's
    bool random_ties = false;
    uint64_t seed = 0;
    int64_t max_depth = -1;  // -1: no limit
    int64_t max_leaf_nodes = -1;
    int64_t min_samples_split = 2;
    int64_t min_samples_leaf = 1;
    int64_t min_leaf_weight = 0;
    double min_impurity_decrease = 0.0;
    int64_t accuracy_over = 1;  // sufficient accuracy as the fraction over/under; 1: never stops
    int64_t accuracy_under = 1;
};

// Called now and then with the share of work done; may throw to stop (Ctrl-C).
using Monitor = std::function<void(double)>;

}  // namespace treewise
