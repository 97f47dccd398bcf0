"""Charts of splits: the gain of every candidate of a column at a node, and impurity against the share of a class.

Gains are those of ``train/reference.py``, each candidate scored exactly; impurities are the formulas of
``train/criteria.py``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.checks import check_choice
from treewise._lib.text import plural, safe
from treewise.data.encoding import is_missing
from treewise.errors import DataError
from treewise.explain.trace.nodes import same_partition
from treewise.show import palette
from treewise.show.mpl_helpers import (
    SMALL,
    add_legend,
    axes_for,
    label_text,
    set_title,
    style_axes,
    takes_image_options,
)
from treewise.train.criteria import entropy, gini
from treewise.tree.splits import Threshold

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from treewise.explain.trace import NodeTrace
    from treewise.explain.trace.nodes import CandidateTrace, ColumnTrace

    LegendEntry = tuple[Artist, str]

_MAX_BARS = 15
_MAX_MARKERS = 60  # thresholds that are still marked individually
_IMPURITY_STEPS = 200
_IMPURITIES: dict[str, tuple[str, Callable[[float], float], str]] = {
    "entropy": ("entropy H(p), bits", lambda p: entropy([1 - p, p]), "-"),
    "gini": ("2 · gini", lambda p: 2 * gini([1 - p, p]), "--"),
    "error": ("2 · error", lambda p: 2 * min(p, 1 - p), "-."),
}


@takes_image_options
def draw_impurity(criteria: Sequence[str] = ("entropy", "gini"), ax: Axes | None = None) -> Axes:
    """Draw impurity against the share p of one of two classes: entropy and 2·gini (chapter 8, figure 8.4).

    All are scaled to 1 at p = 1/2. ``"error"`` is available too; it shows why the error is a poor criterion. Needs
    matplotlib.

    >>> import treewise as tw
    >>> ax = tw.draw_impurity()
    >>> [float(max(line.get_ydata())) for line in ax.lines]
    [1.0, 1.0]
    """
    for name in criteria:
        check_choice("criteria", name, _IMPURITIES)
    ax = axes_for(ax, 5.2, 3.8)
    shares = [i / _IMPURITY_STEPS for i in range(_IMPURITY_STEPS + 1)]
    entries: list[LegendEntry] = []
    for i, name in enumerate(criteria):
        label, formula, style = _IMPURITIES[name]
        (line,) = ax.plot(shares, [formula(p) for p in shares], style, color=palette.class_colour(i), linewidth=2)
        entries.append((line, label))
    ax.set(xlim=(0, 1), ylim=(0, 1.03), xlabel="p, the share of one class", ylabel="impurity")
    style_axes(ax)
    add_legend(ax, entries, loc="lower center")
    return ax


@takes_image_options
def draw_gains(node: NodeTrace, column: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the gain of each candidate of a column at a node: steps over thresholds, bars over category splits.

    Every threshold between two neighbouring values is the same rule on these rows (chapter 8), so the gain changes at
    the values only.
    """
    name = column if column is not None else node.winner
    if name is None:
        reasons = {"pure": "all its rows are of one class", "no_rows": "no row reaches it"}
        raise DataError(f"node {node.id} has no split to draw: {reasons.get(node.settled, 'no column can split it')}.")
    column_trace = node[name]
    if not column_trace.tests:
        reason = column_trace.note or "it is constant"
        raise DataError(f'column "{safe(name)}" has no split to draw at node {node.id}: {reason}.')
    thresholds = [t for t in column_trace.tests if isinstance(t.candidate.split, Threshold)]
    ax = axes_for(ax, 6.0, 4.0)
    if thresholds:
        _draw_thresholds(node, column_trace, thresholds, ax)
    else:
        _draw_bars(node, column_trace, list(column_trace.tests), ax)
    style_axes(ax)
    criterion = node.number_format.training_set.criterion
    unit = node.number_format.unit if criterion.unit == "bits" else criterion.name
    gain = f"gain, {unit} {'in total' if node.number_format.per == 'total' else 'per row'}"
    (ax.set_ylabel if thresholds else ax.set_xlabel)(gain)
    best = label_text(column_trace.words, 70) if column_trace.best else "no split meets the limits"
    set_title(
        ax,
        f"node {node.id} · {label_text(node.words, 70)} · {plural(node.rows, 'row')}",
        f"best: {best}",
        f"gain {node.number_format.format(column_trace.gain)}",
    )
    return ax


