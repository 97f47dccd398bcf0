"""Tests of independence between a column and the target at a node: ``selection="test"``.

Used by ``train/reference.py``; ``src/core/search/independence.hpp`` computes the same numbers. The tests are those of
conditional inference trees (Hothorn, Hornik & Zeileis 2006): given the values of the column and of the target at the
node, the linear statistic T = Σ w·g(x)·h(y)ᵀ is compared with its distribution over all permutations of the target.
Its expectation and covariance are known exactly (Strasser & Weber 1999), and the quadratic form
(T − E)ᵀ Cov⁺ (T − E) is compared with χ². For the g and h used here the form is (n − 1)·R²:

    column                     target     R²                                        degrees of freedom
    number, ordered category   number     squared correlation                       1
    number, ordered category   classes    correlation ratio of x given the class    classes − 1
    category                   number     correlation ratio of y given the level    levels − 1
    category                   classes    Pearson's χ² / n                          (levels − 1)·(classes − 1)

where g and h are the numbers themselves (the positions of ordered levels) or indicators of levels and classes. Rows
whose value is missing or infinite do not take part; levels and classes count if a row that takes part has them.

**Order of the rows.** Numbers are converted to integers relative to their range at the node (``_to_integers``), and all
sums over rows are integers. What remains is a few floating-point operations per level or class in a fixed order, so the
result is the same in any order of the rows, and bit for bit the same in the core. P-values are compared as logarithms;
those that agree to nine digits are ties, decided by the order of the columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from treewise.data import encoding as encode
from treewise.train.chi_square import exp, log_tail
from treewise.train.training_set import TrainingSet

Rows = npt.NDArray[np.int64]
_MAX_BITS = 52  # of a number as an integer: doubles are exact to here
_TOLERANCE = 1e-9  # logarithms of p-values are equal within this share


@dataclass(frozen=True)
class ColumnTest:
    """The test of independence between one column and the target at a node."""

    column: int
    statistic: float = 0.0
    df: int = 0  # degrees of freedom; 0: the column or the target does not vary, so nothing can be tested
    log_p: float = 0.0  # natural logarithm of the p-value

    @property
    def p_value(self) -> float:
        """The p-value, not adjusted for the number of columns; 0 below 5e-324."""
        return exp(self.log_p)

    @property
    def tolerance(self) -> float:
        """The difference of ``log_p`` within which two p-values are equal."""
        return _TOLERANCE * (1.0 - self.log_p)


@dataclass(frozen=True)
class NodeTests:
    """The tests of the columns at a node."""

    tests: Sequence[ColumnTest]  # in the order of the columns, or in that in which they were sampled

    @cached_property
    def tested(self) -> list[ColumnTest]:
        """The columns that could be tested, in their order."""
        return sorted((t for t in self.tests if t.df), key=lambda t: t.column)

    def by_p_value(self, rank: Callable[[int], int] | None = None) -> Iterator[ColumnTest]:
        """Iterate over the tested columns, smallest p-value first; ties by ``rank``, then by the order of the columns.

        The true logarithm lies within the tolerance, so every column that may have the smallest p-value is tied.
        """
        remaining = self.tested[:]
        while remaining:
            smallest_upper_bound = min(t.log_p + t.tolerance for t in remaining)
            tied = [t for t in remaining if t.log_p - t.tolerance <= smallest_upper_bound]
            yield (first := min(tied, key=lambda t: (rank(t.column) if rank else 0, t.column)))
            remaining.remove(first)

    def adjusted(self, test: ColumnTest) -> float:
        """Return the p-value adjusted for the number m of columns tested: 1 − (1 − p)^m.

        Šidák's form of Bonferroni's adjustment, which partykit calls Bonferroni, too.

        >>> NodeTests([ColumnTest(0, 0.0, 1), ColumnTest(1, 0.0, 1)]).adjusted(ColumnTest(0, 3.84, 1, math.log(0.05)))
        0.0975
        """
        # As "p or q" = p + (1 − p)·q, doubling the number of terms: 1 − p would lose a p-value below 1e-16.
        adjusted, power, m = 0.0, test.p_value, len(self.tested)
        while m:
            adjusted += (1.0 - adjusted) * power if m & 1 else 0.0
            power += (1.0 - power) * power
            m >>= 1
        return adjusted

    @cached_property
    def p_value(self) -> float:
        """The smallest adjusted p-value, by which the node is split or not; NaN if no column could be tested."""
        return self.adjusted(min(self.tested, key=lambda t: t.log_p)) if self.tested else math.nan


def compute_test(training_set: TrainingSet, column: int, rows: Rows) -> ColumnTest:
    """Test whether a column and the target are independent at a node; ``training_set`` is at the node's scale."""
    bits = _bits_for(int(training_set.weight[rows].sum()))
    classes = training_set.target.task == "classification"
    y = training_set.y[rows].tolist() if classes else _to_integers(training_set.y[rows].tolist(), bits)
    encoding, values = training_set.encodings[column], training_set.columns[column][rows]
    takes_part = ~encode.is_missing(encoding, values)
    if encoding.kind == "number":
        takes_part &= np.isfinite(values)
    x, w = values[takes_part].tolist(), training_set.weight[rows][takes_part].tolist()
    y = [value for value, is_used in zip(y, takes_part, strict=True) if is_used]
    if len(set(x)) < 2 or len(set(y)) < 2:
        return ColumnTest(column)
    if encoding.kind in ("nominal", "boolean"):
        r2, df = _pearson(x, y, w) if classes else _correlation_ratio(x, y, w)
    else:
        x = _to_integers(x, bits)
        r2, df = _correlation_ratio(y, x, w) if classes else (_squared_correlation(x, y, w), 1)
    observations = float(sum(w)) / training_set.observation_weight
    statistic = max(observations - 1.0, 0.0) * r2
    return ColumnTest(column, statistic, df, log_tail(statistic, df))


