"""The size of an optimal tree, chosen by cross-validation: ``pruning="cv"`` of ``treewise.optimal``.

As for a pruned tree (``cross_validation.py``), with searches in place of subtrees: for every depth up to the limit, the
trees that are best at some penalty per leaf; a fold searches without its rows at the geometric mean of the penalties
between which a tree is the best. Beside it stands the greedy tree of any size, pruned by the same folds: it is often
larger, and often better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import plural
from treewise.errors import Param, ParameterError
from treewise.predict.predict import find_leaves
from treewise.prune.choice_bootstrap import BlockLosses
from treewise.prune.choice_error import FoldLosses, estimate_choice_error
from treewise.prune.cross_validation import CrossValidation, decide_by_folds, row_losses, row_weights
from treewise.prune.decision import Floats
from treewise.prune.grow_and_prune import PruningPlan
from treewise.prune.losses import Loss, find_loss
from treewise.prune.prune import apply_decision, stop_reason
from treewise.train.folds import Fold, make_folds
from treewise.train.grow import grow_training_set
from treewise.train.optimal.optimal import OptimalResult, solve
from treewise.train.optimal.problem import OptimalProblem
from treewise.train.resampling import LossStats, take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.fit_info import CrossValidatedLoss
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree

_CLOSE = 1e-9  # penalties nearer than this, relatively, are one


@dataclass(frozen=True, eq=False)
class CandidateSize:
    """A depth and a penalty, with the best tree of all rows there."""

    max_depth: int
    penalty: float  # in the middle of those at which the tree is the best
    result: OptimalResult


@dataclass(frozen=True, eq=False, repr=False)
class OptimalSizes(Displayable):
    """The sizes that were compared, from the largest to the single leaf, and the one that was chosen."""

    candidates: tuple[CandidateSize, ...]
    losses: FoldLosses
    loss: Loss
    chosen: int
    estimate: CrossValidatedLoss  # of the chosen size, honestly: each fold at the choice of the others
    greedy: Tree  # of any size, pruned by the same folds
    greedy_estimate: CrossValidatedLoss

    def in_words(self) -> str:
        """Say which size was chosen, how good it is on held-out rows, and what a larger greedy tree gives."""
        size, leaves = self.candidates[self.chosen], self.candidates[self.chosen].result.tree.n_leaves
        own, greedy = (self.loss.describe(e.value, e.low, e.high) for e in (self.estimate, self.greedy_estimate))
        folds = self.losses.folds
        return (
            f"{folds}, {self.estimate.rule}: depth {size.max_depth} and a penalty of {size.penalty:.3g} per leaf, which"
            f" gives {plural(leaves, 'leaf', 'leaves')}; cross-validated {own}. The greedy tree of any size, pruned by"
            f" the same folds, has {plural(self.greedy.n_leaves, 'leaf', 'leaves')}; cross-validated {greedy}."
        )

    def result_table(self) -> ResultTable:
        """Return a row for each size."""
        columns = (
            ColumnSpec("max_depth", "count"),
            ColumnSpec("penalty", "number"),
            ColumnSpec("leaves", "count"),
            ColumnSpec("objective", "number"),
            ColumnSpec("cross_validated", "number"),
            ColumnSpec("standard_error", "number"),
            ColumnSpec("chosen", "flag"),
        )
        means, errors = self.losses.mean, self.losses.standard_error
        rows = [
            (c.max_depth, c.penalty, c.result.tree.n_leaves, _without_penalty(c.result), means[i].item(),
             errors[i].item(), i == self.chosen)
            for i, c in enumerate(self.candidates)
        ]  # fmt: skip
        return ResultTable("Sizes, by the loss on held-out rows", columns, rows, row_name="size")


def choose_size(problem: OptimalProblem, pruning: Any, options: dict[str, Any]) -> OptimalResult:
    """Search at every size, and return the result at the one that held-out rows choose."""
    plan = _read_plan(pruning)
    training_set = problem.training_set
    candidates = list_sizes(problem, options)
    largest = candidates[0].result.tree
    loss = find_loss(largest, plan.loss)
    if loss.of_rows is None:
        raise ParameterError("has no value for each row.", parameter="loss", value=loss.name, hint="Take another one.")
    folds = make_folds(training_set, plan.folds, plan.repeats, plan.random_state)
    blocks = BlockLosses.of(folds, training_set.groups, len(training_set), len(candidates), plan.random_state)
    scored = [_score(fold, candidates, problem, loss, blocks, options) for fold in folds.folds]
    losses = FoldLosses.of(scored, folds, True, blocks)
    chosen, estimate = losses.choose(plan.rule), estimate_choice_error(losses, plan.rule, loss)
    greedy, greedy_estimate = _grow_and_prune(training_set, plan, options)
    sizes = OptimalSizes(tuple(candidates), losses, loss, chosen, estimate, greedy, greedy_estimate)
    result = _solve(problem, None, candidates[chosen].max_depth, candidates[chosen].penalty, options)
    step = HistoryStep({**result.tree.history[0], "cross_validated": estimate.to_dict()})
    return replace(result, tree=result.tree.with_(history=(step,)), sizes=sizes)


def _read_plan(pruning: Any) -> CrossValidation:
    """Return the options of ``pruning="cv"``, as ``grow`` reads them."""
    plan = PruningPlan.of(pruning)
    if plan.method != "cv":
        raise ParameterError(
            "an optimal tree is not pruned; its size may be chosen.",
            parameter="pruning",
            value=plan.method,
            hint="Give " + Param("pruning", "cv") + ", or a " + Param("penalty") + ".",
        )
    if "risk" in plan.options:
        raise ParameterError(Param("risk") + " orders the subtrees of a grown tree; there are none here.")
    return CrossValidation(**plan.options)


def list_sizes(problem: OptimalProblem, options: dict[str, Any]) -> list[CandidateSize]:
    """Return the trees that are the best at some depth and penalty, from the largest to the single leaf."""
    sizes: list[CandidateSize] = []
    for depth in range(problem.max_depth, 0, -1):
        results = sorted(_best_at_penalties(problem, depth, options), key=lambda r: -r.tree.n_leaves)
        for larger, smaller in zip(results, [*results[1:], None], strict=True):
            start = _least_penalty(results, larger, problem)
            end = math.inf if smaller is None else _crossing(larger, smaller)
            if any(_same_structure(larger.tree, other.result.tree) for other in sizes):
                continue
            middle = math.sqrt(start * end) if math.isfinite(end) else start
            sizes.append(CandidateSize(larger.tree.depth if larger.tree.n_leaves == 1 else depth, middle, larger))
    return sorted(sizes, key=lambda c: (-c.result.tree.n_leaves, _without_penalty(c.result), -c.max_depth))


def _same_structure(a: Tree, b: Tree) -> bool:
    """Whether two trees of a problem make the same splits."""
    return len(a) == len(b) and [node.split for node in a] == [node.split for node in b]


def _least_penalty(results: list[OptimalResult], own: OptimalResult, problem: OptimalProblem) -> float:
    """Return the least penalty at which a tree is the best of the list."""
    i = results.index(own)
    return problem.value(problem.penalty) if i == 0 else _crossing(results[i - 1], own)


def _best_at_penalties(problem: OptimalProblem, depth: int, options: dict[str, Any]) -> Iterator[OptimalResult]:
    """Yield the best trees of a depth as the penalty rises: those on the lower envelope of loss against leaves."""
    base = problem.value(problem.penalty)
    first, last = (_solve(problem, None, depth, penalty, options) for penalty in (base, None))
    yield first
    if first.tree.n_leaves > last.tree.n_leaves:
        yield last
    pairs = [(first, last)]
    while pairs:
        large, small = pairs.pop()
        if large.tree.n_leaves - small.tree.n_leaves < 2:
            continue
        penalty = _crossing(large, small)
        between = _solve(problem, None, depth, penalty, options)
        line = _without_penalty(large) + penalty * large.tree.n_leaves
        own = _without_penalty(between) + penalty * between.tree.n_leaves
        if own < line * (1 - _CLOSE) and small.tree.n_leaves < between.tree.n_leaves < large.tree.n_leaves:
            yield between
            pairs += [(large, between), (between, small)]


def _crossing(large: OptimalResult, small: OptimalResult) -> float:
    """Return the penalty at which two trees are equally good."""
    gain = _without_penalty(small) - _without_penalty(large)
    return max(gain, 0.0) / (large.tree.n_leaves - small.tree.n_leaves)


def _without_penalty(result: OptimalResult) -> float:
    return result.objective - result.tree.n_leaves * result.problem.value(result.problem.penalty)


def _solve(
    problem: OptimalProblem, rows: Any, depth: int, penalty: float | None, options: dict[str, Any]
) -> OptimalResult:
    """Search at another depth and penalty, on some of the rows; without a penalty, for the single leaf."""
    training_set = problem.training_set if rows is None else take_rows(problem.training_set, rows)
    columns = sorted({order.column for order in problem.orders})
    limits = (depth if penalty is not None else 0), (None if penalty is None else problem.max_leaf_nodes)
    return solve(OptimalProblem.of(training_set, problem.objective, *limits, penalty or 0.0, columns), **options)


def _score(
    fold: Fold,
    candidates: list[CandidateSize],
    problem: OptimalProblem,
    loss: Loss,
    blocks: BlockLosses | None,
    options: dict[str, Any],
) -> LossStats:
    """Search without a fold at every size, and sum the losses on it."""
    training_set, rows = problem.training_set, fold.held_out
    weight, columns = row_weights(training_set, rows), []
    for candidate in candidates:
        tree = _solve(problem, fold.training, candidate.max_depth, candidate.penalty, options).tree
        cells = [values[rows] for values in training_set.columns]
        leaves = find_leaves(tree, cells, len(rows))
        columns.append(row_losses(tree, loss, training_set, rows)(np.arange(len(rows)), leaves))
    values: Floats = np.column_stack(columns)
    if blocks is not None:
        blocks.add_losses(values, rows, weight)
    return LossStats(weight @ values, weight @ values**2, float(weight.sum()), float((weight**2).sum()))


def _grow_and_prune(
    training_set: TrainingSet, plan: CrossValidation, options: dict[str, Any]
) -> tuple[Tree, CrossValidatedLoss]:
    """Return the greedy tree of any size, pruned by the same folds, and its cross-validated loss."""
    settings = replace(training_set.settings, criterion=_default_criterion(training_set), max_depth=None)
    unlimited = replace(training_set, settings=replace(settings, max_leaf_nodes=None))
    tree = grow_training_set(unlimited, n_jobs=options.get("n_jobs"))
    decision = decide_by_folds(tree, unlimited, plan, options.get("n_jobs"))
    pruned = apply_decision(tree, decision, "cv", stop_reason("cv"))
    return pruned, CrossValidatedLoss(**decision.extra["cross_validated"])


def _default_criterion(training_set: TrainingSet) -> str:
    return "entropy" if training_set.target.task == "classification" else "squared_error"
