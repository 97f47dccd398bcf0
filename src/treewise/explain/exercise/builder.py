"""Shared by all exercise topics: quantities that are given or requested, and the table on the sheet.

A quantity is a cell and the formula by which others refer to it: the blank if it is asked for, else what it is computed
from, so that a formula reaches through everything the sheet gives to what the student wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.data.table import Table
from treewise.errors import DataError, ParameterError
from treewise.explain.exercise.formula import Formula
from treewise.explain.exercise.sheet import Blank, Cell, Grid, Part
from treewise.tree.tree import Tree

MAX_ROWS = 40  # of a table that fits a sheet
RESULTS, COUNTS, EVERYTHING = 1, 2, 3  # levels: what is left blank
_DECIMALS = 4


class Quantity(NamedTuple):
    """A cell, and the formula that stands for it in others."""

    cell: Cell
    ref: Formula


@dataclass(frozen=True)
class SheetOptions:
    """The lecturer's choices."""

    level: int = RESULTS
    nodes: int = 1
    unit: str = "bits"
    per: str = "row"
    tolerance: float = 0.005


def count(is_asked: bool, id: str, prompt: str, value: float, formula: Formula | None = None) -> Quantity:
    """Return a number of rows."""
    text = f"{value:g}"
    if not is_asked:
        return Quantity(text, value if formula is None else formula)
    return Quantity(Blank(id, prompt, "count", float(value), text, formula), id)


def number(
    is_asked: bool,
    id: str,
    prompt: str,
    value: float,
    formula: Formula,
    tolerance: float,
    unit: str = "",
    text: str = "",
) -> Quantity:
    """Return a number that follows from others; the key as it is printed is always near enough."""
    text = text or number_text(value)
    if not is_asked:
        return Quantity(text, formula)
    near = max(tolerance, 0.5 * 10**-_DECIMALS)
    return Quantity(Blank(id, prompt, "number", float(value), text, formula, near, unit), id)


def choice(
    id: str,
    prompt: str,
    right: Sequence[str],
    options: Sequence[str],
    formula: Formula | None = None,
    near: float = 0.0,
) -> Blank:
    """Return a choice among options, of which several may be right."""
    return Blank(id, prompt, "choice", tuple(right), right[0], formula, near, options=tuple(options))


def number_text(value: float) -> str:
    """Write a number as keys print it.

    >>> number_text(0.97096), number_text(1.0), number_text(1e-17), number_text(-2.5)
    ('0.9710', '1', '0', '−2.5000')
    """
    near = round(value)
    text = str(near) if abs(value - near) < 1e-9 else f"{value:.{_DECIMALS}f}"
    return text.replace("-", "−")


def impurity(criterion: str, unit: str, counts: Sequence[Formula]) -> Formula:
    """Return the formula of the impurity of class counts, in the unit of the sheet."""
    formula: Formula = (criterion, *counts)
    return ("*", 0.6931471805599453, formula) if criterion == "entropy" and unit == "nats" else formula


def label_text(label: object) -> str:
    """Write a class or a name on a sheet; an empty one in quotes."""
    return safe(label) or '""'


# -- tables -------- ---------------------------------------------------------------------------------------


def check_table(table: Table, what: str = "table") -> None:
    """Refuse a table that does not fit a sheet."""
    if len(table) > MAX_ROWS:
        raise DataError(
            f"{safe(table.name)} has {plural(len(table), 'row')}, and a sheet to be worked by hand holds {MAX_ROWS}."
            f" Give a smaller {what}, or let one be made (random)."
        )
    for column in table.columns.values():
        if missing := int(column.is_missing().sum()):
            raise DataError(
                f'column "{safe(column.name)}" of {safe(table.name)} has {plural(missing, "missing value")}; a sheet to'
                " be worked by hand needs a table without any."
            )


def cell_texts(table: Table, column: str, encoding: Encoding | None = None) -> list[str]:
    """Return the cells of a column as they are printed; with an encoding, as the tree sees them."""
    encoding = encoding or encode.fit_encoding(table[column], table.kinds.get(column)).encoding
    values = encode.decode(encoding, encode.encode_column(encoding, table[column], table.name))
    return [label_text("" if value is None else encoding.format(value)) for value in values]


def data_part(table: Table, encodings: Sequence[Encoding], target: str, title: str) -> Part:
    """Return the table as a part of the sheet, its rows numbered from 1."""
    by_name = {encoding.name: encoding for encoding in encodings}
    columns = [*(name for name in table.columns if name in by_name), target]
    cells = [cell_texts(table, name, by_name.get(name)) for name in columns]
    rows = [(str(i + 1), *row) for i, row in enumerate(zip(*cells, strict=True))]
    title_text = safe(table.title)
    sentences = (f"{title_text[0].upper()}{title_text[1:]}.",) if table.title else ()
    return Part(title, sentences, grid=Grid(("row", *map(label_text, columns)), tuple(rows)))


def row_numbers(rows: Sequence[int]) -> str:
    """Write the numbers of rows, with ranges.

    >>> row_numbers([1, 2, 3, 5, 7, 8])
    '1–3, 5, 7, 8'
    """
    runs: list[list[int]] = []
    for row in rows:
        if runs and row == runs[-1][-1] + 1:
            runs[-1].append(row)
        else:
            runs.append([row])
    texts = []
    for run in runs:
        texts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else [str(row) for row in run]
    return ", ".join(texts)


def require_classes(tree: Tree) -> None:
    """Refuse a tree that predicts numbers."""
    if tree.task != "classification":
        raise ParameterError(
            f'an exercise is about classes, and "{safe(tree.target.name)}" is a number.',
            hint='Name a target of classes, or declare it: kinds={...: "nominal"}.',
        )
