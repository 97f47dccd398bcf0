"""Pruning method "collapse": merge leaves with the same prediction.

The predicted class or value of every row is unchanged; probabilities become those of the merged leaf.
"""

from __future__ import annotations

import numpy as np

from treewise.prune.decision import Ints, PruneDecision, is_internal
from treewise.tree.arrays import MULTIWAY
from treewise.tree.tree import Tree


def decide(tree: Tree) -> PruneDecision:
    """Cut every node whose leaves all predict the same."""
    a = tree.arrays
    predicted = a.label.astype(np.int64) if tree.task == "classification" else a.value
    distinct, codes = np.unique(predicted, return_inverse=True)
    is_unknown = np.isnan(distinct) if tree.task == "regression" else distinct < 0
    common = _common_prediction(tree, np.where(is_unknown[codes], -1, codes))
    is_pruned = is_internal(tree) & (common >= 0)
    leaves = np.append(0, np.cumsum(~is_internal(tree)))
    return PruneDecision(
        is_pruned,
        is_internal(tree),
        before=(leaves[a.ends] - leaves[:-1]).astype(float),
        after=np.ones(len(tree)),
        measure="leaves",
        reason=lambda node: "all leaves predict the same" if is_pruned[node] else "leaves differ",
        predictions=np.where(is_pruned, distinct[common], predicted),  # hand-written internal nodes may have none
    )


def _common_prediction(tree: Tree, codes: Ints) -> Ints:
    """Return the prediction shared by all leaves below each node, as a code; -1 where they differ.

    In pre-order the leaves below a node are contiguous; they agree if the next change of prediction comes after them. A
    row with an unseen level may also stop at a multiway node without an "other" branch; with empty_branch="root" the
    root answers for it, so such a node can only be merged if it agrees with the root.
    """
    a, is_leaf = tree.arrays, ~is_internal(tree)
    leaf_codes = codes[is_leaf]
    leaves_before = np.append(0, np.cumsum(is_leaf))  # leaves up to each node
    changes = np.append(np.flatnonzero(leaf_codes[1:] != leaf_codes[:-1]) + 1, len(leaf_codes))
    first, past = leaves_before[:-1], leaves_before[a.ends]
    agree = changes[np.searchsorted(changes, first, side="right")] >= past
    common = np.where(agree, leaf_codes[np.minimum(first, len(leaf_codes) - 1)], -1)
    if tree.empty_branch == "root":
        unmatched = np.append(0, np.cumsum((a.kind == MULTIWAY) & (a.other < 0)))
        common = np.where((unmatched[a.ends] > unmatched[:-1]) & (common != codes[0]), -1, common)
    return common
