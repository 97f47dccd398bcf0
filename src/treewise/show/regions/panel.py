"""One panel: the areas of a model on a plane, the rows of a table as points, thresholds on the axes, and a title.

Stands on ``models.py`` and ``paper.py``; ``draw_regions`` puts panels together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_rounded, plural
from treewise.data.table import Table
from treewise.show import palette
from treewise.show.mpl_helpers import SMALL, label_text, set_title, style_axes
from treewise.show.regions.models import GridAnswers, PredictorRegions, RegionModel, TreeRegions
from treewise.show.regions.plane import Floats, Plane, PlaneArea, PlaneAxis, Span, room_beside
from treewise.tree.arrays import Label
from treewise.tree.regions.region import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

MOST_POINTS = 3000
MOST_TICKS = 60  # thresholds marked without their value; more would be a grey line
FEW_AREAS = 14  # that still have the numbers of their nodes written on them
STAYS = "\u00a0"  # a space at which no line is broken
NOTHING = "#EEEEEE"  # where no answer is
# Steps along the axes, powers of the inverse of the plastic number: points so placed fill the plane, on no line.
STEPS = (0.7548776662466927, 0.5698402909980532)


@dataclass(frozen=True, eq=False)
class RegionScene:
    """What all panels share: the plane, the rows, their true answers, and the colours these have."""

    plane: Plane
    table: Table
    target: str
    classes: tuple[Label, ...]  # none: numbers
    truth: GridAnswers | None
    ends: tuple[float, float]  # of the scale for numbers
    numbers: bool | None  # whether the numbers of nodes are written; None: where they are few

    def colour(self, answers: GridAnswers, i: int) -> str:
        """Return the colour of an area: its class, paler where it is less sure; or its number on the scale."""
        if self.classes:
            place = int(answers.place[i])
            return (
                palette.confidence_tint(palette.class_colour(place), float(answers.chance[i]), len(self.classes))
                if place >= 0
                else NOTHING
            )
        return palette.tint(palette.scale_colour(self.share(float(answers.value[i]))), 0.75)

    def share(self, value: float) -> float:
        """Return how far a number lies between the ends of the scale; NaN where there is none."""
        low, high = self.ends
        if math.isnan(value) or high <= low:
            return value if math.isnan(value) else 0.5
        return min(1.0, max(0.0, (value - low) / (high - low)))


def draw_panel(ax: Axes, model: RegionModel, scene: RegionScene) -> None:
    """Draw one model."""
    plane = scene.plane
    ax.set(xlim=(plane.x.low, plane.x.high), ylim=(plane.y.low, plane.y.high))
    held: Sequence[str] = ()
    elsewhere = np.zeros(len(scene.table), bool)
    areas: Sequence[PlaneArea] = ()
    if isinstance(model, TreeRegions):
        areas, answers, held = model.on_plane(plane, scene.classes)
        draw_areas(ax, areas, answers, scene)
        if held:
            elsewhere = ends_elsewhere(model, scene)
    else:
        assert isinstance(model, PredictorRegions)
        draw_grid(ax, model, scene)
        held = [name for name in model.columns if name not in (plane.x.name, plane.y.name)]
    of_rows = None if scene.truth is None else model.on_rows(scene.table, scene.classes)
    cuts: list[list[float]] = [[], []]
    if isinstance(model, TreeRegions):
        for i, axis in enumerate(plane.axes):
            seen = borders(axis, [area.y if i else area.x for area in areas])
            cuts[i] = [cut for cut in model.cuts(axis) if cut in seen]
    shown = draw_points(ax, of_rows, elsewhere, cuts, scene)
    style_axes(ax)
    for axis, which, some in zip(plane.axes, (ax.xaxis, ax.yaxis), cuts, strict=True):
        for place in draw_ticks(ax, which, axis, some):
            which.get_ticklabels()[place].set_color(palette.MUTED)
        which.set_label_text(label_text(axis.name))
    set_title(ax, *title_lines(model, of_rows, held, shown, elsewhere, scene))


def title_lines(
    model: RegionModel,
    of_rows: GridAnswers | None,
    held: Sequence[str],
    shown: int,
    elsewhere: Mask,
    scene: RegionScene,
) -> list[str]:
    """Say what is drawn, how it does on the rows, what is held, and what is not shown."""
    kind = "tree of " if isinstance(model, TreeRegions) else ""
    lines = [f"{label_text(model.title, 80)} · {model.about}" if model.title else f"{kind}{model.about}"]
    if of_rows is not None and scene.truth is not None:
        lines.append(how_good(of_rows, scene.truth, scene))
    if held:
        values = [held_in_words(name, scene) for name in held[:6]]
        more = [f"… {len(held) - 6} more"] if len(held) > 6 else []
        lines.append(f"held: {', '.join([*values, *more])}")
    there = on_the_plane(scene)
    if hollow := int(np.count_nonzero(elsewhere & there)):
        lines.append(f"hollow: {plural(hollow, 'row')} that other columns lead elsewhere")
    n, gone = len(scene.table), int(np.count_nonzero(~there))
    if shown < n - gone:
        lines.append(f"{shown:,} of {n:,} rows shown")
    elif gone:
        lines.append(f"{plural(gone, 'row')} without a place on the axes not shown")
    return lines


def held_in_words(name: str, scene: RegionScene) -> str:
    """Say what a column is held at."""
    value = scene.plane.held[name]
    if value is None:
        return f"{label_text(name)}{STAYS}missing"
    return (
        f"{label_text(name)}{STAYS}={STAYS}{label_text(format_rounded(value) if isinstance(value, float) else value)}"
    )


def how_good(of_rows: GridAnswers, truth: GridAnswers, scene: RegionScene) -> str:
    """Say how many rows are answered wrongly, or how far the answers are off."""
    of = f"of {label_text(scene.table.name)}"
    if scene.classes:
        known = truth.place >= 0
        wrong = int(np.count_nonzero(of_rows.place[known] != truth.place[known]))
        return f"{wrong:,} of {plural(int(known.sum()), 'row')} {of} wrong"
    off = of_rows.value - truth.value
    off = off[~np.isnan(off)]
    return (
        f"rmse {format_rounded(float(np.sqrt(np.mean(off**2))))}, {plural(len(off), 'row')} {of}"
        if len(off)
        else "no answers"
    )


# -- areas ------------------------------------------------------------------------------------------------------------


def draw_areas(ax: Axes, areas: Sequence[PlaneArea], answers: GridAnswers, scene: RegionScene) -> None:
    """Draw the areas of a tree as rectangles, exactly where they end."""
    from matplotlib.collections import PolyCollection

    corners, colours, largest = [], [], []
    for i, area in enumerate(areas):
        boxes = [
            (x0, x1, y0, y1) for x0, x1 in scene.plane.x.stretches(area.x) for y0, y1 in scene.plane.y.stretches(area.y)
        ]
        corners += [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, x1, y0, y1 in boxes]
        colours += [scene.colour(answers, i)] * len(boxes)
        largest.append((max(boxes, key=lambda b: (b[1] - b[0]) * (b[3] - b[2]), default=None), area.node))
    edge = 1.0 if len(corners) <= 200 else 0.3 if len(corners) <= 2000 else 0.0
    ax.add_collection(
        PolyCollection(corners, facecolors=colours, edgecolors="white", linewidths=edge, zorder=0.5), autolim=False
    )
    wanted = scene.numbers if scene.numbers is not None else len(areas) <= FEW_AREAS
    for box, node in largest if wanted else []:
        if box is not None:
            write_number(ax, box, node)


def write_number(ax: Axes, box: tuple[float, float, float, float], node: int) -> None:
    """Write a node's number into the upper left corner of its area, if there is room."""
    x0, x1, y0, y1 = box
    (left, bottom), (right, top) = ax.transData.transform([(x0, y0), (x1, y1)])
    figure_ = ax.get_figure(root=True)
    assert figure_ is not None
    points = 72 / figure_.dpi
    words = str(node)
    if (right - left) * points > 0.62 * SMALL * len(words) + 6 and (top - bottom) * points > SMALL + 6:
        ax.annotate(
            words, (x0, y1), (3, -3), textcoords="offset points", ha="left", va="top", fontsize=SMALL - 1,
            color=palette.INK, alpha=0.75, zorder=4, fontstyle="italic",
        )  # fmt: skip


