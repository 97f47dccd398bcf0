// Histogram over ranks for one column of a node with a binary target: finds the cuts that could be the best without
// sorting the rows (engines/forest.hpp).
//
//     rank   0 ········ 64 ········ 128 ······· 192 ······· 256      about eight rows per bin
//            │  3 rows   │  5 rows   │  none     │  4 rows   │
//                       edge        edge        edge: each is a cut; all are scored in one SIMD loop
//
// A cut inside a bin scores no higher than the corners of its box (search/sorted_scan.hpp). Only bins whose bound is
// competitive are opened: their rows are gathered, sorted and scanned.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "search/sorted_scan.hpp"

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
    void write(int64_t* stat) const {
        stat[kRows] = rows(), stat[kWeight] = weight();
        stat[kCounts] = weight() - ones(), stat[kCounts + 1] = ones();
    }
};

class RankHistogram {
public:
    // row_counts(entry): the row's packed counts. Returns false, without counting, if values are missing.
    template <class RowCounts>
    bool count(std::span<const uint32_t> entries, const uint32_t* ranks, const RowCounts& row_counts) {
        const size_t n = entries.size();
        const auto [low, high] = range_of(ranks, n);
        if (high == kMissingRank) return false;
        const int bits = std::bit_width(high - low), shift = std::max<int>(0, bits - std::bit_width(n / kRowsPerBin));
        entries_ = entries, ranks_ = ranks, low_ = low, high_ = high, shift_ = shift;
        sums_.assign(bin(high) + 1, PackedCounts{});
        PackedCounts* sums = sums_.data();
        const uint32_t first = low >> shift;
#pragma GCC unroll 4
        for (size_t i = 0; i < n; ++i) sums[(ranks[i] >> shift) - first] += row_counts(entries[i]);
        return true;
    }
    int32_t column() const { return column_; }
    double best_score() const { return best_score_; }  // of its edges

    // Scores all edges and offers the competitive ones.
    void score_edges(int32_t column, const Stat& node_total, SortedScan<TargetKind::binary>& scan,
                     CandidateFilter& filter) {
        column_ = column;
        cuts_.resize(sums_.size() - 1);
        PackedCounts sum;
        for (size_t b = 0; b + 1 < sums_.size(); ++b) {
            sum += sums_[b];
            cuts_.put(b, sum.rows(), sum.weight(), sum.ones());
        }
        best_score_ = scan.score_cuts(node_total, cuts_, [column](size_t) { return column; }, filter);
    }
    // Opens the bins that may hide a better cut. value(entry), weight(entry): class and weight of a row.
    template <class Load, class Weight>
    void open_bins(const Stat& node_total, SortedScan<TargetKind::binary>& scan, const Load& value,
                   const Weight& weight, CandidateFilter& filter) {
        const double required_score = scan.required_score(filter);
        find_bounds(node_total, scan, required_score);
        scan.bound_bins(node_total, bin_bounds_);
        is_open_.assign(sums_.size(), 0);
        bool any = false;
        for (size_t i = 0; i < bin_bounds_.size(); ++i)
            any |= is_open_[bin_bounds_.bins[i].bucket] = bin_bounds_.bounds[i] >= required_score;
        if (!any) return;
        gather_open_rows();
        left_.resize(node_total.size());
        const uint64_t* rows = gathered_.data();
        for_each_open([&](size_t b, PackedCounts before) {
            before.write(left_.data());
            right_ = node_total;
            sub(right_.data(), left_.data(), left_.size());
            const auto entry = [rows](int64_t i) { return static_cast<uint32_t>(rows[i]); };
            scan.scan(
                RunContext{column_, left_.data(), right_.data(), nullptr, before.rows()}, sums_[b].rows() - 1,
                [&](int64_t i) { return value(entry(i)); }, [&](int64_t i) { return weight(entry(i)); },
                [rows](int64_t i) { return rows[i - 1] >> 32 != rows[i] >> 32; }, filter);
            rows += sums_[b].rows();
        });
    }
    // Buckets between the surviving cuts, as in search/cut_buckets.hpp; only the bins next to a cut are sorted.
    template <class RowCounts>
    void buckets_between(const std::vector<int64_t>& positions, const Stat& node_total, const RowCounts& row_counts,
                         std::vector<Bucket>& out) {
        if (open_neighbours(positions)) gather_open_rows();
        stats_.assign((positions.size() + 1) * node_total.size(), 0);
        PackedCounts last, all;
        uint32_t lowest_rank = low_;
        const auto add = [&](PackedCounts sum, uint32_t highest_rank) {
            int64_t* stat = stats_.data() + out.size() * node_total.size();
            PackedCounts{sum.word - last.word}.write(stat);
            out.push_back({nullptr, nullptr, stat, lowest_rank, highest_rank, sum.rows() - 1});
            last = sum;
        };
        const uint64_t* rows = gathered_.data();
        auto position = positions.begin();
        for_each_open([&](size_t b, PackedCounts sum) {
            const uint64_t *row = rows, *end = rows += sums_[b].rows();
            while (row < end && position != positions.end()) {
                sum += row_counts(static_cast<uint32_t>(*row++));
                if (sum.rows() != *position) continue;
                add(sum, static_cast<uint32_t>(row[-1] >> 32));
                lowest_rank = static_cast<uint32_t>(*row >> 32),
                ++position;  // the next row, in this bin or the next non-empty one
            }
        });
        for (PackedCounts sum : sums_) all += sum;
        add(all, high_);
    }

private:
    size_t bin(uint32_t rank) const { return (rank >> shift_) - (low_ >> shift_); }

