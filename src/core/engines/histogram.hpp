// Histogram engine for large nodes: count rows per bin, then search the few bins that may hide a better cut.
//
// Histograms are built for the smaller child; the larger one is parent − sibling, exact because they are integers. Then
//
//   1. every edge between bins is a cut, and is scored;
//   2. every bin with more than one value gets an upper bound for the cuts inside it (criteria/bin_bound.hpp);
//   3. bins whose bound reaches the best lower bound are opened: their rows are gathered, sorted and scanned.
//
// Usually only a handful of bins in one or two columns are opened.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engines/subtree.hpp"
#include "problem/row_partition.hpp"
#include "search/binned_column.hpp"
#include "search/cut_buckets.hpp"
#include "search/histogram_builder.hpp"
#include "search/missing_placement.hpp"
#include "search/node_categories.hpp"
#include "search/sorted_scan.hpp"
#include "util/key_sorter.hpp"

namespace treewise {

template <TargetKind K>
class HistogramEngine : public SplitEngine {
public:
    HistogramEngine(const FitContext& context, ThreadPool& pool, const std::function<void()>& check_interrupt)
        : context_(context),
          pool_(pool),
          check_interrupt_(check_interrupt),
          width_(context.width()),
          score_bounds_(context.settings, context.tables.nlogn, context.n_classes()),
          rows_(context.target.n_rows),
          builder_(context, pool, check_interrupt) {
        for (int w = 0; w < pool_.size(); ++w)
            scratches_.push_back(
                std::make_unique<ThreadScratch>(context_, score_bounds_, pool_.interrupt_check(w, check_interrupt_)));
    }

    Segment all() const override { return rows_.all(); }
    std::span<const Row> rows(Segment node) override { return rows_.rows(node); }
    std::span<const Row> row_list(Segment node) const { return rows_.rows(node); }
    // Quartiles from the root histogram, if there is one; otherwise empty.
    std::vector<Quartiles> quartiles() {
        return use_histogram(all()) ? builder_.quartiles(all(), row_list(all())) : std::vector<Quartiles>{};
    }
    // Frees everything but the row partition, which other engines continue from.
    void release() { builder_.release(), rows_.release_scratch(), scratches_.clear(); }
    bool has_stats() const override { return true; }
    void set_targets(const int64_t* y) override { y_ = y; }
    void node_total(Segment node, RowStats& stats) override {
        stats.assign(width_, 0);
        if (K == TargetKind::binary && context_.unit_weights) {
            int64_t ones = 0;
            for (Row r : row_list(node)) ones += context_.target.label.bytes[r];
            stats[kRows] = stats[kWeight] = node.size();
            stats[kCounts] = node.size() - ones, stats[kCounts + 1] = ones;
            return;
        }
        for (Row r : row_list(node)) add_row(stats.data(), r);
    }
    // Left to the subtree engine if it fits its cache, unless few levels remain: then counting is faster than sorting.
    bool should_hand_over(Segment node, int64_t levels_left) const override {
        return fits_subtree_engine(node.size(), context_) &&
               (levels_left > 3 || node.size() < context_.settings.tuning.histogram_rows);
    }

    // -- candidates ---------------------------------------------------------------------------------------------------

