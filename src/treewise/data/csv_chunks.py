"""Read text in pieces of whole lines, for ``batches.py``.

A piece ends between two lines that are not blank, outside quotes. The time is linear in the length of the file: a piece
without an end is read again with as much text again.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from treewise.data.csv_cells import has_stray_quotes
from treewise.errors import DataError

CHUNK = 1 << 24  # bytes of text per piece
_LONGEST_HEADER = 1 << 24  # bytes of the first line
_WINDOW = 1 << 12  # bytes of text searched first for the end of a line; then twice as many each time
_END_OF_LINE = re.compile(rb"[^ \r\n][ \r]*\n")  # of a line that is not blank
_BEGIN_OF_LINE = re.compile(rb" *[^ \r\n]")


class Unpacked:
    """Read a file that may be gzipped; damage is a ``DataError``."""

    def __init__(self, raw: Any, name: str) -> None:
        self._stream: Any = gzip.GzipFile(fileobj=raw) if raw.read(2) == b"\x1f\x8b" else raw
        self._name = name
        raw.seek(0)

    def read(self, n: int) -> bytes:
        """Return the next bytes."""
        try:
            block: bytes = self._stream.read(n)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self._name} is damaged: it cannot be unpacked ({error}).") from None
        return block


def line_chunks(path: Path, name: str, separator: str) -> Iterator[tuple[bytes, int]]:
    """Yield pieces of whole lines, and the position in the file after each.

    A piece ends between two lines that are not blank, outside quotes.
    """
    with path.open("rb") as raw:
        for chunk in split_lines(Unpacked(raw, name), name, separator):
            yield chunk, raw.tell()


def split_lines(stream: Any, name: str, separator: str, size: int | None = None) -> Iterator[bytes]:
    """Yield pieces of whole lines of a stream of bytes, each of about ``size`` bytes."""
    rest, size = b"", size or CHUNK
    try:
        while True:
            n_bytes = max(size, len(rest))  # twice as much each time that no end is found
            block, is_begun = stream.read(n_bytes), bool(rest)
            rest += block if is_begun else block.removeprefix(b"\xef\xbb\xbf")
            if len(block) < n_bytes:  # the last lines
                break
            if end := _end_of_lines(rest, separator):
                yield rest[:end]
                rest = rest[end:]
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name} is damaged: it cannot be unpacked ({error}).") from None
    if rest.strip():
        yield rest if b"\n" in rest else rest.replace(b"\r", b"\n")


def _end_of_lines(data: bytes, separator: str) -> int:
    """Return where the last line ends that may end a piece; 0 if there is none."""
    stop = data.rfind(b"\n") + 1
    has_quotes, window = b'"' in data, _WINDOW
    if has_quotes and has_stray_quotes(data[:stop], separator):
        return _end_of_records(data, separator)
    at, quotes = stop, data.count(b'"', 0, stop) if has_quotes else 0  # quotes before ``at``
    while stop > 0:
        begin, window = max(0, stop - window), 2 * window
        for line in reversed(list(_END_OF_LINE.finditer(data, begin, stop))):
            quotes -= data.count(b'"', line.end(), at) if has_quotes else 0
            at = line.end()
            if quotes % 2 == 0 and _BEGIN_OF_LINE.match(data, at):
                return at
        stop = begin
    return 0


def _end_of_records(data: bytes, separator: str) -> int:
    """Return the same for text with quotes inside cells, which only a reader of CSV can tell from others."""
    lines = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
    reader = csv.reader((line.decode(errors="replace") for line in lines), delimiter=separator)
    ends = [0, *np.cumsum([len(line) for line in lines]).tolist()]
    try:
        numbers = [reader.line_num for _ in reader]
    except csv.Error:  # an endless cell: split_cells says in which line
        return int(ends[-1])
    for number in reversed(numbers[:-1]):  # the last record may be incomplete
        if lines[number - 1].strip() and number < len(lines) and lines[number].strip():
            return int(ends[number])
    return 0


def read_head(path: Path, name: str) -> bytes:
    """Return the beginning of a text file."""
    with path.open("rb") as raw:
        return Unpacked(raw, name).read(_LONGEST_HEADER)
