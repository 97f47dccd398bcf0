// Exact split finder: scores in integers what the engine's filter has left, one scan per split kind; returns the best.
//
// A scan takes a column's buckets (runs of rows that none of these candidates separates, in order), moves them between
// statistics objects (criteria/exact_impurity.hpp) and offers each candidate to search/best_split.hpp. It does not
// depend on the criterion, on the engine that produced the buckets, or on how ties are broken. train/reference.py
// enumerates the same candidates in Python; tests compare the two.

#pragma once

#include <functional>
#include <span>
#include <vector>

#include "criteria/exact_impurity.hpp"
#include "criteria/leaf_value.hpp"
#include "criteria/price.hpp"
#include "engines/engine.hpp"
#include "search/best_split.hpp"
#include "search/c45.hpp"
#include "search/constraints.hpp"
#include "search/independence.hpp"
#include "search/midpoint.hpp"
#include "search/node_columns.hpp"
#include "search/random_cut.hpp"
#include "search/rare_levels.hpp"
#include "search/two_way_splits.hpp"

namespace treewise {

template <class Impurity>
class ExactSplitter : private TwoWaySplits<ExactSplitter<Impurity>> {
    friend class TwoWaySplits<ExactSplitter<Impurity>>;

public:
    ExactSplitter(NodeContext& node_context, SplitEngine& engine, const std::vector<Column>& columns,
                  const Settings& settings, int64_t total_weight)
        : node_total(node_context),
          node_context_(node_context),
          engine_(engine),
          columns_(columns),
          settings_(settings),
          total_weight_(total_weight),
          is_monotone_(is_any_monotone(columns)),
          has_feature_costs_(has_feature_costs(columns)),
          left_(node_context),
          right_(node_context),
          missing_side_(node_context),
          node_columns_(columns, settings),
          test_selection_(node_context, columns, settings),
          best_(settings.random_ties) {}

    Impurity node_total;  // statistics of the node; filled by the caller

    // Returns the reason for a leaf, or kNone with the winner in `split`. stats: the node's statistics, if the engine
    // has them.
    StopReason find_best_split(Segment node, const RowStats& stats, uint64_t node_key,
                               const NodeConstraints& constraints, ChosenSplit& split,
                               const std::function<void()>& check_interrupt) {
        node_key_ = node_key, constraints_ = constraints;
        check_interrupt_ = &check_interrupt;
        node_impurity_ = node_total.total_impurity();
        if (settings_.selection == Selection::priced)
            node_price_.begin_node(
                node_total, node_context_,
                settings_.criterion == Criterion::squared_error ? engine_.rows(node) : std::span<const Row>{});
        c45_columns_.begin_node();
        best_.begin_node(node_key_);
        any_candidate_ = any_forbidden_ = false;
        unfiltered_columns_.clear(), feature_cost_ = 0;
        bool has_more = node_columns_.begin_node(node_key, constraints);
        size_t n_tried = 0;
        if (settings_.selection == Selection::test) {
            n_tried = search_by_test(node, stats, has_more);
            if (test_selection_.yielded_columns().empty())
                return test_selection_.any_tested()   ? kNotSignificant
                       : node_columns_.excludes_any() ? kConstraints
                                                      : kNoCandidate;
        } else {
            for (;; has_more = node_columns_.sample_next()) {
                n_tried = search_columns(node, stats, node_columns_.list());
                if (!has_more || has_eligible()) break;
            }
        }
        if (settings_.rule == Rule::c45)
            c45_columns_.select(
                node_total.weight, node_total.rows, [this](int128 gain, int128 sum) { return ratio(gain, sum); },
                best_);
        if (!best_.has_candidate())
            return any_forbidden_ || node_columns_.excludes_any() ? kConstraints
                   : has_any_candidate(node)                      ? kMinSamplesLeaf
                                                                  : kNoCandidate;
        const Candidate winner = best_.winner();
        if (gain_too_small(winner)) return kMinImpurityDecrease;
        // Otherwise its buckets are still loaded. With costs, a later search may have overwritten the rows in them.
        if (n_tried > 1 || has_feature_costs_ || has_pool_) load_winner(winner, node, stats);
        if (pools(static_cast<SplitKind>(winner.order.kind))) pool_rare_levels();
        fill_chosen_split(winner, split);
        return kNone;
    }

