"""Registry of export formats: ``tree.export("if-else")`` and ``treewise export --format if-else``.

To add a format, write one file with a function

    def write(tree: Tree) -> str

import it here and add an entry to ``FORMATS``; Python and the command line then offer it, the help page describes it,
and the tests of all formats cover it. The function receives a grown, pruned or hand-written tree (never an ensemble)
and returns the whole file as text, ending with a newline. Options of the format are
keyword-only parameters with a default: ``write(tree, *, digits=6)`` makes ``tree.export("…", digits=3)`` valid.

Read the tree through its methods, node by node (numbers are in pre-order, 0 is the root):

    tree.split_at(node)            the split (``tree/splits.py``: one class per kind), None at a leaf
    tree.children(node)            the children, in the order of the split's branches
    tree.condition(child)          the condition of the branch to a child, as printed
    tree.prediction(node)          a class label or a number; None in a hand-written tree without one
    tree.encoding_of(name)         what a column holds: its kind, its levels; datetimes are integers in its ``unit``
    split.missing, split.branch()  the branch of missing values, and that of any value; None for a value without a
                                   branch (a level that a multiway split has not seen): the node itself predicts
    refuses_missing(tree)          whether missing values are refused (``predict/predict.py``)

Recursion is limited to about 1,000 levels in Python and trees may be deeper: walk them with a stack, as ``if_else.py``
does. Test what it says as ``tests/unit/formats/test_if_else.py`` does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from treewise.errors import ParameterError, did_you_mean
from treewise.formats.export import if_else, text
from treewise.tree.tree import Tree


class ExportFormat(NamedTuple):
    """An export format; the help page of ``treewise export`` quotes ``description``."""

    write: Callable[..., str]  # (tree, **options) → the exported text
    description: str


FORMATS = {
    "text": ExportFormat(text.write, "contains every number and can be read back as a MODEL, edited or not"),
    "if-else": ExportFormat(if_else.write, "is pseudocode for readers"),
}


def export(tree: Tree, format: str = "text", **options: Any) -> str:
    """Return a tree in one of the ``FORMATS``.

    >>> from treewise.formats.text_format.parse import parse
    >>> tree = parse("x <= 1 -> a; x > 1 -> b".replace("; ", chr(10)))
    >>> parse(export(tree, "text")) == tree
    True
    >>> export(tree, "txt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    treewise.errors.ParameterError: format="txt": must be one of text, ... Did you mean "text"?
    """
    if format not in FORMATS:
        hint = did_you_mean(format, FORMATS)
        raise ParameterError(f"must be one of {', '.join(FORMATS)}.", parameter="format", value=format, hint=hint)
    write = FORMATS[format].write
    known = [name for name in inspect.signature(write).parameters if name != "tree"]
    for name in options:
        if name not in known:
            raise ParameterError(f'format "{format}" has no option {name}.{did_you_mean(name, known)}')
    return write(tree, **options)
