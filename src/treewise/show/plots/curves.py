"""Error curves: training, validation and true error by tree size; the error of an ensemble by number of trees.

Sizes are on a logarithmic axis, as in the chart on a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treewise._lib.text import plural
from treewise.ensemble.model import METHOD_NAMES
from treewise.show import palette
from treewise.show.mpl_helpers import (
    SMALL,
    add_legend,
    axes_for,
    image_format,
    label_text,
    save_figure,
    set_title,
    style_axes,
)

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from treewise.evaluate.validation_curve.curve import ValidationCurve
    from treewise.explain.ensemble.stages import Stages

    LegendEntry = tuple[Artist, str]

_TRAINING, _VALIDATION, _TRUE = palette.class_colour(0), palette.class_colour(5), palette.class_colour(2)
_STYLES = {"training": (_TRAINING, "--", "o"), "validation": (_VALIDATION, "-", "s"), "true": (_TRUE, "-.", "^")}
_MAX_MARKERS = 40  # points that are still marked individually
_HEADROOM = 1.15  # upper limit of the axis over the largest error


def draw_curve(curve: ValidationCurve, ax: Axes | None = None) -> Axes:
    """Draw a curve, its best point and the simplest one within one standard error."""
    ax = axes_for(ax, 6.4, 4.8)
    percent = 100.0 if curve.measure == "error" else 1.0
    by_value = curve.over in ("rows", "max_depth")
    size = [point.value if by_value else point.leaves for point in curve.points]
    entries: list[LegendEntry] = []
    for name, (colour, line, marker) in _STYLES.items():
        errors = [getattr(point, name) for point in curve.points]
        if errors[0] is None:
            continue
        style: dict[str, Any] = {"marker": marker, "markersize": 3.5} if len(errors) <= _MAX_MARKERS else {}
        (artist,) = ax.plot(size, [percent * error for error in errors], line, color=colour, linewidth=1.6, **style)
        band = " ± one standard error" if name == "validation" and curve.best.standard_error is not None else ""
        entries.append((artist, f"{name} {curve.measure}{band}"))
    if curve.best.standard_error is not None:
        low, high = ([percent * (p.validation + side * p.standard_error) for p in curve.points] for side in (-1, 1))  # type: ignore[operator]
        ax.fill_between(size, low, high, color=_VALIDATION, alpha=0.15, linewidth=0)
    if curve.over != "rows":
        entries += _mark_choices(curve, ax, size, percent)
    if curve.over != "max_depth":
        from matplotlib.ticker import LogLocator

        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.xaxis.set_minor_formatter(lambda *_: "")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("rows" if curve.over == "rows" else "max_depth" if curve.over == "max_depth" else "leaves")
    ax.set_ylabel(f"{curve.measure}{' %' if curve.measure == 'error' else ''}")
    style_axes(ax)
    data = f"{label_text(curve.table)}, column {label_text(curve.target)}, {plural(curve.n, 'row')}"
    set_title(ax, data, f"{curve.measure} along {curve.over}, judged by {label_text(curve.judged_by)}")
    add_legend(ax, entries, below=True)
    return ax


def _mark_choices(curve: ValidationCurve, ax: Axes, size: list[float], percent: float) -> list[LegendEntry]:
    """Mark the best point, and the simplest one within one standard error with the limit of its error."""
    choices = {"best": curve.best}
    if curve.best.standard_error is not None:
        choices["one standard error"] = curve.one_se
    entries: list[LegendEntry] = []
    sizes = []
    for (name, point), face in zip(choices.items(), (palette.INK, "white"), strict=False):
        chosen_size = size[curve.points.index(point)]
        error = point.true if point.validation is None else point.validation
        assert error is not None
        is_best = name == "best"
        # Where both are one point, the diamond lies in the ring.
        style: dict[str, Any] = {"marker": "D" if is_best else "o", "markersize": 8 if is_best else 11}
        style |= {"mfc": face, "mec": palette.INK, "zorder": 4 if is_best else 3.5, "linestyle": ""}
        (artist,) = ax.plot([chosen_size], [percent * error], **style)
        entries.append((artist, f"{name}, {curve.in_words(point)}"))
        sizes.append(chosen_size)
    if curve.best.standard_error is not None:
        assert curve.best.validation is not None
        limit = percent * (curve.best.validation + curve.best.standard_error)
        ax.plot([min(size), sizes[0]], [limit, limit], ":", color=palette.MUTED, linewidth=1.2)
        ax.annotate(
            "best + one SE", (min(size), limit), (2, 3), textcoords="offset points", fontsize=SMALL, color=palette.INK
        )
    return entries


def draw_stages(stages: Stages, ax: Axes | None = None, path: str | PathLike[str] | None = None) -> Axes:
    """Draw the error after each tree of an ensemble, with the best stage marked."""
    from matplotlib.ticker import MaxNLocator

    if path is not None:
        image_format(path)
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
    if path is not None:
        figure = ax.get_figure(root=True)
        assert figure is not None
        save_figure(figure, path)
    return ax
