// Forest engine: each node samples different columns, so neither histograms nor presorted lists can be reused.
//
// A node is a segment of the row array. For each sampled column its rows are sorted by rank (problem/ranks.hpp, shared
// by all trees) and every cut is scored. Binary targets have shortcuts: large nodes are counted in rank histograms
// (search/rank_histogram.hpp) and only rows next to a competitive cut are sorted; small nodes are bitsets
// (search/bitset_node.hpp).
//
// An entry of the row array also holds the row's class and weight, if they fit, so that only ranks have to be looked
// up:
//
//     entry   [ class | weight | row ]

#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "problem/ranks.hpp"
#include "problem/row_partition.hpp"
#include "search/bitset_node.hpp"
#include "search/category_counts.hpp"
#include "search/category_split.hpp"
#include "search/cut_buckets.hpp"
#include "search/missing_placement.hpp"
#include "search/rank_histogram.hpp"
#include "search/sorted_scan.hpp"
#include "util/radix_sort.hpp"

namespace treewise {

template <TargetKind S>
class ForestEngine : public Engine {
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
    void node_total(Segment node, Stat& stat) override {
        stat.assign(width_, 0);
        if constexpr (S == TargetKind::regression)
            return context_.add_rows(stat.data(), entries_.rows(node), y_, quantised_);
        if (BitsetNode* bitset = bitset_nodes_.find(node)) return bitset->count((*bitset)[node], stat.data());
        for (uint32_t e : entries_.rows(node)) add_entry(stat.data(), e);
    }

    // -- candidates ---------------------------------------------------------------------------------------------------

    const std::vector<size_t>& find_candidates(Segment node, const Stat& node_total, const std::vector<size_t>& columns,
                                               uint64_t) override {
        node_total_ = &node_total, filter_disabled_ = false;
        filter_.begin_node(context_.settings.rule == Rule::c45, context_.columns.size());
        context_.begin_node(score_bounds_, node_total, entries_.rows(node));
        n_rank_histograms_ = 0;
        bitset_nodes_.advance_to(node);
        BitsetNode* bitset = as_bitset(node);
        if (bitset)
            left_sets_.clear(), pure_cut_ = {};
        else
            gather_ranks(columns, node);
        for (size_t i = 0; i < columns.size(); ++i) {
            if (bitset && pure_cut_.set && columns[i] > pure_cut_.column) continue;
            if (context_.columns[columns[i]].is_code())
                categories_.find_candidates(columns[i], category_rows(columns[i], node), *node_total_, category_scan_,
                                            filter_);
            else if (bitset)
                find_bitset_candidates(columns[i], node, *bitset);
            else if (!count_column(columns[i], node, gathered_ranks_[i].data()))
                find_number_candidates(columns[i], node, gathered_ranks_[i].data());
        }
        if (bitset) score_bitset_cuts(*bitset);
        open_rank_histograms();
        return filter_.finish();
    }
    void disable_filter() override { filter_disabled_ = true; }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        if (context_.columns[column].is_code()) return categories_.buckets(column, category_rows(column, node), out);
        return number_buckets(column, node, out);
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

    void partition(Segment node, const SplitInfo& split, std::vector<int64_t>& sizes) override {
        const size_t column = at(split.column);
        const auto missing = static_cast<uint32_t>(split.missing);
        bitset_nodes_.advance_to(node);
        if (BitsetNode* bitset = bitset_nodes_.find(node))
            return partition_bitset(node, *bitset, sizes, [&, column](uint32_t e) {
                const uint32_t r = rank_of(e, column);
                return r == kMissingRank ? missing : split.branch(r);
            });
        const uint32_t* rank = ranks(column, node);
        if (split.kind == kThreshold) {
            const auto last = static_cast<uint32_t>(split.max_left_rank);
            return entries_.partition(node, sizes, [&](uint32_t) -> uint32_t {
                const uint32_t r = *rank++;
                return r == kMissingRank ? missing : r > last;
            });
        }
        entries_.partition(node, sizes, [&](uint32_t) -> uint32_t {
            const uint32_t r = *rank++;
            return r == kMissingRank ? missing : split.branch(r);
        });
    }

private:
    static constexpr int64_t kFewRows = 64;      // fewer take no noticeable time
    static constexpr size_t kRowsPerBatch = 64;  // rows whose ranks stay in cache

