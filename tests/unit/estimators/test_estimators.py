"""Tree estimators: scikit-learn's checks and tools, equality with scikit-learn's trees, error messages."""

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
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor, BaggingClassifier, VotingClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import treewise as tw
from treewise import TreeClassifier, TreeRegressor
from treewise.errors import ColumnError, DataError, ParameterError, TreewiseError
from treewise.estimators import trees
from treewise.estimators.options import TreeClassifierOptions
from treewise.formats.model_file.model_file import dumps, loads

BOTH = [TreeClassifier, TreeRegressor]
PENGUINS = tw.datasets.penguins().to_pandas()
X, Y = PENGUINS.drop(columns="species"), PENGUINS["species"]


def frame():
    """Every kind of column, with holes."""
    return pd.DataFrame(
        {
            "town": ["Bari", "Rome", "Rome", None, "Oslo", "Oslo"],
            "age": [31, 54, None, 20, 33, 60],
            "member": pd.array([True, False, True, None, False, False], "boolean"),
            "when": pd.to_datetime(["2024-01-01", "2024-02-01", None, "2024-03-01", "2024-01-05", "2024-01-06"]),
            "size": pd.Categorical(["S", "M", "L", "S", "M", "L"]),
        }
    )


OUTCOME = pd.Series(["a", "b", "a", "a", "b", "b"], name="outcome")


# -- scikit-learn's own checks -----------------------------------------------------------------------------------------


class BareClassifier(TreeClassifier):
    """Without the tags that make scikit-learn round its test data to categories."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


class BareRegressor(TreeRegressor):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        return tags


@pytest.mark.parametrize(
    "estimator",
    [
        TreeClassifier(),
        TreeRegressor(),
        BareClassifier(),
        BareRegressor(),
        BareClassifier(criterion="gini", max_leaf_nodes=12, missing="branch"),
        BareClassifier(preset="cart", categorical="any", ties="random"),
        BareRegressor(criterion="absolute_error", max_leaf_nodes=50),
    ],
    ids=lambda e: repr(e)[:40],
)
def test_every_check_passes(estimator):
    results = check_estimator(estimator, on_skip=None)
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input"}
    assert len(results) >= 58


def test_every_check_passes_with_array_api_too():
    code = """
from sklearn.utils.estimator_checks import check_estimator
from treewise import TreeClassifier, TreeRegressor
for estimator in (TreeClassifier(), TreeRegressor()):
    results = check_estimator(estimator, on_skip="warn")
    assert {r["status"] for r in results} == {"passed"}
    print(len(results))
