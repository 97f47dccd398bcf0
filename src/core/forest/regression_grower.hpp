// Grows the regression trees of forests and extra-trees by a shorter way than grow/grower.hpp: half their nodes are
// single rows, so what a node costs besides its rows is what the forest costs.
//
// It covers squared error on complete numeric columns, where a node needs no buckets, placements or statistics objects:
// a cut is scored in doubles, from 64-bit sums of quantised targets, and only what those cannot tell apart is compared
// by 128-bit sums, as search/exact_splitter.hpp does. The trees are the same to the last bit
// (tests/invariants/test_engines.py turns this path off by its tuning).

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "forest/grow_forest.hpp"
#include "grow/grow.hpp"

namespace treewise {

// Memory that a thread reuses from tree to tree.
class RegressionScratch;
struct DeleteRegressionScratch {
    void operator()(RegressionScratch*) const;
};
using RegressionScratchPtr = std::unique_ptr<RegressionScratch, DeleteRegressionScratch>;

// Whether these settings and columns are covered; reads all cells once.
bool is_plain_regression(const std::vector<Column>& columns, const Target& target, const Settings& settings);

// Grows one tree.
PackedTree grow_plain_regression(const std::vector<Column>& columns, const Target& target, const Settings& settings,
                                 const ProgressCallback& progress, std::span<const Row> rows,
                                 const SharedTables& shared, RegressionScratchPtr& scratch);

}  // namespace treewise
