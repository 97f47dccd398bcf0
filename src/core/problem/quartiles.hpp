// Lower and upper weighted quartile of each numeric column over all rows, stored with the tree.
//
// The lower quartile is the smallest value such that rows up to it have at least a quarter of the weight; for the upper
// one, three quarters. Missing values are ignored (tests/unit/train/test_quartiles.py has a Python version). This file
// selects among all rows; search/histogram_builder.hpp uses its counts and selects within one bin.

#pragma once

#include <cstdint>
#include <vector>

#include "problem/sort_keys.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

struct Quartiles {
    int64_t low = kMissingKey, high = kMissingKey;  // keys; kMissingKey for a category or an all-missing column

    // The cumulative weight a quartile must reach, given the total weight of the present rows.
    static int64_t lower_weight(int64_t weight) { return (weight + 3) / 4; }
    static int64_t upper_weight(int64_t weight) { return (3 * weight + 3) / 4; }
};

// For sorted rows of which the first `present` have a value; weight(i) and key(i) describe row i of the order.
template <class Weight, class Key>
Quartiles quartiles_of_sorted(int64_t present, bool unit_weights, const Weight& weight, const Key& key) {
    int64_t total = unit_weights ? present : 0;
    for (int64_t i = 0; !unit_weights && i < present; ++i) total += weight(i);
    const auto key_at_weight = [&](int64_t required) {
        int64_t i = unit_weights ? required - 1 : 0;
        for (int64_t sum = 0; !unit_weights && (sum += weight(i)) < required;) ++i;
        return key(i);
    };
    return {key_at_weight(Quartiles::lower_weight(total)), key_at_weight(Quartiles::upper_weight(total))};
}

// Weighted selection among rows of a column.
class WeightedSelector {
public:
    explicit WeightedSelector(View<int64_t> weight, bool unit_weights) : weight_(weight), unit_(unit_weights) {}

    void clear() { keys_.clear(), weighted_keys_.clear(); }
    void add(int64_t key, size_t row) { unit_ ? keys_.push_back(key) : weighted_keys_.push_back({key, weight_[row]}); }
    int64_t weight() const;
    // The smallest key whose cumulative weight reaches `required`, which must not exceed the total.
    int64_t key_at_weight(int64_t required);

private:
    struct WeightedKey {
        int64_t key, weight;
    };
    View<int64_t> weight_;
    bool unit_;
    std::vector<int64_t> keys_;  // rows of unit weight only
    std::vector<WeightedKey> weighted_keys_;
};

std::vector<Quartiles> find_quartiles(const std::vector<Column>& columns, View<int64_t> weight, int64_t n_rows,
                                      bool unit_weights, ThreadPool& pool, const CheckInterrupt& check_interrupt);

}  // namespace treewise
