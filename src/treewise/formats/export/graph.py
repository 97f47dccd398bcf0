"""Export formats "dot" (Graphviz) and "mermaid": the tree as a graph, for documents and pages.

A node shows what it tests or predicts and its number of rows, an edge its condition; sets of many levels are shortened.
"""

from __future__ import annotations

from collections.abc import Iterator

from treewise._lib.text import clip, format_count, format_rounded, plural, safe
from treewise.show.node_stats import has_training_rows
from treewise.show.text_tree.conditions import ConditionText
from treewise.tree.tree import Tree

_MAX_WIDTH = 60  # of a line of text
_MERMAID = {ord(ch): f"#{ord(ch)};" for ch in '"#<>&`;{}[]()|\\*_~@:%'}


def write_dot(tree: Tree) -> str:
    r"""Return the tree as a directed graph in the DOT language.

    >>> import treewise as tw
    >>> print(write_dot(tw.parse("x <= 1 -> a\nx > 1 -> b")), end="")
    digraph tree {
      node [shape=box, style=rounded, fontname="sans-serif"];
      edge [fontname="sans-serif"];
      n0 [label="x"];
      n1 [label="a"];
      n2 [label="b"];
      n0 -> n1 [label="x <= 1"];
      n0 -> n2 [label="x > 1"];
    }
    """
    lines = [
        "digraph tree {",
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
        '  edge [fontname="sans-serif"];',
    ]
    lines += [f"  n{node} [label={_dot_text(*text)}];" for node, text in _node_texts(tree)]
    lines += [f"  n{parent} -> n{child} [label={_dot_text(text)}];" for parent, child, text in _edges(tree)]
    return "\n".join([*lines, "}", ""])


def write_mermaid(tree: Tree) -> str:
    r"""Return the tree as a Mermaid flowchart.

    >>> import treewise as tw
    >>> print(write_mermaid(tw.parse("x <= 1 -> a\nx > 1 -> b")), end="")
    flowchart TD
      n0["x"]
      n1["a"]
      n2["b"]
      n0 -->|"x #60;= 1"| n1
      n0 -->|"x #62; 1"| n2
    """
    lines = ["flowchart TD"]
    lines += [f'  n{node}["{"<br/>".join(map(_mermaid_text, text))}"]' for node, text in _node_texts(tree)]
    lines += [f'  n{parent} -->|"{_mermaid_text(text)}"| n{child}' for parent, child, text in _edges(tree)]
    return "\n".join([*lines, ""])


def _node_texts(tree: Tree) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each node."""
    has_rows = has_training_rows(tree)
    for node in range(len(tree)):
        split = tree.split_at(node)
        if split is not None:
            text = split.column
        else:
            answer = tree.prediction(node)
            text = "?" if answer is None else format_rounded(answer) if isinstance(answer, float) else str(answer)
        rows = int(tree.arrays.rows[node])
        yield node, [text, *([f"{format_count(rows)} {plural(rows, 'row').split()[-1]}"] if has_rows else [])]


def _edges(tree: Tree) -> Iterator[tuple[int, int, str]]:
    conditions = ConditionText(tree)
    for node in range(len(tree)):
        children = tree.children(node)
        if children:
            for child, text in zip(children, conditions.branches(node), strict=True):
                yield node, child, text


def _dot_text(*lines: str) -> str:
    texts = [clip(safe(line), _MAX_WIDTH).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(texts) + '"'


def _mermaid_text(line: str) -> str:
    """Escape by character codes, which Mermaid replaces after parsing; a blank text gets a space of no width.

    Mermaid breaks the line at a backslash with an n behind, in whatever way it is written, unless something is between.
    """
    return clip(safe(line), _MAX_WIDTH).translate(_MERMAID).replace("#92;n", "#92;#8203;n") or "#8203;"