    static size_t at(int64_t i) { return static_cast<size_t>(i); }

    // -- entries ------------------------------------------------------------------------------------------------------

    std::vector<uint32_t> pack_entries(std::vector<Row>& rows) {
        const Target& target = context_.target;
        if constexpr (S == TargetKind::regression) {
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
        if constexpr (S == TargetKind::binary) {  // indexed by the bits above the row index
            row_counts_.resize(size_t{1} << (32 - row_bits));
            for (uint32_t high_bits = 0; high_bits < row_counts_.size(); ++high_bits)
                row_counts_[high_bits] = PackedCounts::of_row(high_bits & weight_mask_, high_bits >> weight_bits);
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
    void add_entry(int64_t* stat, uint32_t entry) const {
        const int64_t w = weight_of(entry);
        ++stat[kRows], stat[kWeight] += w;
        if constexpr (S == TargetKind::regression)
            add_product(stat + kLimbs, w, y_[entry]), stat[kQuantised] += quantised_[entry];
        else
            stat[kCounts + at(class_of(entry))] += w;
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
            return gathered_ranks_[at(position - gathered_columns_.begin())].data();
        one_column_[0] = column;
        gather_ranks(one_column_, node);
        return gathered_ranks_[0].data();
    }

    // Binary target, small weights; then also true for all descendants.
    bool can_count() const {
        return S == TargetKind::binary && weight_mask_ && context_.settings.rule == Rule::gain &&
               context_.settings.tuning.use_bounds && PackedCounts::fits((*node_total_)[kWeight]) &&
               (*node_total_)[kWeight] <= context_.tables.reciprocals.max();
    }
    auto row_counts() const {
        return [trios = row_counts_.data(), shift = row_bits_](uint32_t e) { return trios[e >> shift]; };
    }
    // Counts a column in a rank histogram. Returns false if values are missing.
    bool count_column(size_t column, Segment node, const uint32_t* ranks) {
        if constexpr (S == TargetKind::binary) {
            if (!can_count()) return false;
            if (rank_histograms_.size() == n_rank_histograms_)
                rank_histograms_.push_back(std::make_unique<RankHistogram>());
            if (!rank_histograms_[n_rank_histograms_]->count(entries_.rows(node), ranks, row_counts())) return false;
            rank_histograms_[n_rank_histograms_++]->score_edges(static_cast<int32_t>(column), *node_total_,
                                                                sorted_scan_, filter_);
            check_interrupt_();
            return true;
        }
        return false;
    }
    // Most promising column first: a better bound closes bins of the others.
    void open_rank_histograms() {
        if constexpr (S == TargetKind::binary) {
            std::sort(rank_histograms_.begin(), rank_histograms_.begin() + static_cast<int64_t>(n_rank_histograms_),
                      [](const auto& a, const auto& b) { return a->best_score() > b->best_score(); });
            for (size_t i = 0; i < n_rank_histograms_; ++i)
                rank_histograms_[i]->open_bins(
                    *node_total_, sorted_scan_, [&](uint32_t e) { return class_of(e); },
                    [&](uint32_t e) { return weight_of(e); }, filter_);
        }
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
        const auto n = at(node.size());
        const uint64_t* keys = rank_sorter_.sort(node_entries(node).data(), ranks, n);
        const uint64_t* missing = keys + n;
        if (keys[n - 1] >> 32 == kMissingRank) missing = std::lower_bound(keys, keys + n, uint64_t{kMissingRank} << 32);
        return {keys, missing - keys, node.size()};
    }
    SortedEntries sorted_rows(size_t column, Segment node) { return sorted_rows(node, ranks(column, node)); }

    void find_number_candidates(size_t column, Segment node, const uint32_t* ranks) {
        const SortedEntries rows = sorted_rows(node, ranks);
        if (node.size() > kFewRows) check_interrupt_();
        std::fill(placement_.missing.begin(), placement_.missing.end(), 0);
        for (int64_t i = rows.present; i < rows.n; ++i) add_entry(placement_.missing.data(), rows.entry(i));
        const auto value = [&](int64_t i) {
            const uint32_t e = rows.entry(i);
            if constexpr (S == TargetKind::regression) return quantised_[e];
            return class_of(e);
        };
        const auto differs = [&](int64_t i) { return rows.differs(i); };
        placement_.for_each_placement(
            column, *node_total_, category_scan_, filter_, [&](const RunContext& run_context) {
                if (rows.rank(0) == rows.rank(rows.present - 1)) return;
                if (context_.unit_weights)
                    sorted_scan_.scan(run_context, rows.present - 1, value, UnitWeight{}, differs, filter_);
                else
                    sorted_scan_.scan(
                        run_context, rows.present - 1, value, [&](int64_t i) { return weight_of(rows.entry(i)); },
                        differs, filter_);
            });
    }
    Bucket number_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        if (counted_buckets(column, node, out)) {
            std::fill(placement_.missing.begin(), placement_.missing.end(), 0);
            return {nullptr, nullptr, placement_.missing.data(), 0, 0, 0};
        }
        const SortedEntries o = sorted_rows(column, node);
        const SortedRows rows{o.present, o.n, [&](int64_t* stat, int64_t i) { add_entry(stat, o.entry(i)); },
                              [&](int64_t i) { return o.differs(i); }, [&](int64_t i) { return int64_t{o.rank(i)}; }};
        return cut_buckets_.fill(rows, filter_disabled_ ? nullptr : &filter_, column, *node_total_,
                                 context_.settings.random_ties, out);
    }
    // Buckets from the counts of find_candidates, if nothing is missing. Random ties need every cut numbered instead.
    bool counted_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        if (S != TargetKind::binary || filter_disabled_ || context_.settings.random_ties) return false;
        filter_.list_positions(column, positions_);
        const auto rank = [&](uint32_t e) { return rank_of(e, column); };
        if (BitsetNode* bitset = bitset_nodes_.find(node)) {
            const auto& positions = bitset->column(column, (*bitset)[node], rank_sorter_, rank);
            if (positions.has_missing) return false;
            bitset->buckets_between((*bitset)[node], positions, positions_, rank, width_, out);
        } else {
            const auto end = rank_histograms_.begin() + static_cast<int64_t>(n_rank_histograms_);
            const auto counted =
                std::find_if(rank_histograms_.begin(), end, [&](const auto& c) { return at(c->column()) == column; });
            if (counted == end) return false;
            (*counted)->buckets_between(positions_, *node_total_, row_counts(), out);
        }
        prefetch(column, out);
        return true;
    }
    // The winner's threshold will be read next.
    void prefetch(size_t column, const std::vector<Bucket>& buckets) const {
        if (buckets.size() != 2) return;
        ranks_.prefetch(column, buckets[0].high);
        ranks_.prefetch(column, buckets[1].low);
    }

    // -- bitset nodes -------------------------------------------------------------------------------------------------

    // The bitset node that contains this node; makes one if it is small enough and growth is depth-first
    // (BitsetNodeStack).
    BitsetNode* as_bitset(Segment node) {
        if (BitsetNode* bitset = bitset_nodes_.find(node)) return bitset;
        const int64_t upper = std::min<int64_t>(BitsetNode::kMaxRows, context_.settings.tuning.bitset_rows);
        if (node.size() > upper || !can_count() || context_.settings.max_leaf_nodes > 0) return nullptr;
        BitsetNode& bitset = bitset_nodes_.push();
        bitset.begin(
            node, entries_.rows(node), context_.columns.size(), [&](uint32_t e) { return weight_of(e); },
            [&](uint32_t e) { return class_of(e) == 1; });
        return &bitset;
    }
    void find_bitset_candidates(size_t column, Segment node, BitsetNode& bitset) {
        if constexpr (S == TargetKind::binary) {
            const auto& positions =
                bitset.column(column, bitset[node], rank_sorter_, [&](uint32_t e) { return rank_of(e, column); });
            if (positions.has_missing) return find_number_candidates(column, node, ranks(column, node));
            BitsetNode::add_cuts(bitset[node], positions, static_cast<int32_t>(column), left_sets_);
            if (!first_pure_cut_wins()) return;
            if (const uint64_t set = bitset.pure_cut(bitset[node], left_sets_)) pure_cut_ = {set, column};
        }
    }
    // A cut that separates the classes perfectly has the maximal gain: only another such cut, in an earlier column,
    // could win. Not so if it may violate a limit or ties are random.
    bool first_pure_cut_wins() const {
        const Settings& settings = context_.settings;
        return settings.min_samples_leaf <= 1 && settings.min_leaf_weight <= 1 && !settings.random_ties;
    }
    // Scores the cuts of all columns at once.
    void score_bitset_cuts(const BitsetNode& bitset) {
        if constexpr (S == TargetKind::binary) {
            if (pure_cut_.set) left_sets_.keep_only(pure_cut_.set, static_cast<int32_t>(pure_cut_.column));
            bitset.count(left_sets_, cuts_);
            sorted_scan_.score_cuts(*node_total_, cuts_, [this](size_t k) { return left_sets_.column(k); }, filter_);
        }
    }
    template <class Branch>
    void partition_bitset(Segment node, BitsetNode& bitset, std::vector<int64_t>& sizes, const Branch& branch) {
        branch_sets_.assign(sizes.size(), 0);
        BitsetNode::for_each_row(bitset[node],
                                 [&](int row) { branch_sets_[branch(bitset.entry(row))] |= uint64_t{1} << row; });
        for (size_t b = 0; b < sizes.size(); ++b) {
            sizes[b] = std::popcount(branch_sets_[b]);
            if (sizes[b]) bitset[{node.begin, node.end}] = branch_sets_[b];
            node.begin += sizes[b];
        }
    }
    // The entries of a node.
    std::span<const uint32_t> node_entries(Segment node) {
        BitsetNode* bitset = bitset_nodes_.find(node);
        if (!bitset) return entries_.rows(node);
        entry_buffer_.clear();
        BitsetNode::for_each_row((*bitset)[node], [&](int row) { entry_buffer_.push_back(bitset->entry(row)); });
        return entry_buffer_;
    }

    // -- categories ---------------------------------------------------------------------------------------------------

    auto category_rows(size_t column, Segment node) {
        const uint32_t* entries = node_entries(node).data();
        return CategoryRows{node.size(), [=, this](int64_t i) { return rank_of(entries[i], column); },
                            [=, this](int64_t* stat, int64_t i) { add_entry(stat, entries[i]); },
                            [=, this](int64_t i) { return row_of(entries[i]); }};
    }

    const FitContext& context_;
    const RankTable& ranks_;
    size_t width_;
    ScoreBounds<S> score_bounds_;
    CheckInterrupt check_interrupt_;
    int row_bits_ = 32, class_shift_ = 32;  // of an entry: offset of the weight, and of the class
    uint32_t row_mask_ = ~0u;
    uint32_t weight_mask_ = 0;              // 0: an entry is just the row
    std::vector<PackedCounts> row_counts_;  // by the bits above the row index
    std::vector<int64_t> quantised_;        // regression: quantised target by row
    RowPartition entries_;
    SortedScan<S> sorted_scan_;
    CategoryScan<S> category_scan_;
    MissingPlacement<S> placement_;
    CutBuckets cut_buckets_;
    CandidateFilter filter_;
    NodeCategories<S> categories_;
    RankSorter rank_sorter_;
    CutBatch cuts_;
    BitsetNodeStack bitset_nodes_;
    BitsetNode::LeftSets left_sets_;
    struct {
        uint64_t set;
        size_t column;
    } pure_cut_ = {};                     // perfect cut in the earliest column so far
    std::vector<uint64_t> branch_sets_;   // rows of each branch
    std::vector<uint32_t> entry_buffer_;  // entries of a bitset node
    std::vector<std::unique_ptr<RankHistogram>> rank_histograms_;
    size_t n_rank_histograms_ = 0;                       // of the current node
    std::vector<std::vector<uint32_t>> gathered_ranks_;  // ranks …
    Segment gathered_node_;                              // … of this node
    std::vector<size_t> gathered_columns_;               // … in these columns
    std::vector<size_t> one_column_{0};
    std::vector<int64_t> positions_;
    std::vector<Row> row_buffer_;

    // the current node
    const Stat* node_total_ = nullptr;
    const int64_t* y_ = nullptr;
    bool filter_disabled_ = false;
};

extern template class ForestEngine<TargetKind::binary>;  // in engines/forest.cpp
extern template class ForestEngine<TargetKind::multiclass>;
extern template class ForestEngine<TargetKind::regression>;

}  // namespace treewise
