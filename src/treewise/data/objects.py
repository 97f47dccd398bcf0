"""Python objects into columns: lists, and the object columns of NumPy and pandas.

Stands below ``reading.py`` and ``csvfile.py``. Objects are looked at by type: a column must be all text, all
numbers, all booleans or all dates, apart from the cells in which nothing stands.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.interruptible import polars_is_safe, run_interruptible
from treewise._lib.text import safe
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
from treewise.data.parse_cells import to_double
from treewise.errors import DataError, Param, listing, shown

if TYPE_CHECKING:
    import polars as pl

_MAX_BITS = 10_000  # Python will not write out whole numbers much longer than that
BYTES_PER_CELL = 64  # bytes of a text of middling length, with what goes with it
SAMPLE = 10_000  # cells that are looked at first
MANY = 5000  # from here on polars sorts out text faster than Python, its import included


def read_objects(cells: list[Any], name: str) -> Column:
    """Read one column of Python objects: all text, numbers, booleans or dates, apart from missing ones.

    >>> read_objects([3, None, 4], "x").form, read_objects(["a", None], "x").form
    ('int', 'text')
    >>> read_objects(["a", 1, None], "x")
    Traceback (most recent call last):
    treewise.errors.DataError: column "x" mixes text ("a" in row 1) and numbers (1 in row 2). ...
    """
    types = set(map(type, cells))
    if types == {str, float} or types == {str, float, type(None)}:  # pandas writes missing text as NaN
        cells = [cell if cell == cell else None for cell in cells]
        types = set(map(type, cells))
    if types <= {str, type(None)} and str in types:
        return _read_texts(cells, name)
    whats = {_type_family(t) for t in types} - {"missing"}
    if len(whats) > 1 and "numbers" in whats:
        cells = [None if _is_nan(c) else c for c in cells]
        types = set(map(type, cells))
        whats = {_type_family(t) for t in types} - {"missing"}
    if not whats:
        return missing_column(name, len(cells))
    if len(whats) > 1:
        raise _mixed_types_error(cells, name)
    what = whats.pop()
    if what not in _READERS:
        raise unsupported_type_error(name, what)
    gone = {t for t in types if _type_family(t) == "missing"}
    there = np.ones(len(cells), np.bool_)
    if gone:
        there = np.fromiter((type(c) not in gone for c in cells), np.bool_, len(cells))
    return _READERS[what](cells, there, name)


def read_object_array(cells: Array, name: str) -> Column:
    """Read one column of Python objects from an array: text by the shorter way, if all of it is."""
    first = next((cell for cell in cells[:100] if cell is not None), None)
    if isinstance(first, str) and len(cells) >= MANY and polars_is_safe(BYTES_PER_CELL * len(cells)):
        import polars as pl

        with suppress(TypeError, ValueError):  # something else among them, or half a character: said below
            series = run_interruptible(lambda: pl.Series(cells, dtype=pl.String, strict=True), rows=len(cells))
            return text_from_polars(name, series)
    return read_objects(cells.tolist(), name)


def _type_family(kind: type) -> str:
    """Say what values of a Python type are."""
    if kind.__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    for types, what in (
        ((bool, np.bool_), "true/false"),
        ((str,), "text"),
        ((int, float, np.integer, np.floating, Decimal), "numbers"),
        ((dt.date, np.datetime64), "dates"),
    ):
        if issubclass(kind, types):
            return what
    return kind.__name__


def _is_nan(cell: Any) -> bool:
    """Tell whether a cell is a number that is none."""
    return isinstance(cell, (float, np.floating, Decimal, np.datetime64)) and bool(cell != cell)


def _mixed_types_error(cells: list[Any], name: str) -> DataError:
    """Say which two kinds of values a column mixes, and where."""
    first: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if (what := _type_family(type(cell))) != "missing":
            first.setdefault(what, row)
    said = []
    for what, row in list(first.items())[:2]:
        cell = f'"{truncate(cells[row])}"' if what == "text" else truncate(cells[row])
        cell = cell if what in _READERS else shown(cells[row])
        said.append(f"{what} ({cell} in row {row + 1:,})")
    return DataError(f'column "{safe(name)}" mixes {" and ".join(said)}. Make all its values one or the other first.')


def _read_text_objects(cells: list[Any], there: Mask, name: str) -> Column:
    """Read Python strings; what is more than a string, such as a member of an Enum, by the string it is."""
    return _read_texts([str.__str__(c) if t else None for c, t in zip(cells, there.tolist(), strict=True)], name)


def _read_texts(texts: list[str | None], name: str) -> Column:
    """Read text that is nothing else already."""
    if len(texts) < MANY or not polars_is_safe(BYTES_PER_CELL * len(texts)):
        return text_column(name, texts)
    import polars as pl

    try:
        return text_from_polars(name, run_interruptible(lambda: pl.Series(texts, dtype=pl.String), rows=len(texts)))
    except UnicodeEncodeError:
        check_unicode(name, [t for t in texts if t is not None])
        raise


def _read_number_objects(cells: list[Any], there: Mask, name: str) -> Column:
    """Read Python numbers: whole ones exactly, as text where 64 bits do not hold them; others as doubles."""
    whole = all(issubclass(t, (int, np.integer)) for t in {type(c) for c, t in zip(cells, there, strict=True) if t})
    if not whole:
        return float_column(name, np.array([_to_double(c) if t else np.nan for c, t in zip(cells, there, strict=True)]))
    ints = [int(c) if t else 0 for c, t in zip(cells, there.tolist(), strict=True)]
    endless = next((row for row, v in enumerate(ints) if v.bit_length() > _MAX_BITS), None)
    if endless is not None:
        raise DataError(
            f'column "{safe(name)}": the whole number in row {endless + 1:,} has thousands of digits.',
            hint="Compare its logarithm instead, or leave it out: " + Param("ignore", [safe(name)]) + ".",
            column=name,
            row=endless,
        )
    if min(ints) >= -(2**63) and max(ints) < 2**63:
        return int_column(name, np.array(ints, np.int64), ~there)
    return text_column(name, [str(v) if t else None for v, t in zip(ints, there.tolist(), strict=True)])


def _to_double(cell: Any) -> float:
    """Round a number to the nearest double; what is too large is infinite, and every NaN is NaN."""
    return float("nan") if isinstance(cell, Decimal) and cell.is_nan() else to_double(cell)


def _read_bool_objects(cells: list[Any], there: Mask, name: str) -> Column:
    """Read Python booleans."""
    return bool_column(name, np.array([bool(c) if t else False for c, t in zip(cells, there, strict=True)]), ~there)


def _read_datetime_objects(cells: list[Any], there: Mask, name: str) -> Column:
    """Read dates and times, with time zones turned into UTC."""
    return datetime_column(
        name, np.array([_to_datetime64(c) if t else np.datetime64("NaT") for c, t in zip(cells, there, strict=True)])
    )


def _to_datetime64(cell: Any) -> np.datetime64:
    """Turn one date or time into a datetime64 in UTC; pandas' timestamps keep their nanoseconds."""
    if hasattr(cell, "to_datetime64"):
        return np.datetime64(cell.to_datetime64())
    if isinstance(cell, dt.datetime) and (east := cell.utcoffset()) is not None:
        return np.datetime64(cell.replace(tzinfo=None)) - np.timedelta64(east)  # also at the ends of the calendar
    return np.datetime64(cell.replace(tzinfo=None) if isinstance(cell, dt.datetime) else cell)


