"""How a node's split is chosen, in readable Python: the specification of the learner.

The core finds the same split faster; a test compares the two. Everything that shows or checks a decision (trace, stump,
stability margins, splits by hand) uses this module. The functions are named after the algorithms of chapter 8:

    find_best_split         compare all candidates of a node                     (algorithm 8.2, FindBestSplit)
    leaf_condition          is the node a leaf before any split is considered?   (algorithm 8.1, LeafCondition)
    find_best_prediction    the majority class, the mean or the median           (algorithm 8.1, FindBestPrediction)

Read ``find_best_split`` first. It has two steps:

1. ``list_candidates``: each split kind partitions the values of each column (``train/candidates.py``), the missing rows
   are tried in every branch, and ``NodeScorer`` scores the result (``train/criteria.py``).
2. ``choose``: take the best candidate of each column and the best of all. Scores that are equal within their tolerance
   are a tie, which ``TieOrder`` decides.

The result is a ``NodeSearch``: all candidates, the best of each column, winner, runner-up and margin, and the reason if
the node is not split.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from treewise._lib import rng
from treewise._lib.checks import decimal_fraction
from treewise._lib.text import format_rounded, safe
from treewise.train.candidates import (
    KIND_RANK,
    PARTITIONERS,
    Rows,
    ValuePartition,
    compute_stats,
    group_by_value,
    pool_rare_levels,
    random_partition,
)
from treewise.train.constraints import UNCONSTRAINED, NodeConstraints, predicted_value, why_forbidden
from treewise.train.criteria import RATIO_BITS, RATIO_TOLERANCE, RULES, NodeImpurity, RowStats, gain_ratio, log2_fixed
from treewise.train.independence import ColumnTest, NodeTests, compute_test
from treewise.train.price import POOLED_KINDS, NodePrice, naming_bits
from treewise.train.training_set import TrainingSet
from treewise.tree.splits import Split

_NOT_LISTED = sys.maxsize  # the position of a split that the learner does not list: last in a tie


class TieOrder(NamedTuple):
    """How ties are decided: of equally good candidates, the smallest ``TieOrder`` wins."""

    column: int
    kind: int  # KIND_RANK
    position: int  # of the partition among those of its kind
    placement: int  # of the missing rows, in the order in which they are tried


ColumnRank = Callable[[int], int]  # rank of a column in a tie, compared before TieOrder


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible split of a node, with the statistics of its branches and its score."""

    make_split: Callable[..., Split]  # make_split(missing=branch) returns the split
    missing_branch: int
    branches: tuple[RowStats, ...]
    missing_rows: int
    order: TieOrder
    total_gain: int  # decrease of total impurity, in the measure's units; 0 if rounding alone may have caused it
    score: int  # what candidates are compared by: the gain less price and feature cost, by the criterion's rule
    tolerance: int  # bound on the rounding error of the score
    eligible: bool  # whether every branch with rows meets the limits on leaves, and no constraint forbids it
    naming_bits: int = 0  # selection="priced": their price (train/price.py) is subtracted from the gain
    forbidden: str = ""  # why a constraint forbids it, as text (train/constraints.py)
    feature_cost: int = 0  # in total impurity; subtracted from the gain at the first test of the column on the path

    @property
    def split(self) -> Split:
        """The split itself; made on demand, since most candidates are only compared."""
        return self.make_split(missing=self.missing_branch)

    @property
    def filled(self) -> list[RowStats]:
        """The branches that hold rows."""
        return [branch for branch in self.branches if branch.rows]


# -- the search -------------------------------------------------------------------------------------------------------


