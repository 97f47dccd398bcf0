"""``treewise rules``: a tree as rules, one per leaf, with coverage and probability."""

from __future__ import annotations

from typing import Any

import click

from treewise.cli.growing import grow_source
from treewise.cli.inputs import is_model, take_model
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_output
from treewise.cli.render import present, result_options, row_limit
from treewise.cli.verb import (
    SHOWN,
    all_option,
    confidence_option,
    option,
    support_option,
    take_text_options,
    text_options,
    top_option,
    tree_option,
    verb,
)

_SORTS = ("support", "probability", "lift", "value", "node")


@verb(
    "rules",
    "MODEL [options]\nDATA --target COLUMN [options]",
    examples=(
        "treewise rules penguins --target species --max-leaf-nodes 4",
        "treewise rules model.json --class P --sort probability --min-support 2",
        "treewise rules model.json -o rules.csv",
    ),
    about="One rule per leaf; conditions on the same column are merged, and every row satisfies exactly one"
    " rule. MODEL is a saved tree (.json) or one written by hand (.txt); given a table, the tree is"
    " grown first, with the options of treewise grow.",
)
@click.argument("source", metavar="MODEL")
@tree_option
@option(
    "--sort",
    type=click.Choice(_SORTS),
    metavar="NAME",
    default="support",
    section=SHOWN,
    help="Sort by support (rows), probability, lift, value (regression) or node (default support).",
)
@option(
    "--class",
    "cls",
    metavar="CLASS",
    section=SHOWN,
    help="Report the probability of this class (default: the predicted one).",
)
@support_option("Minimum number, or share, of rows of a rule.")
@confidence_option
@top_option("rules")
@all_option("rule")
@result_options
@grow_options
@text_options
def command(
    source: str,
    member: int | None,
    sort: str,
    cls: str | None,
    min_support: float,
    confidence: float,
    top: int | None,
    show_all: bool,
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Show the rules of a tree."""
    check_output(output, source)
    text_format = take_text_options(options)
    grow_params = take_grow_options(options)
    if is_model(source, grow_params):
        model = take_model(source, grow_params, member)
    else:
        model = grow_source(source, grow_params, text_format, member)[1]
    rules = model.tree.rules(sort, cls=cls, min_support=min_support, confidence=confidence)
    present(rules if top is None else rules[:top], form, output, row_limit(rules, show_all, output))
