"""One bootstrap resample: draw rows, grow a tree on them, and match the splits of the reference tree in it.

Used by ``stability.py``, many times in threads. A split is matched in three ways:

    position  the same column at the same position: reached by the same columns above it, following the branches that
              get most of the node's rows
    rows      the same column, anywhere in the other tree, on about the same rows: the Jaccard index of the rows of
              the two nodes is at least one half
    used      the share of the node's rows whose path uses the column at all

The rows are always those of the whole table, sent through both trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data import encoding as encode
from treewise.explain.trace.nodes import number_by_first_row
from treewise.predict.predict import answering_nodes, find_leaves, predict_at_nodes
from treewise.train.resampling import resample
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF, MULTIWAY, ORDINAL, THRESHOLD
from treewise.tree.splits import Threshold
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Grow = Callable[[TrainingSet], Tree]

_MIN_JACCARD = 0.5
_TOLERANCE = 1e-9  # relative rounding error of sums of weights
_TINY = float(np.finfo(float).tiny)
_NO_MATCH = -2  # instead of a column: no node has about the same rows

# How a resampled tree matches one split. If it matches by rows: the Jaccard index, the threshold (NaN if there is none;
# ``exact_cut`` for datetimes and integers), and whether both splits partition the values present in the same way. In
# any case the column that splits about the same rows: -1 if these are a leaf, _NO_MATCH if no node has them.
_MATCH = np.dtype(
    [
        ("position", np.bool_),
        ("rows", np.bool_),
        ("used", np.float64),
        ("overlap", np.float64),
        ("cut", np.float64),
        ("exact_cut", np.int64),
        ("same_split", np.bool_),
        ("column", np.int64),
    ]
)


def draw_bootstrap(n: int, random_state: int, number: int) -> Ints:
    """Return how often each of n rows is drawn in one resample: n draws with replacement.

    >>> counts = draw_bootstrap(5, random_state=0, number=1)
    >>> len(counts), int(counts.sum())
    (5, 5)
    """
    rows = np.random.default_rng((random_state, number)).integers(0, n, n)
    return np.bincount(rows, minlength=n)


@dataclass(frozen=True, eq=False)
class ReferenceTree:
    """The tree whose stability is measured, with the nodes its rows pass through."""

    tree: Tree
    training_set: TrainingSet

    @cached_property
    def inner_nodes(self) -> Ints:
        """The nodes with a split."""
        return np.flatnonzero(self.tree.arrays.kind != LEAF)

    @cached_property
    def leaf_of_row(self) -> Ints:
        """The node at which each row stops."""
        return find_leaves(self.tree, self.training_set.columns, len(self.training_set))

    @cached_property
    def predictions(self) -> npt.NDArray[Any]:
        """The prediction for each row: a class index, or a value."""
        return predict_at_nodes(self.tree, answering_nodes(self.tree, self.leaf_of_row))

    @cached_property
    def row_order(self) -> Ints:
        """The rows sorted by leaf, so that those of a subtree are contiguous."""
        return np.argsort(self.leaf_of_row, kind="stable")

    @cached_property
    def row_ranges(self) -> tuple[Ints, Ints]:
        """Where the rows of each node begin and end in that order."""
        start = np.searchsorted(self.leaf_of_row[self.row_order], np.arange(len(self.tree) + 1))
        return start[:-1], start[self.tree.arrays.ends]

    @cached_property
    def weight(self) -> Floats:
        """The weight of each row, in that order."""
        weight = np.asarray(self.training_set.weight, np.float64)[self.row_order]
        return np.asarray(weight / weight.max())

    @cached_property
    def values_present(self) -> dict[int, npt.NDArray[Any]]:
        """For each inner node, the sorted distinct values of its column there: numbers, or codes."""
        present = {}
        for node in self.inner_nodes.tolist():
            column = int(self.tree.arrays.column[node])
            start, end = (int(bound[node]) for bound in self.row_ranges)
            values = self.training_set.columns[column][self.row_order[start:end]]
            present[node] = np.unique(values[~encode.is_missing(self.tree.encodings[column], values)])
        return present


@dataclass(frozen=True, eq=False)
class ResampledTree:
    """The tree of one resample: its size, its predictions, and how it matches each split of the reference tree."""

    leaves: int
    depth: int
    root_column: int  # -1 if the tree has no split
    predictions: npt.NDArray[Any]  # for all rows
    out_of_bag: Bools  # rows that were not drawn
    matches: npt.NDArray[np.void]  # of each inner node of the reference tree, in order: _MATCH


def grow_resample(reference: ReferenceTree, counts: Ints, grow: Grow, as_weights: bool) -> ResampledTree:
    """Grow the tree of one resample, and match the splits of the reference tree in it."""
    tree = grow(resample(reference.training_set, counts, as_weights))
    leaves = find_leaves(tree, reference.training_set.columns, len(reference.training_set))
    predictions = predict_at_nodes(tree, answering_nodes(tree, leaves))
    root_column = -1 if tree.arrays.kind[0] == LEAF else int(tree.arrays.column[0])
    matches = SplitMatcher(reference, tree, leaves).match_all()
    return ResampledTree(tree.n_leaves, tree.depth, root_column, predictions, counts == 0, matches)


class SplitMatcher:
    """Matches the splits of the reference tree in another tree; ``leaves`` are the nodes at which the rows stop."""

    def __init__(self, reference: ReferenceTree, tree: Tree, leaves: Ints) -> None:
        self.reference, self.tree = reference, tree
        self.leaves = leaves[reference.row_order]  # the rows of a node of the reference tree are contiguous
        self.parent = tree.arrays.parent
        self.column = np.where(tree.arrays.kind == LEAF, -1, tree.arrays.column)
        stopping = np.concatenate([[0.0], np.cumsum(np.bincount(self.leaves, reference.weight, len(tree)))])
        self.sizes = np.asarray(stopping[tree.arrays.ends] - stopping[:-1])  # the weight of the rows of each node
        self._positions: dict[int, int] = {}  # node of the reference tree → node at the same position
        self._users: dict[int, Bools] = {}  # column → nodes at or below a split on it

    def match_all(self) -> npt.NDArray[np.void]:
        """Match every split; in pre-order, so that the position of a node's parent is known."""
        return np.array([self._match(node) for node in self.reference.inner_nodes.tolist()], _MATCH)

    def _match(self, node: int) -> tuple[bool, bool, float, float, float, int, bool, int]:
        reference, column = self.reference, int(self.reference.tree.arrays.column[node])
        rows = _NodeRows(self, slice(*(int(bound[node]) for bound in reference.row_ranges)))
        used = rows.weight_at(self._nodes_using(column)) / rows.size
        position = self._position_of(node, rows)
        same_position = position is not None and int(self.column[position]) == column
        nodes = rows.candidates()
        shared = rows.shared_with(nodes)
        jaccard = shared / np.maximum(rows.size + self.sizes[nodes] - shared, _TINY)
        other_column = _NO_MATCH
        if len(nodes) and jaccard.max() >= _MIN_JACCARD:
            other_column = int(self.column[nodes[np.argmax(jaccard)]])
        jaccard = np.where(self.column[nodes] == column, jaccard, -1.0)
        if not len(nodes) or jaccard.max() < _MIN_JACCARD:
            return same_position, False, used, 0.0, np.nan, 0, False, other_column
        best, present = int(nodes[np.argmax(jaccard)]), reference.values_present[node]
        same_split = np.array_equal(_partition(reference.tree, node, present), _partition(self.tree, best, present))
        return same_position, True, used, float(jaccard.max()), *_cut_of(self.tree, best), same_split, other_column

    def _nodes_using(self, column: int) -> Bools:
        if column not in self._users:
            splits = self.column == column
            self._users[column] = splits | self.tree.arrays.below(splits)
        return self._users[column]

    def _position_of(self, node: int, rows: _NodeRows) -> int | None:
        """Return the node at the same position: below that of the parent if both split on one column; else None."""
        a = self.reference.tree.arrays
        parent = int(a.parent[node])
        above = self._positions.get(parent)
        if parent < 0:
            self._positions[node] = 0
        elif above is not None and self.column[above] == a.column[parent]:
            start, children = self.tree.arrays.child_lists
            branches = children[start[above] : start[above + 1]]
            self._positions[node] = int(branches[np.argmax(rows.shared_with(branches))])
        return self._positions.get(node)


