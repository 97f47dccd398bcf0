"""Parse text cells: numbers, missing-value markers, booleans, datetimes.

Text is parsed once per distinct label. ``csv_file.py`` uses this for files and ``encoding.py`` for text columns of any
origin, so a CSV file and a dataframe of strings are read alike.
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
    truncate,
)
from treewise.errors import DataError

# Common markers of missing values: Weka's ?, R's NA, the dot of SAS, NumPy's nan, SQL's null.
_MARKERS = frozenset({"", "?", "na", "n/a", "nan", "null", ".", "-"})
_LONGEST_MARKER = max(map(len, _MARKERS))

INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf(?:inity)?", re.IGNORECASE)
PADDED = re.compile(r"[+-]?0[0-9]")  # 02134 is a code, not a number
_DATETIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r" ?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_MAX_BOOL_LABELS = 100  # a column with more labels (spellings of true, false and missing) is not boolean
_NS_YEARS = range(1678, 2262)  # range of nanoseconds since 1970 in 64 bits


def is_marker(text: str) -> bool:
    """Return whether text is a common marker for a missing value.

    >>> [is_marker(text) for text in ("NA", " ? ", "n/a", "n/d", "0")]
    [True, True, True, False, False]
    """
    stripped = text.strip()
    return len(stripped) <= _LONGEST_MARKER and stripped.lower() in _MARKERS


def parse_number(text: str) -> int | float | None:
    """Parse text as a number; integers of any size stay exact. None if it is not a number.

    >>> parse_number("3.70"), parse_number(" 12 "), parse_number("1e3"), parse_number("54y"), parse_number("1_000")
    (3.7, 12, 1000.0, None, None)
    """
    stripped = text.strip()
    if NUMBER.fullmatch(stripped) is None:
        return None
    # Python refuses to parse thousands of digits; as a float such a number is infinite anyway.
    return int(stripped) if len(stripped) < 400 and INTEGER.fullmatch(stripped) else float(stripped)


def parse_value(text: str) -> object:
    """Parse a level to a value under which spellings compare equal: "4" and "4.0", "True" and "true", equal datetimes.

    >>> parse_value("4") == parse_value("4.00"), parse_value("2024-03-31") == parse_value("2024-03-31 00:00Z")
    (True, True)
    """
    number = parse_number(text)
    if number is not None:
        return number
    stripped = text.strip()
    if stripped.lower() in ("true", "false"):
        return "boolean", stripped.lower() == "true"
    datetimes = parse_datetimes([stripped]) if _DATETIME.fullmatch(stripped) else None
    if datetimes is None:
        return None
    datetime_ = datetime_column("", datetimes)
    return datetime_.unit, int(datetime_.values[0])


@dataclass(frozen=True)
class ParsedCells:
    """The labels of a text column, parsed as numbers."""

    numbers: list[int | float | None]
    is_number: Mask
    is_marker: Mask
    padded: bool  # some number has a leading zero, as codes have

    @property
    def all_numbers(self) -> bool:
        """Whether every label is a number or a marker."""
        return bool((self.is_number | self.is_marker).all())

    @property
    def too_large(self) -> Mask:
        """Mask of integers beyond 64 bits if all numbers are integers (otherwise they become floats)."""
        numbers = [v for v in self.numbers if v is not None]
        large = [isinstance(v, int) and not -(2**63) < v < 2**63 for v in self.numbers]
        return np.array(large, np.bool_) & all(isinstance(v, int) for v in numbers)


def parse_numbers(labels: Sequence[str]) -> ParsedCells:
    """Parse every label as a number where possible.

    >>> r = parse_numbers(["1", "2.5", "NA", "x"])
    >>> r.numbers, r.is_marker.tolist(), r.all_numbers
    ([1, 2.5, None, None], [False, False, True, False], False)
    """
    numbers = [parse_number(label) for label in labels]
    is_number = np.array([v is not None for v in numbers], np.bool_)
    is_marker_ = np.array([v is None and is_marker(label) for v, label in zip(numbers, labels, strict=True)], np.bool_)
    padded = any(v is not None and PADDED.match(label.strip()) for v, label in zip(numbers, labels, strict=True))
    return ParsedCells(numbers, is_number, is_marker_, padded)


def to_number_column(column: Column, parsed: ParsedCells) -> Column:
    """Convert a text column whose labels are all numbers or markers; markers become missing."""
    numbers = [v for v in parsed.numbers if v is not None]
    if numbers and all(isinstance(v, int) for v in numbers):
        per_label = np.array([0 if v is None else v for v in parsed.numbers], np.int64)
        is_missing = column.expand(~parsed.is_number, True)
        return int_column(column.name, column.expand(per_label, 0), any_or_none(is_missing))
    floats = np.array([np.nan if v is None else to_double(v) for v in parsed.numbers], np.float64)
    return float_column(column.name, column.expand(floats, np.nan))


def to_double(value: Any) -> float:
    """Round to the nearest double; overflow becomes infinity."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def to_bool_column(column: Column) -> Column | None:
    """Convert a text column of true, false (in any case) and markers to booleans; None if it has anything else."""
    if len(column.labels) > _MAX_BOOL_LABELS:
        return None
    lowered = ["" if is_marker(label) else label.strip().lower() for label in column.labels]
    if not set(lowered) <= {"true", "false", ""} or not any(lowered):
        return None
    truth = column.expand(np.array([text == "true" for text in lowered], np.uint8), 0)
    return bool_column(column.name, truth, column.expand(np.array([not text for text in lowered]), True))


