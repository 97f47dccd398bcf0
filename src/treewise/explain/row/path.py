"""One row's way down a tree, as data: at each step the question, the row's value, and how the answer moved.

Stands above ``predict/predict.py``, which finds where a row ends, and below ``words.py``, which says it. The answer after a
step is that of the node it leads to: the share of a class, or a value. The moves telescope, so they add up to the
prediction less what the root says (but for the rounding of each difference, some 10^-16 of it).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from treewise.tree.splits import Split, Value, quote
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MISSING, NEVER_SEEN = "missing", "never seen"
MOST_NAMED = 5  # names, or levels of a set; of more the first few are said, and how many there are


@dataclass(frozen=True)
class AskedCell:
    """What a row holds in a column the tree asks about."""

    value: Value  # a number or a level; None where it is missing or was never seen
    text: str  # in words; "" where it is missing
    odd: str = ""  # MISSING or NEVER_SEEN where it is


@dataclass(frozen=True)
class PathStep:
    """One test that the row met.

    >>> import treewise as tw
    >>> step = tw.grow("admissions", preset="id3").explain({"GPA": "4.0"}).steps[0]
    >>> step.column, step.cell.text, step.question, step.rows, step.after, step.moved, step.stays
    ('GPA', '4.0', 'GPA = 4.0', 3, 1.0, 0.5, False)
    """

    node: int  # the node that asks
    column: str
    cell: AskedCell
    question: str  # the condition of the branch taken, in words
    to: int  # the node it leads to; the same one where the row stays, there being no branch for its value
    rows: int  # training rows there
    after: float | None  # probability of the class followed, or the value, from here on; None where it is not known
    moved: float | None  # by how much this step moved it

    @property
    def stays(self) -> bool:
        """Whether the node has no branch for the row's value."""
        return self.to == self.node


@dataclass(frozen=True, eq=False)
class RowExplanationPath:
    """A row's way down: its steps, and what the tree answers before the first and after each."""

    steps: tuple[PathStep, ...]
    end: int  # the node where the row ends
    speaker: int  # the node that answers for it
    prediction: Label
    cells: Mapping[str, AskedCell]  # of every column the tree asks about
    answers: Floats  # one row for the root and one for each step; a column for each class, or one for the value
    follows: int  # which of these columns the steps follow: the class predicted

    @property
    def start(self) -> float | None:
        """What the tree answers before it asks anything."""
        return known(self.answers[0, self.follows])


class RowExplanationPaths(Sequence[RowExplanationPath]):
    """The ways of a table's rows, each made when it is asked for."""

    def __init__(self, tree: Tree, table: Table, estimate: Any = None) -> None:
        self.tree, self.table, self.estimate = tree, table, LeafProbabilities.of(estimate)
        self.estimate.check(tree)
        self.columns = encode_columns(tree, table)
        self.ends = find_leaves(tree, self.columns, len(table))
        check_answered(tree, self.ends, table)
        self.speakers = answering_nodes(tree, self.ends)
        self.said = predict_at_nodes(tree, self.speakers, self.estimate)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        tree = self.tree
        cells = {
            tree.columns[i]: cell_of(tree, i, values, self.table, row)
            for i, values in enumerate(self.columns)
            if values is not None
        }
        return way_of(tree, int(self.ends[row]), int(self.speakers[row]), self.said[row], cells, self.estimate)


def way_of(
    tree: Tree, end: int, speaker: int, said: Any, cells: Mapping[str, AskedCell], estimate: LeafProbabilities
) -> RowExplanationPath:
    """Go from the root to where a row ends, and note each test."""
    path = tree.path(end)
    stays = bool(tree.arrays.kind[end] != LEAF)
    speakers = np.array([*path, speaker] if stays else path)
    prediction: Label
    if tree.task == "regression":
        answers, follows, prediction = node_values(tree, speakers, estimate)[:, None], 0, float(said)
    else:
        answers = class_probabilities(tree, speakers, estimate)
        answers[~answers.any(axis=1)] = np.nan  # inner nodes of a tree written by hand know nothing
        follows, prediction = int(said), tree.classes[int(said)]
    steps = []
    for i, node in enumerate(path if stays else path[:-1]):
        split = tree.split_at(node)
        assert split is not None
        to = node if i + 1 == len(path) else path[i + 1]
        before, after = answers[i, follows], answers[i + 1, follows]
        question = f"no branch for it at node {node}" if to == node else asked(tree, split, to)
        rows = int(tree.arrays.rows[to])
        moved = known(after - before)
        steps.append(PathStep(node, split.column, cells[split.column], question, to, rows, known(after), moved))
    return RowExplanationPath(tuple(steps), end, speaker, prediction, cells, answers, follows)


def asked(tree: Tree, split: Split, to: int) -> str:
    """Say the condition on the branch to a node; where that is "otherwise", than what.

    >>> import treewise as tw
    >>> tree = tw.parse("c in {p, q} -> 1\\nc otherwise -> 2")
    >>> tree.condition(2), asked(tree, tree.split_at(0), 2)
    ('c otherwise', 'c not in {p, q}')
    """
    said = tree.condition(to)
    rest = f"{safe(split.column)} otherwise"
    if not said.startswith(rest):
        return said
    some = [quote(level) for level in split.named[:MOST_NAMED]]
    more = [f"+{len(split.named) - MOST_NAMED}"] if len(split.named) > MOST_NAMED else []
    named = some[0] if len(split.named) == 1 else f"in {{{', '.join([*some, *more])}}}"
    return f"{safe(split.column)} not {named}{said.removeprefix(rest)}"


def cell_of(tree: Tree, column: int, values: Any, table: Table, row: int) -> AskedCell:
    """Return what a row holds in a column, as the tree takes it and in words."""
    encoding = tree.encodings[column]
    one = values[row : row + 1]
    if encode.is_missing(encoding, one)[0]:
        return AskedCell(None, "", MISSING)
    if encoding.is_categorical and one[0] == UNSEEN:
        return AskedCell(None, table[encoding.name].format_cell(row), NEVER_SEEN)
    value = encode.decode(encoding, one)[0]
    assert value is not None
    if encoding.kind == "number" and values.dtype == np.float32:
        return AskedCell(value, str(one[0]).removesuffix(".0"))  # as short as a float32 can be told apart
    return AskedCell(value, encoding.format(value))


def known(value: Any) -> float | None:
    """Return a number, None where it is not known."""
    return None if math.isnan(value) else float(value)
