// Rank of every cell within its column, computed once and shared by all trees of a forest.
//
//     row 0   7 0 31         row-major, since a node reads few columns of its rows;
//     row 1   2 1 31         equal values share a rank, a category's rank is its code, missing is kMissingRank
//
// Ranks use as few bytes as the table allows, and rows are padded to whole cache lines (or a power-of-two fraction of
// one) where that wastes little: with 100,000 rows and 20 columns, visiting a row touches a single cache line.

#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include "engines/engine.hpp"
#include "problem/sort_keys.hpp"
#include "util/huge_pages.hpp"
#include "util/key_sorter.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

class RankTable {
public:
    RankTable(const std::vector<Column>& columns, int64_t n_rows, ThreadPool& pool,
              const CheckInterrupt& check_interrupt)
        : width_(columns.size()), key_slots_(width_) {
        set_layout(columns, n_rows);
        std::vector<Row> all(static_cast<size_t>(n_rows));
        std::iota(all.begin(), all.end(), Row{0});
        std::vector<std::vector<int64_t>> keys(width_);
        pool.parallel_for(
            width_,
            [&](size_t c, int worker) {
                rank(columns[c], c, all, keys[c], pool.interrupt_check(worker, check_interrupt));
            },
            check_interrupt);
        store_keys(columns, keys);
    }

    // Address of the ranks of a row.
    const std::byte* row_ranks(Row row) const { return cells_.data() + first_ + size_t{row} * stride_; }
    // Returns a function that reads this column's rank at a row's address. It loads four bytes whose upper bytes are
    // the rank, so that an arithmetic shift sign-extends kMissingRank.
    auto reader(size_t c) const {
        static_assert(std::endian::native == std::endian::little);
        constexpr size_t kWordSize = sizeof(int32_t);
        const auto offset = static_cast<ptrdiff_t>(c * size_) - static_cast<ptrdiff_t>(kWordSize - size_);
        return [offset, shift = shift_](const std::byte* row) {
            int32_t word;
            std::memcpy(&word, row + offset, kWordSize);
            return static_cast<uint32_t>(word >> shift);
        };
    }
    bool same_ranks(Row a, Row b) const { return std::memcmp(row_ranks(a), row_ranks(b), width_ * size_) == 0; }
    // The sort key of a rank.
    int64_t key(size_t column, int64_t rank) const {
        switch (key_slots_[column].size) {
            case 0: return rank;
            case sizeof(float): return key_of(read<float>(column, rank));
            default: return read<int64_t>(column, rank);
        }
    }
    void prefetch(size_t column, int64_t rank) const { __builtin_prefetch(key_address(column, rank)); }

private:
    void set_layout(const std::vector<Column>& columns, int64_t n_rows) {
        int64_t max_rank = n_rows;
        for (const Column& c : columns)
            if (c.is_code()) max_rank = std::max(max_rank, c.n_levels);
        while (size_ < 4 && max_rank > int64_t{1} << (8 * size_ - 1)) ++size_;
        shift_ = 32 - 8 * static_cast<int>(size_);
        const size_t need = size_ * width_;
        const size_t rounded =
            need > kCacheLine ? (need + kCacheLine - 1) / kCacheLine * kCacheLine : std::bit_ceil(need);
        stride_ = rounded - need <= need / 8 ? rounded : need;
        cells_.resize(static_cast<size_t>(n_rows) * stride_ + 2 * kCacheLine);
        const auto begin = reinterpret_cast<uintptr_t>(cells_.data());
        first_ = kCacheLine - begin % kCacheLine + (stride_ - need);  // padding precedes the ranks
    }
    // Writes rank(row) for every row of a column.
    template <class RankOf>
    void write_ranks(size_t column, size_t n_rows, const RankOf& rank) {
        std::byte* cell = cells_.data() + first_ + column * size_;
        const auto write = [&]<size_t kSize>() {
            for (size_t r = 0; r < n_rows; ++r, cell += stride_) {
                const uint32_t value = rank(r);
                std::memcpy(cell, &value, kSize);
            }
        };
        switch (size_) {
            case 1: return write.template operator()<1>();
            case 2: return write.template operator()<2>();
            case 3: return write.template operator()<3>();
            default: return write.template operator()<4>();
        }
    }

    // distinct: receives the key of each rank.
    void rank(const Column& column, size_t c, const std::vector<Row>& all, std::vector<int64_t>& distinct,
              const CheckInterrupt& check_interrupt) {
        std::vector<int64_t> keys(all.size());
        read_keys(column, all, keys.data());
        check_interrupt();
        if (column.is_code())
            return write_ranks(c, keys.size(), [&](size_t r) {
                return keys[r] == kMissingKey ? kMissingRank : static_cast<uint32_t>(keys[r]);
            });
        std::vector<uint32_t> order(all);
        KeySorter().sort(keys, order, check_interrupt);
        std::vector<uint32_t> ranks(order.size());
        for (uint32_t row : order) {
            const int64_t key = keys[row];
            if (key != kMissingKey && (distinct.empty() || distinct.back() != key)) distinct.push_back(key);
            ranks[row] = key == kMissingKey ? kMissingRank : static_cast<uint32_t>(distinct.size() - 1);
        }
        write_ranks(c, ranks.size(), [&](size_t r) { return ranks[r]; });  // in row order, for cache locality
    }

    // Floats are stored as floats: a threshold is read at every node, usually from main memory.
    void store_keys(const std::vector<Column>& columns, std::vector<std::vector<int64_t>>& keys) {
        size_t bytes = 0;
        for (size_t c = 0; c < width_; ++c) {
            const size_t size = columns[c].is_code() ? 0 : columns[c].type == ValueType::f32 ? sizeof(float) : 8;
            key_slots_[c] = {bytes, size};
            bytes += keys[c].size() * size;
        }
        keys_.resize(bytes);
        for (size_t c = 0; c < width_; ++c) {
            std::byte* to = keys_.data() + key_slots_[c].begin;
            for (int64_t key : keys[c]) {
                const auto number = static_cast<float>(key_to_double(key));
                std::memcpy(to, key_slots_[c].size == sizeof(float) ? static_cast<const void*>(&number) : &key,
                            key_slots_[c].size);
                to += key_slots_[c].size;
            }
            keys[c] = {};
        }
    }
    const std::byte* key_address(size_t column, int64_t rank) const {
        return keys_.data() + key_slots_[column].begin + static_cast<size_t>(rank) * key_slots_[column].size;
    }
    template <class T>
    T read(size_t column, int64_t rank) const {
        T value;
        std::memcpy(&value, key_address(column, rank), sizeof value);
        return value;
    }

    static constexpr size_t kCacheLine = 64;

    size_t width_;
    size_t size_ = 1, stride_ = 0, first_ = 0;  // in bytes: size of a rank, row stride, offset of the first row
    int shift_ = 0;
    HugePageVector<std::byte> cells_;
    HugePageVector<std::byte> keys_;  // rank → key (or float), column after column
    struct KeySlot {
        size_t begin, size;  // offset and bytes per rank; 0 bytes for a category, whose ranks are its codes
    };
    std::vector<KeySlot> key_slots_;
};

}  // namespace treewise
