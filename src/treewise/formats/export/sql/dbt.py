"""Export format "dbt": a package with the tree as macros, a model that uses them, tests, and a seed of boundary rows.

    dbt_project.yml                        the package
    macros/NAME.sql                        one macro per output: {{ NAME_prediction() }}, {{ NAME_leaf() }}, …
    models/NAME_scores.sql                 the rows of ``table`` with predictions
    models/schema.yml                      accepted classes, and probabilities that are there
    seeds/NAME_boundaries.csv              fuzzed rows with the expected prediction and leaf
    tests/NAME_boundaries.sql              fails for every boundary row that is predicted otherwise

The seed's rows are those of ``treewise verify``: thresholds and their neighbours, extremes, missing and never-seen
values; NaN and infinities are left out, which CSV files cannot hold for every database.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from treewise._lib.result_table import write_csv
from treewise._lib.text import safe
from treewise.data.column import truncate
from treewise.data.encoding import Encoding
from treewise.errors import ParameterError
from treewise.formats.export.program import NO_ANSWER, Answer, Program
from treewise.formats.export.sql.sql import OUTPUTS, SqlPrinter, find_dialect
from treewise.formats.export.stamp import stamp
from treewise.formats.verify.engines.sql_rows import to_datetime
from treewise.formats.verify.fuzz import Cell, EngineLimits, fuzz_rows, next_step

_N_BOUNDARY_ROWS = 200
_TYPES = {"number": "double precision", "integer": "bigint", "boolean": "boolean", "datetime": "timestamp"}


def write(program: Program, *, name: str = "tree", dialect: str = "postgresql", table: str = "data") -> dict[str, str]:
    """Return the files of the package by path.

    ``table`` is what is scored: the name of a model, or an expression such as ``{{ source('bank', 'customers') }}``.

    >>> import treewise as tw
    >>> sorted(tw.grow("penguins", max_depth=1).export("dbt", name="penguins"))[:3]
    ['dbt_project.yml', 'macros/penguins.sql', 'models/penguins_scores.sql']
    """
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        raise ParameterError("must be a name in dbt: small letters, digits and _.", parameter="name", value=name)
    for encoding in program.inputs:
        if "\r" in encoding.name:
            raise ParameterError(
                f'column "{truncate(encoding.name)}" contains a carriage return, which Jinja turns into a line feed.',
                hint="Rename the column.",
                column=encoding.name,
            )
    printer = SqlPrinter(program, find_dialect(dialect))
    columns = printer.tree_columns(OUTPUTS)
    sign = f"{{# {stamp('dbt', dialect=dialect, name=name)} #}}"
    files = {
        "dbt_project.yml": f"name: {name}\nversion: 1.0.0\nconfig-version: 2\nprofile: {name}\n",
        f"macros/{name}.sql": "\n".join([sign, *_macros(name, columns)]),
        f"models/{name}_scores.sql": _model(name, columns, _source(table), printer),
        "models/schema.yml": _schema(name, program),
        f"tests/{name}_boundaries.sql": _test(name),
    }
    seed = _seed(program)
    files[f"seeds/{name}_boundaries.csv"] = write_csv(seed)
    files["seeds/properties.yml"] = _seed_types(name, program)
    return files


def _source(table: str) -> str:
    """Return what the model selects from.

    >>> _source("customers"), _source("{{ source('bank', 'customers') }}")
    ("{{ ref('customers') }}", "{{ source('bank', 'customers') }}")
    """
    return table if re.fullmatch(r"\{\{.*\}\}", table.strip()) else f"{{{{ ref({_jinja_text(table)}) }}}}"


def _raw(lines: Sequence[str]) -> list[str]:
    """Protect SQL from Jinja: names and labels may contain its brackets."""
    text = "\n".join(lines)
    if not re.search(r"\{[{%#]|[}%#]\}", text):
        return list(lines)
    return ["{% raw %}" + text.replace("{% endraw %}", "{% endraw %}{{ '{% endraw %}' }}{% raw %}") + "{% endraw %}"]


def _macros(name: str, columns: dict[str, list[str]]) -> Iterator[str]:
    for output, expression in columns.items():
        yield f"{{% macro {name}_{output}() %}}"
        yield from _raw(expression)
        yield "{% endmacro %}\n"


def _model(name: str, columns: dict[str, list[str]], source: str, printer: SqlPrinter) -> str:
    lines = ["SELECT", "  *,"]
    calls = [f"  {{{{ {name}_{output}() }}}} AS {printer.output(output)}" for output in columns]
    return "\n".join([*lines, ",\n".join(calls), f"FROM {source}", ""])


def _schema(name: str, program: Program) -> str:
    """Return the tests of the model's columns; JSON is YAML."""
    tests: list[Any] = ["not_null"]
    if not program.is_regression:
        is_text = any(isinstance(label, str) for label in program.classes)
        tests.append({"accepted_values": {"arguments": {"values": list(program.classes), "quote": is_text}}})
    columns = [{"name": "prediction", "data_tests": tests}]
    columns += [
        {"name": f"probability_{k}", "description": f"probability of {safe(label)}", "data_tests": ["not_null"]}
        for k, label in enumerate(program.classes)
    ]
    description = f"Rows with the predicted {safe(program.target.name)}, by a decision tree exported from treewise"
    models = [{"name": f"{name}_scores", "description": description, "columns": columns}]
    return json.dumps({"version": 2, "models": models}, indent=1, ensure_ascii=False).replace("{{", "{ {") + "\n"


