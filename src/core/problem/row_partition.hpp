// Row indices of all nodes in one array: a node is a segment, and splitting it partitions the segment stably by branch.
//
//     before   3 8 1 9 4 7        branch 0: 3 1 9, branch 1: 8 4 7
//     after    3 1 9 | 8 4 7      order preserved within each branch

#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "engines/engine.hpp"

namespace treewise {

class RowPartition {
public:
    explicit RowPartition(int64_t n_rows) : RowPartition(std::vector<Row>(static_cast<size_t>(n_rows))) {
        std::iota(rows_.begin(), rows_.end(), Row{0});
    }
    explicit RowPartition(std::vector<Row> rows) : rows_(std::move(rows)), buffer_(rows_.size()) {}

    Segment all() const { return {0, static_cast<int64_t>(rows_.size())}; }
    std::span<const Row> rows(Segment node) const {
        return {rows_.data() + node.begin, static_cast<size_t>(node.size())};
    }

    // branch(row): the row's branch. sizes: one entry per branch, zero on entry and the number of rows on return.
    template <class Branch>
    void partition(Segment node, std::vector<int64_t>& sizes, const Branch& branch) {
        Row* rows = rows_.data() + node.begin;
        const auto n = static_cast<size_t>(node.size());
        if (sizes.size() == 2) {  // left rows are compacted in place, right rows go through the buffer
            size_t left = 0, right = 0;
            for (size_t i = 0; i < n; ++i) {
                const Row row = rows[i];
                const bool goes_right = branch(row);
                rows[left] = buffer_[right] = row;
                left += !goes_right, right += goes_right;
            }
            std::copy_n(buffer_.begin(), right, rows + left);
            sizes = {static_cast<int64_t>(left), static_cast<int64_t>(right)};
            return;
        }
        branch_.resize(n);
        for (size_t i = 0; i < n; ++i) ++sizes[branch_[i] = branch(rows[i])];
        std::vector<int64_t> start(sizes.size());
        std::exclusive_scan(sizes.begin(), sizes.end(), start.begin(), int64_t{0});
        for (size_t i = 0; i < n; ++i) buffer_[static_cast<size_t>(start[branch_[i]]++)] = rows[i];
        std::copy_n(buffer_.begin(), n, rows);
    }

    void release_scratch() { buffer_ = {}, branch_ = {}; }

private:
    std::vector<Row> rows_, buffer_;
    std::vector<uint32_t> branch_;  // used for more than two branches
};

}  // namespace treewise
