"""Columns as the learner sees them, and the way back.

Stands between the table (``table``: cells as they came in) and everything that learns or predicts. An
``Encoding`` says what a column is: it holds no rows and travels inside the tree. ``learn`` finds the encoding
of a training column; ``apply`` turns any later column into the same numbers, or says clearly why it cannot.

    kind       the encoded array                      missing      never seen
    number     float64, or float32 as it came         NaN
    integer    int64, for whole numbers past 2^53     INT64_MIN
    datetime   int64 in ``unit`` since 1970 UTC       INT64_MIN
    boolean    int32 codes into ("false", "true")     -1
    nominal    int32 codes into ``levels``            -1           -2
    ordered    int32 codes into ``levels``            -1           -2
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from treewise._lib.interruptible import run_interruptible
from treewise._lib.text import format_exact, plural, safe
from treewise._lib.types import SPLIT_KINDS
from treewise.data.column import FORM_NAMES, Column, format_datetime, truncate
from treewise.data.convert import (
    BOOLEANS,
    INT64_MAX,
    INT64_MIN,
    MAX_EXACT_INT,
    UNSEEN,
    MisfitError,
    to_booleans,
    to_datetimes,
    to_integers,
    to_levels,
    to_numbers,
)
from treewise.data.diagnostics import (
    check_stray_text,
    hint_missing,
    is_whole,
    note_alphabetical_order,
    note_markers,
    note_suspicious,
    raise_too_large,
)
from treewise.data.parse_cells import (
    format_numbers,
    is_marker,
    parse_number,
    parse_numbers,
    to_bool_column,
    to_datetime_column,
    to_number_column,
)
from treewise.data.table import KindSpec
from treewise.errors import DataError, Param, ParameterError, did_you_mean, listing, shown

__all__ = [
    "INT64_MAX",
    "INT64_MIN",
    "MAX_INTEGER_CLASSES",
    "SPLIT_KINDS",
    "UNSEEN",
    "EncodedColumn",
    "Encoding",
    "Kind",
    "decode",
    "encode_classes",
    "encode_column",
    "encode_numbers",
    "fit_encoding",
    "is_missing",
    "sort_levels",
]

Kind = Literal["number", "integer", "datetime", "boolean", "nominal", "ordered"]
Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_NEVER_SEEN = "(never seen)"  # what decode says for UNSEEN

_KIND_NAMES = ("number", "nominal", "ordered", "boolean", "datetime", *SPLIT_KINDS)

MAX_INTEGER_CLASSES = 20  # a target with more different numbers than this is a quantity


@dataclass(frozen=True)
class Encoding:
    """What a column is: its name, its kind, its levels in order (categories) or its unit (datetimes).

    >>> size = Encoding("size", "ordered", ("S", "M", "L"))
    >>> size.is_categorical, size.format("M"), Encoding("born", "datetime", unit="D").format(19797)
    (True, 'M', '2024-03-15')
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    unit: str = ""

    @property
    def is_categorical(self) -> bool:
        """Whether values are levels rather than quantities."""
        return self.kind in ("boolean", "nominal", "ordered")

    def format(self, value: float | int | str) -> str:
        """Write one decoded value in words."""
        if isinstance(value, str):
            return safe(value)
        if self.kind == "datetime":
            return format_datetime(int(value), self.unit)
        return format_exact(value)


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """A training column, encoded: what it is, its values, remarks for the user, and how it is to be split."""

    encoding: Encoding
    values: Array
    notes: tuple[str, ...] = ()
    splits: str | None = None  # one of SPLIT_KINDS when the kind said so


# -- learning what a column is -------------------------------------------------------------------------------


