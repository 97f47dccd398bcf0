"""Ensembles as scikit-learn estimators: forests, extra-trees, bagging and AdaBoost.

On ``base_ensemble.py``. ``treewise.forest``, ``extra_trees``, ``bagging`` and ``adaboost`` grow the trees; parameters
have the names and defaults of these functions, and of ``treewise.grow`` for the single trees; ``any_estimator.py`` adds
``estimator=``. A fitted estimator keeps one ``Ensemble``, and shows its members as ``TreeClassifier`` or
``TreeRegressor``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Self, Unpack

import numpy as np
from sklearn import ensemble  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from treewise._lib.text import plural
from treewise.ensemble import Ensemble
from treewise.ensemble.adaboost import adaboost
from treewise.ensemble.bagging import bagging
from treewise.ensemble.forest import extra_trees, forest
from treewise.ensemble.oob import oob_score
from treewise.estimators.any_estimator import AnyClassifier, AnyEstimator
from treewise.estimators.base import FitInput, Floats, in_order
from treewise.estimators.base_ensemble import BaseEnsemble, EnsembleClassifier, EnsembleRegressor
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
from treewise.train.grow import grow

_OOB_ATTRIBUTES = ("oob_score_", "oob_decision_function_", "oob_prediction_")

# -- trees on bootstrap samples: forests, extra-trees, bagging --------------------------------------------------------


class _BaseBagging(BaseEnsemble):
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

    def _learn(self, given: FitInput, **callbacks: Any) -> Ensemble:
        if callable(self.oob_score):
            given.options["oob_score"] = True
        return super()._learn(given, **callbacks, on_oob=partial(setattr, given, "oob"))

    def _set_fitted(self, given: FitInput, model: Any, **fitted: Any) -> Self:
        """Set the fitted attributes, with the out-of-bag score if requested."""
        answers = given.oob
        if answers is None:  # not requested, or no tree was added
            known = {name: value for name, value in vars(self).items() if name in _OOB_ATTRIBUTES and self.oob_score}
            return super()._set_fitted(given, model, **fitted, **known)
        n_uncovered = int(np.count_nonzero(answers.n_trees == 0))
        if n_uncovered:
            warn(
                f"oob_score: {plural(n_uncovered, 'row')} of {len(answers.n_trees):,} were in the sample of every tree"
                " and do not count. More trees leave out fewer.",
                stacklevel=4,
            )
        training_set = answers.training_set
        oob_values = np.full((len(given.table), *answers.outputs.shape[1:]), np.nan)  # also where a row does not count
        oob_values[np.asarray(training_set.rows)] = answers.outputs
        covered = answers.n_trees > 0
        if self._task == "regression":
            score = answers.score
            if callable(self.oob_score):
                score = self.oob_score(training_set.raw[covered], answers.outputs[covered])
            return super()._set_fitted(given, model, **fitted, oob_score_=score, oob_prediction_=oob_values)
        order, classes = fitted["_order"], fitted["classes_"]
        if callable(self.oob_score):
            best = np.argmax(in_order(answers.outputs[covered], order), axis=1)
            score = self.oob_score(classes[order[training_set.y[covered]]], classes[best])
        else:
            score = oob_score(training_set, answers.outputs, covered, np.argsort(order))
        return super()._set_fitted(
            given, model, **fitted, oob_score_=score, oob_decision_function_=in_order(oob_values, order)
        )


class ForestClassifier(_BaseBagging, EnsembleClassifier):
    """A random forest classifier, as a scikit-learn estimator.

    Accepts the same data as ``TreeClassifier`` (dataframes, text, categories, dates, missing values) and the parameters
    of ``treewise.forest`` and ``treewise.grow``.

    >>> from treewise import ForestClassifier, datasets
    >>> penguins = datasets.penguins().to_polars()
    >>> X, y = penguins.drop("species"), penguins["species"]
    >>> model = ForestClassifier(n_estimators=25, oob_score=True).fit(X, y)
    >>> model.ensemble_
    <Ensemble forest of 25 trees · species: Adelie, Chinstrap, Gentoo · 355 leaves>
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

    _grow = forest

    @parameters(ForestClassifierOptions, forest, grow)
    def __init__(self, n_estimators: int = 100, **options: Unpack[ForestClassifierOptions]) -> None: ...


class ForestRegressor(_BaseBagging, EnsembleRegressor):
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

    _grow = forest

    @parameters(ForestOptions, forest, grow)
    def __init__(self, n_estimators: int = 100, **options: Unpack[ForestOptions]) -> None: ...


class ExtraTreesClassifier(_BaseBagging, EnsembleClassifier):
    """An extra-trees classifier, as a scikit-learn estimator: ``ForestClassifier`` with random splits.

    >>> from treewise import ExtraTreesClassifier
    >>> ExtraTreesClassifier(5).fit([[1], [2], [8], [9]], ["a", "a", "b", "b"]).predict([[0], [10]]).tolist()
    ['a', 'b']

    Attributes are those of ``ForestClassifier``.
    """

    _grow = extra_trees

    @parameters(ExtraTreesClassifierOptions, extra_trees, grow)
    def __init__(self, n_estimators: int = 100, **options: Unpack[ExtraTreesClassifierOptions]) -> None: ...


