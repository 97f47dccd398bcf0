"""Read delimited text (CSV, TSV) into columns.

Every cell is first read as text, and the form of a column is then inferred from all its cells, so a code such as 02134
keeps its zero and the result never depends on the first rows only. polars splits the lines; where it fails, Python's
csv reader succeeds or names the faulty line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.interruptible import polars_is_safe, run_interruptible
from treewise._lib.text import plural, safe
from treewise.data.column import Column, LazyColumns, float_column, int_column, missing_column, text_column
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
from treewise.errors import DataError, Param, ParameterError, join_few

if TYPE_CHECKING:
    import polars as pl

# 3,7 or 1.234,5 or 1.234.567, but not 1234.5, which has a decimal point.
_COMMA_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,3}(?:\.[0-9]{3})+(?:,[0-9]*)?|[0-9]*,[0-9]+|[0-9]+,)(?:[eE][+-]?[0-9]+)?")
_BLANK_LINES = re.compile(rb"\n(?: *\r?\n)+")
_CHUNK = 1 << 24  # bytes per step


@dataclass(frozen=True)
class CsvFormat:
    """The format of delimited text."""

    separator: str | None = None  # None: inferred from the first line
    decimal: str = "."  # or a comma; points then separate thousands
    header: bool = True  # whether the first line has the column names; else x1, x2, …

    def __post_init__(self) -> None:
        one = isinstance(self.separator, str) and len(self.separator) == 1 and self.separator not in '"\r\n'
        if self.separator is not None and not (one and self.separator.isascii()):
            raise ParameterError('must be one character, such as ";".', parameter="separator", value=self.separator)
        if self.decimal not in (".", ","):
            raise ParameterError('must be "." or ",".', parameter="decimal", value=self.decimal)
        if not isinstance(self.header, bool):
            raise ParameterError("must be True or False.", parameter="header", value=self.header)


def read_csv(
    data: bytes, name: str, markers: Sequence[str], form: CsvFormat | None = None
) -> tuple[LazyColumns, tuple[str, ...]]:
    r"""Read delimited text; return the columns, and notes for the user.

    >>> columns, notes = read_csv(b"age,town\n31,Rome\n,Bari\n", "people.csv", markers=())
    >>> columns["age"].form, columns["age"].missing.tolist(), columns["town"].labels
    ('int', [False, True], ('Bari', 'Rome'))
    """
    form = form or CsvFormat()
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    _check_text(data, name)
    first = _first_line(data)
    separator = form.separator or _guess_separator(first, form.decimal)
    cells = next(csv.reader(io.StringIO(first, newline=""), delimiter=separator))
    names = _column_names(cells, name) if form.header else [f"x{i}" for i in range(1, len(cells) + 1)]
    bare = drop_blank_lines(data, one_column=len(names) == 1)
    if len(names) == 1:
        data = bare
    cut = split_with_polars(bare, separator, len(names), form.header) if polars_is_safe(len(data)) else None
    columns: list[Any] = list(cut) if cut is not None else split_with_python(data, separator, names, name, form.header)
    if not len(columns[0]):
        raise DataError(
            f"{name} has a header ({join_few([safe(n) for n in names])}) but no rows. Give at least one row."
        )
    read = _column_from_list if isinstance(columns[0], list) else _column_from_series
    if form.decimal == ",":
        columns = [_replace_decimal_commas(cells) for cells in columns]
    makers = {n: partial(read, n, cells, tuple(markers)) for n, cells in zip(names, columns, strict=True)}
    notes = (*_note_guesses(name, form, separator, names), *_note_blank_lines(data, bare, name))
    return LazyColumns(makers, len(columns[0])), notes


# -- the first line ------------------------------------------------------------------------------------------


def _note_guesses(name: str, form: CsvFormat, separator: str, names: Sequence[str]) -> Iterator[str]:
    """Yield notes on what was inferred, so that a wrong guess is noticed."""
    if form.separator is None and separator != ",":
        separator_name = "tabs" if separator == "\t" else f'"{separator}"'
        why = "has no comma" if form.decimal == "." else f"has {separator_name}"
        yield f"{name}: cells are taken to be separated by {separator_name}, since the first line {why}"
    if form.header and _looks_like_data(names):
        sample_names = ", ".join(f'"{safe(n)}"' for n in names[:3])
        taken = f"the first line is taken as column names ({sample_names}, …)"
        yield f"{name}: {taken}; if it is data: " + Param("header", False)


def _note_blank_lines(data: bytes, bare: bytes, name: str) -> Iterator[str]:
    """Yield a note on skipped blank lines: predictions have no row for them."""
    if len(data) == len(bare):
        return
    n_blank = data.strip().count(b"\n") - bare.strip().count(b"\n")
    if n_blank:
        yield f"{name}: {plural(n_blank, 'blank line')} between rows left out"


def _check_text(data: bytes, name: str) -> None:
    """Raise for an empty or binary file, or one that is not UTF-8."""
    if not data.strip():
        raise DataError(f"{name} is empty. A table needs a line of column names and at least one row.")
    if b"\0" in data[:4096]:
        raise DataError(f"{name} is not a text file. Save it as CSV (UTF-8) or Parquet.")
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name} line {line:,}: byte 0x{data[error.start]:02x} is not UTF-8. Save the file as UTF-8"
            ' (in Excel: "CSV UTF-8"), or convert it: iconv -f latin1 -t utf-8.'
        ) from None


def _first_line(data: bytes) -> str:
    """Return the first non-blank line; a quoted name may span several lines."""
    start = len(data) - len(data.lstrip(b"\r\n"))
    end = data.find(b"\n", start)
    while end >= 0 and data.count(b'"', start, end) % 2:
        end = data.find(b"\n", end + 1)
    return data[start : end if end >= 0 else len(data)].decode().rstrip("\r")


def _guess_separator(first: str, decimal: str = ".") -> str:
    """Return the comma, unless the first line has none or it is the decimal mark: then a semicolon or tab."""
    bare = re.sub(r'"[^"]*"', "", first)
    marks = ",;\t" if decimal == "." else ";\t,"
    return next((mark for mark in marks if mark in bare), ",")


def _column_names(header: Sequence[str], name: str) -> list[str]:
    """Return the column names; empty ones become column_1, column_2, …"""
    names = [cell if cell.strip() else f"column_{i}" for i, cell in enumerate(header, start=1)]
    check_names(names, name, " If the first line is already data: " + Param("header", False) + ".")
    return names


def _looks_like_data(names: Sequence[str]) -> bool:
    """Return whether most names are numbers, and not all integers: then the file probably has no header."""
    numbers = [n for n in names if parse_number(n) is not None]
    return 2 * len(numbers) > len(names) and not all(INTEGER.fullmatch(n.strip()) for n in numbers)


# -- cutting lines into cells --------------------------------------------------------------------------------


def split_with_polars(data: bytes, separator: str, width: int, header: bool = True) -> pl.DataFrame | None:
    """Split text without blank lines; None if polars fails or may have filled up a line with too few cells.

    Columns are named by position, because polars treats names such as "*" and "^x.*$" as patterns.
    """
    import polars as pl

    try:
        frame = run_interruptible(
            lambda: pl.read_csv(data, separator=separator, has_header=header, infer_schema=False, raise_if_empty=False),
            rows=data.count(b"\n"),
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.width != width or (frame.height and not _all_lines_complete(data, separator, frame)):
        return None
    frame.columns = [str(place) for place in range(width)]
    return frame


def drop_blank_lines(data: bytes, one_column: bool = False) -> bytes:
    """Remove blank lines outside quotes.

    With a single column, a blank line between others is an empty cell and becomes ``""``.
    """
    data = data.lstrip(b"\r\n")
    pieces, start, quotes, counted = [], 0, 0, 0
    for match in _BLANK_LINES.finditer(data):
        quotes += data.count(b'"', counted, match.start())
        counted = match.start()
        if quotes % 2 == 0:
            pieces.append(data[start : match.start()])
            if one_column and match.end() < len(data):
                pieces.append(b'\n""' * (match[0].count(b"\n") - 1))
            start = match.end() - 1
    return b"".join([*pieces, data[start:]]) if pieces else data


def _all_lines_complete(data: bytes, separator: str, frame: pl.DataFrame) -> bool:
    """Return whether every line has all its cells: polars rejects longer lines but fills up shorter ones."""
    if frame.width == 1 or not frame[:, -1].null_count():
        return True
    lines = separators = quotes = 0
    for start in range(0, len(data), _CHUNK):
        chunk = np.frombuffer(data[start : start + _CHUNK], np.uint8)
        inside = (np.cumsum(chunk == ord('"'), dtype=np.uint8) + np.uint8(quotes)) % 2 == 1
        lines += int(np.count_nonzero((chunk == ord("\n")) & ~inside))
        separators += int(np.count_nonzero((chunk == ord(separator)) & ~inside))
        quotes = int(inside[-1])
    lines += not data.endswith(b"\n")
    return separators == lines * (frame.width - 1)


def split_with_python(
    data: bytes, separator: str, names: Sequence[str], name: str, header: bool = True
) -> list[list[str]]:
    """Split with Python's csv reader, which accepts stray quotes; raise, with its number, for a line of other width."""
    reader = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=separator, strict=True)
    rows: list[list[str]] = []
    started = 0
    try:
        for cells in reader:
            if cells and (len(names) == 1 or len(cells) > 1 or cells[0].strip()):
                if len(cells) != len(names):
                    expected = f"the header names {plural(len(names), 'column')}"
                    if not header:
                        expected = f"the first has {plural(len(names), 'cell')}"
                    raise DataError(
                        f"{name} line {started + 1:,} has {plural(len(cells), 'cell')}, but {expected}."
                        " Cells that contain the separator need quotes."
                    )
                rows.append(cells)
            started = reader.line_num
    except MemoryError:
        rows.clear()  # frees memory, which Python needs to leave this block
        raise
    except csv.Error as error:
        raise DataError(
            f"{name} line {started + 1:,} is not proper CSV ({error}). Look for a quote too many."
        ) from None
    return [[row[j] for row in rows[header:]] for j in range(len(names))]