def find_best_split(
    training_set: TrainingSet, rows: Rows, node_key: int | None = None, constraints: NodeConstraints = UNCONSTRAINED
) -> NodeSearch:
    """Compare all candidates of a node (algorithm 8.2).

    ``node_key`` is the key of the node's random draws (``_lib/rng.py``). It determines the sampled columns if
    ``max_features`` is set (sampling goes on until there are enough and one of them has an eligible candidate), the
    candidates of ``splitter="random"``, and which column wins random ties. Without a key nothing is random: every
    column and every candidate is compared, and ties go to the first. ``constraints`` are what the splits above the node
    demand of it.
    """
    training_set = training_set.with_node_scale(rows)
    settings, n_columns = training_set.settings, len(training_set.columns)
    n_sampled, columns = n_columns, iter(range(n_columns))
    if node_key is not None and settings.features_of(n_columns) < n_columns:
        n_sampled, columns = settings.features_of(n_columns), rng.shuffled_columns(node_key, n_columns)
    allowed = [constraints.allows(column) for column in training_set.constraints]
    columns = (column for column in columns if allowed[column])
    random_key = node_key if settings.splitter == "random" else None
    tie_rank = partial(rng.tie_key, node_key) if node_key is not None and settings.ties == "random" else None

    scorer = NodeScorer.of(training_set, rows, constraints)
    if settings.selection == "test":
        node_tests = _test_columns(training_set, rows, columns, n_sampled)
        column_candidates = {
            t.column: list(list_candidates(scorer, rows, t.column, random_key)) for t in node_tests.tests
        }
        if node_key is None:
            column_candidates |= _list_excluded_columns(scorer, rows)
        return choose_by_test(scorer, column_candidates, node_tests, tie_rank)
    candidates: dict[int, list[Candidate]] = {}
    for column in columns:
        if len(candidates) >= n_sampled and any(
            c.eligible for column_candidates in candidates.values() for c in column_candidates
        ):
            break
        candidates[column] = list(list_candidates(scorer, rows, column, random_key))
    if node_key is None:
        candidates |= _list_excluded_columns(scorer, rows)
    return choose(scorer, candidates, tie_rank)


def _list_excluded_columns(scorer: NodeScorer, rows: Rows) -> dict[int, list[Candidate]]:
    """Return the candidates of the columns that may not be tested at the node: forbidden, but they can be shown."""
    columns = enumerate(scorer.training_set.constraints)
    return {i: list(list_candidates(scorer, rows, i)) for i, c in columns if not scorer.constraints.allows(c)}


def _test_columns(training_set: TrainingSet, rows: Rows, columns: Iterator[int], n_sampled: int) -> NodeTests:
    """Test the sampled columns; sampling goes on until there are enough and one of them can be tested."""
    tests: list[ColumnTest] = []
    for column in columns:
        if len(tests) >= n_sampled and any(test.df for test in tests):
            break
        tests.append(compute_test(training_set, column, rows))
    return NodeTests(tests)


# -- step 1: list the candidates --------------------------------------------------------------------------------------


def list_candidates(scorer: NodeScorer, rows: Rows, column: int, node_key: int | None = None) -> Iterator[Candidate]:
    """Yield the candidates of one column in the order of ``TieOrder``; with a node key, one random split per kind."""
    at_node = group_by_value(scorer.training_set, column, rows)
    if not at_node.value_stats:
        return
    pooled, missing_stats = pool_rare_levels(at_node), at_node.missing_stats
    separate = scorer.separates_missing(missing_stats)
    for kind in (*scorer.training_set.split_kinds[column], "presence"):
        values = pooled if kind in POOLED_KINDS else at_node
        naming_bits = scorer.naming_bits(kind, len(values.value_stats))
        partitions = PARTITIONERS[kind](values) if node_key is None else random_partition(values, kind, node_key)
        for partition in partitions:
            for placement, (branch, branches) in enumerate(place_missing(partition, missing_stats, separate)):
                order = TieOrder(column, KIND_RANK[kind], partition.position, placement)
                candidate = scorer.score(partition.make_split, branch, branches, missing_stats.rows, order, naming_bits)
                if candidate:
                    yield candidate


def place_missing(
    partition: ValuePartition, missing_stats: RowStats, separate: bool
) -> Iterator[tuple[int, tuple[RowStats, ...]]]:
    """Yield the placements of the missing rows to be tried: (their branch, the branches including them)."""
    branches = partition.branches
    if not missing_stats.rows:
        weights = [stats.weight for stats in branches]
        yield weights.index(max(weights)), branches  # nothing to learn from: the heavier branch
    elif separate and not partition.separates_missing:
        yield len(branches), (*branches, missing_stats)
    else:
        for b in partition.placements:
            yield b, tuple(stats + missing_stats if i == b else stats for i, stats in enumerate(branches))


# -- step 2: choose ---------------------------------------------------------------------------------------------------


