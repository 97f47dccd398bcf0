"""Ranges and intervals of leaves: how often they contain the true share or mean of the rows that reach the leaf.

The truth of a leaf is estimated on 200,000 fresh rows, whose own error is negligible beside an interval of 20 rows or
more. Every leaf counts once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import treewise as tw
from benchmarks.coverage.measured import Measured
from treewise.predict.predict import node_intervals

FRESH_ROWS = 200_000


def draw_table(rows: int, seed: int, regression: bool, signal: float = 1.0) -> dict[str, Any]:
    """Return a table of five numbers and a category; the target depends on two of the numbers and the category."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (5, rows))
    g = rng.integers(0, 4, rows)
    score = signal * (1.5 * (x[0] > 0.2) + x[1] - 0.8 * (g == 2))
    y = score + rng.standard_normal(rows) if regression else (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)
    columns = {f"x{i}": column for i, column in enumerate(x)}
    return {**columns, "g": np.array(list("abcd"))[g], "y": y if regression else np.where(y, "yes", "no")}


def leaf_truths(tree: tw.Tree, fresh: dict[str, Any]) -> np.ndarray:
    """Return the true mean, or the true share of the last class, of each node; NaN where no fresh row ends."""
    leaves = tree.apply({name: column for name, column in fresh.items() if name != "y"})
    target = fresh["y"] if tree.task == "regression" else (fresh["y"] == tree.classes[-1]).astype(float)
    rows = np.bincount(leaves, minlength=len(tree))
    with np.errstate(invalid="ignore"):
        return np.bincount(leaves, target, len(tree)) / rows


def count_covered(tree: tw.Tree, fresh: dict[str, Any]) -> tuple[int, int]:
    """Return how many leaves have an interval that contains the truth, and how many leaves there are."""
    truths = leaf_truths(tree, fresh)
    nodes = np.flatnonzero(~np.isnan(truths) & (tree.arrays.kind == 0))
    ends = node_intervals(tree, nodes, 0.95)
    low, high = (ends[:, 0], ends[:, 1]) if tree.task == "regression" else (ends[:, -1, 0], ends[:, -1, 1])
    return int(np.sum((low <= truths[nodes]) & (truths[nodes] <= high))), len(nodes)


def leaf_intervals(tables: int) -> Iterator[Measured]:
    """Measure the leaves of trees on their training rows, of honest trees, and of trees refitted on other rows."""
    for regression in (False, True):
        fresh = draw_table(FRESH_ROWS, 10**6, regression)
        for name, options in (("8 leaves", {"max_leaf_nodes": 8}), ("pruned by cv", {"pruning": "cv"})):
            counts = np.zeros((3, 2), int)
            for seed in range(tables):
                limits = {"min_samples_leaf": 20, "n_jobs": 1, **options}
                tree = tw.grow(draw_table(600, seed, regression), "y", **limits)
                refitted = tree.refit(draw_table(600, 10**5 + seed, regression))
                honest = tw.grow(draw_table(1200, seed, regression), "y", honest=0.5, **limits)
                counts += [count_covered(each, fresh) for each in (tree, honest, refitted)]
            task = "mean" if regression else "share"
            for rows, (covered, n) in zip(("training range", "honest", "refitted"), counts, strict=True):
                promise = "" if rows == "training range" else "interval"
                yield Measured("leaves", f"{task} of a leaf, {rows}", f"600 rows, {name}", covered / n, n, promise)


def prediction_intervals(tables: int) -> Iterator[Measured]:
    """Measure how many fresh rows fall into prediction intervals calibrated on 50 or 400 rows."""
    fresh = draw_table(5000, 10**6, regression=True)
    for rows in (50, 400):
        shares = []
        for seed in range(tables):
            tree = tw.grow(draw_table(600, seed, regression=True), "y", max_leaf_nodes=8, n_jobs=1)
            ends = tree.predict_interval(fresh, calibration=draw_table(rows, 10**5 + seed, regression=True))
            shares.append(np.mean((ends[:, 0] <= fresh["y"]) & (fresh["y"] <= ends[:, 1])))
        figure, situation = "prediction interval of a row", f"600 rows, 8 leaves, {rows} for calibration"
        yield Measured("prediction", figure, situation, float(np.mean(shares)), tables * len(fresh["y"]))
