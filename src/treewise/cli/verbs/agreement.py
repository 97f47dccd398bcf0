"""``treewise agreement``: how far many trees agree on the rows of a table, those they quarrel about first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from treewise.cli.inputs import read_model_and_data
from treewise.cli.output import check_place
from treewise.cli.render import most_rows, present, showing_options
from treewise.cli.verb import SHOWN, all_option, na_option, option, take_text_options, text_options, verb


@verb(
    "agreement",
    "MODEL DATA [options]",
    examples=(
        "treewise grow penguins --ensemble forest -o forest.json && treewise agreement forest.json penguins --top 5",
        "treewise agreement forest.json new.csv -o agreement.csv",
    ),
    about="MODEL holds many trees (treewise grow --ensemble …). Of each row of DATA: what they say together, and how"
    " much of the say is for each class; of numbers, how far apart the trees are. A row they quarrel about lies near a"
    " border, or is like few rows the trees have seen. No true answers are needed.",
)
@click.argument("model")
@click.argument("data")
@option("--top", type=click.IntRange(1), metavar="N", section=SHOWN, help="Show the first N rows; data holds all.")
@all_option("row")
@na_option
@text_options
@showing_options
def command(
    model: str,
    data: str,
    top: int | None,
    whole: bool,
    na_values: Sequence[str],
    form: str | None,
    output: str | None,
    **text: Any,
) -> None:
    """Ask all trees, and show."""
    from treewise.cli.output import bar

    check_place(output, model, data)
    found, table = read_model_and_data(model, data, na_values, form=take_text_options(text))
    trees = found.trees
    with bar("agreement") as progress:
        result = trees.agreement(table, progress=progress)
    present(result, form, output, top or most_rows(result, whole, output))
