"""The input space of two trees, discretised into cells that no split of either tree divides.

The foundation of ``compare``. Each column becomes a few cells: the intervals between neighbouring thresholds of either
tree, or the levels known to either tree; in addition a level that neither knows, and a missing value. Every split
of either tree then maps whole cells to branches, so comparing the trees is exact arithmetic on small integers.

    numbers      cells 0 … k in order: x <= first cut, …, x > last cut    a set of cells is (first, last, missing)
    categories   one cell per level, UNSEEN and MISSING                   a set of cells is a frozenset

**Missing markers.** A text that means "missing" to one tree only (``na_values``) is an ordinary value to the other, so
it gets a cell of its own: there one tree follows its missing branch and the other compares the value. A text that is
missing to both, or in a column that only one tree uses, is simply missing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.column import UNITS
from treewise.data.convert import BOOLEANS, MAX_EXACT_INT, TICKS_PER_DAY
from treewise.data.encoding import INT64_MAX, INT64_MIN, Encoding
from treewise.data.parse_cells import parse_datetimes, parse_number
from treewise.data.table import read
from treewise.errors import Param, ParameterError
from treewise.predict.predict import refuses_missing
from treewise.tree.arrays import LEAF
from treewise.tree.regions.region import Condition, Interval, Levels, make_interval
from treewise.tree.tree import Tree

UNSEEN, MISSING = -2, -1  # the cells in addition to the levels

_KIND_TEXT = {
    "number": "a number", "integer": "a number", "datetime": "a date", "boolean": "true or false",
    "nominal": "a category", "ordered": "a category",
}  # fmt: skip

CellRange = tuple[int, int, bool]  # cells first … last (none if last < first), and whether missing is possible
CellSet = CellRange | frozenset[int]


@dataclass(frozen=True, eq=False)
class SpaceAxis:
    """One column of the space.

    ``encoding`` is the common encoding of both trees; ``cuts`` are all thresholds in order (numbers); ``codes`` is the
    code of each cell in either tree, UNSEEN where the tree does not know the level (categories).
    """

    encoding: Encoding
    cuts: tuple[float | int, ...] = ()
    codes: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    allows_missing: bool = True  # whether neither tree refuses missing values here
    missing_cells: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())  # missing to one tree only
    used_by: tuple[bool, bool] = (True, True)
    na_values: tuple[str, ...] = ()  # texts that mean "missing" to every tree that uses the column

    @property
    def name(self) -> str:
        """The column's name."""
        return self.encoding.name

    @property
    def is_categorical(self) -> bool:
        """Whether the cells are levels."""
        return self.encoding.is_categorical

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The first and the last cell of numbers that are not empty."""
        first, last = 0, len(self.cuts)
        top = float("inf") if self.encoding.kind == "number" else INT64_MAX
        if self.cuts and self.cuts[-1] >= top:
            last -= 1
        if self.cuts and self.encoding.kind != "number" and self.cuts[0] <= INT64_MIN:
            first += 1
        return first, last

    def all_cells(self, unseen: bool, missing: bool) -> CellSet:
        """Return all cells of the column, with or without UNSEEN and MISSING."""
        missing = missing and self.allows_missing
        if not self.is_categorical:
            return (*self.bounds, missing)
        extra = [UNSEEN] * (unseen and self.encoding.kind != "boolean") + [MISSING] * missing
        return frozenset((*range(len(self.encoding.levels)), *extra))

    def cell_of(self, value: float | int | None) -> CellSet:
        """Return the cell that contains a value: a number, a level's code, UNSEEN, or None for missing."""
        if self.is_categorical:
            return frozenset({MISSING if value is None else int(value)})
        if value is None:
            return 1, 0, True
        cell = bisect_left(self.cuts, value)
        return cell, cell, False

    def condition(self, cells: CellSet) -> Condition:
        """Return the condition that describes a set of cells."""
        if not isinstance(cells, tuple):
            known = frozenset(cell for cell in cells if cell >= 0)
            return Levels(0, len(self.encoding.levels) - 1, known, frozenset(), UNSEEN in cells, MISSING in cells)
        first, last, missing = cells
        if first > last:
            return Interval(present=False, missing=missing)
        low = self.cuts[first - 1] if first > 0 else None
        high = self.cuts[last] if last < len(self.cuts) else None
        return make_interval(low, high, missing, self.encoding)


