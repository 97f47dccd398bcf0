// The engine of stumps on one table whose weights change: its columns are sorted once, and a tree of depth 1 costs one
// pass over the orders.
//
//     rows in order of a number   | block | block | block …     blocks of some hundred rows, which end between two
//     values
//
//   1. the weights of each block are added up; every end of a block is a cut, and is scored;
//   2. every block is bounded (criteria/bin_bound.hpp): how good could a cut inside it be?
//   3. the few blocks whose bound reaches the bar are gone through row by row (search/sorted_scan.hpp).
//
// Levels of categories are counted in a pass. As with the other engines, scores say what is worth a look, and the scan
// decides in integers: the stump is the one that ordinary growth finds.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "criteria/bin_bound.hpp"
#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "search/category_split.hpp"
#include "search/missing_placement.hpp"
#include "search/sorted_scan.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

// What is known of a table whatever its weights: made once.
struct Orders {
    struct Order {
        std::vector<Row> rows;       // in order of value, the missing ones last
        size_t present = 0;          // how many are not missing
        std::vector<uint32_t> ends;  // of the blocks; the last is `present`
        std::vector<uint8_t> mixed;  // whether a block holds different values
        std::vector<uint16_t> slot;  // of each row of the table: block · classes + class; missing rows come after all
        bool constant = true;        // nothing to tell rows apart
    };
    std::vector<Order> of_column;  // categories: only whether they are constant

    Orders(const std::vector<Column>& columns, const Target& target, Crew& crew, const Pulse& tick)
        : of_column(columns.size()), target_(target) {
        std::vector<Row> all(static_cast<size_t>(target.n_rows));
        std::iota(all.begin(), all.end(), Row{0});
        std::vector<Sorter> sorters(static_cast<size_t>(crew.size()));
        crew.share(
            columns.size(),
            [&](size_t c, int worker) {
                const Pulse pulse = crew.pulse(worker, tick);
                if (columns[c].is_code())
                    of_column[c].constant = !tells_apart(columns[c], all);
                else
                    sort(columns[c], all, sorters[static_cast<size_t>(worker)], pulse, of_column[c]);
            },
            tick);
    }

private:
    static constexpr size_t kLeast = 64, kSlots = 2048, kBlocks = 64;  // rows of a block; slots and blocks of a column

    void sort(const Column& column, const std::vector<Row>& all, Sorter& sorter, const Pulse& pulse,
              Order& order) const {
        std::vector<int64_t> keys(all.size());
        read_keys(column, all, keys.data());
        pulse();
        order.rows = all;
        sorter.sort(keys, order.rows, pulse);  // kNoKey, the largest, comes last
        const auto key = [&](size_t i) { return keys[order.rows[i]]; };
        order.present = all.size();
        while (order.present && key(order.present - 1) == kNoKey) --order.present;
        order.constant = key(0) == key(all.size() - 1);
        const auto classes = static_cast<size_t>(target_.n_classes), most = std::max(kBlocks, kSlots / classes);
        const size_t least = std::max(kLeast, order.present / (most - 1) + 1);
        order.slot.resize(all.size());
        size_t begin = 0;
        const auto take = [&](size_t end) {  // rows of a block, or the missing ones
            for (; begin < end; ++begin) {
                const Row row = order.rows[begin];
                order.slot[row] =
                    static_cast<uint16_t>(order.ends.size() * classes + static_cast<size_t>(target_.label[row]));
            }
        };
        while (begin < order.present) {
            const int64_t first = key(begin);
            size_t end = std::min(begin + least, order.present);
            while (end < order.present && key(end) == key(end - 1)) ++end;
            take(end);
            order.ends.push_back(static_cast<uint32_t>(end));
            order.mixed.push_back(first != key(end - 1));
        }
        take(all.size());
    }

    const Target& target_;
};

template <Shape S>
class Presorted : public Engine {
public:
    Presorted(const Frame& frame, const Orders& orders, Crew& crew, const Pulse& tick)
        : frame_(frame),
          orders_(orders),
          crew_(crew),
          tick_(tick),
          width_(frame.width()),
          appraiser_(frame.settings, frame.tables.logs, frame.n_classes()),
          sums_(frame.columns.size()),
          branch_(at(frame.target.n_rows)) {
        for (int w = 0; w < crew_.size(); ++w)
            benches_.push_back(std::make_unique<Bench>(frame_, appraiser_, crew_.pulse(w, tick_)));
        root_.assign(width_, 0);
        root_[kRows] = frame.target.n_rows;
        for (size_t r = 0; r < branch_.size(); ++r)
            root_[kCounts + static_cast<size_t>(frame.target.label.bytes[r])] += frame.target.weight[r];
        for (size_t c = kCounts; c < width_; ++c) root_[kWeight] += root_[c];
    }

