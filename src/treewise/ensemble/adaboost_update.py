"""The arithmetic of a boosting round: from a learner's mistakes to its vote, and to the weights of the next round.

Stands below ``boosting.py``, which grows the learners, and ``worked.py``, which writes the same steps out. CS221
section 5 writes it for two classes; SAMME (Zhu, Zou, Rosset and Hastie 2009) for K, which for two is the same:

    ε = the weight of the rows said wrongly, of all weight 1         the learner's error
    α = ½·(log((1 − ε)/ε) + log(K − 1))                              its vote; K = 2: the notes' α
    z = (1 − ε)·e^−α + ε·e^α                                         what the new weights are divided by
    D' = D·e^−α/z where it was right, D·e^α/z where it was wrong     K = 2: D/(2·(1 − ε)) and D/(2·ε)

SAMME's own α is twice this one: halving all votes changes no answer, and keeps one formula for any K. A learning rate
multiplies α. Answers wrong in the end have Σ α·[wrong] ≥ Σ α·[right], so the product of all z bounds their weight.

Weights are integers that add up to about 2^52, so ε is a quotient of whole numbers, the same for any order of rows and
any number of threads. On small tables they are in exact proportion for many rounds, as on paper; where the proportions
need too large numbers, the next weights are rounded to units of 2^-52, and to at least one. After the update (with a
learning rate of 1) the learner's mistakes weigh (K − 1)/K of all, exactly or but for that rounding: a row is off by a
unit at most, in the mistakes and in the sum of all, so n rows by 2n units, and a few for the factors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from treewise import _core

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Classes = npt.NDArray[np.uint8] | npt.NDArray[np.int32]

BITS = 52
LARGEST = 2**32  # sum of whole numbers that are multiplied up in proportion
_FACTORS = 8  # units that rounding the two factors to doubles may cost, at most


@dataclass(frozen=True)
class WeightUpdate:
    """One round, reckoned: the weight of a learner's mistakes among all weight, and what follows.

    >>> two = WeightUpdate(wrong=2, total=12, n_classes=2)
    >>> two.error, round(two.vote, 4), round(two.z, 4), two.factors
    (Fraction(1, 6), 0.8047, 0.7454, (0.6, 3.0))
    """

    wrong: int
    total: int
    n_classes: int
    learning_rate: float = 1.0

    @property
    def error(self) -> Fraction:
        """ε: the share of the weight that the learner gets wrong."""
        return Fraction(self.wrong, self.total)

    @property
    def perfect(self) -> bool:
        """Whether there is no mistake."""
        return self.wrong == 0

    @property
    def no_better_than_chance(self) -> bool:
        """Whether ε ≥ 1 − 1/K: naming classes at random would do as well."""
        return self.wrong * self.n_classes >= self.total * (self.n_classes - 1)

    @property
    def vote(self) -> float:
        """α; infinite without mistakes."""
        if self.perfect:
            return math.inf
        odds = Fraction((self.total - self.wrong) * (self.n_classes - 1), self.wrong)
        return self.learning_rate * math.log1p(odds - 1) / 2

    @property
    def z(self) -> float:
        """What divides the new weights so that they add up to 1; 0 without mistakes."""
        if self.perfect:
            return 0.0
        alpha = self.vote
        return float(1 - self.error) * math.exp(-alpha) + float(self.error) * math.exp(alpha)

    @property
    def factors(self) -> tuple[float, float]:
        """What the weight D of a row is multiplied by: where the learner was right, and where it was wrong."""
        if self.learning_rate == 1.0:
            right = Fraction(self.total, self.n_classes * (self.total - self.wrong))
            wrong = Fraction((self.n_classes - 1) * self.total, self.n_classes * self.wrong)
            return float(right), float(wrong)
        odds = float(Fraction(self.total - self.wrong, self.wrong)) * math.exp(-2 * self.vote)  # right to wrong, then
        return odds / (1 + odds) / float(1 - self.error), 1 / (1 + odds) / float(self.error)


@dataclass(frozen=True, eq=False)
class Distribution:
    """The weights of the rows in a round, D, as integers for the core.

    >>> start = Distribution.of(np.ones(4, np.int64))
    >>> start.shares, start.exact
    (array([0.25, 0.25, 0.25, 0.25]), True)
    >>> truth, said = np.array([0, 0, 1, 1], np.uint8), np.array([0, 0, 1, 0], np.uint8)
    >>> found = start.reckon(truth, said)
    >>> found.error, start.next(truth, said, found).shares.round(6)
    (Fraction(1, 4), array([0.166667, 0.166667, 0.166667, 0.5     ]))
    """

    units: Ints  # of each row
    common: int  # all units are multiples of this, in exact proportion; 0 where they were rounded

    @classmethod
    def of(cls, weight: Ints) -> Distribution:
        """Return D_1: the weights the rows were given, as whole numbers, or equal ones."""
        return _in_proportion(weight) or cls(_rounded(weight.astype(np.float64) * (2.0**BITS / int(weight.sum()))), 0)

    @cached_property
    def total(self) -> int:
        """The sum of all units."""
        return int(self.units.sum())

    @property
    def exact(self) -> bool:
        """Whether the weights are those of exact arithmetic."""
        return self.common > 0

    @property
    def shares(self) -> Floats:
        """D itself: the weight of each row, of 1 in all."""
        found: Floats = self.units / self.total
        return found

    def reckon(
        self, truth: Classes, said: Classes, n_classes: int = 2, learning_rate: float = 1.0, n_jobs: int = 1
    ) -> WeightUpdate:
        """Add up the weight of the rows said wrongly."""
        return WeightUpdate(_core.error_weight(truth, said, self.units, n_jobs), self.total, n_classes, learning_rate)

    def next(self, truth: Classes, said: Classes, reckoning: WeightUpdate, n_jobs: int = 1) -> Distribution:
        """Return the weights of the next round."""
        found = self.multiplied(truth, said, reckoning) if self.exact and reckoning.learning_rate == 1.0 else None
        if found is None:
            scale = 2.0**BITS / reckoning.total
            right, wrong = reckoning.factors
            found = Distribution(_core.reweight(truth, said, self.units, right * scale, wrong * scale, n_jobs), 0)
        if reckoning.learning_rate == 1.0:  # CS221 section 5, 2: the mistakes now weigh one half
            now = found.reckon(truth, said, n_jobs=n_jobs).error
            due = Fraction(reckoning.n_classes - 1, reckoning.n_classes)
            assert abs(now - due) <= (0 if found.exact else Fraction(2 * len(found.units) + _FACTORS, 2**BITS))
        return found

    def multiplied(self, truth: Classes, said: Classes, reckoning: WeightUpdate) -> Distribution | None:
        """Return the next weights in exact proportion, right to wrong as ε to (K − 1)·(1 − ε); None: too large."""
        wrong, right = reckoning.wrong // self.common, (reckoning.total - reckoning.wrong) // self.common
        shared = math.gcd(wrong, (reckoning.n_classes - 1) * right)
        if reckoning.n_classes * right * wrong // shared > 2**62:
            return None
        factors = np.array([wrong // shared, (reckoning.n_classes - 1) * right // shared])
        return _in_proportion(self.units // self.common * factors[(truth != said).astype(np.intp)])


def _in_proportion(weight: Ints) -> Distribution | None:
    """Return whole numbers multiplied up to a sum near 2^52; None where they are too large for that."""
    plain = weight // np.gcd.reduce(weight)
    total = int(plain.sum())
    if total > LARGEST:
        return None
    return Distribution(plain * (2**BITS // total), 2**BITS // total)


def _rounded(units: Floats) -> Ints:
    """Round to whole units; a row's weight never becomes 0."""
    return np.maximum(1, np.rint(units)).astype(np.int64)
