"""A lesson: a table in which a teacher has answered for every row, and the truth beside it where it is known.

Between ``teachers.py``, which answers, and ``distilling``, which grows a tree on the answers. The true answers are
taken out of the table, so that the student cannot copy them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.column import LazyColumns
from treewise.data.table import Column, Table
from treewise.errors import DataError, Param, ParameterError, listing
from treewise.explain.distill.teachers import LoggedTeacher, Teacher, TreewiseTeacher, unused
from treewise.train.column_roles import names_in, take_target
from treewise.train.grow import prepare
from treewise.train.training_set import TrainingSet
from treewise.train.true_labels import class_places
from treewise.tree.tree import Tree

Answers = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class TeacherDataset:
    """A table with a teacher's answers, in the column ``name``; the truth is beside it, row by row."""

    table: Table
    name: str
    truth: Column | None

    @property
    def answers(self) -> Column:
        """What the teacher says."""
        return self.table[self.name]

    def answered_rows(self) -> TeacherDataset:
        """Return the rows that the teacher has an answer for."""
        there = ~self.answers.is_missing()
        if not there.any():
            raise DataError(f"the teacher answers for no row of {self.table.name}: there is nothing to imitate.")
        rows = np.flatnonzero(there)
        return TeacherDataset(self.table.take(rows), self.name, None if self.truth is None else self.truth.take(rows))

    def training_set(self, who: Teacher, **options: Any) -> TrainingSet:
        """Prepare it for growing; the history of the tree is to say who it imitates."""
        ready = prepare(self.table, self.name, **options)
        return replace(ready, asked={**ready.asked, "imitates": who.about})

    def teacher_answers(self, tree: Tree) -> Answers:
        """Return the teacher's answers as a tree gives its own: class numbers, unknown ones last; or values."""
        return encode.encode_numbers(self.answers) if tree.task == "regression" else class_places(tree, self.answers)[0]

    def true_answers(self, tree: Tree) -> Answers | None:
        """Return the truth in the same way; -1 or NaN where it is not known, None where it is nowhere."""
        if self.truth is None or (known := ~self.truth.is_missing()).sum() == 0:
            return None
        if tree.task == "regression":
            return self.true_numbers()
        places, labels = class_places(tree, self.truth.take(known))
        if not (places < len(tree.classes)).any():
            true, said = (
                listing([safe(label) for label in part]) for part in (labels[len(tree.classes) :], tree.classes)
            )
            raise DataError(
                f'target "{safe(self.truth.name)}" holds {true}, the teacher answers {said}: they cannot be compared.'
                " Leave the target out, or translate the answers."
            )
        found = np.full(len(self.truth), -1, np.int64)
        found[known] = places
        return found

    def true_numbers(self) -> npt.NDArray[np.float64]:
        """Return the truth as numbers."""
        assert self.truth is not None
        try:
            return encode.encode_numbers(self.truth)
        except DataError:
            raise DataError(
                f'target "{safe(self.truth.name)}" is no column of numbers, and the teacher answers with numbers: they'
                " cannot be compared. Leave the target out."
            ) from None


def teacher_dataset(who: Teacher, data: Any, table: Table, target: Any, name: str | None = None) -> TeacherDataset:
    """Let a teacher answer for a table; ``name`` is what the column of answers is called in the lessons before."""
    truth = true_column(who, table, target)
    hidden = truth.name if truth is not None and truth.name in table.columns else None
    if name is None and isinstance(who, LoggedTeacher):
        name = str(who.model)
    if name is None:
        name = truth.name if truth is not None else unused(who.target or "answer", list(table.columns))
    answers = who.answers(data, table, hidden, name)
    makers = {each: partial(table.columns.__getitem__, each) for each in table.columns if each != hidden}
    columns: Mapping[str, Column] = LazyColumns({**makers, name: answers}, len(table))
    kinds = {each: kind for each, kind in table.kinds.items() if each in columns}
    return TeacherDataset(replace(table, columns=columns, kinds=kinds, target=name), name, truth)


def true_column(who: Teacher, table: Table, target: Any) -> Column | None:
    """Find the true answers: those asked for, else the column the teacher predicts; a record has none of its own."""
    if isinstance(who, LoggedTeacher):
        if isinstance(target, str) and target == who.model:
            raise ParameterError(
                Param("target") + " and " + Param("teacher") + f" are both {who.about}.",
                hint="Leave the target out: there is no other truth.",
            )
        return None if target is None else take_target(table, target)
    if target is None:
        usual = who.target
        return table[usual] if usual is not None and usual in table.columns else None
    return take_target(table, target)


def student_options(who: Teacher, given: TeacherDataset, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of growth, with what the teacher knows of its columns where nothing else was asked for."""
    options = dict(options)
    columns = who.columns(given.table)
    if options.get("columns") is None and columns is not None:
        out = {given.name, *names_in("ignore", options.get("ignore", ()))}
        options["columns"] = [name for name in columns if name not in out]
    options["kinds"] = {**who.kinds(given.table), **(options.get("kinds") or {})} or None
    if options.get("task") is None:
        options["task"] = who.task
    if isinstance(who, TreewiseTeacher) and options.get("positive") is None and who.task == "classification":
        options["positive"] = positive_of(who, given)
    return {name: value for name, value in options.items() if value is not None}


def positive_of(who: TreewiseTeacher, given: TeacherDataset) -> Any:
    """Return the class that the teacher counts as positive, where it answers with it."""
    last = who.model.target.classes[-1]
    said = encode.encode_classes(given.answers.take(~given.answers.is_missing()))[2]
    return last if len(who.model.target.classes) == 2 and str(last) in map(str, said) else None
