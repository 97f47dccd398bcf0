"""Encodings: how a column becomes the array that is learned from, and back.

Between the table (``table.py``: cells as read) and everything that trains or predicts. An ``Encoding`` describes a
column without its rows and is stored in the tree. ``fit_encoding`` infers it from a training column; ``encode_column``
encodes any later column the same way, or raises.

    kind       the encoded array                      missing      unseen
    number     float64, or float32 if given as such   NaN
    integer    int64, for integers beyond 2^53        INT64_MIN
    datetime   int64 in ``unit`` since 1970 UTC       INT64_MIN
    boolean    int32 codes into ("false", "true")     -1
    nominal    int32 codes into ``levels``            -1           -2
    ordered    int32 codes into ``levels``            -1           -2
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
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
    check_offsets,
    format_numbers,
    is_marker,
    parse_number,
    parse_numbers,
    to_bool_column,
    to_datetime_column,
    to_number_column,
)
from treewise.data.table import KindSpec
from treewise.errors import DataError, Param, ParameterError, PythonOnly, brief, did_you_mean, join_few

__all__ = [
    "INT64_MAX",
    "INT64_MIN",
    "MAX_INTEGER_CLASSES",
    "SPLIT_KINDS",
    "UNSEEN",
    "EncodedColumn",
    "Encoding",
    "Kind",
    "NumberStyle",
    "decode",
    "encode_classes",
    "encode_column",
    "encode_numbers",
    "find_misfits",
    "fit_encoding",
    "is_missing",
    "sort_levels",
]

Kind = Literal["number", "integer", "datetime", "boolean", "nominal", "ordered"]
NumberFact = Literal["", "whole", "binary"]
Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_DECIMAL_COMMA = re.compile(r'"\s*[+-]?\d+,\d+\s*"')  # a cell as messages show it
_NEVER_SEEN = "(never seen)"  # decoded UNSEEN

_OTHER_KIND_NAMES = {  # of other libraries
    **dict.fromkeys(("category", "categorical", "text", "string", "factor"), "nominal"),
    **dict.fromkeys(("numeric", "numerical", "float", "int", "integer"), "number"),
    **dict.fromkeys(("date", "time"), "datetime"),
    "bool": "boolean",
}
_KIND_NAMES = ("number", "nominal", "ordered", "boolean", "datetime", *SPLIT_KINDS)

MAX_INTEGER_CLASSES = 20  # a target with more distinct numbers is continuous


@dataclass(frozen=True)
class NumberStyle:
    """How the numbers of a column are written for readers: separators of thousands from five digits on, and a unit.

    >>> [NumberStyle("€").format(value) for value in (47328.5, 1999.0, -12345678)]
    ['47,328.5 €', '1999 €', '-12,345,678 €']
    """

    unit: str = ""

    def format(self, value: float | int) -> str:
        """Format one number, without losing a digit."""
        text = format_exact(value)
        if 10_000 <= abs(value) < 1e15 and "e" not in text:
            whole, point, decimals = text.partition(".")
            text = f"{int(whole):,}{point}{decimals}"
        return f"{text} {self.unit}" if self.unit else text


@dataclass(frozen=True)
class Encoding:
    """The encoding of a column: name, kind, ordered levels (categories) or unit (datetimes).

    ``numbers`` records that all training values were whole numbers (``"whole"``), or only 0 and 1 (``"binary"``). With
    a ``style``, which only the encodings of a displayed model have, text uses it: ``x <= 2`` for the threshold 2.5.

    >>> size = Encoding("size", "ordered", ("S", "M", "L"))
    >>> size.is_categorical, size.format("M"), Encoding("born", "datetime", unit="D").format(19797)
    (True, 'M', '2024-03-15')
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    unit: str = ""
    numbers: NumberFact = field(default="", compare=False, repr=False)
    style: NumberStyle | None = field(default=None, compare=False, repr=False)

    @property
    def is_categorical(self) -> bool:
        """Whether the values are levels."""
        return self.kind in ("boolean", "nominal", "ordered")

    def format(self, value: float | int | str) -> str:
        """Format one decoded value."""
        if isinstance(value, str):
            return safe(value)
        if self.kind == "datetime":
            return format_datetime(int(value), self.unit)
        return format_exact(value) if self.style is None else self.style.format(value)


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """An encoded training column, with notes for the user."""

    encoding: Encoding
    values: Array
    notes: tuple[str, ...] = ()
    split_kind: str | None = None  # one of SPLIT_KINDS, if the kind names one


