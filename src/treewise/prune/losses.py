"""Losses of held-out rows, by which the size of a tree is chosen, and how their values are written.

Used by ``cross_validation.py`` and by validation curves. To add a loss, write a function and a line of ``LOSSES``: a
function ``(tree, truth, cost) → (rows, nodes) → losses`` for a loss that is a mean over rows. ``auc`` is a property of
all held-out rows together and has a function of its own (``area_above_roc``). Probabilities are those of
``leaf_probabilities.default_smoothing``: a class without rows in a leaf is unlikely there, not impossible.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.checks import check_choice
from treewise._lib.text import format_rounded
from treewise.errors import Param, ParameterError
from treewise.predict.costs import cost_matrix_of
from treewise.predict.leaf_probabilities import class_probabilities, default_smoothing
from treewise.prune.decision import Floats, Ints
from treewise.tree.arrays import Task
from treewise.tree.tree import Tree

RowLosses = Callable[[Ints, Ints], Floats]  # (rows, nodes) → the loss of each row when its node answers


@dataclass(frozen=True)
class Loss:
    """A loss: what it is a loss of, and the risk that orders the nested trees it chooses from."""

    name: str
    task: Task
    title: str
    risk: str = "error"  # of the sequence: "error" as in rpart; "impurity" keeps splits that change probabilities only
    of_rows: Callable[[Tree, Any, Floats | None], RowLosses] | None = None  # None: no mean over rows

    @property
    def is_share(self) -> bool:
        """Whether it is a share of the rows, written in percent."""
        return self.name == "error"

    def describe(self, value: float, low: float | None = None, high: float | None = None) -> str:
        """Return a value as text, with the ends of its 95 % interval if they are given.

        >>> LOSSES["error"].describe(0.058, 0.034, 0.096), LOSSES["squared_error"].describe(5.912, 5.67, 6.16)
        ('error 5.8 % (95 % interval 3.4 to 9.6 %)', 'RMSE 2.43 ± 0.05 (95 % interval)')
        >>> LOSSES["auc"].describe(0.152, 0.12, 0.18), LOSSES["log_loss"].describe(0.364)
        ('AUC 0.848 (95 % interval 0.820 to 0.880)', 'log loss 0.364')
        """
        if low is None or high is None:
            return f"{self.title} {self.format(value)}"
        if self.task == "regression":
            half = self.half_width(low, high)
            return f"{self.title} {self.format(value, half)} ± {half:,.{_decimals(half)}f} (95 % interval)"
        ends = sorted((low, high), key=self.to_unit)
        first, last = (self.format(end) for end in ends)
        return f"{self.title} {self.format(value)} (95 % interval {first.removesuffix(' %')} to {last})"

    def format(self, value: float, reference: float | None = None) -> str:
        """Return a value in the unit people know: percent, AUC rather than what it lacks, RMSE rather than its square.

        A number is rounded to the digits that the half-width ``reference`` of its interval justifies.

        >>> LOSSES["error"].format(0.143), LOSSES["auc"].format(0.152), LOSSES["squared_error"].format(5.912, 0.05)
        ('14.3 %', '0.848', '2.43')
        """
        if reference is not None and self.task == "regression":
            return f"{self.to_unit(value):,.{_decimals(reference)}f}"
        if self.is_share:
            return f"{100 * value:.1f} %"
        return format_rounded(self.to_unit(value)) if self.task == "regression" else f"{self.to_unit(value):.3f}"

    def half_width(self, low: float, high: float) -> float:
        """Return half the width of an interval in the unit in which the loss is written."""
        return abs(self.to_unit(high) - self.to_unit(low)) / 2

    def to_unit(self, value: float) -> float:
        """Convert a loss to the unit in which it is written."""
        if self.name == "auc":
            return 1 - value
        return math.sqrt(value) if self.name == "squared_error" else value


def _decimals(half: float) -> int:
    """Return the decimals for a half-width: one significant digit, two where it begins with 1.

    >>> _decimals(0.0512), _decimals(0.0123), _decimals(37.0)
    (2, 3, 0)
    """
    if not 0 < half < math.inf:
        return 2
    exponent = math.floor(math.log10(half))
    return min(12, max(0, int(half < 1.95 * 10.0**exponent) - exponent))


def _wrong(tree: Tree, truth: Ints, _: Floats | None) -> RowLosses:
    return lambda rows, nodes: np.asarray(truth[rows] != tree.arrays.label[nodes], np.float64)


def _cost(tree: Tree, truth: Ints, cost: Floats | None) -> RowLosses:
    assert cost is not None
    matrix = np.vstack([cost, np.ones(cost.shape[1])])  # a class that the tree does not know costs 1
    return lambda rows, nodes: np.asarray(matrix[truth[rows], tree.arrays.label[nodes]], np.float64)


def _probabilities(tree: Tree) -> Floats:
    """Return the class probabilities of every node, and 0 for a class that the tree does not know."""
    return np.pad(class_probabilities(tree, np.arange(len(tree)), default_smoothing(tree)), ((0, 0), (0, 1)))


def _log_loss(tree: Tree, truth: Ints, _: Floats | None) -> RowLosses:
    table = -np.log(np.maximum(_probabilities(tree), np.finfo(float).tiny))
    return lambda rows, nodes: np.asarray(table[nodes, truth[rows]], np.float64)


def _brier(tree: Tree, truth: Ints, _: Floats | None) -> RowLosses:
    table = _probabilities(tree)
    squares = (table**2).sum(axis=1)
    scale = 0.5 if len(tree.classes) == 2 else 1.0  # of two classes, the one probability counts once
    return lambda rows, nodes: np.asarray(scale * (squares[nodes] - 2 * table[nodes, truth[rows]] + 1), np.float64)


def _squared(tree: Tree, truth: Floats, _: Floats | None) -> RowLosses:
    return lambda rows, nodes: np.asarray((truth[rows] - tree.arrays.value[nodes]) ** 2)


def _absolute(tree: Tree, truth: Floats, _: Floats | None) -> RowLosses:
    return lambda rows, nodes: np.asarray(np.abs(truth[rows] - tree.arrays.value[nodes]))


def _poisson(tree: Tree, truth: Floats, _: Floats | None) -> RowLosses:
    rate = np.maximum(tree.arrays.value, np.finfo(float).tiny)  # 0 only if no row of a fold has an event
    return lambda rows, nodes: poisson_deviance(truth[rows], rate[nodes])


def poisson_deviance(y: Floats, rate: Floats) -> Floats:
    """Return the Poisson deviance of each row, 2·(y·log(y/rate) − (y − rate)): infinite for y > 0 at a rate of 0.

    >>> poisson_deviance(np.array([0.0, 2.0, 3.0]), np.array([0.5, 2.0, 1.0])).round(3).tolist()
    [1.0, 0.0, 2.592]
    """
    y, has_events = np.asarray(y, np.float64), y > 0
    with np.errstate(divide="ignore"):
        ratio = np.divide(y, rate, out=np.ones_like(y), where=has_events)
    return np.asarray(2 * np.maximum(0.0, np.where(has_events, y, 0.0) * np.log(ratio) - (y - rate)))


LOSSES = {
    each.name: each
    for each in (
        Loss("error", "classification", "error", of_rows=_wrong),
        Loss("cost", "classification", "cost per row", of_rows=_cost),
        Loss("log_loss", "classification", "log loss", "impurity", _log_loss),
        Loss("brier", "classification", "Brier score", "impurity", _brier),
        Loss("auc", "classification", "AUC", "impurity"),
        Loss("squared_error", "regression", "RMSE", of_rows=_squared),
        Loss("absolute_error", "regression", "mean absolute error", of_rows=_absolute),
        Loss("poisson_deviance", "regression", "Poisson deviance", "impurity", _poisson),
    )
}


def default_loss(task: Task, criterion: str | None, has_cost: bool) -> str:
    """Return the loss that is used unless another is given: what the tree predicts by."""
    if task == "regression":
        return {"absolute_error": "absolute_error", "poisson": "poisson_deviance"}.get(criterion or "", "squared_error")
    return "cost" if has_cost else "error"


def find_loss(tree: Tree, name: str | None) -> Loss:
    """Return a loss by name, or the default of a tree; raise for one that does not apply to it."""
    has_cost = cost_matrix_of(tree) is not None
    if name is None:
        return LOSSES[default_loss(tree.task, tree.criterion, has_cost)]
    check_choice("loss", name, LOSSES)
    loss = LOSSES[name]
    if loss.task != tree.task:
        known = ", ".join(known_loss.name for known_loss in LOSSES.values() if known_loss.task == tree.task)
        raise ParameterError(
            f"is for {loss.task}, and this tree is one of {tree.task}.",
            parameter="loss",
            value=name,
            hint=f"Choose one of {known}.",
        )
    if name == "cost" and not has_cost:
        raise ParameterError(
            Param("loss", "cost") + " needs " + Param("cost", ...) + ", the costs of mistakes, when the tree is grown."
        )
    if name == "poisson_deviance" and tree.criterion != "poisson":
        raise ParameterError(
            Param("loss", name) + " is for trees that predict counts or rates, which are never below 0.",
            hint="Grow the tree by " + Param("criterion", "poisson") + ", or choose squared_error.",
        )
    if name == "auc" and len(tree.classes) != 2:
        raise ParameterError(
            f"is for two classes, and this tree has {len(tree.classes)}.",
            parameter="loss",
            value=name,
            hint="Choose log_loss or brier.",
        )
    return loss


def area_above_roc(score: Floats, positives: Any, negatives: Any) -> float:
    """Return 1 − AUC of weights of positive and other rows at some scores; ties count half, NaN without one of both.

    >>> area_above_roc(np.array([0.9, 0.4, 0.9]), np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0]))
    0.5
    """
    total = float(positives.sum()) * float(negatives.sum())
    if not total:
        return math.nan
    levels, inverse = np.unique(score, return_inverse=True)
    up, across = (np.bincount(inverse, weight, len(levels)) for weight in (positives, negatives))
    below = np.cumsum(across) - across / 2
    return 1.0 - float(up @ below) / total


def describe_cross_validation(tree: Tree) -> str | None:
    """Describe the cross-validated loss of the size of a tree, corrected for its choice; None if there is none.

    >>> import treewise as tw
    >>> describe_cross_validation(tw.grow("penguins", pruning="cv"))
    'cross-validated error 3.5 % (95 % interval 1.5 to 6.9 %), corrected for the choice of the size'
    """
    loss = tree.fit_info.cross_validated
    if loss is None or loss.loss not in LOSSES:
        return None
    described = LOSSES[loss.loss].describe(loss.value, loss.low, loss.high)
    return f"cross-validated {described}, corrected for the choice of the size"
