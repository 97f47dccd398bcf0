"""Ensembles as scikit-learn estimators: forests, extra-trees, bagging and AdaBoost.

On ``base.py``, which reads X and y; ``treewise.ensemble`` grows the trees and predicts with them. A fitted estimator
keeps one ``Ensemble``; its members are shown as ``TreeClassifier`` or ``TreeRegressor`` when they are asked for.
Parameters have the names and defaults of ``treewise.forest``, ``extra_trees``, ``bagging`` or ``adaboost``, and of
``treewise.grow`` for the single trees: there is no ``estimator=``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Self, Unpack, overload

import joblib  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
from scipy.sparse import hstack  # type: ignore[import-untyped]
from sklearn.metrics import accuracy_score, r2_score  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from treewise._lib.checks import check_integer
from treewise._lib.text import plural
from treewise.data.table import Table
from treewise.ensemble import Ensemble
from treewise.ensemble import predict as voting
from treewise.ensemble.adaboost import adaboost, boost_training_set, extend_adaboost
from treewise.ensemble.bagging import bagging
from treewise.ensemble.forest import extra_trees, forest, prepare_extra_trees, prepare_forest
from treewise.ensemble.grow import check_same_table, extend_training_set, grow_ensemble, prepare_ensemble
from treewise.ensemble.oob import oob_score, predict_oob
from treewise.ensemble.params import AdaBoostParams, BaggingMethod, BaggingParams
from treewise.errors import Param, ParameterError
from treewise.estimators.base import BaseClassifier, BaseRegressor, Estimator, FitInput, Floats, Ints, in_order
from treewise.estimators.inputs import warn
from treewise.estimators.options import (
    AdaBoostOptions,
    BaggingClassifierOptions,
    BaggingOptions,
    ExtraTreesClassifierOptions,
    ExtraTreesOptions,
    ForestClassifierOptions,
    ForestOptions,
    parameters,
)
from treewise.estimators.trees import BaseTree, TreeClassifier, TreeRegressor, paths_to
from treewise.evaluate.importances import importance_shares
from treewise.predict.predict import encode_table
from treewise.train.grow import grow, resolve_n_jobs
from treewise.train.training_set import TrainingSet

_WARM_PARAMETERS = ("n_estimators", "warm_start", "n_jobs")  # may change between warm fits
_SHARED_ATTRIBUTES = (
    "classes_",
    "n_classes_",
    "_order",
    "n_features_in_",
    "n_outputs_",
    "_features",
    "feature_names_in_",
)


class _BaseEnsemble(Estimator):
    """Base of all ensembles: growing, warm starts, and what only reads the trees.

    >>> from treewise import ForestClassifier
    >>> X, y = [[1], [2], [3], [4]], ["a", "a", "b", "b"]
    >>> model = ForestClassifier(2, bootstrap=False, warm_start=True).fit(X, y)
    >>> model.set_params(n_estimators=3).fit(X, y).apply([[1], [4]]).tolist()
    [[1, 1, 1], [2, 2, 2]]
    >>> model.estimators_[0].tree_ == model.ensemble_[0], len(model.estimators_), model.feature_importances_.tolist()
    (True, 3, [1.0])
    >>> paths, starts = model.decision_path([[1]])
    >>> paths.toarray().tolist(), starts.tolist()
    ([[1, 1, 0, 1, 1, 0, 1, 1, 0]], [0, 3, 6, 9])
    """

    _model = "ensemble_"
    ensemble_: Ensemble
    _grown_with: dict[str, Any]

    # -- growing --------------------------------------------------------------------------------------------------

    def _grow(self, training_set: TrainingSet) -> Ensemble:
        raise NotImplementedError

    def _grow_more(self, before: Ensemble, training_set: TrainingSet, n: int) -> Ensemble:
        raise NotImplementedError

    def _learn(self, given: FitInput) -> Ensemble:
        """Grow the trees; with ``warm_start`` only the missing ones."""
        if not self._is_warm():
            return self._grow(given.training_set)
        self._check_same_parameters()
        before = self.ensemble_.with_(target=given.training_set.target)
        check_same_table(before, given.training_set, "warm_start")
        check_integer("n_estimators", self.n_estimators, least=1)
        if self.n_estimators < len(before):
            raise ParameterError(
                "with " + Param("warm_start") + f" trees are only added, and there are already {len(before)}.",
                parameter="n_estimators",
                value=self.n_estimators,
                hint="Increase it, or fit from scratch with " + Param("warm_start", False) + ".",
            )
        if self.n_estimators == len(before):
            warn(f"warm_start: there are already {len(before)} trees, so none is added.", stacklevel=4)
            return before
        return self._grow_more(before, given.training_set, self.n_estimators - len(before))

    def _is_warm(self) -> bool:
        return bool(self.warm_start) and "ensemble_" in vars(self)

    def _seed(self) -> Any:
        """Return the seed; one drawn from a generator is kept for the trees that are added later."""
        if self._is_warm() and isinstance(self.random_state, np.random.RandomState):
            return self.ensemble_.fit_info.settings.get("random_state", 0)
        return super()._seed()

    def _check_same_parameters(self) -> None:
        """Refuse to add trees grown with other parameters than the existing ones."""
        for name, now in self.get_params(deep=False).items():
            if name not in _WARM_PARAMETERS and not _is_same(now, self._grown_with[name]):
                raise ParameterError(
                    f"{name} has changed since the trees were grown, and added trees must be grown alike.",
                    parameter="warm_start",
                    hint="Restore it, or fit from scratch with " + Param("warm_start", False) + ".",
                )

    def _set_fitted(self, given: FitInput, model: Any, **fitted: Any) -> Self:
        """Set the fitted attributes, and remember the parameters for warm starts."""
        return super()._set_fitted(given, model, **fitted, _grown_with=_snapshot(self.get_params(deep=False)))

    # -- reading the trees -----------------------------------------------------------------------------------------

    @property
    def estimators_(self) -> Sequence[BaseTree]:
        """The trees as fitted ``TreeClassifier`` or ``TreeRegressor``, created on access."""
        check_is_fitted(self)
        return _FittedMembers(self)

    def _tree(self, t: int) -> BaseTree:
        kind = TreeClassifier if self._task == "classification" else TreeRegressor
        given = {name: getattr(self, name) for name in kind._get_param_names() if hasattr(self, name)}
        # As the trees were grown: for bagging max_features means columns per tree, and a forest has its own defaults.
        settings = self.ensemble_.fit_info.settings
        given |= {"max_features": settings.get("max_features"), "splitter": settings.get("splitter", "best")}
        tree = kind(**given)
        for name in _SHARED_ATTRIBUTES:
            if name in vars(self):
                setattr(tree, name, vars(self)[name])
        tree.tree_ = self.ensemble_[t]
        return tree

    def apply(self, X: Any) -> Ints:
        """Return the leaf that each row reaches in each tree, as node numbers of shape (rows, trees)."""
        table = self._read(X)
        return self._leaf_nodes(table)

    def _leaf_nodes(self, table: Table) -> Ints:
        leaves: Ints = self.ensemble_.leaves(encode_table(self.ensemble_, table)).astype(np.int64)
        return leaves

    def decision_path(self, X: Any) -> tuple[Any, Ints]:
        """Return a sparse indicator matrix of the nodes each row passes, and the first column of each tree.

        As in scikit-learn, the nodes of tree t are the columns ``starts[t]`` to ``starts[t + 1]``.
        """
        table = self._read(X)
        ends = self._leaf_nodes(table)
        paths = [paths_to(tree, ends[:, t]) for t, tree in enumerate(self.ensemble_)]
        return hstack(paths, format="csr"), np.cumsum([0, *(path.shape[1] for path in paths)])

    @property
    def _voting(self) -> voting.ForestPredictor:
        return self.ensemble_.predictor

    def _sums(self, table: Table) -> Floats:
        return self._voting.sums(
            encode_table(self.ensemble_, table).columns, len(table), n_jobs=resolve_n_jobs(self.n_jobs)
        )

    def _stages(self, table: Table) -> Iterator[tuple[int, Floats]]:
        return voting.staged_sums(self.ensemble_, encode_table(self.ensemble_, table))

    @property
    def feature_importances_(self) -> Floats:
        """The share of each column of X in the total decrease of impurity: the mean over the trees, by vote weight."""
        check_is_fitted(self)
        return self._shares_of(importance_shares(self.ensemble_)[1])


class _FittedMembers(Sequence[BaseTree]):
    def __init__(self, ensemble: _BaseEnsemble) -> None:
        self.ensemble = ensemble

    def __len__(self) -> int:
        return len(self.ensemble.ensemble_)

    @overload
    def __getitem__(self, at: int) -> BaseTree: ...
    @overload
    def __getitem__(self, at: slice) -> list[BaseTree]: ...
    def __getitem__(self, at: int | slice) -> BaseTree | list[BaseTree]:
        if isinstance(at, slice):
            return [self.ensemble._tree(t) for t in range(len(self))[at]]
        return self.ensemble._tree(at)


def _snapshot(parameters: dict[str, Any]) -> dict[str, Any]:
    """Copy the values of parameters, so that a later change in place is noticed.

    Random generators are not copied: drawing from one changes it, and its seed has been drawn.
    """
    return {
        name: value if isinstance(value, np.random.RandomState) else copy.deepcopy(value)
        for name, value in parameters.items()
    }


def _is_same(now: Any, before: Any) -> bool:
    if isinstance(now, np.random.RandomState) and now is before:
        return True
    return bool(joblib.hash(now) == joblib.hash(before))


# -- predictions -----------------------------------------------------------------------------------------------------


class _EnsembleClassifier(BaseClassifier, _BaseEnsemble):
    """Base of the classifiers: predictions.

    >>> from treewise import ForestClassifier
    >>> X, y = [[1], [2], [3], [4]], ["a", "a", "b", "b"]
    >>> model = ForestClassifier(3, bootstrap=False).fit(X, y)
    >>> model.predict(X).tolist(), model.predict_proba(X[:1]).tolist(), model.score(X, y)
    (['a', 'a', 'b', 'b'], [[1.0, 0.0]], 1.0)
    >>> [stage.tolist() for stage in model.staged_predict(X[:1])], len(list(model.staged_predict_proba(X)))
    ([['a'], ['a'], ['a']], 3)
    >>> list(model.staged_score(X, y)), model.predict_log_proba(X[:1]).tolist()
    ([1.0, 1.0, 1.0], [[0.0, -inf]])
    """

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each row: the most probable; the first of equals."""
        table = self._read(X)
        columns = encode_table(self.ensemble_, table).columns
        places = self._voting.class_numbers(columns, len(table), resolve_n_jobs(self.n_jobs), self._best)
        classes: npt.NDArray[Any] = self.classes_[places]
        return classes

    def _best(self, sums: Floats, trees: int) -> Ints:
        """Return the index in ``classes_`` of the most probable class, the first of equals.

        So ``predict`` is the argmax of ``predict_proba``, although the model has the positive class last.
        """
        return np.asarray(np.argmax(self._in_order(self._voting.probabilities_of(sums, trees)), axis=1), np.int64)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row: the mean over the trees."""
        table = self._read(X)
        return self._in_order(self._voting.probabilities_of(self._sums(table), len(self.ensemble_)))

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the predictions of the first tree, the first two, the first three, …"""
        table = self._read(X)
        return (self.classes_[self._best(sums, trees)] for trees, sums in self._stages(table))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield the probabilities by the first tree, the first two, the first three, …"""
        table = self._read(X)
        return (self._in_order(self._voting.probabilities_of(sums, trees)) for trees, sums in self._stages(table))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy of the first tree, the first two, the first three, …"""
        for classes in self.staged_predict(X):
            yield accuracy_score(y, classes, sample_weight=sample_weight)


