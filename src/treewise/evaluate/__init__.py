"""How good a tree is on a table whose answers are known, and which way each of its rows goes.

answers.py   which column holds the true answers, and how its labels go with a tree's classes
shown.py     an evaluation as tables, for notebooks and dataframes
figures.py   what was found: error with its interval, log loss, confusion; RMSE, MAE and R² for numbers
measure.py   counting: ``evaluate(tree, data)``
ranking.py   two classes: what was said of the positive one, and what it was
paths.py     each row's way down the tree in words: ``paths(tree, data)``
routes.py    the tests on the way to a node, in words
findings.py  leaves against their rows, contradictions: what a check found
check.py     finding it out: ``check(tree, data)``
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
