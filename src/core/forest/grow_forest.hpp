// Forest growing: the bootstrap sample of each tree, and the packed result.
//
// Tree t has the seed mix64(seed, t), which determines its sample of rows, its columns and all random draws while it
// grows. Trees can therefore be grown in any order, and the first k of k + 1 trees are the k trees.
// ensemble/bootstrap.py draws the same samples in Python.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem/problem.hpp"

namespace treewise {

// A limit given as a fraction of a tree's rows or of their weight; 0: none.
struct Fraction {
    int64_t numerator = 0, denominator = 1;
    int64_t of(int64_t whole) const;  // rounded up
};

// What differs between trees; filled by ensemble/bootstrap.py.
struct SamplingPlan {
    uint64_t seed = 0;
    int64_t n_samples = 0;  // units, or groups of units, drawn per tree; 0: no sampling, every row once
    bool replace = true;
    std::span<const uint32_t> units;  // sampling units: row indices, possibly repeated (ensemble/bootstrap.py)
    std::span<const uint32_t>
        group_ends;                // whole groups are drawn: the end of each group in `units`; empty: single units
    View<int64_t> weight{};        // weight of one unit of a row …
    int weight_scale = 0;          // … in units of 2^-scale
    int64_t n_columns = 0;         // columns drawn per tree; 0: all
    bool replace_columns = false;  // a column drawn twice counts once
    Fraction split, leaf, leaf_weight;
};

struct BootstrapSample {
    std::vector<uint32_t> counts;   // how often each row was drawn
    std::vector<uint32_t> rows;     // drawn rows, ascending
    std::vector<uint32_t> columns;  // ascending
};

// Draws the sample of tree t; reuses the memory of `sample`.
void draw_sample(const SamplingPlan& plan, int64_t t, int64_t n_rows, size_t n_columns, BootstrapSample& sample);

// A grown tree without what can be derived; ensemble/packed_trees.py documents the arrays.
// X(type, name)
#define TREEWISE_PACKED_ARRAYS(X)                                                      \
    X(uint8_t, kind)                                                                   \
    X(int32_t, column) /* of inner nodes … */                                          \
    X(double, cut)                                                                     \
    X(int64_t, cut_int)                                                                \
    X(int32_t, missing)                                                                \
    X(int32_t, other)                                                                  \
    X(int32_t, n_codes)                                                                \
    X(int32_t, codes)                                                                  \
    X(int64_t, missing_rows)                                                           \
    X(uint8_t, stop) /* of leaves … */                                                 \
    X(int64_t, rows)                                                                   \
    X(int32_t, n_counts)                                                               \
    X(int32_t, count_class)                                                            \
    X(double, count_weight)                                                            \
    X(double, weight)                                                                  \
    X(double, value) /* of leaves, or of all nodes where the criterion needs them … */ \
    X(double, spread)                                                                  \
    X(double, impurity)

struct PackedTree {
#define TREEWISE_ARRAY(type, name) std::vector<type> name;
    TREEWISE_PACKED_ARRAYS(TREEWISE_ARRAY)
#undef TREEWISE_ARRAY
    std::vector<double> impurity_decrease;  // by column: impurity decrease of its splits, per unit of weight
};

// Grows the trees first … first + n_trees − 1.
std::vector<PackedTree> grow_forest(const std::vector<Column>& columns, const Target& target, const Settings& settings,
                                    const SamplingPlan& plan, int64_t first, int64_t n_trees,
                                    const ProgressCallback& progress);

}  // namespace treewise