    Segment all() const override { return {0, frame_.target.n_rows}; }
    std::span<const Row> rows(Segment) override { return {}; }  // classes with statistics: nobody asks
    bool gives_stats() const override { return true; }
    void whole(Segment node, Stat& stat) override {
        if (node.size() == frame_.target.n_rows) {
            stat = root_;
            return;
        }
        int64_t begin = 0;
        for (const int64_t* part = parts_.data(); part < parts_.data() + parts_.size(); part += width_) {
            if (begin == node.begin && part[kRows] == node.size()) stat.assign(part, part + width_);
            begin += part[kRows];
        }
    }
    // The branch each row took; all 0 while nothing was divided.
    const std::vector<uint32_t>& branches() const { return branch_; }

    // -- the contest --------------------------------------------------------------------------------------------------

    const std::vector<size_t>& survey(Segment, const Stat& whole, const std::vector<size_t>& columns,
                                      uint64_t) override {
        whole_ = &whole;
        appraiser_.open(whole.data(), 0, 0, {});
        for (auto& bench : benches_) bench->contest.open(false, frame_.columns.size());
        each_column(columns, [this](size_t c, Bench& bench) { survey_column(c, bench); });
        double bar = benches_[0]->contest.bar(0);
        for (const auto& bench : benches_) bar = std::max(bar, bench->contest.bar(0));
        for (auto& bench : benches_) bench->contest.raise(0, bar);
        each_column(columns, [this](size_t c, Bench& bench) { open_blocks(c, bench); });
        for (size_t w = 1; w < benches_.size(); ++w) benches_[0]->contest.join(benches_[w]->contest);
        return benches_[0]->contest.close();
    }
    Bucket buckets(size_t column, Segment, std::vector<Bucket>& out) override {
        out.clear();
        Bench& bench = *benches_[0];
        return frame_.columns[column].is_code() ? level_buckets(column, out, bench) : cut_buckets(column, out, bench);
    }
    int64_t n_cuts(size_t column, Segment) override {
        int64_t cuts = 0;
        for (size_t i = 1; i < orders_.of_column[column].present; ++i) cuts += differs(column, i);
        return cuts;
    }
    bool tells_apart(Segment) override {
        return std::any_of(orders_.of_column.begin(), orders_.of_column.end(),
                           [](const Orders::Order& o) { return !o.constant; });
    }
    double number(size_t, int64_t key) const override { return number_of(key); }
    int64_t integer(size_t, int64_t key) const override { return integer_of(key); }

    // -- splitting ----------------------------------------------------------------------------------------------------

    void divide(Segment, const Chosen& chosen, std::vector<int64_t>& sizes) override {
        const Column& column = frame_.columns[at(chosen.column)];
        const size_t n = branch_.size(), pieces = (n + kPiece - 1) / kPiece;
        std::vector<Stat> sums(at(crew_.size()), Stat(sizes.size() * width_, 0));
        crew_.share(
            pieces,
            [&](size_t piece, int worker) {
                int64_t* mine = sums[at(worker)].data();
                const size_t begin = piece * kPiece, end = std::min(n, begin + kPiece);
                column.visit([&](const auto& values) {
                    const auto missing = static_cast<uint32_t>(chosen.missing);
                    for (size_t r = begin; r < end; ++r) {
                        const int64_t key = key_of(values[r]);
                        branch_[r] = key == kNoKey ? missing : chosen.branch(key);
                    }
                });
                for (size_t r = begin; r < end; ++r) add_row(mine + branch_[r] * width_, static_cast<Row>(r));
            },
            tick_);
        parts_.assign(sizes.size() * width_, 0);
        for (const Stat& sum : sums) add(parts_.data(), sum.data(), parts_.size());
        for (size_t b = 0; b < sizes.size(); ++b) sizes[b] = parts_[b * width_ + kRows];
    }

private:
    static constexpr size_t kPiece = 1 << 14;  // rows

    template <class I>
    static size_t at(I i) {
        return static_cast<size_t>(i);
    }
    void add_row(int64_t* stat, Row row) const { frame_.add_row(stat, row, nullptr, frame_.quantiser); }
    bool differs(size_t column, size_t i) const {  // whether the values of places i − 1 and i do
        return key_at(column, i - 1) != key_at(column, i);
    }
    int64_t key_at(size_t column, size_t i) const {
        return key_of(frame_.columns[column], orders_.of_column[column].rows[i]);
    }

