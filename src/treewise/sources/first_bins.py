"""The first question about nodes, for all columns of numbers at once: rows are counted in bins by one query.

A row's node and class are computed once, and from them a key for each column, with the bin of its value. The rows are
grouped by each key with GROUPING SETS, so the table is read once for many columns. Only counts come back, not the
values at the ends of bins: that would be two aggregates per column for every group. Where ends matter, bins are asked
for again.

Keys are plain arithmetic of few different numbers, without CASE: DuckDB then knows their range and counts in an array
instead of a hash table, in less than half of the time. A value outside of its grid, in a table that has changed, gets a
key of another bin; the counts of nodes do not add up then, which is noticed (``NodeBins.add``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from treewise.data import relation as expr
from treewise.sources.query_facts import Description, QueriedColumn
from treewise.sources.query_nodes import bin_number, route
from treewise.sources.query_targets import QueriedTarget
from treewise.train.source import SINGLE_VALUE, Array, BinGrid, Bins, Ints, Request, Stats, merge_bins
from treewise.tree.arrays import Arrays

_COLUMNS = 32  # that are counted by one query
_FEWEST_BINS = 64  # of a column at a node
_MOST_KEYS = 4092  # of a column that DuckDB counts in an array: perfect_ht_threshold, 12 bits
_NUMBERED_CLASSES = 16  # classes up to which the class is a part of the key


@dataclass(frozen=True)
class _ColumnKeys:
    """The keys of a column: for each node one per bin, one beyond them and one for no value; each per class."""

    name: str
    column: QueriedColumn
    grid: BinGrid
    first: int
    n_classes: int  # 1: the class is no part of the key

    @property
    def n_bins(self) -> int:
        """The number of bins; few whole numbers have one each."""
        return self.grid.n or int(self.grid.high - self.grid.low) + 1

    @property
    def per_node(self) -> int:
        """The number of keys of a node and class."""
        return self.n_bins + 1 + self.column.has_missing

    @property
    def value(self) -> Any:
        """The value of a row; NULL if it is missing."""
        cell = self.column.cell
        return cell.value if self.column.is_null_if_missing else expr.choose([(~cell.is_missing, cell.value)], None)

    @property
    def key(self) -> Any:
        """The key of a row from its value, its node and its class."""
        value = expr.col(self.name)
        number = bin_number(self.column, value, self.grid) if self.grid.n else value - self.grid.low
        number = expr.first_present(number, self.n_bins + 1) if self.column.has_missing else number
        number = expr.col("node") * self.per_node + number + self.first
        return number if self.n_classes == 1 else number * self.n_classes + expr.col("target")


@dataclass(eq=False)
class FirstBins:
    """Counts rows in the first bins of columns of numbers."""

    description: Description
    ends: dict[BinGrid, tuple[Array, Array]] = field(default_factory=dict)

    def can_count(self, request: Request) -> bool:
        """Whether a request is the first one about a column of numbers, whose bins have the same ends everywhere."""
        column = self.description.columns[request.column]
        if not request.is_first or column.code_of is not None or column.ticks != 1 or len(request.grids) != 1:
            return False
        return bool(request.grids[0].n) or not isinstance(request.grids[0].low, float)

    @cached_property
    def target(self) -> QueriedTarget:
        """The target, whose classes are numbers if they are few."""
        target = self.description.target
        return target if self.n_classes == 1 else target.with_class_numbers()

    @property
    def n_classes(self) -> int:
        """The number of classes in keys; 1: they are no part of them."""
        n = len(self.description.summary.target.classes)
        return n if 1 < n <= _NUMBERED_CLASSES else 1

    def most_bins(self, n_nodes: int) -> int:
        """Return the most bins for so many nodes: as many as are counted fast, but not too few."""
        return max(_FEWEST_BINS, _MOST_KEYS // (n_nodes * self.n_classes) - 2)

    def count(self, tree: Arrays, requests: Sequence[Request]) -> dict[Request, Bins]:
        """Return the answer to each request."""
        nodes_of: dict[tuple[int, BinGrid], list[int]] = {}
        for request in requests:
            nodes_of.setdefault((request.column, request.grids[0]), []).append(request.node)
        answers: dict[Request, Bins] = {}
        by_nodes = sorted(nodes_of.items(), key=lambda item: item[1])
        for nodes, group in groupby(by_nodes, key=lambda item: item[1]):
            chosen = [key for key, _ in group]
            for start in range(0, len(chosen), _COLUMNS):
                answers |= self._count_columns(tree, nodes, chosen[start : start + _COLUMNS])
        return answers

    def _count_columns(
        self, tree: Arrays, nodes: Sequence[int], chosen: Sequence[tuple[int, BinGrid]]
    ) -> Iterator[tuple[Request, Bins]]:
        target, columns, n_classes = self.target, self.description.columns, self.n_classes
        numbered, first = [], 0
        for i, (column, grid) in enumerate(chosen):
            numbered.append(_ColumnKeys(f"value_{i}", columns[column], grid, first, n_classes))
            first += numbered[-1].per_node * len(nodes)
        node = route(tree, columns, {node: expr.lit(i) for i, node in enumerate(nodes)})
        values = {"node": node, **target.keys, **target.values, **{keys.name: keys.value for keys in numbered}}
        derived = [*target.steps, {f"key_{i}": keys.key for i, keys in enumerate(numbered)}]
        also = [name for name in target.keys if name != "target" or n_classes == 1]
        fetched = self.description.rows.group_by_each(
            values, list(derived[-1]), also, target.summed, expr.col("node") >= 0, derived
        )
        key = np.asarray(fetched["key"]).astype(np.int64)
        if n_classes > 1:
            fetched["target"], key = key % n_classes, key // n_classes
        stats = target.stats(fetched, len(self.description.summary.target.classes))
        order = np.argsort(key, kind="stable")
        key, stats = key[order], stats.take(order)
        for (column, grid), keys in zip(chosen, numbered, strict=True):
            for i, node in enumerate(nodes):
                start = keys.first + i * keys.per_node
                own = slice(*np.searchsorted(key, [start, start + keys.per_node]))
                yield Request(node, column, (grid,)), self._read(keys, key[own] - start, stats.take(own))

    def _read(self, keys: _ColumnKeys, number: Ints, stats: Stats) -> Bins:
        """Return the groups of a node and column as bins."""
        n = keys.n_bins
        n_present = int(np.searchsorted(number, n + 1))
        bins = np.minimum(number[:n_present], n - 1)  # the largest value may be beyond the last bin
        if keys.grid.n:
            if keys.grid not in self.ends:
                self.ends[keys.grid] = keys.grid.ends()
            low, high = (end[bins] for end in self.ends[keys.grid])
        else:
            low = high = bins + np.int64(keys.grid.low)
            bins = np.full(n_present, SINGLE_VALUE)
        missing = stats.take(slice(n_present, None))
        missing = missing.total() if len(missing) else Stats.zeros(1, stats.counts.shape[1])
        grids = np.zeros(n_present, np.int64)
        return merge_bins([Bins(grids, bins, low, high, low == high, stats.take(slice(n_present)), missing)])
