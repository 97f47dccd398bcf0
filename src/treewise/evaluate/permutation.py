"""Permutation importance: how much worse a model predicts when the values of a column are shuffled (Breiman 2001).

Beside ``importances.py``, which explains what it means and holds the results. Written against ``Model``, for trees and
ensembles alike: a ``_PermutationTrial`` is a model on labelled rows, ``_Shuffles`` repeats prediction with each column
shuffled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import check_choice, check_integer
from treewise._lib.thread_pool import Progress, map_in_threads
from treewise.data import encoding as encode
from treewise.errors import Call, DataError, Param, ParameterError
from treewise.evaluate.evaluate import EvaluationData, looks_like_training_data, prepare_evaluation, refuse_infinite
from treewise.evaluate.importances import ColumnImportance, Importances, rank_columns
from treewise.predict.confidence_intervals import check_confidence, student_quantile, upper_share
from treewise.predict.costs import CostMatrix, cost_matrix_of, losses
from treewise.predict.leaf_probabilities import default_smoothing
from treewise.predict.predict import EncodedRows
from treewise.train.grow import resolve_n_jobs
from treewise.train.resampling import power_of_two_scale
from treewise.train.target import encode_known_labels
from treewise.tree.model import Model
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]

_MEASURES = {"classification": ("error", "cost", "log_loss"), "regression": ("rmse", "mae")}
_MAX_REPEATS = 100_000


class Shuffle(NamedTuple):
    """The loss of each row after one shuffle, and the row whose value it received."""

    losses: Floats
    donors: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _PermutationTrial:
    """A model on labelled rows, to be evaluated again with one column shuffled."""

    model: Model
    rows: EncodedRows
    estimate: Any
    truth: npt.NDArray[Any]
    weight: Floats  # shares of the total weight
    measure: str
    unit: float  # regression: a power of two of their magnitude, so that squares neither overflow nor underflow
    cost: CostMatrix | None

    def losses_on(self, rows: EncodedRows) -> Floats:
        """Return the loss of each row: its error, its cost, its squared error, …"""
        model, measure = self.model, self.measure
        answers = model.answers(rows, self.estimate, n_jobs=1)  # the shuffles run in parallel
        if model.task == "regression":
            return self._regression_losses(answers.values())
        if measure == "log_loss":
            _, likelihoods, _ = answers.likelihoods(self.truth)
            if not likelihoods.all():
                raise _infinite_loss(model)
            return np.asarray(-np.log(likelihoods), np.float64)
        return losses(self.truth, answers.class_numbers(), model.task, self.cost if measure == "cost" else None)

    def _regression_losses(self, predicted: Floats) -> Floats:
        residuals = np.asarray(predicted / self.unit - self.truth / self.unit, np.float64)
        return np.abs(residuals) if self.measure == "mae" else residuals**2

    def shuffled(self, column: int, seed: Sequence[int]) -> Shuffle:
        """Return the loss of each row when the values of one column are shuffled."""
        values = self.rows.columns[column]
        assert values is not None
        columns, donors = list(self.rows.columns), np.random.default_rng(seed).permutation(len(values))
        columns[column] = values[donors]
        return Shuffle(self.losses_on(replace(self.rows, columns=columns, is_permuted=True)), donors)

    def total(self, values: Floats) -> float:
        """Return the weighted mean; not as a matrix product, whose threads make the result vary."""
        return float(np.sum(self.weight * values))

    def mean(self, losses: Floats) -> float:
        """Return the measure in the trial's unit: the weighted mean of the losses, or its root."""
        mean = self.total(losses)
        return math.sqrt(mean) if self.measure == "rmse" else mean


def _infinite_loss(model: Model) -> DataError:
    if isinstance(model, Tree):
        return DataError(
            "log_loss is infinite: a leaf gives probability 0 to a class that occurs. "
            + Param("estimate", "laplace")
            + " gives every class a positive one."
        )
    return DataError(
        "log_loss is infinite: every tree gives probability 0 to a class that occurs.",
        hint="Give trees with larger leaves (" + Param("min_samples_leaf") + "), or " + Param("measure", "error") + ".",
    )


