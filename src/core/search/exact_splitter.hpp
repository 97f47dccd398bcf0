// FindBestSplit: every candidate of a node is scored, one scan for each split kind, and the best is returned.
//
// A scan takes a column's buckets (engines/exact.hpp: runs of rows of equal value, in order) and moves their rows
// between sides (criteria/exact_impurity.hpp), offering the outcome to the competition (search/best_split.hpp). It does
// not know which criterion it serves, where the rows came from, or how ties are decided. search.py lists the same
// candidates in readable Python; the two are held equal by test.

#pragma once

#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "criteria/exact_impurity.hpp"
#include "engines/engine.hpp"
#include "search/best_split.hpp"
#include "search/midpoint.hpp"

namespace treewise {

inline constexpr int kRatioBits = 60;
inline constexpr int128 kRatioSlack = 1 << 15;

template <class Side>
class Finder {
public:
    Finder(Desk& desk, Engine& engine, const std::vector<Column>& columns, const Settings& settings,
           int64_t total_weight)
        : whole(desk),
          desk_(desk),
          engine_(engine),
          columns_(columns),
          settings_(settings),
          total_weight_(total_weight),
          left_(desk),
          right_(desk),
          part_(desk),
          draw_(columns.size()),
          wanted_(columns.size()),
          best_(settings.random_ties) {
        std::iota(wanted_.begin(), wanted_.end(), size_t{0});
    }

    Side whole;  // the node's rows; the caller fills it

    // Returns why there is no split, or kInner with the winner in `chosen`. stat: all rows of the node, where the
    // engine gives statistics. Calls `tick` now and then, in long scans too.
    Stop find(Segment node, const Stat& stat, uint64_t node_key, Chosen& chosen, const std::function<void()>& tick) {
        node_key_ = node_key;
        tick_ = &tick;
        whole_total_ = whole.total();
        bests_.clear();
        best_.open(node_key_);
        seen_ = false;
        bool more = draw_columns(true);
        size_t looked_at = 0;
        for (;; more = draw_columns(false)) {
            const std::vector<size_t>& columns = engine_.survey(node, stat, wanted_, node_key);
            looked_at = columns.size();
            for (size_t c : columns) {
                look(c, node);
                scan_column();
                if (settings_.rule == Rule::c45) keep_best_of_column(node);
                if (node.size() >= kManyRows) tick();
            }
            if (!more || best_.found() || !bests_.empty()) break;
        }
        if (settings_.rule == Rule::c45) quinlan();
        if (!best_.found()) return any_candidate(node) ? kMinSamplesLeaf : kNoCandidate;
        const Offer winner = best_.get();
        if (too_little(winner)) return kMinImpurityDecrease;
        if (looked_at > 1) look(winner.key.column, node);  // else it is the one still at hand
        describe(winner, chosen);
        return kInner;
    }

private:
    struct ColumnBest {
        Offer offer;
        int64_t cuts;  // thresholds tried
    };
    // What one way of splitting adds up to.
    struct Tally {
        int128 total = 0, spread = 0;
        int filled = 0;
        bool fits = true, valid = true;
    };

    // The columns to look at next: all, or as many as are asked for and then one at a time, until one of them can be
    // used. Returns whether there are more.
    bool draw_columns(bool first) {
        if (!limited()) return false;
        if (first) draw_.open(node_key_);
        wanted_.clear();
        const auto enough = first ? static_cast<size_t>(settings_.max_features) : 1;
        while (wanted_.size() < enough && !draw_.empty()) wanted_.push_back(draw_.next());
        return !draw_.empty();
    }
    bool limited() const {
        return settings_.max_features > 0 && static_cast<size_t>(settings_.max_features) < columns_.size();
    }

    // -- one column at one node ---------------------------------------------------------------------------------------

