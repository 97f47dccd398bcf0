"""The text tree: numbered lines, one a node, with columns for what it predicts and what reached it.

Stands among the outlets. ``print(tree)`` is ``render`` without bounds, ``tree.show()`` is bounded
(``folding.py`` chooses what is folded). The conditions are the splits' own words (``speech.py``);
``treewise.parse`` reads the text back. ``layout.py`` puts the lines (``lines.py``) and their numbers
(``counts.py``) under each other; here is what stands above and below them.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from treewise._lib.text import clip, format_count, plural
from treewise.errors import Call, Message, Param, ParameterError, PythonOnly
from treewise.formats.text_format.notation import PREDICTS_NUMBERS, write_label, write_name, write_ordered_level
from treewise.show.text_tree.bars import DistributionBars, Paint, unpainted
from treewise.show.text_tree.condition_text import counted, weighted
from treewise.show.text_tree.layout import ALIGNED_LEFT, ColumnLayout, TreeLines
from treewise.show.text_tree.lines import ASCII, UNICODE
from treewise.show.text_tree.number_columns import NumberColumns, error_in_words, training_error
from treewise.tree.arrays import LEAF, ORDINAL, Label
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.show.samples import NodeSamples

__all__ = ["header", "render", "training_error", "view"]

SHORTENED = re.compile(r", \+\d+\}")  # a set that does not name all its levels


def render(
    tree: Tree,
    *,
    max_lines: int | None = None,
    max_depth: int | None = None,
    node: int = 0,
    ascii: bool | None = None,
    width: int | None = None,
    bars: bool | None = False,
    paint: Paint = unpainted,
    samples: NodeSamples | None = None,
) -> str:
    """Return the tree as text: whole, or within ``max_lines`` and ``max_depth``, or from ``node`` down.

    With ``bars`` each line ends with a small bar of its classes (None: where the width has room for that), which
    ``paint`` may colour and which of numbers are histograms of ``samples``; such a text is for eyes,
    ``treewise.parse`` does not read it.

    >>> from treewise.formats.text_format.parse import parse
    >>> tree = parse('''
    ... GPA = 3.5 -> N
    ... GPA = 3.7
    ...     Published = no  -> N
    ...     Published = yes -> P
    ... GPA = 4.0 -> P''')
    >>> print(render(tree))
    0  all rows
    1  ├─ GPA = 3.5           → N
    2  ├─ GPA = 3.7
    3  │  ├─ Published = no   → N
    4  │  └─ Published = yes  → P
    5  └─ GPA = 4.0           → P
    """
    bounds = (("max_lines", max_lines, 1), ("max_depth", max_depth, 0), ("width", width, 20))
    for name, value, least in bounds:
        if value is not None and value < least:
            raise ParameterError(
                f"must be {least} or more" + PythonOnly(", or None for no limit") + ".", parameter=name, value=value
            )
    if not 0 <= node < len(tree):
        raise ParameterError(f"the tree has nodes 0 to {len(tree) - 1}.", parameter="node", value=node)
    plain = _is_ascii(sys.stdout) if ascii is None else ascii
    sheet = TreeLines(tree, node, max_lines, max_depth, width, ASCII if plain else UNICODE, plain)
    layout = None
    if bars is not False and counted(tree):
        drawn = DistributionBars(tree, plain, paint, samples)
        layout = replace(sheet, bars=drawn).laid_out() if bars else sheet.with_bars(drawn)
    layout = layout or sheet.laid_out()
    text, whole = layout.text(), layout.page.view.whole
    if layout.bars is not None and not layout.bars_are_named:
        text.append(f"bars: {layout.bars.heading}")
    text.extend(legend(layout.cells, None if whole else width or ALIGNED_LEFT))
    if not whole:
        return "\n".join(text) + ("\n" + _bounded_note(layout))
    if any(SHORTENED.search(line.said) for line in layout.lines):
        note = f"{layout.page.glyphs.dots} long sets are shortened; in full: " + Call("print(tree)")
        return "\n".join(text) + ("\n" + note)
    return "\n".join(text)


def view(tree: Tree, **bounds: Any) -> str:
    """Return what ``tree.show()`` prints: the header, notes, and the tree within bounds.

    >>> from treewise.formats.text_format.parse import parse
    >>> print(view(parse("x <= 1 -> a; x > 1 -> b".replace("; ", chr(10)))))
    class: a, b · 2 leaves · depth 1
    note  missing values take the first branch of a split, unless another one says "or missing"
    0  all rows
    1  ├─ x <= 1  → a
    2  └─ x > 1   → b
    """
    notes = [*tree.notes, *unsaid_missing(tree)]
    return "\n".join([header(tree), *(f"note  {note}" for note in notes), render(tree, **bounds)])


def samples_of(tree: Tree, data: Any) -> NodeSamples | None:
    """Read the table whose rows are shown beside a tree, if there is one."""
    from treewise.data.table import read
    from treewise.show.samples import NodeSamples

    return None if data is None else NodeSamples.of(tree, read(data, na_values=tree.na_values))


def unsaid_missing(tree: Tree) -> list[str]:
    """Note where missing values go in a tree written by hand, which has no heavier branch that would tell."""
    unsaid = (tree.arrays.kind != LEAF) & (tree.arrays.missing == 0)
    if counted(tree) or not unsaid.any():
        return []
    return ['missing values take the first branch of a split, unless another one says "or missing"']


def header(tree: Tree, ascii: bool | None = None) -> str:
    """Return the one-line summary of a tree; below it whether it has memorised its table, and what mistakes cost.

    >>> from treewise.formats.text_format.parse import parse
    >>> header(parse("x <= 1 -> a; x > 1 -> b".replace("; ", chr(10)), target="y"))
    'y: a, b · 2 leaves · depth 1'
    """
    plain = _is_ascii(sys.stdout) if ascii is None else ascii
    what = "a number" if tree.task == "regression" else _list_classes(tree.classes, 4, plain)
    facts = [f"{write_name(tree.target.name, plain)}: {what}"]
    rows = int(tree.arrays.rows[0])
    if counted(tree):
        facts.append(plural(rows, "row"))
    if weighted(tree):
        facts.append(f"weight {format_count(float(tree.arrays.weight[0]))}")
    facts += [plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}", *error_in_words(tree)]
    line = f" {ASCII.dot if plain else UNICODE.dot} ".join(facts)
    return "\n".join([line, *remarks(tree)])


def remarks(tree: Tree) -> list[str]:
    """Return what a reader should know beside the summary: that a tree has memorised its table, that it has costs."""
    rows = int(tree.arrays.rows[0])
    lines: list[str] = []
    if counted(tree) and training_error(tree) == 0 and tree.n_leaves >= max(20, rows / 20):
        lines.append(
            f"every training row is right, on {tree.n_leaves:,} leaves for {plural(rows, 'row')}: "
            "the tree has memorised its table. " + Param("pruning", "cv") + " chooses its size."
        )
    if tree.cost is not None:
        lines.append(f"each node predicts the class of least expected cost: {tree.cost}")
    return lines


# -- below the tree ----------------------------------------------------------------------------------------


def legend(cells: NumberColumns, width: int | None) -> list[str]:
    """Return what the lines do not say: the order of levels that are compared, the classes, that there are none."""
    tree, ascii = cells.tree, cells.ascii
    a = tree.arrays
    said = []
    for column in np.unique(a.column[a.kind == ORDINAL]).tolist():
        encoding = tree.encodings[column]
        if encoding.kind == "boolean":
            continue
        levels = " < ".join(write_ordered_level(level, ascii) for level in encoding.levels)
        said.append(f"order {write_name(encoding.name, ascii)}: {levels}")
    if tree.task == "regression" and not cells.shown:
        said.append(PREDICTS_NUMBERS)
    if tree.task == "classification" and not cells.name_the_classes():
        said.append(f"classes: {_list_classes(tree.classes, len(tree.classes), ascii)}")
    dots = ASCII.dots if ascii else UNICODE.dots
    return said if width is None else [clip(line, width, dots) for line in said]


def _list_classes(classes: tuple[Label, ...], most: int, ascii: bool) -> str:
    """List the first few classes."""
    shown = ", ".join(write_label(label, ascii) for label in classes[:most])
    if len(classes) <= most:
        return shown
    return f"{shown}, {(ASCII if ascii else UNICODE).dots} {len(classes):,} classes"


def _bounded_note(layout: ColumnLayout) -> Message:
    """Say how much is not shown, and how to see it."""
    page, shown = layout.page, len(layout.lines)
    tree, view = page.tree, page.view
    assert view.opened is not None
    reached = {view.top, *(child for node in view.opened for child in tree.children(node))}
    closed = [i for i in sorted(reached) if tree.arrays.kind[i] != LEAF and i not in view.opened]
    mixed = [i for i in closed if not page.shape.agree[i]] or closed or [view.top]
    start = max(mixed, key=lambda i: tree.arrays.weight[i])
    total = int(page.shape.end[view.top]) - view.top
    note = f"{page.glyphs.dots} {shown:,} lines shown of {total:,}; every line: " + Call("print(tree)")
    return note if start == view.top else note + f"; from node {start} down: " + Param("node", start)


def _is_ascii(out: TextIO) -> bool:
    """Tell whether a stream cannot take the tree's glyphs; one without an encoding takes everything."""
    try:
        "├─└│→…–·".encode(getattr(out, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return True
    return False
