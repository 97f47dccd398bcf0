"""partykit's ctree (conditional inference trees in R) as an oracle, if installed: the same tests, columns and leaves.

At every node of ctree's tree, on the rows of that node: the statistic of every column and the smallest adjusted p-value
agree to 1e-6, both take the same column, and both split or both stop. ctree is told to try every column
(``splittry``) and to have no minimum share of the weight (``minprob``), and we get its ``minsplit`` and ``minbucket``.

*Where a column is cut* is chosen differently: ctree maximises the standardised statistic of a two-sample test, we the
gain of the criterion. For two classes the statistic is proportional to the gain of the Gini index, for numbers to that
of the squared error, so with these criteria the trees are the same from the root to the leaves; for more classes only
the columns are. Other differences, and how each is dealt with:

- *subsets under a limit*: ctree tries every set of levels, we a prefix of the levels ordered by rate, which is the best
  set unless ``min_samples_leaf`` forbids it (``docs/semantics.md``).
- *thresholds*: ctree cuts at the largest value of the left side, we at the midpoint; compared by the rows they divide.
- *equal statistics*: two cuts, or two columns, may be equally good. Both must then gain the same, or have the same
  p-value.
- *p-values below 1e-16*: ctree stores ln(1 − p), which is 0 then, and ranks the columns by their statistics; we compare
  logarithms of p. Only the statistics are compared there.
- *levels without rows*: ctree is given the levels that occur in the table, as we are.

``python -m tests.oracles.test_against_ctree`` prints how often each occurs.
"""

from __future__ import annotations

import csv
import math
import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from tests.oracles.peers import (
    PeerTable,
    Rows,
    as_set,
    divide,
    gain,
    in_codes,
    iris,
    nearly,
    penguins,
    random_peer_table,
    real,
    textbook,
    write_table,
)
from treewise.train.grow import prepare
from treewise.train.independence import NodeTests, compute_test

TABLES = 200 if os.environ.get("TREEWISE_LONG") else 30
TOLERANCE = 1e-6

SCRIPT = r"""
suppressPackageStartupMessages(library(partykit))
folder <- commandArgs(TRUE)[1]
jobs <- read.csv(file.path(folder, "jobs.csv"), colClasses = "character")
out <- file(file.path(folder, "nodes.tsv"), "w")
numbers <- function(x) paste(sprintf("%.17g", x), collapse = " ")
for (j in seq_len(nrow(jobs))) {
  job <- jobs[j, ]
  types <- ifelse(strsplit(job$types, "")[[1]] == "n", "numeric", "factor")
  data <- read.csv(file.path(folder, job$file), colClasses = types, na.strings = "")
  control <- ctree_control(alpha = as.numeric(job$alpha), minsplit = as.integer(job$minsplit),
                           minbucket = as.integer(job$minbucket), minprob = 0, splittry = 1000L)
  fit <- ctree(y ~ ., data, control = control)
  leaf <- fitted(fit)[["(fitted)"]]
  for (i in nodeids(fit)) {
    node <- nodeapply(fit, i)[[1]]
    criterion <- info_node(node)$criterion
    rows <- which(leaf %in% nodeids(fit, from = i, terminal = TRUE)) - 1
    kids <- if (is.terminal(node)) c() else sapply(kids_node(node), id_node)
    asked <- if (is.terminal(node)) "" else names(data_party(fit))[split_node(node)$varid]
    writeLines(paste(c(j, i, asked, paste(kids, collapse = " "), paste(rows, collapse = " "),
                       paste(colnames(criterion), collapse = " "),
                       if (is.null(criterion)) "" else numbers(criterion["statistic", ]),
                       if (is.null(criterion)) "" else numbers(criterion["p.value", ])), collapse = "\t"), out)
  }
}
close(out)
"""


def partykit_is_there() -> bool:
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(partykit)"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(
    not partykit_is_there(), reason="partykit is not installed (Debian: apt install r-base-core r-cran-partykit)"
)


