"""Prediction: encode rows, walk them down the trees, look up the predictions of the leaves.

Written against ``Model`` (``tree/model.py``), so it serves a tree and an ensemble alike. A table is read as it comes
and columns are found by name in any order; only those that some split tests are needed and encoded. The core walks
each row to a node, and that node answers: its class, its probabilities, its value. ``TreeAnswers`` is the answer of
a single tree, ``ensemble/predict.py`` has that of an ensemble; single rows of plain cells take a shortcut
(``predict/single_row.py``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.text import plural, safe
from treewise.data import encoding as encode
from treewise.data.encoding import Encoding
from treewise.data.sparse import is_sparse
from treewise.data.table import Table, read, read_for_model
from treewise.errors import Call, ColumnError, DataError, Param, ParameterError, PythonOnly, did_you_mean, join_few
from treewise.predict.confidence_intervals import check_confidence, student_half_width, wilson_intervals
from treewise.predict.leaf_probabilities import (
    LeafProbabilities,
    class_probabilities,
    label_probabilities,
    node_values,
    nodes_with_counts,
)
from treewise.train.criteria import logarithm
from treewise.train.target import encode_known_classes
from treewise.tree.arrays import LEAF, Label
from treewise.tree.model import Model
from treewise.tree.tree import Tree

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Columns = Sequence[Array | None]

_MAX_NAMED = 20  # missing columns named in a message
_DIRECT = LeafProbabilities()  # probabilities as counted


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows to predict, encoded: a table, or a single row."""

    table: Table
    columns: Columns  # one per column of the model; None where no split tests it
    single: bool = False  # one row that was not in a table
    given: tuple[Mapping[Any, Any], ...] = ()  # rows that may omit columns: the cells as given, by name
    is_permuted: bool = False  # cells were shuffled: a row may end where a hand-written tree predicts nothing

    def __len__(self) -> int:
        return len(self.table)


class Answers(ABC):
    """The predictions for encoded rows, from a single walk."""

    model: Model
    rows: EncodedRows
    leaves: Ints | None = None  # the node each row ends at; an ensemble does not keep them

    @abstractmethod
    def class_numbers(self) -> Ints:
        """Return the position of the predicted class of each row."""

    @abstractmethod
    def values(self) -> Floats:
        """Return the predicted value of each row (regression)."""

    @abstractmethod
    def probabilities(self) -> Floats:
        """Return the class probabilities: rows × classes."""

    @abstractmethod
    def likelihoods(self, truth: Ints) -> tuple[Ints, Floats, Floats | None]:
        """Return predicted classes, the probability of each row's true class, and with two classes of the second."""

    @abstractmethod
    def intervals(self, confidence: float) -> Floats:
        """Return low and high ends: rows × classes × 2, or rows × 2 for regression."""

    def predictions(self) -> Array:
        """Return the predicted labels or values."""
        if self.model.task == "regression":
            return self.values()
        # Not labels[numbers]: NumPy's fancy indexing crashes the process if there is no memory for the result.
        labels: Array = label_array(self.model.classes).take(self.class_numbers())
        return labels


class TreeAnswers(Answers):
    """Answers of a single tree: each row is answered by the node it ends at."""

    def __init__(self, tree: Tree, rows: EncodedRows, estimate: Any = None) -> None:
        self.model = self.tree = tree
        self.rows, self.estimate = rows, LeafProbabilities.of(estimate)
        self.estimate.check(tree)
        self.leaves = leaves = tree.leaves(rows)
        self.nodes = answering_nodes(tree, leaves)  # the node that answers for each row
        if not rows.is_permuted:
            check_answered(tree, leaves, rows.table)

    def class_numbers(self) -> Ints:
        """Return the position of the predicted class of each row."""
        return predict_at_nodes(self.tree, self.nodes, self.estimate)

    def values(self) -> Floats:
        """Return the predicted value of each row."""
        return predict_at_nodes(self.tree, self.nodes, self.estimate)

    def probabilities(self) -> Floats:
        """Return the class probabilities: rows × classes."""
        nodes, inverse = np.unique(self.nodes, return_inverse=True)
        return class_probabilities(self.tree, nodes, self.estimate)[inverse]

    def likelihoods(self, truth: Ints) -> tuple[Ints, Floats, Floats | None]:
        """Return predicted classes, the probability of each row's true class, and with two classes of the second."""
        tree, nodes = self.tree, self.nodes
        second = None
        if len(tree.classes) == 2:
            second = label_probabilities(tree, nodes, np.ones(len(nodes), np.int64), self.estimate)
        predicted = self.class_numbers().astype(np.int64)
        return predicted, label_probabilities(tree, nodes, truth, self.estimate), second

    def intervals(self, confidence: float) -> Floats:
        """Return low and high ends for each row's leaf."""
        nodes, inverse = np.unique(self.nodes, return_inverse=True)
        return node_intervals(self.tree, nodes, confidence)[inverse]


