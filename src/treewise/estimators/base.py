"""What all estimators share: X and y become a training set, classes keep scikit-learn's order, a fit is all or nothing.

Below ``trees.py`` and the ensembles, above ``inputs.py``, which reads X and y. An estimator says how it learns from a
prepared training set (``_learn``); what it learned is kept under one name, ``tree_`` or ``ensemble_``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from treewise.data.table import Column, Table
from treewise.errors import ParameterError
from treewise.estimators.inputs import (
    FeatureTable,
    TargetClasses,
    read_classes,
    read_features,
    read_new_features,
    read_quantities,
    read_weights,
    with_target,
)
from treewise.train.criteria import CRITERIA
from treewise.train.grow import prepare
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import Task

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class FitInput(NamedTuple):
    """What ``fit`` was given, made ready to learn from."""

    training_set: TrainingSet
    features: FeatureTable
    rows: int  # of X, also those that do not count


class Estimator(BaseEstimator):  # type: ignore[misc]
    """What every estimator does, whatever it learns."""

    _task: Task
    _model: str  # the name under which it keeps what it has learned
    _not_options: Sequence[str]  # parameters that are no options of the training set
    n_features_in_: int
    _features: FeatureTable

    def _learn(self, given: FitInput) -> Any:
        """Learn from what was given."""
        raise NotImplementedError

    def _prepare_fit(self, X: Any, column: Column, sample_weight: Any, **changed: Any) -> FitInput:
        """Make ready what ``fit`` was given; ``changed`` are parameters in the words of the training set."""
        params = {name: value for name, value in self.get_params(deep=False).items() if name not in self._not_options}
        _check_criterion(params["criterion"], self._task, type(self).__name__)
        table, features = read_features(X, params["na_values"])
        options = {**params, "random_state": self._seed(), **changed}
        together = with_target(table, column)
        weights = read_weights(sample_weight)
        training_set = self._prepare(together, {**options, "task": self._task, "sample_weight": weights})
        return FitInput(training_set, features, len(table))

    def _seed(self) -> Any:
        """Return the seed of whatever is left to chance: None is 0, so that fitting twice gives the same."""
        chance = self.random_state
        if isinstance(chance, np.random.RandomState):
            return int(chance.randint(2**31 - 1))
        return 0 if chance is None else chance

    def _prepare(self, table: Table, options: dict[str, Any]) -> TrainingSet:
        """Prepare a table with its target in it."""
        return prepare(table, table.target, **options)

    def _set_fitted(self, given: FitInput, model: Any, **fitted: Any) -> Self:
        """Take on the outcome of a fit all at once: an interrupted one leaves the estimator as it was."""
        features = given.features
        fitted |= {self._model: model, "n_features_in_": len(features.names), "n_outputs_": 1, "_features": features}
        if features.named:
            fitted["feature_names_in_"] = np.array(features.names, object)
        unfitted = {name: value for name, value in vars(self).items() if not _is_fitted_name(name)}
        self.__dict__ = unfitted | fitted
        return self

    def _read(self, X: Any) -> Table:
        """Read a later X; every column that was learned from must be there, by name where there are names."""
        check_is_fitted(self)
        return read_new_features(X, self._features, getattr(self, self._model).columns, type(self).__name__)

    def _shares_of(self, decreases: Floats) -> Floats:
        """Spread what was taken away by each column learned from over all columns of X, as shares of the whole."""
        importances = np.zeros(self.n_features_in_)
        position = {name: i for i, name in enumerate(self._features.names)}
        importances[[position[name] for name in getattr(self, self._model).columns]] = decreases
        total = importances.sum()
        return importances / total if total > 0 else importances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class BaseClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """What is about classes: they are sorted in ``classes_``, in the type of y, wherever the model has them."""

    _task = "classification"
    classes_: npt.NDArray[Any]
    n_classes_: int
    _order: Ints  # the place in classes_ of each class of the model, which has the positive one last

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X and the classes y; ``sample_weight`` gives each row a weight, or names a column of X."""
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
        """Return what the parameters say of classes, under the names that the training set has for them."""
        names, positive = classes.names(), self.positive
        return {
            "positive": names.get(positive, positive) if isinstance(positive, Hashable) else positive,
            "class_weight": _weights_by_name(self.class_weight, names, len(classes.labels)),
            "priors": by_name(self.priors, names),
        }

    def _classes_at(self, places: Ints) -> npt.NDArray[Any]:
        """Return the classes at places in the model's list of them."""
        classes: npt.NDArray[Any] = self.classes_[self._order[places]]
        return classes

    def _in_order(self, by_class: Floats) -> Floats:
        """Return a table that has one column a class of the model with its columns in the order of ``classes_``."""
        return in_order(by_class, self._order)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities; of 0 it is -inf."""
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.predict_proba(X))
        return logs


class BaseRegressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """What is about numbers."""

    _task = "regression"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X and the numbers y; ``sample_weight`` gives each row a weight, or names a column of X."""
        column = read_quantities(y, type(self).__name__)
        given = self._prepare_fit(X, column, sample_weight)
        return self._set_fitted(given, self._learn(given))


def in_order(by_class: Floats, order: Ints) -> Floats:
    """Return a table with its columns put at other places."""
    ordered = np.empty_like(by_class)
    ordered[:, order] = by_class
    return ordered


def _is_fitted_name(name: str) -> bool:
    """Tell what ``fit`` sets from what the user set."""
    return name.endswith("_") or name in ("_features", "_order", "_grown_with")


def _check_criterion(criterion: Any, task: Task, who: str) -> None:
    """Refuse a criterion of the other task; one that nobody knows is refused further down."""
    fitting = [known.name for known in CRITERIA.values() if known.task == task]
    if isinstance(criterion, str) and criterion in CRITERIA and criterion not in fitting:
        meant = CRITERIA[criterion].task
        raise ParameterError(
            f"this criterion is for {meant}.",
            parameter="criterion",
            value=criterion,
            hint=f"{who} takes {', '.join(fitting)}.",
        )


def _weights_by_name(class_weight: Any, names: Mapping[object, str], n_classes: int) -> Any:
    """Write class weights by the tree's names; as in scikit-learn, a class y lacks may have one, if all others do.

    So a fold that happens to miss a class can be learned from.
    """
    if not isinstance(class_weight, Mapping):
        return class_weight
    named = {names[label]: weight for label, weight in class_weight.items() if label in names}
    if len(named) < min(len(class_weight), n_classes):
        return class_weight  # says what is wrong
    return named


def by_name(given: Any, names: Mapping[object, str]) -> Any:
    """Write what is said by class under the tree's names of the classes; lists stay as they are."""
    if not isinstance(given, Mapping):
        return given
    return {names.get(label, label) if isinstance(label, Hashable) else label: what for label, what in given.items()}
