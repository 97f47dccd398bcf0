"""Bagging: ``BaggingClassifier`` and ``BaggingRegressor``.

On ``bagged.py``; ``ensemble/bagging.py`` grows them. Parameters have the names and defaults of ``treewise.bagging`` and
``treewise.grow``. The latter are those of the single trees: there is no ``estimator=``.
"""

from __future__ import annotations

from typing import Any, Unpack

from treewise.data.table import Table
from treewise.ensemble.bagging import bagging
from treewise.ensemble.grow import problem_of_many
from treewise.ensemble.params import BaggingParams
from treewise.estimators.bagged import Bagged
from treewise.estimators.ensembles import EnsembleClassifier, EnsembleRegressor
from treewise.estimators.options import Bags, BagsOfClasses, parameters
from treewise.train.grow import grow
from treewise.train.training_set import TrainingSet


class Bagging(Bagged):
    """Trees that differ by their rows, and by the columns that a whole tree may ask about."""

    _apart = (
        "n_estimators",
        "warm_start",
        "n_jobs",
        "bootstrap",
        "max_samples",
        "max_features",
        "bootstrap_features",
        "oob_score",
    )

    def _problem(self, table: Table, options: dict[str, Any]) -> TrainingSet:
        return problem_of_many(table, table.target, {**options, "pruning": "none"}, bagging)  # whatever a preset says

    def _recipe(self) -> BaggingParams:
        return BaggingParams(
            "bagging",
            self.n_estimators,
            self.bootstrap,
            self.max_samples,
            self.max_features,
            self.bootstrap_features,
            self.oob_score,
        )


class BaggingClassifier(Bagging, EnsembleClassifier):
    """Bagged trees for classes, as a scikit-learn estimator.

    Takes what ``TreeClassifier`` takes, and beside the options of ``treewise.grow`` those of ``treewise.bagging``.

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

    @parameters(BagsOfClasses, bagging, grow, warm_start=False)
    def __init__(self, *, n_estimators: int = 10, **options: Unpack[BagsOfClasses]) -> None: ...


class BaggingRegressor(Bagging, EnsembleRegressor):
    """Bagged trees for numbers, as a scikit-learn estimator.

    >>> from treewise import BaggingRegressor
    >>> model = BaggingRegressor(n_estimators=50, max_depth=1).fit([[1], [2], [8], [9]], [1, 1, 4, 4])
    >>> model.predict([[0], [10]]).round().tolist()
    [1.0, 4.0]

    Attributes are those of ``ForestRegressor``.
    """

    @parameters(Bags, bagging, grow, warm_start=False)
    def __init__(self, *, n_estimators: int = 10, **options: Unpack[Bags]) -> None: ...
