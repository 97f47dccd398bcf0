"""The error of an ensemble as trees are added: on the rows it learned from, on others, and boosting's bound.

Draws what ``explain/ensemble/stages.py`` found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewise._lib.text import plural
from treewise.ensemble.model import METHOD_NAMES
from treewise.show import palette
from treewise.show.mpl_helpers import axes_for, form_of, legend, plain, said, save, title

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from treewise.explain.ensemble.stages import Stages

TRAINING, TEST, BOUND = palette.hue(0), palette.hue(5), palette.QUIET
ROOM = 1.15  # how high the picture is, of the largest error
MANY = 40  # points that are still marked one by one


def draw_stages(found: Stages, ax: Axes | None = None, path: str | PathLike[str] | None = None) -> Axes:
    """Draw the error after each tree, with the best stage marked."""
    if path is not None:
        form_of(path)
    ax = axes_for(ax, 6.4, 4.4)
    percent = 100.0 if found.measure == "error" else 1.0
    trees = [stage.trees for stage in found]
    mark = 3.5 if len(trees) <= MANY else 0.0
    entries: list[tuple[Artist, str]] = []
    training = [percent * stage.training for stage in found]
    (line,) = ax.plot(trees, training, "--o", color=TRAINING, linewidth=1.6, markersize=mark)
    entries.append((line, f"{said(found.table)}, {plural(found.rows, 'row')}"))
    tested = [percent * stage.test for stage in found if stage.test is not None]
    if tested:
        (line,) = ax.plot(trees, tested, "-s", color=TEST, linewidth=1.6, markersize=mark)
        entries.append((line, f"test: {said(found.test)}, {plural(found.test_rows, 'row')}"))
    unseen = [] if found.oob is None else [percent * found.oob]
    top = ROOM * max([*training, *tested, *unseen])
    bounds = [100.0 * min(1.0, stage.bound) for stage in found if stage.bound is not None]
    if bounds:
        (line,) = ax.plot(trees, bounds, ":", color=BOUND, linewidth=1.6)
        entries.append(
            (line, "bound on the training error, ∏ z" + (" (above the picture)" if min(bounds) > top else ""))
        )
    if unseen:
        line = ax.axhline(unseen[0], color=BOUND, linewidth=1.2, linestyle="-.")
        entries.append((line, f"out of bag, all trees: {found.said_oob}"))
    elif found.said_oob:
        entries.append((ax.plot([], [], " ")[0], f"out of bag, all trees: {found.said_oob}"))
    entries.append(mark_best(found, ax, percent))
    ax.set_ylim(bottom=0)
    if bounds and top > 0:  # a bound is far above the errors, which are what is to be read
        ax.set_ylim(top=top)
    ax.set_xlim(left=min(1, trees[-1] - 1) - 0.02 * len(trees), right=trees[-1] + 0.02 * len(trees))
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("trees")
    ax.set_ylabel("error %" if found.measure == "error" else "RMSE")
    plain(ax)
    method = METHOD_NAMES[found.method]
    after = f"the error after each of {plural(len(found), 'tree')}"
    title(ax, f"{method[:1].upper()}{method[1:]} for {said(found.target)}: {after}")
    legend(ax, entries, below=True)
    if path is not None:
        figure = ax.get_figure(root=True)
        assert figure is not None
        save(figure, path)
    return ax


def mark_best(found: Stages, ax: Axes, percent: float) -> tuple[Artist, str]:
    """Mark the stage of least error, on the other rows where there are some."""
    best = found.best
    error = best.training if best.test is None else best.test
    (mark,) = ax.plot([best.trees], [percent * error], "D", color=palette.INK, markersize=7, zorder=4)
    return mark, f"least: {plural(best.trees, 'tree')}, {found.said(error)}"
