"""The integers of an optimal tree: columns as orders of their values, costs of leaves, and splits back from cuts.

Between a training set and the search (``specification.py`` and the core), which know neither kinds of columns nor
missing values. An ``Order`` gives each row a rank; a cut sends rank <= t to the left:

    number, ordered category   one order; with missing values two, which put these lowest or highest
    x = level, x in {…}        an order of two ranks; with missing values two, with these on either side
    x missing                  for categories, an order of two ranks; for numbers a cut of the orders above

Weights, costs and targets become integers whose unit is so fine that the search is exact in them; ``value`` converts
back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import check_choice, check_integer, check_number, decimal_fraction
from treewise._lib.text import format_rounded, safe
from treewise.data import encoding as encode
from treewise.errors import Param, ParameterError, join_few
from treewise.predict.costs import CostMatrix
from treewise.train.criteria import FRACTION_BITS, log2_fixed
from treewise.train.optimal.specification import MAX_SUBSET_LEVELS
from treewise.train.training_set import TrainingSet
from treewise.tree.splits import OneValue, Ordinal, Presence, Split, Subset, Threshold, midpoint, midpoint_int

Ints = npt.NDArray[np.int64]

OBJECTIVES = ("error", "cost", "squared_error", "entropy", "gini")
MAX_CLASSES, _MAX_DEPTH, _MAX_LEAVES = 64, 60, 1 << 20
_COST_BITS = 60  # of the total cost of the table
_LEAST_RATIO = 10**6  # of a cost to what rounding changes in it
_WEIGHT_BITS, _TARGET_BITS, _PENALTY_BITS, _IMPURITY_BITS = 40, 20, 20, 40


@dataclass(frozen=True)
class Order:
    """A column as the search sees it; ``left`` are the levels of rank 0 where there are two ranks."""

    column: int
    kind: str  # threshold, ordinal, subset (one_value too) or presence
    missing: int  # the branch of missing values
    left: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class OptimalProblem:
    """A training set with its orders, integer costs and limits."""

    training_set: TrainingSet
    objective: str
    max_depth: int
    max_leaf_nodes: int
    orders: tuple[Order, ...]
    ranks: npt.NDArray[np.int32]  # order by order
    target: Ints
    weight: Ints
    cost: tuple[int, ...]  # error and cost: true class by predicted class
    shift: int
    scale: int
    penalty: int  # per leaf
    cost_unit: Fraction  # what the costs of mistakes are multiplied by to be whole
    unit: Fraction  # what a cost of 1 (of rows, before ``scale``) adds to the objective
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        training_set: TrainingSet,
        objective: str,
        max_depth: int | None,
        max_leaf_nodes: int | None,
        penalty: float,
        columns: Sequence[int] | None = None,
    ) -> OptimalProblem:
        """Prepare the search on a training set; ``columns`` are those that may be tested, by default all."""
        check_limits(max_depth, max_leaf_nodes, penalty)
        check_objective(objective, training_set)
        depth = min(
            _MAX_DEPTH, *(limit for limit in (max_depth, max_leaf_nodes and max_leaf_nodes - 1) if limit is not None)
        )
        leaves = min(max_leaf_nodes or _MAX_LEAVES, _MAX_LEAVES, 1 << min(depth, 20))
        allowed = range(len(training_set.columns)) if columns is None else columns
        listed = [(order, rank) for i in allowed for order, rank in list_orders(training_set, i)]
        ranks = np.array([rank for _, rank in listed], np.int32).reshape(len(listed), len(training_set))
        costs = _integer_costs(training_set, objective)
        scale, leaf_penalty = _scale_penalty(decimal_fraction(penalty), costs["unit"], costs["total"])
        costs.pop("total")
        return cls(
            training_set, objective, depth, leaves, tuple(order for order, _ in listed), ranks,
            scale=scale, penalty=leaf_penalty, **costs,
        )  # fmt: skip

    def value(self, cost: int) -> float:
        """Return an integer objective as the mean per weight that is reported."""
        return float(cost * self.unit / self.scale)

    @property
    def family(self) -> str:
        """Which trees are compared, as the end of "no tree": "" unless some tests are left out."""
        tested, words = {order.column for order in self.orders}, []
        unsearched = [i for i in unsearched_columns(self.training_set) if i in tested]
        for kind, ending in (
            ("one_value", "compares one level of {} with the others"),
            ("ordinal", "cuts {} in order"),
        ):
            names = [i for i in unsearched if self.training_set.split_kinds[i][0] == kind]
            if names:
                words.append(ending.format(join_few([safe(self.training_set.encodings[i].name) for i in names])))
        return f" that {' and '.join(words)}" if words else ""

    def leaf_cost(self, rows: Ints) -> int:
        """Return what a leaf with these rows costs, without the penalty: as the core (costs.hpp), in Python."""
        weight, target = self.weight[rows].tolist(), self.target[rows].tolist()
        if not weight:
            return 0
        total = sum(weight)
        if self.objective == "squared_error":
            first = sum(w * y for w, y in zip(weight, target, strict=True))
            second = sum(w * y * y for w, y in zip(weight, target, strict=True))
            return int((Fraction(second) - Fraction(first * first, total)).__floor__() >> self.shift) * self.scale
        counts = [0] * self.n_classes
        for w, y in zip(weight, target, strict=True):
            counts[y] += w
        if self.objective in ("error", "cost"):
            k = self.n_classes
            return self.scale * min(sum(n * self.cost[y * k + p] for y, n in enumerate(counts)) for p in range(k))
        if self.objective == "gini":
            exact: int = ((total * total - sum(n * n for n in counts)) << _IMPURITY_BITS) // total
            return (exact >> self.shift) * self.scale
        bits: int = log2_fixed(total) * total - sum(n * log2_fixed(n) for n in counts if n)
        return (max(bits, 0) >> (FRACTION_BITS - _IMPURITY_BITS + self.shift)) * self.scale

    def tree_cost(self, leaves: Ints) -> int:
        """Return the objective of a tree, given the leaf of each row."""
        order = np.argsort(leaves, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(leaves[order])) + 1)
        return sum(self.leaf_cost(part) + self.penalty for part in parts)

    @cached_property
    def n_classes(self) -> int:
        """The number of classes; 0 for numbers."""
        return len(self.training_set.target.classes)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the core."""
        return {
            "ranks": np.ascontiguousarray(self.ranks),
            "target": self.target,
            "weight": self.weight,
            "objective": "linear" if self.objective in ("error", "cost") else self.objective,
            "n_classes": self.n_classes,
            "cost": list(self.cost),
            "shift": self.shift,
            "scale": self.scale,
            "penalty": self.penalty,
            "max_depth": self.max_depth,
            "max_leaves": self.max_leaf_nodes,
        }

    # -- splits --------------------------------------------------------------------------------------------------------

    def split_rows(self, order: int, rank: int, rows: Ints) -> tuple[Split, Ints, Ints]:
        """Return the split of a cut at a node, and the rows of its two branches."""
        is_left = self.ranks[order][rows] <= rank
        left, right = rows[is_left], rows[~is_left]
        own, training_set = self.orders[order], self.training_set
        encoding, values = training_set.encodings[own.column], training_set.columns[own.column]
        is_missing = encode.is_missing(encoding, values[rows])
        sides = [values[side][~encode.is_missing(encoding, values[side])] for side in (left, right)]
        name, swaps = encoding.name, False
        missing = own.missing
        if not is_missing.any():
            missing = int(training_set.weight[left].sum() < training_set.weight[right].sum())
        if not len(sides[0]) or not len(sides[1]):  # a presence test: present values first where they have an order
            first = 1 if own.kind in ("threshold", "ordinal") else 0
            split: Split = Presence(name, missing=first)
            swaps = (len(sides[0]) == 0) != (first == 0)
        elif own.kind == "threshold":
            low, high = sides[0].max().item(), sides[1].min().item()
            cut = midpoint(low, high) if encoding.kind == "number" else midpoint_int(low, high)
            split = Threshold(name, cut, missing=missing)
        elif own.kind == "ordinal":
            split = Ordinal(name, encoding.levels[int(sides[0].max())], missing=missing)
        else:
            codes = [np.unique(side).tolist() for side in sides]
            swaps = bool(own.kind == "subset" and training_set.weight[right].sum() < training_set.weight[left].sum())
            levels = tuple(encoding.levels[code] for code in codes[swaps])
            missing = 1 - missing if swaps else missing
            split = (
                OneValue(name, levels[0], missing=missing)
                if len(levels) == 1
                else Subset(name, levels, missing=missing)
            )
        return (split, right, left) if swaps else (split, left, right)

    def mask_of(self, order: int, rank: int) -> int:
        """Return the rows that a cut sends left, as bits (``specification.py``)."""
        return sum(1 << row for row in np.flatnonzero(self.ranks[order] <= rank).tolist())


