"""One packed member → the arrays of an ordinary tree: everything that was left out is derived again.

Stands below ``members.py``. Without a loop over nodes:

    parents      Nodes in pre-order are the steps of a stack: each takes the uppermost open place, and an inner node
                 opens one a branch. Who opened a place, and who took it, alternate in time; so sorted by height, and
                 then by time, the openings and the takings of all places stand side by side.
    classes      The core re-estimates a tree from rows; the counts of the leaves are handed to it as such.
    sums         A subtree is a run of nodes, and its leaves a run of leaves: what a node has is a difference of two
                 running sums, of integers, or doubles that are integers in units of a power of two: exact.
    means        Combined level by level from the leaves up, since differences of running sums would cancel.
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

_TINY = 1e-14  # gains of less than this share of the impurity are rounding: none


class _TreeShape(NamedTuple):
    """Who is whose child, of many trees at once; numbers of nodes run through all trees."""

    height: Ints  # places open before each node takes one, above the lowest
    parent: Ints  # -1 at a root
    branch: Ints  # which branch of the parent; -1 at a root


def heights(branches: Ints, start: Ints) -> Ints:
    """Return how many places are open below the one that each node takes; every tree begins with one place.

    In sound trees none is negative, and each tree ends with all places taken.
    """
    steps = np.cumsum(branches - 1)
    before = np.append(0, steps[:-1])
    height: Ints = before - np.repeat(before[start[:-1]], np.diff(start))
    return height


def shape_of(branches: Ints, start: Ints) -> _TreeShape:
    """Find the parents of all nodes, given how many children each has, in pre-order.

    >>> shape_of(np.array([2, 2, 0, 0, 0]), np.array([0, 5])).parent.tolist()
    [-1, 0, 1, 1, 0]
    """
    height, n = heights(branches, start), len(branches)
    root = np.zeros(n, bool)
    root[start[:-1]] = True
    opener = np.repeat(np.arange(n), branches)
    which = np.arange(len(opener)) - np.repeat(np.cumsum(branches) - branches, branches)
    opened = _in_order(height[opener] + branches[opener] - 1 - which)
    taker = np.flatnonzero(~root)
    taken = taker[_in_order(height[taker])]
    parent, branch = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    parent[taken], branch[taken] = opener[opened], which[opened]
    return _TreeShape(height, parent, branch)


def _in_order(height: Ints) -> Ints:
    """Sort by height and then by time; heights are small, so a radix sort does."""
    narrow = height.astype(np.uint16) if len(height) and height.max() < 2**16 else height
    return np.argsort(narrow, kind="stable")


def ends_of(height: Ints, start: Ints) -> Ints:
    """Return one past the last node of each node's subtree: the next to take a place one lower, or the tree's end."""
    n = len(height)
    order = _in_order(height)
    place = np.searchsorted(height[order] * n + order, (height - 1) * n + np.arange(n))
    return np.where(height == 0, np.repeat(start[1:], np.diff(start)), order[np.minimum(place, n - 1)])


# -- one tree ---------------------------------------------------------------------------------------------------------


def opened(one: PackedTrees, criterion: str, empty_branch: str) -> Arrays:
    """Return the arrays of the tree in members of one tree."""
    inner, n = one.kind != LEAF, len(one.kind)
    branches = on(inner, one.branches, 0, np.int64)
    shape = shape_of(branches, one.start)
    ends = ends_of(shape.height, one.start)
    leaves_before = np.append(0, np.cumsum(~inner))
    runs = leaves_before[:-1], leaves_before[ends]  # the leaves of each node's subtree
    found: dict[str, Any] = {
        "parent": shape.parent,
        "kind": one.kind.astype(np.uint8),
        "column": on(inner, one.column, -1, np.int32),
        "cut": on(inner, one.cut, 0.0, np.float64),
        "cut_int": on(inner, one.filled("cut_int"), 0, np.int64),
        "missing": on(inner, one.missing, -1, np.int32),
        "other": on(inner, one.filled("other"), -1, np.int32),
        "code_start": np.append(0, np.cumsum(on(inner, one.filled("n_codes"), 0, np.int64))),
        "codes": one.codes.astype(np.int32),
        "stop": on(~inner, one.stop, 0, np.uint8),
        "rows": _within(runs, one.rows.astype(np.int64)),
        "missing_rows": on(inner, one.filled("missing_rows"), 0, np.int64),
    }
    blank = dict.fromkeys(("weight", "impurity", "gain", "value", "spread"), np.empty(0))
    blank |= {"label": np.empty(0, np.int32), "count_start": np.zeros(n + 1, np.int64)}
    blank |= {"count_class": np.empty(0, np.int32), "count_weight": np.empty(0)}
    if len(one.n_counts):
        blank |= _class_figures(one, Arrays(**{**blank, **found}), criterion, empty_branch)
    else:
        blank |= _number_figures(one, runs, shape.parent)
    found = {**blank, **found}
    for array in found.values():
        array.flags.writeable = False
    return Arrays(**found)


def on(where: npt.NDArray[np.bool_], entries: npt.NDArray[Any], elsewhere: float, dtype: Any) -> npt.NDArray[Any]:
    """Spread the entries of some nodes over all of them."""
    found = np.full(len(where), elsewhere, dtype)
    found[where] = entries
    return found


def _within(runs: tuple[Ints, Ints], entries: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Add up the entries of each node's leaves."""
    sums = np.append(entries[:0].sum(), np.cumsum(entries))
    found: npt.NDArray[Any] = sums[runs[1]] - sums[runs[0]]
    return found


