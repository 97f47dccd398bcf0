"""The nodes of many trees, packed: what an ensemble keeps of its members.

Stands on ``tree/arrays.py``; the learners fill it, ``unpack.py`` makes ordinary trees of it, ``predict.py`` predicts
from it and ``ensemble_file.py`` saves it. A tree's own arrays take about 110 bytes a node. Most of that follows
from the
rest: who is whose parent from the kinds of splits, what an inner node counts from its leaves. A hundred trees keep
only what does not, in the narrowest type that holds each number exactly: 8 to 10 bytes a node for two classes and
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treewise.ensemble import unpack as opening
from treewise.errors import brief
from treewise.formats.model_file.packing import narrowest
from treewise.tree.arrays import LEAF, MULTIWAY, Arrays, depths_of

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

NOT_BY_NODE = ("squared_error",)  # of numbers: what inner nodes say follows from the leaves by this criterion alone
INNER = ("column", "cut", "cut_int", "missing", "other", "n_codes", "missing_rows")  # one entry an inner node
LEAVES = ("stop", "rows", "n_counts", "weight")  # one entry a leaf
LISTS = {"codes": "n_codes", "count_class": "n_counts", "count_weight": "n_counts"}  # list → how many each has of it
FIGURES = ("value", "spread", "impurity")  # one entry a leaf, or a node where there are impurities
_DEFAULTS = {"cut_int": 0, "other": -1, "n_codes": 0, "missing_rows": 0}  # where all entries are this, none is kept


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """The nodes of many trees, one tree after another in pre-order; arrays that nobody needs are empty.

    >>> import treewise as tw
    >>> trees = [tw.grow("penguins", max_depth=2), tw.grow("penguins", max_depth=3)]
    >>> members = PackedTrees.of([tree.arrays for tree in trees])
    >>> len(members), members.start.tolist(), members.cut.dtype, members.nbytes
    (2, [0, 7, 20], dtype('float64'), 229)
    >>> members.first(1).same_as(PackedTrees.of([trees[0].arrays]))
    True
    >>> members.first(1).joined(members.member(1)).same_as(members)
    True
    """

    start: Ints  # member t has the nodes start[t]:start[t+1]
    kind: Array  # one entry a node: LEAF, THRESHOLD, … as nodes.py numbers them
    # one entry an inner node, in the order of nodes
    column: Array  # which encoding
    cut: Array  # threshold of a number column, 0.0 elsewhere
    cut_int: Array  # threshold of an integer or datetime column; EMPTY where all are 0
    missing: Array  # branch that missing values take
    other: Array  # branch of levels a multiway test does not name, -1 for none; EMPTY where none has one
    n_codes: Array  # how many of ``codes`` are this split's; EMPTY where no split names levels
    codes: Array
    missing_rows: Array  # rows where the column asked about is missing; EMPTY where there are none
    # one entry a leaf, in the order of nodes
    stop: Array  # index into STOPS
    rows: Array
    n_counts: Array  # classes: how many of ``count_class`` and ``count_weight`` are this leaf's
    count_class: Array
    count_weight: Array
    weight: Array  # numbers: of the rows. With classes these four are EMPTY: counts add up to weights
    value: Array  # what it says, and the standard deviation about the mean …
    spread: Array
    impurity: Array  # … EMPTY for squared_error. For other criteria of numbers, these three have one entry a node

    # -- making ---------------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, trees: Sequence[Arrays | Mapping[str, Array]], criterion: str = "entropy") -> PackedTrees:
        """Pack grown trees: the arrays of each, or a dict of what is kept of it here (but ``start``), in any type.

        ``criterion`` matters for the arrays of trees that predict numbers.
        """
        parts = [packed(tree, criterion) if isinstance(tree, Arrays) else tree for tree in trees]
        start = np.cumsum([0, *(len(part["kind"]) for part in parts)], dtype=np.int64)
        return tidy(start, {name: _joined([wide(part, name) for part in parts]) for name in NAMES})

    def joined(self, other: PackedTrees) -> PackedTrees:
        """Return the members of both, these first."""
        start = np.concatenate([self.start, self.start[-1] + other.start[1:]])
        return tidy(start, {name: _joined([wide(vars(self), name), wide(vars(other), name)]) for name in NAMES})

    def first(self, k: int) -> PackedTrees:
        """Return the first k members, as if they had been packed alone."""
        return self.between(0, k)

    def member(self, t: int) -> PackedTrees:
        """Return one member, packed alone."""
        return self.between(t, t + 1)

    def between(self, t: int, u: int) -> PackedTrees:
        """Return the members t to u-1, as if they had been packed alone."""
        if not 0 <= t < u <= len(self):
            raise IndexError(f"no members {t} to {u - 1}: there are 0 to {len(self) - 1}")
        found = {name: getattr(self, name)[self.place(name, t) : self.place(name, u)] for name in NAMES}
        return tidy(self.start[t : u + 1] - self.start[t], found)

    # -- looking --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return how many trees there are."""
        return len(self.start) - 1

    @property
    def nbytes(self) -> int:
        """How many bytes the arrays take."""
        return sum(getattr(self, f.name).nbytes for f in fields(self))

    def same_as(self, other: PackedTrees) -> bool:
        """Tell whether every array holds equal numbers (NaN equals NaN)."""
        return all(
            np.array_equal(mine, theirs, equal_nan="f" in (mine.dtype.kind, theirs.dtype.kind))
            for mine, theirs in ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        )

    def open(self, t: int, criterion: str = "entropy", empty_branch: Literal["parent", "root"] = "parent") -> Arrays:
        """Return one member as a tree's arrays: with parents, and what inner nodes count, derived again.

        It is the tree that was packed, to the last bit, where it predicts classes and weights are whole numbers. With
        other weights impurities and gains are the same but for rounding; of numbers gains, and under
        ``squared_error`` impurities and what inner nodes say. What leaves say is exact always.
        """
        if not 0 <= t < len(self):
            raise IndexError(f"no member {brief(t)}: there are 0 to {len(self) - 1}")
        return opening.opened(self.member(t), criterion, empty_branch)

    @cached_property
    def inner_start(self) -> Ints:
        """Where each member's entries in the arrays of inner nodes begin; one more at the end."""
        return self.counted(self.kind != LEAF)

    @cached_property
    def leaf_start(self) -> Ints:
        """Where each member's entries in the arrays of leaves begin; one more at the end."""
        return self.start - self.inner_start

    @cached_property
    def code_start(self) -> Ints:
        """Where each member's codes begin; one more at the end."""
        return _sums_at(self.n_codes, self.inner_start)

    @cached_property
    def count_start(self) -> Ints:
        """Where each member's counts begin; one more at the end."""
        return _sums_at(self.n_counts, self.leaf_start)

    @property
    def by_node(self) -> bool:
        """Whether values and spreads have one entry a node, rather than a leaf."""
        return len(self.impurity) > 0

    @cached_property
    def branches(self) -> Ints:
        """How many children each inner node has, in the order of inner nodes."""
        many = self.filled("n_codes") + (self.filled("other") >= 0)
        own = np.where(self.kind[self.kind != LEAF] == MULTIWAY, many, 2)
        return np.maximum(own, self.missing.astype(np.int64) + 1)

    @cached_property
    def depths(self) -> Ints:
        """The number of tests on the longest path of each member."""
        branches = np.zeros(len(self.kind), np.int64)
        branches[self.kind != LEAF] = self.branches
        return np.maximum.reduceat(depths_of(opening.shape_of(branches, self.start).parent), self.start[:-1])

    def settled_by_one_test(self) -> bool:
        """Tell whether some member asks one question and knows everything: its leaves hold one class, or one number."""
        single = np.diff(self.inner_start) == 1
        if not single.any():
            return False
        mixed = self.n_counts > 1 if len(self.n_counts) else self.spread != 0
        if len(mixed) == len(self.kind):
            mixed = mixed[self.kind == LEAF]
        return bool(np.any(single & ~np.logical_or.reduceat(mixed, self.leaf_start[:-1])))

    def filled(self, name: str) -> Array:
        """Return an array of inner nodes, with its default where it is empty."""
        array: Array = getattr(self, name)
        return array if len(array) else np.full(len(self.column), _DEFAULTS[name], np.int64)

    def place(self, name: str, t: int) -> int:
        """Return where the entries of member t begin in an array (t may be one past the last)."""
        if not len(getattr(self, name)):
            return 0
        if name == "kind" or (name in FIGURES and self.by_node):
            return int(self.start[t])
        if name in INNER:
            return int(self.inner_start[t])
        if name == "codes":
            return int(self.code_start[t])
        return int(self.count_start[t] if name in ("count_class", "count_weight") else self.leaf_start[t])

    def counted(self, mark: npt.NDArray[np.bool_]) -> Ints:
        """Return how many of the nodes before each member's first are marked."""
        return _sums_at(mark, self.start)


