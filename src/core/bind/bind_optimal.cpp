// Bindings: optimal trees.

#include "bind/python.hpp"
#include "optimal/optimal.hpp"

namespace treewise {
namespace {

using Matrix = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

nb::dict solve_optimal(Matrix ranks, Array<int64_t> target, Array<int64_t> weight, const std::string& objective,
                       int n_classes, std::vector<int64_t> cost, int shift, int64_t scale, int64_t penalty,
                       int max_depth, int max_leaves, int n_threads, std::optional<int64_t> incumbent,
                       int64_t max_bytes, const std::vector<std::string>& without,
                       std::optional<std::function<bool(std::optional<int64_t>, int64_t)>> progress) {
    using optimal::Objective;
    optimal::Problem p;
    p.n_rows = static_cast<int64_t>(target.size());
    const auto n = target.size(), q = ranks.shape(0);
    if (weight.size() != n || ranks.shape(1) != n) throw nb::value_error("lengths differ");
    p.ranks = ranks.data();
    for (size_t f = 0; f < q; ++f) {
        int32_t most = 0;
        for (size_t r = 0; r < n; ++r) {
            if (ranks(f, r) < 0) throw nb::value_error("ranks start at 0");
            most = std::max(most, ranks(f, r));
        }
        p.n_ranks.push_back(most + 1);
    }
    p.objective = objective == "linear"          ? Objective::linear
                  : objective == "squared_error" ? Objective::squared_error
                  : objective == "gini"          ? Objective::gini
                                                 : Objective::entropy;
    if (p.objective != Objective::squared_error)
        for (size_t r = 0; r < n; ++r)
            if (target(r) < 0 || target(r) >= n_classes || n_classes > 64) throw nb::value_error("class out of range");
    if (p.objective == Objective::linear &&
        cost.size() != static_cast<size_t>(n_classes) * static_cast<size_t>(n_classes))
        throw nb::value_error("costs are not square");
    p.n_classes = n_classes, p.target = target.data(), p.weight = weight.data(), p.cost = std::move(cost);
    p.shift = shift, p.scale = scale, p.penalty = penalty, p.max_depth = max_depth, p.max_leaves = max_leaves;
    optimal::Options o;
    o.n_threads = n_threads, o.incumbent = incumbent.value_or(INT64_MAX), o.max_archive_bytes = max_bytes;
    for (const std::string& name : without) {
        if (name == "lipschitz") o.lipschitz = false;
        if (name == "similarity") o.similarity = false;
        if (name == "cache") o.cache = false;
        if (name == "scan") o.scan = false;
        if (name == "merge_rows") o.merge_rows = false;
    }
    bool interrupted = false;
    const auto report = [&](const optimal::Progress& now) {
        nb::gil_scoped_acquire python;
        if (PyErr_CheckSignals() != 0) {  // Ctrl-C ends the search, not the program: the best tree is returned
            if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) throw nb::python_error();
            PyErr_Clear();
            interrupted = true;
            return false;
        }
        if (!progress) return true;
        return (*progress)(now.incumbent == INT64_MAX ? std::nullopt : std::optional(now.incumbent), now.lower_bound);
    };
    optimal::Solution solution = without_gil([&] { return optimal::solve(p, o, report); });
    nb::list nodes;
    for (const optimal::TreeNode& node : solution.nodes) nodes.append(nb::make_tuple(node.feature, node.rank));
    nb::dict out;
    out["nodes"] = nodes, out["objective"] = solution.objective, out["lower_bound"] = solution.lower_bound;
    out["proven"] = solution.proven, out["interrupted"] = interrupted;
    out["evaluated"] = solution.n_evaluated, out["cached"] = solution.n_cached, out["similar"] = solution.n_similar;
    return out;
}

}  // namespace

void bind_optimal(nb::module_& m) {
    m.def("solve_optimal", &solve_optimal, "ranks"_a, "target"_a, "weight"_a, "objective"_a, "n_classes"_a, "cost"_a,
          "shift"_a, "scale"_a, "penalty"_a, "max_depth"_a, "max_leaves"_a, "n_threads"_a, "incumbent"_a = nb::none(),
          "max_bytes"_a = int64_t{1} << 29, "without"_a = std::vector<std::string>{}, "progress"_a = nb::none(),
          "Find the tree of least objective under limits on depth and leaves; see src/core/optimal/optimal.hpp.");
}

}  // namespace treewise
