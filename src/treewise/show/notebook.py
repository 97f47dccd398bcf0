"""A tree as the last line of a notebook's cell: its header, its picture, and the text tree folded below it.

Stands among the outlets, above ``text.py`` and ``picture``. It is one HTML fragment with inline style and no script, so
that it shows the same in every notebook, trusted or not.
"""

from __future__ import annotations

import html

from treewise._lib.text import safe
from treewise.show.picture.build_scene import PictureStyle, build_scene
from treewise.show.picture.node_selection import SelectionLimits
from treewise.show.picture.render import to_svg
from treewise.show.text_tree.text_tree import header, missing_value_notes, render
from treewise.tree.tree import Tree

MOST_LEVELS, MOST_LEAVES, WIDEST = 4, 30, 1000  # of the picture, and its pixels
MOST_LINES = 60  # of the text tree
WIDTH = 110  # columns of a line
PRE = "line-height:1.25;overflow-x:auto;white-space:pre;"


def bundle(tree: Tree) -> dict[str, str]:
    """Return what a notebook shows: one line as text, the picture, or header, picture and text tree as HTML.

    >>> import treewise as tw
    >>> found = bundle(tw.grow("admissions", preset="id3"))
    >>> found["text/plain"]
    '<Tree Class: N, P · 12 rows · 6 leaves · depth 3>'
    >>> print(found["text/html"].splitlines()[1])
    <p><strong>Class: N, P · 12 rows · 6 leaves · depth 3 · training error 0.0 %</strong></p>
    """
    svg = picture(tree)
    return {"text/plain": repr(tree), "image/svg+xml": svg, "text/html": in_html(tree, svg)}


def picture(tree: Tree) -> str:
    """Draw the tree, its first levels and heaviest nodes: downwards, or to the right where that would be too wide."""
    bounds = SelectionLimits(max_depth=MOST_LEVELS, max_leaves=MOST_LEAVES)
    scene = build_scene(tree, bounds, PictureStyle("down", has_title=False))
    if scene.width > WIDEST:
        scene = build_scene(tree, bounds, PictureStyle("right", has_title=False))
    return to_svg(scene)


def in_html(tree: Tree, svg: str) -> str:
    """Write the fragment."""
    first, *warnings = header(tree, ascii=False).split("\n")
    said = [f"<p><strong>{escaped(first)}</strong></p>", *(f"<p>{escaped(line)}</p>" for line in warnings)]
    said += [f"<p>note: {escaped(note)}</p>" for note in (*tree.notes, *missing_value_notes(tree))]
    said.append(f'<div style="overflow-x:auto">{svg}</div>')
    return "<div>\n" + "\n".join([*said, text_tree(tree)]) + "\n</div>\n"


def text_tree(tree: Tree) -> str:
    """Write the text tree, folded: the picture shows the tree already."""
    lines = render(tree, max_lines=MOST_LINES, width=WIDTH, ascii=False).split("\n")
    text = "\n".join(map(escaped, lines))
    return f'<details><summary>as text</summary>\n<pre style="{PRE}">{text}</pre></details>'


def escaped(line: str) -> str:
    """Write a line so that a browser shows it as it is."""
    return html.escape(safe(line))
