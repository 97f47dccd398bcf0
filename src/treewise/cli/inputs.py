"""MODEL and DATA: what may stand in their places, and how it is read.

Used by the verbs. MODEL is a saved tree or ensemble (``.json``), or a tree written
by hand (``.txt``); DATA is anything that ``treewise.data.table.read`` reads by name, or rows as JSON. ``-`` is
standard input for either.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewise._lib.text import plural, safe
from treewise.cli.options import GROW_OPTIONS, take_words
from treewise.cli.output import remark
from treewise.cli.param_types import in_options
from treewise.cli.verb import TextOptions
from treewise.errors import ColumnError, DataError, ModelFormatError, ParameterError, ParseError, did_you_mean

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.ensemble.model import Ensemble
    from treewise.tree.tree import Tree

_MODEL_ENDINGS = (".json", ".txt")
_TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz")
_DEFAULT_TEXT = TextOptions()
_WHAT_A_MODEL_IS = "A model is made by: treewise grow DATA --target COLUMN -o model.json"


@dataclass(frozen=True)
class LoadedModel:
    """A tree or an ensemble, and the file it was read from."""

    name: str
    model: Tree | Ensemble
    content: bytes

    @property
    def ensemble(self) -> Ensemble | None:
        """The ensemble; None if the file contains a single tree."""
        from treewise.tree.tree import Tree

        return None if isinstance(self.model, Tree) else self.model

    @property
    def tree(self) -> Tree:
        """The tree, for a verb that takes a single one; an ensemble is refused."""
        from treewise.tree.tree import Tree

        if isinstance(self.model, Tree):
            return self.model
        name = safe(self.name)
        raise ParameterError(
            f"{name} holds {plural(len(self.model), 'tree')}. Choose one with --tree N (0 to {len(self.model) - 1}), or"
            f" distill them into one: treewise distill {name} DATA -o tree.json"
        )

    @property
    def required_ensemble(self) -> Ensemble:
        """The ensemble, for a verb that takes one; a single tree is refused."""
        if self.ensemble is None:
            raise ParameterError(
                f"{safe(self.name)} contains a single tree, but this verb takes an ensemble:"
                " treewise grow DATA --target COLUMN --ensemble forest -o forest.json"
            )
        return self.ensemble

    def refuse_for_ensemble(self, **options: object) -> None:
        """Refuse options that apply to a single tree only, for an ensemble."""
        for name, value in options.items():
            if self.ensemble is not None and value not in (None, False, ()):
                raise ParameterError(
                    f"--{name.replace('_', '-')} is for a single tree, and {safe(self.name)} holds"
                    f" {plural(len(self.ensemble), 'tree')}. Leave it out, or pick one with --tree N."
                )

    def pick_tree(self, number: int | None) -> LoadedModel:
        """Return one tree of an ensemble as a model of its own; without a number, this model."""
        if number is None:
            return self
        if self.ensemble is None:
            raise ParameterError(f"--tree {number}: {safe(self.name)} holds a single tree. Leave it out.")
        if not 0 <= number < len(self.ensemble):
            raise ParameterError(f"--tree {number}: {safe(self.name)} has trees 0 to {len(self.ensemble) - 1}.")
        return LoadedModel(f"tree {number} of {self.name}", self.ensemble[number], self.content)

    def with_words(self, words: dict[str, Any]) -> LoadedModel:
        """Return the model with other words for readers (``take_words``), if there are any."""
        return replace(self, model=self.model.with_display(**words)) if words else self

    @property
    def sha256(self) -> str:
        """The SHA-256 checksum of the file."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def saved(self) -> dict[str, Any]:
        """Format and version of the file; empty for a tree written by hand."""
        if not self.content.lstrip().startswith(b"{"):
            return {}
        head = json.loads(self.content)
        return {"format": head["format"], "treewise": head["treewise"]}


def looks_like_model(source: str) -> bool:
    """Tell whether a name ends like a model file."""
    return source.lower().endswith(_MODEL_ENDINGS)


def read_model(source: str, target: str | None = None, member: int | None = None) -> LoadedModel:
    """Read a model file; ``target`` is what a handwritten tree predicts, ``member`` picks a tree of an ensemble."""
    return _read_model_file(source, target).pick_tree(member)


def _read_model_file(source: str, target: str | None) -> LoadedModel:
    """Read a model file with all that is in it."""
    content = _read_standard_input("a model") if source == "-" else _read_file(source)
    name = "standard input" if source == "-" else Path(source).name
    if source.lower().endswith(_TABLE_ENDINGS):
        raise ModelFormatError(f"{safe(name)} is a table, not a model. {_WHAT_A_MODEL_IS}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelFormatError(
            f"{safe(name)} is not a model: byte {error.start:,} is not text. {_WHAT_A_MODEL_IS}"
        ) from None
    if text.lstrip().startswith("{"):
        from treewise.formats.model_file.model_file import loads

        return LoadedModel(name, loads(text, safe(name)), content)
    if source.lower().endswith(".json"):
        raise ModelFormatError(f"{safe(name)} is not a model: it does not begin like JSON. {_WHAT_A_MODEL_IS}")
    return LoadedModel(name, _parse_text(text, safe(name), target), content)


