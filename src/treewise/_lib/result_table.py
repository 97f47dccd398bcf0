"""Tables of results: one value, rendered as text, Markdown, HTML, CSV, a dataframe or JSON.

Rules, explanations, comparisons and evaluations describe what they found as a ``ResultTable`` (paragraphs above, rows
of plain values in typed columns, paragraphs below) and inherit ``Displayable``, which renders it in every format and in
notebooks. Escaping happens here, once per format, so that names and labels stay data wherever they are printed.
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

from treewise._lib.text import (
    display_width,
    escape_markdown,
    format_count,
    format_exact,
    format_rounded,
    format_share,
    plural,
    safe,
)
from treewise._lib.text_columns import (
    MAX_CELL_LINES,
    MIN_TEXT_WIDTH,
    Style,
    align_columns,
    fit_widths,
    layout_row,
    layout_stacked,
    layout_with_last_below,
    wrap_text,
)

__all__ = ["WIDTH", "ColumnSpec", "Displayable", "ResultTable", "Style", "align_columns"]

if TYPE_CHECKING:
    from treewise.data.frames import Frame

Kind = Literal["text", "label", "count", "number", "share", "flag"]

WIDTH = 100  # default line width
_MAX_ROWS = 50  # rows rendered for readers by default; CSV, dataframes and JSON hold all
_ELLIPSIS = "…"  # stands for the rows between the first and the last ones

_CELL_STYLE = "padding:.15em .8em;border-bottom:1px solid rgba(128,128,128,.3);vertical-align:top;"
_TABLE_STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_CELLS = {mark: re.compile(rf'"(?:[^"]+|"")*"|[^"{mark}\n]+') for mark in (",", "\t")}
_NEEDS_QUOTES = re.compile(r'[",\r\n]')

_FORMATTERS: dict[Kind, Callable[[Any], str]] = {
    "text": str,
    "label": lambda value: format_rounded(value) if isinstance(value, float) else str(value),
    "count": format_count,
    "number": format_rounded,
    "share": format_share,
    "flag": lambda value: "yes" if value else "",
}


@dataclass(frozen=True)
class ColumnSpec:
    """One column: its name as data, its title for readers, and how a cell is formatted.

    ``kind`` is the type of the values: ``text`` (wrapped where it is long), a ``label`` of the target, ``count``,
    ``number``, ``share`` (of 1; formatted in percent) or ``flag``; ``formatter`` overrides the formatting of the kind.
    ``only="text"`` marks a column for readers alone (an interval in one cell), ``only="data"`` one that readers do
    without. A long text is broken at ``break_at`` first (" AND " between conditions).
    """

    name: str
    kind: Kind = "text"
    title: str | None = None
    formatter: Callable[[Any], str] | None = None
    only: Literal["text", "data"] | None = None
    break_at: str | None = None

    @property
    def is_right_aligned(self) -> bool:
        """Whether cells are aligned to the right, as numbers are."""
        return self.kind in ("count", "number", "share")

    @property
    def heading(self) -> str:
        """The title for readers."""
        return safe(self.name if self.title is None else self.title)

    def format_cell(self, value: Any) -> str:
        """Format one cell; None is blank."""
        return "" if value is None else safe((self.formatter or _FORMATTERS[self.kind])(value))


@dataclass(frozen=True)
class ResultTable:
    """Rows of plain values in typed columns, with a title and paragraphs above and below.

    ``row_name`` is what a row is called ("rule"). Readers are shown ``max_rows`` rows (None: all), of which
    ``last_rows`` come from the end; ``omission_hint`` is added to the line that counts the others.

    >>> columns = ColumnSpec("town"), ColumnSpec("rows", "count")
    >>> towns = ResultTable("Two towns", columns, [("Rome", 2100), ("Bari", 9)])
    >>> print(towns.to_text())
    Two towns
    town   rows
    Rome  2,100
    Bari      9
    >>> towns.to_csv()
    'town,rows\\nRome,2100\\nBari,9\\n'
    >>> towns.to_frame().rows()
    [('Rome', 2100), ('Bari', 9)]
    """

    title: str
    columns: tuple[ColumnSpec, ...]
    rows: Sequence[Sequence[Any]]
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    row_name: str = "row"
    max_rows: int | None = _MAX_ROWS
    last_rows: int = 0
    omission_hint: str = ""

    # -- for readers ------------------------------------------------------------------------------------------

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return aligned text within a line width; ``emphasis`` styles the title and the headings."""
        title_lines = wrap_text(safe(self.title), width) if self.title else []
        lines = [*map(emphasis, title_lines), *(part for text in self.above for part in wrap_text(safe(text), width))]
        lines += self._layout(width, max_rows, emphasis)
        after = [*self._omission(max_rows), *self.below]
        return "\n".join([*lines, *(part for text in after for part in wrap_text(safe(text), width))])

    def to_markdown(self, max_rows: int | None = None) -> str:
        """Return a Markdown table (GitHub's dialect) with the paragraphs around it."""
        columns = self._reader_columns()
        parts = [f"**{_markdown(self.title)}**"] if self.title else []
        parts += map(_markdown_paragraph, self.above)
        if self.rows:
            lines = [
                [_markdown(column.heading) for column in columns],
                ["---:" if column.is_right_aligned else "---" for column in columns],
            ]
            lines += [list(map(_markdown, cells)) for cells in self._cells(max_rows)]
            parts.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
        parts += map(_markdown_paragraph, [*self._omission(max_rows), *self.below])
        return "\n\n".join(parts) + "\n"

    def to_html(self, max_rows: int | None = None) -> str:
        """Return an HTML fragment: a table and paragraphs, escaped, with inline style and no script."""
        columns = self._reader_columns()
        styles = [f"{_CELL_STYLE}text-align:{'right' if column.is_right_aligned else 'left'};" for column in columns]

        def table_row(tag: str, cells: Sequence[str]) -> str:
            pairs = zip(styles, cells, strict=True)
            row = "".join(f'<{tag} style="{style}">{escape_html(cell)}</{tag}>' for style, cell in pairs)
            return f"<tr>{row}</tr>"

        parts = [f"<p><strong>{escape_html(self.title)}</strong></p>"] if self.title else []
        parts += [f"<p>{escape_html(text)}</p>" for text in self.above]
        if self.rows:
            body = "\n".join(table_row("td", cells) for cells in self._cells(max_rows))
            head = table_row("th", [column.heading for column in columns])
            parts.append(f'<table style="{_TABLE_STYLE}">\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>')
        parts += [f"<p>{escape_html(text)}</p>" for text in [*self._omission(max_rows), *self.below]]
        return "<div>\n" + "\n".join(parts) + "\n</div>\n"

    # -- for programs -----------------------------------------------------------------------------------------

    def records(self) -> list[dict[str, Any]]:
        """Return every row as a dict of plain values that JSON can hold."""
        columns = self._data_columns()
        return [{self.columns[i].name: to_plain(row[i]) for i in columns} for row in self.rows]

    def to_csv(self, safe_csv: bool = False) -> str:
        """Return every row as CSV, with exact values.

        Cells are not altered: one that begins with ``=`` stays so, and a spreadsheet may evaluate it. ``safe_csv`` puts
        a ``'`` before such text; numbers stay as they are.
        """
        columns = self._data_columns()
        content = write_csv(
            [[self.columns[i].name for i in columns], *([_csv_cell(row[i]) for i in columns] for row in self.rows)]
        )
        return guard_formulas(content) if safe_csv else content

    def to_frame(self) -> Frame:
        """Return every row as a polars dataframe."""
        from treewise.data.frames import to_frame

        rows = list(self.rows)  # which may be computed on access
        return to_frame(
            {
                self.columns[i].name: (self.columns[i].kind, [to_plain(row[i]) for row in rows])
                for i in self._data_columns()
            }
        )

    # -- selection and layout ---------------------------------------------------------------------------------

    def _data_columns(self) -> list[int]:
        return [i for i, column in enumerate(self.columns) if column.only != "text"]

    def _reader_columns(self) -> list[ColumnSpec]:
        return [column for column in self.columns if column.only != "data"]

    def _n_shown(self, max_rows: int | None) -> int:
        limit = self.max_rows if max_rows is None else max_rows
        return len(self.rows) if limit is None else min(limit, len(self.rows))

    def _omission(self, max_rows: int | None) -> list[str]:
        n_left = len(self.rows) - self._n_shown(max_rows)
        return [f"{_ELLIPSIS} {plural(n_left, f'more {self.row_name}')}{self.omission_hint}"] if n_left else []

    def _cells(self, max_rows: int | None) -> Iterator[list[str]]:
        shown = [i for i, column in enumerate(self.columns) if column.only != "data"]
        n_shown, n_rows = self._n_shown(max_rows), len(self.rows)
        n_last = min(self.last_rows, n_shown) if n_shown < n_rows else 0
        for row in self.rows[: n_shown - n_last]:
            yield [self.columns[i].format_cell(row[i]) for i in shown]
        if n_last:
            yield [_ELLIPSIS, *[""] * (len(shown) - 1)]
            for row in self.rows[n_rows - n_last :]:
                yield [self.columns[i].format_cell(row[i]) for i in shown]

    def _layout(self, width: int | None, max_rows: int | None, emphasis: Style) -> list[str]:
        """Lay out headings and rows side by side, text wrapped; stacked where lines are too narrow for that."""
        columns, cells = self._reader_columns(), list(self._cells(max_rows))
        if not cells:
            return []
        headings = [column.heading for column in columns]
        natural = [max(map(display_width, column)) for column in zip(headings, *cells, strict=True)]
        minimum = [
            0 if column.is_right_aligned else max(MIN_TEXT_WIDTH, display_width(column.heading)) for column in columns
        ]
        right = [column.is_right_aligned for column in columns]
        breaks = [column.break_at for column in columns]
        widths = fit_widths(natural, minimum, width)
        is_tall = widths is None or any(
            len(wrap_text(row[-1], widths[-1], breaks[-1])) > MAX_CELL_LINES for row in cells
        )
        is_long_text = not right[-1] and (breaks[-1] is not None or natural[-1] == max(natural))
        if is_tall and is_long_text and (fitted := fit_widths(natural[:-1], minimum[:-1], width)):
            return layout_with_last_below(headings, cells, fitted, right, breaks, width or WIDTH, emphasis)
        if widths is None:  # wrap the titles of numbers too, before rows are stacked
            words = [[*heading.split(), *column] for heading, *column in zip(headings, *cells, strict=True)]
            minimum = [given or max(map(display_width, texts)) for given, texts in zip(minimum, words, strict=True)]
            widths = fit_widths(natural, minimum, width)
        if widths is None and width == WIDTH:  # a file or a pipe: lines may be longer, and stay a table
            if is_long_text:
                return layout_with_last_below(headings, cells, natural[:-1], right, breaks, width, emphasis)
            widths = natural
        if widths is None:
            return layout_stacked(headings, cells, width or WIDTH, emphasis)
        heading_lines = map(emphasis, layout_row(headings, widths, right))
        return [*heading_lines, *(line for row in cells for line in layout_row(row, widths, right, breaks))]


