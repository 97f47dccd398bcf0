"""One tree in the space: for each node, which cells take which branch, and what is answered at its ends.

Stands on ``space.py``, and is what ``walk.py`` goes down. Tests are put into the cells of the space once; a node whose
ends all answer alike is an answer itself, so that nobody walks below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from treewise.explain.compare.space import MISSING, InputSpace, SpaceAxis, State, same_cut
from treewise.tree.arrays import LEAF, MULTIWAY, ORDINAL, THRESHOLD
from treewise.tree.tree import Tree

STAY = -1  # instead of a branch
MIXED = -2  # instead of an answer: there are several

Parts = list[tuple[int, State]]  # branch (or STAY) and what of the state takes it


class BranchTable:
    """A tree whose tests speak of the cells of a space; ``answers`` has a number for what each node says."""

    def __init__(self, tree: Tree, space: InputSpace, which: int, answers: list[int]) -> None:
        a = tree.arrays
        self.space, self.answers = space, answers
        self.kind: list[int] = a.kind.tolist()
        places = [space.places.get(name, -1) for name in tree.columns]
        self.axis = [places[c] if c >= 0 else -1 for c in a.column.tolist()]
        self.missing: list[int] = a.missing.tolist()
        self.other: list[int] = a.other.tolist()
        start, child = a.child_lists
        bounds, children = start.tolist(), child.tolist()
        self.children = [children[bounds[i] : bounds[i + 1]] for i in range(len(tree))]
        self.parent: list[int] = a.parent.tolist()
        self.tests: list[Any] = [None] * len(tree)
        self.cells = [cells_of_codes(axis, which) for axis in space.axes]
        self.gone = [axis.gone[which] | {MISSING} for axis in space.axes]
        self._read_tests(tree)

    def _read_tests(self, tree: Tree) -> None:
        """Put every test into cells: the rank of a cut; the cells of branch 0 (and 1, in an order); a branch a cell."""
        a = tree.arrays
        starts, codes = a.code_start.tolist(), a.codes.tolist()
        ranks = [{cut: rank for rank, cut in enumerate(axis.cuts)} for axis in self.space.axes]
        orders: dict[tuple[int, int], Any] = {}
        for node in np.flatnonzero(a.kind != LEAF).tolist():
            place, named = self.axis[node], codes[starts[node] : starts[node + 1]]
            axis, cells = self.space.axes[place], self.cells[place]
            if self.kind[node] == THRESHOLD:
                own = tree.encodings[int(a.column[node])]
                cut = (a.cut if own.kind == "number" else a.cut_int)[node].item()
                self.tests[node] = ranks[place][same_cut(cut, own, axis.encoding)]
            elif self.kind[node] == ORDINAL:
                key = (place, named[0])
                if key not in orders:
                    below = frozenset(cell for code, some in cells.items() if code <= named[0] for cell in some)
                    above = frozenset(cell for code, some in cells.items() if code > named[0] for cell in some)
                    orders[key] = (below, above)
                self.tests[node] = orders[key]
            elif self.kind[node] == MULTIWAY:
                self.tests[node] = {cell: b for b, code in enumerate(named) for cell in cells.get(code, ())}
            else:
                self.tests[node] = frozenset(cell for code in named for cell in cells.get(code, ()))

    def alike(self, unseen: bool) -> list[int]:
        """Return for each node the one answer of all its ends, or MIXED; ``unseen`` is whether such levels occur."""
        found = list(self.answers)
        for node in range(len(found) - 1, -1, -1):
            if self.kind[node] == LEAF:
                continue
            below = {found[child] for child in self.children[node]}
            if self.kind[node] == MULTIWAY and self.other[node] < 0:
                levels = self.space.axes[self.axis[node]].encoding.levels
                if unseen or len(self.tests[node]) < len(levels):
                    below.add(self.answers[node])
            found[node] = below.pop() if len(below) == 1 else MIXED
        return found

    def follow(self, node: int, states: list[State], cells: list[int]) -> None:
        """Narrow the states to those of the rows that stop at a node, as one of these cells does."""
        path = [node]
        while (up := self.parent[path[-1]]) >= 0:
            path.append(up)
        steps = [(up, self.children[up].index(child)) for child, up in pairwise(path)]
        if self.kind[node] != LEAF:
            steps.insert(0, (node, STAY))
        for up, branch in reversed(steps):
            at = self.axis[up]
            states[at] = next(s for b, s in self.parts(up, states[at]) if b == branch and within(cells[at], s))

    def stop(self, states: tuple[State, ...]) -> int:
        """Return the node at which a row stops, given as the one cell it stands in of each column."""
        node = 0
        while self.kind[node] != LEAF:
            [(branch, _)] = self.parts(node, states[self.axis[node]])
            if branch == STAY:
                break
            node = self.children[node][branch]
        return node

    def parts(self, node: int, state: State) -> Parts:
        """Divide what is possible of the asked column among the branches; only those that get something."""
        if isinstance(state, tuple):
            return self._parts_of_range(node, *state)
        test, missing = self.tests[node], self.missing[node]
        if self.kind[node] == MULTIWAY:
            return self._parts_of_levels(node, state)
        if self.kind[node] == ORDINAL:
            made = {0: state & test[0], 1: state & test[1]}
            beside = state - test[0] - test[1]  # never seen by this tree, and missing
            made[missing] = made.get(missing, frozenset()) | beside
        else:
            gone = self.gone[self.axis[node]]
            made = {0: state & test, 1: state - test - gone}
            if state & gone:
                made[missing] = made.get(missing, frozenset()) | (state & gone)
        return [(branch, some) for branch, some in made.items() if some]

    def _parts_of_range(self, node: int, first: int, last: int, gone: bool) -> Parts:
        rank, missing = self.tests[node], self.missing[node]
        holes = sorted(cell for cell in self.gone[self.axis[node]] if first <= cell <= last)
        if holes:
            return self._parts_around(node, first, last, gone, holes)
        made: Parts = []
        for branch, low, high in ((0, first, min(last, rank)), (1, max(first, rank + 1), last)):
            here = gone and branch == missing
            if low <= high or here:
                made.append((branch, (low, high, here)))
        if gone and missing > 1:
            made.append((missing, (1, 0, True)))
        return made

    def _parts_around(self, node: int, first: int, last: int, gone: bool, holes: list[int]) -> Parts:
        """Divide a range in which some numbers are missing to this tree: a branch may get several parts."""
        missing = self.missing[node]
        made: Parts = [(missing, (hole, hole, False)) for hole in holes]
        for low, high in pairwise([first - 1, *holes, last + 1]):
            if low + 1 < high:
                made += self._parts_of_range(node, low + 1, high - 1, False)
        return [*made, (missing, (1, 0, True))] if gone else made

    def _parts_of_levels(self, node: int, state: frozenset[int]) -> Parts:
        branch_of: Mapping[int, int] = self.tests[node]
        rest, gone, made = self.other[node], self.gone[self.axis[node]], dict[int, list[int]]()
        for cell in state:
            branch = self.missing[node] if cell in gone else branch_of.get(cell, rest)
            made.setdefault(branch, []).append(cell)
        return [(branch, frozenset(some)) for branch, some in made.items()]


def within(cell: int, state: State) -> bool:
    """Tell whether a cell is in a state."""
    if isinstance(state, tuple):
        return state[2] if cell == MISSING else state[0] <= cell <= state[1]
    return cell in state


def cells_of_codes(axis: SpaceAxis, which: int) -> dict[int, list[int]]:
    """Return the cells of each code of one tree; a code may have several where the other tree tells more apart."""
    found: dict[int, list[int]] = {}
    for cell, code in enumerate(axis.codes[which]):
        if code >= 0:
            found.setdefault(code, []).append(cell)
    return found
