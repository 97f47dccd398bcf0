"""Engine "dbt": renders the package with Jinja, as dbt does, and runs its model and its own test in DuckDB."""

from __future__ import annotations

import csv
import io
from typing import Any

from treewise.errors import DataError, ParameterError
from treewise.formats.export.sql.dialects import DIALECTS
from treewise.formats.export.sql.sql import OUTPUTS
from treewise.formats.verify.engines import duckdb
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.engines.sql_rows import column_definitions
from treewise.formats.verify.fuzz import Rows

LIMITS = duckdb.LIMITS


def find() -> str:
    """Return the versions of Jinja and DuckDB."""
    try:
        import jinja2
    except ImportError:
        raise NotInstalled("pip install jinja2") from None
    return f"Jinja {jinja2.__version__} and {duckdb.find()}"


def run(export: Export, rows: Rows) -> Outputs:
    """Render the model and run it like a query; then run the package's test on its seed."""
    if not isinstance(export.content, dict):
        raise ParameterError("a dbt package is verified as a whole.", hint="Name its folder, not one of its files.")
    name = export.stamp["name"]
    _check_boundaries(export, export.content, name)
    query = _render(export.content, f"models/{name}_scores.sql", name)
    stamp = {**export.stamp, "format": "sql", "table": "data", "outputs": list(OUTPUTS), "prefix": ""}
    return duckdb.run(Export(query, stamp, export.program), rows)


def _render(files: dict[str, str], path: str, name: str) -> str:
    """Render one file with the macros of the package; ``ref`` and ``source`` name a table."""
    import jinja2

    environment = jinja2.Environment(keep_trailing_newline=True)
    quote = DIALECTS["duckdb"].name_of
    template = environment.from_string(files[f"macros/{name}.sql"] + files[path])
    text: str = template.render(
        ref=lambda t: quote(f"{name}_boundaries" if t.endswith("_boundaries") else "data"),
        source=lambda *_: quote("data"),
    )
    return text


def _check_boundaries(export: Export, files: dict[str, str], name: str) -> None:
    """Load the seed and run the package's test: it returns the rows that are predicted otherwise."""
    import duckdb as library

    header, *lines = csv.reader(io.StringIO(files[f"seeds/{name}_boundaries.csv"], newline=""))
    cells: list[list[Any]] = [[None if cell == "" else cell for cell in line] for line in lines]
    with library.connect(":memory:") as connection:
        table = DIALECTS["duckdb"].name_of(f"{name}_boundaries")
        definitions = column_definitions(export, duckdb.TYPES).replace("treewise_row", "expected_leaf", 1)
        connection.execute(f"CREATE TABLE {table} ({definitions})")
        for line in cells:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(header))})", line)
        wrong = connection.execute(_render(files, f"tests/{name}_boundaries.sql", name)).fetchall()
    if wrong:
        raise DataError(f"the package's own test fails for {len(wrong)} boundary rows, such as {wrong[0]!r}.")
