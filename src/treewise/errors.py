"""What can go wrong, and how it is said: what happened, where, and what to do next.

    TreewiseError
    ├── DataError            the table: a cell, a row, a whole column         (ValueError)
    │   └── ColumnError      a column that is not there                      (KeyError)
    ├── ParameterError       an argument out of range or out of place        (ValueError)
    ├── ParseError           a tree written by hand, with its line number    (ValueError)
    ├── ModelFormatError     a model file that is damaged or too new         (ValueError)
    └── PackageError         a package that is not installed                 (ImportError)

Each is also the built-in error a caller would expect, so that ``except ValueError`` keeps working.
A message is safe to print whatever names are in it, those of tables too: no escape code, no hidden character.
Everything else in the package may import this file; it imports nothing of ours but ``_lib/text.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from treewise._lib.text import safe

LONGEST_WORD = 1000  # names past this are nobody's slip of the pen
LONGEST_VALUE = 60  # characters of a value in a message


class TreewiseError(Exception):
    """Every error treewise raises on purpose.

    >>> import treewise as tw
    >>> try:
    ...     tw.grow("penguins", target="specis")
    ... except tw.TreewiseError as error:
    ...     print(str(error)[:67])
    no column "specis" in penguins. Did you mean "species"? Columns: sp
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*("\n".join(map(safe, arg.split("\n"))) if isinstance(arg, str) else arg for arg in args))


class DataError(TreewiseError, ValueError):
    """Something in the table cannot be used as it is.

    >>> import treewise as tw
    >>> tw.grow({"x": [1, 2], "y": ["a", None]}, "y")
    Traceback (most recent call last):
    treewise.errors.DataError: target "y" is missing in 1 row (2). Remove it first, or drop_missing_target=True ...
    """


class ColumnError(DataError, KeyError):
    """A column is asked for that the table does not have.

    >>> import treewise as tw
    >>> tw.read({"age": [31]})["agee"]
    Traceback (most recent call last):
    treewise.errors.ColumnError: no column "agee" in the table. Did you mean "age"? Columns: age.
    """

    def __str__(self) -> str:
        # KeyError would print the repr of its argument: quotes around a sentence.
        return str(self.args[0]) if self.args else ""


class ParameterError(TreewiseError, ValueError):
    """An argument is out of range, or does not go with another one.

    >>> import treewise as tw
    >>> tw.grow("penguins", max_depth=-1)
    Traceback (most recent call last):
    treewise.errors.ParameterError: max_depth=-1: must be a whole number, 0 or more, or None for no limit.
    """


class ParseError(TreewiseError, ValueError):
    """A tree in text form cannot be read; the message names the line.

    >>> import treewise as tw
    >>> tw.parse("x <= 1 -> a\\nx > 2 -> b")
    Traceback (most recent call last):
    treewise.errors.ParseError: line 2: ...
    """


class ModelFormatError(TreewiseError, ValueError):
    """A model file is damaged, not ours, or written by a newer version.

    >>> import treewise as tw
    >>> tw.load(__file__)
    Traceback (most recent call last):
    treewise.errors.ModelFormatError: errors.py is not a treewise model: it does not begin with ...
    """


class PackageError(TreewiseError, ImportError):
    """Something needs a package that is not installed; the message says how to get it.

    >>> issubclass(PackageError, ImportError)
    True
    """


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return ``' Did you mean "Class"?'`` when a known word is near, else nothing.

    >>> did_you_mean("Clas", ["GPA", "Class"])
    ' Did you mean "Class"?'
    >>> did_you_mean("zzz", ["GPA", "Class"])
    ''
    """
    known = list(known)
    if not isinstance(word, str) or len(word) > LONGEST_WORD:
        return ""
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    if not near:
        same = [name for name in known if name.casefold() == word.casefold()]
        near = same[:1]
    return f' Did you mean "{printable(near[0])}"?' if near else ""


def refuse_unknown(given: Iterable[str], known: Iterable[str], ask: str, also: Iterable[str] = ()) -> None:
    """Raise for the first name of an option that there is not; ``also`` are further words that may have been meant.

    >>> refuse_unknown(["max_dept"], ["max_depth", "ties"], "help(treewise.grow)")
    Traceback (most recent call last):
    treewise.errors.ParameterError: no option max_dept. Did you mean "max_depth"? Options: help(treewise.grow).
    """
    options = [*known]
    for name in given:
        if name not in options:
            near = did_you_mean(name, [word for word in (*options, *also) if word != name])
            raise ParameterError(f"no option {name}.{near} Options: {ask}.")


def printable(text: str) -> str:
    """Return text that stays on its line; ``wording.safe`` does this with more care."""
    return text if text.isprintable() else ascii(text)[1:-1]


def shown(value: object) -> str:
    """Write any value for a message: on one line, and not too long.

    >>> shown("entropie"), shown("x" * 100)[-5:]
    ("'entropie'", 'xxxx…')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = ""  # an object that cannot even say what it is
    if not text or " at 0x" in text:
        text = f"a {type(value).__name__}"
    text = printable(text)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def listing(items: Sequence[object], most: int = 8) -> str:
    """Join the first few items for a message: ``17, 204, 991, … 12 more``.

    >>> listing([17, 204, 991])
    '17, 204, 991'
    >>> listing(range(100), most=3)
    '0, 1, 2, … 97 more'
    """
    shown = ", ".join(str(item) for item in items[:most])
    left = len(items) - most
    return f"{shown}, … {left} more" if left > 0 else shown
