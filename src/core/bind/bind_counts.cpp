// Bindings: counting the rows of nodes by bins, for a tree that is grown from statistics (sources/memory.py).

#include <algorithm>
#include <limits>
#include <utility>

#include "bind/python.hpp"
#include "grow/bin_counter.hpp"

namespace treewise {
namespace {

// sort_by_node: (the rows in order of their node, where those of each node begin).
nb::tuple rows_by_node(Array<int64_t> nodes, int64_t n_nodes) {
    prepare_to_throw();
    const std::span at(nodes.data(), nodes.size());
    if (at.size() > std::numeric_limits<uint32_t>::max()) throw nb::value_error("too many rows for one partition");
    for (int64_t node : at)
        if (node < 0 || node >= n_nodes) throw nb::value_error("no such node");
    std::vector<uint32_t> order(at.size());
    std::vector<int64_t> starts(static_cast<size_t>(n_nodes) + 1);
    without_gil([&] { sort_by_node(at, order, starts); });
    return nb::make_tuple(to_numpy(std::move(order)), to_numpy(std::move(starts)));
}

NodeRows node_rows(const Array<uint32_t>& order, const Array<int64_t>& starts, const Target& target) {
    const std::span<const int64_t> at(starts.data(), starts.size());
    bool fits = order.size() == static_cast<size_t>(target.n_rows) && at.size() > 0 && at[0] == 0 &&
                at[at.size() - 1] == target.n_rows && std::is_sorted(at.begin(), at.end());
    for (size_t i = 0; fits && i < order.size(); ++i) fits = order(i) < static_cast<uint64_t>(target.n_rows);
    if (!fits) throw nb::value_error("the rows of the nodes do not fit the table");
    return {{order.data(), order.size()}, at};
}

std::vector<CountRequest> make_requests(const Array<int64_t>& nodes, const Array<int64_t>& columns,
                                        const Array<uint8_t>& is_first, const Array<int64_t>& n_grids,
                                        std::span<const BinGrid> grids, size_t n_nodes, size_t n_columns) {
    const size_t n = nodes.size();
    if (columns.size() != n || is_first.size() != n || n_grids.size() != n) throw nb::value_error("lengths differ");
    std::vector<CountRequest> requests;
    size_t used = 0;
    for (size_t r = 0; r < n; ++r) {
        const auto node = static_cast<size_t>(nodes(r)), column = static_cast<size_t>(columns(r));
        const auto own = static_cast<size_t>(n_grids(r));
        if (node >= n_nodes || column >= n_columns || own > grids.size() - used)
            throw nb::value_error("no such node, column or grid");
        requests.push_back({nodes(r), column, grids.subspan(used, own), is_first(r) != 0});
        used += own;
    }
    return requests;
}

std::vector<BinGrid> make_grids(const Array<int64_t>& low, const Array<int64_t>& high, const Array<int64_t>& n) {
    if (high.size() != low.size() || n.size() != low.size()) throw nb::value_error("lengths differ");
    std::vector<BinGrid> grids;
    for (size_t g = 0; g < low.size(); ++g) {
        if (n(g) < 0 || n(g) > 1 << 24) throw nb::value_error("number of bins out of range");
        grids.push_back({low(g), high(g), n(g)});
    }
    return grids;
}

#define TREEWISE_COUNT_ARRAYS(X) \
    X(groups)                    \
    X(grid) X(bin) X(low) X(high) X(rows) X(weight) X(counts) X(target_high) X(target_low) X(deviations) X(squares)

nb::dict to_dict(BinCounts&& counts) {
    nb::dict out;
#define TREEWISE_PUT_COUNTS(name) out[#name] = to_numpy(std::move(counts.name));
    TREEWISE_COUNT_ARRAYS(TREEWISE_PUT_COUNTS)
    return out;
}

template <class T>
std::vector<T> to_vector(nb::handle given) {
    const auto array = nb::cast<Array<T>>(given);
    return std::vector<T>(array.data(), array.data() + array.size());
}

BinCounts from_dict(const nb::dict& given, size_t n_requests, size_t n_classes) {
    BinCounts counts;
#define TREEWISE_GET_COUNTS(name) counts.name = to_vector<decltype(counts.name)::value_type>(given[#name]);
    TREEWISE_COUNT_ARRAYS(TREEWISE_GET_COUNTS)
    int64_t sum = 0;
    for (int64_t n : counts.groups) sum += n < 0 ? std::numeric_limits<int32_t>::min() : n;
    const size_t n = counts.rows.size(), sums = n_classes ? 0 : n;
    const bool fits = counts.groups.size() == n_requests && sum == static_cast<int64_t>(n) && counts.grid.size() == n &&
                      counts.bin.size() == n && counts.low.size() == n && counts.high.size() == n &&
                      counts.weight.size() == n && counts.counts.size() == n * n_classes &&
                      counts.target_high.size() == sums && counts.target_low.size() == sums &&
                      counts.deviations.size() == sums && counts.squares.size() == sums;
    if (!fits) throw nb::value_error("the counts differ in length");
    return counts;
}

nb::dict merge_counts(const std::vector<nb::dict>& given, Array<uint8_t> is_number, size_t n_classes) {
    prepare_to_throw();
    if (given.empty()) throw nb::value_error("nothing to merge");
    std::vector<BinCounts> parts;
    for (const nb::dict& part : given) parts.push_back(from_dict(part, is_number.size(), n_classes));
    without_gil([&] {
        const std::span kinds(is_number.data(), is_number.size());
        for (size_t step = 1; step < parts.size(); step *= 2)  // pairs, pairs of pairs, …
            for (size_t i = 0; i + step < parts.size(); i += 2 * step)
                parts[i] = merge(parts[i], std::exchange(parts[i + step], {}), kinds, n_classes);
    });
    return to_dict(std::move(parts[0]));
}

nb::dict count(const std::vector<ColumnArray*>& columns, const TargetArrays& target, Array<uint32_t> order,
               Array<int64_t> starts, Array<int64_t> nodes, Array<int64_t> column_of, Array<uint8_t> is_first,
               Array<int64_t> n_grids, Array<int64_t> low, Array<int64_t> high, Array<int64_t> n_bins, int64_t centre,
               int shift, int n_jobs) {
    const std::vector<Column> columns_view = views(columns, target.target.n_rows);
    const NodeRows rows = node_rows(order, starts, target.target);
    const std::vector<BinGrid> grids = make_grids(low, high, n_bins);
    const std::vector<CountRequest> requests =
        make_requests(nodes, column_of, is_first, n_grids, grids, starts.size() - 1, columns.size());
    BinCounts counts = without_gil([&] {
        const ProgressCallback report = no_progress();
        ThreadPool pool(n_jobs);
        return count_bins(columns_view, target.target, rows, requests, {centre, shift}, pool, [&] { report(1.0); });
    });
    return to_dict(std::move(counts));
}

std::span<const uint32_t> rows_of(const NodeRows& rows, int64_t node) {
    if (node < 0 || node + 1 >= static_cast<int64_t>(rows.starts.size())) throw nb::value_error("no such node");
    return rows[node];
}

// (low, high, raw low, raw high) of each node; None for one without rows.
nb::list target_ranges(const TargetArrays& target, Array<uint32_t> order, Array<int64_t> starts, Array<int64_t> nodes) {
    prepare_to_throw();
    const NodeRows rows = node_rows(order, starts, target.target);
    nb::list out;
    for (size_t i = 0; i < nodes.size(); ++i) {
        const std::span<const uint32_t> own = rows_of(rows, nodes(i));
        if (own.empty()) {
            out.append(nb::none());
            continue;
        }
        const TargetRange range = without_gil([&] { return find_target_range(target.target, own); });
        out.append(nb::make_tuple(range.low, range.high, range.raw_low, range.raw_high));
    }
    return out;
}

nb::object to_python(int128 value) {
    const nb::object high = nb::int_(static_cast<int64_t>(value >> 64));
    return (high << nb::int_(64)) + nb::int_(static_cast<uint64_t>(value));
}

// (Σ w·d, Σ w·d²) of each node.
nb::list target_moments(const TargetArrays& target, Array<uint32_t> order, Array<int64_t> starts, Array<int64_t> nodes,
                        Array<int64_t> means, Array<int64_t> shifts) {
    prepare_to_throw();
    const NodeRows rows = node_rows(order, starts, target.target);
    if (means.size() != nodes.size() || shifts.size() != nodes.size()) throw nb::value_error("lengths differ");
    nb::list out;
    for (size_t i = 0; i < nodes.size(); ++i) {
        const std::span<const uint32_t> own = rows_of(rows, nodes(i));
        const Deviation about{means(i), static_cast<int>(shifts(i))};
        const TargetMoments moments = without_gil([&] { return sum_target_moments(target.target, own, about); });
        out.append(nb::make_tuple(to_python(moments.sum), to_python(moments.squares)));
    }
    return out;
}

}  // namespace

void bind_counting(nb::module_& m) {
    m.def("rows_by_node", &rows_by_node, "nodes"_a, "n_nodes"_a,
          "Return the rows in order of their node, and where those of each node begin.");
    m.def("count_bins", &count, "columns"_a, "target"_a, "order"_a, "starts"_a, "nodes"_a, "column_of"_a, "is_first"_a,
          "n_grids"_a, "low"_a, "high"_a, "n_bins"_a, "centre"_a, "shift"_a, "n_jobs"_a,
          "Count the rows of nodes by bins; return flat arrays with the groups of one request after those of another.");
    m.def("merge_counts", &merge_counts, "parts"_a, "is_number"_a, "n_classes"_a,
          "Add up the answers of several partitions to the same requests.");
    m.def("target_ranges", &target_ranges, "target"_a, "order"_a, "starts"_a, "nodes"_a,
          "Return the range of the targets of each node, as integers and as given.");
    m.def("target_moments", &target_moments, "target"_a, "order"_a, "starts"_a, "nodes"_a, "means"_a, "shifts"_a,
          "Return the sums of weighted deviations from a mean and of their squares.");
}

}  // namespace treewise
