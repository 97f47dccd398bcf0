"""The rows of a table in the space: on which of them two trees differ, and in which part each lies.

Stands beside ``walk.py``: the same question, asked of real rows.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data import encoding as encode
from treewise.data.convert import numeric_form
from treewise.data.table import Table, read
from treewise.explain.compare.answers import LeafAnswers
from treewise.explain.compare.space import MISSING, UNSEEN, InputSpace, SpaceAxis, State
from treewise.predict.predict import encode_columns, find_leaves, na_values
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ComparedTable:
    """The rows of a table: where each stops in either tree, whether the trees differ on it, and its cells."""

    tables: tuple[Table, Table]  # the table as either tree reads it
    nodes: tuple[Ints, Ints]
    differ: Mask
    apart: npt.NDArray[np.float64]  # how far the answers of each row lie apart; NaN where a tree has none
    complete: Mask  # rows without missing and never-seen values
    cells: list[Ints]  # one an axis; MISSING and UNSEEN are negative

    def __len__(self) -> int:
        return len(self.differ)

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.tables[0].name

    def allowed(self, unseen: bool, missing: bool) -> Mask:
        """Tell which rows have never-seen levels and missing values only if these are asked about."""
        inside = np.ones(len(self), np.bool_)
        for cells in self.cells:
            inside &= (cells >= 0) | (unseen & (cells == UNSEEN)) | (missing & (cells == MISSING))
        return inside

    @cached_property
    def _ordered(self) -> list[tuple[Ints, Ints, Ints]]:
        """Of each column the cells of the rows on which the trees differ: as they are, how to sort them, sorted."""
        differ = [cells[self.differ] for cells in self.cells]
        orders = [np.argsort(cells, kind="stable") for cells in differ]
        return [(cells, order, cells[order]) for cells, order in zip(differ, orders, strict=True)]

    def count(self, states: tuple[State, ...]) -> int:
        """Return how many of the rows on which the trees differ lie in a part of the space.

        The column that leaves the fewest is looked up in its order, and the others are asked of those only.
        """
        left: Ints | None = None
        for place in sorted(range(len(states)), key=lambda i: self._few(i, states[i])):
            cells, order, _ = self._ordered[place]
            if left is None:
                left = np.concatenate([order[some] for some in self._slices(place, states[place])])
            elif isinstance(state := states[place], tuple):
                here = cells[left]
                left = left[((here >= state[0]) & (here <= state[1])) | (state[2] & (here == MISSING))]
            else:
                left = left[np.isin(cells[left], list(state))]
        return int(self.differ.sum()) if left is None else len(left)

    def _slices(self, place: int, state: State) -> list[slice]:
        """Return where the cells of a state stand in a column's order."""
        runs = [(state[0], state[1])] if isinstance(state, tuple) else [(cell, cell) for cell in state]
        runs += [(MISSING, MISSING)] * (isinstance(state, tuple) and state[2])
        cells = self._ordered[place][2]
        bounds = [(np.searchsorted(cells, low), np.searchsorted(cells, high, "right")) for low, high in runs]
        return [slice(int(first), int(last)) for first, last in bounds if first < last] or [slice(0, 0)]

    def _few(self, place: int, state: State) -> int:
        """Return how many rows a column leaves."""
        return sum(some.stop - some.start for some in self._slices(place, state))


def read_rows(data: Any, a: Tree, b: Tree, space: InputSpace, answers: LeafAnswers) -> ComparedTable:
    """Send the rows of a table down two trees."""
    tables = [read(data, na_values=na_values(tree)) for tree in (a, b)]
    n = len(tables[0])
    nodes = [find_leaves(tree, encode_columns(tree, table), n) for tree, table in zip((a, b), tables, strict=True)]
    said = [np.array(answers.of[i], np.int64)[nodes[i]] for i in (0, 1)]
    pairs, place = np.unique(np.stack(said, axis=1), axis=0, return_inverse=True)
    verdicts = np.array([answers.differ(one, two) for one, two in pairs.tolist()], np.bool_)
    apart = np.array([answers.distance(one, two) for one, two in pairs.tolist()], np.float64)
    place = place.reshape(-1)
    cells = [cells_of(axis, (a, b), tables) for axis in space.axes]
    complete = np.ones(n, np.bool_)
    for some in cells:
        complete &= some >= 0
    return ComparedTable((tables[0], tables[1]), (nodes[0], nodes[1]), verdicts[place], apart[place], complete, cells)


def cells_of(axis: SpaceAxis, trees: tuple[Tree, Tree], tables: list[Table]) -> Ints:
    """Return the cell of each row in one column."""
    if axis.categorical:
        return cells_of_levels(axis, trees, tables)
    found = [cells_of_numbers(axis, table) for table, asked in zip(tables, axis.asked, strict=True) if asked]
    return np.where(found[0] == MISSING, found[-1], found[0])  # what is missing to one only stands in its own cell


def cells_of_numbers(axis: SpaceAxis, table: Table) -> Ints:
    """Return the cell of each row in a column of numbers, as one tree reads the table."""
    column = table[axis.name]
    values = encode.apply(axis.encoding, column, table.name)
    gone = encode.is_missing(axis.encoding, values)
    if all(isinstance(cut, float) for cut in axis.cuts) or axis.encoding.kind != "number":
        kind = np.float64 if axis.encoding.kind == "number" else np.int64
        cells = np.searchsorted(np.array(axis.cuts, kind), values.astype(kind), side="left")
    else:  # whole cuts past 2^53 beside doubles: only Python compares them exactly, and with the numbers as they came
        exact = values if column.holds_nothing() else numeric_form(column).values
        cells = np.array([0 if g else bisect_left(axis.cuts, v) for v, g in zip(exact.tolist(), gone, strict=True)])
    return np.where(gone, MISSING, cells).astype(np.int64)


def cells_of_levels(axis: SpaceAxis, trees: tuple[Tree, Tree], tables: list[Table]) -> Ints:
    """Return the cell of each row in a column of levels: by its codes in both trees."""
    codes = []
    for i, tree in enumerate(trees):
        table = tables[i] if axis.asked[i] else tables[1 - i]  # who does not ask has no say in what is missing
        own = next((e for e in tree.encodings if e.name == axis.name and e.categorical), None)
        known = own is not None and axis.name in table.columns
        unknown = np.full(len(table), UNSEEN)
        codes.append(encode.apply(own, table[axis.name], table.name) if own is not None and known else unknown)
    cells = {(MISSING, MISSING): MISSING, (MISSING, UNSEEN): MISSING, (UNSEEN, MISSING): MISSING}
    cells |= {pair: cell for cell, pair in enumerate(zip(*axis.codes, strict=True))}
    pairs, place = np.unique(np.stack(codes, axis=1).astype(np.int64), axis=0, return_inverse=True)
    found = np.array([cells.get((one, two), UNSEEN) for one, two in pairs.tolist()], np.int64)
    return found[place.reshape(-1)]
