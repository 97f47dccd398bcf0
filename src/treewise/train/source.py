"""The interface between growing and counting: the questions a statistics source answers, wherever its rows are.

``train/grow_source.py`` grows a tree from statistics alone. A *source* has the rows: arrays in memory, a table in a
database, partitions on a cluster. It answers with integers that add up in any order, so the tree is the same whoever
counts, byte for byte. The tree so far says which node a row is at (``Arrays``, numbered in order of creation), so a
source keeps no state between two questions.

    count          statistics per (node, column, bin): the rows of a bin, its ends, classes or targets
    target_ranges  regression: the smallest and the largest target of a node
    moments        regression: sums of deviations and of their squares, about the mean of a node
    grow_subtrees  optional: the rest of the tree below nodes whose rows fit into the memory of one process

Bins are equal parts of an interval (``BinGrid``). Which bins a source is asked for affects the time, never the tree:
each bin comes back with the smallest and the largest value in it, and those that may hide a better threshold are
asked for again, in finer bins, until a bin is one value. The first time a source may leave out these two values and
return the ends of the interval; a bin beside a threshold that may win is then asked for again as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from treewise.train.constraints import NodeConstraints
from treewise.train.criteria import RowStats
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import Arrays

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]
Pair = tuple[Any, float]  # a class (by position) or a target, and a sample weight

LARGEST = float(np.finfo(np.float64).max)
_DEVIATION_BITS = 15  # of a target in the sums of squares that bounds are made from


class BinGrid(NamedTuple):
    """``n`` equal bins between two values, which are included; n = 0: each distinct value has its own bin."""

    low: float | int
    high: float | int
    n: int

    @property
    def is_whole(self) -> bool:
        """Whether differences are taken in whole numbers; else values are halved first, so that none overflows."""
        return not isinstance(self.low, float) and self.high - self.low < 1 << 62

    @property
    def start(self) -> float | int:
        """The number that is subtracted from a value, or from half of it."""
        return self.low if self.is_whole else max(float(self.low), -LARGEST) / 2

    @property
    def scale(self) -> float:
        """Bins per unit of the difference."""
        width = self.high - self.low if self.is_whole else min(float(self.high), LARGEST) / 2 - self.start
        return self.n / width

    def bins(self, values: Array) -> Ints:
        """Return the bin of each value in the interval.

        >>> BinGrid(0.0, 10.0, 4).bins(np.array([0.0, 2.4, 2.6, 10.0])).tolist()
        [0, 0, 1, 3]
        """
        if self.is_whole:
            offset = values - self.start
        else:
            offset = np.clip(values.astype(np.float64) / 2, -LARGEST, LARGEST) - self.start
        return np.clip(np.floor(offset * self.scale), 0, self.n - 1).astype(np.int64)

    def ends(self) -> tuple[Array, Array]:
        """Return the smallest and the largest number that belongs to each bin, by bisection.

        >>> [end.tolist() for end in BinGrid(0, 9, 2).ends()]
        [[0, 5], [4, 9]]
        """
        is_float = isinstance(self.low, float)
        dtype = np.float64 if is_float else np.int64
        first, last = _swap_ordinals(np.array([self.low, self.high], dtype).view(np.int64), is_float)
        edge_numbers = np.arange(1, self.n)
        below, above = np.full(self.n - 1, first), np.full(self.n - 1, last)  # bins(below) < number <= bins(above)
        for _ in range(64):
            middle = (below & above) + ((below ^ above) >> 1)
            is_reached = self.bins(_swap_ordinals(middle, is_float).view(dtype)) >= edge_numbers
            below, above = np.where(is_reached, below, middle), np.where(is_reached, middle, above)
        ends = np.append(first, above), np.append(below, last)
        low, high = (_swap_ordinals(end, is_float).view(dtype) for end in ends)
        return low, high


def _swap_ordinals(numbers: Ints, is_float: bool) -> Ints:
    """Turn the bits of doubles into integers in the same order, or back; integers stay."""
    return np.where(numbers < 0, np.iinfo(np.int64).min - numbers, numbers) if is_float else numbers


class Request(NamedTuple):
    """A question: the rows of a node in the bins of one column; for categories one bin per level, without grids."""

    node: int
    column: int
    grids: tuple[BinGrid, ...] = ()
    is_first: bool = True  # the first question about node and column: the rows without a value are counted, too


@dataclass(frozen=True, eq=False)
class Stats:
    """Statistics of groups of rows, one entry per group; they can be added in any order."""

    rows: Ints
    weight: Ints
    counts: Ints  # classification: (groups, classes); regression: (groups, 0)
    target_sum: Array  # regression: Σ w·y as Python integers; classification: zeros
    # Regression: Σ w·q and Σ w·q², q the deviation of the target in units of 2^shift (TrainingSummary.deviation_scale).
    deviations: Ints
    squares: Ints

    @classmethod
    def zeros(cls, n: int, classes: int) -> Stats:
        """Return the statistics of n groups without rows."""
        zero = np.zeros(n, np.int64)
        return cls(zero, zero, np.zeros((n, classes), np.int64), np.zeros(n, object), zero, zero)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: Any) -> Stats:
        """Return some of the groups."""
        return Stats(*(getattr(self, f.name)[index] for f in fields(self)))

    def add_up(self, order: Ints, starts: Ints) -> Stats:
        """Add up runs of groups: those from one start to the next, in the given order.

        >>> ones = np.ones(3, np.int64)
        >>> Stats.of(ones, ones, np.eye(3, dtype=np.int64)).add_up(np.array([1, 0, 2]), np.array([0, 1])).rows.tolist()
        [1, 2]
        """
        return Stats(*(np.add.reduceat(getattr(self, f.name)[order], starts, axis=0) for f in fields(self)))

    def total(self) -> Stats:
        """Add up all groups, of which there is one at least."""
        return self.add_up(np.arange(len(self)), np.zeros(1, np.int64))

    @classmethod
    def of(cls, rows: Ints, weight: Ints, counts: Ints, **sums: Array) -> Stats:
        """Return statistics; those that are not given are zero."""
        n = len(rows)
        return Stats(rows, weight, counts, **{name: sums.get(name, zeros) for name, zeros in _no_targets(n).items()})

    @classmethod
    def concatenate(cls, parts: Sequence[Stats]) -> Stats:
        """Join groups."""
        return Stats(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)))

    def row_stats(self, i: int) -> RowStats:
        """Return one group as the criteria want it."""
        counts = tuple(self.counts[i].tolist())
        return RowStats(int(self.rows[i]), int(self.weight[i]), counts, int(self.target_sum[i]))


def _no_targets(n: int) -> dict[str, Array]:
    zeros = np.zeros(n, np.int64)
    return {"target_sum": np.zeros(n, object), "deviations": zeros, "squares": zeros}


@dataclass(frozen=True, eq=False)
class Bins:
    """The rows of a node by their value of a column: disjoint intervals in order, and the rows without a value."""

    grid: Ints  # the position of each bin's grid in the request …
    bin: Ints  # … and its bin in that grid; SINGLE_VALUE for values and categories
    low: Array  # the smallest and the largest encoded value of each bin; categories: the code
    high: Array
    is_exact: Flags  # whether these are values of rows, else those that the bin may have
    stats: Stats
    missing_stats: Stats  # one group: the rows without a value

    def __len__(self) -> int:
        return len(self.low)

    def take(self, index: Any) -> Bins:
        """Return some of the bins, with the same missing rows."""
        ends = self.low[index], self.high[index], self.is_exact[index]
        return Bins(self.grid[index], self.bin[index], *ends, self.stats.take(index), self.missing_stats)


SINGLE_VALUE = -1


def merge_bins(parts: Sequence[Bins]) -> Bins:
    """Add up the bins of several partitions, or of several groups of rows, and list them in order of value."""
    grid, bins, low, high, is_exact = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("grid", "bin", "low", "high", "is_exact")
    )
    missing = Stats.concatenate([part.missing_stats for part in parts]).total()
    stats = Stats.concatenate([part.stats for part in parts])
    if not len(low):
        return Bins(grid, bins, low, high, is_exact, stats, missing)
    order = np.lexsort((low, bins, grid))
    is_new = (np.diff(grid[order]) != 0) | (np.diff(bins[order]) != 0)
    is_new |= (bins[order][1:] == SINGLE_VALUE) & (low[order][1:] != low[order][:-1])
    starts = np.flatnonzero(np.append(True, is_new))
    low, high = np.minimum.reduceat(low[order], starts), np.maximum.reduceat(high[order], starts)
    ends = low, high, np.logical_and.reduceat(is_exact[order], starts)
    merged = Bins(grid[order][starts], bins[order][starts], *ends, stats.add_up(order, starts), missing)
    return merged.take(np.argsort(low, kind="stable"))


@dataclass(frozen=True, eq=False)
class TrainingSummary(TrainingSet):
    """A training set without rows: what growing needs to know about a table that stays where it is.

    ``y``, ``raw`` and ``weight`` have one entry per distinct pair of target and weight, if these are known; ``weight``
    is the total weight of its rows, ``sample_rows`` their number.
    """

    n_rows: int = 0
    root: RowStats = field(default_factory=RowStats)  # of all rows
    integer_weight_of: Mapping[Pair, int] = field(default_factory=dict)  # the integer weight of a row of each pair
    sample_rows: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    low: int = 0  # regression: the smallest and the largest target of all rows, as integers
    high: int = 0

    def __len__(self) -> int:
        return self.n_rows

    @property
    def deviation_scale(self) -> tuple[int, int]:
        """The centre and the shift of targets in sums of squares: q = (y − centre) >> shift.

        The sums fit 62 bits; bounds are made from them, so their few bits cost time, not accuracy.
        """
        centre = (self.low + self.high) // 2
        bits = max(3, min(_DEVIATION_BITS, (62 - int(self.weight.sum()).bit_length()) // 2))
        return centre, max(0, (self.high - self.low).bit_length() - bits)


class TargetRange(NamedTuple):
    """Regression: the smallest and the largest target of a node, as integers and as given."""

    low: int
    high: int
    raw_low: float
    raw_high: float


class SubtreeStart(NamedTuple):
    """A node whose subtree is grown by itself."""

    node: int
    rows: int
    depth: int
    key: int  # of its random draws
    constraints: NodeConstraints


class Subtree(NamedTuple):
    """The nodes that the core has grown below a node; for the root, also the quartiles of each column."""

    arrays: Arrays
    quartiles: Sequence[tuple[Any, Any] | None] = ()


class Source(Protocol):
    """A statistics source. ``tree`` is the tree so far; its leaves are the nodes that may be asked for."""

    summary: TrainingSummary

    @property
    def most_rows(self) -> int:
        """The most rows of a node that may be brought together, so that the core grows the rest; 0: rows stay."""
        return 0

    def most_first_bins(self, n_nodes: int) -> int:
        """Return the most bins that a column of numbers is to be counted in first, at so many nodes."""
        return 1 << 16

    def ranges(self) -> Sequence[tuple[Any, Any] | None]:
        """Return the smallest and the largest value of each column; None for categories and columns without values."""

    def count(self, tree: Arrays, requests: Sequence[Request]) -> list[Bins]:
        """Count rows by bins; one answer per request."""

    def target_ranges(self, tree: Arrays, nodes: Sequence[int]) -> list[TargetRange]:
        """Return the range of the targets of each node (regression)."""

    def moments(self, tree: Arrays, centres: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """Return Σ w·d and Σ w·d² of each node for d = (y − mean) >> shift, given (mean, shift) (regression)."""

    def grow_subtrees(self, tree: Arrays, starts: Sequence[SubtreeStart]) -> list[Subtree]:
        """Return the subtrees below nodes of ``most_rows`` at most, grown by the core."""
        raise NotImplementedError("the rows of this source stay where they are")
