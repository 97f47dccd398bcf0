"""The trace for the terminal.

Stands at the end of the trace, after ``words.py``. A node is printed in one of two forms: small ones as the
notes write them, every candidate with its formula and its arithmetic (from 110 columns on, a line each);
large ones as a table, one line a column with its best test (``table.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from treewise._lib.text import clip, display_width, pad, safe
from treewise.errors import Call, Message, Param
from treewise.explain.trace.nodes import NodeTrace
from treewise.explain.trace.table import table, wrap
from treewise.explain.trace.words import (
    ROUNDED,
    TraceEntry,
    conclusion,
    entries,
    impurity_in_words,
    in_full,
    left_out,
    legend,
    rows_in_words,
    settled_in_words,
)

WIDE = 110  # from this width on, a candidate is one line
LONGEST_LABEL = 26
BREAKS = re.compile(r"(?<=,) |(?<= and) |(?<=·) ")  # where a heading may be broken
ASCII: dict[int, str] = dict(zip(map(ord, "−·▏▁▂▃▄▅▆▇█₀₁₂₃₄₅₆₇₈₉"), "-*|._-=+*#@0123456789", strict=True))
ASCII |= {ord("…"): "...", ord("→"): "->", ord("◄"): "<-"}


def pieces(
    nodes: Iterable[NodeTrace],
    width: int = 80,
    blanks: bool = False,
    notes: Sequence[str] = (),
    write: Callable[[str], str] = str,
) -> Iterator[str]:
    """Yield nodes as text, one block each as soon as it is there, and last how to read the numbers."""
    last: NodeTrace | None = None
    tabled: NodeTrace | None = None
    for node in nodes:
        if last is not None and not (last.settled and node.settled):
            yield ""
        yield "\n".join(block(node, width, blanks))
        last = node
        if tabled is None and not node.settled and not in_full(node):
            tabled = node
    if last is None:
        yield "nothing to trace"
        return
    ends = [*(f"note  {note}" for note in notes), legend(last), *([] if blanks else [ROUNDED])]
    if tabled is not None and tabled.winner is not None and not blanks:
        ends.append(write(where_the_rest_is(safe(tabled.winner))))
    said = (line for end in ends for line in wrap(end.split(" "), "", "  ", width, " "))
    yield "\n".join(["", *said]).rstrip("\n")


def where_the_rest_is(column: str) -> Message:
    """Say how to see the tests that a table leaves out."""
    every = Call('.render("csv")')
    return Param("column", column) + " writes out every test of a column; " + every + " lists those of all columns."


def to_ascii(said: str) -> str:
    r"""Write a trace with ASCII letters only, for terminals that have no others.

    >>> to_ascii("12 − [4·H(0/4)] · naïve")
    '12 - [4*H(0/4)] ; na\\xefve'
    """
    plain = said.replace(" · ", " ; ").translate(ASCII)
    return plain.encode("ascii", "backslashreplace").decode()


def block(node: NodeTrace, width: int, blanks: bool) -> list[str]:
    """Return the lines of one node."""
    lines = heading(node, width, blanks)
    if node.settled:
        return lines
    if in_full(node):
        body = notes_form(node, width, blanks) + [f"  {said}" for said in left_out(node)]
    else:
        body = table(node, width, blanks)
    return [*lines, *body, *wrap(conclusion(node, blanks).split(" "), "  ", "    ", width, " ")]


# -- the first line ----------------------------------------------------------------------------------------


def heading(node: NodeTrace, width: int, blanks: bool) -> list[str]:
    """Say which node this is and what rows it has, and at the right end, or below, its impurity."""
    left = f"node {node.id} · {node.words} · {rows_in_words(node)}"
    if node.settled:
        left += f" · {settled_in_words(node)}"
    lines = wrap(BREAKS.split(left), "", "       ", width, " ")
    if node.settled:
        return lines
    right = impurity_in_words(node, blanks)
    room = width - display_width(lines[-1]) - display_width(right)
    if room > 1:
        return [*lines[:-1], lines[-1] + " " * room + right]
    return [*lines, " " * (width - display_width(right)) + right]


# -- as the notes write it ---------------------------------------------------------------------------------


def notes_form(node: NodeTrace, width: int, blanks: bool) -> list[str]:
    """Write every candidate out."""
    listed = list(entries(node, blanks))
    longest = min(LONGEST_LABEL, width // 4)
    label_width = max(w for w in [0, *(display_width(e.label) for e in listed)] if w <= longest)
    if width >= WIDE:
        lines = one_line_each(listed, label_width, blanks)
        if all(display_width(line) <= width for line in lines):
            return lines
    return two_lines_each(listed, label_width, width, blanks)


def one_line_each(listed: Sequence[TraceEntry], label_width: int, blanks: bool) -> list[str]:
    """Lay out: label · counts per branch · formula · result."""
    branch_width = max(display_width(e.branches) for e in listed)
    formulas = [one_formula(e, blanks) for e in listed]
    formula_width = max(map(display_width, formulas))
    result_width = max(len(e.result) for e in listed)
    lines = []
    for e, formula in zip(listed, formulas, strict=True):
        left = f"  {pad(e.label, label_width)}  "
        if e.formula is None:
            lines.append(left + e.note)
            continue
        tail = "  ".join(part for part in (e.mark, e.note) if part)
        middle = f"{pad(e.branches, branch_width)}   {pad(formula, formula_width)}"
        lines.append(f"{left}{middle} = {e.result.rjust(result_width)}  {tail}".rstrip())
    return lines


def one_formula(entry: TraceEntry, blanks: bool) -> str:
    """Return the one formula there is room for; where a branch is just Var₁, with the numbers put in."""
    if entry.formula is None:
        return ""
    return "".join(entry.formula.pieces(numbers=not entry.formula.terms[0].shares, blanks=blanks))


def two_lines_each(listed: Sequence[TraceEntry], label_width: int, width: int, blanks: bool) -> list[str]:
    """Lay out: label and formula; below it the arithmetic, and the result in its column."""
    margin = " " * (label_width + 4)
    result_width = max(len(e.result) for e in listed)
    written = [(e, *written_out(e, margin, width, result_width, blanks)) for e in listed]
    column = max((display_width(lower[-1]) for _, _, lower in written if lower), default=0) + 2
    lines: list[str] = []
    for e, upper, lower in written:
        lines += upper + lower[:-1]
        if not lower:
            continue
        lines.append(f"{pad(lower[-1], column)}= {e.result.rjust(result_width)}  {e.mark}".rstrip())
        if e.groups:
            lines += wrap([e.groups[0], *(f" · {g}" for g in e.groups[1:])], margin, margin, width)
        if e.note and not e.dead:
            lines += wrap(e.note.split(" "), margin, margin, width, " ")
    return lines


def written_out(e: TraceEntry, margin: str, width: int, result_width: int, blanks: bool) -> tuple[list[str], list[str]]:
    """Return the lines of label and formula, and those that end in the result."""
    fits = display_width(e.label) <= len(margin) - 4
    upper = [] if fits else [f"  {clip(e.label, width - 2)}"]
    head = f"  {pad(e.label, len(margin) - 2)}" if fits else margin
    if e.formula is None:
        return upper + wrap(e.note.split(" "), head, margin, width, " "), []
    upper += wrap(e.formula.pieces(blanks=blanks), head, margin, width)
    room = width - result_width - 12  # for two spaces, the equals sign, and the mark behind it
    if e.dead:
        return upper, wrap(e.note.split(" "), margin, margin, room, " ")
    return upper, wrap(e.formula.pieces(numbers=True, blanks=blanks), f"{margin[:-2]}= ", margin, room)
