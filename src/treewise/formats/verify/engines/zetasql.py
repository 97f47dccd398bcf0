"""Engine "zetasql": BigQuery's dialect in the reference implementation of GoogleSQL (``pip install zetasql``).

ZetaSQL is Google's analyser and evaluator of the language, here compiled to WebAssembly; it is not BigQuery.
Starting it takes some 20 s of processor time, once per process.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from treewise.data.encoding import Encoding
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.engines.sql_rows import ROW_NUMBER, read_outputs, to_datetime, to_tuples
from treewise.formats.verify.fuzz import Cell, EngineLimits, Rows

LIMITS = EngineLimits(datetime_step=1000)
_TYPES = {"number": "DOUBLE", "integer": "INT64", "boolean": "BOOL", "datetime": "DATETIME"}
_CELLS_PER_CALL = 400_000  # a table and its answers are copied to and from WebAssembly byte by byte


def find() -> str:
    """Return the version of the library."""
    try:
        import zetasql  # noqa: F401
    except ImportError:
        raise NotInstalled("pip install zetasql") from None
    return f"ZetaSQL {version('zetasql')}"


def run(export: Export, rows: Rows) -> Outputs:
    """Give the rows to the query as the content of its table."""
    inputs = export.program.inputs
    tuples = to_tuples(export, rows, _convert)
    at_once = max(1, _CELLS_PER_CALL // (len(inputs) + 1))
    names: list[str] = []
    fetched: list[list[Any]] = []
    for first in range(0, len(tuples), at_once):
        names, records = _evaluate(export, tuples[first : first + at_once])
        fetched += records
    return read_outputs(export, names, fetched)


def _evaluate(export: Export, tuples: list[tuple[Any, ...]]) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the query's columns, and its rows."""
    from zetasql.api import CatalogBuilder, PreparedQuery, TableBuilder
    from zetasql.types import (
        AnalyzerOptions,
        LanguageOptions,
        TableContent,
        TableData,
        TypeKind,
        ZetaSQLBuiltinFunctionOptions,
    )

    language = LanguageOptions.maximum_features()
    table = TableBuilder(export.stamp["table"])
    table.add_column(ROW_NUMBER, TypeKind.TYPE_INT64)
    for encoding in export.program.inputs:
        table.add_column(encoding.name, getattr(TypeKind, f"TYPE_{_TYPES.get(encoding.kind, 'STRING')}"))
    functions = ZetaSQLBuiltinFunctionOptions(language_options=language)
    catalog = CatalogBuilder("rows").add_table(table.build()).with_builtin_functions(functions).build()
    cells = [_cell_writer("INT64"), *(_cell_writer(_TYPES.get(e.kind, "STRING")) for e in export.program.inputs)]
    data = [TableData.Row(cell=[write(value) for write, value in zip(cells, row, strict=True)]) for row in tuples]
    query = PreparedQuery.builder().set_sql(export.text).set_catalog(catalog)
    query.set_analyzer_options(AnalyzerOptions(language_options=language))
    query.set_table_content({export.stamp["table"]: TableContent(table_data=TableData(row=data))})
    with query.prepare() as prepared:
        names = [column.name for column in prepared.columns]
        content = prepared.execute().content.table_data
        return names, [[_read_cell(cell) for cell in row.cell] for row in content.row]


def _cell_writer(kind: str) -> Callable[[Any], Any]:
    from zetasql.types import Value

    return lambda value: Value() if value is None else Value(**{f"{kind.lower()}_value": value})


def _read_cell(cell: Any) -> Any:
    values = (cell.int64_value, cell.double_value, cell.string_value, cell.bool_value)
    return next((value for value in values if value is not None), None)


def _convert(cell: Cell, encoding: Encoding) -> Any:
    if cell is None or encoding.kind != "datetime":
        return cell
    from zetasql.types import Value

    moment = to_datetime(cell)
    packed = moment.year
    for part, bits in ((moment.month, 4), (moment.day, 5), (moment.hour, 5), (moment.minute, 6), (moment.second, 6)):
        packed = packed << bits | part
    return Value.Datetime(bit_field_datetime_seconds=packed, nanos=moment.microsecond * 1000)
