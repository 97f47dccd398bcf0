"""The six split kinds: a split maps a value of one column to a branch number.

Uses the encodings (``data/encoding.py``: what kind a column is); a tree (``tree/tree.py``) has one split per inner
node. Each split is a small immutable value that determines the number of branches, which branch a value takes (missing
and never-seen values included), and the text of each branch's condition. Text, trace and pictures all quote
``condition``; the core's ``predict`` must agree with ``branch``.

    Threshold   age <= 71.5          | age > 71.5                          numbers, wide integers, datetimes
    Ordinal     size <= medium       | size > medium                       categories in their order
    OneValue    city = Rome          | otherwise                           (chapter 8, figure 8.2 b)
    Subset      city in {Bari, Rome} | otherwise                           (figure 8.2 d)
    Multiway    city = Bari | city = Rome | city = Turin | otherwise       (figure 8.2 a)
    Presence    age present          | age missing

Missing values take branch ``missing``. If that number is the one after the split's own branches, missing values have
a branch of their own. ``tree/arrays.py`` converts splits to the numbers of the node arrays and back.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar

from treewise._lib.text import safe
from treewise.data.encoding import Encoding

Value = float | int | str | None  # one decoded cell; None is missing

STAY = -1  # instead of a branch: the value has none, so the row stops at the node
MAX_LEVELS, N_SHORTENED = 200, 10  # a set of more levels is shortened to its first ones
_DIGITS_SAVED = 6  # by writing x < 3 instead of x <= 2.9999999999999996
MAX_CELL_LEVELS, N_SHORTENED_IN_CELL = 6, 5  # the same in a cell of a table


@dataclass(frozen=True, slots=True)
class Split(ABC):
    """Base class of splits: the column they test, and the branch of missing values.

    >>> city = Encoding("city", "nominal", ("Bari", "Rome", "Turin"))
    >>> split = Subset("city", ("Bari", "Rome"), missing=2)                 # missing values have a branch of their own
    >>> split.named, split.own_branches, split.n_branches, split.separates_missing
    (('Bari', 'Rome'), 2, 3, True)
    >>> split.branch("Rome", city), split.branch(None, city), split.condition(2, city)
    (0, 2, 'city missing')
    >>> split.present_branch("Turin", city), split.present_condition(1, "city", city)
    (1, 'city = Turin')
    """

    column: str
    missing: int = field(default=0, kw_only=True)  # the branch missing values take
    kind: ClassVar[str] = ""

    @property
    def named(self) -> tuple[str, ...]:
        """The levels the test names, in order."""
        return ()

    @property
    def own_branches(self) -> int:
        """Branches for present values; a missing branch may follow them."""
        return 2

    @property
    def n_branches(self) -> int:
        """All branches, the one for missing values included when there is one."""
        return max(self.own_branches, self.missing + 1)

    @property
    def separates_missing(self) -> bool:
        """Whether missing values have a branch to themselves."""
        return self.missing >= self.own_branches

    def branch(self, value: Value, encoding: Encoding) -> int | None:
        """Return the branch a value takes; None when a never-seen category has none and stays at the node."""
        return self.missing if value is None else self.present_branch(value, encoding)

    @abstractmethod
    def present_branch(self, value: float | int | str, encoding: Encoding) -> int | None:
        """Return the branch of a value that is not missing."""

    def condition(self, branch: int, encoding: Encoding) -> str:
        """Return the condition under which a row takes this branch."""
        name = safe(self.column)
        if branch >= self.own_branches:
            return f"{name} missing"
        return self.present_condition(branch, name, encoding)

    @abstractmethod
    def present_condition(self, branch: int, name: str, encoding: Encoding) -> str:
        """Return the condition of one of the split's own branches."""


