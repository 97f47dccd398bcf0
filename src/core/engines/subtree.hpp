// The engine of small nodes: a few thousand rows, each numeric column sorted once, then a whole subtree grown in cache.
//
// The rows of the cluster are numbered from 0. Per numeric column a list of entries in order of value, missing last;
// an entry is a row's number with, for classification, its class beside it, so that a scan reads one array only:
//
//     entry   [ class | row ]
//
// A node is a segment [begin, end) of every list. Its rows are first divided among the children in one list (members);
// the others follow only for children that will be looked at further. Categories need no order: their levels are
// counted afresh at each node.

#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "engines/engine.hpp"
#include "problem/fit_context.hpp"
#include "problem/quartiles.hpp"
#include "search/category_histogram.hpp"
#include "search/category_split.hpp"
#include "search/cut_buckets.hpp"
#include "search/missing_placement.hpp"
#include "search/sorted_scan.hpp"

namespace treewise {

inline int row_bits(int64_t n_classes) {  // of an entry
    return n_classes ? 32 - bit_length(static_cast<uint128>(std::max<int64_t>(1, n_classes - 1))) : 32;
}
// Small enough: the lists fit the cache, and an entry can number the rows.
inline bool fits_cluster(int64_t n_rows, const Frame& frame) {
    const Tuning& tuning = frame.settings.tuning;
    if (n_rows >= int64_t{1} << row_bits(frame.n_classes())) return false;
    return n_rows <= tuning.cluster_rows || n_rows * static_cast<int64_t>(frame.columns.size()) <= tuning.cluster_cells;
}

template <Shape S>
class Cluster : public Engine {
public:
    // tick: called between columns; may throw to stop.
    Cluster(const Frame& frame, std::vector<Row> rows, const std::function<void(int64_t)>& tick)
        : frame_(frame),
          tick_(tick),
          rows_(std::move(rows)),
          width_(frame.width()),
          bits_(row_bits(frame.n_classes())),
          mask_(frame.n_classes() ? (1u << bits_) - 1 : ~0u),
          appraiser_(frame.settings, frame.tables.logs, frame.n_classes()),
          pulse_([this] { tick_(0); }),
          sorted_(frame.settings, frame.tables, appraiser_, pulse_),
          levels_(frame.settings, appraiser_, frame.n_classes()),
          members_(rows_.size()),
          lists_(frame.columns.size()),
          ranks_(frame.columns.size()),
          traits_(frame.columns.size()),
          codes_(frame.columns.size()),
          spare_(rows_.size()),
          missing_(frame) {
        read_targets();
        for (size_t c = 0; c < frame.columns.size(); ++c) {
            frame.columns[c].is_code() ? read_codes(c) : sort_numbers(c);
            tick_(0);
        }
        if (S == Shape::two && frame.unit) lay_out_census();
        take_a_spine();
    }

    Segment all() const override { return {0, static_cast<int64_t>(rows_.size())}; }

    // -- a node's rows ------------------------------------------------------------------------------------------------

    std::span<const Row> rows(Segment node) override {
        named_.resize(static_cast<size_t>(node.size()));
        for (size_t i = 0; i < named_.size(); ++i) named_[i] = rows_[row_of(members()[at(node.begin) + i])];
        return named_;
    }
    bool gives_stats() const override { return true; }
    void targets(const int64_t* y) override { y_ = y; }
    void whole(Segment node, Stat& stat) override {
        stat.assign(width_, 0);
        for (int64_t i = node.begin; i < node.end; ++i) add_entry(stat.data(), members()[at(i)]);
    }

    // Of the columns, where the cluster is the whole table: they stand in order.
    std::vector<Quartiles> quartiles() const {
        std::vector<Quartiles> found(frame_.columns.size());
        for (size_t c = 0; c < found.size(); ++c) {
            if (frame_.columns[c].is_code()) continue;
            const int64_t one = key_of(frame_.columns[c], rows_[0]);
            found[c] = lists_[c].empty() ? Quartiles{one, one}
                                         : quartiles_in_order(
                                               n_present(c, all()), frame_.unit,
                                               [&](int64_t i) { return weight_[row_of(lists_[c][at(i)])]; },
                                               [&](int64_t i) { return key_at(c, i); });
        }
        return found;
    }

