"""All candidates of one node, fast: the best test of every column, and the gain along every column of numbers.

``find_best_split`` (``train/reference.py``) lists every candidate in Python, which a person editing a tree of a million
rows cannot wait for. Here the core reads the columns, whose numbers are sorted once per table
(``src/core/search/threshold_profile.hpp``), and returns the few thresholds that may be the best of their column; these
are scored and compared by the code of the specification. Criteria that need more than sums use the specification itself
on small nodes, and the core's search on large ones, one column at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise.data import encoding as encode
from treewise.predict.predict import find_leaves
from treewise.sources.frontier_counts import FrontierCounts
from treewise.sources.memory import summarise
from treewise.train.bin_search import list_exact_candidates
from treewise.train.candidates import KIND_RANK, PARTITIONERS, ColumnAtNode, ValuePartition, ValueStats, compute_stats
from treewise.train.constraints import NodeConstraints
from treewise.train.criteria import RowStats
from treewise.train.grow import core_columns, core_settings, core_target, resolve_n_jobs
from treewise.train.independence import NodeTests, compute_test
from treewise.train.reference import (
    Candidate,
    NodeScorer,
    NodeSearch,
    TieOrder,
    choose,
    choose_by_test,
    find_best_split,
    list_candidates,
    place_missing,
)
from treewise.train.resampling import take_rows
from treewise.train.source import Request, TrainingSummary
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import LEAF, Arrays
from treewise.tree.splits import Threshold, midpoint, midpoint_int
from treewise.tree.tree import Tree

Rows = npt.NDArray[np.uint32]

N_POINTS = 400  # of the gain along a column
_FEW_CELLS = 20_000  # of a node that is searched by the specification if the core has no profile for its criterion
_PROFILED = ("entropy", "gini", "error", "squared_error")  # impurities that are functions of sums


@dataclass(frozen=True)
class GainPoint:
    """A threshold and its gain: one point of the chart of a column."""

    threshold: float | int
    gain: float  # per unit of the node's weight
    left: float  # the share of the present rows at or below the threshold


@dataclass(frozen=True, eq=False)
class NodeCandidates:
    """The candidates of a node: for each column those that may be its best, and the gain along columns of numbers."""

    search: NodeSearch
    points: dict[int, list[GainPoint]]


@dataclass(eq=False)
class NodeSearcher:
    """Searches the nodes of one table; sorts its columns of numbers on first use."""

    training_set: TrainingSet
    n_jobs: int = field(default_factory=lambda: resolve_n_jobs(None))

    def search(
        self, rows: Rows, constraints: NodeConstraints, excluded: frozenset[int] = frozenset()
    ) -> NodeCandidates:
        """Compare the candidates of the node with these rows, in ascending order; some columns may be left out."""
        given = self.training_set
        columns = [i for i, own in enumerate(given.constraints) if i not in excluded and constraints.allows(own)]
        if not self._has_profiles and len(rows) * len(columns) <= _FEW_CELLS:
            return self._search_by_specification(rows, constraints, columns)
        at = rows.astype(np.int64)
        training_set = given.with_node_scale(at)
        scorer = self._scorer(training_set, rows, constraints)
        if self._has_profiles:
            listed, n_cuts, points = self._profile(scorer, rows, columns)
        else:
            listed, points = {c: self._best_of_column(scorer, rows, c) for c in columns}, {}
            n_cuts = {c: self._count_cuts(rows, c) for c in columns} if training_set.criterion.rule == "c45" else {}
        if training_set.settings.selection == "test":
            tests = NodeTests([compute_test(training_set, column, at) for column in columns])
            return NodeCandidates(choose_by_test(scorer, listed, tests, n_thresholds=n_cuts), points)
        return NodeCandidates(choose(scorer, listed, n_thresholds=n_cuts), points)

    @cached_property
    def _has_profiles(self) -> bool:
        criterion = self.training_set.criterion
        is_monotone = any(own.monotone for own in self.training_set.constraints)
        return (criterion.impurity or criterion.name) in _PROFILED and not is_monotone

    # -- the specification, and the core's search --------------------------------------------------------------------

    def _search_by_specification(
        self, rows: Rows, constraints: NodeConstraints, columns: Sequence[int]
    ) -> NodeCandidates:
        search = find_best_split(self.training_set, rows.astype(np.int64), None, constraints)
        kept = {column: search.candidates[column] for column in columns if column in search.candidates}
        if search.tests is not None:
            tests = NodeTests([test for test in search.tests.tests if test.column in kept])
            search = choose_by_test(search.scorer, kept, tests)
        else:
            search = choose(search.scorer, kept)
        points = {}
        for column, listed in kept.items():
            thresholds = [c for c in listed if c.order.kind == KIND_RANK["threshold"]]
            points[column] = [
                GainPoint(c.split.cut, search.scorer.gain_value(c), c.branches[0].rows / max(1, len(rows)))
                for c in thresholds
                if isinstance(c.split, Threshold)
            ]
        return NodeCandidates(search, {column: own for column, own in points.items() if own})

    def _best_of_column(self, scorer: NodeScorer, rows: Rows, column: int) -> list[Candidate]:
        """Return the best candidate of a column of numbers, which the core finds; all of a column of categories."""
        training_set = scorer.training_set
        if training_set.encodings[column].is_categorical:
            return list(list_candidates(scorer, rows.astype(np.int64), column))
        part = take_rows(training_set, rows.astype(np.int64))
        part = replace(
            part,
            encodings=(part.encodings[column],),
            columns=(part.columns[column],),
            split_kinds=(part.split_kinds[column],),
        )
        limits, constraints = core_settings(training_set), scorer.constraints
        limits.max_depth, limits.max_leaf_nodes, limits.min_samples_split = 1, -1, 2
        limits.selection = "gain" if limits.selection == "test" else limits.selection
        limits.min_impurity_decrease, limits.random_ties, limits.random_cuts, limits.n_jobs = 0.0, False, False, 1
        limits.max_features = 1
        limits.root_low, limits.root_high = constraints.low, constraints.high
        limits.root_groups, limits.root_acquired = constraints.interaction_groups, constraints.acquired
        limits.accuracy_numerator = limits.accuracy_denominator = 1
        arrays = Arrays(**_core.grow(core_columns(part), core_target(part), limits, None))
        if arrays.kind[0] == LEAF:
            return []
        stump = Tree(part.encodings, part.target, arrays)
        split = stump.split_at(0)
        assert split is not None
        leaves = find_leaves(stump, part.columns, len(part))
        parts = [rows[leaves == child].astype(np.int64) for child in stump.children(0)]
        candidate = scorer.score_split(split, parts, int(stump.arrays.missing_rows[0]))
        return [] if candidate is None else [candidate]

    def _count_cuts(self, rows: Rows, column: int) -> int:
        encoding, values = self.training_set.encodings[column], self.training_set.columns[column][rows]
        return len(np.unique(values[~encode.is_missing(encoding, values)])) - 1

    # -- profiles of the core ----------------------------------------------------------------------------------------

    @cached_property
    def _columns(self) -> list[_core.Column]:
        return core_columns(self.training_set)

    @cached_property
    def _target(self) -> _core.Target:
        return core_target(self.training_set)

    @cached_property
    def _sorted(self) -> _core.SortedColumns:
        return _core.SortedColumns(self._columns, len(self.training_set), self.n_jobs)

    @cached_property
    def _summary(self) -> TrainingSummary:
        return summarise(self.training_set)

    def _scorer(self, training_set: TrainingSet, rows: Rows, constraints: NodeConstraints) -> NodeScorer:
        node = sum_rows(training_set, rows)
        return NodeScorer(
            training_set, rows.astype(np.int64), node, training_set.criterion.impurity_at(node), constraints
        )

    def _profile(
        self, scorer: NodeScorer, rows: Rows, columns: Sequence[int]
    ) -> tuple[dict[int, list[Candidate]], dict[int, int], dict[int, list[GainPoint]]]:
        training_set = scorer.training_set
        target = self._target if training_set is self.training_set else core_target(training_set)
        numeric = [c for c in columns if not training_set.encodings[c].is_categorical]
        settings = core_settings(training_set)
        settings.n_jobs = self.n_jobs
        profiles = self._sorted.profile(self._columns, target, settings, rows, np.array(numeric, np.int64), N_POINTS)
        listed: dict[int, list[Candidate]] = {}
        n_cuts, points = {}, {}
        for column, profile in zip(numeric, profiles, strict=True):
            listed[column] = list(self._number_candidates(scorer, column, profile))
            n_cuts[column] = profile["n_cuts"]
            points[column] = list(self._points(scorer, column, profile))
        categorical = [c for c in columns if training_set.encodings[c].is_categorical]
        for column, candidates in zip(categorical, self._category_candidates(scorer, rows, categorical), strict=True):
            listed[column], n_cuts[column] = candidates, 0
        return dict(sorted(listed.items())), n_cuts, {c: own for c, own in points.items() if own}

    def _number_candidates(self, scorer: NodeScorer, column: int, profile: dict[str, Any]) -> Iterator[Candidate]:
        n_classes = len(scorer.training_set.target.classes)
        missing = _row_stats(profile["missing"], n_classes)
        present = subtract(scorer.node, missing)
        width = len(profile["missing"])
        separate = scorer.separates_missing(missing)
        for i, position in enumerate(profile["best_position"].tolist()):
            low = _row_stats(profile["best_left"][i * width : (i + 1) * width], n_classes)
            between = self._threshold(column, profile["best_low_row"][i], profile["best_high_row"][i])
            make_split = partial(_make_threshold, scorer.training_set.encodings[column].name, between)
            partition = ValuePartition(position, (low, subtract(present, low)), make_split, placements=(0, 1))
            placed = list(enumerate(place_missing(partition, missing, separate)))
            placement, (branch, branches) = placed[int(profile["best_placement"][i])]
            order = TieOrder(column, KIND_RANK["threshold"], position, placement)
            candidate = scorer.score(make_split, branch, branches, missing.rows, order)
            if candidate is not None:
                yield candidate
        if missing.rows and present.rows:
            at_node = ColumnAtNode(scorer.training_set, column, [ValueStats(0, present)], missing)
            for partition in PARTITIONERS["presence"](at_node):
                for placement, (branch, branches) in enumerate(place_missing(partition, missing, separate)):
                    order = TieOrder(column, KIND_RANK["presence"], 0, placement)
                    candidate = scorer.score(partition.make_split, branch, branches, missing.rows, order)
                    if candidate is not None:
                        yield candidate

    def _points(self, scorer: NodeScorer, column: int, profile: dict[str, Any]) -> Iterator[GainPoint]:
        training_set = scorer.training_set
        n_missing = int(profile["missing"][0])
        n = max(1, scorer.node.rows - n_missing)
        with np.errstate(over="ignore"):
            gains = (
                np.ldexp(profile["point_gain"] / scorer.node.weight, -2 * training_set.target_scale).clip(0).tolist()
            )
        ends = zip(profile["point_low_row"], profile["point_high_row"], strict=True)
        for gain, left, (low, high) in zip(gains, profile["point_left"].tolist(), ends, strict=True):
            yield GainPoint(self._threshold(column, low, high), gain, left / n)

    def _threshold(self, column: int, low_row: Any, high_row: Any) -> float | int:
        """Return the threshold between the values of two rows."""
        values = self.training_set.columns[column]
        low, high = values[low_row].item(), values[high_row].item()
        if self.training_set.encodings[column].kind == "number":
            return midpoint(float(low) + 0.0, float(high) + 0.0)
        return midpoint_int(low, high)

    def _category_candidates(self, scorer: NodeScorer, rows: Rows, columns: Sequence[int]) -> Iterator[list[Candidate]]:
        """Return all candidates of columns of categories, from the core's counts of their levels."""
        if not columns:
            return
        training_set = scorer.training_set
        inside = np.zeros(len(training_set), np.int64)
        inside[rows] = 1
        order, starts = _core.rows_by_node(inside, 2)
        summary = self._summary
        if training_set is not self.training_set:
            summary = summarise(training_set)
        requests = [Request(1, column) for column in columns]
        target = self._target if training_set is self.training_set else core_target(training_set)
        nothing = np.empty(0, np.int64)
        counted = _core.count_bins(
            self._columns,
            target,
            order,
            starts,
            np.ones(len(columns), np.int64),
            np.array(columns, np.int64),
            np.ones(len(columns), np.uint8),
            np.zeros(len(columns), np.int64),
            nothing,
            nothing,
            nothing,
            *summary.deviation_scale,
            self.n_jobs,
        )
        answers = FrontierCounts.of(counted, len(training_set.target.classes)).split(summary, requests)
        for column, buckets in zip(columns, answers, strict=True):
            yield list(list_exact_candidates(scorer, column, buckets))


