"""Validate packed trees: all their invariants, checked over all trees at once.

The checks of single trees (``validate.py``) are applied to the inner nodes of all trees together, and to the leaves.
Every file that is loaded, and every ensemble before it is saved, is checked here. What is derived when a member is
unpacked needs no check of its own if the following hold:

    shape        each tree's nodes form a tree in pre-order, with as many nodes as its splits have branches
    statistics   every inner node has rows, and the weights of a tree add up without rounding

Everything is linear in the number of nodes or n·log n, without a loop over nodes or trees.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise.data.encoding import Encoding
from treewise.ensemble.packed_trees import INNER_ARRAYS, LEAF_ARRAYS, LIST_LENGTHS, NODE_STATS, PackedTrees
from treewise.errors import ModelFormatError
from treewise.formats.model_file.packing import narrowest
from treewise.formats.model_file.validate import (
    AT_ONCE,
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
from treewise.tree.arrays import LEAF, MULTIWAY, NO_ROWS, Arrays, Target

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

_FAULTS = ("", "shape", "no_rows", "missing", "total")  # PreOrderFault in src/core/tree/pre_order.hpp


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
    starts = _piece_starts(members)
    pieces = replace(members, start=starts)
    branches = []
    for i, first in enumerate(starts[:-1].tolist()):
        piece = members if len(starts) == 2 else pieces.between(i, i + 1)
        try:
            branches.append(narrowest(_check_nodes(piece, encodings, target)))
        except ModelFormatError as error:
            raise ModelFormatError(f"{error} (counted from node {first})" if first else str(error)) from None
    _check_rows(members, np.concatenate(branches))
    _check_exact(members)


def _piece_starts(m: PackedTrees) -> Ints:
    """Return the starts of pieces of few nodes and few listed items, so that checking needs little memory."""
    starts, total, inner, leaf = [0], 0, 0, 0
    for first in range(0, len(m.kind), AT_ONCE):
        is_leaf = m.kind[first : first + AT_ONCE] == LEAF
        n_leaves = int(np.count_nonzero(is_leaf))
        n_inner = len(is_leaf) - n_leaves
        size = np.ones(len(is_leaf), np.int64)
        if len(m.n_codes):
            size[~is_leaf] += m.n_codes[inner : inner + n_inner]
        if len(m.n_counts):
            size[is_leaf] += m.n_counts[leaf : leaf + n_leaves]
        ends = total + np.cumsum(size)
        starts.extend((first + 1 + np.flatnonzero(np.diff(ends // AT_ONCE, prepend=total // AT_ONCE))).tolist())
        total, inner, leaf = int(ends[-1]), inner + n_inner, leaf + n_leaves
    return np.array([*starts, len(m.kind)] if starts[-1] < len(m.kind) else starts, np.int64)


def _check_nodes(members: PackedTrees, encodings: tuple[Encoding, ...], target: Target) -> Ints:
    """Check each node by itself, and return its number of branches."""
    inner_nodes = _inner_node_view(members)
    check_leaves(inner_nodes, len(encodings))
    check_columns(inner_nodes, encodings)
    check_levels(inner_nodes, encodings)
    check_cuts(inner_nodes, encodings)
    refuse(inner_nodes.missing_rows < 0, "missing_rows", inner_nodes.missing_rows, "no table has that many rows")
    branches = np.zeros(len(members.kind), np.int64)
    branches[members.kind != LEAF] = count_branches(inner_nodes)
    leaves = _leaf_view(members, target)
    check_leaves(leaves, len(encodings))
    check_statistics(leaves, target)
    _check_predictions(members, leaves, len(target.classes))
    return branches


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


def _leaf_view(m: PackedTrees, target: Target) -> Arrays:
    """Return the leaves of all trees, with their predictions."""
    leaf, shared = m.kind == LEAF, {"stop": m.stop, "rows": m.rows.astype(np.int64)}
    if target.task == "classification":
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
    empty, rows = leaves.stop == NO_ROWS, leaves.rows
    refuse(~empty & (rows == 0), "rows", rows, "a leaf without rows has the stop reason no_rows")
    if n_classes:
        n_counts = np.diff(leaves.count_start)
        check_class_lists(leaves, n_classes)
        differs = (rows > 0) != (n_counts > 0)
        refuse(differs, "n_counts", n_counts, "a leaf counts the classes of its rows, if it has any")
        return
    refuse((rows > 0) != (leaves.weight > 0), "weight", leaves.weight, "rows have weight, and no rows have none")
    refuse(~np.isfinite(m.value), "value", m.value, "a predicted number is finite")
    refuse(m.spread < 0, "spread", m.spread, "it cannot be negative")  # NaN: not known, in an imported tree
    refuse(~(m.impurity >= 0), "impurity", m.impurity, "it cannot be negative")


def _check_rows(m: PackedTrees, branches: Array) -> None:
    """Nodes form trees, and every one but an empty branch has rows; those with missing values go down.

    Pieces are visited in reverse, so that children come before their parents and little memory is needed.
    """
    checker, n_inner, n_leaves = _core.PreOrderChecker(MAX_ROWS), len(m.column), len(m.rows)
    for first in reversed(range(0, len(m.kind), AT_ONCE)):
        piece = branches[first : first + AT_ONCE].astype(np.int64)
        inner = piece > 0
        inner_part = slice(n_inner - int(np.count_nonzero(inner)), n_inner)
        leaf_part = slice(n_leaves - int(np.count_nonzero(~inner)), n_leaves)
        n_inner, n_leaves = inner_part.start, leaf_part.start
        is_root = np.zeros(len(piece), np.uint8)
        roots = slice(*np.searchsorted(m.start[:-1], (first, first + len(piece))))
        is_root[m.start[:-1][roots] - first] = 1
        rows, missing, missing_rows = np.zeros(len(piece)), np.zeros(len(piece), np.int64), np.zeros_like(piece)
        rows[~inner] = m.rows[leaf_part]
        missing[inner] = m.missing[inner_part]
        if len(m.missing_rows):
            missing_rows[inner] = m.missing_rows[inner_part]
        at, fault = checker.visit(is_root, piece, rows, missing, missing_rows)
        if fault:
            _refuse_fault(m, first + at, _FAULTS[fault])


def _refuse_fault(m: PackedTrees, node: int, fault: str) -> None:
    tree = int(np.searchsorted(m.start, node, side="right")) - 1
    if fault == "missing":
        split = int(np.count_nonzero(m.kind[:node] != LEAF))
        refuse(np.arange(len(m.column)) == split, "missing_rows", m.missing_rows, "the branch they take has fewer rows")
    raise ModelFormatError(
        {
            "shape": f"nodes.kind[{node}]: tree {tree} has more or fewer nodes than its splits have branches",
            "no_rows": f"nodes.kind[{node}] is {m.kind[node]}: no row reaches this test",
            "total": f"nodes.size[{tree}] is {np.diff(m.start)[tree]}: the tree has no rows, or too many of them",
        }[fault]
    )


def _check_exact(m: PackedTrees) -> None:
    """Weights of one tree are whole numbers of some power of two, which add up to no more than doubles can hold."""
    name, start = ("count_weight", m.count_start) if len(m.n_counts) else ("weight", m.leaf_start)
    total, finest = np.zeros(len(m)), np.full(len(m), 2000, np.int64)
    for first in range(0, len(getattr(m, name)), AT_ONCE):
        weights = getattr(m, name)[first : first + AT_ONCE].astype(np.float64)
        tree = np.searchsorted(start, np.arange(first, first + len(weights)), side="right") - 1
        trees, begins = np.unique(tree, return_index=True)
        unit = np.where(weights > 0, lowest_bit_exponents(weights), 2000)
        total[trees] += np.add.reduceat(weights, begins)
        finest[trees] = np.minimum(finest[trees], np.minimum.reduceat(unit, begins))
    with np.errstate(over="ignore"):
        bad = np.ldexp(total, -finest) > 2.0**53
    if bad.any():
        tree_number = int(np.argmax(bad))
        raise ModelFormatError(f"nodes.{name}: the weights of tree {tree_number} do not add up without rounding")
