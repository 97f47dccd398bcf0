"""The HTML form: a sheet that is checked while the student types, in one file that works offline.

Names and labels are data: texts are escaped, and the sheet is a block of JSON in which no character can end the block.
A Content-Security-Policy allows only the page's own script and style. With the key, the page contains the answers.
"""

from __future__ import annotations

from importlib.resources import files

from treewise._lib.html_page import html_page, script_json
from treewise._lib.result_table import escape_html
from treewise.explain.exercise.html_text import code_html, formula_html
from treewise.explain.exercise.sheet import Blank, Exercise, Grid, Part, has_blanks, sheet_data

_SCRIPTS = ("marking.js", "exercise.js")
_ASKED = ("id", "prompt", "kind", "options", "unit", "points")  # what a blank says without its answer


def exercise_page(sheet: Exercise, key: bool = True) -> str:
    """Return the page; without the key it saves answers, and does not mark them."""
    from treewise.explain.exercise.marking import NUMBER

    data = {**sheet_data(sheet), "number": NUMBER}
    if not key:
        data["blanks"] = [{name: each[name] for name in _ASKED if name in each} for each in data["blanks"]]
    script = "\n".join(_read_asset(name) for name in _SCRIPTS)
    style = _read_asset("exercise.css")
    parts = "".join(_part_html(part) for part in sheet.parts)
    answers = "".join(_part_html(part, is_key=True) for part in sheet.parts if has_blanks(part.grid)) if key else ""
    body = f"""<main>
<h1>{escape_html(sheet.title)}</h1>
{_tools(sheet, key)}
{parts}
{f"<details><summary>Show the key</summary>{answers}</details>" if key else ""}
</main>
<noscript><p>The form is checked by a script, and scripts are disabled.</p></noscript>
<script type="application/json" id="sheet">{script_json(data)}</script>
<script type="module">{script}</script>"""
    return html_page(sheet.title, style, script, body)


def _tools(sheet: Exercise, key: bool) -> str:
    """Return the bar above the sheet: name, unit, score, files."""
    units = {blank.unit for blank in sheet.blanks} - {""}
    unit = ""
    if units:
        (own,) = units
        options = "".join(f"<option{' selected' * (each == own)}>{each}</option>" for each in ("bits", "nats"))
        unit = f'<label>I write entropies in <select id="unit">{options}</select></label>\n'
    live = '<label><input type="checkbox" id="live" checked> check as I type</label>'
    return f"""<div class="tools">
<label class="name">Name <input id="name" autocomplete="name"></label>
{unit}{live if key else '<input type="checkbox" id="live" hidden>'}
<button type="button" id="save">Save answers</button>
<label class="file">Open answers <input type="file" id="open" accept=".json"></label>
<button type="button" id="print">Print</button>
<span id="score" role="status"></span>
</div>"""


def _part_html(part: Part, is_key: bool = False) -> str:
    heading = f"<h2>{escape_html(part.heading)}</h2>" if part.heading else ""
    if is_key:
        return heading + (_grid_html(part.grid, True) if part.grid else "")
    text = "".join(f"<p>{formula_html(sentence)}</p>" for sentence in part.sentences)
    code = code_html(part.code) if part.code else ""
    return f"<section>{heading}{text}{code}{_grid_html(part.grid, False) if part.grid else ''}</section>\n"


def _grid_html(grid: Grid, is_key: bool) -> str:
    blank = _key_html if is_key else _blank_html
    write = formula_html if has_blanks(grid) else escape_html  # a name of the table may look like a formula
    head = "".join(f'<th scope="col">{write(heading)}</th>' for heading in grid.headings)
    rows = "".join(
        f"<tr>{''.join(f'<td>{write(cell) if isinstance(cell, str) else blank(cell)}</td>' for cell in row)}</tr>\n"
        for row in grid.rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _blank_html(cell: Blank) -> str:
    """Return the field of a blank with its number, its verdict and a place for a remark."""
    common = f'data-blank="{cell.id}" aria-label="{escape_html(f"{cell.id}: {cell.prompt}")}"'
    common += f' aria-describedby="note-{cell.id}"'
    if cell.kind == "choice":
        options = "".join(f"<option>{escape_html(option)}</option>" for option in cell.options)
        field = f"<select {common}><option></option>{options}</select>"
    elif cell.kind == "tree":
        field = f'<textarea {common} spellcheck="false" autocapitalize="off"></textarea>'
    else:
        field = f'<input {common} class="{cell.kind}" inputmode="text" autocomplete="off" spellcheck="false">'
    mark = f'<span class="mark" id="mark-{cell.id}" aria-hidden="true"></span>'
    return (
        f'<span class="blank"><sub>{cell.id}</sub> {field}{mark}'
        f'<span class="note hidden" id="note-{cell.id}"></span></span>'
    )


def _key_html(cell: Blank) -> str:
    if cell.kind == "tree":
        return code_html(cell.text)
    return f"<sub>{cell.id}</sub> <b>{escape_html(cell.key_text)}</b>"


def _read_asset(name: str) -> str:
    return (files("treewise.explain.exercise") / "assets" / name).read_text(encoding="utf-8").strip()
