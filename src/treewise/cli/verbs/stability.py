"""``treewise stability``: how stable the structure of a tree is: margins and bootstrap samples."""

from __future__ import annotations

from typing import Any

import click

from treewise.cli.growing import prepare_and_report, read_validation
from treewise.cli.options import grow_options, take_grow_options
from treewise.cli.output import check_output, remark
from treewise.cli.render import present, result_options
from treewise.cli.verb import VALIDATION, option, quiet_option, take_text_options, text_options, verb


@verb(
    "stability",
    "DATA --target COLUMN [options]",
    examples=(
        "treewise stability penguins --max-leaf-nodes 4",
        "treewise stability yours.csv --target COLUMN --pruning cv --resamples 200",
        "treewise stability yours.csv --target COLUMN --max-depth 3 -o stability.csv",
    ),
    about="Grows the tree, with the options of treewise grow, and measures at each node the margin over the"
    " best split of another column. Then grows trees on bootstrap samples to see which splits recur, how"
    " far thresholds move and how often predictions agree.",
)
@click.argument("data")
@option(
    "--resamples",
    type=int,
    default=100,
    metavar="N",
    section=VALIDATION,
    help="Number of bootstrap samples (default 100).",
)
@grow_options
@text_options
@result_options
@quiet_option
def command(data: str, resamples: int, form: str | None, output: str | None, quiet: bool, **options: Any) -> None:
    """Grow, resample, compare, show."""
    from treewise.cli.output import progress_bar
    from treewise.explain.stability.stability import check_resamples, stability_of
    from treewise.train.grow import PRUNING, pruning_for

    check_output(output, data)
    check_resamples(resamples)
    text_format = take_text_options(options)
    grow_params = take_grow_options(options)
    grow_params = read_validation(grow_params, text_format)
    pruning = {name: grow_params.pop(name) for name in PRUNING if name in grow_params}
    plan = pruning_for(grow_params.get("preset"), **pruning)
    training_set = prepare_and_report(data, grow_params, text_format, quiet)
    with progress_bar("resamples") as progress:
        result = stability_of(
            training_set, plan, resamples=resamples, n_jobs=grow_params.get("n_jobs"), progress=progress
        )
    if not quiet:
        remark("", "")
    present(result, form, output)
