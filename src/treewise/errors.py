"""Errors as values, and the messages they carry.

    TreewiseError
    ├── DataError            the table: a cell, a row, a whole column         (ValueError)
    │   └── ColumnError      a column that does not exist                     (KeyError)
    ├── ParameterError       an argument out of range or out of place         (ValueError)
    ├── ParseError           a hand-written tree, with its line number        (ValueError)
    ├── ModelFormatError     a model file that is damaged or too new          (ValueError)
    └── PackageError         a package that is not installed                  (ImportError)

Each error is also the built-in error a caller would expect, so ``except ValueError`` keeps working. An error has
fields: ``rule`` (what is wrong), ``hint`` (what to do), and where they apply ``parameter`` and ``value``, ``column``
and ``row``. A text that names a parameter does so by a reference (``Param``), never in prose, so that each front end
can render it: ``max_depth=3`` in Python, ``--max-depth 3`` on the command line. Notes about tables and trees are
written the same way. Messages are safe to print whatever names are in them: escape codes and hidden characters are
escaped.

Every module may import this one; it imports only ``_lib/text.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final

from treewise._lib.text import safe, shorten

_LONGEST_WORD = 1000  # longer names are not compared for typing errors
_LONGEST_VALUE = 60  # characters of a value in a message
_MAX_ITEMS = 20  # of a list whose items are quoted


class _Unset(Enum):
    UNSET = "UNSET"


UNSET: Final = _Unset.UNSET


# -- messages ---------------------------------------------------------------------------------------------------------


class Reference:
    """A part of a message that each front end renders in its own notation; ``str()`` is Python's."""

    def __add__(self, other: str | Reference) -> Message:
        return Message(self, other)

    def __radd__(self, other: str) -> Message:
        return Message(other, self)


@dataclass(frozen=True)
class Param(Reference):
    """A parameter, perhaps with the value to give it; ``...`` is a placeholder for a value of the reader's choice.

    >>> str(Param("max_depth")), str(Param("ignore", ["id"])), str(Param("target", ...))
    ('max_depth', 'ignore=["id"]', 'target=…')
    """

    name: str
    value: Any = UNSET

    def __str__(self) -> str:
        return self.name if self.value is UNSET else f"{self.name}={_quoted(self.value)}"


@dataclass(frozen=True)
class Given(Param):
    """A parameter with the value that was given, which is shortened.

    >>> str(Given("criterion", "entropie")), len(str(Given("target", "x" * 1000)))
    ('criterion="entropie"', 68)
    """

    def __str__(self) -> str:
        return self.name if self.value is UNSET else f"{self.name}={brief(self.value)}"


@dataclass(frozen=True)
class Call(Reference):
    """Something to run, such as ``tree.refit(data)``; the command line has a verb or an option for it."""

    code: str

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True)
class PythonOnly(Reference):
    """Words that make sense in Python only, such as ``, or None for no limit``."""

    text: str

    def __str__(self) -> str:
        return self.text


class Message(str):
    """A text that keeps its references: a string in Python's words, which other front ends can render in theirs.

    >>> hint = "Use " + Param("criterion", "entropy") + ", or " + Param("task", "regression") + "."
    >>> print(hint)
    Use criterion="entropy", or task="regression".
    >>> hint.render(lambda reference: f"--{reference.name} {reference.value}")
    'Use --criterion entropy, or --task regression.'
    """

    parts: tuple[str | Reference, ...]

    def __new__(cls, *parts: str | Reference) -> Message:
        """Join parts; those of other messages are taken over."""
        flat: list[str | Reference] = []
        for part in parts:
            flat += part.parts if isinstance(part, Message) else [part]
        message = super().__new__(cls, "".join(map(str, flat)))
        message.parts = tuple(flat)
        return message

    def __add__(self, other: str | Reference) -> Message:
        return Message(self, other)

    def __radd__(self, other: str) -> Message:
        return Message(other, self)

    def render(self, front: Callable[[Reference], str]) -> str:
        """Return the text with its references as a front end writes them."""
        return "".join(part if isinstance(part, str) else front(part) for part in self.parts)


