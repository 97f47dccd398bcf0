// The engine of random cuts (extra-trees): a node asks each drawn column for its least and largest value, which say
// where the cut lies, and once more what the cut parts. Nothing is sorted, ranked or counted beforehand.

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "chance.hpp"
#include "engine.hpp"
#include "frame.hpp"
#include "keys.hpp"
#include "node_levels.hpp"
#include "rows.hpp"

namespace treewise {

template <Shape S>
class RandomCuts : public Engine {
public:
    RandomCuts(const Frame& frame, std::vector<Row> rows)
        : frame_(frame), width_(frame.width()), rows_(std::move(rows)), levels_(frame) {}

    Segment all() const override { return rows_.all(); }
    std::span<const Row> rows(Segment node) override { return rows_.of(node); }
    bool gives_stats() const override { return true; }
    void whole(Segment node, const int64_t* y, Stat& stat) override {
        y_ = y;
        stat.assign(width_, 0);
        for (Row r : rows_.of(node)) frame_.add_row(stat.data(), r, y_, frame_.quantiser);
    }

    // Every column has one test of a kind: the exact decision looks at them all.
    const std::vector<size_t>& survey(Segment node, const Stat& whole, const std::vector<size_t>& columns,
                                      uint64_t key) override {
        whole_ = &whole, key_ = key;
        read_targets(node);
        return columns;
    }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        const Column& asked = frame_.columns[column];
        if (!asked.is_code()) return asked.visit([&](const auto& values) { return halves(column, values, node, out); });
        const auto codes = asked.view<int32_t>();
        const Row* rows = rows_.of(node).data();
        const Coded coded{node.size(), [&](int64_t i) { return static_cast<uint32_t>(codes[rows[i]]); },
                          [&](int64_t* stat, int64_t i) { frame_.add_row(stat, rows[i], y_, frame_.quantiser); },
                          [&](int64_t i) { return rows[i]; }};
        return levels_.buckets(column, coded, out);
    }
    int64_t n_cuts(size_t, Segment) override { return 1; }
    double number(size_t, int64_t key) const override { return number_of(key); }
    int64_t integer(size_t, int64_t key) const override { return integer_of(key); }

    void divide(Segment node, const Chosen& chosen, std::vector<int64_t>& sizes) override {
        frame_.columns[at(chosen.column)].visit([&](const auto& values) {
            if (chosen.kind == kThreshold && chosen.missing == 1)  // a missing value's key is the largest
                return rows_.part(node, sizes, [&](Row r) { return key_of(values[r]) > chosen.last_left; });
            rows_.part(node, sizes, [&](Row r) -> uint32_t {
                const int64_t key = key_of(values[r]);
                return key == kNoKey ? static_cast<uint32_t>(chosen.missing) : chosen.branch(key);
            });
        });
    }

private:
    static size_t at(int64_t i) { return static_cast<size_t>(i); }

    // Weights and targets of the node's rows side by side, once for all its columns.
    void read_targets(Segment node) {
        const auto rows = rows_.of(node);
        weight_.resize(rows.size()), load_.resize(rows.size());
        for (size_t i = 0; i < rows.size(); ++i) {
            weight_[i] = frame_.target.weight[rows[i]];
            if constexpr (S == Shape::two) load_[i] = frame_.target.label[rows[i]] ? weight_[i] : 0;
            if constexpr (S == Shape::many) load_[i] = frame_.target.label[rows[i]];
            if constexpr (S == Shape::sums) load_[i] = y_[rows[i]];
        }
    }

    // Below and above the cut; returns the missing rows.
    template <class T>
    Bucket halves(size_t column, const View<T>& values, Segment node, std::vector<Bucket>& out) {
        const auto rows = rows_.of(node);
        keys_.resize(rows.size());
        int64_t low = kNoKey, high = std::numeric_limits<int64_t>::min(), present = 0;
        for (size_t i = 0; i < rows.size(); ++i) {
            const int64_t key = keys_[i] = key_of(values[rows[i]]);
            low = std::min(low, key), high = std::max(high, key == kNoKey ? high : key);
            present += key != kNoKey;
        }
        if (present == 0) return {};
        const int64_t cut = low < high ? cut_between(column, low, high) : high;
        stats_.assign(3 * width_, 0);
        int64_t *left = stats_.data(), *right = left + width_, *gone = right + width_;
        count(left, [&](size_t i) { return keys_[i] <= cut; });
        if (present < node.size()) count(gone, [&](size_t i) { return keys_[i] == kNoKey; });
        out.push_back({nullptr, nullptr, left, low, cut, 0});
        if (low < high) {
            add(right, whole_->data(), width_), sub(right, left, width_), sub(right, gone, width_);
            out.push_back({nullptr, nullptr, right, cut + 1, high, 1});
        }
        return {nullptr, nullptr, gone, 0, 0, 0};
    }
    int64_t cut_between(size_t column, int64_t low, int64_t high) const {
        const uint64_t random = cut_key(key_, column, kThreshold);
        if (frame_.columns[column].is_number()) return key_of(random_cut(random, number_of(low), number_of(high)));
        return key_of(random_cut(random, integer_of(low), integer_of(high)));
    }
    // Statistics of the rows for which `in` holds: which they are cannot be guessed, so nothing branches on it.
    template <class In>
    void count(int64_t* stat, const In& in) const {
        int64_t rows = 0, weight = 0, ones = 0;
        for (size_t i = 0; i < keys_.size(); ++i) {
            const int64_t mask = -int64_t{in(i)};
            rows -= mask, weight += weight_[i] & mask;
            if constexpr (S == Shape::two) ones += load_[i] & mask;
            if constexpr (S == Shape::many) stat[kCounts + at(load_[i])] += weight_[i] & mask;
            if constexpr (S == Shape::sums) add_product(stat + kLimbs, weight_[i] & mask, load_[i]);
        }
        stat[kRows] = rows, stat[kWeight] = weight;
        if constexpr (S == Shape::two) stat[kCounts] = weight - ones, stat[kCounts + 1] = ones;
    }

    const Frame& frame_;
    size_t width_;
    RowLists rows_;
    NodeLevels<S> levels_;
    Stat stats_;

    // of the node at hand
    const Stat* whole_ = nullptr;
    const int64_t* y_ = nullptr;
    uint64_t key_ = 0;
    std::vector<int64_t> weight_, load_;  // of its rows: a class's weight, a class or a target
    std::vector<int64_t> keys_;           // of the column at hand
};

extern template class RandomCuts<Shape::two>;  // in random.cpp
extern template class RandomCuts<Shape::many>;
extern template class RandomCuts<Shape::sums>;

}  // namespace treewise
