"""``monitor``: p-values without a change, and how often its intervals contain the true change of the leaves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import treewise as tw
from benchmarks.coverage.measured import Measured

MANY_ROWS = 50_000


def _draw(rows: int, shift: float, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 4))
    x[:, 0] += shift
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-2 * (x[:, 0] + x[:, 1]))), "b", "a")
    return {**{f"x{i}": x[:, i] for i in range(4)}, "y": y}


def _shares(tree: tw.Tree, data: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(np.bincount(tree.apply(data), minlength=len(tree)) / len(data["y"]))


def monitoring(tables: int) -> Iterator[Measured]:
    """Measure trees of eight leaves grown on 600 rows, monitored on 400 rows with and without a change of a column."""
    for shift in (0.0, 0.3, 1.0):
        before, after = _draw(MANY_ROWS, 0.0, 10**6), _draw(MANY_ROWS, shift, 10**6 + 1 if shift else 10**6)
        actual = []
        for seed in range(tables):
            tree = tw.grow(_draw(600, 0.0, seed), "y", max_leaf_nodes=8, min_samples_leaf=10, n_jobs=1)
            report = tree.monitor(_draw(400, shift, 10**5 + seed))
            p, q = _shares(tree, before), _shares(tree, after)
            leaves = [leaf.node for leaf in report.leaves]
            true = float(((q - p) * np.log(np.maximum(q, 1e-9) / np.maximum(p, 1e-9)))[leaves].sum())
            all_leaves = all(
                leaf.interval[0] <= q[leaf.node] - p[leaf.node] <= leaf.interval[1] for leaf in report.leaves
            )
            actual.append((report.interval[0] <= true <= report.interval[1], all_leaves, report.p_value < 0.05))
        shares, situation = np.mean(actual, axis=0).tolist(), f"600 and 400 rows, a column moved by {shift:g} sd"
        yield Measured("monitor", "PSI", situation, shares[0], tables, "at least" if shift == 0 else "interval")
        yield Measured("monitor", "changes of all leaves together", situation, shares[1], tables, "at least")
        if shift == 0:
            yield Measured("monitor", "p < 0.05 without a change", situation, shares[2], tables, "p-value")
