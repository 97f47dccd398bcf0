r"""Write a sheet as Markdown and LaTeX, its key on a second page; ``PRINTERS`` lists all formats.

Everything that comes from the table is escaped. A blank is numbered, so that
answers can be sent in as ``7 = 0.97``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from treewise._lib.latex import LATEX_END, escape_latex, latex_sentence
from treewise._lib.text import escape_markdown
from treewise.explain.exercise.moodle import moodle_xml
from treewise.explain.exercise.page import exercise_page
from treewise.explain.exercise.sheet import Blank, Cell, Exercise, Grid, has_blanks, sheet_data

_KEY = "Key"
_LONG = 30  # lines of a table, or of a printed tree, that may be broken over pages


# -- Markdown -----------------------------------------------------------------------------------------------


def markdown(sheet: Exercise, key: bool = True) -> str:
    """Return headings, paragraphs and tables; the key follows under a heading of its own."""
    lines = [f"# {escape_markdown(sheet.title)}", "", *_markdown_parts(sheet, filled=False)]
    if key:
        lines += [f"# {_KEY}", "", *_markdown_parts(sheet, filled=True)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_parts(sheet: Exercise, filled: bool) -> Iterator[str]:
    for part in sheet.parts:
        if filled and not has_blanks(part.grid):
            continue
        if part.heading:
            yield from (f"## {escape_markdown(part.heading)}", "")
        for sentence in () if filled else part.sentences:
            yield from (escape_markdown(sentence), "")
        if part.code and not filled:
            yield from (*(f"    {line}" for line in part.code.splitlines()), "")
        if part.grid:
            yield from _markdown_grid(part.grid, filled)
            yield ""


def _markdown_grid(grid: Grid, filled: bool) -> Iterator[str]:
    if _is_tree(grid):  # its lines would not fit a table
        (tree,) = (cell for row in grid.rows for cell in row if isinstance(cell, Blank))
        yield from [f"    {line}" for line in tree.text.splitlines()] if filled else [f"({tree.id})"]
        return
    yield f"| {' | '.join(map(escape_markdown, grid.headings))} |"
    yield "|" + "---|" * len(grid.headings)
    for row in grid.rows:
        yield f"| {' | '.join(_markdown_cell(cell, filled) for cell in row)} |"


def _markdown_cell(cell: Cell, filled: bool) -> str:
    if isinstance(cell, str):
        return escape_markdown(cell)
    return f"({cell.id}) **{escape_markdown(cell.key_text)}**" if filled else f"({cell.id}) {escape_markdown('_____')}"


def _is_tree(grid: Grid) -> bool:
    return any(isinstance(cell, Blank) and cell.kind == "tree" for row in grid.rows for cell in row)


# -- LaTeX --------------------------------------------------------------------------------------------------

_HEAD = r"""\documentclass[a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}  % names outside the Latin alphabet: compile with lualatex or xelatex
\usepackage[margin=2cm]{geometry}
\usepackage{amsmath,textcomp,longtable}
\interlinepenalty10000  % no paragraph is broken over pages
\setlength{\parindent}{0pt}\setlength{\parskip}{4pt}\setlength{\LTleft}{0pt}\setlength{\LTpre}{4pt}
\renewcommand{\arraystretch}{1.25}
\newcommand{\blank}[1]{\textsuperscript{(#1)}\,\underline{\hspace{3.2em}}}
\newcommand{\filled}[2]{\textsuperscript{(#1)}\,\textbf{#2}}
\begin{document}
"""
_LONGEST = 80  # characters of a name: TeX cannot set a line of thousands
_LONG_WORD = re.compile(rf"\S{{{_LONGEST + 1},}}")
# D_2, ε_b, m_b of formulas, and a sign with its index
_INDEXED = re.compile(r"(\$\\varepsilon\$|\$\\alpha\$|(?<![A-Za-z])[Dhmz])\\_(b\+1|b|[0-9]+)(?![A-Za-z0-9])")


def latex(sheet: Exercise, key: bool = True) -> str:
    """Return a document; the key is on pages of its own."""
    name = r"\hfill{\normalsize\normalfont Name \underline{\hspace{6cm}}}"
    parts = [_HEAD, rf"\section*{{{_latex_text(sheet.title)}{name}}}", *_latex_parts(sheet, filled=False)]
    if key:
        parts += [r"\newpage", rf"\section*{{{_KEY}: {_latex_text(sheet.title)}}}", *_latex_parts(sheet, filled=True)]
    return "\n".join([*parts, LATEX_END]) + "\n"


def _latex_parts(sheet: Exercise, filled: bool) -> Iterator[str]:
    for part in sheet.parts:
        if filled and not has_blanks(part.grid):
            continue
        if part.heading:
            yield rf"\subsection*{{{_latex_text(part.heading)}}}"
        stays = r"\par\nopagebreak" if part.code or part.grid else ""  # with the table that follows
        for sentence in () if filled else part.sentences:
            yield f"{_latex_text(sentence)}{stays}\n"
        if part.code and not filled:
            yield _latex_code(part.code) + (r"\nopagebreak" if part.grid else "")
        if part.grid:
            yield from _latex_grid(part.grid, filled)


def _latex_grid(grid: Grid, filled: bool) -> Iterator[str]:
    if _is_tree(grid):
        (tree,) = (cell for row in grid.rows for cell in row if isinstance(cell, Blank))
        yield _latex_code(tree.text) if filled else rf"\textsuperscript{{({tree.id})}}\par\vspace*{{6cm}}"
        return
    columns, is_long = f"@{{}}{'l' * len(grid.headings)}@{{}}", len(grid.rows) > _LONG
    table = "longtable" if is_long else "tabular"  # one that fits a page is set in a single run
    yield rf"\begin{{{table}}}{{{columns}}}"
    headings = " & ".join(rf"\textbf{{{_latex_text(heading)}}}" for heading in grid.headings)
    yield headings + r" \\ \hline" + r"\endhead" * is_long
    for row in grid.rows:
        yield " & ".join(_latex_cell(cell, filled) for cell in row) + r" \\"
    yield rf"\end{{{table}}}\par"


def _latex_cell(cell: Cell, filled: bool) -> str:
    if isinstance(cell, str):
        return f"{{{_latex_text(cell)}}}"  # in a group: so that a leading [ is not read as an argument of \\
    return rf"\filled{{{cell.id}}}{{{_latex_text(cell.key_text)}}}" if filled else rf"\blank{{{cell.id}}}"


def _latex_code(text: str) -> str:
    short = (_LONG_WORD.sub(lambda word: f"{word[0][:_LONGEST]}…", line) for line in text.splitlines())
    lines = [rf"\mbox{{}}\texttt{{{escape_latex(line).replace('  ', '~~')}}}" for line in short]
    breaks = r"\interlinepenalty0 " if len(lines) > _LONG else ""
    return f"{{{breaks}" + "\\\\\n".join(lines) + "\\par}\n"  # the empty box keeps the indentation


def _latex_text(text: str) -> str:
    r"""Escape a text, and set the symbols of formulas with their indices.

    >>> print(_latex_text("m_b of a_b"))
    $m_{b}$ of a\_b
    """
    short = _LONG_WORD.sub(lambda word: f"{word[0][:_LONGEST]}…", text)
    return _INDEXED.sub(lambda match: f"${match[1].strip('$')}_{{{match[2]}}}$", latex_sentence(short))


# -- all formats --------------------------------------------------------------------------------------------


def sheet_json(sheet: Exercise) -> str:
    """Return what ``treewise check`` marks by."""
    return json.dumps(sheet_data(sheet), ensure_ascii=False, indent=1) + "\n"


PRINTERS: Mapping[str, Callable[[Exercise, bool], str]] = {
    "html": exercise_page,
    "latex": latex,
    "markdown": markdown,
    "moodle": lambda sheet, _: moodle_xml(sheet),
    "json": lambda sheet, _: sheet_json(sheet),
}
