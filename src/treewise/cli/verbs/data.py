"""``treewise data``: which tables are built in, and one of them as CSV."""

from __future__ import annotations

import shlex
from collections.abc import Set
from typing import TYPE_CHECKING

import click

from treewise._lib.result_table import align_columns
from treewise.cli.output import check_output, print_text, remark, write_output
from treewise.cli.render import TABLE_ENDINGS, TABLE_FORMATS, choose_format, frame_content
from treewise.cli.verb import option, output_option, verb

if TYPE_CHECKING:
    from treewise.data.table import KindSpec


@verb(
    "data",
    "[NAME] [options]",
    examples=(
        "treewise data",
        "treewise data admissions > admissions.csv",
        "treewise data penguins -o penguins.csv",
    ),
    about="The name of a built-in table can be given wherever a command takes DATA.",
)
@click.argument("name", required=False)
@option(
    "--format",
    "form",
    type=click.Choice(TABLE_FORMATS),
    metavar="|".join(TABLE_FORMATS),
    help="Output format (default: by the file ending of -o, else csv).",
)
@output_option("Write the table to a file.")
def command(name: str | None, form: str | None, output: str | None) -> None:
    """List, or print one."""
    from treewise.datasets import NAMES, load

    if name is None:
        tables = [make() for make in NAMES.values()]
        rows = [[key, f"{len(t):,}", t.target or "", t.title] for key, t in zip(NAMES, tables, strict=True)]
        print_text(align_columns([["name", "rows", "predicts", ""], *rows], right=(1,)))
        return
    check_output(output)
    form = choose_format(form, output, TABLE_ENDINGS, default="csv")
    table = load(name)
    write_output(frame_content(table.to_polars(), form), output)
    if table.kinds:
        options = " ".join(f"--kind {shlex.quote(_format_kind(*item))}" for item in table.kinds.items())
        remark("note", f"a file cannot say what these columns are; to grow the same trees from it, add {options}")


def _format_kind(column: str, kind: KindSpec) -> str:
    """Write what a column is as it is typed after --kind.

    >>> _format_kind("GPA", "nominal"), _format_kind("Price", ("free", "cheap")), _format_kind("Hunger", {"b", "a"})
    ('GPA=nominal', 'Price=free<cheap', 'Hunger={a,b}')
    """
    if isinstance(kind, str):
        return f"{column}={kind}"
    return f"{column}={{{','.join(sorted(kind))}}}" if isinstance(kind, Set) else f"{column}={'<'.join(kind)}"