def _make_threshold(name: str, cut: float | int, *, missing: int) -> Threshold:
    return Threshold(name, cut, missing=missing)


def _row_stats(stats: npt.NDArray[np.int64], n_classes: int) -> RowStats:
    """Return statistics of the core as the criteria want them (``src/core/criteria/row_stats.hpp``)."""
    if n_classes:
        return RowStats(int(stats[0]), int(stats[1]), tuple(stats[2 : 2 + n_classes].tolist()))
    total = 0
    for limb in reversed(stats[2:6].tolist()):
        total = total * (1 << 31) + limb
    return RowStats(int(stats[0]), int(stats[1]), (), total)


def subtract(whole: RowStats, part: RowStats) -> RowStats:
    """Return the statistics of the rows of the first group without those of the second.

    >>> subtract(RowStats(5, 5, (3, 2)), RowStats(2, 2, (2, 0)))
    RowStats(rows=3, weight=3, counts=(1, 2), target_sum=0, low=0, high=0, targets=())
    """
    counts = tuple(a - b for a, b in zip(whole.counts, part.counts, strict=True)) if whole.counts else ()
    return RowStats(
        whole.rows - part.rows, whole.weight - part.weight, counts, whole.target_sum - part.target_sum,
    )  # fmt: skip


def sum_rows(training_set: TrainingSet, rows: Rows) -> RowStats:
    """Add up the statistics of many rows (``compute_stats`` for arrays)."""
    weight = training_set.weight[rows]
    total = int(weight.sum())
    if training_set.target.task == "classification":
        n_classes = len(training_set.target.classes)
        if total < 2**53:
            counts = np.bincount(training_set.y[rows], weight, n_classes).astype(np.int64)
            return RowStats(len(rows), total, tuple(counts.tolist()))
    elif training_set.criterion.centre != "median" and len(rows) and total < 2**31:
        y = training_set.y[rows]
        # halves of 32 bits, whose weighted sums fit 64 bits
        target_sum = (int(((y >> 32) * weight).sum()) << 32) + int(((y & 0xFFFFFFFF) * weight).sum())
        return RowStats(len(rows), total, (), target_sum, int(y.min()), int(y.max()))
    return compute_stats(training_set, rows.astype(np.int64))