    // Selection::test: the smallest adjusted p-value of the last node; NaN if no column could be tested.
    double p_value() const { return test_selection_.p_value(); }

private:
    // Searches columns; returns the number of those with candidates that may win. Columns of different costs are
    // searched separately, since the engine compares gains without costs.
    size_t search_columns(Segment node, const RowStats& stats, const std::vector<size_t>& columns) {
        if (!has_feature_costs_) return search_columns_of_equal_cost(node, stats, columns);
        size_t n_tried = 0;
        for (const auto& [cost, group] : group_by_feature_cost(columns_, columns, constraints_)) {
            feature_cost_ = node_context_.to_total_impurity(cost, node_total.weight);
            n_tried += search_columns_of_equal_cost(node, stats, group);
        }
        return n_tried;
    }
    // A forbidden candidate may keep the engine from proposing the best of the others. All candidates of its column are
    // then scanned, and the other columns are searched again.
    size_t search_columns_of_equal_cost(Segment node, const RowStats& stats, const std::vector<size_t>& columns) {
        size_t n_tried = search_filtered(node, stats, columns);
        // The engine compares gains per branch, which a cost puts into another order.
        if (feature_cost_ != 0 && settings_.gain_per_branch && engine_.disable_filter())
            return scan_unfiltered(node, columns), columns.size();
        if (best_.beats_forbidden() || !engine_.disable_filter()) return n_tried;
        for (std::vector<size_t> others = columns; !best_.beats_forbidden(); n_tried = columns_.size()) {
            const std::vector<size_t> forbidden = best_.take_forbidden_columns();
            std::erase_if(others, [&](size_t c) { return std::ranges::find(forbidden, c) != forbidden.end(); });
            scan_unfiltered(node, forbidden);
            if (!others.empty()) search_filtered(node, stats, others);
        }
        return n_tried;
    }
    void scan_unfiltered(Segment node, const std::vector<size_t>& columns) {
        engine_.disable_filter();
        scan_columns(node, columns);
        unfiltered_columns_.insert(unfiltered_columns_.end(), columns.begin(), columns.end());
        best_.clear_forbidden();
    }
    size_t search_filtered(Segment node, const RowStats& stats, const std::vector<size_t>& columns) {
        const std::vector<size_t>& found = engine_.find_contending_columns(node, stats, columns, node_key_);
        scan_columns(node, found);
        return found.size();
    }
    void scan_columns(Segment node, const std::vector<size_t>& columns) {
        for (size_t c : columns) {
            load_column(c, node);
            scan_column();
            if (settings_.rule == Rule::c45) c45_keep_column_best(node);
            if (node.size() >= kManyRows) (*check_interrupt_)();
        }
    }
    bool has_eligible() const { return best_.has_candidate() || !c45_columns_.empty(); }

    // Selection::test: tests the sampled columns, more until one can be tested, and scans the significant ones, one at
    // a time, until one has a candidate.
    size_t search_by_test(Segment node, const RowStats& stats, bool has_more) {
        test_selection_.begin_node(engine_.rows(node), node_total.weight, node_key_);
        for (;; has_more = node_columns_.sample_next()) {
            for (size_t c : node_columns_.list()) {
                test_selection_.test(c);
                if (node.size() >= kManyRows) (*check_interrupt_)();
            }
            if (!has_more || test_selection_.any_tested()) break;
        }
        size_t n_tried = 0;
        while (!has_eligible() && test_selection_.next())
            n_tried = search_columns(node, stats, {test_selection_.yielded_columns().back()});
        return n_tried;
    }

