"""Pruning method "pessimistic": C4.5's error-based pruning (Quinlan 1993, chapter 4), without a validation table.

A leaf with e errors on its n training rows will make more on new rows. C4.5 treats e as a sample and uses n times the
upper confidence limit of the error rate, so leaves with few rows get a larger correction. A subtree is replaced by a
leaf if the leaf's estimate is no larger (plus 0.1 of a row); with ``raising`` also by its largest branch
(``subtree_raising.py``), which needs the training rows.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from treewise._lib.text import plural
from treewise.errors import Param, ParameterError
from treewise.prune.decision import (
    Floats,
    PruneDecision,
    is_internal,
    leaf_errors,
    prune_bottom_up,
    rebuild_training_set,
    require_classes,
    require_rows,
)
from treewise.prune.subtree_raising import SubtreeRaiser
from treewise.train.constraints import is_monotone
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

_NO_MORE, _MORE = "no more errors expected", "more errors expected"
_TOLERANCE = 0.1  # of a row: C4.5 prefers the leaf up to this difference


def decide(
    tree: Tree, confidence: float = 0.25, raising: bool = False, data: Any = None, sample_weight: Any = None
) -> PruneDecision:
    """Cut where a leaf is estimated to err no more than the subtree."""
    if raising and data is None:
        raise ParameterError(Param("raising", True) + " needs the training table: give " + Param("data", ...) + ".")
    if (data is not None or sample_weight is not None) and not raising:
        name = "data" if data is not None else "sample_weight"
        raise ParameterError(
            Param(name) + " is used only with " + Param("raising", True) + ".",
            hint="Leave it out, or add " + Param("raising", True) + ".",
        )
    return decide_with_rows(tree, confidence, rebuild_training_set(tree, data, sample_weight) if raising else None)


def decide_with_rows(tree: Tree, confidence: float = 0.25, training_set: TrainingSet | None = None) -> PruneDecision:
    """Cut subtrees, and with a training set also raise them."""
    require_classes(tree, Param("method", "pessimistic"), "cost_complexity or reduced_error")
    require_rows(tree, Param("method", "pessimistic"))
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence <= 0.5:
        raise ParameterError(
            "must be a number above 0 and at most 0.5 (C4.5 uses 0.25).", parameter="confidence", value=confidence
        )
    if training_set is not None:
        return _decide_with_raising(tree, training_set, confidence)
    estimated = _estimated_errors(tree.arrays.weight, leaf_errors(tree), confidence)
    is_pruned, subtree = prune_bottom_up(tree, estimated, tolerance=_TOLERANCE)
    return PruneDecision(
        is_pruned,
        is_internal(tree),
        before=subtree,
        after=estimated,
        measure=_measure(confidence),
        reason=lambda node: _NO_MORE if is_pruned[node] else _MORE,
        options={"confidence": float(confidence)},
    )


def _measure(confidence: float) -> str:
    return f"estimated errors (upper end at confidence {confidence:g})"


def _decide_with_raising(tree: Tree, training_set: TrainingSet, confidence: float) -> PruneDecision:
    if is_monotone(tree):
        raise ParameterError(
            "a raised branch gets other rows, and need not keep the monotone constraints of the tree.",
            parameter="raising",
            value=True,
            hint="Leave it out.",
        )

    raiser = SubtreeRaiser(tree, training_set, lambda n, e: _estimated_errors(n, e, confidence), _TOLERANCE)
    raiser.run()
    outcome, new_numbers = raiser.result()
    raised = int(np.count_nonzero(raiser.raised >= 0))

    def reason(node: int) -> str:
        if raiser.raised[node] >= 0:
            return f"replaced by its largest branch, node {raiser.raised[node]}"
        return _NO_MORE if raiser.is_pruned[node] else _MORE

    return PruneDecision(
        raiser.is_pruned,
        is_internal(tree),
        before=raiser.before,
        after=raiser.after,
        measure=_measure(confidence),
        reason=reason,
        options={"confidence": float(confidence), "raising": True},
        facts=[f"{plural(raised, 'subtree')} raised"],
        extra={"rows": len(training_set)},
        tree=outcome,
        new_numbers=new_numbers,
    )


def _estimated_errors(rows: Floats, wrong: Floats, confidence: float) -> Floats:
    """Return n times the upper confidence limit of the error rate, given e errors in n rows.

    For e = 0 the limit is exact, 1 − c^(1/n); for e >= 1 it is the normal approximation with continuity correction (the
    score interval at e + 1/2); in between C4.5 interpolates linearly. The estimate never exceeds n.

    >>> _estimated_errors(np.array([6.0, 9.0, 1.0, 16.0]), np.array([0.0, 0.0, 0.0, 1.0]), 0.25).round(3).tolist()
    [1.238, 1.285, 0.75, 2.476]
    """
    n = np.where(rows > 0, rows, 1.0)
    at_zero = n * -np.expm1(np.log(confidence) / n)
    z2 = NormalDist().inv_cdf(1 - confidence) ** 2

    def at_one_or_more(e: Floats) -> Floats:
        f = np.minimum((e + 0.5) / n, 1.0)
        limit = (f + z2 / (2 * n) + np.sqrt(z2 * (f * (1 - f) / n + z2 / (4 * n * n)))) / (1 + z2 / n)
        return np.asarray(np.where(e + 0.5 >= n, n, limit * n))

    between = at_zero + wrong * (at_one_or_more(np.ones_like(n)) - at_zero)
    estimate = np.where(wrong < 1, between, at_one_or_more(np.maximum(wrong, 1.0)))
    result: Floats = np.where(rows > 0, estimate, 0.0)
    return result
