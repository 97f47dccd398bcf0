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
from statistics import NormalDist
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import check_choice, check_integer
from treewise._lib.thread_pool import Progress, map_in_threads
from treewise.data import encoding as encode
from treewise.errors import DataError, Param, ParameterError
from treewise.evaluate.evaluate import EvaluationData, looks_like_training_data, prepare_evaluation, refuse_infinite
from treewise.evaluate.importances import ColumnImportance, Importances, rank_columns
from treewise.predict.confidence_intervals import check_confidence
from treewise.predict.costs import CostMatrix, cost_matrix_of, losses
from treewise.predict.predict import EncodedRows
from treewise.train.grow import resolve_n_jobs
from treewise.train.resampling import power_of_two_scale
from treewise.train.target import encode_labels
from treewise.tree.model import Model
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]

_MEASURES = {"classification": ("error", "cost", "log_loss"), "regression": ("rmse", "mae")}
_MOST_REPEATS = 100_000


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

    def shuffled(self, column: int, seed: Sequence[int]) -> Floats:
        """Return the loss of each row when the values of one column are shuffled."""
        values = self.rows.columns[column]
        assert values is not None
        columns = list(self.rows.columns)
        columns[column] = values[np.random.default_rng(seed).permutation(len(values))]
        return self.losses_on(replace(self.rows, columns=columns, is_permuted=True))

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
        check_integer("repeats", repeats, least=1, most=_MOST_REPEATS)
        check_integer("random_state", random_state, least=0, most=2**64 - 1)
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

        def work(piece: int, _: Progress) -> Floats:
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
            "the tree has no costs; tree.with_cost(…) gives it some.", parameter="measure", value="cost"
        )
    truth: npt.NDArray[Any]
    unit = 1.0
    if model.task == "regression":
        truth = encode.encode_numbers(compared.column)
        refuse_infinite(truth, compared)
        unit = power_of_two_scale(truth)
    else:
        truth = encode_labels(model, compared.column)[0]
    weight = _in_shares(compared.weight, len(compared.table))
    return _PermutationTrial(model, compared.encoded, estimate, truth, weight, name, unit, cost)


def _in_shares(weight: Floats | None, rows: int) -> Floats:
    """Return each weight as a share of the total, without overflow."""
    scaled = np.ones(rows) if weight is None else weight / weight.max()
    return np.asarray(scaled / scaled.sum(), np.float64)


def measure_rise(
    trial: _PermutationTrial, before: Floats, after: Iterable[Floats], confidence: float
) -> dict[str, Any]:
    """Return the rise of the measure, its mean over the shuffles and each one, and the confidence interval of the mean.

    The interval is the normal one of a mean of differences per row. It covers the sampling of rows and, since a row's
    difference is the mean over the shuffles, that of shuffles; for the RMSE by linearisation. There is none for a
    single row. Shuffles are added up one by one, which saves memory.
    """
    start, each, mean_after = trial.mean(before), [], np.zeros(len(before))
    for losses_after in after:
        each.append(trial.mean(losses_after) - start)
        mean_after += losses_after
    mean_after /= len(each)
    change = mean_after - before
    if trial.measure == "rmse":
        end = math.sqrt(trial.total(mean_after))
        change = mean_after / (2 * end or 1.0) - before / (2 * start or 2 * end or 1.0)
    mean_rise = math.fsum(each) / len(each)
    repeats = tuple(rise * trial.unit for rise in each)
    if len(before) < 2:
        return {"importance": mean_rise * trial.unit, "low": None, "high": None, "repeats": repeats}
    centred = change - trial.total(change)
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(trial.total(trial.weight * centred**2))
    interval = {"importance": mean_rise, "low": mean_rise - half, "high": mean_rise + half}
    return {**{name: value * trial.unit for name, value in interval.items()}, "repeats": repeats}
