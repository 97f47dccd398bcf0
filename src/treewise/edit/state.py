"""The tables of an editor, and its states between edits, which undo restores.

A state is a tree with the statistics of the training rows, the same tree with those of the validation rows, and what
the person decided besides: labels of leaves, locks, forbidden columns. Nodes change their numbers with every edit, so
these decisions are kept by identities (``ids``), which a node keeps as long as it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.edit.node_search import NodeCandidates, NodeSearcher
from treewise.errors import ParameterError
from treewise.predict.predict import find_leaves
from treewise.train.edit import estimate
from treewise.train.training_set import Quartiles, TrainingSet
from treewise.tree.arrays import LEAF, Arrays
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]

_MOST_SEARCHES = 8  # each keeps the rows of its node


@dataclass(frozen=True)
class TableLoss:
    """The loss of a tree on some rows: the weight of misclassified rows, or the sum of squared errors."""

    rows: int
    weight: float
    lost: float

    @property
    def rate(self) -> float | None:
        """Per unit of weight; None without rows."""
        return self.lost / self.weight if self.weight else None

    def to_list(self) -> list[float]:
        """Return plain values, as recorded in the log."""
        return [self.rows, self.weight, self.lost]


@dataclass(frozen=True)
class EditLosses:
    """The losses of a tree on the training and the validation rows."""

    training: TableLoss
    validation: TableLoss | None

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain values, as recorded in the log."""
        both = {"training": self.training, "validation": self.validation}
        return {name: loss.to_list() for name, loss in both.items() if loss is not None}


@dataclass(frozen=True, eq=False)
class EditState:
    """A tree between two edits, and what the person decided besides its splits."""

    tree: Tree
    held_out: Tree | None  # the same splits with the statistics of the validation rows
    ids: Ints  # the identity of each node
    labels: Mapping[int, Any] = field(default_factory=dict)  # by identity: the class (by position) or value of a leaf
    locked: frozenset[int] = frozenset()  # identities: their subtrees stay as they are
    locked_columns: frozenset[str] = frozenset()  # not offered for new splits
    forbidden: frozenset[str] = frozenset()  # not asked anywhere

    def node_of(self, identity: int) -> int | None:
        """Return the number of a node by its identity; None if it is gone."""
        matches = np.flatnonzero(self.ids == identity)
        return int(matches[0]) if len(matches) else None


@dataclass(eq=False)
class RowsOfTree:
    """The rows of one table, and where they end in the current tree."""

    training_set: TrainingSet
    known: tuple[Arrays, Ints] | None = None

    def ends(self, tree: Tree) -> Ints:
        """Return the node where each row ends; kept for the last tree."""
        if self.known is None or self.known[0] is not tree.arrays:
            self.known = (tree.arrays, find_leaves(tree, self.training_set.columns, len(self.training_set)))
        return self.known[1]

    def rows_at(self, tree: Tree, node: int) -> npt.NDArray[np.uint32]:
        """Return the rows that pass through a node."""
        if node == 0:
            return np.arange(len(self.training_set), dtype=np.uint32)
        ends, last = self.ends(tree), int(tree.arrays.ends[node])
        return np.flatnonzero((ends >= node) & (ends < last)).astype(np.uint32)

    def loss(self, tree: Tree, node: int = 0) -> TableLoss:
        """Return what the tree loses on the rows that pass through a node."""
        ends, training_set = self.ends(tree), self.training_set
        weight = training_set.evaluation_weight
        lost = row_losses(tree, training_set, ends)
        if node:
            inside = (ends >= node) & (ends < int(tree.arrays.ends[node]))
            return TableLoss(int(inside.sum()), float(weight[inside].sum()), float((weight * lost)[inside].sum()))
        return TableLoss(len(ends), float(weight.sum()), float((weight * lost).sum()))


def row_losses(tree: Tree, training_set: TrainingSet, ends: Ints) -> npt.NDArray[Any]:
    """Return 1 for each row that is predicted wrong; for numbers the squared error, or the absolute one."""
    if tree.task == "classification":
        wrong: npt.NDArray[Any] = tree.arrays.label[ends] != training_set.y
        return wrong
    error = training_set.raw - tree.arrays.value[ends]
    losses: npt.NDArray[Any] = np.abs(error) if training_set.criterion.centre == "median" else error * error
    return losses


