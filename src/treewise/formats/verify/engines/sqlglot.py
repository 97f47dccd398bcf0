"""Engine "sqlglot": dialects of databases that cannot be installed, translated by sqlglot and run in DuckDB.

This does not prove that the database agrees: it shows that another parser of the dialect reads the query as intended.
What only the database can show, such as its collations, is not tested.
"""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from treewise.formats.verify.engines import duckdb
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import EngineLimits, Rows

LIMITS = EngineLimits(datetime_step=100)  # that of SQL Server
_DIALECTS = {"sqlserver": "tsql", "snowflake": "snowflake"}
_SURROGATES = re.compile(r"NCHAR\((55(?:29[6-9]|[3-9]\d\d)|56(?:[0-2]\d\d|3[01]\d))\) \+ NCHAR\((5[67]\d{3})\)")
_DIGITS = 6  # of the fraction of a second in DuckDB's TIMESTAMP


def find() -> str:
    """Return the versions of both libraries."""
    try:
        import sqlglot  # noqa: F401
    except ImportError:
        raise NotInstalled("pip install sqlglot duckdb") from None
    return f"{duckdb.find()}, translated by sqlglot {version('sqlglot')}"


def run(export: Export, rows: Rows) -> Outputs:
    """Translate the query and run it in DuckDB."""
    from sqlglot import parse_one

    dialect = export.stamp["dialect"]
    query = parse_one(_SURROGATES.sub(_one_character, export.text), read=_DIALECTS[dialect])
    _translate_rest(query)
    if dialect == "sqlserver":  # it has no NaN
        rows = replace(rows, cells=[[None if cell != cell else cell for cell in column] for column in rows.cells])
    stamp = {**export.stamp, "dialect": "duckdb"}
    return duckdb.run(replace(export, content=query.sql(dialect="duckdb"), stamp=stamp), rows)


def _one_character(units: re.Match[str]) -> str:
    first, second = (int(unit) for unit in units.groups())
    return f"NCHAR({0x10000 + (first - 0xD800 << 10) + (second - 0xDC00)})"


def _translate_rest(query: Any) -> None:
    """Translate what sqlglot passes on: collations, characters by number, texts joined by +, precise timestamps."""
    from sqlglot import exp

    for node in list(query.find_all(exp.Collate)):
        node.replace(node.this)
    for node in list(query.find_all(exp.Anonymous)):
        if node.name == "NCHAR":
            node.replace(exp.Chr(expressions=node.expressions))
    for node in list(query.find_all(exp.Add)):
        if any(isinstance(operand, exp.National | exp.Chr) for operand in (node.left, node.right)):
            node.replace(exp.DPipe(this=node.left, expression=node.right))
    for node in list(query.find_all(exp.Cast)):
        if node.to.expressions and node.to.is_type(*exp.DataType.TEMPORAL_TYPES):
            is_long = len(node.this.name.partition(".")[2]) > _DIGITS
            node.set("to", exp.DataType.build("TIMESTAMP_NS" if is_long else "TIMESTAMP", dialect="duckdb"))
