"""``tw.grow``: properties of every tree, limits and errors."""

from dataclasses import fields
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.criteria import CLASSIFICATION, REGRESSION
from treewise.train.criteria import CRITERIA
from treewise.train.fixed_point import scale_weights
from treewise.train.grow import grow_training_set, prepare
from treewise.train.settings import DEFAULTS, SETTINGS, Settings, TreeSettingOptions


@st.composite
def tables(draw, regression=False):
    n = draw(st.integers(2, 25))
    cells = {
        "a": st.one_of(st.none(), st.integers(0, 5).map(float)),
        "b": st.floats(-3, 3, width=16),
        "c": st.sampled_from(["u", "v", "w", "x", None]),
    }
    data = {name: draw(st.lists(cell, min_size=n, max_size=n)) for name, cell in cells.items()}
    data["a"][0] = 1.0
    y = st.integers(0, 4).map(lambda v: v + 0.5) if regression else st.sampled_from(["no", "yes", "maybe"])
    data["y"] = draw(st.lists(y, min_size=n, max_size=n))
    return data


def rows_of(data, order):
    return {name: [column[i] for i in order] for name, column in data.items()}


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(CLASSIFICATION))
def test_refit_on_the_training_table_is_the_same_tree(data, criterion):
    tree = tw.grow(data, "y", criterion=criterion, missing="branch")
    refitted = tree.refit(data)
    for name in ("rows", "missing_rows", "weight", "impurity", "gain", "label", "count_weight"):
        assert getattr(refitted.arrays, name).tolist() == getattr(tree.arrays, name).tolist(), name


@settings(max_examples=40, deadline=None)
@given(tables(regression=True), st.sampled_from(["squared_error", "absolute_error"]))
def test_refit_of_numbers_is_the_same_tree(data, criterion):
    tree = tw.grow(data, "y", task="regression", criterion=criterion)
    refitted = tree.refit(data)
    for name in ("rows", "weight", "impurity", "gain", "value", "spread"):
        assert getattr(refitted.arrays, name).tolist() == getattr(tree.arrays, name).tolist(), name


@settings(max_examples=40, deadline=None)
@given(tables())
def test_best_first_growth_is_nested_and_depth_limits_are_prefixes(data):
    def splits(tree):
        return {(tuple(tree.condition(a) for a in tree.path(n.id)), n.split) for n in tree if n.split}

    trees = [tw.grow(data, "y", max_leaf_nodes=k) for k in range(1, 6)]
    for small, large in pairwise(trees):
        assert splits(small) <= splits(large)
    shallow, deep = tw.grow(data, "y", max_depth=1), tw.grow(data, "y", max_depth=2)
    assert splits(shallow) <= splits(deep)


def test_int_float_and_nullable_columns_give_the_same_model():
    ints, y = [3, 1, 2, 2, 9], ["a", "b", "a", "b", "b"]
    trees = [
        tw.grow({"x": np.array(ints, dtype), "y": y}, "y")
        for dtype in ("int8", "int64", "uint16", "float32", "float64")
    ]
    trees.append(tw.grow(pd.DataFrame({"x": pd.array(ints, "Int64"), "y": y}), "y"))
    assert all(tree == trees[0] for tree in trees)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)],
        [-1.7e308, 0.0, 1.7e308],
        [-np.inf, 0.0, np.inf],
        [5e-324, 1e-323, 1.5e-323],
        [2**53, 2**53 + 1, 2**53 + 2],
        [2**62, 2**62 + 1, 2**62 + 2],
        [1_700_000_000, 1_700_000_060, 1_700_000_120],
        [0.0, 1e-7, 2e-7],
    ],
    ids=["neighbours", "overflow", "infinite", "denormal", "2^53", "2^62", "seconds", "close"],
)
def test_every_value_given_is_the_value_compared(values):
    data = {"x": values * 20, "y": ["a", "b", "a"] * 20}
    tree = tw.grow(data, "y")
    assert (tree.predict(data) == np.array(data["y"])).all()
    assert tree.n_leaves == 3


def test_zero_gain_is_no_reason_to_stop():
    tree = tw.grow("xor")
    assert tree[0].gain == 0.0
    assert (tree.predict("xor") == [0, 1, 1, 0]).all()


