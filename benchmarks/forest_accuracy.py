"""Compare the held-out error of forests and extra-trees with scikit-learn's on real tables.

    python -m benchmarks.forest_accuracy FOLDER [--seeds 5] [--trees 100] [--rows 6000]

FOLDER contains adult.csv, german_credit.csv, mammography.csv and california_housing.csv. Each seed splits a table into
70 % training and 30 % test rows. Both libraries are trained on the same rows with one-hot encoded categories; the
column "as it is" is treewise on the table without encoding. The difference is paired by seed, with its standard error
over the seeds. The error is the share of misclassified rows, or 1 − R².
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn import ensemble

import treewise as tw

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RealTable:
    """A file and its target column."""

    file: str
    target: str | int
    header: bool = True
    regression: bool = False

    def read(self, folder: Path) -> tuple[pd.DataFrame, pd.Series[Any]]:
        """Return the columns and the target."""
        frame = pd.read_csv(folder / self.file, header=0 if self.header else None, skipinitialspace=True)
        target = self.target if isinstance(self.target, str) else frame.columns[self.target]
        y = frame.pop(target)
        frame.columns = [str(name) for name in frame.columns]
        return frame, y if self.regression else y.astype(str)


TABLES = (
    RealTable("adult.csv", "income"),
    RealTable("german_credit.csv", -1, header=False),
    RealTable("mammography.csv", -1, header=False),
    RealTable("california_housing.csv", "median_house_value", regression=True),
)
OURS: dict[str, Callable[..., Any]] = {"forest": tw.forest, "extra_trees": tw.extra_trees}
THEIRS = {
    ("forest", False): ensemble.RandomForestClassifier,
    ("forest", True): ensemble.RandomForestRegressor,
    ("extra_trees", False): ensemble.ExtraTreesClassifier,
    ("extra_trees", True): ensemble.ExtraTreesRegressor,
}


def error(predicted: Any, truth: pd.Series[Any], regression: bool) -> float:
    """Return the error rate, or 1 − R²."""
    if not regression:
        return float(np.mean(np.asarray(predicted).astype(str) != truth.to_numpy(str)))  # classes may be numbers
    off, spread = np.asarray(predicted) - truth.to_numpy(), truth.to_numpy() - truth.mean()
    return float(np.sum(off**2) / np.sum(spread**2))


def errors(table: RealTable, frame: pd.DataFrame, y: pd.Series[Any], method: str, seed: int, trees: int) -> list[float]:
    """Return held-out errors: treewise without encoding, treewise and scikit-learn on the encoded table."""
    order = np.random.default_rng(seed).permutation(len(y))
    old, new = order[: len(y) * 7 // 10], order[len(y) * 7 // 10 :]
    numbers = pd.get_dummies(frame, dtype=float)
    numbers = numbers.fillna(numbers.median())
    task = "regression" if table.regression else "classification"
    how = {"task": task, "n_estimators": trees, "random_state": seed}
    how |= {} if table.regression else {"criterion": "gini"}
    actual = []
    for X in (frame, numbers):
        grown = OURS[method](X.iloc[old], y.iloc[old].to_numpy(), **how)
        actual.append(error(grown.predict(X.iloc[new]), y.iloc[new], table.regression))
    theirs = THEIRS[method, table.regression](n_estimators=trees, random_state=seed, n_jobs=-1)
    theirs.fit(numbers.iloc[old].to_numpy(), y.iloc[old])
    return [*actual, error(theirs.predict(numbers.iloc[new].to_numpy()), y.iloc[new], table.regression)]


def main(arguments: list[str] | None = None) -> None:
    """Print one line per table and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=6000, help="maximum number of rows of a table")
    options = parser.parse_args(arguments)
    print(f"{'table':24}{'method':13}{'as it is':>9}{'ours':>9}{'theirs':>9}{'ours - theirs':>20}")
    for table in TABLES:
        frame, y = table.read(options.folder)
        some = np.sort(np.random.default_rng(0).permutation(len(y))[: options.rows])
        frame, y = frame.iloc[some], y.iloc[some]
        for method in OURS:
            actual = np.array([errors(table, frame, y, method, seed, options.trees) for seed in range(options.seeds)])
            apart = actual[:, 1] - actual[:, 2]
            off = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
            as_it_is, ours, theirs = actual.mean(axis=0)
            predicted = f"{apart.mean():+.4f} ± {off:.4f}"
            print(f"{table.file:24}{method:13}{as_it_is:9.4f}{ours:9.4f}{theirs:9.4f}{predicted:>20}", flush=True)


if __name__ == "__main__":
    main()