    void look(size_t column, Segment node) {
        column_ = column;
        gone_ = engine_.buckets(column, node, buckets_);
        part_.clear();
        add(gone_, part_);
        own_ = settings_.missing_branch && gone_rows() && part_.valid() && fits(part_);
    }
    // Whether there was any candidate, if only one that breaks a limit. Engines that send only what may win do not show
    // those, but for random ones. For Poisson it is not enough that a column tells rows apart: both branches must have
    // a sum.
    bool any_candidate(Segment node) {
        if (seen_ || !engine_.gives_stats() || settings_.random_cuts) return seen_;
        if (settings_.criterion != Criterion::poisson) return engine_.tells_apart(node);
        engine_.everything();
        for (size_t c = 0; c < columns_.size() && !seen_; ++c) look(c, node), scan_column();
        return seen_;
    }

    int64_t gone_rows() const { return part_.rows; }

    static void add(const Bucket& bucket, Side& side) {
        if constexpr (requires { side.add(bucket.stat); }) {
            if (bucket.stat) return side.add(bucket.stat);
        }
        for (const Row* r = bucket.first; r != bucket.last; ++r) side.add(*r);
    }
    static void sub(const Bucket& bucket, Side& side) {
        if constexpr (requires { side.sub(bucket.stat); }) {
            if (bucket.stat) return side.sub(bucket.stat);
        }
        for (const Row* r = bucket.first; r != bucket.last; ++r) side.sub(*r);
    }

    void scan_column() {
        if (buckets_.empty()) return;
        for (Kind kind : columns_[column_].kinds) {
            if (settings_.random_cuts && kind != kMultiway) {
                scan_random(kind);
                continue;
            }
            switch (kind) {
                case kThreshold:
                case kOrdinal: scan_prefixes(kind, 0); break;
                case kOneValue: scan_one_values(); break;
                case kSubset: scan_subsets(); break;
                case kMultiway: scan_multiway(); break;
                default: break;
            }
        }
        if (gone_rows()) scan_presence();
    }

    // Put all rows on the right, the missing ones where this placement wants them: 0 left, 1 right, own: apart.
    int placements() const { return gone_rows() && !own_ ? 2 : 1; }
    void gather(int placement) {
        left_.clear();
        right_.assign(whole);
        if (!gone_rows() || (placement == 1 && !own_)) return;
        sub(gone_, right_);
        if (!own_) add(gone_, left_);
    }
    void move(const Bucket& bucket, Side& from, Side& to) {
        count(bucket);
        sub(bucket, from);
        add(bucket, to);
    }

    void count(const Bucket& bucket) {
        if ((moved_ += 1 + (bucket.last - bucket.first)) < kManyRows) return;
        moved_ = 0;
        (*tick_)();
    }

    // Cut the row of buckets in two at every place:   a | b c d      a b | c d      a b c | d
    void scan_prefixes(Kind kind, int64_t position) {
        for (int placement = 0; placement < placements(); ++placement) {
            gather(placement);
            for (size_t i = 0; i + 1 < buckets_.size(); ++i) {
                move(buckets_[i], right_, left_);
                offer_two(kind, position + (kind == kSubset ? static_cast<int64_t>(i) : buckets_[i].place), placement);
            }
        }
    }

    void scan_one_values() {
        if (buckets_.size() < 2) return;
        for (int placement = 0; placement < placements(); ++placement) {
            gather(placement);
            for (size_t i = 0; i < buckets_.size(); ++i) {
                move(buckets_[i], right_, left_);
                offer_two(kOneValue, static_cast<int64_t>(i), placement);
                move(buckets_[i], left_, right_);
            }
        }
    }

    // For two classes and for numbers some prefix of the levels in order of rate or mean is best (Breiman et al. 1984,
    // theorem 4.5). For more classes: all subsets while that is affordable, then the prefixes of each class's order.
    void scan_subsets() {
        if (exhaustive()) {
            scan_all_subsets();
            return;
        }
        for (int64_t cls : orders()) {
            order_by_rate(cls);
            scan_prefixes(kSubset, cls_position(cls) + 1);
        }
        restore_order();
    }

