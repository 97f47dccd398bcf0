// Nodes of at most 64 rows with a binary target, and their whole subtree, as bitsets (engines/two_class_forest.hpp).
//
//     row         5 4 3 2 1 0
//     node        1 0 1 1 0 1      rows of the node
//     up to 2     0 1 1 1 0 0      per column: rows whose rank is at most that of row 2; valid for all descendants
//     left of 2   0 0 1 1 0 0      their intersection: rows, weight and ones of that cut are popcounts
//
// Each column is sorted once, for the first node that uses it and all its descendants.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "search/cut_batch.hpp"
#include "search/cut_buckets.hpp"
#include "util/radix_sort.hpp"

namespace treewise {

class BitsetNode {
public:
    static constexpr size_t kMaxRows = 64;

    struct ColumnOrder {  // a column's order among some rows
        uint64_t rows;
        bool has_missing;
        std::array<uint64_t, kMaxRows> rows_up_to;
    };

    // Starts with the node of this segment; weight(entry): its weight; is_one(entry): whether its class is 1.
    template <class WeightOf, class IsOne>
    void begin(Segment segment, std::span<const uint32_t> entries, size_t n_columns, const WeightOf& weight,
               const IsOne& is_one) {
        segment_ = segment, entries_ = entries;
        bits_ = {}, ones_ = 0;
        for (size_t i = 0; i < entries.size(); ++i) {
            const auto w = static_cast<uint64_t>(weight(entries[i]));
            ones_ |= uint64_t{is_one(entries[i])} << i;
            bits_.n = std::max(bits_.n, static_cast<int>(std::bit_width(w)));
            for (int k = 0; k < bits_.n; ++k) {
                const uint64_t bit = (w >> k & 1) << i;
                bits_.weight[k] |= bit, bits_.ones[k] |= is_one(entries[i]) ? bit : 0;
            }
        }
        column_slot_.assign(n_columns, kNoSlot), n_column_orders_ = 0;
        node_sets_[0] = ~uint64_t{0} >> (kMaxRows - entries.size());
    }
    bool holds(Segment node) const { return segment_.begin <= node.begin && node.end <= segment_.end; }
    Segment segment() const { return segment_; }

    // The rows of a node, indexed by the start of its segment (open nodes share no rows).
    uint64_t& operator[](Segment node) { return node_sets_[static_cast<size_t>(node.begin - segment_.begin)]; }
    uint32_t entry(int row) const { return entries_[static_cast<size_t>(row)]; }
    template <class Work>
    static void for_each_row(uint64_t set, const Work& work) {
        for (; set; set &= set - 1) work(std::countr_zero(set));
    }

    // The order of a column for a node and its descendants. rank(entry): its rank in the column.
    template <class RankOf>
    const ColumnOrder& column(size_t column, uint64_t node, RankSorter& sorter, const RankOf& rank) {
        if (column_slot_[column] == kNoSlot) {
            if (column_orders_.size() == n_column_orders_) column_orders_.emplace_back();
            column_slot_[column] = static_cast<uint32_t>(n_column_orders_);
            column_orders_[n_column_orders_++].rows = 0;
        }
        ColumnOrder& order = column_orders_[column_slot_[column]];
        if (node & ~order.rows) sort_column(order, node, sorter, rank);
        return order;
    }
    // Rows to the left of each cut, column by column.
    struct LeftSets {
        size_t n = 0;
        std::vector<uint64_t> sets;                       // capacity only grows
        std::vector<std::pair<size_t, int32_t>> columns;  // start of each column's cuts

        void clear() { n = 0, columns.clear(); }
        void keep_only(uint64_t set, int32_t column) {
            clear();
            sets[n++] = set, columns.push_back({0, column});
        }
        int32_t column(size_t k) const {
            size_t c = columns.size() - 1;
            while (columns[c].first > k) --c;
            return columns[c].second;
        }
    };
    // Adds the cuts of a node in arbitrary order; cuts between equal values are repeated.
    static void add_cuts(uint64_t node, const ColumnOrder& order, int32_t column, LeftSets& left_sets) {
        if (left_sets.sets.size() < left_sets.n + kMaxRows) left_sets.sets.resize(2 * (left_sets.n + kMaxRows));
        left_sets.columns.push_back({left_sets.n, column});
        uint64_t* next = left_sets.sets.data() + left_sets.n;
        for_each_row(node, [&](int row) {
            *next = node & order.rows_up_to[static_cast<size_t>(row)];
            next += *next != node;
        });
        left_sets.n = static_cast<size_t>(next - left_sets.sets.data());
    }
    // A cut of the last column that separates the classes perfectly, or 0.
    uint64_t pure_cut(uint64_t node, const LeftSets& left_sets) const {
        const size_t from = left_sets.columns.back().first, n = left_sets.n - from;
        const uint64_t* sets = left_sets.sets.data() + from;
        const size_t at = find_either(sets, n, node & ones_, node & ~ones_);
        return at < n ? sets[at] : 0;
    }
    void count(const LeftSets& left_sets, CutBatch& out) const {
        out.resize(left_sets.n);
        count_bits(left_sets.sets.data(), left_sets.n, bits_, out.rows.data(), out.weight.data(), out.ones.data());
    }
    void count(uint64_t set, int64_t* stats) const {
        double weight, ones;
        count_bits(&set, 1, bits_, &stats[kRows], &weight, &ones);
        stats[kWeight] = static_cast<int64_t>(weight), stats[kCounts + 1] = static_cast<int64_t>(ones);
        stats[kCounts] = stats[kWeight] - stats[kCounts + 1];
    }

