"""rpart (CART in R) as an oracle, if installed: the same splits, node by node.

rpart is told to grow as we do: ``cp = -1`` (no cost-complexity stop), no surrogates, no cross-validation, our limits.
What then still differs is one of five things, and each is checked where it occurs:

- *equal gains*: rpart takes what its floating-point sums happen to prefer, we the first column and smallest threshold.
  Both splits must gain the same.
- *zero gain*: rpart makes no split that gains nothing, so it does not solve XOR; we go on. Our split must gain 0.
- *equal targets*: rpart's sums of doubles leave a variance near 1e-34 where all targets are equal, and it splits there;
  for us such a node is pure. Its split must gain 0.
- *equal rates*: two levels of the same rate may stand in either order when subsets are tried, which matters only where
  ``min_samples_leaf`` forbids the best of them (``docs/semantics.md``: the search of subsets is a heuristic then).
- *thresholds* are midpoints in both; ours are rounded to 15 significant digits.

``python -m tests.oracles.test_against_rpart`` prints how often each occurs.
"""

from __future__ import annotations

import csv
import math
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.oracles.peers import (
    Peer,
    PeerTable,
    Rows,
    gain,
    in_codes,
    iris,
    nearly,
    penguins,
    random_peer_table,
    real,
    rpart_is_there,
    side_by_side,
    textbook,
    write_table,
)

TABLES = 300 if os.environ.get("TREEWISE_LONG") else 40

SCRIPT = r"""
suppressPackageStartupMessages(library(rpart))
folder <- commandArgs(TRUE)[1]
jobs <- read.csv(file.path(folder, "jobs.csv"), colClasses = "character")
out <- file(file.path(folder, "trees.tsv"), "w")
for (j in seq_len(nrow(jobs))) {
  job <- jobs[j, ]
  types <- ifelse(strsplit(job$types, "")[[1]] == "n", "numeric", "factor")
  data <- read.csv(file.path(folder, job$file), colClasses = types)
  control <- rpart.control(minsplit = as.integer(job$minsplit), minbucket = as.integer(job$minbucket), cp = -1,
                           maxcompete = 0, maxsurrogate = 0, usesurrogate = 0, xval = 0, maxdepth = 30)
  fit <- if (job$split == "anova") rpart(y ~ ., data, method = "anova", control = control)
         else rpart(y ~ ., data, method = "class", parms = list(split = job$split), control = control)
  number <- as.integer(row.names(fit$frame))
  s <- 0
  for (i in seq_along(number)) {
    column <- as.character(fit$frame$var[i])
    said <- c("", "", "")
    if (column != "<leaf>") {
      s <- s + 1
      ncat <- fit$splits[s, "ncat"]
      index <- fit$splits[s, "index"]
      if (ncat < 2) {
        said <- c(sprintf("%.17g", index), ifelse(ncat < 0, "low", "high"), "")
      } else {
        levels <- attr(fit, "xlevels")[[column]]
        side <- fit$csplit[index, seq_along(levels)]
        said <- c("", paste(levels[side == 1], collapse = " "), paste(levels[side == 3], collapse = " "))
      }
    }
    writeLines(paste(c(j, number[i], column, said), collapse = "\t"), out)
  }
}
close(out)
"""


@dataclass(frozen=True)
class Job:
    """A table and how both are to grow."""

    sheet: PeerTable
    criterion: str
    min_samples_split: int = 2
    min_samples_leaf: int = 1

    @property
    def split(self) -> str:
        """The criterion as rpart calls it."""
        return {"entropy": "information", "gini": "gini", "squared_error": "anova"}[self.criterion]


pytestmark = pytest.mark.skipif(
    not rpart_is_there(), reason="rpart is not installed (Debian: apt install r-base-core r-cran-rpart)"
)


