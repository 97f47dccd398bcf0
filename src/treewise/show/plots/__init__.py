"""Curves and charts in matplotlib, one small file a picture; each takes and returns an ``Axes``.

Stands above the values that are drawn (a curve, an evaluation, a node's trace), whose ``draw`` methods are doors to
here, and on ``paper.py``.

curve.py       training against validation error as the tree grows       ``tw.curve(…).draw()``
impurity.py    entropy and 2·gini of two classes (chapter 8, figure 8.4)  ``tw.draw_impurity()``
gains.py       what every threshold of a column would gain at a node     ``tree.trace(data)[0].draw("age")``
ranking.py     ROC, precision and recall, calibration of two classes     ``tree.evaluate(test).draw("roc")``
importances.py which columns matter, as bars                             ``tree.importances().draw()``
stages.py      the error of an ensemble as trees are added              ``ensemble.draw_stages(data)``
confusion.py   true classes against predicted ones                       ``tree.evaluate(test).draw()``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewise.errors import ParameterError
from treewise.train.settings import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise.evaluate import ClassificationEvaluation

EVALUATIONS = ("confusion", "roc", "precision_recall", "calibration")


def draw_evaluation(found: ClassificationEvaluation, what: str, ax: Axes | None) -> Axes:
    """Draw one of the pictures of an evaluation."""
    one_of("what", what, EVALUATIONS)
    if what == "confusion":
        from treewise.show.plots.confusion import draw_confusion

        return draw_confusion(found, ax)
    if found.ranking is None:
        raise ParameterError(
            f"is for two classes, and there are {len(found.classes)}.",
            parameter="what",
            value=what,
            hint='There is "confusion".',
        )
    from treewise.show.plots import ranking

    return {
        "roc": ranking.draw_roc,
        "precision_recall": ranking.draw_precision_recall,
        "calibration": ranking.draw_calibration,
    }[what](found, ax)
