"""Quantiles of leaves: the stated rule, exactly, against NumPy and the medians of absolute error."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from treewise.errors import ParameterError
from treewise.predict.quantiles import weighted_quantiles


def heights(n=400, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return {"x": x, "z": rng.choice(list("abc"), n).tolist(), "y": (x + rng.normal(size=n)).round(2)}


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 9)), min_size=1, max_size=30),
    st.lists(st.integers(0, 100), min_size=1, max_size=4),
)
def test_the_rule_is_the_inverse_of_the_distribution(rows, percents):
    values, weights = np.array([v for v, _ in rows], float), np.array([w for _, w in rows], np.int64)
    repeated = sorted(np.repeat(values, weights).tolist())
    shares = [Fraction(percent, 100) for percent in percents if 0 < percent < 100]
    for quantile, share in zip(weighted_quantiles(values, weights, shares), shares, strict=True):
        place = math.ceil(share * len(repeated))
        is_step = place == share * len(repeated)
        assert quantile == (repeated[place - 1] + repeated[place if is_step else place - 1]) / 2
    assert weighted_quantiles(values, weights, [Fraction(0), Fraction(1)]) == [values.min(), values.max()]


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_each_row_gets_the_quantiles_of_its_leaf(weighted):
    table = heights()
    weight = np.random.default_rng(0).integers(1, 5, 400) if weighted else None
    tree = tw.grow(table, "y", max_leaf_nodes=6, sample_weight=weight)
    quantiles = tree.predict_quantiles(table, table, (0.1, 0.5, 0.95), sample_weight=weight)
    assert quantiles.shape == (400, 3)
    leaves = tree.apply(table)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        repeated = np.repeat(table["y"][rows], 1 if weight is None else weight[rows])
        expected = np.quantile(repeated, (0.1, 0.5, 0.95), method="averaged_inverted_cdf")
        assert quantiles[rows] == pytest.approx(np.tile(expected, (rows.sum(), 1)))


def test_the_median_is_that_of_absolute_error():
    table = heights()
    tree = tw.grow(table, "y", criterion="absolute_error", max_depth=3)
    assert tree.predict_quantiles(table, table, [0.5])[:, 0].tolist() == tree.predict(table).tolist()


def test_a_leaf_without_rows_answers_with_the_node_above():
    table = {"x": [0.0, 0.0, 1.0, 1.0, 2.0, 2.0], "y": [0.0, 1.0, 5.0, 6.0, 20.0, 30.0]}
    tree = tw.grow(table, "y", task="regression", min_samples_leaf=2)
    other = {"x": [0.0, 1.0], "y": [2.0, 4.0]}
    assert tree.predict_quantiles({"x": 2.0}, other, [0.5]).tolist() == [3.0]


def test_classes_and_bad_quantiles_are_refused():
    with pytest.raises(ParameterError, match="classes have no quantiles"):
        tw.grow("penguins").predict_quantiles("penguins", "penguins")
    table = heights()
    for bad in ([1.5], [-0.1], [True], ["half"], [float("nan")]):
        with pytest.raises(ParameterError, match="must be numbers from 0 to 1"):
            tw.grow(table, "y", max_depth=1).predict_quantiles(table, table, bad)
