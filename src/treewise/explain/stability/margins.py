"""How near the runner-up came: at each node of a tree, what its split scores beside the best test of another column.

Stands on the core and on ``train/reference.py``, below ``stability``. The runner-up is found by growing one split without the
winner's column, and both are scored as the specification scores them, so that what is said here is what the trace
says; C4.5's rule, where columns compete by their average, is left to the trace itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.thread_pool import Progress
from treewise.data import encoding as encode
from treewise.explain.trace.nodes import NodeTrace, TraceView
from treewise.explain.trace.trace import Trace
from treewise.predict.predict import find_leaves
from treewise.train.candidates import KIND_RANK, group_of
from treewise.train.grow import core_columns, core_settings, core_target
from treewise.train.reference import RATIO_BITS, Candidate, NodeScorer, decrease, tied
from treewise.train.resampling import part
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF, Arrays
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]

NODES_AT_ONCE = 32


@dataclass(frozen=True)
class SplitMargin:
    """What a node's split scores (its gain, or what else it competes by), and what the best other column would."""

    score: float
    runner_up: str | None = None  # the other column; None where no other has a test
    second: float | None = None

    @property
    def behind(self) -> float | None:
        """How far the runner-up stays behind, as a share of the winner's score: 0 is a tie."""
        if self.second is None:
            return None
        return (self.score - self.second) / self.score if self.score > 0 else 0.0


def rows_below(tree: Tree, ends: Ints) -> list[Ints]:
    """Return the rows that pass through each node, in order, from the node at which each ends."""
    order = np.argsort(ends, kind="stable")
    start = np.searchsorted(ends[order], np.arange(len(tree) + 1))
    last = start[tree.arrays.ends]
    return [order[a:b] for a, b in zip(start.tolist(), last.tolist(), strict=False)]


def margins(tree: Tree, training_set: TrainingSet) -> dict[int, SplitMargin]:
    """Compare the split of every inner node with the best test of another column.

    ``training_set`` is what the tree was grown on.

    >>> from treewise.train.grow import grow_training_set, prepare
    >>> training_set = prepare("admissions", preset="id3")
    >>> found = margins(grow_training_set(training_set), training_set)[0]
    >>> found.runner_up, round(12 * found.score, 3), round(12 * found.second, 3), round(found.behind, 2)
    ('University', 7.145, 1.145, 0.84)
    """
    measured = MarginFinder(tree, training_set)
    return {node: gap for piece in range(len(measured)) for node, gap in measured.piece(piece).items()}


class MarginFinder:
    """The gaps of a tree in pieces of a few nodes, for threads; C4.5's are one piece, since a trace is not shared."""

    def __init__(self, tree: Tree, training_set: TrainingSet) -> None:
        self.tree, self.training_set = tree, training_set
        self.inner: list[int] = np.flatnonzero(tree.arrays.kind != LEAF).tolist()
        self.traced = training_set.criterion.rule == "c45"
        self.size = max(1, len(self.inner)) if self.traced else NODES_AT_ONCE
        self.below = [] if self.traced else rows_below(tree, find_leaves(tree, training_set.columns, len(training_set)))
        _ = tree.arrays.child_lists  # before there are threads

    def __len__(self) -> int:
        return math.ceil(len(self.inner) / self.size)

    def piece(self, number: int, go_on: Progress = lambda _: None) -> dict[int, SplitMargin]:
        """Measure the nodes of one piece; ``go_on`` is called before each."""
        trace, found = Trace(self.tree, self.training_set, TraceView()) if self.traced else None, {}
        for node in self.inner[number * self.size : (number + 1) * self.size]:
            go_on(0.0)
            found[node] = (
                traced_gap(trace[node]) if trace else margin_at(self.tree, self.training_set, node, self.below)
            )
        return found


def margin_at(tree: Tree, training_set: TrainingSet, node: int, below: Sequence[Ints]) -> SplitMargin:
    """Compare the split of one node; ``below`` are the rows that pass through each."""
    rows, column = below[node], int(tree.arrays.column[node])
    judge = NodeScorer.of(training_set.at(rows), rows)
    own = scored(judge, tree, node, [below[child] for child in tree.children(node)], column)
    score = said(judge, own) if own else 0.0  # none: raised from further down, it sends all these rows one way
    stump = best_without(training_set, rows, column)
    if stump is None:
        return SplitMargin(score)
    ends = find_leaves(stump, [v[rows] for i, v in enumerate(training_set.columns) if i != column], len(rows))
    place = int(stump.arrays.column[0])
    parts = [rows[ends == child] for child in stump.children(0)]
    other = scored(judge, stump, 0, parts, place + (place >= column))
    assert other is not None
    return SplitMargin(score, stump.columns[place], score if own and tied(own, other) else said(judge, other))


def best_without(training_set: TrainingSet, rows: Ints, column: int) -> Tree | None:
    """Grow one split on some rows, without a column; None where there is none."""
    kept = [i for i in range(len(training_set.encodings)) if i != column]
    if not kept:
        return None
    some = part(training_set, rows)
    some = replace(
        some,
        encodings=tuple(some.encodings[i] for i in kept),
        columns=tuple(some.columns[i] for i in kept),
        splits=tuple(some.splits[i] for i in kept),
    )
    limits = core_settings(training_set)  # of leaves: those of the whole table
    limits.max_depth, limits.max_leaf_nodes, limits.min_samples_split = 1, -1, 2
    limits.min_impurity_decrease, limits.random_ties, limits.n_jobs = 0.0, False, 1
    limits.accuracy_numerator = limits.accuracy_denominator = 1
    grown = Arrays(**_core.grow(core_columns(some), core_target(some), limits, None))
    return None if grown.kind[0] == LEAF else Tree(some.encodings, some.target, grown)


def scored(judge: NodeScorer, tree: Tree, node: int, parts: Sequence[Ints], column: int) -> Candidate | None:
    """Score the split of a tree's node by the specification."""
    split = tree.split_at(node)
    assert split is not None
    training_set = judge.training_set
    values = training_set.columns[column][np.concatenate(parts)]
    gone = int(encode.is_missing(training_set.encodings[column], values).sum())
    groups = tuple(group_of(training_set, rows) for rows in parts)
    return judge.score(partial(replace, split), split.missing, groups, gone, (column, KIND_RANK[split.kind], 0, 0))


def said(judge: NodeScorer, candidate: Candidate) -> float:
    """Return what a candidate competes by in the user's numbers: a gain per row of the node, or a ratio."""
    if judge.training_set.criterion.rule == "ratio":
        return float(candidate.merit) * 2.0**-RATIO_BITS
    return decrease(judge.training_set, judge.measure, candidate.merit, judge.node.weight)


def traced_gap(found: NodeTrace) -> SplitMargin:
    """Compare by the trace of a node, which lists every candidate."""
    assert found.split is not None
    own = found[found.split.column].score or 0.0
    rival = found.winner if found.winner != found.split.column else found.runner_up
    if rival is None:
        return SplitMargin(own)
    return SplitMargin(own, rival, own if found.tie else found[rival].score or 0.0)
