// Extra-trees engine: one random cut per sampled column, between the column's minimum and maximum at the node. Nothing
// is sorted, ranked or binned.
//
//     keys   7 2 9 4 4        of the node's rows; each row is visited once for all sampled columns
//            minimum 2, maximum 9; the cut, drawn between them, is 5
//     left     · 2 · 4 4      scored approximately (criteria/approx_impurity.hpp); usually one column survives and is
//                             evaluated exactly (search/exact_splitter.hpp)

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
#include "search/node_categories.hpp"
#include "util/rng.hpp"

namespace treewise {

template <TargetKind K>
class ExtraTreesEngine : public SplitEngine {
public:
    ExtraTreesEngine(const FitContext& context, std::vector<Row> rows)
        : context_(context),
          width_(context.width()),
          score_bounds_(context.settings, context.tables.nlogn, context.n_classes()),
          rows_(std::move(rows)),
          categories_(context),
          quantised_(K == TargetKind::regression ? context.quantise(rows_.rows(rows_.all())) : std::vector<int64_t>{}) {
    }

    Segment all() const override { return rows_.all(); }
    std::span<const Row> rows(Segment node) override { return rows_.rows(node); }
    bool has_stats() const override { return true; }
    void set_targets(const int64_t* y) override { y_ = y; }
    void node_total(Segment node, RowStats& stats) override {
        stats.assign(width_, 0);
        context_.add_rows(stats.data(), rows_.rows(node), y_, quantised_);
    }

    // Categorical columns and columns with missing values have several candidates; they are left to the exact splitter.
    const std::vector<size_t>& find_contending_columns(Segment node, const RowStats& node_total,
                                                       const std::vector<size_t>& columns, uint64_t node_key) override {
        node_total_ = &node_total, node_key_ = node_key;
        filter_.begin_node(context_.settings.rule == Rule::c45, context_.columns.size());
        context_.begin_node(score_bounds_, node_total, rows_.rows(node));
        read_targets(node);
        const size_t n_columns_per_batch =
            to_index(std::max<int64_t>(1, context_.settings.tuning.subtree_cells / node.size()));
        for (size_t first = 0; first < columns.size(); first += n_columns_per_batch) {
            gather_keys(std::span(columns).subspan(first, std::min(n_columns_per_batch, columns.size() - first)), node);
            for (size_t column : gathered_columns_) {
                if (context_.columns[column].is_code())
                    offer_unscored(column);
                else
                    offer_random_cut(column, node);
            }
        }
        return filter_.finish();
    }
    bool disable_filter() override { return true; }  // a column's buckets are not filtered
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        if (!context_.columns[column].is_code()) return buckets_beside_cut(draw_cut(column, node), node, out);
        const auto codes = context_.columns[column].view<int32_t>();
        const Row* rows = rows_.rows(node).data();
        const CategoryRows coded{node.size(), to_index(context_.columns[column].n_levels),
                                 [&](int64_t i) { return static_cast<uint32_t>(codes[rows[i]]); },
                                 [&](int64_t* stats, int64_t i) { add_row(stats, rows[i]); },
                                 [&](int64_t i) { return rows[i]; }};
        return categories_.buckets(coded, out);
    }
    int64_t n_cuts(size_t, Segment) override { return 1; }
    double to_double(size_t, int64_t key) const override { return key_to_double(key); }
    int64_t to_int(size_t, int64_t key) const override { return key_to_int(key); }

    void partition(Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) override {
        const auto column = to_index(split.column);
        const auto missing_branch = static_cast<uint32_t>(split.missing_branch);
        const int64_t* key = keys_of_column(column, node).keys.data();
        if (split.kind == kThreshold) {
            rows_.partition(node, sizes, [&, last = split.max_left_rank](Row) -> uint32_t {
                const int64_t k = *key++;
                return k == kMissingKey ? missing_branch : k > last;
            });
        } else {
            rows_.partition(node, sizes, [&](Row) -> uint32_t {
                const int64_t k = *key++;
                return k == kMissingKey ? missing_branch : split.branch(k);
            });
        }
    }

private:
    static constexpr size_t kRowsPerBatch = 64;  // rows whose cells stay in cache

