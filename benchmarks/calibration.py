"""Compare the estimates of leaf probabilities on held-out rows: log loss, Brier score, calibration error.

    python -m benchmarks.calibration [FOLDER] [--splits N]

Ten tables: five that come with scikit-learn and treewise, simulated ones, and those of FOLDER that are there (adult,
churn, german_credit, titanic, car, nursery, mammography). Half of the rows grow a full tree and one pruned by
``pruning="cv"``, the others judge. Log loss is infinite where a class that a leaf has not seen occurs; the share of
such splits is listed. The calibration error is that of the predicted class in ten bins of equal size.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn import datasets as sklearn_datasets  # type: ignore[import-untyped]

import treewise as tw

ESTIMATES = ("maximum_likelihood", "laplace", "m_estimate=1", "m_estimate=2", "shrinkage=10")
FILES: dict[str, tuple[str | None, list[str]]] = {  # file: target (None: the last column, no header), left out
    "adult.csv": ("income", []),
    "churn.csv": ("Exited", ["RowNumber", "CustomerId", "Surname"]),
    "german_credit.csv": (None, []),
    "titanic.csv": ("survived", ["alive", "class", "who", "adult_male", "embark_town"]),
    "car.data": (None, []),
    "nursery.data": ("classification", []),
    "mammography.csv": (None, []),
}
MOST_ROWS = 6000


def read_tables(folder: Path | None) -> Iterator[tuple[str, pl.DataFrame, str]]:
    """Yield names, tables and targets."""
    for name in ("breast_cancer", "digits", "wine"):
        actual = getattr(sklearn_datasets, f"load_{name}")(as_frame=True)
        yield name, pl.DataFrame({c: actual.frame[c].to_numpy() for c in actual.frame.columns}), "target"
    yield "penguins", tw.datasets.penguins().to_polars(), "species"
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 8))
    columns = {f"x{i}": x[:, i] for i in range(8)}
    share = 1 / (1 + np.exp(-x[:, 0] - x[:, 1] * x[:, 2]))
    yield "slope", pl.DataFrame({**columns, "y": np.where(rng.random(2000) < share, "b", "a")}), "y"
    yield "no signal", pl.DataFrame({**columns, "y": np.where(rng.random(2000) < 0.3, "b", "a")}), "y"
    for file, (target, ignored) in FILES.items():
        if folder is not None and (folder / file).exists():
            frame = pl.read_csv(folder / file, has_header=target is not None, infer_schema_length=None).drop(ignored)
            target = target or frame.columns[-1]
            frame = frame.drop_nulls(target)
            yield file, frame.sample(min(MOST_ROWS, len(frame)), seed=0), target


def scores(probability: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Return log loss, Brier score and calibration error of the predicted class."""
    rows = np.arange(len(truth))
    likelihood = probability[rows, truth]
    with np.errstate(divide="ignore"):
        log_loss = float(-np.log(likelihood).mean())
    brier = float(((probability - np.eye(probability.shape[1])[truth]) ** 2).sum(axis=1).mean())
    predicted = probability.argmax(axis=1)
    confidence, is_right = probability[rows, predicted], predicted == truth
    order = np.argsort(confidence, kind="stable")
    bins = np.array_split(order, 10)
    error = sum(len(b) * abs(confidence[b].mean() - is_right[b].mean()) for b in bins if len(b)) / len(order)
    return log_loss, brier, float(error)


def judge(frame: pl.DataFrame, target: str, splits: int) -> dict[tuple[str, str], np.ndarray]:
    """Return mean scores by kind of tree and estimate, and the share of infinite log losses."""
    actual: dict[tuple[str, str], list[Any]] = {}
    frame = frame.with_columns(pl.col(target).cast(pl.String))
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(frame))
        train, test = frame[order[: len(frame) // 2]], frame[order[len(frame) // 2 :]]
        for kind, pruning in (("full", None), ("cv", "cv")):
            tree = tw.grow(train, target, task="classification", pruning=pruning)
            place = {str(label): i for i, label in enumerate(tree.classes)}
            known = [i for i, label in enumerate(test[target]) if label in place]
            rows = test[known]
            truth = np.array([place[label] for label in rows[target]])
            for estimate in ESTIMATES:
                log_loss, brier, error = scores(tree.predict_proba(rows, estimate=estimate), truth)
                finite = log_loss if np.isfinite(log_loss) else np.nan
                actual.setdefault((kind, estimate), []).append((finite, brier, error, np.isinf(log_loss)))
    return {key: np.array(values, float) for key, values in actual.items()}


def main(words: list[str] | None = None) -> None:
    """Print a Markdown table: one line per table, kind of tree and estimate, and the means."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    arguments = parser.parse_args(words)
    print(
        "| table | tree | estimate | log loss | Brier | calibration error | infinite |\n|---|---|---|--:|--:|--:|--:|"
    )
    totals: dict[tuple[str, str], list[np.ndarray]] = {}
    for name, frame, target in read_tables(arguments.folder):
        for (kind, estimate), values in judge(frame, target, arguments.splits).items():
            mean = values.mean(axis=0)
            totals.setdefault((kind, estimate), []).append(mean)
            print(_line(name, kind, estimate, mean), flush=True)
    for (kind, estimate), means in totals.items():
        print(_line(f"mean of {len(means)}", kind, estimate, np.mean(means, axis=0)))


def _line(name: str, kind: str, estimate: str, mean: np.ndarray) -> str:
    log_loss = "∞" if np.isnan(mean[0]) else f"{mean[0]:.3f}"
    return f"| {name} | {kind} | {estimate} | {log_loss} | {mean[1]:.3f} | {mean[2]:.3f} | {100 * mean[3]:.0f} % |"


if __name__ == "__main__":
    main()
