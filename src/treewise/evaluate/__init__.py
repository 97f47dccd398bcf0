"""How good a tree is on a table whose answers are known, and which way each of its rows goes.

answers.py   which column holds the true answers, and how its labels go with a tree's classes
figures.py   what was found: error with its interval, log loss, confusion; RMSE, MAE and R² for numbers
measure.py   counting: ``evaluate(tree, data)``
ranking.py   two classes: what was said of the positive one, and what it was
paths.py     each row's way down the tree in words: ``paths(tree, data)``
"""

from treewise.evaluate.figures import ClassEvaluation, Evaluation, NumberEvaluation
from treewise.evaluate.measure import evaluate
from treewise.evaluate.paths import Paths, RowPath, paths

__all__ = [
    "ClassEvaluation",
    "Evaluation",
    "NumberEvaluation",
    "Paths",
    "RowPath",
    "evaluate",
    "paths",
]
