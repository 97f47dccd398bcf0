// Presorted engine: proposes every candidate of every column, from columns that are sorted once and stay sorted.
//
// search/exact_splitter.hpp then evaluates all candidates in integers, and the tests compare the trees of the other
// engines with its trees. Only for absolute error, which has no approximate impurity that could be bounded, does it
// filter: one sweep per column finds the errors of all cuts (search/median_sweep.hpp).
//
// Values are ranked once per column (equal values share a rank), and a node is a segment [begin, end) of every list.
// Splitting moves rows stably within the segment, so the children are adjacent segments that are still sorted:
//
//     column 0   [ … | b d a f e c | … ]        branch of:  a 0  b 1  c 0  d 0  e 1  f 0
//                          ▼
//                [ … | d a f c | b e | … ]      child 0, child 1: each in column 0's order
//
// Missing rows are at the end of a segment with rank kMissingRank. One additional list holds the rows themselves.

#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "problem/sort_keys.hpp"
#include "search/candidate_filter.hpp"
#include "search/median_sweep.hpp"
#include "util/key_sorter.hpp"

namespace treewise {

class PresortedEngine : public SplitEngine {
public:
    // by_target: the rows of each node are listed in ascending order of their targets. sweeps: cuts are filtered by
    // their absolute errors.
    PresortedEngine(const std::vector<Column>& columns, const Target& target, const Settings& settings, bool by_target,
                    bool sweeps, const std::function<void()>& check_interrupt)
        : check_interrupt_(check_interrupt),
          settings_(settings),
          target_(target),
          table_columns_(columns),
          n_rows_(target.n_rows),
          order_(columns.size() + 1),
          rank_(columns.size()),
          numbers_(columns.size()),
          integers_(columns.size()),
          scratch_(n_rows_),
          branch_(n_rows_),
          is_swept_(columns.size(), 0) {
        if (n_rows_ >= static_cast<int64_t>(kMissingRank)) throw std::length_error("more than 4,294,967,294 rows");
        for (size_t c = 0; c < columns.size(); ++c) {
            rank(columns[c], c);
            check_interrupt_();
        }
        order_.back().resize(n_rows_);
        std::iota(order_.back().begin(), order_.back().end(), Row{0});
        const int64_t* y = target.y;
        if (by_target) sort_rows([y](Row a, Row b) { return y[a] < y[b]; }, order_.back());
        if (sweeps && has_similar_weights()) sweep_.emplace(target);
    }

    Segment all() const override { return {0, n_rows_}; }
    std::span<const Row> rows(Segment node) override {
        return {order_.back().data() + node.begin, static_cast<size_t>(node.size())};
    }
    bool has_stats() const override { return false; }
    void set_targets(const int64_t* y) override { y_ = y; }
    const std::vector<size_t>& find_contending_columns(Segment node, const RowStats&,
                                                       const std::vector<size_t>& columns, uint64_t) override {
        columns_.clear();
        std::fill(is_swept_.begin(), is_swept_.end(), 0);
        if (sweep_ && sweep_columns(node, columns)) return filter_.finish();
        for (size_t c : columns) {
            if (!is_constant(c, node)) columns_.push_back(c);
        }
        return columns_;
    }

    // Fills the buckets of a column in a node's segment; returns its missing rows.
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        const Row* row = order_[column].data() + node.begin;
        const Row* last = order_[column].data() + node.end;
        const uint32_t* rank = rank_[column].data();
        out.clear();
        if (is_swept_[column]) return buckets_between_cuts(column, row, node.size(), out);
        while (row != last && rank[*row] != kMissingRank) {
            const uint32_t r = rank[*row];
            const Row* first = row;
            while (row != last && rank[*row] == r) ++row;
            out.push_back({first, row, nullptr, r, r, static_cast<int64_t>(out.size())});
        }
        return {row, last};
    }
    bool disable_filter() override {
        if (!sweep_) return false;
        std::fill(is_swept_.begin(), is_swept_.end(), 0);
        return true;
    }
    int64_t n_cuts(size_t column, Segment node) override {
        std::vector<Bucket> runs;
        buckets(column, node, runs);
        return static_cast<int64_t>(runs.size()) - 1;
    }
    double to_double(size_t column, int64_t rank) const override { return numbers_[column][rank]; }
    int64_t to_int(size_t column, int64_t rank) const override { return integers_[column][rank]; }

