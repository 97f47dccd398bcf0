"""Resampling: subsets of a training set, folds, held-out rows, and the statistics of losses on them.

Used by everything that tries trees on rows they were not grown on: validation curves, cross-validation, stability.
Weights may be in any unit: a mean loss and its standard error do not change when all of them are doubled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import as_integer, check_integer
from treewise.errors import DataError, Param, ParameterError
from treewise.train.training_set import TrainingSet

Ints = npt.NDArray[np.int64]

DEFAULT_FOLDS = 10
_LARGEST_WEIGHT = 2**53  # of all rows together (integers.py)


def take_rows(training_set: TrainingSet, rows: Ints) -> TrainingSet:
    """Return the training set of some of the rows."""
    return replace(
        training_set,
        columns=tuple(values[rows] for values in training_set.columns),
        y=training_set.y[rows],
        raw=training_set.raw[rows] if len(training_set.raw) else training_set.raw,
        weight=training_set.weight[rows],
        row_weight=training_set.row_weight[rows],
        repeats=None if training_set.repeats is None else training_set.repeats.take(rows),
        rows=np.asarray(training_set.rows)[rows],
    )


def resample(training_set: TrainingSet, times: Ints, as_weights: bool) -> TrainingSet:
    """Return the training set of resampled rows: each repeated, or weighted by how often it was drawn.

    Repeated, rows are what every limit on rows counts. Where pruning holds rows back from growth, they must be weights
    instead: a copy of a row that was grown on is no judge.
    """
    if not as_weights:
        return bound_weights(take_rows(training_set, np.repeat(np.arange(len(times)), times)))
    rows = np.flatnonzero(times)
    some = take_rows(training_set, rows)
    return bound_weights(replace(some, weight=some.weight * times[rows]))


def bound_weights(training_set: TrainingSet) -> TrainingSet:
    """Return the training set in coarser weights where a heavy row, drawn often, would make their sum too large."""
    while float(training_set.weight.sum(dtype=np.float64)) >= _LARGEST_WEIGHT:
        weight = np.maximum(1, np.asarray(training_set.weight) >> 8)
        training_set = replace(training_set, weight=weight, weight_scale=training_set.weight_scale - 8)
    return training_set


def assign_folds(training_set: TrainingSet, folds: int = DEFAULT_FOLDS, random_state: int = 0) -> Ints:
    """Return for each row the fold in which it is held out: at random, and each class spread evenly over the folds."""
    count = as_integer(folds)
    if count is None or count < 2:
        raise ParameterError("must be a whole number, 2 or more.", parameter="folds", value=folds)
    check_integer("random_state", random_state, least=0, most=2**64 - 1)
    n = len(training_set)
    if n < count:
        raise DataError(
            f"{training_set.table_name} has {n} rows that count: too few for {count} folds.",
            hint="Give more, or " + Param("folds", n) + ".",
        )
    order = np.random.default_rng(random_state).permutation(n)
    if training_set.target.task == "classification":
        order = order[np.argsort(training_set.y[order], kind="stable")]  # dealt out class by class
    numbers = np.empty(n, np.int64)
    numbers[order] = np.arange(n) % count
    return numbers


def hold_out(training_set: TrainingSet, share: float, random_state: int = 0) -> tuple[Ints, Ints]:
    """Return the rows to learn from and those held out: at random, the share of every class (ID3 notes: S and V)."""
    if not 0 < share < 1:
        raise ParameterError(
            "must be a table, or a share between 0 and 1, such as 0.3.", parameter="validation", value=share
        )
    order = np.random.default_rng(random_state).permutation(len(training_set))
    if training_set.target.task == "classification":
        order = order[np.argsort(training_set.y[order], kind="stable")]
    # Every row advances a counter by the share; where it passes a whole number, the row is held out.
    passed = np.floor(np.arange(1, len(order) + 1) * share + 0.5)
    chosen = np.diff(passed, prepend=math.floor(0.5)) > 0
    if chosen.all() or not chosen.any():
        raise DataError(
            f"validation={share:g} of {len(training_set)} rows leaves one side without any."
            " Give another share, or a table."
        )
    return np.sort(order[~chosen]), np.sort(order[chosen])


Floats = npt.NDArray[np.float64]


@dataclass
class LossStats:
    """Sums over rows, one entry a value of the parameter; those of several folds are added."""

    loss: Floats
    square: Floats
    weight: float
    weight_square: float

    @classmethod
    def nothing(cls, n: int) -> LossStats:
        """Begin a sum."""
        return cls(np.zeros(n), np.zeros(n), 0.0, 0.0)

    def add(self, other: LossStats) -> None:
        """Add another fold's."""
        self.loss += other.loss
        self.square += other.square
        self.weight += other.weight
        self.weight_square += other.weight_square

    def per_row(self) -> LossStats:
        """Return the same as if there were one row."""
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
    """Return a power of two of the size of the largest value: squares in that unit neither overflow nor vanish.

    >>> power_of_two_scale(np.array([3.0, -5.0])), power_of_two_scale(np.array([0.0]))
    (4.0, 1.0)
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest else 1.0
