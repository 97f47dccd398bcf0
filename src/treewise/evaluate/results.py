"""Results of ``evaluate``: metrics, confusion matrix, and how they are printed. They hold no tree and no rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import WIDTH, ColumnSpec, Displayable, ResultTable, Style, align_columns
from treewise._lib.text import clip, format_count, format_rounded, format_share, plural, safe
from treewise.errors import join_few
from treewise.evaluate.ranking import Ranking
from treewise.predict.confidence_intervals import interval_name, wilson
from treewise.predict.costs import CostMatrix
from treewise.train.target import Ints
from treewise.tree.arrays import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LARGEST_MATRIX = 100  # with more classes than this, JSON lists the pairs only
_WIDEST_MATRIX = 10  # with more classes than this, the largest confusions are listed instead
_LONGEST_LABEL = 24
_SEEN = "this looks like the table the {grown} on; expect more errors on new rows"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Displayable, ABC):
    """The result of ``evaluate``: ``print`` it, read its fields, or take ``to_dict()``."""

    table: str
    target: str
    n: int
    is_training_data: bool  # the leaf counts are those of training, so this looks like the training table
    missing: str  # hand-written trees: which branches took rows with a missing value, as text
    is_ensemble: bool = field(default=False, kw_only=True)

    @property
    @abstractmethod
    def scores(self) -> dict[str, float | None]:
        """The metrics by name; None if undefined."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold (an infinite log loss becomes None)."""
        finite = {name: v if v is not None and math.isfinite(v) else None for name, v in self.scores.items()}
        return {
            "table": self.table,
            "target": self.target,
            "n": self.n,
            "is_training_data": self.is_training_data,
            **finite,
        }

    @property
    def grown(self) -> str:
        """Subject and verb for notes: "tree was grown"."""
        return "trees were grown" if self.is_ensemble else "tree was grown"

    @property
    def notes(self) -> list[str]:
        """Caveats."""
        seen = [_SEEN.format(grown=self.grown)] * self.is_training_data
        return [*seen, *[self.missing] * bool(self.missing), *self._baseline_notes()]

    def _baseline_notes(self) -> list[str]:
        """Return a note if always giving one answer would do better."""
        error, baseline = self._errors_to_compare()
        if error is None or baseline is None or not error > baseline:
            return []
        return [f"worse than the baseline: always predicting {self._baseline_text()} would do better on this table"]

    @abstractmethod
    def _errors_to_compare(self) -> tuple[float | None, float | None]:
        """Return the error and that of the baseline; the costs, if mistakes have any."""

    @abstractmethod
    def _baseline_text(self) -> str:
        """Return what the baseline always predicts."""


