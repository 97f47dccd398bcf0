"""``treewise curve``: training error against validation error along one parameter, as a chart and as CSV."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from treewise._lib.text import format_exact, plural, safe
from treewise.cli.growing import prepare_and_report
from treewise.cli.inputs import read_data
from treewise.cli.options import grow_options_without, take_grow_options
from treewise.cli.output import check_output, guard_csv, print_text, remark, write_output
from treewise.cli.param_types import read_numbers, write_method
from treewise.cli.render import check_picture, is_picture, json_text, picture_content
from treewise.cli.verb import (
    LOSS_HELP,
    PRUNING,
    REPEATS_HELP,
    VALIDATION,
    WORDS,
    format_option,
    image_options,
    option,
    output_option,
    quiet_option,
    take_image_options,
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
        "treewise curve penguins",
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
    default="pruning",
    metavar="PARAMETER",
    section=VALIDATION,
    help="pruning, ccp_alpha, max_leaf_nodes, max_depth, min_samples_split, min_samples_leaf or rows (default pruning:"
    " the trees that --pruning cv chooses from).",
)
@option("--values", type=read_numbers, metavar="A,B,…", section=VALIDATION, help="Evaluate only these values.")
@option("--loss", metavar="LOSS", section=VALIDATION, help=LOSS_HELP)
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
@option("--repeats", type=int, metavar="N", section=VALIDATION, help=REPEATS_HELP)
@grow_options_without(WORDS, PRUNING, "search")
@text_options
@format_option("text", "csv", "json")
@image_options
@output_option("Write all points to a CSV file, or draw them: .png, .svg or .pdf.")
@quiet_option
def command(
    data: str,
    over: str,
    values: list[float] | None,
    loss: str | None,
    validation: str | None,
    folds: int | None,
    repeats: int | None,
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
    text_format, image = take_text_options(options), take_image_options(options, is_picture(output))
    grow_params = take_grow_options(options)
    training_set = prepare_and_report(data, grow_params, text_format, quiet)
    validation_data: Any = validation
    if validation is not None:
        share = _read_share(validation)
        validation_data = (
            read_data(validation, grow_params.get("na_values", ()), text_format) if share is None else share
        )
    with progress_bar("curve") as progress:
        seed, truth = grow_params.get("random_state", 0), known_truth(data)
        validation_plan = Validation(validation_data, folds, truth, seed, 1 if repeats is None else repeats, loss)
        curve = curve_from_training_set(
            training_set, over, validation_plan, values, grow_params.get("n_jobs"), progress
        )
    if form == "text" and output != "-":
        page = curve.page(lambda chosen: _grow_command(data, grow_params, chosen))
        print_text(page if quiet else f"\n{page}")
    elif form == "json":
        write_output(json_text(curve.to_dict()), None)
    else:
        write_output(guard_csv(curve.to_csv()), None)
    if output is not None and output != "-":
        write_output(
            picture_content(curve.draw(**image), output) if is_picture(output) else guard_csv(curve.to_csv()), output
        )
        if not quiet:
            remark("", f"{plural(len(curve), 'point')} → {safe(output)}")


def _grow_command(data: str, options: dict[str, Any], chosen: dict[str, Any]) -> str:
    """Return the command that grows a chosen tree; options with a notation of their own are left to the reader (…)."""
    words = ["treewise", "grow", data]
    for name, value in options.items():
        flag = {"na_values": "--na"}.get(name, f"--{name.replace('_', '-')}")
        if isinstance(value, bool):
            words += [flag] if value else []
        elif name != "n_jobs" and isinstance(value, str | int | float):
            words += [flag, str(value)]
        elif isinstance(value, tuple | list) and all(isinstance(item, str) for item in value):
            words += [word for item in value for word in (flag, item)]
        elif name != "n_jobs":
            words.append("…")
    for name, value in chosen.items():
        words += [f"--{name.replace('_', '-')}", write_method(value) if name == "pruning" else format_exact(value)]
    return " ".join(word if word == "…" else shlex.quote(word) for word in words)


def _read_share(text: str) -> float | None:
    """Tell a share from the name of a file."""
    if Path(text).exists():
        return None
    try:
        return float(text)
    except ValueError:
        return None
