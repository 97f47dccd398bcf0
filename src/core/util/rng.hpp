// Counter-based random numbers: which columns a node samples, where a random cut lies, how ties are broken.
//
// Every draw is a function of the node's key (derived from the seed and the path from the root) and of what is drawn,
// so it does not depend on call order or the number of threads. treewise/_lib/rng.py is the Python counterpart.

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

// The splitmix64 finaliser.
inline uint64_t mix64(uint64_t state, uint64_t value) {
    uint64_t z = state + 0x9E3779B97F4A7C15u * (value + 1);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// Streams of a node; those of its branches are numbered from 0.
inline constexpr uint64_t kColumnStream = uint64_t{1} << 62, kCutStream = kColumnStream + 1,
                          kTieStream = kColumnStream + 2;

inline uint64_t uniform_below(uint64_t random, uint64_t n) {  // uniform in 0 … n − 1
    return static_cast<uint64_t>((static_cast<unsigned __int128>(random) * n) >> 64);
}
// Random rank of a column at a node; the smallest wins a tie.
inline uint64_t tie_key(uint64_t node, uint64_t column) { return mix64(mix64(node, kTieStream), column); }
// Key of a column's random split of one kind.
inline uint64_t split_key(uint64_t node, uint64_t column, uint64_t kind) {
    return mix64(mix64(mix64(node, kCutStream), column), kind);
}

// Samples the columns of a node without replacement (Fisher-Yates, one swap per draw).
class ColumnSampler {
public:
    explicit ColumnSampler(size_t n_columns) : order_(n_columns) { std::iota(order_.begin(), order_.end(), size_t{0}); }

    void begin_node(uint64_t node) {
        while (!swaps_.empty()) {  // undo the swaps: back to table order
            std::swap(order_[swaps_.size() - 1], order_[swaps_.back()]);
            swaps_.pop_back();
        }
        key_ = mix64(node, kColumnStream);
    }
    bool empty() const { return swaps_.size() == order_.size(); }
    size_t next() {
        const size_t at = swaps_.size();
        swaps_.push_back(at + uniform_below(mix64(key_, at), order_.size() - at));
        std::swap(order_[at], order_[swaps_.back()]);
        return order_[at];
    }

private:
    std::vector<size_t> order_, swaps_;  // swaps_[i]: the position that was swapped with position i
    uint64_t key_ = 0;
};

// A threshold t, uniform in low <= t < high; requires low < high.
inline double random_threshold(uint64_t random, double low, double high) {
    constexpr double kMax = std::numeric_limits<double>::max();
    const double fraction = static_cast<double>(random >> 11) * 0x1p-53;
    const double t = std::max(low, -kMax) * (1 - fraction) + std::min(high, kMax) * fraction;
    return low <= t && t < high ? t + 0.0 : low + 0.0;  // −0.0 becomes 0.0
}
inline int64_t random_threshold(uint64_t random, int64_t low, int64_t high) {
    return static_cast<int64_t>(static_cast<uint64_t>(low) +
                                uniform_below(random, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)));
}

// A random non-empty proper subset of n >= 2 levels.
inline void random_subset(uint64_t random, size_t n, std::vector<uint8_t>& in_subset) {
    in_subset.resize(n);
    for (uint64_t attempt = 0;; ++attempt) {
        size_t count = 0;
        for (size_t i = 0; i < n; ++i) count += in_subset[i] = mix64(mix64(random, attempt), i) & 1;
        if (count > 0 && count < n) return;
    }
}

}  // namespace treewise
