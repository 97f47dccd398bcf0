"""How faithful an imitation is: how often it says what its teacher says, and what both are worth beside the truth.

Beneath ``distilling``. Answers are compared row by row; of classes the share that agree with Wilson's interval, of
numbers R², the share of the teacher's spread that the imitation tells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.evaluate.baselines.compare_models import Z95, effective_sample_size, mean_and_spread
from treewise.predict.confidence_intervals import wilson
from treewise.train.loss_stats import size_of_numbers

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fidelity:
    """How an imitation does on some rows. Errors are shares of wrong rows, of numbers RMSE; None without the truth."""

    rows: str  # which rows: "training", "10 folds", or the name of a table
    n: int
    agreement: float | None  # the share of rows with the teacher's answer; of numbers R², None where they do not differ
    low: float | None  # the 95 % interval of the agreement on other rows like these; None on the training rows
    high: float | None
    rmse: float | None = None  # of numbers: how far off the teacher
    teacher_error: float | None = None  # beside the truth
    student_error: float | None = None


@dataclass(frozen=True, eq=False)
class FidelityAnswers:
    """What teacher and student say of some rows, and the truth: class numbers, or values (-1, NaN: unknown)."""

    teacher: npt.NDArray[Any]
    student: npt.NDArray[Any]
    truth: npt.NDArray[Any] | None
    weight: Floats | None  # where rows weigh differently

    def fidelity(self, rows: str, numbers: bool, sure: bool) -> Fidelity:
        """Compare them; ``sure`` asks for an interval, which is for rows the student has not seen."""
        compared = self.of_numbers(sure) if numbers else self.of_classes(sure)
        errors = {
            "teacher_error": self.error(self.teacher, numbers),
            "student_error": self.error(self.student, numbers),
        }
        return Fidelity(rows, len(self.teacher), **compared, **errors)

    def of_classes(self, sure: bool) -> dict[str, float | None]:
        """Return the share of rows on which both say the same."""
        same = float(np.average(self.teacher == self.student, weights=self.weight))
        n = effective_sample_size(len(self.teacher), self.weight)
        low, high = wilson(same * n, n) if sure else (None, None)
        return {"agreement": same, "low": low, "high": high}

    def of_numbers(self, sure: bool) -> dict[str, float | None]:
        """Return R² of the imitation; its interval is that of the mean squared distance, at this spread of answers."""
        unit = size_of_numbers(self.teacher)
        off, said = (self.student - self.teacher) / unit, self.teacher / unit
        squared, spread = mean_and_spread(off**2, self.weight)
        variance = mean_and_spread(said, self.weight)[1] ** 2
        rmse = math.sqrt(squared) * unit
        if variance == 0:
            return {"agreement": None, "low": None, "high": None, "rmse": rmse}
        half = Z95 * spread / math.sqrt(effective_sample_size(len(off), self.weight))
        low, high = (1 - (squared + half) / variance, 1 - max(0.0, squared - half) / variance) if sure else (None, None)
        return {"agreement": 1 - squared / variance, "low": low, "high": high, "rmse": rmse}

    def error(self, said: npt.NDArray[Any], numbers: bool) -> float | None:
        """Return how wrong somebody is where the truth is known."""
        if self.truth is None:
            return None
        known = ~np.isnan(self.truth) if numbers else self.truth >= 0
        if not known.any():
            return None
        weight = None if self.weight is None else self.weight[known]
        if not numbers:
            return float(np.average(said[known] != self.truth[known], weights=weight))
        unit = size_of_numbers(self.truth[known])
        return math.sqrt(float(np.average(((said - self.truth)[known] / unit) ** 2, weights=weight))) * unit
