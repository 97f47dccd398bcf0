"""``treewise export``: a model in another form, printed or in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from treewise._lib.text import plural, safe
from treewise.cli.inputs import read_model
from treewise.cli.output import check_output, print_text, remark, write_file, write_output
from treewise.cli.param_types import in_options
from treewise.cli.verb import option, output_option, tree_option, verb
from treewise.errors import ParameterError
from treewise.formats.export.export import FORMATS, ExportFormat, format_of_ending

_DEFAULT = "if-else"
_NAMES = (_DEFAULT, *(name for name in FORMATS if name != _DEFAULT))


@verb(
    "export",
    "MODEL [options]",
    examples=(
        "treewise export model.json",
        "treewise export model.json --format text -o tree.txt",
        "treewise export model.json -o scores.sql --option dialect=duckdb --option table=sales.orders",
    ),
    about=" ".join(f"{name} {FORMATS[name].description}." for name in _NAMES),
)
@click.argument("model")
@tree_option
@option(
    "--format",
    "form",
    type=click.Choice(_NAMES),
    metavar="FORMAT",
    help=f"{', '.join(_NAMES)} (default: by the ending of FILE; {_DEFAULT} without one).",
)
@option(
    "--option",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the format, as in docs/shipping-a-tree.md and docs/exchange-formats.md; repeat for several.",
)
@output_option("Write the result to a file, or several files to a folder.")
def command(model: str, member: int | None, form: str | None, given: tuple[str, ...], output: str | None) -> None:
    """Write a model."""
    check_output(output, model)
    form = form or _format_of(output)
    loaded = read_model(model, member=member)
    chosen = loaded.model if FORMATS[form].ensembles else loaded.tree
    try:
        written = chosen.export(form, **_options(FORMATS[form], given))
    except ParameterError as error:
        typed = {name: f"--option {name}=" for name in FORMATS[form].options}
        raise ParameterError(in_options(error.message, **typed)) from None
    if isinstance(written, dict):
        _write_folder(written, output, form)
    elif output in (None, "-") and FORMATS[form].reads == "tree":
        print_text(written.rstrip("\n"))
        return
    else:
        write_output(written, output)
    if output not in (None, "-"):
        trees = chosen.trees
        size = plural(trees[0].n_leaves, "leaf", "leaves") if len(trees) == 1 else plural(len(trees), "tree")
        remark("", f"{size} → {safe(output)}")


def _format_of(output: str | None) -> str:
    """Return the format for the ending of a file; an ending that names none, such as .xls, is refused."""
    format_name = format_of_ending(output or "")
    ending = Path(output or "").suffix
    if format_name is None and ending:
        known = [each for format in FORMATS.values() for each in format.endings]
        raise ParameterError(
            f"--output {safe(output)}: the ending {safe(ending)} names no format.",
            hint=f"Name one with --format. Endings: {', '.join(known)}.",
        )
    return format_name or _DEFAULT


def _options(format: ExportFormat, given: tuple[str, ...]) -> dict[str, Any]:
    """Return the options as parameters; those whose default is a number or a truth value are converted."""
    options: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise ParameterError(f"--option {safe(text)}: write NAME=VALUE.")
        key = key.strip().replace("-", "_")
        default = format.options.get(key)
        if isinstance(default, bool):
            if value.lower() not in ("true", "false"):
                raise ParameterError(f"--option {safe(text)}: must be true or false.")
            options[key] = value.lower() == "true"
        elif isinstance(default, int):
            if not value.strip().lstrip("-").isdecimal():
                raise ParameterError(f"--option {safe(text)}: must be a whole number.")
            options[key] = int(value)
        else:
            options[key] = value
    return options


def _write_folder(files: dict[str, str], output: str | None, form: str) -> None:
    if output in (None, "-"):
        raise ParameterError(f"{form} consists of {plural(len(files), 'file')}. Name a folder with -o.")
    folder = Path(str(output)).expanduser()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_file(folder / path, text.encode())
