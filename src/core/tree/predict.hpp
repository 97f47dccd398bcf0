// Prediction: rows down the tree to a node.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem/problem.hpp"

namespace treewise {

// A finished tree as arrays of the caller's (nodes.py: Arrays). child_start and children list each node's children
// in branch order.
struct TreeView {
    std::span<const uint8_t> kind;
    std::span<const int32_t> column;
    std::span<const double> cut;
    std::span<const int64_t> cut_int;
    std::span<const int32_t> missing;
    std::span<const int32_t> other;
    std::span<const int64_t> code_start;
    std::span<const int32_t> codes;        // of each node ascending …
    std::span<const int32_t> code_branch;  // … with the branch of each under a multiway test
    std::span<const int64_t> child_start;
    std::span<const int64_t> children;
};

inline constexpr int32_t kUnseen = -2;  // a category the tree has never seen

// The branch a row takes at a node; -1 where there is none for its never-seen category, and it stays.
int32_t branch(const TreeView& tree, int64_t node, const Column& column, int64_t row);

// The node each row ends at: a leaf, or the inner node where a never-seen category has no branch.
void find_leaves(const TreeView& tree, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
                 const ProgressCallback& progress, int64_t* leaves);

}  // namespace treewise
