"""Cells laid out as lines of text: columns under each other, words wrapped, within a width.

The part of ``sheet`` that knows how wide letters are; it knows nothing of what the cells mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from treewise._lib.text import clip, display_width, pad

Style = Callable[[str], str]

NARROWEST = 20  # a column of words is not made narrower than this; the rows are then written one below the other
LABEL = 24  # of rows written one below the other: how wide a heading may be
TALL = 3  # lines of a last column, above which it is written below its row, from margin to margin
GAP = "  "


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = (), gap: str = GAP) -> str:
    """Put columns of cells under each other, as wide as they are.

    >>> print(aligned([["name", "rows"], ["food", "6"]], right=(1,)))
    name  rows
    food     6
    """
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    on_the_right = [i in right for i in range(len(widths))]
    return "\n".join(line for row in rows for line in laid_out(row, widths, on_the_right, gap=gap))


def fitted(wide: list[int], least: list[int], width: int | None) -> list[int] | None:
    """Return how wide each column is within a line: words (those with a ``least``) give way, the widest first.

    >>> fitted([40, 5, 30], [20, 0, 20], 60)
    [25, 5, 26]
    >>> fitted([40, 5, 30], [20, 0, 20], 40) is None
    True
    """
    widths = list(wide)
    over = sum(wide) + len(GAP) * (len(wide) - 1) - (width or math.inf)
    while over > 0:
        yielding = [i for i, room in enumerate(least) if room and widths[i] > room]
        if not yielding:
            return None
        widest = max(yielding, key=lambda i: widths[i])
        widths[widest] -= 1
        over -= 1
    return widths


def laid_out(
    cells: Sequence[str],
    widths: Sequence[int],
    right: Sequence[bool],
    joints: Sequence[str | None] | None = None,
    gap: str = GAP,
) -> list[str]:
    """Return the lines of one row: cells wrapped to their column, numbers and their titles to the right of theirs."""
    joints = joints or [None] * len(cells)
    parts = [wrapped(cell, w, joint) for cell, w, joint in zip(cells, widths, joints, strict=True)]
    lines = []
    for i in range(max(map(len, parts))):
        pieces = [part[i] if i < len(part) else "" for part in parts]
        placed = [
            " " * (w - display_width(piece)) + piece if to_right else pad(piece, w)
            for piece, w, to_right in zip(pieces, widths, right, strict=True)
        ]
        lines.append(gap.join(placed).rstrip())
    return lines


def with_last_below(
    heads: Sequence[str],
    cells: Sequence[Sequence[str]],
    widths: Sequence[int],
    right: Sequence[bool],
    joints: Sequence[str | None],
    width: int,
    strong: Style,
) -> list[str]:
    """Lay rows out with the words of the last column below the others: they are long, and have the whole line."""
    margin = GAP * 3

    def both(row: Sequence[str]) -> list[str]:
        below = wrapped(row[-1], width - len(margin), joints[-1])
        return [*laid_out(row[:-1], widths, right[:-1], joints[:-1]), *(margin + line for line in below)]

    return [*map(strong, both(heads)), *(line for row in cells for line in both(row))]


def stacked(heads: Sequence[str], cells: Sequence[Sequence[str]], width: int, strong: Style) -> list[str]:
    """Write rows one below the other, a line a cell: for windows too narrow to hold them side by side."""
    heads = [clip(head, LABEL) for head in heads]
    margin = max(map(display_width, heads)) + len(GAP)
    lines: list[str] = []
    for row in cells:
        lines += [""] * bool(lines)
        for head, cell in zip(heads, row, strict=True):
            first, *others = wrapped(cell, max(width - margin, NARROWEST))
            lines += [(strong(pad(head, margin)) + first).rstrip(), *(" " * margin + other for other in others)]
    return lines


def wrapped(text: str, width: int | None, joint: str | None = None) -> list[str]:
    """Break a text at spaces into lines of a display width; only a word longer than a line is broken itself.

    With a ``joint`` it is broken there first, and elsewhere only where a part is longer than a line.

    >>> wrapped("age <= 31.5 and town in {Bari, Rome}", 14)
    ['age <= 31.5', 'and town in', '{Bari, Rome}']
    >>> wrapped("age <= 31.5 and 3 < height <= 7", 18, " and ")
    ['age <= 31.5 and', '3 < height <= 7']
    >>> wrapped("東京都渋谷区", 4)
    ['東京', '都渋', '谷区']
    """
    if width is None or display_width(text) <= width:
        return [text]
    *firsts, last = text.split(joint) if joint else [text]
    lines: list[str] = []
    line = ""
    for part in [*(first + (joint or "").rstrip() for first in firsts), last]:
        whole = joint is not None and display_width(part) <= width
        for word in [part] if whole else part.split(" "):
            longer = f"{line} {word}" if line else word
            if display_width(longer) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            *full, line = chunks(word, width)
            lines += full
    return [*lines, line] if line or not lines else lines


def chunks(word: str, width: int) -> list[str]:
    """Cut a word into pieces of a display width."""
    pieces, room = [""], width
    for ch in word:
        room -= display_width(ch)
        if room < 0 and pieces[-1]:
            pieces.append("")
            room = width - display_width(ch)
        pieces[-1] += ch
    return pieces