def fit_encoding(column: Column, kind: KindSpec | None = None) -> EncodedColumn:
    """Decide what a training column is, and encode it.

    Without ``kind`` the column decides: numbers, categories, booleans or datetimes. With it, the user does: a
    kind by name, a list of levels (ordered, in this order), or a set of levels (no order).

    >>> from treewise.data.table import read
    >>> table = read({"size": ["S", "L", "S"], "weight": ["1.5", "NA", "2"]})
    >>> fit_encoding(table["size"], ["S", "M", "L"]).encoding
    Encoding(name='size', kind='ordered', levels=('S', 'M', 'L'), unit='')
    >>> fit_encoding(table["weight"]).values.tolist(), fit_encoding(table["weight"]).notes
    ([1.5, nan, 2.0], ('weight: "NA" read as missing in 1 cell (all other cells are numbers)',))
    """
    wanted, levels, splits = _parse_kind(column.name, kind)
    notes: list[str] = []
    if column.form == "int":  # one column of a matrix is slow to walk, and is walked several times
        column = replace(column, values=np.ascontiguousarray(column.values))
    if column.form == "text" or (column.is_coded and wanted in ("number", "boolean", "datetime")):
        column = _parse_text_column(column.drop_unused_labels(), wanted, notes)
    if wanted in (None, "category"):
        own = _natural_kind(column)
        wanted = own if wanted is None or own in ("boolean", "ordered") else "nominal"
    encoding = Encoding(column.name, cast(Kind, wanted))
    if wanted == "number" and _needs_integers(column):
        encoding = replace(encoding, kind="integer")
    elif wanted == "datetime":
        encoding = replace(encoding, unit=column.unit or "D")
    elif wanted == "boolean":
        encoding = replace(encoding, levels=BOOLEANS)
    elif encoding.is_categorical:
        found = levels or _levels_of(column)
        encoding = replace(encoding, levels=found)
        if isinstance(kind, str) and kind in ("ordered", "ordinal") and column.form == "text" and len(found) > 2:
            notes.append(note_alphabetical_order(column.name, found))
    values = _encode_training_column(encoding, column, declared=levels is not None)
    notes += note_suspicious(column)
    return EncodedColumn(encoding, values, tuple(notes), splits)


def _parse_kind(name: str, kind: KindSpec | None) -> tuple[str | None, tuple[str, ...] | None, str | None]:
    """Understand what the user says a column is: the kind, the declared levels, the split kind."""
    if kind is None:
        return None, None, None
    if isinstance(kind, str) and kind in SPLIT_KINDS:
        return "ordered" if kind == "ordinal" else "category", None, kind
    if isinstance(kind, str) and kind in _KIND_NAMES:
        return kind, None, None
    if isinstance(kind, str | bytes | Mapping) or not isinstance(kind, Iterable) or getattr(kind, "ndim", 1) != 1:
        said = f'"{truncate(kind)}"' if isinstance(kind, str) else shown(kind)
        raise ParameterError(
            f'unknown kind {said} for column "{safe(name)}".',
            hint=f"{did_you_mean(kind, _KIND_NAMES)} Expected one of {', '.join(_KIND_NAMES)}; or the levels, as a list"
            " (in their order) or a set.",
            column=name,
        )
    levels = [_level_text(level, name) for level in kind]
    if not levels:
        raise ParameterError(f'kind of "{safe(name)}": no levels are given.', hint="List those that may occur.")
    if len(set(levels)) < len(levels):
        said = listing([safe(level) for level in levels])
        raise ParameterError(f'kind of "{safe(name)}": a level is given twice in {said}.', hint="Give each once.")
    if isinstance(kind, Set):
        return "nominal", sort_levels(levels), None
    return "ordered", tuple(levels), None


def _level_text(level: object, name: str) -> str:
    """Write a declared level as text; 4.0 stays 4.0."""
    if isinstance(level, bool | np.bool_):
        return BOOLEANS[int(level)]
    allowed = isinstance(level, str | float | np.generic | dt.date)
    if not allowed and not (isinstance(level, int) and abs(level) < 2**63):
        raise ParameterError(
            f'kind of "{safe(name)}": {shown(level)} is no level.', hint="Levels are text, numbers or dates."
        )
    return str(level)


