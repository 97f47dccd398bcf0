"""What is said about a training column before anything is learned: notes, and refusals with a way out.

Stands below ``encode``, which decides what a column is. A note never changes what is learned; a refusal
names the column, the first cell in question, and what the user can do, in Python and on the command line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NoReturn

import numpy as np

from treewise._lib.interruptible import run_interruptible
from treewise._lib.text import format_count, plural, safe
from treewise.data.column import Array, Column, Mask
from treewise.data.parse_cells import ParsedCells
from treewise.errors import DataError, Message, Param

_MOSTLY_NUMBERS = 0.9  # so large a share of numbers makes other text look like a mistake
_KEY_SHARE = 0.9  # so large a share of different whole numbers invites memorising …
_KEY_SHARE_TEXT = 0.5  # … and of different texts
_DECIMAL_COMMA = "numbers with a decimal comma"
_LOOKALIKES = (  # texts that look like numbers or dates to a person, but are not read as such
    (_DECIMAL_COMMA, re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+")),
    ("numbers with thousands commas", re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")),
    ("amounts of money", re.compile(r"[$€£¥] ?[\d.,]+|[\d.,]+ ?[$€£¥]")),
    ("percentages", re.compile(r"[+-]?[\d.,]+ ?%")),
    ("dates, but not as 2024-01-31", re.compile(r"\d{1,4}[./]\d{1,2}[./]\d{1,4}")),
)
_SAMPLE = 1000  # cells that are looked at before all are
_MIN_ROWS = 20  # in smaller tables many values say little


def note_markers(column: Column, marks: Mask, others: str) -> list[str]:
    """Say which markers were read as missing, and how often."""
    if not marks.any():
        return []
    which = ", ".join(f'"{safe(label)}"' for label, mark in zip(column.labels, marks.tolist(), strict=True) if mark)
    cells = plural(int(np.count_nonzero(column.expand(marks, False))), "cell")
    return [f"{safe(column.name)}: {which} read as missing in {cells} (all other cells are {others})"]


def note_alphabetical_order(name: str, levels: Sequence[str]) -> Message:
    """Say in which order words were put when the user asked for an order and gave none."""
    said = " < ".join(safe(level) for level in levels[:5]) + (" < …" if len(levels) > 5 else "")
    return f"{safe(name)}: ordered alphabetically, {said}. Another order: " + Param(
        "kinds", {safe(name): ["first", ..., "last"]}
    )


def _hint_code(name: str) -> Message:
    """Say how to declare that numbers are only names."""
    return f"If {safe(name)} is a code: " + Param("kinds", {safe(name): "nominal"})


def hint_missing(cell: str) -> Message:
    """Say how to declare that a text, given as it is quoted in messages, means missing."""
    return "If that means missing: " + Param("na_values", [cell.removeprefix('"').removesuffix('"')]) + "."


def _hint_ignore(name: str) -> Param:
    """Say how to leave a column out."""
    return Param("ignore", [safe(name)])


def check_stray_text(column: Column, readings: ParsedCells) -> None:
    """Refuse a column of numbers with a little other text: a mistake, a marker, a code? We cannot know."""
    strays = ~(readings.is_number | readings.is_marker)
    if not strays.any() or not readings.is_number.any():
        return
    n_strays = int(np.count_nonzero(column.expand(strays, False)))
    n_numbers = int(np.count_nonzero(column.expand(readings.is_number, False)))
    if readings.padded or n_numbers < _MOSTLY_NUMBERS * (n_numbers + n_strays):
        return
    row = column.first_row_with(strays)
    name, stray = safe(column.name), column.format_cell(row)
    cells = "cells that are not, first" if n_strays > 1 else "cell that is not,"
    raise DataError(
        f'column "{name}": {plural(n_numbers, "number")} and {format_count(n_strays)} {cells} {stray} in'
        f" row {row + 1:,}.",
        hint=hint_missing(stray) + " " + _hint_code(column.name) + ".",
        column=column.name,
        row=row,
    )


def raise_too_large(column: Column, readings: ParsedCells) -> NoReturn:
    """Refuse whole numbers past 64 bits."""
    row = column.first_row_with(readings.too_large)
    name = safe(column.name)
    raise DataError(
        f'column "{name}": {column.labels[column.values[row]]} in row {row + 1:,} is past 2^63 - 1, the'
        " largest whole number that is compared exactly.",
        hint=_hint_code(column.name) + ". Else leave it out: " + _hint_ignore(column.name) + ".",
        column=column.name,
        row=row,
    )


def _looks_like(column: Column) -> str:
    """Say what all texts of a column look like to a person, though they are read as categories; "" for words.

    >>> from treewise.data.table import read
    >>> _looks_like(read({"Preis": ["1.693,66", "12,50"]})["Preis"])
    'numbers with a decimal comma'
    """
    labels = _used_labels(column)
    return next((what for what, form in _LOOKALIKES if labels and all(map(form.fullmatch, map(str.strip, labels)))), "")


def note_suspicious(column: Column) -> list[str]:
    """Note a column that looks like something else, or has so many different values that a tree can memorise it."""
    n, least = len(column), (_KEY_SHARE_TEXT if column.is_coded else _KEY_SHARE) * len(column)
    if what := _looks_like(column):
        advice = "Read the file with " + Param("decimal", ",") if what == _DECIMAL_COMMA else "Rewrite them first"
        return [f"{safe(column.name)}: read as categories, but its cells look like {what}. " + advice + "."]
    if n < _MIN_ROWS:
        return []
    if column.is_coded:
        different = len(_used_labels(column))
    elif column.form in ("int", "float") and _may_be_key(column):
        different = _count_distinct_integers(column.values[~column.is_missing()], least)
    else:
        return []
    if different <= least:
        return []
    name = safe(column.name)
    return [
        f"{name}: {different:,} different values in {n:,} rows; a tree can memorise it. Leave it out: "
        + _hint_ignore(column.name)
    ]


def _used_labels(column: Column) -> tuple[str, ...]:
    """Return the labels that occur: of text all, of categories perhaps some."""
    return column.drop_unused_labels().labels if column.form == "category" else column.labels


def _may_be_key(column: Column) -> bool:
    """Tell by some cells whether a column may be whole numbers that are nearly all different.

    Fractions settle it. Were nine of ten values different in all rows, half of these would be for certain, or
    as good as: rows at random places, the same in every run, cannot be met by a pattern in the table.
    """
    if len(column) <= 4 * _SAMPLE:
        return True
    some = column.take(_sample_rows(len(column)))
    there = some.values[~some.is_missing()]
    return (column.form == "int" or is_whole(there)) and 2 * len(np.unique(there)) >= len(there)


@lru_cache(maxsize=4)
def _sample_rows(n_rows: int) -> Array:
    """Return the numbers of some rows, anywhere in the table.

    1, 2, … stirred until no pattern is left (splitmix64); NumPy's generators would take longer to import.
    """
    z = np.arange(1, _SAMPLE + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return (z % np.uint64(n_rows)).astype(np.int64)


def _count_distinct_integers(values: Array, least: float) -> int:
    """Count different values if all are whole and there can be more than ``least`` of them; else return 0."""
    if len(values) <= least:
        return 0
    if values.dtype.kind == "f" and not (is_whole(values[:100]) and is_whole(values)):
        return 0
    if values.max().item() - values.min().item() + 1 <= least:
        return 0  # not enough whole numbers between the smallest and the largest
    in_order = run_interruptible(lambda: np.sort(values), rows=len(values))  # many times faster than np.unique
    return 1 + int(np.count_nonzero(in_order[1:] != in_order[:-1]))


def is_whole(values: Array) -> bool:
    """Tell whether all are finite whole numbers."""
    return bool(np.all(np.isfinite(values) & (np.floor(values) == values)))