    const std::vector<size_t>& find_contending_columns(Segment node, const RowStats& node_total,
                                                       const std::vector<size_t>& columns, uint64_t) override {
        node_ = node, node_total_ = &node_total, filter_disabled_ = false;
        context_.begin_node(score_bounds_, node_total, row_list(node));
        for (auto& scratch : scratches_)
            scratch->filter.begin_node(by_column(), context_.columns.size()), scratch->open_bins.clear();
        uses_histogram_ = use_histogram(node);
        const std::vector<int64_t>* histogram = uses_histogram_ ? &builder_.get(node, row_list(node)) : nullptr;
        pool_.parallel_for(
            columns.size(),
            [&](size_t i, int w) { find_column_candidates(columns[i], histogram, *scratches_[to_index(w)]); },
            check_interrupt_);
        share_bounds();
        open_bins(histogram);
        for (size_t w = 1; w < scratches_.size(); ++w) scratches_[0]->filter.merge(scratches_[w]->filter);
        return scratches_[0]->filter.finish();
    }
    bool disable_filter() override { return filter_disabled_ = true; }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        ThreadScratch& scratch = *scratches_[0];
        if (context_.columns[column].is_code())
            return scratch.node_categories.buckets(category_rows(column, node), out);
        if (uses_histogram_ && !filter_disabled_) return bin_buckets(column, node, out, scratch);
        return sorted_buckets(column, node, out, scratch);
    }
    int64_t n_cuts(size_t column, Segment node) override {
        ThreadScratch& scratch = *scratches_[0];
        gather_sorted(column, node, nullptr, scratch);
        int64_t distinct = 0;
        for (size_t i = 1; i < scratch.order.size(); ++i)
            distinct += scratch.keys[scratch.order[i]] != scratch.keys[scratch.order[i - 1]];
        return distinct;
    }
    double to_double(size_t, int64_t key) const override { return key_to_double(key); }
    int64_t to_int(size_t, int64_t key) const override { return key_to_int(key); }
    bool is_splittable(Segment node) override {
        return std::any_of(context_.columns.begin(), context_.columns.end(),
                           [&](const Column& c) { return treewise::is_splittable(c, row_list(node)); });
    }

    // -- splitting ----------------------------------------------------------------------------------------------------

    void partition(Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) override {
        const Column& column = context_.columns[static_cast<size_t>(split.column)];
        const BinMapper& mapper = builder_.mappers()[static_cast<size_t>(split.column)];
        const bool is_binned = !mapper.is_empty() && !column.is_code();
        const uint8_t cut_bin = is_binned ? mapper.bin(split.max_left_rank) : 0;
        rows_.partition(node, sizes, [&](Row r) -> uint32_t {
            if (is_binned && mapper.bin_of_row[r] != cut_bin && mapper.bin_of_row[r] != kMissingBin)
                return mapper.bin_of_row[r] > cut_bin;
            const int64_t key = key_of(column, r);
            return key == kMissingKey ? static_cast<uint32_t>(split.missing_branch) : split.branch(key);
        });
    }
    // Builds the histograms of the children that will be searched: the largest child is the parent minus its siblings.
    void on_children_known(Segment node, const std::vector<int64_t>& sizes, const std::vector<uint8_t>& open) override {
        if (!builder_.is_cached(node)) return;
        const auto largest = static_cast<size_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
        constexpr size_t kFew = 16;  // branches: with more, counting every sibling costs more than it saves
        const bool worth_it = sizes.size() <= kFew && open[largest] && use_histogram(child(node, sizes, largest)) &&
                              context_.settings.tuning.subtract_histograms;
        if (!worth_it) return builder_.evict(node);  // the children are small or leaves
        auto parent = builder_.take(node);
        for (size_t b = 0; b < sizes.size(); ++b) {
            if (b == largest || sizes[b] == 0) continue;
            const Segment other = child(node, sizes, b);
            auto counts = builder_.count(row_list(other));
            for (size_t i = 0; i < counts.size(); ++i) parent[i] -= counts[i];
            if (open[b] && use_histogram(other)) builder_.cache(other, std::move(counts));
        }
        builder_.cache(child(node, sizes, largest), std::move(parent));
    }

private:
    void add_row(int64_t* stats, Row row) const { context_.add_row(stats, row, y_, context_.quantiser); }
    bool by_column() const { return context_.settings.rule == Rule::c45; }

