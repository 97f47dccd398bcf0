"""Rows to predict, in batches: any number of files of any size, in constant memory, with one reading of each.

Training decides what a column is from all its cells (``batches.py`` reads CSV twice for that). Prediction knows
already: the model's encodings say what each cell must be. So a cell is read for itself, and how a file is cut into
batches has no influence. A column of numbers is parsed as numbers at once; where some of its cells are not,
they are read as text, of which ``encoding.py`` takes the markers of missing values and refuses the rest.

``open_rows`` finds out what the data are and yields ``Piece`` objects, cheap to make and in order; ``Piece.read`` does
the work and may run in any thread.

    file           piece                          read by
    CSV, TSV, gz   2 MB of whole lines            polars, else Python's csv reader
    Parquet        rows of a row group            polars
    JSON lines     4 MB of whole lines            json
    anything else  the whole table                ``treewise.data.table.read``
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.interruptible import polars_before_fork, polars_is_safe
from treewise._lib.text import safe
from treewise.data.batches import (
    ROW_ENDINGS,
    DataFile,
    find_files,
    header_of,
    name_of,
    row_groups,
    starts_with,
)
from treewise.data.column import Column, missing_column, text_column, truncate
from treewise.data.convert import MAX_EXACT_INT
from treewise.data.copied_cells import copied_dtypes, to_values
from treewise.data.csv_cells import split_cells, split_with_python
from treewise.data.csv_chunks import Unpacked, split_lines
from treewise.data.csv_file import (
    CsvFormat,
    CsvHeader,
    check_text,
    column_of_numbers,
    csv_header,
    mask_cells,
)
from treewise.data.frames import read_dicts, read_frame, to_polars
from treewise.data.objects import read_objects, text_from_polars
from treewise.data.parquet_file import MAGIC, collect
from treewise.data.parse_cells import is_marker, mask_markers
from treewise.data.table import JSON_ENDINGS, Table, read, read_bytes, read_json_rows
from treewise.errors import ColumnError, DataError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

_CSV_BYTES = 2 << 20  # per piece, of text
_JSON_BYTES = 4 << 20
_CELLS = 1 << 21  # per piece of a Parquet file
_GZIP = b"\x1f\x8b"
_NUMERIC = ("number", "integer")
_MOST_MARKERS = 20  # spellings of missing values in one piece


@dataclass(frozen=True)
class RowPlan:
    """The columns to be read: those that a model tests, by name, with their kinds; and columns to copy."""

    kinds: Mapping[str, str]
    markers: tuple[str, ...] = ()
    csv_format: CsvFormat = field(default_factory=CsvFormat)
    kept: tuple[str, ...] | None = ()  # None: all
    is_tolerant: bool = False  # lines that cannot be read are bad rows instead of an error
    dtypes: Mapping[str, Any] | None = None  # found by ``needs_values``
    needs_values: bool = False  # copied cells of CSV become values, by what all files hold, instead of text


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some rows of a file: the columns to encode, the cells to copy, and the rows that could not be read."""

    table: Table
    kept: pl.DataFrame | None = None
    faults: Mapping[int, str] = field(default_factory=dict)  # row of the batch → what is wrong with its line
    n_blank: int = 0  # blank lines left out


@dataclass(frozen=True)
class Piece:
    """A part of the data that has not been read yet."""

    file: str
    share: float  # of the work done after it, from 0 to 1
    is_first_of_file: bool
    read: Callable[[int], RowBatch]  # given how many rows of the file are before it


@dataclass(frozen=True, eq=False)
class RowSource:
    """Data found and opened: a name for messages, notes for the user, and the pieces in order."""

    name: str
    pieces: Iterator[Piece]
    notes: tuple[str, ...] = ()


def open_rows(data: Any, plan: RowPlan, read_whole: Callable[[], Table] | None = None) -> RowSource:
    """Return the pieces of files, or of standard input (``"-"``); of anything else a single piece.

    ``read_whole`` reads what has no pieces: by default ``treewise.data.table.read``.
    """
    whole = read_whole or (lambda: _read_whole(data, plan))
    if polars_before_fork or not polars_is_safe(_CSV_BYTES) or plan.csv_format.decimal != ".":
        return _single(whole(), plan)
    if isinstance(data, str) and data == "-":
        return _open_standard_input(plan)
    files = find_files(data, ROW_ENDINGS)
    if files is None and isinstance(data, (str, Path)) and Path(data).expanduser().is_file():
        files = [DataFile(Path(data).expanduser())]
    if files is None or (len(files) == 1 and _is_whole_json(files[0])):
        return _single(whole(), plan)
    return _open_files(files, plan)


