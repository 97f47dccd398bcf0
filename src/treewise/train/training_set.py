"""The training set: encoded columns, an integer target and integer weights, as both learners see them.

The common input of ``train/reference.py`` (readable) and the core (fast). Everything that is decided once per table is
decided here: which columns are used and as what kind, classification or regression, the order of the classes, which
rows are used. ``column_roles.py`` selects the columns, ``target.py`` reads the target, ``weights.py`` the weights;
``fixed_point.py`` converts weights and targets to integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.data.table import Column, Table, parse_na_values, read, read_for_model
from treewise.errors import DataError, Param, ParameterError, join_few
from treewise.train.column_roles import ColumnRoles, check_roles, find_target, read_array, select_columns
from treewise.train.constraints import ColumnConstraints, check_constraints, column_constraints
from treewise.train.criteria import Criterion, get_criterion
from treewise.train.exposure import exposure_for, read_exposure, settings_of_rates, to_rates
from treewise.train.fixed_point import node_target_scale, scale_targets, scale_weights, to_units
from treewise.train.price import FEW_LEVELS, POOLED_KINDS, naming_bits
from treewise.train.settings import Settings
from treewise.train.target import (
    Rows,
    check_target,
    encode_target,
    note_target,
    read_target,
    resolve_criterion,
    restore_levels,
    select_training_rows,
)
from treewise.train.weights import (
    Repeats,
    WeightedRows,
    apply_class_weights,
    find_repeats,
    label_class_weights,
    label_priors,
    read_sample_weights,
)
from treewise.tree.arrays import Target
from treewise.tree.fit_info import FitOptions

Ints = npt.NDArray[np.int64]
Cells = TypeVar("Cells", Column, npt.NDArray[Any])


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """A table prepared for training (``grow.prepare``); immutable."""

    encodings: tuple[Encoding, ...]
    columns: tuple[npt.NDArray[Any], ...]  # encoded (data/encoding.py), one array per column
    split_kinds: tuple[tuple[str, ...], ...]  # allowed, of each column
    target: Target
    y: Ints  # class number, or scaled target
    raw: npt.NDArray[np.float64]  # regression: the target as given
    target_scale: int
    target_top: int | None  # regression: the exponent of the largest |target|; None if no target was rounded
    weight: Ints
    weight_scale: int
    evaluation_weight: npt.NDArray[np.float64]  # sample weight times exposure, without class weights
    settings: Settings
    table_name: str = ""
    notes: tuple[str, ...] = ()
    fit_options: FitOptions = field(default_factory=FitOptions)  # options that the tree's history records
    repeats: Repeats | None = None  # weights that are counts; None: each row counts once
    rows: Rows = range(0)  # the indices of its rows in the table
    groups: Ints | None = None  # the group of each row, 0, 1, …: folds hold out whole groups
    time: npt.NDArray[Any] | None = None  # the time of each row: folds go forward in it

    @cached_property
    def criterion(self) -> Criterion:
        """The criterion; the settings of a training set always have one."""
        assert self.settings.criterion is not None
        return get_criterion(self.settings.criterion)

    @cached_property
    def divides_gain_by_branches(self) -> bool:
        """Whether split kinds compete, so that gains are divided by the number of branches − 1."""
        return self.settings.categorical == "any" or "any" in self.fit_options.split_kinds.values()

    @cached_property
    def constraints(self) -> tuple[ColumnConstraints, ...]:
        """The constraints on each column (``train/constraints.py``)."""
        names = ("monotone", "interactions", "feature_costs", "cost_scale")
        settings = {name: getattr(self.settings, name) for name in names}
        return column_constraints(settings, [encoding.name for encoding in self.encodings])

    def __len__(self) -> int:
        return len(self.weight)

    def with_node_scale(self, rows: Ints) -> TrainingSet:
        """Return the training set with a target scale fine enough for the rows of a node.

        Depends on the rows only; returns self unless the targets span an extreme range (``fixed_point.py``).
        """
        largest = float(np.max(np.abs(self.raw[rows]), initial=0.0)) if self.target_top is not None else 0.0
        if not largest or self.target_top is None:
            return self
        scale = node_target_scale(self.target_top, largest)
        if scale == self.target_scale:
            return self
        y = np.zeros_like(self.y)
        y[rows] = to_units(self.raw[rows], scale)
        return replace(self, y=y, target_scale=scale)

    def without_column(self, column: int) -> TrainingSet:
        """Return the training set without one of its columns, by index."""
        indices = [i for i in range(len(self.columns)) if i != column]
        return replace(
            self,
            encodings=tuple(self.encodings[i] for i in indices),
            columns=tuple(self.columns[i] for i in indices),
            split_kinds=tuple(self.split_kinds[i] for i in indices),
        )

    @cached_property
    def observation_weight(self) -> float:
        """The integer weight of one observation, for tests: whole-number weights are counts, others average 1."""
        return 1.0 if self.weight_scale == 0 else float(self.weight.sum()) / len(self)

    @cached_property
    def limits(self) -> dict[str, int | float]:
        """Each limit by name, as the learner compares it: shares have become rows or integer weights of this table."""
        return self.settings.limits(len(self), int(self.weight.sum()))


class Feature(NamedTuple):
    """One prepared column; without rows where these are elsewhere (``summary.py``)."""

    encoding: Encoding
    values: npt.NDArray[Any]
    split_kinds: tuple[str, ...]


def build_training_set(data: Any, roles: ColumnRoles, settings: Settings) -> TrainingSet:
    """Prepare a table: weight the rows, read the target, select and encode the columns."""
    roles = check_roles(roles)
    table = read(data, na_values=parse_na_values(roles.na_values))
    column = find_target(table, roles.target)
    sample = weight = read_sample_weights(table, roles.sample_weight)
    exposure = None
    if roles.exposure is not None:
        settings = settings_of_rates(settings, roles.criterion, roles.task)
        exposure = read_exposure(table, roles.exposure)
        roles, column, weight = replace(roles, task="regression"), to_rates(column, exposure), weight * exposure
    rows_used = select_training_rows(column, weight, roles, table.name)
    target, y, raw = read_target(_take_rows(column, rows_used), roles, rows_used)
    factor = None if exposure is None else _take_rows(exposure, rows_used)
    rows = WeightedRows(rows_used, y, raw, _take_rows(weight, rows_used), factor)
    weighted = apply_class_weights(rows, target, roles.class_weight, roles.priors, table.name)
    settings = resolve_criterion(settings, target, roles.criterion)
    check_target(settings, target, raw, rows_used)
    notes = [*table.notes, *note_target(target, column)]
    kinds = {**table.kinds, **(roles.kinds or {})}
    names = select_columns(table, target.name, roles)
    if not names:
        notes.append(f"{table.name}: no column is left to split on, so the tree is a single leaf")
    table.convert(names)
    features: list[Feature] = []
    column_split_kinds: dict[str, str] = {}
    for name in names:
        learned = encode.fit_encoding(_take_rows(table[name], weighted.rows), kinds.get(name))
        if settings.missing == "error":
            _refuse_missing(learned.encoding, learned.values, weighted.rows)
        if table.store is not None:
            learned = replace(learned, values=table.store.keep(learned.values))
        notes += learned.notes
        column_split_kinds |= {name: learned.split_kind} if learned.split_kind else {}
        split_kinds = allowed_split_kinds(learned.encoding, learned.split_kind or settings.categorical, settings)
        features.append(Feature(learned.encoding, learned.values, split_kinds))
    fit_options = fit_options_of(roles, target, column_split_kinds, table.na_values)
    check_constraints(settings, [feature.encoding for feature in features], target)
    settings = normalise_settings(settings, target, features)
    assembled = _assemble(weighted, target, settings, features, weight, sample)
    fold_columns = _read_fold_columns(table, roles.groups, roles.time, weighted.rows, target.name)
    return replace(assembled, table_name=table.name, notes=tuple(notes), fit_options=fit_options, **fold_columns)


def fit_options_of(
    roles: ColumnRoles, target: Target, column_split_kinds: dict[str, str], na_values: Sequence[str]
) -> FitOptions:
    """Return the options that the tree's history records."""
    return FitOptions(
        sample_weight=roles.sample_weight if isinstance(roles.sample_weight, str) else None,
        has_weight_array=roles.sample_weight is not None and not isinstance(roles.sample_weight, str),
        class_weight=label_class_weights(roles.class_weight),
        priors=label_priors(roles.priors, target),
        split_kinds=column_split_kinds,
        drop_missing_target=bool(roles.drop_missing_target),
        na_values=tuple(na_values),
        groups=roles.groups if isinstance(roles.groups, str) else None,
        time=roles.time if isinstance(roles.time, str) else None,
        exposure=roles.exposure if isinstance(roles.exposure, str) else None,
        has_exposure_array=roles.exposure is not None and not isinstance(roles.exposure, str),
    )


