"""The overfitting curve (ID3 notes): training, validation and true error, from the simplest tree to the largest.

Draws what ``treewise.evaluate.validation_curve.curve`` found. Sizes stand at equal ratios, as in the chart on a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treewise._lib.text import plural
from treewise.show import palette
from treewise.show.mpl_helpers import SMALL, axes_for, legend, plain, said, title

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from treewise.evaluate.validation_curve.curve import ValidationCurve

TRAINING, VALIDATION, TRUE = palette.hue(0), palette.hue(5), palette.hue(2)
STYLES = {"training": (TRAINING, "--", "o"), "validation": (VALIDATION, "-", "s"), "true": (TRUE, "-.", "^")}
MANY = 40  # points that are still marked one by one


def draw_curve(curve: ValidationCurve, ax: Axes | None = None) -> Axes:
    """Draw a curve, its best value and the simplest one within a standard error."""
    ax = axes_for(ax, 6.4, 4.8)
    percent = 100.0 if curve.measure == "error" else 1.0
    by_value = curve.over in ("rows", "max_depth")
    size = [point.value if by_value else point.leaves for point in curve.points]
    entries: list[tuple[Artist, str]] = []
    for name, (colour, line, mark) in STYLES.items():
        errors = [getattr(point, name) for point in curve.points]
        if errors[0] is None:
            continue
        marks: dict[str, Any] = {"marker": mark, "markersize": 3.5} if len(errors) <= MANY else {}
        (drawn,) = ax.plot(size, [percent * e for e in errors], line, color=colour, linewidth=1.6, **marks)
        band = " ± one standard error" if name == "validation" and curve.best.standard_error is not None else ""
        entries.append((drawn, f"{name} {curve.measure}{band}"))
    if curve.best.standard_error is not None:
        low, high = ([percent * (p.validation + side * p.standard_error) for p in curve.points] for side in (-1, 1))  # type: ignore[operator]
        ax.fill_between(size, low, high, color=VALIDATION, alpha=0.15, linewidth=0)
    if curve.over != "rows":
        entries += mark_choices(curve, ax, size, percent)
    if curve.over != "max_depth":
        from matplotlib.ticker import LogLocator

        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.xaxis.set_minor_formatter(lambda *_: "")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("rows" if curve.over == "rows" else "max_depth" if curve.over == "max_depth" else "leaves")
    ax.set_ylabel(f"{curve.measure}{' %' if curve.measure == 'error' else ''}")
    plain(ax)
    what = f"{said(curve.table)}, column {said(curve.target)}, {plural(curve.n, 'row')}"
    title(ax, what, f"{curve.measure} along {curve.over}, judged by {said(curve.judged_by)}")
    legend(ax, entries, below=True)
    return ax


def mark_choices(curve: ValidationCurve, ax: Axes, size: list[float], percent: float) -> list[tuple[Artist, str]]:
    """Mark the best point and the simplest within one standard error, with how far that allows to go."""
    chosen = {"best": curve.best}
    if curve.best.standard_error is not None:
        chosen["one standard error"] = curve.one_se
    entries: list[tuple[Artist, str]] = []
    places = []
    for (name, point), face in zip(chosen.items(), (palette.INK, "white"), strict=False):
        at = size[curve.points.index(point)]
        error = point.true if point.validation is None else point.validation
        assert error is not None
        style: dict[str, Any] = {"marker": "D" if name == "best" else "o", "markersize": 8 if name == "best" else 11}
        (drawn,) = ax.plot([at], [percent * error], linestyle="", mfc=face, mec=palette.INK, zorder=4, **style)
        if name != "best":
            drawn.set_zorder(3.5)  # where both are one point, the diamond lies in the ring
        entries.append((drawn, f"{name}, {curve.in_words(point)}"))
        places.append(at)
    if curve.best.standard_error is not None:
        assert curve.best.validation is not None
        limit = percent * (curve.best.validation + curve.best.standard_error)
        ax.plot([min(size), places[0]], [limit, limit], ":", color=palette.QUIET, linewidth=1.2)
        ax.annotate(
            "best + one SE", (min(size), limit), (2, 3), textcoords="offset points", fontsize=SMALL, color=palette.INK
        )
    return entries
