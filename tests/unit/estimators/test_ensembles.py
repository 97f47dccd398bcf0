"""Ensemble estimators: scikit-learn's checks and tools, and the ensembles behind them."""

import copy
import inspect
import io
import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import sklearn.ensemble
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import treewise as tw
from tests.support.ensemble_estimators import (
    ALL,
    CLASSIFIERS,
    GROW_FUNCTIONS,
    SAMPLING_ESTIMATORS,
    X,
    Y,
    fitted,
    target_for,
)
from tests.support.ensembles import ensemble_of
from treewise import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    ForestClassifier,
    ForestRegressor,
    TreeClassifier,
    TreeRegressor,
)
from treewise.ensemble import predict as voting
from treewise.errors import DataError, ParameterError, TreewiseError

REGRESSORS = [kind for kind in ALL if kind.__name__.endswith("Regressor")]


# -- scikit-learn's own checks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_every_check_passes(kind):
    results = check_estimator(kind(n_estimators=5), on_skip=None)
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input"}
    assert len(results) >= 58


def test_every_check_passes_with_array_api_too():
    code = """
import treewise as tw
from sklearn.utils.estimator_checks import check_estimator
for kind in (tw.ForestClassifier, tw.ForestRegressor, tw.AdaBoostClassifier):
    results = check_estimator(kind(n_estimators=3), on_skip="warn")
    assert {r["status"] for r in results} == {"passed"}
    print(len(results))
"""
    run = [sys.executable, "-W", "error::sklearn.exceptions.SkipTestWarning", "-c", code]
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    completed = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    assert min(map(int, completed.stdout.split())) >= 58


@pytest.mark.parametrize("kind", ALL)
def test_parameters_are_those_of_the_functions(kind):
    def defaults(thing):
        return {p.name: p.default for p in inspect.signature(thing).parameters.values()}

    ours, grower, grow = defaults(kind), defaults(GROW_FUNCTIONS[kind]), defaults(tw.grow)
    assert ours.pop("warm_start") is False
    assert ours == {name: grower.get(name, grow.get(name)) for name in ours}
    apart = {"data", "target", "options", "progress", "on_prepared", "task", "sample_weight", "exposure"}
    apart |= {"pruning", "validation", "ccp_alpha", "honest", "cost", "time"}
    apart |= {"memory", "engine", "show_queries", "search"}  # files and databases; look-ahead is for single trees
    apart |= {"round_thresholds", "labels", "display_names", "units"}  # words for readers
    if kind in (ExtraTreesClassifier, ExtraTreesRegressor):
        apart |= {"splitter"}  # theirs is always random
    apart |= {"on_oob"} if kind in SAMPLING_ESTIMATORS else {"groups"}
    if kind in REGRESSORS:
        apart |= {"positive", "class_weight", "priors", "sufficient_accuracy"}
    assert (set(grower) | set(grow)) - set(ours) == apart


def test_the_number_of_trees_may_come_first_where_scikit_learn_has_it_there():
    assert ForestClassifier(7).n_estimators == ExtraTreesRegressor(7).n_estimators == 7
    with pytest.raises(ParameterError, match=r"^estimator: type int; .* The number of trees is n_estimators\.$"):
        BaggingClassifier(7).fit([[1], [2]], [0, 1])


# -- the ensemble behind them ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_the_ensemble_is_the_one_that_the_function_grows(kind):
    options = {"max_depth": 3, "min_samples_leaf": 2, "random_state": 5}
    table = X.assign(target=target_for(kind))
    model = fitted(kind, **options)
    grown = GROW_FUNCTIONS[kind](table, "target", n_estimators=4, **options)
    y = pd.Series(target_for(kind), name="target")
    assert kind(n_estimators=4, **options).fit(X, y).ensemble_ == grown
    assert len(model.estimators_) == len(model.ensemble_) == len(grown)
    assert model.predict(X).tolist() == list(grown.predict(X))


