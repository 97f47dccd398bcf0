"""Rows → nodes → values: prediction with a finished tree.

Stands above the tree and beside the search. A table is read as it comes, columns are found by name in any order, the
core walks each row down the tree, and the node it ends at answers: its class, its probabilities, its value. Only the
columns the tree asks about are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.data.table import Table, read
from treewise.errors import ColumnError, DataError, ParameterError, did_you_mean, listing
from treewise.predict.confidence_intervals import check_confidence, student_half_width, wilson_intervals
from treewise.predict.leaf_probabilities import (
    LeafProbabilities,
    class_probabilities,
    label_probabilities,
    node_values,
    nodes_with_counts,
)
from treewise.train.criteria import logarithm
from treewise.train.target import class_numbers
from treewise.tree.arrays import LEAF, Label
from treewise.tree.structure import Grown
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_NAMED = 20  # columns that are not there, in a message


def apply(tree: Tree, data: Any) -> Any:
    """Return the number of the node each row ends at; for a single row, that number."""
    data = series_as_dict(tree, data)
    if (node := tree.walk.node(data)) is not None:
        return node
    table, single = read_rows(tree, data)
    nodes = find_leaves(tree, encode_columns(tree, table), len(table))
    check_mentioned(tree, data, nodes)
    return int(nodes[0]) if single else nodes


def predict(tree: Tree, data: Any, estimate: Any = None) -> Any:
    """Return the predicted class or value of each row; for a single row, that class or value."""
    if (row := series_as_dict(tree, data)) is not data:
        return tree.predict(row, estimate=estimate)  # a dict now, which has a shorter way
    speakers, single = speakers_for(tree, data)
    if tree.task == "regression":
        numbers = predict_at_nodes(tree, speakers, estimate)
        return float(numbers[0]) if single else numbers
    labels = predict_at_nodes(tree, speakers, estimate)
    return tree.classes[labels[0]] if single else label_array(tree.classes)[labels]


def predict_proba(tree: Tree, data: Any, estimate: Any = None) -> Floats:
    """Return the probability of each class, one row a row of the table, one column a class; a single row gives one."""
    if tree.task == "regression":
        raise DataError("predict_proba is for classification; this tree predicts numbers. Use predict.")
    way = LeafProbabilities.of(estimate)
    data = series_as_dict(tree, data)
    if (
        way == LeafProbabilities()
        and (node := tree.walk.node(data)) is not None
        and (said := tree.probabilities(node)).any()
    ):
        return said
    speakers, single = speakers_for(tree, data)
    reached, place = np.unique(speakers, return_inverse=True)
    result: Floats = class_probabilities(tree, reached, way)[place]
    return result[0] if single else result


def predict_interval(tree: Tree, data: Any, confidence: float = 0.95) -> Floats:
    """Return low and high ends of what each row's leaf says: (rows, classes, 2), or (rows, 2) for numbers."""
    check_confidence(confidence)
    speakers, single = speakers_for(tree, series_as_dict(tree, data))
    reached, place = np.unique(speakers, return_inverse=True)
    result = node_intervals(tree, reached, confidence)[place]
    return result[0] if single else result


def interval(tree: Tree, node: int, confidence: float = 0.95) -> dict[Label, tuple[float, float]] | tuple[float, float]:
    """Return the low and the high end of what one node says: by class, or of its mean."""
    ends = node_intervals(tree, np.array([tree.check_node(node)]), check_confidence(confidence))[0].tolist()
    if tree.task == "regression":
        return ends[0], ends[1]
    return {label: (low, high) for label, (low, high) in zip(tree.classes, ends, strict=True)}


def node_intervals(tree: Tree, nodes: Ints, confidence: float) -> Floats:
    """Return low and high ends of what some nodes say, Wilson's for shares of classes and Student's for means.

    Where rows have weights, the share is that of the weights, and n still the number of rows: no more than was seen.
    """
    a, answering = tree.arrays, nodes_with_counts(tree)[nodes]
    n = a.rows[answering]
    if tree.task == "classification":
        ends = wilson_intervals(
            class_probabilities(tree, nodes, LeafProbabilities()), n[:, None].astype(np.float64), confidence
        )
        return np.stack(ends, axis=-1)
    if tree.criterion == "absolute_error":
        raise ParameterError(
            "the tree predicts medians (criterion absolute_error), and an interval of a median needs the"
            " rows, which a tree does not keep.",
            hint="Grow it by squared_error for means with intervals.",
        )
    half = np.array(
        [student_half_width(s, k, confidence) for s, k in zip(a.spread[answering].tolist(), n.tolist(), strict=True)]
    )
    return np.stack([a.value[answering] - half, a.value[answering] + half], axis=-1)


