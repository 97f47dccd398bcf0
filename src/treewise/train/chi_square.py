"""The upper tail of the χ² distribution, as a logarithm: p-values of any size, down to e^-1000000 and below.

Used by ``train/independence.py``. A decision depends on these numbers, so they are computed by additions,
multiplications and divisions alone, in the same order as in ``src/core/util/chi_square.hpp``: IEEE arithmetic gives the
same bits in both languages and on every platform, which the logarithms of two libraries do not.
"""

from __future__ import annotations

import math

_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # ln 2 in two parts: k·_LN2_HIGH is exact
_SQRT2 = 1.4142135623730951
_HALF_LN_2PI = 0.91893853320467274178
_STIRLING_FROM = 16.0  # from here on, five terms of Stirling's series have 16 digits
_SMALLEST_EXPONENT = -745.0  # e^x is 0 below


def log_tail(statistic: float, df: int) -> float:
    """Return ln P(X >= statistic) of a χ² variable with ``df`` degrees of freedom.

    >>> round(math.exp(log_tail(3.841459, 1)), 6), round(math.exp(log_tail(18.307038, 10)), 6)
    (0.05, 0.05)
    >>> round(log_tail(10_000.0, 1), 3)                     # p = 10^-2173.8
    -5004.831
    """
    if not statistic > 0.0:
        return 0.0
    a, x = 0.5 * df, 0.5 * statistic
    log_density = a * ln(x) - x - _ln_gamma(a)  # of x^a·e^-x / Γ(a)
    if x < a + 1.0:
        return ln(1.0 - exp(log_density + ln(_lower_series(a, x))))
    return log_density + ln(_upper_fraction(a, x))


def _lower_series(a: float, x: float) -> float:
    """Return 1/a + x/(a(a+1)) + x²/(a(a+1)(a+2)) + …: the lower incomplete gamma function, without its density."""
    term = total = 1.0 / a
    while term > total * 2.0**-54:
        a += 1.0
        term *= x / a
        total += term
    return total


def _upper_fraction(a: float, x: float) -> float:
    """Return Legendre's continued fraction of the upper incomplete gamma function, by Lentz's method."""
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b
    total, i, change = d, 0.0, 0.0
    while not -(2.0**-50) < change - 1.0 < 2.0**-50:
        i += 1.0
        numerator = i * (a - i)
        b += 2.0
        d = 1.0 / (numerator * d + b)
        c = b + numerator / c
        change = c * d
        total *= change
    return total


def _ln_gamma(a: float) -> float:
    """Return ln Γ(a) for a > 0."""
    product = 1.0  # a(a+1)(a+2)…: Γ(a) = Γ(a+n) / product
    while a < _STIRLING_FROM:
        product *= a
        a += 1.0
    r = 1.0 / (a * a)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r * (1 / 1188))))) / a
    return (a - 0.5) * ln(a) - a + _HALF_LN_2PI + series - ln(product)


def ln(x: float) -> float:
    """Return the natural logarithm of x; -inf at 0.

    >>> ln(1.0), abs(ln(10.0) - math.log(10.0)) < 1e-15
    (0.0, True)
    """
    if not x > 0.0:
        return -math.inf
    m, k = math.frexp(x)
    m, k = (2.0 * m, k - 1) if 2.0 * m < _SQRT2 else (m, k)  # 0.7 < m < 1.42
    z = (m - 1.0) / (m + 1.0)
    square, power, total = z * z, z, 0.0
    for odd in range(1, 23, 2):  # ln m = 2·(z + z³/3 + z⁵/5 + …)
        total += power / odd
        power *= square
    return k * _LN2_HIGH + (2.0 * total + k * _LN2_LOW)


def exp(x: float) -> float:
    """Return e^x for x <= 0.

    >>> exp(0.0), abs(exp(-3.0) - math.exp(-3.0)) < 1e-17, exp(-1000.0)
    (1.0, True, 0.0)
    """
    if not x > _SMALLEST_EXPONENT:
        return 0.0
    k = math.floor(x / _LN2_HIGH + 0.5)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW  # |r| < 0.35
    total = 1.0
    for i in range(16, 0, -1):
        total = 1.0 + r / i * total
    return math.ldexp(total, k)