def _read_whole(data: Any, plan: RowPlan) -> Table:
    return read(data, na_values=plan.markers)


def _single(table: Table, plan: RowPlan) -> RowSource:
    """Return a table that is in memory as one piece."""

    def read_piece(_: int) -> RowBatch:
        return RowBatch(table, _kept_of(table, plan))

    return RowSource(table.name, iter([Piece(table.name, 1.0, True, read_piece)]), table.notes)


def _kept_of(table: Table, plan: RowPlan) -> pl.DataFrame | None:
    if plan.kept == ():
        return None
    names = list(table.columns) if plan.kept is None else list(plan.kept)
    return to_polars({name: table[name] for name in names})


def _open_files(files: Sequence[DataFile], plan: RowPlan) -> RowSource:
    notes: dict[str, None] = {}
    if plan.needs_values and plan.kept != ():
        plan = replace(plan, dtypes=copied_dtypes(_copied_frames(files, plan), plan.markers))
    sizes = [max(1, file.path.stat().st_size) for file in files]
    headers: dict[int, CsvHeader] = {}
    for i, file in enumerate(files):  # what is wrong with a file is known before anything is predicted
        if not starts_with(file.path, MAGIC) and not file.path.name.lower().endswith(JSON_ENDINGS):
            headers[i] = header_of(file, plan.csv_format, plan.is_tolerant)
            notes |= dict.fromkeys(headers[i].notes)
            _check_columns(file.name, [*headers[i].names, *dict(file.partition)], plan)

    def pieces() -> Iterator[Piece]:
        n_before, total = 0, sum(sizes)
        for i, file in enumerate(files):
            if i in headers:
                file_pieces = _csv_pieces(file, headers[i], plan)
            elif file.path.name.lower().endswith(JSON_ENDINGS):
                file_pieces = _json_pieces(file, plan)
            else:
                file_pieces = _parquet_pieces(file, plan)
            for piece in file_pieces:
                constant = dict(file.partition)
                reading = _with_constants(piece.read, constant, plan) if constant else piece.read
                yield replace(piece, share=(n_before + piece.share * sizes[i]) / total, read=reading)
            n_before += sizes[i]

    return RowSource(name_of(files), pieces(), tuple(notes))


def _with_constants(reading: Callable[[int], RowBatch], constant: Mapping[str, str], plan: RowPlan) -> Any:
    """Return the reading of a file whose folders give values to partition columns (year=2024)."""

    def read_piece(first_row: int) -> RowBatch:
        import polars as pl

        batch = reading(first_row)
        columns = dict(batch.table.columns)
        for name in constant:
            if name in plan.kinds:
                column = text_column(name, [constant[name]])
                columns[name] = mask_markers(
                    replace(column, values=np.broadcast_to(column.values, len(batch.table))), plan.markers
                )
        kept = batch.kept
        if kept is not None:
            names = [name for name in constant if plan.kept is None or name in plan.kept]
            kept = kept.with_columns([pl.Series(name, [constant[name]]).new_from_index(0, len(kept)) for name in names])
        return replace(batch, table=replace(batch.table, columns=columns), kept=kept)

    return read_piece


def _check_columns(file: str, names: Sequence[str], plan: RowPlan) -> None:
    """Raise if a column to copy is absent; the model says which columns it needs."""
    for name in plan.kept or ():
        if name not in names:
            raise ColumnError(f'no column "{truncate(name)}" in {file}.{did_you_mean(name, names)}', column=name)


def _copied_frames(files: Sequence[DataFile], plan: RowPlan) -> Iterator[pl.DataFrame]:
    """Yield the cells of CSV files that are copied, as text."""
    as_text = replace(plan, kinds={}, needs_values=False)
    for file in files:
        if not starts_with(file.path, MAGIC) and not file.path.name.lower().endswith(JSON_ENDINGS):
            for piece in _csv_pieces(file, header_of(file, plan.csv_format, plan.is_tolerant), as_text):
                batch = piece.read(0)
                assert batch.kept is not None
                yield batch.kept


