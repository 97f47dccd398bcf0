"""``treewise curve``: training error against validation error along one parameter, as a chart and as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from treewise._lib.text import plural, safe
from treewise.cli.growing import prepare_and_report
from treewise.cli.inputs import read_data
from treewise.cli.options import grow_options_without, take_grow_options
from treewise.cli.output import check_output, print_text, remark, write_output
from treewise.cli.param_types import read_numbers
from treewise.cli.render import check_picture, is_picture, json_text, picture_content
from treewise.cli.verb import (
    CUT,
    VALIDATION,
    format_option,
    option,
    output_option,
    quiet_option,
    take_text_options,
    text_options,
    verb,
)


def _read_over(text: str) -> str:
    """Read the name of a parameter that can be followed."""
    from treewise.evaluate.validation_curve.curve import OVER

    if text not in OVER:
        raise click.BadParameter(f'"{text}" is not one of {", ".join(OVER)}.')
    return text


@verb(
    "curve",
    "DATA --target COLUMN --over PARAMETER [options]",
    examples=(
        "treewise curve penguins --over max_leaf_nodes",
        "treewise curve noisy --over max_leaf_nodes --folds 0",
        "treewise curve yours.csv --target COLUMN --over ccp_alpha -o curve.csv",
        "treewise curve yours.csv --target COLUMN --over rows --validation 0.3",
        "treewise curve penguins -o curve.png",
    ),
    about="Helps to choose the size of a tree by its error on held-out rows. For max_leaf_nodes, max_depth,"
    " min_samples_split and ccp_alpha, one tree per fold gives all values; for min_samples_leaf and"
    " rows, a tree is grown for each value. The built-in table noisy has a known true error.",
)
@click.argument("data")
@option(
    "--over",
    type=_read_over,
    default="max_leaf_nodes",
    metavar="PARAMETER",
    section=VALIDATION,
    help="max_leaf_nodes, max_depth, min_samples_split, ccp_alpha, min_samples_leaf or rows (default max_leaf_nodes).",
)
@option("--values", type=read_numbers, metavar="A,B,…", section=VALIDATION, help="Evaluate only these values.")
@option(
    "--validation",
    metavar="FILE|SHARE",
    section=VALIDATION,
    help="Validation table, or the share of rows to hold out, such as 0.3.",
)
@option(
    "--folds",
    type=int,
    metavar="N",
    section=VALIDATION,
    help="Number of folds (default 10); 0 uses only the true error.",
)
@grow_options_without(CUT)
@text_options
@format_option("text", "csv", "json")
@output_option("Write all points to a CSV file, or draw them: .png, .svg or .pdf.")
@quiet_option
def command(
    data: str,
    over: str,
    values: list[float] | None,
    validation: str | None,
    folds: int | None,
    form: str,
    output: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Follow the errors, draw them, write them."""
    from treewise.cli.output import progress_bar
    from treewise.evaluate.validation_curve.curve import Validation, curve_from_training_set, known_truth

    check_output(output, data, validation)
    check_picture(output)
    text_format = take_text_options(options)
    grow_params = take_grow_options(options)
    training_set = prepare_and_report(data, grow_params, text_format, quiet)
    validation_data: Any = validation
    if validation is not None:
        share = _read_share(validation)
        validation_data = (
            read_data(validation, grow_params.get("na_values", ()), text_format) if share is None else share
        )
    with progress_bar("curve") as progress:
        validation_plan = Validation(validation_data, folds, known_truth(data), grow_params.get("random_state", 0))
        curve = curve_from_training_set(
            training_set, over, validation_plan, values, grow_params.get("n_jobs"), progress
        )
    if form == "text" and output != "-":
        print_text(str(curve) if quiet else f"\n{curve}")
    elif form == "json":
        write_output(json_text(curve.to_dict()), None)
    else:
        write_output(curve.to_csv(), None)
    if output is not None and output != "-":
        write_output(picture_content(curve.draw(), output) if is_picture(output) else curve.to_csv(), output)
        if not quiet:
            remark("", f"{plural(len(curve), 'point')} → {safe(output)}")


def _read_share(text: str) -> float | None:
    """Tell a share from the name of a file."""
    if Path(text).exists():
        return None
    try:
        return float(text)
    except ValueError:
        return None
