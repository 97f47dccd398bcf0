"""The first word of a verb that shows a tree: a MODEL, or DATA on which the tree is grown first.

Between ``inputs.py`` and the verbs show, rules, draw, report, explain and trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treewise._lib.text import safe
from treewise.cli.inputs import LoadedModel, looks_like_model, read_model
from treewise.cli.options import GROW_OPTIONS
from treewise.cli.shared_options import TextOptions
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.train.training_set import TrainingSet


def is_model(source: str, asked: dict[str, Any], standard_input: bool = True) -> bool:
    """Tell a MODEL from DATA: by its ending, or because no target was named; standard input is what the verb says."""
    return (looks_like_model(source) or (standard_input and source == "-")) and "target" not in asked


def take_model(source: str, asked: dict[str, Any], member: int | None, target: str | None = None) -> LoadedModel:
    """Read a MODEL; options of growing that are left have no part in it."""
    refuse_growing(source, asked)
    return read_model(source, target, member)


def refuse_growing(source: str, asked: dict[str, Any]) -> None:
    """Refuse options of growing for a tree that is grown already."""
    for each in GROW_OPTIONS:
        if each.parameter in asked:
            raise ParameterError(f"{each.name} is for growing, but {safe(source)} is a tree already. Leave it out.")


def grow_source(
    data: str | Table, asked: dict[str, Any], form: TextOptions, member: int | None, quiet: bool = False
) -> tuple[TrainingSet, LoadedModel]:
    """Grow a tree on DATA, saying what was understood."""
    from treewise.cli.verbs.grow import grow_aloud

    if member is not None:
        raise ParameterError("--tree is for a MODEL that holds many trees; of a table one is grown. Leave it out.")
    training_set, tree = grow_aloud(data, asked, form, quiet)
    return training_set, LoadedModel(data if isinstance(data, str) else data.name, tree, b"")
