"""Teachers, which a tree imitates, and the dataset of their predictions on which it is grown.

Used by ``distill.py``. A tree or an ensemble, a fitted model with ``predict``, a function from rows to predictions, or
a log of decisions: each predicts in its own form, and its predictions become one column. The true labels are taken
out of the table, so that the student cannot copy them.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.column import LazyColumns
from treewise.data.encoding import Encoding
from treewise.data.table import Column, KindSpec, Table, read
from treewise.ensemble import Ensemble
from treewise.ensemble.model import METHOD_NAMES
from treewise.errors import DataError, Param, ParameterError, brief, join_few
from treewise.train.column_roles import check_column_names, find_target
from treewise.train.grow import prepare
from treewise.train.target import encode_labels
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import Target, Task
from treewise.tree.tree import Tree

_KINDS = {"number": "number", "integer": "number", "datetime": "datetime", "boolean": "boolean", "nominal": "nominal"}


@dataclass(frozen=True, eq=False)
class Teacher(ABC):
    """A source of predictions for the rows of a table."""

    model: Any

    @property
    @abstractmethod
    def description(self) -> str:
        """A short description."""

    @abstractmethod
    def predict(self, data: Any, table: Table, target: str | None) -> Any:
        """Return a prediction for each row of ``data``, read as ``table``; ``target`` is a column to leave out."""

    @property
    def target(self) -> str | None:
        """The name of the column it predicts, if known."""
        return None

    @property
    def task(self) -> Task | None:
        """Whether it predicts classes or numbers; None if its predictions decide."""
        return None

    def columns(self, table: Table) -> list[str] | None:
        """The columns it was trained on; None if unknown."""
        return None

    def kinds(self, table: Table) -> dict[str, KindSpec]:
        """The known kinds of the columns of a table."""
        return {}

    def predict_column(self, data: Any, table: Table, target: str | None, name: str) -> Column:
        """Return its predictions as a column."""
        predictions = self.predict(data, table, target)
        shape = getattr(predictions, "shape", None)
        is_sequence = hasattr(predictions, "__len__") and not isinstance(predictions, str | bytes | dict)
        if not is_sequence or (shape is not None and len(shape) != 1):
            result = f"an array of shape {tuple(shape)}" if shape else brief(predictions)
            raise DataError(
                f"teacher: {self.description} returned {result} for {plural(len(table), 'row')} of {table.name};"
                " expected one class or number per row."
            )
        column = predictions
        if not isinstance(column, Column):
            column = read({"predictions": predictions}, name="the predictions")["predictions"]
        if len(column) != len(table):
            raise DataError(
                f"teacher: {plural(len(column), 'prediction')} for {plural(len(table), 'row')} of {table.name};"
                " expected one per row."
            )
        return replace(column, name=name)


@dataclass(frozen=True, eq=False)
class _TreewiseTeacher(Teacher):
    """A tree or an ensemble of treewise."""

    @property
    def description(self) -> str:
        """Its method and size."""
        if isinstance(self.model, Tree):
            return f"a tree of {plural(self.model.n_leaves, 'leaf', 'leaves')}"
        article = "a " if self.model.method == "forest" else ""
        return f"{article}{METHOD_NAMES[self.model.method]} of {plural(len(self.model), 'tree')}"

    def predict(self, data: Any, table: Table, target: str | None) -> Any:
        """Predict the table."""
        return self.model.predict(table)

    @property
    def target(self) -> str | None:
        """The column it was grown for."""
        target: Target = self.model.target
        return target.name

    @property
    def task(self) -> Task | None:
        """Its task."""
        target: Target = self.model.target
        return target.task

    def columns(self, table: Table) -> list[str] | None:
        """The columns it was grown on that the table has."""
        return [e.name for e in self.model.encodings if e.name in table.columns]

    def kinds(self, table: Table) -> dict[str, KindSpec]:
        """The kinds of its columns, so that the student treats an ordered column as ordered."""
        known = [e for e in self.model.encodings if e.name in table.columns and e.name not in table.kinds]
        return {e.name: kind for e in known if (kind := _kind_of(e, table)) is not None}


def _kind_of(encoding: Encoding, table: Table) -> KindSpec | None:
    """Return the kind of a column in a model; None: as in the table."""
    if encoding.kind != "ordered":
        return _KINDS[encoding.kind]
    is_known = encode.encode_column(encoding, table[encoding.name], table.name) != encode.UNSEEN
    return list(encoding.levels) if is_known.all() else None


@dataclass(frozen=True, eq=False)
class _PredictorTeacher(Teacher):
    """A fitted model with ``predict``, such as one of scikit-learn."""

    @property
    def description(self) -> str:
        """Its class."""
        return type(self.model).__name__

    @property
    def task(self) -> Task | None:
        """Whether scikit-learn calls it a classifier or a regressor."""
        base: Any = sys.modules.get("sklearn.base")
        if hasattr(self.model, "classes_"):
            return "classification"
        return "regression" if base is not None and base.is_regressor(self.model) else None

    @property
    def names(self) -> list[str] | None:
        """The names of the columns it was fitted on; None if these had none."""
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def columns(self, table: Table) -> list[str] | None:
        """The columns it was fitted on."""
        return self.names

    def predict(self, data: Any, table: Table, target: str | None) -> Any:
        """Predict in the form it was fitted on: a dataframe with its columns, else an array of numbers."""
        names = self.names
        if names is not None:
            for name in names:
                table[name]  # raises if it is absent
            return self.model.predict(data[names] if _is_dataframe(data) else read(table, columns=names).to_pandas())
        if isinstance(data, np.ndarray) and data.ndim == 2 and target is None:
            return self.model.predict(data)
        rest = [name for name in table.columns if name != target]
        n_fitted = getattr(self.model, "n_features_in_", len(rest))
        if n_fitted != len(rest):
            raise ParameterError(
                f"{self.description} was fitted on {plural(n_fitted, 'unnamed column')}, but {table.name} has"
                f" {len(rest)}: {join_few([safe(n) for n in rest])}.",
                hint="Give a table of those columns only, or a function.",
            )
        if any(table[name].is_coded for name in rest):
            return self.model.predict(read(table, columns=rest).to_pandas())
        return self.model.predict(np.column_stack([encode.encode_numbers(table[name]) for name in rest]))


@dataclass(frozen=True, eq=False)
class _FunctionTeacher(Teacher):
    """A function from the rows, as they were given, to predictions."""

    @property
    def description(self) -> str:
        """Its name, if it has one."""
        name = getattr(self.model, "__name__", "")
        return f"the function {safe(name)}" if name.isidentifier() else "a function"

    def predict(self, data: Any, table: Table, target: str | None) -> Any:
        """Call it with the table as it was given; a table read from a file is a polars dataframe."""
        return self.model(table.to_polars() if isinstance(data, str | os.PathLike | Table) else data)


@dataclass(frozen=True, eq=False)
class _LoggedTeacher(Teacher):
    """Recorded decisions, in a column of the table (CS221 notes 6: the pilot)."""

    @property
    def description(self) -> str:
        """The column."""
        return f'the column "{safe(self.model)}"'

    @property
    def target(self) -> str | None:
        """The column itself."""
        return str(self.model)

    def predict(self, data: Any, table: Table, target: str | None) -> Any:
        """Return the column."""
        return table[self.model]


@dataclass(frozen=True, eq=False)
class ArrayTeacher(Teacher):
    """Recorded decisions, in an array separate from the table."""

    @property
    def description(self) -> str:
        """A fixed text."""
        return "the given predictions"

    def predict(self, data: Any, table: Table, target: str | None) -> Any:
        """Return the array."""
        return self.model


def make_teacher(teacher: Any) -> Teacher:
    """Wrap a tree, an ensemble, a model, a function, a column name or an array."""
    if isinstance(teacher, Tree | Ensemble):
        return _TreewiseTeacher(teacher)
    if isinstance(teacher, str):
        return _LoggedTeacher(teacher)
    if hasattr(teacher, "predict") and not isinstance(teacher, type):
        return _PredictorTeacher(teacher)
    if callable(teacher) and not isinstance(teacher, type):
        return _FunctionTeacher(teacher)
    if hasattr(teacher, "__len__") and not isinstance(teacher, bytes | dict | set) and not hasattr(teacher, "columns"):
        return ArrayTeacher(teacher)
    raise ParameterError(
        "must be a tree, an ensemble, a model with predict, a function from rows to predictions, or the predictions"
        " themselves: a column name, or an array.",
        parameter="teacher",
        value=teacher,
    )


def _is_dataframe(data: Any) -> bool:
    """Recognise a dataframe whose columns are selected by ``data[names]``, as in pandas and polars."""
    return type(data).__name__ == "DataFrame" and hasattr(data, "columns")


# -- the teacher dataset --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TeacherDataset:
    """A table with a teacher's predictions in the column ``name``; the true labels, if known, are kept outside it."""

    table: Table
    name: str
    true_column: Column | None

    @property
    def predicted_column(self) -> Column:
        """The teacher's predictions."""
        return self.table[self.name]

    def predicted_rows(self) -> TeacherDataset:
        """Return the rows for which the teacher has a prediction."""
        is_predicted = ~self.predicted_column.is_missing()
        if not is_predicted.any():
            raise DataError(f"the teacher has no prediction for any row of {self.table.name}.")
        rows = np.flatnonzero(is_predicted)
        truth = None if self.true_column is None else self.true_column.take(rows)
        return TeacherDataset(self.table.take(rows), self.name, truth)

    def training_set(self, teacher: Teacher, **options: Any) -> TrainingSet:
        """Prepare it for growing; the history of the tree will name the teacher."""
        training_set = prepare(self.table, self.name, **options)
        return replace(training_set, fit_options=replace(training_set.fit_options, imitates=teacher.description))

    def teacher_predictions(self, tree: Tree) -> npt.NDArray[Any]:
        """Return the teacher's predictions in the form of a tree's: class indices, unknown ones last; or values."""
        column = self.predicted_column
        return encode.encode_numbers(column) if tree.task == "regression" else encode_labels(tree, column)[0]

    def true_labels(self, tree: Tree) -> npt.NDArray[Any] | None:
        """Return the true labels in the same form; -1 or NaN where unknown, None if unknown everywhere."""
        column = self.true_column
        if column is None or (is_known := ~column.is_missing()).sum() == 0:
            return None
        if tree.task == "regression":
            try:
                return encode.encode_numbers(column)
            except DataError:
                raise DataError(
                    f'target "{safe(column.name)}" is not numeric, but the teacher predicts numbers: they cannot be'
                    " compared. Leave the target out."
                ) from None
        indices, labels = encode_labels(tree, column.take(is_known))
        if not (indices < len(tree.classes)).any():
            true, predicted = (
                join_few([safe(label) for label in some]) for some in (labels[len(tree.classes) :], tree.classes)
            )
            raise DataError(
                f'target "{safe(column.name)}" contains {true}, but the teacher predicts {predicted}: they cannot be'
                " compared. Leave the target out, or map the labels."
            )
        result = np.full(len(column), -1, np.int64)
        result[is_known] = indices
        return result


