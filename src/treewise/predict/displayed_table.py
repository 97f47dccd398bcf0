"""A table in the words of a model's display: its columns renamed, and the classes in its target relabelled.

A displayed model (``tree/display.py``) has the display names and labels; with its table in the same words, whatever
compares the two (evaluation, subgroups, the report) needs no code of its own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from treewise.data.column import Column, LazyColumns
from treewise.data.table import Table, read
from treewise.train.target import encode_labels
from treewise.tree.display import Display
from treewise.tree.model import Model


def displayed_table(model: Model, data: Any, target: Any = None) -> tuple[Table, Any]:
    """Return a table, and the target given with it (a name, an array or nothing), in the words of a model.

    >>> import treewise as tw
    >>> tree = tw.grow("xor").with_display(labels={0: "no", 1: "yes"}, display_names={"x1": "switch"})
    >>> table, _ = displayed_table(tree, "xor")
    >>> list(table.columns), table["y"].labels, tree.displayed.evaluate(table).errors
    (['switch', 'x2', 'y'], ('no', 'yes'), 0)
    """
    display = model.display
    assert display is not None
    table = read(data, na_values=model.na_values)
    column = model.target.name if target is None or not isinstance(target, str) else target
    names = {name: _displayed_name(model, display, name, column) for name in table.columns}
    makers = {
        names[name]: partial(_displayed_column, model, display, table, name, names[name], name == column)
        for name in table.columns
    }
    kinds = {names[name]: kind for name, kind in table.kinds.items() if name in names}
    worded = replace(table, columns=LazyColumns(makers, len(table)), kinds=kinds, target=names.get(table.target or ""))
    if target is None or isinstance(target, str):
        return worded, None if target is None else names.get(target, target)
    if not model.classes:
        return worded, target
    relabelled = _displayed_labels(model, display, read({column: target})[column], column)
    return worded, [None if code < 0 else relabelled.labels[code] for code in relabelled.values.tolist()]


def _displayed_name(model: Model, display: Display, name: str, target: str) -> str:
    return display.target_name(name) if name == target == model.target.name else display.name(name)


def _displayed_column(
    model: Model, display: Display, table: Table, name: str, new_name: str, is_target: bool
) -> Column:
    column = table.columns[name]
    if not (is_target and model.classes) or column.is_all_missing():
        return replace(column, name=new_name)
    return _displayed_labels(model, display, column, new_name)


def _displayed_labels(model: Model, display: Display, column: Column, new_name: str) -> Column:
    """Return a column of classes with their labels; values that are not a class of the model stay."""
    is_present = ~column.is_missing()
    indices, classes = encode_labels(model, column.take(is_present))
    texts = [str(display.label(cls)) for cls in classes]
    labels = sorted(set(texts))
    codes = np.full(len(column), -1, np.int32)
    codes[is_present] = np.array([labels.index(text) for text in texts], np.int32)[indices]
    return Column(new_name, "text", codes, labels=tuple(labels)).drop_unused_labels()
