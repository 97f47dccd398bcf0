// The engine of large nodes: count rows by coarse codes, then look inside the few bins that may hide a better cut.
//
// A node is a segment of the list of rows. For every column the statistics of each bin are added up (of the smaller
// child; the larger is its parent less that: exact, since they are integers). Then
//
//   1. every edge between bins is a cut, and is scored;
//   2. every bin with more than one value is bounded: how good could a cut inside it be?
//   3. the bins whose bound reaches the bar are opened: their rows are gathered, sorted by value, and scored.
//
// As a rule a handful of bins of one or two columns are opened. Why the bound holds is said in criteria/bin_bound.hpp.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "criteria/bin_bound.hpp"
#include "engines/subtree.hpp"
#include "problem/row_partition.hpp"
#include "search/category_split.hpp"
#include "search/histogram_builder.hpp"
#include "search/missing_placement.hpp"
#include "search/sorted_scan.hpp"

namespace treewise {

template <Shape S>
class Histograms : public Engine {
public:
    Histograms(const Frame& frame, Crew& crew, const std::function<void()>& tick)
        : frame_(frame),
          crew_(crew),
          tick_(tick),
          width_(frame.width()),
          appraiser_(frame.settings, frame.tables.logs, frame.n_classes()),
          rows_(frame.target.n_rows),
          bins_(frame, crew, tick) {
        for (int w = 0; w < crew_.size(); ++w)
            benches_.push_back(std::make_unique<Bench>(frame_, appraiser_, crew_.pulse(w, tick_)));
    }

    Segment all() const override { return rows_.all(); }
    std::span<const Row> rows(Segment node) override { return rows_.of(node); }
    std::span<const Row> list(Segment node) const { return rows_.of(node); }
    // The quartiles of the columns, found in the bins of the whole table where they are counted; else nothing.
    std::vector<Quartiles> quartiles() {
        return use_counts(all()) ? bins_.quartiles(all(), list(all())) : std::vector<Quartiles>{};
    }
    // What is left of this engine when others grow the rest: the rows of nodes.
    void retire() { bins_.forget(), rows_.forget_scratch(), benches_.clear(); }
    bool gives_stats() const override { return true; }
    void targets(const int64_t* y) override { y_ = y; }
    void whole(Segment node, Stat& stat) override {
        stat.assign(width_, 0);
        if (S == Shape::two && frame_.unit) {
            int64_t ones = 0;
            for (Row r : list(node)) ones += frame_.target.label.bytes[r];
            stat[kRows] = stat[kWeight] = node.size();
            stat[kCounts] = node.size() - ones, stat[kCounts + 1] = ones;
            return;
        }
        for (Row r : list(node)) add_row(stat.data(), r);
    }
    // What one worker alone can hold in its cache is left to it; a few more levels are sooner counted than sorted.
    bool too_small(Segment node, int64_t levels_left) const override {
        return fits_cluster(node.size(), frame_) &&
               (levels_left > 3 || node.size() < frame_.settings.tuning.counted_rows);
    }

    // -- the contest --------------------------------------------------------------------------------------------------

    const std::vector<size_t>& survey(Segment node, const Stat& whole, const std::vector<size_t>& columns,
                                      uint64_t) override {
        node_ = node, whole_ = &whole, everything_ = false;
        open_scores();
        for (auto& bench : benches_) bench->contest.open(by_column(), frame_.columns.size()), bench->pending.clear();
        counted_ = use_counts(node);
        const std::vector<int64_t>* held = counted_ ? &bins_.of(node, list(node)) : nullptr;
        crew_.share(columns.size(), [&](size_t i, int w) { survey_column(columns[i], held, *benches_[at(w)]); }, tick_);
        share_bars();
        open_bins(held);
        for (size_t w = 1; w < benches_.size(); ++w) benches_[0]->contest.join(benches_[w]->contest);
        return benches_[0]->contest.close();
    }
    void everything() override { everything_ = true; }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        Bench& bench = *benches_[0];
        if (frame_.columns[column].is_code()) return level_buckets(column, node, out, bench);
        if (counted_ && !everything_) return bin_buckets(column, node, out, bench);
        return sorted_buckets(column, node, out, bench);
    }
    int64_t n_cuts(size_t column, Segment node) override {
        Bench& bench = *benches_[0];
        gather(column, node, nullptr, bench);
        int64_t distinct = 0;
        for (size_t i = 1; i < bench.order.size(); ++i)
            distinct += bench.keys[bench.order[i]] != bench.keys[bench.order[i - 1]];
        return distinct;
    }
    double number(size_t, int64_t key) const override { return number_of(key); }
    int64_t integer(size_t, int64_t key) const override { return integer_of(key); }
    bool tells_apart(Segment node) override {
        return std::any_of(frame_.columns.begin(), frame_.columns.end(),
                           [&](const Column& c) { return treewise::tells_apart(c, list(node)); });
    }

