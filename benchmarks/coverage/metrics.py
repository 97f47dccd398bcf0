"""Metrics of ``evaluate`` and of ``evaluate_pair`` on held-out rows: how often their intervals contain the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import treewise as tw
from benchmarks.coverage.leaves import draw_table
from benchmarks.coverage.measured import Measured
from treewise.evaluate import ClassificationEvaluation, Evaluation, RegressionEvaluation

_FRESH_ROWS = 50_000


def metric_intervals(tables: int) -> Iterator[Measured]:
    """Draw held-out tables of 300 rows for one tree (two trees for the differences), and many rows for the truth."""
    for kind in ("classes", "numbers", "counts"):
        train, fresh = _draw(600, 1, kind), _draw(_FRESH_ROWS, 10**6, kind)
        options = {"criterion": "poisson", "task": "regression"} if kind == "counts" else {}
        small, large = (tw.grow(train, "y", max_leaf_nodes=leaves, **options) for leaves in (4, 12))
        truth = _intervals(large.evaluate(fresh)), _differences(small, large, fresh)
        covered: Counter[str] = Counter()
        for seed in range(tables):
            held = _draw(300, seed + 10**5, kind)
            actual = _intervals(large.evaluate(held)), _differences(small, large, held)
            for part, true_part in zip(actual, truth, strict=True):
                for name, (_, (low, high)) in part.items():
                    covered[name] += low <= true_part[name][0] <= high
        for name, count in covered.items():
            yield Measured("metrics", name, f"{kind}, 300 held-out rows", count / tables, tables)


def _draw(rows: int, seed: int, kind: str) -> dict[str, Any]:
    """Return a table whose target is a class, a number, or a count with the number as its logarithmic rate."""
    data = draw_table(rows, seed, kind != "classes")
    if kind == "counts":
        data["y"] = np.random.default_rng(seed).poisson(np.exp(data["y"] / 2))
    return data


def _intervals(evaluation: Evaluation) -> dict[str, tuple[float, tuple[float, float]]]:
    """Return the value and the interval of every metric that has one."""
    if isinstance(evaluation, RegressionEvaluation):
        deviance = evaluation.deviance
        if deviance is not None and deviance.value is not None and deviance.interval is not None:
            return {"Poisson deviance": (deviance.value, deviance.interval)}
        return {
            "RMSE": (evaluation.rmse, evaluation.rmse_interval or (np.nan, np.nan)),
            "MAE": (evaluation.mae, evaluation.mae_interval or (np.nan, np.nan)),
            "R²": (evaluation.r2 or 0.0, evaluation.r2_interval or (np.nan, np.nan)),
        }
    assert isinstance(evaluation, ClassificationEvaluation)
    actual = {m.name: (m.value, m.interval) for m in evaluation.metrics if m.value is not None and m.interval}
    return {**actual, "log_loss": (evaluation.log_loss, evaluation.log_loss_interval or (np.nan, np.nan))}


def _differences(a: tw.Tree, b: tw.Tree, data: object) -> dict[str, tuple[float, tuple[float, float]]]:
    pair = tw.evaluate_pair(a, b, data)
    return {f"difference in {d.metric}": (d.difference, d.interval) for d in pair.differences}