    // Constraints search in several steps, and the engine filters the columns of the last one alone.
    void load_winner(const Candidate& winner, Segment node, const RowStats& stats) {
        const auto column = static_cast<size_t>(winner.order.column);
        if (std::ranges::find(unfiltered_columns_, column) != unfiltered_columns_.end())
            engine_.disable_filter();
        else if (has_feature_costs_ || !unfiltered_columns_.empty())
            engine_.find_contending_columns(node, stats, {column}, node_key_);
        load_column(column, node);
    }

    // -- one column at one node ---------------------------------------------------------------------------------------

    void load_column(size_t column, Segment node) {
        column_ = column;
        missing_bucket_ = engine_.buckets(column, node, buckets_);
        has_pool_ = false;
        missing_side_.clear();
        add(missing_bucket_, missing_side_);
        separates_missing_ =
            settings_.missing_branch && n_missing() && missing_side_.valid() && meets_limits(missing_side_);
    }
    // Whether there was any candidate, including those that violate a limit (engines drop those unless cuts are
    // random). Distinct values are not enough for Poisson (both branches need a positive sum), nor if they are pooled.
    bool has_any_candidate(Segment node) {
        if (any_candidate_ || !engine_.has_stats() || settings_.random_cuts) return any_candidate_;
        if (settings_.criterion != Criterion::poisson && settings_.min_level_rows <= 1)
            return engine_.is_splittable(node);
        engine_.disable_filter();
        const bool selects_by_test = settings_.selection == Selection::test;
        for (size_t i = 0;
             i < (selects_by_test ? test_selection_.yielded_columns().size() : columns_.size()) && !any_candidate_; ++i)
            load_column(selects_by_test ? test_selection_.yielded_columns()[i] : i, node), scan_column();
        return any_candidate_;
    }

    int64_t n_missing() const { return missing_side_.rows; }

    static void add(const Bucket& bucket, Impurity& side) {
        if constexpr (requires { side.add(bucket.stats); }) {
            if (bucket.stats) return side.add(bucket.stats);
        }
        if constexpr (requires { side.add(bucket.first, bucket.last); }) return side.add(bucket.first, bucket.last);
        for (const Row* r = bucket.first; r != bucket.last; ++r) side.add(*r);
    }
    static void sub(const Bucket& bucket, Impurity& side) {
        if constexpr (requires { side.sub(bucket.stats); }) {
            if (bucket.stats) return side.sub(bucket.stats);
        }
        if constexpr (requires { side.sub(bucket.first, bucket.last); }) return side.sub(bucket.first, bucket.last);
        for (const Row* r = bucket.first; r != bucket.last; ++r) side.sub(*r);
    }

    void scan_column() {
        if (buckets_.empty()) return;
        for (SplitKind kind : columns_[column_].kinds) {
            if (pools(kind)) pool_rare_levels();
            price_ = node_price_.price(naming_bits(settings_, kind, buckets_.size(), node_price_.classes()));
            if (settings_.random_cuts && kind != kMultiway) {
                scan_random(kind);
                continue;
            }
            switch (kind) {
                case kThreshold:
                case kOrdinal: this->scan_thresholds(kind); break;
                case kOneValue: this->scan_one_values(); break;
                case kSubset: this->scan_subsets(); break;
                case kMultiway: scan_multiway(); break;
                default: break;
            }
        }
        price_ = {};
        if (n_missing()) scan_presence();
    }

    // Joins the levels of few rows into one bucket, the last, which no test names. Kinds that use the order of the
    // levels come before those that pool.
    bool pools(SplitKind kind) const { return !has_pool_ && pools_rare_levels(settings_, columns_[column_], kind); }
    void pool_rare_levels() {
        has_pool_ =
            rare_levels_.join(buckets_, settings_.min_level_rows, columns_[column_].n_levels, stats_width(n_classes()));
    }

    // -- what TwoWaySplits needs --------------------------------------------------------------------------------------

