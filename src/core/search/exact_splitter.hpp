// Exact split finder: scores every candidate of a node in integers, one scan per split kind, and returns the best.
//
// A scan takes a column's buckets (runs of rows that no candidate separates, in order), moves them between statistics
// objects (criteria/exact_impurity.hpp) and offers each candidate to search/best_split.hpp. It does not depend on the
// criterion, on the engine that produced the buckets, or on how ties are broken. train/reference.py enumerates the same
// candidates in Python; tests compare the two.

#pragma once

#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "criteria/exact_impurity.hpp"
#include "criteria/price.hpp"
#include "engines/engine.hpp"
#include "search/best_split.hpp"
#include "search/independence.hpp"
#include "search/midpoint.hpp"
#include "search/two_way_splits.hpp"

namespace treewise {

inline constexpr int kRatioBits = 60;
inline constexpr int128 kRatioTolerance = 1 << 15;

template <class Stats>
class ExactSplitter : private TwoWaySplits<ExactSplitter<Stats>> {
    friend class TwoWaySplits<ExactSplitter<Stats>>;

public:
    ExactSplitter(NodeContext& node_context, Engine& engine, const std::vector<Column>& columns,
                  const Settings& settings, int64_t total_weight)
        : node_total(node_context),
          node_context_(node_context),
          engine_(engine),
          columns_(columns),
          settings_(settings),
          total_weight_(total_weight),
          left_(node_context),
          right_(node_context),
          missing_stats_(node_context),
          column_sampler_(columns.size()),
          columns_to_try_(columns.size()),
          test_selection_(node_context, columns, settings),
          best_(settings.random_ties) {
        std::iota(columns_to_try_.begin(), columns_to_try_.end(), size_t{0});
    }

    Stats node_total;  // statistics of the node; filled by the caller

    // Returns the reason for a leaf, or kNone with the winner in `split`. stat: the node's statistics, if the engine
    // has them.
    StopReason find_best_split(Segment node, const Stat& stat, uint64_t node_key, ChosenSplit& split,
                               const std::function<void()>& check_interrupt) {
        node_key_ = node_key;
        check_interrupt_ = &check_interrupt;
        node_impurity_ = node_total.total();
        if (settings_.selection == Selection::priced)
            node_price_.begin_node(
                node_total, node_context_,
                settings_.criterion == Criterion::squared_error ? engine_.rows(node) : std::span<const Row>{});
        column_bests_.clear();
        best_.begin_node(node_key_);
        any_candidate_ = false;
        bool has_more = sample_columns(true);
        size_t n_tried = 0;
        if (settings_.selection == Selection::test) {
            n_tried = search_by_test(node, stat, has_more);
            if (test_selection_.yielded_columns().empty())
                return test_selection_.any_tested() ? kNotSignificant : kNoCandidate;
        } else {
            for (;; has_more = sample_columns(false)) {
                n_tried = search_columns(node, stat, columns_to_try_);
                if (!has_more || has_eligible()) break;
            }
        }
        if (settings_.rule == Rule::c45) c45_second_step();
        if (!best_.has_candidate()) return has_any_candidate(node) ? kMinSamplesLeaf : kNoCandidate;
        const Candidate winner = best_.winner();
        if (gain_too_small(winner)) return kMinImpurityDecrease;
        if (n_tried > 1 || has_pool_) load_column(winner.key.column, node);  // otherwise its buckets are still loaded
        if (pools(static_cast<SplitKind>(winner.key.kind))) pool_rare_levels();
        fill_chosen_split(winner, split);
        return kNone;
    }

    // Selection::test: the smallest adjusted p-value of the last node; NaN if no column could be tested.
    double p_value() const { return test_selection_.p_value(); }

private:
    struct ColumnBest {
        Candidate candidate;
        int64_t cuts;  // number of thresholds tried
    };
    // Totals over the branches of one candidate.
    struct SplitTotals {
        int128 total = 0, nlogn_sum = 0;
        int n_filled = 0;
        bool fits = true, valid = true;
    };

