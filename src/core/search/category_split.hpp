// The levels of a category at a node, as statistics: how good can its best test be?
//
// Goes through the same candidates as search/exact_splitter.hpp (one value, prefixes of the levels in their own order
// and in order of rate or mean, all subsets while there are few, one branch a level, mere presence), in scores. Only
// the best of them is reported: if the column stays in the contest, the exact decision looks at all its tests again.

#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "criteria/exact_impurity.hpp"
#include "search/candidate_filter.hpp"

namespace treewise {

// Statistics of the levels that occur at a node, in order; those of the missing rows come last.
class LevelCounts {
public:
    std::vector<uint32_t> levels;  // the numbers of those that occur, then that of the missing
    Stat stats;                    // one after the other

    size_t size() const { return levels.size() - 1; }
    const int64_t* gone(size_t width) const { return stats.data() + size() * width; }

    // level(i): of row i below n_rows, n_levels if missing; add_row(stat, i): its part in the statistics.
    template <class Level, class AddRow>
    void count(int64_t n_rows, size_t n_levels, size_t width, const Level& level, const AddRow& add_row) {
        levels.clear();
        if (n_levels <= 4 * static_cast<size_t>(n_rows) + 64)
            count_all(n_rows, n_levels, width, level, add_row);
        else
            count_sorted(n_rows, n_levels, width, level, add_row);
    }

    // Two classes of unit weight, counted in one word a level: rows below, ones above; the last is the missing.
    void unpack(std::span<const int64_t> packed) {
        levels.clear(), stats.clear();
        for (size_t l = 0; l < packed.size(); ++l) {
            const int64_t rows = packed[l] & 0xFFFFFFFF, ones = packed[l] >> 32;
            if (rows == 0 && l + 1 < packed.size()) continue;
            levels.push_back(static_cast<uint32_t>(l));
            stats.insert(stats.end(), {rows, rows, rows - ones, ones});
        }
    }

private:
    template <class Level, class AddRow>
    void count_all(int64_t n_rows, size_t n_levels, size_t width, const Level& level, const AddRow& add_row) {
        stats.assign((n_levels + 1) * width, 0);
        for (int64_t i = 0; i < n_rows; ++i) add_row(stats.data() + level(i) * width, i);
        for (size_t l = 0; l <= n_levels; ++l) {
            if (l < n_levels && stats[l * width + kRows] == 0) continue;
            if (levels.size() != l) std::copy_n(stats.data() + l * width, width, stats.data() + levels.size() * width);
            levels.push_back(static_cast<uint32_t>(l));
        }
        stats.resize(levels.size() * width);
    }
    template <class Level, class AddRow>
    void count_sorted(int64_t n_rows, size_t n_levels, size_t width, const Level& level, const AddRow& add_row) {
        order_.resize(static_cast<size_t>(n_rows));
        std::iota(order_.begin(), order_.end(), int64_t{0});
        std::sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) { return level(a) < level(b); });
        stats.clear();
        const auto begin = [&](size_t l) {
            levels.push_back(static_cast<uint32_t>(l));
            stats.resize(stats.size() + width, 0);
        };
        for (int64_t i : order_) {
            if (levels.empty() || levels.back() != level(i)) begin(level(i));
            add_row(stats.data() + stats.size() - width, i);
        }
        if (levels.empty() || levels.back() != n_levels) begin(n_levels);
    }
    std::vector<int64_t> order_;
};

template <Shape S>
class LevelScan {
public:
    LevelScan(const Settings& settings, const Appraiser<S>& appraiser, int64_t n_classes)
        : settings_(settings),
          appraiser_(appraiser),
          n_classes_(n_classes),
          width_(stat_width(n_classes)),
          left_(width_),
          right_(width_) {}

    // stats: one after the other, of the levels that occur, in order; gone: of the missing rows.
    void scan(const Column& column, int32_t number, const int64_t* stats, size_t n, const int64_t* whole,
              const int64_t* gone, bool own, Contest& contest) {
        stats_ = stats, n_ = n, whole_ = whole, gone_ = gone, own_ = own;
        least_ = most_ = -std::numeric_limits<double>::infinity();
        order_.resize(n);
        for (Kind kind : column.kinds) {
            std::iota(order_.begin(), order_.end(), size_t{0});
            switch (kind) {
                case kThreshold:
                case kOrdinal: prefixes(); break;
                case kOneValue: one_values(); break;
                case kSubset: subsets(); break;
                case kMultiway: multiway(); break;
                default: most_ = std::numeric_limits<double>::infinity();  // no score for it: let the exact scan look
            }
        }
        if (gone_[kRows]) presence();
        contest.offer(number, 0, least_, most_);
    }

private:
    const int64_t* stat(size_t i) const { return stats_ + i * width_; }

    int placements() const { return gone_[kRows] && !own_ ? 2 : 1; }
    void gather(int placement) {
        std::fill(left_.begin(), left_.end(), 0);
        std::copy_n(whole_, width_, right_.begin());
        if (!gone_[kRows] || (placement == 1 && !own_)) return;
        sub(right_.data(), gone_, width_);
        if (!own_) add(left_.data(), gone_, width_);
    }
    void to_left(size_t i) { add(left_.data(), stat(i), width_), sub(right_.data(), stat(i), width_); }
    void to_right(size_t i) { sub(left_.data(), stat(i), width_), add(right_.data(), stat(i), width_); }

