"""What the chart of two columns shows at a node: its rows as points, and the areas of the leaves below it.

The areas are exact, with every other column fixed at what is typical of the node's rows (``show/regions/plane.py``).
Positions are those of the plane: the value less the ``origin`` of its axis.
"""

from __future__ import annotations

from itertools import product
from math import isfinite
from typing import Any

import numpy as np

from treewise._lib.text import format_rounded, safe
from treewise.data.table import Table
from treewise.edit.editor import Editor
from treewise.edit.rectangle import Sides
from treewise.errors import ParameterError
from treewise.show.regions.plane import Plane, PlaneAxis, make_plane
from treewise.show.report.facts import sample_rows
from treewise.tree.tree import Tree

MAX_POINTS = 600
_MAX_LEAVES = 4_000  # of a tree whose areas are drawn


def region_facts(editor: Editor, table: Table, node: int, x: str | None, y: str | None) -> dict[str, Any]:
    """Return the chart of a node; without columns that of the two that it, or else the tree, asks first.

    >>> import treewise as tw
    >>> facts = region_facts(tw.Editor("species", "penguins"), tw.read("penguins"), 0, None, None)
    >>> facts["x"]["name"], facts["y"]["name"], len(facts["areas"]), facts["rows"], facts["shown"]
    ('bill_length_mm', 'bill_depth_mm', 1, 344, 342)
    """
    tree, numbers = editor.tree, np.asarray(editor.rows(node), np.int64) - 1
    columns = _number_columns(tree, node)
    if len(columns) < 2:
        raise ParameterError("a chart of regions needs two columns of numbers.")
    for name in (x, y):
        if name is not None and name not in columns:
            raise ParameterError("is no column of numbers.", parameter="column", value=name)
    x = next(name for name in columns if name != y) if x is None else x
    y = next(name for name in columns if name != x) if y is None or y == x else y
    if not len(numbers):
        raise ParameterError(f"no row reaches node {node}.")
    sampled = np.sort(numbers[sample_rows(len(numbers), MAX_POINTS)])
    part = table.take(sampled)
    plane = make_plane([tree], part, x, y, None)
    points = np.stack([axis.positions(part) for axis in plane.axes])
    is_shown = ~np.isnan(points).any(axis=0)
    training_set = editor.tables.training.training_set
    at = np.searchsorted(np.asarray(training_set.rows), sampled)
    targets = (training_set.y if tree.task == "classification" else training_set.raw)[at]
    areas, relevant = _areas(tree, plane, node)
    fixed = [f"{safe(name)} = {_value_text(tree, name, plane.fixed[name])}" for name in relevant]
    return {
        "node": node,
        "columns": columns,
        "x": _axis_facts(plane.x),
        "y": _axis_facts(plane.y),
        "areas": areas,
        "points": np.round(points[:, is_shown], 9).T.tolist(),
        "targets": targets[is_shown].tolist(),
        "rows": len(numbers),
        "shown": int(is_shown.sum()),
        "note": f"areas where {', '.join(fixed)}" if fixed else "",
    }


def read_sides(given: Any) -> Sides:
    """Return the sides of a rectangle as the page sends them.

    >>> read_sides([["age", None, 30.5], ["fare", 7, 20]])
    {'age': (None, 30.5), 'fare': (7, 20)}
    """
    sides: dict[str, tuple[float | None, float | None]] = {}
    if not isinstance(given, list) or not 1 <= len(given) <= 2:
        raise ParameterError("a rectangle has one or two columns.", parameter="sides")
    for side in given:
        if not isinstance(side, list) or len(side) != 3 or not isinstance(side[0], str):
            raise ParameterError("a side is a column, its lower and its upper end.", parameter="sides")
        for end in side[1:]:
            if end is not None and not _is_finite_number(end):
                raise ParameterError("an end is a number, or nothing.", parameter="sides", value=end)
        sides[side[0]] = (side[1], side[2])
    return sides


def _is_finite_number(value: Any) -> bool:
    """Return whether a value of a message is a number that a float can hold."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:
        return False


def _number_columns(tree: Tree, node: int) -> list[str]:
    """Return the columns of numbers: first those asked below the node, then those asked anywhere, then the others."""
    column, end = tree.arrays.column, int(tree.arrays.ends[node])
    in_order = [*column[node:end].tolist(), *column.tolist(), *range(len(tree.encodings))]
    return [tree.columns[i] for i in dict.fromkeys(in_order) if i >= 0 and not tree.encodings[i].is_categorical]


def _axis_facts(axis: PlaneAxis) -> dict[str, Any]:
    is_date = axis.encoding.kind == "datetime"
    ends = [axis.format(end) if is_date else format_rounded(end + axis.origin) for end in axis.data_range]
    return {
        "name": axis.name,
        "low": axis.low,
        "high": axis.high,
        "origin": axis.origin,
        "range": list(axis.data_range),
        "texts": ends,
    }


def _areas(tree: Tree, plane: Plane, node: int) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the areas of the leaves below a node, and the fixed columns that select them."""
    if tree.n_leaves > _MAX_LEAVES:
        return [], ()
    areas, relevant = plane.areas(tree)
    end = int(tree.arrays.ends[node])
    drawn = []
    for area in areas:
        if node <= area.node < end:
            for across, up in product(plane.x.intervals(area.x), plane.y.intervals(area.y)):
                drawn.append({"node": area.node, "box": [*across, *up]})
    return drawn, relevant


def _value_text(tree: Tree, name: str, value: Any) -> str:
    encoding = tree.encodings[tree.columns.index(name)]
    if value is None:
        return "missing"
    return safe(value) if isinstance(value, str) else encoding.format(value)
