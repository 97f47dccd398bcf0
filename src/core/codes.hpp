// Coarse codes: a column as bytes, for counting rows of large nodes without touching the values.
//
// Numbers are cut into at most 255 bins at quantiles of a sample; which sample does not matter to the tree, only to the
// time, since what may hide inside a bin is looked at again in full. A bin that holds one value only is exact. A
// category of at most 255 levels is its own code.

#pragma once

#include <array>
#include <numeric>
#include <vector>

#include "frame.hpp"

namespace treewise {

inline constexpr size_t kBins = 256;
inline constexpr uint8_t kGone = 255;  // the code of missing values

struct Codes {
    std::vector<uint8_t> of_row;
    std::vector<int64_t> edges;          // keys: bin b holds edges[b − 1] < key <= edges[b]; the last has no upper edge
    std::array<uint8_t, kBins> mixed{};  // bins with more than one value

    bool none() const { return of_row.empty(); }  // a category of too many levels
    uint8_t bin(int64_t key) const {
        if (key == kNoKey) return kGone;
        return static_cast<uint8_t>(std::lower_bound(edges.begin(), edges.end(), key) - edges.begin());
    }

    static Codes of(const Column& column, int64_t n_rows) {
        Codes codes;
        if (column.is_code()) {
            if (column.n_levels > kGone) return codes;
            codes.of_row.resize(static_cast<size_t>(n_rows));
            const auto view = column.view<int32_t>();
            for (size_t r = 0; r < codes.of_row.size(); ++r)
                codes.of_row[r] = static_cast<uint8_t>(view[r]);  // −1: 255
            return codes;
        }
        codes.of_row.resize(static_cast<size_t>(n_rows));
        codes.place_edges(column, n_rows);
        column.visit([&]<class T>(View<T> values) { codes.fill(values); });
        return codes;
    }

private:
    void place_edges(const Column& column, int64_t n_rows) {
        constexpr int64_t kSample = 1 << 13;
        std::vector<int64_t> keys;
        const int64_t n = std::min(n_rows, kSample);
        for (int64_t i = 0; i < n; ++i) {
            const auto row = static_cast<uint32_t>(static_cast<int128>(n_rows) * (2 * i + 1) / (2 * n));
            if (const int64_t k = key_of(column, row); k != kNoKey) keys.push_back(k);
        }
        std::sort(keys.begin(), keys.end());
        std::vector<int64_t> distinct(keys);
        distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
        if (distinct.size() < kGone) {
            edges = std::move(distinct);
        } else {
            for (size_t q = 1; q < kGone; ++q) {
                const int64_t edge = keys[q * keys.size() / kGone];
                if (edges.empty() || edges.back() < edge) edges.push_back(edge);
            }
        }
    }
    // Eight halvings find the bin without a branch.
    template <class T>
    void fill(View<T> values) {
        std::array<T, kBins> upper;
        upper.fill(std::numeric_limits<T>::max());
        if constexpr (std::numeric_limits<T>::has_infinity) upper.fill(std::numeric_limits<T>::infinity());
        for (size_t b = 0; b < edges.size(); ++b) upper[b] = value_of<T>(edges[b]);
        for (size_t r = 0; r < of_row.size(); ++r) {
            const T value = values[r];
            size_t bin = 0;
            for (size_t step = kBins / 2; step; step /= 2) bin += upper[bin + step - 1] < value ? step : 0;
            bin = std::min(bin, edges.size());
            mixed[bin] |= bin == edges.size() || upper[bin] != value;
            of_row[r] = is_missing(value) ? kGone : static_cast<uint8_t>(bin);
        }
        mixed[kGone] = 0;
    }
    template <class T>
    static T value_of(int64_t key) {
        if constexpr (std::is_floating_point_v<T>) return static_cast<T>(number_of(key));
        return static_cast<T>(integer_of(key));
    }
};

}  // namespace treewise