def to_datetime_column(column: Column) -> Column | None:
    """Convert a text column of ISO dates or times to datetimes; None if it has anything else.

    ``2024-03-31`` and ``2024-03-31T14:30:00.5+02:00`` are ISO. Other date formats stay text: 03/04/2024 is ambiguous.
    The usual markers become missing. Times without an offset are UTC.
    """
    first = next((label for label in column.labels if not is_marker(label)), "")
    if _DATETIME.fullmatch(first.strip()) is None:
        return None  # the common case, decided early
    is_marker_ = [is_marker(label) for label in column.labels]
    datetimes = parse_datetimes([label for label, mark in zip(column.labels, is_marker_, strict=True) if not mark])
    if datetimes is None:
        return None
    per_label = np.full(len(is_marker_), "NaT", datetimes.dtype)
    per_label[~np.array(is_marker_, np.bool_)] = datetimes
    return datetime_column(column.name, column.expand(per_label, "NaT"))


def parse_datetimes(labels: Sequence[str]) -> Array | None:
    """Parse labels as datetime64; None if one is something else.

    >>> parse_datetimes(["2024-03-31", "2024-03-31 14:30:00+02:00"]).astype(str).tolist()
    ['2024-03-31T00:00:00', '2024-03-31T12:30:00']
    """
    parts = []
    for label in labels:
        match = _DATETIME.fullmatch(label.strip())
        if match is None:
            return None
        parts.append(match.groups(""))
    if len({bool(p[7]) for p in parts if p[3]}) == 2:
        return None  # reported by check_offsets
    digits = max((len(p[6]) for p in parts), default=0)
    unit = "s" if digits == 0 else "ms" if digits <= 3 else "us" if digits <= 6 else "ns"
    if unit == "ns" and not all(int(p[0]) in _NS_YEARS for p in parts):
        return None
    texts = [
        f"{year}-{month}-{day}T{hour or '00'}:{minute or '00'}:{second or '00'}.{fraction or '0'}"
        for year, month, day, hour, minute, second, fraction, _ in parts
    ]
    try:
        datetimes = np.array(texts, f"datetime64[{unit}]")
    except ValueError:  # such as the 31st of February
        return None
    datetimes -= np.array([_offset_minutes(p[7]) for p in parts], "timedelta64[m]")
    return datetimes


def check_offsets(column: Column) -> None:
    """Raise if some times of a text column have an offset and others have none; dates without a time are neither."""
    first: dict[bool, int] = {}
    for code, label in enumerate(column.labels):
        match = _DATETIME.fullmatch(label.strip())
        if match is None and not is_marker(label):
            return  # not a column of times
        if match is not None and match[4]:
            first.setdefault(match[8] is not None, code)
    if len(first) == 2:
        rows = [int(np.argmax(column.values == first[has_offset])) for has_offset in (True, False)]
        raise mixed_offsets_error(column.name, rows, [column.format_cell(row) for row in rows])


def mixed_offsets_error(name: str, rows: Sequence[int], cells: Sequence[str]) -> DataError:
    """Return the error for times with and without an offset in one column, given an example of each."""
    return DataError(
        f'column "{truncate(name)}" mixes times with an offset ({cells[0]} in row {rows[0] + 1:,}) and times without'
        f" one ({cells[1]} in row {rows[1] + 1:,}).",
        hint="Give an offset to all, or to none: those without one are UTC.",
        column=name,
        row=rows[1],
    )


def _offset_minutes(offset: str) -> int:
    """Parse ``+02:00``, ``-0530`` or ``Z`` as minutes east of UTC."""
    if offset in ("", "Z"):
        return 0
    minutes = int(offset[1:3]) * 60 + int(offset[-2:])
    return -minutes if offset[0] == "-" else minutes


def format_numbers(values: Array) -> list[str]:
    """Format numbers as levels: ``4.0`` next to ``3.7``, but ``4`` if all are integers, of any dtype.

    >>> format_numbers(np.array([3.7, 4.0])), format_numbers(np.array([3.0, 4.0])), format_numbers(np.array([3]))
    (['3.7', '4.0'], ['3', '4'], ['3'])
    """
    if values.dtype.kind != "f":
        return [str(v) for v in values.tolist()]
    if np.all((np.floor(values) == values) & (np.abs(values) < 2.0**63)):
        return [str(int(v)) for v in values.tolist()]
    return [repr(v + 0.0) for v in values.tolist()]  # + 0.0: no negative zero


def mask_markers(column: Column, markers: Sequence[str]) -> Column:
    """Make cells missing that equal one of these markers, as text or as a number of the same value."""
    if not markers:
        return column
    if column.is_coded:
        is_missing = np.array([label in markers or label.strip() in markers for label in column.labels], np.bool_)
        if not is_missing.any():
            return column
        kept = np.cumsum(~is_missing) - 1
        codes = column.expand(np.where(is_missing, -1, kept).astype(np.int32), -1)
        labels = tuple(
            label for label, is_dropped in zip(column.labels, is_missing.tolist(), strict=True) if not is_dropped
        )
        return replace(column, values=read_only(codes), labels=labels)
    if column.form not in ("int", "float"):
        return column
    is_missing = np.zeros(
        len(column), np.bool_
    )  # compared with an array, so that float32 cells are compared as doubles
    for value in map(parse_number, markers):
        if value is not None and (column.form == "float" or -(2**63) <= value < 2**63):
            is_missing |= column.values == np.array([to_double(value) if column.form == "float" else value])
    if not is_missing.any():
        return column
    if column.form == "float":
        return replace(column, values=read_only(np.where(is_missing, np.nan, column.values)))
    return replace(column, missing=is_missing | column.is_missing())