class _EnsembleRegressor(BaseRegressor, _BaseEnsemble):
    """Base of the regressors: predictions.

    >>> from treewise import ForestRegressor
    >>> X, y = [[1], [2], [3], [4]], [1.0, 2.0, 3.0, 4.0]
    >>> model = ForestRegressor(2, bootstrap=False).fit(X, y)
    >>> model.predict(X).tolist(), [stage.tolist() for stage in model.staged_predict(X[:1])]
    ([1.0, 2.0, 3.0, 4.0], [[1.0], [1.0]])
    >>> list(model.staged_score(X, y))
    [1.0, 1.0]
    """

    def predict(self, X: Any) -> Floats:
        """Return the mean prediction of the trees for each row."""
        table = self._read(X)
        return self._values(self._sums(table), len(self.ensemble_))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Yield the predictions of the first tree, the first two, the first three, …"""
        table = self._read(X)
        return (self._values(sums, trees) for trees, sums in self._stages(table))

    def _values(self, sums: Floats, trees: int) -> Floats:
        return np.asarray(self._voting.answers(sums, trees))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield R² of the first tree, the first two, the first three, …"""
        for values in self.staged_predict(X):
            yield r2_score(y, values, sample_weight=sample_weight)


# -- trees on bootstrap samples: forests, extra-trees, bagging --------------------------------------------------------


