"""The lines of a written tree → an outline: who is below whom, what each line says, what it predicts.

Stands before ``parse.py``, which makes a tree of the outline. Two forms of text come in:

    bare       as people type it (and Weka prints it): indentation, ``->`` or ``→`` or ``: ``, ``#`` comments
    numbered   as ``print(tree)`` writes it: node numbers, branch glyphs, columns of numbers under headings,
               blocks that continue a deep subtree at the margin

A line is below the nearest line above it that is indented less, whatever the steps of indentation are; a set may go on
below its first line, after a comma. Both
forms may declare, in lines of their own, ``order size: small < medium < large``, ``classes: no, yes`` and ``predicts
numbers``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from treewise.errors import Call, ParseError
from treewise.formats.text_format.notation import HEADINGS, PREDICTS_NUMBERS, QUOTED, cut_comment, read_text, split_list

_LEAD = re.compile(r"[\s|│]*(?:(?:[├└]─*|`-*|(?<=\|)-+)\s*)?")
_ARROW = re.compile(rf"{QUOTED}|→|->")
_COLON = re.compile(rf"{QUOTED}|:(?=\s+\S)|:$")
_BRACES = re.compile(rf"{QUOTED}|[{{}}]")
_WEKA_COUNTS = re.compile(r"\s*\(\d+(?:\.\d+)?(?:/\d+(?:\.\d+)?)?\)$")
_NUMBERED = re.compile(r"\s*(\d+)  (.*)$")
_TAIL = re.compile(r"(?:…|\.\.\.) continues at \d+ below$")
_FOLDED = re.compile(r"[\s|│├└─`-]*(?:…|\.\.\.)")
_HEADING = re.compile(rf"(?:% )?{QUOTED}|\S+(?: \S+)*")
_ORDER = re.compile(rf"order ({QUOTED}|.+?):\s+(.* < .*)$")
_CLASSES = re.compile(r"classes:\s+(.+)$")
_SUMMARY = re.compile(rf"({QUOTED}|.+?): .* [·;] .*depth \d+")


@dataclass
class OutlineEntry:
    """One line of a written tree; the first entry is the root, which may have no line of its own."""

    line: int
    said: str
    parent: int
    label: str | None = None
    cells: list[str] = field(default_factory=list)
    children: list[int] = field(default_factory=list)


@dataclass
class Outline:
    """A whole written tree, and what it declares."""

    entries: list[OutlineEntry] = field(default_factory=lambda: [OutlineEntry(1, "all rows", -1)])
    headings: list[str] = field(default_factory=list)
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    target: str | None = None
    numbers: bool = False  # it predicts numbers, not classes

    def add(self, entry: OutlineEntry) -> int:
        """Put an entry below its parent."""
        above = self.entries[entry.parent]
        if above.label is not None:
            raise ParseError(
                f'line {entry.line}: "{entry.said}" is below line {above.line}, which predicts already. '
                "Only a line without a prediction can have others below it."
            )
        self.entries.append(entry)
        above.children.append(len(self.entries) - 1)
        return len(self.entries) - 1

    def declare(self, text: str) -> bool:
        """Take a declaration; tell whether the line was one."""
        if order := _ORDER.match(text):
            self.orders[read_text(order[1])] = tuple(read_text(level) for level in split_list(order[2], " < "))
            return True
        if classes := _CLASSES.match(text):
            self.classes = split_list(classes[1])
            return True
        self.numbers = self.numbers or text == PREDICTS_NUMBERS
        return text == PREDICTS_NUMBERS


class _Depths:
    """Finds the line above that is indented less; tabs must not leave open which one that is."""

    def __init__(self) -> None:
        self.open: list[tuple[int, int, int]] = [(-1, -1, 0)]  # width with wide tabs, with narrow ones, entry

    def parent_of(self, lead: str, line: int) -> int:
        """Return the entry that a line with this lead is below."""
        wide, narrow = len(lead.expandtabs(8)), len(lead)
        while True:
            top_wide, top_narrow, entry = self.open[-1]
            if (top_wide < wide) != (top_narrow < narrow) or (top_wide == wide) != (top_narrow == narrow):
                raise ParseError(f"line {line}: tabs and spaces are mixed, so its depth is unclear. Use one of them.")
            if top_wide < wide:
                return entry
            self.open.pop()

    def put(self, lead: str, entry: int) -> None:
        """Remember the indentation of a new entry."""
        self.open.append((len(lead.expandtabs(8)), len(lead), entry))

    def restart(self, entry: int) -> None:
        """Begin a block at the margin."""
        self.open = [(-1, -1, entry)]


def read_outline(text: str) -> Outline:
    """Read either form.

    >>> outline = read_outline("x <= 1: a" + chr(10) + "x > 1 -> b  # the rest")
    >>> [(entry.line, entry.said, entry.label) for entry in outline.entries]
    [(1, 'all rows', None), (1, 'x <= 1', 'a'), (2, 'x > 1', 'b')]
    """
    lines = [(i, cut_comment(line.rstrip("\r"))[0]) for i, line in enumerate(text.split("\n"), start=1)]
    said = _join_sets((i, words) for i, words in lines if words.strip())
    if not said:
        raise ParseError("there is no tree in this text: it is empty.")
    numbered = any(_NUMBERED.match(words) for _, words in said[:4])
    return _read_numbered(said) if numbered else _read_bare(said)


def _join_sets(lines: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Put the lines of a set that goes on below its first line, after a comma, on that line."""
    parts: list[tuple[int, list[str]]] = []
    is_open = goes_on = False
    for number, words in lines:
        if goes_on:
            parts[-1][1].append(words.lstrip(" |│\t"))
        else:
            parts.append((number, [words]))
        braces = [mark for mark in _BRACES.findall(words) if mark in ("{", "}")]
        is_open = braces[-1] == "{" if braces else is_open and goes_on
        goes_on = is_open and words.endswith(",")
    return [(number, " ".join(words)) for number, words in parts]


