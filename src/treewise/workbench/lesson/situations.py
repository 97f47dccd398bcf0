"""The nodes a student can reach, with their tests: everything that a lesson knows, computed before it begins.

A *situation* is a set of training rows. Different paths that lead to the same rows share it, so a table has fewer
situations than trees. Its tests are those of the specification (``train/reference.py``), and the formulas are those of
the trace. ``enumerate_situations`` searches level by level. What is computed is limited in three ways, and the lesson
says which: the depth, the tests that are offered of each column, and the number of situations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from treewise.data.encoding import is_missing
from treewise.explain.trace.arithmetic import NumberFormat
from treewise.explain.trace.nodes import (
    CandidateTrace,
    ColumnTrace,
    NodeInTree,
    NodeTrace,
    TraceView,
    assign_branches,
    same_partition,
)
from treewise.explain.trace.trace import trace_node
from treewise.explain.trace.words import STOP_REASONS, describe_rows, format_impurity
from treewise.train.candidates import Rows, compute_stats
from treewise.train.criteria import RowStats
from treewise.train.reference import are_tied, leaf_condition
from treewise.train.training_set import TrainingSet
from treewise.tree.splits import Split

MAX_BRANCHES = 12  # of a test that is offered
MAX_TESTS = 8_000  # in all: what a telephone holds with ease
_FEW_TESTS = (24, 12, 8, 5, 3, 2, 1)  # of a column, where not all of them can be offered
_DEPTHS = (3, 2, 1)  # where the depth is not given, and cannot be unlimited

RowsKey = bytes
MoreSplits = Callable[[int | None], Mapping[RowsKey, Sequence[Split]]]


@dataclass(frozen=True)
class LessonTest:
    """One test at a situation, and the situations of its branches."""

    column: int
    label: str
    conditions: tuple[str, ...]  # of each branch
    branches: tuple[int, ...]  # the situation of each branch
    impurities: tuple[str, ...]  # of each branch, formatted
    gain: float
    gain_text: str
    score: float  # what tests are compared by
    formula: str
    arithmetic: str
    is_best: bool  # no test of the situation has a larger score


@dataclass
class Situation:
    """A set of rows: its statistics, and the tests that divide it if it may be divided."""

    rows: int
    weight: float
    counts: tuple[float, ...]  # of each class
    mean: float | None
    lost: float  # as a leaf: the weight it gets wrong, or the squared error
    summary: str  # "12 rows: 6 N, 6 P"
    impurity: str = ""  # "H(6/12) = 1.0000 bits"
    tests: list[LessonTest] = field(default_factory=list)
    winner: int = -1  # the test the learner takes
    tried: int = 0  # tests in all, offered or not
    stop: str = ""  # why it has no tests


@dataclass(frozen=True)
class Limits:
    """What was computed: to which depth, and how many tests of each column; None is all."""

    depth: int | None
    tests: int | None


@dataclass(frozen=True, eq=False)
class Situations:
    """All situations; the first is the root."""

    items: tuple[Situation, ...]
    keys: Mapping[RowsKey, int]
    limits: Limits
    n_searched: int  # situations whose tests were computed

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Situation:
        return self.items[index]


def rows_key(rows: Rows) -> RowsKey:
    """Return the identity of a set of rows, given in ascending order."""
    return hashlib.blake2b(np.ascontiguousarray(rows, np.int64).tobytes(), digest_size=16).digest()


def enumerate_situations(
    training_set: TrainingSet, view: TraceView, budget: int, more_splits: MoreSplits
) -> Situations:
    """Search as much as the budget of situations allows: first everything, then fewer tests, then less depth.

    ``more_splits`` returns further splits to offer, for trees of a depth, by the rows of their nodes.
    """
    given = training_set.settings.max_depth
    searches: dict[RowsKey, NodeTrace] = {}
    attempts = [Limits(given, None)]
    attempts += [Limits(d, n) for d in ((given,) if given is not None else _DEPTHS) for n in (None, *_FEW_TESTS)]
    attempts += [Limits(d, 1) for d in range((given or 1) - 1, 0, -1)]
    for limits in attempts:
        enumeration = _Enumeration(training_set, view, limits, {}, searches)
        if enumeration.run(budget) or limits == attempts[-1]:
            break
    enumeration = _Enumeration(training_set, view, limits, more_splits(limits.depth), searches)
    enumeration.run(None)
    return enumeration.result()


class _Enumeration:
    """One search, level by level: first which situations there are, then their texts."""

    def __init__(
        self,
        training_set: TrainingSet,
        view: TraceView,
        limits: Limits,
        splits: Mapping[RowsKey, Sequence[Split]],
        searches: dict[RowsKey, NodeTrace],
    ) -> None:
        self.training_set, self.view, self.limits, self.splits = training_set, view, limits, splits
        self.searches = searches  # shared by all attempts
        self.rows: list[Rows] = []
        self.keys: dict[RowsKey, int] = {}
        self.divided: dict[int, list[tuple[CandidateTrace, list[int]]]] = {}  # tests with the situations of branches

    def run(self, budget: int | None) -> bool:
        """Search until nothing is left; False as soon as more than a budget would have to be searched."""
        self._number(np.arange(len(self.training_set)))
        level, depth, n_searched, n_tests = [0], 0, 0, 0
        while level and (self.limits.depth is None or depth < self.limits.depth):
            below: list[int] = []
            is_last = self.limits.depth == depth + 1
            for number in level:
                n_searched += 1
                n_known = len(self.rows)
                n_tests += self._search(number)
                below += () if is_last else filter(self._is_open, range(n_known, len(self.rows)))
                if budget is not None and (n_searched + len(below) > budget or n_tests > MAX_TESTS):
                    return False
            level, depth = below, depth + 1
        return True

    def result(self) -> Situations:
        """Describe what was further."""
        items = [_describe(self.training_set, rows, self.view) for rows in self.rows]
        for number, divided in self.divided.items():
            situation, trace = items[number], self._trace(number)
            situation.tried = trace.tried
            search = trace.search
            if search is None or search.winner is None or search.reason or not divided:
                reason = trace.settled or (search.reason if search else "")
                situation.stop = STOP_REASONS.get(reason, "every test divides these rows into too many branches")
                continue
            situation.tests = [_lesson_test(trace, test, branches) for test, branches in divided]
            situation.winner = next(i for i, (test, _) in enumerate(divided) if test.candidate is search.winner)
        for number, situation in enumerate(items):
            if not situation.stop and number not in self.divided:
                situation.stop = f"the depth of this lesson is {self.limits.depth}"
        return Situations(tuple(items), self.keys, self.limits, len(self.divided))

    def _number(self, rows: Rows) -> int:
        """Return the number of the situation of some rows."""
        key = rows_key(rows)
        if key not in self.keys:
            self.keys[key] = len(self.rows)
            self.rows.append(rows)
        return self.keys[key]

    def _is_open(self, number: int) -> bool:
        """Tell whether a situation may be divided."""
        rows, training_set = self.rows[number], self.training_set
        if training_set.target.task == "classification" and (training_set.y[rows] == training_set.y[rows[0]]).all():
            return False
        return not leaf_condition(
            training_set.with_node_scale(rows), rows, compute_stats(training_set.with_node_scale(rows), rows), depth=-1
        )

    def _trace(self, number: int) -> NodeTrace:
        key = rows_key(self.rows[number])
        if key not in self.searches:
            self.searches[key] = trace_node(self.training_set, self.rows[number], self.view)
        return self.searches[key]

    def _search(self, number: int) -> int:
        """Find the tests of a situation and the situations of their branches; return how many tests there are."""
        trace, rows = self._trace(number), self.rows[number]
        offered = [test for column in trace.columns.values() for test in self._offered(column)]
        offered += self._further(trace, rows, offered)
        offered.sort(key=lambda test: test.candidate.order)
        self.divided[number] = []
        for test in offered:
            branch_of_row = test.taken
            parts = [rows[branch_of_row == b] for b in range(len(test.candidate.branches))]
            self.divided[number].append((test, [self._number(part) for part in parts if len(part)]))
        return len(offered)

    def _offered(self, column: ColumnTrace) -> list[CandidateTrace]:
        """Return the tests of a column, each with its best placement of the missing rows; if needed, some of them."""
        best: dict[tuple[int, ...], CandidateTrace] = {}
        for test in column.tests:
            if not test.eligible or len(test.candidate.branches) > MAX_BRANCHES:
                continue
            order = test.candidate.order[1:3]
            if (
                order not in best
                or test is column.best
                or (best[order] is not column.best and test.candidate.score > best[order].candidate.score)
            ):
                best[order] = test
        tests, most = list(best.values()), self.limits.tests
        if most is None or len(tests) <= most:
            return tests
        kept = {0} if column.best is None else {next(i for i, t in enumerate(tests) if t is column.best)}
        for at in np.linspace(0, len(tests) - 1, most + 2)[1:-1].round().astype(int).tolist():
            if len(kept) < most:
                kept.add(at)
        return [tests[i] for i in sorted(kept)]

    def _further(self, trace: NodeTrace, rows: Rows, offered: Sequence[CandidateTrace]) -> list[CandidateTrace]:
        """Return the splits that are to be offered besides, unless one divides the rows alike."""
        if trace.search is None:
            return []
        further: list[CandidateTrace] = []
        names = [encoding.name for encoding in self.training_set.encodings]
        for split in self.splits.get(rows_key(rows), ()):
            column = names.index(split.column)
            encoding, values = self.training_set.encodings[column], self.training_set.columns[column][rows]
            branch_of_row = assign_branches(split, encoding, values)
            parts = [rows[branch_of_row == b] for b in range(split.n_branches)]
            candidate = trace.search.scorer.score_split(split, parts, int(is_missing(encoding, values).sum()))
            if candidate is None or not candidate.eligible:
                continue
            test = CandidateTrace(trace.number_format, candidate, encoding)
            if not any(same_partition(test, other) for other in [*offered, *further]):
                further.append(test)
        return further


def _lesson_test(trace: NodeTrace, test: CandidateTrace, branches: Sequence[int]) -> LessonTest:
    """Write the arithmetic of a test."""
    split, encoding, number_format = test.candidate.split, test.encoding, trace.number_format
    conditions, impurities = list[str](), list[str]()
    for b, part in enumerate(test.parts):
        if not part.rows:
            continue
        condition = split.condition(b, encoding)
        takes_missing = test.candidate.missing_rows and split.missing == b and "missing" not in condition
        conditions.append(f"{condition} or missing" if takes_missing and split.kind != "presence" else condition)
        impurities.append(number_format.term(part, b + 1).value)
    assert trace.search is not None
    assert trace.search.winner is not None
    return LessonTest(
        column=test.candidate.order.column,
        label=test.label,
        conditions=tuple(conditions),
        branches=tuple(branches),
        impurities=tuple(impurities),
        gain=test.gain,
        gain_text=number_format.format(test.gain),
        score=test.score,
        formula=test.formula,
        arithmetic=test.arithmetic,
        is_best=are_tied(test.candidate, trace.search.winner),
    )


def _describe(given: TrainingSet, rows: Rows, view: TraceView) -> Situation:
    """Return a situation without its tests."""
    training_set = given.with_node_scale(rows)
    node = compute_stats(training_set, rows)
    number_format = NumberFormat(
        training_set, rows, node, training_set.criterion.impurity_at(node), view.unit, view.per
    )
    stop = leaf_condition(training_set, rows, node, depth=-1)
    trace = NodeTrace(number_format, NodeInTree(), view, {}, settled=stop)
    whole = number_format.whole
    return Situation(
        rows=whole.rows,
        weight=whole.weight,
        counts=whole.counts,
        mean=whole.value,
        lost=_lost(training_set, rows, node, number_format),
        summary=describe_rows(trace),
        impurity=format_impurity(trace, blanks=False),
        stop=STOP_REASONS[stop] if stop else "",
    )


def _lost(training_set: TrainingSet, rows: Rows, node: RowStats, number_format: NumberFormat) -> float:
    """Return what the rows lose in a leaf: the weight outside the largest class, or the squared error."""
    if training_set.target.task == "classification":
        return number_format.weight(node.weight - max(node.counts))
    y, weight = training_set.raw[rows], np.ldexp(training_set.weight[rows].astype(float), -training_set.weight_scale)
    return float((weight * (y - np.average(y, weights=weight)) ** 2).sum())
