"""rpart's priors and losses, if installed: the same splits, probabilities and predictions on every row.

Columns are real numbers and nodes are large, so that no two splits are equally good and rows can be compared.
"""

import csv
import subprocess

import numpy as np
import pytest

import treewise as tw
from tests.oracles.peers import rpart_is_there

pytestmark = pytest.mark.skipif(not rpart_is_there(), reason="rpart is not installed")

SCRIPT = r"""
suppressPackageStartupMessages(library(rpart))
folder <- commandArgs(TRUE)[1]
jobs <- read.csv(file.path(folder, "jobs.csv"), colClasses = "character")
for (j in seq_len(nrow(jobs))) {
  data <- read.csv(file.path(folder, paste0(j, ".csv")), stringsAsFactors = TRUE)
  numbers <- as.numeric(strsplit(jobs$numbers[j], " ")[[1]])
  parms <- if (jobs$what[j] == "prior") list(prior = numbers) else list(loss = matrix(numbers, nrow = 2, byrow = TRUE))
  parms$split <- jobs$split[j]
  fit <- rpart(y ~ ., data, method = "class", parms = parms,
               control = rpart.control(minsplit = 30, minbucket = 15, cp = -1, maxdepth = 2, xval = 0,
                                       maxcompete = 0, maxsurrogate = 0))
  said <- data.frame(predict(fit, type = "prob"), answer = predict(fit, type = "class"))
  write.csv(said, file.path(folder, paste0(j, ".out.csv")), row.names = FALSE)
}
"""
LIMITS = {"min_samples_split": 30, "min_samples_leaf": 15, "max_depth": 2}
SPLITS = {"gini": "gini", "entropy": "information"}


def drawn(seed, classes):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 3))
    score = x[:, 0] + x[:, 1] * (x[:, 2] > 0) + rng.normal(size=300)
    return {**{f"x{i}": x[:, i] for i in range(3)}, "y": np.array(list(classes))[np.digitize(score, [0.2, 1.2])]}


def asked(folder, jobs):
    """Let R answer all jobs: (what, numbers, criterion, table)."""
    folder.joinpath("script.R").write_text(SCRIPT)
    with folder.joinpath("jobs.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["what", "numbers", "split"])
        for j, (what, numbers, criterion, data) in enumerate(jobs, start=1):
            lines.writerow([what, " ".join(map(repr, numbers)), SPLITS[criterion]])
            with folder.joinpath(f"{j}.csv").open("w", newline="") as table:
                writer = csv.writer(table)
                writer.writerow(data)
                writer.writerows(zip(*(map(str, column) for column in data.values()), strict=True))
    subprocess.run(["Rscript", str(folder / "script.R"), str(folder)], check=True, capture_output=True)
    return [tw.read(folder / f"{j}.out.csv").to_polars() for j in range(1, len(jobs) + 1)]


def test_priors_are_rparts(tmp_path):
    shares = ([0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.25, 0.5, 0.25])
    jobs = [
        ("prior", shares[seed % 3], criterion, drawn(seed, "abc"))
        for seed in range(6)
        for criterion in ("gini", "entropy")
    ]
    for (_, prior, criterion, data), message in zip(jobs, asked(tmp_path, jobs), strict=True):
        tree = tw.grow(data, "y", priors=prior, criterion=criterion, **LIMITS)
        assert tree.predict_proba(data) == pytest.approx(message.select("a", "b", "c").to_numpy(), abs=1e-9)
        assert tree.predict(data).tolist() == message["answer"].to_list()


def test_losses_of_two_classes_are_priors_in_proportion_to_share_and_cost(tmp_path):
    """What docs/semantics.md says of rpart's way: altered priors."""
    prices = ([0.0, 1.0, 5.0, 0.0], [0.0, 3.0, 1.0, 0.0])
    jobs = [("loss", prices[seed % 2], "gini", drawn(seed, "abb")) for seed in range(6)]
    for (_, cost, _, data), message in zip(jobs, asked(tmp_path, jobs), strict=True):
        share = np.array([np.mean(data["y"] == label) for label in "ab"]) * [cost[1], cost[2]]
        tree = tw.grow(data, "y", priors=share / share.sum(), criterion="gini", **LIMITS)
        assert tree.predict(data).tolist() == message["answer"].to_list()
