"""The text tree: numbered lines, one per node, with columns for the prediction and the rows that reached it.

``print(tree)`` is ``render_tree`` without bounds, ``tree.show()`` is bounded. ``treewise.parse`` reads the text back.
``lines.py`` composes the lines (conditions by ``conditions.py``), ``layout.py`` aligns them with their numbers
(``columns.py``); this module adds what is printed above and below the tree.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from typing import Any, TextIO

import numpy as np

from treewise._lib.text import clip, format_count, plural
from treewise.errors import Call, Message, Param, ParameterError, PythonOnly
from treewise.formats.text_format.notation import PREDICTS_NUMBERS, write_label, write_name, write_ordered_level
from treewise.show.node_stats import (
    NodeSamples,
    describe_training_error,
    has_training_rows,
    is_weighted,
    training_error,
)
from treewise.show.text_tree.columns import DistributionBars, NumberColumns, Paint, unpainted
from treewise.show.text_tree.layout import MAX_LEFT_WIDTH, ColumnLayout, TreeLayouter
from treewise.show.text_tree.lines import ASCII, UNICODE
from treewise.tree.arrays import LEAF, ORDINAL, Label
from treewise.tree.tree import Tree

__all__ = ["header", "render_tree", "show_text", "training_error"]

_SHORTENED_SET = re.compile(r", \+\d+\}")


@dataclass(frozen=True)
class _AllLines(Call):
    """How to see every line of a tree that is shown in part."""


def render_tree(
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

    With ``bars`` each line ends with a bar of its class distribution (None: if the width has room for it), which
    ``paint`` may colour; for regression, bars are histograms of ``samples`` if given. ``treewise.parse`` does not read
    a text with bars.

    >>> from treewise.formats.text_format.parse import parse
    >>> tree = parse('''
    ... GPA = 3.5 -> N
    ... GPA = 3.7
    ...     Published = no  -> N
    ...     Published = yes -> P
    ... GPA = 4.0 -> P''')
    >>> print(render_tree(tree))
    0  all rows
    1  ├─ GPA = 3.5           → N
    2  ├─ GPA = 3.7
    3  │  ├─ Published = no   → N
    4  │  └─ Published = yes  → P
    5  └─ GPA = 4.0           → P
    """
    bounds = (("max_lines", max_lines, 1), ("max_depth", max_depth, 0), ("width", width, 20))
    for name, value, minimum in bounds:
        if value is not None and value < minimum:
            raise ParameterError(
                f"must be {minimum} or more" + PythonOnly(", or None for no limit") + ".", parameter=name, value=value
            )
    if not 0 <= node < len(tree):
        raise ParameterError(f"the tree has nodes 0 to {len(tree) - 1}.", parameter="node", value=node)
    use_ascii = _needs_ascii(sys.stdout) if ascii is None else ascii
    layouter = TreeLayouter(tree, node, max_lines, max_depth, width, ASCII if use_ascii else UNICODE, use_ascii)
    layout = None
    if bars is not False and has_training_rows(tree):
        distribution = DistributionBars(tree, use_ascii, paint, samples)
        layout = replace(layouter, bars=distribution).layout() if bars else layouter.layout_with_bars(distribution)
    layout = layout or layouter.layout()
    text, is_whole = layout.text(), layout.printer.view.is_whole
    if layout.bars is not None and not layout.bar_heading_fits:
        text.append(f"bars: {layout.bars.heading}")
    text.extend(_legend(layout.columns, None if is_whole else width or MAX_LEFT_WIDTH))
    if not is_whole:
        return "\n".join(text) + ("\n" + _bounded_note(layout))
    if any(_SHORTENED_SET.search(line.condition) for line in layout.lines):
        note = f"{layout.printer.glyphs.ellipsis} long sets are shortened; in full: " + Call("print(tree)")
        return "\n".join(text) + ("\n" + note)
    return "\n".join(text)


def is_folded(text: str) -> bool:
    """Tell whether lines were left out of a tree that ``render_tree`` returned."""
    return isinstance(text, Message) and any(isinstance(part, _AllLines) for part in text.parts)


def show_text(tree: Tree, **bounds: Any) -> str:
    """Return what ``tree.show()`` prints: the header, notes, and the tree within bounds.

    >>> from treewise.formats.text_format.parse import parse
    >>> print(show_text(parse("x <= 1 -> a; x > 1 -> b".replace("; ", chr(10)))))
    class: a, b · 2 leaves · depth 1
    note  missing values take the first branch of a split unless another one says "or missing"
    0  all rows
    1  ├─ x <= 1  → a
    2  └─ x > 1   → b
    """
    notes = [*tree.notes, *missing_value_notes(tree)]
    return "\n".join([header(tree), *(f"note  {note}" for note in notes), render_tree(tree, **bounds)])