    // Scans columns; returns the number of those with candidates that may win.
    size_t search_columns(Segment node, const Stat& stat, const std::vector<size_t>& columns_to_try) {
        const std::vector<size_t>& columns = engine_.find_candidates(node, stat, columns_to_try, node_key_);
        for (size_t c : columns) {
            load_column(c, node);
            scan_column();
            if (settings_.rule == Rule::c45) c45_keep_column_best(node);
            if (node.size() >= kManyRows) (*check_interrupt_)();
        }
        return columns.size();
    }
    bool has_eligible() const { return best_.has_candidate() || !column_bests_.empty(); }

    // Selection::test: tests the sampled columns, more until one can be tested, and scans the significant ones, one at
    // a time, until one has a candidate.
    size_t search_by_test(Segment node, const Stat& stat, bool has_more) {
        test_selection_.begin_node(engine_.rows(node), node_total.weight, node_key_);
        for (;; has_more = sample_columns(false)) {
            for (size_t c : columns_to_try_) {
                test_selection_.test(c);
                if (node.size() >= kManyRows) (*check_interrupt_)();
            }
            if (!has_more || test_selection_.any_tested()) break;
        }
        size_t n_tried = 0;
        while (!has_eligible() && test_selection_.next())
            n_tried = search_columns(node, stat, {test_selection_.yielded_columns().back()});
        return n_tried;
    }

    // Samples the next columns: all of them, or max_features and then one at a time until one is splittable. Returns
    // whether columns are left.
    bool sample_columns(bool first) {
        if (!samples_columns()) return false;
        if (first) column_sampler_.begin_node(node_key_);
        columns_to_try_.clear();
        const auto n_wanted = first ? static_cast<size_t>(settings_.max_features) : 1;
        while (columns_to_try_.size() < n_wanted && !column_sampler_.empty())
            columns_to_try_.push_back(column_sampler_.next());
        return !column_sampler_.empty();
    }
    bool samples_columns() const {
        return settings_.max_features > 0 && static_cast<size_t>(settings_.max_features) < columns_.size();
    }

    // -- one column at one node ---------------------------------------------------------------------------------------

