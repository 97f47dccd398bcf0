"""Cost complexity: a tree of the nested sequence, by the price of a leaf or by folds (Breiman et al. 1984)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treewise._lib.text import format_rounded, plural
from treewise.errors import Param, ParameterError, join_message
from treewise.predict.costs import cost_matrix_of
from treewise.prune.cp_table import from_folds
from treewise.prune.cross_validation import cross_validate
from treewise.prune.decision import Bools, Ints, PruneDecision, inner
from treewise.prune.training_table import own_problem
from treewise.prune.tree_sequence import NestedTrees, find_nested_trees
from treewise.train.grow import Progress
from treewise.train.resampling import USUAL_FOLDS, fold_numbers
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
        training_set = own_problem(tree, data, sample_weight)
        return by_folds(tree, training_set, risk or "error", folds, rule or RULES[0], random_state or 0, n_jobs)
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
    price = read_price(ccp_alpha)
    nested = find_nested_trees(tree, risk or "impurity")
    cut = nested.leaf_from <= nested.alpha[nested.find(price)]
    return verdict(tree, nested, cut, {"ccp_alpha": price, "risk": nested.risk_name})


def read_price(ccp_alpha: Any) -> float:
    """Check the price of a leaf: a number of any type, 0 or more."""
    price = ccp_alpha.item() if isinstance(ccp_alpha, np.number) else ccp_alpha
    within("ccp_alpha", price, 0.0, math.inf)
    return float(price)


def by_folds(
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
    numbers = read_folds(training_set, folds, random_state)
    held = cross_validate(tree, nested, training_set, numbers, n_jobs, progress)
    chosen = held.best if rule == "best" else held.within_one_se
    entry, count = int(held.entry[chosen]), len(np.unique(numbers))
    error, se = float(held.error[chosen]), float(held.standard_error[chosen])
    options = {"ccp_alpha": float(nested.alpha[entry]), "risk": risk, "folds": count, "rule": rule}
    table = from_folds(tree, held, chosen)
    facts = [f"{count} folds, {rule}: {error_in_words(tree, error, se, held.root_error)}"]
    more = {"cp_table": table.to_dict(), "error": [error, se]}
    return verdict(tree, nested, nested.cut_at(entry), options, facts, more)


def read_folds(training_set: TrainingSet, folds: Any, random_state: int) -> Ints:
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


def error_in_words(tree: Tree, error: float, se: float, root: float) -> str:
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


def verdict(
    tree: Tree,
    nested: NestedTrees,
    cut: Bools,
    options: dict[str, Any],
    facts: list[str] | None = None,
    more: dict[str, Any] | None = None,
) -> PruneDecision:
    """Lay out the alphas at which each node becomes a leaf beside the one that was chosen."""
    alphas, risk, trees = nested.leaf_from, nested.risk_name, len(nested) - nested.first
    return PruneDecision(
        cut,
        inner(tree) & np.isfinite(alphas),
        before=alphas,
        after=np.full(len(tree), options["ccp_alpha"]),
        measure=f"the price from which on the node is a leaf ({risk} per row and leaf), and the price",
        why=lambda node: "not worth the price" if cut[node] else "worth the price",
        options=options,
        facts=[
            f"nested sequence of {plural(trees, 'tree')}, alpha 0 to {format_rounded(float(nested.alpha[-1]))}",
            *(facts or []),
        ],
        more=more or {},
    )
