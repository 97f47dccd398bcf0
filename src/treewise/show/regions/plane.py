"""A plane of two columns with every other column fixed at one value, and the exact areas of a tree on it.

Independent of matplotlib. ``tree/regions`` gives the conditions of every leaf; the plane keeps the leaves that the
fixed values satisfy, and of each the conditions on the two columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.data.table import Table
from treewise.errors import ColumnError, DataError, Param, ParameterError, brief, did_you_mean, join_few
from treewise.tree.regions.region import Condition, Interval, cell_value, terminal_regions
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]
Span = Interval | tuple[str, ...]  # an interval of numbers, or levels

_MAX_LEVELS = 40  # of an axis
_FEW_VALUES, _ROWS_PER_VALUE = 12, 8  # a column of few values with many rows each is jittered
_MARGIN = 0.05  # of the range, on each side


@dataclass(frozen=True)
class PlaneAxis:
    """A column as an axis with its limits.

    Levels are at 0, 1, 2, …; integers and dates at their distance from the ``origin``, because large ones that are
    close would be the same float.
    """

    encoding: Encoding
    low: float
    high: float
    data_range: tuple[float, float] = (0.0, 0.0)  # the smallest and the largest number in the data
    origin: int = 0

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.encoding.name

    def position(self, value: float | int) -> float:
        """Return the position of a number."""
        return float(value - self.origin) if self.origin else float(value)

    def format(self, position: float) -> str:
        """Format the number or date at a position, to seven digits.

        >>> PlaneAxis(Encoding("length", "number"), 0.0, 1.0).format(0.00015674169799384519)
        '0.0001567417'
        """
        if self.encoding.kind == "number":
            return self.encoding.format(float(f"{position:.7g}"))
        return self.encoding.format(self.origin + round(position))

    def positions(self, table: Table) -> Floats:
        """Return the positions of the rows of a table; NaN where the value is missing or not on the axis."""
        values = encode.encode_column(self.encoding, table[self.name], table.name)
        if self.encoding.is_categorical:
            return np.where(values >= 0, values, np.nan).astype(np.float64)
        missing = encode.is_missing(self.encoding, values)
        positions = (np.where(missing, self.origin, values) - self.origin).astype(np.float64)
        return np.where(missing | ~np.isfinite(positions), np.nan, positions)

    def intervals(self, span: Span) -> list[tuple[float, float]]:
        """Return the parts of the axis that a span covers: one interval of numbers, or one per run of adjacent levels.

        >>> town = PlaneAxis(Encoding("town", "nominal", ("Bari", "Rome", "Turin")), -0.5, 2.5)
        >>> town.intervals(("Bari", "Turin")), town.intervals(("Rome", "Turin"))
        ([(-0.5, 0.5), (1.5, 2.5)], [(0.5, 2.5)])
        """
        if isinstance(span, Interval):
            low = self.low if span.low is None else max(self.low, self.position(span.low))
            high = self.high if span.high is None else min(self.high, self.position(span.high))
            return [(low, high)] if low < high else []
        codes = sorted(self.encoding.levels.index(level) for level in span)
        starts = [c for before, c in pairwise([-2, *codes]) if c != before + 1]
        ends_ = [c for c, after in pairwise([*codes, math.inf]) if after != c + 1]
        return [(first - 0.5, last + 0.5) for first, last in zip(starts, ends_, strict=True)]


@dataclass(frozen=True)
class PlaneArea:
    """The area of one leaf on the plane: a span of each axis."""

    node: int
    x: Span
    y: Span

    def contains(self, x: Any, y: Any) -> bool:
        """Return whether a point, of numbers or names of levels, is in the area."""
        return all(
            span.holds(value) if isinstance(span, Interval) else value in span
            for span, value in ((self.x, x), (self.y, y))
        )


@dataclass(frozen=True)
class Plane:
    """Two axes, and the fixed values of all other columns (None is missing)."""

    x: PlaneAxis
    y: PlaneAxis
    fixed: Mapping[str, Any]

    @property
    def axes(self) -> tuple[PlaneAxis, PlaneAxis]:
        """Both axes."""
        return self.x, self.y

    def areas(self, tree: Tree) -> tuple[tuple[PlaneArea, ...], tuple[str, ...]]:
        """Return the areas of the leaves, disjoint and covering the plane, and the fixed columns that select leaves."""
        pairs = list(self._areas_with_columns(tree))
        relevant = {column for _, columns in pairs for column in columns}
        return tuple(area for area, _ in pairs), tuple(name for name in tree.columns if name in relevant)

    def _areas_with_columns(self, tree: Tree) -> Iterable[tuple[PlaneArea, list[str]]]:
        """Yield the areas, each with the fixed columns on its path."""
        values = {
            i: cell_value(encoding, self.fixed[encoding.name])
            for i, encoding in enumerate(tree.encodings)
            if encoding.name in self.fixed
        }
        index_of = {encoding.name: i for i, encoding in enumerate(tree.encodings)}
        for node, region in terminal_regions(tree):
            conditions = region.conditions
            if not all(condition.holds(values[i]) for i, condition in conditions.items() if i in values):
                continue
            x, y = (
                _span(conditions.get(index_of.get(axis.name, -1)), axis, tree.encodings[index_of[axis.name]])
                if axis.name in index_of
                else _whole_axis(axis)
                for axis in self.axes
            )
            if x != () and y != ():
                yield PlaneArea(node, x, y), [tree.columns[i] for i in conditions if i in values]


def _whole_axis(axis: PlaneAxis) -> Span:
    return axis.encoding.levels if axis.encoding.is_categorical else Interval(missing=False)


def _span(condition: Condition | None, axis: PlaneAxis, encoding: Encoding) -> Span:
    """Return the part of an axis that satisfies a condition; () if there is none."""
    if condition is None:
        return _whole_axis(axis)
    if isinstance(condition, Interval):
        return replace(condition, missing=False) if condition.present else ()
    codes = {level: code for code, level in enumerate(encoding.levels)}
    return tuple(level for level in axis.encoding.levels if condition.holds(codes.get(level, encode.UNSEEN)))


# -- construction ---------------------------------------------------------------------------------------------


def make_plane(
    trees: Sequence[Tree], table: Table, x: str, y: str, fixed: Mapping[str, Any] | None, others: Sequence[str] = ()
) -> Plane:
    """Make the plane for trees, and for models that use the columns ``others``, with the rows of a table."""
    if x == y:
        raise ParameterError(Param("x") + " and " + Param("y") + f" are both {brief(x)}: a plane has two columns.")
    axes = [_make_axis(trees, table, name, others) for name in (x, y)]
    encodings = {e.name: e for tree in reversed(trees) for e in tree.encodings}
    used = {tree.columns[i] for tree in trees for i in np.unique(tree.arrays.column).tolist() if i >= 0}
    names = [name for name in dict.fromkeys([*encodings, *others]) if name in used or name in others]
    fixed_values = _check_fixed(fixed, [*encodings, *others], (x, y))
    values = {}
    for name in names:
        if name in (x, y):
            continue
        encoding = encodings[name] if name in encodings else encode.fit_encoding(table[name]).encoding
        values[name] = (
            _fixed_value(encoding, fixed_values[name]) if name in fixed_values else _typical_value(encoding, table)
        )
    return Plane(axes[0], axes[1], values)


def join_planes(planes: Sequence[Plane]) -> Plane:
    """Return one plane that has room for the rows of several tables; the fixed values are those of the first."""
    x, y = _join_axes([plane.x for plane in planes]), _join_axes([plane.y for plane in planes])
    return replace(planes[0], x=x, y=y)


def _join_axes(axes: Sequence[PlaneAxis]) -> PlaneAxis:
    first = axes[0]
    if first.encoding.is_categorical:
        levels = tuple(dict.fromkeys(level for axis in axes for level in axis.encoding.levels))
        return replace(first, encoding=replace(first.encoding, levels=levels), high=len(levels) - 0.5)
    shifts = [axis.origin - first.origin for axis in axes]
    return replace(
        first,
        low=min(axis.low + shift for axis, shift in zip(axes, shifts, strict=True)),
        high=max(axis.high + shift for axis, shift in zip(axes, shifts, strict=True)),
        data_range=(
            min(axis.data_range[0] + shift for axis, shift in zip(axes, shifts, strict=True)),
            max(axis.data_range[1] + shift for axis, shift in zip(axes, shifts, strict=True)),
        ),
    )


def _make_axis(trees: Sequence[Tree], table: Table, name: str, others: Sequence[str]) -> PlaneAxis:
    """Make the axis of a column: as the trees encode it, else as the table has it."""
    encodings = [e for tree in trees for e in tree.encodings if e.name == name]
    names = list(dict.fromkeys([*(c for tree in trees for c in tree.columns), *others]))
    if not encodings and name not in others and names:
        hint, listing = did_you_mean(name, names), join_few([*map(safe, names)])
        raise ColumnError(f'the models have no column "{safe(name)}".{hint} Columns: {listing}.')
    encoding = encodings[0] if encodings else encode.fit_encoding(table[name]).encoding
    if any(e.is_categorical != encoding.is_categorical for e in encodings):
        raise DataError(f'column "{safe(name)}" is numeric for one tree and categorical for another.')
    if not encoding.is_categorical:
        return _with_range(PlaneAxis(encoding, 0.0, 1.0), table, trees)
    levels = tuple(dict.fromkeys(level for e in [encoding, *encodings] for level in e.levels))
    if len(levels) > _MAX_LEVELS:
        raise DataError(
            f'column "{safe(name)}" has {len(levels):,} levels; an axis shows up to {_MAX_LEVELS}.'
            " Choose another column."
        )
    if not levels:
        raise DataError(f'column "{safe(name)}" has no levels: there is nothing to draw along it.')
    return PlaneAxis(replace(encoding, levels=levels), -0.5, len(levels) - 0.5)


def _with_range(axis: PlaneAxis, table: Table, trees: Sequence[Tree]) -> PlaneAxis:
    """Extend a numeric axis over all rows, and to thresholds not far beyond."""
    if axis.encoding.kind != "number":
        values = encode.encode_column(axis.encoding, table[axis.name], table.name)
        present = values[~encode.is_missing(axis.encoding, values)]
        axis = replace(axis, origin=int(present.min()) if len(present) else 0)
    positions = axis.positions(table)
    positions = positions[~np.isnan(positions)]
    if len(positions) == 0:
        raise DataError(f'column "{safe(axis.name)}" has no number in {table.name}: there is nothing to draw along it.')
    data_range = low, high = float(positions.min()), float(positions.max())
    reach = (high - low) or max(1.0, abs(low))
    cuts = [cut for tree in trees for cut in thresholds(tree, axis) if low - reach <= cut <= high + reach]
    low, high = min([low, *cuts]), max([high, *cuts])
    margin = max(_MARGIN * ((high - low) or 10.0), 1.5 * jitter_width(positions))
    return replace(axis, low=low - margin, high=high + margin, data_range=data_range)


def jitter_width(positions: Floats) -> float:
    """Return how far points may be jittered where many rows share few values; else 0.

    >>> jitter_width(np.array([1.0, 3.0, 2.0] * 9)), jitter_width(np.arange(99.0))
    (0.2, 0.0)
    """
    present = positions[~np.isnan(positions)]
    values = np.unique(present)
    overlaps = 1 < len(values) <= _FEW_VALUES and len(present) >= _ROWS_PER_VALUE * len(values)
    return 0.2 * float(np.diff(values).min()) if overlaps else 0.0


def thresholds(tree: Tree, axis: PlaneAxis) -> list[float]:
    """Return the thresholds of a tree on a numeric axis, those nearest the root first."""
    a = tree.arrays
    if axis.name not in tree.columns or axis.encoding.is_categorical:
        return []
    nodes = np.flatnonzero(a.column == tree.columns.index(axis.name))
    nodes = nodes[np.argsort(tree.depths[nodes], kind="stable")]
    cuts = a.cut if axis.encoding.kind == "number" else a.cut_int
    return list(dict.fromkeys(axis.position(cut) for cut in cuts[nodes].tolist() if math.isfinite(cut)))


def _check_fixed(fixed: Mapping[str, Any] | None, known: Sequence[str], axes: tuple[str, str]) -> Mapping[str, Any]:
    if fixed is not None and not isinstance(fixed, Mapping):
        raise ParameterError(
            "must be a dict of column → value, such as " + Param("fixed", {"age": 40}) + ".",
            parameter="fixed",
            value=fixed,
        )
    for name in fixed or {}:
        if name in axes:
            raise ParameterError(
                f'column "{safe(name)}" is an axis of the picture.', parameter="fixed", hint="Leave it out."
            )
        if name not in known:
            raise ColumnError(
                f'no column "{safe(name)}".{did_you_mean(name, known)} Columns: {join_few(known)}.', parameter="fixed"
            )
    return fixed or {}


def _fixed_value(encoding: Encoding, cell: Any) -> Any:
    """Return the given value of a column, or raise if the column never has it."""
    value = cell_value(encoding, cell)
    if value == encode.UNSEEN and encoding.is_categorical:
        hint = did_you_mean(str(cell), encoding.levels)
        levels = join_few([safe(level) for level in encoding.levels])
        raise ParameterError(
            f'"{safe(encoding.name)}" is never "{safe(cell)}".', parameter="fixed", hint=f"{hint} Levels: {levels}."
        )
    return cell


def _typical_value(encoding: Encoding, table: Table) -> Any:
    """Return the median of numbers (of two, the lower) or the most frequent level; None where most are missing."""
    values = encode.encode_column(encoding, table[encoding.name], table.name)
    present = np.sort(values[~encode.is_missing(encoding, values)])
    if 2 * len(present) < len(values):
        return None
    if encoding.is_categorical:
        present = present[present >= 0]
        return encoding.levels[int(np.bincount(present).argmax())] if len(present) else None
    if len(present) == 0:
        return None
    middle = present[(len(present) - 1) // 2].item()
    return encoding.format(middle) if encoding.kind == "datetime" else middle
