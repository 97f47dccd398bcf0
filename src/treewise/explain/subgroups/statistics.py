"""Compare a group of rows with the rest: effect size, confidence interval and p-value.

Used by ``subgroups.py``. Shares are compared by Fisher's exact test (1935) and Newcombe's interval of the
difference (1998), means by Welch's test (1947) and its interval. Several p-values are adjusted by Holm's method (1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treewise.predict.confidence_intervals import (
    beta_share,
    student_half_width,
    student_quantile,
    upper_share,
    wilson,
    wilson_intervals,
)

_UNDERFLOW = -800.0  # the logarithm of a probability too small for a double, even summed over all beyond it


@dataclass(frozen=True)
class GroupStatistics:
    """Exact sums over some rows: of hits of a class, or of numbers as integer multiples of a power of two.

    Being exact they can be subtracted: removing an outlier of 1e9 leaves no rounding error.
    """

    n: int
    total: int
    squares: int
    exponent: int | None = None  # numbers are multiples of two to this power; None if hits of a class are counted

    @classmethod
    def of(cls, values: npt.NDArray[np.float64]) -> GroupStatistics:
        """Sum up numbers.

        >>> group = GroupStatistics.of(np.array([1.0, 2.0, 4.5]) * 1e200)
        >>> round(group.mean / 1e200, 4), round(group.sd / 1e200, 4)
        (2.5, 1.472)
        """
        integers, exponent = scale_to_integers(values)
        return cls(len(integers), sum(integers), sum(integer * integer for integer in integers), exponent)

    def __sub__(self, other: GroupStatistics) -> GroupStatistics:
        """Return the statistics of these rows without the others."""
        return GroupStatistics(self.n - other.n, self.total - other.total, self.squares - other.squares, self.exponent)

    @property
    def is_numeric(self) -> bool:
        """Whether means of numbers are compared, not shares of a class."""
        return self.exponent is not None

    @property
    def mean(self) -> float:
        """The share of hits, or the mean."""
        return _divide(self.total, self.n, self.exponent or 0) if self.n else math.nan

    @property
    def hits(self) -> int | None:
        """The number of rows of the class; None for numbers."""
        return None if self.is_numeric else self.total

    @property
    def sd(self) -> float:
        """The standard deviation of the rows."""
        if not self.n:
            return math.nan
        deviation = self.n * self.squares - self.total * self.total  # exact, so never below 0
        half = deviation.bit_length() // 2  # the square may be too large for a double
        return math.ldexp(math.sqrt(_divide(deviation, self.n * self.n, -2 * half)), half + (self.exponent or 0))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return Wilson's interval of the share, or Student's of the mean."""
        if not self.is_numeric:
            return wilson(self.total, self.n, confidence)
        half = student_half_width(self.sd, self.n, confidence)
        return self.mean - half, self.mean + half


def scale_to_integers(values: npt.NDArray[np.float64]) -> tuple[list[int], int]:
    """Return finite numbers as exact integer multiples of a power of two, and its exponent.

    >>> integers, exponent = scale_to_integers(np.array([3.0, 0.5, 0.0]))
    >>> [integer * 2.0**exponent for integer in integers]
    [3.0, 0.5, 0.0]
    """
    mantissa, exponents = np.frexp(values)
    lowest = int(exponents[values != 0].min(initial=1024))
    integers, shifts = (mantissa * 2.0**53).astype(np.int64), np.where(values != 0, exponents - lowest, 0)
    return [n << shift for n, shift in zip(integers.tolist(), shifts.tolist(), strict=True)], lowest - 53


def _divide(dividend: int, divisor: int, exponent: int) -> float:
    """Return dividend / divisor · 2^exponent for integers of any size.

    >>> _divide(3 << 2000, 4, -2000), _divide(1, 3, 0) == 1 / 3
    (0.75, True)
    """
    extra = max(0, dividend.bit_length() - divisor.bit_length() - 200)
    return math.ldexp((dividend >> extra) / divisor, exponent + extra)


@dataclass(frozen=True)
class GroupDifference:
    """The share or mean of a group minus that of the rest, with its interval and the p-value of no difference."""

    value: float
    low: float
    high: float
    p: float

    @property
    def at_least(self) -> float:
        """The magnitude at the end of the interval nearest to 0 (0 if it contains 0): groups are ranked by it."""
        return 0.0 if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))


def compare_groups(
    groups: Sequence[GroupStatistics], rests: Sequence[GroupStatistics], confidence: float
) -> list[GroupDifference]:
    """Compare each group with its rest."""
    pairs = list(zip(groups, rests, strict=True))
    if not pairs or groups[0].is_numeric:
        return [welch(group, rest, confidence) for group, rest in pairs]
    lows, highs = newcombe(groups, rests, confidence)
    return [
        GroupDifference(group.mean - rest.mean, low, high, p_value(group, rest))
        for (group, rest), low, high in zip(pairs, lows, highs, strict=True)
    ]


