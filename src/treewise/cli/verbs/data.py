"""``treewise data``: describe a table before training, list the built-in tables, or write the rows of one."""

from __future__ import annotations

import shlex
from collections.abc import Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.result_table import align_columns
from treewise.cli.inputs import read_data
from treewise.cli.options import grow_options_without, take_grow_options
from treewise.cli.output import check_output, print_text, remark, write_output
from treewise.cli.param_types import in_options
from treewise.cli.render import (
    TABLE_ENDINGS,
    choose_format,
    frame_content,
    json_text,
    present,
    result_options,
    row_limit,
)
from treewise.cli.verb import (
    LEARNING,
    LIMITS,
    PRUNING,
    SHOWN,
    WEIGHTS,
    WORDS,
    all_option,
    option,
    take_text_options,
    text_options,
    verb,
)

if TYPE_CHECKING:
    from treewise.data.table import KindSpec
    from treewise.explain.describe import TableDescription


@verb(
    "data",
    "[DATA] [options]",
    examples=(
        "treewise data",
        "treewise data penguins --target species",
        "treewise data yours.csv --target COLUMN --na '?'",
        "treewise data admissions --rows -o admissions.csv",
    ),
    about="Without DATA, lists the built-in tables; their names can be given wherever a command takes DATA. With DATA,"
    " describes its columns as they would be used: kinds, missing values, distributions, how much each tells about the"
    " target, and what may be wrong with it.",
)
@click.argument("data", required=False)
@option(
    "--rows", "with_rows", is_flag=True, section=SHOWN, help="Print the rows instead, as CSV or by the ending of -o."
)
@all_option("column")
@grow_options_without(
    WORDS, LEARNING, LIMITS, PRUNING, WEIGHTS, "task", "columns", "drop_missing_target", "groups", "time"
)
@text_options
@result_options
def command(
    data: str | None,
    with_rows: bool,
    show_all: bool,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """List, describe, or print the rows."""
    from treewise.explain.describe import describe

    if data is None:
        return _list_tables(form)
    check_output(output, data)
    text_format, given = take_text_options(options), take_grow_options(options)
    table = read_data(data, given.pop("na_values", ()), text_format)
    if with_rows:
        form = choose_format(form, output, TABLE_ENDINGS, default="csv")
        write_output(frame_content(table.to_polars(), form), output)
        if table.kinds:
            words = " ".join(f"--kind {shlex.quote(_format_kind(*each))}" for each in table.kinds.items())
            remark("note", f"a file cannot say what these columns are; to grow the same trees from it, add {words}")
        return None
    result = _in_options(describe(table, given.pop("target", None), **given))
    present(result, form, output, row_limit(result.columns, show_all, output))
    return None


def _list_tables(form: str | None) -> None:
    """List the built-in tables."""
    from treewise.datasets import NAMES

    tables = [make() for make in NAMES.values()]
    if form == "json":
        records = [
            {"name": key, "rows": len(t), "target": t.target, "title": t.title}
            for key, t in zip(NAMES, tables, strict=True)
        ]
        return write_output(json_text({"tables": records}), None)
    rows = [[key, f"{len(t):,}", t.target or "", t.title] for key, t in zip(NAMES, tables, strict=True)]
    print_text(align_columns([["name", "rows", "predicts", ""], *rows], right=(1,)))
    return None


def _in_options(result: TableDescription) -> TableDescription:
    """Render the parameters in notes as options."""
    columns = (replace(column, notes=tuple(map(in_options, column.notes))) for column in result.columns)
    return replace(result, columns=tuple(columns), notes=tuple(map(in_options, result.notes)))


def _format_kind(column: str, kind: KindSpec) -> str:
    """Write what a column is as it is typed after --kind.

    >>> _format_kind("GPA", "nominal"), _format_kind("Price", ("free", "cheap")), _format_kind("Hunger", {"b", "a"})
    ('GPA=nominal', 'Price=free<cheap', 'Hunger={a,b}')
    """
    if isinstance(kind, str):
        return f"{column}={kind}"
    return f"{column}={{{','.join(sorted(kind))}}}" if isinstance(kind, Set) else f"{column}={'<'.join(kind)}"