def read_samples(tree: Tree, data: Any) -> NodeSamples | None:
    """Read the table whose rows are shown beside a tree, if there is one."""
    from treewise.data.table import read

    return None if data is None else NodeSamples.from_table(tree, read(data, na_values=tree.na_values))


def missing_value_notes(tree: Tree) -> list[str]:
    """Note where missing values go in a hand-written tree, which has no counts to determine the heavier branch."""
    takes_first = (tree.arrays.kind != LEAF) & (tree.arrays.missing == 0)
    if has_training_rows(tree) or not takes_first.any():
        return []
    return ['missing values take the first branch of a split unless another one says "or missing"']


def header(tree: Tree, ascii: bool | None = None) -> str:
    """Return the one-line summary of a tree, with further lines on overfitting and misclassification costs.

    >>> from treewise.formats.text_format.parse import parse
    >>> header(parse("x <= 1 -> a; x > 1 -> b".replace("; ", chr(10)), target="y"))
    'y: a, b · 2 leaves · depth 1'
    """
    use_ascii = _needs_ascii(sys.stdout) if ascii is None else ascii
    predicted = "a number" if tree.task == "regression" else _list_classes(tree.classes, 4, use_ascii)
    facts = [f"{write_name(tree.target.name, use_ascii)}: {predicted}"]
    rows = int(tree.arrays.rows[0])
    if has_training_rows(tree):
        facts.append(plural(rows, "row"))
    if is_weighted(tree):
        facts.append(f"weight {format_count(float(tree.arrays.weight[0]))}")
    facts += [plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}", *describe_training_error(tree)]
    line = f" {ASCII.dot if use_ascii else UNICODE.dot} ".join(facts)
    return "\n".join([line, *remarks(tree)])


def remarks(tree: Tree) -> list[str]:
    """Return notes below the header: the tree has memorised its table; it was grown with misclassification costs."""
    rows = int(tree.arrays.rows[0])
    lines: list[str] = []
    if has_training_rows(tree) and training_error(tree) == 0 and tree.n_leaves >= max(20, rows / 20):
        lines.append(
            f"every training row is right, on {tree.n_leaves:,} leaves for {plural(rows, 'row')}: "
            "the tree has memorised its table and may overfit. " + Param("pruning", "cv") + " chooses its size."
        )
    if tree.cost is not None:
        lines.append(f"each node predicts the class of least expected cost: {tree.cost}")
    return lines


# -- below the tree ----------------------------------------------------------------------------------------


def _legend(columns: NumberColumns, width: int | None) -> list[str]:
    """Return what cannot be read off the lines: the order of levels that are compared, and the classes."""
    tree, ascii = columns.tree, columns.ascii
    a = tree.arrays
    lines = []
    for column in np.unique(a.column[a.kind == ORDINAL]).tolist():
        encoding = tree.encodings[column]
        if encoding.kind == "boolean":
            continue
        levels = " < ".join(write_ordered_level(level, ascii) for level in encoding.levels)
        lines.append(f"order {write_name(encoding.name, ascii)}: {levels}")
    if tree.task == "regression" and not columns.has_rows:
        lines.append(PREDICTS_NUMBERS)
    if tree.task == "classification" and not columns.identify_classes():
        lines.append(f"classes: {_list_classes(tree.classes, len(tree.classes), ascii)}")
    ellipsis = ASCII.ellipsis if ascii else UNICODE.ellipsis
    return lines if width is None else [clip(line, width, ellipsis) for line in lines]


def _list_classes(classes: tuple[Label, ...], max_listed: int, ascii: bool) -> str:
    listing = ", ".join(write_label(label, ascii) for label in classes[:max_listed])
    if len(classes) <= max_listed:
        return listing
    return f"{listing}, {(ASCII if ascii else UNICODE).ellipsis} {len(classes):,} classes"


def _bounded_note(layout: ColumnLayout) -> Message:
    """Note how much is not shown, and how to see it."""
    printer = layout.printer
    tree, view = printer.tree, printer.view
    assert view.opened is not None
    reached = {view.top, *(child for node in view.opened for child in tree.children(node))}
    closed = [i for i in sorted(reached) if tree.arrays.kind[i] != LEAF and i not in view.opened]
    mixed = [i for i in closed if not printer.subtrees.is_uniform[i]] or closed or [view.top]
    start = max(mixed, key=lambda i: tree.arrays.weight[i])
    total = int(printer.subtrees.end[view.top]) - view.top
    text = f"{printer.glyphs.ellipsis} {len(layout.lines):,} lines shown of {total:,}"
    note = f"{text}; every line: " + _AllLines("print(tree)")
    return note if start == view.top else note + f"; from node {start} down: " + Param("node", start)


def _needs_ascii(out: TextIO) -> bool:
    """Return whether a stream cannot encode the glyphs of the tree; one without an encoding takes everything."""
    try:
        "├─└│→…–·".encode(getattr(out, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return True
    return False
