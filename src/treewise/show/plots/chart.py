"""Charts as data: two axes, marks and a legend; drawn as SVG by our own code, and on matplotlib axes on request.

    draw_… ──▶ Chart ──▶ chart_scene ──▶ VectorScene ──▶ SVG, PNG, PDF        (picture/render.py, as for trees)
                 └────▶ paint_chart ──▶ matplotlib Axes                      (``ax=…``, ``picture.axes``)

A chart of the report, of a notebook and of a file is therefore the same, and needs no library as SVG.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from treewise._lib.image_style import ImageStyle
from treewise._lib.text import format_count, format_rounded, safe
from treewise.show.palette import INK
from treewise.show.picture.compose import PIXELS_PER_INCH, POINTS_PER_PIXEL, TEXT_PIXELS, fit
from treewise.show.picture.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_MARKERS = 60  # points of a line that are still marked individually
DASHED, DOTTED, DASH_DOT = (6.0, 3.5), (1.5, 3.0), (7.0, 3.0, 1.5, 3.0)
_MAX_TICKS = 6
_MAX_LOG_TICKS = 8
_MIN_AREA = 80.0  # pixels between the axes

Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class ChartAxis:
    """An axis: its label, its range (low may be above high), and the marked values with their texts."""

    label: str
    low: float
    high: float
    ticks: Ticks = ()
    is_log: bool = False

    @classmethod
    def linear(
        cls, label: str, low: float, high: float, write: Callable[[float], str] = format_rounded, margin: float = 0.0
    ) -> ChartAxis:
        """Return an axis with round ticks; ``margin`` widens its range by that share on both sides.

        >>> ChartAxis.linear("x", 0, 7).ticks
        ((0.0, '0'), (2.0, '2'), (4.0, '4'), (6.0, '6'))
        """
        if not high > low:
            low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
        if not math.isfinite(high - low):  # no double is as long: show the middle
            low, high = low / 4, high / 4
        ticks = tuple((value, write(value)) for value in round_numbers(low, high))
        extra = margin * (high - low)
        return cls(label, low - extra, high + extra, ticks)

    @classmethod
    def share(cls, label: str) -> ChartAxis:
        """Return the axis of a share, from 0 to 1."""
        return cls(label, -0.02, 1.02, tuple((i / 5, f"{i / 5:g}") for i in range(6)))

    @classmethod
    def logarithmic(cls, label: str, low: float, high: float) -> ChartAxis:
        """Return a logarithmic axis of counts."""
        ticks = tuple((value, format_count(value)) for value in log_ticks(low, high))
        return cls(label, low, high if high > low else low * 2, ticks, is_log=True)

    def position(self, value: float) -> float:
        """Return where a value lies: 0 at the low end, 1 at the high end."""
        low, high = (math.log(self.low), math.log(self.high)) if self.is_log else (self.low, self.high)
        return ((math.log(value) if self.is_log else value) - low) / (high - low)


def round_numbers(low: float, high: float, max_numbers: int = _MAX_TICKS) -> list[float]:
    """Return up to ``most`` multiples of 1, 2 or 5 times a power of ten within a range.

    >>> round_numbers(0, 0.43), round_numbers(-20, 35)
    ([0.0, 0.1, 0.2, 0.3, 0.4], [-20.0, -10.0, 0.0, 10.0, 20.0, 30.0])
    """
    exponent = math.floor(math.log10((high - low) / max_numbers))
    for factor in (1, 2, 5, 10):
        digits, step = max(0, -exponent), factor * 10.0**exponent
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < max_numbers:
            break
    return [round(i * step, digits) + 0.0 for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis: 1, 2, 5, 10, 20 …, thinned to at most eight.

    >>> log_ticks(1, 15), log_ticks(1, 4000)
    ([1, 2, 5, 10, 15], [1, 10, 100, 1000, 4000])
    """
    ticks = [m * 10**e for e in range(10) for m in (1, 2, 5) if low <= m * 10**e <= high]
    ticks = ticks if len(ticks) <= _MAX_LOG_TICKS else [value for value in ticks if str(value)[0] == "1"]
    return [*(value for value in ticks if value < 0.8 * high), high] if high > low else ticks