def check_limits(max_depth: Any, max_leaf_nodes: Any, penalty: Any) -> None:
    """Check the limits; one of the first two is needed."""
    if max_depth is None and max_leaf_nodes is None:
        raise ParameterError(
            "must be given, or " + Param("max_leaf_nodes", ...) + ": the best tree is that of a size.",
            parameter="max_depth",
        )
    if max_depth is not None:
        check_integer("max_depth", max_depth, minimum=0)
    if max_leaf_nodes is not None:
        check_integer("max_leaf_nodes", max_leaf_nodes, minimum=1)
    check_number("penalty", penalty, 0.0, math.inf)


def check_objective(objective: str, training_set: TrainingSet) -> None:
    """Check that an objective suits the target."""
    check_choice("objective", objective, OBJECTIVES)
    is_regression = training_set.target.task == "regression"
    if is_regression != (objective == "squared_error"):
        raise ParameterError(
            "is for numbers." if objective == "squared_error" else "is for classes, and the target is a number.",
            parameter="objective",
            value=objective,
        )
    if objective == "cost" and training_set.fit_options.cost is None:
        raise ParameterError(
            "needs the costs of mistakes.",
            parameter="objective",
            value=objective,
            hint='Give cost={"bad": {"good": 5}}.',
        )
    if len(training_set.target.classes) > MAX_CLASSES:
        raise ParameterError(
            f"there are {len(training_set.target.classes)} classes; at most {MAX_CLASSES} can be searched."
        )


