"""``treewise extend``: add trees to an ensemble; the result is the same as growing all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from treewise._lib.text import safe
from treewise.cli.growing import GrowthReport
from treewise.cli.inputs import check_training_table, read_model_and_data
from treewise.cli.output import check_ensemble_ending, check_output, remark, save_ensemble
from treewise.cli.records import print_model_record, refuse_json_beside_model
from treewise.cli.render import show_ensemble
from treewise.cli.verb import (
    ENSEMBLES,
    all_option,
    format_option,
    jobs_option,
    na_option,
    option,
    output_option,
    quiet_option,
    take_text_options,
    text_options,
    verb,
    weight_option,
)
from treewise.errors import ParameterError


@verb(
    "extend",
    "MODEL DATA --trees N -o MODEL [options]",
    examples=(
        "treewise grow penguins --ensemble forest --n-estimators 20 -o forest.json"
        " && treewise extend forest.json penguins --trees 30 -o forest.json",
        "treewise extend boosted.json yours.csv --trees 50 -o boosted100.json",
    ),
    about="MODEL is an ensemble (treewise grow --ensemble …), and DATA is the table it was grown on. The"
    " existing trees do not change; the result is identical to growing all trees at once.",
)
@click.argument("model")
@click.argument("data")
@option("--trees", type=int, required=True, metavar="N", section=ENSEMBLES, help="Number of trees to add.")
@na_option
@text_options
@weight_option
@jobs_option
@all_option("round of boosting")
@output_option("Save all trees as one model file (.json); it may be MODEL itself.")
@format_option("text", "json")
@quiet_option
def command(
    model: str,
    data: str,
    trees: int,
    na_values: Sequence[str],
    sample_weight: str | None,
    n_jobs: int | None,
    show_all: bool,
    output: str | None,
    form: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Grow further, show, save."""
    from treewise.cli.output import progress_bar

    if output is None:
        raise ParameterError("extend: -o FILE says where to save all trees; it may be MODEL itself.")
    check_output(output, data)
    refuse_json_beside_model(form, output)
    check_ensemble_ending(output)
    loaded, table = read_model_and_data(model, data, na_values, text_format=take_text_options(options))
    before = loaded.required_ensemble
    check_training_table(before, table)
    report = GrowthReport(table, quiet)
    with progress_bar("grow") as progress:
        ensemble = before.extend(table, trees, sample_weight=sample_weight, n_jobs=n_jobs, progress=progress)
    report.finish_ensemble(ensemble, known_notes=before.notes, advise=False)
    save_ensemble(ensemble, output)  # before the page, whose reader may leave early
    if output == "-":
        return None
    if form == "json":
        return print_model_record(ensemble, output)
    show_ensemble(ensemble, show_all)
    if not quiet:
        remark("", f"saved {safe(output)}")
    return None