def join_message(separator: str, parts: Iterable[str | Reference]) -> Message:
    """Join parts with a separator between them, as ``str.join`` does.

    >>> print(join_message(" or ", [Param("max_depth"), Param("at")]))
    max_depth or at
    """
    joined: list[str | Reference] = []
    for part in parts:
        joined += [separator, part] if joined else [part]
    return Message(*joined)


def _make_safe(part: str | Reference) -> str | Reference:
    return "\n".join(map(safe, part.split("\n"))) if isinstance(part, str) else part


# -- errors -----------------------------------------------------------------------------------------------------------


class TreewiseError(Exception):
    """Base class of every error treewise raises on purpose.

    >>> import treewise as tw
    >>> try:
    ...     tw.grow("penguins", target="species", max_depth=-1)
    ... except tw.TreewiseError as error:
    ...     print(error)
    ...     print(error.parameter, error.value, "·", error.rule)
    max_depth=-1: must be a whole number, 0 or more, or None for no limit.
    max_depth -1 · must be a whole number, 0 or more, or None for no limit.
    >>> TreewiseError("Leave it out.", parameter="cost").message.parts
    (Given(name='cost', value=<_Unset.UNSET: 'UNSET'>), ': ', 'Leave it out.')
    """

    def __init__(
        self,
        rule: str | Reference = "",
        *,
        parameter: str | None = None,
        value: object = UNSET,
        hint: str | Reference = "",
        column: str | None = None,
        row: int | None = None,
    ) -> None:
        self.rule, self.hint = Message(rule), Message(hint.lstrip() if type(hint) is str else hint)
        self.parameter, self.value = parameter, value
        self.column, self.row = column, row
        parts: list[str | Reference] = []
        if parameter is not None:
            parts += [Given(parameter, value), ": "]
        parts += self.rule.parts
        if self.hint:
            parts += [" ", *self.hint.parts]
        super().__init__(Message(*map(_make_safe, parts)))

    @property
    def message(self) -> Message:
        """The whole text, to be rendered by a front end."""
        message = self.args[0]
        return message if isinstance(message, Message) else Message(str(message))

    def __reduce__(self) -> Any:
        """Pickle without the value itself, which need not be picklable: errors cross processes."""
        fields = {**self.__dict__, "value": self.value if self.value is UNSET else brief(self.value)}
        return type(self), (str(self),), fields

    def __str__(self) -> str:  # KeyError would print the repr of its argument
        return shorten(str(self.args[0])) if self.args else ""


class DataError(TreewiseError, ValueError):
    """Something in the table cannot be used as it is.

    >>> import treewise as tw
    >>> tw.grow({"x": [1, 2], "y": ["a", None]}, "y")
    Traceback (most recent call last):
    treewise.errors.DataError: target "y" is missing in 1 row (2). Remove it first, or drop_missing_target=True.
    """


