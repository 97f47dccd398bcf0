"""Selection of the nodes that a picture shows: all of them, or the heaviest within limits.

A tree that fits is shown whole. Otherwise nodes are expanded from the top, always the heaviest one, until there are as
many ends (leaves and folded subtrees) as allowed; the path of a highlighted row comes first. The time is proportional
to what is shown, apart from a few sweeps over the arrays of the tree.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from treewise._lib.text import plural
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

MAX_LEVELS = 24  # of a picture, unless max_depth is given
_MANY_BRANCHES = 8  # a node with more may be expanded in part


@dataclass(frozen=True)
class SelectedNode:
    """One box of a picture."""

    node: int  # of a box that represents further branches: their parent
    parent: int  # index of the box above; -1 at the top
    leaves: int = 0  # how many are folded below it
    branches: int = 0  # how many further branches it represents

    @property
    def is_folded(self) -> bool:
        """Whether something below is not shown."""
        return self.leaves > 0


@dataclass(frozen=True)
class SelectionLimits:
    """Limits of a picture: its first node, number of levels, and number of leaves."""

    top: int = 0
    max_depth: int | None = None
    max_leaves: int = 60


def select_nodes(tree: Tree, limits: SelectionLimits, path: Collection[int] = ()) -> list[SelectedNode]:
    """Return the boxes to draw, a parent before its children and children in branch order."""
    return _Expander(tree, limits, set(path)).select()


def describe_omissions(tree: Tree, limits: SelectionLimits, boxes: list[SelectedNode]) -> str | None:
    """Describe what is not shown and how to see it; None where everything is shown."""
    folded = [box.leaves for box in boxes if box.is_folded]
    if not folded:
        return None
    below = tree.arrays.kind[limits.top : int(tree.arrays.ends[limits.top])]
    total = plural(int(np.count_nonzero(below == LEAF)), "leaf", "leaves")
    stand = "dashed box stands" if len(folded) == 1 else "dashed boxes stand"
    return f"{len(folded):,} {stand} for {sum(folded):,} of {total}: see max_depth, max_leaves, node"


@dataclass
class _Expander:
    tree: Tree
    limits: SelectionLimits
    path: set[int]
    shown_children: dict[int, list[int]] = field(default_factory=dict)  # of expanded nodes

    def select(self) -> list[SelectedNode]:
        """Expand nodes, then list the boxes from the top down."""
        self._expand()
        tree, ends = self.tree, self.tree.arrays.ends
        leaves_before = np.concatenate([[0], np.cumsum(tree.arrays.kind == LEAF)])
        boxes: list[SelectedNode] = []
        stack = [(self.limits.top, -1)]
        while stack:
            node, parent = stack.pop()
            if node < 0:  # further branches of the node ~node
                children_shown = self.shown_children[~node]
                hidden = int(leaves_before[ends[~node]] - leaves_before[~node])
                hidden -= sum(int(leaves_before[ends[child]] - leaves_before[child]) for child in children_shown)
                boxes.append(SelectedNode(~node, parent, hidden, len(tree.children(~node)) - len(children_shown)))
                continue
            children, index = self.shown_children.get(node), len(boxes)
            if children is None:
                n_leaves = int(leaves_before[ends[node]] - leaves_before[node])
                boxes.append(SelectedNode(node, parent, 0 if tree.arrays.kind[node] == LEAF else n_leaves))
                continue
            boxes.append(SelectedNode(node, parent))
            if len(children) < len(tree.children(node)):
                stack.append((~node, index))
            stack.extend((child, index) for child in reversed(children))
        return boxes

    def _expand(self) -> None:
        max_depth = MAX_LEVELS if self.limits.max_depth is None else self.limits.max_depth
        n_ends, queue = 1, [self._entry(self.limits.top, 0)]
        while queue:
            *_, level, node = heapq.heappop(queue)
            if self.tree.arrays.kind[node] == LEAF or level >= max_depth:
                continue
            children, max_added = list(self.tree.children(node)), self.limits.max_leaves - n_ends
            if len(children) - 1 > max_added:
                if len(children) <= _MANY_BRANCHES or max_added < 2:
                    continue
                children = self._heaviest(children, max_added)
                n_ends += 1  # the box that represents the others
            n_ends += len(children) - 1
            self.shown_children[node] = children
            for child in children:
                heapq.heappush(queue, self._entry(child, level + 1))

    def _entry(self, node: int, level: int) -> tuple[bool, float, int, int]:
        return node not in self.path, -float(self.tree.arrays.weight[node]), level, node

    def _heaviest(self, children: list[int], count: int) -> list[int]:
        """Return the heaviest children, and the highlighted one, in branch order."""
        return sorted(heapq.nsmallest(count, children, key=lambda child: self._entry(child, 0)))
