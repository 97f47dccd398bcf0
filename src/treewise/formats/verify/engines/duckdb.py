"""Engine "duckdb": DuckDB in memory (``pip install duckdb``)."""

from __future__ import annotations

from typing import Any

from treewise.data.encoding import Encoding
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.engines.sql_rows import (
    column_definitions,
    read_outputs,
    source_table,
    to_datetime,
    to_tuples,
)
from treewise.formats.verify.fuzz import Cell, EngineLimits, Rows

LIMITS = EngineLimits()
TYPES = {
    "number": "DOUBLE",
    "integer": "BIGINT",
    "boolean": "BOOLEAN",
    "datetime": "TIMESTAMP",
    "datetime ns": "TIMESTAMP_NS",
    "text": "VARCHAR",
}
_LARGE_QUERY = 500_000  # characters; beyond, the optimizer of bounds takes most of the time, quadratically
_ROWS_PER_INSERT = 500  # one at a time takes longer than everything else


def find() -> str:
    """Return the version of the library."""
    try:
        import duckdb
    except ImportError:
        raise NotInstalled("pip install duckdb") from None
    return f"DuckDB {duckdb.__version__}"


def run(export: Export, rows: Rows) -> Outputs:
    """Fill a table in memory and run the query on it."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.execute("SET enable_progress_bar = false")  # verify shows its own
        table, tuples = source_table(export), to_tuples(export, rows, _convert)
        connection.execute(f"CREATE TABLE {table} ({column_definitions(export, TYPES)})")
        marks = f"({', '.join('?' * len(tuples[0]))})"
        for first in range(0, len(tuples), _ROWS_PER_INSERT):
            block = tuples[first : first + _ROWS_PER_INSERT]
            cells = [cell for row in block for cell in row]
            connection.execute(f"INSERT INTO {table} VALUES {', '.join([marks] * len(block))}", cells)
        if len(export.text) > _LARGE_QUERY:
            connection.execute("SET disabled_optimizers = 'statistics_propagation'")
        cursor = connection.execute(export.text)
        return read_outputs(export, [column[0] for column in cursor.description], cursor.fetchall())


def _convert(cell: Cell, encoding: Encoding) -> Any:
    if cell is None or encoding.kind != "datetime":
        return cell
    if encoding.unit == "ns":
        text = to_datetime(cell).isoformat(" ").partition(".")[0]
        return f"{text}.{int(cell) % 10**9:09}"
    return to_datetime(cell)