def make_teacher_dataset(
    teacher: Teacher, data: Any, table: Table, target: Any, name: str | None = None
) -> TeacherDataset:
    """Let a teacher predict a table; ``name`` is the column of predictions (default: that of the target)."""
    truth = _find_true_column(teacher, table, target)
    hidden = truth.name if truth is not None and truth.name in table.columns else None
    if name is None and isinstance(teacher, _LoggedTeacher):
        name = str(teacher.model)
    if name is None:
        name = truth.name if truth is not None else _unused_name(teacher.target or "answer", table.columns)
    predictions = teacher.predict_column(data, table, hidden, name)
    makers = {column: partial(table.columns.__getitem__, column) for column in table.columns if column != hidden}
    columns: Mapping[str, Column] = LazyColumns({**makers, name: predictions}, len(table))
    kinds = {column: kind for column, kind in table.kinds.items() if column in columns}
    return TeacherDataset(replace(table, columns=columns, kinds=kinds, target=name), name, truth)


def _find_true_column(teacher: Teacher, table: Table, target: Any) -> Column | None:
    """Return the true labels: the given target, else the column the teacher predicts; a log has none."""
    if isinstance(teacher, _LoggedTeacher):
        if isinstance(target, str) and target == teacher.model:
            raise ParameterError(
                Param("target") + " and " + Param("teacher") + f" are both {teacher.description}.",
                hint="Leave the target out: there are no other labels.",
            )
        return None if target is None else find_target(table, target)
    if target is None:
        target = teacher.target
        return table[target] if target is not None and target in table.columns else None
    return find_target(table, target)


