"""The predictions of two trees in comparable form: of their nodes, and of the rows of a table.

Used by ``compare.py``. Classes are compared by label, in any order; a node without a prediction
(an inner node of a hand-written tree) differs from every other.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_percent, format_rounded, safe
from treewise.data import encoding as encode
from treewise.data.convert import to_numeric
from treewise.data.table import Table, read
from treewise.errors import Param, ParameterError, join_few
from treewise.explain.compare.input_space import MISSING, UNSEEN, CellSet, InputSpace, SpaceAxis
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities, node_values
from treewise.predict.predict import answering_nodes, encode_columns, find_leaves
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_NO_PREDICTION = -1
_WHAT = ("prediction", "probability")


@dataclass(frozen=True, eq=False)
class NodePredictions:
    """The distinct predictions of two trees, numbered: ``vectors[i]`` is prediction i."""

    vectors: list[tuple[float, ...]]
    by_node: tuple[list[int], list[int]]  # the number of each node's prediction, in either tree
    labels: tuple[Any, ...]  # the classes; () for numbers
    what: str
    tolerance: float = 0.0

    def differ(self, first: int, second: int) -> bool:
        """Tell whether two predictions are further apart than the tolerance."""
        return first != second and not self.distance(first, second) <= self.tolerance

    def distance(self, first: int, second: int) -> float:
        """Return the distance of two predictions (1 or more for two classes); NaN if one is missing."""
        if first == second or _NO_PREDICTION in (first, second):
            return 0.0 if first == second else math.nan
        pairs = zip(self.vectors[first], self.vectors[second], strict=True)
        return max(abs(x - y) for x, y in pairs)

    def value(self, prediction: int) -> Any:
        """Return a prediction as data: a label, a number, or the probability of each class."""
        if prediction == _NO_PREDICTION:
            return None
        vector = self.vectors[prediction]
        if not self.labels:
            return vector[0]
        return self.labels[int(vector[0])] if self.what == "prediction" else dict(zip(self.labels, vector, strict=True))

    def text(self, prediction: int) -> str:
        """Return a prediction as text; for two classes, the probability of the positive one."""
        value = self.value(prediction)
        if value is None:
            return "no prediction"
        if isinstance(value, dict):
            shares = list(value.items())[1:] if len(value) == 2 else [(k, v) for k, v in value.items() if v > 0]
            return ", ".join(f"{safe(k)} {format_percent(v)} %" for k, v in shares)
        return safe(value) if self.labels else format_rounded(value)


def number_predictions(a: Tree, b: Tree, what: str, tolerance: float, names: tuple[str, str]) -> NodePredictions:
    """Number the predictions of two trees; refuse trees whose predictions cannot be compared."""
    if what not in _WHAT:
        raise ParameterError(f"must be one of {', '.join(_WHAT)}.", parameter="what", value=what)
    if not 0 <= tolerance < float("inf"):
        raise ParameterError("must be 0 or more, and finite.", parameter="tolerance", value=tolerance)
    if a.task != b.task:
        kinds = {"classification": "classes", "regression": "numbers"}
        raise ParameterError(
            f"{names[0]} predicts {kinds[a.task]} and {names[1]} {kinds[b.task]}: they cannot be compared."
        )
    if a.task == "regression" and what == "probability":
        raise ParameterError(
            Param("what", "probability") + " is for classes; these trees predict numbers.", hint="Leave it out."
        )
    if tolerance and a.task == "classification" and what == "prediction":
        raise ParameterError(
            "tolerance is for numbers and probabilities; classes are equal or not.",
            hint="Leave it out, or use " + Param("what", "probability") + ".",
        )
    labels = tuple(dict.fromkeys((*a.classes, *b.classes)))
    if a.task == "classification" and not set(a.classes) & set(b.classes):
        first, second = (join_few(list(map(safe, tree.classes))) for tree in (a, b))
        raise ParameterError(f"{names[0]} predicts {first} and {names[1]} {second}: they have no class in common.")
    numbers: dict[tuple[float, ...], int] = {}
    by_node = []
    for tree in (a, b):
        vectors = _prediction_vectors(tree, labels, what)
        absent: Any = np.isnan(vectors).any(axis=1)
        by_node.append(
            [
                _NO_PREDICTION if none else numbers.setdefault(tuple(vector), len(numbers))
                for none, vector in zip(absent, vectors.tolist(), strict=True)
            ]
        )
    return NodePredictions(list(numbers), (by_node[0], by_node[1]), labels, what, tolerance)


def _prediction_vectors(tree: Tree, labels: tuple[Any, ...], what: str) -> Floats:
    """Return the prediction for a row that stops at each node, one line per node; NaN where there is none."""
    answering = answering_nodes(tree, np.arange(len(tree)))
    if tree.task == "regression":
        return np.asarray(node_values(tree, answering, LeafProbabilities()), np.float64)[:, None]
    labels_at = tree.arrays.label[answering]
    label_index = np.array([labels.index(c) for c in tree.classes], np.int64)
    if what == "prediction":
        return np.where(labels_at >= 0, label_index[labels_at], np.nan)[:, None]
    result = np.zeros((len(tree), len(labels)))
    result[:, label_index] = class_probabilities(tree, answering, LeafProbabilities())
    result[labels_at < 0] = np.nan
    return result


# -- the rows of a table --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComparedTable:
    """The rows of a table: the node at which each stops in either tree, whether the trees differ, and its cells."""

    tables: tuple[Table, Table]  # the table as either tree reads it
    nodes: tuple[Ints, Ints]
    differ: Mask
    distance: Floats  # between the predictions for each row; NaN where a tree has none
    complete: Mask  # rows without missing and unseen values
    cells: list[Ints]  # one array per axis; MISSING and UNSEEN are negative

    def __len__(self) -> int:
        return len(self.differ)

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.tables[0].name

    def allowed(self, unseen: bool, missing: bool) -> Mask:
        """Tell which rows contain no unseen level and no missing value, unless these are allowed."""
        inside = np.ones(len(self), np.bool_)
        for cells in self.cells:
            inside &= (cells >= 0) | (unseen & (cells == UNSEEN)) | (missing & (cells == MISSING))
        return inside

    @cached_property
    def _sorted(self) -> list[tuple[Ints, Ints, Ints]]:
        """For each column, the cells of the differing rows: as they are, their sort order, sorted."""
        differ = [cells[self.differ] for cells in self.cells]
        orders = [np.argsort(cells, kind="stable") for cells in differ]
        return [(cells, order, cells[order]) for cells, order in zip(differ, orders, strict=True)]

    def count(self, box: tuple[CellSet, ...]) -> int:
        """Return how many of the differing rows lie in a box.

        The most selective column is looked up by binary search; the others filter its rows.
        """
        rows: Ints | None = None
        for i in sorted(range(len(box)), key=lambda i: sum(s.stop - s.start for s in self._slices(i, box[i]))):
            cells, order, _ = self._sorted[i]
            if rows is None:
                rows = np.concatenate([order[some] for some in self._slices(i, box[i])])
            elif isinstance(part := box[i], tuple):
                left = cells[rows]
                rows = rows[((left >= part[0]) & (left <= part[1])) | (part[2] & (left == MISSING))]
            else:
                rows = rows[np.isin(cells[rows], list(part))]
        return int(self.differ.sum()) if rows is None else len(rows)

    def _slices(self, column: int, part: CellSet) -> list[slice]:
        """Return where the given cells stand in a column's sort order."""
        runs = [(part[0], part[1])] if isinstance(part, tuple) else [(cell, cell) for cell in part]
        runs += [(MISSING, MISSING)] * (isinstance(part, tuple) and part[2])
        cells = self._sorted[column][2]
        bounds = [(np.searchsorted(cells, low), np.searchsorted(cells, high, "right")) for low, high in runs]
        return [slice(int(first), int(last)) for first, last in bounds if first < last] or [slice(0, 0)]