    // Fills the buckets between the surviving cuts of a node.
    template <class RankOf>
    Bucket buckets(uint64_t node, const ColumnOrder& order, const CandidateFilter& filter, size_t column,
                   const RowStats& node_total, const RankOf& rank, CutBuckets& cut_buckets,
                   std::vector<Bucket>& out) const {
        std::array<int8_t, kMaxRows + 1> row_of;  // by number of rows up to it: a row with that rank
        row_of.fill(-1);
        for_each_row(node, [&](int row) {
            row_of[to_index(std::popcount(node & order.rows_up_to[to_index(row)]))] = static_cast<int8_t>(row);
        });
        const auto rows_below = [&](int64_t n) {
            return n ? node & order.rows_up_to[to_index(row_of[to_index(n)])] : 0;
        };
        const auto add_rows = [&](int64_t* stats, int64_t begin, int64_t end) {
            if (begin < end) count(rows_below(end) & ~rows_below(begin), stats);
        };
        const auto rank_at = [&](int64_t i) -> int64_t {
            while (row_of[to_index(++i)] < 0) continue;
            return rank(entry(row_of[to_index(i)]));
        };
        const int64_t n = std::popcount(node);
        const SortedRows rows{n, n, add_rows, [](int64_t) { return true; }, rank_at};
        return cut_buckets.fill(rows, &filter, column, node_total, out);
    }

private:
    static constexpr uint32_t kNoSlot = ~0u;

    template <class RankOf>
    void sort_column(ColumnOrder& order, uint64_t node, RankSorter& sorter, const RankOf& rank) {
        size_t n = 0;
        for_each_row(node, [&](int row) { rows_[n] = static_cast<uint32_t>(row), ranks_[n++] = rank(entry(row)); });
        const uint64_t* ordered = sorter.sort(rows_.data(), ranks_.data(), n);
        order.rows = node, order.has_missing = ordered[n - 1] >> 32 == kMissingRank;
        uint64_t set = 0;
        for (size_t i = 0, first = 0; i < n; ++i) {
            set |= uint64_t{1} << static_cast<uint32_t>(ordered[i]);
            if (i + 1 < n && ordered[i] >> 32 == ordered[i + 1] >> 32) continue;
            for (; first <= i; ++first) order.rows_up_to[static_cast<uint32_t>(ordered[first])] = set;
        }
    }

    Segment segment_;
    std::span<const uint32_t> entries_;
    WeightBits bits_;
    uint64_t ones_ = 0;  // rows of class 1
    std::array<uint64_t, kMaxRows> node_sets_;
    std::vector<uint32_t> column_slot_;  // index into column_orders_ by column
    std::vector<ColumnOrder> column_orders_;
    size_t n_column_orders_ = 0;
    std::array<uint32_t, kMaxRows> rows_{}, ranks_{};  // scratch
};

// Bitset nodes whose subtrees are not finished. Growth is depth-first from left to right, so pending nodes lie to the
// right of the current one, and everything to its left is finished.
class BitsetNodeStack {
public:
    // Growth has reached this non-empty node: drops finished ones.
    void advance_to(Segment node) {
        while (n_ > 0 && nodes_[n_ - 1].segment().end <= node.begin) --n_;
    }
    // The bitset node that contains this node, or null.
    BitsetNode* find(Segment node) { return n_ > 0 && nodes_[n_ - 1].holds(node) ? &nodes_[n_ - 1] : nullptr; }
    BitsetNode& push() {
        if (nodes_.size() == n_) nodes_.emplace_back();
        return nodes_[n_++];
    }

private:
    std::deque<BitsetNode> nodes_;  // those beyond n_ are kept to reuse their memory
    size_t n_ = 0;
};

}  // namespace treewise
