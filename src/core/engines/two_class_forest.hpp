// Forest engine with shortcuts for binary targets of small weights: large nodes are counted in rank histograms, and
// only rows next to a competitive cut are sorted (search/rank_histogram.hpp); nodes of at most 64 rows and their
// descendants are bitsets (search/bitset_node.hpp). Everything else is inherited.

#pragma once

#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "engines/forest.hpp"
#include "search/bitset_node.hpp"
#include "search/rank_histogram.hpp"

namespace treewise {

class TwoClassForestEngine : public ForestEngine<TargetKind::binary> {
public:
    TwoClassForestEngine(const FitContext& context, const RankTable& ranks, std::vector<Row> rows,
                         CheckInterrupt check_interrupt)
        : ForestEngine(context, ranks, std::move(rows), std::move(check_interrupt)),
          batch_scorer_(context, score_bounds_) {
        if (!weight_mask_) return;
        row_counts_.resize(size_t{1} << (32 - row_bits_));
        const int weight_bits = std::bit_width(weight_mask_);
        for (uint32_t high_bits = 0; high_bits < row_counts_.size(); ++high_bits)
            row_counts_[high_bits] = PackedCounts::of_row(high_bits & weight_mask_, high_bits >> weight_bits);
    }

    void node_total(Segment node, RowStats& stats) override {
        BitsetNode* bitset = bitset_nodes_.find(node);
        if (!bitset) return ForestEngine::node_total(node, stats);
        stats.assign(width_, 0);
        bitset->count((*bitset)[node], stats.data());
    }
    const std::vector<size_t>& find_contending_columns(Segment node, const RowStats& node_total,
                                                       const std::vector<size_t>& columns, uint64_t node_key) override {
        begin_search(node, node_total);
        node_key_ = node_key;
        n_rank_histograms_ = 0;
        bitset_nodes_.advance_to(node);
        if (BitsetNode* bitset = as_bitset(node)) {
            find_bitset_candidates(columns, node, *bitset);
            return filter_.finish();
        }
        gather_ranks(columns, node);
        for (size_t i = 0; i < columns.size(); ++i) {
            const uint32_t* ranks = gathered_ranks_[i].data();
            if (context_.columns[columns[i]].is_code())
                find_category_candidates(columns[i], node);
            else if (!can_count() || !count_column(columns[i], node, ranks))
                find_number_candidates(columns[i], node, ranks);
        }
        open_rank_histograms();
        return filter_.finish();
    }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        if (!context_.columns[column].is_code()) {
            if (const std::optional<Bucket> missing_bucket = counted_buckets(column, node, out)) return *missing_bucket;
        }
        return ForestEngine::buckets(column, node, out);
    }
    void partition(Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) override {
        bitset_nodes_.advance_to(node);
        BitsetNode* bitset = bitset_nodes_.find(node);
        bitset ? partition_bitset(node, *bitset, split, sizes) : ForestEngine::partition(node, split, sizes);
    }

private:
    auto row_counts() const {
        return [counts = row_counts_.data(), shift = row_bits_](uint32_t e) { return counts[e >> shift]; };
    }
    // Then also true for all descendants.
    bool can_count() const {
        const int64_t weight = (*node_total_)[kWeight];
        return weight_mask_ && context_.settings.tuning.use_bounds && PackedCounts::fits(weight) &&
               batch_scorer_.supports(weight);
    }
    std::span<const uint32_t> node_entries(Segment node) override {
        BitsetNode* bitset = bitset_nodes_.find(node);
        if (!bitset) return entries_.rows(node);
        entry_buffer_.clear();
        BitsetNode::for_each_row((*bitset)[node], [&](int row) { entry_buffer_.push_back(bitset->entry(row)); });
        return entry_buffer_;
    }
    // Buckets from the counts of find_contending_columns, if nothing is missing.
    std::optional<Bucket> counted_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        if (filter_disabled_) return {};
        std::optional<Bucket> missing_bucket;
        if (BitsetNode* bitset = bitset_nodes_.find(node)) {
            const auto rank = [&](uint32_t e) { return rank_of(e, column); };
            const auto& order = bitset->column(column, (*bitset)[node], rank_sorter_, rank);
            if (order.has_missing) return {};
            missing_bucket =
                bitset->buckets((*bitset)[node], order, filter_, column, *node_total_, rank, cut_buckets_, out);
        } else {
            const auto end = rank_histograms_.begin() + static_cast<int64_t>(n_rank_histograms_);
            const auto counted = std::find_if(rank_histograms_.begin(), end,
                                              [&](const auto& h) { return to_index(h->column()) == column; });
            if (counted == end) return {};
            missing_bucket = (*counted)->buckets(filter_, *node_total_, row_counts(), cut_buckets_, out);
        }
        prefetch(column, out);
        return missing_bucket;
    }
    // The winner's threshold will be read next.
    void prefetch(size_t column, const std::vector<Bucket>& buckets) const {
        if (buckets.size() != 2) return;
        ranks_.prefetch(column, buckets[0].high);
        ranks_.prefetch(column, buckets[1].low);
    }

    // -- rank histograms ----------------------------------------------------------------------------------------------

    // Returns false if values are missing.
    bool count_column(size_t column, Segment node, const uint32_t* ranks) {
        if (rank_histograms_.size() == n_rank_histograms_)
            rank_histograms_.push_back(std::make_unique<RankHistogram>(context_, score_bounds_));
        RankHistogram& histogram = *rank_histograms_[n_rank_histograms_];
        if (!histogram.count(entries_.rows(node), ranks, row_counts())) return false;
        histogram.score_edges(static_cast<int32_t>(column), *node_total_, filter_);
        ++n_rank_histograms_;
        check_interrupt_();
        return true;
    }
    // Most promising column first: a better bound closes bins of the others.
    void open_rank_histograms() {
        std::sort(rank_histograms_.begin(), rank_histograms_.begin() + static_cast<int64_t>(n_rank_histograms_),
                  [](const auto& a, const auto& b) { return a->best_edge_purity() > b->best_edge_purity(); });
        for (size_t i = 0; i < n_rank_histograms_; ++i)
            rank_histograms_[i]->open_bins(
                *node_total_, sorted_scan_, [&](uint32_t e) { return class_of(e); },
                [&](uint32_t e) { return weight_of(e); }, filter_);
    }

    // -- bitset nodes -------------------------------------------------------------------------------------------------

    // The bitset node that contains this node; makes one if it is small enough and growth is depth-first
    // (BitsetNodeStack).
    BitsetNode* as_bitset(Segment node) {
        if (BitsetNode* bitset = bitset_nodes_.find(node)) return bitset;
        const int64_t max_rows = std::min<int64_t>(BitsetNode::kMaxRows, context_.settings.tuning.bitset_rows);
        if (node.size() > max_rows || !can_count() || context_.settings.max_leaf_nodes > 0) return nullptr;
        BitsetNode& bitset = bitset_nodes_.push();
        bitset.begin(
            node, entries_.rows(node), context_.columns.size(), [&](uint32_t e) { return weight_of(e); },
            [&](uint32_t e) { return class_of(e) == 1; });
        return &bitset;
    }
    // Collects the cuts of all columns, then scores them at once.
    void find_bitset_candidates(const std::vector<size_t>& columns, Segment node, BitsetNode& bitset) {
        left_sets_.clear(), pure_cut_ = {};
        for (size_t column : columns) {
            if (pure_cut_.set && tie_rank(column) > tie_rank(pure_cut_.column)) continue;
            if (context_.columns[column].is_code())
                find_category_candidates(column, node);
            else
                add_bitset_cuts(column, node, bitset);
        }
        if (pure_cut_.set) left_sets_.keep_only(pure_cut_.set, static_cast<int32_t>(pure_cut_.column));
        bitset.count(left_sets_, cuts_);
        batch_scorer_.offer(
            BatchSides(*node_total_), cuts_, [this](size_t k) { return left_sets_.column(k); }, filter_);
    }
    void add_bitset_cuts(size_t column, Segment node, BitsetNode& bitset) {
        const auto& order =
            bitset.column(column, bitset[node], rank_sorter_, [&](uint32_t e) { return rank_of(e, column); });
        if (order.has_missing) return find_number_candidates(column, node, ranks(column, node));
        BitsetNode::add_cuts(bitset[node], order, static_cast<int32_t>(column), left_sets_);
        if (!first_pure_cut_wins()) return;
        if (const uint64_t set = bitset.pure_cut(bitset[node], left_sets_)) pure_cut_ = {set, column};
    }
    // A cut that separates the classes perfectly has the maximal gain: only another such cut, in a column that wins
    // ties against it, could win. Not so if it may violate a limit.
    bool first_pure_cut_wins() const {
        const Settings& settings = context_.settings;
        return settings.min_samples_leaf <= 1 && settings.min_leaf_weight <= 1;
    }
    // The smaller one wins a tie (search/best_split.hpp).
    std::pair<uint64_t, size_t> tie_rank(size_t column) const {
        return {context_.settings.random_ties ? tie_key(node_key_, column) : 0, column};
    }
    void partition_bitset(Segment node, BitsetNode& bitset, const ChosenSplit& split, std::vector<int64_t>& sizes) {
        const auto branch = [&](uint32_t e) {
            const uint32_t r = rank_of(e, to_index(split.column));
            return r == kMissingRank ? static_cast<uint32_t>(split.missing_branch) : split.branch(r);
        };
        branch_sets_.assign(sizes.size(), 0);
        BitsetNode::for_each_row(bitset[node],
                                 [&](int row) { branch_sets_[branch(bitset.entry(row))] |= uint64_t{1} << row; });
        for (size_t b = 0; b < sizes.size(); ++b) {
            sizes[b] = std::popcount(branch_sets_[b]);
            if (sizes[b]) bitset[{node.begin, node.end}] = branch_sets_[b];
            node.begin += sizes[b];
        }
    }

    BatchScorer batch_scorer_;
    std::vector<PackedCounts> row_counts_;  // by the bits of an entry above the row index
    std::vector<std::unique_ptr<RankHistogram>> rank_histograms_;
    size_t n_rank_histograms_ = 0;  // of the current node
    BitsetNodeStack bitset_nodes_;
    BitsetNode::LeftSets left_sets_;
    CutBatch cuts_;
    struct {
        uint64_t set;
        size_t column;
    } pure_cut_ = {};                     // perfect cut, of the column so far that wins ties
    uint64_t node_key_ = 0;               // for random ties
    std::vector<uint64_t> branch_sets_;   // rows of each branch
    std::vector<uint32_t> entry_buffer_;  // entries of a bitset node
};

}  // namespace treewise