def has_known_value(cells: CellSet) -> bool:
    """Tell whether a set of cells contains a value that is neither missing nor unseen."""
    return cells[0] <= cells[1] if isinstance(cells, tuple) else any(cell >= 0 for cell in cells)


def count_levels(cells: CellSet) -> int:
    """Return how many levels a set of cells of a categorical column contains."""
    assert isinstance(cells, frozenset)
    return sum(1 for cell in cells if cell >= 0)


def contains_cell(cells: CellSet, cell: int) -> bool:
    """Tell whether a set of cells contains a cell."""
    if isinstance(cells, tuple):
        return cells[2] if cell == MISSING else cells[0] <= cell <= cells[1]
    return cell in cells


@dataclass(frozen=True, eq=False)
class InputSpace:
    """The columns used by two trees, in order of first use."""

    axes: tuple[SpaceAxis, ...]

    @classmethod
    def of(cls, a: Tree, b: Tree, names: tuple[str, str]) -> InputSpace:
        """Join the columns of two trees; refuse columns of incompatible kinds."""
        used = [dict.fromkeys(_used_columns(tree)) for tree in (a, b)]
        return cls(
            tuple(_make_axis(name, (a, b), (name in used[0], name in used[1]), names) for name in used[0] | used[1])
        )

    @cached_property
    def axis_index(self) -> dict[str, int]:
        """The index of each column's axis."""
        return {axis.name: i for i, axis in enumerate(self.axes)}

    @property
    def cases(self) -> int | None:
        """The number of combinations of known levels; None if a column is numeric."""
        if not all(axis.is_categorical for axis in self.axes):
            return None
        return math.prod(len(axis.encoding.levels) for axis in self.axes)

    def all_cells(self, unseen: bool, missing: bool) -> list[CellSet]:
        """Return the whole space: the set of all cells of each column."""
        return [axis.all_cells(unseen, missing) for axis in self.axes]


def _used_columns(tree: Tree) -> list[str]:
    a = tree.arrays
    return [tree.columns[i] for i in dict.fromkeys(a.column[a.kind != LEAF].tolist())]


def _make_axis(name: str, trees: tuple[Tree, Tree], used_by: tuple[bool, bool], names: tuple[str, str]) -> SpaceAxis:
    encodings = [next((e for e in tree.encodings if e.name == name), None) for tree in trees]
    used = [e for e, uses in zip(encodings, used_by, strict=True) if e is not None and uses]
    users = [tree for tree, uses in zip(trees, used_by, strict=True) if uses]
    encoding = used[0] if len(used) == 1 else _common_encoding(used[0], used[1], names)
    markers = _AxisMarkers.of(users, encoding, names)
    if encoding.is_categorical:
        axis = _categorical_axis(encoding, encodings, markers)
    else:
        cuts = {cut for tree in users for cut in _cuts_of(tree, name, encoding)}
        axis = _numeric_axis(encoding, cuts, markers)
    allows_missing = not any(map(refuses_missing, users))
    return replace(axis, allows_missing=allows_missing, used_by=used_by, na_values=markers.shared)


def _common_encoding(first: Encoding, second: Encoding, names: tuple[str, str]) -> Encoding:
    kinds = {first.kind, second.kind}
    if kinds <= {"number", "integer"}:
        return replace(first, kind="number" if "number" in kinds else "integer")
    if kinds == {"datetime"}:
        return replace(first, unit=max(first.unit, second.unit, key=UNITS.index))
    if first.is_categorical and second.is_categorical:
        return first if first.kind == "boolean" or second.kind != "boolean" else second
    raise ParameterError(
        f'column "{safe(first.name)}" is {_KIND_TEXT[first.kind]} in {names[0]} and {_KIND_TEXT[second.kind]} in'
        f" {names[1]}: the trees cannot be compared.",
        hint="Grow both with the same kinds.",
    )


