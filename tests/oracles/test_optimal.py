"""Optimal trees against the specification: all trees of many small tables.

``TREEWISE_OPTIMAL_CASES=1000000`` is the long run (``.ci/nightly oracles``).
"""

import os

import numpy as np
import pytest

import treewise as tw
from tests.support.optimal_problems import compare
from tests.support.optimal_tables import random_options, random_table, specified
from treewise.train.grow import prepare
from treewise.train.optimal.optimal import solve
from treewise.train.optimal.problem import OptimalProblem, with_searchable_splits
from treewise.train.optimal.specification import list_tests
from treewise.train.reference import NodeScorer, list_candidates

CASES = int(os.environ.get("TREEWISE_OPTIMAL_CASES", "4000"))
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_the_core_finds_the_first_best_tree(part):
    """Objective, bound and tree, whatever the threads, the known tree and the shortcuts that are switched off."""
    for seed in range(part, CASES, PARTS):
        assert compare(np.random.default_rng(seed)) is None, seed


@pytest.mark.parametrize("seed", range(min(2000, max(40, CASES // 100))))
def test_tables_of_every_kind_of_column(seed):
    rng = np.random.default_rng(seed)
    table, task = random_table(rng)
    options = random_options(rng, task)
    objective = "squared_error" if task == "regression" else "cost" if "cost" in options else "error"
    training_set = with_searchable_splits(prepare(table, "y", **options))
    limits = (int(rng.integers(0, 4)), int(rng.choice([2, 3, 4, 8])), float(rng.choice([0, 0, 0.01, 0.2])))
    problem = OptimalProblem.of(training_set, objective, *limits)
    least = specified(training_set, problem)
    result = solve(problem, n_jobs=1)
    assert result.is_proven
    assert result.objective == result.lower_bound == problem.value(least)
    assert result.tree.depth <= limits[0]
    assert result.tree.n_leaves <= limits[1]
    leaves = result.tree.apply(table)
    assert problem.tree_cost(np.asarray(leaves)) == least  # the tree predicts what was searched
    assert result.greedy_objective >= result.objective


@pytest.mark.parametrize("seed", range(30))
def test_the_tests_are_the_candidates_of_growth(seed):
    """At the root, the specification lists the divisions of the rows that the learner would consider, and no others."""
    rng = np.random.default_rng(seed)
    table, task = random_table(rng)
    training_set = with_searchable_splits(
        prepare(table, "y", **(random_options(rng, task) | {"min_level_rows": 1, "cost": None}))
    )
    rows = np.arange(len(training_set))
    everything = (1 << len(rows)) - 1
    scorer = NodeScorer.of(training_set, rows)
    for column, (encoding, values) in enumerate(zip(training_set.encodings, training_set.columns, strict=True)):
        missing = np.isnan(values) if values.dtype.kind == "f" else values < 0
        cells = [None if m else v for v, m in zip(values.tolist(), missing.tolist(), strict=True)]
        named = [None if c is None else encoding.levels[c] if encoding.is_categorical else c for c in cells]
        listed = {min(t, everything & ~t) for t in list_tests(cells, training_set.split_kinds[column][0])}
        taken = set()
        for candidate in list_candidates(scorer, rows, column):
            first = sum(1 << row for row, cell in enumerate(named) if candidate.split.branch(cell, encoding) == 0)
            taken.add(min(first, everything & ~first))
        is_exact = training_set.split_kinds[column] != ("subset",) or len(training_set.target.classes) == 3
        assert taken == listed if is_exact else taken <= listed  # growth may list prefixes of an order only


def test_missing_values_and_categories_in_a_printed_tree():
    table = {"x": [1, 2, None, None, 3, 4], "y": list("aabbaa")}
    result = tw.optimal(table, "y", max_depth=1)
    assert result.objective == 0
    assert str(result.tree.split_at(0)).startswith("Presence")
    assert result.tree.predict(table).tolist() == table["y"]
