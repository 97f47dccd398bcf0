"""Base class of the ensemble estimators: growing, warm starts, members, predictions.

Below ``ensembles.py``, on ``base.py``. A fitted estimator keeps one ``Ensemble``; it is also the sequence of its
members, which are shown as ``TreeClassifier`` or ``TreeRegressor``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, overload

import joblib  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
from scipy.sparse import hstack  # type: ignore[import-untyped]
from sklearn.metrics import accuracy_score, r2_score  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from treewise._lib.checks import check_integer
from treewise.data.table import Table
from treewise.ensemble import Ensemble
from treewise.ensemble import predict as voting
from treewise.ensemble.grow import prepare_same_table
from treewise.errors import Param, ParameterError
from treewise.estimators.base import BaseClassifier, BaseRegressor, Estimator, FitInput, Floats, Ints
from treewise.estimators.inputs import warn
from treewise.estimators.trees import BaseTree, TreeClassifier, TreeRegressor, paths_to
from treewise.evaluate.importances import importance_shares
from treewise.predict.predict import encode_table
from treewise.train.grow import resolve_n_jobs

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


class BaseEnsemble(Estimator):
    """Base of all ensembles: growing, warm starts, and what only reads the trees.

    >>> from treewise import ForestClassifier
    >>> X, y = [[1], [2], [3], [4]], ["a", "a", "b", "b"]
    >>> model = ForestClassifier(2, bootstrap=False, warm_start=True).fit(X, y)
    >>> model.set_params(n_estimators=3).fit(X, y).apply([[1], [4]]).tolist()
    [[1, 1, 1], [2, 2, 2]]
    >>> model.estimators_[0].tree_ == model[0].tree_ == model.ensemble_[0], len(model)
    (True, 3)
    >>> model.feature_importances_.tolist()
    [1.0]
    >>> paths, starts = model.decision_path([[1]])
    >>> paths.toarray().tolist(), starts.tolist()
    ([[1, 1, 0, 1, 1, 0, 1, 1, 0]], [0, 3, 6, 9])
    """

    _model = "ensemble_"
    _own_params: Sequence[str] = ("warm_start",)
    _grow: ClassVar[Callable[..., Ensemble]]  # the function of the Python interface
    ensemble_: Ensemble
    _grown_with: dict[str, Any]

    # -- growing --------------------------------------------------------------------------------------------------

    def _learn(self, given: FitInput, **callbacks: Any) -> Ensemble:
        """Grow the trees; with ``warm_start`` only the missing ones."""
        if not self._is_warm():
            # the trees of an ensemble are not pruned, whatever a preset says
            return type(self)._grow(given.table, given.table.target, **given.options, **callbacks, pruning="none")
        self._check_same_parameters()
        target, weights = self.ensemble_.target, given.options["sample_weight"]
        before = self.ensemble_.with_(target=replace(target, classes=tuple(map(str, target.classes))))
        check_integer("n_estimators", self.n_estimators, minimum=1)
        if self.n_estimators < len(before):
            raise ParameterError(
                "with " + Param("warm_start") + f" trees are only added, and there are already {len(before)}.",
                parameter="n_estimators",
                value=self.n_estimators,
                hint="Increase it, or fit from scratch with " + Param("warm_start", False) + ".",
            )
        if self.n_estimators == len(before):
            prepare_same_table(before, given.table, weights, call="warm_start")  # refuses other tables
            warn(f"warm_start: there are already {len(before)} trees, so none is added.", stacklevel=4)
            return before
        n_missing = self.n_estimators - len(before)
        return before.extend(given.table, n_missing, sample_weight=weights, n_jobs=self.n_jobs, **callbacks)

    def _is_warm(self) -> bool:
        return bool(self.warm_start) and "ensemble_" in vars(self)

    def _seed(self) -> Any:
        """Return the seed; one drawn from a generator is kept for the trees that are added later."""
        if self._is_warm() and isinstance(self.random_state, np.random.RandomState):
            return self.ensemble_.fit_info.settings.get("random_state", 0)
        return super()._seed()

    def _check_same_parameters(self) -> None:
        """Refuse to add trees grown with other parameters than the existing ones."""
        for name, value in self.get_params(deep=False).items():
            if name not in _WARM_PARAMETERS and not _is_same(value, self._grown_with[name]):
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

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> BaseTree:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[BaseTree]:
        return iter(self.estimators_)

    def __bool__(self) -> bool:  # not its length: an estimator that is not fitted has none
        return True

    def _tree(self, t: int) -> BaseTree:
        kind = TreeClassifier if self._task == "classification" else TreeRegressor
        options = self._learning_params()
        params = {name: options[name] for name in kind._get_param_names() if name in options}
        # As the trees were grown: for bagging max_features means columns per tree, and a forest has its own defaults.
        settings = self.ensemble_.fit_info.settings
        params |= {"max_features": settings.get("max_features"), "splitter": settings.get("splitter", "best")}
        tree = kind(**params)
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
    def __init__(self, ensemble: BaseEnsemble) -> None:
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


def _is_same(value: Any, before: Any) -> bool:
    if value is before or callable(value):
        return value is before
    return bool(joblib.hash(value) == joblib.hash(before))


# -- predictions -----------------------------------------------------------------------------------------------------


class EnsembleClassifier(BaseClassifier, BaseEnsemble):
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
        codes = self._voting.class_numbers(columns, len(table), resolve_n_jobs(self.n_jobs), self._best)
        classes: npt.NDArray[Any] = self.classes_[codes]
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


class EnsembleRegressor(BaseRegressor, BaseEnsemble):
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

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> Iterator[float]:
        """Yield R², as ``score`` computes it, of the first tree, the first two, the first three, …"""
        truth, weights = self._truth_of(X, y, sample_weight, exposure)
        for values in self.staged_predict(X):
            yield r2_score(truth, values, sample_weight=weights)