    // -- the contest --------------------------------------------------------------------------------------------------

    const std::vector<size_t>& survey(Segment node, const Stat& whole, const std::vector<size_t>& columns,
                                      uint64_t) override {
        everything_ = false;
        contest_.open(frame_.settings.rule == Rule::c45, frame_.columns.size());
        open_scores(node, whole);
        whole_ = &whole;
        if (census_.width()) take_census(node);
        for (size_t c : columns) {
            if (node.size() > kPlenty || c % 64 == 63) tick_(0);
            if (frame_.columns[c].is_code())
                survey_levels(c, node);
            else if (frame_.unit)
                survey_numbers(c, node, UnitWeight{});
            else
                survey_numbers(c, node, [this](uint32_t entry) { return weight_[row_of(entry)]; });
        }
        return contest_.close();
    }

    // The rows between a column's surviving cuts, or its levels; returns the missing rows.
    void everything() override { everything_ = true; }
    Bucket buckets(size_t column, Segment node, std::vector<Bucket>& out) override {
        out.clear();
        return frame_.columns[column].is_code() ? level_buckets(column, node, out) : number_buckets(column, node, out);
    }
    int64_t n_cuts(size_t column, Segment node) override {
        int64_t cuts = 0;
        const int64_t present = n_present(column, node);
        const auto differs = differs_in(column, node);
        for (int64_t i = 1; i < present; ++i) cuts += differs(i);
        return cuts;
    }
    double number(size_t, int64_t key) const override { return number_of(key); }
    int64_t integer(size_t, int64_t key) const override { return integer_of(key); }
    bool tells_apart(Segment node) override {
        std::vector<Row> named(at(node.size()));
        for (size_t i = 0; i < named.size(); ++i) named[i] = rows_[row_of(members()[at(node.begin) + i])];
        return std::any_of(frame_.columns.begin(), frame_.columns.end(),
                           [&](const Column& c) { return treewise::tells_apart(c, named); });
    }

    // -- splitting ----------------------------------------------------------------------------------------------------

    // Sends every row to its branch and divides the list of members; the others follow in settle.
    void divide(Segment node, const Chosen& chosen, std::vector<int64_t>& sizes) override {
        const auto column = static_cast<size_t>(chosen.column);
        in_order_ = kNone;
        if (frame_.columns[column].is_code())
            send_levels(column, node, chosen, sizes);
        else
            send_numbers(column, node, chosen, sizes);
        if (spine_ != kNone && spine_ == in_order_) return;
        with_sides(sizes, [&](const auto& side) { partition(members(), node, sizes, side.data()); });
    }
    void settle(Segment node, const std::vector<int64_t>& sizes, const std::vector<uint8_t>& open) override {
        if (std::find(open.begin(), open.end(), 1) == open.end()) return;
        with_sides(sizes, [&](const auto& side) {
            for (size_t c = 0; c < lists_.size(); ++c) {
                if (lists_[c].empty() || c == spine_ || c == in_order_) continue;
                partition(lists_[c].data(), node, sizes, side.data());
            }
        });
    }

private:
    static size_t at(int64_t i) { return static_cast<size_t>(i); }
    uint32_t row_of(uint32_t entry) const {
        if constexpr (S == Shape::sums) return entry;
        return entry & mask_;
    }
    int64_t class_of(uint32_t entry) const { return entry >> bits_; }
    int64_t load_of(uint32_t entry) const {
        if constexpr (S == Shape::sums) return load_[row_of(entry)];
        return class_of(entry);
    }

    // -- setting up ---------------------------------------------------------------------------------------------------

