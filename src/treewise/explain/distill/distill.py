"""Distill a teacher into a single tree: grow it on the teacher's predictions, and report its fidelity.

CS221 notes 6 ends with a tree that watched people fly a simulator and learned what they would do next; in the same way
a tree can imitate a forest that is too large to read, or any model or rule. ``teachers.py`` has what can be imitated.

Teachers that predict probabilities are imitated in their decisions: a student of hard labels decides as they do, and
its own leaves provide probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import as_integer
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, format_share, plural
from treewise.data.table import read
from treewise.errors import Param, ParameterError
from treewise.evaluate.baselines.compare_models import row_weights
from treewise.evaluate.metrics import effective_sample_size, mean_and_std
from treewise.explain.distill.teachers import (
    ArrayTeacher,
    Teacher,
    TeacherDataset,
    make_teacher,
    make_teacher_dataset,
    student_options,
)
from treewise.predict.confidence_intervals import Z95, wilson
from treewise.predict.predict import answering_nodes, check_answered, encode_columns, find_leaves, predict_at_nodes
from treewise.prune.grow_and_prune import is_share
from treewise.train.folds import DEFAULT_FOLDS, assign_folds
from treewise.train.grow import PRUNING, grow_prepared, grow_training_set, pruning_for
from treewise.train.resampling import fold_sample_size, power_of_two_scale, take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

__all__ = ["Distilled", "Fidelity", "distill"]

Progress = Callable[[float], None]
Values = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


def distill(
    teacher: Any,
    data: Any,
    *,
    target: Any = None,
    test: Any = None,
    folds: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Distilled:
    """Grow the tree that best imitates a teacher, and report how faithful it is.

    The tree is grown on the teacher's predictions. Its fidelity is the share of rows on which both predict the same
    (R² for numbers), on the training rows and on held-out rows; where the true labels are known, the errors of both
    are reported as well.

    >>> import treewise as tw
    >>> teacher = tw.grow("penguins")                                          # or a forest, a model, a function
    >>> distilled = tw.distill(teacher, "penguins", max_leaf_nodes=4)
    >>> distilled.training.agreement, distilled.tree.n_leaves
    (0.9622093023255814, 4)
    >>> print(distilled.tree.history[0])
    grow(criterion="entropy", max_leaf_nodes=4) on 344 rows, imitating a tree of 13 leaves

    Parameters
    ----------
    teacher : a tree or an ensemble; a fitted model with ``predict``, such as one of scikit-learn; a function, which is
        called with the table as given (a polars dataframe if it is read from a file); or recorded decisions, as a
        column name or an array (CS221 notes 6: what a pilot did).
    data : the rows to predict, as for ``treewise.grow``. No true labels are needed.
    target : the column with the true labels, by name or as an array, if there is one; the tree does not see it. The
        default for a tree or an ensemble is its target.
    test : a held-out table. Without it, every row is held out once in one of ``folds``.
    folds : the number of folds, by default 10 or one per row if there are fewer rows; 0 for none.
    random_state : the seed of folds and ties.
    progress : a callback that receives the share done.
    options : of ``treewise.grow``: limits, criterion, ``pruning="cv"``, … By default the tree uses the columns the
        teacher was trained on, if they are recorded.
    """
    source = make_teacher(teacher)
    if isinstance(source, ArrayTeacher) and test is not None:
        raise ParameterError(
            "the given predictions cover the rows of data only.",
            parameter="test",
            hint="Give them as a column of both tables.",
        )
    na_values = options.get("na_values", ())
    dataset = make_teacher_dataset(source, data, read(data, na_values=na_values), target)
    options = student_options(source, dataset, options)
    pruning_options = {name: options.pop(name) for name in PRUNING if name in options}
    if (validation := pruning_options.get("validation")) is not None and not is_share(validation):
        table = read(validation, na_values=na_values)
        pruning_options["validation"] = make_teacher_dataset(source, validation, table, target, dataset.name).table
    pruning = pruning_for(options.get("preset"), **pruning_options)
    training_set = dataset.training_set(source, **options, random_state=random_state)

    def grow(rows: TrainingSet, keep_quartiles: bool = True) -> Tree:
        if pruning is None:
            return grow_training_set(rows, None, n_jobs, keep_quartiles)
        return grow_prepared(rows, pruning, n_jobs)

    n_folds = _count_folds(folds, len(training_set), test)
    fold_of = assign_folds(training_set, n_folds, random_state) if n_folds else None  # also checks the number
    tree = grow(training_set)
    if progress is not None:
        progress(1 / (n_folds + 1))
    training = _training_fidelity("training", training_set, _predict(tree, training_set), dataset, tree)
    held_out = None
    if test is not None:
        held_out = _test_fidelity(source, tree, test, target, dataset.name, na_values)
    elif fold_of is not None:
        predictions = _predict_by_folds(training_set, grow, fold_of, progress)
        held_out = _training_fidelity(f"{n_folds} folds", training_set, predictions, dataset, tree, folds=n_folds)
    return Distilled(tree, source.description, training, held_out)


def _count_folds(folds: int | None, rows: int, test: Any) -> int:
    if test is not None:
        if folds is not None:
            raise ParameterError(
                Param("test") + " and " + Param("folds") + " both hold rows out.", hint="Give one of them."
            )
        return 0
    if folds is None:
        return min(DEFAULT_FOLDS, rows) if rows > 1 else 0
    count = as_integer(folds)
    if count is None or count < 0 or count == 1:
        raise ParameterError("must be a whole number, 2 or more, or 0 for none.", parameter="folds", value=folds)
    return count


def _predict(tree: Tree, training_set: TrainingSet) -> Values:
    """Return a tree's predictions for the rows of a training set: class indices, or values."""
    return predict_at_nodes(tree, answering_nodes(tree, find_leaves(tree, training_set.columns, len(training_set))))


