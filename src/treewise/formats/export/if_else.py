"""Export format "if-else": nested if and else for human readers (chapter 8, figure 8.1 b).

The conditions are those of the text tree:

    if flipper_length_mm <= 206.5:
        predict Adelie  # 149 of 213 rows
    else:
        predict Gentoo  # 123 of 131 rows

With ``language="python"`` it is a function that runs, with comparisons on the values themselves; levels that are
numbers are written as numbers, ``X1 == 1``.

As in the text tree, no line is indented more than 20 levels: deeper subtrees continue in blocks of their own, below.
"""

from __future__ import annotations

import json
import keyword
import re
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from treewise._lib.checks import check_choice
from treewise._lib.text import format_count, format_rounded, plural, safe
from treewise.formats.text_format.notation import UNKNOWN, write_label, write_name
from treewise.show.node_stats import has_training_rows
from treewise.show.text_tree.conditions import ConditionText
from treewise.show.text_tree.lines import MAX_BLOCK_DEPTH, prediction_text
from treewise.show.text_tree.text_tree import header
from treewise.tree.arrays import LEAF
from treewise.tree.splits import Multiway, Presence, Split, Threshold
from treewise.tree.tree import Tree

_INDENT = "    "
_FAR = 12  # nodes between an "if" and its "else" from which the "else" repeats its condition


def write(tree: Tree, *, language: str = "words") -> str:
    """Return the tree as nested if and else: as prose or as a Python function.

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
    >>> print(write(tw.parse("X1 = 1 -> yes\\nX1 = 0 -> no", target="f"), language="python"), end="")
    # f: no, yes · 2 leaves · depth 1
    def f(X1):
        if X1 == 1:
            return "yes"
        elif X1 == 0:
            return "no"
        else:  # never seen
            return None
    """
    check_choice("language", language, ("words", "python"))
    lines = [f"# {line}" for line in header(tree, ascii=False).splitlines()]
    if language == "python":
        return "\n".join([*lines, *_PythonWriter(tree).lines(), ""])
    writer = _Writer(tree)
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
            yield from self.title(top)
            yield from self._block(top)

    def title(self, top: int) -> list[str]:
        """Return what stands above a block."""
        return [f"node {top}:"] if top else []

    def continuation(self, node: int) -> str:
        """Return the line that refers to a block of its own."""
        return f"continue at node {node}, below"

    @property
    def margin(self) -> int:
        """How many levels the first block is indented."""
        return 0

    def _block(self, top: int) -> Iterator[str]:
        """Write one node and its subtree, as deep as the block goes; ``stack`` is a stack of lines and nodes."""
        stack: list[str | int] = [top]
        base_depth = int(self.depths[top]) - (1 if top else self.margin)
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                yield item
                continue
            depth = int(self.depths[item]) - base_depth
            margin = _INDENT * depth
            if self.kind[item] == LEAF:
                yield margin + self.answer(item)
            elif depth > MAX_BLOCK_DEPTH and item != top:
                self.blocks.append(item)
                yield margin + self.continuation(item)
            else:
                stack += reversed(list(self._parts(item, margin)))

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


class _PythonWriter(_Writer):
    """Writes a function in Python; blocks below the deepest level are functions of their own."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        used = dict.fromkeys(tree.arrays.column[tree.arrays.kind != LEAF].tolist())
        self.names: dict[int, str] = {}
        for column in sorted(used):
            name = identifier(tree.columns[column], f"x{column + 1}")
            self.names[column] = name if name not in self.names.values() else f"x{column + 1}_"
        self.arguments = ", ".join(self.names.values())
        name = identifier(tree.target.name, "predict")
        self.function = f"{name}_of" if name in self.names.values() else name
        self.allows_missing = bool(tree.arrays.missing_rows.any())

    @property
    def margin(self) -> int:
        return 1

    def title(self, top: int) -> list[str]:
        return [f"def {f'node_{top}' if top else self.function}({self.arguments}):"]

    def continuation(self, node: int) -> str:
        return f"return node_{node}({self.arguments})"

    def _parts(self, node: int, margin: str) -> Iterator[str | int]:
        split, children = self.tree.split_at(node), self.tree.children(node)
        assert split is not None
        name = self.names[int(self.tree.arrays.column[node])]
        has_uncovered = _has_uncovered_levels(split, self.tree)
        for i, child in enumerate(children):
            if i and i == len(children) - 1 and not has_uncovered:
                yield f"{margin}else:"
            else:
                yield f"{margin}{'elif' if i else 'if'} {self._test(split, i, name)}:"
            yield child
        if has_uncovered:
            yield f"{margin}else:  # never seen"
            yield f"{margin}{_INDENT}{self.answer(node)}"

    def _test(self, split: Split, branch: int, name: str) -> str:
        """Return the condition of a branch as an expression."""
        if isinstance(split, Presence):
            return f"{name} is not None"
        encoding = self.tree.encoding_of(split.column)
        if split.separates_missing and branch == split.missing:
            return f"{name} is None"
        if isinstance(split, Threshold):
            relation, value = split.condition(branch, encoding).removeprefix(f"{safe(split.column)} ").split(" ")[:2]
            test = f"{name} {relation} {value if encoding.kind == 'number' else repr(value)}"
        else:
            in_branch = [level for level in encoding.levels if split.branch(level, encoding) == branch]
            if encoding.kind == "boolean":
                test = name if in_branch == ["true"] else f"not {name}"
            else:
                levels = [_literal(level, encoding.levels) for level in in_branch]
                test = f"{name} == {levels[0]}" if len(levels) == 1 else f"{name} in ({', '.join(levels)})"
        if not self.allows_missing:
            return test
        takes_missing = split.missing == branch
        return f"{name} is None or {test}" if takes_missing else f"{name} is not None and {test}"

    def answer(self, node: int) -> str:
        answer = self.tree.prediction(node)
        return f"return {answer!r}" if not isinstance(answer, str) else f"return {json.dumps(answer)}"


def identifier(name: str, fallback: str) -> str:
    """Return a name as an identifier of Python: letters, digits and _; the fallback where nothing is left.

    >>> identifier("X1", "x1"), identifier("bill length (mm)", "x2"), identifier("class", "x3"), identifier("+", "x4")
    ('X1', 'bill_length_mm', 'class_', 'x4')
    """
    words = re.findall(r"[A-Za-z0-9_]+", name)[:6]
    text = "_".join(words)[:40].strip("_")
    if not text or text[0].isdigit():
        return fallback
    return f"{text}_" if keyword.iskeyword(text) else text


def _literal(level: str, levels: Sequence[str]) -> str:
    """Return a level as a literal: a number where all levels of the column are numbers."""
    return level if all(re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text) for text in levels) else json.dumps(level)
