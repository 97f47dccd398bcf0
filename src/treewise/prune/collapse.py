"""Collapse: merge what predicts the same anyway.

The predicted class or value of every row stays as it was; the probabilities become those of the merged leaf.
"""

from __future__ import annotations

import numpy as np

from treewise.nodes import MULTIWAY
from treewise.prune.verdict import Ints, Verdict, inner
from treewise.tree import Tree


def decide(tree: Tree) -> Verdict:
    """Cut every node whose leaves all predict one thing."""
    a = tree.arrays
    said = a.label.astype(np.int64) if tree.task == "classification" else a.value
    things, voices = np.unique(said, return_inverse=True)
    nothing = np.isnan(things) if tree.task == "regression" else things < 0
    agreed = common_voice(tree, np.where(nothing[voices], -1, voices))
    cut = inner(tree) & (agreed >= 0)
    leaves = np.append(0, np.cumsum(~inner(tree)))
    return Verdict(
        cut,
        inner(tree),
        before=(leaves[a.ends] - leaves[:-1]).astype(float),
        after=np.ones(len(tree)),
        measure="leaves",
        why=lambda node: "all predict the same" if cut[node] else "they differ",
        predicts=np.where(cut, things[agreed], said),  # also where a node, written by hand, said nothing itself
    )


def common_voice(tree: Tree, voices: Ints) -> Ints:
    """Return what all leaves below a node predict, -1 where they differ.

    A row may also stay at a node that has no branch for its never-seen level; with empty_branch="root" the root
    answers there, and such a node agrees only with the root.
    """
    a, heard, open_to_root = tree.arrays, voices.tolist(), tree.empty_branch == "root"
    parents, asks = a.parent.tolist(), inner(tree).tolist()
    stays = ((a.kind == MULTIWAY) & (a.other < 0)).tolist()
    silent = -2  # no child heard yet
    common = [silent if ask else voice for ask, voice in zip(asks, heard, strict=True)]
    for node in range(len(tree) - 1, -1, -1):
        if asks[node] and open_to_root and stays[node] and common[node] != heard[0]:
            common[node] = -1
        if node:
            above = parents[node]
            common[above] = common[node] if common[above] in (silent, common[node]) else -1
    return np.array(common, np.int64)
