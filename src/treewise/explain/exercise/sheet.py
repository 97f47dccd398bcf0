"""The parts of an exercise: blanks, tables of cells in which they stand, and the whole sheet as JSON.

A blank has everything that marking needs: its kind, its value, and the formula by which it follows from other blanks.
Topics make these parts, printers write them down, ``marking.py`` reads the blanks alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from treewise.errors import ParameterError, did_you_mean
from treewise.explain.exercise.formula import Formula, rename

SHEET_FORMAT = "treewise exercise 1"
BlankKind = Literal["count", "number", "choice", "tree"]


@dataclass(frozen=True)
class Blank:
    """Something to fill in: a count, a number with a unit, one of several options, or a tree typed as text."""

    id: str
    prompt: str  # "gain of GPA at node 0", for screen readers, marks and messages
    kind: BlankKind
    value: float | tuple[str, ...] | str  # the number; all options that are right; the tree as text
    text: str  # the answer as one would write it
    formula: Formula | None = None  # how it follows from other blanks
    tolerance: float = 0.0
    unit: str = ""  # bits or nats, for entropies and gains
    options: tuple[str, ...] = ()
    tree: Mapping[str, Any] = field(default_factory=dict)  # for a tree: the table, and its nodes as sets of rows
    points: int = 1

    @property
    def key_text(self) -> str:
        """The answer as the key prints it: every option that is right."""
        return " or ".join(self.value) if isinstance(self.value, tuple) else self.text


Cell = str | Blank


@dataclass(frozen=True)
class Grid:
    """A table of texts and blanks."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Part:
    """A part of a sheet: a heading, sentences, lines in fixed width, a table."""

    heading: str = ""
    sentences: tuple[str, ...] = ()
    code: str = ""  # a printed tree
    grid: Grid | None = None


@dataclass(frozen=True)
class Exercise:
    """A sheet with blanks and its key: ``render`` it, read ``key``, or mark answers with ``check``.

    >>> import treewise as tw
    >>> sheet = tw.exercise("admissions", per="total")
    >>> sheet.title, len(sheet.blanks), sheet.points
    ('Which split is best?', 6, 6)
    >>> sheet.key["2"], sheet.blanks[1].prompt
    ('7.1452', 'gain of GPA at node 0')
    >>> sheet.check({"1": "12", "2": "7.14"}).points
    2.0
    """

    title: str
    topic: str
    level: int
    source: str  # of the table: its name, or the seed
    parts: tuple[Part, ...]

    @property
    def blanks(self) -> tuple[Blank, ...]:
        """All blanks in reading order."""
        return tuple(blanks_of(self.parts))

    @property
    def points(self) -> int:
        """The points of all blanks together."""
        return sum(blank.points for blank in self.blanks)

    @property
    def key(self) -> dict[str, str]:
        """A right answer to each blank."""
        return {blank.id: blank.text for blank in self.blanks}

    def render(self, format: str = "markdown", key: bool = True) -> str:
        """Return the sheet as html, latex, markdown, moodle or json; ``key=False`` leaves out the answers.

        >>> import treewise as tw
        >>> print(tw.exercise("seven_points").render("markdown", key=False).splitlines()[0])
        # Which split is best?
        """
        from treewise.explain.exercise.printers import PRINTERS

        if format not in PRINTERS:
            hint = did_you_mean(str(format), PRINTERS)
            raise ParameterError(f"must be one of {', '.join(PRINTERS)}.", parameter="format", value=format, hint=hint)
        if not key and format in ("json", "moodle"):
            raise ParameterError(
                f"{format} is what answers are marked by, so it holds the key.",
                parameter="key",
                hint="Leave key=False out, or take html, latex or markdown.",
            )
        return PRINTERS[format](self, key)

    def check(self, answers: Any) -> Any:
        """Mark answers, given as a mapping from the number of a blank to what was written; see ``check_answers``."""
        from treewise.explain.exercise.marking import check_answers

        return check_answers(self, answers)

    def __repr__(self) -> str:
        return f"<Exercise {self.topic} · {self.source} · level {self.level} · {len(self.blanks)} blanks>"

    def __str__(self) -> str:
        return self.render("markdown")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/markdown": self.render("markdown")}


def blanks_of(parts: Sequence[Part]) -> Iterator[Blank]:
    """Yield the blanks in reading order."""
    for part in parts:
        for row in part.grid.rows if part.grid else ():
            yield from (cell for cell in row if isinstance(cell, Blank))


def has_blanks(grid: Grid | None) -> bool:
    """Tell whether there is something to fill in."""
    return grid is not None and any(isinstance(cell, Blank) for row in grid.rows for cell in row)


def number_blanks(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Number the blanks from 1 in reading order; topics give them any unique ids."""
    numbers = {blank.id: str(n) for n, blank in enumerate(blanks_of(parts), start=1)}

    def numbered(cell: Cell) -> Cell:
        if isinstance(cell, str):
            return cell
        formula = None if cell.formula is None else rename(cell.formula, numbers)
        return replace(cell, id=numbers[cell.id], formula=formula)

    def numbered_grid(grid: Grid | None) -> Grid | None:
        return grid and replace(grid, rows=tuple(tuple(map(numbered, row)) for row in grid.rows))

    return tuple(replace(part, grid=numbered_grid(part.grid)) for part in parts)


# -- as JSON, for marking -----------------------------------------------------------------------------------


def sheet_data(sheet: Exercise) -> dict[str, Any]:
    """Return what marking needs as values that JSON can hold: the page and ``treewise check`` read the same."""
    blanks = [
        {name: value for name, value in vars(blank).items() if value not in (None, "", (), {})}
        for blank in sheet.blanks
    ]
    head = {"format": SHEET_FORMAT, "title": sheet.title, "topic": sheet.topic, "level": sheet.level}
    data = {**head, "source": sheet.source, "blanks": blanks}
    return {**data, "id": fingerprint(data)}


def fingerprint(data: Mapping[str, Any]) -> str:
    """Return a short checksum, by which answers say which sheet they belong to."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]


def blanks_from(data: Any) -> tuple[Blank, ...]:
    """Return the blanks of ``sheet_data`` that was read from a file."""
    if not isinstance(data, dict) or data.get("format") != SHEET_FORMAT or not isinstance(data.get("blanks"), list):
        raise ParameterError(
            "this is not a sheet with its key.",
            hint="A sheet to mark by is made by: treewise exercise TABLE -o sheet.json (or sheet.html).",
        )
    try:
        blanks = tuple(Blank(**{**each, "value": _restored(each["value"])}) for each in data["blanks"])
    except (TypeError, KeyError):
        raise ParameterError("the blanks of this sheet are damaged.", hint="Make the sheet again.") from None
    if data.get("id") != fingerprint({name: value for name, value in data.items() if name not in ("id", "number")}):
        raise ParameterError("this sheet was changed after it was made.", hint="Make it again with treewise exercise.")
    return blanks


def _restored(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
