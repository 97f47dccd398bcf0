// Entry point of tree growing, and the flat arrays it returns.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "problem/problem.hpp"
#include "problem/quartiles.hpp"

namespace treewise {

// Arrays of a tree, named as in Python: one entry per node in pre-order; tree/arrays.py documents each.
// X(type, name, first elements)
#define TREEWISE_NODE_ARRAYS(X)  \
    X(int64_t, parent)           \
    X(uint8_t, kind)             \
    X(int32_t, column)           \
    X(double, cut)               \
    X(int64_t, cut_int)          \
    X(int32_t, missing)          \
    X(int32_t, other)            \
    X(int64_t, code_start, {0})  \
    X(int32_t, codes)            \
    X(uint8_t, stop)             \
    X(int64_t, rows)             \
    X(int64_t, missing_rows)     \
    X(double, weight)            \
    X(double, impurity)          \
    X(double, gain)              \
    X(int32_t, label)            \
    X(int64_t, count_start, {0}) \
    X(int32_t, count_class)      \
    X(double, count_weight)      \
    X(double, value)             \
    X(double, spread)

struct Nodes {
#define TREEWISE_ARRAY(type, name, ...) std::vector<type> name __VA_ARGS__;
    TREEWISE_NODE_ARRAYS(TREEWISE_ARRAY)
#undef TREEWISE_ARRAY
    std::vector<double> p_value;       // Selection::test only
    std::vector<Quartiles> quartiles;  // of each column, if requested
};

Nodes grow(const std::vector<Column>& columns, const Target& target, const Settings& settings,
           const ProgressCallback& progress);

// Read-only data shared by all trees of a forest: computed once for the columns, criterion and number of classes, on
// settings.n_jobs threads.
class SharedTables;
std::shared_ptr<const SharedTables> make_shared_tables(const std::vector<Column>& columns, const Target& target,
                                                       const Settings& settings, const ProgressCallback& progress);

// Grows one tree on some rows of the table (distinct, ascending). target.weight: the weights of this tree; other rows
// are not read. Thread-safe.
Nodes grow(const std::vector<Column>& columns, const Target& target, const Settings& settings,
           const ProgressCallback& progress, std::span<const uint32_t> rows, const SharedTables& shared);

// Grows a classification tree on an existing engine (forest/boosting.cpp), without quartiles.
Nodes grow_on(SplitEngine& engine, const std::vector<Column>& columns, const Target& target, const Settings& settings,
              const ProgressCallback& progress);

}  // namespace treewise
