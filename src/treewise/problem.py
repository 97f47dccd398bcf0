"""The training table as the learner sees it: encoded columns, an integer target and integer weights.

Stands between the table and the two learners that must agree, ``search.py`` (readable) and the core (fast). Everything
that is decided once per table is decided here: which columns take part and as what kind, classification or regression,
the order of the classes, which rows count; weights and targets become integers by ``integers.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from treewise import encode
from treewise.criteria import Criterion, criterion_named
from treewise.encode import Encoding
from treewise.errors import ColumnError, DataError, ParameterError, did_you_mean, listing, shown
from treewise.integers import in_units, scale_beside, scale_targets, scale_weights
from treewise.settings import Settings, as_written
from treewise.table import Column, KindSpec, Table, read, read_markers
from treewise.table.column import brief
from treewise.tree import Label, Target, Task
from treewise.wording import number, plural, safe

Ints = npt.NDArray[np.int64]
Cells = TypeVar("Cells", Column, npt.NDArray[Any])
MOST_CLASSES_OF_WHOLE_NUMBERS = 20
LARGEST = 1.7976931348623157e308
TASKS = ("classification", "regression")


@dataclass(frozen=True)
class Roles:
    """Which columns play which part, and what the user said about them."""

    target: Any = None  # a column name, or an array
    task: Task | None = None
    kinds: Mapping[str, KindSpec] | None = None
    ignore: Sequence[str] = ()
    columns: Sequence[str] | None = None
    na_values: Sequence[str] = ()
    positive: Label | None = None
    sample_weight: Any = None  # a column name, or an array
    class_weight: Mapping[Label, float] | str | None = None
    drop_missing_target: bool = False
    criterion: str | None = None  # as given, not a preset's


@dataclass(frozen=True, eq=False)
class Problem:
    """A table made ready for learning. ``prepare`` makes it; nothing changes it."""

    encodings: tuple[Encoding, ...]
    columns: tuple[npt.NDArray[Any], ...]  # encoded as encode.py says, one array a column
    splits: tuple[tuple[str, ...], ...]  # for each column the split kinds it may be tested by
    target: Target
    y: Ints  # class number, or scaled target
    raw: npt.NDArray[np.float64]  # regression: the target as given
    target_scale: int
    target_top: int | None  # regression: the exponent of the largest |target|; None when all fit as they are
    weight: Ints
    weight_scale: int
    settings: Settings
    table_name: str
    notes: tuple[str, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)  # weights and kinds by name, for the tree's history

    @property
    def criterion(self) -> Criterion:
        """The criterion, never None here."""
        assert self.settings.criterion is not None
        return criterion_named(self.settings.criterion)

    @property
    def by_branches(self) -> bool:
        """Whether kinds compete, so that gains are divided by the number of branches less one."""
        return self.settings.categorical == "any" or "any" in self.asked.get("splits", {}).values()

    def __len__(self) -> int:
        return len(self.weight)

    def at(self, rows: Ints) -> Problem:
        """Return the problem as a node with these rows sees it: with its targets in units fine enough for them.

        The same for the same rows, whatever the tree above them; and this very problem but in extreme tables.
        """
        largest = float(np.max(np.abs(self.raw[rows]), initial=0.0)) if self.target_top is not None else 0.0
        if not largest or self.target_top is None:
            return self
        scale = scale_beside(self.target_top, largest)
        if scale == self.target_scale:
            return self
        y = np.zeros_like(self.y)
        y[rows] = in_units(self.raw[rows], scale)
        return replace(self, y=y, target_scale=scale)

    @cached_property
    def least_leaf_weight(self) -> int:
        """The least weight of a leaf, in scaled units."""
        return math.ceil(as_written(self.settings.min_weight_fraction_leaf) * int(self.weight.sum()))


def prepare(data: Any, roles: Roles, settings: Settings) -> Problem:
    """Make a table ready: weigh the rows, read the target, choose and encode the columns."""
    roles = check_roles(roles)
    markers = read_markers(roles.na_values)
    table = read(data, na_values=markers)
    column = take_target(table, roles.target)
    weight = sample_weights(table, roles.sample_weight)
    kept = rows_that_count(column, weight, roles, table.name)
    target, y, raw = read_target(cells_of(column, kept), roles, kept)
    weighed = weigh(Weighed(kept, y, raw, cells_of(weight, kept)), target, roles.class_weight, table.name)
    settings = settle_criterion(settings, target, roles.criterion)
    if target.task == "regression" and settings.sufficient_accuracy < 1:
        raise ParameterError("sufficient_accuracy: regression has no classes; leave it out.")
    if settings.criterion == "poisson" and np.any(raw < 0):
        row = int(kept[np.flatnonzero(raw < 0)[0]]) + 1
        raise DataError(
            f'target "{safe(target.name)}" is negative in row {row}; criterion="poisson" is for counts, 0 or more.'
        )
    notes = [*table.notes, *target_notes(target, column)]
    encodings, columns, splits = [], [], []
    kinds = {**table.kinds, **(roles.kinds or {})}
    chosen: dict[str, str] = {}
    names = choose_columns(table, target.name, roles)
    if not names:
        notes.append(f"{table.name}: no column is left to split on, so the tree is its root alone")
    table.convert(names)
    for name in names:
        learned = encode.learn(cells_of(table[name], weighed.rows), kinds.get(name))
        if settings.missing == "error":
            refuse_missing(learned.encoding, learned.values, weighed.rows)
        notes += learned.notes
        encodings.append(learned.encoding)
        columns.append(learned.values)
        splits.append(allowed_splits(learned.encoding, learned.splits or settings.categorical))
        chosen |= {name: learned.splits} if learned.splits else {}
    asked = {
        "sample_weight": roles.sample_weight if isinstance(roles.sample_weight, str) else None,
        "sample_weight_array": roles.sample_weight is not None and not isinstance(roles.sample_weight, str),
        "class_weight": said_class_weight(roles.class_weight),
        "splits": chosen,
        "drop_missing_target": bool(roles.drop_missing_target),
        "na_values": list(markers),
    }
    return assemble(
        table,
        target,
        weighed,
        settings,
        (encodings, columns, splits, notes),
        {k: v for k, v in asked.items() if v},
    )


def check_roles(roles: Roles) -> Roles:
    """Refuse what can be no role, whatever the table is; return names as lists of text."""
    if roles.task is not None and (not isinstance(roles.task, str) or roles.task not in TASKS):
        raise ParameterError(
            f"task={shown(roles.task)}: must be classification, regression, or None to let the target decide."
            f"{did_you_mean(roles.task, TASKS)}"
        )
    if roles.kinds is not None and not isinstance(roles.kinds, Mapping):
        raise ParameterError(f'kinds={shown(roles.kinds)}: must be a dict of column → kind, {{"GPA": "nominal"}}.')
    if not isinstance(roles.drop_missing_target, bool | np.bool_):
        raise ParameterError(f"drop_missing_target={shown(roles.drop_missing_target)}: must be True or False.")
    if roles.positive is not None and not isinstance(roles.positive, str | int | float | np.generic):
        raise ParameterError(f"positive={shown(roles.positive)}: must be one of the classes.")
    columns = None if roles.columns is None else names_in("columns", roles.columns)
    return replace(roles, ignore=names_in("ignore", roles.ignore), columns=columns)


def names_in(parameter: str, given: Any) -> list[str]:
    """Return column names as text; a table whose columns are numbered is asked by number too."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
        listed = f'["{brief(given)}"]' if isinstance(given, str) else '["age", "town"]'
        raise ParameterError(f"{parameter}={shown(given)}: must be a list of names, {listed}.")
    names = list(given)
    for name in names:
        if not isinstance(name, str | int | np.integer):
            raise ParameterError(f"{parameter} holds {shown(name)}: must be a list of column names.")
    return [str(name) for name in names]


