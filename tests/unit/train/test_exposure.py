"""Rates of counts: exposure as weight and divisor, in training and wherever a tree is compared with a table."""

import csv
import subprocess

import numpy as np
import pytest
from sklearn.metrics import mean_poisson_deviance
from sklearn.tree import DecisionTreeRegressor

import treewise as tw
from tests.oracles.peers import rpart_is_there
from tests.support.claims import LIMITS, claims
from treewise.cli import main
from treewise.errors import ColumnError, DataError, ParameterError


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_scikit_learn_grows_the_same_tree_on_rates(seed, weighted):
    table = claims(seed)
    weight = np.random.default_rng(seed).integers(1, 4, 600) if weighted else np.ones(600)
    x = np.column_stack([table[name] for name in ("age", "power", "km")])
    model = DecisionTreeRegressor(criterion="poisson", **LIMITS)
    model.fit(x, table["claims"] / table["years"], sample_weight=weight * table["years"])
    tree = tw.grow(table, "claims", exposure="years", sample_weight=weight if weighted else None, **LIMITS)
    assert tree.columns == ("age", "power", "km")
    assert tree.predict(table) == pytest.approx(model.predict(x), rel=1e-9)


def test_a_leaf_predicts_events_per_exposure():
    table = claims()
    tree = tw.grow(table, "claims", exposure="years", **LIMITS)
    leaves = tree.apply(table)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        rate = table["claims"][rows].sum() / table["years"][rows].sum()
        assert tree[int(leaf)].prediction == pytest.approx(rate, rel=1e-12)


def test_a_size_is_chosen_by_the_deviance_and_judged_by_it():
    """Single counts are too noisy for squared errors to show a rate that is six times as high."""
    rng = np.random.default_rng(2)
    age, years = rng.integers(18, 80, 600), rng.uniform(0.1, 1, 600)
    table = {"age": age, "years": years, "claims": rng.poisson(years * np.where(age < 25, 0.6, 0.1))}
    tree = tw.grow(table, "claims", exposure="years", pruning="cv")
    assert [node.split.cut for node in tree if node.split] == [24.5]
    assert tree.fit_info.cross_validated.loss == "poisson_deviance"
    squares = tw.grow(table, "claims", exposure="years", pruning={"method": "cv", "loss": "squared_error"})
    assert squares.n_leaves == 1
    rates, weight = table["claims"] / years, {"sample_weight": years}
    found, root = tree.evaluate(table), tree[0].prediction
    assert found.deviance.value == pytest.approx(mean_poisson_deviance(rates, tree.predict(table), **weight))
    assert found.baseline_deviance == pytest.approx(mean_poisson_deviance(rates, np.full(600, root), **weight))
    assert found.to_dict()["poisson_deviance"] == found.deviance.value < found.baseline_deviance
    assert found.deviance.interval[0] < found.deviance.value < found.deviance.interval[1]
    assert str(found).splitlines()[1].startswith("poisson deviance  0.")
    assert "worse than the baseline" not in str(found)
    relative = found.deviance.value / found.baseline_deviance
    for cp_table in (tree.cp_table, tw.grow(table, "claims", exposure="years").cp_table):
        assert (cp_table.root_error, cp_table[1].rel_error) == pytest.approx((found.baseline_deviance, relative))


def test_a_rate_of_zero_where_there_are_events_has_an_infinite_deviance():
    table = {"x": [0, 0, 1, 1], "y": [1, 2, 5, 6]}
    tree = tw.grow(table, "y", criterion="poisson", task="regression", max_depth=1)
    empty = tree.refit({"x": [0, 0, 1, 1], "y": [0, 0, 5, 6]}).evaluate(table)
    assert empty.deviance.value == np.inf
    assert empty.to_dict()["poisson_deviance"] is None
    assert "worse than the baseline: always predicting 2.75" in str(empty)
    assert tree.evaluate({"x": [0, 1], "y": [-1, 5]}).deviance is None


def test_the_deviance_is_for_trees_grown_by_it():
    table = claims()
    with pytest.raises(ParameterError, match='Grow the tree by criterion="poisson"'):
        tw.grow(table, "claims", task="regression", pruning={"method": "cv", "loss": "poisson_deviance"})


def test_constant_exposure_only_scales():
    table = claims()
    table["years"] = np.full(600, 2.0)
    rates = tw.grow(table, "claims", exposure="years", **LIMITS)
    counts = tw.grow(table, "claims", criterion="poisson", task="regression", ignore=["years"], **LIMITS)
    assert [node.split for node in rates] == [node.split for node in counts]
    assert rates.predict(table) == pytest.approx(counts.predict(table) / 2)


def test_an_array_gives_the_same_tree_as_a_column():
    table = claims()
    years = table.pop("years")
    tree = tw.grow(table, "claims", exposure=years, **LIMITS)
    assert (
        tree.predict(table).tolist() == tw.grow(claims(), "claims", exposure="years", **LIMITS).predict(table).tolist()
    )
    with pytest.raises(DataError, match="given as an array"):
        tree.evaluate(table)


def test_everything_that_reads_the_target_reads_rates(tmp_path):
    table = claims()
    tree = tw.grow(table, "claims", exposure="years", **LIMITS)
    rates, years = table["claims"] / table["years"], table["years"]
    squares = (rates - tree.predict(table)) ** 2
    evaluated = tree.evaluate(table)
    assert evaluated.rmse == pytest.approx(np.sqrt(np.average(squares, weights=years)))
    assert "training range" in str(evaluated)
    assert tree.refit(table).arrays.value.tolist() == tree.arrays.value.tolist()
    assert tree.trace(table)[0].agrees
    tree.save(tmp_path / "rates.json")
    loaded = tw.load(tmp_path / "rates.json")
    assert loaded == tree
    assert str(loaded.evaluate(table)) == str(evaluated)
    assert "a rate per unit of years" in str(tree.summary())
    forest = tw.forest(table, "claims", exposure="years", n_estimators=5)
    assert "training range" in str(forest.evaluate(table))
    other = {name: values for name, values in table.items() if name != "years"}
    with pytest.raises(ColumnError, match='no column "years"'):
        tree.evaluate(other)
    assert len(tree.predict(other)) == 600


