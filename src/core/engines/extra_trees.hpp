// The engine of random cuts (extra-trees): a node asks each drawn column for its least and largest value, which say
// where the cut lies, and once more what the cut parts. Nothing is sorted, ranked or counted beforehand.
//
//     keys   7 2 9 4 4        of the node's rows, all drawn columns in one visit to each row
//            least 2, largest 9; the cut, drawn between them, is 5
//     left     · 2 · 4 4      what lies left of it is scored quickly (criteria/approx_impurity.hpp); as a rule one
//     column may win, and
//                             only that one is counted exactly and decided upon (search/exact_splitter.hpp)

#pragma once

#include <array>
#include <limits>
#include <span>
#include <vector>

#include "criteria/simd.hpp"
#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "problem/row_partition.hpp"
#include "problem/sort_keys.hpp"
#include "search/candidate_filter.hpp"
#include "search/category_counts.hpp"
#include "util/rng.hpp"

namespace treewise {

template <Shape S>
class RandomCuts : public Engine {
public:
    RandomCuts(const Frame& frame, std::vector<Row> rows)
        : frame_(frame),
          width_(frame.width()),
          appraiser_(frame.settings, frame.tables.logs, frame.n_classes()),
          rows_(std::move(rows)),
          levels_(frame),
          loads_(S == Shape::sums ? frame.loads(rows_.of(rows_.all())) : std::vector<int64_t>{}) {}

    Segment all() const override { return rows_.all(); }
    std::span<const Row> rows(Segment node) override { return rows_.of(node); }
    bool gives_stats() const override { return true; }
    void targets(const int64_t* y) override { y_ = y; }
    void whole(Segment node, Stat& stat) override {
        stat.assign(width_, 0);
        frame_.add_rows(stat.data(), rows_.of(node), y_, loads_);
    }

    // A column of categories, and one where values are missing, has several tests: those are left to the decision.
    const std::vector<size_t>& survey(Segment node, const Stat& whole, const std::vector<size_t>& columns,
                                      uint64_t key) override {
        whole_ = &whole, key_ = key;
        contest_.open(frame_.settings.rule == Rule::c45, frame_.columns.size());
        frame_.open_scores(appraiser_, whole, rows_.of(node));
        read_targets(node);
        const size_t at_once = at(std::max<int64_t>(1, frame_.settings.tuning.cluster_cells / node.size()));
        for (size_t first = 0; first < columns.size(); first += at_once) {
            gather(std::span(columns).subspan(first, std::min(at_once, columns.size() - first)), node);
            for (size_t column : columns_) {
                if (frame_.columns[column].is_code())
                    offer_unseen(column);
                else
                    offer_cut(column, node);
            }
        }
        return contest_.close();
    }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        if (!frame_.columns[column].is_code()) return buckets_of(cut_of(column, node), node, out);
        const auto codes = frame_.columns[column].view<int32_t>();
        const Row* rows = rows_.of(node).data();
        const Coded coded{node.size(), [&](int64_t i) { return static_cast<uint32_t>(codes[rows[i]]); },
                          [&](int64_t* stat, int64_t i) { add_row(stat, rows[i]); },
                          [&](int64_t i) { return rows[i]; }};
        return levels_.buckets(column, coded, out);
    }
    int64_t n_cuts(size_t, Segment) override { return 1; }
    double number(size_t, int64_t key) const override { return number_of(key); }
    int64_t integer(size_t, int64_t key) const override { return integer_of(key); }

    void divide(Segment node, const Chosen& chosen, std::vector<int64_t>& sizes) override {
        const auto column = at(chosen.column);
        const auto missing = static_cast<uint32_t>(chosen.missing);
        const int64_t* key = halves(column, node).keys.data();
        if (chosen.kind == kThreshold) {
            rows_.part(node, sizes, [&, last = chosen.last_left](Row) -> uint32_t {
                const int64_t k = *key++;
                return k == kNoKey ? missing : k > last;
            });
        } else {
            rows_.part(node, sizes, [&](Row) -> uint32_t {
                const int64_t k = *key++;
                return k == kNoKey ? missing : chosen.branch(k);
            });
        }
    }

private:
    static constexpr size_t kPiece = 64;  // rows whose cells stay at hand

