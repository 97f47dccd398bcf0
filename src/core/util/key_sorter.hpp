// Sorting rows by their sort keys (problem/sort_keys.hpp): radix sort on the highest 32 bits in which the keys differ,
// then comparison sort within equal prefixes. Checks for interrupts while it works.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "util/thread_pool.hpp"

namespace treewise {

class KeySorter {
public:
    // Sorts `rows`, which are indices into `keys`; equal keys by row.
    void sort(const std::vector<int64_t>& keys, std::vector<uint32_t>& rows, const CheckInterrupt& check_interrupt) {
        const size_t n = rows.size();
        if (n < 64) return comparison_sort(keys, rows.begin(), rows.end());
        uint64_t low = ~uint64_t{0}, high = 0;
        in_chunks(n, check_interrupt, [&](size_t i) {
            const uint64_t key = to_unsigned(keys[rows[i]]);
            low = std::min(low, key), high = std::max(high, key);
        });
        const int bits = 64 - std::countl_zero((high - low) | 1), shift = std::max(0, bits - 32);
        a_.resize(n), b_.resize(n);
        for (auto& digit : starts_) digit.fill(0);
        in_chunks(n, check_interrupt, [&](size_t i) {
            const auto key = static_cast<uint32_t>((to_unsigned(keys[rows[i]]) - low) >> shift);
            a_[i] = {key, rows[i]};
            for (int d = 0; d < kPasses; ++d) ++starts_[d][key >> (d * kDigitBits) & kMask];
        });
        for (int d = 0; d < kPasses; ++d) {
            auto& start = starts_[d];
            if (start[a_[0].key >> (d * kDigitBits) & kMask] == n) continue;  // all equal
            std::exclusive_scan(start.begin(), start.end(), start.begin(), 0u);
            in_chunks(n, check_interrupt,
                      [&](size_t i) { b_[start[a_[i].key >> (d * kDigitBits) & kMask]++] = a_[i]; });
            std::swap(a_, b_);
        }
        for (size_t i = 0; i < n; ++i) rows[i] = a_[i].row;
        if (shift == 0) return;
        for (size_t i = 0; i < n;) {
            size_t j = i + 1;
            while (j < n && a_[j].key == a_[i].key) ++j;
            if (j - i > 1)
                comparison_sort(keys, rows.begin() + static_cast<int64_t>(i), rows.begin() + static_cast<int64_t>(j));
            if (j / kRowsBetweenChecks != i / kRowsBetweenChecks) check_interrupt();
            i = j;
        }
    }

private:
    static constexpr int kDigitBits = 11, kPasses = 3;
    static constexpr uint32_t kBuckets = 1u << kDigitBits, kMask = kBuckets - 1;
    struct KeyedRow {
        uint32_t key, row;
    };
    template <class Work>
    static void in_chunks(size_t n, const CheckInterrupt& check_interrupt, const Work& work) {
        for (size_t begin = 0; begin < n; begin += kRowsBetweenChecks) {
            if (begin) check_interrupt();
            for (size_t i = begin; i < std::min(n, begin + kRowsBetweenChecks); ++i) work(i);
        }
    }
    static uint64_t to_unsigned(int64_t key) { return static_cast<uint64_t>(key) ^ (uint64_t{1} << 63); }
    template <class It>
    static void comparison_sort(const std::vector<int64_t>& keys, It first, It last) {
        std::sort(first, last, [&](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
    }
    std::vector<KeyedRow> a_, b_;
    std::array<std::array<uint32_t, kBuckets>, kPasses> starts_;
};

}  // namespace treewise
