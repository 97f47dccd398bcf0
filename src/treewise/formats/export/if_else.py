"""A tree as nested if and else, as a book writes one (chapter 8, figure 8.1 b; "if … then … else predict 1").

Stands among the outlets; it is for readers, and the conditions are the words of the text tree.

    if flipper_length_mm <= 206.5:
        predict Adelie  # 149 of 213 rows
    else:
        predict Gentoo  # 123 of 131 rows

As in the text tree no line is deeper than 20 levels: a subtree there is written in a block of its own, below.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from treewise._lib.text import format_count, format_rounded, plural
from treewise.formats.text_format.notation import UNKNOWN, write_label, write_name
from treewise.show.node_stats import has_training_rows
from treewise.show.text_tree.conditions import ConditionText
from treewise.show.text_tree.lines import MAX_BLOCK_DEPTH
from treewise.show.text_tree.text_tree import header
from treewise.tree.arrays import LEAF
from treewise.tree.splits import Multiway, Split
from treewise.tree.tree import Tree

INDENT = "    "
FAR = 12  # nodes between an "if" and its "else" from which on the "else" repeats what it stands for


def write(tree: Tree) -> str:
    """Return the tree as nested if and else.

    >>> import treewise as tw
    >>> print(write(tw.parse("x1 <= 3\\n  x2 <= 3 -> 0\\n  x2 > 3 -> 1\\nx1 > 3 -> 0", target="y")), end="")
    # y: 0, 1 · 3 leaves · depth 2
    if x1 <= 3:
        if x2 <= 3:
            predict 0
        else:
            predict 1
    else:
        predict 0
    """
    writer, lines = _Writer(tree), [f"# {line}" for line in header(tree, ascii=False).splitlines()]
    if writer.unsaid_missing():
        lines.append('# a missing value takes the branch with more rows, unless another one says "or missing"')
    return "\n".join([*lines, *writer.lines(), ""])


class _Writer:
    """Writes the lines of one tree, block by block."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.speaker, self.counted = tree, ConditionText(tree), has_training_rows(tree)
        self.kind, self.ends, self.depths = tree.arrays.kind, tree.arrays.ends, tree.depths
        self.blocks: deque[int] = deque([0])

    def unsaid_missing(self) -> bool:
        """Tell whether missing values take an "if" somewhere that does not say so."""
        a = self.tree.arrays
        return self.counted and bool(((a.kind != LEAF) & (a.missing == 0) & (a.missing_rows == 0)).any())

    def lines(self) -> Iterator[str]:
        """Go through all lines."""
        while self.blocks:
            top = self.blocks.popleft()
            if top:
                yield ""
                yield f"node {top}:"
            yield from self._block(top)

    def _block(self, top: int) -> Iterator[str]:
        """Write one node and what is below it, as far as the block goes: what is still to be written is a stack."""
        todo: list[str | int] = [top]
        base = int(self.depths[top]) - (1 if top else 0)
        while todo:
            item = todo.pop()
            if isinstance(item, str):
                yield item
                continue
            depth = int(self.depths[item]) - base
            margin = INDENT * depth
            if self.kind[item] == LEAF:
                yield margin + self.answer(item)
            elif depth > MAX_BLOCK_DEPTH and item != top:
                self.blocks.append(item)
                yield f"{margin}go on at node {item}, below"
            else:
                todo += reversed(list(self._parts(item, margin)))

    def _parts(self, node: int, margin: str) -> Iterator[str | int]:
        """Return the lines and subtrees of one test, in order."""
        tree = self.tree
        split, children, said = tree.split_at(node), tree.children(node), self.speaker.branches(node)
        assert split is not None
        stays = leaves_some_out(split, tree)
        for i, (child, words) in enumerate(zip(children, said, strict=True)):
            if i == 0:
                yield f"{margin}if {words}:"
            elif i < len(children) - 1 or stays:
                yield f"{margin}else if {words}:"
            else:
                far = len(children) > 2 or int(self.ends[children[0]]) - children[0] > FAR
                yield f"{margin}else:  # {words}" if far else f"{margin}else:"
            yield child
        if stays and tree.prediction(node) is not None:
            yield f"{margin}else:  # {write_name(split.column)} never seen"
            yield f"{margin}{INDENT}{self.answer(node)}"

    def answer(self, node: int) -> str:
        """Say what a node predicts, and of how many rows that was true."""
        tree, a = self.tree, self.tree.arrays
        answer = tree.prediction(node)
        if answer is None:
            return f"predict {UNKNOWN}"
        if tree.task == "regression":
            assert isinstance(answer, float)
            said = f"predict {format_rounded(answer)}"
            return f"{said}  # {plural(int(a.rows[node]), 'row')}" if self.counted else said
        said = f"predict {write_label(answer)}"
        if not self.counted:
            return said
        total = float(np.sum(a.count_weight[a.count_start[node] : a.count_start[node + 1]]))
        if total == 0:
            return f"{said}  # no rows"
        of = "row" if total == 1 else "rows"
        return f"{said}  # {format_count(tree.counts(node).get(answer, 0.0))} of {format_count(total)} {of}"


def leaves_some_out(split: Split, tree: Tree) -> bool:
    """Tell whether a test has no branch for some level: the row then stays, and the node answers."""
    return isinstance(split, Multiway) and not split.other and tree.encoding_of(split.column).kind != "boolean"
