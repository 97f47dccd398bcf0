"""A tree against a table, leaf by leaf: what a tree written by hand gets wrong, and whose fault it is.

Stands beside ``measure.py``, which counts errors. Here they are put to account: leaves that say another class than most
of their rows (the tree's fault, and ``refit`` mends them), leaves that no row reaches (nothing can be said of them),
rows that find no branch, and contradictions: rows alike in every column the tree may ask that are of different classes,
which no tree over these columns can tell apart. What was found is in ``findings.py``.
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
from treewise.data.table import Column, Table, read
from treewise.errors import listing
from treewise.evaluate import evaluate as measure
from treewise.evaluate.paths import NodePaths
from treewise.predict.confidence_intervals import student_half_width
from treewise.predict.costs import EQUAL, CostMatrix, cost_matrix_of
from treewise.predict.predict import answering_nodes, apply
from treewise.train.true_labels import (
    Ints,
    as_compared,
    class_places,
    rows_with_answers,
    target_column,
    with_classes_of,
    with_levels_of,
)
from treewise.train.weights import sample_weights
from treewise.tree.arrays import LEAF, Label
from treewise.tree.tree import Tree

Floats = npt.NDArray[np.float64]

ROUNDING = 4 * float(np.finfo(float).eps)  # of the largest value: what sums in another order may differ by

ALL_SHOWN = 40  # leaves that are listed in the order of the tree; of more, those with a finding come first
MOST_ROWS = 6  # row numbers that are listed
RANKS = {"disagrees": 0, "no answer": 1, "empty": 2, "": 3}


@dataclass(frozen=True)
class LeafCheck:
    """A leaf, or an inner node where rows find no branch, and what the table's rows there say."""

    node: int
    rule: str  # the way there in words
    says: Label | None  # what the tree says there; None where nothing is written
    rows: int
    weight: float  # of these rows; their number where rows weigh 1
    majority: Label | None  # what the table says there: the class of most weight (or least cost), or the mean
    agreeing: float | None  # the weight of the rows that are what the tree says; None for numbers
    finding: str  # "disagrees", "empty", "no answer", or ""


@dataclass(frozen=True)
class Contradiction:
    """Rows that are alike in every column the tree may ask, and of different classes."""

    rows: tuple[int, ...]  # from 1
    cells: dict[str, str]  # what they share, in words
    counts: dict[Label, float]  # the weight of each class among them
    node: int  # where they all end