def cells_of(column: Cells, rows: Ints) -> Cells:
    """Return some rows of a column or an array; all of them are the thing itself, without a copy."""
    return column if len(rows) == len(column) else column.take(rows)


@dataclass(frozen=True, eq=False)
class Weighed:
    """The rows that count: their numbers in the table, targets, and weights."""

    rows: Ints
    y: Ints
    raw: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]

    def take(self, alive: Ints) -> Weighed:
        """Return some of them."""
        raw = self.raw[alive] if len(self.raw) else self.raw
        return Weighed(self.rows[alive], self.y[alive], raw, self.weight[alive])


def weigh(rows: Weighed, target: Target, class_weight: Mapping[Label, float] | str | None, table_name: str) -> Weighed:
    """Multiply class weights in; rows of a class of weight 0 are absent."""
    weighed = rows
    if class_weight is not None:
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):  # looked at below
            weighed = replace(rows, weight=rows.weight * class_factors(class_weight, target, rows.y, rows.weight))
    wild = np.flatnonzero(~np.isfinite(weighed.weight))
    if len(wild):
        raise DataError(
            f"sample_weight times class_weight is past the largest number in row {weighed.rows[wild[0]] + 1:,}."
            " Scale the weights down: only their proportions matter."
        )
    with np.errstate(over="ignore"):
        if np.isinf(weighed.weight.sum()):
            raise DataError(
                "the weights add up to more than the largest number, 1.8e308. Scale them down: only their proportions"
                " matter."
            )
    if not np.all(weighed.weight):
        weighed = weighed.take(np.flatnonzero(weighed.weight))
    if not len(weighed.rows):
        raise DataError(
            f"{table_name}: no row has a positive weight; there is nothing to learn from."
            " Give some class a class_weight above 0."
        )
    return weighed


