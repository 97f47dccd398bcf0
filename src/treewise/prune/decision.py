"""What a pruning method decides, and the walk from the leaves up that several methods share.

Stands below the methods. A method looks at a tree and returns a ``Verdict``; ``front.py`` cuts, and writes the decision
into the history.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.text import format_exact, plural, safe
from treewise.errors import Call, DataError, Message, Param, ParameterError, Reference
from treewise.predict.costs import cost_matrix_of
from treewise.train.grow import prepare_like
from treewise.train.settings import one_of
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

ROUNDING = 1e-12  # sums of doubles that are nearer than this are equal


@dataclass(frozen=True, eq=False)
class PruneDecision:
    """Which nodes become leaves, and the numbers that say so: of the subtree (before) and as a leaf (after)."""

    cut: Bools  # of every node; a node below a cut one does not matter
    considered: Bools
    before: Floats | None  # NaN: there is no such number
    after: Floats | None
    measure: str  # what the two numbers are
    reason: Callable[[int], str]  # of a node that was looked at
    options: dict[str, Any] = field(default_factory=dict)  # as the history keeps them
    facts: Sequence[str] = ()  # lines above the table of decisions
    extra: dict[str, Any] = field(default_factory=dict)  # further entries of the step
    predictions: npt.NDArray[Any] | None = None  # what cut nodes predict, where they must not say it by themselves
    tree: Tree | None = None  # the outcome, where nodes were not only cut, …
    new_numbers: Ints | None = None  # … and each node's number in it


def is_internal(tree: Tree) -> Bools:
    """Tell which nodes ask something."""
    asks: Bools = tree.arrays.kind != LEAF
    return asks


def prune_bottom_up(
    tree: Tree, as_leaf: Floats, of_its_own: Floats | None = None, slack: float = 0.0
) -> tuple[Bools, Floats]:
    """Cut every node that costs no more as a leaf than its subtree, already cut below, does (plus ``slack``).

    Costs add up over leaves; ``of_its_own`` is what an inner node adds. Returns what is cut, and what the subtree of
    each inner node cost when it was looked at. Without slack this finds, of all prunings, the smallest of least cost:
    what is best below one branch does not depend on the others.
    """
    asks = is_internal(tree)
    own = np.where(asks, 0.0 if of_its_own is None else of_its_own, 0.0)
    cut, below = _core.prune_bottom_up(
        tree.arrays.parent, np.ascontiguousarray(as_leaf, np.float64), own, slack, ROUNDING
    )
    return cut.astype(bool), np.where(asks, below, as_leaf)


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
    return leaf_errors(tree, None if cost is None else cost.matrix)


def leaf_errors(tree: Tree, cost: Floats | None = None) -> Floats:
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


def sum_over_leaves(tree: Tree, of_nodes: Floats) -> float:
    """Return the risk of the whole tree: the sum over its leaves."""
    return float(of_nodes[tree.arrays.kind == LEAF].sum())


SAME = 1e-9  # weights that are nearer than this, relatively, are equal


def rebuild_training_set(tree: Tree, data: Any, sample_weight: Any = None) -> TrainingSet:
    """Prepare the rows a tree was grown on; other numbers of rows, or another weight, are refused."""
    training_set = prepare_like(tree, data, sample_weight)
    rows, weight = int(tree.arrays.rows[0]), float(tree.arrays.weight[0])
    name = safe(training_set.table_name)
    if len(training_set) != rows:
        raise DataError(
            Param("data")
            + f": {name} has {plural(len(training_set), 'row')} that count, and the tree was grown on {rows:,}.",
            hint="Give the table it was grown on, or " + Call("tree.refit(data)") + " first.",
        )
    here = math.ldexp(int(training_set.weight.sum()), -training_set.weight_scale)
    if not math.isclose(here, weight, rel_tol=SAME):
        raise DataError(
            f"{name}: its rows weigh {format_exact(float(f'{here:.6g}'))} together, and where the tree was"
            f" grown {format_exact(float(f'{weight:.6g}'))}.",
            hint="Give the same " + Param("sample_weight", ...) + " again.",
        )
    return training_set
