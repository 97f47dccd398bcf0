"""Read files batch by batch into a column store: many files as one table, and tables larger than memory.

``find_files`` resolves patterns, folders and lists of paths; ``read_files`` reads them. Rows keep the order of the
files (by name) and of the lines, and the columns are those that reading everything at once would give: types are
decided by all files, so CSV is read twice, first for the types, then for the values.
"""

from __future__ import annotations

import glob
import mmap
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.available_memory import available_memory
from treewise._lib.interruptible import polars_before_fork, polars_is_safe
from treewise._lib.text import plural, safe
from treewise._version import __version__
from treewise.data import csv_chunks
from treewise.data.column import Column, LazyColumns, text_column, truncate
from treewise.data.column_store import ColumnPlan, ColumnStore, bytes_needed
from treewise.data.csv_cells import split_cells
from treewise.data.csv_chunks import line_chunks, read_head
from treewise.data.csv_file import (
    CsvFormat,
    CsvHeader,
    NumberFacts,
    check_binary,
    check_text,
    column_of_numbers,
    csv_header,
    mask_cells,
    read_numbers,
    refine_text,
)
from treewise.data.frames import read_frame
from treewise.data.objects import check_names, text_from_polars
from treewise.data.parquet_file import MAGIC, check_parquet, collect
from treewise.data.store_folder import StoreFolder
from treewise.errors import DataError, Param, ParameterError, did_you_mean, join_few

if TYPE_CHECKING:
    import polars as pl