@dataclass(frozen=True, slots=True)
class Threshold(Split):
    """``x <= cut`` goes to branch 0, larger values to branch 1.

    >>> age = Encoding("age", "number")
    >>> t = Threshold("age", 71.5, missing=1)
    >>> t.branch(71.5, age), t.branch(72, age), t.branch(None, age), t.condition(1, age)
    (0, 1, 1, 'age > 71.5')
    """

    cut: float | int
    kind = "threshold"

    def present_branch(self, value: float | int | str, encoding: Encoding) -> int:
        """Compare as the column is: float64, or exact integers."""
        assert not isinstance(value, str)
        return 0 if value <= self.cut else 1

    def present_condition(self, branch: int, name: str, encoding: Encoding) -> str:
        """Return ``age <= 71.5`` or ``age > 71.5``; ``age < 72`` or ``age >= 72`` where that was written."""
        if is_binary_cut(self.cut, encoding):
            return f"{name} = {branch}"
        low, high, bound = threshold_text(self.cut, encoding)
        return f"{name} {low if branch == 0 else high} {bound}"


@dataclass(frozen=True, slots=True)
class Ordinal(Split):
    """Levels up to and including ``level`` (in the column's order) go to branch 0, later ones to branch 1.

    >>> size = Encoding("size", "ordered", ("small", "medium", "large"))
    >>> Ordinal("size", "medium").condition(0, size), Ordinal("size", "medium").branch("large", size)
    ('size <= medium', 1)
    """

    level: str
    kind = "ordinal"

    @property
    def named(self) -> tuple[str, ...]:
        """The one level."""
        return (self.level,)

    def present_branch(self, value: float | int | str, encoding: Encoding) -> int:
        """A never-seen level has no place in the order: it goes with the missing values."""
        if value not in encoding.levels:
            return self.missing
        return 0 if encoding.levels.index(str(value)) <= encoding.levels.index(self.level) else 1

    def present_condition(self, branch: int, name: str, encoding: Encoding) -> str:
        """Return ``size <= medium``, or ``size = large`` for a side with one level."""
        rank = encoding.levels.index(self.level)
        side = encoding.levels[: rank + 1] if branch == 0 else encoding.levels[rank + 1 :]
        if len(side) == 1:
            return equality_text(name, side[0], encoding)
        return f"{name} {'<=' if branch == 0 else '>'} {safe(self.level)}"


@dataclass(frozen=True, slots=True)
class OneValue(Split):
    """``x = level`` goes to branch 0; whatever else, never-seen levels included, to branch 1.

    >>> city = Encoding("city", "nominal", ("Bari", "Rome", "Turin"))
    >>> t = OneValue("city", "Rome")
    >>> t.condition(0, city), t.condition(1, city), t.branch("Paris", city)
    ('city = Rome', 'city otherwise', 1)
    """

    level: str
    kind = "one_value"

    @property
    def named(self) -> tuple[str, ...]:
        """The one level."""
        return (self.level,)

    def present_branch(self, value: float | int | str, encoding: Encoding) -> int:
        """Literal: equal or not."""
        return 0 if value == self.level else 1

    def present_condition(self, branch: int, name: str, encoding: Encoding) -> str:
        """Return ``city = Rome`` or ``city otherwise``."""
        left_levels = (self.level,)
        return (
            _set_condition(name, left_levels, encoding)
            if branch == 0
            else _remainder_condition(name, left_levels, encoding)
        )


@dataclass(frozen=True, slots=True)
class Subset(Split):
    """``x in levels`` goes to branch 0; whatever else, never-seen levels included, to branch 1.

    >>> island = Encoding("island", "nominal", ("Biscoe", "Dream", "Torgersen"))
    >>> t = Subset("island", ("Dream", "Torgersen"), missing=1)
    >>> t.condition(0, island), t.condition(1, island), t.branch("Dream", island)
    ('island in {Dream, Torgersen}', 'island = Biscoe', 0)
    """

    levels: tuple[str, ...]
    kind = "subset"

    @property
    def named(self) -> tuple[str, ...]:
        """All that are listed."""
        return self.levels

    def present_branch(self, value: float | int | str, encoding: Encoding) -> int:
        """Literal: listed or not."""
        return 0 if value in self.levels else 1

    def present_condition(self, branch: int, name: str, encoding: Encoding) -> str:
        """Return the set for one branch, and ``otherwise`` for its sibling."""
        say = _set_condition if branch == 0 else _remainder_condition
        return say(name, self.levels, encoding)


