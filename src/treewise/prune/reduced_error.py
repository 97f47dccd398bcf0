"""Pruning method "reduced_error": cut what does not reduce the error on a validation table (ID3 notes).

"For each node v in T make T', which is T modified to prune at v. If error(T') on V ≤ error(T) on V, then update T to
keep this prune." The notes leave the order open. Bottom-up, a node is compared with its already pruned subtree, and the
result is the smallest pruning with minimum error on V. Top-down, a node is compared with its whole subtree, which cuts
more and may miss the minimum.
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
_MAX_UNKNOWN = 5  # labels that are listed


def decide(tree: Tree, validation: Any = None, order: str | None = None, sample_weight: Any = None) -> PruneDecision:
    """Cut where a leaf makes no more errors on the validation rows; also where there are no such rows."""
    if validation is None or isinstance(validation, bool | int | float | np.number):
        raise ParameterError(
            Param("method", "reduced_error")
            + " needs rows not used for training: "
            + Param("validation", "valid.csv")
            + ".",
            hint="(A share of the rows is held out when growing: "
            + Param("pruning", "reduced_error")
            + ", "
            + Param("validation", 0.3)
            + ".)",
        )
    require_predictions(tree, is_internal(tree))
    return decide_from_counts(tree, count_validation_table(tree, validation, sample_weight), order or ORDERS[0])


def decide_from_counts(tree: Tree, counts: ValidationCounts, order: str) -> PruneDecision:
    """Compare every node with its subtree on the validation rows."""
    if order == "bottom-up":
        is_pruned, before = prune_bottom_up(tree, counts.leaf_error, counts.stay_error)
        considered = is_internal(tree)
    else:
        before = _subtree_errors(tree, counts)
        is_pruned = is_internal(tree) & (counts.leaf_error <= before * (1 + ROUNDING))
        considered = is_internal(tree) & ~tree.arrays.below(is_pruned)
        is_pruned &= considered
    total_error = float(_subtree_errors(tree, counts)[0])
    pruned = float(_pruned_error(tree, counts, is_pruned))
    texts = [_format_error(tree, counts, error) for error in (total_error, pruned)]

    def reason(node: int) -> str:
        if counts.weight[node] == 0:
            return "no validation rows come by"
        return "errs no more as a leaf" if is_pruned[node] else "errs more as a leaf"

    return PruneDecision(
        is_pruned,
        considered,
        before=before,
        after=counts.leaf_error,
        measure=f"{_error_unit(tree)} on {counts.table}",
        reason=reason,
        options={"order": order},
        facts=[*_note_unknown_labels(counts), f"on {counts.table}: T {texts[0]} · T' {texts[1]}"],
        extra={"rows": counts.rows, "validation": {"table": counts.table, "before": total_error, "after": pruned}},
    )


def _note_unknown_labels(counts: ValidationCounts) -> list[str]:
    """List the labels of the validation table that are not classes of the tree, up to a limit."""
    more = len(counts.unknown) - _MAX_UNKNOWN
    notes = [f"note: {text}" for text in counts.unknown[:_MAX_UNKNOWN]]
    return [*notes, *([f"note: … {plural(more, 'more unknown label')}"] if more > 0 else [])]


def _subtree_errors(tree: Tree, counts: ValidationCounts) -> Floats:
    """Return the validation error of each node's unpruned subtree."""
    node_errors = np.where(is_internal(tree), counts.stay_error, counts.leaf_error)
    if tree.task == "regression":  # doubles: a difference of running sums would round
        never = np.full(len(tree), np.inf)
        return prune_bottom_up(tree, np.where(is_internal(tree), never, node_errors), node_errors)[1]
    reached = np.append(0.0, np.cumsum(node_errors))
    total: Floats = reached[tree.arrays.ends] - reached[:-1]
    return total


def _pruned_error(tree: Tree, counts: ValidationCounts, is_pruned: Bools) -> float:
    hidden = tree.arrays.below(is_pruned)
    ends = is_pruned | ~is_internal(tree)
    return float(counts.leaf_error[ends & ~hidden].sum() + counts.stay_error[~ends & ~hidden].sum())


def _format_error(tree: Tree, counts: ValidationCounts, error: float) -> str:
    if tree.task == "regression":
        return f"RMSE {format_rounded((error / counts.total) ** 0.5)}"
    if cost_matrix_of(tree) is not None:
        return f"costs {format_count(error)} for {format_count(counts.total)} rows"
    return f"{format_count(error)} of {format_count(counts.total)} wrong ({format_share(error / counts.total)} %)"


def _error_unit(tree: Tree) -> str:
    if tree.task == "regression":
        return "squared error"
    return "errors" if cost_matrix_of(tree) is None else "costs"
