"""Rows of results as a dataframe, for whoever wants to go on with them.

The way out, as ``reading.py`` is the way in; ``sheet.py`` asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    Frame = pl.DataFrame


def to_frame(columns: Mapping[str, tuple[str, list[Any]]]) -> pl.DataFrame:
    """Make a polars dataframe of columns, each with the kind of its values and the values.

    >>> to_frame({"class": ("label", ["a", 1]), "rows": ("count", [3, None])}).rows()
    [('a', 3), ('1', None)]
    """
    import polars as pl

    types = {"text": pl.String, "count": pl.Int64, "number": pl.Float64, "share": pl.Float64, "flag": pl.Boolean}
    series = []
    for name, (kind, values) in columns.items():
        dtype: Any = types.get(kind)
        if kind == "label":
            dtype = label_type([v for v in values if v is not None])
        elif kind == "count" and any(isinstance(v, float) and v != int(v) for v in values):  # rows with weights
            dtype = pl.Float64
        if dtype == pl.String:
            values = [in_text(v) for v in values]
        series.append(pl.Series(values, dtype=dtype, strict=False).alias(name))
    return pl.DataFrame(series)


def arrays_to_frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Make a polars dataframe of arrays; a column of labels is a pair: the labels, and the number of one for each row.

    Missing numbers (NaN) become null.

    >>> import numpy as np
    >>> arrays_to_frame({"class": (("a", "b"), np.array([1, 0])), "p": np.array([0.5, np.nan])}).rows()
    [('b', 0.5), ('a', None)]
    """
    import polars as pl

    series = []
    for name, values in columns.items():
        if isinstance(values, tuple):
            labels, numbers = values
            dtype = label_type(list(labels))
            cells = [in_text(label) for label in labels] if dtype == pl.String else list(labels)
            column = pl.Series(cells, dtype=dtype).gather(numbers)
        else:
            column = pl.Series(values, nan_to_null=True)
        series.append(column.alias(name))
    return pl.DataFrame(series)


def label_type(labels: list[Any]) -> Any:
    """Return what a column of labels or predictions is: text, unless all are of one other kind."""
    import polars as pl

    kinds = {type(label) for label in labels}
    if not kinds or not kinds <= {bool, int, float} or (bool in kinds and len(kinds) > 1):
        return pl.String
    return pl.Boolean if kinds == {bool} else pl.Int64 if kinds == {int} else pl.Float64


def in_text(value: Any) -> str | None:
    """Return a value as the text of a cell; lists as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict, bool)) else str(value)
