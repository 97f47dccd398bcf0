"""Sums of what rows lose and of its squares, so that the standard error of a mean loss is known too.

Below everything that tries trees on rows they have not seen: learning curves, and pruning by folds. Weights say how
much a row counts, in any unit: a mean and its standard error do not change when all of them are doubled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
