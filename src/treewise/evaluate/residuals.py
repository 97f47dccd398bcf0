"""Residuals in summary: quantiles of the true values at each predicted value, and a histogram; no rows are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MAX_GROUPS = 20  # of neighbouring predictions; fewer predicted values are a group each
_BINS = 30
_TAIL = 0.005  # share of the rows at either end that the histogram leaves out, where they would stretch it


@dataclass(frozen=True)
class PredictionGroup:
    """Rows of one predicted value, or of neighbouring ones."""

    predicted: float
    weight: float
    quantiles: tuple[float, ...]  # of the true values: 5, 25, 50, 75 and 95 %


@dataclass(frozen=True)
class Residuals:
    """True minus predicted values.

    >>> residuals = Residuals.of(np.array([1.0, 3.0, 8.0]), np.array([2.0, 2.0, 8.0]), None)
    >>> [(group.predicted, group.quantiles) for group in residuals.groups]
    [(2.0, (1.0, 1.0, 1.0, 3.0, 3.0)), (8.0, (8.0, 8.0, 8.0, 8.0, 8.0))]
    >>> sum(residuals.counts) + residuals.outside
    3.0
    """

    groups: tuple[PredictionGroup, ...]
    is_by_value: bool  # each predicted value has a group of its own
    edges: tuple[float, ...]  # of the histogram
    counts: tuple[float, ...]  # weight of the rows between two edges
    outside: float  # weight of the rows beyond the ends

    @classmethod
    def of(cls, y_true: Floats, y_pred: Floats, weight: Floats | None) -> Residuals:
        """Summarise the residuals of a table."""
        w = np.ones(len(y_true)) if weight is None else weight
        values, number = np.unique(y_pred, return_inverse=True)
        is_by_value = len(values) <= _MAX_GROUPS
        if not is_by_value:
            middle = np.cumsum(by_value := np.bincount(number, w)) - by_value / 2
            group_of = np.minimum((middle / middle[-1] * _MAX_GROUPS).astype(np.int64), _MAX_GROUPS - 1)
            number = np.unique(group_of, return_inverse=True)[1][number]
        order = np.lexsort((y_true, number))
        starts = np.searchsorted(number[order], np.arange(number.max() + 2))
        groups = []
        for first, end in zip(starts.tolist(), starts[1:].tolist(), strict=False):
            rows = order[first:end]
            if total := float(w[rows].sum()):
                predicted = float(np.sum(y_pred[rows] * (w[rows] / total)))  # shares: the sum may overflow
                groups.append(PredictionGroup(predicted, total, _quantiles(y_true[rows], w[rows])))
        return cls(tuple(groups), is_by_value, *_histogram(y_true, y_pred, w))


def _quantiles(values: Floats, weight: Floats) -> tuple[float, ...]:
    """Return the quantiles of sorted values: each the first value that the share of the weight reaches."""
    share = np.cumsum(weight) / weight.sum()
    first = np.minimum(np.searchsorted(share, np.array(_QUANTILES) - 1e-12), len(values) - 1)
    return tuple(values[first].tolist())


def _histogram(y_true: Floats, y_pred: Floats, weight: Floats) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Return edges, counts and the weight beyond the ends; the histogram is symmetric about 0."""
    with np.errstate(over="ignore"):
        residuals = y_true - y_pred
    reach = float(np.quantile(np.abs(residuals), 1 - 2 * _TAIL, method="inverted_cdf"))
    if not math.isfinite(reach) or reach == 0:
        reach = float(np.max(np.abs(residuals[np.isfinite(residuals)]), initial=0.0)) or 1.0
    edges = reach * np.linspace(-1.0, 1.0, _BINS + 1)
    inside = np.abs(residuals) <= reach
    bin_index = np.minimum(((residuals[inside] / reach / 2 + 0.5) * _BINS).astype(np.int64), _BINS - 1)
    counts = np.bincount(bin_index, weight[inside], _BINS).astype(np.float64)
    return tuple(edges.tolist()), tuple(counts.tolist()), float(weight[~inside].sum())
