// The engine of sorted lists: for every column the rows in order of value, kept in order as nodes split.
//
// Each column's values are ranked once (equal values share a rank); from then on the core compares ranks only, and a
// node is a segment [begin, end) of every list. Splitting a node moves rows inside its segment, stably, so the children
// are neighbouring segments that are still sorted:
//
//     column 0   [ … | b d a f e c | … ]        branch of:  a 0  b 1  c 0  d 0  e 1  f 0
//                          ▼
//                [ … | d a f c | b e | … ]      child 0, child 1: each in column 0's order
//
// Missing rows stand at the end of a segment, with rank kNoRank. One extra list (all()) holds the rows themselves.

#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "problem.hpp"

namespace treewise {

using Row = uint32_t;
inline constexpr uint32_t kNoRank = 0xFFFFFFFF;

// A run of rows of one segment that share a rank.
struct Bucket {
    const Row* first;
    const Row* last;
    uint32_t rank;
};

class SortedLists {
public:
    SortedLists(const std::vector<Column>& columns, int64_t n_rows, const Monitor& monitor)
        : n_rows_(n_rows),
          order_(columns.size() + 1),
          rank_(columns.size()),
          numbers_(columns.size()),
          integers_(columns.size()),
          scratch_(n_rows),
          branch_(n_rows) {
        if (n_rows >= static_cast<int64_t>(kNoRank)) throw std::length_error("more than 4,294,967,294 rows");
        for (size_t c = 0; c < columns.size(); ++c) {
            rank(columns[c], c);
            monitor(0.0);
        }
        order_.back().resize(n_rows);
        std::iota(order_.back().begin(), order_.back().end(), Row{0});
    }

    size_t n_columns() const { return rank_.size(); }
    const Row* all() const { return order_.back().data(); }

    // Fills the buckets of a column in a node's segment; returns its missing rows.
    std::span<const Row> buckets(size_t column, int64_t begin, int64_t end, std::vector<Bucket>& out) const {
        const Row* row = order_[column].data() + begin;
        const Row* last = order_[column].data() + end;
        const uint32_t* rank = rank_[column].data();
        out.clear();
        while (row != last && rank[*row] != kNoRank) {
            const uint32_t r = rank[*row];
            const Row* first = row;
            while (row != last && rank[*row] == r) ++row;
            out.push_back({first, row, r});
        }
        return {row, last};
    }

    bool constant(size_t column, int64_t begin, int64_t end) const {  // nothing to tell the rows apart
        return rank_[column][order_[column][begin]] == rank_[column][order_[column][end - 1]];
    }

    double number(size_t column, uint32_t rank) const { return numbers_[column][rank]; }
    int64_t integer(size_t column, uint32_t rank) const { return integers_[column][rank]; }

    // Split a segment: set branch[row] for all its rows first, sizes[b] rows go to branch b.
    std::vector<uint32_t>& branch() { return branch_; }
    void partition(int64_t begin, int64_t end, const std::vector<int64_t>& sizes) {
        std::vector<int64_t> start(sizes.size());
        for (auto& list : order_) {
            std::exclusive_scan(sizes.begin(), sizes.end(), start.begin(), int64_t{0});
            Row* rows = list.data() + begin;
            for (int64_t i = 0; i < end - begin; ++i) scratch_[start[branch_[rows[i]]]++] = rows[i];
            std::copy_n(scratch_.data(), end - begin, rows);
        }
    }

private:
    void rank(const Column& column, size_t c) {
        auto& order = order_[c];
        auto& ranks = rank_[c];
        order.resize(n_rows_);
        ranks.resize(n_rows_);
        switch (column.type) {
            case ValueType::f32: return rank_values(column.view<float>(), order, ranks, numbers_[c]);
            case ValueType::f64: return rank_values(column.view<double>(), order, ranks, numbers_[c]);
            case ValueType::i64: return rank_values(column.view<int64_t>(), order, ranks, integers_[c]);
            case ValueType::code: return rank_codes(column, order, ranks);
        }
    }

    template <class T, class Kept>
    void rank_values(View<T> values, std::vector<Row>& order, std::vector<uint32_t>& ranks,
                     std::vector<Kept>& distinct) {
        std::iota(order.begin(), order.end(), Row{0});
        const auto gone =
            std::stable_partition(order.begin(), order.end(), [&](Row r) { return !is_missing(values[r]); });
        std::sort(order.begin(), gone, [&](Row a, Row b) { return values[a] < values[b]; });
        for (auto it = order.begin(); it != gone; ++it) {
            if (distinct.empty() || distinct.back() != values[*it]) distinct.push_back(values[*it] + T{0});
            ranks[*it] = static_cast<uint32_t>(distinct.size() - 1);
        }
        for (auto it = gone; it != order.end(); ++it) ranks[*it] = kNoRank;
    }

    void rank_codes(const Column& column, std::vector<Row>& order, std::vector<uint32_t>& ranks) {
        std::vector<int64_t> start(column.n_levels + 2, 0);  // a counting sort; the missing ones come last
        const auto codes = column.view<int32_t>();
        const auto slot = [&](Row r) { return codes[r] < 0 ? column.n_levels : codes[r]; };
        for (Row r = 0; r < n_rows_; ++r) ++start[slot(r) + 1];
        std::inclusive_scan(start.begin(), start.end(), start.begin());
        for (Row r = 0; r < n_rows_; ++r) {
            order[start[slot(r)]++] = r;
            ranks[r] = codes[r] < 0 ? kNoRank : static_cast<uint32_t>(codes[r]);
        }
    }

    int64_t n_rows_;
    std::vector<std::vector<Row>> order_;       // one list a column, and the rows themselves
    std::vector<std::vector<uint32_t>> rank_;   // of each row; for a category its code
    std::vector<std::vector<double>> numbers_;  // rank → value
    std::vector<std::vector<int64_t>> integers_;
    std::vector<Row> scratch_;
    std::vector<uint32_t> branch_;
};

}  // namespace treewise