@dataclass(frozen=True, eq=False, repr=False)
class ClassificationEvaluation(Evaluation):
    """Evaluation of a classification model.

    ``confusion[i, j]`` counts the rows of class ``labels[i]`` for which ``classes[j]`` was predicted; ``pairs`` lists
    the same as (i, j, rows) without the zeros, for there may be 10,000 classes. With weights, rows are counted
    by weight everywhere except in ``n`` and ``pairs``.
    ``labels`` are the tree's classes and then those of the table that the tree does not know: such rows are
    errors.
    """

    classes: tuple[Label, ...]
    labels: tuple[Label, ...]
    pairs: Ints
    weights: npt.NDArray[np.float64] | None  # the weight of each of the pairs, where rows have weights
    effective_n: float  # effective sample size (Kish 1965); n without weights
    log_loss: float  # mean of -log P(class of the row), in nats
    impossible_rows: tuple[int, ...]  # rows (from 1) whose class the tree gave probability 0; they make it infinite
    log_loss_of_others: float  # the same mean without those rows
    majority: Label | None  # what the root predicts; None where the tree has seen no rows
    estimate: str = "maximum_likelihood"  # how probabilities were made of counts
    log_loss_estimate: str = "maximum_likelihood"  # those behind the log loss
    cost_matrix: CostMatrix | None = None  # costs of misclassification, if given
    ranking: Ranking | None = None  # two classes: scores of the positive class with the true labels

    def draw(self, what: str = "confusion", ax: Axes | None = None) -> Axes:
        """Draw the confusion matrix; with two classes also ``"roc"``, ``"precision_recall"`` or ``"calibration"``.

        Needs matplotlib (``pip install "treewise[plot]"``). Draws on ``ax``, or on a figure of its own, and returns the
        axes: ``.figure.savefig("roc.png")``.

        >>> import treewise as tw
        >>> tw.grow("noisy", max_depth=3).evaluate("noisy").draw("roc").get_ylabel()
        'true positive rate (y = 1)'
        """
        from treewise.show.plots.evaluation import draw_evaluation

        return draw_evaluation(self, what, ax)

    @property
    def pair_weights(self) -> npt.NDArray[Any]:
        """The number of rows of each pair, or their weight."""
        return self.pairs[:, 2] if self.weights is None else self.weights

    @cached_property
    def total(self) -> float:
        """The number of rows, or their weight."""
        return self.n if self.weights is None else math.fsum(self.weights.tolist())

    @cached_property
    def confusion(self) -> npt.NDArray[Any]:
        """The confusion matrix: true classes in rows, predicted ones in columns."""
        matrix = np.zeros((len(self.labels), len(self.classes)), self.pair_weights.dtype)
        matrix[self.pairs[:, 0], self.pairs[:, 1]] = self.pair_weights
        return matrix

    @cached_property
    def support(self) -> npt.NDArray[Any]:
        """The number of rows of each label, or their weight."""
        return np.bincount(self.pairs[:, 0], self.pair_weights, len(self.labels)).astype(self.pair_weights.dtype)

    @cached_property
    def errors(self) -> float:
        """The number of misclassified rows, or their weight."""
        wrong = self.pair_weights[self.pairs[:, 0] != self.pairs[:, 1]].tolist()
        return sum(wrong) if self.weights is None else math.fsum(wrong)

    @property
    def error(self) -> float:
        """The error rate."""
        return self.errors / self.total

    @property
    def accuracy(self) -> float:
        """The accuracy."""
        return 1 - self.error

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the error (Wilson 1927); on the training rows only a range (``interval_name``)."""
        return wilson(self.error * self.effective_n, self.effective_n)

    @property
    def interval_name(self) -> str:
        """What ``interval`` is: ``"95 % interval"``, or on the training rows ``"training range"``."""
        return interval_name(not self.is_training_data)

    @property
    def baseline_error(self) -> float | None:
        """The error of always predicting the majority class of the training rows."""
        if self.majority is None:
            return None
        return 1 - float(self.support[self.classes.index(self.majority)]) / self.total

    @property
    def cost(self) -> float | None:
        """The mean cost per row; None without costs, or if a class has no costs."""
        if self.cost_matrix is None or self.unknown:
            return None
        return float((self.confusion * self.cost_matrix.matrix).sum()) / self.total

    @property
    def baseline_cost(self) -> float | None:
        """The mean cost of always predicting as the root does."""
        if self.cost_matrix is None or self.majority is None or self.unknown:
            return None
        return float(self.support @ self.cost_matrix.matrix[:, self.classes.index(self.majority)]) / self.total

    def _errors_to_compare(self) -> tuple[float | None, float | None]:
        """Return the error and that of the baseline; the costs, if mistakes have any."""
        if self.cost_matrix is not None:
            return self.cost, self.baseline_cost
        return self.error, self.baseline_error

    def _baseline_text(self) -> str:
        return f'"{safe(self.majority)}"'

    @property
    def unknown(self) -> dict[Label, float]:
        """The labels of the table that are not classes of the model, with their rows."""
        first = len(self.classes)
        return dict(zip(self.labels[first:], self.support[first:].tolist(), strict=True))

    @property
    def scores(self) -> dict[str, float | None]:
        """The metrics by name."""
        names = ["errors", "error", "accuracy", "log_loss", "baseline_error"]
        names += ["cost", "baseline_cost"] * (self.cost_matrix is not None)
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold (an infinite log loss becomes None).

        With more than 100 classes the matrix is left out; ``pairs`` has what it has.
        """
        return {
            **super().to_dict(),
            "error_interval": list(self.interval),
            "interval": self.interval_name,
            "log_loss_unit": "nats",
            "estimate": self.estimate,
            "log_loss_estimate": self.log_loss_estimate,
            "cost_matrix": None if self.cost_matrix is None else self.cost_matrix.matrix.tolist(),
            "impossible_rows": list(self.impossible_rows),
            "log_loss_of_others": self.log_loss_of_others if len(self.impossible_rows) < self.n else None,
            "majority": self.majority,
            "classes": list(self.classes),
            "labels": list(self.labels),
            "unknown_labels": [str(label) for label in self.unknown],
            "confusion": self.confusion.tolist() if len(self.labels) <= _LARGEST_MATRIX else None,
            "pairs": self.pairs.tolist(),
            **({} if self.weights is None else {"weight": self.total, "pair_weights": self.weights.tolist()}),
        }

    def result_table(self) -> ResultTable:
        """Return the nonzero cells of the confusion matrix as a result table."""
        return _pairs_table(self)

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the metrics with the confusion matrix."""
        return (_confusion_table(self),)

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return the metrics, and below them the confusion matrix."""
        heads = [f"{head:<10}" for head, _ in self.facts]
        lines = [f"{emphasis(head)} {text}" for head, (_, text) in zip(heads, self.facts, strict=True)]
        return "\n".join([*lines, "", *self._confusion_lines()])

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The metrics as text, each with its heading."""
        low, high = self.interval
        wrong = f"{self.errors:,} of {plural(self.n, 'row')} wrong"
        if self.weights is not None:
            wrong = f"weight {format_count(self.errors)} of {format_count(self.total)} wrong, {plural(self.n, 'row')}"
        interval = f"{self.interval_name} {_format_interval(low, high)} % (Wilson)"
        facts = [("error", f"{format_share(self.error):>5} %   {wrong}; {interval}")]
        if self.baseline_error is not None:
            root = "the majority" if self.cost_matrix is None else "as the root predicts"
            text = f'always "{safe(self.majority)}", {root} where the {self.grown}'
            facts.append(("baseline", f"{format_share(self.baseline_error):>5} %   {text}"))
        facts += [("cost", text) for text in self._cost_lines()]
        facts.append(("log loss", self._log_loss_in_words()))
        for label, rows in self.unknown.items():
            many = plural(int(rows), "row") if self.weights is None else f"weight {format_count(rows)}"
            facts.append(
                ("unknown", f'"{safe(label)}" in {many}: not a class of the tree{"s" * self.is_ensemble}, so wrong')
            )
        return [*facts, *(("note", note) for note in self.notes)]

    def _cost_lines(self) -> list[str]:
        """Return the mean cost with the cost matrix."""
        if self.cost_matrix is None:
            return []
        if self.cost is None:
            return ["not defined: the costs do not name every class of the table"]
        against = (
            "" if self.baseline_cost is None else f", against {format_rounded(self.baseline_cost)} of the baseline"
        )
        return [f"{format_rounded(self.cost)} a row{against} ({self.cost_matrix})"]

    def _log_loss_in_words(self) -> str:
        if not self.impossible_rows:
            smooth = "" if self.log_loss_estimate == "maximum_likelihood" else f" ({self.log_loss_estimate})"
            return f"{self.log_loss:.4f} nats{smooth}"
        rows = join_few([f"{row:,}" for row in self.impossible_rows], most=5)
        many = len(self.impossible_rows) > 1
        text = f"infinite: the class of {'rows' if many else 'row'} {rows} was given probability 0"
        left = self.n - len(self.impossible_rows)
        return f"{text} ({self.log_loss_of_others:.4f} nats on the other {left:,})" if left else text

    def _confusion_lines(self) -> list[str]:
        """Format the matrix, or with many classes the largest confusions."""
        rows = self.confusion_cells()
        many = len(self.labels) > _WIDEST_MATRIX
        if many and len(rows) == 1:
            return ["nothing is confused"]
        lines = [f"most frequent confusions of {len(self.labels)} classes"] if many else []
        return [*lines, *align_columns(rows[many:], right=range(1, len(rows[0]))).splitlines()]

    def confusion_cells(self) -> list[list[str]]:
        """Return the cells of the matrix as text, with recall and precision in percent.

        With many classes a matrix cannot be read; then its largest wrong cells are listed, without headings in text.
        """
        if len(self.labels) > _WIDEST_MATRIX:
            return self._largest_confusions()
        right = np.diag(self.confusion)
        across = [_short_label(label) for label in self.classes]
        rows = [["true \\ predicted", *across, "right %"]]
        for i, label in enumerate(self.labels):
            of_class = self.confusion[i].sum()
            hit = right[i] if i < len(right) else 0
            rows.append(
                [_short_label(label), *map(format_count, self.confusion[i].tolist()), _format_ratio(hit, of_class)]
            )
        n_predicted = self.confusion.sum(axis=0).tolist()
        rows.append(
            [
                "right %",
                *map(_format_ratio, right.tolist(), n_predicted),
                _format_ratio(self.total - self.errors, self.total),
            ]
        )
        return rows

    def _largest_confusions(self) -> list[list[str]]:
        wrong = self.pairs[:, 0] != self.pairs[:, 1]
        pairs, weights = self.pairs[wrong], self.pair_weights[wrong]
        most = np.argsort(-weights, kind="stable")[:10]
        text = [
            f"{_short_label(self.labels[i])} taken for {_short_label(self.classes[j])}"
            for i, j, _ in pairs[most].tolist()
        ]
        return [
            ["confusion", "rows"],
            *([line, format_count(n)] for line, n in zip(text, weights[most].tolist(), strict=True)),
        ]


@dataclass(frozen=True, eq=False, repr=False)
class RegressionEvaluation(Evaluation):
    """Evaluation of a regression model."""

    rmse: float  # root of the mean squared error
    mae: float  # mean absolute error
    r2: float | None  # share of this table's variance that is explained; None when its targets are all equal
    root: float | None  # what the root predicts; None where the tree has seen no rows
    baseline_rmse: float | None  # of always predicting that
    baseline_mae: float | None
    weight: float | None = None  # of all rows, where they have weights
    estimate: str = "maximum_likelihood"  # or by which shrinkage the values were made of the nodes' means

    @property
    def scores(self) -> dict[str, float | None]:
        """The metrics by name."""
        return {name: getattr(self, name) for name in ("rmse", "mae", "r2", "baseline_rmse", "baseline_mae")}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        weight = {} if self.weight is None else {"weight": self.weight}
        return {**super().to_dict(), "root": self.root, "estimate": self.estimate, **weight}

    def _errors_to_compare(self) -> tuple[float | None, float | None]:
        """Return the root mean squared error and that of the baseline."""
        return self.rmse, self.baseline_rmse

    def _baseline_text(self) -> str:
        return format_rounded(self.root) if self.root is not None else ""

    def result_table(self) -> ResultTable:
        """Return the metrics with those of the baseline."""
        return _regression_table(self)

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return the metrics, one per line."""
        rmse, mae = f"rmse  {format_rounded(self.rmse)}", f"mae   {format_rounded(self.mae)}"
        if self.root is not None and self.baseline_rmse is not None and self.baseline_mae is not None:
            always = f"always {format_rounded(self.root)}, as the root predicts"
            rmse += f"   against {format_rounded(self.baseline_rmse)} for {always}"
            mae += f"   against {format_rounded(self.baseline_mae)}"
        r2 = "r2    not defined: all targets are equal"
        if self.r2 is not None:
            r2 = f"r2    {self.r2:.4f}   the share of this table's variance that is explained"
        rows = f"rows  {self.n:,}" + ("" if self.weight is None else f"   weight {format_count(self.weight)}")
        rows += "" if self.estimate == "maximum_likelihood" else f"   predicted by {self.estimate}"
        return "\n".join([rows, rmse, mae, r2, *(f"note  {note}" for note in self.notes)])


