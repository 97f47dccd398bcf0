"""Evaluation of models on tables with true labels.

evaluate.py          ``model.evaluate(data)``; results.py and regression_results.py hold and print the metrics
metrics.py           formulas of metrics and their intervals; ranking.py: ROC, gains and calibration
threshold.py         ``evaluation.choose_threshold(…)``: a threshold for a rate or for costs
paired.py            ``treewise.evaluate_pair``: two models on the same rows
check.py             ``tree.check(data)``: leaves that disagree with their rows, contradictions
paths.py             ``tree.paths(data)``: the conditions on the path of each row
importances.py       ``model.importances()``: impurity decrease; permutation.py: permutation importance
validation_curve/    ``treewise.curve``: training and validation error over one parameter
baselines/           ``treewise.compare_models``: a tree and baseline models on the same folds
"""

from treewise.evaluate.check import Check, Contradiction, LeafCheck, check
from treewise.evaluate.evaluate import evaluate
from treewise.evaluate.paths import Paths, RowPath, paths
from treewise.evaluate.regression_results import RegressionEvaluation
from treewise.evaluate.results import ClassificationEvaluation, Evaluation

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
