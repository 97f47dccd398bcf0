"""Column roles: which columns are the target, the weights and the features, as given by the user.

Used by ``training_set.build_training_set`` before anything is encoded: checks names, not values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

import numpy as np

from treewise._lib.text import safe
from treewise.data.column import truncate
from treewise.data.table import Column, KindSpec, Table, read
from treewise.errors import ColumnError, DataError, Param, ParameterError, PythonOnly, brief, did_you_mean, join_few
from treewise.tree.arrays import Label, Task

_TASKS = ("classification", "regression")


@dataclass(frozen=True)
class ColumnRoles:
    """The options of ``grow`` that are about columns and rows rather than the learner."""

    target: Any = None  # a column name, or an array
    task: Task | None = None
    kinds: Mapping[str, KindSpec] | None = None
    ignore: Sequence[str] = ()
    columns: Sequence[str] | None = None
    na_values: Sequence[str] = ()
    positive: Label | None = None
    sample_weight: Any = None  # a column name, or an array
    class_weight: Mapping[Label, float] | str | None = None
    priors: Any = None  # a share for each class, by label or in their order
    drop_missing_target: bool = False
    groups: Any = None  # a column name, or an array
    time: Any = None  # a column name, or an array
    exposure: Any = None  # a column name, or an array
    criterion: str | None = None  # as given by the user, not by a preset


def check_roles(roles: ColumnRoles) -> ColumnRoles:
    """Check the values that do not depend on the table; return column names as lists of strings."""
    if roles.task is not None and (not isinstance(roles.task, str) or roles.task not in _TASKS):
        raise ParameterError(
            "must be classification or regression" + PythonOnly(", or None to infer it from the target") + ".",
            parameter="task",
            value=roles.task,
            hint=did_you_mean(roles.task, _TASKS),
        )
    if roles.kinds is not None and not isinstance(roles.kinds, Mapping):
        raise ParameterError(
            'must be a dict of column → kind, {"GPA": "nominal"}.', parameter="kinds", value=roles.kinds
        )
    if not isinstance(roles.drop_missing_target, bool | np.bool_):
        raise ParameterError("must be True or False.", parameter="drop_missing_target", value=roles.drop_missing_target)
    if roles.positive is not None and not isinstance(roles.positive, str | int | float | np.generic):
        raise ParameterError("must be one of the classes.", parameter="positive", value=roles.positive)
    kinds = None if roles.kinds is None else {str(name): kind for name, kind in roles.kinds.items()}
    columns = None if roles.columns is None else check_column_names("columns", roles.columns)
    return replace(roles, ignore=check_column_names("ignore", roles.ignore), columns=columns, kinds=kinds)


def check_column_names(parameter: str, given: Any) -> list[str]:
    """Return column names as strings; numbered columns may be given by number."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
        example = f'["{truncate(given)}"]' if isinstance(given, str) else '["age", "town"]'
        raise ParameterError(f"must be a list of names, {example}.", parameter=parameter, value=given)
    names = list(given)
    for name in names:
        if not isinstance(name, str | int | np.integer):
            raise ParameterError(Param(parameter) + f" holds {brief(name)}: must be a list of column names.")
    return [str(name) for name in names]


def select_columns(table: Table, target: str, roles: ColumnRoles) -> list[str]:
    """Return the names of the columns to learn from, in the table's order."""
    requested = list(roles.columns) if roles.columns is not None else list(table.columns)
    for parameter, names in (("columns", requested), ("ignore", roles.ignore), ("kinds", roles.kinds or {})):
        for name in names:
            if name not in table.columns and name != target:
                raise ColumnError(
                    f'no column "{truncate(name)}" in {table.name}.{did_you_mean(name, table.columns)}'
                    f" Columns: {join_few([safe(n) for n in table.columns])}.",
                    parameter=parameter,
                )
    excluded = {target, *roles.ignore}
    excluded |= {
        name for name in (roles.sample_weight, roles.groups, roles.time, roles.exposure) if isinstance(name, str)
    }
    selected = [name for name in requested if name not in excluded]
    contradictory = [safe(name) for name in roles.columns or () if name in roles.ignore]
    if contradictory:
        raise ParameterError(
            Param("columns") + " and " + Param("ignore") + f" both name {join_few(contradictory)}.",
            hint="Leave it out of one of them.",
        )
    if len(set(selected)) < len(selected):
        twice = next(name for name, times in Counter(selected).items() if times > 1)
        raise ParameterError(f'"{safe(twice)}" is named twice.', parameter="columns", hint="Name each column once.")
    return selected


def find_target(table: Table, target: Any) -> Column:
    """Find the target column; an array given as target becomes one named ``y``."""
    if target is None:
        if table.target is None:
            names = join_few([safe(name) for name in table.columns], limit=20)
            raise ParameterError(
                "no target is given.", hint="Name it: " + Param("target", ...) + f". Columns: {names}."
            )
        target = table.target
    if isinstance(target, str | int | np.integer) and not isinstance(target, bool):
        return table[str(target)]
    column = read_array(table, "target", target)
    name = getattr(target, "name", None)
    if isinstance(name, str) and name in table.columns and column.equals(table[name]):
        return table[name]  # the array given is data["y"]
    return replace(column, name=_target_name(table, name))


def _target_name(table: Table, name: Any) -> str:
    """Name a target that is given as an array: its own name, or "y", unless the table has such a column."""
    names = chain([name] if isinstance(name, str) else [], ["y", "target"], (f"y{i}" for i in count(2)))
    return next(name for name in names if name not in table.columns)


def read_array(table: Table, parameter: str, given: Any) -> Column:
    """Read an array that is given beside the table, with one value per row."""
    type_ = type(given)
    if isinstance(given, Mapping | int | float) or hasattr(type_, "columns") or not hasattr(type_, "__len__"):
        raise ParameterError(
            "must be the name of a column, or an array with a value for each row.",
            parameter=parameter,
            value=given,
            hint=f"Columns: {join_few([safe(n) for n in table.columns])}.",
        )
    column = given if isinstance(given, Column) else read({parameter: given}, name=parameter)[parameter]
    if len(column) != len(table):
        raise DataError(
            f"{parameter} has {len(column):,} values, {table.name} has {len(table):,} rows. They must match."
        )
    return column
