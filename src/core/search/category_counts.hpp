// A category at a node whose rows stand in a list: the statistics of its levels, what its best test could be, and the
// buckets the exact decision looks at. Serves the engines that keep nothing in order.

#pragma once

#include <numeric>
#include <vector>

#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "search/category_split.hpp"

namespace treewise {

// The rows of a node, numbered from 0, as they see a column of categories.
template <class Level, class Add, class RowOf>
struct Coded {
    int64_t n;
    Level level;  // level(i): the code of row i, or anything larger where it is missing
    Add add;      // add(stat, i): its part in statistics
    RowOf row;    // row(i): its number in the table
};
template <class Level, class Add, class RowOf>
Coded(int64_t, Level, Add, RowOf) -> Coded<Level, Add, RowOf>;

template <Shape S>
class NodeLevels {
public:
    explicit NodeLevels(const Frame& frame) : frame_(frame), width_(frame.width()) {}

    template <class Rows>
    void survey(size_t column, const Rows& rows, const Stat& whole, LevelScan<S>& levels, Contest& contest) {
        const auto number = static_cast<int32_t>(column);
        if (by_rows(column)) {
            constexpr double kInf = std::numeric_limits<double>::infinity();
            return contest.offer(number, 0, -kInf, kInf);
        }
        count(column, rows);
        const int64_t* gone = counts_.gone(width_);
        if (counts_.size() == 0 || counts_.size() + (gone[kRows] > 0) < 2) return;
        levels.scan(frame_.columns[column], number, counts_.stats.data(), counts_.size(), whole.data(), gone,
                    frame_.own_branch(gone), contest);
    }
    // Returns the missing rows.
    template <class Rows>
    Bucket buckets(size_t column, const Rows& rows, std::vector<Bucket>& out) {
        if (by_rows(column)) return buckets_of_rows(column, rows, out);
        count(column, rows);
        for (size_t i = 0; i < counts_.size(); ++i) {
            const int64_t code = counts_.levels[i];
            out.push_back({nullptr, nullptr, counts_.stats.data() + i * width_, code, code, static_cast<int64_t>(i)});
        }
        return {nullptr, nullptr, counts_.gone(width_), 0, 0, 0};
    }

private:
    size_t n_levels(size_t column) const { return static_cast<size_t>(frame_.columns[column].n_levels); }
    // Many classes times many levels: too many statistics to keep; the exact scan moves rows then.
    bool by_rows(size_t column) const {
        return S == Shape::many && (width_ > 64 || n_levels(column) * width_ > (1u << 20));
    }
    template <class Rows>
    void count(size_t column, const Rows& rows) {
        const size_t gone = n_levels(column);
        counts_.count(rows.n, gone, width_, [&](int64_t i) { return std::min<size_t>(rows.level(i), gone); }, rows.add);
    }
    template <class Rows>
    Bucket buckets_of_rows(size_t column, const Rows& rows, std::vector<Bucket>& out) {
        order_.resize(static_cast<size_t>(rows.n));
        std::iota(order_.begin(), order_.end(), int64_t{0});
        std::stable_sort(order_.begin(), order_.end(),
                         [&](int64_t a, int64_t b) { return rows.level(a) < rows.level(b); });
        named_.resize(order_.size());
        for (size_t i = 0; i < order_.size(); ++i) named_[i] = rows.row(order_[i]);
        size_t i = 0;
        while (i < order_.size() && rows.level(order_[i]) < n_levels(column)) {
            size_t j = i;
            const int64_t code = rows.level(order_[i]);
            while (j < order_.size() && rows.level(order_[j]) == code) ++j;
            out.push_back(
                {named_.data() + i, named_.data() + j, nullptr, code, code, static_cast<int64_t>(out.size())});
            i = j;
        }
        return {named_.data() + i, named_.data() + named_.size(), nullptr, 0, 0, 0};
    }

    const Frame& frame_;
    size_t width_;
    LevelCounts counts_;
    std::vector<int64_t> order_;
    std::vector<Row> named_;
};

}  // namespace treewise