def draw_grid(ax: Axes, model: PredictorRegions, scene: RegionScene) -> None:
    """Draw what a model says on a grid."""
    plane = scene.plane
    shape, answers = model.on_grid(plane, scene.classes)
    key = np.stack([answers.place, answers.chance]) if scene.classes else answers.value[None]
    _, first, alike = np.unique(key, axis=1, return_index=True, return_inverse=True)
    colours = np.array([to_rgb(scene.colour(answers, i)) for i in first.tolist()])
    cells = colours[alike.ravel()].reshape(*shape, 3)
    ends = (plane.x.low, plane.x.high, plane.y.low, plane.y.high)
    ax.imshow(cells, extent=ends, origin="lower", aspect="auto", interpolation="nearest", zorder=0.5)


def to_rgb(colour: str) -> list[float]:
    """Return a colour as three shares."""
    return [part / 255 for part in palette.rgb(colour)]


# -- points -----------------------------------------------------------------------------------------------------------


def ends_elsewhere(model: TreeRegions, scene: RegionScene) -> Mask:
    """Tell which rows the plane shows at another end than their own: columns that are held lead them there."""
    own = model.nodes(scene.table)
    held = {name: [value] * len(scene.table) for name, value in scene.plane.held.items() if name in model.tree.columns}
    from treewise.data.table import read

    moved = dict(read(held, name="the plane").columns) if held else {}
    for axis in scene.plane.axes:
        if axis.name in scene.table.columns:
            moved[axis.name] = scene.table[axis.name]
    on_plane = model.nodes(Table("the plane", moved, len(scene.table)))
    return np.asarray(own != on_plane)


