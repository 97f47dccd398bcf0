// Statistics of bins: how many rows of a node, of what weight and with what targets, have each code of each column.
//
// One array a node, the columns' cells one after the other. Arrays of nodes that wait for their turn are kept, as far
// as memory goes: a child's can then be had by subtraction (engines/histogram.hpp).

#pragma once

#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engines/engine.hpp"
#include "problem/bin_mapper.hpp"
#include "problem/quartiles.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

template <Shape S>
class BinCounts {
public:
    BinCounts(const Frame& frame, Crew& crew, const std::function<void()>& tick)
        : frame_(frame), crew_(crew), tick_(tick), codes_(frame.columns.size()), offsets_(frame.columns.size() + 1, 0) {
        const auto n_rows = static_cast<size_t>(frame.target.n_rows);
        make_codes(n_rows);
        for (size_t c = 0; c < codes_.size(); ++c) offsets_[c + 1] = offsets_[c] + (countable(c) ? kBins * cell(c) : 0);
        if constexpr (S == Shape::sums) {
            const int bits = 62 - bit_length(static_cast<uint128>(n_rows));
            coarse_ = std::max(0, bits - bits / 2);
        }
    }

    const std::vector<Codes>& codes() const { return codes_; }
    // Nothing is counted any more.
    void forget() {
        bytes_.reset();
        held_.clear();
    }
    bool countable(size_t column) const { return !codes_[column].none(); }

    // The array of a node; it is counted unless it is held.
    const std::vector<int64_t>& of(Segment node, std::span<const Row> rows) {
        const auto found = held_.find(node.begin);
        if (found != held_.end()) return found->second;
        if (!room()) held_.clear();
        return held_[node.begin] = count(rows);
    }
    bool holds(Segment node) const { return held_.contains(node.begin); }
    const std::vector<int64_t>& held(Segment node) const { return held_.at(node.begin); }
    void hold(Segment node, std::vector<int64_t>&& counts) {
        if (room()) held_[node.begin] = std::move(counts);
    }
    void drop(Segment node) { held_.erase(node.begin); }
    std::vector<int64_t> take(Segment node) { return std::move(held_.extract(node.begin).mapped()); }
    const int64_t* cells(const std::vector<int64_t>& array, size_t column) const {
        return array.data() + offsets_[column];
    }

    std::vector<int64_t> count(std::span<const Row> rows) {
        std::vector<int64_t> counts(offsets_.back(), 0);
        crew_.share(
            codes_.size(),
            [&](size_t c, int) {
                if (countable(c)) count_column(c, rows, counts.data() + offsets_[c]);
            },
            tick_);
        return counts;
    }
    // A bin's statistics (of numbers: as far as scores go).
    void read(const int64_t* cells, size_t column, size_t bin, Stat& out) const {
        const size_t words = cell(column);
        const int64_t* c = cells + bin * words;
        if (words == 1) {
            const int64_t rows = c[0] & 0xFFFFFFFF, ones = c[0] >> 32;
            out[kRows] = out[kWeight] = rows, out[kCounts] = rows - ones, out[kCounts + 1] = ones;
        } else if (S == Shape::sums && words == 4) {
            std::fill(out.begin(), out.end(), 0);
            out[kRows] = c[0], out[kWeight] = c[1], out[kLoad] = c[2];
        } else {
            std::copy_n(c, words, out.begin());
        }
    }
    size_t rows(const int64_t* cells, size_t column, size_t bin) const {
        const size_t words = cell(column);
        return static_cast<size_t>(words == 1 ? cells[bin] & 0xFFFFFFFF : cells[bin * words + kRows]);
    }
    double squares(const int64_t* cells, size_t bin) const {
        return std::ldexp(static_cast<double>(cells[bin * 4 + 3]), 2 * coarse_);
    }

