"""Convert columns to the encoded arrays of each kind, or raise ``MisfitError``.

``encoding.py`` chooses the kind and turns a ``MisfitError`` into a message. Training and prediction use the same
functions, so equal cells always give equal values. Numbers that must be rounded are rounded up, which preserves every
test ``x <= threshold``; a datetime is truncated to the unit in which it falls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.interruptible import run_interruptible
from treewise.data.column import FORM_NAMES, UNITS, Column, format_datetime
from treewise.data.parse_cells import (
    check_offsets,
    is_marker,
    parse_datetimes,
    parse_number,
    parse_numbers,
    parse_value,
    to_datetime_column,
    to_double,
    to_number_column,
)

Floats = npt.NDArray[Any]  # float64 or float32
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

INT64_MIN = -(2**63)  # missing value of integers and datetimes
INT64_MAX = 2**63 - 1
MAX_EXACT_INT = 2**53  # every integer up to here is a double …
_EXACT_FLOAT = 2**24  # … and up to here a float32
UNSEEN = -2
BOOLEANS = ("false", "true")
TICKS_PER_DAY = {"D": 1, "s": 86400, "ms": 86400 * 10**3, "us": 86400 * 10**6, "ns": 86400 * 10**9}


class MisfitError(Exception):
    """A cell that does not fit the kind of its column."""

    def __init__(self, column: Column, row: int) -> None:
        super().__init__()
        self.holds = FORM_NAMES[column.form]
        self.cell, self.row = column.format_cell(row), row


def _first_cell_error(column: Column) -> MisfitError:
    """Return the error for a column whose form does not fit, with its first cell."""
    return MisfitError(column, int(np.argmin(column.is_missing())))


def to_numeric(column: Column) -> Column:
    """Return the column in form float or int, or raise MisfitError."""
    if column.is_coded:
        column = column.drop_unused_labels()
        parsed = parse_numbers(column.labels)
        is_stray = ~(parsed.is_number | parsed.is_marker)
        if is_stray.any():
            raise MisfitError(column, column.first_row_with(is_stray))
        if parsed.too_large.any():
            parsed = replace(parsed, numbers=[None if v is None else to_double(v) for v in parsed.numbers])
        return to_number_column(column, parsed)
    if column.form == "datetime":
        raise _first_cell_error(column)
    return column


def to_numbers(column: Column) -> Floats:
    """Encode numbers as floats: float32 and float64 unchanged, integers rounded up to the next double."""
    column = to_numeric(column)
    if column.form == "float":
        return column.values
    largest = max(abs(int(column.values.max())), abs(int(column.values.min())))
    values = column.values.astype(np.float32 if largest <= _EXACT_FLOAT else np.float64)
    for i in np.flatnonzero(np.abs(values) >= MAX_EXACT_INT).tolist() if largest >= MAX_EXACT_INT else ():
        if int(values[i]) < int(column.values[i]):
            values[i] = np.nextafter(values[i], np.inf)
    if column.missing is not None:
        values[column.missing] = np.nan
    return values


def to_integers(column: Column) -> Ints:
    """Encode numbers as int64; fractions are rounded up, which preserves ``x <= threshold`` for integer thresholds."""
    column = to_numeric(column)
    missing = column.is_missing()
    if column.form == "float":
        up = np.ceil(np.where(missing, 0, column.values))
        inside = (up > -(2.0**63)) & (up < 2.0**63)
        integers = np.where(inside, up, 0).astype(np.int64)
        values = np.where(inside, integers, np.where(up > 0, INT64_MAX, INT64_MIN + 1))
    else:
        values = np.maximum(column.values.astype(np.int64), INT64_MIN + 1)
    return np.where(missing, np.int64(INT64_MIN), values)


def to_datetimes(column: Column, unit: str) -> Ints:
    """Encode datetimes in a unit: a time is truncated to its day, and a date is its midnight."""
    if column.is_coded:
        column = column.drop_unused_labels()
        check_offsets(column)
        dates = to_datetime_column(column)
        if dates is None:
            raise MisfitError(column, _first_non_date(column))
        column = dates
    if column.form != "datetime":
        raise _first_cell_error(column)
    values = column.values
    if UNITS.index(column.unit) > UNITS.index(unit):
        values = values // (TICKS_PER_DAY[column.unit] // TICKS_PER_DAY[unit])
    elif column.unit != unit:
        factor = TICKS_PER_DAY[unit] // TICKS_PER_DAY[column.unit]
        values = np.clip(values, -(INT64_MAX // factor), INT64_MAX // factor) * factor
    return values if column.missing is None else np.where(column.missing, np.int64(INT64_MIN), values)


def _first_non_date(column: Column) -> int:
    """Return the first row of a text column that is not a date."""
    is_text = [not is_marker(label) and parse_datetimes([label]) is None for label in column.labels]
    return column.first_row_with(np.array(is_text, np.bool_))


def to_booleans(column: Column) -> Codes:
    """Encode true and false (in any case) or 1 and 0."""
    if column.is_coded:
        column = column.drop_unused_labels()
        lowered = [label.strip().lower() for label in column.labels]
        codes = [BOOLEANS.index(w) if w in BOOLEANS else parse_number(w) for w in lowered]
        per_label = np.array(
            [c if c in (0, 1) else -1 if is_marker(w) else UNSEEN for c, w in zip(codes, lowered, strict=True)]
        )
        if (per_label == UNSEEN).any():
            raise MisfitError(column, column.first_row_with(per_label == UNSEEN))
        return column.expand(per_label.astype(np.int32), -1)
    if column.form == "bool" and column.missing is None:
        return column.values.astype(np.int32)
    missing = column.is_missing()
    if column.form == "datetime":
        raise _first_cell_error(column)
    invalid = ~missing & (column.values != 0) & (column.values != 1)
    if invalid.any():
        raise MisfitError(column, int(np.argmax(invalid)))
    return np.where(missing, -1, np.where(missing, 0, column.values).astype(np.int32)).astype(np.int32)


def to_levels(column: Column, levels: tuple[str, ...]) -> Codes:
    """Encode categories by their text, else by their value (4 equals "4.0"), else as unseen."""
    if column.is_coded and column.labels == levels:
        return column.values
    exact = {level: code for code, level in enumerate(levels)}
    if column.is_coded and all(label in exact for label in column.labels):
        return column.expand(np.array([exact[label] for label in column.labels], np.int32), -1)
    by_value: dict[object, int] = {}
    for code, level in enumerate(levels):
        if (value := parse_value(level)) is not None:
            by_value.setdefault(value, code)
    if column.form in ("int", "float"):
        return _numbers_to_levels(column, by_value)
    column = _to_text_labels(column, by_value)
    if not {("boolean", False), ("boolean", True)} & by_value.keys():  # true is 1, as in a column of booleans
        by_value |= {("boolean", bool(v)): by_value[v] for v in (0, 1) if v in by_value}
    marker_code = -1 if len(set(by_value.values())) == len(levels) else UNSEEN  # among numbers, "NA" means missing
    per_label = []
    for label in column.labels:
        code = exact.get(label, UNSEEN)
        if code == UNSEEN and (value := parse_value(label)) is not None:
            code = by_value.get(value, UNSEEN)
        elif code == UNSEEN and is_marker(label):
            code = marker_code
        per_label.append(code)
    return column.expand(np.array(per_label, np.int32), -1)


def _numbers_to_levels(column: Column, by_value: Mapping[object, int]) -> Codes:
    """Encode numbers as the levels of equal value."""
    if not by_value:
        raise _first_cell_error(column)
    is_present = ~column.is_missing()
    present, inverse = run_interruptible(
        lambda: np.unique(column.values[is_present], return_inverse=True), rows=len(column)
    )
    codes = np.full(len(column), -1, np.int32)
    codes[is_present] = np.array([by_value.get(v, UNSEEN) for v in present.tolist()], np.int32)[inverse]
    return codes


def _to_text_labels(column: Column, by_value: Mapping[object, int]) -> Column:
    """Return booleans and datetimes as text; booleans as 0 and 1 unless the levels contain true or false."""
    if column.is_coded:
        return column
    present, inverse = np.unique(column.values, return_inverse=True)
    if column.form == "datetime":
        labels = [format_datetime(v, column.unit) for v in present.tolist()]
    else:
        boolean_names = BOOLEANS if {("boolean", False), ("boolean", True)} & by_value.keys() else ("0", "1")
        labels = [boolean_names[v] for v in present.tolist()]
    codes = np.where(column.is_missing(), -1, inverse).astype(np.int32)
    return Column(column.name, "text", codes, labels=tuple(labels))
