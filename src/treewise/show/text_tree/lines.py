"""The lines of a text tree: which nodes are shown, which subtrees are folded, and the parts of each line.

``layout.py`` arranges the lines for people, ``formats/export/text.py`` with every number. A line is

    " 4"  "│  └─ "  "age > 71.5 or missing"   "→ no"        "… continues at 4 below"
    number  prefix       condition           prediction              tail

No line is deeper than 20 levels: a deeper subtree continues at the margin in a block of its own, so the text of a tree
of any depth is O(nodes).

A tree that fits its bounds is shown whole. Otherwise subtrees whose leaves all predict the same are folded first; then
levels are opened from the top, the heaviest nodes of a level first, until the lines are used up. A folded node takes
two lines, its own and the one that summarises the subtree; opening it saves the second and costs one or two per child.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from treewise._lib.text import format_rounded, format_share_exact, plural
from treewise.formats.text_format.notation import UNKNOWN, write_label
from treewise.show.node_stats import has_training_rows
from treewise.show.text_tree.conditions import ConditionText
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree

MAX_BLOCK_DEPTH = 20  # below this depth a subtree continues at the margin
_MANY_BRANCHES = 8  # a node with more may be opened in part


# -- folding ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextView:
    """The part of a tree to show: its first node, which inner nodes are open (None: all), and which only in part."""

    top: int
    opened: frozenset[int] | None = None
    branches_shown: Mapping[int, int] = field(default_factory=dict)  # how many, where not all fit

    @property
    def is_whole(self) -> bool:
        """Whether nothing is folded."""
        return self.opened is None

    def is_open(self, node: int) -> bool:
        """Return whether the children of an inner node are shown."""
        return self.opened is None or node in self.opened


@dataclass(frozen=True)
class SubtreeInfo:
    """Where the subtree of every node ends, and whether its leaves agree."""

    end: npt.NDArray[np.int64]  # the subtree of node i is i, …, end[i] - 1: nodes are numbered in pre-order
    is_uniform: npt.NDArray[np.bool_]  # all leaves below predict the same


def describe_subtrees(tree: Tree) -> SubtreeInfo:
    """Find the end of every subtree and whether its leaves agree, from the last node back to the root."""
    a, n = tree.arrays, len(tree)
    parents, predictions = a.parent.tolist(), (a.value if tree.task == "regression" else a.label).tolist()
    end, is_uniform = list(range(1, n + 1)), [True] * n
    first: list[float | None] = [predictions[i] if a.kind[i] == LEAF else None for i in range(n)]
    for i in range(n - 1, 0, -1):
        parent = parents[i]
        end[parent] = max(end[parent], end[i])
        if first[parent] is None:
            first[parent] = first[i]
        is_uniform[parent] = is_uniform[parent] and is_uniform[i] and first[parent] == first[i]
    return SubtreeInfo(np.array(end), np.array(is_uniform))


def choose_view(tree: Tree, node: int, max_lines: int | None, max_depth: int | None, subtrees: SubtreeInfo) -> TextView:
    """Choose what to show within these bounds; a tree that fits is shown whole."""
    inside = slice(node, int(subtrees.end[node]))
    levels = int(tree.depths[inside].max() - tree.depths[node])
    n_lines = inside.stop - inside.start
    if (max_lines is None or n_lines <= max_lines) and (max_depth is None or levels <= max_depth):
        return TextView(node)
    return _Unfolder(
        tree, subtrees, node, max_lines or 2 * n_lines, levels if max_depth is None else max_depth
    ).unfold()


class _Unfolder:
    """Opens nodes level by level while there are lines left."""

    def __init__(self, tree: Tree, subtrees: SubtreeInfo, top: int, max_lines: int, max_depth: int) -> None:
        self.tree, self.subtrees, self.top, self.max_depth = tree, subtrees, top, max_depth
        self.is_inner = tree.arrays.kind != LEAF
        self.lines_left = max_lines - 1 - int(self.is_inner[top])
        self.opened: set[int] = set()
        self.branches_shown: dict[int, int] = {}

    def unfold(self) -> TextView:
        level, depth = [self.top], 0
        while level and depth < self.max_depth:
            mixed = [i for i in level if self.is_inner[i] and (i == self.top or not self.subtrees.is_uniform[i])]
            mixed.sort(key=lambda i: -self.tree.arrays.weight[i])
            closed = [i for i in mixed if not self._open(i, depth)]
            if closed:
                self._open_in_part(closed[0])
                break
            level = [child for i in mixed for child in self.tree.children(i)]
            depth += 1
        return TextView(self.top, frozenset(self.opened), self.branches_shown)

    def _open(self, node: int, depth: int) -> bool:
        """Open a node if its children still fit; return whether they did."""
        children = list(self.tree.children(node))
        is_repeated = depth > 0 and depth % MAX_BLOCK_DEPTH == 0  # its line is printed again at the margin
        cost = len(children) + int(np.count_nonzero(self.is_inner[children])) - 1 + is_repeated
        if cost > self.lines_left:
            return False
        self.lines_left -= cost
        self.opened.add(node)
        return True

    def _open_in_part(self, node: int) -> None:
        """Show the first branches of a node that has too many for all of them."""
        children = self.tree.children(node)
        if len(children) <= _MANY_BRANCHES:
            return
        costs = np.cumsum(1 + self.is_inner[list(children)].astype(int))
        n_shown = int(np.searchsorted(costs, self.lines_left, side="right"))
        if n_shown > 0:
            self.opened.add(node)
            self.branches_shown[node] = n_shown
            self.lines_left -= int(costs[n_shown - 1])


# -- lines --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Glyphs:
    """The characters that a text tree is drawn with."""

    tee: str
    corner: str
    bar: str
    arrow: str
    ellipsis: str
    blank: str  # in a cell without a number
    dot: str  # between facts
    times: str  # between a number of leaves and a class that is a number itself


UNICODE = Glyphs("├─ ", "└─ ", "│  ", "→", "…", "–", "·", "×")
ASCII = Glyphs("|- ", "`- ", "|  ", "->", "...", "-", ";", "x")


@dataclass(frozen=True)
class TreeLine:
    """One line of a text tree."""

    node: int | None  # None: the line represents folded nodes
    prefix: str
    condition: str
    prediction: str = ""
    tail: str = ""
    is_repeated: bool = False  # the first line of a block, which was printed in an earlier block already


@dataclass(frozen=True)
class _PendingLine:
    node: int
    prefix_above: str
    glyph: str
    condition: str
    depth: int = 0  # in the block


@dataclass(frozen=True)
class LinePrinter:
    """Composes the lines of a tree within a view."""

    tree: Tree
    view: TextView
    subtrees: SubtreeInfo
    conditions: ConditionText
    glyphs: Glyphs

    def lines(self) -> Iterator[TreeLine]:
        """Yield the lines block by block; blocks are in the order of their nodes."""
        blocks = [self.view.top]
        while blocks:
            continued: list[int] = []
            yield from self._block(blocks.pop(), continued)
            blocks.extend(reversed(continued))

    def _block(self, head: int, continued: list[int]) -> Iterator[TreeLine]:
        """Yield the lines from one node down; nodes that continue in a block of their own go to ``continued``."""
        kinds, glyphs = self.tree.arrays.kind, self.glyphs
        stack: list[TreeLine | _PendingLine] = [_PendingLine(head, "", "", self.conditions.condition(head))]
        while stack:
            item = stack.pop()
            if isinstance(item, TreeLine):
                yield item
                continue
            node, prefix = item.node, item.prefix_above + item.glyph
            if kinds[node] == LEAF:
                yield TreeLine(node, prefix, item.condition, f"{glyphs.arrow} {self._prediction(node)}")
            elif not self.view.is_open(node):
                yield TreeLine(node, prefix, item.condition)
                yield self._folded_line(node, self._prefix_below(item) + "   ")
            elif item.depth == MAX_BLOCK_DEPTH:
                yield TreeLine(node, prefix, item.condition, tail=f"{glyphs.ellipsis} continues at {node} below")
                continued.append(node)
            else:
                yield TreeLine(node, prefix, item.condition, is_repeated=node == head != self.view.top)
                stack.extend(reversed(self._child_lines(item)))

    def _prefix_below(self, item: _PendingLine) -> str:
        return item.prefix_above + {"": "", self.glyphs.tee: self.glyphs.bar}.get(item.glyph, "   ")

    def _child_lines(self, item: _PendingLine) -> list[TreeLine | _PendingLine]:
        children, conditions = self.tree.children(item.node), self.conditions.branches(item.node)
        n_shown = self.view.branches_shown.get(item.node, len(children))
        prefix, last = self._prefix_below(item), len(children) - 1
        glyphs = [*([self.glyphs.tee] * last), self.glyphs.corner]
        lines: list[TreeLine | _PendingLine] = [
            _PendingLine(children[i], prefix, glyphs[i], conditions[i], item.depth + 1) for i in range(n_shown)
        ]
        if n_shown <= last:
            branches = plural(last + 1 - n_shown, "more branch", "more branches")
            leaves = self._leaves_between(children[n_shown], int(self.subtrees.end[children[last]]))
            omission = f"{self.glyphs.ellipsis} {branches}, {plural(len(leaves), 'leaf', 'leaves')}"
            lines.append(TreeLine(None, prefix + self.glyphs.corner, omission))
        return lines

    def _folded_line(self, node: int, prefix: str) -> TreeLine:
        """Summarise the predictions of a folded subtree."""
        tree, ellipsis, ascii = self.tree, self.glyphs.ellipsis, self.conditions.ascii
        leaves = self._leaves_between(node, int(self.subtrees.end[node]))
        summary = f"{ellipsis} {plural(len(leaves), 'leaf', 'leaves')}"
        if self.subtrees.is_uniform[node]:
            prediction = self._prediction(int(leaves[0]))
            return TreeLine(None, prefix, f"{summary}, all {prediction}", f"{self.glyphs.arrow} {prediction}")
        if tree.task == "regression":
            values = tree.arrays.value[leaves]
            low, high = format_rounded(np.nanmin(values)), format_rounded(np.nanmax(values))
            return TreeLine(None, prefix, f"{summary}, {low} to {high}")
        labels, counts = np.unique(tree.arrays.label[leaves], return_counts=True)
        commonest = [i for i in np.argsort(-counts, kind="stable")[:3] if labels[i] >= 0]
        times = f" {self.glyphs.times} " if not any(isinstance(label, str) for label in tree.classes) else " "
        parts = [f"{counts[i]:,}{times}{write_label(tree.classes[labels[i]], ascii)}" for i in commonest]
        return TreeLine(None, prefix, f"{summary}: {', '.join(parts + [ellipsis] * (len(labels) > 3))}")

    def _leaves_between(self, first: int, end: int) -> list[int]:
        return (first + np.flatnonzero(self.tree.arrays.kind[first:end] == LEAF)).tolist()

    def _prediction(self, node: int) -> str:
        return prediction_text(self.tree, node, self.conditions.ascii)


def prediction_text(tree: Tree, node: int, ascii: bool = False) -> str:
    """Return what a node predicts, as ``treewise.parse`` reads it; with probabilities where these were written.

    >>> import treewise as tw
    >>> tree = tw.parse("x <= 1 -> yes 0.75\\nx > 1 -> no")
    >>> prediction_text(tree, 1), prediction_text(tree, 2)
    ('yes 0.75', 'no')
    """
    prediction = tree.prediction(node)
    if prediction is None:
        return UNKNOWN
    if tree.task == "regression":
        return format_rounded(float(prediction))
    label = write_label(prediction, ascii)
    if has_training_rows(tree):  # the columns beside the tree show the counts
        return label
    shares = tree.probabilities(node).tolist()
    given = [(each, share) for each, share in zip(tree.classes, shares, strict=True) if share > 0]
    if len(given) <= 1:
        return label
    if len(tree.classes) == 2:
        return f"{label} {format_share_exact(max(shares))}"
    return ", ".join(f"{write_label(each, ascii)} {format_share_exact(share)}" for each, share in given)
