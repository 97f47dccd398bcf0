"""Write a sheet as Moodle XML: one question with embedded answers (cloze), and an essay for a tree to be typed.

Moodle marks each blank by itself: numbers with their tolerance in the unit of the sheet, without fractions and without
errors carried forward.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from treewise.explain.exercise.html_text import code_html, formula_html
from treewise.explain.exercise.sheet import Cell, Exercise, Grid, Part

_ROUNDING = 1e-6
_SPECIAL = "&<>\"'{}~#\\/=%:*"  # in answers: HTML, and the grammar of embedded answers


def moodle_xml(sheet: Exercise) -> str:
    """Return a question bank to import."""
    quiz = ET.Element("quiz")
    question = _question(quiz, "cloze", sheet)
    _text(question, "questiontext", "".join(_part_html(part) for part in sheet.parts), html=True)
    for blank in sheet.blanks:
        if blank.kind == "tree":
            essay = _question(quiz, "essay", sheet, ": the tree")
            _text(essay, "questiontext", f"<p>{_escaped(f'({blank.id}) {blank.prompt}')}</p>", html=True)
            _text(essay, "graderinfo", code_html(blank.text), html=True)
            for name, value in {
                "defaultgrade": blank.points,
                "responseformat": "monospaced",
                "responserequired": 1,
                "responsefieldlines": 15,
                "attachments": 0,
            }.items():
                ET.SubElement(essay, name).text = str(value)
    ET.indent(quiz)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(quiz, encoding="unicode")}\n'


def _question(quiz: ET.Element, kind: str, sheet: Exercise, suffix: str = "") -> ET.Element:
    question = ET.SubElement(quiz, "question", type=kind)
    _text(question, "name", f"{sheet.title} ({sheet.source}, level {sheet.level}){suffix}")
    return question


def _text(parent: ET.Element, name: str, content: str, html: bool = False) -> None:
    element = ET.SubElement(parent, name, {"format": "html"} if html else {})
    ET.SubElement(element, "text").text = content


def _part_html(part: Part) -> str:
    heading = f"<h4>{_escaped(part.heading)}</h4>" if part.heading else ""
    text = "".join(f"<p>{_escaped(sentence)}</p>" for sentence in part.sentences)
    code = _without_braces(code_html(part.code)) if part.code else ""
    return heading + text + code + (_grid_html(part.grid) if part.grid else "")


def _grid_html(grid: Grid) -> str:
    head = "".join(f"<th>{_escaped(heading)}</th>" for heading in grid.headings)
    rows = "".join(f"<tr>{''.join(f'<td>{_cell_html(cell)}</td>' for cell in row)}</tr>" for row in grid.rows)
    return f'<table class="generaltable"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _cell_html(cell: Cell) -> str:
    if isinstance(cell, str):
        return _escaped(cell)
    if cell.kind == "tree":
        return _escaped(f"({cell.id}) in the question that follows")
    if isinstance(cell.value, tuple):
        options = "~".join(("=" if option in cell.value else "") + _option(option) for option in cell.options)
        return f"{{1:MULTICHOICE:{options}}}"
    assert isinstance(cell.value, float)
    near = cell.tolerance + (_ROUNDING if cell.kind == "number" else 0)
    return f"{{1:NUMERICAL:={_plain(cell.value)}:{_plain(near)}}}"


def _plain(value: float) -> str:
    """Write a number without exponent.

    >>> _plain(0.5), _plain(6.0), _plain(1e-6), _plain(-0.0)
    ('0.5', '6', '0.000001', '0')
    """
    return f"{value + 0.0:.6f}".rstrip("0").rstrip(".")


def _escaped(text: str) -> str:
    """Escape text around the blanks."""
    return _without_braces(formula_html(text))


def _without_braces(html: str) -> str:
    """Escape braces, in which Moodle looks for answers."""
    return html.replace("{", "&#123;").replace("}", "&#125;")


def _option(text: str) -> str:
    """Write an option of a choice, its special characters as entities."""
    return "".join(f"&#{ord(ch)};" if ch in _SPECIAL else ch for ch in text)
