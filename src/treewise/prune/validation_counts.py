"""Counts of a validation table at every node: the rows that reach it, and the errors it would make as a leaf.

Used by ``reduced_error.py`` and the validation curve. Rows are walked down the tree once; the rest are sums over
subtrees, which are contiguous in pre-order, so the cost does not depend on the depth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewise import _core
from treewise._lib.text import plural, safe
from treewise.data.table import Table, read_for_model
from treewise.errors import DataError, join_few
from treewise.predict.costs import cost_matrix_of
from treewise.predict.predict import answering_nodes, check_answered, encode_columns, find_leaves
from treewise.prune.decision import Floats, Ints
from treewise.sources.lazy import rows_by_leaf
from treewise.train.exposure import find_truth, weigh_by_exposure
from treewise.train.fixed_point import scale_weights
from treewise.train.target import encode_labels, read_finite_targets, select_labelled_rows
from treewise.train.weights import WeightedRows, apply_class_weights, read_sample_weights
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

_FEW_CLASSES = 8  # up to here each class is summed separately, beyond it rows are sorted by class


@dataclass(frozen=True, eq=False)
class ValidationCounts:
    """Sums over the rows of a table, one entry per node."""

    table: str
    rows: int
    weight: Floats  # of the rows that reach the node
    leaf_error: Floats  # errors of the node as a leaf: a weight of rows, or a sum of squares
    stay_error: Floats  # errors on rows that stop at an internal node because their level has no branch
    unknown: tuple[str, ...] = ()  # one line per label that is not a class of the tree

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weight[0])


def count_validation_table(tree: Tree, data: Any, sample_weight: Any = None) -> ValidationCounts:
    """Count a table with true labels; rows are weighted as in training."""
    info = tree.fit_info
    by_leaf = rows_by_leaf(tree, data, weight=info.sample_weight if sample_weight is None else sample_weight)
    table = read_for_model(data, tree.na_values) if by_leaf is None else by_leaf
    weights = weigh_by_exposure(tree, table, _read_weights(table, info.sample_weight, sample_weight))
    column = find_truth(tree, table, None)
    rows_used = select_labelled_rows(table, column, info.drop_missing_target, weights)
    if len(rows_used) < len(table):
        table, column, weights = table.take(rows_used), column.take(rows_used), weights[rows_used]
    ends = find_leaves(tree, encode_columns(tree, table), len(table))
    check_answered(tree, ends, table)
    unknown: tuple[str, ...] = ()
    if tree.task == "regression":
        truth: Any = read_finite_targets(column, rows_used)
    else:
        truth, labels = encode_labels(tree, column)
        if truth.min() >= len(tree.classes):
            unknown_labels, known = (
                join_few([safe(x) for x in some], 4) for some in (labels[len(tree.classes) :], tree.classes)
            )
            raise DataError(
                f'{table.name}: no label of column "{safe(column.name)}" ({unknown_labels}) is a class of the tree'
                f" ({known}). Is it the right column?"
            )
        counts, weights = _apply_class_weights(tree, truth, weights, table.name)
        ends, truth = ends[counts], truth[counts]
        unknown = tuple(
            f'"{safe(label)}" in {plural(int((truth == code).sum()), "row")}: not a class of the tree, so wrong'
            for code, label in enumerate(labels[len(tree.classes) :], len(tree.classes))
        )
    return replace(count_validation_rows(tree, ends, truth, weights, table.name), unknown=unknown)


def _read_weights(table: Table, name: str | None, sample_weight: Any) -> Floats:
    """Return the weight of each row: as given, else from the weight column used in training, else 1."""
    column = name if name in table.columns else None
    weights: Floats = read_sample_weights(table, column if sample_weight is None else sample_weight)
    if not (weights > 0).any():
        raise DataError(f"{table.name}: no row has a positive weight. Give some rows a weight above 0.")
    return weights


def _apply_class_weights(tree: Tree, truth: Ints, weights: Floats, table: str) -> tuple[Ints, Floats]:
    """Apply the class weights or priors of training; return the rows with a positive weight, and their weights.

    Rows with an unknown label keep their weight; classes of weight 0 are dropped.
    """
    known = np.flatnonzero(truth < len(tree.classes))
    rows = WeightedRows(known, truth[known], np.empty(0), weights[known])
    weighted = apply_class_weights(rows, tree.target, tree.fit_info.class_weight, tree.fit_info.priors, table)
    all_weights = np.where(truth < len(tree.classes), 0.0, weights)
    all_weights[weighted.rows] = weighted.weight
    counts = np.flatnonzero(all_weights)
    return counts, all_weights[counts]


def count_validation_rows(tree: Tree, ends: Ints, truth: Any, weights: Floats, table: str) -> ValidationCounts:
    """Sum the errors of every node, given the leaf of each row and its true class code or value.

    Errors are the weight of misclassified rows, or their cost in a tree with costs (an unknown label costs 1).
    """
    if tree.task == "regression":
        return ValidationCounts(table, len(ends), *_squared_errors(tree, ends, truth, weights))
    cost = cost_matrix_of(tree)
    matrix = None if cost is None else np.vstack([cost.matrix, np.ones(len(tree.classes))])
    return ValidationCounts(
        table, len(ends), *class_errors(tree, ends, np.minimum(truth, len(tree.classes)), weights, matrix)
    )


def class_errors(
    tree: Tree, ends: Ints, truth: Ints, weights: Floats, cost: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Sum the weight of misclassified rows exactly, with integer weights."""
    units, scale = scale_weights(weights)
    subtree_weight = _subtree_sums(tree, ends, units)
    label = tree.arrays.label.astype(np.int64)
    if cost is None:
        leaf_error = (subtree_weight - _class_sums(tree, ends, truth, units)(label)).astype(float)
        row_error = (truth != label[answering_nodes(tree, ends)]) * units.astype(float)
    else:
        of_class, leaf_error = _class_sums(tree, ends, truth, units), np.zeros(len(tree))
        for k in range(len(cost)):
            leaf_error += of_class(np.full(len(tree), k)) * cost[k, label]
        row_error = cost[truth, label[answering_nodes(tree, ends)]] * units
    is_stopped = tree.arrays.kind[ends] != LEAF
    stay_error = np.bincount(ends[is_stopped], row_error[is_stopped], len(tree))
    return np.ldexp(subtree_weight.astype(float), -scale), np.ldexp(leaf_error, -scale), np.ldexp(stay_error, -scale)


