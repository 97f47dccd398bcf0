"""Weights and targets as integers, so that their sums are the same in any order.

Stands below ``training_set``, which asks for both once a table.

    weights   w → w·2^scale    whole numbers stay as they are; others are scaled until their sum has 52 bits
    targets   y → y·2^scale    regression: as few bits as all targets need, 61 at most

Scales are powers of two, so nothing is rounded that fits; a positive weight or a target other than 0 never becomes 0.
They depend on the sum of the weights and the largest |y| only, not on the number of rows, so a row of weight 2 is the
same as two rows. Where targets do not fit in 61 bits beside the largest of the table (1…11 beside 1e30), a node whose
own are all smaller by 20 binary orders or more takes them in finer units (``scale_beside``), so that it always has at
least 41 bits of its largest.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_TARGET_BITS, _FINER_BITS = 61, 20  # bits of the largest target; a node's targets get so many more at a time


def scale_targets(raw: npt.NDArray[np.float64]) -> tuple[Ints, int, int | None]:
    """Write targets as integers of at most 61 bits: y·2^scale; and say the largest's exponent if some were rounded.

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
    spare = (used & -used).bit_length() - 1  # zeros all of them end with
    return y >> spare, scale - spare, None


def scale_beside(top: int, largest: float) -> int:
    """Return the scale of a node whose largest |target| is given, in a table whose largest has exponent ``top``.

    >>> scale_beside(100, 1e30), scale_beside(100, 11.0), scale_beside(100, 1e-10)
    (-39, 41, 81)
    """
    return _TARGET_BITS - top + (top - math.frexp(largest)[1]) // _FINER_BITS * _FINER_BITS


def to_units(raw: npt.NDArray[np.float64], scale: int) -> Ints:
    """Round targets to integers y·2^scale; what is not 0 stays so (a Poisson branch of tiny counts has a mean)."""
    y = np.rint(np.ldexp(raw, scale)).astype(np.int64)
    return np.where((y == 0) & (raw != 0), np.where(raw < 0, -1, 1), y)


def lowest_bit_exponents(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
    """Return the exponent of the last bit that is set in each number above 0: the largest power of two it is a whole
    multiple of.

    >>> lowest_bit_exponents(np.array([2.0, 6.0, 0.25, 1.5])).tolist()
    [1, 1, -2, -1]
    """
    fraction, exponent = np.frexp(weights)
    whole = np.ldexp(fraction, 53).astype(np.int64)
    found: npt.NDArray[np.int32] = exponent - 53 + np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return found


def scale_weights(weight: npt.NDArray[np.float64]) -> tuple[Ints, int]:
    """Write positive weights as integers whose sum stays below 2^53: w·2^scale.

    >>> scale_weights(np.array([1.0, 2.0, 3.0]))[0].tolist()
    [1, 2, 3]
    >>> scaled, scale = scale_weights(np.array([0.25, 1.5]))
    >>> np.ldexp(scaled, -scale).tolist()
    [0.25, 1.5]
    """
    largest = float(weight.max(initial=0.0))
    if weight.strides == (0,) and largest == 1.0:
        return np.broadcast_to(np.int64(1), len(weight)), 0  # one number, said to stand in every row
    if largest * len(weight) < 2.0**53 and np.all(weight == np.rint(weight)):
        return weight.astype(np.int64), 0
    top = math.frexp(largest)[1]
    total = math.fsum(np.ldexp(weight, -top).tolist())  # as a multiple of 2^top: no overflow on the way
    bits = math.frexp(total)[1] + top
    if bits <= 53 and np.all(weight == np.rint(weight)):
        return weight.astype(np.int64), 0
    scale = 52 - bits
    return np.maximum(1, np.rint(np.ldexp(weight, scale))).astype(np.int64), scale
