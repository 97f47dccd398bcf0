"""How notebooks display a tree: header, picture, and the text tree, collapsed.

One HTML fragment with inline style and no script, so that it looks the same in every notebook, trusted or not.
"""

from __future__ import annotations

from treewise._lib.result_table import escape_html
from treewise.prune.losses import describe_cross_validation
from treewise.show.picture.build_scene import PictureStyle, build_scene
from treewise.show.picture.node_selection import SelectionLimits
from treewise.show.picture.render import to_svg
from treewise.show.text_tree.text_tree import header, missing_value_notes, render_tree
from treewise.tree.history import describe_step
from treewise.tree.tree import Tree

_MAX_DEPTH, _MAX_LEAVES, _MAX_WIDTH = 4, 30, 1000  # of the picture; its width in pixels
_SMALL = 16  # leaves of a tree that is drawn whole, however deep
_MAX_LINES, _LINE_WIDTH = 60, 110  # of the text tree
_PRE_STYLE = "line-height:1.25;overflow-x:auto;white-space:pre;"


def mime_bundle(tree: Tree) -> dict[str, str]:
    """Return the representations of a tree by MIME type: one line of text, the picture, and the HTML fragment.

    >>> import treewise as tw
    >>> bundle = mime_bundle(tw.grow("admissions", preset="id3"))
    >>> bundle["text/plain"]
    '<Tree Class: N, P · 12 rows · 6 leaves · depth 3>'
    >>> print(bundle["text/html"].splitlines()[1])
    <p><strong>Class: N, P · 12 rows · 6 leaves · depth 3 · training error 0.0 %</strong></p>
    """
    svg = _picture(tree)
    return {"text/plain": repr(tree), "image/svg+xml": svg, "text/html": _html(tree, svg)}


def _picture(tree: Tree) -> str:
    """Draw the heaviest nodes of the first levels: downwards, or to the right where that would be too wide."""
    limits = SelectionLimits(max_depth=None if tree.n_leaves <= _SMALL else _MAX_DEPTH, max_leaves=_MAX_LEAVES)
    scene = build_scene(tree, limits, PictureStyle("down", has_title=False))
    if scene.width > _MAX_WIDTH:
        scene = build_scene(tree, limits, PictureStyle("right", has_title=False))
    return to_svg(scene)


def _html(tree: Tree, svg: str) -> str:
    first, *warnings = header(tree, ascii=False).split("\n")
    parts = [f"<p><strong>{escape_html(first)}</strong></p>", *(f"<p>{escape_html(line)}</p>" for line in warnings)]
    parts += [f"<p>{escape_html(line)}</p>" for line in _how_it_was_made(tree)]
    parts += [f"<p>note: {escape_html(note)}</p>" for note in (*tree.notes, *missing_value_notes(tree))]
    parts.append(f'<div style="overflow-x:auto">{svg}</div>')
    return "<div>\n" + "\n".join([*parts, _text_tree(tree)]) + "\n</div>\n"


def _how_it_was_made(tree: Tree) -> list[str]:
    """Return the error to expect on new rows, and the steps that made the tree."""
    loss_text, steps = describe_cross_validation(tree), [describe_step(step) for step in tree.history]
    lines = [] if loss_text is None else [f"on new rows: {loss_text}"]
    return [*lines, *([f"made by {' → '.join(steps)}"] if steps else [])]


def _text_tree(tree: Tree) -> str:
    lines = render_tree(tree, max_lines=_MAX_LINES, width=_LINE_WIDTH, ascii=False).split("\n")
    text = "\n".join(map(escape_html, lines))
    return f'<details><summary>as text</summary>\n<pre style="{_PRE_STYLE}">{text}</pre></details>'
