"""Columns that are written batch by batch, in memory or in files: a table that is larger than memory.

``batches.py`` reads files batch by batch and writes them here; the columns are then read like any others. In files they
are memory-mapped (``store_folder.py``): the core reads them in place, and the operating system keeps in memory what it
has room for.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from treewise.data.column import (
    NAT,
    Array,
    Column,
    Form,
    LazyColumns,
    bool_column,
    datetime_column,
    float_column,
    int_column,
    missing_column,
    read_only,
    truncate,
)
from treewise.data.convert import MAX_EXACT_INT, TICKS_PER_DAY
from treewise.data.store_folder import StoreFolder
from treewise.errors import DataError

_STEP = 1 << 20  # rows changed at a time
_GROWING_PER_ROW = 48  # bytes of targets, weights and row numbers


@dataclass(frozen=True)
class ColumnPlan:
    """The type of a column of the files, before its cells are read."""

    name: str
    form: Form | Literal["missing"]  # "missing": no file has a value
    dtype: str = "float64"  # of numbers
    unit: str = ""  # of datetimes
    labels: tuple[str, ...] = ()  # of a category that declares them
    finish: Callable[[Column], Column] | None = field(default=None, compare=False)  # applied to the whole column
    error: DataError | None = field(default=None, compare=False)  # raised when the column is used

    @property
    def stored_dtype(self) -> np.dtype[Any]:
        """The type of the stored values."""
        codes = {"text": "int32", "category": "int32", "bool": "uint8", "datetime": "int64", "missing": "uint8"}
        return np.dtype(codes.get(self.form, self.dtype))

    @property
    def has_mask(self) -> bool:
        """Whether missing cells are stored in a mask."""
        return self.form in ("int", "bool")

    @property
    def bytes_per_row(self) -> int:
        """The size of a cell."""
        return 0 if self.form == "missing" or self.error else self.stored_dtype.itemsize + self.has_mask


class ColumnStore:
    """Columns of ``n_rows`` rows, written in batches; in files if there is a ``folder``."""

    def __init__(self, specs: Sequence[ColumnPlan], n_rows: int, folder: StoreFolder | None = None) -> None:
        self.specs, self.n_rows, self._folder = list(specs), n_rows, folder
        if folder is not None:
            folder.reserve([size for s in specs for size in (n_rows * s.stored_dtype.itemsize, n_rows)])
        self._values = [self._allocate(s.stored_dtype, s) for s in specs]
        self._missing = [self._allocate(np.dtype(bool), s) if s.has_mask else None for s in specs]
        self._codes: list[dict[str, int]] = [{label: i for i, label in enumerate(s.labels)} for s in specs]
        self.n_written = 0
        if folder is not None:
            self._resume(folder)

    def _allocate(self, dtype: np.dtype[Any], spec: ColumnPlan) -> Array:
        n_rows = self.n_rows if spec.bytes_per_row else 0
        return np.empty(n_rows, dtype) if self._folder is None else self._folder.allocate(dtype, n_rows)

    def remove(self) -> None:
        """Remove the folder now, if there is one."""
        if self._folder is not None:
            self._folder.remove()

    # -- writing ------------------------------------------------------------------------------------------------------

    def write(self, columns: Sequence[Column | None], n: int) -> None:
        """Write the next ``n`` rows; None for a column without a value in them, or one that cannot be read."""
        rows = slice(self.n_written, self.n_written + n)
        new_labels = {}
        for i, (spec, column) in enumerate(zip(self.specs, columns, strict=True)):
            if not spec.bytes_per_row:
                continue
            n_known = len(self._codes[i])
            values, missing = self._to_stored(i, column, n)
            self._values[i][rows] = values
            if (mask := self._missing[i]) is not None:
                mask[rows] = missing
            if len(self._codes[i]) > n_known:
                new_labels[i] = list(self._codes[i])[n_known:]
        self.n_written = rows.stop
        if self._folder is not None:
            self._folder.log(rows, new_labels, self.checksums(rows))

    def _to_stored(self, i: int, column: Column | None, n: int) -> tuple[Any, Any]:
        """Return the values of a batch as they are stored, and which are missing."""
        spec = self.specs[i]
        if column is None or column.is_all_missing():
            empty = {"text": -1, "category": -1, "datetime": NAT, "float": np.nan}.get(spec.form, 0)
            return np.full(n, empty, spec.stored_dtype), True
        missing = column.is_missing()
        if column.is_coded:
            codes = self._codes[i]
            new = np.array([codes.setdefault(label, len(codes)) for label in column.labels] + [-1], np.int32)
            return new[column.values], missing
        if spec.form == "datetime":
            factor = TICKS_PER_DAY[spec.unit] // TICKS_PER_DAY[column.unit]
            return np.where(missing, NAT, column.values * factor), missing
        if spec.form == "float" and column.form == "int":
            values = column.values.astype(np.float64)
            values[missing] = np.nan
            if np.nanmax(np.abs(values), initial=0) > MAX_EXACT_INT:
                raise DataError(
                    f'column "{truncate(spec.name)}": some files hold whole numbers past 2^53, others fractions.',
                    hint="Write the column with one type.",
                    column=spec.name,
                )
            return values, missing
        return column.values, missing

    def checksums(self, rows: slice) -> list[int]:
        """Return a checksum for each stored array, of some rows."""
        arrays = [array for array in (*self._values, *self._missing) if array is not None and len(array)]
        return [zlib.crc32(np.ascontiguousarray(array[rows]).view(np.uint8)) for array in arrays]

    def _resume(self, folder: StoreFolder) -> None:
        """Continue after the last complete batch of a process that was killed."""
        n_valid = 0
        for start, stop, new_labels, checksums in folder.read_journal():
            if start != self.n_written or self.checksums(slice(start, stop)) != checksums:
                break
            for i, labels in new_labels.items():
                codes = self._codes[int(i)]
                codes |= {label: len(codes) + k for k, label in enumerate(labels)}
            self.n_written = stop
            n_valid += 1
        folder.truncate_journal(n_valid)

    # -- reading ------------------------------------------------------------------------------------------------------

    def columns(self) -> LazyColumns:
        """Return the columns; every row must have been written."""
        assert self.n_written == self.n_rows
        return LazyColumns({spec.name: partial(self._column, i) for i, spec in enumerate(self.specs)}, self.n_rows)

    def _column(self, i: int) -> Column:
        spec, values = self.specs[i], self._values[i]
        if spec.error is not None:
            raise spec.error
        column = self._build(i, spec, values)
        column = column if spec.finish is None else spec.finish(column)
        return replace(column, values=self.keep(column.values))

    def _build(self, i: int, spec: ColumnPlan, values: Array) -> Column:
        missing = self._missing[i]
        if spec.form == "missing":
            return missing_column(spec.name, self.n_rows)
        if spec.form == "float":
            return float_column(spec.name, values)
        if missing is not None and missing.all():
            return missing_column(spec.name, self.n_rows)
        if spec.form == "int":
            return int_column(spec.name, values, missing)
        if spec.form == "bool":
            return bool_column(spec.name, values, missing)
        if spec.form == "datetime":
            column = datetime_column(spec.name, values.view(f"datetime64[{spec.unit}]"))
            return missing_column(spec.name, self.n_rows) if column.is_all_missing() else column
        return self._sorted_labels(i, spec, values)

    def _sorted_labels(self, i: int, spec: ColumnPlan, values: Array) -> Column:
        """Return a column of codes, whose labels are sorted unless they were declared."""
        form: Form = "category" if spec.form == "category" else "text"
        labels = list(self._codes[i])
        if not spec.labels:
            order = sorted(range(len(labels)), key=labels.__getitem__)
            new_code = np.empty(len(labels) + 1, np.int32)  # the last entry is for missing cells
            new_code[order], new_code[-1] = np.arange(len(labels), dtype=np.int32), -1
            sorted_codes = self.keep(np.empty(0, np.int32), n_rows=self.n_rows)
            for start in range(0, self.n_rows, _STEP):
                sorted_codes[start : start + _STEP] = new_code[values[start : start + _STEP]]
            labels, values = [labels[k] for k in order], sorted_codes
        return Column(spec.name, form, read_only(values), labels=tuple(labels))

    def keep(self, values: Array, n_rows: int | None = None) -> Array:
        """Return an array as it is, or moved to a file if the columns are in files; with ``n_rows`` a new one."""
        base: Any = values
        while isinstance(base, np.ndarray):
            base = base.base
        is_new = n_rows is not None
        if self._folder is None or (isinstance(base, mmap.mmap) and not is_new):
            return np.empty(n_rows, values.dtype) if n_rows is not None else values
        mapped = self._folder.allocate(values.dtype, len(values) if n_rows is None else n_rows)
        if is_new:
            return mapped
        mapped[:] = values
        return read_only(mapped)


def bytes_needed(specs: Sequence[ColumnPlan], n_rows: int) -> tuple[int, int]:
    """Return the bytes of the columns, and those that growing needs besides: bins, targets, weights, row numbers."""
    return n_rows * sum(spec.bytes_per_row for spec in specs), n_rows * (len(specs) + _GROWING_PER_ROW)
