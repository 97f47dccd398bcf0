"""``treewise report``: a tree as one HTML file to look at, ask, print and send."""

from __future__ import annotations

from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import grow_source
from treewise.cli.inputs import is_model, read_data, take_model
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_output, remark, write_output
from treewise.cli.records import refuse_json_beside_model
from treewise.cli.render import json_text
from treewise.cli.verb import SHOWN, format_option, option, take_text_options, text_options, tree_option, verb
from treewise.errors import ParameterError


@verb(
    "report",
    "MODEL DATA -o FILE [options]\nDATA --target COLUMN -o FILE [options]",
    examples=(
        "treewise report penguins --target species --max-leaf-nodes 4 -o report.html",
        "treewise report model.json admissions -o report.html",
        "treewise report model.json admissions --rows sample -o report.html",
    ),
    about="A single file without external resources: a summary, the error, the tree (fold, zoom, query), its"
    " rules, columns, errors and history. DATA is the table the tree was grown on; its rows are included"
    " only on request (--rows). Given a table alone, the tree is grown first, with the options of"
    " treewise grow.",
)
@click.argument("source", metavar="MODEL")
@click.argument("data", metavar="DATA", required=False)
@option("-o", "--output", metavar="FILE", required=True, help='The HTML file to write; "-" is standard output.')
@tree_option
@option("--test", metavar="FILE", section=SHOWN, help="Held-out table for an unbiased estimate of the error.")
@option(
    "--rows",
    type=click.Choice(["none", "sample", "all"]),
    metavar="none|sample|all",
    default="none",
    section=SHOWN,
    help="Rows of DATA to include in the file (default none).",
)
@option("--title", metavar="TEXT", section=SHOWN, help="Title of the page.")
@option(
    "--computations/--no-computations",
    default=None,
    section=SHOWN,
    help="Include the candidate splits of every node (default: if the table is small enough).",
)
@format_option("text", "json", text="How to say on standard output what was written")
@grow_options
@text_options
def command(
    source: str, data: str | None, member: int | None, output: str, test: str | None, form: str, **options: Any
) -> None:
    """Write the report of a tree."""
    from treewise.show.report.report import ReportOptions, report_html

    check_output(output, source, data, test)
    refuse_json_beside_model(form, output)
    report_options = ReportOptions(options.pop("rows"), options.pop("computations"), options.pop("title"))
    text_format, grow_params = take_text_options(options), take_grow_options(options)
    na_values = grow_params.get("na_values", ())
    if data is None:
        if is_model(source, grow_params, standard_input=False):
            raise ParameterError(f"a report needs a table: treewise report {safe(source)} DATA -o {safe(output)}.")
        if source == "-":
            raise ParameterError("a report reads its table twice, which standard input cannot give; name a file.")
        tree = grow_source(source, grow_params, text_format, member)[1].tree
        data = source
    else:
        grow_params.pop("na_values", None)
        tree = take_model(source, grow_params, member).tree
    table = read_data(data, na_values, text_format)
    test_table = None if test is None else read_data(test, na_values, text_format)
    page = report_html(tree, table, test_table, report_options).encode()
    write_output(page, output)
    if form == "json":
        record = {"report": output, "bytes": len(page), **tree.summary().to_dict()}
        write_output(json_text({**record, "rows_in_file": report_options.rows}), None)
    elif output != "-":
        remark("", f"{len(page) / 1000:,.0f} kB → {safe(output)}")
