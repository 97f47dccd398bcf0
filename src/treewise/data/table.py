"""The ``Table`` of named columns, and ``read``, which makes one from a file, a dataframe or Python objects.

All data enters here; ``csv_file.py`` reads delimited text, ``frames.py`` tables in memory, and no module outside
``data`` imports a dataframe library. Columns are converted on first access, so ignored ones cost nothing.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.caller import warn_caller
from treewise._lib.text import format_exact, plural
from treewise.data.batches import OnProgress, files_to_batch, name_of, parse_memory, read_files
from treewise.data.column import Column, LazyColumns, truncate
from treewise.data.csv_file import CsvFormat, read_csv
from treewise.data.frames import is_dask_frame, read_dicts, read_frame, read_memory
from treewise.data.parquet_file import ENCRYPTED_MAGIC, MAGIC, read_parquet
from treewise.data.parse_cells import mask_markers
from treewise.data.relation import is_database_table, is_relation, open_table
from treewise.data.sparse import is_sparse
from treewise.errors import ColumnError, DataError, Param, ParameterError, brief, did_you_mean, join_few

if TYPE_CHECKING:
    import polars as pl

    from treewise.data.column_store import ColumnStore

__all__ = ["Column", "KindSpec", "Table", "read", "read_rows"]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_LONGEST_PATH = 200  # characters of a path in a message: it may be the whole content of a file, given by mistake
JSON_ENDINGS = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
_LONGEST_LIST = 400  # characters of a list of twenty names; else five are named

KindSpec = str | Sequence[str] | Set[str]  # name of a kind | ordered levels | set of levels


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of equal length, with what is known about them.

    >>> table = read({"age": [31, 54], "town": ["Rome", "Bari"]})
    >>> table
    <Table the table · 2 rows · 2 columns: age, town>
    >>> table["age"].values, len(table), list(table.drop(["age"]).columns)
    (array([31, 54]), 2, ['town'])
    >>> table["agee"]
    Traceback (most recent call last):
    treewise.errors.ColumnError: no column "agee" in the table. Did you mean "age"? Columns: age, town.
    """

    name: str  # in messages: "admissions.csv", "admissions", "the table"
    columns: Mapping[str, Column]
    n_rows: int
    kinds: Mapping[str, KindSpec] = field(default_factory=dict)  # declared by built-in tables
    target: str | None = None  # default target of a built-in table
    notes: tuple[str, ...] = ()
    title: str = ""  # one-line description of a built-in table
    na_values: tuple[str, ...] = ()  # markers read as missing; a model grown on the table remembers them
    store: ColumnStore | None = field(default=None, repr=False)  # of a table that was read in batches
    first_row: int = 0  # of a batch: how many rows of its file are before it, in messages

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, name: str | int) -> Column:
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
            name = str(name)  # as pandas numbers columns
        if not isinstance(name, str) or name not in self.columns:
            quoted = f'"{truncate(name)}"' if isinstance(name, str) else brief(name)
            hint = self._hint_index(name) or did_you_mean(name, self.columns)
            names = [truncate(n) for n in self.columns]
            listing = join_few(names, limit=20 if len("".join(names[:20])) < _LONGEST_LIST else 5)
            message = f"no column {quoted} in {self.name}.{hint} Columns: {listing}."
            raise ColumnError(message, hint=self.hint_separator())
        return self.columns[name]

    def hint_separator(self) -> str:
        """Return which separator to name, if the only column looks like a whole line of a file.

        >>> read({"age;income": ["31;40000"]}).hint_separator()
        'If this is a line of several fields: separator=";".'
        """
        line = next(iter(self.columns), "") if len(self.columns) == 1 else ""
        mark = max(";,\t|", key=line.count)
        if not line.count(mark):
            return ""
        return "If this is a line of several fields: " + Param("separator", "tab" if mark == "\t" else mark) + "."

    def _hint_index(self, name: object) -> str:
        """Return which column has an index, counted from 0, if columns without names are numbered from 1."""
        if not isinstance(name, str) or not name.isdecimal() or next(iter(self.columns)) != "x1":
            return ""
        column = f"x{int(name[:9]) + 1}"
        hint = f': the one with index {name} is "{column}"' if column in self.columns else ""
        return f" Columns without names are x1, x2, …{hint}."

    def __repr__(self) -> str:
        names = join_few([truncate(n) for n in self.columns])
        size = f"{plural(self.n_rows, 'row')} · {plural(len(self.columns), 'column')}"
        return f"<Table {self.name} · {size}: {names}>"

    def take(self, rows: npt.NDArray[Any]) -> Table:
        """Return the given rows (indexes from 0, or a mask), in this order.

        >>> read({"age": [31, 54, 40]}).take(np.array([2, 0]))["age"].values
        array([40, 31])
        """
        rows = np.flatnonzero(rows) if rows.dtype.kind == "b" else rows
        makers = {name: partial(_take, self.columns, name, rows) for name in self.columns}
        return replace(self, columns=LazyColumns(makers, len(rows)), n_rows=len(rows))

    def head(self, n: int = 5) -> Table:
        """Return the first n rows.

        >>> read({"age": [31, 54, 40]}).head(2)["age"].values
        array([31, 54])
        """
        return self.take(np.arange(min(n, self.n_rows)))

    def drop(self, names: Iterable[str]) -> Table:
        """Return the table without these columns.

        >>> read({"age": [31], "town": ["Rome"]}).drop(["age"])
        <Table the table · 1 row · 1 column: town>
        """
        dropped = {str(name) for name in names}
        for name in dropped - set(self.columns):
            self[name]  # raises
        return self._with(
            {name: partial(self.columns.__getitem__, name) for name in self.columns if name not in dropped}
        )

    def _with(self, makers: Mapping[str, partial[Column]]) -> Table:
        return replace(self, columns=LazyColumns(makers, self.n_rows))

    def convert(self, names: Iterable[str]) -> None:
        """Convert listed columns in parallel before they are accessed one by one.

        >>> table = read({"age": [31], "town": ["Rome"]})
        >>> table.convert(["town"])
        >>> table["town"].labels
        ('Rome',)
        """
        if isinstance(self.columns, LazyColumns):
            self.columns.convert(names)

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a polars dataframe.

        >>> read({"age": [31, None]}).to_polars().rows()
        [(31,), (None,)]
        """
        from treewise.data.frames import to_polars

        return to_polars(self.columns)

    def to_pandas(self) -> Any:
        """Return the table as a pandas dataframe (pandas must be installed).

        >>> read({"age": [31, 54]}).to_pandas().shape
        (2, 1)
        """
        from treewise.data.frames import to_pandas

        return to_pandas(self.columns)


def _take(columns: Mapping[str, Column], name: str, rows: npt.NDArray[Any]) -> Column:
    return columns[name].take(rows)


def _masked(columns: Mapping[str, Column], name: str, markers: Sequence[str]) -> Column:
    return mask_markers(columns[name], markers)


def read(
    data: Any,
    *,
    na_values: str | Iterable[str | float] = (),
    name: str | None = None,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    decimal: str = ".",
    header: bool = True,
    names: Sequence[str] | None = None,
    memory: int | str | None = None,
    on_progress: OnProgress | None = None,
) -> Table:
    """Read a table from a file, many files, a dataframe or Python objects.

    ``data`` is a dataframe (pandas, polars, Arrow, DuckDB, …), a dict of columns, a list of dicts or lists, a
    NumPy array or sparse matrix (columns are named x1, x2, …), the path of a CSV, TSV, Parquet or JSON file (one object
    per line, or a list of them; all may be gzipped), ``"-"`` for CSV on standard input, the address of a table in a
    database (``"duckdb:///file.db#table"``), or the name of a built-in table. Several files of one format are one
    table: a list of paths, a pattern such as ``"big/*.parquet"``, or a folder, in which subfolders such as
    ``year=2024`` are a column.

    Cells equal to one of ``na_values`` are missing. ``columns`` names the columns of data without names, and selects
    columns of data with names. ``name`` is used in messages. For delimited text, ``separator`` is inferred from the
    first line unless given, ``decimal`` is "," where numbers are written 3,7, and without a ``header`` the columns are
    named x1, x2, …, or as listed in ``names``.

    Files that do not fit into ``memory`` ("2GB", or a number of bytes; by default half of what is free) are read in
    batches, and their columns are kept in temporary files; ``on_progress`` receives the share that has been read.

    >>> read([{"x": 1, "y": "a"}, {"x": -9}], na_values=["-9"])["x"].is_missing().tolist()
    [False, True]
    """
    markers = parse_na_values(na_values)
    csv_format = CsvFormat(separator, decimal, header, None if names is None else tuple(map(str, names)))
    if (files := files_to_batch(data, parse_memory(memory))) is not None:
        lazy, notes, store = read_files(files, markers, csv_format, parse_memory(memory), on_progress)
        label = truncate(data if isinstance(data, str) else name_of(files), _LONGEST_PATH)
        table = Table(label, lazy, lazy.n_rows, notes=notes, na_values=tuple(markers), store=store)
    elif is_database_table(data):
        lazy_columns = read_frame(open_table(data), truncate(data, _LONGEST_PATH))
        table = Table(truncate(data.rpartition("#")[2]), lazy_columns, lazy_columns.n_rows)
    elif isinstance(data, (str, os.PathLike)):
        table = _read_path(data, markers, csv_format)
    elif isinstance(data, Table):
        table = data
    else:
        unnamed = columns if isinstance(data, (list, tuple, np.ndarray)) or is_sparse(data) else None
        lazy_columns = read_memory(data, name or "the table", unnamed)
        table = Table("the table", lazy_columns, lazy_columns.n_rows)
    if name is not None:
        table = replace(table, name=name)
    if columns is not None:
        columns = [str(column) for column in columns]
        for column in columns:
            if column not in table.columns:
                table[column]  # raises
        table = table._with({column: partial(table.columns.__getitem__, column) for column in columns})
    if markers:
        table = table._with({n: partial(_masked, table.columns, n, markers) for n in table.columns})
        table = replace(table, na_values=tuple(dict.fromkeys((*table.na_values, *markers))))
    return table


def read_for_model(data: Any, na_values: Sequence[str]) -> Table:
    """Read a table for a model that exists; warn if its rows are fetched from elsewhere."""
    if is_dask_frame(data):
        rows, advice = "a Dask dataframe", "model.predict(frame) predicts on the workers"
    elif is_database_table(data) or is_relation(data):
        rows, advice = "a database table", 'model.export("sql") predicts in the database'
    else:
        return read(data, na_values=na_values)
    warn_caller(
        f"the rows of {rows} are fetched into memory. {advice}; treewise.read(table) fetches without this warning."
    )
    return read(data, na_values=na_values)


def read_rows(rows: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, name: str = "the row") -> Table:
    """Read one or listed rows given as dicts of plain values.

    >>> read_rows({"GPA": 3.7, "Published": "no"})
    <Table the row · 1 row · 2 columns: GPA, Published>
    """
    row_list = [rows] if isinstance(rows, Mapping) else list(rows)
    if not row_list or not all(isinstance(row, Mapping) for row in row_list):
        raise DataError(f"{name}: a row must be a dict of column → value, such as {{'age': 31}}.")
    lazy_columns = read_dicts(row_list, name)
    return Table(name, lazy_columns, lazy_columns.n_rows)


def parse_na_values(na_values: str | Iterable[str | float]) -> tuple[str, ...]:
    """Return ``na_values`` as a tuple of stripped text; raise if it is not a list of text and numbers."""
    values = [na_values] if isinstance(na_values, (str, int, float)) else na_values
    if isinstance(values, (bytes, Mapping)) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise ParameterError(
            "must be a list of markers, such as " + Param("na_values", ["?"]) + ".",
            parameter="na_values",
            value=na_values,
        )
    markers = list(values)
    for value in markers:
        if not isinstance(value, (str, int, float)):
            raise ParameterError(
                Param("na_values")
                + f" holds {brief(value)}: markers are text or numbers, such as "
                + Param("na_values", ["?"])
                + "."
            )
    return tuple(value.strip() if isinstance(value, str) else format_exact(value) for value in markers)


# -- files ---------------------------------------------------------------------------------------------------


def _read_path(path: str | os.PathLike[str], markers: Sequence[str], csv_format: CsvFormat | None = None) -> Table:
    """Read a file, standard input or a built-in table."""
    if path == "-":
        return read_bytes(sys.stdin.buffer.read(), "standard input", markers, csv_format)
    from treewise.datasets import NAMES

    try:
        file = Path(path).expanduser()
        if isinstance(path, str) and path in NAMES and not file.exists():
            return NAMES[path]()
        data = file.read_bytes()
    except FileNotFoundError:
        if isinstance(path, str) and _ADDRESS.match(path):
            raise DataError(
                f"{truncate(path, _LONGEST_PATH)} is an address, and addresses are not fetched.",
                hint="Download the file first, and give its name; a table of a database has its name at the end:"
                " duckdb:///file.db#table.",
            ) from None
        raise _not_found_error(file, list(NAMES) if isinstance(path, str) else []) from None
    except IsADirectoryError:
        raise DataError(f"{truncate(file, _LONGEST_PATH)} is a folder. Give one CSV or Parquet file.") from None
    except (OSError, ValueError, RuntimeError) as error:  # no permission; NUL in the name; unknown user in ~user
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise DataError(
            f"{truncate(path, _LONGEST_PATH)} cannot be read: {truncate(reason, _LONGEST_PATH)}. Check the path."
        ) from None
    name = truncate(file.name, _LONGEST_PATH)
    if file.name.lower().endswith(JSON_ENDINGS):
        return read_json_rows(data, name, markers)
    return read_bytes(data, name, markers, csv_format)


def _not_found_error(file: Path, built_in: list[str]) -> DataError:
    """Return the error for a missing file, with a suggestion if there is a similar name."""
    neighbours = sorted(p.name for p in file.parent.iterdir()) if file.parent.is_dir() else []
    similar = [
        name for name in neighbours if did_you_mean(file.stem, [Path(name).stem])
    ]  # without the extensions, which are always similar
    hint = did_you_mean(file.name, similar + built_in)
    alternatives = f" or built-in table ({', '.join(built_in)})" if built_in and file.parent == Path() else ""
    return DataError(f'no file "{truncate(file, _LONGEST_PATH)}"{alternatives}.{hint}')


def unpack(data: bytes, name: str) -> bytes:
    """Return the content of a file, which may be gzipped."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name} is damaged: it cannot be unpacked ({error}).") from None


