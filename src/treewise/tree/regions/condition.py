"""Conditions on one column, as values and as text: an interval of numbers, or a set of levels; and missing or not.

A region (``region.py``) has one condition per column. Conditions are immutable and in the column's own numbers
(float64, exact int64, level codes), so that they include exactly the rows that the core sends there. Their text uses
the wording of ``tree/splits.py``, so that rules read like the branches of the tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from treewise._lib.text import safe
from treewise.data.encoding import INT64_MAX, INT64_MIN, Encoding, NumberStyle
from treewise.tree.splits import is_binary_cut, quote, set_text, threshold_text

Number = float | int


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers with ``low < x <= high`` (None: no bound); none at all if ``present`` is False.

    >>> Interval(3.2, 7.0, missing=False).holds(7.0), Interval(3.2, 7.0).holds(None), Interval().free
    (True, True, True)
    """

    low: Number | None = None
    high: Number | None = None
    present: bool = True  # whether some number is possible
    missing: bool = True  # whether the cell may be missing

    @property
    def free(self) -> bool:
        """Whether everything is possible."""
        return self.low is None and self.high is None and self.present and self.missing

    @property
    def empty(self) -> bool:
        """Whether nothing is possible."""
        return not (self.present or self.missing)

    def holds(self, value: Number | None) -> bool:
        """Return whether a number, or a missing cell (None), is possible."""
        if value is None:
            return self.missing
        above = self.low is None or value > self.low
        return self.present and above and (self.high is None or value <= self.high)

    def within(self, other: Interval, encoding: Encoding) -> Interval:
        """Return the intersection of both."""
        lows = [i.low for i in (self, other) if i.low is not None]
        highs = [i.high for i in (self, other) if i.high is not None]
        missing = self.missing and other.missing
        if not (self.present and other.present):
            return Interval(present=False, missing=missing)
        return make_interval(max(lows, default=None), min(highs, default=None), missing, encoding)


def make_interval(low: Number | None, high: Number | None, missing: bool, encoding: Encoding) -> Interval:
    """Return the interval ``(low, high]`` with ``present`` set: whether it contains a number of the column's kind.

    For doubles it does whenever low < high (the upper bound itself), and without a lower bound (-inf).

    >>> make_interval(3.0, 3.5, False, Encoding("x", "number")).present          # 3.5
    True
    >>> make_interval(INT64_MAX, None, False, Encoding("n", "integer")).present
    False
    """
    if encoding.kind == "number":
        present = low is None or low < (float("inf") if high is None else high)
        high = None if high == float("inf") else high
    else:
        low, high = INT64_MIN if low is None else low, INT64_MAX if high is None else high
        present = low < high
        low, high = None if low == INT64_MIN else low, None if high == INT64_MAX else high
    return Interval(low, high, True, missing) if present else Interval(present=False, missing=missing)


@dataclass(frozen=True, eq=False, slots=True)
class Levels:
    """The level codes from ``first`` to ``last``: only those ``listed``, unless that is None, and none of ``without``.

    ``unseen`` tells whether the cell may hold a level that the tree does not know.

    >>> levels = Levels(0, 9, None, frozenset({3}))
    >>> levels.n, levels.holds(3), levels.holds(4), levels.holds(-2), levels == Levels(0, 9, {*range(10)} - {3})
    (9, False, True, True, True)
    """

    first: int
    last: int
    listed: frozenset[int] | None = None
    without: frozenset[int] = frozenset()
    unseen: bool = True
    missing: bool = True

    def codes(self) -> Iterator[int]:
        """Iterate over the codes of the declared levels that are possible, in order."""
        candidates = range(self.first, self.last + 1) if self.listed is None else sorted(self.listed)
        return (c for c in candidates if self.first <= c <= self.last and c not in self.without)

    @property
    def n(self) -> int:
        """The number of declared levels that are possible."""
        if self.listed is None:
            n_excluded = sum(1 for c in self.without if self.first <= c <= self.last)
            return max(0, self.last - self.first + 1 - n_excluded)
        return sum(1 for _ in self.codes())

    @property
    def present(self) -> bool:
        """Whether some level is possible."""
        return self.unseen or next(self.codes(), None) is not None

    def free(self, encoding: Encoding) -> bool:
        """Whether everything is possible."""
        takes_others = self.missing and (self.unseen or encoding.kind == "boolean")
        return takes_others and self.n == len(encoding.levels)

    @property
    def empty(self) -> bool:
        """Whether nothing is possible."""
        return not (self.missing or self.present)

    def holds(self, code: int | None) -> bool:
        """Return whether a code is possible; -2 is a never-seen level, -1 or None a missing cell."""
        if code is None or code == -1:
            return self.missing
        if code < 0:
            return self.unseen
        listed = self.listed is None or code in self.listed
        return listed and self.first <= code <= self.last and code not in self.without

    def within(self, other: Levels) -> Levels:
        """Return the intersection of both."""
        listed, without = self.listed, self.without | other.without
        if listed is None or (other.listed is not None and len(other.listed) < len(listed)):
            listed = other.listed
        if listed is not None:
            listed = frozenset(c for c in listed if self.holds(c) and other.holds(c))
            without = frozenset()
        first, last = max(self.first, other.first), min(self.last, other.last)
        return Levels(first, last, listed, without, self.unseen and other.unseen, self.missing and other.missing)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Levels):
            return NotImplemented
        flags = (self.unseen, self.missing) == (other.unseen, other.missing)
        return flags and self.n == other.n and all(other.holds(c) for c in self.codes())

    def __hash__(self) -> int:
        return hash((self.n, self.unseen, self.missing))


