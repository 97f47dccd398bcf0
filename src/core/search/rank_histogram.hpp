// A column of a node of two classes, counted in buckets of neighbouring ranks: which of its cuts could be the best,
// without putting the rows in order (engines/forest.hpp).
//
//     rank   0 ········ 64 ········ 128 ······· 192 ······· 256      about eight rows a bucket
//            │  3 rows   │  5 rows   │  none     │  4 rows   │
//                       edge        edge        edge: each is a cut; all are scored at once, by a vector loop
//
// A cut inside a bucket is no better than the corners of its box (search/sorted_scan.hpp). Only buckets where that
// might be enough are opened: their rows picked out, sorted, and scanned one by one.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "search/sorted_scan.hpp"

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
    void write(int64_t* stat) const {
        stat[kRows] = rows(), stat[kWeight] = weight();
        stat[kCounts] = weight() - ones(), stat[kCounts + 1] = ones();
    }
};

class Coarse {
public:
    // share(entry): a row's part in the sums. Returns false, with nothing counted, where values are missing.
    template <class Share>
    bool count(std::span<const uint32_t> entries, const uint32_t* ranks, const Share& share) {
        const size_t n = entries.size();
        const auto [low, high] = range_of(ranks, n);
        if (high == kNoRank) return false;
        const int bits = std::bit_width(high - low), shift = std::max<int>(0, bits - std::bit_width(n / kRowsEach));
        entries_ = entries, ranks_ = ranks, low_ = low, high_ = high, shift_ = shift;
        sums_.assign(bucket(high) + 1, Trio{});
        Trio* sums = sums_.data();
        const uint32_t first = low >> shift;
#pragma GCC unroll 4
        for (size_t i = 0; i < n; ++i) sums[(ranks[i] >> shift) - first] += share(entries[i]);
        return true;
    }
    int32_t column() const { return column_; }
    double best() const { return best_; }  // score of its edges

    // Scores all edges, and offers those that may win.
    void survey(int32_t column, const Stat& whole, SortedScan<Shape::two>& scan, Contest& contest) {
        column_ = column;
        edges_.resize(sums_.size() - 1);
        Trio sum;
        for (size_t b = 0; b + 1 < sums_.size(); ++b) {
            sum += sums_[b];
            edges_.put(b, sum.rows(), sum.weight(), sum.ones());
        }
        best_ = scan.edges(whole, edges_, [column](size_t) { return column; }, contest);
    }
    // Looks into the buckets that may hide a better cut than the contest knows. load(entry), weight(entry).
    template <class Load, class Weight>
    void open(const Stat& whole, SortedScan<Shape::two>& scan, const Load& load, const Weight& weight,
              Contest& contest) {
        const double enough = scan.enough(contest);
        find_boxes(whole, scan, enough);
        scan.within(whole, boxes_);
        wanted_.assign(sums_.size(), 0);
        bool any = false;
        for (size_t i = 0; i < boxes_.size(); ++i) any |= wanted_[boxes_.all[i].bucket] = boxes_.bounds[i] >= enough;
        if (!any) return;
        pick();
        left_.resize(whole.size());
        const uint64_t* rows = picked_.data();
        each_wanted([&](size_t b, Trio before) {
            before.write(left_.data());
            right_ = whole;
            sub(right_.data(), left_.data(), left_.size());
            const auto entry = [rows](int64_t i) { return static_cast<uint32_t>(rows[i]); };
            scan.scan(
                Around{column_, left_.data(), right_.data(), nullptr, before.rows()}, sums_[b].rows() - 1,
                [&](int64_t i) { return load(entry(i)); }, [&](int64_t i) { return weight(entry(i)); },
                [rows](int64_t i) { return rows[i - 1] >> 32 != rows[i] >> 32; }, contest);
            rows += sums_[b].rows();
        });
    }
    // The rows between the cuts that are left, for the exact decision (as search/cut_buckets.hpp): only those beside a
    // cut are put in order.
    template <class Share>
    void buckets_between(const std::vector<int64_t>& places, const Stat& whole, const Share& share,
                         std::vector<Bucket>& out) {
        if (want_neighbours(places)) pick();
        stats_.assign((places.size() + 1) * whole.size(), 0);
        Trio last, all;
        uint32_t lowest = low_;
        const auto add = [&](Trio sum, uint32_t highest) {
            int64_t* stat = stats_.data() + out.size() * whole.size();
            Trio{sum.word - last.word}.write(stat);
            out.push_back({nullptr, nullptr, stat, lowest, highest, sum.rows() - 1});
            last = sum;
        };
        const uint64_t* rows = picked_.data();
        auto place = places.begin();
        each_wanted([&](size_t b, Trio sum) {
            const uint64_t *row = rows, *end = rows += sums_[b].rows();
            while (row < end && place != places.end()) {
                sum += share(static_cast<uint32_t>(*row++));
                if (sum.rows() != *place) continue;
                add(sum, static_cast<uint32_t>(row[-1] >> 32));
                lowest = static_cast<uint32_t>(*row >> 32), ++place;  // of this bucket, or of the next one with rows
            }
        });
        for (Trio sum : sums_) all += sum;
        add(all, high_);
    }

private:
    size_t bucket(uint32_t rank) const { return (rank >> shift_) - (low_ >> shift_); }

