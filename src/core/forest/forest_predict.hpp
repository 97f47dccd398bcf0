// Forest prediction: walks every row down every tree and sums the predictions.
//
// Sums are taken per row in tree order, so they are identical for any number of threads and any set of rows.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forest/compiled_forest.hpp"

namespace treewise {

// What is summed: class probabilities, the vote of each tree for its class, or values.
enum class Output { probabilities, votes, values };

struct VoteRequest {
    size_t first, last;  // trees first … last−1
    Output output;
    std::span<const double> votes;  // one per tree
    const uint8_t* mask = nullptr;  // optional: one bit per row for each tree: whether the tree counts for the row …
    int64_t mask_stride = 0;        // … lowest bit first; bytes per tree
};

// Adds the trees' predictions to `sums`: rows × classes (× 1 for regression).
void add_votes(const CompiledForest& forest, const std::vector<Column>& columns, int64_t n_rows,
               const VoteRequest& request, int n_jobs, const ProgressCallback& progress, double* sums);

// The leaf of each row in each tree: rows × trees.
void find_forest_leaves(const CompiledForest& forest, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
                        const ProgressCallback& progress, int32_t* leaves);

struct TreeNodeId {
    int64_t tree = -1, node = -1;
};
// The first test on a row's paths that uses one of these columns.
TreeNodeId first_test_on(const CompiledForest& forest, const std::vector<Column>& columns, int64_t row,
                         const std::vector<bool>& which);

}  // namespace treewise
