"""How far a group departs from the rest, and how often chance alone would do as much.

Below ``subgroups``; numbers only. Shares are compared by Fisher's exact test (1935), their difference has Newcombe's
interval (1998); means by Welch's test (1947), with its interval. Several p-values are corrected by Holm (1979).
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
    wilson,
    wilson_intervals,
)

FAR_OUT = -800.0  # the logarithm of a probability that no double can hold, nor the sum of all beyond it


@dataclass(frozen=True)
class GroupStatistics:
    """Some rows: how many, and the sums of what is predicted, exact: 1 for a hit, or numbers in whole steps.

    Exact sums of the same steps can be taken from each other: an outlier of 1e9 that is taken away leaves no trace.
    """

    n: int
    total: int
    squares: int
    step: int | None = None  # numbers count steps of two to this power; None: hits of a class are counted

    @classmethod
    def of(cls, values: npt.NDArray[np.float64]) -> GroupStatistics:
        """Add numbers up.

        >>> part = GroupStatistics.of(np.array([1.0, 2.0, 4.5]) * 1e200)
        >>> round(part.mean / 1e200, 4), round(part.spread / 1e200, 4)
        (2.5, 1.472)
        """
        numbers, step = in_steps(values)
        return cls(len(numbers), sum(numbers), sum(number * number for number in numbers), step)

    def __sub__(self, other: GroupStatistics) -> GroupStatistics:
        """Return these rows without those."""
        return GroupStatistics(self.n - other.n, self.total - other.total, self.squares - other.squares, self.step)

    @property
    def numbers(self) -> bool:
        """Whether numbers are compared, not hits of a class."""
        return self.step is not None

    @property
    def mean(self) -> float:
        """The share of hits, or the mean."""
        return scaled(self.total, self.n, self.step or 0) if self.n else math.nan

    @property
    def hits(self) -> int | None:
        """How many rows are of the class; None of numbers."""
        return None if self.numbers else self.total

    @property
    def spread(self) -> float:
        """The standard deviation of the rows themselves."""
        if not self.n:
            return math.nan
        about_mean = self.n * self.squares - self.total * self.total  # exact, so never below 0
        half = about_mean.bit_length() // 2  # a square of steps may be too large for a double
        return math.ldexp(math.sqrt(scaled(about_mean, self.n * self.n, -2 * half)), half + (self.step or 0))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return Wilson's interval of the share, or Student's of the mean."""
        if not self.numbers:
            return wilson(self.total, self.n, confidence)
        half = student_half_width(self.spread, self.n, confidence)
        return self.mean - half, self.mean + half


def in_steps(values: npt.NDArray[np.float64]) -> tuple[list[int], int]:
    """Return finite numbers as whole multiples of a power of two, and which power: nothing is rounded.

    >>> numbers, power = in_steps(np.array([3.0, 0.5, 0.0]))
    >>> [number * 2.0**power for number in numbers]
    [3.0, 0.5, 0.0]
    """
    share, power = np.frexp(values)
    least = int(power[values != 0].min(initial=1024))
    wholes, places = (share * 2.0**53).astype(np.int64), np.where(values != 0, power - least, 0)
    numbers = [number << place for number, place in zip(wholes.tolist(), places.tolist(), strict=True)]
    return numbers, least - 53


def scaled(number: int, by: int, power: int) -> float:
    """Return number / by times two to a power, of whole numbers of any size.

    >>> scaled(3 << 2000, 4, -2000), scaled(1, 3, 0) == 1 / 3
    (0.75, True)
    """
    extra = max(0, number.bit_length() - by.bit_length() - 200)
    return math.ldexp((number >> extra) / by, power + extra)


@dataclass(frozen=True)
class GroupDifference:
    """A group's share or mean less that of the rest, with its interval, and the p-value of no difference."""

    difference: float
    low: float
    high: float
    p: float

    @property
    def at_least(self) -> float:
        """The end of the interval nearest to no difference, 0 where that lies inside: what groups are ranked by."""
        return 0.0 if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))


def departures(
    groups: Sequence[GroupStatistics], rests: Sequence[GroupStatistics], confidence: float
) -> list[GroupDifference]:
    """Compare groups with the rest of each."""
    pairs = list(zip(groups, rests, strict=True))
    if not pairs or groups[0].numbers:
        return [welch(group, rest, confidence) for group, rest in pairs]
    lows, highs = newcombe(groups, rests, confidence)
    return [
        GroupDifference(group.mean - rest.mean, low, high, fisher(group.total, group.n, rest.total, rest.n))
        for (group, rest), low, high in zip(pairs, lows, highs, strict=True)
    ]


def departure(group: GroupStatistics, rest: GroupStatistics, confidence: float) -> GroupDifference:
    """Compare one group with the rest."""
    return departures([group], [rest], confidence)[0]


