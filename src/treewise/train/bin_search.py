"""The best split of a node from bins of values: the decision of ``train/reference.py`` without rows.

A bin is an interval of values with the statistics of its rows (``train/source.py``). A threshold between two bins
is known exactly, since both ends are values of rows. What is inside a bin is bounded: the purity φ of a branch
(negative impurity) is convex and φ(x + y) <= φ(x) + φ(y), so for a cut that sends a part b of bin B to the left

    φ(L + b) + φ(R + B − b)  is largest at a corner of the box that b lies in (classes), or of a strip (squared error)

as in ``src/core/criteria/bin_bound.hpp``. Bins whose bound reaches the best score so far are asked for again in
finer bins, until each is one value. The candidates that may still win are then scored in integers by ``NodeScorer``
and compared by ``choose``: floats decide how many questions are asked, never the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.errors import DataError
from treewise.train.candidates import (
    KIND_RANK,
    PARTITIONERS,
    ColumnAtNode,
    ValuePartition,
    ValueStats,
    pool_rare_levels,
)
from treewise.train.criteria import RATIO_BITS, RowStats
from treewise.train.price import POOLED_KINDS, NodePrice
from treewise.train.reference import (
    Candidate,
    ColumnRank,
    NodeScorer,
    NodeSearch,
    TieOrder,
    choose,
    place_missing,
)
from treewise.train.source import BinGrid, Bins, Floats, Request, Stats, TrainingSummary
from treewise.tree.splits import Threshold, midpoint, midpoint_int

FIRST_BINS = 256  # of a column at a node
_FINER_BINS = 256  # of each interval that is asked for again …
_FEW_ROWS = 1 << 14  # … unless it has so few rows, or so few whole numbers: then each value is a bin
_MOST_CORNERS = 6  # classes up to which all corners of a box are tried
_FEW_INTEGERS = 1 << 10
_COUNTED = ("rows", "weight", "counts", "target_sum")  # of a node, the same in every column


def first_grid(low: Any, high: Any, most: int) -> tuple[BinGrid, ...]:
    """Return the bins in which a column is counted first; few whole numbers are counted one by one."""
    is_few = not isinstance(low, float) and high - low < _FEW_INTEGERS
    return (BinGrid(low, high, 0 if is_few or low == high else min(most, FIRST_BINS)),)


@dataclass(frozen=True, eq=False)
class BinScorer(NodeScorer):
    """Scores the candidates of a node whose rows are elsewhere; approximately, too, with a bound of the error."""

    sum_of_squares: int | None = None  # squared error: Σ w·d² about the node's mean (price.deviation_shift)

    @cached_property
    def price(self) -> NodePrice:
        """Converts bits to gains at this node."""
        return NodePrice.of(self.training_set, self.rows, self.node, self.measure, self.sum_of_squares)

    @property
    def impurity_name(self) -> str:
        """The criterion whose impurity is measured."""
        return self.training_set.criterion.impurity or self.training_set.criterion.name

    @property
    def score_unit(self) -> float:
        """The value of one unit of the score, for comparison with approximate scores."""
        return 2.0**-RATIO_BITS if self.training_set.criterion.rule == "ratio" else self.measure.unit_value

    def purity(self, sides: Floats) -> Floats:
        """Return φ of branches, given as points."""
        return _PURITIES[self.impurity_name](sides[..., 1], sides[..., 2:])

    @cached_property
    def node_purity(self) -> float:
        """Return φ of the node."""
        node = self.node
        if node.counts:
            values = [node.rows, node.weight, *node.counts]
        else:
            values = [node.rows, node.weight, node.target_sum % node.weight]
        return float(self.purity(np.array(values, np.float64)))

    @cached_property
    def purity_error(self) -> float:
        """Bound on the rounding error of the purity of a split and of its score in integers."""
        weight = float(self.node.weight)
        if self.node.counts:
            rounding = math.ldexp(weight * (2 + math.log2(weight)), -36)
        else:
            rounding = math.ldexp(float(self.node.high - self.node.low + 1) ** 2 * weight, -44)
        return rounding + self.measure.tolerance(3) * self.measure.unit_value


@dataclass(eq=False)
class NodeBins:
    """The known bins of one node, and the bins still to be counted; ``add`` receives counts."""

    scorer: BinScorer
    node: int
    columns: dict[int, Bins] = field(default_factory=dict)
    exact_candidates: dict[int, list[Candidate]] = field(default_factory=dict)  # candidates that are not thresholds
    scanned: dict[int, ThresholdScan] = field(default_factory=dict)  # until there are finer bins

    def add(self, request: Request, answer: Bins) -> None:
        """Add an answer: the first of a column, or the finer bins of some of its intervals."""
        self.scanned.pop(request.column, None)
        if request.is_first:
            self._check_same_rows(request, Stats.concatenate([answer.stats, answer.missing_stats]), self.scorer.node)
            self.columns[request.column] = answer
            return
        held_bins = self.columns[request.column]
        replaced = np.zeros(len(held_bins), bool)
        for grid in request.grids:
            replaced |= (held_bins.low >= grid.low) & (held_bins.high <= grid.high)
        self._check_same_rows(request, answer.stats, held_bins.stats.take(replaced).total().row_stats(0))
        kept_bins = held_bins.take(~replaced)
        grids, bins, low, high, is_exact = (
            np.concatenate([getattr(part, name) for part in (kept_bins, answer)])
            for name in ("grid", "bin", "low", "high", "is_exact")
        )
        stats = Stats.concatenate([kept_bins.stats, answer.stats])
        joined = Bins(grids, bins, low, high, is_exact, stats, held_bins.missing_stats)
        self.columns[request.column] = joined.take(np.argsort(joined.low, kind="stable"))

    def _check_same_rows(self, request: Request, answer: Stats, expected: RowStats) -> None:
        """Refuse a table that is not the same in every pass: its counts would not add up."""
        counted = answer.total().row_stats(0) if len(answer) else None
        if counted is None or any(getattr(counted, name) != getattr(expected, name) for name in _COUNTED):
            column = self.scorer.training_set.encodings[request.column].name
            raise DataError(
                "the table has changed since it was first read: other rows are counted.",
                column=column,
                hint="Write it to a file or a table of its own, and grow on that.",
            )

    # -- what must be asked ------------------------------------------------------------------------------------------

    def questions(self) -> list[Request]:
        """Return the requests for intervals that may hide a better or an equally good threshold."""
        required = self.lower_bounds
        requests = []
        for column, scan in self.scans.items():
            bins = scan.bins
            is_open = (bins.low < bins.high) & scan.can_be_eligible()
            min_score = -math.inf if self.needs_all else required[column]
            if not self.needs_all and is_open.any():
                is_open = scan.may_reach(min_score, is_open)
            is_open |= scan.lack_ends(min_score)
            if len(bins) == 1 and bins.low[0] < bins.high[0]:
                is_open[:] = True  # so that a split is known to be possible
            if is_open.any():
                requests.append(Request(self.node, column, tuple(finer_grids(bins, is_open)), is_first=False))
        if requests:
            del self.lower_bounds
        return requests

    @property
    def needs_all(self) -> bool:
        """Whether every threshold takes part in the decision, or no bound is known."""
        criterion = self.scorer.training_set.criterion
        return criterion.rule == "c45" or criterion.name == "poisson"

    @property
    def scans(self) -> dict[int, ThresholdScan]:
        """The thresholds of the columns of numbers."""
        training_set, allows = self.scorer.training_set, self.scorer.constraints.allows
        for column in self.columns.keys() - self.scanned.keys():
            if not training_set.encodings[column].is_categorical and allows(training_set.constraints[column]):
                self.scanned[column] = ThresholdScan(self.scorer, column, self.columns[column])
        return dict(sorted(self.scanned.items()))

    @cached_property
    def lower_bounds(self) -> dict[int, float]:
        """For each column, the score that a threshold must reach to win or to be tied with the winner."""
        best = max((self._lower(c) for c in self._list_exact_candidates() if c.eligible), default=-math.inf)
        scans = self.scans
        ranked = sorted(
            (
                (upper, column, i, placement)
                for column, scan in scans.items()
                for upper, i, placement in scan.best_cuts(self.max_cuts)
            ),
            reverse=True,
        )
        for upper, column, i, placement in ranked:
            if upper < best:
                break
            candidate = scans[column].candidate(i, placement)
            if candidate is not None and candidate.eligible:
                best = max(best, self._lower(candidate))
                break
        return dict.fromkeys(scans, best)

    @property
    def max_cuts(self) -> int:
        """How many thresholds of a column are tried for a lower bound: all of them if constraints may forbid some."""
        return 1 << 30 if any(c.monotone for c in self.scorer.training_set.constraints) else 4

    def _lower(self, candidate: Candidate) -> float:
        return float(candidate.score - candidate.tolerance) * self.scorer.score_unit

    # -- the decision ------------------------------------------------------------------------------------------------

    def search(self, tie_rank: ColumnRank | None) -> NodeSearch:
        """Choose among the candidates that may win."""
        listed: dict[int, list[Candidate]] = {column: [] for column in sorted(self.columns)}
        for candidate in self._list_exact_candidates():
            listed[candidate.order.column].append(candidate)
        required = self.lower_bounds
        for column, scan in self.scans.items():
            min_score = -math.inf if self.needs_all else required[column]
            listed[column] += [c for c in scan.candidates(min_score) if c is not None]
        constraints = self.scorer.training_set.constraints
        listed = {
            column: sorted(candidates, key=lambda c: c.order)
            for column, candidates in listed.items()
            if self.scorer.constraints.allows(constraints[column])
        }
        if not any(listed.values()):  # thresholds that no limit allows are not listed, but there are some
            listed |= {column: [c for c in scan.candidates(-math.inf) if c] for column, scan in self.scans.items()}
        return choose(self.scorer, listed, tie_rank)

    def _list_exact_candidates(self) -> Iterator[Candidate]:
        """Return the candidates that are known exactly: those of categories, and the presence tests."""
        for column, bins in self.columns.items():
            if column not in self.exact_candidates:
                self.exact_candidates[column] = list(list_exact_candidates(self.scorer, column, bins))
            yield from self.exact_candidates[column]


def finer_grids(bins: Bins, is_open: npt.NDArray[np.bool_]) -> Iterator[BinGrid]:
    """Return grids that refine the open bins: the values themselves, if all of them have few rows."""
    rows = int(bins.stats.rows[is_open].sum())
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_open, [False]]).astype(np.int8)))
    for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        low, high = bins.low[first].item(), bins.high[after - 1].item()
        if finer_grid(low, high, rows).n == 0:
            yield BinGrid(low, high, 0)
            continue
        n = _FINER_BINS * (after - first)
        if _splits_each(bins.take(slice(first, after)), n):
            yield BinGrid(low, high, n)
            continue
        for i in range(first, after):  # a grid for each bin, so that each becomes at least two
            yield finer_grid(bins.low[i].item(), bins.high[i].item(), rows)


def _splits_each(run: Bins, n: int) -> bool:
    """Whether n equal parts of the interval of a run of bins make at least two of each bin."""
    with np.errstate(invalid="ignore"):
        widths = run.high / 2 - run.low / 2
        return bool(widths.min() >= 2 * ((run.high[-1] / 2 - run.low[0] / 2) / n))


def finer_grid(low: Any, high: Any, rows: int) -> BinGrid:
    """Return the bins in which an interval is counted again."""
    is_few = rows <= _FEW_ROWS or (high - low < _FEW_ROWS and not isinstance(low, float)) or high / 2 - low / 2 < 1e-290
    return BinGrid(low, high, 0 if is_few else _FINER_BINS)


def list_exact_candidates(scorer: NodeScorer, column: int, bins: Bins) -> Iterator[Candidate]:
    """Yield the candidates of a column that are not thresholds (``reference.list_candidates`` without rows)."""
    training_set, missing = scorer.training_set, bins.missing_stats.row_stats(0)
    is_categorical = training_set.encodings[column].is_categorical
    if not len(bins) or not (is_categorical or missing.rows):
        return
    kinds = [kind for kind in (*training_set.split_kinds[column], "presence") if kind != "threshold"]
    if is_categorical:
        value_stats = [ValueStats(v, bins.stats.row_stats(i)) for i, v in enumerate(bins.low.tolist())]
    else:
        value_stats = [ValueStats(bins.low[0].item(), bins.stats.total().row_stats(0))]  # for the presence test
    at_node = ColumnAtNode(training_set, column, value_stats, missing)
    pooled = pool_rare_levels(at_node) if is_categorical else at_node
    separate = scorer.separates_missing(missing)
    for kind in kinds:
        values = pooled if kind in POOLED_KINDS else at_node
        bits = scorer.naming_bits(kind, len(values.value_stats))
        for partition in PARTITIONERS[kind](values):
            for placement, (branch, branches) in enumerate(place_missing(partition, missing, separate)):
                order = TieOrder(column, KIND_RANK[kind], partition.position, placement)
                candidate = scorer.score(partition.make_split, branch, branches, missing.rows, order, bits)
                if candidate:
                    yield candidate


# -- the thresholds of one column ------------------------------------------------------------------------------------


@dataclass(eq=False)
class ThresholdScan:
    """The thresholds between the bins of a column, scored approximately, with bounds for those inside."""

    scorer: BinScorer
    column: int
    bins: Bins

    @cached_property
    def points(self) -> Points:
        """The statistics of the bins as points of the plane or space that φ is convex in."""
        return Points.of(self.scorer, self.bins.stats)

    @cached_property
    def missing(self) -> tuple[RowStats, bool]:
        """The rows without a value, and whether they get a branch of their own."""
        missing = self.bins.missing_stats.row_stats(0)
        return missing, self.scorer.separates_missing(missing)

    @cached_property
    def placements(self) -> list[tuple[int, int]]:
        """How often the missing rows are added to the left and to the right, for each placement that is tried."""
        missing, separate = self.missing
        return [(0, 0)] if separate or not missing.rows else [(1, 0), (0, 1)]

    @cached_property
    def before(self) -> Floats:
        """The statistics of the first 0, 1, … bins, without the missing rows."""
        values = self.points.values
        return np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])

    @cached_property
    def edges(self) -> list[tuple[Floats, Floats, Floats, Floats]]:
        """For each placement: what is before each bin edge and after it, and the purity of both."""
        before, total = self.before, self.before[-1]
        edges = []
        for to_left, to_right in self.placements:
            left, right = before + to_left * self.missing_point, total - before + to_right * self.missing_point
            edges.append((left, right, self._purity(left), self._purity(right)))
        return edges

    @cached_property
    def edge_scores(self) -> list[Floats]:
        """For each placement: upper bounds of the scores of the thresholds; -inf where a limit forbids one."""
        scores = []
        for left, right, left_purity, right_purity in self.edges:
            score = self._score(left_purity + right_purity + self._separate_purity, self._weight(left))
            scores.append(np.where(self._fits(left) & self._fits(right), score, -np.inf)[1:-1])
        return scores

    def best_cuts(self, limit: int) -> Iterator[tuple[float, int, int]]:
        """Yield the best thresholds approximately: (upper bound of the score, position, placement)."""
        for placement, scores in enumerate(self.edge_scores):
            order = np.argsort(-scores, kind="stable")[:limit]
            yield from ((float(scores[i]), int(i), placement) for i in order if scores[i] > -np.inf)

    def may_reach(self, min_score: float, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return those of some bins in which a threshold may have this score: by a quick bound first."""
        bound = np.full(len(self.bins), -np.inf)
        alone = self.points.purity_of_rows(self.scorer)
        for left, _, left_purity, right_purity in self.edges:
            purity = left_purity[:-1] + right_purity[1:] + alone + self._separate_purity
            bound = np.maximum(bound, self._larger_score(purity, left[:-1], left[1:]))
        reached: npt.NDArray[np.bool_] = chosen & (bound >= min_score)
        if reached.any():
            reached[reached] = self.bounds(reached) >= min_score
        return reached

    def lack_ends(self, min_score: float) -> npt.NDArray[np.bool_]:
        """Return the bins beside a threshold that may have this score, but whose ends are not values of rows."""
        has_cut = np.zeros(len(self.bins), bool)
        for scores in self.edge_scores:
            has_cut[:-1] |= scores >= min_score
            has_cut[1:] |= scores >= min_score
        return has_cut & ~self.bins.is_exact

    def bounds(self, chosen: npt.NDArray[np.bool_]) -> Floats:
        """Return an upper bound of the score of every threshold inside each of some bins."""
        points = self.points.take(chosen)
        bound = np.full(len(points.values), -np.inf)
        for left, right, _, _ in self.edges:
            start, end = left[:-1][chosen], left[1:][chosen]
            purity = points.bound(start, points.values, right[1:][chosen], self.scorer) + self._separate_purity
            bound = np.maximum(bound, self._larger_score(purity, start, end))
        return bound

    def _larger_score(self, purity: Floats, start: Floats, end: Floats) -> Floats:
        scores = [self._score(purity, self._weight(side)) for side in (start, end)]
        bound: Floats = np.maximum(*scores)
        return bound

    def can_be_eligible(self) -> npt.NDArray[np.bool_]:
        """Return the bins in which a threshold may leave enough rows on both sides."""
        limits = self.scorer.training_set.limits
        before, total = self.before, self.before[-1]
        missing = self.missing_point if self.placements != [(0, 0)] else 0 * self.missing_point
        fits = np.ones(len(self.bins), bool)
        for upper in (before[1:] + missing, total - before[:-1] + missing):
            fits &= self._rows(upper) - 1 >= limits["min_samples_leaf"]
            fits &= self._weight(upper) >= limits["min_weight_fraction_leaf"]
        return fits

    def candidates(self, min_score: float) -> Iterator[Candidate | None]:
        """Yield the candidates whose score may reach a bound, scored in integers."""
        for placement, scores in enumerate(self.edge_scores):
            chosen = np.flatnonzero(scores >= min_score) if min_score > -math.inf else np.arange(len(scores))
            for i in chosen.tolist():
                yield self.candidate(i, placement)

    def candidate(self, i: int, placement: int) -> Candidate | None:
        """Score the threshold between bin i and the next in integers."""
        low, high = self._running[0].row_stats(i), self._running[1].row_stats(i + 1)
        partition = ValuePartition(i, (low, high), partial(self._split_after, i), placements=(0, 1))
        missing, separate = self.missing
        branch, branches = list(place_missing(partition, missing, separate))[placement]
        order = TieOrder(self.column, KIND_RANK["threshold"], i, placement)
        return self.scorer.score(partition.make_split, branch, branches, missing.rows, order)

    def _split_after(self, i: int, *, missing: int) -> Threshold:
        encoding = self.scorer.training_set.encodings[self.column]
        between: Any = midpoint if encoding.kind == "number" else midpoint_int
        cut = between(self.bins.high[i].item(), self.bins.low[i + 1].item())
        return Threshold(encoding.name, cut, missing=missing)

    @cached_property
    def _running(self) -> tuple[Stats, Stats]:
        """The exact sums up to each bin, and from each bin on."""
        stats = self.bins.stats
        return _cumulative(stats), _cumulative(stats.take(slice(None, None, -1))).take(slice(None, None, -1))

    # -- approximate scores ------------------------------------------------------------------------------------------

    @cached_property
    def missing_point(self) -> Floats:
        """The statistics of the rows without a value."""
        point: Floats = Points.of(self.scorer, self.bins.missing_stats).values[0]
        return point

    @cached_property
    def _separate_purity(self) -> float:
        _, separate = self.missing
        return float(self._purity(self.missing_point[None])[0]) if separate else 0.0

    def _purity(self, sides: Floats) -> Floats:
        return self.scorer.purity(sides)

    @staticmethod
    def _rows(sides: Floats) -> Floats:
        return sides[..., 0]

    @staticmethod
    def _weight(sides: Floats) -> Floats:
        return sides[..., 1]

    def _fits(self, sides: Floats) -> npt.NDArray[np.bool_]:
        limits = self.scorer.training_set.limits
        meets_limits = self._rows(sides) >= limits["min_samples_leaf"]
        return meets_limits & (self._weight(sides) >= limits["min_weight_fraction_leaf"])

    def _score(self, purity: Floats, left_weight: Floats) -> Floats:
        """Return an upper bound of the score of splits of this purity, by the criterion's rule."""
        scorer = self.scorer
        gain = purity - scorer.node_purity + scorer.purity_error
        gain = gain - float(scorer.feature_costs[self.column]) * scorer.measure.unit_value
        _, separate = self.missing
        if scorer.training_set.criterion.rule == "gain":
            divided = scorer.training_set.divides_gain_by_branches and separate
            return gain / 2 if divided else gain
        if scorer.training_set.criterion.rule == "c45":
            return gain
        missing = float(self.missing_point[1]) if separate else 0.0
        parts = (left_weight, scorer.node.weight - missing - left_weight, np.full(len(left_weight), missing))
        information = _nlogn(np.array(float(scorer.node.weight))) - sum(map(_nlogn, parts))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(gain > 0, gain / np.maximum(information, 0.0), 0.0)
        bound: Floats = ratio * (1 + 2.0**-30) + 2.0**-30
        return bound


