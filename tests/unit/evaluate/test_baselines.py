"""Comparison with baseline models: what is fitted on which rows, and the reported figures."""

import json
import sys

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import treewise as tw
from treewise.errors import DataError, ParameterError
from treewise.evaluate.baselines.compare_models import grow_like, mean_test, sign_test
from treewise.evaluate.baselines.models import NEIGHBOURS, FeatureMatrix, NearestNeighbours, losses_on
from treewise.predict.confidence_intervals import wilson
from treewise.predict.predict import find_leaves
from treewise.train.folds import assign_folds
from treewise.train.grow import grow_training_set, prepare
from treewise.train.resampling import take_rows

MIXED = {
    "age": [20.0, None, 40.0, 60.0, 80.0, 50.0],
    "town": ["Rome", "Bari", None, "Rome", "Bari", "Rome"],
    "old": [False, False, False, True, True, True],
    "y": ["a", "a", "a", "b", "b", "b"],
}


@pytest.fixture(scope="module")
def penguins():
    return prepare("penguins")


def test_every_row_is_held_out_once_and_classes_are_spread(penguins):
    number = assign_folds(penguins, 10, random_state=3)
    assert sorted(np.unique(number)) == list(range(10))
    for cls in range(3):
        of_class = np.bincount(number[penguins.y == cls], minlength=10)
        assert of_class.max() - of_class.min() <= 1
    assert np.array_equal(number, assign_folds(penguins, 10, random_state=3))
    assert not np.array_equal(number, assign_folds(penguins, 10, random_state=4))


def test_a_part_grows_the_tree_of_its_rows(penguins):
    rows = np.arange(0, 344, 2)
    table = tw.datasets.penguins().take(rows)
    assert grow_training_set(take_rows(penguins, rows)).arrays.same_as(tw.grow(table, "species").arrays)


@pytest.mark.parametrize(("folds", "message"), [(1, "2 or more"), (2.5, "whole number"), (None, "whole number")])
def test_invalid_folds_are_refused(folds, message, penguins):
    with pytest.raises(ParameterError, match=message):
        assign_folds(penguins, folds)
    with pytest.raises(DataError, match="too few for 7 folds"):
        assign_folds(prepare(MIXED, "y"), 7)


def test_categories_become_indicators_and_numbers_are_scaled():
    training_set = prepare(MIXED, "y")
    features = FeatureMatrix(training_set)
    matrix = features.encode_rows(training_set)
    assert (features.numbers, features.indicators, matrix.shape) == (1, 6, (6, 7))  # age missing?; 2 towns + missing; 2
    known = np.array([20.0, 40.0, 60.0, 80.0, 50.0])
    assert matrix[0, 0] == pytest.approx((20 - known.mean()) / known.std())
    assert matrix[1, :2].tolist() == [0.0, 1.0]  # missing: the mean, and said so
    assert (matrix[:, 2:5].sum(axis=1) == 1).all()
    assert (matrix[:, 5:].sum(axis=1) == 1).all()
    assert features.encode_rows(take_rows(training_set, np.array([2])))[0, 2:5].sum() == 1


def test_the_tree_of_the_comparison_is_ours(penguins):
    comparison = tw.compare_models("penguins", models="majority", folds=5, random_state=2, max_depth=2)
    training_set = prepare("penguins", max_depth=2)
    number, wrong = assign_folds(training_set, 5, 2), 0
    for fold in range(5):
        tree = grow_training_set(take_rows(training_set, np.flatnonzero(number != fold)))
        held = take_rows(training_set, np.flatnonzero(number == fold))
        wrong += int((tree.arrays.label[find_leaves(tree, held.columns, len(held))] != held.y).sum())
    tree, majority = comparison.scores
    assert comparison.error(tree) == wrong / 344
    n = 344 / (1 + 5 / 4)  # the models of the folds share rows (Nadeau and Bengio 2003)
    assert comparison.interval(tree) == pytest.approx(wilson(wrong / 344 * n, n))
    assert comparison.error(majority) == 192 / 344
    assert majority.about == "always Adelie"
    assert tree.about == "4 leaves"
    assert tree.bytes > majority.bytes > 0


