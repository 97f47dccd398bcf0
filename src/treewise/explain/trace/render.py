"""Which printer prints a trace.

Stands before the printers: ``text.py`` for the terminal, ``sheets.py`` for Markdown and LaTeX, ``data.py``
for CSV and JSON. A new format is a new line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from treewise.errors import Param, ParameterError, did_you_mean
from treewise.explain.trace import data, text
from treewise.explain.trace import markdown_latex as sheets
from treewise.explain.trace.nodes import NodeTrace

FORMATS = ("text", "markdown", "latex", "csv", "json")
NARROWEST = 40


@dataclass(frozen=True)
class TraceFormat:
    """How a trace is to be printed."""

    format: str = "text"
    width: int = 80  # of a line of text
    blanks: bool = False  # leave the results open, for an exercise sheet
    ascii: bool = False  # text for terminals without other letters
    write: Callable[[str], str] = str  # how a front renders messages
    document: bool = True  # LaTeX and JSON: a whole, or one node to put into another document

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            hint = did_you_mean(str(self.format), FORMATS)
            raise ParameterError(
                f"must be one of {', '.join(FORMATS)}.", parameter="format", value=self.format, hint=hint
            )
        if self.width < NARROWEST:
            raise ParameterError(f"must be {NARROWEST} columns or more.", parameter="width", value=self.width)
        if self.blanks and self.format in ("csv", "json"):
            raise ParameterError(
                Param("format", self.format) + " is all numbers; an exercise sheet is text, markdown or latex.",
                parameter="blanks",
            )


def render(nodes: Iterable[NodeTrace], how: TraceFormat, notes: Sequence[str] = ()) -> str:
    """Print nodes, and below them notes on the table."""
    if how.format == "csv":
        return data.candidates_csv(nodes)
    if how.format == "json":
        return data.json_text(nodes, single=not how.document)
    if how.format == "markdown":
        return sheets.markdown(nodes, how.blanks, notes)
    if how.format == "latex":
        return sheets.latex(nodes, how.blanks, notes, how.document)
    return "\n".join(blocks(nodes, how, notes))


def blocks(nodes: Iterable[NodeTrace], how: TraceFormat, notes: Sequence[str] = ()) -> Iterator[str]:
    """Yield the text node by node, for whoever reads the first while the next is computed."""
    for piece in text.pieces(nodes, how.width, how.blanks, notes, how.write):
        yield text.to_ascii(piece) if how.ascii else piece