    struct ThreadScratch {
        ThreadScratch(const FitContext& context, const ScoreBounds<K>& score_bounds, const CheckInterrupt& check)
            : check_interrupt(check),
              sorted_scan(context.settings, context.tables, score_bounds, check),
              binned_column(context, score_bounds),
              categories(context.settings, score_bounds, context.n_classes()),
              node_categories(context),
              placement(context),
              bin_stats(context.width()) {}
        CheckInterrupt check_interrupt;
        SortedScan<K> sorted_scan;
        BinnedColumn<K> binned_column;
        CategoryScan<K> categories;
        NodeCategories<K> node_categories;
        CandidateFilter filter;
        std::vector<OpenBin> open_bins;
        KeySorter sorter;
        std::vector<int64_t> keys;    // of the gathered rows …
        std::vector<Row> rows;        // … which are these, the missing ones last …
        std::vector<uint32_t> order;  // … sorted in this order
        std::vector<Row> missing_rows;
        MissingPlacement<K> placement;
        CutBuckets cut_buckets;
        BinPositions positions;
        std::vector<int64_t> cuts;
        RowStats bin_stats, stats;
        std::array<uint8_t, kBins> is_open;
    };

    // -- counting -----------------------------------------------------------------------------------------------------

    bool use_histogram(Segment node) const {
        const int64_t rows = node.size(), min_rows = context_.settings.tuning.histogram_rows;
        return rows >= min_rows && (static_cast<int64_t>(kBins * width_) <= 2 * rows || min_rows < 256);
    }

    // -- one column ---------------------------------------------------------------------------------------------------

    void find_column_candidates(size_t column, const std::vector<int64_t>* histogram, ThreadScratch& scratch) {
        const bool is_code = context_.columns[column].is_code();
        if (is_code)
            return scratch.node_categories.offer_candidates(column, category_rows(column, node_), *node_total_,
                                                            scratch.categories, scratch.filter);
        if (!histogram) return find_sorted_candidates(column, scratch);
        const int64_t* bins = builder_.bins(*histogram, column);
        builder_.read_bin(bins, column, kMissingBin, scratch.placement.missing_stats);
        if constexpr (K == TargetKind::regression) add_missing_sums(column, scratch);
        const auto counted = bins_of(column, bins, scratch);
        for_each_placement(column, scratch, [&](const RunContext& run) {
            scratch.binned_column.score_edges(counted, run, scratch.filter);
            scratch.binned_column.list_open(counted, run, scratch.filter, scratch.open_bins);
        });
    }
    auto bins_of(size_t column, const int64_t* bins, ThreadScratch& scratch) const {
        return Bins{kMissingBin,
                    [=, this, &scratch](size_t b) {
                        builder_.read_bin(bins, column, b, scratch.bin_stats);
                        return static_cast<const int64_t*>(scratch.bin_stats.data());
                    },
                    [=, this](size_t b) { return builder_.mappers()[column].mixed[b].load(); },
                    [=, this](size_t b) { return K == TargetKind::regression ? builder_.bin_squares(bins, b) : 0.0; }};
    }
    // Whether missing rows get their own branch depends on their exact sum.
    void add_missing_sums(size_t column, ThreadScratch& scratch) const {
        if (!scratch.placement.missing_stats[kRows]) return;
        std::fill(scratch.placement.missing_stats.begin(), scratch.placement.missing_stats.end(), 0);
        for (Row r : row_list(node_)) {
            if (builder_.mappers()[column].bin_of_row[r] == kMissingBin)
                add_row(scratch.placement.missing_stats.data(), r);
        }
    }
    template <class Work>
    void for_each_placement(size_t column, ThreadScratch& scratch, const Work& work) {
        scratch.placement.for_each_placement(column, *node_total_, scratch.categories, scratch.filter, work);
    }

    // -- opening bins -------------------------------------------------------------------------------------------------

