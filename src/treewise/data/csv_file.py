"""Read delimited text (CSV, TSV) into columns.

Every cell is first read as text, and the form of a column is then inferred from all its cells, so a code such as 02134
keeps its zero and the result never depends on the first rows only. ``csv_cells.py`` splits the lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.text import plural
from treewise.data.column import (
    Column,
    LazyColumns,
    Mask,
    float_column,
    int_column,
    missing_column,
    text_column,
    truncate,
)
from treewise.data.csv_cells import split_cells
from treewise.data.objects import check_names, text_from_polars
from treewise.data.parse_cells import (
    INTEGER,
    PADDED,
    parse_number,
    parse_numbers,
    to_bool_column,
    to_datetime_column,
    to_number_column,
)
from treewise.errors import DataError, Param, ParameterError, brief, join_few

if TYPE_CHECKING:
    import polars as pl

# Numbers in a file with decimal commas: 3,7 has a comma; 1.234,5 and 1.234.567 have points between thousands; 1.234 may
# have one, if the whole column agrees; any other point, as in 1234.5, is a decimal point.
_DECIMAL_COMMA = r"[+-]?(?:[0-9]*,[0-9]+|[0-9]+,)(?:[eE][+-]?[0-9]+)?"
_THOUSANDS = r"[+-]?[1-9][0-9]{0,2}(?:(?:\.[0-9]{3}){2,}|(?:\.[0-9]{3})+,[0-9]*)"
_MAYBE_THOUSANDS = r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}"
_POINT = r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


@dataclass(frozen=True)
class CsvFormat:
    """The format of delimited text."""

    separator: str | None = None  # None: inferred from the first line
    decimal: str = "."  # or a comma; points then separate thousands
    header: bool = True  # whether the first line has the column names; else ``names``, or x1, x2, …
    names: tuple[str, ...] | None = None  # of the columns; the first line is then a row

    def __post_init__(self) -> None:
        is_character = isinstance(self.separator, str) and len(self.separator) == 1 and self.separator not in '"\r\n'
        if self.separator is not None and not (is_character and self.separator.isascii()):
            raise ParameterError('must be one character, such as ";".', parameter="separator", value=self.separator)
        if self.decimal not in (".", ","):
            raise ParameterError('must be "." or ",".', parameter="decimal", value=self.decimal)
        if not isinstance(self.header, bool):
            raise ParameterError("must be True or False.", parameter="header", value=self.header)

    @property
    def has_header(self) -> bool:
        """Whether the first line has the column names."""
        return self.header and self.names is None


def read_csv(
    data: bytes, name: str, markers: Sequence[str], form: CsvFormat | None = None
) -> tuple[LazyColumns, tuple[str, ...]]:
    r"""Read delimited text; return the columns, and notes for the user.

    >>> columns, notes = read_csv(b"age,town\n31,Rome\n,Bari\n", "people.csv", markers=())
    >>> columns["age"].form, columns["age"].missing.tolist(), columns["town"].labels
    ('int', [False, True], ('Bari', 'Rome'))
    """
    form = form or CsvFormat()
    data = _normalise_newlines(data)
    check_text(data, name)
    header = csv_header(data, name, form)
    names, separator = header.names, header.separator
    columns, n_blank = split_cells(data, separator, names, name, form.has_header)
    if not len(columns[0]):
        raise DataError(
            f"{name} has a header ({join_few([truncate(n) for n in names])}) but no rows. Give at least one row."
        )
    notes = list(header.notes)
    if n_blank:  # predictions have no row for them
        notes.append(f"{name}: {plural(n_blank, 'blank line')} between rows left out")
    read = _column_from_list if isinstance(columns[0], list) else _column_from_series
    makers: dict[str, Callable[[], Column]] = {}
    for column_name, cells in zip(names, columns, strict=True):
        if form.decimal == ",":
            try:
                cells, note = _replace_decimal_commas(cells, column_name)
            except DataError as error:  # raised when the column is used
                makers[column_name] = partial(_raise, error)
                continue
            notes += [note] if note else []
        makers[column_name] = partial(read, column_name, cells, tuple(markers))
    return LazyColumns(makers, len(columns[0])), tuple(notes)


def _raise(error: DataError) -> Column:
    raise error


def _normalise_newlines(data: bytes) -> bytes:
    """Return text without a byte order mark, and with newlines if it has only carriage returns."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    return data if b"\n" in data else data.replace(b"\r", b"\n")


