r"""A tree in TikZ, for the LaTeX package forest: the boxes, conditions and colours of the picture, as nested brackets.

The result is a fragment, ``\begin{forest} … \end{forest}``, for slides and papers; ``tikz_document`` adds a head, so
that it compiles by itself. Names and labels are escaped, and no line depends on the fonts of the picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treewise._lib.latex import escape_latex, latex_condition, latex_name

_STYLE = """if/.style={edge label={node[midway, fill=white, inner sep=1.5pt, font=\\sffamily\\footnotesize]{#1}}},
for tree={
  draw, rounded corners=2pt, align=center, inner sep=4pt, line width=0.6pt,
  l sep=11mm, s sep=5mm, edge={line width=0.6pt}, font=\\sffamily\\small,
}"""
_GROW_RIGHT = "grow'=east, parent anchor=east, child anchor=west, anchor=west, l sep={}mm"
_HEAD = r"""\documentclass[border=4pt]{standalone}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}  % names outside the Latin alphabet: compile with lualatex or xelatex
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{amsmath,textcomp}
\usepackage{forest}
\begin{document}
"""


@dataclass(frozen=True)
class ForestNode:
    """One node: the index of its parent (-1 at the top), its lines, and the condition on the edge to it."""

    parent: int
    column: str  # of its split; "" for a leaf
    heading: str
    facts: Sequence[str] = ()
    condition: str = ""
    fill: str = ""  # background of a leaf
    outline: str = ""
    is_dashed: bool = False


def forest(nodes: Sequence[ForestNode], direction: str = "down") -> str:
    r"""Return the code of a tree; parents come before their children.

    >>> print(forest([ForestNode(-1, "x1", "x1?"), ForestNode(0, "", "star", ["4 rows"], "<= 0.5", "#E0EEF6")]))
    % needs \usepackage{amsmath,forest}
    \definecolor{tree1}{HTML}{E0EEF6}
    \begin{forest}
    if/.style={edge label={node[midway, fill=white, inner sep=1.5pt, font=\sffamily\footnotesize]{#1}}},
    for tree={
      draw, rounded corners=2pt, align=center, inner sep=4pt, line width=0.6pt,
      l sep=11mm, s sep=5mm, edge={line width=0.6pt}, font=\sffamily\small,
    }
    [{$\boldsymbol{x_1}$?}
      [{\textbf{star}\\4 rows}, fill=tree1, if={$\le 0.5$}]
    ]
    \end{forest}
    """
    children: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        if node.parent >= 0:
            children[node.parent].append(index)
    longest = max(len(node.condition) for node in nodes)  # conditions stand on the edges
    style = _STYLE if direction == "down" else _STYLE.replace("l sep=11mm", _GROW_RIGHT.format(14 + 2 * longest))
    used = dict.fromkeys(colour for node in nodes for colour in (node.fill, node.outline) if colour)
    colours = {colour: f"tree{number}" for number, colour in enumerate(used, 1)}
    lines = [r"% needs \usepackage{amsmath,forest}"]
    lines += [rf"\definecolor{{{name}}}{{HTML}}{{{colour.removeprefix('#')}}}" for colour, name in colours.items()]
    lines += [r"\begin{forest}", *style.split("\n")]
    todo: list[tuple[int, int]] = [(0, 0)]  # a node and its level, or ~node for its closing bracket
    while todo:
        index, level = todo.pop()
        margin = "  " * level
        if index < 0:
            lines.append(f"{margin}]")
        elif children[index]:
            lines.append(f"{margin}[{_node_text(nodes[index], colours)}")
            todo += [(~index, level), *((child, level + 1) for child in reversed(children[index]))]
        else:
            lines.append(f"{margin}[{_node_text(nodes[index], colours)}]")
    return "\n".join([*lines, r"\end{forest}"])


def tikz_document(fragment: str) -> str:
    """Return a document that contains a fragment and nothing else."""
    return f"{_HEAD}{fragment}\n\\end{{document}}\n"


def _node_text(node: ForestNode, colours: Mapping[str, str]) -> str:
    options = [f"fill={colours[node.fill]}"] if node.fill else []
    options += [f"draw={colours[node.outline]}"] if node.outline else []
    options += ["dashed"] if node.is_dashed else []
    if node.condition:
        label = latex_condition(node.condition)
        label = f"${label}$" if not label.startswith(r"\text{") else label
        options.append(f"if={{{label}}}")
    lines = r"\\".join([_heading(node), *map(escape_latex, node.facts)])
    return ", ".join([f"{{{lines}}}", *options])


def _heading(node: ForestNode) -> str:
    """Return the first line in bold; a column with an index, and a question about it, in mathematics."""
    name = latex_name(node.column) if node.column else ""
    if name and not name.startswith(r"\text{"):
        before, found, after = node.heading.partition(node.column)
        condition = latex_condition(f"{node.column}{after.removesuffix('?')}", node.column)
        if found and r"\text{" not in condition:
            return f"{_bold(before)}$\\boldsymbol{{{condition}}}$?"
    return _bold(node.heading)


def _bold(text: str) -> str:
    return rf"\textbf{{{escape_latex(text)}}}" if text.strip() else text
