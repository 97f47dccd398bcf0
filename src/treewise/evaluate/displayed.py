"""An evaluation in the words of its model's display: labels instead of classes, in its tables, text and pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from treewise.evaluate.results import Evaluation

    SomeEvaluation = TypeVar("SomeEvaluation", bound=Evaluation)


def displayed_evaluation(evaluation: SomeEvaluation) -> SomeEvaluation:
    """Return the evaluation with the labels of the classes; the same one if its model has no display.

    >>> import treewise as tw
    >>> tree = tw.grow("xor", labels={0: "off", 1: "on"})
    >>> displayed_evaluation(tree.evaluate("xor")).classes
    ('off', 'on')
    """
    from treewise.evaluate.results import ClassificationEvaluation

    display = evaluation.display
    if display is None:
        return evaluation
    changes: dict[str, Any] = {"target": display.target_name(evaluation.target), "display": None}
    if isinstance(evaluation, ClassificationEvaluation):
        classes = tuple(map(display.label, evaluation.classes))
        majority, matrix = evaluation.majority, evaluation.cost_matrix
        changes |= {
            "classes": classes,
            "labels": tuple(map(display.label, evaluation.labels)),
            "majority": None if majority is None else display.label(majority),
            "cost_matrix": None if matrix is None else replace(matrix, classes=classes),
            "rankings": tuple(replace(each, positive=display.label(each.positive)) for each in evaluation.rankings),
        }
    return replace(evaluation, **changes)
