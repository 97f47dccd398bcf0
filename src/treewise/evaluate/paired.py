"""Two models on the same rows: their metrics side by side, with an interval of the difference.

Used by ``treewise.evaluate_pair`` and ``treewise evaluate --against``. The models predict the same rows, so the
difference is taken row by row; this needs far fewer rows than two separate intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import plural, safe
from treewise.data.encoding import encode_numbers
from treewise.errors import ParameterError
from treewise.evaluate.evaluate import EvaluationData, looks_like_training_data, prepare_evaluation, refuse_infinite
from treewise.evaluate.metrics import Interval, effective_sample_size, mean_and_std
from treewise.predict.confidence_intervals import Z95, student_half_width
from treewise.predict.leaf_probabilities import default_smoothing, label_probabilities
from treewise.predict.predict import TreeAnswers
from treewise.train.target import encode_known_labels
from treewise.tree.model import Model

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """One metric of two models, and the second minus the first with its 95 % interval."""

    metric: str
    first: float
    second: float
    interval: Interval

    @property
    def difference(self) -> float:
        """The second minus the first."""
        return self.second - self.first


@dataclass(frozen=True, eq=False, repr=False)
class PairedEvaluation(Displayable):
    """Two models on one table: ``print`` it, read ``differences``, or take ``to_dict()``."""

    table: str
    target: str
    n: int
    names: tuple[str, str]
    differences: tuple[Difference, ...]
    seen: tuple[bool, bool]  # whether the table looks like the training table of each

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        return {
            "table": self.table,
            "target": self.target,
            "n": self.n,
            "models": list(self.names),
            "is_training_data": list(self.seen),
            "metrics": [
                {
                    "metric": row.metric,
                    "first": row.first,
                    "second": row.second,
                    "difference": row.difference,
                    "interval": list(row.interval),
                }
                for row in self.differences
            ],
        }

    def result_table(self) -> ResultTable:
        """Return a row per metric."""
        headings = (
            ColumnSpec("metric"),
            *(ColumnSpec(key, "number", safe(name)) for key, name in zip(("first", "second"), self.names, strict=True)),
            ColumnSpec("difference", "number"),
            ColumnSpec("low", "number", "95 % interval from"),
            ColumnSpec("high", "number", "to"),
        )
        rows = [(d.metric, d.first, d.second, d.difference, *d.interval) for d in self.differences]
        return ResultTable(
            f"{self.table}, column {self.target}: {plural(self.n, 'row')}", headings, rows, below=tuple(self._remarks())
        )

    def _remarks(self) -> list[str]:
        """Say which model is better, as far as these rows can tell, and which one has seen them."""
        row = self.differences[0]
        low, high = row.interval
        verdict = f"the difference in {row.metric} may be chance: its interval holds 0"
        if not low <= 0 <= high:
            better = self.names[int(row.difference < 0)]
            verdict = f"{safe(better)} has the lower {row.metric}; the interval of the difference does not hold 0"
        seen = [
            f"this looks like the training table of {safe(name)}, which has an advantage on it"
            for name, is_training_data in zip(self.names, self.seen, strict=True)
            if is_training_data
        ]
        return [verdict, *seen]


def evaluate_pair(
    first: Model,
    second: Model,
    data: Any,
    target: Any = None,
    *,
    drop_missing_target: bool = False,
    sample_weight: Any = None,
    names: tuple[str, str] = ("first", "second"),
) -> PairedEvaluation:
    """Evaluate two models on the same rows and compare them row by row.

    Differences are the second model minus the first: of error, log loss, Brier score and AUC (two classes), or for
    numbers of RMSE and MAE. Both models must predict the same classes.

    >>> import treewise as tw
    >>> small, large = tw.grow("noisy", max_depth=1), tw.grow("noisy", max_depth=4)
    >>> pair = tw.evaluate_pair(small, large, tw.datasets.noisy(seed=1))
    >>> error = pair.differences[0]
    >>> error.metric, round(error.difference, 3), [round(end, 3) for end in error.interval]
    ('error', -0.245, [-0.313, -0.173])
    """
    if first.task != second.task or set(first.classes) != set(second.classes):
        raise ParameterError("the models predict different things, so their errors cannot be compared.")
    a, b = (_losses_of(model, data, target, drop_missing_target, sample_weight) for model in (first, second))
    return PairedEvaluation(
        a.rows.table.name,
        a.rows.column.name,
        len(a.rows.table),
        names,
        tuple(_compare_numbers(a, b) if first.task == "regression" else _compare_classes(a, b)),
        (a.is_training_data, b.is_training_data),
    )


@dataclass(frozen=True, eq=False)
class _Losses:
    """The losses of one model, row by row."""

    rows: EvaluationData[Any]
    is_training_data: bool
    error: Floats  # 0 or 1; for numbers the difference of prediction and target
    log_loss: Floats | None = None
    positive: Floats | None = None  # two classes: the probability of the class that is last by name
    is_positive: npt.NDArray[np.bool_] | None = None


def _losses_of(model: Model, data: Any, target: Any, drop_missing_target: bool, sample_weight: Any) -> _Losses:
    rows = prepare_evaluation(model, data, target, drop_missing_target, sample_weight)
    answers = rows.model.answers(rows.encoded)
    seen = looks_like_training_data(rows, answers.leaves)
    if model.task == "regression":
        y_true = encode_numbers(rows.column)
        refuse_infinite(y_true, rows)
        return _Losses(rows, seen, answers.values() - y_true)
    truth, _ = encode_known_labels(model, rows.column)
    predicted, likelihood, second = answers.likelihoods(truth)
    if isinstance(answers, TreeAnswers) and answers.tree.arrays.rows[0] > 0:
        likelihood = label_probabilities(answers.tree, answers.nodes, truth, default_smoothing(answers.tree))
    with np.errstate(divide="ignore"):
        losses = _Losses(rows, seen, (predicted != truth).astype(np.float64), -np.log(likelihood))
    if second is None:
        return losses
    last = max((0, 1), key=lambda number: str(model.classes[number]))
    return replace(losses, positive=second if last else 1 - second, is_positive=truth == last)


def _compare_classes(a: _Losses, b: _Losses) -> Iterator[Difference]:
    weight = a.rows.weight
    yield _compare_means("error", a.error, b.error, weight)
    if a.log_loss is not None and b.log_loss is not None and np.isfinite(a.log_loss + b.log_loss).all():
        yield _compare_means("log loss", a.log_loss, b.log_loss, weight)
    if a.positive is not None and b.positive is not None and a.is_positive is not None:
        y = a.is_positive
        yield _compare_means("Brier score", (a.positive - y) ** 2, (b.positive - y) ** 2, weight)
        if y.any() and not y.all():
            yield _compare_auc(a.positive, b.positive, y, weight)


def _compare_numbers(a: _Losses, b: _Losses) -> Iterator[Difference]:
    weight = a.rows.weight
    squares = _compare_means("", a.error**2, b.error**2, weight)
    first, second = math.sqrt(squares.first), math.sqrt(squares.second)
    low, high = (end / max(first + second, 1e-300) for end in squares.interval)  # x² − y² = (x − y)(x + y)
    yield Difference("RMSE", first, second, (low, high))
    yield _compare_means("MAE", np.abs(a.error), np.abs(b.error), weight)


def _compare_means(name: str, a: Floats, b: Floats, weight: Floats | None) -> Difference:
    """Compare the means of two losses; for losses of 0 and 1 by Agresti and Min's interval (2005)."""
    first, second = (float(np.average(losses, weights=weight)) for losses in (a, b))
    n = effective_sample_size(len(a), weight)
    if name == "error":
        # two more rows, half a row in each cell of the 2 × 2 table of hits and misses
        worse, better = (float(np.average(sign * (b - a) > 0, weights=weight)) * n + 0.5 for sign in (1, -1))
        middle, half = (
            (worse - better) / (n + 2),
            Z95 * math.sqrt(worse + better - (worse - better) ** 2 / (n + 2)) / (n + 2),
        )
    else:
        middle, std = mean_and_std(b - a, weight)
        half = student_half_width(std, max(2, round(n)))
    return Difference(name, first, second, (middle - half, middle + half))


