"""Rows of a request and their answers: JSON or CSV in, predictions with probabilities, path and reasons out.

A row is checked as ``treewise predict`` checks it (``predict/batches.py``), and each bad one is named with row, column
and reason; a request with a bad row is refused as a whole, so that no caller takes part of an answer for all of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treewise._lib.result_table import to_plain, write_csv
from treewise._lib.text import shorten
from treewise.data.csv_file import CsvFormat, read_csv
from treewise.data.row_batches import RowBatch, values_column
from treewise.data.table import Table
from treewise.errors import DataError
from treewise.explain.row_explanation.row_explanation import explain_typed
from treewise.predict.batches import AnswerableRows, encode_batch
from treewise.predict.predict import EncodedRows
from treewise.tree.model import Model
from treewise.tree.tree import Tree

_MOST_NAMED = 100  # bad rows named in an answer
_PLAIN = (str, int, float, bool, type(None))


class BadRequest(Exception):  # noqa: N818 - an answer to the caller
    """A request that cannot be answered: a status, why, and the rows at fault."""

    def __init__(self, status: int, reason: str, rows: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(reason)
        self.status, self.reason, self.rows = status, reason, list(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the body of the answer."""
        rows = {"rows": self.rows[:_MOST_NAMED], "bad_rows": len(self.rows)} if self.rows else {}
        return {"error": {"reason": shorten(self.reason), **rows}}


@dataclass(frozen=True)
class AnswerOptions:
    """Outputs that a request selects besides the prediction."""

    proba: bool = False
    path: bool = False
    reasons: bool = False


def parse_json(body: bytes, max_rows: int) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows of a JSON body, and whether it is a single one: an object, or a list of objects."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        content = json.loads(body.decode(), parse_constant=refuse)
    except RecursionError:
        raise BadRequest(400, "The body nests too deep.") from None
    except ValueError as error:
        raise BadRequest(400, f"The body is not JSON: {error}.") from None
    is_single = isinstance(content, dict)
    rows = [content] if is_single else content
    if not isinstance(rows, list) or not rows:
        raise BadRequest(400, "The body must be a row, as an object of column and value, or a list of rows.")
    if len(rows) > max_rows:
        raise BadRequest(413, f"The body has {len(rows):,} rows; at most {max_rows:,} are taken at a time.")
    bad = [fault for number, row in enumerate(rows, 1) if (fault := _fault_of(row, number))]
    if bad:
        raise BadRequest(422, "Some rows cannot be read.", bad)
    return rows, is_single


def _fault_of(row: Any, number: int) -> dict[str, Any] | None:
    if not isinstance(row, dict):
        return {"row": number, "column": "", "reason": "is not an object"}
    for name, cell in row.items():
        if not isinstance(cell, _PLAIN):
            kind = "a list" if isinstance(cell, list) else "an object"
            return {"row": number, "column": shorten(name), "reason": f"is {kind}, not a value"}
        if isinstance(cell, str) and not cell.isascii():
            try:
                cell.encode()
            except UnicodeEncodeError:
                return {"row": number, "column": shorten(name), "reason": "is not text: it has half a character"}
    return None


def read_rows(model: Model, rows: Sequence[Mapping[str, Any]]) -> tuple[Table, list[dict[str, Any]]]:
    """Return the columns that the model tests as a table; cells that a row omits are missing for now."""
    columns = {}
    for i in model.used_columns:
        name = model.columns[i]
        columns[name] = values_column(name, [row.get(name) for row in rows], model.na_values)
    return Table("the request", columns, len(rows)), list(map(dict, rows))


def read_csv_rows(model: Model, body: bytes, max_rows: int) -> tuple[Table, list[dict[str, Any]]]:
    """Return the rows of a CSV body; every column that the model tests must be there."""
    try:
        columns, _ = read_csv(body, "the request", model.na_values, CsvFormat())
        if columns.n_rows > max_rows:
            raise BadRequest(413, f"The body has {columns.n_rows:,} rows; at most {max_rows:,} are taken at a time.")
        names = [model.columns[i] for i in model.used_columns]
        absent = [name for name in names if name not in columns]
        if absent:
            rows = [{"row": 0, "column": shorten(name), "reason": "the column is absent"} for name in absent]
            raise BadRequest(422, "The table lacks columns that the model tests.", rows)
        return Table("the request", {name: columns[name] for name in names}, columns.n_rows), []
    except DataError as error:
        raise BadRequest(400, str(error)) from None


