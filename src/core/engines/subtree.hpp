// Subtree engine for small nodes: presorts a few thousand rows by each numeric column once, then grows their whole
// subtree in cache.
//
// Rows are numbered from 0 within the subtree. Each numeric column has a list of entries sorted by value, missing last;
// for classification an entry also holds the class, so that a scan reads a single array:
//
//     entry   [ class | row ]
//
// A node is a segment [begin, end) of every list. One list is partitioned at once; the others follow only for children
// that will be searched. Categories are not sorted: their levels are counted at each node.

#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "problem/quartiles.hpp"
#include "search/category_histogram.hpp"
#include "search/cut_buckets.hpp"
#include "search/missing_placement.hpp"
#include "search/node_categories.hpp"
#include "search/sorted_scan.hpp"
#include "util/key_sorter.hpp"

namespace treewise {

inline int row_bits(int64_t n_classes) {  // of an entry
    return n_classes ? 32 - bit_length(static_cast<uint128>(std::max<int64_t>(1, n_classes - 1))) : 32;
}
// Whether the lists fit the cache and an entry can hold the row index.
inline bool fits_subtree_engine(int64_t n_rows, const FitContext& context) {
    const Tuning& tuning = context.settings.tuning;
    if (n_rows >= int64_t{1} << row_bits(context.n_classes())) return false;
    return n_rows <= tuning.subtree_rows ||
           n_rows * static_cast<int64_t>(context.columns.size()) <= tuning.subtree_cells;
}

template <TargetKind K>
class SubtreeEngine : public SplitEngine {
public:
    // check_interrupt: called between columns.
    SubtreeEngine(const FitContext& context, std::vector<Row> rows, CheckInterrupt check_interrupt)
        : context_(context),
          rows_(std::move(rows)),
          width_(context.width()),
          bits_(row_bits(context.n_classes())),
          mask_(context.n_classes() ? (1u << bits_) - 1 : ~0u),
          score_bounds_(context.settings, context.tables.nlogn, context.n_classes()),
          check_interrupt_(std::move(check_interrupt)),
          sorted_scan_(context.settings, context.tables, score_bounds_, check_interrupt_),
          categories_(context.settings, score_bounds_, context.n_classes()),
          entries_(rows_.size()),
          lists_(context.columns.size()),
          ranks_(context.columns.size()),
          traits_(context.columns.size()),
          local_levels_(context.columns.size()),
          buffer_(rows_.size()),
          node_categories_(context),
          placement_(context) {
        read_targets();
        for (size_t c = 0; c < context.columns.size(); ++c) {
            context.columns[c].is_code() ? read_levels(c) : sort_numbers(c);
            check_interrupt_();
        }
        if (K == TargetKind::binary && context.unit_weights) make_category_histogram();
        choose_row_order();
    }

    Segment all() const override { return {0, static_cast<int64_t>(rows_.size())}; }

    // -- a node's rows ------------------------------------------------------------------------------------------------

    std::span<const Row> rows(Segment node) override {
        row_buffer_.resize(static_cast<size_t>(node.size()));
        for (size_t i = 0; i < row_buffer_.size(); ++i)
            row_buffer_[i] = rows_[row_of(node_entries()[to_index(node.begin) + i])];
        return row_buffer_;
    }
    bool has_stats() const override { return true; }
    void set_targets(const int64_t* y) override { y_ = y; }
    void node_total(Segment node, RowStats& stats) override {
        stats.assign(width_, 0);
        for (int64_t i = node.begin; i < node.end; ++i) add_entry(stats.data(), node_entries()[to_index(i)]);
    }

    // Quartiles of the columns, if the subtree is the whole table.
    std::vector<Quartiles> quartiles() const {
        std::vector<Quartiles> found(context_.columns.size());
        for (size_t c = 0; c < found.size(); ++c) {
            if (context_.columns[c].is_code()) continue;
            const int64_t one = key_of(context_.columns[c], rows_[0]);
            found[c] = lists_[c].empty() ? Quartiles{one, one}
                                         : quartiles_of_sorted(
                                               n_present(c, all()), context_.unit_weights,
                                               [&](int64_t i) { return weight_[row_of(lists_[c][to_index(i)])]; },
                                               [&](int64_t i) { return key_at(c, i); });
        }
        return found;
    }

