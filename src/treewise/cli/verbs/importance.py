"""``treewise importance``: which columns matter to a tree, from the tree alone or on a table with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import safe
from treewise.cli.inputs import read_model, read_model_and_data
from treewise.cli.output import check_output, remark, write_output
from treewise.cli.render import PICTURE_ENDINGS, check_picture, is_picture, picture_content, present, result_options
from treewise.cli.verb import (
    SHOWN,
    drop_option,
    estimate_option,
    image_options,
    jobs_option,
    na_option,
    option,
    take_image_options,
    take_text_options,
    target_option,
    text_options,
    tree_option,
    verb,
    weight_option,
)
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.evaluate.importances import Importances


@verb(
    "importance",
    "MODEL [options]\nMODEL DATA [options]",
    examples=(
        "treewise grow outlier -o model.json && treewise importance model.json",
        "treewise grow outlier -o model.json && treewise importance model.json outlier_validation",
        "treewise grow outlier -o model.json && treewise importance model.json -o importance.png",
        "treewise importance model.json new.csv --repeats 50 -o importance.csv",
    ),
    about="Without DATA: the total decrease of impurity by the splits on each column, which favours columns"
    " with many distinct values. With DATA, preferably held-out rows: permutation importance, the"
    " increase of the error when a column is shuffled, with a confidence interval.",
)
@click.argument("model")
@click.argument("data", required=False)
@tree_option
@option(
    "--measure",
    metavar="NAME",
    section=SHOWN,
    help="error, cost or log_loss; for regression rmse or mae (default error, cost if the tree has costs, rmse).",
)
@option("--repeats", type=int, metavar="N", section=SHOWN, help="Number of shuffles per column (default 10).")
@option(
    "--confidence", type=float, metavar="X", section=SHOWN, help="Confidence level of the intervals (default 0.95)."
)
@option("--random-state", type=int, metavar="N", section=SHOWN, help="Seed of the shuffles (default 0).")
@jobs_option
@target_option()
@weight_option
@drop_option
@na_option
@text_options
@estimate_option
@image_options
@result_options
def command(
    model: str,
    data: str | None,
    member: int | None,
    na_values: Sequence[str],
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Measure, and show."""
    from treewise.cli.output import progress_bar
    from treewise.evaluate.importances import importances

    is_drawn = form is None and is_picture(output)
    text_format, image = take_text_options(options), take_image_options(options, is_drawn)
    typed = {name: value for name, value in options.items() if value is not None and value is not False}
    if data is None:
        check_output(output, model)
        for name in typed:
            raise ParameterError(f"--{name.replace('_', '-')} needs a table: treewise importance MODEL DATA.")
        check_picture(output)
        loaded = read_model(model, member=member)
        return _show(
            importances(loaded.tree) if loaded.ensemble is None else loaded.ensemble.importances(), form, output, image
        )
    check_output(output, model, data)
    check_picture(output)
    loaded, table = read_model_and_data(model, data, na_values, options["target"], text_format, member)
    with progress_bar("importance") as progress:
        if loaded.ensemble is None:
            result = importances(loaded.tree, table, progress=progress, **typed)
        else:
            loaded.refuse_for_ensemble(estimate=options["estimate"])
            result = loaded.ensemble.importances(table, progress=progress, **typed)
    return _show(result, form, output, image)


def _show(result: Importances, form: str | None, output: str | None, image: dict[str, Any]) -> None:
    """Print the result, write it, or draw it."""
    if form is None and output is not None and is_picture(output):
        write_output(picture_content(result.draw(**image), output), output)
        return remark("", f"→ {safe(output)}")
    return present(result, form, output, picture_endings=PICTURE_ENDINGS)
