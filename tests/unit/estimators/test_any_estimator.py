"""``estimator=``: trees stay trees, everything else is fitted by scikit-learn's ensembles, with equal results."""

import pickle

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from treewise import AdaBoostClassifier, BaggingClassifier, BaggingRegressor, TreeClassifier, TreeRegressor
from treewise.errors import ParameterError

X, Y = load_iris(return_X_y=True)
WEIGHTS = np.arange(1, len(Y) + 1)
ENSEMBLES = {
    BaggingClassifier: (sklearn.ensemble.BaggingClassifier, TreeClassifier, DecisionTreeClassifier),
    BaggingRegressor: (sklearn.ensemble.BaggingRegressor, TreeRegressor, DecisionTreeRegressor),
    AdaBoostClassifier: (sklearn.ensemble.AdaBoostClassifier, TreeClassifier, DecisionTreeClassifier),
}


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_a_tree_of_ours_gives_its_options(ensemble):
    options = {"max_depth": 2, "min_samples_leaf": 3, "missing": "branch", "monotonic_cst": [0, 0, 0, 0]}
    tree = ENSEMBLES[ensemble][1](**options, random_state=5, n_jobs=1)
    given = ensemble(tree, n_estimators=4).fit(X, Y, WEIGHTS)
    written = ensemble(n_estimators=4, **options).fit(X, Y, WEIGHTS)
    assert given.ensemble_ == written.ensemble_
    assert np.array_equal(given.predict(X), written.predict(X))
    assert given.estimators_[0].get_params()["max_depth"] == 2
    assert given[0].tree_ == given.ensemble_[0]
    assert len(given) == len(given.estimators_) <= 4


def test_the_depth_of_a_boosted_tree_is_its_own():
    assert AdaBoostClassifier(TreeClassifier(), n_estimators=2).fit(X, Y).ensemble_[0].depth > 1
    assert AdaBoostClassifier(n_estimators=2).fit(X, Y).ensemble_[0].depth == 1


@pytest.mark.parametrize("ensemble", ENSEMBLES)
@pytest.mark.parametrize("kind", ["other", "tree", "pruned tree of ours"])
def test_any_other_estimator_is_fitted_as_by_scikit_learn(ensemble, kind):
    theirs, our_tree, their_tree = ENSEMBLES[ensemble]
    other = LinearRegression() if ensemble is BaggingRegressor else GaussianNB()
    member = {"other": other, "tree": their_tree(max_depth=2), "pruned tree of ours": our_tree(ccp_alpha=0.01)}[kind]
    model = ensemble(member, n_estimators=5, random_state=3).fit(X, Y, WEIGHTS)
    peer = theirs(member, n_estimators=5, random_state=3).fit(X, Y, WEIGHTS)
    assert np.array_equal(model.predict(X), peer.predict(X))
    assert model.score(X, Y) == peer.score(X, Y)
    assert len(model) == len(peer.estimators_)
    assert type(model[0]) is type(member)
    assert not hasattr(model, "ensemble_")
    assert model.n_features_in_ == 4
    for name in ("predict_proba", "decision_function", "staged_predict", "feature_importances_", "classes_"):
        assert hasattr(model, name) == hasattr(peer, name), name
    if ensemble is not BaggingRegressor:
        assert np.array_equal(model.predict_proba(X), peer.predict_proba(X))
    if ensemble is AdaBoostClassifier:
        assert np.array_equal(model.estimator_weights_, peer.estimator_weights_)
        assert np.array_equal(model.estimator_errors_, peer.estimator_errors_)
        assert np.array_equal(model.decision_function(X), peer.decision_function(X))
        assert [list(stage) for stage in model.staged_predict(X)] == [list(stage) for stage in peer.staged_predict(X)]
    twin = pickle.loads(pickle.dumps(model))
    assert np.array_equal(twin.predict(X), model.predict(X))
    assert np.array_equal(clone(model).fit(X, Y, WEIGHTS).predict(X), model.predict(X))


def test_fitting_twice_gives_the_same_result():
    first = BaggingClassifier(GaussianNB(), n_estimators=3).fit(X, Y).predict_proba(X)
    assert np.array_equal(first, BaggingClassifier(GaussianNB(), n_estimators=3).fit(X, Y).predict_proba(X))
    other = BaggingClassifier(GaussianNB(), n_estimators=3, random_state=1).fit(X, Y).predict_proba(X)
    assert not np.array_equal(first, other)


def test_a_warm_start_adds_members():
    model = BaggingRegressor(LinearRegression(), n_estimators=3, warm_start=True, random_state=0).fit(X, Y)
    first = model[0].coef_
    assert len(model.set_params(n_estimators=6).fit(X, Y)) == 6
    assert np.array_equal(model[0].coef_, first)


def test_a_change_of_the_estimator_changes_who_fits():
    model = BaggingClassifier(GaussianNB(), n_estimators=2).fit(X, Y)
    assert model.set_params(estimator=None).fit(X, Y).ensemble_.method == "bagging"
    assert len(model.predict(X)) == len(X)
    model.set_params(estimator=GaussianNB()).fit(X, Y)
    assert not hasattr(model, "ensemble_")


def test_a_search_sets_parameters_of_the_tree():
    grid = {"estimator__max_depth": [1, 3]}
    search = GridSearchCV(BaggingClassifier(TreeClassifier(), n_estimators=3), grid, cv=2).fit(X, Y)
    assert search.best_params_ == {"estimator__max_depth": 3}
    assert search.best_estimator_.ensemble_[0].depth <= 3


def test_options_that_would_be_ignored_are_refused():
    with pytest.raises(ParameterError, match="max_depth=2: is an option of trees; with an estimator, set it there"):
        BaggingClassifier(TreeClassifier(), max_depth=2).fit(X, Y)
    with pytest.raises(
        ParameterError, match='groups="site": is for trees grown by treewise; this estimator is a Gauss'
    ):
        BaggingClassifier(GaussianNB(), groups="site").fit(X, Y)
    with pytest.raises(ParameterError, match="resample=True: is for trees"):
        AdaBoostClassifier(GaussianNB(), resample=True).fit(X, Y)
    with pytest.raises(ParameterError, match="estimator: type str; expected an estimator"):
        BaggingClassifier("tree").fit(X, Y)


@pytest.mark.parametrize("estimator", [Ridge(), TreeRegressor(max_features=1, pruning="cv")], ids=["other", "options"])
def test_rates_are_learned_by_our_trees_alone(estimator):
    with pytest.raises(ParameterError, match=r"exposure.*rates are learned by trees of treewise alone"):
        BaggingRegressor(estimator).fit(X, Y, exposure=np.ones(len(X)))
