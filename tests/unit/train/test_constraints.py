"""Monotone constraints: what they forbid, how it is reported, and what is refused."""

import numpy as np
import pytest

import treewise as tw
from treewise.errors import ColumnError, ParameterError
from treewise.train.constraints import (
    ColumnConstraints,
    NodeConstraints,
    constraints_at,
    note_broken_order,
)

# Chances rise with age, except in one group.
AGES = {"age": [1.0, 2.0, 3.0, 4.0] * 3, "y": ["no", "yes", "no", "yes"] * 2 + ["no", "no", "yes", "yes"]}


def test_a_test_against_the_sign_is_forbidden():
    root = tw.candidates(AGES, "y", monotone={"age": -1})
    assert root.winner is None
    assert {test.forbidden for test in root["age"].tests} == {"the share of yes would rise with age"}
    tree = tw.grow(AGES, "y", monotone={"age": -1})
    assert (tree.n_leaves, tree[0].stop) == (1, "constraints")
    assert tw.grow(AGES, "y", monotone={"age": 1}).n_leaves > 1


def test_the_middle_bounds_everything_below():
    bounds = NodeConstraints().of_branches(ColumnConstraints("age", 1), True, [0.2, 0.6])
    assert (bounds[0].high, bounds[1].low) == (0.4, 0.4)
    below = bounds[0].of_branches(ColumnConstraints("dose", -1), True, [0.3, 0.1])
    assert [(c.low, c.high) for c in below] == [(0.2, 0.4), (-np.inf, 0.2)]
    assert bounds[1].of_branches(ColumnConstraints("town"), False, [0.5, 0.9, 0.7]) == [bounds[1]] * 3


def test_bounds_forbid_splits_of_other_columns():
    table = {"x": [0, 0, 1, 1, 1, 1], "z": [0, 1, 0, 1, 0, 1], "y": [0.0, 10.0, 16.0, 16.0, 16.0, 16.0]}
    tree = tw.grow(table, "y", task="regression", monotone={"x": 1})
    assert tree[0].split.column == "x"
    assert constraints_at(tree, tree.children(0)[0]).high == (5.0 + 16.0) / 2
    assert tree.predict(table).tolist() == table["y"]
    table["y"] = [0.0, 10.0, 9.0, 9.0, 9.0, 9.0]  # 10 is above the middle of 5 and 9
    tree = tw.grow(table, "y", task="regression", monotone={"x": 1})
    assert tree.predict(table).tolist() == [5.0, 5.0, 9.0, 9.0, 9.0, 9.0]


def test_the_trace_names_what_was_forbidden():
    table = {"x": [0, 0, 1, 1, 1, 1], "z": [0, 1, 0, 1, 0, 1], "y": [0.0, 10.0, 9.0, 9.0, 9.0, 9.0]}
    tree = tw.grow(table, "y", task="regression", monotone={"x": 1})
    text = str(tree.trace(table))
    assert "forbidden: " in text
    node = tree.trace(table)[1]
    assert node["z"].tests[0].forbidden == "y would be above 7, the bound set by x above"
    assert tree[1].stop == "constraints"
    assert "a constraint forbids every split that is left" in str(node)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"monotone": {"agee": 1}}, ColumnError, 'no column "agee"'),
        ({"monotone": {"town": 1}}, ParameterError, 'column "town" has no order'),
        ({"monotone": {"age": 2}}, ParameterError, 'column "age": must be +1'),
        ({"monotone": {"age": True}}, ParameterError, 'column "age": must be +1'),
        ({"monotone": ["age"]}, ParameterError, "must be a dict of column"),
        ({"monotone": {"age": 1}, "empty_branch": "root"}, ParameterError, "a branch without rows"),
    ],
)
def test_errors_name_column_and_rule(options, error, words):
    table = {**AGES, "town": list("abcabcabcabc")}
    with pytest.raises(error, match=words.replace("+", r"\+")):
        tw.grow(table, "y", **options)


def test_three_classes_are_refused():
    with pytest.raises(ParameterError, match="has 3 classes"):
        tw.grow("penguins", monotone={"body_mass_g": 1})


def test_an_ordered_category_is_split_by_order():
    table = {"size": ["s", "m", "l"] * 4, "y": [0.0, 1.0, 2.0] * 3 + [0.0, 2.0, 1.0]}
    kinds = {"size": ["s", "m", "l"]}
    tree = tw.grow(table, "y", task="regression", kinds=kinds, categorical="multiway", monotone={"size": 1})
    assert {node.split.kind for node in tree if node.split} == {"ordinal"}
    assert tree.predict({"size": ["s", "m", "l"]}).tolist() == sorted(tree.predict({"size": ["s", "m", "l"]}))


def test_a_sign_of_zero_is_no_constraint():
    assert tw.grow(AGES, "y", monotone={"age": 0}) == tw.grow(AGES, "y")


