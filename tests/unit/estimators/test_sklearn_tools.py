"""Estimators and trees in scikit-learn's own tools: displays, inspection, HTML, and readers of its flat arrays."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import (
    DecisionBoundaryDisplay,
    PartialDependenceDisplay,
    partial_dependence,
    permutation_importance,
)
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz, export_text, plot_tree

import treewise as tw
from treewise import (
    AdaBoostClassifier,
    BaggingRegressor,
    ForestClassifier,
    ForestRegressor,
    TreeClassifier,
    TreeRegressor,
)
from treewise.errors import ColumnError, DataError, ParameterError

X, Y = load_iris(return_X_y=True, as_frame=True)
NAMES = Y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
PENGUINS = tw.datasets.penguins().to_pandas()
CLASSIFIERS = [TreeClassifier, ForestClassifier, AdaBoostClassifier]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


# -- displays and inspection -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("response", ["auto", "predict", "predict_proba"])
@pytest.mark.parametrize("target", [Y, NAMES], ids=["numbers", "names"])
def test_decision_boundaries(estimator, response, target):
    plane = X.iloc[:, :2]
    model = estimator(max_depth=3).fit(plane, target)
    display = DecisionBoundaryDisplay.from_estimator(model, plane, response_method=response, grid_resolution=20)
    grid = pd.DataFrame({plane.columns[0]: display.xx0.ravel(), plane.columns[1]: display.xx1.ravel()})
    if response == "predict":
        assert np.array_equal(model.classes_[display.response.ravel().astype(int)], model.predict(grid))
    else:
        scores = (
            model.predict_proba
            if response == "predict_proba"
            else getattr(model, "decision_function", model.predict_proba)
        )
        assert np.array_equal(display.response.reshape(-1, 3), scores(grid))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_partial_dependence_and_permutation_importance(estimator):
    model = estimator(max_depth=3).fit(X, NAMES)
    result = partial_dependence(model, X, [3], grid_resolution=5)
    at = result["grid_values"][0][2]
    assert np.allclose(result["average"][:, 2], model.predict_proba(X.assign(**{X.columns[3]: at})).mean(axis=0))
    display = PartialDependenceDisplay.from_estimator(model, X, [0, (2, 3)], target="virginica", grid_resolution=5)
    assert display.axes_.size == 2
    importances = permutation_importance(model, X, NAMES, n_repeats=3, random_state=0).importances_mean
    assert importances[2:].sum() > importances[:2].sum()


def test_partial_dependence_of_a_category_with_missing_cells():
    features = PENGUINS.drop(columns="species")
    model = TreeClassifier(max_leaf_nodes=5).fit(features, PENGUINS["species"])
    result = partial_dependence(model, features, ["island"], categorical_features=["island"])
    assert list(result["grid_values"][0]) == ["Biscoe", "Dream", "Torgersen"]
    assert result["average"].shape == (3, 3)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, ForestRegressor])
def test_estimators_show_themselves_as_html(estimator):
    pipeline = make_pipeline(StandardScaler(), estimator(max_depth=2))
    assert "not fitted" in pipeline._repr_html_().lower()
    page = pipeline.fit(X, Y)._repr_html_()
    assert estimator.__name__ in page
    assert "not fitted" not in page.lower()


# -- the flat arrays ---------------------------------------------------------------------------------------------------

ARRAYS = ["children_left", "children_right", "feature", "threshold", "impurity", "n_node_samples"]
ARRAYS += ["weighted_n_node_samples", "value", "missing_go_to_left", "n_classes"]
FACTS = ["node_count", "max_depth", "n_leaves", "n_features", "n_outputs", "max_n_classes"]


def without_ties(rows=300):
    """Columns of random float32 numbers with holes, and targets: classes and numbers."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 4)).astype(np.float32).astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, rng.integers(0, 3, rows), rng.exponential(size=rows)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss", "squared_error", "friedman_mse"])
