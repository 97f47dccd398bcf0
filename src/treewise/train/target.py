"""The target of a training set: which rows have one, classification or regression, class numbers or numbers.

Used by ``training_set.build_training_set`` for a new tree, where the column decides, and wherever a table must fit the
classes that a tree already has (``training_set.build_like``, ``evaluate``, ``predict``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.column import truncate
from treewise.data.encoding import MAX_INTEGER_CLASSES
from treewise.data.table import Column, Table
from treewise.errors import DataError, Param, ParameterError, did_you_mean, join_few
from treewise.train.column_roles import ColumnRoles, find_target
from treewise.train.criteria import get_criterion
from treewise.train.settings import Settings
from treewise.tree.arrays import UNNAMED, Label, Target
from treewise.tree.model import Model
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Rows = Ints | range  # numbers of rows: as a rule all of them, which need no list
SomeModel = TypeVar("SomeModel", bound=Model)


def select_training_rows(column: Column, weight: npt.NDArray[np.float64], roles: ColumnRoles, table_name: str) -> Rows:
    """Return the rows with a positive weight and a target; a missing target is an error unless it may be dropped."""
    counts = weight > 0
    gone = np.flatnonzero(column.is_missing() & counts)
    if len(gone) and not roles.drop_missing_target:
        rows = join_few([int(r) + 1 for r in gone], most=5)
        raise DataError(
            f'target "{safe(column.name)}" is missing in {plural(len(gone), "row")} ({rows}).',
            hint=f"Remove {'it' if len(gone) == 1 else 'them'} first, or " + Param("drop_missing_target", True) + ".",
        )
    counts[gone] = False
    if not counts.any():
        raise DataError(
            f"{table_name}: no row has a target and a positive weight; there is nothing to learn from."
            " Give some rows a weight above 0."
        )
    return range(len(counts)) if counts.all() else np.flatnonzero(counts)


def read_target(column: Column, roles: ColumnRoles, kept: Rows) -> tuple[Target, Ints, npt.NDArray[np.float64]]:
    """Decide the task and read the target: class numbers, or numbers as they are."""
    task, numeric = roles.task, column.form in ("int", "float")
    if task is None and encode.is_continuous(column):
        task = "regression"
    if task != "regression" or not numeric:
        numeric, codes, labels = encode.encode_classes(column)
        task = task or ("regression" if numeric and not are_integer_classes(labels) else "classification")
    if task == "regression":
        if not numeric:
            raise DataError(
                f'target "{safe(column.name)}" is not a column of numbers'
                f" ({column.format_cell(0)} in row {kept[0] + 1:,}),"
                " so " + Param("task", "regression") + " does not fit.",
                hint="Leave task out, or give numbers.",
            )
        if roles.positive is not None:
            raise ParameterError("regression has no classes.", parameter="positive", hint="Leave it out.")
        raw = read_finite_targets(column, kept)
        return Target(column.name, "regression"), np.zeros(len(raw), np.int64), raw
    order = _class_order(labels, roles.positive, column.name)
    if roles.positive is not None:
        place = np.empty(len(labels), np.int64)
        place[order] = np.arange(len(labels))
        codes = place[codes]
    return Target(column.name, "classification", tuple(labels[i] for i in order)), codes, np.empty(0)


def encode_target(column: Column, target: Target, table_name: str, kept: Rows) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Read the target of a tree that is there already: its class numbers, or numbers as they are."""
    if target.task == "classification":
        return encode_classes(column, target, table_name, kept), np.empty(0)
    raw = read_finite_targets(column, kept)
    return np.zeros(len(raw), np.int64), raw


def note_numeric_classes(target: Target, column: Column) -> list[str]:
    """Note a target whose numbers were taken for classes though most of them occur once."""
    taken = target.classes and column.form in ("int", "float") and 2 * len(target.classes) > len(column)
    if not taken or len(target.classes) < 5:
        return []
    return [
        f"{safe(target.name)}: {len(target.classes)} different whole numbers in {len(column)} rows were taken for"
        " classes. For numbers: " + Param("task", "regression")
    ]


def are_integer_classes(labels: Sequence[Label]) -> bool:
    """Tell whether these are whole numbers, few enough to be class numbers."""
    return len(labels) <= MAX_INTEGER_CLASSES and all(float(v).is_integer() for v in labels)


def _class_order(labels: Sequence[Label], positive: Label | None, name: str) -> list[int]:
    """Order the classes by value, with the positive one last."""
    order = list(range(len(labels)))
    if positive is None:
        return order
    named = [i for i, label in enumerate(labels) if label == positive or str(label) == str(positive)]
    if not named:
        words = [safe(v) for v in labels]
        raise ParameterError(
            f'target "{safe(name)}" has the classes {join_few(words)}.',
            parameter="positive",
            value=truncate(positive),
            hint=did_you_mean(positive, words),
        )
    order.remove(named[0])
    return [*order, named[0]]