"""
    run = [sys.executable, "-W", "error::sklearn.exceptions.SkipTestWarning", "-c", code]
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    completed = subprocess.run(run, env=environment, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    assert min(map(int, completed.stdout.split())) >= 58


@pytest.mark.parametrize("estimator", BOTH)
def test_parameters_are_those_of_grow(estimator):
    grow = {p.name: p.default for p in inspect.signature(tw.grow).parameters.values()}
    ours = {p.name: p.default for p in inspect.signature(estimator).parameters.values()}
    assert ours.pop("monotonic_cst") is None  # scikit-learn's name for monotone
    assert ours == {name: grow[name] for name in ours}
    apart = {"data", "target", "task", "sample_weight", "exposure"}
    apart |= {"memory", "engine", "show_queries"}  # files and databases
    apart |= {"round_thresholds", "labels", "display_names", "units"}  # words for readers
    if estimator is TreeRegressor:
        apart |= {"positive", "class_weight", "priors", "cost", "sufficient_accuracy"}
    assert set(grow) - set(ours) == apart


def test_the_types_of_parameters_are_those_of_grow():
    written = {p.name: p.annotation for p in inspect.signature(tw.grow).parameters.values()} | {
        "random_state": "int | np.random.RandomState | None",
        "monotonic_cst": "Sequence[int] | Mapping[str, int] | None",
    }
    listed = {name: hint.__forward_arg__ for name, hint in TreeClassifierOptions.__annotations__.items()}
    assert listed == {name: written[name] for name in listed}


def test_a_parameter_nobody_has_is_refused_with_the_nearest_name():
    with pytest.raises(TypeError, match=r'^TreeClassifier has no parameter max_dept\. Did you mean "max_depth"\?$'):
        TreeClassifier(max_dept=3)
    with pytest.raises(TypeError, match="positional"):
        TreeClassifier("gini")


# -- what goes in ------------------------------------------------------------------------------------------------------


def test_the_tree_is_the_one_that_grow_grows():
    assert TreeClassifier().fit(X, Y).tree_ == tw.grow(PENGUINS, "species")
    assert TreeClassifier(preset="id3").fit(frame(), OUTCOME).tree_ == tw.grow(frame(), OUTCOME, preset="id3")
    y = np.array([1.5, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert TreeRegressor(max_depth=2).fit(frame(), y).tree_ == tw.grow(frame(), y, max_depth=2)


def test_every_library_gives_the_same_tree():
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    inputs = [pl.from_pandas(X), pl.from_pandas(X).lazy(), pl.from_pandas(X).to_arrow(), rows, X.to_dict("list")]
    targets = [Y, pl.Series("species", Y.tolist()), Y.to_frame(), [{"species": y} for y in Y]]
    model = TreeClassifier().fit(X, Y)
    for data in inputs:
        again = TreeClassifier().fit(data, Y)
        assert again.tree_ == model.tree_
        assert list(model.predict(data)) == list(model.predict(X))
        assert list(again.feature_names_in_) == list(X.columns)
    for target in targets:
        again = TreeClassifier().fit(X, target)
        assert again.tree_ == model.tree_
        assert list(again.classes_) == ["Adelie", "Chinstrap", "Gentoo"]


def test_duckdb_relations():
    duckdb = pytest.importorskip("duckdb")
    data = PENGUINS.astype({"island": str})
    relation = duckdb.sql("select * exclude (species) from data")
    target = duckdb.sql("select species::varchar as species from data")
    model = TreeClassifier().fit(relation, target)
    assert model.tree_ == TreeClassifier().fit(data.drop(columns="species"), Y).tree_
    assert model.score(relation, Y) == 1.0


def test_all_kinds_of_columns_and_holes():
    model = TreeClassifier().fit(frame(), OUTCOME)
    assert list(model.predict(frame())) == list(OUTCOME)
    assert list(model.feature_names_in_) == list(frame().columns)
    assert [e.kind for e in model.tree_.encodings] == ["nominal", "number", "boolean", "datetime", "nominal"]
    assert model.tree_.target.name == "outcome"


@pytest.mark.parametrize(
    ("y", "classes", "kind"),
    [
        ([2, 1, 2, 1, 2, 2], [1, 2], "i"),
        ([2.0, 1.0, 2, 1, 2, 2], [1.0, 2.0], "f"),
        ([True, False, True, True, False, False], [False, True], "b"),
        (["2", "1", "10", "1", "2", "2"], ["1", "10", "2"], "U"),
        (np.array(["b", "a"] * 3, object), ["a", "b"], "O"),
        (np.array([200, 100] * 3, np.uint8), [100, 200], "u"),
        (pd.Series([2, 1] * 3, dtype="Int64"), [1, 2], "i"),
        (pd.Series(["low", "high"] * 3, dtype=pd.CategoricalDtype(["low", "high"])), ["high", "low"], "O"),
        (pl.Series(["b", "a"] * 3), ["a", "b"], "U"),
        (np.array(["2024-02-01", "2024-01-01"] * 3, "M8[D]"), ["2024-01-01", "2024-02-01"], "M"),
    ],
    ids=str,
)
def test_classes_are_sorted_and_keep_their_type(y, classes, kind):
    model = TreeClassifier().fit(np.arange(6).reshape(-1, 1), y)
    assert [str(c) for c in model.classes_] == [str(c) for c in classes]
    assert model.classes_.dtype.kind == kind
    assert model.predict(np.arange(6).reshape(-1, 1)).tolist() == np.asarray(y).tolist()
    assert model.n_classes_ == len(classes)
    assert loads(dumps(model.tree_)) == model.tree_


def test_text_that_looks_like_numbers_stays_text():
    model = TreeClassifier().fit([[0], [1]], ["1.0", "1"])
    assert model.predict([[0], [1]]).tolist() == ["1.0", "1"]


def test_positive_is_last_in_the_tree_and_probabilities_stay_in_class_order():
    plain = TreeClassifier(max_depth=1).fit(X, Y)
    moved = TreeClassifier(max_depth=1, positive="Adelie").fit(X, Y)
    assert moved.tree_.classes == ("Chinstrap", "Gentoo", "Adelie")
    assert moved.classes_.tolist() == plain.classes_.tolist()
    assert np.array_equal(moved.predict_proba(X), plain.predict_proba(X))
    assert np.array_equal(moved.predict(X), plain.predict(X))
    assert log_loss(Y, moved.predict_proba(X)) == log_loss(Y, plain.predict_proba(X))
    assert TreeClassifier(positive=1.0).fit([[0], [1]], [1, 2]).tree_.classes == (2, 1)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_targets(missing):
    y = ["a", missing, "b", "b", "a", "a"]
    with pytest.raises(DataError, match=r'target "y" is missing in 1 row \(2\)'):
        TreeClassifier().fit(frame(), y)
    model = TreeClassifier(drop_missing_target=True).fit(frame(), y)
    assert model.classes_.tolist() == ["a", "b"]
    assert model.tree_[0].rows == 5


def test_na_values_hold_for_predictions_too():
    model = TreeClassifier(na_values=["-9"]).fit({"x": [-9, 1, 2, 3, -9]}, [1, 0, 0, 0, 1])
    assert model.predict({"x": [-9, 5]}).tolist() == [1, 0]


def test_a_column_of_x_may_have_the_target_s_name():
    model = TreeClassifier().fit({"y": [1, 2, 3, 4]}, [0, 0, 1, 1])
    assert model.tree_.columns == ("y",)
    assert model.tree_.target.name != "y"
    assert model.predict({"y": [1, 4]}).tolist() == [0, 1]


# -- names at prediction -----------------------------------------------------------------------------------------------


def test_columns_are_matched_by_name():
    model = TreeClassifier().fit(X, Y)
    assert np.array_equal(model.predict(X[X.columns[::-1]].assign(extra=1)), model.predict(X))
    with pytest.raises(ColumnError, match=r'X has no column "sex", which TreeClassifier was fitted with'):
        model.predict(X.drop(columns="sex"))
    with pytest.raises(ColumnError, match=r'Did you mean "body_mass"\?'):
        model.predict(X.rename(columns={"body_mass_g": "body_mass"}))


def test_without_names_columns_go_by_position():
    data = load_iris(as_frame=True)
    named, bare = TreeClassifier().fit(data.data, data.target), TreeClassifier().fit(data.data.to_numpy(), data.target)
    assert not hasattr(bare, "feature_names_in_")
    assert bare.tree_.columns == ("x1", "x2", "x3", "x4")
    with pytest.warns(UserWarning, match="X does not have valid feature names, but TreeClassifier was fitted with"):
        assert np.array_equal(named.predict(data.data.to_numpy()), data.target)
    with pytest.warns(UserWarning, match="X has feature names, but TreeClassifier was fitted without"):
        assert np.array_equal(bare.predict(data.data), data.target)
    numbered = data.data.set_axis(range(4), axis=1)  # what pandas makes of an array: no names, says scikit-learn
    assert not hasattr(TreeClassifier().fit(numbered, data.target), "feature_names_in_")
    assert np.array_equal(bare.predict(numbered), data.target)
    with pytest.raises(DataError, match=r"X has 3 features, but TreeClassifier is expecting 4 features as input \(x1"):
        bare.predict(data.data.iloc[:, :3])


def test_ignored_columns_need_not_come_back_and_weigh_nothing():
    model = TreeClassifier(ignore=["odd", "island"]).fit(X.assign(odd=[object()] * len(X)), Y)
    assert model.n_features_in_ == 7
    assert model.predict(X.drop(columns="island")).shape == (344,)
    importances = dict(zip(model.feature_names_in_, model.feature_importances_, strict=True))
    assert importances["odd"] == importances["island"] == 0
    assert sum(importances.values()) == pytest.approx(1)


# -- scikit-learn's tools ----------------------------------------------------------------------------------------------


def test_pipelines_and_column_transformers():
    numbers = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    prepare = ColumnTransformer(
        [("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers)],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = make_pipeline(prepare, TreeClassifier(max_depth=3)).fit(X, Y)
    assert model.score(X, Y) > 0.9
    assert sorted(model[-1].feature_names_in_) == sorted(X.columns)
    arrays = make_pipeline(clone(prepare).set_output(transform="default"), TreeClassifier(max_depth=3)).fit(X, Y)
    assert np.array_equal(arrays.predict(X), model.predict(X))
    polars = make_pipeline(clone(prepare).set_output(transform="polars"), TreeClassifier(max_depth=3)).fit(X, Y)
    assert np.array_equal(polars.predict(X), model.predict(X))


def test_searches_and_validation():
    grid = {"max_depth": np.arange(1, 4), "min_samples_leaf": np.array([1, 5]), "criterion": ["gini", "entropy"]}
    search = GridSearchCV(TreeClassifier(), grid, scoring="neg_log_loss", cv=3).fit(X, Y)
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.best_estimator_.score(X, Y) > 0.9
    assert cross_val_score(TreeClassifier(max_depth=3), X, Y, cv=3).min() > 0.8
    assert cross_val_score(TreeRegressor(max_depth=3), X, X["bill_depth_mm"].fillna(17), cv=3).shape == (3,)
    rows = X.astype(object).where(X.notna(), None).to_dict("records")
    assert cross_val_score(TreeClassifier(max_depth=3), rows, list(Y), cv=3).min() > 0.8
    assert cross_val_predict(TreeClassifier(max_depth=2), X, Y, cv=3, method="predict_proba").shape == (344, 3)
    assert CalibratedClassifierCV(TreeClassifier(max_depth=2), cv=3).fit(X, Y).predict_proba(X).shape == (344, 3)


def test_a_fold_without_a_class_is_no_error():
    model = TreeClassifier(class_weight={"a": 2, "b": 1, "c": 3}, max_depth=0).fit([[0], [1]], ["a", "b"])
    assert model.predict_proba([[0]]).tolist() == [[2 / 3, 1 / 3]]
    with pytest.raises(ParameterError, match='class_weight names "c"; the classes are a, b'):
        TreeClassifier(class_weight={"a": 2, "c": 3}).fit([[0], [1]], ["a", "b"])


def test_ensembles():
    data, y = load_iris(return_X_y=True)
    assert BaggingClassifier(TreeClassifier(), n_estimators=5, random_state=0).fit(data, y).score(data, y) > 0.9
    stump = TreeClassifier(max_depth=1)
    assert AdaBoostClassifier(stump, n_estimators=20, random_state=0).fit(data, y).score(data, y) > 0.9
    assert (
        AdaBoostRegressor(TreeRegressor(max_depth=2), n_estimators=5, random_state=0).fit(data, y).score(data, y) > 0.8
    )
    voting = VotingClassifier([("ours", TreeClassifier()), ("theirs", DecisionTreeClassifier())], voting="soft")
    assert voting.fit(data, y).score(data, y) > 0.9
    assert MultiOutputRegressor(TreeRegressor(max_depth=2)).fit(data, data[:, :2]).predict(data).shape == (150, 2)


def test_weights_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        tree = TreeClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        data, y = load_iris(return_X_y=True)
        w = np.where(y == 2, 0, 1)
        model = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), tree).fit(data, y, sample_weight=w)
        assert model[-1].classes_.tolist() == [0, 1]
        search = GridSearchCV(tree, {"max_depth": [2]}, cv=3).fit(data, y, sample_weight=w)
        assert search.best_estimator_.classes_.tolist() == [0, 1]


def test_weights_may_be_a_column():
    data = X.assign(w=np.where(Y == "Gentoo", 0, 1))
    model = TreeClassifier().fit(data, Y, sample_weight="w")
    assert model.classes_.tolist() == ["Adelie", "Chinstrap"]
    assert "w" not in model.tree_.columns
    assert model.predict(X).shape == (344,)


# -- copies ------------------------------------------------------------------------------------------------------------


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize(
    "send",
    [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy, through_joblib],
    ids=["pickle", "copy", "deepcopy", "joblib"],
)
@pytest.mark.parametrize("model", [TreeClassifier(positive="Adelie"), TreeRegressor(max_depth=3)], ids=repr)
def test_copies_predict_the_same(send, model):
    model = clone(model).fit(X, Y if isinstance(model, TreeClassifier) else Y.str.len())
    again = send(model)
    assert again.get_params() == model.get_params()
    assert again.tree_ == model.tree_
    assert again.tree_.history == model.tree_.history
    assert np.array_equal(again.predict(X), model.predict(X))
    assert list(again.feature_names_in_) == list(model.feature_names_in_)
    assert send(TreeClassifier(max_depth=3)).get_params() == TreeClassifier(max_depth=3).get_params()


def test_a_tree_is_pickled_as_its_file():
    tree = TreeClassifier().fit(X, Y).tree_
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) == tree
    assert tree.__getstate__() == {"model_file": dumps(tree, complete=True)}
    assert b"numpy" not in pickle.dumps(tree)


def test_clones_are_unfitted_and_keep_parameters():
    kinds = {"town": {"Bari", "Rome", "Oslo", "Kiev"}, "size": ["S", "M", "L"]}
    model = TreeClassifier(kinds=kinds, ignore=["age"], class_weight={"a": 2}).fit(frame(), OUTCOME)
    cloned = clone(model)
    assert cloned.get_params() == model.get_params()
    assert not hasattr(cloned, "tree_")
    assert cloned.fit(frame(), OUTCOME).tree_ == model.tree_
    assert cloned.set_params(max_depth=0).fit(frame(), OUTCOME).get_depth() == 0


def test_deep_trees_need_no_recursion():
    X, y = np.arange(3000).reshape(-1, 1), np.arange(3000) % 2
    model = TreeClassifier(criterion="gini").fit(X, y)
    assert model.get_depth() == 2999
    assert model.decision_path(X[-1:]).nnz == 3000
    assert model.decision_path(X).nnz == int((model.tree_.depths[model.apply(X)] + 1).sum())
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), y)


# -- chance, and failure -----------------------------------------------------------------------------------------------


def test_growing_twice_gives_the_same_tree():
    X = np.array([[0, 0], [1, 1], [0, 0], [1, 1]] * 5)
    y = [0, 1, 0, 1] * 5
    trees = [TreeClassifier(ties="random", random_state=seed).fit(X, y).tree_ for seed in (None, 0, np.int64(0))]
    assert trees[0] == trees[1] == trees[2]
    drawn = [TreeClassifier(ties="random", random_state=np.random.RandomState(s)).fit(X, y).tree_ for s in range(9)]
    assert {tree[0].split.column for tree in drawn} == {"x1", "x2"}
    before = np.random.get_state()[1].copy()
    TreeClassifier(ties="random", random_state=None).fit(X, y)
    assert np.array_equal(before, np.random.get_state()[1])


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, DataError])
def test_a_failed_fit_leaves_the_estimator_as_it_was(error, monkeypatch):
    fitted, fresh = TreeClassifier().fit(X, Y), TreeClassifier()
    before, unfitted = dict(vars(fitted)), dict(vars(fresh))

    def fail(*args, **options):
        raise error

    monkeypatch.setattr(trees, "grow", fail)
    for model in (fitted, fresh):
        with pytest.raises(error):
            model.fit(np.eye(4), [0, 1, 0, 1])
    assert vars(fitted) == before
    assert vars(fresh) == unfitted
    monkeypatch.undo()
    fitted.fit(np.eye(4), [0, 1, 0, 1])
    assert not hasattr(fitted, "feature_names_in_")


def test_nothing_given_is_changed():
    data, y, w = X.copy(), Y.copy(), np.arange(344.0)
    TreeClassifier(class_weight="balanced").fit(data, y, w).predict(data)
    pd.testing.assert_frame_equal(data, X)
    pd.testing.assert_series_equal(y, Y)
    assert np.array_equal(w, np.arange(344.0))


@pytest.mark.parametrize("name", ["predict", "predict_proba", "apply", "decision_path"])
def test_unfitted_estimators_raise(name):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(TreeClassifier(), name)(X)
    assert not hasattr(TreeClassifier(), "feature_importances_")


ONE = np.arange(6).reshape(-1, 1)
AB = ["a", "b"] * 3


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (
            lambda: TreeClassifier().fit(ONE, scipy.sparse.csr_array([[0], [1]])),
            r"y is a sparse matrix.*y.toarray\(\).ravel",
        ),
        (lambda: TreeClassifier().fit(scipy.sparse.csr_array(ONE * 1j), AB), "Complex data not supported"),
        (lambda: TreeClassifier().fit(scipy.sparse.csr_array(ONE[:, :0]), AB), r"X has 0 feature\(s\)"),
        (
            lambda: TreeClassifier().fit(ONE, AB).predict(scipy.sparse.csr_array([[1, 2]])),
            "X has 2 features, but TreeClassifier is expecting 1",
        ),
        (lambda: TreeClassifier().fit(ONE.ravel(), AB), r"X is an array with 1 dimension.*Reshape your data"),
        (lambda: TreeClassifier().fit(X["sex"], Y), r"X is an array with 1 dimension"),
        (lambda: TreeClassifier().fit([1, 2, 3], [0, 1, 0]), r"X is an array with 1 dimension"),
        (lambda: TreeClassifier().fit(ONE * 1j, AB), "Complex data not supported: X is an array of complex128"),
        (lambda: TreeClassifier().fit(ONE[:, :0], AB), r"X has 0 feature\(s\)"),
        (lambda: TreeClassifier().fit(ONE[:0], []), r"(X has 0 sample\(s\)|y has columns \(y\) but no rows)"),
        (lambda: TreeClassifier().fit(ONE, AB[:3]), "y has 3 values, X has 6 rows"),
        (lambda: TreeClassifier().fit(ONE, None), "TreeClassifier requires y to be passed, but the target y is None"),
        (lambda: TreeClassifier().fit(ONE, ONE @ [[1, 2]]), r"y should be a 1d array.*shape is \(6, 2\)"),
        (lambda: TreeClassifier().fit(ONE, "age"), r"y should be a 1d array"),
        (lambda: TreeClassifier().fit(ONE, pd.DataFrame({"a": AB, "b": AB})), "y should be a 1d array.*has 2: a, b"),
        (lambda: TreeClassifier().fit(ONE, ONE / 4), r"continuous target \(0.25 in row 2\).*TreeRegressor"),
        (lambda: TreeClassifier().fit(ONE.ravel(), np.full(6, np.inf)), r"continuous target \(inf in row 1\)"),
        (lambda: TreeClassifier().fit(ONE, ["a", 1] * 3), r'mixes text \("a" in row 1\) and numbers \(1 in row 2\)'),
        (lambda: TreeRegressor().fit(ONE, AB), r'y does not hold numbers \("a" in row 1\). TreeClassifier is for'),
        (lambda: TreeRegressor().fit(ONE, [1, 2, np.inf, 1, 1, 1]), r"inf in row 3"),
        (
            lambda: TreeRegressor(criterion="gini").fit(ONE, ONE),
            'criterion="gini": this criterion is for classification. TreeRegressor',
        ),
        (lambda: TreeClassifier(criterion="poisson").fit(ONE, AB), "TreeClassifier takes entropy, gini, error"),
        (lambda: TreeClassifier(criterion="friedman").fit(ONE, AB), 'criterion="friedman": must be one of'),
        (lambda: TreeClassifier(criterion="friedman_mse").fit(ONE, AB), "this criterion is for regression"),
        (lambda: TreeClassifier(positive="c").fit(ONE, AB), 'positive="c": target "y" has the classes a, b'),
        (lambda: TreeClassifier(ignore=["z"]).fit(ONE, AB), 'ignore: no column "z"'),
        (lambda: TreeClassifier(random_state=-1).fit(ONE, AB), "random_state=-1: must be"),
        (lambda: TreeClassifier(random_state=np.random.default_rng()).fit(ONE, AB), "random_state=.*Generator"),
        (lambda: TreeClassifier().fit(ONE, AB, np.zeros(6)), "sample_weight is zero in every row"),
        (lambda: TreeClassifier().fit(ONE, AB, -np.ones(6)), r"sample_weight is negative in row 1 \(-1\)"),
        (lambda: TreeClassifier().fit(ONE, AB, np.ones((6, 2))), "sample_weight"),
        (lambda: TreeClassifier().fit(ONE, AB, ["a"] * 6), "sample_weight"),
        (lambda: TreeClassifier(na_values=[None]).fit(ONE, AB), "na_values"),
        (lambda: TreeClassifier().fit(ONE, AB, np.ones(5)), "sample_weight has 5 values, X has 6 rows"),
        (lambda: TreeClassifier(missing="error").fit([[1], [None]], [0, 1]), 'column "x1" is missing in 1 row'),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_errors_are_single_sentences(fit, message):
    with pytest.raises(TreewiseError, match=message) as caught:
        fit()
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_a_column_vector_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        TreeRegressor().fit(ONE, ONE)


def test_tags_describe_the_input():
    tags = TreeClassifier().__sklearn_tags__()
    assert (tags.input_tags.allow_nan, tags.input_tags.string, tags.input_tags.categorical) == (True, True, True)
    assert (tags.input_tags.sparse, tags.target_tags.multi_output) == (True, False)
    assert not TreeClassifier(missing="error").__sklearn_tags__().input_tags.allow_nan


def test_a_target_named_as_a_column_is_called_y():
    model = TreeClassifier().fit(X, X["island"])
    assert model.tree_.target.name == "y"
    assert "island" in model.tree_.columns
    with pytest.raises(DataError, match=r'^target "y" is missing in'):
        TreeClassifier().fit(X, X["sex"])


def test_names_and_values_that_scikit_learn_accepts():
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20) > 9
    assert TreeClassifier(criterion="log_loss").fit(X, y).tree_ == TreeClassifier(criterion="entropy").fit(X, y).tree_
    assert TreeRegressor().fit(X, y).predict(X[[0, 15]]).tolist() == [0.0, 1.0]
    assert TreeClassifier(min_samples_split=1.0).fit(X, y).get_n_leaves() == 2
    assert TreeClassifier().fit(X, y, sample_weight=2.0).tree_.arrays.weight.tolist() == [40.0, 20.0, 20.0]
