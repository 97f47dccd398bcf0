"""Validate the nodes of a tree: all their invariants, checked over whole arrays at once.

Every file that is loaded, and every tree before it is saved, passes these checks. Later code (the core's prediction,
printing, refitting) does no bounds checks, so what passes must be a tree:

    shape        one root; a parent comes before its children; nodes are numbered in pre-order
    splits       a split fits its column; its levels exist, each named once; it has as many children as branches
    leaves       no children, no split, and a known reason to stop
    statistics   numbers that can be counts; children add up to their parent

A node whose impurity is not known (NaN) was written by hand or read from a printed tree: its row counts are
rounded or absent, so its sums are not checked.

Everything is linear in the number of nodes or n·log n, without recursion and without a loop over nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data.encoding import Encoding
from treewise.errors import ModelFormatError
from treewise.tree.arrays import LEAF, MULTIWAY, NO_ROWS, ONE_VALUE, ORDINAL, STOPS, SUBSET, THRESHOLD, Arrays, Target

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MAX_ROWS = 2**53 - 1  # sums of doubles are exact up to here
_TOLERANCE = 1e-9  # by how much sums of weights that are not whole numbers may be off, relative to the sum
AT_ONCE = 1 << 16  # entries compared at a time


def check_nodes(arrays: Arrays, encodings: tuple[Encoding, ...], target: Target) -> None:
    """Raise ModelFormatError, saying what and where, unless the arrays are a sound tree.

    >>> import treewise as tw
    >>> from dataclasses import replace
    >>> tree = tw.grow("xor")
    >>> check_nodes(tree.arrays, tree.encodings, tree.target)
    >>> turned = replace(tree.arrays, parent=np.array([-1, 0, 1, 1, 0, 6, 4]))
    >>> check_nodes(turned, tree.encodings, tree.target)
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: nodes.parent[5] is 6: a parent comes before its children
    """
    _check_lengths(arrays, target)
    _check_starts("code_start", arrays.code_start, len(arrays.codes))
    _check_starts("count_start", arrays.count_start, len(arrays.count_class))
    _check_parents(arrays.parent)
    check_leaves(arrays, len(encodings))
    check_columns(arrays, encodings)
    check_levels(arrays, encodings)
    _check_branches(arrays)
    _check_order(arrays.parent)
    check_cuts(arrays, encodings)
    check_statistics(arrays, target)
    if target.task == "classification":
        _check_counts(arrays, len(target.classes))
    _check_sums(arrays)


def refuse(bad: npt.NDArray[Any], name: str, values: npt.NDArray[Any], rule: str, first: int = 0) -> None:
    """Raise for the first entry that is bad; ``first`` is the number of the first entry."""
    if bad.any():
        at = int(np.argmax(bad))
        raise ModelFormatError(f"nodes.{name}[{first + at}] is {values[at]}: {rule}")


def list_pieces(start: Ints) -> Iterator[tuple[Ints, slice]]:
    """Return the lists of all nodes in pieces that need little memory: the owner of each item, and where the items are.

    >>> [(owner.tolist(), items) for owner, items in list_pieces(np.array([0, 2, 2, 3]))]
    [([0, 0, 2], slice(0, 3, None))]
    """
    for first, last in _node_pieces(start):
        owner = np.repeat(np.arange(first, last), np.diff(start[first : last + 1]))
        yield owner, slice(int(start[first]), int(start[last]))


def _node_pieces(start: Ints) -> Iterator[tuple[int, int]]:
    """Return pieces of nodes, from the first to before the last, that have few items together."""
    first, n = 0, len(start) - 1
    while first < n:
        full = int(np.searchsorted(start, start[first] + AT_ONCE, side="right")) - 1
        last = min(max(full, first + 1), first + AT_ONCE, n)
        yield first, last
        first = last


# -- shape ------------------------------------------------------------------------------------------------------------


def _check_lengths(a: Arrays, target: Target) -> None:
    """All arrays go together."""
    n, classes = len(a.parent), target.task == "classification"
    if n == 0:
        raise ModelFormatError("there are no nodes: a tree has at least a root")
    needed = {"code_start": n + 1, "count_start": n + 1, "codes": None, "count_class": None, "count_weight": None}
    needed |= {"label": n if classes else 0, "value": 0 if classes else n, "spread": 0 if classes else n}
    needed["p_value"] = len(a.p_value) and n  # only with selection="test"
    for name in Arrays.__dataclass_fields__:
        length = needed.get(name, n)
        if length is not None and len(getattr(a, name)) != length:
            raise ModelFormatError(f"nodes.{name} has {len(getattr(a, name)):,} entries: {length:,} are needed")
    if len(a.count_class) != len(a.count_weight):
        raise ModelFormatError("nodes.count_weight and nodes.count_class differ in length")
    if not classes and len(a.count_class):
        raise ModelFormatError("nodes.count_class has entries: a regression tree counts no classes")


def _check_starts(name: str, start: Ints, items: int) -> None:
    """Where each node's list begins: from 0, never back, to the end."""
    refuse(start[:1] != 0, name, start, "the first list begins at 0")
    refuse(np.append(False, start[1:] < start[:-1]), name, start, "a list cannot begin before the previous one")
    if start[-1] != items:
        raise ModelFormatError(f"nodes.{name}[{len(start) - 1}] is {start[-1]}: the last list ends at {items}")


