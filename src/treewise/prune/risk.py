"""What each node costs as a leaf, on the rows the tree was grown on: by its criterion, or by its errors.

Stands below the methods. Costs are totals over the rows of a node (weights, or squared units of the target), so that
those of leaves add up, and whole weights stay whole.
"""

from __future__ import annotations

import numpy as np

from treewise.errors import Call, Message, ParameterError, Reference
from treewise.predict.costs import cost_matrix_of
from treewise.prune.decision import Floats
from treewise.train.settings import one_of
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

RISKS = ("impurity", "error")


def require_rows(tree: Tree, what: str) -> None:
    """Refuse a tree that has seen no rows, such as one written by hand."""
    if tree.arrays.rows[0] == 0 or not tree.arrays.weight[0] > 0:
        raise ParameterError(
            f"{what} needs the rows of each node, and this tree has seen none. " + Call("tree.refit(data)") + " first."
        )


def require_classes(tree: Tree, what: str | Reference, instead: str | Reference) -> None:
    """Refuse a tree of numbers where wrong classes are counted."""
    if tree.task == "regression":
        raise ParameterError(
            Message(what, " counts wrong classes, and this tree predicts numbers."),
            hint=Message("For numbers: ", instead, "."),
        )


def node_risks(tree: Tree, risk: str) -> Floats:
    """Return the total risk of every node as a leaf.

    ``"impurity"`` is the criterion's; ``"error"`` is the weight of the rows of other classes than the predicted one, or
    what they cost in a tree with costs; for numbers the sum of squared errors (of absolute ones, where the tree was
    grown by those).
    """
    one_of("risk", risk, RISKS)
    require_rows(tree, f'risk="{risk}"')
    if risk == "impurity":
        total: Floats = tree.arrays.weight * tree.arrays.impurity
        return total
    cost = cost_matrix_of(tree)
    return errors_as_leaf(tree, None if cost is None else cost.matrix)


def errors_as_leaf(tree: Tree, cost: Floats | None = None) -> Floats:
    """Return the errors every node would make as a leaf: a weight of rows, or a sum of squares.

    ``cost[c, p]`` is what predicting class p for a row of class c counts; by default any error counts 1.
    """
    a = tree.arrays
    if tree.task == "regression":
        squares = a.impurity if tree.criterion == "absolute_error" else a.spread * a.spread
        total: Floats = a.weight * squares
        return total
    node = np.repeat(np.arange(len(tree)), np.diff(a.count_start))
    each = a.count_class != a.label[node] if cost is None else cost[a.count_class, a.label[node]]
    wrong = np.bincount(node, a.count_weight * each, len(tree))
    return np.asarray(wrong, np.float64)


def training_risk(tree: Tree, of_nodes: Floats) -> float:
    """Return the risk of the whole tree: the sum over its leaves."""
    return float(of_nodes[tree.arrays.kind == LEAF].sum())
