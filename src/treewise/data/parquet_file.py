"""Read Parquet files with polars, after checking the numbers by which polars allocates memory.

Where a damaged file states an impossible count or size, polars would abort the process. ``check_parquet`` therefore
reads the file's metadata and the header of every page first and raises if they contradict each other or the length of
the file. Other damage makes polars raise or panic; both become a ``DataError``.

The layout: the magic bytes, the pages of one column after another, then the metadata, its length and the magic bytes.
Metadata and page headers are Thrift structs in the compact protocol. Their fields have numbers, which are explained
where they are used.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewise._lib.interruptible import polars_before_fork, polars_is_safe, run_interruptible
from treewise.data.column import truncate
from treewise.errors import DataError

if TYPE_CHECKING:
    import polars as pl

MAGIC, ENCRYPTED_MAGIC = b"PAR1", b"PARE"
_MAX_DEPTH = 16  # of structs in structs; Parquet needs 6
_MAX_DIGITS = 38  # of a decimal that polars can read
Struct = dict[int, Any]
Bytes = bytes | mmap.mmap


def read_parquet(data: bytes, name: str) -> pl.DataFrame:
    """Read the content of a Parquet file; damage, encryption and unreadable columns raise ``DataError``."""
    check_parquet(data, name)
    if polars_before_fork:
        raise DataError(
            f"{name}: Parquet is read by polars, which does not survive a fork. Read the file before the processes"
            ' part, or start them by multiprocessing.get_context("spawn").'
        )
    if not polars_is_safe(len(data)):
        raise MemoryError(f"not enough memory to read {name}: {len(data):,} bytes of Parquet need far more unpacked.")
    import polars as pl

    return collect(lambda: pl.read_parquet(data), name, rows=len(data) // 8)


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns of a file, without reading their values."""
    import polars as pl

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        check_parquet(data, path.name)
    return list(pl.read_parquet_schema(path))


def collect(read: Callable[[], pl.DataFrame], name: str, rows: int) -> pl.DataFrame:
    """Read with polars; its exceptions and panics become a ``DataError``."""
    import polars as pl

    try:
        return run_interruptible(read, rows)
    except MemoryError:
        raise
    except BaseException as error:
        # A polars panic is not an Exception; other BaseExceptions, such as KeyboardInterrupt, are re-raised.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        if "supported" in reason:
            raise DataError(
                f"{name} cannot be read by polars {pl.__version__} ({truncate(reason, 200)}).",
                hint="Read it with pyarrow and pass the table, or update polars.",
            ) from None
        raise _damaged(name, truncate(reason, 200)) from None


def _damaged(name: str, reason: str) -> DataError:
    return DataError(f"{name} is damaged: it cannot be read as Parquet ({reason}).", hint="Write or copy it again.")


class _DamageError(Exception):
    """Metadata that contradict themselves or the length of the file."""


def check_parquet(data: Bytes, name: str) -> list[int]:
    """Raise ``DataError`` for impossible counts, sizes and offsets, wrong checksums, and what polars cannot read.

    Returns the number of rows of each row group.
    """
    if ENCRYPTED_MAGIC in (data[:4], data[-4:]):
        raise _encrypted(name, "")
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    if data[-4:] != MAGIC or end < 4:
        raise _damaged(name, "its end is missing")
    try:
        metadata, _ = read_struct(data, end, len(data) - 8)
        _check_metadata(data, metadata, end, name)
    except (_DamageError, UnicodeDecodeError) as error:
        raise _damaged(name, str(error)) from None
    except (KeyError, TypeError, AttributeError, IndexError):  # a field is absent, or of another type
        raise _damaged(name, "its metadata are incomplete") from None
    return [group[3] for group in metadata[4]]


def _encrypted(name: str, column: str) -> DataError:
    subject = f'column "{truncate(column)}" of {name}' if column else name
    return DataError(f"{subject} is encrypted.", hint="Decrypt it first, for example with pyarrow, and pass the table.")


def _check_metadata(data: Bytes, metadata: Struct, end: int, name: str) -> None:
    """Check the file's metadata (1: version, 2: schema, 3: rows, 4: row groups, 8: encryption)."""
    schema, n_rows, groups = metadata[2], metadata[3], metadata[4]
    for element in schema:
        if element.get(8, 0) > _MAX_DIGITS:  # 4: name, 5: children, 8: precision
            column = truncate(element[4].decode())
            raise DataError(
                f'column "{column}" of {name}: decimals of {element[8]} digits cannot be read, only of {_MAX_DIGITS}.',
                hint="Read the file with pyarrow and pass the table, or write the column with fewer digits.",
                column=element[4].decode(),
            )
    is_flat = {element[4]: element.get(5, 0) == 0 and element.get(3, 0) != 2 for element in schema[1:]}
    if n_rows < 0 or sum(group[3] for group in groups) != n_rows or any(group[3] < 0 for group in groups):
        raise _DamageError("its row groups do not add up to its number of rows")
    for group in groups:  # 1: columns, 3: rows
        for chunk in group[1]:  # 3: metadata of the column, 8 and 9: encryption
            column = chunk[3][3][-1].decode() if 3 in chunk else ""
            if 8 in chunk or 9 in chunk:
                raise _encrypted(name, column)
            n_values, path = chunk[3][5], chunk[3][3]
            if n_values < 0 or (len(path) == 1 and is_flat[path[0]] and n_values != group[3]):
                raise _DamageError(f'column "{truncate(column)}" has {n_values:,} values for {group[3]:,} rows')
            try:
                _check_pages(data, chunk[3], end)
            except _DamageError as error:
                raise _DamageError(f'column "{truncate(column)}": {error}') from None