def _format_interval(low: float, high: float) -> str:
    """Format an interval in percent, with the decimals that its upper end needs.

    >>> _format_interval(0.0219, 0.0643), _format_interval(0.00019, 0.00126), _format_interval(0.0, 0.00047)
    ('2.2 to 6.4', '0.02 to 0.13', '0.000 to 0.047')
    """
    decimals = max(1, 1 - math.floor(math.log10(100 * high)))
    return f"{100 * low:.{decimals}f} to {100 * high:.{decimals}f}"


def _short_label(label: Label) -> str:
    return clip(safe(label), _LONGEST_LABEL)


def _format_ratio(part: float, whole: float) -> str:
    """Format a ratio in percent; a dash if the denominator is 0."""
    return format_share(part / whole) if whole else "–"


def _title(evaluation: Evaluation) -> str:
    return f"{evaluation.table}, column {evaluation.target}"


def _confusion_table(evaluation: ClassificationEvaluation) -> ResultTable:
    head, *rows = evaluation.confusion_cells()
    headings = [ColumnSpec("true", title=head[0])]
    headings += [ColumnSpec(f"column {i}", "count", name, str) for i, name in enumerate(head[1:])]
    above = tuple(f"{about}: {text}" for about, text in evaluation.facts)
    return ResultTable(_title(evaluation), tuple(headings), rows, above=above, max_rows=None)