# -- the first line ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CsvHeader:
    """The facts from the first line: separator, column names, and notes on what was inferred."""

    separator: str
    names: list[str]
    has_header: bool
    notes: tuple[str, ...]


def csv_header(data: bytes, name: str, form: CsvFormat) -> CsvHeader:
    """Read the first line; ``data`` may be the beginning of a file."""
    data = _normalise_newlines(data)
    if not data.strip():
        raise _empty(name)
    first = _first_line(data, form.separator)
    separator = form.separator or _guess_separator(first, form.decimal)
    cells = next(csv.reader(io.StringIO(first, newline=""), delimiter=separator))
    names = _column_names(cells, name, form)
    return CsvHeader(separator, names, form.has_header, tuple(_note_guesses(name, form, separator, names)))


def _note_guesses(name: str, form: CsvFormat, separator: str, names: Sequence[str]) -> Iterator[str]:
    """Yield notes on what was inferred, so that a wrong guess is noticed."""
    if form.separator is None and separator != ",":
        separator_name = "tabs" if separator == "\t" else f'"{separator}"'
        reason = "has no comma" if form.decimal == "." else f"has {separator_name}"
        yield f"{name}: cells are taken to be separated by {separator_name}, since the first line {reason}"
    if form.has_header and _looks_like_data(names):
        sample_names = ", ".join(f'"{truncate(n)}"' for n in names[:3])
        guess = f"the first line is taken as column names ({sample_names}, …)"
        yield f"{name}: {guess}; if it is data: " + Param("header", False)


def _empty(name: str) -> DataError:
    return DataError(f"{name} is empty. A table needs a line of column names and at least one row.")


def check_binary(data: bytes, name: str) -> None:
    """Raise for the beginning of a file that is not text; Parquet and gzip are known by theirs, unless damaged."""
    if b"\0" not in data[:4096]:
        return
    for ending, form in ((".parquet", "Parquet"), (".gz", "gzip")):
        if name.lower().endswith(ending):
            raise DataError(f"{name} is damaged: it does not begin as a {form} file does. Write or copy it again.")
    raise DataError(
        f"{name} is not a text file. Save it as CSV (UTF-8) or Parquet; if it is Parquet or gzip, it is damaged."
    )


def check_text(data: bytes, name: str, first_line: int = 0) -> None:
    """Raise for a binary file, or one that is not UTF-8; ``first_line`` lines are before the data."""
    check_binary(data, name)
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name} line {line:,}: byte 0x{data[error.start]:02x} is not UTF-8. Save the file as UTF-8"
            ' (in Excel: "CSV UTF-8"), or convert it: iconv -f latin1 -t utf-8.'
        ) from None


def _first_line(data: bytes, separator: str | None) -> str:
    """Return the first non-blank line; a quoted name may span several lines."""
    start = len(data) - len(data.lstrip(b"\r\n"))
    end = data.find(b"\n", start) % (len(data) + 1)
    if b'"' in data[start:end]:
        marks = re.escape(separator or ",;\t").encode()
        cell = re.compile(rb'(?:"[^"]*(?:""[^"]*)*"?)?[^\n' + marks + rb"]*[" + marks + rb"]?")
        end = start
        while end < len(data) and (end == start or data[end - 1] in marks) and data[end] != ord("\n"):
            end = cell.match(data, end).end()  # type: ignore[union-attr]
    return data[start:end].decode().rstrip("\r")


def _guess_separator(first: str, decimal: str = ".") -> str:
    """Return the comma, unless the first line has none or it is the decimal mark: then a semicolon or tab."""
    bare = re.sub(r'"[^"]*"', "", first)
    marks = ",;\t" if decimal == "." else ";\t,"
    return next((mark for mark in marks if mark in bare), ",")


