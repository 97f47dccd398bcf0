"""Which tree of the nested sequence errs least on rows it has not seen: by folds (Breiman et al. 1984, section 3.4.2).

For each fold a tree is grown without it, with its own nested sequence; the price of a leaf links the sequences. Between
two alphas of the whole table's sequence their geometric mean is the price, and each fold's tree at that price is tried
on the rows held out. So every row is predicted once at every price by a tree that has not seen it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treewise.predict.costs import cost_matrix_of, with_cost
from treewise.predict.predict import answering_nodes, find_leaves
from treewise.prune.decision import Bools, Floats, Ints, inner
from treewise.prune.risk import node_risks
from treewise.prune.tree_sequence import NestedTrees, find_nested_trees
from treewise.train.grow import Progress, grow_training_set
from treewise.train.loss_stats import LossStats
from treewise.train.resampling import part
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

Errors = Callable[[Ints, Ints], Floats]  # (rows, nodes) → what each row costs when its node answers


@dataclass(frozen=True, eq=False)
class HeldOutLosses:
    """For some trees of a sequence, from the largest: its entry, and its error a row where rows were held out."""

    entry: Ints
    alpha: Floats
    n_leaves: Ints
    n_splits: Ints
    cp: Floats  # alpha in units of the root's risk
    rel_error: Floats
    error: Floats
    standard_error: Floats
    root_error: float  # of the root alone, on the rows it was grown on

    @property
    def xerror(self) -> Floats:
        """The error in units of the root's, as rpart has it."""
        return self.error / (self.root_error or 1.0)

    @property
    def xstd(self) -> Floats:
        """The standard error in the same units."""
        return self.standard_error / (self.root_error or 1.0)

    @property
    def best(self) -> int:
        """The smallest tree of least error."""
        return int(np.flatnonzero(self.error <= self.error.min() * (1 + 1e-12))[-1])

    @property
    def within_one_se(self) -> int:
        """The smallest tree whose error is within one standard error of the least (the 1-SE rule)."""
        limit = self.error[self.best] + self.standard_error[self.best]
        return int(np.flatnonzero(self.error <= limit * (1 + 1e-12))[-1])


def cross_validate(
    tree: Tree,
    nested: NestedTrees,
    training_set: TrainingSet,
    folds: Ints,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> HeldOutLosses:
    """Try every tree of a sequence, grown on a training set, on rows held out, fold by fold."""
    entry = np.arange(nested.first, len(nested))
    alpha = nested.alpha[entry]
    prices = np.append(np.sqrt(alpha[:-1] * alpha[1:]), np.inf)
    sums = LossStats.nothing(len(entry))
    numbers = np.unique(folds)
    for i, fold in enumerate(numbers.tolist()):
        ticks = None if progress is None else step_of(progress, i, len(numbers))
        sums.add(one_fold(tree, nested.risk_name, training_set, folds == fold, prices, n_jobs, ticks))
    errors = node_risks(tree, "error")
    return HeldOutLosses(
        entry,
        alpha,
        nested.n_leaves[entry],
        nested.totals(tree, np.zeros(len(tree)), inner(tree).astype(float))[entry].round().astype(np.int64),
        alpha / (nested.root_risk or 1.0),
        nested.totals(tree, errors)[entry] / (float(errors[0]) or 1.0),
        sums.mean,
        sums.standard_error,
        float(errors[0]) / sums.weight,
    )


def step_of(progress: Progress, fold: int, folds: int) -> Progress:
    """Return the progress of one fold among all."""
    return lambda share: progress((fold + share) / folds)


def one_fold(
    whole: Tree,
    risk: str,
    training_set: TrainingSet,
    held: Bools,
    prices: Floats,
    n_jobs: int | None,
    progress: Progress | None,
) -> LossStats:
    """Grow without a fold, and sum errors and their squares on it at every price."""
    tree = grow_training_set(part(training_set, np.flatnonzero(~held)), progress, n_jobs, keep_quartiles=False)
    cost = cost_matrix_of(whole)
    if whole.task == "classification":
        tree = with_cost(tree, cost)  # also where the tree was grown with costs and has none any more
    rows = np.flatnonzero(held)
    ends = find_leaves(tree, [values[rows] for values in training_set.columns], len(rows))
    weight = np.ldexp(training_set.weight[rows].astype(np.float64), -training_set.weight_scale)
    if training_set.target.task == "regression":
        truth = training_set.raw[rows]

        def errors(of: Ints, nodes: Ints) -> Floats:
            off = truth[of] - tree.arrays.value[nodes]
            return np.asarray(np.abs(off) if tree.criterion == "absolute_error" else off**2)
    else:
        classes, matrix = training_set.y[rows].astype(np.int64), None if cost is None else cost.matrix

        def errors(of: Ints, nodes: Ints) -> Floats:
            said = tree.arrays.label[nodes]
            return np.asarray(classes[of] != said if matrix is None else matrix[classes[of], said], np.float64)

    loss, square = along(tree, find_nested_trees(tree, risk), ends, prices, errors, weight)
    return LossStats(loss, square, float(weight.sum()), float((weight**2).sum()))


def along(
    tree: Tree, nested: NestedTrees, ends: Ints, prices: Floats, errors: Errors, weight: Floats
) -> tuple[Floats, Floats]:
    """Sum the errors of rows, and their squares, at every price of a leaf.

    As the price rises a row's answer moves up: from the node where it ends to the next one above that becomes a leaf.
    All rows climb together, and each answer counts from its price to that of the next.
    """
    k = len(prices)
    sums, squares = np.zeros(k + 1), np.zeros(k + 1)
    place = nested.entries(prices, nested.leaf_from)
    rows, speaker, start = np.arange(len(ends)), answering_nodes(tree, ends), np.zeros(len(ends), np.int64)
    following = np.where(nested.leaf_from[ends] < np.inf, ends, nested.above[ends])
    while len(rows):
        stop = np.where(following >= 0, place[following], k)
        each = errors(rows, speaker)
        for total, amount in ((sums, each * weight[rows]), (squares, each * each * weight[rows])):
            total += np.bincount(start, amount, k + 1) - np.bincount(stop, amount, k + 1)
        more = following >= 0
        rows, speaker, start = rows[more], following[more], stop[more]
        following = nested.above[speaker]
    return np.cumsum(sums)[:k], np.cumsum(squares)[:k]
