"""The lines of a text tree, in their parts, from the top down.

Stands between what is shown (``folding.py``), how conditions are said (``speech.py``) and those who lay lines
out: ``text.py`` with columns for people, ``formats/export/text.py`` with every number. A line is

    " 4"  "│  └─ "  "age > 71.5 or missing"   "→ no"        "… continues at 4 below"
    number  lead           said              prediction              tail

No line is deeper than 20 levels: a node there says so in its tail, and its subtree continues at the margin in
a block of its own, so the text of a tree of any depth is O(nodes).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewise._lib.text import format_rounded, plural
from treewise.formats.text_format.notation import UNKNOWN, write_label
from treewise.show.text_tree.condition_text import ConditionText
from treewise.show.text_tree.folding import CONTINUES, FoldedTree, TextView
from treewise.tree.arrays import LEAF
from treewise.tree.tree import Tree


@dataclass(frozen=True)
class Glyphs:
    """The marks a text tree is drawn with."""

    tee: str
    corner: str
    bar: str
    arrow: str
    dots: str
    nothing: str  # in a cell without a number
    dot: str  # between facts
    times: str  # between a number of leaves and a class that is a number itself


UNICODE = Glyphs("├─ ", "└─ ", "│  ", "→", "…", "–", "·", "×")
ASCII = Glyphs("|- ", "`- ", "|  ", "->", "...", "-", ";", "x")


@dataclass(frozen=True)
class TreeLine:
    """One line of a text tree."""

    node: int | None  # None: the line stands for folded nodes
    lead: str
    said: str
    prediction: str = ""
    tail: str = ""
    repeated: bool = False  # the first line of a block, which stood in an earlier block already


@dataclass(frozen=True)
class _PendingLine:
    """A node still to be printed: what stands left of it, and its depth in the block."""

    node: int
    above: str
    glyph: str
    said: str
    depth: int = 0


@dataclass(frozen=True)
class LinePrinter:
    """A tree, what is shown of it, and how it is written."""

    tree: Tree
    view: TextView
    shape: FoldedTree
    speaker: ConditionText
    glyphs: Glyphs

    def lines(self) -> Iterator[TreeLine]:
        """Yield the lines block by block; the blocks follow in the order of their nodes."""
        blocks = [self.view.top]
        while blocks:
            further: list[int] = []
            yield from self._block(blocks.pop(), further)
            blocks.extend(reversed(further))

    def _block(self, head: int, further: list[int]) -> Iterator[TreeLine]:
        """Yield the lines from one node down; nodes that continue elsewhere are put on ``further``.

        ``todo`` holds what is still to be printed, the next last: nodes, and lines that are ready.
        """
        kinds, glyphs = self.tree.arrays.kind, self.glyphs
        todo: list[TreeLine | _PendingLine] = [_PendingLine(head, "", "", self.speaker.condition(head))]
        while todo:
            step = todo.pop()
            if isinstance(step, TreeLine):
                yield step
                continue
            node, lead, repeated = step.node, step.above + step.glyph, step.node == head != self.view.top
            if kinds[node] == LEAF:
                yield TreeLine(node, lead, step.said, f"{glyphs.arrow} {self._prediction(node)}")
            elif not self.view.is_open(node):
                yield TreeLine(node, lead, step.said)
                yield self._folded(node, self._above_children(step) + "   ")
            elif step.depth == CONTINUES:
                yield TreeLine(node, lead, step.said, tail=f"{glyphs.dots} continues at {node} below")
                further.append(node)
            else:
                yield TreeLine(node, lead, step.said, repeated=repeated)
                todo.extend(reversed(self._below(step)))

    def _above_children(self, step: _PendingLine) -> str:
        """Continue a node's glyphs one line down."""
        return step.above + {"": "", self.glyphs.tee: self.glyphs.bar}.get(step.glyph, "   ")

    def _below(self, step: _PendingLine) -> list[TreeLine | _PendingLine]:
        """Return what stands directly below an open node."""
        children, said = self.tree.children(step.node), self.speaker.branches(step.node)
        shown = self.view.branches_shown.get(step.node, len(children))
        above = self._above_children(step)
        last = len(children) - 1
        marks = [*([self.glyphs.tee] * last), self.glyphs.corner]
        below: list[TreeLine | _PendingLine] = [
            _PendingLine(children[i], above, marks[i], said[i], step.depth + 1) for i in range(shown)
        ]
        if shown <= last:
            more = plural(last + 1 - shown, "more branch", "more branches")
            leaves = self._leaves_between(children[shown], int(self.shape.end[children[last]]))
            said_more = f"{self.glyphs.dots} {more}, {plural(len(leaves), 'leaf', 'leaves')}"
            below.append(TreeLine(None, above + self.glyphs.corner, said_more))
        return below

    def _folded(self, node: int, lead: str) -> TreeLine:
        """Say in one line what a folded subtree predicts."""
        tree, dots, ascii = self.tree, self.glyphs.dots, self.speaker.ascii
        leaves = self._leaves_between(node, int(self.shape.end[node]))
        many = f"{dots} {plural(len(leaves), 'leaf', 'leaves')}"
        if self.shape.agree[node]:
            same = self._prediction(int(leaves[0]))
            return TreeLine(None, lead, f"{many}, all {same}", f"{self.glyphs.arrow} {same}")
        if tree.task == "regression":
            values = tree.arrays.value[leaves]
            return TreeLine(
                None, lead, f"{many}, {format_rounded(np.nanmin(values))} to {format_rounded(np.nanmax(values))}"
            )
        labels, times = np.unique(tree.arrays.label[leaves], return_counts=True)
        commonest = np.argsort(-times, kind="stable")[:3]
        named = [i for i in commonest if labels[i] >= 0]
        times_sign = f" {self.glyphs.times} " if not any(isinstance(label, str) for label in tree.classes) else " "
        said = [f"{times[i]:,}{times_sign}{write_label(tree.classes[labels[i]], ascii)}" for i in named]
        return TreeLine(None, lead, f"{many}: {', '.join(said + [dots] * (len(labels) > 3))}")

    def _leaves_between(self, first: int, end: int) -> list[int]:
        return (first + np.flatnonzero(self.tree.arrays.kind[first:end] == LEAF)).tolist()

    def _prediction(self, node: int) -> str:
        """Write what a node predicts."""
        prediction = self.tree.prediction(node)
        if prediction is None:
            return UNKNOWN
        if self.tree.task == "regression":
            return format_rounded(float(prediction))
        return write_label(prediction, self.speaker.ascii)
