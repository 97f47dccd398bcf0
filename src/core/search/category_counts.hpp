// A categorical column at a node: statistics of its levels, bounds for its best split, and its buckets.

#pragma once

#include <numeric>
#include <vector>

#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "search/category_split.hpp"

namespace treewise {

// Access to the rows of a node, numbered from 0, for one categorical column.
template <class Level, class Add, class RowOf>
struct CategoryRows {
    int64_t n;
    Level level;  // level(i): the code of row i, or anything larger if missing
    Add add;      // add(stat, i): adds row i to statistics
    RowOf row;    // row(i): its index in the table
};
template <class Level, class Add, class RowOf>
CategoryRows(int64_t, Level, Add, RowOf) -> CategoryRows<Level, Add, RowOf>;

template <TargetKind S>
class NodeCategories {
public:
    explicit NodeCategories(const FitContext& context) : context_(context), width_(context.width()) {}

    template <class Rows>
    void find_candidates(size_t column, const Rows& rows, const Stat& node_total, CategoryScan<S>& categories,
                         CandidateFilter& filter) {
        const auto column_index = static_cast<int32_t>(column);
        if (needs_rows(column)) {
            constexpr double kInf = std::numeric_limits<double>::infinity();
            return filter.offer(column_index, 0, -kInf, kInf);
        }
        count(column, rows);
        const int64_t* missing = counts_.missing(width_);
        if (counts_.size() == 0 || counts_.size() + (missing[kRows] > 0) < 2) return;
        categories.scan(context_.columns[column], column_index, counts_.stats.data(), counts_.size(), node_total.data(),
                        missing, context_.has_missing_branch(missing), filter);
    }
    // Returns the missing rows.
    template <class Rows>
    Bucket buckets(size_t column, const Rows& rows, std::vector<Bucket>& out) {
        if (needs_rows(column)) return row_buckets(column, rows, out);
        count(column, rows);
        for (size_t i = 0; i < counts_.size(); ++i) {
            const int64_t code = counts_.levels[i];
            out.push_back({nullptr, nullptr, counts_.stats.data() + i * width_, code, code, static_cast<int64_t>(i)});
        }
        return {nullptr, nullptr, counts_.missing(width_), 0, 0, 0};
    }

private:
    size_t n_levels(size_t column) const { return static_cast<size_t>(context_.columns[column].n_levels); }
    // With many classes and levels the statistics would take too much memory: the exact splitter moves rows instead.
    bool needs_rows(size_t column) const {
        return S == TargetKind::multiclass && (width_ > 64 || n_levels(column) * width_ > (1u << 20));
    }
    template <class Rows>
    void count(size_t column, const Rows& rows) {
        const size_t missing = n_levels(column);
        counts_.count(
            rows.n, missing, width_, [&](int64_t i) { return std::min<size_t>(rows.level(i), missing); }, rows.add);
    }
    template <class Rows>
    Bucket row_buckets(size_t column, const Rows& rows, std::vector<Bucket>& out) {
        order_.resize(static_cast<size_t>(rows.n));
        std::iota(order_.begin(), order_.end(), int64_t{0});
        std::stable_sort(order_.begin(), order_.end(),
                         [&](int64_t a, int64_t b) { return rows.level(a) < rows.level(b); });
        rows_.resize(order_.size());
        for (size_t i = 0; i < order_.size(); ++i) rows_[i] = rows.row(order_[i]);
        size_t i = 0;
        while (i < order_.size() && rows.level(order_[i]) < n_levels(column)) {
            size_t j = i;
            const int64_t code = rows.level(order_[i]);
            while (j < order_.size() && rows.level(order_[j]) == code) ++j;
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
