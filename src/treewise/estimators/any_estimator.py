"""``estimator=``: bagging and boosting of any estimator of scikit-learn.

A mixin left of the base classes of ``BaggingClassifier``, ``BaggingRegressor`` and ``AdaBoostClassifier``:

- None: trees, whose options are parameters of the ensemble itself.
- A ``TreeClassifier`` or ``TreeRegressor``: its parameters are the options of the trees. If ``treewise.bagging`` or
  ``adaboost`` know all that are changed (they prune no trees, for example), they grow the ensemble.
- Anything else: the ensemble of scikit-learn of the same name does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar

from numpy.random import RandomState
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils.metaestimators import available_if  # type: ignore[import-untyped]

from treewise.errors import Param, ParameterError
from treewise.estimators.base import is_fitted_name
from treewise.estimators.base_ensemble import BaseEnsemble
from treewise.estimators.trees import TreeClassifier, TreeRegressor


def _delegated(name: str) -> Callable[..., Any]:
    """Return a method that scikit-learn's ensemble answers if there is one."""

    def method(self: AnyEstimator, *args: Any, **options: Any) -> Any:
        other = vars(self).get("_delegate")
        return getattr(super(AnyEstimator, self) if other is None else other, name)(*args, **options)

    method.__name__ = name
    method.__doc__ = f"{name} of the ensemble, whatever its members are."
    return method


def _other_has(name: str) -> Callable[[Any], bool]:
    """Return whether the ensemble of scikit-learn that does the work has a method, or our own class has it."""

    def is_available(self: AnyEstimator) -> bool:
        other = vars(self).get("_delegate")
        return hasattr(super(AnyEstimator, self) if other is None else other, name)

    return is_available


