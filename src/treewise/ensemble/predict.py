"""Prediction with an ensemble: walk rows down all trees at once and add up what they predict.

Stands on ``packed_trees.py`` and the core's ``Voter``, which walks one compact program compiled from all members (eight
bytes per node and the answers, beside the members themselves) and adds up their predictions in the order of the trees:

    forest, extra_trees, bagging    the mean of the trees' class probabilities, or of their values; the class of the
                                    largest probability, the first of equals
    adaboost                        the class with the largest vote weight: Σ votes·[the tree predicts it], the first of
                                    equals

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

_BLOCK = 1 << 22  # sums that are held at once where only the best class is asked for


class ForestPredictor:
    """An ensemble made ready to predict: the program of its trees, and how to read rows for it."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble: Ensemble = weakref.proxy(ensemble)  # which holds this: a circle would outlive the interpreter
        self.classes = label_array(ensemble.classes) if ensemble.classes else np.empty(0)
        self.unit = _unit_of(ensemble)
        self.voter = voter_of(ensemble, self.unit)
        self.said = _said_by(ensemble)
        self.width = max(1, len(ensemble.classes))
        self.reader = RowReader(ensemble, list(self.voter.used_columns))
        self.codes = [
            {None: -1, **{level: code for code, level in enumerate(ensemble.encodings[i].levels)}}
            if ensemble.encodings[i].is_categorical
            else None
            for i in self.reader.used
        ]

    # -- a single row of plain cells ------------------------------------------------------------------------------

    def leaf(self, row: Any) -> None:
        """Leave it to the table's way to find the leaves."""

    def answer(self, row: Any) -> Any:
        """Return the class or value of one row; None if the table's way must read it."""
        cells = self.row_of_array(row)
        sums = self.row_sums(row if cells is None else cells)
        if sums is None:
            return None
        if cells is not None:
            return self.answers(np.array([sums]), len(self.ensemble))
        return self.single_answer(np.array([sums]), len(self.ensemble))

    def probabilities(self, row: Any) -> Floats | None:
        """Return the class probabilities of one row; None if the table's way must read it."""
        cells = self.row_of_array(row)
        sums = self.row_sums(row if cells is None else cells)
        if sums is None:
            return None
        found = self.probabilities_of(np.array([sums]), len(self.ensemble))
        return found[0] if cells is None else found

    def row_sums(self, data: Any) -> list[float] | None:
        """Return the sums for one row of plain cells; None if the table's way must read it."""
        reader = self.reader
        values = reader.read(data) if reader.able else None
        if values is None:
            return None
        if reader.only_numbers:
            return None if NOT_GIVEN in values else self.voter.predict_row(values, (), self.said)
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
        return self.voter.predict_row(numbers, integers, self.said)

    def row_of_array(self, data: Any) -> Any:
        """Take an array of one row of floats for the list that it is; None for everything else."""
        one = type(data) is np.ndarray and data.shape == (1, self.reader.width) and data.dtype.kind == "f"
        return data[0].tolist() if one and data.dtype.itemsize in (4, 8) and self.reader.only_numbers else None

    # -- tables ---------------------------------------------------------------------------------------------------

    def leaves(self, rows: EncodedRows) -> npt.NDArray[np.int32]:
        """Return the number of the node each row ends at in each tree: rows × trees."""
        self.check_mentioned(rows)
        leaves: npt.NDArray[np.int32] = self.voter.leaves(
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
            place = self.voter.first_test_on(to_core_columns(ensemble.encodings, cells), absent)
            if place is not None:
                tree, node = place
                tested = int(ensemble[tree].arrays.column[node])
                name, others = ensemble.columns[tested], [ensemble.columns[c] for c in absent if c != tested]
                raise ColumnError(
                    f'the row has no column "{safe(name)}", which node {node} of tree {tree} asks for.'
                    f"{did_you_mean(name, map(str, row))}{also_missing(others)}",
                    hint="(None says that it is missing.)",
                )

    def sums(
        self, columns: Columns, n_rows: int, said: _core.Output | None = None, n_jobs: int = 0, **more: Any
    ) -> Floats:
        """Add up what the trees say of each row; values in the ensemble's ``unit``."""
        found = np.zeros((n_rows, self.width))
        wrapped = to_core_columns(self.ensemble.encodings, columns)
        self.voter.add(wrapped, n_rows, said or self.said, 0, len(self.ensemble), found, n_jobs=n_jobs, **more)
        return found

    def blocks(self, columns: Columns, n_rows: int, n_jobs: int = 0) -> Iterator[tuple[slice, Floats]]:
        """Go through the sums of some rows at a time, so that of all rows × classes only a part is ever there."""
        step = max(1, _BLOCK // self.width)
        for first in range(0, n_rows, step):
            rows = slice(first, min(n_rows, first + step))
            some = [None if values is None else values[rows] for values in columns]
            yield rows, self.sums(some, rows.stop - first, n_jobs=n_jobs)

    def places(
        self, columns: Columns, n_rows: int, n_jobs: int = 0, best: Callable[[Floats, int], Ints] | None = None
    ) -> Ints:
        """Return the number of the class that the trees agree on for each row; ``best`` is who judges by the sums."""
        found = np.empty(n_rows, np.int64)
        for rows, sums in self.blocks(columns, n_rows, n_jobs):
            found[rows] = (best or self.best)(sums, len(self.ensemble))
        return found

    # -- from sums to answers -------------------------------------------------------------------------------------

    def probabilities_of(self, sums: Floats, trees: int) -> Floats:
        """Return class shares, or values: the mean over so many trees; of AdaBoost the share of the say."""
        if self.ensemble.method != "adaboost":
            return sums / trees * self.unit
        total = sums.sum(axis=1, keepdims=True)
        return sums / np.where(total > 0, total, 1.0)

    def best(self, sums: Floats, trees: int) -> Ints:
        """Return the class number that the trees agree on for each row."""
        chances = sums if self.ensemble.method == "adaboost" else self.probabilities_of(sums, trees)
        return np.asarray(np.argmax(chances, axis=1), np.int64)

    def answers(self, sums: Floats, trees: int) -> Array:
        """Return the predicted class or value of each row."""
        if self.ensemble.task == "regression":
            return self.probabilities_of(sums, trees)[:, 0]
        found: Array = self.classes[self.best(sums, trees)]
        return found

    def single_answer(self, sums: Floats, trees: int) -> Any:
        """Return the predicted class or value of a single row."""
        if self.ensemble.task == "regression":
            return float(sums[0, 0]) / trees * self.unit
        return self.ensemble.classes[int(self.best(sums, trees)[0])]


def _said_by(ensemble: Ensemble) -> _core.Output:
    """Return what the trees say that is added up."""
    if ensemble.task == "regression":
        return _core.Output.values
    return _core.Output.votes if ensemble.method == "adaboost" else _core.Output.probabilities


def _unit_of(ensemble: Ensemble) -> float:
    """Return the unit in which values are added up: 1, or a power of two where their sum might be too large."""
    if ensemble.task == "classification":
        return 1.0
    trees, largest = len(ensemble), float(np.fmax.reduce(np.abs(ensemble.members.value), initial=0.0))
    return 2.0 ** trees.bit_length() if math.isinf(largest * trees) else 1.0


def voter_of(ensemble: Ensemble, unit: float = 1.0) -> _core.CompiledForest:
    """Make the program of an ensemble's trees, whose values are in the given unit."""
    members, encodings = ensemble.members, ensemble.encodings
    nodes, labels, said = derived_answers(ensemble)
    held = vars(members)
    if unit != 1.0:
        held, said = {**held, "value": members.value / unit}, said / unit
    return _core.CompiledForest(
        held,
        [len(e.levels) if e.is_categorical else -1 for e in encodings],
        [e.kind in ("integer", "datetime") for e in encodings],
        np.ascontiguousarray(ensemble.votes, np.float64),
        len(ensemble.classes),
        nodes,
        labels,
        said.ravel(),
    )


def derived_answers(ensemble: Ensemble) -> tuple[Ints, npt.NDArray[np.int32], Floats]:
    """Return the nodes whose answers are not in the packed arrays, their labels, and their shares or values.

    They are the leaves without rows, and the inner nodes at which a row may stay. Only members that have some are
    opened.
    """
    members, width = ensemble.members, max(1, len(ensemble.classes))
    inner = members.kind != LEAF
    wanted = np.zeros(len(members.kind), bool)
    stays = members.missing.astype(np.int64) < 0
    stays |= (members.kind[inner] == MULTIWAY) & (members.filled("other") < 0)
    wanted[inner] = stays
    if ensemble.classes:
        wanted[~inner] = members.n_counts == 0
    nodes = np.flatnonzero(wanted)
    labels, said = np.zeros(len(nodes), np.int32), np.zeros((len(nodes), width))
    owner = np.searchsorted(members.start, nodes, side="right") - 1
    for t in np.unique(owner).tolist():
        here = np.flatnonzero(owner == t)
        tree = ensemble[t]
        speakers = answering_nodes(tree, nodes[here] - members.start[t])
        if ensemble.classes:
            labels[here], said[here] = (
                tree.arrays.label[speakers],
                class_probabilities(tree, speakers, LeafProbabilities()),
            )
        else:
            said[here, 0] = tree.arrays.value[speakers]
    return nodes, labels, said


class EnsembleAnswers(Answers):
    """Answers of an ensemble: sums over its trees, taken once.

    The predicted classes of a large table are found block by block, without keeping the sums of all rows × classes,
    unless the probabilities have been asked for before.
    """

    def __init__(self, ensemble: Ensemble, rows: EncodedRows, estimate: Any = None, n_jobs: int = 0) -> None:
        if estimate is not None:
            raise ParameterError(
                "is for a single tree; an ensemble averages its trees.", parameter="estimate", hint="Leave it out."
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
        return self.predictor.places(self.rows.columns, len(self.rows), self.n_jobs)

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
        raise ParameterError("intervals are for a single tree, whose leaf has rows of its own.")


# -- called by the methods of an ensemble -----------------------------------------------------------------------------


def decision_function(ensemble: Ensemble, data: Any) -> Any:
    """Return the say for each class; with two classes, that for the second less that for the first."""
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
    """Yield what the first tree predicts, the first two, and so on: one pass over the trees."""
    predictor, rows = ensemble.predictor, ensemble.encode(data)
    for trees, sums in staged_sums(ensemble, rows):
        yield predictor.single_answer(sums, trees) if rows.single else predictor.answers(sums, trees)


def staged_predict_proba(ensemble: Ensemble, data: Any) -> Iterator[Floats]:
    """Yield the probabilities by the first tree, the first two, and so on: one pass over the trees."""
    check_classification(ensemble, "staged_predict_proba")
    predictor, rows = ensemble.predictor, ensemble.encode(data)
    for trees, sums in staged_sums(ensemble, rows):
        found = predictor.probabilities_of(sums, trees)
        yield found[0] if rows.single else found


def staged_sums(ensemble: Ensemble, rows: EncodedRows) -> Iterator[tuple[int, Floats]]:
    """Yield the number of trees added so far, and their sums: always the same array, updated in place."""
    predictor, sums = ensemble.predictor, np.zeros((len(rows), ensemble.predictor.width))
    predictor.check_mentioned(rows)
    columns = to_core_columns(ensemble.encodings, rows.columns)
    for t in range(len(ensemble)):
        predictor.voter.add(columns, len(rows), predictor.said, t, t + 1, sums)
        yield t + 1, sums


def baseline_of(ensemble: Ensemble) -> Label | None:
    """Return the constant prediction without any split: the majority class of the training rows, or the mean value.

    Where the training did not record the majority, it is taken from the class shares at the roots, whose rows are all
    there or drawn evenly. AdaBoost that resamples by weight tells nothing: None.
    """
    if ensemble.task == "regression":
        unit = ensemble.predictor.unit
        return float((root_values(ensemble.members) / unit).mean()) * unit
    info = ensemble.fit_info.ensemble
    if info is not None and info.majority is not None and 0 <= info.majority < len(ensemble.classes):
        return ensemble.classes[info.majority]
    return (
        None
        if info is not None and info.option("resample", False)
        else ensemble.classes[int(np.argmax(root_shares(ensemble)))]
    )


def root_shares(ensemble: Ensemble) -> Floats:
    """Return the class shares at the roots; for AdaBoost at the first, which has the rows' own weights."""
    m = ensemble.members.first(1) if ensemble.method == "adaboost" else ensemble.members
    tree = np.repeat(np.arange(len(m)), np.diff(m.count_start))
    table = np.zeros((len(m), len(ensemble.classes)))
    np.add.at(table, (tree, m.count_class), m.count_weight)
    shares: Floats = (table / table.sum(axis=1, keepdims=True)).mean(axis=0)
    return shares


def root_values(m: PackedTrees) -> Floats:
    """Return the value of each root."""
    if m.by_node:
        return m.value[m.start[:-1]].astype(np.float64)
    weight, value = m.weight.astype(np.float64), m.value.astype(np.float64)
    total = np.repeat(np.add.reduceat(weight, m.leaf_start[:-1]), np.diff(m.leaf_start))
    return np.add.reduceat(weight / total * value, m.leaf_start[:-1])


# -- rows that trees have not seen --------------------------------------------------------------------------


def out_of_bag(
    ensemble: Ensemble, columns: Columns, n_rows: int, counted: npt.NDArray[np.uint8]
) -> tuple[Floats, Ints]:
    """Return for each row the mean of what some trees say, rows × classes (or × 1), and how many trees they are.

    ``counted`` has a bit a row for each tree, trees × ⌈rows/8⌉ bytes, the lowest bit first
    (``np.packbits(unseen, axis=1, bitorder="little")``): whether the tree counts for the row. Where none does, NaN.
    """
    predictor = ensemble.predictor
    many = np.zeros(n_rows, np.int64)
    for bits in counted:
        many += np.unpackbits(bits, count=n_rows, bitorder="little")
    said = _core.Output.values if ensemble.task == "regression" else _core.Output.probabilities
    sums = predictor.sums(columns, n_rows, said, mask=np.ascontiguousarray(counted))
    with np.errstate(invalid="ignore"):
        return sums / np.where(many > 0, many, np.nan)[:, None] * predictor.unit, many
