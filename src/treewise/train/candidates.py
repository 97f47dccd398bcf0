"""How each split kind partitions the values of a column at a node: the candidates, before they are scored.

Used by ``train/reference.py``, which scores them. The rows of a node are first grouped by their value of the column
(``group_by_value``): the statistics of each distinct value, and those of the missing values. A split kind is a function
from a ``ColumnAtNode`` to ``ValuePartition``s, which assign the values to branches: a threshold cuts the sorted values
in two, a multiway split gives each value a separate branch, and so on. ``PARTITIONERS`` is the registry. The core
(``src/core/search``) enumerates the same partitions in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.rng import random_subset, split_key, uniform_below, uniform_float, uniform_integer
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.train.criteria import RowStats, medians
from treewise.train.price import FEW_LEVELS
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import KIND_NUMBERS
from treewise.tree.splits import Multiway, OneValue, Ordinal, Presence, Split, Subset, Threshold, midpoint, midpoint_int

Rows = npt.NDArray[np.int64]
MAX_EXHAUSTIVE_LEVELS = 10  # with more than two classes, all subsets of up to this many levels are tried
_MAX_RATE_ORDERS = 64  # beyond that, levels are ordered by the rates of this many classes, so that time stays linear

# The rank of a kind among equally good candidates of a column; the presence test comes last.
KIND_RANK = {**KIND_NUMBERS, "presence": 6}


@dataclass(frozen=True)
class ValueStats:
    """One distinct value of a column at a node, and the statistics of its rows."""

    value: Any  # float, int, or category code
    stats: RowStats


@dataclass(frozen=True, eq=False)
class ColumnAtNode:
    """One column at one node: everything a split kind needs to list its partitions."""

    training_set: TrainingSet
    index: int
    value_stats: Sequence[ValueStats]  # in order of value; the pool of the rare levels last
    missing_stats: RowStats  # of the rows without a value

    @property
    def has_pool(self) -> bool:
        """Whether the last entry is the pool of the rare levels (``pool_rare_levels``)."""
        return bool(self.value_stats) and self.is_pool(self.value_stats[-1])

    @property
    def nameable_levels(self) -> Sequence[ValueStats]:
        """The levels that a test may name: all but the pool."""
        return self.value_stats[:-1] if self.has_pool else self.value_stats

    def is_pool(self, entry: ValueStats) -> bool:
        """Tell whether an entry is the pool of the rare levels."""
        return self.encoding.is_categorical and entry.value == len(self.encoding.levels)

    @property
    def encoding(self) -> Encoding:
        """The column's name, kind and levels."""
        return self.training_set.encodings[self.index]

    def level(self, entry: ValueStats) -> str:
        """Return the level of an entry of a categorical column."""
        return self.encoding.levels[int(entry.value)]


@dataclass(frozen=True, slots=True)
class ValuePartition:
    """Buckets assigned to branches; missing values are placed later (``reference.place_missing``)."""

    position: int  # among the partitions of its kind
    branches: tuple[RowStats, ...]  # without the missing values
    make_split: Callable[..., Split]  # make_split(missing=branch) is the split
    placements: tuple[int, ...]  # branches in which the missing values are tried, in order
    separates_missing: bool = False  # whether the missing values already have a separate branch


# -- statistics of rows -----------------------------------------------------------------------------------------------


def compute_stats(training_set: TrainingSet, rows: Rows) -> RowStats:
    """Add up the statistics of some rows."""
    if training_set.target.task == "classification":
        counts = _class_weights(training_set, rows, np.zeros(len(rows), np.int64), 1)[0]
        return RowStats(len(rows), sum(counts), tuple(counts))
    weights = training_set.weight[rows].tolist()
    ys = training_set.y[rows].tolist()
    pairs = tuple(zip(ys, weights, strict=True)) if training_set.criterion.centre == "median" else ()
    total = sum(y * w for y, w in zip(ys, weights, strict=True))
    return RowStats(len(rows), sum(weights), (), total, min(ys, default=0), max(ys, default=0), pairs)


