// Entry point of tree growing, and the flat arrays it returns.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "problem/problem.hpp"
#include "problem/quartiles.hpp"

namespace treewise {

// One entry per node in pre-order; tree/arrays.py documents each.
struct Nodes {
    std::vector<int64_t> parent;
    std::vector<uint8_t> kind;
    std::vector<int32_t> column;
    std::vector<double> cut;
    std::vector<int64_t> cut_int;
    std::vector<int32_t> missing;
    std::vector<int32_t> other;
    std::vector<int64_t> code_start{0};
    std::vector<int32_t> codes;
    std::vector<uint8_t> stop;
    std::vector<int64_t> rows;
    std::vector<int64_t> missing_rows;
    std::vector<double> weight;
    std::vector<double> impurity;
    std::vector<double> gain;
    std::vector<int32_t> label;
    std::vector<int64_t> count_start{0};
    std::vector<int32_t> count_class;
    std::vector<double> count_weight;
    std::vector<double> value;
    std::vector<double> spread;

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
Nodes grow_on(Engine& engine, const std::vector<Column>& columns, const Target& target, const Settings& settings,
              const ProgressCallback& progress);

}  // namespace treewise
