"""The nested sequence of cost-complexity pruning, from a tree to its root (Breiman et al. 1984, chapter 3).

Used by ``cost_complexity.py`` and by validation curves over ``ccp_alpha``. With a penalty alpha per leaf, a pruned tree
T costs R(T) + alpha·|leaves|. As alpha grows, the cheapest pruning only loses nodes, so the optimal trees are nested,
each with the alpha from which it is optimal.

Weakest-link pruning as usually implemented cuts one node, updates its ancestors and searches again: leaves × depth.
Here every node is visited once, children first. Let f_t(alpha) be the cost of the best pruning of the subtree at t:
increasing, concave, piecewise linear, and

    f_t(alpha) = min( R(t) + alpha,  Σ f_child(alpha) )

The sum has slope at least the number of children at every alpha, and the line of a leaf has slope 1; so they cross
once, at alpha_t, where t becomes a leaf, and beyond it f_t is the line. The pieces of f_t are kept as a heap of the
breakpoints below t, largest alpha first: the crossing is found by popping from the top, and a breakpoint above alpha_t
is never needed again. Each breakpoint is pushed once, popped once, and moved when the smaller of two heaps is merged
into the larger: O(n log² n) for n nodes, whatever the depth. The core computes it (``src/core/tree/prune.cpp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from treewise import _core
from treewise.prune.decision import ROUNDING, Bools, Floats, Ints, is_internal, node_risks, sum_over_leaves
from treewise.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class NestedTrees:
    """The sequence, from the full tree to the root.

    Entry k is the smallest optimal pruning for ``alpha[k] <= alpha < alpha[k + 1]``. Entry 0 is the unpruned tree; if
    some splits do not reduce the risk, entry 1 also has alpha 0 and is the tree without them.
    """

    risk_name: str
    alpha: Floats
    n_leaves: Ints
    risk: Floats  # per unit of weight
    root_risk: float  # per unit of weight
    leaf_alpha: (
        Floats  # per node: the alpha from which it is a leaf; inf for leaves, and for nodes cut with an ancestor
    )
    leaf_above: Ints  # per node: the nearest ancestor that becomes a leaf and so removes it; -1 if there is none
    path: tuple[Floats, Floats]  # alphas and risks of scikit-learn's path: one entry per cut, ties included

    def __len__(self) -> int:
        return len(self.alpha)

    @property
    def first(self) -> int:
        """The first entry without useless splits: 1 if some splits of the full tree do not reduce the risk."""
        return int(len(self) > 1 and self.alpha[1] == 0)

    def find(self, alpha: float) -> int:
        """Return the entry that is optimal at an alpha (at 0, splits that do not reduce the risk are cut)."""
        return max(0, int(np.searchsorted(self.alpha, alpha + self.tie, side="right")) - 1)

    def cut_at(self, entry: int) -> Bools:
        """Return the nodes cut in an entry: ``collapse_nodes(tree, np.flatnonzero(…))`` builds that tree."""
        if entry == 0:
            return np.zeros(len(self.leaf_alpha), bool)
        mask: Bools = self.leaf_alpha <= self.alpha[entry]
        return mask

    @property
    def tie(self) -> float:
        """The difference below which alphas count as equal."""
        return ROUNDING * self.root_risk

    def entries(self, prices: Floats, alphas: Floats) -> Ints:
        """Return, for each alpha, the index of the first of the increasing prices that reaches it."""
        return np.asarray(np.searchsorted(prices, alphas - self.tie, side="left"))

    def totals(self, tree: Tree, leaf_values: Floats, internal_values: Floats | None = None) -> Floats:
        """Return, for each entry, the sum over its leaves, plus that over its internal nodes if given.

        Given the validation errors of every node, these are the validation errors of every tree of the sequence.
        """
        entry_of = np.append(
            self.entries(self.alpha[1:], self.leaf_alpha) + 1, len(self)
        )  # the last one is for node -1: never
        first_entry = np.where(is_internal(tree), entry_of[:-1], 0)
        last_entry = entry_of[self.leaf_above]
        is_present = first_entry < last_entry
        change = np.bincount(first_entry[is_present], leaf_values[is_present], len(self) + 1).astype(np.float64)
        change -= np.bincount(last_entry[is_present], leaf_values[is_present], len(self) + 1)
        if internal_values is not None:
            internal = np.flatnonzero(is_internal(tree))
            change[0] += internal_values[internal].sum()
            change -= np.bincount(
                np.minimum(entry_of[internal], last_entry[internal]), internal_values[internal], len(self) + 1
            )
        return np.cumsum(change[:-1])


def find_nested_trees(tree: Tree, risk: str = "impurity") -> NestedTrees:
    """Compute the nested sequence of a tree by impurity (as scikit-learn does) or by error (as rpart does).

    >>> import treewise as tw
    >>> trees = find_nested_trees(tw.grow("penguins", max_depth=2), risk="error")
    >>> [(round(float(a), 4), int(n)) for a, n in zip(trees.alpha, trees.n_leaves)]
    [(0.0, 4), (0.0145, 3), (0.157, 2), (0.3488, 1)]
    """
    risks = node_risks(tree, risk)
    weight, root, total = float(tree.arrays.weight[0]), float(risks[0]), sum_over_leaves(tree, risks)
    alphas, more_risk, fewer_leaves = _core.weakest_link_alphas(tree.arrays.parent, risks, ROUNDING * root)
    alphas = np.where(alphas <= ROUNDING * root, 0.0, alphas)
    events = np.flatnonzero(alphas < inf)
    events = events[np.argsort(alphas[events], kind="stable")]
    event_alphas = alphas[events]
    risk_after = total + np.cumsum(more_risk[events])
    leaves_after = tree.n_leaves - np.cumsum(fewer_leaves[events])
    last = np.append(event_alphas[1:] - event_alphas[:-1] > ROUNDING * root, True)[
        : len(event_alphas)
    ]  # last event of each run of equal alphas
    leaf_from = np.full(len(tree), inf)
    leaf_from[events] = event_alphas[last][np.cumsum(last) - last] / weight if len(event_alphas) else event_alphas
    return NestedTrees(
        risk_name=risk,
        alpha=np.append(0.0, event_alphas[last]) / weight,
        n_leaves=np.append(tree.n_leaves, leaves_after[last]).astype(np.int64),
        risk=np.append(total, risk_after[last]) / weight,
        root_risk=root / weight,
        leaf_alpha=leaf_from,
        leaf_above=_nearest_above(tree.arrays.parent, leaf_from < inf),
        path=(np.append(0.0, event_alphas) / weight, np.append(total, risk_after) / weight),
    )


def _nearest_above(parent: Ints, mask: Bools) -> Ints:
    """Return the nearest ancestor of each node for which the mask is set, -1 if there is none."""
    above = parent.copy()
    while (skipped := (above >= 0) & ~mask[above]).any():
        above[skipped] = above[above[skipped]]
    return above
