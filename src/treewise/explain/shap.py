"""What each column adds to a prediction: Shapley values, exact, for any tree (TreeSHAP, path-dependent).

Stands among the outlets, on ``predict/predict.py`` and the core's ``tree/shap.cpp``. A column that is not known leaves a row
undecided: it then takes all branches of a test, in proportion to the training weight that took them. The value of a
column is how much knowing it moves the answer, averaged over all orders in which the columns can become known; the
values of a row add up to its prediction less the mean answer, ``base``.

``ends_of`` and ``shapley_of`` are the readable twin of the core: every end of the tree with what its path lets through,
and one integral a column. A level with no branch keeps its row at the node, which is then an end too. Branches of a
node that no training row came to count alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import plural, safe
from treewise.ensemble.model import Ensemble
from treewise.errors import Call, ColumnError, DataError, ParameterError, did_you_mean
from treewise.explain.row_explanation.row_explanation import join_or_count
from treewise.predict.leaf_probabilities import LeafProbabilities, class_probabilities, node_values
from treewise.predict.predict import also_missing, answering_nodes, series_as_dict, to_core_columns
from treewise.tree.arrays import LEAF, MULTIWAY, Label, Target
from treewise.tree.model import Model
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]

Progress = Callable[[float], None]

DEEPEST = 1000  # tests
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class ShapValues(Displayable):
    """The values of every column for every row: ``values`` is (rows, columns, classes); for numbers (rows, columns).

    A single row has no first axis. ``base`` is the mean answer, one number a class; ``base`` and a row's values add up
    to its prediction. ``to_frame()`` has one line a row, class and column.

    >>> import treewise as tw
    >>> found = tw.grow("admissions", preset="id3").shap("admissions")
    >>> found.values.shape, found.base.tolist(), found.classes
    ((12, 4, 2), [0.5, 0.5], ('N', 'P'))
    >>> print(found)
    What each column adds to P(Class), 12 rows: the mean of |value|
    column            N        P
    GPA         0.34498  0.34498
    Published   0.14799  0.14799
    University  0.10579  0.10579
    Recommendation adds nothing.
    """

    values: Floats
    base: Floats | float
    columns: tuple[str, ...]
    classes: tuple[Label, ...]  # none for numbers
    target: str

    @classmethod
    def of(cls, found: Floats, base: Floats, single: bool, columns: tuple[str, ...], target: Target) -> ShapValues:
        """Make them of (rows, columns, outputs) numbers, of numbers one output, and a base for each output."""
        values = found[0] if single else found
        if target.task == "regression":
            return cls(values[..., 0], float(base[0]), columns, (), target.name)
        return cls(values, base, columns, target.classes, target.name)

    @property
    def single(self) -> bool:
        """Whether they are those of one row, which was not in a table."""
        return self.values.ndim == (2 if self.classes else 1)

    def result_table(self) -> ResultTable:
        """Return every value, one line a row, class and column."""
        by_class = (ColumnSpec("class", "label"),) if self.classes else ()
        number = () if self.single else (ColumnSpec("row", "count"),)
        return ResultTable(
            "", (*number, *by_class, ColumnSpec("column"), ColumnSpec("shap", "number")), list(self._lines())
        )

    def _lines(self) -> Iterator[tuple[Any, ...]]:
        cube = self.values[None] if self.single else self.values
        cube = cube if self.classes else cube[:, :, None]
        for row, table in enumerate(cube.tolist(), start=1):
            for c in range(cube.shape[2]):
                for name, of_column in zip(self.columns, table, strict=True):
                    number = () if self.single else (row,)
                    label = (self.classes[c],) if self.classes else ()
                    yield (*number, *label, name, of_column[c])

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return what readers are shown: a row's values, or how much columns add to the rows of a table on average."""
        base = np.atleast_1d(self.base)
        values = self.values if self.classes else self.values[..., None]
        what = safe(self.target) if not self.classes else f"P({safe(self.target)})"
        if self.single:
            title = f"What each column adds to {what}, beginning with the mean over all rows"
        else:
            title = f"What each column adds to {what}, {plural(len(values), 'row')}: the mean of |value|"
            values = np.abs(values).mean(axis=0) if len(values) else np.zeros(values.shape[1:])
        heads = [ColumnSpec(str(label), "number") for label in self.classes] or [ColumnSpec("value", "number")]
        order = np.argsort(-np.abs(values).max(axis=1), kind="stable").tolist()
        rows = [(self.columns[i], *values[i].tolist()) for i in order if values[i].any()]
        idle = [safe(name) for name, of_column in zip(self.columns, values, strict=True) if not of_column.any()]
        below = (
            (f"{join_or_count(idle, 'other column')} {'adds' if len(idle) == 1 else 'add'} nothing.",) if idle else ()
        )
        if self.single:
            total = base + values.sum(axis=0)
            total[np.abs(total) < ROUNDING] = 0.0  # what is left over of sums that are zero on paper
            rows = [("(all rows)", *base.tolist()), *rows, ("(this row)", *total.tolist())]
        return (ResultTable(title, (ColumnSpec("column"), *heads), rows, below=below, row_name="column"),)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: base, columns, classes, and the values as nested lists."""
        classes = {"classes": list(self.classes)} if self.classes else {}
        base = self.base if isinstance(self.base, float) else self.base.tolist()
        return {"target": self.target, "base": base, "columns": list(self.columns), **classes} | {
            "values": self.values.tolist()
        }


def shap(model: Model, data: Any, estimate: Any = None, progress: Progress | None = None) -> ShapValues:
    """Return the Shapley values of the columns for each row of a table, or for a single row (``Model.shap``).

    The Shapley values of a mean are the mean of Shapley values, and AdaBoost's vote share is the mean of its trees'
    decisions by vote weight; so the values of an ensemble are exact too.
    """
    if estimate is not None and not isinstance(model, Tree):
        raise ParameterError("is for a single tree.", parameter="estimate", hint="Leave it out.")
    way = LeafProbabilities.of(estimate)
    data = series_as_dict(model, data)
    rows = model.encode(data)
    if rows.single and isinstance(data, Mapping):
        check_all_mentioned(model, data)
    columns = to_core_columns(model.encodings, rows.columns)
    outputs, trees = len(model.classes) or 1, len(model.trees)
    values, base = np.zeros((len(rows), len(model.columns), outputs)), np.zeros(outputs)
    unit = model.predictor.unit if isinstance(model, Ensemble) else 1.0
    decisions_only = isinstance(model, Ensemble) and model.method == "adaboost"
    for t, weight in enumerate(model.votes.tolist()):
        tree = model.trees[t]
        way.check(tree)
        refuse_unfit(tree)
        table = ShapTable.of(tree, way, decisions_only)
        values += weight / unit * table.shapley(tree, columns, len(rows))
        base += weight / unit * table.base(tree)
        if progress is not None:
            progress((t + 1) / trees)
    total = float(model.votes.sum())
    return ShapValues.of(values / total * unit, base / total * unit, rows.single, model.columns, model.target)


def refuse_unfit(tree: Tree) -> None:
    """Refuse a tree that is too deep, or that knows no training rows to spread a row by."""
    if tree.depth > DEEPEST:
        raise DataError(
            f"the tree is {tree.depth:,} tests deep, and Shapley values are for {DEEPEST:,} at most.",
            hint=Call(f"tree.prune(max_depth={DEEPEST})") + " makes it fit.",
        )
    if not tree.arrays.weight[0] > 0:
        raise DataError(
            "the tree knows no rows, and Shapley values spread a row by how many took each branch. "
            + Call("tree.refit(data)")
            + " counts them."
        )


def check_all_mentioned(model: Model, row: Mapping[str, Any]) -> None:
    """Raise for a single row that omits a column that the model tests, on whatever path."""
    absent = [i for i in model.used_columns if model.columns[i] not in row]
    if absent:
        name = model.columns[absent[0]]
        where = model.where_used(absent[0]) if isinstance(model, Tree) else "a tree"
        raise ColumnError(
            f'the row has no column "{safe(name)}", which {where} asks for.{did_you_mean(name, map(str, row))}'
            f"{also_missing([model.columns[i] for i in absent[1:]])} (None says that it is missing. Shapley values take"
            " all paths into account, not only the row's own.)"
        )


@dataclass(frozen=True, eq=False)
class ShapTable:
    """How a row that says nothing spreads over the branches of each node, and what the ends answer."""

    share: Floats  # of each node among its siblings; 1 at the root
    stay: Floats  # of the rows that stay at a node; -1 where none can
    speaker: npt.NDArray[np.int64]  # the node that answers for them
    said: Floats  # what each node answers: a column for each class, or one for the value

    @classmethod
    def of(cls, tree: Tree, way: LeafProbabilities, decisions_only: bool = False) -> ShapTable:
        """Take the shares from the training weights.

        With ``decisions_only`` a node answers with the class it predicts, as AdaBoost's votes do, not with its
        probabilities.
        """
        a, n = tree.arrays, len(tree)
        below = np.bincount(a.parent[1:], weights=a.weight[1:], minlength=n)
        can_stay = (a.kind == MULTIWAY) & (a.other < 0)
        staying = np.where(can_stay, np.maximum(a.weight - below, 0.0), 0.0)
        total = below + staying
        branches = np.bincount(a.parent[1:], minlength=n)
        empty = total <= 0  # nobody came: branches count alike
        share = np.ones(n)
        up = a.parent[1:]
        share[1:] = np.where(
            empty[up], 1.0 / np.maximum(branches[up], 1), a.weight[1:] / np.where(empty, 1.0, total)[up]
        )
        stay = np.where(can_stay, staying / np.where(empty, 1.0, total), -1.0)
        everyone = np.arange(n)
        if tree.task == "regression":
            said = node_values(tree, everyone, way)[:, None]
            ends = (a.kind == LEAF) | can_stay
            if np.isnan(said[answering_nodes(tree, np.flatnonzero(ends))]).any():
                raise DataError(
                    "a node of the tree predicts nothing. " + Call("tree.refit(data)") + " finds what it should."
                )
            said = np.where(np.isnan(said), 0.0, said)  # of nodes at which no row ends
        elif decisions_only:
            said = np.zeros((n, len(tree.classes)))
            known = a.label >= 0
            said[known, a.label[known]] = 1.0
        else:
            said = class_probabilities(tree, everyone, way)
        return cls(share, stay, answering_nodes(tree, everyone), np.ascontiguousarray(said))

    def shapley(self, tree: Tree, columns: Sequence[_core.Column], n_rows: int) -> Floats:
        """Return the values of all rows: (rows, columns, outputs)."""
        outputs = self.said.shape[1]
        how = (self.share, self.stay, self.speaker, self.said.ravel(), outputs)
        found = _core.shapley(tree.arrays.for_core, columns, n_rows, *how)
        return found.reshape(n_rows, len(tree.columns), outputs)

    def base(self, tree: Tree) -> Floats:
        """Return the answer for a row of which nothing is known: the mean over the ends."""
        a, depths = tree.arrays, tree.depths
        reach = self.share.copy()
        order = np.argsort(depths, kind="stable")
        for level in np.split(order, np.flatnonzero(np.diff(depths[order])) + 1)[1:]:
            reach[level] *= reach[a.parent[level]]
        leaves, stays = np.flatnonzero(a.kind == LEAF), np.flatnonzero(self.stay > 0)
        weight = np.concatenate([reach[leaves], reach[stays] * self.stay[stays]])
        said = self.said[np.concatenate([leaves, self.speaker[stays]])]
        return np.array([math.fsum((weight * column).tolist()) for column in said.T])


# -- the readable twin ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeafPath:
    """An end of the tree as one row sees it: by column, whether it passes all tests, and which share of rows does."""

    columns: Mapping[int, tuple[bool, float]]
    speaker: int


def ends_of(tree: Tree, spread: ShapTable, row: Sequence[Any]) -> Iterator[LeafPath]:
    """Go through the ends of a tree with what each column on the way lets through; ``row`` holds decoded cells."""
    waiting: list[tuple[int, dict[int, tuple[bool, float]]]] = [(0, {})]
    while waiting:
        node, columns = waiting.pop()
        split = tree.split_at(node)
        if split is None:
            yield LeafPath(columns, node)
            continue
        column = int(tree.arrays.column[node])
        takes = split.branch(row[column], tree.encodings[column])
        passes, share = columns.get(column, (True, 1.0))
        for branch, child in enumerate(tree.children(node)):
            waiting.append((child, {**columns, column: (passes and takes == branch, share * spread.share[child])}))
        if spread.stay[node] >= 0:
            met = {**columns, column: (passes and takes is None, share * spread.stay[node])}
            yield LeafPath(met, int(spread.speaker[node]))


def shapley_of(tree: Tree, spread: ShapTable, row: Sequence[Any]) -> Floats:
    """Return the Shapley values of one row: (columns, outputs), by one integral for each end and column on its way."""
    found = np.zeros((len(tree.columns), spread.said.shape[1]))
    for end in ends_of(tree, spread, row):
        x, weight = np.polynomial.legendre.leggauss(max(1, (len(end.columns) + 1) // 2))
        t = (x + 1) / 2
        lets_through = {column: r * (1 - t) + passes * t for column, (passes, r) in end.columns.items()}
        for column, (passes, r) in end.columns.items():
            others = math.prod((f for other, f in lets_through.items() if other != column), start=np.ones(len(t)))
            found[column] += (passes - r) * float(weight @ others) / 2 * spread.said[end.speaker]
    return found
