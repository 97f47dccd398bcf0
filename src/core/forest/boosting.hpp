// Boosting: the per-row work of an AdaBoost round.
//
// ensemble/adaboost.py runs the rounds and their arithmetic; this file grows a stump on presorted columns
// (StumpGrower), sums the weight of misclassified rows, updates weights and adds votes. All sums are integer and rows
// are independent, so results do not depend on the number of threads.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engines/stumps.hpp"
#include "grow/grow.hpp"
#include "problem/problem.hpp"

namespace treewise {

class StumpGrower {
public:
    // Whether this engine handles these settings on this table; otherwise use ordinary growth.
    static bool supports(const std::vector<Column>& columns, const Target& target, const Settings& settings);

    StumpGrower(std::vector<Column> columns, const Target& target, const Settings& settings,
                const ProgressCallback& progress);
    StumpGrower(const StumpGrower&) = delete;
    StumpGrower& operator=(const StumpGrower&) = delete;

    int64_t n_rows() const { return target_.n_rows; }

    // Grows a tree of depth 1 on these weights (one per row); predicted: the class it gives each row. The minimal leaf
    // weight is a fraction of the total, so it changes with the weights.
    Nodes grow(const int64_t* weight, int weight_scale, int64_t min_leaf_weight, uint64_t seed, uint8_t* predicted,
               const ProgressCallback& progress);

private:
    template <TargetKind K>
    Nodes grow_on_presorted(uint8_t* predicted, const ProgressCallback& progress);

    std::vector<Column> columns_;
    Target target_;
    Settings settings_;
    std::optional<PresortedColumns> presorted_;
    std::optional<LookupTables> tables_;
    std::unique_ptr<FitContext> context_;
};

// Predicted and true classes.
struct Predictions {
    Labels truth, predicted;
    int64_t n_rows;
};

int64_t error_weight(const Predictions& predictions, const int64_t* weight, int n_jobs);
// weight·factor, rounded to an integer of at least 1; separate factors for correct and incorrect rows.
void reweight(const Predictions& predictions, const int64_t* weight, double right, double wrong, int64_t* out,
              int n_jobs);
// Adds a vote to the score of each row's predicted class (n_classes scores per row); returns the weight of the rows
// whose highest-scoring class (the first among equals) is wrong.
int64_t add_vote(const Predictions& predictions, double vote, int64_t n_classes, const int64_t* weight, double* scores,
                 int n_jobs);

}  // namespace treewise
