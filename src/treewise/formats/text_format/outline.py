"""Read the lines of a written tree into an outline: depth, condition and prediction of each line.

The first step of ``parse.py``. Two forms of text are read here, others in ``if_else.py`` and ``foreign.py``:

    bare       typed by hand (or printed by Weka): indentation, ``->`` or ``→`` or ``: ``, ``#`` comments;
               after the arrow a class or a number, with a probability (``yes 0.75``) or Weka's counts (``yes (4/1)``)
    numbered   printed by ``print(tree)``: node numbers, branch glyphs, columns of numbers under headings,
               blocks that continue a deep subtree at the margin

A line is a child of the nearest line above it with less indentation, whatever the indentation step; a set may continue
on the next line after a comma. Both forms may contain the declarations ``order size: small < medium < large``,
``classes: no, yes`` and ``predicts numbers``, each on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from treewise.data.parse_cells import NUMBER
from treewise.errors import Call, ParseError
from treewise.formats.text_format.notation import (
    HEADINGS,
    PREDICTS_NUMBERS,
    QUOTED,
    UNKNOWN,
    WITH_SHARE,
    cut_comment,
    read_text,
    split_list,
)

_PREFIX = re.compile(r"[\s|│]*(?:(?:[├└]─*|`-*|(?<=\|)-+)\s*)?")
_ARROW = re.compile(rf"{QUOTED}|→|->")
_COLON = re.compile(rf"{QUOTED}|:(?=\s+\S)|:$")
_BRACES = re.compile(rf"{QUOTED}|[{{}}]")
_WEKA_COUNTS = re.compile(r"\s*\((\d+(?:\.\d+)?)(?:/(\d+(?:\.\d+)?))?\)$")
_WEKA_AROUND = re.compile(
    r"(?:J48 (?:un)?pruned tree|Id3|[-=]{3,}.*|Number of Leaves\s*:.*|Size of the tree\s*:.*)$"
)  # lines around a tree
_IF = re.compile(r"(?:else\s*if|elif|if)\s+(?=\S)", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*(\d+)  (.*)$")
_TAIL = re.compile(r"(?:…|\.\.\.) continues at \d+ below$")
_FOLDED = re.compile(r"[\s|│├└─`-]*(?:…|\.\.\.)")
_HEADING = re.compile(rf"(?:% )?{QUOTED}|\S+(?: \S+)*")
_ORDER = re.compile(rf"order ({QUOTED}|.+?):\s+(.* < .*)$")
_CLASSES = re.compile(r"classes:\s+(.+)$")
SUMMARY = re.compile(rf"({QUOTED}|.+?): .* [·;] .*depth \d+")


OTHERS = "(others)"  # stands for the other class of two in ``OutlineEntry.shares``
_NEAR = 1e-6  # by which probabilities may miss a sum of 1
_WEKA_UNKNOWN = "null"  # what Id3 of Weka prints at a leaf without rows


@dataclass
class OutlineEntry:
    """One line of a written tree; the first entry is the root, which need not have a line."""

    line: int
    condition: str
    parent: int
    label: str | None = None
    shares: dict[str, float] = field(default_factory=dict)  # of classes, where they are given; see ``OTHERS``
    weight: float = 0.0  # rows that reached the line, by which missing values find their branch
    own_label: str | None = None  # of an inner node: its prediction for levels that have no branch
    cells: list[str] = field(default_factory=list)
    children: list[int] = field(default_factory=list)


@dataclass
class Outline:
    """All lines of a written tree, and its declarations."""

    entries: list[OutlineEntry] = field(default_factory=lambda: [OutlineEntry(1, "all rows", -1)])
    headings: list[str] = field(default_factory=list)
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    target: str | None = None
    predicts_numbers: bool = False
    is_typed: bool = False  # by hand: names that differ only in case are probably a slip

    def add(self, entry: OutlineEntry) -> int:
        """Append an entry to its parent's children and return its index."""
        above = self.entries[entry.parent]
        if above.label is not None:
            raise ParseError(
                f'line {entry.line}: "{entry.condition}" is below line {above.line}, which already predicts. '
                "Only a line without a prediction can have children."
            )
        self.entries.append(entry)
        above.children.append(len(self.entries) - 1)
        return len(self.entries) - 1

    def declare(self, text: str) -> bool:
        """Apply a declaration; return whether the line was one."""
        if order := _ORDER.match(text):
            self.orders[read_text(order[1])] = tuple(read_text(level) for level in split_list(order[2], " < "))
            return True
        if classes := _CLASSES.match(text):
            self.classes = split_list(classes[1])
            return True
        self.predicts_numbers = self.predicts_numbers or text == PREDICTS_NUMBERS
        return text == PREDICTS_NUMBERS