def test_the_constraint_survives_a_file(tmp_path):
    tree = tw.grow(AGES, "y", monotone={"age": 1})
    tree.save(tmp_path / "tree.json")
    loaded = tw.load(tmp_path / "tree.json")
    assert loaded == tree
    assert loaded.fit_info.settings["monotone"] == {"age": 1}
    assert str(loaded.trace(AGES)) == str(tree.trace(AGES))


def test_refitting_on_rows_that_break_the_order_is_noted():
    tree = tw.grow(AGES, "y", monotone={"age": 1}, max_depth=1)
    upside_down = {"age": AGES["age"], "y": ["yes" if y == "no" else "no" for y in AGES["y"]]}
    assert not any("monotone" in note for note in tree.refit(AGES).notes)
    assert any("the tree is not monotone" in note for note in tree.refit(upside_down).notes)


def test_a_branch_without_rows_hides_no_broken_order():
    """Where x <= 40 no leaf may exceed 0.625, the middle of 1/4 and 1; a branch without rows sets no other bound."""
    grown = tw.grow({"x": [10, 30, 50, 70], "y": [0, 0, 1, 1], "z": [1, 1, 1, 1]}, "y", monotone={"x": 1})
    text = """
        x <= 40
          x <= 35
            z <= 1 -> 1
            z > 1 -> 0
          x > 35 -> 0
        x > 40 -> 1"""
    tree = tw.parse(text, target="y", data={"x": [10], "y": [0], "z": [1]}).refit(
        {"x": [30, 30, 30, 30, 50], "z": [1, 2, 2, 2, 1], "y": [1, 0, 0, 0, 1]}
    )
    tree = tree.with_(history=grown.history)
    assert tree.arrays.rows.tolist() == [5, 4, 4, 1, 3, 0, 1]
    assert note_broken_order(tree) == ["x: on these rows the tree is not monotone (node 3)"]


def test_raising_is_refused():
    tree = tw.grow(AGES, "y", monotone={"age": 1})
    with pytest.raises(ParameterError, match="a raised branch"):
        tree.prune("pessimistic", raising=True, data=AGES)


# -- interactions -----------------------------------------------------------------------------------------------------


def interacting_table():
    rng = np.random.default_rng(5)
    table = {name: rng.integers(0, 50, 300).astype(float) for name in ("a", "b", "c", "d")}
    table["y"] = table["a"] * table["b"] + 20 * table["c"] + 5 * table["d"] + rng.normal(0, 20, 300)
    return table


def paths(tree):
    return [
        {tree.columns[tree.arrays.column[above]] for above in tree.path(leaf.id)[:-1]}
        for leaf in tree
        if leaf.split is None
    ]


@pytest.mark.parametrize("groups", [[["a", "b"]], [["a", "b"], ["b", "c"]], [["a"], ["b"], ["c"], ["d"]]])
def test_every_path_stays_within_a_group(groups):
    table = interacting_table()
    unnamed = {"a", "b", "c", "d"} - {name for group in groups for name in group}
    allowed = [*map(set, groups), unnamed]
    assert not all(any(path <= group for group in allowed) for path in paths(tw.grow(table, "y", max_depth=4)))
    for model in (
        tw.grow(table, "y", interactions=groups),
        *tw.forest(table, "y", n_estimators=4, interactions=groups),
    ):
        actual = paths(model)
        assert all(any(path <= group for group in allowed) for path in actual)
        assert max(map(len, actual)) == max(len(group) for group in allowed if group & set.union(*actual))


def test_the_trace_names_the_columns_above():
    table = interacting_table()
    tree = tw.grow(table, "y", interactions=[["a", "b"], ["c"]], max_depth=2)
    first = tree[0].split.column
    trace = tree.trace(table)
    child = next(node for node in trace if node.id)
    barred = next(name for name in ("a", "c") if name not in (first, child.winner) and (name, first) != ("a", "b"))
    assert all(test.forbidden == f"{barred} may not be tested below {first}" for test in child[barred].tests)
    assert f"forbidden: {barred} may not be tested below {first}" in str(trace)


def test_where_no_column_is_left_the_reason_is_the_constraint():
    table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": ["n", "p", "p", "n"]}
    tree = tw.grow(table, "y", interactions=[["a"], ["b"]])
    assert [node.stop for node in tree] == ["", "constraints", "constraints"]


@pytest.mark.parametrize("given", ["ab", ["a", "b"], [["a"], 3], {"a": 1}, [[1, 2]]])
def test_groups_are_lists_of_names(given):
    with pytest.raises(ParameterError, match="must be a list of groups of columns"):
        tw.grow(interacting_table(), "y", interactions=given)
    with pytest.raises(ColumnError, match='no column "e"'):
        tw.grow(interacting_table(), "y", interactions=[["a", "e"]])


