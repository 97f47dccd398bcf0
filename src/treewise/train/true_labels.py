"""The true answers in a table: which column holds them, and how its labels go with a tree's classes.

Stands below ``measure.py`` and ``paths.py``, which compare them with what a tree predicts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table
from treewise.errors import DataError, Param, ParameterError, listing
from treewise.train.column_roles import find_target
from treewise.train.target import are_integer_classes
from treewise.tree.arrays import UNNAMED, Label, Target
from treewise.tree.model import Model
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
SomeModel = TypeVar("SomeModel", bound=Model)


def target_column(model: Model, table: Table, target: Any) -> Column:
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
    names = listing([safe(column.name) for column in fitting or free])
    raise ParameterError(
        f"the tree does not say which column of {table.name} it predicts.",
        hint=f"Name it, perhaps {names}: " + Param("target", ...) + ".",
    )


def as_class_or_value_tree(model: SomeModel, column: Column) -> SomeModel:
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


def with_target_of(tree: Tree, table: Table, target: Any = None) -> Tree:
    """Let a tree written by hand predict the column of a table that it is meant for, with every class that is there.

    A grown tree knows its own; ``target`` may name another that has the same classes.
    """
    column = target_column(tree, table, target)
    tree = with_classes_of(as_class_or_value_tree(tree, column), column)
    return tree if column.name == tree.target.name else tree.with_(target=replace(tree.target, name=column.name))


def with_classes_of(tree: Tree, column: Column) -> Tree:
    """Let a tree written by hand know the classes of a column: those none of its leaves names too."""
    if not tree.fit_info.is_handwritten or tree.arrays.rows[0] > 0 or tree.task == "regression":
        return tree
    new = class_indices(tree, column.take(~column.is_missing()))[1][len(tree.classes) :]
    if not new:
        return tree
    classes = (*tree.classes, *new)
    if all(isinstance(label, str) for label in classes) and list(tree.classes) == sorted(map(str, tree.classes)):
        classes = tuple(sorted(classes, key=str))
    places = np.array([*map(classes.index, tree.classes), -1])  # a node that predicts nothing has label -1, the last
    labels = places[tree.arrays.label].astype(tree.arrays.label.dtype)
    return tree.with_(target=replace(tree.target, classes=classes), arrays=replace(tree.arrays, label=labels))


def with_levels_of(tree: Tree, table: Table) -> Tree:
    """Let a tree written by hand know the levels of a table: what it does not name was not "never seen" by it."""
    if not tree.fit_info.is_handwritten or tree.arrays.rows[0] > 0:
        return tree
    return tree.with_(encodings=tuple(_widened(encoding, table) for encoding in tree.encodings))


def _widened(encoding: encode.Encoding, table: Table) -> encode.Encoding:
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


def rows_with_labels(table: Table, column: Column, drop: bool, weight: npt.NDArray[np.float64] | None = None) -> Ints:
    """Return the rows to compare, those of weight 0 left out: refuse those whose answer is missing, or drop them."""
    counts = np.ones(len(table), bool) if weight is None else weight > 0
    if not counts.any():
        raise DataError(f"{table.name}: no row has a positive weight; there is nothing to compare with.")
    gone = column.is_missing() & counts
    if not gone.any() or (drop and (counts & ~gone).any()):
        return np.flatnonzero(counts & ~gone)
    rows = listing([f"{row:,}" for row in (np.flatnonzero(gone) + 1).tolist()], most=5)
    many, they = plural(int(gone.sum()), "row"), "it" if gone.sum() == 1 else "them"
    what = f'target "{safe(column.name)}" is missing in {many} of {table.name} ({rows}).'
    if drop:
        raise DataError(f"{what} There is nothing to compare with.")
    raise DataError(f"{what} Remove {they} first, or " + Param("drop_missing_target", True) + ".")


def class_indices(model: Model, column: Column) -> tuple[Ints, tuple[Label, ...]]:
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
