"""The path of each row of a table down a tree, as conditions (CS221 section 5, question 1): ``tree.paths(data)``.

The core finds the leaf of each row; this module formats the conditions on the path as they apply to that row: at a
branch that also takes missing values, the path says whether the row's value was missing. ``NodePaths`` formats the path
to a node in general.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import WIDTH, ColumnSpec, Displayable, ResultTable, Style
from treewise._lib.text import display_width, format_rounded, pad, plural, safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table
from treewise.errors import DataError, ParameterError
from treewise.predict.predict import answering_nodes, encode_columns, find_leaves, read_model_rows
from treewise.train.exposure import find_truth
from treewise.train.target import Ints, adopt_levels, encode_labels, resolve_handwritten_task
from treewise.tree.arrays import Label
from treewise.tree.tree import Tree

_WIDEST = 100  # characters to which paths are padded; longer ones are not cut


@dataclass(frozen=True)
class RowPath:
    """The path of one row."""

    row: int  # from 1
    node: int  # the leaf
    tests: tuple[str, ...]  # the conditions it satisfies
    prediction: Label | None
    truth: Label | None  # the true label; None if unknown
    stopping_column: str = ""  # the column whose unseen level stops the row at an internal node

    @property
    def wrong(self) -> bool:
        """Whether the prediction differs from the true class."""
        return self.truth is not None and not isinstance(self.prediction, float) and self.truth != self.prediction

    def __str__(self) -> str:
        text = " and ".join(self.tests) or "all rows"
        return (
            f"{text}, where it stays: its {safe(self.stopping_column)} was never seen" if self.stopping_column else text
        )


class Paths(Displayable, Sequence[RowPath]):
    """The paths of a table's rows, computed on access; ``print`` lists them, one line per row."""

    def __init__(self, tree: Tree, table: Table, truth: Sequence[Label | None]) -> None:
        self._tree, self._table, self._truth = tree, table, truth
        columns = encode_columns(tree, table)
        self._nodes = find_leaves(tree, columns, len(table))
        self._answering = answering_nodes(tree, self._nodes)
        self._missing, self._unseen = _missing_and_unseen(tree, columns)
        self._cache: dict[tuple[int, frozenset[int]], tuple[str, ...]] = {}
        self._node_paths = NodePaths(tree, missing=False)

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        node = int(self._nodes[row])
        split = self._tree.split_at(node)
        return RowPath(
            row=row + 1,
            node=node,
            tests=self._tests(row, node),
            prediction=self._tree.prediction(int(self._answering[row])),
            truth=self._truth[row],
            stopping_column=split.column if split else "",
        )

    def _tests(self, row: int, node: int) -> tuple[str, ...]:
        """Return the conditions of a row; rows with the same leaf and the same missing cells share them."""
        missing = frozenset(c for c, is_missing in self._missing.items() if is_missing[row])
        unseen = frozenset(c for c, is_unseen in self._unseen.items() if is_unseen[row])
        if unseen:
            return tuple(self._test(step, row, missing, unseen) for step in self._node_paths.steps(node))
        if (node, missing) not in self._cache:
            self._cache[node, missing] = tuple(
                self._test(step, row, missing, unseen) for step in self._node_paths.steps(node)
            )
        return self._cache[node, missing]

    def _test(self, step: int, row: int, missing: frozenset[int], unseen: frozenset[int]) -> str:
        """Return one condition as it applies to a row; a negative step is a number of omitted ones."""
        tree, column = self._tree, self._tested_column(step)
        if column in missing:
            return f"{safe(tree.columns[column])} missing"
        if column in unseen:
            cell = self._table[tree.columns[column]].format_cell(row)
            return f"{safe(tree.columns[column])} never seen ({cell})"
        return self._node_paths.condition(step)

    def _tested_column(self, step: int) -> int:
        """Return the column tested before a step; -1 for omitted steps."""
        arrays = self._tree.arrays
        return -1 if step < 0 else int(arrays.column[arrays.parent[step]])

    def lines(self) -> Iterator[str]:
        """Yield one line per row: number, path, prediction, and the true label if it differs."""
        digits = len(f"{len(self):,}")
        first_rows = np.unique(self._nodes, return_index=True)[1].tolist()
        width = max([w for w in (display_width(str(self[row])) for row in first_rows) if w <= _WIDEST], default=0)
        for path in self:
            line = f"{path.row:>{digits},}  {pad(str(path), width)}  → {_format_prediction(path.prediction)}"
            if path.wrong:
                line += f"   wrong: {_format_prediction(path.truth)}"
            elif isinstance(path.prediction, float) and path.truth is not None:
                line += f"   true: {_format_prediction(path.truth)}"
            yield line

    def result_table(self) -> ResultTable:
        """Return the paths as a result table, with the true labels if known."""
        headings = (
            ColumnSpec("row", "count"),
            ColumnSpec("node", "count", formatter=str),
            ColumnSpec("path"),
            ColumnSpec("prediction", "label"),
            ColumnSpec("truth", "label", only=None if any(label is not None for label in self._truth) else "data"),
            ColumnSpec("wrong", "flag"),
        )
        return ResultTable(f"Paths of {self._table.name}", headings, _PathCells(self))

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return one line per row."""
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<Paths of {plural(len(self), 'row')} · print them, or take one by its number from 0>"


class _PathCells(Sequence[tuple[Any, ...]]):
    """The rows of the result table of paths, computed on access: a notebook shows fifty of a million."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        path: RowPath = self._paths[index]
        return (path.row, path.node, str(path), path.prediction, path.truth, path.wrong)