    // -- candidates ---------------------------------------------------------------------------------------------------

    const std::vector<size_t>& find_contending_columns(Segment node, const RowStats& node_total,
                                                       const std::vector<size_t>& columns, uint64_t) override {
        filter_disabled_ = false;
        filter_.begin_node(context_.settings.rule == Rule::c45, context_.columns.size());
        context_.begin_node(score_bounds_, node_total, quantiser_,
                            [&](size_t i) { return rows_[row_of(node_entries()[to_index(node.begin) + i])]; });
        node_total_ = &node_total;
        if (category_histogram_.width()) fill_category_histogram(node);
        for (size_t c : columns) {
            if (node.size() > kManyRows || c % 64 == 63) check_interrupt_();
            if (context_.columns[c].is_code())
                node_categories_.offer_candidates(c, category_rows(c, node), node_total, categories_, filter_);
            else if (context_.unit_weights)
                find_number_candidates(c, node, UnitWeight{});
            else
                find_number_candidates(c, node, [this](uint32_t entry) { return weight_[row_of(entry)]; });
        }
        return filter_.finish();
    }

    bool disable_filter() override { return filter_disabled_ = true; }
    // Rows between a column's surviving cuts, or its levels; returns the missing rows.
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        return context_.columns[column].is_code() ? node_categories_.buckets(category_rows(column, node), out)
                                                  : number_buckets(column, node, out);
    }
    int64_t n_cuts(size_t column, Segment node) override {
        int64_t cuts = 0;
        const int64_t present = n_present(column, node);
        const auto differs = differs_in(column, node);
        for (int64_t i = 1; i < present; ++i) cuts += differs(i);
        return cuts;
    }
    double to_double(size_t, int64_t key) const override { return key_to_double(key); }
    int64_t to_int(size_t, int64_t key) const override { return key_to_int(key); }
    bool is_splittable(Segment node) override {
        std::vector<Row> rows(to_index(node.size()));
        for (size_t i = 0; i < rows.size(); ++i) rows[i] = rows_[row_of(node_entries()[to_index(node.begin) + i])];
        return std::any_of(context_.columns.begin(), context_.columns.end(),
                           [&](const Column& c) { return treewise::is_splittable(c, rows); });
    }

    // -- splitting ----------------------------------------------------------------------------------------------------

    // Assigns rows to branches and partitions one list; on_children_known does the others.
    void partition(Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) override {
        const auto column = static_cast<size_t>(split.column);
        sorted_list_ = kNoList;
        if (context_.columns[column].is_code())
            assign_category_branches(column, node, split, sizes);
        else
            assign_number_branches(column, node, split, sizes);
        if (row_order_ != kNoList && row_order_ == sorted_list_) return;
        with_branches(sizes, [&](const auto& branch) { partition(node_entries(), node, sizes, branch.data()); });
    }
    void on_children_known(Segment node, const std::vector<int64_t>& sizes, const std::vector<uint8_t>& open) override {
        if (std::find(open.begin(), open.end(), 1) == open.end()) return;
        with_branches(sizes, [&](const auto& branch) {
            for (size_t c = 0; c < lists_.size(); ++c) {
                if (lists_[c].empty() || c == row_order_ || c == sorted_list_) continue;
                partition(lists_[c].data(), node, sizes, branch.data());
            }
        });
    }

private:
    uint32_t row_of(uint32_t entry) const {
        if constexpr (K == TargetKind::regression) return entry;
        return entry & mask_;
    }
    int64_t class_of(uint32_t entry) const { return entry >> bits_; }
    int64_t quantised_or_class(uint32_t entry) const {
        if constexpr (K == TargetKind::regression) return quantised_[row_of(entry)];
        return class_of(entry);
    }