    // Send a node's rows to their branches; sizes counts them.
    void partition(Segment node, const ChosenSplit& split, std::vector<int64_t>& sizes) override {
        const uint32_t* rank = rank_[split.column].data();
        for (Row row : rows(node)) {
            branch_[row] =
                rank[row] == kMissingRank ? static_cast<uint32_t>(split.missing_branch) : split.branch(rank[row]);
            ++sizes[branch_[row]];
        }
        for (auto& list : order_) {
            Row* entries = list.data() + node.begin;
            sizes.size() == 2 ? part_in_two(entries, node.size()) : part(entries, node.size(), sizes);
            check_interrupt_();
        }
    }

private:
    // Stably moves rows to their branches.
    void part(Row* entries, int64_t n, const std::vector<int64_t>& sizes) {
        std::vector<int64_t> start(sizes.size());
        std::exclusive_scan(sizes.begin(), sizes.end(), start.begin(), int64_t{0});
        for (int64_t i = 0; i < n; ++i) scratch_[start[branch_[entries[i]]]++] = entries[i];
        std::copy_n(scratch_.data(), n, entries);
    }
    void part_in_two(Row* entries, int64_t n) {
        int64_t left = 0, right = 0;
        for (int64_t i = 0; i < n; ++i) {
            const Row row = entries[i];
            entries[left] = scratch_[right] = row;
            right += branch_[row], left += 1 - branch_[row];
        }
        std::copy_n(scratch_.data(), right, entries + left);
    }
    // A step of the sweep passes links of as much weight as the row that it removes.
    bool has_similar_weights() const {
        constexpr int64_t kMaxRatio = 64;
        int64_t low = target_.weight[0], high = low;
        for (size_t r = 1; r < to_index(n_rows_); ++r)
            low = std::min(low, target_.weight[r]), high = std::max(high, target_.weight[r]);
        return high / kMaxRatio <= low;
    }
    // Offers the cuts of all columns to the filter; returns false if no cut meets the leaf limits. Categories and
    // columns with missing values have other candidates besides; all of these are evaluated.
    bool sweep_columns(Segment node, const std::vector<size_t>& columns) {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        std::span<const Row> by_target = rows(node);
        const auto in_order = [&](Row a, Row b) { return y_[a] < y_[b]; };
        if (y_ != target_.y && !std::is_sorted(by_target.begin(), by_target.end(), in_order)) {  // units of its own
            sorted_rows_.assign(by_target.begin(), by_target.end());
            sort_rows(in_order, sorted_rows_);
            by_target = sorted_rows_;
        }
        sweep_->begin_node(by_target, y_);
        filter_.begin_node(false, order_.size());
        bool any = false;
        for (size_t c : columns) {
            if (is_constant(c, node)) continue;
            const Row* order = order_[c].data() + node.begin;
            if (table_columns_[c].is_code() || rank_[c][order[node.size() - 1]] == kMissingRank) {
                filter_.offer(static_cast<int32_t>(c), 0, -kInf, kInf);
                any = true;
                continue;
            }
            is_swept_[c] = 1;
            any |= offer_cuts(c, order, node.size());
            if (node.size() > kManyRows) check_interrupt_();
        }
        if (!any) std::fill(is_swept_.begin(), is_swept_.end(), 0);
        return any;
    }
    bool offer_cuts(size_t column, const Row* order, int64_t n) {
        sweep_->sweep([order](uint32_t k) { return order[k]; });
        const int64_t* errors = sweep_->errors();
        const uint32_t* rank = rank_[column].data();
        const int64_t min_rows = std::max<int64_t>(1, settings_.min_samples_leaf),
                      min_weight = settings_.min_leaf_weight;
        int64_t all = 0, left = 0;
        if (min_weight > 1)
            for (int64_t i = 0; i < n; ++i) all += target_.weight[order[i]];
        // What may win by so much more than the best one: of exact errors only the first of the smallest.
        const int64_t tolerance = sweep_->tolerance();
        int64_t smallest = std::numeric_limits<int64_t>::max();
        cuts_.clear();
        for (int64_t k = 0; k + min_rows < n; ++k) {
            if (min_weight > 1) left += target_.weight[order[k]];
            if (k + 1 < min_rows || rank[order[k]] == rank[order[k + 1]]) continue;
            if (tolerance ? errors[k] - smallest > 2 * tolerance : errors[k] >= smallest) continue;
            if (min_weight > 1 && (left < min_weight || all - left < min_weight)) continue;
            smallest = std::min(smallest, errors[k]);
            if (!tolerance) cuts_.clear();
            cuts_.push_back(k);
        }
        for (int64_t k : cuts_) {
            const double score = -static_cast<double>(errors[k]);
            const double slack = static_cast<double>(tolerance) - score * 0x1p-50;
            filter_.offer(static_cast<int32_t>(column), k + 1, score - slack, score + slack);
        }
        return !cuts_.empty();
    }
    Bucket buckets_between_cuts(size_t column, const Row* order, int64_t n, std::vector<Bucket>& out) {
        filter_.list_cuts(column, cuts_);
        cuts_.push_back(n);
        const uint32_t* rank = rank_[column].data();
        const Row* first = order;
        for (int64_t cut : cuts_) {
            const Row* last = order + cut;
            out.push_back({first, last, nullptr, rank[*first], rank[last[-1]], cut});
            first = last;
        }
        return {first, first};
    }

