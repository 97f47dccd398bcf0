"""A few cells that have the same encoding as all cells of a column: what is known about a column that is elsewhere.

A database or a cluster has the rows; ``encoding.fit_encoding`` learns from a sample what it would learn from all of
them: the distinct labels of text, the smallest and the largest number, and a fraction if there is one. Samples of the
parts of a table are joined to one of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treewise.data.column import UNITS, Array, Column, read_only, text_column, truncate
from treewise.data.convert import TICKS_PER_DAY
from treewise.errors import DataError

_FEW = 1 << 10  # cells that are looked at before all others


def sample_column(column: Column, distinct: bool = False) -> Column:
    """Return a few cells with the same encoding as all of them; with ``distinct`` each value once.

    >>> from treewise.data.table import read
    >>> sample_column(read({"x": [3.0, 1.0, 2.5, 9.0, None]})["x"]).values.tolist()
    [1.0, 9.0, 2.5]
    """
    is_missing = column.is_missing()
    present = np.flatnonzero(~is_missing) if is_missing.any() else None  # None: all cells
    values = column.values if present is None else column.values[present]
    if not len(values):
        return column.take(np.arange(min(1, len(column))))
    if distinct or column.is_coded or column.form == "bool":
        rows = np.unique(values, return_index=True)[1]
    else:
        ends = [values.argmin(), values.argmax(), *_first_fraction(column, values)]
        rows = np.array(list(dict.fromkeys(ends)), np.int64)  # each once
    sample = replace(column, values=values[rows], missing=None)
    return sample.drop_unused_labels() if column.form == "text" else sample


def _first_fraction(column: Column, values: Array) -> Array:
    """Return the index of the first value that is not a whole number, if there is one."""
    if column.form != "float":
        return np.zeros(0, np.int64)
    for first, after in ((0, _FEW), (_FEW, len(values))):
        fractions = np.flatnonzero(np.floor(values[first:after]) != values[first:after])[:1]
        if len(fractions):
            return fractions + first
    return np.zeros(0, np.int64)


def join_samples(samples: Sequence[Column]) -> Column:
    """Return a sample of a column from those of its parts; parts without a value do not count.

    >>> from treewise.data.table import read
    >>> parts = [read({"x": cells})["x"] for cells in ([1, 2], [None], [0.5])]
    >>> join_samples([sample_column(part) for part in parts]).values.tolist()
    [1.0, 2.0, 0.5]
    """
    filled = [sample for sample in samples if not sample.is_all_missing()] or samples[:1]
    first, forms = filled[0], {sample.form for sample in filled}
    if len(filled) == 1:
        return first
    if forms == {"int", "float"}:
        return replace(first, form="float", values=read_only(_join([s.values.astype(np.float64) for s in filled])))
    if len(forms) > 1:
        raise DataError(
            f'column "{truncate(first.name)}" is {" in some parts of the table, and ".join(sorted(forms))} in others.',
            hint="Give it one type.",
            column=first.name,
        )
    if first.form == "text":
        return text_column(first.name, [*{label for sample in filled for label in sample.labels}])
    if first.form == "category":
        labels = tuple(dict.fromkeys(label for sample in filled for label in sample.labels))
        return replace(first, values=read_only(np.arange(len(labels), dtype=np.int32)), labels=labels)
    if first.form == "datetime":
        unit = max((sample.unit for sample in filled), key=UNITS.index)
        ticks = [s.values * (TICKS_PER_DAY[unit] // TICKS_PER_DAY[s.unit]) for s in filled]
        return replace(first, values=read_only(_join(ticks)), unit=unit)
    return replace(first, values=read_only(_join([sample.values for sample in filled])))


def _join(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts)
