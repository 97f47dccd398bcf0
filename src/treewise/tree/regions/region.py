"""The region of a node: the set of rows that reach it, as one condition per column, with example rows.

Needs a tree but no rows: rules, comparisons and counterfactuals are derived from regions.

    condition.py   an interval of numbers or a set of levels, missing or not; as text, ``3.2 < age <= 7 or missing``
    traverse.py    walks a tree with the conditions of the current node
    region.py      the conditions of a node as a value

A row stops at exactly one *terminal node*: a leaf, or an inner node without a branch for the row's level.
``terminal_regions`` yields them with their regions, which are disjoint and cover everything; where no row can stop, the
region is ``empty``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import INT64_MAX, INT64_MIN, UNSEEN, Encoding
from treewise.data.parse_cells import parse_number
from treewise.data.table import read
from treewise.errors import ColumnError, did_you_mean
from treewise.tree.regions.condition import (
    Condition,
    Interval,
    Levels,
    describe_bounds,
    describe_condition,
    intersect,
    is_free,
    make_interval,
    unconstrained,
)
from treewise.tree.regions.traverse import RegionTraversal
from treewise.tree.structure import TreeStructure

__all__ = [
    "Cell",
    "Condition",
    "Interval",
    "Levels",
    "Region",
    "RegionTraversal",
    "as_cell",
    "cell_value",
    "describe_bounds",
    "describe_condition",
    "example_cell",
    "example_value",
    "make_interval",
    "region_of",
    "regions",
    "terminal_regions",
    "unconstrained",
    "unknown_level",
]

Cell = float | int | str | bool | None
_UNKNOWN_LEVEL = "something else"
_HUGE = 1e300  # bounds beyond this count as none: nobody types such a number


@dataclass(frozen=True)
class Region:
    """The conditions of each column; a column without one may have any value.

    >>> import treewise as tw
    >>> tree = tw.grow("admissions", preset="id3")
    >>> region = region_of(tree, 5)
    >>> print(region)
    (GPA = 3.7 or missing) and (Published = no or missing) and University = top20
    >>> region.describe(or_missing=False)
    ('GPA = 3.7', 'Published = no', 'University = top20')
    >>> region.example()
    {'GPA': '3.7', 'Published': 'no', 'University': 'top20'}
    >>> region.contains(region.example()), region.empty, (region & region_of(tree, 6)).empty
    (True, False, True)
    >>> region["University"].missing, region["Recommendation"].n
    (False, 2)
    """

    encodings: tuple[Encoding, ...]
    conditions: Mapping[int, Condition]  # by column number, in the order of the tests
    na_values: tuple[str, ...] = ()  # texts that mean "missing" to the tree

    def __getitem__(self, column: str) -> Condition:
        """Return the condition of a column, by its name."""
        names = [e.name for e in self.encodings]
        if column not in names:
            raise ColumnError(f'the region has no column "{safe(column)}".{did_you_mean(column, names)}')
        number = names.index(column)
        return self.conditions.get(number) or unconstrained(self.encodings[number])

    @property
    def empty(self) -> bool:
        """Whether the region contains no row."""
        return any(condition.empty for condition in self.conditions.values())

    def __and__(self, other: Region) -> Region:
        """Return the intersection of two regions over the same columns."""
        merged = dict(self.conditions)
        for column, condition in other.conditions.items():
            existing = merged.get(column)
            merged[column] = condition if existing is None else intersect(existing, condition, self.encodings[column])
        return Region(self.encodings, merged, self.na_values)

    def contains(self, row: Mapping[str, Any]) -> bool:
        """Return whether the region contains a row of cells; the row needs the columns with a condition."""
        for number, condition in self.conditions.items():
            encoding = self.encodings[number]
            if encoding.name not in row:
                hint = did_you_mean(encoding.name, map(str, row))
                raise ColumnError(f'the row has no column "{safe(encoding.name)}".{hint} Use None for a missing value.')
            if not condition.holds(cell_value(encoding, row[encoding.name], self.na_values)):
                return False
        return True

    def example(self) -> dict[str, Cell]:
        """Return a row in the region with natural values for the columns with a condition; {} if the region is empty.

        A cell is None (missing) or a never-seen level only where nothing else is possible.
        """
        if self.empty:
            return {}
        return {
            self.encodings[i].name: example_cell(c, self.encodings[i], self.na_values)
            for i, c in self.conditions.items()
        }

    def describe(self, or_missing: bool = True, or_unseen: bool = True) -> tuple[str, ...]:
        """Return the description of each column's condition, without columns that may have any value.

        ``or_missing`` and ``or_unseen`` mention missing cells and never-seen levels beside other values; if nothing
        else is possible, they are always mentioned.
        """
        columns = ((self.encodings[i], c) for i, c in self.conditions.items())
        return tuple(describe_condition(c, e, or_missing, or_unseen) for e, c in columns if not is_free(c, e))

    def __str__(self) -> str:
        full, short = self.describe(), self.describe(or_missing=False, or_unseen=False)
        if len(full) == 1:
            return full[0]
        return " and ".join(a if a == b else f"({a})" for a, b in zip(full, short, strict=True)) or "all rows"


def regions(tree: TreeStructure, nodes: Collection[int] | None = None) -> Iterator[tuple[int, Region]]:
    """Iterate over the nodes of a tree, or some of them, with the region of the rows that reach each.

    >>> import treewise as tw
    >>> [str(region) for _, region in regions(tw.grow("outlier", max_leaf_nodes=3))][:2]
    ['all rows', 'x1 <= 4']
    """
    selected = None if nodes is None else set(nodes)
    traversal = RegionTraversal(tree)
    for node in traversal.walk():
        if selected is None or node in selected:
            yield node, Region(tree.encodings, traversal.conditions(), tree.na_values)


def terminal_regions(tree: TreeStructure) -> Iterator[tuple[int, Region]]:
    """Iterate over the terminal nodes with the region of the rows that stop at each; every row is in exactly one.

    >>> import treewise as tw
    >>> for node, region in terminal_regions(tw.grow("food", preset="id3", columns=["Hunger"])):
    ...     print(node, region)
    1 Hunger = full
    2 Hunger = hungry or missing
    3 Hunger = starving
    4 Hunger = can-eat or never seen
    """
    traversal = RegionTraversal(tree)
    for node in traversal.terminal_nodes():
        yield node, Region(tree.encodings, traversal.conditions(), tree.na_values)


def region_of(tree: TreeStructure, node: int) -> Region:
    """Return the region of the rows that reach one node."""
    return Region(tree.encodings, RegionTraversal(tree).conditions_at(tree.path(node)), tree.na_values)


def cell_value(encoding: Encoding, cell: Any, na_values: tuple[str, ...] = ()) -> Any:
    """Encode a cell: a number, or a level's code (-2: never seen); None if it is missing.

    >>> cell_value(Encoding("town", "nominal", ("Bari", "Rome")), "Rome"), cell_value(Encoding("x", "number"), "1.5")
    (1, 1.5)
    """
    column = read([{encoding.name: cell}], na_values=na_values, name="the row")[encoding.name]
    values = encode.encode_column(encoding, column, "the row")
    value: Any = values.tolist()[0]
    return None if encode.is_missing(encoding, values)[0] else value


# -- example values ---------------------------------------------------------------------------------------------------


def example_cell(condition: Condition, encoding: Encoding, markers: Sequence[str] = ()) -> Cell:
    """Return a cell that satisfies a condition: a number or declared level, else a never-seen level, else None.

    >>> age = Encoding("age", "number")
    >>> example_cell(Interval(3.2, 7.0), age), example_cell(Interval(71.5), age)
    (5, 72)
    """
    return as_cell(example_value(condition, encoding, markers), encoding)


def example_value(condition: Condition, encoding: Encoding, markers: Sequence[str] = ()) -> float | int | None:
    """Return a value that satisfies a condition: a number, or a level's code (-2: never seen); None is missing.

    Numbers among the ``markers``, which mean "missing", are avoided if possible.

    >>> example_value(Interval(None, -999.0), Encoding("x", "number"), ("-999",))
    -1000
    """
    if isinstance(condition, Interval):
        if not condition.present:
            return None
        find = _round_number if encoding.kind == "number" else partial(_round_integer, encoding=encoding)
        value = find(condition.low, condition.high)
        has_markers = markers and encoding.kind in ("number", "integer")
        avoided = {parse_number(marker) for marker in markers} if has_markers else ()
        if value not in avoided:
            return value
        candidates = (find(part.low, part.high) for part in _split_at(condition, value, encoding) if part.present)
        return next((other for other in candidates if other not in avoided), value)
    return next(condition.codes(), UNSEEN if condition.unseen else None)


def _split_at(condition: Interval, value: float | int, encoding: Encoding) -> tuple[Interval, Interval]:
    """Return the parts of an interval below and above one of its numbers."""
    is_integer = encoding.kind != "number" or (isinstance(value, int) and abs(value) >= 2**53)
    below = value - 1 if is_integer else math.nextafter(value, -math.inf)
    return make_interval(condition.low, below, False, encoding), make_interval(value, condition.high, False, encoding)


def as_cell(value: float | int | None, encoding: Encoding) -> Cell:
    """Convert one of the column's own numbers to the cell a person would type."""
    if value is None or not (encoding.is_categorical or encoding.kind == "datetime"):
        return value
    if encoding.kind == "datetime":
        return encoding.format(value)
    if value < 0:
        return unknown_level(encoding)
    level = encoding.levels[int(value)]
    return level == "true" if encoding.kind == "boolean" else level


