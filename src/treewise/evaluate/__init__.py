"""Evaluation of models on tables with true labels.

evaluate.py          ``model.evaluate(data)``; results.py holds and prints the metrics, ranking.py ROC and calibration
check.py             ``tree.check(data)``: leaves that disagree with their rows, contradictions
paths.py             ``tree.paths(data)``: the conditions on the path of each row
importances.py       ``model.importances()``: impurity decrease; permutation.py: permutation importance
validation_curve/    ``treewise.curve``: training and validation error over one parameter
baselines/           ``treewise.compare_models``: a tree and baseline models on the same folds
"""

from treewise.evaluate.check import Check, Contradiction, LeafCheck, check
from treewise.evaluate.evaluate import evaluate
from treewise.evaluate.paths import Paths, RowPath, paths
from treewise.evaluate.results import ClassificationEvaluation, Evaluation, RegressionEvaluation

__all__ = [
    "Check",
    "ClassificationEvaluation",
    "Contradiction",
    "Evaluation",
    "LeafCheck",
    "Paths",
    "RegressionEvaluation",
    "RowPath",
    "check",
    "evaluate",
    "paths",
]