    bool is_constant(size_t column, Segment node) const {  // no two values differ
        return rank_[column][order_[column][node.begin]] == rank_[column][order_[column][node.end - 1]];
    }

    void rank(const Column& column, size_t c) {
        auto& order = order_[c];
        auto& ranks = rank_[c];
        order.resize(n_rows_);
        ranks.resize(n_rows_);
        if (column.is_code()) return rank_codes(column, order, ranks);
        std::iota(order.begin(), order.end(), Row{0});
        std::vector<int64_t> keys(order.size());
        read_keys(column, order, keys.data());
        KeySorter().sort(keys, order, check_interrupt_);
        std::vector<int64_t> distinct;
        for (Row row : order) {
            const bool is_missing = keys[row] == kMissingKey;
            if (!is_missing && (distinct.empty() || distinct.back() != keys[row])) distinct.push_back(keys[row]);
            ranks[row] = is_missing ? kMissingRank : static_cast<uint32_t>(distinct.size() - 1);
        }
        for (int64_t key : distinct)
            column.is_number() ? numbers_[c].push_back(key_to_double(key)) : integers_[c].push_back(key_to_int(key));
    }

    template <class Less>
    void sort_rows(const Less& less, std::span<Row> rows) {
        std::sort(rows.begin(), rows.end(), [&, n_compared = size_t{0}](Row a, Row b) mutable {
            if (++n_compared % (1 << 20) == 0) check_interrupt_();
            return less(a, b);
        });
    }

    void rank_codes(const Column& column, std::vector<Row>& order, std::vector<uint32_t>& ranks) {
        std::vector<int64_t> start(column.n_levels + 2, 0);  // counting sort; missing last
        const auto codes = column.view<int32_t>();
        const auto slot = [&](Row r) { return codes[r] < 0 ? column.n_levels : codes[r]; };
        for (Row r = 0; r < n_rows_; ++r) ++start[slot(r) + 1];
        std::inclusive_scan(start.begin(), start.end(), start.begin());
        for (Row r = 0; r < n_rows_; ++r) {
            order[start[slot(r)]++] = r;
            ranks[r] = codes[r] < 0 ? kMissingRank : static_cast<uint32_t>(codes[r]);
        }
    }

    static constexpr int64_t kManyRows = 1 << 12;  // whose sweep takes noticeable time

    const std::function<void()>& check_interrupt_;
    const Settings& settings_;
    const Target& target_;
    const std::vector<Column>& table_columns_;
    int64_t n_rows_;
    std::vector<std::vector<Row>> order_;       // one list per column, and the rows themselves
    std::vector<std::vector<uint32_t>> rank_;   // by row; a category's rank is its code
    std::vector<std::vector<double>> numbers_;  // rank → value
    std::vector<std::vector<int64_t>> integers_;
    std::vector<Row> scratch_;
    std::vector<size_t> columns_;
    std::vector<uint32_t> branch_;

    // absolute error
    std::optional<MedianSweep> sweep_;
    CandidateFilter filter_;
    const int64_t* y_ = nullptr;     // of the current node
    std::vector<uint8_t> is_swept_;  // whether a column's cuts were filtered at the current node
    std::vector<Row> sorted_rows_;
    std::vector<int64_t> cuts_;
};

}  // namespace treewise
