"""Row weights: sample weights times class weights or priors, checked.

Used by ``training_set.py``; ``fixed_point.py`` converts the result to integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import MAX_FLOAT
from treewise._lib.text import format_exact, safe
from treewise.data import encoding as encode
from treewise.data.table import Table
from treewise.errors import DataError, Param, ParameterError, brief, did_you_mean, join_few
from treewise.train.column_roles import read_array
from treewise.train.fixed_point import exact_sum
from treewise.train.target import Rows, name_row
from treewise.tree.arrays import Label, Target

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MAX_REPEATS = 10  # mean weight above which weights are not counts


def read_sample_weights(table: Table, given: Any) -> npt.NDArray[np.float64]:
    """Read and check the weights of the rows."""
    if given is None:
        return np.broadcast_to(np.float64(1.0), len(table))  # one value, broadcast without memory
    column = table[given] if isinstance(given, str) else read_array(table, "sample_weight", given)
    weight = encode.encode_numbers(column)
    for fault, rows in (
        ("missing", np.flatnonzero(np.isnan(weight))),
        ("infinite", np.flatnonzero(np.isinf(weight))),
        ("negative", np.flatnonzero(weight < 0)),
    ):
        if len(rows):
            value = f" ({format_exact(weight[rows[0]])})" if fault == "negative" else ""
            raise DataError(
                Param("sample_weight") + f" is {fault} in row {rows[0] + 1:,}{value}.",
                hint="Weights must be 0 or more and finite; 0 leaves a row out.",
            )
    return weight


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """The rows that are used: their indices in the table, targets and weights."""

    rows: Rows
    y: Ints
    raw: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    factor: npt.NDArray[np.float64] | None = None  # the part of the weight that is class weight or exposure; None: 1
    times: Ints | None = None  # how many rows of the table each stands for; None: one

    def take(self, selected: Ints) -> WeightedRows:
        """Return the selected rows."""
        raw = self.raw[selected] if len(self.raw) else self.raw
        rows = selected if isinstance(self.rows, range) else self.rows[selected]
        factor = None if self.factor is None else self.factor[selected]
        times = None if self.times is None else self.times[selected]
        return WeightedRows(rows, self.y[selected], raw, self.weight[selected], factor, times)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Rows whose weights are counts: how many equal rows each represents, and the class weight of one of them."""

    times: Ints
    factor: npt.NDArray[np.float64]

    def take(self, rows: Ints) -> Repeats:
        """Return the repeats of some rows."""
        return Repeats(self.times[rows], self.factor[rows])


def find_repeats(sample: npt.NDArray[np.float64], weighted: WeightedRows) -> Repeats | None:
    """Interpret sample weights as counts if they are small whole numbers; None: each row counts once.

    Sampling needs this: a row of weight 2 is two rows, each of which may be drawn. Larger weights (more than ten per
    row on average) are importance weights, not counts.
    """
    times = np.broadcast_to(np.int64(1), len(sample)) if weighted.times is None else weighted.times
    if sample.strides == (0,) or float((sample * times).sum()) > _MAX_REPEATS * int(times.sum()):
        return None
    if np.all(sample == 1.0) or not np.array_equal(sample, np.rint(sample)):
        return None
    factor = np.broadcast_to(np.float64(1.0), len(sample)) if weighted.factor is None else weighted.factor
    return Repeats(sample.astype(np.int64) * times, factor)


def apply_class_weights(
    rows: WeightedRows, target: Target, class_weight: Any, priors: Any, table_name: str
) -> WeightedRows:
    """Multiply by class weights, or by those that follow from priors; drop the rows of classes of weight 0."""
    weighted = rows
    if class_weight is not None and priors is not None:
        raise ParameterError(
            Param("class_weight") + " and " + Param("priors") + " both weigh the classes.", hint="Give one of them."
        )
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):  # checked below
        if class_weight is not None:
            weighted = _multiply_weights(rows, _class_factors(class_weight, target, rows))
        elif priors is not None:
            shares = read_priors(priors, target)
            weighted = _multiply_weights(rows, _prior_factors(shares, rows))
    infinite = np.flatnonzero(~np.isfinite(weighted.weight))
    if len(infinite):
        row = name_row(weighted.rows if weighted.times is None else None, int(infinite[0]))
        raise DataError(
            Param("sample_weight") + " times " + Param("class_weight") + f" overflows in {row}.",
            hint="Scale the weights down: only their proportions matter.",
        )
    with np.errstate(over="ignore"):
        total = weighted.weight if weighted.times is None else weighted.weight * weighted.times
        if np.isinf(total.sum()):
            raise DataError("the sum of the weights overflows. Scale them down: only their proportions matter.")
    if not np.all(weighted.weight):
        weighted = weighted.take(np.flatnonzero(weighted.weight))
    if not len(weighted.rows):
        raise DataError(
            f"{table_name}: no row has a positive weight; there is nothing to learn from.",
            hint="Give some class a " + Param("class_weight") + " above 0.",
        )
    return weighted


