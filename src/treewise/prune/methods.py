"""The pruning methods by name. A new one is a file with a ``decide`` function, a line here, and its reason to stop in
``nodes.STOPS``.

Stands between ``front.py`` and the methods. What a ``decide`` function takes after the tree are the method's options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from treewise.prune import by_size, collapse, cost_complexity, gain, mdl, pessimistic, reduced_error
from treewise.prune.decision import PruneDecision
from treewise.prune.risk import RISKS

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


def options_of(decide: Callable[..., PruneDecision]) -> list[str]:
    """Return the names of a method's options.

    >>> options_of(METHODS["gain"])
    ['threshold', 'measure']
    """
    return [name for name in inspect.signature(decide).parameters if name != "tree"]