def _parse_text_column(column: Column, wanted: str | None, notes: list[str]) -> Column:
    """Read a text column as what its cells say, unless they are just words.

    Numbers (with the usual markers for missing), true/false and dates are recognised; a leading zero makes a
    code.
    """
    if not column.labels:
        return column
    readings = parse_numbers(column.labels)
    free = wanted in (None, "nominal", "ordered", "category")
    if readings.all_numbers and (wanted == "number" or (free and not readings.padded)):
        if readings.too_large.any():
            if wanted in (None, "number"):
                raise_too_large(column, readings)
            return column
        notes += note_markers(column, readings.is_marker, "numbers")
        return to_number_column(column, readings)
    meant = to_bool_column(column) if free or wanted == "boolean" else None
    if meant is None and (free or wanted == "datetime"):
        meant = to_datetime_column(column)
    if meant is not None:
        notes += note_markers(column, np.array([is_marker(x) for x in column.labels]), FORM_NAMES[meant.form])
        return meant
    if wanted is None:
        check_stray_text(column, readings)
        if "?" in (marks := [label.strip() for label in column.labels]):
            cells = int(np.count_nonzero(column.values == marks.index("?")))
            notes.append(
                f'{safe(column.name)}: "?" in {plural(cells, "cell")} is taken as a category of its own.'
                " If it means missing: " + Param("na_values", ["?"])
            )
    return column


def _natural_kind(column: Column) -> str:
    """Return the kind a column has by itself."""
    if column.form in ("float", "int"):
        return "number"
    if column.form == "bool":
        return "boolean"
    if column.form == "datetime":
        return "datetime"
    if not column.labels:
        return "number"  # nothing is known about it: nothing stands in it
    if not column.ordered and {label.lower() for label in column.labels[:10]} <= set(BOOLEANS):
        return "boolean"
    return "ordered" if column.ordered else "nominal"


def _needs_integers(column: Column) -> bool:
    """Tell whether whole numbers are too large to be doubles."""
    if column.form != "int" or not len(column) or column.values.itemsize < 8:
        return False
    return int(column.values.max()) > MAX_EXACT_INT or int(column.values.min()) < -MAX_EXACT_INT


def _levels_of(column: Column) -> tuple[str, ...]:
    """Return the levels of a column: those declared by its dtype, else those that occur, by value."""
    if column.form == "category":
        return column.labels
    if column.form == "text":
        return sort_levels(column.labels)
    if column.form == "bool":
        return BOOLEANS
    present = np.unique(column.values[~column.is_missing()])
    if column.form == "datetime":
        return tuple(format_datetime(v, column.unit) for v in present.tolist())
    return tuple(format_numbers(present))


def sort_levels(labels: Sequence[str]) -> tuple[str, ...]:
    """Sort levels by value: numbers first, as numbers, then words.

    >>> sort_levels(["10", "9", "more", "1"])
    ('1', '9', '10', 'more')
    """
    valued = [(parse_number(label), label) for label in labels]
    numeric = sorted((value, label) for value, label in valued if value is not None)
    words = sorted(label for value, label in valued if value is None)
    return (*(label for _, label in numeric), *words)


# -- encoding ------------------------------------------------------------------------------------------------


def _encode_training_column(encoding: Encoding, column: Column, declared: bool) -> Array:
    """Encode a training column by what the user or the column itself says it is."""
    try:
        values = _to_encoded(encoding, column)
        if declared and (values == UNSEEN).any():
            raise MisfitError(column, int(np.argmax(values == UNSEEN)))
    except MisfitError as misfit:
        raise _misfit_error(encoding, misfit) from None
    if encoding.kind == "integer" and column.form == "int":
        lowest = (column.values == INT64_MIN) & ~column.is_missing()
        if lowest.any():
            raise DataError(
                f'column "{safe(encoding.name)}": {INT64_MIN} in row {int(np.argmax(lowest)) + 1:,} is the'
                " one whole number that cannot be told from missing. Replace it."
            )
    return values


