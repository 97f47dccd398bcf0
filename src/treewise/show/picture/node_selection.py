"""Which nodes of a tree a picture shows: all of them, or the heaviest within bounds.

Stands at the beginning of the flow of a picture. A tree that fits is shown whole. Otherwise nodes are opened from the
top, always the one that most rows have reached, until there are as many ends (leaves and folded subtrees) as wanted;
the path of a highlighted row comes first. Each step costs what is shown of it, so a tree of any size takes as long as
its picture, beside a few sweeps over its arrays.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from treewise._lib.text import plural
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

MOST_LEVELS = 24  # of a picture, where no other number was asked for
MANY_BRANCHES = 8  # a node with more may be opened in part


@dataclass(frozen=True)
class SelectedNodes:
    """One box of a picture."""

    node: int  # of a box that stands for further branches: their parent
    up: int  # which box it hangs from; -1 at the top
    leaves: int = 0  # how many are folded below it
    branches: int = 0  # how many further branches it stands for

    @property
    def folded(self) -> bool:
        """Whether something below is not shown."""
        return self.leaves > 0


@dataclass(frozen=True)
class SelectionLimits:
    """What a picture may show: from which node on, how many levels, how many ends."""

    top: int = 0
    max_depth: int | None = None
    max_leaves: int = 60


def choose(tree: Tree, bounds: SelectionLimits, path: Collection[int] = ()) -> list[SelectedNodes]:
    """Return the boxes to draw, a parent before its children and children in branch order."""
    return _ExpandQueue(tree, bounds, set(path)).boxes()


def notice(tree: Tree, bounds: SelectionLimits, boxes: list[SelectedNodes]) -> str | None:
    """Say what is not shown and how to see it; None where everything is."""
    folded = [box.leaves for box in boxes if box.folded]
    if not folded:
        return None
    below = tree.arrays.kind[bounds.top : int(tree.arrays.ends[bounds.top])]
    total = plural(int(np.count_nonzero(below == LEAF)), "leaf", "leaves")
    stand = "dashed box stands" if len(folded) == 1 else "dashed boxes stand"
    return f"{len(folded):,} {stand} for {sum(folded):,} of {total}: see max_depth, max_leaves, node"


@dataclass
class _ExpandQueue:
    """Opens the heaviest nodes while the ends last."""

    tree: Tree
    bounds: SelectionLimits
    path: set[int]
    opened: dict[int, list[int]] = field(default_factory=dict)  # node → the children shown

    def boxes(self) -> list[SelectedNodes]:
        """Open nodes, then list the boxes from the top down."""
        self._open()
        tree, ends = self.tree, self.tree.arrays.ends
        leaves_before = np.concatenate([[0], np.cumsum(tree.arrays.kind == LEAF)])
        boxes: list[SelectedNodes] = []
        left = [(self.bounds.top, -1)]
        while left:
            node, up = left.pop()
            if node < 0:  # further branches of the node ~node
                shown = self.opened[~node]
                hidden = int(leaves_before[ends[~node]] - leaves_before[~node])
                hidden -= sum(int(leaves_before[ends[child]] - leaves_before[child]) for child in shown)
                boxes.append(SelectedNodes(~node, up, hidden, len(tree.children(~node)) - len(shown)))
                continue
            children, here = self.opened.get(node), len(boxes)
            if children is None:
                many = int(leaves_before[ends[node]] - leaves_before[node])
                boxes.append(SelectedNodes(node, up, 0 if tree.arrays.kind[node] == LEAF else many))
                continue
            boxes.append(SelectedNodes(node, up))
            if len(children) < len(tree.children(node)):
                left.append((~node, here))
            left.extend((child, here) for child in reversed(children))
        return boxes

    def _open(self) -> None:
        most = MOST_LEVELS if self.bounds.max_depth is None else self.bounds.max_depth
        ends, waiting = 1, [self._entry(self.bounds.top, 0)]
        while waiting:
            *_, level, node = heapq.heappop(waiting)
            if self.tree.arrays.kind[node] == LEAF or level >= most:
                continue
            children, room = list(self.tree.children(node)), self.bounds.max_leaves - ends
            if len(children) - 1 > room:
                if len(children) <= MANY_BRANCHES or room < 2:
                    continue
                children = self._heaviest(children, room)
                ends += 1  # the box that stands for the others
            ends += len(children) - 1
            self.opened[node] = children
            for child in children:
                heapq.heappush(waiting, self._entry(child, level + 1))

    def _entry(self, node: int, level: int) -> tuple[bool, float, int, int]:
        return node not in self.path, -float(self.tree.arrays.weight[node]), level, node

    def _heaviest(self, children: list[int], many: int) -> list[int]:
        """Return some children in their order, the highlighted one and the heaviest."""
        return sorted(heapq.nsmallest(many, children, key=lambda child: self._entry(child, 0)))
