// The place of every cell among the values of its column: what the trees of a forest share. Made once, then only read.
//
//     row 0   7 0 31         the ranks of a row stand side by side, for a node looks at few columns of its rows;
//     row 1   2 1 31         equal values share a rank, a category's is its code, a missing value's is kNoRank

#pragma once

#include <vector>

#include "crew.hpp"
#include "engine.hpp"
#include "keys.hpp"
#include "pages.hpp"
#include "sorted.hpp"

namespace treewise {

class Ranks {
public:
    Ranks(const std::vector<Column>& columns, int64_t n_rows, Crew& crew, const Pulse& tick)
        : width_(columns.size()), cells_(static_cast<size_t>(n_rows) * width_), coded_(width_) {
        for (size_t c = 0; c < width_; ++c) coded_[c] = columns[c].is_code();
        std::vector<Row> all(static_cast<size_t>(n_rows));
        std::iota(all.begin(), all.end(), Row{0});
        std::vector<std::vector<int64_t>> keys(width_);
        crew.share(
            width_, [&](size_t c, int worker) { rank(columns[c], c, all, keys[c], crew.pulse(worker, tick)); }, tick);
        for (const auto& own : keys) starts_.push_back(starts_.back() + own.size());
        keys_.reserve(starts_.back());
        for (auto& own : keys) keys_.insert(keys_.end(), own.begin(), own.end()), own = {};
    }

    // Of a row's cells, one a column.
    const uint32_t* of(Row row) const { return cells_.data() + size_t{row} * width_; }
    // The value of a rank.
    int64_t key(size_t column, int64_t rank) const {
        return coded_[column] ? rank : keys_[starts_[column] + static_cast<size_t>(rank)];
    }

    void prefetch(size_t column, int64_t rank) const {
        if (!coded_[column]) __builtin_prefetch(keys_.data() + starts_[column] + rank);
    }

private:
    // distinct: the keys of its ranks.
    void rank(const Column& column, size_t c, const std::vector<Row>& all, std::vector<int64_t>& distinct,
              const Pulse& pulse) {
        std::vector<int64_t> keys(all.size());
        read_keys(column, all, keys.data());
        pulse();
        uint32_t* cell = cells_.data() + c;
        if (coded_[c]) {
            for (size_t r = 0; r < keys.size(); ++r)
                cell[r * width_] = keys[r] == kNoKey ? kNoRank : static_cast<uint32_t>(keys[r]);
            return;
        }
        std::vector<uint32_t> order(all);
        Sorter().sort(keys, order, pulse);
        std::vector<uint32_t> ranks(order.size());
        for (uint32_t row : order) {
            const int64_t key = keys[row];
            if (key != kNoKey && (distinct.empty() || distinct.back() != key)) distinct.push_back(key);
            ranks[row] = key == kNoKey ? kNoRank : static_cast<uint32_t>(distinct.size() - 1);
        }
        for (size_t r = 0; r < ranks.size(); ++r) cell[r * width_] = ranks[r];  // row by row, for the cache's sake
    }

    size_t width_;
    LargeVector<uint32_t> cells_;
    LargeVector<int64_t> keys_;         // rank → key, of columns of numbers one after the other …
    std::vector<size_t> starts_ = {0};  // … each from here
    std::vector<uint8_t> coded_;
};

}  // namespace treewise
