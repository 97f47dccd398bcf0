// Constraints on the splits of a node: what its descendants may predict, and which columns they may test.
//
// A split of a monotone column is allowed if what its branches predict is in order. All nodes on either side then stay
// on their side of the middle between the two, so that no later split, of whatever column, breaks the order:
//
//     age <= 40: 0.2 | 0.5      below 40 at most 0.35, above at least 0.35
//
// Columns may be tested on one path if some group of columns contains them all (interactions). The first test of a
// column on a path costs what measuring it costs; its gain must be at least that.
//
// train/constraints.py is the specification.

#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "problem/problem.hpp"

namespace treewise {

inline bool is_any_monotone(const std::vector<Column>& columns) {
    return std::any_of(columns.begin(), columns.end(), [](const Column& column) { return column.monotone != 0; });
}
inline bool has_groups(const std::vector<Column>& columns) {
    return std::any_of(columns.begin(), columns.end(),
                       [](const Column& c) { return c.interaction_groups != kAllGroups; });
}
inline bool has_feature_costs(const std::vector<Column>& columns) {
    return std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.feature_cost > 0; });
}
inline bool has_constraints(const std::vector<Column>& columns) {
    return is_any_monotone(columns) || has_groups(columns) || has_feature_costs(columns);
}

// Whether the values of the branches below and above a threshold are in the order that a column requires.
inline bool are_in_order(const Column& column, double below, double above) {
    return column.monotone >= 0 ? below <= above : below >= above;
}

// What holds at a node.
struct NodeConstraints {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    uint64_t interaction_groups = kAllGroups;  // groups of columns that contain all columns tested above

    uint64_t acquired = 0;  // columns tested above that have a feature cost, as a bit mask

    double feature_cost(const Column& column) const {
        return acquired & column.feature_cost_bit ? 0.0 : column.feature_cost;
    }
    bool allows(const Column& column) const { return (interaction_groups & column.interaction_groups) != 0; }
    bool allows(double value) const { return low <= value && value <= high; }
    double clip(double value) const { return value < low ? low : value > high ? high : value; }

    // Narrows the constraints of the two branches of a threshold, which are those of their parent. Clipping matters
    // only if the branches were rounded differently as nodes of their own (NodeContext::begin_node).
    static void separate(const Column& column, NodeConstraints& below, NodeConstraints& above, double& below_value,
                         double& above_value) {
        const double middle = below_value / 2 + above_value / 2;
        (column.monotone > 0 ? below : above).high = middle;
        (column.monotone > 0 ? above : below).low = middle;
        below_value = below.clip(below_value), above_value = above.clip(above_value);
    }
};

// Columns by what testing them costs at a node, free ones first.
inline std::map<double, std::vector<size_t>> group_by_feature_cost(const std::vector<Column>& columns,
                                                                   const std::vector<size_t>& indices,
                                                                   const NodeConstraints& constraints) {
    std::map<double, std::vector<size_t>> groups;
    for (size_t c : indices) groups[constraints.feature_cost(columns[c])].push_back(c);
    return groups;
}

}  // namespace treewise