# -- fitting ----------------------------------------------------------------------------------------------------


def fit_encoding(column: Column, kind: KindSpec | None = None) -> EncodedColumn:
    """Infer the encoding of a training column, and encode it.

    ``kind`` overrides the inference: the name of a kind, a list of levels (ordered), or a set of levels (unordered).

    >>> from treewise.data.table import read
    >>> table = read({"size": ["S", "L", "S"], "weight": ["1.5", "NA", "2"]})
    >>> fit_encoding(table["size"], ["S", "M", "L"]).encoding
    Encoding(name='size', kind='ordered', levels=('S', 'M', 'L'), unit='')
    >>> fit_encoding(table["weight"]).values.tolist(), fit_encoding(table["weight"]).notes
    ([1.5, nan, 2.0], ('weight: "NA" read as missing in 1 cell (all other cells are numbers)',))
    """
    kind_name, levels, split_kind = _parse_kind(column.name, kind)
    notes = [column.rounding] if column.rounding else []
    if column.form == "int":  # a strided column is slow, and is read several times
        column = replace(column, values=np.ascontiguousarray(column.values))
    if column.form == "text" or (column.is_coded and kind_name in ("number", "boolean", "datetime")):
        column = _parse_text_column(column.drop_unused_labels(), kind_name, notes)
    if kind_name in (None, "category"):
        natural = _natural_kind(column)
        kind_name = natural if kind_name is None or natural in ("boolean", "ordered") else "nominal"
    encoding = Encoding(column.name, cast(Kind, kind_name))
    if kind_name == "number" and _needs_integers(column):
        encoding = replace(encoding, kind="integer")
    elif kind_name == "number" and (fact := _number_fact(column)):
        encoding = replace(encoding, numbers=fact)
    elif kind_name == "datetime":
        encoding = replace(encoding, unit=column.unit or "D")
    elif kind_name == "boolean":
        encoding = replace(encoding, levels=BOOLEANS)
    elif encoding.is_categorical:
        column_levels = levels or _levels_of(column)
        encoding = replace(encoding, levels=column_levels)
        if (
            isinstance(kind, str)
            and kind in ("ordered", "ordinal")
            and column.form == "text"
            and len(column_levels) > 2
        ):
            notes.append(note_alphabetical_order(column.name, column_levels))
    values = _encode_training_column(encoding, column, declared=levels is not None)
    notes += note_suspicious(column)
    return EncodedColumn(encoding, values, tuple(notes), split_kind)


def _parse_kind(name: str, kind: KindSpec | None) -> tuple[str | None, tuple[str, ...] | None, str | None]:
    """Return the kind, the declared levels and the split kind of a user's ``kind``."""
    if kind is None:
        return None, None, None
    if isinstance(kind, str) and kind in SPLIT_KINDS:
        return "ordered" if kind == "ordinal" else "category", None, kind
    if isinstance(kind, str) and kind in _KIND_NAMES:
        return kind, None, None
    if isinstance(kind, str | bytes | Mapping) or not isinstance(kind, Iterable) or getattr(kind, "ndim", 1) != 1:
        text = f'"{truncate(kind)}"' if isinstance(kind, str) else brief(kind)
        near = f' Did you mean "{_OTHER_KIND_NAMES[text[1:-1]]}"?' if text[1:-1] in _OTHER_KIND_NAMES else ""
        expected = f"{near or did_you_mean(kind, _KIND_NAMES)} Expected one of {', '.join(_KIND_NAMES)}"
        raise ParameterError(
            f'unknown kind {text} for column "{truncate(name)}".',
            hint=f"{expected.lstrip()}; or the levels in their order, such as "
            + Param("kinds", {truncate(name): ["low", "high"]})
            + PythonOnly(", or a set of them")
            + ".",
            column=name,
        )
    levels = [_level_text(level, name) for level in kind]
    if not levels:
        raise ParameterError(f'kind of "{truncate(name)}": no levels are given.', hint="List those that may occur.")
    if len(set(levels)) < len(levels):
        text = join_few([truncate(level) for level in levels])
        raise ParameterError(f'kind of "{truncate(name)}": a level is given twice in {text}.', hint="Give each once.")
    if isinstance(kind, Set):
        return "nominal", sort_levels(levels), None
    return "ordered", tuple(levels), None