def _column_names(header: Sequence[str], name: str, form: CsvFormat) -> list[str]:
    """Return the column names: as given, x1, x2, …, or those of the header, where empty ones become column_1, …"""
    if form.names is not None:
        if len(form.names) != len(header):
            raise ParameterError(
                f"{plural(len(form.names), 'name')}, but {name} has {plural(len(header), 'column')}.",
                parameter="names",
                hint="Name every column, in the order of the file.",
            )
        check_names(list(form.names), name, "")
        return list(form.names)
    if not form.header:
        return [f"x{i}" for i in range(1, len(header) + 1)]
    names = [cell if cell.strip() else f"column_{i}" for i, cell in enumerate(header, start=1)]
    check_names(names, name, " If the first line is already data: " + Param("header", False) + ".")
    return names


def _looks_like_data(names: Sequence[str]) -> bool:
    """Return whether most names are numbers, and not all integers: then the file probably has no header."""
    numbers = [n for n in names if parse_number(n) is not None]
    return 2 * len(numbers) > len(names) and not all(INTEGER.fullmatch(n.strip()) for n in numbers)


# -- cells into columns --------------------------------------------------------------------------------------


def _replace_decimal_commas(cells: Any, name: str) -> tuple[Any, str]:
    """Replace decimal commas (3,7 → 3.7) and drop thousands points (1.234,5 → 1234.5); return a note if in doubt.

    Points separate thousands only if every cell of the column agrees: in a column with 1.5 they are decimal points.
    """
    is_comma, is_thousands, is_maybe = (_match(cells, p) for p in (_DECIMAL_COMMA, _THOUSANDS, _MAYBE_THOUSANDS))
    is_point = _match(cells, _POINT) & ~is_thousands & ~is_maybe
    note = ""
    if not is_point.any():
        is_thousands |= is_maybe
    else:
        row, point = int(np.argmax(is_point)), brief(cells[int(np.argmax(is_point))].strip())
        if is_thousands.any():
            other = int(np.argmax(is_thousands))
            raise DataError(
                f'column "{truncate(name)}": {brief(cells[other].strip())} in row {other + 1:,} has a point between'
                f" thousands, but {point} in row {row + 1:,} has a decimal point.",
                hint="Write the numbers alike.",
                column=name,
                row=row,
            )
        if is_maybe.any():
            doubtful = brief(cells[int(np.argmax(is_maybe))].strip())
            note = f"{truncate(name)}: the point of {doubtful} is read as a decimal point, like that of {point}"
    if isinstance(cells, list):
        edits = zip(cells, is_thousands.tolist(), (is_thousands | is_comma).tolist(), strict=True)
        return [
            (cell.replace(".", "") if grouped else cell).replace(",", ".") if edited else cell
            for cell, grouped, edited in edits
        ], note
    import polars as pl

    without_points = cells.zip_with(pl.Series(~is_thousands), cells.str.replace_all(".", "", literal=True))
    return cells.zip_with(
        pl.Series(~(is_thousands | is_comma)), without_points.str.replace(",", ".", literal=True)
    ), note


def _match(cells: Any, pattern: str) -> Mask:
    """Return which cells, without surrounding spaces, match a pattern as a whole."""
    if isinstance(cells, list):
        match = re.compile(pattern).fullmatch
        return np.fromiter((match(cell.strip()) is not None for cell in cells), np.bool_, len(cells))
    matches = cells.str.strip_chars().str.contains(f"^(?:{pattern})$").fill_null(False)
    return np.array(matches.to_numpy(), np.bool_)


def _column_from_series(name: str, series: pl.Series, markers: Sequence[str]) -> Column:
    """Infer the form of a column from all its cells: integers, floats, booleans, datetimes, or text."""
    bare, series = mask_cells(series, markers)
    n_missing = bare.null_count()
    if n_missing == len(bare):
        return missing_column(name, len(bare))
    read = read_numbers(bare)
    if read is not None and read[0].are_numbers:
        return column_of_numbers(name, read[1])
    return refine_text(text_from_polars(name, series), n_missing)