    // Of each column of numbers, over all rows: selected in the bin where the rows below reach a quarter, or three.
    std::vector<Quartiles> quartiles(Segment all, std::span<const Row> rows) {
        const std::vector<int64_t>& held = of(all, rows);
        std::vector<Quartiles> found(codes_.size());
        crew_.share(
            found.size(),
            [&](size_t c, int) {
                if (!frame_.columns[c].is_code()) found[c] = quartiles_of(c, cells(held, c));
            },
            tick_);
        return found;
    }

private:
    bool room() const {
        constexpr size_t kWords = size_t{1} << 22;
        return (held_.size() + 1) * offsets_.back() <= kWords;
    }
    // Words a bin: two classes of unit weight share one (rows below, ones above); numbers need no exact sums here.
    size_t cell(size_t column) const {
        if (S == Shape::two && frame_.unit) return 1;
        if (S == Shape::sums && !frame_.columns[column].is_code()) return 4;
        return frame_.width();
    }
    void make_codes(size_t n) {
        constexpr size_t kBlock = 1 << 12;
        size_t coded = 0;
        for (const Column& column : frame_.columns) coded += Codes::can_hold(column);
        bytes_ = std::make_unique_for_overwrite<uint8_t[]>(coded * n);
        uint8_t* next = bytes_.get();
        for (size_t c = 0; c < codes_.size(); ++c) {
            if (Codes::can_hold(frame_.columns[c])) codes_[c].of_row = std::exchange(next, next + n);
        }
        crew_.share(
            codes_.size(), [&](size_t c, int) { codes_[c].prepare(frame_.columns[c], frame_.target.n_rows); }, tick_);
        crew_.share((n + kBlock - 1) / kBlock,
                    [&](size_t block, int) {
                        const size_t begin = block * kBlock, end = std::min(n, begin + kBlock);
                        for (size_t c = 0; c < codes_.size(); ++c) codes_[c].fill(frame_.columns[c], begin, end);
                    },
                    tick_);
    }
    void count_column(size_t column, std::span<const Row> rows, int64_t* cells) const {
        const uint8_t* code = codes_[column].of_row;
        const Target& target = frame_.target;
        if constexpr (S == Shape::two) {
            if (frame_.unit) {
                const uint8_t* label = target.label.bytes;
                for (Row r : rows) cells[code[r]] += 1 + (static_cast<int64_t>(label[r]) << 32);
                return;
            }
        }
        if constexpr (S == Shape::sums) {
            if (!frame_.columns[column].is_code()) {
                for (Row r : rows) {
                    const int64_t w = target.weight[r], v = frame_.quantiser(target.y[r], w);
                    int64_t* cell = cells + 4 * size_t{code[r]};
                    ++cell[0], cell[1] += w, cell[2] += v, cell[3] += squared(v, w);
                }
                return;
            }
        }
        for (Row r : rows) frame_.add_row(cells + frame_.width() * size_t{code[r]}, r, target.y, frame_.quantiser);
    }
    // v²/w without its last bits, rounded up.
    int64_t squared(int64_t v, int64_t w) const {
        const int64_t u = std::abs(v) >> coarse_;
        if (w == 1) return u * u + 2 * u + 1;
        const double exact = static_cast<double>(v) * static_cast<double>(v) / static_cast<double>(w);
        return static_cast<int64_t>(std::ldexp(exact * (1 + 0x1p-48), -2 * coarse_)) + 2;
    }

    Quartiles quartiles_of(size_t column, const int64_t* cells) const {
        Stat bin(frame_.width());
        int64_t present = 0;
        const auto weight_in = [&](size_t b) {
            read(cells, column, b, bin);
            return bin[kWeight];
        };
        for (size_t b = 0; b < kGone; ++b) present += weight_in(b);
        if (present == 0) return {};
        const auto reaching = [&](int64_t wanted) {
            size_t b = 0;
            for (int64_t here; (here = weight_in(b)) < wanted; ++b) wanted -= here;
            return select_in_bin(column, b, wanted);
        };
        return {reaching(Quartiles::least_low(present)), reaching(Quartiles::least_high(present))};
    }
    int64_t select_in_bin(size_t column, size_t bin, int64_t wanted) const {
        const Codes& codes = codes_[column];
        if (!codes.mixed[bin]) return codes.edges[bin];  // its one value
        std::vector<Row> rows;
        const uint8_t* end = codes.of_row + frame_.target.n_rows;
        for (const uint8_t* at = codes.of_row; (at = std::find(at, end, bin)) != end; ++at)
            rows.push_back(static_cast<Row>(at - codes.of_row));
        std::vector<int64_t> keys(rows.size());
        read_keys(frame_.columns[column], rows, keys.data());
        Selection some(frame_.target.weight, frame_.unit);
        for (size_t i = 0; i < rows.size(); ++i) some.add(keys[i], rows[i]);
        return some.reaching(wanted);
    }

    const Frame& frame_;
    Crew& crew_;
    const std::function<void()>& tick_;
    std::unique_ptr<uint8_t[]> bytes_;  // the codes of all columns
    std::vector<Codes> codes_;
    std::vector<size_t> offsets_;                   // where a column's cells begin
    int coarse_ = 0;                                // bits cut from v before squaring
    std::map<int64_t, std::vector<int64_t>> held_;  // arrays of nodes that wait, by where they begin
};

}  // namespace treewise
