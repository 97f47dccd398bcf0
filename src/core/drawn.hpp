// The engine of forests: a node looks at a few columns, drawn anew at each, so no list is kept in order.
//
// A node is a segment of the list of rows. Of each drawn column its rows are put in order by their ranks (ranks.hpp),
// which all trees share; every cut is scored, and what may win is handed over as buckets. With random cuts nothing is
// sorted: the least and the largest value say where the cut lies, and one more look what it parts.

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "chance.hpp"
#include "cuts.hpp"
#include "engine.hpp"
#include "frame.hpp"
#include "levels.hpp"
#include "missing.hpp"
#include "ranks.hpp"
#include "rows.hpp"
#include "sorted.hpp"

namespace treewise {

template <Shape S>
class Drawn : public Engine {
public:
    Drawn(const Frame& frame, const Ranks& ranks, std::vector<Row> rows, const std::function<void(int64_t)>& tick)
        : frame_(frame),
          ranks_(ranks),
          width_(frame.width()),
          appraiser_(frame.settings, frame.tables.logs, frame.n_classes()),
          pulse_([&tick] { tick(0); }),
          rows_(std::move(rows)),
          sorted_(frame.settings, frame.tables, appraiser_, pulse_),
          levels_(frame.settings, appraiser_, frame.n_classes()),
          missing_(frame) {}

    Segment all() const override { return rows_.all(); }
    std::span<const Row> rows(Segment node) override { return rows_.of(node); }
    bool gives_stats() const override { return true; }
    void whole(Segment node, const int64_t* y, Stat& stat) override {
        y_ = y;
        stat.assign(width_, 0);
        for (Row r : rows_.of(node)) add_row(stat.data(), r);
    }

    // -- the contest --------------------------------------------------------------------------------------------------

    const std::vector<size_t>& survey(Segment node, const Stat& whole, const std::vector<size_t>& columns,
                                      uint64_t key) override {
        whole_ = &whole, key_ = key, everything_ = false;
        if (frame_.settings.random_cuts) return columns;
        contest_.open(frame_.settings.rule == Rule::c45, frame_.columns.size());
        open_scores(node);
        for (size_t c : columns) frame_.columns[c].is_code() ? survey_levels(c, node) : survey_numbers(c, node);
        return contest_.close();
    }
    void everything() override { everything_ = true; }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        if (frame_.columns[column].is_code()) return level_buckets(column, node, out);
        return frame_.settings.random_cuts ? halves(column, node, out) : number_buckets(column, node, out);
    }
    int64_t n_cuts(size_t column, Segment node) override {
        const Ordered rows = in_order(column, node);
        int64_t cuts = 0;
        for (int64_t i = 1; i < rows.present; ++i) cuts += rows.differs(i);
        return cuts;
    }
    double number(size_t column, int64_t rank) const override { return number_of(ranks_.key(column, rank)); }
    int64_t integer(size_t column, int64_t rank) const override { return integer_of(ranks_.key(column, rank)); }
    bool tells_apart(Segment node) const override {
        const auto rows = rows_.of(node);
        const uint32_t* first = ranks_.of(rows[0]);
        const size_t n = frame_.columns.size();
        return std::any_of(rows.begin(), rows.end(),
                           [&](Row r) { return !std::equal(first, first + n, ranks_.of(r)); });
    }

    // -- splitting ----------------------------------------------------------------------------------------------------

    void divide(Segment node, const Chosen& chosen, std::vector<int64_t>& sizes) override {
        const auto column = at(chosen.column);
        rows_.part(node, sizes, [&](Row r) -> uint32_t {
            const uint32_t rank = ranks_.of(r)[column];
            return rank == kNoRank ? static_cast<uint32_t>(chosen.missing) : chosen.branch(rank);
        });
    }

private:
    static size_t at(int64_t i) { return static_cast<size_t>(i); }
    void add_row(int64_t* stat, Row row) const { frame_.add_row(stat, row, y_, frame_.quantiser); }

