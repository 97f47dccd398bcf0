"""Pruning to a size: ``max_leaf_nodes``, ``max_depth``, or ``at`` given nodes.

``max_leaf_nodes`` and ``max_depth`` give the tree that growing with the same limit gives: growth never looks ahead, so
a smaller tree is a prefix of the larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treewise._lib.checks import as_integer, check_integer
from treewise._lib.text import plural
from treewise.errors import Call, ParameterError, join_few
from treewise.prune.decision import Bools, PruneDecision, is_internal
from treewise.train.edit import best_first_order
from treewise.tree.tree import Tree


def require_predictions(tree: Tree, is_pruned: Bools) -> None:
    """Raise if a node to be pruned has no prediction, as in a hand-written tree."""
    has_prediction = tree.arrays.label >= 0 if tree.task == "classification" else ~np.isnan(tree.arrays.value)
    missing = np.flatnonzero(is_pruned & ~has_prediction)
    if len(missing):
        raise ParameterError(
            f"node {missing[0]} has no training rows and no prediction. Use " + Call("tree.refit(data)") + " first."
        )


def _decision(
    tree: Tree, is_pruned: Bools, options: dict[str, Any], reason: Callable[[int], str], facts: Sequence[str] = ()
) -> PruneDecision:
    """Return a decision that lists the pruned nodes with their total gain, by which best-first growth orders splits."""
    require_predictions(tree, is_pruned)
    return PruneDecision(
        is_pruned,
        considered=is_pruned,
        before=np.where(is_pruned, tree.arrays.gain * tree.arrays.weight, np.nan),
        after=np.zeros(len(tree)),
        measure="total gain of the node's split: gain per row times the weight of its rows",
        reason=reason,
        options=options,
        facts=facts,
    )


def at(tree: Tree, at: Any) -> PruneDecision:
    """Cut at the given node numbers; leaves among them are unchanged."""
    try:
        nodes = list(at) if as_integer(at) is None else [at]
    except TypeError:
        raise ParameterError("must be a list of node numbers, [5, 9].", parameter="at", value=at) from None
    is_pruned = np.zeros(len(tree), bool)
    for node in nodes:
        try:
            is_pruned[tree.check_node(node)] = True
        except (IndexError, TypeError) as error:
            raise ParameterError(f"{error}.", parameter="at", value=nodes) from None
    leaves = [str(node) for node in np.flatnonzero(is_pruned & ~is_internal(tree)).tolist()]
    noun = f"node {leaves[0]} is a leaf" if len(leaves) == 1 else f"nodes {join_few(leaves)} are leaves"
    options = {"at": [int(node) for node in nodes]}
    return _decision(
        tree, is_pruned & is_internal(tree), options, lambda _: "given", [f"{noun} already"] if leaves else []
    )


def max_depth(tree: Tree, max_depth: int) -> PruneDecision:
    """Cut all nodes at a depth."""
    check_integer("max_depth", max_depth, minimum=0)
    is_pruned = (tree.arrays.depths == max_depth) & is_internal(tree)
    facts = [] if is_pruned.any() else [f"nothing is cut: the tree has depth {tree.depth}"]
    return _decision(tree, is_pruned, {"max_depth": int(max_depth)}, lambda _: f"at depth {max_depth}", facts)


def max_leaf_nodes(tree: Tree, max_leaf_nodes: int) -> PruneDecision:
    """Keep the splits that best-first growth makes first, up to the number of leaves."""
    check_integer("max_leaf_nodes", max_leaf_nodes, minimum=1)
    order = best_first_order(tree, max_splits=int(max_leaf_nodes))  # each split adds at least one leaf
    start, _ = tree.arrays.child_lists
    leaves = 1 + np.cumsum(np.diff(start)[order] - 1)
    split = np.zeros(len(tree), bool)
    fits = leaves <= max_leaf_nodes
    split[order[fits]] = True
    too_wide = order[fits.sum() :][:1] if max(leaves[fits], default=1) < max_leaf_nodes else order[:0]
    is_pruned = is_internal(tree) & ~split & np.append(True, split[tree.arrays.parent[1:]])
    facts = [] if is_pruned.any() else [f"nothing is cut: the tree has {plural(tree.n_leaves, 'leaf', 'leaves')}"]

    def reason(node: int) -> str:
        return "too many branches for the remaining leaves" if node in too_wide else "other splits gain more"

    return _decision(tree, is_pruned, {"max_leaf_nodes": int(max_leaf_nodes)}, reason, facts)