def _check_parents(parent: Ints) -> None:
    """One root, the first node; every parent before its children, so that there is no cycle."""
    if parent[0] != -1:
        raise ModelFormatError(f"nodes.parent[0] is {parent[0]}: the first node is the root, whose parent is -1")
    numbers = np.arange(len(parent))
    refuse((parent < 0) & (numbers > 0), "parent", parent, "there is one root, the first node")
    refuse(parent >= numbers, "parent", parent, "a parent comes before its children")


def _check_order(parent: Ints) -> None:
    """Nodes are numbered in pre-order: a first child follows its parent, other children their sibling's subtree.

    Where a subtree ends is where the next sibling begins, or, after the last sibling, where the parent's subtree ends.
    Following last children upwards by doubling finds all ends in log(depth) steps. The numbering is pre-order exactly
    when each leaf's subtree ends right after it.
    """
    n = len(parent)
    if n == 1:
        return
    numbers = np.arange(n)
    by_parent = np.argsort(parent[1:], kind="stable") + 1  # siblings side by side, in order
    parents = parent[by_parent]
    next_is_sibling = np.append(parents[1:] == parents[:-1], False)
    ancestor = numbers.copy()  # a last child points to its parent, every other node to itself
    ancestor[by_parent[~next_is_sibling]] = parents[~next_is_sibling]
    while not np.array_equal(further := ancestor[ancestor], ancestor):
        ancestor = further
    ends = np.full(n, n)
    has_sibling = np.flatnonzero(next_is_sibling)
    ends[by_parent[has_sibling]] = by_parent[has_sibling + 1]
    ends = ends[ancestor]
    inner = np.zeros(n, bool)
    inner[parent[1:]] = True
    wrong = ~inner & (ends != numbers + 1)
    if wrong.any():
        after = int(np.argmax(wrong))
        raise ModelFormatError(f"nodes.parent[{min(after + 1, n - 1)}]: nodes are not numbered in pre-order")


# -- splits -----------------------------------------------------------------------------------------------------------


def check_leaves(a: Arrays, n_columns: int) -> None:
    """A leaf has a reason to stop and no split; an inner node a split and no reason."""
    refuse(a.kind > MULTIWAY, "kind", a.kind, "unknown split kind")
    leaf = a.kind == LEAF
    refuse(a.stop >= len(STOPS), "stop", a.stop, "unknown stop reason")
    refuse(leaf & (a.stop == 0), "stop", a.stop, "a leaf has a reason to stop")
    refuse(~leaf & (a.stop != 0), "stop", a.stop, "an inner node has no reason to stop")
    for name in ("column", "missing", "other"):
        values = getattr(a, name)
        refuse(leaf & (values != -1), name, values, "a leaf has no test: -1")
    refuse(~leaf & ((a.column < 0) | (a.column >= n_columns)), "column", a.column, f"there are {n_columns:,} columns")


