"""The cross-validated error of a chosen size: how often its interval contains the error of the tree on new rows.

Beside the printed interval (each fold judged at the size that the other folds choose) the usual one: the error of the
chosen size, the least or nearly the least of many, ± 1.96 standard errors. It makes no promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import treewise as tw
from benchmarks.coverage.measured import Measured

FRESH_ROWS = 20_000
Rows = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _shares(share: Callable[[np.ndarray], Any]) -> Rows:
    return lambda x, rng: np.where(rng.random(len(x)) < share(x), "b", "a")


TABLES: dict[str, Rows] = {
    "no signal, half": _shares(lambda _: 0.5),
    "no signal, 30 %": _shares(lambda _: 0.3),
    "slope": _shares(lambda x: 1 / (1 + np.exp(-2 * (x[:, 0] + x[:, 1])))),
    "rectangle": _shares(lambda x: np.where((x[:, 0] > 0) & (x[:, 1] > -0.5), 0.9, 0.1)),
    "numbers": lambda x, rng: 2 * x[:, 0] + np.abs(x[:, 1]) + rng.standard_normal(len(x)),
    "numbers, no signal": lambda x, rng: rng.standard_normal(len(x)),
}


def draw_table(name: str, rows: int, seed: int) -> dict[str, np.ndarray]:
    """Return a table of five normal numbers and a target."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 5))
    return {**{f"x{i}": x[:, i] for i in range(5)}, "y": TABLES[name](x, rng)}


def true_loss(tree: tw.Tree, fresh: dict[str, np.ndarray]) -> float:
    """Return the error rate, or the mean squared error, on fresh rows."""
    predicted = tree.predict(fresh)
    return float(np.mean((predicted - fresh["y"]) ** 2 if tree.task == "regression" else predicted != fresh["y"]))


def chosen_sizes(tables: int) -> Iterator[Measured]:
    """Measure trees of n = 150, 300 and 600 rows, with and without signal, by both rules."""
    for name in TABLES:
        fresh = draw_table(name, FRESH_ROWS, 10**6)
        for rows in (150, 300, 600):
            for rule in ("1se", "best"):
                printed, usual = 0, 0
                for seed in range(tables):
                    table = draw_table(name, rows, seed)
                    pruning = {"method": "cv", "rule": rule}
                    tree = tw.grow(table, "y", pruning=pruning, random_state=seed, n_jobs=1)
                    true, found = true_loss(tree, fresh), tree.fit_info.cross_validated
                    assert found is not None
                    printed += found.low <= true <= found.high
                    cp_table = tree.cp_table
                    chosen = cp_table[cp_table.chosen]
                    away = abs(chosen.xerror * cp_table.root_error - true)
                    usual += away <= 1.96 * chosen.xstd * cp_table.root_error
                situation = f"{name}, n = {rows}, {rule}"
                yield Measured("size", "cross-validated error, corrected", situation, printed / tables, tables)
                yield Measured("size", "the same ± 1.96 SE, not corrected", situation, usual / tables, tables, "")
