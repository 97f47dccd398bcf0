"""The rows of a table in the space: on which of them two trees differ, and in which part each lies.

Stands beside ``walk.py``: the same question, asked of real rows.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import encode
from treewise.explain.compare.answers import Answers
from treewise.explain.compare.space import MISSING, UNSEEN, Axis, Space, State
from treewise.predict import encoded, find_nodes, na_values
from treewise.table import Table, read
from treewise.tree import Tree

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table: where each stops in either tree, whether the trees differ on it, and its cells."""

    table: Table
    nodes: tuple[Ints, Ints]
    differ: Mask
    apart: npt.NDArray[np.float64]  # how far the answers of each row lie apart; NaN where a tree has none
    complete: Mask  # rows without missing and never-seen values
    cells: list[Ints]  # one an axis; MISSING and UNSEEN are negative

    def __len__(self) -> int:
        return len(self.differ)

    def within(self, states: tuple[State, ...]) -> Mask:
        """Tell which rows lie in a part of the space."""
        inside = np.ones(len(self), np.bool_)
        for cells, state in zip(self.cells, states, strict=True):
            if isinstance(state, tuple):
                inside &= ((cells >= state[0]) & (cells <= state[1])) | (state[2] & (cells == MISSING))
            else:
                inside &= np.isin(cells, list(state))
        return inside


def read_rows(data: Any, a: Tree, b: Tree, space: Space, answers: Answers) -> Rows:
    """Send the rows of a table down two trees."""
    tables = [read(data, na_values=na_values(tree)) for tree in (a, b)]
    n = len(tables[0])
    nodes = [find_nodes(tree, encoded(tree, table), n) for tree, table in zip((a, b), tables, strict=True)]
    said = [np.array(answers.of[i], np.int64)[nodes[i]] for i in (0, 1)]
    pairs, place = np.unique(np.stack(said, axis=1), axis=0, return_inverse=True)
    verdicts = np.array([answers.differ(one, two) for one, two in pairs.tolist()], np.bool_)
    apart = np.array([answers.distance(one, two) for one, two in pairs.tolist()], np.float64)
    place = place.reshape(-1)
    cells = [cells_of(axis, (a, b), tables) for axis in space.axes]
    complete = np.ones(n, np.bool_)
    for some in cells:
        complete &= some >= 0
    return Rows(tables[0], (nodes[0], nodes[1]), verdicts[place], apart[place], complete, cells)


def cells_of(axis: Axis, trees: tuple[Tree, Tree], tables: list[Table]) -> Ints:
    """Return the cell of each row in one column."""
    if axis.categorical:
        return cells_of_levels(axis, trees, tables)
    which = next(i for i, tree in enumerate(trees) if axis.name in tree.columns)
    column = tables[which][axis.name]
    values = encode.apply(axis.encoding, column, tables[which].name)
    gone = encode.is_missing(axis.encoding, values)
    if all(isinstance(cut, float) for cut in axis.cuts) or axis.encoding.kind != "number":
        kind = np.float64 if axis.encoding.kind == "number" else np.int64
        cells = np.searchsorted(np.array(axis.cuts, kind), values.astype(kind), side="left")
    else:  # whole cuts past 2^53 beside doubles: only Python compares them exactly
        cells = np.array([0 if g else bisect_left(axis.cuts, v) for v, g in zip(values.tolist(), gone, strict=True)])
    return np.where(gone, MISSING, cells).astype(np.int64)


def cells_of_levels(axis: Axis, trees: tuple[Tree, Tree], tables: list[Table]) -> Ints:
    """Return the cell of each row in a column of levels: by its codes in both trees."""
    codes = []
    for tree, table in zip(trees, tables, strict=True):
        own = next((e for e in tree.encodings if e.name == axis.name and e.categorical), None)
        known = own is not None and axis.name in table.columns
        unknown = np.full(len(table), UNSEEN)
        codes.append(encode.apply(own, table[axis.name], table.name) if own is not None and known else unknown)
    cells = {pair: cell for cell, pair in enumerate(zip(*axis.codes, strict=True))}
    cells |= {(MISSING, MISSING): MISSING, (MISSING, UNSEEN): MISSING, (UNSEEN, MISSING): MISSING}
    pairs, place = np.unique(np.stack(codes, axis=1).astype(np.int64), axis=0, return_inverse=True)
    found = np.array([cells.get((one, two), UNSEEN) for one, two in pairs.tolist()], np.int64)
    return found[place.reshape(-1)]
