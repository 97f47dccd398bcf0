// Bindings: growing forests; each tree as the arrays of ensemble/packed_trees.py.

#include "bind/python.hpp"
#include "forest/grow_forest.hpp"

namespace treewise {
namespace {

nb::dict to_dict(PackedTree&& tree) {
    nb::dict out;
#define TREEWISE_PUT(type, name) out[#name] = to_numpy(std::move(tree.name));
    TREEWISE_PACKED_ARRAYS(TREEWISE_PUT)
#undef TREEWISE_PUT
    return out;
}

// A sampling plan with its arrays, which are kept alive.
struct PlanArrays {
    SamplingPlan plan;
    Array<uint32_t> units, group_ends;
    Strided<int64_t> weight;
};

void check(const PlanArrays& given, int64_t n_rows, size_t n_columns) {
    if (static_cast<int64_t>(given.weight.size()) != n_rows) throw nb::value_error("lengths differ");
    const auto& units = given.plan.units;
    if (std::any_of(units.begin(), units.end(), [&](uint32_t row) { return row >= n_rows; }))
        throw nb::value_error("a sampling unit is not a row");
    const auto& ends = given.plan.group_ends;
    if (!ends.empty() && (ends.back() != units.size() || !std::is_sorted(ends.begin(), ends.end())))
        throw nb::value_error("the groups are not those of the sampling units");
    const bool no_columns = given.plan.n_columns > 0 && n_columns == 0;
    if (no_columns || (given.plan.n_samples > 0 && units.empty())) throw nb::value_error("nothing to sample from");
}

nb::tuple grow_trees(const std::vector<ColumnArray*>& columns, const TargetArrays& target, const Settings& settings,
                     const PlanArrays& plan, int64_t first, int64_t n_trees,
                     std::optional<std::function<void(double)>> progress) {
    if (target.target.n_rows < 1 || n_trees < 0) throw nb::value_error("nothing to grow");
    const std::vector<Column> columns_view = views(columns, target.target.n_rows);
    check(plan, target.target.n_rows, columns.size());
    std::vector<PackedTree> trees = without_gil([&] {
        return grow_forest(columns_view, target.target, settings, plan.plan, first, n_trees,
                           make_progress_callback(progress));
    });
    nb::list packed;
    std::vector<double> impurity_decreases;
    for (PackedTree& tree : trees) {
        impurity_decreases.insert(impurity_decreases.end(), tree.impurity_decrease.begin(),
                                  tree.impurity_decrease.end());
        packed.append(to_dict(std::move(tree)));
        tree = {};
    }
    return nb::make_tuple(packed, to_numpy(std::move(impurity_decreases)));
}

nb::tuple sample(const PlanArrays& plan, int64_t tree, int64_t n_columns) {
    const auto n_rows = static_cast<int64_t>(plan.weight.size());
    const auto width = static_cast<size_t>(std::max<int64_t>(0, n_columns));
    check(plan, n_rows, width);
    BootstrapSample sampled;
    without_gil([&] { draw_sample(plan.plan, tree, n_rows, width, sampled); });
    return nb::make_tuple(to_numpy(std::move(sampled.counts)), to_numpy(std::move(sampled.columns)));
}

}  // namespace

void bind_forests(nb::module_& m) {
    using Given = std::pair<int64_t, int64_t>;
    nb::class_<PlanArrays>(m, "SamplingPlan",
                           "What differs between the trees of a forest; filled by ensemble/bootstrap.py.")
        .def(
            "__init__",
            [](PlanArrays* self, uint64_t seed, int64_t n_samples, bool replace, Array<uint32_t> units,
               Array<uint32_t> group_ends, Strided<int64_t> weight, int weight_scale, int64_t n_columns,
               bool replace_columns) {
                SamplingPlan plan;
                plan.seed = seed, plan.n_samples = n_samples, plan.replace = replace;
                plan.units = {units.data(), units.size()};
                plan.group_ends = {group_ends.data(), group_ends.size()};
                plan.weight = view_of(weight);
                plan.weight_scale = weight_scale;
                plan.n_columns = n_columns, plan.replace_columns = replace_columns;
                new (self) PlanArrays{plan, units, group_ends, weight};
            },
            "seed"_a, "n_samples"_a, "replace"_a, "units"_a, "group_ends"_a, "weight"_a, "weight_scale"_a,
            "n_columns"_a, "replace_columns"_a)
        .def(
            "set_limit_fractions",
            [](PlanArrays& self, Given split, Given leaf, Given leaf_weight) {
                const auto fraction = [](Given given) {
                    return Fraction{given.first, std::max<int64_t>(1, given.second)};
                };
                self.plan.split = fraction(split), self.plan.leaf = fraction(leaf);
                self.plan.leaf_weight = fraction(leaf_weight);
            },
            "split"_a, "leaf"_a, "leaf_weight"_a);
    m.def("grow_forest", &grow_trees, "columns"_a, "target"_a, "settings"_a, "plan"_a, "first"_a, "n_trees"_a,
          "progress"_a = nb::none(),
          "Grow trees; return the packed arrays of each, and per tree the impurity decrease of every column.");
    m.def("draw_sample", &sample, "plan"_a, "tree"_a, "columns"_a,
          "Return how often each row was drawn for a tree, and the drawn columns.");
}

}  // namespace treewise
