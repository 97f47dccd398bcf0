"""The target: infer the task, encode the classes, and match the labels of a table with the classes of a model.

The first half prepares training sets (``training_set.py``); the second finds the true labels that a model is evaluated
on, also for handwritten trees, which know neither the name of their target nor all of its classes.
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
from treewise.data.diagnostics import KEY_SHARE, MIN_KEY_ROWS, count_keys
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
Rows = Ints | range  # row indices; usually all rows, as a range
SomeModel = TypeVar("SomeModel", bound=Model)


def select_training_rows(column: Column, weight: npt.NDArray[np.float64], roles: ColumnRoles, table_name: str) -> Rows:
    """Return the rows with a positive weight and a target; a missing target is an error unless it may be dropped."""
    is_used = weight > 0
    missing = np.flatnonzero(column.is_missing() & is_used)
    if len(missing) and not roles.drop_missing_target:
        rows = join_few([int(r) + 1 for r in missing], limit=5)
        raise DataError(
            f'target "{safe(column.name)}" is missing in {plural(len(missing), "row")} ({rows}).',
            hint=f"Remove {'it' if len(missing) == 1 else 'them'} first, or "
            + Param("drop_missing_target", True)
            + ".",
        )
    is_used[missing] = False
    if not is_used.any():
        raise DataError(
            f"{table_name}: no row has a target and a positive weight; there is nothing to learn from."
            " Give some rows a weight above 0."
        )
    return range(len(is_used)) if is_used.all() else np.flatnonzero(is_used)


def name_row(rows: Rows | None, position: int) -> str:
    """Return which row a message is about: the one at a position; None: they are elsewhere, and have no numbers.

    >>> name_row(range(5), 2), name_row(None, 2)
    ('row 3', 'some row')
    """
    return "some row" if rows is None else f"row {rows[position] + 1:,}"


def read_target(
    column: Column, roles: ColumnRoles, row_indices: Rows | None
) -> tuple[Target, Ints, npt.NDArray[np.float64]]:
    """Infer the task and read the target: (target, class numbers, raw numbers); ``row_indices`` as in ``name_row``."""
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
                f" ({column.format_cell(0)} in {name_row(row_indices, 0)}),"
                " so " + Param("task", "regression") + " does not fit.",
                hint="Leave task out, or give numbers.",
            )
        if roles.positive is not None:
            raise ParameterError("regression has no classes.", parameter="positive", hint="Leave it out.")
        raw = read_finite_targets(column, row_indices)
        return Target(column.name, "regression"), np.zeros(len(raw), np.int64), raw
    order = _class_order(labels, roles.positive, column.name)
    if roles.positive is not None:
        new_code = np.empty(len(labels), np.int64)
        new_code[order] = np.arange(len(labels))
        codes = new_code[codes]
    return Target(column.name, "classification", tuple(labels[i] for i in order)), codes, np.empty(0)


def encode_target(
    column: Column, target: Target, table_name: str, row_indices: Rows
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Read the target of an existing tree: (class numbers, raw numbers)."""
    if target.task == "classification":
        return encode_known_classes(column, target, table_name, row_indices), np.empty(0)
    raw = read_finite_targets(column, row_indices)
    return np.zeros(len(raw), np.int64), raw


def note_target(target: Target, column: Column, n_rows: int | None = None) -> list[str]:
    """Note a target of one class, one that is probably a key, and numbers that were taken for classes.

    With ``n_rows``, the column has the different values of so many rows.
    """
    name, n = safe(target.name), len(column) if n_rows is None else n_rows
    if len(target.classes) == 1:
        return [f"{name}: only one class, {safe(target.classes[0])}, so there is nothing to learn: a single leaf"]
    n_values = len(target.classes) if target.classes else count_keys(column)
    if n >= MIN_KEY_ROWS and n_values > KEY_SHARE * n:
        noun = "classes" if target.classes else "different whole numbers"
        return [f"{name}: {n_values:,} {noun} in {n:,} rows, as in a key; what occurs once cannot be predicted"]
    return _note_numeric_classes(target, column, n)


def _note_numeric_classes(target: Target, column: Column, n: int) -> list[str]:
    """Note a target whose numbers were taken for classes though most of them occur once."""
    is_suspect = target.classes and column.form in ("int", "float") and 2 * len(target.classes) > n
    if not is_suspect or len(target.classes) < 5:
        return []
    return [
        f"{safe(target.name)}: {len(target.classes)} different whole numbers in {n} rows were taken for"
        " classes. For numbers: " + Param("task", "regression")
    ]