# -- CSV --------------------------------------------------------------------------------------------------------------


def _csv_pieces(file: DataFile, header: CsvHeader, plan: RowPlan) -> Iterator[Piece]:
    size = max(1, file.path.stat().st_size)
    with file.path.open("rb") as raw:
        stream = Unpacked(raw, file.name)
        yield from _text_pieces(stream, file.name, header, plan, lambda: raw.tell() / size)


def _text_pieces(
    stream: Any, name: str, header: CsvHeader, plan: RowPlan, share: Callable[[], float]
) -> Iterator[Piece]:
    first_line, has_header = 0, header.has_header
    hints: set[str] = set()  # columns of numbers some of whose cells are not
    for chunk in split_lines(stream, name, header.separator, _CSV_BYTES):
        reader = _CsvPiece(chunk, name, header, has_header, first_line, plan, hints)
        yield Piece(name, min(1.0, share()), first_line == 0, reader.read)
        first_line, has_header = first_line + chunk.count(b"\n"), False


@dataclass(frozen=True)
class _CsvPiece:
    """Whole lines of delimited text."""

    data: bytes
    name: str
    header: CsvHeader
    has_header: bool
    first_line: int
    plan: RowPlan
    hints: set[str]

    def read(self, first_row: int) -> RowBatch:
        """Split the lines and read the cells."""
        names, faults = self.header.names, dict[int, str]()
        try:
            check_text(self.data, self.name, self.first_line)
            cells, n_blank = self._split()
        except DataError:
            if not self.plan.is_tolerant or b"\0" in self.data[:4096]:
                raise
            cells, n_blank = split_with_python(
                self.data, self.header.separator, names, self.name, self.has_header, self.first_line, faults
            )
            cells = [[None if i in faults else cell for i, cell in enumerate(column)] for column in cells]
        series = dict(zip(names, map(_to_series, cells), strict=True))
        n_rows = len(next(iter(series.values())))
        try:
            columns = self._columns(series)
        except _ReadAsTextError as error:
            self.hints.add(error.column)
            return self.read(first_row)
        table = Table(self.name, columns, n_rows, first_row=first_row)
        return RowBatch(table, self._kept(series), faults, n_blank)

    def _split(self) -> tuple[list[Any], int]:
        """Return the cells as text, those of columns of numbers as numbers; remember which columns are not."""
        import polars as pl

        names = self.header.names
        copied = set(names) if self.plan.kept is None else set(self.plan.kept)
        numbers = {
            i
            for i, name in enumerate(names)
            if self.plan.kinds.get(name) == "number" and name not in copied and name not in self.hints
        }
        cells, n_blank = split_cells(
            self.data, self.header.separator, names, self.name, self.has_header, self.first_line, numbers
        )
        for i in numbers:
            column = _to_series(cells[i])
            if column.dtype == pl.String and column.cast(pl.Float64, strict=False).null_count() > column.null_count():
                self.hints.add(names[i])
        return cells, n_blank

    def _columns(self, series: Mapping[str, pl.Series]) -> dict[str, Column]:
        columns = {}
        for name, kind in self.plan.kinds.items():
            if name in series:
                columns[name] = mask_markers(
                    _read_cells(name, kind, series[name], self.plan.markers), self.plan.markers
                )
        return columns

    def _kept(self, series: Mapping[str, pl.Series]) -> pl.DataFrame | None:
        import polars as pl

        if self.plan.kept == ():
            return None
        names = self.header.names if self.plan.kept is None else self.plan.kept
        cells = {name: series[name] for name in names if name in series}
        if self.plan.dtypes is not None:
            cells = {name: to_values(name, cells[name], self.plan.dtypes, self.plan.markers) for name in cells}
        return pl.DataFrame([column.alias(name) for name, column in cells.items()])