def answer(
    model: Model, table: Table, rows: Sequence[Mapping[str, Any]], options: AnswerOptions
) -> list[dict[str, Any]]:
    """Return the answer to each row; raise BadRequest with every bad row."""
    try:
        encoded = encode_batch(model, RowBatch(table), is_tolerant=True)
    except DataError as error:
        raise BadRequest(
            422, str(error), [{"row": (error.row or 0) + 1, "column": error.column or "", "reason": str(error)}]
        ) from None
    bad = [{"row": row.row, "column": row.column, "reason": row.reason} for row in encoded.bad]
    bad += _omitted(model, encoded, rows)
    if bad:
        raise BadRequest(422, "Some rows cannot be predicted.", sorted(bad, key=lambda fault: fault["row"]))
    return _answers(model, encoded.rows, rows, options)


def _omitted(model: Model, encoded: AnswerableRows, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows, of those that are not bad already, that omit a column on their path.

    Of an ensemble, one that some tree tests.
    """
    used = [model.columns[i] for i in model.used_columns]
    numbers = range(len(rows)) if encoded.good is None else encoded.good.tolist()
    short = [(at, i) for at, i in enumerate(numbers) if rows and not all(name in rows[i] for name in used)]
    leaves = model.leaves(encoded.rows) if short and isinstance(model, Tree) else None
    bad = []
    for at, i in short:
        tested = used if leaves is None else _columns_on_path(model, int(leaves[at]))
        absent = [name for name in tested if name not in rows[i]]
        if absent:
            reason = "is absent, and the model tests it; null stands for a missing value"
            bad.append({"row": i + 1, "column": absent[0], "reason": reason})
    return bad


def _columns_on_path(model: Model, leaf: int) -> list[str]:
    assert isinstance(model, Tree)
    return [split.column for node in model.path(leaf) if (split := model.split_at(node)) is not None]


def _answers(
    model: Model, encoded: EncodedRows, rows: Sequence[Mapping[str, Any]], options: AnswerOptions
) -> list[dict[str, Any]]:
    answers = model.answers(encoded)
    if model.task == "regression":
        results: list[dict[str, Any]] = [{"prediction": value} for value in answers.values().tolist()]
    else:
        numbers = answers.class_numbers().tolist()
        results = [{"prediction": to_plain(model.classes[number])} for number in numbers]
        if options.proba:
            for result, shares in zip(results, answers.probabilities().tolist(), strict=True):
                result["probabilities"] = dict(zip(map(str, model.classes), shares, strict=True))
    if not isinstance(model, Tree):
        if options.path or options.reasons:
            raise BadRequest(400, "path and reasons are for a single tree; this model is an ensemble.")
        return results
    assert answers.leaves is not None
    for result, leaf in zip(results, answers.leaves.tolist(), strict=True):
        result["node"] = leaf
    if options.path or options.reasons:
        known = set(model.columns)
        given = [tuple(name for name in row if name in known) for row in rows] or [model.columns] * len(encoded)
        explained = explain_typed(model, encoded.table, given)
        for i, result in enumerate(results):
            explanation = explained[i]
            if options.path:
                result["path"] = [{"node": step.node, "condition": step.condition} for step in explanation.steps]
            if options.reasons:
                result["reasons"] = explanation.sentence
    return results


def to_csv(results: Sequence[Mapping[str, Any]]) -> str:
    """Return answers as CSV, probabilities in columns of their own."""
    shares = list(results[0].get("probabilities", {}))
    names = [name for name in results[0] if name not in ("probabilities", "path")]
    lines = [[*names, *(f"p_{label}" for label in shares)]]
    for result in results:
        cells = [_cell(result[name]) for name in names]
        lines.append([*cells, *(_cell(result["probabilities"][label]) for label in shares)])
    return write_csv(lines)


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
