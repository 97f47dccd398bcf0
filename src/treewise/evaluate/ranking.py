"""Rows ranked by the predicted probability of a class: ROC, precision-recall, gains and calibration.

A ``ClassificationEvaluation`` has a ``Ranking`` of the positive class, or with more than two classes one of each class
against the others. A tree predicts at most one distinct probability per leaf, so the counts are kept per distinct
probability, whatever the size of the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treewise.predict.confidence_intervals import Z95, wilson
from treewise.tree.arrays import Label

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """A calibration bin: rows with similar predicted probabilities."""

    predicted: float  # mean predicted probability of the positive class
    observed: float  # observed share of the positive class
    weight: float
    interval: tuple[float, float]  # 95 % (Wilson) of the observed share


@dataclass(frozen=True, eq=False)
class Ranking:
    """Weights of positive and other rows at each distinct predicted probability, the highest first.

    >>> ranked = Ranking.of("yes", np.array([0.9, 0.2, 0.9, 0.4]), np.array([True, False, False, True]))
    >>> ranked.probability.tolist(), ranked.positives.tolist(), ranked.others.tolist()
    ([0.9, 0.4, 0.2], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0])
    >>> ranked.auc, round(ranked.brier, 4)
    (0.625, 0.305)
    """

    positive: Label
    probability: Floats
    positives: Floats  # weight of the rows of the positive class
    others: Floats  # weight of all other rows
    sample_size_per_weight: float = 1.0  # effective sample size divided by total weight (Kish 1965)

    @classmethod
    def of(
        cls, positive: Label, probability: Floats, is_positive: npt.NDArray[np.bool_], weight: Floats | None = None
    ) -> Ranking:
        """Count the rows at each distinct probability."""
        w = np.ones(len(probability)) if weight is None else weight
        levels, inverse = np.unique(-probability, return_inverse=True)
        positives = np.bincount(inverse, w * is_positive, len(levels)).astype(np.float64)
        others = np.bincount(inverse, w * ~is_positive, len(levels)).astype(np.float64)
        return cls(positive, 0.0 - levels, positives, others, float(w.sum() / (w**2).sum()))

    @property
    def roc(self) -> tuple[Floats, Floats]:
        """False-positive and true-positive rate at each probability as threshold, starting at (0, 0).

        >>> [ends.tolist() for ends in Ranking.of(1, np.array([0.9, 0.1]), np.array([True, False])).roc]
        [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
        """
        return _cumulative_share(self.others), _cumulative_share(self.positives)

    @property
    def auc(self) -> float | None:
        """Area under the ROC curve (ties count half); None if one of the classes does not occur."""
        if not self.positives.sum() or not self.others.sum():
            return None
        across, up = self.roc
        return float(np.sum(np.diff(across) * (up[1:] + up[:-1]) / 2))

    @property
    def auc_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the AUC (DeLong, DeLong and Clarke-Pearson 1988), on the scale of log-odds.

        The AUC is a mean over pairs of a positive and another row. Its variance is that of the share of other rows
        ranked below a positive row, plus that of the share of positive rows ranked above another row. None if the AUC
        is undefined; with a perfect ranking the interval is Wilson's for the smaller class.

        >>> ranked = Ranking.of(1, np.array([0.9, 0.8, 0.7, 0.6, 0.3, 0.2]), np.array([1, 1, 0, 1, 0, 0], bool))
        >>> round(ranked.auc, 3), [round(end, 3) for end in ranked.auc_interval]
        (0.889, [0.261, 0.995])
        """
        auc = self.auc
        if auc is None:
            return None
        m, n = (float(w.sum()) * self.sample_size_per_weight for w in (self.positives, self.others))
        if not 0 < auc < 1:
            return wilson(auc * min(m, n), min(m, n))
        across, up = self.roc
        above_others = 1 - (across[1:] + across[:-1]) / 2  # share of the other rows below each probability
        below_positives = (up[1:] + up[:-1]) / 2  # share of the positive rows above each probability
        variance = sum(
            float(np.average((share - auc) ** 2, weights=weight)) / max(size - 1, 1.0)
            for share, weight, size in ((above_others, self.positives, m), (below_positives, self.others, n))
        )
        odds, half = math.log(auc / (1 - auc)), Z95 * math.sqrt(variance) / (auc * (1 - auc))
        return _logistic(odds - half), _logistic(odds + half)

    @property
    def ks(self) -> float | None:
        """The Kolmogorov-Smirnov statistic: the largest difference of true-positive and false-positive rate."""
        if not self.positives.sum() or not self.others.sum():
            return None
        across, up = self.roc
        return float(np.max(np.abs(up - across)))

    @property
    def gains(self) -> tuple[Floats, Floats]:
        """Share of all rows, and share of the positive rows among them, from the highest probability downwards."""
        return _cumulative_share(self.positives + self.others), _cumulative_share(self.positives)

    def lift(self, share: float = 0.1) -> float | None:
        """Return how many times as many positive rows the first ``share`` of the rows holds as the average.

        Rows of equal probability are in random order, so the gains curve is a straight line between its corners.

        >>> Ranking.of(1, np.array([0.9, 0.1, 0.1, 0.1]), np.array([True, True, False, False])).lift(0.25)
        2.0
        """
        if not self.positives.sum():
            return None
        rows, positives = self.gains
        return float(np.interp(share, rows, positives)) / share

    @property
    def precision_recall(self) -> tuple[Floats, Floats]:
        """Precision and recall at each probability as threshold."""
        true_positives, predicted_positive = np.cumsum(self.positives), np.cumsum(self.positives + self.others)
        return true_positives / predicted_positive, true_positives / max(true_positives[-1], np.finfo(float).tiny)

    @property
    def average_precision(self) -> float | None:
        """Average precision; None if there are no positive rows."""
        if not self.positives.sum():
            return None
        precision, recall = self.precision_recall
        return float(np.sum(np.diff(recall, prepend=0.0) * precision))

    @property
    def brier(self) -> float:
        """The Brier score: mean squared difference of probability and outcome."""
        lost = self.positives * (1 - self.probability) ** 2 + self.others * self.probability**2
        return float(lost.sum() / (self.positives + self.others).sum())

    def bins(self, max_bins: int = 10) -> tuple[Bin, ...]:
        """Group neighbouring probabilities into at most ``most`` bins of about equal weight, the lowest first.

        >>> [(b.predicted, b.observed) for b in Ranking.of(1, np.array([0.9, 0.1]), np.array([True, False])).bins()]
        [(0.1, 0.0), (0.9, 1.0)]
        """
        weight = (self.positives + self.others)[::-1]
        probability, positives = self.probability[::-1], self.positives[::-1]
        if len(probability) <= max_bins:
            groups: Sequence[npt.NDArray[np.int64]] = [np.array([i]) for i in range(len(probability))]
        else:
            middle = np.cumsum(weight) - weight / 2
            number = np.minimum((middle / weight.sum() * max_bins).astype(np.int64), max_bins - 1)
            groups = [np.flatnonzero(number == i) for i in np.unique(number)]
        bins = []
        for group in groups:
            w = float(weight[group].sum())
            observed = float(positives[group].sum()) / w
            rows = w * self.sample_size_per_weight
            predicted = float((probability[group] * weight[group]).sum()) / w
            bins.append(Bin(predicted, observed, w, wilson(observed * rows, rows)))
        return tuple(bins)


def _cumulative_share(weight: Floats) -> Floats:
    """Return the cumulative share of the weight, starting at 0."""
    total = weight.sum()
    return np.concatenate([[0.0], np.cumsum(weight) / total]) if total else np.zeros(len(weight) + 1)


def _logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0
