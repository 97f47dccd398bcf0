// Bindings: the thresholds of the columns at one node, for editing (edit/node_search.py).

#include <memory>
#include <string>

#include "bind/python.hpp"
#include "search/threshold_profile.hpp"

namespace treewise {
namespace {

struct SortedTable {
    std::unique_ptr<SortedColumns> columns;
};

SortedTable sort_columns(const std::vector<ColumnArray*>& columns, int64_t n_rows, int n_jobs) {
    const std::vector<Column> columns_view = views(columns, n_rows);
    if (n_rows > std::numeric_limits<uint32_t>::max()) throw nb::value_error("too many rows");
    return {without_gil([&] {
        const ProgressCallback report = no_progress();
        ThreadPool pool(n_jobs);
        return std::make_unique<SortedColumns>(columns_view, n_rows, pool, [&] { report(1.0); });
    })};
}

// Cuts as arrays, named as the fields of ProfiledCut.
void put_cuts(nb::dict& out, const std::string& prefix, const std::vector<ProfiledCut>& cuts) {
    std::vector<double> gain;
    std::vector<int64_t> position, placement, low_row, high_row;
    for (const ProfiledCut& cut : cuts) {
        gain.push_back(cut.gain), position.push_back(cut.position), placement.push_back(cut.placement);
        low_row.push_back(cut.low_row), high_row.push_back(cut.high_row);
    }
    const auto put = [&](const char* name, auto&& values) {
        out[(prefix + name).c_str()] = to_numpy(std::forward<decltype(values)>(values));
    };
    put("gain", std::move(gain)), put("position", std::move(position)), put("placement", std::move(placement));
    put("low_row", std::move(low_row)), put("high_row", std::move(high_row));
}

nb::list profile(const SortedTable& sorted, const std::vector<ColumnArray*>& columns, const TargetArrays& target,
                 const Settings& settings, Array<uint32_t> rows, Array<int64_t> chosen, int64_t n_points) {
    const std::vector<Column> columns_view = views(columns, target.target.n_rows);
    const std::span<const uint32_t> node(rows.data(), rows.size());
    if (sorted.columns->size() != columns.size() || sorted.columns->n_rows() != target.target.n_rows)
        throw nb::value_error("the columns were sorted for another table");
    for (size_t i = 0; i < node.size(); ++i)
        if (node[i] >= target.target.n_rows || (i && node[i] <= node[i - 1]))
            throw nb::value_error("rows must be ascending and in the table");
    for (size_t i = 0; i < chosen.size(); ++i) {
        const auto c = static_cast<size_t>(chosen(i));
        if (c >= columns.size() || columns_view[c].is_code()) throw nb::value_error("not a column of numbers");
    }
    if (n_points < 1 || n_points > 1 << 20) throw nb::value_error("n_points out of range");
    std::vector<ThresholdProfile> profiles = without_gil([&] {
        const ProgressCallback report = no_progress();
        ThreadPool pool(settings.n_jobs);
        return profile_thresholds(columns_view, target.target, settings, *sorted.columns, node,
                                  std::span(chosen.data(), chosen.size()), n_points, pool, [&] { report(1.0); });
    });
    nb::list out;
    for (ThresholdProfile& p : profiles) {
        nb::dict one;
        one["n_cuts"] = p.n_cuts, one["n_eligible"] = p.n_eligible;
        put_cuts(one, "best_", p.best);
        put_cuts(one, "point_", p.points);
        one["best_left"] = to_numpy(std::move(p.left));
        one["missing"] = to_numpy(std::move(p.missing));
        one["point_left"] = to_numpy(std::move(p.points_left));
        out.append(one);
    }
    return out;
}

}  // namespace

void bind_profiles(nb::module_& m) {
    nb::class_<SortedTable>(m, "SortedColumns", "The rows of each numeric column in order of value.")
        .def(
            "__init__",
            [](SortedTable* self, const std::vector<ColumnArray*>& columns, int64_t n_rows, int n_jobs) {
                new (self) SortedTable(sort_columns(columns, n_rows, n_jobs));
            },
            "columns"_a, "n_rows"_a, "n_jobs"_a = 1)
        .def(
            "profile", &profile, "columns"_a, "target"_a, "settings"_a, "rows"_a, "chosen"_a, "n_points"_a,
            "Return the thresholds of some columns at the node with these rows: the best ones, and points of a chart.");
}

}  // namespace treewise