# -- cells into columns --------------------------------------------------------------------------------------


def _replace_decimal_commas(cells: Any) -> Any:
    """Replace decimal commas in numbers: 3,7 → 3.7 and 1.234,5 → 1234.5, but "a, b" is unchanged."""
    if isinstance(cells, list):
        return [c.replace(".", "").replace(",", ".") if _COMMA_NUMBER.fullmatch(c.strip()) else c for c in cells]
    import polars as pl

    cell = pl.col(cells.name)
    number = cell.str.strip_chars().str.contains(f"^(?:{_COMMA_NUMBER.pattern})$")
    pointed = cell.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return cells.to_frame().select(pl.when(number).then(pointed).otherwise(cell)).to_series()


def _column_from_series(name: str, series: pl.Series, markers: Sequence[str]) -> Column:
    """Infer the form of a column from all its cells: integers, floats, booleans, datetimes, or text."""
    import polars as pl

    bare = series.str.strip_chars()
    is_marker = bare.is_in(["", *markers])
    if is_marker.any():
        bare, series = (
            s.to_frame("s").select(pl.when(~is_marker).then(pl.col("s"))).to_series() for s in (bare, series)
        )
    n_missing = bare.null_count()
    if n_missing == len(bare):
        return missing_column(name, len(bare))
    numbers = _cast_numbers(bare, n_missing)
    if numbers is not None and numbers.dtype == pl.Int64:
        missing = numbers.is_null().to_numpy() if n_missing else None
        return int_column(name, numbers.fill_null(0).to_numpy(), missing)
    if numbers is not None:
        return float_column(name, numbers.to_numpy())
    text = text_from_polars(name, series)
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


def _cast_numbers(bare: pl.Series, n_missing: int) -> pl.Series | None:
    """Cast all cells to numbers; None if some are no numbers, look like codes, or exceed 64 bits."""
    import polars as pl

    sample = bare.drop_nulls().head(1000)
    for dtype in (pl.Int64, pl.Float64):
        if sample.cast(dtype, strict=False).null_count():
            continue
        numbers = bare.cast(dtype, strict=False)
        if numbers.null_count() > n_missing:
            continue
        if bare.str.contains(f"^{PADDED.pattern}").any():
            return None
        if dtype == pl.Float64:
            if numbers.is_nan().any():
                return None  # "NaN" among numbers is a marker: encoding.py adds a note
            if (numbers.abs() >= 2.0**63).any() and bare.str.contains(f"^{INTEGER.pattern}$").all():
                return None
        return numbers
    return None
