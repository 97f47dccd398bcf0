"""What text says: a number, a mark for "missing", true or false, a point in time.

Stands above ``column.py``. Text is judged label by label, not cell by cell, and in one place, so that a CSV
file and a dataframe of strings are read alike: ``csvfile.py`` uses this for cells, ``encode`` for text
columns of any origin.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewise.data.column import (
    Array,
    Column,
    Mask,
    any_or_none,
    bool_column,
    datetime_column,
    float_column,
    int_column,
    read_only,
)

# What people write where nothing is known: Weka's ?, R's NA, SAS's dot, NumPy's nan, SQL's null.
_MARKERS = frozenset({"", "?", "na", "n/a", "nan", "null", ".", "-"})
_LONGEST_MARKER = max(map(len, _MARKERS))

INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.IGNORECASE)
PADDED = re.compile(r"[+-]?0[0-9]")  # 02134 is a code, not two thousand
_DATETIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r" ?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_MAX_BOOL_LABELS = 100  # of true, false and missing: a column with more labels is no boolean
_NS_YEARS = range(1678, 2262)  # what nanoseconds since 1970 can reach in 64 bits


def is_marker(text: str) -> bool:
    """Tell whether text stands for "missing" among numbers.

    >>> [is_marker(text) for text in ("NA", " ? ", "n/a", "n/d", "0")]
    [True, True, True, False, False]
    """
    bare = text.strip()
    return len(bare) <= _LONGEST_MARKER and bare.lower() in _MARKERS


def parse_number(text: str) -> int | float | None:
    """Read text as a number, exactly: whole numbers of any size stay whole.

    >>> parse_number("3.70"), parse_number(" 12 "), parse_number("1e3"), parse_number("54y"), parse_number("1_000")
    (3.7, 12, 1000.0, None, None)
    """
    bare = text.strip()
    if NUMBER.fullmatch(bare) is None:
        return None
    # Python refuses to convert thousands of digits; as a float such a number is infinite anyway.
    return int(bare) if len(bare) < 400 and INTEGER.fullmatch(bare) else float(bare)


def parse_value(text: str) -> object:
    """Read a level by its value, so that "4" is "4.0", "True" is "true", and one moment has many spellings.

    >>> parse_value("4") == parse_value("4.00"), parse_value("2024-03-31") == parse_value("2024-03-31 00:00Z")
    (True, True)
    """
    number = parse_number(text)
    if number is not None:
        return number
    bare = text.strip()
    if bare.lower() in ("true", "false"):
        return "boolean", bare.lower() == "true"
    moments = parse_datetimes([bare]) if _DATETIME.fullmatch(bare) else None
    if moments is None:
        return None
    moment = datetime_column("", moments)
    return moment.unit, int(moment.values[0])


@dataclass(frozen=True)
class ParsedCells:
    """How the labels of a text column read as numbers."""

    numbers: list[int | float | None]
    is_number: Mask
    is_marker: Mask
    padded: bool  # some number has a leading zero, as codes do

    @property
    def all_numbers(self) -> bool:
        """Whether every label is a number or means missing."""
        return bool((self.is_number | self.is_marker).all())

    @property
    def too_large(self) -> Mask:
        """Whole numbers past 64 bits, when all are whole (with fractions among them they are floats)."""
        whole = [v for v in self.numbers if v is not None]
        large = [isinstance(v, int) and not -(2**63) < v < 2**63 for v in self.numbers]
        return np.array(large, np.bool_) & all(isinstance(v, int) for v in whole)


def parse_numbers(labels: Sequence[str]) -> ParsedCells:
    """Read every label as a number where it is one.

    >>> r = parse_numbers(["1", "2.5", "NA", "x"])
    >>> r.numbers, r.is_marker.tolist(), r.all_numbers
    ([1, 2.5, None, None], [False, False, True, False], False)
    """
    numbers = [parse_number(label) for label in labels]
    is_number = np.array([v is not None for v in numbers], np.bool_)
    marks = np.array([v is None and is_marker(label) for v, label in zip(numbers, labels, strict=True)], np.bool_)
    padded = any(v is not None and PADDED.match(label.strip()) for v, label in zip(numbers, labels, strict=True))
    return ParsedCells(numbers, is_number, marks, padded)


def to_number_column(column: Column, readings: ParsedCells) -> Column:
    """Turn a text column whose labels are all numbers or markers into numbers; markers become missing."""
    numbers = [v for v in readings.numbers if v is not None]
    if numbers and all(isinstance(v, int) for v in numbers):
        per_label = np.array([0 if v is None else v for v in readings.numbers], np.int64)
        gone = column.expand(~readings.is_number, True)
        return int_column(column.name, column.expand(per_label, 0), any_or_none(gone))
    floats = np.array([np.nan if v is None else to_double(v) for v in readings.numbers], np.float64)
    return float_column(column.name, column.expand(floats, np.nan))


def to_double(value: Any) -> float:
    """Round to the nearest double; what is too large is infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def to_bool_column(column: Column) -> Column | None:
    """Turn a column of true and false, in any case, into booleans, markers into missing; else return None."""
    if len(column.labels) > _MAX_BOOL_LABELS:
        return None
    words = ["" if is_marker(label) else label.strip().lower() for label in column.labels]
    if not set(words) <= {"true", "false", ""} or not any(words):
        return None
    truth = column.expand(np.array([word == "true" for word in words], np.uint8), 0)
    return bool_column(column.name, truth, column.expand(np.array([not word for word in words]), True))