def build_like(
    data: Any,
    encodings: Sequence[Encoding],
    target: Target,
    settings: Settings,
    fit_options: FitOptions,
    sample_weight: Any = None,
    labels: Any = None,
    groups: Any = None,
    time: Any = None,
) -> TrainingSet:
    """Prepare a table with the encodings and target of an existing tree, for tracing, splitting by hand and refitting.

    Without ``sample_weight``, the weight column that the tree was grown with is used if the table has it. Without
    ``labels`` (a column or an array), the target is looked up by name. ``groups`` and ``time`` are read if they are
    given: only folds need them.
    """
    table = read_for_model(data, fit_options.na_values)
    column = find_target(table, target.name if labels is None else labels)
    weight_name = fit_options.sample_weight
    weight_column = weight_name if weight_name in table.columns else None
    sample = weight = read_sample_weights(table, weight_column if sample_weight is None else sample_weight)
    exposure = exposure_for(fit_options, table)
    if exposure is not None:
        column, weight = to_rates(column, exposure), weight * exposure
    roles = ColumnRoles(drop_missing_target=fit_options.drop_missing_target)
    rows_used = select_training_rows(column, weight, roles, table.name)
    y, raw = encode_target(_take_rows(column, rows_used), target, table.name, rows_used)
    factor = None if exposure is None else _take_rows(exposure, rows_used)
    rows = WeightedRows(rows_used, y, raw, _take_rows(weight, rows_used), factor)
    weighted = apply_class_weights(rows, target, fit_options.class_weight, fit_options.priors, table.name)
    table.convert(e.name for e in encodings)
    encodings = restore_levels(encodings, table)
    features = [
        Feature(
            encoding,
            _take_rows(encode.encode_column(encoding, table[encoding.name], table.name), weighted.rows),
            allowed_split_kinds(encoding, fit_options.split_kinds.get(encoding.name, settings.categorical), settings),
        )
        for encoding in encodings
    ]
    notes = list(table.notes)
    if weight_name is not None and weight_column is None and sample_weight is None:
        lacking = f'{table.name} has no column "{safe(weight_name)}", the weights the tree was grown with'
        notes.append(f"{lacking}; every row has weight 1 here; give " + Param("sample_weight", ...))
    settings = normalise_settings(resolve_criterion(settings, target, None), target, features)
    assembled = _assemble(weighted, target, settings, features, weight, sample)
    fold_columns = _read_fold_columns(table, groups, time, weighted.rows, target.name)
    return replace(assembled, table_name=table.name, notes=tuple(notes), fit_options=fit_options, **fold_columns)