def choose(
    scorer: NodeScorer,
    candidates: Mapping[int, Sequence[Candidate]],
    tie_rank: ColumnRank | None = None,
    n_thresholds: Mapping[int, int] | None = None,
) -> NodeSearch:
    """Choose the best candidate of each column and the best of all.

    All candidates of the node are compared at once, except for C4.5, which compares the best of each column and
    charges for the number of thresholds: ``n_thresholds``, if not all of them are listed.
    """
    eligible = {
        column: [c for c in column_candidates if c.eligible] for column, column_candidates in candidates.items()
    }
    best_of_column = {
        column: pick(column_candidates, tie_rank) for column, column_candidates in eligible.items() if column_candidates
    }
    if not best_of_column:
        return NodeSearch(scorer, candidates, {}, {}, None, _why_no_split(scorer, candidates))
    if scorer.training_set.criterion.rule == "c45":
        finalists = _c45_finalists(
            scorer.node,
            best_of_column,
            {i: (n_thresholds or {}).get(i) or _n_thresholds(candidates[i]) for i in best_of_column},
        )
        winner = pick(list(finalists.values()), tie_rank)
    else:
        winner = pick([c for column_candidates in eligible.values() for c in column_candidates], tie_rank)
        best_of_column[winner.order.column] = winner  # the best of its column alone may be another, tied with it
        finalists = best_of_column
    reason = "" if _decreases_enough(scorer, winner) else "min_impurity_decrease"
    return NodeSearch(scorer, candidates, best_of_column, finalists, winner, reason)


def _why_no_split(scorer: NodeScorer, candidates: Mapping[int, Sequence[Candidate]]) -> str:
    """Return the reason why no candidate is eligible."""
    allows_all = all(map(scorer.constraints.allows, scorer.training_set.constraints))
    if not allows_all or any(c.forbidden for column_candidates in candidates.values() for c in column_candidates):
        return "constraints"
    return "min_samples_leaf" if any(candidates.values()) else "no_candidate"


def choose_by_test(
    scorer: NodeScorer,
    candidates: Mapping[int, Sequence[Candidate]],
    tests: NodeTests,
    tie_rank: ColumnRank | None = None,
    n_thresholds: Mapping[int, int] | None = None,
) -> NodeSearch:
    """Choose the column with the smallest p-value, then the best of its candidates (``selection="test"``).

    If the limits on leaves allow none of them, the next column is tried, as long as its p-value is significant too.
    """
    alpha = scorer.training_set.limits["alpha"]
    tried: dict[int, Sequence[Candidate]] = {}
    for test in tests.by_p_value(tie_rank):
        if tests.adjusted(test) > alpha:
            break
        tried[test.column] = candidates[test.column]
        if any(candidate.eligible for candidate in tried[test.column]):
            break
    search = choose(scorer, tried, tie_rank, n_thresholds)
    unlimited = choose(scorer, candidates, tie_rank, n_thresholds)
    best_of_column = {**unlimited.best_of_column, **search.best_of_column}
    reason = search.reason if tried or not tests.tested else "not_significant"
    return replace(search, candidates=candidates, best_of_column=best_of_column, reason=reason, tests=tests)


def choose_again(
    search: NodeSearch, candidates: Mapping[int, Sequence[Candidate]], tie_rank: ColumnRank | None = None
) -> NodeSearch:
    """Choose among the candidates of a search and further ones."""
    if search.tests is None:
        return choose(search.scorer, candidates, tie_rank)
    return choose_by_test(search.scorer, candidates, search.tests, tie_rank)


def pick(candidates: Sequence[Candidate], tie_rank: ColumnRank | None = None) -> Candidate:
    """Return the candidate of largest score; ties go to the column of smallest ``tie_rank``, then by TieOrder.

    The true score lies in score ± tolerance, so the best candidate reaches the largest lower bound, and every candidate
    whose upper bound reaches it is tied. The outcome does not depend on the order of the list, and a candidate that is
    truly as good as the best is always among the tied ones.
    """
    best_lower_bound = max(c.score - c.tolerance for c in candidates)
    equals = [c for c in candidates if c.score + c.tolerance >= best_lower_bound]
    return min(equals, key=lambda c: (tie_rank(c.order.column) if tie_rank else 0, c.order))


def are_tied(a: Candidate, b: Candidate) -> bool:
    """Tell whether two scores are equal within their tolerances."""
    return abs(a.score - b.score) <= a.tolerance + b.tolerance


