"""scikit-learn as an oracle where definitions agree: numbers, no missing values, no ties.

Values are multiples of 1/64 below 2^12, so that scikit-learn's float32 holds them and every midpoint exactly.
Gains are never equal (scikit-learn breaks ties at random): weights and targets are drawn from many, and nodes
are not so small that two columns divide them alike. Then every threshold, count and prediction has to be the
same. Rows without weights do tie; there another split must be just as good, and what is below it is skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treewise as tw

Floats = npt.NDArray[np.float64]
Nodes = dict[tuple[int, ...], tuple[Any, ...]]  # path → column, threshold, rows, weight, impurity

LIMITS: tuple[dict[str, Any], ...] = (
    {"max_depth": 3},
    {"max_depth": 6, "min_samples_leaf": 9},
    {"max_leaf_nodes": 9},
    {"max_leaf_nodes": 14, "min_samples_leaf": 7},
    {"min_samples_split": 60, "min_samples_leaf": 5},
    {"min_impurity_decrease": 0.01, "min_samples_leaf": 5},
    {"min_weight_fraction_leaf": 0.05},
)


def draw_rows(seed: int, n: int = 400, columns: int = 4) -> tuple[np.random.Generator, Floats]:
    """Draw columns of different multiples of 1/64."""
    rng = np.random.default_rng(seed)
    return rng, np.column_stack([rng.choice(2**18, size=n, replace=False) for _ in range(columns)]) / 64


def draw_classes(rng: np.random.Generator, x: Floats, classes: int) -> npt.NDArray[np.int64]:
    """Draw labels that depend on two columns, with noise."""
    signal = x[:, 0] / 4096 + (x[:, 1] > 1500) + rng.normal(0, 0.3, len(x))
    return np.searchsorted(np.quantile(signal, np.arange(1, classes) / classes), signal)


def draw_numbers(rng: np.random.Generator, x: Floats) -> Floats:
    """Draw targets, above 0 and exact in binary."""
    signal = 8 * (x[:, 0] / 4096) ** 2 + 3 * (x[:, 1] > 1500) + rng.gamma(2.0, 1.0, len(x))
    return np.round(signal * 64) / 64 + 1 / 64


def expected_nodes(model: Any) -> Nodes:
    """Say scikit-learn's nodes by their path."""
    t = model.tree_
    actual: Nodes = {}
    stack: list[tuple[tuple[int, ...], int]] = [((), 0)]
    while stack:
        path, node = stack.pop()
        inner = t.children_left[node] >= 0
        actual[path] = (
            f"x{t.feature[node] + 1}" if inner else None,
            t.threshold[node] if inner else None,
            t.n_node_samples[node],
            t.weighted_n_node_samples[node],
            t.impurity[node],
        )
        if inner:
            stack += [((*path, 0), t.children_left[node]), ((*path, 1), t.children_right[node])]
    return actual


def found_nodes(tree: tw.Tree) -> Nodes:
    """Say treewise's nodes the same way."""
    paths: list[tuple[int, ...]] = []
    actual: Nodes = {}
    for node in tree.nodes:
        paths.append(() if node.parent is None else (*paths[node.parent], node.branch))
        column, cut = (node.split.column, node.split.cut) if node.split else (None, None)
        actual[paths[-1]] = (column, cut, node.rows, node.weight, node.impurity)
    return actual


def assert_same(found: Nodes, expected: Nodes) -> None:
    """Compare columns, thresholds and rows to the bit, weights and impurities up to rounding."""
    assert {path: node[:3] for path, node in found.items()} == {path: node[:3] for path, node in expected.items()}
    for path, node in found.items():
        assert node[3:] == pytest.approx(expected[path][3:], rel=1e-9, abs=1e-9), path


