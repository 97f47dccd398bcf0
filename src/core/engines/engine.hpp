// Engine interface: an engine holds the rows of the nodes, finds the candidates that could be the best split of a node,
// passes them to the exact splitter as buckets, and partitions the node's rows among its children.
//
//     presorted.hpp    presorted columns                             absolute error; every candidate, as a reference
//     histogram.hpp    binned columns                                large nodes
//     subtree.hpp      presorted columns that fit the cache          small nodes with their whole subtree
//     forest.hpp       rows ranked once for all trees                nodes that sample columns
//     extra_trees.hpp  unsorted rows                                 random cuts
//     stumps.hpp       columns sorted once, weights change           AdaBoost stumps

#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "criteria/row_stats.hpp"
#include "problem/problem.hpp"

namespace treewise {

using Row = uint32_t;
inline constexpr uint32_t kMissingRank = 0xFFFFFFFF;  // rank of a missing value

// Rows of a node that no (surviving) candidate of the current column separates, as rows or as statistics.
struct Bucket {
    const Row* first = nullptr;
    const Row* last = nullptr;
    const int64_t* stats = nullptr;
    int64_t low = 0, high = 0;  // smallest and largest rank or key
    int64_t position = 0;       // increases with `high`
};

struct Segment {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
};

// The winning split, ready to be stored and applied.
struct ChosenSplit {
    SplitKind kind = kLeaf;
    int32_t column = -1;
    double threshold = 0.0;
    int64_t threshold_int = 0;
    int32_t missing_branch = -1;  // branch of missing values
    int32_t other = -1;           // branch of levels a multiway split does not list
    std::vector<int32_t> codes;   // levels the split lists
    int64_t max_left_rank = 0;    // thresholds: largest rank (or key) sent to branch 0
    int64_t missing_rows = 0;
    int32_t n_branches = 0;
    bool is_presence = false;  // whether only missing values are separated
    int128 total_gain = 0;

    uint32_t branch(int64_t rank) const {
        switch (kind) {
            case kThreshold:
            case kOrdinal: return rank <= max_left_rank ? 0 : 1;
            case kOneValue: return rank == codes[0] ? 0 : 1;
            case kSubset: return std::binary_search(codes.begin(), codes.end(), static_cast<int32_t>(rank)) ? 0 : 1;
            default: {
                const auto at = std::lower_bound(codes.begin(), codes.end(), static_cast<int32_t>(rank));
                return static_cast<uint32_t>(at != codes.end() && *at == rank ? at - codes.begin() : other);
            }
        }
    }
};

class SplitEngine {
public:
    virtual ~SplitEngine() = default;

    virtual Segment all() const = 0;
    virtual std::span<const Row> rows(Segment node) = 0;  // valid until the next call

    // Whether buckets are statistics rather than rows (buckets of categories may be rows all the same).
    virtual bool has_stats() const = 0;
    // Regression targets in the units of the current node (criteria/exact_impurity.hpp: NodeContext::begin_node).
    virtual void set_targets(const int64_t* /* y */) {}
    // Statistics of all rows of a node.
    virtual void node_total(Segment, RowStats&) {}

    // The columns among these that may contain the best split. node_key: for random cuts.
    virtual const std::vector<size_t>& find_contending_columns(Segment node, const RowStats& node_total,
                                                               const std::vector<size_t>& columns,
                                                               uint64_t node_key) = 0;
    // Fills the buckets of a column: rows between surviving cuts, or by level. Returns the missing rows.
    virtual Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) = 0;
    // From now on, for this node, buckets contain every candidate. Returns whether some may have been left out before.
    virtual bool disable_filter() { return false; }
    virtual int64_t n_cuts(size_t column, Segment node) = 0;  // distinct thresholds of a numeric column
    virtual bool is_splittable(Segment) { return false; }     // whether any column has two values, ignoring limits
    virtual double to_double(size_t column, int64_t rank) const = 0;
    virtual int64_t to_int(size_t column, int64_t rank) const = 0;

    // Partitions the node's rows by branch; sizes receives their numbers. The children's rows are adjacent afterwards.
    virtual void partition(Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) = 0;
    // Called once it is known which children will be searched.
    virtual void on_children_known(Segment, const std::vector<int64_t>& /* sizes */,
                                   const std::vector<uint8_t>& /* open */) {}
    // Whether the node should be left to another engine.
    virtual bool should_hand_over(Segment, int64_t /* levels_left */) const { return false; }
};

}  // namespace treewise
