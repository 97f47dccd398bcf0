// Coarse codes: a column as bytes, for counting rows of large nodes without touching the values.
//
// Numbers are cut into at most 255 bins at quantiles of a sample; which sample does not matter to the tree, only to the
// time, since what may hide inside a bin is looked at again in full. A bin that holds one value only is exact. A
// category of at most 255 levels is its own code.

#pragma once

#include <array>
#include <atomic>
#include <numeric>
#include <vector>

#include "frame.hpp"

namespace treewise {

inline constexpr size_t kBins = 256;
inline constexpr uint8_t kGone = 255;  // the code of missing values

struct Codes {
    std::vector<uint8_t> of_row;
    std::vector<int64_t> edges;  // keys: bin b holds edges[b − 1] < key <= edges[b]; the last has no upper edge
    std::array<std::atomic<uint8_t>, kBins> mixed{};  // bins with more than one value

    bool none() const { return of_row.empty(); }  // a category of too many levels
    uint8_t bin(int64_t key) const {
        if (key == kNoKey) return kGone;
        return static_cast<uint8_t>(std::lower_bound(edges.begin(), edges.end(), key) - edges.begin());
    }

    // Two steps, so that a table stored row by row is read once: edges by column, then codes by block of rows.
    void prepare(const Column& column, int64_t n_rows) {
        if (column.is_code() && column.n_levels > kGone) return;
        of_row.resize(static_cast<size_t>(n_rows));
        if (!column.is_code()) place_edges(column, n_rows);
    }
    void fill(const Column& column, size_t begin, size_t end) {
        if (none()) return;
        if (column.is_code()) {
            const auto codes = column.view<int32_t>();
            for (size_t r = begin; r < end; ++r) of_row[r] = static_cast<uint8_t>(codes[r]);  // −1 is 255
        } else {
            column.visit([&](const auto& values) { fill_numbers(values, begin, end); });
        }
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
        make_slots();
    }
    // A slot of the keys' range leads to the first bin that reaches into it; as a rule that is the one.
    void make_slots() {
        low_ = edges.empty() ? 0 : edges.front();
        const uint64_t range = edges.empty() ? 0 : static_cast<uint64_t>(edges.back()) - static_cast<uint64_t>(low_);
        shift_ = std::max(0, 64 - std::countl_zero(range | 1) - kSlotBits);
        slots_.assign((range >> shift_) + 2, static_cast<uint8_t>(edges.size()));
        size_t bin = 0;
        for (size_t slot = 0; slot + 1 < slots_.size(); ++slot) {
            while (bin < edges.size() && slot_of(edges[bin]) < slot) ++bin;
            slots_[slot] = static_cast<uint8_t>(bin);
        }
    }
    size_t slot_of(int64_t key) const { return (static_cast<uint64_t>(key) - static_cast<uint64_t>(low_)) >> shift_; }

    template <class T>
    void fill_numbers(View<T> values, size_t begin, size_t end) {
        std::array<uint8_t, kBins> several{};
        const auto last = static_cast<uint8_t>(edges.size());
        const int64_t top = last ? edges.back() : kNoKey;
        for (size_t r = begin; r < end; ++r) {
            const int64_t key = key_of(values[r]);
            uint8_t bin = last;
            if (key <= top && last) {
                bin = key <= low_ ? 0 : slots_[slot_of(key)];
                while (edges[bin] < key) ++bin;
                several[bin] |= edges[bin] != key;
            } else if (key == kNoKey) {
                bin = kGone;
            }
            of_row[r] = bin;
        }
        several[last] = 1;  // it has no upper edge
        for (size_t b = 0; b < kGone; ++b) {
            if (several[b]) mixed[b].store(1, std::memory_order_relaxed);
        }
    }

    static constexpr int kSlotBits = 14;
    int64_t low_ = 0;
    int shift_ = 0;
    std::vector<uint8_t> slots_;
};

}  // namespace treewise