    // A column of the node: the keys of its rows, and its cut where there is one.
    struct Halves {
        std::vector<int64_t> keys;  // only ever grows
        int64_t low, high, present, cut;
    };

    static size_t at(int64_t i) { return static_cast<size_t>(i); }

    void add_row(int64_t* stat, Row row) const { frame_.add_row(stat, row, y_, frame_.quantiser); }

    // -- what is read of a node, once for all its columns -------------------------------------------------------------

    void read_targets(Segment node) {
        const auto rows = rows_.of(node);
        if (weight_.size() < rows.size()) weight_.resize(rows.size()), load_.resize(rows.size());
        for (size_t i = 0; i < rows.size(); ++i) {
            weight_[i] = frame_.target.weight[rows[i]];
            if constexpr (S == Shape::two) load_[i] = weight_[i] & -int64_t{frame_.target.label[rows[i]] != 0};
            if constexpr (S == Shape::many) load_[i] = frame_.target.label[rows[i]];
            if constexpr (S == Shape::sums) load_[i] = loads_[rows[i]];
        }
    }
    // A row's cells may stand side by side, so one visit reads them all. They stay until the next node is gathered: the
    // division of the node looks here, if it comes next.
    void gather(std::span<const size_t> columns, Segment node) {
        const auto rows = rows_.of(node);
        if (halves_.size() < columns.size()) halves_.resize(columns.size());
        for (size_t i = 0; i < columns.size(); ++i) {
            if (halves_[i].keys.size() < rows.size()) halves_[i].keys.resize(rows.size());
        }
        for (size_t begin = 0; begin < rows.size(); begin += kPiece) {
            const size_t end = std::min(rows.size(), begin + kPiece);
            for (size_t i = 0; i < columns.size(); ++i) {
                int64_t* keys = halves_[i].keys.data();
                frame_.columns[columns[i]].visit([&](const auto& values) {
                    for (size_t k = begin; k < end; ++k) keys[k] = key_of(values[rows[k]]);
                });
            }
        }
        at_hand_ = node, columns_.assign(columns.begin(), columns.end());
    }
    Halves& halves(size_t column, Segment node) {
        const bool here = at_hand_.begin == node.begin && at_hand_.end == node.end;
        const auto place = std::find(columns_.begin(), columns_.end(), column);
        if (here && place != columns_.end()) return halves_[at(place - columns_.begin())];
        gather({&column, 1}, node);
        return halves_[0];
    }
    // With its range, and the cut drawn there if it has any width.
    const Halves& cut_of(size_t column, Segment node) {
        Halves& of = halves(column, node);
        const KeyRange range = range_of(of.keys.data(), at(node.size()));
        of.low = range.low, of.high = range.high, of.present = range.present;
        if (of.low < of.high) of.cut = cut_between(column, of.low, of.high);
        return of;
    }
    int64_t cut_between(size_t column, int64_t low, int64_t high) const {
        const uint64_t random = cut_key(key_, column, kThreshold);
        if (frame_.columns[column].is_number()) return key_of(random_cut(random, number_of(low), number_of(high)));
        return key_of(random_cut(random, integer_of(low), integer_of(high)));
    }

    // -- the contest --------------------------------------------------------------------------------------------------

