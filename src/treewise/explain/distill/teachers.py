"""A teacher: whatever answers for the rows of a table, so that a tree can imitate it.

Beneath ``distilling``. A tree or an ensemble of ours, a fitted model with ``predict``, a function from rows to answers,
or a record of what somebody did: each is asked in the form it knows, and what it says is one column of answers.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.data.table import Column, KindSpec, Table, read
from treewise.ensemble import Ensemble
from treewise.ensemble.model import METHOD_NAMES
from treewise.errors import DataError, ParameterError, listing, shown
from treewise.tree.arrays import Target, Task
from treewise.tree.tree import Tree

KINDS = {"number": "number", "integer": "number", "datetime": "datetime", "boolean": "boolean", "nominal": "nominal"}


@dataclass(frozen=True, eq=False)
class Teacher(ABC):
    """Somebody who answers."""

    model: Any

    @property
    @abstractmethod
    def about(self) -> str:
        """Who it is, in a few words."""

    @abstractmethod
    def ask(self, data: Any, table: Table, truth: str | None) -> Any:
        """Return an answer for each row of ``data``, read as ``table``; ``truth`` is a column of it to leave out."""

    @property
    def target(self) -> str | None:
        """The name of the column it predicts, where it knows one."""
        return None

    @property
    def task(self) -> Task | None:
        """Whether it answers with classes or numbers; None where the answers are to decide."""
        return None

    def columns(self, table: Table) -> list[str] | None:
        """The columns it learned from; None where it does not say."""
        return None

    def kinds(self, table: Table) -> dict[str, KindSpec]:
        """What it takes the columns of a table for, where it says so."""
        return {}

    def answers(self, data: Any, table: Table, truth: str | None, name: str) -> Column:
        """Return its answers as a column."""
        said = self.ask(data, table, truth)
        shape = getattr(said, "shape", None)
        many = hasattr(said, "__len__") and not isinstance(said, str | bytes | dict)
        if not many or (shape is not None and len(shape) != 1):
            size = f"an array of shape {tuple(shape)}" if shape else shown(said)
            raise DataError(
                f"teacher: {self.about} answers {size} for {plural(len(table), 'row')} of {table.name}."
                " It must be one class or number a row."
            )
        column = said if isinstance(said, Column) else read({"answers": said}, name="the answers")["answers"]
        if len(column) != len(table):
            raise DataError(
                f"teacher: {plural(len(column), 'answer')} for {plural(len(table), 'row')} of {table.name}."
                " There must be one a row."
            )
        return replace(column, name=name)


@dataclass(frozen=True, eq=False)
class TreewiseTeacher(Teacher):
    """A tree or an ensemble of ours."""

    @property
    def about(self) -> str:
        """How large it is."""
        if isinstance(self.model, Tree):
            return f"a tree of {plural(self.model.n_leaves, 'leaf', 'leaves')}"
        article = "a " if self.model.method == "forest" else ""
        return f"{article}{METHOD_NAMES[self.model.method]} of {plural(len(self.model), 'tree')}"

    def ask(self, data: Any, table: Table, truth: str | None) -> Any:
        """Predict the table."""
        return self.model.predict(table)

    @property
    def target(self) -> str | None:
        """The column it was grown for."""
        known: Target = self.model.target
        return known.name

    @property
    def task(self) -> Task | None:
        """Its own."""
        known: Target = self.model.target
        return known.task

    def columns(self, table: Table) -> list[str] | None:
        """Those it was given, as far as the table has them."""
        return [e.name for e in self.model.encodings if e.name in table.columns]

    def kinds(self, table: Table) -> dict[str, KindSpec]:
        """What it takes them for: a column it cuts in order is no set of labels to the student."""
        known = [e for e in self.model.encodings if e.name in table.columns and e.name not in table.kinds]
        return {e.name: spec for e in known if (spec := kind_of(e, table)) is not None}


def kind_of(encoding: Encoding, table: Table) -> KindSpec | None:
    """Say what a column is to a model, so that another one takes it for the same; None: as the table says."""
    if encoding.kind != "ordered":
        return KINDS[encoding.kind]
    known = encode.encode_column(encoding, table[encoding.name], table.name) != encode.UNSEEN
    return list(encoding.levels) if known.all() else None


@dataclass(frozen=True, eq=False)
class PredictorTeacher(Teacher):
    """A fitted model, as scikit-learn's: it has ``predict``."""

    @property
    def about(self) -> str:
        """What kind of model it is."""
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
        """The names of the columns it was fitted on; None where these had none."""
        names = getattr(self.model, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def columns(self, table: Table) -> list[str] | None:
        """Those it was fitted on, by name."""
        return self.names

    def ask(self, data: Any, table: Table, truth: str | None) -> Any:
        """Ask in the form it was fitted on: a dataframe of its columns by name, else an array of numbers."""
        names = self.names
        if names is not None:
            for name in names:
                table[name]  # says what is wrong
            return self.model.predict(data[names] if has_names(data) else read(table, columns=names).to_pandas())
        if isinstance(data, np.ndarray) and data.ndim == 2 and truth is None:
            return self.model.predict(data)
        rest = [name for name in table.columns if name != truth]
        fitted = getattr(self.model, "n_features_in_", len(rest))
        if fitted != len(rest):
            raise ParameterError(
                f"{self.about} was fitted on {plural(fitted, 'column')} without names, and {table.name} has {len(rest)}"
                f" to ask about: {listing([safe(n) for n in rest])}.",
                hint="Give it only those, or a function.",
            )
        if any(table[name].is_coded for name in rest):
            return self.model.predict(read(table, columns=rest).to_pandas())
        return self.model.predict(np.column_stack([encode.encode_numbers(table[name]) for name in rest]))


@dataclass(frozen=True, eq=False)
class FunctionTeacher(Teacher):
    """A function from the rows, as they were given, to answers."""

    @property
    def about(self) -> str:
        """Its name, if it has one."""
        name = getattr(self.model, "__name__", "")
        return f"the function {safe(name)}" if name.isidentifier() else "a function"

    def ask(self, data: Any, table: Table, truth: str | None) -> Any:
        """Call it with the table as it was given; what was read from a file is a polars dataframe."""
        return self.model(table.to_polars() if isinstance(data, str | os.PathLike | Table) else data)


@dataclass(frozen=True, eq=False)
class LoggedTeacher(Teacher):
    """What somebody did, row by row, in a column of the table (CS221 notes 6: the pilot)."""

    @property
    def about(self) -> str:
        """The column."""
        return f'the column "{safe(self.model)}"'

    @property
    def target(self) -> str | None:
        """The column itself."""
        return str(self.model)

    def ask(self, data: Any, table: Table, truth: str | None) -> Any:
        """Look it up."""
        return table[self.model]


@dataclass(frozen=True, eq=False)
class AnswersTeacher(Teacher):
    """What somebody did, row by row, in an array beside the table."""

    @property
    def about(self) -> str:
        """That is all we know."""
        return "the answers given"

    def ask(self, data: Any, table: Table, truth: str | None) -> Any:
        """Read it."""
        return self.model


def teacher_of(teacher: Any) -> Teacher:
    """Recognise a teacher."""
    if isinstance(teacher, Tree | Ensemble):
        return TreewiseTeacher(teacher)
    if isinstance(teacher, str):
        return LoggedTeacher(teacher)
    if hasattr(teacher, "predict") and not isinstance(teacher, type):
        return PredictorTeacher(teacher)
    if callable(teacher) and not isinstance(teacher, type):
        return FunctionTeacher(teacher)
    if hasattr(teacher, "__len__") and not isinstance(teacher, bytes | dict | set) and not hasattr(teacher, "columns"):
        return AnswersTeacher(teacher)
    raise ParameterError(
        "must be a tree, an ensemble, a model with predict, a function from rows to answers, or the"
        " answers themselves: a column's name, or an array.",
        parameter="teacher",
        value=teacher,
    )


def has_names(data: Any) -> bool:
    """Tell a dataframe that gives some of its columns by ``data[names]``, as pandas and polars do."""
    return type(data).__name__ == "DataFrame" and hasattr(data, "columns")


def unused(name: str, taken: Sequence[str]) -> str:
    """Return a name that no column has."""
    while name in taken:
        name += "_"
    return name
