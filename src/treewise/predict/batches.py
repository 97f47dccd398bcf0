"""Predict rows in batches, in constant memory: ``Model.predict_batches`` and ``treewise predict``.

``data/row_batches.py`` cuts the data into pieces; this file answers for one. A row that has no answer stops the work
with the error that ``predict`` raises, or is set aside with its reason (``on_error``):

    its line       too many or too few cells, not UTF-8, not JSON
    a cell         text where the model was grown on numbers, a missing value where it refuses them
    its path       stops in a hand-written tree at a node that predicts nothing
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treewise._lib.thread_pool import map_ahead
from treewise.data import encoding as encode
from treewise.data.column import Column
from treewise.data.encoding import Encoding
from treewise.data.frames import iterate_batches
from treewise.data.parse_cells import parse_numbers, to_bool_column, to_datetime_column, to_number_column
from treewise.data.row_batches import Piece, RowBatch, RowPlan, open_rows
from treewise.data.table import Table
from treewise.errors import DataError
from treewise.predict.predict import EncodedRows, encode_table, refuses_missing, stopping_reason, unanswered_rows
from treewise.tree.model import Model
from treewise.tree.tree import Tree

OnError = Literal["stop", "skip", "null"]


@dataclass(frozen=True)
class BadRow:
    """A row without an answer: the file, its number there (from 1), the column at fault if there is one, and why."""

    file: str
    row: int
    column: str
    reason: str


@dataclass(frozen=True, eq=False)
class AnswerableRows:
    """The rows of a batch that have an answer, encoded, and those that have none."""

    rows: EncodedRows
    good: npt.NDArray[np.int64] | None  # their positions in the batch; None: all
    bad: tuple[BadRow, ...] = ()


def plan_for(model: Model, **options: Any) -> RowPlan:
    """Return which columns of new rows are read for a model; ``options`` are fields of ``RowPlan``."""
    used = [model.encodings[i] for i in model.used_columns]
    return RowPlan({e.name: e.kind for e in used}, **options)


def encode_batch(model: Model, batch: RowBatch, is_tolerant: bool = False, is_first: bool = False) -> AnswerableRows:
    """Encode a batch, and set rows without an answer aside or raise for them.

    The first batch of a file is also compared as a whole with what the columns of the model hold.
    """
    table = batch.table
    if is_first:
        _check_types(model, table)
    if not is_tolerant:
        return AnswerableRows(encode_table(model, table), None)
    faults: dict[int, tuple[str, str]] = {row: ("", fault) for row, fault in batch.faults.items()}
    refuses = refuses_missing(model)
    for i in model.used_columns:
        encoding = model.encodings[i]
        if encoding.name not in table.columns:
            encode_table(model, table)  # raises
        _find_bad_cells(encoding, table[encoding.name], table.name, refuses, faults)
    good = np.setdiff1d(np.arange(len(table)), list(faults)) if faults else None
    rows = encode_table(model, table if good is None else _take(table, good))
    if isinstance(model, Tree) and model.fit_info.is_handwritten:
        leaves = model.leaves(rows)
        if len(stopped := unanswered_rows(model, leaves)):
            positions = np.arange(len(table)) if good is None else good
            for row in stopped.tolist():
                faults[int(positions[row])] = ("", stopping_reason(model, int(leaves[row])))
            good = np.delete(positions, stopped)
            rows = encode_table(model, _take(table, good))
    bad = tuple(BadRow(table.name, table.first_row + row + 1, *faults[row]) for row in sorted(faults))
    return AnswerableRows(rows, good, bad)


def _take(table: Table, rows: npt.NDArray[np.int64]) -> Table:
    return replace(table, columns={name: column.take(rows) for name, column in table.columns.items()}, n_rows=len(rows))


_NEEDS = {"number": "a number", "integer": "a number", "datetime": "a date", "boolean": "true or false"}


def _find_bad_cells(
    encoding: Encoding, column: Column, table_name: str, refuses_missing: bool, faults: dict[int, tuple[str, str]]
) -> None:
    """Add the rows whose cell of a column cannot be encoded to ``faults``."""
    try:
        values = encode.encode_column(encoding, column, table_name)
    except DataError:
        misfits = encode.find_misfits(encoding, column)
        if misfits is None or not misfits.any():
            raise
        for row in np.flatnonzero(misfits).tolist():
            reason = f"{column.format_cell(row)} is not {_NEEDS.get(encoding.kind, 'a level')}"
            faults.setdefault(row, (encoding.name, reason))
        values = None
    if refuses_missing:
        missing = column.is_missing() if values is None else encode.is_missing(encoding, values)
        for row in np.flatnonzero(missing).tolist():
            faults.setdefault(row, (encoding.name, "missing, which the model refuses"))


def _check_types(model: Model, table: Table) -> None:
    """Raise for numbers, dates or true/false in a column of which the model knows other levels.

    Cell by cell these would only be levels that were never seen.
    """
    for i in model.used_columns:
        encoding = model.encodings[i]
        column = table.columns.get(encoding.name)
        if encoding.kind not in ("nominal", "ordered") or column is None or column.form != "text":
            continue
        parsed = parse_numbers(column.labels)
        if parsed.all_numbers and parsed.is_number.any() and not parsed.padded and not parsed.too_large.any():
            converted: Column | None = to_number_column(column, parsed)
        else:
            converted = to_bool_column(column) or to_datetime_column(column)
        if converted is not None:
            encode.encode_column(encoding, converted, table.name, table.first_row)


# -- many batches -----------------------------------------------------------------------------------------------------


def map_pieces(work: Any, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Any]]:
    """Yield each piece and ``work(piece, first_row)``, in order; all processors work ahead.

    Work ahead does not know how many rows of the file are before it. Only messages name rows: after an error the piece
    is worked on again, with the number. ``work`` returns an object with ``n_rows``.
    """
    n_before = 0
    for piece, result in map_ahead(lambda piece: work(piece, 0), pieces, _n_workers()):
        if piece.is_first_of_file:
            n_before = 0
        try:
            outcome = result()
        except DataError:
            outcome = work(piece, n_before)  # raises
        yield piece, outcome if not n_before else outcome.shifted(n_before)
        n_before += outcome.n_rows


def _n_workers() -> int:
    n_cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n_cpus, 8) + 1


@dataclass(frozen=True, eq=False)
class _Predicted:
    n_rows: int
    predictions: npt.NDArray[Any]

    def shifted(self, n_before: int) -> _Predicted:
        return self


def predict_batches(model: Model, data: Any, estimate: Any = None) -> Iterator[npt.NDArray[Any]]:
    """Yield the predictions of one batch after the other."""
    tables = iterate_batches(data)
    if tables is not None:
        for table in tables:
            if isinstance(table, Mapping) and not table:
                continue
            yield model.predict(table, estimate=estimate)
        return

    def work(piece: Piece, first_row: int) -> _Predicted:
        batch = piece.read(first_row)
        encoded = encode_batch(model, batch, is_first=piece.is_first_of_file)
        return _Predicted(len(batch.table), model.answers(encoded.rows, estimate).predictions())

    source = open_rows(data, plan_for(model, markers=model.na_values))
    for _, outcome in map_pieces(work, source.pieces):
        if outcome.n_rows:
            yield outcome.predictions
