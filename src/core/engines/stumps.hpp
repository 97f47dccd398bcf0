// Stump engine: trees of depth 1 on one table whose weights change between rounds (AdaBoost). Columns are sorted once,
// and a stump takes one pass over the sorted columns.
//
//     rows sorted by a column   | block | block | block …     blocks of some hundred rows, ending between two values
//
//   1. the weights of each block are summed; every block end is a cut, and is scored;
//   2. every block gets an upper bound for the cuts inside it (criteria/bin_bound.hpp);
//   3. the few blocks whose bound reaches the best lower bound are scanned row by row (search/sorted_scan.hpp).
//
// Categories are counted in one pass. As in the other engines the exact splitter decides, so the stump is the one that
// ordinary growth finds.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "search/binned_column.hpp"
#include "search/cut_buckets.hpp"
#include "search/missing_placement.hpp"
#include "search/node_categories.hpp"
#include "search/sorted_scan.hpp"
#include "util/key_sorter.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

// What does not depend on the weights; computed once.
struct PresortedColumns {
    struct SortedColumn {
        std::vector<Row> rows;       // sorted by value, missing last
        size_t present = 0;          // not missing
        BinPositions blocks;         // of the present rows
        std::vector<uint8_t> mixed;  // whether a block has different values
        std::vector<uint16_t> slot;  // by row: block · classes + class; missing rows after all blocks
        bool is_constant = true;     // no two values differ
    };
    std::vector<SortedColumn> by_column;  // for categories only is_constant

    PresortedColumns(const std::vector<Column>& columns, const Target& target, ThreadPool& pool,
                     const CheckInterrupt& check_interrupt)
        : by_column(columns.size()), target_(target) {
        std::vector<Row> all(static_cast<size_t>(target.n_rows));
        std::iota(all.begin(), all.end(), Row{0});
        std::vector<KeySorter> sorters(static_cast<size_t>(pool.size()));
        pool.parallel_for(
            columns.size(),
            [&](size_t c, int worker) {
                const CheckInterrupt check = pool.interrupt_check(worker, check_interrupt);
                if (columns[c].is_code())
                    by_column[c].is_constant = !is_splittable(columns[c], all);
                else
                    sort(columns[c], all, sorters[static_cast<size_t>(worker)], check, by_column[c]);
            },
            check_interrupt);
    }

private:
    static constexpr size_t kMinBlockRows = 64, kMaxSlots = 2048,
                            kMinBlocks = 64;  // rows per block; slots and blocks per column

    void sort(const Column& column, const std::vector<Row>& all, KeySorter& sorter,
              const CheckInterrupt& check_interrupt, SortedColumn& sorted) const {
        std::vector<int64_t> keys(all.size());
        read_keys(column, all, keys.data());
        check_interrupt();
        sorted.rows = all;
        sorter.sort(keys, sorted.rows, check_interrupt);  // missing keys are the largest
        const auto key = [&](size_t i) { return keys[sorted.rows[i]]; };
        sorted.present = all.size();
        while (sorted.present && key(sorted.present - 1) == kMissingKey) --sorted.present;
        sorted.is_constant = key(0) == key(all.size() - 1);
        const auto classes = static_cast<size_t>(target_.n_classes),
                   max_blocks = std::max(kMinBlocks, kMaxSlots / classes);
        const size_t min_rows = std::max(kMinBlockRows, sorted.present / (max_blocks - 1) + 1);
        sorted.slot.resize(all.size());
        std::vector<int64_t> block_rows;
        size_t begin = 0;
        const auto assign_slots = [&](size_t end) {  // of a block, or the missing rows
            for (; begin < end; ++begin) {
                const Row row = sorted.rows[begin];
                sorted.slot[row] =
                    static_cast<uint16_t>(block_rows.size() * classes + static_cast<size_t>(target_.label[row]));
            }
        };
        while (begin < sorted.present) {
            const size_t first = begin;
            size_t end = std::min(begin + min_rows, sorted.present);
            while (end < sorted.present && key(end) == key(end - 1)) ++end;
            assign_slots(end);
            block_rows.push_back(static_cast<int64_t>(end - first));
            sorted.mixed.push_back(key(first) != key(end - 1));
        }
        assign_slots(all.size());
        sorted.blocks.begin(block_rows.size(), [&](size_t b) { return block_rows[b]; });
        sorted.blocks.open_all();
    }

    const Target& target_;
};

