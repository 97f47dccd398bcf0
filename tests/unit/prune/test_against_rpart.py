"""rpart's cp table, if installed: cp, splits, errors and cross-validated errors.

Both are given the same folds. The tables of iris, car and mushroom are equal in every cell; on the others some of the
trees grown without a fold break equal gains otherwise (``tests/oracles/test_against_rpart.py``), and held-out errors
are near. Tables where the tree of all rows itself differs (nursery: five classes) are not compared.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.oracles.peers import iris, penguins, real, rpart_is_there, write_table

pytestmark = pytest.mark.skipif(
    not rpart_is_there(), reason="rpart is not installed (Debian: apt install r-base-core r-cran-rpart)"
)

SCRIPT = r"""
suppressPackageStartupMessages(library(rpart))
args <- commandArgs(TRUE)
types <- ifelse(strsplit(args[2], "")[[1]] == "n", "numeric", "factor")
data <- read.csv(args[1], colClasses = types)
folds <- as.integer(readLines(args[3]))
control <- rpart.control(minsplit = as.integer(args[5]), minbucket = as.integer(args[6]), cp = 0, maxcompete = 0,
                         maxsurrogate = 0, usesurrogate = 0, xval = 0, maxdepth = 30)
control$xval <- folds
fit <- if (args[4] == "anova") { rpart(y ~ ., data, method = "anova", control = control)
} else { rpart(y ~ ., data, method = "class", parms = list(split = args[4]), control = control) }
write.table(format(fit$cptable, digits = 17), args[7], quote = FALSE, row.names = FALSE, col.names = FALSE)
"""

EXACT, NEARLY = 1e-9, 0.01  # of held-out errors: those of ten more trees, some of which break equal gains otherwise
CASES = [
    pytest.param(iris, "gini", EXACT, id="iris"),
    pytest.param(penguins, "entropy", NEARLY, id="penguins"),
    pytest.param(lambda: iris("petal width"), "squared_error", NEARLY, id="iris, numbers"),
    pytest.param(lambda: penguins("body_mass_g"), "squared_error", NEARLY, id="penguins, numbers"),
    pytest.param(lambda: real("car"), "gini", EXACT, id="car"),
    pytest.param(lambda: real("mushroom"), "gini", EXACT, id="mushroom"),
    pytest.param(lambda: real("mushroom"), "entropy", EXACT, id="mushroom, entropy"),
]


def rpart_table(sheet, criterion, folds, limits, folder: Path):
    """Return rpart's cp table: CP, nsplit, rel error, xerror, xstd, a row a tree."""
    write_table(sheet, folder / "t.csv")
    (folder / "s.R").write_text(SCRIPT)
    (folder / "folds.txt").write_text("\n".join(map(str, folds + 1)) + "\n")
    types = ["n" if sheet.is_number(c) else "c" for c in sheet.columns]
    types.append("n" if criterion == "squared_error" else "c")
    split = {"entropy": "information", "gini": "gini", "squared_error": "anova"}[criterion]
    arguments = ["t.csv", "".join(types), "folds.txt", split, *map(str, limits), "out.txt"]
    command = ["Rscript", "--vanilla", "s.R", *arguments]
    subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    return np.loadtxt(folder / "out.txt", ndmin=2)


def our_table(sheet, criterion, folds, limits):
    split, leaf = limits
    task = "regression" if criterion == "squared_error" else "classification"
    tree = sheet.grow(
        range(len(sheet)), task=task, criterion=criterion, min_samples_split=split, min_samples_leaf=leaf, max_depth=30
    )
    pruned = tree.prune("cv", data={**sheet.columns, "y": sheet.y}, folds=folds)
    return np.array([[r.cp, r.nsplit, r.rel_error, r.xerror, r.xstd] for r in pruned.cp_table])


@pytest.mark.parametrize(("make", "criterion", "tolerance"), CASES)
@pytest.mark.parametrize("limits", [(20, 7), (8, 3)], ids=["20 and 7", "8 and 3"])
def test_cp_table(make, criterion, tolerance, limits, tmp_path):
    sheet = make()
    folds = np.random.default_rng(0).permutation(len(sheet)) % 10
    theirs, ours = rpart_table(sheet, criterion, folds, limits, tmp_path), our_table(sheet, criterion, folds, limits)
    assert len(theirs) == len(ours) > 1
    np.testing.assert_allclose(ours[:, :3], theirs[:, :3], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours[:, 3:], theirs[:, 3:], rtol=0, atol=tolerance)
