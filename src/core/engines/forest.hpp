// The engine of forests: a node looks at a few columns, drawn anew at each, so no list is kept in order.
//
// A node is a segment of the list of rows. Of each drawn column its rows are put in order by their ranks
// (problem/ranks.hpp), which all trees share; every cut is scored, and what may win is handed over as buckets. Nodes of
// two classes take a shorter way: large ones are counted (search/rank_histogram.hpp), and only rows beside a cut that
// may win are put in order; small ones are words (search/bitset_node.hpp).
//
// An entry of the list is a row's number with, where they fit, its class and weight beside it, so that nothing but
// ranks is looked up:
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

template <Shape S>
class Drawn : public Engine {
public:
    Drawn(const Frame& frame, const Ranks& ranks, std::vector<Row> rows, const std::function<void(int64_t)>& tick)
        : frame_(frame),
          ranks_(ranks),
          width_(frame.width()),
          appraiser_(frame.settings, frame.tables.logs, frame.n_classes()),
          pulse_([&tick] { tick(0); }),
          entries_(packed(rows)),
          sorted_(frame.settings, frame.tables, appraiser_, pulse_),
          levels_(frame.settings, appraiser_, frame.n_classes()),
          missing_(frame),
          coded_(frame) {}

    Segment all() const override { return entries_.all(); }
    std::span<const Row> rows(Segment node) override {
        const auto entries = listed(node);
        named_.resize(entries.size());
        for (size_t i = 0; i < entries.size(); ++i) named_[i] = row_of(entries[i]);
        return named_;
    }
    bool gives_stats() const override { return true; }
    void targets(const int64_t* y) override { y_ = y; }
    void whole(Segment node, Stat& stat) override {
        stat.assign(width_, 0);
        if constexpr (S == Shape::sums) return frame_.add_rows(stat.data(), entries_.of(node), y_, loads_);
        if (Words* words = words_.find(node)) return words->count((*words)[node], stat.data());
        for (uint32_t e : entries_.of(node)) add_entry(stat.data(), e);
    }

    // -- the contest --------------------------------------------------------------------------------------------------

    const std::vector<size_t>& survey(Segment node, const Stat& whole, const std::vector<size_t>& columns,
                                      uint64_t) override {
        whole_ = &whole, everything_ = false;
        contest_.open(frame_.settings.rule == Rule::c45, frame_.columns.size());
        frame_.open_scores(appraiser_, whole, entries_.of(node));
        n_coarse_ = 0;
        words_.come_to(node);
        Words* words = as_words(node);
        if (words)
            lefts_.clear(), clean_ = {};
        else
            gather(columns, node);
        for (size_t i = 0; i < columns.size(); ++i) {
            if (words && clean_.set && columns[i] > clean_.column) continue;
            if (frame_.columns[columns[i]].is_code())
                coded_.survey(columns[i], coded(columns[i], node), *whole_, levels_, contest_);
            else if (words)
                survey_word(columns[i], node, *words);
            else if (!count_numbers(columns[i], node, gathered_[i].data()))
                survey_numbers(columns[i], node, gathered_[i].data());
        }
        if (words) score_words(*words);
        open_coarse();
        return contest_.close();
    }
    void everything() override { everything_ = true; }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        if (frame_.columns[column].is_code()) return coded_.buckets(column, coded(column, node), out);
        return number_buckets(column, node, out);
    }
    int64_t n_cuts(size_t column, Segment node) override {
        const Ordered rows = in_order(column, node);
        int64_t cuts = 0;
        for (int64_t i = 1; i < rows.present; ++i) cuts += rows.differs(i);
        return cuts;
    }
    double number(size_t column, int64_t rank) const override { return number_of(ranks_.key(column, rank)); }
    int64_t integer(size_t column, int64_t rank) const override { return integer_of(ranks_.key(column, rank)); }
    bool tells_apart(Segment node) override {
        const auto entries = listed(node);
        const Row first = row_of(entries[0]);
        return std::any_of(entries.begin(), entries.end(), [&](uint32_t e) { return !ranks_.same(first, row_of(e)); });
    }

    // -- splitting ----------------------------------------------------------------------------------------------------

    void divide(Segment node, const Chosen& chosen, std::vector<int64_t>& sizes) override {
        const size_t column = at(chosen.column);
        const auto missing = static_cast<uint32_t>(chosen.missing);
        words_.come_to(node);
        if (Words* words = words_.find(node))
            return divide_word(node, *words, sizes, [&, column](uint32_t e) {
                const uint32_t r = rank_of(e, column);
                return r == kNoRank ? missing : chosen.branch(r);
            });
        const uint32_t* rank = ranks(column, node);
        if (chosen.kind == kThreshold) {
            const auto last = static_cast<uint32_t>(chosen.last_left);
            return entries_.part(node, sizes, [&](uint32_t) -> uint32_t {
                const uint32_t r = *rank++;
                return r == kNoRank ? missing : r > last;
            });
        }
        entries_.part(node, sizes, [&](uint32_t) -> uint32_t {
            const uint32_t r = *rank++;
            return r == kNoRank ? missing : chosen.branch(r);
        });
    }