    // The first bucket stays on its side; bit j of the mask sends bucket j + 1 to the other.
    void scan_all_subsets() {
        for (int placement = 0; placement < placements(); ++placement) {
            gather(placement);
            for (const Bucket& b : buckets_) move(b, right_, left_);
            for (uint32_t mask = 1; mask < (1u << (buckets_.size() - 1)); ++mask) {
                for (uint32_t turned = mask ^ (mask - 1), j = 0; turned; turned >>= 1, ++j) {
                    if (mask >> j & 1)
                        move(buckets_[j + 1], left_, right_);
                    else
                        move(buckets_[j + 1], right_, left_);
                }
                offer_two(kSubset, mask, placement);
            }
        }
    }

    void scan_multiway() {
        Tally all;
        int unfit = 0, invalid = 0;
        std::vector<Tally> alone(buckets_.size());
        for (size_t i = 0; i < buckets_.size(); ++i) {
            fill(buckets_[i]);
            take(alone[i], left_);
            all.total += alone[i].total;
            all.spread += alone[i].spread;
            unfit += !alone[i].fits;
            invalid += !alone[i].valid;
        }
        all.filled = static_cast<int>(buckets_.size());
        if (!gone_rows() || own_) {
            all.fits = unfit == 0;
            all.valid = invalid == 0;
            if (own_) take(all, part_);
            offer(all, {0, kMultiway, 0, 0});
            return;
        }
        for (size_t i = 0; i < buckets_.size(); ++i) {  // the missing rows join branch i
            fill(buckets_[i]);
            join(left_);
            Tally joined;
            take(joined, left_);
            Tally t = all;
            t.total += joined.total - alone[i].total;
            t.spread += joined.spread - alone[i].spread;
            t.fits = joined.fits && unfit - !alone[i].fits == 0;
            t.valid = joined.valid && invalid - !alone[i].valid == 0;
            offer(t, {0, kMultiway, 0, static_cast<int64_t>(i)});
        }
    }

    // Add the missing rows, which are on part_, to a side: by their sums where a criterion has such.
    void join(Side& side) {
        if constexpr (requires { side.merge(part_); }) {
            side.merge(part_);
        } else {
            count(gone_);
            add(gone_, side);
        }
    }

    // One test of the kind, drawn at random: which buckets go to the left.
    void scan_random(Kind kind) {
        if (buckets_.size() < 2) return;
        const int64_t position = draw_test(kind);
        for (int placement = 0; placement < placements(); ++placement) {
            gather(placement);
            for (size_t i = 0; i < buckets_.size(); ++i) {
                if (lefts_[i]) move(buckets_[i], right_, left_);
            }
            offer_two(kind, position, placement);
        }
    }
    // Fills lefts_; returns the position of the test: its place among those of its kind where these are listed.
    int64_t draw_test(Kind kind) {
        const uint64_t random = cut_key(node_key_, column_, kind);
        const size_t n = buckets_.size();
        if (kind == kSubset) {
            random_subset(random, n, lefts_);
            return 0;
        }
        size_t at = below(random, kind == kOrdinal ? n - 1 : n);
        if (kind == kThreshold) {
            at = 0;
            while (under_random_cut(random, buckets_[at + 1].low)) ++at;
        }
        lefts_.assign(n, 0);
        std::fill(lefts_.begin() + (kind == kOneValue ? static_cast<int64_t>(at) : 0),
                  lefts_.begin() + static_cast<int64_t>(at) + 1, 1);
        return kind == kThreshold ? 0 : static_cast<int64_t>(at);
    }
    bool under_random_cut(uint64_t random, int64_t rank) const {
        return columns_[column_].is_number() ? engine_.number(column_, rank) <= random_number(random)
                                             : engine_.integer(column_, rank) <= random_integer(random);
    }
    double random_number(uint64_t random) const {
        return random_cut(random, engine_.number(column_, buckets_.front().low),
                          engine_.number(column_, buckets_.back().high));
    }
    int64_t random_integer(uint64_t random) const {
        return random_cut(random, engine_.integer(column_, buckets_.front().low),
                          engine_.integer(column_, buckets_.back().high));
    }