# -- marks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """A line through points, markers at the points, or both."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    colour: str
    width: float = 2.0  # 0: markers only
    dashes: tuple[float, ...] = ()
    marker: str = ""  # "o", "D", "s" or "^"
    size: float = 7.0  # of the markers, in pixels
    fill: str | None = None  # of the markers; by default the colour of the line


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    x: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    colour: str
    opacity: float = 0.16


@dataclass(frozen=True)
class Bar:
    """A rectangle between two corners in data units, with a text in its middle."""

    x0: float
    y0: float
    x1: float
    y1: float
    colour: str
    text: str = ""
    text_colour: str = INK
    edge: str | None = None


@dataclass(frozen=True)
class Note:
    """A text beside a point, shifted by some pixels."""

    x: float
    y: float
    text: str
    dx: float = 0.0
    dy: float = 0.0
    anchor: str = "start"


Mark = Curve | Band | Bar | Note


@dataclass(frozen=True)
class Chart:
    """A chart; texts are as given, and made safe when they are drawn."""

    title: tuple[str, ...]  # the first line is the heading
    x: ChartAxis
    y: ChartAxis
    marks: tuple[Mark, ...]
    legend: tuple[tuple[Mark, str], ...] = ()
    width: float = 340.0  # of the area between the axes, in pixels
    height: float = 300.0
    grid: str = ""  # "x", "y" or "xy": lines at the ticks
    has_frame: bool = True  # whether the axes have lines


@dataclass(frozen=True, eq=False, repr=False)
class ChartPicture(Picture):
    """A drawn chart. A notebook shows it; ``.save("roc.png")`` writes a file, ``.axes`` are matplotlib's.

    >>> import treewise as tw
    >>> picture = tw.grow("noisy", max_depth=3).evaluate("noisy").draw("roc")
    >>> picture.svg[:4], picture.axes.get_ylabel()
    ('<svg', 'true positive rate (y = 1)')
    """

    chart: Chart
    _given_axes: Axes | None = field(default=None)

    @cached_property
    def axes(self) -> Axes:
        """The chart on matplotlib axes: those it was drawn on, or those of a new figure."""
        from treewise.show.plots.chart_axes import paint_chart

        return paint_chart(self.chart) if self._given_axes is None else self._given_axes

    def in_style(self, style: ImageStyle) -> Self:
        """Return the chart in a size, with a font size and a resolution; the area between the axes fills the size."""
        from treewise.show.plots.chart_scene import chart_scene

        if style.size is None:
            return super().in_style(style)
        chart, scene = self.chart, self.scene
        for _ in range(2):  # a legend may take more lines in another width
            pixels = [side * PIXELS_PER_INCH for side in style.size]
            largest = min(pixels[0] / scene.width, pixels[1] / scene.height)
            scale = largest if style.font_size is None else style.font_size / (TEXT_PIXELS * POINTS_PER_PIXEL)
            width = chart.width + pixels[0] / scale - scene.width
            height = chart.height + pixels[1] / scale - scene.height
            chart = replace(chart, width=max(_MIN_AREA, math.floor(width)), height=max(_MIN_AREA, math.floor(height)))
            scene = chart_scene(chart)
        return replace(self, scene=fit(scene, style), chart=chart, dpi=style.dpi)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        if self._given_axes is not None:  # the figure is the caller's, who shows it
            return {"text/plain": repr(self)}
        return super()._repr_mimebundle_(include, exclude)

    def __repr__(self) -> str:
        return f"<Chart {safe(self.chart.title[0])}>" if self.chart.title else "<Chart>"


def show_chart(chart: Chart, ax: Axes | None = None) -> ChartPicture:
    """Return a chart as a picture, and draw it on matplotlib axes if some are given."""
    from treewise.show.plots.chart_scene import chart_scene

    if ax is not None:
        from treewise.show.plots.chart_axes import paint_chart

        paint_chart(chart, ax)
    return ChartPicture(chart_scene(chart), chart, ax)


def floats(values: Sequence[float] | Any) -> tuple[float, ...]:
    """Return numbers, also those of an array, as a tuple of Python's."""
    return tuple(map(float, values))
