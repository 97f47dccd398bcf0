"""Unpack a member of packed trees into the arrays of an ordinary tree, deriving everything that was left out.

Used by ``packed_trees.py``. Vectorised, without a loop over nodes:

    parents      Pre-order is the trace of a stack: each node pops the topmost slot, and an inner node pushes one slot
                 per branch. Pushes and pops at the same height alternate in time; so sorted by height and then by time,
                 the pushes and the pops of all slots line up.
    classes      The core re-estimates a tree from rows; the class counts of the leaves are passed to it as rows.
    sums         A subtree is a range of nodes and its leaves a range of leaves: the total of a node is a difference of
                 two cumulative sums, of integers or of doubles that are integers in units of a power of two: exact.
    means        Combined level by level from the leaves up, since differences of cumulative sums would cancel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise.train.criteria import CRITERIA
from treewise.train.fixed_point import lowest_bit_exponents
from treewise.tree.arrays import LEAF, Arrays, depths_of

if TYPE_CHECKING:
    from treewise.ensemble.packed_trees import PackedTrees

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MIN_RELATIVE_GAIN = 1e-14  # of the impurity; smaller gains are rounding errors


class _TreeShape(NamedTuple):
    """Parents of the nodes of many trees; nodes are numbered through all trees."""

    height: Ints  # slots on the stack below the one that each node pops
    parent: Ints  # -1 at a root
    branch: Ints  # which branch of the parent; -1 at a root


def stack_heights(branches: Ints, start: Ints) -> Ints:
    """Return the number of stack slots below the one that each node pops; every tree begins with one slot.

    In valid trees none is negative, and each tree ends with an empty stack.
    """
    steps = np.cumsum(branches - 1)
    before = np.append(0, steps[:-1])
    height: Ints = before - np.repeat(before[start[:-1]], np.diff(start))
    return height


def tree_shape(branches: Ints, start: Ints) -> _TreeShape:
    """Return the parents of all nodes, given the number of children of each, in pre-order.

    >>> tree_shape(np.array([2, 2, 0, 0, 0]), np.array([0, 5])).parent.tolist()
    [-1, 0, 1, 1, 0]
    """
    height, n = stack_heights(branches, start), len(branches)
    root = np.zeros(n, bool)
    root[start[:-1]] = True
    pusher = np.repeat(np.arange(n), branches)
    branch_of = np.arange(len(pusher)) - np.repeat(np.cumsum(branches) - branches, branches)
    pushes = _stable_order(height[pusher] + branches[pusher] - 1 - branch_of)
    popper = np.flatnonzero(~root)
    pops = popper[_stable_order(height[popper])]
    parent, branch = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    parent[pops], branch[pops] = pusher[pushes], branch_of[pushes]
    return _TreeShape(height, parent, branch)


def _stable_order(height: Ints) -> Ints:
    # heights are small: 16-bit integers are sorted by radix
    narrow = height.astype(np.uint16) if len(height) and height.max() < 2**16 else height
    return np.argsort(narrow, kind="stable")


def subtree_ends(height: Ints, start: Ints) -> Ints:
    """Return the end (exclusive) of each subtree: the next node that pops one slot lower, or the end of the tree."""
    n = len(height)
    order = _stable_order(height)
    next_node = np.searchsorted(height[order] * n + order, (height - 1) * n + np.arange(n))
    return np.where(height == 0, np.repeat(start[1:], np.diff(start)), order[np.minimum(next_node, n - 1)])


# -- one tree ---------------------------------------------------------------------------------------------------------


def unpack_tree(packed: PackedTrees, criterion: str, empty_branch: str) -> Arrays:
    """Return the arrays of the only tree of ``one``."""
    inner, n = packed.kind != LEAF, len(packed.kind)
    branches = _scatter(inner, packed.branches, 0, np.int64)
    shape = tree_shape(branches, packed.start)
    ends = subtree_ends(shape.height, packed.start)
    leaves_before = np.append(0, np.cumsum(~inner))
    ranges = leaves_before[:-1], leaves_before[ends]  # the leaves of each subtree
    arrays: dict[str, Any] = {
        "parent": shape.parent,
        "kind": packed.kind.astype(np.uint8),
        "column": _scatter(inner, packed.column, -1, np.int32),
        "cut": _scatter(inner, packed.cut, 0.0, np.float64),
        "cut_int": _scatter(inner, packed.filled("cut_int"), 0, np.int64),
        "missing": _scatter(inner, packed.missing, -1, np.int32),
        "other": _scatter(inner, packed.filled("other"), -1, np.int32),
        "code_start": np.append(0, np.cumsum(_scatter(inner, packed.filled("n_codes"), 0, np.int64))),
        "codes": packed.codes.astype(np.int32),
        "stop": _scatter(~inner, packed.stop, 0, np.uint8),
        "rows": _sum_over_leaves(ranges, packed.rows.astype(np.int64)),
        "missing_rows": _scatter(inner, packed.filled("missing_rows"), 0, np.int64),
    }
    stats: dict[str, Any] = dict.fromkeys(("weight", "impurity", "gain", "value", "spread"), np.empty(0))
    stats |= {"label": np.empty(0, np.int32), "count_start": np.zeros(n + 1, np.int64)}
    stats |= {"count_class": np.empty(0, np.int32), "count_weight": np.empty(0)}
    if len(packed.n_counts):
        stats |= _class_stats(packed, Arrays(**{**stats, **arrays}), criterion, empty_branch)
    else:
        stats |= _regression_stats(packed, ranges, shape.parent)
    arrays = {**stats, **arrays}
    for array in arrays.values():
        array.flags.writeable = False
    return Arrays(**arrays)


def _scatter(mask: npt.NDArray[np.bool_], entries: npt.NDArray[Any], default: float, dtype: Any) -> npt.NDArray[Any]:
    """Return an array for all nodes, with the entries at some of them and a default elsewhere."""
    array = np.full(len(mask), default, dtype)
    array[mask] = entries
    return array


def _sum_over_leaves(ranges: tuple[Ints, Ints], entries: npt.NDArray[Any]) -> npt.NDArray[Any]:
    sums = np.append(entries[:0].sum(), np.cumsum(entries))
    totals: npt.NDArray[Any] = sums[ranges[1]] - sums[ranges[0]]
    return totals


def _class_stats(packed: PackedTrees, tree: Arrays, criterion: str, empty_branch: str) -> dict[str, Any]:
    """Return the class statistics of all nodes; each class count of a leaf is passed to the core as a weighted row."""
    leaves = np.flatnonzero(packed.kind == LEAF)
    weight, scale = _to_fixed_point(packed.count_weight.astype(np.float64))
    n_classes = int(packed.count_class.max()) + 1
    labels = packed.count_class.astype(np.uint8 if n_classes <= 256 else np.int32)
    target = _core.Target(labels, np.empty(0), weight, n_classes, 0, scale)
    settings = _core.Settings()
    settings.criterion = CRITERIA[criterion].impurity or criterion
    settings.empty_from_root = empty_branch == "root"
    leaf_of_count = np.repeat(leaves, packed.n_counts)
    refitted = _core.refit_at_nodes(tree.for_core, tree.parent, leaf_of_count, target, settings)
    names = ("weight", "impurity", "gain", "label", "count_start", "count_class", "count_weight")
    return {name: refitted[name] for name in names}


def _to_fixed_point(weights: Floats) -> tuple[Ints, int]:
    """Return weights as integers w·2^scale, as in ``train/fixed_point.py``; integers keep the scale 0.

    >>> _to_fixed_point(np.array([2.0, 6.0])), _to_fixed_point(np.array([0.25, 1.5]))
    ((array([2, 6]), 0), (array([1, 6]), 2))
    """
    scale = -int(np.min(lowest_bit_exponents(weights)))
    scale = scale if weights.sum() > 2.0**53 else max(0, scale)
    return np.ldexp(weights, scale).astype(np.int64), scale


def _regression_stats(packed: PackedTrees, ranges: tuple[Ints, Ints], parent: Ints) -> dict[str, Any]:
    weight = _sum_over_leaves(ranges, packed.weight.astype(np.float64))
    if packed.has_node_stats:
        stored = {name: getattr(packed, name).astype(np.float64) for name in ("value", "spread", "impurity")}
        return {"weight": weight, "gain": _gains(parent, weight, stored["impurity"]), **stored}
    leaf = packed.kind == LEAF
    value, spread = _scatter(leaf, packed.value, 0.0, np.float64), _scatter(leaf, packed.spread, 0.0, np.float64)
    largest = max(np.abs(packed.value).max(initial=0.0), np.abs(packed.spread).max(initial=0.0))
    scale = int(np.frexp(largest)[1])  # avoids overflow and underflow of the squares
    value, spread = np.ldexp(value, -scale), np.ldexp(spread, -scale)
    between = np.zeros(len(leaf))  # variance between the means of the children: the gain
    for children in _levels_bottom_up(parent):
        above = parent[children]
        share = weight[children] / weight[above]
        np.add.at(value, above, share * value[children])
        squared_offset = (value[children] - value[above]) ** 2
        np.add.at(between, above, share * squared_offset)
        np.add.at(spread, above, share * (squared_offset + spread[children] ** 2))
        spread[np.unique(above)] **= 0.5
    value, spread = np.ldexp(value, scale), np.ldexp(spread, scale)
    value[leaf], spread[leaf] = packed.value, packed.spread
    with np.errstate(over="ignore"):
        gain, impurity = np.ldexp(between, 2 * scale), spread**2
    return {"weight": weight, "value": value, "spread": spread, "gain": gain, "impurity": impurity}


def _levels_bottom_up(parent: Ints) -> list[Ints]:
    """Return the nodes of each level below the root, the deepest first."""
    depth = depths_of(parent)
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)[:0:-1]


def _gains(parent: Ints, weight: Floats, impurity: Floats) -> Floats:
    inner = np.zeros(len(parent), bool)
    inner[parent[1:]] = True
    remaining = np.bincount(parent[1:], weight[1:] * impurity[1:], len(parent))[: len(parent)]
    gain = np.where(inner, impurity - remaining / np.where(inner, weight, 1.0), 0.0)
    return np.where(gain > _MIN_RELATIVE_GAIN * impurity, gain, 0.0)
