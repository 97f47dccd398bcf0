"""Shapley values as an ``Explanation`` of the shap package, for its plots: ``ShapValues.to_shap``.

Needs the package (``pip install "treewise[shap]"``), which computes nothing here. Its plots colour by ``data``, so
levels become their positions there, and ``display_data`` has their texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.data.column import Column
from treewise.data.table import read
from treewise.errors import ColumnError, DataError, PackageError

if TYPE_CHECKING:
    from treewise.explain.shap import ShapValues


def to_shap(result: ShapValues, data: Any) -> Any:
    """Return an ``Explanation`` with the values of a result, and the cells of the table they were computed for.

    A single row is a table of one: slicing an ``Explanation`` with cells of text needs the axis.
    """
    try:
        from shap import Explanation
    except ImportError:
        raise PackageError('the shap package is not installed: pip install "treewise[shap]".') from None
    cells = {} if data is None else _read_cells(result, data)
    values = result.values[None] if result.single else result.values
    base = np.broadcast_to(np.asarray(result.base, np.float64), (len(values), *np.shape(result.base))).copy()
    names = {"output_names": [str(label) for label in result.classes]} if result.classes else {}
    return Explanation(values, base, feature_names=list(result.columns), **cells, **names)


def _read_cells(result: ShapValues, data: Any) -> dict[str, npt.NDArray[Any]]:
    """Return the rows of a table as numbers to colour by, and as they are shown."""
    if result.single:
        data = [data] if isinstance(data, Mapping) else [dict(zip(result.columns, data, strict=True))]
    table = read(data, name="the table")
    absent = [name for name in result.columns if name not in table.columns]
    if absent:
        raise ColumnError(f'the table has no column "{safe(absent[0])}", which the values are for.')
    n_values = 1 if result.single else len(result.values)
    if len(table) != n_values:
        raise DataError(
            f"the table has {plural(len(table), 'row')}, the Shapley values are of {n_values:,}. Give the same table."
        )
    columns = [table.columns[name] for name in result.columns]
    return {
        "data": np.column_stack([_numbers(column) for column in columns]),
        "display_data": np.column_stack([_shown(column) for column in columns]),
    }


def _numbers(column: Column) -> npt.NDArray[np.float64]:
    """Return the cells as numbers; levels as their positions, missing cells as NaN."""
    return np.where(column.is_missing(), np.nan, column.values.astype(np.float64))


def _shown(column: Column) -> npt.NDArray[Any]:
    """Return the cells for readers: numbers as numbers, everything else as text."""
    shown = np.empty(len(column), object)
    if column.form in ("float", "int"):
        shown[:] = _numbers(column).tolist()
        return shown
    missing = column.is_missing().tolist()
    shown[:] = ["" if is_empty else column.format_cell(row).strip('"') for row, is_empty in enumerate(missing)]
    return shown