@pytest.mark.parametrize("kind", ALL)
def test_members_are_fitted_trees(kind):
    model = fitted(kind, max_depth=3)
    tree = model.estimators_[1]
    assert isinstance(tree, TreeClassifier if kind in CLASSIFIERS else TreeRegressor)
    assert tree.tree_ == model.ensemble_[1]
    assert (tree.max_depth, tree.get_depth() <= 3) == (3, True)
    assert [t.tree_ for t in model.estimators_[1:3]] == [model.ensemble_[1], model.ensemble_[2]]
    assert model.estimators_[-1].tree_ == model.ensemble_[3]
    assert list(tree.feature_names_in_) == list(X.columns)
    if kind in CLASSIFIERS:
        assert tree.classes_.tolist() == model.classes_.tolist()
    with pytest.raises(IndexError):
        model.estimators_[4]
    ends = model.apply(X)
    assert ends.shape == (344, 4)
    assert np.array_equal(ends, np.column_stack([tree.apply(X) for tree in model.estimators_]))
    paths, starts = model.decision_path(X)
    assert paths.shape == (344, starts[-1])
    for t, tree in enumerate(model.estimators_):
        assert (paths[:, starts[t] : starts[t + 1]] != tree.decision_path(X)).nnz == 0


@pytest.mark.parametrize("kind", SAMPLING_ESTIMATORS)
def test_answers_are_means_of_what_the_trees_say(kind):
    model = fitted(kind, max_depth=3)
    if kind in CLASSIFIERS:
        message = np.mean([tree.predict_proba(X) for tree in model.estimators_], axis=0)
        assert np.allclose(model.predict_proba(X), message, rtol=0, atol=1e-12)
        assert np.array_equal(model.predict(X), model.classes_[np.argmax(model.predict_proba(X), axis=1)])
        assert np.array_equal(np.exp(model.predict_log_proba(X)).round(12), model.predict_proba(X).round(12))
    else:
        message = np.mean([tree.predict(X) for tree in model.estimators_], axis=0)
        assert np.allclose(model.predict(X), message)


@pytest.mark.parametrize("kind", ALL)
def test_stages(kind):
    model, y = fitted(kind, max_depth=2), target_for(kind)
    stages = list(model.staged_predict(X))
    assert len(stages) == 4
    for k, answers in enumerate(stages, 1):
        assert np.array_equal(answers, kind(n_estimators=k, max_depth=2).fit(X, y).predict(X))
    judge = accuracy_score if kind in CLASSIFIERS else r2_score
    assert list(model.staged_score(X, y)) == [judge(y, answers) for answers in stages]
    weights = np.arange(344) % 3
    weighed = [judge(y, answers, sample_weight=weights) for answers in stages]
    assert list(model.staged_score(X, y, sample_weight=weights)) == weighed
    if kind in CLASSIFIERS:
        shares = list(model.staged_predict_proba(X))
        assert np.array_equal(shares[-1], model.predict_proba(X))
        assert len(shares) == 4


@pytest.mark.parametrize("kind", ALL)
def test_importances(kind):
    model = kind(n_estimators=4, ignore=["island"]).fit(X, target_for(kind))
    importances = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert importances["island"] == 0
    assert sum(importances.values()) == pytest.approx(1)
    trees = np.array([tree.feature_importances_ for tree in model.estimators_])
    assert np.allclose(model.feature_importances_, np.average(trees, axis=0, weights=model.ensemble_.votes))
    assert not kind(n_estimators=2, max_depth=0).fit(X, target_for(kind)).feature_importances_.any()


@pytest.mark.parametrize(
    ("kind", "options", "nodes"),
    [
        (BaggingClassifier, {"max_features": 2}, (None, "best")),
        (ForestClassifier, {}, ("sqrt", "best")),
        (ForestRegressor, {"max_features": 2}, (2, "best")),
        (ExtraTreesClassifier, {"max_features": 0.5}, (0.5, "random")),
        (ExtraTreesRegressor, {}, (None, "random")),
        (AdaBoostClassifier, {"max_features": 2, "splitter": "random"}, (2, "random")),
    ],
)
def test_the_nodes_of_a_member_are_drawn_as_its_parameters_say(kind, options, nodes):
    tree = fitted(kind, **options).estimators_[0]
    assert (tree.max_features, tree.splitter) == nodes


