"""The rows of a table beside a tree: which reach a node, and what their answers are.

Stands below the histograms of pictures (``picture/histograms.py``) and of text trees (``bars.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data import encoding as encode
from treewise.data.table import Table
from treewise.predict.predict import encode_columns, find_leaves
from treewise.train.training_set import TrainingSet
from treewise.train.true_labels import class_places, target_column
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NodeSamples:
    """The rows of a table by the node at which they end, their answers, and the columns the tree asks about."""

    tree: Tree
    order: Ints  # the rows by the node at which they end
    ends: Ints  # that node, in this order
    truth: npt.NDArray[Any]  # the class's place, or the number; in the table's order
    columns: tuple[npt.NDArray[Any] | None, ...]

    @classmethod
    def of(cls, tree: Tree, table: Table) -> NodeSamples:
        """Walk the rows of a table down a tree; those without an answer are left out."""
        column = target_column(tree, table, None)
        rows = np.flatnonzero(~column.is_missing())
        table, column = table.take(rows), column.take(rows)
        truth = encode.encode_numbers(column) if tree.task == "regression" else class_places(tree, column)[0]
        return cls.walked(tree, encode_columns(tree, table), truth)

    @classmethod
    def of_problem(cls, tree: Tree, training_set: TrainingSet) -> NodeSamples:
        """Walk the rows that a tree was grown on down the tree."""
        return cls.walked(tree, training_set.columns, training_set.raw if tree.task == "regression" else training_set.y)

    @classmethod
    def walked(cls, tree: Tree, columns: Sequence[npt.NDArray[Any] | None], truth: npt.NDArray[Any]) -> NodeSamples:
        """Walk encoded rows down a tree."""
        nodes = find_leaves(tree, columns, len(truth))
        order = np.argsort(nodes, kind="stable")
        return cls(tree, order, nodes[order], truth, tuple(columns))

    @cached_property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest number to be predicted."""
        finite = self.truth[np.isfinite(self.truth)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        return (low, high) if low < high else (low - 0.5, high + 0.5)

    def rows(self, node: int) -> Ints:
        """Return the rows that reach a node."""
        first, end = np.searchsorted(self.ends, [node, self.tree.arrays.ends[node]])
        return self.order[first:end]

    def values(self, node: int, bins: int) -> Ints:
        """Return how many of a node's rows have their number in each of some bins, on the scale of all.

        >>> from treewise.train.grow import grow, prepare
        >>> table = {"x": [1, 2, 3, 4], "y": [0.0, 1.0, 2.0, 9.0]}
        >>> rows = NodeSamples.of_problem(grow(table, "y", task="regression"), prepare(table, "y", task="regression"))
        >>> rows.values(0, 3).tolist()
        [3, 0, 1]
        """
        values = self.truth[self.rows(node)]
        return np.bincount(bins_of(values[np.isfinite(values)], *self.scale, bins), minlength=bins)


def bins_of(values: npt.NDArray[Any], low: float, high: float, bins: int) -> Ints:
    """Return the bin of each number between two others; those outside are in the first and the last."""
    shares = (values / 2 - low / 2) / (high / 2 - low / 2)  # half of each: the whole may be too large
    return np.minimum((np.clip(shares, 0.0, 1.0) * bins).astype(np.int64), bins - 1)
