"""The core grows the same tree as the reference implementation, on random tables with random options."""

import os

import numpy as np
import pytest

from tests.support.random_problems import random_options, random_table
from treewise import grow
from treewise.train.grow import grow_training_set, prepare
from treewise.train.reference import find_best_split
from treewise.train.reference_grower import grow_reference, reference_facts, tree_facts

TABLES = int(os.environ.get("TREEWISE_ORACLE_TABLES", "120"))


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "numbers"])
@pytest.mark.parametrize("seed", range(10))
def test_core_equals_search(seed, regression):
    for table in range(TABLES // 10):
        rng = np.random.default_rng([seed, table, regression])
        data, n = random_table(rng, regression)
        options = random_options(rng, data, n, regression)
        training_set = prepare(data, "y", **options)
        expected = reference_facts(training_set, grow_reference(training_set))
        actual = tree_facts(grow_training_set(training_set))
        assert actual == expected, f"seed {seed}, table {table}: {data} {options}"


def test_many_levels_are_ordered_by_the_rates_of_the_heaviest_classes():
    """Beyond 64 classes only the heaviest are tried; the lighter ones would sometimes be better."""
    rng = np.random.default_rng(5)
    n, n_classes, n_levels = 900, 90, 14
    label = np.minimum(rng.geometric(0.02, n), n_classes)
    level = (label * 3 + rng.integers(0, 4, n)) % n_levels
    data = {"level": [f"l{i:02}" for i in level], "y": [f"c{i:02}" for i in label]}
    training_set = prepare(data, "y", categorical="subset", selection="gain", max_depth=3)
    search = find_best_split(training_set, np.arange(n))
    n_present = len(np.unique(label))
    orders = {c.order.position // n_levels for c in search.candidates[0] if c.split.kind == "subset"}
    heaviest = np.argsort(-np.bincount(training_set.y, minlength=n_present), kind="stable")[:64]
    assert n_present > 64
    assert orders == set(heaviest.tolist())
    assert tree_facts(grow_training_set(training_set)) == reference_facts(training_set, grow_reference(training_set))


def test_targets_in_any_order_and_of_any_scale_for_absolute_error():
    """The engine lists the rows of a node in order of their targets, unless a node rescales them."""
    rng = np.random.default_rng(6)
    for targets in (
        np.arange(60) % 2.0,
        rng.normal(size=60),
        np.where(rng.random(60) < 0.1, 1e15, 1.0) * rng.random(60),
    ):
        data = {"x": np.arange(60.0), "z": rng.integers(0, 5, 60), "y": targets}
        training_set = prepare(data, "y", criterion="absolute_error", task="regression", selection="gain")
        actual = tree_facts(grow_training_set(training_set))
        assert actual == reference_facts(training_set, grow_reference(training_set))


def test_columns_of_different_costs_are_searched_one_after_the_other():
    """The search of the last column must not change the rows of the first, which still count for its branches."""
    data = {"x": [True, True, True], "z": ["b", "a", "e"], "y": [2.0, 4.0, 1.0]}
    training_set = prepare(data, "y", categorical="ordinal", task="regression", feature_costs={"x": 1.0, "z": 0.01})
    assert tree_facts(grow_training_set(training_set)) == reference_facts(training_set, grow_reference(training_set))


def test_a_cost_changes_the_order_of_gains_per_branch():
    """(4 − 2)/1 is more than (5 − 2)/2, and 4/1 more than 7/2: with costs, other candidates may win."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(8, 40))
        x = [None if rng.random() < 0.3 else float(v) for v in rng.integers(0, 4, n)]
        data = {"x": [0.0, *x], "z": rng.choice(list("abc"), n + 1).tolist(), "y": rng.normal(size=n + 1)}
        options = {"categorical": "any", "missing": "branch", "feature_costs": {"x": 0.1, "z": 0.03}}
        training_set = prepare(data, "y", task="regression", **options)
        actual = tree_facts(grow_training_set(training_set))
        assert actual == reference_facts(training_set, grow_reference(training_set))


def test_one_call_is_the_same_as_its_parts():
    data = {"x": [1.0, 2.0, 3.0, None], "y": ["a", "b", "b", "a"]}
    assert grow(data, "y") == grow_training_set(prepare(data, "y"))
