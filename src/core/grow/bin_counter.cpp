// One pass per request over the rows of its node; a value finds its grid by binary search and its bin by arithmetic.

#include "grow/bin_counter.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace treewise {
namespace {

constexpr size_t kPrefetch = 16;         // rows ahead
constexpr uint64_t kMaxTable = 1 << 14;  // whole numbers in a narrower interval are counted in a table
constexpr int64_t kRowsPerTask = int64_t{1} << 18;

// A value as it is compared, and as it is returned.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

template <class V>
int64_t to_bits(V value) {
    if constexpr (std::is_same_v<V, double>)
        return std::bit_cast<int64_t>(value);
    else
        return value;
}

template <class V>
V from_bits(int64_t bits) {
    if constexpr (std::is_same_v<V, double>)
        return std::bit_cast<double>(bits);
    else
        return bits;
}

// The bins of one grid: BinGrid in train/source.py, the same operations in the same order.
template <class V>
class Bins {
public:
    Bins(const BinGrid& grid, int64_t index)
        : low(from_bits<V>(grid.low)), high(from_bits<V>(grid.high)), index(index), n_(grid.n) {
        const auto span = static_cast<uint128>(to_integer(high)) - static_cast<uint128>(to_integer(low));
        if (n_ == 0) {
            is_exact = true;
            if (!std::is_same_v<V, double> && span < kMaxTable) n_ = static_cast<int64_t>(span) + 1, is_table = true;
            return;
        }
        is_whole_ = !std::is_same_v<V, double> && span < uint128{1} << 62;
        start_ = is_whole_ ? 0 : std::max(static_cast<double>(low), -kLargest) / 2;
        const double width =
            is_whole_ ? static_cast<double>(span) : std::min(static_cast<double>(high), kLargest) / 2 - start_;
        scale_ = static_cast<double>(n_) / width;
    }

    // The bin of a value between low and high, if there is a table.
    size_t operator()(V value) const {
        if (is_table) return static_cast<size_t>(static_cast<uint64_t>(value) - static_cast<uint64_t>(low));
        double offset;
        if (is_whole_)
            offset = static_cast<double>(value - low);
        else
            offset = std::clamp(static_cast<double>(value) / 2, -kLargest, kLargest) - start_;
        const double bin = offset * scale_;
        return bin < static_cast<double>(n_ - 1) ? static_cast<size_t>(bin) : static_cast<size_t>(n_ - 1);
    }
    size_t table_size() const { return is_exact && !is_table ? 0 : static_cast<size_t>(n_); }
    bool contains(V value) const { return low <= value && value <= high; }

    V low, high;
    int64_t index;          // of the grid in the request
    bool is_exact = false;  // each value has a bin of its own …
    bool is_table = false;  // … and is counted in a table of all whole numbers between low and high
    size_t first_cell = 0;  // of its table

private:
    static constexpr double kLargest = std::numeric_limits<double>::max();
    static int128 to_integer(V value) { return std::is_same_v<V, double> ? 0 : static_cast<int128>(value); }

    int64_t n_;
    bool is_whole_ = false;
    double start_ = 0, scale_ = 0;
};

// Sums of the targets of rows in the cells of tables. An Adder is a copy of the pointers, which stay in registers in a
// loop; it is valid until the next resize().
class ClassSums {
public:
    ClassSums(const Target& target, Deviation) : target_(target), stride_(1 + static_cast<size_t>(target.n_classes)) {}

    struct Adder {
        int64_t* sums;
        size_t stride;
        Labels label;
        View<int64_t> weight;