def _class_weights(training_set: TrainingSet, rows: Rows, group: Rows, n_groups: int) -> list[list[int]]:
    """Add up the weight of each class in each group of rows; exact, since all weights together stay below 2^53."""
    classes = len(training_set.target.classes)
    cell = group * classes + training_set.y[rows]
    summed = np.bincount(cell, weights=training_set.weight[rows], minlength=n_groups * classes)
    table: list[list[int]] = summed.astype(np.int64).reshape(n_groups, classes).tolist()
    return table


def group_by_value(training_set: TrainingSet, column: int, rows: Rows) -> ColumnAtNode:
    """Group the rows of a node by their value of a column, in order of value; missing values separately."""
    values = training_set.columns[column][rows]
    is_missing = encode.is_missing(training_set.encodings[column], values)
    present, rows_present = values[~is_missing], rows[~is_missing]
    distinct, value_number = np.unique(present, return_inverse=True)
    sizes = np.bincount(value_number, minlength=len(distinct))
    if training_set.target.task == "classification":
        weights = _class_weights(training_set, rows_present, value_number, len(distinct))
        stats = [RowStats(n, sum(w), tuple(w)) for n, w in zip(sizes.tolist(), weights, strict=True)]
    else:
        by_value = np.split(rows_present[np.argsort(value_number, kind="stable")], np.cumsum(sizes)[:-1])
        stats = [compute_stats(training_set, r) for r in by_value[: len(distinct)]]
    value_stats = [ValueStats(v, s) for v, s in zip(distinct.tolist(), stats, strict=True)]
    return ColumnAtNode(training_set, column, value_stats, compute_stats(training_set, rows[is_missing]))


def pool_rare_levels(column: ColumnAtNode) -> ColumnAtNode:
    """Join the levels with fewer than ``min_level_rows`` rows into one entry, the pool, which no test names.

    It is on the side of "otherwise", with the levels that do not occur at the node.
    """
    min_rows = column.training_set.limits["min_level_rows"]
    if len(column.encoding.levels) <= FEW_LEVELS or all(v.stats.rows >= min_rows for v in column.value_stats):
        return column
    frequent = [v for v in column.value_stats if v.stats.rows >= min_rows]
    pool = reduce(add, (v.stats for v in column.value_stats if v.stats.rows < min_rows))
    return replace(column, value_stats=[*frequent, ValueStats(len(column.encoding.levels), pool)])


# -- the partitions of each split kind --------------------------------------------------------------------------------


def _partition_by_threshold(column: ColumnAtNode) -> Iterator[ValuePartition]:
    """``x <= t`` between neighbouring values, t their midpoint (ID3 notes; algorithm 8.2)."""
    for i, low, high in _cut_in_two([v.stats for v in column.value_stats]):
        yield ValuePartition(i - 1, (low, high), partial(_threshold_after, column, i - 1), placements=(0, 1))


def _threshold_after(column: ColumnAtNode, index: int, *, missing: int) -> Threshold:
    between: Callable[[Any, Any], float] = midpoint if column.encoding.kind == "number" else midpoint_int
    threshold = between(column.value_stats[index].value, column.value_stats[index + 1].value)
    return Threshold(column.encoding.name, threshold, missing=missing)


def _partition_by_order(column: ColumnAtNode) -> Iterator[ValuePartition]:
    """``x <= level`` in the order of the levels (chapter 8, figure 8.2 c)."""
    for i, low, high in _cut_in_two([v.stats for v in column.value_stats]):
        level = column.level(column.value_stats[i - 1])
        yield ValuePartition(i - 1, (low, high), partial(Ordinal, column.encoding.name, level), placements=(0, 1))


def _partition_by_one_value(column: ColumnAtNode) -> Iterator[ValuePartition]:
    """``x = level`` against all others (figure 8.2 b)."""
    if len(column.value_stats) < 2:
        return
    stats = [v.stats for v in column.value_stats]
    before = list(accumulate(stats, add, initial=RowStats()))
    after = list(accumulate(reversed(stats), add, initial=RowStats()))[::-1]
    for i, level in enumerate(column.nameable_levels):
        make_split = partial(OneValue, column.encoding.name, column.level(level))
        yield ValuePartition(i, (level.stats, before[i] + after[i + 1]), make_split, placements=(0, 1))


