"""Cost complexity: the nested sequence of trees between a tree and its root (Breiman et al. 1984, chapter 3).

Stands below ``cost_complexity.py``; learning curves along one tree read it too. With a price alpha on every leaf a
pruned tree T costs R(T) + alpha·|leaves|. As alpha grows the cheapest pruning loses nodes and never gains one, so all
of them are a sequence of trees inside each other, each with the alpha from which on it is the cheapest.

The usual way cuts the weakest link, updates its ancestors and looks again: leaves times depth. Here every node is
visited once, children first. Let f_t(alpha) be what the best pruning of the subtree at t costs: increasing, concave,
made of straight pieces, and

    f_t(alpha) = min( R(t) + alpha,  Σ f_child(alpha) )

The sum has at every alpha a slope of at least the number of children, the line of a leaf has slope 1; so they cross
once, at alpha_t, where t becomes a leaf, and beyond it f_t is the line. The pieces of f_t are kept as a heap of the
corners below t, largest alpha first: the crossing is found by going down from there, and a corner above alpha_t is
gone for good. Each corner is pushed once, popped once, and moved when the smaller of two heaps joins the larger:
O(n log² n) for n nodes, whatever the depth. The core does it (``src/core/tree/prune.cpp``).
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
    """The sequence, from the whole tree to the root alone.

    Entry k is the smallest of the cheapest prunings for ``alpha[k] <= alpha < alpha[k + 1]``. Entry 0 is the tree as
    it is; where some splits lower the risk by nothing, entry 1 has alpha 0 too, and is the tree without them.
    """

    risk_name: str
    alpha: Floats
    n_leaves: Ints
    risk: Floats  # per unit of weight
    root_risk: float  # per unit of weight
    leaf_alpha: Floats  # of each node: the alpha from which on it is a leaf; inf: it never is, or is a leaf already
    leaf_above: (
        Ints  # of each node: the nearest node above it that becomes a leaf, which ends its time; -1: there is none
    )
    path: tuple[Floats, Floats]  # scikit-learn's: alphas and risks, one entry a cut, equal alphas included

    def __len__(self) -> int:
        return len(self.alpha)

    @property
    def first(self) -> int:
        """The first entry worth its leaves: 1 where some splits of the tree as it is lower the risk by nothing."""
        return int(len(self) > 1 and self.alpha[1] == 0)

    def find(self, alpha: float) -> int:
        """Return the entry that is the cheapest at an alpha (from 0 on splits that gain nothing are cut)."""
        return max(0, int(np.searchsorted(self.alpha, alpha + self.tie, side="right")) - 1)

    def cut_at(self, entry: int) -> Bools:
        """Tell which nodes are cut in an entry: ``edit.cut(tree, np.flatnonzero(…))`` makes that tree."""
        if entry == 0:
            return np.zeros(len(self.leaf_alpha), bool)
        found: Bools = self.leaf_alpha <= self.alpha[entry]
        return found

    @property
    def tie(self) -> float:
        """How near alphas are that differ by rounding only."""
        return ROUNDING * self.root_risk

    def entries(self, prices: Floats, alphas: Floats) -> Ints:
        """Return for alphas the place among increasing prices from which on they are reached."""
        return np.asarray(np.searchsorted(prices, alphas - self.tie, side="left"))

    def totals(self, tree: Tree, as_leaf: Floats, at_inner: Floats | None = None) -> Floats:
        """Return the sum over the leaves of each entry, and over its inner nodes where these have something too.

        With what each node errs on some rows (``seen.py``) this is what every tree of the sequence errs on them.
        """
        places = np.append(self.entries(self.alpha[1:], self.leaf_alpha) + 1, len(self))  # the last is node -1's: never
        born = np.where(is_internal(tree), places[:-1], 0)
        dies = places[self.leaf_above]
        known = born < dies
        change = np.bincount(born[known], as_leaf[known], len(self) + 1).astype(np.float64)
        change -= np.bincount(dies[known], as_leaf[known], len(self) + 1)
        if at_inner is not None:
            asks = np.flatnonzero(is_internal(tree))
            change[0] += at_inner[asks].sum()
            change -= np.bincount(np.minimum(places[asks], dies[asks]), at_inner[asks], len(self) + 1)
        return np.cumsum(change[:-1])


def find_nested_trees(tree: Tree, risk: str = "impurity") -> NestedTrees:
    """Find the nested sequence of a tree by impurity (scikit-learn's) or by errors (rpart's).

    >>> import treewise as tw
    >>> found = find_nested_trees(tw.grow("penguins", max_depth=2), risk="error")
    >>> [(round(float(a), 4), int(n)) for a, n in zip(found.alpha, found.n_leaves)]
    [(0.0, 4), (0.0145, 3), (0.157, 2), (0.3488, 1)]
    """
    risks = node_risks(tree, risk)
    weight, root, whole = float(tree.arrays.weight[0]), float(risks[0]), sum_over_leaves(tree, risks)
    alphas, more_risk, fewer_leaves = _core.weakest_link_alphas(tree.arrays.parent, risks, ROUNDING * root)
    alphas = np.where(alphas <= ROUNDING * root, 0.0, alphas)
    events = np.flatnonzero(alphas < inf)
    events = events[np.argsort(alphas[events], kind="stable")]
    at = alphas[events]
    risk_after = whole + np.cumsum(more_risk[events])
    leaves_after = tree.n_leaves - np.cumsum(fewer_leaves[events])
    last = np.append(at[1:] - at[:-1] > ROUNDING * root, True)[: len(at)]  # of those with the same alpha
    leaf_from = np.full(len(tree), inf)
    leaf_from[events] = at[last][np.cumsum(last) - last] / weight if len(at) else at
    return NestedTrees(
        risk_name=risk,
        alpha=np.append(0.0, at[last]) / weight,
        n_leaves=np.append(tree.n_leaves, leaves_after[last]).astype(np.int64),
        risk=np.append(whole, risk_after[last]) / weight,
        root_risk=root / weight,
        leaf_alpha=leaf_from,
        leaf_above=_nearest_above(tree.arrays.parent, leaf_from < inf),
        path=(np.append(0.0, at) / weight, np.append(whole, risk_after) / weight),
    )


def _nearest_above(parent: Ints, wanted: Bools) -> Ints:
    """Return the nearest wanted node above each node, -1 where there is none."""
    above = parent.copy()
    while (passed := (above >= 0) & ~wanted[above]).any():
        above[passed] = above[above[passed]]
    return above
