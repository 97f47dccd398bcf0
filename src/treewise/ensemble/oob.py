"""Out-of-bag predictions: each training row is predicted by the trees that were not grown on it.

Uses ``bootstrap.py`` for the samples, and ``predict.py``. With samples as large as the table, about
37 % of the trees have not seen a given row (Breiman 1996, "Out-of-bag estimation").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.ensemble.bootstrap import BootstrapSamples
from treewise.ensemble.model import Ensemble, OutOfBag
from treewise.ensemble.predict import masked_means
from treewise.train.fixed_point import exact_total, scale_weights
from treewise.train.resampling import power_of_two_scale
from treewise.train.training_set import TrainingSet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OobPredictions:
    """Out-of-bag predictions for every training row, in the order of the table."""

    training_set: TrainingSet
    outputs: Floats  # rows × classes: mean probabilities; or one value per row. NaN if every tree has seen the row
    n_trees: Ints  # number of trees that predict each row
    score: float  # accuracy by row weights alone, without class weights; R² for regression

    @property
    def summary(self) -> OutOfBag:
        """The score and the number of rows it is based on."""
        return OutOfBag(self.score, int(np.count_nonzero(self.n_trees)), len(self.n_trees))

    @property
    def predictions(self) -> npt.NDArray[Any]:
        """The class or value of each row; None or NaN if every tree has seen the row."""
        target = self.training_set.target
        if target.task == "regression":
            return self.outputs
        labels = np.array([*target.classes, None], object)
        return labels[np.where(self.n_trees > 0, _best_class(self.outputs), len(labels) - 1)]


def predict_oob(ensemble: Ensemble, training_set: TrainingSet, samples: BootstrapSamples) -> OobPredictions:
    """Predict each training row with the trees that have not seen it."""
    mask = samples.oob_mask(len(ensemble))
    outputs, n_trees = masked_means(ensemble, list(training_set.columns), len(training_set), mask)
    if training_set.target.task == "regression":
        outputs = outputs[:, 0]
    score = oob_score(training_set, outputs, n_trees > 0)
    return OobPredictions(training_set, outputs, n_trees, score)


def oob_score(
    training_set: TrainingSet, outputs: Floats, covered: npt.NDArray[np.bool_], class_order: Ints | None = None
) -> float:
    """Return the accuracy, or R², on the covered rows; NaN if there are none.

    Class weights and priors are ignored: they direct growth, and do not change the number of rows. Ties go to the first
    class of ``class_order``, by default the order of the target.
    """
    units = np.asarray(scale_weights(training_set.evaluation_weight)[0])
    rows = ScoredRows(training_set.y, training_set.raw, outputs, units)
    covered_rows = rows.take(np.flatnonzero(covered))
    if training_set.target.task == "classification":
        return accuracy_of([covered_rows.count_correct(class_order)])
    scale = power_of_two_scale(training_set.raw)
    mean = mean_of([covered_rows.sum_targets(scale)])
    return r2_of([covered_rows.sum_squares(scale, mean)])


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with their out-of-bag outputs, or some of them; their sums are exact, so those of several parts add up."""

    y: Ints
    raw: Floats  # regression: the targets
    outputs: Floats
    units: Ints  # integer weights

    def take(self, rows: Ints) -> ScoredRows:
        """Return some of the rows."""
        raw = self.raw[rows] if len(self.raw) else self.raw
        return ScoredRows(self.y[rows], raw, self.outputs[rows], self.units[rows])

    def count_correct(self, class_order: Ints | None = None) -> tuple[int, int]:
        """Return the weight of the rows that are predicted correctly, and of all."""
        correct = _best_class(self.outputs, class_order) == self.y
        return int(self.units[correct].sum()), int(self.units.sum())

    def sum_targets(self, scale: float) -> tuple[Fraction, int]:
        """Return Σ w·y in units of ``scale``, and Σ w."""
        return exact_total(self.raw / scale * self.units), int(self.units.sum())

    def sum_squares(self, scale: float, mean: float) -> tuple[Fraction, Fraction]:
        """Return the sums of the squared residuals, and of the squared deviations from the mean."""
        truth, predicted = self.raw / scale, self.outputs / scale  # R² is scale-free; this avoids overflow
        return exact_total((truth - predicted) ** 2 * self.units), exact_total((truth - mean) ** 2 * self.units)


def accuracy_of(parts: Sequence[tuple[int, int]]) -> float:
    """Return the accuracy from the weights of the correct rows and of all, by part."""
    correct, total = (sum(column) for column in zip(*parts, strict=True))
    return correct / total if total else np.nan


def mean_of(parts: Sequence[tuple[Fraction, int]]) -> float:
    """Return the mean target from Σ w·y and Σ w, by part."""
    total, weight = (sum(column) for column in zip(*parts, strict=True))
    return float(total / weight) if weight else np.nan


def r2_of(parts: Sequence[tuple[Fraction, Fraction]]) -> float:
    """Return R² from the sums of squares, by part."""
    residual, variance = (float(sum(column)) for column in zip(*parts, strict=True))
    return 1 - residual / variance if variance > 0 else np.nan


def _best_class(outputs: Floats, class_order: Ints | None = None) -> Ints:
    scores = np.where(np.isnan(outputs), -1.0, outputs)
    if class_order is None:
        return np.asarray(np.argmax(scores, axis=1), np.int64)
    best: Ints = class_order[np.argmax(scores[:, class_order], axis=1)]
    return best