def _misfit_error(encoding: Encoding, misfit: MisfitError) -> DataError:
    """Say which cell is not what the user, or the column's use, says the column is."""
    name, where = safe(encoding.name), f"row {misfit.row + 1:,}"
    if encoding.is_categorical and encoding.kind != "boolean":
        levels = listing([safe(level) for level in encoding.levels])
        return DataError(
            f'column "{name}": {misfit.cell} in {where} is not among the declared levels ({levels}).',
            hint="Declare it too, or correct the cell.",
            column=encoding.name,
            row=misfit.row,
        )
    needs = {
        "boolean": "true/false or 0/1",
        "datetime": "dates (written as 2024-03-31 or 2024-03-31 14:30:00)",
    }.get(encoding.kind, "numbers")
    return DataError(
        f'column "{name}" cannot be read as {needs}: {where} holds {misfit.cell}.',
        hint=hint_missing(misfit.cell) if misfit.holds == "text" else "",
        column=encoding.name,
        row=misfit.row,
    )


def encode_column(encoding: Encoding, column: Column, table_name: str) -> Array:
    """Encode a later column as the training column was.

    Numbers may come as text and levels as numbers, as long as they say the same; a level the tree has never
    seen becomes ``UNSEEN``; a column in which nothing stands fits anything.

    >>> from treewise.data.table import read
    >>> gpa = Encoding("GPA", "nominal", ("3.5", "3.7", "4.0"))
    >>> encode_column(gpa, read({"GPA": [4, 3.7, None, 2.0]})["GPA"], "new.csv").tolist()
    [2, 1, -1, -2]
    >>> encode_column(Encoding("age", "number"), read({"age": ["54y"]})["age"], "new.csv")
    Traceback (most recent call last):
    treewise.errors.DataError: column "age": the model was grown on numbers, new.csv holds text ("54y" ...
    """
    try:
        return _to_encoded(encoding, column)
    except MisfitError as misfit:
        grown = {"number": "numbers", "integer": "numbers", "datetime": "dates", "boolean": "true/false"}.get(
            encoding.kind, f"categories ({listing([safe(x) for x in encoding.levels], most=4)})"
        )
        raise DataError(
            f'column "{safe(encoding.name)}": the model was grown on {grown}, {table_name} holds'
            f" {misfit.holds} ({misfit.cell} in row {misfit.row + 1:,})."
        ) from None


def _to_encoded(encoding: Encoding, column: Column) -> Array:
    """Turn a column into the array its encoding asks for, or raise MisfitError."""
    if column.is_all_missing():
        if encoding.kind == "number":
            return np.full(len(column), np.nan)
        if encoding.kind in ("integer", "datetime"):
            return np.full(len(column), INT64_MIN, np.int64)
        return np.full(len(column), -1, np.int32)
    if encoding.kind == "number":
        return to_numbers(column)
    if encoding.kind == "integer":
        return to_integers(column)
    if encoding.kind == "datetime":
        return to_datetimes(column, encoding.unit)
    if encoding.kind == "boolean":
        return to_booleans(column)
    return to_levels(column, encoding.levels)


def is_missing(encoding: Encoding, values: Array) -> Mask:
    """Return where an encoded array has nothing."""
    if encoding.kind == "number":
        return np.asarray(np.isnan(values))
    return np.asarray(values == (-1 if encoding.is_categorical else INT64_MIN))


def decode(encoding: Encoding, values: Array) -> list[float | int | str | None]:
    """Return encoded values as Python values: numbers, levels, None for missing.

    Datetimes come back as whole numbers of their unit, which is what their thresholds are; a level that was
    never seen has no name and says so.

    >>> decode(Encoding("town", "nominal", ("Bari", "Rome")), np.array([1, -1, 0, -2]))
    ['Rome', None, 'Bari', '(never seen)']
    """
    if encoding.is_categorical:
        names = [*encoding.levels, _NEVER_SEEN, None]  # counted from the end, -2 is never seen and -1 missing
        return [names[code] for code in values.tolist()]
    gone = is_missing(encoding, values).tolist()
    return [None if out else value for value, out in zip(values.tolist(), gone, strict=True)]


# -- the target, and weights ---------------------------------------------------------------------------------


