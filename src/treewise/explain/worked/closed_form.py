"""Exact values of entropies: sums of rational multiples of logarithms of primes, such as log 3 − 1/2·log 2.

With probabilities p = c/m the entropy is log m − Σ c/m·log c, and log of a whole number is the sum of the logarithms of
its prime factors. In bits log₂ 2 is 1, so powers of two leave plain fractions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

_MAX_TERMS, _MAX_NUMBER = 3, 99  # of a closed form that is short enough to print
_MAX_DENOMINATOR = 10_000
_NEAR = 1e-12


@dataclass(frozen=True)
class LogSum:
    """A sum of rational multiples of logarithms of primes, in bits or nats.

    >>> half = LogSum({3: Fraction(1), 2: Fraction(-1, 2)})
    >>> half.text("nats"), half.text("bits"), round(half.value("nats"), 4)
    ('log 3 − 1/2·log 2', 'log₂ 3 − 1/2', 0.752)
    """

    coefficients: Mapping[int, Fraction]  # by prime

    def __add__(self, other: LogSum) -> LogSum:
        primes = {*self.coefficients, *other.coefficients}
        added = {p: self.coefficients.get(p, Fraction(0)) + other.coefficients.get(p, Fraction(0)) for p in primes}
        return LogSum({p: q for p, q in added.items() if q})

    def times(self, factor: Fraction) -> LogSum:
        """Return a multiple."""
        return LogSum({p: q * factor for p, q in self.coefficients.items() if q * factor})

    def value(self, unit: str) -> float:
        """Return the number."""
        log = math.log2 if unit == "bits" else math.log
        return math.fsum(float(q) * log(p) for p, q in self.coefficients.items())

    @property
    def is_short(self) -> bool:
        """Whether it is worth printing: few terms, small numbers."""
        numbers = [n for p, q in self.coefficients.items() for n in (p, abs(q.numerator), q.denominator)]
        return len(self.coefficients) <= _MAX_TERMS and max(numbers, default=0) <= _MAX_NUMBER

    def text(self, unit: str) -> str:
        """Write it out: positive terms first, larger primes first, whole bits last; "0" if there are none."""
        return _join([_term(q, p, unit) for p, q in self._ordered(unit)])

    def latex(self, unit: str) -> str:
        """Write it as LaTeX mathematics."""
        return _join([_term(q, p, unit, latex=True) for p, q in self._ordered(unit)], minus=" - ")

    def _ordered(self, unit: str) -> list[tuple[int, Fraction]]:
        def key(item: tuple[int, Fraction]) -> tuple[bool, bool, int]:
            prime, coefficient = item
            return coefficient < 0, unit == "bits" and prime == 2, -prime

        return sorted(self.coefficients.items(), key=key)


def entropy_of(counts: Sequence[int]) -> LogSum:
    """Return the exact entropy of whole numbers of rows.

    >>> entropy_of([5, 2]).text("nats"), entropy_of([1, 2]).text("bits"), entropy_of([3, 0]).text("bits")
    ('log 7 − 5/7·log 5 − 2/7·log 2', 'log₂ 3 − 2/3', '0')
    """
    total = sum(counts)
    entropy = _logarithm(total)
    for c in counts:
        if c:
            entropy = entropy + _logarithm(c).times(Fraction(-c, total))
    return entropy


def as_counts(values: Sequence[float]) -> list[int] | None:
    """Return counts or probabilities as whole numbers in the same proportions; None if they are not short fractions.

    >>> as_counts([1/3, 1/3, 1/3]), as_counts([5, 2]), as_counts([0.5, 0.25, 0.25]), as_counts([0.123456789, 1])
    ([1, 1, 1], [5, 2], [2, 1, 1], None)
    """
    fractions = [as_fraction(value) for value in values]
    if any(f is None for f in fractions):
        return None
    known = [f for f in fractions if f is not None]
    common = math.lcm(*(f.denominator for f in known))
    counts = [int(f * common) for f in known]
    return [c // divisor for c in counts] if (divisor := math.gcd(*counts) if common > 1 else 1) else None


def as_fraction(value: float) -> Fraction | None:
    """Return the short fraction that a number stands for, such as 1/3 for 0.333…; None if there is none."""
    near = Fraction(value).limit_denominator(_MAX_DENOMINATOR)
    return near if math.isclose(float(near), value, rel_tol=_NEAR, abs_tol=_NEAR) else None


def _logarithm(n: int) -> LogSum:
    """Return log n by its prime factors."""
    factors: dict[int, Fraction] = {}
    divisor = 2
    while n > 1:
        if divisor * divisor > n:
            divisor = n
        while n % divisor == 0:
            factors[divisor] = factors.get(divisor, Fraction(0)) + 1
            n //= divisor
        divisor += 1
    return LogSum(factors)


def _term(q: Fraction, prime: int, unit: str, latex: bool = False) -> str:
    size = abs(q)
    sign = "-" if q < 0 else "+"
    if unit == "bits" and prime == 2:
        return sign + fraction_text(size, latex)
    log = (r"\log_2 " if latex else "log₂ ") if unit == "bits" else (r"\log " if latex else "log ")
    factor = "" if size == 1 else fraction_text(size, latex) + (r"\," if latex else "·")
    return f"{sign}{factor}{log}{prime}"


def fraction_text(q: Fraction, latex: bool = False) -> str:
    r"""Write a fraction.

    >>> fraction_text(Fraction(2, 3)), fraction_text(Fraction(2, 3), latex=True), fraction_text(Fraction(2))
    ('2/3', '\\tfrac{2}{3}', '2')
    """
    if q.denominator == 1:
        return str(q.numerator)
    return rf"\tfrac{{{q.numerator}}}{{{q.denominator}}}" if latex else f"{q.numerator}/{q.denominator}"


def _join(terms: Sequence[str], minus: str = " − ") -> str:
    if not terms:
        return "0"
    text = "".join((minus if term[0] == "-" else " + ") + term[1:] for term in terms)
    return text[3:] if terms[0][0] == "+" else text.strip().replace(minus.strip() + " ", minus.strip(), 1)
