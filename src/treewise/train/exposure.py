"""Exposure: counts that were observed over different times, areas or numbers of people.

``exposure="years"`` learns rates: a count y in a row of exposure e becomes the rate r = y/e with weight e. A leaf then
predicts Σ w·y / Σ w·e, events per year. The criterion is the Poisson deviance with the offset log e, since for a rate λ

    Σ w·[y·log(y/(e·λ)) − (y − e·λ)]  =  Σ w·e·[r·log(r/λ) − (r − λ)]

Used wherever a target is read: for training by ``training_set.py``, for comparison with predictions by ``find_truth``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_exact, safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table, read
from treewise.errors import ColumnError, DataError, Param, ParameterError
from treewise.train.column_roles import read_array
from treewise.train.settings import Settings
from treewise.train.target import find_target_column
from treewise.tree.fit_info import FitOptions
from treewise.tree.model import Model

Floats = npt.NDArray[np.float64]


def read_exposure(table: Table, given: Any) -> Floats:
    """Read and check the exposure of the rows: a column by name, or an array."""
    column = table[given] if isinstance(given, str) else read_array(table, "exposure", given)
    exposure = encode.encode_numbers(column)
    for fault, rows in (
        ("missing", np.flatnonzero(np.isnan(exposure))),
        ("infinite", np.flatnonzero(np.isinf(exposure))),
        ("not above 0", np.flatnonzero(exposure <= 0)),
    ):
        if len(rows):
            value = f" ({format_exact(exposure[rows[0]])})" if fault == "not above 0" else ""
            raise DataError(
                Param("exposure") + f" is {fault} in row {rows[0] + 1:,}{value}.",
                hint="Leave out rows that were not observed.",
            )
    return exposure


def to_rates(column: Column, exposure: Floats) -> Column:
    """Return the target per unit of exposure; missing targets stay missing."""
    with np.errstate(over="ignore"):
        rates = encode.encode_numbers(column) / exposure
    infinite = np.flatnonzero(np.isinf(rates))
    if len(infinite):
        raise DataError(
            f'target "{safe(column.name)}" per ' + Param("exposure") + f" overflows in row {infinite[0] + 1:,}."
        )
    return replace(read({"rate": rates}, name="rates")["rate"], name=column.name)


def settings_of_rates(settings: Settings, given: str | None, task: str | None) -> Settings:
    """Return the settings with the criterion of rates; raise if another criterion or classes were requested."""
    if task == "classification":
        raise ParameterError(
            "classes have no rate.", parameter="exposure", hint="Leave it out, or " + Param("task", "regression") + "."
        )
    if given not in (None, "poisson"):
        raise ParameterError(
            "rates of counts are compared by the Poisson deviance.",
            parameter="criterion",
            value=given,
            hint="Leave it out, or leave out " + Param("exposure") + ".",
        )
    return replace(settings, criterion="poisson")


# -- comparing a model with a table ------------------------------------------------------------------------------------


def find_truth(model: Model, table: Table, target: Any) -> Column:
    """Find the true labels that a model is compared with: the target, for a model of rates per unit of exposure."""
    column = find_target_column(model, table, target)
    exposure = exposure_for(model.fit_info.fit_options, table)
    return column if exposure is None else to_rates(column, exposure)


def weigh_by_exposure(model: Model, table: Table, weight: Floats) -> Floats:
    """Return the weights of rows to compare with a model: times their exposure, if it predicts rates."""
    exposure = exposure_for(model.fit_info.fit_options, table)
    return weight if exposure is None else weight * exposure


def exposure_for(fit_options: FitOptions, table: Table) -> Floats | None:
    """Return the exposure of a table's rows, read as a model was trained; None if it does not predict rates."""
    if fit_options.has_exposure_array:
        raise DataError(
            "the tree was grown with an exposure given as an array, which is not kept.",
            hint="Put it into a column of the table, name it, and grow the tree again.",
        )
    name = fit_options.exposure
    if name is None:
        return None
    if name not in table.columns:
        raise ColumnError(f'no column "{safe(name)}" in {table.name}: the tree predicts rates per unit of it.')
    return read_exposure(table, name)
