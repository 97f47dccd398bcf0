"""One tree that says what a teacher says: grown on the teacher's answers, with its fidelity stated.

A front, beside the estimators. CS221 notes 6 ends with a tree that watched people fly a simulator and learned what they
would do next; in the same way a tree can imitate a forest that is too large to read, or any model, rule or habit.

teachers.py   whoever can be imitated, each asked in the form it knows
fidelity.py   how often both say the same, and what both are worth beside the truth
lesson.py     a table with the teacher's answers in it

Teachers that give probabilities are imitated in what they decide: a student of hard answers decides as they do, and its
own leaves say how sure that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, format_share, plural
from treewise.data.table import Table, read
from treewise.errors import Param, ParameterError
from treewise.evaluate.baselines.compare_models import row_weights
from treewise.explain.distill.fidelity import Fidelity, FidelityAnswers
from treewise.explain.distill.teacher_dataset import TeacherDataset, student_options, teacher_dataset
from treewise.explain.distill.teachers import AnswersTeacher, Teacher, teacher_of
from treewise.predict.predict import answering_nodes, check_answered, encode_columns, find_leaves, predict_at_nodes
from treewise.prune.grow_and_prune import is_share
from treewise.train.grow import PRUNING, grow_prepared, grow_training_set, pruning_for
from treewise.train.resampling import USUAL_FOLDS, fold_numbers, part
from treewise.train.settings import index
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

__all__ = ["Distilled", "Fidelity", "distill"]

Progress = Callable[[float], None]
Said = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Distilled(Displayable):
    """A tree that imitates a teacher, and how well. ``print`` it; ``tree`` is an ordinary tree.

    >>> import treewise as tw
    >>> found = tw.distill("island", tw.datasets.penguins(), max_leaf_nodes=5, folds=5)
    >>> print(found)
    A tree of 5 leaves imitates the column "island"
    rows        n  agreement %  95 % interval
    training  344         73.5
    5 folds   344         72.1  67.1 to 76.6
    """

    tree: Tree
    teacher: str  # who it imitates, in words
    training: Fidelity
    held_out: Fidelity | None  # on rows the tree that answered had not seen

    @property
    def fidelity(self) -> float | None:
        """The share of answers that agree, of numbers R²: on held-out rows, or where there are none on all."""
        return (self.held_out or self.training).agreement

    def result_table(self) -> ResultTable:
        """Return the figures, one line for each set of rows."""
        numbers = self.tree.task == "regression"
        figures = [each for each in (self.training, self.held_out) if each is not None]
        known = any(each.teacher_error is not None for each in figures)
        written: dict[str, Any] = {"kind": "number"} if numbers else {"kind": "share", "formatter": format_share}
        unit = "RMSE" if numbers else "error %"
        headings = (
            ColumnSpec("rows"),
            ColumnSpec("n", "count"),
            ColumnSpec("agreement", title="R² of imitation" if numbers else "agreement %", **written),
            ColumnSpec("low", "number", only="data"),
            ColumnSpec("high", "number", only="data"),
            ColumnSpec("interval", title="95 % interval", only="text"),
            *([ColumnSpec("rmse", "number", "off the teacher")] if numbers else []),
            ColumnSpec("teacher_error", title=f"teacher's {unit}", only=None if known else "data", **written),
            ColumnSpec("student_error", title=f"student's {unit}", only=None if known else "data", **written),
        )
        leaves = plural(self.tree.n_leaves, "leaf", "leaves")
        title = f"A tree of {leaves} imitates {self.teacher}"
        rows = [self._line(each, numbers) for each in figures]
        return ResultTable(title, headings, rows, below=tuple(self._notes(known)), row_name="line")

    def _line(self, f: Fidelity, numbers: bool) -> list[Any]:
        write = format_rounded if numbers else format_share
        ends = None if f.low is None or f.high is None else f"{write(f.low)} to {write(f.high)}"
        off = [f.rmse] if numbers else []
        return [f.rows, f.n, f.agreement, f.low, f.high, ends, *off, f.teacher_error, f.student_error]

    def _notes(self, known: bool) -> Iterator[str]:
        """Say what the table does not."""
        if known:
            yield "Errors are beside the truth; the teacher may have learned from these rows."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        head = {"teacher": self.teacher, "target": self.tree.target.name, "task": self.tree.task}
        return {**head, "leaves": self.tree.n_leaves, "fidelity": self.result_table().records()}


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
    """Grow the tree that best imitates a teacher, and say how faithful it is.

    The tree is grown on the teacher's answers. Its fidelity is the share of rows on which both answer alike (of
    numbers, R²), on the training rows and on rows held out; where the truth is known, the errors of both stand beside
    each other.

    >>> import treewise as tw
    >>> teacher = tw.grow("penguins")                                          # or a forest, a model, a function
    >>> found = tw.distill(teacher, "penguins", max_leaf_nodes=4)
    >>> found.training.agreement, found.tree.n_leaves
    (0.9622093023255814, 4)
    >>> print(found.tree.history[0])
    grow(criterion="entropy", max_leaf_nodes=4) on 344 rows, imitating a tree of 13 leaves

    Parameters
    ----------
    teacher : a tree or an ensemble; a fitted model with ``predict``, as scikit-learn's; a function, which is called
        with the table as it was given (one read from a file is a polars dataframe); or a record of answers, the name of
        a column or an array (CS221 notes 6: what a pilot did). Of probabilities only the decision is imitated.
    data : the rows to ask it about, as for ``treewise.grow``. No true answers are needed.
    target : the column with the true answers, by name or as an array, if there is one; the tree does not see it. By
        default, of a tree or an ensemble, the one it was grown for.
    test : a table the tree has not seen, to be faithful on. Without it, every row is held out once in one of ``folds``.
    folds : 10 unless said, fewer on fewer rows; 0 for none.
    random_state : the seed of folds and ties.
    progress : is told the share that is done.
    options : of ``treewise.grow``: limits, criterion, ``pruning="cv"``, … By default the tree may ask about the columns
        that the teacher learned from, where it says which.
    """
    who = teacher_of(teacher)
    if isinstance(who, AnswersTeacher) and test is not None:
        raise ParameterError(
            "the answers given are of data's rows alone.",
            parameter="test",
            hint="Give them as a column of both tables.",
        )
    markers = options.get("na_values", ())
    given = teacher_dataset(who, data, read(data, na_values=markers), target)
    options = student_options(who, given, options)
    asked = {name: options.pop(name) for name in PRUNING if name in options}
    if asked.get("validation") is not None and not is_share(asked["validation"]):
        other = asked["validation"]
        asked["validation"] = teacher_dataset(who, other, read(other, na_values=markers), target, given.name).table
    wanted = pruning_for(options.get("preset"), **asked)
    training_set = given.training_set(who, **options, random_state=random_state)

    def grow(rows: TrainingSet, keep_quartiles: bool = True) -> Tree:
        return (
            grow_training_set(rows, None, n_jobs, keep_quartiles)
            if wanted is None
            else grow_prepared(rows, wanted, n_jobs)
        )

    steps = folds_for(folds, len(training_set), test)
    fold_of = fold_numbers(training_set, steps, random_state) if steps else None  # also looks at what was asked for
    tree = grow(training_set)
    if progress is not None:
        progress(1 / (steps + 1))
    training = answered(training_set, said_by(tree, training_set), given, tree).fidelity(
        "training", tree.task == "regression", False
    )
    held_out = None
    if test is not None:
        held_out = on_test(who, tree, test, target, given.name, markers)
    elif fold_of is not None:
        said = by_folds(training_set, grow, fold_of, progress)
        held_out = answered(training_set, said, given, tree).fidelity(f"{steps} folds", tree.task == "regression", True)
    return Distilled(tree, who.about, training, held_out)


def folds_for(folds: int | None, rows: int, test: Any) -> int:
    """Return how many folds there are to be; 0 for none."""
    if test is not None:
        if folds is not None:
            raise ParameterError(
                Param("test") + " and " + Param("folds") + " both hold rows out.", hint="Give one of them."
            )
        return 0
    if folds is None:
        return min(USUAL_FOLDS, rows) if rows > 1 else 0
    count = index(folds)
    if count is None or count < 0 or count == 1:
        raise ParameterError("must be a whole number, 2 or more, or 0 for none.", parameter="folds", value=folds)
    return count


def said_by(tree: Tree, training_set: TrainingSet) -> Said:
    """Return what a tree answers for the rows of a training set: class numbers, or values."""
    return predict_at_nodes(tree, answering_nodes(tree, find_leaves(tree, training_set.columns, len(training_set))))


def by_folds(training_set: TrainingSet, grow: Callable[..., Tree], number: Said, progress: Progress | None) -> Said:
    """Return what trees answer that have not seen the row: each fold's by one grown on the others."""
    numbers = training_set.target.task == "regression"
    said = np.zeros(len(training_set), np.float64 if numbers else np.int64)
    last = int(number.max())
    for fold in range(last + 1):
        held = np.flatnonzero(number == fold)
        said[held] = said_by(grow(part(training_set, np.flatnonzero(number != fold)), False), part(training_set, held))
        if progress is not None:
            progress((fold + 2) / (last + 2))
    return said


def answered(training_set: TrainingSet, said: Said, given: TeacherDataset, tree: Tree) -> FidelityAnswers:
    """Put side by side what teacher and student say of the rows of a training set."""
    teacher = training_set.raw if training_set.target.task == "regression" else training_set.y.astype(np.int64)
    truth = given.true_answers(tree)
    return FidelityAnswers(
        teacher, said, None if truth is None else truth[training_set.rows], row_weights(training_set)
    )


def on_test(who: Teacher, tree: Tree, test: Any, target: Any, name: str, markers: Any) -> Fidelity:
    """Return how faithful a tree is on another table."""
    table: Table = read(test, na_values=markers)
    given = teacher_dataset(who, test, table, target, name).answered_rows()
    nodes = find_leaves(tree, encode_columns(tree, given.table), len(given.table))
    check_answered(tree, nodes, given.table)
    said = predict_at_nodes(tree, answering_nodes(tree, nodes))
    both = FidelityAnswers(given.teacher_answers(tree), said, given.true_answers(tree), None)
    return both.fidelity(given.table.name, tree.task == "regression", True)
