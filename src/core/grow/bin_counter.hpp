// Counts the rows of nodes by the bins of a column: what a partition of a table answers when a tree is grown from
// statistics (train/source.py). sources/memory.py calls it; tests/support/numpy_source.py is the readable version.
//
// Integers only, so the answers of several partitions add up in any order.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "problem/problem.hpp"
#include "util/fixed_point.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

// `n` equal bins from low to high, both included; n = 0: each value has a bin of its own. The ends are the bits of
// doubles in columns of numbers, else integers.
struct BinGrid {
    int64_t low, high, n;
};

struct CountRequest {
    int64_t node;
    size_t column;
    std::span<const BinGrid> grids;  // none for a category: one bin per level
    bool is_first;                   // whether the rows without a value are counted, too
};

inline constexpr int64_t kSingleValue = -1;  // the "bin" of a value that has a bin of its own
inline constexpr int64_t kMissingRows = -2;  // … and of the rows without a value, the first group of each answer

// Groups of rows, those of one request after those of another.
struct BinCounts {
    std::vector<int64_t> groups;  // of each request
    std::vector<int64_t> grid, bin, low, high;
    std::vector<int64_t> rows, weight;
    std::vector<int64_t> counts;                            // weight of each class
    std::vector<int64_t> target_high, deviations, squares;  // regression: Σ w·y (upper 64 bits), Σ w·q, Σ w·q²
    std::vector<uint64_t> target_low;                       // … and the lower 64 bits of Σ w·y

    void append(BinCounts&& other);
    void add_group(const BinCounts& from, size_t group, size_t n_classes);  // as a new group
    void add_to_last_group(const BinCounts& from, size_t group, size_t n_classes, bool is_number);
};

// Adds up the answers of two partitions to the same requests; is_number: of the column of each.
BinCounts merge(const BinCounts& a, const BinCounts& b, std::span<const uint8_t> is_number, size_t n_classes);

// The rows of each node, in ascending order.
struct NodeRows {
    std::span<const uint32_t> order;
    std::span<const int64_t> starts;  // of the rows of each node in `order`; one more than nodes

    std::span<const uint32_t> operator[](int64_t node) const {
        const auto i = static_cast<size_t>(node);
        return order.subspan(static_cast<size_t>(starts[i]), static_cast<size_t>(starts[i + 1] - starts[i]));
    }
};

// Deviations of targets in sums of squares: q = (y − centre) >> shift.
struct Deviation {
    int64_t centre;
    int shift;
};

void sort_by_node(std::span<const int64_t> nodes, std::span<uint32_t> order, std::span<int64_t> starts);

BinCounts count_bins(const std::vector<Column>& columns, const Target& target, const NodeRows& rows,
                     std::span<const CountRequest> requests, Deviation deviation, ThreadPool& pool,
                     const CheckInterrupt& check_interrupt);

struct TargetRange {
    int64_t low, high;
    double raw_low, raw_high;
};

// Regression: the range of the targets of some rows, which are one at least.
TargetRange find_target_range(const Target& target, std::span<const uint32_t> rows);

struct TargetMoments {
    int128 sum = 0, squares = 0;
};

// Regression: Σ w·d and Σ w·d² for d = (y − mean) >> shift.
TargetMoments sum_target_moments(const Target& target, std::span<const uint32_t> rows, Deviation about);

}  // namespace treewise
