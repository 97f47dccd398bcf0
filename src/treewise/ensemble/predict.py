"""Rows → what every tree says → one answer: prediction with many trees.

Stands on ``members.py`` and the core's ``Voter``, which walks a compact program made of all members once (eight bytes a
node and the answers, beside the members themselves) and adds up what they say, in the order of the trees:

    forest, extra_trees, bagging    the mean of the trees' class shares, or of their values; the class of the largest
                                    share, the first of equals
    adaboost                        the class with the most say: Σ votes·[the tree says it], the first of equals

What a tree says of a row is what it says alone, to the last bit, and sums are taken row by row: so an answer depends
neither on the other rows nor on the number of threads. A table is read as for a single tree (``predict/predict.py``); a single
row has a shorter way, which leaves to the table's way whatever is unusual (``predict/single_row.py``).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.text import safe
from treewise.data.encoding import INT64_MIN
from treewise.errors import ColumnError, DataError, did_you_mean
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities
from treewise.predict.predict import (
    also_missing,
    answering_nodes,
    encode_used_columns,
    label_array,
    read_rows,
    series_as_dict,
    to_core_columns,
)
from treewise.predict.single_row import NOT_GIVEN, RowReader
from treewise.tree.arrays import LEAF, MULTIWAY

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.ensemble.model import Ensemble

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Columns = list[Array | None]

BLOCK = 1 << 22  # sums that are held at once where only the best class is asked for


class ForestPredictor:
    """An ensemble made ready to predict: the program of its trees, and how to read rows for it."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble: Ensemble = weakref.proxy(ensemble)  # which holds this: a circle would outlive the interpreter
        self.classes = label_array(ensemble.classes) if ensemble.classes else np.empty(0)
        self.unit = unit_of(ensemble)
        self.voter = voter_of(ensemble, self.unit)
        self.said = said_by(ensemble)
        self.width = max(1, len(ensemble.classes))
        self.reader = RowReader(ensemble, list(self.voter.used_columns))
        self.codes = [
            {None: -1, **{level: code for code, level in enumerate(ensemble.encodings[i].levels)}}
            if ensemble.encodings[i].is_categorical
            else None
            for i in self.reader.used
        ]

    # -- a single row, the short way ------------------------------------------------------------------------------

    def row_sums(self, data: Any) -> list[float] | None:
        """Return the sums for one row of plain cells; None if the table's way must say."""
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

    def short_row(self, data: Any) -> Any:
        """Take an array of one row of floats for the list that it is; None for everything else."""
        one = type(data) is np.ndarray and data.shape == (1, self.reader.width) and data.dtype.kind == "f"
        return data[0].tolist() if one and data.dtype.itemsize in (4, 8) and self.reader.only_numbers else None

    # -- tables ---------------------------------------------------------------------------------------------------

    def read(self, data: Any) -> tuple[Columns, int, bool]:
        """Read what is to be predicted; return its encoded columns, the number of rows, and whether it is a row."""
        data = series_as_dict(self.ensemble, data)
        table, single = read_rows(self.ensemble, data)
        columns = self.encoded(table)
        self.refuse_unsaid(data, columns, len(table))
        return columns, len(table), single

    def encoded(self, table: Table) -> Columns:
        """Encode the columns that some tree asks about; the others stay None."""
        return encode_used_columns(self.ensemble, table, set(self.reader.used), self.who_asks)

    def who_asks(self, column: int) -> str:
        """Say which node first asks for a column."""
        members = self.ensemble.members
        node = np.flatnonzero(members.kind != LEAF)[np.flatnonzero(members.column == column)[0]]
        tree = int(np.searchsorted(members.start, node, side="right")) - 1
        return f"node {node - members.start[tree]} of tree {tree}"

    def refuse_unsaid(self, data: Any, columns: Columns, n_rows: int) -> None:
        """Raise when some tree's path asks a single row for a column that it does not mention."""
        if not isinstance(data, Mapping) or n_rows != 1:
            return
        ensemble = self.ensemble
        unsaid = [i for i in self.reader.used if ensemble.columns[i] not in data]
        place = self.voter.first_test_on(to_core_columns(ensemble.encodings, columns), unsaid) if unsaid else None
        if place is not None:
            tree, node = place
            asked = int(ensemble[tree].arrays.column[node])
            name, others = ensemble.columns[asked], [ensemble.columns[i] for i in unsaid if i != asked]
            raise ColumnError(
                f'the row has no column "{safe(name)}", which node {node} of tree {tree} asks for.'
                f"{did_you_mean(name, map(str, data))}{also_missing(others)} (None says that it is missing.)"
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
        step = max(1, BLOCK // self.width)
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

    def probabilities(self, sums: Floats, trees: int) -> Floats:
        """Return class shares, or values: the mean over so many trees; of AdaBoost the share of the say."""
        if self.ensemble.method != "adaboost":
            return sums / trees * self.unit
        total = sums.sum(axis=1, keepdims=True)
        return sums / np.where(total > 0, total, 1.0)

    def best(self, sums: Floats, trees: int) -> Ints:
        """Return the class number that the trees agree on for each row."""
        chances = sums if self.ensemble.method == "adaboost" else self.probabilities(sums, trees)
        return np.asarray(np.argmax(chances, axis=1), np.int64)

    def answers(self, sums: Floats, trees: int) -> Array:
        """Return the predicted class or value of each row."""
        if self.ensemble.task == "regression":
            return self.probabilities(sums, trees)[:, 0]
        found: Array = self.classes[self.best(sums, trees)]
        return found

    def answer(self, sums: Floats, trees: int) -> Any:
        """Return the predicted class or value of a single row."""
        if self.ensemble.task == "regression":
            return float(sums[0, 0]) / trees * self.unit
        return self.ensemble.classes[int(self.best(sums, trees)[0])]


def said_by(ensemble: Ensemble) -> _core.Output:
    """Return what the trees say that is added up."""
    if ensemble.task == "regression":
        return _core.Output.values
    return _core.Output.votes if ensemble.method == "adaboost" else _core.Output.probabilities


def unit_of(ensemble: Ensemble) -> float:
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


# -- what the doors of an ensemble open ---------------------------------------------------------------------------


def predict(ensemble: Ensemble, data: Any) -> Any:
    """Return the class or value the trees agree on for each row; for a single row, that class or value."""
    voting, trees = ensemble.voting, len(ensemble)
    row = voting.short_row(data)
    if (short := voting.row_sums(data if row is None else row)) is not None:
        sums = np.array([short])
        return voting.answer(sums, trees) if row is None else voting.answers(sums, trees)
    columns, n_rows, single = voting.read(data)
    if single:
        return voting.answer(voting.sums(columns, 1), trees)
    if ensemble.task == "regression":
        return voting.answers(voting.sums(columns, n_rows), trees)
    return voting.classes[voting.places(columns, n_rows)]


def predict_proba(ensemble: Ensemble, data: Any) -> Floats:
    """Return the probability of each class, one row a row of the table; a single row gives one."""
    refuse_numbers(ensemble, "predict_proba")
    voting, trees = ensemble.voting, len(ensemble)
    row = voting.short_row(data)
    if (short := voting.row_sums(data if row is None else row)) is not None:
        found = voting.probabilities(np.array([short]), trees)
        return found[0] if row is None else found
    columns, n_rows, single = voting.read(data)
    found = voting.probabilities(voting.sums(columns, n_rows), trees)
    return found[0] if single else found


def decision_function(ensemble: Ensemble, data: Any) -> Any:
    """Return the say for each class; with two classes, that for the second less that for the first."""
    refuse_numbers(ensemble, "decision_function")
    if ensemble.method != "adaboost":
        raise DataError(
            f"decision_function is for adaboost, whose trees have more or less say; in {ensemble.method} each has the"
            " same. Use predict_proba."
        )
    voting = ensemble.voting
    columns, n_rows, single = voting.read(data)
    found = voting.sums(columns, n_rows)
    if voting.width == 2:
        margin = found[:, 1] - found[:, 0]
        return float(margin[0]) if single else margin
    return found[0] if single else found


def apply(ensemble: Ensemble, data: Any) -> Array:
    """Return the number of the node each row ends at in each tree: rows × trees; of a single row one a tree."""
    columns, n_rows, single = ensemble.voting.read(data)
    ends: Array = ensemble.voting.voter.leaves(to_core_columns(ensemble.encodings, columns), n_rows)
    return ends[0] if single else ends


def staged_predict(ensemble: Ensemble, data: Any) -> Iterator[Any]:
    """Yield what the first tree predicts, the first two, and so on: one pass over the trees."""
    voting = ensemble.voting
    columns, n_rows, single = voting.read(data)
    for trees, sums in staged_sums(ensemble, columns, n_rows):
        yield voting.answer(sums, trees) if single else voting.answers(sums, trees)


def staged_predict_proba(ensemble: Ensemble, data: Any) -> Iterator[Floats]:
    """Yield the probabilities by the first tree, the first two, and so on: one pass over the trees."""
    refuse_numbers(ensemble, "staged_predict_proba")
    voting = ensemble.voting
    columns, n_rows, single = voting.read(data)
    for trees, sums in staged_sums(ensemble, columns, n_rows):
        found = voting.probabilities(sums, trees)
        yield found[0] if single else found


def staged_sums(ensemble: Ensemble, columns: Columns, n_rows: int) -> Iterator[tuple[int, Floats]]:
    """Yield how many trees have spoken, and the sums of what they said: the same array, which goes on growing."""
    voting, sums = ensemble.voting, np.zeros((n_rows, ensemble.voting.width))
    wrapped = to_core_columns(ensemble.encodings, columns)
    for t in range(len(ensemble)):
        voting.voter.add(wrapped, n_rows, voting.said, t, t + 1, sums)
        yield t + 1, sums


def refuse_numbers(ensemble: Ensemble, what: str) -> None:
    """Raise for what only classes have."""
    if ensemble.task == "regression":
        raise DataError(f"{what} is for classification; these trees predict numbers. Use predict.")


# -- what they say of rows they have not seen --------------------------------------------------------------------------


def out_of_bag(
    ensemble: Ensemble, columns: Columns, n_rows: int, counted: npt.NDArray[np.uint8]
) -> tuple[Floats, Ints]:
    """Return for each row the mean of what some trees say, rows × classes (or × 1), and how many trees they are.

    ``counted`` has a bit a row for each tree, trees × ⌈rows/8⌉ bytes, the lowest bit first
    (``np.packbits(unseen, axis=1, bitorder="little")``): whether the tree counts for the row. Where none does, NaN.
    """
    voting = ensemble.voting
    many = np.zeros(n_rows, np.int64)
    for bits in counted:
        many += np.unpackbits(bits, count=n_rows, bitorder="little")
    said = _core.Output.values if ensemble.task == "regression" else _core.Output.probabilities
    sums = voting.sums(columns, n_rows, said, mask=np.ascontiguousarray(counted))
    with np.errstate(invalid="ignore"):
        return sums / np.where(many > 0, many, np.nan)[:, None] * voting.unit, many
