"""Benchmark tables, generated with fixed seeds and stored on disk for the measuring processes.

``latent_score(X)`` is a smooth function with interactions: x0 plus six terms, each switched on by another column. The
class is the sign of the score plus noise. Every table has additional held-out rows from the same distribution.
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
HELD_OUT = 0.1  # additional rows, as a share of the training rows


@dataclass(frozen=True)
class Workload:
    """A tree or ensemble to grow: a table, and the limits given to every library."""

    name: str
    what: str
    rows: int
    make: Callable[[int], tuple[Array, Array]]  # number of rows → cells (codes for text) and targets
    limits: dict[str, int] = field(default_factory=dict)  # scikit-learn's names
    task: str = "classification"
    criterion: str = "gini"  # for numbers: squared_error, unless another one is given
    text: bool = False  # cells are codes of strings
    predict: bool = False  # measure prediction instead of fitting
    ensemble: str | None = None  # "forest", "extra_trees" or "adaboost"
    peers: tuple[str, ...] = ()  # the only libraries to compare with; empty: all that support it

    @property
    def loss(self) -> str:
        """Return the criterion for the task."""
        return "squared_error" if self.task == "regression" and self.criterion == "gini" else self.criterion

    @property
    def table(self) -> str:
        """Name of the table, which several workloads may share."""
        return self.name.split()[0]


def latent_score(rng: np.random.Generator, x: Array) -> Array:
    """Return x0 plus six terms: N(0, 1)·sin(2·xa)·[xb > N(0, 1)/2]."""
    total = x[:, 0].astype(np.float64)
    for _ in range(6):
        a, b = rng.integers(0, x.shape[1], 2)
        total += rng.normal() * np.sin(2 * x[:, a]) * (x[:, b] > rng.normal() / 2)
    return total


def binary_tables(columns: int) -> Callable[[int], tuple[Array, Array]]:
    """Return a generator of float32 normal columns with two classes."""

    def make(rows: int) -> tuple[Array, Array]:
        rng = np.random.default_rng(1)
        x = rng.standard_normal((rows, columns), dtype=np.float32)
        return x, (latent_score(np.random.default_rng(2), x) + NOISE * rng.normal(size=rows) > 0).astype(np.int64)

    return make


def regression_table(rows: int) -> tuple[Array, Array]:
    """Return 20 float32 normal columns with a numeric target."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((rows, 20), dtype=np.float32)
    return x, latent_score(np.random.default_rng(2), x) + NOISE * rng.normal(size=rows)


def categorical_table(rows: int) -> tuple[Array, Array]:
    """Return 20 columns of 4 to 50 categories, as codes, and two classes: main effects, three pairwise interactions."""
    rng, truth = np.random.default_rng(3), np.random.default_rng(2)
    levels = np.linspace(4, 50, 20).astype(int)
    codes = np.stack([rng.integers(0, n, rows) for n in levels], axis=1).astype(np.int8)
    total = sum(truth.normal(size=n)[codes[:, j]] / 3 for j, n in enumerate(levels))
    for _ in range(3):
        a, b = truth.integers(0, 20, 2)
        total = total + truth.normal(size=(50, 50))[codes[:, a], codes[:, b]] / 2
    return codes, (total + NOISE * rng.normal(size=rows) > 0).astype(np.int64)


def count_table(rows: int) -> tuple[Array, Array]:
    """Return 20 float32 normal columns with a count."""
    x, y = regression_table(rows)
    return x, np.random.default_rng(6).poisson(np.exp(np.clip(y, -3, 3))).astype(np.float64)


def cluster_tables(classes: int) -> Callable[[int], tuple[Array, Array]]:
    """Return a generator of classes of three normal clusters each, in 20 of 50 float32 columns."""

    def make(rows: int) -> tuple[Array, Array]:
        rng, truth = np.random.default_rng(5), np.random.default_rng(2)
        y = rng.integers(0, classes, rows)
        centres = np.zeros((classes, 3, 50), np.float32)
        centres[:, :, :20] = truth.normal(size=(classes, 3, 20)) * 1.5
        x = rng.standard_normal((rows, 50), dtype=np.float32) + centres[y, rng.integers(0, 3, rows)]
        return x, y

    return make


def text_columns(codes: Array) -> dict[str, Array]:
    """Return codes as columns of strings."""
    words = np.array([f"level {i:02d}" for i in range(50)], dtype=object)
    return {f"c{j + 1}": words[codes[:, j]] for j in range(codes.shape[1])}


