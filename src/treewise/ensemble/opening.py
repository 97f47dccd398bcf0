"""One packed member → the arrays of an ordinary tree: everything that was left out is derived again.

Stands below ``members.py``. Without a loop over nodes:

    parents      Nodes in pre-order are the steps of a stack: each takes the uppermost open place, and an inner node
                 opens one a branch. Who opened a place, and who took it, alternate in time; so sorted by height, and
                 then by time, the openings and the takings of all places stand side by side.
    sums         A subtree is a run of nodes, and its leaves a run of leaves: what a node counts is a difference of two
                 running sums, of integers, or doubles that are integers in units of a power of two: exact.
    means        Combined level by level from the leaves up, since differences of running sums would cancel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewise.criteria import CRITERIA
from treewise.nodes import LEAF, STOPS, Arrays, depths_of

if TYPE_CHECKING:
    from treewise.ensemble.members import Members

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CELLS = 1 << 22  # counts that are held at once
TINY = 1e-14  # gains of less than this share of the impurity are rounding: none
NO_ROWS = STOPS.index("no_rows")


class Shape(NamedTuple):
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


def shape_of(branches: Ints, start: Ints) -> Shape:
    """Find the parents of all nodes, given how many children each has, in pre-order.

    >>> shape_of(np.array([2, 2, 0, 0, 0]), np.array([0, 5])).parent.tolist()
    [-1, 0, 1, 1, 0]
    """
    height, n = heights(branches, start), len(branches)
    root = np.zeros(n, bool)
    root[start[:-1]] = True
    opener = np.repeat(np.arange(n), branches)
    which = np.arange(len(opener)) - np.repeat(np.cumsum(branches) - branches, branches)
    opened = in_order(height[opener] + branches[opener] - 1 - which)
    taker = np.flatnonzero(~root)
    taken = taker[in_order(height[taker])]
    parent, branch = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    parent[taken], branch[taken] = opener[opened], which[opened]
    return Shape(height, parent, branch)


def in_order(height: Ints) -> Ints:
    """Sort by height and then by time; heights are small, so a radix sort does."""
    narrow = height.astype(np.uint16) if len(height) and height.max() < 2**16 else height
    return np.argsort(narrow, kind="stable")


def ends_of(height: Ints, start: Ints) -> Ints:
    """Return one past the last node of each node's subtree: the next to take a place one lower, or the tree's end."""
    n = len(height)
    order = in_order(height)
    place = np.searchsorted(height[order] * n + order, (height - 1) * n + np.arange(n))
    return np.where(height == 0, np.repeat(start[1:], np.diff(start)), order[np.minimum(place, n - 1)])


# -- one tree ---------------------------------------------------------------------------------------------------------


def opened(one: Members, criterion: str, empty_branch: str) -> Arrays:
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
        "rows": within(runs, one.rows.astype(np.int64)),
        "missing_rows": on(inner, one.filled("missing_rows"), 0, np.int64),
    }
    if len(one.n_counts):
        found |= class_figures(one, runs, criterion)
        found["label"] = answers_of_empty(found["label"], found["stop"], shape.parent, empty_branch)
        found |= {"value": np.empty(0), "spread": np.empty(0)}
    else:
        found |= number_figures(one, runs, shape.parent)
        found |= {"label": np.empty(0, np.int32), "count_start": np.zeros(n + 1, np.int64)}
        found |= {"count_class": np.empty(0, np.int32), "count_weight": np.empty(0)}
    if "gain" not in found:
        found["gain"] = gains(shape.parent, found["weight"], found["impurity"])
    for array in found.values():
        array.flags.writeable = False
    return Arrays(**found)


def on(where: npt.NDArray[np.bool_], entries: npt.NDArray[Any], elsewhere: float, dtype: Any) -> npt.NDArray[Any]:
    """Spread the entries of some nodes over all of them."""
    found = np.full(len(where), elsewhere, dtype)
    found[where] = entries
    return found


def within(runs: tuple[Ints, Ints], entries: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Add up the entries of each node's leaves (one row of entries a leaf)."""
    sums = np.concatenate([np.zeros((1, *entries.shape[1:]), entries.dtype), np.cumsum(entries, axis=0)])
    found: npt.NDArray[Any] = sums[runs[1]] - sums[runs[0]]
    return found


def class_figures(one: Members, runs: tuple[Ints, Ints], criterion: str) -> dict[str, Any]:
    """What every node counts, and what follows from that."""
    n, leaves = len(runs[0]), len(one.n_counts)
    owner = np.repeat(np.arange(leaves), one.n_counts)
    classes, which = np.unique(one.count_class, return_inverse=True)
    step = max(1, CELLS // n)
    found: list[tuple[Ints, Ints, Floats]] = []
    for first in range(0, len(classes), step):
        some = (which >= first) & (which < first + step)
        table = np.zeros((leaves, min(step, len(classes) - first)))
        table[owner[some], which[some] - first] = one.count_weight[some]
        counts = within(runs, table)
        at, cls = np.nonzero(counts)
        found.append((at, classes[first + cls], counts[at, cls]))
    at, counted, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(at, kind="stable")
    return count_figures(at[order], counted[order], weights[order], n, criterion)


def count_figures(at: Ints, classes: Ints, weights: Floats, n: int, criterion: str) -> dict[str, Any]:
    """Weight, label and impurity of each node, of its counts one after another."""
    weight = np.bincount(at, weights, n)
    most = np.zeros(n)
    np.maximum.at(most, at, weights)
    label = np.full(n, -1, np.int32)
    best = np.flatnonzero(weights == most[at])[::-1]  # of equals the first is written last
    label[at[best]] = classes[best]
    share = weights / weight[at]
    measure = CRITERIA[criterion].core or criterion
    if measure == "entropy":
        impurity = np.bincount(at, -share * np.log2(share), n) + 0.0
    else:
        at_most = np.bincount(at, share * share, n) if measure == "gini" else most / np.where(weight > 0, weight, 1.0)
        impurity = np.where(weight > 0, 1.0 - at_most, 0.0)
    return {
        "weight": weight,
        "impurity": impurity,
        "label": label,
        "count_start": np.append(0, np.cumsum(np.bincount(at, minlength=n))),
        "count_class": classes.astype(np.int32),
        "count_weight": weights,
    }


def answers_of_empty(label: npt.NDArray[np.int32], stop: Any, parent: Ints, empty_branch: str) -> Any:
    """Let branches without rows say what their parent or the root says."""
    empty = np.flatnonzero((stop == NO_ROWS) & (parent >= 0))
    label[empty] = label[0 if empty_branch == "root" else parent[empty]]
    return label


def number_figures(one: Members, runs: tuple[Ints, Ints], parent: Ints) -> dict[str, Any]:
    """What every node weighs and says, and how far its rows spread."""
    weight = within(runs, one.weight.astype(np.float64))
    if one.by_node:
        kept = {name: getattr(one, name).astype(np.float64) for name in ("value", "spread", "impurity")}
        return {"weight": weight, **kept}
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
    return np.where(gain > TINY * impurity, gain, 0.0)
