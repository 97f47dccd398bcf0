// What is left to chance at a node: which columns it looks at, where a random cut lies, who wins a tie.
//
// A counter-based generator: every draw is a function of the node's key, which depends on the seed and the path from
// the root, and of what is drawn. So it is the same whoever asks, in which order, and on how many threads.
// treewise/_lib/rng.py says the same in Python.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace treewise {

// splitmix64's finaliser.
inline uint64_t stir(uint64_t state, uint64_t value) {
    uint64_t z = state + 0x9E3779B97F4A7C15u * (value + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// Streams of a node, apart from those of its branches and of ties, which are numbered from 0.
inline constexpr uint64_t kColumnStream = uint64_t{1} << 62, kCutStream = kColumnStream + 1;

inline uint64_t below(uint64_t random, uint64_t n) {  // a number from 0 to n − 1
    return static_cast<uint64_t>((static_cast<unsigned __int128>(random) * n) >> 64);
}
// What a column's random test of one kind is drawn from.
inline uint64_t cut_key(uint64_t node, uint64_t column, uint64_t kind) {
    return stir(stir(stir(node, kCutStream), column), kind);
}

// The columns of a node in random order: drawn one by one, none twice.
class ColumnDraw {
public:
    explicit ColumnDraw(size_t n_columns) : order_(n_columns) { std::iota(order_.begin(), order_.end(), size_t{0}); }

    void open(uint64_t node) {
        while (!partners_.empty()) {  // back to the order of the table
            std::swap(order_[partners_.size() - 1], order_[partners_.back()]);
            partners_.pop_back();
        }
        key_ = stir(node, kColumnStream);
    }
    bool empty() const { return partners_.size() == order_.size(); }
    size_t next() {
        const size_t at = partners_.size();
        partners_.push_back(at + below(stir(key_, at), order_.size() - at));
        std::swap(order_[at], order_[partners_.back()]);
        return order_[at];
    }

private:
    std::vector<size_t> order_, partners_;  // who changed places with the first, the second, …
    uint64_t key_ = 0;
};

// A threshold t, uniform in low <= t < high; low < high.
inline double random_cut(uint64_t random, double low, double high) {
    constexpr double kMost = std::numeric_limits<double>::max();
    const double share = static_cast<double>(random >> 11) * 0x1p-53;
    const double t = std::max(low, -kMost) * (1 - share) + std::min(high, kMost) * share;
    return low <= t && t < high ? t + 0.0 : low + 0.0;  // −0.0 becomes 0.0
}
inline int64_t random_cut(uint64_t random, int64_t low, int64_t high) {
    return static_cast<int64_t>(static_cast<uint64_t>(low) +
                                below(random, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)));
}

// Which of n >= 2 levels a random subset names: some, and not all.
inline void random_subset(uint64_t random, size_t n, std::vector<uint8_t>& named) {
    named.resize(n);
    for (uint64_t attempt = 0;; ++attempt) {
        size_t count = 0;
        for (size_t i = 0; i < n; ++i) count += named[i] = stir(stir(random, attempt), i) & 1;
        if (count > 0 && count < n) return;
    }
}

}  // namespace treewise