    // The rows of a node in one column: their keys, the range of these, and the key of the random cut, if there is one.
    struct ColumnKeys {
        std::vector<int64_t> keys;  // capacity only grows
        int64_t low, high, present, cut_key;
    };

    void add_row(int64_t* stats, Row row) const { context_.add_row(stats, row, y_, context_.quantiser); }

    // -- per node, shared by its columns ------------------------------------------------------------------------------

    void read_targets(Segment node) {
        const auto rows = rows_.rows(node);
        if (weight_.size() < rows.size()) weight_.resize(rows.size()), target_.resize(rows.size());
        for (size_t i = 0; i < rows.size(); ++i) {
            weight_[i] = context_.target.weight[rows[i]];
            if constexpr (K == TargetKind::binary)
                target_[i] = weight_[i] & -int64_t{context_.target.label[rows[i]] != 0};
            if constexpr (K == TargetKind::multiclass) target_[i] = context_.target.label[rows[i]];
            if constexpr (K == TargetKind::regression) target_[i] = quantised_[rows[i]];
        }
    }
    // Reads all columns of a row in one visit, since its cells may be adjacent. Kept until the next node is gathered:
    // partitioning this node reuses them.
    void gather_keys(std::span<const size_t> columns, Segment node) {
        const auto rows = rows_.rows(node);
        if (column_keys_.size() < columns.size()) column_keys_.resize(columns.size());
        for (size_t i = 0; i < columns.size(); ++i) {
            if (column_keys_[i].keys.size() < rows.size()) column_keys_[i].keys.resize(rows.size());
        }
        for (size_t begin = 0; begin < rows.size(); begin += kRowsPerBatch) {
            const size_t end = std::min(rows.size(), begin + kRowsPerBatch);
            for (size_t i = 0; i < columns.size(); ++i) {
                int64_t* keys = column_keys_[i].keys.data();
                context_.columns[columns[i]].visit([&](const auto& values) {
                    for (size_t k = begin; k < end; ++k) keys[k] = key_of(values[rows[k]]);
                });
            }
        }
        gathered_node_ = node, gathered_columns_.assign(columns.begin(), columns.end());
    }
    ColumnKeys& keys_of_column(size_t column, Segment node) {
        const bool is_gathered = gathered_node_.begin == node.begin && gathered_node_.end == node.end;
        const auto position = std::find(gathered_columns_.begin(), gathered_columns_.end(), column);
        if (is_gathered && position != gathered_columns_.end())
            return column_keys_[to_index(position - gathered_columns_.begin())];
        gather_keys({&column, 1}, node);
        return column_keys_[0];
    }
    // Sets the key range, and the random cut if the range is not empty.
    const ColumnKeys& draw_cut(size_t column, Segment node) {
        ColumnKeys& gathered = keys_of_column(column, node);
        const KeyRange range = range_of(gathered.keys.data(), to_index(node.size()));
        gathered.low = range.low, gathered.high = range.high, gathered.present = range.present;
        if (gathered.low < gathered.high) gathered.cut_key = random_cut_key(column, gathered.low, gathered.high);
        return gathered;
    }
    int64_t random_cut_key(size_t column, int64_t low, int64_t high) const {
        const uint64_t random = split_key(node_key_, column, kThreshold);
        if (context_.columns[column].is_number())
            return key_of(random_threshold(random, key_to_double(low), key_to_double(high)));
        return key_of(random_threshold(random, key_to_int(low), key_to_int(high)));
    }

    // -- candidates ---------------------------------------------------------------------------------------------------

