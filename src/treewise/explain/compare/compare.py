"""Decide exactly whether two trees are equivalent, and if not, where they differ (CS221 section 5, question 3).

The entry point of the package: two trees in, a ``TreeComparison`` out.

    input_space.py      the columns used by either tree, discretised into cells that no split divides
    predictions.py      the predictions of nodes, and of the rows of a table, in comparable form
    joint_traversal.py  both trees traversed at once: the boxes of cells in which they differ
    structure_diff.py   how the structure changed
    comparison.py       the result, as data and text
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import Any, NamedTuple

import numpy as np

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.column import Column
from treewise.data.encoding import Encoding
from treewise.data.table import Table
from treewise.errors import ParameterError, TreewiseError, brief
from treewise.evaluate import evaluate
from treewise.explain.compare.comparison import ComparedTree, DifferingRegion, Distance, TreeComparison, TreeError
from treewise.explain.compare.input_space import (
    MISSING,
    UNSEEN,
    CellSet,
    InputSpace,
    SpaceAxis,
    count_levels,
    has_known_value,
)
from treewise.explain.compare.joint_traversal import (
    BranchTable,
    DifferingBox,
    count_differing_cases,
    differing_boxes,
    merge_boxes,
)
from treewise.explain.compare.predictions import ComparedTable, NodePredictions, compare_rows, number_predictions
from treewise.explain.compare.structure_diff import structure_changes
from treewise.tree.arrays import UNNAMED
from treewise.tree.regions.region import Cell, Condition, Levels, Region, as_cell, example_value
from treewise.tree.splits import equality_text, quote
from treewise.tree.tree import Tree

__all__ = ["TreeComparison", "compare"]

_MAX_BOXES = 5000  # boxes that are collected, merged and listed
_MAX_LISTED = 3  # levels that are always listed one by one
_MAX_CHANGES = 1000  # structural changes that are kept


def compare(
    a: Tree,
    b: Tree,
    data: Any = None,
    *,
    what: str = "prediction",
    tolerance: float = 0.0,
    complete: bool = False,
    target: str | None = None,
    names: tuple[str, str] = ("first", "second"),
) -> TreeComparison:
    """Decide whether two trees make the same prediction for every row, and report where they do not.

    The answer is exact for any kind of split and covers every possible row: with missing values, with levels neither
    tree has seen, with numbers in no table. Columns are matched by name; classes by label, in any order.
    Cells are read as each tree reads them: a value in the ``na_values`` of one tree may be a value to the other.

    >>> import treewise as tw
    >>> officials = tw.parse('''
    ... GPA = 4.0
    ...     Recommendation = good -> P
    ...     Recommendation = normal
    ...         University = top10 -> N
    ...         University = top20 -> P
    ...         University = top30 -> N
    ... GPA = 3.7
    ...     Published = yes -> P
    ...     Published = no
    ...         University = top10 -> N
    ...         University = top20 -> P
    ...         University = top30 -> N
    ... GPA = 3.5 -> N''')
    >>> learned = tw.grow("admissions", preset="id3")
    >>> comparison = tw.compare(officials, learned, names=("officials", "learned"))
    >>> comparison.equivalent, comparison.differ_on, comparison.cases
    (False, 4, 36)
    >>> comparison.witness
    {'GPA': '4.0', 'Recommendation': 'normal', 'University': 'top10', 'Published': 'no'}
    >>> comparison.where[0].text
    'GPA = 4.0 and Recommendation = normal and University in {top10, top30}'
    >>> tw.compare(learned, learned).equivalent
    True

    Parameters
    ----------
    a, b : trees, from ``grow``, ``load`` or ``parse``.
    data : a table: count its rows on which the trees differ, and use one of them as the witness.
    what : ``"prediction"``, or ``"probability"``: equal predictions may come with different probabilities.
    tolerance : how far apart two numbers or probabilities may be and still count as equal.
    complete : consider only rows without missing and unseen values.
    target : the column of data with the true labels, for the error of both trees (default: the trees' target).
    names : names of the trees, for the report.
    """
    for name, tree in zip("ab", (a, b), strict=True):
        if not isinstance(tree, Tree):
            raise ParameterError(f"{name}: {brief(tree)} is not a tree.", hint="Trees come from grow, load or parse.")
    if isinstance(names, str) or len(names) != 2:
        raise ParameterError('must be two, such as ("old", "new").', parameter="names", value=names)
    return TreeComparer(a, b, what, tolerance, complete, names).compare(data, target)


class Scope(NamedTuple):
    """The rows that are considered, beyond complete ones: those with unseen levels, those with missing values."""

    unseen: bool = False
    missing: bool = False


class TreeComparer:
    """Two trees in their common input space."""

    def __init__(self, a: Tree, b: Tree, what: str, tolerance: float, complete: bool, names: tuple[str, str]) -> None:
        self.trees, self.names, self.complete = (a, b), names, complete
        self.predictions: NodePredictions = number_predictions(a, b, what, tolerance, names)
        self.space = InputSpace.of(a, b, names)
        by_node = self.predictions.by_node
        self.branches = (BranchTable(a, self.space, 0, by_node[0]), BranchTable(b, self.space, 1, by_node[1]))

    def compare(self, data: Any, target: str | None) -> TreeComparison:
        """Compare the trees, and their predictions for a table if one is given."""
        scope = self._simplest_scope()
        rows = None if data is None else compare_rows(data, *self.trees, self.space, self.predictions)
        boxes, where_is_all = self._collect_boxes(scope)
        if rows is not None and not where_is_all and scope is not None:
            boxes = self._boxes_with_rows(rows, scope) or boxes
        all_cells = self.space.all_cells(*(scope or Scope()))
        regions = sorted((self._region(box, all_cells, rows) for box in merge_boxes(boxes)), key=DifferingRegion.rank)
        witness = self._find_witness(regions, all_cells, rows)
        nodes = None if witness is None else self._stopping_nodes(witness, rows)
        counted = None if rows is None else rows.complete if self.complete else np.ones(len(rows), np.bool_)
        rows_differ = None if rows is None or counted is None else int((rows.differ & counted).sum())
        complete_differ = scope == Scope()
        return TreeComparison(
            equivalent=scope is None and not rows_differ,
            equivalent_on_complete_rows=not complete_differ,
            complete=self.complete,
            sides=(self._side(0, nodes, rows, target), self._side(1, nodes, rows, target)),
            witness=None if witness is None else witness.values,
            witness_row=None if witness is None else witness.row,
            witness_needs=() if witness is None else witness.needs,
            witness_text="" if witness is None else witness.text(self.space),
            cases=self.space.cases,
            differ_on=self._count_cases(complete_differ),
            table=None if rows is None else rows.name,
            rows=None if counted is None else int(counted.sum()),
            rows_differ=rows_differ,
            rows_incomplete=int((rows.differ & ~rows.complete).sum()) if rows is not None and complete_differ else None,
            distance=None if rows is None else self._distance(rows, counted),
            where=tuple(regions),
            where_is_all=where_is_all,
            changes=tuple(islice(structure_changes(*self.trees), _MAX_CHANGES)),
        )

    def differing_boxes(self, scope: Scope) -> Iterator[DifferingBox]:
        """Iterate over the boxes in which the trees differ."""
        return differing_boxes(self.space, *self.branches, self.predictions.differ, *scope)

    def _simplest_scope(self) -> Scope | None:
        """Return the simplest scope in which the trees differ; None if they differ on no row."""
        if not self.complete:
            first = next(self.differing_boxes(Scope(True, True)), None)
            if first is None:
                return None
            if all(map(has_known_value, first.cells)):
                return Scope()
        for scope in (Scope(), Scope(unseen=True), Scope(missing=True)):
            if next(self.differing_boxes(scope), None) is not None:
                return scope
            if self.complete:
                return None
        return Scope(True, True)

    def _collect_boxes(self, scope: Scope | None) -> tuple[list[DifferingBox], bool]:
        """Return boxes in which the trees differ, and whether these are all."""
        if scope is None:
            return [], True
        boxes = list(islice(self.differing_boxes(scope), _MAX_BOXES + 1))
        return boxes[:_MAX_BOXES], len(boxes) <= _MAX_BOXES

    def _boxes_with_rows(self, rows: ComparedTable, scope: Scope) -> list[DifferingBox]:
        """Return the boxes in which the trees differ that contain rows of the table, those of most rows first."""
        inside = np.flatnonzero(rows.differ & rows.allowed(*scope))
        pairs, first, counts = np.unique(
            np.stack(rows.nodes, axis=1)[inside], axis=0, return_index=True, return_counts=True
        )
        boxes = []
        for i in np.argsort(-counts, kind="stable")[:_MAX_BOXES].tolist():
            box, nodes = self.space.all_cells(*scope), pairs[i].tolist()
            row = [int(cells[inside[first[i]]]) for cells in rows.cells]
            for branches, node in zip(self.branches, nodes, strict=True):
                branches.narrow(node, box, row)
            by_node_a, by_node_b = self.predictions.by_node
            boxes.append(DifferingBox(tuple(box), (by_node_a[nodes[0]], by_node_b[nodes[1]])))
        return boxes

    def _count_cases(self, complete_differ: bool) -> int | None:
        """Return the number of possible cases on which the trees differ; None if these cannot be counted."""
        if self.space.cases is None:
            return None
        return count_differing_cases(self.space, *self.branches, self.predictions.differ) if complete_differ else 0

    def _distance(self, rows: ComparedTable, counted: Any) -> Distance | None:
        distance = rows.distance[counted & ~np.isnan(rows.distance)]
        if not len(distance) or (self.predictions.labels and self.predictions.what == "prediction"):
            return None
        return Distance(float(distance.mean()), float(distance.max()))

    def _region(self, box: DifferingBox, all_cells: list[CellSet], rows: ComparedTable | None) -> DifferingRegion:
        axes, (first, second) = self.space.axes, box.predictions
        conditions = {i: axes[i].condition(cells) for i, cells in enumerate(box.cells) if cells != all_cells[i]}
        encodings = tuple(axis.encoding for axis in axes)
        shortened = {i: _shorten(condition, encodings[i]) for i, condition in conditions.items()}
        return DifferingRegion(
            region=Region(encodings, conditions),
            text=str(Region(encodings, shortened)),
            predictions=(self.predictions.value(first), self.predictions.value(second)),
            prediction_texts=(self.predictions.text(first), self.predictions.text(second)),
            cases=None if self.space.cases is None else prod(map(count_levels, box.cells)),
            rows=None if rows is None else rows.count(box.cells),
            cells=box.cells,
        )

    def _side(
        self, i: int, nodes: tuple[int, int] | None, rows: ComparedTable | None, target: str | None
    ) -> ComparedTree:
        tree = self.trees[i]
        error = None if rows is None else _error_of(tree, rows.tables[i], target, self.trees)
        if nodes is None:
            return ComparedTree(self.names[i], tree.n_leaves, tree.depth, None, None, "", error)
        number = self.predictions.by_node[i][nodes[i]]
        prediction, text = self.predictions.value(number), self.predictions.text(number)
        return ComparedTree(self.names[i], tree.n_leaves, tree.depth, nodes[i], prediction, text, error)

    def _find_witness(
        self, regions: list[DifferingRegion], all_cells: list[CellSet], rows: ComparedTable | None
    ) -> _Witness | None:
        """Return a row on which the trees differ, from the table if it has one."""
        witness = None if rows is None else _witness_in_table(self.space, rows, self.complete)
        if witness is None and regions:
            witness = _construct_witness(self.space, regions[0].cells, all_cells)
            first, second = self._stopping_nodes(witness, rows)
            by_node = self.predictions.by_node
            assert self.predictions.differ(by_node[0][first], by_node[1][second]), "the trees agree on the witness"
        return witness

    def _stopping_nodes(self, witness: _Witness, rows: ComparedTable | None) -> tuple[int, int]:
        if rows is not None and witness.row is not None:
            return int(rows.nodes[0][witness.row - 1]), int(rows.nodes[1][witness.row - 1])
        return self.branches[0].stopping_node(witness.cells), self.branches[1].stopping_node(witness.cells)


def _shorten(condition: Condition, encoding: Encoding) -> Condition:
    """Let a condition on most levels be described by those left out: ``not in {Husband, Wife}``."""
    if isinstance(condition, Levels) and not condition.missing and encoding.kind != "boolean":
        many = condition.n > _MAX_LISTED and 2 * condition.n > len(encoding.levels)
        return replace(condition, unseen=True) if many else condition
    return condition


def _error_of(tree: Tree, table: Table, target: str | None, trees: tuple[Tree, Tree]) -> TreeError | None:
    """Return the error of a tree on a table; None if the table has no labels, or the tree no predictions.

    Both trees are evaluated against one column: the given target, else the target of a grown tree, else the named
    target of a hand-written one. Without any, ``evaluate`` finds the column whose values are the classes.
    """
    names = [
        t.target.name
        for t in sorted((tree, *trees), key=lambda t: t.fit_info.is_handwritten)
        if t.target.name != UNNAMED
    ]
    column = target or next((name for name in names if name in table.columns), None)
    try:
        evaluation = evaluate(tree, table, column, drop_missing_target=True)
    except TreewiseError:
        if target is not None:
            raise
        return None
    scores, n = evaluation.scores, evaluation.n
    if tree.task == "classification":
        return TreeError("error", float(scores["error"] or 0.0), int(scores["errors"] or 0), n)
    return TreeError("rmse", float(scores["rmse"] or 0.0), None, n)


# -- the witness ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Witness:
    """A row on which two trees differ; missing and unseen values only where the trees differ on nothing else."""

    values: dict[str, Cell]
    needs: tuple[str, ...] = ()  # "age missing", "town never seen"
    row: int | None = None  # its number in the table, from 1
    cells: tuple[CellSet, ...] = ()  # its cells in the space, if it is constructed

    def text(self, space: InputSpace) -> str:
        parts = (
            _cell_text(axis, self.values[axis.name]) + " (never seen)" * (f"{safe(axis.name)} never seen" in self.needs)
            for axis in space.axes
        )
        return ", ".join(parts) or "any row"


def _cell_text(axis: SpaceAxis, value: Cell) -> str:
    """Return ``GPA = 4.0``, ``x3 is true``, ``age missing``."""
    name = safe(axis.name)
    if value is None:
        return f"{name} missing"
    if axis.encoding.kind == "boolean":
        return equality_text(name, str(value).lower(), axis.encoding)
    return f"{name} = {quote(value) if isinstance(value, str) else axis.encoding.format(value)}"


def _construct_witness(space: InputSpace, box: tuple[CellSet, ...], domain: list[CellSet]) -> _Witness:
    """Construct a row inside a box; an unconstrained number is taken just below its middle cut."""
    values: dict[str, Cell] = {}
    needs: list[str] = []
    row: list[CellSet] = []
    for axis, cells, all_cells in zip(space.axes, box, domain, strict=True):
        chosen = cells
        if isinstance(cells, tuple) and cells == all_cells and has_known_value(cells):
            middle = len(axis.cuts) // 2
            chosen = (middle, middle, False) if axis.bounds[0] <= middle <= axis.bounds[1] else cells
        value = example_value(axis.condition(chosen), axis.encoding, axis.na_values)
        values[axis.name] = as_cell(value, axis.encoding)
        row.append(axis.cell_of(value))
        if not has_known_value(chosen):
            needs.append(f"{safe(axis.name)} {'missing' if value is None else 'never seen'}")
    return _Witness(values, tuple(needs), None, tuple(row))


def _witness_in_table(space: InputSpace, rows: ComparedTable, complete: bool) -> _Witness | None:
    """Return the first row of the table on which the trees differ, preferably a complete one."""
    preferred = np.flatnonzero(rows.differ & rows.complete)
    candidates = np.flatnonzero(rows.differ) if not complete else preferred
    if not len(candidates):
        return None
    row = int(preferred[0] if len(preferred) else candidates[0])
    needs = []
    for axis, cells in zip(space.axes, rows.cells, strict=True):
        if cells[row] in (MISSING, UNSEEN):
            needs.append(f"{safe(axis.name)} {'missing' if cells[row] == MISSING else 'never seen'}")
    values = {}
    for axis in space.axes:
        tables = [table for table, used in zip(rows.tables, axis.used_by, strict=True) if used]
        first = _value_at(axis, tables[0][axis.name], row)
        values[axis.name] = _value_at(axis, tables[-1][axis.name], row) if first is None else first
    return _Witness(values, tuple(needs), row + 1)


def _value_at(axis: SpaceAxis, column: Column, row: int) -> Cell:
    if axis.is_categorical and axis.encoding.kind != "boolean":
        if column.is_missing()[row]:
            return None
        return column.labels[int(column.values[row])] if column.is_coded else column.format_cell(row).strip('"')
    encoded: Any = encode.encode_column(axis.encoding, column, "the table")[row : row + 1]
    value = encode.decode(axis.encoding, encoded)[0]
    if axis.encoding.kind == "boolean":
        return None if value is None else value == "true"
    if value is not None and axis.encoding.kind == "datetime":
        return axis.encoding.format(value)
    return value
