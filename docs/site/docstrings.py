"""Let griffe, which reads docstrings for the API reference, understand how ours describe parameters.

numpydoc has the type after the colon and the description below it; in ours the description begins after the colon, and
types are in the signature:

    criterion : ``"entropy"`` (the default), ``"gini"``
        or ``"error"``.
"""

import re
from typing import Any

import griffe

_SECTION = re.compile(r"^(Parameters|Attributes)\n-+\n", re.M)
_ENTRY = re.compile(r"^([*\w]+(?:, [*\w]+)*) : (.+)$", re.M)
_QUOTED = re.compile(r"``(.+?)``")
_EXAMPLE = re.compile(r"^( *)>>> .*\n(?:\1\S.*\n?|\1 .*\n?)*", re.M)  # to the next blank line


class Descriptions(griffe.Extension):
    """Move descriptions below their names."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of every object."""
        if obj.docstring is not None:
            obj.docstring.value = rewrite(obj.docstring.value)


def rewrite(docstring: str) -> str:
    """Return a docstring as numpydoc has it, with code marked as Markdown does.

    >>> print(rewrite("Grow.\\n\\nParameters\\n----------\\nseed : a number\\n    or ``None``."))
    Grow.
    <BLANKLINE>
    Parameters
    ----------
    seed
        a number
        or `None`.
    """
    docstring = _EXAMPLE.sub(lambda found: _fenced(found[0], found[1]), docstring)
    before, *sections = _SECTION.split(docstring)
    parts = [before]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        parts.append(f"{title}\n{'-' * len(title)}\n" + _ENTRY.sub(r"\1\n    \2", body))
    return _QUOTED.sub(r"`\1`", "".join(parts))


def _fenced(example: str, indent: str) -> str:
    return f"\n{indent}```pycon\n{example.rstrip()}\n{indent}```\n"
