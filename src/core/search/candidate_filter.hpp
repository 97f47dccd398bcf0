// The contest before the decision: which candidates of a node could be the best, going by scores that may be off a bit.
//
// Every scan offers what it sees with the least and the most its merit can be. The bar is the largest least; who cannot
// reach it is out. What is left at the end (as a rule one cut of one column) is all that the exact decision
// (search/exact_splitter.hpp) has to look at. Under C4.5's rule every column has a bar of its own, since each sends its
// best test.

#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "criteria/approx_impurity.hpp"
#include "problem/problem.hpp"

namespace treewise {

// A cut of a column with `place` present rows on its left; all tests of its levels together are place 0.
struct Hopeful {
    int32_t column;
    int64_t place;
    double most;
};

class Contest {
public:
    void open(bool by_column, size_t n_columns) {
        by_column_ = by_column;
        bars_.assign(by_column ? n_columns : 1, -std::numeric_limits<double>::infinity());
        hopefuls_.clear();
        crowded_ = 64;
    }
    double bar(int32_t column) const { return bars_[by_column_ ? static_cast<size_t>(column) : 0]; }
    void raise(int32_t column, double bar) {
        double& mine = bars_[by_column_ ? static_cast<size_t>(column) : 0];
        mine = std::max(mine, bar);
    }
    bool hopeless(int32_t column, double most) const { return most < bar(column); }

    void offer(int32_t column, int64_t place, double least, double most) {
        if (hopeless(column, most) || most == -std::numeric_limits<double>::infinity()) return;
        raise(column, least);
        hopefuls_.push_back({column, place, most});
        if (hopefuls_.size() > crowded_) {
            weed();
            crowded_ = 2 * hopefuls_.size() + 64;
        }
    }
    void join(const Contest& other) {
        for (size_t i = 0; i < bars_.size(); ++i) bars_[i] = std::max(bars_[i], other.bars_[i]);
        hopefuls_.insert(hopefuls_.end(), other.hopefuls_.begin(), other.hopefuls_.end());
    }
    // Ends the contest: returns the columns that are left.
    const std::vector<size_t>& close() {
        weed();
        std::sort(hopefuls_.begin(), hopefuls_.end(), [](const Hopeful& a, const Hopeful& b) {
            return a.column != b.column ? a.column < b.column : a.place < b.place;
        });
        const auto same = [](const Hopeful& a, const Hopeful& b) { return a.column == b.column && a.place == b.place; };
        hopefuls_.erase(std::unique(hopefuls_.begin(), hopefuls_.end(), same), hopefuls_.end());
        columns_.clear();
        for (const Hopeful& h : hopefuls_) {
            if (columns_.empty() || columns_.back() != static_cast<size_t>(h.column))
                columns_.push_back(static_cast<size_t>(h.column));
        }
        return columns_;
    }
    // Who is left, by column and place, each once.
    const std::vector<Hopeful>& survivors() const { return hopefuls_; }
    // Those of a column of numbers.
    void list_places(size_t column, std::vector<int64_t>& places) const {
        places.clear();
        for (const Hopeful& h : hopefuls_) {
            if (h.column == static_cast<int32_t>(column) && h.place > 0) places.push_back(h.place);
        }
    }

private:
    void weed() {
        std::erase_if(hopefuls_, [this](const Hopeful& h) { return hopeless(h.column, h.most); });
    }
    bool by_column_ = false;
    std::vector<double> bars_;
    std::vector<Hopeful> hopefuls_;
    std::vector<size_t> columns_;
    size_t crowded_ = 64;
};

// Scores become merits: gains, or what the rule of the contest makes of them, with the least and most they can be.
template <Shape S>
class Appraiser {
public:
    Appraiser(const Settings& settings, const Logs& logs, int64_t n_classes)
        : scorer(settings.criterion, logs, n_classes), settings_(settings), logs_(logs) {}

    Scorer<S> scorer;

    void open(const int64_t* whole, double low, double high, Off off) {
        scorer.open(whole, low, high, off);
        weight_ = whole[kWeight];
        if (settings_.rule != Rule::ratio) return;
        const auto w = static_cast<double>(weight_);
        blur_ = std::ldexp(w * (2 + std::log2(w)), -48);
    }

    struct Range {
        double least, most;
    };
    // filled: branches with rows; spread: Σ m·log m of their weights (asked for only under the gain ratio's rule).
    template <class Spread>
    Range merit(double score, int filled, const Spread& spread) const {
        const double gain = score - scorer.whole(), delta = this->delta(filled);
        if (settings_.rule == Rule::ratio) return ratio(gain, delta, logs_(weight_) - spread());
        return {merit_of_gain(gain - delta, filled), merit_of_gain(gain + delta, filled)};
    }
    // The exact merit is rounded too, by a little for each branch (search/exact_splitter.hpp): far less than this.
    double delta(int filled) const { return scorer.delta() * (1 + filled / 64.0); }
    double merit_of_gain(double gain, int filled) const {
        return settings_.by_branches && settings_.rule == Rule::gain ? gain / (filled - 1) : gain;
    }
    double log(int64_t weight) const { return logs_(weight); }

private:
    Range ratio(double gain, double delta, double information) const {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        if (information <= 4 * blur_) return {-kInf, kInf};
        const double a = (gain - delta) / (information - blur_), b = (gain - delta) / (information + blur_);
        const double c = (gain + delta) / (information - blur_), d = (gain + delta) / (information + blur_);
        return {std::min(a, b) - 0x1p-42, std::max(c, d) + 0x1p-42};
    }
    const Settings& settings_;
    const Logs& logs_;
    int64_t weight_ = 0;
    double blur_ = 0;
};

}  // namespace treewise
