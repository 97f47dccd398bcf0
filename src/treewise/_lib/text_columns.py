"""Layout of cells as lines of text: aligned columns, wrapped within a line width.

Used by ``result_table`` and by front ends that align a few columns; handles display widths, not the meaning of cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from treewise._lib.text import clip, display_width, pad

Style = Callable[[str], str]

MIN_TEXT_WIDTH = 20  # a text column is never narrower; rows are stacked instead
MAX_CELL_LINES = 3  # a taller cell in the last column is moved below its row, across the full width
_MAX_LABEL_WIDTH = 24  # of headings beside stacked cells
_GAP = "  "


def align_columns(rows: Sequence[Sequence[str]], right: Sequence[int] = (), gap: str = _GAP) -> str:
    """Align cells in columns of their natural width; the columns in ``right`` are aligned to the right.

    >>> print(align_columns([["name", "rows"], ["food", "6"]], right=(1,)))
    name  rows
    food     6
    """
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    is_right = [i in right for i in range(len(widths))]
    return "\n".join(line for row in rows for line in layout_row(row, widths, is_right, gap=gap))


def fit_widths(natural: list[int], minimum: list[int], width: int | None) -> list[int] | None:
    """Return column widths that fit a line, or None: text columns (with a ``minimum`` width) shrink, the widest first.

    >>> fit_widths([40, 5, 30], [20, 0, 20], 60)
    [25, 5, 26]
    >>> fit_widths([40, 5, 30], [20, 0, 20], 40) is None
    True
    """
    widths = list(natural)
    excess = sum(natural) + len(_GAP) * (len(natural) - 1) - (width or math.inf)
    while excess > 0:
        shrinkable = [i for i, minimum in enumerate(minimum) if minimum and widths[i] > minimum]
        if not shrinkable:
            return None
        widths[max(shrinkable, key=lambda i: widths[i])] -= 1
        excess -= 1
    return widths


def layout_row(
    cells: Sequence[str],
    widths: Sequence[int],
    right: Sequence[bool],
    breaks: Sequence[str | None] | None = None,
    gap: str = _GAP,
) -> list[str]:
    """Return the lines of one row, each cell wrapped within its column."""
    breaks = breaks or [None] * len(cells)
    wrapped = [wrap_text(cell, width, separator) for cell, width, separator in zip(cells, widths, breaks, strict=True)]
    lines = []
    for i in range(max(map(len, wrapped))):
        pieces = [cell_lines[i] if i < len(cell_lines) else "" for cell_lines in wrapped]
        padded = [
            " " * (width - display_width(piece)) + piece if is_right else pad(piece, width)
            for piece, width, is_right in zip(pieces, widths, right, strict=True)
        ]
        lines.append(gap.join(padded).rstrip())
    return lines


def layout_with_last_below(
    headings: Sequence[str],
    cells: Sequence[Sequence[str]],
    widths: Sequence[int],
    right: Sequence[bool],
    breaks: Sequence[str | None],
    width: int,
    emphasis: Style,
) -> list[str]:
    """Lay out rows with the long text of the last column below the other cells, across the full width."""
    margin = _GAP * 3

    def row_lines(row: Sequence[str]) -> list[str]:
        below = wrap_text(row[-1], width - len(margin), breaks[-1])
        return [*layout_row(row[:-1], widths, right[:-1], breaks[:-1]), *(margin + line for line in below)]

    return [*map(emphasis, row_lines(headings)), *(line for row in cells for line in row_lines(row))]


def layout_stacked(headings: Sequence[str], cells: Sequence[Sequence[str]], width: int, emphasis: Style) -> list[str]:
    """Lay out each row as a block with one line per cell, for windows too narrow to hold the columns side by side."""
    headings = [clip(heading, _MAX_LABEL_WIDTH) for heading in headings]
    margin = max(map(display_width, headings)) + len(_GAP)
    lines: list[str] = []
    for row in cells:
        lines += [""] * bool(lines)
        for heading, cell in zip(headings, row, strict=True):
            first, *continuation = wrap_text(cell, max(width - margin, MIN_TEXT_WIDTH))
            lines += [
                (emphasis(pad(heading, margin)) + first).rstrip(),
                *(" " * margin + other for other in continuation),
            ]
    return lines


def wrap_text(text: str, width: int | None, break_at: str | None = None) -> list[str]:
    """Wrap a text at spaces within a display width; only a word longer than a line is broken itself.

    With ``break_at`` it is broken there first, and elsewhere only where a part is longer than a line.

    >>> wrap_text("age <= 31.5 and town in {Bari, Rome}", 14)
    ['age <= 31.5', 'and town in', '{Bari, Rome}']
    >>> wrap_text("age <= 31.5 and 3 < height <= 7", 18, " and ")
    ['age <= 31.5 and', '3 < height <= 7']
    >>> wrap_text("東京都渋谷区", 4)
    ['東京', '都渋', '谷区']
    """
    if width is None or display_width(text) <= width:
        return [text]
    *firsts, last = text.split(break_at) if break_at else [text]
    lines: list[str] = []
    line = ""
    for part in [*(first + (break_at or "").rstrip() for first in firsts), last]:
        fits = break_at is not None and display_width(part) <= width
        for word in [part] if fits else part.split(" "):
            longer = f"{line} {word}" if line else word
            if display_width(longer) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            *full, line = _chunk_word(word, width)
            lines += full
    return [*lines, line] if line or not lines else lines


def _chunk_word(word: str, width: int) -> list[str]:
    pieces, width_left = [""], width
    for ch in word:
        width_left -= display_width(ch)
        if width_left < 0 and pieces[-1]:
            pieces.append("")
            width_left = width - display_width(ch)
        pieces[-1] += ch
    return pieces
