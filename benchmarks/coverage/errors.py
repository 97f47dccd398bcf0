"""Errors on rows that a model has not seen: how often their intervals contain the error on many rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import treewise as tw
from benchmarks.coverage.leaves import draw_table
from benchmarks.coverage.measured import Measured

_FRESH_ROWS = 50_000


def error_intervals(tables: int) -> Iterator[Measured]:
    """Measure ``evaluate`` on held-out rows, the agreement of a distilled tree, and ``compare_models``."""
    fresh, teacher = draw_table(_FRESH_ROWS, 10**6, False), tw.forest(draw_table(600, 5, False), "y", n_estimators=20)
    features = {name: column for name, column in fresh.items() if name != "y"}
    taught = teacher.predict(features)
    covered = np.zeros(4, int)
    for seed in range(tables):
        train, held = (draw_table(300, seed + shift, False) for shift in (0, 10**5))
        tree = tw.grow(train, "y", max_leaf_nodes=8, n_jobs=1)
        error = np.mean(tree.predict(features) != fresh["y"])
        low, high = tree.evaluate(held).interval
        covered[0] += low <= error <= high
        compared = tw.compare_models(train, "y", models=["majority"], max_leaf_nodes=8, random_state=seed, n_jobs=1)
        low, high = compared.interval(compared.scores[0])
        covered[1] += low <= error <= high
        student = tw.distill(teacher, train, target="y", test=held, max_leaf_nodes=8, n_jobs=1)
        by_folds = tw.distill(teacher, train, target="y", max_leaf_nodes=8, random_state=seed, n_jobs=1)
        agreement = np.mean(student.tree.predict(features) == taught)
        for place, distilled in enumerate((student, by_folds), 2):
            fidelity = distilled.held_out
            assert fidelity is not None
            assert fidelity.low is not None
            assert fidelity.high is not None
            covered[place] += fidelity.low <= agreement <= fidelity.high
    figures = ("error, evaluate", "error, compare_models by folds", "agreement, distill", "agreement, distill by folds")
    for figure, count in zip(figures, covered.tolist(), strict=True):
        yield Measured("errors", figure, "300 rows, 8 leaves", count / tables, tables)
