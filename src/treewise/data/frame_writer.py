"""Write dataframes one after the other as one file: CSV, TSV, JSON, JSON lines or Parquet, gzipped or not.

``encode`` turns a frame into bytes, which any thread may do; ``FrameWriter`` puts the bytes together in order. Memory
does not grow with the number of frames: parts of a Parquet file wait on the disk, beside the file, until the last is
there (its schema and statistics come at its end), and are then copied into one.
"""

from __future__ import annotations

import gzip
import io
import shutil
from pathlib import Path
from typing import Any

from treewise._lib.result_table import guard_formulas


def encode(frame: Any, form: str, is_guarded: bool = False) -> bytes:
    r"""Return the rows of a polars frame as the bytes of a format, without header or brackets.

    ``is_guarded`` is for CSV and TSV: no cell is a formula for a spreadsheet.

    >>> import polars as pl
    >>> encode(pl.DataFrame({"a": [1, None], "b": ["x", "y,z"]}), "csv")
    b'1,x\n,"y,z"\n'
    >>> encode(pl.DataFrame({"a": [1, None]}), "json")
    b'{"a":1},\n{"a":null}'
    """
    if form == "parquet":
        content = io.BytesIO()
        frame.write_parquet(content)
        return content.getvalue()
    if form in ("csv", "tsv"):
        separator = "\t" if form == "tsv" else ","
        text = str(frame.write_csv(separator=separator, include_header=False))
        return (guard_formulas(text, separator) if is_guarded else text).encode()
    lines = str(frame.write_ndjson()).encode()
    return lines if form == "jsonl" else lines.rstrip(b"\n").replace(b"\n", b",\n")


class FrameWriter:
    """Writes encoded frames to a stream; ``parts`` is a folder for those of a Parquet file."""

    def __init__(self, stream: Any, form: str, parts: Path | None = None, zipped: bool = False) -> None:
        self._out = (
            gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=6, mtime=0, filename="") if zipped else stream
        )
        self._zipped, self._form, self._parts = zipped, form, parts
        self._n_parts, self._is_begun = 0, False
        self._only: bytes | None = None

    def begin(self, header: bytes) -> None:
        """Write what precedes the rows: the line of column names, or a bracket."""
        self._out.write(b"[\n" if self._form == "json" else header)

    def write(self, data: bytes) -> None:
        """Write an encoded frame."""
        if not data:
            return
        if self._form != "parquet":
            self._out.write(b",\n" + data if self._form == "json" and self._is_begun else data)
            self._is_begun = True
            return
        if self._only is not None or self._n_parts:
            if self._only is not None:
                self._write_part(self._only)
                self._only = None
            self._write_part(data)
        else:
            self._only = data

    def _write_part(self, data: bytes) -> None:
        assert self._parts is not None
        self._parts.mkdir(exist_ok=True)
        (self._parts / f"{self._n_parts:08}.parquet").write_bytes(data)
        self._n_parts += 1

    def finish(self) -> None:
        """Write what follows the rows."""
        if self._form == "json":
            self._out.write(b"\n]\n" if self._is_begun else b"]\n")
        elif self._form == "parquet":
            if self._only is not None:
                self._out.write(self._only)
            elif self._parts is not None and self._n_parts:
                self._join_parts(self._parts)
        if self._zipped:
            self._out.close()

    def _join_parts(self, parts: Path) -> None:
        """Copy the parts into one file, row group by row group."""
        import polars as pl

        names = sorted(parts.glob("*.parquet"))
        schemas = [pl.read_parquet_schema(name) for name in names]
        if all(schema == schemas[0] for schema in schemas):
            scan = pl.scan_parquet(names, glob=False)
        else:  # JSON lines: a column of whole numbers may have fractions later
            scan = pl.concat([pl.scan_parquet(name, glob=False) for name in names], how="vertical_relaxed")
        joined = parts / "joined"
        scan.sink_parquet(joined)
        with joined.open("rb") as file:
            shutil.copyfileobj(file, self._out, 1 << 20)


def header_line(names: list[str], form: str, is_guarded: bool = False) -> bytes:
    r"""Return the line of column names of a CSV or TSV file; nothing for other formats.

    >>> header_line(["a", "b,c"], "csv"), header_line(["a"], "jsonl")
    (b'a,"b,c"\n', b'')
    """
    if form not in ("csv", "tsv"):
        return b""
    import polars as pl

    frame = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    separator = "\t" if form == "tsv" else ","
    text = str(frame.write_csv(separator=separator))
    return (guard_formulas(text, separator) if is_guarded else text).encode()