def _level_text(level: object, name: str) -> str:
    """Return a declared level as text; 4.0 stays 4.0."""
    if isinstance(level, bool | np.bool_):
        return BOOLEANS[int(level)]
    allowed = isinstance(level, str | float | np.generic | dt.date)
    if not allowed and not (isinstance(level, int) and abs(level) < 2**63):
        raise ParameterError(
            f'kind of "{truncate(name)}": {brief(level)} is not a level.', hint="Levels are text, numbers or dates."
        )
    return str(level)


def _parse_text_column(column: Column, kind_name: str | None, notes: list[str]) -> Column:
    """Parse a text column of numbers, booleans or dates; other columns are returned unchanged.

    The usual markers become missing, with a note. A leading zero makes a number a code.
    """
    if not column.labels:
        return column
    parsed = parse_numbers(column.labels)
    is_unspecific = kind_name in (None, "nominal", "ordered", "category")
    if parsed.all_numbers and (kind_name == "number" or (is_unspecific and not parsed.padded)):
        if parsed.too_large.any():
            if kind_name in (None, "number"):
                raise_too_large(column, parsed)
            return column
        notes += note_markers(column, parsed.is_marker, "numbers")
        return to_number_column(column, parsed)
    converted = to_bool_column(column) if is_unspecific or kind_name == "boolean" else None
    if converted is None and (is_unspecific or kind_name == "datetime"):
        if kind_name in (None, "datetime"):
            check_offsets(column)
        converted = to_datetime_column(column)
    if converted is not None:
        notes += note_markers(column, np.array([is_marker(x) for x in column.labels]), FORM_NAMES[converted.form])
        return converted
    if kind_name is None:
        check_stray_text(column, parsed)
        if "?" in (stripped_labels := [label.strip() for label in column.labels]):
            cells = int(np.count_nonzero(column.values == stripped_labels.index("?")))
            notes.append(
                f'{truncate(column.name)}: "?" in {plural(cells, "cell")} is taken as a category of its own.'
                " If it means missing: " + Param("na_values", ["?"])
            )
    return column


def _natural_kind(column: Column) -> str:
    """Return the kind of a column without a user's ``kind``."""
    if column.form in ("float", "int"):
        return "number"
    if column.form == "bool":
        return "boolean"
    if column.form == "datetime":
        return "datetime"
    if not column.labels:
        return "number"  # all cells are missing
    if not column.ordered and {label.lower() for label in column.labels[:10]} <= set(BOOLEANS):
        return "boolean"
    return "ordered" if column.ordered else "nominal"


def _needs_integers(column: Column) -> bool:
    """Return whether some integers cannot be represented as doubles."""
    if column.form != "int" or not len(column) or column.values.itemsize < 8:
        return False
    return int(column.values.max()) > MAX_EXACT_INT or int(column.values.min()) < -MAX_EXACT_INT


def _number_fact(column: Column) -> NumberFact:
    """Return whether all numbers of a column are whole, or only 0 and 1; the first cells usually decide it."""
    if column.form not in ("int", "float"):
        return ""
    is_binary = True
    for rows in (slice(0, 100), slice(100, None)):
        values = column.values[rows]
        missing = column.missing[rows] if column.missing is not None else np.isnan(values)
        values = values[~missing] if missing.any() else values
        if column.form == "float" and not is_whole(values):
            return ""
        is_binary = is_binary and bool(len(values) == 0 or (values.min() >= 0 and values.max() <= 1))
    if column.is_all_missing():
        return ""
    return "binary" if is_binary else "whole"


def _levels_of(column: Column) -> tuple[str, ...]:
    """Return the levels of a column: those of its dtype, else those that occur, sorted by value."""
    if column.form == "category":
        return column.labels
    if column.form == "text":
        return sort_levels(column.labels)
    if column.form == "bool":
        return BOOLEANS
    distinct = np.unique(column.values[~column.is_missing()])
    if column.form == "datetime":
        return tuple(format_datetime(v, column.unit) for v in distinct.tolist())
    return tuple(format_numbers(distinct))


def sort_levels(labels: Sequence[str]) -> tuple[str, ...]:
    """Sort levels: numbers first, by value, then text.

    >>> sort_levels(["10", "9", "more", "1"])
    ('1', '9', '10', 'more')
    """
    valued = [(parse_number(label), label) for label in labels]
    numeric = sorted((value, label) for value, label in valued if value is not None)
    texts = sorted(label for value, label in valued if value is None)
    return (*(label for _, label in numeric), *texts)