    void share_bounds() {
        for (const auto& scratch : scratches_) scratches_[0]->filter.raise_bounds(scratch->filter);
        for (const auto& scratch : scratches_) scratch->filter.raise_bounds(scratches_[0]->filter);
    }
    // Most promising column first: what it finds raises the bound for the others.
    void open_bins(const std::vector<int64_t>* histogram) {
        std::vector<OpenBin> all;
        for (const auto& scratch : scratches_)
            all.insert(all.end(), scratch->open_bins.begin(), scratch->open_bins.end());
        std::sort(all.begin(), all.end(), [](const OpenBin& a, const OpenBin& b) { return a.column < b.column; });
        struct ColumnBins {
            double upper;
            size_t begin, end;  // of a column's bins in `all`
        };
        std::vector<ColumnBins> column_bins;
        for (size_t i = 0; i < all.size(); ++i) {
            if (i == 0 || all[i].column != all[i - 1].column) column_bins.push_back({all[i].upper, i, i});
            column_bins.back().upper = std::max(column_bins.back().upper, all[i].upper);
            column_bins.back().end = i + 1;
        }
        std::stable_sort(column_bins.begin(), column_bins.end(),
                         [](const ColumnBins& a, const ColumnBins& b) { return a.upper > b.upper; });
        ThreadScratch& scratch = *scratches_[0];
        for (const ColumnBins& part : column_bins) {
            const int32_t column = all[part.begin].column;
            if (!scratch.filter.can_win(column, part.upper)) continue;
            scratch.is_open.fill(0);
            for (size_t i = part.begin; i < part.end; ++i) {
                if (scratch.filter.can_win(column, all[i].upper)) scratch.is_open[all[i].bin] = 1;
            }
            open_column(static_cast<size_t>(column), builder_.bins(*histogram, static_cast<size_t>(column)), scratch);
            check_interrupt_();
        }
    }
    void open_column(size_t column, const int64_t* bins, ThreadScratch& scratch) {
        gather_sorted(column, node_, scratch.is_open.data(), scratch);
        builder_.read_bin(bins, column, kMissingBin, scratch.placement.missing_stats);
        if constexpr (K == TargetKind::regression) add_missing_sums(column, scratch);
        for_each_placement(column, scratch, [&](const RunContext& run) {
            size_t begin = 0;
            scratch.binned_column.for_each_open(
                bins_of(column, bins, scratch), [&](size_t b) { return scratch.is_open[b]; }, run,
                [&](size_t, int64_t n, const RunContext& bin_run) {
                    scan_gathered(bin_run, begin, n - 1, scratch);
                    begin += to_index(n);
                });
        });
    }
    // Gathers the present rows of a node (only those in open bins, if given), sorted by value.
    void gather_sorted(size_t column, Segment node, const uint8_t* is_open, ThreadScratch& scratch) const {
        scratch.rows.clear();
        if (is_open) {
            const uint8_t* code = builder_.mappers()[column].bin_of_row;
            const int64_t* bins = builder_.bins(builder_.cached(node), column);
            size_t n = 0;
            for (size_t b = 0; b < kMissingBin; ++b) n += is_open[b] ? to_index(builder_.bin_rows(bins, column, b)) : 0;
            scratch.rows.resize(n + 1);  // one spare slot, overwritten by rows of closed bins
            n = 0;
            for (Row r : row_list(node)) scratch.rows[n] = r, n += is_open[code[r]];
            scratch.rows.pop_back();
        } else {
            scratch.rows.assign(row_list(node).begin(), row_list(node).end());
        }
        scratch.keys.resize(scratch.rows.size());
        scratch.check_interrupt();
        read_keys(context_.columns[column], scratch.rows, scratch.keys.data());
        scratch.check_interrupt();
        if (!is_open) move_missing_to_end(scratch);
        scratch.order.resize(scratch.keys.size());
        std::iota(scratch.order.begin(), scratch.order.end(), 0u);
        scratch.sorter.sort(scratch.keys, scratch.order, scratch.check_interrupt);
    }
    static void move_missing_to_end(ThreadScratch& scratch) {
        size_t n = 0;
        scratch.missing_rows.clear();
        for (size_t i = 0; i < scratch.rows.size(); ++i) {
            if (scratch.keys[i] == kMissingKey) {
                scratch.missing_rows.push_back(scratch.rows[i]);
            } else {
                scratch.rows[n] = scratch.rows[i], scratch.keys[n] = scratch.keys[i];
                ++n;
            }
        }
        std::copy(scratch.missing_rows.begin(), scratch.missing_rows.end(),
                  scratch.rows.begin() + static_cast<int64_t>(n));
        scratch.keys.resize(n);
    }
    void scan_gathered(const RunContext& run, size_t begin, int64_t n_cuts, ThreadScratch& scratch) {
        const Target& target = context_.target;
        const auto row = [&](int64_t i) { return scratch.rows[scratch.order[begin + to_index(i)]]; };
        const auto target_of = [&](int64_t i) {
            if constexpr (K == TargetKind::regression)
                return context_.quantiser(target.y[row(i)], target.weight[row(i)]);
            return int64_t{target.label[row(i)]};
        };
        const auto differs = [&](int64_t i) {
            return scratch.keys[scratch.order[begin + to_index(i)]] !=
                   scratch.keys[scratch.order[begin + to_index(i) - 1]];
        };
        if (context_.unit_weights)
            scratch.sorted_scan.scan(run, n_cuts, target_of, UnitWeight{}, differs, scratch.filter);
        else
            scratch.sorted_scan.scan(
                run, n_cuts, target_of, [&](int64_t i) { return target.weight[row(i)]; }, differs, scratch.filter);
    }
    void find_sorted_candidates(size_t column, ThreadScratch& scratch) {
        gather_sorted(column, node_, nullptr, scratch);
        std::fill(scratch.placement.missing_stats.begin(), scratch.placement.missing_stats.end(), 0);
        for (size_t i = scratch.keys.size(); i < scratch.rows.size(); ++i)
            add_row(scratch.placement.missing_stats.data(), scratch.rows[i]);
        for_each_placement(column, scratch, [&](const RunContext& run) {
            scan_gathered(run, 0, static_cast<int64_t>(scratch.keys.size()) - 1, scratch);
        });
    }

