"""SVG charts of the page: error by number of leaves, and regions of two columns.

Lines and text have the colours of the page (``assets/report.css``), areas those of the palette.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import escape_html
from treewise._lib.text import clip, format_count, format_rounded
from treewise.data.encoding import Encoding
from treewise.data.table import Table
from treewise.show.palette import UNKNOWN_COLOUR, class_colour, confidence_tint, scale_colour
from treewise.show.regions.plane import Plane, PlaneArea, PlaneAxis, thresholds
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 520, 380, 130, 60, 10  # of the plane and its margins, in pixels
_JITTER_STEPS = (0.7548776662466927, 0.5698402909980532)  # a low-discrepancy sequence, as in show/regions/panel.py
_LINE_HEIGHT = 16  # of labels on the vertical axis
_MAX_LABEL_LETTERS = 18


def curve_svg(
    x: Sequence[float],
    lines: Sequence[tuple[str, str, Sequence[float]]],
    write: Callable[[float], str],
    mark: int | None,
) -> str:
    """Draw errors by number of leaves on a logarithmic axis; ``mark`` is the index of the chosen size."""
    width, height, left, bottom, right, top = 560, 280, 64, 44, 130, 16
    low, high = math.log(max(1.0, min(x))), math.log(max(2.0, *x))
    largest = max(max(values) for _, _, values in lines) or 1.0

    def position(value: float, error: float) -> tuple[float, float]:
        share = (math.log(max(1.0, value)) - low) / (high - low or 1.0)
        return left + share * (width - left - right), height - bottom - error / largest * (height - top - bottom)

    parts = [
        f'<svg class="plot" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="error by leaves">'
    ]
    parts.append(f'<path class="axis" d="M{left},{top}V{height - bottom}H{width - right}"/>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = position(1.0, largest * share)[1]
        parts.append(f'<path class="tick" d="M{left - 4},{y:.1f}H{left}"/>')
        parts.append(
            f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{escape_html(write(largest * share))}</text>'
        )
    for value in axis_ticks(min(x), max(x)):
        place = position(value, 0)[0]
        parts.append(f'<path class="tick" d="M{place:.1f},{height - bottom}v4"/>')
        parts.append(
            f'<text x="{place:.1f}" y="{height - bottom + 18}" text-anchor="middle">{format_count(value)}</text>'
        )
    parts.append(f'<text x="{(left + width - right) / 2}" y="{height - 6}" text-anchor="middle">leaves</text>')
    last_label: float | None = None  # its height, which the next label must not cover
    for name, kind, values in lines:
        points = [position(a, b) for a, b in zip(x, values, strict=True)]
        parts.append(f'<path class="{kind}" d="M{"L".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
        a, b = points[-1]
        last_label = min(last_label - 16, b) if last_label is not None and abs(last_label - b) < 16 else b
        parts.append(f'<text x="{a + 8:.1f}" y="{last_label + 4:.1f}">{name}</text>')
    if mark is not None:
        a, b = position(x[mark], lines[-1][2][mark])
        parts.append(f'<circle class="mark" cx="{a:.1f}" cy="{b:.1f}" r="5"><title>chosen</title></circle>')
    return "".join([*parts, "</svg>"])


def axis_ticks(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis: 1, 2, 5, 10, 20 …, thinned to at most eight.

    >>> axis_ticks(1, 15), axis_ticks(1, 4000)
    ([1, 2, 5, 10, 15], [1, 10, 100, 1000, 4000])
    """
    ticks = [m * 10**e for e in range(7) for m in (1, 2, 5) if low <= m * 10**e <= high]
    ticks = ticks if len(ticks) <= 8 else [value for value in ticks if str(value)[0] == "1"]
    return [*(value for value in ticks if value < 0.8 * high), high] if high > low else ticks


