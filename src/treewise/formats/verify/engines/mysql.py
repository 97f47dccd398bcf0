"""Engines "mysql" and "mariadb": the server that MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_USER and MYSQL_PWD name, by PyMySQL.

A server of the other kind does not run the export: each lacks the other's collations. Rows go to a temporary
table in the database ``treewise_verify``, which is created if it does not exist.
"""

from __future__ import annotations

import os
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

LIMITS = EngineLimits(finite=True, datetime_step=1000)
_TYPES = {
    "number": "double",
    "integer": "bigint",
    "boolean": "boolean",
    "datetime": "datetime(6)",
    "text": "longtext character set utf8mb4",
}
_SECONDS_TO_CONNECT = 5


def find() -> str:
    """Return the version of a MySQL server."""
    version = server_version()
    if not version.startswith("MySQL"):
        raise NotInstalled(f"the server is {version}")
    return version


def server_version() -> str:
    """Return the kind and version of the server, as in "MySQL 9.7.4"."""
    try:
        import pymysql
    except ImportError:
        raise NotInstalled("pip install pymysql") from None
    try:
        with _connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT VERSION()")
            version = str(cursor.fetchone()[0])
    except (pymysql.Error, RuntimeError) as error:  # RuntimeError: the package cryptography is needed for the password
        raise NotInstalled(f"no server: {error.args[-1]}; set MYSQL_HOST and MYSQL_TCP_PORT") from None
    return f"{'MariaDB' if 'MariaDB' in version else 'MySQL'} {version.partition('-')[0]}"


def run(export: Export, rows: Rows) -> Outputs:
    """Fill a temporary table and run the query on it."""
    with _connect() as connection, connection.cursor() as cursor:
        table = source_table(export)
        cursor.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES', NAMES utf8mb4")
        cursor.execute("CREATE DATABASE IF NOT EXISTS treewise_verify")
        cursor.execute("USE treewise_verify")
        cursor.execute(f"CREATE TEMPORARY TABLE {table} ({column_definitions(export, _TYPES)}) ENGINE=InnoDB")
        marks = ", ".join(["%s"] * (len(export.program.inputs) + 1))
        statement = f"INSERT INTO {table.replace('%', '%%')} VALUES ({marks})"
        cursor.executemany(statement, to_tuples(export, rows, _convert))
        cursor.execute(export.text)
        return read_outputs(export, [column[0] for column in cursor.description], cursor.fetchall())


def _connect() -> Any:
    import pymysql

    return pymysql.connect(
        host=os.environ.get("MYSQL_HOST", "127.0.0.1"),
        port=int(os.environ.get("MYSQL_TCP_PORT", "3306")),
        user=os.environ.get("MYSQL_USER", "root"),
        password=os.environ.get("MYSQL_PWD", ""),
        charset="utf8mb4",
        connect_timeout=_SECONDS_TO_CONNECT,
    )


def _convert(cell: Cell, encoding: Encoding) -> Any:
    if cell is None or cell != cell:  # the server has no NaN
        return None
    return to_datetime(cell) if encoding.kind == "datetime" else cell