def text_from_polars(name: str, series: pl.Series) -> Column:
    """Turn polars text, or its Categorical, into codes and sorted labels."""
    import polars as pl

    if not polars_is_safe(BYTES_PER_CELL * len(series)):
        return text_column(name, series.to_list())
    found = None
    if series.dtype == pl.String:
        found = run_interruptible(lambda: _codes_from_sample(series), rows=len(series))
    if found is None:
        found = run_interruptible(lambda: _codes_from_categorical(series.cast(pl.Categorical)), rows=len(series))
    codes, labels = found
    return Column(name, "text", read_only(codes.to_numpy()), labels=tuple(labels.to_list()))


def _codes_from_sample(series: pl.Series) -> tuple[pl.Series, pl.Series] | None:
    """Return codes and sorted labels of text, if some rows show all labels there are: twice as fast as looking."""
    import polars as pl

    labels = series.gather_every(max(1, len(series) // SAMPLE)).drop_nulls().unique().sort()
    if len(labels) > SAMPLE // 10:
        return None  # there will be more
    coded = series.cast(pl.Enum(labels), strict=False)
    if coded.null_count() > series.null_count():
        return None
    return coded.to_physical().cast(pl.Int32).fill_null(-1), labels


def _codes_from_categorical(series: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return codes and sorted labels of a Categorical, whose own codes go by first appearance, here or elsewhere."""
    import polars as pl

    distinct = series.drop_nulls().unique()
    labels = distinct.cast(pl.String)
    order = labels.arg_sort()
    own = distinct.to_physical().gather(order).to_numpy()
    place = np.empty(int(own.max()) + 1 if len(own) else 0, np.int32)
    place[own] = np.arange(len(own), dtype=np.int32)
    codes = pl.Series(place, dtype=pl.Int32).gather(series.to_physical()).fill_null(-1)
    return codes, labels.gather(order)


_READERS: dict[str, Callable[[list[Any], Mask, str], Column]] = {
    "text": _read_text_objects,
    "numbers": _read_number_objects,
    "true/false": _read_bool_objects,
    "dates": _read_datetime_objects,
}


def check_names(names: Sequence[str], table: str, hint: str = "") -> None:
    """Refuse a table without columns, and names that occur twice."""
    if not names:
        raise DataError(f"{table} has no columns. Give at least one.")
    for name in () if "".join(names).isascii() else names:
        check_unicode(name, [name], what="name")
    if len(set(names)) < len(names):
        twice = [safe(name) for name, times in Counter(names).items() if times > 1]
        raise DataError(f"{table}: more than one column is named {listing(twice)}.", hint="Rename them." + hint)


def unsupported_type_error(name: str, what: str) -> DataError:
    """Say that values of a type cannot be compared."""
    return DataError(
        f'column "{safe(name)}" holds {what} values.',
        hint="Trees compare numbers, text, true/false and dates: convert it first, or leave it out: "
        + Param("ignore", [safe(name)])
        + ".",
        column=name,
    )