def predict_at_nodes(tree: Tree, speakers: Ints, estimate: Any = None) -> npt.NDArray[Any]:
    """Return what some nodes answer: class numbers, the least costly under the estimated probabilities; or values."""
    way = LeafProbabilities.of(estimate)
    way.check(tree)
    if tree.task == "regression":
        return node_values(tree, speakers, way)
    if way == LeafProbabilities():
        return tree.arrays.label[speakers]
    from treewise.predict.costs import least_costly_classes

    reached, place = np.unique(speakers, return_inverse=True)
    return least_costly_classes(tree, reached, way)[place]


def log_likelihood(tree: Tree, data: Any, unit: str = "nats", estimate: Any = None) -> float:
    """Return the log-likelihood of a table under the tree (CS221 notes 6): Σ log P(class of the row | its leaf).

    For the table the tree was grown on this is −Σ m·H(p) over the leaves; a class a leaf gives no chance is −inf.
    """
    way = LeafProbabilities.of(estimate)
    if tree.task == "regression":
        raise DataError("log_likelihood is for classification; this tree predicts numbers. Use evaluate.")
    table = read(data, na_values=na_values(tree))
    y = class_numbers(table[tree.target.name], tree.target, table.name)
    log = logarithm(unit)
    nodes = find_leaves(tree, encode_columns(tree, table), len(table))
    speakers = answering_nodes(tree, nodes)
    check_answered(tree, nodes, table)
    chance = label_probabilities(tree, speakers, y, way)
    return math.fsum(log(p) if p > 0 else -math.inf for p in chance.tolist())


def speakers_for(tree: Tree, data: Any) -> tuple[Ints, bool]:
    """Read what is to be predicted; return the node that answers for each row, and whether it is a single one."""
    table, single = read_rows(tree, data)
    nodes = find_leaves(tree, encode_columns(tree, table), len(table))
    check_mentioned(tree, data, nodes)
    speakers = answering_nodes(tree, nodes)
    check_answered(tree, nodes, table)
    return speakers, single


def answering_nodes(tree: Tree, ends: Ints) -> Ints:
    """Return the node each row is answered by: where it ends; or, with empty_branch="root", the root for a row that
    stays at a node that has no branch for its never-seen level.
    """
    return np.where(tree.arrays.kind[ends] == LEAF, ends, 0) if tree.empty_branch == "root" else ends


def subtree_sizes(tree: Tree) -> list[int]:
    """Return the number of nodes at and below each node."""
    sizes: list[int] = (tree.arrays.ends - np.arange(len(tree))).tolist()
    return sizes


# -- tables for trees -------------------------------------------------------------------------------------------------


def series_as_dict(model: Grown, data: Any) -> Any:
    """Take a row of a pandas dataframe, ``df.iloc[3]``, for the dict that it is; leave everything else alone."""
    if type(data).__name__ != "Series":
        return data
    names = list(data.index) if hasattr(data, "index") and hasattr(data, "items") else []
    if set(model.columns) & set(names):
        return dict(data.items())
    raise DataError(
        "cannot predict a Series without the names of columns. A row is df.iloc[3] in pandas,"
        " df.row(3, named=True) in polars; several rows are a dataframe."
    )


def read_rows(model: Grown, data: Any) -> tuple[Table, bool]:
    """Read what is to be predicted; a dict of cells or a plain list of them is a single row."""
    if isinstance(data, Mapping) and data and all(is_cell(v) for v in data.values()):
        # What a row does not say is missing for now; `refuse_unsaid` complains if its path asks for it.
        return read([{**dict.fromkeys(model.columns), **data}], name="the row", na_values=na_values(model)), True
    if isinstance(data, list | tuple) and data and all(is_cell(v) for v in data):
        if len(data) != len(model.columns):
            raise DataError(f"the row has {plural(len(data), 'value')}; {was_given(model)}.")
        return read([dict(zip(model.columns, data, strict=True))], name="the row", na_values=na_values(model)), True
    if (
        isinstance(data, np.ndarray)
        and data.ndim == 2
        and data.shape[1] == len(model.columns)
        and data.dtype.names is None
    ):
        return read(data, columns=model.columns, na_values=na_values(model)), False
    table = read(data, na_values=na_values(model))
    if isinstance(data, np.ndarray) and model.columns and not {*model.columns} & {*table.columns}:
        raise DataError(f"the array has {plural(len(table.columns), 'column')}; {was_given(model)}.")
    return table, False


def was_given(model: Grown) -> str:
    """Say which columns a model knows."""
    trees = "tree was" if isinstance(model, Tree) else "trees were"
    return f"the {trees} given {plural(len(model.columns), 'column')}: {listing([safe(c) for c in model.columns])}"