    void open_scores(Segment node) {
        double low = 0, high = 0;
        if constexpr (S == Shape::sums) {
            const int64_t* y = frame_.target.y;
            const auto rows = rows_.of(node);
            const auto [least, most] =
                std::minmax_element(rows.begin(), rows.end(), [&](Row a, Row b) { return y[a] < y[b]; });
            low = frame_.quantiser.back(y[*least]), high = frame_.quantiser.back(y[*most]);
        }
        appraiser_.open(whole_->data(), low, high, frame_.quantiser.off(frame_.target.top != kAllFit));
    }

    // -- numbers ------------------------------------------------------------------------------------------------------

    // The rows of a node in order of a column: rank above, row below; the missing ones last.
    struct Ordered {
        const uint64_t* entries;
        int64_t present, n;
        uint32_t rank(int64_t i) const { return static_cast<uint32_t>(entries[i] >> 32); }
        Row row(int64_t i) const { return static_cast<Row>(entries[i]); }
        bool differs(int64_t i) const { return rank(i - 1) != rank(i); }
    };
    Ordered in_order(size_t column, Segment node) {
        entries_.resize(at(node.size()));
        size_t i = 0;
        for (Row r : rows_.of(node)) entries_[i++] = uint64_t{ranks_.of(r)[column]} << 32 | r;
        std::sort(entries_.begin(), entries_.end());
        const auto gone = std::lower_bound(entries_.begin(), entries_.end(), uint64_t{kNoRank} << 32);
        return {entries_.data(), gone - entries_.begin(), node.size()};
    }