    void read_targets() {
        const Target& target = frame_.target;
        const size_t m = rows_.size();
        if (!frame_.unit) {
            weight_.resize(m);
            for (size_t i = 0; i < m; ++i) weight_[i] = target.weight[rows_[i]];
        }
        if constexpr (S == Shape::sums) {
            int64_t low = target.y[rows_[0]], high = low;
            int128 weights = 0;
            for (Row r : rows_) {
                low = std::min(low, target.y[r]), high = std::max(high, target.y[r]);
                weights += target.weight[r];
            }
            quantiser_ = Quantiser::of(low, high, weights, frame_.settings.criterion == Criterion::poisson);
            load_.resize(m);
            for (size_t i = 0; i < m; ++i) load_[i] = quantiser_(target.y[rows_[i]], target.weight[rows_[i]]);
        }
        for (size_t i = 0; i < m; ++i) members_[i] = entry_of(static_cast<uint32_t>(i));
    }
    // Any list will do to know a node's rows by; a column's own saves one.
    void take_a_spine() {
        for (size_t c = 0; c < lists_.size() && spine_ == kNone; ++c) {
            if (!lists_[c].empty()) spine_ = c;
        }
        if (spine_ != kNone) members_ = {};
    }
    uint32_t* members() { return spine_ == kNone ? members_.data() : lists_[spine_].data(); }
    const uint32_t* members() const { return spine_ == kNone ? members_.data() : lists_[spine_].data(); }

    uint32_t entry_of(uint32_t row) const {
        if constexpr (S == Shape::sums) return row;
        return static_cast<uint32_t>(frame_.target.label[rows_[row]]) << bits_ | row;
    }
    void sort_numbers(size_t c) {
        keys_.resize(rows_.size());
        auto& list = lists_[c];
        read_keys(frame_.columns[c], rows_, keys_.data());
        const auto [low, high] = std::minmax_element(keys_.begin(), keys_.end());
        if (*low == *high) return;  // nothing to tell the rows apart
        ++n_lists_;
        list.resize(rows_.size());
        std::iota(list.begin(), list.end(), 0u);
        sorter_.sort(keys_, list, pulse_);
        auto& ranks = ranks_[c];
        ranks.resize(list.size());
        uint32_t rank = 0;
        for (uint32_t i = 0; i < list.size(); ++i) {
            rank += i > 0 && keys_[list[i]] != keys_[list[i - 1]];
            ranks[list[i]] = keys_[list[i]] == kNoKey ? kNoRank : rank;
        }
        traits_[c] = {*high == kNoKey, rank > list.size() / 2};
        if constexpr (S != Shape::sums)
            for (uint32_t& e : list) e = members_[e];
    }
    // Levels are numbered afresh, in order, among those that occur in the cluster.
    void read_codes(size_t c) {
        Levels& own = codes_[c];
        own.of_row.resize(rows_.size());
        keys_.resize(rows_.size());
        read_keys(frame_.columns[c], rows_, keys_.data());
        const auto n_levels = at(frame_.columns[c].n_levels);
        if (n_levels <= 4 * rows_.size() + 1024) {
            order_.assign(n_levels, 0);
            for (int64_t key : keys_) {
                if (key != kNoKey) order_[at(key)] = 1;
            }
            for (size_t level = 0; level < n_levels; ++level) {
                if (!std::exchange(order_[level], static_cast<uint32_t>(own.names.size()))) continue;
                own.names.push_back(static_cast<int32_t>(level));
            }
            for (size_t i = 0; i < keys_.size(); ++i)
                own.of_row[i] = keys_[i] == kNoKey ? static_cast<uint32_t>(own.names.size()) : order_[at(keys_[i])];
            return;
        }
        for (int64_t key : keys_) {
            if (key != kNoKey) own.names.push_back(static_cast<int32_t>(key));
        }
        std::sort(own.names.begin(), own.names.end());
        own.names.erase(std::unique(own.names.begin(), own.names.end()), own.names.end());
        for (size_t i = 0; i < keys_.size(); ++i) {
            const auto found = std::lower_bound(own.names.begin(), own.names.end(), keys_[i]);
            own.of_row[i] = static_cast<uint32_t>(found - own.names.begin());  // missing: past the last
        }
    }
    void lay_out_census() {
        std::vector<size_t> n_levels;
        for (Levels& own : codes_) {
            if (own.names.empty() || own.names.size() > Census::kMost) continue;
            own.in_census = n_levels.size();
            n_levels.push_back(own.names.size());
        }
        census_.prepare(rows_.size(), n_levels);
        for (Levels& own : codes_) {
            if (own.in_census == kNone) continue;
            for (size_t i = 0; i < rows_.size(); ++i)
                census_.level(i, own.in_census) = static_cast<uint8_t>(own.of_row[i]);
            own.of_row = {};
        }
    }

    // -- scores -------------------------------------------------------------------------------------------------------

