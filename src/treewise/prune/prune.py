"""What was asked → a method's verdict → a new tree, with the decisions at the end of its history.

The front of the package: ``tree.prune`` comes here, growth with ``pruning=`` and the command line too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from treewise.errors import Given, Param, ParameterError, did_you_mean, join_message
from treewise.prune.decision import Floats, Ints, PruneDecision
from treewise.prune.methods import METHODS, SIZES, WORDS, options_of
from treewise.train.edit import cut
from treewise.train.settings import one_of
from treewise.tree.arrays import STOPS
from treewise.tree.history import Step
from treewise.tree.tree import Tree

MOST_KEPT = 1000  # decisions in the history, which is saved with the tree


def prune(tree: Tree, method: str | None = None, **options: Any) -> Tree:
    """Prune a tree by a method, or without one to a size."""
    decide, stop = find(method, options)
    check_options(method, decide, options)
    verdict = decide(tree, **options)
    return carried_out(tree, verdict, method, stop)


def find(method: str | None, options: dict[str, Any]) -> tuple[Callable[..., PruneDecision], str]:
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
        return METHODS[method], stop_of(method)
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


def stop_of(method: str) -> str:
    """Return the reason to stop of the leaves a method makes."""
    return f"pruned({method})"


def check_options(method: str | None, decide: Callable[..., PruneDecision], options: dict[str, Any]) -> None:
    """Refuse an option the method does not have, and words it does not know."""
    known = options_of(decide)
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


def carried_out(tree: Tree, verdict: PruneDecision, method: str | None, stop: str) -> Tree:
    """Cut what the verdict says, and write it down."""
    said = tree
    if verdict.predicts is not None:
        name = "label" if tree.task == "classification" else "value"
        said = replace(
            tree, arrays=replace(tree.arrays, **{name: verdict.predicts.astype(getattr(tree.arrays, name).dtype)})
        )
    pruned = verdict.tree or cut(said, np.flatnonzero(verdict.cut).tolist(), STOPS.index(stop))
    step = Step(did="prune", **({"method": method} if method else {}), options=verdict.options, **verdict.more)
    step |= {
        "leaves": [tree.n_leaves, pruned.n_leaves],
        "facts": list(verdict.facts),
        "measure": verdict.measure,
        "looked_at": int(np.count_nonzero(verdict.looked_at)),
        "decisions": decisions(tree, verdict),
    }
    return pruned.with_(history=(*tree.history, step))


def decisions(tree: Tree, verdict: PruneDecision) -> list[dict[str, Any]]:
    """List what was decided at each node, in pre-order; of many, at the nodes with most rows."""
    nodes = np.flatnonzero(verdict.looked_at)
    if len(nodes) > MOST_KEPT:
        nodes = np.sort(nodes[np.argsort(-tree.arrays.rows[nodes], kind="stable")[:MOST_KEPT]])
    now = numbers_after(tree, verdict)
    return [
        {
            "node": node,
            "now": int(now[node]) if now[node] >= 0 else None,
            "test": test_in_words(tree, node),
            "rows": int(tree.arrays.rows[node]),
            "before": statistic(verdict.before, node),
            "after": statistic(verdict.after, node),
            "cut": bool(verdict.cut[node]),
            "why": verdict.why(node),
        }
        for node in nodes.tolist()
    ]


def numbers_after(tree: Tree, verdict: PruneDecision) -> Ints:
    """Return each node's number in the pruned tree; -1 where it is gone."""
    if verdict.now is not None:
        return verdict.now
    visible = ~tree.arrays.below(verdict.cut)
    return np.where(visible, np.cumsum(visible) - 1, -1)


def statistic(of_nodes: Floats | None, node: int) -> float | None:
    """Return a node's number, where there is one."""
    if of_nodes is None or not math.isfinite(of_nodes[node]):
        return None
    return float(of_nodes[node])


def test_in_words(tree: Tree, node: int) -> str:
    """Say what a node asks: the condition of its first branch, or the column where there are many branches."""
    split = tree.split_at(node)
    assert split is not None
    return split.column if split.n_branches > 2 else tree.condition(tree.children(node)[0])
