"""Splits from a rectangle that is drawn over two columns: each side that separates rows of the node is a threshold.

A line is a rectangle with one side. The thresholds are those that the learner would place there, between neighbouring
values of the node's rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ldexp
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.edit.node_search import sum_rows
from treewise.edit.typed_split import make_split
from treewise.errors import ParameterError, TreewiseError
from treewise.explain.trace.nodes import assign_branches, describe_first_branch
from treewise.train.candidates import KIND_RANK
from treewise.train.constraints import constraints_at
from treewise.train.reference import NodeScorer, TieOrder
from treewise.tree.splits import Split, midpoint, midpoint_int
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.edit.editor import Editor

Sides = Mapping[str, tuple[float | None, float | None]]  # by column: the lower and the upper side; None is open


@dataclass(frozen=True)
class Side:
    """One side of a rectangle, as a split of the node."""

    column: str
    at: str  # the threshold, as it is typed
    inside: int  # the branch on which the rectangle lies
    test: str
    gain: float  # per row of the node
    wrong: float | None  # rows wrong after it; None for numbers


@dataclass(frozen=True)
class Rectangle:
    """A rectangle: its rows, and its sides, the one of largest gain first."""

    rows: int
    counts: tuple[float, ...]  # of each class
    mean: float | None
    sides: tuple[Side, ...]


def propose_splits(editor: Editor, node: int, sides: Sides) -> Rectangle:
    """Return the sides of a rectangle as splits of a node.

    >>> import treewise as tw
    >>> rectangle = propose_splits(tw.Editor("species", "penguins"), 0, {"flipper_length_mm": (206.2, None)})
    >>> [(side.test, side.inside, side.wrong) for side in rectangle.sides], rectangle.rows
    ([('flipper_length_mm <= 206.5 (missing with >)', 1, 72.0)], 129)
    """
    node = editor._node(node)
    tree, training_set = editor.tree, editor.tables.training.training_set
    rows = editor.tables.training.rows_at(tree, node)
    inside, cuts = np.ones(len(rows), bool), list[tuple[str, str, int]]()
    for name, (low, high) in sides.items():
        encoding = editor._column(name)
        if encoding.is_categorical:
            raise ParameterError(f'"{safe(name)}" is no column of numbers.', parameter="column")
        values = training_set.columns[tree.columns.index(name)][rows]
        present = ~encode.is_missing(encoding, values)
        inside &= present
        for line, branch in ((low, 1), (high, 0)):
            if line is None:
                continue
            below = present & (values <= line)
            above = present & ~below
            inside &= above if branch else below
            if below.any() and above.any():
                ends = values[below].max().item(), values[above].min().item()
                between = midpoint(*ends) if encoding.kind == "number" else midpoint_int(*ends)
                cuts.append((name, encoding.format(between), branch))
    proposed = [side for cut in cuts if (side := _score_side(editor, node, rows, *cut)) is not None]
    part = sum_rows(training_set, rows[inside])
    return Rectangle(
        int(inside.sum()),
        tuple(ldexp(float(count), -training_set.weight_scale) for count in part.counts),
        float(training_set.raw[rows[inside]].mean()) if tree.task == "regression" and inside.any() else None,
        tuple(sorted(proposed, key=lambda side: -side.gain)),
    )


def cut_out(editor: Editor, node: int, sides: Sides, reason: str = "") -> Tree:
    """Split a node so that a rectangle becomes a leaf: one ordinary edit for each side, the largest gain first.

    >>> import treewise as tw
    >>> editor = tw.Editor("species", "penguins")
    >>> tree = cut_out(editor, 0, {"bill_length_mm": (None, 43.3), "flipper_length_mm": (None, 206.2)})
    >>> tree.n_leaves, len(editor.all_steps), tree.condition(2)
    (3, 2, 'bill_length_mm <= 43.35')
    """
    done, n_edits = editor.tree, 0
    order = propose_splits(editor, node, sides).sides
    if not order:
        raise ParameterError("no side of the rectangle separates rows of the node.", hint="Draw it across the points.")
    try:
        for side in order:
            alone = {side.column: (sides[side.column][0], None) if side.inside else (None, sides[side.column][1])}
            proposed = propose_splits(editor, node, alone).sides
            if not proposed:
                continue  # the sides before it have cut these rows off already
            done = editor.split(node, side.column, at=proposed[0].at, reason=reason)
            n_edits += 1
            node = done.children(node)[side.inside]
    except TreewiseError:
        for _ in range(n_edits):
            editor.undo()
        raise
    return done


def _score_side(
    editor: Editor, node: int, rows: npt.NDArray[np.uint32], name: str, at: str, branch: int
) -> Side | None:
    """Return a side with its gain; None if it sends all rows one way."""
    split = make_split(editor, node, name, at, None, None)
    tree, column = editor.tree, editor.tree.columns.index(name)
    training_set = editor.tables.training.training_set.with_node_scale(rows.astype(np.int64))
    encoding, values = tree.encodings[column], training_set.columns[column][rows]
    branch_of_row, n_missing = assign_branches(split, encoding, values), int(encode.is_missing(encoding, values).sum())
    stats = sum_rows(training_set, rows)
    measure = training_set.criterion.impurity_at(stats)
    scorer = NodeScorer(training_set, rows.astype(np.int64), stats, measure, constraints_at(tree, node))
    branches = tuple(sum_rows(training_set, rows[branch_of_row == b]) for b in range(split.own_branches))
    make: Any = partial(_with_missing, split)
    order = TieOrder(column, KIND_RANK[split.kind], 0, 0)
    candidate = scorer.score(make, split.missing, branches, n_missing, order)
    if candidate is None:
        return None
    wrong = None
    if tree.task == "classification":
        wrong = ldexp(float(sum(b.weight - max(b.counts) for b in candidate.filled)), -training_set.weight_scale)
    words = describe_first_branch(split, encoding, n_missing)
    return Side(name, at, branch, words, scorer.gain_value(candidate), wrong)


def _with_missing(split: Split, *, missing: int) -> Split:
    return replace(split, missing=missing)
