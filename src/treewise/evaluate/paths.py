"""Which way each row of a table goes down a tree, in words (CS221 section 5, question 1).

Stands above ``predict/predict.py``: the core finds the node each row ends at; here the tests on the way there are
said, as they are for that very row. Where a branch is for missing values too, a row's path says which of
the two it was.
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
from treewise.predict.predict import answering_nodes, encode_columns, find_leaves, read_rows
from treewise.train.true_labels import Ints, as_compared, class_places, target_column, with_levels_of
from treewise.tree.arrays import Label
from treewise.tree.tree import Tree

WIDEST = 100  # columns that paths are filled up to; what is longer just pushes its own answer to the right


@dataclass(frozen=True)
class RowPath:
    """One row's way down the tree."""

    row: int  # from 1
    node: int  # where it ends
    tests: tuple[str, ...]  # the conditions it meets, in words
    prediction: Label | None
    truth: Label | None  # what the table says; None where it does not say
    stays: str = ""  # the column whose never-seen value keeps the row at an inner node

    @property
    def wrong(self) -> bool:
        """Whether the table says another class than the tree."""
        return self.truth is not None and not isinstance(self.prediction, float) and self.truth != self.prediction

    def __str__(self) -> str:
        said = " and ".join(self.tests) or "all rows"
        return f"{said}, where it stays: its {safe(self.stays)} was never seen" if self.stays else said


class Paths(Displayable, Sequence[RowPath]):
    """The paths of a table's rows, made when asked for; ``print`` lists them, one line a row."""

    def __init__(self, tree: Tree, table: Table, truth: Sequence[Label | None]) -> None:
        self._tree, self._table, self._truth = tree, table, truth
        columns = encode_columns(tree, table)
        self._nodes = find_leaves(tree, columns, len(table))
        self._speakers = answering_nodes(tree, self._nodes)
        self._missing, self._unseen = odd_cells(tree, columns)
        self._said: dict[tuple[int, frozenset[int]], tuple[str, ...]] = {}
        self._routes = NodePaths(tree, missing=False)

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
            prediction=self._tree.prediction(int(self._speakers[row])),
            truth=self._truth[row],
            stays=split.column if split else "",
        )

    def _tests(self, row: int, node: int) -> tuple[str, ...]:
        """Say the tests a row meets; rows with the same end and the same gaps meet the same."""
        missing = frozenset(c for c, gone in self._missing.items() if gone[row])
        unseen = frozenset(c for c, new in self._unseen.items() if new[row])
        if unseen:
            return tuple(self._test(step, row, missing, unseen) for step in self._routes.steps(node))
        if (node, missing) not in self._said:
            self._said[node, missing] = tuple(
                self._test(step, row, missing, unseen) for step in self._routes.steps(node)
            )
        return self._said[node, missing]

    def _test(self, step: int, row: int, missing: frozenset[int], unseen: frozenset[int]) -> str:
        """Say one test as this row met it; a negative step says how many are left out."""
        tree, column = self._tree, self._asked(step)
        if column in missing:
            return f"{safe(tree.columns[column])} missing"
        if column in unseen:
            cell = self._table[tree.columns[column]].format_cell(row)
            return f"{safe(tree.columns[column])} never seen ({cell})"
        return self._routes.words(step)

    def _asked(self, step: int) -> int:
        """Return the column that the test before a step asks for; none where steps are left out."""
        arrays = self._tree.arrays
        return -1 if step < 0 else int(arrays.column[arrays.parent[step]])

    def lines(self) -> Iterator[str]:
        """Write one line a row: number, path, prediction, and the truth where it differs."""
        digits = len(f"{len(self):,}")
        one_a_node = np.unique(self._nodes, return_index=True)[1].tolist()
        width = max([w for w in (display_width(str(self[row])) for row in one_a_node) if w <= WIDEST], default=0)
        for path in self:
            line = f"{path.row:>{digits},}  {pad(str(path), width)}  → {say_answer(path.prediction)}"
            if path.wrong:
                line += f"   wrong: {say_answer(path.truth)}"
            elif isinstance(path.prediction, float) and path.truth is not None:
                line += f"   true: {say_answer(path.truth)}"
            yield line

    def result_table(self) -> ResultTable:
        """Return the rows, each with its way, and the truth where the table says it."""
        headings = (
            ColumnSpec("row", "count"),
            ColumnSpec("node", "count", formatter=str),
            ColumnSpec("path"),
            ColumnSpec("prediction", "label"),
            ColumnSpec("truth", "label", only=None if any(each is not None for each in self._truth) else "data"),
            ColumnSpec("wrong", "flag"),
        )
        return ResultTable(f"Paths of {self._table.name}", headings, PathCells(self))

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return one line a row, all of them."""
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<Paths of {plural(len(self), 'row')} · print them, or take one by its number from 0>"


class PathCells(Sequence[tuple[Any, ...]]):
    """The cells of a sheet of paths, made when asked for: a notebook shows fifty of a million."""

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
    """Return the path of each row in words: which tests it meets, and what the tree answers.

    Where the table has the true answers, rows that are predicted wrongly say so.

    >>> import treewise as tw
    >>> tree = tw.grow("admissions", preset="id3", max_depth=2)
    >>> print(paths(tree, tw.datasets.admissions().take(np.array([2, 4, 5]))))
    1  GPA = 4.0                      → P
    2  GPA = 3.7 and Published = no   → N   wrong: P
    3  GPA = 3.7 and Published = yes  → P
    """
    table, _ = read_rows(tree, data)
    tree = with_levels_of(tree, table)
    column = true_answers(tree, table, target)
    if column is not None:
        tree = as_compared(tree, column)
    return Paths(tree, table, truths(tree, column, len(table)))


def odd_cells(tree: Tree, columns: Sequence[npt.NDArray[Any] | None]) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return, for the columns that have such cells, where they are missing and where they were never seen."""
    missing, unseen = {}, {}
    for i, (encoding, values) in enumerate(zip(tree.encodings, columns, strict=True)):
        if values is None:
            continue
        gone = encode.is_missing(encoding, values)
        if gone.any():
            missing[i] = gone
        if encoding.is_categorical and (new := values == encode.UNSEEN).any():
            unseen[i] = new
    return missing, unseen


