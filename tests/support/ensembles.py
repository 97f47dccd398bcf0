"""Ensembles built from given trees, and a comparison of tree arrays."""

from dataclasses import fields

import numpy as np

import treewise as tw
from treewise.ensemble import Ensemble, PackedTrees
from treewise.tree.arrays import LEAF, Arrays


def ensemble_of(trees: list[tw.Tree], method: str = "forest", **more: object) -> Ensemble:
    """Return an ensemble of trees with the same columns, target and settings."""
    first = trees[0]
    members = PackedTrees.of([tree.arrays for tree in trees], first.criterion)
    gained = np.array([gain_by_column(tree) for tree in trees]).reshape(len(trees), len(first.encodings))
    how = {"criterion": first.criterion, "empty_branch": first.empty_branch, "history": first.history, **more}
    return Ensemble(method, first.encodings, first.target, members, np.ones(len(trees)), gained, **how)


def gain_by_column(tree: tw.Tree) -> list[float]:
    """Return the total weighted gain of each column's splits."""
    a = tree.arrays
    return [float(np.sum((a.gain * a.weight)[a.column == c])) for c in range(len(tree.encodings))]


ROUNDED = {"impurity", "gain"}  # of numbers, and of classes whose weights are no whole numbers


ROUNDED_MEANS = {"value", "spread"}  # of inner nodes of numbers


def assert_same_arrays(a: Arrays, b: Arrays, whole: bool = True) -> None:
    """Assert that a grown tree survives packing and unpacking: exactly, except for statistics derived in doubles."""
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
