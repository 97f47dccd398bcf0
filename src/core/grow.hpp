// Growing a tree: the one function Python calls, and the flat arrays it returns.

#pragma once

#include <vector>

#include "problem.hpp"
#include "quartiles.hpp"

namespace treewise {

// One entry a node, in pre-order; nodes.py (Arrays) explains each.
struct Nodes {
    std::vector<int64_t> parent;
    std::vector<uint8_t> kind;
    std::vector<int32_t> column;
    std::vector<double> cut;
    std::vector<int64_t> cut_int;
    std::vector<int32_t> missing;
    std::vector<int32_t> other;
    std::vector<int64_t> code_start{0};
    std::vector<int32_t> codes;
    std::vector<uint8_t> stop;
    std::vector<int64_t> rows;
    std::vector<int64_t> missing_rows;
    std::vector<double> weight;
    std::vector<double> impurity;
    std::vector<double> gain;
    std::vector<int32_t> label;
    std::vector<int64_t> count_start{0};
    std::vector<int32_t> count_class;
    std::vector<double> count_weight;
    std::vector<double> value;
    std::vector<double> spread;

    std::vector<Quartiles> quartiles;  // of each column, if asked for
};

Nodes grow(const std::vector<Column>& columns, const Target& target, const Settings& settings, const Monitor& monitor);

}  // namespace treewise