@dataclass(eq=False)
class RecentSearches:
    """The candidates of the nodes that were asked for last: a person looks at a node, and then splits it."""

    searches: dict[Any, NodeCandidates] = field(default_factory=dict)

    def get(self, key: Any, search: Callable[[], NodeCandidates]) -> NodeCandidates:
        """Return what is known for a key, or search."""
        self.searches[key] = self.searches.pop(key) if key in self.searches else search()
        if len(self.searches) > _MOST_SEARCHES:
            del self.searches[next(iter(self.searches))]
        return self.searches[key]


@dataclass(eq=False)
class EditTables:
    """The training table and the validation table of an editor."""

    training: RowsOfTree
    validation: RowsOfTree | None
    quartiles: Quartiles
    searcher: NodeSearcher
    searches: RecentSearches = field(default_factory=RecentSearches)
    next_id: int = 0

    def new_ids(self, n: int) -> Ints:
        """Return identities for new nodes."""
        self.next_id += n
        return np.arange(self.next_id - n, self.next_id)

    def losses(self, tree: Tree, node: int = 0) -> EditLosses:
        """Return the losses on both tables, of the rows that pass through a node."""
        validation = None if self.validation is None else self.validation.loss(tree, node)
        return EditLosses(self.training.loss(tree, node), validation)

    def estimate(self, structure: Tree, state: EditState) -> EditState:
        """Return the state with another tree, whose statistics are estimated on both tables.

        ``structure`` has the splits and the identities of ``state`` are those of its nodes.
        """
        history = structure.history
        fitted = estimate(structure, self.training.training_set, {"did": "edit"}, self.quartiles)
        labels = {identity: label for identity, label in state.labels.items() if identity in set(state.ids.tolist())}
        arrays = fitted.arrays
        name = "label" if fitted.task == "classification" else "value"
        answers = getattr(arrays, name).copy()
        for identity, label in labels.items():
            node = int(np.flatnonzero(state.ids == identity)[0])
            if arrays.kind[node] == LEAF:
                answers[node] = label
        answers.flags.writeable = False
        changed: dict[str, Any] = {"missing": structure.arrays.missing, name: answers}
        tree = replace(fitted, arrays=replace(arrays, **changed), history=history)
        held_out = None
        if self.validation is not None:
            held_out = estimate(tree, self.validation.training_set, {"did": "edit"}, {})
            held_out = replace(held_out, arrays=replace(held_out.arrays, missing=tree.arrays.missing))
        return replace(state, tree=tree, held_out=held_out, labels=labels)


def words_of_node(tree: Tree, node: int, most: int = 4) -> str:
    """Return the conditions on the path to a node; only the last few of a long path.

    >>> import treewise as tw
    >>> words_of_node(tw.grow("admissions", preset="id3"), 3)
    'GPA = 3.7 and Published = no'
    """
    conditions = [tree.condition(at) for at in tree.path(node)[1:]]
    text = " and ".join(conditions[-most:]) or "all rows"
    return f"… and {text}" if len(conditions) > most else text


def path_of_node(tree: Tree, node: int) -> list[int]:
    """Return the branches that lead to a node.

    >>> import treewise as tw
    >>> path_of_node(tw.grow("admissions", preset="id3"), 3)
    [1, 0]
    """
    return [int(tree.arrays.branches[at]) for at in tree.path(node)[1:]]


def node_at_path(tree: Tree, path: Sequence[int]) -> int | None:
    """Return the node that some branches lead to; None if there is none."""
    node = 0
    for branch in path:
        children = tree.children(node)
        if branch >= len(children):
            return None
        node = children[branch]
    return node


def check_unlocked(tree: Tree, ids: Ints, node: int, locked: frozenset[int]) -> None:
    """Raise if a node, one above it or one below it is locked."""
    for above in tree.path(node):
        if int(ids[above]) in locked:
            where = f"is in the locked subtree of node {above}" if above != node else "is locked"
            raise ParameterError(f"node {node} {where}. Unlock it first: unlock({above}).")
    inside = [i for i in range(node, int(tree.arrays.ends[node])) if int(ids[i]) in locked]
    if inside:
        raise ParameterError(f"node {inside[0]} below node {node} is locked. Unlock it first: unlock({inside[0]}).")