    // -- setting up ---------------------------------------------------------------------------------------------------

    void read_targets() {
        const Target& target = context_.target;
        const size_t m = rows_.size();
        if (!context_.unit_weights) {
            weight_.resize(m);
            for (size_t i = 0; i < m; ++i) weight_[i] = target.weight[rows_[i]];
        }
        if constexpr (K == TargetKind::regression) {
            int64_t low = target.y[rows_[0]], high = low;
            int128 weights = 0;
            for (Row r : rows_) {
                low = std::min(low, target.y[r]), high = std::max(high, target.y[r]);
                weights += target.weight[r];
            }
            quantiser_ = Quantiser::of(low, high, weights, context_.settings.criterion == Criterion::poisson);
            quantised_.resize(m);
            for (size_t i = 0; i < m; ++i) quantised_[i] = quantiser_(target.y[rows_[i]], target.weight[rows_[i]]);
        }
        for (size_t i = 0; i < m; ++i) entries_[i] = entry_of(static_cast<uint32_t>(i));
    }
    // Any list can represent the rows of a node; reusing a column's list saves one.
    void choose_row_order() {
        for (size_t c = 0; c < lists_.size() && row_order_ == kNoList; ++c) {
            if (!lists_[c].empty()) row_order_ = c;
        }
        if (row_order_ != kNoList) entries_ = {};
    }
    uint32_t* node_entries() { return row_order_ == kNoList ? entries_.data() : lists_[row_order_].data(); }
    const uint32_t* node_entries() const { return row_order_ == kNoList ? entries_.data() : lists_[row_order_].data(); }

    uint32_t entry_of(uint32_t row) const {
        if constexpr (K == TargetKind::regression) return row;
        return static_cast<uint32_t>(context_.target.label[rows_[row]]) << bits_ | row;
    }
    void sort_numbers(size_t c) {
        keys_.resize(rows_.size());
        auto& list = lists_[c];
        read_keys(context_.columns[c], rows_, keys_.data());
        const auto [low, high] = std::minmax_element(keys_.begin(), keys_.end());
        if (*low == *high) return;  // no two values differ
        ++n_lists_;
        list.resize(rows_.size());
        std::iota(list.begin(), list.end(), 0u);
        sorter_.sort(keys_, list, check_interrupt_);
        auto& ranks = ranks_[c];
        ranks.resize(list.size());
        uint32_t rank = 0;
        for (uint32_t i = 0; i < list.size(); ++i) {
            rank += i > 0 && keys_[list[i]] != keys_[list[i - 1]];
            ranks[list[i]] = keys_[list[i]] == kMissingKey ? kMissingRank : rank;
        }
        traits_[c] = {*high == kMissingKey, rank > list.size() / 2};
        if constexpr (K != TargetKind::regression)
            for (uint32_t& e : list) e = entries_[e];
    }
    // Renumbers the levels that occur in the subtree, in order.
    void read_levels(size_t c) {
        LocalLevels& local = local_levels_[c];
        local.of_row.resize(rows_.size());
        keys_.resize(rows_.size());
        read_keys(context_.columns[c], rows_, keys_.data());
        const auto n_levels = to_index(context_.columns[c].n_levels);
        if (n_levels <= 4 * rows_.size() + 1024) {
            order_.assign(n_levels, 0);
            for (int64_t key : keys_) {
                if (key != kMissingKey) order_[to_index(key)] = 1;
            }
            for (size_t level = 0; level < n_levels; ++level) {
                if (!std::exchange(order_[level], static_cast<uint32_t>(local.codes.size()))) continue;
                local.codes.push_back(static_cast<int32_t>(level));
            }
            for (size_t i = 0; i < keys_.size(); ++i)
                local.of_row[i] =
                    keys_[i] == kMissingKey ? static_cast<uint32_t>(local.codes.size()) : order_[to_index(keys_[i])];
            return;
        }
        for (int64_t key : keys_) {
            if (key != kMissingKey) local.codes.push_back(static_cast<int32_t>(key));
        }
        std::sort(local.codes.begin(), local.codes.end());
        local.codes.erase(std::unique(local.codes.begin(), local.codes.end()), local.codes.end());
        for (size_t i = 0; i < keys_.size(); ++i) {
            const auto found = std::lower_bound(local.codes.begin(), local.codes.end(), keys_[i]);
            local.of_row[i] = static_cast<uint32_t>(found - local.codes.begin());  // missing: past the last
        }
    }
    void make_category_histogram() {
        std::vector<size_t> n_levels;
        for (LocalLevels& local : local_levels_) {
            if (local.codes.empty() || local.codes.size() > CategoryHistogram::kMaxLevels) continue;
            local.histogram_column = n_levels.size();
            n_levels.push_back(local.codes.size());
        }
        category_histogram_.reset(rows_.size(), n_levels);
        for (LocalLevels& local : local_levels_) {
            if (local.histogram_column == kNoList) continue;
            for (size_t i = 0; i < rows_.size(); ++i)
                category_histogram_.level(i, local.histogram_column) = static_cast<uint8_t>(local.of_row[i]);
            local.of_row = {};
        }
    }