        void operator()(size_t cell, size_t row) const {
            int64_t* own = sums + cell * stride;
            ++own[0];
            own[1 + static_cast<size_t>(label[row])] += weight[row];
        }
    };
    Adder adder() { return {sums_.data(), stride_, target_.label, target_.weight}; }
    void resize(size_t cells) { sums_.assign(cells * stride_, 0); }
    void clear(size_t cell) { std::fill_n(sums_.data() + cell * stride_, stride_, 0); }
    bool is_empty(size_t cell) const { return sums_[cell * stride_] == 0; }
    void write(size_t cell, BinCounts& out) const {
        const int64_t* sums = sums_.data() + cell * stride_;
        out.rows.push_back(sums[0]);
        out.weight.push_back(std::accumulate(sums + 1, sums + stride_, int64_t{0}));
        out.counts.insert(out.counts.end(), sums + 1, sums + stride_);
    }

private:
    const Target& target_;
    size_t stride_;
    std::vector<int64_t> sums_;
};

class NumberSums {
    struct Sums {
        int128 target = 0;
        int64_t rows = 0, weight = 0, deviations = 0, squares = 0;
    };

public:
    NumberSums(const Target& target, Deviation deviation) : target_(target), deviation_(deviation) {}

    struct Adder {
        Sums* sums;
        const int64_t* y;
        View<int64_t> weight;
        Deviation deviation;

        void operator()(size_t cell, size_t row) const {
            Sums& own = sums[cell];
            const int64_t w = weight[row], q = (y[row] - deviation.centre) >> deviation.shift;
            ++own.rows;
            own.weight += w;
            own.target += static_cast<int128>(w) * y[row];
            own.deviations += w * q;
            own.squares += w * q * q;
        }
    };
    Adder adder() { return {sums_.data(), target_.y, target_.weight, deviation_}; }
    void resize(size_t cells) { sums_.assign(cells, Sums{}); }
    void clear(size_t cell) { sums_[cell] = Sums{}; }
    bool is_empty(size_t cell) const { return sums_[cell].rows == 0; }
    void write(size_t cell, BinCounts& out) const {
        const Sums& sums = sums_[cell];
        out.rows.push_back(sums.rows);
        out.weight.push_back(sums.weight);
        out.target_high.push_back(static_cast<int64_t>(sums.target >> 64));
        out.target_low.push_back(static_cast<uint64_t>(sums.target));
        out.deviations.push_back(sums.deviations);
        out.squares.push_back(sums.squares);
    }

private:
    const Target& target_;
    Deviation deviation_;
    std::vector<Sums> sums_;
};

// Answers requests about columns of type T, one after the other.
template <class T, class Sums>
class RequestCounter {
public:
    using V = Wide<T>;
    static constexpr bool kIsFloat = std::is_floating_point_v<V>;

    RequestCounter(const Target& target, Deviation deviation) : sums_(target, deviation) {}

    void answer(const CountRequest& request, const Column& column, std::span<const uint32_t> rows, BinCounts& out) {
        const size_t before = out.rows.size();
        set_grids(request, column);
        count_rows(request, column.view<T>(), rows);
        write_group(0, kMissingRows, {0, 0}, 0, out);
        size_t value = 0;
        for (const Bins<V>& bins : grids_) {
            if (bins.table_size() == 0) {
                value = write_values(bins, value, out);
                continue;
            }
            for (size_t i = 0; i < bins.table_size(); ++i) {
                const size_t cell = bins.first_cell + i;
                if (sums_.is_empty(cell)) continue;
                write_group(cell, bins.is_table ? kSingleValue : static_cast<int64_t>(i), ends_[cell], bins.index, out);
            }
        }
        out.groups.push_back(static_cast<int64_t>(out.rows.size() - before));
    }

private:
    struct Ends {
        V low = kIsFloat ? std::numeric_limits<V>::infinity() : std::numeric_limits<V>::max();
        V high = kIsFloat ? -std::numeric_limits<V>::infinity() : std::numeric_limits<V>::min();
    };
    struct Value {
        V value;
        uint32_t row;
    };

