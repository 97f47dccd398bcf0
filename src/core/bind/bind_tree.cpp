// For Python: a finished tree and rows that go down it: where they end, what nodes say of them, what columns add.

#include "bind/python.hpp"
#include "tree/predict.hpp"
#include "tree/refit.hpp"
#include "tree/shap.hpp"

namespace treewise {
namespace {

// A finished tree's arrays (nodes.py: Arrays.for_core); `keep` holds them alive while the core works.
struct PathArrays {
    Paths paths;
    std::vector<nb::object> keep;
};

PathArrays make_paths(const nb::dict& tree) {
    PathArrays out;
    Paths& p = out.paths;
    const auto get = [&]<class T>(const char* name, std::span<const T>& span) {
        Array<T> array;
        const nb::object given = tree[name];
        if (!nb::try_cast(given, array, false))  // converted, it would be a copy that nobody holds
            throw nb::type_error((std::string(name) + " is not a contiguous array of its type").c_str());
        out.keep.push_back(given);
        span = std::span(array.data(), array.size());
    };
    get("kind", p.kind);
    get("column", p.column);
    get("cut", p.cut);
    get("cut_int", p.cut_int);
    get("missing", p.missing);
    get("other", p.other);
    get("code_start", p.code_start);
    get("codes", p.codes);
    get("code_branch", p.code_branch);
    get("child_start", p.child_start);
    get("children", p.children);
    const size_t n = p.kind.size();
    const bool fits = p.column.size() == n && p.cut.size() == n && p.cut_int.size() == n && p.missing.size() == n &&
                      p.other.size() == n && p.code_start.size() == n + 1 && p.child_start.size() == n + 1 &&
                      p.code_branch.size() == p.codes.size() && n > 0;
    if (!fits) throw nb::value_error("the tree's arrays differ in length");
    return out;
}

nb::dict estimate_tree(const nb::dict& tree, Array<int64_t> parent, const std::vector<ColumnArray*>& columns,
                       const TargetArrays& target, const Settings& settings) {
    const std::vector<Column> seen = views(columns, target.target.n_rows);
    const PathArrays held = make_paths(tree);
    const Paths& paths = held.paths;
    std::optional<std::function<void(double)>> silent;
    Nodes nodes;
    {
        nb::gil_scoped_release no_python;
        nodes =
            estimate(paths, std::span(parent.data(), parent.size()), seen, target.target, settings, monitor(silent));
    }
    return to_dict(std::move(nodes));
}

nb::dict estimate_ends(const nb::dict& tree, Array<int64_t> parent, Array<int64_t> ends, const TargetArrays& target,
                       const Settings& settings) {
    const PathArrays held = make_paths(tree);
    const auto nodes = static_cast<int64_t>(parent.size());
    const auto view = [](const auto& a) { return std::span(a.data(), a.size()); };
    if (held.paths.kind.size() != parent.size() || ends.size() != static_cast<size_t>(target.target.n_rows))
        throw nb::value_error("lengths differ");
    for (int64_t end : view(ends))
        if (end < 0 || end >= nodes) throw nb::value_error("no such node");
    Nodes found;
    {
        nb::gil_scoped_release no_python;
        found = estimate_at(held.paths, view(parent), view(ends), target.target, settings);
    }
    return to_dict(std::move(found));
}

nb::object leaves(const nb::dict& tree, const std::vector<ColumnArray*>& columns, int64_t n_rows) {
    const PathArrays held = make_paths(tree);
    const std::vector<Column> seen = views(columns, n_rows, true);
    auto found = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(n_rows));
    std::optional<std::function<void(double)>> silent;
    {
        nb::gil_scoped_release no_python;
        find_leaves(held.paths, seen, n_rows, workers(), monitor(silent), found.get());
    }
    int64_t* nodes = found.release();
    nb::capsule owner(nodes, [](void* p) noexcept { delete[] static_cast<int64_t*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(nodes, {static_cast<size_t>(n_rows)}, owner));
}

nb::object shapley(const nb::dict& tree, const std::vector<ColumnArray*>& columns, int64_t n_rows, Array<double> share,
                   Array<double> stay, Array<int64_t> speaker, Array<double> said, int64_t n_outputs) {
    const PathArrays held = make_paths(tree);
    const std::vector<Column> seen = views(columns, n_rows, true);
    const size_t n = held.paths.kind.size();
    if (share.size() != n || stay.size() != n || speaker.size() != n || n_outputs < 1 ||
        said.size() != n * static_cast<size_t>(n_outputs))
        throw nb::value_error("lengths differ");
    const auto view = [](const auto& a) { return std::span(a.data(), a.size()); };
    const Shares shares = {view(share), view(stay), view(speaker), view(said), n_outputs};
    std::vector<double> found(static_cast<size_t>(n_rows) * columns.size() * static_cast<size_t>(n_outputs));
    std::optional<std::function<void(double)>> silent;
    {
        nb::gil_scoped_release no_python;
        shapley_values(held.paths, shares, seen, n_rows, workers(), monitor(silent), found.data());
    }
    return to_numpy(std::move(found));
}

}  // namespace

void bind_trees(nb::module_& m) {
    m.def("estimate", &estimate_tree, "tree"_a, "parent"_a, "columns"_a, "target"_a, "settings"_a,
          "Re-estimate the statistics of a tree's nodes.");
    m.def("estimate_at", &estimate_ends, "tree"_a, "parent"_a, "ends"_a, "target"_a, "settings"_a,
          "The same for rows of which it is known at which node they end.");
    m.def("leaves", &leaves, "tree"_a, "columns"_a, "n_rows"_a, "The node each row ends at.");
    m.def("shapley", &shapley, "tree"_a, "columns"_a, "n_rows"_a, "share"_a, "stay"_a, "speaker"_a, "said"_a,
          "n_outputs"_a, "What each column adds to the answer for each row: rows × columns × outputs numbers.");
}

}  // namespace treewise
