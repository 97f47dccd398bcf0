"""Explain one prediction of an ensemble: how far its trees agree, and the contribution of each column.

Uses ``agreement.py`` and ``Ensemble.shap``. A hundred paths cannot be read; a few contributions can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_percent, format_rounded, format_share, format_signed, plural, safe
from treewise.data import encoding as encode
from treewise.data.table import Table
from treewise.ensemble import Ensemble
from treewise.errors import DataError
from treewise.explain.ensemble.agreement import MemberPredictions, RowAgreement, agreement

_MAX_LISTED = 3  # columns in a sentence
_ROUNDING = 1e-12


def explain(ensemble: Ensemble, row: Any) -> EnsembleExplanation:
    """Explain the prediction for one row (``Ensemble.explain``)."""
    members = MemberPredictions.of(ensemble, row)
    if len(members) != 1:
        raise DataError(
            f"explain takes one row, but {members.rows.table.name} has {len(members):,}.",
            hint="Select one of them; agreement(data) takes a table.",
        )
    table = members.rows.table
    rows = agreement(ensemble, table)
    shapley = ensemble.shap(row if members.rows.single else table)
    values = shapley.values if shapley.single else shapley.values[0]
    is_regression = ensemble.task == "regression"
    index = 0 if is_regression else int(rows.class_indices[0])
    contributions = values if is_regression else values[:, index]
    order = np.argsort(-np.abs(contributions), kind="stable").tolist()
    columns = tuple(
        ColumnContribution(ensemble.columns[i], _cell_text(members, i), float(contributions[i]))
        for i in order
        if abs(contributions[i]) > _ROUNDING
    )
    output = rows.predictions[0] if is_regression else ensemble.predict_proba(table)[0, index]
    return EnsembleExplanation(
        ensemble.target.name,
        ensemble.method,
        len(ensemble),
        rows[0],
        is_regression,
        float(np.atleast_1d(shapley.base)[index]),
        float(output),
        columns,
    )


def describe_predictions(ensemble: Ensemble, table: Table) -> list[str]:
    """Describe the prediction for each row of a table, without contributions, which take far longer."""
    rows, head = agreement(ensemble, table), (ensemble.target.name, ensemble.method, len(ensemble))
    if ensemble.task == "regression":
        return [_describe_prediction(*head, rows.at(i), rows.predictions[i]) for i in range(len(rows))]
    probabilities = ensemble.predict_proba(table)[np.arange(len(rows)), rows.class_indices].tolist()
    return [_describe_prediction(*head, rows.at(i), probability) for i, probability in enumerate(probabilities)]


def _describe_prediction(target: str, method: str, n_trees: int, row: RowAgreement, output: float) -> str:
    trees = plural(n_trees, "tree")
    if row.share is None:
        assert row.low is not None
        assert row.high is not None
        limits = f"{format_rounded(row.low)} to {format_rounded(row.high)}"
        rule = "sum" if method == "gradient_boosting" else "mean"
        return f"{safe(target)} = {format_rounded(output)}: the {rule} of {trees}, which predict {limits}."
    prediction = f"{safe(target)} = {safe(row.prediction)}"
    if method == "adaboost":
        return f"{prediction}: {format_share(row.share)} % of the vote weight of {trees}."
    agreeing = f"{round(row.share * n_trees):,} of {trees}"
    return f"{prediction}: predicted by {agreeing}, mean probability {format_percent(output)} %."


@dataclass(frozen=True)
class ColumnContribution:
    """The contribution of one column to a prediction: to its probability, or to the value."""

    column: str
    value: str | None  # of the row, as text; None if it is missing
    contribution: float

    @property
    def text(self) -> str:
        """The column with its value."""
        return f"{safe(self.column)} missing" if self.value is None else f"{safe(self.column)} = {self.value}"


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleExplanation(Displayable):
    """Why an ensemble makes its prediction for a row: print it, or read its ``sentences``."""

    target: str
    method: str
    trees: int
    agreement: RowAgreement
    is_regression: bool
    base: float  # the mean output over the training rows: a probability, or a value
    output: float  # the probability of the predicted class, or the value
    columns: tuple[ColumnContribution, ...]  # those that contribute, largest first

    @property
    def sentences(self) -> tuple[str, ...]:
        """The prediction, the agreement of the trees, and the columns in favour and against."""
        return tuple(self._sentences())

    def _sentences(self) -> Iterator[str]:
        yield _describe_prediction(self.target, self.method, self.trees, self.agreement, self.output)
        base = format_rounded(self.base) if self.is_regression else f"{format_percent(self.base)} %"
        yield f"The mean over the training rows is {base}."
        positive = [c for c in self.columns if c.contribution > 0]
        negative = [c for c in self.columns if c.contribution < 0]
        labels = ("Raised by", "Lowered by") if self.is_regression else ("In favour", "Against")
        for label, columns in zip(labels, (positive, negative), strict=True):
            if columns:
                contributions = ", ".join(f"{c.text} ({self._signed(c)})" for c in columns[:_MAX_LISTED])
                more = f", and {plural(len(columns) - _MAX_LISTED, 'more column')}" * (len(columns) > _MAX_LISTED)
                yield f"{label}: {contributions}{more}."

    def _signed(self, column: ColumnContribution) -> str:
        points = "" if self.is_regression else " points"
        return format_signed(column.contribution, self._format) + points

    @property
    def _format(self) -> Callable[[float], str]:
        return format_rounded if self.is_regression else format_percent

    def result_table(self) -> ResultTable:
        """Return the columns that contribute."""
        title = None if self.is_regression else "contribution (points)"
        contribution = ColumnSpec("contribution", "number", title, lambda value: format_signed(value, self._format))
        columns = (ColumnSpec("column"), ColumnSpec("value"), contribution)
        lines = [(c.column, "missing" if c.value is None else c.value, c.contribution) for c in self.columns]
        return ResultTable("", columns, lines, above=self.sentences, row_name="column")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        row = self.agreement
        result: dict[str, Any] = {"target": self.target, "trees": self.trees, "prediction": row.prediction}
        if self.is_regression:
            result |= {"low": row.low, "high": row.high}
        else:
            result |= {"probability": self.output, "share": row.share}
        columns, sentences = self.result_table().records(), list(self.sentences)
        return {**result, "base": self.base, "columns": columns, "sentences": sentences}


def _cell_text(members: MemberPredictions, column: int) -> str | None:
    """Return the row's value in a column; None if it is missing or unused."""
    values, encoding = members.rows.columns[column], members.ensemble.encodings[column]
    value = None if values is None else encode.decode(encoding, values)[0]
    return None if value is None else encoding.format(value)
