"""Compare how columns of many levels fare under each ``selection``: by chance, and on tables.

    python -m benchmarks.many_levels chance [TABLES]      which column is the root when none tells anything
    python -m benchmarks.many_levels FOLDER [SPLITS]      held-out error on the tables of a folder
    python -m benchmarks.many_levels FOLDER SPLITS peers      the same beside other learners
    python -m benchmarks.many_levels FOLDER SPLITS levels     the same for several min_level_rows

The first draws a target that depends on nothing, one binary column, one number and one category of K levels, and counts
the roots. The second cuts each table in 70 % and 30 % and prints the mean error on the latter (rate of errors, or RMSE)
of trees whose size is chosen by cross-validation; scikit-learn's on codes, rpart and ctree (partykit, through Rscript)
stand beside, where they are installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import treewise as tw

TABLES: dict[str, tuple[str, str, list[str]]] = {  # file, target, the columns of names
    "churn": ("churn.csv", "Exited", ["Surname"]),
    "mpg": ("mpg.csv", "mpg", ["name"]),
    "taxis (tip)": ("taxis.csv", "tip", ["pickup_zone", "dropoff_zone"]),
    "flights (late)": ("flights.csv.gz", "late", ["tailnum", "dest"]),
    "adult": ("adult.csv", "income", ["native_country"]),
    "german credit": ("german_credit.csv", "", []),
    "titanic": ("titanic.csv", "alive", []),
    "diamonds": ("diamonds.csv", "price", []),
}
MAX_ROWS = 20_000  # per table, sampled
WAYS: dict[str, dict[str, Any]] = {
    "gain": {"selection": "gain", "min_level_rows": 1},
    "priced, every level": {"selection": "priced", "min_level_rows": 1},
    "priced": {},
}
R_SCRIPT = """
suppressMessages({library(rpart); library(partykit)})
a <- commandArgs(TRUE)
train <- read.csv(a[1], stringsAsFactors = TRUE); test <- read.csv(a[2], stringsAsFactors = TRUE)
classes <- a[3] == "classes"; if (classes) { train$y <- factor(train$y); test$y <- factor(test$y, levels(train$y)) }
for (name in names(train)) if (is.factor(train[[name]]) && name != "y") {
  test[[name]] <- factor(test[[name]], levels(train[[name]])) }
wrong <- function(p) if (classes) mean(is.na(p) | as.character(p) != as.character(test$y)) else
  sqrt(mean((ifelse(is.na(p), mean(train$y), p) - test$y)^2))
fit <- tryCatch({ t <- rpart(y ~ ., train, cp = 0, xval = 10, method = if (classes) "class" else "anova")
  k <- which.min(t$cptable[, "xerror"]); t <- prune(t, cp = t$cptable[k, "CP"])
  wrong(predict(t, test, type = if (classes) "class" else "vector")) }, error = function(e) NA)
inference <- tryCatch({ t <- ctree(y ~ ., train); wrong(predict(t, test)) }, error = function(e) NA)
cat(fit, inference)
"""


# -- by chance --------------------------------------------------------------------------------------------------------


def roots_by_chance(levels: int, rows: int, tables: int, **settings: Any) -> list[float]:
    """Return how often the binary column, the number and the category are the root, of tables without a signal."""
    counts = [0, 0, 0]
    for seed in range(tables):
        rng = np.random.default_rng([seed, levels, rows])
        data = {
            "binary": rng.choice(["a", "b"], rows),
            "number": rng.normal(size=rows),
            "category": np.array([f"c{v}" for v in rng.integers(0, levels, rows)]),
            "y": rng.choice(["n", "p"], rows),
        }
        tree = tw.grow(data, "y", max_depth=1, **settings)
        split = tree[0].split
        if split is not None:
            counts[list(data).index(split.column)] += 1
    return [count / tables for count in counts]


def print_chance(tables: int) -> None:
    """Print the roots by chance for each way and size."""
    ways: dict[str, dict[str, Any]] = {
        "gain": WAYS["gain"],
        "priced": {},
        "priced, gini": {"criterion": "gini"},
        "gain, multiway": {**WAYS["gain"], "categorical": "multiway"},
        "priced, multiway": {"categorical": "multiway"},
    }
    print("| levels | rows | " + " | ".join(ways) + " |\n|---|---|" + "---|" * len(ways))
    for levels in (5, 6, 8, 10, 50):
        for rows in (200, 1000):
            shares = [roots_by_chance(levels, rows, tables, **settings) for settings in ways.values()]
            cells = [" / ".join(f"{share:.2f}" for share in row) for row in shares]
            print(f"| {levels} | {rows:,} | " + " | ".join(cells) + " |", flush=True)


# -- on tables --------------------------------------------------------------------------------------------------------


def read_table(folder: Path, file: str, target: str) -> tuple[pd.DataFrame, bool]:
    """Return a table with its target as column y, at most MAX_ROWS rows, and whether the target is a class."""
    frame = pd.read_csv(folder / file, header=None if file == "german_credit.csv" else "infer")
    frame.columns = frame.columns.astype(str)
    if target == "late":
        frame = frame.dropna(subset=["arr_delay"])
        frame["late"] = np.where(frame["arr_delay"] > 15, "yes", "no")
        frame = frame.drop(columns=["arr_delay", "dep_delay", "air_time"])
    if target == "alive":
        frame = frame.drop(columns=["survived"])
    if target == "tip":
        frame = frame.drop(columns=["total", "pickup", "dropoff"])
    target = target or frame.columns[-1]
    frame = frame.rename(columns={target: "y"})
    frame = frame.sample(min(len(frame), MAX_ROWS), random_state=0).reset_index(drop=True)
    classes = frame["y"].nunique() <= 20
    return (frame.astype({"y": str}) if classes else frame), classes


def error_of(predicted: Any, frame: pd.DataFrame, classes: bool) -> float:
    """Return the rate of errors, or the root mean squared error."""
    predicted, truth = np.asarray(predicted), frame["y"].to_numpy()
    if classes:
        return float(np.mean(predicted.astype(str) != truth.astype(str)))
    return float(np.sqrt(np.mean((predicted.astype(float) - truth) ** 2)))


def treewise_error(train: pd.DataFrame, test: pd.DataFrame, classes: bool, **options: Any) -> tuple[float, tw.Tree]:
    """Return the held-out error of a tree of ours, and the tree."""
    task = "classification" if classes else "regression"
    tree = tw.grow(train, "y", task=task, pruning="cv", **options)
    return error_of(tree.predict(test), test, classes), tree


def sklearn_error(train: pd.DataFrame, test: pd.DataFrame, classes: bool) -> float:
    """Return the held-out error of scikit-learn's tree on ordinal codes, its cost complexity chosen by five folds."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    names = [name for name in train.columns if name != "y"]
    encoded = []
    for frame in (train, test):
        columns = {}
        for name in names:
            if pd.api.types.is_numeric_dtype(train[name]):
                columns[name] = frame[name]
            else:
                columns[name] = pd.Index(sorted(train[name].dropna().unique())).get_indexer(frame[name])
        encoded.append(pd.DataFrame(columns).fillna(-1))
    model = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(random_state=0)
    alphas = model.cost_complexity_pruning_path(encoded[0], train["y"]).ccp_alphas
    grid = np.unique(np.maximum(0, np.quantile(alphas, np.linspace(0, 1, 30))))
    scoring = "accuracy" if classes else "neg_mean_squared_error"
    search = GridSearchCV(model, {"ccp_alpha": grid}, cv=5, scoring=scoring).fit(encoded[0], train["y"])
    return error_of(search.predict(encoded[1]), test, classes)