class _BaseBagging(_BaseEnsemble):
    """Base of forests and bagging: bootstrap samples and out-of-bag scores.

    >>> from treewise import BaggingRegressor, ForestClassifier
    >>> X, y = [[1], [2], [3], [7], [8], [9]], [0, 0, 0, 1, 1, 1]
    >>> model = ForestClassifier(50, oob_score=True).fit(X, y)
    >>> model.oob_score_, model.oob_decision_function_[[0, 5]].round().tolist()
    (1.0, [[1.0, 0.0], [0.0, 1.0]])
    >>> BaggingRegressor(n_estimators=50, oob_score=True).fit(X, y).oob_prediction_.round().tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    """

    oob_score_: float
    oob_decision_function_: Floats
    oob_prediction_: Floats

    def _params(self) -> BaggingParams:
        raise NotImplementedError

    def _grow(self, training_set: TrainingSet) -> Ensemble:
        return grow_ensemble(training_set, self._params(), n_jobs=self.n_jobs, estimate_oob=False)

    def _grow_more(self, before: Ensemble, training_set: TrainingSet, n: int) -> Ensemble:
        return extend_training_set(before, training_set, n, self.n_jobs, estimate_oob=False)

    def _set_fitted(self, given: FitInput, model: Any, **fitted: Any) -> Self:
        """Set the fitted attributes, with the out-of-bag score if it is asked for."""
        if not self.oob_score:
            return super()._set_fitted(given, model, **fitted)
        answers = predict_oob(model, given.training_set, self._params().samples(given.training_set))
        model = model.with_(oob=answers.summary)
        n_uncovered = int(np.count_nonzero(answers.n_trees == 0))
        if n_uncovered:
            warn(
                f"oob_score: {plural(n_uncovered, 'row')} of {len(answers.n_trees):,} were in the sample of every tree"
                " and do not count. More trees leave out fewer.",
                stacklevel=4,
            )
        oob_values = np.full((given.rows, *answers.outputs.shape[1:]), np.nan)  # also where a row does not count
        oob_values[np.asarray(given.training_set.rows)] = answers.outputs
        if self._task == "regression":
            return super()._set_fitted(given, model, **fitted, oob_score_=answers.score, oob_prediction_=oob_values)
        order = fitted["_order"]
        accuracy = oob_score(given.training_set, answers.outputs, answers.n_trees > 0, np.argsort(order))
        return super()._set_fitted(
            given, model, **fitted, oob_score_=accuracy, oob_decision_function_=in_order(oob_values, order)
        )


