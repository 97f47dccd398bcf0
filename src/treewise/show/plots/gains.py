"""What every test of a column would gain at a node: a curve over thresholds, bars over tests on categories.

Draws a ``NodeTrace``: the numbers are those of ``train/reference.py``, each candidate scored exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treewise._lib.text import plural, safe
from treewise.errors import DataError
from treewise.explain.trace.candidate import same_parts
from treewise.show import palette
from treewise.show.mpl_helpers import SMALL, axes_for, legend, plain, said, title
from treewise.tree.splits import Threshold

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from treewise.explain.trace import NodeTrace
    from treewise.explain.trace.candidate import CandidateTrace
    from treewise.explain.trace.nodes import ColumnTrace

MOST_BARS = 15
MANY = 60  # thresholds that are still marked one by one


def draw_gains(node: NodeTrace, column: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw what each test of a column gains at a node; by default of the column that wins."""
    name = column if column is not None else node.winner
    if name is None:
        why = {"pure": "all its rows are of one class", "no_rows": "no row comes there"}.get(
            node.settled, "no column can split it"
        )
        raise DataError(f"node {node.id} has no test to draw: {why}.")
    found = node[name]
    if not found.tests:
        raise DataError(
            f'column "{safe(name)}" has no test to draw at node {node.id}: {found.note or "it is constant"}.'
        )
    cuts = [t for t in found.tests if isinstance(t.candidate.split, Threshold) and not presence(t)]
    ax = axes_for(ax, 6.0, 4.0)
    draw = draw_thresholds if cuts else draw_bars
    draw(node, found, cuts or list(found.tests), ax)
    plain(ax)
    unit = node.lens.unit if node.lens.training_set.criterion.unit == "bits" else node.lens.training_set.criterion.name
    per = "in total" if node.lens.per == "total" else "per row"
    (ax.set_ylabel if cuts else ax.set_xlabel)(f"gain, {unit} {per}")
    rows = f"node {node.id} · {said(node.words, 70)} · {plural(node.rows, 'row')}"
    best = said(found.words, 70) if found.best else "no test meets the limits"
    title(ax, rows, f"best: {best}", f"gain {node.lens.say(found.gain)}")
    return ax


def presence(test: CandidateTrace) -> bool:
    """Tell a test that only asks whether a value is there."""
    return test.candidate.split.asks_presence(test.encoding)


def draw_thresholds(node: NodeTrace, found: ColumnTrace, tests: list[CandidateTrace], ax: Axes) -> None:
    """Draw a curve; where rows are missing, one for each branch they may take."""
    apart: dict[int, list[CandidateTrace]] = {}
    for test in sorted(tests, key=lambda t: t.candidate.split.cut):  # type: ignore[attr-defined]
        apart.setdefault(test.candidate.split.missing if test.candidate.missing_rows else -1, []).append(test)
    entries: list[tuple[Artist, str]] = []
    where = {0: "missing values with <=", 1: "missing values with >", 2: "missing values apart", -1: "every threshold"}
    for place, (missing, listed) in enumerate(sorted(apart.items())):
        cuts = [float(t.candidate.split.cut) for t in listed]  # type: ignore[attr-defined]
        marks: dict[str, Any] = {"marker": "o", "markersize": 3.5} if len(cuts) <= MANY else {}
        style = ("-", "--", ":")[place % 3]
        (line,) = ax.plot(cuts, [t.gain for t in listed], style, color=palette.hue(place), linewidth=1.5, **marks)
        entries.append((line, where[missing]))
    limited = [t for t in tests if not t.eligible]
    if limited:
        cuts = [float(t.candidate.split.cut) for t in limited]  # type: ignore[attr-defined]
        (line,) = ax.plot(cuts, [t.gain for t in limited], "x", color=palette.QUIET, markersize=5)
        entries.append((line, "a branch would be too small"))
    for own, words, style in ((found.best, "best", "-"), (node.chosen, "the tree's own", ":")):
        if own is None or own.candidate.split.column != found.name or not isinstance(own.candidate.split, Threshold):
            continue
        if own is node.chosen and found.best is not None and same_parts(own, found.best):
            continue
        line = ax.axvline(float(own.candidate.split.cut), color=palette.INK, linewidth=1, linestyle=style, zorder=1)
        entries.append((line, f"{words}: {said(own.label, 60)}"))
    ax.set_ylim(bottom=min(0.0, *(t.gain for t in tests)))
    ax.set_xlabel(said(found.name))
    if found.encoding.kind == "datetime":
        ax.xaxis.set_major_formatter(lambda value, _: found.encoding.format(round(value)))
    legend(ax, entries, below=True)


def draw_bars(node: NodeTrace, found: ColumnTrace, tests: list[CandidateTrace], ax: Axes) -> None:
    """Draw a bar for each test, the best ones first."""
    best = sorted(tests, key=lambda t: (-t.gain, t.candidate.key))[:MOST_BARS]
    places = range(len(best), 0, -1)
    ours = node.chosen if node.chosen and node.chosen.candidate.split.column == found.name else found.best
    first = [ours is not None and same_parts(ours, t) for t in best]
    hues = [
        palette.hue(5 if mine else 0) if t.eligible else palette.UNKNOWN for mine, t in zip(first, best, strict=True)
    ]
    ax.barh(list(places), [t.gain for t in best], color=hues, height=0.7)
    ax.set_yticks(list(places), [said(t.label, 40) for t in best], fontsize=SMALL)
    left = len(tests) - len(best)
    if left:
        ax.annotate(f"… {left:,} more", (1, 0), xycoords="axes fraction", ha="right", va="bottom", fontsize=SMALL)