    // -- buckets for the exact splitter -------------------------------------------------------------------------------

    Bucket sorted_buckets(size_t column, Segment node, std::vector<Bucket>& out, ThreadScratch& scratch) {
        gather_sorted(column, node, nullptr, scratch);
        const auto present = static_cast<int64_t>(scratch.keys.size());
        const auto key = [&](int64_t i) { return scratch.keys[scratch.order[to_index(i)]]; };
        const SortedRows rows{present, node.size(),
                              [&](int64_t* stats, int64_t i) {
                                  add_row(stats, scratch.rows[i < present ? scratch.order[to_index(i)] : to_index(i)]);
                              },
                              [&](int64_t i) { return key(i) != key(i - 1); }, key};
        return scratch.cut_buckets.fill(rows, filter_disabled_ ? nullptr : &scratch.filter, column, *node_total_, out);
    }
    // Sorts only the bins next to a surviving cut.
    Bucket bin_buckets(size_t column, Segment node, std::vector<Bucket>& out, ThreadScratch& scratch) {
        constexpr size_t kMany = 256;  // cuts: then sorting all rows is as fast
        scratch.filter.list_cuts(column, scratch.cuts);
        if (scratch.cuts.size() >= kMany) return sorted_buckets(column, node, out, scratch);
        const int64_t* bins = builder_.bins(builder_.cached(node), column);
        BinPositions& positions = scratch.positions;
        positions.begin(kMissingBin, [&](size_t b) { return builder_.bin_rows(bins, column, b); });
        positions.open_beside(scratch.cuts);
        positions.number_sorted();
        std::copy(positions.is_open().begin(), positions.is_open().end(), scratch.is_open.begin());
        scratch.is_open[kMissingBin] = 0;
        gather_sorted(column, node, scratch.is_open.data(), scratch);
        sum_bins(column, node, bins, scratch);
        const auto bin_sum = [&](size_t b) { return scratch.stats.data() + b * width_; };
        const auto add_rows = [&](int64_t* stats, int64_t begin, int64_t end) {
            if (begin == positions.present()) return add(stats, bin_sum(kMissingBin), width_);
            positions.add_range(
                begin, end, [&](size_t b) { add(stats, bin_sum(b), width_); },
                [&](int64_t i) { add_row(stats, scratch.rows[scratch.order[to_index(i)]]); });
        };
        const auto key = [&](int64_t i) {
            const int64_t index = positions.sorted_index(i);
            if (index >= 0) return scratch.keys[scratch.order[to_index(index)]];
            return i == 0 ? std::numeric_limits<int64_t>::min() : kMissingKey - 1;
        };
        const SortedRows rows{positions.present(), node.size(), add_rows, [](int64_t) { return true; }, key};
        return scratch.cut_buckets.fill(rows, &scratch.filter, column, *node_total_, out);
    }
    // Exact statistics of a column's bins; for regression, which counts approximate sums, in one pass over the rows.
    void sum_bins(size_t column, Segment node, const int64_t* bins, ThreadScratch& scratch) const {
        scratch.stats.assign(kBins * width_, 0);
        if constexpr (K == TargetKind::regression) {
            const uint8_t* bin_of_row = builder_.mappers()[column].bin_of_row;
            for (Row r : row_list(node)) add_row(scratch.stats.data() + bin_of_row[r] * width_, r);
        } else {
            for (size_t b = 0; b < kBins; ++b) {
                builder_.read_bin(bins, column, b, scratch.bin_stats);
                std::copy_n(scratch.bin_stats.data(), width_, scratch.stats.data() + b * width_);
            }
        }
    }

