"""The space in which two trees are compared: the columns either asks about, cut into cells that no test divides.

The ground of ``compare``. Each column becomes a few cells: the numbers between neighbouring cuts of either tree, or the
levels either tree knows; beside them a level that neither knows, and a missing value. Every test of either tree then
maps whole cells to branches, so that comparing the trees is counting with small integers, and exact.

    numbers      cells 0 … k in order: x <= first cut, …, x > last cut          a state is (first, last, missing)
    categories   one cell a level, UNSEEN and MISSING                           a state is a frozenset of cells
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.column import UNITS
from treewise.data.convert import PER_DAY
from treewise.data.encoding import INT64_MAX, INT64_MIN, Encoding
from treewise.data.table import read
from treewise.errors import Param, ParameterError
from treewise.explain.compare.markers import AxisMarkers, just_below, numbers_of, same_text
from treewise.predict.predict import refuses_missing
from treewise.tree.arrays import LEAF
from treewise.tree.regions.region import Condition, Interval, Levels, interval
from treewise.tree.tree import Tree

UNSEEN, MISSING = -2, -1  # the cells beside the levels

NUMBERS = ("number", "integer")
KIND_WORDS = {
    "number": "a number", "integer": "a number", "datetime": "a date", "boolean": "true or false",
    "nominal": "a category", "ordered": "a category",
}  # fmt: skip

Range = tuple[int, int, bool]  # cells first … last (none if last < first), and whether missing is possible
State = Range | frozenset[int]


@dataclass(frozen=True, eq=False)
class SpaceAxis:
    """One column of the space.

    ``encoding`` is what both trees' encodings come to; ``cuts`` are all thresholds in order, of numbers; ``codes`` the
    code each cell has in either tree (UNSEEN where it does not know the level), of categories.
    """

    encoding: Encoding
    cuts: tuple[float | int, ...] = ()
    codes: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    may_miss: bool = True  # whether neither tree refuses missing values here
    gone: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())  # cells missing to one of the trees only
    asked: tuple[bool, bool] = (True, True)  # by which tree
    na_values: tuple[str, ...] = ()  # texts that mean "missing" to all who ask

    @property
    def name(self) -> str:
        """The column's name."""
        return self.encoding.name

    @property
    def categorical(self) -> bool:
        """Whether the cells are levels."""
        return self.encoding.categorical

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The first and the last cell of numbers that holds any."""
        first, last = 0, len(self.cuts)
        top = float("inf") if self.encoding.kind == "number" else INT64_MAX
        if self.cuts and self.cuts[-1] >= top:
            last -= 1
        if self.cuts and self.encoding.kind != "number" and self.cuts[0] <= INT64_MIN:
            first += 1
        return first, last

    def everything(self, unseen: bool, missing: bool) -> State:
        """Return all that may stand in the column, with or without what is never seen or missing."""
        missing = missing and self.may_miss
        if not self.categorical:
            return (*self.ends, missing)
        beside = [UNSEEN] * (unseen and self.encoding.kind != "boolean") + [MISSING] * missing
        return frozenset((*range(len(self.encoding.levels)), *beside))

    def usual(self, state: State) -> bool:
        """Tell whether some of a state is a known value, neither missing nor never seen."""
        if isinstance(state, tuple):
            return state[0] <= state[1]
        return any(cell >= 0 for cell in state)

    def cell(self, value: float | int | None) -> State:
        """Return the one cell in which a value stands: a number, a level's code, UNSEEN, or None for missing."""
        if self.categorical:
            return frozenset({MISSING if value is None else int(value)})
        if value is None:
            return 1, 0, True
        place = bisect_left(self.cuts, value)
        return place, place, False

    def count(self, state: State) -> int:
        """Return how many levels a state holds."""
        assert isinstance(state, frozenset)
        return sum(1 for cell in state if cell >= 0)

    def condition(self, state: State) -> Condition:
        """Return a state as the condition that ``regions`` can say and exemplify."""
        if not isinstance(state, tuple):
            cells = frozenset(c for c in state if c >= 0)
            return Levels(0, len(self.encoding.levels) - 1, cells, frozenset(), UNSEEN in state, MISSING in state)
        first, last, missing = state
        if first > last:
            return Interval(present=False, missing=missing)
        low = self.cuts[first - 1] if first > 0 else None
        high = self.cuts[last] if last < len(self.cuts) else None
        return interval(low, high, missing, self.encoding)


