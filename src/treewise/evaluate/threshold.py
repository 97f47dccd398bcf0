"""A threshold on the probability of the positive class, chosen for a cost or a target rate.

Used by ``ClassificationEvaluation.choose_threshold`` and ``treewise evaluate --threshold``. A tree predicts few
distinct probabilities, so only the steps between them differ; the threshold lies halfway between two of them.
Predicting by a threshold t is predicting the class of least expected cost, if a missed positive row costs (1 − t)/t
false alarms; a model takes it in this form (``with_cost``, ``--cost``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import WIDTH, ColumnSpec, Displayable, ResultTable, Style, align_columns
from treewise._lib.text import format_share, plural, safe
from treewise.errors import ParameterError
from treewise.evaluate.metrics import Metric
from treewise.evaluate.ranking import Ranking
from treewise.predict.confidence_intervals import wilson
from treewise.tree.arrays import Label

Floats = npt.NDArray[np.float64]

TARGETS = ("recall", "precision", "false_positive_rate", "rate", "cost")


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdChoice(Displayable):
    """A threshold and what it does on the table it was chosen on: ``print`` it, or take ``to_dict()``."""

    table: str
    target: str
    classes: tuple[Label, Label]
    threshold: float  # rows with at least this probability of the second class are predicted as such
    rule: str  # how it was chosen
    counts: tuple[float, float, float, float]  # true positives, false positives, false negatives, true negatives
    rows_per_weight: float

    @property
    def cost(self) -> dict[Label, dict[Label, float]] | None:
        """The costs that make a model predict by this threshold: ``tree.with_cost(threshold.cost)``.

        None if there are none: whatever mistakes cost, a probability of 0 or 1 leaves no doubt.
        """
        negative, positive = self.classes
        if not 0 < self.threshold < 1:
            return None
        return {positive: {negative: (1 - self.threshold) / self.threshold}}

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Recall, precision, false positive rate, share of rows predicted as positive, and error."""
        tp, fp, fn, tn = self.counts
        shares = {
            "recall": (tp, tp + fn),
            "precision": (tp, tp + fp),
            "false_positive_rate": (fp, fp + tn),
            "rate": (tp + fp, tp + fp + fn + tn),
            "error": (fp + fn, tp + fp + fn + tn),
        }
        scale = self.rows_per_weight
        return tuple(
            Metric(name, part / whole, wilson(part * scale, whole * scale)) if whole else Metric(name, None)
            for name, (part, whole) in shares.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        return {
            "table": self.table,
            "target": self.target,
            "positive": self.classes[1],
            "threshold": self.threshold,
            "rule": self.rule,
            "cost": self.cost and {str(true): {str(p): c for p, c in row.items()} for true, row in self.cost.items()},
            **{metric.name: metric.value for metric in self.metrics},
            **{f"{metric.name}_interval": metric.interval and list(metric.interval) for metric in self.metrics},
            "counts": dict(zip(("tp", "fp", "fn", "tn"), self.counts, strict=True)),
        }

    def result_table(self) -> ResultTable:
        """Return the metrics as a result table."""
        headings = (ColumnSpec("metric"), *(ColumnSpec(name, "number") for name in ("value", "low", "high")))
        rows = [(m.name, m.value, *(m.interval or (None, None))) for m in self.metrics]
        return ResultTable(self._title, headings, rows)

    @property
    def _title(self) -> str:
        return f"predict {safe(self.target)} = {safe(self.classes[1])} from a probability of {self.threshold:.4g}"

    def to_text(self, width: int | None = WIDTH, max_rows: int | None = None, emphasis: Style = str) -> str:
        """Return the threshold, the metrics on this table, and the costs that apply it."""
        cells = [["", "value", "range"]]  # no confidence interval: these rows chose the threshold
        for metric in self.metrics:
            value, bounds = "–", ""
            if metric.value is not None and metric.interval is not None:
                value, bounds = (
                    f"{format_share(metric.value)} %",
                    " to ".join(map(format_share, metric.interval)) + " %",
                )
            cells.append([metric.name.replace("_", " "), value, bounds])
        return "\n".join(
            [
                emphasis(f"{self._title}: {self.rule}"),
                *align_columns(cells, right=range(1, 3)).splitlines(),
                f"chosen on {safe(self.table)}, so measure it on other rows; {self._how_to_use()}",
            ]
        )

    def _how_to_use(self) -> str:
        negative, positive = self.classes
        if self.cost is None:
            return "no cost gives these predictions, since some rows have a probability of 0 or 1"
        return f"to predict by it: cost {safe(positive)}:{safe(negative)}={self.cost[positive][negative]:.6g}"


def choose_threshold(
    ranking: Ranking, table: str, target: str, classes: tuple[Label, Label], goal: str, value: Any
) -> ThresholdChoice:
    """Choose the threshold that reaches a goal with the fewest errors of the other kind.

    ``goal`` is ``recall`` or ``precision`` (at least ``value``), ``rate`` or ``false_positive_rate`` (at most), or
    ``cost`` (the costs of a false alarm and of a missed positive row; the least total).
    """
    tp, fp = np.cumsum(ranking.positives), np.cumsum(ranking.others)
    tp, fp = np.concatenate([[0.0], tp]), np.concatenate([[0.0], fp])  # step i: the first i probabilities are positive
    positives, others = float(tp[-1]), float(fp[-1])
    if not positives or not others:
        raise ParameterError(
            "one of the classes does not occur in this table, so no threshold can be chosen.", parameter=goal
        )
    if goal == "cost":
        false_alarm, missed = value
        step = int(np.argmin(fp * false_alarm + (positives - tp) * missed))
        rule = f"least cost, {false_alarm:g} for a false alarm and {missed:g} for a missed row"
    else:
        step = _first_step(goal, _check_share(goal, value), tp, fp)
        sign = "at least" if goal in ("recall", "precision") else "at most"
        rule = f"{goal.replace('_', ' ')} {sign} {format_share(value)} %"
    counts = (float(tp[step]), float(fp[step]), positives - float(tp[step]), others - float(fp[step]))
    threshold = _between(ranking.probability, step)
    return ThresholdChoice(table, target, classes, threshold, rule, counts, ranking.sample_size_per_weight)


def _first_step(goal: str, value: float, tp: Floats, fp: Floats) -> int:
    """Return the number of distinct probabilities to predict as positive."""
    with np.errstate(invalid="ignore"):
        reached = {
            "recall": tp / tp[-1] >= value,
            "precision": tp / (tp + fp) >= value,
            "false_positive_rate": fp / fp[-1] <= value,
            "rate": (tp + fp) / (tp[-1] + fp[-1]) <= value,
        }[goal]
    steps = np.flatnonzero(reached)
    if not len(steps):
        best = float(np.nanmax(tp[1:] / (tp + fp)[1:]))
        raise ParameterError(
            f"no threshold reaches a precision of {value:g}; the highest is {best:.4g}.", parameter=goal, value=value
        )
    return int(steps[0] if goal == "recall" else steps[-1])


def _check_share(goal: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ParameterError("must be a share between 0 and 1, such as 0.8.", parameter=goal, value=value)
    return float(value)


def _between(probability: Floats, step: int) -> float:
    """Return a threshold between the last probability that is predicted as positive and the next.

    >>> _between(np.array([0.9, 0.4]), 1), _between(np.array([0.9, 0.4]), 0), _between(np.array([0.9, 0.4]), 2)
    (0.65, 0.95, 0.2)
    """
    above = float(probability[step - 1]) if step else 1.0
    below = float(probability[step]) if step < len(probability) else 0.0
    if above > below:
        return (above + below) / 2
    return 0.0 if step else math.nextafter(1.0, 2.0)  # all rows or none, beyond a probability of 0 or 1


def check_goal(goals: dict[str, Any]) -> tuple[str, Any]:
    """Return the one goal that was given.

    >>> check_goal({"recall": 0.8, "precision": None})
    ('recall', 0.8)
    """
    given = [(name, value) for name, value in goals.items() if value is not None]
    if len(given) != 1:
        names = ", ".join(TARGETS)
        count = plural(len(given), "goal")
        raise ParameterError(f"a threshold is chosen for one of {names}; {count} given.", parameter="threshold")
    return given[0]
