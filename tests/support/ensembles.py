"""Ensembles made of given trees, without a learner of ensembles: for tests of what an ensemble is."""

from dataclasses import fields

import numpy as np

import treewise as tw
from treewise.ensemble import Ensemble, PackedTrees
from treewise.tree.arrays import LEAF, Arrays


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


ROUNDED = {"impurity", "gain"}  # of numbers, and of classes whose weights are no whole numbers


ROUNDED_MEANS = {"value", "spread"}  # of inner nodes of numbers


def assert_same(a: Arrays, b: Arrays, whole: bool = True) -> None:
    """Compare a grown tree with its packed and opened self: exactly, but for what is derived in doubles."""
    if len(a.label) and whole:
        assert a.same_as(b)
    for f in fields(Arrays):
        mine, theirs = getattr(a, f.name), getattr(b, f.name)
        assert mine.dtype == theirs.dtype, f.name
        if f.name in ROUNDED | ROUNDED_MEANS:
            parts = a.impurity if f.name == "gain" else mine  # a gain is a difference of impurities
            scale = np.abs(parts[np.isfinite(parts)]).max(initial=0.0)
            np.testing.assert_allclose(theirs, mine, rtol=1e-12, atol=1e-14 * max(scale, 1e-300), err_msg=f.name)
        else:
            np.testing.assert_array_equal(theirs, mine, err_msg=f.name)
    if len(a.value):
        leaf = a.kind == LEAF
        np.testing.assert_array_equal(a.value[leaf], b.value[leaf])
        np.testing.assert_array_equal(a.spread[leaf], b.spread[leaf])
