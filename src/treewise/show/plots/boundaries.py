"""``draw_boundaries``: the candidate thresholds of a node as lines between its points, with their gains (ID3 notes)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.data.encoding import is_missing
from treewise.errors import ColumnError, DataError, ParameterError
from treewise.show import palette
from treewise.show.mpl_helpers import (
    SMALL,
    add_legend,
    axes_for,
    label_text,
    set_title,
    style_axes,
    takes_image_options,
)
from treewise.tree.splits import Threshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise.explain.trace.nodes import CandidateTrace, NodeTrace

Floats = npt.NDArray[np.float64]

_MAX_LINES = 12  # of a column: those of the largest gain
_MAX_NAMED_ROWS, _MAX_POINTS = 60, 3000
_MARGIN = 0.12  # of the range, on each side


@takes_image_options
def draw_boundaries(node: NodeTrace, x: str | None = None, y: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the rows of a node in the plane of two columns, with every candidate threshold of both and its gain.

    The best one is drawn in bold. ``NodeTrace.draw_boundaries`` explains the parameters.
    """
    names = _choose_columns(node, x, y)
    ax = axes_for(ax, 6.6, 5.0)
    positions = [_positions(node, name) for name in names]
    inside = np.zeros(len(positions[0]), bool)
    inside[node.number_format.rows] = True
    limits = [_limits(values) for values in positions]
    ax.set(xlim=limits[0], ylim=limits[1])
    _draw_rows(node, positions, inside, ax)
    lines = [_thresholds(node, name) for name in names]
    n_hidden = sum(max(0, len(tests) - _MAX_LINES) for tests in lines)
    for axis, tests in enumerate(lines):
        other = positions[1 - axis][inside]
        _draw_lines(node, tests[:_MAX_LINES], axis, _extent(other, limits[1 - axis], bool(inside.all())), ax)
    for name, values, mpl_axis in zip(names, positions, (ax.xaxis, ax.yaxis), strict=True):
        mpl_axis.set_label_text(label_text(name))
        distinct = np.unique(values[np.isfinite(values)])
        if len(distinct) <= 10:
            encoding = node[name].encoding
            shown = [value if encoding.kind == "number" else round(value) for value in distinct.tolist()]
            mpl_axis.set_ticks(distinct, [label_text(encoding.format(value), 16) for value in shown])
    style_axes(ax)
    unit = node.number_format.shown_unit
    per = "in total" if node.number_format.per == "total" else "per row"
    head = f"node {node.id} · {label_text(node.words, 70)} · " if node.context.in_tree else ""
    note = f"; {plural(n_hidden, 'smaller one')} not drawn" if n_hidden else ""
    set_title(ax, f"{head}{plural(len(lines[0]) + len(lines[1]), 'candidate')}, gain in {unit} {per}{note}")
    return ax


def _choose_columns(node: NodeTrace, x: str | None, y: str | None) -> tuple[str, str]:
    """Return the columns of the axes: those named, else the first numeric ones."""
    if node.settled:
        raise DataError(f"node {node.id} has no split to draw: its rows are alike.")
    if node.number_format.training_set.target.task != "classification":
        raise DataError("boundaries are drawn between classes, and this tree predicts numbers.")
    numeric = [name for name in node.columns if not node[name].encoding.is_categorical]
    for name in (x, y):
        if name is not None and node[name].encoding.is_categorical:
            raise ColumnError(
                f'column "{safe(name)}" is categorical: its candidates are not lines. draw("…") has bars.'
            )
    rest = [name for name in numeric if name not in (x, y)]
    chosen = [name if name is not None else rest.pop(0) if rest else None for name in (x, y)]
    if chosen[0] is None or chosen[1] is None or chosen[0] == chosen[1]:
        raise ParameterError("boundaries are drawn over two different numeric columns.", parameter="x", value=x)
    return chosen[0], chosen[1]


def _positions(node: NodeTrace, name: str) -> Floats:
    """Return the values of a column for all rows of the table; NaN where they are missing."""
    training_set = node.number_format.training_set
    column = next(i for i, encoding in enumerate(training_set.encodings) if encoding.name == name)
    values = training_set.columns[column]
    return np.where(is_missing(node[name].encoding, values), np.nan, values.astype(np.float64))


