"""Traverse two trees together: find every part of the input space in which their predictions differ, and no other.

Uses ``input_space.py``. A part of the space is a box: a set of cells per column. The first tree is traversed down
to the boxes in which its prediction is constant; within each, the second tree is traversed and left where it predicts
the same. Branches that no row can take are never entered, so the work is proportional to the pairs of leaves that
overlap. A single list of cell sets is narrowed on the way down and restored on the way up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from treewise.explain.compare.input_space import (
    MISSING,
    CellSet,
    InputSpace,
    SpaceAxis,
    contains_cell,
    convert_cut,
    count_levels,
)
from treewise.tree.arrays import LEAF, MULTIWAY, ORDINAL, THRESHOLD
from treewise.tree.splits import STAY
from treewise.tree.tree import Tree

_MIXED = -2  # instead of a prediction: there are several

Differ = Callable[[int, int], bool]
_Parts = list[tuple[int, CellSet]]  # (branch or STAY, the cells that take it)


class DifferingBox(NamedTuple):
    """A box in which two trees differ: the possible cells of each column, and the prediction of either tree."""

    cells: tuple[CellSet, ...]
    predictions: tuple[int, int]


class BranchTable:
    """A tree whose splits are expressed in the cells of a space; ``predictions`` numbers what each node predicts."""

    def __init__(self, tree: Tree, space: InputSpace, side: int, predictions: list[int]) -> None:
        a = tree.arrays
        self.space, self.predictions = space, predictions
        self.kind: list[int] = a.kind.tolist()
        axis_of_column = [space.axis_index.get(name, -1) for name in tree.columns]
        self.axis = [axis_of_column[c] if c >= 0 else -1 for c in a.column.tolist()]
        self.missing: list[int] = a.missing.tolist()
        self.other: list[int] = a.other.tolist()
        start, child = a.child_lists
        bounds, children = start.tolist(), child.tolist()
        self.children = [children[bounds[i] : bounds[i + 1]] for i in range(len(tree))]
        self.parent: list[int] = a.parent.tolist()
        self.missing_cells = [axis.missing_cells[side] | {MISSING} for axis in space.axes]
        self.splits = self._convert_splits(tree, [_cells_of_codes(axis, side) for axis in space.axes])

    def _convert_splits(self, tree: Tree, cells_of_codes: list[dict[int, list[int]]]) -> list[Any]:
        """Convert every split: the rank of a cut; the cells of branch 0 (and 1, if ordinal); or each cell's branch."""
        a = tree.arrays
        splits: list[Any] = [None] * len(tree)
        starts, codes = a.code_start.tolist(), a.codes.tolist()
        ranks = [{cut: rank for rank, cut in enumerate(axis.cuts)} for axis in self.space.axes]
        ordinal: dict[tuple[int, int], Any] = {}
        for node in np.flatnonzero(a.kind != LEAF).tolist():
            i, split_codes = self.axis[node], codes[starts[node] : starts[node + 1]]
            axis, cells = self.space.axes[i], cells_of_codes[i]
            if self.kind[node] == THRESHOLD:
                encoding = tree.encodings[int(a.column[node])]
                cut = (a.cut if encoding.kind == "number" else a.cut_int)[node].item()
                splits[node] = ranks[i][convert_cut(cut, encoding, axis.encoding)]
            elif self.kind[node] == ORDINAL:
                key = (i, split_codes[0])
                if key not in ordinal:
                    below = frozenset(cell for code, some in cells.items() if code <= split_codes[0] for cell in some)
                    above = frozenset(cell for code, some in cells.items() if code > split_codes[0] for cell in some)
                    ordinal[key] = (below, above)
                splits[node] = ordinal[key]
            elif self.kind[node] == MULTIWAY:
                splits[node] = {cell: b for b, code in enumerate(split_codes) for cell in cells.get(code, ())}
            else:
                splits[node] = frozenset(cell for code in split_codes for cell in cells.get(code, ()))
        return splits

    def constant_predictions(self, unseen: bool) -> list[int]:
        """Return the prediction common to all leaves below each node, or _MIXED; ``unseen``: such levels occur."""
        result = list(self.predictions)
        for node in range(len(result) - 1, -1, -1):
            if self.kind[node] == LEAF:
                continue
            below = {result[child] for child in self.children[node]}
            if self.kind[node] == MULTIWAY and self.other[node] < 0:
                levels = self.space.axes[self.axis[node]].encoding.levels
                if unseen or len(self.splits[node]) < len(levels):
                    below.add(self.predictions[node])
            result[node] = below.pop() if len(below) == 1 else _MIXED
        return result

    def narrow(self, node: int, box: list[CellSet], row: list[int]) -> None:
        """Narrow a box to the rows that stop at a node and take the same branches as ``row``, one cell per column."""
        path = [node]
        while (parent := self.parent[path[-1]]) >= 0:
            path.append(parent)
        steps = [(parent, self.children[parent].index(child)) for child, parent in pairwise(path)]
        if self.kind[node] != LEAF:
            steps.insert(0, (node, STAY))
        for at, branch in reversed(steps):
            i = self.axis[at]
            box[i] = next(part for b, part in self.partition(at, box[i]) if b == branch and contains_cell(part, row[i]))

    def stopping_node(self, row: tuple[CellSet, ...]) -> int:
        """Return the node at which a row stops, given as one cell per column."""
        node = 0
        while self.kind[node] != LEAF:
            [(branch, _)] = self.partition(node, row[self.axis[node]])
            if branch == STAY:
                break
            node = self.children[node][branch]
        return node

    def advance(self, node: int, box: list[CellSet]) -> int:
        """Return the last node, at or below a node, that all rows of a box reach."""
        while self.kind[node] != LEAF:
            parts = self.partition(node, box[self.axis[node]])
            if len(parts) != 1 or parts[0][0] == STAY:
                break
            node = self.children[node][parts[0][0]]
        return node

    def partition(self, node: int, cells: CellSet) -> _Parts:
        """Divide the cells of the split column among the branches; empty branches are left out."""
        if isinstance(cells, tuple):
            return self._partition_range(node, *cells)
        split, missing = self.splits[node], self.missing[node]
        missing_cells = self.missing_cells[self.axis[node]]
        if self.kind[node] == MULTIWAY:
            return self._partition_levels(node, cells, missing_cells)
        if self.kind[node] == ORDINAL:
            parts = {0: cells & split[0], 1: cells & split[1]}
            rest = cells - split[0] - split[1]  # unknown to this tree, and missing
            parts[missing] = parts.get(missing, frozenset()) | rest
        else:
            parts = {0: cells & split, 1: cells - split - missing_cells}
            if cells & missing_cells:
                parts[missing] = parts.get(missing, frozenset()) | (cells & missing_cells)
        return [(branch, part) for branch, part in parts.items() if part]

    def _partition_range(self, node: int, first: int, last: int, with_missing: bool) -> _Parts:
        rank, missing = self.splits[node], self.missing[node]
        holes = sorted(cell for cell in self.missing_cells[self.axis[node]] if first <= cell <= last)
        if holes:
            return self._partition_around(node, first, last, with_missing, holes)
        parts: _Parts = []
        for branch, low, high in ((0, first, min(last, rank)), (1, max(first, rank + 1), last)):
            takes_missing = with_missing and branch == missing
            if low <= high or takes_missing:
                parts.append((branch, (low, high, takes_missing)))
        if with_missing and missing > 1:
            parts.append((missing, (1, 0, True)))
        return parts

    def _partition_around(self, node: int, first: int, last: int, with_missing: bool, holes: list[int]) -> _Parts:
        """Divide a range in which some numbers are missing to this tree: a branch may get several parts."""
        missing = self.missing[node]
        parts: _Parts = [(missing, (hole, hole, False)) for hole in holes]
        for low, high in pairwise([first - 1, *holes, last + 1]):
            if low + 1 < high:
                parts += self._partition_range(node, low + 1, high - 1, False)
        return [*parts, (missing, (1, 0, True))] if with_missing else parts

    def _partition_levels(self, node: int, cells: frozenset[int], missing_cells: frozenset[int]) -> _Parts:
        branch_of: Mapping[int, int] = self.splits[node]
        parts: dict[int, list[int]] = {}
        for cell in cells:
            branch = self.missing[node] if cell in missing_cells else branch_of.get(cell, self.other[node])
            parts.setdefault(branch, []).append(cell)
        return [(branch, frozenset(part)) for branch, part in parts.items()]