# -- numbers --------------------------------------------------------------------------------------------------


def _numeric_axis(encoding: Encoding, cuts: set[float | int], markers: _AxisMarkers) -> SpaceAxis:
    marked = [_numeric_markers(texts, encoding) for texts in markers.own]
    for value in (*marked[0], *marked[1]):  # a number that is missing to one tree only becomes a cell of its own
        cuts |= {value} if value == -math.inf else {_just_below(value, encoding), value}
    ordered = tuple(sorted(cuts))
    one, two = (frozenset(bisect_left(ordered, value) for value in values) for values in marked)
    return SpaceAxis(encoding, ordered, missing_cells=(one, two))


def _cuts_of(tree: Tree, name: str, joint: Encoding) -> Iterable[float | int]:
    column = tree.columns.index(name)
    a, encoding = tree.arrays, tree.encodings[column]
    nodes = np.flatnonzero((a.column == column) & (a.kind != LEAF))
    cuts = (a.cut if encoding.kind == "number" else a.cut_int)[nodes].tolist()
    return (convert_cut(cut, encoding, joint) for cut in cuts)


def convert_cut(cut: float | int, encoding: Encoding, joint: Encoding) -> float | int:
    """Convert a threshold of one tree to the common encoding of the column.

    >>> convert_cut(1, Encoding("t", "datetime", unit="D"), Encoding("t", "datetime", unit="s"))  # the end of the day
    172799
    """
    if encoding.kind == "integer" and joint.kind == "number":
        return float("inf") if cut == INT64_MAX else cut
    if encoding.kind == "datetime" and encoding.unit != joint.unit and cut not in (INT64_MIN, INT64_MAX):
        last = (int(cut) + 1) * (TICKS_PER_DAY[joint.unit] // TICKS_PER_DAY[encoding.unit]) - 1
        if not INT64_MIN < last < INT64_MAX:
            raise ParameterError(
                f'column "{safe(encoding.name)}": one tree splits at {encoding.format(cut)}, which is out of'
                f" range in the other's unit ({joint.unit}): the trees cannot be compared.",
                hint="Grow both on datetimes of the same unit.",
            )
        return last
    return cut


def _just_below(value: float | int, encoding: Encoding) -> float | int:
    """Return a cut with no value of the column between it and ``value``.

    >>> _just_below(5, Encoding("n", "integer")), _just_below(math.inf, Encoding("x", "number")) < math.inf
    (4, True)
    """
    if encoding.kind == "integer" or (math.isfinite(value) and abs(value) >= MAX_EXACT_INT):
        return int(value) - 1
    return math.nextafter(value, -math.inf)


# -- levels ---------------------------------------------------------------------------------------------------


def _categorical_axis(encoding: Encoding, encodings: list[Encoding | None], markers: _AxisMarkers) -> SpaceAxis:
    """Join the levels of two trees: texts that both read alike are one level (4 and 4.0).

    A text that is missing to one tree only is a level as well; its code there is MISSING.
    """
    known = [e if e is not None and e.is_categorical else None for e in encodings]
    longest_first = sorted((e.levels for e in known if e is not None), key=len, reverse=True)
    texts = list(dict.fromkeys(level for levels in longest_first for level in levels))
    if encoding.kind == "boolean":
        texts = list(encoding.levels)
    else:
        texts += [text for own in markers.own for text in own if text not in texts]
        missing = set(map(_marker_key, markers.shared))
        texts = [text for text in texts if _marker_key(text) not in missing] if missing else texts
    codes = [_codes_in_tree(e, encoding.name, texts, own) for e, own in zip(known, markers.own, strict=True)]
    pairs: dict[tuple[int, int], str] = {}
    for text, one, two in zip(texts, *codes, strict=True):
        pairs.setdefault((one, two), text)
    both = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    joint = replace(encoding, levels=tuple(pairs.values()))
    if encoding.kind == "ordered" and not all(map(_is_ascending, both)):
        joint = replace(joint, kind="nominal")  # the trees order their levels differently: do not describe an order
    one, two = (frozenset(cell for cell, code in enumerate(some) if code == MISSING) for some in both)
    return SpaceAxis(joint, (), both, missing_cells=(one, two))


def _is_ascending(codes: tuple[int, ...]) -> bool:
    """Tell whether codes ascend, with unknown ones at the end.

    >>> [_is_ascending(codes) for codes in ((0, 1, 2), (0, 2, 1), (UNSEEN, 0), (UNSEEN, UNSEEN))]
    [True, False, False, True]
    """
    known = [code for code in codes if code >= 0]
    return known == sorted(known) and (not known or codes[: len(known)] == tuple(known))


def _codes_in_tree(encoding: Encoding | None, name: str, texts: list[str], markers: Collection[str]) -> list[int]:
    """Return the code of each level in a tree as its predictions would read it: UNSEEN if none, MISSING if a marker."""
    if encoding is None:
        return [UNSEEN] * len(texts)
    codes = {level: code for code, level in enumerate(encoding.levels)}
    unknown = [text for text in texts if text not in codes]
    if unknown:
        values: Any = encode.encode_column(encoding, read({name: unknown}, name="the levels")[name], "the levels")
        codes |= dict(zip(unknown, values.tolist(), strict=True))
    missing = set(map(_marker_key, markers))
    return [MISSING if _marker_key(text) in missing else codes[text] if codes[text] >= 0 else UNSEEN for text in texts]


# -- missing markers ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _AxisMarkers:
    own: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # missing to the first tree only, to the second only
    shared: tuple[str, ...] = ()  # missing to every tree that uses the column

    @classmethod
    def of(cls, users: Sequence[Tree], encoding: Encoding, names: tuple[str, str]) -> _AxisMarkers:
        """Collect the markers of the trees that use a column; refuse markers that cannot be kept apart."""
        texts = [tree.na_values for tree in users]
        if len(users) == 1:
            return cls(shared=texts[0])
        keys = [set(map(_marker_key, some)) for some in texts]
        own = [
            tuple(text for text in texts[i] if _marker_key(text) not in keys[1 - i]) * (not refuses_missing(users[i]))
            for i in (0, 1)
        ]
        for name, markers in zip(names, own, strict=True):
            for text in markers:
                if _is_regular_value(text, encoding):
                    raise ParameterError(
                        f'column "{safe(encoding.name)}": "{safe(text)}" means missing to {name} only:'
                        " the trees cannot be compared.",
                        hint="Grow both with the same " + Param("na_values") + ".",
                    )
        return cls((own[0], own[1]), tuple(text for text in texts[0] if _marker_key(text) in keys[1]))


def _marker_key(text: str) -> str | float | int:
    """Return a key that is equal for markers of the same cells.

    >>> _marker_key("-999") == _marker_key("-999.0"), _marker_key(" ?")
    (True, '?')
    """
    value = parse_number(text)
    return text.strip() if value is None else value


def _is_regular_value(text: str, encoding: Encoding) -> bool:
    """Tell whether a marker is a value of a column that cannot take one more: a boolean, or a datetime."""
    if encoding.kind == "boolean":
        return text.strip().lower() in BOOLEANS or parse_number(text) in (0, 1)
    return encoding.kind == "datetime" and parse_datetimes([text]) is not None


def _numeric_markers(texts: Iterable[str], encoding: Encoding) -> list[float | int]:
    if encoding.kind not in ("number", "integer"):
        return []
    values = [value for value in map(parse_number, texts) if value is not None]
    if encoding.kind == "integer":
        return [int(v) for v in values if INT64_MIN < v <= INT64_MAX and v == int(v)]
    return [float(v) if abs(v) < MAX_EXACT_INT else v for v in values]