def _compare_auc(a: Floats, b: Floats, y: npt.NDArray[np.bool_], weight: Floats | None) -> Difference:
    """Compare two AUCs on the same rows (DeLong, DeLong and Clarke-Pearson 1988)."""
    w = np.ones(len(y)) if weight is None else weight
    first, second = (_shares_outranked(p, y, w) for p in (a, b))
    auc_a, auc_b = (float(np.average(shares[y], weights=w[y])) for shares in (first, second))
    variance = 0.0
    for rows in (y, ~y):
        _, std = mean_and_std((second - first)[rows], w[rows])
        variance += std**2 / max(effective_sample_size(int(rows.sum()), w[rows]) - 1, 1.0)
    half = Z95 * math.sqrt(variance)
    return Difference("AUC", auc_a, auc_b, (auc_b - auc_a - half, auc_b - auc_a + half))


def _shares_outranked(p: Floats, y: npt.NDArray[np.bool_], w: Floats) -> Floats:
    """Return for each row the share of rows of the other class that are ranked on the right side; ties count half.

    >>> p, y = np.array([0.9, 0.2, 0.9, 0.4]), np.array([True, False, False, True])
    >>> _shares_outranked(p, y, np.ones(4)).tolist()
    [0.75, 1.0, 0.25, 0.5]
    """
    levels, inverse = np.unique(p, return_inverse=True)
    shares = np.empty(len(p))
    for rows, sign in ((y, 1), (~y, -1)):
        others = np.bincount(inverse[~rows], w[~rows], len(levels)) / w[~rows].sum()
        below = np.cumsum(others) - others / 2
        shares[rows] = (below if sign == 1 else 1 - below)[inverse[rows]]
    return shares