class _ReadAsTextError(Exception):
    """A column of numbers whose cells must be looked at as text."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


def _to_series(cells: Any) -> pl.Series:
    import polars as pl

    return pl.Series(cells, dtype=pl.String) if isinstance(cells, list) else cells


def _read_cells(name: str, kind: str, series: pl.Series, markers: Sequence[str]) -> Column:
    """Read the cells of a column for a kind: numbers as numbers if they all are, else as text."""
    import polars as pl

    if series.dtype == pl.Float64:
        low: Any = series.min()
        high: Any = series.max()
        if low is not None and not (low > -MAX_EXACT_INT and high < MAX_EXACT_INT):  # whole numbers past 2^53, infinity
            raise _ReadAsTextError(name)
        return column_of_numbers(name, series)
    if series.null_count() == len(series):
        return missing_column(name, len(series))
    if kind not in _NUMERIC:
        return mask_markers(text_from_polars(name, series), ("", *markers))
    bare, masked = mask_cells(series, markers)
    numbers = bare.cast(pl.Float64 if kind == "number" else pl.Int64, strict=False)
    largest = numbers.abs().max()
    is_small = largest is None or (isinstance(largest, (int, float)) and largest < MAX_EXACT_INT)
    if is_small or kind == "integer":
        odd = bare.filter(numbers.is_null() & bare.is_not_null()).unique()
        if len(odd) <= _MOST_MARKERS and all(map(is_marker, odd.to_list())):
            is_all_missing = numbers.null_count() == len(numbers)
            return missing_column(name, len(bare)) if is_all_missing else column_of_numbers(name, numbers)
    return text_from_polars(name, masked)


# -- Parquet ----------------------------------------------------------------------------------------------------------


def _parquet_pieces(file: DataFile, plan: RowPlan) -> Iterator[Piece]:
    import polars as pl

    groups = row_groups(file)
    scan = pl.scan_parquet(file.path, glob=False, hive_partitioning=False)
    names = collect(lambda: scan.head(0).collect(), file.name, 0).columns
    _check_columns(file.name, [*names, *dict(file.partition)], plan)
    needed = [name for name in names if name in plan.kinds or plan.kept is None or name in plan.kept]
    copied = [name for name in names if plan.kept is None or name in plan.kept]
    if plan.kept is not None:
        copied = [name for name in plan.kept if name in names]
    step, done, total = max(1, _CELLS // max(1, len(needed))), 0, max(1, sum(groups))

    def reading(first: int, n: int) -> Callable[[int], RowBatch]:
        def read_piece(first_row: int) -> RowBatch:
            frame = collect(scan.select(needed or names[:1]).slice(first, n).collect, file.name, n)
            columns = read_frame(frame, file.name)
            masked = {name: mask_markers(columns[name], plan.markers) for name in needed if name in plan.kinds}
            kept = None if plan.kept == () else frame.select(copied)
            return RowBatch(Table(file.name, masked, n, first_row=first_row), kept)

        return read_piece

    for n_rows in groups:
        for i in range(0, n_rows, step):
            n = min(step, n_rows - i)
            yield Piece(file.name, (done + n) / total, done == 0, reading(done, n))
            done += n


# -- JSON lines -------------------------------------------------------------------------------------------------------


def _is_whole_json(file: DataFile) -> bool:
    """Tell whether a JSON file is one value, and not one object per line."""
    if not file.path.name.lower().endswith(JSON_ENDINGS):
        return False
    with file.path.open("rb") as raw:
        return not _begins_with_object_line(Unpacked(raw, file.name).read(_JSON_BYTES))


def _begins_with_object_line(head: bytes) -> bool:
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _json_pieces(file: DataFile, plan: RowPlan) -> Iterator[Piece]:
    size = max(1, file.path.stat().st_size)
    with file.path.open("rb") as raw:
        stream = Unpacked(raw, file.name)
        yield from _line_pieces(stream, file.name, plan, lambda: raw.tell() / size)


def _line_pieces(stream: Any, name: str, plan: RowPlan, share: Callable[[], float]) -> Iterator[Piece]:
    rest, first_line = b"", 0
    known: set[str] = set()
    while True:
        block = stream.read(_JSON_BYTES)
        rest += block
        end = rest.rfind(b"\n") + 1 if block else len(rest)
        if end:
            reader = _JsonPiece(rest[:end], name, first_line, plan, known)
            yield Piece(name, min(1.0, share()), first_line == 0, reader.read)
            first_line += rest.count(b"\n", 0, end)
            rest = rest[end:]
        if not block:
            return


@dataclass(frozen=True)
class _JsonPiece:
    """Whole lines of JSON, an object each."""

    data: bytes
    name: str
    first_line: int
    plan: RowPlan
    known: set[str]  # columns that earlier rows have

    def read(self, first_row: int) -> RowBatch:
        """Parse the lines."""
        rows: list[dict[str, Any]] = []
        faults: dict[int, str] = {}
        for number, line in enumerate(self.data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), self.first_line + 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                fault = "" if isinstance(row, dict) else "the line is not an object"
            except (ValueError, RecursionError) as error:
                row, fault = {}, f"the line is not JSON ({error})"
            if fault and not self.plan.is_tolerant:
                raise DataError(f"{safe(self.name)} line {number:,}: {fault.removeprefix('the line ')}.")
            if fault:
                faults[len(rows)] = fault
            rows.append({} if fault else row)
        names = list(dict.fromkeys(key for row in rows for key in row))
        self.known.update(names)
        columns = {
            name: values_column(name, [row.get(name) for row in rows], self.plan.markers)
            for name in self.plan.kinds
            if name in self.known
        }
        return RowBatch(Table(self.name, columns, len(rows), first_row=first_row), self._kept(rows, names), faults)

    def _kept(self, rows: list[dict[str, Any]], names: list[str]) -> pl.DataFrame | None:
        if self.plan.kept == ():
            return None
        kept = names if self.plan.kept is None else self.plan.kept
        _check_columns(self.name, [*names, *self.known], self.plan)
        table = read_dicts([{name: row.get(name) for name in kept} for row in rows], self.name)
        return to_polars({name: table[name] for name in kept})


def values_column(name: str, cells: list[Any], markers: Sequence[str]) -> Column:
    """Read JSON values; where text and numbers are mixed, all as text, of which misfits can be told."""
    try:
        column = read_objects(cells, name)
    except DataError:
        column = text_column(name, [None if cell is None or cell != cell else _text_of(cell) for cell in cells])
    return mask_markers(column, markers)


def _text_of(cell: Any) -> str:
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)


# -- standard input ---------------------------------------------------------------------------------------------------


class _Chained:
    """A stream whose beginning has been read."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head, self._stream = head, stream

    def read(self, n: int = -1) -> bytes:
        """Return up to n bytes."""
        if n < 0:
            n = sys.maxsize
        part, self._head = self._head[:n], self._head[n:]
        more: bytes = self._stream.read(n - len(part) if n < sys.maxsize else -1) if len(part) < n else b""
        return part + more


