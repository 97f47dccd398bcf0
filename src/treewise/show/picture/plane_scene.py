"""The regions of a tree over two columns as shapes, with rows and candidate thresholds: the middle panel of the page.

The areas are those of ``draw_regions``, exact, and hatched by class; no matplotlib is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data.table import Table
from treewise.explain.trace.trace import name_rows
from treewise.show.palette import Marker, class_colour, class_markers, tint
from treewise.show.picture.scene import (
    BACKGROUND,
    FRAME,
    MUTED_TEXT,
    TEXT,
    BoxShape,
    LineShape,
    Part,
    PathShape,
    TextShape,
    VectorScene,
    class_fill,
    clip_to_width,
    hatch_lines,
    value_fill,
)
from treewise.show.regions.plane import Plane, make_plane
from treewise.train.exposure import find_truth
from treewise.train.target import encode_labels
from treewise.tree.arrays import LEAF, NOT_YET
from treewise.tree.splits import Threshold
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.explain.trace.nodes import NodeTrace

_WIDTH, _HEIGHT = 420.0, 340.0
_LEFT, _TOP, _RIGHT, _BOTTOM = 54.0, 14.0, 58.0, 40.0
_MAX_POINTS, _MAX_LINES, _MAX_TICKS = 800, 8, 8
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlanePicture:
    """A plane with the rows of a table; ``scene`` draws a tree on it."""

    plane: Plane
    x: Floats
    y: Floats
    classes: npt.NDArray[np.int64]  # of each row; empty for regression
    markers: tuple[Marker, ...] = ()  # of each class
    names: tuple[str, ...] | None = None  # of the rows

    def scene(self, tree: Tree, node: NodeTrace | None) -> VectorScene:
        """Return the areas of a tree, the rows, and the candidate thresholds of a node."""
        parts: list[Part] = [BoxShape(0, 0, _WIDTH, _HEIGHT)]
        low, high = (float(f(tree.arrays.value)) if len(tree.arrays.value) else 0.0 for f in (np.nanmin, np.nanmax))
        for area in self.plane.areas(tree)[0]:
            is_open = tree.arrays.kind[area.node] == LEAF and tree.arrays.stop[area.node] == NOT_YET
            if tree.task == "regression":
                share = (float(tree.arrays.value[area.node]) - low) / ((high - low) or 1.0)
                fill = value_fill(share)
            else:
                fill = class_fill(int(tree.arrays.label[area.node]))
            for x0, x1 in self.plane.x.intervals(area.x):
                for y0, y1 in self.plane.y.intervals(area.y):
                    left, right, top, bottom = self._across(x0), self._across(x1), self._up(y1), self._up(y0)
                    box = (left, top, right - left, bottom - top)
                    colour = BACKGROUND if is_open else tint(fill.colour, 0.35)
                    parts.append(BoxShape(*box, colour, FRAME, 1.0))
                    if not is_open and (lines := tuple(hatch_lines(*box, fill.hatching, spacing=9.0))):
                        parts.append(LineShape(lines, tint(fill.colour, 0.7), 0.8))
        parts += self._points()
        parts += [] if node is None else self._candidates(node, tree)
        parts += self._axes(tree)
        return VectorScene(_WIDTH, _HEIGHT, "regions", tuple(parts))

    def _across(self, position: float) -> float:
        axis = self.plane.x
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (position - axis.low) / (axis.high - axis.low)

    def _up(self, position: float) -> float:
        axis = self.plane.y
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (position - axis.low) / (axis.high - axis.low)

    def _points(self) -> list[Part]:
        """Return the rows: each class with its marker, as in ``draw_points``, and their names."""
        rows = np.flatnonzero(np.isfinite(self.x) & np.isfinite(self.y))
        if len(rows) > _MAX_POINTS:
            rows = rows[np.linspace(0, len(rows) - 1, _MAX_POINTS).round().astype(int)]
        radius = 5.0 if len(rows) <= 60 else 2.6
        parts: list[Part] = []
        for row in rows.tolist():
            x, y = self._across(float(self.x[row])), self._up(float(self.y[row]))
            class_index = int(self.classes[row]) if len(self.classes) else -1
            marker = self.markers[class_index] if class_index >= 0 else "o"
            parts.append(_marker_shape(marker, x, y, radius, class_colour(class_index)))
            if self.names is not None:
                parts.append(TextShape(x + radius + 2, y - radius, safe(self.names[row]), 9.5, False, TEXT))
        return parts

    def _candidates(self, node: NodeTrace, tree: Tree) -> list[Part]:
        """Return the thresholds of the node's candidates across its area, each with its gain; the best is bold."""
        parts: list[Part] = []
        best = node[node.winner].best if node.winner is not None else None
        area = next((area for area in self.plane.areas(tree)[0] if area.node == node.id), None)
        if area is None:
            return []
        for axis, span in ((self.plane.x, area.y), (self.plane.y, area.x)):
            if axis.name not in node.columns or axis.encoding.is_categorical:
                continue
            other, move = (self.plane.y, self._up) if axis is self.plane.x else (self.plane.x, self._across)
            ends = [move(end) for interval in other.intervals(span) for end in interval]
            if not ends:
                continue
            tests = [t for t in node[axis.name].tests if isinstance(t.candidate.split, Threshold)]
            tests = sorted(tests, key=lambda t: -t.gain)[:_MAX_LINES]
            low, high = min(ends), max(ends)
            for test in tests:
                split = test.candidate.split
                assert isinstance(split, Threshold)
                is_best = best is not None and test.candidate is best.candidate
                cut, gain = axis.position(split.cut), node.number_format.format(test.gain)
                width = 2.2 if is_best else 0.9
                if axis is self.plane.x:
                    at = self._across(cut)
                    parts.append(LineShape(((at, low, at, high),), TEXT, width))
                    parts.append(TextShape(at, max(low - 3, 10), gain, 9.0, is_best, TEXT, "middle"))
                else:
                    at = self._up(cut)
                    parts.append(LineShape(((low, at, high, at),), TEXT, width))
                    parts.append(TextShape(high + 3, at + 3, gain, 9.0, is_best, TEXT))
        return parts

    def _axes(self, tree: Tree) -> list[Part]:
        """Return the names of the columns, and the thresholds of the tree or the levels as ticks."""
        parts: list[Part] = []
        for axis, is_x in ((self.plane.x, True), (self.plane.y, False)):
            if axis.encoding.is_categorical:
                ticks = [(float(i), safe(level)) for i, level in enumerate(axis.encoding.levels)]
            else:
                column = tree.columns.index(axis.name) if axis.name in tree.columns else -1
                nodes = np.flatnonzero((tree.arrays.column == column) & (tree.arrays.kind != LEAF))
                cuts = tree.arrays.cut if axis.encoding.kind == "number" else tree.arrays.cut_int
                inside = [axis.position(cut) for cut in cuts[nodes].tolist() if np.isfinite(cut)]
                inside = [cut for cut in inside if axis.low < cut < axis.high]
                ticks = [(cut, axis.format(cut)) for cut in dict.fromkeys([*axis.data_range, *inside])]
            for position, text in ticks[:_MAX_TICKS]:
                text = clip_to_width(text, 46, 9.5)
                if is_x:
                    parts.append(
                        TextShape(self._across(position), _HEIGHT - 26, text, 9.5, False, MUTED_TEXT, "middle")
                    )
                else:
                    parts.append(TextShape(_LEFT - 5, self._up(position) + 3, text, 9.5, False, MUTED_TEXT, "end"))
        x_name, y_name = (clip_to_width(safe(axis.name), 200, 11) for axis in self.plane.axes)
        parts.append(TextShape(_LEFT + (_WIDTH - _LEFT - _RIGHT) / 2, _HEIGHT - 8, f"{x_name} →", 11, anchor="middle"))
        parts.append(TextShape(2, 11, f"↑ {y_name}", 11))
        return parts