# -- what the methods of a model call ---------------------------------------------------------------------------------


def encode_rows(model: Model, data: Any) -> EncodedRows:
    """Read what is to be predicted, and encode the columns that the model tests."""
    data = series_as_dict(model, data)
    if type(data) is dict and len(by_name := {str(name): cells for name, cells in data.items()}) == len(data):
        data = by_name  # columns may be numbered
    table, single = read_model_rows(model, data)
    given = (data,) if single and isinstance(data, Mapping) else ()
    return EncodedRows(table, encode_columns(model, table), single, given)


def encode_table(model: Model, table: Table) -> EncodedRows:
    """Encode a table that has been read."""
    return EncodedRows(table, encode_columns(model, table))


def predict(model: Model, data: Any, estimate: Any = None) -> Any:
    """Return the predicted class or value of each row; for a single row, that class or value."""
    if (row := series_as_dict(model, data)) is not data:
        return model.predict(row, estimate=estimate)  # a dict now, which may take the shortcut
    rows = model.encode(data)
    answers = model.answers(rows, estimate)
    if not rows.single:
        return answers.predictions()
    if model.task == "regression":
        return float(answers.values()[0])
    return model.classes[answers.class_numbers()[0]]


def predict_proba(model: Model, data: Any, estimate: Any = None) -> Floats:
    """Return the probability of each class: rows × classes; for a single row, one per class."""
    check_classification(model, "predict_proba")
    data = series_as_dict(model, data)
    if LeafProbabilities.of(estimate) == _DIRECT:
        estimate = None
        if (probabilities := model.predictor.probabilities(data)) is not None:
            return probabilities
    rows = model.encode(data)
    probabilities = model.answers(rows, estimate).probabilities()
    return probabilities[0] if rows.single else probabilities


def apply(model: Model, data: Any) -> Any:
    """Return the number of the node each row ends at; for a single row, that number (for an ensemble, one per tree)."""
    data = series_as_dict(model, data)
    if (node := model.predictor.leaf(data)) is not None:
        return node
    rows = model.encode(data)
    leaves = model.leaves(rows)
    if not rows.single:
        return leaves
    return int(leaves[0]) if leaves.ndim == 1 else leaves[0]


def rows_of_node(tree: Tree, data: Any, node: int) -> npt.NDArray[np.int64]:
    """Return the rows of a table that pass through a node, from 1: in pre-order a subtree is a range of nodes."""
    try:
        node = tree.check_node(node)
    except (IndexError, TypeError) as error:
        raise ParameterError(f"{error}.") from None
    leaves = tree.leaves(tree.encode(data))
    end = node + int(subtree_sizes(tree)[node])
    return np.flatnonzero((leaves >= node) & (leaves < end)) + 1


def log_likelihood(model: Model, data: Any, unit: str = "nats", estimate: Any = None) -> float:
    """Return the log-likelihood of a table under the model (CS221 notes 6): Σ log P(class of the row | its leaf).

    For the table a tree was grown on this is −Σ m·H(p) over the leaves; a class of probability 0 gives −inf.
    """
    check_classification(model, "log_likelihood", "evaluate")
    table = read_for_model(data, model.na_values)
    truth = encode_known_classes(table[model.target.name], model.target, table.name)
    log = logarithm(unit)
    _, likelihoods, _ = model.answers(encode_table(model, table), estimate).likelihoods(truth)
    return math.fsum(log(p) if p > 0 else -math.inf for p in likelihoods.tolist())


def predict_interval(tree: Tree, data: Any, confidence: float = 0.95) -> Floats:
    """Return low and high ends for each row's leaf: (rows, classes, 2), or (rows, 2) for regression."""
    check_confidence(confidence)
    rows = tree.encode(data)
    bounds = tree.answers(rows).intervals(confidence)
    return bounds[0] if rows.single else bounds


def check_classification(model: Model, method: str, instead: str = "predict") -> None:
    """Raise for a method that only classification has."""
    if model.task == "regression":
        subject = "this tree predicts" if isinstance(model, Tree) else "these trees predict"
        raise DataError(
            Call(method) + f" is for classification; {subject} numbers." + PythonOnly(f" Use {instead}."),
        )


# -- nodes ------------------------------------------------------------------------------------------------------------


def node_interval(
    tree: Tree, node: int, confidence: float = 0.95
) -> dict[Label, tuple[float, float]] | tuple[float, float]:
    """Return the low and the high end for one node: by class, or of its mean."""
    bounds = node_intervals(tree, np.array([tree.check_node(node)]), check_confidence(confidence))[0].tolist()
    if tree.task == "regression":
        return bounds[0], bounds[1]
    return {label: (low, high) for label, (low, high) in zip(tree.classes, bounds, strict=True)}


