// Optimal trees: the tree of least training objective under limits on depth and leaves, with a proof or a bound.
//
// The interface of this folder; train/optimal/specification.py defines the same problem by dynamic programming. A
// column arrives as one or more *tests in order*: ranks of its rows, where a cut sends rank <= t to the left. A number
// without missing values is one such order; with missing values it is two (missing lowest, missing highest); `x =
// level` is an order of two ranks. So the search knows neither kinds of columns nor missing values.
//
//     costs.hpp         what a leaf costs, by objective
//     rows.hpp          the table of ranks, and the rows of a node in sorted order
//     stump_scan.*      the best split of every column below each side of a cut, vectorised
//     archive.hpp       solved nodes: equal rows, and rows that differ by few (similarity bound)
//     worker.hpp        branch and bound below the root
//     solve.cpp         the root: threads, incumbent, bound, the first of equally good trees

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace treewise::optimal {

enum class Objective { linear, squared_error, gini, entropy };

struct Problem {
    int64_t n_rows = 0;
    const int32_t* ranks = nullptr;  // feature by feature, n_rows each
    std::vector<int32_t> n_ranks;    // of each feature
    Objective objective = Objective::linear;
    int n_classes = 0;
    const int64_t* target = nullptr;  // class number, or integer target
    const int64_t* weight = nullptr;
    std::vector<int64_t> cost;  // linear: cost[true class * n_classes + predicted class]
    int shift = 0;              // squared_error, gini, entropy: costs are rounded down to multiples of 2^shift
    int64_t scale = 1;          // costs of rows are multiplied by it, so that `penalty` can be a fraction of a row
    int64_t penalty = 0;        // per leaf
    int max_depth = 0, max_leaves = 0;
};

struct Options {
    int n_threads = 1;
    int64_t incumbent = INT64_MAX;  // objective of a tree that is known already
    int64_t max_archive_bytes = int64_t{1} << 29;
    // Shortcuts, each of which may be switched off without changing the result.
    bool lipschitz = true, similarity = true, cache = true, scan = true, merge_rows = true;
};

struct Progress {
    int64_t incumbent, lower_bound, n_evaluated;
};

struct TreeNode {                     // in pre-order
    int32_t feature = -1, rank = -1;  // -1: a leaf
};

struct Solution {
    std::vector<TreeNode> nodes;  // empty: no tree better than the given incumbent was found
    int64_t objective = 0, lower_bound = 0;
    bool proven = false;
    int64_t n_evaluated = 0, n_cached = 0, n_similar = 0;
};

// `progress` is called every few milliseconds by the calling thread; false ends the search.
Solution solve(const Problem& problem, const Options& options, const std::function<bool(const Progress&)>& progress);

}  // namespace treewise::optimal