    // -- splitting ----------------------------------------------------------------------------------------------------

    void divide(Segment node, const Chosen& chosen, std::vector<int64_t>& sizes) override {
        const Column& column = frame_.columns[static_cast<size_t>(chosen.column)];
        const Codes& codes = bins_.codes()[static_cast<size_t>(chosen.column)];
        const bool coded = !codes.none() && !column.is_code();
        const uint8_t bin = coded ? codes.bin(chosen.last_left) : 0;
        rows_.part(node, sizes, [&](Row r) -> uint32_t {
            if (coded && codes.of_row[r] != bin && codes.of_row[r] != kGone) return codes.of_row[r] > bin;
            const int64_t key = key_of(column, r);
            return key == kNoKey ? static_cast<uint32_t>(chosen.missing) : chosen.branch(key);
        });
    }
    // The children that stay here are counted: all but the largest of them, which is the parent less its siblings.
    void settle(Segment node, const std::vector<int64_t>& sizes, const std::vector<uint8_t>& open) override {
        if (!bins_.holds(node)) return;
        const auto largest = static_cast<size_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
        constexpr size_t kFew = 16;  // branches: with more, counting each sibling costs more than it saves
        const bool worth = sizes.size() <= kFew && open[largest] && use_counts(child(node, sizes, largest)) &&
                           frame_.settings.tuning.subtract;
        if (!worth) return bins_.drop(node);  // the children are small, or leaves: counted afresh if at all
        auto parent = bins_.take(node);
        for (size_t b = 0; b < sizes.size(); ++b) {
            if (b == largest || sizes[b] == 0) continue;
            const Segment other = child(node, sizes, b);
            auto counts = bins_.count(list(other));
            for (size_t i = 0; i < counts.size(); ++i) parent[i] -= counts[i];
            if (open[b] && use_counts(other)) bins_.hold(other, std::move(counts));
        }
        bins_.hold(child(node, sizes, largest), std::move(parent));
    }

private:
    static size_t at(int64_t i) { return static_cast<size_t>(i); }

    void add_row(int64_t* stat, Row row) const { frame_.add_row(stat, row, y_, frame_.quantiser); }
    bool by_column() const { return frame_.settings.rule == Rule::c45; }

    // What one worker needs to look at a column.
    struct Pending {
        int32_t column;
        uint8_t bin;
        double most;
    };
    struct Bench {
        Bench(const Frame& frame, const Appraiser<S>& appraiser, const Pulse& p)
            : pulse(p),
              sorted(frame.settings, frame.tables, appraiser, p),
              levels(frame.settings, appraiser, frame.n_classes()),
              missing(frame),
              bin(frame.width()) {}
        Pulse pulse;
        SortedScan<S> sorted;
        LevelScan<S> levels;
        LevelCounts counts;
        Contest contest;
        std::vector<Pending> pending;
        Sorter sorter;
        std::vector<int64_t> keys;    // of the gathered rows …
        std::vector<Row> found;       // … which are these …
        std::vector<uint32_t> order;  // … in this order
        Missing<S> missing;
        Stat bin, stats;
        std::array<uint8_t, kBins> marked;
    };

    void open_scores() {
        double low = 0, high = 0;
        if constexpr (S == Shape::sums) {
            int64_t least = frame_.target.y[list(node_)[0]], most = least;
            for (Row r : list(node_)) {
                least = std::min(least, frame_.target.y[r]), most = std::max(most, frame_.target.y[r]);
            }
            low = frame_.quantiser.back(least), high = frame_.quantiser.back(most);
        }
        appraiser_.open(whole_->data(), low, high, frame_.quantiser.off(frame_.target.top != kAllFit));
    }

