"""What a pruning method decides, and the walk from the leaves up that several methods share.

Stands below the methods. A method looks at a tree and returns a ``Verdict``; ``front.py`` cuts, and writes the verdict
into the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

ROUNDING = 1e-12  # sums of doubles that are nearer than this are equal


@dataclass(frozen=True, eq=False)
class PruneDecision:
    """Which nodes become leaves, and the numbers that say so: of the subtree (before) and as a leaf (after)."""

    cut: Bools  # of every node; a node below a cut one does not matter
    looked_at: Bools
    before: Floats | None  # NaN: there is no such number
    after: Floats | None
    measure: str  # what the two numbers are
    why: Callable[[int], str]  # of a node that was looked at
    options: dict[str, Any] = field(default_factory=dict)  # as the history keeps them
    facts: Sequence[str] = ()  # lines above the table of decisions
    more: dict[str, Any] = field(default_factory=dict)  # further entries of the step
    predicts: npt.NDArray[Any] | None = None  # what cut nodes predict, where they must not say it by themselves
    tree: Tree | None = None  # the outcome, where nodes were not only cut, …
    now: Ints | None = None  # … and each node's number in it


def inner(tree: Tree) -> Bools:
    """Tell which nodes ask something."""
    asks: Bools = tree.arrays.kind != LEAF
    return asks


def from_the_leaves_up(
    tree: Tree, as_leaf: Floats, of_its_own: Floats | None = None, slack: float = 0.0
) -> tuple[Bools, Floats]:
    """Cut every node that costs no more as a leaf than its subtree, already cut below, does (plus ``slack``).

    Costs add up over leaves; ``of_its_own`` is what an inner node adds. Returns what is cut, and what the subtree of
    each inner node cost when it was looked at. Without slack this finds, of all prunings, the smallest of least cost:
    what is best below one branch does not depend on the others.
    """
    asks = inner(tree)
    own = np.where(asks, 0.0 if of_its_own is None else of_its_own, 0.0)
    cut, below = _core.prune_bottom_up(
        tree.arrays.parent, np.ascontiguousarray(as_leaf, np.float64), own, slack, ROUNDING
    )
    return cut.astype(bool), np.where(asks, below, as_leaf)