def assemble(
    table: Table,
    target: Target,
    weighed: Weighed,
    settings: Settings,
    columns: tuple[Sequence[Encoding], Sequence[npt.NDArray[Any]], Sequence[tuple[str, ...]], Sequence[str]],
    asked: Mapping[str, Any],
) -> Problem:
    """Put the parts of a problem together."""
    encodings, values, splits, notes = columns
    weight, weight_scale = scale_weights(weighed.weight)
    y, target_scale, top = scale_targets(weighed.raw) if target.task == "regression" else (weighed.y, 0, None)
    return Problem(
        tuple(encodings),
        tuple(values),
        tuple(splits),
        target,
        y,
        weighed.raw,
        target_scale,
        top,
        weight,
        weight_scale,
        settings,
        table.name,
        tuple(notes),
        asked,
    )


# -- columns ----------------------------------------------------------------------------------------------------------


def choose_columns(table: Table, target: str, roles: Roles) -> list[str]:
    """Return the names of the columns to learn from, in the table's order."""
    asked = list(roles.columns) if roles.columns is not None else list(table.columns)
    for parameter, names in (("columns", asked), ("ignore", roles.ignore), ("kinds", roles.kinds or {})):
        for name in names:
            if name not in table.columns and name != target:
                raise ColumnError(
                    f'{parameter}: no column "{brief(name)}" in {table.name}.{did_you_mean(name, table.columns)}'
                    f" Columns: {listing([safe(n) for n in table.columns])}."
                )
    out = {target, *roles.ignore}
    if isinstance(roles.sample_weight, str):
        out.add(roles.sample_weight)
    chosen = [name for name in asked if name not in out]
    both = [safe(name) for name in roles.columns or () if name in roles.ignore]
    if both:
        raise ParameterError(f"columns and ignore both name {listing(both)}. Leave it out of one of them.")
    if len(set(chosen)) < len(chosen):
        twice = next(name for name, times in Counter(chosen).items() if times > 1)
        raise ParameterError(f'columns: "{safe(twice)}" is named twice. Name each column once.')
    return chosen


def allowed_splits(encoding: Encoding, categorical: str) -> tuple[str, ...]:
    """Return the split kinds a column may be tested by, in the order in which ties prefer them.

    Ordered categories are cut in their order unless another kind was asked for.
    """
    if not encoding.categorical:
        return ("threshold",)
    if categorical == "any":
        return ("ordinal", "one_value", "subset", "multiway")
    if categorical == "subset" and encoding.kind == "ordered":
        return ("ordinal",)
    return (categorical,)