class _RandomForest(_BaseBagging):
    """Base of random forests: each node chooses among a random subset of the columns."""

    _method: BaggingMethod = "forest"
    _not_options = ("n_estimators", "warm_start", "n_jobs", "bootstrap", "max_samples", "oob_score")

    def _params(self) -> BaggingParams:
        return BaggingParams(
            self._method, self.n_estimators, self.bootstrap, self.max_samples, oob_score=self.oob_score
        )

    def _prepare(self, table: Table, options: dict[str, Any]) -> TrainingSet:
        return prepare_forest(table, table.target, {**options, "pruning": "none"})


class _ExtraTrees(_RandomForest):
    """Base of extra-trees: of each column that a node considers, one random split."""

    _method: BaggingMethod = "extra_trees"

    def _prepare(self, table: Table, options: dict[str, Any]) -> TrainingSet:
        return prepare_extra_trees(table, table.target, {**options, "pruning": "none"})


class ForestClassifier(_RandomForest, _EnsembleClassifier):
    """A random forest classifier, as a scikit-learn estimator.

    Accepts the same data as ``TreeClassifier`` (dataframes, text, categories, dates, missing values) and the parameters
    of ``treewise.forest`` and ``treewise.grow``.

    >>> from treewise import ForestClassifier, datasets
    >>> penguins = datasets.penguins().to_polars()
    >>> X, y = penguins.drop("species"), penguins["species"]
    >>> model = ForestClassifier(n_estimators=25, oob_score=True).fit(X, y)
    >>> model.ensemble_
    <Ensemble forest of 25 trees · species: Adelie, Chinstrap, Gentoo · 358 leaves>
    >>> model.oob_score_ > 0.95, model.predict(X[:2]).tolist()
    (True, ['Adelie', 'Adelie'])

    Attributes
    ----------
    ensemble_ : the ``treewise.Ensemble``.
    estimators_ : its trees as fitted ``TreeClassifier``, created on access.
    classes_ : the classes, sorted; ``predict_proba`` has its columns in this order.
    n_classes_, n_features_in_, n_outputs_ : the numbers of classes, columns of X and targets (1).
    feature_names_in_ : the names of the columns of X, if it had names.
    feature_importances_ : the share of each column in the total gain of the splits, averaged over the trees.
    oob_score_, oob_decision_function_ : with ``oob_score``: accuracy and probabilities where each row is predicted by
        the trees that have not seen it.
    """

    @parameters(ForestClassifierOptions, forest, grow, warm_start=False)
    def __init__(self, n_estimators: int = 100, **options: Unpack[ForestClassifierOptions]) -> None: ...