    // -- counting -----------------------------------------------------------------------------------------------------

    bool use_counts(Segment node) const {
        if (frame_.settings.rule != Rule::gain || frame_.settings.criterion == Criterion::poisson) return false;
        const int64_t rows = node.size(), least = frame_.settings.tuning.counted_rows;
        return rows >= least && (static_cast<int64_t>(kBins * width_) <= 2 * rows || least < 256);
    }

    // -- one column ---------------------------------------------------------------------------------------------------

    void survey_column(size_t column, const std::vector<int64_t>* held, Bench& bench) {
        const bool is_code = frame_.columns[column].is_code();
        if (is_code) return survey_levels(column, bench);
        if (!held) return survey_sorted(column, bench);
        const int64_t* cells = bins_.cells(*held, column);
        bins_.read(cells, column, kGone, bench.missing.gone);
        if constexpr (S == Shape::sums) add_gone_sums(column, bench);
        each_placement(column, bench, [&](const Around& around) { score_edges(column, cells, around, bench); });
        each_placement(column, bench, [&](const Around& around) { bound_bins(column, cells, around, bench); });
    }
    // The missing rows' exact sum decides whether they may have a branch of their own.
    void add_gone_sums(size_t column, Bench& bench) const {
        if (!bench.missing.gone[kRows]) return;
        std::fill(bench.missing.gone.begin(), bench.missing.gone.end(), 0);
        for (Row r : list(node_)) {
            if (bins_.codes()[column].of_row[r] == kGone) add_row(bench.missing.gone.data(), r);
        }
    }
    template <class Work>
    void each_placement(size_t column, Bench& bench, const Work& work) {
        bench.missing.each_placement(column, *whole_, bench.levels, bench.contest, work);
    }

    bool fits(const Stat& side) const {
        return side[kRows] >= std::max<int64_t>(1, frame_.settings.min_samples_leaf) &&
               side[kWeight] >= frame_.settings.min_leaf_weight;
    }
    void score_edges(size_t column, const int64_t* cells, const Around& around, Bench& bench) {
        const double own = around.own ? appraiser_.scorer.side(around.own) : 0.0;
        const int64_t present = (*whole_)[kRows] - bench.missing.gone[kRows];
        int64_t place = 0;
        for (size_t b = 0; b < kGone && place < present; ++b) {
            bins_.read(cells, column, b, bench.bin);
            if (bench.bin[kRows] == 0) continue;
            place += bench.bin[kRows];
            add(bench.missing.left.data(), bench.bin.data(), width_),
                sub(bench.missing.right.data(), bench.bin.data(), width_);
            if (place == present || !fits(bench.missing.left) || !fits(bench.missing.right)) continue;
            const double score = appraiser_.scorer.side(bench.missing.left.data()) +
                                 appraiser_.scorer.side(bench.missing.right.data()) + own;
            const auto [least, most] = appraiser_.merit(score, 2 + (around.own != nullptr), [] { return 0.0; });
            bench.contest.offer(around.column, place, least, most);
        }
    }
    void bound_bins(size_t column, const int64_t* cells, const Around& around, Bench& bench) {
        const double own = around.own ? appraiser_.scorer.side(around.own) : 0.0;
        for (size_t b = 0; b < kGone; ++b) {
            bins_.read(cells, column, b, bench.bin);
            if (bench.bin[kRows] == 0) continue;
            sub(bench.missing.right.data(), bench.bin.data(), width_);
            if (bench.bin[kRows] > 1 && bins_.codes()[column].mixed[b]) {
                const double most =
                    appraiser_
                        .merit(bound(appraiser_.scorer, bench.missing.left.data(), bench.bin.data(),
                                     bench.missing.right.data(), S == Shape::sums ? bins_.squares(cells, b) : 0.0) +
                                   own,
                               2 + (around.own != nullptr), [] { return 0.0; })
                        .most;
                if (!frame_.settings.tuning.bounds || !bench.contest.hopeless(around.column, most))
                    bench.pending.push_back({around.column, static_cast<uint8_t>(b), most});
            }
            add(bench.missing.left.data(), bench.bin.data(), width_);
        }
    }
    // -- opening bins -------------------------------------------------------------------------------------------------

