"""One column as it came in: its physical form, and no judgement yet about what it means.

Stands at the bottom of the flow: ``reading.py`` and ``csvfile.py`` make columns from whatever the user gave,
``table`` bundles them, ``encode`` decides what they are for the learner.

    form       values                                           missing
    float      float64 or float32, with any stride              NaN
    int        whole numbers of up to 64 bits, as they came     mask
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

_HEAD, _MANY_CELLS = 100, 10_000  # cells that mostly tell
NAT = -(2**63)  # how NumPy writes a missing datetime
_FINER_UNITS = (("ns", 1000), ("us", 1000), ("ms", 1000), ("s", 86400))  # each unit, and how many make up the next
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
    missing: Mask | None = None  # int, bool, datetime: where nothing stands; None when everything is there
    labels: tuple[str, ...] = ()
    ordered: bool = False  # the labels of a category have an order
    unit: str = ""  # of a datetime: the coarsest of D, s, ms, us, ns that is exact

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_coded(self) -> bool:
        """Whether values are codes into labels."""
        return self.form in ("text", "category")

    def is_missing(self) -> Mask:
        """Return where nothing stands."""
        if self.form == "float":
            return np.asarray(np.isnan(self.values))
        if self.is_coded:
            return np.asarray(self.values < 0)
        return np.zeros(len(self), np.bool_) if self.missing is None else self.missing

    def is_all_missing(self) -> bool:
        """Tell whether every cell is missing; mostly the first few already say no."""
        head = replace(self, values=self.values[:_HEAD], missing=None if self.missing is None else self.missing[:_HEAD])
        return bool(head.is_missing().all() and self.is_missing().all())

    def equals(self, other: Column) -> bool:
        """Tell whether two columns hold the same, whatever they are called."""
        return (
            (self.form, self.labels, self.unit) == (other.form, other.labels, other.unit)
            and np.array_equal(self.is_missing(), other.is_missing())
            and np.array_equal(self.values[~self.is_missing()], other.values[~other.is_missing()])
        )

    def take(self, rows: Array) -> Column:
        """Return these rows (numbers from 0, or a mask), in this order."""
        missing = None if self.missing is None else self.missing[rows]
        if missing is not None and not missing.any():
            missing = None
        taken = replace(self, values=self.values[rows], missing=missing)
        return taken.drop_unused_labels() if self.form == "text" else taken

    def drop_unused_labels(self) -> Column:
        """Return the column with only those labels that occur."""
        used = np.zeros(len(self.labels) + 1, np.bool_)  # the last place takes the -1 of missing cells
        for cells in (
            self.values[:_MANY_CELLS],
            self.values[_MANY_CELLS:],
        ):  # few labels mostly occur among the first cells
            used[cells] = True
            if used[:-1].all():
                return self
        used[-1] = False
        new_code = np.append(np.cumsum(used[:-1]) - 1, -1).astype(np.int32)
        labels = tuple(label for label, kept in zip(self.labels, used.tolist(), strict=False) if kept)
        return replace(self, values=new_code[self.values], labels=labels)

    def expand(self, per_label: Array, at_missing: Any) -> Array:
        """Turn one value a label into one value a cell."""
        return np.append(per_label, np.array([at_missing], per_label.dtype))[self.values]

    def first_row_with(self, per_label: Mask) -> int:
        """Return the first row (from 0) whose label is marked."""
        return int(np.argmax(self.expand(per_label, False)))

    def format_cell(self, row: int) -> str:
        """Write one cell for a message."""
        if self.is_coded:
            return f'"{safe(self.labels[self.values[row]])}"'
        if self.form == "bool":
            return "true" if self.values[row] else "false"
        if self.form == "datetime":
            return format_datetime(int(self.values[row]), self.unit)
        return format_exact(self.values[row].item())


class LazyColumns(Mapping[str, Column]):
    """Columns by name, in order, each converted when it is first asked for.

    So an odd column that is ignored costs nothing and stops nobody; prediction converts only what it needs.
    """

    def __init__(self, makers: Mapping[str, Column | Callable[[], Column]], n_rows: int) -> None:
        self._made = dict(makers)
        self.n_rows = n_rows

    def __getitem__(self, name: str) -> Column:
        made = self._made[name]
        if not isinstance(made, Column):
            made = self._made[name] = made()
        return made

    def convert(self, names: Iterable[str]) -> None:
        """Convert several columns at once, in threads; what goes wrong is said when the column is asked for."""
        waiting = [name for name in names if name in self._made and not isinstance(self._made[name], Column)]
        run_in_threads([partial(self.__getitem__, name) for name in waiting], rows=self.n_rows)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._made  # Mapping's own would convert the column

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def shell_word(text: str) -> str:
    """Write a name as one types it on the command line: in quotes where the shell would cut it up.

    >>> shell_word("visit_no"), shell_word("visit no")
    ('visit_no', '"visit no"')
    """
    plain = text.isascii() and all(ch.isalnum() or ch in "_-.=" for ch in text)
    return safe(text) if plain else f'"{safe(text)}"'


def truncate(text: object, most: int = 200) -> str:
    """Write a path or a reason for a message; somebody may have given a whole file's text as its name."""
    said = safe(text)
    return said if len(said) <= most else f"{said[:most]}…"


