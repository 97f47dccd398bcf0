"""Engine "postgresql": a server that libpq's variables (PGHOST, PGPORT, PGUSER, …) name, through psycopg."""

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

LIMITS = EngineLimits(nul=False, datetime_step=1000)
_TYPES = {
    "number": "double precision",
    "integer": "bigint",
    "boolean": "boolean",
    "datetime": "timestamp",
    "text": "text",
}
_SECONDS_TO_CONNECT = 5


def find() -> str:
    """Return the version of the server."""
    try:
        import psycopg
    except ImportError:
        raise NotInstalled("pip install psycopg[binary]") from None
    try:
        with psycopg.connect(connect_timeout=_SECONDS_TO_CONNECT) as connection:
            version = connection.info.server_version
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        raise NotInstalled(f"no server: {reason}; set PGHOST, PGPORT and PGUSER") from None
    return f"PostgreSQL {version // 10000}.{version % 10000}"


def run(export: Export, rows: Rows) -> Outputs:
    """Fill a temporary table and run the query on it; nothing is committed."""
    import psycopg

    with psycopg.connect(connect_timeout=_SECONDS_TO_CONNECT) as connection:
        table = source_table(export)
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TEMPORARY TABLE {table} ({column_definitions(export, _TYPES)})")
            with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                for row in to_tuples(export, rows, _convert):
                    copy.write_row(row)
            cursor.execute(export.text, prepare=False)
            assert cursor.description is not None
            outputs = read_outputs(export, [column.name for column in cursor.description], cursor.fetchall())
        connection.rollback()
        return outputs


def _convert(cell: Cell, encoding: Encoding) -> Any:
    return cell if cell is None or encoding.kind != "datetime" else to_datetime(cell)
