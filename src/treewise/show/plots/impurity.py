"""Entropy and 2·gini of two classes as the share of one goes from 0 to 1 (chapter 8, figure 8.4).

Draws the formulas of ``train/criteria.py`` themselves. The error is there on request: it shows why it is a poor guide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from treewise.show import palette
from treewise.show.mpl_helpers import axes_for, legend, plain
from treewise.train.criteria import entropy, gini
from treewise.train.settings import one_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

STEPS = 200
CURVES: dict[str, tuple[str, Callable[[float], float], str]] = {
    "entropy": ("entropy H(p), bits", lambda p: entropy([1 - p, p]), "-"),
    "gini": ("2 · gini", lambda p: 2 * gini([1 - p, p]), "--"),
    "error": ("2 · error", lambda p: 2 * min(p, 1 - p), "-."),
}


def draw_impurity(criteria: Sequence[str] = ("entropy", "gini"), ax: Axes | None = None) -> Axes:
    """Draw impurity against the share p of one of two classes: entropy and 2·gini (chapter 8, figure 8.4).

    All are scaled to 1 at p = 1/2; ``"error"`` may be asked for too. Needs matplotlib.

    >>> import treewise as tw
    >>> ax = tw.draw_impurity()
    >>> [float(max(line.get_ydata())) for line in ax.lines]
    [1.0, 1.0]
    """
    for name in criteria:
        one_of("criteria", name, CURVES)
    ax = axes_for(ax, 5.2, 3.8)
    shares = [i / STEPS for i in range(STEPS + 1)]
    entries: list[tuple[Artist, str]] = []
    for place, name in enumerate(criteria):
        words, formula, style = CURVES[name]
        (line,) = ax.plot(shares, [formula(p) for p in shares], style, color=palette.hue(place), linewidth=2)
        entries.append((line, words))
    ax.set(xlim=(0, 1), ylim=(0, 1.03), xlabel="p, the share of one class", ylabel="impurity")
    plain(ax)
    legend(ax, entries, loc="lower center")
    return ax