    void add_entry(int64_t* stat, uint32_t entry) const {
        const int64_t w = frame_.unit ? 1 : weight_[row_of(entry)];
        ++stat[kRows];
        stat[kWeight] += w;
        if constexpr (S == Shape::sums) {
            add_product(stat + kLimbs, w, y_[rows_[row_of(entry)]]);
            stat[kLoad] += load_[row_of(entry)];
        } else {
            stat[kCounts + static_cast<size_t>(class_of(entry))] += w;
        }
    }
    void open_scores(Segment node, const Stat& whole) {
        double low = 0, high = 0;
        if constexpr (S == Shape::sums) {
            int64_t least = frame_.target.y[rows_[row_of(members()[at(node.begin)])]], most = least;
            for (int64_t i = node.begin; i < node.end; ++i) {
                const int64_t y = frame_.target.y[rows_[row_of(members()[at(i)])]];
                least = std::min(least, y), most = std::max(most, y);
            }
            low = quantiser_.back(least), high = quantiser_.back(most);
        }
        appraiser_.open(whole.data(), low, high, quantiser_.off(frame_.target.top != kAllFit));
    }

    // -- numbers ------------------------------------------------------------------------------------------------------

    int64_t key_at(size_t column, int64_t i) const {
        return key_of(frame_.columns[column], rows_[row_of(lists_[column][at(i)])]);
    }
    uint32_t rank_at(size_t column, int64_t i) const { return ranks_[column][row_of(lists_[column][at(i)])]; }
    int64_t n_present(size_t column, Segment node) const {
        if (!traits_[column].gaps || rank_at(column, node.end - 1) != kNoRank) return node.size();
        int64_t low = node.begin, high = node.end - 1;  // the first missing one is in [low, high]
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (rank_at(column, middle) == kNoRank)
                high = middle;
            else
                low = middle + 1;
        }
        return low - node.begin;
    }