    size_t n_buckets() const { return buckets_.size(); }
    size_t n_nameable() const { return buckets_.size() - has_pool_; }
    int64_t position(size_t i) const { return buckets_[i].position; }
    int64_t n_classes() const { return node_context_.target.n_classes; }
    int64_t weight() const { return node_total.weight; }
    int64_t class_weight(int64_t cls) const {
        if constexpr (requires { node_total.counts(); }) return node_total.counts()[static_cast<size_t>(cls)];
        return 0;
    }
    Rate rate(size_t i, int64_t cls) {
        load_bucket(buckets_[i]);
        return treewise::rate(left_, cls);
    }
    void move_left(size_t i) { move(buckets_[i], right_, left_); }
    void move_right(size_t i) { move(buckets_[i], left_, right_); }
    // Puts all rows on the right and the missing ones as the placement says: 0 left, 1 right; or into their own branch.
    int placements() const { return n_missing() && !separates_missing_ ? 2 : 1; }
    void start_placement(int placement) {
        left_.clear();
        right_.assign(node_total);
        if (!n_missing() || (placement == 1 && !separates_missing_)) return;
        sub(missing_bucket_, right_);
        if (!separates_missing_) add(missing_bucket_, left_);
    }
    void move(const Bucket& bucket, Impurity& from, Impurity& to) {
        count_moved(bucket);
        sub(bucket, from);
        add(bucket, to);
    }

    void count_moved(const Bucket& bucket) {
        if ((rows_since_check_ += 1 + (bucket.last - bucket.first)) < kManyRows) return;
        rows_since_check_ = 0;
        (*check_interrupt_)();
    }

    void scan_multiway() {
        if (n_nameable() == 0) return;
        SplitTotals all;
        int unfit = 0, invalid = 0, forbidden = 0;
        std::vector<SplitTotals> separate(buckets_.size());
        for (size_t i = 0; i < buckets_.size(); ++i) {
            load_bucket(buckets_[i]);
            add_branch(separate[i], left_);
            all.total += separate[i].total;
            all.nlogn_sum += separate[i].nlogn_sum;
            unfit += !separate[i].meets_limits;
            invalid += !separate[i].valid;
            forbidden += !separate[i].allowed;
        }
        all.n_filled = static_cast<int>(buckets_.size());
        if (!n_missing() || separates_missing_) {
            all.meets_limits = unfit == 0;
            all.valid = invalid == 0;
            all.allowed = forbidden == 0;
            if (separates_missing_) add_branch(all, missing_side_);
            offer(all, {0, kMultiway, 0, 0});
            return;
        }
        for (size_t i = 0; i < buckets_.size(); ++i) {  // the missing rows join branch i
            load_bucket(buckets_[i]);
            add_missing(left_);
            SplitTotals joined;
            add_branch(joined, left_);
            SplitTotals t = all;
            t.total += joined.total - separate[i].total;
            t.nlogn_sum += joined.nlogn_sum - separate[i].nlogn_sum;
            t.meets_limits = joined.meets_limits && unfit - !separate[i].meets_limits == 0;
            t.valid = joined.valid && invalid - !separate[i].valid == 0;
            t.allowed = joined.allowed && forbidden - !separate[i].allowed == 0;
            offer(t, {0, kMultiway, 0, static_cast<int64_t>(i)});
        }
    }

    // Adds the missing rows (missing_side_) to a side; by their sums, if the criterion can merge.
    void add_missing(Impurity& side) {
        if constexpr (requires { side.merge(missing_side_); }) {
            side.merge(missing_side_);
        } else {
            count_moved(missing_bucket_);
            add(missing_bucket_, side);
        }
    }