def r_errors(train: pd.DataFrame, test: pd.DataFrame, classes: bool) -> list[float]:
    """Return the held-out errors of rpart and ctree; NaN where they fail."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{name}" for name in ("train.csv", "test.csv", "errors.R")]
        train.to_csv(paths[0], index=False), test.to_csv(paths[1], index=False)
        Path(paths[2]).write_text(R_SCRIPT)
        call = ["Rscript", paths[2], *paths[:2], "classes" if classes else "numbers"]
        try:
            done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=True)
            return [float(word) if word != "NA" else np.nan for word in done.stdout.split()[-2:]]
        except (subprocess.SubprocessError, FileNotFoundError, ValueError):
            return [np.nan, np.nan]


def print_tables(folder: Path, splits: int, ways: dict[str, dict[str, Any]], peers: bool) -> None:
    """Print the mean held-out error of every way on every table, with the mean number of leaves."""
    heads = [*ways, "gain without the names", *(["scikit-learn", "rpart", "ctree"] if peers else [])]
    print("| table | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
    for name, (file, target, names) in TABLES.items():
        if not (folder / file).exists():
            continue
        frame, classes = read_table(folder, file, target)
        errors: dict[str, list[float]] = {head: [] for head in heads}
        leaves: dict[str, list[int]] = {head: [] for head in heads}
        for seed in range(splits):
            order = np.random.default_rng(seed).permutation(len(frame))
            cut = int(0.7 * len(frame))
            train, test = frame.iloc[order[:cut]], frame.iloc[order[cut:]]
            runs = {**ways, **({"gain without the names": {**WAYS["gain"], "ignore": names}} if names else {})}
            for way, options in runs.items():
                error, tree = treewise_error(train, test, classes, **options)
                errors[way].append(error), leaves[way].append(tree.n_leaves)
            if peers:
                errors["scikit-learn"].append(sklearn_error(train, test, classes))
                few = train.drop(columns=[c for c in names if train[c].nunique() > 1000])
                for way, error in zip(("rpart", "ctree"), r_errors(few, test, classes), strict=True):
                    errors[way].append(error)
        cells = [
            (f"{np.mean(errors[h]):.4g}" if errors[h] else "–") + (f" ({np.mean(leaves[h]):.0f})" if leaves[h] else "")
            for h in heads
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main(arguments: list[str]) -> None:
    """Run what the command line names."""
    if not arguments:
        sys.exit(__doc__)
    number = int(arguments[1]) if len(arguments) > 1 else 0
    if arguments[0] == "chance":
        print_chance(number or 300)
    elif arguments[2:] == ["levels"]:
        ways = {f"min_level_rows={m}": {"min_level_rows": m} for m in (1, 2, 3, 5, 10, 20)}
        print_tables(Path(arguments[0]), number or 10, ways, peers=False)
    else:
        print_tables(Path(arguments[0]), number or 10, WAYS, peers=arguments[2:] == ["peers"])


if __name__ == "__main__":
    main(sys.argv[1:])
