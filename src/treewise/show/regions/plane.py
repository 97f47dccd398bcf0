"""The plane of a picture: two columns as axes, every other column held at one value; and a tree's areas on it, exactly.

The ground of ``draw.regions``; nothing here knows matplotlib. ``treewise.tree.tree.regions.region`` says what is possible of each column
at every end of a tree; of these regions the plane keeps those that the held values are in, and of each the two columns.
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
from treewise.errors import ColumnError, DataError, Param, ParameterError, did_you_mean, listing, shown
from treewise.tree.regions.region import Condition, Interval, cell_value, ends
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]
Span = Interval | tuple[str, ...]  # numbers from … to …, or levels

MOST_LEVELS = 40  # more bands could not be read
FEW_VALUES, MANY_ROWS = 12, 8  # of a column of numbers; rows a value, so that these are drawn beside each other
MARGIN = 0.05  # of the range, on each side


@dataclass(frozen=True)
class PlaneAxis:
    """A column as an axis: what it is, and from where to where it is shown.

    Levels stand at 0, 1, 2, …; whole numbers and dates at their distance from the ``origin``, for large ones that are
    near each other would be the same float.
    """

    encoding: Encoding
    low: float
    high: float
    reach: tuple[float, float] = (0.0, 0.0)  # of numbers: the least and the largest there are
    origin: int = 0

    @property
    def name(self) -> str:
        """The column's name."""
        return self.encoding.name

    def place(self, value: float | int) -> float:
        """Return where a number lies."""
        return float(value - self.origin) if self.origin else float(value)

    def say(self, place: float) -> str:
        """Write the number or the date at a place, shortly: seven digits are more than a picture can show.

        >>> PlaneAxis(Encoding("length", "number"), 0.0, 1.0).say(0.00015674169799384519)
        '0.0001567417'
        """
        if self.encoding.kind == "number":
            return self.encoding.format(float(f"{place:.7g}"))
        return self.encoding.format(self.origin + round(place))

    def places(self, table: Table) -> Floats:
        """Return where the rows of a table lie; NaN where the value is missing or not on the axis."""
        values = encode.encode_column(self.encoding, table[self.name], table.name)
        if self.encoding.is_categorical:
            return np.where(values >= 0, values, np.nan).astype(np.float64)
        gone = encode.is_missing(self.encoding, values)
        places = (np.where(gone, self.origin, values) - self.origin).astype(np.float64)
        return np.where(gone | ~np.isfinite(places), np.nan, places)

    def stretches(self, span: Span) -> list[tuple[float, float]]:
        """Return the parts of the axis that a span takes up: one of numbers, one a run of neighbouring levels.

        >>> town = PlaneAxis(Encoding("town", "nominal", ("Bari", "Rome", "Turin")), -0.5, 2.5)
        >>> town.stretches(("Bari", "Turin")), town.stretches(("Rome", "Turin"))
        ([(-0.5, 0.5), (1.5, 2.5)], [(0.5, 2.5)])
        """
        if isinstance(span, Interval):
            low = self.low if span.low is None else max(self.low, self.place(span.low))
            high = self.high if span.high is None else min(self.high, self.place(span.high))
            return [(low, high)] if low < high else []
        codes = sorted(self.encoding.levels.index(level) for level in span)
        starts = [c for before, c in pairwise([-2, *codes]) if c != before + 1]
        ends_ = [c for c, after in pairwise([*codes, math.inf]) if after != c + 1]
        return [(first - 0.5, last + 0.5) for first, last in zip(starts, ends_, strict=True)]


@dataclass(frozen=True)
class PlaneArea:
    """Where on the plane rows end at one node of a tree: a span of each axis."""

    node: int
    x: Span
    y: Span

    def holds(self, x: Any, y: Any) -> bool:
        """Tell whether a point is in it: numbers, or names of levels."""
        return all(
            span.holds(value) if isinstance(span, Interval) else value in span
            for span, value in ((self.x, x), (self.y, y))
        )