@dataclass(frozen=True, eq=False, repr=False)
class Check(Displayable):
    """A tree against a table. ``print`` it; ``empty``, ``disagreeing`` and ``contradictions`` are the findings."""

    table: str
    target: str
    task: str
    n: int
    weight: float  # of all rows; their number where rows weigh 1
    columns: tuple[str, ...]  # those the tree may ask that the table has
    leaves: tuple[LeafCheck, ...]
    unanswered: tuple[int, ...]  # rows (from 1) that find no branch
    contradictions: tuple[Contradiction, ...] = ()  # none of a tree that predicts numbers
    errors: float | None = None  # the weight of rows that are not what the tree says; None for numbers
    errors_refitted: float | None = None  # the same after ``refit``: every leaf says what most of its rows are
    least_errors: float | None = None  # what any tree over these columns must get wrong

    @property
    def empty(self) -> tuple[LeafCheck, ...]:
        """The leaves that no row reaches."""
        return tuple(leaf for leaf in self.leaves if leaf.finding == "empty")

    @property
    def disagreeing(self) -> tuple[LeafCheck, ...]:
        """The leaves that say another class than most of their rows, or a number outside the interval of their mean."""
        return tuple(leaf for leaf in self.leaves if leaf.finding == "disagrees")

    @property
    def sound(self) -> bool:
        """Whether nothing speaks against the tree: no leaf disagrees, and every row has its leaf."""
        return not self.disagreeing and not self.unanswered

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
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

    # -- in words ---------------------------------------------------------------------------------------------------

    def result_table(self) -> ResultTable:
        """Return the leaves."""
        leaves = self.leaves
        if len(leaves) > ALL_SHOWN:
            leaves = tuple(sorted(leaves, key=lambda leaf: RANKS[leaf.finding]))
        rows = [
            (e.node, e.rule, e.says, e.rows, e.weight, e.majority, e.agreeing, (e.agreeing, e.weight), e.finding)
            for e in leaves
        ]
        weighted = self.weight != self.n
        classes = self.task == "classification"
        headings = (
            ColumnSpec("node", "count", formatter=str),
            ColumnSpec("rule", title="leaf", break_at=" and "),
            ColumnSpec("says", "label", title="says"),
            ColumnSpec("rows", "count"),
            ColumnSpec("weight", "count", only=None if weighted else "data"),
            ColumnSpec("majority", "label", title="rows say" if classes else "mean of its rows"),
            ColumnSpec("agreeing", "count", only="data"),
            ColumnSpec("share", "share", title="% right", formatter=share_said, only="text" if classes else "data"),
            ColumnSpec("finding", title=""),
        )
        kept = [i for i, heading in enumerate(headings) if classes or heading.name not in ("share", "agreeing")]
        return ResultTable(
            f"Checked against {self.table}, column {self.target}: {plural(self.n, 'row')}",
            tuple(headings[i] for i in kept),
            [tuple(row[i] for i in kept) for row in rows],
            below=self.verdicts,
            row_name="leaf",
            max_rows=max(ALL_SHOWN, len(self.disagreeing)),
        )

    def result_tables(self) -> tuple[ResultTable, ...]:
        """Return the leaves, and below them the contradictions where there are some."""
        if not self.contradictions:
            return (self.result_table(),)
        headings = (ColumnSpec("rows"), ColumnSpec("cells", title="alike in"), ColumnSpec("counts", title="but"))
        rows = [
            (
                listing([f"{row:,}" for row in c.rows], most=MOST_ROWS),
                ", ".join(f"{name} {cell}" for name, cell in c.cells.items()),
                counts_in_words(c.counts),
            )
            for c in self.contradictions
        ]
        return (
            self.result_table(),
            ResultTable("Contradictions", headings, rows, row_name="contradiction", max_rows=20),
        )

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Say what was found, a sentence each."""
        return (*self._unanswered(), *self._disagreeing(), *self._empty(), *self._contradicted())

    def _unanswered(self) -> list[str]:
        if not self.unanswered:
            return []
        rows = listing([f"{row:,}" for row in self.unanswered], most=MOST_ROWS)
        many = len(self.unanswered) > 1
        return [f"{'Rows' if many else 'Row'} {rows} {'find' if many else 'finds'} no branch: write one, or otherwise."]

    def _disagreeing(self) -> list[str]:
        found, classes = self.disagreeing, self.task == "classification"
        others = "most of its rows" if classes else "the mean of its rows allows (95 %, Student)"
        if not found:
            return [f"No leaf says other than {others}."]
        many = "A leaf says" if len(found) == 1 else f"{len(found):,} leaves say"
        said = f"{many} other than {others if len(found) == 1 else others.replace('its', 'their')} ({nodes_of(found)})."
        if self.errors is None or self.errors_refitted is None:
            return [f"{said} refit puts the means there."]
        wrong = (
            f"{format_count(self.errors)} → {format_count(self.errors_refitted)} of {format_count(self.weight)} wrong"
        )
        return [f"{said} refit mends it: {wrong}."]

    def _empty(self) -> list[str]:
        if not self.empty:
            return ["Every leaf has rows."]
        of_all = f"{len(self.empty):,} of {plural(len(self.leaves), 'leaf', 'leaves')}"
        right = "it is right" if len(self.empty) == 1 else "they are right"
        return [f"No row reaches {of_all} ({nodes_of(self.empty)}): the table cannot tell whether {right}."]

    def _contradicted(self) -> list[str]:
        if self.task != "classification" or not self.columns:
            return []
        alike = f"alike in {listing([safe(name) for name in self.columns], most=8)}"
        if not self.contradictions:
            return [f"No contradictions: no rows are {alike} and of different classes."]
        assert self.least_errors is not None
        least = f"{format_count(self.least_errors)} of {format_count(self.weight)}"
        groups = plural(len(self.contradictions), "contradiction")
        return [
            f"{groups}: rows {alike}, of different classes. Any tree over these columns gets at least {least} wrong."
        ]


def nodes_of(leaves: tuple[LeafCheck, ...]) -> str:
    """List the numbers of some leaves."""
    numbers = listing([str(leaf.node) for leaf in leaves], most=MOST_ROWS)
    return f"node {numbers}" if len(leaves) == 1 else f"nodes {numbers}"


def counts_in_words(counts: dict[Label, float]) -> str:
    """Write how many there are of each class; the label first where it is a number itself.

    >>> counts_in_words({"N": 2.0, "P": 3.0}), counts_in_words({0: 1.0, 1: 7.0})
    ('2 N, 3 P', '0: 1, 1: 7')
    """
    worded = all(isinstance(label, str) for label in counts)
    form = "{1} {0}" if worded else "{0}: {1}"
    return ", ".join(form.format(label, format_count(weight)) for label, weight in counts.items())


def share_said(pair: tuple[float | None, float]) -> str:
    """Write which share of a leaf's rows is what the tree says."""
    right, weight = pair
    return format_percent(right / weight) if right is not None and weight > 0 else "–"


