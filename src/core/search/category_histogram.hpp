// Counts the levels of many categorical columns in one pass, for binary targets of unit weight.
//
//     row 0   3 0 7          row-major, one byte per level: each cell adds one word to the counts of its column,
//     row 1   1 0 2          with the rows in the lower half and the rows of class 1 in the upper half
//
// Used by engines/subtree.hpp for small nodes: reading a row once is cheaper than reading each column separately.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace treewise {

class CategoryHistogram {
public:
    static constexpr size_t kMaxLevels = 255;  // excluding missing

    // n_levels: of each counted column, excluding missing.
    void reset(size_t n_rows, const std::vector<size_t>& n_levels) {
        start_.assign(1, 0);
        for (size_t n : n_levels) start_.push_back(start_.back() + static_cast<uint32_t>(n) + 1);
        cells_.resize(n_rows * n_levels.size());
        counts_.resize(start_.back());
    }
    size_t width() const { return start_.size() - 1; }
    uint8_t& level(size_t row, size_t column) { return cells_[row * width() + column]; }
    uint8_t level(size_t row, size_t column) const { return cells_[row * width() + column]; }

    void clear() { std::fill(counts_.begin(), counts_.end(), 0); }
    // row(i), cls(i): row index and class of entry i in [begin, end).
    template <class RowOf, class ClassOf>
    void count(size_t begin, size_t end, const RowOf& row, const ClassOf& cls) {
        const size_t columns = width();
        const uint32_t* start = start_.data();
        int64_t* counts = counts_.data();
        for (size_t i = begin; i < end; ++i) {
            const uint8_t* levels = cells_.data() + row(i) * columns;
            const int64_t increment = 1 + (static_cast<int64_t>(cls(i)) << 32);
            for (size_t c = 0; c < columns; ++c) counts[start[c] + levels[c]] += increment;
        }
    }
    // The counts of a column: one word per level, then one for missing.
    std::span<const int64_t> counts(size_t column) const {
        return {counts_.data() + start_[column], counts_.data() + start_[column + 1]};
    }

private:
    std::vector<uint32_t> start_{0};  // offset of each column's counts
    std::vector<uint8_t> cells_;
    std::vector<int64_t> counts_;
};

}  // namespace treewise
