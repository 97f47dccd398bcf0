"""A chart on matplotlib axes: for figures of several panels, and for those who want to change a detail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treewise.show.mpl_helpers import SMALL, add_legend, axes_for, label_text, set_title, style_axes
from treewise.show.plots.chart import Band, Bar, Chart, ChartAxis, Curve, Mark

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_POINTS_PER_PIXEL, _PIXELS_PER_INCH = 0.75, 96
_MARGINS = 1.6, 1.9  # inches around the plot area: ticks, labels, title and legend
_MIN_WIDTH = 4.4  # inches, for the title


def paint_chart(chart: Chart, ax: Axes | None = None) -> Axes:
    """Draw a chart on the given axes, or on those of a new figure."""
    width, height = (pixels / _PIXELS_PER_INCH for pixels in (chart.width, chart.height))
    ax = axes_for(ax, max(width + _MARGINS[0], _MIN_WIDTH), height + _MARGINS[1])
    if chart.x.is_log:
        ax.set_xscale("log")
        ax.minorticks_off()
    _set_axis(ax.xaxis, chart.x)
    _set_axis(ax.yaxis, chart.y)
    entries: list[tuple[Artist, str]] = []
    names = {id(mark): text for mark, text in chart.legend}
    for zorder, mark in enumerate(chart.marks, start=2):
        artist = _paint(ax, mark, zorder)
        if id(mark) in names:
            entries.append((artist, label_text(names[id(mark)], 120)))
    margin = 0.0 if not chart.x.is_log else 0.04
    low, high = chart.x.low, chart.x.high
    ax.set_xlim(low / (high / low) ** margin if margin else low, high * (high / low) ** margin if margin else high)
    ax.set_ylim(chart.y.low, chart.y.high)
    style_axes(ax)
    if not chart.has_frame:
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
    set_title(ax, *(label_text(line, 200) for line in chart.title))
    add_legend(ax, entries, below=True)
    return ax


def _set_axis(axis: Any, chart_axis: ChartAxis) -> None:
    texts = [label_text(text, 28) for _, text in chart_axis.ticks]
    axis.set_ticks([value for value, _ in chart_axis.ticks], texts)
    axis.set_label_text(label_text(chart_axis.label, 120))
    is_crowded = axis.axis_name == "x" and sum(map(len, texts)) > 60
    if is_crowded:
        axis.set_tick_params(labelrotation=40)


def _paint(ax: Axes, mark: Mark, zorder: int) -> Any:
    """Draw one mark, and return its artist."""
    if isinstance(mark, Curve):
        width = mark.width * _POINTS_PER_PIXEL
        dashes = (0, tuple(length / (mark.width or 1.0) for length in mark.dashes)) if mark.dashes else "-"
        style: dict[str, Any] = {"color": mark.colour, "linewidth": width, "linestyle": dashes if width else ""}
        if mark.marker:
            style |= {"marker": mark.marker, "markersize": mark.size * _POINTS_PER_PIXEL}
            style |= {"markerfacecolor": mark.fill or mark.colour}
        return ax.plot(mark.x, mark.y, zorder=zorder, **style)[0]
    if isinstance(mark, Band):
        return ax.fill_between(mark.x, mark.low, mark.high, color=mark.colour, alpha=mark.opacity, linewidth=0)
    if isinstance(mark, Bar):
        from matplotlib.patches import Rectangle

        corner, width, height = (mark.x0, mark.y0), mark.x1 - mark.x0, mark.y1 - mark.y0
        rectangle = Rectangle(corner, width, height, facecolor=mark.colour, edgecolor=mark.edge or "none", zorder=1)
        ax.add_patch(rectangle)
        if mark.text:
            middle = mark.x0 + width / 2, mark.y0 + height / 2
            ax.text(*middle, mark.text, ha="center", va="center", fontsize=SMALL, color=mark.text_colour)
        return rectangle
    shift = mark.dx * _POINTS_PER_PIXEL, -mark.dy * _POINTS_PER_PIXEL
    alignment = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    text = label_text(mark.text, 120)
    return ax.annotate(text, (mark.x, mark.y), shift, textcoords="offset points", fontsize=SMALL, ha=alignment)
