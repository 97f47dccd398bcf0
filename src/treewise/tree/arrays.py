"""The data of a tree: its nodes as flat arrays, a view of a single node, and the target.

Used by ``tree/tree.py``, which combines them and gives them their meaning. ``Arrays`` is what the core
returns, the model file stores and prediction walks; ``Node`` is one row of it, made on demand. Nodes are numbered in
pre-order (a node before its children, the first child's whole subtree before the second child), so numbers increase
down the page and a child's is always larger than its parent's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treewise.data.encoding import INT64_MAX, Encoding
from treewise.tree.splits import Multiway, OneValue, Ordinal, Presence, Split, Subset, Threshold

Label = str | int | float | bool
Task = Literal["classification", "regression"]
UNNAMED = "class"  # the target of a hand-written tree that does not name one

# The split kinds as the arrays number them; the order is also that in which equal gains are preferred.
LEAF, THRESHOLD, ORDINAL, ONE_VALUE, SUBSET, MULTIWAY = range(6)
KIND_NUMBERS = {
    "threshold": THRESHOLD,
    "ordinal": ORDINAL,
    "one_value": ONE_VALUE,
    "subset": SUBSET,
    "multiway": MULTIWAY,
}

# Why a node is a leaf, in order of precedence; 0 is an inner node. The core uses the same numbers (problem.hpp).
STOPS = (
    "",
    "no_rows",
    "pure",
    "sufficient_accuracy",
    "max_depth",
    "min_samples_split",
    "no_candidate",
    "min_samples_leaf",
    "min_impurity_decrease",
    "max_leaf_nodes",
    "by_hand",
    "not_yet",  # in the middle of Tree.steps
    "pruned(reduced_error)",  # later, by the methods of ``prune``
    "pruned(gain)",
    "pruned(cost_complexity)",
    "pruned(pessimistic)",
    "pruned(mdl)",
    "pruned(collapse)",
    "not_significant",  # selection="test"; after min_samples_split in precedence
    "imported",  # imported from a library that does not record the reason
    "constraints",  # no split is allowed; after min_samples_leaf in precedence
)
NO_ROWS, BY_HAND, NOT_YET = map(STOPS.index, ("no_rows", "by_hand", "not_yet"))


@dataclass(frozen=True)
class Target:
    """The predicted column: its name, and its classes in order (none for regression)."""

    name: str
    task: Task
    classes: tuple[Label, ...] = ()

    @property
    def positive(self) -> Label | None:
        """The positive class: the second of two; None otherwise."""
        return self.classes[1] if len(self.classes) == 2 else None


@dataclass(frozen=True, eq=False)
class Arrays:
    """The nodes as flat arrays, one entry per node; lists of varying length as (start, items) pairs.

    ``code_start[i]:code_start[i+1]`` are the category codes node i's split names (the listed ones of a subset, the
    one of a one-value test, the last left one of an ordinal test, one per branch of a multiway test);
    ``count_start[i]:…`` the classes present at node i with their weights. No counts are kept for absent classes.
    """

    parent: npt.NDArray[np.int64]  # -1 at the root
    kind: npt.NDArray[np.uint8]  # LEAF, THRESHOLD, …
    column: npt.NDArray[np.int32]  # which encoding; -1 at a leaf
    cut: npt.NDArray[np.float64]  # threshold of a number column
    cut_int: npt.NDArray[np.int64]  # threshold of an integer or datetime column
    missing: npt.NDArray[np.int32]  # branch that missing values take; -1 at a leaf
    other: npt.NDArray[np.int32]  # branch for levels a multiway test does not name; -1 when there is none
    code_start: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int32]
    stop: npt.NDArray[np.uint8]  # index into STOPS
    rows: npt.NDArray[np.int64]  # training rows that reached the node
    missing_rows: npt.NDArray[np.int64]  # of these, rows where the split's column is missing
    weight: npt.NDArray[np.float64]  # of all rows of the node
    impurity: npt.NDArray[np.float64]  # per unit of weight, in the criterion's unit
    gain: npt.NDArray[np.float64]  # the split's decrease of impurity, per unit of the node's weight
    label: npt.NDArray[np.int32]  # classification: the predicted class; empty for regression
    count_start: npt.NDArray[np.int64]
    count_class: npt.NDArray[np.int32]
    count_weight: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]  # regression: the predicted value; empty for classification
    spread: npt.NDArray[np.float64]  # regression: standard deviation about the mean
    # selection="test": the smallest adjusted p-value of a column; NaN where none was tested. Empty for other trees.
    p_value: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.parent)

    def same_as(self, other: Arrays) -> bool:
        """Return whether every array holds equal numbers (NaN equals NaN, -0.0 equals 0.0)."""
        return all(
            np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")
            for ours, theirs in ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        )

    # -- the splits: how the entries of a node make one (``split_entries`` is the way back) ---------------------------

    def split_at(self, node: int, encodings: Sequence[Encoding]) -> Split | None:
        """Return the split at a node, None at a leaf."""
        kind, missing = int(self.kind[node]), int(self.missing[node])
        if kind == LEAF:
            return None
        encoding = encodings[self.column[node]]
        name = encoding.name
        if kind == THRESHOLD:
            cut = float(self.cut[node]) if encoding.kind == "number" else int(self.cut_int[node])
            if missing == 1 and cut in (math.inf, INT64_MAX):
                return Presence(name, missing=1)
            return Threshold(name, cut, missing=missing)
        levels = tuple(encoding.levels[c] for c in self.codes[self.code_start[node] : self.code_start[node + 1]])
        if kind == ORDINAL:
            if missing == 1 and levels[0] == encoding.levels[-1]:
                return Presence(name, missing=1)
            return Ordinal(name, levels[0], missing=missing)
        if kind == ONE_VALUE:
            return OneValue(name, levels[0], missing=missing)
        if kind == SUBSET:
            if not levels and missing == 0:
                return Presence(name, missing=0)
            return Subset(name, levels, missing=missing)
        return Multiway(name, levels, other=bool(self.other[node] >= 0), missing=missing)

    # -- the shape: what follows from ``parent`` and ``kind`` alone ------------------------------------------------

    @cached_property
    def child_lists(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """All children as (start, child): node i's are ``child[start[i]:start[i+1]]``, in branch order."""
        # Sorting the nodes by parent, stably, lists each node's children in branch order.
        order = np.argsort(self.parent[1:], kind="stable") + 1
        start = np.searchsorted(self.parent[order], np.arange(len(self) + 1))
        return start.astype(np.int64), order.astype(np.int64)

    @cached_property
    def branches(self) -> npt.NDArray[np.int64]:
        """Which branch of its parent each node is; -1 at the root."""
        start, child = self.child_lists
        branches = np.full(len(self), -1, np.int64)
        branches[child] = np.arange(len(child)) - start[self.parent[child]]
        return branches

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """One past the last node of each node's subtree, which is the run of numbers from the node to there."""
        _, child = self.child_lists
        follower = np.full(len(self), len(self))
        siblings = self.parent[child[1:]] == self.parent[child[:-1]]
        follower[child[:-1][siblings]] = child[1:][siblings]
        # A subtree ends where the next sibling begins; a last child's ends with its parent's.
        up = np.where((follower == len(self)) & (self.parent >= 0), self.parent, np.arange(len(self)))
        while not np.array_equal(further := up[up], up):
            up = further
        return follower[up]

    def below(self, selected: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which nodes are descendants of these."""
        nodes, size = np.flatnonzero(selected), len(self) + 1
        covers = np.bincount(nodes + 1, minlength=size) - np.bincount(self.ends[nodes], minlength=size)
        hidden: npt.NDArray[np.bool_] = np.cumsum(covers[: len(self)]) > 0
        return hidden

    @cached_property
    def depths(self) -> npt.NDArray[np.int64]:
        """The number of tests above each node."""
        return depths_of(self.parent)

    @cached_property
    def for_core(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays the core walks; each node's codes sorted for binary search, with the branch of each."""
        start, child = self.child_lists
        names = ("kind", "column", "cut", "cut_int", "missing", "other", "code_start")
        owner = np.repeat(np.arange(len(self)), np.diff(self.code_start))
        order = np.lexsort((self.codes, owner))
        return {
            **{name: getattr(self, name) for name in names},
            "codes": self.codes[order],
            "code_branch": (order - self.code_start[owner]).astype(np.int32),
            "child_start": start,
            "children": child,
        }


@dataclass(frozen=True)
class Node:
    """A view of one node, as returned by ``tree[3]``.

    >>> import treewise as tw
    >>> node = tw.grow("admissions", preset="id3")[1]
    >>> node.is_leaf, node.prediction, node.counts, node.stop, node.parent
    (True, 'N', {'N': 4.0}, 'pure', 0)
    """

    id: int
    parent: int | None
    branch: int | None  # which branch of the parent this is
    depth: int
    children: tuple[int, ...]
    split: Split | None
    stop: str  # why this is a leaf: one of STOPS, "" at inner nodes
    rows: int
    weight: float
    missing_rows: int
    impurity: float
    gain: float
    prediction: Label | None  # None where nothing is known, as at inner nodes of a hand-written tree
    counts: Mapping[Label, float] = field(default_factory=dict)  # weight of each class present
    spread: float = 0.0
    p_value: float | None = None  # of the node's test of independence; None where nothing was tested

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a leaf."""
        return self.split is None


# The dtype of each array. (Not taken from the type hints, which NumPy builds differently in each version.)
DTYPES: dict[str, type[np.generic]] = {
    "parent": np.int64, "kind": np.uint8, "column": np.int32, "cut": np.float64, "cut_int": np.int64,
    "missing": np.int32, "other": np.int32, "code_start": np.int64, "codes": np.int32, "stop": np.uint8,
    "rows": np.int64, "missing_rows": np.int64, "weight": np.float64, "impurity": np.float64, "gain": np.float64,
    "label": np.int32, "count_start": np.int64, "count_class": np.int32, "count_weight": np.float64,
    "value": np.float64, "spread": np.float64, "p_value": np.float64,
}  # fmt: skip


def depths_of(parent: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the number of tests above each node; a root's parent is -1.

    >>> depths_of(np.array([-1, 0, 1, 1, 0])).tolist()
    [0, 1, 2, 2, 1]
    """
    # Each round looks twice as far up: ``depths`` counts the steps from a node to ``up``, until all are roots.
    depths, up = (parent >= 0).astype(np.int64), np.where(parent >= 0, parent, np.arange(len(parent)))
    while (is_deeper := depths[up]).any():
        depths += is_deeper
        up = up[up]
    return depths


def split_entries(split: Split, column: int, encoding: Encoding, codes: Mapping[str, int]) -> dict[str, Any]:
    """Return a split as the entries of its node; ``codes`` are those of the column's levels.

    >>> split_entries(OneValue("city", "Rome", missing=1), 0, Encoding("city", "nominal"), {"Bari": 0, "Rome": 1})
    {'kind': 3, 'column': 0, 'missing': 1, 'codes': [1]}
    """
    if isinstance(split, Presence):
        split = _presence_as_stored(split, encoding)
    entries: dict[str, Any] = {"kind": KIND_NUMBERS[split.kind], "column": column, "missing": split.missing}
    if isinstance(split, Threshold):
        return {**entries, "cut" if isinstance(split.cut, float) else "cut_int": split.cut}
    entries["codes"] = [codes[level] for level in split.named]
    if isinstance(split, Multiway) and split.other:
        entries["other"] = len(split.levels)
    return entries


def _presence_as_stored(split: Presence, encoding: Encoding) -> Split:
    """Return the threshold, ordinal or subset split that represents a presence test in arrays, model files and core.

    They have no kind of their own for it: a cut above every value, or an empty set, leaves only the missing values on
    the other side.
    """
    assert encoding.is_categorical or split.missing == 1, "the missing branch of a number's presence test is the second"
    if encoding.kind == "number":
        return Threshold(split.column, math.inf, missing=1)
    if not encoding.is_categorical:
        return Threshold(split.column, INT64_MAX, missing=1)
    if split.missing == 1:
        return Ordinal(split.column, encoding.levels[-1], missing=1)
    return Subset(split.column, (), missing=0)