    // Tables of the grids, in order of value. Cell 0 has the rows without a value; the last has those of one value.
    void set_grids(const CountRequest& request, const Column& column) {
        grids_.clear(), values_.clear();
        if constexpr (std::is_same_v<T, int32_t>) {
            if (column.n_levels) grids_.emplace_back(BinGrid{0, column.n_levels - 1, 0}, 0);
        } else {
            for (size_t g = 0; g < request.grids.size(); ++g)
                grids_.emplace_back(request.grids[g], static_cast<int64_t>(g));
            std::sort(grids_.begin(), grids_.end(), [](const auto& a, const auto& b) { return a.low < b.low; });
        }
        size_t cells = 1;
        for (Bins<V>& bins : grids_) bins.first_cell = cells, cells += bins.table_size();
        ends_.assign(cells, Ends{});
        sums_.resize(cells + 1);
    }

    void count_rows(const CountRequest& request, View<T> values, std::span<const uint32_t> rows) {
        const typename Sums::Adder add = sums_.adder();
        if (grids_.size() == 1 && grids_[0].table_size()) return count_in_one_table(request, values, rows, add);
        for (size_t i = 0; i < rows.size(); ++i) {
            if (i + kPrefetch < rows.size()) values.prefetch(rows[i + kPrefetch]);
            const T x = values[rows[i]];
            if (treewise::is_missing(x)) {
                if (request.is_first) add(0, rows[i]);
                continue;
            }
            const V value = x;
            const size_t g = find_grid(value);
            if (g == grids_.size() || !grids_[g].contains(value)) continue;
            if (grids_[g].table_size())
                add_to_table(grids_[g], ends_.data(), value, rows[i], add);
            else
                values_.push_back({value, rows[i]});
        }
        std::sort(values_.begin(), values_.end(), [](const Value& a, const Value& b) { return a.value < b.value; });
    }
    void count_in_one_table(const CountRequest& request, View<T> values, std::span<const uint32_t> rows,
                            const typename Sums::Adder add) {
        const Bins<V> bins = grids_[0];
        Ends* const ends = ends_.data();
        const bool is_first = request.is_first;
        for (size_t i = 0; i < rows.size(); ++i) {
            if (i + kPrefetch < rows.size()) values.prefetch(rows[i + kPrefetch]);
            const T x = values[rows[i]];
            if (treewise::is_missing(x)) {
                if (is_first) add(0, rows[i]);
            } else if (bins.contains(x)) {
                add_to_table(bins, ends, x, rows[i], add);
            }
        }
    }
    static void add_to_table(const Bins<V>& bins, Ends* ends, V value, uint32_t row, const typename Sums::Adder& add) {
        const size_t cell = bins.first_cell + bins(value);
        Ends& own = ends[cell];
        own.low = std::min(own.low, value), own.high = std::max(own.high, value);
        add(cell, row);
    }

    // The last grid that begins at the value or below; their number if there is none.
    size_t find_grid(V value) const {
        const auto after = std::upper_bound(grids_.begin(), grids_.end(), value,
                                            [](V x, const Bins<V>& bins) { return x < bins.low; });
        return after == grids_.begin() ? grids_.size() : static_cast<size_t>(after - grids_.begin()) - 1;
    }

    // Writes the bins of the sorted values of a grid, which begin at `first`; returns where the next grid's begin.
    size_t write_values(const Bins<V>& bins, size_t first, BinCounts& out) {
        const size_t cells = ends_.size();
        const typename Sums::Adder add = sums_.adder();
        while (first < values_.size() && bins.contains(values_[first].value)) {
            const V value = values_[first].value;
            sums_.clear(cells);
            for (; first < values_.size() && values_[first].value == value; ++first) add(cells, values_[first].row);
            write_group(cells, kSingleValue, {value, value}, bins.index, out);
        }
        return first;
    }

    void write_group(size_t cell, int64_t bin, Ends ends, int64_t grid, BinCounts& out) const {
        out.grid.push_back(grid), out.bin.push_back(bin);
        out.low.push_back(to_bits<V>(ends.low)), out.high.push_back(to_bits<V>(ends.high));
        sums_.write(cell, out);
    }

    Sums sums_;
    std::vector<Bins<V>> grids_;
    std::vector<Ends> ends_;
    std::vector<Value> values_;
};

template <class Sums>
class Counter {
public:
    Counter(const Target& target, Deviation deviation)
        : floats_(target, deviation),
          doubles_(target, deviation),
          integers_(target, deviation),
          codes_(target, deviation) {}