    // One random split of the kind.
    void scan_random(SplitKind kind) {
        if (buckets_.size() < 2) return;
        const int64_t position = draw_random_split(kind);
        for (int placement = 0; placement < placements(); ++placement) {
            start_placement(placement);
            for (size_t i = 0; i < buckets_.size(); ++i) {
                if (goes_left_[i]) move(buckets_[i], right_, left_);
            }
            offer_two(kind, position, placement);
        }
    }
    // Fills goes_left_; returns the position of the split among those of its kind.
    int64_t draw_random_split(SplitKind kind) {
        const uint64_t random = split_key(node_key_, column_, kind);
        const size_t n = buckets_.size();
        if (kind == kSubset) {
            random_subset(random, n, goes_left_);
            return 0;
        }
        size_t index = uniform_below(random, kind == kOrdinal ? n - 1 : n_nameable());
        if (kind == kThreshold) {
            index = 0;
            const RandomCut cut = random_cut();
            while (cut.is_above(buckets_[index + 1].low)) ++index;
        }
        goes_left_.assign(n, 0);
        std::fill(goes_left_.begin() + (kind == kOneValue ? static_cast<int64_t>(index) : 0),
                  goes_left_.begin() + static_cast<int64_t>(index) + 1, 1);
        return kind == kThreshold ? 0 : static_cast<int64_t>(index);
    }
    RandomCut random_cut() const {
        return {engine_, columns_[column_], column_, node_key_, buckets_.front().low, buckets_.back().high};
    }

    void scan_presence() {
        left_.clear();
        right_.assign(node_total);
        move(missing_bucket_, right_, left_);
        SplitTotals t;
        add_branch(t, left_);
        add_branch(t, right_);
        offer(t, {0, kPresence, 0, 0});
    }

    void load_bucket(const Bucket& bucket) {
        count_moved(bucket);
        left_.clear();
        add(bucket, left_);
    }

    // -- candidates ---------------------------------------------------------------------------------------------------

    void add_branch(SplitTotals& t, const Impurity& side) const {
        if (side.rows == 0) return;
        ++t.n_filled;
        if (!side.valid()) {
            t.valid = false;
            return;
        }
        t.total += side.total_impurity();
        t.meets_limits = t.meets_limits && meets_limits(side);
        t.allowed = t.allowed && (!is_monotone_ || constraints_.allows(predicted_value(side, node_context_)));
        if (settings_.rule != Rule::gain) t.nlogn_sum += node_context_.nlogn(side.weight);
    }
    bool meets_limits(const Impurity& side) const {
        return side.rows >= settings_.min_samples_leaf && side.weight >= settings_.min_leaf_weight;
    }
    void offer_two(SplitKind kind, int64_t position, int placement) {
        SplitTotals t;
        add_branch(t, left_);
        add_branch(t, right_);
        if (separates_missing_) add_branch(t, missing_side_);
        if (columns_[column_].monotone && left_.rows && right_.rows)
            t.allowed = t.allowed && are_in_order(columns_[column_], predicted_value(left_, node_context_),
                                                  predicted_value(right_, node_context_));
        offer(t, {0, kind, position, placement});
    }
    void offer(const SplitTotals& t, TieOrder order) {
        if (t.n_filled < 2 || !t.valid) return;
        any_candidate_ = true;
        if (!t.meets_limits) return;
        order.column = static_cast<int64_t>(column_);
        Candidate candidate;
        candidate.order = order;
        candidate.n_filled = t.n_filled;
        candidate.nlogn_sum = t.nlogn_sum;
        candidate.score = node_impurity_ - t.total;
        candidate.tolerance = node_context_.tolerance(t.n_filled);
        candidate.total_gain = node_context_.zero_if_rounding(candidate.score, t.n_filled);
        node_price_.subtract_price(price_, candidate.score, candidate.tolerance);
        candidate.score -= feature_cost_;
        if (settings_.rule == Rule::ratio)
            candidate.score = ratio(candidate.score, candidate.nlogn_sum),
            candidate.tolerance = ratio(candidate.tolerance, candidate.nlogn_sum) + kRatioTolerance;
        else if (settings_.gain_per_branch && settings_.rule == Rule::gain)
            candidate.score = floor_div(candidate.score, t.n_filled - 1),
            candidate.tolerance = candidate.tolerance / (t.n_filled - 1) + (candidate.tolerance > 0);
        const bool pays_off =
            feature_cost_ == 0 || candidate.score >= 0;  // if not, no candidate with a smaller score does
        if (t.allowed && pays_off) return best_.add(candidate);
        any_forbidden_ = true;
        if (pays_off) best_.add_forbidden(candidate);
    }

