"""One answer of an ensemble in words: what it says, how far its trees agree, which columns speak for and against it.

Stands on ``agreement.py`` and ``shap.py``. A hundred paths cannot be read; what each column adds to the answer can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_percent, format_rounded, format_share, plural, safe
from treewise.data import encoding as encode
from treewise.data.table import Table
from treewise.ensemble import Ensemble
from treewise.errors import DataError
from treewise.explain.ensemble.agreement import RowAgreement, agreement
from treewise.explain.ensemble.member_predictions import MemberPredictions

SAID = 3  # columns that a sentence names on either side
NOTHING = 1e-12  # rounding


@dataclass(frozen=True)
class ColumnContribution:
    """What one column adds to an answer: to its probability, or to the value."""

    column: str
    value: str | None  # of the row, in words; None where it is missing
    adds: float

    @property
    def words(self) -> str:
        """The column with its value."""
        return f"{safe(self.column)} missing" if self.value is None else f"{safe(self.column)} = {self.value}"


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleExplanation(Displayable):
    """Why the trees of an ensemble together say what they say of one row. ``print`` it, or take its ``sentences``."""

    target: str
    method: str
    trees: int
    says: RowAgreement
    numbers: bool
    base: float  # the mean answer over the rows the trees were grown on: probability, or value
    answer: float  # the probability of the class that is said, or the value
    reasons: tuple[ColumnContribution, ...]  # the columns that add something, the largest first

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, how far the trees agree, and the columns that speak for and against it."""
        return tuple(self._sentences())

    def _sentences(self) -> Iterator[str]:
        yield answer_in_words(self.target, self.method, self.trees, self.says, self.answer)
        start = format_rounded(self.base) if self.numbers else f"{format_percent(self.base)} %"
        yield f"Of a row of which nothing is known they say {start}."
        ups = [r for r in self.reasons if r.adds > 0]
        downs = [r for r in self.reasons if r.adds < 0]
        words = ("Raised by", "Lowered by") if self.numbers else ("For it", "Against it")
        for word, some in zip(words, (ups, downs), strict=True):
            if some:
                listed = ", ".join(f"{r.words} ({self._moved(r.adds)})" for r in some[:SAID])
                more = f", and {plural(len(some) - SAID, 'more column')}" if len(some) > SAID else ""
                yield f"{word}: {listed}{more}."

    def _moved(self, adds: float) -> str:
        sign = "+" if adds > 0 else "−"
        return f"{sign}{format_rounded(abs(adds))}" if self.numbers else f"{sign}{in_points(abs(adds))} points"

    def result_table(self) -> ResultTable:
        """Return the columns that add something."""
        adds = (
            ColumnSpec("adds", "number") if self.numbers else ColumnSpec("adds", "number", "adds (points)", in_points)
        )
        headings = (ColumnSpec("column"), ColumnSpec("value"), adds)
        rows = [(r.column, "missing" if r.value is None else r.value, r.adds) for r in self.reasons]
        return ResultTable("", headings, rows, above=self.sentences, row_name="column")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        says: dict[str, Any] = {"target": self.target, "trees": self.trees, "answer": self.says.answer}
        says |= {"low": self.says.low, "high": self.says.high} if self.numbers else {"probability": self.answer}
        if not self.numbers:
            says |= {"share": self.says.share}
        return {**says, "base": self.base, "columns": self.result_table().records(), "sentences": list(self.sentences)}


def answer_in_words(target: str, method: str, many: int, says: RowAgreement, answer: float) -> str:
    """Say the answer, which is a probability or a value, and how far the trees agree."""
    trees = plural(many, "tree")
    if says.share is None:
        assert says.low is not None
        assert says.high is not None
        ends = f"from {format_rounded(says.low)} to {format_rounded(says.high)}"
        return f"{safe(target)} = {format_rounded(answer)}: the mean of {trees}, which say {ends}."
    said = f"{safe(target)} = {safe(says.answer)}"
    if method == "adaboost":
        return f"{said}: it has {format_share(says.share)} % of the votes of {trees}."
    agree = f"{round(says.share * many):,} of {trees} say so"
    return f"{said}: {agree}, the mean of their probabilities is {format_percent(answer)} %."


def answers_in_words(ensemble: Ensemble, table: Table) -> list[str]:
    """Say the answer for each row of a table, without its reasons: the trees are asked, and no more."""
    found, about = agreement(ensemble, table), (ensemble.target.name, ensemble.method, len(ensemble))
    if ensemble.task == "regression":
        return [answer_in_words(*about, found.of(i), found.answers[i]) for i in range(len(found))]
    chances = ensemble.predict_proba(table)[np.arange(len(found)), found.places].tolist()
    return [answer_in_words(*about, found.of(i), chance) for i, chance in enumerate(chances)]


def explain(ensemble: Ensemble, row: Any) -> EnsembleExplanation:
    """Explain the answer for one row (``Ensemble.explain``)."""
    panel = MemberPredictions.of(ensemble, row)
    if len(panel) != 1:
        raise DataError(
            f"explain is for one row, and {panel.rows.table.name} has {len(panel):,}."
            " Take one of them; agreement(data) looks at many."
        )
    answers = agreement(ensemble, panel.rows.table)
    says = answers[0]
    found = ensemble.shap(row if panel.rows.single else panel.rows.table)
    numbers = ensemble.task == "regression"
    values = (found.values if found.single else found.values[0])[..., None] if numbers else found.values
    values = values if found.single or numbers else values[0]
    place = 0 if numbers else int(answers.places[0])
    adds, base = values[:, place], float(np.atleast_1d(found.base)[place])
    order = np.argsort(-np.abs(adds), kind="stable").tolist()
    reasons = tuple(
        ColumnContribution(ensemble.columns[i], cell(panel, i), float(adds[i])) for i in order if abs(adds[i]) > NOTHING
    )
    answer = float(says.answer) if numbers else float(ensemble.predict_proba(panel.rows.table)[0, place])
    about = (ensemble.target.name, ensemble.method, len(ensemble), says, numbers)
    return EnsembleExplanation(*about, base, answer, reasons)


def in_points(share: float) -> str:
    """Write a change of a probability in percentage points.

    >>> in_points(0.1234), in_points(-0.5)
    ('12.3', '-50.0')
    """
    return f"{100 * share:.1f}"


def cell(panel: MemberPredictions, column: int) -> str | None:
    """Write what a row says of a column; None where it says nothing."""
    values = panel.rows.columns[column]
    encoding = panel.ensemble.encodings[column]
    said = None if values is None else encode.decode(encoding, values)[0]
    return None if said is None else encoding.format(said)
