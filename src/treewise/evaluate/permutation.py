"""What shuffling a column costs: the permutation importance of whatever answers for rows (Breiman 2001).

Beside ``importances.py``, which says what it means and holds what is found. A ``Trial`` is a model on rows with known
answers, a tree here and an ensemble in ``many/importances.py``; ``Shuffles`` tries it again with each column dealt out
at random.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import NormalDist
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import check_choice, check_integer
from treewise._lib.thread_pool import Progress, map_in_threads
from treewise.data import encoding as encode
from treewise.errors import DataError, Param, ParameterError
from treewise.evaluate.evaluate import ComparedRows, PredictionComparison, compared, refuse_infinite, seen_before
from treewise.evaluate.importances import ColumnImportance, Importances, ranked, split_counts
from treewise.predict.confidence_intervals import check_confidence
from treewise.predict.costs import cost_matrix_of, losses
from treewise.predict.leaf_probabilities import LeafProbabilities, label_probabilities
from treewise.predict.predict import answering_nodes, check_answered, encode_columns, find_leaves, predict_at_nodes
from treewise.train.grow import workers
from treewise.train.loss_stats import size_of_numbers
from treewise.train.true_labels import class_places
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Cells = Sequence[npt.NDArray[Any] | None]

MEASURES = {"classification": ("error", "cost", "log_loss"), "regression": ("rmse", "mae")}
MOST_REPEATS = 100_000


@dataclass(frozen=True, eq=False)
class PermutationTrial(ABC):
    """A model on rows with known answers, to be tried again with one column shuffled."""

    columns: Cells  # encoded; None for those that are never asked about
    truth: npt.NDArray[Any]
    weight: Floats  # in shares of all
    measure: str
    unit: float  # of numbers: a power of two of their size, so that squares neither overflow nor vanish

    @abstractmethod
    def losses_on(self, columns: Cells) -> Floats:
        """Return what each row loses when columns hold this: its error, its cost, its squared error, …"""

    def off_by(self, said: Floats) -> Floats:
        """Return what numbers lose that are answered so."""
        off = np.asarray(said / self.unit - self.truth / self.unit, np.float64)
        return np.abs(off) if self.measure == "mae" else off**2

    def shuffled(self, column: int, seed: Sequence[int]) -> Floats:
        """Return what each row loses when the values of one column are dealt out anew."""
        values = self.columns[column]
        assert values is not None
        dealt = values[np.random.default_rng(seed).permutation(len(values))]
        return self.losses_on([dealt if i == column else other for i, other in enumerate(self.columns)])

    def total(self, values: Floats) -> float:
        """Return the weighted mean; without the threads of a matrix product, so the same everywhere."""
        return float(np.sum(self.weight * values))

    def mean(self, losses: Floats) -> float:
        """Return the measure, in the trial's unit: a weighted mean, of squares its root."""
        mean = self.total(losses)
        return math.sqrt(mean) if self.measure == "rmse" else mean


@dataclass(frozen=True, eq=False)
class TreePermutation(PermutationTrial):
    """That of a tree."""

    tree: Tree
    way: LeafProbabilities

    def losses_on(self, columns: Cells) -> Floats:
        """Walk the rows down the tree."""
        tree = self.tree
        speakers = answering_nodes(tree, find_leaves(tree, columns, len(self.truth)))
        if self.measure == "log_loss":
            chance = label_probabilities(tree, speakers, self.truth, self.way)
            if not chance.all():
                raise DataError(
                    "log_loss is infinite: a leaf gives no chance to a class that came up. "
                    + Param("estimate", "laplace")
                    + " leaves every class one."
                )
            return np.asarray(-np.log(chance), np.float64)
        said = predict_at_nodes(tree, speakers, self.way)
        if tree.task == "regression":
            return self.off_by(said)
        return losses(self.truth, said, tree.task, cost_matrix_of(tree) if self.measure == "cost" else None)


