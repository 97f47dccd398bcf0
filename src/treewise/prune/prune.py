"""What was asked → a method's decision → a new tree, with the decisions at the end of its history.

The front of the package: ``tree.prune`` comes here, growth with ``pruning=`` and the command line too.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from treewise.errors import Given, Param, ParameterError, did_you_mean, join_message
from treewise.prune import by_size, collapse, cost_complexity, gain, mdl, pessimistic, reduced_error
from treewise.prune.decision import RISKS, Floats, Ints, PruneDecision
from treewise.train.edit import cut
from treewise.train.settings import one_of
from treewise.tree.arrays import STOPS
from treewise.tree.history import Step
from treewise.tree.tree import Tree

_MOST_DECISIONS = 1000  # decisions in the history, which is saved with the tree

METHODS: dict[str, Callable[..., PruneDecision]] = {
    "reduced_error": reduced_error.decide,
    "gain": gain.decide,
    "cost_complexity": cost_complexity.decide,
    "pessimistic": pessimistic.decide,
    "mdl": mdl.decide,
    "collapse": collapse.decide,
}

# Options that are one of a few words: checked before anything is grown or looked at (front.py).
WORDS = {
    "order": reduced_error.ORDERS,
    "measure": gain.MEASURES,
    "risk": RISKS,
    "rule": cost_complexity.RULES,
}

# Without a method: cut to a size, or where one says. These leaves stop for the reason growth itself would give.
SIZES: dict[str, tuple[Callable[..., PruneDecision], str]] = {
    "max_leaf_nodes": (by_size.max_leaf_nodes, "max_leaf_nodes"),
    "max_depth": (by_size.max_depth, "max_depth"),
    "at": (by_size.at, "by_hand"),
}


def prune(tree: Tree, method: str | None = None, **options: Any) -> Tree:
    """Prune a tree by a method, or without one to a size."""
    decide, stop = _find_method(method, options)
    check_options(method, decide, options)
    decision = decide(tree, **options)
    return apply_decision(tree, decision, method, stop)


def _find_method(method: str | None, options: dict[str, Any]) -> tuple[Callable[..., PruneDecision], str]:
    """Find what is asked for: a method by name, or the one size among the options; and the leaves' reason to stop."""
    sizes = [name for name in SIZES if options.get(name) is not None]
    if method is not None and (not isinstance(method, str) or method not in METHODS):
        by_folds = (
            "Folds choose the size with " + Param("method", "cost_complexity") + ", " + Param("data", "train.csv") + "."
        )
        raise ParameterError(
            f"must be one of {', '.join(METHODS)}.",
            parameter="method",
            value=method,
            hint=by_folds if method == "cv" else did_you_mean(method, METHODS),
        )
    if method is not None and sizes:
        raise ParameterError(
            Param(sizes[0]) + " goes without a method, and " + Param("method", method) + " is given.",
            hint="Prune twice.",
        )
    if method is not None:
        return METHODS[method], stop_reason(method)
    if len(sizes) > 1:
        both = join_message(" and ", (Given(name, options[name]) for name in sizes))
        raise ParameterError(both + f" are {len(sizes)} sizes.", hint="Give one, or prune again.")
    if not sizes:
        raise ParameterError(
            f"prune needs one of the methods {', '.join(METHODS)}; or one size: "
            + Param("max_leaf_nodes", 8)
            + ", "
            + Param("max_depth", 3)
            + ", "
            + Param("at", [5])
            + "."
        )
    return SIZES[sizes[0]]


def stop_reason(method: str) -> str:
    """Return the reason to stop of the leaves a method makes."""
    return f"pruned({method})"


def check_options(method: str | None, decide: Callable[..., PruneDecision], options: dict[str, Any]) -> None:
    """Refuse an option the method does not have, and words it does not know."""
    known = option_names(decide)
    for name in options:
        if name not in known:
            whose = f"pruning by {method}" if method else known[0]  # asked for by method=, or in growth by pruning=
            takes = f"takes {', '.join(known)}" if known and method else "takes no other options"
            raise ParameterError(f"{whose} has no option {name}.", hint=f"{did_you_mean(name, known)} It {takes}.")
    check_words(options)


def check_words(options: dict[str, Any]) -> None:
    """Refuse words that no option knows."""
    for name, words in WORDS.items():
        if options.get(name) is not None:
            one_of(name, options[name], words)


def apply_decision(tree: Tree, decision: PruneDecision, method: str | None, stop: str) -> Tree:
    """Cut what the decision says, and write it down."""
    said = tree
    if decision.predictions is not None:
        name = "label" if tree.task == "classification" else "value"
        said = replace(
            tree, arrays=replace(tree.arrays, **{name: decision.predictions.astype(getattr(tree.arrays, name).dtype)})
        )
    pruned = decision.tree or cut(said, np.flatnonzero(decision.cut).tolist(), STOPS.index(stop))
    step = Step(did="prune", **({"method": method} if method else {}), options=decision.options, **decision.extra)
    step |= {
        "leaves": [tree.n_leaves, pruned.n_leaves],
        "facts": list(decision.facts),
        "measure": decision.measure,
        "looked_at": int(np.count_nonzero(decision.considered)),
        "decisions": _list_decisions(tree, decision),
    }
    return pruned.with_(history=(*tree.history, step))


def _list_decisions(tree: Tree, decision: PruneDecision) -> list[dict[str, Any]]:
    """List what was decided at each node, in pre-order; of many, at the nodes with most rows."""
    nodes = np.flatnonzero(decision.considered)
    if len(nodes) > _MOST_DECISIONS:
        nodes = np.sort(nodes[np.argsort(-tree.arrays.rows[nodes], kind="stable")[:_MOST_DECISIONS]])
    now = _new_numbers(tree, decision)
    return [
        {
            "node": node,
            "now": int(now[node]) if now[node] >= 0 else None,
            "test": _describe_split(tree, node),
            "rows": int(tree.arrays.rows[node]),
            "before": _finite(decision.before, node),
            "after": _finite(decision.after, node),
            "cut": bool(decision.cut[node]),
            "why": decision.reason(node),
        }
        for node in nodes.tolist()
    ]


def _new_numbers(tree: Tree, decision: PruneDecision) -> Ints:
    """Return each node's number in the pruned tree; -1 where it is gone."""
    if decision.new_numbers is not None:
        return decision.new_numbers
    visible = ~tree.arrays.below(decision.cut)
    return np.where(visible, np.cumsum(visible) - 1, -1)


def _finite(of_nodes: Floats | None, node: int) -> float | None:
    """Return a node's number, where there is one."""
    if of_nodes is None or not math.isfinite(of_nodes[node]):
        return None
    return float(of_nodes[node])


def _describe_split(tree: Tree, node: int) -> str:
    """Say what a node asks: the condition of its first branch, or the column where there are many branches."""
    split = tree.split_at(node)
    assert split is not None
    return split.column if split.n_branches > 2 else tree.condition(tree.children(node)[0])


def option_names(decide: Callable[..., PruneDecision]) -> list[str]:
    """Return the names of a method's options.

    >>> options_of(METHODS["gain"])
    ['threshold', 'measure']
    """
    return [name for name in inspect.signature(decide).parameters if name != "tree"]
