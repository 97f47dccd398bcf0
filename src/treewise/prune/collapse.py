"""Collapse: merge what predicts the same anyway.

The predicted class or value of every row stays as it was; the probabilities become those of the merged leaf.
"""

from __future__ import annotations

import numpy as np

from treewise.prune.decision import Ints, PruneDecision, is_internal
from treewise.tree.arrays import MULTIWAY
from treewise.tree.tree import Tree


def decide(tree: Tree) -> PruneDecision:
    """Cut every node whose leaves all predict one thing."""
    a = tree.arrays
    said = a.label.astype(np.int64) if tree.task == "classification" else a.value
    things, voices = np.unique(said, return_inverse=True)
    nothing = np.isnan(things) if tree.task == "regression" else things < 0
    agreed = _common_prediction(tree, np.where(nothing[voices], -1, voices))
    cut = is_internal(tree) & (agreed >= 0)
    leaves = np.append(0, np.cumsum(~is_internal(tree)))
    return PruneDecision(
        cut,
        is_internal(tree),
        before=(leaves[a.ends] - leaves[:-1]).astype(float),
        after=np.ones(len(tree)),
        measure="leaves",
        reason=lambda node: "all predict the same" if cut[node] else "they differ",
        predictions=np.where(cut, things[agreed], said),  # also where a node, written by hand, said nothing itself
    )


def _common_prediction(tree: Tree, voices: Ints) -> Ints:
    """Return what all leaves below a node predict, -1 where they differ.

    The leaves below a node are a run of all leaves; they agree when the next change of voice comes after it. A row may
    also stay at a node that has no branch for its never-seen level; with empty_branch="root" the root answers there,
    and such a node agrees only with the root.
    """
    a, is_leaf = tree.arrays, ~is_internal(tree)
    heard = voices[is_leaf]
    before = np.append(0, np.cumsum(is_leaf))  # leaves up to each node
    changes = np.append(np.flatnonzero(heard[1:] != heard[:-1]) + 1, len(heard))
    first, past = before[:-1], before[a.ends]
    agree = changes[np.searchsorted(changes, first, side="right")] >= past
    common = np.where(agree, heard[np.minimum(first, len(heard) - 1)], -1)
    if tree.empty_branch == "root":
        stays = np.append(0, np.cumsum((a.kind == MULTIWAY) & (a.other < 0)))
        common = np.where((stays[a.ends] > stays[:-1]) & (common != voices[0]), -1, common)
    return common
