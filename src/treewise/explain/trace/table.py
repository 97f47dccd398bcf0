"""A large node as a table: one line a column, with its best test and how many were tried.

Stands beside ``text.py``, which prints small nodes in full and calls this for the others. Below the table the
winner's gain is drawn against its threshold, so that one sees whether the cut is sharp:

    gain at each threshold of flipper_length_mm
      173 ▏    ▁▁▁▂▂▃▃▄▄▅▅▆▇▇▇████▇▇▆▅▅▄▃▃▂▂▁▁▏ 230.5
      205.5 0.7893 · 206.5 0.7975 · 207.5 0.7859
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from treewise._lib.text import clip, display_width, pad, plural, safe
from treewise.explain.trace.candidate import CandidateTrace
from treewise.explain.trace.formula import BLANK
from treewise.explain.trace.nodes import ColumnTrace, NodeTrace
from treewise.explain.trace.words import (
    FEW,
    branches_text,
    left_out,
    ranked,
    say_column_score,
    say_score,
    shown_columns,
)
from treewise.tree.splits import Threshold

BLOCKS = " ▁▂▃▄▅▆▇█"
LONGEST_NAME, LONGEST_TEST = 32, 34
LONGEST_BRANCHES = 60
LEFT = (0, 1, 3)  # cells that start at their left end
BRANCHES, AFTER, GAIN = 3, 4, 5


def table(node: NodeTrace, width: int, blanks: bool) -> list[str]:
    """Return the lines of the table, the best column first, and what stands below it.

    With blanks the columns stay in the table's order: their ranks are part of the answer.
    """
    shown = shown_columns(node) if blanks else ranked(node)[: node.view.top]
    live = [c for c in shown if c.best is not None]
    lines = lay_out(node, live, width, blanks) if live else []
    name_width = max([0, *(display_width(safe(c.name)) for c in shown)])
    lines += [f"  {pad(safe(c.name), name_width)}  {c.note}" for c in shown if c.best is None]
    lines += [f"  {said}" for said in left_out(node)]
    missing = any(t.candidate.missing_rows for c in live for t in c.tests[:1])
    both = " (missing rows tried in every branch, and apart)" if missing else ""
    lines += wrap(f"{plural(node.tried, 'candidate')} scored{both}".split(" "), "  ", "    ", width, " ")
    if node.winner is not None and not blanks:
        lines += profile(node, node[node.winner], width)
    return lines


def lay_out(node: NodeTrace, columns: Sequence[ColumnTrace], width: int, blanks: bool) -> list[str]:
    """Put the cells under each other; without room, the impurity after goes, or branches to a line below."""
    rows = [headings(node), *(cells(node, c, blanks) for c in columns)]
    widths = [max(display_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    left_out = ((), (AFTER,), (BRANCHES,), (AFTER, BRANCHES))
    choices = [[i for i in range(len(widths)) if i not in out] for out in left_out]
    shown = next((c for c in choices if needed([widths[i] for i in c]) <= width), choices[-1])
    below = BRANCHES not in shown
    over = max(0, needed([widths[i] for i in shown]) - width)
    widths[1] = max(min(12, widths[1]), widths[1] - over)  # what is still too wide comes off the test
    lines = []
    for row, column in zip(rows, [None, *columns], strict=True):
        parts = [align(clip(row[i], widths[i]), widths[i], right=i not in LEFT) for i in shown]
        won = column is not None and column.name == node.winner and not blanks
        lines.append(f"  {'  '.join(parts)}{'  ◄' if won else ''}".rstrip())
        margin = " " * (widths[0] + 4)
        if below and column is not None:
            lines.append(margin + clip(row[BRANCHES], width - len(margin)))
        if column is not None and column.note and not (blanks and node.average is not None):
            lines += wrap(column.note.split(" "), margin, margin, width, " ")
    return lines


def needed(widths: Sequence[int]) -> int:
    """Return how wide a line of cells of these widths is, with a mark behind them."""
    return 2 + sum(widths) + 2 * len(widths) + 1


def align(cell: str, width: int, right: bool) -> str:
    """Fill a cell up on one side."""
    return " " * (width - display_width(cell)) + cell if right else pad(cell, width)


def headings(node: NodeTrace) -> list[str]:
    """Return what stands above the cells."""
    training_set, score = node.lens.training_set, []
    if training_set.criterion.rule != "gain":
        score = ["net", "ratio"] if training_set.criterion.rule == "c45" else [training_set.criterion.rule]
    elif training_set.by_branches:
        score = ["a branch"]
    return ["column", "best test", "tried", "branches", f"{node.lens.letter} after", "gain", *score]


def cells(node: NodeTrace, column: ColumnTrace, blanks: bool) -> list[str]:
    """Return one column's cells."""
    lens, best, name = node.lens, column.best, safe(column.name)
    assert best is not None
    results = [lens.say(node.impurity - column.gain), lens.say(column.gain)]
    if node.average is not None:
        results.append(lens.say(column.net))
    if len(headings(node)) > GAIN + 1:
        results.append("–" if column.score is None else say_column_score(node, column.score))
    if blanks:
        results = [BLANK] * len(results)
    test = clip(best.label.removeprefix(f"{name} "), LONGEST_TEST)
    branches = clip(branches_text(best), LONGEST_BRANCHES)
    return [clip(name, LONGEST_NAME), test, f"{column.tried:,}", branches, *results]


