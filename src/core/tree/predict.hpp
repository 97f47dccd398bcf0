// Prediction with one tree: the node at which each row ends.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem/problem.hpp"

namespace treewise {

// Arrays of a finished tree, owned by the caller (tree/arrays.py). child_start and children list each node's children
// in branch order.
struct TreeView {
    std::span<const uint8_t> kind;
    std::span<const int32_t> column;
    std::span<const double> cut;
    std::span<const int64_t> cut_int;
    std::span<const int32_t> missing;
    std::span<const int32_t> other;
    std::span<const int64_t> code_start;
    std::span<const int32_t> codes;        // ascending within each node …
    std::span<const int32_t> code_branch;  // … and the branch of each, for multiway tests
    std::span<const int64_t> child_start;
    std::span<const int64_t> children;
};

inline constexpr int32_t kUnseen = -2;  // code of a category level unknown to the tree

// The branch a row takes at a node; −1 if its unseen level has none and it stays.
int32_t branch(const TreeView& tree, int64_t node, const Column& column, int64_t row);

// The node at which each row ends: a leaf, or an inner node without a branch for an unseen level. With `from`, rows
// start at these nodes, not at the root; it may be `leaves` itself.
void find_leaves(const TreeView& tree, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
                 const ProgressCallback& progress, int64_t* leaves, const int64_t* from = nullptr);

}  // namespace treewise