_CELLS = 1 << 23  # cells per batch of a Parquet file
_MOST_ENTRIES = 100_000  # in a folder and its subfolders; "/" is no table
_EXPANSION = 8  # reading a file at once may take this many times its size
_ENDINGS = (".parquet", ".csv", ".tsv", ".tab", ".csv.gz", ".tsv.gz")
ROW_ENDINGS = (*_ENDINGS, ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")  # of rows to predict
_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

OnProgress = Callable[[float], None]  # receives the share of the bytes that have been read


@dataclass(frozen=True)
class DataFile:
    """One of the files of a table, with the values that its folders give to partition columns."""

    path: Path
    partition: tuple[tuple[str, str], ...] = ()  # Hive style: year=2024/part.parquet

    @property
    def name(self) -> str:
        """The name in messages."""
        return truncate(self.path.name, 200)

    @property
    def fingerprint(self) -> str:
        """Path, size and time of the last change."""
        stat = self.path.stat()
        return f"{self.path.resolve()} {stat.st_size} {stat.st_mtime_ns}"


# -- which files ------------------------------------------------------------------------------------------------------


def find_files(data: Any, endings: Sequence[str] = _ENDINGS) -> list[DataFile] | None:
    """Return the files of a pattern, a folder or a list of paths, in order; None if ``data`` is none of these."""
    if isinstance(data, (list, tuple)):
        if not data or not all(isinstance(path, (str, os.PathLike)) for path in data):
            return None
        missing = [path for path in data if not os.path.isfile(Path(path).expanduser())]
        if missing:
            raise DataError(f"no file {safe(str(missing[0]))!r} among the {plural(len(data), 'path')} given.")
        return [DataFile(Path(path).expanduser()) for path in data]
    if not isinstance(data, (str, os.PathLike)) or data == "-":
        return None
    path = _expand(data)
    if os.path.isdir(path):  # False for what cannot be a path
        root, entries = path, _entries_below(path)
    elif isinstance(data, str) and glob.has_magic(data) and not os.path.exists(path):
        root, entries = _matches(path)
    else:
        return None
    tables = (p for p in sorted(entries) if p.is_file() and p.name.lower().endswith(tuple(endings)))
    files = [p for p in tables if not _is_hidden(p, root)]
    if not files:
        what = "the folder has" if path.is_dir() else f"{len(entries)} files match, but"
        raise DataError(f"{truncate(data, 200)}: {what} no {_formats_of(endings)} file." if entries or path.is_dir()
                        else f"no file matches {truncate(data, 200)}.")  # fmt: skip
    return [DataFile(p, _partition_of(p, root)) for p in files]


def _formats_of(endings: Sequence[str]) -> str:
    return "CSV, TSV or Parquet" if endings == _ENDINGS else "CSV, TSV, Parquet or JSON lines"


def _entries_below(folder: Path) -> list[Path]:
    """Return what is in a folder and its subfolders; links to folders are not followed, as they may lead in circles."""
    entries: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        entries += [Path(parent, name) for name in names]
        if len(entries) + len(folders) > _MOST_ENTRIES:
            raise DataError(
                f"{truncate(folder, 200)} and its subfolders hold more than {_MOST_ENTRIES:,} files.",
                hint="Name the folder of one table, or give a pattern.",
            )
    return entries


def _matches(pattern: Path) -> tuple[Path, list[Path]]:
    """Return the folder in which a pattern is searched, the last one without wildcards, and what matches in it."""
    parts = pattern.parts
    n_plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    root = Path(*parts[:n_plain])
    try:
        return root, list(root.glob(str(Path(*parts[n_plain:]))))
    except ValueError as error:
        raise DataError(f"the pattern {safe(str(pattern))!r} cannot be searched: {error}") from None


def _expand(path: str | os.PathLike[str]) -> Path:
    """Return a path with the home folder of ~; unchanged for a user that does not exist."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def files_to_batch(data: Any, memory: int | None) -> list[DataFile] | None:
    """Return the files that are read in batches: several, or one that may not fit into memory; else None."""
    files = find_files(data)
    if files is not None or not isinstance(data, (str, os.PathLike)) or data == "-":
        return files
    path = _expand(data)
    if not os.path.isfile(path) or not path.name.lower().endswith(_ENDINGS):
        return None
    too_large = path.stat().st_size * _EXPANSION > available_memory()
    return [DataFile(path)] if memory is not None or too_large else None


def _is_hidden(path: Path, root: Path) -> bool:
    """Tell whether a file or one of its folders is hidden, as the marks and temporary files of other programs are."""
    return any(part.startswith((".", "_")) for part in path.relative_to(root).parts)


def _partition_of(path: Path, root: Path) -> tuple[tuple[str, str], ...]:
    from urllib.parse import unquote

    pairs = (part.split("=", 1) for part in path.relative_to(root).parts[:-1] if "=" in part)
    return tuple((unquote(name), unquote(value)) for name, value in pairs)


# -- reading ----------------------------------------------------------------------------------------------------------


def read_files(
    files: Sequence[DataFile],
    markers: Sequence[str],
    csv_format: CsvFormat,
    memory: int | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[LazyColumns, tuple[str, ...], ColumnStore]:
    """Read files as one table; return its columns, notes, and the store that holds them.

    The columns stay in memory if they and what growing needs fit into ``memory`` bytes (by default half of what is
    free), and are written to temporary files otherwise.
    """
    names = [name for name, _ in files[0].partition]
    for file in files:
        if [name for name, _ in file.partition] != names:
            raise DataError(f"{file.name} has other partition folders than {files[0].name} ({', '.join(names)}).")
    is_parquet = [starts_with(file.path, MAGIC) for file in files]
    if any(is_parquet) != all(is_parquet):
        other = files[is_parquet.index(not is_parquet[0])]
        raise DataError(f"{files[0].name} and {other.name} have different formats. Read them one after the other.")
    check_polars(files)
    fingerprints = [file.fingerprint for file in files]
    try:
        reader: _BatchReader = (
            _ParquetReader(files) if is_parquet[0] else _CsvReader(files, markers, csv_format, on_progress)
        )
        specs = [*reader.specs, *(ColumnPlan(name, "text") for name in names)]
        check_names([spec.name for spec in specs], "the files")
        if not reader.n_rows:
            raise DataError(f"{name_of(files)} has no rows. Give at least one row.")
        folder = _folder_if_needed(specs, reader, memory, [__version__, f"{markers} {csv_format}", *fingerprints])
        store = _fill_store(specs, reader, folder, on_progress)
    except Exception:
        _check_unchanged(files, fingerprints)  # a change may be the cause of the error
        raise
    try:
        _check_unchanged(files, fingerprints)
    except DataError:
        store.remove()
        raise
    return store.columns(), tuple(reader.notes), store


def check_polars(files: Sequence[DataFile]) -> None:
    """Raise where polars would hang or abort."""
    if polars_before_fork:
        raise DataError(
            f"{name_of(files)}: several files, and large ones, are read by polars, which does not survive a fork. Read"
            ' them before the processes part, or start them by multiprocessing.get_context("spawn").'
        )
    if not polars_is_safe(min(csv_chunks.CHUNK, sum(file.path.stat().st_size for file in files))):
        raise MemoryError(f"not enough memory to read {name_of(files)}: give the process 1 GB more.")


def _check_unchanged(files: Sequence[DataFile], fingerprints: Sequence[str]) -> None:
    """Raise if a file is not the one that the reading began with."""
    for file, before in zip(files, fingerprints, strict=True):
        try:
            is_same = file.fingerprint == before
        except OSError:
            is_same = False
        if not is_same:
            raise DataError(
                f"{file.name} changed while it was read.", hint="Read it again when no program is writing to it."
            ) from None


def _fill_store(
    specs: Sequence[ColumnPlan], reader: _BatchReader, folder: StoreFolder | None, on_progress: OnProgress | None
) -> ColumnStore:
    """Write all batches; after an error nothing is left behind."""
    try:
        store = ColumnStore(specs, reader.n_rows, folder)
        for file, columns, n, share in reader.batches(store.n_written):
            constant = [text_column(name, [value]) for name, value in file.partition]
            repeated = [replace(c, values=np.broadcast_to(c.values, n)) for c in constant]
            store.write([*columns, *repeated], n)
            if on_progress is not None:
                on_progress(share)
        return store
    except BaseException:
        if folder is not None:
            folder.remove()
        raise


def _folder_if_needed(
    specs: Sequence[ColumnPlan], reader: _BatchReader, memory: int | None, key: Sequence[str]
) -> StoreFolder | None:
    """Return a folder for the columns if they do not fit into memory; ``key`` tells one reading from another."""
    columns, growing = bytes_needed(specs, reader.n_rows)
    allowed = available_memory() // 2 if memory is None else memory
    if columns + growing <= allowed:
        return None
    if growing > allowed:
        raise ParameterError(
            f"{plural(reader.n_rows, 'row')} of {plural(len(specs), 'column')} need at least"
            f" {-(-growing // 10**6):,} MB while a tree grows, in addition to the columns, which are in files.",
            parameter="memory",
            value=f"{allowed / 10**6:,.0f}MB",
            hint="Give more, or fewer columns.",
        )
    return StoreFolder("\n".join(key))


def name_of(files: Sequence[DataFile]) -> str:
    """Return what the files are called in messages."""
    return files[0].name if len(files) == 1 else f"{files[0].name} and {plural(len(files) - 1, 'more file')}"


def starts_with(path: Path, magic: bytes) -> bool:
    """Tell whether a file starts with some bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError as error:
        raise DataError(f"{truncate(path, 200)} cannot be read: {error.strerror}. Check the path.") from None


def parse_memory(memory: int | str | None) -> int | None:
    """Return an amount of memory in bytes.

    >>> parse_memory("2GB"), parse_memory("1.5 G"), parse_memory(10**9)
    (2000000000, 1500000000, 1000000000)
    """
    if memory is None:
        return None
    number: float = memory if not isinstance(memory, str) else 0
    if isinstance(memory, str):
        text = memory.strip().upper().removesuffix("B").removesuffix("I").rstrip()
        unit = _UNITS.get(text[-1:], 1)
        try:
            number = float(text.rstrip("KMGT")) * unit
        except ValueError:
            number = 0
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < 2**63:
        raise ParameterError('must be an amount such as "2GB", or a number of bytes.', parameter="memory", value=memory)
    return int(number)


class _BatchReader:
    """Base class of the formats: the columns, the number of rows, notes, and the batches from a row on."""

    specs: list[ColumnPlan]
    n_rows: int
    notes: list[str]

    def batches(self, start: int) -> Iterator[tuple[DataFile, list[Column | None], int, float]]:
        """Yield (file, columns, rows, share of the work done) from row ``start`` on, always in the same cuts."""
        raise NotImplementedError


# -- Parquet ----------------------------------------------------------------------------------------------------------


class _ParquetReader(_BatchReader):
    """Batches are row groups; the types are in the files."""

    def __init__(self, files: Sequence[DataFile]) -> None:
        self._files, self.notes = files, []
        self._groups: list[tuple[DataFile, int, int]] = []  # file, first row, rows
        merged: dict[str, ColumnPlan] = {}
        for file in files:
            groups = row_groups(file)
            specs = _parquet_specs(file)
            if merged and set(merged) != set(specs):
                raise _other_columns(file, files[0], set(specs), set(merged))
            merged = {n: _merge_types(merged[n], specs[n], file, files[0]) for n in merged} or specs
            step, first = max(1, _CELLS // max(1, len(specs))), 0
            for n_rows in groups:
                self._groups += [(file, first + i, min(step, n_rows - i)) for i in range(0, n_rows, step)]
                first += n_rows
        self.specs = list(merged.values())
        self.n_rows = sum(n for _, _, n in self._groups)

    def batches(self, start: int) -> Iterator[tuple[DataFile, list[Column | None], int, float]]:
        """Yield row groups."""
        import polars as pl

        done = 0
        for file, first, n in self._groups:
            done += n
            if done <= start:
                continue
            scan = pl.scan_parquet(file.path, glob=False, hive_partitioning=False).slice(first, n)
            columns = read_frame(collect(scan.collect, file.name, n), file.name)
            usable = [None if s.error or s.form == "missing" else columns[s.name] for s in self.specs]
            yield file, usable, n, done / self.n_rows


def row_groups(file: DataFile) -> list[int]:
    """Check a file, and return the rows of its row groups."""
    with file.path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return check_parquet(data, file.name)


def _parquet_specs(file: DataFile) -> dict[str, ColumnPlan]:
    import narwhals.stable.v2 as nw
    import polars as pl

    scan = pl.scan_parquet(file.path, glob=False, hive_partitioning=False).head(0)
    frame = collect(scan.collect, file.name, 0)
    schema = nw.from_native(frame).schema
    return {name: _spec_of(name, dtype, frame.schema[name]) for name, dtype in schema.items()}


def _spec_of(name: str, dtype: Any, native: Any) -> ColumnPlan:
    """Return what a column of a dtype holds."""
    import narwhals.stable.v2 as nw
    import polars as pl

    if native == pl.Null:
        return ColumnPlan(name, "missing")
    if dtype in (nw.Categorical, nw.Enum):
        labels = tuple(native.categories.to_list()) if isinstance(native, pl.Enum) else ()
        return ColumnPlan(name, "category", labels=labels)
    if dtype == nw.String:
        return ColumnPlan(name, "text")
    if dtype.is_float():
        return ColumnPlan(name, "float", "float64" if dtype == nw.Float64 else "float32")
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        return ColumnPlan(name, "int", str(dtype).lower())
    if dtype == nw.Boolean:
        return ColumnPlan(name, "bool")
    if dtype in (nw.Date, nw.Datetime):
        return ColumnPlan(name, "datetime", unit=getattr(dtype, "time_unit", "D"))
    error = DataError(
        f'column "{truncate(name)}" has the type {native}, which cannot be read in batches.',
        hint="Write it as a number or text, or leave it out: " + Param("ignore", [truncate(name)]) + ".",
        column=name,
    )
    return ColumnPlan(name, "missing", error=error)


def _merge_types(a: ColumnPlan, b: ColumnPlan, file: DataFile, first: DataFile) -> ColumnPlan:
    """Return what a column holds if one file has type ``a`` and another type ``b``."""
    if a == b or b.form == "missing" or a.error:
        return a
    if a.form == "missing" or b.error:
        return b
    if a.form == b.form == "datetime":
        units = ("D", "s", "ms", "us", "ns")
        return replace(a, unit=max(a.unit, b.unit, key=units.index))
    if {a.form, b.form} <= {"int", "float"}:
        dtype = np.promote_types(a.dtype, b.dtype)
        if a.form == b.form == "int" and dtype.kind != "f":
            return replace(a, dtype=str(dtype))
        return replace(a, form="float", dtype="float32" if a.form == b.form and dtype == np.float32 else "float64")
    if {a.form, b.form} == {"text", "category"} and not (a.labels or b.labels):
        return replace(a, form="text")
    raise DataError(
        f'column "{truncate(a.name)}" is {_describe(a)} in {first.name}, but {_describe(b)} in {file.name}.',
        hint="Write it with one type in all files, or leave one of them out.",
        column=a.name,
    )


def _describe(spec: ColumnPlan) -> str:
    names = {"bool": "true/false", "datetime": "dates", "category": "categories", "int": "whole numbers"}
    return names.get(spec.form, "numbers" if spec.form == "float" else spec.form)


def _other_columns(file: DataFile, first: DataFile, names: set[str], expected: set[str]) -> DataError:
    lacking, extra = sorted(expected - names), sorted(names - expected)
    parts = [f"lacks {join_few([safe(n) for n in lacking], limit=4)}"] * bool(lacking)
    parts += [f"has {join_few([safe(n) for n in extra], limit=4)} besides"] * bool(extra)
    hint = did_you_mean(extra[0], lacking) if extra and lacking else ""
    return DataError(f"{file.name} has other columns than {first.name}: it {' and '.join(parts)}.{hint}")


# -- CSV --------------------------------------------------------------------------------------------------------------


class _CsvReader(_BatchReader):
    """Batches are chunks of whole lines; the first pass decides which columns hold numbers."""

    def __init__(
        self,
        files: Sequence[DataFile],
        markers: Sequence[str],
        csv_format: CsvFormat,
        on_progress: OnProgress | None,
    ) -> None:
        if csv_format.decimal != ".":
            raise ParameterError(
                "is only for a single file that fits in memory.", parameter="decimal", value=csv_format.decimal
            )
        self._files, self._markers, self._format = files, tuple(markers), csv_format
        self._headers = [header_of(file, csv_format) for file in files]
        self.notes = list(dict.fromkeys(note for header in self._headers for note in header.notes))
        names = self._headers[0].names
        for file, header in zip(files, self._headers, strict=True):
            if set(header.names) != set(names):
                raise _other_columns(file, files[0], set(header.names), set(names))
        self._size = sum(file.path.stat().st_size for file in files)
        facts: dict[str, NumberFacts | None] = {}  # None: some cells are not numbers; absent: all are empty so far
        self.n_rows = n_blank = 0
        for _, columns, blank, share in self._chunks():
            for name, cells in columns.items():
                add_facts(facts, name, mask_cells(cells, self._markers)[0])
                n = len(cells)
            self.n_rows += n
            n_blank += blank
            if on_progress is not None:
                on_progress(share / 2)
        if n_blank:
            self.notes.append(f"{name_of(files)}: {plural(n_blank, 'blank line')} between rows left out")
        self.specs = [_csv_spec(name, facts) for name in names]

    def batches(self, start: int) -> Iterator[tuple[DataFile, list[Column | None], int, float]]:
        """Yield chunks of lines."""
        done = 0
        for file, columns, _, share in self._chunks():
            n = len(next(iter(columns.values())))
            done += n
            if done > start and n:
                yield file, [self._column(spec, columns[spec.name]) for spec in self.specs], n, 0.5 + share / 2

    def _column(self, spec: ColumnPlan, cells: pl.Series) -> Column | None:
        import polars as pl

        bare, masked = mask_cells(cells, self._markers)
        if bare.null_count() == len(bare):
            return None
        if spec.form == "text":
            return text_from_polars(spec.name, masked)
        return column_of_numbers(spec.name, bare.cast(pl.Int64 if spec.form == "int" else pl.Float64))

    def _chunks(self) -> Iterator[tuple[DataFile, dict[str, pl.Series], int, float]]:
        """Yield (file, text cells by column, blank lines left out, share of the bytes that are read)."""
        import polars as pl

        n_before = 0
        for file, header in zip(self._files, self._headers, strict=True):
            has_header, first_line = header.has_header, 0
            for chunk, position in line_chunks(file.path, file.name, header.separator):
                check_text(chunk, file.name, first_line)
                cells, n_blank = split_cells(chunk, header.separator, header.names, file.name, has_header, first_line)
                series = [pl.Series(c, dtype=pl.String) if isinstance(c, list) else c for c in cells]
                if len(series[0]):
                    yield (
                        file,
                        dict(zip(header.names, series, strict=True)),
                        n_blank,
                        (n_before + position) / self._size,
                    )
                has_header, first_line = False, first_line + chunk.count(b"\n")
            n_before += file.path.stat().st_size


def header_of(file: DataFile, form: CsvFormat, is_tolerant: bool = False) -> CsvHeader:
    """Read the first line of a file, in which the separator is a tab if the name says so."""
    is_tabs = form.separator is None and file.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    head = read_head(file.path, file.name)
    check_binary(head, file.name)
    if not is_tolerant:
        check_text(head[: head.rfind(b"\n") + 1 or len(head)], file.name)
    return csv_header(head, file.name, replace(form, separator="\t") if is_tabs else form)


def add_facts(facts: dict[str, NumberFacts | None], name: str, bare: pl.Series) -> None:
    """Update the facts about a column with those of a chunk; empty cells do not count."""
    if bare.null_count() == len(bare) or (name in facts and facts[name] is None):
        return
    read = read_numbers(bare)
    known = facts.get(name)
    facts[name] = None if read is None else read[0] if known is None else known.merge(read[0])


def _csv_spec(name: str, facts: Mapping[str, NumberFacts | None]) -> ColumnPlan:
    if name not in facts:
        return ColumnPlan(name, "missing")
    number_facts = facts[name]
    if number_facts is None or not number_facts.are_numbers:
        return ColumnPlan(name, "text", finish=_finish_text)
    return ColumnPlan(name, "int", "int64") if number_facts.are_integers else ColumnPlan(name, "float")


def _finish_text(column: Column) -> Column:
    return refine_text(column, int(np.count_nonzero(column.is_missing())))
