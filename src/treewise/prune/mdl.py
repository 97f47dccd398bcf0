"""Pruning method "mdl": minimum description length (Quinlan and Rivest 1989; Bengio's slides).

A sender and a receiver both have the table without its classes. The sender describes the tree and then the rows it
misclassifies; the best pruning has the shortest message, in bits:

    node        1 for leaf or not
    split       log2(columns), plus the choice among the splits on that column: threshold log2(rows − 1), ordinal
                log2(levels − 1), one value log2(levels), subset levels − 1, multiway 0
    leaf        log2(classes) for the predicted class
    its errors  log2(rows + 1) for their number, log2 C(rows, errors) for the rows, log2(classes − 1) each for the class
"""

from __future__ import annotations

import numpy as np

from treewise._lib.text import format_rounded
from treewise.errors import Param
from treewise.prune.decision import (
    Floats,
    PruneDecision,
    is_internal,
    leaf_errors,
    prune_bottom_up,
    require_classes,
    require_rows,
)
from treewise.tree.arrays import MULTIWAY, ONE_VALUE, ORDINAL, SUBSET, THRESHOLD
from treewise.tree.tree import Tree


def decide(tree: Tree) -> PruneDecision:
    """Cut where a leaf takes no more bits than the subtree."""
    require_classes(tree, Param("method", "mdl"), "cost_complexity or reduced_error")
    require_rows(tree, Param("method", "mdl"))
    leaf_bits, split_bits = _leaf_bits(tree), _split_bits(tree)
    is_pruned, subtree = prune_bottom_up(tree, leaf_bits, split_bits)
    total_bits = float(leaf_bits[~is_internal(tree)].sum() + split_bits[is_internal(tree)].sum())
    after = float(min(leaf_bits[0], subtree[0]))
    return PruneDecision(
        is_pruned,
        is_internal(tree),
        before=subtree,
        after=leaf_bits,
        measure="bits to describe the subtree, or the leaf, and its errors",
        reason=lambda node: "shorter as a leaf" if is_pruned[node] else "longer as a leaf",
        facts=[f"description length {format_rounded(total_bits)} → {format_rounded(after)} bits"],
        extra={"bits": [total_bits, after]},
    )


def _leaf_bits(tree: Tree) -> Floats:
    """Return the bits of each node as a leaf: node type, prediction and errors."""
    k, rows, wrong = len(tree.classes), tree.arrays.weight, leaf_errors(tree)
    exception_bits = (_log_factorial(rows) - _log_factorial(wrong) - _log_factorial(rows - wrong)) / np.log(2)
    bits: Floats = 1 + np.log2(k) + np.log2(rows + 1) + exception_bits + wrong * np.log2(max(k - 1, 1))
    return bits


def _split_bits(tree: Tree) -> Floats:
    """Return the bits of each internal node: node type, column and split."""
    a = tree.arrays
    levels = np.array([len(encoding.levels) for encoding in tree.encodings] or [0], float)[a.column.clip(0)]
    tests = np.ones(len(tree))
    tests[a.kind == THRESHOLD] = a.rows[a.kind == THRESHOLD] - 1
    tests[a.kind == ORDINAL] = levels[a.kind == ORDINAL] - 1
    tests[a.kind == ONE_VALUE] = levels[a.kind == ONE_VALUE]
    bits = np.log2(np.maximum(tests, 1))
    bits[a.kind == SUBSET] = np.maximum(levels[a.kind == SUBSET] - 1, 0)
    bits[a.kind == MULTIWAY] = 0
    total: Floats = np.where(is_internal(tree), 1 + np.log2(max(len(tree.encodings), 1)) + bits, 0.0)
    return total


def _log_factorial(n: Floats) -> Floats:
    """Return log n! in nats for real n (weights): Stirling's series at n + 8, divided back.

    >>> _log_factorial(np.array([0.0, 1.0, 5.0])).round(10).tolist() == [0.0, 0.0, round(float(np.log(120)), 10)]
    True
    """
    x = n + 8
    series = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5) - 1 / (1680 * x**7)
    shifted = (n + 1) * (n + 2) * (n + 3) * (n + 4) * (n + 5) * (n + 6) * (n + 7) * (n + 8)
    result: Floats = (x + 0.5) * np.log(x) - x + 0.5 * np.log(2 * np.pi) + series - np.log(shifted)
    return result
