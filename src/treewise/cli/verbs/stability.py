"""``treewise stability``: how stable the structure of a tree is: margins and bootstrap samples."""

from __future__ import annotations

from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import prepare_and_report, read_validation
from treewise.cli.inputs import looks_like_model, read_model_and_data, refuse_growing
from treewise.cli.options import grow_options, take_grow_options, take_words
from treewise.cli.output import check_output, remark
from treewise.cli.render import present, result_options
from treewise.cli.verb import VALIDATION, option, quiet_option, take_text_options, text_options, verb
from treewise.errors import ParameterError


@verb(
    "stability",
    "MODEL DATA [options]\nDATA --target COLUMN [options]",
    examples=(
        "treewise stability penguins --max-leaf-nodes 4",
        "treewise grow penguins --max-leaf-nodes 4 -o model.json && treewise stability model.json penguins",
        "treewise stability yours.csv --target COLUMN --pruning cv --resamples 200",
        "treewise stability yours.csv --target COLUMN --max-depth 3 -o stability.csv",
    ),
    about="DATA is the table the tree was grown on; given a table alone, the tree is grown with the options of"
    " treewise grow. Measures at each node the margin over the"
    " best split of another column. Then grows trees on bootstrap samples to see which splits recur, how"
    " far thresholds move and how often predictions agree.",
)
@click.argument("source", metavar="MODEL")
@click.argument("data", metavar="DATA", required=False)
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
def command(
    source: str,
    data: str | None,
    resamples: int,
    form: str | None,
    output: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Grow, resample, compare, show."""
    from treewise.cli.output import progress_bar
    from treewise.explain.stability.stability import check_resamples, stability_like, stability_of
    from treewise.train.grow import PRUNING, pruning_for

    check_output(output, source, data)
    check_resamples(resamples)
    text_format = take_text_options(options)
    grow_params = take_grow_options(options)
    if data is not None or looks_like_model(source):
        if data is None:
            raise ParameterError(
                f"DATA is missing, the table the tree was grown on: treewise stability {safe(source)} DATA."
            )
        n_jobs, na_values = grow_params.pop("n_jobs", None), grow_params.pop("na_values", ())
        refuse_growing(source, grow_params)
        loaded, table = read_model_and_data(source, data, na_values, text_format=text_format)
        with progress_bar("resamples") as progress:
            result = stability_like(loaded.tree, table, resamples, n_jobs=n_jobs, progress=progress)
        return present(result, form, output)
    take_words(grow_params)
    grow_params.pop("round_thresholds", None)
    grow_params = read_validation(grow_params, text_format)
    pruning = {name: grow_params.pop(name) for name in PRUNING if name in grow_params}
    plan = pruning_for(grow_params.get("preset"), **pruning)
    training_set = prepare_and_report(source, grow_params, text_format, quiet)
    with progress_bar("resamples") as progress:
        result = stability_of(
            training_set, plan, resamples=resamples, n_jobs=grow_params.get("n_jobs"), progress=progress
        )
    if not quiet:
        remark("", "")
    return present(result, form, output)
