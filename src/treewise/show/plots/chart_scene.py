"""A chart as a scene: title, axes, marks and legend as the shapes that trees are drawn with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from treewise._lib.text import safe
from treewise.show.picture.build_scene import wrap_to_width
from treewise.show.picture.scene import (
    BACKGROUND,
    EDGE,
    MUTED_TEXT,
    TEXT,
    BoxShape,
    LineShape,
    Part,
    PathShape,
    Point,
    Segment,
    Shape,
    TextShape,
    VectorScene,
    clip_to_width,
    text_width,
)
from treewise.show.plots.chart import Band, Bar, Chart, ChartAxis, Curve, Mark

_MARGIN, _SIZE, _TITLE_SIZE, _LINE_HEIGHT = 14.0, 12.0, 13.5, 18.0
_MAX_TICK_WIDTH, _KEY_WIDTH, _GAP = 170.0, 26.0, 6.0
_MIN_TITLE_WIDTH = 300.0
_SLANTED_TEXT = 40.0  # of tick labels under an axis of levels: wider ones are clipped to the distance of the ticks


def chart_scene(chart: Chart) -> VectorScene:
    """Return the scene of a chart."""
    return _ChartBuilder(chart).build()


@dataclass(frozen=True)
class _ChartBuilder:
    chart: Chart

    def build(self) -> VectorScene:
        """Place the title above the plot, the legend below it."""
        chart = self.chart
        left = _MARGIN + max((text_width(text, _SIZE) for _, text in self._y_ticks()), default=0.0) + _GAP + 3
        width = left + chart.width + _MARGIN
        head, top = self._head(max(width - 2 * _MARGIN, _MIN_TITLE_WIDTH))
        plot = _PlotArea(chart.x, chart.y, left, top, chart.width, chart.height)
        shapes: list[Part] = [*head, *self._grid(plot), *self._axes(plot)]
        for mark in sorted(chart.marks, key=lambda mark: not isinstance(mark, Band)):  # areas lie behind lines
            shapes += _mark_shapes(mark, plot.point)
        bottom = top + chart.height + _LINE_HEIGHT + (_LINE_HEIGHT if chart.x.label else 0.0)
        keys, bottom = self._legend(bottom + 4, max(width - 2 * _MARGIN, _MIN_TITLE_WIDTH))
        shapes += keys
        texts = [s for s in shapes if isinstance(s, TextShape) and s.anchor == "start"]
        width = max([width, *(s.x + text_width(s.text, s.size, s.bold) + _MARGIN for s in texts)])
        page = BoxShape(0, 0, math.ceil(width), math.ceil(bottom + _MARGIN))
        title = safe(" · ".join(chart.title)) if chart.title else f"{safe(chart.y.label)} by {safe(chart.x.label)}"
        return VectorScene(page.width, page.height, title, (page, *shapes))

    def _head(self, max_width: float) -> tuple[list[Shape], float]:
        """Return the title and the label of the vertical axis above it, and where the plot begins."""
        shapes: list[Shape] = []
        y = _MARGIN - 4
        for i, line in enumerate(self.chart.title):
            size, bold = (_TITLE_SIZE, True) if i == 0 else (_SIZE, False)
            for part in wrap_to_width(safe(line), max_width, size, bold):
                y += _LINE_HEIGHT
                shapes.append(TextShape(_MARGIN, y, part, size, bold, TEXT if bold else MUTED_TEXT))
        if self.chart.y.label:
            y += _LINE_HEIGHT + (4 if shapes else 0)
            shapes.append(
                TextShape(_MARGIN, y, clip_to_width(safe(self.chart.y.label), max_width, _SIZE), _SIZE, colour=TEXT)
            )
        return shapes, y + 12

    # -- axes -------------------------------------------------------------------------------------------------------

    def _y_ticks(self) -> list[tuple[float, str]]:
        return [(value, clip_to_width(safe(text), _MAX_TICK_WIDTH, _SIZE)) for value, text in self.chart.y.ticks]

    def _grid(self, plot: _PlotArea) -> list[Shape]:
        segments: list[Segment] = []
        if "y" in self.chart.grid:
            segments += [(plot.left, plot.y(v), plot.right, plot.y(v)) for v, _ in self.chart.y.ticks]
        if "x" in self.chart.grid:
            segments += [(plot.x(v), plot.top, plot.x(v), plot.bottom) for v, _ in self.chart.x.ticks]
        return [LineShape(tuple(segments), EDGE, 1.0, 0.7)] if segments else []

    def _axes(self, plot: _PlotArea) -> list[Shape]:
        shapes: list[Shape] = []
        if self.chart.has_frame:
            lines: tuple[Segment, ...] = ((plot.left, plot.bottom, plot.right, plot.bottom),)
            if "y" not in self.chart.grid:
                lines += ((plot.left, plot.top, plot.left, plot.bottom),)
            shapes.append(LineShape(lines, MUTED_TEXT, 1.0))
        for value, text in self._y_ticks():
            shapes.append(TextShape(plot.left - _GAP, plot.y(value) + 4, text, _SIZE, colour=MUTED_TEXT, anchor="end"))
        shapes += self._x_ticks(plot)
        if label := safe(self.chart.x.label):
            x = plot.left + plot.width / 2
            text = clip_to_width(label, max(plot.width + 2 * (plot.left - _MARGIN), 200.0), _SIZE)
            half = text_width(text, _SIZE) / 2
            x = max(min(x, plot.right - half), _MARGIN + half)  # within the page
            shapes.append(TextShape(x, plot.bottom + 2 * _LINE_HEIGHT, text, _SIZE, colour=TEXT, anchor="middle"))
        return shapes

    def _x_ticks(self, plot: _PlotArea) -> list[Shape]:
        """Return the labels under the plot, clipped where they are levels, left out where numbers would overlap."""
        ticks = [(plot.x(value), safe(text)) for value, text in self.chart.x.ticks]
        distance = min((abs(b[0] - a[0]) for a, b in pairwise(ticks)), default=plot.width)
        is_level = not self.chart.has_frame
        shapes: list[Shape] = []
        end = -math.inf
        for x, text in ticks:
            shown = clip_to_width(text, max(distance - 6, _SLANTED_TEXT / 2), _SIZE) if is_level else text
            half = text_width(shown, _SIZE) / 2
            if x - half < end + 4 and not is_level:
                continue
            end = x + half
            shapes.append(TextShape(x, plot.bottom + 16, shown, _SIZE, colour=MUTED_TEXT, anchor="middle"))
        return shapes

    # -- legend -----------------------------------------------------------------------------------------------------

    def _legend(self, top: float, max_width: float) -> tuple[list[Shape], float]:
        """Return the keys with their texts in lines, and where they end."""
        shapes: list[Shape] = []
        x, y = _MARGIN, top
        for mark, text in self.chart.legend:
            label = clip_to_width(safe(text), max_width - _KEY_WIDTH - _GAP, _SIZE)
            width = _KEY_WIDTH + _GAP + text_width(label, _SIZE)
            if x == _MARGIN:
                y += _LINE_HEIGHT
            elif x + width > _MARGIN + max_width:
                x, y = _MARGIN, y + _LINE_HEIGHT
            shapes += _key_shapes(mark, x, y - 4)
            shapes.append(TextShape(x + _KEY_WIDTH + _GAP, y, label, _SIZE))
            x += width + 16
        return shapes, y


@dataclass(frozen=True)
class _PlotArea:
    """The area between the axes: from data units to pixels."""

    x_axis: ChartAxis
    y_axis: ChartAxis
    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def x(self, value: float) -> float:
        return self.left + self.x_axis.position(value) * self.width

    def y(self, value: float) -> float:
        return self.bottom - self.y_axis.position(value) * self.height

    def point(self, x: float, y: float) -> Point:
        return self.x(x), self.y(y)


def _mark_shapes(mark: Mark, point: Callable[[float, float], Point]) -> list[Shape]:
    if isinstance(mark, Curve):
        return _line_shapes(mark, [point(x, y) for x, y in zip(mark.x, mark.y, strict=True)])
    if isinstance(mark, Band):
        upper = [point(x, y) for x, y in zip(mark.x, mark.high, strict=True)]
        lower = [point(x, y) for x, y in zip(mark.x, mark.low, strict=True)]
        return [PathShape((*upper, *reversed(lower)), fill=mark.colour, opacity=mark.opacity)]
    if isinstance(mark, Bar):
        (ax, ay), (bx, by) = point(mark.x0, mark.y0), point(mark.x1, mark.y1)
        box = BoxShape(
            min(ax, bx), min(ay, by), abs(bx - ax), abs(by - ay), mark.colour, mark.edge, radius=0 if mark.edge else 2
        )
        text = TextShape((ax + bx) / 2, (ay + by) / 2 + 4, mark.text, _SIZE, False, mark.text_colour, "middle")
        return [box, text] if mark.text else [box]
    x, y = point(mark.x, mark.y)
    return [TextShape(x + mark.dx, y + mark.dy, safe(mark.text), _SIZE, False, MUTED_TEXT, mark.anchor)]


def _line_shapes(line: Curve, points: list[Point]) -> list[Shape]:
    shapes: list[Shape] = []
    if line.width and len(points) > 1:
        shapes.append(PathShape(tuple(points), line.colour, line.width, dashes=line.dashes))
    if line.marker:
        shapes += [_marker(line, x, y) for x, y in points]
    return shapes


def _marker(line: Curve, x: float, y: float) -> Shape:
    half, fill = line.size / 2, line.fill or line.colour
    outline = line.colour if line.fill else None
    if line.marker == "o":
        return BoxShape(x - half, y - half, 2 * half, 2 * half, fill, outline, 1.5, radius=half)
    corners = {
        "D": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
        "s": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        "^": ((0, -1.1), (1.05, 0.9), (-1.05, 0.9)),
    }[line.marker]
    return PathShape(tuple((x + half * dx, y + half * dy) for dx, dy in corners), outline or BACKGROUND, 1.0, fill)


def _key_shapes(mark: Mark, x: float, y: float) -> list[Shape]:
    """Return the key of a legend entry."""
    if isinstance(mark, Curve):
        points = [(x, y), (x + _KEY_WIDTH, y)] if mark.width else []
        shapes = _line_shapes(Curve((), (), mark.colour, mark.width, mark.dashes), points)
        return [*shapes, _marker(mark, x + _KEY_WIDTH / 2, y)] if mark.marker else shapes
    if isinstance(mark, Band):
        box = ((x, y - 5), (x + _KEY_WIDTH, y - 5), (x + _KEY_WIDTH, y + 5), (x, y + 5))
        return [PathShape(box, fill=mark.colour, opacity=mark.opacity)]
    return [BoxShape(x + 6, y - 5, 12, 10, mark.colour, radius=2)] if isinstance(mark, Bar) else []