def _multiply_weights(rows: WeightedRows, factor: Floats) -> WeightedRows:
    return replace(rows, weight=rows.weight * factor, factor=factor)


def _class_factors(given: Mapping[Label, float] | str, target: Target, rows: WeightedRows) -> Floats:
    """Return the class weight of each row: given by label, or "balanced" (equal total weight for all classes)."""
    if target.task == "regression":
        raise ParameterError("regression has no classes.", parameter="class_weight", hint="Leave it out.")
    if isinstance(given, str) and given == "balanced":
        return _prior_factors(np.full(len(target.classes), 1 / len(target.classes)), rows)
    if not isinstance(given, Mapping):
        raise ParameterError(
            'must be "balanced" or weights by class, such as ' + Param("class_weight", {target.classes[-1]: 2}) + ".",
            parameter="class_weight",
            value=given,
        )
    factors = np.ones(len(target.classes))
    names = {str(c): i for i, c in enumerate(target.classes)}
    for label, factor in given.items():
        if str(label) not in names:
            raise ParameterError(
                Param("class_weight") + f" names {brief(label)}; the classes are {join_few([safe(n) for n in names])}.",
                hint=did_you_mean(label, names),
            )
        if not isinstance(factor, Real) or isinstance(factor, bool) or not 0 <= factor <= MAX_FLOAT:
            raise ParameterError(
                Param("class_weight")
                + f" of {brief(label)} is {brief(factor)}: must be a number, 0 or more and finite."
            )
        factors[names[str(label)]] = factor
    return factors[rows.y]


def _prior_factors(shares: Floats, rows: WeightedRows) -> Floats:
    """Return the factor of each row that gives each class its share of the total weight, which does not change."""
    y, top = rows.y, math.frexp(float(rows.weight.max()))[1]  # scaled to avoid overflow; only proportions matter
    scaled = np.ldexp(rows.weight, -top)
    by_class = np.split(np.argsort(y, kind="stable"), np.cumsum(np.bincount(y, minlength=len(shares)))[:-1])
    totals = [
        exact_sum(scaled[rows_of_class], None if rows.times is None else rows.times[rows_of_class])
        for rows_of_class in by_class
    ]
    factors: Floats = shares[y] * (exact_sum(scaled, rows.times) / np.array(totals)[y])
    return factors


def read_priors(given: Any, target: Target) -> Floats:
    """Read the prior of each class: by label, or a list in the order of the classes."""
    if target.task == "regression":
        raise ParameterError("regression has no classes.", parameter="priors", hint="Leave them out.")
    names = [str(label) for label in target.classes]
    order = join_few([safe(name) for name in names])
    if not isinstance(given, Mapping):
        listable = hasattr(given, "__len__") and not isinstance(given, str) and getattr(given, "ndim", 1) == 1
        share_list = list(given) if listable else []
        if len(share_list) != len(names):
            raise ParameterError(
                f"must be a share for each class, in the order {order}.", parameter="priors", value=given
            )
        given = dict(zip(names, share_list, strict=True))
    shares = {str(label): share for label, share in given.items()}
    for label in shares:
        if label not in names:
            raise ParameterError(
                Param("priors") + f' names the class "{safe(label)}"; the classes are {order}.',
                hint=did_you_mean(label, names),
            )
    for label in names:
        share = shares.get(label)
        if not isinstance(share, Real) or isinstance(share, bool) or not 0 < share <= 1:  # type: ignore[operator]
            fault = "is not given" if share is None else f"is {brief(share)}"
            raise ParameterError(
                f'the share of "{safe(label)}" {fault}.', parameter="priors", hint="It must be above 0 and at most 1."
            )
    total = math.fsum(shares.values())
    if abs(total - 1) > 1e-6:
        raise ParameterError(
            f"priors add up to {format_exact(float(f'{total:.6g}'))}: the shares of all classes must sum to 1."
        )
    return np.array([shares[label] for label in names], np.float64) / total


def label_priors(given: Any, target: Target) -> dict[str, float] | None:
    """Return priors as the history records them, with classes as strings."""
    if given is None:
        return None
    return dict(zip(map(str, target.classes), read_priors(given, target).tolist(), strict=True))


def label_class_weights(given: Mapping[Label, float] | str | None) -> Mapping[str, float] | str | None:
    """Return class weights as the history records them, with classes as strings."""
    return {str(label): float(w) for label, w in given.items()} if isinstance(given, Mapping) else given
