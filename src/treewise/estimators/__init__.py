"""scikit-learn estimators: trees, forests, bagging and boosting.

Like the command line, a front over everything else: parameters become calls, and nothing is learned here. scikit-learn
is imported with this package, so only when an estimator is used.

    inputs.py          X and y as tables, with scikit-learn's error messages
    options.py         the parameters of each estimator
    base.py            what all estimators share: fit, the order of classes, tags
    trees.py           single trees
    optimal.py         optimal trees
    base_ensemble.py   what ensembles share: warm starts, members, predictions
    any_estimator.py   ``estimator=``: bagging and boosting of other estimators
    ensembles.py       forests, extra-trees, bagging, AdaBoost; out-of-bag scores
"""

from treewise.estimators.ensembles import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    ForestClassifier,
    ForestRegressor,
)
from treewise.estimators.optimal import OptimalTreeClassifier, OptimalTreeRegressor
from treewise.estimators.trees import TreeClassifier, TreeRegressor

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "ForestClassifier",
    "ForestRegressor",
    "OptimalTreeClassifier",
    "OptimalTreeRegressor",
    "TreeClassifier",
    "TreeRegressor",
]
