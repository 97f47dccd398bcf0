"""The target in queries: its classes, or exact sums of its integers, by the arithmetic that every engine has.

A regression target y·2^scale has up to 61 bits, more than sums of doubles keep, and not every engine adds integers of
128 bits. So a target is cut into digits, whole numbers in doubles by multiplications with powers of two and ``floor``,
which are exact everywhere; sums of digits fit 64 bits, and are put together here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from treewise.data import relation as expr
from treewise.data.relation import LazyColumn
from treewise.train.source import Ints, Pair, Stats, TrainingSummary

_DIGIT = 31  # bits of the lower digit of a target
_WIDEST = 1000  # exponents of powers of two that are doubles

Values = Mapping[str, Any]  # fetched columns


@dataclass(frozen=True, eq=False)
class QueriedTarget:
    """The target and the weight of a row as expressions, and what fetched values mean."""

    cell: LazyColumn
    weight: Any | None = None  # an expression; None: every row has weight 1
    class_of: Mapping[Any, int] = field(default_factory=dict)
    integer_weight_of: Mapping[Pair, int] = field(default_factory=dict)
    scale: int = 0
    is_rounded: bool = False
    n_rows: int = 0
    shift: int | None = None  # of deviations in bounds; None: they are not added up
    base: float = 0.0  # what is subtracted from them

    def with_deviations(self, summary: TrainingSummary) -> QueriedTarget:
        """Return the target with the deviations that bounds are made from."""
        shift = summary.deviation_scale[1]
        return replace(self, shift=shift, base=float(summary.low >> shift))

    def with_class_numbers(self) -> QueriedTarget:
        """Return the target with the numbers of classes instead of labels."""
        *cases, (_, last) = ((self.cell.value == label, number) for label, number in self.class_of.items())
        cell = replace(self.cell, value=expr.choose(cases, last))
        return replace(self, cell=cell, class_of={number: number for number in self.class_of.values()})

    @property
    def is_class(self) -> bool:
        """Whether the target is a class."""
        return bool(self.class_of)

    # -- statistics of groups ----------------------------------------------------------------------------------------

    @property
    def keys(self) -> dict[str, Any]:
        """The grouping keys besides the bin: the class, and the weight as given."""
        keys = {"target": self.cell.value} if self.is_class else {}
        return keys if self.weight is None else {**keys, "weight": self.weight}

    @property
    def values(self) -> dict[str, Any]:
        """The target of regression as given."""
        return {} if self.is_class else {"given": self.cell.as_float}

    @property
    def steps(self) -> list[dict[str, Any]]:
        """Derived columns, step by step: the integer target in a double, its digits, its deviation in bounds."""
        if self.is_class:
            return []
        target, high = expr.col("target"), expr.col("high_digit")
        steps = [
            {"target": times_power_of_two(expr.col("given"), self.scale)},
            *([{"target": _round(target, expr.col("given"))}] if self.is_rounded else ()),
            {"high_digit": (target * 2.0**-_DIGIT).floor()},
            {"low_digit": target - high * 2.0**_DIGIT},
            {"high_part": expr.to_int(high), "low_part": expr.to_int(expr.col("low_digit"))},
        ]
        if self.shift is not None:
            steps.append({"deviation": expr.to_int((target * 2.0**-self.shift).floor() - self.base)})
            steps.append({"square": expr.col("deviation") * expr.col("deviation")})
        return steps

    @property
    def sums(self) -> dict[str, Any]:
        """The aggregates of a group."""
        return expr.count_and_sum(self.summed)

    @property
    def summed(self) -> tuple[str, ...]:
        """What is added up in each group: whole numbers, by the names of ``steps``."""
        if self.is_class:
            return ()
        return ("high_part", "low_part", *(() if self.shift is None else ("deviation", "square")))

    def stats(self, fetched: Values, n_classes: int) -> Stats:
        """Return the statistics of fetched groups."""
        rows = np.asarray(fetched["rows"]).astype(np.int64)
        classes, row_weight = self.classes_and_weights(fetched, len(rows))
        weight = rows * row_weight
        counts = np.zeros((len(rows), n_classes), np.int64)
        if self.is_class:
            counts[np.arange(len(rows)), classes] = weight
            return Stats.of(rows, weight, counts)
        high, low, *bounds = (np.asarray(fetched[f"{name}_sum"]).astype(np.int64) for name in self.summed)
        target_sum = (high.astype(object) * 2**_DIGIT + low.astype(object)) * row_weight
        named = {name: part * row_weight for name, part in zip(("deviations", "squares"), bounds, strict=False)}
        return Stats.of(rows, weight, counts, target_sum=target_sum, **named)

    def classes_and_weights(self, fetched: Values, n: int) -> tuple[Ints, Ints]:
        """Return the class number and the integer weight of a row, for each fetched group."""
        classes = np.zeros(n, np.int64)
        if self.is_class:
            classes = np.fromiter(map(self.class_of.__getitem__, fetched["target"]), np.int64, n)
        given = np.ones(n) if self.weight is None else np.asarray(fetched["weight"], np.float64)
        distinct, position = np.unique(given, return_inverse=True)
        weights = np.zeros((max(1, len(self.class_of)), len(distinct)), np.int64)
        for k, weight in set(zip(classes.tolist(), position.tolist(), strict=True)):
            weights[k, weight] = self.integer_weight_of[k, float(distinct[weight])]
        return classes, weights[classes, position]

    # -- moments about the mean of a node ----------------------------------------------------------------------------

    @cached_property
    def _digits(self) -> tuple[int, list[tuple[str, int]]]:
        """The bits of a digit of a deviation, so that sums of products fit 63 bits; and all digits: part and number."""
        bits = (62 - self.n_rows.bit_length()) // 2
        numbers = {"lower": -(-_DIGIT // bits), "upper": -(-(_DIGIT + 2) // bits)}
        return bits, [(part, i) for part, n in numbers.items() for i in range(n)]

    def deviation_digits(self, centres: Sequence[tuple[Any, int, int]]) -> list[dict[str, Any]]:
        """Return steps to the digits of (y − mean) >> shift, where a condition holds: (condition, mean, shift).

        The deviation is upper·2^31 + lower with 0 <= lower < 2^31, and each of the two is shifted and cut into digits.
        """
        lower, upper, carry = expr.col("lower"), expr.col("upper"), expr.col("carry")
        part, size = 2.0**-_DIGIT, 2.0**_DIGIT
        of_mean = [(where, float(mean >> _DIGIT), float(mean & (2**_DIGIT - 1))) for where, mean, _ in centres]
        up = [(where, 2.0 ** min(0, _DIGIT - shift)) for where, _, shift in centres]
        down = [(where, 2.0**-shift if shift <= _DIGIT else 0.0) for where, _, shift in centres]
        steps = [
            {
                "upper": expr.col("high_digit") - expr.choose([(where, high) for where, high, _ in of_mean], 0.0),
                "lower": expr.col("low_digit") - expr.choose([(where, low) for where, _, low in of_mean], 0.0),
            },
            {"carry": (lower * part).floor()},
            {"upper": upper + carry, "lower": lower - carry * size},
            {"upper": (upper * expr.choose(up, 1.0)).floor(), "lower": (lower * expr.choose(down, 1.0)).floor()},
        ]
        bits, digits = self._digits
        for name, i in digits:
            if (name, i + 1) in digits:
                steps.append({"rest": (expr.col(name) * 2.0**-bits).floor()})
                steps.append({f"{name}_{i}": expr.to_int(expr.col(name) - expr.col("rest") * 2.0**bits)})
                steps.append({name: expr.col("rest")})
            else:
                steps.append({f"{name}_{i}": expr.to_int(expr.col(name))})
        return steps

    @property
    def digit_sums(self) -> dict[str, Any]:
        """The aggregates that make sums of deviations and of their squares."""
        names = [f"{name}_{i}" for name, i in self._digits[1]]
        sums = {f"sum_{name}": expr.to_int(expr.col(name).sum()) for name in names}
        for a, b in combinations_with_replacement(names, 2):
            sums[f"sum_{a}_{b}"] = expr.to_int((expr.col(a) * expr.col(b)).sum())
        return sums

    def moments(self, fetched: Values, row: int, shift: int) -> tuple[int, int]:
        """Return Σ d and Σ d² of a fetched group, of deviations that were shifted."""
        bits, digits = self._digits
        exponents = {f"{name}_{i}": bits * i + (max(0, _DIGIT - shift) if name == "upper" else 0) for name, i in digits}
        total = sum(int(fetched[f"sum_{name}"][row]) << exponent for name, exponent in exponents.items())
        squares = sum(
            (int(fetched[f"sum_{a}_{b}"][row]) * (1 if a == b else 2)) << (exponents[a] + exponents[b])
            for a, b in combinations_with_replacement(exponents, 2)
        )
        return total, squares


def _round(scaled: Any, given: Any) -> Any:
    """Return numbers rounded half to even, but those that are not 0 not to 0 (``fixed_point.to_units``)."""
    down = scaled.floor()
    rest, half = scaled - down, down * 0.5
    is_odd = half != half.floor()
    rounded = expr.choose([((rest > 0.5) | ((rest == 0.5) & is_odd), down + 1.0)], down)
    is_lost = rounded == 0.0
    return expr.choose([(is_lost & (given < 0.0), -1.0), (is_lost & (given > 0.0), 1.0)], rounded)


def times_power_of_two(expression: Any, exponent: int) -> Any:
    """Return an expression times 2^exponent, in steps that are doubles."""
    while exponent > _WIDEST:
        expression, exponent = expression * 2.0**_WIDEST, exponent - _WIDEST
    return expression * 2.0**exponent if exponent else expression
