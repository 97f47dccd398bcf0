"""What a table the tree has not seen says of every node: how many rows get there, and how the node would err on them.

Stands below ``reduced_error.py`` and the cross-validated choice. Rows are walked down once; the rest are sums over
subtrees, which in pre-order are runs of numbers, so nothing depends on the depth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewise import _core
from treewise._lib.text import plural, safe
from treewise.data.table import Table, read
from treewise.errors import DataError, listing
from treewise.predict.costs import cost_matrix_of
from treewise.predict.predict import answering_nodes, check_answered, encode_columns, find_leaves
from treewise.prune.decision import Floats, Ints
from treewise.train.fixed_point import scale_weights
from treewise.train.target import finite_targets
from treewise.train.true_labels import class_places, rows_with_answers, target_column
from treewise.train.weights import WeightedRows, sample_weights, weigh
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

FEW_CLASSES = 8  # up to here each class is summed by itself, beyond it rows are sorted by class


@dataclass(frozen=True, eq=False)
class ValidationCounts:
    """Sums over the rows of a table, of every node."""

    table: str
    rows: int
    weight: Floats  # of the rows that come through the node
    leaf_error: Floats  # what the node would err on them as a leaf: a weight, or a sum of squares
    stay_error: Floats  # what is erred on rows that stay at it, an inner node, for want of a branch for their level
    unknown: tuple[str, ...] = ()  # of labels the tree does not know: how often they occur, in words

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weight[0])


def count_validation_table(tree: Tree, data: Any, sample_weight: Any = None) -> ValidationCounts:
    """Walk a table with known answers down a tree; rows are weighed as where the tree was grown."""
    made = next((step for step in tree.history if step.get("did") == "grow"), {})
    table = read(data, na_values=tree.na_values)
    weights = _read_weights(table, made.get("sample_weight"), sample_weight)
    column = target_column(tree, table, None)
    kept = rows_with_answers(table, column, bool(made.get("drop_missing_target")), weights)
    if len(kept) < len(table):
        table, column, weights = table.take(kept), column.take(kept), weights[kept]
    ends = find_leaves(tree, encode_columns(tree, table), len(table))
    check_answered(tree, ends, table)
    unknown: tuple[str, ...] = ()
    if tree.task == "regression":
        truth: Any = finite_targets(column, kept)
    else:
        truth, labels = class_places(tree, column)
        if truth.min() >= len(tree.classes):
            here, known = (listing([safe(x) for x in some], 4) for some in (labels[len(tree.classes) :], tree.classes))
            raise DataError(
                f'{table.name}: no label of column "{safe(column.name)}" ({here}) is a class of the tree ({known}).'
                " Is it the right column?"
            )
        counts, weights = with_class_weights(tree, made, truth, weights, table.name)
        ends, truth = ends[counts], truth[counts]
        unknown = tuple(
            f'"{safe(label)}" in {plural(int((truth == place).sum()), "row")}: not a class of the tree, so wrong'
            for place, label in enumerate(labels[len(tree.classes) :], len(tree.classes))
        )
    return replace(count_validation_rows(tree, ends, truth, weights, table.name), unknown=unknown)


def _read_weights(table: Table, name: str | None, given: Any) -> Floats:
    """Return a weight for each row: as given, or from the column that weighed the rows of growth, or 1."""
    again = name if name in table.columns else None
    weights: Floats = sample_weights(table, again if given is None else given)
    if not (weights > 0).any():
        raise DataError(f"{table.name}: no row has a positive weight. Give some rows a weight above 0.")
    return weights


def with_class_weights(
    tree: Tree, made: Mapping[str, Any], truth: Ints, weights: Floats, table: str
) -> tuple[Ints, Floats]:
    """Weigh rows by their classes, or by priors, as in growth: the rows that count, and their weights.

    Labels the tree does not know weigh what their rows do; a class of weight 0 is absent.
    """
    known = np.flatnonzero(truth < len(tree.classes))
    rows = WeightedRows(known, truth[known], np.empty(0), weights[known])
    weighed = weigh(rows, tree.target, made.get("class_weight"), made.get("priors"), table)
    every = np.where(truth < len(tree.classes), 0.0, weights)
    every[weighed.rows] = weighed.weight
    counts = np.flatnonzero(every)
    return counts, every[counts]


def count_validation_rows(tree: Tree, ends: Ints, truth: Any, weights: Floats, table: str) -> ValidationCounts:
    """Add up errors over the rows of every node, given the node where each row ends and its true class or value.

    Errors are the weight of wrong rows, or what they cost in a tree with costs (a label it does not know costs 1).
    """
    if tree.task == "regression":
        return ValidationCounts(table, len(ends), *squared_errors(tree, ends, truth, weights))
    cost = cost_matrix_of(tree)
    matrix = None if cost is None else np.vstack([cost.matrix, np.ones(len(tree.classes))])
    return ValidationCounts(
        table, len(ends), *class_errors(tree, ends, np.minimum(truth, len(tree.classes)), weights, matrix)
    )


def class_errors(
    tree: Tree, ends: Ints, truth: Ints, weights: Floats, cost: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Add up the weight of wrong rows, exactly: weights are integers in between."""
    units, scale = scale_weights(weights)
    under = run_sums(tree, ends, units)
    label = tree.arrays.label.astype(np.int64)
    if cost is None:
        as_leaf = (under - sums_by_class(tree, ends, truth, units)(label)).astype(float)
        paid = (truth != label[answering_nodes(tree, ends)]) * units.astype(float)
    else:
        of_class, as_leaf = sums_by_class(tree, ends, truth, units), np.zeros(len(tree))
        for k in range(len(cost)):
            as_leaf += of_class(np.full(len(tree), k)) * cost[k, label]
        paid = cost[truth, label[answering_nodes(tree, ends)]] * units
    stays = tree.arrays.kind[ends] != LEAF
    staying = np.bincount(ends[stays], paid[stays], len(tree))
    return np.ldexp(under.astype(float), -scale), np.ldexp(as_leaf, -scale), np.ldexp(staying, -scale)


