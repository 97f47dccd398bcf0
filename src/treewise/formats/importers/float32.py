"""Thresholds of libraries that compare in float32, as thresholds for float64 columns.

scikit-learn and XGBoost round a value x to float32, f(x), before they compare it. treewise compares x itself, so the
threshold must be the largest double that f rounds to the left side. With t the largest float32 on the left side and u
the float32 above it, f(x) ≤ t exactly where x lies below the midpoint m = (t + u)/2, and at m itself if rounding to
even takes m to t. The midpoint is a double: t and u have 24 bits each.

Used by ``sklearn_trees.py`` and ``xgboost_model.py``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]

_LARGEST = float(np.finfo(np.float32).max)
_ABOVE_LARGEST = 2.0**128  # where the next float32 would be


def float32_at_most(thresholds: Floats) -> Floats32:
    """Return the largest float32 that is not above each threshold: -inf where there is none.

    >>> float32_at_most(np.array([0.5, 0.1, -1e300, np.inf])).astype(float).tolist()
    [0.5, 0.09999999403953552, -inf, inf]
    """
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(np.float32)
    return np.where(nearest.astype(np.float64) > thresholds, float32_below(nearest), nearest)


def float32_below(numbers: Floats32) -> Floats32:
    """Return the next float32 below each number.

    >>> float32_below(np.array([1.0, -_LARGEST], np.float32)).astype(float).tolist()
    [0.9999999403953552, -inf]
    """
    with np.errstate(over="ignore"):
        return np.nextafter(numbers, np.float32(-np.inf))


def exact_cuts(largest_left: Floats32) -> Floats:
    """Return the largest double that rounds to each float32 or less.

    >>> exact_cuts(np.array([1.0], np.float32)).tolist()           # even: the midpoint 1 + 2^-24 is rounded down to 1
    [1.0000000596046448]
    >>> largest = np.nextafter(np.float32(1), np.float32(2))       # odd: the midpoint is rounded up
    >>> float(np.float32(exact_cuts(np.array([largest]))[0])) == float(largest)
    True
    """
    t = largest_left.astype(np.float64)
    with np.errstate(over="ignore"):
        above = np.nextafter(largest_left, np.float32(np.inf)).astype(np.float64)
    above[t == _LARGEST] = _ABOVE_LARGEST
    with np.errstate(invalid="ignore"):
        midpoint = (t + above) / 2  # exact: denormals of float32 are normal doubles
    rounds_up = (largest_left.view(np.uint32) & 1).astype(bool)
    cuts: Floats = np.where(rounds_up, np.nextafter(midpoint, -np.inf), midpoint)
    return np.where(np.isfinite(t), cuts, t)


def short_cuts(largest_left: Floats32) -> Floats:
    """Return the shortest decimal from each float32 up to, but not including, the next one.

    It separates float32 values as the original does, and reads better: 2.45 instead of 2.4500000476837158.

    >>> short_cuts(float32_at_most(np.array([2.449999988079071, 0.75, -7.0]))).tolist()
    [2.45, 0.75, -7.0]
    """
    with np.errstate(over="ignore"):
        above = np.nextafter(largest_left, np.float32(np.inf))
    return np.array([_shortest(*pair) for pair in zip(largest_left.tolist(), above.tolist(), strict=True)], np.float64)


def _shortest(low: float, high: float) -> float:
    """Return the number of fewest significant digits in [low, high)."""
    if not np.isfinite(low) or low == 0 or not np.isfinite(high):
        return low
    for digits in range(1, 10):
        step = 10.0 ** (np.floor(np.log10(abs(low))) + 1 - digits)
        for multiple in (np.floor(low / step), np.ceil(low / step)):
            candidate = float(f"{multiple * step:.{digits}g}")
            if low <= candidate < high:
                return candidate
    return low
