"""How each split kind lists its candidates: a column's values at a node, put into branches in every way it knows.

Stands below ``train/reference.py``, which scores what is listed here. A node's rows are first put into *buckets*: one for each
value of the column present, with its statistics (``Group``), and one for the missing rows (``look``). A split kind is
then a way of putting buckets into branches, a function from a ``Scene`` to its ``Parting``s: a threshold cuts the
sorted buckets in two, a multiway test gives each its own branch, and so on. ``search/exact_splitter.hpp`` goes through the same
ones in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.rng import cut_key, random_subset, uniform_below, uniform_float, uniform_integer
from treewise.data import encoding as encode
from treewise.data.encoding import INT64_MAX, Encoding
from treewise.train.criteria import Group, medians
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import KIND_NUMBERS
from treewise.tree.splits import Multiway, OneValue, Ordinal, Split, Subset, Threshold, midpoint, midpoint_int

Rows = npt.NDArray[np.int64]
EXHAUSTIVE = 10  # up to so many categories present, all subsets are tried when there are more than two classes

# The place of a kind in the order of ties; a test of presence comes last in its column.
KIND_RANK = {**KIND_NUMBERS, "presence": 6}


@dataclass(frozen=True)
class Bucket:
    """The rows of a node that share one value of a column."""

    value: Any  # float, int, or category code
    group: Group


@dataclass(frozen=True, eq=False)
class ColumnAtNode:
    """One column at one node: all a split kind needs to list its candidates."""

    training_set: TrainingSet
    column: int
    buckets: Sequence[Bucket]
    missing: Group

    @property
    def encoding(self) -> Encoding:
        """What the column is."""
        return self.training_set.encodings[self.column]

    def level(self, bucket: Bucket) -> str:
        """Return the level a bucket of a categorical column holds."""
        return self.encoding.levels[int(bucket.value)]


@dataclass(frozen=True, slots=True)
class Partition:
    """Buckets put into branches: the branches' groups, the split without its missing side, and where missing may go."""

    position: int
    branches: tuple[Group, ...]
    make: Callable[..., Split]  # makes the split, once it is told where missing values go
    placements: tuple[int, ...]  # branches in which missing rows are tried, in order


# -- the statistics of rows -------------------------------------------------------------------------------------------


def group_of(training_set: TrainingSet, rows: Rows) -> Group:
    """Add up the statistics of some rows."""
    if training_set.target.task == "classification":
        counts = class_weights(training_set, rows, np.zeros(len(rows), np.int64), 1)[0]
        return Group(len(rows), sum(counts), tuple(counts))
    weights = training_set.weight[rows].tolist()
    ys = training_set.y[rows].tolist()
    pairs = tuple(zip(ys, weights, strict=True)) if training_set.criterion.centre == "median" else ()
    total = sum(y * w for y, w in zip(ys, weights, strict=True))
    return Group(len(rows), sum(weights), (), total, min(ys, default=0), max(ys, default=0), pairs)


def class_weights(training_set: TrainingSet, rows: Rows, place: Rows, places: int) -> list[list[int]]:
    """Add up the weight of each class in each place: exact, for all weights together stay below 2^53."""
    classes = len(training_set.target.classes)
    cell = place * classes + training_set.y[rows]
    summed = np.bincount(cell, weights=training_set.weight[rows], minlength=places * classes)
    table: list[list[int]] = summed.astype(np.int64).reshape(places, classes).tolist()
    return table


def bucketise(training_set: TrainingSet, column: int, rows: Rows) -> ColumnAtNode:
    """Put a node's rows into the buckets of one column, in order of value, the missing ones apart."""
    values = training_set.columns[column][rows]
    gone = encode.is_missing(training_set.encodings[column], values)
    present, rows_present = values[~gone], rows[~gone]
    distinct, place = np.unique(present, return_inverse=True)
    sizes = np.bincount(place, minlength=len(distinct))
    if training_set.target.task == "classification":
        counted = class_weights(training_set, rows_present, place, len(distinct))
        groups = [Group(n, sum(c), tuple(c)) for n, c in zip(sizes.tolist(), counted, strict=True)]
    else:
        by_value = np.split(rows_present[np.argsort(place, kind="stable")], np.cumsum(sizes)[:-1])
        groups = [group_of(training_set, r) for r in by_value[: len(distinct)]]
    buckets = [Bucket(v, g) for v, g in zip(distinct.tolist(), groups, strict=True)]
    return ColumnAtNode(training_set, column, buckets, group_of(training_set, rows[gone]))


