"""Misclassification costs: the cost matrix, and trees that predict the class of least expected cost.

Used by pruning and evaluation. Costs change neither splits nor counts: they decide which class a node predicts, so a
tree with costs is the same tree with other labels, and all code that reads labels (text, files, single rows) follows.
The matrix itself stays in the tree's history, for pruning, refitting and evaluation. (To let costs change the
splits, give the classes weights or ``priors``.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import to_python_number
from treewise._lib.text import format_exact, safe
from treewise.errors import Param, ParameterError, brief, did_you_mean, join_few
from treewise.predict.leaf_probabilities import LeafProbabilities, class_counts, class_probabilities, nodes_with_counts
from treewise.tree.arrays import Label
from treewise.tree.history import HistoryStep
from treewise.tree.model import Model
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MAX_CLASSES = 1000
_LARGEST = 1e100  # so that no sum of costs is infinite
EQUAL = 1e-12  # costs nearer than this, relatively, are equal, and the earlier class is taken
_BLOCK = 1 << 22  # counts in memory at once


@dataclass(frozen=True, eq=False)
class CostMatrix:
    """``matrix[i, j]`` is the cost of predicting class j for a row of class i; 0 where i is j.

    >>> costs = CostMatrix.of({"bad": {"good": 5}}, ("good", "bad"))       # every other mistake costs 1
    >>> costs.matrix.tolist()
    [[0.0, 1.0], [5.0, 0.0]]
    >>> costs.predict_class([80, 20]), costs.risk([80, 20])                # 100 for "good", 80 for "bad"
    (1, 80.0)
    """

    classes: tuple[Label, ...]
    matrix: Floats

    @classmethod
    def of(cls, cost: Any, classes: tuple[Label, ...]) -> CostMatrix:
        """Read costs in any of the accepted forms.

        A dict of dicts, ``{"bad": {"good": 5}}`` (the true class, then the predicted one), where a mistake that is not
        named costs 1; a dataframe with the true classes down and the predicted ones across; or an array or list of
        lists in the order of the classes.
        """
        if len(classes) > _MAX_CLASSES:
            raise ParameterError(
                f"there are {len(classes):,} classes, and costs are for {_MAX_CLASSES:,} at most.", parameter="cost"
            )
        if isinstance(cost, CostMatrix):
            cost = cost.to_dict()
        if hasattr(cost, "columns"):
            if not hasattr(cost, "index"):
                raise ParameterError(
                    'a dataframe must name its rows too, as pandas does; or give {"bad": {"good": 5}}.',
                    parameter="cost",
                )
            cost = cost.to_dict(orient="index")
        matrix = _from_names(cost, classes) if isinstance(cost, Mapping) else _from_rows(cost, classes)
        matrix.flags.writeable = False
        return cls(classes, matrix)

    def expected(self, counts: Any) -> Floats:
        """Return the expected cost of predicting each class, given counts or shares; the last axis is the class."""
        total: Floats = np.asarray(counts, np.float64) @ self.matrix
        return total

    def predict_class(self, counts: Any) -> Any:
        """Return the index of the class of least cost (the first of ties), for each row of counts."""
        costs = self.expected(counts)
        smallest = costs.min(axis=-1, keepdims=True)
        chosen = np.argmax(costs <= smallest * (1 + EQUAL), axis=-1)
        return int(chosen) if costs.ndim == 1 else chosen

    def risk(self, counts: Any) -> Any:
        """Return the least cost for rows with these counts: that of ``predict_class``."""
        lowest = self.expected(counts).min(axis=-1)
        return float(lowest) if lowest.ndim == 0 else lowest

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the costs that are not the usual 0 and 1, by name: true class, predicted class.

        >>> CostMatrix.of([[0, 1], [5, 0]], ("good", "bad")).to_dict()
        {'bad': {'good': 5.0}}
        """
        costs: dict[str, dict[str, float]] = {}
        for i, j in np.argwhere(self.matrix != 1 - np.eye(len(self.classes))).tolist():
            costs.setdefault(str(self.classes[i]), {})[str(self.classes[j])] = float(self.matrix[i, j])
        return costs

    def __str__(self) -> str:
        priced = [
            f"{safe(i)} taken for {safe(j)} costs {format_exact(c)}"
            for i, row in self.to_dict().items()
            for j, c in row.items()
        ]
        return join_few(priced, limit=6) + ("; every other mistake 1" if priced else "every mistake costs 1")


def _from_names(cost_by_name: Mapping[Any, Any], classes: tuple[Label, ...]) -> Floats:
    """Read a dict of dicts; a mistake that is not named costs 1."""
    index_of = {str(label): i for i, label in enumerate(classes)}
    matrix = 1 - np.eye(len(classes))
    for true, row in cost_by_name.items():
        if not isinstance(row, Mapping):
            raise ParameterError(
                Param("cost")
                + f" of {brief(true)} is {brief(row)}: must name the predicted classes, as in "
                + Param("cost", {"bad": {"good": 5}})
                + ": a bad one taken for good costs 5."
            )
        for predicted, cost in row.items():
            i, j = _class_index(true, index_of), _class_index(predicted, index_of)
            matrix[i, j] = _check_cost(cost, classes[i], classes[j])
    return matrix


