"""The tables to learn from: NumPy generators with fixed seeds, kept on disk between processes.

``score(X)`` is a smooth surface with interactions: x0 plus six terms that switch on and off. A class is the sign of the
score plus noise. Every table comes with rows held out for accuracy, drawn from the same source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
NOISE = 0.7
HELD_OUT = 0.1  # as many rows again as this share


@dataclass(frozen=True)
class Workload:
    """One tree, or one ensemble, to be grown: a table, and the limits every library is given."""

    name: str
    what: str
    rows: int
    make: Callable[[int], tuple[Array, Array]]  # so many rows of cells (codes for text), and their targets
    limits: dict[str, int] = field(default_factory=dict)  # scikit-learn's names
    task: str = "classification"
    criterion: str = "gini"
    text: bool = False  # cells are codes of strings
    predict: bool = False  # prediction is what is timed
    ensemble: str | None = None  # "forest", "extra_trees" or "adaboost": many trees instead of one

    @property
    def table(self) -> str:
        """The table's name: several workloads share one."""
        return self.name.split()[0]


def score(rng: np.random.Generator, x: Array) -> Array:
    """Return x0 plus six terms: N(0, 1)·sin(2·xa)·[xb > N(0, 1)/2]."""
    total = x[:, 0].astype(np.float64)
    for _ in range(6):
        a, b = rng.integers(0, x.shape[1], 2)
        total += rng.normal() * np.sin(2 * x[:, a]) * (x[:, b] > rng.normal() / 2)
    return total


def two_classes(columns: int) -> Callable[[int], tuple[Array, Array]]:
    """Return a maker of float32 normal columns and two classes."""

    def make(rows: int) -> tuple[Array, Array]:
        rng = np.random.default_rng(1)
        x = rng.standard_normal((rows, columns), dtype=np.float32)
        return x, (score(np.random.default_rng(2), x) + NOISE * rng.normal(size=rows) > 0).astype(np.int64)

    return make


def quantity(rows: int) -> tuple[Array, Array]:
    """Make 20 float32 normal columns and a number."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((rows, 20), dtype=np.float32)
    return x, score(np.random.default_rng(2), x) + NOISE * rng.normal(size=rows)


def categories(rows: int) -> tuple[Array, Array]:
    """Make codes of 20 columns of 4 to 50 categories: main effects, three pair interactions, two classes."""
    rng, truth = np.random.default_rng(3), np.random.default_rng(2)
    levels = np.linspace(4, 50, 20).astype(int)
    codes = np.stack([rng.integers(0, n, rows) for n in levels], axis=1).astype(np.int8)
    total = sum(truth.normal(size=n)[codes[:, j]] / 3 for j, n in enumerate(levels))
    for _ in range(3):
        a, b = truth.integers(0, 20, 2)
        total = total + truth.normal(size=(50, 50))[codes[:, a], codes[:, b]] / 2
    return codes, (total + NOISE * rng.normal(size=rows) > 0).astype(np.int64)


def clusters(rows: int) -> tuple[Array, Array]:
    """Make 26 classes of three normal clusters each, in 20 of 50 float32 columns."""
    rng, truth = np.random.default_rng(5), np.random.default_rng(2)
    y = rng.integers(0, 26, rows)
    centres = np.zeros((26, 3, 50), np.float32)
    centres[:, :, :20] = truth.normal(size=(26, 3, 20)) * 1.5
    x = rng.standard_normal((rows, 50), dtype=np.float32) + centres[y, rng.integers(0, 3, rows)]
    return x, y


def text_columns(codes: Array) -> dict[str, Array]:
    """Return codes as columns of strings."""
    words = np.array([f"level {i:02d}" for i in range(50)], dtype=object)
    return {f"c{j + 1}": words[codes[:, j]] for j in range(codes.shape[1])}


FOREST = {"n_estimators": 100, "max_features": 4}  # of 20 columns: their square root, as is usual
STUMPS = {"n_estimators": 100, "max_depth": 1}

WORKLOADS = [
    Workload("W1 depth 8", "1M x 20 floats, 2 classes", 1_000_000, two_classes(20), {"max_depth": 8}),
    Workload("W1 min leaf 20", "1M x 20 floats, 2 classes", 1_000_000, two_classes(20), {"min_samples_leaf": 20}),
    Workload("W1 entropy", "W1 depth 8 by entropy", 1_000_000, two_classes(20), {"max_depth": 8}, criterion="entropy"),
    Workload("W2", "100k x 100 floats, 2 classes, pure leaves", 100_000, two_classes(100)),
    Workload("W3", "1M x 20 strings, min leaf 20", 1_000_000, categories, {"min_samples_leaf": 20}, text=True),
    Workload("W4", "500k x 20 floats, a number, depth 10", 500_000, quantity, {"max_depth": 10}, task="regression"),
    Workload("W5", "200k x 50 floats, 26 classes, pure leaves", 200_000, clusters),
    Workload("W6", "100k x 20 floats, a forest of 100", 100_000, two_classes(20), FOREST, ensemble="forest"),
    Workload(
        "W6 predict",
        "W6's forest, 100k rows, and one",
        100_000,
        two_classes(20),
        FOREST,
        predict=True,
        ensemble="forest",
    ),
    Workload("W6 extra-trees", "W6's rows, 100 extra-trees", 100_000, two_classes(20), FOREST, ensemble="extra_trees"),
    Workload(
        "W4 extra-trees",
        "100k x 20 floats, a number, 100 extra-trees",
        100_000,
        quantity,
        FOREST,
        task="regression",
        ensemble="extra_trees",
    ),
    Workload("W7", "100k x 20 floats, AdaBoost, 100 stumps", 100_000, two_classes(20), STUMPS, ensemble="adaboost"),
    Workload("W9", "prediction: 1M rows, and one", 1_000_000, two_classes(20), {"min_samples_leaf": 6}, predict=True),
]
GROWN_ON = 100_000  # rows of W9's tree, which has some 14,000 nodes


def stored(workload: Workload, rows: int, folder: Path) -> Path:
    """Make a table once and keep it in a folder; return where."""
    held_out = round(rows * HELD_OUT)
    home = folder / f"{workload.table}-{rows}"
    if not home.exists():
        x, y = workload.make(rows + held_out)
        home.mkdir(parents=True)
        np.save(home / "x.npy", x)
        np.save(home / "y.npy", y)
    return home


def load(home: Path, rows: int) -> tuple[Array, Array, Array, Array]:
    """Return cells and targets to learn from, and those held out."""
    x, y = np.load(home / "x.npy"), np.load(home / "y.npy")
    return x[:rows], y[:rows], x[rows:], y[rows:]