    // Gain divided by the entropy of the branch sizes (Quinlan 1993, section 2.2), in units of 2^-60.
    int128 ratio(int128 gain, int128 nlogn_sum) const {
        const int128 split_info = node_context_.nlogn(node_total.weight) - nlogn_sum;
        return static_cast<int128>(std::ldexp(static_cast<double>(gain) / static_cast<double>(split_info), kRatioBits));
    }

    // C4.5, step 1: keep the best test of each column.
    void c45_keep_column_best(Segment node) {
        if (best_.has_candidate()) {
            const bool is_single = columns_[column_].is_code() || settings_.random_cuts;
            const int64_t cuts = is_single ? 1 : engine_.n_cuts(column_, node);
            c45_columns_.add(best_.winner(), cuts);
        }
        best_.begin_node(node_key_);
    }

    bool gain_too_small(const Candidate& winner) const {
        const int128 at_most = winner.total_gain ? winner.total_gain + node_context_.tolerance(winner.n_filled) : 0;
        return node_context_.to_user_units(at_most, total_weight_) <
               settings_.min_impurity_decrease * (1 - 0x1p-40);  // tolerance: twelve digits
    }

    // -- the winning split --------------------------------------------------------------------------------------------

    void fill_chosen_split(const Candidate& winner, ChosenSplit& split) {
        split = ChosenSplit{};
        split.total_gain = winner.total_gain;
        split.column = static_cast<int32_t>(column_);
        split.missing_rows = n_missing();
        const auto index = static_cast<size_t>(winner.order.position);
        const SplitKind kind = static_cast<SplitKind>(winner.order.kind);
        split.kind = kind;
        split.n_branches = 2;
        bool swapped = false;
        switch (kind) {
            case kThreshold:
            case kOrdinal: set_threshold(winner.order.position, split); break;
            case kOneValue: split.codes = {static_cast<int32_t>(buckets_[index].low)}; break;
            case kSubset: swapped = set_subset(index, split); break;
            case kMultiway:
                for (size_t i = 0; i < n_nameable(); ++i) split.codes.push_back(static_cast<int32_t>(buckets_[i].low));
                split.n_branches = static_cast<int32_t>(n_nameable());
                if (split.n_branches < columns_[column_].n_levels) split.other = split.n_branches++;
                break;
            default: set_presence(split); return;
        }
        if (separates_missing_)
            split.missing_branch = split.n_branches++;
        else if (n_missing())
            split.missing_branch = static_cast<int32_t>(swapped ? 1 - winner.order.placement : winner.order.placement);
        else
            split.missing_branch = heaviest_branch(split);
    }

    void set_threshold(int64_t position, ChosenSplit& split) {
        if (settings_.random_cuts && split.kind == kThreshold) return set_random_threshold(split);
        size_t index = 0;
        while (buckets_[index].position != position) ++index;
        const int64_t a = buckets_[index].high, b = buckets_[index + 1].low;
        split.max_left_rank = a;
        if (split.kind == kOrdinal)
            split.codes = {static_cast<int32_t>(a)};
        else if (columns_[column_].is_number())
            split.threshold = midpoint(engine_.to_double(column_, a), engine_.to_double(column_, b));
        else
            split.threshold_int = midpoint(engine_.to_int(column_, a), engine_.to_int(column_, b));
    }

    void set_random_threshold(ChosenSplit& split) {
        draw_random_split(kThreshold);
        const auto right = std::find(goes_left_.begin(), goes_left_.end(), 0);
        split.max_left_rank = buckets_[static_cast<size_t>(right - goes_left_.begin()) - 1].high;
        random_cut().store(split);
    }