Condition = Interval | Levels


def unconstrained(encoding: Encoding) -> Condition:
    """Return the condition that allows every value of a column.

    >>> unconstrained(Encoding("flag", "boolean", ("false", "true"))).unseen      # a boolean has no third level
    False
    """
    if not encoding.is_categorical:
        return Interval()
    return Levels(0, len(encoding.levels) - 1, unseen=encoding.kind != "boolean")


def is_free(condition: Condition, encoding: Encoding) -> bool:
    """Return whether a condition allows every value."""
    return condition.free if isinstance(condition, Interval) else condition.free(encoding)


def intersect(a: Condition, b: Condition, encoding: Encoding) -> Condition:
    """Return the intersection of two conditions on one column."""
    if isinstance(a, Interval):
        assert isinstance(b, Interval)
        return a.within(b, encoding)
    assert isinstance(b, Levels)
    return a.within(b)


# -- text -------------------------------------------------------------------------------------------------------------


def describe_condition(
    condition: Condition, encoding: Encoding, or_missing: bool = True, or_unseen: bool = True
) -> str:
    """Describe a condition, merged: ``3.2 < age <= 7 or missing``.

    ``or_missing`` and ``or_unseen`` mention missing cells and never-seen levels beside other values; if nothing else is
    possible, they are always mentioned.

    >>> age, city = Encoding("age", "number"), Encoding("city", "nominal", ("Bari", "Rome", "Turin"))
    >>> describe_condition(Interval(3.2, 7.0), age), describe_condition(Interval(3.2, 7.0), age, or_missing=False)
    ('3.2 < age <= 7 or missing', '3.2 < age <= 7')
    >>> describe_condition(Levels(0, 2, frozenset({0, 1}), unseen=False, missing=False), city)
    'city in {Bari, Rome}'
    >>> describe_condition(Levels(0, 2, without=frozenset({1}), missing=False), city)
    'city != Rome'
    >>> describe_condition(Levels(0, 2, frozenset(), unseen=False), city)
    'city missing'
    >>> describe_condition(Levels(0, 2, missing=False), city)
    'city present'
    """
    name = safe(encoding.name)
    phrase = _phrase(condition, encoding)
    if phrase is None:
        return _describe_without_values(condition, name)
    unseen = or_unseen and isinstance(condition, Levels) and condition.unseen and phrase.sign not in _IMPLY_UNSEEN
    return " or ".join([phrase.of(name), *["missing"] * (or_missing and condition.missing), *["never seen"] * unseen])


def describe_bounds(condition: Condition, encoding: Encoding) -> str:
    """Describe a condition without the name of its column, except between two bounds; "" if it allows all or no values.

    >>> age, city = Encoding("age", "number"), Encoding("city", "nominal", ("Bari", "Rome", "a != b"))
    >>> describe_bounds(Interval(3.2), age), describe_bounds(Interval(3.2, 7.0), age), describe_bounds(Interval(), age)
    ('> 3.2', '3.2 < age <= 7', '')
    >>> describe_bounds(Levels(0, 2, without=frozenset({1})), city), describe_bounds(Levels(2, 2, unseen=False), city)
    ('not Rome', 'a != b')
    """
    phrase = _phrase(condition, encoding)
    if phrase is None or phrase.sign == "present":
        return ""
    if phrase.before:
        return phrase.of(safe(encoding.name))
    return {"=": "", "is": "", "!=": "not "}.get(phrase.sign, f"{phrase.sign} ") + phrase.what


