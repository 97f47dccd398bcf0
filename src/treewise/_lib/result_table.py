"""How a table of results is shown: one value, and every form of it.

Stands just above ``table``, below everything that has results: rules, explanations and comparisons describe what they
found as a ``Sheet`` (words above, rows of plain values under headings, words below), and inherit ``Shown``, which makes
of it aligned text, Markdown, CSV, a dataframe, plain values for JSON, and what a notebook displays. Every text passes
``wording.safe`` and the escapes of its form here, so that names and labels stay data wherever they are printed.
"""

from __future__ import annotations

import html
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from treewise._lib.text import count, display_width, escape_markdown, figure, number, plural, rough_percent, safe
from treewise._lib.text_columns import (
    NARROWEST,
    TALL,
    Style,
    aligned,
    fitted,
    laid_out,
    stacked,
    with_last_below,
    wrapped,
)

__all__ = ["WIDTH", "ColumnSpec", "Displayable", "ResultTable", "Style", "aligned"]

if TYPE_CHECKING:
    from treewise.data.to_frame import Frame

Kind = Literal["text", "label", "whole", "number", "share", "flag"]

WIDTH = 100  # columns of text where nobody says how wide a line may be
MOST = 50  # rows that are printed; data has them all
LEFT_OUT = "…"  # stands for the rows between the first and the last ones

CELLS = "padding:.15em .8em;border-bottom:1px solid rgba(128,128,128,.3);vertical-align:top;"
QUOTED = re.compile(r'[",\r\n]')
TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;"


def yes(value: object) -> str:
    """Write a flag: what is not so stays blank."""
    return "yes" if value else ""


WRITERS: dict[Kind, Callable[[Any], str]] = {
    "text": str,
    "label": lambda value: figure(value) if isinstance(value, float) else str(value),
    "whole": count,
    "number": figure,
    "share": rough_percent,  # of 1, written in percent: the title says so
    "flag": yes,
}


@dataclass(frozen=True)
class ColumnSpec:
    """One column: its name as data, its title for readers, and how a cell is written.

    ``kind`` says what the values are: ``text`` (wrapped where it is long), a ``label`` of the target, ``whole``
    (counts), ``number``, ``share`` (of 1; written in percent) or ``flag``. ``write`` writes a cell its own way.
    ``only`` is ``"words"`` for a column made for readers alone (an interval in one cell), ``"data"`` for one they do
    without. ``joint`` is where a text is broken first (" AND " between conditions).
    """

    name: str
    kind: Kind = "text"
    title: str | None = None
    write: Callable[[Any], str] | None = None
    only: Literal["words", "data"] | None = None
    joint: str | None = None

    @property
    def right(self) -> bool:
        """Whether cells stand to the right, as numbers do."""
        return self.kind in ("whole", "number", "share")

    def said(self, value: Any) -> str:
        """Write one cell; nothing for None."""
        return "" if value is None else safe((self.write or WRITERS[self.kind])(value))

    @property
    def head(self) -> str:
        """The title, for readers."""
        return safe(self.name if self.title is None else self.title)


