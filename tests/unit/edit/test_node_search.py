"""The candidates of a node, as the core profiles them, against the specification, which lists every candidate."""

import os

import numpy as np
import pytest

import treewise as tw
from tests.support.random_problems import random_options, random_table
from treewise.edit import node_search
from treewise.edit.node_search import NodeSearcher
from treewise.errors import TreewiseError
from treewise.train.candidates import compute_stats
from treewise.train.constraints import UNCONSTRAINED
from treewise.train.grow import prepare
from treewise.train.reference import find_best_split, leaf_condition

LONG = 3000 if os.environ.get("TREEWISE_LONG") else 0


def random_training_set(rng):
    regression = bool(rng.random() < 0.4)
    data, n = random_table(rng, regression)
    options = random_options(rng, data, n, regression)
    if rng.random() < 0.4:
        data["w"] = rng.integers(1, 4, n) * rng.choice([1.0, 0.5, 2.0**30])
        options["sample_weight"] = "w"
    try:
        return prepare(data, "y", **options)
    except TreewiseError:
        return None


def facts(search):
    best = {c: (b.split, b.total_gain, b.score, b.tolerance, b.branches) for c, b in search.best_of_column.items()}
    winner = None if search.winner is None else (search.winner.split, search.winner.score)
    return best, winner, search.is_tie, str(search.margin)


def without_ends(result):
    """Leave out the smallest and the largest target of branches, which decide nothing here."""
    best, *rest = result
    plain = lambda stats: stats._replace(low=0, high=0, targets=())  # noqa: E731
    return {c: (*b[:-1], tuple(map(plain, b[-1]))) for c, b in best.items()}, *rest


@pytest.mark.parametrize(("few_cells", "n_points"), [(20_000, 400), (0, 400), (0, 3), (0, 1)])
def test_every_column_has_the_candidate_of_the_specification(few_cells, n_points, monkeypatch):
    monkeypatch.setattr(node_search, "_FEW_CELLS", few_cells)
    monkeypatch.setattr(node_search, "N_POINTS", n_points)  # segments of a pass have many rows, or one
    rng, checked = np.random.default_rng(few_cells + n_points), 0
    for _ in range(LONG or 120):
        training_set = random_training_set(rng)
        if training_set is None:
            continue
        rows = np.flatnonzero(rng.random(len(training_set)) < rng.choice([0.5, 1.0]))
        if leaf_condition(
            training_set.with_node_scale(rows), rows, compute_stats(training_set.with_node_scale(rows), rows), 0
        ) in (
            "pure",
            "no_rows",
        ):
            continue
        expected = find_best_split(training_set, rows)
        found = NodeSearcher(training_set, n_jobs=1).search(rows.astype(np.uint32), UNCONSTRAINED).search
        assert without_ends(facts(found)) == without_ends(facts(expected)), training_set.settings
        checked += 1
    assert checked > 60


@pytest.mark.parametrize("missing", ["branch", "learn"])
def test_the_best_threshold_is_kept_where_outliers_bring_all_within_rounding_of_it(missing):
    steps = [8.0 * (i >= 300) + (i % 4) / 8 for i in range(400)]
    table = {"x": [*map(float, range(400)), *[float("nan")] * 4], "y": [*steps, 1e6, 1e6, 2e6, -1e6]}
    grown = tw.grow(table, "y", max_depth=1, missing=missing)
    edited = tw.Editor("y", table, missing=missing).split(0, "x")
    assert edited.split_at(0) == grown.split_at(0)
    if missing == "branch":
        assert grown.split_at(0).cut == 299.5


@pytest.mark.parametrize("n_missing", [0, 2])
def test_of_more_thresholds_that_tie_than_are_kept_the_first_wins(n_missing):
    classes = [*"bbb", *("ab" * 200), *"aaa"]  # every second cut leaves the same number of errors
    table = {"x": [*range(len(classes)), *[None] * n_missing], "y": [*classes, *"ab"[:n_missing]]}
    grown = tw.grow(table, "y", max_depth=1, criterion="error")
    assert tw.Editor("y", table, criterion="error").split(0, "x").split_at(0) == grown.split_at(0)


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_points_of_a_chart_are_gains_of_stumps(weight, monkeypatch):
    monkeypatch.setattr(node_search, "N_POINTS", 7)
    rng = np.random.default_rng(3)
    table = {"x": rng.normal(size=400).round(1), "w": rng.integers(1, 4, 400), "y": rng.choice(list("abc"), 400)}
    table["x"][:9] = np.nan
    options = {"sample_weight": weight} if weight else {"ignore": ["w"]}
    editor = tw.Editor("y", table, **options)
    test = editor.candidates(0).of("x")
    assert 5 <= len(test.points) <= 7
    assert max(point.gain for point in test.points) == pytest.approx(test.gain)
    for point in test.points:
        gains = []
        for missing in ("yes", "no"):
            tree = editor.split(0, "x", at=point.threshold, missing=missing)
            parts = (tree.arrays.impurity * tree.arrays.weight)[1:].sum()
            gains.append(tree.arrays.impurity[0] - parts / tree.arrays.weight[0])
            editor.undo()
        assert point.gain == pytest.approx(max(gains), abs=1e-12)
