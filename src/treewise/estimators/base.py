"""Base class of all estimators: reading X and y, scikit-learn's order of classes, atomic fits.

Below ``trees.py`` and the ensembles, above ``inputs.py``, which reads X and y. An estimator passes its parameters to
the function of the Python interface that grows the model (``_learn``), and keeps the model as ``tree_`` or
``ensemble_``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # type: ignore[import-untyped]
from sklearn.metrics import r2_score  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from treewise.data.table import Column, Table
from treewise.ensemble.oob import OobPredictions
from treewise.errors import ParameterError
from treewise.estimators.inputs import (
    FeatureTable,
    TargetClasses,
    read_classes,
    read_features,
    read_monotonic_cst,
    read_new_features,
    read_quantities,
    read_weights,
    with_target,
)
from treewise.train.criteria import CRITERIA, get_criterion
from treewise.train.exposure import read_exposure, to_rates
from treewise.tree.arrays import Task

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass
class FitInput:
    """The input of ``fit``: X with y as the target, and the options of the function that grows the model."""

    table: Table
    features: FeatureTable
    options: dict[str, Any]
    oob: OobPredictions | None = None  # received while the model is grown


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators."""

    _task: Task
    _model: str  # the name under which it keeps what it has learned
    _own_params: Sequence[str] = ()  # parameters of the estimator alone, not of the function that grows the model
    n_features_in_: int
    _features: FeatureTable

    def _learn(self, given: FitInput) -> Any:
        """Grow the model."""
        raise NotImplementedError

    def _prepare_fit(self, X: Any, column: Column, sample_weight: Any, **changed: Any) -> FitInput:
        """Read the input of ``fit``; ``changed`` are parameters translated for ``treewise.grow``."""
        params = self._learning_params()
        signs = params.pop("monotonic_cst", None)
        _check_criterion(params.get("criterion"), self._task, type(self).__name__)
        table, features = read_features(X, params["na_values"])
        if "alpha" in params and params["selection"] != "test":
            params["alpha"] = None  # as usual in scikit-learn, a parameter that does not apply is ignored
        if signs is not None:
            params["monotone"] = read_monotonic_cst(signs, params["monotone"], features)
        table_with_target = with_target(table, column)
        weights = read_weights(sample_weight, len(table))
        seed = {"random_state": self._seed()} if "random_state" in params else {}
        options = {**seed, **changed, "task": self._task, "sample_weight": weights}
        return FitInput(table_with_target, features, params | options)

    def _fit_elsewhere(self, X: Any, y: Any, sample_weight: Any, exposure: Any = None) -> bool:
        """Fit by other means than growing trees, and return whether that was done; ``any_estimator.py`` overrides."""
        return False

    def _learning_params(self) -> dict[str, Any]:
        """Return the parameters that concern the model, by name."""
        return {name: value for name, value in self.get_params(deep=False).items() if name not in self._own_params}

    def _seed(self) -> Any:
        """Return the seed: None is 0, so that fitting twice gives the same result."""
        random_state = self.random_state
        if isinstance(random_state, np.random.RandomState):
            return int(random_state.randint(2**31 - 1))
        return 0 if random_state is None else random_state

    def _set_fitted(self, given: FitInput, model: Any, **fitted: Any) -> Self:
        """Set all fitted attributes at once: an interrupted fit leaves the estimator unchanged."""
        features = given.features
        fitted |= {self._model: model, "n_features_in_": len(features.names), "n_outputs_": 1, "_features": features}
        if features.named:
            fitted["feature_names_in_"] = np.array(features.names, object)
        unfitted = {name: value for name, value in vars(self).items() if not is_fitted_name(name)}
        self.__dict__ = unfitted | fitted
        return self

    def _read(self, X: Any) -> Table:
        """Read the X of a prediction; every column of the model must be present, by name if there are names."""
        check_is_fitted(self)
        return read_new_features(X, self._features, getattr(self, self._model).columns, type(self).__name__)

    def _shares_of(self, decreases: Floats) -> Floats:
        """Return the share of each column of X in the total decrease of impurity."""
        importances = np.zeros(self.n_features_in_)
        position = {name: i for i, name in enumerate(self._features.names)}
        importances[[position[name] for name in getattr(self, self._model).columns]] = decreases
        total = importances.sum()
        return importances / total if total > 0 else importances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class BaseClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Base of classifiers: ``classes_`` is sorted and has the type of y; the model may have another order."""

    _task = "classification"
    classes_: npt.NDArray[Any]
    n_classes_: int
    _order: Ints  # the index in classes_ of each class of the model, which has the positive one last

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X and the classes y; ``sample_weight`` gives each row a weight, or names a column of X."""
        if self._fit_elsewhere(X, y, sample_weight):
            return self
        classes = read_classes(y, type(self).__name__)
        given = self._prepare_fit(X, classes.column, sample_weight, **self._class_options(classes))
        model = self._learn(given)
        # The model's classes are texts so far, without those of weight 0, and with the positive one last.
        number = {str(label): i for i, label in enumerate(classes.labels)}
        present = np.array([number[str(label)] for label in model.classes], np.int64)
        labels = tuple(classes.labels[i] for i in present)
        return self._set_fitted(
            given,
            model.with_(target=replace(model.target, classes=labels)),
            classes_=classes.values[np.sort(present)],
            n_classes_=len(present),
            _order=np.argsort(np.argsort(present)),
        )

    def _class_options(self, classes: TargetClasses) -> dict[str, Any]:
        """Return the parameters about classes, with the class names of the training set."""
        names, positive = classes.names(), self.positive
        return {
            "positive": names.get(positive, positive) if isinstance(positive, Hashable) else positive,
            "class_weight": _weights_by_name(self.class_weight, names, len(classes.labels)),
            "priors": by_name(self.priors, names),
        }

    def _classes_at(self, codes: Ints) -> npt.NDArray[Any]:
        """Return classes by their index in the model."""
        classes: npt.NDArray[Any] = self.classes_[self._order[codes]]
        return classes

    def _in_order(self, by_class: Floats) -> Floats:
        """Reorder one column per class of the model to the order of ``classes_``."""
        return in_order(by_class, self._order)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities; -inf for 0."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.predict_proba(X))
        return logs


class BaseRegressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """Base of regressors."""

    _task = "regression"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> Self:
        """Learn from X and the numbers y; ``sample_weight`` gives each row a weight, or names a column of X.

        For counts y, ``exposure`` is the time, area or number of people over which each row was observed, as an array
        or a column of X, which is then no feature. The model predicts rates, counts per unit of exposure.

        >>> from treewise import TreeRegressor
        >>> model = TreeRegressor(max_depth=1).fit([[22], [25], [66], [70]], [2, 1, 1, 0], exposure=[4, 2, 8, 2])
        >>> model.predict([[22], [66]]).tolist()
        [0.5, 0.1]
        """
        if self._fit_elsewhere(X, y, sample_weight, exposure):
            return self
        column = read_quantities(y, type(self).__name__)
        given = self._prepare_fit(X, column, sample_weight, exposure=exposure)
        return self._set_fitted(given, self._learn(given))

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """Return R² of the predictions; for a model of rates, R² of the rates y/exposure with the exposure as weight.

        The exposure of the rows is needed if ``fit`` was given an array; a column of X is found by its name.
        """
        truth, weights = self._truth_of(X, y, sample_weight, exposure)
        return float(r2_score(truth, self.predict(X), sample_weight=weights))

    def _truth_of(self, X: Any, y: Any, sample_weight: Any, exposure: Any) -> tuple[Any, Any]:
        """Return what predictions are compared with, and the weights: rates and exposures for a model of rates."""
        check_is_fitted(self)
        model = getattr(self, self._model, None)  # None: of another library, by ``estimator=``
        options = None if model is None else model.fit_info.fit_options
        if options is None or not options.predicts_rates:
            if exposure is not None:
                raise ParameterError("the model predicts no rates: fit had no exposure.", parameter="exposure")
            return y, sample_weight
        if exposure is None and options.has_exposure_array:
            raise ParameterError(
                "the model predicts rates, and fit was given the exposure as an array, which is not kept.",
                parameter="exposure",
                hint="Give that of these rows.",
            )
        observed = read_exposure(self._read(X), options.exposure if exposure is None else exposure)
        rates = to_rates(read_quantities(y, type(self).__name__), observed).values
        return rates, observed if sample_weight is None else observed * np.asarray(sample_weight, np.float64)


def in_order(by_class: Floats, order: Ints) -> Floats:
    """Move column i to position ``order[i]``."""
    ordered = np.empty_like(by_class)
    ordered[:, order] = by_class
    return ordered


def is_fitted_name(name: str) -> bool:
    """Tell fitted attributes from parameters."""
    return name.endswith("_") or name in ("_features", "_order", "_grown_with", "_delegate")


def _check_criterion(criterion: Any, task: Task, estimator: str) -> None:
    """Refuse an unknown criterion, and one of the other task."""
    fitting = [c.name for c in CRITERIA.values() if c.task == task]
    if criterion is not None and get_criterion(criterion).name not in fitting:
        other_task = get_criterion(criterion).task
        raise ParameterError(
            f"this criterion is for {other_task}.",
            parameter="criterion",
            value=criterion,
            hint=f"{estimator} takes {', '.join(fitting)}.",
        )


def _weights_by_name(class_weight: Any, names: Mapping[object, str], n_classes: int) -> Any:
    """Translate class weights; as in scikit-learn, a class missing from y may have one if all others do.

    So a fold that happens to miss a class can be learned from.
    """
    if not isinstance(class_weight, Mapping):
        return class_weight
    named = {names[label]: weight for label, weight in class_weight.items() if label in names}
    if len(named) < min(len(class_weight), n_classes):
        return class_weight  # refused with the reason
    return named


def by_name(by_label: Any, names: Mapping[object, str]) -> Any:
    """Translate the keys of a dict by class to the class names of the tree; lists stay as they are."""
    if not isinstance(by_label, Mapping):
        return by_label
    return {
        names.get(label, label) if isinstance(label, Hashable) else label: value for label, value in by_label.items()
    }
