// Scores of many neighbouring cuts at once, for rows of small weights: plain loops over arrays, which compilers turn
// into vector instructions. The same scores as RunningSplit's (criteria/approx_impurity.hpp), give or take the last
// bit, which `delta` covers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace treewise {

// 1/n, and 0 for 0.
class ReciprocalTable {
public:
    explicit ReciprocalTable(int64_t max) : table_(static_cast<size_t>(max) + 1, 0.0) {
        for (size_t n = 1; n < table_.size(); ++n) table_[n] = 1.0 / static_cast<double>(n);
    }
    int64_t max() const { return static_cast<int64_t>(table_.size()) - 1; }
    const double* data() const { return table_.data(); }

private:
    std::vector<double> table_;
};

// Both sides of a run: of weight `total`, with `sum` ones (or sum of targets about the mean); a weight of `left_weight`
// is on the left already. prefix[k]: ones (or sum) on the left after k + 1 more rows; weight[k]: what the left weighs
// then, or no such array where each row weighs 1.
struct CutSweep {
    int64_t n;  // cuts
    int64_t left_weight, total;
    double sum;
    const double* prefix;
    const double* weight;
    double* out;
};

struct Range32 {
    uint32_t low, high;
};
Range32 range_of(const uint32_t* numbers, size_t n);

// Of n keys (problem/sort_keys.hpp): the least and the largest of those that are not missing, and how many these are.
struct KeyRange {
    int64_t low, high, present;
};
KeyRange range_of(const int64_t* keys, size_t n);
// What the rows add up to whose key is at most so large.
struct LeftSums {
    int64_t rows, weight, value;
};
LeftSums sum_left(const int64_t* keys, size_t n, int64_t max_key, const int64_t* weight, const int64_t* value);

size_t argmax(const double* numbers, size_t n);  // where it stands

// How many of n different numbers are smaller than each: its place, were they in order. Both arrays have room for a
// multiple of 8.
void compute_ranks(int32_t* numbers, size_t n, int32_t* positions);

// The weights of at most 64 rows, bit by bit: weight[k] has the rows whose weight has bit k, ones[k] those of class 1.
struct WeightBits {
    static constexpr int kMaxBits = 10;
    int n = 0;
    uint64_t weight[kMaxBits] = {}, ones[kMaxBits] = {};
};
// Where the first of these sets stands that is one of two; n if none is.
size_t find_either(const uint64_t* sets, size_t n, uint64_t one, uint64_t other);
// Of each set of rows, their number, weight, and weight of class 1.
void count_bits(const uint64_t* sets, size_t n, const WeightBits& bits, int64_t* rows, double* weight, double* ones);

void score_cuts_gini(const CutSweep& sweep, const double* inverse);
void score_cuts_entropy(const CutSweep& sweep, const double* nlogn);
void score_cuts_error(const CutSweep& sweep);
void score_cuts_squared_error(const CutSweep& sweep, const double* inverse);

}  // namespace treewise
