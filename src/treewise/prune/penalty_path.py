"""Losses of rows as the penalty per leaf rises, along the nested sequence of a tree.

The node that answers for a row moves up with the penalty: from its leaf to the next ancestor that becomes a leaf. So
the loss of a row is a step function of the penalty, with a step for each of these ancestors. All rows climb together,
and each answer counts from its penalty to that of the next.
"""

from __future__ import annotations

import numpy as np

from treewise.predict.predict import answering_nodes
from treewise.prune.decision import Bools, Floats, Ints
from treewise.prune.losses import RowLosses
from treewise.prune.nested_trees import NestedTrees
from treewise.tree.tree import Tree


class PenaltyPath:
    """The current step of each row: its loss, and the index ``stop`` of the penalty at which the next one begins."""

    def __init__(self, tree: Tree, nested: NestedTrees, ends: Ints, penalties: Floats, of_rows: RowLosses) -> None:
        """Start at the smallest penalty; ``ends`` is the leaf that each row reaches."""
        self._of_rows, self._above, self._n_penalties = of_rows, nested.leaf_above, len(penalties)
        self._index = nested.entries(penalties, nested.leaf_alpha)
        self._next = np.where(nested.leaf_alpha[ends] < np.inf, ends, nested.leaf_above[ends])
        self.rows: Ints = np.arange(len(ends))
        self.loss = of_rows(self.rows, answering_nodes(tree, ends))
        self.stop = self._find_stops(self._next)

    def _find_stops(self, next_leaf: Ints) -> Ints:
        return np.where(next_leaf >= 0, self._index[next_leaf], self._n_penalties)

    def keep(self, kept: Bools) -> None:
        """Drop the rows that have reached the last penalty."""
        self.rows, self.loss = self.rows[kept], self.loss[kept]
        self.stop, self._next = self.stop[kept], self._next[kept]

    def climb(self) -> None:
        """Move all rows to their next step."""
        self.loss = self._of_rows(self.rows, self._next)
        self._next = self._above[self._next]
        self.stop = self._find_stops(self._next)


def sum_losses(path: PenaltyPath, weight: Floats, n_penalties: int) -> tuple[Floats, Floats]:
    """Return the weighted sums of the losses, and of their squares, at every penalty."""
    sums, squares = _StepSums(n_penalties), _StepSums(n_penalties)
    start = np.zeros(len(path.rows), np.int64)
    while len(path.rows):
        w = weight[path.rows]
        sums.add(start, path.stop, path.loss * w)
        squares.add(start, path.stop, path.loss * path.loss * w)
        kept = path.stop < n_penalties
        start = path.stop[kept]
        path.keep(kept)
        path.climb()
    return sums.totals(), squares.totals()


class _StepSums:
    """Sums of step functions of the index of the penalty."""

    def __init__(self, n_penalties: int) -> None:
        self._changes = np.zeros(n_penalties + 1)

    def add(self, start: Ints, stop: Ints, amount: Floats) -> None:
        """Add one step per row: an amount from ``start`` up to, but not at, ``stop``."""
        k = len(self._changes)
        self._changes += np.bincount(start, amount, k) - np.bincount(stop, amount, k)

    def totals(self) -> Floats:
        """Return the sum at every penalty."""
        return np.cumsum(self._changes)[:-1]