def check(
    tree: Tree, data: Any, target: Any = None, *, drop_missing_target: bool = False, sample_weight: Any = None
) -> Check:
    """Hold a tree, grown or written by hand, against a table that knows the answers.

    >>> import treewise as tw
    >>> tree = tw.parse("GPA = 4.0 -> P\\nGPA = 3.7 -> N\\nGPA = 3.5 -> N")
    >>> found = check(tree, "admissions")
    >>> [(leaf.node, leaf.says, leaf.majority) for leaf in found.disagreeing]
    [(2, 'N', 'P')]
    >>> found.least_errors, [each.rows for each in found.contradictions]
    (2.0, [(4, 5, 6, 7, 8)])
    """
    table = read(data, na_values=tree.na_values)
    column = target_column(tree, table, target)
    weight = np.ones(len(table)) if sample_weight is None else sample_weights(table, sample_weight)
    rows = rows_with_answers(table, column, drop_missing_target, weight)
    table, column = table.take(rows), column.take(rows)
    tree = with_classes_of(as_compared(with_levels_of(tree, table), column), column)
    nodes = answering_nodes(tree, np.atleast_1d(apply(tree, table)))
    held = LeafRows(tree, table, column, rows, nodes, weight[rows])
    return held.by_classes() if tree.task == "classification" else held.by_numbers()


@dataclass(frozen=True, eq=False)
class LeafRows:
    """A tree, the rows it is held against, and which node answers for each."""

    tree: Tree
    table: Table
    column: Column  # the true answers
    rows: Ints  # which rows of the table that was given these are
    nodes: Ints
    weight: Floats

    def by_classes(self) -> Check:
        """Compare what leaves say with the classes of their rows."""
        truth, labels = class_places(self.tree, self.column)
        there = LeafTally.of(self.nodes, truth, self.weight, len(labels))
        cost, known, leaves = cost_matrix_of(self.tree), len(self.tree.classes), []
        right = refitted = 0.0
        for node in self._listed():
            counts = there.counts(node)
            says, best = int(self.tree.arrays.label[node]), best_classes(counts, cost, known)
            right += counts.get(says, 0.0)
            refitted += counts.get(best[0], 0.0) if best else 0.0
            agrees = says in best  # also where another class is as frequent
            majority = labels[says if agrees else best[0]] if best else None
            leaves.append(self._leaf(node, majority, counts.get(says, 0.0), agrees))
        total = float(self.weight.sum())
        alike = self._alike()
        groups = LeafTally.of(alike, truth, self.weight, len(labels))
        return self._check(
            leaves,
            contradictions=tuple(self._contradictions(alike, groups, labels)),
            errors=total - right,
            errors_refitted=total - refitted,
            least_errors=total - groups.of_most,
        )

    def by_numbers(self) -> Check:
        """Compare what leaves say with the means of their rows: within Student's interval they agree."""
        values, leaves = encode.encode_numbers(self.column), []
        order = np.argsort(self.nodes, kind="stable")
        first = np.searchsorted(self.nodes[order], np.arange(len(self.tree) + 1)).tolist()
        for node in self._listed():
            at = order[first[node] : first[node + 1]]
            says, mean, agrees = self.tree.prediction(node), None, True
            if len(at):
                mean = measure.mean(values[at], self.weight[at])
                spread = measure.root_mean_square(values[at] - mean, self.weight[at])
                near = student_half_width(spread, len(at)) + ROUNDING * float(np.abs(values[at]).max())
                agrees = says is None or abs(float(says) - mean) <= near
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
        """Return the leaves, and the inner nodes that answer for rows without a branch."""
        shown = self.tree.arrays.kind == LEAF
        shown[self.nodes] = True
        found: list[int] = np.flatnonzero(shown).tolist()
        return found

    def _leaf(self, node: int, majority: Label | None, agreeing: float | None, agrees: bool) -> LeafCheck:
        rows, says = self._rows_at[node], self.tree.prediction(node)
        finding = "empty" if not rows else "no answer" if says is None else "" if agrees else "disagrees"
        return LeafCheck(node, self._routes.rule(node), says, rows, self._weight_at[node], majority, agreeing, finding)

    @cached_property
    def _routes(self) -> NodePaths:
        return NodePaths(self.tree)

    @cached_property
    def _rows_at(self) -> list[int]:
        found: list[int] = np.bincount(self.nodes, minlength=len(self.tree)).tolist()
        return found

    @cached_property
    def _weight_at(self) -> list[float]:
        found: list[float] = np.bincount(self.nodes, self.weight, len(self.tree)).astype(np.float64).tolist()
        return found

    # -- contradictions ---------------------------------------------------------------------------------------------

    @property
    def _columns(self) -> tuple[str, ...]:
        """The columns the tree may ask, as far as the table has them."""
        return tuple(name for name in self.tree.columns if name in self.table.columns)

    def _alike(self) -> Ints:
        """Number the rows so that those have one number which are alike in every column the tree may ask.

        Alike is what the tree sees alike: a missing value is like another, and so is a level it has never seen.
        """
        number = np.zeros(len(self.table), np.int64)
        for name in self._columns:
            values = encode.encode_column(self.tree.encoding_of(name), self.table[name], self.table.name)
            different, code = np.unique(values, return_inverse=True)
            number = np.unique(number * len(different) + code.reshape(-1), return_inverse=True)[1].reshape(-1)
        return number

    def _contradictions(self, alike: Ints, groups: LeafTally, labels: tuple[Label, ...]) -> list[Contradiction]:
        """List the rows that are alike and of different classes, those first of which most must be wrong."""
        mixed = np.isin(alike, groups.mixed)
        places = np.flatnonzero(mixed)
        order = places[np.argsort(alike[places], kind="stable")]
        parts = np.split(order, np.flatnonzero(np.diff(alike[order])) + 1) if len(order) else []
        found = []
        for part in parts:
            first = int(part[0])
            counts = {labels[place]: weight for place, weight in groups.counts(int(alike[first])).items()}
            cells = {name: said_cell(self.table[name], first) for name in self._columns}
            found.append(Contradiction(tuple((self.rows[part] + 1).tolist()), cells, counts, int(self.nodes[first])))
        return sorted(found, key=lambda each: (max(each.counts.values()) - sum(each.counts.values()), each.rows[0]))