@dataclass(frozen=True)
class Job:
    """A table and how both are to grow."""

    sheet: PeerTable
    min_samples_split: int = 20
    min_samples_leaf: int = 7
    alpha: float = 0.05

    @property
    def is_regression(self) -> bool:
        return not isinstance(self.sheet.y[0], str)

    @property
    def criterion(self) -> str:
        """The criterion whose gain ctree's statistic of a cut is proportional to, for two classes or numbers."""
        return "squared_error" if self.is_regression else "gini"

    @property
    def options(self) -> dict[str, Any]:
        task = "regression" if self.is_regression else "classification"
        limits = {"min_samples_split": self.min_samples_split, "min_samples_leaf": self.min_samples_leaf}
        limits["min_level_rows"] = 1  # ctree pools no levels
        return {"task": task, "criterion": self.criterion, "selection": "test", "alpha": self.alpha, **limits}


@dataclass(frozen=True)
class Node:
    """A node of ctree's tree."""

    column: str  # "" at a leaf
    kids: list[int]
    rows: Rows
    statistics: dict[str, float]  # of the columns that were tested; empty where nothing was
    p_values: dict[str, float]  # adjusted


def ctree(jobs: list[Job]) -> list[dict[int, Node]]:
    """Grow all trees in one run of R; their nodes by number, the root is 1."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script.R").write_text(SCRIPT)
        with (folder / "jobs.csv").open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["file", "types", "minsplit", "minbucket", "alpha"])
            for j, job in enumerate(jobs):
                write_table(job.sheet, folder / f"{j}.csv")
                types = ["n" if job.sheet.is_number(c) else "c" for c in job.sheet.columns]
                types.append("n" if job.is_regression else "c")
                lines.writerow([f"{j}.csv", "".join(types), job.min_samples_split, job.min_samples_leaf, job.alpha])
        command = ["Rscript", "--vanilla", str(folder / "script.R"), str(folder)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        actual: list[dict[int, Node]] = [{} for _ in jobs]
        for line in (folder / "nodes.tsv").read_text().splitlines():
            which, number, column, kids, rows, names, statistics, p_values = line.split("\t")
            tested = [
                dict(zip(names.split(), map(float, cells.split()), strict=True)) for cells in (statistics, p_values)
            ]
            known = [{name: value for name, value in cells.items() if not math.isnan(value)} for cells in tested]
            actual[int(which) - 1][int(number)] = Node(
                column, [int(kid) for kid in kids.split()], np.array(rows.split(), np.int64), *known
            )
    return actual


# -- one table --------------------------------------------------------------------------------------------------------


def our_tests(job: Job, rows: Rows) -> tuple[dict[str, float], NodeTests, list[str]]:
    """Return our statistics by column, and the tests of a node with these rows."""
    sheet = job.sheet
    data = {name: [cells[r] for r in rows] for name, cells in sheet.columns.items()}
    kinds = {name: set(sheet.levels(name)) for name in sheet.columns if not sheet.is_number(name)}
    training_set = prepare({**data, "y": [sheet.y[r] for r in rows]}, "y", kinds=kinds, **job.options)
    tests = NodeTests([compute_test(training_set, i, np.arange(len(rows))) for i in range(len(sheet.columns))])
    names = list(sheet.columns)
    return {names[t.column]: t.statistic for t in tests.tested}, tests, names


def compare(job: Job, nodes: dict[int, Node]) -> Counter[str]:
    """Count the nodes by how the two agree; any other difference fails."""
    actual: Counter[str] = Counter()
    for number, node in nodes.items():
        where = f"{job}, node {number} ({len(node.rows)} rows)"
        if len({job.sheet.y[r] for r in node.rows}) == 1 or len(node.rows) < job.min_samples_split:
            assert not node.column, where
            actual["not tested"] += 1
            continue
        statistics, tests, names = our_tests(job, node.rows)
        assert statistics.keys() == node.statistics.keys(), where
        for name, statistic in statistics.items():
            assert statistic == pytest.approx(node.statistics[name], rel=TOLERANCE, abs=1e-8), f"{where}, {name}"
        if not statistics:
            assert not node.column, where
            actual["nothing varies"] += 1
            continue
        smallest = min(node.p_values.values())
        assert tests.p_value == pytest.approx(smallest, rel=TOLERANCE, abs=1e-14), where
        actual["same p-value"] += 1
        actual.update(compare_splits(job, node, nodes, tests, names, where))
    return actual


def compare_splits(
    job: Job, node: Node, nodes: dict[int, Node], tests: NodeTests, names: list[str], where: str
) -> Counter[str]:
    """Compare what is done with the node: nothing, or a split on a column."""
    tree = job.sheet.grow(node.rows, max_depth=1, **job.options)
    split = tree.split_at(0)
    assert (split is None) == (not node.column), where
    if split is None:
        return Counter({"same leaf": 1})
    actual: Counter[str] = Counter()
    if split.column != node.column:
        p_value = {names[t.column]: tests.adjusted(t) for t in tests.tested}
        assert p_value[split.column] == pytest.approx(p_value[node.column], rel=1e-9, abs=1e-15), where
        return Counter({"equal p-values": 1})
    actual["same column"] += 1
    ours = [node.rows[part] for part, _ in divide(_at(job.sheet, node.rows), np.arange(len(node.rows)), tree, 0)]
    theirs = [nodes[kid].rows for kid in node.kids]
    if as_set(ours) == as_set(theirs):
        actual["same split"] += 1
        return actual
    mine, other = (gain(job.sheet, job.criterion, node.rows, parts) for parts in (ours, theirs))
    if nearly(mine, other):
        actual["equal gains"] += 1
    else:
        of_levels = not job.sheet.is_number(split.column) and job.min_samples_leaf > 1
        many_classes = not job.is_regression and len(job.sheet.classes()) > 2
        assert of_levels or (many_classes and mine > other), f"{where}: we gain {mine}, ctree {other}"
        actual["another cut"] += 1
    return actual


def _at(sheet: PeerTable, rows: Rows) -> PeerTable:
    columns = {name: [cells[r] for r in rows] for name, cells in sheet.columns.items()}
    return PeerTable(sheet.name, columns, [sheet.y[r] for r in rows])


def compare_all(jobs: list[Job]) -> Counter[str]:
    return sum((compare(job, nodes) for job, nodes in zip(jobs, ctree(jobs), strict=True)), Counter())


# -- the tables -------------------------------------------------------------------------------------------------------


def two_classes(sheet: PeerTable) -> PeerTable:
    """Tell the most frequent class from the others."""
    most = Counter(sheet.y).most_common(1)[0][0]
    return PeerTable(f"{sheet.name}, {most} or not", sheet.columns, ["c01" if y == most else "c00" for y in sheet.y])


def weather(seed: int = 0, n: int = 400, regress: bool = False) -> PeerTable:
    """Draw a table with a strong number, a weak category of 12 levels, and noise of every kind."""
    rng = np.random.default_rng(seed)
    strong, weak, noise = rng.normal(size=n), rng.integers(0, 12, n), rng.normal(size=n)
    signal = strong + 0.25 * (weak % 3) + rng.normal(0, 1, n)
    levels = [f"{v:02}" for v in weak]
    dust = [f"{v:02}" for v in rng.integers(0, 30, n)]
    columns = [strong.round(2).tolist(), levels, noise.tolist(), dust]
    y = signal.round(3).tolist() if regress else [str(int(s > 0)) for s in signal]
    return in_codes(f"drawn {n} x 4{', numbers' if regress else ''}", columns, y)


def jobs_of(sheet: PeerTable) -> list[Job]:
    return [Job(sheet), Job(sheet, 2, 1), Job(sheet, 20, 7, 0.5)]


def random_tables(regress: bool) -> list[Job]:
    return [
        Job(random_peer_table(seed, regression=regress), 5 + seed % 10, 1 + seed % 4, (0.05, 0.3, 0.9)[seed % 3])
        for seed in range(TABLES)
    ]


@pytest.mark.parametrize("regress", [False, True], ids=["classes", "numbers"])
def test_random_tables(regress: bool) -> None:
    comparisons = compare_all(random_tables(regress))
    assert comparisons["same column"] > TABLES / 2
    assert comparisons["same split"] > 5 * comparisons["equal gains"]


def test_built_in_tables() -> None:
    sheets = [iris(), penguins(), iris("petal width"), penguins("body_mass_g"), textbook("admissions", "Class")]
    comparisons = compare_all([job for sheet in sheets for job in jobs_of(sheet)])
    assert comparisons["same column"] > 30
    assert not comparisons["equal p-values"]


@pytest.mark.parametrize(
    "sheet", [two_classes(penguins()), two_classes(iris()), weather(), weather(1, 300, True)], ids=repr
)
def test_two_classes_and_numbers_give_the_same_tree(sheet: PeerTable) -> None:
    """Where ctree's statistic of a cut is proportional to our gain, every split is the same."""
    comparisons = compare_all(jobs_of(sheet))
    assert comparisons["same split"] >= 3
    assert comparisons["another cut"] == 0
    assert comparisons["same split"] + comparisons["equal gains"] == comparisons["same column"]