def test_pruned_trees_are_pruned_on_every_fold(penguins):
    comparison = tw.compare_models(
        "penguins", models="majority", folds=4, pruning={"method": "gain", "threshold": 0.05}
    )
    number = assign_folds(penguins, 4, 0)
    for fold in range(4):
        tree = grow_training_set(take_rows(penguins, np.flatnonzero(number != fold))).prune("gain", threshold=0.05)
        held = take_rows(penguins, np.flatnonzero(number == fold))
        wrong = tree.arrays.label[find_leaves(tree, held.columns, len(held))] != held.y
        assert np.array_equal(comparison.scores[0].losses[number == fold], wrong.astype(float))


@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        ({}, []),
        ({"pruning": "cv"}, []),
        ({"pruning": {"method": "cv", "folds": 4, "rule": "best"}}, []),
        ({"pruning": "mdl"}, []),
        ({"ccp_alpha": 0.02}, []),
        ({"pruning": "reduced_error", "validation": 0.3}, ["reduced_error"]),
    ],
)
def test_a_tree_is_made_again_as_its_history_says(penguins, options, left_out):
    tree = tw.grow("penguins", **options)
    grow, message = grow_like(tree)
    assert message == left_out
    assert left_out or grow(penguins) == tree


def test_sizes_are_repeated_and_handwork_is_not(penguins):
    tree = tw.grow("penguins").prune(max_leaf_nodes=5)
    grow, message = grow_like(tree)
    assert (grow(penguins) == tree, message) == (True, [])
    tree = tw.grow("penguins").prune(at=[1]).refit("penguins")
    grow, message = grow_like(tree)
    assert (grow(penguins) == tw.grow("penguins"), message) == (True, ["prune", "refit"])


def test_baselines_are_scikit_learns(penguins):
    actual = {o.name: o for o in tw.compare_models("penguins", folds=4).scores}
    assert list(actual) == ["tree", "knn", "logistic", "majority"]
    assert actual["logistic"].about == "on 10 indicators and 4 numbers"
    number = assign_folds(penguins, 4, 0)
    train, held = take_rows(penguins, np.flatnonzero(number != 1)), take_rows(penguins, np.flatnonzero(number == 1))
    features = FeatureMatrix(train)
    X, Z = features.encode_rows(train), features.encode_rows(held)
    message = LogisticRegression(max_iter=1000).fit(X, train.y).predict(Z)
    assert np.array_equal(actual["logistic"].losses[number == 1], (message != held.y).astype(float))
    neighbours = NearestNeighbours(None, None)
    neighbours.fit(train)
    message = KNeighborsClassifier(int(neighbours.fact)).fit(X, train.y).predict(Z)
    assert np.array_equal(actual["knn"].losses[number == 1], (message != held.y).astype(float))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_k_is_the_one_that_errs_least_on_a_quarter(task, penguins):
    rows = penguins if task == "classification" else prepare("penguins", "body_mass_g", drop_missing_target=True)
    neighbours = NearestNeighbours(None, None)
    neighbours.fit(rows)
    held = assign_folds(rows, 4) == 0
    train, valid = take_rows(rows, np.flatnonzero(~held)), take_rows(rows, np.flatnonzero(held))
    features, kind = FeatureMatrix(train), KNeighborsClassifier if task == "classification" else KNeighborsRegressor
    X, Z, y = features.encode_rows(train), features.encode_rows(valid), rows.y if task == "classification" else rows.raw
    error = {}
    for k in NEIGHBOURS:
        message = kind(k).fit(X, y[~held]).predict(Z)
        error[k] = float(losses_on(valid, message, None).mean())
    assert neighbours.fact == max(k for k in NEIGHBOURS if error[k] <= min(error.values()) + 1e-12)


def test_numbers_are_compared_by_squared_errors():
    rng = np.random.default_rng(0)
    x = rng.random(80)
    data = {"x": x, "y": 3 * x + rng.normal(0, 0.05, 80)}
    comparison = tw.compare_models(data, "y", folds=4, min_samples_leaf=5)
    errors = {o.name: comparison.error(o) for o in comparison.scores}
    assert list(errors) == ["tree", "knn", "linear", "mean"]
    assert errors["linear"] < errors["tree"] < errors["mean"]
    assert "linear does better (test of the mean difference" in str(comparison)