def to_datetime_column(column: Column) -> Column | None:
    """Turn a column of ISO dates or times into datetimes; return None if it holds anything else.

    ``2024-03-31`` and ``2024-03-31T14:30:00.5+02:00`` are ISO. Other ways to write a date stay text:
    03/04/2024 is March in one country and April in another. Among dates, too, the usual markers mean missing.
    Times without an offset count as UTC.
    """
    first = next((label for label in column.labels if not is_marker(label)), "")
    if _DATETIME.fullmatch(first.strip()) is None:
        return None  # soon seen, mostly
    marks = [is_marker(label) for label in column.labels]
    moments = parse_datetimes([label for label, mark in zip(column.labels, marks, strict=True) if not mark])
    if moments is None:
        return None
    per_label = np.full(len(marks), np.datetime64("NaT"), moments.dtype)
    per_label[~np.array(marks, np.bool_)] = moments
    return datetime_column(column.name, column.expand(per_label, np.datetime64("NaT")))


def parse_datetimes(labels: Sequence[str]) -> Array | None:
    """Read labels as datetime64; None as soon as one is something else.

    >>> parse_datetimes(["2024-03-31", "2024-03-31 14:30:00+02:00"]).astype(str).tolist()
    ['2024-03-31T00:00:00', '2024-03-31T12:30:00']
    """
    parts = []
    for label in labels:
        match = _DATETIME.fullmatch(label.strip())
        if match is None:
            return None
        parts.append(match.groups(""))
    digits = max((len(p[6]) for p in parts), default=0)
    unit = "s" if digits == 0 else "ms" if digits <= 3 else "us" if digits <= 6 else "ns"
    if unit == "ns" and not all(int(p[0]) in _NS_YEARS for p in parts):
        return None
    texts = [
        f"{year}-{month}-{day}T{hour or '00'}:{minute or '00'}:{second or '00'}.{fraction or '0'}"
        for year, month, day, hour, minute, second, fraction, _ in parts
    ]
    try:
        moments = np.array(texts, f"datetime64[{unit}]")
    except ValueError:  # the 31st of February
        return None
    moments -= np.array([_offset_minutes(p[7]) for p in parts], "timedelta64[m]")
    return moments


def _offset_minutes(offset: str) -> int:
    """Read ``+02:00``, ``-0530`` or ``Z`` as minutes east of Greenwich."""
    if offset in ("", "Z"):
        return 0
    minutes = int(offset[1:3]) * 60 + int(offset[-2:])
    return -minutes if offset[0] == "-" else minutes


def format_numbers(values: Array) -> list[str]:
    """Write numbers as levels: ``4.0`` beside ``3.7``, but ``4`` where all are whole, whatever their type.

    >>> format_numbers(np.array([3.7, 4.0])), format_numbers(np.array([3.0, 4.0])), format_numbers(np.array([3]))
    (['3.7', '4.0'], ['3', '4'], ['3'])
    """
    if values.dtype.kind != "f":
        return [str(v) for v in values.tolist()]
    if np.all((np.floor(values) == values) & (np.abs(values) < 2.0**63)):
        return [str(int(v)) for v in values.tolist()]
    return [repr(v + 0.0) for v in values.tolist()]  # + 0.0: no negative zero


def mask_markers(column: Column, markers: Sequence[str]) -> Column:
    """Make missing the cells that say one of these markers: as text, or as a number of the same value."""
    if not markers:
        return column
    if column.is_coded:
        gone = np.array([label in markers or label.strip() in markers for label in column.labels], np.bool_)
        if not gone.any():
            return column
        kept = np.cumsum(~gone) - 1
        codes = column.expand(np.where(gone, -1, kept).astype(np.int32), -1)
        labels = tuple(label for label, out in zip(column.labels, gone.tolist(), strict=True) if not out)
        return replace(column, values=read_only(codes), labels=labels)
    if column.form not in ("int", "float"):
        return column
    gone = np.zeros(len(column), np.bool_)  # an array on the right: float32 cells are compared as the doubles they are
    for value in map(parse_number, markers):
        if value is not None and (column.form == "float" or -(2**63) <= value < 2**63):
            gone |= column.values == np.array([to_double(value) if column.form == "float" else value])
    if not gone.any():
        return column
    if column.form == "float":
        return replace(column, values=read_only(np.where(gone, np.nan, column.values)))
    return replace(column, missing=gone | column.is_missing())
