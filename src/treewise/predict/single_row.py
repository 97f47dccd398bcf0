"""Fast prediction of single rows in plain Python: microseconds, where a table takes about a hundred.

Complements ``predict/predict.py``, which walks tables in the core and decides everything unusual: the predictors here
answer for a dict or list of plain cells and return None for anything else, such as text in a numeric column, a
never-seen category, or a key that the path tests and the row omits. The table code then answers or raises, so the two
can differ in time only.

The general (table) path checks every column that the model tests, also those off this row's path, and so does
``RowReader``. The test of a node is prepared when a row first reaches it; two threads may prepare it twice, with equal
results.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from treewise.data.convert import BOOLEANS, MAX_EXACT_INT
from treewise.data.encoding import INT64_MIN
from treewise.predict.predict import refuses_missing
from treewise.tree.arrays import LEAF, Label
from treewise.tree.model import Model
from treewise.tree.splits import STAY
from treewise.tree.tree import Tree

_NONE = type(None)
_FLOATS = frozenset({float})
# Types that are cells in any column: the values that columns without a test may have.
_CELLS = frozenset(
    {float, int, str, bool, bytes, _NONE, dt.date, dt.datetime, np.float64, np.float32, np.int64, np.int32, np.bool_}
)
_SHORT = frozenset({float, np.float64, np.float32})
_WHOLE = (int, np.int64, np.int32)
_UNHANDLED = object()  # a cell that is left to the table path

# A test as (column's index in the row, cut, child below, child above, child for missing); for categories the cut is
# None and "below" a dict from level to child, filled on demand. A leaf's index is STAY.
_CompiledNode = tuple[int, Any, Any, int, int]


class SingleRowPredictor(Protocol):
    """A model prepared for single rows; every method returns None for a row that the table's way must read."""

    def leaf(self, row: Any) -> int | None:
        """Return the number of the node a row ends at."""

    def answer(self, row: Any) -> Any:
        """Return the predicted class or value."""

    def probabilities(self, row: Any) -> npt.NDArray[np.float64] | None:
        """Return the class probabilities."""


class _NotGivenError(Exception):
    """The path tests a column that the row does not mention."""


class _NotGiven:
    """A cell that the row does not mention; comparing it in a test raises."""

    def __le__(self, cut: object) -> bool:
        raise _NotGivenError


NOT_GIVEN = _NotGiven()


class RowReader:
    """Reads the cells of a single row that a model tests, if they have plain types."""

    def __init__(self, model: Model, used: list[int]) -> None:
        self.used = used
        self.kinds_and_levels = [(model.encodings[i].kind, frozenset(model.encodings[i].levels)) for i in used]
        self.numeric = [kind == "number" for kind, _ in self.kinds_and_levels]
        self.width = len(model.columns)
        self.names = [model.columns[i] for i in used]
        self.from_dict, self.from_list = _make_cell_getter(self.names), _make_cell_getter(used)
        self.only_numbers = all(self.numeric)
        self.needs_all_columns = refuses_missing(model)  # whether every column must be there
        self.is_enabled = bool(used) and not model.na_values

    def read(self, row: Any) -> Any:
        """Return the cells of the tested columns: numbers, levels, NaN or None if missing; None for other types."""
        if type(row) is dict:
            try:
                cells = self.from_dict(row)
                has_extra = len(row) > len(cells)
            except KeyError:
                cells, has_extra = tuple(row.get(name, NOT_GIVEN) for name in self.names), True
            if has_extra and not (_has_plain_keys(row) and _CELLS.issuperset(map(type, row.values()))):
                return None
        elif type(row) in (list, tuple) and len(row) == self.width:
            cells = self.from_list(row)
            if len(row) > len(cells) and not _CELLS.issuperset(map(type, row)):
                return None
        else:
            return None
        if self.only_numbers and not self.needs_all_columns and _FLOATS.issuperset(map(type, cells)):
            return cells
        return self.convert(cells)

    def convert(self, cells: tuple[Any, ...]) -> list[Any] | None:
        """Turn cells into values; None if one is not what its column usually holds, or missing where it must not be."""
        values = list(cells)
        for i, cell_type in enumerate(map(type, cells)):
            if self.numeric[i] and cell_type in _SHORT:
                if cell_type is not float:
                    values[i] = float(cells[i])
            else:
                value = values[i] = _convert_cell(cells[i], *self.kinds_and_levels[i])
                if value is _UNHANDLED:
                    return None
        has_missing = self.needs_all_columns and any(
            value is None or value is NOT_GIVEN or value != value for value in values
        )
        return None if has_missing else values