def test_costs_are_what_is_compared():
    rng = np.random.default_rng(0)
    x = rng.random(200)
    data = {"x": x, "y": np.where(rng.random(200) < 0.4 * x, "bad", "good")}
    cost = {"bad": {"good": 5}}
    comparison = tw.compare_models(data, "y", models=["logistic", "majority"], folds=4, cost=cost, min_samples_leaf=20)
    assert comparison.measure == "cost"
    tree, logistic, majority = comparison.scores
    assert majority.about == "always bad"  # about 0.2 · 5 against 0.8
    assert set(np.unique(logistic.losses)) == {0.0, 1.0, 5.0}
    assert comparison.error(tree) == tree.losses.mean()


def test_very_many_classes_have_a_majority():
    y = [f"c{i}" for i in range(1500)] + ["c7"] * 3
    comparison = tw.compare_models({"x": list(range(len(y))), "y": y}, "y", models="majority", folds=2)
    assert comparison.scores[1].about == "always c7"


def test_an_unknown_model_is_refused():
    with pytest.raises(ParameterError, match='unknown model "svm"; for classification: knn, logistic, majority'):
        tw.compare_models("penguins", models="svm")
    with pytest.raises(ParameterError, match='unknown model "logistic"; for regression: knn, linear, mean'):
        tw.compare_models({"x": [1, 2], "y": [0.5, 1.5]}, "y", models=["logistic"])
    with pytest.raises(ParameterError, match="no model is given"):
        tw.compare_models("penguins", models=[])


def test_without_scikit_learn_one_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ParameterError, match="pip install scikit-learn"):
        tw.compare_models("penguins", models="knn")
    assert len(tw.compare_models("penguins", models="majority", folds=2).scores) == 2


def test_progress_is_told_and_ctrl_c_is_answered():
    text = []
    tw.compare_models("penguins", models="majority", folds=3, progress=text.append)
    assert text == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1.0])

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tw.compare_models("penguins", models="majority", folds=3, progress=stop)


@pytest.mark.parametrize(("better", "worse"), [(0, 5), (3, 4), (10, 2), (40, 41), (300, 200)])
def test_the_sign_test_is_scipys(better, worse):
    assert sign_test(better, worse) == pytest.approx(stats.binomtest(better, better + worse).pvalue)


def test_the_test_of_a_mean_is_the_normal_one():
    differences = np.random.default_rng(1).normal(0.1, 1, 400)
    z = differences.mean() / (differences.std() / 20)
    assert mean_test(differences) == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert (mean_test(np.zeros(3)), mean_test(np.ones(3))) == (1.0, 0.0)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_rows_are_judged_by_their_weight(task):
    rng = np.random.default_rng(2)
    x, w = rng.random(60), rng.integers(1, 6, 60)
    y = np.where(rng.random(60) < x, "a", "b") if task == "classification" else x + rng.random(60)
    baseline = "majority" if task == "classification" else "mean"
    comparison = tw.compare_models({"x": x, "y": y, "w": w}, "y", baseline, folds=3, sample_weight="w", max_depth=2)
    assert comparison.effective_n == pytest.approx(w.sum() ** 2 / (w**2).sum())
    for outcome in comparison.scores:
        mean = (outcome.losses * w).sum() / w.sum()
        assert comparison.error(outcome) == pytest.approx(mean if task == "classification" else mean**0.5)
        low, high = comparison.interval(outcome)
        assert low < comparison.error(outcome) < high
    if task == "classification":
        tree = comparison.scores[0]
        assert comparison.interval(tree) == wilson(
            comparison.error(tree) * comparison.interval_n, comparison.interval_n
        )
    assert f"60 rows of weight {w.sum()}, 3 folds" in str(comparison)
    assert "test of the mean difference" in str(comparison)
    same = tw.compare_models(
        {"x": x, "y": y, "w": np.full(60, 3)}, "y", baseline, folds=3, sample_weight="w", max_depth=2
    )
    assert (same.weight, same.effective_n) == (None, 60)


def test_losses_by_hand():
    training_set = prepare(MIXED, "y")
    assert losses_on(training_set, np.array([0, 0, 1, 1, 1, 0]), None).tolist() == [0, 0, 1, 0, 0, 1]


def test_plain_values_go_into_json():
    actual = tw.compare_models("penguins", models="majority", folds=2).to_dict()
    assert [m["model"] for m in json.loads(json.dumps(actual))["models"]] == ["tree", "majority"]
    assert actual["models"][1]["better_rows"] + actual["models"][1]["worse_rows"] <= 344
