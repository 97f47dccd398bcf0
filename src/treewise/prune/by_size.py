"""Cut to a size: so many leaves, so many levels, or at nodes one names.

``max_leaf_nodes`` and ``max_depth`` give the tree that growing with the same limit would give: growth never looks
ahead, so a smaller tree is the beginning of a larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treewise._lib.text import plural
from treewise.errors import Call, ParameterError, listing
from treewise.prune.decision import Bools, PruneDecision, is_internal
from treewise.train.edit import best_first
from treewise.train.settings import index, whole
from treewise.tree.tree import Tree


def require_predictions(tree: Tree, cut: Bools) -> None:
    """Refuse to make a leaf of a node that predicts nothing, as in a tree written by hand."""
    said = tree.arrays.label >= 0 if tree.task == "classification" else ~np.isnan(tree.arrays.value)
    silent = np.flatnonzero(cut & ~said)
    if len(silent):
        raise ParameterError(
            f"node {silent[0]} has seen no rows, so it predicts nothing. " + Call("tree.refit(data)") + " first."
        )


def _decision(
    tree: Tree, cut: Bools, options: dict[str, Any], why: Callable[[int], str], facts: Sequence[str] = ()
) -> PruneDecision:
    """List the cut nodes with what their splits gain in all, by which best-first growth chooses."""
    require_predictions(tree, cut)
    return PruneDecision(
        cut,
        considered=cut,
        before=np.where(cut, tree.arrays.gain * tree.arrays.weight, np.nan),
        after=np.zeros(len(tree)),
        measure="what the node's split gains in all: gain per row times the weight of its rows",
        reason=why,
        options=options,
        facts=facts,
    )


def at(tree: Tree, at: Any) -> PruneDecision:
    """Cut at nodes one names, a number or a list of them; a leaf among them stays as it is."""
    try:
        listed = list(at) if index(at) is None else [at]
    except TypeError:
        raise ParameterError("must be a list of node numbers, [5, 9].", parameter="at", value=at) from None
    cut = np.zeros(len(tree), bool)
    for node in listed:
        try:
            cut[tree.check_node(node)] = True
        except (IndexError, TypeError) as error:
            raise ParameterError(f"{error}.", parameter="at", value=listed) from None
    leaves = [str(node) for node in np.flatnonzero(cut & ~is_internal(tree)).tolist()]
    told = f"node {leaves[0]} is a leaf" if len(leaves) == 1 else f"nodes {listing(leaves)} are leaves"
    options = {"at": [int(node) for node in listed]}
    return _decision(tree, cut & is_internal(tree), options, lambda _: "named", [f"{told} already"] if leaves else [])


def max_depth(tree: Tree, max_depth: int) -> PruneDecision:
    """Cut below a depth."""
    whole("max_depth", max_depth, least=0)
    cut = (tree.arrays.depths == max_depth) & is_internal(tree)
    facts = [] if cut.any() else [f"nothing is cut: the tree has depth {tree.depth}"]
    return _decision(tree, cut, {"max_depth": int(max_depth)}, lambda _: f"at depth {max_depth}", facts)


def max_leaf_nodes(tree: Tree, max_leaf_nodes: int) -> PruneDecision:
    """Keep the splits of largest total gain that best-first growth makes first, and end where one does not fit."""
    whole("max_leaf_nodes", max_leaf_nodes, least=1)
    order = best_first(tree, most=int(max_leaf_nodes))  # each adds a leaf at least
    start, _ = tree.arrays.child_lists
    leaves = 1 + np.cumsum(np.diff(start)[order] - 1)
    split = np.zeros(len(tree), bool)
    fits = leaves <= max_leaf_nodes
    split[order[fits]] = True
    too_wide = order[fits.sum() :][:1] if max(leaves[fits], default=1) < max_leaf_nodes else order[:0]
    cut = is_internal(tree) & ~split & np.append(True, split[tree.arrays.parent[1:]])
    facts = [] if cut.any() else [f"nothing is cut: the tree has {plural(tree.n_leaves, 'leaf', 'leaves')}"]

    def why(node: int) -> str:
        return "more branches than leaves are left" if node in too_wide else "others came first"

    return _decision(tree, cut, {"max_leaf_nodes": int(max_leaf_nodes)}, why, facts)
