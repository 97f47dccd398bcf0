// Boosting: many trees on one table, each on the weights that the mistakes of the one before left behind.
//
// treewise/ensemble/adaboost.py has the rounds and their arithmetic; here is what is done to every row of the table in
// a round: growing a stump on columns that were sorted once (StumpGrower), adding up mistakes, weighing anew, casting
// votes. SumStats are of integers and rows are independent, so nothing depends on the number of threads.

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
    // Whether these settings on this table are for stumps; if not, ordinary growth has to do it.
    static bool supports(const std::vector<Column>& columns, const Target& target, const Settings& settings);

    StumpGrower(std::vector<Column> columns, const Target& target, const Settings& settings,
                const ProgressCallback& progress);
    StumpGrower(const StumpGrower&) = delete;
    StumpGrower& operator=(const StumpGrower&) = delete;

    int64_t n_rows() const { return target_.n_rows; }

    // The tree of depth 1 on these weights, one a row; said: the class it gives each row. The least weight of a leaf is
    // a share of all weight, which changes with the weights.
    Nodes grow(const int64_t* weight, int weight_scale, int64_t min_leaf_weight, uint64_t seed, uint8_t* predicted,
               const ProgressCallback& progress);

private:
    template <TargetKind S>
    Nodes grow_on_presorted(uint8_t* predicted, const ProgressCallback& progress);

    std::vector<Column> columns_;
    Target target_;
    Settings settings_;
    std::optional<PresortedColumns> presorted_;
    std::optional<LookupTables> tables_;
    std::unique_ptr<FitContext> context_;
};

// What was said of the rows, and what is true.
struct Predictions {
    Labels truth, predicted;
    int64_t n_rows;
};

int64_t error_weight(const Predictions& predictions, const int64_t* weight, int n_jobs);
// weight·factor, to the nearest whole number and at least 1: one factor for what was right, one for what was wrong.
void reweight(const Predictions& predictions, const int64_t* weight, double right, double wrong, int64_t* out,
              int n_jobs);
// Adds a vote to the score of the class that was said of each row (n_classes scores a row); returns the weight of the
// rows whose largest score (the first of equals) is not that of their class.
int64_t add_vote(const Predictions& predictions, double vote, int64_t n_classes, const int64_t* weight, double* scores,
                 int n_jobs);

}  // namespace treewise
