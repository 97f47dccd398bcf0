"""``treewise subgroups``: find groups of rows that differ from the rest, and test them on other rows."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import click

from treewise._lib.text import plural, safe
from treewise.cli.growing import grow_source
from treewise.cli.inputs import is_model, read_data, read_model_and_data, refuse_growing
from treewise.cli.options import grow_options, take_grow_options, take_words
from treewise.cli.output import check_output, progress_bar, remark
from treewise.cli.render import present, result_options, row_limit
from treewise.cli.verb import (
    SHOWN,
    confidence_option,
    option,
    support_option,
    take_text_options,
    text_options,
    top_option,
    tree_option,
    verb,
)
from treewise.errors import ParameterError


@verb(
    "subgroups",
    "MODEL DATA [options]\nDATA --target COLUMN [options]",
    examples=(
        "treewise grow outlier -o model.json && treewise subgroups model.json outlier --test outlier_validation",
        "treewise subgroups model.json new.csv --class yes --test other.csv",
        "treewise subgroups model.json new.csv --all -o groups.csv",
        "treewise subgroups penguins --max-leaf-nodes 4",
    ),
    about="Compares every node, inner ones included, with the rows outside it: exact counts, an interval, and a p-value"
    " adjusted for the number of groups. Redundant groups are left out. On the training rows all differences are"
    " overstated, and there are no p-values unless --permutations repeats the whole search; --test tests the groups on"
    " other rows. Given a table alone, the tree is grown first, with the options of treewise grow.",
)
@click.argument("source", metavar="MODEL")
@click.argument("data", metavar="DATA", required=False)
@tree_option
@option(
    "--class",
    "cls",
    metavar="CLASS",
    section=SHOWN,
    help="The class whose share is compared (default: the second of two; else the one each node predicts).",
)
@option("--test", metavar="DATA", section=SHOWN, help="Held-out rows on which to test the groups.")
@option(
    "--permutations",
    type=int,
    metavar="N",
    section=SHOWN,
    help="On the training rows: p-values by growing N trees, such as 200, on permuted targets.",
)
@support_option("Minimum number, or share, of rows of a group.")
@confidence_option
@top_option("groups")
@option(
    "--all",
    "show_all",
    is_flag=True,
    section=SHOWN,
    help="Show all groups, including redundant and insignificant ones.",
)
@grow_options
@text_options
@result_options
def command(
    source: str,
    data: str | None,
    member: int | None,
    test: str | None,
    top: int | None,
    show_all: bool,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Compare, and show."""
    check_output(output, source, data, test)
    text_format, grow_params = take_text_options(options), take_grow_options(options)
    na_values = grow_params.get("na_values", ())
    roles = {name: grow_params[name] for name in ("target", "drop_missing_target") if name in grow_params}
    if data is None and not is_model(source, grow_params):
        table = read_data(source, na_values, text_format)
        loaded = grow_source(table, grow_params, text_format, member)[1]
    elif data is None:
        raise ParameterError(f"DATA, the table of rows, is missing: treewise subgroups {safe(source)} DATA.")
    else:
        growing = {name: value for name, value in grow_params.items() if name not in (*roles, "na_values")}
        words = take_words(growing)
        refuse_growing(source, growing)
        loaded, table = read_model_and_data(source, data, na_values, roles.get("target"), text_format, member)
        loaded = loaded.with_words(words)
    test_table = None if test is None else read_data(test, na_values, text_format)
    with progress_bar("permutations") if options["permutations"] is not None else nullcontext() as progress:
        groups = loaded.tree.subgroups(table, test=test_table, progress=progress, **roles, **options)
    hidden = 0 if show_all else len(groups.redundant) + len(groups.insignificant)
    groups = groups.all_groups if show_all else groups
    present(groups if top is None else groups[:top], form, output, row_limit(groups, show_all, output))
    if hidden and output is None:
        remark("", f"--all shows {plural(hidden, 'more group')}")
