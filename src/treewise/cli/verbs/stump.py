"""``treewise stump``: rank the candidate splits of all columns."""

from __future__ import annotations

from typing import Any

import click

from treewise.cli.growing import prepare_and_report
from treewise.cli.options import grow_options_without, take_grow_options
from treewise.cli.output import check_output, remark
from treewise.cli.render import RowLimit, present, result_options, row_limit
from treewise.cli.verb import (
    PRUNING,
    SHOWN,
    WORDS,
    option,
    per_option,
    quiet_option,
    take_text_options,
    text_options,
    unit_option,
    verb,
)

_SHOWN_SPLITS = 20


@verb(
    "stump",
    "DATA --target COLUMN [options]",
    examples=(
        "treewise stump four_points",
        "treewise stump penguins --top 5",
        "treewise stump yours.csv --target COLUMN --criterion gini -o tests.csv",
    ),
    about="A stump is a tree with one split. This ranks the candidate splits of all columns by their gain;"
    " ties share a rank. It is a quick first look at a table; AdaBoost (treewise grow --ensemble"
    " adaboost) combines many stumps.",
)
@click.argument("data")
@option(
    "--top",
    type=click.IntRange(1),
    metavar="N",
    section=SHOWN,
    help=f"Show the first N splits (default {_SHOWN_SPLITS}; csv and json contain all).",
)
@option("--all", "show_all", is_flag=True, section=SHOWN, help="Show every split, as in a file.")
@unit_option
@per_option
@result_options
@grow_options_without(WORDS, PRUNING, "search", "max_depth", "max_leaf_nodes", "max_features", "splitter")
@text_options
@quiet_option
def command(
    data: str,
    top: int | None,
    show_all: bool,
    unit: str,
    per: str,
    form: str | None,
    output: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Rank, and show."""
    from treewise.explain.stump import grow_stump

    check_output(output, data)
    text_format, grow_params = take_text_options(options), take_grow_options(options)
    training_set = prepare_and_report(data, {**grow_params, "max_depth": 1}, text_format, quiet)
    result = grow_stump(training_set, unit, per, grow_params.get("n_jobs"))
    if not quiet:
        remark("", "")
    is_cut = top is None and not show_all and output is None
    limit = RowLimit(_SHOWN_SPLITS, ": --all") if is_cut else row_limit(result, show_all, output, top)
    present(result, form, output, limit)
