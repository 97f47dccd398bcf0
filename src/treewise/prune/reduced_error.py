"""Reduced error: cut what a validation table does not speak for (ID3 notes, "ID3 with Pruning").

"For each node v in T make T', which is T modified to prune at v. If error(T') on V ≤ error(T) on V, then update T to
keep this prune." The notes leave the order open. From the leaves up, a node is compared with its subtree as already
pruned, and the outcome is the smallest of all prunings with the least error on V. From the top down, a node is compared
with its whole subtree, which cuts more and may miss the least error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treewise._lib.text import format_count, format_rounded, format_share, plural
from treewise.errors import Param, ParameterError
from treewise.predict.costs import cost_matrix_of
from treewise.prune.by_size import require_predictions
from treewise.prune.decision import ROUNDING, Bools, Floats, PruneDecision, from_the_leaves_up, inner
from treewise.prune.validation_counts import ValidationCounts, look
from treewise.tree.tree import Tree

ORDERS = ("bottom-up", "top-down")
MOST_UNKNOWN = 5  # labels that are noted one by one


def decide(tree: Tree, validation: Any = None, order: str | None = None, sample_weight: Any = None) -> PruneDecision:
    """Cut where the node as a leaf errs no more on the validation rows; where none come by, too."""
    if validation is None or isinstance(validation, bool | int | float | np.number):
        raise ParameterError(
            'prune("reduced_error") needs rows the tree has not seen: ' + Param("validation", "valid.csv") + ".",
            hint="(A share is held back in growing: "
            + Param("pruning", "reduced_error")
            + ", "
            + Param("validation", 0.3)
            + ".)",
        )
    require_predictions(tree, inner(tree))
    return judged(tree, look(tree, validation, sample_weight), order or ORDERS[0])


def judged(tree: Tree, seen: ValidationCounts, order: str) -> PruneDecision:
    """Compare every node with its subtree on what was seen."""
    if order == "bottom-up":
        cut, before = from_the_leaves_up(tree, seen.as_leaf, seen.staying)
        looked_at = inner(tree)
    else:
        before = whole_subtrees(tree, seen)
        cut = inner(tree) & (seen.as_leaf <= before * (1 + ROUNDING))
        looked_at = inner(tree) & ~tree.arrays.below(cut)
        cut &= looked_at
    whole = float(whole_subtrees(tree, seen)[0])
    pruned = float(pruned_error(tree, seen, cut))
    said = [error_in_words(tree, seen, error) for error in (whole, pruned)]

    def why(node: int) -> str:
        if seen.weight[node] == 0:
            return "no validation rows come by"
        return "errs no more as a leaf" if cut[node] else "errs more as a leaf"

    return PruneDecision(
        cut,
        looked_at,
        before=before,
        after=seen.as_leaf,
        measure=f"{unit(tree)} on {seen.table}",
        why=why,
        options={"order": order},
        facts=[*unknown_labels(seen), f"on {seen.table}: T {said[0]} · T' {said[1]}"],
        more={"rows": seen.rows, "validation": {"table": seen.table, "before": whole, "after": pruned}},
    )


def unknown_labels(seen: ValidationCounts) -> list[str]:
    """Note the labels of the validation table that the tree does not know; of very many, the first."""
    more = len(seen.unknown) - MOST_UNKNOWN
    told = [f"note: {each}" for each in seen.unknown[:MOST_UNKNOWN]]
    return [*told, *([f"note: … {plural(more, 'more label')} that the tree does not know"] if more > 0 else [])]


def whole_subtrees(tree: Tree, seen: ValidationCounts) -> Floats:
    """Return what each node's subtree errs, uncut."""
    each = np.where(inner(tree), seen.staying, seen.as_leaf)
    if tree.task == "regression":  # sums of doubles: every subtree by itself
        never = np.full(len(tree), np.inf)
        return from_the_leaves_up(tree, np.where(inner(tree), never, each), each)[1]
    reached = np.append(0.0, np.cumsum(each))
    total: Floats = reached[tree.arrays.ends] - reached[:-1]
    return total


def pruned_error(tree: Tree, seen: ValidationCounts, cut: Bools) -> float:
    """Return the error of the tree with its cuts."""
    hidden = tree.arrays.below(cut)
    ends = cut | ~inner(tree)
    return float(seen.as_leaf[ends & ~hidden].sum() + seen.staying[~ends & ~hidden].sum())


def error_in_words(tree: Tree, seen: ValidationCounts, error: float) -> str:
    """Say an error: a share of rows that are wrong, or a root mean square."""
    if tree.task == "regression":
        return f"RMSE {format_rounded((error / seen.total) ** 0.5)}"
    if cost_matrix_of(tree) is not None:
        return f"costs {format_count(error)} for {format_count(seen.total)} rows"
    return f"{format_count(error)} of {format_count(seen.total)} wrong ({format_share(error / seen.total)} %)"


def unit(tree: Tree) -> str:
    """Say what errors are counted in."""
    if tree.task == "regression":
        return "squared error"
    return "errors" if cost_matrix_of(tree) is None else "costs"
