"""The pictures of the page that need no script: errors over leaves, and the regions of two columns, as small SVGs.

Below ``sections.py``. Lines and text have the page's own colours (``assets/report.css``), areas those of the
palette.
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

WIDE, HIGH, LEFT, BOTTOM, TOP = 520, 380, 130, 60, 10  # the plane, in pixels, and what its labels need
STEPS = (0.7548776662466927, 0.5698402909980532)  # of the axes: points so placed lie on no line
NEAREST = 16  # pixels between two numbers on an axis
LONGEST = 18  # letters of a level on an axis


def curve_svg(
    x: Sequence[float],
    lines: Sequence[tuple[str, str, Sequence[float]]],
    write: Callable[[float], str],
    mark: int | None,
) -> str:
    """Draw errors over leaves on a logarithmic axis, with a legend; ``mark`` is the place of the one chosen."""
    width, height, left, bottom, right, top = 560, 280, 64, 44, 130, 16
    low, high = math.log(max(1.0, min(x))), math.log(max(2.0, *x))
    most = max(max(values) for _, _, values in lines) or 1.0

    def at(value: float, error: float) -> tuple[float, float]:
        share = (math.log(max(1.0, value)) - low) / (high - low or 1.0)
        return left + share * (width - left - right), height - bottom - error / most * (height - top - bottom)

    parts = [
        f'<svg class="plot" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="error over leaves">'
    ]
    parts.append(f'<path class="axis" d="M{left},{top}V{height - bottom}H{width - right}"/>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = at(1.0, most * share)[1]
        parts.append(f'<path class="tick" d="M{left - 4},{y:.1f}H{left}"/>')
        parts.append(
            f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{escape_html(write(most * share))}</text>'
        )
    for value in ticks(min(x), max(x)):
        place = at(value, 0)[0]
        parts.append(f'<path class="tick" d="M{place:.1f},{height - bottom}v4"/>')
        parts.append(
            f'<text x="{place:.1f}" y="{height - bottom + 18}" text-anchor="middle">{format_count(value)}</text>'
        )
    parts.append(f'<text x="{(left + width - right) / 2}" y="{height - 6}" text-anchor="middle">leaves</text>')
    taken: float | None = None  # the height of the last name, which the next must not cover
    for name, kind, values in lines:
        points = [at(a, b) for a, b in zip(x, values, strict=True)]
        parts.append(f'<path class="{kind}" d="M{"L".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
        a, b = points[-1]
        taken = min(taken - 16, b) if taken is not None and abs(taken - b) < 16 else b
        parts.append(f'<text x="{a + 8:.1f}" y="{taken + 4:.1f}">{name}</text>')
    if mark is not None:
        a, b = at(x[mark], lines[-1][2][mark])
        parts.append(f'<circle class="mark" cx="{a:.1f}" cy="{b:.1f}" r="5"><title>chosen</title></circle>')
    return "".join([*parts, "</svg>"])


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis: 1, 2, 5, 10, 20 …, thinned to at most eight.

    >>> ticks(1, 15), ticks(1, 4000)
    ([1, 2, 5, 10, 15], [1, 10, 100, 1000, 4000])
    """
    found = [m * 10**e for e in range(7) for m in (1, 2, 5) if low <= m * 10**e <= high]
    found = found if len(found) <= 8 else [value for value in found if str(value)[0] == "1"]
    return [*(value for value in found if value < 0.8 * high), high] if high > low else found


