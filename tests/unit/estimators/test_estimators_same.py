"""The estimators grow scikit-learn's trees where definitions agree, and their methods are consistent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treewise as tw
from treewise import TreeClassifier, TreeRegressor

PENGUINS = tw.datasets.penguins().to_pandas()
X, Y = PENGUINS.drop(columns="species"), PENGUINS["species"]

LIMITS = [
    {"max_depth": 4},
    {"max_depth": 5, "min_samples_leaf": 7},
    {"max_depth": 5, "min_samples_split": 0.15, "min_samples_leaf": 0.03},
    {"max_leaf_nodes": 9},
    {"max_depth": 5, "min_impurity_decrease": 0.01},
    {"max_depth": 5, "min_weight_fraction_leaf": 0.04},
]


def test_friedman_mse_is_the_squared_error():
    """As scikit-learn maps it since 1.9: both have always chosen the same splits."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 3))
    y = 2 * x[:, 0] + np.sin(3 * x[:, 1])
    ours = TreeRegressor(criterion="friedman_mse", max_depth=5).fit(x, y)
    assert ours.tree_ == TreeRegressor(criterion="squared_error", max_depth=5).fit(x, y).tree_
    theirs = DecisionTreeRegressor(criterion="squared_error", max_depth=5, random_state=0).fit(x, y)
    assert np.allclose(ours.predict(x), theirs.predict(x))


def tie_free(estimator, target, weighted):
    """Find a table without ties, which go to the earlier column and the smaller threshold.

    The tree then is the same with the columns reversed, and with the order of the numbers reversed.
    """
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 4)).astype(np.float32)
        y, w = target(X, rng), rng.integers(1, 9, 300) if weighted else None
        tree, back, down = (clone(estimator).fit(data, y, w).tree_ for data in (X, X[:, ::-1], -X))
        inner = tree.arrays.kind > 0
        if len(back) == len(tree) and np.array_equal(back.arrays.column[inner], 3 - tree.arrays.column[inner]):
            leaves = set(zip(tree.apply(X).tolist(), down.apply(-X).tolist(), strict=True))
            if len(leaves) == tree.n_leaves == down.n_leaves:
                return X, y, w
    raise AssertionError("every table has ties")


def same_tree(ours, theirs, X):
    """Same nodes in the same order, same paths, same importances."""
    assert (ours.get_n_leaves(), ours.get_depth()) == (theirs.get_n_leaves(), theirs.get_depth())
    assert np.allclose(ours.feature_importances_, theirs.feature_importances_)
    mine, other = ours.decision_path(X), theirs.decision_path(X)
    assert mine.shape == other.shape
    assert mine.has_sorted_indices
    assert np.array_equal(np.diff(mine.indptr), np.diff(other.indptr))
    assert len(set(zip(ours.apply(X).tolist(), theirs.apply(X).tolist(), strict=True))) == ours.get_n_leaves()
    if ours.max_leaf_nodes is None:  # scikit-learn numbers the nodes as it splits them, we down the page
        assert np.array_equal(ours.apply(X), theirs.apply(X))
        assert (mine != other).nnz == 0


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_same_classification_tree(limits, weighted, criterion):
    options = {"criterion": criterion, "class_weight": {0: 1, 1: 3, 2: 2}, **limits}
    X, y, w = tie_free(
        TreeClassifier(**options),
        lambda X, rng: np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.4 * rng.normal(size=300), [0.2, 1]),
        weighted,
    )
    ours = TreeClassifier(**options).fit(X, y, sample_weight=w)
    theirs = DecisionTreeClassifier(**options).fit(X, y, sample_weight=w)
    same_tree(ours, theirs, X)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X))
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y, sample_weight=w) == theirs.score(X, y, sample_weight=w)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_the_same_regression_tree(limits, weighted, criterion):
    options = {"criterion": criterion, **limits}
    X, y, w = tie_free(
        TreeRegressor(**options),
        lambda X, rng: np.exp(X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=300)),
        weighted,
    )
    ours = TreeRegressor(**options).fit(X, y, sample_weight=w)
    theirs = DecisionTreeRegressor(**options).fit(X, y, sample_weight=w)
    same_tree(ours, theirs, X)
    assert np.allclose(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y, w) == pytest.approx(theirs.score(X, y, w))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_weights_are_repetitions_also_for_classes_nobody_has(data):
    n = data.draw(st.integers(2, 12))
    X = np.array(data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=n, max_size=n)))
    y = np.array(data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n)))
    w = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any)))
    weighted = TreeClassifier().fit(X, y, sample_weight=w)
    repeated = TreeClassifier().fit(X.repeat(w, axis=0), y.repeat(w))
    assert weighted.classes_.tolist() == repeated.classes_.tolist()
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_methods_agree(data):
    n = data.draw(st.integers(1, 14))
    cell = st.one_of(st.none(), st.sampled_from(["u", "v", "w"]))
    rows = [{"x": data.draw(st.one_of(st.none(), st.integers(0, 6))), "c": data.draw(cell)} for _ in range(n)]
    y = [data.draw(st.sampled_from([3, 1, 2])) for _ in range(n)]
    split = data.draw(st.sampled_from(["subset", "multiway", "any"]))
    model = TreeClassifier(categorical=split, positive=y[0], max_depth=2).fit(rows, y)
    shares, nodes = model.predict_proba(rows), model.apply(rows)
    assert np.allclose(shares.sum(axis=1), 1)
    picked = shares[np.arange(n), np.searchsorted(model.classes_, model.predict(rows))]
    assert np.array_equal(picked, shares.max(axis=1))
    assert model.predict(rows).tolist() == list(model.tree_.predict(rows))
    paths = model.decision_path(rows)
    assert [tuple(paths[i].indices) for i in range(n)] == [model.tree_.path(node) for node in nodes]
    with np.errstate(divide="ignore"):
        assert np.array_equal(model.predict_log_proba(rows), np.log(shares))
    importances = model.feature_importances_
    assert importances.shape == (2,)
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1) or not importances.any()


def test_importance_is_what_the_splits_take_away():
    for options in ({"criterion": "gini"}, {"preset": "c45"}, {"criterion": "gain_ratio"}, {"categorical": "any"}):
        model = TreeClassifier(**options, max_depth=4).fit(X, Y)
        taken = dict.fromkeys(X.columns, 0.0)
        for node in model.tree_:
            if node.split:
                after = sum(model.tree_[c].weight * model.tree_[c].impurity for c in node.children)
                taken[node.split.column] += node.weight * node.impurity - after
        share = np.array(list(taken.values())) / sum(taken.values())
        assert np.allclose(model.feature_importances_, share)
