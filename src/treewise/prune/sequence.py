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
O(n log² n) for n nodes, whatever the depth. The core does it (``prune.cpp``).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from treewise import _core
from treewise.prune.risk import node_risks, training_risk
from treewise.prune.verdict import ROUNDING, Bools, Floats, Ints
from treewise.tree import Tree


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
    leaf_from: Floats  # of each node: the alpha from which on it is a leaf; inf: it never is, or is a leaf already
    path: tuple[Floats, Floats]  # scikit-learn's: alphas and risks, one entry a cut, equal alphas included

    def __len__(self) -> int:
        return len(self.alpha)

    def find(self, alpha: float) -> int:
        """Return the entry that is the cheapest at an alpha (from 0 on splits that gain nothing are cut)."""
        return max(0, int(np.searchsorted(self.alpha, alpha + ROUNDING * self.root_risk, side="right")) - 1)

    def cut_at(self, entry: int) -> Bools:
        """Tell which nodes are cut in an entry: ``edit.cut(tree, np.flatnonzero(…))`` makes that tree."""
        if entry == 0:
            return np.zeros(len(self.leaf_from), bool)
        found: Bools = self.leaf_from <= self.alpha[entry]
        return found


def nested_trees(tree: Tree, risk: str = "impurity") -> NestedTrees:
    """Find the nested sequence of a tree by impurity (scikit-learn's) or by errors (rpart's).

    >>> import treewise as tw
    >>> found = nested_trees(tw.grow("penguins", max_depth=2), risk="error")
    >>> [(round(float(a), 4), int(n)) for a, n in zip(found.alpha, found.n_leaves)]
    [(0.0, 4), (0.0145, 3), (0.157, 2), (0.3488, 1)]
    """
    risks = node_risks(tree, risk)
    weight = float(tree.arrays.weight[0])
    root = float(risks[0])
    alphas, more_risk, fewer_leaves = _core.crossings(tree.arrays.parent, risks, ROUNDING * root)
    alphas = np.where(alphas <= ROUNDING * root, 0.0, alphas)
    events = np.flatnonzero(alphas < inf)
    events = events[np.argsort(alphas[events], kind="stable")]
    at = alphas[events]
    risk_after = training_risk(tree, risks) + np.cumsum(more_risk[events])
    leaves_after = tree.n_leaves - np.cumsum(fewer_leaves[events])
    last = np.append(at[1:] - at[:-1] > ROUNDING * root, True)[: len(at)]  # of those with the same alpha
    group = np.cumsum(last) - last  # alphas that are equal but for rounding become the largest of them
    shared = at[last][group] if len(at) else at
    leaf_from = np.full(len(tree), inf)
    leaf_from[events] = shared / weight
    whole = training_risk(tree, risks)
    return NestedTrees(
        risk_name=risk,
        alpha=np.append(0.0, at[last]) / weight,
        n_leaves=np.append(tree.n_leaves, leaves_after[last]).astype(np.int64),
        risk=np.append(whole, risk_after[last]) / weight,
        root_risk=root / weight,
        leaf_from=leaf_from,
        path=(np.append(0.0, at) / weight, np.append(whole, risk_after) / weight),
    )
