// What an engine is: it keeps the rows of the nodes, says which candidates of a node are worth a closer look, hands
// them over as buckets, and divides a node's rows among its children. Of whole tables there are three:
//
//     engines/exact.hpp      sorted lists; every candidate, row by row      absolute error, and the measure of the
//     other two engines/histogram.hpp  coarse counts                                  large nodes engines/subtree.hpp
//     sorted lists within the cache                  small nodes, a whole subtree at a time

#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "criteria/stats.hpp"
#include "problem/problem.hpp"

namespace treewise {

using Row = uint32_t;
inline constexpr uint32_t kMissingRank = 0xFFFFFFFF;  // the rank of a missing value

// Rows of a node that no test of the column at hand takes apart (or none that is still in question): given one by one,
// or as their statistics alone.
struct Bucket {
    const Row* first = nullptr;
    const Row* last = nullptr;
    const int64_t* stat = nullptr;
    int64_t low = 0, high = 0;  // their smallest and largest rank
    int64_t position = 0;       // grows with `high`; for draws among ties, how many ranks of the node are below it
};

struct Segment {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
};

// A split that won, ready to be stored and applied.
struct SplitInfo {
    SplitKind kind = kLeaf;
    int32_t column = -1;
    double cut = 0.0;
    int64_t cut_int = 0;
    int32_t missing = -1;        // branch of the missing values
    int32_t other = -1;          // branch of the levels a multiway split does not name
    std::vector<int32_t> codes;  // the levels it names
    int64_t max_left_rank = 0;   // thresholds: the largest rank that goes to branch 0
    int64_t missing_rows = 0;
    int32_t n_branches = 0;
    int128 gain = 0;

    uint32_t branch(int64_t rank) const {
        switch (kind) {
            case kThreshold:
            case kOrdinal: return rank <= max_left_rank ? 0 : 1;
            case kOneValue: return rank == codes[0] ? 0 : 1;
            case kSubset: return std::binary_search(codes.begin(), codes.end(), static_cast<int32_t>(rank)) ? 0 : 1;
            default: {
                const auto at = std::lower_bound(codes.begin(), codes.end(), static_cast<int32_t>(rank));
                return static_cast<uint32_t>(at - codes.begin());
            }
        }
    }
};

class Engine {
public:
    virtual ~Engine() = default;

    virtual Segment all() const = 0;
    virtual std::span<const Row> rows(Segment node) = 0;  // valid until the next call

    // Whether buckets come as statistics; if not, as rows.
    virtual bool has_stats() const = 0;
    // The targets, where they are numbers, in units of the node at hand (criteria/exact_impurity.hpp:
    // NodeContext::sit).
    virtual void set_targets(const int64_t* /* y */) {}
    // Statistics of all rows of a node.
    virtual void node_total(Segment, Stat&) {}

    // Of these columns of a node, those that may hold its best split. key: the node's, for random cuts.
    virtual const std::vector<size_t>& find_candidates(Segment node, const Stat& node_total,
                                                       const std::vector<size_t>& columns, uint64_t key) = 0;
    // A column's rows between the cuts still in question, or by level; returns the missing rows.
    virtual Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) = 0;
    virtual void disable_filter() {}  // from now on, and for this node, buckets leave nothing out
    virtual int64_t n_cuts(size_t column, Segment node) = 0;  // thresholds of a column of numbers
    virtual bool is_splittable(Segment) { return false; }     // whether any column does, limits aside
    virtual double to_double(size_t column, int64_t rank) const = 0;
    virtual int64_t to_int(size_t column, int64_t rank) const = 0;

    // Sends a node's rows to their branches; sizes counts them. Then its children's rows stand side by side.
    virtual void partition(Segment node, const SplitInfo& split, std::vector<int64_t>& sizes) = 0;
    // Called when it is known which children will be looked at further.
    virtual void on_children_known(Segment, const std::vector<int64_t>& /* sizes */,
                                   const std::vector<uint8_t>& /* open */) {}
    // Whether a node is better left to another engine.
    virtual bool is_too_small(Segment, int64_t /* levels_left */) const { return false; }
};

}  // namespace treewise