    // -- categories ---------------------------------------------------------------------------------------------------

    auto category_rows(size_t column, Segment node) const {
        const auto n_levels = to_index(context_.columns[column].n_levels);
        const Row* rows = row_list(node).data();
        const auto codes = context_.columns[column].template view<int32_t>();
        return CategoryRows{node.size(),
                            n_levels,
                            [=](int64_t i) { return static_cast<uint32_t>(codes[rows[i]]); },
                            [=, this](int64_t* stats, int64_t i) { add_row(stats, rows[i]); },
                            [=](int64_t i) { return rows[i]; },
                            [=, this](CategoryCounts& counts) { return read_counts(column, node, n_levels, counts); }};
    }
    // From the node's histogram, if it has one.
    bool read_counts(size_t column, Segment node, size_t n_levels, CategoryCounts& counts) const {
        const bool default_units = y_ == context_.target.y;  // histograms use the units of the table
        if (!uses_histogram_ || !default_units || !builder_.is_binned(column)) return false;
        const int64_t* bins = builder_.bins(builder_.cached(node), column);
        RowStats bin_stats(width_);
        counts.levels.clear(), counts.stats.clear();
        for (size_t l = 0; l <= n_levels; ++l) {
            builder_.read_bin(bins, column, l < n_levels ? l : kMissingBin, bin_stats);
            if (l < n_levels && bin_stats[kRows] == 0) continue;
            counts.levels.push_back(static_cast<uint32_t>(l));
            counts.stats.insert(counts.stats.end(), bin_stats.begin(), bin_stats.end());
        }
        return true;
    }

    static Segment child(Segment node, const std::vector<int64_t>& sizes, size_t b) {
        Segment s{node.begin, node.begin};
        for (size_t i = 0; i <= b; ++i) s = {s.end, s.end + sizes[i]};
        return s;
    }

    const FitContext& context_;
    ThreadPool& pool_;
    const std::function<void()>& check_interrupt_;
    size_t width_;
    ScoreBounds<K> score_bounds_;
    RowPartition rows_;
    HistogramBuilder<K> builder_;
    std::vector<std::unique_ptr<ThreadScratch>> scratches_;

    // the current node
    Segment node_;
    const RowStats* node_total_ = nullptr;
    const int64_t* y_ = nullptr;
    bool uses_histogram_ = false, filter_disabled_ = false;
};

extern template class HistogramEngine<TargetKind::binary>;  // in engines/histogram.cpp
extern template class HistogramEngine<TargetKind::multiclass>;
extern template class HistogramEngine<TargetKind::regression>;

}  // namespace treewise
