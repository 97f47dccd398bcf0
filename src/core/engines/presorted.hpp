// Presorted engine: proposes every candidate of every column, from columns that are sorted once and stay sorted.
//
// It has no filter: search/exact_splitter.hpp evaluates all candidates in integers. It grows what has no approximate
// impurity to bound (absolute error), and the tests compare the trees of the other engines with its trees.
//
// Values are ranked once per column (equal values share a rank), and a node is a segment [begin, end) of every list.
// Splitting moves rows stably within the segment, so the children are adjacent segments that are still sorted:
//
//     column 0   [ … | b d a f e c | … ]        branch of:  a 0  b 1  c 0  d 0  e 1  f 0
//                          ▼
//                [ … | d a f c | b e | … ]      child 0, child 1: each in column 0's order
//
// Missing rows are at the end of a segment with rank kMissingRank. One additional list holds the rows themselves.

#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "engines/engine.hpp"

namespace treewise {

class PresortedEngine : public Engine {
public:
    // targets: if given, the rows of each node are listed in ascending order of these.
    PresortedEngine(const std::vector<Column>& columns, int64_t n_rows, const int64_t* targets,
                    const std::function<void()>& check_interrupt)
        : check_interrupt_(check_interrupt),
          n_rows_(n_rows),
          order_(columns.size() + 1),
          rank_(columns.size()),
          numbers_(columns.size()),
          integers_(columns.size()),
          scratch_(n_rows),
          branch_(n_rows) {
        if (n_rows >= static_cast<int64_t>(kMissingRank)) throw std::length_error("more than 4,294,967,294 rows");
        for (size_t c = 0; c < columns.size(); ++c) {
            rank(columns[c], c);
            check_interrupt_();
        }
        order_.back().resize(n_rows);
        std::iota(order_.back().begin(), order_.back().end(), Row{0});
        if (targets) sort_rows([targets](Row a, Row b) { return targets[a] < targets[b]; }, order_.back());
    }

    Segment all() const override { return {0, n_rows_}; }
    std::span<const Row> rows(Segment node) override {
        return {order_.back().data() + node.begin, static_cast<size_t>(node.size())};
    }
    bool has_stats() const override { return false; }
    const std::vector<size_t>& find_candidates(Segment node, const RowStats&, const std::vector<size_t>& columns,
                                               uint64_t) override {
        columns_.clear();
        for (size_t c : columns) {
            if (!is_constant(c, node)) columns_.push_back(c);
        }
        return columns_;
    }

    // Fills the buckets of a column in a node's segment; returns its missing rows.
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        const Row* row = order_[column].data() + node.begin;
        const Row* last = order_[column].data() + node.end;
        const uint32_t* rank = rank_[column].data();
        out.clear();
        while (row != last && rank[*row] != kMissingRank) {
            const uint32_t r = rank[*row];
            const Row* first = row;
            while (row != last && rank[*row] == r) ++row;
            out.push_back({first, row, nullptr, r, r, static_cast<int64_t>(out.size())});
        }
        return {row, last};
    }
    int64_t n_cuts(size_t column, Segment node) override {
        std::vector<Bucket> runs;
        buckets(column, node, runs);
        return static_cast<int64_t>(runs.size()) - 1;
    }
    double to_double(size_t column, int64_t rank) const override { return numbers_[column][rank]; }
    int64_t to_int(size_t column, int64_t rank) const override { return integers_[column][rank]; }

    // Send a node's rows to their branches; sizes counts them.
    void partition(Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) override {
        const uint32_t* rank = rank_[split.column].data();
        for (Row row : rows(node)) {
            branch_[row] = rank[row] == kMissingRank ? static_cast<uint32_t>(split.missing) : split.branch(rank[row]);
            ++sizes[branch_[row]];
        }
        std::vector<int64_t> start(sizes.size());
        for (auto& list : order_) {
            std::exclusive_scan(sizes.begin(), sizes.end(), start.begin(), int64_t{0});
            Row* entries = list.data() + node.begin;
            for (int64_t i = 0; i < node.size(); ++i) scratch_[start[branch_[entries[i]]]++] = entries[i];
            std::copy_n(scratch_.data(), node.size(), entries);
            check_interrupt_();
        }
    }

private:
    bool is_constant(size_t column, Segment node) const {  // no two values differ
        return rank_[column][order_[column][node.begin]] == rank_[column][order_[column][node.end - 1]];
    }

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

    template <class Less>
    void sort_rows(const Less& less, std::span<Row> rows) {
        std::sort(rows.begin(), rows.end(), [&, n_compared = size_t{0}](Row a, Row b) mutable {
            if (++n_compared % (1 << 20) == 0) check_interrupt_();
            return less(a, b);
        });
    }

    template <class T, class Kept>
    void rank_values(View<T> values, std::vector<Row>& order, std::vector<uint32_t>& ranks,
                     std::vector<Kept>& distinct) {
        std::iota(order.begin(), order.end(), Row{0});
        const auto first_missing =
            std::stable_partition(order.begin(), order.end(), [&](Row r) { return !is_missing(values[r]); });
        sort_rows([&](Row a, Row b) { return values[a] < values[b]; }, {order.begin(), first_missing});
        for (auto it = order.begin(); it != first_missing; ++it) {
            if (distinct.empty() || distinct.back() != values[*it]) distinct.push_back(values[*it] + T{0});
            ranks[*it] = static_cast<uint32_t>(distinct.size() - 1);
        }
        for (auto it = first_missing; it != order.end(); ++it) ranks[*it] = kMissingRank;
    }

    void rank_codes(const Column& column, std::vector<Row>& order, std::vector<uint32_t>& ranks) {
        std::vector<int64_t> start(column.n_levels + 2, 0);  // counting sort; missing last
        const auto codes = column.view<int32_t>();
        const auto slot = [&](Row r) { return codes[r] < 0 ? column.n_levels : codes[r]; };
        for (Row r = 0; r < n_rows_; ++r) ++start[slot(r) + 1];
        std::inclusive_scan(start.begin(), start.end(), start.begin());
        for (Row r = 0; r < n_rows_; ++r) {
            order[start[slot(r)]++] = r;
            ranks[r] = codes[r] < 0 ? kMissingRank : static_cast<uint32_t>(codes[r]);
        }
    }

    const std::function<void()>& check_interrupt_;
    int64_t n_rows_;
    std::vector<std::vector<Row>> order_;       // one list per column, and the rows themselves
    std::vector<std::vector<uint32_t>> rank_;   // by row; a category's rank is its code
    std::vector<std::vector<double>> numbers_;  // rank → value
    std::vector<std::vector<int64_t>> integers_;
    std::vector<Row> scratch_;
    std::vector<size_t> columns_;
    std::vector<uint32_t> branch_;
};

}  // namespace treewise
