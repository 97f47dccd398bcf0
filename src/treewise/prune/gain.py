"""Pruning method "gain": bottom-up, cut splits whose gain is below a threshold (chapter 8, "Complexity Control").

"We start at the leaves and walk upward, checking whether each parent had an accuracy nearly equal to that given by its
children. If the gain is below some threshold, we prune the children and continue upward; if not, we cease recursing
for this node or its ancestors."
"""

from __future__ import annotations

import math

import numpy as np

from treewise._lib.checks import check_number
from treewise._lib.text import format_rounded
from treewise.errors import Param, ParameterError
from treewise.prune.decision import (
    Bools,
    Floats,
    PruneDecision,
    is_internal,
    leaf_errors,
    require_classes,
    require_rows,
)
from treewise.tree.tree import Tree

MEASURES = ("accuracy", "criterion")
_DEFAULT_THRESHOLD = 0.01  # for classification


def decide(tree: Tree, threshold: float | None = None, measure: str | None = None) -> PruneDecision:
    """Cut where all children are leaves (or were cut) and the gain per row of the node is below the threshold.

    ``measure`` is the chapter's ``"accuracy"`` or the tree's ``"criterion"`` (the default for regression).
    """
    require_rows(tree, Param("method", "gain"))
    measure = measure or ("accuracy" if tree.task == "classification" else "criterion")
    if measure == "accuracy":
        require_classes(tree, Param("measure", "accuracy"), Param("measure", "criterion"))
    if threshold is None:
        if tree.task == "regression":
            root = format_rounded(float(tree.arrays.impurity[0]))
            raise ParameterError(
                Param("threshold")
                + f" is required for regression: the minimum gain of a split in units of {tree.criterion};"
                f" the impurity of the root is {root}."
            )
        threshold = _DEFAULT_THRESHOLD
    check_number("threshold", threshold, 0.0, math.inf)
    gains = _accuracy_gains(tree) if measure == "accuracy" else np.maximum(tree.arrays.gain, 0.0)
    is_pruned, ready = _prune_by_gain(tree, gains, float(threshold))
    unit = "accuracy" if measure == "accuracy" else tree.criterion
    return PruneDecision(
        is_pruned,
        is_internal(tree),
        before=np.where(ready, gains, np.nan),
        after=np.full(len(tree), float(threshold)),
        measure=f"in {unit} per row of the node",
        headings=("gain", "threshold"),
        reason=lambda node: (
            "gains too little" if is_pruned[node] else "gains enough" if ready[node] else "a child stays"
        ),
        options={"threshold": float(threshold), "measure": measure},
    )


def _accuracy_gains(tree: Tree) -> Floats:
    """Return the gain in accuracy of each node's children, as leaves, over the node itself."""
    a, wrong = tree.arrays, leaf_errors(tree)
    below = np.bincount(a.parent[1:], wrong[1:], len(tree))
    gains: Floats = np.divide(
        wrong - below, a.weight, out=np.zeros(len(tree)), where=(a.weight > 0) & is_internal(tree)
    )
    return gains


def _prune_by_gain(tree: Tree, gains: Floats, threshold: float) -> tuple[Bools, Bools]:
    """Return the cut nodes, and the nodes all of whose children were leaves when they were considered."""
    parents, internal, sufficient = (
        tree.arrays.parent.tolist(),
        is_internal(tree).tolist(),
        (gains >= threshold).tolist(),
    )
    ready, is_pruned = [True] * len(tree), [False] * len(tree)
    for node in range(len(tree) - 1, -1, -1):
        if not internal[node]:
            continue
        if ready[node] and not sufficient[node]:
            is_pruned[node] = True
        elif node:
            ready[parents[node]] = False
    return np.array(is_pruned), np.array(ready) & is_internal(tree)
