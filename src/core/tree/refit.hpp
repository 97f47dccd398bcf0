// Refits a tree: keeps its splits and recomputes the statistics of every node from a table.
//
// Used for trees that were written by hand, read from text, or applied to new data. It uses the same statistics as
// growing, so refitting a tree on its training table reproduces it to the last bit.

#pragma once

#include "grow/grow.hpp"
#include "tree/predict.hpp"

namespace treewise {

// Fills rows, missing_rows, weight, impurity, gain, label, counts, value and spread; the rest of Nodes stays empty.
Nodes refit(const TreeView& tree, std::span<const int64_t> parent, const std::vector<Column>& columns,
            const Target& target, const Settings& settings, const ProgressCallback& progress);

// The same if the end node of every row is known, without columns: missing_rows stays 0. A row may stand for several by
// its weight; the caller knows how many.
Nodes refit_at_nodes(const TreeView& tree, std::span<const int64_t> parent, std::span<const int64_t> end_nodes,
                     const Target& target, const Settings& settings);

}  // namespace treewise