    // Lists the side without the pool, or else the lighter one (the near one if equal); returns whether that is the far
    // side.
    bool set_subset(size_t position, ChosenSplit& split) {
        std::vector<int32_t> sides[2];
        int64_t weight[2] = {0, 0};
        if (settings_.random_cuts)
            draw_random_split(kSubset);
        else
            this->list_subset(position, goes_left_);
        for (size_t i = 0; i < buckets_.size(); ++i) {
            const bool in_far = !goes_left_[i];
            sides[in_far].push_back(static_cast<int32_t>(buckets_[i].low));
            weight[in_far] += bucket_weight(buckets_[i]);
        }
        const bool swap = has_pool_ ? goes_left_.back() : weight[1] < weight[0];
        split.codes = std::move(sides[swap]);
        return swap;
    }

    // A presence test is stored as the column's first kind: a threshold above every value, or an empty subset.
    void set_presence(ChosenSplit& split) const {
        const Column& column = columns_[column_];
        const SplitKind first = column.kinds.front();
        split.kind = first == kThreshold || first == kOrdinal ? first : kSubset;
        split.missing_branch = split.kind == kSubset ? 0 : 1;
        split.max_left_rank = std::numeric_limits<int64_t>::max() - 1;
        split.is_presence = true;
        if (split.kind == kOrdinal) split.codes = {static_cast<int32_t>(column.n_levels - 1)};
        if (column.is_number()) split.threshold = std::numeric_limits<double>::infinity();
        if (column.type == ValueType::i64) split.threshold_int = std::numeric_limits<int64_t>::max();
    }

    int32_t heaviest_branch(const ChosenSplit& split) {
        weights_.assign(static_cast<size_t>(split.n_branches), 0);
        for (const Bucket& b : buckets_) weights_[split.branch(b.low)] += bucket_weight(b);
        return static_cast<int32_t>(std::max_element(weights_.begin(), weights_.end()) - weights_.begin());
    }
    int64_t bucket_weight(const Bucket& bucket) const {
        if (bucket.stats) return bucket.stats[kWeight];
        int64_t w = 0;
        for (const Row* r = bucket.first; r != bucket.last; ++r) w += node_context_.target.weight[*r];
        return w;
    }

    static constexpr int64_t kManyRows = 1 << 16;  // enough to take noticeable time

    NodeContext& node_context_;
    SplitEngine& engine_;
    const std::vector<Column>& columns_;
    const Settings& settings_;
    int64_t total_weight_;
    bool is_monotone_;        // whether what the branches predict is constrained
    bool has_feature_costs_;  // whether tests of some columns cost something
    Impurity left_, right_, missing_side_;
    NodeColumns node_columns_;
    TestSelection test_selection_;
    int64_t rows_since_check_ = 0;  // since the last interrupt check

    // the current node
    const std::function<void()>* check_interrupt_ = nullptr;
    uint64_t node_key_ = 0;
    int128 node_impurity_ = 0;
    BestSplit best_;  // of the node; under C4.5's rule, of the current column until all are done
    C45Columns c45_columns_;
    NodePrice<Impurity> node_price_;
    NodeConstraints constraints_;
    bool any_candidate_ = false;              // including those that violate a limit
    bool any_forbidden_ = false;              // by a constraint
    std::vector<size_t> unfiltered_columns_;  // columns searched without a filter
    int128 feature_cost_ = 0;                 // of the columns being searched
    // the current column
    size_t column_ = 0;
    std::vector<Bucket> buckets_;
    bool has_pool_ = false;  // the last bucket holds the rare levels
    RareLevels rare_levels_;
    Price price_;                     // of the tests of the kind being scanned
    std::vector<int64_t> weights_;    // of the branches
    std::vector<uint8_t> goes_left_;  // buckets that a random split or a subset sends left
    Bucket missing_bucket_;           // missing rows; their statistics are in missing_side_
    bool separates_missing_ = false;  // missing rows get their own branch
};

}  // namespace treewise