# -- one way of listing candidates per split kind ---------------------------------------------------------------------


def two_sides(groups: Sequence[Group]) -> Iterator[tuple[int, Group, Group]]:
    """Cut a row of groups in two at every place: (how many are left, their sum, the sum of the rest).

    a | b c d      a b | c d      a b c | d
    """
    left, right = running(groups), running(groups[::-1])[::-1]
    return ((i, left[i - 1], right[i]) for i in range(1, len(groups)))


def running(groups: Sequence[Group]) -> list[Group]:
    """Return the sum of the first group, of the first two, of the first three, …

    >>> running([Group(2, 2, (1, 1)), Group(3, 3, (3, 0))])[-1]
    Group(rows=5, weight=5, counts=(4, 1), total=0, low=0, high=0, targets=())
    """
    if not groups or not groups[0].counts:
        return list(accumulate(groups, add))
    # Class by class, for a column of numbers has as many groups as values.
    counts = zip(*map(accumulate, zip(*(g.counts for g in groups), strict=True)), strict=True)
    return list(map(Group, accumulate(g.rows for g in groups), accumulate(g.weight for g in groups), counts))


def thresholds(scene: ColumnAtNode) -> Iterator[Partition]:
    """``x <= t`` between neighbouring values, t their midpoint (ID3 notes; algorithm 8.2)."""
    for i, low, high in two_sides([b.group for b in scene.buckets]):
        yield Partition(i - 1, (low, high), partial(threshold_after, scene, i - 1), placements=(0, 1))


def threshold_after(scene: ColumnAtNode, place: int, *, missing: int) -> Threshold:
    """Return the threshold between a bucket and the next."""
    between: Callable[[Any, Any], float] = midpoint if scene.encoding.kind == "number" else midpoint_int
    cut = between(scene.buckets[place].value, scene.buckets[place + 1].value)
    return Threshold(scene.encoding.name, cut, missing=missing)


def ordinals(scene: ColumnAtNode) -> Iterator[Partition]:
    """``x <= level`` in the order of the levels (chapter 8, figure 8.2 c)."""
    for i, low, high in two_sides([b.group for b in scene.buckets]):
        level = scene.level(scene.buckets[i - 1])
        yield Partition(i - 1, (low, high), partial(Ordinal, scene.encoding.name, level), placements=(0, 1))


def one_values(scene: ColumnAtNode) -> Iterator[Partition]:
    """``x = level`` against all others (figure 8.2 b)."""
    if len(scene.buckets) < 2:
        return
    groups = [b.group for b in scene.buckets]
    before = list(accumulate(groups, add, initial=Group()))
    after = list(accumulate(reversed(groups), add, initial=Group()))[::-1]
    for i, bucket in enumerate(scene.buckets):
        make = partial(OneValue, scene.encoding.name, scene.level(bucket))
        yield Partition(i, (bucket.group, before[i] + after[i + 1]), make, placements=(0, 1))


def subsets(scene: ColumnAtNode) -> Iterator[Partition]:
    """``x in {…}`` against all others (figure 8.2 d).

    For two classes and for numbers the best subset is a prefix of the levels ordered by rate or mean (Breiman et al.
    1984, theorem 4.5), so only prefixes are listed. For more classes all subsets of up to 10 levels are, and beyond
    that the prefixes of the order by each class's rate: a heuristic.
    """
    buckets = scene.buckets
    classes = len(scene.training_set.target.classes)
    if classes > 2 and len(buckets) <= EXHAUSTIVE:
        for mask in range(1, 1 << max(0, len(buckets) - 1)):
            # Bit j of the mask sends bucket j + 1 to the other side; the first bucket stays.
            moved = [i > 0 and bool(mask >> (i - 1) & 1) for i in range(len(buckets))]
            near = [b for b, m in zip(buckets, moved, strict=True) if not m]
            far = [b for b, m in zip(buckets, moved, strict=True) if m]
            sides = (reduce(add, (b.group for b in near)), reduce(add, (b.group for b in far)))
            yield subset(scene, mask, sides, [*near, *far], len(near))
        return
    for place, key in subset_orders(scene):
        ordered = sorted(buckets, key=key)  # stable: equal rates stay in the order of the levels
        for i, before, after in two_sides([b.group for b in ordered]):
            yield subset(scene, place * len(buckets) + i, (before, after), ordered, i)


