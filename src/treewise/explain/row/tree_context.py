"""What the explanations of many rows of one tree share: the ends with their conditions, and what each node answers.

Stands on ``regions``; ``change.py`` looks for the nearest end, ``words.py`` asks what a path leaves possible. Each part
is made when it is first needed, so a dataframe of a million rows makes none of them, and once for all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from treewise.predict.leaf_probabilities import LeafProbabilities
from treewise.predict.predict import answering_nodes, predict_at_nodes
from treewise.tree.arrays import LEAF
from treewise.tree.regions.region import Condition, Interval, RegionTraversal
from treewise.tree.tree import Tree

MOST_KEPT = 2_000_000  # conditions and levels named in them; the ends of a larger tree are walked through anew

End = tuple[
    int, Mapping[int, Condition]
]  # a node where rows stop, and what is possible of each column asked about there


class TreeContext:
    """A tree seen from above.

    >>> import treewise as tw
    >>> context = TreeContext(tw.grow("penguins", max_leaf_nodes=3), LeafProbabilities())
    >>> [node for node, _ in context.ends()], context.answers
    ([2, 3, 4], [0, 0, 0, 1, 2])
    """

    def __init__(self, tree: Tree, estimate: LeafProbabilities) -> None:
        self.tree, self.estimate = tree, estimate
        self._kept: list[End] | None = None

    @cached_property
    def asked(self) -> list[int]:
        """The columns the tree asks about, by number."""
        a = self.tree.arrays
        return sorted(set(a.column[a.kind != LEAF].tolist()))

    @cached_property
    def speakers(self) -> list[int]:
        """The node that answers for the rows that stop at each node."""
        return [int(node) for node in answering_nodes(self.tree, np.arange(len(self.tree)))]

    @cached_property
    def answers(self) -> list[Any]:
        """What is answered at each node: a class's number, or a value."""
        return list(predict_at_nodes(self.tree, np.array(self.speakers), self.estimate).tolist())

    @cached_property
    def rows(self) -> list[int]:
        """The training rows at each node."""
        return list(self.tree.arrays.rows.tolist())

    def ends(self) -> Iterable[End]:
        """Go through the ends of the tree."""
        return self._walk() if self._kept is None else self._kept

    def _walk(self) -> Iterator[End]:
        descent, size = RegionTraversal(self.tree), 0
        kept: list[End] = []
        for node in descent.ends_here():
            conditions = descent.conditions()
            size += sum(map(size_of, conditions.values()))
            if size <= MOST_KEPT:
                kept.append((node, conditions))
            yield node, conditions
        if size <= MOST_KEPT:
            self._kept = kept

    def on_the_way(self, node: int) -> dict[int, Condition]:
        """Return what the tests above a node leave possible of each column they ask about, in their order."""
        descent = self._descent
        descent.now.clear()
        for parent, child in pairwise(self.tree.path(node)):
            descent.take(parent, descent.branches[child])
        return descent.conditions()

    @cached_property
    def _descent(self) -> RegionTraversal:
        return RegionTraversal(self.tree)


def size_of(condition: Condition) -> int:
    """Return how much a condition holds."""
    return 1 if isinstance(condition, Interval) else 1 + len(condition.listed or ()) + len(condition.without)