def impurity_below(nodes: Nodes, path: tuple[int, ...]) -> float:
    """Return what is left of a node's impurity after its split, in total."""
    return sum(nodes[*path, i][3] * nodes[*path, i][4] for i in (0, 1))


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classification(criterion: str, classes: int, limits: dict[str, Any]) -> None:
    rng, x = draw_rows(seed=classes)
    y, weight = draw_classes(rng, x, classes), rng.integers(1, 1000, len(x))
    model = DecisionTreeClassifier(criterion=criterion, random_state=0, **limits)
    model.fit(x, y, sample_weight=weight)
    tree = tw.grow(x, y, criterion=criterion, sample_weight=weight, **limits)
    assert_same(found_nodes(tree), expected_nodes(model))
    _, fresh = draw_rows(seed=100)
    assert tree.predict_proba(fresh) == pytest.approx(model.predict_proba(fresh), abs=1e-12)
    assert np.array_equal(tree.predict(fresh), model.predict(fresh))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classification_without_weights(criterion: str, classes: int) -> None:
    rng, x = draw_rows(seed=classes)
    y = draw_classes(rng, x, classes)
    model = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(x, y)
    expected, found = expected_nodes(model), found_nodes(tw.grow(x, y, criterion=criterion))
    tied: list[tuple[int, ...]] = []
    compared = 0
    for path, node in found.items():
        if any(path[: len(above)] == above for above in tied):
            continue
        compared += 1
        assert node[2:] == pytest.approx(expected[path][2:], rel=1e-9, abs=1e-9)
        if node[:2] != expected[path][:2]:
            assert impurity_below(found, path) == pytest.approx(impurity_below(expected, path), rel=1e-9)
            tied.append(path)
    assert compared > len(found) / 3


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_regression(criterion: str, weighted: bool, limits: dict[str, Any]) -> None:
    rng, x = draw_rows(seed=7, n=300)
    y = draw_numbers(rng, x)
    weight = rng.integers(1, 6, len(y)) if weighted else None
    model = DecisionTreeRegressor(criterion=criterion, random_state=0, **limits)
    model.fit(x, y, sample_weight=weight)
    tree = tw.grow(x, y, task="regression", criterion=criterion, sample_weight=weight, **limits)
    assert_same(found_nodes(tree), expected_nodes(model))
    _, fresh = draw_rows(seed=100)
    assert tree.predict(fresh) == pytest.approx(model.predict(fresh), rel=1e-9)


# With every column constrained both reject the same splits. Otherwise scikit-learn lets a split of a free column pass
# the bounds and clips what its branches predict, where treewise forbids it.
SIGNS = (1, 1, -1, 1)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_monotone_classification(criterion: str, limits: dict[str, Any]) -> None:
    rng, x = draw_rows(seed=12)
    y, weight = draw_classes(rng, x, 2), rng.integers(1, 1000, len(x))
    model = DecisionTreeClassifier(criterion=criterion, random_state=0, monotonic_cst=SIGNS, **limits)
    model.fit(x, y, sample_weight=weight)
    monotone = {f"x{i + 1}": sign for i, sign in enumerate(SIGNS)}
    tree = tw.grow(x, y, criterion=criterion, sample_weight=weight, monotone=monotone, **limits)
    assert_same(found_nodes(tree), expected_nodes(model))
    _, fresh = draw_rows(seed=100)
    assert tree.predict_proba(fresh) == pytest.approx(model.predict_proba(fresh), abs=1e-12)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])  # scikit-learn has no constraints on medians
def test_monotone_regression(criterion: str, limits: dict[str, Any]) -> None:
    rng, x = draw_rows(seed=9, n=300)
    y, weight = draw_numbers(rng, x), rng.integers(1, 6, len(x))
    model = DecisionTreeRegressor(criterion=criterion, random_state=0, monotonic_cst=SIGNS, **limits)
    model.fit(x, y, sample_weight=weight)
    monotone = {f"x{i + 1}": sign for i, sign in enumerate(SIGNS)}
    tree = tw.grow(x, y, task="regression", criterion=criterion, sample_weight=weight, monotone=monotone, **limits)
    assert_same(found_nodes(tree), expected_nodes(model))
    _, fresh = draw_rows(seed=100)
    assert tree.predict(fresh) == pytest.approx(model.predict(fresh), rel=1e-9)