def paths(tree: Tree, data: Any, target: str | None = None) -> Paths:
    """Return the path of each row: the conditions it satisfies, and the prediction.

    If the table has the true labels, wrong predictions are marked.

    >>> import treewise as tw
    >>> tree = tw.grow("admissions", preset="id3", max_depth=2)
    >>> print(paths(tree, tw.datasets.admissions().take(np.array([2, 4, 5]))))
    1  GPA = 4.0                      → P
    2  GPA = 3.7 and Published = no   → N   wrong: P
    3  GPA = 3.7 and Published = yes  → P
    """
    table, _ = read_model_rows(tree, data)
    tree = adopt_levels(tree, table)
    column = _true_labels(tree, table, target)
    if column is not None:
        tree = resolve_handwritten_task(tree, column)
    return Paths(tree, table, _label_values(tree, column, len(table)))


def _missing_and_unseen(
    tree: Tree, columns: Sequence[npt.NDArray[Any] | None]
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return masks of the missing cells and of the unseen levels, for the columns that have any."""
    missing, unseen = {}, {}
    for i, (encoding, values) in enumerate(zip(tree.encodings, columns, strict=True)):
        if values is None:
            continue
        is_missing = encode.is_missing(encoding, values)
        if is_missing.any():
            missing[i] = is_missing
        if encoding.is_categorical and (is_unseen := values == encode.UNSEEN).any():
            unseen[i] = is_unseen
    return missing, unseen


def _true_labels(tree: Tree, table: Table, target: str | None) -> Column | None:
    """Return the column of true labels, if there is one."""
    try:
        column = find_truth(tree, table, target)
    except (ParameterError, DataError):
        if target is not None:
            raise
        return None
    return None if column.is_missing().all() else column


def _label_values(tree: Tree, column: Column | None, n_rows: int) -> Sequence[Label | None]:
    """Return the true label of each row, None where it is missing."""
    known: list[Label | None] = [None] * n_rows
    if column is None:
        return known
    labelled: Ints = np.flatnonzero(~column.is_missing())
    present = column.take(labelled)
    if tree.task == "regression":
        values: list[Any] = encode.encode_numbers(present).tolist()
    else:
        codes, labels = encode_labels(tree, present)
        values = [labels[code] for code in codes.tolist()]
    for row, value in zip(labelled.tolist(), values, strict=True):
        known[row] = value
    return known


def _format_prediction(value: Label | None) -> str:
    """Format a prediction; a hand-written tree may have none."""
    if value is None:
        return "no answer"
    return format_rounded(value) if isinstance(value, float) else safe(value)


LONGEST = (
    50  # conditions; longer paths show their beginning and end, so that the output stays linear in rows and leaves
)


class NodePaths:
    """The paths to the nodes of one tree, cached; ``missing`` adds "or missing" where a branch takes both."""

    def __init__(self, tree: Tree, missing: bool = True) -> None:
        self._tree, self._missing = tree, missing
        self._conditions: dict[int, str] = {}

    def steps(self, node: int) -> list[int]:
        """Return the nodes of a path below the root; a negative number is the count of omitted ones."""
        depth, half = int(self._tree.depths[node]), LONGEST // 2
        if depth <= LONGEST:
            return list(self._tree.path(node)[1:])
        end = [node]
        while len(end) < half:
            end.append(int(self._tree.arrays.parent[end[-1]]))
        return [*self._tree.path(self._truncated_at[node])[1:], -(depth - 2 * half), *reversed(end)]

    def condition(self, step: int) -> str:
        """Return the condition of a node; for a negative step the number of omitted ones."""
        if step < 0:
            return f"… {-step:,} more tests …"
        if step not in self._conditions:
            self._conditions[step] = self._tree.condition(step) if self._missing else self._plain(step)
        return self._conditions[step]

    def _plain(self, step: int) -> str:
        tree = self._tree
        split, branch = tree.split_at(int(tree.arrays.parent[step])), tree.branch(step)
        assert split is not None
        assert branch is not None
        return split.condition(branch, tree.encoding_of(split.column))

    def rule(self, node: int) -> str:
        """Return all conditions of the path to a node.

        >>> import treewise as tw
        >>> NodePaths(tw.grow("admissions", preset="id3")).rule(4)
        'GPA = 3.7 and Published = no and University = top10'
        """
        return " and ".join(map(self.condition, self.steps(node))) or "all rows"

    @cached_property
    def _truncated_at(self) -> list[int]:
        """For each node, its ancestor where a long path is cut; itself above the cut."""
        ends, parent, depth = (
            list(range(len(self._tree))),
            self._tree.arrays.parent.tolist(),
            self._tree.depths.tolist(),
        )
        for node in range(1, len(ends)):
            if depth[node] > LONGEST // 2:
                ends[node] = ends[parent[node]]
        return ends