def test_of_classes_that_are_equally_likely_the_first_is_predicted():
    """Whichever is the positive one: ``predict`` is the first largest of ``predict_proba``."""
    data, y = np.array([[1], [1], [2], [2], [3], [3], [3]]), list("abbcbac")
    tied = 0
    for kind in CLASSIFIERS:
        for positive in (None, *"abc"):
            for seed in range(5):
                model = kind(n_estimators=2, positive=positive, max_depth=1, random_state=seed).fit(data, y)
                shares = model.predict_proba(data)
                tied += np.sum(np.sum(shares == shares.max(axis=1, keepdims=True), axis=1) > 1)
                assert np.array_equal(model.predict(data), model.classes_[np.argmax(shares, axis=1)])
                assert np.array_equal(list(model.staged_predict(data))[-1], model.predict(data))
    assert tied > 100


@pytest.mark.parametrize("positive", [None, "a", "b"])
def test_two_classes_that_are_equally_likely(positive):
    data, y = [[1], [1], [2]], ["a", "b", "b"]
    forest = ForestClassifier(2, bootstrap=False, positive=positive).fit(data, y)
    assert forest.predict_proba([[1]]).tolist() == [[0.5, 0.5]]
    assert forest.predict([[1], [2]]).tolist() == ["a", "b"]
    # Two stumps of equal say that contradict each other: 0 is for the first class.
    boosted = AdaBoostClassifier(n_estimators=2, positive=positive).fit(data, y)
    votes, root = np.ones(2), {"max_depth": 0, "positive": positive}
    against = [tw.grow({"x1": [1, 1, 2], "y": [c] * 2 + ["ab"[c == "a"]]}, "y", **root) for c in "ab"]
    boosted.ensemble_ = ensemble_of(against, "adaboost").with_(votes=votes)
    assert boosted.decision_function([[1]]).tolist() == [0.0]
    assert boosted.predict([[1]]).tolist() == ["a"]


def test_predict_takes_some_rows_at_a_time(monkeypatch):
    model = fitted(ForestClassifier)
    whole = model.predict(X)
    requested = []
    monkeypatch.setattr(voting, "_BLOCK", 30)
    monkeypatch.setattr(voting.ForestPredictor, "sums", recording(voting.ForestPredictor.sums, requested))
    assert np.array_equal(model.predict(X), whole)
    assert max(requested) == 10  # rows, of three classes


def recording(sums, asked):
    """Add up as usual, and note of how many rows."""

    def called(self, columns, n_rows, *args, **more):
        asked.append(n_rows)
        return sums(self, columns, n_rows, *args, **more)

    return called


def test_votes_are_not_to_be_written_to():
    model = fitted(AdaBoostClassifier)
    for array in (model.estimator_weights_, model.ensemble_.votes, model.ensemble_.decreases):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_probabilities_stay_in_class_order_wherever_the_positive_one_stands():
    for kind in CLASSIFIERS:
        plain, moved = fitted(kind, max_depth=2), fitted(kind, max_depth=2, positive="Adelie")
        assert moved.ensemble_.classes == ("Chinstrap", "Gentoo", "Adelie")
        assert moved.classes_.tolist() == plain.classes_.tolist() == ["Adelie", "Chinstrap", "Gentoo"]
        assert np.allclose(moved.predict_proba(X), plain.predict_proba(X))


def test_classes_keep_their_type():
    data, y = load_iris(return_X_y=True)
    for kind in CLASSIFIERS:
        for labels in (y, y.astype(float), np.array(["c", "a", "b"])[y], y == 1):
            model = kind(n_estimators=3).fit(data, labels)
            assert model.classes_.tolist() == np.unique(labels).tolist()
            assert model.classes_.dtype == labels.dtype
            assert model.predict(data).dtype == labels.dtype
            assert model.score(data, labels) > 0.6


