"""scikit-learn's front: trees, forests, bagging and boosting as estimators.

Beside the command line, on top of everything: parameters become calls, and nothing is learned here. scikit-learn is
imported with this folder, so only when an estimator is touched.

    inputs.py      X and y as tables, in scikit-learn's words where they are no good
    options.py     which parameters each estimator has
    base.py        what all share: fit, classes in their order, tags
    trees.py       one tree
    ensembles.py   many: warm starts, members, answers; bagged.py: those whose trees see bags of the rows
    forests.py, bagging.py, boosting.py   the families
"""

from treewise.estimators.bagging import BaggingClassifier, BaggingRegressor
from treewise.estimators.boosting import AdaBoostClassifier
from treewise.estimators.forests import ExtraTreesClassifier, ExtraTreesRegressor, ForestClassifier, ForestRegressor
from treewise.estimators.trees import TreeClassifier, TreeRegressor

__all__ = [
    "AdaBoostClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "ForestClassifier",
    "ForestRegressor",
    "TreeClassifier",
    "TreeRegressor",
]