@dataclass(frozen=True, slots=True)
class Multiway(Split):
    """One branch a level, in this order; with ``other`` one more for every level not named.

    Without ``other`` a never-seen level has no branch: the row stays at the node, which answers for it.

    >>> gpa = Encoding("GPA", "nominal", ("3.5", "3.7", "4.0"))
    >>> t = Multiway("GPA", ("3.5", "3.7", "4.0"))
    >>> t.n_branches, t.condition(2, gpa), t.branch("3.7", gpa), t.branch("2.0", gpa)
    (3, 'GPA = 4.0', 1, None)
    """

    levels: tuple[str, ...]
    other: bool = False
    kind = "multiway"

    @property
    def named(self) -> tuple[str, ...]:
        """All that are listed."""
        return self.levels

    @property
    def own_branches(self) -> int:
        """One a level, and the shared one."""
        return len(self.levels) + self.other

    def present_branch(self, value: float | int | str, encoding: Encoding) -> int | None:
        """Its own branch, else the shared one, else none."""
        if value in self.levels:
            return self.levels.index(str(value))
        return len(self.levels) if self.other else None

    def present_condition(self, branch: int, name: str, encoding: Encoding) -> str:
        """Return ``GPA = 4.0``; for the shared branch ``otherwise``, or its level if it has only one."""
        if branch < len(self.levels):
            return equality_text(name, self.levels[branch], encoding)
        return _remainder_condition(name, self.levels, encoding)


@dataclass(frozen=True, slots=True)
class Presence(Split):
    """Missing values go to branch ``missing``, 0 or 1; present values go to the other one.

    >>> age = Encoding("age", "number")
    >>> t = Presence("age", missing=1)
    >>> t.branch(35.0, age), t.branch(None, age), t.condition(0, age), t.condition(1, age), t.separates_missing
    (0, 1, 'age present', 'age missing', True)
    """

    kind = "presence"

    @property
    def separates_missing(self) -> bool:
        """Always: that is all this split does."""
        return True

    def present_branch(self, value: float | int | str, encoding: Encoding) -> int:
        """A never-seen level counts as missing where branch 1 is the missing one: it is stored as an ordinal split."""
        unseen = encoding.is_categorical and value not in encoding.levels
        return 1 if self.missing == 1 and unseen else 1 - self.missing

    def present_condition(self, branch: int, name: str, encoding: Encoding) -> str:
        """Return ``age missing`` or ``age present``."""
        return f"{name} {'missing' if branch == self.missing else 'present'}"


_KINDS: dict[str, type[Split]] = {cls.kind: cls for cls in (Threshold, Ordinal, OneValue, Subset, Multiway, Presence)}


def equality_text(name: str, level: str, encoding: Encoding) -> str:
    """Write that a column equals a level; for booleans as in Bengio's slides: "x3 is true"."""
    return f"{name} is {level}" if encoding.kind == "boolean" else f"{name} = {quote(level)}"


def _set_condition(name: str, levels: tuple[str, ...], encoding: Encoding) -> str:
    """Write that a column is one of several levels; of very many the first few and the number of others.

    >>> _set_condition("id", tuple(map(str, range(1_000))), Encoding("id", "nominal"))
    'id in {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, +990}'
    """
    if len(levels) == 1:
        return equality_text(name, levels[0], encoding)
    return f"{name} in {set_text(levels)}"


def set_text(levels: tuple[str, ...], limit: int = MAX_LEVELS, few: int = N_SHORTENED) -> str:
    """Write a set of levels; of very many the first few, and how many more there are."""
    names = list(map(quote, levels[:limit]))
    if len(levels) > limit:
        names = [*names[:few], f"+{len(levels) - few}"]
    return f"{{{', '.join(names)}}}"


def shorten_for_cell(condition: str, split: Split) -> str:
    """Shorten the condition of a split for a cell of a table: a set to its first few levels.

    >>> split = Subset("id", tuple("abcdefgh"))
    >>> shorten_for_cell(split.condition(0, Encoding("id", "nominal", tuple("abcdefghxyz"))) + " or missing", split)
    'id in {a, b, c, d, e, +3} or missing'
    """
    if not isinstance(split, Subset):
        return condition
    return condition.replace(set_text(split.levels), set_text(split.levels, MAX_CELL_LEVELS, N_SHORTENED_IN_CELL), 1)