# -- numbers as integers ----------------------------------------------------------------------------------------------


def _bits_for(weight: int) -> int:
    """Return the bits of a number such that Σ w·x·y fits 126 bits; at least 36, since weights sum to less than 2^53."""
    return min(_MAX_BITS, (126 - weight.bit_length()) // 2)


def _to_integers(values: Sequence[float] | Sequence[int], bits: int) -> list[int]:
    """Convert numbers to integers of ``bits`` bits, relative to the smallest, in units of a power of two.

    Whole numbers and other numbers on a grid stay exact if their range has fewer bits.

    >>> _to_integers([3, 6, 4], 4), _to_integers([0.5, 1.25, 0.75], 4)
    ([0, 12, 4], [0, 12, 4])
    """
    low, high = min(values), max(values)
    if isinstance(low, int):
        shift = bits - int(high - low).bit_length()
        return [(value - low) << shift if shift > 0 else (value - low) >> -shift for value in map(int, values)]
    halved = 0.5 if math.isinf(high - low) else 1.0  # a range beyond the largest double
    scale = bits - math.frexp(high * halved - low * halved)[1]
    return [round(math.ldexp(value * halved - low * halved, scale)) for value in values]


# -- R² ---------------------------------------------------------------------------------------------------------------


def _squared_correlation(x: Sequence[int], y: Sequence[int], w: Sequence[int]) -> float:
    """Return the squared correlation of two numbers: C² / (S_x·S_y)."""
    weight = sum(w)
    x_mean, y_mean = _floor_mean(x, w), _floor_mean(y, w)
    x_rest = sum(k * (a - x_mean) for k, a in zip(w, x, strict=True))
    y_rest = sum(k * (b - y_mean) for k, b in zip(w, y, strict=True))
    products = sum(k * (a - x_mean) * (b - y_mean) for k, a, b in zip(w, x, y, strict=True))
    covariance = float(products) - float(x_rest) * float(y_rest) / float(weight)
    return (covariance / _sum_of_squares(x, w)) * (covariance / _sum_of_squares(y, w))


def _correlation_ratio(groups: Sequence[int], x: Sequence[int], w: Sequence[int]) -> tuple[float, int]:
    """Return the share of the sum of squares of x that is between the groups, and the number of groups − 1."""
    mean = _floor_mean(x, w)
    sums: dict[int, int] = dict.fromkeys(sorted(set(groups)), 0)
    weights = sums.copy()
    for group, value, k in zip(groups, x, w, strict=True):
        sums[group] += k * (value - mean)
        weights[group] += k
    remaining = float(sum(sums.values()))
    between = _add(float(sums[g]) * float(sums[g]) / float(weights[g]) for g in sums)
    between -= remaining * remaining / float(sum(w))
    return max(between, 0.0) / _sum_of_squares(x, w), len(sums) - 1


def _sum_of_squares(x: Sequence[int], w: Sequence[int]) -> float:
    """Return Σ w·x² about the mean."""
    mean = _floor_mean(x, w)
    remaining = float(sum(k * (value - mean) for k, value in zip(w, x, strict=True)))
    squares = sum(k * (value - mean) ** 2 for k, value in zip(w, x, strict=True))
    return float(squares) - remaining * remaining / float(sum(w))


def _floor_mean(x: Sequence[int], w: Sequence[int]) -> int:
    """Return the mean rounded down: sums about it are exact integers, and small enough to be doubles later."""
    return sum(k * value for k, value in zip(w, x, strict=True)) // sum(w)


def _pearson(levels: Sequence[int], y: Sequence[int], w: Sequence[int]) -> tuple[float, int]:
    """Return Pearson's χ² / n of the table of levels and classes, and its degrees of freedom.

    A cell with n_jk of the expected n_j·n_k/n contributes (n_jk·n − n_j·n_k)² / (n_j·n_k), in units of n²; the empty
    cells of a level together n_j·Σ n_k. All terms are positive: nothing cancels.
    """
    cells: dict[int, dict[int, int]] = {}
    class_weights: dict[int, int] = {}
    for level, cls, k in zip(levels, y, w, strict=True):
        row = cells.setdefault(level, {})
        row[cls] = row.get(cls, 0) + k
        class_weights[cls] = class_weights.get(cls, 0) + k
    total, squares = sum(w), 0.0
    for level in sorted(cells):
        row = cells[level]
        level_weight = sum(row.values())
        empty = total - sum(class_weights[cls] for cls in row)
        term = float(level_weight) * float(empty)
        for cls in sorted(row):
            excess = float(row[cls] * total - level_weight * class_weights[cls])
            term += (excess / float(level_weight)) * (excess / float(class_weights[cls]))
        squares += term
    return squares / (float(total) * float(total)), (len(cells) - 1) * (len(class_weights) - 1)


def _add(terms: Iterable[float]) -> float:
    """Add from left to right, without the compensation of ``sum``."""
    total = 0.0
    for term in terms:
        total += term
    return total
