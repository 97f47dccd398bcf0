// The engine of forests: a node looks at a few columns, drawn anew at each, so no list is kept in order.
//
// A node is a segment of the list of rows. Of each drawn column its rows are put in order by their ranks (ranks.hpp),
// which all trees share; every cut is scored, and what may win is handed over as buckets. Larger nodes of two classes
// are counted instead (coarse.hpp), and only a column that may win is put in order.
//
// An entry of the list is a row's number with, where they fit, its class and weight beside it, so that nothing but
// ranks is looked up:
//
//     entry   [ class | weight | row ]

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "coarse.hpp"
#include "cuts.hpp"
#include "engine.hpp"
#include "frame.hpp"
#include "levels.hpp"
#include "missing.hpp"
#include "node_levels.hpp"
#include "order.hpp"
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
          entries_(packed(rows)),
          sorted_(frame.settings, frame.tables, appraiser_, pulse_),
          levels_(frame.settings, appraiser_, frame.n_classes()),
          missing_(frame),
          coded_(frame) {}

    Segment all() const override { return entries_.all(); }
    std::span<const Row> rows(Segment node) override {
        named_.assign(entries_.of(node).begin(), entries_.of(node).end());
        for (Row& row : named_) row &= row_mask_;
        return named_;
    }
    bool gives_stats() const override { return true; }
    void whole(Segment node, const int64_t* y, Stat& stat) override {
        y_ = y;
        stat.assign(width_, 0);
        for (uint32_t e : entries_.of(node)) add_entry(stat.data(), e);
    }

    // -- the contest --------------------------------------------------------------------------------------------------

    const std::vector<size_t>& survey(Segment node, const Stat& whole, const std::vector<size_t>& columns,
                                      uint64_t) override {
        whole_ = &whole, everything_ = false;
        contest_.open(frame_.settings.rule == Rule::c45, frame_.columns.size());
        open_scores(node);
        gather(columns, node);
        n_coarse_ = 0;
        for (size_t i = 0; i < columns.size(); ++i) {
            if (frame_.columns[columns[i]].is_code())
                coded_.survey(columns[i], coded(columns[i], node), *whole_, levels_, contest_);
            else if (!count_numbers(columns[i], node, gathered_[i].data()))
                survey_numbers(columns[i], node, gathered_[i].data());
        }
        for (size_t i = 0; i < n_coarse_; ++i) open(coarse_[i]);
        return contest_.close();
    }
    void everything() override { everything_ = true; }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        if (frame_.columns[column].is_code()) return coded_.buckets(column, coded(column, node), out);
        return number_buckets(column, node, out);
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
        const auto entries = entries_.of(node);
        const uint32_t* first = ranks_.of(row_of(entries[0]));
        const size_t n = frame_.columns.size();
        return std::any_of(entries.begin(), entries.end(),
                           [&](uint32_t e) { return !std::equal(first, first + n, ranks_.of(row_of(e))); });
    }

    // -- splitting ----------------------------------------------------------------------------------------------------

    void divide(Segment node, const Chosen& chosen, std::vector<int64_t>& sizes) override {
        const auto rank = [this, column = at(chosen.column)](uint32_t e) { return ranks_.of(row_of(e))[column]; };
        const auto missing = static_cast<uint32_t>(chosen.missing);
        if (chosen.kind == kThreshold) {
            const auto last = static_cast<uint32_t>(chosen.last_left);
            return entries_.part(node, sizes, [&](uint32_t e) -> uint32_t {
                const uint32_t r = rank(e);
                return r == kNoRank ? missing : r > last;
            });
        }
        entries_.part(node, sizes, [&](uint32_t e) -> uint32_t {
            const uint32_t r = rank(e);
            return r == kNoRank ? missing : chosen.branch(r);
        });
    }

