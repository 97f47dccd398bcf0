"""Pessimistic: C4.5's error-based pruning (Quinlan 1993, chapter 4), with what the tree knows of its own rows.

A leaf that errs e times on the n rows it was grown from will err more on others. C4.5 takes the e for a sample, and
counts n times the upper end of its confidence interval, so that the fewer rows a leaf has, the more is added. A subtree
is replaced by a leaf when that is estimated to err no more (but for 0.1 of a row); with ``raising`` also by its
largest branch (``raising.py``), for which the rows are needed.
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
from treewise.train.training_set import TrainingSet
from treewise.tree.tree import Tree

_NO_MORE, _MORE = "no more errors expected", "more errors expected"
_TOLERANCE = 0.1  # of a row: C4.5 prefers the leaf when it is as good but for this much


def decide(
    tree: Tree, confidence: float = 0.25, raising: bool = False, data: Any = None, sample_weight: Any = None
) -> PruneDecision:
    """Cut where a leaf is estimated to err no more than the subtree."""
    if raising and data is None:
        raise ParameterError(
            Param("raising", True)
            + " sends rows down other branches: "
            + Param("data")
            + " must be the table it was grown on."
        )
    if (data is not None or sample_weight is not None) and not raising:
        name = "data" if data is not None else "sample_weight"
        raise ParameterError(
            Param(name) + " is for " + Param("raising", True) + ", which asks for the rows.",
            hint="Leave it out, or add " + Param("raising", True) + ".",
        )
    return decide_with_rows(tree, confidence, rebuild_training_set(tree, data, sample_weight) if raising else None)


def decide_with_rows(tree: Tree, confidence: float = 0.25, training_set: TrainingSet | None = None) -> PruneDecision:
    """Cut; and with the rows the tree was grown on raise subtrees too."""
    require_classes(tree, 'prune("pessimistic")', '"cost_complexity" or "reduced_error"')
    require_rows(tree, 'prune("pessimistic")')
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence <= 0.5:
        raise ParameterError(
            "must be a number above 0, and at most 0.5; C4.5's is 0.25.", parameter="confidence", value=confidence
        )
    if training_set is not None:
        return _decide_with_raising(tree, training_set, confidence)
    estimated = estimated_errors(tree.arrays.weight, leaf_errors(tree), confidence)
    cut, subtree = prune_bottom_up(tree, estimated, slack=_TOLERANCE)
    return PruneDecision(
        cut,
        is_internal(tree),
        before=subtree,
        after=estimated,
        measure=_measure(confidence),
        reason=lambda node: _NO_MORE if cut[node] else _MORE,
        options={"confidence": float(confidence)},
    )


def _measure(confidence: float) -> str:
    """Say what is compared."""
    return f"estimated errors (upper end at confidence {confidence:g})"


def _decide_with_raising(tree: Tree, training_set: TrainingSet, confidence: float) -> PruneDecision:
    """Cut or raise, with the rows at hand."""
    work = SubtreeRaiser(tree, training_set, lambda n, e: estimated_errors(n, e, confidence), _TOLERANCE)
    work.run()
    outcome, now = work.outcome()
    raised = int(np.count_nonzero(work.raised >= 0))

    def why(node: int) -> str:
        if work.raised[node] >= 0:
            return f"replaced by its largest branch, node {work.raised[node]}"
        return _NO_MORE if work.cut[node] else _MORE

    return PruneDecision(
        work.cut,
        is_internal(tree),
        before=work.before,
        after=work.after,
        measure=_measure(confidence),
        reason=why,
        options={"confidence": float(confidence), "raising": True},
        facts=[f"{plural(raised, 'subtree')} raised"],
        extra={"rows": len(training_set)},
        tree=outcome,
        new_numbers=now,
    )


def estimated_errors(rows: Floats, wrong: Floats, confidence: float) -> Floats:
    """Return n times the upper limit of the error rate, given e errors in n rows.

    For no errors the limit is exact, 1 − c^(1/n); from one on it is the normal approximation with its correction for
    continuity (the score interval at e + 1/2); in between C4.5 draws a line. No leaf errs more often than it has rows.

    >>> estimated_errors(np.array([6.0, 9.0, 1.0, 16.0]), np.array([0.0, 0.0, 0.0, 1.0]), 0.25).round(3).tolist()
    [1.238, 1.285, 0.75, 2.476]
    """
    n = np.where(rows > 0, rows, 1.0)
    none = n * -np.expm1(np.log(confidence) / n)
    z2 = NormalDist().inv_cdf(1 - confidence) ** 2

    def some(e: Floats) -> Floats:
        f = np.minimum((e + 0.5) / n, 1.0)
        limit = (f + z2 / (2 * n) + np.sqrt(z2 * (f * (1 - f) / n + z2 / (4 * n * n)))) / (1 + z2 / n)
        return np.asarray(np.where(e + 0.5 >= n, n, limit * n))

    between = none + wrong * (some(np.ones_like(n)) - none)
    found = np.where(wrong < 1, between, some(np.maximum(wrong, 1.0)))
    result: Floats = np.where(rows > 0, found, 0.0)
    return result
