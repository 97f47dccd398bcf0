"""One panel: the areas of a model on a plane, the rows of a table as points, thresholds on the axes, and a title."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_rounded, plural
from treewise.data.table import Table
from treewise.show import palette
from treewise.show.mpl_helpers import SMALL, label_text, set_title, style_axes
from treewise.show.picture.scene import class_fill
from treewise.show.regions.models import PointsAlone, Predictions, PredictorRegions, RegionModel, TreeRegions
from treewise.show.regions.plane import Floats, Plane, PlaneArea, PlaneAxis, Span, jitter_width
from treewise.tree.arrays import Label
from treewise.tree.regions.region import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_MAX_POINTS = 3000
_MAX_TICKS = 60  # thresholds marked without their value
_MAX_NUMBERED_AREAS = 14  # with more areas, node numbers are written only on request
_MAX_VALUES = 10  # of a column, each marked on the axis of points alone
_NBSP = "\u00a0"  # non-breaking space
_NO_PREDICTION = "#EEEEEE"  # areas without a prediction
# Jitter along the axes by powers of the inverse of the plastic number: a low-discrepancy sequence in the plane.
_JITTER_STEPS = (0.7548776662466927, 0.5698402909980532)


@dataclass(frozen=True, eq=False)
class RegionScene:
    """Shared by all panels: the plane, the rows, their true labels, and the colours."""

    plane: Plane
    table: Table
    target: str
    classes: tuple[Label, ...]  # empty for regression
    truth: Predictions | None
    value_range: tuple[float, float]  # of the colour scale for numbers
    show_node_numbers: bool | None  # None: if there are few areas
    row_names: tuple[str, ...] | None = None  # written beside the points
    largest_point: float = 70.0  # area in square points

    @cached_property
    def markers(self) -> list[palette.Marker]:
        """The marker of each class."""
        return palette.class_markers(self.classes)

    def colour(self, predictions: Predictions, i: int) -> str:
        """Return the colour of an area: its class, paler where it is less probable; or its number on the scale."""
        if self.classes:
            index = int(predictions.class_index[i])
            if index < 0:
                return _NO_PREDICTION
            probability = float(predictions.probability[i])
            return palette.confidence_tint(palette.class_colour(index), probability, len(self.classes))
        return palette.tint(palette.scale_colour(self.relative_position(float(predictions.value[i]))), 0.75)

    def hatchings(self, predictions: Predictions) -> npt.NDArray[Any]:
        """Return the index of each area's class where that class is hatched, so that greyscale print shows it; or −1.

        As in pictures of trees, the first class has no hatching.
        """
        index = predictions.class_index
        hatched = [bool(class_fill(c).hatching) for c in range(len(self.classes))]
        return np.where((index >= 0) & np.array([*hatched, False])[index], index, -1)

    def relative_position(self, value: float) -> float:
        """Return the position of a number on the colour scale, from 0 to 1; NaN for NaN."""
        low, high = self.value_range
        if math.isnan(value) or high <= low:
            return value if math.isnan(value) else 0.5
        return min(1.0, max(0.0, (value - low) / (high - low)))


def draw_panel(ax: Axes, model: RegionModel, scene: RegionScene) -> None:
    """Draw one model."""
    plane = scene.plane
    ax.set(xlim=(plane.x.low, plane.x.high), ylim=(plane.y.low, plane.y.high))
    fixed: Sequence[str] = ()
    elsewhere = np.zeros(len(scene.table), bool)
    areas: Sequence[PlaneArea] = ()
    if isinstance(model, TreeRegions):
        areas, predictions, fixed = model.predict_areas(plane, scene.classes)
        _draw_areas(ax, areas, predictions, scene)
        if fixed:
            elsewhere = _leads_elsewhere(model, scene)
    elif isinstance(model, PredictorRegions):
        _draw_grid(ax, model, scene)
        fixed = [name for name in model.columns if name not in (plane.x.name, plane.y.name)]
    points_alone = isinstance(model, PointsAlone)
    of_rows = None if scene.truth is None else model.predict_rows(scene.table, scene.classes)
    if points_alone:
        of_rows = scene.truth
    cuts: list[list[float]] = [[], []]
    if isinstance(model, TreeRegions):
        for i, axis in enumerate(plane.axes):
            drawn_borders = _borders(axis, [area.y if i else area.x for area in areas])
            cuts[i] = [cut for cut in model.thresholds(axis) if cut in drawn_borders]
    n_shown = _draw_points(ax, of_rows, elsewhere, cuts, scene)
    style_axes(ax)
    for axis, mpl_axis, axis_cuts in zip(plane.axes, (ax.xaxis, ax.yaxis), cuts, strict=True):
        if points_alone and _draw_values(mpl_axis, axis, scene.table):
            mpl_axis.set_label_text(label_text(axis.name))
            continue
        for tick in _draw_ticks(ax, mpl_axis, axis, axis_cuts):
            mpl_axis.get_ticklabels()[tick].set_color(palette.MUTED)
        mpl_axis.set_label_text(label_text(axis.name))
    if not points_alone:
        set_title(ax, *_title_lines(model, of_rows, fixed, n_shown, elsewhere, scene))
    elif model.title:
        set_title(ax, label_text(model.title, 80))


def _title_lines(
    model: RegionModel,
    of_rows: Predictions | None,
    fixed: Sequence[str],
    n_shown: int,
    elsewhere: Mask,
    scene: RegionScene,
) -> list[str]:
    """Describe the model, its error on the rows, the fixed columns, and what is not shown."""
    kind = "tree of " if isinstance(model, TreeRegions) else ""
    lines = [f"{label_text(model.title, 80)} · {model.description}" if model.title else f"{kind}{model.description}"]
    if of_rows is not None and scene.truth is not None:
        lines.append(_describe_error(of_rows, scene.truth, scene))
    if fixed:
        values = [_describe_fixed(name, scene) for name in fixed[:6]]
        more = [f"… {len(fixed) - 6} more"] if len(fixed) > 6 else []
        lines.append(f"fixed: {', '.join([*values, *more])}")
    on_plane = _is_on_plane(scene)
    if n_hollow := int(np.count_nonzero(elsewhere & on_plane)):
        lines.append(f"hollow: {plural(n_hollow, 'row')} that other columns lead to another leaf")
    n, n_off = len(scene.table), int(np.count_nonzero(~on_plane))
    if n_shown < n - n_off:
        lines.append(f"{n_shown:,} of {n:,} rows shown")
    elif n_off:
        lines.append(f"{plural(n_off, 'row')} not shown: missing or off the axes")
    return lines


def _describe_fixed(name: str, scene: RegionScene) -> str:
    value = scene.plane.fixed[name]
    if value is None:
        return f"{label_text(name)}{_NBSP}missing"
    text = format_rounded(value) if isinstance(value, float) else value
    return f"{label_text(name)}{_NBSP}={_NBSP}{label_text(text)}"


def _describe_error(of_rows: Predictions, truth: Predictions, scene: RegionScene) -> str:
    table = f"of {label_text(scene.table.name)}"
    if scene.classes:
        known = truth.class_index >= 0
        wrong = int(np.count_nonzero(of_rows.class_index[known] != truth.class_index[known]))
        return f"{wrong:,} of {plural(int(known.sum()), 'row')} {table} wrong"
    residuals = of_rows.value - truth.value
    residuals = residuals[~np.isnan(residuals)]
    if not len(residuals):
        return "no predictions"
    return f"RMSE {format_rounded(float(np.sqrt(np.mean(residuals**2))))}, {plural(len(residuals), 'row')} {table}"


# -- areas ------------------------------------------------------------------------------------------------------------


def _draw_areas(ax: Axes, areas: Sequence[PlaneArea], predictions: Predictions, scene: RegionScene) -> None:
    """Draw the areas of a tree as rectangles, exactly."""
    from matplotlib.collections import PolyCollection

    corners, colours, largest, n_boxes = [], [], [], []
    for i, area in enumerate(areas):
        boxes = [
            (x0, x1, y0, y1) for x0, x1 in scene.plane.x.intervals(area.x) for y0, y1 in scene.plane.y.intervals(area.y)
        ]
        corners += [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, x1, y0, y1 in boxes]
        colours += [scene.colour(predictions, i)] * len(boxes)
        n_boxes.append(len(boxes))
        largest.append((max(boxes, key=lambda b: (b[1] - b[0]) * (b[3] - b[2]), default=None), area.node))
    edge = 1.0 if len(corners) <= 200 else 0.3 if len(corners) <= 2000 else 0.0
    ax.add_collection(
        PolyCollection(corners, facecolors=colours, edgecolors="white", linewidths=edge, zorder=0.5), autolim=False
    )
    if scene.classes:
        _hatch_areas(ax, corners, np.repeat(scene.hatchings(predictions), n_boxes))
    has_numbers = scene.show_node_numbers if scene.show_node_numbers is not None else len(areas) <= _MAX_NUMBERED_AREAS
    for box, node in largest if has_numbers else []:
        if box is not None:
            _write_number(ax, box, node)


def _hatch_areas(ax: Axes, corners: Sequence[Any], classes: npt.NDArray[Any]) -> None:
    """Draw the hatching of each class over its areas."""
    from matplotlib.collections import PolyCollection

    for class_index in np.unique(classes[classes >= 0]).tolist():
        boxes = [corners[i] for i in np.flatnonzero(classes == class_index).tolist()]
        style = hatch_style(class_index) | {"facecolors": "none", "linewidths": 0.0}
        ax.add_collection(PolyCollection(boxes, zorder=0.6, **style), autolim=False)


def hatch_style(class_index: int) -> dict[str, Any]:
    """Return the options of matplotlib that hatch an area in the lines of its class."""
    fill = class_fill(class_index)
    return {"hatch": fill.hatching * 2, "edgecolor": palette.tint(fill.colour, 0.7)}


def _write_number(ax: Axes, box: tuple[float, float, float, float], node: int) -> None:
    """Write the number of a node into the upper left corner of its area, if there is room."""
    x0, x1, y0, y1 = box
    (left, bottom), (right, top) = ax.transData.transform([(x0, y0), (x1, y1)])
    points = _points_per_pixel(ax)
    text = str(node)
    if (right - left) * points > 0.62 * SMALL * len(text) + 6 and (top - bottom) * points > SMALL + 6:
        ax.annotate(
            text, (x0, y1), (3, -3), textcoords="offset points", ha="left", va="top", fontsize=SMALL - 1,
            color=palette.INK, alpha=0.75, zorder=4, fontstyle="italic",
        )  # fmt: skip


def _draw_grid(ax: Axes, model: PredictorRegions, scene: RegionScene) -> None:
    """Draw the predictions of a model on a grid."""
    plane = scene.plane
    shape, predictions = model.predict_grid(plane, scene.classes)
    key = np.stack([predictions.class_index, predictions.probability]) if scene.classes else predictions.value[None]
    _, first, inverse = np.unique(key, axis=1, return_index=True, return_inverse=True)
    colours = np.array([palette.rgb(scene.colour(predictions, i)) for i in first.tolist()]) / 255
    cells = colours[inverse.ravel()].reshape(*shape, 3)
    extent = (plane.x.low, plane.x.high, plane.y.low, plane.y.high)
    ax.imshow(cells, extent=extent, origin="lower", aspect="auto", interpolation="nearest", zorder=0.5)
    if scene.classes:
        hatched = scene.hatchings(predictions).reshape(shape)
        for class_index in np.unique(hatched[hatched >= 0]).tolist():
            style = hatch_style(class_index)
            hatches, edge = [style["hatch"]], style["edgecolor"]
            inside = np.pad((hatched == class_index).astype(float), 1, mode="edge")
            lines = ax.contourf(inside, [0.5, 1.5], colors="none", hatches=hatches, extent=extent, zorder=0.6)
            lines.set(edgecolor=edge, linewidth=0.0)


# -- points -----------------------------------------------------------------------------------------------------------


def _leads_elsewhere(model: TreeRegions, scene: RegionScene) -> Mask:
    """Return which rows the plane shows in another leaf than their own, because of the fixed columns."""
    leaves = model.find_leaves(scene.table)
    fixed = {
        name: [value] * len(scene.table) for name, value in scene.plane.fixed.items() if name in model.tree.columns
    }
    from treewise.data.table import read

    columns = dict(read(fixed, name="the plane").columns) if fixed else {}
    for axis in scene.plane.axes:
        if axis.name in scene.table.columns:
            columns[axis.name] = scene.table[axis.name]
    on_plane = model.find_leaves(Table("the plane", columns, len(scene.table)))
    return np.asarray(leaves != on_plane)


def _is_on_plane(scene: RegionScene) -> Mask:
    x, y = (axis.positions(scene.table) for axis in scene.plane.axes)
    return ~np.isnan(x) & ~np.isnan(y)


def _draw_points(
    ax: Axes, of_rows: Predictions | None, elsewhere: Mask, cuts: Sequence[Sequence[float]], scene: RegionScene
) -> int:
    """Draw the rows: each class with its marker, errors with a dark rim; return how many are shown."""
    x, y = (_jitter(axis, axis.positions(scene.table), i, cuts[i]) for i, axis in enumerate(scene.plane.axes))
    rows = np.flatnonzero(_is_on_plane(scene))
    if len(rows) > _MAX_POINTS:
        rows = rows[np.linspace(0, len(rows) - 1, _MAX_POINTS).round().astype(int)]
    size = float(np.clip(6000 / max(1, len(rows)), 9, scene.largest_point))
    truth = scene.truth
    _write_names(ax, x, y, rows, scene)
    if truth is None:
        ax.scatter(x[rows], y[rows], s=size, color=palette.MUTED, linewidths=0, zorder=3)
    elif not scene.classes:
        fills = [palette.scale_colour(scene.relative_position(value)) for value in truth.value[rows].tolist()]
        ax.scatter(x[rows], y[rows], s=size, c=fills, edgecolors=palette.INK, linewidths=0.4, zorder=3)
    else:
        assert of_rows is not None
        wrong = (truth.class_index >= 0) & (of_rows.class_index != truth.class_index)
        for class_index in np.unique(truth.class_index[rows]).tolist():
            for is_elsewhere, is_wrong in product((True, False), (False, True)):
                some = rows[
                    (truth.class_index[rows] == class_index)
                    & (elsewhere[rows] == is_elsewhere)
                    & (wrong[rows] == is_wrong)
                ]
                marker = scene.markers[class_index] if class_index >= 0 else "."
                _draw_class(ax, x[some], y[some], class_index, marker, size, wrong=is_wrong, hollow=is_elsewhere)
    return len(rows)


def _draw_class(
    ax: Axes, x: Floats, y: Floats, class_index: int, marker: palette.Marker, size: float, wrong: bool, hollow: bool
) -> None:
    """Draw rows of one class, errors on top."""
    if len(x):
        colour = palette.class_colour(class_index)
        ax.scatter(
            x, y, s=_marker_area(marker, size), marker=marker, facecolors="none" if hollow else colour,
            edgecolors=palette.INK if wrong else colour if hollow else "white",
            linewidths=1.1 if wrong else 0.9 if hollow else 0.5, zorder=3.5 if wrong else 2.5 if hollow else 3,
        )  # fmt: skip


def _marker_area(marker: palette.Marker, size: float) -> float:
    """Return the area by which a marker looks as large as a dot: a star is mostly empty."""
    return 2.4 * size if marker == "*" else size


def _write_names(ax: Axes, x: Floats, y: Floats, rows: Ints, scene: RegionScene) -> None:
    """Write the names of the rows beside their points."""
    for row in rows.tolist() if scene.row_names is not None else []:
        assert scene.row_names is not None
        ax.annotate(
            label_text(scene.row_names[row], 16), (x[row], y[row]), (5, 4), textcoords="offset points",
            fontsize=SMALL + 1.5, color=palette.INK, zorder=5,
        )  # fmt: skip


def _jitter(axis: PlaneAxis, positions: Floats, index: int, cuts: Sequence[float]) -> Floats:
    """Jitter rows of a level, or of one of few numbers, deterministically; no number crosses a threshold."""
    jitter = 0.35 if axis.encoding.is_categorical else jitter_width(positions)
    if not axis.encoding.is_categorical and any(np.nanmin(np.abs(positions - cut)) <= jitter for cut in cuts):
        return positions
    steps = (np.arange(len(positions)) * _JITTER_STEPS[index] + 0.5) % 1.0
    return positions + 2 * jitter * (steps - 0.5)


# -- axes -------------------------------------------------------------------------------------------------------------


def _borders(axis: PlaneAxis, spans: Sequence[Span]) -> set[float]:
    ends = [end for span in spans if isinstance(span, Interval) for end in (span.low, span.high)]
    return {axis.position(end) for end in ends if end is not None}


def _draw_ticks(ax: Axes, mpl_axis: Any, axis: PlaneAxis, cuts: Sequence[float]) -> list[int]:
    """Mark levels, or thresholds with as many values as fit, then the range of the data.

    Returns the indices of ticks that are not thresholds.
    """
    is_vertical = mpl_axis is ax.yaxis
    height, width = (side * _points_per_pixel(ax) for side in (ax.bbox.height, ax.bbox.width))
    if axis.encoding.is_categorical:
        labels = [label_text(level, 18) for level in axis.encoding.levels]
        mpl_axis.set_ticks(range(len(labels)), labels)
        if not is_vertical and sum(map(len, labels)) * 0.6 * SMALL > width:
            for label in mpl_axis.get_ticklabels():
                label.set(rotation=35, ha="right", rotation_mode="anchor")
        return []
    if not cuts:
        if axis.encoding.kind != "number":
            mpl_axis.set_major_formatter(lambda value, _: axis.format(value))
        return []
    inside = [cut for cut in cuts if axis.low < cut < axis.high]
    marked = _choose_labels([*inside, *axis.data_range], axis, height if is_vertical else width, is_vertical)
    mpl_axis.set_ticks(marked, [axis.format(cut) for cut in marked])
    if len(inside) <= _MAX_TICKS:
        mpl_axis.set_ticks([cut for cut in inside if cut not in marked], minor=True)
    return [tick for tick, cut in enumerate(marked) if cut not in inside]


def _draw_values(mpl_axis: Any, axis: PlaneAxis, table: Table) -> bool:
    """Mark the values of a numeric column if there are few; return whether that was done."""
    positions = axis.positions(table)
    values = np.unique(positions[~np.isnan(positions)])
    if axis.encoding.is_categorical or len(values) > _MAX_VALUES:
        return False
    mpl_axis.set_ticks(values, [axis.format(value) for value in values.tolist()])
    return True


def _choose_labels(cuts: Sequence[float], axis: PlaneAxis, points: float, is_vertical: bool) -> list[float]:
    """Choose the values that can be written without overlap, greedily from the first."""
    scale = points / (axis.high - axis.low)
    chosen: list[tuple[float, float]] = []
    for cut in cuts:
        half = 0.75 * SMALL if is_vertical else 0.33 * SMALL * len(axis.format(cut)) + 4
        if all(abs(cut - other) * scale >= half + other_half for other, other_half in chosen):
            chosen.append((cut, half))
    return sorted(cut for cut, _ in chosen)


def _points_per_pixel(ax: Axes) -> float:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return 72 / figure.dpi