def true_answers(tree: Tree, table: Table, target: str | None) -> Column | None:
    """Return the column with the true answers, if there is one."""
    try:
        column = target_column(tree, table, target)
    except (ParameterError, DataError):
        if target is not None:
            raise
        return None
    return None if column.is_missing().all() else column


def truths(tree: Tree, column: Column | None, n_rows: int) -> Sequence[Label | None]:
    """Return what the table says of each row, as far as it says it."""
    known: list[Label | None] = [None] * n_rows
    if column is None:
        return known
    there: Ints = np.flatnonzero(~column.is_missing())
    present = column.take(there)
    if tree.task == "regression":
        values: list[Any] = encode.encode_numbers(present).tolist()
    else:
        places, labels = class_places(tree, present)
        values = [labels[place] for place in places.tolist()]
    for row, value in zip(there.tolist(), values, strict=True):
        known[row] = value
    return known


def say_answer(value: Label | None) -> str:
    """Write a class or a number; a node of a hand-written tree may have no answer."""
    if value is None:
        return "no answer"
    return format_rounded(value) if isinstance(value, float) else safe(value)


LONGEST = 50  # tests; a longer way shows its beginning and its end, so that text stays linear in rows and leaves


class NodePaths:
    """The ways down one tree; what was said once is kept. ``missing`` says "or missing" where a branch is for both."""

    def __init__(self, tree: Tree, missing: bool = True) -> None:
        self._tree, self._missing = tree, missing
        self._words: dict[int, str] = {}

    def steps(self, node: int) -> list[int]:
        """Return the nodes on the way from below the root; of a very long way the beginning and the end.

        A negative number stands for so many that are left out.
        """
        depth, half = int(self._tree.depths[node]), LONGEST // 2
        if depth <= LONGEST:
            return list(self._tree.path(node)[1:])
        end = [node]
        while len(end) < half:
            end.append(int(self._tree.arrays.parent[end[-1]]))
        return [*self._tree.path(self._cuts[node])[1:], -(depth - 2 * half), *reversed(end)]

    def words(self, step: int) -> str:
        """Say the test that leads to a node; a negative number says how many are left out."""
        if step < 0:
            return f"… {-step:,} more tests …"
        if step not in self._words:
            self._words[step] = self._tree.condition(step) if self._missing else self._plain(step)
        return self._words[step]

    def _plain(self, step: int) -> str:
        tree = self._tree
        split, branch = tree.split_at(int(tree.arrays.parent[step])), tree.branch(step)
        assert split is not None
        assert branch is not None
        return split.condition(branch, tree.encoding_of(split.column))

    def rule(self, node: int) -> str:
        """Say the whole way to a node.

        >>> import treewise as tw
        >>> NodePaths(tw.grow("admissions", preset="id3")).rule(4)
        'GPA = 3.7 and Published = no and University = top10'
        """
        return " and ".join(map(self.words, self.steps(node))) or "all rows"

    @cached_property
    def _cuts(self) -> list[int]:
        """For each node its ancestor where a long way is cut; a node above the cut is its own."""
        cuts, parent, depth = (
            list(range(len(self._tree))),
            self._tree.arrays.parent.tolist(),
            self._tree.depths.tolist(),
        )
        for node in range(1, len(cuts)):
            if depth[node] > LONGEST // 2:
                cuts[node] = cuts[parent[node]]
        return cuts