def test_the_arrays_are_those_of_scikit_learn(criterion):
    x, classes, numbers = without_ties()
    pair, y = [TreeClassifier, DecisionTreeClassifier], classes
    if criterion in ("squared_error", "friedman_mse"):
        pair, y = [TreeRegressor, DecisionTreeRegressor], numbers
    theirs_criterion = "squared_error" if criterion == "friedman_mse" else criterion
    ours = pair[0](criterion=criterion, max_depth=4, min_samples_leaf=12).fit(x, y).tree_
    theirs = pair[1](criterion=theirs_criterion, max_depth=4, min_samples_leaf=12, random_state=0).fit(x, y).tree_
    for name in ARRAYS:
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.shape == other.shape, name
        assert mine.dtype == other.dtype, name
        known = ours.arrays.missing_rows > 0 if name == "missing_go_to_left" else slice(None)  # else a matter of taste
        assert np.allclose(mine[known], other[known], atol=1e-6), name
    for name in FACTS:
        assert getattr(ours, name) == getattr(theirs, name), name


def test_the_arrays_are_read_only():
    tree = TreeClassifier(max_depth=2).fit(X, Y).tree_
    for name in ARRAYS[:-1]:
        assert not getattr(tree, name).flags.writeable, name
    assert tree.arrays.cut.flags.writeable == tw.grow("penguins").arrays.cut.flags.writeable


def test_trees_that_the_arrays_cannot_describe():
    for data, options, column in [
        ("penguins", {"max_leaf_nodes": 4}, "island"),
        ("admissions", {"preset": "id3"}, "GPA"),
        ({"when": np.array(["2024-01-01", "2024-02-01"], "M8[D]"), "y": ["a", "b"]}, {"target": "y"}, "when"),
    ]:
        tree = tw.grow(data, **options)
        assert not any(hasattr(tree, name) for name in ("children_left", "feature", "threshold"))
        with pytest.raises(DataError, match=f'tests "{column}" by something else than a threshold'):
            _ = tree.children_left
        with pytest.raises(DataError, match=column):
            tree.to_sklearn()
        assert tree.value.sum(axis=2) == pytest.approx(np.ones((len(tree), 1)))
        assert tree.n_node_samples.tolist() == [node.rows for node in tree]


def test_a_hand_written_tree_has_values():
    tree = tw.parse("x <= 1 -> a\nx > 1\n  x <= 2 -> b\n  x > 2 -> a")
    assert tree.value[[1, 3]].tolist() == [[[1.0, 0.0]], [[0.0, 1.0]]]
    assert tree.children_left.tolist() == [1, -1, 3, -1, -1]
    assert tree.to_sklearn().predict(pd.DataFrame({"x": [0, 1.5, 3]})).tolist() == ["a", "b", "a"]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_as_an_estimator_of_scikit_learn(task):
    x, classes, numbers = without_ties()
    model = TreeClassifier(max_depth=5).fit(x, classes)
    if task == "regression":
        model = TreeRegressor(max_depth=5).fit(x, numbers)
    theirs = model.tree_.to_sklearn()
    assert np.array_equal(theirs.predict(x), model.predict(x))
    assert np.array_equal(theirs.apply(x), model.apply(x))
    assert theirs.get_depth() == model.get_depth()
    if task == "classification":
        assert np.array_equal(theirs.predict_proba(x), model.predict_proba(x))
    assert theirs.feature_importances_ == pytest.approx(model.feature_importances_)
    texts = [text.get_text() for text in plot_tree(theirs, impurity=False)]
    assert len([text for text in texts if "samples" in text]) == len(model.tree_)
    assert export_text(theirs, max_depth=9).count("\n") >= model.tree_.n_leaves
    assert "digraph" in export_graphviz(theirs)
    back = tw.from_sklearn(theirs)
    assert np.array_equal(back.predict(x), model.predict(x))


