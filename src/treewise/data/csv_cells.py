"""Split delimited text into cells: by polars, or by Python's csv reader where polars would fail or guess.

A cell is quoted if it begins with a quote. Blank lines are not rows; in a table of one column they are empty cells,
except at the ends of the text. Both ways give the same cells, and every line that is not blank is a row.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, MutableMapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.interruptible import polars_is_safe, run_interruptible
from treewise._lib.text import plural
from treewise.errors import DataError

if TYPE_CHECKING:
    import polars as pl

_BLANK_LINES = re.compile(rb"\n(?: *\r?\n)+")
_CHUNK = 1 << 24  # bytes per step
_UNDECODED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8, as Python escapes them


def split_cells(
    data: bytes,
    separator: str,
    names: Sequence[str],
    name: str,
    header: bool,
    first_line: int = 0,
    numbers: Set[int] = frozenset(),
) -> tuple[list[Any], int]:
    """Return the cells of each column, and the number of blank lines between rows that were left out.

    ``first_line`` lines are before the data, in messages. The columns at the positions ``numbers`` are doubles if all
    their cells are numbers, as those of all others are text.

    polars, and the search for blank lines, rely on quotes that enclose whole cells and on lines that end in a newline.
    """
    frame = _split_plain(data, separator, len(names), header, numbers)
    if frame is not None:
        return list(frame), 0
    has_lone_returns = data.count(b"\r") > data.count(b"\r\n")
    if polars_is_safe(len(data)) and not has_lone_returns and not has_stray_quotes(data, separator):
        bare = drop_blank_lines(data, one_column=len(names) == 1)
        frame = split_with_polars(bare, separator, len(names), header)
        if frame is not None:
            is_complete = len(names) == 1 or len(bare) == len(data)
            return list(frame), 0 if is_complete else data.strip().count(b"\n") - bare.strip().count(b"\n")
    return split_with_python(data, separator, names, name, header, first_line)


def _split_plain(data: bytes, separator: str, width: int, header: bool, numbers: Set[int]) -> pl.DataFrame | None:
    """Split text in which each line is a row of all columns, without quotes; None if it may be anything else.

    polars refuses longer lines. So if there are as many rows as lines, and as many separators as these need, then no
    line is shorter either, and none is blank.
    """
    if width == 1 or b'"' in data or b"\r" in data or not polars_is_safe(len(data)):
        return None
    frame = split_with_polars(data, separator, width, header, numbers) if numbers else None
    if frame is None:
        frame = split_with_polars(data, separator, width, header)
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    return frame if frame is not None and frame.height + header == n_lines else None


def has_stray_quotes(data: bytes, separator: str) -> bool:
    r"""Return whether a quote is anything but the first or last character of a cell, or doubled inside a quoted one.

    >>> has_stray_quotes(b'a,"b ""c"", d"\n', ","), has_stray_quotes(b'5" pipe\n', ",")
    (False, True)
    """
    if b'"' not in data:
        return False
    buffer, is_end, n_before = np.frombuffer(data, np.uint8), np.zeros(256, np.bool_), 0
    is_end[list(b'"\r\n' + separator.encode())] = True
    for start in range(0, len(data), _CHUNK):
        quotes = np.flatnonzero(buffer[start : start + _CHUNK] == ord('"')) + start
        opening, closing = quotes[n_before % 2 :: 2], quotes[1 - n_before % 2 :: 2]
        before, after = buffer[opening[opening > 0] - 1], buffer[closing[closing + 1 < len(data)] + 1]
        if not (is_end[before].all() and is_end[after].all()):
            return True
        n_before += len(quotes)
    return n_before % 2 == 1


def split_with_polars(
    data: bytes, separator: str, width: int, header: bool = True, numbers: Set[int] = frozenset()
) -> pl.DataFrame | None:
    """Split text without blank lines; None if polars fails or may have filled up a line with too few cells.

    Columns are named by position, because polars treats names such as "*" and "^x.*$" as patterns.
    """
    import polars as pl

    dtypes = [pl.Float64 if i in numbers else pl.String for i in range(width)] if numbers else None
    try:
        frame = run_interruptible(
            lambda: pl.read_csv(
                data,
                separator=separator,
                has_header=header,
                infer_schema=False,
                raise_if_empty=False,
                schema_overrides=dtypes,
            ),
            rows=data.count(b"\n"),
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.width != width or (frame.height and not _all_lines_complete(data, separator, frame)):
        return None
    frame.columns = [str(i) for i in range(width)]
    return frame


def drop_blank_lines(data: bytes, one_column: bool = False) -> bytes:
    """Remove blank lines outside quotes.

    With a single column, a blank line between others is an empty cell and becomes ``""``.
    """
    data = data.lstrip(b"\r\n")
    last_line = data.rfind(b"\n") + 1
    if not data[last_line:].strip(b" "):
        data = data[:last_line]
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
    if b'"' not in data:
        n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
        return data.count(separator.encode()) == n_lines * (frame.width - 1)
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
    data: bytes,
    separator: str,
    names: Sequence[str],
    name: str,
    header: bool = True,
    first_line: int = 0,
    faults: MutableMapping[int, str] | None = None,
) -> tuple[list[list[str]], int]:
    """Do the same with Python's csv reader, which accepts stray quotes; raise for a line with too few or many cells.

    With ``faults`` such a line, or one that is not UTF-8, is a row of empty cells, and its fault is noted there.
    """
    lines = _Lines(data.decode("utf-8", "strict" if faults is None else "surrogateescape"))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    rows: list[list[str]] = []
    started = waiting = n_blank = 0
    try:
        for cells in reader:
            if lines.last_is_blank and reader.line_num == started + 1:
                waiting += bool(rows)
            else:
                fault = "" if faults is None else _fault_of(cells, len(names))
                if fault and faults is not None:
                    faults[len(rows) - header + (waiting if len(names) == 1 else 0)] = fault
                    cells = [""] * len(names)
                if len(cells) != len(names):
                    expected = f"the header names {plural(len(names), 'column')}"
                    if not header:
                        expected = f"the first has {plural(len(names), 'cell')}"
                    raise DataError(
                        f"{name} line {first_line + started + 1:,} has {plural(len(cells), 'cell')}, but {expected}."
                        " Cells that contain the separator need quotes."
                    )
                if len(names) == 1:
                    rows += [[""]] * waiting  # between others, a blank line is an empty cell
                else:
                    n_blank += waiting
                waiting = 0
                rows.append(cells)
            started = reader.line_num
    except MemoryError:
        rows.clear()  # frees memory, which Python needs to leave this block
        raise
    except csv.Error as error:
        raise DataError(
            f"{name} line {first_line + started + 1:,} is not proper CSV ({error}). Look for an extra quote."
        ) from None
    return [[row[j] for row in rows[header:]] for j in range(len(names))], n_blank


def _fault_of(cells: Sequence[str], width: int) -> str:
    """Return what is wrong with the cells of a line; empty if nothing is."""
    if len(cells) != width:
        return f"the line has {plural(len(cells), 'cell')}, and the header {plural(width, 'column')}"
    is_text = all(cell.isascii() or not _UNDECODED.search(cell) for cell in cells)
    return "" if is_text else "the line is not UTF-8"


class _Lines:
    """The lines of a text, as ``csv.reader`` takes them; ``last_is_blank`` is about the last one taken."""

    def __init__(self, text: str) -> None:
        self._lines = io.StringIO(text, newline="")
        self.last_is_blank = False

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.last_is_blank = not line.strip(" \r\n")
            yield line
