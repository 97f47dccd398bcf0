"""Model files: save a tree or an ensemble as one JSON file, and load it back bit for bit.

``docs/format.md`` describes the format for other readers.

    tree ──validate──▶ layout (header + packing) ──▶ text ──atomic_write──▶ file
    file ──▶ bytes ──read (header + packing)──▶ validate ──▶ tree, or an error

Ensembles are written and read by the same parts in ``ensemble_file.py``.

Numbers are exact, fields have a fixed order, and there is no time stamp: equal trees give equal files. Nothing in a
file is ever executed, and a file that is not a valid model is never loaded.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from treewise._lib.text import safe
from treewise.errors import ModelFormatError, ParameterError, brief
from treewise.formats.model_file.atomic_write import read_whole, write_whole
from treewise.formats.model_file.header import (
    check_criterion,
    column_to,
    columns_from,
    history_from,
    notes_from,
    plain,
    quartiles_from,
    target_from,
    target_to,
)
from treewise.formats.model_file.layout import FORMAT, OF_A_TREE, lines_of, plain_quartiles, sealed
from treewise.formats.model_file.read import check_format, tree_of
from treewise.formats.model_file.validate import check_nodes
from treewise.tree.model import Model
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.ensemble import Ensemble

__all__ = ["FORMAT", "_COMPACT_ABOVE", "dumps", "load", "loads", "save"]

_COMPACT_ABOVE = 10_000  # trees of more nodes are packed, unless asked otherwise


def save(model: Model, path: str | os.PathLike[str], compact: bool | None = None) -> None:
    """Write a model to a file, atomically (``Model.save``)."""
    write_whole(path, dumps(model, compact).encode())


def load(path: str | os.PathLike[str]) -> Tree | Ensemble:
    """Load a model file: a ``Tree`` from ``tree.save``, an ``Ensemble`` from ``ensemble.save``.

    >>> load("no/such/m.json")
    Traceback (most recent call last):
    FileNotFoundError: no file no/such/m.json. Nothing was loaded.
    >>> load('{"format": 1, …')
    Traceback (most recent call last):
    treewise.errors.ParameterError: load takes the name of a file, not the text in it. ...
    """
    if not isinstance(path, str | bytes | os.PathLike):
        raise ParameterError(f"load takes the name of a file, not {brief(path)}.")
    text = os.fsdecode(path)
    if (text.lstrip().startswith("{") or "\n" in text) and not os.path.exists(text):
        saved = text.lstrip().startswith("{")
        reads = (
            "treewise.formats.model_file.model_file.loads(text) reads a saved one"
            if saved
            else "treewise.parse(text) reads words"
        )
        raise ParameterError(f"load takes the name of a file, not the text in it. {reads}.")
    return loads(read_whole(path, b"{"), safe(Path(os.fsdecode(path)).name))


def dumps(model: Model, compact: bool | None = None) -> str:
    """Return the text of a model file.

    >>> import treewise as tw
    >>> print(dumps(tw.grow("xor"))[:33])
    {
    "format": 2,
    "treewise": "0...
    """
    check(model)
    if isinstance(model, Tree):
        return sealed(lines_of(model, len(model) > _COMPACT_ABOVE if compact is None else compact))
    from treewise.ensemble.model import Ensemble
    from treewise.formats.model_file import ensemble_file

    assert isinstance(model, Ensemble)
    packed = len(model.members.kind) > _COMPACT_ABOVE if compact is None else compact
    return sealed(ensemble_file.lines_of(model, packed))


def loads(text: str | bytes, name: str = "the model") -> Tree | Ensemble:
    """Read the text of a model file; ``name`` is what errors call it.

    >>> import treewise as tw
    >>> tree = tw.grow("xor")
    >>> loads(dumps(tree)) == tree
    True
    >>> loads(dumps(tree).replace("entropy", "entropx"), "m.json")
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: m.json is damaged: checksum differs (the last line says ...). Nothing was loaded.
    """
    content = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    number = check_format(content, name)
    try:
        if number <= OF_A_TREE:
            return tree_of(content, number)
        from treewise.formats.model_file.ensemble_file import ensemble_of

        return ensemble_of(content)
    except ModelFormatError as error:
        raise ModelFormatError(f"{name} is damaged: {error}. Nothing was loaded.") from None


def _check_quartiles(tree: Tree) -> None:
    """Raise for quartiles that could not be loaded."""
    if tree.quartiles:
        quartiles_from(plain_quartiles(tree), tree.encodings)


def check(model: Model) -> None:
    """Raise for a model that could not be loaded again."""
    try:
        target_from(target_to(model.target))
        columns_from(map(column_to, model.encodings))
        check_criterion(model.criterion, model.task)
        if isinstance(model, Tree):
            _check_quartiles(model)
        history_from([plain(step, f"history[{i}]") for i, step in enumerate(model.history)], model.target)
        notes_from(list(model.notes))
        if isinstance(model, Tree):
            check_nodes(model.arrays, model.encodings, model.target)
        else:
            from treewise.ensemble.model import Ensemble
            from treewise.formats.model_file import ensemble_file

            assert isinstance(model, Ensemble)
            ensemble_file.check_whole(model)
    except ModelFormatError as error:
        who = "tree" if isinstance(model, Tree) else "ensemble"
        raise ModelFormatError(f"the {who} cannot be saved: {error}. Nothing was saved.") from None
