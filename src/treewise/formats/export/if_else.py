"""Export format "if-else": nested if and else for human readers (chapter 8, figure 8.1 b).

The conditions are those of the text tree:

    if flipper_length_mm <= 206.5:
        predict Adelie  # 149 of 213 rows
    else:
        predict Gentoo  # 123 of 131 rows

As in the text tree, no line is indented more than 20 levels: deeper subtrees continue in blocks of their own, below.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from treewise._lib.text import format_count, format_rounded, plural
from treewise.formats.text_format.notation import UNKNOWN, write_label, write_name
from treewise.show.node_stats import has_training_rows
from treewise.show.text_tree.conditions import ConditionText
from treewise.show.text_tree.lines import MAX_BLOCK_DEPTH, prediction_text
from treewise.show.text_tree.text_tree import header
from treewise.tree.arrays import LEAF
from treewise.tree.splits import Multiway, Split
from treewise.tree.tree import Tree

_INDENT = "    "
_FAR = 12  # nodes between an "if" and its "else" from which the "else" repeats its condition


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
    if writer.has_implicit_missing():
        lines.append('# a missing value takes the branch with more rows, unless another one says "or missing"')
    return "\n".join([*lines, *writer.lines(), ""])


class _Writer:
    def __init__(self, tree: Tree) -> None:
        self.tree, self.condition_text, self.has_rows = tree, ConditionText(tree), has_training_rows(tree)
        self.kind, self.ends, self.depths = tree.arrays.kind, tree.arrays.ends, tree.depths
        self.blocks: deque[int] = deque([0])

    def has_implicit_missing(self) -> bool:
        """Whether missing values take an "if" branch somewhere without the condition saying so."""
        a = self.tree.arrays
        return self.has_rows and bool(((a.kind != LEAF) & (a.missing == 0) & (a.missing_rows == 0)).any())

    def lines(self) -> Iterator[str]:
        while self.blocks:
            top = self.blocks.popleft()
            if top:
                yield ""
                yield f"node {top}:"
            yield from self._block(top)

    def _block(self, top: int) -> Iterator[str]:
        """Write one node and its subtree, as deep as the block goes; ``todo`` is a stack of lines and nodes."""
        todo: list[str | int] = [top]
        base_depth = int(self.depths[top]) - (1 if top else 0)
        while todo:
            item = todo.pop()
            if isinstance(item, str):
                yield item
                continue
            depth = int(self.depths[item]) - base_depth
            margin = _INDENT * depth
            if self.kind[item] == LEAF:
                yield margin + self.answer(item)
            elif depth > MAX_BLOCK_DEPTH and item != top:
                self.blocks.append(item)
                yield f"{margin}continue at node {item}, below"
            else:
                todo += reversed(list(self._parts(item, margin)))

    def _parts(self, node: int, margin: str) -> Iterator[str | int]:
        """Yield the lines and children of one split, in order."""
        tree = self.tree
        split, children, text = tree.split_at(node), tree.children(node), self.condition_text.branches(node)
        assert split is not None
        has_uncovered = _has_uncovered_levels(split, tree)
        for i, (child, condition) in enumerate(zip(children, text, strict=True)):
            if i == 0:
                yield f"{margin}if {condition}:"
            elif i < len(children) - 1 or has_uncovered:
                yield f"{margin}else if {condition}:"
            else:
                # the header tells readers to look for "or missing"
                takes_missing = (
                    split.missing == i and tree.arrays.missing_rows[node] > 0
                )  # say it: the header relies on it
                far_below = int(self.ends[children[0]]) - children[0] > _FAR
                repeat_condition = len(children) > 2 or far_below or takes_missing
                yield f"{margin}else:  # {condition}" if repeat_condition else f"{margin}else:"
            yield child
        if has_uncovered and tree.prediction(node) is not None:
            yield f"{margin}else:  # {write_name(split.column)} never seen"
            yield f"{margin}{_INDENT}{self.answer(node)}"

    def answer(self, node: int) -> str:
        """Return the prediction of a node, with the number of training rows it fits."""
        tree, a = self.tree, self.tree.arrays
        answer = tree.prediction(node)
        if answer is None:
            return f"predict {UNKNOWN}"
        if tree.task == "regression":
            assert isinstance(answer, float)
            text = f"predict {format_rounded(answer)}"
            return f"{text}  # {plural(int(a.rows[node]), 'row')}" if self.has_rows else text
        if not self.has_rows:
            return f"predict {prediction_text(tree, node)}"
        text = f"predict {write_label(answer)}"
        total = float(np.sum(a.count_weight[a.count_start[node] : a.count_start[node + 1]]))
        if total == 0:
            return f"{text}  # no rows"
        of = "row" if total == 1 else "rows"
        return f"{text}  # {format_count(tree.counts(node).get(answer, 0.0))} of {format_count(total)} {of}"


def _has_uncovered_levels(split: Split, tree: Tree) -> bool:
    """Return whether a split has no branch for some level; the node itself then answers."""
    return isinstance(split, Multiway) and not split.other and tree.encoding_of(split.column).kind != "boolean"
