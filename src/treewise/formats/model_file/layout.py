"""Write a tree as the text of a model file: one field per line, in a fixed order, the checksum last.

Used by ``model_file.py``; uses ``header.py`` and ``packing.py``; ``read.py`` reads
it back. The text depends on the tree alone (and on treewise's version): no time stamps, no hash order, one way
to write each number.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from treewise._version import __version__
from treewise.formats.model_file.header import check_writable, column_to, plain, target_to
from treewise.formats.model_file.packing import write_list, write_packed
from treewise.tree.arrays import Arrays, Task
from treewise.tree.model import Model
from treewise.tree.tree import Tree

FORMAT = 3  # the newest: many trees (``treewise.formats.model_file.ensemble_file``)
OF_A_TREE = 2  # the newest of a single tree; one without quartiles is written as format 1, which had none

ONLY_IN: dict[str, Task] = {
    "label": "classification", "count_start": "classification", "count_class": "classification",
    "count_weight": "classification", "value": "regression", "spread": "regression",
}  # fmt: skip
LISTS = {"codes": "code_start", "count_class": "count_start", "count_weight": "count_start"}  # list → its starts

_HALF = re.compile("[\ud800-\udfff]")


def stored_arrays(task: Task) -> list[str]:
    """Return the names of the arrays a file holds, in order: those that a tree of this task has."""
    return [name for name in Arrays.__dataclass_fields__ if ONLY_IN.get(name, task) == task]


def may_fill(name: str) -> bool:
    """Return whether an array may be stored as one number for all nodes; ``parent`` gives their count."""
    return name != "parent" and name not in LISTS


def sealed(lines: Iterable[str]) -> str:
    """Join the lines and append the checksum."""
    body = "\n".join(lines) + "\n"
    return f'{body}"sha256": "{checksum(body.encode())}"}}\n'


def checksum(content: bytes | memoryview) -> str:
    """Return the checksum that the last line gives of everything before it."""
    return hashlib.sha256(content).hexdigest()


def lines_of(tree: Tree, compact: bool) -> Iterator[str]:
    """Yield the lines before the checksum."""
    quartiles = {"quartiles": plain_quartiles(tree)} if tree.quartiles else {}
    yield from header_lines(tree, format_of(tree), after_columns=quartiles)
    yield '"nodes": {'
    yield f'"count": {len(tree)},'
    yield from block([f'"{name}": {_array_of(tree, name, compact)}' for name in stored_arrays(tree.task)])
    yield "},"


def header_lines(
    model: Model,
    number: int,
    before_target: Mapping[str, Any] = MappingProxyType({}),
    after_columns: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[str]:
    """Yield the lines from the format number to the notes, with the fields that only one kind of model has."""
    yield "{"
    yield f'"format": {number},'
    yield f'"treewise": {line_of(__version__, "the version")},'
    for name, value in before_target.items():
        yield f'"{name}": {line_of(value, name)},'
    yield f'"target": {line_of(target_to(model.target), "target")},'
    yield f'"criterion": {line_of(model.criterion, "criterion")},'
    yield f'"empty_branch": {line_of(model.empty_branch, "empty_branch")},'
    yield '"columns": ['
    yield from block([line_of(column_to(e), f"columns[{i}]") for i, e in enumerate(model.encodings)])
    yield "],"
    for name, value in after_columns.items():
        yield f'"{name}": {line_of(value, name)},'
    yield '"history": ['
    yield from block([line_of(plain(step, f"history[{i}]"), f"history[{i}]") for i, step in enumerate(model.history)])
    yield "],"
    yield f'"notes": {line_of(list(model.notes), "notes")},'


def format_of(tree: Tree) -> int:
    """Return the number of the format that a tree is written in: the first that can hold it."""
    return OF_A_TREE if tree.quartiles else 1


def plain_quartiles(tree: Tree) -> dict[str, list[float]]:
    """Return the quartiles as plain values, in the order of the columns."""
    return {name: list(tree.quartiles[name]) for name in tree.columns if name in tree.quartiles}


def block(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a list, with commas between them."""
    for i, line in enumerate(lines, start=1):
        yield line + "," * (i < len(lines))


def _array_of(tree: Tree, name: str, compact: bool) -> str:
    """Write one array."""
    array = getattr(tree.arrays, name)
    return write_packed(array, may_fill(name)) if compact else write_list(array)


def line_of(value: Any, where: str) -> str:
    r"""Write a value as JSON on one line: non-ASCII text unescaped, lone surrogates as \uXXXX.

    >>> print(line_of(["naïve", "two\nlines", "\ud800"], "here"))
    ["naïve","two\nlines","\ud800"]
    """
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    check_writable(written, where)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", written)
