"""Confidence intervals for predictions: Wilson's for a share, Student's for a mean.

Formulas on numbers, for ``predict/predict.py`` and ``evaluate``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from treewise.errors import ParameterError

Floats = npt.NDArray[np.float64]

Z95 = NormalDist().inv_cdf(0.975)  # 1.96: half the width of a 95 % interval, in standard errors
TRAINING_RANGE = "training range"
TRAINING_RANGE_NOTE = (
    "A training range is too narrow for new rows, because its rows chose the splits; honest estimation (option"
    " honest) or a refit on other rows gives a confidence interval."
)


def interval_name(is_independent: bool, confidence: float = 0.95) -> str:
    """Return what the ends of a share or mean are called: an interval only if its rows had no part in the splits.

    >>> interval_name(True), interval_name(False)
    ('95 % interval', 'training range')
    """
    return f"{100 * confidence:g} % interval" if is_independent else TRAINING_RANGE


def check_confidence(confidence: object) -> float:
    """Return a confidence level as a float; raise unless it is between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ParameterError(
            "must be a number between 0 and 1, such as 0.95.", parameter="confidence", value=confidence
        )
    return float(confidence)


def upper_share(confidence: float) -> float:
    """Return the share of a symmetric distribution below the upper end of an interval.

    Neither a half nor 1, which rounding may reach and whose quantiles are 0 and infinite.

    >>> upper_share(0.95), 0.5 < upper_share(1e-300) < upper_share(1 - 2**-53) < 1
    (0.975, True)
    """
    return min(max(0.5 + confidence / 2, math.nextafter(0.5, 1)), math.nextafter(1, 0))


def wilson(hits: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval (1927) for a share: unlike the textbook's plus-minus it stays within 0 and 1.

    >>> [round(bound, 4) for bound in wilson(1, 12)]
    [0.0149, 0.3539]
    >>> wilson(0, 10)[0], wilson(10, 10)[1], wilson(0, 0)
    (0.0, 1.0, (0.0, 1.0))
    """
    low, high = wilson_intervals(np.array([hits / n if n else 0.0]), np.array([float(n)]), confidence)
    return float(low[0]), float(high[0])


def wilson_intervals(share: Floats, n: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return Wilson's intervals for arrays of shares and row counts; 0 to 1 where there are no rows."""
    z = NormalDist().inv_cdf(upper_share(confidence))
    positive_n = np.where(n > 0, n, 1.0)
    spread = z * z / positive_n
    middle = (share + spread / 2) / (1 + spread)
    half = z * np.sqrt(share * (1 - share) / positive_n + spread / (4 * positive_n)) / (1 + spread)
    low = np.where((n > 0) & (share > 0), middle - half, 0.0)
    high = np.where((n > 0) & (share < 1), middle + half, 1.0)
    return low, high


def student_half_width(spread: float, n: int, confidence: float = 0.95) -> float:
    """Return the half-width of Student's interval (1908) for a mean; infinite for a single row.

    ``spread`` is the population standard deviation of the n rows (divisor n, not n − 1).

    >>> student_half_width(2.0, 5)                     # 2.776 · 2/√4, as in every table of t
    2.7764451...
    """
    if n < 2:
        return math.inf
    return student_quantile(upper_share(confidence), n - 1) * spread / math.sqrt(n - 1)


@lru_cache(maxsize=4096)
def student_quantile(share: float, freedom: float) -> float:
    """Return the t below which a share of Student's distribution lies, for a share above a half.

    By Newton's steps from the normal quantile, on logarithms: the logarithm of the tail bends downwards in that of t,
    so that every step but the first comes nearer from above.

    >>> round(student_quantile(0.975, 1), 3), round(student_quantile(0.975, 30), 3)
    (12.706, 2.042)
    """
    both_tails, t = 2 * (1 - share), NormalDist().inv_cdf(share)
    log_front = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    for trial in range(100):
        tails = beta_share(freedom / (freedom + t * t), freedom / 2, 0.5)
        density = math.exp(log_front - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        step = math.log(tails / both_tails) * tails / (2 * t * density)
        t *= math.exp(step)
        if abs(step) < 1e-14 or (trial > 0 and step >= 0):  # the second condition: only rounding errors are left
            break
    return t


def beta_share(x: float, a: float, b: float) -> float:
    """Return the share of the beta distribution below x: the regularised incomplete beta function.

    By its continued fraction, evaluated from the front (Lentz 1976), on the side where that is quick.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    numerator, denominator = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    fraction = denominator
    for i in range(1, 100_000):
        even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i))
        odd_term = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1))
        for term in (even, odd_term):
            denominator = 1 / ((1 + term * denominator) or tiny)
            numerator = (1 + term / numerator) or tiny
            fraction *= denominator * numerator
        if abs(denominator * numerator - 1) < 1e-15:
            break
    return math.exp(log_front) * fraction / a