def unknown_level(encoding: Encoding) -> str:
    """Return a level that the column does not have.

    >>> unknown_level(Encoding("c", "nominal", ("something else",)))
    'something else!'
    """
    known, text = set(encoding.levels), _UNKNOWN_LEVEL
    while text in known:
        text += "!"
    return text


def _round_number(low: float | None, high: float | None) -> float | int:
    """Return a number with low < x <= high: a multiple of the largest possible power of ten, nearest the middle.

    >>> _round_number(206.5, 211.0), _round_number(17.0, 45.5), _round_number(0.30, 0.37), _round_number(None, 71.5)
    (210, 30, 0.35, 71)
    >>> _round_number(None, -math.inf), _round_number(1.0, 1.0000000000000002), _round_number(-1.7e308, 2.5)
    (-inf, 1.0000000000000002, 2)
    """
    low = None if low is not None and low <= -_HUGE else low
    high = None if high is not None and high >= _HUGE else high
    if low is None or high is None:
        return _number_near(low, high)
    width = high - low
    power = math.floor(math.log10(width)) + 1 if width > 0 else 0
    for exponent in range(power, power - 3, -1):
        for step in (10.0**exponent, 5 * 10.0 ** (exponent - 1)):
            nearest = round((low + width / 2) / step) if step > 0 else 0
            for k in (nearest, nearest + 1, nearest - 1):
                value = float(f"{k * step:.15g}")
                if low < value <= high:
                    return _tidy(value)
    return _tidy(high)