    void share_bars() {
        for (size_t c = 0; c < (by_column() ? frame_.columns.size() : 1); ++c) {
            double bar = benches_[0]->contest.bar(static_cast<int32_t>(c));
            for (const auto& bench : benches_) bar = std::max(bar, bench->contest.bar(static_cast<int32_t>(c)));
            for (auto& bench : benches_) bench->contest.raise(static_cast<int32_t>(c), bar);
        }
    }
    // The most promising column first: what it finds raises the bar for the others.
    void open_bins(const std::vector<int64_t>* held) {
        std::vector<Pending> all;
        for (const auto& bench : benches_) all.insert(all.end(), bench->pending.begin(), bench->pending.end());
        std::sort(all.begin(), all.end(), [](const Pending& a, const Pending& b) { return a.column < b.column; });
        struct Part {
            double most;
            size_t begin, end;  // of a column's bins in `all`
        };
        std::vector<Part> parts;
        for (size_t i = 0; i < all.size(); ++i) {
            if (i == 0 || all[i].column != all[i - 1].column) parts.push_back({all[i].most, i, i});
            parts.back().most = std::max(parts.back().most, all[i].most);
            parts.back().end = i + 1;
        }
        std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.most > b.most; });
        Bench& bench = *benches_[0];
        for (const Part& part : parts) {
            const int32_t column = all[part.begin].column;
            if (bench.contest.hopeless(column, part.most)) continue;
            bench.marked.fill(0);
            for (size_t i = part.begin; i < part.end; ++i) {
                if (!bench.contest.hopeless(column, all[i].most)) bench.marked[all[i].bin] = 1;
            }
            open_column(static_cast<size_t>(column), bins_.cells(*held, static_cast<size_t>(column)), bench);
            tick_();
        }
    }
    void open_column(size_t column, const int64_t* cells, Bench& bench) {
        gather(column, node_, bench.marked.data(), bench);
        bins_.read(cells, column, kGone, bench.missing.gone);
        if constexpr (S == Shape::sums) add_gone_sums(column, bench);
        each_placement(column, bench, [&](Around around) {
            size_t begin = 0;
            for (size_t b = 0; b < kGone; ++b) {
                bins_.read(cells, column, b, bench.bin);
                const int64_t n = bench.bin[kRows];
                if (n == 0) continue;
                if (bench.marked[b]) {
                    scan_gathered(around, begin, n - 1, bench);
                    begin += at(n);
                }
                around.below += n;
                add(bench.missing.left.data(), bench.bin.data(), width_),
                    sub(bench.missing.right.data(), bench.bin.data(), width_);
            }
        });
    }
    // Rows of a node that are not missing (of the marked bins only), in order of value.
    void gather(size_t column, Segment node, const uint8_t* marked, Bench& bench) const {
        bench.found.clear();
        if (marked) {
            const uint8_t* code = bins_.codes()[column].of_row;
            const int64_t* cells = bins_.cells(bins_.held(node), column);
            size_t n = 0;
            for (size_t b = 0; b < kGone; ++b) n += marked[b] ? bins_.rows(cells, column, b) : 0;
            bench.found.resize(n + 1);  // the last is written in vain, as what is not marked is
            n = 0;
            for (Row r : list(node)) bench.found[n] = r, n += marked[code[r]];
            bench.found.pop_back();
        } else {
            bench.found.assign(list(node).begin(), list(node).end());
        }
        bench.keys.resize(bench.found.size());
        bench.pulse();
        read_keys(frame_.columns[column], bench.found, bench.keys.data());
        bench.pulse();
        if (!marked) drop_missing(bench);
        bench.order.resize(bench.found.size());
        std::iota(bench.order.begin(), bench.order.end(), 0u);
        bench.sorter.sort(bench.keys, bench.order, bench.pulse);
    }
    static void drop_missing(Bench& bench) {
        size_t n = 0;
        for (size_t i = 0; i < bench.found.size(); ++i) {
            bench.found[n] = bench.found[i], bench.keys[n] = bench.keys[i];
            n += bench.keys[i] != kNoKey;
        }
        bench.found.resize(n), bench.keys.resize(n);
    }
    void scan_gathered(const Around& around, size_t begin, int64_t n_cuts, Bench& bench) {
        const Target& target = frame_.target;
        const auto row = [&](int64_t i) { return bench.found[bench.order[begin + at(i)]]; };
        const auto load = [&](int64_t i) {
            if constexpr (S == Shape::sums) return frame_.quantiser(target.y[row(i)], target.weight[row(i)]);
            return int64_t{target.label[row(i)]};
        };
        const auto differs = [&](int64_t i) {
            return bench.keys[bench.order[begin + at(i)]] != bench.keys[bench.order[begin + at(i) - 1]];
        };
        if (frame_.unit)
            bench.sorted.scan(around, n_cuts, load, UnitWeight{}, differs, bench.contest);
        else
            bench.sorted.scan(
                around, n_cuts, load, [&](int64_t i) { return target.weight[row(i)]; }, differs, bench.contest);
    }
    void survey_sorted(size_t column, Bench& bench) {
        gather(column, node_, nullptr, bench);
        std::fill(bench.missing.gone.begin(), bench.missing.gone.end(), 0);
        if (static_cast<int64_t>(bench.found.size()) < node_.size())
            count_gone(column, node_, bench.missing.gone.data());
        each_placement(column, bench, [&](const Around& around) {
            scan_gathered(around, 0, static_cast<int64_t>(bench.found.size()) - 1, bench);
        });
    }

    // -- what the exact decision looks at -----------------------------------------------------------------------------

    std::vector<int64_t> places_of(size_t column, int64_t present) const {
        std::vector<int64_t> places;
        benches_[0]->contest.list_places(column, places);
        places.push_back(present);
        return places;
    }
    Bucket sorted_buckets(size_t column, Segment node, std::vector<Bucket>& out, Bench& bench) {
        gather(column, node, nullptr, bench);
        const auto present = static_cast<int64_t>(bench.found.size());
        const auto key = [&](int64_t i) { return bench.keys[bench.order[at(i)]]; };
        std::vector<int64_t> places;
        for (int64_t i = 1; everything_ && i < present; ++i) {
            if (key(i) != key(i - 1)) places.push_back(i);
        }
        everything_ ? places.push_back(present) : void(places = places_of(column, present));
        bench.stats.assign((places.size() + 1) * width_, 0);
        int64_t begin = 0, distinct = -1;
        for (size_t p = 0; p < places.size() && present; ++p) {
            int64_t* stat = bench.stats.data() + p * width_;
            for (int64_t i = begin; i < places[p]; ++i) {
                add_row(stat, bench.found[bench.order[at(i)]]);
                distinct += i == 0 || key(i) != key(i - 1);
            }
            const int64_t place = frame_.settings.random_ties ? distinct : places[p] - 1;
            out.push_back({nullptr, nullptr, stat, key(begin), key(places[p] - 1), place});
            begin = places[p];
        }
        int64_t* gone = bench.stats.data() + places.size() * width_;
        count_gone(column, node, gone);
        return {nullptr, nullptr, gone, 0, 0, 0};
    }
    void count_gone(size_t column, Segment node, int64_t* gone) const {
        for (Row r : list(node)) {
            if (key_of(frame_.columns[column], r) == kNoKey) add_row(gone, r);
        }
    }
    // Only the bins beside a surviving cut are sorted: their keys say where it lies.
    Bucket bin_buckets(size_t column, Segment node, std::vector<Bucket>& out, Bench& bench) {
        constexpr size_t kMany = 256;  // cuts: sorting all rows is then no dearer
        if (frame_.settings.random_ties || places_of(column, 0).size() > kMany)
            return sorted_buckets(column, node, out, bench);
        const int64_t* cells = bins_.cells(bins_.held(node), column);
        std::array<int64_t, kBins> below{};  // present rows below a bin
        int64_t present = 0;
        for (size_t b = 0; b < kGone; ++b) {
            bins_.read(cells, column, b, bench.bin);
            below[b] = present;
            present += bench.bin[kRows];
        }
        below[kGone] = present;
        const std::vector<int64_t> places = places_of(column, present);
        bench.marked.fill(0);
        for (size_t p = 0; p + 1 < places.size(); ++p) {
            size_t b = 0;
            while (below[b + 1] < places[p]) ++b;
            bench.marked[b] = 1;
            while (below[b + 1] <= places[p]) ++b;
            bench.marked[b] = 1;
        }
        gather(column, node, bench.marked.data(), bench);
        std::vector<int64_t> cuts;  // the key at which each bucket ends, and that at which the next begins
        std::vector<int64_t> nexts;
        for (size_t p = 0; p + 1 < places.size(); ++p) {
            int64_t skipped = 0;  // present rows below the cut that were not gathered
            for (size_t b = 0; below[b] < places[p]; ++b) skipped += bench.marked[b] ? 0 : below[b + 1] - below[b];
            const size_t i = at(places[p] - skipped);
            cuts.push_back(bench.keys[bench.order[i - 1]]);
            nexts.push_back(bench.keys[bench.order[i]]);
        }
        fill_buckets(column, node, cuts, bench);
        constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
        for (size_t p = 0; p < places.size(); ++p) {
            const int64_t low = p ? nexts[p - 1] : kLeast, high = p < cuts.size() ? cuts[p] : kNoKey - 1;
            out.push_back({nullptr, nullptr, bench.stats.data() + p * width_, low, high, places[p] - 1});
        }
        return {nullptr, nullptr, bench.stats.data() + places.size() * width_, 0, 0, 0};
    }
    // Exact statistics between cuts, in one pass over the node's codes; values are read in the cuts' own bins only.
    void fill_buckets(size_t column, Segment node, const std::vector<int64_t>& cuts, Bench& bench) const {
        const Codes& codes = bins_.codes()[column];
        bench.stats.assign((cuts.size() + 2) * width_, 0);
        std::array<uint32_t, kBins> bucket{};
        std::array<uint8_t, kBins> unsure{};
        for (size_t b = 0; b < kGone; ++b) {
            for (int64_t cut : cuts) bucket[b] += codes.bin(cut) < b;
        }
        for (int64_t cut : cuts) unsure[codes.bin(cut)] = 1;
        bucket[kGone] = static_cast<uint32_t>(cuts.size() + 1);
        if constexpr (S == Shape::two) {
            if (frame_.unit) return fill_from_counts(column, node, cuts, bucket, unsure, bench);
        }
        for (Row r : list(node)) {
            const uint8_t code = codes.of_row[r];
            const uint32_t b = unsure[code] ? which(cuts, key_of(frame_.columns[column], r)) : bucket[code];
            add_row(bench.stats.data() + b * width_, r);
        }
    }
    static uint32_t which(const std::vector<int64_t>& cuts, int64_t key) {
        return static_cast<uint32_t>(std::lower_bound(cuts.begin(), cuts.end(), key) - cuts.begin());
    }
    void fill_from_counts(size_t column, Segment node, const std::vector<int64_t>& cuts,
                          const std::array<uint32_t, kBins>& bucket, const std::array<uint8_t, kBins>& unsure,
                          Bench& bench) const {
        const int64_t* cells = bins_.cells(bins_.held(node), column);
        for (size_t b = 0; b < kBins; ++b) {
            if (unsure[b]) continue;
            bins_.read(cells, column, b, bench.bin);
            add(bench.stats.data() + bucket[b] * width_, bench.bin.data(), width_);
        }
        for (size_t i = 0; i < bench.found.size(); ++i) {  // gathered: the cuts' own bins and their neighbours
            const Row r = bench.found[i];
            if (unsure[bins_.codes()[column].of_row[r]])
                add_row(bench.stats.data() + which(cuts, bench.keys[i]) * width_, r);
        }
    }

    // -- levels -------------------------------------------------------------------------------------------------------

    bool by_rows(size_t column) const {
        return S == Shape::many && (width_ > 64 || at(frame_.columns[column].n_levels) * width_ > (1u << 20));
    }
    void count_levels(size_t column, Segment node, Bench& bench) const {
        const auto n_levels = at(frame_.columns[column].n_levels);
        const Row* members = list(node).data();
        const auto codes = frame_.columns[column].template view<int32_t>();
        const bool usual = y_ == frame_.target.y;  // histograms know nothing of a node's own units
        if (counted_ && usual && bins_.countable(column)) {
            const int64_t* cells = bins_.cells(bins_.held(node), column);
            bench.counts.levels.clear();
            bench.counts.stats.clear();
            for (size_t l = 0; l <= n_levels; ++l) {
                bins_.read(cells, column, l < n_levels ? l : kGone, bench.bin);
                if (l < n_levels && bench.bin[kRows] == 0) continue;
                bench.counts.levels.push_back(static_cast<uint32_t>(l));
                bench.counts.stats.insert(bench.counts.stats.end(), bench.bin.begin(), bench.bin.end());
            }
            return;
        }
        bench.counts.count(
            node.size(), n_levels, width_,
            [&](int64_t i) { return codes[members[i]] < 0 ? n_levels : at(codes[members[i]]); },
            [&](int64_t* stat, int64_t i) { add_row(stat, members[i]); });
    }
    void survey_levels(size_t column, Bench& bench) {
        const auto number = static_cast<int32_t>(column);
        if (by_rows(column)) {
            constexpr double kInf = std::numeric_limits<double>::infinity();
            bench.contest.offer(number, 0, -kInf, kInf);
            return;
        }
        count_levels(column, node_, bench);
        const int64_t* gone = bench.counts.gone(width_);
        if (bench.counts.size() == 0 || bench.counts.size() + (gone[kRows] > 0) < 2) return;
        bench.levels.scan(frame_.columns[column], number, bench.counts.stats.data(), bench.counts.size(),
                          whole_->data(), gone, frame_.own_branch(gone), bench.contest);
    }
    Bucket level_buckets(size_t column, Segment node, std::vector<Bucket>& out, Bench& bench) {
        if (by_rows(column)) return level_rows(column, node, out, bench);
        count_levels(column, node, bench);
        for (size_t i = 0; i < bench.counts.size(); ++i) {
            const int64_t code = bench.counts.levels[i];
            out.push_back(
                {nullptr, nullptr, bench.counts.stats.data() + i * width_, code, code, static_cast<int64_t>(i)});
        }
        return {nullptr, nullptr, bench.counts.gone(width_), 0, 0, 0};
    }
    Bucket level_rows(size_t column, Segment node, std::vector<Bucket>& out, Bench& bench) {
        const auto codes = frame_.columns[column].template view<int32_t>();
        bench.found.assign(list(node).begin(), list(node).end());
        std::stable_sort(bench.found.begin(), bench.found.end(), [&](Row a, Row b) {
            return static_cast<uint32_t>(codes[a]) < static_cast<uint32_t>(codes[b]);  // missing (−1) last
        });
        size_t i = 0;
        const Row* list = bench.found.data();
        while (i < bench.found.size() && codes[list[i]] >= 0) {
            size_t j = i;
            while (j < bench.found.size() && codes[list[j]] == codes[list[i]]) ++j;
            const int64_t code = codes[list[i]];
            out.push_back({list + i, list + j, nullptr, code, code, static_cast<int64_t>(out.size())});
            i = j;
        }
        return {list + i, list + bench.found.size(), nullptr, 0, 0, 0};
    }

    static Segment child(Segment node, const std::vector<int64_t>& sizes, size_t b) {
        Segment s{node.begin, node.begin};
        for (size_t i = 0; i <= b; ++i) s = {s.end, s.end + sizes[i]};
        return s;
    }

    const Frame& frame_;
    Crew& crew_;
    const std::function<void()>& tick_;
    size_t width_;
    Appraiser<S> appraiser_;
    RowLists rows_;
    BinCounts<S> bins_;
    std::vector<std::unique_ptr<Bench>> benches_;

    // of the node at hand
    Segment node_;
    const Stat* whole_ = nullptr;
    const int64_t* y_ = nullptr;
    bool counted_ = false, everything_ = false;
};

extern template class Histograms<Shape::two>;  // in engines/histogram.cpp
extern template class Histograms<Shape::many>;
extern template class Histograms<Shape::sums>;

}  // namespace treewise