    void scan_presence() {
        left_.clear();
        right_.assign(whole);
        move(gone_, right_, left_);
        Tally t;
        take(t, left_);
        take(t, right_);
        offer(t, {0, kPresence, 0, 0});
    }

    // -- subsets ------------------------------------------------------------------------------------------------------

    bool exhaustive() const { return desk_.target.n_classes > 2 && buckets_.size() <= kExhaustive; }

    std::vector<int64_t> orders() const {  // the classes by whose rate the levels are ordered
        if (desk_.target.n_classes == 0) return {0};
        if (desk_.target.n_classes == 2) return {1};
        if constexpr (requires { whole.seen(); }) {
            std::vector<int64_t> present(whole.seen().begin(), whole.seen().end());
            std::sort(present.begin(), present.end());
            return present;
        }
        return {};
    }
    int64_t cls_position(int64_t cls) const {
        return desk_.target.n_classes > 2 ? cls * static_cast<int64_t>(buckets_.size()) : 0;
    }
    void order_by_rate(int64_t cls) {
        restore_order();
        std::vector<std::pair<Rate, Bucket>> rated;
        rated.reserve(buckets_.size());
        for (const Bucket& b : buckets_) {
            fill(b);
            rated.push_back({rate(left_, cls), b});
        }
        std::stable_sort(rated.begin(), rated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (size_t i = 0; i < rated.size(); ++i) buckets_[i] = rated[i].second;
    }
    void restore_order() {
        std::sort(buckets_.begin(), buckets_.end(), [](const Bucket& a, const Bucket& b) { return a.low < b.low; });
    }
    void fill(const Bucket& bucket) {
        count(bucket);
        left_.clear();
        add(bucket, left_);
    }

    // -- offers -------------------------------------------------------------------------------------------------------

    void take(Tally& t, const Side& side) const {
        if (side.rows == 0) return;
        ++t.filled;
        if (!side.valid()) {
            t.valid = false;
            return;
        }
        t.total += side.total();
        t.fits = t.fits && fits(side);
        if (settings_.rule != Rule::gain) t.spread += desk_.nlogn(side.weight);
    }
    bool fits(const Side& side) const {
        return side.rows >= settings_.min_samples_leaf && side.weight >= settings_.min_leaf_weight;
    }
    void offer_two(Kind kind, int64_t position, int placement) {
        Tally t;
        take(t, left_);
        take(t, right_);
        if (own_) take(t, part_);
        offer(t, {0, kind, position, placement});
    }
    void offer(const Tally& t, Key key) {
        if (t.filled < 2 || !t.valid) return;
        seen_ = true;
        if (!t.fits) return;
        key.column = static_cast<int64_t>(column_);
        Offer o;
        o.key = key;
        o.filled = t.filled;
        o.spread = t.spread;
        o.merit = whole_total_ - t.total;
        o.slack = desk_.slack(t.filled);
        o.gain = desk_.settled(o.merit, t.filled);
        if (settings_.rule == Rule::ratio)
            o.merit = ratio(o.merit, o.spread), o.slack = ratio(o.slack, o.spread) + kRatioSlack;
        else if (settings_.by_branches && settings_.rule == Rule::gain)
            o.merit = floor_div(o.merit, t.filled - 1), o.slack = o.slack / (t.filled - 1) + (o.slack > 0);
        best_.offer(o);
    }

    // Gain divided by the entropy of the branch sizes (Quinlan 1993, section 2.2), in units of 2^-60.
    int128 ratio(int128 gain, int128 spread) const {
        const int128 information = desk_.nlogn(whole.weight) - spread;
        return static_cast<int128>(
            std::ldexp(static_cast<double>(gain) / static_cast<double>(information), kRatioBits));
    }

    // C4.5's first step: each column sends its best test.
    void keep_best_of_column(Segment node) {
        if (best_.found()) {
            const bool one = columns_[column_].is_code() || settings_.random_cuts;
            const int64_t cuts = one ? 1 : engine_.n_cuts(column_, node);
            bests_.push_back({best_.get(), cuts});
        }
        best_.open(node_key_);
    }

    // C4.5's second step: of the columns with at least average gain (a threshold's lessened by log2(cuts) a row of n,
    // at the mean weight of a row), compare the gain ratio (Quinlan 1996, "Improved use of continuous attributes").
    void quinlan() {
        const auto n = static_cast<int128>(bests_.size());
        int128 average = 0;
        for (ColumnBest& b : bests_) {
            int128 price = b.offer.key.kind == kThreshold ? log2_fixed(static_cast<uint64_t>(b.cuts)) : 0;
            price = price * whole.weight / whole.rows;
            b.offer.merit -= price;
            average += floor_div(b.offer.merit, n);
        }
        for (ColumnBest& b : bests_) {
            if (b.offer.merit + 2 * b.offer.slack + n < average) continue;
            b.offer.merit = ratio(b.offer.merit, b.offer.spread);
            b.offer.slack = ratio(b.offer.slack, b.offer.spread) + kRatioSlack;
            best_.offer(b.offer);
        }
    }

    bool too_little(const Offer& winner) const {
        const int128 at_most = winner.gain ? winner.gain + desk_.slack(winner.filled) : 0;
        return desk_.in_users_units(at_most, total_weight_) <
               settings_.min_impurity_decrease * (1 - 0x1p-40);  // met to twelve digits is met
    }

    // -- the winner ---------------------------------------------------------------------------------------------------

    void describe(const Offer& winner, Chosen& chosen) {
        chosen = Chosen{};
        chosen.gain = winner.gain;
        chosen.column = static_cast<int32_t>(column_);
        chosen.missing_rows = gone_rows();
        const auto at = static_cast<size_t>(winner.key.position);
        const Kind kind = static_cast<Kind>(winner.key.kind);
        chosen.kind = kind;
        chosen.n_branches = 2;
        bool swapped = false;
        switch (kind) {
            case kThreshold:
            case kOrdinal: cut(winner.key.position, chosen); break;
            case kOneValue: chosen.codes = {static_cast<int32_t>(buckets_[at].low)}; break;
            case kSubset: swapped = list_subset(at, chosen); break;
            case kMultiway:
                for (const Bucket& b : buckets_) chosen.codes.push_back(static_cast<int32_t>(b.low));
                chosen.n_branches = static_cast<int32_t>(buckets_.size());
                if (chosen.n_branches < columns_[column_].n_levels) chosen.other = chosen.n_branches++;
                break;
            default: presence(chosen); return;
        }
        if (own_)
            chosen.missing = chosen.n_branches++;
        else if (gone_rows())
            chosen.missing = static_cast<int32_t>(swapped ? 1 - winner.key.placement : winner.key.placement);
        else
            chosen.missing = heaviest(chosen);
    }

    void cut(int64_t place, Chosen& chosen) {
        if (settings_.random_cuts && chosen.kind == kThreshold) return cut_at_random(chosen);
        size_t at = 0;
        while (buckets_[at].place != place) ++at;
        const int64_t a = buckets_[at].high, b = buckets_[at + 1].low;
        chosen.last_left = a;
        if (chosen.kind == kOrdinal)
            chosen.codes = {static_cast<int32_t>(a)};
        else if (columns_[column_].is_number())
            chosen.cut = midpoint(engine_.number(column_, a), engine_.number(column_, b));
        else
            chosen.cut_int = midpoint(engine_.integer(column_, a), engine_.integer(column_, b));
    }

    void cut_at_random(Chosen& chosen) {
        draw_test(kThreshold);
        const auto right = std::find(lefts_.begin(), lefts_.end(), 0);
        chosen.last_left = buckets_[static_cast<size_t>(right - lefts_.begin()) - 1].high;
        const uint64_t random = cut_key(node_key_, column_, kThreshold);
        if (columns_[column_].is_number())
            chosen.cut = random_number(random);
        else
            chosen.cut_int = random_integer(random);
    }

    // Lists the lighter side (the near one of equals); returns whether that is the far side.
    bool list_subset(size_t position, Chosen& chosen) {
        std::vector<int32_t> sides[2];
        int64_t weight[2] = {0, 0};
        if (settings_.random_cuts)
            draw_test(kSubset);
        else if (!exhaustive() && desk_.target.n_classes > 2)
            order_by_rate(static_cast<int64_t>(position / buckets_.size()));
        else if (!exhaustive())
            order_by_rate(desk_.target.n_classes == 2 ? 1 : 0);
        const size_t prefix = desk_.target.n_classes > 2 ? position % buckets_.size() : position;
        for (size_t i = 0; i < buckets_.size(); ++i) {
            const bool far = settings_.random_cuts ? !lefts_[i]
                             : exhaustive()        ? i > 0 && (position >> (i - 1) & 1)
                                                   : i >= prefix;
            sides[far].push_back(static_cast<int32_t>(buckets_[i].low));
            weight[far] += weigh(buckets_[i]);
        }
        restore_order();
        const bool swap = weight[1] < weight[0];
        chosen.codes = sides[swap];
        std::sort(chosen.codes.begin(), chosen.codes.end());
        return swap;
    }

    // A test of mere presence is stored in the form of the column's first kind: a cut above every value, or a subset
    // that lists nothing.
    void presence(Chosen& chosen) const {
        const Column& column = columns_[column_];
        const Kind first = column.kinds.front();
        chosen.kind = first == kThreshold || first == kOrdinal ? first : kSubset;
        chosen.missing = chosen.kind == kSubset ? 0 : 1;
        chosen.last_left = std::numeric_limits<int64_t>::max() - 1;
        if (chosen.kind == kOrdinal) chosen.codes = {static_cast<int32_t>(column.n_levels - 1)};
        if (column.is_number()) chosen.cut = std::numeric_limits<double>::infinity();
        if (column.type == ValueType::i64) chosen.cut_int = std::numeric_limits<int64_t>::max();
    }

    int32_t heaviest(const Chosen& chosen) {
        weights_.assign(static_cast<size_t>(chosen.n_branches), 0);
        for (const Bucket& b : buckets_) weights_[chosen.branch(b.low)] += weigh(b);
        return static_cast<int32_t>(std::max_element(weights_.begin(), weights_.end()) - weights_.begin());
    }
    int64_t weigh(const Bucket& bucket) const {
        if (bucket.stat) return bucket.stat[kWeight];
        int64_t w = 0;
        for (const Row* r = bucket.first; r != bucket.last; ++r) w += desk_.target.weight[*r];
        return w;
    }

    static constexpr int64_t kManyRows = 1 << 16;  // it takes a moment to go through them

    Desk& desk_;
    Engine& engine_;
    const std::vector<Column>& columns_;
    const Settings& settings_;
    int64_t total_weight_;
    Side left_, right_, part_;
    ColumnDraw draw_;
    std::vector<size_t> wanted_;  // the columns at hand

    int64_t moved_ = 0;  // rows since the last tick

    // of the node at hand
    const std::function<void()>* tick_ = nullptr;
    uint64_t node_key_ = 0;
    int128 whole_total_ = 0;
    Best best_;                      // of the node; under C4.5's rule of the column, until all have been seen
    std::vector<ColumnBest> bests_;  // C4.5: of each column
    bool seen_ = false;              // whether there was any candidate
    // of the column at hand
    size_t column_ = 0;
    std::vector<Bucket> buckets_;
    std::vector<int64_t> weights_;  // of the branches
    std::vector<uint8_t> lefts_;    // which of them a random test sends to the left
    Bucket gone_;                   // its missing rows, which are also in part_
    bool own_ = false;              // they get a branch of their own
};

}  // namespace treewise