def refuse_missing(encoding: Encoding, values: npt.NDArray[Any], kept: Ints) -> None:
    """Enforce missing="error"."""
    gone = np.flatnonzero(encode.is_missing(encoding, values))
    if len(gone):
        rows = listing([int(r) + 1 for r in kept[gone]], most=3)
        raise DataError(
            f'column "{safe(encoding.name)}" is missing in {len(gone):,} rows (row {rows}), and missing="error" was'
            ' asked for. missing="learn" learns where they go; or fill them first.'
        )


# -- the target -------------------------------------------------------------------------------------------------------


def take_target(table: Table, target: Any) -> Column:
    """Find the target column; an array given as target becomes one named ``y``."""
    if target is None:
        if table.target is None:
            known = listing([safe(name) for name in table.columns], most=20)
            raise ParameterError(f"target is not given. Name it: target=… (--target COLUMN). Columns: {known}.")
        target = table.target
    if isinstance(target, str):
        return table[target]
    column = read_array(table, "target", target)
    name = getattr(target, "name", None)
    if isinstance(name, str) and name in table.columns and column.same_cells(table[name]):
        return table[name]  # data["y"] was given, and means that column
    names = chain([name] if isinstance(name, str) else [], ["y", "target"], (f"y{i}" for i in count(2)))
    return replace(column, name=next(n for n in names if n not in table.columns))


def read_array(table: Table, parameter: str, given: Any) -> Column:
    """Read what is given beside the table: one value for each of its rows."""
    kind = type(given)
    if isinstance(given, Mapping | int | float) or hasattr(kind, "columns") or not hasattr(kind, "__len__"):
        raise ParameterError(
            f"{parameter}={shown(given)}: must be the name of a column, or an array with a value for each row."
            f" Columns: {listing([safe(n) for n in table.columns])}."
        )
    column = read({parameter: given}, name=parameter)[parameter]
    if len(column) != len(table):
        raise DataError(
            f"{parameter} has {len(column):,} values, {table.name} has {len(table):,} rows. They must go together."
        )
    return column


def rows_that_count(column: Column, weight: npt.NDArray[np.float64], roles: Roles, table_name: str) -> Ints:
    """Return the rows with a positive weight and a target; a missing target is an error unless it may be dropped."""
    counts = weight > 0
    gone = np.flatnonzero(column.is_missing() & counts)
    if len(gone) and not roles.drop_missing_target:
        rows = listing([int(r) + 1 for r in gone], most=5)
        raise DataError(
            f'target "{safe(column.name)}" is missing in {plural(len(gone), "row")} ({rows}).'
            " Remove them first, or drop_missing_target=True (--drop-missing-target)."
        )
    counts[gone] = False
    if not counts.any():
        raise DataError(
            f"{table_name}: no row has a target and a positive weight; there is nothing to learn from."
            " Give some rows a weight above 0."
        )
    return np.flatnonzero(counts)


def read_target(column: Column, roles: Roles, kept: Ints) -> tuple[Target, Ints, npt.NDArray[np.float64]]:
    """Decide the task and read the target: class numbers, or numbers as they are."""
    task, numeric = roles.task, column.form in ("int", "float")
    if task is None and encode.is_quantity(column):
        task = "regression"
    if task != "regression" or not numeric:
        numeric, codes, labels = encode.classes(column)
        task = task or ("regression" if numeric and not few_whole_numbers(labels) else "classification")
    if task == "regression":
        if not numeric:
            raise DataError(
                f'target "{safe(column.name)}" is not a column of numbers ({column.say(0)} in row {kept[0] + 1:,}), so'
                ' task="regression" does not fit. Leave task out, or give numbers.'
            )
        if roles.positive is not None:
            raise ParameterError("positive: regression has no classes; leave it out.")
        raw = finite_targets(column, kept)
        return Target(column.name, "regression"), np.zeros(len(raw), np.int64), raw
    order = class_order(labels, roles.positive, column.name)
    if roles.positive is not None:
        place = np.empty(len(labels), np.int64)
        place[order] = np.arange(len(labels))
        codes = place[codes]
    return Target(column.name, "classification", tuple(labels[i] for i in order)), codes, np.empty(0)