@pytest.mark.parametrize("y", [Y, Y == "Adelie"], ids=["three", "two"])
@pytest.mark.parametrize("positive", [None, "first"])
def test_adaboost_speaks_by_votes(y, positive):
    positive = np.unique(y)[0] if positive else None
    model = AdaBoostClassifier(n_estimators=8, positive=positive).fit(X, y)
    assert np.array_equal(model.estimator_weights_, model.ensemble_.votes)
    k, classes = model.n_classes_, model.classes_
    odds = (1 - model.estimator_errors_) / model.estimator_errors_
    assert np.allclose(model.estimator_weights_, (np.log(odds) + np.log(k - 1)) / 2)
    message = np.array([tree.predict(X) for tree in model.estimators_])
    say = np.array([(model.estimator_weights_[:, None] * (message == c)).sum(axis=0) for c in classes]).T
    say /= model.estimator_weights_.sum()
    assert np.allclose(model.predict_proba(X), say)
    margins = say[:, 1] - say[:, 0] if k == 2 else say - (1 - say) / (k - 1)
    assert np.allclose(model.decision_function(X), margins)
    assert np.array_equal(model.predict(X), classes[np.argmax(say, axis=1)])


def test_adaboost_is_scikit_learn_s_on_the_same_stumps():
    data, y = load_iris(return_X_y=True)
    data, y = data[y > 0] + 1e-6 * np.random.default_rng(0).normal(size=(100, 4)), y[y > 0]
    theirs = sklearn.ensemble.AdaBoostClassifier(TreeClassifier(max_depth=1, criterion="gini"), n_estimators=10)
    theirs.fit(data, y)
    ours = AdaBoostClassifier(criterion="gini", n_estimators=10).fit(data, y)
    assert np.allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    assert np.allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    assert np.allclose(2 * ours.decision_function(data), theirs.decision_function(data), rtol=0, atol=1e-9)
    assert np.allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-6)
    assert np.array_equal(ours.predict(data), theirs.predict(data))


def test_adaboost_may_end_early_and_is_not_gone_on_with():
    data, y = np.arange(20).reshape(-1, 1), np.arange(20) > 9
    model = AdaBoostClassifier(n_estimators=10, warm_start=True).fit(data, y)
    assert len(model.estimators_) == 1
    assert model.set_params(n_estimators=12).fit(data, y).ensemble_ == AdaBoostClassifier().fit(data, y).ensemble_
    assert model.score(data, y) == 1.0


# -- rows that trees have not seen -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SAMPLING_ESTIMATORS)
def test_out_of_bag(kind):
    y = target_for(kind)
    model = kind(n_estimators=25, bootstrap=True, oob_score=True).fit(X, y)
    assert model.oob_score_ == model.ensemble_.oob.score
    if kind in CLASSIFIERS:
        message = model.oob_decision_function_
        assert message.shape == (344, 3)
        assert np.allclose(message.sum(axis=1), 1)
        assert model.oob_score_ == accuracy_score(y, model.classes_[np.argmax(message, axis=1)])
        assert model.oob_score_ > 0.93
    else:
        assert model.oob_prediction_.shape == (344,)
        assert model.oob_score_ == pytest.approx(r2_score(y, model.oob_prediction_))
    assert not hasattr(kind(n_estimators=2).fit(X, y), "oob_score_")


def test_out_of_bag_has_a_place_for_every_row_of_x():
    weights = np.where(np.arange(344) % 4 == 0, 0, 1)
    y = Y.astype(object).where(np.arange(344) != 1, None)
    model = ForestClassifier(30, oob_score=True, drop_missing_target=True).fit(X, y, weights)
    blank = np.isnan(model.oob_decision_function_).all(axis=1)
    assert np.array_equal(np.flatnonzero(blank), np.flatnonzero((weights == 0) | (np.arange(344) == 1)))
    moved = ForestClassifier(30, oob_score=True, positive="Adelie").fit(X, Y)
    assert moved.oob_score_ == accuracy_score(Y, moved.classes_[np.argmax(moved.oob_decision_function_, axis=1)])


@pytest.mark.filterwarnings("ignore:oob_score")
def test_out_of_bag_the_first_of_equals_is_taken_too():
    y, tied = np.where(np.arange(344) % 3, "a", "b"), 0
    for positive in "ab":
        model = ForestClassifier(4, oob_score=True, positive=positive, max_depth=6).fit(X, y)
        message = model.oob_decision_function_
        known = ~np.isnan(message[:, 0])
        tied += np.sum(message[known, 0] == 0.5)
        best = model.classes_[np.argmax(message[known], axis=1)]
        assert model.oob_score_ == pytest.approx(accuracy_score(y[known], best), abs=1e-12)
    assert tied > 0