@dataclass(frozen=True, eq=False)
class LeafTally:
    """The weight of each class in each group, zeros left out: there may be many groups and 10,000 classes."""

    group: Ints  # of each pair, increasing
    place: Ints
    weight: Floats
    start: dict[int, tuple[int, int]]  # the pairs of each group

    @classmethod
    def of(cls, group: Ints, place: Ints, weight: Floats, n_places: int) -> LeafTally:
        """Count."""
        pairs, at = np.unique(group * n_places + place, return_inverse=True)
        groups = pairs // n_places
        names, first = np.unique(groups, return_index=True)
        last = np.append(first[1:], len(pairs))
        spans = dict(zip(names.tolist(), zip(first.tolist(), last.tolist(), strict=True), strict=True))
        return cls(groups, pairs % n_places, np.bincount(at.reshape(-1), weight).astype(np.float64), spans)

    def counts(self, group: int) -> dict[int, float]:
        """Return the weight of each class of a group, by its place."""
        first, last = self.start.get(group, (0, 0))
        return dict(zip(self.place[first:last].tolist(), self.weight[first:last].tolist(), strict=True))

    @property
    def of_most(self) -> float:
        """The weight that is right where every group is given its most frequent class."""
        return float(np.maximum.reduceat(self.weight, [first for first, _ in self.start.values()]).sum())

    @property
    def mixed(self) -> list[int]:
        """The groups of more than one class."""
        return [group for group, (first, last) in self.start.items() if last - first > 1]


def best_classes(counts: dict[int, float], cost: CostMatrix | None, known: int) -> list[int]:
    """Return the classes a tree should say to rows of these counts, the first of equals first; none without rows.

    That is the class of most weight, or of least expected cost. Classes the tree does not know (those from ``known``
    on) it cannot say.
    """
    sayable = {place: weight for place, weight in counts.items() if place < known}
    if not sayable:
        return []
    if cost is None:
        most = max(sayable.values())
        return [place for place, weight in sayable.items() if weight >= most * (1 - EQUAL)]
    expected = cost.expected([sayable.get(place, 0.0) for place in range(known)])
    found: list[int] = np.flatnonzero(expected <= expected.min() * (1 + EQUAL)).tolist()
    return found


def said_cell(column: Column, row: int) -> str:
    """Write what rows share in a column."""
    if column.is_missing()[row]:
        return "missing"
    return safe(column.labels[column.values[row]]) if column.is_coded else column.format_cell(row)