def _unused_name(name: str, used_names: Container[str]) -> str:
    while name in used_names:
        name += "_"
    return name


def student_options(teacher: Teacher, dataset: TeacherDataset, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of growing, completed by the kinds of the teacher's columns."""
    options = dict(options)
    columns = teacher.columns(dataset.table)
    if options.get("columns") is None and columns is not None:
        excluded = {dataset.name, *check_column_names("ignore", options.get("ignore", ()))}
        options["columns"] = [name for name in columns if name not in excluded]
    options["kinds"] = {**teacher.kinds(dataset.table), **(options.get("kinds") or {})} or None
    if options.get("task") is None:
        options["task"] = teacher.task
    if isinstance(teacher, _TreewiseTeacher) and options.get("positive") is None and teacher.task == "classification":
        options["positive"] = _positive_class(teacher, dataset)
    return {name: value for name, value in options.items() if value is not None}


def _positive_class(teacher: _TreewiseTeacher, dataset: TeacherDataset) -> Any:
    """Return the teacher's positive class if it has two and predicts it."""
    classes, column = teacher.model.target.classes, dataset.predicted_column
    predicted = encode.encode_classes(column.take(~column.is_missing()))[2]
    return classes[-1] if len(classes) == 2 and str(classes[-1]) in map(str, predicted) else None