    void survey_numbers(size_t column, Segment node) {
        const Ordered rows = in_order(column, node);
        pulse_();
        std::fill(missing_.gone.begin(), missing_.gone.end(), 0);
        for (int64_t i = rows.present; i < rows.n; ++i) add_row(missing_.gone.data(), rows.row(i));
        const Target& target = frame_.target;
        const auto load = [&](int64_t i) {
            if constexpr (S == Shape::sums) return frame_.quantiser(target.y[rows.row(i)], target.weight[rows.row(i)]);
            return int64_t{target.label[rows.row(i)]};
        };
        const auto differs = [&](int64_t i) { return rows.differs(i); };
        missing_.each_placement(column, *whole_, levels_, contest_, [&](const Around& around) {
            if (rows.rank(0) == rows.rank(rows.present - 1)) return;
            if (frame_.unit)
                sorted_.scan(around, rows.present - 1, load, UnitWeight{}, differs, contest_);
            else
                sorted_.scan(
                    around, rows.present - 1, load, [&](int64_t i) { return target.weight[rows.row(i)]; }, differs,
                    contest_);
        });
    }
    Bucket number_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        const Ordered o = in_order(column, node);
        const InOrder rows{o.present, o.n, [&](int64_t* stat, int64_t i) { add_row(stat, o.row(i)); },
                           [&](int64_t i) { return o.differs(i); }, [&](int64_t i) { return int64_t{o.rank(i)}; }};
        return cuts_.fill(rows, everything_ ? nullptr : &contest_.survivors(), static_cast<int32_t>(column), *whole_,
                          frame_.settings.random_ties, out);
    }
    // Below and above a random cut.
    Bucket halves(size_t column, Segment node, std::vector<Bucket>& out) {
        uint32_t low = kNoRank, high = 0;
        for (Row r : rows_.of(node)) {
            const uint32_t rank = ranks_.of(r)[column];
            if (rank != kNoRank) low = std::min(low, rank), high = std::max(high, rank);
        }
        if (low == kNoRank) return {};  // all are missing
        const int64_t last = low < high ? last_under_cut(column, low, high) : high;
        stats_.assign(3 * width_, 0);
        int64_t *left = stats_.data(), *right = left + width_, *gone = right + width_;
        for (Row r : rows_.of(node)) {
            const uint32_t rank = ranks_.of(r)[column];
            if (rank == kNoRank)
                add_row(gone, r);
            else if (rank <= last)
                add_row(left, r);
        }
        out.push_back({nullptr, nullptr, left, low, last, 0});
        if (low < high) {
            add(right, whole_->data(), width_), sub(right, left, width_), sub(right, gone, width_);
            out.push_back({nullptr, nullptr, right, last + 1, high, 1});
        }
        return {nullptr, nullptr, gone, 0, 0, 0};
    }
    int64_t last_under_cut(size_t column, int64_t low, int64_t high) const {
        const uint64_t random = cut_key(key_, column, kThreshold);
        const bool is_number = frame_.columns[column].is_number();
        const double cut = is_number ? random_cut(random, number(column, low), number(column, high)) : 0;
        const int64_t whole = is_number ? 0 : random_cut(random, integer(column, low), integer(column, high));
        while (low + 1 < high) {  // the value of `low` is at most the cut, that of `high` is above it
            const int64_t middle = (low + high) / 2;
            const bool under = is_number ? number(column, middle) <= cut : integer(column, middle) <= whole;
            (under ? low : high) = middle;
        }
        return low;
    }

    // -- levels -------------------------------------------------------------------------------------------------------

    bool by_rows(size_t column) const {  // too many statistics to keep; the exact scan moves rows then
        return S == Shape::many && (width_ > 64 || at(frame_.columns[column].n_levels) * width_ > (1u << 20));
    }
    void count_levels(size_t column, Segment node) {
        const Row* rows = rows_.of(node).data();
        const auto n_levels = at(frame_.columns[column].n_levels);
        counts_.count(
            node.size(), n_levels, width_,
            [&](int64_t i) { return std::min<size_t>(ranks_.of(rows[i])[column], n_levels); },
            [&](int64_t* stat, int64_t i) { add_row(stat, rows[i]); });
    }
    void survey_levels(size_t column, Segment node) {
        const auto number = static_cast<int32_t>(column);
        if (by_rows(column)) {
            constexpr double kInf = std::numeric_limits<double>::infinity();
            return contest_.offer(number, 0, -kInf, kInf);
        }
        count_levels(column, node);
        const int64_t* gone = counts_.gone(width_);
        if (counts_.size() == 0 || counts_.size() + (gone[kRows] > 0) < 2) return;
        levels_.scan(frame_.columns[column], number, counts_.stats.data(), counts_.size(), whole_->data(), gone,
                     frame_.own_branch(gone), contest_);
    }
    Bucket level_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        if (by_rows(column)) return level_rows(column, node, out);
        count_levels(column, node);
        for (size_t i = 0; i < counts_.size(); ++i) {
            const int64_t code = counts_.levels[i];
            out.push_back({nullptr, nullptr, counts_.stats.data() + i * width_, code, code, static_cast<int64_t>(i)});
        }
        return {nullptr, nullptr, counts_.gone(width_), 0, 0, 0};
    }
    Bucket level_rows(size_t column, Segment node, std::vector<Bucket>& out) {
        const Ordered rows = in_order(column, node);
        named_.resize(at(node.size()));
        for (size_t i = 0; i < named_.size(); ++i) named_[i] = rows.row(static_cast<int64_t>(i));
        for (int64_t i = 0, j = 0; i < rows.present; i = j) {
            while (j < rows.present && rows.rank(j) == rows.rank(i)) ++j;
            const int64_t code = rows.rank(i);
            out.push_back(
                {named_.data() + i, named_.data() + j, nullptr, code, code, static_cast<int64_t>(out.size())});
        }
        return {named_.data() + rows.present, named_.data() + named_.size(), nullptr, 0, 0, 0};
    }

    const Frame& frame_;
    const Ranks& ranks_;
    size_t width_;
    Appraiser<S> appraiser_;
    Pulse pulse_;
    RowLists rows_;
    SortedScan<S> sorted_;
    LevelScan<S> levels_;
    Missing<S> missing_;
    CutBuckets cuts_;
    Contest contest_;
    LevelCounts counts_;
    std::vector<uint64_t> entries_;
    std::vector<Row> named_;
    Stat stats_;

    // of the node at hand
    const Stat* whole_ = nullptr;
    const int64_t* y_ = nullptr;
    uint64_t key_ = 0;
    bool everything_ = false;
};

}  // namespace treewise