def _class_index(label: object, index_of: Mapping[str, int]) -> int:
    index = index_of.get(str(label))
    if index is None:
        known = join_few([safe(name) for name in index_of])
        raise ParameterError(
            Param("cost") + f' names the class "{safe(label)}"; the classes are {known}.',
            hint=did_you_mean(str(label), index_of),
        )
    return index


def _from_rows(rows: Any, classes: tuple[Label, ...]) -> Floats:
    """Read an array in the order of the classes: true ones down, predicted ones across."""
    k, order = len(classes), join_few([safe(label) for label in classes])
    try:
        matrix = np.array(rows, np.float64)
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty(0)
    if matrix.shape != (k, k):
        raise ParameterError(
            f"must be {k} rows of {k} numbers, true classes down and predicted ones across in the order {order};"
            f' or by name, {{"{safe(classes[-1])}": {{"{safe(classes[0])}": 5}}}}.',
            parameter="cost",
            value=rows,
        )
    for (i, j), cost in np.ndenumerate(matrix):
        _check_cost(float(cost), classes[i], classes[j])
    return matrix


def _check_cost(cost: object, true: Label, predicted: Label) -> float:
    subject = f"cost of {safe(true)} taken for {safe(predicted)} is {brief(cost)}"
    if isinstance(cost, bool) or not isinstance(cost, Real) or not 0 <= to_python_number(cost) <= _LARGEST:
        raise ParameterError(f"{subject}: must be a number, 0 or more and finite.")
    if true == predicted and cost != 0:
        raise ParameterError(f"{subject}: a right answer costs nothing, so leave it out, and price mistakes only.")
    return float(cost)


def losses(truth: npt.NDArray[Any], predicted: npt.NDArray[Any], task: str, cost: CostMatrix | None) -> Floats:
    """Return the loss of each prediction: 1 or its cost for a wrong class; the squared error of a number."""
    if task == "regression":
        return np.asarray((predicted - truth) ** 2, np.float64)
    if cost is None:
        return np.asarray(predicted != truth, np.float64)
    costs = np.vstack([cost.matrix, np.ones(len(cost.classes))])  # a class that is not in the matrix costs 1
    return np.asarray(costs[np.minimum(truth, len(cost.classes)), predicted], np.float64)


# -- trees with costs -------------------------------------------------------------------------------------------------


def cost_matrix_of(model: Model) -> CostMatrix | None:
    """Return the costs a model predicts by; None where every mistake counts 1, as in every ensemble."""
    cost = model.fit_info.cost
    return None if cost is None else CostMatrix.of(cost, model.classes)


def with_cost(tree: Tree, cost: Any) -> Tree:
    """Return the tree that predicts the class of least expected cost at every node; None counts mistakes again."""
    if tree.task == "regression":
        raise ParameterError("a tree that predicts numbers has no classes.", parameter="cost", hint="Leave it out.")
    matrix = None if cost is None else CostMatrix.of(cost, tree.classes)
    step = HistoryStep(did="with_cost", cost=None if matrix is None else matrix.to_dict())
    return with_cost_labels(replace(tree, history=(*tree.history, step)))


def with_cost_labels(tree: Tree) -> Tree:
    """Return the tree with the class that each node's counts, under the tree's costs, make it predict."""
    a = tree.arrays
    answering = nodes_with_counts(tree)
    counted = np.flatnonzero(np.diff(a.count_start)[answering] > 0)
    labels = a.label.copy()
    labels[counted] = least_costly_classes(tree, counted)
    labels.flags.writeable = False
    return replace(tree, arrays=replace(a, label=labels))


def least_costly_classes(tree: Tree, nodes: Ints, estimate: LeafProbabilities | None = None) -> Ints:
    """Return the class of least expected cost at some nodes, by their counts or by estimated probabilities."""
    cost = cost_matrix_of(tree)
    k = len(tree.classes)
    answering = nodes_with_counts(tree)[nodes]
    classes = np.empty(len(nodes), np.int64)
    step = max(1, _BLOCK // k)
    for first in range(0, len(nodes), step):
        block = slice(first, first + step)
        table = (
            class_probabilities(tree, nodes[block], estimate)
            if estimate
            else class_counts(tree, answering[block], 0, k)
        )
        classes[block] = least_costly(table, cost)
    return classes


def least_costly(table: Floats, cost: CostMatrix | None) -> Ints:
    """Return the class of least cost for each row of counts or shares; without costs the most frequent one.

    The first of equals, to twelve digits.
    """
    if cost is not None:
        return np.asarray(cost.predict_class(table), np.int64)
    largest = table.max(axis=1, keepdims=True)
    return np.asarray(np.argmax(table >= largest * (1 - EQUAL), axis=1), np.int64)