class _Depths:
    """Stack of open indentation levels; raises where mixed tabs and spaces make the depth ambiguous."""

    def __init__(self) -> None:
        self.open: list[tuple[int, int, int]] = [(-1, -1, 0)]  # width with wide tabs, with narrow ones, entry

    def parent_of(self, prefix: str, line: int) -> int:
        """Return the parent entry of a line with this indentation."""
        wide, narrow = len(prefix.expandtabs(8)), len(prefix)
        while True:
            top_wide, top_narrow, entry = self.open[-1]
            if (top_wide < wide) != (top_narrow < narrow) or (top_wide == wide) != (top_narrow == narrow):
                raise ParseError(f"line {line}: mixed tabs and spaces make the depth ambiguous. Use only one of them.")
            if top_wide < wide:
                return entry
            self.open.pop()

    def put(self, prefix: str, entry: int) -> None:
        """Push the indentation of a new entry."""
        self.open.append((len(prefix.expandtabs(8)), len(prefix), entry))

    def restart(self, entry: int) -> None:
        """Begin a block at the margin."""
        self.open = [(-1, -1, entry)]


def read_outline(text: str) -> Outline:
    """Read a written tree in any form, and add up the weights of its leaves where lines have some.

    >>> outline = read_outline("x <= 1: a" + chr(10) + "x > 1 -> b  # the rest")
    >>> [(entry.line, entry.condition, entry.label) for entry in outline.entries]
    [(1, 'all rows', None), (1, 'x <= 1', 'a'), (2, 'x > 1', 'b')]
    """
    outline = _read_any_form(text)
    for entry in reversed(outline.entries):  # children come after their parent
        if entry.children and not entry.weight:
            entry.weight = sum(outline.entries[child].weight for child in entry.children)
    return outline


def _read_any_form(text: str) -> Outline:
    lines = [(i, cut_comment(line.rstrip("\r"))[0]) for i, line in enumerate(text.split("\n"), start=1)]
    joined = _join_sets((i, words) for i, words in lines if words.strip())
    if not joined:
        raise ParseError("the text is empty: it contains no tree.")
    from treewise.formats.text_format import foreign, if_else  # they build on this file

    if foreign.is_sklearn(joined):
        return foreign.read_sklearn(joined)
    if foreign.is_rpart(joined):
        return foreign.read_rpart(joined)
    if if_else.is_if_else(joined):
        return if_else.read_if_else(text)
    numbered = any(_NUMBERED.match(words) for _, words in joined[:4])
    return _read_numbered(joined) if numbered else _read_bare(joined)