@dataclass(frozen=True)
class _Shuffles:
    """The options of the shuffles."""

    repeats: int
    random_state: int
    confidence: float
    threads: int
    progress: Progress | None

    @classmethod
    def of(
        cls,
        *,
        repeats: int = 10,
        random_state: int = 0,
        confidence: float = 0.95,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Check the options."""
        check_integer("repeats", repeats, minimum=1, maximum=_MAX_REPEATS)
        check_integer("random_state", random_state, minimum=0, maximum=2**64 - 1)
        return cls(repeats, random_state, check_confidence(confidence), resolve_n_jobs(n_jobs), progress)

    def importances(self, trial: _PermutationTrial, compared: EvaluationData[Any]) -> Importances:
        """Return the importance of each column on the rows that the model is compared on."""
        model = compared.model
        before, columns = self._shuffle_columns(trial)
        return Importances(
            "permutation",
            compared.column.name,
            columns,
            table=compared.table.name,
            n=len(compared.table),
            measure=trial.measure,
            baseline=trial.mean(before) * trial.unit,
            repeats=self.repeats,
            confidence=self.confidence,
            seen=looks_like_training_data(compared),
            trees=0 if isinstance(model, Tree) else len(model.impurity_decreases),
        )

    def _shuffle_columns(self, trial: _PermutationTrial) -> tuple[Floats, tuple[ColumnImportance, ...]]:
        """Shuffle every column that the model tests; return the losses before, and the importance of each column."""
        before = trial.losses_on(trial.rows)
        used, splits = trial.model.used_columns, trial.model.split_counts

        def work(piece: int, _: Progress) -> Shuffle:
            column, repeat = used[piece // self.repeats], piece % self.repeats
            return trial.shuffled(column, (self.random_state, column, repeat))

        done = map_in_threads(work, len(used) * self.repeats, self.threads, self.progress)
        rises = {column: measure_rise(trial, before, islice(done, self.repeats), self.confidence) for column in used}
        none = (0.0,) * self.repeats  # never tested: nothing can change
        return before, rank_columns(
            [
                ColumnImportance(name, int(splits[i]), **rises[i])
                if i in rises
                else ColumnImportance(name, 0, 0.0, None, 0.0, 0.0, none)
                for i, name in enumerate(trial.model.columns)
            ]
        )


def permutation_importances(
    model: Model,
    data: Any,
    target: Any = None,
    *,
    measure: str | None = None,
    sample_weight: Any = None,
    drop_missing_target: bool = False,
    estimate: Any = None,
    **shuffling: Any,
) -> Importances:
    """Return the permutation importance of each column on a table (``Model.importances``)."""
    shuffles = _Shuffles.of(**shuffling)
    compared = prepare_evaluation(model, data, target, drop_missing_target, sample_weight)
    return shuffles.importances(prepare_trial(compared, measure, estimate), compared)


def prepare_trial(compared: EvaluationData[Any], measure: str | None, estimate: Any = None) -> _PermutationTrial:
    """Collect what each shuffle needs: labels, weights, the measure and its unit."""
    model, cost = compared.model, cost_matrix_of(compared.model)
    measures = (
        _MEASURES[model.task] if isinstance(model, Tree) else tuple(m for m in _MEASURES[model.task] if m != "cost")
    )
    default = "cost" if model.task == "classification" and cost is not None else measures[0]
    name = default if measure is None else measure
    check_choice("measure", name, measures)
    if name == "cost" and cost is None:
        raise ParameterError(
            "the tree has no costs; " + Call("tree.with_cost(…)") + " gives it some.",
            parameter="measure",
            value="cost",
        )
    truth: npt.NDArray[Any]
    unit = 1.0
    if model.task == "regression":
        truth = encode.encode_numbers(compared.column)
        refuse_infinite(truth, compared)
        unit = power_of_two_scale(truth)
    else:
        truth = encode_known_labels(model, compared.column)[0]
    if name == "log_loss" and estimate is None and isinstance(model, Tree):
        estimate = default_smoothing(model)  # as in the log loss of an evaluation
    weight = _in_shares(compared.weight, len(compared.table))
    return _PermutationTrial(model, compared.encoded, estimate, truth, weight, name, unit, cost)


def _in_shares(weight: Floats | None, rows: int) -> Floats:
    """Return each weight as a share of the total, without overflow."""
    scaled = np.ones(rows) if weight is None else weight / weight.max()
    return np.asarray(scaled / scaled.sum(), np.float64)


def measure_rise(
    trial: _PermutationTrial, before: Floats, shuffles: Iterable[Shuffle], confidence: float
) -> dict[str, Any]:
    """Return the rise of the measure, its mean over the shuffles and each one, and the confidence interval of the mean.

    The interval is Student's, with rows as the units; there is none for a single row. Shuffles are added up one by
    one, which saves memory.
    """
    start, rises, sums = trial.mean(before), [], _ShuffleSums(trial)
    for shuffle in shuffles:
        rises.append(trial.mean(shuffle.losses) - start)
        sums.add(shuffle)
    mean_rise = math.fsum(rises) / len(rises)
    repeats = tuple(rise * trial.unit for rise in rises)
    if len(before) < 2:
        return {"importance": mean_rise * trial.unit, "low": None, "high": None, "repeats": repeats}
    half = student_quantile(upper_share(confidence), len(before) - 1) * sums.standard_error(before)
    interval = {"importance": mean_rise, "low": mean_rise - half, "high": mean_rise + half}
    return {**{name: value * trial.unit for name, value in interval.items()}, "repeats": repeats}


class _ShuffleSums:
    """The losses of a column's shuffles, added up for the standard error of their mean.

    With h(i, j) the loss of row i with the value of row j, the importance is the mean of h over random pairs, less the
    mean loss as it is. A row takes part three times: with its own value, with that of others, and by giving its value
    to others; a single row may give a rare value to many. So row i moves the importance by

        w_i · (mean of h(i, ·) − loss of i) + mean of h(·, i) / n        (w_i: its share of the weight)

    and the variance is the sum of the squares of these, centred (the first-order term of a U-statistic, Hoeffding
    1948). Both means are over R shuffles only. Their noise enters twice, once more than it enters the importance, in
    which row and column effects of a permutation cancel; the surplus, var(h) · Σ w² / R, is subtracted. Roots are
    linearised.
    """

    def __init__(self, trial: _PermutationTrial) -> None:
        self.trial, n = trial, len(trial.weight)
        self.n_shuffles, self.squares = 0, 0.0
        self.received, self.given, self.given_weight = np.zeros(n), np.zeros(n), np.zeros(n)

    def add(self, shuffle: Shuffle) -> None:
        """Add one shuffle."""
        losses, donors = shuffle
        self.n_shuffles += 1
        self.squares += self.trial.total(losses**2)
        self.received += losses
        self.given[donors] += self.trial.weight * losses
        self.given_weight[donors] += self.trial.weight

    def standard_error(self, before: Floats) -> float:
        """Return the standard error of the mean rise over all shuffles, for other rows like these."""
        trial, weight = self.trial, self.trial.weight
        received, given = self.received / self.n_shuffles, self.given / self.given_weight
        mean, start = trial.total(received), trial.total(before)
        slope = start_slope = 1.0
        if trial.measure == "rmse":
            slope = 1 / (2 * math.sqrt(mean) or 1.0)
            start_slope = 1 / (2 * math.sqrt(start) or 2 * math.sqrt(mean) or 1.0)
        contribution = slope * (received - mean) - start_slope * (before - start)
        moves = weight * contribution + slope * (given - given.mean()) / len(given)
        variance = float(np.sum(moves**2))
        surplus = slope**2 * (self.squares / self.n_shuffles - mean**2) * float(np.sum(weight**2)) / self.n_shuffles
        return math.sqrt(max(variance - surplus, variance / 2))