def check_columns(a: Arrays, encodings: tuple[Encoding, ...]) -> None:
    """Numbers and datetimes are split by thresholds, categories by levels."""
    categorical = np.array([e.is_categorical for e in encodings] + [False])  # a leaf's -1 is the last
    inner = a.kind != LEAF
    levelled = categorical[a.column]
    refuse(inner & levelled & (a.kind == THRESHOLD), "kind", a.kind, "a column of levels is not cut at a number")
    refuse(inner & ~levelled & (a.kind != THRESHOLD), "kind", a.kind, "a numeric column takes only threshold splits")


def check_levels(a: Arrays, encodings: tuple[Encoding, ...]) -> None:
    """The levels a split names: as many as its kind needs, all of its column, none twice."""
    n_named = np.diff(a.code_start)
    names_none, names_one = (a.kind == LEAF) | (a.kind == THRESHOLD), (a.kind == ORDINAL) | (a.kind == ONE_VALUE)
    wrong = (names_none & (n_named != 0)) | (names_one & (n_named != 1)) | ((a.kind == MULTIWAY) & (n_named == 0))
    refuse(wrong, "code_start", a.code_start, "the split at this node names fewer levels")
    presence = (a.kind == SUBSET) & (n_named == 0)
    refuse(presence & (a.missing != 0), "missing", a.missing, "a set without levels only tests for missing values: 0")
    n_levels = np.array([len(e.levels) for e in encodings] + [0])[a.column]
    refuse(n_named > n_levels, "code_start", a.code_start, "the column has fewer levels than the split at this node")
    for owner, items in list_pieces(a.code_start):
        codes, first = a.codes[items], items.start
        refuse((codes < 0) | (codes >= n_levels[owner]), "codes", codes, "the column has no such level", first)
        order = np.lexsort((codes, owner))
        is_repeated = np.zeros(len(codes), bool)
        is_repeated[order[1:]] = (np.diff(owner[order]) == 0) & (np.diff(codes[order]) == 0)
        node = owner[np.argmax(is_repeated)] if len(owner) else 0
        refuse(is_repeated, "codes", codes, f"node {node} names it twice", first)


def _check_branches(a: Arrays) -> None:
    """Missing and other values have a branch that exists, and every branch has its child."""
    branches = count_branches(a)
    children = np.bincount(a.parent[1:], minlength=len(a))
    bad = children != branches
    if bad.any():
        at = int(np.argmax(bad))
        raise ModelFormatError(f"node {at} has {children[at]:,} children: its split has {branches[at]:,} branches")


def count_branches(a: Arrays) -> Ints:
    """Return how many branches each node has; raise if missing or other values have none of them."""
    multiway, n_codes = a.kind == MULTIWAY, np.diff(a.code_start)
    refuse(~multiway & (a.other != -1), "other", a.other, "only a multiway split has a branch for other levels")
    refuse(multiway & (a.other != -1) & (a.other != n_codes), "other", a.other, "it comes after the named levels")
    n_own = np.where(multiway, n_codes + (a.other >= 0), 2)
    inner = a.kind != LEAF
    refuse(inner & ((a.missing < 0) | (a.missing > n_own)), "missing", a.missing, "there is no such branch")
    return np.where(inner, np.maximum(n_own, a.missing.astype(np.int64) + 1), 0)


def check_cuts(a: Arrays, encodings: tuple[Encoding, ...]) -> None:
    """A cut is a number, present exactly where a split has one."""
    is_double = np.array([e.kind == "number" for e in encodings] + [False])[a.column]
    threshold = a.kind == THRESHOLD
    refuse(np.isnan(a.cut), "cut", a.cut, "values cannot be compared with it")
    refuse(~(threshold & is_double) & (a.cut != 0), "cut", a.cut, "no column of doubles is cut here: 0.0")
    refuse(~(threshold & ~is_double) & (a.cut_int != 0), "cut_int", a.cut_int, "no column of integers is cut here: 0")


# -- statistics -------------------------------------------------------------------------------------------------------


