"""The margin of each split of a tree: its score compared with that of the best candidate of another column.

Used by ``stability``. A margin is a view of a ``NodeSearch`` (``train/reference.py``). For most criteria the core finds
the runner-up by growing one split without the winner's column, and only the two are compared, by the specification;
C4.5, where the score of a column depends on all others, takes the complete search from the trace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.thread_pool import Progress
from treewise.data import encoding as encode
from treewise.explain.trace.nodes import TraceView
from treewise.explain.trace.trace import Trace
from treewise.predict.predict import find_leaves
from treewise.train.constraints import NodeConstraints, constraints_at
from treewise.train.grow import core_columns, core_settings, core_target
from treewise.train.reference import Candidate, NodeScorer, NodeSearch, choose
from treewise.train.resampling import take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF, Arrays
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]

_NODES_AT_ONCE = 32


@dataclass(frozen=True)
class SplitMargin:
    """The score of a node's split (its gain, ratio …), and that of the best other column."""

    score: float
    runner_up: str | None = None  # the other column; None where no other has a test
    second: float | None = None

    @property
    def behind(self) -> float | None:
        """How far the runner-up stays behind, as a share of the winner's score: 0 is a tie."""
        if self.second is None:
            return None
        return (self.score - self.second) / self.score if self.score > 0 else 0.0


def _rows_through_nodes(tree: Tree, leaves: Ints) -> list[Ints]:
    """Return the rows that pass through each node, in order, from the node at which each ends."""
    order = np.argsort(leaves, kind="stable")
    start = np.searchsorted(leaves[order], np.arange(len(tree) + 1))
    last = start[tree.arrays.ends]
    return [order[a:b] for a, b in zip(start.tolist(), last.tolist(), strict=False)]


def margins(tree: Tree, training_set: TrainingSet) -> dict[int, SplitMargin]:
    """Compare the split of every inner node with the best candidate of another column.

    ``training_set`` is what the tree was grown on.

    >>> from treewise.train.grow import grow_training_set, prepare
    >>> training_set = prepare("admissions", preset="id3")
    >>> margin = margins(grow_training_set(training_set), training_set)[0]
    >>> margin.runner_up, round(12 * margin.score, 3), round(12 * margin.second, 3), round(margin.behind, 2)
    ('University', 7.145, 1.145, 0.84)
    """
    finder = MarginFinder(tree, training_set)
    return {node: margin for piece in range(len(finder)) for node, margin in finder.piece(piece).items()}


class MarginFinder:
    """The margins of a tree in pieces of a few nodes, for threads; one piece for C4.5, whose trace is not shared."""

    def __init__(self, tree: Tree, training_set: TrainingSet) -> None:
        self.tree, self.training_set = tree, training_set
        self.inner: list[int] = np.flatnonzero(tree.arrays.kind != LEAF).tolist()
        self._by_trace = training_set.criterion.rule == "c45"  # its score of a column depends on all columns
        self._size = max(1, len(self.inner)) if self._by_trace else _NODES_AT_ONCE
        self._rows: list[Ints] = []
        if not self._by_trace:
            self._rows = _rows_through_nodes(tree, find_leaves(tree, training_set.columns, len(training_set)))
        _ = tree.arrays.child_lists  # computed before there are threads

    def __len__(self) -> int:
        return math.ceil(len(self.inner) / self._size)

    def piece(self, number: int, progress: Progress = lambda _: None) -> dict[int, SplitMargin]:
        """Compute the margins of one piece; ``progress`` is called before each node."""
        trace = Trace(self.tree, self.training_set, TraceView()) if self._by_trace else None
        margins = {}
        for node in self.inner[number * self._size : (number + 1) * self._size]:
            progress(0.0)
            search = (
                trace[node].search if trace else _search_two_columns(self.tree, self.training_set, node, self._rows)
            )
            margins[node] = _margin_of(search, int(self.tree.arrays.column[node])) if search else SplitMargin(0.0)
        return margins


def _margin_of(search: NodeSearch, column: int) -> SplitMargin:
    """Return the margin between a column and the best of the others."""
    candidate = search.finalists.get(column)  # None for a split raised by pruning that sends all rows to one branch
    score = search.score_value(candidate) if candidate else 0.0
    rival = search.winner
    if rival is not None and rival.order.column == column:
        rival = search.runner_up
    if rival is None:
        return SplitMargin(score)
    name = search.scorer.training_set.encodings[rival.order.column].name
    return SplitMargin(score, name, score if search.is_tie else search.score_value(rival))


def _search_two_columns(tree: Tree, training_set: TrainingSet, node: int, rows_of: Sequence[Ints]) -> NodeSearch:
    """Compare the split of a node with the best candidate of the other columns, which the core finds.

    The outcome is that of ``find_best_split``, without listing every candidate in Python.
    """
    rows, column = rows_of[node], int(tree.arrays.column[node])
    constraints = constraints_at(tree, node)
    scorer = NodeScorer.of(training_set.with_node_scale(rows), rows, constraints)
    candidates = {column: _score(scorer, tree, node, [rows_of[child] for child in tree.children(node)])}
    stump = _best_without(training_set, rows, column, constraints)
    if stump is not None:
        leaves = find_leaves(stump, [v[rows] for i, v in enumerate(training_set.columns) if i != column], len(rows))
        other = training_set.encodings.index(stump.encodings[stump.arrays.column[0]])
        candidates[other] = _score(scorer, stump, 0, [rows[leaves == child] for child in stump.children(0)])
    return choose(scorer, candidates)


def _score(scorer: NodeScorer, tree: Tree, node: int, parts: Sequence[Ints]) -> list[Candidate]:
    """Score the split of a tree's node as the specification does, without limits: the tree has it already."""
    split = tree.split_at(node)
    assert split is not None
    training_set, encoding = scorer.training_set, tree.encodings[tree.arrays.column[node]]
    values = training_set.columns[training_set.encodings.index(encoding)][np.concatenate(parts)]
    missing_rows = int(encode.is_missing(encoding, values).sum())
    candidate = scorer.score_split(split, parts, missing_rows)
    return [] if candidate is None else [replace(candidate, eligible=True)]


def _best_without(training_set: TrainingSet, rows: Ints, column: int, constraints: NodeConstraints) -> Tree | None:
    """Grow one split on some rows, without a column; None where there is none."""
    some = take_rows(training_set, rows).without_column(column)
    if not some.columns:
        return None
    limits = core_settings(training_set)  # of leaves: those of the whole table
    limits.max_depth, limits.max_leaf_nodes, limits.min_samples_split = 1, -1, 2
    limits.selection = "gain" if limits.selection == "test" else limits.selection  # the margin is one of gains
    limits.min_impurity_decrease, limits.random_ties, limits.n_jobs = 0.0, False, 1
    limits.root_low, limits.root_high = constraints.low, constraints.high
    limits.root_groups, limits.root_acquired = constraints.interaction_groups, constraints.acquired
    limits.accuracy_numerator = limits.accuracy_denominator = 1
    grown = Arrays(**_core.grow(core_columns(some), core_target(some), limits, None))
    return None if grown.kind[0] == LEAF else Tree(some.encodings, some.target, grown)
