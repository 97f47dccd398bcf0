// The only file that knows Python: arrays in, arrays out, the interpreter's lock released while the core works.
//
// Signatures are contracts: types, dimensions and contiguity are checked here, once, by nanobind; shapes that must go
// together are checked below. Columns are looked at where they lie, whatever their stride. treewise/_core.pyi says the
// same to Python's type checkers.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <thread>

#include "best.hpp"
#include "estimate.hpp"
#include "fixed.hpp"
#include "grow.hpp"
#include "midpoint.hpp"
#include "predict.hpp"
#include "prune.hpp"
#include "shap.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace treewise {
namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A column as Python hands it over; `keep` holds its array alive.
struct ColumnArray {
    Column column;
    nb::object keep;
    int64_t size = 0;
};

template <class T>
using Strided = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;

// Looks at the array without copying it; returns whether it is of this type.
template <class T>
bool look_at(ColumnArray& c, ValueType type) {
    Strided<T> array;
    if (!nb::try_cast(c.keep, array, false)) return false;
    c.column.data = array.data();
    c.column.type = type;
    c.column.stride = array.stride(0) * static_cast<int64_t>(sizeof(T));
    c.size = static_cast<int64_t>(array.size());
    return true;
}

void check_codes(const ColumnArray& c) {
    const auto codes = c.column.view<int32_t>();
    bool bad = false;  // without a way out of the loop: it is several times faster
    for (int64_t r = 0; r < c.size; ++r) bad |= codes[r] >= c.column.n_levels || codes[r] < kUnseen;
    if (bad) throw nb::value_error("code out of range");
}

ColumnArray make_column(nb::object array, int64_t n_levels, const std::vector<int>& kinds) {
    ColumnArray c;
    c.keep = array;
    c.column.n_levels = n_levels;
    for (int k : kinds) c.column.kinds.push_back(static_cast<Kind>(k));
    if (!look_at<float>(c, ValueType::f32) && !look_at<double>(c, ValueType::f64) &&
        !look_at<int64_t>(c, ValueType::i64) && !look_at<int32_t>(c, ValueType::code))
        throw nb::type_error("a column must be a one-dimensional float32, float64, int64 or int32 array");
    if (c.column.is_code()) check_codes(c);
    return c;
}

// The columns as the core takes them; to predict, those that the tree does not ask for may be empty.
std::vector<Column> views(const std::vector<ColumnArray*>& columns, int64_t n_rows, bool may_lack = false) {
    std::vector<Column> out;
    for (const ColumnArray* c : columns) {
        if (!c) throw nb::type_error("a column is None");
        const bool asked = c->size > 0 || !may_lack;
        if (asked && c->size != n_rows) throw nb::value_error("columns differ in length");
        out.push_back(c->column);
    }
    return out;
}

// Looks at most every 50 ms whether the user pressed Ctrl-C, and tells the progress callback how far we are.
Monitor monitor(std::optional<std::function<void(double)>>& progress) {
    auto last = std::make_shared<std::chrono::steady_clock::time_point>(std::chrono::steady_clock::now());
    return [last, &progress](double done) {
        const auto now = std::chrono::steady_clock::now();
        if (now - *last < std::chrono::milliseconds(50)) return;
        *last = now;
        nb::gil_scoped_acquire python;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (progress) (*progress)(done);
    };
}

template <class T>
nb::object to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// The target as Python hands it over (treewise/problem).
struct TargetArrays {
    nb::object y;
    Array<double> raw;
    Strided<int64_t> weight;
    Target target;
};

// Takes the array if it is of this type, and says how long it is; -1 if it is not.
template <class T>
int64_t take(const nb::object& given, const T*& data) {
    Array<T> array;
    if (!nb::try_cast(given, array, false)) return -1;
    data = array.data();
    return static_cast<int64_t>(array.size());
}

