"""Permutation importance: how often its interval contains the importance on many rows, for columns of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import treewise as tw
from benchmarks.coverage.measured import Measured

_COLUMNS = ("rare", "flag", "x", "town")
_TRUTH_ROWS = 100_000


def draw_table(rows: int, seed: int, regression: bool) -> dict[str, Any]:
    """Return a table with a rare flag (5 %), a common one, a number and a category, which all matter."""
    rng = np.random.default_rng(seed)
    rare, flag, x = rng.random(rows) < 0.05, rng.random(rows) < 0.5, rng.normal(size=rows)
    town = rng.integers(0, 5, rows)
    y = 2.5 * rare + 0.8 * flag + x + 0.7 * (town == 1) + rng.normal(size=rows)
    columns = {"rare": rare, "flag": flag, "x": x, "town": np.array(list("abcde"))[town]}
    return {**columns, "y": y if regression else np.where(y > 1, "yes", "no")}


def importance_intervals(tables: int) -> Iterator[Measured]:
    """Measure the intervals of each column on 300 or 1,000 rows, of trees grown on others."""
    for regression in (False, True):
        tree = tw.grow(draw_table(5000, 1, regression), "y", max_leaf_nodes=24, n_jobs=1)
        truth = tree.importances(draw_table(_TRUTH_ROWS, 2, regression), repeats=3)
        for rows in (300, 1000):
            covered = dict.fromkeys(_COLUMNS, 0)
            for seed in range(tables):
                importances = tree.importances(draw_table(rows, 10 + seed, regression), random_state=seed, n_jobs=1)
                for name in _COLUMNS:
                    low, high = importances[name].low, importances[name].high
                    assert low is not None
                    assert high is not None
                    covered[name] += low <= truth[name].importance <= high
            measure = "RMSE" if regression else "error"
            for name, count in covered.items():
                figure = f"permutation importance of {name} ({measure})"
                yield Measured("importance", figure, f"{rows:,} rows", count / tables, tables)