class ForestRegressor(_RandomForest, _EnsembleRegressor):
    """A random forest regressor, as a scikit-learn estimator.

    As ``ForestClassifier``, without the parameters for classes. By default a node chooses among all columns.

    >>> from treewise import ForestRegressor
    >>> X, y = [{"town": "Bari", "age": 31}, {"town": "Rome", "age": 54}, {"town": "Rome", "age": 40}], [1.5, 4.0, 4.5]
    >>> ForestRegressor(bootstrap=False, max_depth=1).fit(X, y).predict([{"town": "Rome", "age": 45}])
    array([4.25])

    Attributes
    ----------
    ensemble_ : the ``treewise.Ensemble``.
    estimators_ : its trees as fitted ``TreeRegressor``, created on access.
    n_features_in_, n_outputs_, feature_names_in_, feature_importances_ : as in ``ForestClassifier``.
    oob_score_, oob_prediction_ : with ``oob_score``: R² and predictions where each row is predicted by the trees that
        have not seen it.
    """

    @parameters(ForestOptions, forest, grow, warm_start=False)
    def __init__(self, n_estimators: int = 100, **options: Unpack[ForestOptions]) -> None: ...


class ExtraTreesClassifier(_ExtraTrees, _EnsembleClassifier):
    """An extra-trees classifier, as a scikit-learn estimator: ``ForestClassifier`` with random splits.

    >>> from treewise import ExtraTreesClassifier
    >>> ExtraTreesClassifier(5).fit([[1], [2], [8], [9]], ["a", "a", "b", "b"]).predict([[0], [10]]).tolist()
    ['a', 'b']

    Attributes are those of ``ForestClassifier``.
    """

    @parameters(ExtraTreesClassifierOptions, extra_trees, grow, warm_start=False)
    def __init__(self, n_estimators: int = 100, **options: Unpack[ExtraTreesClassifierOptions]) -> None: ...


class ExtraTreesRegressor(_ExtraTrees, _EnsembleRegressor):
    """An extra-trees regressor, as a scikit-learn estimator: ``ForestRegressor`` with random splits.

    >>> from treewise import ExtraTreesRegressor
    >>> ExtraTreesRegressor(5).fit([[1], [2], [8], [9]], [1.0, 1.0, 4.0, 4.0]).predict([[0], [10]]).tolist()
    [1.0, 4.0]

    Attributes are those of ``ForestRegressor``.
    """

    @parameters(ExtraTreesOptions, extra_trees, grow, warm_start=False)
    def __init__(self, n_estimators: int = 100, **options: Unpack[ExtraTreesOptions]) -> None: ...


class _Bagging(_BaseBagging):
    """Base of bagging: each tree has a random sample of the rows and of the columns."""

    _not_options = (
        "n_estimators",
        "warm_start",
        "n_jobs",
        "bootstrap",
        "max_samples",
        "max_features",
        "bootstrap_features",
        "oob_score",
    )

    def _prepare(self, table: Table, options: dict[str, Any]) -> TrainingSet:
        return prepare_ensemble(table, table.target, {**options, "pruning": "none"}, bagging)  # whatever a preset says

    def _params(self) -> BaggingParams:
        return BaggingParams(
            "bagging",
            self.n_estimators,
            self.bootstrap,
            self.max_samples,
            self.max_features,
            self.bootstrap_features,
            self.oob_score,
        )


class BaggingClassifier(_Bagging, _EnsembleClassifier):
    """A bagging classifier of trees, as a scikit-learn estimator.

    Accepts the same data as ``TreeClassifier`` and the parameters of ``treewise.bagging`` and ``treewise.grow``.

    >>> from treewise import BaggingClassifier, datasets
    >>> penguins = datasets.penguins().to_polars()
    >>> X, y = penguins.drop("species"), penguins["species"]
    >>> model = BaggingClassifier(max_depth=3, max_features=0.5).fit(X, y)
    >>> model.ensemble_
    <Ensemble bagging of 10 trees · species: Adelie, Chinstrap, Gentoo · 68 leaves>
    >>> round(model.score(X, y), 2)
    0.98

    Attributes are those of ``ForestClassifier``.
    """

    @parameters(BaggingClassifierOptions, bagging, grow, warm_start=False)
    def __init__(self, *, n_estimators: int = 10, **options: Unpack[BaggingClassifierOptions]) -> None: ...


