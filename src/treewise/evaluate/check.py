"""Check a tree, usually a hand-written one, against a table leaf by leaf: ``tree.check(data)``.

``evaluate.py`` counts errors; this module attributes them: to leaves that do not predict the majority of their rows
(``refit`` corrects these), to rows that match no branch, and to contradictions, rows that are equal in every column of
the tree but have different classes, which no tree over these columns can separate. It also lists leaves without rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_count, format_percent, plural, safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table, read_for_model
from treewise.errors import join_few
from treewise.evaluate import evaluate as measure
from treewise.evaluate.paths import NodePaths
from treewise.predict.confidence_intervals import student_half_width
from treewise.predict.costs import EQUAL, CostMatrix, cost_matrix_of
from treewise.predict.predict import answering_nodes, apply
from treewise.train.exposure import find_truth, weigh_by_exposure
from treewise.train.target import (
    Ints,
    adopt_classes,
    adopt_levels,
    encode_labels,
    resolve_handwritten_task,
    restore_levels,
    select_labelled_rows,
)
from treewise.train.weights import read_sample_weights
from treewise.tree.arrays import LEAF, Label
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]

_ROUNDING = 4 * float(np.finfo(float).eps)  # relative rounding error of sums in another order

_ALL_SHOWN = 40  # up to this many leaves are listed in tree order; otherwise those with a finding come first
_MAX_ROWS = 6  # row numbers that are listed
_RANKS = {"disagrees": 0, "no answer": 1, "empty": 2, "": 3}


@dataclass(frozen=True)
class LeafCheck:
    """A leaf, or an internal node where rows match no branch, compared with the table's rows there."""

    node: int
    rule: str  # the conditions on the path
    prediction: Label | None  # of the tree; None if there is none
    rows: int
    weight: float  # of these rows
    majority: Label | None  # of the table's rows: the class of most weight (or least cost), or the mean
    agreeing: float | None  # weight of the rows that the tree predicts correctly; None for regression
    finding: str  # "disagrees", "empty", "no answer", or ""


@dataclass(frozen=True)
class Contradiction:
    """Rows that are equal in every column of the tree, but have different classes."""

    rows: tuple[int, ...]  # from 1
    cells: dict[str, str]  # the cells they share, as text
    counts: dict[Label, float]  # the weight of each class among them
    node: int  # where they all end