def _class_figures(one: PackedTrees, blank: Arrays, criterion: str, empty_branch: str) -> dict[str, Any]:
    """What every node counts and says, by the core: each count of a leaf is handed over as a row of that weight."""
    leaves = np.flatnonzero(one.kind == LEAF)
    weight, scale = _in_units(one.count_weight.astype(np.float64))
    n_classes = int(one.count_class.max()) + 1
    labels = one.count_class.astype(np.uint8 if n_classes <= 256 else np.int32)
    target = _core.Target(labels, np.empty(0), weight, n_classes, 0, scale)
    settings = _core.Settings()
    settings.criterion = CRITERIA[criterion].impurity or criterion
    settings.empty_from_root = empty_branch == "root"
    ends = np.repeat(leaves, one.n_counts)
    found = _core.refit_at_nodes(blank.for_core, blank.parent, ends, target, settings)
    names = ("weight", "impurity", "gain", "label", "count_start", "count_class", "count_weight")
    return {name: found[name] for name in names}


def _in_units(weights: Floats) -> tuple[Ints, int]:
    """Return weights as whole numbers w·2^scale, as ``train/fixed_point.py`` has them: those that are whole stay so.

    >>> _in_units(np.array([2.0, 6.0])), _in_units(np.array([0.25, 1.5]))
    ((array([2, 6]), 0), (array([1, 6]), 2))
    """
    scale = -int(np.min(lowest_bit_exponents(weights)))
    scale = scale if weights.sum() > 2.0**53 else max(0, scale)
    return np.ldexp(weights, scale).astype(np.int64), scale


def _number_figures(one: PackedTrees, runs: tuple[Ints, Ints], parent: Ints) -> dict[str, Any]:
    """What every node weighs and says, and how far its rows spread."""
    weight = _within(runs, one.weight.astype(np.float64))
    if one.by_node:
        kept = {name: getattr(one, name).astype(np.float64) for name in ("value", "spread", "impurity")}
        return {"weight": weight, "gain": gains(parent, weight, kept["impurity"]), **kept}
    leaf = one.kind == LEAF
    value, spread = on(leaf, one.value, 0.0, np.float64), on(leaf, one.spread, 0.0, np.float64)
    largest = max(np.abs(one.value).max(initial=0.0), np.abs(one.spread).max(initial=0.0))
    scale = int(np.frexp(largest)[1])  # so that no square is too large or too small for a double
    value, spread = np.ldexp(value, -scale), np.ldexp(spread, -scale)
    between = np.zeros(len(leaf))  # variance of the children's means about their parent's: the gain
    for children in levels(parent):
        above = parent[children]
        share = weight[children] / weight[above]
        np.add.at(value, above, share * value[children])
        off = (value[children] - value[above]) ** 2
        np.add.at(between, above, share * off)
        np.add.at(spread, above, share * (off + spread[children] ** 2))
        spread[np.unique(above)] **= 0.5
    value, spread = np.ldexp(value, scale), np.ldexp(spread, scale)
    value[leaf], spread[leaf] = one.value, one.spread
    with np.errstate(over="ignore"):
        gain, impurity = np.ldexp(between, 2 * scale), spread**2
    return {"weight": weight, "value": value, "spread": spread, "gain": gain, "impurity": impurity}


def levels(parent: Ints) -> list[Ints]:
    """Return the nodes of each level but the root's, the deepest level first."""
    depth = depths_of(parent)
    order = np.argsort(depth, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(depth[order])) + 1)[:0:-1]


def gains(parent: Ints, weight: Floats, impurity: Floats) -> Floats:
    """What each split takes away of its node's impurity, per unit of weight."""
    inner = np.zeros(len(parent), bool)
    inner[parent[1:]] = True
    left = np.bincount(parent[1:], weight[1:] * impurity[1:], len(parent))[: len(parent)]
    gain = np.where(inner, impurity - left / np.where(inner, weight, 1.0), 0.0)
    return np.where(gain > _TINY * impurity, gain, 0.0)
