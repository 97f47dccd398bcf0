"""``treewise subgroups``: groups of rows that depart from the rest, and whether they are found again on others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from treewise._lib.text import plural
from treewise.cli.inputs import read_data, read_model_and_data
from treewise.cli.output import check_place, remark
from treewise.cli.render import most_rows, present, showing_options
from treewise.cli.shared_options import (
    confidence_option,
    drop_option,
    na_option,
    support_option,
    take_text_options,
    target_option,
    text_options,
    top_option,
    tree_option,
)
from treewise.cli.verb import SHOWN, option, verb


@verb(
    "subgroups",
    "MODEL DATA [options]",
    examples=(
        "treewise grow outlier -o model.json && treewise subgroups model.json outlier --test outlier_validation",
        "treewise subgroups model.json new.csv --class yes --test other.csv",
        "treewise subgroups model.json new.csv --all -o groups.csv",
    ),
    about="Every node, inner ones too, is compared with the rows outside it: exact counts, an interval, and a p-value"
    " corrected for how many groups were looked at. Groups that repeat another one are left out. On the rows the tree"
    " was grown on all groups look too good; --test tries them on others.",
)
@click.argument("model")
@click.argument("data")
@tree_option
@option(
    "--class",
    "cls",
    metavar="CLASS",
    section=SHOWN,
    help="The class whose share is compared (default: of two the second; of more the one each node predicts).",
)
@option("--test", metavar="DATA", section=SHOWN, help="Rows the tree has not seen: are the groups found again there?")
@support_option("Look at groups of so many rows, or such a share of them, only.")
@confidence_option
@top_option("groups")
@option(
    "--all", "whole", is_flag=True, section=SHOWN, help="Every group looked at, also repeats and what may be chance."
)
@target_option()
@drop_option
@na_option
@text_options
@showing_options
def command(
    model: str,
    data: str,
    member: int | None,
    test: str | None,
    top: int | None,
    whole: bool,
    na_values: Sequence[str],
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Compare, and show."""
    check_place(output, model, data, test)
    text = take_text_options(options)
    found, table = read_model_and_data(model, data, na_values, options["target"], text, member)
    other = None if test is None else read_data(test, na_values, text)
    groups = found.tree.subgroups(table, test=other, **options)
    hidden = 0 if whole else len(groups.repeats) + len(groups.chance)
    groups = groups.every if whole else groups
    present(groups if top is None else groups[:top], form, output, most_rows(groups, whole, output))
    if hidden and output is None:
        remark("", f"--all shows {plural(hidden, 'more group')}")