def _read_fold_columns(table: Table, groups: Any, time: Any, rows: Rows, target: str) -> dict[str, Any]:
    """Return ``groups`` and ``time`` of the rows: what makes rows depend on each other, for the folds."""
    order: dict[str, Any] = {}
    for name, spec in (("groups", groups), ("time", time)):
        if spec is None:
            continue
        if isinstance(spec, str) and spec == target:
            hint = "Name a column of groups, such as patient." if name == "groups" else "Name a column of times."
            raise ParameterError("this is the target.", parameter=name, value=spec, hint=hint)
        column = _take_rows(table[spec] if isinstance(spec, str) else read_array(table, name, spec), rows)
        learned = encode.fit_encoding(column, None)
        missing = np.flatnonzero(encode.is_missing(learned.encoding, learned.values))
        if len(missing):
            raise DataError(
                f'{name}: column "{safe(column.name)}" is missing in {plural(len(missing), "row")}'
                f" ({join_few([int(rows[row]) + 1 for row in missing], limit=3)}).",
                hint="Fill them, or leave these rows out.",
            )
        if name == "time" and learned.encoding.kind not in ("number", "integer", "datetime"):
            raise DataError(
                f'time: column "{safe(column.name)}" holds neither dates nor numbers, so it has no order.',
                hint="Write dates as 2024-03-31.",
            )
        values = learned.values
        order[name] = np.unique(values, return_inverse=True)[1].astype(np.int64) if name == "groups" else values
    return order


