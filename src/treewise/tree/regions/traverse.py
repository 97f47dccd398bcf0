"""Down a tree in the order of its nodes, with what is possible of each column kept up to date and taken back.

Stands on ``condition.py``; ``regions`` reads the regions of nodes off it. One test costs as much as the levels it
names, whatever stands above it: going down changes the state of one column, coming back undoes the change. So a chain
of 100,000 tests is walked in the time of 100,000 tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from treewise.data.encoding import Encoding
from treewise.tree.arrays import LEAF, MULTIWAY, ORDINAL, THRESHOLD
from treewise.tree.regions.condition import Condition, Interval, Levels, interval
from treewise.tree.structure import TreeStructure

STAY = -1  # instead of a branch: the level has none, and the row stays at the node


class ReachableLevels:
    """The levels that are possible now: ``Levels``, but changed in place."""

    __slots__ = ("first", "frozen", "last", "listed", "missing", "unseen", "without")

    def __init__(self, encoding: Encoding) -> None:
        self.first, self.last = 0, len(encoding.levels) - 1
        self.listed: set[int] | None = None
        self.without: set[int] = set()
        self.unseen, self.missing = encoding.kind != "boolean", True
        self.frozen: Levels | None = None

    def holds(self, code: int) -> bool:
        """Tell whether a declared level is possible."""
        listed = code not in self.without if self.listed is None else code in self.listed
        return listed and self.first <= code <= self.last

    def only(self, codes: Iterable[int], unseen: bool, missing: bool) -> ReachableLevels:
        """Return a new state: of these codes those that are possible now."""
        new = ReachableLevels.__new__(ReachableLevels)
        new.first, new.last, new.listed = self.first, self.last, {c for c in codes if self.holds(c)}
        new.without, new.frozen = set(), None
        new.unseen, new.missing = self.unseen and unseen, self.missing and missing
        return new

    def value(self) -> Levels:
        """Return the state as a value, which is made once for all that see the same state."""
        if self.frozen is None:
            listed = None if self.listed is None else frozenset(self.listed)
            self.frozen = Levels(self.first, self.last, listed, frozenset(self.without), self.unseen, self.missing)
        return self.frozen

    def narrow(self, codes: Iterable[int], first: int, last: int, unseen: bool, missing: bool) -> Callable[[], None]:
        """Take some codes out, and all outside a range; return what undoes it."""
        before = (self.first, self.last, self.unseen, self.missing, self.frozen)
        gone = {c for c in codes if self.holds(c)}
        if self.listed is None:
            self.without |= gone
        else:
            self.listed -= gone
        self.first, self.last = max(first, self.first), min(last, self.last)
        self.unseen, self.missing, self.frozen = self.unseen and unseen, self.missing and missing, None

        def undo() -> None:
            self.first, self.last, self.unseen, self.missing, self.frozen = before
            if self.listed is None:
                self.without.difference_update(gone)
            else:
                self.listed |= gone

        return undo


class RegionTraversal:
    """The state at one node: what is possible of each column tested above it, in the order of the first tests."""

    def __init__(self, tree: TreeStructure) -> None:
        a = tree.arrays
        self.encodings = tree.encodings
        self.now: dict[int, Interval | ReachableLevels] = {}
        self.kind, self.column, self.missing = a.kind.tolist(), a.column.tolist(), a.missing.tolist()
        self.other, self.cut, self.cut_int = a.other.tolist(), a.cut.tolist(), a.cut_int.tolist()
        self.parent, self.branches, self.ends = a.parent.tolist(), a.branches.tolist(), a.ends.tolist()
        self.start, self.codes = a.code_start.tolist(), a.codes.tolist()

    def conditions(self) -> dict[int, Condition]:
        """Return what is possible now, as values."""
        return {c: now if isinstance(now, Interval) else now.value() for c, now in self.now.items()}

    def conditions_at(self, path: Sequence[int]) -> dict[int, Condition]:
        """Return what is possible at the end of a path, from the root; the state stays the root's."""
        steps = [self.take(parent, self.branches[child]) for parent, child in pairwise(path)]
        found = self.conditions()
        while steps:
            steps.pop()()
        return found

    def walk(self) -> Iterator[int]:
        """Go through the nodes in order; while one is looked at, the state is its own."""
        steps: list[tuple[int, Callable[[], None]]] = []
        for node, parent in enumerate(self.parent):
            while steps and steps[-1][0] <= node:
                steps.pop()[1]()
            if parent >= 0:
                steps.append((self.ends[node], self.take(parent, self.branches[node])))
            yield node
        while steps:
            steps.pop()[1]()

    def take(self, node: int, branch: int) -> Callable[[], None]:
        """Go down one branch of a node, or STAY with what has none; return the way back."""
        column = self.column[node]
        before = self.now.get(column)
        missing = branch == self.missing[node]
        if self.kind[node] == THRESHOLD:
            was = before if isinstance(before, Interval) else Interval()
            self.now[column] = self.narrowed(was, node, branch, missing)
            return self.back(column, before)
        state = before if isinstance(before, ReachableLevels) else ReachableLevels(self.encodings[column])
        self.now[column] = state
        return self.take_level(node, branch, missing, state, self.back(column, before))

    def back(self, column: int, before: Interval | ReachableLevels | None) -> Callable[[], None]:
        """Return what puts a column's former state back."""

        def undo() -> None:
            if before is None:
                del self.now[column]
            else:
                self.now[column] = before

        return undo

    def narrowed(self, was: Interval, node: int, branch: int, missing: bool) -> Interval:
        """Return what a threshold leaves of an interval."""
        encoding = self.encodings[self.column[node]]
        cut = self.cut[node] if encoding.kind == "number" else self.cut_int[node]
        if branch > 1 or not was.present:
            return Interval(present=False, missing=was.missing and missing)
        low, high = was.low, was.high
        if branch == 0:
            high = cut if high is None else min(high, cut)
        else:
            low = cut if low is None else max(low, cut)
        return interval(low, high, was.missing and missing, encoding)

    def take_level(
        self, node: int, branch: int, missing: bool, state: ReachableLevels, back: Callable[[], None]
    ) -> Callable[[], None]:
        """Go down a branch of a test on levels."""
        column, kind = self.column[node], self.kind[node]
        codes = self.codes[self.start[node] : self.start[node + 1]]
        last = len(self.encodings[column].levels) - 1

        def replace(only: Iterable[int], unseen: bool) -> Callable[[], None]:
            self.now[column] = state.only(only, unseen, missing)
            return back

        def change(gone: Iterable[int], low: int, high: int, unseen: bool) -> Callable[[], None]:
            undo = state.narrow(gone, low, high, unseen, missing)

            def undo_both() -> None:
                undo()
                back()

            return undo_both

        if kind == ORDINAL:  # a never-seen level goes with the missing ones
            if branch > 1:
                return replace((), missing)
            return change((), 0, codes[0], missing) if branch == 0 else change((), codes[0] + 1, last, missing)
        if kind == MULTIWAY:
            if 0 <= branch < len(codes):
                return replace((codes[branch],), False)
            rest = branch == STAY or branch == self.other[node]
            return change(codes, 0, last, True) if rest else replace((), False)
        if branch == 0:
            return replace(codes, False)
        return change(codes, 0, last, True) if branch == 1 else replace((), False)

    def stays(self, node: int) -> bool:
        """Tell whether some level has no branch at a node: none of a test of several branches, without an `other`."""
        return bool(self.kind[node] == MULTIWAY and self.other[node] < 0)

    def ends_here(self) -> Iterator[int]:
        """Go through the ends, the nodes at which a row may stop; while one is looked at, the state is its own."""
        for node in self.walk():
            if self.kind[node] == LEAF:
                yield node
            elif self.stays(node):
                back = self.take(node, STAY)
                condition = self.now[self.column[node]]
                assert isinstance(condition, ReachableLevels)
                if condition.value().present:
                    yield node
                back()
