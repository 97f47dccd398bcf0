"""The decision of a pruning method, and what methods share: bottom-up pruning, risks of nodes, the training table.

A method is a function ``decide(tree, **options) -> PruneDecision``; ``prune.py`` applies the decision and records it in
the tree's history.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.checks import check_choice
from treewise._lib.text import format_exact, plural, safe
from treewise.errors import Call, DataError, Message, Param, ParameterError, Reference
from treewise.predict.costs import cost_matrix_of
from treewise.train.grow import prepare_like
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

ROUNDING = 1e-12  # relative difference below which sums of doubles count as equal


@dataclass(frozen=True, eq=False)
class PruneDecision:
    """Which nodes become leaves, and the numbers behind it: of the subtree (before) and as a leaf (after)."""

    is_pruned: Bools  # one entry per node; entries below a pruned node are ignored
    considered: Bools
    before: Floats | None  # NaN where there is none
    after: Floats | None
    measure: str  # describes the two numbers …
    reason: Callable[[int], str]  # for a node that was considered
    headings: tuple[str, str] = ("before", "after")  # … and what heads their columns
    options: dict[str, Any] = field(default_factory=dict)  # as recorded in the history
    facts: Sequence[str] = ()  # lines printed above the table of decisions
    extra: dict[str, Any] = field(default_factory=dict)  # further entries of the history step
    predictions: npt.NDArray[Any] | None = None  # predictions of cut nodes, where these differ from the nodes' own
    tree: Tree | None = None  # the pruned tree, where more was done than cutting, …
    new_numbers: Ints | None = None  # … and the number of each old node in it


def is_internal(tree: Tree) -> Bools:
    """Return a mask of the internal nodes."""
    mask: Bools = tree.arrays.kind != LEAF
    return mask


def prune_bottom_up(
    tree: Tree, leaf_cost: Floats, internal_cost: Floats | None = None, tolerance: float = 0.0
) -> tuple[Bools, Floats]:
    """Cut every node that costs no more as a leaf than its subtree, already pruned, does (plus ``tolerance``).

    Costs add up over leaves; ``internal_cost`` is added for each internal node that stays. Returns the cut nodes and
    the cost of each pruned subtree when its node was considered. With tolerance 0 this is the smallest pruning of
    minimum cost: the best pruning of one branch does not depend on the others.
    """
    internal = is_internal(tree)
    node_cost = np.where(internal, 0.0 if internal_cost is None else internal_cost, 0.0)
    is_pruned, below = _core.prune_bottom_up(
        tree.arrays.parent, np.ascontiguousarray(leaf_cost, np.float64), node_cost, tolerance, ROUNDING
    )
    return is_pruned.astype(bool), np.where(internal, below, leaf_cost)


RISKS = ("impurity", "error")


def require_rows(tree: Tree, subject: str | Reference) -> None:
    """Raise for a tree without training rows, such as one written by hand."""
    if tree.arrays.rows[0] == 0 or not tree.arrays.weight[0] > 0:
        raise ParameterError(
            Message(subject, " needs the training rows of each node, and this tree has none. Use ")
            + Call("tree.refit(data)")
            + " first."
        )


def require_classes(tree: Tree, subject: str | Reference, instead: str | Reference) -> None:
    """Raise for a regression tree where misclassified rows are counted."""
    if tree.task == "regression":
        raise ParameterError(
            Message(subject, " counts misclassified rows, and this is a regression tree."),
            hint=Message("For regression: ", instead, "."),
        )


def node_risks(tree: Tree, risk: str) -> Floats:
    """Return the total risk of every node as a leaf: a sum over its training rows, so that leaves add up.

    ``"impurity"`` is weight times impurity; ``"error"`` is the weight of the misclassified rows, or their cost in a
    tree with costs; for regression the sum of squared errors (absolute ones for criterion="absolute_error").
    """
    check_choice("risk", risk, RISKS)
    require_rows(tree, "cost-complexity pruning")
    if risk == "impurity":
        total: Floats = tree.arrays.weight * tree.arrays.impurity
        return total
    cost = cost_matrix_of(tree)
    return leaf_errors(tree, None if cost is None else cost.matrix)


def leaf_errors(tree: Tree, cost: Floats | None = None) -> Floats:
    """Return the training errors of every node as a leaf: a weight of rows, or a sum of squares.

    ``cost[c, p]`` is the cost of predicting class p for a row of class c; by default every error costs 1.
    """
    a = tree.arrays
    if tree.task == "regression":
        squares = a.impurity if tree.criterion == "absolute_error" else a.spread * a.spread
        total: Floats = a.weight * squares
        return total
    node = np.repeat(np.arange(len(tree)), np.diff(a.count_start))
    losses = a.count_class != a.label[node] if cost is None else cost[a.count_class, a.label[node]]
    wrong = np.bincount(node, a.count_weight * losses, len(tree))
    return np.asarray(wrong, np.float64)


def sum_over_leaves(tree: Tree, of_nodes: Floats) -> float:
    """Return the sum of a risk over the leaves: that of the whole tree."""
    return float(of_nodes[tree.arrays.kind == LEAF].sum())


_SAME_WEIGHT = 1e-9  # relative difference below which total weights count as equal


def rebuild_training_set(
    tree: Tree, data: Any, sample_weight: Any = None, groups: Any = None, time: Any = None
) -> TrainingSet:
    """Prepare the table a tree was grown on, given again; raise if its rows or its weight differ."""
    training_set = prepare_like(tree, data, sample_weight, groups, time)
    rows, weight = int(tree.arrays.rows[0]), float(tree.arrays.weight[0])
    name = safe(training_set.table_name)
    if len(training_set) != rows:
        raise DataError(
            Param("data")
            + f": {name} has {plural(len(training_set), 'usable row')}, and the tree was grown on {rows:,}.",
            hint="Give the table it was grown on, or use " + Call("tree.refit(data)") + " first.",
        )
    total = math.ldexp(int(training_set.weight.sum()), -training_set.weight_scale)
    if not math.isclose(total, weight, rel_tol=_SAME_WEIGHT):
        raise DataError(
            f"{name}: the total weight is {format_exact(float(f'{total:.6g}'))}, and the tree was grown on"
            f" {format_exact(float(f'{weight:.6g}'))}.",
            hint="Give the same " + Param("sample_weight", ...) + " as for growing.",
        )
    return training_set