TargetArrays make_target(nb::object y, Array<double> raw, Strided<int64_t> weight, int64_t n_classes, int scale,
                         int weight_scale, std::optional<int> top) {
    Target t;
    t.n_rows = n_classes == 0 ? take(y, t.y) : n_classes > 256 ? take(y, t.label.wide) : take(y, t.label.bytes);
    if (t.n_rows < 0) throw nb::type_error("y must be int64 numbers, or class numbers: uint8 up to 256, else int32");
    if (static_cast<int64_t>(weight.size()) != t.n_rows ||
        (n_classes == 0 && static_cast<int64_t>(raw.size()) != t.n_rows))
        throw nb::value_error("lengths differ");
    for (int64_t r = 0; n_classes && r < t.n_rows; ++r) {
        const int32_t label = t.label[static_cast<size_t>(r)];
        if (label < 0 || label >= n_classes) throw nb::value_error("class out of range");
    }
    t.raw = raw.data();
    t.weight = {reinterpret_cast<const std::byte*>(weight.data()), weight.stride(0) * int64_t{sizeof(int64_t)}};
    t.n_classes = n_classes, t.scale = scale, t.weight_scale = weight_scale, t.top = top.value_or(kAllFit);
    return {y, raw, weight, t};
}

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

nb::dict to_dict(Nodes&& n) {
    nb::dict out;
    const auto put = [&](const char* name, auto& values) { out[name] = to_numpy(std::move(values)); };
    put("parent", n.parent);
    put("kind", n.kind);
    put("column", n.column);
    put("cut", n.cut);
    put("cut_int", n.cut_int);
    put("missing", n.missing);
    put("other", n.other);
    put("code_start", n.code_start);
    put("codes", n.codes);
    put("stop", n.stop);
    put("rows", n.rows);
    put("missing_rows", n.missing_rows);
    put("weight", n.weight);
    put("impurity", n.impurity);
    put("gain", n.gain);
    put("label", n.label);
    put("count_start", n.count_start);
    put("count_class", n.count_class);
    put("count_weight", n.count_weight);
    put("value", n.value);
    put("spread", n.spread);
    return out;
}

int workers() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

// (low, high) of each column, as numbers of the type its cuts have; None where there are none.
nb::list to_list(const std::vector<Quartiles>& quartiles, const std::vector<Column>& columns) {
    nb::list out;
    for (size_t c = 0; c < columns.size(); ++c) {
        const auto [low, high] = quartiles[c];
        if (low == kNoKey)
            out.append(nb::none());
        else if (columns[c].is_number())
            out.append(nb::make_tuple(number_of(low), number_of(high)));
        else
            out.append(nb::make_tuple(integer_of(low), integer_of(high)));
    }
    return out;
}

nb::object quartiles(const std::vector<ColumnArray*>& columns, Strided<int64_t> weight) {
    const auto n_rows = static_cast<int64_t>(weight.size());
    const std::vector<Column> seen = views(columns, n_rows);
    const View<int64_t> weights{reinterpret_cast<const std::byte*>(weight.data()),
                                weight.stride(0) * int64_t{sizeof(int64_t)}};
    std::optional<std::function<void(double)>> silent;
    std::vector<Quartiles> found;
    {
        nb::gil_scoped_release no_python;
        bool unit = true;
        for (int64_t r = 0; r < n_rows; ++r) unit = unit && weights[static_cast<size_t>(r)] == 1;
        const Monitor look = monitor(silent);
        Crew crew(workers());
        found = find_quartiles(seen, weights, n_rows, unit, crew, [&] { look(1.0); });
    }
    return to_list(found, seen);
}

