// The lower and the upper quartile of each column of numbers, over all rows: what a tree keeps of how its columns
// spread.
//
// The lower quartile is the smallest value such that the rows with values up to it have at least a quarter of the
// weight, the upper one three quarters; rows in which the column is missing are left out
// (tests/unit/train/test_quartiles.py says it in Python). Here they are selected among all rows;
// search/histogram_builder.hpp, which has counted those of each bin, looks into one.

#pragma once

#include <cstdint>
#include <vector>

#include "problem/sort_keys.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

struct Quartiles {
    int64_t low = kMissingKey, high = kMissingKey;  // keys; kMissingKey: a category, or no row has a value

    // The weight that must be reached, of all that is present.
    static int64_t lower_weight(int64_t weight) { return (weight + 3) / 4; }
    static int64_t upper_weight(int64_t weight) { return (3 * weight + 3) / 4; }
};

// Of rows that stand in order, so many with a value: weight(i) and key(i) of the one at place i. unit: all weigh 1.
template <class Weight, class CandidateKey>
Quartiles quartiles_of_sorted(int64_t present, bool unit_weights, const Weight& weight, const CandidateKey& key) {
    int64_t total = unit_weights ? present : 0;
    for (int64_t i = 0; !unit_weights && i < present; ++i) total += weight(i);
    const auto key_at_weight = [&](int64_t required) {
        int64_t i = unit_weights ? required - 1 : 0;
        for (int64_t sum = 0; !unit_weights && (sum += weight(i)) < required;) ++i;
        return key(i);
    };
    return {key_at_weight(Quartiles::lower_weight(total)), key_at_weight(Quartiles::upper_weight(total))};
}

// Some rows of a column, to be selected from by weight.
class WeightedSelector {
public:
    explicit WeightedSelector(View<int64_t> weight, bool unit_weights) : weight_(weight), unit_(unit_weights) {}

    void clear() { keys_.clear(), weighted_keys_.clear(); }
    void add(int64_t key, size_t row) { unit_ ? keys_.push_back(key) : weighted_keys_.push_back({key, weight_[row]}); }
    int64_t weight() const;
    // The smallest key such that the rows with keys up to it have at least the weight wanted, which all have together.
    int64_t key_at_weight(int64_t required);

private:
    struct WeightedKey {
        int64_t key, weight;
    };
    View<int64_t> weight_;
    bool unit_;
    std::vector<int64_t> keys_;  // of rows of unit weight; or
    std::vector<WeightedKey> weighted_keys_;
};

// unit: every row weighs 1.
std::vector<Quartiles> find_quartiles(const std::vector<Column>& columns, View<int64_t> weight, int64_t n_rows,
                                      bool unit_weights, ThreadPool& pool, const CheckInterrupt& check_interrupt);

}  // namespace treewise
