// A column of a node of two classes, counted in buckets of neighbouring ranks: which of its cuts could be the best,
// without putting the rows in order (drawn.hpp).
//
//     rank   0 ········ 64 ········ 128 ······· 192 ······· 256      about four rows a bucket
//            │  3 rows   │  5 rows   │  none     │  4 rows   │
//                       edge        edge        edge: each is a cut; all are scored at once, by a vector loop
//
// A cut inside a bucket is no better than the corners of its box (sorted.hpp). Only buckets where that might be enough
// are opened: their rows picked out, sorted, and scanned one by one.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "engine.hpp"
#include "sorted.hpp"

namespace treewise {

// Rows, weight, and weight of class 1, each in a third of a word: added up in one go.
struct Trio {
    static constexpr int kField = 21;
    static constexpr uint64_t kMask = (uint64_t{1} << kField) - 1;

    uint64_t word = 0;
    static Trio of_row(uint64_t weight, bool one) {
        return {uint64_t{1} << (2 * kField) | weight << kField | (one ? weight : 0)};
    }
    static bool hold(int64_t weight) { return weight <= static_cast<int64_t>(kMask); }

    int64_t rows() const { return static_cast<int64_t>(word >> (2 * kField)); }
    int64_t weight() const { return static_cast<int64_t>(word >> kField & kMask); }
    int64_t ones() const { return static_cast<int64_t>(word & kMask); }
    Trio& operator+=(Trio other) { return word += other.word, *this; }
    void write(Stat& stat) const {
        stat[kRows] = rows(), stat[kWeight] = weight();
        stat[kCounts] = weight() - ones(), stat[kCounts + 1] = ones();
    }
};

class Coarse {
public:
    // share(entry): a row's part in the sums. Returns false, with nothing counted, where values are missing.
    template <class Share>
    bool count(const uint32_t* entries, const uint32_t* ranks, size_t n, const Share& share) {
        uint32_t low = ~0u, high = 0;
        for (size_t i = 0; i < n; ++i) low = std::min(low, ranks[i]), high = std::max(high, ranks[i]);
        if (high == kNoRank) return false;
        const int bits = std::bit_width(high - low), width = std::min<int>(bits, std::bit_width(n / kRowsEach));
        const int shift = bits - width;
        sums_.assign(static_cast<size_t>((high - low) >> shift) + 1, Trio{});
        Trio* sums = sums_.data();
        for (size_t i = 0; i < n; ++i) sums[(ranks[i] - low) >> shift] += share(entries[i]);
        entries_ = entries, ranks_ = ranks, n_ = n, low_ = low, shift_ = shift;
        return true;
    }

    // Scores all edges, and offers those that may win.
    void survey(int32_t column, const Stat& whole, SortedScan<Shape::two>& scan, Contest& contest) {
        column_ = column;
        edges_.resize(sums_.size());
        Trio sum;
        for (size_t b = 0; b < sums_.size(); ++b) {
            sum += sums_[b];
            edges_.put(b, sum.rows(), sum.weight(), sum.ones());
        }
        scan.edges(column, whole, edges_, contest);
    }
    // Looks into the buckets that may hide a better cut than the contest knows. load(entry), weight(entry).
    template <class Load, class Weight>
    void open(const Stat& whole, SortedScan<Shape::two>& scan, const Load& load, const Weight& weight,
              Contest& contest) {
        scan.within(whole, edges_, bounds_);
        const double enough = scan.enough(column_, contest);
        wanted_.assign(sums_.size(), 0);
        bool any = false;
        for (size_t b = 0; b < sums_.size(); ++b) any |= wanted_[b] = bounds_[b] >= enough && sums_[b].rows() > 1;
        if (!any) return;
        pick();
        left_.resize(whole.size());
        const uint64_t* rows = picked_.data();
        Trio before;
        for (size_t b = 0; b < sums_.size(); before += sums_[b++]) {
            if (!wanted_[b]) continue;
            before.write(left_);
            right_ = whole;
            sub(right_.data(), left_.data(), left_.size());
            const auto entry = [rows](int64_t i) { return static_cast<uint32_t>(rows[i]); };
            scan.scan(
                Around{column_, left_.data(), right_.data(), nullptr, before.rows()}, sums_[b].rows() - 1,
                [&](int64_t i) { return load(entry(i)); }, [&](int64_t i) { return weight(entry(i)); },
                [rows](int64_t i) { return rows[i - 1] >> 32 != rows[i] >> 32; }, contest);
            rows += sums_[b].rows();
        }
    }

private:
    static constexpr size_t kRowsEach = 4;

    // The rows of the buckets that are wanted, in order.
    void pick() {
        picked_.clear();
        for (size_t i = 0; i < n_; ++i) {
            if (wanted_[(ranks_[i] - low_) >> shift_]) picked_.push_back(uint64_t{ranks_[i]} << 32 | entries_[i]);
        }
        std::sort(picked_.begin(), picked_.end());
    }

    int32_t column_ = 0;
    const uint32_t* entries_ = nullptr;
    const uint32_t* ranks_ = nullptr;
    size_t n_ = 0;
    uint32_t low_ = 0;
    int shift_ = 0;
    std::vector<Trio> sums_;
    Edges edges_;
    std::vector<double> bounds_;
    std::vector<uint8_t> wanted_;
    std::vector<uint64_t> picked_;
    Stat left_, right_;
};

}  // namespace treewise