@dataclass(frozen=True, eq=False, repr=False)
class Check(Displayable):
    """The result of ``tree.check``: ``print`` it, or read ``empty``, ``disagreeing`` and ``contradictions``."""

    table: str
    target: str
    task: str
    n: int
    weight: float  # of all rows; their number where rows weigh 1
    columns: tuple[str, ...]  # those the tree may ask that the table has
    leaves: tuple[LeafCheck, ...]
    unanswered: tuple[int, ...]  # rows (from 1) that find no branch
    contradictions: tuple[Contradiction, ...] = ()  # none of a tree that predicts numbers
    errors: float | None = None  # the weight of misclassified rows; None for regression
    errors_refitted: float | None = None  # the same after ``refit``, when every leaf predicts its majority class
    least_errors: float | None = None  # what any tree over these columns must get wrong

    @property
    def empty(self) -> tuple[LeafCheck, ...]:
        """The leaves without rows."""
        return tuple(leaf for leaf in self.leaves if leaf.finding == "empty")

    @property
    def disagreeing(self) -> tuple[LeafCheck, ...]:
        """The leaves that do not predict the majority of their rows, or a value outside the interval of their mean."""
        return tuple(leaf for leaf in self.leaves if leaf.finding == "disagrees")

    @property
    def sound(self) -> bool:
        """Whether no leaf disagrees with its rows and every row matches a branch."""
        return not self.disagreeing and not self.unanswered

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        figures = ("errors", "errors_refitted", "least_errors")
        return {
            "table": self.table,
            "target": self.target,
            "n": self.n,
            "columns": list(self.columns),
            **{name: getattr(self, name) for name in figures},
            "unanswered": list(self.unanswered),
            "leaves": self.result_table().records(),
            "contradictions": [
                {
                    "rows": list(c.rows),
                    "cells": c.cells,
                    "counts": {str(k): v for k, v in c.counts.items()},
                    "node": c.node,
                }
                for c in self.contradictions
            ],
        }

    # -- as text -------------------------------------------------------------------------------------------------------

    def result_table(self) -> ResultTable:
        """Return the leaves as a result table."""
        leaves = self.leaves
        if len(leaves) > _ALL_SHOWN:
            leaves = tuple(sorted(leaves, key=lambda leaf: _RANKS[leaf.finding]))
        rows = [
            (e.node, e.rule, e.prediction, e.rows, e.weight, e.majority, e.agreeing, (e.agreeing, e.weight), e.finding)
            for e in leaves
        ]
        weighted = self.weight != self.n
        classes = self.task == "classification"
        headings = (
            ColumnSpec("node", "count", formatter=str),
            ColumnSpec("rule", title="leaf", break_at=" and "),
            ColumnSpec("prediction", "label", title="predicts"),
            ColumnSpec("rows", "count"),
            ColumnSpec("weight", "count", only=None if weighted else "data"),
            ColumnSpec("majority", "label", title="majority" if classes else "mean of its rows"),
            ColumnSpec("agreeing", "count", only="data"),
            ColumnSpec(
                "share", "share", title="% right", formatter=_format_share_right, only="text" if classes else "data"
            ),
            ColumnSpec("finding", title=""),
        )
        columns = [i for i, heading in enumerate(headings) if classes or heading.name not in ("share", "agreeing")]
        return ResultTable(
            f"Checked against {self.table}, column {self.target}: {plural(self.n, 'row')}",
            tuple(headings[i] for i in columns),
            [tuple(row[i] for i in columns) for row in rows],
            below=self.conclusions,
            row_name="leaf",
            max_rows=max(_ALL_SHOWN, len(self.disagreeing)),
        )

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the leaves and, if there are any, the contradictions."""
        if not self.contradictions:
            return (self.result_table(),)
        headings = (ColumnSpec("rows"), ColumnSpec("cells", title="alike in"), ColumnSpec("counts", title="but"))
        rows = [
            (
                join_few([f"{row:,}" for row in c.rows], limit=_MAX_ROWS),
                ", ".join(f"{name} {cell}" for name, cell in c.cells.items()),
                _format_counts(c.counts),
            )
            for c in self.contradictions
        ]
        return (
            self.result_table(),
            ResultTable("Contradictions", headings, rows, row_name="contradiction", max_rows=20),
        )

    @property
    def conclusions(self) -> tuple[str, ...]:
        """The findings, one sentence each."""
        return (*self._unanswered(), *self._disagreeing(), *self._empty(), *self._contradicted())

    def _unanswered(self) -> list[str]:
        if not self.unanswered:
            return []
        rows = join_few([f"{row:,}" for row in self.unanswered], limit=_MAX_ROWS)
        many = len(self.unanswered) > 1
        return [
            f'{"Rows" if many else "Row"} {rows} {"match" if many else "matches"} no branch: add one, or "otherwise".'
        ]

    def _disagreeing(self) -> list[str]:
        leaves, many = self.disagreeing, len(self.disagreeing) > 1
        expected = f"the majority of {'their' if many else 'its'} rows"
        if self.task == "regression":
            expected = f"a value within the interval (95 %, Student) of the mean of {'their' if many else 'its'} rows"
        if not leaves:
            return [f"Every leaf predicts {expected}."]
        number = f"{len(leaves):,} leaves do" if many else "1 leaf does"
        sentence = f"{number} not predict {expected} ({_list_nodes(leaves)})."
        if self.errors is None or self.errors_refitted is None:
            return [f"{sentence} refit sets the means."]
        wrong = (
            f"{format_count(self.errors)} → {format_count(self.errors_refitted)} of {format_count(self.weight)} wrong"
        )
        return [f"{sentence} refit corrects this: {wrong}."]

    def _empty(self) -> list[str]:
        if not self.empty:
            return ["Every leaf has rows."]
        of_all = f"{len(self.empty):,} of {plural(len(self.leaves), 'leaf', 'leaves')}"
        have, right = ("has", "it is right") if len(self.empty) == 1 else ("have", "they are right")
        return [f"{of_all} {have} no rows ({_list_nodes(self.empty)}): the table cannot tell whether {right}."]

    def _contradicted(self) -> list[str]:
        if self.task != "classification" or not self.columns:
            return []
        equal = f"equal in {join_few([safe(name) for name in self.columns], limit=8)}"
        if not self.contradictions:
            return [f"No contradictions: no rows are {equal} and differ in class."]
        assert self.least_errors is not None
        least = f"at least {format_count(self.least_errors)} of {format_count(self.weight)}"
        groups = plural(len(self.contradictions), "contradiction")
        return [f"{groups}: rows {equal} with different classes. Any tree over these columns gets {least} wrong."]


def _list_nodes(leaves: tuple[LeafCheck, ...]) -> str:
    """Return the node numbers of some leaves as text."""
    numbers = join_few([str(leaf.node) for leaf in leaves], limit=_MAX_ROWS)
    return f"node {numbers}" if len(leaves) == 1 else f"nodes {numbers}"


def _format_counts(counts: dict[Label, float]) -> str:
    """Format counts per class; the label first if it is a number.

    >>> _format_counts({"N": 2.0, "P": 3.0}), _format_counts({0: 1.0, 1: 7.0})
    ('2 N, 3 P', '0: 1, 1: 7')
    """
    worded = all(isinstance(label, str) for label in counts)
    form = "{1} {0}" if worded else "{0}: {1}"
    return ", ".join(form.format(label, format_count(weight)) for label, weight in counts.items())


def _format_share_right(pair: tuple[float | None, float]) -> str:
    """Format the share of a leaf's rows that is predicted correctly."""
    right, weight = pair
    return format_percent(right / weight) if right is not None and weight > 0 else "–"


