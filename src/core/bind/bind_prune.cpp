// For Python: the sums from the leaves up that pruning needs.

#include "bind/python.hpp"
#include "tree/prune.hpp"

namespace treewise {
namespace {

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

}  // namespace

void bind_pruning(nb::module_& m) {
    m.def("fold_up", &fold_up_costs, "parent"_a, "as_leaf"_a, "own"_a, "slack"_a, "rounding"_a,
          "Which nodes to cut, costs adding up over leaves; and what each subtree costs then.");
    m.def("merge_up", &merge_moments, "parent"_a, "weight"_a, "mean"_a, "about"_a,
          "Weight, mean and squares about the mean of the values at and below each node.");
    m.def("crossings", &find_crossings, "parent"_a, "risk"_a, "tie"_a,
          "The price of a leaf from which on each node is one; what it adds to the risk, and takes from the leaves.");
}

}  // namespace treewise