def rpart(jobs: list[Job]) -> list[Peer]:
    """Grow all trees in one run of R."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "script.R").write_text(SCRIPT)
        with (folder / "jobs.csv").open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["file", "types", "split", "minsplit", "minbucket"])
            for j, job in enumerate(jobs):
                write_table(job.sheet, folder / f"{j}.csv")
                types = ["n" if job.sheet.is_number(c) else "c" for c in job.sheet.columns]
                types.append("n" if job.split == "anova" else "c")
                lines.writerow([f"{j}.csv", "".join(types), job.split, job.min_samples_split, job.min_samples_leaf])
        command = ["Rscript", "--vanilla", str(folder / "script.R"), str(folder)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        actual: list[dict[int, list[str]]] = [{} for _ in jobs]
        for line in (folder / "trees.tsv").read_text().splitlines():
            which, number, *message = line.split("\t")
            actual[int(which) - 1][int(number)] = message
    return [as_peer(nodes) for nodes in actual]


def as_peer(nodes: dict[int, list[str]]) -> Peer:
    """Link the nodes: the children of node i are 2i and 2i + 1."""
    made: dict[int, Peer] = {}
    for number in sorted(nodes, reverse=True):
        column, cut, left, right = nodes[number]
        if column == "<leaf>":
            made[number] = Peer()
            continue
        children = [made[2 * number], made[2 * number + 1]]
        if not cut:
            made[number] = Peer(column, levels=[tuple(left.split()), tuple(right.split())], children=children)
        else:
            made[number] = Peer(column, float(cut), children=children if left == "low" else children[::-1])
    return made[1]


def compare(job: Job, peer: Peer) -> Counter[str]:
    """Count the nodes by how the two agree; any other difference fails."""

    def grow(rows: Any) -> Any:
        limits = {"min_samples_split": job.min_samples_split, "min_samples_leaf": job.min_samples_leaf}
        task = "regression" if job.split == "anova" else "classification"
        return job.sheet.grow(rows, task=task, criterion=job.criterion, max_depth=30, **limits)

    actual: Counter[str] = Counter()
    for place in side_by_side(job.sheet, peer, grow):
        mine = gain(job.sheet, job.criterion, place.rows, place.ours) if place.ours else 0.0
        theirs = gain(job.sheet, job.criterion, place.rows, place.theirs) if place.theirs else 0.0
        if place.same:
            actual["same split" if place.ours else "same leaf"] += 1
        elif place.ours and place.theirs and nearly(mine, theirs):
            actual["equal gains"] += 1
        elif not place.theirs and nearly(mine, 0.0):
            actual["zero gain"] += 1
        elif not place.ours and len({job.sheet.y[r] for r in place.rows}) == 1:
            actual["equal targets"] += 1
        elif job.min_samples_leaf > 1 and any(equal_rates(job.sheet, place.rows, c) for c in place.columns):
            actual["equal rates"] += 1
        else:
            pytest.fail(f"{job}: {len(place.rows)} rows, we gain {mine}, rpart {theirs}")
    return actual


def equal_rates(sheet: PeerTable, rows: Rows, column: str) -> bool:
    """Tell whether two levels of a column have the same share of the second class, or the same mean, at a node."""
    if sheet.is_number(column) or (len(sheet.classes()) > 2 and isinstance(sheet.y[0], str)):
        return False
    last = sheet.classes()[-1]
    targets: dict[str, list[Fraction]] = {}
    for r in rows:
        y = sheet.y[r]
        targets.setdefault(sheet.columns[column][r], []).append(Fraction(y == last if isinstance(y, str) else y))
    rates = [sum(ys) / len(ys) for ys in targets.values()]
    return len(set(rates)) < len(rates)


def compare_all(jobs: list[Job]) -> Counter[str]:
    return sum((compare(job, peer) for job, peer in zip(jobs, rpart(jobs), strict=True)), Counter())


# -- the comparisons --------------------------------------------------------------------------------------------------


def classification(sheet: PeerTable) -> list[Job]:
    limits = [(2, 1), (2, 5), (20, 7)]
    return [Job(sheet, criterion, *limit) for criterion in ("entropy", "gini") for limit in limits]


def regression(sheet: PeerTable) -> list[Job]:
    return [Job(sheet, "squared_error", *limit) for limit in ((2, 1), (2, 5), (20, 7))]


def random_tables(first: int, regress: bool) -> list[Job]:
    jobs = []
    for seed in range(first, first + TABLES):
        criterion = "squared_error" if regress else ("entropy", "gini")[seed % 2]
        jobs.append(Job(random_peer_table(seed, regression=regress), criterion, 2 + seed % 5, 1 + seed % 3))
    return jobs


def test_iris_and_penguins() -> None:
    comparisons = compare_all([*classification(iris()), *classification(penguins())])
    assert comparisons["same split"] > 10 * comparisons["equal gains"]


def test_numbers_to_predict() -> None:
    jobs = [*regression(iris("petal width")), *regression(penguins("body_mass_g"))]
    comparisons = compare_all(jobs)
    assert comparisons["same split"] > 4 * comparisons["equal gains"]


def test_tables_of_the_notes() -> None:
    assert compare_all(classification(textbook("admissions", "Class")))["same split"] > 0


@pytest.mark.parametrize("regress", [False, True], ids=["classes", "numbers"])
def test_random_tables(regress: bool) -> None:
    assert compare_all(random_tables(0, regress))["same split"] > TABLES


@pytest.mark.parametrize("name", ["mushroom", "nursery", "car"])
def test_real_tables(name: str) -> None:
    comparisons = compare_all(classification(real(name)))
    assert comparisons["same split"] > comparisons["equal gains"]


def test_rpart_does_not_solve_xor_and_we_do() -> None:
    sheet = in_codes("xor", [[0, 0, 1, 1] * 2, [0, 1, 0, 1] * 2], ["n", "p", "p", "n"] * 2)
    job = Job(sheet, "gini")
    assert rpart([job])[0].column is None
    assert compare(job, Peer()) == {"zero gain": 1}
    assert sheet.grow(range(8)).n_leaves == 4


def test_a_threshold_is_the_same_number_up_to_15_digits() -> None:
    job = Job(iris(), "entropy")
    peer, tree = rpart([job])[0], job.sheet.grow(range(150))
    assert peer.column == tree[0].split.column == "x3"
    assert math.isclose(peer.cut, tree[0].split.cut, rel_tol=1e-14)


def main() -> None:
    """Print the agreement, table by table."""
    sheets = [iris(), penguins(), textbook("admissions", "Class"), *map(real, ("mushroom", "nursery", "car"))]
    kinds = ["same split", "same leaf", "equal gains", "zero gain", "equal targets", "equal rates"]
    print(f"{'':24}", *(f"{kind:>13}" for kind in kinds))
    blocks = [(sheet.name, classification(sheet)) for sheet in sheets]
    blocks += [(sheet.name, regression(sheet)) for sheet in (iris("petal width"), penguins("body_mass_g"))]
    blocks += [(f"{TABLES} drawn, {what}", random_tables(0, what == "numbers")) for what in ("classes", "numbers")]
    for name, jobs in blocks:
        comparisons = compare_all(jobs)
        print(f"{name:24}", *(f"{comparisons[kind]:13,}" for kind in kinds))


if __name__ == "__main__":
    main()
