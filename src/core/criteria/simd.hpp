// Scores of many neighbouring cuts at once, for rows of small weights: plain loops over arrays, which compilers turn
// into vector instructions. The same scores as Run's (criteria/approx_impurity.hpp), give or take the last bit, which
// `delta` covers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace treewise {

// 1/n, and 0 for 0.
class Inverses {
public:
    explicit Inverses(int64_t most) : table_(static_cast<size_t>(most) + 1, 0.0) {
        for (size_t n = 1; n < table_.size(); ++n) table_[n] = 1.0 / static_cast<double>(n);
    }
    int64_t most() const { return static_cast<int64_t>(table_.size()) - 1; }
    const double* data() const { return table_.data(); }

private:
    std::vector<double> table_;
};

// Both sides of a run: of weight `all`, with `sum` ones (or sum of targets about the mean); a weight of `before` is on
// the left already. prefix[k]: ones (or sum) on the left after k + 1 more rows; weight[k]: what the left weighs then,
// or no such array where each row weighs 1.
struct Sweep {
    int64_t n;  // cuts
    int64_t before, all;
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
struct UpTo {
    int64_t rows, weight, load;
};
UpTo count_up_to(const int64_t* keys, size_t n, int64_t most, const int64_t* weight, const int64_t* load);

size_t first_largest(const double* numbers, size_t n);  // where it stands

// How many of n different numbers are smaller than each: its place, were they in order. Both arrays have room for a
// multiple of 8.
void count_before(int32_t* numbers, size_t n, int32_t* places);

// The weights of at most 64 rows, bit by bit: weight[k] has the rows whose weight has bit k, ones[k] those of class 1.
struct WeightBits {
    static constexpr int kMost = 10;
    int n = 0;
    uint64_t weight[kMost] = {}, ones[kMost] = {};
};
// Where the first of these sets stands that is one of two; n if none is.
size_t find_either(const uint64_t* sets, size_t n, uint64_t one, uint64_t other);
// Of each set of rows, their number, weight, and weight of class 1.
void count_sets(const uint64_t* sets, size_t n, const WeightBits& bits, int64_t* rows, double* weight, double* ones);

void sweep_gini(const Sweep& sweep, const double* inverse);
void sweep_entropy(const Sweep& sweep, const double* nlogn);
void sweep_error(const Sweep& sweep);
void sweep_squares(const Sweep& sweep, const double* inverse);

}  // namespace treewise