def regions_svg(tree: Tree, plane: Plane, areas: Sequence[PlaneArea], table: Table, rows: Sequence[int] | None) -> str:
    """Draw the areas in the colours of their predictions, the thresholds on the axes, and rows as points."""

    def pixel(axis: PlaneAxis, value: float) -> float:
        share = (value - axis.low) / ((axis.high - axis.low) or 1.0)
        return _LEFT + _WIDTH * share if axis is plane.x else _TOP + _HEIGHT * (1 - share)

    width, height = _LEFT + _WIDTH + 20, _TOP + _HEIGHT + _BOTTOM
    label = escape_html(f"regions over {plane.x.name} and {plane.y.name}")
    parts = [f'<svg class="plot" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{label}">']
    for area in areas:
        colour, tooltip = _node_colour(tree, area.node), f"node {area.node}: {_node_prediction(tree, area.node)}"
        for (x0, x1), (y0, y1) in product(plane.x.intervals(area.x), plane.y.intervals(area.y)):
            left, top = pixel(plane.x, x0), pixel(plane.y, y1)
            size = f'width="{pixel(plane.x, x1) - left:.1f}" height="{pixel(plane.y, y0) - top:.1f}"'
            box = f'x="{left:.1f}" y="{top:.1f}" {size}'
            link = f'data-leaf="{area.node}"'
            parts.append(
                f'<rect class="area" {link} {box} fill="{colour}"><title>{escape_html(tooltip)}</title></rect>'
            )
    for axis in plane.axes:
        parts += _axis_parts(tree, axis, axis is plane.x, lambda value, axis=axis: pixel(axis, value))  # type: ignore[misc]
    if rows is not None:
        sample = table.take(np.asarray(rows))
        for x, y in zip(*(_jittered(axis, i, sample).tolist() for i, axis in enumerate(plane.axes)), strict=True):
            if not math.isnan(x) and not math.isnan(y):
                parts.append(f'<circle class="point" cx="{pixel(plane.x, x):.1f}" cy="{pixel(plane.y, y):.1f}" r="2"/>')
    return "".join([*parts, "</svg>"])


def _jittered(axis: PlaneAxis, index: int, table: Table) -> npt.NDArray[np.float64]:
    """Return the positions of rows on an axis, jittered if it has levels."""
    positions = axis.positions(table)
    if axis.encoding.is_categorical:
        positions = positions + 0.6 * (np.arange(len(positions)) * _JITTER_STEPS[index] % 1 - 0.5)
    return positions


def _axis_parts(tree: Tree, axis: PlaneAxis, is_horizontal: bool, pixel: Callable[[float], float]) -> list[str]:
    """Return the SVG of an axis: its name, and its range and thresholds or its levels, without overlaps."""
    if axis.encoding.is_categorical:
        marks = [(float(i), clip(level, _MAX_LABEL_LETTERS, "…")) for i, level in enumerate(axis.encoding.levels)]
    else:
        values = [*thresholds(tree, axis), *axis.data_range]
        numbers = [int(value) + axis.origin if axis.origin else value for value in values]
        marks = [(value, axis_number(axis.encoding, number)) for value, number in zip(values, numbers, strict=True)]
    parts: list[str] = []
    occupied: list[tuple[float, float]] = []  # centres and half widths of labels
    bottom = _TOP + _HEIGHT
    for value, text in marks:
        place = pixel(value)
        half = 4 * len(text) + 6 if is_horizontal else _LINE_HEIGHT / 2
        if any(abs(place - other) < half + other_half for other, other_half in occupied):
            continue
        occupied.append((place, half))
        if is_horizontal:
            parts.append(f'<path class="tick" d="M{place:.1f},{bottom}v4"/>')
            parts.append(f'<text x="{place:.1f}" y="{bottom + 18}" text-anchor="middle">{escape_html(text)}</text>')
        else:
            parts.append(f'<path class="tick" d="M{_LEFT - 4},{place:.1f}h4"/>')
            parts.append(f'<text x="{_LEFT - 8}" y="{place + 4:.1f}" text-anchor="end">{escape_html(text)}</text>')
    name = escape_html(clip(axis.name, 2 * _MAX_LABEL_LETTERS, "…"))
    if is_horizontal:
        placed = f'x="{_LEFT + _WIDTH / 2}" y="{bottom + 42}"'
    else:
        placed = f'transform="translate(14,{_TOP + _HEIGHT / 2}) rotate(-90)"'
    return [*parts, f'<text {placed} text-anchor="middle">{name}</text>']


def axis_number(encoding: Encoding, value: float | int) -> str:
    """Format a number of a column to five digits, and a date exactly."""
    return encoding.format(value) if encoding.kind == "datetime" else format_rounded(float(value))


def _node_colour(tree: Tree, node: int) -> str:
    if tree.task == "classification":
        label = int(tree.arrays.label[node])
        if label < 0:
            return UNKNOWN_COLOUR
        return confidence_tint(class_colour(label), float(tree.probabilities(node)[label]), len(tree.classes))
    leaves = tree.arrays.value[tree.arrays.kind == LEAF]
    low, high = float(np.nanmin(leaves)), float(np.nanmax(leaves))
    return scale_colour((float(tree.arrays.value[node]) - low) / (high - low or 1.0))


def _node_prediction(tree: Tree, node: int) -> str:
    prediction = tree.prediction(node)
    return format_rounded(prediction) if isinstance(prediction, float) else str(prediction)