    void offer_unseen(size_t column) {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        contest_.offer(static_cast<int32_t>(column), 0, -kInf, kInf);
    }
    void offer_cut(size_t column, Segment node) {
        const Halves& of = cut_of(column, node);
        const bool all_there = of.present == node.size();
        if (of.low >= of.high && all_there) return;
        const Settings& settings = frame_.settings;
        if (!all_there || !settings.tuning.bounds || settings.criterion == Criterion::poisson)
            return offer_unseen(column);
        left_.assign(width_, 0), right_ = *whole_;
        count_left(of, left_.data());
        sub(right_.data(), left_.data(), width_);
        if (!fits(left_) || !fits(right_)) return offer_unseen(column);
        const Scorer<S>& scorer = appraiser_.scorer;
        const auto [least, most] = appraiser_.merit(scorer.side(left_.data()) + scorer.side(right_.data()), 2, [&] {
            return appraiser_.log(left_[kWeight]) + appraiser_.log(right_[kWeight]);
        });
        contest_.offer(static_cast<int32_t>(column), 1, least, most);
    }
    bool fits(const Stat& side) const {
        return side[kRows] >= frame_.settings.min_samples_leaf && side[kWeight] >= frame_.settings.min_leaf_weight;
    }
    // What lies left of the cut, as far as scores ask: of sums the exact ones are not there.
    void count_left(const Halves& of, int64_t* stat) const {
        const auto n = at((*whole_)[kRows]);
        if constexpr (S == Shape::many) {
            for (size_t i = 0; i < n; ++i) {  // which rows these are cannot be guessed, so nothing branches on it
                const int64_t mask = -int64_t{of.keys[i] <= of.cut}, weight = weight_[i] & mask;
                stat[kRows] -= mask, stat[kWeight] += weight, stat[kCounts + at(load_[i])] += weight;
            }
            return;
        }
        const UpTo left = count_up_to(of.keys.data(), n, of.cut, weight_.data(), load_.data());
        stat[kRows] = left.rows, stat[kWeight] = left.weight;
        if constexpr (S == Shape::two) stat[kCounts] = left.weight - left.load, stat[kCounts + 1] = left.load;
        if constexpr (S == Shape::sums) stat[kLoad] = left.load;
    }

    // -- for the decision ---------------------------------------------------------------------------------------------

    // Below and above the cut, exactly; returns the missing rows.
    Bucket buckets_of(const Halves& of, Segment node, std::vector<Bucket>& out) {
        stats_.assign(3 * width_, 0);
        int64_t *left = stats_.data(), *right = left + width_, *gone = right + width_;
        const auto rows = rows_.of(node);
        if (of.present < node.size()) {
            for (size_t i = 0; i < rows.size(); ++i) {
                if (of.keys[i] == kNoKey) add_row(gone, rows[i]);
            }
        }
        add(right, whole_->data(), width_), sub(right, gone, width_);
        if (of.low >= of.high) {
            if (of.present > 0) out.push_back({nullptr, nullptr, right, of.low, of.high, 0});
            return {nullptr, nullptr, gone, 0, 0, 0};
        }
        count_left(of, left);
        if constexpr (S == Shape::sums) {
            int128 sum = 0;
            for (size_t i = 0; i < rows.size(); ++i)
                sum += static_cast<int128>(weight_[i] & -int64_t{of.keys[i] <= of.cut}) * y_[rows[i]];
            add_sum(left + kLimbs, sum);
        }
        sub(right, left, width_);
        out.push_back({nullptr, nullptr, left, of.low, of.cut, 0});
        out.push_back({nullptr, nullptr, right, of.cut + 1, of.high, 1});
        return {nullptr, nullptr, gone, 0, 0, 0};
    }

    const Frame& frame_;
    size_t width_;
    Appraiser<S> appraiser_;
    RowLists rows_;
    NodeLevels<S> levels_;
    std::vector<int64_t> loads_;  // of sums: what a row adds to scores
    Contest contest_;
    Stat stats_, left_, right_;

    // of the node at hand
    const Stat* whole_ = nullptr;
    const int64_t* y_ = nullptr;
    uint64_t key_ = 0;
    std::vector<int64_t> weight_, load_;  // of its rows: a class's weight, a class or what scores ask for
    Segment at_hand_;
    std::vector<size_t> columns_;  // that are gathered
    std::vector<Halves> halves_;   // of each
};

extern template class RandomCuts<Shape::two>;  // in engines/extra_trees.cpp
extern template class RandomCuts<Shape::many>;
extern template class RandomCuts<Shape::sums>;

}  // namespace treewise