def target_notes(target: Target, column: Column) -> list[str]:
    """Note a target whose numbers were taken for classes though most of them occur once."""
    taken = target.classes and column.form in ("int", "float") and 2 * len(target.classes) > len(column)
    if not taken or len(target.classes) < 5:
        return []
    return [
        f"{safe(target.name)}: {len(target.classes)} different whole numbers in {len(column)} rows were taken for"
        ' classes. For numbers: task="regression" (--task regression)'
    ]


def few_whole_numbers(labels: Sequence[Label]) -> bool:
    """Tell whether these are whole numbers, few enough to be class numbers."""
    return len(labels) <= MOST_CLASSES_OF_WHOLE_NUMBERS and all(float(v).is_integer() for v in labels)


def class_order(labels: Sequence[Label], positive: Label | None, name: str) -> list[int]:
    """Order the classes by value, with the positive one last."""
    order = list(range(len(labels)))
    if positive is None:
        return order
    named = [i for i, label in enumerate(labels) if label == positive or str(label) == str(positive)]
    if not named:
        words = [safe(v) for v in labels]
        raise ParameterError(
            f'positive="{brief(positive)}": target "{safe(name)}" has the classes {listing(words)}.'
            f"{did_you_mean(positive, words)}"
        )
    order.remove(named[0])
    return [*order, named[0]]


def finite_targets(column: Column, kept: Ints) -> npt.NDArray[np.float64]:
    """Read numbers to be predicted; ``kept`` are the rows they stand in, for the message when one is none."""
    raw = encode.numbers(column)
    bad = np.flatnonzero(~np.isfinite(raw))
    if len(bad):
        raise DataError(
            f'target "{safe(column.name)}" is {raw[bad[0]]} in row {kept[bad[0]] + 1:,}. Regression needs finite'
            " numbers. Leave that row out, or correct it."
        )
    return raw


def settle_criterion(settings: Settings, target: Target, given: str | None) -> Settings:
    """Fill in the criterion of the task; one of the other task is refused if given, and gives way if a preset's."""
    usual = "entropy" if target.task == "classification" else "squared_error"
    if settings.criterion is None:
        return replace(settings, criterion=usual)
    meant = criterion_named(settings.criterion).task
    if meant != target.task and given is None:
        return replace(settings, criterion=usual)
    if meant != target.task:
        what = f"has {len(target.classes)} classes" if target.classes else "is a number"
        if target.classes:
            what += f" ({listing([safe(c) for c in target.classes], most=4)})"
        raise ParameterError(
            f'criterion="{settings.criterion}" is for {meant}, but target "{safe(target.name)}" {what}.'
            f' Use criterion="{usual}", or task="{meant}".'
        )
    return settings


# -- weights ----------------------------------------------------------------------------------------------------------


def sample_weights(table: Table, given: Any) -> npt.NDArray[np.float64]:
    """Read and check the weights of the rows."""
    if given is None:
        return np.broadcast_to(np.float64(1.0), len(table))  # one number, said to stand in every row
    column = table[given] if isinstance(given, str) else read_array(table, "sample_weight", given)
    weight = encode.numbers(column)
    for fault, rows in (
        ("missing", np.flatnonzero(np.isnan(weight))),
        ("infinite", np.flatnonzero(np.isinf(weight))),
        ("negative", np.flatnonzero(weight < 0)),
    ):
        if len(rows):
            value = f" ({number(weight[rows[0]])})" if fault == "negative" else ""
            raise DataError(
                f"sample_weight is {fault} in row {rows[0] + 1:,}{value}. Weights must be 0 or more and finite;"
                " 0 leaves a row out."
            )
    return weight


