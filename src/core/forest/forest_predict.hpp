// Prediction of many trees: every row down every tree, and what they say added up.
//
// SumStats are taken in the order of the trees for each row by itself, so they are the same to the last bit for any
// number of threads, and whatever other rows there are.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forest/compiled_forest.hpp"

namespace treewise {

// What is added up: shares of classes; the vote of each tree for its class; values.
enum class Output { probabilities, votes, values };

struct VoteRequest {
    size_t first, last;  // the trees that are asked: first … last−1
    Output output;
    std::span<const double> votes;  // one a tree
    const uint8_t* mask = nullptr;  // if given, a bit a row, tree after tree: whether it counts for the row …
    int64_t mask_stride = 0;        // … the lowest bit of a byte first; each tree begins with a new byte
};

// Adds to `sums`, rows × classes (or × 1 for numbers), what the trees say of each row.
void add_votes(const CompiledForest& forest, const std::vector<Column>& columns, int64_t n_rows,
               const VoteRequest& request, int n_jobs, const ProgressCallback& progress, double* sums);

// The node at which each row ends in each tree: rows × trees.
void find_forest_leaves(const CompiledForest& forest, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
                        const ProgressCallback& progress, int32_t* leaves);

struct TreeNodeId {
    int64_t tree = -1, node = -1;
};
// The first test on a row's paths that asks for one of some columns.
TreeNodeId first_test_on(const CompiledForest& forest, const std::vector<Column>& columns, int64_t row,
                         const std::vector<bool>& which);

}  // namespace treewise