def check(
    tree: Tree, data: Any, target: Any = None, *, drop_missing_target: bool = False, sample_weight: Any = None
) -> Check:
    """Check a tree, grown or hand-written, against a table with true labels.

    >>> import treewise as tw
    >>> tree = tw.parse("GPA = 4.0 -> P\\nGPA = 3.7 -> N\\nGPA = 3.5 -> N")
    >>> result = check(tree, "admissions")
    >>> [(leaf.node, leaf.prediction, leaf.majority) for leaf in result.disagreeing]
    [(2, 'N', 'P')]
    >>> result.least_errors, [each.rows for each in result.contradictions]
    (2.0, [(4, 5, 6, 7, 8)])
    """
    table = read_for_model(data, tree.na_values)
    column = find_truth(tree, table, target)
    weight = np.ones(len(table)) if sample_weight is None else read_sample_weights(table, sample_weight)
    weight = weigh_by_exposure(tree, table, weight)
    rows = select_labelled_rows(table, column, drop_missing_target, weight)
    table, column = table.take(rows), column.take(rows)
    tree = adopt_classes(resolve_handwritten_task(adopt_levels(tree, table), column), column)
    tree = tree.with_(
        encodings=restore_levels(tree.encodings, table)
    )  # of columns without a split: rows may differ there
    nodes = answering_nodes(tree, np.atleast_1d(apply(tree, table)))
    leaf_rows = _LeafRows(tree, table, column, rows, nodes, weight[rows])
    return leaf_rows.by_classes() if tree.task == "classification" else leaf_rows.by_numbers()


