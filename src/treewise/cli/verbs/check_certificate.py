"""``treewise check-certificate``: check the proof of an optimal tree, without the search."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from treewise.cli.inputs import read_data
from treewise.cli.output import print_text, write_output
from treewise.cli.render import json_text
from treewise.cli.verb import format_option, take_text_options, text_options, verb


@verb(
    "check-certificate",
    "FILE DATA [options]",
    examples=(
        "treewise optimal penguins --target species --max-depth 2 --certificate proof.json",
        "treewise check-certificate proof.json penguins",
    ),
    about="FILE is what treewise optimal --certificate wrote, DATA the table. The checker is plain Python and takes"
    " longer than the search: seconds to minutes. The exit status is 1 if the file proves nothing about the table.",
)
@click.argument("file")
@click.argument("data")
@text_options
@format_option("text", "json")
def command(file: str, data: str, form: str, **options: Any) -> int:
    """Print what is proven; exit with 1 if nothing is."""
    from treewise.train.optimal.certificate import check_certificate

    verdict = check_certificate(file, read_data(data, (), take_text_options(options)))
    if form == "json":
        write_output(json_text(asdict(verdict)), None)
    else:
        print_text(verdict.in_words())
    return 0 if verdict.ok else 1
