"""``treewise predict`` for files: read, predict and write batch by batch, on all processors, in constant memory.

A worker turns a piece of the data into the bytes of its predictions; the main thread writes them in order, adds up what
there is to note, and shows the progress. The output is whole or not there (``_lib/atomic_write.py``); to a pipe it is
written as it is made.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewise._lib.text import plural, safe
from treewise.cli.new_values import NewValues
from treewise.cli.output import guard_csv, is_csv_guarded, open_output, progress_bar, remark
from treewise.cli.param_types import in_options
from treewise.cli.predictor import Extras, Predictor
from treewise.cli.render import frame_content
from treewise.errors import DataError, ParameterError, join_few

if TYPE_CHECKING:
    from treewise.cli.verb import TextOptions
    from treewise.data.row_batches import Piece, RowBatch, RowSource
    from treewise.predict.batches import BadRow

_MOST_SHOWN = 5  # bad rows on standard error


@dataclass(frozen=True)
class BatchJob:
    """The options of ``treewise predict MODEL DATA``."""

    extras: Extras
    form: str
    is_zipped: bool
    kept: tuple[str, ...] | None  # columns to copy; None: all
    on_error: str
    bad_rows: str | None
    na_values: tuple[str, ...]
    text_format: TextOptions
    output: str | None
    data: str


@dataclass(frozen=True)
class _Done:
    """The predictions of a piece, as they are written, and what there is to say about them."""

    n_rows: int
    n_written: int
    content: bytes
    columns: list[str]
    frame: Any
    bad: tuple[BadRow, ...]
    new_values: NewValues
    n_blank: int

    def shifted(self, n_before: int) -> _Done:
        """Return the same with the rows numbered as in the file."""
        return replace(self, bad=tuple(replace(row, row=row.row + n_before) for row in self.bad))


@dataclass
class _Totals:
    """Counts of the rows written so far."""

    n_rows: int = 0
    n_bad: int = 0
    n_blank: int = 0
    columns: list[str] = field(default_factory=list)
    shown: list[BadRow] = field(default_factory=list)
    new_values: NewValues = field(default_factory=NewValues)

    def add(self, done: _Done) -> None:
        self.n_rows += done.n_written
        self.n_bad += len(done.bad)
        self.n_blank += done.n_blank
        self.shown += done.bad[: _MOST_SHOWN - len(self.shown)]
        self.new_values.add(done.new_values)


def predict_file(job: BatchJob) -> None:
    """Predict the rows of files, or of standard input, and write them."""
    from treewise.data.frame_writer import FrameWriter, header_line
    from treewise.predict.batches import map_pieces

    if job.form == "parquet" and job.output in (None, "-") and sys.stdout.isatty():
        raise ParameterError("this format is not text, and is not written to a terminal. Name a file with -o.")
    source = _open(job)
    totals, is_guarded = _Totals(), is_csv_guarded()
    frames: list[Any] = []  # only to be aligned as text
    with _bad_row_file(job.bad_rows) as report, open_output(job.output) as out, _parts_folder(out) as parts:
        writer = FrameWriter(out, job.form, parts, job.is_zipped)
        with progress_bar("predict") as on_progress:

            def work(piece: Piece, first_row: int) -> _Done:
                return _work(job, piece, first_row, is_guarded)

            for piece, done in map_pieces(work, source.pieces):
                if not totals.columns:
                    totals.columns = done.columns
                    writer.begin(header_line(done.columns, job.form, is_guarded))
                elif done.columns != totals.columns:
                    raise _other_columns(piece.file, done.columns, totals.columns)
                if job.form == "text":
                    frames.append(done.frame)
                writer.write(done.content)
                report(done.bad)
                totals.add(done)
                if on_progress is not None:
                    on_progress(piece.share)
        if job.form == "text":
            out.write(str(frame_content(_stack(frames), "text")).encode())
        writer.finish()
    _remark(job, source, totals)


def _open(job: BatchJob) -> RowSource:
    """Open the data."""
    from treewise.cli.inputs import read_data
    from treewise.data.csv_file import CsvFormat
    from treewise.data.row_batches import open_rows
    from treewise.data.table import parse_na_values
    from treewise.predict.batches import plan_for

    model = job.extras.model
    markers = tuple(dict.fromkeys((*model.na_values, *parse_na_values(job.na_values))))
    plan = plan_for(
        model,
        markers=markers,
        csv_format=CsvFormat(*job.text_format[:4]),
        kept=job.kept,
        is_tolerant=job.on_error != "stop",
        needs_values=job.form in ("json", "jsonl", "parquet"),
    )
    return open_rows(job.data, plan, lambda: read_data(job.data, markers, job.text_format))


def _work(job: BatchJob, piece: Piece, first_row: int, is_guarded: bool) -> _Done:
    """Read, predict and encode one piece."""
    from treewise.data.frame_writer import encode
    from treewise.predict.batches import encode_batch
    from treewise.train.target import adopt_levels
    from treewise.tree.tree import Tree

    batch, model = piece.read(first_row), job.extras.model
    if isinstance(model, Tree):
        model = adopt_levels(model, batch.table)
    encoded = encode_batch(model, batch, job.on_error != "stop", piece.is_first_of_file)
    predictor = Predictor(model, encoded.rows, job.extras)
    frame = _arrange(job, batch, predictor.columns(), encoded.good)
    is_text = job.form == "text"
    return _Done(
        n_rows=len(batch.table),
        n_written=len(frame),
        content=b"" if is_text else encode(frame, job.form, is_guarded),
        columns=list(frame.columns),
        frame=frame if is_text else None,
        bad=encoded.bad,
        new_values=predictor.new_values(),
        n_blank=batch.n_blank,
    )


def _arrange(job: BatchJob, batch: RowBatch, predicted: dict[str, Any], good: Any) -> Any:
    """Return the copied columns and the predictions; rows without one are left out, or have empty cells."""
    from treewise.data.frames import arrays_to_frame, with_empty_rows

    frame, kept = arrays_to_frame(predicted), batch.kept
    if good is not None and job.on_error == "null":
        frame = with_empty_rows(frame, good, len(batch.table))
    elif good is not None and kept is not None:
        kept = kept[good]
    return join_columns(kept, frame)


def join_columns(kept: Any, frame: Any) -> Any:
    """Return the copied columns, then the predictions."""
    for name in () if kept is None else kept.columns:
        if name in frame.columns:
            rule = "the predictions have a column of that name too. Rename it first."
            raise ParameterError(f"--keep {safe(name)}: {rule}")
    return frame if kept is None or not kept.columns else kept.hstack(frame.get_columns())


@contextmanager
def _parts_folder(out: Any) -> Iterator[Path]:
    """Yield the name of a folder for parts of the output; it is removed at the end if it was made."""
    if out.beside is None:
        with tempfile.TemporaryDirectory(prefix="treewise-") as folder:
            yield Path(folder) / "parts"
        return
    folder = out.beside.with_suffix(".parts")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _bad_row_file(path: str | None) -> Iterator[Any]:
    """Yield a function that writes bad rows to a file, if one was named."""
    from treewise._lib.result_table import write_csv

    if path is None:
        yield lambda _: None
        return
    with open_output(path) as file:
        file.write(b"file,row,column,reason\n")
        yield lambda bad: file.write(
            guard_csv(write_csv([(row.file, str(row.row), row.column, row.reason) for row in bad])).encode()
        )


def _stack(frames: Sequence[Any]) -> Any:
    stacked = frames[0]
    for frame in frames[1:]:
        stacked = stacked.vstack(frame)
    return stacked


def _other_columns(file: str, columns: Sequence[str], expected: Sequence[str]) -> DataError:
    return DataError(
        f"{safe(file)} has other columns to keep ({join_few([safe(c) for c in columns], limit=5)}) than the files"
        f" before it ({join_few([safe(c) for c in expected], limit=5)}).",
        hint="Name the columns with --keep, or predict the files one by one.",
    )


def _remark(job: BatchJob, source: RowSource, totals: _Totals) -> None:
    """Write the notes, the bad rows, and what was written."""
    notes = [*source.notes, *job.extras.notes(), *totals.new_values.notes(job.extras.model)]
    if totals.n_blank:
        notes.insert(0, f"{source.name}: {plural(totals.n_blank, 'blank line')} between rows left out")
    for note in notes:
        remark("note", in_options(note))
    for row in totals.shown:
        column = f", {safe(row.column)}" if row.column else ""
        remark("bad", f"{safe(row.file)} row {row.row:,}{column}: {row.reason}")
    if totals.n_bad:
        what = "left out" if job.on_error == "skip" else "without a prediction"
        more = totals.n_bad - len(totals.shown)
        listed = f" ({more:,} more not listed)" if more else ""
        where = f" → {safe(job.bad_rows)}" if job.bad_rows else ": --bad-rows FILE lists them" if more else ""
        remark("", f"{plural(totals.n_bad, 'row')} {what}{listed}{where}")
    remark_on_output(totals.n_rows, totals.columns, job.output)


def remark_on_output(n_rows: int, columns: Sequence[str], output: str | None) -> None:
    """Say how many rows were written to a file, and which columns."""
    if output not in (None, "-"):
        names = join_few([safe(name) for name in columns], limit=12)
        remark("", f"{plural(n_rows, 'row')} → {safe(output)} ({names})")