    void load_column(size_t column, Segment node) {
        column_ = column;
        missing_ = engine_.buckets(column, node, buckets_);
        has_pool_ = false;
        missing_stats_.clear();
        add(missing_, missing_stats_);
        missing_branch_ = settings_.missing_branch && n_missing() && missing_stats_.valid() && fits(missing_stats_);
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

    int64_t n_missing() const { return missing_stats_.rows; }

    static void add(const Bucket& bucket, Stats& side) {
        if constexpr (requires { side.add(bucket.stat); }) {
            if (bucket.stat) return side.add(bucket.stat);
        }
        for (const Row* r = bucket.first; r != bucket.last; ++r) side.add(*r);
    }
    static void sub(const Bucket& bucket, Stats& side) {
        if constexpr (requires { side.sub(bucket.stat); }) {
            if (bucket.stat) return side.sub(bucket.stat);
        }
        for (const Row* r = bucket.first; r != bucket.last; ++r) side.sub(*r);
    }

    void scan_column() {
        if (buckets_.empty()) return;
        for (SplitKind kind : columns_[column_].kinds) {
            if (pools(kind)) pool_rare_levels();
            price_ = node_price_.price(bits_to_name(settings_, kind, buckets_.size(), node_price_.classes()));
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
        pool_stat_.assign(stat_width(n_classes()), 0), pool_rows_.clear();
        size_t n_listed = 0;
        for (const Bucket& b : buckets_) {
            if ((b.stat ? b.stat[kRows] : b.last - b.first) >= settings_.min_level_rows)
                buckets_[n_listed++] = b;
            else if (b.stat)
                treewise::add(pool_stat_.data(), b.stat, pool_stat_.size());
            else
                pool_rows_.insert(pool_rows_.end(), b.first, b.last);
        }
        if ((has_pool_ = n_listed < buckets_.size())) {
            const bool by_stat = buckets_.back().stat;
            const int64_t code = columns_[column_].n_levels;
            buckets_.resize(n_listed);
            buckets_.push_back({pool_rows_.data(), pool_rows_.data() + pool_rows_.size(),
                                by_stat ? pool_stat_.data() : nullptr, code, code, static_cast<int64_t>(n_listed)});
        }
    }

    // -- what TwoWaySplits needs --------------------------------------------------------------------------------------

    size_t n_buckets() const { return buckets_.size(); }
    size_t n_listed() const { return buckets_.size() - has_pool_; }
    int64_t position(size_t i) const { return buckets_[i].position; }
    int64_t n_classes() const { return node_context_.target.n_classes; }
    int64_t weight() const { return node_total.weight; }
    bool has_class(int64_t cls) const {
        if constexpr (requires { node_total.counts(); }) return node_total.counts()[static_cast<size_t>(cls)] > 0;
        return false;
    }
    Rate rate(size_t i, int64_t cls) {
        load_bucket(buckets_[i]);
        return treewise::rate(left_, cls);
    }
    void move_left(size_t i) { move(buckets_[i], right_, left_); }
    void move_right(size_t i) { move(buckets_[i], left_, right_); }
    // Puts all rows on the right and the missing ones as the placement says: 0 left, 1 right; or into their own branch.
    int placements() const { return n_missing() && !missing_branch_ ? 2 : 1; }
    void start_placement(int placement) {
        left_.clear();
        right_.assign(node_total);
        if (!n_missing() || (placement == 1 && !missing_branch_)) return;
        sub(missing_, right_);
        if (!missing_branch_) add(missing_, left_);
    }
    void move(const Bucket& bucket, Stats& from, Stats& to) {
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
        if (n_listed() == 0) return;
        SplitTotals all;
        int unfit = 0, invalid = 0;
        std::vector<SplitTotals> separate(buckets_.size());
        for (size_t i = 0; i < buckets_.size(); ++i) {
            load_bucket(buckets_[i]);
            add_branch(separate[i], left_);
            all.total += separate[i].total;
            all.nlogn_sum += separate[i].nlogn_sum;
            unfit += !separate[i].fits;
            invalid += !separate[i].valid;
        }
        all.n_filled = static_cast<int>(buckets_.size());
        if (!n_missing() || missing_branch_) {
            all.fits = unfit == 0;
            all.valid = invalid == 0;
            if (missing_branch_) add_branch(all, missing_stats_);
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
            t.fits = joined.fits && unfit - !separate[i].fits == 0;
            t.valid = joined.valid && invalid - !separate[i].valid == 0;
            offer(t, {0, kMultiway, 0, static_cast<int64_t>(i)});
        }
    }

    // Adds the missing rows (missing_stats_) to a side; by their sums, if the criterion can merge.
    void add_missing(Stats& side) {
        if constexpr (requires { side.merge(missing_stats_); }) {
            side.merge(missing_stats_);
        } else {
            count_moved(missing_);
            add(missing_, side);
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
        size_t index = uniform_below(random, kind == kOrdinal ? n - 1 : n_listed());
        if (kind == kThreshold) {
            index = 0;
            while (is_under_random_threshold(random, buckets_[index + 1].low)) ++index;
        }
        goes_left_.assign(n, 0);
        std::fill(goes_left_.begin() + (kind == kOneValue ? static_cast<int64_t>(index) : 0),
                  goes_left_.begin() + static_cast<int64_t>(index) + 1, 1);
        return kind == kThreshold ? 0 : static_cast<int64_t>(index);
    }
    bool is_under_random_threshold(uint64_t random, int64_t rank) const {
        return columns_[column_].is_number() ? engine_.to_double(column_, rank) <= random_double(random)
                                             : engine_.to_int(column_, rank) <= random_int(random);
    }
    double random_double(uint64_t random) const {
        return random_threshold(random, engine_.to_double(column_, buckets_.front().low),
                                engine_.to_double(column_, buckets_.back().high));
    }
    int64_t random_int(uint64_t random) const {
        return random_threshold(random, engine_.to_int(column_, buckets_.front().low),
                                engine_.to_int(column_, buckets_.back().high));
    }

    void scan_presence() {
        left_.clear();
        right_.assign(node_total);
        move(missing_, right_, left_);
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

    void add_branch(SplitTotals& t, const Stats& side) const {
        if (side.rows == 0) return;
        ++t.n_filled;
        if (!side.valid()) {
            t.valid = false;
            return;
        }
        t.total += side.total();
        t.fits = t.fits && fits(side);
        if (settings_.rule != Rule::gain) t.nlogn_sum += node_context_.nlogn(side.weight);
    }
    bool fits(const Stats& side) const {
        return side.rows >= settings_.min_samples_leaf && side.weight >= settings_.min_leaf_weight;
    }
    void offer_two(SplitKind kind, int64_t position, int placement) {
        SplitTotals t;
        add_branch(t, left_);
        add_branch(t, right_);
        if (missing_branch_) add_branch(t, missing_stats_);
        offer(t, {0, kind, position, placement});
    }
    void offer(const SplitTotals& t, CandidateKey key) {
        if (t.n_filled < 2 || !t.valid) return;
        any_candidate_ = true;
        if (!t.fits) return;
        key.column = static_cast<int64_t>(column_);
        Candidate candidate;
        candidate.key = key;
        candidate.n_filled = t.n_filled;
        candidate.nlogn_sum = t.nlogn_sum;
        candidate.score = node_impurity_ - t.total;
        candidate.tolerance = node_context_.tolerance(t.n_filled);
        candidate.gain = node_context_.zero_if_rounding(candidate.score, t.n_filled);
        node_price_.charge(price_, candidate.score, candidate.tolerance);
        if (settings_.rule == Rule::ratio)
            candidate.score = ratio(candidate.score, candidate.nlogn_sum),
            candidate.tolerance = ratio(candidate.tolerance, candidate.nlogn_sum) + kRatioTolerance;
        else if (settings_.gain_per_branch && settings_.rule == Rule::gain)
            candidate.score = floor_div(candidate.score, t.n_filled - 1),
            candidate.tolerance = candidate.tolerance / (t.n_filled - 1) + (candidate.tolerance > 0);
        best_.add(candidate);
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
            column_bests_.push_back({best_.winner(), cuts});
        }
        best_.begin_node(node_key_);
    }

    // C4.5, step 2: among the columns with at least average gain (thresholds are penalised by log2(cuts)/n, scaled by
    // the mean row weight), compare gain ratios (Quinlan 1996, "Improved use of continuous attributes").
    void c45_second_step() {
        const auto n = static_cast<int128>(column_bests_.size());
        int128 average = 0;
        for (ColumnBest& b : column_bests_) {
            int128 penalty = b.candidate.key.kind == kThreshold ? log2_fixed(static_cast<uint64_t>(b.cuts)) : 0;
            penalty = penalty * node_total.weight / node_total.rows;
            b.candidate.score -= penalty;
            average += floor_div(b.candidate.score, n);
        }
        for (ColumnBest& b : column_bests_) {
            if (b.candidate.score + 2 * b.candidate.tolerance + n < average) continue;
            b.candidate.score = ratio(b.candidate.score, b.candidate.nlogn_sum);
            b.candidate.tolerance = ratio(b.candidate.tolerance, b.candidate.nlogn_sum) + kRatioTolerance;
            best_.add(b.candidate);
        }
    }

    bool gain_too_small(const Candidate& winner) const {
        const int128 at_most = winner.gain ? winner.gain + node_context_.tolerance(winner.n_filled) : 0;
        return node_context_.to_user_units(at_most, total_weight_) <
               settings_.min_impurity_decrease * (1 - 0x1p-40);  // tolerance: twelve digits
    }

    // -- the winning split --------------------------------------------------------------------------------------------

    void fill_chosen_split(const Candidate& winner, ChosenSplit& split) {
        split = ChosenSplit{};
        split.gain = winner.gain;
        split.column = static_cast<int32_t>(column_);
        split.missing_rows = n_missing();
        const auto index = static_cast<size_t>(winner.key.position);
        const SplitKind kind = static_cast<SplitKind>(winner.key.kind);
        split.kind = kind;
        split.n_branches = 2;
        bool swapped = false;
        switch (kind) {
            case kThreshold:
            case kOrdinal: set_threshold(winner.key.position, split); break;
            case kOneValue: split.codes = {static_cast<int32_t>(buckets_[index].low)}; break;
            case kSubset: swapped = set_subset(index, split); break;
            case kMultiway:
                for (size_t i = 0; i < n_listed(); ++i) split.codes.push_back(static_cast<int32_t>(buckets_[i].low));
                split.n_branches = static_cast<int32_t>(n_listed());
                if (split.n_branches < columns_[column_].n_levels) split.other = split.n_branches++;
                break;
            default: set_presence(split); return;
        }
        if (missing_branch_)
            split.missing = split.n_branches++;
        else if (n_missing())
            split.missing = static_cast<int32_t>(swapped ? 1 - winner.key.placement : winner.key.placement);
        else
            split.missing = heaviest_branch(split);
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
            split.cut = midpoint(engine_.to_double(column_, a), engine_.to_double(column_, b));
        else
            split.cut_int = midpoint(engine_.to_int(column_, a), engine_.to_int(column_, b));
    }

    void set_random_threshold(ChosenSplit& split) {
        draw_random_split(kThreshold);
        const auto right = std::find(goes_left_.begin(), goes_left_.end(), 0);
        split.max_left_rank = buckets_[static_cast<size_t>(right - goes_left_.begin()) - 1].high;
        const uint64_t random = split_key(node_key_, column_, kThreshold);
        if (columns_[column_].is_number())
            split.cut = random_double(random);
        else
            split.cut_int = random_int(random);
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
        split.missing = split.kind == kSubset ? 0 : 1;
        split.max_left_rank = std::numeric_limits<int64_t>::max() - 1;
        if (split.kind == kOrdinal) split.codes = {static_cast<int32_t>(column.n_levels - 1)};
        if (column.is_number()) split.cut = std::numeric_limits<double>::infinity();
        if (column.type == ValueType::i64) split.cut_int = std::numeric_limits<int64_t>::max();
    }

    int32_t heaviest_branch(const ChosenSplit& split) {
        weights_.assign(static_cast<size_t>(split.n_branches), 0);
        for (const Bucket& b : buckets_) weights_[split.branch(b.low)] += bucket_weight(b);
        return static_cast<int32_t>(std::max_element(weights_.begin(), weights_.end()) - weights_.begin());
    }
    int64_t bucket_weight(const Bucket& bucket) const {
        if (bucket.stat) return bucket.stat[kWeight];
        int64_t w = 0;
        for (const Row* r = bucket.first; r != bucket.last; ++r) w += node_context_.target.weight[*r];
        return w;
    }

    static constexpr int64_t kManyRows = 1 << 16;  // enough to take noticeable time

    NodeContext& node_context_;
    Engine& engine_;
    const std::vector<Column>& columns_;
    const Settings& settings_;
    int64_t total_weight_;
    Stats left_, right_, missing_stats_;
    ColumnSampler column_sampler_;
    std::vector<size_t> columns_to_try_;  // columns to search next
    TestSelection test_selection_;

    int64_t rows_since_check_ = 0;  // since the last interrupt check

    // the current node
    const std::function<void()>* check_interrupt_ = nullptr;
    uint64_t node_key_ = 0;
    int128 node_impurity_ = 0;
    BestSplit best_;                        // of the node; under C4.5's rule, of the current column until all are done
    std::vector<ColumnBest> column_bests_;  // C4.5: best of each column
    NodePrice<Stats> node_price_;
    bool any_candidate_ = false;  // including those that violate a limit
    // the current column
    size_t column_ = 0;
    std::vector<Bucket> buckets_;
    bool has_pool_ = false;           // the last bucket holds the rare levels: …
    Stat pool_stat_;                  // … their statistics …
    std::vector<Row> pool_rows_;      // … or rows
    Price price_;                     // of the tests of the kind being scanned
    std::vector<int64_t> weights_;    // of the branches
    std::vector<uint8_t> goes_left_;  // buckets that a random split or a subset sends left
    Bucket missing_;                  // missing rows; their statistics are in missing_stats_
    bool missing_branch_ = false;     // missing rows get their own branch
};

}  // namespace treewise
