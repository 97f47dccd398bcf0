"""P-values of nodes (``selection="test"``): how often a tree splits where nothing is related to the target."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import treewise as tw
from benchmarks.coverage.measured import Measured
from benchmarks.selection import table_without_signal


def node_p_values(tables: int) -> Iterator[Measured]:
    """Yield the share of tables without signal whose root has an adjusted p-value of at most 0.05."""
    for regression in (False, True):
        for n, n_levels in ((200, 10), (1000, 50)):
            rng = np.random.default_rng([n, regression])
            drawn = (table_without_signal(rng, n, n_levels, regression) for _ in range(tables))
            split = sum(tw.grow(data, "y", selection="test", max_depth=1, n_jobs=1).n_leaves > 1 for data in drawn)
            target = "numbers" if regression else "two classes"
            situation = f"{n:,} rows, {target}, a category of {n_levels} levels"
            yield Measured("tests", "p-value of the root", situation, split / tables, tables, "p-value")
