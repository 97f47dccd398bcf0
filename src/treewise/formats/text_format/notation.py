r"""Notation of names, levels and classes in text trees: quoting and its inverse.

``show/text_tree/`` and ``formats/export/`` write with it, ``conditions.py`` and ``parse.py`` read with it:

    bare text is literal        city = New York        path = C:\new
    in double quotes            city = "a, b"          "" is a quote; \n \t \x1b \u2028 \\ are Python's escapes

Text is written bare where it is unambiguous, else in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from treewise._lib.text import safe
from treewise.data.encoding import sort_levels
from treewise.data.parse_cells import NUMBER, parse_number
from treewise.train.target import are_integer_classes

QUOTED = r'"[^"]*(?:""[^"]*)*"'

# Text that could be read as syntax: quotes, sets, comments, arrows, folds, branches, ``: label``, the gap between two
# columns, ``or missing``, and ``+3`` (three more levels, in an abbreviated set).
_ODD = re.compile(r'["{}#→…│├└─⟦⟧]|->|\.\.\.|\s\s|:\s|:$|^[|`]|^\s|\s$|(?:^|\s)or missing$|^\+\d+$|^$')
_ODD_IN_LIST = re.compile(r",")
_ODD_IN_NAME = re.compile(
    r"[<>=≤≥≠]|(?:^|\s)(?:is|in|or|not|otherwise|missing|present)(?:\s|$)|^(?:order|classes)(?:\s|$)|^all rows$"
    r"|^(?i:if|else|elif|elsif|then|predict|return)(?:\s|$)|\?$"
)
_ODD_IN_LEVEL = re.compile(r"\s(?:and|or|&&|\|\|)\s.*[<>=≤≥≠]|=[<>]", re.IGNORECASE)
WITH_SHARE = re.compile(r"(.*\S)\s+(\d*\.\d+|\d+(?:\.\d+)?(?=\s*%))\s*(%?)$")  # a class with its probability
_WITH_COUNTS = re.compile(r"\([\d./]+\)$")  # a class with Weka's counts
# Headings of a text tree's columns, and the mark of a leaf without a prediction.
SHARE = "%"  # "% yes" is the share of a class, "% predicted" that of the predicted class
SHARE_OF_PREDICTED = f"{SHARE} predicted"
P_VALUE = "p-value"
HEADINGS = ("predicts", "rows", "weight", P_VALUE, "sd", SHARE, "predicted")
UNKNOWN = "?"
PREDICTS_NUMBERS = "predicts numbers"  # written below a regression tree that is printed without columns

DATETIME = re.compile(
    r"(?:-[0-9]{3,}|\+?[0-9]{4,})-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?"
)
TRUTH = re.compile(r"true|false", re.IGNORECASE)


_ESCAPES = re.compile(r"\\(\\|n|r|t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
_ESCAPED = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


def _quoted(text: str, ascii: bool = False) -> str:
    r"""Write text in double quotes, on one line.

    >>> print(_quoted('5" pipe'), _quoted("two\nlines"), _quoted("naïve", ascii=True))
    "5"" pipe" "two\nlines" "na\xefve"
    """
    escaped = text.encode("unicode_escape").decode() if ascii else safe(text.replace("\\", "\\\\"))
    return '"' + escaped.replace('"', '""') + '"'


def write_level(level: str, ascii: bool = False) -> str:
    r"""Write a level: bare where that is unambiguous, else in quotes.

    >>> print(write_level("New York"), write_level("a, b"), write_level("-> x"), write_level(""))
    New York "a, b" "-> x" ""
    """
    odd = _ODD.search(level) or _ODD_IN_LIST.search(level) or _ODD_IN_LEVEL.search(level)
    return _quoted(level, ascii) if odd or not _is_unchanged(level, ascii) else level


def write_ordered_level(level: str, ascii: bool = False) -> str:
    """Write a level of a comparison: in quotes where it could be read as a number or date.

    >>> print(write_ordered_level("medium"), write_ordered_level("3.5"))
    medium "3.5"
    """
    like_quantity = NUMBER.fullmatch(level) or DATETIME.fullmatch(level) or "<" in level
    return _quoted(level, ascii) if like_quantity else write_level(level, ascii)


def write_name(name: str, ascii: bool = False) -> str:
    r"""Write a column name: bare where that is unambiguous, else in quotes.

    >>> print(write_name("bill length (mm)"), write_name("a <= b"), write_name("tab\there"))
    bill length (mm) "a <= b" "tab\there"
    """
    odd = _ODD.search(name) or _ODD_IN_NAME.search(name)
    return _quoted(name, ascii) if odd or not _is_unchanged(name, ascii) else name


def write_label(label: str | int | float | bool, ascii: bool = False) -> str:
    """Write a class: in quotes if it is text that looks like a number, a truth value or a heading.

    >>> print(write_label("<=50K"), write_label(1), write_label("1"), write_label(True), write_label("rows"))
    <=50K 1 "1" True "rows"
    """
    if not isinstance(label, str):
        return str(label)
    is_heading = label in (*HEADINGS, UNKNOWN) or is_share_heading(label)
    like_value = NUMBER.fullmatch(label) or TRUTH.fullmatch(label) or is_heading
    like_shares = WITH_SHARE.match(label) or _WITH_COUNTS.search(label)
    odd = like_value or like_shares or _ODD.search(label) or _ODD_IN_LIST.search(label)
    return _quoted(label, ascii) if odd or not _is_unchanged(label, ascii) else label


def is_share_heading(heading: str) -> bool:
    """Return whether a heading is that of a column of percentages.

    >>> is_share_heading("% yes"), is_share_heading("%"), is_share_heading("yes %")
    (True, True, False)
    """
    return heading.partition(" ")[0] == SHARE


def _is_unchanged(text: str, ascii: bool) -> bool:
    return safe(text) == text and (text.isascii() or not ascii)


def read_text(text: str) -> str:
    r"""Read a name or level: quotes are removed, bare text is literal.

    >>> read_text(r'"two\nlines"'), read_text("New York"), read_text('"5"" pipe"')
    ('two\nlines', 'New York', '5" pipe')
    """
    if not re.fullmatch(QUOTED, text):
        return text
    inner = text[1:-1].replace('""', '"')
    return _ESCAPES.sub(lambda m: _ESCAPED.get(m[1]) or chr(int(m[1][1:], 16)), inner)


def read_labels(texts: Sequence[str]) -> list[str | int | float | bool]:
    """Read the classes of one tree: numbers or booleans if all are bare and look like it, else text.

    >>> read_labels(["1", "2.5"]), read_labels(["True", "False"]), read_labels(["1", "many"])
    ([1, 2.5], [True, False], ['1', 'many'])
    """
    numbers = [value for text in texts if (value := parse_number(text)) is not None]
    if len(numbers) == len(texts):
        return list(numbers)
    if all(TRUTH.fullmatch(text) for text in texts):
        return [text.lower() == "true" for text in texts]
    return [read_text(text) for text in texts]


def are_values(labels: Sequence[str | int | float | bool]) -> bool:
    """Return whether predictions are values rather than classes: numbers that ``grow`` would not read as classes.

    >>> are_values([1.5, 2]), are_values([1, 2]), are_values(["1.5", "2"])
    (True, False, False)
    """
    numbers = all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)
    return numbers and not are_integer_classes(labels)


def split_list(text: str, separator: str = ",") -> list[str]:
    """Split a list at the separators outside quotes; the items keep their quotes.

    >>> split_list('Bari, "a, b", Rome'), split_list("")
    (['Bari', '"a, b"', 'Rome'], [])
    """
    ends = [m.start() for m in re.finditer(f"{QUOTED}|{re.escape(separator)}", text) if m[0] == separator]
    starts = [0, *(end + len(separator) for end in ends)]
    parts = [text[a:b].strip() for a, b in zip(starts, [*ends, len(text)], strict=True)]
    return [] if parts == [""] else parts


def cut_comment(line: str) -> tuple[str, str]:
    """Split a line at its comment: a ``#`` at the start or after a space, outside quotes.

    >>> cut_comment('C# = "# 1" -> yes  # the first')
    ('C# = "# 1" -> yes', 'the first')
    """
    for match in re.finditer(rf"{QUOTED}|(?:(?<=\s)|^)#", line):
        if match[0] == "#":
            return line[: match.start()].rstrip(), line[match.end() :].strip()
    return line.rstrip(), ""


def sort_labels(labels: Iterable[str | int | float | bool]) -> tuple[str | int | float | bool, ...]:
    """Sort classes by value, like the levels of a column.

    >>> sort_labels({"yes", "no"}), sort_labels({10, 9}), sort_labels({"10", "9"}), sort_labels({True, False})
    (('no', 'yes'), (9, 10), ('9', '10'), (False, True))
    """
    labels = list(labels)
    texts = [label for label in labels if isinstance(label, str)]
    numbers = [label for label in labels if not isinstance(label, str)]
    return (*sorted(numbers), *sort_levels(texts))