@dataclass(frozen=True)
class Plane:
    """Two axes, and the values at which all other columns are held (None is missing)."""

    x: PlaneAxis
    y: PlaneAxis
    held: Mapping[str, Any]

    @property
    def axes(self) -> tuple[PlaneAxis, PlaneAxis]:
        """Both."""
        return self.x, self.y

    def areas(self, tree: Tree) -> tuple[tuple[PlaneArea, ...], tuple[str, ...]]:
        """Return where rows end at which node: areas that are disjoint and leave nothing of the plane out.

        And the other columns whose held values decide which ends are seen.
        """
        found = list(self._met(tree))
        met = {column for _, columns in found for column in columns}
        return tuple(area for area, _ in found), tuple(name for name in tree.columns if name in met)

    def _met(self, tree: Tree) -> Iterable[tuple[PlaneArea, list[str]]]:
        """Go through the areas, each with the held columns that lead to it."""
        values = {
            i: cell_value(encoding, self.held[encoding.name])
            for i, encoding in enumerate(tree.encodings)
            if encoding.name in self.held
        }
        place = {encoding.name: i for i, encoding in enumerate(tree.encodings)}
        for node, region in ends(tree):
            met = region.conditions
            if not all(condition.holds(values[i]) for i, condition in met.items() if i in values):
                continue
            x, y = (
                span_of(met.get(place.get(axis.name, -1)), axis, tree.encodings[place[axis.name]])
                if axis.name in place
                else everything(axis)
                for axis in self.axes
            )
            if x != () and y != ():
                yield PlaneArea(node, x, y), [tree.columns[i] for i in met if i in values]


def everything(axis: PlaneAxis) -> Span:
    """Return the whole axis."""
    return axis.encoding.levels if axis.encoding.is_categorical else Interval(missing=False)


def span_of(condition: Condition | None, axis: PlaneAxis, encoding: Encoding) -> Span:
    """Return what a condition of a tree's column leaves of an axis; () where it is nothing."""
    if condition is None:
        return everything(axis)
    if isinstance(condition, Interval):
        return replace(condition, missing=False) if condition.present else ()
    codes = {level: code for code, level in enumerate(encoding.levels)}
    return tuple(level for level in axis.encoding.levels if condition.holds(codes.get(level, encode.UNSEEN)))


# -- making one -------------------------------------------------------------------------------------------------------


def plane_for(
    trees: Sequence[Tree], table: Table, x: str, y: str, held: Mapping[str, Any] | None, others: Sequence[str] = ()
) -> Plane:
    """Make the plane that shows some trees, and models that ask about ``others`` besides, with the rows of a table."""
    if x == y:
        raise ParameterError(Param("x") + " and " + Param("y") + f" are both {shown(x)}: a plane has two columns.")
    axes = [axis_for(trees, table, name, others) for name in (x, y)]
    known = {e.name: e for tree in reversed(trees) for e in tree.encodings}
    asked = {tree.columns[i] for tree in trees for i in np.unique(tree.arrays.column).tolist() if i >= 0}
    names = [name for name in dict.fromkeys([*known, *others]) if (name in asked or name in others)]
    given = check_held(held, [*known, *others], (x, y))
    values = {}
    for name in names:
        if name in (x, y):
            continue
        encoding = known[name] if name in known else encode.fit_encoding(table[name]).encoding
        values[name] = held_value(encoding, given[name]) if name in given else usual_value(encoding, table)
    return Plane(axes[0], axes[1], values)


def axis_for(trees: Sequence[Tree], table: Table, name: str, others: Sequence[str]) -> PlaneAxis:
    """Make the axis of a column: as the trees know it, else as the table has it."""
    known = [e for tree in trees for e in tree.encodings if e.name == name]
    names = list(dict.fromkeys([*(c for tree in trees for c in tree.columns), *others]))
    if not known and name not in others and names:
        hint, given = did_you_mean(name, names), listing([*map(safe, names)])
        raise ColumnError(f'no column "{safe(name)}" is known to what is drawn.{hint} Columns: {given}.')
    encoding = known[0] if known else encode.fit_encoding(table[name]).encoding
    if any(e.is_categorical != encoding.is_categorical for e in known):
        raise DataError(f'column "{safe(name)}" is numbers for one tree and categories for another: draw them apart.')
    if not encoding.is_categorical:
        return with_range(PlaneAxis(encoding, 0.0, 1.0), table, trees)
    levels = tuple(dict.fromkeys(level for e in [encoding, *known] for level in e.levels))
    if len(levels) > MOST_LEVELS:
        raise DataError(
            f'column "{safe(name)}" has {len(levels):,} levels; an axis shows up to {MOST_LEVELS}.'
            " Choose another column."
        )
    if not levels:
        raise DataError(f'column "{safe(name)}" has no levels: there is nothing to draw along it.')
    return PlaneAxis(replace(encoding, levels=levels), -0.5, len(levels) - 0.5)


