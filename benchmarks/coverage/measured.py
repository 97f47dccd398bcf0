"""The line that every part of ``benchmarks.coverage`` yields, and the table of lines."""

from __future__ import annotations

import math
from dataclasses import dataclass

HEADINGS = "| part | figure | situation | share % | of | holds |\n|---|---|---|--:|--:|---|"
RANGES = {"interval": (0.92, 0.97), "at least": (0.92, 1.0), "p-value": (0.0, 0.06)}


@dataclass(frozen=True)
class Measured:
    """How often one printed figure held: the share of intervals that cover the truth, or of p-values below 0.05."""

    part: str
    figure: str  # as it is printed
    situation: str  # the simulated table
    share: float
    n: int  # the number of intervals, or of tables with a p-value
    promise: str = "interval"  # "interval", "at least", "p-value", or "" for a range that promises nothing

    @property
    def holds(self) -> bool:
        """Whether the share is in the range of its promise, give or take two standard errors of the simulation."""
        low, high = RANGES.get(self.promise, (0.0, 1.0))
        below, above = (2 * math.sqrt(end * (1 - end) / self.n) for end in (low, high))
        return low - below <= self.share <= high + above

    def __str__(self) -> str:
        """Return a line of the Markdown table."""
        holds = "no promise" if not self.promise else "yes" if self.holds else "NO"
        cells = (self.part, self.figure, self.situation, f"{100 * self.share:.1f}", f"{self.n:,}", holds)
        return f"| {' | '.join(cells)} |"