def on_the_plane(scene: RegionScene) -> Mask:
    """Tell which rows have a value on both axes."""
    x, y = (axis.places(scene.table) for axis in scene.plane.axes)
    return ~np.isnan(x) & ~np.isnan(y)


def draw_points(
    ax: Axes, of_rows: GridAnswers | None, elsewhere: Mask, cuts: Sequence[Sequence[float]], scene: RegionScene
) -> int:
    """Draw the rows: each class with its marker, those answered wrongly with a dark rim; return how many are shown."""
    x, y = (spread_out(axis, axis.places(scene.table), i, cuts[i]) for i, axis in enumerate(scene.plane.axes))
    there = np.flatnonzero(on_the_plane(scene))
    if len(there) > MOST_POINTS:
        there = there[np.linspace(0, len(there) - 1, MOST_POINTS).round().astype(int)]
    size = float(np.clip(6000 / max(1, len(there)), 9, 34))
    truth = scene.truth
    if truth is None:
        ax.scatter(x[there], y[there], s=size, color=palette.MUTED, linewidths=0, zorder=3)
    elif not scene.classes:
        fills = [palette.scale_colour(scene.share(value)) for value in truth.value[there].tolist()]
        ax.scatter(x[there], y[there], s=size, c=fills, edgecolors=palette.INK, linewidths=0.4, zorder=3)
    else:
        assert of_rows is not None
        wrong = (truth.place >= 0) & (of_rows.place != truth.place)
        for place in np.unique(truth.place[there]).tolist():
            for off, bad in product((True, False), (False, True)):
                some = there[(truth.place[there] == place) & (elsewhere[there] == off) & (wrong[there] == bad)]
                draw_class(ax, x[some], y[some], place, size, wrong=bad, hollow=off)
    return len(there)


