"""Ensembles made of given trees, without a learner of ensembles: for tests of what an ensemble is."""

import numpy as np

import treewise as tw
from treewise.ensemble import Ensemble, PackedTrees


def of_trees(trees: list[tw.Tree], method: str = "forest", **more: object) -> Ensemble:
    """Put trees of the same columns, target and settings into one ensemble."""
    one = trees[0]
    members = PackedTrees.of([tree.arrays for tree in trees], one.criterion)
    gained = np.array([taken_away(tree) for tree in trees]).reshape(len(trees), len(one.encodings))
    how = {"criterion": one.criterion, "empty_branch": one.empty_branch, "history": one.history, **more}
    return Ensemble(method, one.encodings, one.target, members, np.ones(len(trees)), gained, **how)


def taken_away(tree: tw.Tree) -> list[float]:
    """Add up what the splits of each column gain."""
    a = tree.arrays
    return [float(np.sum((a.gain * a.weight)[a.column == c])) for c in range(len(tree.encodings))]
