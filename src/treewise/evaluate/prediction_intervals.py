"""Prediction intervals for single rows of a regression tree, by split conformal prediction on calibration rows.

``Tree.predict_interval(data, calibration=…)`` comes here. The interval of a mean shrinks as a leaf gets more rows; the
rows themselves do not come closer together. How far they lie from the prediction is measured on rows that the tree has
not seen: the residual of a new row has any rank among n others with the same probability, so it lies between the l-th
and the (l + k)-th smallest with probability k / (n + 1), whatever their distribution (Vovk, Gammerman and Shafer 2005).
Leaves with enough calibration rows have intervals of their own; smaller ones are pooled with their neighbours.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import decimal_fraction
from treewise._lib.text import plural
from treewise.data import encoding as encode
from treewise.errors import DataError, Param, ParameterError
from treewise.evaluate.evaluate import looks_like_training_data, prepare_evaluation, refuse_infinite
from treewise.predict.confidence_intervals import check_confidence
from treewise.predict.predict import Answers
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_ALL_ROWS = -1  # instead of a node


def least_rows(confidence: float) -> int:
    """Return how many calibration rows an interval needs.

    >>> least_rows(0.95), least_rows(0.9), least_rows(0.5)
    (39, 19, 3)
    """
    return math.ceil(2 / (1 - decimal_fraction(confidence))) - 1


def order_ranks(n: int, confidence: float) -> tuple[int, int]:
    """Return the ranks, from 0, of the residuals at the ends: as few apart as the confidence allows, in the middle.

    >>> order_ranks(39, 0.95), order_ranks(100, 0.9)
    ((0, 38), (4, 95))
    """
    k = math.ceil(decimal_fraction(confidence) * (n + 1))
    low = (n + 1 - k) // 2
    return low - 1, low + k - 1


def predict_row_interval(tree: Tree, data: Any, calibration: Any, confidence: float = 0.95) -> Floats:
    """Return low and high ends for each row: (rows, 2); for a single row, one pair."""
    rows = tree.encode(data)
    bounds = prediction_intervals(tree, tree.answers(rows), calibration, confidence)
    return bounds[0] if rows.single else bounds


def prediction_intervals(tree: Tree, answers: Answers, calibration: Any, confidence: float = 0.95) -> Floats:
    """Return low and high ends for rows that were walked down the tree: rows × 2."""
    assert answers.leaves is not None
    ranges = residual_ranges(tree, calibration, confidence)[answers.leaves]
    return np.asarray(answers.values()[:, None] + ranges, np.float64)


def residual_ranges(tree: Tree, calibration: Any, confidence: float) -> Floats:
    """Return the ends of the residuals at each node: nodes × 2."""
    confidence = check_confidence(confidence)
    if tree.task == "classification":
        raise ParameterError(
            "prediction intervals are for regression; classes have probabilities.",
            parameter="calibration",
            hint="Leave it out.",
        )
    compared = prepare_evaluation(tree, calibration)
    if looks_like_training_data(compared):
        raise DataError(
            f"{compared.table.name} looks like the training rows, which lie closer to the predictions than others do.",
            hint="Give rows that the tree has not seen: " + Param("calibration", ...) + ".",
        )
    truth = encode.encode_numbers(compared.column)
    refuse_infinite(truth, compared)
    needed = least_rows(confidence)
    if len(truth) < needed:
        raise DataError(
            f"{compared.table.name} has {plural(len(truth), 'row')}: a prediction interval of {100 * confidence:g} %"
            f" needs at least {needed:,}."
        )
    residuals = truth - tree.answers(compared.encoded).values()
    group = pool_leaves(tree, np.bincount(compared.leaves, minlength=len(tree)), needed)
    bounds = np.empty((len(tree) + 1, 2))  # the last is for all rows
    bounds[_ALL_ROWS] = np.sort(residuals)[[*order_ranks(len(residuals), confidence)]]
    row_group = group[compared.leaves]
    order = np.lexsort((residuals, row_group))
    nodes, starts, counts = np.unique(row_group[order], return_index=True, return_counts=True)
    for node, start, n in zip(nodes.tolist(), starts.tolist(), counts.tolist(), strict=True):
        if node != _ALL_ROWS:
            bounds[node] = residuals[order[[start + rank for rank in order_ranks(n, confidence)]]]
    return bounds[group]


def pool_leaves(tree: Tree, rows: Ints, needed: int) -> Ints:
    """Return the node whose rows stand for each node: itself, or the smallest around it that collects enough rows.

    Bottom up, a node with enough rows closes a pool; the rows of one without pass to its parent. What remains at the
    root without enough rows takes the residuals of all rows (-1).
    """
    parent, waiting = tree.arrays.parent.tolist(), rows.tolist()
    closed = [False] * len(parent)
    for node in range(len(parent) - 1, -1, -1):
        closed[node] = waiting[node] >= needed
        if node and not closed[node]:
            waiting[parent[node]] += waiting[node]
    group = np.empty(len(parent), np.int64)
    for node, above in enumerate(parent):
        group[node] = node if closed[node] else group[above] if node else _ALL_ROWS
    return group