def regions_svg(tree: Tree, plane: Plane, areas: Sequence[PlaneArea], table: Table, rows: Sequence[int] | None) -> str:
    """Draw the areas in the colours of what they predict, the thresholds on the axes, and some rows as points."""

    def at(axis: PlaneAxis, value: float) -> float:
        share = (value - axis.low) / ((axis.high - axis.low) or 1.0)
        return LEFT + WIDE * share if axis is plane.x else TOP + HIGH * (1 - share)

    width, height = LEFT + WIDE + 20, TOP + HIGH + BOTTOM
    label = f"regions over {plane.x.name} and {plane.y.name}"
    parts = [
        f'<svg class="plot" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{escape_html(label)}">'
    ]
    for area in areas:
        colour, said = colour_of(tree, area.node), f"node {area.node}: {answer_of(tree, area.node)}"
        for (x0, x1), (y0, y1) in product(plane.x.intervals(area.x), plane.y.intervals(area.y)):
            left, top = at(plane.x, x0), at(plane.y, y1)
            size = f'width="{at(plane.x, x1) - left:.1f}" height="{at(plane.y, y0) - top:.1f}"'
            box = f'x="{left:.1f}" y="{top:.1f}" {size}'
            link = f'data-leaf="{area.node}"'
            parts.append(f'<rect class="area" {link} {box} fill="{colour}"><title>{escape_html(said)}</title></rect>')
    for axis in plane.axes:
        parts += axis_parts(tree, axis, axis is plane.x, lambda value, axis=axis: at(axis, value))  # type: ignore[misc]
    if rows is not None:
        shown = table.take(np.asarray(rows))
        for x, y in zip(*(scattered(axis, i, shown).tolist() for i, axis in enumerate(plane.axes)), strict=True):
            if not math.isnan(x) and not math.isnan(y):
                parts.append(f'<circle class="point" cx="{at(plane.x, x):.1f}" cy="{at(plane.y, y):.1f}" r="2"/>')
    return "".join([*parts, "</svg>"])


def scattered(axis: PlaneAxis, which: int, table: Table) -> npt.NDArray[np.float64]:
    """Return where rows lie on an axis; on one of levels beside each other, for they would cover each other."""
    places = axis.positions(table)
    if axis.encoding.is_categorical:
        places = places + 0.6 * (np.arange(len(places)) * STEPS[which] % 1 - 0.5)
    return places


def axis_parts(tree: Tree, axis: PlaneAxis, across: bool, at: Callable[[float], float]) -> list[str]:
    """Write an axis: its name, its ends and its thresholds, or its levels; what would lie too near is left out."""
    if axis.encoding.is_categorical:
        marks = [(float(i), clip(level, LONGEST, "…")) for i, level in enumerate(axis.encoding.levels)]
    else:
        first = [*thresholds(tree, axis), *axis.data_range]
        marks = [
            (value, axis_number(axis.encoding, int(value) + axis.origin if axis.origin else value)) for value in first
        ]
    parts: list[str] = []
    taken: list[tuple[float, float]] = []  # places on the axis, and how far their texts reach
    last = TOP + HIGH
    for value, text in marks:
        place = at(value)
        reach = 4 * len(text) + 6 if across else NEAREST / 2
        if any(abs(place - other) < reach + far for other, far in taken):
            continue
        taken.append((place, reach))
        if across:
            parts.append(f'<path class="tick" d="M{place:.1f},{last}v4"/>')
            parts.append(f'<text x="{place:.1f}" y="{last + 18}" text-anchor="middle">{escape_html(text)}</text>')
        else:
            parts.append(f'<path class="tick" d="M{LEFT - 4},{place:.1f}h4"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{place + 4:.1f}" text-anchor="end">{escape_html(text)}</text>')
    name = escape_html(clip(axis.name, 2 * LONGEST, "…"))
    middle = TOP + HIGH / 2
    turned = f'transform="translate(14,{middle}) rotate(-90)" text-anchor="middle"'
    flat = f'x="{LEFT + WIDE / 2}" y="{last + 42}" text-anchor="middle"'
    return [*parts, f"<text {flat if across else turned}>{name}</text>"]


def axis_number(encoding: Encoding, value: float | int) -> str:
    """Write a number of a column in five digits; a date as it is."""
    return encoding.format(value) if encoding.kind == "datetime" else format_rounded(float(value))


def colour_of(tree: Tree, node: int) -> str:
    """Return the colour of what a node predicts: pale where it is unsure."""
    if tree.task == "classification":
        label = int(tree.arrays.label[node])
        return (
            confidence_tint(class_colour(label), float(tree.probabilities(node)[label]), len(tree.classes))
            if label >= 0
            else UNKNOWN_COLOUR
        )
    leaves = tree.arrays.value[tree.arrays.kind == LEAF]
    low, high = float(np.nanmin(leaves)), float(np.nanmax(leaves))
    return scale_colour((float(tree.arrays.value[node]) - low) / (high - low or 1.0))


def answer_of(tree: Tree, node: int) -> str:
    """Say what a node predicts."""
    prediction = tree.prediction(node)
    return format_rounded(prediction) if isinstance(prediction, float) else str(prediction)