def _join_sets(lines: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Join the continuation lines of a set (after a comma) to its first line."""
    joined: list[tuple[int, list[str]]] = []
    in_set = continues = False
    for number, words in lines:
        if continues:
            joined[-1][1].append(words.lstrip(" |│\t"))
        else:
            joined.append((number, [words]))
        braces = [mark for mark in _BRACES.findall(words) if mark in ("{", "}")]
        in_set = braces[-1] == "{" if braces else in_set and continues
        continues = in_set and words.endswith(",")
    return [(number, " ".join(words)) for number, words in joined]


def _split_prediction(text: str) -> tuple[str, str | None]:
    """Split a line into its condition and its prediction, which is None if there is none.

    >>> [_split_prediction(line) for line in ("humidity <= 75: yes (2.0)", "GPA = 4.0 -> P", "time = 10:30:")]
    [('humidity <= 75', 'yes (2.0)'), ('GPA = 4.0', 'P'), ('time = 10:30', None)]
    """
    for match in _ARROW.finditer(text):
        if not match[0].startswith('"'):
            return text[: match.start()].rstrip().removesuffix(":").rstrip(), text[match.end() :].strip()
    for match in _COLON.finditer(text):
        if match[0] == ":":
            after = text[match.end() :].strip()
            return text[: match.start()].rstrip(), (UNKNOWN if after == _WEKA_UNKNOWN else after) or None
    return text, None


def _entry(text: str, line: int, parent: int) -> OutlineEntry:
    condition, label = _split_prediction(text.strip())
    if label == "":
        raise ParseError(f'line {line}: "{text.strip()}" has no prediction. Write a class after the arrow.')
    entry = OutlineEntry(line, _IF.sub("", condition, count=1) if _IF.match(condition) else condition, parent)
    if label is not None:
        read_prediction(entry, label)
    return entry


def read_prediction(entry: OutlineEntry, text: str) -> None:
    """Set the prediction of a line: a class or a number, with probabilities or Weka's counts where these are given.

    >>> entry = OutlineEntry(3, "x <= 1", 0)
    >>> read_prediction(entry, "yes 0.75")
    >>> entry.label, entry.shares
    ('yes', {'yes': 0.75, '(others)': 0.25})
    >>> read_prediction(entry, "no (4/1)")
    >>> entry.label, entry.weight, entry.shares
    ('no', 4.0, {'no': 3.0, '(others)': 1.0})
    """
    entry.label = text
    if counts := _WEKA_COUNTS.search(text):
        rows, wrong = float(counts[1]), float(counts[2] or 0)
        if wrong > rows:
            raise ParseError(f'line {entry.line}: "{text}" has more errors than rows: expected (rows/errors).')
        entry.label, entry.weight = text[: counts.start()].strip(), rows
        entry.shares = {label: n for label, n in ((entry.label, rows - wrong), (OTHERS, wrong)) if n > 0}
        return
    parts = split_list(text)
    if any(WITH_SHARE.match(part) for part in parts):
        _read_shares(entry, text, parts)
    elif len(parts) > 1 and not NUMBER.fullmatch(text.replace(",", "")):
        raise ParseError(
            f'line {entry.line}: "{text}" names several classes. Give each a probability, "{parts[0]} 0.75, '
            f'{parts[1]} 0.25", or put the name of one class in quotes.'
        )


def _read_shares(entry: OutlineEntry, text: str, parts: list[str]) -> None:
    """Read ``yes 0.75, no 0.25`` or ``yes 75 %``."""
    shares: dict[str, float] = {}
    for part in parts:
        match = WITH_SHARE.match(part)
        share = float(match[2]) / (100 if match[3] else 1) if match else 2.0
        if match is None or share > 1 or match[1] in shares:
            raise ParseError(
                f'line {entry.line}: "{text}" should give each class once, with a probability from 0 to 1. If this is '
                "the name of a class, put it in quotes."
            )
        shares[match[1]] = share
    rest = 1 - sum(shares.values())
    if rest < -_NEAR or (len(shares) > 1 and rest > _NEAR):
        raise ParseError(f'line {entry.line}: the probabilities of "{text}" add up to {1 - rest:.6g}, not to 1.')
    if rest > _NEAR:
        shares[OTHERS] = rest
    entry.label = max(shares, key=lambda label: shares[label])  # the first of equals
    entry.shares = {label: share for label, share in shares.items() if share > 0}


def _read_bare(lines: Iterable[tuple[int, str]]) -> Outline:
    outline, depths = Outline(is_typed=True), _Depths()
    for number, text in lines:
        if outline.declare(text.strip()) or _WEKA_AROUND.match(text.strip()):
            continue
        match = _PREFIX.match(text)
        prefix = match[0] if match else ""
        entry = _entry(text[len(prefix) :], number, depths.parent_of(prefix, number))
        if entry.condition in ("", "all rows"):
            if len(outline.entries) > 1 or outline.entries[0].label is not None:
                raise ParseError(f'line {number}: "{text.strip()}" has no condition. Write one before the arrow.')
            entry.condition, entry.parent = "all rows", -1
            outline.entries[0] = entry
            depths.put(prefix, 0)
        else:
            depths.put(prefix, outline.add(entry))
    return outline


def _read_numbered(lines: Iterable[tuple[int, str]]) -> Outline:
    outline, depths = Outline(), _Depths()
    continued: dict[str, int] = {}
    has_root = False
    for number, text in lines:
        match = _NUMBERED.match(text)
        if not match:
            _read_unnumbered(outline, number, text, has_root)
            continue
        body = _TAIL.sub("", match[2])
        prefix = _PREFIX.match(body)[0]  # type: ignore[index]  # the pattern also matches the empty string
        words, cells = _split_cells(body[len(prefix) :], len(outline.headings), number)
        if has_root and not prefix:
            if match[1] not in continued:
                raise ParseError(f"line {number}: node {match[1]} is at the margin, but no line continues there.")
            depths.restart(continued.pop(match[1]))
            continue
        entry = _entry(words, number, depths.parent_of(prefix, number) if has_root else -1)
        entry.cells = cells
        if has_root:
            depths.put(prefix, outline.add(entry))
        else:
            outline.entries[0] = entry
            has_root = True
        if body != match[2]:
            continued[match[1]] = len(outline.entries) - 1
    return outline


def _read_unnumbered(outline: Outline, number: int, text: str, has_root: bool) -> None:
    """Read a line without a node number: headings and summary above the tree, declarations below it."""
    words = text.strip()
    if outline.declare(words):
        return
    if _FOLDED.match(text) and has_root:
        raise ParseError(
            f"line {number}: this is an abbreviated view of a tree. Read the full text: " + Call("print(tree)") + "."
        )
    if has_root:
        raise ParseError(f'line {number}: "{words}" has no node number, unlike the lines above.')
    if words.split("  ")[0] == HEADINGS[0]:
        outline.headings = _HEADING.findall(words)[1:]
    elif summary := SUMMARY.match(words):
        outline.target = read_text(summary[1])


def _split_cells(text: str, n_cells: int, line: int) -> tuple[str, list[str]]:
    """Split the columns of numbers off the end of a line."""
    if n_cells == 0:
        return text, []
    joined = text.rsplit(None, n_cells)
    if len(joined) != n_cells + 1:
        raise ParseError(f'line {line}: "{text.strip()}" should end with {n_cells} numbers, as the headings say.')
    return joined[0], joined[1:]