def format_datetime(value: int, unit: str) -> str:
    """Write a point in time: ``2024-03-31`` or ``2024-03-31 14:30:00``."""
    return str(np.array(value, f"datetime64[{unit}]")).replace("T", " ")


def float_column(name: str, values: Array) -> Column:
    """Make a column of numbers; float64 and float32 are not copied, also where they are one column of a matrix."""
    values = np.asarray(values)
    if values.dtype in (np.float64, np.float32) and values.strides[0] % values.itemsize == 0:
        return Column(name, "float", read_only(values))
    dtype = np.float32 if values.itemsize <= 4 else np.float64
    with np.errstate(over="ignore"):  # a longer float past the largest double is infinite
        return Column(name, "float", read_only(np.ascontiguousarray(values, dtype)))


def int_column(name: str, values: Array, missing: Mask | None = None) -> Column:
    """Make a column of whole numbers; those past 2^63-1 stay text, and ``encode`` asks what they are."""
    if values.dtype.kind == "u" and values.dtype.itemsize == 8 and len(values) and int(values.max()) >= 2**63:
        gone = np.zeros(len(values), np.bool_) if missing is None else missing
        return text_column(name, [None if g else str(v) for v, g in zip(values.tolist(), gone.tolist(), strict=True)])
    if values.dtype == np.uint64 or not values.dtype.isnative:
        values = values.astype(np.int64)
    return Column(name, "int", read_only(np.asarray(values)), any_or_none(missing))


def bool_column(name: str, values: Array, missing: Mask | None = None) -> Column:
    """Make a column of booleans."""
    return Column(name, "bool", read_only(values.astype(np.uint8)), any_or_none(missing))


def text_column(name: str, cells: list[str | None]) -> Column:
    """Make a column of text from Python strings.

    >>> text_column("town", ["Rome", None, "Bari"]).values.tolist()
    [1, -1, 0]
    """
    different = set(cells)
    different.discard(None)
    labels = sort_interruptible([cell for cell in different if cell is not None])
    check_unicode(name, labels)
    code: dict[str | None, int] = {label: i for i, label in enumerate(labels)}
    code[None] = -1
    values = np.fromiter(map(code.__getitem__, cells), np.int32, len(cells))
    return Column(name, "text", read_only(values), labels=tuple(labels))


def datetime_column(name: str, values: Array, missing: Mask | None = None) -> Column:
    """Make a column of points in time from datetime64, in the coarsest unit that is exact.

    >>> c = datetime_column("d", np.array(["2024-03-31T00:00:00", "NaT"], "datetime64[us]"))
    >>> c.unit, c.format_cell(0), c.is_missing().tolist()
    ('D', '2024-03-31', [False, True])
    """
    unit, step = np.datetime_data(values.dtype)
    wanted = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}.get(unit, unit if unit in UNITS else "ns")
    if wanted != unit or step != 1:
        same = values.astype(f"datetime64[{wanted}]")
        back = same.astype(values.dtype)
        if not np.array_equal(back, values, equal_nan=True):
            raise DataError(
                f'column "{safe(name)}": times finer than a nanosecond, or too far from 1970, cannot be kept.'
                " Round them, or make them numbers."
            )
        values, unit = same, wanted
    ticks = values.view(np.int64)
    gone = ticks == NAT if missing is None else (ticks == NAT) | missing
    there = ticks[~gone]
    factor = 1
    for finer, many in _FINER_UNITS:
        if finer == unit and not np.any(there % (factor * many)):
            factor *= many
            unit = UNITS[UNITS.index(finer) - 1]
    return Column(name, "datetime", read_only(np.where(gone, 0, ticks // factor)), any_or_none(gone), unit=unit)


def missing_column(name: str, n_rows: int) -> Column:
    """Make a column in which nothing stands."""
    return Column(name, "float", read_only(np.full(n_rows, np.nan)))


def any_or_none(missing: Mask | None) -> Mask | None:
    """Return the mask if it marks anything."""
    return missing if missing is not None and missing.any() else None


def read_only(values: Array) -> Array:
    """Return a read-only view: a column may share memory with the user's table."""
    view = values.view()
    view.flags.writeable = False
    return view


def check_unicode(name: str, labels: list[str], what: str = "text") -> None:
    """Refuse half characters (lone surrogates), which no file could hold."""
    try:
        "".join(labels).encode()
    except UnicodeEncodeError:
        bad = next(label for label in labels if any("\ud800" <= ch <= "\udfff" for ch in label))
        raise DataError(
            f'column "{safe(name)}": the {what} {bad!a} is not valid Unicode. Decode it properly first.'
        ) from None
