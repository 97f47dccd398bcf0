// Histogram over ranks for one column of a node with a binary target of small weights and no missing values: bins of
// about eight rows, so that few rows have to be sorted (search/binned_column.hpp; engines/two_class_forest.hpp).
//
//     rank   0 ········ 64 ········ 128 ······· 192 ······· 256
//            │  3 rows   │  5 rows   │  none     │  4 rows   │

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "search/binned_column.hpp"
#include "search/cut_buckets.hpp"

namespace treewise {

// Rows, weight and class-1 weight packed into 21 bits each, added in one instruction.
struct PackedCounts {
    static constexpr int kFieldBits = 21;
    static constexpr uint64_t kMask = (uint64_t{1} << kFieldBits) - 1;

    uint64_t word = 0;
    static PackedCounts of_row(uint64_t weight, bool one) {
        return {uint64_t{1} << (2 * kFieldBits) | weight << kFieldBits | (one ? weight : 0)};
    }
    static bool fits(int64_t weight) { return weight <= static_cast<int64_t>(kMask); }

    int64_t rows() const { return static_cast<int64_t>(word >> (2 * kFieldBits)); }
    int64_t weight() const { return static_cast<int64_t>(word >> kFieldBits & kMask); }
    int64_t ones() const { return static_cast<int64_t>(word & kMask); }
    PackedCounts& operator+=(PackedCounts other) { return word += other.word, *this; }
    std::array<int64_t, kCounts + 2> stats() const { return {rows(), weight(), weight() - ones(), ones()}; }
};

class RankHistogram {
    auto bins() const {
        return Bins{sums_.size(), [sums = sums_.data()](size_t b) { return sums[b].stats(); },
                    [](size_t) { return true; }, [](size_t) { return 0.0; }};
    }

public:
    RankHistogram(const FitContext& context, const ScoreBounds<TargetKind::binary>& score_bounds)
        : binned_(context, score_bounds), nothing_(context.width(), 0) {}

    // row_counts(entry): the row's packed counts. Returns false, without counting, if values are missing.
    template <class RowCounts>
    bool count(std::span<const uint32_t> entries, const uint32_t* ranks, const RowCounts& row_counts) {
        const size_t n = entries.size();
        const auto [low, high] = range_of(ranks, n);
        if (high == kMissingRank) return false;
        const int bits = std::bit_width(high - low), shift = std::max<int>(0, bits - std::bit_width(n / kRowsPerBin));
        entries_ = entries, ranks_ = ranks, low_ = low, high_ = high, shift_ = shift;
        has_positions_ = false;
        sums_.assign((high >> shift) - (low >> shift) + 1, PackedCounts{});
        PackedCounts* sums = sums_.data();
        const uint32_t first = low >> shift;
#pragma GCC unroll 4
        for (size_t i = 0; i < n; ++i) sums[(ranks[i] >> shift) - first] += row_counts(entries[i]);
        return true;
    }
    int32_t column() const { return column_; }
    double best_edge_purity() const { return binned_.best_edge_purity(); }  // of its edges

    void score_edges(int32_t column, const RowStats& node_total, CandidateFilter& filter) {
        column_ = column;
        binned_.score_edges(bins(), run(node_total), filter);
    }
    // Opens the bins that may hide a better cut. value(entry), weight(entry): class and weight of a row.
    template <class TargetOf, class WeightOf>
    void open_bins(const RowStats& node_total, SortedScan<TargetKind::binary>& scan, const TargetOf& target_of,
                   const WeightOf& weight_of, CandidateFilter& filter) {
        open_bins_.clear();
        binned_.list_open(bins(), run(node_total), filter, open_bins_);
        if (open_bins_.empty()) return;
        number_positions();
        for (const OpenBin& open : open_bins_) positions_.open(open.bin);
        sort_open_rows();
        const uint64_t* rows = sorted_.data();
        const auto entry = [&rows](int64_t i) { return static_cast<uint32_t>(rows[i]); };
        binned_.for_each_open(
            bins(), [&](size_t b) { return positions_.is_open()[b]; }, run(node_total),
            [&](size_t, int64_t n, const RunContext& bin_run) {
                scan.scan(
                    bin_run, n - 1, [&](int64_t i) { return target_of(entry(i)); },
                    [&](int64_t i) { return weight_of(entry(i)); },
                    [&](int64_t i) { return rows[i - 1] >> 32 != rows[i] >> 32; }, filter);
                rows += n;
            });
    }
    // Fills the buckets between the surviving cuts.
    template <class RowCounts>
    Bucket buckets(const CandidateFilter& filter, const RowStats& node_total, const RowCounts& row_counts,
                   CutBuckets& cut_buckets, std::vector<Bucket>& out) {
        filter.list_cuts(to_index(column_), cuts_);
        if (!has_positions_) number_positions();
        if (positions_.open_beside(cuts_)) sort_open_rows();
        const uint64_t* sorted = sorted_.data();
        const auto add_rows = [&](int64_t* stats, int64_t begin, int64_t end) {
            PackedCounts sum;
            positions_.add_range(
                begin, end, [&](size_t b) { sum += sums_[b]; },
                [&](int64_t i) { sum += row_counts(static_cast<uint32_t>(sorted[i])); });
            add(stats, sum.stats().data(), node_total.size());
        };
        const auto rank = [&](int64_t i) -> int64_t {
            const int64_t index = positions_.sorted_index(i);
            return index < 0 ? (i == 0 ? low_ : high_) : static_cast<uint32_t>(sorted[index] >> 32);
        };
        const auto n = static_cast<int64_t>(entries_.size());
        const SortedRows rows{n, n, add_rows, [](int64_t) { return true; }, rank};
        return cut_buckets.fill(rows, &filter, to_index(column_), node_total, out);
    }

private:
    static constexpr size_t kRowsPerBin = 8;

    RunContext run(const RowStats& node_total) const {
        return {column_, nothing_.data(), node_total.data(), nullptr, 0};
    }
    void number_positions() {
        positions_.begin(sums_.size(), [&](size_t b) { return sums_[b].rows(); });
        has_positions_ = true;
    }
    void sort_open_rows() {
        positions_.number_sorted();
        const size_t n_sorted = positions_.n_sorted();
        if (sorted_.size() <= n_sorted) sorted_.resize(2 * n_sorted + 1);  // one spare slot, for rows of closed bins
        const uint8_t* is_open = positions_.is_open().data();
        uint64_t* next = sorted_.data();
        const uint32_t first = low_ >> shift_;
        const uint32_t *entries = entries_.data(), *ranks = ranks_;
        const size_t n_rows = entries_.size();
        const int shift = shift_;
#pragma GCC unroll 4
        for (size_t i = 0; i < n_rows; ++i) {
            *next = uint64_t{ranks[i]} << 32 | entries[i];
            next += is_open[(ranks[i] >> shift) - first];
        }
        std::sort(sorted_.data(), next);
    }

    BinnedColumn<TargetKind::binary> binned_;
    RowStats nothing_;  // to the left of all rows
    int32_t column_ = 0;
    std::span<const uint32_t> entries_;
    const uint32_t* ranks_ = nullptr;
    uint32_t low_ = 0, high_ = 0;  // of the ranks
    int shift_ = 0;                // bin = (rank >> shift) − (low >> shift)
    std::vector<PackedCounts> sums_;
    std::vector<OpenBin> open_bins_;
    bool has_positions_ = false;
    BinPositions positions_;
    std::vector<uint64_t> sorted_;  // rows of the open bins as `rank << 32 | entry`, ascending
    std::vector<int64_t> cuts_;
};

}  // namespace treewise
