// Forest engine: each node samples different columns, so neither histograms nor presorted lists can be reused.
//
// A node is a segment of the row array. For each sampled column its rows are sorted by rank (problem/ranks.hpp, shared
// by all trees) and every cut is scored. Binary targets have shortcuts (engines/two_class_forest.hpp).
//
// An entry of the row array also holds the row's class and weight, if they fit, so that only ranks have to be looked
// up:
//
//     entry   [ class | weight | row ]

#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "problem/ranks.hpp"
#include "problem/row_partition.hpp"
#include "search/category_scan.hpp"
#include "search/cut_buckets.hpp"
#include "search/missing_placement.hpp"
#include "search/node_categories.hpp"
#include "search/sorted_scan.hpp"
#include "util/radix_sort.hpp"

namespace treewise {

template <TargetKind K>
class ForestEngine : public SplitEngine {
public:
    ForestEngine(const FitContext& context, const RankTable& ranks, std::vector<Row> rows,
                 CheckInterrupt check_interrupt)
        : context_(context),
          ranks_(ranks),
          width_(context.width()),
          score_bounds_(context.settings, context.tables.nlogn, context.n_classes()),
          check_interrupt_(std::move(check_interrupt)),
          entries_(pack_entries(rows)),
          sorted_scan_(context.settings, context.tables, score_bounds_, check_interrupt_),
          category_scan_(context.settings, score_bounds_, context.n_classes()),
          placement_(context),
          categories_(context) {}

    Segment all() const override { return entries_.all(); }
    std::span<const Row> rows(Segment node) override {
        const auto entries = node_entries(node);
        row_buffer_.resize(entries.size());
        for (size_t i = 0; i < entries.size(); ++i) row_buffer_[i] = row_of(entries[i]);
        return row_buffer_;
    }
    bool has_stats() const override { return true; }
    void set_targets(const int64_t* y) override { y_ = y; }
    void node_total(Segment node, RowStats& stats) override {
        stats.assign(width_, 0);
        if constexpr (K == TargetKind::regression)
            return context_.add_rows(stats.data(), entries_.rows(node), y_, quantised_);
        for (uint32_t e : entries_.rows(node)) add_entry(stats.data(), e);
    }

    // -- candidates ---------------------------------------------------------------------------------------------------

    const std::vector<size_t>& find_contending_columns(Segment node, const RowStats& node_total,
                                                       const std::vector<size_t>& columns, uint64_t) override {
        begin_search(node, node_total);
        gather_ranks(columns, node);
        for (size_t i = 0; i < columns.size(); ++i) {
            if (context_.columns[columns[i]].is_code())
                find_category_candidates(columns[i], node);
            else
                find_number_candidates(columns[i], node, gathered_ranks_[i].data());
        }
        return filter_.finish();
    }
    bool disable_filter() override { return filter_disabled_ = true; }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        if (context_.columns[column].is_code()) return categories_.buckets(category_rows(column, node), out);
        const SortedEntries o = sorted_rows(column, node);
        const SortedRows rows{o.present, o.n, [&](int64_t* stats, int64_t i) { add_entry(stats, o.entry(i)); },
                              [&](int64_t i) { return o.differs(i); }, [&](int64_t i) { return int64_t{o.rank(i)}; }};
        return cut_buckets_.fill(rows, filter_disabled_ ? nullptr : &filter_, column, *node_total_, out);
    }
    int64_t n_cuts(size_t column, Segment node) override {
        const SortedEntries rows = sorted_rows(column, node);
        int64_t cuts = 0;
        for (int64_t i = 1; i < rows.present; ++i) cuts += rows.differs(i);
        return cuts;
    }
    double to_double(size_t column, int64_t rank) const override { return key_to_double(ranks_.key(column, rank)); }
    int64_t to_int(size_t column, int64_t rank) const override { return key_to_int(ranks_.key(column, rank)); }
    bool is_splittable(Segment node) override {
        const auto entries = node_entries(node);
        const Row first = row_of(entries[0]);
        return std::any_of(entries.begin(), entries.end(),
                           [&](uint32_t e) { return !ranks_.same_ranks(first, row_of(e)); });
    }

    // -- splitting ----------------------------------------------------------------------------------------------------