    // What one worker needs to look at a column.
    struct Bench {
        Bench(const Frame& frame, const Appraiser<S>& appraiser, const Pulse& pulse)
            : sorted(frame.settings, frame.tables, appraiser, pulse),
              levels(frame.settings, appraiser, frame.n_classes()),
              missing(frame) {}
        SortedScan<S> sorted;
        LevelScan<S> levels;
        LevelCounts counts;
        Contest contest;
        Missing<S> missing;
        Stat stats, slots;
    };

    template <class Work>
    void each_column(const std::vector<size_t>& columns, const Work& work) {
        crew_.share(columns.size(), [&](size_t i, int w) { work(columns[i], *benches_[at(w)]); }, tick_);
    }

    // -- one column ---------------------------------------------------------------------------------------------------

    void survey_column(size_t column, Bench& bench) {
        if (orders_.of_column[column].constant) return;
        if (frame_.columns[column].is_code()) return survey_levels(column, bench);
        add_up(column, bench);
        each_placement(column, bench, [&](const Around& around) { score_ends(column, around, bench); });
    }
    // Statistics of a column's blocks, then of its missing rows: one addition a row.
    void add_up(size_t column, Bench& bench) {
        const Orders::Order& order = orders_.of_column[column];
        const size_t n = order.ends.size() + 1, classes = width_ - kCounts;
        bench.slots.assign(n * classes, 0);
        const uint16_t* slot = order.slot.data();
        const auto* weight = reinterpret_cast<const int64_t*>(frame_.target.weight.base);
        for (size_t r = 0; r < order.slot.size(); ++r) bench.slots[slot[r]] += weight[r];
        Stat& sums = sums_[column];
        sums.resize(n * width_);
        for (size_t b = 0, begin = 0; b < n; ++b) {
            const size_t end = b + 1 < n ? order.ends[b] : order.rows.size();
            int64_t* sum = sums.data() + b * width_;
            sum[kRows] = static_cast<int64_t>(end - begin), sum[kWeight] = 0;
            for (size_t c = 0; c < classes; ++c) sum[kWeight] += sum[kCounts + c] = bench.slots[b * classes + c];
            begin = end;
        }
    }
    // Calls work(around) for each place of the missing rows.
    template <class Work>
    void each_placement(size_t column, Bench& bench, const Work& work) {
        const int64_t* gone = sums_[column].data() + orders_.of_column[column].ends.size() * width_;
        bench.missing.gone.assign(gone, gone + width_);
        bench.missing.each_placement(column, *whole_, bench.levels, bench.contest, work);
    }
    bool fits(const Stat& side) const {
        return side[kRows] >= std::max<int64_t>(1, frame_.settings.min_samples_leaf) &&
               side[kWeight] >= frame_.settings.min_leaf_weight;
    }
    typename Appraiser<S>::Range merit(double score, const Around& around) const {
        const double own = around.own ? appraiser_.scorer.side(around.own) : 0.0;
        return appraiser_.merit(score + own, 2 + (around.own != nullptr), [] { return 0.0; });
    }
    void score_ends(size_t column, const Around& around, Bench& bench) {
        const Orders::Order& order = orders_.of_column[column];
        for (size_t b = 0; b + 1 < order.ends.size(); ++b) {
            const int64_t* block = sums_[column].data() + b * width_;
            add(bench.missing.left.data(), block, width_), sub(bench.missing.right.data(), block, width_);
            if (!fits(bench.missing.left) || !fits(bench.missing.right)) continue;
            const auto [least, most] = merit(
                appraiser_.scorer.side(bench.missing.left.data()) + appraiser_.scorer.side(bench.missing.right.data()),
                around);
            bench.contest.offer(around.column, order.ends[b], least, most);
        }
    }
    void open_blocks(size_t column, Bench& bench) {
        const Orders::Order& order = orders_.of_column[column];
        if (order.constant || frame_.columns[column].is_code()) return;
        each_placement(column, bench, [&](Around around) {
            size_t begin = 0;
            for (size_t b = 0; b < order.ends.size(); begin = order.ends[b++]) {
                const int64_t* block = sums_[column].data() + b * width_;
                around.below = static_cast<int64_t>(begin);
                if (order.mixed[b] && hopeful(around, block, bench)) scan_block(column, around, block[kRows], bench);
                add(bench.missing.left.data(), block, width_), sub(bench.missing.right.data(), block, width_);
            }
        });
    }
    bool hopeful(const Around& around, const int64_t* block, Bench& bench) {
        if (!frame_.settings.tuning.bounds) return true;
        sub(bench.missing.right.data(), block, width_);
        const double best = bound(appraiser_.scorer, bench.missing.left.data(), block, bench.missing.right.data(), 0.0);
        add(bench.missing.right.data(), block, width_);
        return !bench.contest.hopeless(around.column, merit(best, around).most);
    }
    void scan_block(size_t column, const Around& around, int64_t n_rows, Bench& bench) {
        const Target& target = frame_.target;
        const Row* rows = orders_.of_column[column].rows.data() + around.below;
        bench.sorted.scan(
            around, n_rows - 1, [&](int64_t i) { return int64_t{target.label[rows[i]]}; },
            [&](int64_t i) { return target.weight[rows[i]]; },
            [&](int64_t i) { return differs(column, at(around.below + i)); }, bench.contest);
    }