def _partition_by_subset(column: ColumnAtNode) -> Iterator[ValuePartition]:
    """``x in {…}`` against all others (figure 8.2 d).

    For two classes and for regression, the best subset is a prefix of the levels ordered by rate or mean (Breiman et
    al. 1984, theorem 4.5), so only prefixes are listed. For more classes, all subsets of up to 10 levels are listed;
    beyond that, the prefixes of the orders by the rates of the 64 heaviest classes of the node (a heuristic).
    """
    values = column.value_stats
    if len(column.training_set.target.classes) > 2 and len(values) <= MAX_EXHAUSTIVE_LEVELS:
        for mask in range(1, 1 << max(0, len(values) - 1)):
            # Bit j of the mask moves value j + 1 to the other side; the first value stays.
            yield _subset_partition(column, mask, [i == 0 or not mask >> (i - 1) & 1 for i in range(len(values))])
        return
    for rank, key in _subset_orders(column):
        ordered = sorted(values, key=key)  # stable: equal rates stay in the order of the levels
        for i, before, after in _cut_in_two([v.stats for v in ordered]):
            yield _subset_after(column, rank * len(values) + i, (before, after), ordered, i)


def _subset_partition(column: ColumnAtNode, position: int, is_member: Sequence[bool]) -> ValuePartition:
    members = [v for v, member in zip(column.value_stats, is_member, strict=True) if member]
    others = [v for v, member in zip(column.value_stats, is_member, strict=True) if not member]
    sides = (reduce(add, (v.stats for v in members)), reduce(add, (v.stats for v in others)))
    return _subset_after(column, position, sides, [*members, *others], len(members))


def _subset_after(
    column: ColumnAtNode, position: int, sides: tuple[RowStats, RowStats], ordered: Sequence[ValueStats], n_before: int
) -> ValuePartition:
    """Separate the first values of an order from the others; the lighter side, or the one without the pool, is the set.

    The set is branch 0.
    """
    before, after = sides
    swap = any(map(column.is_pool, ordered[:n_before])) if column.has_pool else after.weight < before.weight
    named = slice(n_before, None) if swap else slice(n_before)
    return ValuePartition(
        position,
        (after, before) if swap else (before, after),
        partial(_subset_of, column, ordered, named),
        placements=(1, 0) if swap else (0, 1),
    )


def _subset_of(column: ColumnAtNode, ordered: Sequence[ValueStats], named: slice, *, missing: int) -> Subset:
    levels = tuple(column.encoding.levels[code] for code in sorted(v.value for v in ordered[named]))
    return Subset(column.encoding.name, levels, missing=missing)


def _subset_orders(column: ColumnAtNode) -> list[tuple[int, Callable[[ValueStats], Any]]]:
    """Return the orders whose prefixes are tried, each with its rank; in exact fractions."""
    counts = reduce(add, (v.stats for v in column.value_stats), column.missing_stats).counts
    if len(counts) == 2:
        return [(0, partial(_class_rate, cls=1))]
    if counts:
        present = [cls for cls, count in enumerate(counts) if count]
        heaviest = sorted(present, key=lambda cls: -counts[cls])[:_MAX_RATE_ORDERS]  # stable: the first of equal weight
        return [(cls, partial(_class_rate, cls=cls)) for cls in sorted(heaviest)]
    return [(0, _doubled_median if column.training_set.criterion.centre == "median" else _mean)]


def _class_rate(entry: ValueStats, cls: int) -> Fraction:
    return Fraction(entry.stats.counts[cls], entry.stats.weight)


def _mean(entry: ValueStats) -> Fraction:
    return Fraction(entry.stats.target_sum, entry.stats.weight)


def _doubled_median(entry: ValueStats) -> int:
    return sum(medians(entry.stats))