def run_sums(tree: Tree, ends: Ints, units: Ints) -> Ints:
    """Sum integers over the rows of every subtree."""
    reached = np.append(0, np.cumsum(np.bincount(ends, units, len(tree)).astype(np.int64)))
    return np.asarray(reached[tree.arrays.ends] - reached[:-1])


def sums_by_class(tree: Tree, ends: Ints, truth: Ints, units: Ints) -> Callable[[Ints], Ints]:
    """Return what sums integers over the rows of one class, each node's wanted one, of every subtree."""
    n = len(tree)

    def one_by_one(wanted: Ints) -> Ints:
        sums = np.zeros(n, np.int64)
        for label in np.unique(wanted).tolist():
            here = wanted == label
            sums[here] = run_sums(tree, ends, np.where(truth == label, units, 0))[here]
        return sums

    if len(tree.classes) <= FEW_CLASSES:
        return one_by_one
    order = np.argsort(truth * n + ends, kind="stable")
    reached, keys = np.append(0, np.cumsum(units[order])), (truth * n + ends)[order]

    def by_runs(wanted: Ints) -> Ints:
        first, last = (np.searchsorted(keys, wanted * n + node) for node in (np.arange(n), tree.arrays.ends))
        return np.asarray(reached[last] - reached[first])

    return by_runs


def squared_errors(tree: Tree, ends: Ints, truth: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Add up squared errors: about the mean of the rows of each node, and then from the mean to what it predicts."""
    n, value = len(tree), tree.arrays.value
    weight = np.bincount(ends, weights, n).astype(np.float64)
    mean = np.bincount(ends, weights * truth, n) / np.where(weight > 0, weight, 1)
    about = np.bincount(ends, weights * (truth - mean[ends]) ** 2, n).astype(np.float64)
    speakers = np.zeros(n, np.int64) if tree.empty_branch == "root" else np.arange(n)
    staying = np.where(tree.arrays.kind != LEAF, about + weight * (mean - value[speakers]) ** 2, 0.0)
    weight, mean, about = _core.sum_moments(tree.arrays.parent, weight, mean, about)
    return weight, np.where(weight > 0, about + weight * (mean - value) ** 2, 0.0), np.where(weight > 0, staying, 0.0)
