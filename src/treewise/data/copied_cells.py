"""Cells of CSV that are copied beside predictions as values: their types, by what all files hold.

Copied to CSV, a cell is the text that it was. Parquet and JSON have types, and those of a column must not depend on
where a file is cut into batches: so the files are read before, for the types alone, by the rules of ``csv_file.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from treewise.data.batches import add_facts
from treewise.data.csv_file import NumberFacts, mask_cells, refine_text
from treewise.data.frames import to_polars
from treewise.data.objects import text_from_polars

if TYPE_CHECKING:
    import polars as pl


def copied_dtypes(frames: Iterable[pl.DataFrame], markers: Sequence[str]) -> dict[str, Any]:
    """Return the dtype of each column of text cells: numbers, booleans and dates if all its cells are, else text."""
    import polars as pl

    facts: dict[str, NumberFacts | None] = {}
    text_dtypes: dict[str, set[Any]] = {}
    for frame in frames:
        for name in frame.columns:
            bare, masked = mask_cells(frame[name], markers)
            if bare.null_count() == len(bare):
                continue
            add_facts(facts, name, bare)
            column = refine_text(text_from_polars(name, masked), bare.null_count())
            is_number = (fact := facts[name]) is not None and fact.are_numbers
            text_dtypes.setdefault(name, set()).add(pl.Float64 if is_number else to_polars({name: column})[name].dtype)
    dtypes: dict[str, Any] = {}
    for name, fact in facts.items():
        if fact is not None and fact.are_numbers:
            dtypes[name] = pl.Int64 if fact.are_integers else pl.Float64
        elif all(dtype == pl.Boolean for dtype in text_dtypes[name]):
            dtypes[name] = pl.Boolean
        elif all(dtype.is_temporal() for dtype in text_dtypes[name]):
            is_date = all(dtype == pl.Date for dtype in text_dtypes[name])
            units = [str(getattr(dtype, "time_unit", "ms")) for dtype in text_dtypes[name]]
            unit: Any = max(units, key=("ms", "us", "ns").index)
            dtypes[name] = pl.Date if is_date else pl.Datetime(unit)
    return dtypes


def to_values(name: str, series: pl.Series, dtypes: Mapping[str, Any], markers: Sequence[str]) -> pl.Series:
    """Return text cells as values of the column's dtype."""
    import polars as pl

    bare, masked = mask_cells(series, markers)
    dtype = dtypes.get(name, pl.String)
    if dtype == pl.String or bare.null_count() == len(bare):
        return masked.cast(dtype)
    if dtype.is_numeric():
        return bare.cast(dtype)
    column = refine_text(text_from_polars(name, masked), bare.null_count())
    return to_polars({name: column})[name].cast(dtype)
