// Sorting the rows of one node by a column's ranks, on demand (engines/forest.hpp).
//
//     few rows     counting sort: each row counts how many precede it, one SIMD loop per row
//     more         bucket sort with about as many buckets as rows, finished by insertion sort
//     many         radix sort on the digits in which the ranks of the node differ

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "criteria/simd.hpp"

namespace treewise {

class RankSorter {
public:
    // Returns `rank << 32 | entry` in ascending order: equal ranks are ordered by entry, or arbitrarily where the order
    // does not matter. Valid until the next call.
    const uint64_t* sort(const uint32_t* entries, const uint32_t* ranks, size_t n) {
        if (keys_.size() < n) keys_.resize(n + n / 2), buffer_.resize(keys_.size());
        uint32_t low = ~0u, high = 0;
        for (size_t i = 0; i < n; ++i) {
            low = std::min(low, ranks[i]), high = std::max(high, ranks[i]);
            keys_[i] = uint64_t{ranks[i]} << 32 | entries[i];
        }
        if (n <= kFew)
            n > kVeryFew&& high < kMostCounted ? counting_sort(ranks, n) : insertion_sort(keys_.data(), n);
        else if (n > kMany || !bucket_sort(n, low, std::bit_width(high - low)))
            radix_sort(n, low, std::bit_width(high - low));
        return keys_.data();
    }

private:
    static constexpr size_t kVeryFew = 8, kFew = 64, kMany = 4096;
    static constexpr uint32_t kMostCounted = (1u << 31) / kFew;  // largest rank for counting_sort
    static constexpr uint32_t kMaxBucketRows = 24;               // a fuller bucket makes insertion sort too slow
    static constexpr int kDigitBits = 10;

    static void insertion_sort(uint64_t* keys, size_t n) {
        for (size_t i = 1; i < n; ++i) {
            const uint64_t key = keys[i];
            size_t j = i;
            for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
            keys[j] = key;
        }
    }
    void counting_sort(const uint32_t* ranks, size_t n) {
        std::array<int32_t, kFew> numbers, places;
        for (size_t i = 0; i < n; ++i) numbers[i] = static_cast<int32_t>(ranks[i] * kFew + i);  // all different
        compute_ranks(numbers.data(), n, places.data());
        for (size_t i = 0; i < n; ++i) buffer_[static_cast<size_t>(places[i])] = keys_[i];
        std::swap(keys_, buffer_);
    }
    // Returns false where ranks cluster so much that a bucket would overflow.
    bool bucket_sort(size_t n, uint32_t low, int bits) {
        const int width = std::min(bits, static_cast<int>(std::bit_width(n - 1))), shift = 32 + bits - width;
        const uint64_t base = uint64_t{low} << 32;
        const size_t slots = size_t{1} << width;
        const uint64_t* keys = keys_.data();
        uint32_t* start = starts_.data();
        std::fill_n(start, slots, 0u);
        for (size_t i = 0; i < n; ++i) ++start[(keys[i] - base) >> shift];
        uint32_t sum = 0, most = 0;
        for (size_t d = 0; d < slots; ++d) {
            most = std::max(most, start[d]);
            sum += std::exchange(start[d], sum);
        }
        if (most > kMaxBucketRows && bits > width) return false;
        uint64_t* to = buffer_.data();
        for (size_t i = 0; i < n; ++i) to[start[(keys[i] - base) >> shift]++] = keys[i];
        if (bits > width) insertion_sort(to, n);
        std::swap(keys_, buffer_);
        return true;
    }
    void radix_sort(size_t n, uint32_t low, int bits) {
        const int passes = std::max(1, (bits + kDigitBits - 1) / kDigitBits), width = (bits + passes - 1) / passes;
        const uint64_t base = uint64_t{low} << 32;
        const uint32_t mask = (1u << width) - 1;
        uint32_t* start = starts_.data();
        for (int shift = 32; shift < 32 + bits; shift += width) {
            const uint64_t* keys = keys_.data();
            uint64_t* to = buffer_.data();
            std::fill_n(start, mask + 1, 0u);
            for (size_t i = 0; i < n; ++i) ++start[((keys[i] - base) >> shift) & mask];
            uint32_t sum = 0;
            for (uint32_t d = 0; d <= mask; ++d) sum += std::exchange(start[d], sum);
            for (size_t i = 0; i < n; ++i) to[start[((keys[i] - base) >> shift) & mask]++] = keys[i];
            std::swap(keys_, buffer_);
        }
    }

    std::vector<uint64_t> keys_, buffer_;
    std::array<uint32_t, kMany> starts_;
};

}  // namespace treewise