class ColumnError(DataError, KeyError):
    """The table has no column of this name.

    >>> import treewise as tw
    >>> tw.read({"age": [31]})["agee"]
    Traceback (most recent call last):
    treewise.errors.ColumnError: no column "agee" in the table. Did you mean "age"? Columns: age.
    """


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


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ``' Did you mean "Class"?'`` if a known name is similar, else nothing.

    >>> did_you_mean("Clas", ["GPA", "Class"])
    ' Did you mean "Class"?'
    >>> did_you_mean("zzz", ["GPA", "Class"])
    ''
    """
    known = list(known)
    if not isinstance(name, str) or len(name) > _LONGEST_WORD:
        return ""
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    if not near:
        same = [other for other in known if other.casefold() == name.casefold()]
        near = same[:1]
    return f' Did you mean "{_printable(near[0])}"?' if near else ""


# Names that lecture notes and other libraries give to our options, in lower case without separators.
_OTHER_NAMES = {
    "minparent": "min_samples_split",  # chapter 8
    "minleaf": "min_samples_leaf",
    "minsplit": "min_samples_split",  # rpart
    "minbucket": "min_samples_leaf",
    "cp": "ccp_alpha",
    "minnumobj": "min_samples_leaf",  # Weka
    "maxleaves": "max_leaf_nodes",
    "depth": "max_depth",
    "maxnodes": "max_leaf_nodes",
    "numleaves": "max_leaf_nodes",  # LightGBM
    "mindatainleaf": "min_samples_leaf",
    "minchildsamples": "min_samples_leaf",
    "mingaintosplit": "min_impurity_decrease",
    "minexamples": "min_samples_leaf",  # YDF
    "nodesize": "min_samples_leaf",  # randomForest
    "ntree": "n_estimators",
    "mtry": "max_features",
    "numtrees": "n_estimators",
    "numboostround": "n_estimators",  # XGBoost
    "eta": "learning_rate",
    "mincriterion": "alpha",  # ctree
    "accuracy": "sufficient_accuracy",
    "score": "criterion",
    "impurity": "criterion",
    "splitcriterion": "criterion",
    "tiebreak": "ties",
    "seed": "random_state",
    "log": "unit",
    "prune": "pruning",
}


def known_name(name: str) -> str:
    """Return our name of an option that is called otherwise elsewhere; "" if it is not known by that name.

    >>> known_name("minLeaf"), known_name("--min-parent"), known_name("max_depht")
    ('min_samples_leaf', 'min_samples_split', '')
    """
    return _OTHER_NAMES.get(name.casefold().replace("-", "").replace("_", ""), "")


def refuse_unknown(given: Iterable[str], known: Iterable[str], ask: str, also: Iterable[str] = ()) -> None:
    """Raise for the first unknown option name; ``also`` are further names to suggest.

    >>> refuse_unknown(["max_dept"], ["max_depth", "ties"], "help(treewise.grow)")
    Traceback (most recent call last):
    treewise.errors.ParameterError: no option max_dept. Did you mean "max_depth"? Options: help(treewise.grow).
    """
    options = [*known]
    for name in given:
        if name not in options:
            near = did_you_mean(known_name(name) or name, [option for option in (*options, *also) if option != name])
            raise ParameterError(f"no option {name}.{near} Options: {ask}.")


def _printable(text: str) -> str:
    """Return text that stays on its line; ``safe`` does this with more care."""
    return text if text.isprintable() else ascii(text)[1:-1]


def brief(value: object) -> str:
    """Write any value for a message: on one line, and not too long.

    >>> brief("entropie"), brief(["a", 1, None]), brief("x" * 100)[-5:]
    ('"entropie"', '["a", 1, None]', 'xxxx…')
    """
    text = _quoted(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _quoted(value: object) -> str:
    """Write a value as Python would, on one line, with strings in double quotes."""
    if value is ...:
        return "…"
    if type(value) is str and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    if type(value) in (list, set) and 0 < len(value) <= _MAX_ITEMS:  # type: ignore[arg-type]
        start, end = "[]" if type(value) is list else "{}"
        return start + ", ".join(map(_quoted, value)) + end  # type: ignore[call-overload]
    if type(value) is dict and 0 < len(value) <= _MAX_ITEMS:
        return "{" + ", ".join(f"{_quoted(key)}: {_quoted(item)}" for key, item in value.items()) + "}"
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = ""  # its repr is broken
    if not text or " at 0x" in text:
        text = f"a {type(value).__name__}"
    return _printable(text)


def join_few(items: Sequence[object], limit: int = 8) -> str:
    """Join the first few items for a message: ``17, 204, 991, … 12 more``.

    >>> join_few([17, 204, 991])
    '17, 204, 991'
    >>> join_few(range(100), limit=3)
    '0, 1, 2, … 97 more'
    """
    text = ", ".join(str(item) for item in items[:limit])
    left = len(items) - limit
    return f"{text}, … {left:,} more" if left > 0 else text