def _draw_thresholds(node: NodeTrace, column_trace: ColumnTrace, tests: list[CandidateTrace], ax: Axes) -> None:
    """Draw the steps; where rows are missing, one line for each branch they may take."""
    values = _distinct_values(column_trace)
    by_placement: dict[int, list[CandidateTrace]] = {}
    for test in sorted(tests, key=_cut):
        by_placement.setdefault(test.candidate.split.missing if test.candidate.missing_rows else -1, []).append(test)
    entries: list[LegendEntry] = []
    names = {0: "missing values with <=", 1: "missing values with >", 2: "missing values apart", -1: "every threshold"}
    for i, (missing, candidates) in enumerate(sorted(by_placement.items())):
        colour = palette.class_colour(i)
        style: dict[str, Any] = {"color": colour, "linestyle": ("-", "--", ":")[i % 3], "linewidth": 1.5}
        (line,) = ax.plot(*_steps(candidates, values), **style)
        entries.append((line, names[missing]))
        if len(candidates) <= _MAX_MARKERS:
            ax.plot([_cut(t) for t in candidates], [t.gain for t in candidates], "o", color=colour, markersize=3.5)
    too_small = [t for t in tests if not t.eligible]
    if too_small:
        cuts, gains = [_cut(t) for t in too_small], [t.gain for t in too_small]
        (line,) = ax.plot(cuts, gains, "x", color=palette.MUTED, markersize=5)
        forbidden = any(t.forbidden for t in too_small)
        entries.append((line, "forbidden, or a branch too small" if forbidden else "a branch would be too small"))
    for marked, name, line_style in ((column_trace.best, "best", "-"), (node.chosen, "split of the tree", ":")):
        if (
            marked is None
            or marked.candidate.split.column != column_trace.name
            or not isinstance(marked.candidate.split, Threshold)
        ):
            continue
        if marked is node.chosen and column_trace.best is not None and same_partition(marked, column_trace.best):
            continue
        line = ax.axvline(_cut(marked), color=palette.INK, linewidth=1, linestyle=line_style, zorder=1)
        entries.append((line, f"{name}: {label_text(marked.label, 60)}"))
    low, high = min(0.0, *(t.gain for t in tests)), max(t.gain for t in tests)
    ax.set_ylim(low, high + 0.06 * ((high - low) or 1.0))
    ax.set_xlabel(label_text(column_trace.name))
    if column_trace.encoding.kind == "datetime":
        ax.xaxis.set_major_formatter(lambda value, _: column_trace.encoding.format(round(value)))
    add_legend(ax, entries, below=True)


def _distinct_values(column_trace: ColumnTrace) -> list[float]:
    """Return the values of a column at a node, without missing ones, in order."""
    number_format = column_trace.number_format
    column = next(i for i, e in enumerate(number_format.training_set.encodings) if e.name == column_trace.name)
    values = number_format.training_set.columns[column][number_format.rows]
    present = values[~is_missing(column_trace.encoding, values)]
    distinct: list[float] = np.unique(present).astype(np.float64).tolist()
    return distinct


def _steps(tests: Sequence[CandidateTrace], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the corners of the steps: a gain holds from the value below its threshold to the value above it."""
    x: list[float] = []
    y: list[float] = []
    for test in tests:
        above = bisect_right(values, _cut(test))
        if 0 < above < len(values):  # else a test that separates missing values alone
            x += values[above - 1 : above + 1]
            y += [test.gain, test.gain]
    return x, y


def _cut(test: CandidateTrace) -> float:
    split = test.candidate.split
    assert isinstance(split, Threshold)
    return float(split.cut)


def _draw_bars(node: NodeTrace, column_trace: ColumnTrace, tests: list[CandidateTrace], ax: Axes) -> None:
    """Draw a bar for each test, the best ones first."""
    best = sorted(tests, key=lambda t: (-t.gain, t.candidate.order))[:_MAX_BARS]
    heights = list(range(len(best), 0, -1))
    chosen = (
        node.chosen if node.chosen and node.chosen.candidate.split.column == column_trace.name else column_trace.best
    )
    colours = [
        palette.class_colour(5 if chosen is not None and same_partition(chosen, test) else 0)
        if test.eligible
        else palette.UNKNOWN_COLOUR
        for test in best
    ]
    ax.barh(heights, [test.gain for test in best], color=colours, height=0.7)
    ax.set_yticks(heights, [label_text(test.label, 40) for test in best], fontsize=SMALL)
    n_more = len(tests) - len(best)
    if n_more:
        ax.annotate(f"… {n_more:,} more", (1, 0), xycoords="axes fraction", ha="right", va="bottom", fontsize=SMALL)