def node_intervals(tree: Tree, nodes: Ints, confidence: float) -> Floats:
    """Return low and high ends for some nodes: Wilson's for class shares, Student's for means.

    With weighted rows the share is that of the weights, and n still the number of rows: no more than was observed.
    """
    a, answering = tree.arrays, nodes_with_counts(tree)[nodes]
    n = a.rows[answering]
    if tree.task == "classification":
        shares = class_probabilities(tree, nodes, _DIRECT)
        return np.stack(wilson_intervals(shares, n[:, None].astype(np.float64), confidence), axis=-1)
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


def predict_at_nodes(tree: Tree, nodes: Ints, estimate: Any = None) -> Array:
    """Return what some nodes predict: class numbers, the least costly under the estimated probabilities; or values."""
    estimator = LeafProbabilities.of(estimate)
    estimator.check(tree)
    if tree.task == "regression":
        return node_values(tree, nodes, estimator)
    if estimator == _DIRECT:
        return tree.arrays.label[nodes]
    from treewise.predict.costs import least_costly_classes

    reached, inverse = np.unique(nodes, return_inverse=True)
    return least_costly_classes(tree, reached, estimator)[inverse]


def answering_nodes(tree: Tree, leaves: Ints) -> Ints:
    """Return the node that answers for each row: the one it ends at.

    With ``empty_branch="root"`` it is the root for a row that stops at an inner node, which has no branch for its
    never-seen level.
    """
    return np.where(tree.arrays.kind[leaves] == LEAF, leaves, 0) if tree.empty_branch == "root" else leaves


def subtree_sizes(tree: Tree) -> list[int]:
    """Return the number of nodes at and below each node."""
    sizes: list[int] = (tree.arrays.ends - np.arange(len(tree))).tolist()
    return sizes


def find_leaves(tree: Tree, columns: Iterable[Array | None], n_rows: int) -> Ints:
    """Walk every row down the tree, in the core."""
    used = set(tree.used_columns)
    tested = [values if i in used else None for i, values in enumerate(columns)]
    try:
        return _core.find_leaves(tree.arrays.for_core, to_core_columns(tree.encodings, tested), n_rows)
    except MemoryError:
        raise MemoryError(
            f"not enough memory: {n_rows:,} rows need {8 * n_rows / 2**20:,.0f} MB. Take fewer."
        ) from None


def to_core_columns(encodings: Sequence[Encoding], columns: Iterable[Array | None]) -> list[_core.Column]:
    """Wrap encoded columns for the core; unused ones are empty."""
    empty = np.empty(0)
    return [
        _core.Column(empty if values is None else values, len(encoding.levels))
        for encoding, values in zip(encodings, columns, strict=True)
    ]


# -- reading and encoding rows ----------------------------------------------------------------------------------------


def series_as_dict(model: Model, data: Any) -> Any:
    """Turn a row of a pandas dataframe, ``df.iloc[3]``, into a dict; leave everything else alone."""
    if type(data).__name__ != "Series":
        return data
    names = list(data.index) if hasattr(data, "index") and hasattr(data, "items") else []
    if set(model.columns) & set(names):
        return dict(data.items())
    raise DataError(
        "cannot predict a Series without the names of columns. A row is df.iloc[3] in pandas,"
        " df.row(3, named=True) in polars; several rows are a dataframe."
    )


def read_model_rows(model: Model, data: Any) -> tuple[Table, bool]:
    """Read what is to be predicted; a dict of cells or a plain list of them is a single row."""
    markers = model.na_values
    if is_sparse(data):  # some formats are mappings
        return read(data, na_values=markers), False
    if isinstance(data, Mapping) and data and all(_is_cell(v) for v in data.values()):
        # A column that the row omits counts as missing for now; `check_mentioned` complains if the path tests it.
        return read([{**dict.fromkeys(model.columns), **data}], name="the row", na_values=markers), True
    if isinstance(data, list | tuple) and data and all(_is_cell(v) for v in data):
        if len(data) != len(model.columns):
            raise DataError(f"the row has {plural(len(data), 'value')}; {_columns_given(model)}.")
        return read([dict(zip(model.columns, data, strict=True))], name="the row", na_values=markers), True
    if (
        isinstance(data, np.ndarray)
        and data.ndim == 2
        and data.shape[1] == len(model.columns)
        and data.dtype.names is None
    ):
        return read(data, columns=model.columns, na_values=markers), False
    table = read_for_model(data, markers)
    if isinstance(data, np.ndarray) and model.columns and not {*model.columns} & {*table.columns}:
        raise DataError(f"the array has {plural(len(table.columns), 'column')}; {_columns_given(model)}.")
    return table, False