class AnyEstimator(BaseEnsemble):
    """The parameter ``estimator``.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from treewise import BaggingClassifier, TreeClassifier
    >>> X, y = [[1], [2], [3], [7], [8], [9]], [0, 0, 0, 1, 1, 1]
    >>> BaggingClassifier(TreeClassifier(max_depth=1), n_estimators=5).fit(X, y).ensemble_
    <Ensemble bagging of 5 trees · y: 0, 1 · 10 leaves>
    >>> model = BaggingClassifier(GaussianNB(), n_estimators=5).fit(X, y)
    >>> model.predict([[1], [9]]).tolist(), len(model.estimators_), type(model[0]).__name__
    ([0, 1], 5, 'GaussianNB')
    """

    _own_params = (*BaseEnsemble._own_params, "estimator")
    _ensemble_params: ClassVar[tuple[str, ...]]  # parameters of the ensemble; all others are options of its trees
    _sklearn_ensemble: ClassVar[type]  # of the same name
    estimator: Any
    _delegate: Any

    def _fit_elsewhere(self, X: Any, y: Any, sample_weight: Any, exposure: Any = None) -> bool:
        """Let scikit-learn fit the ensemble, unless treewise grows it."""
        if self._grows_trees():
            return False
        if exposure is not None:
            raise ParameterError(
                f"rates are learned by trees of treewise alone; this {type(self.estimator).__name__}, with its options,"
                " is left to the ensemble of scikit-learn.",
                parameter="exposure",
            )
        ensemble = self._other_ensemble()
        ensemble.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        unfitted = {name: value for name, value in vars(self).items() if not is_fitted_name(name)}
        learned = {name: value for name, value in vars(ensemble).items() if name.endswith("_")}
        self.__dict__ = unfitted | learned | {"_delegate": ensemble}
        return True

    def _grows_trees(self) -> bool:
        """Tell whether treewise grows the ensemble: the options of the tree, if one is given, are known to it."""
        if self.estimator is None:
            return True
        self._check_tree_options()
        if type(self.estimator) is not (TreeClassifier if self._task == "classification" else TreeRegressor):
            return False
        return _changed(self.estimator) - {"random_state", "n_jobs"} <= self._tree_options()

    def _tree_options(self) -> set[str]:
        own = {*self._ensemble_params, "n_estimators", "estimator", "warm_start", "random_state", "n_jobs"}
        return set(self._get_param_names()) - own

    def _check_tree_options(self) -> None:
        """Refuse options of trees beside an estimator, which has its own."""
        for name in sorted(_changed(self) & self._tree_options()):
            raise ParameterError(
                "is an option of trees; with an estimator, set it there.", parameter=name, value=getattr(self, name)
            )

    def _learning_params(self) -> dict[str, Any]:
        """Return the parameters of growing, with the options of the given tree."""
        params = super()._learning_params()
        if self.estimator is None:
            return params
        return params | {name: getattr(self.estimator, name) for name in self._tree_options()}

    def _other_ensemble(self) -> Any:
        """Return the ensemble of scikit-learn, not fitted, or fitted for a warm start."""
        if not isinstance(self.estimator, BaseEstimator):
            raise ParameterError(
                f"type {type(self.estimator).__name__}; expected an estimator of scikit-learn or treewise, such as"
                " TreeClassifier(). The number of trees is " + Param("n_estimators") + ".",
                parameter="estimator",
            )
        known = signature(self._sklearn_ensemble).parameters
        changed = _changed(self)
        for name in sorted(changed - set(known)):
            raise ParameterError(
                f"is for trees grown by treewise; this estimator is a {type(self.estimator).__name__}, whose ensemble"
                " scikit-learn fits.",
                parameter=name,
                value=getattr(self, name),
            )
        # Others stay at scikit-learn's defaults; the seed is ours, so that fitting twice gives the same result.
        params = {name: getattr(self, name) for name in {*changed, "estimator", "n_estimators"}}
        params["random_state"] = self.random_state if isinstance(self.random_state, RandomState) else self._seed()
        before = vars(self).get("_delegate")
        if params.get("warm_start") and before is not None:
            # Also what was set back to its default since.
            return before.set_params(**self._sklearn_ensemble(**params).get_params(deep=False))
        return self._sklearn_ensemble(**params)

    @property
    def estimators_(self) -> Any:
        """The fitted members."""
        other = vars(self).get("_delegate")
        return super().estimators_ if other is None else other.estimators_

    @property
    def feature_importances_(self) -> Any:
        """The importance of each column, where the members have one."""
        other = vars(self).get("_delegate")
        return super().feature_importances_ if other is None else other.feature_importances_

    predict = _delegated("predict")
    staged_predict = available_if(_other_has("staged_predict"))(_delegated("staged_predict"))
    staged_score = available_if(_other_has("staged_score"))(_delegated("staged_score"))
    apply = available_if(_other_has("apply"))(_delegated("apply"))
    decision_path = available_if(_other_has("decision_path"))(_delegated("decision_path"))


class AnyClassifier(AnyEstimator):
    """The parameter ``estimator`` of a classifier.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from treewise import AdaBoostClassifier
    >>> model = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit([[1], [2], [8], [9]], [0, 0, 1, 1])
    >>> model.decision_function([[0]]).shape, len(list(model.staged_decision_function([[0]])))
    ((1,), 1)
    """

    predict_proba = available_if(_other_has("predict_proba"))(_delegated("predict_proba"))
    predict_log_proba = available_if(_other_has("predict_log_proba"))(_delegated("predict_log_proba"))
    decision_function = available_if(_other_has("decision_function"))(_delegated("decision_function"))
    staged_predict_proba = available_if(_other_has("staged_predict_proba"))(_delegated("staged_predict_proba"))
    staged_decision_function = available_if(_other_has("staged_decision_function"))(
        _delegated("staged_decision_function")
    )


def _changed(estimator: BaseEstimator) -> set[str]:
    """Return the names of the parameters that are not at their default."""
    defaults = signature(type(estimator)).parameters
    return {
        name for name, value in estimator.get_params(deep=False).items() if not _equal(value, defaults[name].default)
    }


def _equal(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))