def are_integer_classes(labels: Sequence[Label]) -> bool:
    """Tell whether the labels are whole numbers, and few enough to be classes."""
    return len(labels) <= MAX_INTEGER_CLASSES and all(float(v).is_integer() for v in labels)


def _class_order(labels: Sequence[Label], positive: Label | None, name: str) -> list[int]:
    """Order the classes by value, with the positive one last."""
    order = list(range(len(labels)))
    if positive is None:
        return order
    matches = [i for i, label in enumerate(labels) if label == positive or str(label) == str(positive)]
    if not matches:
        names = [safe(v) for v in labels]
        raise ParameterError(
            f'target "{safe(name)}" has the classes {join_few(names)}.',
            parameter="positive",
            value=truncate(positive),
            hint=did_you_mean(positive, names),
        )
    order.remove(matches[0])
    return [*order, matches[0]]


def read_finite_targets(column: Column, row_indices: Rows | None) -> npt.NDArray[np.float64]:
    """Read a regression target; ``row_indices`` are their indices in the table, for error messages."""
    raw = encode.encode_numbers(column)
    bad = np.flatnonzero(~np.isfinite(raw))
    if len(bad):
        raise DataError(
            f'target "{safe(column.name)}" is {raw[bad[0]]} in {name_row(row_indices, int(bad[0]))}. Regression needs'
            " finite numbers. Leave that row out, or correct it."
        )
    return raw


def encode_known_classes(column: Column, target: Target, table_name: str, rows: Rows | None = None) -> Ints:
    """Return the class number of each row; a class the tree does not know is an error.

    ``rows`` are the indices of the rows in the table, if not all of them.
    """
    rows = range(len(column)) if rows is None else rows
    missing = np.flatnonzero(column.is_missing())
    if len(missing):
        raise DataError(
            f'{table_name}: target "{safe(column.name)}" is missing in row {rows[missing[0]] + 1:,}. Remove such rows'
            " first."
        )
    _, codes, labels = encode.encode_classes(column)
    indices = {str(c): i for i, c in enumerate(target.classes)}
    y = np.array([indices.get(str(label), -1) for label in labels], np.int64)[codes]
    unknown = np.flatnonzero(y < 0)
    if len(unknown):
        label = labels[codes[unknown[0]]]
        raise DataError(
            f'{table_name}: target "{safe(column.name)}" is "{safe(label)}" in row {rows[unknown[0]] + 1:,}, a class'
            f" the tree does not know. Its classes are {join_few([safe(c) for c in target.classes])}."
        )
    return y


def resolve_criterion(settings: Settings, target: Target, given: str | None) -> Settings:
    """Fill in the task's default criterion, also in place of a preset's for the other task; raise if one was given."""
    default = "entropy" if target.task == "classification" else "squared_error"
    if settings.criterion is None:
        return replace(settings, criterion=default)
    task = get_criterion(settings.criterion).task
    if task != target.task and given is None:
        return replace(settings, criterion=default)
    if task != target.task:
        fact = f"has {len(target.classes)} classes" if target.classes else "is a number"
        if target.classes:
            fact += f" ({join_few([safe(c) for c in target.classes], limit=4)})"
        raise ParameterError(
            f'this criterion is for {task}, but target "{safe(target.name)}" {fact}.',
            parameter="criterion",
            value=settings.criterion,
            hint="Use " + Param("criterion", default) + ", or " + Param("task", task) + ".",
        )
    return settings


def check_target(settings: Settings, target: Target, raw: npt.NDArray[np.float64], row_indices: Rows | None) -> None:
    """Raise for settings that do not fit the target; ``row_indices``: of the rows in the table, for messages."""
    if target.task == "regression" and settings.sufficient_accuracy < 1:
        raise ParameterError("regression has no classes.", parameter="sufficient_accuracy", hint="Leave it out.")
    if settings.criterion == "poisson" and np.any(raw < 0):
        raise DataError(
            f'target "{safe(target.name)}" is negative in {name_row(row_indices, int(np.argmax(raw < 0)))}; '
            + Param("criterion", "poisson")
            + " is for counts, 0 or more."
        )


# -- the true labels of a model that is evaluated ----------------------------------------------------------------------


