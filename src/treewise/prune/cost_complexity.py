"""Cost complexity: a tree of the nested sequence, by the price of a leaf (Breiman et al. 1984)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treewise.errors import ParameterError
from treewise.prune.sequence import NestedTrees, nested_trees
from treewise.prune.verdict import Verdict, inner
from treewise.settings import within
from treewise.tree import Tree
from treewise.wording import figure


def decide(tree: Tree, ccp_alpha: float | None = None, risk: str | None = None) -> Verdict:
    """Cut to the cheapest tree at a price of ``ccp_alpha`` a leaf (scikit-learn's parameter)."""
    if ccp_alpha is None:
        raise ParameterError('prune("cost_complexity") needs ccp_alpha=…, the price of a leaf.')
    within("ccp_alpha", ccp_alpha, 0.0, math.inf)
    nested = nested_trees(tree, risk or "impurity")
    cut = nested.leaf_from <= nested.alpha[nested.find(float(ccp_alpha))]
    return verdict(tree, nested, cut, {"ccp_alpha": float(ccp_alpha), "risk": nested.risk_name})


def verdict(tree: Tree, nested: NestedTrees, cut: Any, options: dict[str, Any]) -> Verdict:
    """Lay out the alphas at which each node becomes a leaf beside the one that was chosen."""
    alphas = nested.leaf_from
    return Verdict(
        cut,
        inner(tree) & np.isfinite(alphas),
        before=alphas,
        after=np.full(len(tree), options["ccp_alpha"]),
        measure=f"alpha from which on the node is a leaf ({nested.risk_name} a leaf), and the chosen alpha",
        options=options,
        facts=[f"{len(nested)} trees in the nested sequence, alpha 0 to {figure(float(nested.alpha[-1]))}"],
    )