def normalise_settings(settings: Settings, target: Target, features: Sequence[Feature]) -> Settings:
    """Return the settings without a price or a pool of rare levels that affect no column of the table.

    A tree on such a table is the one that the books' rule grows, and its record says so.
    """
    kinds_and_levels = [
        (kind, len(f.encoding.levels)) for f in features if f.encoding.is_categorical for kind in f.split_kinds
    ]
    if settings.selection == "priced":
        by_gain = get_criterion(settings.criterion or "").rule == "gain"
        classes = len(target.classes)
        if not by_gain or not any(naming_bits(kind, levels, classes) for kind, levels in kinds_and_levels):
            settings = replace(settings, selection="gain")
    pools = any(kind in POOLED_KINDS and levels > FEW_LEVELS for kind, levels in kinds_and_levels)
    return settings if pools or settings.min_level_rows == 1 else replace(settings, min_level_rows=1)


def _assemble(
    weighted: WeightedRows,
    target: Target,
    settings: Settings,
    features: Sequence[Feature],
    evaluation: npt.NDArray[np.float64],
    sample: npt.NDArray[np.float64],
) -> TrainingSet:
    """Assemble a training set, converting weights and targets to integers.

    ``sample`` are the table's sample weights, ``evaluation`` the same times the exposure.
    """
    weight, weight_scale = scale_weights(weighted.weight)
    evaluation_weight = _take_rows(evaluation, weighted.rows)
    if target.task == "regression":
        y, target_scale, top = scale_targets(weighted.raw)
    else:
        y, target_scale, top = weighted.y.astype(np.uint8 if len(target.classes) <= 256 else np.int32), 0, None
    return TrainingSet(
        encodings=tuple(f.encoding for f in features),
        columns=tuple(f.values for f in features),
        split_kinds=tuple(f.split_kinds for f in features),
        target=target,
        y=y,
        raw=weighted.raw,
        target_scale=target_scale,
        target_top=top,
        weight=weight,
        weight_scale=weight_scale,
        evaluation_weight=evaluation_weight,
        settings=settings,
        repeats=find_repeats(_take_rows(sample, weighted.rows), weighted),
        rows=weighted.rows,
    )


def _take_rows(column: Cells, rows: Rows) -> Cells:
    """Return some rows of a column or an array; all rows without a copy."""
    return column if isinstance(rows, range) or len(rows) == len(column) else column.take(rows)


def allowed_split_kinds(encoding: Encoding, categorical: str, settings: Settings) -> tuple[str, ...]:
    """Return the allowed split kinds of a column, in the order in which ties prefer them.

    Ordered categories are split by order unless another kind is requested; those of a monotone column always.
    """
    if not encoding.is_categorical:
        return ("threshold",)
    if encoding.name in (settings.monotone or {}):
        return ("ordinal",)
    if categorical == "any":
        return ("ordinal", "one_value", "subset", "multiway")
    if categorical == "subset" and encoding.kind == "ordered":
        return ("ordinal",)
    return (categorical,)


def _refuse_missing(encoding: Encoding, values: npt.NDArray[Any], row_indices: Rows) -> None:
    missing = np.flatnonzero(encode.is_missing(encoding, values))
    if len(missing):
        rows = join_few([int(row_indices[row]) + 1 for row in missing], limit=3)
        raise DataError(
            f'column "{safe(encoding.name)}" is missing in {plural(len(missing), "row")} ({rows}), and '
            + Param("missing", "error")
            + " does not allow that. "
            + Param("missing", "learn")
            + " learns which branch they take; or fill them first."
        )


Quartiles = dict[str, tuple[float, float]]  # integers for the kinds that are compared as integers


def compute_quartiles(training_set: TrainingSet) -> Quartiles:
    """Return the quartiles of every column of numbers or datetimes with a value, by name.

    >>> from treewise.train.grow import prepare
    >>> compute_quartiles(prepare({"x": [3, 1, 2, 4, None], "c": list("abcde"), "y": [0, 1, 0, 1, 0]}, "y"))
    {'x': (1.0, 3.0)}
    """
    columns = [
        _core.Column(values, len(encoding.levels))
        for encoding, values in zip(training_set.encodings, training_set.columns, strict=True)
    ]
    return name_quartiles(training_set.encodings, _core.quartiles(columns, training_set.weight))


def name_quartiles(encodings: Sequence[Encoding], quartiles: Iterable[tuple[float, float] | None]) -> Quartiles:
    """Return the core's quartiles by column name, without the columns that have none."""
    return {encoding.name: ends for encoding, ends in zip(encodings, quartiles, strict=True) if ends is not None}