def draw_class(ax: Axes, x: Floats, y: Floats, place: int, size: float, wrong: bool, hollow: bool) -> None:
    """Draw rows of one class, those that are predicted wrongly above all others."""
    if len(x):
        colour = palette.class_colour(place)
        ax.scatter(
            x, y, s=size, marker=palette.class_marker(place), facecolors="none" if hollow else colour,
            edgecolors=palette.INK if wrong else colour if hollow else "white",
            linewidths=1.1 if wrong else 0.9 if hollow else 0.5, zorder=3.5 if wrong else 2.5 if hollow else 3,
        )  # fmt: skip


def spread_out(axis: PlaneAxis, places: Floats, which: int, cuts: Sequence[float]) -> Floats:
    """Let rows of one level, or of one of few numbers, lie beside each other, always in the same places.

    No number comes to lie beyond a threshold.
    """
    room = 0.35 if axis.encoding.is_categorical else room_beside(places)
    if not axis.encoding.is_categorical and any(np.nanmin(np.abs(places - cut)) <= room for cut in cuts):
        return places
    steps = (np.arange(len(places)) * STEPS[which] + 0.5) % 1.0
    return places + 2 * room * (steps - 0.5)


# -- axes -------------------------------------------------------------------------------------------------------------


def borders(axis: PlaneAxis, spans: Sequence[Span]) -> set[float]:
    """Return where areas end on an axis of numbers."""
    ends = [end for span in spans if isinstance(span, Interval) for end in (span.low, span.high)]
    return {axis.place(end) for end in ends if end is not None}


def draw_ticks(ax: Axes, which: Any, axis: PlaneAxis, cuts: Sequence[float]) -> list[int]:
    """Mark levels, or thresholds, as many with their value as have room; then how far the rows reach.

    Returns which of the ticks are no thresholds.
    """
    upright = which is ax.yaxis
    if axis.encoding.is_categorical:
        words = [label_text(level, 18) for level in axis.encoding.levels]
        which.set_ticks(range(len(words)), words)
        if not upright and sum(map(len, words)) * 0.6 * SMALL > width_of(ax):
            for label in which.get_ticklabels():
                label.set(rotation=35, ha="right", rotation_mode="anchor")
        return []
    if not cuts:
        if axis.encoding.kind != "number":
            which.set_major_formatter(lambda value, _: axis.say(value))
        return []
    inside = [cut for cut in cuts if axis.low < cut < axis.high]
    marked = room_for([*inside, *axis.reach], axis, height_of(ax) if upright else width_of(ax), upright)
    which.set_ticks(marked, [axis.say(cut) for cut in marked])
    if len(inside) <= MOST_TICKS:
        which.set_ticks([cut for cut in inside if cut not in marked], minor=True)
    return [place for place, cut in enumerate(marked) if cut not in inside]


def room_for(cuts: Sequence[float], axis: PlaneAxis, points: float, upright: bool) -> list[float]:
    """Choose the values that can be written without touching each other; the first ones are asked first."""
    scale = points / (axis.high - axis.low)
    chosen: list[tuple[float, float]] = []
    for cut in cuts:
        half = 0.75 * SMALL if upright else 0.33 * SMALL * len(axis.say(cut)) + 4
        if all(abs(cut - other) * scale >= half + room for other, room in chosen):
            chosen.append((cut, half))
    return sorted(cut for cut, _ in chosen)


def width_of(ax: Axes) -> float:
    """Return the width of some axes in points."""
    figure_ = ax.get_figure(root=True)
    assert figure_ is not None
    return float(ax.bbox.width / figure_.dpi * 72)


def height_of(ax: Axes) -> float:
    """Return the height of some axes in points."""
    figure_ = ax.get_figure(root=True)
    assert figure_ is not None
    return float(ax.bbox.height / figure_.dpi * 72)
