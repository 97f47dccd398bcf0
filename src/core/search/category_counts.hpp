// Statistics of the levels of a categorical column at a node; search/category_scan.hpp reads them.

#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "criteria/row_stats.hpp"

namespace treewise {

// Statistics of the levels that occur at a node, ascending; the missing rows come last.
class CategoryCounts {
public:
    std::vector<uint32_t> levels;  // levels that occur, then n_levels for missing
    RowStats stats;                // statistics of each, consecutive

    size_t size() const { return levels.size() - 1; }
    const int64_t* missing_stats(size_t width) const { return stats.data() + size() * width; }

    // level(i): of row i, n_levels if missing; add_row(stats, i): adds it to statistics.
    template <class Level, class AddRow>
    void count(int64_t n_rows, size_t n_levels, size_t width, const Level& level, const AddRow& add_row) {
        levels.clear();
        if (n_levels <= 4 * static_cast<size_t>(n_rows) + 64)
            count_all(n_rows, n_levels, width, level, add_row);
        else
            count_sorted(n_rows, n_levels, width, level, add_row);
    }

    // Binary target, unit weights: one word per level, rows in the lower half, ones in the upper half; missing last.
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

}  // namespace treewise