def class_factors(
    given: Mapping[Label, float] | str, target: Target, y: Ints, weight: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return one factor a row: its class's as given by label, or "balanced" (all classes weigh the same)."""
    if target.task == "regression":
        raise ParameterError("class_weight: regression has no classes; leave it out.")
    if isinstance(given, str) and given == "balanced":
        top = math.frexp(float(weight.max()))[1]  # only proportions matter: no overflow on the way
        scaled = np.ldexp(weight, -top)
        by_class = np.split(scaled[np.argsort(y, kind="stable")], np.cumsum(np.bincount(y))[:-1])
        totals = np.array([math.fsum(part.tolist()) for part in by_class])  # the same in any order of rows
        balanced: npt.NDArray[np.float64] = math.fsum(scaled.tolist()) / (len(target.classes) * totals[y])
        return balanced
    if not isinstance(given, Mapping):
        raise ParameterError(f'class_weight={shown(given)}: must be "balanced" or a dict of class → weight.')
    factors = np.ones(len(target.classes))
    names = {str(c): i for i, c in enumerate(target.classes)}
    for label, factor in given.items():
        if str(label) not in names:
            raise ParameterError(
                f"class_weight names {shown(label)}; the classes are {listing([safe(n) for n in names])}."
                f"{did_you_mean(label, names)}"
            )
        if not isinstance(factor, Real) or isinstance(factor, bool) or not 0 <= factor <= LARGEST:
            raise ParameterError(
                f"class_weight of {shown(label)} is {shown(factor)}: must be a number, 0 or more and finite."
            )
        factors[names[str(label)]] = factor
    return factors[y]


def said_class_weight(given: Mapping[Label, float] | str | None) -> Mapping[str, float] | str | None:
    """Return class weights as the tree's history keeps them: classes as text, as in a file."""
    return {str(label): float(w) for label, w in given.items()} if isinstance(given, Mapping) else given


# -- a table for a tree that is there already --------------------------------------------------------------------------


def conform(
    data: Any,
    encodings: Sequence[Encoding],
    target: Target,
    settings: Settings,
    asked: Mapping[str, Any],
    sample_weight: Any = None,
) -> Problem:
    """Prepare a table under a tree's own encodings and target, for tracing, splitting by hand and re-estimating.

    Without a ``sample_weight``, a weight column the tree was grown with is used again where the table has it.
    """
    table = read(data, na_values=asked.get("na_values", ()))
    column = table[target.name]
    name = asked.get("sample_weight")
    again = name if name in table.columns else None
    weight = sample_weights(table, again if sample_weight is None else sample_weight)
    roles = Roles(drop_missing_target=bool(asked.get("drop_missing_target")))
    kept = rows_that_count(column, weight, roles, table.name)
    raw = np.empty(0)
    if target.task == "regression":
        raw = finite_targets(cells_of(column, kept), kept)
        y = np.zeros(len(raw), np.int64)
    else:
        y = class_numbers(cells_of(column, kept), target, table.name, kept)
    weighed = weigh(Weighed(kept, y, raw, cells_of(weight, kept)), target, asked.get("class_weight"), table.name)
    table.convert(e.name for e in encodings)
    values = [cells_of(encode.apply(e, table[e.name], table.name), weighed.rows) for e in encodings]
    kinds = [allowed_splits(e, asked.get("splits", {}).get(e.name, settings.categorical)) for e in encodings]
    notes = list(table.notes)
    if name is not None and again is None and sample_weight is None:
        lacks = f'{table.name} has no column "{safe(name)}", which weighed the rows where the tree was grown'
        notes.append(f"{lacks}; its rows weigh 1 each here; give sample_weight=…")
    columns = (encodings, values, kinds, notes)
    return assemble(table, target, weighed, settle_criterion(settings, target, None), columns, asked)


def class_numbers(column: Column, target: Target, table_name: str, rows: Ints | None = None) -> Ints:
    """Return the class number of each row; a class the tree does not know is an error.

    ``rows`` are the numbers these rows have in the table, where they are not all of it.
    """
    rows = np.arange(len(column)) if rows is None else rows
    gone = np.flatnonzero(column.is_missing())
    if len(gone):
        raise DataError(
            f'{table_name}: target "{safe(column.name)}" is missing in row {rows[gone[0]] + 1:,}. Remove such rows'
            " first."
        )
    _, codes, labels = encode.classes(column)
    known = {str(c): i for i, c in enumerate(target.classes)}
    place = np.array([known.get(str(label), -1) for label in labels], np.int64)
    y = place[codes]
    strange = np.flatnonzero(y < 0)
    if len(strange):
        label = labels[codes[strange[0]]]
        raise DataError(
            f'{table_name}: target "{safe(column.name)}" is "{safe(label)}" in row {rows[strange[0]] + 1:,}, a class'
            f" the tree does not know. Its classes are {listing([safe(c) for c in target.classes])}."
        )
    return y