    void answer(const CountRequest& request, const Column& column, std::span<const uint32_t> rows, BinCounts& out) {
        switch (column.type) {
            case ValueType::f32: return floats_.answer(request, column, rows, out);
            case ValueType::f64: return doubles_.answer(request, column, rows, out);
            case ValueType::i64: return integers_.answer(request, column, rows, out);
            default: return codes_.answer(request, column, rows, out);
        }
    }

private:
    RequestCounter<float, Sums> floats_;
    RequestCounter<double, Sums> doubles_;
    RequestCounter<int64_t, Sums> integers_;
    RequestCounter<int32_t, Sums> codes_;
};

// Where runs of requests begin that are about as much work as one another; and their end.
std::vector<size_t> cut_into_tasks(const NodeRows& rows, std::span<const CountRequest> requests) {
    std::vector<size_t> starts{0};
    int64_t sum = 0;
    for (size_t r = 0; r < requests.size(); ++r) {
        sum += static_cast<int64_t>(rows[requests[r].node].size());
        if (sum >= kRowsPerTask || r + 1 == requests.size()) starts.push_back(r + 1), sum = 0;
    }
    return starts;
}

template <class Sums>
BinCounts count_with(const std::vector<Column>& columns, const Target& target, const NodeRows& rows,
                     std::span<const CountRequest> requests, Deviation deviation, ThreadPool& pool,
                     const CheckInterrupt& check_interrupt) {
    const std::vector<size_t> starts = cut_into_tasks(rows, requests);
    std::vector<BinCounts> parts(starts.size() - 1);
    pool.parallel_for(
        parts.size(),
        [&](size_t task, int) {
            Counter<Sums> counter(target, deviation);
            for (size_t r = starts[task]; r < starts[task + 1]; ++r)
                counter.answer(requests[r], columns[requests[r].column], rows[requests[r].node], parts[task]);
        },
        check_interrupt);
    BinCounts all;
    for (BinCounts& part : parts) all.append(std::move(part));
    return all;
}

bool is_before(int64_t a, int64_t b, bool is_number) {
    return is_number ? from_bits<double>(a) < from_bits<double>(b) : a < b;
}

// Negative if group i comes before group j, 0 if it is the same bin of both partitions.
int compare_groups(const BinCounts& a, size_t i, const BinCounts& b, size_t j, bool is_number) {
    const bool is_missing[] = {a.bin[i] == kMissingRows, b.bin[j] == kMissingRows};
    if (is_missing[0] || is_missing[1]) return is_missing[1] - is_missing[0];
    if (a.grid[i] == b.grid[j] && a.bin[i] == b.bin[j] && a.bin[i] != kSingleValue) return 0;
    return is_before(b.low[j], a.low[i], is_number) - is_before(a.low[i], b.low[j], is_number);
}

template <class T>
void append_to(std::vector<T>& all, std::vector<T>&& part) {
    if (all.empty())
        all = std::move(part);
    else
        all.insert(all.end(), part.begin(), part.end());
}

}  // namespace

void BinCounts::append(BinCounts&& other) {
    append_to(groups, std::move(other.groups));
    append_to(grid, std::move(other.grid)), append_to(bin, std::move(other.bin));
    append_to(low, std::move(other.low)), append_to(high, std::move(other.high));
    append_to(rows, std::move(other.rows)), append_to(weight, std::move(other.weight));
    append_to(counts, std::move(other.counts));
    append_to(target_high, std::move(other.target_high)), append_to(target_low, std::move(other.target_low));
    append_to(deviations, std::move(other.deviations)), append_to(squares, std::move(other.squares));
}

void BinCounts::add_group(const BinCounts& from, size_t group, size_t n_classes) {
    grid.push_back(from.grid[group]), bin.push_back(from.bin[group]);
    low.push_back(from.low[group]), high.push_back(from.high[group]);
    rows.push_back(from.rows[group]), weight.push_back(from.weight[group]);
    const auto first = from.counts.begin() + static_cast<int64_t>(group * n_classes);
    counts.insert(counts.end(), first, first + static_cast<int64_t>(n_classes));
    if (n_classes) return;
    target_high.push_back(from.target_high[group]), target_low.push_back(from.target_low[group]);
    deviations.push_back(from.deviations[group]), squares.push_back(from.squares[group]);
}