def _read_standard_input(expected: str) -> bytes:
    """Read standard input to its end."""
    if sys.stdin is None:
        raise DataError(f"standard input is closed; {expected} was expected.")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise DataError(f"standard input cannot be read: {error.strerror or error}.") from None


def _parse_text(text: str, name: str, target: str | None) -> Tree:
    """Read a tree written by hand."""
    from treewise.formats.text_format.parse import parse

    try:
        text += "" if "\n" in text else "\n"  # it is the text itself, not the name of a file
        tree = parse(text, target=target)
        for note in tree.notes:
            if json.dumps(note, ensure_ascii=False) not in text:  # of reading it: the file has it not
                remark("note", in_options(note))
        return tree
    except ParseError as error:
        between = " " if str(error).startswith("line") else ": "
        raise ParseError(name + between + error.message) from None


def _read_file(source: str) -> bytes:
    """Read a model file; if there is none, suggest what was meant."""
    path = Path(source).expanduser()
    try:
        return path.read_bytes()
    except FileNotFoundError:
        from treewise.datasets import NAMES

        if source in NAMES:
            raise ModelFormatError(f"{source} is a built-in table, not a model. {_WHAT_A_MODEL_IS}") from None
        neighbours = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
        models = [name for name in neighbours if looks_like_model(name)]
        raise ModelFormatError(
            f'no file "{safe(source)}".{did_you_mean(path.name, models)} {_WHAT_A_MODEL_IS}'
        ) from None
    except OSError as error:
        raise ModelFormatError(f"{safe(source)} cannot be read: {error.strerror}.") from None


def read_model_and_data(
    model: str,
    data: str,
    na_values: Sequence[str],
    target: str | None = None,
    text_format: TextOptions = _DEFAULT_TEXT,
    member: int | None = None,
) -> tuple[LoadedModel, Table]:
    """Read a MODEL and DATA; refuse the wrong order."""
    check_order(model, data)
    return read_model(model, target, member), read_data(data, na_values, text_format)


def check_order(model: str, data: str) -> None:
    """Refuse MODEL and DATA in the wrong order, or both from standard input."""
    if looks_like_model(data) and not looks_like_model(model) and model != "-":
        raise ParameterError(f"MODEL comes first, then DATA: {safe(data)} {safe(model)}.")
    if model == data == "-":
        raise ParameterError("MODEL and DATA cannot both come from standard input.")


def read_data(
    source: str | Sequence[str], na_values: Sequence[str] = (), text_format: TextOptions = _DEFAULT_TEXT
) -> Table:
    """Read a table by file name, built-in name or from standard input; rows may also be JSON objects."""
    from treewise.cli.output import progress_bar, remark
    from treewise.data.csv_file import CsvFormat
    from treewise.data.relation import is_database_table
    from treewise.data.table import parse_na_values, read, read_bytes, read_json_rows

    if source == "-":
        content = _read_standard_input("a table")
        if content.lstrip()[:1] in (b"{", b"["):
            return read_json_rows(content, "standard input", na_values)
        if not content.strip():
            raise DataError("standard input is empty; a table was expected.")
        return read_bytes(content, "standard input", parse_na_values(na_values), CsvFormat(*text_format[:4]))
    if is_database_table(source):
        remark("read", f"{source} is fetched into memory; treewise export MODEL --format sql predicts in the database")
    with progress_bar("read") as on_progress:
        return read(source, na_values=na_values, on_progress=on_progress, **text_format._asdict())


# -- MODEL or DATA --------------------------------------------------------------------------------------


def is_model(source: str, options: dict[str, Any], standard_input: bool = True) -> bool:
    """Tell a MODEL from DATA by its ending, unless a target is named; for standard input the verb decides."""
    return (looks_like_model(source) or (standard_input and source == "-")) and "target" not in options


def take_model(source: str, options: dict[str, Any], member: int | None, target: str | None = None) -> LoadedModel:
    """Read a MODEL; options of growing do not apply to it, except the words for readers."""
    words = take_words(options)
    refuse_growing(source, options)
    loaded = read_model(source, target, member)
    return loaded.with_words(words)


def refuse_growing(source: str, options: dict[str, Any]) -> None:
    """Refuse options of growing for a tree that is grown already."""
    for option in GROW_OPTIONS:
        if option.parameter in options:
            raise ParameterError(f"{option.name} is for growing, but {safe(source)} is a model already. Leave it out.")


def check_training_table(ensemble: Ensemble, table: Table) -> None:
    """Refuse a table without the target of an ensemble, where it must be the one the trees were grown on."""
    name = ensemble.target.name
    if name not in table.columns:
        raise ColumnError(
            f'{table.name} has no column "{safe(name)}", the target of these trees.',
            hint=f"{did_you_mean(name, table.columns)} Give the table they were grown on.",
            column=name,
        )
