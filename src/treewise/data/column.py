"""A column as read: its physical form, before ``encoding.py`` decides what it means to the learner.

``csv_file.py`` and ``frames.py`` build columns with the functions below; a ``Table`` holds them.

    form       values                                           missing
    float      float64 or float32, any stride                   NaN
    int        integers of up to 64 bits                        mask
    bool       uint8                                            mask
    datetime   int64 in ``unit`` since 1970 UTC                 mask
    text       int32 codes into ``labels`` (distinct, sorted)   -1
    category   int32 codes into ``labels`` (as declared)        -1
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from treewise._lib.interruptible import run_in_threads, sort_interruptible
from treewise._lib.text import format_exact, safe
from treewise.errors import DataError

Form = Literal["float", "int", "bool", "text", "category", "datetime"]
Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_HEAD, _MANY_CELLS = 100, 10_000  # cells checked before all others, for speed
NAT = -(2**63)  # NumPy's missing datetime
_FINER_UNITS = (
    ("ns", 1000),
    ("us", 1000),
    ("ms", 1000),
    ("s", 86400),
)  # each unit, and how many make the next coarser one
UNITS = ("D", "s", "ms", "us", "ns")

FORM_NAMES = {
    "float": "numbers",
    "int": "numbers",
    "bool": "true/false",
    "text": "text",
    "category": "categories",
    "datetime": "dates",
}


@dataclass(frozen=True, eq=False)
class Column:
    """A named column in one of the six forms above.

    >>> town = Column("town", "text", np.array([1, 0, -1], np.int32), labels=("Bari", "Rome"))
    >>> len(town), town.is_missing().tolist(), town.format_cell(0), town.take(np.array([0])).labels
    (3, [False, False, True], '"Rome"', ('Rome',))
    """

    name: str
    form: Form
    values: Array
    missing: Mask | None = None  # int, bool, datetime: mask of missing cells; None if there are none
    labels: tuple[str, ...] = ()
    ordered: bool = False  # whether the labels of a category are ordered
    unit: str = ""  # for datetimes: the coarsest of D, s, ms, us, ns that is exact
    rounding: str = ""  # for floats: a note if different numbers were given that share a double

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_coded(self) -> bool:
        """Whether the values are codes into ``labels``."""
        return self.form in ("text", "category")

    def is_missing(self) -> Mask:
        """Return a mask of the missing cells."""
        if self.form == "float":
            return np.asarray(np.isnan(self.values))
        if self.is_coded:
            return np.asarray(self.values < 0)
        return np.zeros(len(self), np.bool_) if self.missing is None else self.missing

    def is_all_missing(self) -> bool:
        """Return whether every cell is missing; the first few usually decide it."""
        if self.form == "float" and len(self) and self.values[0] == self.values[0]:  # not NaN
            return False
        head = replace(self, values=self.values[:_HEAD], missing=None if self.missing is None else self.missing[:_HEAD])
        return bool(head.is_missing().all() and self.is_missing().all())

    def equals(self, other: Column) -> bool:
        """Return whether two columns have equal cells; names do not matter."""
        return (
            (self.form, self.labels, self.unit) == (other.form, other.labels, other.unit)
            and np.array_equal(self.is_missing(), other.is_missing())
            and np.array_equal(self.values[~self.is_missing()], other.values[~other.is_missing()])
        )

    def take(self, rows: Array) -> Column:
        """Return the given rows (indexes from 0, or a mask), in this order."""
        missing = None if self.missing is None else self.missing[rows]
        if missing is not None and not missing.any():
            missing = None
        selected = replace(self, values=self.values[rows], missing=missing)
        return selected.drop_unused_labels() if self.form == "text" else selected

    def drop_unused_labels(self) -> Column:
        """Return the column with only the labels that occur."""
        used = np.zeros(len(self.labels) + 1, np.bool_)  # the last entry is for the code -1 of missing cells
        for cells in (
            self.values[:_MANY_CELLS],
            self.values[_MANY_CELLS:],
        ):  # with few labels, the first cells usually have them all
            used[cells] = True
            if used[:-1].all():
                return self
        used[-1] = False
        new_code = np.append(np.cumsum(used[:-1]) - 1, -1).astype(np.int32)
        labels = tuple(label for label, kept in zip(self.labels, used.tolist(), strict=False) if kept)
        return replace(self, values=new_code[self.values], labels=labels)

    def expand(self, per_label: Array, at_missing: Any) -> Array:
        """Map an array with one value per label to one value per cell."""
        return np.append(per_label, np.array([at_missing], per_label.dtype))[self.values]

    def first_row_with(self, per_label: Mask) -> int:
        """Return the first row (from 0) whose label is set in the mask."""
        return int(np.argmax(self.expand(per_label, False)))

    def format_cell(self, row: int) -> str:
        """Format one cell for a message."""
        if self.is_coded:
            return f'"{truncate(self.labels[self.values[row]])}"'
        if self.form == "bool":
            return "true" if self.values[row] else "false"
        if self.form == "datetime":
            return format_datetime(int(self.values[row]), self.unit)
        return format_exact(self.values[row].item())


class LazyColumns(Mapping[str, Column]):
    """Columns by name, in order, each converted on first access.

    An unreadable column that is ignored raises no error, and prediction converts only the columns it needs.
    """

    def __init__(self, makers: Mapping[str, Column | Callable[[], Column]], n_rows: int) -> None:
        self._columns = dict(makers)
        self.n_rows = n_rows

    def __getitem__(self, name: str) -> Column:
        converted = self._columns[name]
        if not isinstance(converted, Column):
            converted = self._columns[name] = converted()
        return converted

    def convert(self, names: Iterable[str]) -> None:
        """Convert several columns in parallel; errors are raised when a column is accessed."""
        waiting = [name for name in names if name in self._columns and not isinstance(self._columns[name], Column)]
        run_in_threads([partial(self.__getitem__, name) for name in waiting], rows=self.n_rows)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._columns  # Mapping's version would convert the column

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def truncate(text: object, length: int = 60) -> str:
    """Write a name or a cell for a message: on one line, and not too long."""
    printable = safe(text)
    return printable if len(printable) <= length else f"{printable[:length]}…"


def format_datetime(value: int, unit: str) -> str:
    """Format a datetime: ``2024-03-31`` or ``2024-03-31 14:30:00``."""
    return str(np.array(value, f"datetime64[{unit}]")).replace("T", " ")


def float_column(name: str, values: Array) -> Column:
    """Build a column of floats; float64 and float32 are not copied, even as one column of a matrix."""
    values = np.asarray(values)
    if values.dtype in (np.float64, np.float32) and values.strides[0] % values.itemsize == 0:
        return Column(name, "float", read_only(values))
    dtype = np.float32 if values.itemsize <= 4 else np.float64
    with np.errstate(over="ignore"):  # a longer float past the largest double is infinite
        return Column(name, "float", read_only(np.ascontiguousarray(values, dtype)))


def int_column(name: str, values: Array, missing: Mask | None = None) -> Column:
    """Build a column of integers; if some exceed 2^63 - 1 it becomes text, which ``encoding.py`` rejects or keeps."""
    if values.dtype.kind == "u" and values.dtype.itemsize == 8 and len(values) and int(values.max()) >= 2**63:
        is_missing = np.zeros(len(values), np.bool_) if missing is None else missing
        return text_column(
            name, [None if g else str(v) for v, g in zip(values.tolist(), is_missing.tolist(), strict=True)]
        )
    if values.dtype == np.uint64 or not values.dtype.isnative:
        values = values.astype(np.int64)
    return Column(name, "int", read_only(np.asarray(values)), any_or_none(missing))


def bool_column(name: str, values: Array, missing: Mask | None = None) -> Column:
    """Build a column of booleans."""
    return Column(name, "bool", read_only(values.astype(np.uint8)), any_or_none(missing))


def text_column(name: str, cells: list[str | None]) -> Column:
    """Build a column of text from Python strings.

    >>> text_column("town", ["Rome", None, "Bari"]).values.tolist()
    [1, -1, 0]
    """
    distinct = set(cells)
    distinct.discard(None)
    labels = sort_interruptible([cell for cell in distinct if cell is not None])
    check_unicode(name, labels)
    code: dict[str | None, int] = {label: i for i, label in enumerate(labels)}
    code[None] = -1
    values = np.fromiter(map(code.__getitem__, cells), np.int32, len(cells))
    return Column(name, "text", read_only(values), labels=tuple(labels))


def datetime_column(name: str, values: Array, missing: Mask | None = None) -> Column:
    """Build a column of datetimes from datetime64, in the coarsest exact unit.

    >>> c = datetime_column("d", np.array(["2024-03-31T00:00:00", "NaT"], "datetime64[us]"))
    >>> c.unit, c.format_cell(0), c.is_missing().tolist()
    ('D', '2024-03-31', [False, True])
    """
    unit, step = np.datetime_data(values.dtype)
    target_unit = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}.get(unit, unit if unit in UNITS else "ns")
    if target_unit != unit or step != 1:
        converted = values.astype(f"datetime64[{target_unit}]")
        back = converted.astype(values.dtype)
        if not np.array_equal(back, values, equal_nan=True):
            raise DataError(
                f'column "{truncate(name)}": times finer than a nanosecond, or too far from 1970, cannot be kept.'
                " Round them, or make them numbers."
            )
        values, unit = converted, target_unit
    ticks = values.view(np.int64)
    is_missing = ticks == NAT if missing is None else (ticks == NAT) | missing
    present = ticks[~is_missing]
    factor = 1
    for unit_, per_coarser in _FINER_UNITS:
        if unit_ == unit and not np.any(present % (factor * per_coarser)):
            factor *= per_coarser
            unit = UNITS[UNITS.index(unit_) - 1]
    return Column(
        name, "datetime", read_only(np.where(is_missing, 0, ticks // factor)), any_or_none(is_missing), unit=unit
    )


def missing_column(name: str, n_rows: int) -> Column:
    """Build a column of missing cells."""
    return Column(name, "float", read_only(np.full(n_rows, np.nan)))


def any_or_none(missing: Mask | None) -> Mask | None:
    """Return the mask, or None if nothing is set."""
    return missing if missing is not None and missing.any() else None


def read_only(values: Array) -> Array:
    """Return a read-only view: a column may share memory with the caller's data."""
    view = values.view()
    view.flags.writeable = False
    return view


def check_unicode(name: str, labels: list[str], what: str = "text") -> None:
    """Raise for lone surrogates, which cannot be written as UTF-8."""
    try:
        "".join(labels).encode()
    except UnicodeEncodeError:
        bad = next(label for label in labels if any("\ud800" <= ch <= "\udfff" for ch in label))
        raise DataError(
            f'column "{truncate(name)}": the {what} {truncate(ascii(bad))} is not valid Unicode.'
            " Decode it properly first."
        ) from None