NAMES = tuple(f.name for f in fields(PackedTrees) if f.name != "start")


def _sums_at(many: Array, start: Ints) -> Ints:
    """Return the sums of all entries before each start, the last of which is past the end; of an empty array zeros.

    >>> _sums_at(np.array([5, 1, 2]), np.array([0, 1, 1, 3]))
    array([0, 5, 5, 8])
    """
    sums = np.zeros(len(start), np.int64)
    some = np.diff(start) > 0
    if len(many):
        sums[1:][some] = np.add.reduceat(many, start[:-1][some], dtype=np.int64)
    return np.cumsum(sums)


def packed(a: Arrays, criterion: str) -> dict[str, Array]:
    """Take from a tree's arrays what cannot be derived again."""
    inner, leaf = a.kind != LEAF, a.kind == LEAF
    found: dict[str, Array] = {"kind": a.kind, "codes": a.codes, "n_codes": np.diff(a.code_start)[inner]}
    found |= {name: getattr(a, name)[inner] for name in INNER if name != "n_codes"}
    found |= {name: getattr(a, name)[leaf] for name in ("stop", "rows")}
    if len(a.label):
        many = np.diff(a.count_start)
        of_leaves = np.repeat(leaf, many)
        found |= {"n_counts": many[leaf], "count_class": a.count_class[of_leaves]}
        return {**found, "count_weight": a.count_weight[of_leaves]}
    found["weight"] = a.weight[leaf]
    if criterion in NOT_BY_NODE:
        return {**found, "value": a.value[leaf], "spread": a.spread[leaf]}
    return {**found, **{name: getattr(a, name) for name in FIGURES}}


def wide(part: Mapping[str, Array], name: str) -> Array:
    """Return one tree's array, narrowed by itself, and at its full length where it was left out."""
    array = part.get(name)
    if name in _DEFAULTS and (array is None or not len(array)):
        return np.full(len(part["column"]), _DEFAULTS[name], np.int8)
    return np.empty(0, np.uint8) if array is None else narrow(array)


def narrow(array: Array) -> Array:
    """Return an array in the narrowest type that holds its numbers."""
    return narrowest(array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array)


def _joined(arrays: Sequence[Array]) -> Array:
    """Put arrays after one another, in a type that holds all of their numbers exactly."""
    return np.concatenate(arrays) if arrays else np.empty(0, np.uint8)


def tidy(start: Ints, found: Mapping[str, Array]) -> PackedTrees:
    """Make members of arrays: each as narrow as it can be, empty where it says nothing, and not to be written to."""
    arrays: dict[str, Array] = {"start": start}
    for name, array in found.items():
        says = name not in _DEFAULTS or np.any(array != _DEFAULTS[name])
        arrays[name] = narrow(array) if says else np.empty(0, np.uint8)
    for array in arrays.values():
        array.flags.writeable = False
    return PackedTrees(**arrays)