def _remainder_condition(name: str, levels: tuple[str, ...], encoding: Encoding) -> str:
    """Write that a column is none of these levels, or which one it is if only one is left."""
    named = set(levels)
    unnamed = list(islice((level for level in encoding.levels if level not in named), 2))
    return equality_text(name, unnamed[0], encoding) if len(unnamed) == 1 else f"{name} otherwise"


def quote(level: str) -> str:
    """Write a level bare when that is unambiguous, else in double quotes.

    >>> quote("top10"), quote("New York"), quote("a, b"), quote("")
    ('top10', 'New York', '"a, b"', '""')
    """
    text = safe(level)
    is_plain = text and text == text.strip() and not any(ch in text for ch in ',{}"#→') and "->" not in text
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def threshold_text(cut: float | int, encoding: Encoding) -> tuple[str, str, str]:
    """Return the signs of the two sides of a threshold, and its text.

    ``x < 3`` is stored as ``x <= 2.9999999999999996``, the double before 3, which is the same test. It is written with
    ``<`` where that is much shorter.

    >>> x = Encoding("x", "number")
    >>> threshold_text(71.5, x), threshold_text(math.nextafter(3, 0), x), threshold_text(math.nextafter(0, -1), x)
    (('<=', '>', '71.5'), ('<', '>=', '3'), ('<', '>=', '0'))

    In the encodings of a displayed model, a column of whole numbers has a whole threshold, which is the same test.

    >>> from treewise.data.encoding import NumberStyle
    >>> threshold_text(2.5, Encoding("x", "number", numbers="whole", style=NumberStyle("rooms")))
    ('<=', '>', '2 rooms')
    """
    if encoding.style is not None and encoding.numbers and math.isfinite(cut):
        return "<=", ">", encoding.format(float(math.floor(cut)))
    text = encoding.format(cut)
    if encoding.kind != "number" or len(text) <= _DIGITS_SAVED or not math.isfinite(cut):
        return "<=", ">", text
    above = encoding.format(math.nextafter(cut, math.inf) + 0.0)
    return ("<=", ">", text) if len(above) + _DIGITS_SAVED > len(text) else ("<", ">=", above)


def is_binary_cut(cut: float | int, encoding: Encoding) -> bool:
    """Return whether a displayed threshold separates 0 from 1 in a column that has nothing else.

    >>> from treewise.data.encoding import NumberStyle
    >>> is_binary_cut(0.5, Encoding("x", "number", numbers="binary", style=NumberStyle()))
    True
    """
    return encoding.style is not None and encoding.numbers == "binary" and 0 <= cut < 1


def midpoint(a: float, b: float) -> float:
    """Return the threshold between neighbours a < b: the shortest of the numbers near the middle, a <= t < b.

    The core computes the same (``src/core/search/midpoint.hpp``); both are tested against each other.

    >>> midpoint(42.3, 42.4), midpoint(0.0, 1.0), midpoint(206, 207)
    (42.35, 0.5, 206.5)
    >>> midpoint(1.0, 1.0000000000000002)                        # neighbours in float64: nothing lies between
    1.0
    >>> midpoint(-math.inf, 5.0), midpoint(5.0, math.inf), midpoint(-1.7e308, 1.7e308)
    (-1.7976931348623157e+308, 5.0, 0.0)
    """
    largest = sys.float_info.max
    if a == -math.inf:
        if b == math.inf:
            return 0.0
        return -largest if -largest < b else -math.inf
    if b == math.inf:
        return a + 0.0
    t = a + (b - a) / 2 if math.isfinite(b - a) else a / 2 + b / 2
    if t >= b:
        t = a
    short = float(f"{t:.15g}")
    if a <= short < b:
        t = short
    return t + 0.0  # -0.0 becomes 0.0


def midpoint_int(a: int, b: int) -> int:
    """Return the threshold between wide integers a < b: the floor of their mean.

    >>> midpoint_int(2**53, 2**53 + 1) == 2**53
    True
    """
    return (a + b) // 2
