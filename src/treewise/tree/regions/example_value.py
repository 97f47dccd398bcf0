"""A cell that fits a condition, as natural as can be: a round number, a declared level, a day rather than a moment.

Stands on ``condition.py``. Witnesses and examples are made of these: what a person would have typed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import INT64_MAX, INT64_MIN, UNSEEN, Encoding
from treewise.data.parse_cells import parse_number
from treewise.tree.regions.condition import Condition, Interval, interval

Cell = float | int | str | bool | None
_UNKNOWN = "something else"  # a level no tree has seen
_HUGE = 1e300  # ends past this are as good as none: nobody types such a number


def some_cell(condition: Condition, encoding: Encoding, markers: Sequence[str] = ()) -> Cell:
    """Return a cell that fits: a number or a declared level if possible, else a never-seen level, else None.

    >>> some_cell(Interval(3.2, 7.0), Encoding("age", "number")), some_cell(Interval(71.5), Encoding("age", "number"))
    (5, 72)
    """
    return as_cell(some_value(condition, encoding, markers), encoding)


def some_value(condition: Condition, encoding: Encoding, markers: Sequence[str] = ()) -> float | int | None:
    """Return a value that fits as the column's own number, or a level's code (-2: never seen); None is missing.

    Numbers that the ``markers`` say mean "missing", and are passed over where there is another.

    >>> some_value(Interval(None, -999.0), Encoding("x", "number"), ("-999",))
    -1000
    """
    if isinstance(condition, Interval):
        if not condition.present:
            return None
        find = _some_number if encoding.kind == "number" else partial(_some_whole, encoding=encoding)
        found = find(condition.low, condition.high)
        said = (
            {parse_number(marker) for marker in markers} if markers and encoding.kind in ("number", "integer") else ()
        )
        if found not in said:
            return found
        others = (find(part.low, part.high) for part in _beside(condition, found, encoding) if part.present)
        return next((other for other in others if other not in said), found)
    return next(condition.codes(), UNSEEN if condition.unseen else None)


def _beside(condition: Interval, value: float | int, encoding: Encoding) -> tuple[Interval, Interval]:
    """Return what is left of an interval below and above one of its numbers."""
    whole = encoding.kind != "number" or (isinstance(value, int) and abs(value) >= 2**53)
    below = value - 1 if whole else math.nextafter(value, -math.inf)
    return interval(condition.low, below, False, encoding), interval(value, condition.high, False, encoding)


def as_cell(value: float | int | None, encoding: Encoding) -> Cell:
    """Write one of the column's own numbers as a person would type it."""
    if value is None or not (encoding.is_categorical or encoding.kind == "datetime"):
        return value
    if encoding.kind == "datetime":
        return encoding.format(value)
    if value < 0:
        return unknown_level(encoding)
    level = encoding.levels[int(value)]
    return level == "true" if encoding.kind == "boolean" else level


def unknown_level(encoding: Encoding) -> str:
    """Return a level that is none of the column's.

    >>> unknown_level(Encoding("c", "nominal", ("something else",)))
    'something else!'
    """
    known, text = set(encoding.levels), _UNKNOWN
    while text in known:
        text += "!"
    return text


def _some_number(low: float | None, high: float | None) -> float | int:
    """Return a number with low < x <= high: the coarsest multiple of a power of ten, nearest the middle.

    >>> _some_number(206.5, 211.0), _some_number(17.0, 45.5), _some_number(0.30, 0.37), _some_number(None, 71.5)
    (210, 30, 0.35, 71)
    >>> _some_number(None, -math.inf), _some_number(1.0, 1.0000000000000002), _some_number(-1.7e308, 2.5)
    (-inf, 1.0000000000000002, 2)
    """
    low = None if low is not None and low <= -_HUGE else low
    high = None if high is not None and high >= _HUGE else high
    if low is None or high is None:
        return _number_beside(low, high)
    width = high - low
    power = math.floor(math.log10(width)) + 1 if width > 0 else 0
    for exponent in range(power, power - 3, -1):
        for step in (10.0**exponent, 5 * 10.0 ** (exponent - 1)):
            nearest = round((low + width / 2) / step) if step > 0 else 0
            for k in (nearest, nearest + 1, nearest - 1):
                found = float(f"{k * step:.15g}")
                if low < found <= high:
                    return _tidy(found)
    return _tidy(high)


def _number_beside(low: float | None, high: float | None) -> float | int:
    """Return a number near the one end there is: the next whole one, or the end itself where numbers are sparse.

    >>> _number_beside(None, 2**60 + 255) == 2**60 + 255       # no double: the next one is larger
    True
    """
    if low is None:
        if high is None:
            return 0
        whole = float(math.floor(high)) if math.isfinite(high) else high
        return _tidy(whole if whole <= high else high)
    if math.isinf(low):
        return low  # nothing is larger: the caller asks of an empty interval
    whole = float(math.floor(low)) + 1
    return _tidy(whole if whole > low else math.nextafter(low, math.inf))


def _tidy(value: float) -> float | int:
    """Return whole numbers as such."""
    return int(value) if math.isfinite(value) and value == int(value) and abs(value) < 2**53 else value


def _some_whole(low: float | None, high: float | None, encoding: Encoding) -> int:
    """Return a whole number with low < x <= high: a midnight if it is a moment, near the end or in the middle.

    >>> _some_whole(None, 2**60, Encoding("n", "integer")) == 2**60
    True
    """
    least = INT64_MIN + 1 if low is None else int(low) + 1
    most = INT64_MAX if high is None else int(high)
    if low is None or high is None:
        return most if high is not None else least if low is not None else 0
    day = TICKS_PER_DAY.get(encoding.unit, 1)
    middle = (least + most) // 2
    for step in (day, max(1, day // 24), max(1, day // 1440), max(1, day // 86400)):
        found = middle // step * step
        if found < least:
            found += step
        if found <= most:
            return int(np.int64(found))
    return middle