@pytest.mark.parametrize("regress", [False, True], ids=["classes", "numbers"])
def test_rows_without_a_value_are_left_out_of_the_test_of_that_column_alone(regress: bool) -> None:
    sheet, rng = weather(2, 200, regress), np.random.default_rng(3)
    holes = rng.random((len(sheet.columns), len(sheet))) < 0.2
    holes[:, 0] = False
    columns = {
        name: [None if gone else cell for cell, gone in zip(cells, holes[i], strict=True)]
        for i, (name, cells) in enumerate(sheet.columns.items())
    }
    job = Job(PeerTable("with holes", columns, sheet.y), min_samples_split=1000)
    root = ctree([Job(job.sheet)])[0][1]
    training_set = prepare({**columns, "y": sheet.y}, "y", **job.options)
    tests = NodeTests([compute_test(training_set, i, np.arange(len(sheet))) for i in range(len(columns))])
    assert tests.p_value == pytest.approx(min(root.p_values.values()), rel=TOLERANCE)
    for name, test in zip(columns, tests.tests, strict=True):
        assert test.statistic == pytest.approx(root.statistics[name], rel=TOLERANCE)


@pytest.mark.parametrize("name", ["mushroom", "nursery", "car"])
def test_real_tables(name: str) -> None:
    sheet = real(name)
    comparisons = compare_all([Job(sheet)])
    assert comparisons["same column"] > 3


def main() -> None:
    """Print the agreement, table by table."""
    sheets = [iris(), penguins(), textbook("admissions", "Class"), iris("petal width"), penguins("body_mass_g")]
    sheets += [two_classes(iris()), two_classes(penguins()), weather(), weather(1, 300, True)]
    kinds = ["same p-value", "same leaf", "same column", "equal p-values", "same split", "equal gains", "another cut"]
    print(f"{'':24}", *(f"{kind:>14}" for kind in kinds))
    blocks = [(sheet.name, jobs_of(sheet)) for sheet in sheets]
    blocks += [(f"{TABLES} drawn, {what}", random_tables(what == "numbers")) for what in ("classes", "numbers")]
    if "TREEWISE_DATA" in os.environ:
        blocks += [(name, [Job(real(name))]) for name in ("mushroom", "nursery", "car")]
    for name, jobs in blocks:
        comparisons = compare_all(jobs)
        print(f"{name:24}", *(f"{comparisons[kind]:14,}" for kind in kinds))


if __name__ == "__main__":
    main()
