"""Results of ``evaluate`` for classes: metrics, confusion matrix, and how they are printed. They hold no rows.

Errors of numbers are in ``regression_results.py``, the formulas of metrics and intervals in ``metrics.py``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import WIDTH, Displayable, ResultTable, Style, align_columns
from treewise._lib.text import clip, format_count, format_rounded, format_share, plural, safe
from treewise.errors import ParameterError, join_few
from treewise.evaluate.metrics import ClassMetrics, Interval, Metric, balanced_accuracy, class_metrics, macro_mean
from treewise.evaluate.ranking import Ranking
from treewise.evaluate.result_tables import confusion_table, metrics_table, pairs_table
from treewise.evaluate.threshold import ThresholdChoice, check_goal, choose_threshold
from treewise.predict.confidence_intervals import interval_name, wilson
from treewise.predict.costs import CostMatrix
from treewise.train.target import Ints
from treewise.tree.arrays import Label
from treewise.tree.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise._lib.image_style import ImageOptions
    from treewise.show.plots.chart import ChartPicture

_LARGEST_MATRIX = 100  # with more classes than this, JSON lists the pairs only
_WIDEST_MATRIX = 10  # with more classes than this, the largest confusions are listed instead
_LONGEST_LABEL = 24
_TITLES = {
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1",
    "auc": "AUC",
    "ks": "KS",
    "lift": "lift of the top 10 %",
    "brier": "Brier score",
}
_CLASS_METRICS = ("precision", "recall", "f1", "auc")
_PERCENT = ("balanced_accuracy", "precision", "recall", "f1")
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
    display: Display | None = field(default=None, kw_only=True)  # the words of the model

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
    def displayed(self) -> Self:
        """The evaluation in the words of the model's display."""
        from treewise.evaluate.displayed import displayed_evaluation

        return displayed_evaluation(self)

    @property
    def title(self) -> str:
        """The table and its column, as a heading."""
        return f"{self.table}, column {self.target}"

    @property
    def interval_name(self) -> str:
        """The name of the intervals: ``"95 % interval"``, or on the training rows ``"training range"``."""
        return interval_name(not self.is_training_data)

    @property
    def grown(self) -> str:
        """Subject and verb for notes: "tree was grown"."""
        return "trees were grown" if self.is_ensemble else "tree was grown"

    @property
    def notes(self) -> list[str]:
        """Caveats."""
        training_notes = [_SEEN.format(grown=self.grown)] * self.is_training_data
        return [*training_notes, *[self.missing] * bool(self.missing), *self._baseline_notes()]

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
    log_loss_interval: Interval | None  # 95 % (Student); None if infinite
    brier: Metric  # mean squared difference of probability and outcome; summed over the classes if more than two
    impossible_rows: tuple[int, ...]  # rows (from 1) whose class the tree gave probability 0; they make it infinite
    log_loss_of_others: float  # the same mean without those rows
    majority: Label | None  # what the root predicts; None where the tree has seen no rows
    estimate: str = "maximum_likelihood"  # how probabilities were made of counts
    log_loss_estimate: str = "maximum_likelihood"  # those behind the log loss
    cost_matrix: CostMatrix | None = None  # costs of misclassification, if given
    rankings: tuple[Ranking, ...] = ()  # of the positive class; of each class against the others if there are more
    has_row_numbers: bool = True  # False: the rows were counted where they are, in an order of their own

    def draw(self, what: str = "confusion", ax: Axes | None = None, **image: Unpack[ImageOptions]) -> ChartPicture:
        """Draw the confusion matrix, or with two classes one of the curves.

        Curves are ``"roc"``, ``"precision_recall"``, ``"gains"``, ``"lift"`` and ``"calibration"``. Returns a picture
        that a notebook shows: ``.save("roc.svg")`` writes it (``.png`` and ``.pdf`` need matplotlib), and ``.axes`` are
        matplotlib's axes. With ``ax``, draws on these.

        >>> import treewise as tw
        >>> tw.grow("noisy", max_depth=3).evaluate("noisy").draw("roc")
        <Chart noisy, column y, 200 rows>
        """
        from treewise.show.plots.evaluation import draw_evaluation

        return draw_evaluation(self.displayed, what, ax, **image)

    @property
    def ranking(self) -> Ranking | None:
        """Two classes: the rows ranked by the probability of the positive class."""
        return self.rankings[0] if len(self.classes) == 2 and self.rankings else None

    @cached_property
    def by_class(self) -> tuple[ClassMetrics, ...]:
        """Precision, recall, F1 and AUC of each class of the model that occurs or is predicted.

        >>> import treewise as tw
        >>> adelie, *_ = tw.grow("penguins", max_leaf_nodes=4).evaluate("penguins").by_class
        >>> adelie.label, round(adelie.precision.value, 3), round(adelie.recall.value, 3)
        ('Adelie', 0.967, 0.954)
        """
        k, w = len(self.classes), self.pair_weights
        hit = self.pairs[:, 0] == self.pairs[:, 1]
        hits = np.bincount(self.pairs[hit, 0], w[hit], k).tolist()
        predicted = np.bincount(self.pairs[:, 1], w, k).tolist()
        rankings = {ranking.positive: ranking for ranking in self.rankings}
        if len(self.classes) == 2 and self.rankings:  # ranked by one class is ranked by the other
            rankings = dict.fromkeys(self.classes, self.rankings[0])
        classes = []
        for label, hit_rows, rows, support in zip(
            self.classes, hits, predicted, self.support[:k].tolist(), strict=True
        ):
            if not rows and not support:
                continue
            metrics = class_metrics(label, hit_rows, rows, support, self.effective_n / self.total)
            if (ranking := rankings.get(label)) is not None:
                metrics = replace(metrics, auc=Metric("auc", ranking.auc, ranking.auc_interval))
            classes.append(metrics)
        return tuple(classes)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that depend on classes or ranks, with their intervals.

        Precision, recall and F1 are those of the positive class; with more than two classes, ``precision``, ``recall``,
        ``f1`` and ``auc`` are means over the classes, and a class that is never predicted has precision 0.

        >>> import treewise as tw
        >>> evaluation = tw.grow("noisy", max_depth=3).evaluate(tw.datasets.noisy(seed=1))
        >>> [(metric.name, round(metric.value, 2)) for metric in evaluation.metrics[:4]]
        [('balanced_accuracy', 0.83), ('precision', 0.86), ('recall', 0.75), ('f1', 0.8)]
        """
        unknown = [Metric("recall", 0.0, (0.0, 0.0)) for rows in self.unknown.values() if rows]
        balanced = balanced_accuracy([*(c.recall for c in self.by_class), *unknown])
        if len(self.classes) != 2:
            means = (macro_mean(name, self.by_class) for name in ("precision", "f1", "auc"))
            precision, f1, auc = means
            return balanced, precision, replace(balanced, name="recall"), f1, auc, self.brier
        positive = next((c for c in self.by_class if c.label == self.classes[1]), None)
        of_class = [Metric(name, None) for name in ("precision", "recall", "f1", "auc")]
        if positive is not None:
            of_class = list(positive.metrics)
        ranking = self.ranking
        ranks = [] if ranking is None else [Metric("ks", ranking.ks), Metric("lift", ranking.lift(0.1))]
        return balanced, *of_class, *ranks, self.brier

    def choose_threshold(
        self,
        *,
        recall: float | None = None,
        precision: float | None = None,
        false_positive_rate: float | None = None,
        rate: float | None = None,
        cost: Any = None,
    ) -> ThresholdChoice:
        """Choose a threshold for the probability of the positive class, with two classes.

        Give one goal: a ``recall`` or ``precision`` of at least so much, a ``false_positive_rate`` or a ``rate`` of
        rows predicted as positive of at most so much, or the costs of mistakes (as in ``grow``; ``True`` for those of
        the model). Among the thresholds that reach the goal, the one with the fewest other mistakes is taken.

        >>> import treewise as tw
        >>> tree, fresh = tw.grow("noisy", max_depth=3), tw.datasets.noisy(seed=1)
        >>> chosen = tree.evaluate(fresh).choose_threshold(precision=0.8)
        >>> print(chosen)
        predict y = 1 from a probability of 0.3333: precision at least 80.0 %
                              value           range
        recall               81.0 %  71.0 to 88.1 %
        precision            83.1 %  73.2 to 89.9 %
        false positive rate  10.7 %   6.4 to 17.5 %
        rate                 38.5 %  32.0 to 45.4 %
        error                14.0 %   9.9 to 19.5 %
        chosen on noisy, so measure it on other rows; to predict by it: cost 1:0=2
        >>> round(tree.with_cost(chosen.cost).evaluate(fresh).by_class[1].recall.value, 3)
        0.81
        """
        goals = {"recall": recall, "precision": precision, "false_positive_rate": false_positive_rate, "rate": rate}
        goal, value = check_goal({**goals, "cost": cost})
        if self.ranking is None:
            raise ParameterError(
                f"a threshold is for two classes, and there are {len(self.classes)}.", parameter=goal, value=value
            )
        if goal == "cost":
            given = self.cost_matrix if value is True else CostMatrix.of(value, self.classes)
            matrix = CostMatrix.of({}, self.classes) if given is None else given
            value = float(matrix.matrix[0, 1]), float(matrix.matrix[1, 0])
        negative, positive = self.classes
        return choose_threshold(self.ranking, self.table, self.target, (negative, positive), goal, value)

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
        return self._sum(self.pair_weights[self.pairs[:, 0] != self.pairs[:, 1]])

    def _sum(self, weights: npt.NDArray[Any]) -> float:
        """Return a sum that does not depend on the order: of counts, or rounded once."""
        return sum(weights.tolist()) if self.weights is None else math.fsum(weights.tolist())

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
    def baseline_error(self) -> float | None:
        """The error of always predicting the majority class of the training rows."""
        if self.majority is None:
            return None
        return self._sum(np.delete(self.support, self.classes.index(self.majority))) / self.total

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
        return {name: getattr(self, name) for name in names} | {metric.name: metric.value for metric in self.metrics}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold (an infinite log loss becomes None).

        With more than 100 classes the matrix is left out; ``pairs`` has what it has.
        """
        return {
            **super().to_dict(),
            "error_interval": list(self.interval),
            **_interval_entries(self.metrics),
            "log_loss_interval": self.log_loss_interval and list(self.log_loss_interval),
            "by_class": [
                {
                    "class": metrics.label,
                    "support": metrics.support,
                    **{metric.name: metric.value for metric in metrics.metrics},
                    **_interval_entries(metrics.metrics),
                }
                for metrics in self.by_class[:_LARGEST_MATRIX]
            ],
            "interval": self.interval_name,
            "log_loss_unit": "nats",
            "estimate": self.estimate,
            "log_loss_estimate": self.log_loss_estimate,
            "cost_matrix": None if self.cost_matrix is None else self.cost_matrix.matrix.tolist(),
            "impossible_rows": list(self.impossible_rows) if self.has_row_numbers else None,
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
        return pairs_table(self)

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the metrics with the confusion matrix."""
        return confusion_table(self), metrics_table(self)

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return error and log loss, the confusion matrix, and the other metrics with their intervals."""
        if self.display is not None:
            return self.displayed.to_text(width, max_rows, emphasis)
        heads = [f"{head:<10}" for head, _ in self.facts]
        lines = [f"{emphasis(head)} {text}" for head, (_, text) in zip(heads, self.facts, strict=True)]
        return "\n".join([*lines, "", *self._confusion_lines(), "", *self._metric_lines()])

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
        facts.append(("log loss", self._describe_log_loss()))
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

    def _describe_log_loss(self) -> str:
        if not self.impossible_rows:
            smooth = "" if self.log_loss_estimate == "maximum_likelihood" else f" ({self.log_loss_estimate})"
            return f"{self.log_loss:.4f} nats{smooth}"
        if self.has_row_numbers:
            numbers = join_few([f"{row:,}" for row in self.impossible_rows], limit=5)
            rows = f"{'rows' if len(self.impossible_rows) > 1 else 'row'} {numbers}"
        else:
            rows = plural(len(self.impossible_rows), "row")
        text = f"infinite: the class of {rows} was given probability 0"
        left = self.n - len(self.impossible_rows)
        return f"{text} ({self.log_loss_of_others:.4f} nats on the other {left:,})" if left else text

    def _confusion_lines(self) -> list[str]:
        """Format the matrix, or with many classes the largest confusions."""
        rows = self.confusion_cells()
        many = self._has_many_classes
        if many and len(rows) == 1:
            return ["nothing is confused"]
        lines = [f"most frequent confusions of {len(self.labels)} classes"] if many else []
        return [*lines, *align_columns(rows[many:], right=range(1, len(rows[0]))).splitlines()]

    def _metric_lines(self) -> list[str]:
        """Format the metrics in columns."""
        cells = self.metric_cells()
        is_cut = self._has_many_classes and len(self.classes) != 2
        heading = [f"lowest F1 of {len(self.by_class)} classes"] * is_cut
        return [*heading, *align_columns(cells, right=range(1, len(cells[0]))).splitlines()]

    def metric_cells(self) -> list[list[str]]:
        """Return the metrics as text, under headings: those of the positive class one per row, or a row per class."""
        if len(self.classes) == 2:
            rows = [["", "value", self.interval_name]]
            of_positive = f" of {_short_label(self.classes[1])}"
            for metric in self.metrics:
                title = _TITLES.get(metric.name, metric.name)
                title += of_positive if metric.name in ("precision", "recall", "f1") else ""
                rows.append([title, *_format_metric(metric)])
            return rows
        shown: Sequence[ClassMetrics] = self.by_class
        if self._has_many_classes:
            shown = sorted(shown, key=lambda metrics: metrics.f1.value or 0.0)[:_WIDEST_MATRIX]
        heads = [f"{_TITLES.get(name, name)} %" if name in _PERCENT else "AUC" for name in _CLASS_METRICS]
        cells = [["class", "rows", *[cell for head in heads for cell in (head, self.interval_name)][:-1]]]
        means = {metric.name: metric for metric in self.metrics}
        lines_of: list[tuple[str, str, Sequence[Metric]]] = [
            (_short_label(metrics.label), format_count(metrics.support), metrics.metrics) for metrics in shown
        ]
        lines_of.append(("mean", "", [means[name] for name in _CLASS_METRICS]))
        for name, support, metrics in lines_of:
            figures = [cell.removesuffix(" %") for metric in metrics for cell in _format_metric(metric)]
            cells.append([name, support, *figures[:-1]])  # JSON has the intervals of the AUC as well
        return cells

    @property
    def _has_many_classes(self) -> bool:
        return len(self.labels) > _WIDEST_MATRIX

    def confusion_cells(self) -> list[list[str]]:
        """Return the cells of the matrix as text, with recall and precision in percent.

        With many classes a matrix cannot be read; then its largest wrong cells are listed, without headings in text.
        """
        if self._has_many_classes:
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
        largest = np.argsort(-weights, kind="stable")[:10]
        text = [
            f"{_short_label(self.labels[i])} taken for {_short_label(self.classes[j])}"
            for i, j, _ in pairs[largest].tolist()
        ]
        return [
            ["confusion", "rows"],
            *([line, format_count(n)] for line, n in zip(text, weights[largest].tolist(), strict=True)),
        ]


def _format_interval(low: float, high: float) -> str:
    """Format an interval in percent, with the decimals that its upper end needs.

    >>> _format_interval(0.0219, 0.0643), _format_interval(0.00019, 0.00126), _format_interval(0.0, 0.00047)
    ('2.2 to 6.4', '0.02 to 0.13', '0.000 to 0.047')
    """
    decimals = max(1, 1 - math.floor(math.log10(100 * high)))
    return f"{100 * low:.{decimals}f} to {100 * high:.{decimals}f}"


def _format_metric(metric: Metric) -> tuple[str, str]:
    """Format value and interval, rates in percent.

    >>> _format_metric(Metric("recall", 0.5, (0.25, 0.75))), _format_metric(Metric("auc", None))
    (('50.0 %', '25.0 to 75.0 %'), ('–', ''))
    """
    if metric.value is None:
        return "–", ""
    if metric.name in _PERCENT:
        interval = "" if metric.interval is None else f"{_format_interval(*metric.interval)} %"
        return f"{format_share(metric.value)} %", interval
    decimals = 2 if metric.name == "lift" else 4
    bounds = ""
    if metric.interval is not None and metric.interval[0] < metric.interval[1]:
        bounds = f"{metric.interval[0]:.{decimals}f} to {metric.interval[1]:.{decimals}f}"
    return f"{metric.value:.{decimals}f}", bounds


def _interval_entries(metrics: Sequence[Metric]) -> dict[str, list[float]]:
    """Return the intervals for JSON, as ``auc_interval``."""
    return {f"{metric.name}_interval": list(metric.interval) for metric in metrics if metric.interval is not None}


def _short_label(label: Label) -> str:
    return clip(safe(label), _LONGEST_LABEL)


def _format_ratio(part: float, total: float) -> str:
    """Format a ratio in percent; a dash if the denominator is 0."""
    return format_share(part / total) if total else "–"