def cut_label(text: str) -> tuple[str, str | None]:
    """Cut a line into its condition and what it predicts; None when it predicts nothing.

    >>> cut_label("humidity <= 75: yes (2.0)"), cut_label("GPA = 4.0 -> P"), cut_label("time = 10:30:")
    (('humidity <= 75', 'yes'), ('GPA = 4.0', 'P'), ('time = 10:30', None))
    """
    for match in _ARROW.finditer(text):
        if not match[0].startswith('"'):
            return text[: match.start()].rstrip().removesuffix(":").rstrip(), text[match.end() :].strip()
    for match in _COLON.finditer(text):
        if match[0] == ":":
            after = text[match.end() :].strip()
            return text[: match.start()].rstrip(), _WEKA_COUNTS.sub("", after) if after else None
    return text, None


def _entry(text: str, line: int, parent: int) -> OutlineEntry:
    said, label = cut_label(text.strip())
    if label == "":
        raise ParseError(f'line {line}: "{text.strip()}" predicts nothing: write a class after the arrow.')
    return OutlineEntry(line, said, parent, label)


def _read_bare(lines: Iterable[tuple[int, str]]) -> Outline:
    outline, depths = Outline(), _Depths()
    for number, text in lines:
        if outline.declare(text.strip()):
            continue
        match = _LEAD.match(text)
        lead = match[0] if match else ""
        entry = _entry(text[len(lead) :], number, depths.parent_of(lead, number))
        if entry.said in ("", "all rows"):
            if len(outline.entries) > 1 or outline.entries[0].label is not None:
                raise ParseError(f'line {number}: "{text.strip()}" has no condition. Write one before the arrow.')
            outline.entries[0] = OutlineEntry(number, "all rows", -1, entry.label)
            depths.put(lead, 0)
        else:
            depths.put(lead, outline.add(entry))
    return outline


def _read_numbered(lines: Iterable[tuple[int, str]]) -> Outline:
    outline, depths = Outline(), _Depths()
    continued: dict[str, int] = {}
    begun = False
    for number, text in lines:
        match = _NUMBERED.match(text)
        if not match:
            _read_between(outline, number, text, begun)
            continue
        body = _TAIL.sub("", match[2])
        lead = _LEAD.match(body)[0]  # type: ignore[index]  # it matches everything, if only nothing
        words, cells = _cut_cells(body[len(lead) :], len(outline.headings), number)
        if begun and not lead:
            if match[1] not in continued:
                raise ParseError(f"line {number}: node {match[1]} is at the margin, but no line above continues there.")
            depths.restart(continued.pop(match[1]))
            continue
        entry = _entry(words, number, depths.parent_of(lead, number) if begun else -1)
        entry.cells = cells
        if begun:
            depths.put(lead, outline.add(entry))
        else:
            outline.entries[0] = entry
            begun = True
        if body != match[2]:
            continued[match[1]] = len(outline.entries) - 1
    return outline


def _read_between(outline: Outline, number: int, text: str, begun: bool) -> None:
    """Read a line without a node number: headings and summary above the tree, declarations below it."""
    words = text.strip()
    if outline.declare(words):
        return
    if _FOLDED.match(text) and begun:
        raise ParseError(
            f"line {number}: this is a shortened view of a tree. Read the whole one: " + Call("print(tree)") + "."
        )
    if begun:
        raise ParseError(f'line {number}: "{words}" has no node number, but the lines above have.')
    if words.split("  ")[0] == HEADINGS[0]:
        outline.headings = _HEADING.findall(words)[1:]
    elif summary := _SUMMARY.match(words):
        outline.target = read_text(summary[1])


def _cut_cells(text: str, many: int, line: int) -> tuple[str, list[str]]:
    """Cut the columns of numbers off the end of a line."""
    if many == 0:
        return text, []
    parts = text.rsplit(None, many)
    if len(parts) != many + 1:
        raise ParseError(f'line {line}: "{text.strip()}" should end with {many} numbers, as the headings say.')
    return parts[0], parts[1:]