def with_range(axis: PlaneAxis, table: Table, trees: Sequence[Tree]) -> PlaneAxis:
    """Let an axis of numbers reach as far as the rows do, and to thresholds a little way beyond."""
    if axis.encoding.kind != "number":
        values = encode.encode_column(axis.encoding, table[axis.name], table.name)
        there = values[~encode.is_missing(axis.encoding, values)]
        axis = replace(axis, origin=int(there.min()) if len(there) else 0)
    places = axis.places(table)
    places = places[~np.isnan(places)]
    if len(places) == 0:
        raise DataError(f'column "{safe(axis.name)}" has no number in {table.name}: there is nothing to draw along it.')
    low, high = float(places.min()), float(places.max())
    reach = (high - low) or max(1.0, abs(low))
    cuts = [cut for tree in trees for cut in thresholds(tree, axis) if low - reach <= cut <= high + reach]
    low, high = min([low, *cuts]), max([high, *cuts])
    edge = max(MARGIN * ((high - low) or 10.0), 1.5 * room_beside(places))
    return replace(axis, low=low - edge, high=high + edge, reach=(float(places.min()), float(places.max())))


def room_beside(places: Floats) -> float:
    """Return how far rows of one value may be moved apart, where many rows of few values would hide each other.

    >>> room_beside(np.array([1.0, 3.0, 2.0] * 9)), room_beside(np.array([1.0, 3.0, 2.0])), room_beside(np.arange(99.0))
    (0.2, 0.0, 0.0)
    """
    there = places[~np.isnan(places)]
    values = np.unique(there)
    hidden = 1 < len(values) <= FEW_VALUES and len(there) >= MANY_ROWS * len(values)
    return 0.2 * float(np.diff(values).min()) if hidden else 0.0


def thresholds(tree: Tree, axis: PlaneAxis) -> list[float]:
    """Return where a tree cuts an axis of numbers, those nearest the root first."""
    a = tree.arrays
    if axis.name not in tree.columns or axis.encoding.is_categorical:
        return []
    nodes = np.flatnonzero(a.column == tree.columns.index(axis.name))
    nodes = nodes[np.argsort(tree.depths[nodes], kind="stable")]
    cuts = a.cut if axis.encoding.kind == "number" else a.cut_int
    return list(dict.fromkeys(axis.place(cut) for cut in cuts[nodes].tolist() if math.isfinite(cut)))


def check_held(held: Mapping[str, Any] | None, known: Sequence[str], axes: tuple[str, str]) -> Mapping[str, Any]:
    """Refuse values of columns that there are not, or that are the axes."""
    if held is not None and not isinstance(held, Mapping):
        raise ParameterError(
            "must be a dict of column → value, such as " + Param("held", {"age": 40}) + ".",
            parameter="held",
            value=held,
        )
    for name in held or {}:
        if name in axes:
            raise ParameterError(
                f'column "{safe(name)}" is an axis of the picture.', parameter="held", hint="Leave it out."
            )
        if name not in known:
            raise ColumnError(f'held: no column "{safe(name)}".{did_you_mean(name, known)} Columns: {listing(known)}.')
    return held or {}


def held_value(encoding: Encoding, cell: Any) -> Any:
    """Return a value a column is to be held at, or say why it cannot be."""
    value = cell_value(encoding, cell)
    if value == encode.UNSEEN and encoding.is_categorical:
        hint = did_you_mean(str(cell), encoding.levels)
        levels = listing([safe(level) for level in encoding.levels])
        raise ParameterError(
            f'"{safe(encoding.name)}" is never "{safe(cell)}".', parameter="held", hint=f"{hint} Levels: {levels}."
        )
    return cell


def usual_value(encoding: Encoding, table: Table) -> Any:
    """Return the median of numbers (of two, the lower), or the most frequent level; None where most is missing."""
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
