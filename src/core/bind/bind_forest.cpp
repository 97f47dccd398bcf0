// For Python: many trees on one table, each as the arrays of ensemble/packed_trees.py.

#include "bind/python.hpp"
#include "forest/grow_forest.hpp"

namespace treewise {
namespace {

nb::dict to_dict(Member&& m) {
    nb::dict out;
    const auto put = [&](const char* name, auto& values) { out[name] = to_numpy(std::move(values)); };
    put("kind", m.kind);
    put("column", m.column);
    put("cut", m.cut);
    put("cut_int", m.cut_int);
    put("missing", m.missing);
    put("other", m.other);
    put("n_codes", m.n_codes);
    put("codes", m.codes);
    put("missing_rows", m.missing_rows);
    put("stop", m.stop);
    put("rows", m.rows);
    put("n_counts", m.n_counts);
    put("count_class", m.count_class);
    put("count_weight", m.count_weight);
    put("weight", m.weight);
    put("value", m.value);
    put("spread", m.spread);
    put("impurity", m.impurity);
    return out;
}

// A plan as Python hands it over; `keep` holds its arrays alive.
struct PlanArrays {
    Plan plan;
    Array<uint32_t> units;
    Strided<int64_t> weight;
};

void check(const PlanArrays& given, int64_t n_rows, size_t n_columns) {
    if (static_cast<int64_t>(given.weight.size()) != n_rows) throw nb::value_error("lengths differ");
    const auto& units = given.plan.units;
    if (std::any_of(units.begin(), units.end(), [&](uint32_t row) { return row >= n_rows; }))
        throw nb::value_error("a unit of no row");
    const bool no_columns = given.plan.n_columns > 0 && n_columns == 0;
    if (no_columns || (given.plan.n_drawn > 0 && units.empty())) throw nb::value_error("nothing to draw from");
}

nb::tuple forest(const std::vector<ColumnArray*>& columns, const TargetArrays& target, const Settings& settings,
                 const PlanArrays& plan, int64_t first, int64_t n_trees,
                 std::optional<std::function<void(double)>> progress) {
    if (target.target.n_rows < 1 || n_trees < 0) throw nb::value_error("nothing to grow");
    const std::vector<Column> seen = views(columns, target.target.n_rows);
    check(plan, target.target.n_rows, columns.size());
    std::vector<Member> members;
    {
        nb::gil_scoped_release no_python;
        members = grow_forest(seen, target.target, settings, plan.plan, first, n_trees, monitor(progress));
    }
    nb::list trees;
    std::vector<double> decreases;
    for (Member& m : members) {
        decreases.insert(decreases.end(), m.decrease.begin(), m.decrease.end());
        trees.append(to_dict(std::move(m)));
        m = {};
    }
    return nb::make_tuple(trees, to_numpy(std::move(decreases)));
}

nb::tuple bag(const PlanArrays& plan, int64_t tree, int64_t n_columns) {
    const auto n_rows = static_cast<int64_t>(plan.weight.size());
    const auto width = static_cast<size_t>(std::max<int64_t>(0, n_columns));
    check(plan, n_rows, width);
    Bag drawn;
    {
        nb::gil_scoped_release no_python;
        draw_bag(plan.plan, tree, n_rows, width, drawn);
    }
    return nb::make_tuple(to_numpy(std::move(drawn.times)), to_numpy(std::move(drawn.columns)));
}

}  // namespace

void bind_forests(nb::module_& m) {
    using Given = std::pair<int64_t, int64_t>;
    nb::class_<PlanArrays>(m, "Plan", "What distinguishes the trees of a forest; ensemble/bootstrap.py fills it.")
        .def(
            "__init__",
            [](PlanArrays* self, uint64_t seed, int64_t drawn, bool replace, Array<uint32_t> units,
               Strided<int64_t> weight, int weight_scale, int64_t columns_drawn, bool replace_columns) {
                Plan plan;
                plan.seed = seed, plan.n_drawn = drawn, plan.replace = replace;
                plan.units = {units.data(), units.size()};
                plan.weight = {reinterpret_cast<const std::byte*>(weight.data()),
                               weight.stride(0) * int64_t{sizeof(int64_t)}};
                plan.weight_scale = weight_scale;
                plan.n_columns = columns_drawn, plan.replace_columns = replace_columns;
                new (self) PlanArrays{plan, units, weight};
            },
            "seed"_a, "drawn"_a, "replace"_a, "units"_a, "weight"_a, "weight_scale"_a, "columns_drawn"_a,
            "replace_columns"_a)
        .def(
            "limit_shares",
            [](PlanArrays& self, Given split, Given leaf, Given leaf_weight) {
                const auto share = [](Given given) { return Share{given.first, std::max<int64_t>(1, given.second)}; };
                self.plan.split = share(split), self.plan.leaf = share(leaf);
                self.plan.leaf_weight = share(leaf_weight);
            },
            "split"_a, "leaf"_a, "leaf_weight"_a);
    m.def("forest", &forest, "columns"_a, "target"_a, "settings"_a, "plan"_a, "first"_a, "trees"_a,
          "progress"_a = nb::none(),
          "Grow many trees; returns each one's packed arrays, and tree by tree what each column's splits take away.");
    m.def("bag", &bag, "plan"_a, "tree"_a, "columns"_a,
          "How often each row was drawn for a tree, and which columns were.");
}

}  // namespace treewise