def _check_pages(data: Bytes, column: Struct, end: int) -> None:
    """Check the page headers of a column chunk (5: values, 9 and 11: where data and dictionary begin)."""
    at, n_left = column[9], column[5]
    if 0 < column.get(11, 0) < at:
        at = column[11]
    while n_left > 0:
        if not 4 <= at < end:
            raise _DamageError("a page lies outside the file")
        header, start = read_struct(data, at, end)  # 1: type, 2: bytes unpacked, 3: bytes, 4: checksum, 5 to 8: details
        unpacked, size = header[2], header[3]
        at = start + size
        if unpacked < 0 or size < 0 or at > end:
            raise _DamageError(f"a page of {size:,} bytes lies outside the file")
        if 4 in header and zlib.crc32(data[start:at]) != header[4] & 0xFFFFFFFF:
            raise _DamageError("the checksum of a page is wrong")
        details = header.get(5) or header.get(8) or header.get(7) or {}
        n_values = details.get(1, 0)
        if 7 in header:  # a dictionary; every entry takes at least one byte
            if not 0 <= n_values <= unpacked:
                raise _DamageError(f"a dictionary has {n_values:,} entries in {unpacked:,} bytes")
        elif 5 in header or 8 in header:
            n_left -= n_values
            if n_values < 0 or n_left < 0:
                raise _DamageError(f"a page has {n_values:,} values")
            if 8 in header and not (details[5] >= 0 and details[6] >= 0 and details[5] + details[6] <= unpacked):
                raise _DamageError("the levels of a page are longer than the page")


# -- Thrift's compact protocol --------------------------------------------------------------------------------


def read_struct(data: Bytes, at: int, end: int, depth: int = 0) -> tuple[Struct, int]:
    r"""Read a Thrift struct; return its fields by number, and where it ends.

    >>> read_struct(b"\x15\x02\x18\x01a\x00", 0, 6)
    ({1: 1, 2: b'a'}, 6)
    """
    if depth > _MAX_DEPTH:
        raise _DamageError("its metadata are nested too deeply")
    fields: Struct = {}
    number = 0
    while at < end:
        head = data[at]
        at += 1
        if head == 0:
            return fields, at
        kind = head & 15
        if head > 15:
            number += head >> 4
        else:
            number, at = _read_int(data, at, end)
        if kind <= 2:
            fields[number] = kind == 1
        else:
            fields[number], at = _READERS[kind](data, at, end, depth + 1)
    raise _DamageError("its metadata are cut off")


def _read_varint(data: Bytes, at: int, end: int, _depth: int = 0) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        if byte < 128:
            return value | byte << shift, at
        value |= (byte & 127) << shift
        shift += 7
    raise _DamageError("its metadata are cut off")


def _read_int(data: Bytes, at: int, end: int, _depth: int = 0) -> tuple[int, int]:
    value, at = _read_varint(data, at, end)
    return (value >> 1) ^ -(value & 1), at


def _read_bytes(data: Bytes, at: int, end: int, _depth: int) -> tuple[bytes, int]:
    size, at = _read_varint(data, at, end)
    if size > end - at:
        raise _DamageError("its metadata are cut off")
    return data[at : at + size], at + size


def _read_list(data: Bytes, at: int, end: int, depth: int) -> tuple[list[Any], int]:
    if at >= end:
        raise _DamageError("its metadata are cut off")
    size, read = data[at] >> 4, _READERS[data[at] & 15]
    at += 1
    if size == 15:
        size, at = _read_varint(data, at, end)
    items = []
    for _ in range(size):  # ends by an error where there are fewer
        item, at = read(data, at, end, depth + 1)
        items.append(item)
    return items, at


def _read_fixed(size: int) -> _Reader:
    def read(data: Bytes, at: int, end: int, _depth: int) -> tuple[bytes, int]:
        if at + size > end:
            raise _DamageError("its metadata are cut off")
        return data[at : at + size], at + size

    return read


def _refuse(*_: Any) -> tuple[Any, int]:
    raise _DamageError("its metadata have a field of unknown type")


_Reader = Callable[[Bytes, int, int, int], tuple[Any, int]]
_READERS: list[_Reader] = [_refuse] * 16  # by Thrift's number of the type; maps do not occur in Parquet
_READERS[1] = _READERS[2] = _READERS[3] = _read_fixed(1)  # in a list, a bool is a byte
_READERS[4] = _READERS[5] = _READERS[6] = _read_int
_READERS[7] = _read_fixed(8)
_READERS[8] = _read_bytes
_READERS[9] = _READERS[10] = _read_list
_READERS[12] = read_struct