def find_target_column(model: Model, table: Table, target: Any) -> Column:
    """Find the column with the true labels: by name, or given as an array.

    A handwritten tree does not know the name of its target: then it is the table's usual target, or the only column
    that it does not split on and whose values are its classes.
    """
    if target is not None and not isinstance(target, str):
        return find_target(table, target)
    name = model.target.name if target is None else target
    class_names = {str(label) for label in model.classes}
    if target is not None or not model.fit_info.is_handwritten or not isinstance(model, Tree):
        return table[name]
    if name in table.columns and (name != UNNAMED or class_names & _labels_in(table[name])):
        return table[name]  # unless it is called "class" by coincidence and has other values
    if table.target is not None:
        return table[table.target]
    unused = [column for column in table.columns.values() if column.name not in model.columns]
    matching = [column for column in unused if (labels := _labels_in(column)) and labels <= class_names]
    if len(matching) == 1:
        return matching[0]
    names = join_few([safe(column.name) for column in matching or unused])
    raise ParameterError(
        f"the tree does not say which column of {table.name} it predicts.",
        hint=f"Name it, perhaps {names}: " + Param("target", ...) + ".",
    )


def resolve_handwritten_task(model: SomeModel, column: Column) -> SomeModel:
    """Turn a handwritten tree whose classes are numbers into a regression tree if its target column is one.

    The text does not tell whether its numbers are classes or values; the column does, by the rule of ``grow``.
    """
    numbers = [label for label in model.classes if isinstance(label, int | float) and not isinstance(label, bool)]
    if not isinstance(model, Tree) or not model.fit_info.is_handwritten or model.arrays.rows[0] > 0:
        return model
    if not numbers or len(numbers) < len(model.classes):
        return model
    numeric, _, labels = encode.encode_classes(column.take(~column.is_missing()))
    if not numeric or (are_integer_classes(labels) and are_integer_classes(numbers)):
        return model
    a = model.arrays
    values = np.array([*numbers, np.nan], float)[a.label]  # a node that predicts nothing has label -1, the last
    arrays = replace(a, label=a.label[:0], value=values, spread=np.full(len(model), np.nan))
    return model.with_(target=Target(model.target.name, "regression"), arrays=arrays, criterion="squared_error")


def adopt_target(tree: Tree, table: Table, target: Any = None) -> Tree:
    """Give a handwritten tree the target column of a table, with all of its classes.

    A grown tree has a target; ``target`` may name another column with the same classes.
    """
    column = find_target_column(tree, table, target)
    tree = adopt_classes(resolve_handwritten_task(tree, column), column)
    return tree if column.name == tree.target.name else tree.with_(target=replace(tree.target, name=column.name))


def adopt_classes(tree: Tree, column: Column) -> Tree:
    """Give a handwritten tree the classes of a column, in their order: those that no leaf predicts, too.

    Figures of both then have the same colours. An order that the text declares stays.
    """
    if not tree.fit_info.is_handwritten or tree.arrays.rows[0] > 0 or tree.task == "regression":
        return tree
    _, indices, is_known = _match_labels(tree, column.take(~column.is_missing()))
    of_column, classes = [is_known[i] for i in indices], is_known
    if tree.classes == _sort_classes(tree.classes):
        is_sorted = tuple(of_column) == _sort_classes(of_column)
        classes = _sort_classes(is_known) if is_sorted else tuple(dict.fromkeys((*of_column, *is_known)))
    if classes == tree.classes:
        return tree
    return _reorder_classes(tree, classes)


def align_classes(trees: Sequence[Tree]) -> list[Tree]:
    """Give trees that classify the same classes in the same order, so that pictures of them share the colours.

    The order is that of the first grown tree, else of the first; further classes follow. 1 and "1" are the same class.
    """
    first = next((tree for tree in trees if not tree.fit_info.is_handwritten and tree.classes), trees[0])
    by_text = {str(label): label for tree in (first, *trees) for label in tree.classes[::-1]}
    order = list(dict.fromkeys(str(label) for tree in (first, *trees) for label in tree.classes))
    aligned = []
    for tree in trees:
        known = {str(label): label for label in tree.classes}
        classes = tuple(known.get(text, by_text[text]) for text in order)
        aligned.append(tree if tree.task == "regression" else _reorder_classes(tree, classes))
    return aligned


def _reorder_classes(tree: Tree, classes: tuple[Label, ...]) -> Tree:
    """Return a tree with its classes in another order, and further ones among them."""
    if classes == tree.classes:
        return tree
    indices = np.array([*map(classes.index, tree.classes), -1])  # a node that predicts nothing has label -1, the last
    a = tree.arrays
    labels, counted = (indices[codes].astype(codes.dtype) for codes in (a.label, a.count_class))
    owner = np.repeat(np.arange(len(tree)), np.diff(a.count_start))
    order = np.lexsort((counted, owner))  # the counts of a node are in the order of the classes
    arrays = replace(a, label=labels, count_class=counted[order], count_weight=a.count_weight[order])
    return tree.with_(target=replace(tree.target, classes=classes), arrays=arrays)


