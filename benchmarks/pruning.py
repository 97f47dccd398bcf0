"""Measure the time of pruning relative to growing.

    python -m benchmarks.pruning [ROWS]

Prunes a full tree of noisy rows by each method and prints the CPU time and its ratio to the time of growing. All but
cross-validation, which grows ten more trees, should stay below a tenth.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import treewise as tw

BOTH: dict[str, dict[str, Any]] = {
    "gain": {"threshold": 0.01, "measure": "criterion"},
    "cost_complexity": {"ccp_alpha": 1e-5},
    "collapse": {},
}
CLASSES: dict[str, dict[str, Any]] = {"pessimistic": {}, "mdl": {}}
SIZES: tuple[dict[str, Any], ...] = ({"max_leaf_nodes": 1000}, {"max_depth": 10}, {"at": [1]})


def table(rows: int, regression: bool, seed: int) -> dict[str, Any]:
    """Return a noisy table whose target depends on three of ten columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, rows))
    y = X[0] + X[1] * X[2] + rng.normal(size=rows)
    return {**{f"x{i}": column for i, column in enumerate(X)}, "y": y if regression else (y > 0).astype(int)}


def seconds(run: Callable[[], Any]) -> tuple[Any, float]:
    """Run a function and return its result and CPU time."""
    begin = time.process_time()
    return run(), time.process_time() - begin


def main(rows: int) -> None:
    """Grow a tree and prune it by each method."""
    for regression in (False, True):
        data, valid = table(rows, regression, 0), table(rows // 3, regression, 1)
        full, growing = seconds(lambda data=data: tw.grow(data, "y"))
        what = "numbers" if regression else "classes"
        print(f"{what}: {rows:,} rows, full tree of {full.n_leaves:,} leaves grown in {growing:.2f} s")
        methods = {**BOTH, "reduced_error": {"validation": valid}, **({} if regression else CLASSES)}
        runs = [*methods.items(), *((None, size) for size in SIZES)]
        full.prune(at=[0])  # warm the caches of the tree
        for method, options in runs:
            message = method or next(iter(options))
            pruned, took = seconds(lambda method=method, options=options, full=full: full.prune(method, **options))
            print(f"  {message:16} {took:6.2f} s  {took / growing:6.3f} × growth  {pruned.n_leaves:9,} leaves")
        _, took = seconds(lambda full=full, data=data: full.prune("cv", data=data))
        print(f"  {'ten folds':16} {took:6.2f} s  {took / growing:6.3f} × growth")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