template <TargetKind K>
class StumpEngine : public SplitEngine {
public:
    StumpEngine(const FitContext& context, const PresortedColumns& presorted, ThreadPool& pool,
                const CheckInterrupt& check_interrupt)
        : context_(context),
          presorted_(presorted),
          pool_(pool),
          check_interrupt_(check_interrupt),
          width_(context.width()),
          score_bounds_(context.settings, context.tables.nlogn, context.n_classes()),
          block_sums_(context.columns.size()),
          open_blocks_(context.columns.size()),
          branch_(to_index(context.target.n_rows)) {
        for (int w = 0; w < pool_.size(); ++w)
            scratches_.push_back(
                std::make_unique<ThreadScratch>(context_, score_bounds_, pool_.interrupt_check(w, check_interrupt_)));
        root_total_.assign(width_, 0);
        root_total_[kRows] = context.target.n_rows;
        for (size_t r = 0; r < branch_.size(); ++r)
            root_total_[kCounts + static_cast<size_t>(context.target.label.bytes[r])] += context.target.weight[r];
        for (size_t c = kCounts; c < width_; ++c) root_total_[kWeight] += root_total_[c];
    }

    Segment all() const override { return {0, context_.target.n_rows}; }
    std::span<const Row> rows(Segment) override { return {}; }  // not needed: classification with statistics
    bool has_stats() const override { return true; }
    void node_total(Segment node, RowStats& stats) override {
        if (node.size() == context_.target.n_rows) {
            stats = root_total_;
            return;
        }
        int64_t begin = 0;
        for (const int64_t* part = branch_totals_.data(); part < branch_totals_.data() + branch_totals_.size();
             part += width_) {
            if (begin == node.begin && part[kRows] == node.size()) stats.assign(part, part + width_);
            begin += part[kRows];
        }
    }
    // The branch each row took; all 0 before the first partition.
    const std::vector<uint32_t>& branches() const { return branch_; }

    // -- candidates ---------------------------------------------------------------------------------------------------

    const std::vector<size_t>& find_contending_columns(Segment, const RowStats& node_total,
                                                       const std::vector<size_t>& columns, uint64_t) override {
        node_total_ = &node_total, filter_disabled_ = false;
        score_bounds_.begin_node(node_total.data(), 0, 0, {});
        for (auto& scratch : scratches_) scratch->filter.begin_node(false, context_.columns.size());
        each_column(columns, [this](size_t c, ThreadScratch& scratch) { find_column_candidates(c, scratch); });
        for (const auto& scratch : scratches_) scratches_[0]->filter.raise_bounds(scratch->filter);
        for (const auto& scratch : scratches_) scratch->filter.raise_bounds(scratches_[0]->filter);
        each_column(columns, [this](size_t c, ThreadScratch& scratch) { open_blocks(c, scratch); });
        for (size_t w = 1; w < scratches_.size(); ++w) scratches_[0]->filter.merge(scratches_[w]->filter);
        return scratches_[0]->filter.finish();
    }
    bool disable_filter() override { return filter_disabled_ = true; }
    Bucket buckets(size_t column, Segment, std::vector<Bucket>& out) override {
        out.clear();
        ThreadScratch& scratch = *scratches_[0];
        return context_.columns[column].is_code() ? scratch.node_categories.buckets(category_rows(column), out)
                                                  : number_buckets(column, out, scratch);
    }
    int64_t n_cuts(size_t column, Segment) override {
        int64_t cuts = 0;
        for (size_t i = 1; i < presorted_.by_column[column].present; ++i) cuts += differs(column, i);
        return cuts;
    }
    bool is_splittable(Segment) override {
        return std::any_of(presorted_.by_column.begin(), presorted_.by_column.end(),
                           [](const PresortedColumns::SortedColumn& sorted) { return !sorted.is_constant; });
    }
    double to_double(size_t, int64_t key) const override { return key_to_double(key); }
    int64_t to_int(size_t, int64_t key) const override { return key_to_int(key); }

    // -- splitting ----------------------------------------------------------------------------------------------------

