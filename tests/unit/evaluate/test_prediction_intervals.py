"""Prediction intervals of single rows, calibrated on rows that the tree has not seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from tests.support.random_tables import limit_examples
from treewise.evaluate.prediction_intervals import least_rows, order_ranks, pool_leaves


def table(rows, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=rows)
    return {"x": x, "y": np.floor(4 * x) + rng.exponential(size=rows) * (1 + 2 * (x > 0.5))}


@given(st.integers(2, 400), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
@limit_examples()
def test_ranks_cover_as_promised_and_hardly_more(n, confidence):
    needed = least_rows(confidence)
    low, high = order_ranks(max(n, needed), confidence)
    assert 0 <= low < high < max(n, needed)
    covered = (high - low) / (max(n, needed) + 1)  # the probability that a further residual lies between them
    assert confidence - 1e-12 <= covered < confidence + 1 / (max(n, needed) + 1) + 1e-12
    assert order_ranks(needed - 1, confidence)[0] < 0  # one row fewer is too few


def test_a_leaf_with_enough_rows_has_quantiles_of_its_own():
    train, held = table(400, 0), table(1000, 1)
    tree = tw.grow(train, "y", max_leaf_nodes=4)
    ends = tree.predict_interval(held, calibration=held)
    leaves, y = tree.apply(held), held["y"]
    for leaf in np.unique(leaves):
        own = np.sort(y[leaves == leaf])
        first, last = order_ranks(len(own), 0.95)
        assert np.allclose(ends[leaves == leaf], [own[first], own[last]])


def test_small_leaves_are_pooled_from_below():
    tree = tw.parse("""
        x <= 1 -> 1
        x > 1
            x <= 2 -> 2
            x > 2
                x <= 3 -> 3
                x > 3 -> 4
    """)
    rows = np.zeros(len(tree), np.int64)
    rows[[1, 3, 5, 6]] = [50, 10, 3, 40]
    assert pool_leaves(tree, rows, 39).tolist() == [-1, 1, -1, -1, -1, -1, 6]
    rows[[3, 5]] = [30, 9]
    assert pool_leaves(tree, rows, 39).tolist() == [-1, 1, 2, 2, 2, 2, 6]


def test_a_single_row_has_one_pair_and_other_confidences_nest():
    train, held = table(400, 0), table(400, 1)
    tree = tw.grow(train, "y", max_leaf_nodes=4)
    wide, narrow = (tree.predict_interval({"x": 0.9}, calibration=held, confidence=c) for c in (0.95, 0.5))
    assert wide.shape == (2,)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_what_cannot_be_calibrated_is_refused():
    train = table(400, 0)
    tree = tw.grow(train, "y", max_leaf_nodes=4)
    with pytest.raises(tw.errors.DataError, match="looks like the training rows"):
        tree.predict_interval(train, calibration=train)
    with pytest.raises(tw.errors.DataError, match="has 38 rows: a prediction interval of 95 % needs at least 39"):
        tree.predict_interval(train, calibration=table(38, 1))
    with pytest.raises(tw.errors.ParameterError, match=r"^calibration.* for regression"):
        tw.grow("penguins").predict_interval("penguins", calibration="penguins")


def test_the_estimator_takes_a_pair():
    train, held = table(400, 0), table(400, 1)
    model = tw.TreeRegressor(max_leaf_nodes=4).fit({"x": train["x"]}, train["y"])
    X, calibration = {"x": [0.1, 0.9]}, ({"x": held["x"]}, held["y"])
    tree = tw.grow(train, "y", max_leaf_nodes=4)
    assert np.array_equal(model.predict_interval(X), tree.predict_interval(X))
    ends = model.predict_interval(X, calibration=calibration, confidence=0.9)
    assert np.array_equal(ends, tree.predict_interval(X, calibration=held, confidence=0.9))
    classes = tw.TreeClassifier(positive="a").fit({"x": [1, 2, 3]}, ["a", "b", "b"])
    assert np.array_equal(classes.classes_, ["a", "b"])
    low, high = classes.predict_interval({"x": [1]})[0, 0]
    assert (round(low, 3), high) == (0.207, 1.0)
