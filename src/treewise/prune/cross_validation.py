"""Pruning method "cv": choose a tree of the nested sequence by its loss on held-out rows.

Breiman et al. 1984, section 3.4.2: for each fold a tree is grown without it, with its own nested sequence. Between two
alphas of the full tree's sequence, their geometric mean is the penalty per leaf, and each fold's tree at that penalty
is scored on the held-out rows. So every row is predicted once at every penalty by a tree that was not trained on it.
``losses.py`` lists the losses, ``train/folds.py`` makes the folds, ``choice_error.py`` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.checks import check_choice
from treewise._lib.text import plural
from treewise.errors import DataError, Param, ParameterError
from treewise.predict.costs import cost_matrix_of, with_cost
from treewise.predict.leaf_probabilities import class_probabilities, default_smoothing
from treewise.predict.predict import answering_nodes, find_leaves
from treewise.prune.choice_bootstrap import BlockLosses
from treewise.prune.choice_error import FoldLosses, estimate_choice_error, estimate_tail_index
from treewise.prune.cost_complexity import alpha_decision
from treewise.prune.cp_table import cp_table_from_folds
from treewise.prune.decision import (
    RISKS,
    Bools,
    Floats,
    Ints,
    PruneDecision,
    is_internal,
    node_risks,
    rebuild_training_set,
)
from treewise.prune.losses import Loss, RowLosses, area_above_roc, find_loss
from treewise.prune.nested_trees import NestedTrees, find_nested_trees
from treewise.prune.penalty_path import PenaltyPath, sum_losses
from treewise.train.folds import Fold, check_classes, make_folds
from treewise.train.grow import Progress, grow_training_set
from treewise.train.resampling import LossStats, take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

RULES = ("1se", "best")
_MAX_AUC_SIZES = 1000  # sizes at which an AUC is computed: each costs a pass over the leaves


@dataclass(frozen=True)
class CrossValidation:
    """How held-out rows choose a size: the options of ``pruning="cv"``."""

    loss: str | None = None  # by default what the tree predicts by (losses.py)
    rule: str = RULES[0]
    folds: Any = None
    repeats: int = 1
    risk: str | None = None  # of the sequence; by default that of the loss
    random_state: int = 0


def decide(
    tree: Tree,
    data: Any = None,
    loss: str | None = None,
    rule: str | None = None,
    folds: Any = None,
    repeats: int = 1,
    groups: Any = None,
    time: Any = None,
    risk: str | None = None,
    sample_weight: Any = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> PruneDecision:
    """Cut to the size that cross-validation on the training table, ``data``, chooses."""
    if data is None:
        raise ParameterError(
            Param("method", "cv")
            + " needs "
            + Param("data", ...)
            + ", the training table, to grow trees on parts of it."
        )
    if not tree.fit_info.is_grown:
        raise ParameterError(
            "cross-validation needs a grown tree, and this one was written by hand.",
            hint="Use cost_complexity with " + Param("ccp_alpha") + ".",
        )
    recorded = tree.fit_info.fit_options
    groups, time = recorded.groups if groups is None else groups, recorded.time if time is None else time
    training_set = rebuild_training_set(tree, data, sample_weight, groups, time)
    plan = CrossValidation(loss, rule or RULES[0], folds, repeats, risk, random_state or 0)
    return decide_by_folds(tree, training_set, plan, n_jobs)


def decide_by_folds(
    tree: Tree,
    training_set: TrainingSet,
    plan: CrossValidation,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> PruneDecision:
    """Choose the size by cross-validation: the smallest tree within one standard error of the best, or the best."""
    held_out = cross_validate(tree, training_set, plan, n_jobs, progress)
    loss, folds, nested = held_out.loss, held_out.losses.folds, held_out.nested
    chosen = held_out.losses.choose(plan.rule)
    index = int(held_out.sequence_index[chosen])
    estimate = estimate_choice_error(held_out.losses, plan.rule, loss)
    options = {"ccp_alpha": float(nested.alpha[index]), "risk": nested.risk_name, "loss": loss.name}
    options |= {"folds": folds.count, "rule": plan.rule} | ({"repeats": folds.repeats} if folds.repeats > 1 else {})
    described = loss.describe(estimate.value, estimate.low, estimate.high)
    root = loss.format(held_out.root_loss, loss.half_width(estimate.low, estimate.high))
    facts = [f"{folds}, {plan.rule}: cross-validated {described}; root alone {root}"]
    notes = check_classes(training_set, folds), _tail_note(tree, nested.cut_at(index), loss, training_set)
    facts = [*(f"note: {note}" for note in notes if note), *facts]
    more = {
        "cp_table": cp_table_from_folds(tree, held_out, chosen).to_dict(),
        "cross_validated": estimate.to_dict(),
    }
    return alpha_decision(tree, nested, nested.cut_at(index), options, facts, more)


def _tail_note(tree: Tree, cut: Bools, loss: Loss, training_set: TrainingSet) -> str | None:
    """Return a note on losses of the chosen tree whose tail is too heavy for any interval; None for other losses."""
    if loss.task == "classification":
        return None
    nodes = find_leaves(tree, list(training_set.columns), len(training_set))
    above = np.arange(len(tree))  # the topmost cut node above each node, or the node itself
    for node, parent in enumerate(tree.arrays.parent.tolist()):
        if parent >= 0 and (cut[parent] or above[parent] != parent):
            above[node] = above[parent]
    losses = row_losses(tree, loss, training_set, slice(None))(np.arange(len(training_set)), above[nodes])
    index, end = estimate_tail_index(losses)
    if end >= 2:
        return None
    return (
        f"a few rows make up much of the {loss.name.replace('_', ' ')} (tail index {index:.1f}; below 2 it has no"
        " variance): the interval of the cross-validated loss may be too narrow"
    )


@dataclass(frozen=True, eq=False)
class HeldOutLosses:
    """Cross-validated losses of the trees of a sequence, from the largest to the root."""

    loss: Loss
    nested: NestedTrees
    sequence_index: Ints  # of each tree in `nested`
    losses: FoldLosses
    n_splits: Ints
    rel_error: Floats  # on the training rows, relative to the root
    root_loss: float  # of the root, on the training rows

    @property
    def xerror(self) -> Floats:
        """The loss relative to that of the root, as in rpart."""
        return self.losses.mean / (self.root_loss or 1.0)

    @property
    def xstd(self) -> Floats:
        """The standard error relative to the loss of the root."""
        return self.losses.standard_error / (self.root_loss or 1.0)


def cross_validate(
    tree: Tree,
    training_set: TrainingSet,
    plan: CrossValidation,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> HeldOutLosses:
    """Score every tree of the sequence that ``plan.loss`` chooses from on held-out rows, fold by fold."""
    loss = find_loss(tree, plan.loss)
    check_choice("rule", plan.rule, RULES)
    risk = loss.risk if plan.risk is None else plan.risk
    check_choice("risk", risk, RISKS)
    nested = find_nested_trees(tree, risk)
    folds = make_folds(training_set, plan.folds, plan.repeats, plan.random_state)
    sequence_index = np.arange(nested.first, len(nested))
    if loss.of_rows is None and len(sequence_index) > _MAX_AUC_SIZES:
        indices = np.unique(np.geomspace(1, len(sequence_index), _MAX_AUC_SIZES).round().astype(np.int64))
        sequence_index = np.sort(len(nested) - indices)
    alpha = nested.alpha[sequence_index]
    upper = np.append(nested.alpha[1:], np.inf)[sequence_index]
    penalties = np.where(np.isinf(upper), np.inf, np.sqrt(alpha * np.where(np.isinf(upper), 1.0, upper)))
    blocks = None
    if loss.of_rows is not None:
        n_rows, seed = len(training_set), plan.random_state
        blocks = BlockLosses.of(folds, training_set.groups, n_rows, len(penalties), seed)
    scorer, scored = _FoldScorer(tree, nested, loss, training_set, penalties, n_jobs, blocks), []
    for i, fold in enumerate(folds.folds):
        ticks = None if progress is None else _fold_progress(progress, i, len(folds.folds))
        scored.append(scorer.score(fold, ticks))
    risks = node_risks(tree, "error" if loss.risk == "error" else risk)
    return HeldOutLosses(
        loss,
        nested,
        sequence_index,
        FoldLosses.of(scored, folds, loss.of_rows is not None, blocks),
        nested.totals(tree, np.zeros(len(tree)), is_internal(tree).astype(float))[sequence_index]
        .round()
        .astype(np.int64),
        nested.totals(tree, risks)[sequence_index] / (float(risks[0]) or 1.0),
        _root_loss(tree, loss, training_set),
    )


def _fold_progress(progress: Progress, fold: int, folds: int) -> Progress:
    return lambda share: progress((fold + share) / folds)


def _root_loss(tree: Tree, loss: Loss, training_set: TrainingSet) -> float:
    """Return the loss per row of the root alone, on the training rows."""
    if loss.of_rows is None:
        return 0.5
    if loss.risk == "error" and loss.name in ("error", "cost", "squared_error"):
        return float(node_risks(tree, "error")[0] / tree.arrays.weight[0])
    rows, weight = np.arange(len(training_set)), row_weights(training_set)
    of_rows = row_losses(tree, loss, training_set, rows)
    return float(weight @ of_rows(rows, np.zeros(len(rows), np.int64)) / weight.sum())


def row_weights(training_set: TrainingSet, rows: Ints | slice = slice(None)) -> Floats:
    """Return the weights of some rows."""
    return np.ldexp(np.asarray(training_set.weight)[rows].astype(np.float64), -training_set.weight_scale)


def row_losses(tree: Tree, loss: Loss, training_set: TrainingSet, rows: Ints | slice) -> RowLosses:
    """Return the loss of some rows of a training set, by the node that answers."""
    cost = cost_matrix_of(tree)
    is_regression = training_set.target.task == "regression"
    truth = training_set.raw[rows] if is_regression else training_set.y[rows].astype(np.int64)
    assert loss.of_rows is not None
    return loss.of_rows(tree, truth, None if cost is None else cost.matrix)


@dataclass(frozen=True, eq=False)
class _FoldScorer:
    """Shared by the folds: the tree of all rows with its sequence, the loss and the penalties."""

    full_tree: Tree
    nested: NestedTrees
    loss: Loss
    training_set: TrainingSet
    penalties: Floats
    n_jobs: int | None
    blocks: BlockLosses | None

    def score(self, fold: Fold, progress: Progress | None) -> LossStats:
        """Grow a tree without one fold, and sum its losses and their squares on that fold at every penalty.

        The losses are added to ``blocks`` as well.
        """
        training_set, rows = self.training_set, fold.held_out
        tree = grow_training_set(take_rows(training_set, fold.training), progress, self.n_jobs, keep_quartiles=False)
        if tree.task == "classification":
            tree = with_cost(tree, cost_matrix_of(self.full_tree))  # costs may have changed since it was grown
        nested = find_nested_trees(tree, self.nested.risk_name)
        weight = row_weights(training_set, rows)
        totals = float(weight.sum()), float((weight**2).sum())
        if self.loss.of_rows is None:
            mean = self._auc(tree, nested, rows, weight)
            return LossStats(mean * totals[0], mean**2 * totals[0], *totals)
        sums, squares = sum_losses(self._path(tree, nested, rows), weight, len(self.penalties))
        if self.blocks is not None:
            self.blocks.add(self._path(tree, nested, rows), rows, weight, len(self.penalties))
        return LossStats(sums, squares, *totals)

    def _path(self, tree: Tree, nested: NestedTrees, rows: Ints) -> PenaltyPath:
        of_rows = row_losses(tree, self.loss, self.training_set, rows)
        return PenaltyPath(tree, nested, self._leaves(tree, rows), self.penalties, of_rows)

    def _leaves(self, tree: Tree, rows: Ints) -> Ints:
        return find_leaves(tree, [values[rows] for values in self.training_set.columns], len(rows))

    def _auc(self, tree: Tree, nested: NestedTrees, rows: Ints, weight: Floats) -> Floats:
        is_positive = self.training_set.y[rows] == len(tree.classes) - 1
        sides = weight * is_positive, weight * ~is_positive
        mean = _auc_along_penalties(tree, nested, self._leaves(tree, rows), self.penalties, *sides)
        if np.isnan(mean).any():
            raise DataError(
                f"a fold of {plural(len(rows), 'row')} holds rows of one class only, so it has no AUC.",
                hint="Use fewer folds, or the loss log_loss.",
            )
        return mean


def _auc_along_penalties(
    tree: Tree, nested: NestedTrees, leaves: Ints, penalties: Floats, positives: Floats, negatives: Floats
) -> Floats:
    """Return 1 − AUC at every penalty, from the weights of positive and other rows at each leaf."""
    reached, inverse = np.unique(leaves, return_inverse=True)
    up, across = (np.bincount(inverse, weight, len(reached)) for weight in (positives, negatives))
    score = class_probabilities(tree, np.arange(len(tree)), default_smoothing(tree))[:, -1]
    index_of = nested.entries(penalties, nested.leaf_alpha)
    answering = answering_nodes(tree, reached)
    next_leaf = np.where(nested.leaf_alpha[reached] < np.inf, reached, nested.leaf_above[reached])
    areas = np.empty(len(penalties))
    for k in range(len(penalties)):
        while (climbs := (next_leaf >= 0) & (index_of[next_leaf] <= k)).any():
            answering = np.where(climbs, next_leaf, answering)
            next_leaf = np.where(climbs, nested.leaf_above[next_leaf], next_leaf)
        areas[k] = area_above_roc(score[answering], up, across)
    return areas
