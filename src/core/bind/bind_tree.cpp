// Bindings: a finished tree and a table: end nodes, refitted statistics, Shapley values; the check of packed trees.

#include "bind/python.hpp"
#include "tree/pre_order.hpp"
#include "tree/predict.hpp"
#include "tree/refit.hpp"
#include "tree/shap.hpp"

namespace treewise {
namespace {

// Arrays of a finished tree (tree/arrays.py), kept alive.
struct TreeArrays {
    TreeView view;
    std::vector<nb::object> keep;
};

TreeArrays make_tree_view(const nb::dict& tree) {
    TreeArrays out;
    TreeView& p = out.view;
    const auto get = [&]<class T>(const char* name, std::span<const T>& span) {
        Array<T> array;
        const nb::object given = tree[name];
        if (!nb::try_cast(given, array, false))  // no conversion: the copy would have no owner
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

nb::dict refit_tree(const nb::dict& tree, Array<int64_t> parent, const std::vector<ColumnArray*>& columns,
                    const TargetArrays& target, const Settings& settings) {
    const std::vector<Column> columns_view = views(columns, target.target.n_rows);
    const TreeArrays tree_arrays = make_tree_view(tree);
    const TreeView& view = tree_arrays.view;
    return to_dict(without_gil([&] {
        return refit(view, std::span(parent.data(), parent.size()), columns_view, target.target, settings,
                     no_progress());
    }));
}

nb::dict refit_tree_at_nodes(const nb::dict& tree, Array<int64_t> parent, Array<int64_t> end_nodes,
                             const TargetArrays& target, const Settings& settings) {
    const TreeArrays tree_arrays = make_tree_view(tree);
    const auto nodes = static_cast<int64_t>(parent.size());
    const auto span_of = [](const auto& a) { return std::span(a.data(), a.size()); };
    if (tree_arrays.view.kind.size() != parent.size() || end_nodes.size() != static_cast<size_t>(target.target.n_rows))
        throw nb::value_error("lengths differ");
    for (int64_t end : span_of(end_nodes))
        if (end < 0 || end >= nodes) throw nb::value_error("no such node");
    return to_dict(without_gil([&] {
        return refit_at_nodes(tree_arrays.view, span_of(parent), span_of(end_nodes), target.target, settings);
    }));
}

nb::object find_tree_leaves(const nb::dict& tree, const std::vector<ColumnArray*>& columns, int64_t n_rows,
                            std::optional<Array<int64_t>> from) {
    const TreeArrays tree_arrays = make_tree_view(tree);
    const std::vector<Column> columns_view = views(columns, n_rows, true);
    if (from) {
        if (from->size() != static_cast<size_t>(n_rows)) throw nb::value_error("lengths differ");
        for (size_t row = 0; row < from->size(); ++row)
            if (static_cast<uint64_t>((*from)(row)) >= tree_arrays.view.kind.size())
                throw nb::value_error("no such node");
    }
    std::unique_ptr<int64_t[]> result(new int64_t[static_cast<size_t>(n_rows)]);
    without_gil([&] {
        find_leaves(tree_arrays.view, columns_view, n_rows, n_processors(), no_progress(), result.get(),
                    from ? from->data() : nullptr);
    });
    return to_numpy(std::move(result), static_cast<size_t>(n_rows));
}

nb::object shapley(const nb::dict& tree, const std::vector<ColumnArray*>& columns, int64_t n_rows, Array<double> share,
                   Array<double> stay, Array<int64_t> answer_node, Array<double> outputs, int64_t n_outputs) {
    const TreeArrays tree_arrays = make_tree_view(tree);
    const std::vector<Column> columns_view = views(columns, n_rows, true);
    const size_t n = tree_arrays.view.kind.size();
    if (share.size() != n || stay.size() != n || answer_node.size() != n || n_outputs < 1 ||
        outputs.size() != n * static_cast<size_t>(n_outputs))
        throw nb::value_error("lengths differ");
    const auto span_of = [](const auto& a) { return std::span(a.data(), a.size()); };
    const ShapInputs inputs = {span_of(share), span_of(stay), span_of(answer_node), span_of(outputs), n_outputs};
    std::vector<double> result(static_cast<size_t>(n_rows) * columns.size() * static_cast<size_t>(n_outputs));
    without_gil([&] {
        shapley_values(tree_arrays.view, inputs, columns_view, n_rows, n_processors(), no_progress(), result.data());
    });
    return to_numpy(std::move(result));
}

nb::object check_pre_order(PreOrderChecker& checker, Array<uint8_t> is_root, Array<int64_t> branches,
                           Array<double> rows, Array<int64_t> missing, Array<int64_t> missing_rows) {
    const size_t n = branches.size();
    if (is_root.size() != n || rows.size() != n || missing.size() != n || missing_rows.size() != n)
        throw nb::value_error("lengths differ");
    const auto span_of = [](const auto& a) { return std::span(a.data(), a.size()); };
    const auto [node, fault] =
        checker.visit({span_of(is_root), span_of(branches), span_of(rows), span_of(missing), span_of(missing_rows)});
    return nb::make_tuple(node, static_cast<int64_t>(fault));
}

}  // namespace

void bind_trees(nb::module_& m) {
    nb::class_<PreOrderChecker>(m, "PreOrderChecker")
        .def(nb::init<double>(), "max_rows"_a)
        .def("visit", &check_pre_order, "is_root"_a, "branches"_a, "rows"_a, "missing"_a, "missing_rows"_a,
             "Visit a piece of nodes, the last piece first; return the last node with a fault, and which one.");
    m.def("refit", &refit_tree, "tree"_a, "parent"_a, "columns"_a, "target"_a, "settings"_a,
          "Recompute the statistics of a tree's nodes from a table.");
    m.def("refit_at_nodes", &refit_tree_at_nodes, "tree"_a, "parent"_a, "end_nodes"_a, "target"_a, "settings"_a,
          "The same for rows whose end nodes are known.");
    m.def("find_leaves", &find_tree_leaves, "tree"_a, "columns"_a, "n_rows"_a, "start"_a = nb::none(),
          "Return the node at which each row ends; rows begin at the root, or at the nodes of `start`.");
    m.def("shapley", &shapley, "tree"_a, "columns"_a, "n_rows"_a, "share"_a, "stay"_a, "answer_node"_a, "outputs"_a,
          "n_outputs"_a, "Return Shapley values: rows × columns × outputs numbers.");
}

}  // namespace treewise