def test_pruning_by_cross_validation_uses_rates():
    table = claims()
    tree = tw.grow(table, "claims", exposure="years", min_samples_leaf=20)
    assert tree.prune("cv", data=table) == tw.grow(
        table, "claims", exposure="years", min_samples_leaf=20, pruning="cv"
    ).with_(history=tree.prune("cv", data=table).history, notes=tree.prune("cv", data=table).notes)
    reduced = tree.prune("reduced_error", validation=claims(9))
    assert 1 <= reduced.n_leaves <= tree.n_leaves


@pytest.mark.parametrize(
    ("years", "words"),
    [
        (0.0, r"not above 0 in row 3 \(0\)"),
        (-1.0, "not above 0 in row 3"),
        (np.nan, "missing in row 3"),
        (np.inf, "infinite"),
    ],
)
def test_a_bad_exposure_names_the_row(years, words):
    table = claims()
    table["years"][2] = years
    with pytest.raises(DataError, match=words):
        tw.grow(table, "claims", exposure="years")


def test_other_criteria_and_classes_are_refused():
    with pytest.raises(ParameterError, match="Poisson deviance"):
        tw.grow(claims(), "claims", exposure="years", criterion="squared_error")
    with pytest.raises(ParameterError, match="classes have no rate"):
        tw.grow(claims(), "claims", exposure="years", task="classification")


def write_csv(path, table):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))


def test_on_the_command_line(tmp_path):
    table, model = claims(), tmp_path / "model.json"
    write_csv(tmp_path / "claims.csv", table)
    options = ["--target", "claims", "--exposure", "years", "--max-depth", "1", "-o", str(model)]
    with pytest.raises(SystemExit, match="0"):
        main(["grow", str(tmp_path / "claims.csv"), *options])
    expected = tw.grow(table, "claims", exposure="years", max_depth=1)
    assert tw.load(model).predict(table).tolist() == expected.predict(table).tolist()


SCRIPT = r"""
suppressPackageStartupMessages(library(rpart))
folder <- commandArgs(TRUE)[1]
data <- read.csv(file.path(folder, "claims.csv"))
fit <- rpart(cbind(years, claims) ~ age + power + km, data, method = "poisson", parms = list(shrink = 1e6),
             control = rpart.control(minsplit = 40, minbucket = 20, cp = 0, maxdepth = 3, xval = 0,
                                     maxcompete = 0, maxsurrogate = 0))
write.csv(data.frame(rate = predict(fit)), file.path(folder, "out.csv"), row.names = FALSE)
"""


@pytest.mark.skipif(not rpart_is_there(), reason="rpart is not installed")
@pytest.mark.parametrize("seed", range(3))
def test_rpart_finds_the_same_rates(tmp_path, seed):
    table = claims(seed)
    write_csv(tmp_path / "claims.csv", table)
    (tmp_path / "script.R").write_text(SCRIPT)
    subprocess.run(["Rscript", str(tmp_path / "script.R"), str(tmp_path)], check=True, capture_output=True)
    expected = tw.read(tmp_path / "out.csv").to_polars()["rate"].to_numpy()
    tree = tw.grow(table, "claims", exposure="years", max_depth=3, min_samples_leaf=20, min_samples_split=40)
    assert tree.predict(table) == pytest.approx(expected, rel=1e-5)


CP_TABLE = r"""
suppressPackageStartupMessages(library(rpart))
folder <- commandArgs(TRUE)[1]
data <- read.csv(file.path(folder, "claims.csv"))
control <- rpart.control(minsplit = 40, minbucket = 20, cp = 0, maxcompete = 0, maxsurrogate = 0, xval = 0)
control$xval <- rep_len(1:10, nrow(data))
fit <- rpart(cbind(years, claims) ~ age + power + km, data, method = "poisson", parms = list(shrink = 1e6),
             control = control)
write.csv(fit$cptable, file.path(folder, "out.csv"), row.names = FALSE)
"""


@pytest.mark.skipif(not rpart_is_there(), reason="rpart is not installed")
def test_rpart_has_the_same_cp_table(tmp_path):
    table = claims()
    write_csv(tmp_path / "claims.csv", table)
    (tmp_path / "script.R").write_text(CP_TABLE)
    subprocess.run(["Rscript", str(tmp_path / "script.R"), str(tmp_path)], check=True, capture_output=True)
    theirs = np.array(tw.read(tmp_path / "out.csv").to_polars().rows())
    tree = tw.grow(table, "claims", exposure="years", min_samples_leaf=20, min_samples_split=40)
    pruned = tree.prune("cv", data=table, folds=np.arange(600) % 10)
    ours = np.array([[row.cp, row.nsplit, row.rel_error, row.xerror] for row in pruned.cp_table])
    assert ours[:, :3] == pytest.approx(theirs[:, :3], rel=1e-6)
    # Some trees break equal gains otherwise. xstd is another: rpart's rows weigh the same, ours as their exposure.
    assert ours[:, 3] == pytest.approx(theirs[:, 3], abs=0.01)
    assert np.mean(np.isclose(ours[:, 3], theirs[:, 3], rtol=1e-6)) > 0.6