class Displayable(ABC):
    """Base class of results: ``print`` them, or convert them to another format.

    A subclass (a dataclass with ``repr=False``) has ``result_table()``; one with more than one table for readers also
    has ``result_tables()``. CSV, dataframe and JSON hold ``result_table()``; readers are shown those of ``displayed``.
    """

    @abstractmethod
    def result_table(self) -> ResultTable:
        """Return the result as a table."""

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return all tables that readers are shown."""
        return (self.result_table(),)

    @property
    def displayed(self) -> Displayable:
        """The result with its model's display names and labels; the result itself if the model has none."""
        return self

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return aligned text, as ``print`` shows it, within a line width (None: unlimited)."""
        return "\n\n".join(table.to_text(width, max_rows, emphasis) for table in self.displayed.result_tables())

    def to_markdown(self, max_rows: int | None = None) -> str:
        """Return Markdown: paragraphs and a table in GitHub's dialect."""
        return "\n".join(table.to_markdown(max_rows) for table in self.displayed.result_tables())

    def to_html(self, max_rows: int | None = None) -> str:
        """Return an HTML fragment with inline style and no script; names and labels are escaped."""
        return "".join(table.to_html(max_rows) for table in self.displayed.result_tables())

    def to_csv(self, safe_csv: bool = False) -> str:
        """Return every row as CSV, with exact values; ``safe_csv`` guards text that a spreadsheet would evaluate."""
        return self.result_table().to_csv(safe_csv)

    def to_frame(self) -> Frame:
        """Return every row as a polars dataframe."""
        return self.result_table().to_frame()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        table = self.result_table()
        return {"title": table.title, "rows": table.records()}

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return str(self)  # what an interactive prompt shows

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.to_html(), "text/markdown": self.to_markdown()}


