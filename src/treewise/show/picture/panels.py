"""Optional panels beside a tree: the rows of a table, and the tree as code (chapter 8, figure 8.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.checks import check_choice
from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.column import Column
from treewise.data.table import read
from treewise.errors import Param, ParameterError
from treewise.formats.export.if_else import write
from treewise.show.picture.scene import (
    CODE_WIDTH,
    FRAME,
    MUTED_TEXT,
    TEXT,
    BoxShape,
    LineShape,
    Part,
    TextShape,
    VectorScene,
    clip_to_width,
    text_width,
)
from treewise.show.picture.tikz import tikz_code, tikz_table
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

_SIZE, _LINE_HEIGHT, _PADDING = 12.0, 20.0, 9.0
_MAX_CELL_WIDTH, _MAX_ROWS, _MAX_LINES = 120.0, 24, 40
_BESIDE = ("table", "code")


@dataclass(frozen=True)
class SidePanel:
    """The panels beside a tree, as shapes and in LaTeX."""

    scene: VectorScene
    tikz: str


def side_panel(tree: Tree, name: str, data: Any) -> SidePanel:
    """Return a panel beside a tree: its ``"code"``, or the ``"table"`` of the data."""
    check_choice("beside", name, _BESIDE)
    if name == "code":
        lines = [line for line in write(tree, language="python").rstrip().split("\n") if not line.startswith("#")]
        more = len(lines) - _MAX_LINES
        lines = [*lines[:_MAX_LINES], *[f"# … {plural(more, 'more line')}"] * (more > 0)]
        return SidePanel(code_scene(lines), tikz_code(lines))
    if data is None:
        raise ParameterError('the "table" needs one, ' + Param("data", ...) + ".", parameter="beside")
    table = read(data, na_values=tree.na_values)
    used = {tree.columns[i] for i in tree.arrays.column[tree.arrays.kind != LEAF].tolist()}
    target = tree.target.name if tree.target.name in table.columns else table.target
    names = [column for column in table.columns if column in used]
    names += [target] if target is not None and target in table.columns else []
    more = len(table) - _MAX_ROWS
    cells = [_first_cells(table[column]) for column in names]
    note = f"… {plural(more, 'more row')}" if more > 0 else ""
    return SidePanel(table_scene(names, cells, note), tikz_table(names, list(zip(*cells, strict=True)), note))


def _first_cells(column: Column) -> list[str]:
    first = encode.fit_encoding(column.take(np.arange(min(len(column), _MAX_ROWS))))
    values = encode.decode(first.encoding, first.values)
    return ["" if value is None else safe(first.encoding.format(value)) for value in values]


def table_scene(names: Sequence[str], cells: Sequence[Sequence[str]], note: str = "") -> VectorScene:
    """Return a table: headings over a rule, the last column behind another."""
    headings = [clip_to_width(safe(name), _MAX_CELL_WIDTH, _SIZE, bold=True) for name in names]
    clipped = [[clip_to_width(cell, _MAX_CELL_WIDTH, _SIZE) for cell in column] for column in cells]
    widths = [
        max([text_width(heading, _SIZE, bold=True), *(text_width(cell, _SIZE) for cell in column)]) + 2 * _PADDING
        for heading, column in zip(headings, clipped, strict=True)
    ]
    width, n_rows = sum(widths), max(map(len, clipped), default=0)
    height = _LINE_HEIGHT * (n_rows + 1) + 8
    parts: list[Part] = [LineShape(((0, _LINE_HEIGHT + 2, width, _LINE_HEIGHT + 2),), TEXT, 1.2)]
    if len(names) > 1:
        parts.append(LineShape(((width - widths[-1], 0, width - widths[-1], height - 6),), FRAME, 1.2))
    left = 0.0
    for heading, column, column_width in zip(headings, clipped, widths, strict=True):
        middle = left + column_width / 2
        parts.append(TextShape(middle, 15, heading, _SIZE, True, TEXT, "middle"))
        for i, cell in enumerate(column, 1):
            parts.append(TextShape(middle, 17 + i * _LINE_HEIGHT, cell, _SIZE, False, TEXT, "middle"))
        left += column_width
    if note:
        parts.append(TextShape(0, height + 10, note, _SIZE - 1, False, MUTED_TEXT))
        width, height = max(width, text_width(note, _SIZE - 1)), height + 16
    return VectorScene(math.ceil(width), math.ceil(height), "table", (BoxShape(0, 0, width, height), *parts))


def code_scene(lines: Sequence[str]) -> VectorScene:
    """Return lines of code in a font of fixed width."""
    letter = CODE_WIDTH * _SIZE
    parts: list[Part] = []
    for i, line in enumerate(lines):
        code = line.lstrip(" ")
        x, y = (len(line) - len(code)) * letter, 15 + i * _LINE_HEIGHT * 0.9
        parts.append(TextShape(x, y, code, _SIZE, False, TEXT, is_code=True))
    width, height = max(map(len, lines)) * letter, 0.9 * _LINE_HEIGHT * len(lines) + 6
    return VectorScene(math.ceil(width), math.ceil(height), "code", (BoxShape(0, 0, width, height), *parts))