def test_rows_that_every_tree_has_seen_are_warned_of():
    with pytest.warns(UserWarning, match=r"oob_score: \d+ rows of 344 were in the sample of every tree"):
        model = ForestClassifier(2, oob_score=True).fit(X, Y)
    assert np.isnan(model.oob_decision_function_).any()


# -- scikit-learn's tools ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ForestClassifier, BaggingRegressor, AdaBoostClassifier])
def test_pipelines_searches_and_clones(kind):
    numbers, y = X[["bill_length_mm", "flipper_length_mm"]], target_for(kind)
    model = make_pipeline(SimpleImputer(), kind(n_estimators=3, max_depth=2)).fit(numbers, y)
    assert model.score(numbers, y) > 0.3
    search = GridSearchCV(kind(max_depth=2), {"n_estimators": np.array([1, 4])}, cv=2).fit(X, y)
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert len(search.best_estimator_.estimators_) == search.best_params_["n_estimators"]
    cloned = clone(search.best_estimator_)
    assert cloned.get_params() == search.best_estimator_.get_params()
    assert not hasattr(cloned, "ensemble_")
    assert cloned.fit(X, y).ensemble_ == search.best_estimator_.ensemble_
    assert cross_val_score(kind(n_estimators=3), X, y, cv=2).shape == (2,)


def test_calibration_and_routing():
    assert CalibratedClassifierCV(ForestClassifier(3), cv=2).fit(X, Y).predict_proba(X).shape == (344, 3)
    with sklearn.config_context(enable_metadata_routing=True):
        forest = ForestClassifier(3).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        weights = np.where(Y == "Gentoo", 0, 1)
        search = GridSearchCV(forest, {"max_depth": [2]}, cv=2).fit(X, Y, sample_weight=weights)
        assert search.best_estimator_.classes_.tolist() == ["Adelie", "Chinstrap"]


@pytest.mark.parametrize("kind", ALL)
def test_every_library_gives_the_same_trees(kind):
    model, y = fitted(kind), target_for(kind)
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    for data in (pl.from_pandas(X), pl.from_pandas(X).to_arrow(), rows):
        assert kind(n_estimators=4).fit(data, y).ensemble_ == model.ensemble_
        assert np.array_equal(model.predict(data), model.predict(X))
    assert np.array_equal(model.predict(X[X.columns[::-1]].assign(extra=1)), model.predict(X))
    with pytest.raises(TreewiseError, match=f'X has no column "sex", which {kind.__name__} was fitted with'):
        model.predict(X.drop(columns="sex"))


def test_categories_and_missing_values_as_they_are():
    data = pd.DataFrame({"town": ["Bari", "Rome", None, "Oslo"] * 5, "age": [31, None, 20, 33] * 5})
    for kind in CLASSIFIERS:
        assert kind(n_estimators=9).fit(data, ["a", "b", "a", "b"] * 5).score(data, ["a", "b", "a", "b"] * 5) == 1.0
    for kind in REGRESSORS:
        assert kind(n_estimators=9).fit(data, [1.0, 2, 3, 4] * 5).score(data, [1.0, 2, 3, 4] * 5) > 0.9


@pytest.mark.parametrize("kind", ALL)
def test_weights_are_repetitions_in_any_order(kind):
    rng = np.random.default_rng(0)
    times, y = rng.integers(0, 4, 344), target_for(kind)
    order = np.repeat(np.arange(344), times)
    written_out = kind(n_estimators=4, max_depth=3).fit(X.iloc[order], y.iloc[order])
    shuffled = rng.permutation(344)
    weighed = kind(n_estimators=4, max_depth=3).fit(X.iloc[shuffled], y.iloc[shuffled], times[shuffled])
    assert np.allclose(weighed.feature_importances_, written_out.feature_importances_)
    if kind in CLASSIFIERS:
        assert np.array_equal(weighed.predict_proba(X), written_out.predict_proba(X))
    else:
        assert np.allclose(weighed.predict(X), written_out.predict(X), rtol=1e-13)


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("kind", ALL)
def test_copies_predict_the_same(kind):
    model = fitted(kind, max_depth=3)
    for send in (lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy, through_joblib):
        again = send(model)
        assert again.get_params() == model.get_params()
        assert again.ensemble_ == model.ensemble_
        assert np.array_equal(again.predict(X), model.predict(X))
        longer = again.set_params(n_estimators=5, warm_start=True).fit(X, target_for(kind))
        assert longer.ensemble_ == kind(n_estimators=5, max_depth=3).fit(X, target_for(kind)).ensemble_
    assert b"numpy" not in pickle.dumps(model.ensemble_)


