"""Metrics of an evaluation with their intervals: rates of classes, means of losses, and errors of numbers.

``evaluate.py`` measures, ``results.py`` holds and prints; here are the formulas, on counts and per-row losses.

    recall, precision       a share of rows: Wilson's interval
    F1                      2J/(1 + J) with J = TP/(TP + FP + FN), a share as well: Wilson's interval of J, transformed
    balanced accuracy       mean of the recalls: their intervals combined (Zou and Donner 2008)
    AUC                     ``Ranking.auc_interval`` (DeLong and others 1988)
    log loss, Brier, MAE    a mean over rows: Student's interval
    RMSE                    that of the mean squared error, on the scale of logarithms
    R²                      the delta method
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from treewise.predict.confidence_intervals import student_half_width, wilson
from treewise.train.resampling import power_of_two_scale
from treewise.tree.arrays import Label

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]

_LARGEST = np.finfo(np.float64).max.item()


@dataclass(frozen=True)
class Metric:
    """A figure of an evaluation, with its 95 % interval where there is one."""

    name: str
    value: float | None  # None if undefined on this table
    interval: Interval | None = None


@dataclass(frozen=True)
class ClassMetrics:
    """How well one class is recognised; ``auc`` is that of the class against all others."""

    label: Label
    support: float  # rows of this class, or their weight
    precision: Metric
    recall: Metric
    f1: Metric
    auc: Metric

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The four metrics."""
        return self.precision, self.recall, self.f1, self.auc


def class_metrics(label: Label, hits: float, predicted: float, support: float, rows_per_weight: float) -> ClassMetrics:
    """Return precision, recall and F1 of one class from its (weighted) counts; ``auc`` is left undefined.

    ``rows_per_weight`` is the effective number of rows per unit of weight, 1 without weights.

    >>> result = class_metrics("yes", hits=8, predicted=10, support=16, rows_per_weight=1.0)
    >>> [(metric.name, round(metric.value, 3)) for metric in (result.precision, result.recall, result.f1)]
    [('precision', 0.8), ('recall', 0.5), ('f1', 0.615)]
    """
    union = predicted + support - hits
    jaccard = _share("jaccard", hits, union, rows_per_weight)
    f1 = Metric("f1", None)
    if jaccard.value is not None and jaccard.interval is not None:
        low, high = jaccard.interval
        f1 = Metric("f1", _f1_of(jaccard.value), (_f1_of(low), _f1_of(high)))
    return ClassMetrics(
        label,
        support,
        _share("precision", hits, predicted, rows_per_weight),
        _share("recall", hits, support, rows_per_weight),
        f1,
        Metric("auc", None),
    )


def balanced_accuracy(recalls: Sequence[Metric]) -> Metric:
    """Return the mean of the defined recalls; the distances to their ends are combined as if independent.

    >>> both = [Metric("recall", 0.9, (0.85, 0.94)), Metric("recall", 0.5, (0.38, 0.62))]
    >>> result = balanced_accuracy(both)
    >>> result.value, [round(end, 3) for end in result.interval]
    (0.7, [0.635, 0.763])
    """
    known = [(metric.value, metric.interval) for metric in recalls if metric.value is not None and metric.interval]
    if not known:
        return Metric("balanced_accuracy", None)
    k, value = len(known), math.fsum(value for value, _ in known) / len(known)
    below = math.sqrt(math.fsum((value - bounds[0]) ** 2 for value, bounds in known)) / k
    above = math.sqrt(math.fsum((bounds[1] - value) ** 2 for value, bounds in known)) / k
    return Metric("balanced_accuracy", value, (value - below, value + above))


def mean_metric(name: str, losses: Floats, weight: Floats | None) -> Metric:
    """Return the mean of the rows' losses, with Student's interval.

    >>> result = mean_metric("log_loss", np.array([0.1, 0.2, 0.3]), None)
    >>> round(result.value, 3), [round(end, 3) for end in result.interval]
    (0.2, [0.0, 0.448])
    """
    top = float(np.max(losses)) or 1.0  # so that no square overflows
    mean, std = mean_and_std(losses / top, weight)
    half = student_half_width(std, max(2, round(effective_sample_size(len(losses), weight))))
    return Metric(name, top * mean, (top * max(0.0, mean - half), min(top * (mean + half), _LARGEST)))


def rmse_interval(errors: Floats, weight: Floats | None) -> Interval | None:
    """Return the interval of the root mean squared error, on the scale of logarithms; None if all errors are 0."""
    top = float(np.max(np.abs(errors)))
    if not 0 < top < math.inf:
        return None
    mean, std = mean_and_std((errors / top) ** 2, weight)
    half = student_half_width(std, max(2, round(effective_sample_size(len(errors), weight)))) / (2 * mean)
    middle = top * math.sqrt(mean)
    return middle * math.exp(-min(half, 700.0)), min(middle * math.exp(min(half, 700.0)), _LARGEST)


def r2_interval(y_true: Floats, errors: Floats, weight: Floats | None) -> Interval | None:
    """Return the interval of R² by the delta method; None if the targets are all equal.

    R² = 1 − M/V with M the mean squared error and V the variance. A row changes it by about
    (M/V·(y − ȳ)² − e²)/V, whose standard deviation gives the standard error.
    """
    unit = power_of_two_scale(y_true)  # exact, and sums do not overflow
    y_true, errors = y_true / unit, errors / unit
    scale = float(np.max(np.abs(y_true - y_true.mean()))) if len(y_true) else 0.0
    if not 0 < scale < math.inf:
        return None
    squares, deviations = (errors / scale) ** 2, ((y_true - np.average(y_true, weights=weight)) / scale) ** 2
    m, v = float(np.average(squares, weights=weight)), float(np.average(deviations, weights=weight))
    if not math.isfinite(m) or v <= 0:
        return None
    _, std = mean_and_std((m / v * deviations - squares) / v, weight)
    half = student_half_width(std, max(2, round(effective_sample_size(len(errors), weight))))
    return 1 - m / v - half, min(1.0, 1 - m / v + half)


def effective_sample_size(n: int, weight: Floats | None) -> float:
    """Return the effective sample size of weighted rows (Kish 1965).

    >>> effective_sample_size(2, None), effective_sample_size(2, np.array([3.0, 1.0]))
    (2, 1.6)
    """
    return n if weight is None else float(weight.sum() ** 2 / (weight**2).sum())


def mean_and_std(values: Floats, weight: Floats | None) -> tuple[float, float]:
    """Return the (weighted) mean and standard deviation.

    >>> mean_and_std(np.array([0.0, 1.0]), np.array([3.0, 1.0]))                  # as of 0, 0, 0 and 1
    (0.25, 0.4330127018922193)
    """
    mean = float(np.average(values, weights=weight))
    return mean, math.sqrt(float(np.average((values - mean) ** 2, weights=weight)))


def _share(name: str, part: float, whole: float, rows_per_weight: float) -> Metric:
    """Return a share with Wilson's interval; undefined if there are no rows."""
    if not whole:
        return Metric(name, None)
    return Metric(name, part / whole, wilson(part * rows_per_weight, whole * rows_per_weight))


def _f1_of(jaccard: float) -> float:
    return 2 * jaccard / (1 + jaccard)


def macro_mean(name: str, classes: Sequence[ClassMetrics]) -> Metric:
    """Return the mean of a metric over the classes; an undefined precision counts 0, an undefined AUC makes it so."""
    values = [getattr(metrics, name).value for metrics in classes]
    if name == "auc" and (not values or None in values):
        return Metric(name, None)
    return Metric(name, math.fsum(value or 0.0 for value in values) / len(values) if values else None)