def read_finite_targets(column: Column, kept: Rows) -> npt.NDArray[np.float64]:
    """Read numbers to be predicted; ``kept`` are the rows they stand in, for the message when one is none."""
    raw = encode.encode_numbers(column)
    bad = np.flatnonzero(~np.isfinite(raw))
    if len(bad):
        raise DataError(
            f'target "{safe(column.name)}" is {raw[bad[0]]} in row {kept[bad[0]] + 1:,}. Regression needs finite'
            " numbers. Leave that row out, or correct it."
        )
    return raw


def encode_classes(column: Column, target: Target, table_name: str, rows: Rows | None = None) -> Ints:
    """Return the class number of each row; a class the tree does not know is an error.

    ``rows`` are the numbers these rows have in the table, where they are not all of it.
    """
    rows = range(len(column)) if rows is None else rows
    gone = np.flatnonzero(column.is_missing())
    if len(gone):
        raise DataError(
            f'{table_name}: target "{safe(column.name)}" is missing in row {rows[gone[0]] + 1:,}. Remove such rows'
            " first."
        )
    _, codes, labels = encode.encode_classes(column)
    known = {str(c): i for i, c in enumerate(target.classes)}
    place = np.array([known.get(str(label), -1) for label in labels], np.int64)
    y = place[codes]
    strange = np.flatnonzero(y < 0)
    if len(strange):
        label = labels[codes[strange[0]]]
        raise DataError(
            f'{table_name}: target "{safe(column.name)}" is "{safe(label)}" in row {rows[strange[0]] + 1:,}, a class'
            f" the tree does not know. Its classes are {join_few([safe(c) for c in target.classes])}."
        )
    return y


def resolve_criterion(settings: Settings, target: Target, given: str | None) -> Settings:
    """Fill in the criterion of the task; one of the other task is refused if given, and gives way if a preset's."""
    usual = "entropy" if target.task == "classification" else "squared_error"
    if settings.criterion is None:
        return replace(settings, criterion=usual)
    meant = get_criterion(settings.criterion).task
    if meant != target.task and given is None:
        return replace(settings, criterion=usual)
    if meant != target.task:
        what = f"has {len(target.classes)} classes" if target.classes else "is a number"
        if target.classes:
            what += f" ({join_few([safe(c) for c in target.classes], most=4)})"
        raise ParameterError(
            f'this criterion is for {meant}, but target "{safe(target.name)}" {what}.',
            parameter="criterion",
            value=settings.criterion,
            hint="Use " + Param("criterion", usual) + ", or " + Param("task", meant) + ".",
        )
    return settings


def check_target(settings: Settings, target: Target, raw: npt.NDArray[np.float64], kept: Rows) -> None:
    """Refuse settings that do not go with the target; ``kept`` are the rows the numbers stand in."""
    if target.task == "regression" and settings.sufficient_accuracy < 1:
        raise ParameterError("regression has no classes.", parameter="sufficient_accuracy", hint="Leave it out.")
    if settings.criterion == "poisson" and np.any(raw < 0):
        row = int(kept[np.flatnonzero(raw < 0)[0]]) + 1
        raise DataError(
            f'target "{safe(target.name)}" is negative in row {row}; '
            + Param("criterion", "poisson")
            + " is for counts, 0 or more."
        )


# -- the true labels of a model that is evaluated ----------------------------------------------------------------------


def find_target_column(model: Model, table: Table, target: Any) -> Column:
    """Find the column with the true labels: by name, or given beside the table as an array.

    A hand-written tree does not know the name of its target: then it is the table's usual target, or the only column it
    does not test whose values are the tree's classes.
    """
    if target is not None and not isinstance(target, str):
        return find_target(table, target)
    name = model.target.name if target is None else target
    known = {str(label) for label in model.classes}
    if target is not None or not model.fit_info.is_handwritten or not isinstance(model, Tree):
        return table[name]
    if name in table.columns and (name != UNNAMED or known & _labels_in(table[name])):
        return table[name]  # a column that is called "class" by chance, with other values, is not the one meant
    if table.target is not None:
        return table[table.target]
    free = [column for column in table.columns.values() if column.name not in model.columns]
    fitting = [column for column in free if known & (found := _labels_in(column)) and found <= known]
    if len(fitting) == 1:
        return fitting[0]
    names = join_few([safe(column.name) for column in fitting or free])
    raise ParameterError(
        f"the tree does not say which column of {table.name} it predicts.",
        hint=f"Name it, perhaps {names}: " + Param("target", ...) + ".",
    )


