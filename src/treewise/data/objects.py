"""Read Python objects into columns: lists, and object arrays of NumPy and pandas.

Apart from missing cells, a column must be all text, all numbers, all booleans or all dates.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.interruptible import polars_is_safe, run_interruptible
from treewise.data.column import (
    Array,
    Column,
    Mask,
    bool_column,
    check_unicode,
    datetime_column,
    float_column,
    int_column,
    missing_column,
    read_only,
    text_column,
    truncate,
)
from treewise.data.parse_cells import mixed_offsets_error, to_double
from treewise.errors import DataError, Param, brief, join_few

if TYPE_CHECKING:
    import polars as pl

_MAX_BITS = 10_000  # Python refuses to print much longer integers
_MAX_DIGITS = 3_000
_INTEGERS = (int, np.integer)
BYTES_PER_CELL = 64  # estimated memory of a text cell
_SAMPLE = 10_000  # cells examined first
_MANY = 5000  # cells from which polars encodes text faster than Python, import included


def read_objects(cells: list[Any], name: str) -> Column:
    """Read a column of Python objects: all text, numbers, booleans or dates, apart from missing cells.

    >>> read_objects([3, None, 4], "x").form, read_objects(["a", None], "x").form
    ('int', 'text')
    >>> read_objects(["a", 1, None], "x")
    Traceback (most recent call last):
    treewise.errors.DataError: column "x" mixes text ("a" in row 1) and numbers (1 in row 2). ...
    """
    types = set(map(type, cells))
    if types == {str, float} or types == {str, float, type(None)}:  # pandas stores missing text as NaN
        cells = [cell if cell == cell else None for cell in cells]
        types = set(map(type, cells))
    if types <= {str, type(None)} and str in types:
        return _read_texts(cells, name)
    families = {_type_family(t) for t in types} - {"missing"}
    if len(families) > 1 and "numbers" in families:
        cells = [None if _is_nan(c) else c for c in cells]
        types = set(map(type, cells))
        families = {_type_family(t) for t in types} - {"missing"}
    if not families:
        return missing_column(name, len(cells))
    if len(families) > 1:
        raise _mixed_types_error(cells, name)
    family = families.pop()
    if family not in _READERS:
        raise unsupported_type_error(name, family)
    missing_types = {t for t in types if _type_family(t) == "missing"}
    is_present = np.ones(len(cells), np.bool_)
    if missing_types:
        is_present = np.fromiter((type(c) not in missing_types for c in cells), np.bool_, len(cells))
    return _READERS[family](cells, is_present, name)


def read_object_array(cells: Array, name: str) -> Column:
    """Read a column from an object array; large text columns are encoded by polars."""
    first = next((cell for cell in cells[:100] if cell is not None), None)
    if isinstance(first, str) and len(cells) >= _MANY and polars_is_safe(BYTES_PER_CELL * len(cells)):
        import polars as pl

        with suppress(TypeError, ValueError):  # mixed types or lone surrogates: reported below
            series = run_interruptible(lambda: pl.Series(cells, dtype=pl.String, strict=True), rows=len(cells))
            return text_from_polars(name, series)
    return read_objects(cells.tolist(), name)


def _type_family(kind: type) -> str:
    """Return what values of a Python type are called in messages."""
    if kind.__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    for types, family in (
        ((bool, np.bool_), "true/false"),
        ((str,), "text"),
        ((int, float, np.integer, np.floating, Decimal), "numbers"),
        ((dt.date, np.datetime64), "dates"),
    ):
        if issubclass(kind, types):
            return family
    return kind.__name__


def _is_nan(cell: Any) -> bool:
    """Return whether a cell is NaN or NaT."""
    if isinstance(cell, Decimal):
        return cell.is_nan()  # comparing a signalling NaN raises
    return isinstance(cell, (float, np.floating, np.datetime64)) and bool(cell != cell)


def _mixed_types_error(cells: list[Any], name: str) -> DataError:
    """Return the error for a column of mixed types, with a cell of each of the first two."""
    first: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if (family := _type_family(type(cell))) != "missing":
            first.setdefault(family, row)
    parts = []
    for family, row in list(first.items())[:2]:
        cell = str(cells[row]) if family == "dates" else brief(cells[row])
        parts.append(f"{family} ({cell} in row {row + 1:,})")
    return DataError(
        f'column "{truncate(name)}" mixes {" and ".join(parts)}. Make all its values one or the other first.'
    )


def _read_text_objects(cells: list[Any], is_present: Mask, name: str) -> Column:
    """Read Python strings; instances of subclasses, such as Enum members, as their string value."""
    return _read_texts([str.__str__(c) if t else None for c, t in zip(cells, is_present.tolist(), strict=True)], name)


def _read_texts(texts: list[str | None], name: str) -> Column:
    """Read plain strings and None."""
    if len(texts) < _MANY or not polars_is_safe(BYTES_PER_CELL * len(texts)):
        return text_column(name, texts)
    import polars as pl

    try:
        return text_from_polars(name, run_interruptible(lambda: pl.Series(texts, dtype=pl.String), rows=len(texts)))
    except UnicodeEncodeError:
        check_unicode(name, [t for t in texts if t is not None])
        raise


def _read_number_objects(cells: list[Any], is_present: Mask, name: str) -> Column:
    """Read Python numbers: whole numbers exactly (as text beyond 64 bits), others as doubles."""
    has_decimals = any(issubclass(t, Decimal) for t in set(map(type, cells)))
    if has_decimals:
        is_present = is_present & np.fromiter((not _is_nan(c) for c in cells), np.bool_, len(cells))
    present = [c for c, t in zip(cells, is_present.tolist(), strict=True) if t]
    types = set(map(type, present))
    is_whole = all(map(_is_whole, present)) if has_decimals else all(issubclass(t, _INTEGERS) for t in types)
    if not is_whole or not present:
        values = np.full(len(cells), np.nan)
        values[is_present] = [to_double(c) for c in present]
        may_round = has_decimals or any(issubclass(t, _INTEGERS) for t in types)
        return replace(float_column(name, values), rounding=_note_rounding(name, present) if may_round else "")
    too_long = next((row for row, c in enumerate(cells) if is_present[row] and _has_thousands_of_digits(c)), None)
    if too_long is not None:
        raise DataError(
            f'column "{truncate(name)}": the whole number in row {too_long + 1:,} has thousands of digits.',
            hint="Compare its logarithm instead, or leave it out: " + Param("ignore", [truncate(name)]) + ".",
            column=name,
            row=too_long,
        )
    ints = [int(c) if t else 0 for c, t in zip(cells, is_present.tolist(), strict=True)]
    if min(ints) >= -(2**63) and max(ints) < 2**63:
        return int_column(name, np.array(ints, np.int64), ~is_present)
    return text_column(name, [str(v) if t else None for v, t in zip(ints, is_present.tolist(), strict=True)])


def _is_whole(cell: Any) -> bool:
    """Return whether a number is an integer, or a Decimal without a fraction."""
    if isinstance(cell, Decimal):
        return cell.is_finite() and cell == cell.to_integral_value()
    return isinstance(cell, _INTEGERS)


def _has_thousands_of_digits(cell: Any) -> bool:
    return cell.adjusted() > _MAX_DIGITS if isinstance(cell, Decimal) else int(cell).bit_length() > _MAX_BITS


def _note_rounding(name: str, numbers: list[Any]) -> str:
    """Return a note if different numbers, one of which has a fraction, have the same nearest double."""
    if not any(isinstance(v, Decimal) or abs(v) > 2**53 for v in numbers):
        return ""
    plain = [v.item() if isinstance(v, np.generic) else v for v in numbers]
    exact, rounded = len(set(plain)), len(set(map(to_double, plain)))
    if exact == rounded:
        return ""
    return f"{truncate(name)}: {exact:,} different numbers are compared as {rounded:,}, the nearest doubles"


def _read_bool_objects(cells: list[Any], is_present: Mask, name: str) -> Column:
    """Read Python booleans."""
    return bool_column(
        name, np.array([bool(c) if t else False for c, t in zip(cells, is_present, strict=True)]), ~is_present
    )


def _read_datetime_objects(cells: list[Any], is_present: Mask, name: str) -> Column:
    """Read dates and times, converted to UTC; raise if some times have an offset and others have none."""
    first: dict[bool, int] = {}
    for row, cell in enumerate(cells):
        if isinstance(cell, dt.datetime) and is_present[row]:
            first.setdefault(cell.utcoffset() is not None, row)
    if len(first) == 2:
        rows = [first[True], first[False]]
        raise mixed_offsets_error(name, rows, [str(cells[row]) for row in rows])
    known = [_to_datetime64(cell) for cell, is_known in zip(cells, is_present, strict=True) if is_known]
    moments = np.array(known) if known else np.zeros(0, "datetime64[us]")  # in the finest unit of all cells
    values = np.full(len(cells), "NaT", moments.dtype)
    values[is_present] = moments
    return datetime_column(name, values)


def _to_datetime64(cell: Any) -> np.datetime64:
    """Convert a date or time to datetime64 in UTC; pandas timestamps keep their nanoseconds."""
    if hasattr(cell, "to_datetime64"):
        return np.datetime64(cell.to_datetime64())
    if isinstance(cell, dt.datetime) and (east := cell.utcoffset()) is not None:
        return np.datetime64(cell.replace(tzinfo=None)) - np.timedelta64(
            east
        )  # astimezone fails at the ends of the calendar
    return np.datetime64(cell.replace(tzinfo=None) if isinstance(cell, dt.datetime) else cell)


def text_from_polars(name: str, series: pl.Series) -> Column:
    """Build a text column from a polars String or Categorical series."""
    import polars as pl

    if not polars_is_safe(BYTES_PER_CELL * len(series)):
        return text_column(name, series.to_list())
    encoded = None
    if series.dtype == pl.String:
        encoded = run_interruptible(lambda: _codes_from_sample(series), rows=len(series))
    if encoded is None:
        encoded = run_interruptible(lambda: _codes_from_categorical(series.cast(pl.Categorical)), rows=len(series))
    codes, labels = encoded
    return Column(name, "text", read_only(codes.to_numpy()), labels=tuple(labels.to_list()))


def _codes_from_sample(series: pl.Series) -> tuple[pl.Series, pl.Series] | None:
    """Return codes and sorted labels if a sample contains all labels, else None; twice as fast as the general way."""
    import polars as pl

    labels = series.gather_every(max(1, len(series) // _SAMPLE)).drop_nulls().unique().sort()
    if len(labels) > _SAMPLE // 10:
        return None  # probably more labels than in the sample
    coded = series.cast(pl.Enum(labels), strict=False)
    if coded.null_count() > series.null_count():
        return None
    return coded.to_physical().cast(pl.Int32).fill_null(-1), labels


def _codes_from_categorical(series: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return codes and sorted labels of a Categorical, whose physical codes are in order of first appearance."""
    import polars as pl

    distinct = series.drop_nulls().unique()
    labels = distinct.cast(pl.String)
    order = labels.arg_sort()
    physical = distinct.to_physical().gather(order).to_numpy()
    new_code = np.empty(int(physical.max()) + 1 if len(physical) else 0, np.int32)
    new_code[physical] = np.arange(len(physical), dtype=np.int32)
    codes = pl.Series(new_code, dtype=pl.Int32).gather(series.to_physical()).fill_null(-1)
    return codes, labels.gather(order)


_READERS: dict[str, Callable[[list[Any], Mask, str], Column]] = {
    "text": _read_text_objects,
    "numbers": _read_number_objects,
    "true/false": _read_bool_objects,
    "dates": _read_datetime_objects,
}


def check_names(names: Sequence[str], table: str, hint: str = "") -> None:
    """Raise for a table without columns, or with duplicate names."""
    if not names:
        raise DataError(f"{table} has no columns. Give at least one.")
    for name in () if "".join(names).isascii() else names:
        check_unicode(name, [name], what="name")
    if len(set(names)) < len(names):
        duplicates = [truncate(name) for name, times in Counter(names).items() if times > 1]
        raise DataError(f"{table}: more than one column is named {join_few(duplicates)}.", hint="Rename them." + hint)


def unsupported_type_error(name: str, family: str) -> DataError:
    """Return the error for a column of an unsupported type."""
    return DataError(
        f'column "{truncate(name)}" holds {family} values.',
        hint="Trees compare numbers, text, true/false and dates: convert it first, or leave it out: "
        + Param("ignore", [truncate(name)])
        + ".",
        column=name,
    )
