"""``treewise agreement``: how far the trees of an ensemble agree on each row, the most contested first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from treewise.cli.inputs import read_model_and_data
from treewise.cli.output import check_output
from treewise.cli.render import present, result_options, row_limit
from treewise.cli.verb import SHOWN, all_option, na_option, option, take_text_options, text_options, verb


@verb(
    "agreement",
    "MODEL DATA [options]",
    examples=(
        "treewise grow penguins --ensemble forest -o forest.json && treewise agreement forest.json penguins --top 5",
        "treewise agreement forest.json new.csv -o agreement.csv",
    ),
    about="MODEL is an ensemble (treewise grow --ensemble …). For each row of DATA: the prediction and the"
    " vote share of each class; for regression, the spread of the trees. Rows are sorted by"
    " disagreement, most contested first. Contested rows lie near a decision boundary or are unlike the"
    " training rows. No true answers are needed.",
)
@click.argument("model")
@click.argument("data")
@option(
    "--top",
    type=click.IntRange(1),
    metavar="N",
    section=SHOWN,
    help="Show the first N rows (csv and json contain all).",
)
@all_option("row")
@na_option
@text_options
@result_options
def command(
    model: str,
    data: str,
    top: int | None,
    show_all: bool,
    na_values: Sequence[str],
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Predict by every tree, and show."""
    from treewise.cli.output import progress_bar

    check_output(output, model, data)
    loaded, table = read_model_and_data(model, data, na_values, text_format=take_text_options(options))
    ensemble = loaded.required_ensemble
    with progress_bar("agreement") as progress:
        result = ensemble.agreement(table, progress=progress)
    present(result, form, output, row_limit(result, show_all, output, top))