    void partition(Segment, const ChosenSplit& split, std::vector<int64_t>& sizes) override {
        const Column& column = context_.columns[to_index(split.column)];
        const size_t n = branch_.size(), n_tasks = (n + kRowsPerTask - 1) / kRowsPerTask;
        std::vector<RowStats> thread_sums(to_index(pool_.size()), RowStats(sizes.size() * width_, 0));
        pool_.parallel_for(
            n_tasks,
            [&](size_t task, int worker) {
                int64_t* sums = thread_sums[to_index(worker)].data();
                const size_t begin = task * kRowsPerTask, end = std::min(n, begin + kRowsPerTask);
                column.visit([&](const auto& values) {
                    const auto missing_branch = static_cast<uint32_t>(split.missing_branch);
                    for (size_t r = begin; r < end; ++r) {
                        const int64_t key = key_of(values[r]);
                        branch_[r] = key == kMissingKey ? missing_branch : split.branch(key);
                    }
                });
                for (size_t r = begin; r < end; ++r) add_row(sums + branch_[r] * width_, static_cast<Row>(r));
            },
            check_interrupt_);
        branch_totals_.assign(sizes.size() * width_, 0);
        for (const RowStats& sum : thread_sums) add(branch_totals_.data(), sum.data(), branch_totals_.size());
        for (size_t b = 0; b < sizes.size(); ++b) sizes[b] = branch_totals_[b * width_ + kRows];
    }

private:
    static constexpr size_t kRowsPerTask = 1 << 14;

    void add_row(int64_t* stats, Row row) const { context_.add_row(stats, row, nullptr, context_.quantiser); }
    bool differs(size_t column, size_t i) const {  // whether rows i − 1 and i of the order have different values
        return key_at(column, i - 1) != key_at(column, i);
    }
    int64_t key_at(size_t column, size_t i) const {
        return key_of(context_.columns[column], presorted_.by_column[column].rows[i]);
    }

    // Per-thread scratch memory.
    struct ThreadScratch {
        ThreadScratch(const FitContext& context, const ScoreBounds<K>& score_bounds,
                      const CheckInterrupt& check_interrupt)
            : sorted_scan(context.settings, context.tables, score_bounds, check_interrupt),
              binned_column(context, score_bounds),
              categories(context.settings, score_bounds, context.n_classes()),
              node_categories(context),
              placement(context) {}
        SortedScan<K> sorted_scan;
        BinnedColumn<K> binned_column;
        CategoryScan<K> categories;
        NodeCategories<K> node_categories;
        CutBuckets cut_buckets;
        CandidateFilter filter;
        MissingPlacement<K> placement;
        RowStats slot_sums;
        std::vector<double> block_bounds;
    };

    template <class Work>
    void each_column(const std::vector<size_t>& columns, const Work& work) {
        pool_.parallel_for(
            columns.size(), [&](size_t i, int w) { work(columns[i], *scratches_[to_index(w)]); }, check_interrupt_);
    }

    // -- one column ---------------------------------------------------------------------------------------------------

    void find_column_candidates(size_t column, ThreadScratch& scratch) {
        if (presorted_.by_column[column].is_constant) return;
        if (context_.columns[column].is_code())
            return scratch.node_categories.offer_candidates(column, category_rows(column), *node_total_,
                                                            scratch.categories, scratch.filter);
        sum_blocks(column, scratch);
        open_blocks_[column].clear();
        for_each_placement(column, scratch, [&](const RunContext& run) {
            scratch.binned_column.score_edges(blocks(column), run, scratch.filter);
            scratch.binned_column.list_open(blocks(column), run, scratch.filter, open_blocks_[column]);
        });
    }
    // Statistics of a column's blocks and of its missing rows: one addition per row.
    void sum_blocks(size_t column, ThreadScratch& scratch) {
        const PresortedColumns::SortedColumn& sorted = presorted_.by_column[column];
        const size_t n = sorted.blocks.n_bins() + 1, classes = width_ - kCounts;
        scratch.slot_sums.assign(n * classes, 0);
        const uint16_t* slot = sorted.slot.data();
        const auto* weight = reinterpret_cast<const int64_t*>(context_.target.weight.base);
        for (size_t r = 0; r < sorted.slot.size(); ++r) scratch.slot_sums[slot[r]] += weight[r];
        RowStats& sums = block_sums_[column];
        sums.resize(n * width_);
        for (size_t b = 0, begin = 0; b < n; ++b) {
            const size_t end = b + 1 < n ? to_index(sorted.blocks.end(b)) : sorted.rows.size();
            int64_t* sum = sums.data() + b * width_;
            sum[kRows] = static_cast<int64_t>(end - begin), sum[kWeight] = 0;
            for (size_t c = 0; c < classes; ++c) sum[kWeight] += sum[kCounts + c] = scratch.slot_sums[b * classes + c];
            begin = end;
        }
    }
    // Calls work(run) for each placement of the missing rows.
    template <class Work>
    void for_each_placement(size_t column, ThreadScratch& scratch, const Work& work) {
        const int64_t* missing_stats = block_sum(column, presorted_.by_column[column].blocks.n_bins());
        scratch.placement.missing_stats.assign(missing_stats, missing_stats + width_);
        scratch.placement.for_each_placement(column, *node_total_, scratch.categories, scratch.filter, work);
    }
    const int64_t* block_sum(size_t column, size_t b) const { return block_sums_[column].data() + b * width_; }
    auto blocks(size_t column) const {
        const PresortedColumns::SortedColumn& sorted = presorted_.by_column[column];
        return Bins{sorted.blocks.n_bins(), [=, this](size_t b) { return block_sum(column, b); },
                    [&sorted](size_t b) { return sorted.mixed[b]; }, [](size_t) { return 0.0; }};
    }
    void open_blocks(size_t column, ThreadScratch& scratch) {
        if (open_blocks_[column].empty()) return;
        scratch.block_bounds.assign(presorted_.by_column[column].blocks.n_bins(),
                                    -std::numeric_limits<double>::infinity());
        for (const OpenBin& open : open_blocks_[column])
            scratch.block_bounds[open.bin] = std::max(scratch.block_bounds[open.bin], open.upper);
        const auto is_open = [&](size_t b) {  // bounds have risen since the blocks were listed
            return scratch.filter.can_win(static_cast<int32_t>(column), scratch.block_bounds[b]);
        };
        for_each_placement(column, scratch, [&](const RunContext& run) {
            scratch.binned_column.for_each_open(
                blocks(column), is_open, run,
                [&](size_t, int64_t n, const RunContext& block) { scan_block(column, block, n, scratch); });
        });
    }
    void scan_block(size_t column, const RunContext& run, int64_t n_rows, ThreadScratch& scratch) {
        const Target& target = context_.target;
        const Row* rows = presorted_.by_column[column].rows.data() + run.rows_below;
        scratch.sorted_scan.scan(
            run, n_rows - 1, [&](int64_t i) { return int64_t{target.label[rows[i]]}; },
            [&](int64_t i) { return target.weight[rows[i]]; },
            [&](int64_t i) { return differs(column, to_index(run.rows_below + i)); }, scratch.filter);
    }