# The corners of markers, as shares of the radius.
_STAR = tuple(
    (size * math.sin(turn * math.pi / 5), -size * math.cos(turn * math.pi / 5))
    for turn, size in enumerate([1.35, 0.55] * 5)
)
_PLUS = tuple(
    (x / 3 * 1.15, y / 3 * 1.15)
    for x, y in (
        (-1, -3),
        (1, -3),
        (1, -1),
        (3, -1),
        (3, 1),
        (1, 1),
        (1, 3),
        (-1, 3),
        (-1, 1),
        (-3, 1),
        (-3, -1),
        (-1, -1),
    )
)
_CORNERS = {
    "*": _STAR,
    "P": _PLUS,
    "X": tuple(((x - y) * math.sqrt(0.5), (x + y) * math.sqrt(0.5)) for x, y in _PLUS),
    "^": ((0, -1.1), (1.05, 0.8), (-1.05, 0.8)),
    "v": ((0, 1.1), (1.05, -0.8), (-1.05, -0.8)),
    "<": ((-1.1, 0), (0.8, 1.05), (0.8, -1.05)),
    ">": ((1.1, 0), (-0.8, 1.05), (-0.8, -1.05)),
    "s": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "D": ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)),
    "p": tuple((math.sin(turn * math.tau / 5), -math.cos(turn * math.tau / 5)) for turn in range(5)),
    "h": tuple((math.sin(turn * math.tau / 6), -math.cos(turn * math.tau / 6)) for turn in range(6)),
}