def _open_standard_input(plan: RowPlan) -> RowSource:
    """Read standard input in pieces: text or JSON lines, gzipped or not; Parquet, and one JSON value, as a whole."""
    if sys.stdin is None:
        raise DataError("standard input is closed; a table was expected.")
    name, stream = "standard input", sys.stdin.buffer
    try:
        head = stream.read(_CSV_BYTES)
        chained: Any = _Chained(head, stream)
        if head.startswith(_GZIP):
            unpacked = gzip.GzipFile(fileobj=chained)
            head = unpacked.read(_CSV_BYTES)
            chained = _Chained(head, unpacked)
    except (OSError, EOFError) as error:
        raise DataError(f"standard input cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if not head.strip():
        raise DataError("standard input is empty; a table was expected.")
    if head.lstrip()[:1] in (b"{", b"["):
        if _begins_with_object_line(head):
            return RowSource(name, _line_pieces(chained, name, plan, lambda: 0.0))
        content = head + chained._stream.read()
        return _single(read_json_rows(content, name, plan.markers), plan)
    if head.startswith(MAGIC):
        return _single(read_bytes(head + chained._stream.read(), name, plan.markers, plan.csv_format), plan)
    if not plan.is_tolerant:
        check_text(head[: head.rfind(b"\n") + 1 or len(head)], name)
    header = csv_header(head, name, plan.csv_format)
    _check_columns(name, header.names, plan)
    return RowSource(name, _text_pieces(chained, name, header, plan, lambda: 0.0), header.notes)
