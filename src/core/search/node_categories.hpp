// A categorical column at a node, as the engines use it: counts its levels (search/category_counts.hpp), bounds its
// best split (search/category_scan.hpp) and makes one bucket per level. The candidates themselves, such as subsets of
// levels, are formed from these buckets in search/two_way_splits.hpp.

#pragma once

#include <numeric>
#include <vector>

#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "search/category_counts.hpp"
#include "search/category_scan.hpp"

namespace treewise {

struct NoCounts {
    bool operator()(CategoryCounts&) const { return false; }
};
struct LevelIsCode {
    int64_t operator()(size_t level) const { return static_cast<int64_t>(level); }
};

// Access to the rows of a node, numbered from 0, for one categorical column.
template <class Level, class Add, class RowOf, class Fill = NoCounts, class Code = LevelIsCode>
struct CategoryRows {
    int64_t n;
    size_t n_levels;
    Level level;     // level(i): the level of row i, or anything larger if missing
    Add add;         // add(stats, i): adds row i to statistics
    RowOf row;       // row(i): its index in the table
    Fill fill = {};  // fill(counts): fills the counts if they are known already; returns whether
    Code code = {};  // code(level): the code of a level
};
template <class Level, class Add, class RowOf>
CategoryRows(int64_t, size_t, Level, Add, RowOf) -> CategoryRows<Level, Add, RowOf>;
template <class Level, class Add, class RowOf, class Fill>
CategoryRows(int64_t, size_t, Level, Add, RowOf, Fill) -> CategoryRows<Level, Add, RowOf, Fill>;
template <class Level, class Add, class RowOf, class Fill, class Code>
CategoryRows(int64_t, size_t, Level, Add, RowOf, Fill, Code) -> CategoryRows<Level, Add, RowOf, Fill, Code>;

template <TargetKind K>
class NodeCategories {
public:
    explicit NodeCategories(const FitContext& context) : context_(context), width_(context.width()) {}

    template <class Rows>
    void offer_candidates(size_t column, const Rows& rows, const RowStats& node_total, CategoryScan<K>& categories,
                          CandidateFilter& filter) {
        const auto column_index = static_cast<int32_t>(column);
        if (needs_rows(rows.n_levels)) {
            constexpr double kInf = std::numeric_limits<double>::infinity();
            return filter.offer(column_index, 0, -kInf, kInf);
        }
        count(rows);
        const int64_t* missing_stats = counts_.missing_stats(width_);
        if (counts_.size() == 0 || counts_.size() + (missing_stats[kRows] > 0) < 2) return;
        categories.scan(context_.columns[column], column_index, counts_.stats.data(), counts_.size(), node_total.data(),
                        missing_stats, context_.separates_missing(missing_stats), filter);
    }
    // Returns the missing rows.
    template <class Rows>
    Bucket buckets(const Rows& rows, std::vector<Bucket>& out) {
        if (needs_rows(rows.n_levels)) return row_buckets(rows, out);
        count(rows);
        for (size_t i = 0; i < counts_.size(); ++i) {
            const int64_t code = rows.code(counts_.levels[i]);
            out.push_back({nullptr, nullptr, counts_.stats.data() + i * width_, code, code, static_cast<int64_t>(i)});
        }
        return {nullptr, nullptr, counts_.missing_stats(width_), 0, 0, 0};
    }

private:
    // With many classes and levels the statistics would take too much memory: the exact splitter moves rows instead.
    bool needs_rows(size_t n_levels) const {
        return K == TargetKind::multiclass && (width_ > 64 || n_levels * width_ > (1u << 20));
    }
    template <class Rows>
    void count(const Rows& rows) {
        if (rows.fill(counts_)) return;
        const size_t missing_slot = rows.n_levels;
        counts_.count(
            rows.n, missing_slot, width_, [&](int64_t i) { return std::min<size_t>(rows.level(i), missing_slot); },
            rows.add);
    }
    template <class Rows>
    Bucket row_buckets(const Rows& rows, std::vector<Bucket>& out) {
        order_.resize(static_cast<size_t>(rows.n));
        std::iota(order_.begin(), order_.end(), int64_t{0});
        std::stable_sort(order_.begin(), order_.end(),
                         [&](int64_t a, int64_t b) { return rows.level(a) < rows.level(b); });
        rows_.resize(order_.size());
        for (size_t i = 0; i < order_.size(); ++i) rows_[i] = rows.row(order_[i]);
        size_t i = 0;
        while (i < order_.size() && rows.level(order_[i]) < rows.n_levels) {
            size_t j = i;
            const auto level = rows.level(order_[i]);
            const int64_t code = rows.code(level);
            while (j < order_.size() && rows.level(order_[j]) == level) ++j;
            out.push_back({rows_.data() + i, rows_.data() + j, nullptr, code, code, static_cast<int64_t>(out.size())});
            i = j;
        }
        return {rows_.data() + i, rows_.data() + rows_.size(), nullptr, 0, 0, 0};
    }

    const FitContext& context_;
    size_t width_;
    CategoryCounts counts_;
    std::vector<int64_t> order_;
    std::vector<Row> rows_;
};

}  // namespace treewise
