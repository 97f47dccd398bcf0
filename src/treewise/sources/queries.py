"""The source of a database: each question is a read-only group-by on a relation, and only counts come back.

A row's node is an expression: the tree so far as CASE WHEN. Its bins are arithmetic in the engine: those of all columns
are counted by one query first (``first_bins.py``). Those that may hide a better threshold are asked for again, column
by column, and come back with their smallest and their largest value. All that is added up is whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from treewise.data import relation as expr
from treewise.data.relation import Relation
from treewise.sources.first_bins import FirstBins
from treewise.sources.query_facts import Description, QueriedColumn, describe
from treewise.sources.query_nodes import NOWHERE, bin_number, literal, route
from treewise.train.column_roles import ColumnRoles
from treewise.train.fixed_point import to_units
from treewise.train.settings import Settings
from treewise.train.source import (
    SINGLE_VALUE,
    Array,
    BinGrid,
    Bins,
    Ints,
    Request,
    Source,
    Stats,
    TargetRange,
    merge_bins,
)
from treewise.tree.arrays import Arrays

_FEW_INTERVALS = 3  # that are tried one after the other


@dataclass(frozen=True)
class _BinNumbers:
    """The keys that the rows of a request get: those of one grid, or of the rows without a value (grid −1)."""

    request: int
    grid: int
    first: int
    n: int


class QuerySource(Source):
    """A relation that is learned from by queries; ``on_query`` receives the text of each."""

    def __init__(self, description: Description) -> None:
        self.summary = description.summary
        self.description = description
        self.first_bins = FirstBins(description)

    @classmethod
    @contextmanager
    def open(cls, relation: Relation, roles: ColumnRoles, settings: Settings) -> Iterator[QuerySource]:
        """Describe a relation, which takes a few queries."""
        yield cls(describe(relation, roles, settings))

    def ranges(self) -> list[tuple[Any, Any] | None]:
        """Return the smallest and the largest value of each column of numbers."""
        return [column.ends for column in self.description.columns]

    def most_first_bins(self, n_nodes: int) -> int:
        """Return the most bins that a column of numbers is to be counted in first, at so many nodes."""
        return self.first_bins.most_bins(n_nodes)

    def count(self, tree: Arrays, requests: Sequence[Request]) -> list[Bins]:
        """Count rows by bins: first those of all columns of numbers by one query, else one query for each column."""
        together = [request for request in requests if self.first_bins.can_count(request)]
        answers = self.first_bins.count(tree, together) if together else {}
        alone = [request for request in requests if request not in answers]
        for column in sorted({request.column for request in alone}):
            chosen = [request for request in alone if request.column == column]
            answers |= zip(chosen, self._count_column(tree, chosen), strict=True)
        return [answers[request] for request in requests]

    def _count_column(self, tree: Arrays, requests: Sequence[Request]) -> list[Bins]:
        column, target = self.description.columns[requests[0].column], self.description.target
        layout, exact = _lay_out(column, requests)
        keys = {request.node: _key(column, request, layout, i) for i, request in enumerate(requests)}
        key = route(tree, self.description.columns, keys)
        value = column.cell.value
        values = {"bin": key, **target.keys, **target.values}
        grouped, derived = ["bin", *target.keys], list(target.steps)
        aggregates = dict(target.sums)
        values["value"] = value
        if column.code_of is None:
            aggregates |= {"low": expr.col("value").min(), "high": expr.col("value").max()}
        if exact:
            derived.append({"single": expr.choose([(expr.col("bin") < exact, expr.col("value"))], None)})
            grouped.append("single")
        rows = self.description.rows
        if not any(request.is_first for request in requests):
            rows = rows.where(_is_near(column, [grid for request in requests for grid in request.grids]))
        fetched = rows.group(values, grouped, aggregates, expr.col("bin") >= 0, derived)
        return self._read(column, requests, layout, exact, fetched)

    def _read(
        self,
        column: QueriedColumn,
        requests: Sequence[Request],
        layout: Sequence[_BinNumbers],
        exact: int,
        fetched: Any,
    ) -> list[Bins]:
        """Return fetched groups as the bins of each request."""
        stats = self.description.target.stats(fetched, len(self.summary.target.classes))
        key = np.asarray(fetched["bin"]).astype(np.int64)
        firsts = np.array([bins.first for bins in layout])
        part = np.searchsorted(firsts, key, side="right") - 1
        low, high = _ends(column, key, exact, fetched)
        order = np.argsort(part, kind="stable")
        starts = np.searchsorted(part[order], np.arange(len(layout) + 1))
        n_classes = stats.counts.shape[1]
        empty = Stats.zeros(1, n_classes)
        missing = [empty] * len(requests)
        parts: list[list[Bins]] = [[] for _ in requests]
        for i, bins in enumerate(layout):
            own = order[starts[i] : starts[i + 1]]
            if bins.grid < 0:
                missing[bins.request] = stats.take(own).total() if len(own) else empty
                continue
            numbers = np.full(len(own), SINGLE_VALUE) if bins.first < exact else key[own] - bins.first
            grid = np.full(len(own), bins.grid)
            is_exact = np.ones(len(own), bool)
            parts[bins.request].append(Bins(grid, numbers, low[own], high[own], is_exact, stats.take(own), empty))
        none = np.zeros(0, np.int64)
        start = [Bins(none, none, low[:0], high[:0], none > 0, stats.take(none), m) for m in missing]
        return [merge_bins([first, *rest]) for first, rest in zip(start, parts, strict=True)]

    # -- regression --------------------------------------------------------------------------------------------------

    def target_ranges(self, tree: Arrays, nodes: Sequence[int]) -> list[TargetRange]:
        """Return the range of the targets of each node."""
        key = route(tree, self.description.columns, {node: expr.lit(i) for i, node in enumerate(nodes)})
        values = {"node": key, "value": self.description.target.cell.as_float}
        aggregates = {"low": expr.col("value").min(), "high": expr.col("value").max()}
        fetched = self.description.rows.group(values, ["node"], aggregates, expr.col("node") >= 0)
        ends = np.array([fetched["low"], fetched["high"]], np.float64) + 0.0
        integers = to_units(ends, self.summary.target_scale)
        at = {int(node): i for i, node in enumerate(fetched["node"])}
        return [
            TargetRange(int(integers[0, at[i]]), int(integers[1, at[i]]), float(ends[0, at[i]]), float(ends[1, at[i]]))
            for i in range(len(nodes))
        ]

    def moments(self, tree: Arrays, centres: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """Return Σ w·d and Σ w·d² of each node for d = (y − mean) >> shift."""
        target, nodes = self.description.target, list(centres)
        key = route(tree, self.description.columns, {node: expr.lit(i) for i, node in enumerate(nodes)})
        cases = [(expr.col("node") == i, *centres[node]) for i, node in enumerate(nodes)]
        values = {"node": key, **target.keys, **target.values}
        grouped, derived = ["node", *target.keys], [*target.steps, *target.deviation_digits(cases)]
        fetched = self.description.rows.group(values, grouped, target.digit_sums, expr.col("node") >= 0, derived)
        sums = dict.fromkeys(nodes, (0, 0))
        _, weights = target.classes_and_weights(fetched, len(fetched["node"]))
        for i, (node, weight) in enumerate(zip(fetched["node"], weights.tolist(), strict=True)):
            number = nodes[int(node)]
            total, squares = target.moments(fetched, i, centres[number][1])
            sums[number] = sums[number][0] + weight * total, sums[number][1] + weight * squares
        return sums


# -- the bin of a row ---------------------------------------------------------------------------------------------


def _lay_out(column: QueriedColumn, requests: Sequence[Request]) -> tuple[list[_BinNumbers], int]:
    """Number the bins of all requests: first those of single values, whose number is returned, then intervals."""
    single: list[tuple[int, int, int]] = []
    several: list[tuple[int, int, int]] = []
    for i, request in enumerate(requests):
        if column.encoding.is_categorical or column.code_of is not None:
            single.append((i, 0, 1))
        for position, grid in enumerate(request.grids if column.code_of is None else ()):
            (several if grid.n else single).append((i, position, grid.n + 1))
        if request.is_first and column.has_missing:
            several.append((i, -1, 1))
    layout, first = [], 0
    for i, position, n in (*single, *several):
        layout.append(_BinNumbers(i, position, first, n))
        first += n
    return layout, len(single)


def _key(column: QueriedColumn, request: Request, layout: Sequence[_BinNumbers], number: int) -> Any:
    """Return the bin of a row at the node of a request, as an expression."""
    own = [bins for bins in layout if bins.request == number]
    missing = next((bins.first for bins in own if bins.grid < 0), NOWHERE)
    if column.code_of is not None:
        present: Any = expr.lit(next(bins.first for bins in own if bins.grid >= 0))
    else:
        grids = sorted((bins for bins in own if bins.grid >= 0), key=lambda bins: request.grids[bins.grid].low)
        present = _find_interval(column, [(request.grids[bins.grid], bins.first) for bins in grids])
    return expr.choose([(column.cell.is_missing, missing)] if column.has_missing else [], present)


def _find_interval(column: QueriedColumn, grids: Sequence[tuple[BinGrid, int]]) -> Any:
    """Return the bin of a value in one of some disjoint intervals, in order: by bisection, as there may be many."""
    value = column.cell.value
    if len(grids) > _FEW_INTERVALS:
        middle = len(grids) // 2
        is_before = value < literal(column, grids[middle][0].low)
        before, after = (_find_interval(column, part) for part in (grids[:middle], grids[middle:]))
        return expr.choose([(is_before, before)], after)
    cases = []
    for grid, first in grids:
        inside = (value >= literal(column, grid.low)) & (value <= literal(column, grid.high))
        cases.append((inside, bin_number(column, value, grid) + first if grid.n else expr.lit(first)))
    return expr.choose(cases, NOWHERE)


def _is_near(column: QueriedColumn, grids: Sequence[BinGrid]) -> Any:
    """Return whether a value may be in one of some intervals: most rows are left out before their node is computed."""
    merged: list[tuple[Any, Any]] = []
    for low, high in sorted((grid.low, grid.high) for grid in grids):
        if merged and (low <= merged[-1][1] or len(merged) == _FEW_INTERVALS):
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    value = column.cell.value
    inside = [(value >= literal(column, low)) & (value <= literal(column, high)) for low, high in merged]
    return reduce(or_, inside)


def _ends(column: QueriedColumn, key: Ints, exact: int, fetched: Any) -> tuple[Array, Array]:
    """Return the smallest and the largest value of each fetched group."""
    if column.code_of is not None:
        cells = [value for value, k in zip(fetched["single"], key.tolist(), strict=True) if k < exact]
        codes = np.zeros(len(key), column.dtype)
        codes[key < exact] = column.encode(cells)
        return codes, codes
    return column.encode(fetched["low"]), column.encode(fetched["high"])
