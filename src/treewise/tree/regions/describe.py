"""A condition in words, merged: ``3.2 < age <= 7 or missing``, ``city in {Bari, Rome}``, "x3 is true".

Stands on ``condition.py`` and quotes the wording of ``tree/splits.py``, so that a rule reads as the tree's own
branches do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from treewise._lib.text import safe
from treewise.data.encoding import Encoding
from treewise.tree.regions.condition import Condition, Interval, Levels
from treewise.tree.splits import quote, set_of


def say(condition: Condition, encoding: Encoding, or_missing: bool = True, or_unseen: bool = True) -> str:
    """Say what is possible of a column; what is missing or never seen only where asked for, or where nothing else is.

    >>> age, city = Encoding("age", "number"), Encoding("city", "nominal", ("Bari", "Rome", "Turin"))
    >>> say(Interval(3.2, 7.0), age), say(Interval(3.2, 7.0), age, or_missing=False)
    ('3.2 < age <= 7 or missing', '3.2 < age <= 7')
    >>> say(Levels(0, 2, frozenset({0, 1}), unseen=False, missing=False), city)
    'city in {Bari, Rome}'
    >>> say(Levels(0, 2, without=frozenset({1}), missing=False), city)
    'city != Rome'
    >>> say(Levels(0, 2, frozenset(), unseen=False), city), say(Levels(0, 2, missing=False), city)
    ('city missing', 'city present')
    """
    name = safe(encoding.name)
    said = _phrase(condition, encoding)
    if said is None:
        return _say_odd(condition, name)
    unseen = or_unseen and isinstance(condition, Levels) and condition.unseen and said.sign not in _COVER_UNSEEN
    return " or ".join([said.of(name), *["missing"] * (or_missing and condition.missing), *["never seen"] * unseen])


def say_limits(condition: Condition, encoding: Encoding) -> str:
    """Say what is possible of a column without its name where that reads well; nothing if all values are, or none.

    >>> age, city = Encoding("age", "number"), Encoding("city", "nominal", ("Bari", "Rome", "a != b"))
    >>> say_limits(Interval(3.2), age), say_limits(Interval(3.2, 7.0), age), say_limits(Interval(), age)
    ('> 3.2', '3.2 < age <= 7', '')
    >>> say_limits(Levels(0, 2, without=frozenset({1})), city), say_limits(Levels(2, 2, unseen=False), city)
    ('not Rome', 'a != b')
    """
    said = _phrase(condition, encoding)
    if said is None or said.sign == "present":
        return ""
    if said.before:
        return said.of(safe(encoding.name))
    return {"=": "", "is": "", "!=": "not "}.get(said.sign, f"{said.sign} ") + said.what


class _ConditionPhrase(NamedTuple):
    """A condition in parts, so that none has to be looked for in names: ``3.2 < age <= 7``."""

    sign: str  # <=
    what: str = ""  # 7
    before: str = ""  # 3.2 <

    def of(self, name: str) -> str:
        """Say it of a column."""
        return " ".join(part for part in (self.before, name, self.sign, self.what) if part)


_COVER_UNSEEN = ("present", "!=", "not in")  # said of levels, these leave never-seen ones possible


def _say_odd(condition: Condition, name: str) -> str:
    """Say that a cell is missing, or never seen, and nothing else."""
    unseen = isinstance(condition, Levels) and condition.unseen
    words = ["missing"] * condition.missing + ["never seen"] * unseen
    return f"{name} {' or '.join(words) or 'impossible'}"


def _phrase(condition: Condition, encoding: Encoding) -> _ConditionPhrase | None:
    """Put into words which known values are possible; None if none is."""
    if isinstance(condition, Interval):
        return _interval_phrase(condition, encoding) if condition.present else None
    return _levels_phrase(condition, encoding) if condition.n else None


def _interval_phrase(condition: Interval, encoding: Encoding) -> _ConditionPhrase:
    """Say which numbers."""
    low, high = condition.low, condition.high
    if high is None:
        return _ConditionPhrase("present") if low is None else _ConditionPhrase(">", encoding.format(low))
    if low is None:
        return _ConditionPhrase("<=", encoding.format(high))
    if high - low == 1 if encoding.kind != "number" else math.nextafter(low, math.inf) == high:  # nothing else between
        return _ConditionPhrase("=", encoding.format(high))
    return _ConditionPhrase("<=", encoding.format(high), f"{encoding.format(low)} <")


def _levels_phrase(condition: Levels, encoding: Encoding) -> _ConditionPhrase:
    """Say which levels."""
    size, n = len(encoding.levels), condition.n
    if n == size and (condition.unseen or encoding.kind == "boolean"):
        return _ConditionPhrase("present")
    if encoding.kind == "ordered" and n > 1 and (said := _range_phrase(condition, encoding, n)):
        return said
    if condition.unseen and size - n < n:
        out = tuple(level for code, level in enumerate(encoding.levels) if not condition.holds(code))
        return _ConditionPhrase("!=", quote(out[0])) if len(out) == 1 else _ConditionPhrase("not in", set_of(out))
    levels = tuple(encoding.levels[code] for code in condition.codes())
    if n > 1:
        return _ConditionPhrase("in", set_of(levels))
    return _ConditionPhrase("is", levels[0]) if encoding.kind == "boolean" else _ConditionPhrase("=", quote(levels[0]))


def _range_phrase(condition: Levels, encoding: Encoding, n: int) -> _ConditionPhrase | None:
    """Say a run of ordered levels by its ends; None if it is no run, or has no end to say."""
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
