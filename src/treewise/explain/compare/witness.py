"""A row on which two trees differ: one of the table if there is one, else one made up of natural values.

Stands on ``space.py`` and ``rows.py``. Missing values and never-seen levels are used only where the trees differ on
nothing else, and then said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.column import Column
from treewise.explain.compare.rows import ComparedTable
from treewise.explain.compare.space import MISSING, UNSEEN, InputSpace, SpaceAxis, State
from treewise.tree.regions.region import Cell, as_cell, some_value
from treewise.tree.splits import quote, say_equal


@dataclass(frozen=True)
class Witness:
    """A row as cells by column, what it needs beyond known values, and its number in the table (from 1), if any."""

    cells: dict[str, Cell]
    needs: tuple[str, ...] = ()
    row: int | None = None
    states: tuple[State, ...] = ()  # the cells of the space it stands in, if it is made up

    def words(self, space: InputSpace) -> str:
        """Say the row, column by column."""
        said = (
            say_cell(axis, self.cells[axis.name]) + " (never seen)" * (f"{safe(axis.name)} never seen" in self.needs)
            for axis in space.axes
        )
        return ", ".join(said) or "any row"


def say_cell(axis: SpaceAxis, cell: Cell) -> str:
    """Say one cell: ``GPA = 4.0``, ``x3 is true``, ``age missing``."""
    name = safe(axis.name)
    if cell is None:
        return f"{name} missing"
    if axis.encoding.kind == "boolean":
        return say_equal(name, str(cell).lower(), axis.encoding)
    if isinstance(cell, str):
        return f"{name} = {quote(cell)}"
    return f"{name} = {axis.encoding.say(cell)}"


def made_up(space: InputSpace, states: tuple[State, ...], whole: list[State]) -> Witness:
    """Make up a row that lies in a part of the space; where a column is free, take a usual value."""
    cells: dict[str, Cell] = {}
    needs: list[str] = []
    stand: list[State] = []
    for axis, state, everything in zip(space.axes, states, whole, strict=True):
        if isinstance(state, tuple) and state == everything and axis.usual(state):
            middle = len(axis.cuts) // 2  # a free number: just below one of its cuts
            state = (middle, middle, False) if axis.ends[0] <= middle <= axis.ends[1] else state
        value = some_value(axis.condition(state), axis.encoding, axis.na_values)
        cells[axis.name] = as_cell(value, axis.encoding)
        stand.append(axis.cell(value))
        if not axis.usual(state):
            needs.append(f"{safe(axis.name)} {'missing' if value is None else 'never seen'}")
    return Witness(cells, tuple(needs), None, tuple(stand))


def of_the_table(space: InputSpace, rows: ComparedTable, complete: bool) -> Witness | None:
    """Return the first row of the table on which the trees differ, one without missing and never-seen values first."""
    usual = np.flatnonzero(rows.differ & rows.complete)
    any_row = np.flatnonzero(rows.differ) if not complete else usual
    if not len(any_row):
        return None
    row = int(usual[0] if len(usual) else any_row[0])
    needs = []
    for axis, some in zip(space.axes, rows.cells, strict=True):
        if some[row] in (MISSING, UNSEEN):
            needs.append(f"{safe(axis.name)} {'missing' if some[row] == MISSING else 'never seen'}")
    cells = {}
    for axis in space.axes:
        read = [cell_at(axis, t[axis.name], row) for t, asked in zip(rows.tables, axis.asked, strict=True) if asked]
        cells[axis.name] = read[-1] if read[0] is None else read[0]
    return Witness(cells, tuple(needs), row + 1)


def cell_at(axis: SpaceAxis, column: Column, row: int) -> Cell:
    """Return a cell of the table as the space knows it."""
    if axis.categorical and axis.encoding.kind != "boolean":
        if column.is_missing()[row]:
            return None
        return column.labels[int(column.values[row])] if column.coded else column.say(row).strip('"')
    values: Any = encode.apply(axis.encoding, column, "the table")[row : row + 1]
    value = encode.decode(axis.encoding, values)[0]
    if axis.encoding.kind == "boolean":
        return None if value is None else value == "true"
    if value is not None and axis.encoding.kind == "datetime":
        return axis.encoding.say(value)
    return value