def subset(
    scene: ColumnAtNode, position: int, sides: tuple[Group, Group], ordered: Sequence[Bucket], cut: int
) -> Partition:
    """Make the subset test of the buckets before and after a cut; the lighter side is listed and is branch 0."""
    near, far = sides
    swap = far.weight < near.weight
    listed = slice(cut, None) if swap else slice(cut)
    return Partition(
        position,
        (far, near) if swap else (near, far),
        partial(subset_of, scene, ordered, listed),
        placements=(1, 0) if swap else (0, 1),
    )


def subset_of(scene: ColumnAtNode, ordered: Sequence[Bucket], listed: slice, *, missing: int) -> Subset:
    """Return the test that lists some of the buckets."""
    levels = tuple(scene.encoding.levels[code] for code in sorted(b.value for b in ordered[listed]))
    return Subset(scene.encoding.name, levels, missing=missing)


def subset_orders(scene: ColumnAtNode) -> list[tuple[int, Callable[[Bucket], Any]]]:
    """Return the orders whose prefixes are tried, each with its place: exact fractions, no division rounded."""
    counts = reduce(add, (b.group for b in scene.buckets), scene.missing).counts
    if len(counts) == 2:
        return [(0, partial(rate, cls=1))]
    if counts:
        return [(cls, partial(rate, cls=cls)) for cls, count in enumerate(counts) if count]
    return [(0, middle if scene.training_set.criterion.centre == "median" else mean)]


def rate(bucket: Bucket, cls: int) -> Fraction:
    """Return the share of a class."""
    return Fraction(bucket.group.counts[cls], bucket.group.weight)


def mean(bucket: Bucket) -> Fraction:
    """Return the mean target."""
    return Fraction(bucket.group.total, bucket.group.weight)


def middle(bucket: Bucket) -> int:
    """Return twice the median target."""
    return sum(medians(bucket.group))


def multiways(scene: ColumnAtNode) -> Iterator[Partition]:
    """One branch a level present, and one for the declared levels that are not (CS221 notes 6; figure 8.2 a)."""
    levels = tuple(scene.level(b) for b in scene.buckets)
    other = len(levels) < len(scene.encoding.levels)
    branches = (*(b.group for b in scene.buckets), *([Group()] if other else []))
    yield Partition(
        0,
        branches,
        partial(Multiway, scene.encoding.name, levels, other),
        placements=tuple(range(len(levels))),
    )


PARTITIONERS: dict[str, Callable[[ColumnAtNode], Iterator[Partition]]] = {
    "threshold": thresholds,
    "ordinal": ordinals,
    "one_value": one_values,
    "subset": subsets,
    "multiway": multiways,
}


# -- one test of a kind, drawn at random ------------------------------------------------------------------------------


def one_at_random(scene: ColumnAtNode, kind: str, node: int) -> Iterator[Partition]:
    """Draw one test of a kind from the node's key; a multiway test is the only one of its kind."""
    if kind == "multiway":
        yield from multiways(scene)
        return
    buckets = scene.buckets
    if len(buckets) < 2:
        return
    random = cut_key(node, scene.column, KIND_RANK[kind])
    if kind == "threshold":
        yield random_threshold(scene, random)
    elif kind == "subset":
        named = random_subset(random, len(buckets))
        near = [b for b, listed in zip(buckets, named, strict=True) if listed]
        far = [b for b, listed in zip(buckets, named, strict=True) if not listed]
        sides = (reduce(add, (b.group for b in near)), reduce(add, (b.group for b in far)))
        yield subset(scene, 0, sides, [*near, *far], len(near))
    else:
        listed = list(PARTITIONERS[kind](scene))
        yield listed[uniform_below(random, len(listed))]


def random_threshold(scene: ColumnAtNode, random: int) -> Partition:
    """Cut anywhere between the least and the largest value, not only half-way between neighbours."""
    low, high = scene.buckets[0].value, scene.buckets[-1].value
    draw: Callable[[int, Any, Any], float] = uniform_float if scene.encoding.kind == "number" else uniform_integer
    cut = draw(random, low, high)
    sides = [reduce(add, (b.group for b in scene.buckets if (b.value <= cut) == under)) for under in (True, False)]
    return Partition(0, (sides[0], sides[1]), partial(Threshold, scene.encoding.name, cut), placements=(0, 1))


def presence(scene: ColumnAtNode, kind: str) -> Split:
    """Return the test that only separates missing from present, in the form of the column's first kind."""
    name, encoding = scene.encoding.name, scene.encoding
    if kind == "threshold":
        return Threshold(name, math.inf if encoding.kind == "number" else INT64_MAX, missing=1)
    if kind == "ordinal":
        return Ordinal(name, encoding.levels[-1], missing=1)
    return Subset(name, (), missing=0)
