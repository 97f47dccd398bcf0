"""AdaBoost: ``AdaBoostClassifier``.

On ``ensembles.py``; ``ensemble/adaboost.py`` grows it. Parameters have the names and defaults of ``treewise.adaboost``
and ``treewise.grow``. The latter are those of the single trees: there is no ``estimator=``.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from treewise.data.table import Table
from treewise.ensemble import Ensemble
from treewise.ensemble.adaboost import adaboost, boost, more_rounds
from treewise.ensemble.grow import problem_of_many
from treewise.ensemble.params import AdaBoostParams
from treewise.estimators.base import Floats
from treewise.estimators.ensembles import EnsembleClassifier
from treewise.estimators.options import Boosting, parameters
from treewise.train.grow import grow
from treewise.train.training_set import TrainingSet


class AdaBoostClassifier(EnsembleClassifier):
    """Boosted trees, by default stumps, as a scikit-learn estimator: AdaBoost for two classes, SAMME for more.

    Takes what ``TreeClassifier`` takes, and beside the options of ``treewise.grow`` those of ``treewise.adaboost``.

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
    ensemble_ : the trees with their votes, and everything ``treewise`` can do with them.
    estimators_ : the trees, each as a fitted ``TreeClassifier``, made when it is asked for.
    estimator_weights_ : the vote of each tree, α: half of what scikit-learn calls so.
    estimator_errors_ : the share of the weight that each tree got wrong in its round, ε.
    classes_ : the classes, sorted; ``predict_proba`` has its columns in this order.
    n_classes_, n_features_in_, n_outputs_ : how many there are.
    feature_names_in_ : the names of the columns of X, if it had names.
    feature_importances_ : the share of each column in what the splits gain, on average over the trees by their votes.
    """

    _apart = ("n_estimators", "warm_start", "n_jobs", "learning_rate", "resample")

    @parameters(Boosting, adaboost, grow, warm_start=False)
    def __init__(self, *, n_estimators: int = 50, **options: Unpack[Boosting]) -> None: ...

    def _problem(self, table: Table, options: dict[str, Any]) -> TrainingSet:
        return problem_of_many(table, table.target, {**options, "pruning": "none"}, adaboost)  # whatever a preset says

    def _recipe(self) -> AdaBoostParams:
        """Return what is asked of the trees together."""
        return AdaBoostParams("adaboost", self.n_estimators, self.learning_rate, self.resample)

    def _grow(self, training_set: TrainingSet) -> Ensemble:
        return boost(training_set, self._recipe(), n_jobs=self.n_jobs)

    def _grow_more(self, before: Ensemble, training_set: TrainingSet, n: int) -> Ensemble:
        return more_rounds(before, training_set, n, self.n_jobs)

    def decision_function(self, X: Any) -> Floats:
        """Return how far the trees speak for each class, by their votes: from -1, none does, to 1, all do.

        With two classes, one number a row, which is above 0 where the second is predicted.
        """
        table = self._read(X)
        sums = self._sums(table)
        say = self._in_order(sums / sums.sum(axis=1, keepdims=True))
        if self.n_classes_ == 2:
            return say[:, 1] - say[:, 0]
        return say - (1 - say) / max(1, self.n_classes_ - 1)

    @property
    def estimator_weights_(self) -> Floats:
        """The vote of each tree, α; not to be written to."""
        check_is_fitted(self)
        return self.ensemble_.votes

    @property
    def estimator_errors_(self) -> Floats:
        """The share of the weight that each tree got wrong in its round, ε."""
        check_is_fitted(self)
        return np.array([found.error for found in self.ensemble_.rounds])
