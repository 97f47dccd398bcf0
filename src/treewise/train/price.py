"""The price of a split under ``selection="priced"``: the bits that describe it among the splits of its column.

Used by ``train/reference.py``. The best of many tests gains something by chance alone: two levels can be separated in
one way, fifty in 2^49 - 1. A split therefore competes by its gain less its price (``naming_bits``, beyond
``FREE_BITS``; a multiway split also pays for its predictions). For that its gain is expressed in bits of likelihood
(``NodePrice``):

    entropy                 the gain itself
    gini, error             the node's whole impurity is worth the bits of its entropy, a gain its share of them
    squared_error           n/2·log2(impurity before / after), the likelihood ratio of normal distributions
    absolute_error          n·log2(impurity before / after), the likelihood ratio of Laplace distributions
    poisson                 the gain itself, in bits

n is the number of rows: a row counts as one observation of the node's mean weight, so multiplying all weights by a
constant changes nothing. Scores stay in the units of the criterion, as integers; the core
(``src/core/criteria/price.hpp``) performs the same integer steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from treewise.train.criteria import FRACTION_BITS, Criterion, NodeImpurity, RowStats, nlogn

if TYPE_CHECKING:
    from treewise.train.candidates import Rows
    from treewise.train.training_set import TrainingSet

FREE_BITS = 4  # of every test: about what the best threshold of a number gains by chance (benchmarks/selection.py)
# In columns of more levels than this, levels with fewer than ``min_level_rows`` rows at a node are pooled, except where
# the order of the levels is used.
FEW_LEVELS = 10
POOLED_KINDS = ("one_value", "subset", "multiway")

_MOST_BITS_PER_ROW = 8  # charged at most, so that prices fit the core's integers
_LARGEST = 1 << 125  # likewise, the largest price
_LARGEST_SHARE = 64 << FRACTION_BITS  # likewise, of the node's impurity


def naming_bits(kind: str, n_levels: int, classes: int) -> int:
    """Return the bits that a test pays: what it takes to name it beyond its column, less FREE_BITS.

    ``n_levels`` is the number of levels that the test tells apart (levels pooled as rare count as one), ``classes`` the
    number of classes at the node, 0 for regression. A set says of each level but one whether it is on the same side. A
    multiway split makes n_levels − 2 more predictions than a test with two answers, of classes − 1 shares or one mean
    each. Thresholds, cuts of ordered levels, tests of one value and presence tests are free.

    >>> naming_bits("subset", 50, classes=2), naming_bits("subset", 5, classes=2), naming_bits("one_value", 50, 2)
    (45, 0, 0)
    """
    bits = 0
    if kind == "subset":
        bits = n_levels - 1
    elif kind == "multiway":
        bits = (n_levels - 2) * max(1, classes - 1)
    return max(0, bits - FREE_BITS)


@dataclass(frozen=True, eq=False)
class NodePrice:
    """Converts between the bits of a test and the scores of a node."""

    criterion: Criterion
    measure: NodeImpurity
    node: RowStats
    impurity: int  # total impurity of the node in the measure's units, nothing left out
    target_scale: int

    @classmethod
    def of(
        cls,
        training_set: TrainingSet,
        rows: Rows,
        node: RowStats,
        measure: NodeImpurity,
        sum_of_squares: int | None = None,
    ) -> NodePrice:
        """Return the prices of the node with these rows; ``sum_of_squares`` is about their mean, if it is known."""
        impurity = measure.total_impurity(node)
        if training_set.criterion.likelihood == "normal":
            squares = _sum_of_squares(training_set, rows, node) if sum_of_squares is None else sum_of_squares
            exponent = 2 * (deviation_shift(node) - measure.shift) + measure.fraction_bits
            impurity += squares << exponent if exponent >= 0 else squares >> -exponent
        return cls(training_set.criterion, measure, node, impurity, training_set.target_scale)

    def subtract(self, gain: int, tolerance: int, bits: int) -> tuple[int, int]:
        """Return the score of a gain less the price, and its tolerance."""
        if self.criterion.likelihood in ("normal", "laplace"):
            # Bits are logarithms of the impurity that is left, so a price multiplies it.
            left = max(0, self.impurity - gain)
            return gain - (left * (self._factor(bits) - (1 << FRACTION_BITS)) >> FRACTION_BITS), 4 * tolerance + (
                tolerance > 0
            )
        return gain - self._price(bits), tolerance

    def bits_gained(self, gain: int) -> float:
        """Return a gain in bits of likelihood, for display."""
        rows, weight = self.node.rows, self.node.weight
        match self.criterion.likelihood:
            case "normal" | "laplace":
                left = self.impurity - gain
                degree = 0.5 if self.criterion.likelihood == "normal" else 1.0
                return degree * rows * (math.log2(self.impurity) - math.log2(left)) if left > 0 else math.inf
            case "poisson":
                return math.ldexp(gain / weight * rows, -FRACTION_BITS - self._poisson_shift)
        return float(gain) / float(self.impurity) * self._entropy / weight * rows * 2.0**-FRACTION_BITS

    @cached_property
    def _entropy(self) -> int:
        """The node's total entropy in units of 2^-61."""
        return nlogn(self.node.weight) - sum(map(nlogn, self.node.counts))

    @property
    def _poisson_shift(self) -> int:
        """A price in bits becomes one in units of the gain by a shift of this many places to the left."""
        return self.target_scale - self.measure.shift

    def _price(self, bits: int) -> int:
        """Return the price that is subtracted from a gain, in its units."""
        bits = min(bits, _MOST_BITS_PER_ROW * self.node.rows)
        weighted = bits * ((self.node.weight << FRACTION_BITS) // self.node.rows)
        if self.criterion.likelihood == "poisson":
            shift = self._poisson_shift
            return min(weighted << shift if shift >= 0 else weighted >> -shift, _LARGEST)
        if self.criterion.name == "entropy":
            return weighted
        share = min((weighted << FRACTION_BITS) // self._entropy, _LARGEST_SHARE)
        return self.impurity * share >> FRACTION_BITS

    def _factor(self, bits: int) -> int:
        """Return what the impurity that is left is multiplied by, in units of 2^-61; below 4."""
        return exp2_fixed((2 if self.criterion.likelihood == "normal" else 1) * bits, self.node.rows)


def deviation_shift(node: RowStats) -> int:
    """Return the bits that are cut off deviations from a node's mean, so that their weighted squares fit 126 bits."""
    return max(0, (node.high - node.low + 1).bit_length() - (126 - node.weight.bit_length()) // 2)


def _sum_of_squares(training_set: TrainingSet, rows: Rows, node: RowStats) -> int:
    """Return Σ w·(y − mean)², which squared error leaves out of its totals, of truncated deviations."""
    mean, shift = node.target_sum // node.weight, deviation_shift(node)
    targets, weights = training_set.y[rows].tolist(), training_set.weight[rows].tolist()
    squares: int = sum(w * ((y - mean) >> shift) ** 2 for y, w in zip(targets, weights, strict=True))
    return squares


@lru_cache(maxsize=1 << 12)
def exp2_fixed(numerator: int, denominator: int) -> int:
    """Return 2^(numerator / denominator), below 4, in units of 2^-61, by the same integer steps as the core.

    The exponent is cut into its bits, and the powers 2^(1/2), 2^(1/4), … of those that are set are multiplied.

    >>> exp2_fixed(1, 1) == 2 << FRACTION_BITS, round(exp2_fixed(1, 2) / 2**FRACTION_BITS, 12)
    (True, 1.414213562373)
    """
    exponent, remainder = divmod(numerator, denominator)
    fraction = (remainder << FRACTION_BITS) // denominator
    product = 1 << (FRACTION_BITS + 1)
    for power_number, power in enumerate(_ROOTS_OF_TWO, start=1):
        if fraction >> (FRACTION_BITS - power_number) & 1:
            product = (product * power) >> (FRACTION_BITS + 1)
    return (product << exponent) >> 1


def _roots_of_two() -> tuple[int, ...]:
    """Return 2^(1/2), 2^(1/4), … in units of 2^-62, rounded down."""
    roots = [2 << (FRACTION_BITS + 1)]
    for _ in range(FRACTION_BITS):
        roots.append(math.isqrt(roots[-1] << (FRACTION_BITS + 1)))
    return tuple(root for _, root in pairwise(roots))


_ROOTS_OF_TWO = _roots_of_two()
