"""Compare the held-out error of single trees with rpart, ctree, scikit-learn and ydf on public tables.

    python -m benchmarks.tree_accuracy [FOLDER] [--splits 10] [--tables TEXT] [--save FILE.json]

FOLDER, or the environment variable TREEWISE_DATA, has the files of ``real_tables.py``; without it the tables of
scikit-learn remain. Each split takes 70 % of the rows for training and 30 % for the test; every learner has the same
rows and may choose the size of its tree on the training rows. The error is the rate of errors, or the RMSE. Peers that
are not installed, and those that fail on a table or take longer than LIMIT seconds for a split, are left out there.

| learner | |
|---|---|
| cv | treewise with ``pruning="cv"`` |
| cv best, cv leaf 5, gini cv | the same with ``rule="best"``, ``min_samples_leaf=5``, ``criterion="gini"`` |
| gain cv | the same with ``selection="gain", min_level_rows=1`` |
| test | treewise with ``selection="test"``, which stops by itself |
| without names | cv, without the columns of names |
| rpart min, rpart 1-SE | ``cp = 0``, ten folds, pruned to the least error or within one standard error |
| ctree | defaults; without columns of more than 30 levels, which it refuses |
| sklearn min, sklearn 1-SE | ``ccp_alpha`` by five folds; categories as ordinal codes |
| ydf | ``CartLearner`` with its defaults |
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import treewise as tw
from benchmarks.real_tables import RealTable, data_folder, read_tables

LIMIT = 30  # seconds that R may take per split
CTREE_LEVELS = 30
N_ALPHAS = 10  # penalties that scikit-learn chooses from
OURS: dict[str, dict[str, Any]] = {
    "cv": {"pruning": "cv"},
    "cv best": {"pruning": {"method": "cv", "rule": "best"}},
    "cv leaf 5": {"pruning": "cv", "min_samples_leaf": 5},
    "gini cv": {"pruning": "cv", "criterion": "gini"},
    "gain cv": {"pruning": "cv", "selection": "gain", "min_level_rows": 1},
    "test": {"selection": "test"},
    "without names": {"pruning": "cv"},
}
PEERS = ("rpart min", "rpart 1-SE", "ctree", "sklearn min", "sklearn 1-SE", "ydf")
Result = tuple[int, str, float, int]  # split, learner, error, leaves


def error_of(predicted: Any, truth: Any, regression: bool) -> float:
    """Return the rate of errors, or the root mean squared error."""
    if regression:
        return float(np.sqrt(np.mean((np.asarray(predicted, float) - np.asarray(truth)) ** 2)))
    return float(np.mean(np.asarray(predicted).astype(str) != np.asarray(truth).astype(str)))


def by_treewise(table: RealTable, splits: int) -> Iterator[Result]:
    """Yield the results of trees of ours."""
    task = "regression" if table.regression else "classification"
    for seed in range(splits):
        train, test = (table.frame.iloc[rows] for rows in table.split(seed))
        for name, options in OURS.items():
            if name == "without names" and not table.names:
                continue
            if name == "gini cv" and table.regression:
                continue
            ignored = {"ignore": list(table.names)} if name == "without names" else {}
            tree = tw.grow(train, "y", task=task, n_jobs=1, **options, **ignored)
            yield seed, name, error_of(tree.predict(test), test["y"], table.regression), tree.n_leaves


def by_sklearn(table: RealTable, splits: int) -> Iterator[Result]:
    """Yield the results of scikit-learn, its penalty chosen by five folds."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    warnings.filterwarnings("ignore", "The least populated class")  # fewer rows than folds: of wine quality and nursery
    for seed in range(splits):
        train, test = (table.frame.iloc[rows] for rows in table.split(seed))
        x, x_test = encode(train, test)
        model = (DecisionTreeRegressor if table.regression else DecisionTreeClassifier)(random_state=0)
        alphas = np.maximum(0, model.cost_complexity_pruning_path(x, train["y"]).ccp_alphas)
        alphas = np.unique(np.quantile(alphas, 1 - np.geomspace(1 / len(alphas), 1, N_ALPHAS)))
        scoring = "neg_mean_squared_error" if table.regression else "accuracy"
        search = GridSearchCV(model, {"ccp_alpha": alphas}, cv=5, scoring=scoring, refit=False).fit(x, train["y"])
        mean, sd = (search.cv_results_[f"{what}_test_score"] for what in ("mean", "std"))
        best = np.flatnonzero(mean == mean.max())[-1]
        within = np.flatnonzero(mean >= mean[best] - sd[best] / np.sqrt(5))[-1]
        for rule, index in (("min", best), ("1-SE", within)):
            tree = model.set_params(ccp_alpha=alphas[index]).fit(x, train["y"])
            error = error_of(tree.predict(x_test), test["y"], table.regression)
            yield seed, f"sklearn {rule}", error, int(tree.get_n_leaves())