# -- orders ------------------------------------------------------------------------------------------------------------


def with_searchable_splits(training_set: TrainingSet) -> TrainingSet:
    """Return the training set with two-way tests only, and the sets of columns with many levels not searched.

    The first kind of a column is searched. Others follow where they make tests that the search leaves out: greedy
    growth may take these too.
    """
    splits, notes = [], []
    for encoding, kinds in zip(training_set.encodings, training_set.split_kinds, strict=True):
        kind = kinds[0]
        if "multiway" in kinds and len(kinds) == 1:
            raise ParameterError(
                "optimal trees have two branches at a node.", parameter="categorical", value="multiway",
                hint="Use one_value, subset or ordinal.",
            )  # fmt: skip
        if kind == "subset" and len(encoding.levels) > MAX_SUBSET_LEVELS:
            kinds = ("one_value", "subset")
            notes.append(
                f"{safe(encoding.name)}: {len(encoding.levels)} levels have too many sets to try all of them; "
                "one level is compared with the others"
            )
        splits.append(tuple(kind for kind in kinds if kind != "multiway"))
    if training_set.settings.missing == "branch":
        raise ParameterError("optimal trees have two branches at a node.", parameter="missing", value="branch")
    return replace(training_set, split_kinds=tuple(splits), notes=(*training_set.notes, *notes))


def unsearched_columns(training_set: TrainingSet) -> list[int]:
    """Return the columns of a searchable training set that may be divided in ways that the search leaves out."""
    return [i for i, kinds in enumerate(training_set.split_kinds) if len(kinds) > 1]


def list_orders(training_set: TrainingSet, column: int) -> Iterator[tuple[Order, npt.NDArray[np.int32]]]:
    """Yield the orders of a column with their ranks; none of a column that tells no rows apart."""
    encoding, values, kind = (
        training_set.encodings[column],
        training_set.columns[column],
        training_set.split_kinds[column][0],
    )
    is_missing = encode.is_missing(encoding, values)
    has_missing = bool(is_missing.any())
    distinct, inverse = np.unique(values[~is_missing], return_inverse=True)
    code = np.zeros(len(values), np.int32)
    code[~is_missing] = inverse
    if not len(distinct) or len(distinct) + has_missing < 2:
        return
    if kind in ("threshold", "ordinal"):
        for branch in (0, 1) if has_missing else (0,):
            shift = int(has_missing and branch == 0)  # missing values have rank 0, or the last one
            rank = np.where(is_missing, 0 if branch == 0 else len(distinct), code + shift)
            yield Order(column, kind, branch), rank.astype(np.int32)
        return
    present = [int(c) for c in distinct]
    if kind == "one_value":
        sets: list[tuple[int, ...]] = [(i,) for i in range(len(present))] if len(present) > 1 else []
    else:
        rest = range(1, len(present))
        sets = [chosen for size in range(1, len(present)) for chosen in combinations(rest, size)]
    for chosen in sets:
        is_left = np.isin(code, chosen) & ~is_missing
        left = tuple(present[i] for i in chosen)
        if has_missing:
            yield Order(column, kind, 1, left), (~is_left).astype(np.int32)
            yield Order(column, kind, 0, left), (~(is_left | is_missing)).astype(np.int32)
        else:
            yield Order(column, kind, 0, left), (~is_left).astype(np.int32)
    if has_missing:
        yield Order(column, "presence", 0), (~is_missing).astype(np.int32)


# -- integers ----------------------------------------------------------------------------------------------------------