def _predict_by_folds(
    training_set: TrainingSet, grow: Callable[..., Tree], fold_of: Values, progress: Progress | None
) -> Values:
    """Predict the rows of each fold by a tree grown on the others."""
    is_regression = training_set.target.task == "regression"
    predictions = np.zeros(len(training_set), np.float64 if is_regression else np.int64)
    last = int(fold_of.max())
    for fold in range(last + 1):
        held_out = np.flatnonzero(fold_of == fold)
        tree = grow(take_rows(training_set, np.flatnonzero(fold_of != fold)), False)
        predictions[held_out] = _predict(tree, take_rows(training_set, held_out))
        if progress is not None:
            progress((fold + 2) / (last + 2))
    return predictions


def _training_fidelity(
    name: str,
    training_set: TrainingSet,
    predictions: Values,
    dataset: TeacherDataset,
    tree: Tree,
    folds: int = 0,
) -> Fidelity:
    is_regression = tree.task == "regression"
    teacher = training_set.raw if is_regression else training_set.y.astype(np.int64)
    truth = dataset.true_labels(tree)
    truth = None if truth is None else truth[training_set.rows]
    comparison = _PredictionPairs(teacher, predictions, truth, row_weights(training_set), is_regression, folds)
    return comparison.fidelity(name, is_held_out=folds > 0)


def _test_fidelity(teacher: Teacher, tree: Tree, test: Any, target: Any, name: str, na_values: Any) -> Fidelity:
    dataset = make_teacher_dataset(teacher, test, read(test, na_values=na_values), target, name).predicted_rows()
    leaves = find_leaves(tree, encode_columns(tree, dataset.table), len(dataset.table))
    check_answered(tree, leaves, dataset.table)
    student = predict_at_nodes(tree, answering_nodes(tree, leaves))
    taught, truth = dataset.teacher_predictions(tree), dataset.true_labels(tree)
    comparison = _PredictionPairs(taught, student, truth, None, tree.task == "regression")
    return comparison.fidelity(dataset.table.name, is_held_out=True)


# -- fidelity -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fidelity:
    """How faithful a tree is on some rows. Errors are shares of wrong rows, or RMSE; None without true labels."""

    rows: str  # which rows: "training", "10 folds", or the name of a table
    n: int
    agreement: float | None  # share of rows with the teacher's prediction; for numbers R², None if they do not vary
    low: float | None  # the 95 % interval of the agreement; None on the training rows
    high: float | None
    rmse: float | None = None  # for numbers: the distance to the teacher
    teacher_error: float | None = None
    student_error: float | None = None


