"""The confusion matrix: true classes down, predicted ones across, each row's shares as shade and its counts in figures.

Draws a ``ClassEvaluation``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewise._lib.text import format_count, format_share, plural
from treewise.errors import DataError
from treewise.show import palette
from treewise.show.mpl_helpers import SMALL, axes_for, said, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise.evaluate import ClassificationEvaluation

MOST_CLASSES = 40  # more could not be read
WITH_FIGURES = 20


def draw_confusion(found: ClassificationEvaluation, ax: Axes | None = None) -> Axes:
    """Draw the matrix."""
    n, k = len(found.labels), len(found.classes)
    if n > MOST_CLASSES:
        raise DataError(
            f"a matrix of {n:,} classes could not be read; up to {MOST_CLASSES} are drawn."
            " print lists the largest confusions."
        )
    ax = axes_for(ax, 2.6 + 0.55 * max(k, 3), 2.0 + 0.45 * max(n, 3))
    totals = found.of_each.astype(float)
    share = found.confusion / np.where(totals > 0, totals, 1.0)[:, None]
    for i in range(n):
        for j in range(k):
            draw_cell(ax, i, j, float(share[i, j]), found.confusion[i, j].item(), n)
    ax.set(xlim=(-0.5, k - 0.5), ylim=(n - 0.5, -0.5), xlabel="predicted", ylabel="true")
    long = max(len(str(label)) for label in found.classes) > 6 or k > 8
    ax.set_xticks(
        range(k), [said(c, 24) for c in found.classes], rotation=40 if long else 0, ha="right" if long else "center"
    )
    ax.set_yticks(range(n), [said(label, 24) for label in found.labels])
    ax.tick_params(length=0, labelsize=SMALL)
    for side in ax.spines.values():
        side.set_visible(False)
    grown = "they were grown" if found.many else "it was grown"
    wrong = f"error {format_share(found.error)} % of {plural(found.n, 'row')}"
    title(
        ax,
        f"{said(found.table)}, column {said(found.target)}",
        wrong + (f", those {grown} on" if found.seen else ""),
    )
    return ax


def draw_cell(ax: Axes, i: int, j: int, share: float, times: float, n: int) -> None:
    """Fill one cell: what is right in blue, what is wrong in orange, by its share of the true class."""
    from matplotlib.patches import Rectangle

    fill = palette.tint(palette.hue(0) if i == j else palette.hue(5), 0.04 + 0.76 * share if times else 0.0)
    ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=fill, edgecolor="#DDDDDD", linewidth=0.8))
    if n <= WITH_FIGURES:
        words = format_count(times) if times else "·"
        ax.text(j, i, words, ha="center", va="center", fontsize=SMALL, color=palette.ink_on(fill))