def p_value(group: GroupStatistics, rest: GroupStatistics) -> float:
    """Return the p-value of no difference, without an interval."""
    if group.is_numeric:
        return _welch_p(group, rest)
    return fisher(group.total, group.n, rest.total, rest.n)


def fisher(hits: int, n: int, rest_hits: int, rest: int) -> float:
    """Return the p-value of Fisher's exact test, two-sided: the sum over all tables no more probable than this one.

    Probabilities are summed relative to the largest, by logarithms of their ratios; one too small for a double is 0.

    >>> round(fisher(8, 10, 1, 6), 6)                   # a textbook's 2 × 2 table
    0.034965
    >>> fisher(3, 3, 0, 0), fisher(500, 500, 0, 1_000_000)
    (1.0, 0.0)
    """
    all_hits, total = hits + rest_hits, n + rest
    smallest, largest = max(0, all_hits - rest), min(n, all_hits)
    if smallest == largest:
        return 1.0
    mode = (n + 1) * (all_hits + 1) // (total + 2)
    if _log_probability(hits, n, all_hits, rest) - _log_probability(mode, n, all_hits, rest) < _UNDERFLOW:
        return 0.0
    variance = n * (all_hits / total) * (1 - all_hits / total) * (rest / max(1, total - 1))
    reach = 2 * abs(hits - mode) + int(12 * math.sqrt(variance)) + 100  # terms further out are negligible
    first, last = max(smallest, mode - reach), min(largest, mode + reach)
    k = np.arange(first, last, dtype=float)
    ratios = np.log((all_hits - k) * (n - k)) - np.log((k + 1) * (rest - all_hits + k + 1))
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    logs -= logs.max()
    weights = np.exp(logs)
    extreme = logs <= logs[hits - first] + 1e-9
    return min(1.0, float(weights[extreme].sum() / weights.sum()))


def _log_probability(hits: int, n: int, all_hits: int, rest: int) -> float:
    """Return the logarithm of the hypergeometric probability, up to a constant."""
    cells = (hits, n - hits, all_hits - hits, rest - all_hits + hits)
    return -sum(math.lgamma(cell + 1) for cell in cells)


def newcombe(
    groups: Sequence[GroupStatistics], rests: Sequence[GroupStatistics], confidence: float
) -> tuple[list[float], list[float]]:
    """Return the ends of Newcombe's intervals of differences of shares, combined from Wilson's intervals.

    >>> low, high = newcombe([GroupStatistics(70, 56, 56)], [GroupStatistics(80, 48, 48)], 0.95)
    >>> round(low[0], 4), round(high[0], 4)              # Newcombe 1998, example (a): 0.0524 to 0.3339
    (0.0524, 0.3339)
    """
    sides = []
    for side in (groups, rests):
        n = np.array([group.n for group in side], float)
        share = np.array([group.total for group in side]) / n
        sides.append((share, *wilson_intervals(share, n, confidence)))
    (share, low, high), (rest, rest_low, rest_high) = sides
    below, above = np.hypot(share - low, rest_high - rest), np.hypot(high - share, rest - rest_low)
    return (share - rest - below).tolist(), (share - rest + above).tolist()


def welch(group: GroupStatistics, rest: GroupStatistics, confidence: float) -> GroupDifference:
    """Compare two means of possibly unequal variances."""
    difference = group.mean - rest.mean
    if group.n < 2 or rest.n < 2:
        return GroupDifference(difference, -math.inf, math.inf, 1.0)
    error, freedom = _standard_error(group, rest)
    half = student_quantile(upper_share(confidence), freedom) * error if error else 0.0
    return GroupDifference(difference, difference - half, difference + half, _welch_p(group, rest))


def _welch_p(group: GroupStatistics, rest: GroupStatistics) -> float:
    """Return the p-value of Welch's test, two-sided; 1 if a side has a single row and so no variance."""
    if group.n < 2 or rest.n < 2:
        return 1.0
    difference = group.mean - rest.mean
    error, freedom = _standard_error(group, rest)
    if error == 0:
        return float(difference == 0)
    t = difference / error
    return beta_share(freedom / (freedom + t * t), freedom / 2, 0.5)


def _standard_error(group: GroupStatistics, rest: GroupStatistics) -> tuple[float, float]:
    """Return the standard error of a difference of means, and its degrees of freedom (Welch–Satterthwaite)."""
    unit = max(group.sd, rest.sd)  # squares in this unit neither overflow nor underflow
    if unit == 0:
        return 0.0, math.inf
    variances = [(side.sd / unit) ** 2 / (side.n - 1) for side in (group, rest)]
    freedom = sum(variances) ** 2 / sum(v * v / (s.n - 1) for v, s in zip(variances, (group, rest), strict=True))
    return unit * math.sqrt(sum(variances)), freedom


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple comparisons (Holm 1979).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[i]))
        adjusted[i] = largest
    return adjusted