@dataclass(frozen=True)
class ResultTable:
    """Rows of plain values under headings, with a title, and paragraphs of words above and below.

    ``of`` is what a row is called ("rule"); ``most`` is how many rows readers are shown (None: all), of which ``last``
    are the last ones.

    >>> sheet = ResultTable("Two towns", (ColumnSpec("town"), ColumnSpec("rows", "whole")), [("Rome", 2100), ("Bari", 9)])
    >>> print(sheet.text())
    Two towns
    town   rows
    Rome  2,100
    Bari      9
    >>> sheet.csv()
    'town,rows\\nRome,2100\\nBari,9\\n'
    >>> sheet.frame().rows()
    [('Rome', 2100), ('Bari', 9)]
    """

    title: str
    headings: tuple[ColumnSpec, ...]
    rows: Sequence[Sequence[Any]]
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    of: str = "row"
    most: int | None = MOST
    last: int = 0

    # -- for readers ------------------------------------------------------------------------------------------

    def text(self, width: int | None = WIDTH, most: int | None = None, strong: Style = str) -> str:
        """Return aligned text of lines no wider than this; ``strong`` marks title and headings, as by a colour."""
        before = [*([self.title] if self.title else []), *self.above]
        after = [*self._more(most), *self.below]
        lines = [part for said in before for part in wrapped(safe(said), width)]
        if self.title:
            first = len(wrapped(safe(self.title), width))
            lines[:first] = map(strong, lines[:first])
        lines += self._table(width, most, strong)
        return "\n".join([*lines, *(part for said in after for part in wrapped(safe(said), width))])

    def markdown(self, most: int | None = None) -> str:
        """Return a Markdown table (GitHub's form), with the words as paragraphs around it."""
        shown = self._shown()
        parts = [f"**{in_markdown(self.title)}**"] if self.title else []
        parts += map(in_markdown, self.above)
        if self.rows:
            lines = [[in_markdown(h.head) for h in shown], ["---:" if h.right else "---" for h in shown]]
            lines += [list(map(in_markdown, cells)) for cells in self._cells(most)]
            parts.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
        parts += [in_markdown(said) for said in [*self._more(most), *self.below]]
        return "\n\n".join(parts) + "\n"

    def html(self, most: int | None = None) -> str:
        """Return an HTML fragment: a table and paragraphs, escaped, with inline style and no script."""
        shown = self._shown()
        styles = [f"{CELLS}text-align:{'right' if h.right else 'left'};" for h in shown]

        def line(tag: str, cells: Sequence[str]) -> str:
            made = (
                f'<{tag} style="{style}">{in_html(cell)}</{tag}>' for style, cell in zip(styles, cells, strict=True)
            )
            return f"<tr>{''.join(made)}</tr>"

        parts = [f"<p><strong>{in_html(self.title)}</strong></p>"] if self.title else []
        parts += [f"<p>{in_html(said)}</p>" for said in self.above]
        if self.rows:
            body = "\n".join(line("td", cells) for cells in self._cells(most))
            head = line("th", [h.head for h in shown])
            parts.append(f'<table style="{TABLE}">\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>')
        parts += [f"<p>{in_html(said)}</p>" for said in [*self._more(most), *self.below]]
        return "<div>\n" + "\n".join(parts) + "\n</div>\n"

    # -- for programs -----------------------------------------------------------------------------------------

    def records(self) -> list[dict[str, Any]]:
        """Return every row as a dict of plain values that JSON can hold."""
        kept = self._kept()
        return [{self.headings[i].name: plain(row[i]) for i in kept} for row in self.rows]

    def csv(self) -> str:
        """Return every row as CSV: values as they are, not as they are written for readers.

        Cells are never altered: one that begins with ``=`` stays so, for a guard against spreadsheet formulas would
        change values silently. Import such a file as text.
        """
        kept = self._kept()
        return csv_text([[self.headings[i].name for i in kept], *([raw(row[i]) for i in kept] for row in self.rows)])

    def frame(self) -> Frame:
        """Return every row as a polars dataframe."""
        from treewise.data.to_frame import to_frame

        rows = list(self.rows)  # which may be made as they are looked at
        return to_frame(
            {self.headings[i].name: (self.headings[i].kind, [plain(r[i]) for r in rows]) for i in self._kept()}
        )

    # -- the pieces -------------------------------------------------------------------------------------------

    def _kept(self) -> list[int]:
        return [i for i, heading in enumerate(self.headings) if heading.only != "words"]

    def _shown(self) -> list[ColumnSpec]:
        return [heading for heading in self.headings if heading.only != "data"]

    def _limit(self, most: int | None) -> int:
        limit = self.most if most is None else most
        return len(self.rows) if limit is None else min(limit, len(self.rows))

    def _more(self, most: int | None) -> list[str]:
        left = len(self.rows) - self._limit(most)
        return [f"… {plural(left, f'more {self.of}')}"] if left else []

    def _cells(self, most: int | None) -> Iterator[list[str]]:
        places = [i for i, heading in enumerate(self.headings) if heading.only != "data"]
        limit, many = self._limit(most), len(self.rows)
        last = min(self.last, limit) if limit < many else 0
        for row in self.rows[: limit - last]:
            yield [self.headings[i].said(row[i]) for i in places]
        if last:
            yield [LEFT_OUT, *[""] * (len(places) - 1)]
            for row in self.rows[many - last :]:
                yield [self.headings[i].said(row[i]) for i in places]

    def _table(self, width: int | None, most: int | None, strong: Style) -> list[str]:
        """Lay the rows out below their headings, words wrapped; one below the other where a line is too narrow."""
        shown, cells = self._shown(), list(self._cells(most))
        if not cells:
            return []
        heads = [h.head for h in shown]
        wide = [max(map(display_width, column)) for column in zip(heads, *cells, strict=True)]
        least = [max(NARROWEST, display_width(h.head)) if not h.right else 0 for h in shown]
        right, joints = [h.right for h in shown], [h.joint for h in shown]
        widths = fitted(wide, least, width)
        tall = widths is None or any(len(wrapped(row[-1], widths[-1], joints[-1])) > TALL for row in cells)
        long = not right[-1] and (joints[-1] is not None or wide[-1] == max(wide))
        if tall and long and (others := fitted(wide[:-1], least[:-1], width)):
            return with_last_below(heads, cells, others, right, joints, width or WIDTH, strong)
        if widths is None:  # titles of numbers give way too, before rows are written one below the other
            words = [[*head.split(), *column] for head, *column in zip(heads, *cells, strict=True)]
            least = [room or max(map(display_width, each)) for room, each in zip(least, words, strict=True)]
            widths = fitted(wide, least, width)
        if widths is None:
            return stacked(heads, cells, width or WIDTH, strong)
        head = [strong(line) for line in laid_out(heads, widths, right)]
        return [*head, *(line for row in cells for line in laid_out(row, widths, right, joints))]


