// Buckets between the surviving cuts of a numeric column, for the exact splitter: the only place that forms them. An
// engine describes the order of its rows (SortedRows); if it has counted them in bins, only the bins next to a cut need
// to be sorted (BinPositions).

#pragma once

#include <algorithm>
#include <vector>

#include "engines/engine.hpp"
#include "search/candidate_filter.hpp"

namespace treewise {

// The rows of a node sorted by a column: the first `present` of n have a value.
template <class Add, class Differs, class RankAt>
struct SortedRows {
    int64_t present, n;
    Add add;          // add(stats, i): adds row i to statistics; or add(stats, begin, end) a range of rows
    Differs differs;  // differs(i): whether rows i − 1 and i have different values; not called if cuts are filtered
    RankAt rank;      // rank(i): rank or key of row i, if it is next to a cut; for the first and the last, a bound does
};
template <class Add, class Differs, class RankAt>
SortedRows(int64_t, int64_t, Add, Differs, RankAt) -> SortedRows<Add, Differs, RankAt>;

class CutBuckets {
public:
    // Returns the missing rows.
    template <class Rows>
    Bucket fill(const Rows& rows, const CandidateFilter* filter, size_t column, const RowStats& node_total,
                std::vector<Bucket>& out) {
        find_cuts(rows, filter, column);
        const size_t width = node_total.size(), n = cuts_.size();
        stats_.assign((n + 1) * width, 0);
        size_t largest = 0;
        for (size_t c = 1; c < n; ++c) {
            if (cuts_[c] - begin(c) > cuts_[largest] - begin(largest)) largest = c;
        }
        int64_t* missing_stats = stats_.data() + n * width;
        add_range(rows, rows.present, rows.n, missing_stats);
        int64_t* remainder = stats_.data() + largest * width;  // computed by subtraction: the longest run is not read
        add(remainder, node_total.data(), width), sub(remainder, missing_stats, width);
        for (size_t c = 0; c < n && rows.present; ++c) {
            int64_t* stats = stats_.data() + c * width;
            if (c != largest) {
                add_range(rows, begin(c), cuts_[c], stats);
                sub(remainder, stats, width);
            }
            out.push_back({nullptr, nullptr, stats, rows.rank(begin(c)), rows.rank(cuts_[c] - 1), cuts_[c] - 1});
        }
        return {nullptr, nullptr, missing_stats, 0, 0, 0};
    }

private:
    template <class Rows>
    static void add_range(const Rows& rows, int64_t begin, int64_t end, int64_t* stats) {
        if constexpr (requires { rows.add(stats, begin, end); })
            rows.add(stats, begin, end);
        else
            for (int64_t i = begin; i < end; ++i) rows.add(stats, i);
    }
    // Without a filter: all cuts.
    template <class Rows>
    void find_cuts(const Rows& rows, const CandidateFilter* filter, size_t column) {
        if (filter) {
            filter->list_cuts(column, cuts_);
        } else {
            cuts_.clear();
            for (int64_t i = 1; i < rows.present; ++i) {
                if (rows.differs(i)) cuts_.push_back(i);
            }
        }
        cuts_.push_back(rows.present);
    }
    int64_t begin(size_t c) const { return c ? cuts_[c - 1] : 0; }

    std::vector<int64_t> cuts_;  // present rows below each cut, then all of them
    RowStats stats_;
};

// Positions in the order of a column whose rows were counted in bins:
//
//     bins        |    7    |  4  |     9     |  3  |      rows in each
//     positions   0         7     11    ▲     20    23
//     sorted                      11 ········ 19           only the rows of open bins: here, those next to a cut at 15
class BinPositions {
public:
    // rows(b): present rows in bin b.
    template <class RowsIn>
    void begin(size_t n_bins, const RowsIn& rows) {
        ends_.resize(n_bins), is_open_.assign(n_bins, 0);
        int64_t end = 0;
        for (size_t b = 0; b < n_bins; ++b) ends_[b] = end += rows(b);
    }
    void open(size_t b) { is_open_[b] = 1; }
    // Opens the bins of the rows on either side of each cut; cuts: present rows below each. Returns whether any is new.
    bool open_beside(const std::vector<int64_t>& cuts) {
        bool any = false;
        for (int64_t cut : cuts) {
            for (size_t b : {bin_of(cut - 1), bin_of(cut)}) any |= !is_open_[b], open(b);
        }
        return any;
    }
    void open_all() {
        std::fill(is_open_.begin(), is_open_.end(), 1);
        number_sorted();
    }
    // Call after opening.
    void number_sorted() {
        n_closed_.resize(ends_.size());
        int64_t n_closed = 0;
        for (size_t b = 0; b < ends_.size(); ++b) n_closed_[b] = n_closed += is_open_[b] ? 0 : rows(b);
    }
    size_t n_bins() const { return ends_.size(); }
    int64_t end(size_t b) const { return ends_[b]; }
    const std::vector<uint8_t>& is_open() const { return is_open_; }  // by bin
    int64_t present() const { return ends_.back(); }
    size_t n_sorted() const { return static_cast<size_t>(present() - n_closed_.back()); }

    // The index of row i among the sorted rows, or −1 if its bin is closed.
    int64_t sorted_index(int64_t i) const {
        const size_t b = bin_of(i);
        return is_open_[b] ? i - n_closed_[b] : -1;
    }
    // Adds the rows [begin, end): add_bin(b) for whole bins, add_row(index among the sorted rows) for the others.
    template <class AddBin, class AddRow>
    void add_range(int64_t begin, int64_t end, const AddBin& add_bin, const AddRow& add_row) const {
        for (size_t b = bin_of(begin); begin < end; ++b) {
            const int64_t stop = std::min(end, ends_[b]);
            if (stop - begin == rows(b))
                add_bin(b);
            else
                for (int64_t i = begin; i < stop; ++i) add_row(i - n_closed_[b]);
            begin = stop;
        }
    }

private:
    size_t bin_of(int64_t i) const {  // of row i; of all bins that end there, the one that is not empty
        return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
    }
    int64_t rows(size_t b) const { return ends_[b] - (b ? ends_[b - 1] : 0); }

    std::vector<int64_t> ends_;      // present rows up to and including each bin …
    std::vector<int64_t> n_closed_;  // … and those of them in closed bins
    std::vector<uint8_t> is_open_;
};

}  // namespace treewise