def _cells_of_codes(axis: SpaceAxis, side: int) -> dict[int, list[int]]:
    """Return the cells of each code of one tree: several where the other tree distinguishes more levels."""
    result: dict[int, list[int]] = {}
    for cell, code in enumerate(axis.codes[side]):
        if code >= 0:
            result.setdefault(code, []).append(cell)
    return result


# -- traversal ------------------------------------------------------------------------------------------------


def differing_boxes(
    space: InputSpace, a: BranchTable, b: BranchTable, differ: Differ, unseen: bool, missing: bool
) -> Iterator[DifferingBox]:
    """Iterate over the boxes in which two trees differ; they are disjoint and cover all differences.

    The second tree is entered at the last node that a whole box of the first one reaches, so that two chains are
    compared in linear time.
    """
    constant = b.constant_predictions(unseen)
    all_cells = space.all_cells(unseen, missing)
    for outer, one, start in _constant_boxes(a, a.constant_predictions(unseen), all_cells, follower=b):
        for box, two, _ in _constant_boxes(b, constant, outer, start):
            if differ(one, two):
                yield DifferingBox(tuple(box), (one, two))


def _constant_boxes(
    tree: BranchTable, constant: list[int], begin: list[CellSet], start: int = 0, follower: BranchTable | None = None
) -> Iterator[tuple[list[CellSet], int, int]]:
    """Iterate over the boxes within a box, at a node, in which a tree has one prediction, with that prediction.

    The third value is the last node of ``follower`` that the whole box reaches, or 0. The list that is yielded changes
    as the traversal goes on: copy it to keep it.
    """
    box = list(begin)
    # A step sets the cells of a column and visits a node (~node: stops there); without a node it restores the cells.
    steps: list[tuple[int | None, int, CellSet | None, int]] = [(start, -1, None, 0)]
    while steps:
        node, column, cells, other = steps.pop()
        if cells is not None:
            box[column] = cells
        if node is None:
            continue
        if follower is not None:
            other = follower.advance(other, box)
        prediction = constant[node] if node >= 0 else tree.predictions[~node]
        if prediction != _MIXED:
            yield box, prediction, other
            continue
        column = tree.axis[node]
        steps.append((None, column, box[column], 0))
        for branch, part in reversed(tree.partition(node, box[column])):
            steps.append((~node if branch == STAY else tree.children[node][branch], column, part, other))


