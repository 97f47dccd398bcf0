"""The regions of two columns as SVG, with the areas as links to their leaves; charts are those of ``show/plots``.

Lines and text have the colours of the page (``assets/report.css``), areas those of the palette.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import escape_html
from treewise._lib.text import clip, format_rounded
from treewise.data.encoding import Encoding
from treewise.data.table import Table
from treewise.show.palette import UNKNOWN_COLOUR, class_colour, confidence_tint, scale_colour
from treewise.show.regions.plane import Plane, PlaneArea, PlaneAxis, thresholds
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

_WIDTH, _HEIGHT, _BOTTOM, _TOP = 520, 380, 60, 10  # of the plane and its margins, in pixels
_JITTER_STEPS = (0.7548776662466927, 0.5698402909980532)  # a low-discrepancy sequence, as in show/regions/panel.py
_LINE_HEIGHT = 16  # of labels on the vertical axis
_LETTER, _NAME = 8, 44  # room for a letter of these labels, and for the name of the axis
_MAX_LABEL_LETTERS = 18


def regions_svg(tree: Tree, plane: Plane, areas: Sequence[PlaneArea], table: Table, rows: Sequence[int] | None) -> str:
    """Draw the areas in the colours of their predictions, the thresholds on the axes, and rows as points."""

    left = _LETTER * max([len(text) for _, text in _axis_marks(tree, plane.y)], default=0) + _NAME

    def pixel(axis: PlaneAxis, value: float) -> float:
        share = (value - axis.low) / ((axis.high - axis.low) or 1.0)
        return left + _WIDTH * share if axis is plane.x else _TOP + _HEIGHT * (1 - share)

    width, height = left + _WIDTH + 20, _TOP + _HEIGHT + _BOTTOM
    label = escape_html(f"regions over {plane.x.name} and {plane.y.name}")
    parts = [f'<svg class="plot" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{label}">']
    for area in areas:
        colour, tooltip = _node_colour(tree, area.node), f"node {area.node}: {_node_prediction(tree, area.node)}"
        for (x0, x1), (y0, y1) in product(plane.x.intervals(area.x), plane.y.intervals(area.y)):
            x, top = pixel(plane.x, x0), pixel(plane.y, y1)
            size = f'width="{pixel(plane.x, x1) - x:.1f}" height="{pixel(plane.y, y0) - top:.1f}"'
            box = f'x="{x:.1f}" y="{top:.1f}" {size}'
            link = f'data-leaf="{area.node}"'
            parts.append(
                f'<rect class="area" {link} {box} fill="{colour}"><title>{escape_html(tooltip)}</title></rect>'
            )
    for axis in plane.axes:
        parts += _axis_parts(tree, axis, axis is plane.x, left, lambda value, axis=axis: pixel(axis, value))  # type: ignore[misc]
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


def _axis_marks(tree: Tree, axis: PlaneAxis) -> list[tuple[float, str]]:
    """Return what an axis marks, with its text: its thresholds and range, or its levels."""
    if axis.encoding.is_categorical:
        return [(float(i), clip(level, _MAX_LABEL_LETTERS, "…")) for i, level in enumerate(axis.encoding.levels)]
    values = [*thresholds(tree, axis), *axis.data_range]
    numbers = [int(value) + axis.origin if axis.origin else value for value in values]
    return [(value, axis_number(axis.encoding, number)) for value, number in zip(values, numbers, strict=True)]


def _axis_parts(
    tree: Tree, axis: PlaneAxis, is_horizontal: bool, left: float, pixel: Callable[[float], float]
) -> list[str]:
    """Return the SVG of an axis: its name, and its range and thresholds or its levels, without overlaps."""
    parts: list[str] = []
    occupied: list[tuple[float, float]] = []  # centres and half widths of labels
    bottom = _TOP + _HEIGHT
    for value, text in _axis_marks(tree, axis):
        at = pixel(value)
        half = 4 * len(text) + 6 if is_horizontal else _LINE_HEIGHT / 2
        if any(abs(at - other) < half + other_half for other, other_half in occupied):
            continue
        occupied.append((at, half))
        if is_horizontal:
            parts.append(f'<path class="tick" d="M{at:.1f},{bottom}v4"/>')
            parts.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{escape_html(text)}</text>')
        else:
            parts.append(f'<path class="tick" d="M{left - 4},{at:.1f}h4"/>')
            parts.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{escape_html(text)}</text>')
    name = escape_html(clip(axis.name, 2 * _MAX_LABEL_LETTERS, "…"))
    if is_horizontal:
        placed = f'x="{left + _WIDTH / 2}" y="{bottom + 42}"'
    else:
        placed = f'transform="translate(14,{_TOP + _HEIGHT / 2}) rotate(-90)"'
    return [*parts, f'<text {placed} text-anchor="middle">{name}</text>']


def axis_number(encoding: Encoding, value: float | int) -> str:
    """Format a number of a column to five digits, and a date exactly."""
    return encoding.format(value) if encoding.kind == "datetime" else format_rounded(float(value))


def unit_text(encoding: Encoding) -> str:
    """Return the unit of a displayed column, to be written after a number.

    >>> unit_text(Encoding("age", "number"))
    ''
    """
    return f" {encoding.style.unit}" if encoding.style is not None and encoding.style.unit else ""


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