@pytest.mark.parametrize("groups", [[["a", "b"], ["c", "d"]], [["a", "b"], ["b", "c"]], [["d"]]])
def test_scikit_learn_grows_the_same_tree(groups):
    ensemble = pytest.importorskip("sklearn.ensemble")
    table = interacting_table()
    x = np.column_stack([table[name] for name in "abcd"])
    model = ensemble.HistGradientBoostingRegressor(
        max_iter=1,
        learning_rate=1.0,
        max_leaf_nodes=None,
        max_depth=4,
        min_samples_leaf=5,
        early_stopping=False,
        interaction_cst=[{"abcd".index(name) for name in group} for group in groups],
    ).fit(x, table["y"])
    tree = tw.grow(table, "y", interactions=groups, max_depth=4, min_samples_leaf=5)
    assert tree.predict(table) == pytest.approx(model.predict(x), rel=1e-5)


# -- costs ------------------------------------------------------------------------------------------------------------


def test_the_first_test_of_a_column_on_a_path_pays():
    table = interacting_table()
    root = tw.candidates(table, "y", feature_costs={"a": 50, "b": 0.5}, cost_scale=100)
    free = tw.candidates(table, "y")
    for column, cost in (("a", 5000.0), ("b", 50.0), ("c", 0.0)):
        for paying, test in zip(root[column].tests, free[column].tests, strict=True):
            assert paying.cost == pytest.approx(cost)
            assert paying.gain == test.gain
            assert paying.score == pytest.approx(test.gain - cost)
    tree = tw.grow(table, "y", feature_costs={"a": 5000}, max_depth=4)
    trace = tree.trace(table)
    for node in trace:
        tested = {tree.columns[tree.arrays.column[above]] for above in tree.path(node.id)[:-1]}
        expected = 0.0 if "a" in tested else 5000.0
        assert all(test.cost == pytest.approx(expected) for test in node["a"].tests)


def test_a_test_that_gains_less_than_its_cost_is_forbidden():
    table = interacting_table()
    tree = tw.grow(table, "y", columns=["a"], feature_costs={"a": 1e9})
    assert (tree.n_leaves, tree[0].stop) == (1, "constraints")
    tests = tw.candidates(table, "y", columns=["a"], feature_costs={"a": 1e9})["a"].tests
    assert {test.forbidden for test in tests} == {"gains less than a costs, 1,000,000,000 per row"}


def test_free_columns_are_tested_first_and_costly_ones_less():
    table = interacting_table()

    def measured(**options):
        """Return the share of rows for which column a is measured."""
        tree = tw.grow(table, "y", max_depth=5, min_samples_leaf=5, **options)
        leaves = [node for node in tree if node.split is None]
        uses = [any(tree.columns[tree.arrays.column[n]] == "a" for n in tree.path(leaf.id)[:-1]) for leaf in leaves]
        return sum(leaf.rows for leaf, used in zip(leaves, uses, strict=True) if used) / tree[0].rows

    shares = [measured(feature_costs={"a": cost}) for cost in (0, 3e3, 3e4, 1e9)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[2] > shares[-1] == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"feature_costs": {"a": -1}}, 'column "a": must be a cost'),
        ({"feature_costs": {"a": "dear"}}, 'column "a": must be a cost'),
        ({"feature_costs": ["a"]}, "must be a dict of column"),
        ({"feature_costs": {"e": 1}}, 'no column "e"'),
        ({"feature_costs": {"a": 1}, "selection": "test"}, "selection by test does not compare tests by gain alone"),
        ({"feature_costs": {"a": 1}, "criterion": "gain_ratio", "task": "classification"}, "gain_ratio does not"),
        ({"feature_costs": {"a": 1}, "cost_scale": -1}, "cost_scale"),
    ],
)
def test_errors_about_costs(options, words):
    with pytest.raises((ParameterError, ColumnError), match=words):
        tw.grow(interacting_table(), "y", **options)


@pytest.mark.parametrize("costs", [{"a": 3000}, {"a": 100, "b": 20000, "c": 5}, {"b": 1e5, "a": 1e5}])
def test_lightgbm_grows_the_same_tree(costs):
    lightgbm = pytest.importorskip("lightgbm")
    table = interacting_table()
    x = np.column_stack([table[name] for name in "abcd"])
    model = lightgbm.LGBMRegressor(
        n_estimators=1,
        learning_rate=1.0,
        num_leaves=16,
        max_depth=4,
        min_child_samples=5,
        min_child_weight=0.0,
        min_data_in_bin=1,
        cegb_penalty_feature_lazy=[costs.get(name, 0) for name in "abcd"],
        verbose=-1,
    ).fit(x, table["y"])
    tree = tw.grow(table, "y", feature_costs=costs, max_depth=4, min_samples_leaf=5)
    assert tree.predict(table) == pytest.approx(model.predict(x), rel=1e-5)