    // -- what the exact decision looks at -----------------------------------------------------------------------------

    Bucket cut_buckets(size_t column, std::vector<Bucket>& out, Bench& bench) {
        const Orders::Order& order = orders_.of_column[column];
        std::vector<int64_t> places;
        benches_[0]->contest.list_places(column, places);
        if (order.present) places.push_back(static_cast<int64_t>(order.present));
        bench.stats.assign((places.size() + 1) * width_, 0);
        size_t begin = 0;
        int64_t distinct = -1;
        for (size_t p = 0; p < places.size(); begin = at(places[p++])) {
            const size_t end = at(places[p]);
            int64_t* stat = bench.stats.data() + p * width_;
            add_run(column, begin, end, stat);
            int64_t place = places[p] - 1;
            if (frame_.settings.random_ties) {  // the draw goes by the number of the cut among all
                for (size_t i = begin; i < end; ++i) distinct += i == 0 || differs(column, i);
                place = distinct;
            }
            out.push_back({nullptr, nullptr, stat, key_at(column, begin), key_at(column, end - 1), place});
        }
        int64_t* gone = bench.stats.data() + places.size() * width_;
        add(gone, sums_[column].data() + order.ends.size() * width_, width_);
        return {nullptr, nullptr, gone, 0, 0, 0};
    }
    // Statistics of the rows at places [begin, end) of a column's order; of whole blocks they are known.
    void add_run(size_t column, size_t begin, size_t end, int64_t* stat) const {
        const Orders::Order& order = orders_.of_column[column];
        auto b = at(std::upper_bound(order.ends.begin(), order.ends.end(), begin) - order.ends.begin());
        while (begin < end) {
            const size_t start = b ? order.ends[b - 1] : 0, stop = std::min<size_t>(end, order.ends[b]);
            if (begin == start && stop == order.ends[b])
                add(stat, sums_[column].data() + b * width_, width_);
            else
                for (size_t i = begin; i < stop; ++i) add_row(stat, order.rows[i]);
            begin = stop, ++b;
        }
    }

    // -- levels -------------------------------------------------------------------------------------------------------

    void count_levels(size_t column, Bench& bench) const {
        const auto n_levels = at(frame_.columns[column].n_levels);
        const auto codes = frame_.columns[column].template view<int32_t>();
        bench.counts.count(
            frame_.target.n_rows, n_levels, width_,
            [&](int64_t i) { return codes[at(i)] < 0 ? n_levels : at(codes[at(i)]); },
            [&](int64_t* stat, int64_t i) { add_row(stat, static_cast<Row>(i)); });
    }
    void survey_levels(size_t column, Bench& bench) {
        count_levels(column, bench);
        const int64_t* gone = bench.counts.gone(width_);
        if (bench.counts.size() == 0) return;
        bench.levels.scan(frame_.columns[column], static_cast<int32_t>(column), bench.counts.stats.data(),
                          bench.counts.size(), whole_->data(), gone, frame_.own_branch(gone), bench.contest);
    }
    Bucket level_buckets(size_t column, std::vector<Bucket>& out, Bench& bench) {
        count_levels(column, bench);
        for (size_t i = 0; i < bench.counts.size(); ++i) {
            const int64_t code = bench.counts.levels[i];
            out.push_back(
                {nullptr, nullptr, bench.counts.stats.data() + i * width_, code, code, static_cast<int64_t>(i)});
        }
        return {nullptr, nullptr, bench.counts.gone(width_), 0, 0, 0};
    }

    const Frame& frame_;
    const Orders& orders_;
    Crew& crew_;
    const Pulse& tick_;
    size_t width_;
    Appraiser<S> appraiser_;
    std::vector<std::unique_ptr<Bench>> benches_;
    std::vector<Stat> sums_;  // of each column's blocks, then of its missing rows
    Stat root_, parts_;       // of all rows; of the branches
    std::vector<uint32_t> branch_;
    const Stat* whole_ = nullptr;
};

}  // namespace treewise
