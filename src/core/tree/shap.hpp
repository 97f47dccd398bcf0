// Shapley values of the columns for the answers of a tree (TreeSHAP, path-dependent): explain/shap.py says what they
// are.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tree/predict.hpp"

namespace treewise {

// What the tree answers with, and how rows that say nothing of a column are spread over a node's branches.
struct ShapInputs {
    std::span<const double> share;         // of each node among its siblings
    std::span<const double> stay;          // of the rows that stay at a node; negative where none can
    std::span<const int64_t> answer_node;  // the node that answers for a row which stays at this one
    std::span<const double> outputs;       // what each node answers: n_outputs numbers a node
    int64_t n_outputs = 1;
};

// Writes n_columns × n_outputs numbers a row.
void shapley_values(const TreeView& tree, const ShapInputs& inputs, const std::vector<Column>& columns, int64_t n_rows,
                    int n_jobs, const ProgressCallback& progress, double* values);

}  // namespace treewise