    template <class Weight>
    void survey_numbers(size_t column, Segment node, const Weight& weight) {
        if (lists_[column].empty()) return;
        const int64_t present = n_present(column, node);
        if (present == 0) return;
        const uint32_t* entries = lists_[column].data() + node.begin;
        std::fill(missing_.gone.begin(), missing_.gone.end(), 0);
        for (int64_t i = present; i < node.size(); ++i) add_entry(missing_.gone.data(), entries[i]);
        const bool constant =
            !traits_[column].varied && rank_at(column, node.begin) == rank_at(column, node.begin + present - 1);
        const auto load = [&](int64_t i) { return load_of(entries[i]); };
        const auto differs = differs_in(column, node);
        missing_.each_placement(column, *whole_, levels_, contest_, [&](const Around& around) {
            if (constant) return;
            if constexpr (requires { Weight::unit; })
                sorted_.scan(around, present - 1, load, weight, differs, contest_);
            else
                sorted_.scan(
                    around, present - 1, load, [&](int64_t i) { return weight(entries[i]); }, differs, contest_);
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
        const InOrder rows{n_present(column, node), node.size(),
                           [&](int64_t* stat, int64_t i) { add_entry(stat, entries[i]); }, differs_in(column, node),
                           [&](int64_t i) { return key_at(column, node.begin + i); }};
        return cuts_.fill(rows, everything_ ? nullptr : &contest_, column, *whole_, frame_.settings.random_ties, out);
    }

    // -- levels -------------------------------------------------------------------------------------------------------

    struct Levels {
        std::vector<int32_t> names;    // the codes that occur
        std::vector<uint32_t> of_row;  // a row's place among them; names.size(): missing …
        size_t in_census = kNone;      // … or its place in the census
    };
    uint32_t level_of(const Levels& own, uint32_t row) const {
        return own.in_census == kNone ? own.of_row[row] : census_.level(row, own.in_census);
    }

    // Many classes times many levels: too many statistics to keep; the exact scan moves rows then.
    bool by_rows(size_t n_levels) const { return S == Shape::many && (width_ > 64 || n_levels * width_ > (1u << 20)); }

    void take_census(Segment node) {
        const uint32_t* entries = members();
        const int64_t piece = std::max<int64_t>(1, (1 << 20) / static_cast<int64_t>(census_.width()));
        census_.clear();
        for (int64_t begin = node.begin; begin < node.end; begin += piece) {
            if (begin > node.begin) tick_(0);
            census_.count(
                at(begin), at(std::min(node.end, begin + piece)), [&](size_t i) { return row_of(entries[i]); },
                [&](size_t i) { return class_of(entries[i]); });
        }
    }
    void count_levels(size_t column, Segment node) {
        const Levels& own = codes_[column];
        if (own.in_census != kNone)
            return counts_.unpack(census_.of(own.in_census));  // counted when the node was surveyed
        const uint32_t* entries = members() + node.begin;
        counts_.count(
            node.size(), own.names.size(), width_, [&](int64_t i) { return level_of(own, row_of(entries[i])); },
            [&](int64_t* stat, int64_t i) { add_entry(stat, entries[i]); });
    }
    void survey_levels(size_t column, Segment node) {
        const auto number = static_cast<int32_t>(column);
        if (by_rows(codes_[column].names.size())) {
            constexpr double kInf = std::numeric_limits<double>::infinity();
            contest_.offer(number, 0, -kInf, kInf);
            return;
        }
        count_levels(column, node);
        const int64_t* gone = counts_.gone(width_);
        if (counts_.size() == 0 || counts_.size() + (gone[kRows] > 0) < 2) return;
        levels_.scan(frame_.columns[column], number, counts_.stats.data(), counts_.size(), whole_->data(), gone,
                     frame_.own_branch(gone), contest_);
    }
    Bucket level_buckets(size_t column, Segment node, std::vector<Bucket>& out) {
        const Levels& own = codes_[column];
        if (by_rows(own.names.size())) return level_rows(column, node, out);
        count_levels(column, node);
        for (size_t i = 0; i < counts_.size(); ++i) {
            const int64_t code = own.names[counts_.levels[i]];
            out.push_back({nullptr, nullptr, counts_.stats.data() + i * width_, code, code, static_cast<int64_t>(i)});
        }
        return {nullptr, nullptr, counts_.gone(width_), 0, 0, 0};
    }
    Bucket level_rows(size_t column, Segment node, std::vector<Bucket>& out) {
        const Levels& own = codes_[column];
        order_.assign(members() + node.begin, members() + node.end);
        std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
            const uint32_t x = own.of_row[row_of(a)], y = own.of_row[row_of(b)];
            return x != y ? x < y : a < b;
        });
        named_.resize(order_.size());
        for (size_t i = 0; i < order_.size(); ++i) named_[i] = rows_[row_of(order_[i])];
        size_t i = 0;
        while (i < order_.size() && own.of_row[row_of(order_[i])] < own.names.size()) {
            size_t j = i;
            const uint32_t level = own.of_row[row_of(order_[i])];
            while (j < order_.size() && own.of_row[row_of(order_[j])] == level) ++j;
            const int64_t code = own.names[level];
            out.push_back(
                {named_.data() + i, named_.data() + j, nullptr, code, code, static_cast<int64_t>(out.size())});
            i = j;
        }
        return {named_.data() + i, named_.data() + named_.size(), nullptr, 0, 0, 0};
    }

