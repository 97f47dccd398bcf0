"""Engine "sqlite": Python's own SQLite, in memory."""

from __future__ import annotations

import sqlite3
from typing import Any

from treewise.data.encoding import Encoding
from treewise.formats.verify.engines.registry import Export, Outputs
from treewise.formats.verify.engines.sql_rows import (
    column_definitions,
    read_outputs,
    source_table,
    to_datetime,
    to_tuples,
)
from treewise.formats.verify.fuzz import Cell, EngineLimits, Rows

LIMITS = EngineLimits()
_TYPES = {"number": "REAL", "integer": "INTEGER", "boolean": "INTEGER", "text": "TEXT"}


def find() -> str:
    """Return the version of the library."""
    return f"SQLite {sqlite3.sqlite_version}"


def run(export: Export, rows: Rows) -> Outputs:
    """Fill a table in memory and run the query on it."""
    connection = sqlite3.connect(":memory:")
    try:
        table = source_table(export)
        connection.execute(f"CREATE TABLE {table} ({column_definitions(export, _TYPES)})")
        marks = ", ".join("?" * (len(export.program.inputs) + 1))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", to_tuples(export, rows, _convert))
        cursor = connection.execute(export.text)
        return read_outputs(export, [column[0] for column in cursor.description], cursor.fetchall())
    finally:
        connection.close()


def _convert(cell: Cell, encoding: Encoding) -> Any:
    if cell is None or encoding.kind != "datetime":
        return cell
    text = to_datetime(cell).isoformat(" ")
    return f"{text.partition('.')[0]}.{int(cell) % 10**9:09}" if int(cell) % 1000 else text
