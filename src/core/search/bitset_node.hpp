// A node of two classes with at most 64 rows, and all that grows from it: a set of rows is a word (engines/forest.hpp).
//
//     row         5 4 3 2 1 0
//     node        1 0 1 1 0 1
//     up to 2     0 1 1 1 0 0      of a column: the rows whose rank is at most row 2's; the same for all nodes below
//     left of 2   0 0 1 1 0 0      what that cut of the node sends left: its rows, weight and ones are bits to count
//
// So a column is put in order once for the first node that asks and all below it.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "engines/engine.hpp"
#include "search/sorted_scan.hpp"
#include "util/radix_sort.hpp"

namespace treewise {

class BitsetNode {
public:
    static constexpr size_t kMaxRows = 64;  // rows

    struct ColumnOrder {  // of some rows in a column
        uint64_t rows;
        bool has_missing;  // some values are missing
        std::array<uint64_t, kMaxRows> rows_up_to;
    };

    // The node that is the segment; weight(entry), and whether it is of class one(entry).
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
        column_slot_.assign(n_columns, kNone), n_column_orders_ = 0;
        node_sets_[0] = ~uint64_t{0} >> (kMaxRows - entries.size());
    }
    bool holds(Segment node) const { return segment_.begin <= node.begin && node.end <= segment_.end; }
    Segment segment() const { return segment_; }

    // The rows of a node: the nodes that are open share no row, so the place of its first tells it apart.
    uint64_t& operator[](Segment node) { return node_sets_[static_cast<size_t>(node.begin - segment_.begin)]; }
    uint32_t entry(int row) const { return entries_[static_cast<size_t>(row)]; }
    template <class Work>
    static void for_each_row(uint64_t set, const Work& work) {
        for (; set; set &= set - 1) work(std::countr_zero(set));
    }

    // As a node sees it, and all nodes below that one. rank(entry): its place in the column.
    template <class RankOf>
    const ColumnOrder& column(size_t column, uint64_t node, RankSorter& sorter, const RankOf& rank) {
        if (column_slot_[column] == kNone) {
            if (column_orders_.size() == n_column_orders_) column_orders_.emplace_back();
            column_slot_[column] = static_cast<uint32_t>(n_column_orders_);
            column_orders_[n_column_orders_++].rows = 0;
        }
        ColumnOrder& p = column_orders_[column_slot_[column]];
        if (node & ~p.rows) sort_column(p, node, sorter, rank);
        return p;
    }
    // What lies left of cuts, of one column after the other.
    struct LeftSets {
        size_t n = 0;
        std::vector<uint64_t> sets;                       // only ever grows
        std::vector<std::pair<size_t, int32_t>> columns;  // where each begins

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
    // Adds the cuts of a node, in any order; one between equal values comes as often as they do.
    static void add_cuts(uint64_t node, const ColumnOrder& sorter, int32_t column, LeftSets& left_sets) {
        if (left_sets.sets.size() < left_sets.n + kMaxRows) left_sets.sets.resize(2 * (left_sets.n + kMaxRows));
        left_sets.columns.push_back({left_sets.n, column});
        uint64_t* next = left_sets.sets.data() + left_sets.n;
        for_each_row(node, [&](int row) {
            *next = node & sorter.rows_up_to[static_cast<size_t>(row)];
            next += *next != node;
        });
        left_sets.n = static_cast<size_t>(next - left_sets.sets.data());
    }
    // Of the last column's cuts the one with a class on each side; 0 where there is none.
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
    void count(uint64_t set, int64_t* stat) const {
        double weight, ones;
        count_bits(&set, 1, bits_, &stat[kRows], &weight, &ones);
        stat[kWeight] = static_cast<int64_t>(weight), stat[kCounts + 1] = static_cast<int64_t>(ones);
        stat[kCounts] = stat[kWeight] - stat[kCounts + 1];
    }

    // The rows between these cuts of a node, for the exact decision (as search/cut_buckets.hpp). cuts: how many rows
    // lie left of each.
    template <class RankOf>
    void buckets_between(uint64_t node, const ColumnOrder& column, const std::vector<int64_t>& cuts, const RankOf& rank,
                         size_t width, std::vector<Bucket>& out) {
        std::array<int8_t, kMaxRows + 1> row_of;  // how many are at most as large: a row of which that is true
        row_of.fill(-1);
        for_each_row(node, [&](int row) {
            row_of[at(std::popcount(node & column.rows_up_to[at(row)]))] = static_cast<int8_t>(row);
        });
        stats_.resize((cuts.size() + 1) * width);
        uint64_t below = 0;
        for (size_t k = 0; k <= cuts.size(); ++k) {
            int64_t first = std::popcount(below) + 1;
            const int64_t last = k < cuts.size() ? cuts[k] : std::popcount(node);
            while (row_of[at(first)] < 0) ++first;
            const uint64_t rows_up_to = node & column.rows_up_to[at(row_of[at(last)])];
            int64_t* stat = stats_.data() + k * width;
            count(rows_up_to & ~below, stat);
            out.push_back(
                {nullptr, nullptr, stat, rank(entry(row_of[at(first)])), rank(entry(row_of[at(last)])), last - 1});
            below = rows_up_to;
        }
    }

private:
    static size_t at(int64_t i) { return static_cast<size_t>(i); }
    static constexpr uint32_t kNone = ~0u;

    template <class RankOf>
    void sort_column(ColumnOrder& p, uint64_t node, RankSorter& sorter, const RankOf& rank) {
        size_t n = 0;
        for_each_row(node, [&](int row) { rows_[n] = static_cast<uint32_t>(row), ranks_[n++] = rank(entry(row)); });
        const uint64_t* ordered = sorter.sort(rows_.data(), ranks_.data(), n);
        p.rows = node, p.has_missing = ordered[n - 1] >> 32 == kMissingRank;
        uint64_t set = 0;
        for (size_t i = 0, first = 0; i < n; ++i) {
            set |= uint64_t{1} << static_cast<uint32_t>(ordered[i]);
            if (i + 1 < n && ordered[i] >> 32 == ordered[i + 1] >> 32) continue;
            for (; first <= i; ++first) p.rows_up_to[static_cast<uint32_t>(ordered[first])] = set;
        }
    }

    Segment segment_;
    std::span<const uint32_t> entries_;
    WeightBits bits_;
    uint64_t ones_ = 0;  // the rows of class 1
    std::array<uint64_t, kMaxRows> node_sets_;
    std::vector<uint32_t> column_slot_;  // a column: where its places are
    std::vector<ColumnOrder> column_orders_;
    size_t n_column_orders_ = 0;
    std::array<uint32_t, kMaxRows> rows_{}, ranks_{};  // scratch
    Stat stats_;
};

// The nodes that have become words and are not grown to the end. Growth goes from left to right, deepest first, so what
// waits lies to the right of what is at hand, and what lies to its left is done with.
class BitsetNodeStack {
public:
    // Growth has come to this node, which has rows: forgets what lies to its left.
    void advance_to(Segment node) {
        while (n_ > 0 && nodes_[n_ - 1].segment().end <= node.begin) --n_;
    }
    // The words a node with rows is of, or null.
    BitsetNode* find(Segment node) { return n_ > 0 && nodes_[n_ - 1].holds(node) ? &nodes_[n_ - 1] : nullptr; }
    BitsetNode& push() {
        if (nodes_.size() == n_) nodes_.emplace_back();
        return nodes_[n_++];
    }

private:
    std::deque<BitsetNode> nodes_;  // those past n_ are kept for their memory
    size_t n_ = 0;
};

}  // namespace treewise