    static constexpr size_t kRowsEach = 8;

    // Buckets where a cut might be enough, going by the scores at both ends.
    void find_boxes(const Stat& whole, const SortedScan<Shape::two>& scan, double enough) {
        boxes_.all.clear();
        const auto rise = scan.rise();
        const size_t n = sums_.size();
        edges_.resize(n);
        edges_.put(n - 1, whole[kRows], whole[kWeight], whole[kCounts + 1]);
        edges_.scores[n - 1] = scan.whole();
        double weight = 0, ones = 0, score = scan.whole();
        for (size_t b = 0; b < n; ++b) {
            const double more = edges_.weight[b] - weight, ends = score + edges_.scores[b];
            if (ends + 2 * rise(more) >= 2 * enough && sums_[b].rows() > 1)
                boxes_.all.push_back({b, weight, ones, more, edges_.ones[b] - ones});
            weight = edges_.weight[b], ones = edges_.ones[b], score = edges_.scores[b];
        }
    }
    // Those that have the rows on both sides of a place, beside what is wanted. Returns whether any is new.
    bool want_neighbours(const std::vector<int64_t>& places) {
        bool any = false;
        auto place = places.begin();
        int64_t rows = 0;
        for (size_t b = 0; b < sums_.size() && place != places.end(); ++b) {
            if (sums_[b].rows() == 0) continue;
            rows += sums_[b].rows();
            if (*place <= rows) any |= !wanted_[b], wanted_[b] = 1;
            while (place != places.end() && *place < rows) ++place;
        }
        return any;
    }
    // The rows of the buckets that are wanted, in order.
    void pick() {
        size_t n = 0;
        for (size_t b = 0; b < sums_.size(); ++b) n += wanted_[b] ? static_cast<size_t>(sums_[b].rows()) : 0;
        if (picked_.size() <= n) picked_.resize(2 * n + 1);  // one more: what is not wanted is overwritten
        uint64_t* next = picked_.data();
        const uint8_t* wanted = wanted_.data();
        const uint32_t first = low_ >> shift_;
        const uint32_t *entries = entries_.data(), *ranks = ranks_;
        const size_t n_rows = entries_.size();
        const int shift = shift_;
#pragma GCC unroll 4
        for (size_t i = 0; i < n_rows; ++i) {
            *next = uint64_t{ranks[i]} << 32 | entries[i];
            next += wanted[(ranks[i] >> shift) - first];
        }
        std::sort(picked_.data(), next);
    }
    // work(bucket, what lies below it)
    template <class Work>
    void each_wanted(const Work& work) const {
        Trio before;
        for (size_t b = 0; b < sums_.size(); before += sums_[b++]) {
            if (wanted_[b]) work(b, before);
        }
    }

    int32_t column_ = 0;
    double best_ = 0;
    std::span<const uint32_t> entries_;
    const uint32_t* ranks_ = nullptr;
    uint32_t low_ = 0, high_ = 0;
    int shift_ = 0;
    std::vector<Trio> sums_;
    Edges edges_;
    Boxes boxes_;
    std::vector<uint8_t> wanted_;
    std::vector<uint64_t> picked_;
    Stat left_, right_, stats_;
};

}  // namespace treewise