def compare_rows(data: Any, a: Tree, b: Tree, space: InputSpace, predictions: NodePredictions) -> ComparedTable:
    """Send the rows of a table through two trees."""
    tables = [read(data, na_values=tree.na_values) for tree in (a, b)]
    n = len(tables[0])
    nodes = [find_leaves(tree, encode_columns(tree, table), n) for tree, table in zip((a, b), tables, strict=True)]
    numbers = [np.array(predictions.by_node[i], np.int64)[nodes[i]] for i in (0, 1)]
    pairs, inverse = np.unique(np.stack(numbers, axis=1), axis=0, return_inverse=True)
    differ = np.array([predictions.differ(first, second) for first, second in pairs.tolist()], np.bool_)
    distance = np.array([predictions.distance(first, second) for first, second in pairs.tolist()], np.float64)
    inverse = inverse.reshape(-1)
    cells = [_cells_of_rows(axis, (a, b), tables) for axis in space.axes]
    complete = np.ones(n, np.bool_)
    for some in cells:
        complete &= some >= 0
    return ComparedTable(
        (tables[0], tables[1]), (nodes[0], nodes[1]), differ[inverse], distance[inverse], complete, cells
    )


def _cells_of_rows(axis: SpaceAxis, trees: tuple[Tree, Tree], tables: list[Table]) -> Ints:
    if axis.is_categorical:
        return _cells_of_levels(axis, trees, tables)
    cells = [_cells_of_numbers(axis, table) for table, used in zip(tables, axis.used_by, strict=True) if used]
    return np.where(cells[0] == MISSING, cells[-1], cells[0])  # a value missing to one tree only has its own cell