class BaggingRegressor(_Bagging, _EnsembleRegressor):
    """A bagging regressor of trees, as a scikit-learn estimator.

    >>> from treewise import BaggingRegressor
    >>> model = BaggingRegressor(n_estimators=50, max_depth=1).fit([[1], [2], [8], [9]], [1, 1, 4, 4])
    >>> model.predict([[0], [10]]).round().tolist()
    [1.0, 4.0]

    Attributes are those of ``ForestRegressor``.
    """

    @parameters(BaggingOptions, bagging, grow, warm_start=False)
    def __init__(self, *, n_estimators: int = 10, **options: Unpack[BaggingOptions]) -> None: ...


# -- boosting ---------------------------------------------------------------------------------------------------------


class AdaBoostClassifier(_EnsembleClassifier):
    """AdaBoost (SAMME for more than two classes) of trees, by default stumps, as a scikit-learn estimator.

    Accepts the same data as ``TreeClassifier`` and the parameters of ``treewise.adaboost`` and ``treewise.grow``.

    >>> from treewise import AdaBoostClassifier, datasets
    >>> penguins = datasets.penguins().to_polars()
    >>> X, y = penguins.drop("species"), penguins["species"]
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> round(model.score(X, y), 3), model.estimator_weights_[:3].round(3), model.estimator_errors_[:3].round(3)
    (0.991, array([1.011, 1.008, 1.431]), array([0.209, 0.21 , 0.103]))
    >>> model.decision_function(X[:1]).round(3), model.predict_proba(X[:1]).round(3)
    (array([[ 0.699, -0.367, -0.332]]), array([[0.8  , 0.089, 0.112]]))

    Attributes
    ----------
    ensemble_ : the ``treewise.Ensemble``, with the vote weights.
    estimators_ : its trees as fitted ``TreeClassifier``, created on access.
    estimator_weights_ : the vote weight α of each tree; half of scikit-learn's.
    estimator_errors_ : the weighted error ε of each tree in its round.
    feature_importances_ : the share of each column in the total gain of the splits, averaged by vote weight.
    classes_, n_classes_, n_features_in_, n_outputs_, feature_names_in_ : as in ``ForestClassifier``.
    """

    _not_options = ("n_estimators", "warm_start", "n_jobs", "learning_rate", "resample")

    @parameters(AdaBoostOptions, adaboost, grow, warm_start=False)
    def __init__(self, *, n_estimators: int = 50, **options: Unpack[AdaBoostOptions]) -> None: ...

    def _prepare(self, table: Table, options: dict[str, Any]) -> TrainingSet:
        return prepare_ensemble(table, table.target, {**options, "pruning": "none"}, adaboost)  # whatever a preset says

    def _params(self) -> AdaBoostParams:
        return AdaBoostParams("adaboost", self.n_estimators, self.learning_rate, self.resample)

    def _grow(self, training_set: TrainingSet) -> Ensemble:
        return boost_training_set(training_set, self._params(), n_jobs=self.n_jobs)

    def _grow_more(self, before: Ensemble, training_set: TrainingSet, n: int) -> Ensemble:
        return extend_adaboost(before, training_set, n, self.n_jobs)

    def decision_function(self, X: Any) -> Floats:
        """Return the weighted vote for each class, from -1 (no tree) to 1 (all trees).

        With two classes, one number per row, positive where the second class is predicted.
        """
        table = self._read(X)
        sums = self._sums(table)
        votes = self._in_order(sums / sums.sum(axis=1, keepdims=True))
        if self.n_classes_ == 2:
            return votes[:, 1] - votes[:, 0]
        return votes - (1 - votes) / max(1, self.n_classes_ - 1)

    @property
    def estimator_weights_(self) -> Floats:
        """The vote weight α of each tree (read-only)."""
        check_is_fitted(self)
        return self.ensemble_.votes

    @property
    def estimator_errors_(self) -> Floats:
        """The weighted error ε of each tree in its round."""
        check_is_fitted(self)
        return np.array([round_.error for round_ in self.ensemble_.rounds])