    void offer_unscored(size_t column) {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        filter_.offer(static_cast<int32_t>(column), 0, -kInf, kInf);
    }
    void offer_random_cut(size_t column, Segment node) {
        const ColumnKeys& gathered = draw_cut(column, node);
        const bool none_missing = gathered.present == node.size();
        if (gathered.low >= gathered.high && none_missing) return;
        const Settings& settings = context_.settings;
        if (!none_missing || !settings.tuning.use_bounds || settings.criterion == Criterion::poisson)
            return offer_unscored(column);
        left_.assign(width_, 0), right_ = *node_total_;
        sum_left_of_cut(gathered, left_.data());
        sub(right_.data(), left_.data(), width_);
        if (!meets_limits(left_) || !meets_limits(right_)) return offer_unscored(column);
        const ApproxImpurity<K>& approx = score_bounds_.approx;
        const auto [lower, upper] = score_bounds_.bounds(
            approx.purity(left_.data()) + approx.purity(right_.data()), 2,
            [&] { return score_bounds_.nlogn(left_[kWeight]) + score_bounds_.nlogn(right_[kWeight]); });
        filter_.offer(static_cast<int32_t>(column), 1, lower, upper);
    }
    bool meets_limits(const RowStats& side) const {
        return side[kRows] >= context_.settings.min_samples_leaf && side[kWeight] >= context_.settings.min_leaf_weight;
    }
    // Totals left of the cut, as far as scores need them (no exact sums for regression).
    void sum_left_of_cut(const ColumnKeys& gathered, int64_t* stats) const {
        const auto n = to_index((*node_total_)[kRows]);
        if constexpr (K == TargetKind::multiclass) {
            for (size_t i = 0; i < n; ++i) {  // unpredictable, hence branch-free
                const int64_t mask = -int64_t{gathered.keys[i] <= gathered.cut_key}, weight = weight_[i] & mask;
                stats[kRows] -= mask, stats[kWeight] += weight, stats[kCounts + to_index(target_[i])] += weight;
            }
            return;
        }
        const LeftSums left = sum_left(gathered.keys.data(), n, gathered.cut_key, weight_.data(), target_.data());
        stats[kRows] = left.rows, stats[kWeight] = left.weight;
        if constexpr (K == TargetKind::binary)
            stats[kCounts] = left.weight - left.target_sum, stats[kCounts + 1] = left.target_sum;
        if constexpr (K == TargetKind::regression) stats[kQuantised] = left.target_sum;
    }

    // -- buckets ------------------------------------------------------------------------------------------------------

    // Exact statistics below and above the cut; returns the missing rows.
    Bucket buckets_beside_cut(const ColumnKeys& gathered, Segment node, std::vector<Bucket>& out) {
        stats_.assign(3 * width_, 0);
        int64_t *left = stats_.data(), *right = left + width_, *missing_stats = right + width_;
        const auto rows = rows_.rows(node);
        if (gathered.present < node.size()) {
            for (size_t i = 0; i < rows.size(); ++i) {
                if (gathered.keys[i] == kMissingKey) add_row(missing_stats, rows[i]);
            }
        }
        add(right, node_total_->data(), width_), sub(right, missing_stats, width_);
        if (gathered.low >= gathered.high) {
            if (gathered.present > 0) out.push_back({nullptr, nullptr, right, gathered.low, gathered.high, 0});
            return {nullptr, nullptr, missing_stats, 0, 0, 0};
        }
        sum_left_of_cut(gathered, left);
        if constexpr (K == TargetKind::regression) {
            int128 sum = 0;
            for (size_t i = 0; i < rows.size(); ++i)
                sum += static_cast<int128>(weight_[i] & -int64_t{gathered.keys[i] <= gathered.cut_key}) * y_[rows[i]];
            add_sum(left + kLimbs, sum);
        }
        sub(right, left, width_);
        out.push_back({nullptr, nullptr, left, gathered.low, gathered.cut_key, 0});
        out.push_back({nullptr, nullptr, right, gathered.cut_key + 1, gathered.high, 1});
        return {nullptr, nullptr, missing_stats, 0, 0, 0};
    }

    const FitContext& context_;
    size_t width_;
    ScoreBounds<K> score_bounds_;
    RowPartition rows_;
    NodeCategories<K> categories_;
    std::vector<int64_t> quantised_;  // regression: quantised target by row
    CandidateFilter filter_;
    RowStats stats_, left_, right_;

    // the current node
    const RowStats* node_total_ = nullptr;
    const int64_t* y_ = nullptr;
    uint64_t node_key_ = 0;
    std::vector<int64_t> weight_, target_;  // of its rows: weight; class-1 weight, class or quantised target
    Segment gathered_node_;
    std::vector<size_t> gathered_columns_;
    std::vector<ColumnKeys> column_keys_;  // one per gathered column
};

extern template class ExtraTreesEngine<TargetKind::binary>;  // in engines/extra_trees.cpp
extern template class ExtraTreesEngine<TargetKind::multiclass>;
extern template class ExtraTreesEngine<TargetKind::regression>;

}  // namespace treewise