    // -- buckets for the exact splitter -------------------------------------------------------------------------------

    Bucket number_buckets(size_t column, std::vector<Bucket>& out, ThreadScratch& scratch) {
        const PresortedColumns::SortedColumn& sorted = presorted_.by_column[column];
        const SortedRows rows{static_cast<int64_t>(sorted.present), context_.target.n_rows,
                              [&](int64_t* stats, int64_t begin, int64_t end) { add_run(column, begin, end, stats); },
                              [&](int64_t i) { return differs(column, to_index(i)); },
                              [&](int64_t i) { return key_at(column, to_index(i)); }};
        return scratch.cut_buckets.fill(rows, filter_disabled_ ? nullptr : &scratch.filter, column, *node_total_, out);
    }
    // Adds the rows [begin, end) of a column's order; whole blocks are already summed.
    void add_run(size_t column, int64_t begin, int64_t end, int64_t* stats) const {
        const PresortedColumns::SortedColumn& sorted = presorted_.by_column[column];
        if (begin == static_cast<int64_t>(sorted.present))  // the missing rows
            return add(stats, block_sum(column, sorted.blocks.n_bins()), width_);
        sorted.blocks.add_range(
            begin, end, [&](size_t b) { add(stats, block_sum(column, b), width_); },
            [&](int64_t i) { add_row(stats, sorted.rows[to_index(i)]); });
    }

    // -- categories ---------------------------------------------------------------------------------------------------

    auto category_rows(size_t column) const {
        const auto codes = context_.columns[column].template view<int32_t>();
        return CategoryRows{context_.target.n_rows, to_index(context_.columns[column].n_levels),
                            [=](int64_t i) { return static_cast<uint32_t>(codes[to_index(i)]); },
                            [this](int64_t* stats, int64_t i) { add_row(stats, static_cast<Row>(i)); },
                            [](int64_t i) { return static_cast<Row>(i); }};
    }

    const FitContext& context_;
    const PresortedColumns& presorted_;
    ThreadPool& pool_;
    const CheckInterrupt& check_interrupt_;
    size_t width_;
    ScoreBounds<K> score_bounds_;
    std::vector<std::unique_ptr<ThreadScratch>> scratches_;
    std::vector<RowStats> block_sums_;               // of each column's blocks, then of its missing rows
    std::vector<std::vector<OpenBin>> open_blocks_;  // of each column: blocks that may hide a better cut
    RowStats root_total_, branch_totals_;            // of all rows; of the branches
    std::vector<uint32_t> branch_;
    const RowStats* node_total_ = nullptr;
    bool filter_disabled_ = false;
};

}  // namespace treewise