def _cumulative(stats: Stats) -> Stats:
    sums = {name: np.cumsum(getattr(stats, name), axis=0) for name in ("rows", "weight", "counts", "target_sum")}
    return replace(stats, **sums)


# -- purity φ of a branch, in floats ---------------------------------------------------------------------------------


def _nlogn(x: Floats) -> Floats:
    return np.where(x > 0, x * np.log2(np.maximum(x, 1.0)), 0.0)


def _entropy_purity(weight: Floats, counts: Floats) -> Floats:
    purity: Floats = _nlogn(counts).sum(axis=-1) - _nlogn(weight)
    return purity


def _gini_purity(weight: Floats, counts: Floats) -> Floats:
    purity: Floats = (counts * counts).sum(axis=-1) / np.maximum(weight, 1.0)
    return purity


def _error_purity(weight: Floats, counts: Floats) -> Floats:
    del weight
    purity: Floats = counts.max(axis=-1)
    return purity


def _squares_purity(weight: Floats, sums: Floats) -> Floats:
    return sums[..., 0] ** 2 / np.maximum(weight, 1.0)


_PURITIES = {
    "entropy": _entropy_purity,
    "gini": _gini_purity,
    "error": _error_purity,
    "squared_error": _squares_purity,
    "poisson": _squares_purity,  # not used: all candidates are scored in integers
}


