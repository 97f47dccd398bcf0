// A category at a node whose rows stand in a list: the statistics of its levels, what its best test could be, and the
// buckets the exact decision looks at. Serves the engines that keep nothing in order.

#pragma once

#include <span>
#include <vector>

#include "engine.hpp"
#include "frame.hpp"
#include "levels.hpp"

namespace treewise {

template <Shape S>
class NodeLevels {
public:
    explicit NodeLevels(const Frame& frame) : frame_(frame), width_(frame.width()) {}

    // level(row): the row's code, or anything larger where it is missing. y: targets in the node's own units.
    template <class Level>
    void survey(size_t column, std::span<const Row> rows, const Level& level, const int64_t* y, const Stat& whole,
                LevelScan<S>& levels, Contest& contest) {
        const auto number = static_cast<int32_t>(column);
        if (by_rows(column)) {
            constexpr double kInf = std::numeric_limits<double>::infinity();
            return contest.offer(number, 0, -kInf, kInf);
        }
        count(column, rows, level, y);
        const int64_t* gone = counts_.gone(width_);
        if (counts_.size() == 0 || counts_.size() + (gone[kRows] > 0) < 2) return;
        levels.scan(frame_.columns[column], number, counts_.stats.data(), counts_.size(), whole.data(), gone,
                    frame_.own_branch(gone), contest);
    }
    // Returns the missing rows.
    template <class Level>
    Bucket buckets(size_t column, std::span<const Row> rows, const Level& level, const int64_t* y,
                   std::vector<Bucket>& out) {
        if (by_rows(column)) return buckets_of_rows(column, rows, level, out);
        count(column, rows, level, y);
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
    template <class Level>
    void count(size_t column, std::span<const Row> rows, const Level& level, const int64_t* y) {
        const size_t gone = n_levels(column);
        counts_.count(
            static_cast<int64_t>(rows.size()), gone, width_,
            [&](int64_t i) { return std::min<size_t>(level(rows[static_cast<size_t>(i)]), gone); },
            [&](int64_t* stat, int64_t i) { frame_.add_row(stat, rows[static_cast<size_t>(i)], y, frame_.quantiser); });
    }
    template <class Level>
    Bucket buckets_of_rows(size_t column, std::span<const Row> rows, const Level& level, std::vector<Bucket>& out) {
        named_.assign(rows.begin(), rows.end());
        std::stable_sort(named_.begin(), named_.end(), [&](Row a, Row b) { return level(a) < level(b); });
        const Row *row = named_.data(), *last = row + named_.size();
        while (row != last && level(*row) < n_levels(column)) {
            const Row* first = row;
            while (row != last && level(*row) == level(*first)) ++row;
            const int64_t code = level(*first);
            out.push_back({first, row, nullptr, code, code, static_cast<int64_t>(out.size())});
        }
        return {row, last, nullptr, 0, 0, 0};
    }

    const Frame& frame_;
    size_t width_;
    LevelCounts counts_;
    std::vector<Row> named_;
};

}  // namespace treewise
