"""The summary of a training set whose rows are elsewhere, from facts that a database or a cluster counts.

It is what ``training_set.py`` would find out from all rows, by the same functions: first the target and the weights,
from distinct pairs with the number of rows of each; then, of the rows that are used, the encodings, from samples of
the columns (``data/column_sample.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.column import Column
from treewise.data.column_sample import join_samples
from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import MAX_INTEGER_CLASSES
from treewise.data.table import KindSpec, parse_na_values
from treewise.errors import DataError, Param, ParameterError
from treewise.train.column_roles import ColumnRoles, check_roles
from treewise.train.constraints import check_constraints
from treewise.train.criteria import Criterion, RowStats, get_criterion
from treewise.train.fixed_point import lowest_bit_exponents, scale_of_targets, scale_weights, to_units
from treewise.train.settings import Settings
from treewise.train.source import Pair, TrainingSummary
from treewise.train.target import check_target, note_target, read_target, resolve_criterion
from treewise.train.training_set import Feature, allowed_split_kinds, fit_options_of, normalise_settings
from treewise.train.weights import WeightedRows, apply_class_weights, find_repeats
from treewise.tree.arrays import Target

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_FEW_INTEGERS = 1 << 16  # targets in a range of so many are counted in a table
MAX_PAIRS = 1 << 16  # of numbers and weights, that are kept one by one


@dataclass(frozen=True, eq=False)
class TargetFacts:
    """Distinct pairs of target and sample weight, and how many rows have each.

    Of many different numbers, some represent the others of the same weight: the smallest and the largest, and enough to
    see that they are not classes.
    """

    column: Column  # the target of each pair, without missing ones
    weight: Floats
    rows: Ints
    n_missing: int = 0  # rows of positive weight without a target
    lowest_bit: int | None = (
        None  # numbers: the exponent of the lowest bit that is set in any of them; None if all are 0
    )

    @classmethod
    def of(cls, column: Column, weight: Floats) -> TargetFacts:
        """Return the facts of some rows, or of one partition."""
        n_missing = int(np.count_nonzero(column.is_missing() & (weight > 0)))
        is_used = ~column.is_missing() & (weight > 0)
        cells, weight = (column, weight) if is_used.all() else (column.take(np.flatnonzero(is_used)), weight[is_used])
        first, rows = _distinct_pairs(cells.values, weight)
        facts = cls(cells.take(first), weight[first], rows, n_missing, _lowest_bit(cells))
        return facts.represent()

    @classmethod
    def join(cls, parts: Sequence[TargetFacts]) -> TargetFacts:
        """Return the facts of a table from those of its partitions."""
        column = join_samples([part.column for part in parts])
        if column.is_coded:
            code = {label: i for i, label in enumerate(column.labels)}
            targets = [np.array([code[x] for x in p.column.labels], np.int32)[p.column.values] for p in parts]
        elif column.form == "datetime":
            per_day = TICKS_PER_DAY[column.unit]
            targets = [p.column.values * (per_day // TICKS_PER_DAY[p.column.unit or "D"]) for p in parts]
        else:
            targets = [p.column.values for p in parts]
        weight = np.concatenate([part.weight for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        column = replace(column, values=np.concatenate(targets), missing=None)
        pairs = np.empty(len(rows), [("target", column.values.dtype), ("weight", np.float64)])
        pairs["target"], pairs["weight"] = column.values, weight
        _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        added = np.zeros(len(first), np.int64)
        np.add.at(added, inverse.reshape(-1), rows)
        bits = [part.lowest_bit for part in parts if part.lowest_bit is not None]
        n_missing = sum(part.n_missing for part in parts)
        return cls(column.take(first), weight[first], added, n_missing, min(bits, default=None)).represent()

    def represent(self) -> TargetFacts:
        """Let some numbers represent the others, if there are too many to be classes."""
        if self.column.form not in ("int", "float") or len(self.rows) <= MAX_PAIRS:
            return self
        target = self.column.values.astype(np.float64)
        keep = np.zeros(len(target), bool)
        keep[np.unique(target, return_index=True)[1][: MAX_INTEGER_CLASSES + 1]] = True
        keep[[int(target.argmin()), int(target.argmax()), int(np.argmax(np.floor(target) != target))]] = True
        _, first, of_weight = np.unique(self.weight, return_index=True, return_inverse=True)
        keep[first] = True
        rows = np.where(keep, self.rows, 0)
        np.add.at(rows, first, np.bincount(of_weight.reshape(-1), np.where(keep, 0, self.rows)).astype(np.int64))
        return replace(self, column=self.column.take(keep), weight=self.weight[keep], rows=rows[keep])


def _distinct_pairs(target: npt.NDArray[np.generic], weight: Floats) -> tuple[Ints, Ints]:
    """Return where each pair of target and weight is first, in their order, and how often it occurs.

    >>> [array.tolist() for array in _distinct_pairs(np.array([5, 3, 5, 5]), np.array([1.0, 1.0, 0.5, 1.0]))]
    [[1, 2, 0], [1, 1, 2]]
    """
    has_one_weight = weight.strides == (0,) or not len(weight) or bool(np.all(weight == weight[0]))
    if has_one_weight and len(target) and target.dtype.kind in "iub":
        low = int(target.min())
        if int(target.max()) - low < _FEW_INTEGERS:  # counted without sorting
            offset = target.astype(np.int64) - low
            rows = np.bincount(offset)
            first = np.zeros(len(rows), np.int64)
            first[offset[::-1]] = np.arange(len(offset) - 1, -1, -1)  # the last write is the first row
            return first[rows > 0], rows[rows > 0]
    order = np.argsort(target, kind="stable") if has_one_weight else np.lexsort((weight, target))
    is_new = np.append(True, target[order][1:] != target[order][:-1])[: len(order)]
    if not has_one_weight:
        is_new[1:] |= weight[order][1:] != weight[order][:-1]
    starts = np.flatnonzero(is_new)
    return order[starts], np.diff(np.append(starts, len(order)))


def _lowest_bit(column: Column) -> int | None:
    """Return the exponent of the lowest bit that is set in any number of a column."""
    if column.form not in ("int", "float"):
        return None
    numbers = np.abs(encode.encode_numbers(column))
    numbers = numbers[np.isfinite(numbers) & (numbers > 0)]
    return int(lowest_bit_exponents(numbers).min()) if len(numbers) else None


@dataclass(frozen=True, eq=False)
class TargetSummary:
    """The target and the weights of all rows that are used."""

    table_name: str
    roles: ColumnRoles
    settings: Settings
    target: Target
    facts: TargetFacts
    pairs: WeightedRows  # the pairs that are used; their rows are positions in the facts

    @cached_property
    def weights(self) -> tuple[Ints, int]:
        """The integer weight of a row of each pair, and the scale."""
        return scale_weights(self.pairs.weight, self.pairs.times)

    @cached_property
    def scale(self) -> tuple[int, int | None]:
        """Regression: the scale of integer targets, and the exponent of the largest if some are rounded."""
        if self.target.task == "classification":
            return 0, None
        return scale_of_targets(float(np.abs(self.pairs.raw).max(initial=0.0)), self.facts.lowest_bit or 0)

    @property
    def integer_weight_of(self) -> dict[Pair, int]:
        """The integer weight of a row by class number (regression: 0) and sample weight."""
        sample = self.facts.weight[np.asarray(self.pairs.rows)]
        return dict(
            zip(zip(self.pairs.y.tolist(), sample.tolist(), strict=True), self.weights[0].tolist(), strict=True)
        )

    @property
    def y(self) -> Ints:
        """The class number or the integer target of each pair."""
        return self.pairs.y if self.target.task == "classification" else to_units(self.pairs.raw, self.scale[0])


def check_source_roles(roles: ColumnRoles) -> ColumnRoles:
    """Check the roles of the columns of a table whose rows are elsewhere: they are given by name."""
    roles = check_roles(roles)
    for name in ("target", "sample_weight"):
        value = getattr(roles, name)
        if value is not None and not isinstance(value, str):
            raise ParameterError(
                "must be the name of a column where the rows are elsewhere.",
                parameter=name,
                hint="Add it to the table as a column.",
            )
    roles = replace(roles, na_values=parse_na_values(roles.na_values))
    for name in ("exposure", "groups", "time"):
        if getattr(roles, name) is not None:
            raise ParameterError(
                "is not available where the rows are elsewhere.",
                parameter=name,
                hint="Leave it out, or grow in memory.",
            )
    return roles


def check_source_criterion(criterion: Criterion) -> None:
    """Raise for a criterion that cannot be computed from sums over rows."""
    if criterion.centre == "median" or criterion.name == "poisson":
        raise ParameterError(
            "this criterion needs the targets of all rows together, and the rows are elsewhere.",
            parameter="criterion",
            value=criterion.name,
            hint="Use " + Param("criterion", "squared_error") + ", or grow in memory.",
        )


def summarise_target(facts: TargetFacts, roles: ColumnRoles, settings: Settings, table_name: str) -> TargetSummary:
    """Decide what the target is, and what each row weighs."""
    name = safe(facts.column.name)
    if facts.n_missing and not roles.drop_missing_target:
        hint = (
            f"Remove {'it' if facts.n_missing == 1 else 'them'} first, or " + Param("drop_missing_target", True) + "."
        )
        raise DataError(f'target "{name}" is missing in {plural(facts.n_missing, "row")}.', hint=hint)
    row_indices = np.arange(len(facts.rows))
    if not len(row_indices) and roles.sample_weight is None:
        raise DataError(f"{table_name} has no rows with a target.", hint="Give at least one row.")
    if not len(row_indices):
        raise DataError(
            f"{table_name}: no row has a target and a positive weight; there is nothing to learn from."
            " Give some rows a weight above 0."
        )
    target, y, raw = read_target(facts.column, roles, None)
    pairs = WeightedRows(row_indices, y, raw, facts.weight, times=facts.rows)
    pairs = apply_class_weights(pairs, target, roles.class_weight, roles.priors, table_name)
    settings = resolve_criterion(settings, target, roles.criterion)
    assert settings.criterion is not None
    check_source_criterion(get_criterion(settings.criterion))
    check_target(settings, target, raw, None)
    return TargetSummary(table_name, roles, settings, target, facts, pairs)


def needs_values(kind: KindSpec | None) -> bool:
    """Tell whether the sample of a column must have each value once: of one that is declared as categories."""
    return kind is not None and (not isinstance(kind, str) or kind not in ("number", "datetime"))


def build_summary(
    target_summary: TargetSummary, samples: Mapping[str, Column], n_missing: Mapping[str, int], root_sum: int = 0
) -> TrainingSummary:
    """Return the summary, from samples of the columns, in order, with the number of missing cells of each.

    ``root_sum`` is Σ w·y of all rows in integers (regression).
    """
    roles, settings, pairs = target_summary.roles, target_summary.settings, target_summary.pairs
    assert pairs.times is not None
    kinds, column_split_kinds = roles.kinds or {}, dict[str, str]()
    facts, features = target_summary.facts, []
    notes = note_target(target_summary.target, facts.column, int(facts.rows.sum()))
    for name, sample in samples.items():
        learned = encode.fit_encoding(sample, kinds.get(name))
        if settings.missing == "error" and n_missing[name]:
            raise DataError(
                f'column "{safe(name)}" is missing in {plural(n_missing[name], "row")}, and '
                + Param("missing", "error")
                + " does not allow that. "
                + Param("missing", "learn")
                + " learns which branch they take; or fill them first."
            )
        column_split_kinds |= {name: learned.split_kind} if learned.split_kind else {}
        split_kinds = allowed_split_kinds(learned.encoding, learned.split_kind or settings.categorical, settings)
        features.append(Feature(learned.encoding, learned.values[:0], split_kinds))
    if not features:
        notes.append(f"{target_summary.table_name}: no column is left to split on, so the tree is a single leaf")
    check_constraints(settings, [feature.encoding for feature in features], target_summary.target)
    weight, y, n_classes = target_summary.weights[0] * pairs.times, target_summary.y, len(target_summary.target.classes)
    sample = target_summary.facts.weight[np.asarray(pairs.rows)]
    low, high = (int(y.min()), int(y.max())) if target_summary.target.task == "regression" else (0, 0)
    counts = tuple(int(weight[y == cls].sum()) for cls in range(n_classes))
    n_rows = int(pairs.times.sum())
    return TrainingSummary(
        encodings=tuple(feature.encoding for feature in features),
        columns=(),
        split_kinds=tuple(feature.split_kinds for feature in features),
        target=target_summary.target,
        y=y,
        raw=pairs.raw,
        target_scale=target_summary.scale[0],
        target_top=target_summary.scale[1],
        weight=weight,
        weight_scale=target_summary.weights[1],
        evaluation_weight=sample,
        repeats=find_repeats(sample, pairs),
        settings=normalise_settings(settings, target_summary.target, features),
        table_name=target_summary.table_name,
        notes=tuple(notes),
        fit_options=fit_options_of(roles, target_summary.target, column_split_kinds, roles.na_values),
        n_rows=n_rows,
        root=RowStats(n_rows, int(weight.sum()), counts, root_sum, low, high),
        integer_weight_of=target_summary.integer_weight_of,
        sample_rows=pairs.times,
        low=low,
        high=high,
    )