def encode_numbers(column: Column) -> Floats:
    """Return a column that must be numbers, as doubles; NaN is missing.

    >>> from treewise.data.table import read
    >>> encode_numbers(read({"w": [1, None, 2]})["w"]).tolist()
    [1.0, nan, 2.0]
    """
    return np.ascontiguousarray(
        _encode_training_column(Encoding(column.name, "number"), column, declared=False), np.float64
    )


def encode_classes(column: Column) -> tuple[bool, npt.NDArray[np.int64], tuple[str | int | float | bool, ...]]:
    """Return a target as classes: whether they are numbers, each row's class, and the classes by value.

    >>> from treewise.data.table import read
    >>> encode_classes(read({"y": ["yes", "no", "yes"]})["y"])
    (False, array([1, 0, 1]), ('no', 'yes'))
    >>> encode_classes(read({"y": [1.0, 0.0, 1.0]})["y"])
    (True, array([1, 0, 1]), (0, 1))
    """
    if column.form == "text":
        column = _parse_target_text(column)
    if column.is_coded:
        column = column.drop_unused_labels()
        labels = column.labels if column.form == "category" else sort_levels(column.labels)
        return False, to_levels(column, labels).astype(np.int64), labels
    present, place = run_interruptible(lambda: unique_inverse(column.values), rows=len(column))
    values: list[str | int | float | bool] = present.tolist()
    if column.form == "bool":
        values = [bool(v) for v in values]
    elif column.form == "datetime":
        values = [format_datetime(int(v), column.unit) for v in values]
    elif column.form == "float" and is_whole(present) and np.abs(present).max(initial=0) <= MAX_EXACT_INT:
        values = [int(v) for v in values]
    return column.form in ("int", "float"), place, tuple(values)


def unique_inverse(values: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the different values, sorted, and the place of each cell among them.

    As ``np.unique``, but whole numbers close together are counted, not sorted; 0, 1, … are their own places.

    >>> unique_inverse(np.array([7.0, 5.0, 7.0]))
    (array([5., 7.]), array([1, 0, 1]))
    """
    low, high = (values.min().item(), values.max().item()) if len(values) else (0, 0)
    near = low >= -MAX_EXACT_INT and high <= MAX_EXACT_INT and high - low < len(values)
    if not near or (values.dtype.kind == "f" and not (is_whole(values[:100]) and is_whole(values))):
        present, place = np.unique(values, return_inverse=True)
        return present, place.astype(np.int64, copy=False)
    whole = np.ascontiguousarray(values, np.int64)
    if low != 0:
        whole = whole - int(low)
    seen = np.zeros(int(high - low) + 1, bool)
    step = max(len(seen), 1 << 16)
    for begin in range(0, len(whole), step):  # in pieces: bincount copies what may not be written to
        here = np.bincount(whole[begin : begin + step]) > 0
        seen[: len(here)] |= here
    present = (np.flatnonzero(seen) + int(low)).astype(values.dtype)
    return present, whole if seen.all() else (np.cumsum(seen) - 1)[whole]


def is_continuous(column: Column) -> bool:
    """Tell whether some rows already prove a target to be no class: fractions, or many different numbers."""
    if column.form not in ("int", "float"):
        return False
    some = column.values[:: max(1, len(column) // 1000)]
    return not is_whole(some) or len(np.unique(some)) > MAX_INTEGER_CLASSES


def _parse_target_text(column: Column) -> Column:
    """Read a target of text as numbers if it is nothing else; a marker among them must be declared."""
    readings = parse_numbers(column.labels)
    if np.count_nonzero(readings.is_number) > MAX_INTEGER_CLASSES:
        check_stray_text(column, readings)
    numbers_only = readings.all_numbers and readings.is_number.any()
    if not numbers_only or readings.padded or readings.too_large.any():
        return column
    if readings.is_marker.any():
        row = column.first_row_with(readings.is_marker)
        stray = column.format_cell(row)
        raise DataError(
            f'target "{safe(column.name)}" is {stray} in row {row + 1:,}, where other rows have numbers.',
            hint=hint_missing(stray),
            column=column.name,
            row=row,
        )
    return to_number_column(column, readings)
