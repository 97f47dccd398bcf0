"""One tree as a ladder of trees: every size of it, in the order in which a parameter lets its nodes be split.

Below ``curves``. Growing with ``max_leaf_nodes``, ``max_depth`` or ``min_samples_split`` never looks ahead, and the
sequence of cost complexity is nested: so the trees for all values of the parameter are one tree, cut at different
places. Each inner node has a key, the value from which on it is split, and a child's is never below its parent's. In
the order of keys every split adds leaves and changes errors by amounts that do not depend on the others; the rest is a
running sum.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from itertools import pairwise
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from treewise.prune.tree_sequence import find_nested_trees
from treewise.train.edit import best_first
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NESTED = ("max_leaf_nodes", "max_depth", "min_samples_split", "ccp_alpha")


class LeafSequence:
    """The inner nodes of a tree in the order in which a parameter, made looser and looser, lets them be split."""

    def __init__(self, tree: Tree, over: str) -> None:
        self.tree, self.over = tree, over
        self.nested = find_nested_trees(tree) if over == "ccp_alpha" else None
        inner = np.flatnonzero(tree.arrays.kind != LEAF)
        keys = self._keys()[inner]
        order = np.argsort(keys, kind="stable")
        self.nodes, self.keys = inner[order], keys[order]

    def _keys(self) -> Floats:
        a = self.tree.arrays
        if self.over == "max_depth":
            return np.asarray(a.depths + 1, np.float64)
        if self.over == "min_samples_split":
            return -a.rows.astype(np.float64)
        if self.nested is not None:
            return -least_above(a.parent, self.nested.leaf_from)
        found = np.zeros(len(self.tree))
        order = best_first(self.tree)
        found[order] = 1 + np.cumsum(self._more_leaves()[order])
        return found

    def _more_leaves(self) -> Ints:
        """How many leaves a split of each node adds."""
        start, _ = self.tree.arrays.child_lists
        return np.diff(start) - 1

    def splits_at(self, value: float) -> int:
        """Return how many nodes are split under a value of the parameter."""
        if self.nested is not None:
            entry = self.nested.find(value)
            if entry == 0:
                return len(self.keys)
            return int(np.searchsorted(self.keys, -self.nested.alpha[entry], side="left"))
        limit = -value if self.over == "min_samples_split" else value
        return int(np.searchsorted(self.keys, limit, side="right"))

    @property
    def leaves(self) -> Ints:
        """The number of leaves after each number of splits, from none to all."""
        return np.append(1, 1 + np.cumsum(self._more_leaves()[self.nodes]))

    def middle(self, alpha: float) -> float:
        """Return the alpha in the middle of those that give the same tree as this one: what rpart asks of its folds."""
        assert self.nested is not None
        entry = self.nested.find(alpha)
        if entry == len(self.nested) - 1:
            return inf
        return sqrt(float(self.nested.alpha[entry]) * float(self.nested.alpha[entry + 1]))

    def along(self, as_leaf: Floats, staying: Floats) -> Floats:
        """Return a sum over the leaves after each number of splits, from none to all.

        ``as_leaf`` is what each node contributes as a leaf, ``staying`` what rows contribute that stay at it, split as
        it is, because it has no branch for their level.
        """
        # From the whole tree back to the root, the small sums first: an error of 0 is then 0, not nearly so.
        leaves = self.tree.arrays.kind == LEAF
        below = np.bincount(self.tree.arrays.parent[1:], as_leaf[1:], len(as_leaf))
        saved = (as_leaf - below - staying)[self.nodes]
        whole = float(as_leaf[leaves].sum() + staying[~leaves].sum())
        return np.asarray(whole + np.append(np.cumsum(saved[::-1])[::-1], 0.0), np.float64)

    def values(self) -> list[float]:
        """Return the values at which this tree changes, from the root alone to the whole of it."""
        if self.nested is not None:
            alphas = [*np.unique(self.nested.alpha).tolist(), inf]
            return [short_between(low, high) for low, high in pairwise(alphas)][::-1]
        steps = np.unique(self.keys)
        if self.over == "min_samples_split":
            return [float(self.tree.arrays.rows[0]) + 1, *(-steps).tolist()]
        return [0.0 if self.over == "max_depth" else 1.0, *steps.tolist()]


def short_between(low: float, high: float) -> float:
    """Return a number from low on and below high that is short to write, and low itself if there is no shorter one.

    >>> short_between(0.022203, 0.030235), short_between(4163000123.0, inf), short_between(0.0, 1.0)
    (0.0223, 4170000000.0, 0.0)
    """
    for digits in range(1, 17):
        step = Decimal(1).scaleb(Decimal(low).adjusted() - digits) if low > 0 else Decimal(1)
        short = float((Decimal(low) / step).to_integral_value(ROUND_CEILING) * step)
        if low <= short < high and (digits > 1 or short == low):
            return short
    return low


def least_above(parent: Ints, values: Floats) -> Floats:
    """Return the least value on the way from the root to each node, looking twice as far up in each round."""
    least, up = values.copy(), parent.clip(0)
    while up.any():
        least = np.minimum(least, least[up])
        up = up[up]
    return np.asarray(np.minimum(least, values[0]), np.float64)
