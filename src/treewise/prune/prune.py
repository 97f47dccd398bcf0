"""Prune a tree: find the method, apply its decision, record it in the tree's history.

``tree.prune``, ``treewise.grow(pruning=…)`` and the command line come here. To add a method, write a file with a
function ``decide(tree, **options) -> PruneDecision`` (``decision.py``), and add a line to ``METHODS`` and its stop
reason ``pruned(name)`` to ``STOPS`` in ``tree/arrays.py`` (``"cv"`` cuts by cost complexity).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from treewise._lib.checks import check_choice
from treewise.errors import Given, Param, ParameterError, did_you_mean, join_message
from treewise.prune import by_size, collapse, cost_complexity, cross_validation, gain, mdl, pessimistic, reduced_error
from treewise.prune.decision import RISKS, Floats, Ints, PruneDecision
from treewise.prune.losses import LOSSES
from treewise.train.edit import collapse_nodes
from treewise.tree.arrays import STOPS
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree

_MAX_DECISIONS = 1000  # recorded in the history, which is saved with the tree

METHODS: dict[str, Callable[..., PruneDecision]] = {
    "cv": cross_validation.decide,
    "reduced_error": reduced_error.decide,
    "gain": gain.decide,
    "cost_complexity": cost_complexity.decide,
    "pessimistic": pessimistic.decide,
    "mdl": mdl.decide,
    "collapse": collapse.decide,
}

# Options with a fixed set of values, checked before anything is grown.
_CHOICES = {
    "order": reduced_error.ORDERS,
    "measure": gain.MEASURES,
    "risk": RISKS,
    "rule": cross_validation.RULES,
    "loss": tuple(LOSSES),
}

# Without a method: prune to a size, or at given nodes. These leaves have the stop reason that growing would give.
_SIZES: dict[str, tuple[Callable[..., PruneDecision], str]] = {
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
    """Return the function of a method, or of the one size among the options, and the stop reason of its leaves."""
    sizes = [name for name in _SIZES if options.get(name) is not None]
    if method is not None and (not isinstance(method, str) or method not in METHODS):
        raise ParameterError(
            f"must be one of {', '.join(METHODS)}.",
            parameter="method",
            value=method,
            hint=did_you_mean(method, METHODS),
        )
    if method is not None and sizes:
        raise ParameterError(
            Param(sizes[0]) + " and " + Param("method", method) + " cannot be combined.",
            hint="Prune twice.",
        )
    if method is not None:
        return METHODS[method], stop_reason(method)
    if len(sizes) > 1:
        both = join_message(" and ", (Given(name, options[name]) for name in sizes))
        raise ParameterError(both + " cannot be combined.", hint="Give one of them, or prune twice.")
    if not sizes:
        raise ParameterError(
            f"prune needs a method ({', '.join(METHODS)}) or a size: "
            + Param("max_leaf_nodes", 8)
            + ", "
            + Param("max_depth", 3)
            + ", "
            + Param("at", [5])
            + "."
        )
    return _SIZES[sizes[0]]


def stop_reason(method: str) -> str:
    """Return the stop reason of the leaves that a method makes."""
    return "pruned(cost_complexity)" if method == "cv" else f"pruned({method})"


_TABLES = ("data", "validation")


def check_options(method: str | None, decide: Callable[..., PruneDecision], options: dict[str, Any]) -> None:
    """Raise for an option the method does not have, or a value it does not accept."""
    known = _option_names(decide)
    for name in options:
        if name not in known:
            whose = f"pruning by {method}" if method else known[0]
            if name in _TABLES:
                table = "a validation table" if name == "validation" else "the training table"
                raise ParameterError(f"{whose} does not use {table}.", hint="Leave it out.")
            options_text = f"takes {', '.join(known)}" if known and method else "takes no other options"
            raise ParameterError(
                f"{whose} has no option {name}.", hint=f"{did_you_mean(name, known)} It {options_text}."
            )
    check_choices(options)


def check_choices(options: dict[str, Any]) -> None:
    """Raise for a value that an option with fixed choices does not accept."""
    for name, choices in _CHOICES.items():
        if options.get(name) is not None:
            check_choice(name, options[name], choices)


def apply_decision(tree: Tree, decision: PruneDecision, method: str | None, stop: str) -> Tree:
    """Return the pruned tree, with the decision as the last step of its history."""
    relabelled = tree
    if decision.predictions is not None:
        name = "label" if tree.task == "classification" else "value"
        relabelled = replace(
            tree, arrays=replace(tree.arrays, **{name: decision.predictions.astype(getattr(tree.arrays, name).dtype)})
        )
    pruned = decision.tree or collapse_nodes(relabelled, np.flatnonzero(decision.is_pruned).tolist(), STOPS.index(stop))
    step = HistoryStep(
        did="prune", **({"method": method} if method else {}), options=decision.options, **decision.extra
    )
    step |= {
        "leaves": [tree.n_leaves, pruned.n_leaves],
        "facts": list(decision.facts),
        "measure": decision.measure,
        "headings": list(decision.headings),
        "looked_at": int(np.count_nonzero(decision.considered)),
        "decisions": _list_decisions(tree, decision),
    }
    return pruned.with_(history=(*tree.history, step))


def _list_decisions(tree: Tree, decision: PruneDecision) -> list[dict[str, Any]]:
    """Return the decisions in pre-order; if there are too many, those at the nodes with the most rows."""
    nodes = np.flatnonzero(decision.considered)
    if len(nodes) > _MAX_DECISIONS:
        nodes = np.sort(nodes[np.argsort(-tree.arrays.rows[nodes], kind="stable")[:_MAX_DECISIONS]])
    new_numbers = _new_numbers(tree, decision)
    return [
        {
            "node": node,
            "now": int(new_numbers[node]) if new_numbers[node] >= 0 else None,
            "test": _describe_split(tree, node),
            "rows": int(tree.arrays.rows[node]),
            "before": _finite(decision.before, node),
            "after": _finite(decision.after, node),
            "cut": bool(decision.is_pruned[node]),
            "why": decision.reason(node),
        }
        for node in nodes.tolist()
    ]


def _new_numbers(tree: Tree, decision: PruneDecision) -> Ints:
    """Return the number of each node in the pruned tree; -1 for removed nodes."""
    if decision.new_numbers is not None:
        return decision.new_numbers
    visible = ~tree.arrays.below(decision.is_pruned)
    return np.where(visible, np.cumsum(visible) - 1, -1)


def _finite(values: Floats | None, node: int) -> float | None:
    if values is None or not math.isfinite(values[node]):
        return None
    return float(values[node])


def _describe_split(tree: Tree, node: int) -> str:
    """Return the condition of a node's first branch, or the column of a multiway split."""
    split = tree.split_at(node)
    assert split is not None
    return split.column if split.n_branches > 2 else tree.condition(tree.children(node)[0])


def _option_names(decide: Callable[..., PruneDecision]) -> list[str]:
    """Return the names of a method's options.

    >>> _option_names(METHODS["gain"])
    ['threshold', 'measure']
    """
    return [name for name in inspect.signature(decide).parameters if name != "tree"]