def _sort_classes(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Sort classes as a text without a declared order has them: numbers by value, then text."""
    texts = [label for label in labels if isinstance(label, str)]
    return (*sorted(label for label in labels if not isinstance(label, str)), *encode.sort_levels(texts))


def adopt_levels(tree: Tree, table: Table) -> Tree:
    """Add the levels of a table to a handwritten tree, for which levels that it does not name are not unseen."""
    if not tree.fit_info.is_handwritten or tree.arrays.rows[0] > 0:
        return tree
    return tree.with_(encodings=tuple(_add_levels(encoding, table) for encoding in tree.encodings))


def restore_levels(encodings: Sequence[encode.Encoding], table: Table) -> tuple[encode.Encoding, ...]:
    """Take the levels of columns that a model file stores without them from a table: no split tests these columns."""
    return tuple(encoding if encoding.levels else _add_levels(encoding, table) for encoding in encodings)


def _add_levels(encoding: encode.Encoding, table: Table) -> encode.Encoding:
    if encoding.kind != "nominal" or encoding.name not in table.columns:
        return encoding
    column = table[encoding.name]
    unseen = np.flatnonzero(encode.encode_column(encoding, column, table.name) == encode.UNSEEN)
    new_levels = encode.fit_encoding(column.take(unseen), "nominal").encoding.levels if len(unseen) else ()
    return replace(encoding, levels=(*encoding.levels, *new_levels))


def _labels_in(column: Column) -> set[str]:
    """Return the distinct values of a column as strings; none if it cannot be a target."""
    try:
        return {str(label) for label in encode.encode_classes(column.take(~column.is_missing()))[2]}
    except DataError:
        return set()


def select_labelled_rows(
    table: Table, column: Column, drop: bool, weight: npt.NDArray[np.float64] | None = None
) -> Ints:
    """Return the rows with a positive weight and a label; a missing label is an error unless it may be dropped."""
    is_used = np.ones(len(table), bool) if weight is None else weight > 0
    if not is_used.any():
        raise DataError(f"{table.name}: no row has a positive weight; there is nothing to compare with.")
    missing = column.is_missing() & is_used
    if not missing.any() or (drop and (is_used & ~missing).any()):
        return np.flatnonzero(is_used & ~missing)
    rows = join_few([f"{row:,}" for row in (np.flatnonzero(missing) + 1).tolist()], limit=5)
    n_rows, pronoun = plural(int(missing.sum()), "row"), "it" if missing.sum() == 1 else "them"
    fault = f'target "{safe(column.name)}" is missing in {n_rows} of {table.name} ({rows}).'
    if drop:
        raise DataError(f"{fault} There is nothing to compare with.")
    raise DataError(f"{fault} Remove {pronoun} first, or " + Param("drop_missing_target", True) + ".")


def encode_labels(model: Model, column: Column) -> tuple[Ints, tuple[Label, ...]]:
    """Return each row's index into the labels, and the labels: the model's classes, then those it does not know."""
    codes, indices, labels = _match_labels(model, column)
    return np.array(indices, np.int64)[codes], labels


def _match_labels(model: Model, column: Column) -> tuple[Ints, list[int], tuple[Label, ...]]:
    """Return each row's class code, the index of each class of the column into the labels, and the labels."""
    _, codes, column_labels = encode.encode_classes(column)
    exact = {str(label): i for i, label in enumerate(model.classes)}
    folded = {str(label).casefold(): i for i, label in enumerate(model.classes)}
    indices, labels = [], list(model.classes)
    for label in column_labels:
        index = exact.get(str(label))
        if index is None and isinstance(label, bool):
            index = folded.get(str(label).casefold())  # "true" in one file, True in another
        if index is None:
            index = len(labels)
            labels.append(label)
        indices.append(index)
    return codes, indices, tuple(labels)


def encode_known_labels(model: Model, column: Column) -> tuple[Ints, tuple[Label, ...]]:
    """Return what ``encode_labels`` does; raise if no label is a class of the model: its classes have other names."""
    indices, labels = encode_labels(model, column)
    if len(indices) and indices.min() >= len(model.classes):
        sides = (labels[len(model.classes) :], model.classes)
        unknown_text, known_text = (join_few([f'"{safe(label)}"' for label in side], limit=5) for side in sides)
        raise DataError(
            f'column "{safe(column.name)}": none of its values ({unknown_text}) is a class of the model'
            f" ({known_text}).",
            hint="Rename them, or name another column: " + Param("target", ...) + ".",
        )
    return indices, labels
