"""Packed trees: the nodes of all members of an ensemble in narrow arrays.

Uses ``tree/arrays.py``; growing fills it, ``unpack.py`` derives ordinary trees from it, ``predict.py`` compiles it
and ``formats/model_file/model_file.py`` saves it. The arrays of an ordinary tree take about 110 bytes per node, most
of which can be derived: parents from the kinds of splits, the counts of inner nodes from their leaves. Packed trees
keep only the rest, in the narrowest type that holds each number exactly: 8 to 10 bytes per node for two classes and
numeric columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treewise.ensemble.unpack import tree_shape, unpack_tree
from treewise.errors import brief
from treewise.formats.model_file.packing import narrowest
from treewise.tree.arrays import LEAF, MULTIWAY, Arrays, depths_of

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

DERIVABLE_CRITERIA = ("squared_error",)  # of regression: values of inner nodes can be derived from the leaves
INNER_ARRAYS = ("column", "cut", "cut_int", "missing", "other", "n_codes", "missing_rows")  # one entry per inner node
LEAF_ARRAYS = ("stop", "rows", "n_counts", "weight")  # one entry per leaf
LIST_LENGTHS = {
    "codes": "n_codes",
    "count_class": "n_counts",
    "count_weight": "n_counts",
}  # list → lengths
NODE_STATS = ("value", "spread", "impurity")  # one entry per leaf, or per node if there are impurities
_DEFAULTS = {
    "cut_int": 0,
    "other": -1,
    "n_codes": 0,
    "missing_rows": 0,
}  # arrays of only these are left empty


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """The nodes of many trees, one tree after another in pre-order; arrays that are not needed are empty.

    >>> import treewise as tw
    >>> trees = [tw.grow("penguins", max_depth=2), tw.grow("penguins", max_depth=3)]
    >>> members = PackedTrees.of([tree.arrays for tree in trees])
    >>> len(members), members.start.tolist(), members.cut.dtype, members.nbytes
    (2, [0, 7, 20], dtype('float64'), 229)
    >>> members.first(1).same_as(PackedTrees.of([trees[0].arrays]))
    True
    >>> members.first(1).concat(members.member(1)).same_as(members)
    True
    """

    start: Ints  # member t has the nodes start[t]:start[t+1]
    kind: Array  # one entry per node: LEAF, THRESHOLD, … of tree/arrays.py
    # one entry per inner node, in the order of nodes
    column: Array  # which encoding
    cut: Array  # threshold of a numeric column, 0.0 elsewhere
    cut_int: Array  # threshold of an integer or datetime column; empty if all are 0
    missing: Array  # branch that missing values take
    other: Array  # branch of levels that a multiway split does not list, -1 for none; empty if none has one
    n_codes: Array  # number of ``codes`` of this split; empty if no split lists levels
    codes: Array
    missing_rows: Array  # rows where the tested column is missing; empty if there are none
    # one entry per leaf, in the order of nodes
    stop: Array  # index into STOPS
    rows: Array
    n_counts: Array  # classification: number of ``count_class`` and ``count_weight`` of this leaf
    count_class: Array
    count_weight: Array
    weight: Array  # regression only, as the next three: with classes, the counts add up to it
    value: Array  # prediction
    spread: Array  # standard deviation about the mean
    impurity: Array  # empty for squared_error; for other criteria, these three have one entry per node

    # -- packing ---------------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, trees: Sequence[Arrays | Mapping[str, Array]], criterion: str = "entropy") -> PackedTrees:
        """Pack grown trees: the arrays of each, or a dict of the packed arrays (without ``start``) in any dtype.

        ``criterion`` matters only for the arrays of regression trees.
        """
        parts = [_pack(tree, criterion) if isinstance(tree, Arrays) else tree for tree in trees]
        start = np.cumsum([0, *(len(part["kind"]) for part in parts)], dtype=np.int64)
        return build_packed(
            start, {name: _concatenate([_at_full_length(part, name) for part in parts]) for name in ARRAY_NAMES}
        )

    def concat(self, other: PackedTrees) -> PackedTrees:
        """Return the members of both, these first."""
        start = np.concatenate([self.start, self.start[-1] + other.start[1:]])
        return build_packed(
            start,
            {
                name: _concatenate([_at_full_length(vars(self), name), _at_full_length(vars(other), name)])
                for name in ARRAY_NAMES
            },
        )

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
        arrays = {name: getattr(self, name)[self._offset(name, t) : self._offset(name, u)] for name in ARRAY_NAMES}
        return build_packed(self.start[t : u + 1] - self.start[t], arrays)

    # -- access ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.start) - 1

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(getattr(self, f.name).nbytes for f in fields(self))

    def same_as(self, other: PackedTrees) -> bool:
        """Return whether all arrays hold equal numbers (NaN equals NaN)."""
        return all(
            np.array_equal(ours, theirs, equal_nan="f" in (ours.dtype.kind, theirs.dtype.kind))
            for ours, theirs in ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        )

    def unpack(self, t: int, criterion: str = "entropy", empty_branch: Literal["parent", "root"] = "parent") -> Arrays:
        """Return one member as the arrays of an ordinary tree, with parents and the statistics of inner nodes derived.

        For classification with integer weights it is bit for bit the tree that was packed. With other weights,
        impurities and gains agree up to rounding; for regression gains do, and under ``squared_error`` also the
        impurities and values of inner nodes. Predictions of leaves are always exact.
        """
        if not 0 <= t < len(self):
            raise IndexError(f"no member {brief(t)}: there are 0 to {len(self) - 1}")
        return unpack_tree(self.member(t), criterion, empty_branch)

    @cached_property
    def inner_start(self) -> Ints:
        """Start of each member in the arrays of inner nodes, and their end."""
        return _sums_at(self.kind != LEAF, self.start)

    @cached_property
    def leaf_start(self) -> Ints:
        """Start of each member in the arrays of leaves, and their end."""
        return self.start - self.inner_start

    @cached_property
    def code_start(self) -> Ints:
        """Start of each member in ``codes``, and its end."""
        return _sums_at(self.n_codes, self.inner_start)

    @cached_property
    def count_start(self) -> Ints:
        """Start of each member in ``count_class`` and ``count_weight``, and their end."""
        return _sums_at(self.n_counts, self.leaf_start)

    @property
    def has_node_stats(self) -> bool:
        """Whether values and spreads have one entry per node, rather than per leaf."""
        return len(self.impurity) > 0

    @cached_property
    def branches(self) -> Ints:
        """Number of children of each inner node, in the order of inner nodes."""
        multiway = self.filled("n_codes") + (self.filled("other") >= 0)
        branches = np.where(self.kind[self.kind != LEAF] == MULTIWAY, multiway, 2)
        return np.maximum(branches, self.missing.astype(np.int64) + 1)

    @cached_property
    def depths(self) -> Ints:
        """The depth of each member."""
        branches = np.zeros(len(self.kind), np.int64)
        branches[self.kind != LEAF] = self.branches
        return np.maximum.reduceat(depths_of(tree_shape(branches, self.start).parent), self.start[:-1])

    def has_perfect_stump(self) -> bool:
        """Return whether some member is a single split whose leaves are pure."""
        is_stump = np.diff(self.inner_start) == 1
        if not is_stump.any():
            return False
        mixed = self.n_counts > 1 if len(self.n_counts) else self.spread != 0
        if len(mixed) == len(self.kind):
            mixed = mixed[self.kind == LEAF]
        return bool(np.any(is_stump & ~np.logical_or.reduceat(mixed, self.leaf_start[:-1])))

    def filled(self, name: str) -> Array:
        """Return an array of inner nodes, filled with its default if it is empty."""
        array: Array = getattr(self, name)
        return array if len(array) else np.full(len(self.column), _DEFAULTS[name], np.int64)

    def _offset(self, name: str, t: int) -> int:
        """Return the start of member t in an array; t may be one past the last."""
        if not len(getattr(self, name)):
            return 0
        if name == "kind" or (name in NODE_STATS and self.has_node_stats):
            return int(self.start[t])
        if name in INNER_ARRAYS:
            return int(self.inner_start[t])
        if name == "codes":
            return int(self.code_start[t])
        return int(self.count_start[t] if name in ("count_class", "count_weight") else self.leaf_start[t])


ARRAY_NAMES = tuple(f.name for f in fields(PackedTrees) if f.name != "start")


def _sums_at(values: Array, start: Ints) -> Ints:
    """Return the cumulative sum before each start; zeros for an empty array.

    >>> _sums_at(np.array([5, 1, 2]), np.array([0, 1, 1, 3]))
    array([0, 5, 5, 8])
    """
    sums = np.zeros(len(start), np.int64)
    nonempty = np.diff(start) > 0
    if len(values):
        sums[1:][nonempty] = np.add.reduceat(values, start[:-1][nonempty], dtype=np.int64)
    return np.cumsum(sums)


def _pack(a: Arrays, criterion: str) -> dict[str, Array]:
    """Return the part of the arrays of a tree that cannot be derived."""
    inner, leaf = a.kind != LEAF, a.kind == LEAF
    arrays: dict[str, Array] = {"kind": a.kind, "codes": a.codes, "n_codes": np.diff(a.code_start)[inner]}
    arrays |= {name: getattr(a, name)[inner] for name in INNER_ARRAYS if name != "n_codes"}
    arrays |= {name: getattr(a, name)[leaf] for name in ("stop", "rows")}
    if len(a.label):
        n_counts = np.diff(a.count_start)
        of_leaves = np.repeat(leaf, n_counts)
        arrays |= {"n_counts": n_counts[leaf], "count_class": a.count_class[of_leaves]}
        return {**arrays, "count_weight": a.count_weight[of_leaves]}
    arrays["weight"] = a.weight[leaf]
    if criterion in DERIVABLE_CRITERIA:
        return {**arrays, "value": a.value[leaf], "spread": a.spread[leaf]}
    return {**arrays, **{name: getattr(a, name) for name in NODE_STATS}}


def _at_full_length(part: Mapping[str, Array], name: str) -> Array:
    """Return an array of one tree in a narrow type; an omitted one is filled with its default."""
    array = part.get(name)
    if name in _DEFAULTS and (array is None or not len(array)):
        return np.full(len(part["column"]), _DEFAULTS[name], np.int8)
    return np.empty(0, np.uint8) if array is None else _narrow(array)


def _narrow(array: Array) -> Array:
    return narrowest(array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array)


def _concatenate(arrays: Sequence[Array]) -> Array:
    return np.concatenate(arrays) if arrays else np.empty(0, np.uint8)


def build_packed(start: Ints, members: Mapping[str, Array]) -> PackedTrees:
    """Build packed trees: each array as narrow as possible, empty if it has only default entries, read-only."""
    arrays: dict[str, Array] = {"start": start}
    for name, array in members.items():
        is_needed = name not in _DEFAULTS or np.any(array != _DEFAULTS[name])
        arrays[name] = _narrow(array) if is_needed else np.empty(0, np.uint8)
    for array in arrays.values():
        array.flags.writeable = False
    return PackedTrees(**arrays)