def test_a_single_leaf_as_an_estimator_of_scikit_learn():
    theirs = TreeRegressor(max_depth=0).fit([[1], [2]], [1.0, 3.0]).tree_.to_sklearn()
    assert theirs.predict(pd.DataFrame({"x1": [5.0]})).tolist() == [2.0]


# -- parameters under scikit-learn's names -----------------------------------------------------------------------------

AGES = pd.DataFrame({"age": [20, 30, 40, 50, 60, 70], "dose": [3, 1, 2, 3, 1, 2]})
ILL = [0.0, 2.0, 1.0, 5.0, 4.0, 6.0]


@pytest.mark.parametrize("estimator", [TreeRegressor, ForestRegressor, BaggingRegressor])
def test_monotonic_cst_is_monotone(estimator):
    named = estimator(monotone={"age": 1}).fit(AGES, ILL)
    model = named.tree_ if hasattr(named, "tree_") else named.ensemble_
    for signs in ([1, 0], np.array([1, 0]), {"age": 1}):
        again = estimator(monotonic_cst=signs).fit(AGES, ILL)
        assert (again.tree_ if hasattr(again, "tree_") else again.ensemble_) == model
    unnamed = estimator(monotonic_cst=[1, 0]).fit(AGES.to_numpy(), ILL)
    assert np.array_equal(unnamed.predict(AGES.to_numpy()), named.predict(AGES))


def test_monotonic_cst_is_checked():
    with pytest.raises(ParameterError, match=r"^monotonic_cst: has shape \(1,\), but X has 2 features\."):
        TreeRegressor(monotonic_cst=[1]).fit(AGES, ILL)
    with pytest.raises(ParameterError, match="another name of monotone"):
        TreeRegressor(monotonic_cst=[1, 0], monotone={"age": 1}).fit(AGES, ILL)
    with pytest.raises(ParameterError, match='column "age": must be'):
        TreeRegressor(monotonic_cst=[2, 0]).fit(AGES, ILL)
    with pytest.raises(ColumnError, match='no column "agee"'):
        TreeRegressor(monotonic_cst={"agee": 1}).fit(AGES, ILL)
    with pytest.raises(ParameterError, match="has 3 classes"):
        TreeClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, Y)


def macro_f1(truth, predicted):
    return f1_score(truth, predicted, average="macro")


@pytest.mark.parametrize("positive", [None, "setosa"])
def test_a_function_as_out_of_bag_score(positive):
    two = NAMES != "virginica"
    features, target = (X, NAMES) if positive is None else (X[two], NAMES[two])
    for score in (macro_f1, accuracy_score):
        model = ForestClassifier(30, oob_score=score, positive=positive, max_depth=2).fit(features, target)
        predicted = model.classes_[model.oob_decision_function_.argmax(axis=1)]
        assert model.oob_score_ == score(target, predicted)
    assert ForestClassifier(30, oob_score=True, positive=positive, max_depth=2).fit(
        features, target
    ).oob_score_ == pytest.approx(model.oob_score_)


def test_a_function_as_out_of_bag_score_of_numbers_and_with_warm_start():
    features, target = load_diabetes(return_X_y=True)
    model = ForestRegressor(20, oob_score=mean_absolute_error, max_depth=3, warm_start=True).fit(features, target)
    assert model.oob_score_ == pytest.approx(mean_absolute_error(target, model.oob_prediction_))
    model.set_params(n_estimators=25).fit(features, target)
    assert model.oob_score_ == pytest.approx(mean_absolute_error(target, model.oob_prediction_))
    with pytest.raises(ParameterError, match="oob_score has changed"):
        model.set_params(n_estimators=30, oob_score=True).fit(features, target)


def test_rows_without_a_prediction_are_not_scored():
    with pytest.warns(UserWarning, match="were in the sample of every tree"):
        model = ForestClassifier(2, oob_score=lambda truth, _: len(truth)).fit(X, NAMES)
    assert model.oob_score_ == np.count_nonzero(~np.isnan(model.oob_decision_function_[:, 0])) < len(X)