class _NodeRows:
    """The rows of one node of the reference tree, sorted by where they stop in the other tree."""

    def __init__(self, matcher: SplitMatcher, rows: slice) -> None:
        self.matcher, leaves, weight = matcher, matcher.leaves[rows], matcher.reference.weight[rows]
        order = np.argsort(leaves, kind="stable")
        self.leaves, self.weight = leaves[order], weight[order]
        self.running = np.concatenate([[0.0], np.cumsum(self.weight)])
        self.size = float(self.running[-1])

    def weight_at(self, nodes: Bools) -> float:
        """Return the weight of the rows that stop at some nodes."""
        return float(self.weight[nodes[self.leaves]].sum())

    def shared_with(self, nodes: Ints) -> Floats:
        """Return the weight of the rows that pass through each of some nodes."""
        last = np.searchsorted(self.leaves, self.matcher.tree.arrays.ends[nodes])
        return np.asarray(self.running[last] - self.running[np.searchsorted(self.leaves, nodes)])

    def candidates(self) -> Ints:
        """Return the nodes that may have a Jaccard index of one half, in order.

        Such a node has at least half of the rows, hence the middle one (or one of the two), and at most twice the
        weight: it is the leaf of that row or an ancestor, as long as ancestors are not too large.
        """
        middle = self.size * _MIN_JACCARD * np.array([1 - _TOLERANCE, 1 + _TOLERANCE])
        middle_rows = np.searchsorted(self.running[1:], middle).clip(0, len(self.leaves) - 1)
        largest, parent, nodes = self.size / _MIN_JACCARD * (1 + _TOLERANCE), self.matcher.parent, set()
        for node in self.leaves[middle_rows].tolist():
            while node >= 0 and node not in nodes and self.matcher.sizes[node] <= largest:
                nodes.add(node)
                node = int(parent[node])
        return np.array(sorted(nodes), np.int64)