@dataclass(frozen=True, eq=False)
class _LeafRows:
    """A tree, the rows it is checked against, and the node that answers for each."""

    tree: Tree
    table: Table
    column: Column  # the true answers
    rows: Ints  # their row numbers in the given table
    nodes: Ints
    weight: Floats

    def by_classes(self) -> Check:
        """Compare the predictions of leaves with the classes of their rows."""
        truth, labels = encode_labels(self.tree, self.column)
        tally = _LeafTally.of(self.nodes, truth, self.weight, len(labels))
        cost, n_known, leaves = cost_matrix_of(self.tree), len(self.tree.classes), []
        right = refitted = 0.0
        for node in self._listed():
            counts = tally.counts(node)
            predicted, best = int(self.tree.arrays.label[node]), _best_classes(counts, cost, n_known)
            right += counts.get(predicted, 0.0)
            refitted += counts.get(best[0], 0.0) if best else 0.0
            agrees = predicted in best  # also if another class is equally frequent
            majority = labels[predicted if agrees else best[0]] if best else None
            leaves.append(self._leaf(node, majority, counts.get(predicted, 0.0), agrees))
        total = float(self.weight.sum())
        row_group = self._group_equal_rows()
        groups = _LeafTally.of(row_group, truth, self.weight, len(labels))
        return self._check(
            leaves,
            contradictions=tuple(self._contradictions(row_group, groups, labels)),
            errors=total - right,
            errors_refitted=total - refitted,
            least_errors=total - groups.majority_weight,
        )

    def by_numbers(self) -> Check:
        """Compare the predictions of leaves with the means of their rows, within Student's interval."""
        values, leaves = encode.encode_numbers(self.column), []
        order = np.argsort(self.nodes, kind="stable")
        first = np.searchsorted(self.nodes[order], np.arange(len(self.tree) + 1)).tolist()
        for node in self._listed():
            at = order[first[node] : first[node + 1]]
            predicted, mean, agrees = self.tree.prediction(node), None, True
            if len(at):
                mean = measure.mean(values[at], self.weight[at])
                spread = measure.root_mean_square(values[at] - mean, self.weight[at])
                tolerance = student_half_width(spread, len(at)) + _ROUNDING * float(np.abs(values[at]).max())
                agrees = predicted is None or abs(float(predicted) - mean) <= tolerance
            leaves.append(self._leaf(node, mean, None, agrees))
        return self._check(leaves)

    def _check(self, leaves: list[LeafCheck], **more: Any) -> Check:
        silent = [leaf.node for leaf in leaves if leaf.finding == "no answer"]
        return Check(
            table=self.table.name,
            target=self.column.name,
            task=self.tree.task,
            n=len(self.table),
            weight=float(self.weight.sum()),
            columns=self._columns,
            leaves=tuple(leaves),
            unanswered=tuple((self.rows[np.isin(self.nodes, silent)] + 1).tolist()),
            **more,
        )

    # -- leaves -----------------------------------------------------------------------------------------------------

    def _listed(self) -> list[int]:
        """Return the leaves, and the internal nodes that answer for rows without a branch."""
        is_listed = self.tree.arrays.kind == LEAF
        is_listed[self.nodes] = True
        nodes: list[int] = np.flatnonzero(is_listed).tolist()
        return nodes

    def _leaf(self, node: int, majority: Label | None, agreeing: float | None, agrees: bool) -> LeafCheck:
        rows, prediction = self._rows_at[node], self.tree.prediction(node)
        finding = "empty" if not rows else "no answer" if prediction is None else "" if agrees else "disagrees"
        return LeafCheck(
            node, self._node_paths.rule(node), prediction, rows, self._weight_at[node], majority, agreeing, finding
        )

    @cached_property
    def _node_paths(self) -> NodePaths:
        return NodePaths(self.tree)

    @cached_property
    def _rows_at(self) -> list[int]:
        counts: list[int] = np.bincount(self.nodes, minlength=len(self.tree)).tolist()
        return counts

    @cached_property
    def _weight_at(self) -> list[float]:
        weights: list[float] = np.bincount(self.nodes, self.weight, len(self.tree)).astype(np.float64).tolist()
        return weights

    # -- contradictions ---------------------------------------------------------------------------------------------

    @property
    def _columns(self) -> tuple[str, ...]:
        """The columns of the tree that the table has."""
        return tuple(name for name in self.tree.columns if name in self.table.columns)

    def _group_equal_rows(self) -> Ints:
        """Return a group number per row, equal for rows that are equal in every column of the tree.

        Cells are compared as encoded: all missing cells are equal, and so are all unseen levels.
        """
        number = np.zeros(len(self.table), np.int64)
        for name in self._columns:
            values = encode.encode_column(self.tree.encoding_of(name), self.table[name], self.table.name)
            different, code = np.unique(values, return_inverse=True)
            number = np.unique(number * len(different) + code.reshape(-1), return_inverse=True)[1].reshape(-1)
        return number

    def _contradictions(self, row_group: Ints, groups: _LeafTally, labels: tuple[Label, ...]) -> list[Contradiction]:
        """Return groups of equal rows with different classes, those with the most unavoidable errors first."""
        mixed = np.isin(row_group, groups.mixed)
        contradicting = np.flatnonzero(mixed)
        order = contradicting[np.argsort(row_group[contradicting], kind="stable")]
        parts = np.split(order, np.flatnonzero(np.diff(row_group[order])) + 1) if len(order) else []
        contradictions = []
        for part in parts:
            first = int(part[0])
            counts = {labels[class_code]: weight for class_code, weight in groups.counts(int(row_group[first])).items()}
            cells = {name: _format_shared_cell(self.table[name], first) for name in self._columns}
            contradictions.append(
                Contradiction(tuple((self.rows[part] + 1).tolist()), cells, counts, int(self.nodes[first]))
            )
        return sorted(
            contradictions,
            key=lambda c: (max(c.counts.values()) - sum(c.counts.values()), c.rows[0]),
        )


