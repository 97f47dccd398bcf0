"""Layout of a text tree: lines beside their columns, within a width where one is given.

Without a width nothing is shortened, and a long set is wrapped so that the columns stay aligned. To fit a width, the
layout gives up in this order, so that tests stay readable: long sets of levels (``{Bari, Rome, +9}``), class counts,
sets down to one level, the deepest levels of the tree, all columns but the rows, the middle of long names; and it cuts
the end of a line only where not even three levels would fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

from treewise._lib.text import clip, display_width, pad
from treewise.formats.text_format.notation import split_list
from treewise.show.text_tree.columns import BAR_WIDTH, DistributionBars, NumberColumns, format_column
from treewise.show.text_tree.conditions import ConditionText
from treewise.show.text_tree.lines import Glyphs, LinePrinter, SubtreeInfo, TreeLine, choose_view, describe_subtrees
from treewise.tree.tree import Tree

# Columns are as wide as their widest cell up to these widths; a wider cell only pushes the rest of its own line.
MAX_LEFT_WIDTH, MAX_LABEL_WIDTH, _MAX_NUMBER_WIDTH = 100, 40, 24
_WRAP_ABOVE, _MIN_WRAP_WIDTH = 80, 60  # lines with a longer set are wrapped, at no less than this width
_MAX_SET_WIDTH = 48  # of a condition with a set in a bounded view
_MIN_LEVELS = 3  # of the tree that stay when levels are dropped to fit a width
_MIN_CONDITION_WIDTH = 16  # however narrow the page


@dataclass(frozen=True)
class TreeLayouter:
    """Lays out one part of a tree within bounds."""

    tree: Tree
    node: int
    max_lines: int | None
    max_depth: int | None
    width: int | None
    glyphs: Glyphs
    ascii: bool
    bars: DistributionBars | None = None

    @cached_property
    def _subtrees(self) -> SubtreeInfo:
        return describe_subtrees(self.tree)

    def layout(self) -> ColumnLayout:
        """Return the layout, within the width if there is one."""
        for layout in self._attempts():
            if layout.fits():
                return layout
        return layout.clipped()

    def layout_with_bars(self, bars: DistributionBars) -> ColumnLayout | None:
        """Return a layout with bars if they fit without giving up more than long sets."""
        attempts = islice(replace(self, bars=bars)._attempts(), 2)
        return next((layout for layout in attempts if layout.fits()), None)

    def _attempts(self) -> Iterator[ColumnLayout]:
        """Yield ever narrower layouts; the last one is as narrow as possible without clipping tests."""
        depth = self.max_depth
        yield self._attempt(depth, short_sets=self.width is None and self.max_lines is not None)
        yield self._attempt(depth, short_sets=True)
        yield self._attempt(depth, short_sets=True, narrow=1)
        for narrow, clip_names in ((1, False), (2, False), (2, True)):
            layout = self._attempt(depth, short_sets=True, narrow=narrow).squeezed(clip_names)
            yield layout
            while (level := layout.first_level_too_wide()) is not None and level > _MIN_LEVELS:
                depth = level - 1
                layout = self._attempt(depth, short_sets=True, narrow=narrow).squeezed(clip_names)
                yield layout

    def _attempt(self, max_depth: int | None, short_sets: bool, narrow: int = 0) -> ColumnLayout:
        view = choose_view(self.tree, self.node, self.max_lines, max_depth, self._subtrees)
        max_set_width = _MAX_SET_WIDTH if short_sets or not view.is_whole else None
        conditions = ConditionText(self.tree, self.ascii, max_set_width)
        printer = LinePrinter(self.tree, view, self._subtrees, conditions, self.glyphs)
        columns = NumberColumns(self.tree, self.glyphs.blank, self.ascii, narrow)
        return ColumnLayout(printer, columns, list(printer.lines()), self.width, self.bars)


@dataclass(frozen=True)
class ColumnLayout:
    """The lines of a text tree with their columns."""

    printer: LinePrinter
    columns: NumberColumns
    lines: list[TreeLine]
    width: int | None = None
    bars: DistributionBars | None = None

    def fits(self) -> bool:
        """Return whether no line is too wide."""
        return self.width is None or not any(map(self._is_too_wide, self.lines))

    def first_level_too_wide(self) -> int | None:
        """Return the highest level, from the top of the view, with a node whose line is too wide."""
        depths, top = self.printer.tree.depths, int(self.printer.tree.depths[self.printer.view.top])
        nodes = [line.node for line in self.lines if line.node is not None and self._is_too_wide(line)]
        return min((int(depths[node]) - top for node in nodes), default=None)

    def squeezed(self, clip_names: bool) -> ColumnLayout:
        """Return the layout with fewer levels in the sets of lines that are too wide, and clipped names on request."""
        lines = [self._squeeze(line, clip_names) if self._is_too_wide(line) else line for line in self.lines]
        return replace(self, lines=lines)

    def _squeeze(self, line: TreeLine, clip_names: bool) -> TreeLine:
        if line.node is None:
            return self._clip(line)
        if self.printer.tree.arrays.parent[line.node] < 0:
            return line  # "all rows"
        return replace(
            line, condition=self.printer.conditions.within(line.node, self._condition_width(line), clip_names)
        )

    def clipped(self) -> ColumnLayout:
        """Return the layout with lines cut off where they are too wide."""
        return replace(self, lines=[self._clip(line) for line in self.lines])

    def _clip(self, line: TreeLine) -> TreeLine:
        ellipsis = self.printer.glyphs.ellipsis
        condition = clip(line.condition, self._condition_width(line), ellipsis)
        return replace(line, condition=condition.replace(ellipsis * 2, ellipsis))

    def text(self) -> list[str]:
        """Return the lines as text, below headings if there are columns of numbers."""
        headings, (above, lefts) = self.columns.headings, self._wrap_sets()
        left_width = widest([*lefts, *chain.from_iterable(above.values())], MAX_LEFT_WIDTH)
        text = []
        if headings:
            titles = [" " * (w - display_width(h)) + h for h, w in zip(headings, self._number_widths, strict=True)]
            bar_heading = [self.bars.heading] if self.bars and self.bar_heading_fits else []
            text.append("  ".join([" " * left_width, pad("predicts", self._label_width), *titles, *bar_heading]))
        lines = zip(self.lines, lefts, self._predictions, self._cells, strict=True)
        for i, (line, left, prediction, cells) in enumerate(lines):
            text.extend(above.get(i, ()))
            numbers = [cell.rjust(width) for cell, width in zip(cells, self._number_widths, strict=False)]
            bar = [self.bars.bar(line.node)] if self.bars and numbers else []
            parts = [pad(left, left_width), pad(prediction, self._label_width), *numbers, *bar, line.tail]
            text.append("  ".join(parts).rstrip())
        return text

    def _wrap_sets(self) -> tuple[dict[int, list[str]], list[str]]:
        """Return the lines above each wrapped line, and the part of every line left of the columns.

        Nothing is wrapped within a width: there, long sets have been shortened.
        """
        lefts = [self._prefix(line) + line.condition for line in self.lines]
        above: dict[int, list[str]] = {}
        max_width = widest(lefts, _WRAP_ABOVE, _MIN_WRAP_WIDTH)
        for i, line in enumerate(self.lines if self.width is None else ()):
            if display_width(lefts[i]) > _WRAP_ABOVE and _ends_with_set(line.condition):
                *above[i], lefts[i] = self._wrap_set(line, max_width)
        return above, lefts

    def _wrap_set(self, line: TreeLine, max_width: int) -> list[str]:
        """Write a set over several lines, each but the last ending with a comma, with the tree's glyphs continued."""
        glyphs, prefix = self.printer.glyphs, self._prefix(line)
        indent = prefix[: -len(line.prefix)] if line.prefix else prefix
        below = " " * len(indent) + line.prefix.replace(glyphs.tee, glyphs.bar).replace(glyphs.corner, "   ") + "   "
        head, brace, rest = line.condition.partition(" in {")
        levels = split_list(rest)
        lines = [f"{prefix}{head}{brace}{levels[0]}"]
        for level in levels[1:]:
            if display_width(lines[-1]) + display_width(level) + len(", ,") > max_width:
                lines[-1] += ","
                lines.append(below + level)
            else:
                lines[-1] += f", {level}"
        return lines

    # -- widths -------------------------------------------------------------------------------------------------

    def _prefix(self, line: TreeLine) -> str:
        """Return the text left of a condition: the node number and the branch glyphs."""
        number = "" if line.node is None else str(line.node)
        return f"{number.rjust(self._digits)}  {line.prefix}"

    def _condition_width(self, line: TreeLine) -> int:
        return max(_MIN_CONDITION_WIDTH, self._left_width - display_width(self._prefix(line)))

    def _width_of(self, line: TreeLine) -> int:
        return display_width(self._prefix(line)) + display_width(line.condition)

    def _is_too_wide(self, line: TreeLine) -> bool:
        return self._width_of(line) > self._left_width

    @cached_property
    def _digits(self) -> int:
        return len(str(self.printer.subtrees.end[self.printer.view.top] - 1))

    @cached_property
    def _cells(self) -> list[list[str]]:
        return self.columns.cells([line.node for line in self.lines])

    @cached_property
    def _number_widths(self) -> list[int]:
        columns = zip(self.columns.headings, *(row for row in self._cells if row), strict=True)
        return [widest([heading, *column], _MAX_NUMBER_WIDTH, 5) for heading, *column in columns]

    @cached_property
    def _predictions(self) -> list[str]:
        """The predictions of the lines; numbers aligned, with the same decimals."""
        if not self.columns.is_regression:
            return [line.prediction for line in self.lines]
        arrow, values = self.printer.glyphs.arrow, self.printer.tree.arrays.value
        nodes = [line.node if line.prediction else None for line in self.lines]
        numbers = format_column([math.nan if node is None else float(values[node]) for node in nodes], "")
        for i, line in enumerate(self.lines):
            numbers[i] = numbers[i] or line.prediction.removeprefix(f"{arrow} ")
        width = max(map(len, numbers))
        return [f"{arrow} {number.rjust(width)}" if number else "" for number in numbers]

    @cached_property
    def _label_width(self) -> int:
        return widest(self._predictions, MAX_LABEL_WIDTH, 8 if self.columns.headings else 0)

    @property
    def bar_heading_fits(self) -> bool:
        """Whether the heading of the bars fits above them."""
        if self.bars is None or self.width is None:
            return self.bars is not None
        used = max(map(self._width_of, self.lines)) + self.width - self._left_width - self._bar_column_width
        return used + 2 + self.bars.heading_width <= self.width

    @property
    def _bar_column_width(self) -> int:
        return 0 if self.bars is None else BAR_WIDTH + 2

    @cached_property
    def _left_width(self) -> int:
        """The room for number, glyphs and condition together."""
        assert self.width is not None
        numbers = sum(self._number_widths) + 2 * len(self._number_widths)
        return self.width - self._label_width - numbers - 2 - self._bar_column_width


def _ends_with_set(condition: str) -> bool:
    """Return whether a condition is ``name in {…}``; a quoted name may hold braces itself."""
    return condition.removesuffix(" or missing").endswith("}") and not condition.startswith('"')


def widest(texts: list[str], max_width: int, min_width: int = 0) -> int:
    """Return the width that holds all texts except those wider than ``max_width``."""
    return max([min_width, *(width for width in map(display_width, texts) if width <= max_width)])
