"""Write a trace as text for the terminal.

Uses the sentences of ``words.py``. A node with few candidates is written as in the notes, each candidate with its
formula, arithmetic and the impurity after it (on one line if the terminal has room); a node with many as a table, one
line per column with its best test.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from treewise._lib.latex import BLANK
from treewise._lib.text import clip, display_width, pad, plural, safe
from treewise.errors import Call, Message, Param
from treewise.explain.trace.nodes import CandidateTrace, ColumnTrace, NodeTrace
from treewise.explain.trace.words import (
    MAX_TESTS_WRITTEN,
    ROUNDING_NOTE,
    Legend,
    TraceEntry,
    columns_by_score,
    describe_members,
    describe_outcome,
    describe_rows,
    describe_settled,
    format_branches,
    format_column_score,
    format_impurity,
    format_score,
    is_priced,
    list_entries,
    note_columns_left_out,
    shown_columns,
    worked_terms,
    writes_formulas,
)
from treewise.tree.splits import Threshold

_WIDE = 110  # from this width on, a candidate is one line
_LONGEST_LABEL = 26
_BREAKS = re.compile(r"(?<=,) |(?<= and) |(?<=·) ")  # where a heading may be broken
_ASCII: dict[int, str] = dict(zip(map(ord, "−·▏▁▂▃▄▅▆▇█₀₁₂₃₄₅₆₇₈₉"), "-*|._-=+*#@0123456789", strict=True))
_ASCII |= {ord("…"): "...", ord("→"): "->", ord("◄"): "<-"}


def write_blocks(
    nodes: Iterable[NodeTrace],
    width: int = 80,
    blanks: bool = False,
    notes: Sequence[str] = (),
    write: Callable[[str], str] = str,
) -> Iterator[str]:
    """Yield each node as text as soon as it is computed, then the notes and the legend."""
    last: NodeTrace | None = None
    tabled: NodeTrace | None = None
    legend = Legend()
    for node in nodes:
        if last is not None and not (last.settled and node.settled):
            yield ""
        yield "\n".join(_block(node, width, blanks))
        last = node
        legend.add(node)
        if tabled is None and not node.settled and not writes_formulas(node):
            tabled = node
    if last is None:
        yield "nothing to trace"
        return
    footer = [*(f"note  {note}" for note in notes), str(legend), *([] if blanks else [ROUNDING_NOTE])]
    if tabled is not None and tabled.winner is not None and not blanks:
        footer.append(write(_how_to_see_the_rest(safe(tabled.winner))))
    lines = (line for part in footer for line in _wrap(part.split(" "), "", "  ", width, " "))
    yield "\n".join(["", *lines]).rstrip("\n")


def _how_to_see_the_rest(column: str) -> Message:
    every = Call('.render("csv")')
    return Param("column", column) + " writes out every test of a column; " + every + " lists those of all columns."


def to_ascii(text: str) -> str:
    r"""Replace all but ASCII characters, for terminals without Unicode.

    >>> to_ascii("12 − [4·H(0/4)] · naïve")
    '12 - [4*H(0/4)] ; na\\xefve'
    """
    plain = text.replace(" · ", " ; ").translate(_ASCII)
    return plain.encode("ascii", "backslashreplace").decode()


def _block(node: NodeTrace, width: int, blanks: bool) -> list[str]:
    lines = _heading(node, width, blanks)
    if members := describe_members(node):
        lines += _wrap(members.split(" "), "  ", "    ", width, " ")
    if node.settled:
        return lines
    if writes_formulas(node):
        body = _write_formulas(node, width, blanks) + [f"  {line}" for line in note_columns_left_out(node)]
    else:
        body = _write_table(node, width, blanks)
    for symbol, worked in worked_terms(node).items():
        steps = [BLANK] if blanks else worked.text.split(" = ")[1:]
        body += _wrap([f"{symbol} = {steps[0]}", *(f" = {step}" for step in steps[1:])], "  ", "      ", width)
    return [*lines, *body, *_wrap(describe_outcome(node, blanks).split(" "), "  ", "    ", width, " ")]


# -- the first line ----------------------------------------------------------------------------------------


def _heading(node: NodeTrace, width: int, blanks: bool) -> list[str]:
    """Write the node, its path and its rows, and right-aligned, or on a line below, its impurity."""
    left = f"node {node.id} · {node.words} · {describe_rows(node)}"
    if node.settled:
        left += f" · {describe_settled(node)}"
    lines = _wrap(_BREAKS.split(left), "", "       ", width, " ")
    if node.settled:
        return lines
    right = format_impurity(node, blanks)
    gap = width - display_width(lines[-1]) - display_width(right)
    if gap > 1:
        return [*lines[:-1], lines[-1] + " " * gap + right]
    return [*lines, " " * (width - display_width(right)) + right]


# -- as the notes write it ---------------------------------------------------------------------------------


def _write_formulas(node: NodeTrace, width: int, blanks: bool) -> list[str]:
    listed = list(list_entries(node, blanks))
    longest = min(_LONGEST_LABEL, width // 4)
    label_width = max(w for w in [0, *(display_width(e.label) for e in listed)] if w <= longest)
    if width >= _WIDE:
        lines = _one_line_each(listed, label_width, blanks)
        if all(display_width(line) <= width for line in lines):
            return lines
    return _three_lines_each(listed, label_width, width, blanks)


def _one_line_each(listed: Sequence[TraceEntry], label_width: int, blanks: bool) -> list[str]:
    """Write each candidate on one line: label, counts per branch, formula, difference, result."""
    branch_width = max(display_width(e.branches) for e in listed)
    formulas = [_one_formula(e, blanks) for e in listed]
    formula_width = max(map(display_width, formulas))
    result_width = max(len(e.result) for e in listed)
    lines = []
    differences = [f" = {e.formula.difference(blanks)}" if e.formula and not e.has_no_candidate else "" for e in listed]
    difference_width = max(map(display_width, differences))
    for i, (e, formula) in enumerate(zip(listed, formulas, strict=True)):
        left = f"  {pad(e.label, label_width)}  "
        if e.formula is None:
            lines.append(left + e.note)
            continue
        tail = "  ".join(part for part in (e.mark, e.note) if part)
        middle = f"{pad(e.branches, branch_width)}   {pad(formula, formula_width)}"
        lines.append(
            f"{left}{middle}{pad(differences[i], difference_width)} = {e.result.rjust(result_width)}  {tail}".rstrip()
        )
    return lines


def _one_formula(entry: TraceEntry, blanks: bool) -> str:
    """Return the formula; the arithmetic if the formula is only of Var₁, Var₂ …"""
    if entry.formula is None:
        return ""
    return "".join(entry.formula.pieces(numbers=not entry.formula.terms[0].shares, blanks=blanks))


def _three_lines_each(listed: Sequence[TraceEntry], label_width: int, width: int, blanks: bool) -> list[str]:
    """Write each candidate on three lines: label and formula, the arithmetic, and the difference with the result."""
    margin = " " * (label_width + 4)
    result_width = max(len(e.result) for e in listed)
    written = [(e, *_formula_lines(e, margin, width, result_width, blanks)) for e in listed]
    column = max((display_width(lower[-1]) for _, _, lower in written if lower), default=0) + 2
    lines: list[str] = []
    for e, upper, lower in written:
        lines += upper + lower[:-1]
        if not lower:
            continue
        lines.append(f"{pad(lower[-1], column)}= {e.result.rjust(result_width)}  {e.mark}".rstrip())
        if e.groups:
            lines += _wrap([e.groups[0], *(f" · {g}" for g in e.groups[1:])], margin, margin, width)
        if e.note and not e.has_no_candidate:
            lines += _wrap(e.note.split(" "), margin, margin, width, " ")
    return lines


def _formula_lines(
    e: TraceEntry, margin: str, width: int, result_width: int, blanks: bool
) -> tuple[list[str], list[str]]:
    """Return the lines of label and formula, and those that end in the result."""
    fits = display_width(e.label) <= len(margin) - 4
    upper = [] if fits else [f"  {clip(e.label, width - 2)}"]
    head = f"  {pad(e.label, len(margin) - 2)}" if fits else margin
    if e.formula is None:
        return upper + _wrap(e.note.split(" "), head, margin, width, " "), []
    upper += _wrap(e.formula.pieces(blanks=blanks), head, margin, width)
    note_width = width - result_width - 12  # for two spaces, the equals sign, and the mark behind it
    if e.has_no_candidate:
        return upper, _wrap(e.note.split(" "), margin, margin, note_width, " ")
    lower = _wrap(e.formula.pieces(numbers=True, blanks=blanks), f"{margin[:-2]}= ", margin, width)
    return upper, [*lower, f"{margin[:-2]}= {e.formula.difference(blanks)}"]


_BLOCKS = " ▁▂▃▄▅▆▇█"
_LONGEST_NAME, _LONGEST_TEST = 32, 34
_LONGEST_BRANCHES = 60
_LEFT_ALIGNED = (0, 1, 3)  # cells that start at their left end
_BRANCHES, _AFTER, _GAIN = 3, 4, 5


def _write_table(node: NodeTrace, width: int, blanks: bool) -> list[str]:
    """Return the lines of the table, best column first, and of the remarks below it.

    With blanks the columns keep the order of the data: their ranks are part of the solution.
    """
    shown = shown_columns(node) if blanks else columns_by_score(node)[: node.view.top]
    splittable = [c for c in shown if c.best is not None]
    lines = _lay_out_table(node, splittable, width, blanks) if splittable else []
    name_width = max([0, *(display_width(safe(c.name)) for c in shown)])
    lines += [f"  {pad(safe(c.name), name_width)}  {c.note}" for c in shown if c.best is None]
    lines += [f"  {line}" for line in note_columns_left_out(node)]
    has_missing = any(t.candidate.missing_rows for c in splittable for t in c.tests[:1])
    remark = " (missing rows tried in every branch, and apart)" if has_missing else ""
    lines += _wrap(f"{plural(node.tried, 'candidate')} scored{remark}".split(" "), "  ", "    ", width, " ")
    if node.winner is not None and not blanks:
        lines += _gain_profile(node, node[node.winner], width)
    return lines


def _lay_out_table(node: NodeTrace, columns: Sequence[ColumnTrace], width: int, blanks: bool) -> list[str]:
    """Align the cells; if too wide, drop the impurity after the split, or write the branches on a line below."""
    rows = [_headings(node), *(_column_cells(node, c, blanks) for c in columns)]
    widths = [max(display_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    left_out = ((), (_AFTER,), (_BRANCHES,), (_AFTER, _BRANCHES))
    choices = [[i for i in range(len(widths)) if i not in out] for out in left_out]
    shown = next((c for c in choices if _line_width([widths[i] for i in c]) <= width), choices[-1])
    below = _BRANCHES not in shown
    over = max(0, _line_width([widths[i] for i in shown]) - width)
    widths[1] = max(min(12, widths[1]), widths[1] - over)  # a table that is still too wide truncates the test
    lines = []
    for row, column in zip(rows, [None, *columns], strict=True):
        parts = [_align(clip(row[i], widths[i]), widths[i], right=i not in _LEFT_ALIGNED) for i in shown]
        is_winner = column is not None and column.name == node.winner and not blanks
        lines.append(f"  {'  '.join(parts)}{'  ◄' if is_winner else ''}".rstrip())
        margin = " " * (widths[0] + 4)
        if below and column is not None:
            lines.append(margin + clip(row[_BRANCHES], width - len(margin)))
        if column is not None and column.note and not (blanks and node.average is not None):
            lines += _wrap(column.note.split(" "), margin, margin, width, " ")
    return lines


def _line_width(widths: Sequence[int]) -> int:
    """Return the width of a line with these cells and the mark of the winner."""
    return 2 + sum(widths) + 2 * len(widths) + 1


def _align(cell: str, width: int, right: bool) -> str:
    return " " * (width - display_width(cell)) + cell if right else pad(cell, width)


def _headings(node: NodeTrace) -> list[str]:
    training_set, score = node.number_format.training_set, []
    if training_set.criterion.rule != "gain":
        net = ["net"] if training_set.criterion.rule == "c45" else []
        score = [*net, training_set.criterion.score_heading]
    else:
        score = ["price", "net"] if is_priced(node) else []
        score += ["per branch"] if training_set.divides_gain_by_branches else []
    return ["column", "best test", "tried", "branches", f"{node.number_format.letter} after", "gain", *score]


def _column_cells(node: NodeTrace, column: ColumnTrace, blanks: bool) -> list[str]:
    """Return one column's cells."""
    number_format, best, name = node.number_format, column.best, safe(column.name)
    assert best is not None
    results = [number_format.format(node.impurity - column.gain), number_format.format(column.gain)]
    if node.average is not None:
        results.append(number_format.format(column.net))
    if is_priced(node):
        price = number_format.price(best.candidate)
        results.append(
            f"{best.price_bits:,} bits" if best.price_bits else number_format.format(price[1]) if price else "–"
        )
        if number_format.training_set.divides_gain_by_branches:
            results.append(number_format.format(column.gain - (price[1] if price else 0.0)))
    if len(_headings(node)) > _GAIN + 1:
        results.append("–" if column.score is None else format_column_score(node, column.score))
    if blanks:
        results = [BLANK] * len(results)
    test = clip(best.label.removeprefix(f"{name} "), _LONGEST_TEST)
    branches = clip(format_branches(best), _LONGEST_BRANCHES)
    return [clip(name, _LONGEST_NAME), test, f"{column.tried:,}", branches, *results]


