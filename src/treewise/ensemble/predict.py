"""Prediction with an ensemble: walk rows down all trees at once and add up what they predict.

Uses ``packed_trees.py`` and the core's ``CompiledForest``, which walks one compact program compiled from all
members (eight bytes per node, and the leaf values) and adds up their predictions in the order of the trees:

    forest, extra_trees, bagging    the mean of the trees' class probabilities, or of their values; the class of the
                                    largest probability, the first of equals
    adaboost                        the class with the largest vote weight: Σ votes·[the tree predicts it], the first of
                                    equals
    gradient_boosting               the sum of the trees' values

Each tree contributes exactly what it predicts alone, and sums are taken row by row: so a prediction depends neither on
the other rows nor on the number of threads. Tables are read and encoded by ``predict/predict.py``; a single row of
plain cells takes a shortcut (``predict/single_row.py``).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.text import safe
from treewise.data.encoding import INT64_MIN
from treewise.ensemble.packed_trees import PackedTrees
from treewise.errors import ColumnError, DataError, ParameterError, did_you_mean
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities
from treewise.predict.predict import (
    Answers,
    Columns,
    EncodedRows,
    also_missing,
    answering_nodes,
    check_classification,
    label_array,
    to_core_columns,
)
from treewise.predict.single_row import NOT_GIVEN, RowReader
from treewise.tree.arrays import LEAF, MULTIWAY, Label

if TYPE_CHECKING:
    from treewise.ensemble.model import Ensemble

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_BLOCK = 1 << 22  # sums held at once if only the best class is needed


class ForestPredictor:
    """A compiled ensemble, and the readers of its rows."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble: Ensemble = weakref.proxy(ensemble)  # a reference cycle would delay freeing the ensemble
        self.classes = label_array(ensemble.classes) if ensemble.classes else np.empty(0)
        self.unit = _unit_of(ensemble)
        self.compiled = compile_forest(ensemble, self.unit)
        self.output = _output_of(ensemble)
        self.width = max(1, len(ensemble.classes))
        self.reader = RowReader(ensemble, list(self.compiled.used_columns))
        self.codes = [
            {None: -1, **{level: code for code, level in enumerate(ensemble.encodings[i].levels)}}
            if ensemble.encodings[i].is_categorical
            else None
            for i in self.reader.used
        ]

    # -- a single row of plain cells ------------------------------------------------------------------------------

    def leaf(self, row: Any) -> None:
        """Return None: leaves are found by the general path."""

    def answer(self, row: Any) -> Any:
        """Return the class or value of one row; None if the general path must read it."""
        cells = self._row_of_array(row)
        sums = self.row_sums(row if cells is None else cells)
        if sums is None:
            return None
        if cells is not None:
            return self.answers(np.array([sums]), len(self.ensemble))
        return self.single_answer(np.array([sums]), len(self.ensemble))

    def probabilities(self, row: Any) -> Floats | None:
        """Return the class probabilities of one row; None if the general path must read it."""
        cells = self._row_of_array(row)
        sums = self.row_sums(row if cells is None else cells)
        if sums is None:
            return None
        probabilities = self.probabilities_of(np.array([sums]), len(self.ensemble))
        return probabilities[0] if cells is None else probabilities

    def row_sums(self, data: Any) -> list[float] | None:
        """Return the sums for one row of plain cells; None if the general path must read it."""
        reader = self.reader
        values = reader.read(data) if reader.is_enabled else None
        if values is None:
            return None
        if reader.only_numbers:
            return None if NOT_GIVEN in values else self.compiled.predict_row(values, (), self.output)
        numbers, integers = [], []
        for value, numeric, codes in zip(values, reader.numeric, self.codes, strict=True):
            if value is NOT_GIVEN:
                return None
            if numeric:
                numbers.append(value)
            elif codes is None:
                integers.append(value if value == value else INT64_MIN)
            else:
                integers.append(codes[value])
        return self.compiled.predict_row(numbers, integers, self.output)

    def _row_of_array(self, data: Any) -> Any:
        """Return an array of one row of floats as a list; None for everything else."""
        is_row = type(data) is np.ndarray and data.shape == (1, self.reader.width) and data.dtype.kind == "f"
        return data[0].tolist() if is_row and data.dtype.itemsize in (4, 8) and self.reader.only_numbers else None

    # -- tables ---------------------------------------------------------------------------------------------------

    def leaves(self, rows: EncodedRows) -> npt.NDArray[np.int32]:
        """Return the number of the node each row ends at in each tree: rows × trees."""
        self.check_mentioned(rows)
        leaves: npt.NDArray[np.int32] = self.compiled.leaves(
            to_core_columns(self.ensemble.encodings, rows.columns), len(rows)
        )
        return leaves

    def check_mentioned(self, rows: EncodedRows) -> None:
        """Raise when some tree's path tests a column that a row given by name does not mention."""
        ensemble = self.ensemble
        for i, row in enumerate(rows.given):
            absent = [c for c in self.reader.used if ensemble.columns[c] not in row]
            if not absent:
                continue
            cells = [None if values is None else values[i : i + 1] for values in rows.columns]
            first_test = self.compiled.first_test_on(to_core_columns(ensemble.encodings, cells), absent)
            if first_test is not None:
                tree, node = first_test
                tested = int(ensemble[tree].arrays.column[node])
                name, also_absent = ensemble.columns[tested], [ensemble.columns[c] for c in absent if c != tested]
                raise ColumnError(
                    f'the row has no column "{safe(name)}", which node {node} of tree {tree} tests.'
                    f"{did_you_mean(name, map(str, row))}{also_missing(also_absent)}",
                    hint="Use None for a missing value.",
                )

    def sums(
        self, columns: Columns, n_rows: int, output: _core.Output | None = None, n_jobs: int = 0, **more: Any
    ) -> Floats:
        """Add up the outputs of the trees for each row; values are in units of ``unit``."""
        sums = np.zeros((n_rows, self.width))
        wrapped = to_core_columns(self.ensemble.encodings, columns)
        self.compiled.add(wrapped, n_rows, output or self.output, 0, len(self.ensemble), sums, n_jobs=n_jobs, **more)
        return sums

    def blocks(self, columns: Columns, n_rows: int, n_jobs: int = 0) -> Iterator[tuple[slice, Floats]]:
        """Yield the sums block by block, so that only a part of rows × classes is in memory."""
        step = max(1, _BLOCK // self.width)
        for first in range(0, n_rows, step):
            rows = slice(first, min(n_rows, first + step))
            block = [None if values is None else values[rows] for values in columns]
            yield rows, self.sums(block, rows.stop - first, n_jobs=n_jobs)

    def class_numbers(
        self, columns: Columns, n_rows: int, n_jobs: int = 0, best: Callable[[Floats, int], Ints] | None = None
    ) -> Ints:
        """Return the predicted class number of each row; ``best`` selects it from the sums."""
        numbers = np.empty(n_rows, np.int64)
        for rows, sums in self.blocks(columns, n_rows, n_jobs):
            numbers[rows] = (best or self.best)(sums, len(self.ensemble))
        return numbers

    # -- from sums to predictions ---------------------------------------------------------------------------------

    def probabilities_of(self, sums: Floats, trees: int) -> Floats:
        """Return probabilities, or values: the mean over the trees; for AdaBoost the normalised vote weights."""
        if self.ensemble.method != "adaboost":
            return sums / self.ensemble.divisor(trees) * self.unit
        total = np.zeros(len(sums))
        for votes in sums.T:  # in the order of the classes, as exports add them up; np.sum may use another one
            total += votes
        return sums / np.where(total > 0, total, 1.0)[:, None]

    def best(self, sums: Floats, trees: int) -> Ints:
        """Return the predicted class number of each row."""
        scores = sums if self.ensemble.method == "adaboost" else self.probabilities_of(sums, trees)
        return np.asarray(np.argmax(scores, axis=1), np.int64)

    def answers(self, sums: Floats, trees: int) -> Array:
        """Return the predicted class or value of each row."""
        if self.ensemble.task == "regression":
            return self.probabilities_of(sums, trees)[:, 0]
        labels: Array = self.classes[self.best(sums, trees)]
        return labels

    def single_answer(self, sums: Floats, trees: int) -> Any:
        """Return the predicted class or value of a single row."""
        if self.ensemble.task == "regression":
            return float(sums[0, 0]) / self.ensemble.divisor(trees) * self.unit
        return self.ensemble.classes[int(self.best(sums, trees)[0])]


def _output_of(ensemble: Ensemble) -> _core.Output:
    if ensemble.task == "regression":
        return _core.Output.values
    return _core.Output.votes if ensemble.method == "adaboost" else _core.Output.probabilities


def _unit_of(ensemble: Ensemble) -> float:
    """Return the unit in which values are added up: 1, or a power of two if their sum might overflow."""
    if ensemble.task == "classification":
        return 1.0
    trees, largest = len(ensemble), float(np.fmax.reduce(np.abs(ensemble.members.value), initial=0.0))
    return 2.0 ** trees.bit_length() if math.isinf(largest * trees) else 1.0


def compile_forest(ensemble: Ensemble, unit: float = 1.0) -> _core.CompiledForest:
    """Compile the trees of an ensemble, with values in the given unit."""
    members, encodings = ensemble.members, ensemble.encodings
    nodes, labels, outputs = derived_predictions(ensemble)
    arrays = vars(members)
    if unit != 1.0:
        arrays, outputs = {**arrays, "value": members.value / unit}, outputs / unit
    return _core.CompiledForest(
        arrays,
        [len(e.levels) if e.is_categorical else -1 for e in encodings],
        [e.kind in ("integer", "datetime") for e in encodings],
        np.ascontiguousarray(ensemble.votes, np.float64),
        len(ensemble.classes),
        nodes,
        labels,
        outputs.ravel(),
    )


def derived_predictions(ensemble: Ensemble) -> tuple[Ints, npt.NDArray[np.int32], Floats]:
    """Return the nodes whose predictions are not in the packed arrays, their labels, and probabilities or values.

    These are leaves without rows, and inner nodes at which a row may stop. Only members that have some are unpacked.
    """
    members, width = ensemble.members, max(1, len(ensemble.classes))
    inner = members.kind != LEAF
    is_derived = np.zeros(len(members.kind), bool)
    can_stop = members.missing.astype(np.int64) < 0
    can_stop |= (members.kind[inner] == MULTIWAY) & (members.filled("other") < 0)
    is_derived[inner] = can_stop
    if ensemble.classes:
        is_derived[~inner] = members.n_counts == 0
    nodes = np.flatnonzero(is_derived)
    labels, outputs = np.zeros(len(nodes), np.int32), np.zeros((len(nodes), width))
    owner = np.searchsorted(members.start, nodes, side="right") - 1
    for t in np.unique(owner).tolist():
        entries = np.flatnonzero(owner == t)
        tree = ensemble[t]
        answering = answering_nodes(tree, nodes[entries] - members.start[t])
        if ensemble.classes:
            labels[entries] = tree.arrays.label[answering]
            outputs[entries] = class_probabilities(tree, answering, LeafProbabilities())
        else:
            outputs[entries, 0] = tree.arrays.value[answering]
    return nodes, labels, outputs


class EnsembleAnswers(Answers):
    """Answers of an ensemble: sums over its trees, taken once.

    The predicted classes of a large table are found block by block, without keeping the sums of all rows × classes,
    unless the probabilities have been computed before.
    """

    def __init__(self, ensemble: Ensemble, rows: EncodedRows, estimate: Any = None, n_jobs: int = 0) -> None:
        if estimate is not None:
            raise ParameterError(
                "only for a single tree; an ensemble averages its trees.",
                parameter="estimate",
                hint="Leave it out.",
            )
        self.model = self.ensemble = ensemble
        self.rows, self.n_jobs = rows, n_jobs
        self.predictor = ensemble.predictor
        self.predictor.check_mentioned(rows)

    @cached_property
    def sums(self) -> Floats:
        """The sums over all trees: rows × classes, or × 1 for values."""
        return self.predictor.sums(self.rows.columns, len(self.rows), n_jobs=self.n_jobs)

    def class_numbers(self) -> Ints:
        """Return the position of the predicted class of each row."""
        if "sums" in vars(self) or len(self.rows) * self.predictor.width <= _BLOCK:
            return self.predictor.best(self.sums, len(self.ensemble))
        return self.predictor.class_numbers(self.rows.columns, len(self.rows), self.n_jobs)

    def values(self) -> Floats:
        """Return the predicted value of each row."""
        return self.predictor.probabilities_of(self.sums, len(self.ensemble))[:, 0]

    def probabilities(self) -> Floats:
        """Return the class probabilities: rows × classes."""
        return self.predictor.probabilities_of(self.sums, len(self.ensemble))

    def likelihoods(self, truth: Ints) -> tuple[Ints, Floats, Floats | None]:
        """Return predicted classes, the probability of each row's true class, and with two classes of the second.

        Block by block; a class that the ensemble does not know has probability 0.
        """
        n, k, trees = len(self.rows), len(self.ensemble.classes), len(self.ensemble)
        predicted, of_truth, second = np.empty(n, np.int64), np.zeros(n), np.empty(n) if k == 2 else None
        for rows, sums in self.predictor.blocks(self.rows.columns, n, self.n_jobs):
            probabilities = self.predictor.probabilities_of(sums, trees)
            predicted[rows] = self.predictor.best(sums, trees)
            known = np.flatnonzero(truth[rows] < k)
            of_truth[rows][known] = probabilities[known, truth[rows][known]]
            if second is not None:
                second[rows] = probabilities[:, 1]
        return predicted, of_truth, second

    def intervals(self, confidence: float) -> Floats:
        """Raise: only a single leaf has an interval."""
        raise ParameterError("intervals are only available for a single tree.")


# -- called by the methods of an ensemble -----------------------------------------------------------------------------


def decision_function(ensemble: Ensemble, data: Any) -> Any:
    """Return the total vote weight of each class; with two, that of the second minus that of the first."""
    check_classification(ensemble, "decision_function")
    if ensemble.method != "adaboost":
        raise DataError(
            f"decision_function is for adaboost, whose trees have different vote weights; in {ensemble.method} all"
            " trees have the same. Use predict_proba."
        )
    rows = ensemble.encode(data)
    sums = ensemble.answers(rows).sums
    if ensemble.predictor.width == 2:
        margin = sums[:, 1] - sums[:, 0]
        return float(margin[0]) if rows.single else margin
    return sums[0] if rows.single else sums


def staged_predict(ensemble: Ensemble, data: Any) -> Iterator[Any]:
    """Yield the predictions of the first tree, the first two, and so on, in one pass over the trees."""
    predictor, rows = ensemble.predictor, ensemble.encode(data)
    for trees, sums in staged_sums(ensemble, rows):
        yield predictor.single_answer(sums, trees) if rows.single else predictor.answers(sums, trees)


def staged_predict_proba(ensemble: Ensemble, data: Any) -> Iterator[Floats]:
    """Yield the probabilities of the first tree, the first two, and so on, in one pass over the trees."""
    check_classification(ensemble, "staged_predict_proba")
    predictor, rows = ensemble.predictor, ensemble.encode(data)
    for trees, sums in staged_sums(ensemble, rows):
        probabilities = predictor.probabilities_of(sums, trees)
        yield probabilities[0] if rows.single else probabilities


def staged_sums(ensemble: Ensemble, rows: EncodedRows) -> Iterator[tuple[int, Floats]]:
    """Yield the number of trees added so far, and their sums: always the same array, updated in place."""
    predictor, sums = ensemble.predictor, np.zeros((len(rows), ensemble.predictor.width))
    predictor.check_mentioned(rows)
    columns = to_core_columns(ensemble.encodings, rows.columns)
    for t in range(len(ensemble)):
        predictor.compiled.add(columns, len(rows), predictor.output, t, t + 1, sums)
        yield t + 1, sums


def baseline_of(ensemble: Ensemble) -> Label | None:
    """Return the constant prediction without any split: the majority class of the training rows, or the mean value.

    If the training did not record the majority class, it is taken from the class shares at the roots, whose rows are
    all rows or a uniform sample. It is unknown (None) for AdaBoost that resamples by weight.
    """
    if ensemble.task == "regression":
        unit = ensemble.predictor.unit
        total = float((root_values(ensemble.members) / unit).sum())
        return total / ensemble.divisor(len(ensemble)) * unit
    info = ensemble.fit_info.ensemble
    if info is not None and info.majority is not None and 0 <= info.majority < len(ensemble.classes):
        return ensemble.classes[info.majority]
    return (
        None
        if info is not None and info.option("resample", False)
        else ensemble.classes[int(np.argmax(root_shares(ensemble)))]
    )


def root_shares(ensemble: Ensemble) -> Floats:
    """Return the class shares at the roots; for AdaBoost at the first root, which has the weights of the rows."""
    m = ensemble.members.first(1) if ensemble.method == "adaboost" else ensemble.members
    tree = np.repeat(np.arange(len(m)), np.diff(m.count_start))
    table = np.zeros((len(m), len(ensemble.classes)))
    np.add.at(table, (tree, m.count_class), m.count_weight)
    shares: Floats = (table / table.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def root_values(m: PackedTrees) -> Floats:
    """Return the value of each root."""
    if m.has_node_stats:
        return m.value[m.start[:-1]].astype(np.float64)
    weight, value = m.weight.astype(np.float64), m.value.astype(np.float64)
    total = np.repeat(np.add.reduceat(weight, m.leaf_start[:-1]), np.diff(m.leaf_start))
    return np.add.reduceat(weight / total * value, m.leaf_start[:-1])


# -- out of bag ---------------------------------------------------------------------------------------------


def masked_means(ensemble: Ensemble, columns: Columns, n_rows: int, mask: npt.NDArray[np.uint8]) -> tuple[Floats, Ints]:
    """Return the mean output of some trees for each row, rows × classes (or × 1), and the number of these trees.

    ``mask`` selects the trees of each row: one bit per row for each tree, trees × ⌈rows/8⌉ bytes, lowest bit first
    (``np.packbits(selected, axis=1, bitorder="little")``). The mean over no trees is NaN.
    """
    predictor = ensemble.predictor
    n_trees = np.zeros(n_rows, np.int64)
    for bits in mask:
        n_trees += np.unpackbits(bits, count=n_rows, bitorder="little")
    output = _core.Output.values if ensemble.task == "regression" else _core.Output.probabilities
    sums = predictor.sums(columns, n_rows, output, mask=np.ascontiguousarray(mask))
    with np.errstate(invalid="ignore"):
        return sums / np.where(n_trees > 0, n_trees, np.nan)[:, None] * predictor.unit, n_trees