# -- gain against threshold --------------------------------------------------------------------------------


def profile(node: NodeTrace, column: ColumnTrace, width: int) -> list[str]:
    """Draw the winner's gain against its threshold, and name the neighbours of the best one."""
    best = column.best
    cuts = by_cut(column)
    if best is None or not isinstance(best.candidate.split, Threshold) or len(cuts) <= FEW:
        return []
    say, name = column.encoding.format, safe(column.name)
    low, high = say(cuts[0][0]), say(cuts[-1][0])
    room = min(48, width - len(low) - len(high) - 8)
    place = next((i for i, (cut, _) in enumerate(cuts) if cut == best.candidate.split.cut), None)
    if room < 10 or place is None:
        return []
    near = cuts[max(0, place - 1) : place + 2]
    said = [f"{say(cut)} {say_score(node, score)}" for cut, score in near]
    criterion = node.lens.training_set.criterion
    what = "gain" if criterion.by_gain else {"ratio": "gain ratio"}.get(criterion.rule, criterion.rule)
    caption = clip(f"  {what} at each threshold of {name}", width)
    line = f"    {low} ▏{sparkline([(float(c), s) for c, s in cuts], room)}▏ {high}"
    beside = "    " + " · ".join(said)
    if display_width(line) + display_width(beside) <= width:
        return [caption, line + beside]
    return [caption, line, *wrap(beside.split(), "    ", "    ", width, " ")]


def by_cut(column: ColumnTrace) -> list[tuple[float | int, float]]:
    """Return the thresholds in order, each with the best score over the placements of missing rows."""
    best: dict[float | int, CandidateTrace] = {}
    for test in column.tests:
        split = test.candidate.split
        if isinstance(split, Threshold):
            known = best.get(split.cut)
            if known is None or test.candidate.score > known.candidate.score:
                best[split.cut] = test
    return [(cut, test.score) for cut, test in sorted(best.items(), key=lambda item: item[0])]


def sparkline(points: Sequence[tuple[float, float]], room: int) -> str:
    """Draw y against x in so many block characters: each is the highest of its points, or its nearest point.

    >>> sparkline([(0, 0.0), (1, 0.5), (2, 1.0), (3, 0.5)], 4)
    ' ▄█▄'
    """
    first, last = points[0][0], points[-1][0]
    top = max(y for _, y in points)
    step = (last - first) / room
    if not (math.isfinite(step) and step > 0 and top > 0):
        return BLOCKS[0] * room
    highest: list[float | None] = [None] * room
    for x, y in points:
        cell = min(room - 1, int((x - first) / step))
        highest[cell] = y if highest[cell] is None else max(y, highest[cell] or 0.0)
    filled = [i for i, y in enumerate(highest) if y is not None]
    drawn = []
    for i in range(room):
        while len(filled) > 1 and abs(filled[1] - i) < abs(filled[0] - i):
            filled.pop(0)
        y = highest[filled[0]] or 0.0
        drawn.append(BLOCKS[min(8, max(0, round(8 * y / top)))])
    return "".join(drawn)


def wrap(pieces: Sequence[str], first: str, later: str, width: int, between: str = "") -> list[str]:
    """Join pieces, breaking lines between them where the width is used up."""
    lines = [first + pieces[0]]
    for piece in pieces[1:]:
        if display_width(lines[-1]) + display_width(between + piece) <= width or not lines[-1].strip():
            lines[-1] += between + piece
        else:
            lines[-1] = lines[-1].rstrip()
            lines.append(later + piece.lstrip())
    return lines
