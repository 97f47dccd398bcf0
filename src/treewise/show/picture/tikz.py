r"""A tree in TikZ, for the LaTeX package forest: the boxes, conditions and colours of the picture, as nested brackets.

The result is a fragment, ``\begin{forest} … \end{forest}``, for slides and papers; ``tikz_panels`` puts several of them
side by side, with tables and code, and ``tikz_document`` adds a head, so that it compiles by itself.
Names and labels are escaped, and no line depends on the fonts of the picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treewise._lib.latex import escape_latex, latex_condition, latex_name
from treewise._lib.text import clip, safe

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
class TikzNode:
    """One node: the index of its parent (-1 at the top), its lines, and the condition on the edge to it."""

    parent: int
    column: str  # of its split; "" for a leaf
    heading: str
    facts: Sequence[str] = ()
    condition: str = ""
    fill: str = ""  # background of a leaf
    outline: str = ""
    is_dashed: bool = False


def tikz_tree(nodes: Sequence[TikzNode], direction: str = "down") -> str:
    r"""Return the code of a tree; parents come before their children.

    >>> print(tikz_tree([TikzNode(-1, "x1", "x1?"), TikzNode(0, "", "star", ["4 rows"], "<= 0.5", "#E0EEF6")]))
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
    stack: list[tuple[int, int]] = [(0, 0)]  # a node and its level, or ~node for its closing bracket
    while stack:
        index, level = stack.pop()
        margin = "  " * level
        if index < 0:
            lines.append(f"{margin}]")
        elif children[index]:
            lines.append(f"{margin}[{_node_text(nodes[index], colours)}")
            stack += [(~index, level), *((child, level + 1) for child in reversed(children[index]))]
        else:
            lines.append(f"{margin}[{_node_text(nodes[index], colours)}]")
    return "\n".join([*lines, r"\end{forest}"])


def tikz_panels(panels: Sequence[tuple[str, str]], across: int | None = None) -> str:
    r"""Return trees, tables and code side by side, each below its caption; a single one as it is.

    >>> print(tikz_panels([("before", "A"), ("after", "B")]))
    \begin{tabular}[t]{@{}l@{}}
    \textbf{before}\\[1ex]
    A
    \end{tabular}
    \quad
    \begin{tabular}[t]{@{}l@{}}
    \textbf{after}\\[1ex]
    B
    \end{tabular}
    """
    if len(panels) == 1 and not panels[0][0]:
        return panels[0][1]
    across = across or len(panels)
    texts = [
        f"\\begin{{tabular}}[t]{{@{{}}l@{{}}}}\n{_bold(_line(caption))}\\\\[1ex]\n{text}\n\\end{{tabular}}"
        for caption, text in panels  # the line of the caption, empty or not, aligns the panels
    ]
    rows = ["\n\\quad\n".join(texts[i : i + across]) for i in range(0, len(texts), across)]
    if len(rows) == 1:
        return rows[0]
    return "\n".join(["\\begin{tabular}{@{}l@{}}", "\\\\[2ex]\n".join(rows), "\\end{tabular}"])


def tikz_table(names: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    r"""Return a table: headings over a rule, the last column behind another.

    >>> print(tikz_table(["x_1", "y"], [["0", "1"]]))
    \begin{tabular}[t]{c|c}
    \textbf{x\_1} & \textbf{y} \\ \hline
    {0} & {1}
    \end{tabular}
    """
    columns = "c" * (len(names) - 1) + "|c" if len(names) > 1 else "c"
    lines = [" & ".join(_bold(_line(name, 40)) for name in names) + r" \\ \hline"]
    lines.append(" \\\\\n".join(" & ".join(f"{{{escape_latex(_line(cell, 40))}}}" for cell in row) for row in rows))
    lines += [rf"\\ \multicolumn{{{len(names)}}}{{l}}{{{escape_latex(note)}}}"] if note else []
    return "\n".join([rf"\begin{{tabular}}[t]{{{columns}}}", *lines, r"\end{tabular}"])


def tikz_code(lines: Sequence[str]) -> str:
    r"""Return lines of code with their indentation.

    >>> print(tikz_code(["if x1 == 0:", "    return 0"]))
    \begin{tabular}[t]{@{}l@{}}
    \texttt{if~x1~==~0:} \\
    \texttt{~~~~return~0}
    \end{tabular}
    """
    shown = [rf"\texttt{{{escape_latex(_line(line)).replace(' ', '~')}}}" for line in lines]
    return "\n".join([r"\begin{tabular}[t]{@{}l@{}}", " \\\\\n".join(shown), r"\end{tabular}"])


def tikz_document(fragment: str) -> str:
    """Return a document that contains a fragment and nothing else."""
    return f"{_HEAD}{fragment}\n\\end{{document}}\n"


def _node_text(node: TikzNode, colours: Mapping[str, str]) -> str:
    options = [f"fill={colours[node.fill]}"] if node.fill else []
    options += [f"draw={colours[node.outline]}"] if node.outline else []
    options += ["dashed"] if node.is_dashed else []
    if node.condition:
        label = latex_condition(node.condition)
        label = f"${label}$" if not label.startswith(r"\text{") else label
        options.append(f"if={{{label}}}")
    lines = r"\\".join([_heading(node), *map(escape_latex, node.facts)])
    return ", ".join([f"{{{lines}}}", *options])


def _heading(node: TikzNode) -> str:
    """Return the first line in bold; a column with an index, and a question about it, in mathematics."""
    name = latex_name(node.column) if node.column else ""
    if name and not name.startswith(r"\text{"):
        before, separator, after = node.heading.partition(node.column)
        condition = latex_condition(f"{node.column}{after.removesuffix('?')}", node.column)
        if separator and r"\text{" not in condition:
            return f"{_bold(before)}$\\boldsymbol{{{condition}}}$?"
    return _bold(node.heading)


def _line(text: str, width: int = 120) -> str:
    """Return a text as one line of at most ``width`` characters: TeX cannot set a line of thousands."""
    return clip(safe(text), width)


def _bold(text: str) -> str:
    return rf"\textbf{{{escape_latex(text)}}}" if text.strip() else text
