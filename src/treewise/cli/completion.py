"""Shell completion: verbs, options, choices, files, built-in tables and the columns of DATA.

The shell runs ``treewise`` with ``_TREEWISE_COMPLETE`` set and the command line so far in other variables (the protocol
of click). Nothing here may print or fail: a shell shows whatever goes wrong in the middle of the line being typed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, shell_complete, split_arg_string

COMPLETION_VARIABLE = "_TREEWISE_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_HEADER_BYTES = 1 << 16  # enough for the first line of a table
_CHOICES = re.compile(r"[a-z0-9_]+(\|[a-z0-9_]+)+")  # the placeholder of an option whose values are fixed


def complete(app: click.Command, request: str) -> int:
    """Answer a shell: its script (``bash_source``), or completions of the line being typed (``bash_complete``)."""
    try:
        return shell_complete(app, {}, "treewise", COMPLETION_VARIABLE, request)
    except Exception:
        return 1


class TableOrFile(click.types.StringParamType):
    """The type of an argument that names a table or a model: a file, or a built-in table."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete names of built-in tables, and leave files to the shell."""
        tables = [] if param.name == "model" else _starting_with(incomplete, _table_names())
        return tables or [CompletionItem(incomplete, type="file")]


def option_completions(option: click.Option, incomplete: str) -> list[CompletionItem]:
    """Complete the value of an option, by its placeholder in ``--help``."""
    placeholder = option.metavar or ""
    if placeholder == "FILE":
        return [CompletionItem(incomplete, type="file")]
    if _CHOICES.fullmatch(placeholder):
        return _starting_with(incomplete, placeholder.split("|"))
    if placeholder == "COLUMN":
        return _starting_with(incomplete, _columns_on_the_line())
    return _starting_with(incomplete, _values_of_setting(option.name or ""))


def _starting_with(incomplete: str, values: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(value) for value in values if value.startswith(incomplete)]


def _table_names() -> Iterable[str]:
    from treewise.datasets import NAMES

    return NAMES


def _values_of_setting(name: str) -> Iterable[str]:
    if name == "criterion":
        from treewise.train.criteria import CRITERIA

        return CRITERIA
    if name == "pruning":
        from treewise.prune.prune import METHODS

        return ("none", *METHODS)
    from dataclasses import fields

    from treewise.train.settings import Choice, Settings

    types = (each.metadata["setting"].type for each in fields(Settings) if each.name == name)
    return next((type.words for type in types if isinstance(type, Choice)), ())


def _columns_on_the_line() -> list[str]:
    """Return the columns of the first table on the command line.

    The words come from the shell: click has not parsed an option whose value is still missing, nor what is before it.
    """
    words = split_arg_string(os.environ.get("COMP_WORDS", ""))
    tables = (_columns_of(word) for word in words[2:] if not word.startswith("-"))
    return next(filter(None, tables), [])


def _columns_of(name: str) -> list[str]:
    path = Path(name)
    if not path.is_file():
        from treewise import datasets

        return list(datasets.load(name).columns) if name in datasets.NAMES else []
    if path.suffix == ".parquet":
        from treewise.data.parquet_file import parquet_columns

        return parquet_columns(path)
    from treewise.data.csv_file import CsvFormat, csv_header

    if path.suffix == ".gz":
        import gzip

        with gzip.open(path) as file:
            beginning = file.read(_HEADER_BYTES)
    else:
        with path.open("rb") as file:
            beginning = file.read(_HEADER_BYTES)
    separator = "\t" if ".tsv" in path.suffixes else None
    return [] if path.suffix == ".json" else csv_header(beginning, path.name, CsvFormat(separator)).names


def default_shell() -> str | None:
    """Return the user's shell, if its completion is known."""
    name = os.path.basename(os.environ.get("SHELL", ""))
    return name if name in SHELLS else None
