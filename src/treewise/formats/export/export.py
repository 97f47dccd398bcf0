"""A tree in other forms, each in a file of its own.

Stands among the outlets. A format is a function from a tree to text; adding one is writing its file and
adding its line to ``FORMATS``.
"""

from __future__ import annotations

from collections.abc import Callable

from treewise.errors import ParameterError, did_you_mean
from treewise.formats.export import if_else, text
from treewise.tree.tree import Tree

FORMATS: dict[str, Callable[[Tree], str]] = {
    "text": text.write,
    "if-else": if_else.write,
}


def export(tree: Tree, format: str = "text") -> str:
    """Return a tree in another form.

    >>> from treewise.formats.text_format.parse import parse
    >>> tree = parse("x <= 1 -> a; x > 1 -> b".replace("; ", chr(10)))
    >>> parse(export(tree, "text")) == tree
    True
    >>> export(tree, "txt")
    Traceback (most recent call last):
    treewise.errors.ParameterError: format="txt" is not known. Did you mean "text"? Formats: text, if-else.
    """
    if format not in FORMATS:
        near = did_you_mean(format, FORMATS)
        raise ParameterError(f"must be one of {', '.join(FORMATS)}.", parameter="format", value=format, hint=near)
    return FORMATS[format](tree)