def mask_cells(series: pl.Series, markers: Sequence[str]) -> tuple[pl.Series, pl.Series]:
    """Return the cells without spaces around them, and as they are; both null where a cell is empty or a marker."""
    import polars as pl

    bare = series.str.strip_chars()
    is_marker = bare.is_in(["", *markers])
    if not is_marker.any():
        return bare, series
    masked = (s.to_frame("s").select(pl.when(~is_marker).then(pl.col("s"))).to_series() for s in (bare, series))
    return next(masked), next(masked)


def column_of_numbers(name: str, numbers: pl.Series) -> Column:
    """Build a column of integers or floats."""
    import polars as pl

    if numbers.dtype != pl.Int64:
        return float_column(name, numbers.to_numpy())
    missing = numbers.is_null().to_numpy() if numbers.null_count() else None
    return int_column(name, numbers.fill_null(0).to_numpy(), missing)


def refine_text(text: Column, n_missing: int) -> Column:
    """Return a text column of which ``n_missing`` cells are empty as booleans or datetimes, if all others are."""
    parsed = to_bool_column(text) or to_datetime_column(text)
    if parsed is None or np.count_nonzero(parsed.is_missing()) > n_missing:
        return text  # with a marker such as "NA" it stays text: encoding.py parses it, and adds a note
    return parsed


def _column_from_list(name: str, cells: list[str], markers: Sequence[str]) -> Column:
    """Do the same in plain Python, where polars cannot be used or failed."""
    empty = {"", *markers}
    text = text_column(name, [None if cell.strip() in empty else cell for cell in cells])
    if not text.labels:
        return missing_column(name, len(cells))
    readings = parse_numbers(text.labels)
    if readings.is_number.all() and not readings.padded and not readings.too_large.any():
        return to_number_column(text, readings)
    parsed = to_bool_column(text) or to_datetime_column(text)
    if parsed is None or np.count_nonzero(parsed.is_missing()) > np.count_nonzero(text.is_missing()):
        return text
    return parsed


@dataclass(frozen=True)
class NumberFacts:
    """Facts that decide whether cells that can be cast to numbers are numbers; those of parts of a column merge."""

    are_integers: bool
    is_padded: bool = False  # as in 02134, which is a code
    has_nan: bool = False  # "NaN" among numbers is a marker: encoding.py adds a note
    is_too_large: bool = False  # past 64 bits …
    are_written_as_integers: bool = True  # … though not written as floats

    @property
    def are_numbers(self) -> bool:
        """Whether the column is one of numbers."""
        return not (self.is_padded or self.has_nan or (self.is_too_large and self.are_written_as_integers))

    def merge(self, other: NumberFacts) -> NumberFacts:
        """Return the facts of two parts together."""
        return NumberFacts(
            self.are_integers and other.are_integers,
            self.is_padded or other.is_padded,
            self.has_nan or other.has_nan,
            self.is_too_large or other.is_too_large,
            self.are_written_as_integers and other.are_written_as_integers,
        )


def read_numbers(bare: pl.Series) -> tuple[NumberFacts, pl.Series] | None:
    """Cast cells to integers or else floats, with the facts that decide whether they are; None if some cannot be."""
    import polars as pl

    n_missing, sample = bare.null_count(), bare.drop_nulls().head(1000)
    for dtype in (pl.Int64, pl.Float64):
        if sample.cast(dtype, strict=False).null_count():
            continue
        numbers = bare.cast(dtype, strict=False)
        if numbers.null_count() > n_missing:
            continue
        facts = NumberFacts(dtype == pl.Int64, bool(bare.str.contains(f"^{PADDED.pattern}").any()))
        if dtype == pl.Float64:
            facts = replace(
                facts,
                has_nan=bool(numbers.is_nan().any()),
                is_too_large=bool((numbers.abs() >= 2.0**63).any()),
                are_written_as_integers=False,
            )
            if facts.is_too_large:
                facts = replace(facts, are_written_as_integers=bool(bare.str.contains(f"^{INTEGER.pattern}$").all()))
        return facts, numbers
    return None