# -- gain against threshold --------------------------------------------------------------------------------


def _gain_profile(node: NodeTrace, column: ColumnTrace, width: int) -> list[str]:
    """Draw the winner's gain against its threshold, with the values at the best threshold and its neighbours."""
    best = column.best
    cuts = _scores_by_threshold(column)
    if best is None or not isinstance(best.candidate.split, Threshold) or len(cuts) <= MAX_TESTS_WRITTEN:
        return []
    format_value, name = column.encoding.format, safe(column.name)
    low, high = format_value(cuts[0][0]), format_value(cuts[-1][0])
    plot_width = min(48, width - len(low) - len(high) - 8)
    index = next((i for i, (cut, _) in enumerate(cuts) if cut == best.candidate.split.cut), None)
    if plot_width < 10 or index is None:
        return []
    near = cuts[max(0, index - 1) : index + 2]
    scores = [f"{format_value(cut)} {format_score(node, score)}" for cut, score in near]
    criterion = node.number_format.training_set.criterion
    score_name = "gain" if criterion.by_gain else criterion.score_name
    caption = clip(f"  {score_name} at each threshold of {name}", width)
    line = f"    {low} ▏{sparkline([(float(c), s) for c, s in cuts], plot_width)}▏ {high}"
    beside = "    " + " · ".join(scores)
    if display_width(line) + display_width(beside) <= width:
        return [caption, line + beside]
    return [caption, line, *_wrap(beside.split(), "    ", "    ", width, " ")]


