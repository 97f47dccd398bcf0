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
    int64_t low = kNoKey, high = kNoKey;  // keys; kNoKey: a category, or no row has a value

    // The weight that must be reached, of all that is present.
    static int64_t least_low(int64_t weight) { return (weight + 3) / 4; }
    static int64_t least_high(int64_t weight) { return (3 * weight + 3) / 4; }
};

// Of rows that stand in order, so many with a value: weight(i) and key(i) of the one at place i. unit: all weigh 1.
template <class Weight, class Key>
Quartiles quartiles_in_order(int64_t present, bool unit, const Weight& weight, const Key& key) {
    int64_t total = unit ? present : 0;
    for (int64_t i = 0; !unit && i < present; ++i) total += weight(i);
    const auto reaching = [&](int64_t wanted) {
        int64_t i = unit ? wanted - 1 : 0;
        for (int64_t sum = 0; !unit && (sum += weight(i)) < wanted;) ++i;
        return key(i);
    };
    return {reaching(Quartiles::least_low(total)), reaching(Quartiles::least_high(total))};
}

// Some rows of a column, to be selected from by weight.
class Selection {
public:
    explicit Selection(View<int64_t> weight, bool unit) : weight_(weight), unit_(unit) {}

    void clear() { keys_.clear(), parts_.clear(); }
    void add(int64_t key, size_t row) { unit_ ? keys_.push_back(key) : parts_.push_back({key, weight_[row]}); }
    int64_t weight() const;
    // The smallest key such that the rows with keys up to it have at least the weight wanted, which all have together.
    int64_t reaching(int64_t wanted);

private:
    struct Part {
        int64_t key, weight;
    };
    View<int64_t> weight_;
    bool unit_;
    std::vector<int64_t> keys_;  // of rows of unit weight; or
    std::vector<Part> parts_;
};

// unit: every row weighs 1.
std::vector<Quartiles> find_quartiles(const std::vector<Column>& columns, View<int64_t> weight, int64_t n_rows,
                                      bool unit, Crew& crew, const Pulse& tick);

}  // namespace treewise
