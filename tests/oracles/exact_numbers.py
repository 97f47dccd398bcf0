"""Numbers of the learner in rational arithmetic: logarithms that compare exactly, and midpoints of doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache

DIGITS = Context(prec=60)
TIE = Decimal("1e-25")  # decimals nearer than this are the same number


@dataclass(frozen=True)
class Log:
    """The number log(top/bottom)/per, compared without ever taking a logarithm.

    >>> Log(3, 1) > Log(8, 1, per=2), Log(8, 1, per=3) > Log(4, 1, per=2), Log(4, 1, per=2) > Log(8, 1, per=3)
    (True, False, False)
    """

    top: int
    bottom: int
    per: int = 1

    def __gt__(self, other: Log) -> bool:
        common = math.gcd(self.per, other.per)
        i, j = self.per // common, other.per // common
        mine: int = self.top**j * other.bottom**i
        theirs: int = other.top**i * self.bottom**j
        return mine > theirs

    def __sub__(self, other: Log) -> Log:
        assert self.per == other.per
        return Log(self.top * other.bottom, self.bottom * other.top, self.per)

    def __truediv__(self, number: int) -> Log:
        return Log(self.top, self.bottom, self.per * number)

    def nats(self) -> Decimal:
        """Return the number to 60 digits."""
        return DIGITS.divide(DIGITS.subtract(ln(self.top), ln(self.bottom)), Decimal(self.per))


@cache
def ln(number: int) -> Decimal:
    """Return the natural logarithm of a whole number to 60 digits."""
    return DIGITS.ln(DIGITS.create_decimal(number))


@dataclass(frozen=True)
class Approximate:
    """A number known to some fifty digits; of two that are nearer than 1e-25 neither is the larger."""

    number: Decimal

    def __gt__(self, other: Approximate) -> bool:
        return bool(DIGITS.subtract(self.number, other.number) > TIE)


def midpoint(a: float, b: float) -> float:
    """Return the threshold between neighbours a < b: halfway, in as few digits as that can be written.

    >>> midpoint(42.3, 42.4), midpoint(1.0, math.nextafter(1.0, 2.0)), midpoint(-1e308, 1.6e308)
    (42.35, 1.0, 3e+307)
    >>> midpoint(-math.inf, math.inf), midpoint(-math.inf, 3.0), midpoint(3.0, math.inf), midpoint(-1.0, 1.0)
    (0.0, -1.7976931348623157e+308, 3.0, 0.0)
    """
    lowest = -math.nextafter(math.inf, 0)
    if a == -math.inf:
        return 0.0 if b == math.inf else lowest if lowest < b else a
    if b == math.inf:
        return a
    half = a + (b - a) / 2 if b - a < math.inf else a / 2 + b / 2
    half = a if half >= b else half
    short = float(Context(prec=15).create_decimal(half))
    return (short if a <= short < b else half) or 0.0  # −0.0 is 0.0