@pytest.mark.parametrize(
    ("limit", "stop"),
    [
        ({"max_depth": 0}, "max_depth"),
        ({"min_samples_split": 13}, "min_samples_split"),
        ({"min_samples_leaf": 7}, "min_samples_leaf"),
        ({"min_impurity_decrease": 2.0}, "min_impurity_decrease"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes"),
        ({"sufficient_accuracy": 0.5}, "sufficient_accuracy"),
        ({"columns": []}, "no_candidate"),
        ({"min_weight_fraction_leaf": 0.5, "categorical": "multiway"}, "min_samples_leaf"),
    ],
)
def test_a_leaf_records_why_it_stopped(limit, stop):
    tree = tw.grow("admissions", **limit)
    assert (len(tree), tree[0].stop) == (1, stop)


def test_pure_indistinguishable_and_empty_leaves():
    tree = tw.grow("food", preset="id3", columns=["Hunger"])
    assert {node.stop for node in tree if node.is_leaf} == {"pure", "no_rows", "no_candidate"}
    empty = next(node for node in tree if node.stop == "no_rows")
    assert tree.condition(empty.id) == "Hunger = can-eat"
    assert tree.probabilities(empty.id).tolist() == tree.probabilities(empty.parent).tolist()


def test_a_share_of_rows_is_a_limit_too():
    assert tw.grow("penguins", min_samples_leaf=0.1) == tw.grow("penguins", min_samples_leaf=35)


def test_presets_give_way_to_what_is_given():
    assert tw.grow("admissions", preset="cart").criterion == "gini"
    assert tw.grow("admissions", preset="cart", criterion="entropy").criterion == "entropy"
    assert tw.grow({"x": [1, 2, 3], "y": [0.5, 1.5, 9]}, "y", preset="cart").criterion == "squared_error"


def test_class_weights():
    data = {"x": [1, 1, 1, 2], "y": ["a", "a", "b", "b"]}
    assert tw.grow(data, "y", class_weight={"b": 5}, max_depth=0)[0].counts == {"a": 2.0, "b": 10.0}
    balanced = tw.grow({"x": [1, 1, 1, 2], "y": ["a", "a", "a", "b"]}, "y", class_weight="balanced", max_depth=0)
    assert balanced[0].counts["a"] == pytest.approx(balanced[0].counts["b"])
    assert tw.grow(data, "y", class_weight={"b": 0}).depth == 0


def test_positive_moves_a_class_last():
    assert tw.grow("admissions", positive="N").classes == ("P", "N")


def test_missing_in_a_branch_of_its_own():
    data = {"x": [1.0, 2.0, None, None], "y": ["a", "b", "c", "c"]}
    tree = tw.grow(data, "y", missing="branch", max_depth=1)
    assert [tree.condition(c) for c in tree[0].children] == ["x <= 1.5", "x > 1.5", "x missing"]
    assert tree.predict({"x": None}) == "c"


def test_missing_against_present_is_itself_a_candidate():
    data = {"x": [1.0, 2.0, 3.0, None, None, None], "y": ["a", "a", "a", "b", "b", "b"]}
    tree = tw.grow(data, "y")
    assert [tree.condition(c) for c in tree[0].children] == ["x present", "x missing"]
    assert tree.predict(data).tolist() == data["y"]
    text = {"x": ["u", "v", None, None], "y": ["a", "a", "b", "b"]}
    tree = tw.grow(text, "y", categorical="multiway")
    assert [tree.condition(c) for c in tree[0].children] == ["x missing", "x present"]


def test_a_column_that_gives_the_target_away_is_noted():
    n = 40
    data = {"leak": ["yes", "no"] * (n // 2), "x": list(range(n)), "y": [1, 0] * (n // 2)}
    notes = tw.grow(data, "y").notes
    assert any("leak: it alone predicts y perfectly" in note for note in notes)


def test_random_ties_are_the_seeds_and_nothing_elses():
    grown = [tw.grow("xor", ties="random", random_state=s) for s in range(30)]
    assert {tree[0].split.column for tree in grown} == {"x1", "x2"}
    assert grown == [tw.grow("xor", ties="random", random_state=s) for s in range(30)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": -1}, "max_depth=-1: must be a whole number, 0 or more, or None for no limit."),
        (
            {"min_samples_leaf": 0},
            "min_samples_leaf=0: must be a whole number, 1 or more, or a share above 0 and up to 1.0.",
        ),
        ({"min_samples_split": 1.5}, "min_samples_split=1.5"),
        ({"max_leaf_nodes": True}, "max_leaf_nodes=True"),
        ({"sufficient_accuracy": 2}, "sufficient_accuracy=2: must be a number between 0 and 1."),
        (
            {"criterion": "entropie"},
            f'criterion="entropie": must be one of {", ".join(CRITERIA)}. Did you mean "entropy"?',
        ),
        ({"criterion": "squared_error"}, 'is for regression, but target "Class" has 2 classes (N, P)'),
        ({"preset": "id4"}, 'Did you mean "id3"?'),
        ({"categorical": "multi"}, 'categorical="multi": must be one of subset, multiway'),
        ({"ignore": ["GPAA"]}, 'ignore: no column "GPAA" in admissions. Did you mean "GPA"?'),
        ({"ignore": "GPA"}, 'must be a list of names, ["GPA"]'),
        ({"positive": "X"}, 'positive="X": target "Class" has the classes N, P.'),
        ({"class_weight": {"X": 1}}, 'class_weight names "X"; the classes are N, P.'),
        ({"sample_weight": [1.0] * 11}, "sample_weight has 11 values, admissions has 12 rows."),
        ({"sample_weight": [1.0] * 11 + [-1.0]}, "sample_weight is negative in row 12 (-1)."),
        ({"sample_weight": [1.0] * 11 + [float("nan")]}, "sample_weight is missing in row 12"),
        ({"sample_weight": [0.0] * 12}, "no row has a target and a positive weight"),
        ({"target": "Clas"}, 'no column "Clas" in admissions. Did you mean "Class"?'),
        ({"target": [1, 2]}, "target has 2 values, admissions has 12 rows."),
        ({"task": "regression"}, 'target "Class" is not a column of numbers'),
        ({"task": "cluster"}, 'task="cluster": must be classification or regression'),
    ],
)
def test_refusals_report_what_where_and_what_next(options, message):
    with pytest.raises(tw.TreewiseError) as caught:
        tw.grow("admissions", **options)
    assert message in str(caught.value)


def test_missing_targets_are_named():
    data = {"x": [1, 2, 3, 4], "y": ["a", None, "b", None]}
    with pytest.raises(tw.DataError, match=r'target "y" is missing in 2 rows \(2, 4\)'):
        tw.grow(data, "y")
    assert tw.grow(data, "y", drop_missing_target=True)[0].rows == 2


def test_missing_can_be_refused():
    with pytest.raises(tw.DataError, match=r'column "x" is missing in 1 row \(2\)'):
        tw.grow({"x": [1.0, None, 2.0], "y": ["a", "b", "a"]}, "y", missing="error")
    tree = tw.grow({"x": [1.0, 2.0], "y": ["a", "b"]}, "y", missing="error")
    with pytest.raises(tw.DataError, match="missing in row 1 of the row"):
        tree.predict({"x": None})


def test_targets_may_be_infinite_for_nobody():
    with pytest.raises(tw.DataError, match='target "y" is inf in row 2'):
        tw.grow({"x": [1, 2, 3], "y": [0.5, float("inf"), 1.0]}, "y")


def test_progress_is_told_and_never_goes_back():
    rng = np.random.default_rng(0)
    data = {**{f"x{i}": rng.normal(size=20000) for i in range(8)}, "y": rng.integers(0, 2, 20000).astype(str)}
    text = []
    grow_training_set(prepare(data, "y"), text.append)
    assert text == sorted(text)
    assert all(0 <= t <= 1 for t in text)


def test_a_presets_criterion_gives_way_to_the_task_but_a_given_one_does_not():
    data = {"x": [1, 2, 3], "y": [0.5, 1.5, 9]}
    for preset in ("id3", "cart", "c45"):
        assert tw.grow(data, "y", preset=preset).criterion == "squared_error"
    with pytest.raises(tw.ParameterError, match='criterion="gini": this criterion is for classification'):
        tw.grow(data, "y", criterion="gini")


def test_numbers_taken_for_classes_are_noted():
    tree = tw.grow({"x": [1, 2, 3, 4, 5, 6], "y": [500, 600, 700, 800, 900, 1300]}, "y")
    assert any("were taken for classes" in note for note in tree.notes)


def test_poisson_is_for_counts():
    with pytest.raises(tw.DataError, match="is negative in row 2"):
        tw.grow({"x": [1, 2, 3], "y": [0.5, -1.5, 2.0]}, "y", criterion="poisson")


def test_equal_targets_have_no_poisson_deviance():
    """Exactly none: the logarithms of the targets and of their mean are rounded differently."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = {"x": np.arange(12.0), "y": np.repeat(rng.random(6) * 9, 2), "w": rng.integers(1, 9, 12)}
        tree = tw.grow(data, "y", task="regression", criterion="poisson", sample_weight="w")
        leaves = np.flatnonzero(tree.arrays.kind == 0)
        assert len(leaves) == 6
        assert tree.arrays.impurity[leaves].tolist() == tree.refit(data).arrays.impurity[leaves].tolist() == [0.0] * 6


# -- numbers at the ends of the range -------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", REGRESSION)
@pytest.mark.parametrize(("size", "outlier"), [(1.0, 1e30), (1e-300, 1.0), (5e-324, 1e-290), (1e-20, 1e300)])
def test_one_huge_target_does_not_hide_the_others(criterion, size, outlier):
    data = {"x": list(range(9)), "y": [size] * 4 + [5 * size] * 4 + [outlier]}
    tree = tw.grow(data, "y", task="regression", criterion=criterion)
    assert [n.split.cut for n in tree if n.split] == [7.5, 3.5]
    assert [n.prediction for n in tree if not n.split] == [size, 5 * size, outlier]
    inner = tree[1]
    assert inner.prediction == pytest.approx(3 * size, rel=1e-12, abs=0)
    if criterion == "squared_error" and size == 1.0:
        assert (inner.impurity, inner.gain, inner.spread) == (4.0, 4.0, 2.0)
    refitted = tree.refit(data)
    for name in ("impurity", "gain", "value", "spread"):
        assert getattr(refitted.arrays, name).tolist() == getattr(tree.arrays, name).tolist(), name
    assert tree.trace(data)[1].agrees


def test_best_first_growth_compares_gains_past_the_range_of_doubles():
    for size in (1e200, 1e-200):
        y = [-9 * size, -8 * size, 8 * size, 11 * size]
        tree = tw.grow({"x": [1, 2, 3, 4], "y": y}, "y", task="regression", max_leaf_nodes=3)
        assert [n.split.cut for n in tree if n.split] == [2.5, 3.5]


def test_a_gain_made_by_rounding_alone_is_zero():
    """Where both branches have the node's own shares, nothing is gained, whatever the logarithms were rounded to."""
    for n, k in ((3, 1), (6, 2), (12, 8), (9, 6)):
        data = {"x": [0] * k + [1] * (n - k) + [0] * 2 * k + [1] * 2 * (n - k), "y": ["n"] * n + ["p"] * 2 * n}
        tree = tw.grow(data, "y", max_depth=1)
        assert tree[0].gain == 0.0
        assert tree.refit(data)[0].gain == 0.0
        assert tw.grow(data, "y", min_impurity_decrease=1e-300)[0].stop == "min_impurity_decrease"


def test_equal_gains_of_many_branches_are_equal():
    """The second column is the first with all signs turned: sums whose tails are cut are off by as much a branch."""
    k = 60
    near = [1 + i * 2.0**-52 for i in range(1000, 1000 + k)]
    y = [-v for v in near] + [1.0] * k + [-1.0] * k + near
    tails = [f"t{i}" for i in range(k)]
    columns = [tails + ["flat"] * k + ["rest"] * 2 * k, ["rest"] * 2 * k + ["flat"] * k + tails]
    for first, second in (columns, columns[::-1]):
        data = {"a": first, "b": second, "y": y}
        options = {"task": "regression", "categorical": "multiway", "max_depth": 1, "sample_weight": [4097] * 4 * k}
        assert tw.grow(data, "y", **options)[0].split.column == "a"


# -- weights, kinds and missing values decided by what was asked ------------------------------------------------------


def test_c45_does_not_mind_the_unit_of_the_weights():
    """log2(cuts)/n is taken off a threshold's gain; weights that add up to 1 are still n rows."""
    data = {"x": list(range(60)), "c": list("ab" * 30), "y": list("nnnnp" * 6 + "pppnp" * 6)}
    weight = np.array([1.0, 2.0, 3.0] * 20)
    options = {"preset": "c45", "pruning": "none"}
    trees = [tw.grow(data, "y", **options, sample_weight=weight * unit) for unit in (1, 2, 1 / 128, 2.0**-30)]
    assert trees[0][0].split.column == "x"
    for tree in trees[1:]:
        assert [n.split for n in tree] == [n.split for n in trees[0]]


@pytest.mark.parametrize("factor", [0.1, 1 / 3, 1e-200, 0.7e200])
def test_a_constant_factor_of_all_weights_changes_no_split(factor):
    rng = np.random.default_rng(7)
    for _ in range(100):  # eight rows have many exact ties
        table = {name: rng.integers(0, 3, 8) for name in "abc"} | {"y": rng.choice(["n", "p"], 8)}
        weight = rng.integers(1, 4, 8).astype(float)
        one, other = (tw.grow(table, "y", sample_weight=w) for w in (weight, weight * factor))
        assert [n.split for n in one] == [n.split for n in other]


def test_balanced_classes_are_weighed_in_whole_proportions():
    weight = scale_weights(np.array([1000 / 1402] * 701 + [1000 / 598] * 299))[0]
    assert weight[:701].sum() == weight[701:].sum()


def test_balanced_weights_do_not_depend_on_the_order_of_rows():
    weight = [0.97, 0.96, 0.06999999999999999, 0.09, 0.85, 0.75, 0.68, 0.32, 0.62, 0.62, 0.59, 0.17]
    data = {"x": list(range(12)), "y": list("aabbabaababa")}
    backwards = {name: cells[::-1] for name, cells in data.items()}
    there = tw.grow(data, "y", sample_weight=weight, class_weight="balanced")
    back = tw.grow(backwards, "y", sample_weight=weight[::-1], class_weight="balanced")
    assert there == back


def test_kinds_compete_when_that_was_asked_for_whatever_the_columns():
    """A branch for missing rows makes three: with "any" their gain is halved, as it is beside a categorical column."""
    data = {"a": [0, 0, 0, 1, 1, 1, None, None], "b": [0, 0, 1, 1, 1, 1, 0, 0], "y": list("nnnpppnn")}
    options = {"categorical": "any", "missing": "branch", "max_depth": 1}
    with_text = {**data, "c": ["u"] * 8}
    assert tw.grow(data, "y", **options)[0].split == tw.grow(with_text, "y", **options)[0].split


@pytest.mark.parametrize(
    ("limit", "y"),
    [
        ({"min_weight_fraction_leaf": 0.25}, list("nnnpppn")),
        ({"criterion": "poisson", "task": "regression"}, [1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 0.0]),
    ],
)
def test_missing_rows_that_may_be_no_leaf_are_learned_to_a_side(limit, y):
    data = {"x": [1, 1, 1, 2, 2, 2, None], "y": y}
    tree = tw.grow(data, "y", missing="branch", max_depth=1, **limit)
    assert tree[0].split == tw.grow(data, "y", missing="learn", max_depth=1, **limit)[0].split
    assert len(tree[0].children) == 2


@pytest.mark.parametrize("criterion", REGRESSION)
@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_the_standard_deviation_is_a_double_where_the_variance_is_not(criterion, size):
    tree = tw.grow({"x": [1, 2], "y": [1 * size, 3 * size]}, "y", task="regression", criterion=criterion)
    assert tree[0].spread == pytest.approx(size, rel=1e-12, abs=0)
    if criterion == "squared_error":
        assert tree[0].impurity == (np.inf if size > 1 else 0.0)


def test_a_long_scan_of_one_column_is_heard_of():
    """Ctrl-C and progress are looked after inside an exact scan too: medians of 1.5 million rows take a while."""
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=1_500_000), "y": rng.normal(size=1_500_000)}
    reports = []
    grow_training_set(prepare(data, "y", criterion="absolute_error", max_depth=1), reports.append)
    assert len(reports) > 4


