"""Random draws at a node depend only on the seed and the path."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from treewise._lib.rng import mix64, random_subset, shuffled_columns, uniform_float, uniform_integer
from treewise.errors import ParameterError
from treewise.formats.model_file import model_file
from treewise.train.grow import grow_training_set, prepare

random_bits = st.integers(0, 2**64 - 1)
numbers = st.floats(allow_nan=False)


@given(random_bits, st.tuples(numbers, numbers).filter(lambda ends: ends[0] < ends[1]))
def test_a_random_threshold_parts_the_ends(random, ends):
    low, high = ends
    cut = uniform_float(random, low, high)
    assert low <= cut < high
    assert math.copysign(1.0, cut) == 1.0 or cut != 0  # never −0.0


@given(random_bits, st.integers(-(2**63) + 1, 2**63 - 2), st.integers(1, 2**63))
def test_a_random_whole_threshold_parts_the_ends(random, low, width):
    assert low <= uniform_integer(random, low, low + width) < low + width


@given(random_bits, st.integers(2, 200))
def test_a_random_subset_names_some_levels_and_not_all(random, n):
    assert 0 < sum(random_subset(random, n)) < n


def test_every_column_is_as_likely_at_every_turn():
    drawn = np.array([list(shuffled_columns(mix64(0, node), 5)) for node in range(5000)])
    for turn in range(5):
        times = np.bincount(drawn[:, turn], minlength=5)
        assert abs(times - 1000).max() < 150  # five standard deviations


def test_columns_that_cannot_be_used_call_for_another():
    data = {f"x{i}": [1.0] * 8 for i in range(9)} | {"x": range(8), "y": list("aabbaabb")}
    for seed in range(20):
        tree = grow_training_set(prepare(data, "y", max_features=2, random_state=seed))
        assert tree[0].split.column == "x"


def test_a_limit_on_leaves_counts_as_not_usable():
    data = {"rare": [0.0] * 7 + [1.0], "x": range(8), "y": list("aabbaabb")}
    for seed in range(20):
        tree = grow_training_set(prepare(data, "y", max_features=1, min_samples_leaf=2, random_state=seed))
        assert tree[0].split.column == "x"


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_the_order_of_rows_does_not_matter(splitter):
    rng = np.random.default_rng(3)
    x, order = rng.normal(size=(300, 6)), rng.permutation(300)
    y = np.where(x[:, 0] + rng.normal(size=300) > 0, "a", "b")
    options = {"max_features": "sqrt", "splitter": splitter, "random_state": 5}
    trees = [
        grow_training_set(prepare({**{f"x{i}": x[rows, i] for i in range(6)}, "y": y[rows]}, "y", **options))
        for rows in (np.arange(300), order)
    ]
    assert trees[0] == trees[1]
    assert len({int(c) for c in trees[0].arrays.column if c >= 0}) == 6


@pytest.mark.parametrize("value", [0, -1, 1.5, 0.0, "all", True])
def test_how_many_columns_cannot_be_anything(value):
    message = r"max_features=.*: must be \"sqrt\" or \"log2\", or a whole number of columns, or a share of"
    with pytest.raises(ParameterError, match=message):
        prepare({"x": [1.0, 2.0], "y": ["a", "b"]}, "y", max_features=value)


def test_a_splitter_is_best_or_random():
    with pytest.raises(ParameterError, match=r'splitter="worst": must be one of best, random\.'):
        prepare({"x": [1.0, 2.0], "y": ["a", "b"]}, "y", splitter="worst")


WAYS = [{"max_features": 2}, {"splitter": "random"}, {"max_features": "sqrt", "splitter": "random"}]


@pytest.mark.parametrize("how", WAYS)
def test_a_single_tree_may_draw_its_columns_and_tests(how):
    tree = tw.grow("penguins", random_state=3, **how)
    assert tree == grow_training_set(prepare("penguins", random_state=3, **how))
    assert tree != tw.grow("penguins", random_state=4, **how)
    assert tree != tw.grow("penguins")
    assert model_file.loads(model_file.dumps(tree)) == tree
    assert {name: tree.history[0]["settings"][name] for name in how} == how
    table = tw.datasets.penguins().to_polars()
    model = tw.TreeClassifier(random_state=3, **how).fit(table.drop("species"), table["species"])
    assert model.tree_ == tree


@pytest.mark.parametrize("how", WAYS)
def test_what_is_drawn_does_not_depend_on_limits(how):
    """So that a curve, which reads smaller trees off a larger one, reads those that would be grown."""
    for over, values in (("max_depth", [1, 2, 4]), ("max_leaf_nodes", [2, 3, 7])):
        curve = tw.curve("penguins", over=over, values=values, folds=3, **how)
        grown = [tw.grow("penguins", **{over: value}, **how).evaluate("penguins").error for value in values]
        assert [point.training for point in curve.points] == pytest.approx(grown)


def test_the_trace_says_that_not_every_test_was_looked_at():
    tree = tw.grow("admissions", max_features=1, splitter="random")
    assert tree.trace("admissions").notes == (
        "every test is listed; this tree was grown with columns sampled at each node, with random splits, so"
        " another test may be best here",
    )
    assert tw.grow("admissions").trace("admissions").notes == ()
