"""``treewise verify``: run an export in its real engine and compare it with the model."""

from __future__ import annotations

import click

from treewise.cli.inputs import read_data, read_model
from treewise.cli.output import print_text, progress_bar, write_output
from treewise.cli.render import json_text
from treewise.cli.verb import estimate_option, format_option, option, tree_option, verb
from treewise.formats.verify.engines.registry import ENGINES
from treewise.formats.verify.verify import DEFAULT_ROWS, verify_export


@verb(
    "verify",
    "MODEL EXPORT [DATA] [options]",
    examples=(
        "treewise export model.json -o model.py && treewise verify model.json model.py",
        "treewise verify model.json scores.sql new.csv --rows 100000",
    ),
    about="EXPORT is a file or folder that treewise export wrote, DATA a table whose rows are compared as well."
    " Prints how many rows agree; the exit status is 1 if any row does not, and 2 if no engine ran it.",
)
@click.argument("model")
@click.argument("exported", metavar="EXPORT")
@click.argument("data", required=False)
@tree_option
@option("--engine", metavar="NAME", help=f"Engine to run: {', '.join(ENGINES)} (default: every one for this format).")
@option(
    "--rows", type=click.IntRange(1), metavar="N", default=DEFAULT_ROWS, help=f"Fuzzed rows (default {DEFAULT_ROWS})."
)
@option("--random-state", type=int, metavar="SEED", default=0, help="Seed of the fuzzed rows (default 0).")
@estimate_option
@format_option("text", "json")
def command(
    model: str,
    exported: str,
    data: str | None,
    member: int | None,
    engine: str | None,
    rows: int,
    random_state: int,
    estimate: str | None,
    form: str,
) -> None:
    """Print how many rows agree; exit with 1 if any does not."""
    loaded = read_model(model, member=member).model
    table = None if data is None else read_data(data, loaded.na_values)
    with progress_bar("rows") as progress:
        verification = verify_export(
            loaded,
            exported,
            table,
            engine=engine,
            rows=rows,
            random_state=random_state,
            estimate=estimate,
            progress=progress,
        )
    if form == "json":
        write_output(json_text(verification.to_dict()), None)
    else:
        print_text(str(verification))
    if not verification.ok:
        raise click.exceptions.Exit(1)