def _marker_shape(marker: Marker, x: float, y: float, radius: float, colour: str) -> Part:
    """Return a marker of matplotlib, by its name or its corners, as a shape."""
    if marker == "o":
        return BoxShape(x - radius, y - radius, 2 * radius, 2 * radius, colour, BACKGROUND, 1.0, radius)
    corners = _CORNERS[marker] if isinstance(marker, str) else marker
    points = tuple((x + radius * right, y + radius * down) for right, down in corners)
    return PathShape((*points, points[0]), BACKGROUND, 0.8, colour)


def _spread(plane: Plane, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Move rows of one position apart along axes of levels, so that all of them are seen."""
    is_level = [axis.encoding.is_categorical for axis in plane.axes]
    rows_at: dict[tuple[float, float], list[int]] = {}
    for row, position in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        rows_at.setdefault(position, []).append(row)
    x, y = x.astype(np.float64), y.astype(np.float64)
    for rows in rows_at.values() if any(is_level) else ():
        across = math.ceil(math.sqrt(len(rows))) if all(is_level) else len(rows) if is_level[0] else 1
        for i, row in enumerate(rows):
            right, up = i % across, i // across
            x[row] += (right - (across - 1) / 2) * min(0.2, 0.7 / across)
            down = math.ceil(len(rows) / across)
            y[row] += (up - (down - 1) / 2) * min(0.2, 0.7 / down)
    return x, y


def plane_picture(
    trees: Sequence[Tree],
    table: Table,
    columns: tuple[str | None, str | None],
    rows: bool | str | Sequence[str] = False,
) -> PlanePicture | None:
    """Return the plane of two columns, by default the first two that the largest tree tests; None if it has one."""
    largest = max(trees, key=len)
    tested = [largest.columns[i] for i in largest.arrays.column.tolist() if i >= 0]
    rest = [name for name in dict.fromkeys([*tested, *largest.columns]) if name not in columns]
    names = [name if name is not None else rest.pop(0) if rest else "" for name in columns]
    if "" in names:
        return None
    plane = make_plane([largest], table, names[0], names[1], None)
    x, y = _spread(plane, *(axis.positions(table) for axis in plane.axes))
    classes = np.empty(0, np.int64)
    if largest.task == "classification":
        column = find_truth(largest, table, None)
        present = np.flatnonzero(~column.is_missing())
        classes = np.full(len(table), -1, np.int64)
        classes[present] = encode_labels(largest, column.take(present))[0]
        classes[classes >= len(largest.classes)] = -1
    markers = tuple(class_markers(largest.classes)) if len(classes) else ()
    return PlanePicture(plane, x, y, classes, markers, name_rows(table, rows))
