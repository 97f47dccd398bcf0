"""Error curves: training, validation and true error by tree size; the error of an ensemble by number of trees.

Sizes are on a logarithmic axis, as in the chart on a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewise._lib.text import plural
from treewise.ensemble.model import METHOD_NAMES
from treewise.show import palette
from treewise.show.mpl_helpers import (
    add_legend,
    axes_for,
    label_text,
    set_title,
    style_axes,
    takes_image_options,
)
from treewise.show.plots.chart import (
    DASH_DOT,
    DASHED,
    DOTTED,
    Band,
    Chart,
    ChartAxis,
    ChartPicture,
    Curve,
    Mark,
    Note,
    floats,
    round_numbers,
    show_chart,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from treewise.evaluate.validation_curve.curve import ValidationCurve
    from treewise.evaluate.validation_curve.result import CurvePoint
    from treewise.explain.ensemble.stages import Stages

    LegendEntry = tuple[Artist, str]

_TRAINING, _VALIDATION, _TRUE = palette.class_colour(0), palette.class_colour(5), palette.class_colour(2)
_STYLES: dict[str, tuple[str, tuple[float, ...]]] = {
    "training": (_TRAINING, DASHED),
    "validation": (_VALIDATION, ()),
    "true": (_TRUE, DASH_DOT),
}
_MAX_MARKERS = 40  # points that are still marked individually
_HEADROOM = 1.15  # upper limit of the axis over the largest error


@takes_image_options
def draw_curve(curve: ValidationCurve, ax: Axes | None = None) -> ChartPicture:
    """Draw a curve, its best point and the simplest one within one standard error."""
    percent = 100.0 if curve.measure == "error" else 1.0
    by_value = curve.over in ("rows", "max_depth")
    size = floats(point.value if by_value else point.leaves for point in curve.points)
    lines: list[tuple[Mark, str]] = []
    for name, (colour, dashes) in _STYLES.items():
        errors = [getattr(point, name) for point in curve.points]
        if errors[0] is None:
            continue
        marker = "o" if len(errors) <= _MAX_MARKERS else ""
        line = Curve(size, floats(percent * error for error in errors), colour, dashes=dashes, marker=marker, size=4.5)
        band = " ± one standard error" if name == "validation" and curve.best.standard_error is not None else ""
        lines.append((line, f"{name} {curve.measure}{band}"))
    bands: list[Mark] = []
    if curve.best.standard_error is not None:
        spread = [(p.validation or 0.0, p.standard_error or 0.0) for p in curve.points]
        low, high = (floats(percent * (mean + side * error) for mean, error in spread) for side in (-1, 1))
        bands.append(Band(size, tuple(max(0.0, value) for value in low), high, _VALIDATION))
    choices, notes = _mark_choices(curve, size, percent) if curve.over != "rows" else ([], [])
    x_label = curve.over if by_value else "leaves"
    linear = [value for value in round_numbers(min(size), max(size) + 1e-9) if value.is_integer()]
    x = ChartAxis.logarithmic(x_label, min(size), max(size))
    if curve.over == "max_depth":
        low_end, high_end = min(size) - 0.3, max(size) + 0.3
        x = ChartAxis(x_label, low_end, high_end, tuple((value, f"{value:g}") for value in linear))
    top = percent * max(max(_errors(point)) for point in curve.points)
    y = ChartAxis.linear(f"{curve.measure}{' %' if curve.measure == 'error' else ''}", 0.0, 1.04 * top or 1.0)
    data = f"{curve.table}, column {curve.target}, {plural(curve.n, 'row')}"
    title = data, f"{curve.measure} along {curve.over}, evaluated on {curve.evaluated_on}"
    marks = (*bands, *(line for line, _ in lines), *notes, *(mark for mark, _ in choices))
    return show_chart(Chart(title, x, y, marks, (*lines, *choices), 460.0, 300.0, "y"), ax)


def _errors(point: CurvePoint) -> list[float]:
    """Return all errors of a point, with that of validation at the upper end of its band."""
    validation = None if point.validation is None else point.validation + (point.standard_error or 0.0)
    return [error for error in (point.training, validation, point.true) if error is not None]


def _mark_choices(
    curve: ValidationCurve, size: tuple[float, ...], percent: float
) -> tuple[list[tuple[Mark, str]], list[Mark]]:
    """Mark the best point, and the simplest one within one standard error with the limit of its error."""
    choices = {"best": curve.best}
    if curve.best.standard_error is not None:
        choices["one standard error"] = curve.one_se
    marks: list[tuple[Mark, str]] = []
    for name, point in choices.items():
        error = point.true if point.validation is None else point.validation
        assert error is not None
        point_at = (size[curve.points.index(point)],), (percent * error,)
        # Where both are one point, the diamond lies in the ring.
        style = ("D", 8.0, palette.INK) if name == "best" else ("o", 13.0, "none")
        mark = Curve(*point_at, palette.INK, 0.0, marker=style[0], size=style[1], fill=style[2])
        marks.append((mark, f"{name}, {curve.describe_point(point)}"))
    notes: list[Mark] = []
    if curve.best.standard_error is not None:
        assert curve.best.validation is not None
        limit = percent * (curve.best.validation + curve.best.standard_error)
        best_size = size[curve.points.index(curve.best)]
        notes.append(Curve((min(size), best_size), (limit, limit), palette.MUTED, 1.2, DOTTED))
        notes.append(Note(min(size), limit, "best + one SE", 3.0, -4.0))
    return marks[::-1], notes


@takes_image_options
def draw_stages(stages: Stages, ax: Axes | None = None) -> Axes:
    """Draw the error after each tree of an ensemble, with the best stage marked."""
    from matplotlib.ticker import MaxNLocator

    ax = axes_for(ax, 6.4, 4.4)
    percent = 100.0 if stages.measure == "error" else 1.0
    trees = [stage.trees for stage in stages]
    marker_size = 3.5 if len(trees) <= _MAX_MARKERS else 0.0
    entries: list[LegendEntry] = []
    training = [percent * stage.error for stage in stages]
    (line,) = ax.plot(trees, training, "--o", color=_TRAINING, linewidth=1.6, markersize=marker_size)
    entries.append((line, f"{label_text(stages.table)}, {plural(stages.rows, 'row')}"))
    test = [percent * stage.test_error for stage in stages if stage.test_error is not None]
    if test:
        (line,) = ax.plot(trees, test, "-s", color=_VALIDATION, linewidth=1.6, markersize=marker_size)
        entries.append((line, f"test: {label_text(stages.test)}, {plural(stages.test_rows, 'row')}"))
    oob = [] if stages.oob is None else [percent * stages.oob]
    top = _HEADROOM * max([*training, *test, *oob])
    bounds = [100.0 * min(1.0, stage.bound) for stage in stages if stage.bound is not None]
    if bounds:
        (line,) = ax.plot(trees, bounds, ":", color=palette.MUTED, linewidth=1.6)
        off_scale = " (off the scale)" if min(bounds) > top else ""
        entries.append((line, f"bound on the training error, ∏ z{off_scale}"))
    if oob:
        line = ax.axhline(oob[0], color=palette.MUTED, linewidth=1.2, linestyle="-.")
        entries.append((line, f"out of bag, all trees: {stages.oob_text}"))
    elif stages.oob_text:
        entries.append((ax.plot([], [], " ")[0], f"out of bag, all trees: {stages.oob_text}"))
    best = stages.best
    error = best.error if best.test_error is None else best.test_error
    (marker,) = ax.plot([best.trees], [percent * error], "D", color=palette.INK, markersize=7, zorder=4)
    entries.append((marker, f"lowest: {plural(best.trees, 'tree')}, {stages.format_error(error)}"))
    ax.set_ylim(bottom=0)
    if bounds and top > 0:  # the bound is far above the errors, which must stay readable
        ax.set_ylim(top=top)
    ax.set_xlim(left=min(1, trees[-1] - 1) - 0.02 * len(trees), right=trees[-1] + 0.02 * len(trees))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="trees", ylabel="error %" if stages.measure == "error" else "RMSE")
    style_axes(ax)
    method = METHOD_NAMES[stages.method]
    subject = f"{method[:1].upper()}{method[1:]} for {label_text(stages.target)}"
    set_title(ax, f"{subject}: error after each of {plural(len(stages), 'tree')}")
    add_legend(ax, entries, below=True)
    return ax