    // -- scores -------------------------------------------------------------------------------------------

    void add_entry(int64_t* stats, uint32_t entry) const {
        const int64_t w = context_.unit_weights ? 1 : weight_[row_of(entry)];
        ++stats[kRows];
        stats[kWeight] += w;
        if constexpr (K == TargetKind::regression) {
            add_product(stats + kLimbs, w, y_[rows_[row_of(entry)]]);
            stats[kQuantised] += quantised_[row_of(entry)];
        } else {
            stats[kCounts + static_cast<size_t>(class_of(entry))] += w;
        }
    }

    // -- numbers ------------------------------------------------------------------------------------------------------

    int64_t key_at(size_t column, int64_t i) const {
        return key_of(context_.columns[column], rows_[row_of(lists_[column][to_index(i)])]);
    }
    uint32_t rank_at(size_t column, int64_t i) const { return ranks_[column][row_of(lists_[column][to_index(i)])]; }
    int64_t n_present(size_t column, Segment node) const {
        if (!traits_[column].has_missing || rank_at(column, node.end - 1) != kMissingRank) return node.size();
        int64_t low = node.begin, high = node.end - 1;  // the first missing row is in [low, high]
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (rank_at(column, middle) == kMissingRank)
                high = middle;
            else
                low = middle + 1;
        }
        return low - node.begin;
    }

    template <class Weight>
    void find_number_candidates(size_t column, Segment node, const Weight& weight) {
        if (lists_[column].empty()) return;
        const int64_t present = n_present(column, node);
        if (present == 0) return;
        const uint32_t* entries = lists_[column].data() + node.begin;
        std::fill(placement_.missing_stats.begin(), placement_.missing_stats.end(), 0);
        for (int64_t i = present; i < node.size(); ++i) add_entry(placement_.missing_stats.data(), entries[i]);
        const bool constant = !traits_[column].mostly_distinct &&
                              rank_at(column, node.begin) == rank_at(column, node.begin + present - 1);
        const auto target_of = [&](int64_t i) { return quantised_or_class(entries[i]); };
        const auto differs = differs_in(column, node);
        placement_.for_each_placement(column, *node_total_, categories_, filter_, [&](const RunContext& run) {
            if (constant) return;
            if constexpr (requires { Weight::unit_weights; })
                sorted_scan_.scan(run, present - 1, target_of, weight, differs, filter_);
            else
                sorted_scan_.scan(
                    run, present - 1, target_of, [&](int64_t i) { return weight(entries[i]); }, differs, filter_);
        });
    }
    auto differs_in(size_t column, Segment node) const {
        return [this, column, node](int64_t i) {
            return rank_at(column, node.begin + i - 1) != rank_at(column, node.begin + i);
        };
    }
    Bucket number_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        if (lists_[column].empty()) return {};
        const uint32_t* entries = lists_[column].data() + node.begin;
        const SortedRows rows{n_present(column, node), node.size(),
                              [&](int64_t* stats, int64_t i) { add_entry(stats, entries[i]); },
                              differs_in(column, node), [&](int64_t i) { return key_at(column, node.begin + i); }};
        return cut_buckets_.fill(rows, filter_disabled_ ? nullptr : &filter_, column, *node_total_, out);
    }

    // -- categories ---------------------------------------------------------------------------------------------------

    struct LocalLevels {
        std::vector<int32_t> codes;         // codes that occur
        std::vector<uint32_t> of_row;       // index into codes by row; codes.size() if missing …
        size_t histogram_column = kNoList;  // … or the column in category_histogram_
    };
    uint32_t level_of(const LocalLevels& local, uint32_t row) const {
        return local.histogram_column == kNoList ? local.of_row[row]
                                                 : category_histogram_.level(row, local.histogram_column);
    }

    void fill_category_histogram(Segment node) {
        const uint32_t* entries = node_entries();
        const int64_t piece = std::max<int64_t>(1, (1 << 20) / static_cast<int64_t>(category_histogram_.width()));
        category_histogram_.clear();
        for (int64_t begin = node.begin; begin < node.end; begin += piece) {
            if (begin > node.begin) check_interrupt_();
            category_histogram_.count(
                to_index(begin), to_index(std::min(node.end, begin + piece)),
                [&](size_t i) { return row_of(entries[i]); }, [&](size_t i) { return class_of(entries[i]); });
        }
    }
    auto category_rows(size_t column, Segment node) {
        const LocalLevels& local = local_levels_[column];
        const uint32_t* entries = node_entries() + node.begin;
        return CategoryRows{node.size(),
                            local.codes.size(),
                            [=, this, &local](int64_t i) { return level_of(local, row_of(entries[i])); },
                            [=, this](int64_t* stats, int64_t i) { add_entry(stats, entries[i]); },
                            [=, this](int64_t i) { return rows_[row_of(entries[i])]; },
                            [this, &local](CategoryCounts& counts) {  // counted in find_contending_columns
                                if (local.histogram_column == kNoList) return false;
                                counts.unpack(category_histogram_.counts(local.histogram_column));
                                return true;
                            },
                            [&local](size_t level) { return int64_t{local.codes[level]}; }};
    }

    void assign_category_branches(size_t column, Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) {
        const LocalLevels& local = local_levels_[column];
        branch_of_.resize(local.codes.size() + 1);
        for (size_t l = 0; l < local.codes.size(); ++l) branch_of_[l] = split.branch(local.codes[l]);
        branch_of_.back() = static_cast<uint32_t>(split.missing_branch);
        with_branches(sizes, [&]<class Branch>(std::vector<Branch>& branch) {
            for (int64_t i = node.begin; i < node.end; ++i) {
                const uint32_t row = row_of(node_entries()[to_index(i)]), b = branch_of_[level_of(local, row)];
                branch[row] = static_cast<Branch>(b);
                ++sizes[b];
            }
        });
    }
    // The list is sorted: the cut is found by binary search, and branches follow from positions. Unless missing rows go
    // left, the list itself stays in place; if it is the only one, nothing moves at all.
    void assign_number_branches(size_t column, Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) {
        const uint32_t* entries = lists_[column].data() + node.begin;
        const int64_t present = n_present(column, node), n = node.size();
        int64_t low = 0, high = present;  // the first row of branch 1 is in [low, high]
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (key_at(column, node.begin + middle) <= split.max_left_rank)
                low = middle + 1;
            else
                high = middle;
        }
        sizes[0] += low, sizes[1] += present - low;
        if (present < n) sizes[to_index(split.missing_branch)] += n - present;
        if (present == n || split.missing_branch > 0) sorted_list_ = column;
        if (sorted_list_ == column && row_order_ == column && n_lists_ == 1) return;
        with_branches(sizes, [&]<class Branch>(std::vector<Branch>& branch) {
            const uint32_t mask = mask_;
            Branch* branches = branch.data();
            for (int64_t i = 0; i < low; ++i) branches[entries[i] & mask] = 0;
            for (int64_t i = low; i < present; ++i) branches[entries[i] & mask] = 1;
            for (int64_t i = present; i < n; ++i)
                branches[entries[i] & mask] = static_cast<Branch>(split.missing_branch);
        });
    }

    // The branch of each row of the node being split: bytes, unless there are too many branches.
    template <class Work>
    void with_branches(const std::vector<int64_t>& sizes, const Work& work) {
        const bool few = sizes.size() <= 256;
        few ? branch_.resize(rows_.size()) : wide_branch_.resize(rows_.size());
        few ? work(branch_) : work(wide_branch_);
    }
    // Stable partition of a list.
    template <class Branch>
    void partition(uint32_t* list, Segment node, const std::vector<int64_t>& sizes, const Branch* branches) {
        uint32_t* entries = list + node.begin;
        const int64_t n = node.size();
        const uint32_t mask = mask_;  // local copy: the compiler cannot rule out that the stores below alias the member
        if (sizes.size() == 2) {
            uint32_t* spare = buffer_.data();
            size_t left = 0, right = 0;
            for (int64_t i = 0; i < n; ++i) {
                const uint32_t e = entries[i], branch = branches[e & mask];
                entries[left] = e;
                spare[right] = e;
                left += 1 - branch;
                right += branch;
            }
            std::copy_n(buffer_.begin(), right, entries + left);
            return;
        }
        start_.resize(sizes.size());
        std::exclusive_scan(sizes.begin(), sizes.end(), start_.begin(), int64_t{0});
        for (int64_t i = 0; i < n; ++i) buffer_[to_index(start_[branches[row_of(entries[i])]]++)] = entries[i];
        std::copy_n(buffer_.begin(), n, entries);
    }

    const FitContext& context_;
    std::vector<Row> rows_;  // indices in the table
    size_t width_;
    int bits_;  // bits of an entry that hold the row
    uint32_t mask_;
    ScoreBounds<K> score_bounds_;
    CheckInterrupt check_interrupt_;
    SortedScan<K> sorted_scan_;
    CategoryScan<K> categories_;
    Quantiser quantiser_;
    std::vector<int64_t> weight_, quantised_;
    std::vector<uint32_t> entries_;
    std::vector<std::vector<uint32_t>> lists_;  // one per numeric column; empty if its values are all equal
    std::vector<std::vector<uint32_t>> ranks_;  // rank of each row's value within the subtree
    struct Traits {
        bool has_missing = false;
        bool mostly_distinct = false;  // a constant node is then too rare to check for
    };
    std::vector<Traits> traits_;
    std::vector<LocalLevels> local_levels_;
    CategoryHistogram category_histogram_;
    std::vector<uint8_t> branch_;
    std::vector<uint32_t> wide_branch_;
    static constexpr int64_t kManyRows = 1 << 14;  // enough to take noticeable time per column
    static constexpr size_t kNoList = ~size_t{0};
    size_t n_lists_ = 0;
    size_t row_order_ = kNoList;    // the list that represents the rows of nodes; kNoList: entries_ does
    size_t sorted_list_ = kNoList;  // the list that the current split leaves sorted

    CandidateFilter filter_;
    bool filter_disabled_ = false;  // all cuts are needed, not just the surviving ones
    const RowStats* node_total_ = nullptr;
    const int64_t* y_ = nullptr;

    // scratch
    KeySorter sorter_;
    std::vector<int64_t> keys_, start_;
    std::vector<uint32_t> buffer_, order_, branch_of_;
    std::vector<Row> row_buffer_;
    NodeCategories<K> node_categories_;
    MissingPlacement<K> placement_;
    CutBuckets cut_buckets_;
};

extern template class SubtreeEngine<TargetKind::binary>;  // in engines/subtree.cpp
extern template class SubtreeEngine<TargetKind::multiclass>;
extern template class SubtreeEngine<TargetKind::regression>;

}  // namespace treewise
