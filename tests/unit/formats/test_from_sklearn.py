"""Models imported from scikit-learn: the same answers on every input, and everything a model can do."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn import ensemble as forests
from sklearn import tree as trees
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treewise as tw
from tests.support.fuzzed_rows import fuzzed_matrix
from treewise.formats.importers.float32 import exact_cuts, float32_at_most, short_cuts

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
finite = st.floats(allow_nan=False, allow_infinity=False)


def with_missing(X, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.15] = np.nan
    return X


def cuts_of(estimator):
    """The thresholds of every column, as scikit-learn has them."""
    members = getattr(estimator, "estimators_", [estimator])
    features = getattr(estimator, "estimators_features_", [np.arange(estimator.n_features_in_)] * len(members))
    cuts = {}
    for member, used in zip(members, features, strict=True):
        inner = member.tree_.children_left >= 0
        for j, cut in zip(member.tree_.feature[inner], member.tree_.threshold[inner], strict=True):
            if np.isfinite(cut):
                cuts.setdefault(int(used[j]), []).append(float(cut))
    return cuts


def fuzz(estimator, n_rows=3000, **options):
    return fuzzed_matrix(cuts_of(estimator), estimator.n_features_in_, n_rows, np.random.default_rng(7), **options)


WHOLE = {
    "tree": trees.DecisionTreeClassifier(random_state=0),
    "entropy": trees.DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=9, random_state=0),
    "log loss": trees.DecisionTreeClassifier(criterion="log_loss", min_samples_leaf=5, random_state=0),
    "extra tree": trees.ExtraTreeClassifier(random_state=1),
    "forest": forests.RandomForestClassifier(12, random_state=2, max_depth=4),
    "extra trees": forests.ExtraTreesClassifier(12, random_state=3, max_depth=4),
    "bagging": forests.BaggingClassifier(trees.DecisionTreeClassifier(), 9, max_features=0.6, random_state=4),
    "small bags": forests.BaggingClassifier(trees.DecisionTreeClassifier(), 9, max_samples=4, random_state=5),
    "stump": trees.DecisionTreeClassifier(max_depth=1),
    "one leaf": trees.DecisionTreeClassifier(min_samples_leaf=1000),
}
NUMBERS = {
    "tree": trees.DecisionTreeRegressor(random_state=0),
    "best first": trees.DecisionTreeRegressor(max_leaf_nodes=20, random_state=0),
    "poisson": trees.DecisionTreeRegressor(criterion="poisson", max_depth=5, random_state=0),
    "extra tree": trees.ExtraTreeRegressor(random_state=1, max_depth=6),
    "forest": forests.RandomForestRegressor(12, random_state=2, max_depth=6),
    "extra trees": forests.ExtraTreesRegressor(12, random_state=3, max_depth=6),
    "bagging": forests.BaggingRegressor(trees.DecisionTreeRegressor(max_depth=5), 9, max_features=0.5, random_state=4),
}


@pytest.mark.parametrize("name", WHOLE)
def test_class_probabilities_are_the_same_to_the_last_bit(name):
    X, y = IRIS
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    theirs = WHOLE[name].fit(with_missing(X), labels)
    ours, rows = tw.from_sklearn(theirs), fuzz(theirs)
    np.testing.assert_array_equal(ours.predict_proba(rows), theirs.predict_proba(rows))
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    assert ours.classes == ("setosa", "versicolor", "virginica")


@pytest.mark.parametrize("name", NUMBERS)
def test_values_are_the_same_to_the_last_bit(name):
    X, y = DIABETES
    theirs = NUMBERS[name]
    theirs.fit(X if name == "poisson" else with_missing(X), y)
    ours, rows = tw.from_sklearn(theirs), fuzz(theirs)
    if name == "poisson":
        rows = np.nan_to_num(rows)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))


def test_absolute_error_refuses_missing_values_there_and_has_no_standard_deviation_here():
    X, y = DIABETES
    theirs = trees.DecisionTreeRegressor(criterion="absolute_error", max_depth=3).fit(X, y)
    ours, rows = tw.from_sklearn(theirs), fuzz(theirs, special=(0.0,))
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
    assert np.isnan(ours.arrays.spread).all()
    forest = forests.RandomForestRegressor(5, criterion="absolute_error", max_depth=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(tw.from_sklearn(forest).predict(rows), forest.predict(rows))


def test_weights_that_are_no_whole_numbers_agree_up_to_rounding_and_say_so():
    X, y = IRIS
    weight = np.random.default_rng(0).random(len(y))
    for theirs in (
        trees.DecisionTreeClassifier(max_depth=3, class_weight={0: 0.3, 1: 1.7, 2: 1}),
        forests.RandomForestClassifier(9, max_depth=3, class_weight="balanced", bootstrap=False, random_state=0),
    ):
        theirs.fit(X, y, weight)
        ours, rows = tw.from_sklearn(theirs), fuzz(theirs)
        np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
        assert "whole numbers" in ours.notes[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_adaboost_predicts_the_same_classes(n_classes):
    X, y = IRIS
    theirs = forests.AdaBoostClassifier(trees.DecisionTreeClassifier(max_depth=1), n_estimators=25, random_state=0)
    theirs.fit(X, np.minimum(y, n_classes - 1))
    ours, rows = tw.from_sklearn(theirs), fuzz(theirs, special=(0.0, 1e30))
    scores = np.atleast_2d(theirs.decision_function(rows).T).T
    ranked = np.sort(np.column_stack([-scores, scores]) if n_classes == 2 else scores, axis=1)
    decided = ranked[:, -1] - ranked[:, -2] > 1e-9
    assert decided.mean() > 0.9
    np.testing.assert_array_equal(ours.predict(rows)[decided], theirs.predict(rows)[decided])
    assert "vote weight" in ours.notes[-1]


def test_short_thresholds_agree_on_float32_and_are_short():
    X, y = IRIS
    theirs = forests.RandomForestClassifier(9, random_state=2).fit(with_missing(X), y)
    ours, rows = tw.from_sklearn(theirs, thresholds="short"), fuzz(theirs).astype(np.float32)
    np.testing.assert_array_equal(ours.predict_proba(rows), theirs.predict_proba(rows))
    tree = trees.DecisionTreeClassifier(max_depth=2, random_state=1).fit(X, y)
    assert any(node.split.cut == 1.75 for node in tw.from_sklearn(tree, thresholds="short") if node.split)


@settings(max_examples=200, deadline=None)
@example(math.nextafter(-np.finfo(np.float32).max.item(), -math.inf), [], 0.0)  # no float32 below
@given(finite, st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=5), finite)
def test_an_exact_cut_is_the_largest_double_on_the_left(threshold, singles, value):
    t = float32_at_most(np.array([threshold]))
    cut = exact_cuts(t)[0]
    around = [value, threshold, cut, np.nextafter(cut, np.inf), np.nextafter(cut, -np.inf), *singles, float(t[0])]
    with np.errstate(over="ignore"):
        rounded = np.array(around).astype(np.float32)
    usable = np.isfinite(rounded)  # scikit-learn refuses the others
    np.testing.assert_array_equal(
        np.array(around)[usable] <= cut, rounded[usable].astype(float) <= threshold, err_msg=repr(threshold)
    )
    short = short_cuts(t)[0]
    np.testing.assert_array_equal(
        rounded[usable].astype(float) <= short, rounded[usable].astype(float) <= threshold, err_msg=repr(threshold)
    )


def test_statistics_names_and_history():
    X, y = IRIS
    theirs = trees.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    ours = tw.from_sklearn(theirs, ["a", "b", "c", "d"], target="kind")
    order = np.arange(len(ours))  # grown depth-first: the same numbers
    np.testing.assert_array_equal(ours.arrays.rows, theirs.tree_.n_node_samples[order])
    np.testing.assert_allclose(ours.arrays.impurity, theirs.tree_.impurity, atol=1e-12)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))
    assert ours.columns == ("a", "b", "c", "d")
    assert (ours.target.name, ours.criterion, ours.fit_info.origin) == ("kind", "gini", "imported")
    assert "DecisionTreeClassifier" in str(ours.history[0])
    shares = ours.impurity_decreases[0]
    np.testing.assert_allclose(shares / shares.sum(), theirs.feature_importances_, atol=1e-12)


def test_names_come_from_the_frame_it_was_fitted_on():
    frame = load_iris(as_frame=True)
    theirs = trees.DecisionTreeClassifier(max_depth=2).fit(frame.data, frame.target)
    ours = tw.from_sklearn(theirs)
    assert ours.columns == tuple(frame.data.columns)
    np.testing.assert_array_equal(ours.predict(frame.data), theirs.predict(frame.data))


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1], [1.0, 2.0]])
def test_labels_keep_their_type(labels):
    X, y = IRIS
    theirs = trees.DecisionTreeClassifier(max_depth=2).fit(X, np.array(labels)[np.minimum(y, 1)])
    ours = tw.from_sklearn(theirs)
    assert ours.classes == tuple(labels)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("name", ["tree", "forest", "number", "absolute", "adaboost"])
def test_everything_works_on_an_imported_model(name, tmp_path):
    X, y = with_missing(IRIS[0]), IRIS[1]
    theirs = {
        "tree": trees.DecisionTreeClassifier(max_depth=4, random_state=0),
        "forest": forests.RandomForestClassifier(5, max_depth=3, random_state=0),
        "number": trees.DecisionTreeRegressor(max_depth=4, random_state=0),
        "absolute": trees.DecisionTreeRegressor(max_depth=3, criterion="absolute_error"),
        "adaboost": forests.AdaBoostClassifier(n_estimators=5, random_state=0),
    }[name]
    if name in ("absolute", "adaboost"):
        X = np.nan_to_num(X)
    model = tw.from_sklearn(theirs.fit(X, y), target="kind")
    table = {**{column: X[:, j] for j, column in enumerate(model.columns)}, "kind": y}
    path = tmp_path / "model.json"
    model.save(path)
    loaded = tw.load(path)
    assert loaded == model
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert "x" in str(model)
    assert model.explain(dict(zip(model.columns, X[0].tolist(), strict=True)))
    assert model.evaluate(table, "kind")
    assert model.shap(X[:5]).values.shape[0] == 5
    assert model.importances().columns
    assert tw.compare(
        model if isinstance(model, tw.Tree) else model[0], loaded if isinstance(loaded, tw.Tree) else loaded[0]
    )
    if not isinstance(model, tw.Tree):
        assert len(model.agreement(table)) == len(y)
        assert model.first(2).predict(X).shape == y.shape
        model = model[0]
    if name != "absolute":
        assert model.prune("cost_complexity", ccp_alpha=0.05).n_leaves <= model.n_leaves
    assert model.prune(max_depth=1).depth == 1
    assert tw.parse(model.export("text")) == model
    assert model.rules()
    assert model.draw().svg
    refitted = model.refit(table)
    assert refitted.arrays.rows[0] == len(y)
    assert "imported as a leaf" in str(model.trace(table)) or name != "tree"
    tree = tw.grow(table, "kind", max_depth=2, task=model.task)
    assert tw.compare(model, tree)


def test_presence_tests_of_scikit_learn_are_presence_tests_here():
    X = np.array([[np.nan], [np.nan], [1.0], [1.0]])
    theirs = trees.DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    if theirs.tree_.node_count == 1:
        pytest.skip("this scikit-learn does not split on presence alone")
    ours = tw.from_sklearn(theirs)
    assert isinstance(ours[0].split, tw.Presence)
    assert ours.predict(X).tolist() == [0, 0, 1, 1]


class NotFitted:
    pass


def test_what_cannot_be_imported_is_refused_in_words():
    X, y = IRIS
    refused = [
        (trees.DecisionTreeClassifier, "this is the class"),
        (trees.DecisionTreeClassifier(), "not fitted"),
        (trees.DecisionTreeClassifier().fit(X, np.column_stack([y, y])), "2 outputs"),
        (forests.BaggingClassifier(LogisticRegression(), 2).fit(X / 10, y), "LogisticRegressions, not trees"),
        (forests.AdaBoostRegressor(n_estimators=2).fit(X, y), "AdaBoostRegressor"),
        (forests.GradientBoostingRegressor(n_estimators=2).fit(X, y), "GradientBoostingRegressor"),
        (make_pipeline(StandardScaler(), trees.DecisionTreeClassifier()).fit(X, y), "last step"),
        (GridSearchCV(trees.DecisionTreeClassifier(), {"max_depth": [1]}, cv=2).fit(X, y), "best_estimator_"),
        (tw.TreeClassifier(max_depth=1).fit(X, y), "treewise's own"),
        (NotFitted(), "NotFitted"),
    ]
    for estimator, words in refused:
        with pytest.raises(tw.TreewiseError, match=words):
            tw.from_sklearn(estimator)


def test_names_and_options_are_checked():
    theirs = trees.DecisionTreeClassifier(max_depth=1).fit(*IRIS)
    for names in (["a"], ["a", "a", "b", "c"], [1, 2, 3, 4], "abcd"):
        with pytest.raises(tw.ParameterError, match="4 different names"):
            tw.from_sklearn(theirs, names)
    with pytest.raises(tw.ParameterError, match="thresholds"):
        tw.from_sklearn(theirs, thresholds="rounded")
