"""Cost complexity: a tree of the nested sequence, by the price of a leaf or by folds (Breiman et al. 1984)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise._lib.text import format_rounded, plural
from treewise.errors import Param, ParameterError, join_message
from treewise.predict.costs import cost_matrix_of, with_cost
from treewise.predict.predict import answering_nodes, find_leaves
from treewise.prune.cp_table import cp_table_from_folds
from treewise.prune.decision import Bools, Floats, Ints, PruneDecision, is_internal, node_risks, rebuild_training_set
from treewise.prune.nested_trees import NestedTrees, find_nested_trees
from treewise.train.grow import Progress, grow_training_set
from treewise.train.loss_stats import LossStats
from treewise.train.resampling import USUAL_FOLDS, fold_numbers, part
from treewise.train.settings import within
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
    """Cut to the cheapest tree at a price of ``ccp_alpha`` a leaf (scikit-learn's); or to the size that folds choose.

    ``risk`` is by default impurity with a price, as in scikit-learn, and error with folds, as in rpart.
    """
    if ccp_alpha is None:
        if data is None:
            raise ParameterError(
                'prune("cost_complexity") needs a price a leaf, '
                + Param("ccp_alpha", ...)
                + "; or the table the tree was grown on, "
                + Param("data", ...)
                + ", to choose one by cross-validation."
            )
        if not any(step.get("did") == "grow" for step in tree.history):
            raise ParameterError(
                "cross-validation grows trees as this one was grown, and it was not.",
                hint="Give " + Param("ccp_alpha") + ".",
            )
        training_set = rebuild_training_set(tree, data, sample_weight)
        return decide_by_folds(tree, training_set, risk or "error", folds, rule or RULES[0], random_state or 0, n_jobs)
    choosing = {"data": data, "folds": folds, "rule": rule, "sample_weight": sample_weight}
    choosing |= {"random_state": random_state, "n_jobs": n_jobs}
    asked = [Param(name) for name, value in choosing.items() if value is not None]
    if asked:
        raise ParameterError(
            Param("ccp_alpha")
            + " is a choice, and "
            + join_message(", ", asked)
            + " would be part of another, by folds.",
            hint="Leave one of them out.",
        )
    price = check_alpha(ccp_alpha)
    nested = find_nested_trees(tree, risk or "impurity")
    cut = nested.leaf_alpha <= nested.alpha[nested.find(price)]
    return _decision(tree, nested, cut, {"ccp_alpha": price, "risk": nested.risk_name})


def check_alpha(ccp_alpha: Any) -> float:
    """Check the price of a leaf: a number of any type, 0 or more."""
    price = ccp_alpha.item() if isinstance(ccp_alpha, np.number) else ccp_alpha
    within("ccp_alpha", price, 0.0, math.inf)
    return float(price)


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
    """Let held-out rows choose the size: the smallest tree within one standard error of the best, or the best."""
    nested = find_nested_trees(tree, risk)
    numbers = _read_folds(training_set, folds, random_state)
    held = cross_validate(tree, nested, training_set, numbers, n_jobs, progress)
    chosen = held.best if rule == "best" else held.within_one_se
    entry, count = int(held.entry[chosen]), len(np.unique(numbers))
    error, se = float(held.error[chosen]), float(held.standard_error[chosen])
    options = {"ccp_alpha": float(nested.alpha[entry]), "risk": risk, "folds": count, "rule": rule}
    table = cp_table_from_folds(tree, held, chosen)
    facts = [f"{count} folds, {rule}: {_format_error(tree, error, se, held.root_error)}"]
    more = {"cp_table": table.to_dict(), "error": [error, se]}
    return _decision(tree, nested, nested.cut_at(entry), options, facts, more)


def _read_folds(training_set: TrainingSet, folds: Any, random_state: int) -> Ints:
    """Return the fold of each row: dealt out at random, so many, or as given, a number a row."""
    if folds is None:
        return fold_numbers(training_set, max(2, min(USUAL_FOLDS, len(training_set))), random_state)
    if isinstance(folds, int | np.integer) and not isinstance(folds, bool):
        return fold_numbers(training_set, int(folds), random_state)
    given = np.asarray(folds)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) != len(training_set) or len(np.unique(given)) < 2:
        raise ParameterError(
            f"must be a whole number, 2 or more, or the number of a fold for each of the {len(training_set):,} rows.",
            parameter="folds",
            value=folds,
        )
    return given.astype(np.int64)


def _format_error(tree: Tree, error: float, se: float, root: float) -> str:
    """Say a held-out error with its standard error, beside the root's: in percent of rows, as a cost, or as an RMSE."""
    if tree.criterion == "absolute_error":
        mae = f"{format_rounded(error)} ± {format_rounded(se)}"
        return f"cross-validated mean absolute error {mae}; root alone {format_rounded(root)}"
    if tree.task == "regression":
        share = 100 * se / error if error > 0 else 0.0
        rmse = format_rounded(math.sqrt(error))
        return f"cross-validated RMSE {rmse} (its square ± {share:.1f} %); root alone {format_rounded(math.sqrt(root))}"
    if cost_matrix_of(tree) is not None:
        return f"cross-validated cost {error:.3f} ± {se:.3f} a row; root alone {root:.3f}"
    return f"cross-validated error {100 * error:.1f} % ± {100 * se:.1f}; root alone {100 * root:.1f} %"


def _decision(
    tree: Tree,
    nested: NestedTrees,
    cut: Bools,
    options: dict[str, Any],
    facts: list[str] | None = None,
    more: dict[str, Any] | None = None,
) -> PruneDecision:
    """Lay out the alphas at which each node becomes a leaf beside the one that was chosen."""
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
        ticks = None if progress is None else _fold_progress(progress, i, len(numbers))
        sums.add(_score_fold(tree, nested.risk_name, training_set, folds == fold, prices, n_jobs, ticks))
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
    """Return the progress of one fold among all."""
    return lambda share: progress((fold + share) / folds)


def _score_fold(
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

    loss, square = _sum_along_prices(tree, find_nested_trees(tree, risk), ends, prices, errors, weight)
    return LossStats(loss, square, float(weight.sum()), float((weight**2).sum()))


def _sum_along_prices(
    tree: Tree, nested: NestedTrees, ends: Ints, prices: Floats, errors: Errors, weight: Floats
) -> tuple[Floats, Floats]:
    """Sum the errors of rows, and their squares, at every price of a leaf.

    As the price rises a row's answer moves up: from the node where it ends to the next one above that becomes a leaf.
    All rows climb together, and each answer counts from its price to that of the next.
    """
    k = len(prices)
    sums, squares = np.zeros(k + 1), np.zeros(k + 1)
    place = nested.entries(prices, nested.leaf_alpha)
    rows, speaker, start = np.arange(len(ends)), answering_nodes(tree, ends), np.zeros(len(ends), np.int64)
    following = np.where(nested.leaf_alpha[ends] < np.inf, ends, nested.leaf_above[ends])
    while len(rows):
        stop = np.where(following >= 0, place[following], k)
        each = errors(rows, speaker)
        for total, amount in ((sums, each * weight[rows]), (squares, each * each * weight[rows])):
            total += np.bincount(start, amount, k + 1) - np.bincount(stop, amount, k + 1)
        more = following >= 0
        rows, speaker, start = rows[more], following[more], stop[more]
        following = nested.leaf_above[speaker]
    return np.cumsum(sums)[:k], np.cumsum(squares)[:k]