def _scores_by_threshold(column: ColumnTrace) -> list[tuple[float | int, float]]:
    """Return the thresholds in order, each with the best score over the placements of missing rows."""
    best: dict[float | int, CandidateTrace] = {}
    for test in column.tests:
        split = test.candidate.split
        if isinstance(split, Threshold):
            known = best.get(split.cut)
            if known is None or test.candidate.score > known.candidate.score:
                best[split.cut] = test
    return [(cut, test.score) for cut, test in sorted(best.items(), key=lambda item: item[0])]


def sparkline(points: Sequence[tuple[float, float]], width: int) -> str:
    """Draw y against x in ``width`` block characters: each is the highest of its points, or its nearest point.

    >>> sparkline([(0, 0.0), (1, 0.5), (2, 1.0), (3, 0.5)], 4)
    ' ▄█▄'
    """
    first, last = points[0][0], points[-1][0]
    top = max(y for _, y in points)
    step = (last - first) / width
    if not (math.isfinite(step) and step > 0 and math.isfinite(top) and top > 0):
        return _BLOCKS[0] * width
    highest: list[float | None] = [None] * width
    for x, y in points:
        cell = min(width - 1, int((x - first) / step))
        highest[cell] = y if highest[cell] is None else max(y, highest[cell] or 0.0)
    filled = [i for i, y in enumerate(highest) if y is not None]
    drawn = []
    for i in range(width):
        while len(filled) > 1 and abs(filled[1] - i) < abs(filled[0] - i):
            filled.pop(0)
        y = highest[filled[0]] or 0.0
        drawn.append(_BLOCKS[min(8, max(0, round(8 * y / top)))])
    return "".join(drawn)


def _wrap(pieces: Sequence[str], first: str, later: str, width: int, between: str = "") -> list[str]:
    """Join pieces, breaking lines between them at the given width."""
    lines = [first + pieces[0]]
    for piece in pieces[1:]:
        if display_width(lines[-1]) + display_width(between + piece) <= width or not lines[-1].strip():
            lines[-1] += between + piece
        else:
            lines[-1] = lines[-1].rstrip()
            lines.append(later + piece.lstrip())
    return lines
