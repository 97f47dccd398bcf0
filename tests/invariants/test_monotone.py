"""Predictions under monotone constraints are monotone: for every model, engine, criterion, estimate and pruning.

Tables are small and noisy, with ties, missing values and categories, so that most of what an unconstrained tree would
do is forbidden. Rows are predicted along the whole range of the constrained column, all other cells being equal.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.engines import WAYS, grow_arrays
from treewise.train.grow import prepare
from treewise.tree.arrays import Arrays
from treewise.tree.tree import Tree

COLUMNS = ("age", "dose", "other", "town")


@st.composite
def problems(draw, regression):
    """A table, and options with a sign for age and perhaps for dose."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = int(rng.integers(8, 80))
    table = {
        "age": rng.integers(0, int(rng.integers(2, 40)), n).astype(float),
        "dose": rng.normal(size=n).round(int(rng.integers(0, 3))),
        "other": rng.normal(size=n).round(1),
        "town": rng.choice(list("abcde"), n).tolist(),
    }
    for name in ("age", "dose", "other"):
        if rng.random() < 0.4:
            table[name][rng.random(n) < 0.2] = np.nan
    table["town"] = [None if rng.random() < 0.05 else town for town in table["town"]]
    signal = np.nan_to_num(table["age"]) / 20 + np.nan_to_num(table["other"]) + rng.normal(size=n)
    table["y"] = np.exp(signal).round(2) if regression else np.where(signal > 0.5, "yes", "no").tolist()
    if not regression:
        table["y"][:2] = ["yes", "no"]
    options = {
        "monotone": {"age": int(rng.choice([-1, 1])), **({"dose": 1} if rng.random() < 0.5 else {})},
        "missing": str(rng.choice(["learn", "branch"])),
        "categorical": str(rng.choice(["subset", "multiway", "any"])),
        "min_samples_leaf": int(rng.integers(1, 4)),
        "random_state": int(rng.integers(0, 9)),
    }
    if rng.random() < 0.3:
        options["sample_weight"] = rng.integers(1, 9, n) * rng.choice([1.0, 0.1])
    return table, options


def assert_monotone(model, table, signs, estimate=None):
    """Compare predictions along each constrained column, at the cells of every row of the table."""
    for name, sign in signs.items():
        grid = np.unique([*table[name][~np.isnan(table[name])], -1e6, 1e6])
        rows = {c: np.repeat(np.array(table[c], object), len(grid)) for c in COLUMNS}
        rows[name] = np.tile(grid, len(table["y"]))
        for c in ("age", "dose", "other"):
            rows[c] = rows[c].astype(float)
        options = {} if estimate is None else {"estimate": estimate}
        if model.task == "regression":
            predicted = np.asarray(model.predict(rows, **options))
        else:
            predicted = model.predict_proba(rows, **options)[:, 1]
            labels = np.asarray(model.predict(rows)) == model.classes[1]
            assert_ascending(labels.astype(float).reshape(-1, len(grid)), sign)
        assert_ascending(predicted.reshape(-1, len(grid)), sign)


def assert_ascending(predicted, sign):
    assert np.all(np.diff(predicted, axis=1) * sign >= 0), predicted


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio", "c45", "error"])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_a_classification_tree_is_monotone(criterion, data):
    table, options = data.draw(problems(regression=False))
    tree = tw.grow(table, "y", criterion=criterion, selection="gain", **options)
    assert_monotone(tree, table, options["monotone"])
    for estimate in ("laplace", "m_estimate=5", "shrinkage=10"):
        assert_monotone(tree, table, options["monotone"], estimate)
    for pruned in (tree.prune("pessimistic"), tree.prune("cost_complexity", ccp_alpha=0.02)):
        assert_monotone(pruned, table, options["monotone"])


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_a_regression_tree_is_monotone(criterion, data):
    table, options = data.draw(problems(regression=True))
    tree = tw.grow(table, "y", task="regression", criterion=criterion, **options)
    assert_monotone(tree, table, options["monotone"])
    assert_monotone(tree, table, options["monotone"], "shrinkage=10")
    assert_monotone(tree.prune("cost_complexity", ccp_alpha=0.1), table, options["monotone"])


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("way", WAYS)
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_every_engine_grows_a_monotone_tree(way, regression, data):
    table, options = data.draw(problems(regression))
    training_set = prepare(table, "y", task="regression" if regression else None, **options)
    arrays = grow_arrays(training_set, **WAYS[way])
    tree = Tree(training_set.encodings, training_set.target, Arrays(**arrays), training_set.criterion.name)
    assert_monotone(tree, table, options["monotone"])


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("method", ["forest", "extra_trees", "bagging", "adaboost"])
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_ensembles_are_monotone(method, regression, data):
    if method == "adaboost" and regression:
        pytest.skip("AdaBoost is for classes")
    table, options = data.draw(problems(regression))
    options |= {"n_estimators": 5} | ({"task": "regression"} if regression else {})
    if method == "adaboost":
        options["max_depth"] = 2
    model = getattr(tw, method)(table, "y", **options)
    assert_monotone(model, table, options["monotone"])


@pytest.mark.parametrize("selection", ["gain", "priced", "test"])
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_every_selection_grows_a_monotone_tree(selection, data):
    table, options = data.draw(problems(regression=False))
    if selection == "test":
        options["alpha"] = 0.9
    tree = tw.grow(table, "y", selection=selection, max_leaf_nodes=6, **options)
    assert_monotone(tree, table, options["monotone"])
