"""How far the trees of an ensemble agree on each row, most contested rows first.

For classes, the vote weight of each class is compared; for numbers, the spread of the values. A row on which trees
disagree lies near a decision boundary, or resembles few training rows. ``MemberPredictions``, which evaluates one tree
after another, serves the other modules of this package too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_share, format_spread, plural, safe
from treewise.data import encoding as encode
from treewise.ensemble import Ensemble
from treewise.evaluate.evaluate import EvaluationRows, refuse_infinite
from treewise.predict.predict import EncodedRows, to_core_columns
from treewise.train.resampling import power_of_two_scale
from treewise.train.target import encode_labels
from treewise.tree.arrays import Label

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Progress = Callable[[float], None]

_MAX_ROWS = 20  # that are printed
_MAX_CLASSES = 8  # whose shares are printed
_BY_MEAN = "The prediction is the class of largest mean probability, which may differ from the majority vote."


def agreement(ensemble: Ensemble, data: Any, progress: Progress | None = None) -> Agreement:
    """Return how far the trees agree on each row of a table, or on a single row (``Ensemble.agreement``)."""
    members, classes = MemberPredictions.of(ensemble, data), ensemble.classes
    head = (members.rows.table.name, ensemble.target.name, len(ensemble), classes)
    if ensemble.task == "regression":
        values, sd, low, high = _summarise_values(members, progress)
        return Agreement(*head, values, np.empty(0), sd, low, high, np.empty(0, np.int64))
    votes = sum(members.each(_core.Output.votes, progress), start=np.zeros((len(members), len(classes))))
    none = np.empty(0)
    indices = ensemble.answers(members.rows).class_numbers()
    predictions = [classes[i] for i in indices.tolist()]
    by_mean = ensemble.method != "adaboost"
    return Agreement(*head, predictions, votes / ensemble.votes.sum(), none, none, none, indices, by_mean)


def _summarise_values(
    members: MemberPredictions, progress: Progress | None
) -> tuple[list[float], Floats, Floats, Floats]:
    """Return mean, standard deviation, minimum and maximum of the trees' values for each row."""
    unit = members.ensemble.predictor.unit
    size = power_of_two_scale(members.ensemble.members.value) / unit  # squares of huge or tiny numbers overflow
    total, mean, squares = np.zeros((3, len(members)))
    low, high = np.full(len(members), np.inf), np.full(len(members), -np.inf)
    for n, output in enumerate(members.each(progress=progress), start=1):  # Welford's algorithm: no cancellation
        value = output[:, 0]
        total += value
        deviation = value / size - mean
        mean += deviation / n
        squares += deviation * (value / size - mean)
        np.minimum(low, value, out=low)
        np.maximum(high, value, out=high)
    n = len(members.ensemble)
    return (
        (total / members.ensemble.divisor(n) * unit).tolist(),
        np.sqrt(squares / n) * size * unit,
        low * unit,
        high * unit,
    )