void BinCounts::add_to_last_group(const BinCounts& from, size_t group, size_t n_classes, bool is_number) {
    if (is_before(from.low[group], low.back(), is_number)) low.back() = from.low[group];
    if (is_before(high.back(), from.high[group], is_number)) high.back() = from.high[group];
    rows.back() += from.rows[group], weight.back() += from.weight[group];
    for (size_t c = 0; c < n_classes; ++c) counts[counts.size() - n_classes + c] += from.counts[group * n_classes + c];
    if (n_classes) return;
    const uint64_t sum = target_low.back() + from.target_low[group];
    target_high.back() += from.target_high[group] + (sum < target_low.back() ? 1 : 0);
    target_low.back() = sum;
    deviations.back() += from.deviations[group], squares.back() += from.squares[group];
}

BinCounts merge(const BinCounts& a, const BinCounts& b, std::span<const uint8_t> is_number, size_t n_classes) {
    BinCounts merged;
    merged.groups.reserve(a.groups.size());
    size_t i = 0, j = 0;
    for (size_t r = 0; r < a.groups.size(); ++r) {
        const size_t before = merged.rows.size(), i_end = i + static_cast<size_t>(a.groups[r]),
                     j_end = j + static_cast<size_t>(b.groups[r]);
        while (i < i_end || j < j_end) {
            const int order = i == i_end ? 1 : j == j_end ? -1 : compare_groups(a, i, b, j, is_number[r]);
            if (order > 0) {
                merged.add_group(b, j++, n_classes);
                continue;
            }
            merged.add_group(a, i++, n_classes);
            if (order == 0) merged.add_to_last_group(b, j++, n_classes, is_number[r]);
        }
        merged.groups.push_back(static_cast<int64_t>(merged.rows.size() - before));
    }
    return merged;
}

void sort_by_node(std::span<const int64_t> nodes, std::span<uint32_t> order, std::span<int64_t> starts) {
    std::fill(starts.begin(), starts.end(), 0);
    for (int64_t node : nodes) ++starts[static_cast<size_t>(node)];
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), int64_t{0});
    std::vector<int64_t> next(starts.begin(), starts.end());
    for (size_t row = 0; row < nodes.size(); ++row)
        order[static_cast<size_t>(next[static_cast<size_t>(nodes[row])]++)] = static_cast<uint32_t>(row);
}

BinCounts count_bins(const std::vector<Column>& columns, const Target& target, const NodeRows& rows,
                     std::span<const CountRequest> requests, Deviation deviation, ThreadPool& pool,
                     const CheckInterrupt& check_interrupt) {
    const auto count = target.n_classes ? count_with<ClassSums> : count_with<NumberSums>;
    return count(columns, target, rows, requests, deviation, pool, check_interrupt);
}

TargetRange find_target_range(const Target& target, std::span<const uint32_t> rows) {
    TargetRange range{target.y[rows[0]], target.y[rows[0]], target.raw[rows[0]], target.raw[rows[0]]};
    for (uint32_t row : rows) {
        range.low = std::min(range.low, target.y[row]), range.high = std::max(range.high, target.y[row]);
        range.raw_low = std::min(range.raw_low, target.raw[row]);
        range.raw_high = std::max(range.raw_high, target.raw[row]);
    }
    return range;
}

TargetMoments sum_target_moments(const Target& target, std::span<const uint32_t> rows, Deviation about) {
    TargetMoments moments;
    for (uint32_t row : rows) {
        const int128 d = (static_cast<int128>(target.y[row]) - about.centre) >> about.shift;
        moments.sum += target.weight[row] * d;
        moments.squares += target.weight[row] * d * d;
    }
    return moments;
}

}  // namespace treewise