def encode(train: pd.DataFrame, test: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the features with categories as codes of the sorted training levels; -1 for missing and new ones."""
    frames = []
    for frame in (train, test):
        columns: dict[str, Any] = {}
        for name in train.columns.drop("y"):
            is_number = pd.api.types.is_numeric_dtype(train[name])
            levels = None if is_number else pd.Index(sorted(train[name].dropna().unique()))
            columns[name] = frame[name] if levels is None else levels.get_indexer(frame[name])
        frames.append(pd.DataFrame(columns))
    return frames


def by_ydf(table: RealTable, splits: int) -> Iterator[Result]:
    """Yield the results of ydf's CART with its defaults: it prunes by a tenth of the training rows."""
    import ydf

    ydf.verbose(0)
    task = ydf.Task.REGRESSION if table.regression else ydf.Task.CLASSIFICATION
    for seed in range(splits):
        train, test = (table.frame.iloc[rows] for rows in table.split(seed))
        model = ydf.CartLearner(label="y", task=task, num_threads=1).train(train)
        predicted = model.predict(test) if table.regression else model.predict_class(test)
        leaves = (int(model.num_nodes()) + 1) // 2
        yield seed, "ydf", error_of(predicted, test["y"], table.regression), leaves


def by_r(table: RealTable, splits: int, package: str) -> Iterator[Result]:
    """Yield the results of rpart or ctree (trees.R), as many as it finishes in time."""
    frame = table.frame.copy()
    if package == "ctree":
        text = [name for name in frame.columns.drop("y") if not pd.api.types.is_numeric_dtype(frame[name])]
        frame = frame.drop(columns=[name for name in text if frame[name].nunique() > CTREE_LEVELS])
    is_training = np.zeros((len(frame), splits), int)
    for seed in range(splits):
        is_training[table.split(seed)[0], seed] = 1
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/table.csv", f"{folder}/splits.csv"]
        frame.to_csv(paths[0], index=False)
        pd.DataFrame(is_training).to_csv(paths[1], index=False)
        script = str(Path(__file__).with_name("trees.R"))
        call = ["Rscript", "--vanilla", script, *paths, "numbers" if table.regression else "classes", package]
        try:
            output = subprocess.run(call, capture_output=True, text=True, timeout=LIMIT * splits, check=True).stdout
        except subprocess.CalledProcessError as failed:
            output = failed.stdout
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode()
    for line in output.splitlines():
        split, learner, error, leaves = line.split()
        yield int(split) - 1, learner.replace("_", " "), float(error), int(leaves)


def results_of(table: RealTable, splits: int) -> dict[str, list[tuple[float, int]]]:
    """Return error and leaves of each split by learner; learners without a result for every split are left out."""
    runs = [by_treewise(table, splits), by_sklearn(table, splits)]
    if importlib.util.find_spec("ydf"):
        runs.append(by_ydf(table, splits))
    runs += [by_r(table, splits, package) for package in _r_packages()]
    actual: dict[str, list[tuple[float, int]]] = {}
    for run in runs:
        for _, learner, error, leaves in run:
            actual.setdefault(learner, []).append((error, leaves))
    return {name: each for name, each in actual.items() if len(each) == splits}


def _r_packages() -> list[str]:
    try:
        call = ["Rscript", "-e", "library(rpart); library(partykit)"]
        return ["rpart", "ctree"] if subprocess.run(call, capture_output=True, check=False).returncode == 0 else []
    except FileNotFoundError:
        return []


def cells(found: dict[str, list[tuple[float, int]]], heads: list[str]) -> list[str]:
    """Return the mean error of each learner, with its mean number of leaves."""
    means = {name: np.mean(found[name], axis=0) for name in heads if name in found}
    return [f"{means[name][0]:.4g} ({means[name][1]:.0f})" if name in means else "–" for name in heads]


def summaries(tables: list[tuple[RealTable, dict[str, list[tuple[float, int]]]]], heads: list[str]) -> list[str]:
    """Return the lines below the table: means where every learner ran, and what the columns of names cost."""
    common = [name for name in heads if name != "without names"]
    shared = [found for table, found in tables if not table.regression and all(name in found for name in common)]
    lines = []
    if shared:
        accuracy = {name: 1 - np.mean([np.mean(found[name], axis=0)[0] for found in shared]) for name in common}
        means = ", ".join(f"{name} {value:.3f}" for name, value in accuracy.items())
        lines.append(f"\nMean accuracy on the {len(shared)} tables of classes where all ran: {means}.")
    for table, found in tables:
        if table.names:
            with_names, without = (np.array(found[name])[:, 0] for name in ("cv", "without names"))
            cost = with_names - without
            se = np.std(cost, ddof=1) / np.sqrt(len(cost)) if len(cost) > 1 else np.nan
            unit = f"of an RMSE of {without.mean():.4g}" if table.regression else "errors per row"
            lines.append(f"Names cost on {table.name}: {cost.mean():+.4f} ± {se:.4f} {unit}.")
    return lines


def main(words: list[str] | None = None) -> None:
    """Print a Markdown table, a line per table as it is finished, and the summaries."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tree_accuracy")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--tables", default="", metavar="TEXT", help="only those whose name contains it")
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FILE.json",
        help="write error and leaves of every tree; continue a run that stopped",
    )
    arguments = parser.parse_args(words)
    heads = [*OURS, *PEERS]
    print("| table | rows | " + " | ".join(heads) + " |\n|---|--:|" + "---|" * len(heads))
    done, started = [], time.process_time()
    stored = json.loads(arguments.save.read_text()) if arguments.save and arguments.save.exists() else {}
    for table in read_tables(data_folder(arguments.folder), arguments.tables):
        actual = stored.get(table.name) or results_of(table, arguments.splits)
        done.append((table, actual))
        print(f"| {table.name} | {len(table.frame):,} | " + " | ".join(cells(actual, heads)) + " |", flush=True)
        if arguments.save:
            arguments.save.write_text(json.dumps({table.name: actual for table, actual in done}, indent=1))
    print("\n".join(summaries(done, heads)))
    print(
        f"\n{len(done)} tables, {arguments.splits} splits, {(time.process_time() - started) / 60:.0f} minutes without R"
    )


if __name__ == "__main__":
    main()
