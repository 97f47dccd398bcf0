"""The lines of a text tree and their numbers, put under each other; and fitted into a width where one is given.

Stands between the lines (``lines.py``) with their cells (``counts.py``) and ``text.py``, which asks for a page.
Without a width nothing gives way, and a long set goes on below, so that the numbers stay under each other.
What gives way to a width, in this order, so that tests stay readable: long sets of levels (``{Bari, Rome, +9}``), the
counts of classes, sets down to one level, the deepest levels of the tree, all numbers but the rows, letters in the
middle of long names; and the end of a line only where not even three levels would fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

from treewise._lib.text import clip, display_width, pad
from treewise.formats.text_format.notation import split_list
from treewise.show.text_tree.bars import CELLS, DistributionBars
from treewise.show.text_tree.condition_text import ConditionText
from treewise.show.text_tree.folding import FoldedTree, choose, shape
from treewise.show.text_tree.lines import Glyphs, LinePrinter, TreeLine
from treewise.show.text_tree.number_columns import NumberColumns, alike
from treewise.tree.tree import Tree

# The widest that other lines are filled up to; what is longer only pushes its own line's columns on.
ALIGNED_LEFT, ALIGNED_LABEL, ALIGNED_NUMBER = 100, 40, 24
WRAPPED, LEAST_WRAPPED = 80, 60  # a line with a longer set goes on below; it is at least so wide before it does
LONGEST = 48  # of a condition with a set in a bounded view
FEWEST_LEVELS = 3  # that stay when levels give way to a width
LEAST = 16  # columns of a condition that stay however narrow the page


@dataclass(frozen=True)
class TreeLines:
    """What is to be laid out: which part of a tree, and within which bounds."""

    tree: Tree
    node: int
    max_lines: int | None
    max_depth: int | None
    width: int | None
    glyphs: Glyphs
    ascii: bool
    bars: DistributionBars | None = None

    @cached_property
    def shape(self) -> FoldedTree:
        """Where every subtree ends."""
        return shape(self.tree)

    def laid_out(self) -> ColumnLayout:
        """Lay the tree out, within the width if there is one."""
        for layout in self._attempts():
            if layout.fits():
                return layout
        return layout.cut()

    def with_bars(self, bars: DistributionBars) -> ColumnLayout | None:
        """Lay the tree out with bars, if that costs no more than long sets."""
        attempts = islice(replace(self, bars=bars)._attempts(), 2)
        return next((layout for layout in attempts if layout.fits()), None)

    def _attempts(self) -> Iterator[ColumnLayout]:
        """Yield ever narrower layouts; the last one is as narrow as can be without cutting tests."""
        depth = self.max_depth
        yield self._layout(depth, short=self.width is None and self.max_lines is not None)
        yield self._layout(depth, short=True)
        yield self._layout(depth, short=True, narrow=1)
        for narrow, names in ((1, False), (2, False), (2, True)):
            layout = self._layout(depth, short=True, narrow=narrow).squeezed(names)
            yield layout
            while (level := layout.first_level_too_wide()) is not None and level > FEWEST_LEVELS:
                depth = level - 1
                layout = self._layout(depth, short=True, narrow=narrow).squeezed(names)
                yield layout

    def _layout(self, max_depth: int | None, short: bool, narrow: int = 0) -> ColumnLayout:
        view = choose(self.tree, self.node, self.max_lines, max_depth, self.shape)
        speaker = ConditionText(self.tree, self.ascii, LONGEST if short or not view.whole else None)
        page = LinePrinter(self.tree, view, self.shape, speaker, self.glyphs)
        cells = NumberColumns(self.tree, self.glyphs.nothing, self.ascii, narrow)
        return ColumnLayout(page, cells, list(page.lines()), self.width, self.bars)


@dataclass(frozen=True)
class ColumnLayout:
    """The lines of a page beside their cells."""

    page: LinePrinter
    cells: NumberColumns
    lines: list[TreeLine]
    width: int | None = None
    bars: DistributionBars | None = None

    def fits(self) -> bool:
        """Tell whether no line is too wide."""
        return self.width is None or all(self._left_width(line) <= self._room for line in self.lines)

    def first_level_too_wide(self) -> int | None:
        """Return the highest level, from the top of the page, with a node whose line is too wide."""
        depths, top = self.page.tree.depths, int(self.page.tree.depths[self.page.view.top])
        wide = [line.node for line in self.lines if line.node is not None and self._left_width(line) > self._room]
        return min((int(depths[node]) - top for node in wide), default=None)

    def squeezed(self, names: bool) -> ColumnLayout:
        """Return the same lines, those too wide with fewer levels in their sets, or with shorter names too."""
        lines = [self._squeeze(line, names) if self._left_width(line) > self._room else line for line in self.lines]
        return replace(self, lines=lines)

    def _squeeze(self, line: TreeLine, names: bool) -> TreeLine:
        if line.node is None:
            return self._cut(line)
        if self.page.tree.arrays.parent[line.node] < 0:
            return line  # "all rows"
        return replace(line, said=self.page.speaker.within(line.node, self._room_for(line), names))

    def cut(self) -> ColumnLayout:
        """Return the same lines, cut off where they are too wide."""
        return replace(self, lines=[self._cut(line) for line in self.lines])

    def _cut(self, line: TreeLine) -> TreeLine:
        dots = self.page.glyphs.dots
        return replace(line, said=clip(line.said, self._room_for(line), dots).replace(dots * 2, dots))

    def text(self) -> list[str]:
        """Write the lines, below headings if there are columns of numbers."""
        headings, (above, lefts) = self.cells.headings, self._wrapped()
        aligned = widest([*lefts, *chain.from_iterable(above.values())], ALIGNED_LEFT)
        text = []
        if headings:
            titles = [" " * (w - display_width(h)) + h for h, w in zip(headings, self._widths, strict=True)]
            above_bars = [self.bars.heading] if self.bars and self.bars_are_named else []
            text.append("  ".join([" " * aligned, pad("predicts", self._predicts), *titles, *above_bars]))
        for i, (line, left, says, row) in enumerate(zip(self.lines, lefts, self._predictions, self._rows, strict=True)):
            text.extend(above.get(i, ()))
            numbers = [cell.rjust(w) for cell, w in zip(row, self._widths, strict=False)]
            bar = [self.bars.of(line.node)] if self.bars and numbers else []
            parts = [pad(left, aligned), pad(says, self._predicts), *numbers, *bar, line.tail]
            text.append("  ".join(parts).rstrip())
        return text

    def _wrapped(self) -> tuple[dict[int, list[str]], list[str]]:
        """Return what stands left of the numbers: each line, or its end, and the lines above that end where it is long.

        Nothing is wrapped within a width: there, long sets have given way.
        """
        lefts = [self._before(line) + line.said for line in self.lines]
        above: dict[int, list[str]] = {}
        room = widest(lefts, WRAPPED, LEAST_WRAPPED)
        for i, line in enumerate(self.lines if self.width is None else ()):
            if display_width(lefts[i]) > WRAPPED and _ends_with_set(line.said):
                *above[i], lefts[i] = self._over_lines(line, room)
        return above, lefts

    def _over_lines(self, line: TreeLine, room: int) -> list[str]:
        """Write a set over several lines, each but the last ending with a comma, under the tree's own lines."""
        glyphs, begin = self.page.glyphs, self._before(line)
        below = begin[: -len(line.lead)] if line.lead else begin
        below = " " * len(below) + line.lead.replace(glyphs.tee, glyphs.bar).replace(glyphs.corner, "   ") + "   "
        head, brace, rest = line.said.partition(" in {")
        levels = split_list(rest)
        written = [f"{begin}{head}{brace}{levels[0]}"]
        for level in levels[1:]:
            if display_width(written[-1]) + display_width(level) + len(", ,") > room:
                written[-1] += ","
                written.append(below + level)
            else:
                written[-1] += f", {level}"
        return written

    # -- how wide everything is --------------------------------------------------------------------------------

    def _before(self, line: TreeLine) -> str:
        """Return what stands left of a condition: the node's number and the lines of the tree."""
        number = "" if line.node is None else str(line.node)
        return f"{number.rjust(self._digits)}  {line.lead}"

    def _room_for(self, line: TreeLine) -> int:
        """How wide a line's condition may be."""
        return max(LEAST, self._room - display_width(self._before(line)))

    def _left_width(self, line: TreeLine) -> int:
        return display_width(self._before(line)) + display_width(line.said)

    @cached_property
    def _digits(self) -> int:
        return len(str(self.page.shape.end[self.page.view.top] - 1))

    @cached_property
    def _rows(self) -> list[list[str]]:
        return self.cells.of([line.node for line in self.lines])

    @cached_property
    def _widths(self) -> list[int]:
        columns = zip(self.cells.headings, *(row for row in self._rows if row), strict=True)
        return [widest([heading, *column], ALIGNED_NUMBER, 5) for heading, *column in columns]

    @cached_property
    def _predictions(self) -> list[str]:
        """What the lines predict; numbers with as many decimals each, under each other."""
        if not self.cells.regression:
            return [line.prediction for line in self.lines]
        arrow, values = self.page.glyphs.arrow, self.page.tree.arrays.value
        shown = [line.node if line.prediction else None for line in self.lines]
        numbers = alike([math.nan if node is None else float(values[node]) for node in shown], "")
        for i, line in enumerate(self.lines):
            numbers[i] = numbers[i] or line.prediction.removeprefix(f"{arrow} ")
        width = max(map(len, numbers))
        return [f"{arrow} {number.rjust(width)}" if number else "" for number in numbers]

    @cached_property
    def _predicts(self) -> int:
        return widest(self._predictions, ALIGNED_LABEL, 8 if self.cells.headings else 0)

    @property
    def bars_are_named(self) -> bool:
        """Whether the heading of the bars fits above them."""
        if self.bars is None or self.width is None:
            return self.bars is not None
        lefts = [self._left_width(line) for line in self.lines]
        used = max(lefts) + self.width - self._room - self._beside
        return used + 2 + self.bars.heading_width <= self.width

    @property
    def _beside(self) -> int:
        """How many columns the bars take."""
        return 0 if self.bars is None else CELLS + 2

    @cached_property
    def _room(self) -> int:
        """How wide number, lines and condition may be together."""
        assert self.width is not None
        return self.width - self._predicts - sum(self._widths) - 2 * len(self._widths) - 2 - self._beside


def _ends_with_set(said: str) -> bool:
    """Tell whether a condition is ``name in {…}``; a name in quotes may hold braces itself."""
    return said.removesuffix(" or missing").endswith("}") and not said.startswith('"')


def widest(texts: list[str], most: int, least: int = 0) -> int:
    """Return the width that holds the texts, those wider than ``most`` excepted."""
    return max([least, *(w for w in map(display_width, texts) if w <= most)])