private:
    static constexpr int64_t kMoment = 64;  // rows: fewer are no time
    static constexpr size_t kPiece = 64;    // rows whose ranks stay at hand

    static size_t at(int64_t i) { return static_cast<size_t>(i); }

    // -- entries ------------------------------------------------------------------------------------------------------

    std::vector<uint32_t> packed(std::vector<Row>& rows) {
        const Target& target = frame_.target;
        if constexpr (S == Shape::sums) {
            loads_ = frame_.loads(rows);
            return std::move(rows);
        }
        int64_t heaviest = 1;
        for (Row r : rows) heaviest = std::max(heaviest, target.weight[r]);
        const int for_classes = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(1, target.n_classes - 1)));
        const int for_weights = std::bit_width(static_cast<uint64_t>(heaviest));
        const int for_rows = 32 - for_classes - for_weights;
        if (for_weights > WeightBits::kMost || target.n_rows > int64_t{1} << for_rows) return std::move(rows);
        row_bits_ = for_rows, class_shift_ = 32 - for_classes;
        row_mask_ = (1u << for_rows) - 1, weight_mask_ = (1u << for_weights) - 1;
        for (Row& r : rows) {
            const auto label = static_cast<uint32_t>(target.label[r]), weight = static_cast<uint32_t>(target.weight[r]);
            r |= label << class_shift_ | weight << for_rows;
        }
        if constexpr (S == Shape::two) {  // by what stands above the row
            trios_.resize(size_t{1} << (32 - for_rows));
            for (uint32_t above = 0; above < trios_.size(); ++above)
                trios_[above] = Trio::of_row(above & weight_mask_, above >> for_weights);
        }
        return std::move(rows);
    }
    Row row_of(uint32_t entry) const { return entry & row_mask_; }
    uint32_t rank_of(uint32_t entry, size_t column) const { return ranks_.column(column)(ranks_.of(row_of(entry))); }
    int64_t class_of(uint32_t entry) const {
        return weight_mask_ ? int64_t{entry >> class_shift_} : int64_t{frame_.target.label[entry]};
    }
    int64_t weight_of(uint32_t entry) const {
        return weight_mask_ ? int64_t{entry >> row_bits_ & weight_mask_} : frame_.target.weight[entry];
    }
    void add_entry(int64_t* stat, uint32_t entry) const {
        const int64_t w = weight_of(entry);
        ++stat[kRows], stat[kWeight] += w;
        if constexpr (S == Shape::sums)
            add_product(stat + kLimbs, w, y_[entry]), stat[kLoad] += loads_[entry];
        else
            stat[kCounts + at(class_of(entry))] += w;
    }

    // -- numbers ------------------------------------------------------------------------------------------------------

    // The ranks of a node's rows in each of these columns: all of a row's stand side by side, so one visit does. They
    // stay until the next node is gathered: what is counted of them looks here, and so does the division of the node
    // (which is the last to ask for its segment in this order).
    void gather(const std::vector<size_t>& columns, Segment node) {
        const auto entries = listed(node);
        if (gathered_.size() < columns.size()) gathered_.resize(columns.size());
        for (size_t i = 0; i < columns.size(); ++i) {
            if (gathered_[i].size() < entries.size()) gathered_[i].resize(entries.size());
        }
        std::array<const std::byte*, kPiece> rows;
        for (size_t begin = 0; begin < entries.size(); begin += kPiece) {
            const size_t n = std::min(entries.size() - begin, kPiece);
            for (size_t k = 0; k < n; ++k) rows[k] = ranks_.of(row_of(entries[begin + k]));
            for (size_t i = 0; i < columns.size(); ++i) {
                uint32_t* out = gathered_[i].data() + begin;
                const auto rank = ranks_.column(columns[i]);
#pragma GCC unroll 4
                for (size_t k = 0; k < n; ++k) out[k] = rank(rows[k]);
            }
        }
        at_hand_ = node, columns_ = columns;
    }
    // Those of one column.
    const uint32_t* ranks(size_t column, Segment node) {
        const bool here = at_hand_.begin == node.begin && at_hand_.end == node.end;
        const auto place = std::find(columns_.begin(), columns_.end(), column);
        if (here && place != columns_.end()) return gathered_[at(place - columns_.begin())].data();
        one_[0] = column;
        gather(one_, node);
        return gathered_[0].data();
    }

    // Two classes of small weights: what is said of them here holds for all nodes below, too.
    bool countable() const {
        return S == Shape::two && weight_mask_ && frame_.settings.rule == Rule::gain && frame_.settings.tuning.bounds &&
               Trio::hold((*whole_)[kWeight]) && (*whole_)[kWeight] <= frame_.tables.inverses.most();
    }
    auto trio() const {
        return [trios = trios_.data(), shift = row_bits_](uint32_t e) { return trios[e >> shift]; };
    }
    // Counts a column in buckets. Returns whether that was possible: nothing may be missing.
    bool count_numbers(size_t column, Segment node, const uint32_t* ranks) {
        if constexpr (S == Shape::two) {
            if (!countable()) return false;
            if (coarse_.size() == n_coarse_) coarse_.push_back(std::make_unique<Coarse>());
            if (!coarse_[n_coarse_]->count(entries_.of(node), ranks, trio())) return false;
            coarse_[n_coarse_++]->survey(static_cast<int32_t>(column), *whole_, sorted_, contest_);
            pulse_();
            return true;
        }
        return false;
    }
    // The most promising column first: what it has to offer spares others.
    void open_coarse() {
        if constexpr (S == Shape::two) {
            std::sort(coarse_.begin(), coarse_.begin() + static_cast<int64_t>(n_coarse_),
                      [](const auto& a, const auto& b) { return a->best() > b->best(); });
            for (size_t i = 0; i < n_coarse_; ++i)
                coarse_[i]->open(
                    *whole_, sorted_, [&](uint32_t e) { return class_of(e); }, [&](uint32_t e) { return weight_of(e); },
                    contest_);
        }
    }

    // The rows of a node in order of a column: rank above, entry below; the missing ones last.
    struct Ordered {
        const uint64_t* keys;
        int64_t present, n;
        uint32_t rank(int64_t i) const { return static_cast<uint32_t>(keys[i] >> 32); }
        uint32_t entry(int64_t i) const { return static_cast<uint32_t>(keys[i]); }
        bool differs(int64_t i) const { return rank(i - 1) != rank(i); }
    };
    Ordered in_order(Segment node, const uint32_t* ranks) {
        const auto n = at(node.size());
        const uint64_t* keys = order_.sort(listed(node).data(), ranks, n);
        const uint64_t* gone = keys + n;
        if (keys[n - 1] >> 32 == kNoRank) gone = std::lower_bound(keys, keys + n, uint64_t{kNoRank} << 32);
        return {keys, gone - keys, node.size()};
    }
    Ordered in_order(size_t column, Segment node) { return in_order(node, ranks(column, node)); }

    void survey_numbers(size_t column, Segment node, const uint32_t* ranks) {
        const Ordered rows = in_order(node, ranks);
        if (node.size() > kMoment) pulse_();
        std::fill(missing_.gone.begin(), missing_.gone.end(), 0);
        for (int64_t i = rows.present; i < rows.n; ++i) add_entry(missing_.gone.data(), rows.entry(i));
        const auto load = [&](int64_t i) {
            const uint32_t e = rows.entry(i);
            if constexpr (S == Shape::sums) return loads_[e];
            return class_of(e);
        };
        const auto differs = [&](int64_t i) { return rows.differs(i); };
        missing_.each_placement(column, *whole_, levels_, contest_, [&](const Around& around) {
            if (rows.rank(0) == rows.rank(rows.present - 1)) return;
            if (frame_.unit)
                sorted_.scan(around, rows.present - 1, load, UnitWeight{}, differs, contest_);
            else
                sorted_.scan(
                    around, rows.present - 1, load, [&](int64_t i) { return weight_of(rows.entry(i)); }, differs,
                    contest_);
        });
    }
    Bucket number_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        if (known_buckets(column, node, out)) {
            std::fill(missing_.gone.begin(), missing_.gone.end(), 0);
            return {nullptr, nullptr, missing_.gone.data(), 0, 0, 0};
        }
        const Ordered o = in_order(column, node);
        const InOrder rows{o.present, o.n, [&](int64_t* stat, int64_t i) { add_entry(stat, o.entry(i)); },
                           [&](int64_t i) { return o.differs(i); }, [&](int64_t i) { return int64_t{o.rank(i)}; }};
        return cuts_.fill(rows, everything_ ? nullptr : &contest_, column, *whole_, frame_.settings.random_ties, out);
    }
    // From what the survey has counted, where nothing is missing. Draws among ties want every cut numbered.
    bool known_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        if (S != Shape::two || everything_ || frame_.settings.random_ties) return false;
        contest_.list_places(column, places_);
        const auto rank = [&](uint32_t e) { return rank_of(e, column); };
        if (Words* words = words_.find(node)) {
            const auto& places = words->column(column, (*words)[node], order_, rank);
            if (places.gone) return false;
            words->buckets_between((*words)[node], places, places_, rank, width_, out);
        } else {
            const auto end = coarse_.begin() + static_cast<int64_t>(n_coarse_);
            const auto counted =
                std::find_if(coarse_.begin(), end, [&](const auto& c) { return at(c->column()) == column; });
            if (counted == end) return false;
            (*counted)->buckets_between(places_, *whole_, trio(), out);
        }
        prefetch(column, out);
        return true;
    }
    // Of the winner, most likely, the threshold is asked for in a moment.
    void prefetch(size_t column, const std::vector<Bucket>& buckets) const {
        if (buckets.size() != 2) return;
        ranks_.prefetch(column, buckets[0].high);
        ranks_.prefetch(column, buckets[1].low);
    }

    // -- words --------------------------------------------------------------------------------------------------------

    // The words a node is of, if it is small enough and growth goes the way they wait for (WordStack).
    Words* as_words(Segment node) {
        if (Words* words = words_.find(node)) return words;
        const int64_t most = std::min<int64_t>(Words::kMost, frame_.settings.tuning.drawn_rows);
        if (node.size() > most || !countable() || frame_.settings.max_leaf_nodes > 0) return nullptr;
        Words& words = words_.push();
        words.open(
            node, entries_.of(node), frame_.columns.size(), [&](uint32_t e) { return weight_of(e); },
            [&](uint32_t e) { return class_of(e) == 1; });
        return &words;
    }
    void survey_word(size_t column, Segment node, Words& words) {
        if constexpr (S == Shape::two) {
            const auto& places =
                words.column(column, words[node], order_, [&](uint32_t e) { return rank_of(e, column); });
            if (places.gone) return survey_numbers(column, node, ranks(column, node));
            Words::cut(words[node], places, static_cast<int32_t>(column), lefts_);
            if (!first_clean_cut_wins()) return;
            if (const uint64_t set = words.clean_cut(words[node], lefts_)) clean_ = {set, column};
        }
    }
    // A cut with a class on each side gains all there is to gain: only another such one could win, of an earlier
    // column. Unless it may break a limit, or ties are drawn.
    bool first_clean_cut_wins() const {
        const Settings& settings = frame_.settings;
        return settings.min_samples_leaf <= 1 && settings.min_leaf_weight <= 1 && !settings.random_ties;
    }
    // The cuts of all columns at once.
    void score_words(const Words& words) {
        if constexpr (S == Shape::two) {
            if (clean_.set) lefts_.keep_only(clean_.set, static_cast<int32_t>(clean_.column));
            words.count(lefts_, edges_);
            sorted_.edges(*whole_, edges_, [this](size_t k) { return lefts_.column(k); }, contest_);
        }
    }
    template <class Branch>
    void divide_word(Segment node, Words& words, std::vector<int64_t>& sizes, const Branch& branch) {
        parts_.assign(sizes.size(), 0);
        Words::each(words[node], [&](int row) { parts_[branch(words.entry(row))] |= uint64_t{1} << row; });
        for (size_t b = 0; b < sizes.size(); ++b) {
            sizes[b] = std::popcount(parts_[b]);
            if (sizes[b]) words[{node.begin, node.end}] = parts_[b];
            node.begin += sizes[b];
        }
    }
    // A node's entries, one after the other.
    std::span<const uint32_t> listed(Segment node) {
        Words* words = words_.find(node);
        if (!words) return entries_.of(node);
        few_.clear();
        Words::each((*words)[node], [&](int row) { few_.push_back(words->entry(row)); });
        return few_;
    }

    // -- levels -------------------------------------------------------------------------------------------------------

    auto coded(size_t column, Segment node) {
        const uint32_t* entries = listed(node).data();
        return Coded{node.size(), [=, this](int64_t i) { return rank_of(entries[i], column); },
                     [=, this](int64_t* stat, int64_t i) { add_entry(stat, entries[i]); },
                     [=, this](int64_t i) { return row_of(entries[i]); }};
    }

    const Frame& frame_;
    const Ranks& ranks_;
    size_t width_;
    Appraiser<S> appraiser_;
    Pulse pulse_;
    int row_bits_ = 32, class_shift_ = 32;  // of an entry: where the weight begins, and the class
    uint32_t row_mask_ = ~0u;
    uint32_t weight_mask_ = 0;    // 0: an entry is the row alone
    std::vector<Trio> trios_;     // what a row adds, by what its entry has above the row
    std::vector<int64_t> loads_;  // of sums: what a row adds to scores
    RowLists entries_;
    SortedScan<S> sorted_;
    LevelScan<S> levels_;
    Missing<S> missing_;
    CutBuckets cuts_;
    Contest contest_;
    NodeLevels<S> coded_;
    Order order_;
    Edges edges_;
    WordStack words_;
    Words::Lefts lefts_;
    struct {
        uint64_t set;
        size_t column;
    } clean_ = {};                 // a cut of the node at hand with a class on each side, of the earliest column seen
    std::vector<uint64_t> parts_;  // a branch: its rows
    std::vector<uint32_t> few_;    // entries of words
    std::vector<std::unique_ptr<Coarse>> coarse_;
    size_t n_coarse_ = 0;                          // of the node at hand
    std::vector<std::vector<uint32_t>> gathered_;  // ranks …
    Segment at_hand_;                              // … of this node
    std::vector<size_t> columns_;                  // … in these columns
    std::vector<size_t> one_{0};
    std::vector<int64_t> places_;
    std::vector<Row> named_;

    // of the node at hand
    const Stat* whole_ = nullptr;
    const int64_t* y_ = nullptr;
    bool everything_ = false;
};

extern template class Drawn<Shape::two>;  // in engines/forest.cpp
extern template class Drawn<Shape::many>;
extern template class Drawn<Shape::sums>;

}  // namespace treewise
