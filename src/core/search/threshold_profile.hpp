// The thresholds of a numeric column at one node: where the gain is how large, and which of them may be the best.
//
// For people who edit a tree (edit/node_search.py): they want every column of one node, not the best split of all
// nodes. Numbers are sorted once per table; a node marks its rows and reads each column in order:
//
//     sorted rows    f b d a e c …        of the node:  f . d a . c        a cut between d and a: [f d | a c]
//
// Scores are doubles. The thresholds within rounding of the best are returned with the exact statistics of their left
// side, and Python scores these by the specification (train/reference.py): doubles never decide.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "criteria/row_stats.hpp"
#include "problem/problem.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

// The rows of each numeric column in order of value.
class SortedColumns {
public:
    SortedColumns(const std::vector<Column>& columns, int64_t n_rows, ThreadPool& pool,
                  const CheckInterrupt& check_interrupt);

    struct Order {
        std::vector<uint32_t> rows, missing;  // those with a value; those without, ascending
        std::vector<uint8_t> differs;         // whether the value is another than the one before
    };
    const Order& operator[](size_t column) const { return orders_[column]; }
    size_t size() const { return orders_.size(); }
    int64_t n_rows() const { return n_rows_; }

private:
    int64_t n_rows_;
    std::vector<Order> orders_;
};

// A threshold: between the values of two rows that are neighbours in the node.
struct ProfiledCut {
    double gain = 0;        // in total impurity; targets as scaled integers
    int64_t position = 0;   // among the thresholds of the column, in order
    int64_t placement = 0;  // 0: missing rows are on the left, 1: on the right; 0 if there are none
    uint32_t low_row = 0, high_row = 0;
};

struct ThresholdProfile {
    int64_t n_cuts = 0;
    int64_t n_eligible = 0;            // those that leave enough rows on both sides
    std::vector<ProfiledCut> best;     // those that may be the best …
    std::vector<int64_t> left;         // … and the statistics of the present rows on their left (row_stats.hpp)
    std::vector<int64_t> missing;      // statistics of the rows without a value
    std::vector<ProfiledCut> points;   // for a chart: the best threshold of each part of the rows, in order
    std::vector<int64_t> points_left;  // rows on the left of each point, without missing ones
};

// rows: of the node, ascending; n_points: the largest number of points.
std::vector<ThresholdProfile> profile_thresholds(const std::vector<Column>& columns, const Target& target,
                                                 const Settings& settings, const SortedColumns& sorted,
                                                 std::span<const uint32_t> rows, std::span<const int64_t> chosen,
                                                 int64_t n_points, ThreadPool& pool,
                                                 const CheckInterrupt& check_interrupt);

}  // namespace treewise
