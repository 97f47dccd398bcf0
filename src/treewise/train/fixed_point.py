"""Weights and targets as fixed-point integers, so that their sums are the same in any order.

Used by ``training_set.py``, once per table.

    weights   w → w·2^scale    whole numbers stay as they are; others are scaled until their sum has 52 bits, and keep
                               the proportion of small whole numbers if they have one (0.1, 0.3; balanced classes)
    targets   y → y·2^scale    regression: as few bits as all targets need, 61 at most

Scales are powers of two, so values that fit are exact; a positive weight or a nonzero target never becomes 0. Scales
depend only on the sum of the weights and the largest |y|, not on the number of rows, so a row of weight 2 is the same
as two rows. If the targets span more than 61 bits (1…11 beside 1e30), a node whose targets are all smaller by 20 binary
orders or more uses a finer scale (``node_target_scale``), so that its largest target always has at least 41 bits.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_TARGET_BITS, _FINER_BITS = 61, 20  # bits of the largest target; steps in which a node's scale is refined
_MAX_DISTINCT = 4096  # different weights that a proportion is looked for in
_MAX_DENOMINATOR = 1 << 24
_MIN_UNIT = 1 << 20  # what the common unit is rounded to: the smallest integer that represents it


def scale_of_targets(largest: float, lowest_bit: int) -> tuple[int, int | None]:
    """Return what ``scale_targets`` does besides the integers, of targets that are elsewhere.

    ``largest`` is their largest magnitude, ``lowest_bit`` the exponent of the lowest bit that is set in any of them.

    >>> scale_of_targets(3.0, -1), scale_of_targets(1e30, 0)
    ((1, None), (-39, 100))
    """
    if not largest:
        return 0, None
    top = math.frexp(largest)[1]
    return (-lowest_bit, None) if top - lowest_bit <= _TARGET_BITS else (_TARGET_BITS - top, top)


def scale_targets(raw: npt.NDArray[np.float64]) -> tuple[Ints, int, int | None]:
    """Convert targets to integers y·2^scale of at most 61 bits; return the largest's exponent if some were rounded.

    >>> [part.tolist() if isinstance(part, np.ndarray) else part for part in scale_targets(np.array([0.5, -3.0]))]
    [[1, -6], 1, None]
    >>> scale_targets(np.array([1e30, 1.0]))[0].tolist()[1], scale_targets(np.array([1e30, 1.0]))[2]
    (1, 100)
    """
    if not np.any(raw):
        return np.zeros(len(raw), np.int64), 0, None
    top = math.frexp(float(np.max(np.abs(raw))))[1]
    scale = _TARGET_BITS - top
    y = to_units(raw, scale)
    if not np.array_equal(np.ldexp(y.astype(np.float64), -scale), raw):
        return y, scale, top
    used = int(np.bitwise_or.reduce(np.abs(y)))
    spare = (used & -used).bit_length() - 1  # trailing zeros of all of them
    return y >> spare, scale - spare, None


def node_target_scale(top: int, largest: float) -> int:
    """Return the scale of a node whose largest |target| is given, in a table whose largest has exponent ``top``.

    >>> node_target_scale(100, 1e30), node_target_scale(100, 11.0), node_target_scale(100, 1e-10)
    (-39, 41, 81)
    """
    return _TARGET_BITS - top + (top - math.frexp(largest)[1]) // _FINER_BITS * _FINER_BITS


def to_units(raw: npt.NDArray[np.float64], scale: int) -> Ints:
    """Round targets to integers y·2^scale; nonzero ones stay nonzero (a Poisson branch of tiny counts has a mean)."""
    y = np.rint(np.ldexp(raw, scale)).astype(np.int64)
    return np.where((y == 0) & (raw != 0), np.where(raw < 0, -1, 1), y)


def lowest_bit_exponents(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """Return the exponent of the lowest set bit of each positive number.

    >>> lowest_bit_exponents(np.array([2.0, 6.0, 0.25, 1.5])).tolist()
    [1, 1, -2, -1]
    """
    fraction, exponent = np.frexp(weights)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    lowest: npt.NDArray[np.int32] = exponent - 53 + np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1
    return lowest


def exact_sum(values: npt.NDArray[np.float64], times: Ints | None = None) -> float:
    """Return the sum of numbers, each of which occurs some times, rounded once: the same in any order.

    >>> exact_sum(np.array([0.1, 1e300, -1e300])), exact_sum(np.array([0.1, 0.5]), np.array([10, 1]))
    (0.1, 1.5)
    """
    if times is None:
        return math.fsum(values.tolist())
    return float(sum(Fraction(v) * n for v, n in zip(values.tolist(), times.tolist(), strict=True)))


def exact_total(values: npt.NDArray[np.float64]) -> Fraction:
    """Return the exact sum of finite numbers: those of several parts of a table can be added up.

    Each number is a whole multiple of a power of two; both halves of the multiple are summed by the exponent.

    >>> exact_total(np.array([0.1, 1e300, -1e300])) == Fraction(0.1)
    True
    """
    if not len(values):
        return Fraction(0)
    fraction, exponent = np.frexp(values)
    multiple, lowest = np.ldexp(fraction, 53).astype(np.int64), int(exponent.min())
    total = 0
    for half, shift in ((multiple >> 27, 27), (multiple & ((1 << 27) - 1), 0)):
        by_exponent = np.zeros(int(exponent.max()) - lowest + 1, np.int64)
        np.add.at(by_exponent, exponent - lowest, half)
        total += sum(int(part) << (i + shift) for i, part in enumerate(by_exponent.tolist()) if part)
    power = lowest - 53
    return Fraction(total << power) if power >= 0 else Fraction(total, 1 << -power)


def scale_weights(weight: npt.NDArray[np.float64], times: Ints | None = None) -> tuple[Ints, int]:
    """Convert positive weights to integers w·2^scale whose sum stays below 2^53; each may occur several ``times``.

    >>> scale_weights(np.array([1.0, 2.0, 3.0]))[0].tolist()
    [1, 2, 3]
    >>> scaled, scale = scale_weights(np.array([0.25, 1.5]))
    >>> np.ldexp(scaled, -scale).tolist()
    [0.25, 1.5]
    >>> scaled, scale = scale_weights(np.array([0.1, 0.1 * 3]))     # 0.1 * 3 > 0.3, but three times as much as 0.1
    >>> int(scaled[1]) == 3 * int(scaled[0])
    True
    """
    largest = float(weight.max(initial=0.0))
    n = len(weight) if times is None else int(times.sum())
    if weight.strides == (0,) and largest == 1.0:
        return np.broadcast_to(np.int64(1), len(weight)), 0  # one value, broadcast without memory
    if largest * n < 2.0**53 and np.all(weight == np.rint(weight)):
        return weight.astype(np.int64), 0
    top = math.frexp(largest)[1]
    total = exact_sum(np.ldexp(weight, -top), times)  # as a multiple of 2^top, to avoid overflow
    bits = math.frexp(total)[1] + top
    if bits <= 53 and np.all(weight == np.rint(weight)):
        return weight.astype(np.int64), 0
    scale = 52 - bits
    multiples = _whole_proportions(weight)
    if multiples is not None:
        whole = multiples.astype(np.float64) if times is None else multiples.astype(np.float64) * times
        unit = round(math.ldexp(total, top + scale) / float(whole.sum()))
        if unit >= _MIN_UNIT:
            return multiples * unit, scale
    return np.maximum(1, np.rint(np.ldexp(weight, scale))).astype(np.int64), scale


def _whole_proportions(weight: npt.NDArray[np.float64]) -> Ints | None:
    """Return the whole numbers that the weights are in proportion to, but for their last bits; None if there are none.

    Without this, splits that are equally good would no longer be tied when all weights are multiplied by 0.1. Each
    quotient by the smallest weight is approximated by the simplest fraction; the common denominator makes them whole.
    The result depends on the set of weights, not on their order.
    """
    if len(np.unique(weight[: 2 * _MAX_DISTINCT])) > _MAX_DISTINCT:
        return None
    distinct, index = np.unique(weight, return_inverse=True)
    if len(distinct) > _MAX_DISTINCT or distinct[-1] * 2.0**-32 >= distinct[0]:
        return None
    quotients = distinct / distinct[0]
    denominator = 1
    for quotient in quotients.tolist():
        denominator *= Fraction(quotient * denominator).limit_denominator(_MAX_DENOMINATOR).denominator
        if denominator > _MAX_DENOMINATOR:
            return None
    integers = np.rint(quotients * denominator)
    rounding = 2.0**-50 * integers  # of the weights, of products with class weights, and of the quotients
    if np.any(np.abs(integers - quotients * denominator) > rounding):
        return None
    multiples: Ints = integers.astype(np.int64)[index.reshape(-1)]
    return multiples
