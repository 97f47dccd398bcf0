"""Pruning method "cost_complexity": choose a tree of the nested sequence by ``ccp_alpha`` or by cross-validation.

Breiman et al. 1984, chapter 3; section 3.4.2 for the folds: for each fold a tree is grown without it, with its own
nested sequence. Between two alphas of the full tree's sequence, their geometric mean is the penalty per leaf, and each
fold's tree at that penalty is scored on the held-out rows. So every row is predicted once at every penalty by a tree
that was not trained on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.checks import check_number
from treewise._lib.text import format_rounded, plural
from treewise.errors import Param, ParameterError, join_message
from treewise.predict.costs import cost_matrix_of, with_cost
from treewise.predict.predict import answering_nodes, find_leaves
from treewise.prune.cp_table import cp_table_from_folds
from treewise.prune.decision import Bools, Floats, Ints, PruneDecision, is_internal, node_risks, rebuild_training_set
from treewise.prune.nested_trees import NestedTrees, find_nested_trees
from treewise.train.grow import Progress, grow_training_set
from treewise.train.resampling import DEFAULT_FOLDS, LossStats, assign_folds, take_rows
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

RULES = ("1-SE", "best")


def decide(
    tree: Tree,
    ccp_alpha: float | None = None,
    risk: str | None = None,
    data: Any = None,
    folds: Any = None,
    rule: str | None = None,
    sample_weight: Any = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> PruneDecision:
    """Cut to the optimal tree for a penalty of ``ccp_alpha`` per leaf, or to the size that cross-validation chooses.

    ``risk`` defaults to impurity with ``ccp_alpha``, as in scikit-learn, and to error with folds, as in rpart.
    """
    if ccp_alpha is None:
        if data is None:
            raise ParameterError(
                'prune("cost_complexity") needs '
                + Param("ccp_alpha", ...)
                + ", a penalty per leaf, or "
                + Param("data", ...)
                + ", the training table, to choose one by cross-validation."
            )
        if not tree.fit_info.is_grown:
            raise ParameterError(
                "cross-validation needs a grown tree, and this one was written by hand.",
                hint="Give " + Param("ccp_alpha") + ".",
            )
        training_set = rebuild_training_set(tree, data, sample_weight)
        return decide_by_folds(tree, training_set, risk or "error", folds, rule or RULES[0], random_state or 0, n_jobs)
    choosing = {"data": data, "folds": folds, "rule": rule, "sample_weight": sample_weight}
    choosing |= {"random_state": random_state, "n_jobs": n_jobs}
    fold_options = [Param(name) for name, value in choosing.items() if value is not None]
    if fold_options:
        raise ParameterError(
            Param("ccp_alpha")
            + " fixes the penalty, and "
            + join_message(", ", fold_options)
            + " would choose it by cross-validation.",
            hint="Leave one of them out.",
        )
    alpha = check_alpha(ccp_alpha)
    nested = find_nested_trees(tree, risk or "impurity")
    cut = nested.leaf_alpha <= nested.alpha[nested.find(alpha)]
    return _decision(tree, nested, cut, {"ccp_alpha": alpha, "risk": nested.risk_name})


def check_alpha(ccp_alpha: Any) -> float:
    """Return ``ccp_alpha`` as a float; raise unless it is a number, 0 or more."""
    alpha = ccp_alpha.item() if isinstance(ccp_alpha, np.number) else ccp_alpha
    check_number("ccp_alpha", alpha, 0.0, math.inf)
    return float(alpha)


def decide_by_folds(
    tree: Tree,
    training_set: TrainingSet,
    risk: str = "error",
    folds: Any = None,
    rule: str = RULES[0],
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> PruneDecision:
    """Choose the size by cross-validation: the smallest tree within one standard error of the best, or the best."""
    nested = find_nested_trees(tree, risk)
    numbers = _read_folds(training_set, folds, random_state)
    losses = _cross_validate(tree, nested, training_set, numbers, n_jobs, progress)
    chosen = losses.best if rule == "best" else losses.within_one_se
    entry, count = int(losses.entry[chosen]), len(np.unique(numbers))
    error, se = float(losses.error[chosen]), float(losses.standard_error[chosen])
    options = {"ccp_alpha": float(nested.alpha[entry]), "risk": risk, "folds": count, "rule": rule}
    table = cp_table_from_folds(tree, losses, chosen)
    facts = [f"{count} folds, {rule}: {_format_error(tree, error, se, losses.root_error)}"]
    more = {"cp_table": table.to_dict(), "error": [error, se]}
    return _decision(tree, nested, nested.cut_at(entry), options, facts, more)


def _read_folds(training_set: TrainingSet, folds: Any, random_state: int) -> Ints:
    """Return the fold of each row: a number of random folds, or one fold number per row as given."""
    if folds is None:
        return assign_folds(training_set, max(2, min(DEFAULT_FOLDS, len(training_set))), random_state)
    if isinstance(folds, int | np.integer) and not isinstance(folds, bool):
        return assign_folds(training_set, int(folds), random_state)
    given = np.asarray(folds)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) != len(training_set) or len(np.unique(given)) < 2:
        raise ParameterError(
            f"must be a whole number, 2 or more, or a fold number for each of the {len(training_set):,} rows.",
            parameter="folds",
            value=folds,
        )
    return given.astype(np.int64)


def _format_error(tree: Tree, error: float, se: float, root: float) -> str:
    """Format a cross-validated error with its standard error beside that of the root: percent, cost or RMSE."""
    if tree.criterion == "absolute_error":
        mae = f"{format_rounded(error)} ± {format_rounded(se)}"
        return f"cross-validated mean absolute error {mae}; root alone {format_rounded(root)}"
    if tree.task == "regression":
        share = 100 * se / error if error > 0 else 0.0
        rmse = format_rounded(math.sqrt(error))
        return f"cross-validated RMSE {rmse} (its square ± {share:.1f} %); root alone {format_rounded(math.sqrt(root))}"
    if cost_matrix_of(tree) is not None:
        return f"cross-validated cost {error:.3f} ± {se:.3f} per row; root alone {root:.3f}"
    return f"cross-validated error {100 * error:.1f} % ± {100 * se:.1f}; root alone {100 * root:.1f} %"


def _decision(
    tree: Tree,
    nested: NestedTrees,
    cut: Bools,
    options: dict[str, Any],
    facts: list[str] | None = None,
    more: dict[str, Any] | None = None,
) -> PruneDecision:
    """Return a decision that lists the alpha at which each node becomes a leaf, and the chosen one."""
    alphas, risk, trees = nested.leaf_alpha, nested.risk_name, len(nested) - nested.first
    return PruneDecision(
        cut,
        is_internal(tree) & np.isfinite(alphas),
        before=alphas,
        after=np.full(len(tree), options["ccp_alpha"]),
        measure=f"the price from which on the node is a leaf ({risk} per row and leaf), and the price",
        reason=lambda node: "not worth the price" if cut[node] else "worth the price",
        options=options,
        facts=[
            f"nested sequence of {plural(trees, 'tree')}, alpha 0 to {format_rounded(float(nested.alpha[-1]))}",
            *(facts or []),
        ],
        extra=more or {},
    )


Errors = Callable[[Ints, Ints], Floats]  # (rows, nodes) → the error of each row when its node answers


@dataclass(frozen=True, eq=False)
class HeldOutLosses:
    """Cross-validated error per row of the trees of a sequence, from the largest to the root."""

    entry: Ints
    alpha: Floats
    n_leaves: Ints
    n_splits: Ints
    cp: Floats  # alpha in units of the root risk
    rel_error: Floats
    error: Floats
    standard_error: Floats
    root_error: float  # of the root, on the training rows

    @property
    def xerror(self) -> Floats:
        """The error relative to that of the root, as in rpart."""
        return self.error / (self.root_error or 1.0)

    @property
    def xstd(self) -> Floats:
        """The standard error relative to the error of the root."""
        return self.standard_error / (self.root_error or 1.0)

    @property
    def best(self) -> int:
        """The index of the smallest tree with minimum error."""
        return int(np.flatnonzero(self.error <= self.error.min() * (1 + 1e-12))[-1])

    @property
    def within_one_se(self) -> int:
        """The index of the smallest tree within one standard error of the minimum (the 1-SE rule)."""
        limit = self.error[self.best] + self.standard_error[self.best]
        return int(np.flatnonzero(self.error <= limit * (1 + 1e-12))[-1])


def _cross_validate(
    tree: Tree,
    nested: NestedTrees,
    training_set: TrainingSet,
    folds: Ints,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> HeldOutLosses:
    """Score every tree of a sequence on held-out rows, fold by fold."""
    entry = np.arange(nested.first, len(nested))
    alpha = nested.alpha[entry]
    penalties = np.append(np.sqrt(alpha[:-1] * alpha[1:]), np.inf)
    sums = LossStats.nothing(len(entry))
    numbers = np.unique(folds)
    for i, fold in enumerate(numbers.tolist()):
        ticks = None if progress is None else _fold_progress(progress, i, len(numbers))
        sums.add(_score_fold(tree, nested.risk_name, training_set, folds == fold, penalties, n_jobs, ticks))
    errors = node_risks(tree, "error")
    return HeldOutLosses(
        entry,
        alpha,
        nested.n_leaves[entry],
        nested.totals(tree, np.zeros(len(tree)), is_internal(tree).astype(float))[entry].round().astype(np.int64),
        alpha / (nested.root_risk or 1.0),
        nested.totals(tree, errors)[entry] / (float(errors[0]) or 1.0),
        sums.mean,
        sums.standard_error,
        float(errors[0]) / sums.weight,
    )


def _fold_progress(progress: Progress, fold: int, folds: int) -> Progress:
    return lambda share: progress((fold + share) / folds)


def _score_fold(
    full_tree: Tree,
    risk: str,
    training_set: TrainingSet,
    losses: Bools,
    penalties: Floats,
    n_jobs: int | None,
    progress: Progress | None,
) -> LossStats:
    """Grow a tree without one fold, and sum its errors and their squares on that fold at every penalty."""
    tree = grow_training_set(take_rows(training_set, np.flatnonzero(~losses)), progress, n_jobs, keep_quartiles=False)
    cost = cost_matrix_of(full_tree)
    if full_tree.task == "classification":
        tree = with_cost(tree, cost)  # the full tree's costs may have changed since it was grown
    rows = np.flatnonzero(losses)
    ends = find_leaves(tree, [values[rows] for values in training_set.columns], len(rows))
    weight = np.ldexp(training_set.weight[rows].astype(np.float64), -training_set.weight_scale)
    if training_set.target.task == "regression":
        truth = training_set.raw[rows]

        def errors(rows_: Ints, nodes: Ints) -> Floats:
            residual = truth[rows_] - tree.arrays.value[nodes]
            return np.asarray(np.abs(residual) if tree.criterion == "absolute_error" else residual**2)
    else:
        classes, matrix = training_set.y[rows].astype(np.int64), None if cost is None else cost.matrix

        def errors(rows_: Ints, nodes: Ints) -> Floats:
            predicted = tree.arrays.label[nodes]
            return np.asarray(
                classes[rows_] != predicted if matrix is None else matrix[classes[rows_], predicted], np.float64
            )

    loss, square = _sum_along_penalties(tree, find_nested_trees(tree, risk), ends, penalties, errors, weight)
    return LossStats(loss, square, float(weight.sum()), float((weight**2).sum()))


def _sum_along_penalties(
    tree: Tree, nested: NestedTrees, ends: Ints, penalties: Floats, errors: Errors, weight: Floats
) -> tuple[Floats, Floats]:
    """Sum the errors of rows, and their squares, at every penalty.

    As the penalty rises, the node that answers for a row moves up: from its leaf to the next ancestor that becomes a
    leaf. All rows climb together, and each answer counts from its penalty to that of the next.
    """
    k = len(penalties)
    sums, squares = np.zeros(k + 1), np.zeros(k + 1)
    index_of = nested.entries(penalties, nested.leaf_alpha)
    rows, answering, start = np.arange(len(ends)), answering_nodes(tree, ends), np.zeros(len(ends), np.int64)
    next_leaf = np.where(nested.leaf_alpha[ends] < np.inf, ends, nested.leaf_above[ends])
    while len(rows):
        stop = np.where(next_leaf >= 0, index_of[next_leaf], k)
        row_errors = errors(rows, answering)
        for total, amount in ((sums, row_errors * weight[rows]), (squares, row_errors * row_errors * weight[rows])):
            total += np.bincount(start, amount, k + 1) - np.bincount(stop, amount, k + 1)
        more = next_leaf >= 0
        rows, answering, start = rows[more], next_leaf[more], stop[more]
        next_leaf = nested.leaf_above[answering]
    return np.cumsum(sums)[:k], np.cumsum(squares)[:k]