def resolve_handwritten_task(model: SomeModel, column: Column) -> SomeModel:
    """Let a tree written by hand whose classes are numbers predict numbers, where the true answers are numbers.

    Such a text does not say whether its numbers are classes or values; the column does, by the rule of ``grow``.
    """
    numbers = [label for label in model.classes if isinstance(label, int | float) and not isinstance(label, bool)]
    if not isinstance(model, Tree) or not model.fit_info.is_handwritten or model.arrays.rows[0] > 0:
        return model
    if not numbers or len(numbers) < len(model.classes):
        return model
    numeric, _, found = encode.encode_classes(column.take(~column.is_missing()))
    if not numeric or (are_integer_classes(found) and are_integer_classes(numbers)):
        return model
    a = model.arrays
    values = np.array([*numbers, np.nan], float)[a.label]  # a node that predicts nothing has label -1, the last
    arrays = replace(a, label=a.label[:0], value=values, spread=np.full(len(model), np.nan))
    return model.with_(target=Target(model.target.name, "regression"), arrays=arrays, criterion="squared_error")


def adopt_target(tree: Tree, table: Table, target: Any = None) -> Tree:
    """Let a tree written by hand predict the column of a table that it is meant for, with every class that is there.

    A grown tree knows its own; ``target`` may name another that has the same classes.
    """
    column = find_target_column(tree, table, target)
    tree = adopt_classes(resolve_handwritten_task(tree, column), column)
    return tree if column.name == tree.target.name else tree.with_(target=replace(tree.target, name=column.name))


def adopt_classes(tree: Tree, column: Column) -> Tree:
    """Let a tree written by hand know the classes of a column: those none of its leaves names too."""
    if not tree.fit_info.is_handwritten or tree.arrays.rows[0] > 0 or tree.task == "regression":
        return tree
    new = encode_labels(tree, column.take(~column.is_missing()))[1][len(tree.classes) :]
    if not new:
        return tree
    classes = (*tree.classes, *new)
    if all(isinstance(label, str) for label in classes) and list(tree.classes) == sorted(map(str, tree.classes)):
        classes = tuple(sorted(classes, key=str))
    places = np.array([*map(classes.index, tree.classes), -1])  # a node that predicts nothing has label -1, the last
    labels = places[tree.arrays.label].astype(tree.arrays.label.dtype)
    return tree.with_(target=replace(tree.target, classes=classes), arrays=replace(tree.arrays, label=labels))


def adopt_levels(tree: Tree, table: Table) -> Tree:
    """Let a tree written by hand know the levels of a table: what it does not name was not "never seen" by it."""
    if not tree.fit_info.is_handwritten or tree.arrays.rows[0] > 0:
        return tree
    return tree.with_(encodings=tuple(_add_levels(encoding, table) for encoding in tree.encodings))


def _add_levels(encoding: encode.Encoding, table: Table) -> encode.Encoding:
    """Add the levels that a column of categories has in a table."""
    if encoding.kind != "nominal" or encoding.name not in table.columns:
        return encoding
    column = table[encoding.name]
    new = np.flatnonzero(encode.encode_column(encoding, column, table.name) == encode.UNSEEN)
    more = encode.fit_encoding(column.take(new), "nominal").encoding.levels if len(new) else ()
    return replace(encoding, levels=(*encoding.levels, *more))


def _labels_in(column: Column) -> set[str]:
    """Return the different values of a column in words; none where it could not be a target."""
    try:
        return {str(label) for label in encode.encode_classes(column.take(~column.is_missing()))[2]}
    except DataError:
        return set()


def select_labelled_rows(
    table: Table, column: Column, drop: bool, weight: npt.NDArray[np.float64] | None = None
) -> Ints:
    """Return the rows to compare, those of weight 0 left out: refuse those whose answer is missing, or drop them."""
    counts = np.ones(len(table), bool) if weight is None else weight > 0
    if not counts.any():
        raise DataError(f"{table.name}: no row has a positive weight; there is nothing to compare with.")
    gone = column.is_missing() & counts
    if not gone.any() or (drop and (counts & ~gone).any()):
        return np.flatnonzero(counts & ~gone)
    rows = join_few([f"{row:,}" for row in (np.flatnonzero(gone) + 1).tolist()], most=5)
    many, they = plural(int(gone.sum()), "row"), "it" if gone.sum() == 1 else "them"
    what = f'target "{safe(column.name)}" is missing in {many} of {table.name} ({rows}).'
    if drop:
        raise DataError(f"{what} There is nothing to compare with.")
    raise DataError(f"{what} Remove {they} first, or " + Param("drop_missing_target", True) + ".")


def encode_labels(model: Model, column: Column) -> tuple[Ints, tuple[Label, ...]]:
    """Return each row's place among a model's classes, then the labels it does not know; and all these."""
    _, codes, found = encode.encode_classes(column)
    known = {str(label): i for i, label in enumerate(model.classes)}
    folded = {str(label).casefold(): i for i, label in enumerate(model.classes)}
    places, labels = [], list(model.classes)
    for label in found:
        place = known.get(str(label))
        if place is None and isinstance(label, bool):
            place = folded.get(str(label).casefold())  # "true" in one file, True in another
        if place is None:
            place = len(labels)
            labels.append(label)
        places.append(place)
    return np.array(places, np.int64)[codes], tuple(labels)
