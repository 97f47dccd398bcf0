// Bindings: bottom-up passes for pruning.

#include "bind/python.hpp"
#include "tree/prune.hpp"

namespace treewise {
namespace {

// Parents precede their children, and the other array has one entry per node.
void check_parents(const Array<int64_t>& parent, size_t other) {
    if (parent.size() == 0 || parent.size() != other) throw nb::value_error("lengths differ");
    for (size_t node = 0; node < parent.size(); ++node)
        if (node ? parent(node) < 0 || parent(node) >= static_cast<int64_t>(node) : parent(0) >= 0)
            throw nb::value_error("parents do not come before their children");
}

nb::object prune_costs(Array<int64_t> parent, Array<double> as_leaf, Array<double> own, double tolerance,
                       double rounding) {
    check_parents(parent, as_leaf.size());
    check_parents(parent, own.size());
    PrunedCosts result = prune_bottom_up({parent.data(), parent.size()}, {as_leaf.data(), as_leaf.size()},
                                         {own.data(), own.size()}, tolerance, rounding);
    return nb::make_tuple(to_numpy(std::move(result.is_pruned)), to_numpy(std::move(result.below)));
}

nb::object sum_node_moments(Array<int64_t> parent, Array<double> weight, Array<double> mean, Array<double> about) {
    check_parents(parent, weight.size());
    check_parents(parent, mean.size());
    check_parents(parent, about.size());
    const auto copy = [](const Array<double>& a) { return std::vector<double>(a.data(), a.data() + a.size()); };
    Moments result = sum_moments({parent.data(), parent.size()}, {copy(weight), copy(mean), copy(about)});
    return nb::make_tuple(to_numpy(std::move(result.weight)), to_numpy(std::move(result.mean)),
                          to_numpy(std::move(result.about)));
}

nb::object find_alphas(Array<int64_t> parent, Array<double> risk, double tie) {
    check_parents(parent, risk.size());
    WeakestLinks result = weakest_link_alphas({parent.data(), parent.size()}, {risk.data(), risk.size()}, tie);
    return nb::make_tuple(to_numpy(std::move(result.alpha)), to_numpy(std::move(result.more_risk)),
                          to_numpy(std::move(result.leaves_removed)));
}

}  // namespace

void bind_pruning(nb::module_& m) {
    m.def("prune_bottom_up", &prune_costs, "parent"_a, "as_leaf"_a, "own"_a, "tolerance"_a, "rounding"_a,
          "Return which nodes to prune when costs add up over leaves, and the cost of each pruned subtree.");
    m.def("sum_moments", &sum_node_moments, "parent"_a, "weight"_a, "mean"_a, "about"_a,
          "Return weight, mean and sum of squared deviations of each subtree.");
    m.def("weakest_link_alphas", &find_alphas, "parent"_a, "risk"_a, "tie"_a,
          "Return for each node the alpha from which it is a leaf, the risk this adds and the leaves it removes.");
}

}  // namespace treewise
