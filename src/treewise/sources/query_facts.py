"""Describe a relation by a few queries: the summary of a training set whose rows stay in their database.

One query for the ends of the target, one for its distinct values and the weights, one for the ends of all columns of
numbers, and one for the levels of each column of categories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data import relation as expr
from treewise.data.column import Column, LazyColumns
from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import MAX_INTEGER_CLASSES, Encoding
from treewise.data.parse_cells import mask_markers
from treewise.data.relation import LazyColumn, Relation
from treewise.data.table import Table
from treewise.errors import DataError, Param, PythonOnly
from treewise.sources.query_targets import QueriedTarget, times_power_of_two
from treewise.train.column_roles import ColumnRoles, find_target, select_columns
from treewise.train.settings import Settings
from treewise.train.source import Array, TrainingSummary
from treewise.train.summary import (
    MAX_PAIRS,
    TargetFacts,
    TargetSummary,
    build_summary,
    check_source_roles,
    needs_values,
    summarise_target,
)

MAX_WEIGHTS = 1000  # different weights: each makes groups of its own
MAX_LEVELS = 20_000  # of a column of categories or text
_COLUMNS = 100  # of numbers that one query describes
_COARSER_TICKS = {"D": (), "us": (10**3, 10**6, 86400 * 10**6), "ns": (10**3, 10**6, 10**9, 86400 * 10**9)}


@dataclass(frozen=True, eq=False)
class QueriedColumn:
    """A column that is learned from: its expressions, and how fetched values are encoded."""

    cell: LazyColumn
    encoding: Encoding
    has_missing: bool
    ends: tuple[Any, Any] | None = None  # the smallest and the largest encoded value, unless it is categorical
    code_of: Mapping[Any, Any] | None = None  # columns that are listed: the encoded value of each value
    ticks: int = 1  # datetimes: what the engine compares, per unit of the encoding
    is_null_if_missing: bool = False  # columns of numbers: a value that is missing is NULL, never NaN or a marker

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of encoded values."""
        kinds = {"number": np.float64, "integer": np.int64, "datetime": np.int64}
        return np.dtype(kinds.get(self.encoding.kind, np.int32))

    def encode(self, values: Any) -> Array:
        """Return fetched values as they are encoded."""
        if self.code_of is not None:
            return np.array([self.code_of[value] for value in values], self.dtype)
        return np.asarray(values if self.ticks == 1 else values // self.ticks).astype(self.dtype)


@dataclass(frozen=True, eq=False)
class Description:
    """Facts about a relation, and the expressions to count it by."""

    rows: Relation  # those that are used
    summary: TrainingSummary
    target: QueriedTarget
    columns: tuple[QueriedColumn, ...]


def describe(relation: Relation, roles: ColumnRoles, settings: Settings) -> Description:
    """Describe a relation under the options of ``grow``."""
    roles = check_source_roles(roles)
    names = {name: Column(name, "float", np.zeros(0)) for name in relation.schema}
    table = Table(relation.name, LazyColumns(names, 0), 0)
    target_name = find_target(table, roles.target).name
    cell = relation.column(target_name, roles.na_values)
    weight = _read_weight(relation, roles)
    rows = relation if weight is None else relation.where(weight > 0.0)
    facts, roles, cell, labels = _describe_target(rows, cell, weight, roles)
    target_summary = summarise_target(facts, roles, settings, relation.name)
    if target_summary.target.task == "regression" and not cell.is_number:
        raise DataError(
            f'target "{safe(cell.name)}" holds numbers written as text, which queries do not add up.',
            hint="Cast it to numbers in the database, or grow in memory" + PythonOnly(': engine="memory"') + ".",
        )
    target = _queried_target(target_summary, cell, weight, labels)
    rows = _used_rows(rows, target_summary, target)
    selected = select_columns(table, target_name, roles)
    cells = [relation.column(name, roles.na_values) for name in selected]
    sampled = _sample_columns(rows, cells, target_summary)
    samples = {s.cell.name: s.sample for s in sampled}
    summary = build_summary(
        target_summary, samples, {s.cell.name: s.n_missing for s in sampled}, _root_sum(rows, target)
    )
    columns = tuple(_queried_column(s, encoding) for s, encoding in zip(sampled, summary.encodings, strict=True))
    return Description(rows, summary, target.with_deviations(summary), columns)


# -- the target and the weights --------------------------------------------------------------------------------------


def _read_weight(relation: Relation, roles: ColumnRoles) -> Any | None:
    """Return the weight of a row as an expression, checked; None if every row weighs 1."""
    if roles.sample_weight is None:
        return None
    cell = relation.column(roles.sample_weight, roles.na_values)
    if cell.form not in ("float", "int"):
        raise DataError(Param("sample_weight") + f' "{safe(cell.name)}" is not a column of numbers.')
    weight = cell.as_float
    largest = float(np.finfo(np.float64).max)
    faults = {
        "missing": cell.is_missing,
        "infinite": ~cell.is_missing & (weight > largest),
        "negative": ~cell.is_missing & (weight < 0.0),
    }
    fetched = relation.aggregate({fault: _count(condition) for fault, condition in faults.items()})
    for fault, n in fetched.items():
        if n:
            raise DataError(
                Param("sample_weight") + f" is {fault} in {plural(int(n), 'row')}.",
                hint="Weights must be 0 or more and finite; 0 leaves a row out.",
            )
    return weight


def _count(condition: Any) -> Any:
    """Return the number of rows for which a condition holds."""
    return expr.to_int(expr.choose([(condition, 1)], 0)).sum()


def _describe_target(
    rows: Relation, cell: LazyColumn, weight: Any | None, roles: ColumnRoles
) -> tuple[TargetFacts, ColumnRoles, LazyColumn, list[Any]]:
    """Return the facts about the target, the roles with the task they imply, the target, and the value of each pair.

    The target that is returned knows which of its texts are missing, because they equal one of ``na_values``.
    """
    n_missing = int(rows.aggregate({"n": _count(cell.is_missing)})["n"] or 0)
    present = rows.where(~cell.is_missing)
    is_number = cell.form in ("float", "int")
    if is_number and roles.task != "classification" and (roles.task or _is_continuous(present, cell)):
        return _describe_numbers(present, cell, weight, n_missing), replace(roles, task="regression"), cell, []
    keys = {"target": cell.value} | ({} if weight is None else {"weight": weight})
    fetched = present.group(keys, list(keys), {"rows": expr.count_rows()}, limit=MAX_PAIRS)
    if len(fetched["rows"]) > MAX_PAIRS:
        raise DataError(
            f'target "{safe(cell.name)}" has more than {MAX_PAIRS:,} different values'
            + (" and weights." if weight is not None else "."),
            hint="Name another column, or round the weights." if weight is not None else "Name another column.",
        )
    n = np.asarray(fetched["rows"]).astype(np.int64)
    weights = np.asarray(fetched["weight"], np.float64) if weight is not None else np.ones(len(n))
    _check_weights(weights)
    values = list(fetched["target"])
    column = (
        mask_markers(cell.to_column(values), roles.na_values) if values else Column(cell.name, "float", np.zeros(0))
    )
    kept = np.flatnonzero(~column.is_missing())
    unread = sorted({value for value, lost in zip(values, column.is_missing().tolist(), strict=True) if lost})
    if unread:
        cell = replace(cell, is_missing=cell.is_missing | cell.value.is_in(unread))
    n_missing += int(n.sum() - n[kept].sum())
    facts = TargetFacts(column.take(kept), weights[kept], n[kept], n_missing)
    return facts, roles, cell, [values[i] for i in kept]


def _check_weights(weights: Array) -> None:
    if len(np.unique(weights)) > MAX_WEIGHTS:
        raise DataError(
            Param("sample_weight") + f" has more than {MAX_WEIGHTS:,} different values; queries group by each of them.",
            hint="Round the weights, or grow in memory" + PythonOnly(': engine="memory"') + ".",
        )


def _is_continuous(rows: Relation, cell: LazyColumn) -> bool:
    """Tell whether numbers are too many to be classes, or not whole."""
    if cell.form == "float" and rows.aggregate({"n": _count(cell.value != cell.value.floor())})["n"]:
        return True
    fetched = rows.group({"target": cell.value}, ["target"], {"rows": expr.count_rows()}, limit=MAX_INTEGER_CLASSES)
    return len(fetched["rows"]) > MAX_INTEGER_CLASSES


def _describe_numbers(rows: Relation, cell: LazyColumn, weight: Any | None, n_missing: int) -> TargetFacts:
    """Return the facts about a target of numbers."""
    values = {"target": cell.as_float, "weight": expr.lit(1.0) if weight is None else weight}
    target = expr.col("target")
    aggregates = {"rows": expr.count_rows(), "low": target.min(), "high": target.max()}
    fetched = rows.group(values, ["weight"], aggregates, limit=MAX_WEIGHTS)
    weights = np.asarray(fetched["weight"], np.float64)
    _check_weights(weights)
    ends = np.array([fetched["low"], fetched["high"]], np.float64)
    if not np.isfinite(ends).all():
        raise DataError(
            f'target "{safe(cell.name)}" is infinite in some rows. Regression needs finite numbers.',
            hint="Leave these rows out, or correct them.",
        )
    # Two pairs for each weight: one row has the smallest target, the others the largest.
    n = np.asarray(fetched["rows"]).astype(np.int64)
    raw, twice = ends.T.reshape(-1), np.repeat(weights, 2)
    counts = np.stack([np.minimum(n, 1), n - 1], axis=1).reshape(-1)
    raw = np.where(np.repeat(n, 2) == 1, np.repeat(ends[0], 2), raw)
    kept = counts > 0
    largest = float(np.abs(ends).max(initial=0.0))
    column = Column(cell.name, "float", raw[kept])
    return TargetFacts(column, twice[kept], counts[kept], n_missing, _lowest_bit(rows, cell, largest))


def _lowest_bit(rows: Relation, cell: LazyColumn, largest: float) -> int | None:
    """Return the exponent of the lowest bit that is set in any number, by bisection in sixteen parts.

    Below 2^-61 of the largest it does not matter: then some are rounded.
    """
    if not largest:
        return None
    top = int(np.frexp(largest)[1])
    low, high = max(top - 62, -1074), top  # not all are multiples of 2^high, perhaps of 2^low
    value = cell.as_float
    while high - low > 1:
        exponents = sorted({low + (high - low) * i // 16 for i in range(1, 16)} - {low, high})
        scaled = {e: times_power_of_two(value, -e) for e in exponents}
        fetched = rows.aggregate(
            {f"not_multiple_{i}": _count(scaled[e] != scaled[e].floor()) for i, e in enumerate(exponents)}
        )
        are_multiples = [e for i, e in enumerate(exponents) if not fetched[f"not_multiple_{i}"]]
        low = max(are_multiples, default=low)
        high = min((e for e in exponents if e > low), default=high)
    return low


def _queried_target(
    target_summary: TargetSummary, cell: LazyColumn, weight: Any | None, labels: Sequence[Any]
) -> QueriedTarget:
    """Return how the target is counted; ``labels`` are the fetched values of its pairs."""
    pairs = target_summary.pairs
    assert pairs.times is not None
    class_of = {}
    if target_summary.target.task == "classification":
        class_of = dict(zip((labels[i] for i in np.asarray(pairs.rows)), pairs.y.tolist(), strict=True))
    return QueriedTarget(
        cell,
        weight,
        class_of,
        target_summary.integer_weight_of,
        target_summary.scale[0],
        target_summary.scale[1] is not None,
        int(pairs.times.sum()),
    )


def _used_rows(rows: Relation, target_summary: TargetSummary, target: QueriedTarget) -> Relation:
    """Leave out the rows without a target, and those of classes of weight 0."""
    if target_summary.facts.n_missing:
        rows = rows.where(~target.cell.is_missing)
    if target.is_class and len(target_summary.pairs.rows) < len(target_summary.facts.rows):
        rows = rows.where(target.cell.value.is_in(list(target.class_of)))
    return rows


def _root_sum(rows: Relation, target: QueriedTarget) -> int:
    """Return Σ w·y of all rows (regression)."""
    if target.is_class:
        return 0
    values = {**target.keys, **target.values, "all": expr.lit(1)}
    fetched = rows.group(values, ["all", *target.keys], target.sums, derived=target.steps)
    return int(target.stats(fetched, 0).target_sum.sum())


# -- the columns -----------------------------------------------------------------------------------------------------


class _Sampled(NamedTuple):
    """Facts about a column, from queries."""

    cell: LazyColumn
    sample: Column
    n_missing: int
    n_null: int = 0
    values: list[Any] | None = None  # the fetched values, in the order of the sample, of a column that is listed


def _sample_columns(rows: Relation, cells: Sequence[LazyColumn], target_summary: TargetSummary) -> list[_Sampled]:
    """Return a sample of each column: of all numbers by one query, of categories by one each."""
    kinds = target_summary.roles.kinds or {}
    numbers = [cell for cell in cells if cell.is_number and not needs_values(kinds.get(cell.name))]
    sampled: dict[str, _Sampled] = {}
    for start in range(0, len(numbers), _COLUMNS):
        sampled |= {s.cell.name: s for s in _sample_numbers(rows, numbers[start : start + _COLUMNS])}
    listed = (_list_values(rows, cell, target_summary) for cell in cells if cell.name not in sampled)
    sampled |= {s.cell.name: s for s in listed}
    return [sampled[cell.name] for cell in cells]


def _sample_numbers(rows: Relation, cells: Sequence[LazyColumn]) -> Iterator[_Sampled]:
    fetched = rows.aggregate({f"{what}_{i}": e for i, cell in enumerate(cells) for what, e in _ends(cell).items()})
    for i, cell in enumerate(cells):
        own = {name.rpartition("_")[0]: value for name, value in fetched.items() if name.endswith(f"_{i}")}
        n_missing, n_null = int(own.pop("missing") or 0), int(own.pop("null") or 0)
        if n_missing == n_null:  # neither NaN nor a marker, which need not be looked for again
            cell = replace(cell, is_missing=cell.value.is_null())
        yield _Sampled(cell, cell.to_column([value for value in own.values() if value is not None]), n_missing, n_null)


def _list_values(rows: Relation, cell: LazyColumn, target_summary: TargetSummary) -> _Sampled:
    present = rows.where(~cell.is_missing)
    listed = present.group({"value": cell.value}, ["value"], {"rows": expr.count_rows()}, limit=MAX_LEVELS)
    if len(listed["rows"]) > MAX_LEVELS:
        raise DataError(
            f'column "{safe(cell.name)}" has more than {MAX_LEVELS:,} different values.',
            hint="Leave it out: " + Param("ignore", [safe(cell.name)]) + ", or make it numbers.",
            column=cell.name,
        )
    assert target_summary.pairs.times is not None
    values = list(listed["value"])
    sample = mask_markers(cell.to_column(values), target_summary.roles.na_values)
    return _Sampled(cell, sample, int(target_summary.pairs.times.sum()) - int(np.sum(listed["rows"])), values=values)


def _ends(cell: LazyColumn) -> dict[str, Any]:
    """Return the aggregates that describe a column of numbers: its ends, and values that tell fractions or units."""
    value = expr.choose([(~cell.is_missing, cell.value)], None)
    ends = {"low": value.min(), "high": value.max(), "missing": _count(cell.is_missing)}
    ends["null"] = _count(cell.value.is_null())
    if cell.form == "float":
        return {**ends, "witness0": expr.choose([(value != value.floor(), value)], None).min()}
    ticks = _COARSER_TICKS[cell.unit] if cell.form == "datetime" else ()
    return ends | {f"witness{i}": expr.choose([(value % n != 0, value)], None).min() for i, n in enumerate(ticks)}


def _queried_column(sampled: _Sampled, encoding: Encoding) -> QueriedColumn:
    """Return how a column is counted."""
    cell, sample, n_missing, n_null, values = sampled
    encoded = encode.encode_column(encoding, sample, "the table")
    is_missing = encode.is_missing(encoding, encoded)
    present = encoded[~is_missing]
    has_ends = not encoding.is_categorical and len(present) > 0
    ends = (present.min().item(), present.max().item()) if has_ends else None
    if values is None:
        ticks = TICKS_PER_DAY[cell.unit] // TICKS_PER_DAY[encoding.unit] if encoding.kind == "datetime" else 1
        if encoding.kind == "number":
            cell = replace(cell, form="float", value=cell.as_float)
        return QueriedColumn(cell, encoding, n_missing > 0, ends, None, ticks, n_missing == n_null)
    code_of = dict(zip(values, encoded.tolist(), strict=True)) if values else {}
    unread = [value for value, missing in zip(values, is_missing.tolist(), strict=False) if missing]
    if unread:
        cell = replace(cell, is_missing=cell.is_missing | cell.value.is_in(unread))
    return QueriedColumn(cell, encoding, n_missing > 0 or bool(unread), ends, code_of)