def _subtree_sums(tree: Tree, ends: Ints, units: Ints) -> Ints:
    """Sum integers over the rows of every subtree."""
    running = np.append(0, np.cumsum(np.bincount(ends, units, len(tree)).astype(np.int64)))
    return np.asarray(running[tree.arrays.ends] - running[:-1])


def _class_sums(tree: Tree, ends: Ints, truth: Ints, units: Ints) -> Callable[[Ints], Ints]:
    """Return a function from one class per node to the integer sums over that class in every subtree."""
    n = len(tree)

    def sum_each_class(labels: Ints) -> Ints:
        sums = np.zeros(n, np.int64)
        for label in np.unique(labels).tolist():
            mask = labels == label
            sums[mask] = _subtree_sums(tree, ends, np.where(truth == label, units, 0))[mask]
        return sums

    if len(tree.classes) <= _FEW_CLASSES:
        return sum_each_class
    order = np.argsort(truth * n + ends, kind="stable")
    running, keys = np.append(0, np.cumsum(units[order])), (truth * n + ends)[order]

    def sum_sorted(labels: Ints) -> Ints:
        first, last = (np.searchsorted(keys, labels * n + node) for node in (np.arange(n), tree.arrays.ends))
        return np.asarray(running[last] - running[first])

    return sum_sorted


def _squared_errors(tree: Tree, ends: Ints, truth: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Sum squared errors: about the mean of each node's rows, plus the offset from the mean to the prediction."""
    n, value = len(tree), tree.arrays.value
    order = np.lexsort((weights, truth, ends))  # sums are rounded: the same in any order of the table
    ends, truth, weights = ends[order], truth[order], weights[order]
    weight = np.bincount(ends, weights, n).astype(np.float64)
    mean = np.bincount(ends, weights * truth, n) / np.where(weight > 0, weight, 1)
    about = np.bincount(ends, weights * (truth - mean[ends]) ** 2, n).astype(np.float64)
    answering = np.zeros(n, np.int64) if tree.empty_branch == "root" else np.arange(n)
    stay_error = np.where(tree.arrays.kind != LEAF, about + weight * (mean - value[answering]) ** 2, 0.0)
    weight, mean, about = _core.sum_moments(tree.arrays.parent, weight, mean, about)
    return (
        weight,
        np.where(weight > 0, about + weight * (mean - value) ** 2, 0.0),
        np.where(weight > 0, stay_error, 0.0),
    )