def _partition_by_level(column: ColumnAtNode) -> Iterator[ValuePartition]:
    """One branch per level present, and one for the rare and the absent levels (CS221 notes 6; figure 8.2 a)."""
    levels = tuple(column.level(v) for v in column.nameable_levels)
    if not levels:
        return
    other = len(levels) < len(column.encoding.levels)
    branches = (*(v.stats for v in column.value_stats), *([RowStats()] if other and not column.has_pool else []))
    make_split = partial(Multiway, column.encoding.name, levels, other)
    yield ValuePartition(0, branches, make_split, placements=tuple(range(len(column.value_stats))))


def _partition_by_presence(column: ColumnAtNode) -> Iterator[ValuePartition]:
    """Missing or not; listed last for every column that has missing values at the node.

    The missing values are branch 1 of columns that are otherwise split by order, branch 0 of those split by sets.
    """
    if not column.missing_stats.rows:
        return
    missing_branch = 1 if column.training_set.split_kinds[column.index][0] in ("threshold", "ordinal") else 0
    present = reduce(add, (v.stats for v in column.value_stats))
    branches = (present, RowStats()) if missing_branch == 1 else (RowStats(), present)
    make_split = partial(Presence, column.encoding.name)
    yield ValuePartition(0, branches, make_split, placements=(missing_branch,), separates_missing=True)


PARTITIONERS: dict[str, Callable[[ColumnAtNode], Iterator[ValuePartition]]] = {
    "threshold": _partition_by_threshold,
    "ordinal": _partition_by_order,
    "one_value": _partition_by_one_value,
    "subset": _partition_by_subset,
    "multiway": _partition_by_level,
    "presence": _partition_by_presence,
}


def _cut_in_two(stats: Sequence[RowStats]) -> Iterator[tuple[int, RowStats, RowStats]]:
    """Cut a sequence in two at every position: (how many are before the cut, their sum, the other sum).

    a | b c d      a b | c d      a b c | d
    """
    left, right = _running_sums(stats), _running_sums(stats[::-1])[::-1]
    return ((i, left[i - 1], right[i]) for i in range(1, len(stats)))


def _running_sums(stats: Sequence[RowStats]) -> list[RowStats]:
    """Return the cumulative sums.

    >>> _running_sums([RowStats(2, 2, (1, 1)), RowStats(3, 3, (3, 0))])[-1]
    RowStats(rows=5, weight=5, counts=(4, 1), target_sum=0, low=0, high=0, targets=())
    """
    if not stats or not stats[0].counts:
        return list(accumulate(stats, add))
    # Class by class, which is faster: a column of numbers may have as many values as rows.
    counts = zip(*map(accumulate, zip(*(s.counts for s in stats), strict=True)), strict=True)
    return list(map(RowStats, accumulate(s.rows for s in stats), accumulate(s.weight for s in stats), counts))


# -- splitter="random": one partition per kind ------------------------------------------------------------------------


def random_partition(column: ColumnAtNode, kind: str, node_key: int) -> Iterator[ValuePartition]:
    """Draw one partition of a kind by the node's random key; multiway and presence have only one."""
    if kind in ("multiway", "presence"):
        yield from PARTITIONERS[kind](column)
        return
    if len(column.value_stats) < 2:
        return
    split_seed = split_key(node_key, column.index, KIND_RANK[kind])
    if kind == "threshold":
        yield _random_threshold(column, split_seed)
    elif kind == "subset":
        yield _subset_partition(column, 0, random_subset(split_seed, len(column.value_stats)))
    else:
        partitions = list(PARTITIONERS[kind](column))
        yield partitions[uniform_below(split_seed, len(partitions))]


def _random_threshold(column: ColumnAtNode, split_seed: int) -> ValuePartition:
    """Cut anywhere between the smallest and the largest value, not only at midpoints."""
    low, high = column.value_stats[0].value, column.value_stats[-1].value
    draw: Callable[[int, Any, Any], float] = uniform_float if column.encoding.kind == "number" else uniform_integer
    threshold = draw(split_seed, low, high)
    below = reduce(add, (v.stats for v in column.value_stats if v.value <= threshold))
    above = reduce(add, (v.stats for v in column.value_stats if v.value > threshold))
    return ValuePartition(0, (below, above), partial(Threshold, column.encoding.name, threshold), placements=(0, 1))