FOREST = {"n_estimators": 100, "max_features": 4}  # the square root of 20 columns
STUMPS = {"n_estimators": 100, "max_depth": 1}

WORKLOADS = [
    Workload("W1 depth 8", "1M x 20 floats, 2 classes", 1_000_000, binary_tables(20), {"max_depth": 8}),
    Workload("W1 min leaf 20", "1M x 20 floats, 2 classes", 1_000_000, binary_tables(20), {"min_samples_leaf": 20}),
    Workload(
        "W1 entropy", "W1 depth 8 by entropy", 1_000_000, binary_tables(20), {"max_depth": 8}, criterion="entropy"
    ),
    Workload("W2", "100k x 100 floats, 2 classes, pure leaves", 100_000, binary_tables(100)),
    Workload("W3", "1M x 20 strings, min leaf 20", 1_000_000, categorical_table, {"min_samples_leaf": 20}, text=True),
    Workload(
        "W4", "500k x 20 floats, a number, depth 10", 500_000, regression_table, {"max_depth": 10}, task="regression"
    ),
    Workload("W5", "200k x 50 floats, 26 classes, pure leaves", 200_000, cluster_tables(26)),
    Workload("W5-100", "50k x 50 floats, 100 classes", 50_000, cluster_tables(100), peers=("scikit-learn",)),
    Workload("W5-1000", "20k x 50 floats, 1,000 classes", 20_000, cluster_tables(1000), peers=("scikit-learn",)),
    Workload(
        "W1 gain ratio",
        "100k x 20 floats, 2 classes, by gain ratio; peer: by entropy",
        100_000,
        binary_tables(20),
        {"max_depth": 8},
        criterion="gain_ratio",
        peers=("scikit-learn",),
    ),
    Workload(
        "W4 absolute error",
        "20k x 20 floats, depth 8",
        20_000,
        regression_table,
        {"max_depth": 8},
        task="regression",
        criterion="absolute_error",
        peers=("scikit-learn",),
    ),
    Workload(
        "W10",
        "100k x 20 floats, a count, Poisson, depth 8",
        100_000,
        count_table,
        {"max_depth": 8},
        task="regression",
        criterion="poisson",
        peers=("scikit-learn",),
    ),
    Workload("W6", "100k x 20 floats, a forest of 100", 100_000, binary_tables(20), FOREST, ensemble="forest"),
    Workload(
        "W6 predict",
        "W6's forest, 100k rows, and one",
        100_000,
        binary_tables(20),
        FOREST,
        predict=True,
        ensemble="forest",
    ),
    Workload(
        "W6 extra-trees", "W6's rows, 100 extra-trees", 100_000, binary_tables(20), FOREST, ensemble="extra_trees"
    ),
    Workload(
        "W4 extra-trees",
        "100k x 20 floats, a number, 100 extra-trees",
        100_000,
        regression_table,
        FOREST,
        task="regression",
        ensemble="extra_trees",
    ),
    Workload(
        "W4 forest",
        "100k x 20 floats, a number, a forest of 100",
        100_000,
        regression_table,
        FOREST,
        task="regression",
        ensemble="forest",
        peers=("scikit-learn",),
    ),
    Workload("W7", "100k x 20 floats, AdaBoost, 100 stumps", 100_000, binary_tables(20), STUMPS, ensemble="adaboost"),
    Workload("W9", "prediction: 1M rows, and one", 1_000_000, binary_tables(20), {"min_samples_leaf": 6}, predict=True),
]
PREDICT_TRAINING_ROWS = 100_000  # of the W9 tree, which has about 14,000 nodes


def store_table(workload: Workload, rows: int, folder: Path) -> Path:
    """Generate a table unless it is stored already; return its folder."""
    held_out = round(rows * HELD_OUT)
    home = folder / f"{workload.table}-{rows}"
    if not home.exists():
        x, y = workload.make(rows + held_out)
        home.mkdir(parents=True)
        np.save(home / "x.npy", x)
        np.save(home / "y.npy", y)
    return home


def load_table(home: Path, rows: int) -> tuple[Array, Array, Array, Array]:
    """Return training cells and targets, and held-out cells and targets."""
    x, y = np.load(home / "x.npy"), np.load(home / "y.npy")
    return x[:rows], y[:rows], x[rows:], y[rows:]