def _cells_of_numbers(axis: SpaceAxis, table: Table) -> Ints:
    column = table[axis.name]
    encoded_values = encode.encode_column(axis.encoding, column, table.name)
    missing = encode.is_missing(axis.encoding, encoded_values)
    if all(isinstance(cut, float) for cut in axis.cuts) or axis.encoding.kind != "number":
        kind = np.float64 if axis.encoding.kind == "number" else np.int64
        cells = np.searchsorted(np.array(axis.cuts, kind), encoded_values.astype(kind), side="left")
    else:  # integer cuts past 2^53 beside doubles: only Python compares them exactly, with the numbers as given
        exact = encoded_values if column.is_all_missing() else to_numeric(column).values
        cells = np.array([0 if m else bisect_left(axis.cuts, v) for v, m in zip(exact.tolist(), missing, strict=True)])
    return np.where(missing, MISSING, cells).astype(np.int64)


def _cells_of_levels(axis: SpaceAxis, trees: tuple[Tree, Tree], tables: list[Table]) -> Ints:
    codes = []
    for i, tree in enumerate(trees):
        table = tables[i] if axis.used_by[i] else tables[1 - i]  # a tree that does not use it cannot call it missing
        encoding = next((e for e in tree.encodings if e.name == axis.name and e.is_categorical), None)
        is_known = encoding is not None and axis.name in table.columns
        unknown = np.full(len(table), UNSEEN)
        codes.append(
            encode.encode_column(encoding, table[axis.name], table.name)
            if encoding is not None and is_known
            else unknown
        )
    cells = {(MISSING, MISSING): MISSING, (MISSING, UNSEEN): MISSING, (UNSEEN, MISSING): MISSING}
    cells |= {pair: cell for cell, pair in enumerate(zip(*axis.codes, strict=True))}
    pairs, inverse = np.unique(np.stack(codes, axis=1).astype(np.int64), axis=0, return_inverse=True)
    cell_of_pair = np.array([cells.get((first, second), UNSEEN) for first, second in pairs.tolist()], np.int64)
    return cell_of_pair[inverse.reshape(-1)]