@dataclass(frozen=True, eq=False)
class InputSpace:
    """The columns two trees ask about, in the order in which they do."""

    axes: tuple[SpaceAxis, ...]

    @classmethod
    def of(cls, a: Tree, b: Tree, names: tuple[str, str]) -> InputSpace:
        """Put the columns of two trees together; refuse those that contradict each other."""
        asked = [dict.fromkeys(asked_columns(tree)) for tree in (a, b)]
        return cls(
            tuple(axis_of(name, (a, b), (name in asked[0], name in asked[1]), names) for name in asked[0] | asked[1])
        )

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each column stands."""
        return {axis.name: i for i, axis in enumerate(self.axes)}

    @property
    def cases(self) -> int | None:
        """How many combinations of known levels there are; None where a column is a number."""
        total = 1
        for axis in self.axes:
            if not axis.categorical:
                return None
            total *= len(axis.encoding.levels)
        return total

    def everything(self, unseen: bool, missing: bool) -> list[State]:
        """Return the whole space as a state a column."""
        return [axis.everything(unseen, missing) for axis in self.axes]


def asked_columns(tree: Tree) -> list[str]:
    """Return the columns a tree asks about, in the order of its nodes."""
    a = tree.arrays
    order = dict.fromkeys(a.column[a.kind != LEAF].tolist())
    return [tree.columns[i] for i in order]


def axis_of(name: str, trees: tuple[Tree, Tree], asked: tuple[bool, bool], names: tuple[str, str]) -> SpaceAxis:
    """Put one column of two trees together."""
    encodings = [next((e for e in tree.encodings if e.name == name), None) for tree in trees]
    used = [e for e, uses in zip(encodings, asked, strict=True) if e is not None and uses]
    users = [tree for tree, uses in zip(trees, asked, strict=True) if uses]
    encoding = used[0] if len(used) == 1 else common(used[0], used[1], names)
    markers = AxisMarkers.of(users, encoding, names)
    may_miss = not any(map(refuses_missing, users))
    if encoding.categorical:
        axis = with_levels(encoding, encodings, markers)
    else:
        cuts = {cut for tree in users for cut in cuts_of(tree, name, encoding)}
        axis = with_cuts(encoding, cuts, markers)
    return replace(axis, may_miss=may_miss, asked=asked, na_values=markers.shared)


def with_cuts(encoding: Encoding, cuts: set[float | int], markers: AxisMarkers) -> SpaceAxis:
    """Put thresholds in order; a number that is missing to one tree only becomes a cell of its own."""
    own = [numbers_of(texts, encoding) for texts in markers.own]
    for value in (*own[0], *own[1]):
        cuts |= {value} if value == -math.inf else {just_below(value, encoding), value}
    ordered = tuple(sorted(cuts))
    one, two = (frozenset(bisect_left(ordered, value) for value in values) for values in own)
    return SpaceAxis(encoding, ordered, gone=(one, two))


def common(one: Encoding, two: Encoding, names: tuple[str, str]) -> Encoding:
    """Return what a column is to both trees, or say that they contradict each other."""
    kinds = {one.kind, two.kind}
    if kinds <= set(NUMBERS):
        return replace(one, kind="number" if "number" in kinds else "integer")
    if kinds == {"datetime"}:
        return replace(one, unit=max(one.unit, two.unit, key=UNITS.index))
    if one.categorical and two.categorical:
        return one if one.kind == "boolean" or two.kind != "boolean" else two
    raise ParameterError(
        f'column "{safe(one.name)}" is {KIND_WORDS[one.kind]} in {names[0]} and {KIND_WORDS[two.kind]} in {names[1]}:'
        " the trees cannot be compared.",
        hint="Grow both with the same " + Param("kinds") + ".",
    )


def cuts_of(tree: Tree, name: str, joint: Encoding) -> Iterable[float | int]:
    """Return a tree's thresholds on a column, as numbers of the space."""
    column = tree.columns.index(name)
    a, own = tree.arrays, tree.encodings[column]
    at = np.flatnonzero((a.column == column) & (a.kind != LEAF))
    values = (a.cut if own.kind == "number" else a.cut_int)[at].tolist()
    return (same_cut(cut, own, joint) for cut in values)


