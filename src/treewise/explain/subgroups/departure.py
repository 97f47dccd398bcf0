"""How far a group departs from the rest, and how often chance alone would do as much.

Below ``subgroups``; numbers only. Shares are compared by Fisher's exact test (1935), their difference has Newcombe's
interval (1998); means by Welch's test (1947), with its interval. Several p-values are corrected by Holm (1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewise.intervals import beta_share, student_half_width, student_quantile, wilson, wilson_intervals


@dataclass(frozen=True)
class Part:
    """Some rows: how many, and the sums of what is predicted (1 for a hit, or a number less ``centre``)."""

    n: int
    total: float
    squares: float
    centre: float | None = None  # None: hits of a class are counted

    def __sub__(self, other: Part) -> Part:
        """Return these rows without those."""
        return Part(self.n - other.n, self.total - other.total, self.squares - other.squares, self.centre)

    @property
    def mean(self) -> float:
        """The share of hits, or the mean."""
        return self.total / self.n + (self.centre or 0.0) if self.n else math.nan

    @property
    def hits(self) -> int | None:
        """How many rows are of the class; None of numbers."""
        return round(self.total) if self.centre is None else None

    @property
    def spread(self) -> float:
        """The standard deviation of the rows themselves."""
        return math.sqrt(max(0.0, self.squares / self.n - (self.total / self.n) ** 2)) if self.n else math.nan

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return Wilson's interval of the share, or Student's of the mean."""
        if self.centre is None:
            return wilson(self.total, self.n, confidence)
        half = student_half_width(self.spread, self.n, confidence)
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class Departure:
    """A group's share or mean less that of the rest, with its interval, and the p-value of no difference."""

    difference: float
    low: float
    high: float
    p: float

    @property
    def at_least(self) -> float:
        """The end of the interval nearest to no difference, 0 where that lies inside: what groups are ranked by."""
        return 0.0 if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))


def departures(groups: Sequence[Part], rests: Sequence[Part], confidence: float) -> list[Departure]:
    """Compare groups with the rest of each."""
    pairs = list(zip(groups, rests, strict=True))
    if not pairs or groups[0].centre is not None:
        return [welch(group, rest, confidence) for group, rest in pairs]
    lows, highs = newcombe(groups, rests, confidence)
    return [
        Departure(group.mean - rest.mean, low, high, fisher(round(group.total), group.n, round(rest.total), rest.n))
        for (group, rest), low, high in zip(pairs, lows, highs, strict=True)
    ]


def departure(group: Part, rest: Part, confidence: float) -> Departure:
    """Compare one group with the rest."""
    return departures([group], [rest], confidence)[0]


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


def newcombe(groups: Sequence[Part], rests: Sequence[Part], confidence: float) -> tuple[list[float], list[float]]:
    """Return the ends of Newcombe's intervals of differences of shares: Wilson's intervals put together.

    >>> low, high = newcombe([Part(70, 56, 56)], [Part(80, 48, 48)], 0.95)
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


def welch(group: Part, rest: Part, confidence: float) -> Departure:
    """Compare two means whose rows may spread differently."""
    apart = group.mean - rest.mean
    if group.n < 2 or rest.n < 2:
        return Departure(apart, -math.inf, math.inf, 1.0)
    parts = [part.spread**2 / (part.n - 1) for part in (group, rest)]
    error = math.sqrt(sum(parts))
    if error == 0:
        return Departure(apart, apart, apart, float(apart == 0))
    freedom = sum(parts) ** 2 / sum(v * v / (part.n - 1) for v, part in zip(parts, (group, rest), strict=True))
    half = student_quantile(0.5 + confidence / 2, freedom) * error
    t = apart / error
    return Departure(apart, apart - half, apart + half, beta_share(freedom / (freedom + t * t), freedom / 2, 0.5))


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