class Displayable(ABC):
    """What every result inherits that is shown as a sheet: ``print`` it, or take it in another form.

    A subclass (a dataclass with ``repr=False``) has ``sheet()``; one with more than one table has ``sheets()`` too, the
    first of which is what CSV and the dataframe hold.
    """

    @abstractmethod
    def sheet(self) -> ResultTable:
        """Return what is shown."""

    def sheets(self) -> tuple[ResultTable, ...]:
        """Return all that readers are shown."""
        return (self.sheet(),)

    def to_text(self, width: int | None = WIDTH, most: int | None = None, strong: Style = str) -> str:
        """Return aligned text, as ``print`` writes it, within a width (None: as wide as it is)."""
        return "\n\n".join(sheet.text(width, most, strong) for sheet in self.sheets())

    def to_markdown(self, most: int | None = None) -> str:
        """Return Markdown: words, and GitHub's form of a table."""
        return "\n".join(sheet.markdown(most) for sheet in self.sheets())

    def to_html(self, most: int | None = None) -> str:
        """Return an HTML fragment with inline style and no script; names and labels are escaped."""
        return "".join(sheet.html(most) for sheet in self.sheets())

    def to_csv(self) -> str:
        """Return every row as CSV, with values as they are."""
        return self.sheet().csv()

    def to_frame(self) -> Frame:
        """Return every row as a polars dataframe."""
        return self.sheet().frame()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        sheet = self.sheet()
        return {"title": sheet.title, "rows": sheet.records()}

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return str(self)  # what a notebook and a prompt show

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.to_html(), "text/markdown": self.to_markdown()}


# -- the escapes of each form ---------------------------------------------------------------------------------


def in_markdown(text: str) -> str:
    """Write a text so that Markdown shows it as it is, within a cell of a table too."""
    return escape_markdown(safe(text))


def in_html(text: str) -> str:
    """Write a text so that a browser shows it as it is."""
    return html.escape(safe(text))


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    r"""Write CSV: a cell with a comma, a quote or any line break stands in quotes.

    Python's own writer leaves a lone carriage return bare where lines end with a newline (before 3.13), and readers
    then see two lines.

    >>> csv_text([["a", "b"], ["1,5", 'a "b" c'], ["two\rlines", ""]])
    'a,b\n"1,5","a ""b"" c"\n"two\rlines",\n'
    """

    def written(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if QUOTED.search(cell) else cell

    return "".join(",".join(map(written, row)) + "\n" if list(row) != [""] else '""\n' for row in rows)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: NumPy's numbers as Python's, tuples as lists, None for NaN."""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple, set, frozenset)) else value


def raw(value: Any) -> str:
    """Write a value into a CSV cell, whole.

    >>> raw(0.1), raw(None), raw(True), raw([1, "a"])
    ('0.1', '', 'true', '[1, "a"]')
    """
    value = value.item() if hasattr(value, "item") else value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number(value)
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
