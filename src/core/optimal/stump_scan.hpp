// The extremes of running sums of signed weights, over the rows left and right of a cut: the best stump below each
// side.
//
// A stump that predicts class 1 where a test's left branch has the signed sum v costs P − v (P the positive weight),
// the opposite one N + v; so the best one follows from the largest and the smallest v over all thresholds. A sorted
// column is stored as 32-byte vectors whose lanes are consecutive stretches of it, so that running sums need no
// shuffles; the lanes are joined at the end.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace treewise::optimal {

struct Extremes {
    int64_t most = 0, least = 0;
    void include(int64_t high, int64_t low) {
        if (high > most) most = high;
        if (low < least) least = low;
    }
};

template <class T>
struct alignas(32) Lanes {
    static constexpr size_t kCount = 32 / sizeof(T);
    T lane[kCount];
};

// Over a column in sorted order, n vectors: `cut_rank` are the ranks of its rows in the column of the cut, `sign` their
// signed weights, `is_end` is -1 where the value is the last of its kind.
void scan(const Lanes<int16_t>* cut_rank, const Lanes<int16_t>* sign, const Lanes<int16_t>* is_end, size_t n,
          int16_t cut, Extremes& left, Extremes& right);
void scan(const Lanes<int32_t>* cut_rank, const Lanes<int32_t>* sign, const Lanes<int32_t>* is_end, size_t n,
          int32_t cut, Extremes& left, Extremes& right);
void scan(const Lanes<int64_t>* cut_rank, const Lanes<int64_t>* sign, const Lanes<int64_t>* is_end, size_t n,
          int64_t cut, Extremes& left, Extremes& right);

// For several classes: the largest weight that a stump below each side of a cut predicts rightly. `left` and `right`
// are the weights of the classes on the two sides, `best_left` and `best_right` are raised.
inline constexpr size_t kMaxScanned = 16;
struct ClassSides {
    size_t n_classes;
    const int64_t *left, *right;
    int64_t best_left, best_right;
};
void scan_classes(const Lanes<int16_t>* cut_rank, const Lanes<int16_t>* label, const Lanes<int16_t>* weight,
                  const Lanes<int16_t>* is_end, size_t n, int16_t cut, ClassSides& sides);
void scan_classes(const Lanes<int32_t>* cut_rank, const Lanes<int32_t>* label, const Lanes<int32_t>* weight,
                  const Lanes<int32_t>* is_end, size_t n, int32_t cut, ClassSides& sides);

// Adds the signed weights of some rows to the sums of the columns that are 1 in them; `bits` has `stride` vectors a
// row.
void add_rows(const uint32_t* rows, size_t n, const int16_t* sign, const Lanes<int16_t>* bits, size_t stride,
              Lanes<int16_t>* sum);
void add_rows(const uint32_t* rows, size_t n, const int32_t* sign, const Lanes<int32_t>* bits, size_t stride,
              Lanes<int32_t>* sum);
void add_rows(const uint32_t* rows, size_t n, const int64_t* sign, const Lanes<int64_t>* bits, size_t stride,
              Lanes<int64_t>* sum);

// The number of rows of a set that another does not have.
int64_t count_difference(const uint64_t* set, const uint64_t* other, size_t n_words);

}  // namespace treewise::optimal
