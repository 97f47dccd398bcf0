"""The node and the bin of a row as expressions of a query: the tree so far as CASE WHEN, and arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treewise.data import encoding as encode
from treewise.data import relation as expr
from treewise.data.convert import INT64_MAX
from treewise.errors import DataError, Param
from treewise.sources.query_facts import QueriedColumn
from treewise.train.source import LARGEST, BinGrid
from treewise.tree.arrays import Arrays
from treewise.tree.splits import Split

DEEPEST = 100  # levels of a tree that engines accept as one expression
NOWHERE = -1  # the value for rows that no request is about


def route(tree: Arrays, columns: Sequence[QueriedColumn], at: Mapping[int, Any]) -> Any:
    """Return an expression that has a value for the rows of each of these nodes, and −1 for all other rows."""
    start, child = tree.child_lists
    values: dict[int, Any] = dict(at)
    if len(tree) and max((int(tree.depths[node]) for node in at), default=0) > DEEPEST:
        raise DataError(
            f"the tree is more than {DEEPEST} levels deep, which is more than a query can express.",
            hint="Limit it: " + Param("max_depth", DEEPEST) + ".",
        )
    for node in range(len(tree) - 1, -1, -1):  # children have larger numbers
        children = child[start[node] : start[node + 1]].tolist()
        if any(c in values for c in children):
            values[node] = _branch(tree, node, columns, [values.pop(c, expr.lit(NOWHERE)) for c in children])
    return values[0]


def _branch(tree: Arrays, node: int, columns: Sequence[QueriedColumn], children: Sequence[Any]) -> Any:
    """Return the value of a child, by the split of a node; each child is named once, or expressions would double."""
    column = columns[tree.column[node]]
    split = tree.split_at(node, [c.encoding for c in columns])
    assert split is not None
    conditions = _conditions(column, split)
    if column.has_missing:
        is_missing, own = column.cell.is_missing, conditions.pop(split.missing, None)
        conditions = {split.missing: is_missing if own is None else is_missing | own, **conditions}
    *cases, (_, otherwise) = ((condition, children[branch]) for branch, condition in conditions.items())
    return expr.choose(cases, otherwise)


def _conditions(column: QueriedColumn, split: Split) -> dict[int, Any]:
    """Return the condition of each branch that rows with a value take."""
    value, encoding = column.cell.value, column.encoding
    if column.code_of is None:
        cut: Any = getattr(split, "cut", math.inf)
        if cut in (math.inf, INT64_MAX):  # a presence test
            return {1 - split.missing: ~column.cell.is_missing}
        below = value <= literal(column, cut)
        return {0: below, 1: value > literal(column, cut)}
    by_branch: dict[int, list[Any]] = {}
    decoded = encode.decode(encoding, np.array(list(column.code_of.values()), column.dtype))
    for cell, level in zip(column.code_of, decoded, strict=True):
        branch = split.branch(level, encoding)
        if branch is not None:
            by_branch.setdefault(branch, []).append(cell)
    return {branch: value.is_in(cells) for branch, cells in by_branch.items()}


def literal(column: QueriedColumn, value: float | int) -> float | int:
    """Return an encoded value as the engine compares it."""
    return value if isinstance(value, float) else value * column.ticks


def bin_number(column: QueriedColumn, value: Any, grid: BinGrid) -> Any:
    """Return the bin of a value in a grid as ``BinGrid.bins`` does, but that of the end may follow the last one."""
    if isinstance(grid.low, float):
        half = value * 0.5
        if max(abs(grid.low), abs(grid.high)) >= LARGEST:
            half = half.clip(-LARGEST / 2, LARGEST / 2)
        offset = half - float(grid.start)
    elif grid.is_whole:
        offset = expr.to_float(value - literal(column, grid.low)) * (1 / column.ticks)
    else:
        offset = expr.to_float(value) * 0.5 * (1 / column.ticks) - float(grid.start)
    return expr.to_int((offset * grid.scale).floor())
