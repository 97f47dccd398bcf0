"""Cases of the exact oracle as input to treewise, and treewise splits in the oracle's terms."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from tests.oracles import exact
from tests.oracles.strategies import (
    BOOLEAN,
    Case,
    Column,
    Settings,
)
from treewise.data import table


def as_table_column(name: str, column: Column) -> table.Column:
    """Hand a column over as it would come from a dataframe."""
    gone = np.array([value is None for value in column.values], bool)
    if column.levels == BOOLEAN and set(column.values) <= {*BOOLEAN, None}:
        values = np.array([value == "true" for value in column.values], np.uint8)
        return table.Column(name, "bool", values, missing=gone if gone.any() else None)
    if column.levels is not None:
        labels = (*column.levels, *sorted({v for v in column.values if v is not None} - set(column.levels)))
        codes = [-1 if value is None else labels.index(value) for value in column.values]
        return table.Column(name, "category", np.array(codes, np.int32), labels=labels)
    if column.wide:
        values = [0 if value is None else value for value in column.values]
        return table.Column(name, "int", np.array(values, np.int64), missing=gone if gone.any() else None)
    return table.Column(name, "float", np.array([np.nan if v is None else v for v in column.values], np.float64))


def as_table(case: Case) -> table.Table:
    """Hand a case's rows over, target included."""
    problem = case.problem
    columns = {column.name: as_table_column(column.name, column) for column in problem.columns}
    if problem.classes:
        columns["y"] = table.Column("y", "text", np.array(problem.y, np.int32), labels=problem.classes)
    else:
        columns["y"] = table.Column("y", "float", np.array(problem.y, np.float64))
    return table.Table("the table", columns, len(problem.y))


def parameters(case: Case) -> dict[str, Any]:
    """Return what ``grow`` is told beside table and target."""
    requested = {
        c.name: "any" if len(c.kinds) > 1 else c.kinds[0] for c in case.problem.columns if c.levels is not None
    }
    given = {name: value for name, value in asdict(case.settings).items() if value != getattr(Settings(), name)}
    given.pop("per_branch", None)
    return {
        "task": "classification" if case.problem.classes else "regression",
        "criterion": case.settings.criterion,
        "categorical": case.categorical,
        "kinds": {name: kind for name, kind in requested.items() if kind != case.categorical} or None,
        "sample_weight": list(case.sample_weight) if set(case.sample_weight) != {1} else None,
        "class_weight": case.class_weight,
        **given,
        "selection": case.settings.selection if case.settings.criterion != "gain_ratio" else None,
        "min_level_rows": case.settings.min_level_rows,
    }


def question_of(split: Any) -> exact.Question:
    """Say a split as the oracle says it."""
    levels = getattr(split, "levels", (split.level,) if hasattr(split, "level") else ())
    return exact.Question(
        split.kind,
        split.column,
        getattr(split, "cut", None),
        levels,
        getattr(split, "other", False),
        split.missing,
    )