@dataclass(frozen=True, eq=False)
class _LeafTally:
    """The weight of each class in each group, as sparse pairs: there may be many groups and 10,000 classes."""

    group: Ints  # of each pair, increasing
    class_code: Ints
    weight: Floats
    start: dict[int, tuple[int, int]]  # the pairs of each group

    @classmethod
    def of(cls, group: Ints, class_code: Ints, weight: Floats, n_places: int) -> _LeafTally:
        """Sum the weights."""
        pairs, at = np.unique(group * n_places + class_code, return_inverse=True)
        groups = pairs // n_places
        names, first = np.unique(groups, return_index=True)
        last = np.append(first[1:], len(pairs))
        spans = dict(zip(names.tolist(), zip(first.tolist(), last.tolist(), strict=True), strict=True))
        return cls(groups, pairs % n_places, np.bincount(at.reshape(-1), weight).astype(np.float64), spans)

    def counts(self, group: int) -> dict[int, float]:
        """Return the weight of each class code in a group."""
        first, last = self.start.get(group, (0, 0))
        return dict(zip(self.class_code[first:last].tolist(), self.weight[first:last].tolist(), strict=True))

    @property
    def majority_weight(self) -> float:
        """The weight predicted correctly if every group gets its majority class."""
        return float(np.maximum.reduceat(self.weight, [first for first, _ in self.start.values()]).sum())

    @property
    def mixed(self) -> list[int]:
        """The groups with more than one class."""
        return [group for group, (first, last) in self.start.items() if last - first > 1]


def _best_classes(counts: dict[int, float], cost: CostMatrix | None, n_known: int) -> list[int]:
    """Return the class codes that are optimal for these counts, in order; empty without rows.

    That is the class of most weight, or of least expected cost. Classes the tree does not know (those from ``known``
    on) it cannot say.
    """
    known_counts = {class_code: weight for class_code, weight in counts.items() if class_code < n_known}
    if not known_counts:
        return []
    if cost is None:
        largest = max(known_counts.values())
        return [class_code for class_code, weight in known_counts.items() if weight >= largest * (1 - EQUAL)]
    expected = cost.expected([known_counts.get(class_code, 0.0) for class_code in range(n_known)])
    classes: list[int] = np.flatnonzero(expected <= expected.min() * (1 + EQUAL)).tolist()
    return classes


def _format_shared_cell(column: Column, row: int) -> str:
    """Format the cell that rows share in a column."""
    if column.is_missing()[row]:
        return "missing"
    return safe(column.labels[column.values[row]]) if column.is_coded else column.format_cell(row)