# -- escaping and plain values ----------------------------------------------------------------------------------


def _markdown_paragraph(text: str) -> str:
    return _markdown(text.lstrip(" "))  # Markdown takes an indented line for code


def _markdown(text: str) -> str:
    return escape_markdown(safe(text))


def escape_html(text: str) -> str:
    """Escape a text for HTML; control characters are made visible."""
    return html.escape(safe(text))


def write_csv(rows: Iterable[Sequence[str]]) -> str:
    r"""Write CSV: a cell with a comma, a quote or any line break is quoted.

    Python's own writer leaves a lone carriage return bare where lines end with a newline (before 3.13), and readers
    then see two lines.

    >>> write_csv([["a", "b"], ["1,5", 'a "b" c'], ["two\rlines", ""]])
    'a,b\n"1,5","a ""b"" c"\n"two\rlines",\n'
    """

    def quote(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell

    return "".join(",".join(map(quote, row)) + "\n" if list(row) != [""] else '""\n' for row in rows)


def guard_formulas(content: str, separator: str = ",") -> str:
    r"""Put ``'`` before each cell of CSV or TSV that a spreadsheet would evaluate as a formula, but not before numbers.

    >>> print(guard_formulas('name,x\n"=HYPERLINK(""http://x"",""a"")",-1.5\n-1+cmd,"=a\nb"\n'), end="")
    name,x
    "'=HYPERLINK(""http://x"",""a"")",-1.5
    '-1+cmd,"'=a
    b"
    """

    def guard(match: re.Match[str]) -> str:
        cell = match[0]
        quote = '"' if cell.startswith('"') else ""
        text = cell[1:-1] if quote else cell
        return f"{quote}'{cell[len(quote) :]}" if text.startswith(_FORMULA_STARTS) and not _is_number(text) else cell

    return _CELLS[separator].sub(guard, content)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def to_plain(value: Any) -> Any:
    """Convert a value to what JSON can hold: NumPy scalars to Python's, tuples to lists, NaN and infinity to None."""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): to_plain(part) for key, part in value.items()}
    return [to_plain(part) for part in value] if isinstance(value, (list, tuple, set, frozenset)) else value


def _csv_cell(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return format_exact(value)
    return value if isinstance(value, str) else json.dumps(to_plain(value), ensure_ascii=False)