class RowPredictor(RowReader):
    """A tree prepared for single rows.

    >>> import treewise as tw
    >>> predictor = RowPredictor(tw.grow("admissions", preset="id3"))
    >>> predictor.leaf({"GPA": "3.7", "Published": "no", "University": "top20"}), predictor.leaf({"GPA": "3.2"})
    (5, None)
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        super().__init__(tree, tree.used_columns)
        self.index_of = {column: i for i, column in enumerate(self.used)}
        self.nodes: list[_CompiledNode | None] = [None] * len(tree)
        self.answers: list[Label | None] = [None] * len(tree)

    def answer(self, row: Any) -> Label | None:
        """Return the class or value of a row, or None if the table's way must read it."""
        node = self.leaf(row)
        if node is None:
            return None
        cached = self.answers[node]
        return self.answer_at(node) if cached is None else cached

    def answer_at(self, node: int) -> Label | None:
        """Return the prediction of a node, and cache it; None where there is none."""
        tree = self.tree
        if tree.task == "regression":
            self.answers[node] = float(tree.arrays.value[node])
        elif (label := int(tree.arrays.label[node])) >= 0:
            self.answers[node] = tree.classes[label]
        return self.answers[node]

    def probabilities(self, row: Any) -> npt.NDArray[np.float64] | None:
        """Return the class shares of a row's leaf, or None if the table's way must read it."""
        node = self.leaf(row)
        if node is None or not (shares := self.tree.probabilities(node)).any():
            return None
        return shares

    def leaf(self, row: Any) -> int | None:
        """Return the node at which a row ends, or None if the table's way must read it."""
        values = self.read(row) if self.is_enabled else None
        if values is None:
            return None
        try:
            return self.follow(values)
        except _NotGivenError:
            return None

    def follow(self, values: Any) -> int:
        """Walk from the root to the node where these values end."""
        node, nodes = 0, self.nodes
        while True:
            index, cut, below, above, missing = nodes[node] or self._compile(node)
            if index == STAY:
                return node
            value = values[index]
            if cut is None:
                child = below.get(value)
                if child is None:
                    child = self.child_of_level(node, below, value)
            elif value <= cut:
                child = below
            elif value > cut:
                child = above
            else:
                child = missing
            if child == STAY:
                return node
            node = child

    def _compile(self, node: int) -> _CompiledNode:
        """Return the test of a node, and cache it."""
        tree = self.tree
        column = int(tree.arrays.column[node])
        if int(tree.arrays.kind[node]) == LEAF:
            compiled: _CompiledNode = (STAY, None, None, STAY, STAY)
        elif tree.encodings[column].is_categorical:
            compiled = (self.index_of[column], None, {None: self.child(node, None)}, STAY, STAY)
        else:
            cut = tree.arrays.cut[node] if tree.encodings[column].kind == "number" else tree.arrays.cut_int[node]
            below, above = tree.children(node)[:2]
            compiled = (self.index_of[column], cut.item(), below, above, self.child(node, None))
        self.nodes[node] = compiled
        return compiled

    def child_of_level(self, node: int, children_by_level: dict[Any, int], level: Any) -> int:
        """Return the child of a level, and cache it."""
        if level is NOT_GIVEN:
            raise _NotGivenError
        child = children_by_level[level] = self.child(node, level)
        return child

    def child(self, node: int, value: str | None) -> int:
        """Return the child that takes a level or a missing value, by ``tree/splits.py``."""
        split = self.tree.split_at(node)
        assert split is not None
        branch = split.branch(value, self.tree.encodings[int(self.tree.arrays.column[node])])
        return STAY if branch is None or branch < 0 else self.tree.children(node)[branch]


def _convert_cell(cell: Any, kind: str, levels: frozenset[str]) -> Any:
    """Turn one cell into a number, a level, NaN or None where missing; _UNHANDLED for an unusual type."""
    cell_type = type(cell)
    if cell is NOT_GIVEN:
        return cell
    if cell is None:
        return math.nan if kind in ("number", "integer", "datetime") else None
    if kind == "number":
        return int(cell) if cell_type in _WHOLE and -MAX_EXACT_INT < cell < MAX_EXACT_INT else _UNHANDLED
    if kind == "integer":
        return int(cell) if cell_type in _WHOLE and INT64_MIN < cell < -INT64_MIN else _UNHANDLED
    if kind == "boolean":
        return BOOLEANS[bool(cell)] if cell_type in (bool, np.bool_) else _UNHANDLED
    return cell if cell_type is str and cell in levels else _UNHANDLED


def _make_cell_getter(keys: list[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gets some cells of a row, always as a tuple."""
    return itemgetter(*keys) if len(keys) > 1 else lambda row: tuple(row[key] for key in keys)


def _has_plain_keys(row: dict[Any, Any]) -> bool:
    """Return whether all keys are text that can be encoded."""
    try:
        "".join(row).encode()
    except (TypeError, UnicodeEncodeError):
        return False
    return True
