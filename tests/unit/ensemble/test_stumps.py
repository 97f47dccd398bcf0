"""Stumps on presorted columns equal ordinarily grown trees."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.random_tables import limit_examples, random_tables
from treewise import _core
from treewise.ensemble.adaboost import WEIGHT_BITS, Distribution
from treewise.train.grow import core_columns, core_settings, core_target, grow_training_set, prepare
from treewise.tree.arrays import STOPS, Arrays


def core_arguments(training_set, n_jobs=1):
    settings = core_settings(training_set)
    settings.n_jobs = n_jobs
    return core_columns(training_set), core_target(training_set), settings


def grown_both(training_set, weights, n_jobs=1):
    """Grow a stump both ways; returns both trees, and what each says of the rows."""
    columns, target, settings = core_arguments(training_set, n_jobs)
    settings.seed = 0  # each round has one of its own
    weighed = replace(training_set, weight=weights, weight_scale=WEIGHT_BITS)
    stumps = _core.StumpGrower(columns, target, settings)
    grown, message = stumps.grow(
        weights, WEIGHT_BITS, core_settings(weighed).min_leaf_weight, training_set.settings.random_state
    )
    tree = grow_training_set(weighed, n_jobs=1, keep_quartiles=False).arrays
    return (Arrays(**grown), message), (tree, tree.label[_core.find_leaves(tree.for_core, columns, len(training_set))])


def assert_same(training_set, weights, n_jobs=1):
    (stump, message), (tree, expected) = grown_both(training_set, weights, n_jobs)
    assert stump.same_as(tree)
    np.testing.assert_array_equal(message, expected)


@limit_examples(3.0)
@given(
    random_tables(task="classification", criteria=("entropy", "gini", "error"), weights=False),
    st.sampled_from(["first", "random"]),
    st.randoms(use_true_random=False),
)
def test_they_are_the_trees_of_ordinary_growth(table, ties, random):
    options = {**table.options, "max_depth": 1, "ties": ties, "random_state": random.randrange(2**64)}
    training_set = prepare(table.data, "y", **options)
    if len(training_set.target.classes) < 2:
        return
    given_weights = np.array(
        [2.0**-60 + random.choice((1.0, random.random(), random.random() ** 9)) for _ in range(len(training_set))]
    )
    assert_same(
        training_set, np.maximum(1, np.rint(2.0**WEIGHT_BITS * given_weights / given_weights.sum())).astype(np.int64)
    )
    assert_same(training_set, Distribution.of(np.ones(len(training_set), np.int64)).units)


@pytest.mark.parametrize("criterion", ["entropy", "gini", "error"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_rows_in_many_blocks(criterion, n_classes):
    """Blocks of hundreds of rows, long runs of equal values, missing cells, levels, and several threads."""
    rng = np.random.default_rng(n_classes)
    n = 70_000
    noise = rng.normal(size=n)
    data = {
        "fine": noise.astype(np.float32),
        "coarse": np.round(noise, 1),
        "gaps": np.where(rng.random(n) < 0.3, np.nan, noise + rng.normal(size=n)),
        "level": rng.integers(0, 9, n).astype(str),
        "constant": np.ones(n),
        "y": np.digitize(rng.normal(size=n) + noise / 50, [-0.5, 0.5][: n_classes - 1]),
    }
    training_set = prepare(data, "y", max_depth=1, criterion=criterion, task="classification")
    for power in (0, 1, 6):
        weights = rng.random(n) ** power
        units = np.maximum(1, np.rint(2.0**WEIGHT_BITS * weights / weights.sum())).astype(np.int64)
        assert_same(training_set, units, n_jobs=3)


@pytest.mark.parametrize("column", ["number", "level"])
def test_the_reason_for_a_leaf_is_that_of_ordinary_growth(column):
    """Levels of few rows are pooled, and every cut violates a limit."""
    data = {"level": [f"level {i % 12}" for i in range(30)], "y": [0, 1] * 15}
    data |= {"number": [0] * 3 + [1] * 27} if column == "number" else {}
    training_set = prepare(data, "y", max_depth=1, min_samples_leaf=14, min_level_rows=9, task="classification")
    (stump, _), (tree, _) = grown_both(training_set, Distribution.of(np.ones(30, np.int64)).units)
    assert tree.stop.tolist() == [STOPS.index("min_samples_leaf" if column == "number" else "no_candidate")]
    assert stump.same_as(tree)


def test_without_bounds_the_stump_is_the_same():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3))
    training_set = prepare(x, (x[:, 0] + rng.normal(size=3000) > 0).astype(int), max_depth=1)
    columns, target, settings = core_arguments(training_set)
    weights = Distribution.of(rng.integers(1, 9, 3000)).units
    actual = _core.StumpGrower(columns, target, settings).grow(weights, WEIGHT_BITS, 0, 0)[0]
    settings.tuning.use_bounds = False
    every = _core.StumpGrower(columns, target, settings).grow(weights, WEIGHT_BITS, 0, 0)[0]
    assert Arrays(**actual).same_as(Arrays(**every))


@pytest.mark.parametrize(
    ("options", "covered"),
    [
        ({}, True),
        ({"criterion": "error", "missing": "branch", "min_samples_leaf": 3}, True),
        ({"max_depth": 2}, False),
        ({"max_depth": None}, False),
        ({"criterion": "gain_ratio"}, False),
        ({"criterion": "c45"}, False),
        ({"splitter": "random"}, False),
        ({"max_features": 1}, False),
        ({"max_features": 1.0}, True),
    ],
)
def test_coverage_of_the_groups(options, covered):
    training_set = prepare("penguins", **{"max_depth": 1, **options})
    assert _core.StumpGrower.supports(*core_arguments(training_set)) == covered
    if not covered:
        with pytest.raises(ValueError, match="stumps do not support"):
            _core.StumpGrower(*core_arguments(training_set))


def test_the_core_refuses_what_does_not_fit():
    training_set = prepare("penguins", max_depth=1)
    stumps = _core.StumpGrower(*core_arguments(training_set))
    with pytest.raises(ValueError, match="lengths differ"):
        stumps.grow(np.ones(3, np.int64), WEIGHT_BITS, 0, 0)
    three, two = np.zeros(3, np.uint8), np.zeros(2, np.uint8)
    weights = np.ones(3, np.int64)
    for call in (
        lambda: _core.error_weight(three, two, weights, 1),
        lambda: _core.reweight(two, three, weights, 1.0, 1.0, 1),
        lambda: _core.add_vote(three, three, np.ones(2, np.int64), 1.0, np.zeros((3, 2)), 1),
        lambda: _core.add_vote(three, three, weights, 1.0, np.zeros((2, 2)), 1),
        lambda: _core.add_vote(three, three + np.uint8(2), weights, 1.0, np.zeros((3, 2)), 1),
    ):
        with pytest.raises(ValueError, match=r"one per row|lengths differ|class out of range"):
            call()


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_what_a_round_does_to_rows_is_plain_arithmetic(n_jobs, dtype):
    """The core's passes over all rows against NumPy's, with enough rows for several pieces."""
    rng = np.random.default_rng(1)
    n, classes = 100_000, 3
    truth, message = (rng.integers(0, classes, n).astype(dtype) for _ in range(2))
    weight = rng.integers(1, 2**36, n)
    wrong = truth != message
    assert _core.error_weight(truth, message, weight, n_jobs) == weight[wrong].sum()
    actual = _core.reweight(truth, message, weight, 1e-9, 2.5, n_jobs)
    np.testing.assert_array_equal(actual, np.maximum(1, np.rint(weight * np.where(wrong, 2.5, 1e-9))))
    scores = rng.integers(0, 2, (n, classes)).astype(float)
    expected = scores.copy()
    expected[np.arange(n), message] += 0.75
    lost = _core.add_vote(truth, message, weight, 0.75, scores, n_jobs)
    np.testing.assert_array_equal(scores, expected)
    assert lost == weight[expected.argmax(axis=1) != truth].sum()
