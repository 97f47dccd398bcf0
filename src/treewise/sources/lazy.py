"""A model on a table that stays where it is: predictions that are computed there, and counts to evaluate it by.

In a database the SQL export is the prediction: the result is a relation, table or frame of the same library, evaluated
when it is used. On a Dask cluster each partition is predicted by itself.

What an evaluation needs to know of a row is the leaf it ends at, its label and its weight. So rows are grouped by these
and by the cells that are missing, and come back as one row per group with its number: the smallest value of each column
that the tree tests. Such a row ends at the same leaf, since the values that lead to a leaf can be chosen for each
column by itself. A partition of Dask gives one of its rows for each group.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from treewise._lib.text import safe
from treewise.data import relation as expr
from treewise.data.frames import array_to_pandas, concatenate_pandas, is_dask_frame
from treewise.data.relation import Relation, dialect_of, is_relation, run_query
from treewise.data.table import Table, read
from treewise.errors import ColumnError, DataError, join_few

if TYPE_CHECKING:
    from treewise.tree.model import Model

_PREFIX = "treewise_"  # of the columns that are added to rows before they are grouped
_ROWS, _LEAF = f"{_PREFIX}rows", f"{_PREFIX}leaf"
_MAX_PAIRS = 1 << 20  # of leaf and label; with more, as for most numeric targets, the table is fetched


def predict_lazily(model: Model, data: Any, outputs: str, estimate: Any = None, prefix: str = "") -> Any:
    """Return a table that stays where it is with ``outputs`` of the SQL export; None for one that is read.

    Rows are read for a model with markers of missing values (``na_values``), which are not known there, and where a
    column has another type than the model expects.
    """
    if is_dask_frame(data):
        return _predict_partitions(model, data, outputs, estimate)
    if not is_relation(data) or model.na_values:
        return None
    dialect = dialect_of(data)
    if dialect is None or not _has_types_of(model, Relation.of(data)):
        return None
    name = f"treewise_{uuid.uuid4().hex}"
    options = {"dialect": dialect, "table": name, "outputs": outputs, "estimate": estimate, "prefix": prefix}
    return run_query(data, name, model.export("sql", **options))


_FORMS = {"number": ("float", "int"), "integer": ("int",), "datetime": ("datetime",), "boolean": ("bool",)}


def _has_types_of(model: Model, relation: Relation | None) -> bool:
    """Whether the columns that a model tests have its types there; numbers as text, for example, are read first."""
    assert relation is not None
    encodings = [model.encodings[i] for i in model.used_columns]
    lacking = [encoding.name for encoding in encodings if encoding.name not in relation.schema]
    if lacking:
        raise DataError(f'the table has no column "{safe(lacking[0])}", which the model tests.', column=lacking[0])
    return all(relation.column(e.name).form in _FORMS.get(e.kind, ("text", "category")) for e in encodings)


def _predict_partitions(model: Model, frame: Any, outputs: str, estimate: Any) -> Any:
    """Return the predictions of each partition, made where it is."""
    method = {"prediction": "predict", "probabilities": "predict_proba", "leaf": "apply"}[outputs]
    options = {} if outputs == "leaf" else {"estimate": estimate}

    def predict(part: Any) -> Any:
        if not len(part):
            return meta.iloc[:0].set_axis(part.index)
        return array_to_pandas(getattr(model, method)(part, **options), names, part.index)

    if outputs == "probabilities":
        names, known = [f"probability_{k}" for k in range(len(model.classes))], np.zeros((1, len(model.classes)))
    elif outputs == "leaf" and len(model.trees) > 1:
        names, known = [f"leaf_{t}" for t in range(len(model.trees))], np.zeros((1, len(model.trees)), np.int64)
    else:
        names, known = [outputs], np.array([0] if outputs == "leaf" else list(model.classes[:1]) or [0.0])
    meta = array_to_pandas(known, names)
    return frame.map_partitions(predict, meta=meta)


def rows_by_leaf(tree: Model, data: Any, target: Any = None, weight: Any = None) -> Table | None:
    """Return what an evaluation of a tree needs of a table elsewhere, by counts; None for one that is read.

    It has the columns that the tree tests, the target and the weights; its rows are in another order, and its values
    are some that lead to the same leaf, with the same cells missing.
    """
    target = tree.target.name if target is None else target
    is_named = isinstance(target, str) and (weight is None or isinstance(weight, str))
    is_elsewhere = is_dask_frame(data) or is_relation(data)
    if not is_elsewhere or len(tree.trees) != 1 or not is_named or tree.fit_info.fit_options.predicts_rates:
        return None
    if any(str(name).startswith(_PREFIX) for name in _columns_of(data)):  # taken by what is added below
        return None
    keys = [target] if weight is None or weight not in _columns_of(data) else [target, weight]
    if is_dask_frame(data):
        return _rows_of_partitions(tree, data, keys)
    leaves = predict_lazily(tree, data, "leaf", prefix=_PREFIX)
    if leaves is None:
        return None
    relation = Relation.of(leaves)
    assert relation is not None
    names = [tree.columns[i] for i in tree.used_columns]
    for key in keys:
        relation.column(key)  # raises if there is none
    values = {name: expr.col(name) for name in dict.fromkeys((_LEAF, *keys, *names))}
    missing = {f"{_PREFIX}missing_{i}": relation.column(name).is_missing for i, name in enumerate(names)}
    aggregates = {_ROWS: expr.count_rows(), **{f"{_PREFIX}{i}": expr.col(n).min() for i, n in enumerate(names)}}
    groups = relation.fetch_groups(values | missing, [_LEAF, *keys, *missing], aggregates, _MAX_PAIRS)
    if len(groups) > _MAX_PAIRS:
        return None
    rows = np.asarray(groups[_ROWS].to_numpy()).astype(np.int64)
    kept = groups.select(*keys, *(expr.col(f"{_PREFIX}{i}").alias(n) for i, n in enumerate(names) if n not in keys))
    return read(kept.to_native(), name=relation.name).take(np.repeat(np.arange(len(rows)), rows))


def _columns_of(data: Any) -> Collection[Any]:
    relation = None if is_dask_frame(data) else Relation.of(data)
    return data.columns if is_dask_frame(data) else relation.schema if relation is not None else ()


def _rows_of_partitions(tree: Model, frame: Any, keys: Sequence[str]) -> Table | None:
    """Return the same of a Dask dataframe: one row of each group of a partition, as often as the group has rows."""
    names = list(dict.fromkeys([*keys, *(tree.columns[i] for i in tree.used_columns)]))
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        columns = join_few([safe(name) for name in frame.columns])
        raise ColumnError(f'no column "{safe(lacking[0])}" in the table. Columns: {columns}.')
    n_most = max(_MAX_PAIRS // max(frame.npartitions, 1), 1)
    parts = map_partitions(frame, _count_partition, tree, names, keys, n_most)
    if any(part is None for part in parts):
        return None
    groups = concatenate_pandas(parts)
    rows = groups.pop(_ROWS).to_numpy()
    return read(groups, na_values=tree.na_values, name="the table").take(np.repeat(np.arange(len(rows)), rows))


def map_partitions(frame: Any, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Return the results of a function of each partition of a Dask dataframe, called where it is."""
    dask: Any = import_module("dask")
    call = dask.delayed(function)
    return list(dask.compute(*(call(part, *args) for part in frame.to_delayed())))


def _count_partition(part: Any, tree: Model, names: Sequence[str], keys: Sequence[str], n_most: int) -> Any:
    """Return one row for each leaf, label, weight and set of missing cells, with the number of such rows.

    None for more than ``n_most`` of them.
    """
    part = part[list(names)]
    if not len(part):
        return part.assign(**{_ROWS: np.zeros(0, np.int64)})
    table = read(part, na_values=tree.na_values)
    group = np.asarray(tree.apply(table), np.int64)
    for key in keys:
        group = _refine(
            group, np.where(table[key].is_missing(), -1, np.unique(table[key].values, return_inverse=True)[1])
        )
    for i in tree.used_columns:
        group = _refine(group, table[tree.columns[i]].is_missing())
    _, first, rows = np.unique(group, return_index=True, return_counts=True)
    return None if len(first) > n_most else part.iloc[first].assign(**{_ROWS: rows})


def _refine(group: Any, values: Any) -> Any:
    """Return group numbers that also tell the values apart."""
    pairs = np.stack([group, values.astype(np.int64)])
    return np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)
