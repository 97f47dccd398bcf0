"""Two classes: the ROC curve, precision against recall, and whether probabilities can be taken at their word.

Draws the ``Ranking`` of an evaluation. A tree says as many probabilities as it has leaves, so every corner of a curve
is a threshold that can be chosen; the diamond is what the tree itself, or many together, predict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.text import plural
from treewise.show import palette
from treewise.show.mpl_helpers import axes_for, legend, plain, said, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise.evaluate import ClassificationEvaluation
    from treewise.evaluate.ranking import Ranking

LINE, CHANCE = palette.hue(0), palette.QUIET
MANY = 60  # corners that are still marked one by one


def ranked(found: ClassificationEvaluation) -> Ranking:
    """Return the ranking, which ``draw_evaluation`` has seen to be there."""
    assert found.ranking is not None
    return found.ranking


def own_choice(found: ClassificationEvaluation) -> tuple[float, float, float]:
    """Return, of the rows that the tree itself calls positive: shares of the others and of the positives, precision."""
    of_each = found.of_each.astype(float)
    called = found.confusion[:, 1].astype(float)
    others = of_each.sum() - of_each[1]
    wrong = called.sum() - called[1]
    return wrong / max(others, 1e-300), called[1] / max(of_each[1], 1e-300), called[1] / max(called.sum(), 1e-300)


def own_name(found: ClassificationEvaluation) -> str:
    """Return the words for the mark of ``own_choice``."""
    return "what the trees predict" if found.many else "what the tree predicts"


def heading(ax: Axes, found: ClassificationEvaluation, figure: str) -> None:
    """Say what was compared, the figure that sums it up, and what to keep in mind."""
    what = f"{said(found.table)}, column {said(found.target)}, {plural(found.n, 'row')}"
    title(ax, what, figure, *([f"the rows the {found.grown} on; expect less of new ones"] if found.seen else []))


def square(ax: Axes) -> None:
    """Let both axes run from 0 to 1, a little apart from the frame."""
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    plain(ax)


def draw_roc(found: ClassificationEvaluation, ax: Axes | None = None) -> Axes:
    """Draw the share of positive rows found against the share of other rows taken for them."""
    ax = axes_for(ax, 5.0, 5.0)
    ranking = ranked(found)
    across, up = ranking.roc
    marks: dict[str, Any] = {"marker": "o", "markersize": 4} if len(up) <= MANY else {}
    (line,) = ax.plot(across, up, color=LINE, linewidth=1.8, **marks)
    (guess,) = ax.plot([0, 1], [0, 1], ":", color=CHANCE)
    x, y, _ = own_choice(found)
    (own,) = ax.plot([x], [y], "D", color=palette.hue(5), markersize=8, zorder=3)
    positive = f"{said(found.target)} = {said(ranking.positive)}"
    ax.set(xlabel="share of the others taken for it", ylabel=f"share of {positive} found")
    square(ax)
    auc = ranking.auc
    heading(ax, found, "AUC is not defined: one class does not occur" if auc is None else f"AUC {auc:.3f}")
    legend(
        ax,
        [(line, "thresholds of the probability"), (own, own_name(found)), (guess, "a guess")],
        loc="lower right",
    )
    return ax


def draw_precision_recall(found: ClassificationEvaluation, ax: Axes | None = None) -> Axes:
    """Draw how many of the rows called positive are so, against how many of the positive ones are called so."""
    ax = axes_for(ax, 5.0, 5.0)
    ranking = ranked(found)
    precision, recall = ranking.precision_recall
    marks: dict[str, Any] = {"marker": "o", "markersize": 4} if len(recall) <= MANY else {}
    first = precision[:1]
    (line,) = ax.plot([0.0, *recall], [*first, *precision], color=LINE, linewidth=1.8, drawstyle="steps-pre", **marks)
    share = float(ranking.positives.sum() / (ranking.positives + ranking.others).sum())
    (guess,) = ax.plot([0, 1], [share, share], ":", color=CHANCE)
    _, x, y = own_choice(found)
    (own,) = ax.plot([x], [y], "D", color=palette.hue(5), markersize=8, zorder=3)
    positive = f"{said(found.target)} = {said(ranking.positive)}"
    ax.set(xlabel=f"recall: share of {positive} found", ylabel="precision: share of those found that are right")
    square(ax)
    average = ranking.average_precision
    heading(ax, found, "no positive row" if average is None else f"average precision {average:.3f}")
    entries = [
        (line, "thresholds of the probability"),
        (own, own_name(found)),
        (guess, f"a guess ({share:.3f})"),
    ]
    legend(ax, entries, below=True)
    return ax


def draw_calibration(found: ClassificationEvaluation, ax: Axes | None = None) -> Axes:
    """Draw the share of positive rows against the probability that was said, leaf by leaf or in ten groups."""
    ax = axes_for(ax, 5.0, 5.0)
    ranking = ranked(found)
    bins = ranking.bins()
    said_, share = np.array([b.said for b in bins]), np.array([b.found for b in bins])
    ends = np.array([b.interval for b in bins])
    (exact,) = ax.plot([0, 1], [0, 1], ":", color=CHANCE)
    lines = ax.vlines(said_, ends[:, 0], ends[:, 1], color=LINE, linewidth=1.2, alpha=0.6)
    weight = np.array([b.weight for b in bins])
    points = ax.scatter(said_, share, s=20 + 160 * weight / weight.max(), color=LINE, alpha=0.8, zorder=3, linewidths=0)
    positive = f"{said(found.target)} = {said(ranking.positive)}"
    ax.set(xlabel=f"probability of {positive} that was said", ylabel=f"share of {positive}")
    square(ax)
    heading(ax, found, f"Brier score {ranking.brier:.4f}")
    one = len(bins) == len(ranking.chance)
    group = "a probability that was said" if one else "neighbouring probabilities"
    entries = [(points, f"{group}; area: rows"), (lines, "95 % interval of the share"), (exact, "exactly as said")]
    legend(ax, entries, below=True)
    return ax