    void prefixes() {
        for (int placement = 0; placement < placements(); ++placement) {
            gather(placement);
            for (size_t i = 0; i + 1 < n_; ++i) to_left(order_[i]), offer_two();
        }
    }
    void one_values() {
        if (n_ < 2) return;
        for (int placement = 0; placement < placements(); ++placement) {
            gather(placement);
            for (size_t i = 0; i < n_; ++i) to_left(i), offer_two(), to_right(i);
        }
    }
    void subsets() {
        if (n_classes_ > 2 && n_ <= kExhaustive) return all_subsets();
        if (n_classes_ <= 2) return order_by_rate(n_classes_ ? 1 : 0), prefixes();
        for (int64_t cls = 0; cls < n_classes_; ++cls) {
            if (whole_[kCounts + static_cast<size_t>(cls)]) order_by_rate(cls), prefixes();
        }
    }
    void all_subsets() {
        for (int placement = 0; placement < placements(); ++placement) {
            gather(placement);
            for (size_t i = 0; i < n_; ++i) to_left(i);
            for (uint32_t mask = 1; mask < (1u << (n_ - 1)); ++mask) {
                for (uint32_t turned = mask ^ (mask - 1), j = 0; turned; turned >>= 1, ++j)
                    mask >> j & 1 ? to_right(j + 1) : to_left(j + 1);
                offer_two();
            }
        }
    }
    void multiway() {
        double score = 0;
        size_t unfit = 0;
        for (size_t i = 0; i < n_; ++i) {
            score += appraiser_.scorer.side(stat(i));
            unfit += !fits(stat(i));
        }
        const auto spread = [&](const int64_t* extra, size_t joined) {
            double sum = extra && joined == n_ ? appraiser_.log(extra[kWeight]) : 0.0;
            for (size_t i = 0; i < n_; ++i)
                sum += appraiser_.log(stat(i)[kWeight] + (i == joined ? extra[kWeight] : 0));
            return sum;
        };
        if (!gone_[kRows] || own_) {
            const int filled = static_cast<int>(n_) + own_;
            if (filled < 2 || unfit) return;
            if (own_) score += appraiser_.scorer.side(gone_);
            offer(score, filled, [&] { return spread(own_ ? gone_ : nullptr, n_); });
            return;
        }
        if (n_ < 2) return;
        for (size_t i = 0; i < n_; ++i) {  // the missing rows join branch i
            std::copy_n(stat(i), width_, left_.begin());
            add(left_.data(), gone_, width_);
            if (unfit - !fits(stat(i)) || !fits(left_.data())) continue;
            const double joined = score - appraiser_.scorer.side(stat(i)) + appraiser_.scorer.side(left_.data());
            offer(joined, static_cast<int>(n_), [&] { return spread(gone_, i); });
        }
    }
    void presence() {
        std::copy_n(gone_, width_, left_.begin());
        std::copy_n(whole_, width_, right_.begin());
        sub(right_.data(), gone_, width_);
        const bool own = std::exchange(own_, false);
        offer_two();
        own_ = own;
    }

    void order_by_rate(int64_t cls) {
        if (whole_[kWeight] < (int64_t{1} << 26) && n_classes_) {  // such fractions are told apart by doubles
            quick_.resize(n_);
            for (size_t i = 0; i < n_; ++i) {
                const Rate r = rate(stat(i), cls);
                quick_[i] = {static_cast<double>(static_cast<int64_t>(r.over)) / static_cast<double>(r.under), i};
            }
            std::sort(quick_.begin(), quick_.end());
            for (size_t i = 0; i < n_; ++i) order_[i] = quick_[i].second;
            return;
        }
        rates_.resize(n_);
        for (size_t i = 0; i < n_; ++i) rates_[i] = rate(stat(i), cls);
        std::iota(order_.begin(), order_.end(), size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return rates_[a] < rates_[b]; });
    }
    Rate rate(const int64_t* s, int64_t cls) const {
        if (n_classes_) return {s[kCounts + static_cast<size_t>(cls)], s[kWeight]};
        return {sum_of(s), s[kWeight]};
    }

    bool fits(const int64_t* s) const {
        return s[kRows] >= settings_.min_samples_leaf && s[kWeight] >= settings_.min_leaf_weight && valid(s);
    }
    bool valid(const int64_t* s) const { return settings_.criterion != Criterion::poisson || sum_of(s) > 0; }
    void offer_two() {
        const bool l = left_[kRows], r = right_[kRows];
        const int filled = l + r + own_;
        if (filled < 2 || (l && !fits(left_.data())) || (r && !fits(right_.data()))) return;
        double score = 0;
        if (l) score += appraiser_.scorer.side(left_.data());
        if (r) score += appraiser_.scorer.side(right_.data());
        if (own_) score += appraiser_.scorer.side(gone_);
        offer(score, filled, [&] {
            return appraiser_.log(left_[kWeight]) + appraiser_.log(right_[kWeight]) +
                   (own_ ? appraiser_.log(gone_[kWeight]) : 0.0);
        });
    }
    template <class Spread>
    void offer(double score, int filled, const Spread& spread) {
        const auto [least, most] = appraiser_.merit(score, filled, spread);
        least_ = std::max(least_, least), most_ = std::max(most_, most);
    }

    const Settings& settings_;
    const Appraiser<S>& appraiser_;
    int64_t n_classes_;
    size_t width_;
    Stat left_, right_;
    std::vector<size_t> order_;
    std::vector<Rate> rates_;
    std::vector<std::pair<double, size_t>> quick_;
    // of the column at hand
    const int64_t* stats_ = nullptr;
    size_t n_ = 0;
    const int64_t* whole_ = nullptr;
    const int64_t* gone_ = nullptr;
    bool own_ = false;
    double least_ = 0, most_ = 0;  // the best merit so far, and what it may be at most
};

}  // namespace treewise
