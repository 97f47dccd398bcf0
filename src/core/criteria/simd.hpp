// Purities of many neighbouring cuts at once, for small weights: loops over arrays that compilers vectorise. The
// purities equal those of RunningSplit (criteria/approx_impurity.hpp) up to rounding, which its error bound covers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace treewise {

// Tabulated 1/n, with 0 for n = 0.
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

// A run of cuts. `total` and `sum`: weight and weight of class 1 (or centred sum of targets) of both sides together;
// `left_weight`: weight already on the left. prefix[k]: class-1 weight (or sum) on the left after k + 1 more rows;
// weight[k]: weight on the left then, or null where every row weighs 1.
struct CutSweep {
    int64_t n;  // number of cuts
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

// Smallest and largest key that is not missing, and how many there are (problem/sort_keys.hpp).
struct KeyRange {
    int64_t low, high, present;
};
KeyRange range_of(const int64_t* keys, size_t n);
// Totals of the rows whose key is at most `max_key`.
struct LeftSums {
    int64_t rows, weight, target_sum;
};
LeftSums sum_left(const int64_t* keys, size_t n, int64_t max_key, const int64_t* weight, const int64_t* target);

size_t argmax(const double* numbers, size_t n);  // index of the first maximum

// ranks[i]: how many of the n distinct numbers are smaller than numbers[i]. Both arrays have room for a multiple of 8.
void compute_ranks(int32_t* numbers, size_t n, int32_t* positions);

// Weights of at most 64 rows as bit planes: weight[k] has the rows whose weight has bit k set, ones[k] those of class
// 1.
struct WeightBits {
    static constexpr int kMaxBits = 10;
    int n = 0;
    uint64_t weight[kMaxBits] = {}, ones[kMaxBits] = {};
};
// Index of the first set equal to either of two; n if there is none.
size_t find_either(const uint64_t* sets, size_t n, uint64_t one, uint64_t other);
// Row count, weight and class-1 weight of each set of rows.
void count_bits(const uint64_t* sets, size_t n, const WeightBits& bits, int64_t* rows, double* weight, double* ones);

void purity_of_cuts_gini(const CutSweep& sweep, const double* inverse);
void purity_of_cuts_entropy(const CutSweep& sweep, const double* nlogn);
void purity_of_cuts_error(const CutSweep& sweep);
// Poisson; the quantised sums are not centred. Its logarithms are off by less than 2^-44.
void purity_of_cuts_poisson(const CutSweep& cuts);
void purity_of_cuts_squared_error(const CutSweep& sweep, const double* inverse);

}  // namespace treewise
