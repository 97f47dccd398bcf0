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

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.table import Column, Table, read
from treewise.evaluate import evaluate as measure
from treewise.evaluate.check_results import Check, Contradiction, LeafCheck
from treewise.evaluate.routes import NodePaths
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