def check_statistics(a: Arrays, target: Target) -> None:
    """Each number by itself: counts are 0 or more, weights finite, predictions known or NaN."""
    regression = target.task == "regression"
    leaf = a.kind == LEAF
    for name in ("rows", "missing_rows"):
        values = getattr(a, name)
        refuse((values < 0) | (values > MAX_ROWS), name, values, "no table has that many rows")
    refuse(~((a.weight >= 0) & np.isfinite(a.weight)), "weight", a.weight, "a weight is 0 or more and finite")
    for name in ("impurity", "spread") if regression else ("impurity",):
        values = getattr(a, name)
        refuse(values < 0, name, values, "it cannot be negative")
    if not regression:
        refuse(np.isinf(a.impurity), "impurity", a.impurity, "for classification it is finite")
        bad = (a.label < -1) | (a.label >= len(target.classes))
        refuse(bad, "label", a.label, f"there are {len(target.classes):,} classes")
    else:
        refuse(np.isinf(a.value), "value", a.value, "a predicted number is finite")
    refuse(np.isinf(a.gain) & ((a.gain < 0) | (not regression)), "gain", a.gain, "no split can gain that much")
    refuse(leaf & (a.gain != 0) & ~np.isnan(a.gain), "gain", a.gain, "a leaf gains nothing")
    refuse(leaf & (a.missing_rows != 0), "missing_rows", a.missing_rows, "a leaf has no test: 0")
    refuse((a.p_value < 0) | (a.p_value > 1), "p_value", a.p_value, "a p-value is between 0 and 1, or NaN")
    empty = a.stop == NO_ROWS
    refuse(empty & (a.rows != 0), "rows", a.rows, "its stop reason is no_rows")


def _check_counts(a: Arrays, n_classes: int) -> None:
    """The classes at a node: in order, each once, with a positive weight; and they add up to the node's weight."""
    n_counts = np.diff(a.count_start)
    check_class_lists(a, n_classes)
    refuse((n_counts > 0) & (a.label < 0), "label", a.label, "a node with counts predicts a class")
    refuse((a.stop == NO_ROWS) & (n_counts > 0), "stop", a.stop, "a node without rows has no counts")
    has_impurity = ~np.isnan(a.impurity)
    refuse(has_impurity & (a.rows > 0) & (n_counts == 0), "rows", a.rows, "a node with rows counts their classes")
    total = np.zeros(len(a))
    for first, last in _node_pieces(a.count_start):
        owner = np.repeat(np.arange(last - first), n_counts[first:last])
        weights = a.count_weight[a.count_start[first] : a.count_start[last]]
        total[first:last] = np.bincount(owner, weights, last - first)
    differs = has_impurity & (n_counts > 0) & ~are_near(total, a.weight)
    refuse(differs, "weight", a.weight, "the sum of the counts of the node differs")
    _check_class_sums(a, has_impurity, n_classes)


def check_class_lists(a: Arrays, n_classes: int) -> None:
    """The classes of each node by themselves: there are such, in order, each once, with a positive weight."""
    refuse(np.diff(a.count_start) > n_classes, "count_start", a.count_start, "there are fewer classes than counts here")
    for owner, items in list_pieces(a.count_start):
        classes, weights, first = a.count_class[items], a.count_weight[items], items.start
        rule = f"there are {n_classes:,} classes"
        refuse((classes < 0) | (classes >= n_classes), "count_class", classes, rule, first)
        unordered = np.zeros(len(owner), bool)
        unordered[1:] = (owner[1:] == owner[:-1]) & (classes[1:] <= classes[:-1])
        refuse(unordered, "count_class", classes, "a node's classes are in order, each once", first)
        positive = (weights > 0) & np.isfinite(weights)
        refuse(~positive, "count_weight", weights, "a class that is there has a positive, finite weight", first)


