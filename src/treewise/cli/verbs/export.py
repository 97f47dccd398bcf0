"""``treewise export``: a tree in another form, printed or in a file."""

from __future__ import annotations

import click

from treewise._lib.text import plural, safe
from treewise.cli.inputs import read_model
from treewise.cli.output import check_output, print_text, remark, write_output
from treewise.cli.verb import format_option, output_option, tree_option, verb
from treewise.formats.export.export import FORMATS

_DEFAULT = "if-else"
_NAMES = (_DEFAULT, *(name for name in FORMATS if name != _DEFAULT))


@verb(
    "export",
    "MODEL [options]",
    examples=(
        "treewise export model.json",
        "treewise export model.json --format text -o tree.txt",
    ),
    about=" ".join(f"{name} {FORMATS[name].description}." for name in _NAMES),
)
@click.argument("model")
@tree_option
@format_option(*_NAMES)
@output_option("Write the result to a file.")
def command(model: str, member: int | None, form: str, output: str | None) -> None:
    """Write a tree."""
    check_output(output, model)
    tree = read_model(model, member=member).tree
    written = tree.export(form)
    if output in (None, "-"):
        print_text(written.rstrip("\n"))
    else:
        write_output(written, output)
        remark("", f"{plural(tree.n_leaves, 'leaf', 'leaves')} → {safe(output)}")