# -- failure -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, DataError])
@pytest.mark.parametrize("kind", ALL)
def test_a_failed_fit_leaves_the_estimator_as_it_was(kind, error, monkeypatch):
    model, fresh = fitted(kind, warm_start=True).set_params(n_estimators=7), kind()
    before, unfitted = dict(vars(model)), dict(vars(fresh))

    def fail(*args, **options):
        raise error

    monkeypatch.setattr(kind, "_grow", fail)
    monkeypatch.setattr(tw.Ensemble, "extend", fail)
    for estimator in (model, model.set_params(warm_start=False), fresh):
        with pytest.raises(error):
            estimator.fit(X, target_for(kind))
    assert vars(model) == before | {"warm_start": False}
    assert vars(fresh) == unfitted


@pytest.mark.parametrize("kind", ALL)
def test_an_estimator_grows_by_the_function_of_the_python_interface(kind):
    """The same function, with the same parameters: nothing is orchestrated a second time."""
    assert kind._grow is GROW_FUNCTIONS[kind]


@pytest.mark.parametrize("kind", SAMPLING_ESTIMATORS)
def test_out_of_bag_results_stay_when_no_tree_is_added(kind):
    options = {"bootstrap": True, "oob_score": True, "warm_start": True}
    model = kind(n_estimators=30, **options).fit(X, target_for(kind))
    before = {name: value for name, value in vars(model).items() if name.startswith("oob_") and name.endswith("_")}
    with pytest.warns(UserWarning, match="none is added"):
        model.fit(X, target_for(kind))
    assert len(before) == 2
    for name, value in before.items():
        np.testing.assert_array_equal(vars(model)[name], value)


@pytest.mark.parametrize("kind", ALL)
def test_unfitted_estimators_raise(kind):
    names = ["predict", "apply", "decision_path", "staged_predict"]
    for name in [*names, *(["predict_proba", "staged_predict_proba"] if kind in CLASSIFIERS else [])]:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(kind(), name)(X)
    assert not hasattr(kind(), "feature_importances_")
    assert not hasattr(kind(), "estimators_")
    assert is_classifier(kind()) == (kind in CLASSIFIERS)


@pytest.mark.parametrize(
    ("classifier", "regressor"),
    [
        (tw.ForestClassifier, "ForestRegressor"),
        (tw.ExtraTreesClassifier, "ExtraTreesRegressor"),
        (tw.BaggingClassifier, "BaggingRegressor"),
        (tw.AdaBoostClassifier, "ForestRegressor"),
    ],
)
def test_numbers_are_for_the_regressor_of_the_same_way(classifier, regressor):
    with pytest.raises(tw.DataError, match=f"Use {regressor}, or make classes of it first"):
        classifier().fit([[1.0], [2.0]], [0.5, 1.5])


def test_classes_are_for_the_classifier_of_the_same_way():
    with pytest.raises(tw.DataError, match=r"\. ForestClassifier is for classes"):
        tw.ForestRegressor().fit([[1.0], [2.0]], ["a", "b"])


def test_an_ensemble_is_the_sequence_of_its_members():
    X, y = [[1], [2], [3], [4]], ["a", "a", "b", "a"]
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    assert len(model) == len(model.estimators_) == 3
    assert [member.tree_ for member in model] == list(model.ensemble_)
    assert model[-1].tree_ == model.ensemble_[2]
    stages = list(model.staged_decision_function(X))
    assert len(stages) == 3
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))
    with pytest.raises(NotFittedError):
        len(AdaBoostClassifier())
