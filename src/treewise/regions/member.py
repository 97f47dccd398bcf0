"""A cell that fits a condition, as natural as can be: a round number, a declared level, a day rather than a moment.

Stands on ``condition.py``. Witnesses and examples are made of these: what a person would have typed.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from treewise.encode import INT64_MAX, INT64_MIN, UNSEEN, Encoding
from treewise.encode.convert import PER_DAY
from treewise.regions.condition import Condition, Interval

Cell = float | int | str | bool | None
UNKNOWN = "something else"  # a level no tree has seen


def some_cell(condition: Condition, encoding: Encoding) -> Cell:
    """Return a cell that fits: a number or a declared level if possible, else a never-seen level, else None.

    >>> some_cell(Interval(3.2, 7.0), Encoding("age", "number")), some_cell(Interval(71.5), Encoding("age", "number"))
    (5, 72)
    """
    return as_cell(some_value(condition, encoding), encoding)


def some_value(condition: Condition, encoding: Encoding) -> float | int | None:
    """Return a value that fits as the column's own number, or a level's code (-2: never seen); None is missing."""
    if isinstance(condition, Interval):
        if not condition.present:
            return None
        find = some_number if encoding.kind == "number" else partial(some_whole, encoding=encoding)
        return find(condition.low, condition.high)
    return next(condition.codes(), UNSEEN if condition.unseen else None)


def as_cell(value: float | int | None, encoding: Encoding) -> Cell:
    """Write one of the column's own numbers as a person would type it."""
    if value is None or not (encoding.categorical or encoding.kind == "datetime"):
        return value
    if encoding.kind == "datetime":
        return encoding.say(value)
    if value < 0:
        return unknown_level(encoding)
    level = encoding.levels[int(value)]
    return level == "true" if encoding.kind == "boolean" else level


def unknown_level(encoding: Encoding) -> str:
    """Return a level that is none of the column's.

    >>> unknown_level(Encoding("c", "nominal", ("something else",)))
    'something else!'
    """
    known, text = set(encoding.levels), UNKNOWN
    while text in known:
        text += "!"
    return text


def some_number(low: float | None, high: float | None) -> float | int:
    """Return a number with low < x <= high: the coarsest multiple of a power of ten, nearest the middle.

    >>> some_number(206.5, 211.0), some_number(17.0, 45.5), some_number(0.30, 0.37), some_number(None, 71.5)
    (210, 30, 0.35, 71)
    >>> some_number(None, -math.inf), some_number(1.0, 1.0000000000000002)
    (-inf, 1.0000000000000002)
    """
    if low is None and high is None:
        return 0
    if low is None or high is None or math.isinf(low) or math.isinf(high):
        return number_beside(low, high)
    width = high - low
    if not math.isfinite(width):
        return 0
    power = math.floor(math.log10(width)) + 1 if width > 0 else 0
    for exponent in range(power, power - 3, -1):
        for step in (10.0**exponent, 5 * 10.0 ** (exponent - 1)):
            nearest = round((low + width / 2) / step) if step > 0 else 0
            for k in (nearest, nearest + 1, nearest - 1):
                found = float(f"{k * step:.15g}")
                if low < found <= high:
                    return tidy(found)
    return tidy(high)


def number_beside(low: float | None, high: float | None) -> float | int:
    """Return a number near the one end there is: the next whole one, or the end itself where numbers are sparse."""
    if low is None or low == -math.inf:
        if high is None or high == math.inf:
            return 0
        whole = float(math.floor(high)) if math.isfinite(high) else high
        return tidy(whole if low is None or whole > low else high)
    if math.isinf(low):
        return low  # nothing is larger: the caller asks of an empty interval
    whole = float(math.floor(low)) + 1
    return tidy(whole if whole > low else math.nextafter(low, math.inf))


def tidy(value: float) -> float | int:
    """Return whole numbers as such."""
    return int(value) if math.isfinite(value) and value == int(value) and abs(value) < 2**53 else value


def some_whole(low: float | None, high: float | None, encoding: Encoding) -> int:
    """Return a whole number with low < x <= high: a midnight if it is a moment, near the end or in the middle.

    >>> some_whole(None, 2**60, Encoding("n", "integer")) == 2**60
    True
    """
    least = INT64_MIN + 1 if low is None else int(low) + 1
    most = INT64_MAX if high is None else int(high)
    if low is None or high is None:
        return most if high is not None else least if low is not None else 0
    day = PER_DAY.get(encoding.unit, 1)
    middle = (least + most) // 2
    for step in (day, max(1, day // 24), max(1, day // 1440), max(1, day // 86400)):
        found = middle // step * step
        if found < least:
            found += step
        if found <= most:
            return int(np.int64(found))
    return middle
