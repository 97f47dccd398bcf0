"""Statistics of nodes that text trees, pictures and reports share.

Most come from the tree alone: class weights, value range, training error. ``NodeSamples`` has the rows of a table by
the node they reach, for histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_count, format_rounded, format_share, plural
from treewise.data import encoding as encode
from treewise.data.table import Table
from treewise.predict.predict import encode_columns, find_leaves
from treewise.train.exposure import find_truth
from treewise.train.target import encode_labels
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def has_training_rows(tree: Tree) -> bool:
    """Return whether the nodes count training rows; those of a tree written by hand do not."""
    return bool(tree.arrays.rows[0] > 0)


def is_weighted(tree: Tree) -> bool:
    """Return whether rows had weights other than 1."""
    return has_training_rows(tree) and not np.array_equal(tree.arrays.weight, tree.arrays.rows)


def class_weights(tree: Tree, node: int) -> Floats:
    """Return the weight of every class at one node (for all nodes at once this may be gigabytes).

    >>> from treewise.train.grow import grow
    >>> class_weights(grow({"x": [1, 2, 3], "y": ["a", "b", "b"]}, "y"), 0)
    array([1., 2.])
    """
    a = tree.arrays
    entries = slice(a.count_start[node], a.count_start[node + 1])
    weights = np.zeros(len(tree.classes))
    weights[a.count_class[entries]] = a.count_weight[entries]
    return weights


def class_shares(tree: Tree, class_index: int | None) -> Floats:
    """Return the share of one class at every node, or of its predicted class (None); NaN where there are no counts."""
    a, node = tree.arrays, _node_of_counts(tree)
    total = np.bincount(node, a.count_weight, len(tree))
    class_number = a.label[node] if class_index is None else class_index
    matching = np.bincount(node, a.count_weight * (a.count_class == class_number), len(tree))
    share = np.full(len(tree), np.nan)
    np.divide(matching, total, out=share, where=total > 0)
    return share


def _node_of_counts(tree: Tree) -> Ints:
    return np.repeat(np.arange(len(tree)), np.diff(tree.arrays.count_start))


def value_range(tree: Tree) -> tuple[float, float]:
    """Return the range of mean ± standard deviation over the nodes of a regression tree.

    >>> from treewise.train.grow import grow
    >>> value_range(grow({"x": [1, 2], "y": [1.5, 3.5]}, "y", task="regression"))
    (1.5, 3.5)
    """
    a = tree.arrays
    return _finite_range(np.concatenate([a.value - a.spread, a.value + a.spread]))


def _finite_range(values: npt.NDArray[Any]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


# -- training error -----------------------------------------------------------------------------------------


def training_error(tree: Tree) -> float | None:
    """Return the error on the training rows, from the statistics of the leaves; None for a tree without rows.

    Classification: the share of misclassified rows. Regression: the root mean squared error, or the mean absolute
    error for a tree grown by absolute error.
    """
    a = tree.arrays
    is_leaf = a.kind == LEAF
    weight = a.weight[is_leaf]
    if not has_training_rows(tree) or weight.sum() == 0:
        return None
    if tree.task == "regression":
        absolute = tree.criterion == "absolute_error"
        loss = a.impurity[is_leaf] if absolute else a.spread[is_leaf] ** 2
        mean = float(np.sum(np.where(weight > 0, loss, 0.0) * weight) / weight.sum())
        return mean if absolute else float(np.sqrt(mean))
    wrong, total = _misclassified_weight(tree)
    return wrong / total if total else None


def _misclassified_weight(tree: Tree) -> tuple[float, float]:
    """Return the misclassified weight and the total weight of the leaves."""
    a, node = tree.arrays, _node_of_counts(tree)
    at_leaf = (a.kind == LEAF)[node]
    wrong = a.count_weight[at_leaf & (a.count_class != a.label[node])]
    return float(wrong.sum()), float(a.count_weight[at_leaf].sum())


def describe_training_error(tree: Tree) -> list[str]:
    """Describe the training error, with counts where the percentage rounds to zero; empty for a tree without rows."""
    error = training_error(tree)
    if error is None:
        return []
    name = "weighted training" if is_weighted(tree) else "training"
    if tree.task == "regression":
        return [f"{name} {'MAE' if tree.criterion == 'absolute_error' else 'RMSE'} {format_rounded(error)}"]
    percent = format_share(error)
    if percent != "<0.1":
        return [f"{name} error {percent} %"]
    wrong, total = _misclassified_weight(tree)
    counts = f"{format_count(wrong)} of {plural(int(total), 'row')}"
    if is_weighted(tree):
        counts = f"weight {format_count(wrong)} of {format_count(total)}"
    return [f"{name} error {percent} % ({counts})"]


# -- rows of a table --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NodeSamples:
    """The rows of a table by the node they reach, with their true labels and the columns of the tree."""

    tree: Tree
    order: Ints  # rows, sorted by the node at which they end
    ends: Ints  # that node, in the same order
    truth: npt.NDArray[Any]  # index of the class, or the number; in table order
    columns: tuple[npt.NDArray[Any] | None, ...]

    @classmethod
    def from_table(cls, tree: Tree, table: Table) -> NodeSamples:
        """Find the leaf of every row of a table; rows without a label are left out."""
        column = find_truth(tree, table, None)
        rows = np.flatnonzero(~column.is_missing())
        table, column = table.take(rows), column.take(rows)
        truth = encode.encode_numbers(column) if tree.task == "regression" else encode_labels(tree, column)[0]
        return cls._from_columns(tree, encode_columns(tree, table), truth)

    @classmethod
    def from_training_set(cls, tree: Tree, training_set: TrainingSet) -> NodeSamples:
        """Find the leaf of every row that the tree was grown on."""
        truth = training_set.raw if tree.task == "regression" else training_set.y
        return cls._from_columns(tree, training_set.columns, truth)

    @classmethod
    def _from_columns(
        cls, tree: Tree, columns: Sequence[npt.NDArray[Any] | None], truth: npt.NDArray[Any]
    ) -> NodeSamples:
        nodes = find_leaves(tree, columns, len(truth))
        order = np.argsort(nodes, kind="stable")
        return cls(tree, order, nodes[order], truth, tuple(columns))

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """The lowest and the highest target value."""
        return _finite_range(self.truth)

    def rows(self, node: int) -> Ints:
        """Return the rows that reach a node."""
        first, end = np.searchsorted(self.ends, [node, self.tree.arrays.ends[node]])
        return self.order[first:end]

    def histogram(self, node: int, n_bins: int) -> Ints:
        """Count the target values of a node's rows in bins over the range of all rows.

        >>> from treewise.train.grow import grow, prepare
        >>> table = {"x": [1, 2, 3, 4], "y": [0.0, 1.0, 2.0, 9.0]}
        >>> tree, training_set = (f(table, "y", task="regression") for f in (grow, prepare))
        >>> NodeSamples.from_training_set(tree, training_set).histogram(0, 3).tolist()
        [3, 0, 1]
        """
        values = self.truth[self.rows(node)]
        return np.bincount(bin_indices(values[np.isfinite(values)], *self.value_range, n_bins), minlength=n_bins)


def bin_indices(values: npt.NDArray[Any], low: float, high: float, n_bins: int) -> Ints:
    """Return the bin of each number between two bounds; numbers outside are in the first and the last bin."""
    position = (values / 2 - low / 2) / (high / 2 - low / 2)  # halves: high − low may overflow
    return np.minimum((np.clip(position, 0.0, 1.0) * n_bins).astype(np.int64), n_bins - 1)