def _integer_costs(training_set: TrainingSet, objective: str) -> dict[str, Any]:
    weight = training_set.weight.astype(np.int64)
    if training_set.weight_scale and (bits := int(weight.sum()).bit_length()) > _WEIGHT_BITS:  # fractions
        weight = np.maximum(1, weight >> bits - _WEIGHT_BITS)
    weight = np.ascontiguousarray(weight)
    total_weight = int(weight.sum())
    if objective == "squared_error":
        return _squared_costs(training_set, weight, total_weight)
    target = training_set.y.astype(np.int64)
    if objective in ("entropy", "gini"):
        spare = max(0, total_weight.bit_length() + 6 + _IMPURITY_BITS - _COST_BITS)
        unit = Fraction(1 << spare, total_weight << _IMPURITY_BITS)
        return {
            "target": target,
            "weight": weight,
            "cost": (),
            "cost_unit": Fraction(1),
            "shift": spare,
            "unit": unit,
            "total": int(1 / unit) * 7,
        }
    n_classes = len(training_set.target.classes)
    matrix = 1 - np.eye(n_classes)
    if objective == "cost":
        assert training_set.fit_options.cost is not None
        matrix = CostMatrix.of(training_set.fit_options.cost, training_set.target.classes).matrix
    cost, multiple = _integer_matrix(matrix, total_weight)
    return {
        "target": target,
        "weight": weight,
        "cost": cost,
        "cost_unit": multiple,
        "shift": 0,
        "unit": 1 / (multiple * total_weight),
        "total": total_weight * max(cost),
    }


def _integer_matrix(matrix: npt.NDArray[np.float64], total_weight: int) -> tuple[tuple[int, ...], Fraction]:
    """Return costs as the smallest whole numbers of the same ratios, and what they are multiplied by.

    Costs such as 1/3, whose decimals are too many, are rounded; one that would change by a millionth is refused.

    >>> _integer_matrix(np.array([[0, 0.5], [1.5, 0]]), 100)
    ((0, 1, 3, 0), Fraction(2, 1))
    """
    costs = [Fraction(repr(cost)) for cost in matrix.ravel().tolist()]
    if not any(costs):
        return (0,) * len(costs), Fraction(1)
    multiple = Fraction(math.lcm(*(cost.denominator for cost in costs)))
    multiple /= math.gcd(*(int(cost * multiple) for cost in costs))
    most = Fraction((1 << _COST_BITS) - 1) / (total_weight * max(costs))
    if multiple > most:
        multiple = most
    whole = tuple(round(cost * multiple) for cost in costs)
    changes = [abs(n - cost * multiple) * _LEAST_RATIO > cost * multiple for n, cost in zip(whole, costs, strict=True)]
    if any(changes):
        ends = min(cost for cost in costs if cost), max(costs)
        low, high = (format_rounded(float(cost)) for cost in ends)
        raise ParameterError(
            f"values from {low} to {high} cannot be added up exactly beside the weights.",
            parameter="cost",
            hint="Give costs nearer to each other or with fewer digits, or whole numbers in "
            + Param("sample_weight", ...)
            + ".",
        )
    return whole, multiple


def _squared_costs(training_set: TrainingSet, weight: Ints, total_weight: int) -> dict[str, Any]:
    """Return targets as whole numbers from 0 to 2^20: exact where whole numbers have a small range, else rounded.

    Whole numbers are multiplied by a power of two, as the cost of a leaf is rounded down to a whole number.
    """
    low, high = float(training_set.raw.min()), float(training_set.raw.max())
    span = high - low
    if not math.isfinite(span * span):
        raise ParameterError(
            f"has values from {low:g} to {high:g}, whose squared errors are beyond every number.",
            parameter="target",
            hint="Divide the target by a power of ten.",
        )
    if np.array_equal(training_set.raw, np.rint(training_set.raw)) and span < 1 << _TARGET_BITS:
        bits = _TARGET_BITS - int(span).bit_length()
        step, target = Fraction(1, 1 << bits), (training_set.raw - low) * (1 << bits)
    else:  # divided by the range first: the step itself may be smaller than any double
        step, target = Fraction(span) / (1 << _TARGET_BITS), (training_set.raw - low) / span * (1 << _TARGET_BITS)
    target = np.rint(target).astype(np.int64)
    total = total_weight * int(target.max(initial=0)) ** 2
    shift = max(0, total.bit_length() - _COST_BITS)
    unit = step * step * (1 << shift) / total_weight
    return {
        "target": target,
        "weight": weight,
        "cost": (),
        "cost_unit": Fraction(1),
        "shift": shift,
        "unit": unit,
        "total": total >> shift,
    }


def _scale_penalty(penalty: Fraction, unit: Fraction, total: int) -> tuple[int, int]:
    """Return the factor of all costs that makes the penalty of a leaf whole, and that penalty."""
    exact = penalty / unit
    scale = exact.denominator
    most = max(1, (1 << _COST_BITS + 1) // max(1, total))
    if scale > min(most, 1 << _PENALTY_BITS):
        scale = min(most, 1 << _PENALTY_BITS)
    return scale, min(round(exact * scale), 1 << _COST_BITS)