private:
    static constexpr int64_t kMoment = 64;  // rows: fewer are no time
    static constexpr int kMostWeightBits = 10;
    static constexpr size_t kPiece = 256;  // rows whose ranks stay at hand

    static size_t at(int64_t i) { return static_cast<size_t>(i); }

    // -- entries ------------------------------------------------------------------------------------------------------

    std::vector<uint32_t> packed(std::vector<Row>& rows) {
        const Target& target = frame_.target;
        if constexpr (S == Shape::sums) {
            loads_.resize(at(target.n_rows));
            for (Row r : rows) loads_[r] = frame_.quantiser(target.y[r], target.weight[r]);
            return std::move(rows);
        }
        int64_t heaviest = 1;
        for (Row r : rows) heaviest = std::max(heaviest, target.weight[r]);
        const int for_classes = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(1, target.n_classes - 1)));
        const int for_weights = std::bit_width(static_cast<uint64_t>(heaviest));
        const int for_rows = 32 - for_classes - for_weights;
        if (for_weights > kMostWeightBits || target.n_rows > int64_t{1} << for_rows) return std::move(rows);
        row_bits_ = for_rows, class_shift_ = 32 - for_classes;
        row_mask_ = (1u << for_rows) - 1, weight_mask_ = (1u << for_weights) - 1;
        for (Row& r : rows) {
            const auto label = static_cast<uint32_t>(target.label[r]), weight = static_cast<uint32_t>(target.weight[r]);
            r |= label << class_shift_ | weight << for_rows;
        }
        if constexpr (S == Shape::two) {  // by what stands above the row
            trios_.resize(size_t{1} << (32 - for_rows));
            for (uint32_t above = 0; above < trios_.size(); ++above)
                trios_[above] = Trio::of_row(above & weight_mask_, above >> for_weights);
        }
        return std::move(rows);
    }
    Row row_of(uint32_t entry) const { return entry & row_mask_; }
    int64_t class_of(uint32_t entry) const {
        return weight_mask_ ? int64_t{entry >> class_shift_} : int64_t{frame_.target.label[entry]};
    }
    int64_t weight_of(uint32_t entry) const {
        return weight_mask_ ? int64_t{entry >> row_bits_ & weight_mask_} : frame_.target.weight[entry];
    }
    void add_entry(int64_t* stat, uint32_t entry) const {
        const int64_t w = weight_of(entry);
        ++stat[kRows], stat[kWeight] += w;
        if constexpr (S == Shape::sums)
            add_product(stat + kLimbs, w, y_[entry]), stat[kLoad] += loads_[entry];
        else
            stat[kCounts + at(class_of(entry))] += w;
    }

    void open_scores(Segment node) {
        double low = 0, high = 0;
        if constexpr (S == Shape::sums) {
            const int64_t* y = frame_.target.y;
            const auto rows = entries_.of(node);
            const auto [least, most] =
                std::minmax_element(rows.begin(), rows.end(), [&](Row a, Row b) { return y[a] < y[b]; });
            low = frame_.quantiser.back(y[*least]), high = frame_.quantiser.back(y[*most]);
        }
        appraiser_.open(whole_->data(), low, high, frame_.quantiser.off(frame_.target.top != kAllFit));
    }

    // -- numbers ------------------------------------------------------------------------------------------------------

    // The ranks of a node's rows in each of these columns: all of a row's stand side by side, so one visit does.
    void gather(const std::vector<size_t>& columns, Segment node) {
        const auto entries = entries_.of(node);
        if (gathered_.size() < columns.size()) gathered_.resize(columns.size());
        for (size_t i = 0; i < columns.size(); ++i) {
            if (gathered_[i].size() < entries.size()) gathered_[i].resize(entries.size());
        }
        for (size_t begin = 0; begin < entries.size(); begin += kPiece) {
            const size_t end = std::min(entries.size(), begin + kPiece);
            for (size_t i = 0; i < columns.size(); ++i) {
                uint32_t* out = gathered_[i].data();
                for (size_t k = begin; k < end; ++k) out[k] = ranks_.of(row_of(entries[k]))[columns[i]];
            }
        }
    }

    // Two classes of small weights, nothing missing: every cut of few rows is scored at once, more are counted in
    // buckets. Returns whether that was possible.
    bool count_numbers(size_t column, Segment node, const uint32_t* ranks) {
        if constexpr (S == Shape::two) {
            const bool able = weight_mask_ && frame_.settings.rule == Rule::gain && frame_.settings.tuning.bounds &&
                              Trio::hold((*whole_)[kWeight]) && (*whole_)[kWeight] <= frame_.tables.inverses.most();
            if (!able) return false;
            if (node.size() <= frame_.settings.tuning.drawn_rows) return score_few(column, node, ranks);
            if (coarse_.size() == n_coarse_) coarse_.emplace_back();
            const auto trio = [trios = trios_.data(), shift = row_bits_](uint32_t e) { return trios[e >> shift]; };
            if (!coarse_[n_coarse_].count(entries_.of(node).data(), ranks, at(node.size()), trio)) return false;
            coarse_[n_coarse_++].survey(static_cast<int32_t>(column), *whole_, sorted_, contest_);
            pulse_();
            return true;
        }
        return false;
    }
    bool score_few(size_t column, Segment node, const uint32_t* ranks) {
        const Ordered rows = in_order(node, ranks);
        if (rows.present < rows.n) return false;
        edges_.resize(at(rows.n));
        Trio sum;
        size_t n = 0;
        for (int64_t i = 0; i < rows.n; ++i) {
            sum += trios_[rows.entry(i) >> row_bits_];
            edges_.put(n, sum.rows(), sum.weight(), sum.ones());
            n += i + 1 == rows.n || rows.differs(i + 1);  // else the next row overwrites it
        }
        edges_.resize(n);
        sorted_.edges(static_cast<int32_t>(column), *whole_, edges_, contest_);
        return true;
    }
    void open(Coarse& coarse) {
        if constexpr (S == Shape::two)
            coarse.open(
                *whole_, sorted_, [&](uint32_t e) { return class_of(e); }, [&](uint32_t e) { return weight_of(e); },
                contest_);
    }

    // The rows of a node in order of a column: rank above, entry below; the missing ones last.
    struct Ordered {
        const uint64_t* keys;
        int64_t present, n;
        uint32_t rank(int64_t i) const { return static_cast<uint32_t>(keys[i] >> 32); }
        uint32_t entry(int64_t i) const { return static_cast<uint32_t>(keys[i]); }
        bool differs(int64_t i) const { return rank(i - 1) != rank(i); }
    };
    Ordered in_order(Segment node, const uint32_t* ranks) {
        const auto n = at(node.size());
        const uint64_t* keys = order_.sort(entries_.of(node).data(), ranks, n);
        const uint64_t* gone = keys + n;
        if (keys[n - 1] >> 32 == kNoRank) gone = std::lower_bound(keys, keys + n, uint64_t{kNoRank} << 32);
        return {keys, gone - keys, node.size()};
    }
    Ordered in_order(size_t column, Segment node) {
        one_[0] = column;
        gather(one_, node);
        return in_order(node, gathered_[0].data());
    }

    void survey_numbers(size_t column, Segment node, const uint32_t* ranks) {
        const Ordered rows = in_order(node, ranks);
        if (node.size() > kMoment) pulse_();
        std::fill(missing_.gone.begin(), missing_.gone.end(), 0);
        for (int64_t i = rows.present; i < rows.n; ++i) add_entry(missing_.gone.data(), rows.entry(i));
        const auto load = [&](int64_t i) {
            const uint32_t e = rows.entry(i);
            if constexpr (S == Shape::sums) return loads_[e];
            return class_of(e);
        };
        const auto differs = [&](int64_t i) { return rows.differs(i); };
        missing_.each_placement(column, *whole_, levels_, contest_, [&](const Around& around) {
            if (rows.rank(0) == rows.rank(rows.present - 1)) return;
            if (frame_.unit)
                sorted_.scan(around, rows.present - 1, load, UnitWeight{}, differs, contest_);
            else
                sorted_.scan(
                    around, rows.present - 1, load, [&](int64_t i) { return weight_of(rows.entry(i)); }, differs,
                    contest_);
        });
    }
    Bucket number_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        const Ordered o = in_order(column, node);
        const InOrder rows{o.present, o.n, [&](int64_t* stat, int64_t i) { add_entry(stat, o.entry(i)); },
                           [&](int64_t i) { return o.differs(i); }, [&](int64_t i) { return int64_t{o.rank(i)}; }};
        const Bucket gone = cuts_.fill(rows, everything_ ? nullptr : &contest_.survivors(),
                                       static_cast<int32_t>(column), *whole_, frame_.settings.random_ties, out);
        if (out.size() == 2) {  // the winner, most likely: its threshold is asked for in a moment
            ranks_.prefetch(column, out[0].high);
            ranks_.prefetch(column, out[1].low);
        }
        return gone;
    }

    // -- levels -------------------------------------------------------------------------------------------------------

    auto coded(size_t column, Segment node) const {
        const uint32_t* entries = entries_.of(node).data();
        return Coded{node.size(), [=, this](int64_t i) { return ranks_.of(row_of(entries[i]))[column]; },
                     [=, this](int64_t* stat, int64_t i) { add_entry(stat, entries[i]); },
                     [=, this](int64_t i) { return row_of(entries[i]); }};
    }

    const Frame& frame_;
    const Ranks& ranks_;
    size_t width_;
    Appraiser<S> appraiser_;
    Pulse pulse_;
    int row_bits_ = 32, class_shift_ = 32;  // of an entry: where the weight begins, and the class
    uint32_t row_mask_ = ~0u;
    uint32_t weight_mask_ = 0;    // 0: an entry is the row alone
    std::vector<Trio> trios_;     // what a row adds, by what its entry has above the row
    std::vector<int64_t> loads_;  // of sums: what a row adds to scores
    RowLists entries_;
    SortedScan<S> sorted_;
    LevelScan<S> levels_;
    Missing<S> missing_;
    CutBuckets cuts_;
    Contest contest_;
    NodeLevels<S> coded_;
    Order order_;
    Edges edges_;
    std::vector<Coarse> coarse_;
    size_t n_coarse_ = 0;                          // of the node at hand
    std::vector<std::vector<uint32_t>> gathered_;  // ranks, of the columns at hand
    std::vector<size_t> one_{0};
    std::vector<Row> named_;

    // of the node at hand
    const Stat* whole_ = nullptr;
    const int64_t* y_ = nullptr;
    bool everything_ = false;
};

extern template class Drawn<Shape::two>;  // in drawn.cpp
extern template class Drawn<Shape::many>;
extern template class Drawn<Shape::sums>;

}  // namespace treewise