class _ConditionPhrase(NamedTuple):
    """A condition in parts, around the name of the column: ``3.2 < age <= 7``."""

    sign: str  # <=
    what: str = ""  # 7
    before: str = ""  # 3.2 <

    def of(self, name: str) -> str:
        return " ".join(part for part in (self.before, name, self.sign, self.what) if part)


_IMPLY_UNSEEN = ("present", "!=", "not in")  # signs that include never-seen levels


def _describe_without_values(condition: Condition, name: str) -> str:
    unseen = isinstance(condition, Levels) and condition.unseen
    values_text = ["missing"] * condition.missing + ["never seen"] * unseen
    return f"{name} {' or '.join(values_text) or 'impossible'}"


def _phrase(condition: Condition, encoding: Encoding) -> _ConditionPhrase | None:
    """Return the phrase for the known values that are possible; None if there are none."""
    if isinstance(condition, Interval):
        return _interval_phrase(condition, encoding) if condition.present else None
    return _levels_phrase(condition, encoding) if condition.n else None


def _interval_phrase(condition: Interval, encoding: Encoding) -> _ConditionPhrase:
    low, high = condition.low, condition.high
    for bound, other, value in ((high, low, "0"), (low, high, "1")):
        if bound is not None and other is None and is_binary_cut(bound, encoding):
            return _ConditionPhrase("=", value)
    if high is None:
        return _ConditionPhrase("present") if low is None else _ConditionPhrase(*threshold_text(low, encoding)[1:])
    at_most, _, top = threshold_text(high, encoding)
    if low is None:
        return _ConditionPhrase(at_most, top)
    if _is_single_number(low, high, encoding):
        return _ConditionPhrase("=", encoding.format(_whole_value(high, encoding)))
    without_unit = encoding if encoding.style is None else replace(encoding, style=NumberStyle())
    _, above, bottom = threshold_text(low, without_unit)
    return _ConditionPhrase(at_most, top, f"{bottom} {above.replace('>', '<')}")


def _whole_value(bound: Number, encoding: Encoding) -> Number:
    """Return the largest value of the column up to a bound, where its displayed numbers are whole."""
    return math.floor(bound) if encoding.style is not None and encoding.numbers else bound


def _is_single_number(low: Number, high: Number, encoding: Encoding) -> bool:
    """Return whether one number of the column lies between two bounds, the lower one excluded."""
    if encoding.kind != "number":
        return high - low == 1
    if encoding.style is not None and encoding.numbers and math.isfinite(low) and math.isfinite(high):
        return math.floor(high) - math.floor(low) == 1
    return math.nextafter(low, math.inf) == high


def _levels_phrase(condition: Levels, encoding: Encoding) -> _ConditionPhrase:
    size, n = len(encoding.levels), condition.n
    if n == size and (condition.unseen or encoding.kind == "boolean"):
        return _ConditionPhrase("present")
    if encoding.kind == "ordered" and n > 1 and (phrase := _range_phrase(condition, encoding, n)):
        return phrase
    if condition.unseen and size - n < n:
        excluded = tuple(level for code, level in enumerate(encoding.levels) if not condition.holds(code))
        return (
            _ConditionPhrase("!=", quote(excluded[0]))
            if len(excluded) == 1
            else _ConditionPhrase("not in", set_text(excluded))
        )
    levels = tuple(encoding.levels[code] for code in condition.codes())
    if n > 1:
        return _ConditionPhrase("in", set_text(levels))
    return _ConditionPhrase("is", levels[0]) if encoding.kind == "boolean" else _ConditionPhrase("=", quote(levels[0]))


def _range_phrase(condition: Levels, encoding: Encoding, n: int) -> _ConditionPhrase | None:
    """Return the phrase for a contiguous range of ordered levels; None if they are not, or all levels are possible."""
    codes = list(condition.codes())
    first, last = codes[0], codes[-1]
    if last - first + 1 != n or n == len(encoding.levels):
        return None
    below, top = (safe(encoding.levels[i]) if i >= 0 else "" for i in (first - 1, last))
    if first == 0:
        return _ConditionPhrase("<=", top)
    return (
        _ConditionPhrase(">", below) if last == len(encoding.levels) - 1 else _ConditionPhrase("<=", top, f"{below} <")
    )
