// Buckets between the surviving cuts of a column, from sorted rows, for the exact splitter.

#pragma once

#include <vector>

#include "engines/engine.hpp"
#include "search/candidate_filter.hpp"

namespace treewise {

// The rows of a node sorted by a column: the first `present` of n have a value.
template <class Add, class Differs, class RankAt>
struct SortedRows {
    int64_t present, n;
    Add add;          // add(stat, i): adds row i to statistics; or add(stat, begin, end) a range of rows
    Differs differs;  // differs(i): whether rows i − 1 and i have different values
    RankAt rank;      // rank(i): rank or key of row i
};
template <class Add, class Differs, class RankAt>
SortedRows(int64_t, int64_t, Add, Differs, RankAt) -> SortedRows<Add, Differs, RankAt>;

class CutBuckets {
public:
    // Returns the missing rows. count_values: whether a bucket's position counts distinct values (random ties) or rows.
    template <class Rows>
    Bucket fill(const Rows& rows, const CandidateFilter* filter, size_t column, const Stat& node_total,
                bool count_values, std::vector<Bucket>& out) {
        find_positions(rows, filter, column);
        const size_t width = node_total.size(), n = positions_.size();
        stats_.assign((n + 1) * width, 0);
        size_t largest = 0;
        for (size_t p = 1; p < n; ++p) {
            if (positions_[p] - begin(p) > positions_[largest] - begin(largest)) largest = p;
        }
        int64_t* missing = stats_.data() + n * width;
        add_range(rows, rows.present, rows.n, missing);
        int64_t* remainder = stats_.data() + largest * width;  // computed by subtraction: the longest run is not read
        add(remainder, node_total.data(), width), sub(remainder, missing, width);
        int64_t distinct = -1;
        for (size_t p = 0; p < n && rows.present; ++p) {
            int64_t* stat = stats_.data() + p * width;
            if (p != largest) {
                add_range(rows, begin(p), positions_[p], stat);
                sub(remainder, stat, width);
            }
            for (int64_t i = begin(p); count_values && i < positions_[p]; ++i) distinct += i == 0 || rows.differs(i);
            out.push_back({nullptr, nullptr, stat, rows.rank(begin(p)), rows.rank(positions_[p] - 1),
                           count_values ? distinct : positions_[p] - 1});
        }
        return {nullptr, nullptr, missing, 0, 0, 0};
    }

private:
    template <class Rows>
    static void add_range(const Rows& rows, int64_t begin, int64_t end, int64_t* stat) {
        if constexpr (requires { rows.add(stat, begin, end); })
            rows.add(stat, begin, end);
        else
            for (int64_t i = begin; i < end; ++i) rows.add(stat, i);
    }
    // Without a filter: all cuts.
    template <class Rows>
    void find_positions(const Rows& rows, const CandidateFilter* filter, size_t column) {
        if (filter) {
            filter->list_positions(column, positions_);
        } else {
            positions_.clear();
            for (int64_t i = 1; i < rows.present; ++i) {
                if (rows.differs(i)) positions_.push_back(i);
            }
        }
        positions_.push_back(rows.present);
    }
    int64_t begin(size_t p) const { return p ? positions_[p - 1] : 0; }

    std::vector<int64_t> positions_;  // present rows below each cut, then all of them
    Stat stats_;
};

}  // namespace treewise
