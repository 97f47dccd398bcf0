"""Random forests and extra-trees: ``ForestClassifier``, ``ForestRegressor``, ``ExtraTreesClassifier``,
``ExtraTreesRegressor``.

On ``bagged.py``; ``ensemble/forest.py`` grows them. Parameters have the names and defaults of ``treewise.forest`` and
``treewise.extra_trees``, and of ``treewise.grow``.
"""

from __future__ import annotations

from typing import Any, Unpack

from treewise.data.table import Table
from treewise.ensemble.forest import extra_trees, forest, problem_of_extra_trees, problem_of_forest
from treewise.ensemble.params import BaggingParams, BagMethod
from treewise.estimators.bagged import Bagged
from treewise.estimators.ensembles import EnsembleClassifier, EnsembleRegressor
from treewise.estimators.options import Forest, ForestOfClasses, RandomTests, RandomTestsOfClasses, parameters
from treewise.train.grow import grow
from treewise.train.training_set import TrainingSet

OF_ALL_TREES = ("n_estimators", "warm_start", "n_jobs", "bootstrap", "max_samples", "oob_score")


class RandomForest(Bagged):
    """Trees that differ by their rows, and by the columns that each node may choose among."""

    _method: BagMethod = "forest"
    _apart = OF_ALL_TREES

    def _recipe(self) -> BaggingParams:
        return BaggingParams(
            self._method, self.n_estimators, self.bootstrap, self.max_samples, oob_score=self.oob_score
        )

    def _problem(self, table: Table, options: dict[str, Any]) -> TrainingSet:
        return problem_of_forest(table, table.target, {**options, "pruning": "none"})


class ExtraTrees(RandomForest):
    """Trees that differ by their tests: of each column that a node draws, one is drawn at random."""

    _method: BagMethod = "extra_trees"

    def _problem(self, table: Table, options: dict[str, Any]) -> TrainingSet:
        return problem_of_extra_trees(table, table.target, {**options, "pruning": "none"})


class ForestClassifier(RandomForest, EnsembleClassifier):
    """A random forest for classes, as a scikit-learn estimator.

    Takes what ``TreeClassifier`` takes (dataframes, text, categories, dates, missing values), and beside the options of
    ``treewise.grow`` those of ``treewise.forest``.

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
    ensemble_ : the trees, with everything ``treewise`` can do with many.
    estimators_ : the same, each as a fitted ``TreeClassifier``, made when it is asked for.
    classes_ : the classes, sorted; ``predict_proba`` has its columns in this order.
    n_classes_, n_features_in_, n_outputs_ : how many there are.
    feature_names_in_ : the names of the columns of X, if it had names.
    feature_importances_ : the share of each column in what the splits gain, on average over the trees.
    oob_score_, oob_decision_function_ : with ``oob_score``: the share of right answers where each row is answered for
        by the trees that have not seen it; and what these say.
    """

    @parameters(ForestOfClasses, forest, grow, warm_start=False)
    def __init__(self, n_estimators: int = 100, **options: Unpack[ForestOfClasses]) -> None: ...


class ForestRegressor(RandomForest, EnsembleRegressor):
    """A random forest for numbers, as a scikit-learn estimator.

    Takes what ``ForestClassifier`` takes, less what is about classes. By default a node chooses among all columns.

    >>> from treewise import ForestRegressor
    >>> X, y = [{"town": "Bari", "age": 31}, {"town": "Rome", "age": 54}, {"town": "Rome", "age": 40}], [1.5, 4.0, 4.5]
    >>> ForestRegressor(bootstrap=False, max_depth=1).fit(X, y).predict([{"town": "Rome", "age": 45}])
    array([4.25])

    Attributes
    ----------
    ensemble_ : the trees, with everything ``treewise`` can do with many.
    estimators_ : the same, each as a fitted ``TreeRegressor``, made when it is asked for.
    n_features_in_, n_outputs_ : how many there are.
    feature_names_in_ : the names of the columns of X, if it had names.
    feature_importances_ : the share of each column in what the splits gain, on average over the trees.
    oob_score_, oob_prediction_ : with ``oob_score``: R² where each row is answered for by the trees that have not seen
        it; and what these say.
    """

    @parameters(Forest, forest, grow, warm_start=False)
    def __init__(self, n_estimators: int = 100, **options: Unpack[Forest]) -> None: ...


class ExtraTreesClassifier(ExtraTrees, EnsembleClassifier):
    """Extremely randomised trees for classes, as a scikit-learn estimator: ``ForestClassifier`` with tests at random.

    >>> from treewise import ExtraTreesClassifier
    >>> ExtraTreesClassifier(5).fit([[1], [2], [8], [9]], ["a", "a", "b", "b"]).predict([[0], [10]]).tolist()
    ['a', 'b']

    Attributes are those of ``ForestClassifier``.
    """

    @parameters(RandomTestsOfClasses, extra_trees, grow, warm_start=False)
    def __init__(self, n_estimators: int = 100, **options: Unpack[RandomTestsOfClasses]) -> None: ...


class ExtraTreesRegressor(ExtraTrees, EnsembleRegressor):
    """Extremely randomised trees for numbers, as a scikit-learn estimator: ``ForestRegressor`` with tests at random.

    >>> from treewise import ExtraTreesRegressor
    >>> ExtraTreesRegressor(5).fit([[1], [2], [8], [9]], [1.0, 1.0, 4.0, 4.0]).predict([[0], [10]]).tolist()
    [1.0, 4.0]

    Attributes are those of ``ForestRegressor``.
    """

    @parameters(RandomTests, extra_trees, grow, warm_start=False)
    def __init__(self, n_estimators: int = 100, **options: Unpack[RandomTests]) -> None: ...
