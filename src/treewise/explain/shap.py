"""Shapley values: the exact contribution of each column to a prediction, for any tree (path-dependent TreeSHAP).

Uses ``predict/predict.py`` and the core's ``tree/shap.cpp``. If a column is unknown, a row takes all branches of a
split on it, in proportion to their training weight. The value of a column is how much knowing it changes the output,
averaged over all orders in which columns can become known; the values of a row add up to its prediction minus the mean
output, ``base``.

``_terminal_paths`` and ``shapley_reference`` are the readable specification of the core: every terminal node with the
shares that its path lets through, and one integral per column. A level without a branch keeps its row at the node,
which is then terminal too. Branches of a node that no training row reached have equal shares.
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

_MAX_DEPTH = 1000
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class ShapValues(Displayable):
    """The values of every column for every row: ``values`` is (rows, columns, classes); for numbers (rows, columns).

    A single row has no first axis. ``base`` is the mean output, one number per class; ``base`` and the values of a row
    add up to its prediction. ``to_frame()`` has one line per row, class and column.

    >>> import treewise as tw
    >>> shapley = tw.grow("admissions", preset="id3").shap("admissions")
    >>> shapley.values.shape, shapley.base.tolist(), shapley.classes
    ((12, 4, 2), [0.5, 0.5], ('N', 'P'))
    >>> print(shapley)
    Shapley values of P(Class): mean |value| over 12 rows
    column            N        P
    GPA         0.34498  0.34498
    Published   0.14799  0.14799
    University  0.10579  0.10579
    Recommendation contributes nothing.
    """

    values: Floats
    base: Floats | float
    columns: tuple[str, ...]
    classes: tuple[Label, ...]  # empty for regression
    target: str

    @classmethod
    def of(cls, cube: Floats, base: Floats, single: bool, columns: tuple[str, ...], target: Target) -> ShapValues:
        """Make them from an array (rows, columns, outputs) and a base per output; regression has one output."""
        values = cube[0] if single else cube
        if target.task == "regression":
            return cls(values[..., 0], float(base[0]), columns, (), target.name)
        return cls(values, base, columns, target.classes, target.name)

    @property
    def single(self) -> bool:
        """Whether they belong to a single row that was not in a table."""
        return self.values.ndim == (2 if self.classes else 1)

    def result_table(self) -> ResultTable:
        """Return every value, one line per row, class and column."""
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
        """Return the table for readers: the values of a single row, or mean absolute values over a table."""
        base = np.atleast_1d(self.base)
        values = self.values if self.classes else self.values[..., None]
        output = safe(self.target) if not self.classes else f"P({safe(self.target)})"
        if self.single:
            title = f"Shapley values of {output}, starting from the mean over all rows"
        else:
            title = f"Shapley values of {output}: mean |value| over {plural(len(values), 'row')}"
            values = np.abs(values).mean(axis=0) if len(values) else np.zeros(values.shape[1:])
        heads = [ColumnSpec(str(label), "number") for label in self.classes] or [ColumnSpec("value", "number")]
        order = np.argsort(-np.abs(values).max(axis=1), kind="stable").tolist()
        rows = [(self.columns[i], *values[i].tolist()) for i in order if values[i].any()]
        unused = [safe(name) for name, of_column in zip(self.columns, values, strict=True) if not of_column.any()]
        verb = "contributes" if len(unused) == 1 else "contribute"
        below = (f"{join_or_count(unused, 'other column')} {verb} nothing.",) if unused else ()
        if self.single:
            total = base + values.sum(axis=0)
            total[np.abs(total) < _ROUNDING] = 0.0  # rounding errors of sums that are exactly zero
            rows = [("(all rows)", *base.tolist()), *rows, ("(this row)", *total.tolist())]
        return (ResultTable(title, (ColumnSpec("column"), *heads), rows, below=below, row_name="column"),)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: base, columns, classes, and the values as nested lists."""
        classes = {"classes": list(self.classes)} if self.classes else {}
        base = self.base if isinstance(self.base, float) else self.base.tolist()
        return {"target": self.target, "base": base, "columns": list(self.columns), **classes} | {
            "values": self.values.tolist()
        }

    def to_shap(self, data: Any = None) -> Any:
        """Return a ``shap.Explanation``, for the plots of the shap package (``pip install "treewise[shap]"``).

        ``data`` is the table, or row, that the values were computed for: plots of several rows colour by its cells. The
        axes are rows, columns and classes, so ``explanation[..., 2]`` is for one class; a single row is row 0.

            explanation = tree.shap(table).to_shap(table)
            shap.plots.beeswarm(explanation[..., 2])
            shap.plots.waterfall(explanation[0, :, 2])
        """
        from treewise.explain.shap_package import to_shap

        return to_shap(self, data)