@dataclass(frozen=True)
class Shuffles:
    """How often columns are shuffled, and how."""

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
        """Check what was asked for."""
        check_integer("repeats", repeats, least=1, most=MOST_REPEATS)
        check_integer("random_state", random_state, least=0, most=2**64 - 1)
        return cls(repeats, random_state, check_confidence(confidence), workers(n_jobs), progress)

    def importances(
        self,
        trial: PermutationTrial,
        here: ComparedRows,
        names: Sequence[str],
        splits: Ints,
        seen: bool,
        trees: int = 0,
    ) -> Importances:
        """Say what each column is worth to a model on the rows it is compared on."""
        before, found = self.found(trial, names, splits)
        return Importances(
            "permutation",
            here.column.name,
            found,
            table=here.table.name,
            n=len(here.table),
            measure=trial.measure,
            baseline=trial.mean(before) * trial.unit,
            repeats=self.repeats,
            confidence=self.confidence,
            seen=seen,
            trees=trees,
        )

    def found(
        self, trial: PermutationTrial, names: Sequence[str], splits: Ints
    ) -> tuple[Floats, tuple[ColumnImportance, ...]]:
        """Shuffle every column that is asked about; return what rows lose before, and what each column is worth."""
        before = trial.losses_on(trial.columns)
        used = np.flatnonzero(splits).tolist()

        def work(piece: int, _: Progress) -> Floats:
            column, repeat = used[piece // self.repeats], piece % self.repeats
            return trial.shuffled(column, (self.random_state, column, repeat))

        done = map_in_threads(work, len(used) * self.repeats, self.threads, self.progress)
        rises = {column: rise(trial, before, islice(done, self.repeats), self.confidence) for column in used}
        none = (0.0,) * self.repeats  # never asked about: nothing can change
        return before, ranked(
            [
                ColumnImportance(name, int(splits[i]), **rises[i])
                if i in rises
                else ColumnImportance(name, 0, 0.0, None, 0.0, 0.0, none)
                for i, name in enumerate(names)
            ]
        )


def on_data(
    tree: Tree,
    data: Any,
    target: Any = None,
    *,
    measure: str | None = None,
    sample_weight: Any = None,
    drop_missing_target: bool = False,
    estimate: Any = None,
    **shuffling: Any,
) -> Importances:
    """Return how much worse a tree does on a table when a column is shuffled, for each (``Tree.importances``)."""
    shuffles = Shuffles.of(**shuffling)
    here = compared(tree, data, target, drop_missing_target, sample_weight)
    trial = trial_of(here, measure, LeafProbabilities.of(estimate))
    return shuffles.importances(trial, here, tree.columns, split_counts(tree), seen_before(trial.tree, here.nodes))


def trial_of(here: PredictionComparison, measure: str | None, way: LeafProbabilities) -> TreePermutation:
    """Make ready what is tried: the columns encoded once, the true answers, the weights."""
    tree, table = here.tree, here.table
    known = MEASURES[tree.task]
    usual = "cost" if tree.task == "classification" and cost_matrix_of(tree) is not None else known[0]
    name = usual if measure is None else measure
    check_choice("measure", name, known)
    if name == "cost" and cost_matrix_of(tree) is None:
        raise ParameterError(
            "the tree has no costs; tree.with_cost(…) gives it some.", parameter="measure", value="cost"
        )
    check_answered(tree, here.nodes, table)
    truth: npt.NDArray[Any]
    unit = 1.0
    if tree.task == "regression":
        truth = encode.encode_numbers(here.column)
        refuse_infinite(truth, here)
        unit = size_of_numbers(truth)
    else:
        truth = class_places(tree, here.column)[0]
    return TreePermutation(
        encode_columns(tree, table), truth, in_shares(here.weight, len(table)), name, unit, tree, way
    )


def in_shares(weight: Floats | None, rows: int) -> Floats:
    """Return the weight of each row as a share of all, without overflow on the way."""
    scaled = np.ones(rows) if weight is None else weight / weight.max()
    return np.asarray(scaled / scaled.sum(), np.float64)


def rise(trial: PermutationTrial, before: Floats, after: Iterable[Floats], confidence: float) -> dict[str, Any]:
    """Return by how much shuffles raise the measure, in the mean and each, and the interval for other rows like these.

    The interval is the normal one of a mean of differences, row by row: it covers that other rows would have come, and,
    since a row's difference is the mean over the shuffles, that other shuffles would. For the RMSE by linearisation.
    One row says nothing of others. Shuffles are added up as they come, so that there may be many.
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
    raised = math.fsum(each) / len(each)
    repeats = tuple(one * trial.unit for one in each)
    if len(before) < 2:
        return {"importance": raised * trial.unit, "low": None, "high": None, "repeats": repeats}
    centred = change - trial.total(change)
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(trial.total(trial.weight * centred**2))
    found = {"importance": raised, "low": raised - half, "high": raised + half}
    return {**{name: value * trial.unit for name, value in found.items()}, "repeats": repeats}
