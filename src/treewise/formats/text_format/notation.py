r"""How names, levels and classes are written in a text tree, so that they can be read back.

Stands above ``encode``, for the outlets: ``show/text_tree/text_tree.py`` and ``formats/export/text.py`` write with it,
``condition.py`` and ``parse.py`` read with it. One rule, in both directions:

    bare text is literal        city = New York        path = C:\new
    in double quotes            city = "a, b"          "" is a quote; \n \t \x1b \u2028 \\ are Python's

Text is written bare when nothing in it could be taken for something else, and in quotes when something could.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from treewise._lib.text import safe
from treewise.data.encoding import sort_levels
from treewise.data.parse_cells import NUMBER, parse_number
from treewise.train.target import few_whole_numbers

QUOTED = r'"[^"]*(?:""[^"]*)*"'

# What could be taken for the tree's own marks: quotes, sets, comments, arrows, folds, branches, ``: label``,
# the gap between two columns, ``or missing``, and ``+3`` (three more levels, in a shortened set).
_ODD = re.compile(r'["{}#→…│├└─⟦⟧]|->|\.\.\.|\s\s|:\s|:$|^[|`]|^\s|\s$|(?:^|\s)or missing$|^\+\d+$|^$')
_ODD_IN_LIST = re.compile(r",")
_ODD_IN_NAME = re.compile(
    r"[<>=≤≥≠]|(?:^|\s)(?:is|in|or|not|otherwise|missing|present)(?:\s|$)|^(?:order|classes)(?:\s|$)|^all rows$"
)
# What stands in the columns of a text tree: our own headings, and the mark of a leaf that predicts nothing.
SHARE = "%"  # "% yes" is the share of a class, "% predicted" that of whichever a node predicts
SHARE_OF_PREDICTED = f"{SHARE} predicted"
HEADINGS = ("predicts", "rows", "weight", "sd", SHARE, "predicted")
UNKNOWN = "?"
PREDICTS_NUMBERS = "predicts numbers"  # a line below a tree without columns whose leaves hold values, not classes

DATETIME = re.compile(
    r"(?:-[0-9]{3,}|\+?[0-9]{4,})-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?"
)
TRUTH = re.compile(r"true|false", re.IGNORECASE)

# Anything but Latin letters, dashes, arrows and the lines of the tree, all of which take one column.

_ESCAPES = re.compile(r"\\(\\|n|r|t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
_ESCAPED = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


def quoted(text: str, ascii: bool = False) -> str:
    r"""Write text in double quotes, on one line.

    >>> print(quoted('5" pipe'), quoted("two\nlines"), quoted("naïve", ascii=True))
    "5"" pipe" "two\nlines" "na\xefve"
    """
    escaped = text.encode("unicode_escape").decode() if ascii else safe(text.replace("\\", "\\\\"))
    return '"' + escaped.replace('"', '""') + '"'


def write_level(level: str, ascii: bool = False) -> str:
    r"""Write a level: bare where that is unambiguous, else in quotes.

    >>> print(write_level("New York"), write_level("a, b"), write_level("-> x"), write_level(""))
    New York "a, b" "-> x" ""
    """
    odd = _ODD.search(level) or _ODD_IN_LIST.search(level)
    return quoted(level, ascii) if odd or not _stays(level, ascii) else level


def write_ordered_level(level: str, ascii: bool = False) -> str:
    """Write a level that is compared: in quotes where it could be taken for a quantity.

    >>> print(write_ordered_level("medium"), write_ordered_level("3.5"))
    medium "3.5"
    """
    like_quantity = NUMBER.fullmatch(level) or DATETIME.fullmatch(level) or "<" in level
    return quoted(level, ascii) if like_quantity else write_level(level, ascii)


def write_name(name: str, ascii: bool = False) -> str:
    r"""Write a column's name: bare where a condition could not be misread, else in quotes.

    >>> print(write_name("bill length (mm)"), write_name("a <= b"), write_name("tab\there"))
    bill length (mm) "a <= b" "tab\there"
    """
    odd = _ODD.search(name) or _ODD_IN_NAME.search(name)
    return quoted(name, ascii) if odd or not _stays(name, ascii) else name


def write_label(label: str | int | float | bool, ascii: bool = False) -> str:
    """Write a class: text that looks like a number, a truth value or a heading of ours in quotes.

    >>> print(write_label("<=50K"), write_label(1), write_label("1"), write_label(True), write_label("rows"))
    <=50K 1 "1" True "rows"
    """
    if not isinstance(label, str):
        return str(label)
    like_ours = label in (*HEADINGS, UNKNOWN) or is_share(label)
    like_value = NUMBER.fullmatch(label) or TRUTH.fullmatch(label) or like_ours
    return quoted(label, ascii) if like_value else write_level(label, ascii)


def is_share(heading: str) -> bool:
    """Tell whether a column is one of percentages.

    >>> is_share("% yes"), is_share("%"), is_share("yes %")
    (True, True, False)
    """
    return heading.partition(" ")[0] == SHARE


def _stays(text: str, ascii: bool) -> bool:
    """Tell whether bare text would reach the reader unchanged."""
    return safe(text) == text and (text.isascii() or not ascii)


def read_text(text: str) -> str:
    r"""Read what one of the writers above has written: quotes are undone, bare text is literal.

    >>> read_text(r'"two\nlines"'), read_text("New York"), read_text('"5"" pipe"')
    ('two\nlines', 'New York', '5" pipe')
    """
    if not re.fullmatch(QUOTED, text):
        return text
    inner = text[1:-1].replace('""', '"')
    return _ESCAPES.sub(lambda m: _ESCAPED.get(m[1]) or chr(int(m[1][1:], 16)), inner)


def read_labels(texts: Sequence[str]) -> list[str | int | float | bool]:
    """Read the classes of one tree: numbers or truth values when all are written so, bare; else text.

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
    """Tell whether predictions are values rather than classes: numbers that ``grow`` would not take for classes.

    >>> are_values([1.5, 2]), are_values([1, 2]), are_values(["1.5", "2"])
    (True, False, False)
    """
    numbers = all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)
    return numbers and not few_whole_numbers(labels)


