"""scikit-learn's front: trees, as estimators.

Beside the command line, on top of everything: parameters become calls, and nothing is learned here. scikit-learn is
imported with this folder, so only when an estimator is touched. ``trees.py`` has one tree; all
stand on ``base.py``.
"""

from treewise.estimators.trees import TreeClassifier, TreeRegressor

__all__ = ["TreeClassifier", "TreeRegressor"]