def shap(model: Model, data: Any, estimate: Any = None, progress: Progress | None = None) -> ShapValues:
    """Return the Shapley values of the columns for each row of a table, or for a single row (``Model.shap``).

    The Shapley values of a mean are the mean of Shapley values, those of a sum their sum, and AdaBoost's vote share is
    the mean of its trees' decisions by vote weight; so the values of an ensemble are exact too.
    """
    if estimate is not None and not isinstance(model, Tree):
        raise ParameterError("only for a single tree.", parameter="estimate", hint="Leave it out.")
    probabilities = LeafProbabilities.of(estimate)
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
        probabilities.check(tree)
        _check_tree(tree)
        table = ShapTable.of(tree, probabilities, decisions_only)
        values += weight / unit * table.shapley(tree, columns, len(rows))
        base += weight / unit * table.base(tree)
        if progress is not None:
            progress((t + 1) / trees)
    adds_up = isinstance(model, Ensemble) and model.method == "gradient_boosting"
    total = 1.0 if adds_up else float(model.votes.sum())
    return ShapValues.of(values / total * unit, base / total * unit, rows.single, model.columns, model.target)


def _check_tree(tree: Tree) -> None:
    """Refuse a tree that is too deep, or that has no training weights."""
    if tree.depth > _MAX_DEPTH:
        raise DataError(
            f"the tree has depth {tree.depth:,}; Shapley values are limited to {_MAX_DEPTH:,}.",
            hint="Prune it first: " + Call("tree.prune(max_depth=…)") + ".",
        )
    if not tree.arrays.weight[0] > 0:
        raise DataError(
            "the tree has no training rows, whose shares Shapley values need. "
            + Call("tree.refit(data)")
            + " counts them."
        )


def check_all_mentioned(model: Model, row: Mapping[str, Any]) -> None:
    """Raise for a single row that omits a column that the model tests, on any path."""
    absent = [i for i in model.used_columns if model.columns[i] not in row]
    if absent:
        name = model.columns[absent[0]]
        where = model.where_used(absent[0]) if isinstance(model, Tree) else "a tree"
        raise ColumnError(
            f'the row has no column "{safe(name)}", which {where} tests.{did_you_mean(name, map(str, row))}'
            f"{also_missing([model.columns[i] for i in absent[1:]])} Shapley values need all columns, not only those on"
            " the path of the row.",
            hint="Use None for a missing value.",
        )