def split_list(text: str, separator: str = ",") -> list[str]:
    """Split a list at its separators, those inside quotes excepted; the items stay as they are written.

    >>> split_list('Bari, "a, b", Rome'), split_list("")
    (['Bari', '"a, b"', 'Rome'], [])
    """
    ends = [m.start() for m in re.finditer(f"{QUOTED}|{re.escape(separator)}", text) if m[0] == separator]
    starts = [0, *(end + len(separator) for end in ends)]
    parts = [text[a:b].strip() for a, b in zip(starts, [*ends, len(text)], strict=True)]
    return [] if parts == [""] else parts


def cut_comment(line: str) -> tuple[str, str]:
    """Cut a line at its comment: a ``#`` at the start or after a space, outside quotes.

    >>> cut_comment('C# = "# 1" -> yes  # the first')
    ('C# = "# 1" -> yes', 'the first')
    """
    for match in re.finditer(rf"{QUOTED}|(?:(?<=\s)|^)#", line):
        if match[0] == "#":
            return line[: match.start()].rstrip(), line[match.end() :].strip()
    return line.rstrip(), ""


def sort_labels(labels: Iterable[str | int | float | bool]) -> tuple[str | int | float | bool, ...]:
    """Put classes in order: by value, as the levels of a column.

    >>> sort_labels({"yes", "no"}), sort_labels({10, 9}), sort_labels({"10", "9"}), sort_labels({True, False})
    (('no', 'yes'), (9, 10), ('9', '10'), (False, True))
    """
    labels = list(labels)
    texts = [label for label in labels if isinstance(label, str)]
    numbers = [label for label in labels if not isinstance(label, str)]
    return (*sorted(numbers), *sort_levels(texts))
