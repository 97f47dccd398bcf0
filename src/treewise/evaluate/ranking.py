"""Two classes: how well the probability of the positive one ranks rows, and whether it can be taken at its word.

Stands beside ``figures.py``, whose evaluation holds a ``Ranking`` where there are two classes; ``measure.py`` counts. A
tree says only as many different probabilities as it has leaves, so this is a short list, whatever the table's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treewise.predict.confidence_intervals import wilson
from treewise.tree.arrays import Label

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """Rows that were given about the same probability, and how many of them were positive."""

    said: float  # the mean probability of the positive class
    found: float  # the share that is positive
    weight: float
    interval: tuple[float, float]  # 95 %, of that share (Wilson)


@dataclass(frozen=True, eq=False)
class Ranking:
    """What a table holds at each probability that was said, the highest first. Weights, where rows have any.

    >>> ranked = Ranking.of("yes", np.array([0.9, 0.2, 0.9, 0.4]), np.array([True, False, False, True]))
    >>> ranked.chance.tolist(), ranked.positives.tolist(), ranked.others.tolist()
    ([0.9, 0.4, 0.2], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0])
    >>> ranked.auc, round(ranked.brier, 4)
    (0.625, 0.305)
    """

    positive: Label
    chance: Floats
    positives: Floats  # weight of the rows of the positive class
    others: Floats  # weight of all other rows
    rows_a_weight: float = 1.0  # rows of equal weight that tell as much, over all weight (Kish 1965)

    @classmethod
    def of(
        cls, positive: Label, chance: Floats, is_positive: npt.NDArray[np.bool_], weight: Floats | None = None
    ) -> Ranking:
        """Count the rows at each probability."""
        w = np.ones(len(chance)) if weight is None else weight
        levels, place = np.unique(-chance, return_inverse=True)
        positives = np.bincount(place, w * is_positive, len(levels)).astype(np.float64)
        others = np.bincount(place, w * ~is_positive, len(levels)).astype(np.float64)
        return cls(positive, 0.0 - levels, positives, others, float(w.sum() / (w**2).sum()))

    @property
    def roc(self) -> tuple[Floats, Floats]:
        """The share of other rows, and of positive ones, at or above each probability; (0, 0) first.

        >>> [ends.tolist() for ends in Ranking.of(1, np.array([0.9, 0.1]), np.array([True, False])).roc]
        [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
        """
        return running_share(self.others), running_share(self.positives)

    @property
    def auc(self) -> float | None:
        """How likely a positive row is ranked above another one, ties half; None where one of them does not occur."""
        if not self.positives.sum() or not self.others.sum():
            return None
        across, up = self.roc
        return float(np.sum(np.diff(across) * (up[1:] + up[:-1]) / 2))

    @property
    def precision_recall(self) -> tuple[Floats, Floats]:
        """Of the rows at or above each probability the share that is positive; and the share of all positive ones."""
        found, taken = np.cumsum(self.positives), np.cumsum(self.positives + self.others)
        return found / taken, found / max(found[-1], np.finfo(float).tiny)

    @property
    def average_precision(self) -> float | None:
        """The precision, averaged over the positive rows; None where there are none."""
        if not self.positives.sum():
            return None
        precision, recall = self.precision_recall
        return float(np.sum(np.diff(recall, prepend=0.0) * precision))

    @property
    def brier(self) -> float:
        """The mean squared difference of probability and outcome."""
        lost = self.positives * (1 - self.chance) ** 2 + self.others * self.chance**2
        return float(lost.sum() / (self.positives + self.others).sum())

    def bins(self, most: int = 10) -> tuple[Bin, ...]:
        """Put neighbouring probabilities together until there are few enough, of about equal weight; lowest first.

        >>> [(b.said, b.found) for b in Ranking.of(1, np.array([0.9, 0.1]), np.array([True, False])).bins()]
        [(0.1, 0.0), (0.9, 1.0)]
        """
        weight = (self.positives + self.others)[::-1]
        chance, positives = self.chance[::-1], self.positives[::-1]
        if len(chance) <= most:
            groups: Sequence[npt.NDArray[np.int64]] = [np.array([i]) for i in range(len(chance))]
        else:
            middle = np.cumsum(weight) - weight / 2
            number = np.minimum((middle / weight.sum() * most).astype(np.int64), most - 1)
            groups = [np.flatnonzero(number == i) for i in np.unique(number)]
        made = []
        for group in groups:
            w = float(weight[group].sum())
            found = float(positives[group].sum()) / w
            rows = w * self.rows_a_weight
            said = float((chance[group] * weight[group]).sum()) / w
            made.append(Bin(said, found, w, wilson(found * rows, rows)))
        return tuple(made)


def running_share(weight: Floats) -> Floats:
    """Return the share of the weight up to each place, from 0 on."""
    total = weight.sum()
    return np.concatenate([[0.0], np.cumsum(weight) / total]) if total else np.zeros(len(weight) + 1)
