"""Which columns matter, as bars: what each takes away of the impurity, or what shuffling it costs.

Draws ``Importances``; of permutation importances with their intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewise._lib.text import plural
from treewise.errors import DataError
from treewise.show import palette
from treewise.show.mpl_helpers import SMALL, axes_for, plain, said, title
from treewise.train.settings import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise.evaluate.importances import Importances


def draw_importances(found: Importances, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw a bar for each column the tree asks about, the most important first."""
    whole("most", most, 1)
    asked = [c for c in found.columns if c.splits]
    grown, no_column = "tree was grown", "the tree asks about no column"
    if found.trees:
        grown, no_column = "trees were grown", "the trees ask about no column"
    if not asked:
        raise DataError(f"{no_column}, so there are no importances to draw.")
    shown = asked[:most]
    ax = axes_for(ax, 6.0, 1.4 + 0.3 * len(shown))
    places = [len(shown) - i for i in range(len(shown))]
    shuffled = found.method == "permutation"
    percent = 100 if not shuffled or found.measure == "error" else 1
    ax.barh(places, [percent * c.importance for c in shown], color=palette.tint(palette.hue(0), 0.7), height=0.7)
    for place, c in zip(places, shown, strict=True):
        if c.low is not None and c.high is not None:
            ax.plot([percent * c.low, percent * c.high], [place, place], color=palette.INK, linewidth=1.2)
    ax.axvline(0, color=palette.QUIET, linewidth=0.8)
    ax.set_yticks(places, [said(c.column) for c in shown], fontsize=SMALL)
    ax.set_ylim(0.4, len(shown) + 0.6)
    plain(ax)
    if shuffled:
        unit = ", percentage points" if found.measure == "error" else ""
        ax.set_xlabel(f"rise of the {found.measure.replace('_', ' ')} when shuffled{unit}")
        times = f"{plural(found.repeats, 'shuffle')}, {100 * found.confidence:g} % intervals"
        lines = [f"{said(found.table)}, {plural(found.n, 'row')}; {times}"]
        lines += [f"the rows the {grown} on: columns that fit noise look useful"] if found.seen else []
    else:
        ax.set_xlabel("share of the decrease of impurity, %")
        lines = ["from the training rows alone; favours columns with many different values"]
    left = len(asked) - len(shown)
    more = [f"the first {len(shown)} of {len(asked)} columns that are asked about"] if left else []
    title(ax, f"which columns matter for {said(found.target)}: {found.method}", *lines, *more)
    return ax
