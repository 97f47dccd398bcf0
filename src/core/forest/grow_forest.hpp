// Many trees on one table: what each is grown on, and what is kept of it.
//
// Tree t has its own seed, stir(seed, t), and everything about it follows from that alone: its bag of rows, its
// columns, and the draws inside growth. So trees may be grown by anyone in any order, and k trees are the first k of k
// + 1. ensemble/bootstrap.py draws the same bags, to be read.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem/problem.hpp"

namespace treewise {

// A limit given as a share of a tree's own rows, or of their weight: over/under. 0: it is none.
struct Fraction {
    int64_t numerator = 0, denominator = 1;
    int64_t of(int64_t whole) const;  // rounded up
};

// What distinguishes the trees from one another, as ensemble/bootstrap.py fills it.
struct SamplingPlan {
    uint64_t seed = 0;
    int64_t n_samples = 0;            // units drawn for a tree; 0: none are, every row is there once
    bool replace = true;              // with replacement
    std::span<const uint32_t> units;  // what is drawn from: rows, some several times (ensemble/canonical_rows.py)
    View<int64_t> weight{};           // of a row: what one of its units weighs …
    int weight_scale = 0;             // … in units of 2^-scale
    int64_t n_columns = 0;            // columns drawn for a tree; 0: all
    bool replace_columns = false;     // with replacement: a column drawn twice is there once
    Fraction split, leaf, leaf_weight;
};

struct BootstrapSample {
    std::vector<uint32_t> counts;   // how often each row of the table was drawn
    std::vector<uint32_t> rows;     // those that were, ascending
    std::vector<uint32_t> columns;  // ascending
};

// Fills the bag of tree t, in memory that may have held another's.
void draw_sample(const SamplingPlan& plan, int64_t t, int64_t n_rows, size_t n_columns, BootstrapSample& sample);

// A grown tree without what can be derived: the arrays of ensemble/packed_trees.py, which explains each.
struct PackedTree {
    std::vector<uint8_t> kind;
    std::vector<int32_t> column;  // inner nodes …
    std::vector<double> cut;
    std::vector<int64_t> cut_int;
    std::vector<int32_t> missing, other, n_codes, codes;
    std::vector<int64_t> missing_rows;
    std::vector<uint8_t> stop;  // leaves …
    std::vector<int64_t> rows;
    std::vector<int32_t> n_counts, count_class;
    std::vector<double> count_weight, weight;
    std::vector<double> value, spread, impurity;  // leaves, or all nodes where the criterion needs them
    std::vector<double> impurity_decrease;        // a column: the impurity its splits took away, per unit of weight
};

// The trees first … first + n_trees - 1.
std::vector<PackedTree> grow_forest(const std::vector<Column>& columns, const Target& target, const Settings& settings,
                                    const SamplingPlan& plan, int64_t first, int64_t n_trees,
                                    const ProgressCallback& progress);

}  // namespace treewise