def test_sufficient_accuracy_is_for_classes():
    with pytest.raises(tw.ParameterError, match=r"sufficient_accuracy: regression has no classes\. Leave it out\."):
        tw.grow({"x": [1, 2], "y": [0.5, 1.5]}, "y", sufficient_accuracy=0.9)


def test_a_tree_without_a_column_to_split_on_is_reported():
    data = {"x": [1, 2], "y": ["a", "b"]}
    for options in ({"columns": []}, {"ignore": ["x"]}, {"columns": ["y"]}):
        tree = tw.grow(data, "y", **options)
        assert any("no column is left to split on" in note for note in tree.notes)
        assert len(tree) == 1
    with pytest.raises(tw.ParameterError, match=r"columns and ignore both name x\."):
        tw.grow(data, "y", columns=["x"], ignore=["x"])


def test_the_options_for_type_checkers_are_the_settings():
    assert set(TreeSettingOptions.__annotations__) == set(SETTINGS)
    written = {name: hint.__forward_arg__ for name, hint in TreeSettingOptions.__annotations__.items()}
    for field in fields(Settings):
        expected = "str" if field.type.startswith("Literal") else field.type
        if DEFAULTS[field.name] is None and "None" not in expected:
            expected += " | None"
        assert written[field.name] == expected, field.name
