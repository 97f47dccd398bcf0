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
from treewise.prune.decision import ROUNDING, Bools, Floats, PruneDecision, is_internal, prune_bottom_up
from treewise.prune.validation_counts import ValidationCounts, count_validation_table
from treewise.tree.tree import Tree

ORDERS = ("bottom-up", "top-down")
_MOST_UNKNOWN = 5  # labels that are noted one by one


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
    require_predictions(tree, is_internal(tree))
    return decide_from_counts(tree, count_validation_table(tree, validation, sample_weight), order or ORDERS[0])


def decide_from_counts(tree: Tree, seen: ValidationCounts, order: str) -> PruneDecision:
    """Compare every node with its subtree on what was seen."""
    if order == "bottom-up":
        cut, before = prune_bottom_up(tree, seen.leaf_error, seen.stay_error)
        looked_at = is_internal(tree)
    else:
        before = _subtree_errors(tree, seen)
        cut = is_internal(tree) & (seen.leaf_error <= before * (1 + ROUNDING))
        looked_at = is_internal(tree) & ~tree.arrays.below(cut)
        cut &= looked_at
    whole = float(_subtree_errors(tree, seen)[0])
    pruned = float(_pruned_error(tree, seen, cut))
    said = [_format_error(tree, seen, error) for error in (whole, pruned)]

    def why(node: int) -> str:
        if seen.weight[node] == 0:
            return "no validation rows come by"
        return "errs no more as a leaf" if cut[node] else "errs more as a leaf"

    return PruneDecision(
        cut,
        looked_at,
        before=before,
        after=seen.leaf_error,
        measure=f"{_error_unit(tree)} on {seen.table}",
        reason=why,
        options={"order": order},
        facts=[*_note_unknown_labels(seen), f"on {seen.table}: T {said[0]} · T' {said[1]}"],
        extra={"rows": seen.rows, "validation": {"table": seen.table, "before": whole, "after": pruned}},
    )


def _note_unknown_labels(seen: ValidationCounts) -> list[str]:
    """Note the labels of the validation table that the tree does not know; of very many, the first."""
    more = len(seen.unknown) - _MOST_UNKNOWN
    told = [f"note: {each}" for each in seen.unknown[:_MOST_UNKNOWN]]
    return [*told, *([f"note: … {plural(more, 'more label')} that the tree does not know"] if more > 0 else [])]


def _subtree_errors(tree: Tree, seen: ValidationCounts) -> Floats:
    """Return what each node's subtree errs, uncut."""
    each = np.where(is_internal(tree), seen.stay_error, seen.leaf_error)
    if tree.task == "regression":  # sums of doubles: every subtree by itself
        never = np.full(len(tree), np.inf)
        return prune_bottom_up(tree, np.where(is_internal(tree), never, each), each)[1]
    reached = np.append(0.0, np.cumsum(each))
    total: Floats = reached[tree.arrays.ends] - reached[:-1]
    return total


def _pruned_error(tree: Tree, seen: ValidationCounts, cut: Bools) -> float:
    """Return the error of the tree with its cuts."""
    hidden = tree.arrays.below(cut)
    ends = cut | ~is_internal(tree)
    return float(seen.leaf_error[ends & ~hidden].sum() + seen.stay_error[~ends & ~hidden].sum())


def _format_error(tree: Tree, seen: ValidationCounts, error: float) -> str:
    """Say an error: a share of rows that are wrong, or a root mean square."""
    if tree.task == "regression":
        return f"RMSE {format_rounded((error / seen.total) ** 0.5)}"
    if cost_matrix_of(tree) is not None:
        return f"costs {format_count(error)} for {format_count(seen.total)} rows"
    return f"{format_count(error)} of {format_count(seen.total)} wrong ({format_share(error / seen.total)} %)"


def _error_unit(tree: Tree) -> str:
    """Say what errors are counted in."""
    if tree.task == "regression":
        return "squared error"
    return "errors" if cost_matrix_of(tree) is None else "costs"
