"""Diagnostics of training columns: notes for the user, and errors with hints.

Called by ``encoding.py``. A note never changes the model; an error names the column, the first cell in question and
what to do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NoReturn

import numpy as np

from treewise._lib.interruptible import run_interruptible
from treewise._lib.text import format_count, plural
from treewise.data.column import Array, Column, Mask, truncate
from treewise.data.parse_cells import ParsedCells
from treewise.errors import DataError, Message, Param

_MOSTLY_NUMBERS = 0.9  # share of numbers from which other text is probably a mistake
KEY_SHARE = 0.98  # share of distinct integers from which a column is probably a key, and no amount …
_KEY_SHARE_TEXT = 0.5  # … and of distinct texts
_DECIMAL_COMMA = "numbers with a decimal comma"
_LOOKALIKES = (  # text that looks like numbers or dates but is not parsed as such
    (_DECIMAL_COMMA, re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+")),
    ("numbers with thousands commas", re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")),
    ("amounts of money", re.compile(r"[$€£¥] ?[\d.,]+|[\d.,]+ ?[$€£¥]")),
    ("percentages", re.compile(r"[+-]?[\d.,]+ ?%")),
    ("dates in another form than 2024-01-31", re.compile(r"\d{1,4}[./]\d{1,2}[./]\d{1,4}")),
)
_SAMPLE = 1000  # cells examined before all others
_MANY_LEVELS, _FEW_ROWS_PER_LEVEL = 50, 10  # more levels than that with fewer rows each are probably names
_SENTINEL_SHARE = 0.1  # share of the rows from which a value that may mean "missing" is noted
_SENTINELS = ("unknown", "not available", "not known", "unspecified", "undefined", "missing", "none", "n/a", "na", "?")
MIN_KEY_ROWS = 20  # no notes on smaller tables


def note_markers(column: Column, is_marker: Mask, kind_of_others: str) -> list[str]:
    """Return a note on the markers read as missing, with their number."""
    if not is_marker.any():
        return []
    markers_text = ", ".join(
        f'"{truncate(label)}"' for label, mark in zip(column.labels, is_marker.tolist(), strict=True) if mark
    )
    cells = plural(int(np.count_nonzero(column.expand(is_marker, False))), "cell")
    return [
        f"{truncate(column.name)}: {markers_text} read as missing in {cells} (all other cells are {kind_of_others})"
    ]


def note_alphabetical_order(name: str, levels: Sequence[str]) -> Message:
    """Return a note on the order of levels if an ordered column was declared without one."""
    text = " < ".join(truncate(level) for level in levels[:5]) + (" < …" if len(levels) > 5 else "")
    return f"{truncate(name)}: ordered alphabetically, {text}. Another order: " + Param(
        "kinds", {truncate(name): ["first", ..., "last"]}
    )


def _hint_code(name: str) -> Message:
    """Return a hint how to declare a column of codes."""
    return f"If {truncate(name)} is a code: " + Param("kinds", {truncate(name): "nominal"})


def hint_missing(cell: str) -> Message:
    """Say how to declare that a text, given as it is quoted in messages, means missing; nothing if it is shortened."""
    if cell.endswith('…"'):
        return Message()
    return "If that means missing: " + Param("na_values", [cell.removeprefix('"').removesuffix('"')]) + "."


def _hint_ignore(name: str) -> Param:
    """Return a hint how to leave a column out."""
    return Param("ignore", [truncate(name)])


def check_stray_text(column: Column, parsed: ParsedCells) -> None:
    """Raise for a column of numbers with a little other text, which may be a mistake, a marker or a code."""
    is_stray = ~(parsed.is_number | parsed.is_marker)
    if not is_stray.any() or not parsed.is_number.any():
        return
    n_strays = int(np.count_nonzero(column.expand(is_stray, False)))
    n_numbers = int(np.count_nonzero(column.expand(parsed.is_number, False)))
    if parsed.padded or n_numbers < _MOSTLY_NUMBERS * (n_numbers + n_strays):
        return
    row = column.first_row_with(is_stray)
    name, stray = truncate(column.name), column.format_cell(row)
    cells = "cells that are not, first" if n_strays > 1 else "cell that is not,"
    raise DataError(
        f'column "{name}": {plural(n_numbers, "number")} and {format_count(n_strays)} {cells} {stray} in'
        f" row {row + 1:,}.",
        hint=hint_missing(stray) + " " + _hint_code(column.name) + ".",
        column=column.name,
        row=row,
    )


def raise_too_large(column: Column, parsed: ParsedCells) -> NoReturn:
    """Raise for integers beyond 64 bits."""
    row = column.first_row_with(parsed.too_large)
    name = truncate(column.name)
    raise DataError(
        f'column "{name}": {truncate(column.labels[column.values[row]])} in row {row + 1:,} exceeds 2^63 - 1, the'
        " largest whole number that is compared exactly.",
        hint=_hint_code(column.name) + ". Else leave it out: " + _hint_ignore(column.name) + ".",
        column=column.name,
        row=row,
    )


def _looks_like(column: Column) -> str:
    """Return what all labels of a text column look like to a reader ("numbers with a decimal comma"); "" for words.

    >>> from treewise.data.table import read
    >>> _looks_like(read({"Preis": ["1.693,66", "12,50"]})["Preis"])
    'numbers with a decimal comma'
    """
    labels = _used_labels(column)
    return next(
        (
            format_name
            for format_name, form in _LOOKALIKES
            if labels and all(map(form.fullmatch, map(str.strip, labels)))
        ),
        "",
    )


def note_suspicious(column: Column) -> list[str]:
    """Return notes on a column that looks like another kind, or like a key that a tree could memorise."""
    n = len(column)
    if format_name := _looks_like(column):
        advice = (
            "Read the file with " + Param("decimal", ",") if format_name == _DECIMAL_COMMA else "Rewrite them first"
        )
        return [f"{truncate(column.name)}: read as categories, but its cells look like {format_name}. " + advice + "."]
    if n < MIN_KEY_ROWS:
        return []
    sentinels = _note_sentinels(column)
    if column.is_coded:
        return [*_note_names(column), *sentinels]
    n_distinct = count_keys(column)
    if n_distinct <= KEY_SHARE * n:
        return sentinels
    name = truncate(column.name)
    memorised = f"{name}: {n_distinct:,} different values in {n:,} rows; a tree can memorise it. Leave it out: "
    return [memorised + _hint_ignore(column.name), *sentinels]


def _note_names(column: Column) -> list[str]:
    """Return a note on a column of text with few rows per level, such as names."""
    counts = np.bincount(column.values[column.values >= 0], minlength=len(column.labels))
    counts, n = counts[counts > 0], len(column)
    is_key = len(counts) > _KEY_SHARE_TEXT * n
    if not is_key and (len(counts) <= _MANY_LEVELS or n >= _FEW_ROWS_PER_LEVEL * len(counts)):
        return []
    n_once = int(np.count_nonzero(counts == 1))
    once = "each of them once" if n_once == len(counts) else f"{n_once:,} of them once"
    about = f"{truncate(column.name)}: {len(counts):,} levels in {n:,} rows, {once}"
    return [f"{about}; a tree can memorise it. Leave it out: " + _hint_ignore(column.name)]


def _note_sentinels(column: Column) -> list[str]:
    """Return a note on a value that may mean "missing" and makes up a large share of the rows: 999, "unknown".

    A number is suspect if it consists of nines, or is -1, and lies far outside of the others.
    """
    if column.is_coded:
        counts = np.bincount(column.values[column.values >= 0], minlength=len(column.labels))
        sentinels = [
            (f'"{truncate(label)}"', int(counts[i]))
            for i, label in enumerate(column.labels)
            if counts[i] >= _SENTINEL_SHARE * len(column) and label.strip().lower() in _SENTINELS
        ]
        if not sentinels or len(counts[counts > 0]) < 2:
            return []
        value, n_rows = sentinels[0]
        rest = "a level like any other"
    else:
        number = _find_sentinel_number(column)
        if number is None:
            return []
        value, n_rows, rest = number
    share = f"{100 * n_rows / len(column):.0f} % of the rows"
    return [f"{truncate(column.name)}: {value} in {share}, {rest}. " + hint_missing(value)]


def _find_sentinel_number(column: Column) -> tuple[str, int, str] | None:
    """Return the text of a suspect number, how often it occurs, and what the others are."""
    if column.form not in ("int", "float"):
        return None
    some = column if len(column) <= 4 * _SAMPLE else column.take(_sample_rows(len(column)))
    present = some.values[~some.is_missing()]
    if not len(present) or not any(_is_sentinel(v) for v in (present.max().item(), present.min().item())):
        return None
    values = column.values[~column.is_missing()]
    for value, is_top in ((values.max().item(), True), (values.min().item(), False)):
        rest = values[values != value]
        n_rows = len(values) - len(rest)
        if not _is_sentinel(value) or not len(rest) or n_rows < _SENTINEL_SHARE * len(column):
            continue
        low, high = rest.min().item(), rest.max().item()
        if (high < value / 2) if is_top else (low >= 0 if value == -1 else low > value / 2):
            return f"{value:g}", n_rows, f"the others from {low:g} to {high:g}"
    return None


def _is_sentinel(value: float) -> bool:
    """Tell whether a number is one that is often written for "missing": -1, or nines.

    >>> [v for v in (-1, 9, 99, -999.0, 9999, 998) if _is_sentinel(v)]
    [-1, 99, -999.0, 9999]
    """
    digits = f"{abs(value):g}"
    return value == -1 or (len(digits) >= 2 and set(digits) == {"9"})


def count_keys(column: Column) -> int:
    """Return the number of distinct integers of a column that is probably a key; 0 for any other."""
    if column.form not in ("int", "float") or not _may_be_key(column):
        return 0
    return _count_distinct_integers(column.values[~column.is_missing()], KEY_SHARE * len(column))


def _used_labels(column: Column) -> tuple[str, ...]:
    """Return the labels that occur; those of categories may be unused."""
    return column.drop_unused_labels().labels if column.form == "category" else column.labels


def _may_be_key(column: Column) -> bool:
    """Return from a sample whether a column may consist of nearly all distinct integers.

    Fractions rule it out. If 98 % of all values were distinct, at least half of the sample would be, almost surely: the
    rows are pseudorandom, the same in every run, so no pattern in the table can coincide with them.
    """
    if len(column) <= 4 * _SAMPLE:
        return True
    some = column.take(_sample_rows(len(column)))
    present = some.values[~some.is_missing()]
    return (column.form == "int" or is_whole(present)) and 2 * len(np.unique(present)) >= len(present)


@lru_cache(maxsize=4)
def _sample_rows(n_rows: int) -> Array:
    """Return pseudorandom row numbers (splitmix64 of 1, 2, …); NumPy's generators would take longer to import."""
    z = np.arange(1, _SAMPLE + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return (z % np.uint64(n_rows)).astype(np.int64)


def _count_distinct_integers(values: Array, limit: float) -> int:
    """Return the number of distinct values if all are integers and it may exceed ``least``; else 0."""
    if len(values) <= limit:
        return 0
    if values.dtype.kind == "f" and not (is_whole(values[:100]) and is_whole(values)):
        return 0
    if values.max().item() - values.min().item() + 1 <= limit:
        return 0  # not enough integers between minimum and maximum
    in_order = run_interruptible(lambda: np.sort(values), rows=len(values))  # many times faster than np.unique
    return 1 + int(np.count_nonzero(in_order[1:] != in_order[:-1]))


def is_whole(values: Array) -> bool:
    """Return whether all values are finite integers; of fractions, the first value usually decides it.

    >>> [is_whole(np.array(values)) for values in ([], [1.0, -2.0], [1.0, 0.5], [0.5, 1.0], [np.inf], [np.nan], [3])]
    [True, True, False, False, False, False, True]
    """
    if len(values) and values.item(0) % 1 != 0:
        return False
    return bool(np.all(np.isfinite(values) & (np.floor(values) == values)))
