"""The path of a row through a tree, as data: at each step the condition, the row's value and its contribution.

Uses ``predict/predict.py``, which finds where a row stops. Used by ``row_explanation.py``. The output after a
step is that of the node it leads to: the probability of a class, or a value. Contributions telescope: they add up to
the prediction minus the output of the root (up to the rounding of each difference, about 10^-16 of it).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.encoding import UNSEEN
from treewise.data.table import Table
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities, node_values
from treewise.predict.predict import answering_nodes, check_answered, encode_columns, find_leaves, predict_at_nodes
from treewise.tree.arrays import LEAF, Label
from treewise.tree.regions.region import Condition, Interval, RegionTraversal
from treewise.tree.splits import Split, Value, quote
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]

MISSING, NEVER_SEEN = "missing", "never seen"
MAX_LISTED = 5  # names, or levels of a set, before a list is shortened

_MAX_CACHED = 2_000_000  # conditions and levels in them; the leaves of a larger tree are traversed again for each row


@dataclass(frozen=True)
class CellValue:
    """The value of a row in a column the tree uses."""

    value: Value  # a number or a level; None if it is missing or was never seen
    text: str  # "" if it is missing
    status: str = ""  # MISSING, NEVER_SEEN or ""


@dataclass(frozen=True)
class PathStep:
    """One split on the path of a row.

    >>> import treewise as tw
    >>> step = tw.grow("admissions", preset="id3").explain({"GPA": "4.0"}).steps[0]
    >>> step.column, step.cell.text, step.condition, step.rows, step.after, step.contribution, step.stays
    ('GPA', '4.0', 'GPA = 4.0', 3, 1.0, 0.5, False)
    """

    node: int
    column: str
    cell: CellValue
    condition: str  # of the branch taken
    child: int  # the node it leads to; the same node if there is no branch for the row's value
    rows: int  # training rows there
    after: float | None  # the output there: probability of the predicted class, or value; None if unknown
    contribution: float | None  # how much this step changed the output

    @property
    def stays(self) -> bool:
        """Whether the node has no branch for the row's value."""
        return self.child == self.node


@dataclass(frozen=True, eq=False)
class DecisionPath:
    """The path of a row: its steps, and the output of the tree before the first and after each."""

    steps: tuple[PathStep, ...]
    leaf: int  # the node at which the row stops
    answering: int  # the node that provides its prediction
    prediction: Label
    cells: Mapping[str, CellValue]  # of every column the tree uses
    outputs: Floats  # (root and each step) × (classes, or one value)
    followed: int  # the column of ``outputs`` that the steps follow: the predicted class

    @property
    def base(self) -> float | None:
        """The output of the root."""
        return _none_if_nan(self.outputs[0, self.followed])


class DecisionPaths(Sequence[DecisionPath]):
    """The paths of a table's rows, each made on access."""

    def __init__(self, tree: Tree, table: Table, estimate: Any = None) -> None:
        self.tree, self.table, self.estimate = tree, table, LeafProbabilities.of(estimate)
        self.estimate.check(tree)
        self.columns = encode_columns(tree, table)
        self.leaves = find_leaves(tree, self.columns, len(table))
        check_answered(tree, self.leaves, table)
        self.answering = answering_nodes(tree, self.leaves)
        self.predictions = predict_at_nodes(tree, self.answering, self.estimate)

    def __len__(self) -> int:
        return len(self.leaves)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        names = self.tree.columns
        cells = {
            names[i]: _cell_value(self.tree, i, values, self.table, row)
            for i, values in enumerate(self.columns)
            if values is not None
        }
        return self._make_path(int(self.leaves[row]), int(self.answering[row]), self.predictions[row], cells)

    def _make_path(self, leaf: int, answering: int, predicted: Any, cells: Mapping[str, CellValue]) -> DecisionPath:
        tree, nodes = self.tree, self.tree.path(leaf)
        stays = bool(tree.arrays.kind[leaf] != LEAF)
        output_nodes = np.array([*nodes, answering] if stays else nodes)
        prediction: Label
        if tree.task == "regression":
            outputs, followed = node_values(tree, output_nodes, self.estimate)[:, None], 0
            prediction = float(predicted)
        else:
            outputs, followed = class_probabilities(tree, output_nodes, self.estimate), int(predicted)
            outputs[~outputs.any(axis=1)] = np.nan  # inner nodes of a hand-written tree have no counts
            prediction = tree.classes[followed]
        steps = []
        for i, node in enumerate(nodes if stays else nodes[:-1]):
            split = tree.split_at(node)
            assert split is not None
            child = node if i + 1 == len(nodes) else nodes[i + 1]
            before, after = outputs[i, followed], outputs[i + 1, followed]
            condition = f"no branch at node {node}" if child == node else _branch_condition(tree, split, child)
            rows, column = int(tree.arrays.rows[child]), split.column
            output, contribution = _none_if_nan(after), _none_if_nan(after - before)
            steps.append(PathStep(node, column, cells[column], condition, child, rows, output, contribution))
        return DecisionPath(tuple(steps), leaf, answering, prediction, cells, outputs, followed)