def p_value(group: GroupStatistics, rest: GroupStatistics) -> float:
    """Return the p-value of no difference alone, which is quicker than a whole comparison."""
    if group.numbers:
        return welch_p(group, rest)
    return fisher(group.total, group.n, rest.total, rest.n)


def fisher(hits: int, n: int, rest_hits: int, rest: int) -> float:
    """Return the p-value of Fisher's exact test, two-sided: all tables no more probable than this one.

    Probabilities are summed relative to the largest, by logarithms of their ratios; one that a double cannot hold is 0.

    >>> round(fisher(8, 10, 1, 6), 6)                   # a textbook's 2 × 2 table
    0.034965
    >>> fisher(3, 3, 0, 0), fisher(500, 500, 0, 1_000_000)
    (1.0, 0.0)
    """
    all_hits, everything = hits + rest_hits, n + rest
    least, most = max(0, all_hits - rest), min(n, all_hits)
    if least == most:
        return 1.0
    mode = (n + 1) * (all_hits + 1) // (everything + 2)
    if log_ways(hits, n, all_hits, rest) - log_ways(mode, n, all_hits, rest) < FAR_OUT:
        return 0.0
    variance = n * (all_hits / everything) * (1 - all_hits / everything) * (rest / max(1, everything - 1))
    reach = 2 * abs(hits - mode) + int(12 * math.sqrt(variance)) + 100  # what lies further out adds nothing
    first, last = max(least, mode - reach), min(most, mode + reach)
    k = np.arange(first, last, dtype=float)
    ratios = np.log((all_hits - k) * (n - k)) - np.log((k + 1) * (rest - all_hits + k + 1))
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    logs -= logs.max()
    weights = np.exp(logs)
    extreme = logs <= logs[hits - first] + 1e-9
    return min(1.0, float(weights[extreme].sum() / weights.sum()))


def log_ways(hits: int, n: int, all_hits: int, rest: int) -> float:
    """Return the logarithm of in how many ways so many of all hits fall into a group, less a constant."""
    cells = (hits, n - hits, all_hits - hits, rest - all_hits + hits)
    return -sum(math.lgamma(cell + 1) for cell in cells)


def newcombe(
    groups: Sequence[GroupStatistics], rests: Sequence[GroupStatistics], confidence: float
) -> tuple[list[float], list[float]]:
    """Return the ends of Newcombe's intervals of differences of shares: Wilson's intervals put together.

    >>> low, high = newcombe([GroupStatistics(70, 56, 56)], [GroupStatistics(80, 48, 48)], 0.95)
    >>> round(low[0], 4), round(high[0], 4)              # Newcombe 1998, example (a): 0.0524 to 0.3339
    (0.0524, 0.3339)
    """
    sides = []
    for parts in (groups, rests):
        n = np.array([part.n for part in parts], float)
        share = np.array([part.total for part in parts]) / n
        sides.append((share, *wilson_intervals(share, n, confidence)))
    (share, low, high), (rest, rest_low, rest_high) = sides
    below, above = np.hypot(share - low, rest_high - rest), np.hypot(high - share, rest - rest_low)
    return (share - rest - below).tolist(), (share - rest + above).tolist()


def welch(group: GroupStatistics, rest: GroupStatistics, confidence: float) -> GroupDifference:
    """Compare two means whose rows may spread differently."""
    apart = group.mean - rest.mean
    if group.n < 2 or rest.n < 2:
        return GroupDifference(apart, -math.inf, math.inf, 1.0)
    error, freedom = error_and_freedom(group, rest)
    half = student_quantile(0.5 + confidence / 2, freedom) * error if error else 0.0
    return GroupDifference(apart, apart - half, apart + half, welch_p(group, rest))


def welch_p(group: GroupStatistics, rest: GroupStatistics) -> float:
    """Return the p-value of Welch's test, two-sided; 1 where a single row says nothing of how rows spread."""
    if group.n < 2 or rest.n < 2:
        return 1.0
    apart = group.mean - rest.mean
    error, freedom = error_and_freedom(group, rest)
    if error == 0:
        return float(apart == 0)
    t = apart / error
    return beta_share(freedom / (freedom + t * t), freedom / 2, 0.5)


def error_and_freedom(group: GroupStatistics, rest: GroupStatistics) -> tuple[float, float]:
    """Return the standard error of a difference of means, and its degrees of freedom (Welch–Satterthwaite)."""
    unit = max(group.spread, rest.spread)  # squares in it neither overflow nor vanish
    if unit == 0:
        return 0.0, math.inf
    parts = [(part.spread / unit) ** 2 / (part.n - 1) for part in (group, rest)]
    freedom = sum(parts) ** 2 / sum(v * v / (part.n - 1) for v, part in zip(parts, (group, rest), strict=True))
    return unit * math.sqrt(sum(parts)), freedom


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values corrected for how many there are (Holm 1979).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[i]))
        adjusted[i] = largest
    return adjusted