def _check_class_sums(a: Arrays, has_impurity: Mask, n_classes: int) -> None:
    """Class by class, what the children count adds up to what their parent counts."""
    if len(a) * n_classes >= 2**63:
        raise ModelFormatError(f"{len(a):,} nodes of {n_classes:,} classes are too many")
    start, children = a.count_start, np.argsort(a.parent[1:], kind="stable") + 1  # siblings side by side
    parents = a.parent[children]
    may_stay = _may_stay(a)
    for first, last in _node_pieces(start):
        items = slice(int(start[first]), int(start[last]))
        owner = np.repeat(np.arange(first, last), np.diff(start[first : last + 1]))
        key = owner * n_classes + a.count_class[items]  # increasing: nodes and each node's classes are in order
        total = np.zeros(len(key))
        for child, at in _counts_of(children[slice(*np.searchsorted(parents, (first, last)))], start):
            below = has_impurity[a.parent[child]]
            child, at = child[below], at[below]
            child_key = a.parent[child] * n_classes + a.count_class[at]
            position = np.searchsorted(key, child_key)
            absent = position == len(key)
            position[absent] = 0
            absent |= key[position] != child_key if len(key) else True
            if absent.any():
                number = at[absent].min()
                raise ModelFormatError(
                    f"nodes.count_class[{number}] is {a.count_class[number]}: its parent does not count this class"
                )
            total += np.bincount(position, a.count_weight[at], len(key))
        inner = (a.kind[owner] != LEAF) & has_impurity[owner]
        _refuse_sums(inner, total, a.count_weight[items], may_stay[owner], "count_weight", items.start)


def _counts_of(nodes: Ints, start: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Return the counts of some nodes, in pieces: the node that each belongs to, and where it is.

    >>> [(owner.tolist(), at.tolist()) for owner, at in _counts_of(np.array([2, 0]), np.array([0, 2, 2, 3]))]
    [([2, 0, 0], [2, 0, 1])]
    """
    ends = np.cumsum(start[nodes + 1] - start[nodes])
    for first, last in _node_pieces(np.append(0, ends)):
        some, n_counts = nodes[first:last], np.diff(ends[first:last], prepend=ends[first - 1] if first else 0)
        before = np.cumsum(n_counts) - n_counts
        at = np.arange(n_counts.sum()) + np.repeat(start[some] - before, n_counts)
        yield np.repeat(some, n_counts), at


def _check_sums(a: Arrays) -> None:
    """Rows and weights of the children add up to their parent's, and missing rows are among their branch's."""
    has_impurity = ~np.isnan(a.impurity)
    refuse(has_impurity & (a.missing_rows > a.rows), "missing_rows", a.missing_rows, "the node has fewer rows")
    refuse(
        has_impurity & ((a.rows > 0) != (a.weight > 0)), "weight", a.weight, "rows have weight, and no rows have none"
    )
    if len(a.value):
        refuse(has_impurity & (a.rows > 0) & np.isnan(a.value), "value", a.value, "a node with rows predicts a number")
    inner, stay = has_impurity & (a.kind != LEAF), _may_stay(a)
    for name in ("rows", "weight"):
        values = getattr(a, name)
        total = np.bincount(a.parent[1:], weights=values[1:].astype(np.float64), minlength=len(a))
        _refuse_sums(inner, total, values, stay, name)
    splits_missing = np.flatnonzero(inner & (a.missing_rows > 0))
    children = np.argsort(a.parent[1:], kind="stable") + 1
    first = np.searchsorted(a.parent[children], splits_missing)
    has_fewer = np.zeros(len(a), bool)
    has_fewer[splits_missing] = a.rows[children[first + a.missing[splits_missing]]] < a.missing_rows[splits_missing]
    refuse(has_fewer, "missing_rows", a.missing_rows, "the branch they take has fewer rows")


def _refuse_sums(
    mask: Mask, total: npt.NDArray[Any], values: npt.NDArray[Any], stay: Mask, name: str, first: int = 0
) -> None:
    """Raise for the first sum that is wrong; where rows may stay at the node, children have as much or less."""
    equal = are_near(total, values)
    refuse(mask & ~(equal | (stay & (total < values))), name, values, "the sum over its children differs", first)


def _may_stay(a: Arrays) -> Mask:
    """Return the nodes at which rows may stay: a multiway split without a branch for a level it does not name."""
    return np.asarray((a.kind == MULTIWAY) & (a.other < 0))


def are_near(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Mask:
    """Return where sums agree: exactly for whole numbers, else up to rounding."""
    near = np.empty(len(a), bool)
    for begin in range(0, len(a), AT_ONCE):  # in pieces, to need little memory
        part = slice(begin, begin + AT_ONCE)
        x, y = a[part], b[part]
        are_integers = (np.rint(x) == x) & (np.rint(y) == y) & (np.abs(y) <= MAX_ROWS)
        near[part] = (x == y) | (~are_integers & (np.abs(x - y) <= _TOLERANCE * np.abs(y)))
    return near
