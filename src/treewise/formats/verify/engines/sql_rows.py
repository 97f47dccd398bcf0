"""Shared by the database engines: the table of test rows, and the query's result as outputs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from treewise.data.encoding import Encoding
from treewise.formats.export.sql.dialects import DIALECTS
from treewise.formats.export.sql.sql import table_name
from treewise.formats.verify.engines.python import EPOCH
from treewise.formats.verify.engines.registry import Export, Outputs
from treewise.formats.verify.fuzz import Cell, Rows

ROW_NUMBER = "treewise_row"


def column_definitions(export: Export, types: dict[str, str]) -> str:
    """Return the columns of the table of test rows, with the dialect's types by kind of column."""
    dialect = DIALECTS[export.stamp["dialect"]]
    columns = [(ROW_NUMBER, types["integer"]), *((e.name, _type_of(e, types)) for e in export.program.inputs)]
    return ", ".join(f"{dialect.name_of(name)} {kind}" for name, kind in columns)


def _type_of(encoding: Encoding, types: dict[str, str]) -> str:
    return types.get(f"{encoding.kind} {encoding.unit}", types.get(encoding.kind, types["text"]))


def source_table(export: Export) -> str:
    """Return the name of the table that the query reads, quoted."""
    return table_name(export.stamp["table"], DIALECTS[export.stamp["dialect"]])


def to_tuples(export: Export, rows: Rows, convert: Callable[[Cell, Encoding], Any]) -> list[tuple[Any, ...]]:
    """Return the rows with their numbers, cells converted."""
    columns = [
        [convert(cell, encoding) for cell in column]
        for encoding, column in zip(export.program.inputs, rows.cells, strict=True)
    ]
    return list(zip(range(len(rows)), *columns, strict=True)) if columns else [(0,)]


def to_datetime(cell: Cell) -> dt.datetime:
    """Return a moment as a datetime."""
    assert cell is not None
    return EPOCH + dt.timedelta(microseconds=int(cell) // 1000)


def read_outputs(export: Export, names: Sequence[str], fetched: Sequence[Sequence[Any]]) -> Outputs:
    """Return the result of the query in the order of the rows."""
    # Our columns come last: a table may have columns of the same names.
    index_of = {name: len(names) - 1 - i for i, name in enumerate(reversed(names))}
    index_of |= {name: i for i, name in enumerate(names) if name == ROW_NUMBER}
    ordered = sorted(fetched, key=lambda row: int(row[index_of[ROW_NUMBER]]))
    program, chosen, prefix = export.program, export.stamp["outputs"], export.stamp["prefix"]
    many = program.combine != "tree"
    prediction = [row[index_of[prefix + "prediction"]] for row in ordered] if "prediction" in chosen else None
    probabilities: list[Any] | None = None
    leaf: list[Any] | None = None
    if "probabilities" in chosen and not program.is_regression:
        at = [index_of[prefix + f"probability_{k}"] for k in range(len(program.classes))]
        probabilities = [None if row[at[0]] is None else [row[i] for i in at] for row in ordered]
    if "leaf" in chosen and many:
        at = [index_of[prefix + f"leaf_{t}"] for t in range(len(program.routines))]
        leaf = [None if row[at[0]] is None else [row[i] for i in at] for row in ordered]
    elif "leaf" in chosen:
        leaf = [row[index_of[prefix + "leaf"]] for row in ordered]
    return Outputs(prediction, probabilities, leaf)