def check_mentioned(tree: Tree, data: Any, nodes: Ints) -> None:
    """Raise when a single row's path asks for a column the row does not mention."""
    if not isinstance(data, Mapping) or len(nodes) != 1:
        return
    for node in tree.path(int(nodes[0])):
        split = tree.split_at(node)
        if split and split.column not in data:
            raise ColumnError(
                f'the row has no column "{safe(split.column)}", which node {node} asks for.'
                f"{did_you_mean(split.column, map(str, data))} (None says that it is missing.)"
            )


def is_cell(value: object) -> bool:
    """Tell a single cell from a column or a row."""
    return value is None or isinstance(value, str | bytes) or not isinstance(value, Iterable | Mapping)


def encode_columns(tree: Tree, table: Table) -> list[npt.NDArray[Any] | None]:
    """Encode the columns the tree asks about; the others stay None."""
    asked = tree.arrays.column
    used = set(asked[tree.arrays.kind != LEAF].tolist())
    return encode_used_columns(tree, table, used, lambda i: f"node {int(np.flatnonzero(asked == i)[0])}")


def also_missing(names: Sequence[str]) -> str:
    """Name further columns that are asked for and are not there.

    >>> nor_has_it(["age", "town"])
    ' Nor has it "age", "town".'
    """
    quoted = [f'"{safe(name)}"' for name in names]
    return f" Nor has it {listing(quoted, most=MOST_NAMED)}." if quoted else ""


def encode_used_columns(
    model: Grown, table: Table, used: set[int], who_asks: Callable[[int], str]
) -> list[npt.NDArray[Any] | None]:
    """Encode the columns that are used; the others stay None. ``who_asks`` says who wants one that is not there."""
    table.convert(model.columns[i] for i in used)
    refusing = refuses_missing(model)
    arrays: list[npt.NDArray[Any] | None] = []
    for i, encoding in enumerate(model.encodings):
        if i not in used:
            arrays.append(None)
            continue
        if encoding.name not in table.columns:
            others = [model.columns[j] for j in sorted(used) if j > i and model.columns[j] not in table.columns]
            raise ColumnError(
                f'{table.name} has no column "{safe(encoding.name)}", which {who_asks(i)} asks for.'
                f"{did_you_mean(encoding.name, table.columns)}{also_missing(others)}"
                " (Extra columns are fine; order does not matter.)"
            )
        values = encode.encode_column(encoding, table[encoding.name], table.name)
        if refusing:
            gone = np.flatnonzero(encode.is_missing(encoding, values))
            if len(gone):
                raise DataError(
                    f'column "{safe(encoding.name)}" is missing in row {gone[0] + 1} of {table.name},'
                    f" and the {'tree was' if isinstance(model, Tree) else 'trees were'} grown with"
                    ' missing="error". Fill it, or leave that row out.'
                )
        arrays.append(values)
    return arrays


def na_values(model: Grown) -> tuple[str, ...]:
    """Return the texts that meant "missing" when the model was grown: they still do."""
    return model.na_values


def refuses_missing(model: Grown) -> bool:
    """Tell whether the model was grown to refuse missing values."""
    return any(step.get("settings", {}).get("missing") == "error" for step in model.history)


def find_leaves(tree: Tree, columns: Iterable[npt.NDArray[Any] | None], n_rows: int) -> Ints:
    """Walk every row down the tree, in the core."""
    try:
        return _core.find_leaves(tree.arrays.for_core, to_core_columns(tree.encodings, columns), n_rows)
    except MemoryError:
        raise MemoryError(
            f"not enough memory: {n_rows:,} rows need {8 * n_rows / 2**20:,.0f} MB. Take fewer."
        ) from None


def to_core_columns(encodings: Sequence[Encoding], columns: Iterable[npt.NDArray[Any] | None]) -> list[_core.Column]:
    """Wrap encoded columns for the core; those that nobody asks for are empty."""
    empty = np.empty(0)
    return [
        _core.Column(empty if values is None else values, len(encoding.levels))
        for encoding, values in zip(encodings, columns, strict=True)
    ]


def check_answered(tree: Tree, nodes: Ints, table: Table) -> None:
    """Raise for a row that stays at an inner node of a hand-written tree, which has nothing to say."""
    knows = ~np.isnan(tree.arrays.value) if tree.task == "regression" else tree.arrays.label >= 0
    silent = np.flatnonzero(~knows[answering_nodes(tree, nodes)])
    if len(silent):
        node = int(nodes[silent[0]])
        split = tree.split_at(node)
        asks = f'has no branch for its "{safe(split.column)}"' if split else "predicts nothing"
        row = table.name if table.name == "the row" else f"row {silent[0] + 1} of {table.name}"
        raise DataError(f"{row} stops at node {node}, which {asks}. Add a branch: otherwise.")


def label_array(classes: tuple[Label, ...]) -> npt.NDArray[Any]:
    """Return the classes as an array of their natural type."""
    if len({type(c) for c in classes}) == 1:
        return np.array(classes)
    return np.array(classes, object)