def _cut_of(tree: Tree, node: int) -> tuple[float, int]:
    """Return a node's threshold as a double (NaN if it has none or only tests for missing), and as an exact integer."""
    a, split = tree.arrays, tree.split_at(node)
    encoding = tree.encodings[a.column[node]]
    if not isinstance(split, Threshold):
        return np.nan, 0
    exact = 0 if encoding.kind == "number" else int(a.cut_int[node])
    return float(a.cut[node] if encoding.kind == "number" else exact), exact


def _partition(tree: Tree, node: int, values: npt.NDArray[Any]) -> Ints:
    """Return the branch of each value of the node's column, branches numbered in order of appearance."""
    a = tree.arrays
    if a.kind[node] == THRESHOLD:
        cut = a.cut if tree.encodings[a.column[node]].kind == "number" else a.cut_int
        return number_by_first_row(values > cut[node : node + 1])  # an array: float32 is compared as double
    codes = a.codes[a.code_start[node] : a.code_start[node + 1]]
    if a.kind[node] == ORDINAL:
        return number_by_first_row(values > codes[0])
    if a.kind[node] != MULTIWAY:
        return number_by_first_row(np.isin(values, codes))
    order = np.argsort(codes)
    spot = np.searchsorted(codes[order], values).clip(0, len(codes) - 1)
    return number_by_first_row(np.where(codes[order][spot] == values, order[spot], -1))
