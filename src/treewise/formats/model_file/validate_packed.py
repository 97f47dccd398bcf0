"""Validate packed trees: all their invariants, checked over all trees at once.

The checks of single trees (``validate.py``) are applied to the inner nodes of all trees together, and to the leaves.
Every file that is loaded, and every ensemble before it is saved, is checked here. What is derived when a member is
unpacked needs no check of its own if the following hold:

    shape        each tree's nodes form a tree in pre-order, with as many nodes as its splits have branches
    statistics   every inner node has rows, and the weights of a tree add up without rounding

Everything is linear in the number of nodes or n·log n, without a loop over nodes or trees.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data.encoding import Encoding
from treewise.ensemble.packed_trees import INNER_ARRAYS, LEAF_ARRAYS, LIST_LENGTHS, NODE_STATS, PackedTrees
from treewise.ensemble.unpack import stack_heights, subtree_ends, tree_shape
from treewise.errors import ModelFormatError
from treewise.formats.model_file.validate import (
    MAX_ROWS,
    check_class_lists,
    check_columns,
    check_cuts,
    check_leaves,
    check_levels,
    check_statistics,
    count_branches,
    refuse,
)
from treewise.train.fixed_point import lowest_bit_exponents
from treewise.tree.arrays import LEAF, MULTIWAY, STOPS, Arrays, Target

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

_NO_ROWS = STOPS.index("no_rows")
_NODES_AT_ONCE = 1 << 16


def check_packed(members: PackedTrees, encodings: tuple[Encoding, ...], target: Target) -> None:
    """Raise ModelFormatError, saying what and where, unless every member is a sound tree.

    >>> import treewise as tw
    >>> tree = tw.grow("xor")
    >>> members = PackedTrees.of([tree.arrays])
    >>> check_packed(members, tree.encodings, tree.target)
    >>> from dataclasses import replace
    >>> check_packed(replace(members, column=members.column + 9), tree.encodings, tree.target)
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: nodes.column[0] is 9: there are 2 columns
    """
    _check_lengths(members, target)
    refuse((members.kind < 0) | (members.kind > MULTIWAY), "kind", members.kind, "unknown split kind")
    refuse(members.stop < 0, "stop", members.stop, "unknown stop reason")
    groups = _group_trees(members.start)
    if len(groups) == 1:
        _check_trees(members, encodings, target)
        return
    for first, last in groups:
        try:
            _check_trees(members.between(first, last), encodings, target)
        except ModelFormatError as error:
            raise ModelFormatError(f"{error} (counted from the root of tree {first})") from None


def _group_trees(start: Ints) -> list[tuple[int, int]]:
    """Return groups of consecutive trees with a limited number of nodes each, so that checking needs little memory."""
    group = start[:-1] // _NODES_AT_ONCE
    bounds = np.flatnonzero(np.diff(group)) + 1
    ends = [0, *bounds.tolist(), len(group)]
    return list(itertools.pairwise(ends))


def _check_trees(members: PackedTrees, encodings: tuple[Encoding, ...], target: Target) -> None:
    """Check trees whose arrays have the right lengths."""
    inner_nodes = _inner_node_view(members)
    check_leaves(inner_nodes, len(encodings))
    check_columns(inner_nodes, encodings)
    check_levels(inner_nodes, encodings)
    check_cuts(inner_nodes, encodings)
    branches = np.zeros(len(members.kind), np.int64)
    branches[members.kind != LEAF] = count_branches(inner_nodes)
    _check_shape(branches, members.start)
    leaves = _leaf_view(members)
    check_leaves(leaves, len(encodings))
    check_statistics(leaves, target)
    _check_predictions(members, leaves, len(target.classes))
    _check_rows(members, branches)
    _check_exact(members)


# -- shape ------------------------------------------------------------------------------------------------------------


def _check_lengths(m: PackedTrees, target: Target) -> None:
    """All arrays go together, and every tree has a node."""
    sizes, n = np.diff(m.start), len(m.kind)
    if not len(sizes):
        raise ModelFormatError("nodes.size is empty: an ensemble has at least one tree")
    refuse(sizes < 1, "size", sizes, "a tree has at least a root")
    if m.start[0] != 0 or m.start[-1] != n:
        raise ModelFormatError(f"nodes.size adds up to {m.start[-1]:,}: there are {n:,} nodes")
    inner, classes = int(np.count_nonzero(m.kind != LEAF)), target.task == "classification"
    if not classes and len(m.n_counts):
        raise ModelFormatError("nodes.n_counts has entries: a regression counts no classes")
    for name in (*INNER_ARRAYS, *LEAF_ARRAYS, *NODE_STATS):
        length, needed = len(getattr(m, name)), inner if name in INNER_ARRAYS else n - inner
        if name in NODE_STATS and m.has_node_stats:
            needed = n
        may_lack = name in ("cut_int", "other", "n_codes", "missing_rows", "impurity") and length == 0
        only = {"n_counts": classes, "weight": not classes, "value": not classes, "spread": not classes}
        needed *= only.get(name, True)
        if length != needed and not may_lack:
            raise ModelFormatError(f"nodes.{name} has {length:,} entries: {needed:,} are needed")
    for name, length_name in LIST_LENGTHS.items():
        lengths = getattr(m, length_name)
        refuse(lengths < 0, length_name, lengths, "it cannot be negative")
        if len(getattr(m, name)) != (total := int(lengths.sum(dtype=np.int64))):
            raise ModelFormatError(f"nodes.{name} has {len(getattr(m, name)):,} entries: {total:,} are needed")


def _check_shape(branches: Ints, start: Ints) -> None:
    """Each tree is whole: there is a place for every node, and all places are taken by its last one."""
    height = stack_heights(branches, start)
    after = height + branches - 1  # the place that is taken next
    last = np.zeros(len(height), bool)
    last[start[1:] - 1] = True
    bad = (after != -1) & last | (after < 0) & ~last
    if bad.any():
        at = int(np.argmax(bad))
        tree = int(np.searchsorted(start, at, side="right")) - 1
        raise ModelFormatError(f"nodes.kind[{at}]: tree {tree} has more or fewer nodes than its splits have branches")


# -- the nodes in the form that the checks of one tree take ------------------------------------------------------------


def _partial_arrays(n: int, **arrays: Array) -> Arrays:
    """Return arrays of n nodes that need not form a tree; fields not given have the values of a leaf."""
    zero, zero_int, minus_one = (np.broadcast_to(np.array(value), n) for value in (0.0, 0, -1))  # take no memory
    no_starts, no_codes = np.broadcast_to(np.array(0), n + 1), np.empty(0, np.int64)
    defaults: dict[str, Any] = {
        "parent": minus_one, "kind": np.zeros(n, np.uint8), "column": minus_one, "cut": zero, "cut_int": zero_int,
        "missing": minus_one, "other": minus_one, "code_start": no_starts, "codes": no_codes,
        "stop": np.zeros(n, np.uint8), "rows": zero_int, "missing_rows": zero_int, "weight": zero, "impurity": zero,
        "gain": zero, "label": zero_int, "count_start": no_starts, "count_class": no_codes, "count_weight": np.empty(0),
        "value": zero, "spread": zero,
    }  # fmt: skip
    return Arrays(**{**defaults, **arrays})


def _inner_node_view(m: PackedTrees) -> Arrays:
    """Return the inner nodes of all trees, with their splits."""
    kept = {name: m.filled(name) for name in ("cut_int", "other", "missing_rows")}
    kept |= {"column": m.column.astype(np.int64), "missing": m.missing.astype(np.int64), "cut": m.cut}
    code_start = np.append(0, np.cumsum(m.filled("n_codes"), dtype=np.int64))
    return _partial_arrays(len(m.column), kind=m.kind[m.kind != LEAF], code_start=code_start, codes=m.codes, **kept)


def _leaf_view(m: PackedTrees) -> Arrays:
    """Return the leaves of all trees, with their predictions."""
    leaf, shared = m.kind == LEAF, {"stop": m.stop, "rows": m.rows.astype(np.int64)}
    if len(m.n_counts):
        count_start = np.append(0, np.cumsum(m.n_counts, dtype=np.int64))
        return _partial_arrays(
            len(m.stop), count_start=count_start, count_class=m.count_class, count_weight=m.count_weight, **shared
        )
    stats = {
        name: getattr(m, name)[leaf] if m.has_node_stats else getattr(m, name)
        for name in NODE_STATS
        if len(getattr(m, name))
    }
    return _partial_arrays(len(m.stop), weight=m.weight, **stats, **shared)


# -- statistics -------------------------------------------------------------------------------------------------------


def _check_predictions(m: PackedTrees, leaves: Arrays, n_classes: int) -> None:
    """Check that a leaf has a prediction if and only if it has rows, and that its stop reason agrees."""
    empty, rows = leaves.stop == _NO_ROWS, leaves.rows
    refuse(~empty & (rows == 0), "rows", rows, "a leaf without rows has the stop reason no_rows")
    if n_classes:
        n_counts = np.diff(leaves.count_start)
        check_class_lists(leaves, np.repeat(np.arange(len(rows)), n_counts), n_classes)
        differs = (rows > 0) != (n_counts > 0)
        refuse(differs, "n_counts", n_counts, "a leaf counts the classes of its rows, if it has any")
        return
    refuse((rows > 0) != (leaves.weight > 0), "weight", leaves.weight, "rows have weight, and no rows have none")
    refuse(~np.isfinite(m.value), "value", m.value, "a predicted number is finite")
    refuse(m.spread < 0, "spread", m.spread, "it cannot be negative")  # NaN: not known, in an imported tree
    refuse(~(m.impurity >= 0), "impurity", m.impurity, "it cannot be negative")


def _check_rows(m: PackedTrees, branches: Ints) -> None:
    """Every node but an empty branch has rows, no more than there can be, and those with missing values go down."""
    leaf, (height, parent, branch) = m.kind == LEAF, tree_shape(branches, m.start)
    counts = np.zeros(len(m.kind))
    counts[leaf] = m.rows
    total = np.add.reduceat(counts, m.start[:-1])
    refuse((total < 1) | (total > MAX_ROWS), "size", np.diff(m.start), "the tree has no rows, or too many of them")
    # A node without rows has children without rows; so if there is one, there is one whose children all are leaves.
    below = parent >= 0
    deeper = np.bincount(parent[below & ~leaf], minlength=len(leaf)) > 0
    reached = np.bincount(parent[below & leaf], counts[below & leaf], len(leaf)) > 0
    refuse(~leaf & ~deeper & ~reached, "kind", m.kind, "no row reaches this test")
    if not len(m.missing_rows):
        return
    refuse(m.missing_rows < 0, "missing_rows", m.missing_rows, "no table has that many rows")
    inner_number = np.cumsum(~leaf) - 1  # of inner nodes
    split_number = inner_number[parent.clip(0)]
    takes_missing = below & (m.missing[split_number] == branch)
    before = np.append(0, np.cumsum(counts))
    rows = before[subtree_ends(height, m.start)] - before[:-1]
    has_fewer = np.zeros(len(m.missing_rows), bool)
    has_fewer[split_number[takes_missing]] = m.missing_rows[split_number[takes_missing]] > rows[takes_missing]
    refuse(has_fewer, "missing_rows", m.missing_rows, "the branch they take has fewer rows")


def _check_exact(m: PackedTrees) -> None:
    """Weights of one tree are whole numbers of some power of two, which add up to no more than doubles can hold."""
    name, start = ("count_weight", m.count_start) if len(m.n_counts) else ("weight", m.leaf_start)
    weights = getattr(m, name).astype(np.float64)
    unit = np.where(weights > 0, lowest_bit_exponents(weights), 2000)
    total, finest = np.add.reduceat(weights, start[:-1]), np.minimum.reduceat(unit, start[:-1])
    with np.errstate(over="ignore"):
        bad = np.ldexp(total, -finest) > 2.0**53
    if bad.any():
        tree = int(np.argmax(bad))
        raise ModelFormatError(f"nodes.{name}: the weights of tree {tree} do not add up without rounding")
