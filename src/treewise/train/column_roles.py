"""Column roles: what the user said about the columns of a table, checked, and the columns found by it.

Used by ``training_set.build_training_set`` before anything is encoded; knows names, not values.
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
    priors: Any = None  # a share for each class, by label or in their order
    drop_missing_target: bool = False
    criterion: str | None = None  # as given, not a preset's


def check_roles(roles: ColumnRoles) -> ColumnRoles:
    """Refuse what can be no role, whatever the table is; return names as lists of text."""
    if roles.task is not None and (not isinstance(roles.task, str) or roles.task not in _TASKS):
        raise ParameterError(
            "must be classification or regression" + PythonOnly(", or None to let the target decide") + ".",
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
    columns = None if roles.columns is None else check_column_names("columns", roles.columns)
    return replace(roles, ignore=check_column_names("ignore", roles.ignore), columns=columns)


def check_column_names(parameter: str, given: Any) -> list[str]:
    """Return column names as text; a table whose columns are numbered is asked by number too."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
        listed = f'["{truncate(given)}"]' if isinstance(given, str) else '["age", "town"]'
        raise ParameterError(f"must be a list of names, {listed}.", parameter=parameter, value=given)
    names = list(given)
    for name in names:
        if not isinstance(name, str | int | np.integer):
            raise ParameterError(Param(parameter) + f" holds {brief(name)}: must be a list of column names.")
    return [str(name) for name in names]


def select_columns(table: Table, target: str, roles: ColumnRoles) -> list[str]:
    """Return the names of the columns to learn from, in the table's order."""
    asked = list(roles.columns) if roles.columns is not None else list(table.columns)
    for parameter, names in (("columns", asked), ("ignore", roles.ignore), ("kinds", roles.kinds or {})):
        for name in names:
            if name not in table.columns and name != target:
                raise ColumnError(
                    f'{parameter}: no column "{truncate(name)}" in {table.name}.{did_you_mean(name, table.columns)}'
                    f" Columns: {join_few([safe(n) for n in table.columns])}."
                )
    out = {target, *roles.ignore}
    if isinstance(roles.sample_weight, str):
        out.add(roles.sample_weight)
    chosen = [name for name in asked if name not in out]
    both = [safe(name) for name in roles.columns or () if name in roles.ignore]
    if both:
        raise ParameterError(
            Param("columns") + " and " + Param("ignore") + f" both name {join_few(both)}.",
            hint="Leave it out of one of them.",
        )
    if len(set(chosen)) < len(chosen):
        twice = next(name for name, times in Counter(chosen).items() if times > 1)
        raise ParameterError(f'"{safe(twice)}" is named twice.', parameter="columns", hint="Name each column once.")
    return chosen


def find_target(table: Table, target: Any) -> Column:
    """Find the target column; an array given as target becomes one named ``y``."""
    if target is None:
        if table.target is None:
            known = join_few([safe(name) for name in table.columns], most=20)
            raise ParameterError(
                "no target is given.", hint="Name it: " + Param("target", ...) + f". Columns: {known}."
            )
        target = table.target
    if isinstance(target, str):
        return table[target]
    column = read_array(table, "target", target)
    name = getattr(target, "name", None)
    if isinstance(name, str) and name in table.columns and column.equals(table[name]):
        return table[name]  # data["y"] was given, and means that column
    return replace(column, name=_target_name(table, name))


def _target_name(table: Table, wanted: Any) -> str:
    """Return the name of a target that is given beside the table: its own, or "y" where the table has such a column."""
    names = chain([wanted] if isinstance(wanted, str) else [], ["y", "target"], (f"y{i}" for i in count(2)))
    return next(name for name in names if name not in table.columns)


def read_array(table: Table, parameter: str, given: Any) -> Column:
    """Read what is given beside the table: one value for each of its rows."""
    kind = type(given)
    if isinstance(given, Mapping | int | float) or hasattr(kind, "columns") or not hasattr(kind, "__len__"):
        raise ParameterError(
            "must be the name of a column, or an array with a value for each row.",
            parameter=parameter,
            value=given,
            hint=f"Columns: {join_few([safe(n) for n in table.columns])}.",
        )
    column = given if isinstance(given, Column) else read({parameter: given}, name=parameter)[parameter]
    if len(column) != len(table):
        raise DataError(
            f"{parameter} has {len(column):,} values, {table.name} has {len(table):,} rows. They must go together."
        )
    return column
