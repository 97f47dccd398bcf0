"""One prediction in words and numbers: ``tree.explain(row)``.

path.py          the row's way down, and how each step moved the answer
survey.py        what the rows of a table share: the ends of the tree, and what each answers
change.py        the nearest change that would alter the decision
words.py         both in sentences
explanation.py   all of it as one value, shown in every form
"""

from __future__ import annotations

from treewise.explain.row.counterfactual import CellChange, Counterfactual
from treewise.explain.row.explanation import (
    DesiredAnswer,
    Explanation,
    Explanations,
    explain,
    explain_rows,
    explain_typed,
)
from treewise.explain.row.path import AskedCell, PathStep

__all__ = [
    "AskedCell",
    "CellChange",
    "Counterfactual",
    "DesiredAnswer",
    "Explanation",
    "Explanations",
    "PathStep",
    "explain",
    "explain_rows",
    "explain_typed",
]
