"""How far the trees of an ensemble agree, row by row; the rows they quarrel about most come first.

Stands on ``panel.py``. Of classes, what counts is the class each tree says, by its vote; of numbers, how far apart the
values are. A row on which trees quarrel lies near a border, or is like few rows the trees have seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from treewise import _core
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_share, plural, safe
from treewise.ensemble import Ensemble
from treewise.explain.ensemble.member_predictions import Floats, Ints, MemberPredictions, Progress
from treewise.train.loss_stats import size_of_numbers
from treewise.tree.arrays import Label

MOST_ROWS = 20  # that are printed
MOST_CLASSES = 8  # whose shares are printed
BY_MEAN = "The answer is the class of largest mean probability, which may differ from what most trees say."


@dataclass(frozen=True)
class RowAgreement:
    """What the trees say of one row: the answer, and the say of the trees for each class; of numbers their spread."""

    row: int  # from 1
    answer: Label | float
    share: float | None  # of the say that is for the answer; None for numbers
    shares: dict[Label, float]  # of the say for each class
    spread: float | None = None  # of numbers: the standard deviation over the trees …
    low: float | None = None  # … the smallest and the largest value of a tree
    high: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Displayable, Sequence[RowAgreement]):
    """The rows of a table, those the trees quarrel about most first. ``print`` it, index it, or ``.to_frame()``.

    ``answers`` are in the order of the table, and with them ``share`` and ``shares``; of numbers, which have no such,
    ``spread``, ``low`` and ``high``.
    """

    table: str
    target: str
    trees: int
    classes: tuple[Label, ...]
    answers: Sequence[Any]  # of the ensemble, in the order of the table
    shares: Floats  # rows × classes; of numbers empty
    spread: Floats  # of numbers
    low: Floats
    high: Floats
    places: Ints  # of the answers among the classes
    by_mean: bool = False  # whether the answer is the class of largest mean probability

    @property
    def share(self) -> Floats:
        """How much of the say is for the answer, row by row: 1 where the trees are of one mind; of numbers empty."""
        if not self.classes:
            return np.empty(0)
        rows: Floats = self.shares[np.arange(len(self.places)), self.places]
        return rows

    @cached_property
    def order(self) -> Ints:
        """The rows (from 0), the most disputed first."""
        return np.argsort(self.share if self.classes else -self.spread, kind="stable")

    @property
    def unanimous(self) -> int:
        """How many rows the trees are of one mind about."""
        if not self.classes:
            return int((self.low == self.high).sum())
        return int((np.count_nonzero(self.shares, axis=1) == 1).sum())

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, place: int) -> RowAgreement: ...
    @overload
    def __getitem__(self, place: slice) -> list[RowAgreement]: ...
    def __getitem__(self, place: int | slice) -> RowAgreement | list[RowAgreement]:
        rows = self.order[place]
        return [self.of(int(row)) for row in rows] if isinstance(place, slice) else self.of(int(rows))

    def of(self, row: int) -> RowAgreement:
        """Return what the trees say of one row of the table (from 0)."""
        if not self.classes:
            ends = float(self.spread[row]), float(self.low[row]), float(self.high[row])
            return RowAgreement(row + 1, self.answers[row], None, {}, *ends)
        each = dict(zip(self.classes, self.shares[row].tolist(), strict=True))
        return RowAgreement(row + 1, self.answers[row], float(self.share[row]), each)

    def result_table(self) -> ResultTable:
        """Return every row, the most disputed first."""
        what = f"{safe(self.target)} of {safe(self.table)}: {plural(len(self), 'row')}, {plural(self.trees, 'tree')}"
        below: tuple[str, ...] = (f"{plural(self.unanimous, 'row')} of {len(self):,} on which all trees say the same.",)
        below = (*below, BY_MEAN) if self.by_mean else below
        return ResultTable(
            what, self._headings(), AgreementLines(self), below=below, row_name="row", max_rows=MOST_ROWS
        )

    def _headings(self) -> tuple[ColumnSpec, ...]:
        head = (ColumnSpec("row", "count"), ColumnSpec("answer", "label"))
        if not self.classes:
            spread = (
                ColumnSpec("spread", "number"),
                ColumnSpec("low", "number", "least"),
                ColumnSpec("high", "number", "most"),
            )
            return (*head, *spread)
        only: Any = None if len(self.classes) <= MOST_CLASSES else "data"
        each = [
            ColumnSpec(f"share of {label}", "number", f"{label} %", format_share, only=only) for label in self.classes
        ]
        return (*head, ColumnSpec("share", "share", "agree %"), *each)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        head = {"table": self.table, "target": self.target, "trees": self.trees, "unanimous": self.unanimous}
        return {**head, "rows": self.result_table().records()}


class AgreementLines(Sequence[Sequence[Any]]):
    """The rows of the sheet, each made when it is looked at."""

    def __init__(self, found: Agreement) -> None:
        self.found = found

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, place: Any) -> Any:
        return list(map(line, self.found[place])) if isinstance(place, slice) else line(self.found[place])

    def __iter__(self) -> Iterator[list[Any]]:
        return map(line, self.found)


def line(row: RowAgreement) -> list[Any]:
    """Return the cells of one row."""
    if row.share is None:
        return [row.row, row.answer, row.spread, row.low, row.high]
    return [row.row, row.answer, row.share, *row.shares.values()]


def agreement(ensemble: Ensemble, data: Any, progress: Progress | None = None) -> Agreement:
    """Return how far the trees agree on each row of a table, or on a single row (``Ensemble.agreement``)."""
    panel, classes = MemberPredictions.of(ensemble, data), ensemble.classes
    about = (panel.rows.table.name, ensemble.target.name, len(ensemble), classes)
    if ensemble.task == "regression":
        values, spread, low, high = of_numbers(panel, progress)
        return Agreement(*about, values, np.empty(0), spread, low, high, np.empty(0, np.int64))
    tally = sum(panel.each(_core.Output.votes, progress), start=np.zeros((len(panel), len(classes))))
    none = np.empty(0)
    places = ensemble.answers(panel.rows).class_numbers()
    answers = [classes[place] for place in places.tolist()]
    by_mean = ensemble.method != "adaboost"
    return Agreement(*about, answers, tally / ensemble.votes.sum(), none, none, none, places, by_mean)


def of_numbers(panel: MemberPredictions, progress: Progress | None) -> tuple[list[float], Floats, Floats, Floats]:
    """Return the answers, how far trees spread about them, and the least and the largest value of a tree."""
    unit = panel.ensemble.predictor.unit
    size = size_of_numbers(panel.ensemble.members.value) / unit  # squares of huge or tiny numbers have no value
    total, mean, squares = np.zeros((3, len(panel)))
    low, high = np.full(len(panel), np.inf), np.full(len(panel), -np.inf)
    for many, said in enumerate(panel.each(progress=progress), start=1):  # Welford's way: nothing cancels
        value = said[:, 0]
        total += value
        off = value / size - mean
        mean += off / many
        squares += off * (value / size - mean)
        np.minimum(low, value, out=low)
        np.maximum(high, value, out=high)
    many = len(panel.ensemble)
    return (total / many * unit).tolist(), np.sqrt(squares / many) * size * unit, low * unit, high * unit
