"""Measure which column is chosen where none matters, and held-out accuracy, by each ``selection``.

    python -m benchmarks.selection null [--tables N]           the root column of tables without signal
    python -m benchmarks.selection accuracy TABLE.csv:TARGET … [--splits N]      beside R's ctree, if installed

An unbiased choice takes each of the three columns (binary, number, category of many levels) in a third of the tables.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import treewise as tw
from treewise.train.settings import SELECTIONS

SITUATIONS = [(200, 50), (1000, 50), (200, 10), (1000, 10)]  # rows, levels of the category
_CTREE_SECONDS = 60
CTREE = r"""
suppressPackageStartupMessages(library(partykit))
words <- commandArgs(TRUE)
train <- read.csv(words[1], stringsAsFactors = TRUE, na.strings = "")
test <- read.csv(words[2], stringsAsFactors = TRUE, na.strings = "")
for (name in names(train)) if (is.factor(train[[name]])) {
  levels <- union(levels(train[[name]]), levels(factor(test[[name]])))
  train[[name]] <- factor(train[[name]], levels); test[[name]] <- factor(test[[name]], levels)
}
fit <- ctree(y ~ ., train)
writeLines(as.character(predict(fit, test)), words[3])
"""


def table_without_signal(rng: np.random.Generator, n: int, n_levels: int, regression: bool) -> dict[str, Any]:
    """Draw a table whose target is independent of a binary column, a number and a category."""
    return {
        "binary": rng.choice(["a", "b"], n),
        "number": rng.normal(size=n),
        "category": rng.choice([f"l{i}" for i in range(n_levels)], n),
        "y": rng.normal(size=n) if regression else rng.choice(["p", "q"], n),
    }


def measure_null(n_tables: int) -> None:
    """Print how often each column is the root, and how often a test finds something at alpha = 0.05."""
    error = math.sqrt(2 / 9 / n_tables)
    print(f"root column of {n_tables:,} tables without signal; standard error of a third {error:.3f}")
    headings = " ".join(f"{name:>8}" for name in ("binary", "number", "category"))
    print(f"{'selection':10} {'target':8} {'rows':>6} {'levels':>6} {headings}  false splits")
    for selection in SELECTIONS:
        for regression in (False, True):
            for n, n_levels in SITUATIONS:
                rng, roots, false_splits = np.random.default_rng([n, n_levels, regression]), Counter[str](), 0
                options: dict[str, Any] = {"selection": selection, "min_level_rows": 1, "max_depth": 1, "n_jobs": 1}
                if selection == "test":
                    options["alpha"] = 1.0
                for _ in range(n_tables):
                    tree = tw.grow(table_without_signal(rng, n, n_levels, regression), "y", **options)
                    root = tree[0]
                    roots["" if root.split is None else root.split.column] += 1
                    false_splits += root.p_value is not None and root.p_value <= 0.05
                shares = [roots[name] / n_tables for name in ("binary", "number", "category")]
                rate = f"{false_splits / n_tables:.3f}" if selection == "test" else ""
                what = "numbers" if regression else "classes"
                cells = " ".join(f"{share:8.3f}" for share in shares)
                print(f"{selection:10} {what:8} {n:6,} {n_levels:6} {cells}  {rate}", flush=True)


def measure_accuracy(path: str, target: str, n_splits: int, max_rows: int = 10_000) -> None:
    """Print the accuracy (or R² for numbers) on held-out rows, over random 70/30 splits."""
    import pandas as pd

    frame = (
        pd.read_csv(path, sep=None, engine="python", na_values=["?"])
        .dropna(subset=[target])
        .rename(columns={target: "y"})
    )
    frame = frame.sample(n=min(max_rows, len(frame)), random_state=0).reset_index(drop=True)
    regression = pd.api.types.is_float_dtype(frame["y"])
    variants: dict[str, dict[str, Any]] = {f"{s}, cv": {"selection": s, "pruning": "cv"} for s in SELECTIONS}
    variants["test"] = {"selection": "test"}
    scores: dict[str, list[float]] = {}
    leaves: dict[str, list[int]] = {}
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(frame))
        cut = int(0.7 * len(frame))
        train, test = frame.iloc[order[:cut]], frame.iloc[order[cut:]]
        truth = test["y"].to_numpy()
        for name, options in variants.items():
            tree = tw.grow(train, "y", **options)
            scores.setdefault(name, []).append(_score(tree.predict(test), truth, regression))
            leaves.setdefault(name, []).append(tree.n_leaves)
        if (predicted := _ctree(train, test)) is not None:
            values = predicted.astype(float) if regression else predicted
            scores.setdefault("partykit ctree", []).append(_score(values, truth, regression))
    print(f"{Path(path).name}: {len(frame):,} rows, {'R²' if regression else 'accuracy'}, {n_splits} splits")
    for name, found in scores.items():
        size = f"{np.mean(leaves[name]):8.1f} leaves" if name in leaves else ""
        print(f"  {name:16} {np.mean(found):.4f} ± {np.std(found) / math.sqrt(n_splits):.4f} {size}", flush=True)


def _score(predicted: Any, truth: Any, regression: bool) -> float:
    if regression:
        return float(1 - np.mean((predicted - truth) ** 2) / np.var(truth))
    return float(np.mean(np.asarray(predicted).astype(str) == truth.astype(str)))


def _ctree(train: Any, test: Any) -> Any:
    """Return the predictions of partykit's ctree; None if it is not installed, refuses the table or takes too long."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train.to_csv(folder / "train.csv", index=False)
        test.to_csv(folder / "test.csv", index=False)
        (folder / "ctree.R").write_text(CTREE)
        paths = [str(folder / part) for part in ("ctree.R", "train.csv", "test.csv", "predicted.txt")]
        try:
            subprocess.run(["Rscript", "--vanilla", *paths], capture_output=True, check=True, timeout=_CTREE_SECONDS)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        return np.array((folder / "predicted.txt").read_text().splitlines())


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection")
    parser.add_argument("what", choices=["null", "accuracy"])
    parser.add_argument("sources", nargs="*", metavar="TABLE.csv:TARGET")
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    if given.what == "null":
        measure_null(given.tables)
    for source in given.sources:
        path, _, target = source.rpartition(":")
        measure_accuracy(path, target, given.splits)


if __name__ == "__main__":
    main()