@dataclass(eq=False)
class Points:
    """Groups of rows as vectors: rows, weight, then the classes, or the sum of the targets about the node's mean."""

    values: Floats
    spread: Floats | None = None  # squared error: √(Σ w·(y − mean of the group)²) at most

    @classmethod
    def of(cls, scorer: BinScorer, stats: Stats) -> Points:
        """Convert integer statistics."""
        training_set, node = scorer.training_set, scorer.node
        if training_set.target.task == "classification":
            return cls(np.column_stack([stats.rows, stats.weight, stats.counts]).astype(np.float64))
        mean = node.target_sum // node.weight
        sums = stats.target_sum - mean * stats.weight.astype(object)
        values = np.column_stack([stats.rows, stats.weight, sums.astype(np.float64)]).astype(np.float64)
        assert isinstance(training_set, TrainingSummary)
        weight = np.maximum(stats.weight.astype(np.float64), 1.0)
        within = stats.squares.astype(np.float64) - stats.deviations.astype(np.float64) ** 2 / weight
        within = np.maximum(within, 0) + 2.0**-40 * stats.squares
        # Minkowski: a target is q·2^shift + r with r < 2^shift, and r deviates by 2^shift/2 at most.
        spread = (np.sqrt(within) + np.sqrt(weight) / 2) * 2.0 ** training_set.deviation_scale[1]
        return cls(values, spread)

    def take(self, chosen: npt.NDArray[np.bool_]) -> Points:
        """Return some of the groups."""
        return Points(self.values[chosen], None if self.spread is None else self.spread[chosen])

    def bound(self, left: Floats, inside: Floats, right: Floats, scorer: BinScorer) -> Floats:
        """Return the largest purity of a cut inside each bin."""
        if self.spread is None:
            return self._bound_classes(left, inside, right, scorer)
        purity = scorer.purity
        weight = np.maximum(inside[:, 1], 1.0)
        upper = purity(left) + purity(right) + self.purity_of_rows(scorer)
        reach = np.sqrt(weight) * self.spread / 2 + 1
        total = left + inside + right
        corners = []
        for start, sign in product((left, left + inside), (-1, 1)):
            corner = start.copy()
            corner[:, 2] += sign * reach
            corners.append(purity(corner) + purity(total - corner))
        is_inner = (left[:, 1] > 0) & (right[:, 1] > 0)
        bound: Floats = np.where(is_inner, np.minimum(upper, np.maximum.reduce(corners)), upper)
        return bound

    def purity_of_rows(self, scorer: BinScorer) -> Floats:
        """Return Σ φ of the rows of each group alone; no cut inside has a larger purity (φ is subadditive)."""
        weight = self.values[:, 1]
        if self.spread is not None:
            sums: Floats = self.spread**2 + self.values[:, 2] ** 2 / np.maximum(weight, 1.0)
            return sums
        return np.zeros(len(weight)) if scorer.impurity_name == "entropy" else weight

    def _bound_classes(self, left: Floats, inside: Floats, right: Floats, scorer: BinScorer) -> Floats:
        purity = scorer.purity
        n_classes, total = inside.shape[1] - 2, left + inside + right
        if n_classes > _MOST_CORNERS:
            upper: Floats = purity(left) + purity(right) + self.purity_of_rows(scorer)
            return upper
        corners = []
        for corner in product((0.0, 1.0), repeat=n_classes):
            left_part = inside.copy()
            left_part[:, 2:] *= corner
            left_part[:, 1] = left_part[:, 2:].sum(axis=1)
            corners.append(purity(left + left_part) + purity(total - left - left_part))
        bound: Floats = np.maximum.reduce(corners)
        return bound