def displayed_path(path: DecisionPath, tree: Tree, displayed: Tree) -> DecisionPath:
    """Return a path of a tree in the words of its display."""
    name = dict(zip(tree.columns, displayed.columns, strict=True))
    cells = {}
    for column, cell in path.cells.items():
        encoding, value = displayed.encoding_of(name[column]), cell.value
        text = cell.text if value is None or isinstance(value, str) else encoding.format(value)
        cells[name[column]] = replace(cell, text=text)
    steps = []
    for step in path.steps:
        split, column = displayed.split_at(step.node), name[step.column]
        assert split is not None
        condition = step.condition if step.stays else _branch_condition(displayed, split, step.child)
        steps.append(replace(step, column=column, cell=cells[column], condition=condition))
    prediction = displayed.classes[path.followed] if displayed.classes else path.prediction
    return replace(path, steps=tuple(steps), cells=cells, prediction=prediction)


def _branch_condition(tree: Tree, split: Split, child: int) -> str:
    """Return the condition on the branch to a node, with "otherwise" spelled out.

    >>> import treewise as tw
    >>> tree = tw.parse("c in {p, q} -> 1\\nc otherwise -> 2")
    >>> _branch_condition(tree, tree.split_at(0), 2)
    'c not in {p, q}'
    """
    condition = tree.condition(child)
    otherwise = f"{safe(split.column)} otherwise"
    if not condition.startswith(otherwise):
        return condition
    split_levels = split.named
    levels = quote(split_levels[0]) if len(split_levels) == 1 else f"in {shorten_levels(split_levels)}"
    return f"{safe(split.column)} not {levels}{condition.removeprefix(otherwise)}"


def shorten_levels(levels: Sequence[Any]) -> str:
    """Return ``{a, b}``, or the first few of many levels and how many more there are.

    >>> shorten_levels("pq"), shorten_levels("abcdefg")
    ('{p, q}', '{a, b, c, d, e, +2}')
    """
    more = [f"+{len(levels) - MAX_LISTED}"] if len(levels) > MAX_LISTED else []
    return f"{{{', '.join([*map(quote, levels[:MAX_LISTED]), *more])}}}"


def _cell_value(tree: Tree, column: int, values: Any, table: Table, row: int) -> CellValue:
    encoding = tree.encodings[column]
    cell = values[row : row + 1]
    if encode.is_missing(encoding, cell)[0]:
        return CellValue(None, "", MISSING)
    if encoding.is_categorical and cell[0] == UNSEEN:
        return CellValue(None, table[encoding.name].format_cell(row), NEVER_SEEN)
    value = encode.decode(encoding, cell)[0]
    assert value is not None
    if encoding.kind == "number" and values.dtype == np.float32:
        return CellValue(value, str(cell[0]).removesuffix(".0"))  # the shortest text that identifies the float32
    return CellValue(value, encoding.format(value))


def _none_if_nan(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)


# -- what the explanations of all rows share ------------------------------------------------------------------


StoppingRegion = tuple[int, Mapping[int, Condition]]  # a node at which rows stop, and the condition on each column


class TreeContext:
    """Shared by the explanations of many rows of one tree: its stopping regions and the prediction of each node.

    Everything is computed on first use and kept, so that converting the paths of a million rows computes nothing.

    >>> import treewise as tw
    >>> context = TreeContext(tw.grow("penguins", max_leaf_nodes=3), LeafProbabilities())
    >>> [node for node, _ in context.stopping_regions()], context.predictions
    ([2, 3, 4], [0, 0, 0, 1, 2])
    """

    def __init__(self, tree: Tree, estimate: LeafProbabilities) -> None:
        self.tree, self.estimate = tree, estimate
        self._cache: list[StoppingRegion] | None = None

    @cached_property
    def used_columns(self) -> list[int]:
        """The indices of the columns the tree uses."""
        a = self.tree.arrays
        return sorted(set(a.column[a.kind != LEAF].tolist()))

    @cached_property
    def answering(self) -> list[int]:
        """The node that provides the prediction for rows that stop at each node."""
        return [int(node) for node in answering_nodes(self.tree, np.arange(len(self.tree)))]

    @cached_property
    def predictions(self) -> list[Any]:
        """The prediction for rows that stop at each node: a class index, or a value."""
        return list(predict_at_nodes(self.tree, np.array(self.answering), self.estimate).tolist())

    @cached_property
    def rows(self) -> list[int]:
        """The training rows at each node."""
        return list(self.tree.arrays.rows.tolist())

    def stopping_regions(self) -> Iterable[StoppingRegion]:
        """Iterate over the nodes at which rows stop, with their conditions."""
        return self._traverse() if self._cache is None else self._cache

    def _traverse(self) -> Iterator[StoppingRegion]:
        traversal, size = RegionTraversal(self.tree), 0
        cache: list[StoppingRegion] = []
        for node in traversal.terminal_nodes():
            conditions = traversal.conditions()
            size += sum(map(_size_of, conditions.values()))
            if size <= _MAX_CACHED:
                cache.append((node, conditions))
            yield node, conditions
        if size <= _MAX_CACHED:
            self._cache = cache

    def conditions_at(self, node: int) -> dict[int, Condition]:
        """Return the conditions that the splits above a node put on each column, in their order."""
        traversal = self._traversal
        traversal.now.clear()
        for parent, child in pairwise(self.tree.path(node)):
            traversal.take(parent, traversal.branches[child])
        return traversal.conditions()

    @cached_property
    def _traversal(self) -> RegionTraversal:
        return RegionTraversal(self.tree)


def _size_of(condition: Condition) -> int:
    return 1 if isinstance(condition, Interval) else 1 + len(condition.listed or ()) + len(condition.without)