def same_cut(cut: float | int, own: Encoding, joint: Encoding) -> float | int:
    """Return a threshold of one tree in the numbers of the space.

    >>> same_cut(1, Encoding("t", "datetime", unit="D"), Encoding("t", "datetime", unit="s"))     # to the day's end
    172799
    """
    if own.kind == "integer" and joint.kind == "number":
        return float("inf") if cut == INT64_MAX else cut
    if own.kind == "datetime" and own.unit != joint.unit and cut not in (INT64_MIN, INT64_MAX):
        last = (int(cut) + 1) * (PER_DAY[joint.unit] // PER_DAY[own.unit]) - 1
        if not INT64_MIN < last < INT64_MAX:
            raise ParameterError(
                f'column "{safe(own.name)}": one tree asks about {own.say(cut)}, which the other\'s {joint.unit}'
                " cannot tell: the trees cannot be compared.",
                hint="Grow both on moments of the same unit.",
            )
        return last
    return cut


def with_levels(encoding: Encoding, encodings: list[Encoding | None], markers: AxisMarkers) -> SpaceAxis:
    """Put the levels of two trees together: a level is what both read alike (4 and 4.0 are one).

    A text that is missing to one tree only is a level as well; its code there is MISSING.
    """
    known = [e if e is not None and e.categorical else None for e in encodings]
    longest_first = sorted((e.levels for e in known if e is not None), key=len, reverse=True)
    texts = list(dict.fromkeys(level for levels in longest_first for level in levels))
    if encoding.kind == "boolean":
        texts = list(encoding.levels)
    else:
        texts += [text for some in markers.own for text in some if text not in texts]
        nothing = set(map(same_text, markers.shared))
        texts = [text for text in texts if same_text(text) not in nothing] if nothing else texts
    codes = [own_codes(e, encoding.name, texts, some) for e, some in zip(known, markers.own, strict=True)]
    pairs: dict[tuple[int, int], str] = {}
    for text, one, two in zip(texts, *codes, strict=True):
        pairs.setdefault((one, two), text)
    both = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
    joint = replace(encoding, levels=tuple(pairs.values()))
    if encoding.kind == "ordered" and not all(map(in_order, both)):
        joint = replace(joint, kind="nominal")  # the trees do not order their levels alike: no words of an order
    one, two = (frozenset(cell for cell, code in enumerate(some) if code == MISSING) for some in both)
    return SpaceAxis(joint, (), both, gone=(one, two))


def in_order(codes: tuple[int, ...]) -> bool:
    """Tell whether codes go up, those a tree does not know at the end.

    >>> in_order((0, 1, 2)), in_order((0, 2, 1)), in_order((UNSEEN, 0)), in_order((UNSEEN, UNSEEN))
    (True, False, False, True)
    """
    known = [code for code in codes if code >= 0]
    return known == sorted(known) and (not known or codes[: len(known)] == tuple(known))


def own_codes(encoding: Encoding | None, name: str, texts: list[str], markers: Collection[str]) -> list[int]:
    """Return the code each level has in a tree, as its predictions would read it; UNSEEN where it has none.

    MISSING is the code of what only this tree reads as missing.
    """
    if encoding is None:
        return [UNSEEN] * len(texts)
    exact = {level: code for code, level in enumerate(encoding.levels)}
    others = [text for text in texts if text not in exact]
    if others:
        values: Any = encode.apply(encoding, read({name: others}, name="the levels")[name], "the levels")
        exact |= dict(zip(others, values.tolist(), strict=True))
    gone = set(map(same_text, markers))
    return [MISSING if same_text(text) in gone else exact[text] if exact[text] >= 0 else UNSEEN for text in texts]