    static constexpr size_t kRowsPerBin = 8;

    // Selects bins by the scores at both edges.
    void find_bounds(const Stat& node_total, const SortedScan<TargetKind::binary>& scan, double required_score) {
        bin_bounds_.bins.clear();
        const auto max_rise = scan.rise_bound();
        const size_t n = sums_.size();
        cuts_.resize(n);
        cuts_.put(n - 1, node_total[kRows], node_total[kWeight], node_total[kCounts + 1]);
        cuts_.scores[n - 1] = scan.parent_score();
        double weight = 0, ones = 0, score = scan.parent_score();
        for (size_t b = 0; b < n; ++b) {
            const double bin_weight = cuts_.weight[b] - weight, ends = score + cuts_.scores[b];
            if (ends + 2 * max_rise(bin_weight) >= 2 * required_score && sums_[b].rows() > 1)
                bin_bounds_.bins.push_back({b, weight, ones, bin_weight, cuts_.ones[b] - ones});
            weight = cuts_.weight[b], ones = cuts_.ones[b], score = cuts_.scores[b];
        }
    }
    // Also opens the bins with the rows on either side of a cut. Returns whether any is new.
    bool open_neighbours(const std::vector<int64_t>& positions) {
        bool any = false;
        auto position = positions.begin();
        int64_t rows = 0;
        for (size_t b = 0; b < sums_.size() && position != positions.end(); ++b) {
            if (sums_[b].rows() == 0) continue;
            rows += sums_[b].rows();
            if (*position <= rows) any |= !is_open_[b], is_open_[b] = 1;
            while (position != positions.end() && *position < rows) ++position;
        }
        return any;
    }
    // Collects the rows of the open bins in sorted order.
    void gather_open_rows() {
        size_t n = 0;
        for (size_t b = 0; b < sums_.size(); ++b) n += is_open_[b] ? static_cast<size_t>(sums_[b].rows()) : 0;
        if (gathered_.size() <= n) gathered_.resize(2 * n + 1);  // one spare slot, overwritten by rows of closed bins
        uint64_t* next = gathered_.data();
        const uint8_t* is_open = is_open_.data();
        const uint32_t first = low_ >> shift_;
        const uint32_t *entries = entries_.data(), *ranks = ranks_;
        const size_t n_rows = entries_.size();
        const int shift = shift_;
#pragma GCC unroll 4
        for (size_t i = 0; i < n_rows; ++i) {
            *next = uint64_t{ranks[i]} << 32 | entries[i];
            next += is_open[(ranks[i] >> shift) - first];
        }
        std::sort(gathered_.data(), next);
    }
    // work(bin, totals below it)
    template <class Work>
    void for_each_open(const Work& work) const {
        PackedCounts before;
        for (size_t b = 0; b < sums_.size(); before += sums_[b++]) {
            if (is_open_[b]) work(b, before);
        }
    }

    int32_t column_ = 0;
    double best_score_ = 0;
    std::span<const uint32_t> entries_;
    const uint32_t* ranks_ = nullptr;
    uint32_t low_ = 0, high_ = 0;
    int shift_ = 0;
    std::vector<PackedCounts> sums_;
    CutBatch cuts_;
    BinBounds bin_bounds_;
    std::vector<uint8_t> is_open_;
    std::vector<uint64_t> gathered_;
    Stat left_, right_, stats_;
};

}  // namespace treewise
