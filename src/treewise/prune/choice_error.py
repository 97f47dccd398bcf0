"""Losses on held-out rows fold by fold: the choice of a size, and an honest estimate of the loss of the chosen one.

The cross-validated loss of the chosen size is too small: it is the least, or nearly the least, of many noisy ones.
``estimate_choice_error`` therefore judges each fold at the size that the other folds choose, so that no row takes part
in the choice by which it is judged. It needs no further tree.

A standard error between held-out rows takes the trees as given. The error of the tree on new rows varies with the
training table too, and more so the less stable the tree is; there is no unbiased estimate of the whole variance (Bengio
and Grandvalet 2004). What the folds do tell is how far a row's loss moves when the row and its fold are left out of
training: the mean squared difference between its held-out loss and its loss under the tree of all rows. The variance
per row is taken to be that of the losses plus a multiple of this difference. The multiple was chosen by
simulations with and without signal (``python -m benchmarks.coverage size``, ``docs/what-the-figures-mean.md``), and
so were the other two constants: a root alone has no such difference, and a tree that is hardly better than the root may
have been found by chance, in every fold the same, since the folds share their rows; its interval reaches as far up as
that of the root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from treewise.predict.confidence_intervals import student_quantile
from treewise.prune.decision import Floats, Ints
from treewise.prune.losses import Loss
from treewise.train.folds import Folds
from treewise.train.resampling import LossStats
from treewise.tree.fit_info import CrossValidatedLoss

_NORMAL = NormalDist().inv_cdf(0.975)
_EQUAL = 1 + 1e-12  # losses nearer than this are equal
_SHIFT_FACTOR_SHARES, _SHIFT_FACTOR = 3.0, 2.0  # for error rates, and for other losses
_SE_MULTIPLE_ROOT = 2.1  # half of the 95 % interval of a root alone, in standard errors between rows
_SE_MULTIPLE_AUC = 2.7  # the same for AUC, of which rows have no part of their own
_CHANCE_SE = 3.0  # a tree that is better than the root by less than this many standard errors may be due to chance


@dataclass(frozen=True, eq=False)
class FoldLosses:
    """Sums of losses on held-out rows: folds × sizes, from the largest tree to the smallest."""

    loss: Floats
    square: Floats
    weight: Floats  # of the rows of each fold
    weight_square: Floats
    folds: Folds
    has_row_losses: bool = True  # False for AUC: a fold has a loss, its rows have none
    shift: Floats | None = None  # squared differences from the losses of the tree of all rows

    @classmethod
    def of(cls, scored: Sequence[LossStats], folds: Folds, has_row_losses: bool) -> FoldLosses:
        """Collect the sums of each fold."""
        loss, square = np.array([fold.loss for fold in scored]), np.array([fold.square for fold in scored])
        weights = np.array([(fold.weight, fold.weight_square) for fold in scored])
        shifts = [fold.shift for fold in scored if fold.shift is not None]
        shift = np.array(shifts) if len(shifts) == len(scored) else None
        return cls(loss, square, weights[:, 0], weights[:, 1], folds, has_row_losses, shift)

    @property
    def has_standard_error_of_rows(self) -> bool:
        """Whether rows have losses of their own and are independent; if not, folds are compared."""
        return self.has_row_losses and self.folds.has_independent_rows

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
            return choose_size(self.mean, self.standard_error, rule)
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


def choose_size(mean: Floats, standard_error: Floats, rule: str) -> int:
    """Return the last index with the least mean loss (``"best"``), or within one standard error of it (``"1se"``).

    >>> mean, se = np.array([0.30, 0.20, 0.20, 0.24, 0.50]), np.full(5, 0.05)
    >>> choose_size(mean, se, "best"), choose_size(mean, se, "1se")
    (2, 3)
    """
    best = int(np.flatnonzero(mean <= mean.min() * _EQUAL)[-1])
    if rule == "best":
        return best
    return int(np.flatnonzero(mean <= (mean[best] + standard_error[best]) * _EQUAL)[-1])


def estimate_choice_error(losses: FoldLosses, rule: str, loss: Loss) -> CrossValidatedLoss:
    """Estimate the loss on new rows of the size that a rule chooses, with a 95 % interval."""
    folds, last = losses.folds, losses.loss.shape[1] - 1
    sizes = np.array([losses.choose(rule, without=fold) for fold in range(len(folds.folds))])
    value, standard_error = losses.at_sizes(sizes)
    is_root = bool(np.all(sizes == last))
    low, high = _interval(
        losses, loss, value, standard_error, _SE_MULTIPLE_ROOT if is_root else _multiple(losses, sizes, loss)
    )
    root, root_se = float(losses.mean[last]), float(losses.standard_error[last])
    if not is_root and root < value + _CHANCE_SE * standard_error:
        high = max(high, _interval(losses, loss, root, root_se, _SE_MULTIPLE_ROOT)[1])
    return CrossValidatedLoss(loss.name, value, low, high, folds.count, folds.repeats, rule, folds.kind)


def _multiple(losses: FoldLosses, sizes: Ints, loss: Loss) -> float:
    """Return half of a 95 % interval in standard errors, by how far the losses of rows move with their fold."""
    if losses.shift is None:
        return _SE_MULTIPLE_AUC
    at = np.arange(len(sizes)), sizes
    weight = losses.weight.sum()
    shift = losses.shift[at].sum() / weight
    variance = losses.square[at].sum() / weight - (losses.loss[at].sum() / weight) ** 2
    factor = _SHIFT_FACTOR_SHARES if loss.is_share else _SHIFT_FACTOR
    return _NORMAL * math.sqrt(1 + factor * max(shift, 0.0) / variance) if variance > 0 else _NORMAL


def _interval(
    losses: FoldLosses, loss: Loss, value: float, standard_error: float, multiple: float
) -> tuple[float, float]:
    folds = losses.folds
    if not losses.has_standard_error_of_rows:  # it is estimated from few folds
        multiple *= student_quantile(0.975, folds.count - 1) / _NORMAL
    if loss.is_share:
        n = float(losses.weight.sum() ** 2 / losses.weight_square.sum() / folds.repeats)  # effective rows (Kish 1965)
        return _score_interval(value, standard_error, n, multiple)
    half = multiple * standard_error
    return max(0.0, value - half), value + half


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
