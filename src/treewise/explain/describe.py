"""Describe a table before training: kinds, missing values, distributions, what may be wrong, and what tells the target.

``treewise.describe`` and ``treewise data FILE``. Columns are read as ``grow`` reads them, so the kinds are those that a
tree would use, and each note ends with the option that changes what is done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import clip, format_count, format_rounded, format_share, plural, safe
from treewise.data.encoding import EncodedColumn, Encoding, fit_encoding, is_missing
from treewise.data.table import KindSpec, parse_na_values, read
from treewise.errors import DataError, Param, join_few
from treewise.train.grow import grow_training_set, prepare
from treewise.train.source import TrainingSummary
from treewise.train.training_set import TrainingSet

Array = npt.NDArray[Any]

_BLOCKS = "▁▂▃▄▅▆▇█"
_BINS = 10  # of a histogram
_MAX_NAMED = 4  # levels with their counts
_LONGEST_LEVEL = 16
_LEAK = 0.95  # share of the target's impurity that one split removes, from which a column is suspect
_IMBALANCE = 0.05  # share of rows below which a class is rare
_MAX_CLASSES, _MAX_RARE = 6, 20  # classes listed with their counts; classes among which rare ones are noted


@dataclass(frozen=True)
class ColumnDescription:
    """One column of a table; ``strength`` is the share of the target's impurity that its best split removes."""

    name: str
    kind: str  # number, integer, datetime, boolean, nominal or ordered; "target" columns have a kind of their own
    missing: int
    distinct: int
    summary: str  # range and median, or the most frequent levels
    histogram: tuple[int, ...]  # rows per bin of equal width, or per level, the most frequent first
    strength: float | None = None  # None without a target, and for the target itself
    notes: tuple[str, ...] = ()

    @property
    def bars(self) -> str:
        """The histogram as blocks of text.

        >>> ColumnDescription("x", "number", 0, 4, "", (1, 4, 2, 0)).bars
        '▂█▄ '
        """
        top = max(self.histogram, default=0) or 1
        return "".join(_BLOCKS[max(0, -(-8 * n // top) - 1)] if n else " " for n in self.histogram)


@dataclass(frozen=True, eq=False, repr=False)
class TableDescription(Displayable):
    """The description of a table: ``print`` it, read ``columns`` and ``notes``, or take ``to_dict()``."""

    table: str
    n_rows: int
    columns: tuple[ColumnDescription, ...]
    target: str | None
    task: str  # what a tree would predict, in one line; "" without a target
    duplicates: int  # rows that are equal to an earlier one
    notes: tuple[str, ...] = ()  # about the table as a whole

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        columns = [
            {
                "name": column.name,
                "kind": column.kind,
                "missing": column.missing,
                "distinct": column.distinct,
                "summary": column.summary,
                "histogram": list(column.histogram),
                "strength": column.strength,
                "notes": [str(note) for note in column.notes],
            }
            for column in self.columns
        ]
        return {
            "table": self.table,
            "rows": self.n_rows,
            "target": self.target,
            "task": self.task,
            "duplicate_rows": self.duplicates,
            "columns": columns,
            "notes": [str(note) for note in self.notes],
        }

    def result_table(self) -> ResultTable:
        """Return a row per column, with the notes below."""
        headings = [
            ColumnSpec("column"),
            ColumnSpec("kind"),
            ColumnSpec("missing", "count", formatter=lambda n: format_count(n) if n else ""),
            ColumnSpec("distinct", "count"),
            ColumnSpec("histogram", only="text"),
            ColumnSpec("summary"),
        ]
        if self.target is not None:
            headings.append(ColumnSpec("strength", "share", "strength %"))
        rows = [
            (c.name, c.kind, c.missing, c.distinct, c.bars, c.summary, *[c.strength] * (self.target is not None))
            for c in self.columns
        ]
        below = [str(note) for column in self.columns for note in column.notes] + [str(note) for note in self.notes]
        if self.target is not None:
            below.insert(0, "strength: share of the target's impurity that the best split on the column removes")
        return ResultTable(
            f"{safe(self.table)}   {plural(self.n_rows, 'row')} · {plural(len(self.columns), 'column')}",
            tuple(headings),
            rows,
            above=(self.task,) if self.task else (),
            below=tuple(below),
            row_name="column",
        )


def describe(
    data: Any,
    target: Any = None,
    *,
    kinds: Mapping[str, KindSpec] | None = None,
    na_values: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> TableDescription:
    """Describe a table as ``grow`` would read it.

    With a ``target``, columns are ranked by how much the best single split on each tells about it, and a column that
    tells nearly everything is noted: it may not be known when a prediction is needed. ``kinds``, ``na_values`` and
    ``ignore`` are those of ``grow``.

    >>> import treewise as tw
    >>> print(tw.describe("admissions"))
    admissions   12 rows · 5 columns
    classification of Class: N 6, P 6 · positive class: P
    column          kind     missing  distinct  histogram  summary                          strength %
    Class           nominal                  2  ██         N (6), P (6)
    GPA             nominal                  3  █▇▅        3.7 (5), 3.5 (4), 4.0 (3)              45.9
    University      nominal                  3  █▇▅        top10 (5), top30 (4), top20 (3)         9.3
    Recommendation  nominal                  2  █▄         good (8), normal (4)                    9.3
    Published       nominal                  2  █▆         no (7), yes (5)                         2.1
    strength: share of the target's impurity that the best split on the column removes
    """
    table = read(data, na_values=parse_na_values(na_values))
    if not len(table):
        raise DataError(f"{table.name} has no rows to describe.")
    target = table.target if target is None else target
    names = [name for name in table.columns if name not in {str(name) for name in ignore}]
    declared = {**table.kinds, **(kinds or {})}
    encoded = {name: fit_encoding(table[name], declared.get(name)) for name in names}
    columns = [_describe_column(learned) for learned in encoded.values()]
    notes = [*table.notes, *filter(None, [table.hint_separator()])]
    task = ""
    if target is not None:
        training_set = prepare(table, target, kinds=declared, ignore=list(ignore), drop_missing_target=True)
        strengths = _strengths(training_set)
        columns = [replace(column, strength=strengths.get(column.name)) for column in columns]
        columns = [_with_target_notes(column, training_set.target.name) for column in columns]
        columns.sort(key=lambda column: (column.strength is not None, -(column.strength or 0.0)))
        task = describe_task(training_set)
        notes += [*_note_missing_target(columns, training_set.target.name), *_note_rare_classes(training_set)]
    duplicates = _count_duplicates(encoded.values(), len(table))
    if duplicates:
        share = format_share(duplicates / len(table))
        notes.append(
            f"{plural(duplicates, 'row')} ({share} %) repeat an earlier row; if these are the same cases, a validation"
            " set is not independent of the training rows"
        )
    name = None if target is None else training_set.target.name
    return TableDescription(table.name, len(table), tuple(columns), name, task, duplicates, tuple(notes))


def _describe_column(learned: EncodedColumn) -> ColumnDescription:
    """Summarise one column."""
    encoding, values = learned.encoding, learned.values
    missing = is_missing(encoding, values)
    present = values[~missing]
    summarise = _summarise_levels if encoding.is_categorical else _summarise_numbers
    distinct, summary, histogram = summarise(encoding, present)
    return ColumnDescription(
        encoding.name, encoding.kind, int(missing.sum()), distinct, summary, histogram, notes=tuple(learned.notes)
    )


def _summarise_levels(encoding: Encoding, codes: Array) -> tuple[int, str, tuple[int, ...]]:
    """Return the number of levels that occur, the most frequent ones, and their rows."""
    counts = np.bincount(codes, minlength=len(encoding.levels))
    order = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    named = [f"{clip(safe(encoding.levels[i]), _LONGEST_LEVEL)} ({counts[i]:,})" for i in order[:_MAX_NAMED]]
    more = f", … {len(order) - _MAX_NAMED:,} more" if len(order) > _MAX_NAMED else ""
    return len(order), ", ".join(named) + more, tuple(int(counts[i]) for i in order[:_BINS])


def _summarise_numbers(encoding: Encoding, values: Array) -> tuple[int, str, tuple[int, ...]]:
    """Return the number of different values, their range and median, and the rows in bins of equal width."""
    if not len(values):
        return 0, "", ()
    low, high = values.min(), values.max()
    middle = np.sort(values)[(len(values) - 1) // 2]
    show = encoding.format if encoding.kind == "datetime" else lambda value: format_rounded(float(value))
    summary = f"{show(low.item())} to {show(high.item())}, median {show(middle.item())}"
    with np.errstate(all="ignore"):
        share = (values.astype(np.float64) - float(low)) / (float(high) - float(low) or 1.0)
    bins = np.clip(np.nan_to_num(share, nan=0.0, posinf=1.0, neginf=0.0) * _BINS, 0, _BINS - 1).astype(np.int64)
    return len(np.unique(values)), summary, tuple(np.bincount(bins, minlength=_BINS).tolist())


def _strengths(training_set: TrainingSet) -> dict[str, float]:
    """Return the share of the root's impurity that the best split on each column alone removes."""
    settings = replace(training_set.settings, max_depth=1)
    strengths = {}
    for i, encoding in enumerate(training_set.encodings):
        alone = replace(
            training_set,
            encodings=(encoding,),
            columns=(training_set.columns[i],),
            split_kinds=(training_set.split_kinds[i],),
            settings=settings,
        )
        tree = grow_training_set(alone, n_jobs=1, keep_quartiles=False)
        root = float(tree.arrays.impurity[0])
        strengths[encoding.name] = float(tree.impurity_decreases[0, 0]) / root if root else 0.0
    return strengths


def _with_target_notes(column: ColumnDescription, target: str) -> ColumnDescription:
    """Add a note to a column that tells nearly everything about the target."""
    if column.strength is None or column.strength < _LEAK:
        return column
    note = (
        f"{safe(column.name)}: one split removes {format_share(column.strength)} % of the uncertainty about"
        f" {safe(target)}. If it is not known before {safe(target)} is, leave it out: "
    ) + Param("ignore", [safe(column.name)])
    return replace(column, notes=(*column.notes, note))


def _note_missing_target(columns: Sequence[ColumnDescription], target: str) -> list[str]:
    """Note rows that cannot be learned from."""
    missing = sum(column.missing for column in columns if column.name == target)
    if not missing:
        return []
    return [
        f"{safe(target)}: missing in {plural(missing, 'row')}, from which nothing can be learned: "
        + Param("drop_missing_target", True)
    ]


def describe_task(training_set: TrainingSet) -> str:
    """Return what is predicted: the range of a number, or the classes with their counts."""
    target = training_set.target
    name = safe(target.name)
    if target.task == "regression":
        raw, weight = training_set.raw, np.asarray(training_set.weight, np.float64)
        mean = float(np.average(raw, weights=weight if weight.sum() > 0 else None))
        if isinstance(training_set, TrainingSummary):  # whose pairs may stand for other targets
            mean = math.ldexp(training_set.root.target_sum / training_set.root.weight, -training_set.target_scale)
        low, middle, high = (format_rounded(float(value)) for value in (raw.min(), mean, raw.max()))
        exposure = training_set.fit_options.exposure
        per_unit = f" per unit of {safe(exposure)}" if exposure else " per unit of exposure"
        rate = per_unit if training_set.fit_options.predicts_rates else ""
        return f"regression of {name}{rate}: {low} to {high}, mean {middle}"
    counts = np.bincount(training_set.y, minlength=len(target.classes)).tolist()
    pattern = "{} {}" if any(isinstance(label, str) for label in target.classes) else "{} ({})"
    listed = [pattern.format(safe(label), format_count(n)) for label, n in zip(target.classes, counts, strict=True)]
    if isinstance(training_set, TrainingSummary):
        listed = [safe(label) for label in target.classes]
    more = f", … {len(listed)} classes" if len(listed) > _MAX_CLASSES else ""
    positive = f" · positive class: {safe(target.positive)}" if target.positive is not None else ""
    return f"classification of {name}: {', '.join(listed[:_MAX_CLASSES])}{more}{positive}"


def _note_rare_classes(training_set: TrainingSet) -> list[str]:
    """Return a note on classes with few rows."""
    target = training_set.target
    if target.task == "regression" or len(target.classes) > _MAX_RARE:
        return []
    shares = np.bincount(training_set.y, minlength=len(target.classes)) / len(training_set)
    rare = [f"{safe(target.classes[i])} ({format_share(shares[i])} %)" for i in np.flatnonzero(shares < _IMBALANCE)]
    if not rare:
        return []
    return [
        f"{safe(target.name)}: rare {'classes' if len(rare) > 1 else 'class'} {join_few(rare, limit=3)}; always"
        " predicting the largest class has a small error, so judge by AUC, recall or costs"
    ]


def _count_duplicates(columns: Any, n_rows: int) -> int:
    """Return how many rows are equal to an earlier row in every column."""
    keys = np.zeros(n_rows, np.int64)
    for learned in columns:
        _, inverse = np.unique(learned.values, return_inverse=True)
        pairs = keys * (int(inverse.max(initial=0)) + 1) + inverse
        _, keys = np.unique(pairs, return_inverse=True)
    return n_rows - (int(keys.max(initial=-1)) + 1)