    void send_levels(size_t column, Segment node, const Chosen& chosen, std::vector<int64_t>& sizes) {
        const Levels& own = codes_[column];
        branch_of_.resize(own.names.size() + 1);
        for (size_t l = 0; l < own.names.size(); ++l) branch_of_[l] = chosen.branch(own.names[l]);
        branch_of_.back() = static_cast<uint32_t>(chosen.missing);
        with_sides(sizes, [&]<class Side>(std::vector<Side>& side) {
            for (int64_t i = node.begin; i < node.end; ++i) {
                const uint32_t row = row_of(members()[at(i)]), b = branch_of_[level_of(own, row)];
                side[row] = static_cast<Side>(b);
                ++sizes[b];
            }
        });
    }
    // The list is in order: the cut is found by halving, and what it parts is known by where it stands. Unless missing
    // rows go left, the list itself stays as it is; where there is no other, nothing moves at all.
    void send_numbers(size_t column, Segment node, const Chosen& chosen, std::vector<int64_t>& sizes) {
        const uint32_t* entries = lists_[column].data() + node.begin;
        const int64_t present = n_present(column, node), n = node.size();
        int64_t low = 0, high = present;  // the first row of branch 1 is in [low, high]
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (key_at(column, node.begin + middle) <= chosen.last_left)
                low = middle + 1;
            else
                high = middle;
        }
        sizes[0] += low, sizes[1] += present - low;
        if (present < n) sizes[at(chosen.missing)] += n - present;
        if (present == n || chosen.missing > 0) in_order_ = column;
        if (in_order_ == column && spine_ == column && n_lists_ == 1) return;
        with_sides(sizes, [&]<class Side>(std::vector<Side>& side) {
            const uint32_t mask = mask_;
            Side* sides = side.data();
            for (int64_t i = 0; i < low; ++i) sides[entries[i] & mask] = 0;
            for (int64_t i = low; i < present; ++i) sides[entries[i] & mask] = 1;
            for (int64_t i = present; i < n; ++i) sides[entries[i] & mask] = static_cast<Side>(chosen.missing);
        });
    }

    // The branch of each row of the node that is being split: bytes, unless there are too many branches.
    template <class Work>
    void with_sides(const std::vector<int64_t>& sizes, const Work& work) {
        const bool few = sizes.size() <= 256;
        few ? side_.resize(rows_.size()) : wide_side_.resize(rows_.size());
        few ? work(side_) : work(wide_side_);
    }
    // Stable: the children's entries in the order in which the parent's stand.
    template <class Side>
    void partition(uint32_t* list, Segment node, const std::vector<int64_t>& sizes, const Side* sides) {
        uint32_t* entries = list + node.begin;
        const int64_t n = node.size();
        const uint32_t mask = mask_;  // at hand: what is written here might be the member
        if (sizes.size() == 2) {
            uint32_t* spare = spare_.data();
            size_t left = 0, right = 0;
            for (int64_t i = 0; i < n; ++i) {
                const uint32_t e = entries[i], side = sides[e & mask];
                entries[left] = e;
                spare[right] = e;
                left += 1 - side;
                right += side;
            }
            std::copy_n(spare_.begin(), right, entries + left);
            return;
        }
        start_.resize(sizes.size());
        std::exclusive_scan(sizes.begin(), sizes.end(), start_.begin(), int64_t{0});
        for (int64_t i = 0; i < n; ++i) spare_[at(start_[sides[row_of(entries[i])]]++)] = entries[i];
        std::copy_n(spare_.begin(), n, entries);
    }

    const Frame& frame_;
    const std::function<void(int64_t)>& tick_;
    std::vector<Row> rows_;  // of the table
    size_t width_;
    int bits_;  // of an entry that number the row
    uint32_t mask_;
    Appraiser<S> appraiser_;
    Pulse pulse_;
    SortedScan<S> sorted_;
    LevelScan<S> levels_;
    Quantiser quantiser_;
    std::vector<int64_t> weight_, load_;
    std::vector<uint32_t> members_;
    std::vector<std::vector<uint32_t>> lists_;  // of each column of numbers; none where all are the same
    std::vector<std::vector<uint32_t>> ranks_;  // of a row's value among those of the cluster; kNoRank: missing
    struct Traits {
        bool gaps = false;    // some values are missing
        bool varied = false;  // most are different: a node where all are the same is not worth looking for
    };
    std::vector<Traits> traits_;
    std::vector<Levels> codes_;
    Census census_;
    std::vector<uint8_t> side_;
    std::vector<uint32_t> wide_side_;
    static constexpr int64_t kPlenty = 1 << 14;  // rows: more than a moment for a column
    static constexpr size_t kNone = ~size_t{0};
    size_t n_lists_ = 0;
    size_t spine_ = kNone;     // the list that stands for the rows of nodes; none: members_ does
    size_t in_order_ = kNone;  // the list that the split at hand left in order

    Contest contest_;
    bool everything_ = false;  // all cuts are asked for, not those of the contest
    const Stat* whole_ = nullptr;
    const int64_t* y_ = nullptr;

    // scratch
    Sorter sorter_;
    std::vector<int64_t> keys_, start_;
    LevelCounts counts_;
    std::vector<uint32_t> spare_, order_, branch_of_;
    std::vector<Row> named_;
    Missing<S> missing_;
    CutBuckets cuts_;
};

extern template class Cluster<Shape::two>;  // in engines/subtree.cpp
extern template class Cluster<Shape::many>;
extern template class Cluster<Shape::sums>;

}  // namespace treewise
