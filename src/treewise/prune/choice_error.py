"""Losses on held-out rows fold by fold: the choice of a size, and an honest estimate of the loss of the chosen one.

The cross-validated loss of the chosen size is too small: it is the least, or nearly the least, of many noisy ones.
``estimate_choice_error`` therefore evaluates each fold at the size that the other folds choose, so that no row takes
part in the choice that it is evaluated at. It needs no further tree.

Its interval is that of BBC-CV (``choice_bootstrap.py``; Tsamardinos, Greasidou and Borboudakis 2018): the middle 95 %
of the losses of bootstrap samples of the held-out rows, each of which chooses a size anew and is evaluated on the rows
outside it; for a share it is never shorter than Wilson's interval of the rows, so that no errors are no certainty. In
order of time, and for AUC, of which rows have no part of their own, the interval is that of Nadeau and Bengio (2003):
Student's, between folds, with the variance multiplied by 1 + k/(k − 1) for k folds. There is no unbiased estimate of
the variance (Bengio and Grandvalet 2004); how often the intervals hold is in ``docs/what-the-figures-mean.md``
(``python -m benchmarks.coverage size``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from treewise.predict.confidence_intervals import student_quantile
from treewise.prune.choice_bootstrap import BlockLosses, choose_size
from treewise.prune.decision import Floats, Ints
from treewise.prune.losses import Loss
from treewise.train.folds import Folds
from treewise.train.resampling import LossStats
from treewise.tree.fit_info import CrossValidatedLoss

_NORMAL = NormalDist().inv_cdf(0.975)
_LEAST_TAIL = 5  # losses that an estimate of the tail index needs


@dataclass(frozen=True, eq=False)
class FoldLosses:
    """Sums of losses on held-out rows: folds × sizes, from the largest tree to the smallest."""

    loss: Floats
    square: Floats
    weight: Floats  # of the rows of each fold
    weight_square: Floats
    folds: Folds
    has_row_losses: bool = True  # False for AUC: a fold has a loss, its rows have none
    blocks: BlockLosses | None = None  # the same losses by block of rows

    @classmethod
    def of(
        cls, scored: Sequence[LossStats], folds: Folds, has_row_losses: bool, blocks: BlockLosses | None = None
    ) -> FoldLosses:
        """Collect the sums of each fold."""
        loss, square = np.array([fold.loss for fold in scored]), np.array([fold.square for fold in scored])
        weights = np.array([(fold.weight, fold.weight_square) for fold in scored])
        return cls(loss, square, weights[:, 0], weights[:, 1], folds, has_row_losses, blocks)

    @property
    def has_standard_error_of_rows(self) -> bool:
        """Whether rows have losses of their own and are independent; if not, folds are compared."""
        return self.has_row_losses and self.folds.has_exchangeable_rows

    @cached_property
    def stats(self) -> LossStats:
        """The sums over all folds, as the mean of the repeats."""
        sums = (self.loss.sum(axis=0), self.square.sum(axis=0), self.weight.sum(), self.weight_square.sum())
        return LossStats(*sums).divide(self.folds.repeats)

    @property
    def mean(self) -> Floats:
        """The mean loss at each size."""
        return self.stats.mean

    @cached_property
    def standard_error(self) -> Floats:
        """The standard error at each size: between rows, or between folds where rows depend on each other."""
        if self.has_standard_error_of_rows:
            return self.stats.standard_error
        return np.sqrt(self._fold_variance(self.loss / self.weight[:, None]))

    def choose(self, rule: str, without: int | None = None) -> int:
        """Return the index of the smallest tree with the least loss, or within one standard error of it.

        With ``without``, the fold of that number is excluded, and only the other folds of the same repeat choose.
        """
        if without is None:
            return int(choose_size(self.mean, self.standard_error, rule))
        count = self.folds.count
        first = without - without % count
        folds = np.array([fold for fold in range(first, first + count) if fold != without])
        part = Folds(tuple(self.folds.folds[fold] for fold in folds), 1, self.folds.kind)
        sums = self.loss[folds], self.square[folds], self.weight[folds], self.weight_square[folds]
        return FoldLosses(*sums, part, self.has_row_losses).choose(rule)

    def _fold_variance(self, fold_loss: Floats) -> Floats:
        """Return the variance of the mean loss between folds: the mean over repeats, for one loss per fold (× size)."""
        shape = (self.folds.repeats, self.folds.count, *fold_loss.shape[1:])
        losses, weight = fold_loss.reshape(shape), self.weight.reshape(shape[:2] + (1,) * (len(shape) - 2))
        share = weight / weight.sum(axis=1, keepdims=True)
        mean = (share * losses).sum(axis=1, keepdims=True)
        k = self.folds.count
        return np.asarray((share**2 * (losses - mean) ** 2).sum(axis=1).mean(axis=0) * k / max(k - 1, 1), np.float64)

    def at_sizes(self, sizes: Ints) -> tuple[float, float]:
        """Return the mean loss with one size per fold, and its standard error."""
        at = np.arange(len(sizes)), sizes
        loss = self.loss[at]
        sums = (loss.sum()[None], self.square[at].sum()[None], self.weight.sum(), self.weight_square.sum())
        stats = LossStats(*sums).divide(self.folds.repeats)
        if self.has_standard_error_of_rows:
            return float(stats.mean[0]), float(stats.standard_error[0])
        return float(stats.mean[0]), math.sqrt(float(self._fold_variance(loss / self.weight)))


def estimate_choice_error(losses: FoldLosses, rule: str, loss: Loss) -> CrossValidatedLoss:
    """Estimate the loss on new rows of the size that a rule chooses, with a 95 % interval."""
    folds = losses.folds
    sizes = np.array([losses.choose(rule, without=fold) for fold in range(len(folds.folds))])
    value, standard_error = losses.at_sizes(sizes)
    sampled = None if losses.blocks is None else losses.blocks.sample_losses(rule)
    if sampled is None or not len(sampled):
        multiple = _NORMAL
        if not losses.has_standard_error_of_rows:  # it is estimated from few folds
            multiple = student_quantile(0.975, folds.count - 1)
        multiple *= math.sqrt(1 + folds.count / max(folds.count - 1, 1))
        low, high = _interval(losses, loss, value, multiple * standard_error, multiple)
    else:
        low, high = (float(end) for end in np.quantile(sampled, (0.025, 0.975)))
        low, high = min(low, value), max(high, value)
        if loss.is_share:
            first, last = _interval(losses, loss, value, _NORMAL * standard_error, _NORMAL)
            low, high = min(low, first), max(high, last)
    low, high = max(0.0, low), min(1.0, high) if loss.is_share else high
    return CrossValidatedLoss(loss.name, value, low, high, folds.count, folds.repeats, rule, folds.kind)


def estimate_tail_index(losses: Floats) -> tuple[float, float]:
    """Return Hill's estimate of the tail index from the largest √n of n losses, and the end of its 95 % range.

    Below 2, losses have no variance: how far the mean of a sample is off depends on rows that it does not contain, and
    no interval from the rows at hand covers it as it should. The range is one-sided: the index is hardly above its end.

    >>> rng = np.random.default_rng(0)
    >>> for noise in (rng.standard_normal(2000), rng.standard_t(3, 2000)):
    ...     print(*(round(each, 1) for each in estimate_tail_index(noise**2)))
    3.6 4.5
    1.2 1.5
    """
    k = math.isqrt(len(losses))
    if k < _LEAST_TAIL:
        return math.inf, math.inf
    top = np.sort(np.partition(losses, -k - 1)[-k - 1 :])
    mean_excess = float(np.log(top[1:] / top[0]).mean()) if top[0] > 0 else 0.0
    index = 1 / mean_excess if mean_excess > 0 else math.inf
    return index, index * (1 + NormalDist().inv_cdf(0.95) / math.sqrt(k))


def _interval(losses: FoldLosses, loss: Loss, value: float, half: float, multiple: float) -> tuple[float, float]:
    """Return the interval with this half-width: Wilson's for a share."""
    if not loss.is_share:
        return value - half, value + half
    n = float(losses.weight.sum() ** 2 / losses.weight_square.sum() / losses.folds.repeats)  # rows (Kish 1965)
    if losses.folds.kind == "groups" and losses.blocks is not None:
        n = min(n, len(losses.blocks.weight))
    return _score_interval(value, half / multiple, n, multiple)


def _score_interval(share: float, standard_error: float, rows: float, multiple: float) -> tuple[float, float]:
    """Return Wilson's interval for a share with a known standard error: within 0 and 1, and no point at 0 errors.

    >>> [round(end, 3) for end in _score_interval(0.0, 0.0, 150.0, 1.96)]
    [0.0, 0.025]
    """
    n = share * (1 - share) / standard_error**2 if standard_error > 0 and 0 < share < 1 else rows
    spread = multiple**2 / n
    middle = (share + spread / 2) / (1 + spread)
    half = multiple * math.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