# -- encoding ------------------------------------------------------------------------------------------------


def _encode_training_column(encoding: Encoding, column: Column, declared: bool) -> Array:
    """Encode a training column; raise DataError for a cell that does not fit."""
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
                f'column "{truncate(encoding.name)}": {INT64_MIN} in row {int(np.argmax(lowest)) + 1:,} is the'
                " one whole number that cannot be told from missing. Replace it."
            )
    return values


def _misfit_error(encoding: Encoding, misfit: MisfitError) -> DataError:
    """Return the error for a cell that does not fit the declared or required kind."""
    name, where = truncate(encoding.name), f"row {misfit.row + 1:,}"
    if encoding.is_categorical and encoding.kind != "boolean":
        levels = join_few([truncate(level) for level in encoding.levels])
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


def encode_column(encoding: Encoding, column: Column, table_name: str, first_row: int = 0) -> Array:
    """Encode a column as the training column was encoded.

    Numbers may be given as text and levels as numbers, if their values are equal; levels not seen in training become
    ``UNSEEN``; an all-missing column fits any kind. ``first_row`` is the number of rows before, in messages.

    >>> from treewise.data.table import read
    >>> gpa = Encoding("GPA", "nominal", ("3.5", "3.7", "4.0"))
    >>> encode_column(gpa, read({"GPA": [4, 3.7, None, 2.0]})["GPA"], "new.csv").tolist()
    [2, 1, -1, -2]
    >>> encode_column(Encoding("age", "number"), read({"age": ["54y"]})["age"], "new.csv")
    Traceback (most recent call last):
    treewise.errors.DataError: column "age": the model was grown on numbers, new.csv holds text ("54y" ...
    """
    if encoding.kind == "integer" and column.rounding:
        raise DataError(
            f'column "{truncate(encoding.name)}": the model was grown on whole numbers past 2^53, {table_name} holds'
            " such numbers mixed with fractions, which are compared as doubles.",
            hint="Round the fractions.",
            column=encoding.name,
        )
    try:
        return _to_encoded(encoding, column)
    except MisfitError as misfit:
        grown = {"number": "numbers", "integer": "numbers", "datetime": "dates", "boolean": "true/false"}.get(
            encoding.kind, f"categories ({join_few([truncate(x) for x in encoding.levels], limit=4)})"
        )
        is_decimal_comma = encoding.kind == "number" and _DECIMAL_COMMA.fullmatch(misfit.cell) is not None
        raise DataError(
            f'column "{truncate(encoding.name)}": the model was grown on {grown}, {table_name} holds'
            f" {misfit.holds} ({misfit.cell} in row {first_row + misfit.row + 1:,}).",
            column=encoding.name,
            row=first_row + misfit.row,
            hint="If the comma is the decimal mark: " + Param("decimal", ",") + "." if is_decimal_comma else "",
        ) from None


def find_misfits(encoding: Encoding, column: Column) -> Mask | None:
    """Return a mask of the cells that cannot be encoded; None if the column as a whole is of another type.

    >>> from treewise.data.table import read
    >>> find_misfits(Encoding("age", "number"), read({"age": ["54", "54y", "NA"]})["age"]).tolist()
    [False, True, False]
    """
    if column.is_coded:
        if encoding.kind in ("number", "integer"):
            parsed = parse_numbers(column.labels)
            bad = ~(parsed.is_number | parsed.is_marker)
        else:
            bad = np.array([_is_misfit(encoding, label) for label in column.labels], np.bool_)
        return column.expand(bad, False)
    if encoding.kind == "boolean" and column.form in ("int", "float"):
        return np.asarray(~column.is_missing() & (column.values != 0) & (column.values != 1))
    return None


def _is_misfit(encoding: Encoding, label: str) -> bool:
    try:
        _to_encoded(encoding, Column(encoding.name, "text", np.zeros(1, np.int32), labels=(label,)))
    except (MisfitError, DataError):
        return True
    return False


def _to_encoded(encoding: Encoding, column: Column) -> Array:
    """Convert a column to the array of its encoding, or raise MisfitError."""
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
    """Return a mask of the missing values of an encoded array."""
    if encoding.kind == "number":
        return np.asarray(np.isnan(values))
    return np.asarray(values == (-1 if encoding.is_categorical else INT64_MIN))