    void partition(Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) override {
        const size_t column = to_index(split.column);
        const auto missing_branch = static_cast<uint32_t>(split.missing_branch);
        const uint32_t* rank = ranks(column, node);
        if (split.kind == kThreshold) {
            const auto last = static_cast<uint32_t>(split.max_left_rank);
            return entries_.partition(node, sizes, [&](uint32_t) -> uint32_t {
                const uint32_t r = *rank++;
                return r == kMissingRank ? missing_branch : r > last;
            });
        }
        entries_.partition(node, sizes, [&](uint32_t) -> uint32_t {
            const uint32_t r = *rank++;
            return r == kMissingRank ? missing_branch : split.branch(r);
        });
    }

protected:
    static constexpr int64_t kFewRows = 64;      // fewer take no noticeable time
    static constexpr size_t kRowsPerBatch = 64;  // rows whose ranks stay in cache

    // The entries of a node.
    virtual std::span<const uint32_t> node_entries(Segment node) { return entries_.rows(node); }

    void begin_search(Segment node, const RowStats& node_total) {
        node_total_ = &node_total, filter_disabled_ = false;
        filter_.begin_node(context_.settings.rule == Rule::c45, context_.columns.size());
        context_.begin_node(score_bounds_, node_total, entries_.rows(node));
    }

    // -- entries ------------------------------------------------------------------------------------------------------