@dataclass(frozen=True, eq=False)
class _PredictionPairs:
    """The predictions of teacher and student for some rows, and the true labels (-1, NaN: unknown)."""

    teacher: Values
    student: Values
    truth: Values | None
    weight: Floats | None  # if rows have different weights
    is_regression: bool
    folds: int = 0  # by which the rows were held out

    @property
    def interval_n(self) -> float:
        """The sample size for intervals."""
        n = effective_sample_size(len(self.teacher), self.weight)
        return fold_sample_size(n, self.folds) if self.folds else n

    def fidelity(self, rows: str, is_held_out: bool) -> Fidelity:
        """Compare them; an interval is computed for held-out rows."""
        agreement = self._compare_numbers(is_held_out) if self.is_regression else self._compare_classes(is_held_out)
        errors = {"teacher_error": self._error(self.teacher), "student_error": self._error(self.student)}
        return Fidelity(rows, len(self.teacher), **agreement, **errors)

    def _compare_classes(self, with_interval: bool) -> dict[str, float | None]:
        agreement = float(np.average(self.teacher == self.student, weights=self.weight))
        n = self.interval_n
        low, high = wilson(agreement * n, n) if with_interval else (None, None)
        return {"agreement": agreement, "low": low, "high": high}

    def _compare_numbers(self, with_interval: bool) -> dict[str, float | None]:
        """Return R²; its interval is that of the mean squared distance, given the variance of the teacher."""
        unit = power_of_two_scale(self.teacher)
        distance, taught = (self.student - self.teacher) / unit, self.teacher / unit
        squared, sd = mean_and_std(distance**2, self.weight)
        variance = mean_and_std(taught, self.weight)[1] ** 2
        rmse = math.sqrt(squared) * unit
        if variance == 0:
            return {"agreement": None, "low": None, "high": None, "rmse": rmse}
        low = high = None
        if with_interval:
            half = Z95 * sd / math.sqrt(self.interval_n)
            low, high = 1 - (squared + half) / variance, 1 - max(0.0, squared - half) / variance
        return {"agreement": 1 - squared / variance, "low": low, "high": high, "rmse": rmse}

    def _error(self, predictions: Values) -> float | None:
        """Return the error where the true labels are known."""
        if self.truth is None:
            return None
        is_known = ~np.isnan(self.truth) if self.is_regression else self.truth >= 0
        if not is_known.any():
            return None
        weight = None if self.weight is None else self.weight[is_known]
        if not self.is_regression:
            return float(np.average(predictions[is_known] != self.truth[is_known], weights=weight))
        unit = power_of_two_scale(self.truth[is_known])
        squared = ((predictions - self.truth)[is_known] / unit) ** 2
        return math.sqrt(float(np.average(squared, weights=weight))) * unit


@dataclass(frozen=True, eq=False, repr=False)
class Distilled(Displayable):
    """A tree that imitates a teacher, and its fidelity. ``print`` it; ``tree`` is an ordinary tree.

    >>> import treewise as tw
    >>> distilled = tw.distill("island", tw.datasets.penguins(), max_leaf_nodes=5, folds=5)
    >>> print(distilled)
    A tree of 5 leaves imitates the column "island"
    rows        n  agreement %  95 % interval
    training  344         73.5
    5 folds   344         72.1  64.5 to 78.6
    """

    tree: Tree
    teacher: str  # a description
    training: Fidelity
    held_out: Fidelity | None

    @property
    def fidelity(self) -> float | None:
        """The share of equal predictions, or R²: on held-out rows if there are any, else on all."""
        return (self.held_out or self.training).agreement

    def result_table(self) -> ResultTable:
        """Return the statistics, one line per set of rows."""
        is_regression = self.tree.task == "regression"
        sets = [fidelity for fidelity in (self.training, self.held_out) if fidelity is not None]
        has_errors = any(fidelity.teacher_error is not None for fidelity in sets)
        kind: dict[str, Any] = {"kind": "number"} if is_regression else {"kind": "share", "formatter": format_share}
        unit = "RMSE" if is_regression else "error %"
        columns = (
            ColumnSpec("rows"),
            ColumnSpec("n", "count"),
            ColumnSpec("agreement", title="R²" if is_regression else "agreement %", **kind),
            ColumnSpec("low", "number", only="data"),
            ColumnSpec("high", "number", only="data"),
            ColumnSpec("interval", title="95 % interval", only="text"),
            *([ColumnSpec("rmse", "number", "RMSE to teacher")] if is_regression else []),
            ColumnSpec("teacher_error", title=f"teacher's {unit}", only=None if has_errors else "data", **kind),
            ColumnSpec("student_error", title=f"student's {unit}", only=None if has_errors else "data", **kind),
        )
        title = f"A tree of {plural(self.tree.n_leaves, 'leaf', 'leaves')} imitates {self.teacher}"
        note = "Errors are against the true labels; the teacher may have been trained on these rows."
        lines = [self._line(fidelity, is_regression) for fidelity in sets]
        return ResultTable(title, columns, lines, below=(note,) if has_errors else (), row_name="line")

    def _line(self, f: Fidelity, is_regression: bool) -> list[Any]:
        write = format_rounded if is_regression else format_share
        interval = None if f.low is None or f.high is None else f"{write(f.low)} to {write(f.high)}"
        rmse = [f.rmse] if is_regression else []
        return [f.rows, f.n, f.agreement, f.low, f.high, interval, *rmse, f.teacher_error, f.student_error]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        head = {"teacher": self.teacher, "target": self.tree.target.name, "task": self.tree.task}
        return {**head, "leaves": self.tree.n_leaves, "fidelity": self.result_table().records()}