def _c45_finalists(
    node: RowStats, best: Mapping[int, Candidate], n_thresholds: Mapping[int, int]
) -> dict[int, Candidate]:
    """C4.5's second step: compare the gain ratios of the columns whose gain is at least average.

    A threshold's gain is first reduced by log2(thresholds tried)/n, the code length of the choice (Quinlan
    1996, "Improved use of continuous attributes"). n is the number of rows: in total impurity this is
    log2(thresholds tried) times the mean weight of a row, so multiplying all weights by a constant changes nothing.
    """
    net = {}
    for column, candidate in best.items():
        is_threshold = candidate.order.kind == KIND_RANK["threshold"]
        code_length = log2_fixed(n_thresholds[column]) * node.weight // node.rows if is_threshold else 0
        net[column] = replace(candidate, score=candidate.score - code_length)
    average = sum(c.score // len(net) for c in net.values())
    return {
        column: replace(
            c,
            score=gain_ratio(c.score, node, c.filled),
            tolerance=gain_ratio(c.tolerance, node, c.filled) + RATIO_TOLERANCE,
        )
        for column, c in net.items()
        if c.score + 2 * c.tolerance + len(net) >= average
    }


def _n_thresholds(candidates: Sequence[Candidate]) -> int:
    """Return the number of distinct thresholds among the learner's candidates of a column."""
    orders = [c.order for c in candidates]
    return len({o.position for o in orders if o.kind == KIND_RANK["threshold"] and o.position != _NOT_LISTED})


def _decreases_enough(scorer: NodeScorer, winner: Candidate) -> bool:
    """Check min_impurity_decrease, to twelve digits."""
    training_set, measure = scorer.training_set, scorer.measure
    min_decrease = training_set.limits["min_impurity_decrease"] * (1 - 2.0**-40)
    at_most = winner.total_gain + measure.tolerance(len(winner.filled)) if winner.total_gain else 0
    return impurity_decrease(training_set, measure, at_most, int(training_set.weight.sum())) >= min_decrease


# -- how one candidate is scored --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NodeScorer:
    """Scores the candidates of one node."""

    training_set: TrainingSet
    rows: Rows
    node: RowStats  # the statistics of its rows
    measure: NodeImpurity
    constraints: NodeConstraints = UNCONSTRAINED

    @classmethod
    def of(cls, training_set: TrainingSet, rows: Rows, constraints: NodeConstraints = UNCONSTRAINED) -> NodeScorer:
        """Return the scorer of the node with these rows."""
        node = compute_stats(training_set, rows)
        return cls(training_set, rows, node, training_set.criterion.impurity_at(node), constraints)

    @cached_property
    def total_impurity(self) -> int:
        """The node's impurity before any split."""
        return self.measure.total_impurity(self.node)

    @cached_property
    def price(self) -> NodePrice:
        """Converts bits to gains at this node."""
        return NodePrice.of(self.training_set, self.rows, self.node, self.measure)

    def naming_bits(self, kind: str, n_levels: int) -> int:
        """Return what a test of a kind that tells so many levels apart pays to compete; 0 unless tests are priced.

        A random set is the only one of its column that competes, and has no price.
        """
        settings = self.training_set.settings
        if settings.selection != "priced" or (kind == "subset" and settings.splitter == "random"):
            return 0
        return naming_bits(kind, n_levels, sum(count > 0 for count in self.node.counts))

    def meets_limits(self, stats: RowStats) -> bool:
        """Tell whether a branch is large enough to be a leaf."""
        limits = self.training_set.limits
        return stats.rows >= limits["min_samples_leaf"] and stats.weight >= limits["min_weight_fraction_leaf"]

    def separates_missing(self, missing_stats: RowStats) -> bool:
        """Tell whether the missing rows get a separate branch: with missing="branch", if they may be a leaf."""
        requested = self.training_set.settings.missing == "branch" and missing_stats.rows > 0
        return requested and self.measure.valid(missing_stats) and self.meets_limits(missing_stats)

    def score(
        self,
        make_split: Callable[..., Split],
        missing_branch: int,
        branches: tuple[RowStats, ...],
        missing_rows: int,
        order: TieOrder,
        naming_bits: int = 0,
    ) -> Candidate | None:
        """Score the split that ``make_split(missing=missing_branch)`` returns; None if it sends all rows to one branch.

        The gain is the total impurity of the node minus that of its branches; less the price of ``naming_bits``, if
        there is one. The criterion's rule turns it into the score.
        """
        measure = self.measure
        filled = [branch for branch in branches if branch.rows]
        if len(filled) < 2 or not all(map(measure.valid, filled)):
            return None
        computed = self.total_impurity - sum(map(measure.total_impurity, filled))
        tolerance = measure.tolerance(len(filled))
        gain = computed if abs(computed) > tolerance else 0
        net, tolerance = self.price.subtract(computed, tolerance, naming_bits) if naming_bits else (computed, tolerance)
        cost = self.feature_costs[order.column]
        score, tolerance = self._score_of_gain(net - cost, tolerance, filled)
        eligible = all(map(self.meets_limits, filled))
        forbidden = self._why_forbidden(order, branches, score) if eligible else ""
        eligible = eligible and not forbidden
        return Candidate(
            make_split,
            missing_branch,
            branches,
            missing_rows,
            order,
            gain,
            score,
            tolerance,
            eligible,
            naming_bits,
            forbidden,
            cost,
        )

    def _why_forbidden(self, order: TieOrder, branches: Sequence[RowStats], score: int) -> str:
        """Return which constraint forbids a split, as text; "" if none does."""
        is_ordered = order.kind in (KIND_RANK["threshold"], KIND_RANK["ordinal"])
        forbidden = why_forbidden(self.training_set, self.constraints, order.column, is_ordered, branches)
        if forbidden or not self.feature_costs[order.column] or score >= 0:
            return forbidden
        constraint = self.training_set.constraints[order.column]
        return f"gains less than {safe(constraint.name)} costs, {format_rounded(constraint.feature_cost)} per row"

    @cached_property
    def feature_costs(self) -> list[int]:
        """The cost of a test of each column at this node, in total impurity."""
        return [
            self._feature_cost_of(self.constraints.feature_cost(column)) for column in self.training_set.constraints
        ]

    def _feature_cost_of(self, cost: float) -> int:
        degree = self.training_set.criterion.degree * self.training_set.target_scale
        try:
            total = math.ldexp(cost * float(self.node.weight) / self.measure.unit_value, degree)
        except OverflowError:
            total = math.inf
        return int(min(total, 2.0**120))

    def gain_value(self, candidate: Candidate) -> float:
        """Return the gain of a candidate as a decrease of impurity per unit of weight."""
        return impurity_decrease(self.training_set, self.measure, candidate.total_gain, self.node.weight)

    def score_split(self, split: Split, rows_of_branches: Sequence[Rows], missing_rows: int) -> Candidate | None:
        """Score a given split, such as the one in a tree, by the rows of each branch."""
        column = next(i for i, e in enumerate(self.training_set.encodings) if e.name == split.column)
        branches = tuple(compute_stats(self.training_set, rows) for rows in rows_of_branches)
        order = TieOrder(column, KIND_RANK[split.kind], _NOT_LISTED, 0)
        naming_bits = self.naming_bits_of_split(column, split.kind)
        return self.score(partial(replace, split), split.missing, branches, missing_rows, order, naming_bits)

    def naming_bits_of_split(self, column: int, kind: str) -> int:
        """Return what a test of a column pays to compete at this node."""
        if self.training_set.settings.selection != "priced" or kind not in POOLED_KINDS:
            return 0
        levels = pool_rare_levels(group_by_value(self.training_set, column, self.rows)).value_stats
        return self.naming_bits(kind, len(levels))

    def _score_of_gain(self, gain: int, tolerance: int, branches: Sequence[RowStats]) -> tuple[int, int]:
        """Return the score by the criterion's rule, and its tolerance; divided by branches − 1 if kinds compete."""
        rule = self.training_set.criterion.rule
        if rule == "gain" and self.training_set.divides_gain_by_branches:
            divisor = len(branches) - 1
            return gain // divisor, tolerance // divisor + (tolerance > 0)
        return RULES[rule].score(gain, tolerance, self.node, branches)


def impurity_decrease(training_set: TrainingSet, measure: NodeImpurity, gain: int, weight: int) -> float:
    """Convert an integer gain into a decrease of impurity per unit of weight."""
    try:
        scale = -training_set.criterion.degree * training_set.target_scale
        return math.ldexp(float(gain) * measure.unit_value / weight, scale)
    except OverflowError:  # squares of targets above 1e154 overflow, in the core too
        return math.inf


# -- the result -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NodeSearch:
    """The outcome of ``find_best_split``; columns are identified by index.

    >>> from treewise.train.grow import prepare
    >>> training_set = prepare("admissions", preset="id3")
    >>> search = find_best_split(training_set, np.arange(len(training_set)))
    >>> search.winner.split
    Multiway(column='GPA', missing=1, levels=('3.5', '3.7', '4.0'), other=False)
    >>> search.runner_up.split.column, round(search.margin, 3), {i: len(c) for i, c in search.candidates.items()}
    ('University', 0.5, {0: 1, 1: 1, 2: 1, 3: 1})
    """

    scorer: NodeScorer
    candidates: Mapping[int, Sequence[Candidate]]  # by column, each in TieOrder
    best_of_column: Mapping[int, Candidate]  # the best eligible one; columns without any are absent
    finalists: Mapping[
        int, Candidate
    ]  # those compared across columns; for C4.5 fewer, scored by ratio (_c45_finalists)
    winner: Candidate | None  # the best of all; None if no candidate is eligible
    reason: str  # why the node is not split (one of STOPS); "" if it is
    tests: NodeTests | None = None  # of the columns, with selection="test"

    @property
    def best(self) -> Candidate | None:
        """The split of the node; None where there is a reason not to split it."""
        return None if self.reason else self.winner

    @cached_property
    def runner_up(self) -> Candidate | None:
        """The best candidate of the other columns."""
        rivals = [c for c in self.finalists.values() if c is not self.winner]
        return pick(rivals) if rivals else None

    @property
    def is_tie(self) -> bool:
        """Whether winner and runner-up are equally good."""
        return self.winner is not None and self.runner_up is not None and are_tied(self.winner, self.runner_up)

    @property
    def margin(self) -> float | None:
        """The winner's score minus the runner-up's; None without a runner-up."""
        if self.winner is None or self.runner_up is None:
            return None
        return 0.0 if self.is_tie else self.score_value(self.winner) - self.score_value(self.runner_up)

    def score_value(self, finalist: Candidate) -> float:
        """Return a finalist's score as a float: a decrease of impurity per unit of weight, or a ratio."""
        training_set, measure = self.scorer.training_set, self.scorer.measure
        if training_set.criterion.rule != "gain":
            return float(finalist.score) * 2.0**-RATIO_BITS
        return impurity_decrease(training_set, measure, finalist.score, self.scorer.node.weight)

    def thresholds_tried(self, column: int) -> int:
        """Return the number of thresholds listed for a column whose best candidate is a threshold; otherwise 0."""
        candidate = self.best_of_column.get(column)
        if candidate is None or candidate.order.kind != KIND_RANK["threshold"]:
            return 0
        return _n_thresholds(self.candidates[column])


# -- leaves -----------------------------------------------------------------------------------------------------------


def leaf_condition(training_set: TrainingSet, rows: Rows, node: RowStats, depth: int) -> str:
    """Return why a node is a leaf before any split is considered; "" if it is not (algorithm 8.1)."""
    is_regression = training_set.target.task == "regression" and node.rows > 0
    is_constant = is_regression and bool(np.all(training_set.raw[rows] == training_set.raw[rows[0]]))
    return leaf_condition_of(training_set, node, depth, is_constant)


def leaf_condition_of(training_set: TrainingSet, node: RowStats, depth: int, is_constant: bool) -> str:
    """Return why a node is a leaf, by its statistics; ``is_constant``: regression, and all targets are equal."""
    settings, limits = training_set.settings, training_set.limits
    if node.rows == 0:
        return "no_rows"
    if training_set.target.task == "classification":
        if max(node.counts) == node.weight:
            return "pure"
        required_weight = decimal_fraction(settings.sufficient_accuracy) * node.weight
        if settings.sufficient_accuracy < 1 and max(node.counts) >= required_weight:
            return "sufficient_accuracy"
    elif is_constant:
        return "pure"
    if settings.max_depth is not None and depth >= settings.max_depth:
        return "max_depth"
    if node.rows < limits["min_samples_split"]:
        return "min_samples_split"
    return ""


def find_best_prediction(training_set: TrainingSet, rows: Rows, node: RowStats) -> int | float:
    """Return the majority class (the first in a tie), the mean, or for absolute error the median (algorithm 8.1).

    ``training_set`` has the node's target scale (``TrainingSet.with_node_scale``); ``node`` is the statistics of its
    rows.
    """
    if training_set.target.task == "classification":
        return node.counts.index(max(node.counts))
    if np.all(training_set.raw[rows] == training_set.raw[rows[0]]):
        return float(training_set.raw[rows[0]])
    return predicted_value(training_set, node)