def _test(name: str) -> str:
    return "\n".join(
        [
            "SELECT *",
            "FROM (",
            "  SELECT",
            "    *,",
            f"    {{{{ {name}_leaf() }}}} AS found_leaf",
            f"  FROM {{{{ ref('{name}_boundaries') }}}}",
            ") AS boundaries",
            "WHERE found_leaf <> expected_leaf OR (found_leaf IS NULL) <> (expected_leaf IS NULL)",
            "",
        ]
    )


def _seed(program: Program) -> list[list[str]]:
    """Return boundary rows with the node at which the program ends, as a table of texts."""
    rows = fuzz_rows(program, _N_BOUNDARY_ROWS, 0, EngineLimits(nul=False, datetime_step=1000))
    table = [["expected_leaf", *(encoding.name for encoding in program.inputs)]]
    routine = program.routines[0]
    keys = [_keys(e, values) for e, values in zip(program.inputs, rows.encoded, strict=True)]
    seen = set()
    for i in range(len(rows)):
        cells = [column[i] for column in rows.cells]
        if any(not _fits_csv(cell) for cell in cells):
            continue
        at = 0
        while not isinstance(step := routine.steps[at], Answer):
            at = next_step(step, keys[step.column][i])
        node = routine.answers.node[step.number]
        texts = [_csv_text(cell, e) for cell, e in zip(cells, program.inputs, strict=True)]
        row = ["" if node == NO_ANSWER else str(node), *texts]
        if tuple(row) not in seen:
            seen.add(tuple(row))
            table.append(row)
    return table


def _keys(encoding: Encoding, values: Any) -> list[Any]:
    """Return what steps compare, row by row; None for missing."""
    if encoding.kind == "number":
        return [None if math.isnan(value) else value for value in values.tolist()]
    missing = -1 if encoding.is_categorical else -(2**63)
    return [None if value == missing else value for value in values.tolist()]


def _fits_csv(cell: Cell) -> bool:
    """Return whether every database reads the cell from a CSV file as it is: no NaN, no blank or special text."""
    if isinstance(cell, str):
        return cell.strip() == cell and cell.isprintable() and cell.lower() not in ("", "null", "na", "nan", "none")
    return not isinstance(cell, float) or (math.isfinite(cell) and (cell == 0 or abs(cell) > 1e-300))


def _csv_text(cell: Cell, encoding: Encoding) -> str:
    if cell is None:
        return ""
    if encoding.kind == "datetime":
        return to_datetime(cell).isoformat(" ")
    return str(cell).lower() if isinstance(cell, bool) else repr(cell) if isinstance(cell, float) else str(cell)


def _seed_types(name: str, program: Program) -> str:
    """Return the column types of the seed, which dbt would otherwise guess from its cells."""
    types = {encoding.name: _TYPES.get(encoding.kind, "text") for encoding in program.inputs}
    config = {"column_types": {"expected_leaf": "bigint", **types}, "quote_columns": True}
    return json.dumps({"version": 2, "seeds": [{"name": f"{name}_boundaries", "config": config}]}, indent=1) + "\n"


def _jinja_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
