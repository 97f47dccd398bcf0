// Boosting: many trees on one table, each on the weights that the mistakes of the one before left behind.
//
// treewise/ensemble/adaboost.py has the rounds and their arithmetic; here is what is done to every row of the table in
// a round: growing a stump on columns that were sorted once (Stumps), adding up mistakes, weighing anew, casting votes.
// Sums are of integers and rows are independent, so nothing depends on the number of threads.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engines/stumps.hpp"
#include "grow/grow.hpp"
#include "problem/problem.hpp"

namespace treewise {

class Stumps {
public:
    // Whether these settings on this table are for stumps; if not, ordinary growth has to do it.
    static bool cover(const std::vector<Column>& columns, const Target& target, const Settings& settings);

    Stumps(std::vector<Column> columns, const Target& target, const Settings& settings, const Monitor& monitor);
    Stumps(const Stumps&) = delete;
    Stumps& operator=(const Stumps&) = delete;

    int64_t n_rows() const { return target_.n_rows; }

    // The tree of depth 1 on these weights, one a row; said: the class it gives each row. The least weight of a leaf is
    // a share of all weight, which changes with the weights.
    Nodes grow(const int64_t* weight, int weight_scale, int64_t min_leaf_weight, uint64_t seed, uint8_t* said,
               const Monitor& monitor);

private:
    template <Shape S>
    Nodes grow_on_orders(uint8_t* said, const Monitor& monitor);

    std::vector<Column> columns_;
    Target target_;
    Settings settings_;
    std::optional<Orders> orders_;
    std::optional<Tables> tables_;
    std::unique_ptr<Frame> frame_;
};

// What was said of the rows, and what is true.
struct Answers {
    Labels truth, said;
    int64_t n_rows;
};

int64_t weight_of_mistakes(const Answers& answers, const int64_t* weight, int n_jobs);
// weight·factor, to the nearest whole number and at least 1: one factor for what was right, one for what was wrong.
void weigh_anew(const Answers& answers, const int64_t* weight, double right, double wrong, int64_t* out, int n_jobs);
// Adds a vote to the score of the class that was said of each row (n_classes scores a row); returns the weight of the
// rows whose largest score (the first of equals) is not that of their class.
int64_t cast_votes(const Answers& answers, double vote, int64_t n_classes, const int64_t* weight, double* scores,
                   int n_jobs);

}  // namespace treewise
