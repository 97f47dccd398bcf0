"""Resampling: subsets of a training set, held-out rows, and the statistics of losses on them.

Used by everything that evaluates trees on rows they were not grown on: validation curves, cross-validation, stability.
Folds are in ``folds.py``. A mean loss and its standard error do not change when all weights are multiplied by a
constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural
from treewise.errors import DataError, Param, ParameterError
from treewise.train.training_set import TrainingSet

Ints = npt.NDArray[np.int64]

_LARGEST_WEIGHT = 2**53  # of all rows together (fixed_point.py)


def take_rows(training_set: TrainingSet, rows: Ints) -> TrainingSet:
    """Return the training set of some of the rows."""
    return replace(
        training_set,
        columns=tuple(values[rows] for values in training_set.columns),
        y=training_set.y[rows],
        raw=training_set.raw[rows] if len(training_set.raw) else training_set.raw,
        weight=training_set.weight[rows],
        evaluation_weight=training_set.evaluation_weight[rows],
        repeats=None if training_set.repeats is None else training_set.repeats.take(rows),
        groups=None if training_set.groups is None else training_set.groups[rows],
        time=None if training_set.time is None else training_set.time[rows],
        rows=np.asarray(training_set.rows)[rows],
    )


def resample(training_set: TrainingSet, times: Ints, as_weights: bool) -> TrainingSet:
    """Return the training set of resampled rows: each repeated, or weighted by how often it was drawn.

    Repeated rows count towards the limits on rows. If pruning holds out rows, weights must be used instead: a copy of a
    training row is not an independent validation row.
    """
    if not as_weights:
        return bound_weights(take_rows(training_set, np.repeat(np.arange(len(times)), times)))
    rows = np.flatnonzero(times)
    sampled = take_rows(training_set, rows)
    return bound_weights(replace(sampled, weight=sampled.weight * times[rows]))


def bound_weights(training_set: TrainingSet) -> TrainingSet:
    """Make the weights coarser if a heavy row, drawn often, makes their sum too large."""
    while float(training_set.weight.sum(dtype=np.float64)) >= _LARGEST_WEIGHT:
        weight = np.maximum(1, np.asarray(training_set.weight) >> 8)
        training_set = replace(training_set, weight=weight, weight_scale=training_set.weight_scale - 8)
    return training_set


def fold_sample_size(n: float, folds: int) -> float:
    """Return the sample size for an interval of a cross-validated loss: smaller than the number of rows.

    Every row was held out once, but the models that predict them were fitted on nearly the same rows and err together.
    Nadeau and Bengio (2003) enlarge the variance 1/n to (1 + k/(k − 1))/n for k folds.

    >>> round(fold_sample_size(200, 10), 1)
    94.7
    """
    return n / (1 + folds / (folds - 1))


def hold_out(training_set: TrainingSet, share: float, random_state: int = 0) -> tuple[Ints, Ints]:
    """Return the training rows and the held-out rows: at random, stratified by class (ID3 notes: S and V).

    With ``groups`` the rows of a group are all on one side, as in folds.
    """
    if not 0 < share < 1:
        raise ParameterError(
            "must be a table, or a share between 0 and 1, such as 0.3.", parameter="validation", value=share
        )
    rng = np.random.default_rng(random_state)
    kept, held_out = choose_share(training_set, rng.permutation(len(training_set)), share, rng)
    if not len(kept) or not len(held_out):
        raise DataError(
            Param("validation", share)
            + f" of {plural(len(training_set), 'row')} leaves one side without rows. Give another share, or a table."
        )
    return kept, held_out


def choose_share(training_set: TrainingSet, order: Ints, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Choose a share of the rows and return the others and the chosen.

    Rows are taken in the given order, stratified by class; whole groups, if there are any, in random order.
    """
    if training_set.groups is not None:
        is_chosen = _choose_groups(training_set.groups, share, rng)
        return np.flatnonzero(~is_chosen), np.flatnonzero(is_chosen)
    if training_set.target.task == "classification":
        order = order[np.argsort(training_set.y[order], kind="stable")]
    # Every row advances a counter by the share; where it passes a whole number, the row is chosen.
    counter = np.floor(np.arange(1, len(order) + 1) * share + 0.5)
    is_chosen = np.diff(counter, prepend=math.floor(0.5)) > 0
    return np.sort(order[~is_chosen]), np.sort(order[is_chosen])


def _choose_groups(groups: Ints, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return whether the group of each row is chosen: each group goes where the share of rows is then nearest.

    >>> int(_choose_groups(np.repeat([0, 1, 2, 3], [2, 2, 2, 2]), 0.5, np.random.default_rng(0)).sum())
    4
    """
    group_of_row = np.unique(groups, return_inverse=True)[1]
    size = np.bincount(group_of_row)
    is_chosen = np.zeros(len(size), bool)
    chosen = seen = 0
    for group in rng.permutation(len(size)):
        seen += size[group]
        if 2 * chosen + size[group] <= 2 * share * seen:
            is_chosen[group] = True
            chosen += size[group]
    return is_chosen[group_of_row]


Floats = npt.NDArray[np.float64]


@dataclass
class LossStats:
    """Sums of losses over rows, one entry per value of the parameter; the folds are added up."""

    loss: Floats
    square: Floats
    weight: float
    weight_square: float

    @classmethod
    def nothing(cls, n: int) -> LossStats:
        """Return the sums over no rows."""
        return cls(np.zeros(n), np.zeros(n), 0.0, 0.0)

    def add(self, other: LossStats) -> None:
        """Add the sums of another fold."""
        self.loss += other.loss
        self.square += other.square
        self.weight += other.weight
        self.weight_square += other.weight_square

    def divide(self, times: int) -> LossStats:
        """Return the mean of ``times`` repeats: rows held out again are no new rows, so the standard error stays."""
        return LossStats(self.loss / times, self.square / times, self.weight / times, self.weight_square / times)

    def per_row(self) -> LossStats:
        """Return the sums normalised to a total weight of 1."""
        return LossStats(self.loss / self.weight, self.square / self.weight, 1.0, self.weight_square / self.weight**2)

    @property
    def mean(self) -> Floats:
        """The mean loss."""
        return np.maximum(self.loss / self.weight, 0.0)

    @property
    def standard_error(self) -> Floats:
        """The standard error of the mean loss."""
        variance = np.maximum(self.square / self.weight - self.mean**2, 0.0)
        result: Floats = np.sqrt(variance * self.weight_square) / self.weight
        return result


def power_of_two_scale(values: Floats) -> float:
    """Return a power of two of the magnitude of the largest value: squares in that unit neither overflow nor underflow.

    >>> power_of_two_scale(np.array([3.0, -5.0])), power_of_two_scale(np.array([0.0]))
    (4.0, 1.0)
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest else 1.0
