"""Which nodes a bounded view of a tree shows, and which subtrees it folds into one line.

Stands before ``text.py``, which prints what is chosen here. A tree that fits is shown whole. Otherwise
subtrees whose leaves all predict the same are folded first; then levels are opened from the top, the heaviest
nodes of a level first, until the lines are used up.

A folded node costs two lines, its own and the one that says what is folded; opening it gives up the second
and pays one or two for each child.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

CONTINUES = 20  # below this depth a subtree continues at the margin, so that text stays O(nodes)
MANY_BRANCHES = 8  # a node with more may be opened in part


@dataclass(frozen=True)
class TextView:
    """What to show of a tree: from which node on, which inner nodes open (None: all), which only in part."""

    top: int
    opened: frozenset[int] | None = None
    branches_shown: Mapping[int, int] = field(default_factory=dict)  # how many, where not all fit

    @property
    def whole(self) -> bool:
        """Whether nothing is folded."""
        return self.opened is None

    def is_open(self, node: int) -> bool:
        """Whether an inner node's children are shown."""
        return self.opened is None or node in self.opened


@dataclass(frozen=True)
class FoldedTree:
    """What folding needs to know of every node: where its subtree ends and whether its leaves agree."""

    end: npt.NDArray[np.int64]  # the subtree of node i is i, …, end[i] - 1: nodes are numbered in pre-order
    agree: npt.NDArray[np.bool_]  # all leaves below predict the same


def shape(tree: Tree) -> FoldedTree:
    """Find every subtree's end and whether its leaves agree, from the last node back to the root."""
    a, n = tree.arrays, len(tree)
    parents, said = a.parent.tolist(), predictions(tree).tolist()
    end, agree = list(range(1, n + 1)), [True] * n
    verdict: list[float | None] = [said[i] if a.kind[i] == LEAF else None for i in range(n)]
    for i in range(n - 1, 0, -1):
        up = parents[i]
        end[up] = max(end[up], end[i])
        if verdict[up] is None:
            verdict[up] = verdict[i]
        agree[up] = agree[up] and agree[i] and verdict[up] == verdict[i]
    return FoldedTree(np.array(end), np.array(agree))


def predictions(tree: Tree) -> npt.NDArray[np.float64]:
    """Return what every node predicts as a number: the value, or the place of the class."""
    a = tree.arrays
    return a.value if tree.task == "regression" else a.label.astype(np.float64)


def choose(tree: Tree, node: int, max_lines: int | None, max_depth: int | None, known: FoldedTree) -> TextView:
    """Choose what to show within these bounds; a tree that fits is shown whole."""
    inside = slice(node, int(known.end[node]))
    levels = int(tree.depths[inside].max() - tree.depths[node])
    lines = inside.stop - inside.start
    if (max_lines is None or lines <= max_lines) and (max_depth is None or levels <= max_depth):
        return TextView(node)
    opening = _UnfoldQueue(tree, known, node, max_lines or 2 * lines, levels if max_depth is None else max_depth)
    return opening.view()


class _UnfoldQueue:
    """Opens nodes level by level while the lines last."""

    def __init__(self, tree: Tree, known: FoldedTree, top: int, max_lines: int, max_depth: int) -> None:
        self.tree, self.known, self.top, self.max_depth = tree, known, top, max_depth
        self.inner = tree.arrays.kind != LEAF
        self.left = max_lines - 1 - int(self.inner[top])
        self.opened: set[int] = set()
        self.in_part: dict[int, int] = {}

    def view(self) -> TextView:
        """Open what fits."""
        level, depth = [self.top], 0
        while level and depth < self.max_depth:
            below = [i for i in level if self.inner[i] and (i == self.top or not self.known.agree[i])]
            below.sort(key=lambda i: -self.tree.arrays.weight[i])
            refused = [i for i in below if not self._open(i, depth)]
            if refused:
                self._open_in_part(refused[0])
                break
            level = [child for i in below for child in self.tree.children(i)]
            depth += 1
        return TextView(self.top, frozenset(self.opened), self.in_part)

    def _open(self, node: int, depth: int) -> bool:
        """Open a node if its children still fit; tell whether they did."""
        children = list(self.tree.children(node))
        repeated = depth > 0 and depth % CONTINUES == 0  # its line stands at the margin once more
        cost = len(children) + int(np.count_nonzero(self.inner[children])) - 1 + repeated
        if cost > self.left:
            return False
        self.left -= cost
        self.opened.add(node)
        return True

    def _open_in_part(self, node: int) -> None:
        """Show the first branches of a node that has too many for all of them."""
        children = self.tree.children(node)
        if len(children) <= MANY_BRANCHES:
            return
        costs = np.cumsum(1 + self.inner[list(children)].astype(int))
        shown = int(np.searchsorted(costs, self.left, side="right"))
        if shown > 0:
            self.opened.add(node)
            self.in_part[node] = shown
            self.left -= int(costs[shown - 1])
