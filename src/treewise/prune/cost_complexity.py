"""Pruning method "cost_complexity": the best tree of the nested sequence at a penalty of ``ccp_alpha`` per leaf.

Breiman et al. 1984, chapter 3. ``cross_validation.py`` chooses the penalty by held-out rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treewise._lib.checks import check_number
from treewise._lib.text import format_rounded, plural
from treewise.errors import Param, ParameterError
from treewise.prune.decision import Bools, PruneDecision, is_internal
from treewise.prune.nested_trees import NestedTrees, find_nested_trees
from treewise.tree.tree import Tree


def decide(tree: Tree, ccp_alpha: float | None = None, risk: str | None = None) -> PruneDecision:
    """Cut to the optimal tree for a penalty of ``ccp_alpha`` per leaf.

    ``risk`` is impurity, as in scikit-learn, or error: then the penalty is in errors, rpart's cp times the error of the
    root.
    """
    if ccp_alpha is None:
        raise ParameterError(
            Param("method", "cost_complexity") + " needs " + Param("ccp_alpha", ...) + ", a penalty per leaf.",
            hint="Cross-validation chooses one: " + Param("method", "cv") + ", " + Param("data", ...) + ".",
        )
    alpha = check_alpha(ccp_alpha)
    nested = find_nested_trees(tree, risk or "impurity")
    is_pruned = nested.leaf_alpha <= nested.alpha[nested.find(alpha)]
    return alpha_decision(tree, nested, is_pruned, {"ccp_alpha": alpha, "risk": nested.risk_name})


def check_alpha(ccp_alpha: Any) -> float:
    """Return ``ccp_alpha`` as a float; raise unless it is a number, 0 or more."""
    alpha = ccp_alpha.item() if isinstance(ccp_alpha, np.number) else ccp_alpha
    check_number("ccp_alpha", alpha, 0.0, math.inf)
    return float(alpha)


def alpha_decision(
    tree: Tree,
    nested: NestedTrees,
    is_pruned: Bools,
    options: dict[str, Any],
    facts: list[str] | None = None,
    more: dict[str, Any] | None = None,
) -> PruneDecision:
    """Return a decision that lists the alpha at which each node becomes a leaf, and the chosen one."""
    alphas, risk, trees = nested.leaf_alpha, nested.risk_name, len(nested) - nested.first
    return PruneDecision(
        is_pruned,
        is_internal(tree) & np.isfinite(alphas),
        before=alphas,
        after=np.full(len(tree), options["ccp_alpha"]),
        measure=f"{risk} per row and leaf; a node becomes a leaf from its own alpha on",
        headings=("its alpha", "alpha"),
        reason=lambda node: "not worth the price" if is_pruned[node] else "worth the price",
        options=options,
        facts=[
            f"nested sequence of {plural(trees, 'tree')}, alpha 0 to {format_rounded(float(nested.alpha[-1]))}",
            *(facts or []),
        ],
        extra=more or {},
    )
