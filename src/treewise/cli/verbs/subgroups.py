"""``treewise subgroups``: find groups of rows that differ from the rest, and test them on other rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import click

from treewise._lib.text import plural
from treewise.cli.inputs import read_data, read_model_and_data
from treewise.cli.output import check_output, progress_bar, remark
from treewise.cli.render import present, result_options, row_limit
from treewise.cli.verb import (
    SHOWN,
    confidence_option,
    drop_option,
    na_option,
    option,
    support_option,
    take_text_options,
    target_option,
    text_options,
    top_option,
    tree_option,
    verb,
)


@verb(
    "subgroups",
    "MODEL DATA [options]",
    examples=(
        "treewise grow outlier -o model.json && treewise subgroups model.json outlier --test outlier_validation",
        "treewise subgroups model.json new.csv --class yes --test other.csv",
        "treewise subgroups model.json new.csv --all -o groups.csv",
    ),
    about="Compares every node, inner ones included, with the rows outside it: exact counts, an interval, and a p-value"
    " adjusted for the number of groups. Redundant groups are left out. On the training rows all differences are"
    " overstated, and there are no p-values unless --permutations repeats the whole search; --test tests the groups on"
    " other rows.",
)
@click.argument("model")
@click.argument("data")
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
@target_option()
@drop_option
@na_option
@text_options
@result_options
def command(
    model: str,
    data: str,
    member: int | None,
    test: str | None,
    top: int | None,
    show_all: bool,
    na_values: Sequence[str],
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Compare, and show."""
    check_output(output, model, data, test)
    text_format = take_text_options(options)
    loaded, table = read_model_and_data(model, data, na_values, options["target"], text_format, member)
    test_table = None if test is None else read_data(test, na_values, text_format)
    with progress_bar("permutations") if options["permutations"] is not None else nullcontext() as progress:
        groups = loaded.tree.subgroups(table, test=test_table, progress=progress, **options)
    hidden = 0 if show_all else len(groups.redundant) + len(groups.insignificant)
    groups = groups.all_groups if show_all else groups
    present(groups if top is None else groups[:top], form, output, row_limit(groups, show_all, output))
    if hidden and output is None:
        remark("", f"--all shows {plural(hidden, 'more group')}")
