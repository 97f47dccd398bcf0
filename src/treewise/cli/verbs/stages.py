"""``treewise stages``: the error of an ensemble by number of trees, as a table or a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.inputs import read_data, read_model_and_data
from treewise.cli.output import check_output, remark, write_output
from treewise.cli.render import (
    PICTURE_ENDINGS,
    check_picture,
    is_picture,
    picture_content,
    present,
    result_options,
    row_limit,
)
from treewise.cli.verb import (
    VALIDATION,
    all_option,
    image_options,
    na_option,
    option,
    take_image_options,
    take_text_options,
    target_option,
    text_options,
    verb,
    weight_option,
)


@verb(
    "stages",
    "MODEL DATA [options]",
    examples=(
        "treewise grow penguins --ensemble adaboost -o boosted.json && treewise stages boosted.json penguins",
        "treewise stages forest.json yours.csv --test new.csv -o stages.csv",
        "treewise stages forest.json yours.csv --test new.csv -o stages.png",
    ),
    about="MODEL is an ensemble (treewise grow --ensemble …). Shows the error of the first tree, the first"
    " two, and so on: how many trees are enough, and whether further rounds of boosting still help on"
    " held-out rows (--test).",
)
@click.argument("model")
@click.argument("data")
@option("--test", metavar="DATA", section=VALIDATION, help="Held-out table.")
@target_option("the one the trees were grown for")
@weight_option
@all_option("stage")
@na_option
@text_options
@image_options
@result_options
def command(
    model: str,
    data: str,
    test: str | None,
    target: str | None,
    sample_weight: str | None,
    show_all: bool,
    na_values: Sequence[str],
    form: str | None,
    output: str | None,
    **options: Any,
) -> None:
    """Predict by one tree after another, and show or draw."""
    from treewise.cli.output import progress_bar

    check_output(output, model, data, test)
    check_picture(output)
    is_drawn = form is None and is_picture(output)
    text_format, image = take_text_options(options), take_image_options(options, is_drawn)
    loaded, table = read_model_and_data(model, data, na_values, text_format=text_format)
    ensemble = loaded.required_ensemble
    test_table = None if test is None else read_data(test, na_values, text_format)
    with progress_bar("stages") as progress:
        result = ensemble.stages(table, target, test=test_table, sample_weight=sample_weight, progress=progress)
    if is_drawn and output is not None:
        write_output(picture_content(result.draw(**image), output), output)
        return remark("", f"→ {safe(output)}")
    return present(result, form, output, row_limit(result, show_all, output), PICTURE_ENDINGS)