def decode(encoding: Encoding, values: Array) -> list[float | int | str | None]:
    """Return encoded values as Python values: numbers, levels, None for missing.

    Datetimes are returned as integers in their unit, as thresholds are; unseen levels as "(never seen)".

    >>> decode(Encoding("town", "nominal", ("Bari", "Rome")), np.array([1, -1, 0, -2]))
    ['Rome', None, 'Bari', '(never seen)']
    """
    if encoding.is_categorical:
        names = [*encoding.levels, _NEVER_SEEN, None]  # indexed from the end: -2 is unseen, -1 is missing
        return [names[code] for code in values.tolist()]
    missing_mask = is_missing(encoding, values).tolist()
    return [None if missing else value for value, missing in zip(values.tolist(), missing_mask, strict=True)]


# -- the target, and weights ---------------------------------------------------------------------------------


def encode_numbers(column: Column) -> Floats:
    """Return a column of numbers as doubles, NaN for missing; raise if it is not numeric.

    >>> from treewise.data.table import read
    >>> encode_numbers(read({"w": [1, None, 2]})["w"]).tolist()
    [1.0, nan, 2.0]
    """
    return np.ascontiguousarray(
        _encode_training_column(Encoding(column.name, "number"), column, declared=False), np.float64
    )


def encode_classes(column: Column) -> tuple[bool, npt.NDArray[np.int64], tuple[str | int | float | bool, ...]]:
    """Encode a target as classes: whether they are numbers, the class code of each row, the sorted classes.

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
    distinct, codes = run_interruptible(lambda: unique_inverse(column.values), rows=len(column))
    values: list[str | int | float | bool] = distinct.tolist()
    if column.form == "bool":
        values = [bool(v) for v in values]
    elif column.form == "datetime":
        values = [format_datetime(int(v), column.unit) for v in values]
    elif column.form == "float" and is_whole(distinct) and np.abs(distinct).max(initial=0) <= MAX_EXACT_INT:
        values = [int(v) for v in values]
    return column.form in ("int", "float"), codes, tuple(values)


def unique_inverse(values: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the sorted distinct values, and the index of each cell among them.

    Like ``np.unique`` with inverse, but a narrow range of integers is counted instead of sorted.

    >>> unique_inverse(np.array([7.0, 5.0, 7.0]))
    (array([5., 7.]), array([1, 0, 1]))
    """
    low, high = (values.min().item(), values.max().item()) if len(values) else (0, 0)
    is_narrow = low >= -MAX_EXACT_INT and high <= MAX_EXACT_INT and high - low < len(values)
    if not is_narrow or (values.dtype.kind == "f" and not (is_whole(values[:100]) and is_whole(values))):
        distinct, codes = np.unique(values, return_inverse=True)
        return distinct, codes.astype(np.int64, copy=False)
    integers = np.ascontiguousarray(values, np.int64)
    if low != 0:
        integers = integers - int(low)
    is_present = np.zeros(int(high - low) + 1, bool)
    step = max(len(is_present), 1 << 16)
    for begin in range(0, len(integers), step):  # in chunks: bincount copies read-only arrays
        present = np.bincount(integers[begin : begin + step]) > 0
        is_present[: len(present)] |= present
    distinct = (np.flatnonzero(is_present) + int(low)).astype(values.dtype)
    return distinct, integers if is_present.all() else (np.cumsum(is_present) - 1)[integers]


def is_continuous(column: Column) -> bool:
    """Return whether a sample of rows proves a target continuous: fractions, or many distinct numbers."""
    if column.form not in ("int", "float"):
        return False
    sample = column.values[:: max(1, len(column) // 1000)]
    return not is_whole(sample) or len(np.unique(sample)) > MAX_INTEGER_CLASSES


def _parse_target_text(column: Column) -> Column:
    """Parse a text target that consists of numbers; raise if it also has a marker that was not declared."""
    parsed = parse_numbers(column.labels)
    if np.count_nonzero(parsed.is_number) > MAX_INTEGER_CLASSES:
        check_stray_text(column, parsed)
    numbers_only = parsed.all_numbers and parsed.is_number.any()
    if not numbers_only or parsed.padded or parsed.too_large.any():
        return column
    if parsed.is_marker.any():
        row = column.first_row_with(parsed.is_marker)
        cell = column.format_cell(row)
        raise DataError(
            f'target "{truncate(column.name)}" is {cell} in row {row + 1:,}, where other rows have numbers.',
            hint=hint_missing(cell),
            column=column.name,
            row=row,
        )
    return to_number_column(column, parsed)