nb::dict grow_tree(const std::vector<ColumnArray*>& columns, const TargetArrays& target, const Settings& settings,
                   std::optional<std::function<void(double)>> progress) {
    const std::vector<Column> seen = views(columns, target.target.n_rows);
    Nodes nodes;
    {
        nb::gil_scoped_release no_python;
        nodes = grow(seen, target.target, settings, monitor(progress));
    }
    const nb::list quartiles = settings.quartiles ? to_list(nodes.quartiles, seen) : nb::list();
    nb::dict out = to_dict(std::move(nodes));
    if (settings.quartiles) out["quartiles"] = quartiles;
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

// Pruning: parents come before their children, and every other array has an entry a node.
void check_parents(const Array<int64_t>& parent, size_t other) {
    if (parent.size() == 0 || parent.size() != other) throw nb::value_error("lengths differ");
    for (size_t node = 0; node < parent.size(); ++node)
        if (node ? parent(node) < 0 || parent(node) >= static_cast<int64_t>(node) : parent(0) >= 0)
            throw nb::value_error("parents do not come before their children");
}

nb::object fold_up_costs(Array<int64_t> parent, Array<double> as_leaf, Array<double> own, double slack,
                         double rounding) {
    check_parents(parent, as_leaf.size());
    check_parents(parent, own.size());
    Folded found = fold_up({parent.data(), parent.size()}, {as_leaf.data(), as_leaf.size()}, {own.data(), own.size()},
                           slack, rounding);
    return nb::make_tuple(to_numpy(std::move(found.cut)), to_numpy(std::move(found.below)));
}

nb::object merge_moments(Array<int64_t> parent, Array<double> weight, Array<double> mean, Array<double> about) {
    check_parents(parent, weight.size());
    check_parents(parent, mean.size());
    check_parents(parent, about.size());
    const auto copy = [](const Array<double>& a) { return std::vector<double>(a.data(), a.data() + a.size()); };
    Moments found = merge_up({parent.data(), parent.size()}, {copy(weight), copy(mean), copy(about)});
    return nb::make_tuple(to_numpy(std::move(found.weight)), to_numpy(std::move(found.mean)),
                          to_numpy(std::move(found.about)));
}

nb::object find_crossings(Array<int64_t> parent, Array<double> risk, double tie) {
    check_parents(parent, risk.size());
    Crossings found = crossings({parent.data(), parent.size()}, {risk.data(), risk.size()}, tie);
    return nb::make_tuple(to_numpy(std::move(found.alpha)), to_numpy(std::move(found.more_risk)),
                          to_numpy(std::move(found.fewer)));
}

// The competition by itself, for tests: the place of the winner among (merit, slack, column, position).
int64_t winner(const std::vector<std::vector<int64_t>>& offers, bool random, uint64_t node) {
    Best best(random, node);
    for (const auto& o : offers) best.offer({.merit = o.at(0), .key = {o.at(2), 0, o.at(3), 0}, .slack = o.at(1)});
    const Key key = best.get().key;
    const auto won = [&](const auto& o) { return o[2] == key.column && o[3] == key.position; };
    return std::find_if(offers.begin(), offers.end(), won) - offers.begin();
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The C++ core of treewise: growing and predicting on encoded columns.";

    nb::class_<ColumnArray>(m, "Column", "One encoded column and the split kinds it may be tested by.")
        .def(
            "__init__",
            [](ColumnArray* self, nb::object array, int64_t n_levels, const std::vector<int>& kinds) {
                new (self) ColumnArray(make_column(array, n_levels, kinds));
            },
            "array"_a, "n_levels"_a = 0, "kinds"_a = std::vector<int>{});

    nb::enum_<Criterion>(m, "Criterion")
        .value("entropy", Criterion::entropy)
        .value("gini", Criterion::gini)
        .value("error", Criterion::error)
        .value("squared_error", Criterion::squared_error)
        .value("absolute_error", Criterion::absolute_error)
        .value("poisson", Criterion::poisson);
    nb::enum_<Rule>(m, "Rule").value("gain", Rule::gain).value("ratio", Rule::ratio).value("c45", Rule::c45);

    nb::class_<Tuning>(m, "Tuning", "How the work is done, never what comes out; for tests.")
        .def(nb::init<>())
        .def_rw("plain", &Tuning::plain)
        .def_rw("bounds", &Tuning::bounds)
        .def_rw("subtract", &Tuning::subtract)
        .def_rw("cluster_cells", &Tuning::cluster_cells)
        .def_rw("cluster_rows", &Tuning::cluster_rows)
        .def_rw("counted_rows", &Tuning::counted_rows);

    nb::class_<Settings>(m, "Settings", "What steers growth; settings.py fills it.")
        .def(nb::init<>())
        .def_rw("criterion", &Settings::criterion)
        .def_rw("rule", &Settings::rule)
        .def_rw("by_branches", &Settings::by_branches)
        .def_rw("missing_branch", &Settings::missing_branch)
        .def_rw("empty_from_root", &Settings::empty_from_root)
        .def_rw("random_ties", &Settings::random_ties)
        .def_rw("seed", &Settings::seed)
        .def_rw("max_depth", &Settings::max_depth)
        .def_rw("max_leaf_nodes", &Settings::max_leaf_nodes)
        .def_rw("min_samples_split", &Settings::min_samples_split)
        .def_rw("min_samples_leaf", &Settings::min_samples_leaf)
        .def_rw("min_leaf_weight", &Settings::min_leaf_weight)
        .def_rw("min_impurity_decrease", &Settings::min_impurity_decrease)
        .def_rw("accuracy_over", &Settings::accuracy_over)
        .def_rw("accuracy_under", &Settings::accuracy_under)
        .def_rw("n_jobs", &Settings::n_jobs)
        .def_rw("quartiles", &Settings::quartiles)
        .def_rw("tuning", &Settings::tuning);

    nb::class_<TargetArrays>(m, "Target", "Class numbers or scaled targets, and the weights of the rows.")
        .def(
            "__init__",
            [](TargetArrays* self, nb::object y, Array<double> raw, Strided<int64_t> weight, int64_t n_classes,
               int scale, int weight_scale, std::optional<int> top) {
                new (self) TargetArrays(make_target(y, raw, weight, n_classes, scale, weight_scale, top));
            },
            "y"_a, "raw"_a, "weight"_a, "n_classes"_a, "scale"_a, "weight_scale"_a, "top"_a = nb::none());

    m.def("grow", &grow_tree, "columns"_a, "target"_a, "settings"_a, "progress"_a = nb::none(),
          "Grow a tree; returns its nodes as flat arrays, and the columns' quartiles if the settings ask for them.");
    m.def("estimate", &estimate_tree, "tree"_a, "parent"_a, "columns"_a, "target"_a, "settings"_a,
          "Re-estimate the statistics of a tree's nodes.");
    m.def("fold_up", &fold_up_costs, "parent"_a, "as_leaf"_a, "own"_a, "slack"_a, "rounding"_a,
          "Which nodes to cut, costs adding up over leaves; and what each subtree costs then.");
    m.def("merge_up", &merge_moments, "parent"_a, "weight"_a, "mean"_a, "about"_a,
          "Weight, mean and squares about the mean of the values at and below each node.");
    m.def("crossings", &find_crossings, "parent"_a, "risk"_a, "tie"_a,
          "The price of a leaf from which on each node is one; what it adds to the risk, and takes from the leaves.");
    m.def("quartiles", &quartiles, "columns"_a, "weight"_a,
          "The lower and the upper quartile of each column of numbers; None for others, and where no row has a value.");
    m.def("leaves", &leaves, "tree"_a, "columns"_a, "n_rows"_a, "The node each row ends at.");
    m.def("shapley", &shapley, "tree"_a, "columns"_a, "n_rows"_a, "share"_a, "stay"_a, "speaker"_a, "said"_a,
          "n_outputs"_a, "What each column adds to the answer for each row: rows × columns × outputs numbers.");
    m.def(
        "midpoint", [](double a, double b) { return midpoint(a, b); }, "a"_a, "b"_a,
        "The threshold between two neighbouring numbers.");
    m.def("winner", &winner, "offers"_a, "random"_a, "node"_a,
          "The place of the winner among offers of (merit, slack, column, position).");
    m.def(
        "nlogn", [](int64_t n) { return static_cast<double>(Nlogn(0)(n)); }, "n"_a,
        "n·log2(n) in units of 2^-61, as a double.");
}

}  // namespace treewise
