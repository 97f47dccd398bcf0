// Re-estimating a tree: its splits stay, the statistics of every node come from a table.
//
// For trees split by hand, read from text, or taken to new data. The same sides and summaries as in growth, so a tree
// re-estimated on the table it was grown on is the same tree to the last bit.

#pragma once

#include "grow/grow.hpp"
#include "tree/predict.hpp"

namespace treewise {

// Fills rows, missing_rows, weight, impurity, gain, label, counts, value and spread; the rest of Nodes stays empty.
Nodes refit(const TreeView& tree, std::span<const int64_t> parent, const std::vector<Column>& columns,
            const Target& target, const Settings& settings, const ProgressCallback& progress);

// The same for rows of which it is known at which node they end, without their columns: missing_rows stay 0. A row may
// stand for several of its kind, by its weight; what it counts for as a row is then the caller's to know.
Nodes refit_at_nodes(const TreeView& tree, std::span<const int64_t> parent, std::span<const int64_t> end_nodes,
                     const Target& target, const Settings& settings);

}  // namespace treewise