def _limits(values: Floats) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    margin = _MARGIN * ((high - low) or 1.0)
    return low - margin, high + 1.6 * margin


def _extent(values: Floats, limits: tuple[float, float], is_root: bool) -> tuple[float, float]:
    """Return how far lines reach: over the whole picture, or a little beyond the rows of the node."""
    finite = values[np.isfinite(values)]
    if is_root or not len(finite):
        return limits
    pad = 0.5 * _MARGIN * (limits[1] - limits[0])
    return max(limits[0], float(finite.min()) - pad), min(limits[1], float(finite.max()) + pad)


def _thresholds(node: NodeTrace, name: str) -> list[CandidateTrace]:
    """Return the candidates of a column, the largest gain first; one for each threshold."""
    best: dict[float, CandidateTrace] = {}
    for test in node[name].tests:
        split = test.candidate.split
        if not isinstance(split, Threshold) or not np.isfinite(float(split.cut)):
            continue
        if split.cut not in best or test.gain > best[split.cut].gain:
            best[split.cut] = test
    return sorted(best.values(), key=lambda test: -test.gain)


def _draw_rows(node: NodeTrace, positions: list[Floats], inside: npt.NDArray[np.bool_], ax: Axes) -> None:
    """Draw the rows of the node by class, those of the rest of the table pale."""
    training_set = node.number_format.training_set
    classes, y = training_set.target.classes, training_set.y
    markers = palette.class_markers(classes)
    shown = np.flatnonzero(np.isfinite(positions[0]) & np.isfinite(positions[1]))[:_MAX_POINTS]
    size = float(np.clip(6000 / max(1, len(shown)), 9, 70))
    entries: list[Any] = []
    for class_index, label in enumerate(classes):
        area = 2.4 * size if markers[class_index] == "*" else size
        colour = palette.class_colour(class_index)
        for is_inside in (False, True):
            rows = shown[(y[shown] == class_index) & (inside[shown] == is_inside)]
            fill = colour if is_inside else palette.tint(colour, 0.25)
            points = ax.scatter(
                positions[0][rows],
                positions[1][rows],
                s=area,
                marker=markers[class_index],
                color=fill,
                linewidths=0,
                zorder=3,
            )
        entries.append((points, f"{label_text(training_set.target.name, 24)} = {label_text(label, 24)}"))
    if node.view.row_names is not None and len(node.row_names) <= _MAX_NAMED_ROWS:
        for name, row in zip(node.row_names, node.number_format.rows.tolist(), strict=True):
            ax.annotate(
                label_text(name, 16), (positions[0][row], positions[1][row]), (6, 5), textcoords="offset points",
                fontsize=SMALL + 1.5, color=palette.INK, zorder=5,
            )  # fmt: skip
    add_legend(ax, entries, beside=True)


def _draw_lines(node: NodeTrace, tests: list[CandidateTrace], axis: int, extent: tuple[float, float], ax: Axes) -> None:
    """Draw the thresholds of one column across the plane, each with its gain at the end of the line."""
    winner = node[node.winner].best if node.winner is not None else None
    for test in tests:
        split = test.candidate.split
        assert isinstance(split, Threshold)
        cut, is_best = float(split.cut), test is winner or (winner is not None and test.candidate is winner.candidate)
        style: dict[str, Any] = {"color": palette.INK, "linewidth": 2.4 if is_best else 1.1, "zorder": 2}
        style["linestyle"] = "-" if is_best else (0, (5, 3))
        text: dict[str, Any] = {"fontsize": SMALL + (1 if is_best else 0), "color": palette.INK, "zorder": 6}
        text |= {"fontweight": "bold" if is_best else "normal", "textcoords": "offset points"}
        text["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
        gain = node.number_format.format(test.gain)
        if axis == 0:
            ax.plot([cut, cut], extent, **style)
            ax.annotate(gain, (cut, extent[1]), (0, 0), ha="center", va="top", **text)
        else:
            ax.plot(extent, [cut, cut], **style)
            ax.annotate(gain, (extent[1], cut), (0, 0), ha="right", va="center", **text)
