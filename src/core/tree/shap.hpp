// Shapley values of the columns for a tree's predictions (path-dependent TreeSHAP, see explain/shap.py).

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tree/predict.hpp"

namespace treewise {

// Predictions of the nodes, and how rows with an unknown column are distributed over branches.
struct ShapInputs {
    std::span<const double> share;         // fraction of each node among its siblings
    std::span<const double> stay;          // fraction that stays at a node; negative if none can
    std::span<const int64_t> answer_node;  // the node that answers for a row that stays here
    std::span<const double> outputs;       // n_outputs numbers per node
    int64_t n_outputs = 1;
};

// Writes n_columns × n_outputs numbers per row.
void shapley_values(const TreeView& tree, const ShapInputs& inputs, const std::vector<Column>& columns, int64_t n_rows,
                    int n_jobs, const ProgressCallback& progress, double* values);

}  // namespace treewise