def count_differing_cases(space: InputSpace, a: BranchTable, b: BranchTable, differ: Differ) -> int:
    """Count the combinations of known levels on which two trees differ.

    Boxes of the first tree with the same cells in the columns used by the second are counted together, so that trees
    over different columns are not traversed pair by pair.
    """
    used = sorted({axis for axis in b.axis if axis >= 0})
    unused = [i for i in range(len(space.axes)) if i not in used]
    all_cells = space.all_cells(unseen=False, missing=False)
    groups: dict[tuple[CellSet, ...], dict[int, int]] = {}
    for box, prediction, _ in _constant_boxes(a, a.constant_predictions(unseen=False), all_cells):
        sizes = groups.setdefault(tuple(box[i] for i in used), {})
        sizes[prediction] = sizes.get(prediction, 0) + prod(count_levels(box[i]) for i in unused)
    total, constant = 0, b.constant_predictions(unseen=False)
    for cells, sizes in groups.items():
        begin = list(all_cells)
        for i, some in zip(used, cells, strict=True):
            begin[i] = some
        for box, other, _ in _constant_boxes(b, constant, begin):
            differing = sum(size for prediction, size in sizes.items() if differ(prediction, other))
            total += differing * prod(count_levels(box[i]) for i in used)
    return total


# -- merging --------------------------------------------------------------------------------------------------


def merge_boxes(boxes: Iterable[DifferingBox]) -> list[DifferingBox]:
    """Merge boxes with equal predictions that are equal in all columns but one, until none are left: fewer to read.

    >>> n, p, box = (0, 1), frozenset, DifferingBox
    >>> merge_boxes([box((p({0}), (0, 2, False)), n), box((p({0}), (3, 4, True)), n), box((p({1}), (0, 4, True)), n)])
    [DifferingBox(cells=(frozenset({0, 1}), (0, 4, True)), predictions=(0, 1))]
    """
    merged = list(boxes)
    n_columns = len(merged[0].cells) if merged else 0
    column, unchanged = 0, 0
    while unchanged < n_columns:
        fewer = _merge_along(merged, column)
        unchanged = unchanged + 1 if len(fewer) == len(merged) else 0
        merged, column = fewer, (column + 1) % n_columns
    return merged


def _merge_along(boxes: list[DifferingBox], column: int) -> list[DifferingBox]:
    groups: dict[object, list[DifferingBox]] = {}
    for box in boxes:
        other_cells = (*box.cells[:column], None, *box.cells[column + 1 :])
        groups.setdefault((other_cells, box.predictions), []).append(box)
    return [
        DifferingBox((*same[0].cells[:column], cells, *same[0].cells[column + 1 :]), same[0].predictions)
        for same in groups.values()
        for cells in _unite([box.cells[column] for box in same])
    ]


def _unite(sets: list[CellSet]) -> list[CellSet]:
    """Return the union of disjoint sets of cells of one column as few sets.

    >>> _unite([(3, 4, False), (0, 2, False), (1, 0, True), (6, 6, False)])
    [(0, 4, True), (6, 6, False)]
    """
    if len(sets) == 1:
        return sets
    levels = [s for s in sets if isinstance(s, frozenset)]
    if levels:
        return [frozenset().union(*levels)]
    runs: list[list[int]] = []
    ranges = [s for s in sets if isinstance(s, tuple)]
    for first, last, _ in sorted(s for s in ranges if s[0] <= s[1]):
        if runs and first == runs[-1][1] + 1:
            runs[-1][1] = last
        else:
            runs.append([first, last])
    missing = any(s[2] for s in ranges)
    # If there are several runs, missing goes with the first: the union is the same.
    return [(run[0], run[1], missing and i == 0) for i, run in enumerate(runs)] or [(1, 0, missing)]