@dataclass(frozen=True)
class RowAgreement:
    """The prediction for one row, with the share of the vote weight of each class; for numbers their spread."""

    row: int  # from 1
    prediction: Label | float
    share: float | None  # of the vote weight for the prediction; None for numbers
    shares: dict[Label, float]  # of the vote weight for each class
    sd: float | None = None  # for numbers: the standard deviation over the trees …
    low: float | None = None  # … the smallest and the largest value of a tree
    high: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Displayable, Sequence[RowAgreement]):
    """The rows of a table, most contested first: print it, index it, or use ``.to_frame()``.

    ``predictions``, ``share`` and ``shares`` (for numbers ``sd``, ``low`` and ``high``) are in the order of the table.
    """

    table: str
    target: str
    trees: int
    classes: tuple[Label, ...]
    predictions: Sequence[Any]  # of the ensemble
    shares: Floats  # rows × classes; empty for numbers
    sd: Floats  # for numbers
    low: Floats
    high: Floats
    class_indices: Ints  # of the predictions
    by_mean: bool = False  # whether the prediction is the class of largest mean probability

    @property
    def share(self) -> Floats:
        """The share of the vote weight for the prediction: 1 if all trees agree; empty for numbers."""
        if not self.classes:
            return np.empty(0)
        share: Floats = self.shares[np.arange(len(self.class_indices)), self.class_indices]
        return share

    @cached_property
    def order(self) -> Ints:
        """The indices of the rows, most contested first."""
        return np.argsort(self.share if self.classes else -self.sd, kind="stable")

    @property
    def unanimous(self) -> int:
        """The number of rows on which all trees agree."""
        if not self.classes:
            return int((self.low == self.high).sum())
        return int((np.count_nonzero(self.shares, axis=1) == 1).sum())

    def __len__(self) -> int:
        return len(self.predictions)

    @overload
    def __getitem__(self, index: int) -> RowAgreement: ...
    @overload
    def __getitem__(self, index: slice) -> list[RowAgreement]: ...
    def __getitem__(self, index: int | slice) -> RowAgreement | list[RowAgreement]:
        rows = self.order[index]
        return [self.at(int(row)) for row in rows] if isinstance(index, slice) else self.at(int(rows))

    def at(self, row: int) -> RowAgreement:
        """Return the agreement on one row, by its index in the table."""
        if not self.classes:
            spread = float(self.sd[row]), float(self.low[row]), float(self.high[row])
            return RowAgreement(row + 1, self.predictions[row], None, {}, *spread)
        shares = dict(zip(self.classes, self.shares[row].tolist(), strict=True))
        return RowAgreement(row + 1, self.predictions[row], float(self.share[row]), shares)

    def result_table(self) -> ResultTable:
        """Return every row, most contested first."""
        title = f"{safe(self.target)} of {safe(self.table)}: {plural(len(self), 'row')}, {plural(self.trees, 'tree')}"
        below = (f"All trees agree on {self.unanimous:,} of {plural(len(self), 'row')}.", *[_BY_MEAN] * self.by_mean)
        return ResultTable(
            title, self._columns(), _AgreementLines(self), below=below, row_name="row", max_rows=_MAX_ROWS
        )

    def _columns(self) -> tuple[ColumnSpec, ...]:
        head = (ColumnSpec("row", "count"), ColumnSpec("prediction", "label"))
        if not self.classes:
            low, high = ColumnSpec("low", "number", "min"), ColumnSpec("high", "number", "max")
            return (*head, ColumnSpec("sd", "number", formatter=format_spread), low, high)
        only: Any = None if len(self.classes) <= _MAX_CLASSES else "data"
        shares = [
            ColumnSpec(f"share of {label}", "number", f"{label} %", format_share, only=only) for label in self.classes
        ]
        return (*head, ColumnSpec("share", "share", "agree %"), *shares)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        head = {"table": self.table, "target": self.target, "trees": self.trees, "unanimous": self.unanimous}
        return {**head, "rows": self.result_table().records()}


class _AgreementLines(Sequence[Sequence[Any]]):
    """The lines of the table, each made on access."""

    def __init__(self, agreement: Agreement) -> None:
        self.agreement = agreement

    def __len__(self) -> int:
        return len(self.agreement)

    def __getitem__(self, index: Any) -> Any:
        rows = self.agreement[index]
        return list(map(self._line, rows)) if isinstance(rows, list) else self._line(rows)

    def __iter__(self) -> Iterator[list[Any]]:
        return map(self._line, self.agreement)

    def _line(self, row: RowAgreement) -> list[Any]:
        if row.share is None:
            return [row.row, row.prediction, row.sd, row.low, row.high]
        return [row.row, row.prediction, row.share, *row.shares.values()]


# -- the predictions of each tree -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MemberPredictions:
    """An ensemble and the encoded rows of a table, to be evaluated tree by tree."""

    ensemble: Ensemble
    rows: EncodedRows

    @classmethod
    def of(cls, ensemble: Ensemble, data: Any) -> MemberPredictions:
        """Read and encode the rows."""
        return cls(ensemble, ensemble.encode(data))

    def __len__(self) -> int:
        return len(self.rows)

    def each(self, output: _core.Output | None = None, progress: Progress | None = None) -> Iterator[Floats]:
        """Iterate over the contribution of each tree to the prediction, rows × classes, or × 1 for numbers.

        These are class shares, its vote for a class, or a value in the unit of ``ensemble.predictor``, as the ensemble
        uses them; ``output`` selects another of these.
        """
        predictor, trees = self.ensemble.predictor, len(self.ensemble)
        columns = to_core_columns(self.ensemble.encodings, self.rows.columns)
        for t in range(trees):
            outputs = np.zeros((len(self), predictor.width))
            predictor.compiled.add(columns, len(self), output or predictor.output, t, t + 1, outputs)
            yield outputs
            if progress is not None:
                progress((t + 1) / trees)


def true_labels(ensemble: Ensemble, rows: EvaluationRows) -> npt.NDArray[Any]:
    """Return the true labels in the form of predictions: class indices, unknown ones last; or values."""
    if ensemble.task == "classification":
        return encode_labels(ensemble, rows.column)[0]
    labels = encode.encode_numbers(rows.column)
    refuse_infinite(labels, rows)
    return labels