def read_json_rows(content: bytes, name: str, na_values: Sequence[str]) -> Table:
    """Read rows written as JSON: one object, a list of them, or one per line."""
    rows: list[Any]
    try:
        text = unpack(content, name).decode("utf-8-sig")
        try:
            value = json.loads(text)
            rows = value if isinstance(value, list) else [value]
        except json.JSONDecodeError:
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise DataError(f"{truncate(name)} is neither JSON nor JSON lines: {error}.") from None
    if any(isinstance(row, dict) and {"format", "nodes"} <= row.keys() for row in rows):
        raise DataError(f"{truncate(name)} is a model, not a table. MODEL comes first, then DATA.")
    return read(read_rows(rows, name=name), na_values=na_values, name=name)


def read_bytes(data: bytes, name: str, markers: Sequence[str], csv_format: CsvFormat | None = None) -> Table:
    """Read the content of a file: Parquet and gzip are detected by their magic bytes, all else is delimited text."""
    data = unpack(data, name)
    if data.startswith((MAGIC, ENCRYPTED_MAGIC)):
        lazy_columns = read_frame(read_parquet(data, name), name)
        return Table(name, lazy_columns, lazy_columns.n_rows)
    csv_format = csv_format or CsvFormat()
    if csv_format.separator is None and name.removesuffix(".gz").endswith((".tsv", ".tab")):
        csv_format = replace(csv_format, separator="\t")
    lazy_columns, notes = read_csv(data, name, markers, csv_format)
    return Table(name, lazy_columns, lazy_columns.n_rows, notes=notes, na_values=tuple(markers))