def _pairs_table(evaluation: ClassificationEvaluation) -> ResultTable:
    headings = (
        ColumnSpec("true", "label"),
        ColumnSpec("predicted", "label"),
        ColumnSpec("rows", "count"),
        ColumnSpec("weight", "count"),
    )
    rows = [
        (evaluation.labels[true], evaluation.classes[predicted], rows, weight)
        for (true, predicted, rows), weight in zip(
            evaluation.pairs.tolist(), evaluation.pair_weights.tolist(), strict=True
        )
    ]
    return ResultTable(_title(evaluation), headings, rows, row_name="pair")


def _regression_table(evaluation: RegressionEvaluation) -> ResultTable:
    headings = (ColumnSpec("figure"), ColumnSpec("value", "number"), ColumnSpec("baseline", "number"))
    rows = [
        ("rmse", evaluation.rmse, evaluation.baseline_rmse),
        ("mae", evaluation.mae, evaluation.baseline_mae),
        ("r2", evaluation.r2, None if evaluation.root is None else 0.0),
    ]
    always = (
        ()
        if evaluation.root is None
        else (f"baseline: always {format_rounded(evaluation.root)}, as the root predicts",)
    )
    return ResultTable(
        f"{_title(evaluation)}: {evaluation.n:,} rows", headings, rows, below=(*always, *evaluation.notes)
    )