def _number_near(low: float | None, high: float | None) -> float | int:
    """Return a number near the only bound: the next integer, or the bound itself where doubles are sparse.

    >>> _number_near(None, 2**60 + 255) == 2**60 + 255       # no double: the next one is larger
    True
    """
    if low is None:
        if high is None:
            return 0
        integer = float(math.floor(high)) if math.isfinite(high) else high
        return _tidy(integer if integer <= high else high)
    if math.isinf(low):
        return low  # nothing is larger; the interval is empty
    integer = float(math.floor(low)) + 1
    return _tidy(integer if integer > low else math.nextafter(low, math.inf))


def _tidy(value: float) -> float | int:
    return int(value) if math.isfinite(value) and value == int(value) and abs(value) < 2**53 else value


def _round_integer(low: float | None, high: float | None, encoding: Encoding) -> int:
    """Return an integer with low < x <= high: near the only bound, or in the middle; for a datetime midnight.

    >>> _round_integer(None, 2**60, Encoding("n", "integer")) == 2**60
    True
    """
    smallest = INT64_MIN + 1 if low is None else int(low) + 1
    largest = INT64_MAX if high is None else int(high)
    if low is None or high is None:
        return largest if high is not None else smallest if low is not None else 0
    day = TICKS_PER_DAY.get(encoding.unit, 1)
    middle = (smallest + largest) // 2
    for step in (day, max(1, day // 24), max(1, day // 1440), max(1, day // 86400)):
        value = middle // step * step
        if value < smallest:
            value += step
        if value <= largest:
            return int(np.int64(value))
    return middle