    std::vector<uint32_t> pack_entries(std::vector<Row>& rows) {
        const Target& target = context_.target;
        if constexpr (K == TargetKind::regression) {
            quantised_ = context_.quantise(rows);
            return std::move(rows);
        }
        int64_t max_weight = 1;
        for (Row r : rows) max_weight = std::max(max_weight, target.weight[r]);
        const int class_bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(1, target.n_classes - 1)));
        const int weight_bits = std::bit_width(static_cast<uint64_t>(max_weight));
        const int row_bits = 32 - class_bits - weight_bits;
        if (weight_bits > WeightBits::kMaxBits || target.n_rows > int64_t{1} << row_bits) return std::move(rows);
        row_bits_ = row_bits, class_shift_ = 32 - class_bits;
        row_mask_ = (1u << row_bits) - 1, weight_mask_ = (1u << weight_bits) - 1;
        for (Row& r : rows) {
            const auto label = static_cast<uint32_t>(target.label[r]), weight = static_cast<uint32_t>(target.weight[r]);
            r |= label << class_shift_ | weight << row_bits;
        }
        return std::move(rows);
    }
    Row row_of(uint32_t entry) const { return entry & row_mask_; }
    uint32_t rank_of(uint32_t entry, size_t column) const {
        return ranks_.reader(column)(ranks_.row_ranks(row_of(entry)));
    }
    int64_t class_of(uint32_t entry) const {
        return weight_mask_ ? int64_t{entry >> class_shift_} : int64_t{context_.target.label[entry]};
    }
    int64_t weight_of(uint32_t entry) const {
        return weight_mask_ ? int64_t{entry >> row_bits_ & weight_mask_} : context_.target.weight[entry];
    }
    void add_entry(int64_t* stats, uint32_t entry) const {
        const int64_t w = weight_of(entry);
        ++stats[kRows], stats[kWeight] += w;
        if constexpr (K == TargetKind::regression)
            add_product(stats + kLimbs, w, y_[entry]), stats[kQuantised] += quantised_[entry];
        else
            stats[kCounts + to_index(class_of(entry))] += w;
    }

    // -- numbers ------------------------------------------------------------------------------------------------------

    // Gathers the ranks of a node's rows in these columns, visiting each row once. They are kept until the next node is
    // gathered: counting and the partition of this node reuse them.
    void gather_ranks(const std::vector<size_t>& columns, Segment node) {
        const auto entries = node_entries(node);
        if (gathered_ranks_.size() < columns.size()) gathered_ranks_.resize(columns.size());
        for (size_t i = 0; i < columns.size(); ++i) {
            if (gathered_ranks_[i].size() < entries.size()) gathered_ranks_[i].resize(entries.size());
        }
        std::array<const std::byte*, kRowsPerBatch> rows;
        for (size_t begin = 0; begin < entries.size(); begin += kRowsPerBatch) {
            const size_t n = std::min(entries.size() - begin, kRowsPerBatch);
            for (size_t k = 0; k < n; ++k) rows[k] = ranks_.row_ranks(row_of(entries[begin + k]));
            for (size_t i = 0; i < columns.size(); ++i) {
                uint32_t* out = gathered_ranks_[i].data() + begin;
                const auto rank = ranks_.reader(columns[i]);
#pragma GCC unroll 4
                for (size_t k = 0; k < n; ++k) out[k] = rank(rows[k]);
            }
        }
        gathered_node_ = node, gathered_columns_ = columns;
    }
    // The ranks in one column.
    const uint32_t* ranks(size_t column, Segment node) {
        const bool is_gathered = gathered_node_.begin == node.begin && gathered_node_.end == node.end;
        const auto position = std::find(gathered_columns_.begin(), gathered_columns_.end(), column);
        if (is_gathered && position != gathered_columns_.end())
            return gathered_ranks_[to_index(position - gathered_columns_.begin())].data();
        one_column_[0] = column;
        gather_ranks(one_column_, node);
        return gathered_ranks_[0].data();
    }

    // The rows of a node sorted by a column: rank in the upper half, entry in the lower half; missing last.
    struct SortedEntries {
        const uint64_t* keys;
        int64_t present, n;
        uint32_t rank(int64_t i) const { return static_cast<uint32_t>(keys[i] >> 32); }
        uint32_t entry(int64_t i) const { return static_cast<uint32_t>(keys[i]); }
        bool differs(int64_t i) const { return rank(i - 1) != rank(i); }
    };
    SortedEntries sorted_rows(Segment node, const uint32_t* ranks) {
        const auto n = to_index(node.size());
        const uint64_t* keys = rank_sorter_.sort(node_entries(node).data(), ranks, n);
        const uint64_t* first_missing = keys + n;
        if (keys[n - 1] >> 32 == kMissingRank)
            first_missing = std::lower_bound(keys, keys + n, uint64_t{kMissingRank} << 32);
        return {keys, first_missing - keys, node.size()};
    }
    SortedEntries sorted_rows(size_t column, Segment node) { return sorted_rows(node, ranks(column, node)); }

    void find_number_candidates(size_t column, Segment node, const uint32_t* ranks) {
        const SortedEntries rows = sorted_rows(node, ranks);
        if (node.size() > kFewRows) check_interrupt_();
        std::fill(placement_.missing_stats.begin(), placement_.missing_stats.end(), 0);
        for (int64_t i = rows.present; i < rows.n; ++i) add_entry(placement_.missing_stats.data(), rows.entry(i));
        const auto target_of = [&](int64_t i) {
            const uint32_t e = rows.entry(i);
            if constexpr (K == TargetKind::regression) return quantised_[e];
            return class_of(e);
        };
        const auto differs = [&](int64_t i) { return rows.differs(i); };
        placement_.for_each_placement(column, *node_total_, category_scan_, filter_, [&](const RunContext& run) {
            if (rows.rank(0) == rows.rank(rows.present - 1)) return;
            if (context_.unit_weights)
                sorted_scan_.scan(run, rows.present - 1, target_of, UnitWeight{}, differs, filter_);
            else
                sorted_scan_.scan(
                    run, rows.present - 1, target_of, [&](int64_t i) { return weight_of(rows.entry(i)); }, differs,
                    filter_);
        });
    }

    // -- categories ---------------------------------------------------------------------------------------------------

    void find_category_candidates(size_t column, Segment node) {
        categories_.offer_candidates(column, category_rows(column, node), *node_total_, category_scan_, filter_);
    }
    auto category_rows(size_t column, Segment node) {
        const uint32_t* entries = node_entries(node).data();
        return CategoryRows{node.size(), to_index(context_.columns[column].n_levels),
                            [=, this](int64_t i) { return rank_of(entries[i], column); },
                            [=, this](int64_t* stats, int64_t i) { add_entry(stats, entries[i]); },
                            [=, this](int64_t i) { return row_of(entries[i]); }};
    }

    const FitContext& context_;
    const RankTable& ranks_;
    size_t width_;
    ScoreBounds<K> score_bounds_;
    CheckInterrupt check_interrupt_;
    int row_bits_ = 32, class_shift_ = 32;  // of an entry: offset of the weight, and of the class
    uint32_t row_mask_ = ~0u;
    uint32_t weight_mask_ = 0;        // 0: an entry is just the row
    std::vector<int64_t> quantised_;  // regression: quantised target by row
    RowPartition entries_;
    SortedScan<K> sorted_scan_;
    CategoryScan<K> category_scan_;
    MissingPlacement<K> placement_;
    CutBuckets cut_buckets_;
    CandidateFilter filter_;
    NodeCategories<K> categories_;
    RankSorter rank_sorter_;
    std::vector<std::vector<uint32_t>> gathered_ranks_;  // ranks …
    Segment gathered_node_;                              // … of this node
    std::vector<size_t> gathered_columns_;               // … in these columns
    std::vector<size_t> one_column_{0};
    std::vector<Row> row_buffer_;

    // the current node
    const RowStats* node_total_ = nullptr;
    const int64_t* y_ = nullptr;
    bool filter_disabled_ = false;
};

extern template class ForestEngine<TargetKind::binary>;  // in engines/forest.cpp
extern template class ForestEngine<TargetKind::multiclass>;
extern template class ForestEngine<TargetKind::regression>;

}  // namespace treewise