class ExtraTreesRegressor(_BaseBagging, EnsembleRegressor):
    """An extra-trees regressor, as a scikit-learn estimator: ``ForestRegressor`` with random splits.

    >>> from treewise import ExtraTreesRegressor
    >>> ExtraTreesRegressor(5).fit([[1], [2], [8], [9]], [1.0, 1.0, 4.0, 4.0]).predict([[0], [10]]).tolist()
    [1.0, 4.0]

    Attributes are those of ``ForestRegressor``.
    """

    _grow = extra_trees

    @parameters(ExtraTreesOptions, extra_trees, grow)
    def __init__(self, n_estimators: int = 100, **options: Unpack[ExtraTreesOptions]) -> None: ...


_BAGGING_PARAMS = ("max_samples", "max_features", "bootstrap", "bootstrap_features", "oob_score", "groups", "ties")


class BaggingClassifier(AnyClassifier, _BaseBagging, EnsembleClassifier):
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

    _grow = bagging
    _ensemble_params = _BAGGING_PARAMS
    _sklearn_ensemble = ensemble.BaggingClassifier

    @parameters(BaggingClassifierOptions, bagging, grow)
    def __init__(
        self, estimator: Any = None, n_estimators: int = 10, **options: Unpack[BaggingClassifierOptions]
    ) -> None: ...


class BaggingRegressor(AnyEstimator, _BaseBagging, EnsembleRegressor):
    """A bagging regressor of trees, as a scikit-learn estimator.

    >>> from treewise import BaggingRegressor
    >>> model = BaggingRegressor(n_estimators=50, max_depth=1).fit([[1], [2], [8], [9]], [1, 1, 4, 4])
    >>> model.predict([[0], [10]]).round().tolist()
    [1.0, 4.0]

    Attributes are those of ``ForestRegressor``.
    """

    _grow = bagging
    _ensemble_params = _BAGGING_PARAMS
    _sklearn_ensemble = ensemble.BaggingRegressor

    @parameters(BaggingOptions, bagging, grow)
    def __init__(self, estimator: Any = None, n_estimators: int = 10, **options: Unpack[BaggingOptions]) -> None: ...


# -- boosting ---------------------------------------------------------------------------------------------------------


class _BaseAdaBoost(EnsembleClassifier):
    """Base of AdaBoost: what its vote weights say.

    >>> from treewise import AdaBoostClassifier
    >>> model = AdaBoostClassifier().fit([[1], [2], [3]], ["a", "b", "a"])
    >>> model.decision_function([[1], [2]]).round(2).tolist()
    [-0.35, 0.33]
    """

    def decision_function(self, X: Any) -> Floats:
        """Return the weighted vote for each class, from -1 (no tree) to 1 (all trees).

        With two classes, one number per row, positive where the second class is predicted.
        """
        table = self._read(X)
        return self._decision(self._sums(table))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield the decision function of the first tree, the first two, the first three, …"""
        table = self._read(X)
        return (self._decision(sums) for _, sums in self._stages(table))

    def _decision(self, sums: Floats) -> Floats:
        votes = self._in_order(sums / sums.sum(axis=1, keepdims=True))
        if self.n_classes_ == 2:
            return votes[:, 1] - votes[:, 0]
        return votes - (1 - votes) / max(1, self.n_classes_ - 1)

    @property
    def estimator_weights_(self) -> Floats:
        """The vote weight α of each tree (read-only); with an ``estimator`` that scikit-learn boosts, its own."""
        check_is_fitted(self)
        if "_delegate" in vars(self):
            return np.asarray(self._delegate.estimator_weights_)
        return self.ensemble_.votes

    @property
    def estimator_errors_(self) -> Floats:
        """The weighted error ε of each tree in its round."""
        check_is_fitted(self)
        if "_delegate" in vars(self):
            return np.asarray(self._delegate.estimator_errors_)
        return np.array([round_.error for round_ in self.ensemble_.rounds])


class AdaBoostClassifier(AnyClassifier, _BaseAdaBoost):
    """AdaBoost (SAMME for more than two classes) of trees, by default stumps, as a scikit-learn estimator.

    Accepts the same data as ``TreeClassifier`` and the parameters of ``treewise.adaboost`` and ``treewise.grow``.

    >>> from treewise import AdaBoostClassifier, datasets
    >>> penguins = datasets.penguins().to_polars()
    >>> X, y = penguins.drop("species"), penguins["species"]
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> round(model.score(X, y), 3), model.estimator_weights_[:3].round(3), model.estimator_errors_[:3].round(3)
    (0.991, array([1.011, 1.008, 1.431]), array([0.209, 0.21 , 0.103]))
    >>> len(list(model.staged_decision_function(X)))
    20
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

    _grow = adaboost
    _ensemble_params = ("learning_rate", "resample")
    _sklearn_ensemble = ensemble.AdaBoostClassifier

    @parameters(AdaBoostOptions, adaboost, grow)
    def __init__(
        self, estimator: Any = None, *, n_estimators: int = 50, **options: Unpack[AdaBoostOptions]
    ) -> None: ...