@dataclass(frozen=True, eq=False)
class ShapTable:
    """How a row of unknown values is distributed over the branches of each node, and the output of each node."""

    share: Floats  # of the parent's rows that go to each node; 1 at the root
    stay: Floats  # of the node's rows that stop there; -1 if none can
    answering: npt.NDArray[np.int64]  # the node that provides their prediction
    outputs: Floats  # of each node: a column per class, or one for the value

    @classmethod
    def of(cls, tree: Tree, probabilities: LeafProbabilities, decisions_only: bool = False) -> ShapTable:
        """Compute the shares from the training weights.

        With ``decisions_only`` the output of a node is the class it predicts, as in AdaBoost's votes, not its
        probabilities.
        """
        a, n = tree.arrays, len(tree)
        below = np.bincount(a.parent[1:], weights=a.weight[1:], minlength=n)
        can_stay = (a.kind == MULTIWAY) & (a.other < 0)
        staying = np.where(can_stay, np.maximum(a.weight - below, 0.0), 0.0)
        total = below + staying
        branches = np.bincount(a.parent[1:], minlength=n)
        empty = total <= 0  # no training rows: equal shares
        share = np.ones(n)
        up = a.parent[1:]
        share[1:] = np.where(
            empty[up], 1.0 / np.maximum(branches[up], 1), a.weight[1:] / np.where(empty, 1.0, total)[up]
        )
        stay = np.where(can_stay, staying / np.where(empty, 1.0, total), -1.0)
        nodes = np.arange(n)
        if tree.task == "regression":
            outputs = node_values(tree, nodes, probabilities)[:, None]
            is_terminal = (a.kind == LEAF) | can_stay
            if np.isnan(outputs[answering_nodes(tree, np.flatnonzero(is_terminal))]).any():
                raise DataError("a node of the tree has no prediction. " + Call("tree.refit(data)") + " computes it.")
            outputs = np.where(np.isnan(outputs), 0.0, outputs)  # of nodes at which no row stops
        elif decisions_only:
            outputs = np.zeros((n, len(tree.classes)))
            known = a.label >= 0
            outputs[known, a.label[known]] = 1.0
        else:
            outputs = class_probabilities(tree, nodes, probabilities)
        return cls(share, stay, answering_nodes(tree, nodes), np.ascontiguousarray(outputs))

    def shapley(self, tree: Tree, columns: Sequence[_core.Column], n_rows: int) -> Floats:
        """Return the values of all rows: (rows, columns, outputs)."""
        n_outputs = self.outputs.shape[1]
        table = (self.share, self.stay, self.answering, self.outputs.ravel(), n_outputs)
        values = _core.shapley(tree.arrays.for_core, columns, n_rows, *table)
        return values.reshape(n_rows, len(tree.columns), n_outputs)

    def base(self, tree: Tree) -> Floats:
        """Return the output for a row of unknown values: the mean over the terminal nodes."""
        a, depths = tree.arrays, tree.depths
        reach = self.share.copy()
        order = np.argsort(depths, kind="stable")
        for level in np.split(order, np.flatnonzero(np.diff(depths[order])) + 1)[1:]:
            reach[level] *= reach[a.parent[level]]
        leaves, stays = np.flatnonzero(a.kind == LEAF), np.flatnonzero(self.stay > 0)
        weight = np.concatenate([reach[leaves], reach[stays] * self.stay[stays]])
        outputs = self.outputs[np.concatenate([leaves, self.answering[stays]])]
        return np.array([math.fsum((weight * column).tolist()) for column in outputs.T])


# -- the specification ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TerminalPath:
    """A terminal node as seen by one row: for each column, whether the row passes, and the share of rows that do."""

    columns: Mapping[int, tuple[bool, float]]
    answering: int


def _terminal_paths(tree: Tree, table: ShapTable, row: Sequence[Any]) -> Iterator[_TerminalPath]:
    """Iterate over the terminal nodes of a tree; ``row`` holds decoded cells."""
    stack: list[tuple[int, dict[int, tuple[bool, float]]]] = [(0, {})]
    while stack:
        node, columns = stack.pop()
        split = tree.split_at(node)
        if split is None:
            yield _TerminalPath(columns, node)
            continue
        column = int(tree.arrays.column[node])
        followed = split.branch(row[column], tree.encodings[column])
        passes, share = columns.get(column, (True, 1.0))
        for branch, child in enumerate(tree.children(node)):
            stack.append((child, {**columns, column: (passes and followed == branch, share * table.share[child])}))
        if table.stay[node] >= 0:
            staying = {**columns, column: (passes and followed is None, share * table.stay[node])}
            yield _TerminalPath(staying, int(table.answering[node]))


def shapley_reference(tree: Tree, table: ShapTable, row: Sequence[Any]) -> Floats:
    """Return the Shapley values of one row, (columns, outputs), by one integral per terminal node and column."""
    values = np.zeros((len(tree.columns), table.outputs.shape[1]))
    for path in _terminal_paths(tree, table, row):
        x, weight = np.polynomial.legendre.leggauss(max(1, (len(path.columns) + 1) // 2))
        t = (x + 1) / 2
        factors = {column: share * (1 - t) + passes * t for column, (passes, share) in path.columns.items()}
        for column, (passes, share) in path.columns.items():
            product = math.prod((f for other, f in factors.items() if other != column), start=np.ones(len(t)))
            values[column] += (passes - share) * float(weight @ product) / 2 * table.outputs[path.answering]
    return values