def _is_cell(value: object) -> bool:
    return value is None or isinstance(value, str | bytes) or not isinstance(value, Iterable | Mapping)


def _columns_given(model: Model) -> str:
    subject = "tree was" if isinstance(model, Tree) else "trees were"
    return f"the {subject} given {plural(len(model.columns), 'column')}: {join_few([safe(c) for c in model.columns])}"


def encode_columns(model: Model, table: Table) -> list[Array | None]:
    """Encode the columns that the model tests; the others stay None."""
    used = model.used_columns
    table.convert(model.columns[i] for i in used)
    refuses = refuses_missing(model)
    encoded: list[Array | None] = [None] * len(model.encodings)
    for i in used:
        encoding = model.encodings[i]
        if encoding.name not in table.columns:
            also_absent = [model.columns[j] for j in used if j > i and model.columns[j] not in table.columns]
            raise ColumnError(
                f'{table.name} has no column "{safe(encoding.name)}", which {model.where_used(i)} tests.'
                f"{did_you_mean(encoding.name, table.columns)}{also_missing(also_absent)}"
                " (Extra columns are fine; order does not matter.)"
            )
        values = encoded[i] = encode.encode_column(encoding, table[encoding.name], table.name, table.first_row)
        if refuses and len(missing := np.flatnonzero(encode.is_missing(encoding, values))):
            raise DataError(
                f'column "{safe(encoding.name)}" is missing in row {table.first_row + missing[0] + 1} of {table.name},'
                f" and the {'tree was' if isinstance(model, Tree) else 'trees were'} grown with "
                + Param("missing", "error")
                + ". Fill it, or leave that row out."
            )
    return encoded


def refuses_missing(model: Model) -> bool:
    """Return whether the model was grown with ``missing="error"``."""
    return model.fit_info.refuses_missing


# -- checks -----------------------------------------------------------------------------------------------------------


def check_mentioned(tree: Tree, row: Mapping[Any, Any], leaf: int) -> None:
    """Raise when the path of a single row tests a column that the row does not mention."""
    for node in tree.path(leaf):
        split = tree.split_at(node)
        if split and split.column not in row:
            raise ColumnError(
                f'the row has no column "{safe(split.column)}", which node {node} tests.'
                f"{_misspelt(split.column, map(str, row))}",
                hint="Use None for a missing value.",
            )


def _misspelt(column: str, given: Iterable[str]) -> str:
    """Name the column that was given instead.

    >>> _misspelt("Age", ["age", "town"])
    ' It has "age".'
    """
    names = list(given)
    matches = [name for name in names if name.casefold() == column.casefold()]
    return f' It has "{safe(matches[0])}".' if matches else did_you_mean(column, names)


def check_answered(tree: Tree, leaves: Ints, table: Table) -> None:
    """Raise for a row that stops at an inner node of a hand-written tree, which predicts nothing there."""
    unanswered = unanswered_rows(tree, leaves)
    if len(unanswered):
        row = unanswered[0]
        name = table.name if table.name == "the row" else f"row {table.first_row + row + 1} of {table.name}"
        raise DataError(f"{name} {stopping_reason(tree, int(leaves[row]))}. Add a branch: otherwise.")


def unanswered_rows(tree: Tree, leaves: Ints) -> Ints:
    """Return the rows that stop at an inner node of a hand-written tree, which predicts nothing there."""
    answered = ~np.isnan(tree.arrays.value) if tree.task == "regression" else tree.arrays.label >= 0
    return np.flatnonzero(~answered[answering_nodes(tree, leaves)])


def stopping_reason(tree: Tree, node: int) -> str:
    """Say why a row that stops at a node has no answer."""
    split = tree.split_at(node)
    reason = f'has no branch for its "{safe(split.column)}"' if split else "predicts nothing"
    return f"stops at node {node}, which {reason}"


def also_missing(names: Sequence[str]) -> str:
    """Name further columns that are needed and absent.

    >>> also_missing(["age", "town"])
    ' Also missing: "age", "town".'
    """
    quoted = [f'"{safe(name)}"' for name in names]
    return f" Also missing: {join_few(quoted, limit=_MAX_NAMED)}." if quoted else ""


def label_array(classes: tuple[Label, ...]) -> Array:
    """Return the classes as an array of their natural type.

    NumPy drops a NUL at the end of a string: such classes stay Python objects.

    >>> label_array(("a", "a\\0")).tolist()
    ['a', 'a\\x00']
    """
    if len({type(c) for c in classes}) == 1 and not any(isinstance(c, str) and c.endswith("\0") for c in classes):
        return np.array(classes)
    return np.array(classes, object)
