"""Pre-order traversal of a tree that keeps the conditions of the current node up to date.

Going down a branch changes the state of one column, and coming back undoes the change. So a test costs as much as the
levels it names, whatever its depth: a chain of 100,000 tests takes linear time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from treewise.data.encoding import Encoding
from treewise.tree.arrays import LEAF, MULTIWAY, ORDINAL, THRESHOLD
from treewise.tree.regions.condition import Condition, Interval, Levels, make_interval
from treewise.tree.splits import STAY
from treewise.tree.structure import TreeStructure


class ReachableLevels:
    """The levels that are possible at the current node: a mutable ``Levels``."""

    __slots__ = ("first", "frozen", "last", "listed", "missing", "unseen", "without")

    def __init__(self, encoding: Encoding) -> None:
        self.first, self.last = 0, len(encoding.levels) - 1
        self.listed: set[int] | None = None
        self.without: set[int] = set()
        self.unseen, self.missing = encoding.kind != "boolean", True
        self.frozen: Levels | None = None

    def holds(self, code: int) -> bool:
        """Return whether a declared level is possible."""
        listed = code not in self.without if self.listed is None else code in self.listed
        return listed and self.first <= code <= self.last

    def only(self, codes: Iterable[int], unseen: bool, missing: bool) -> ReachableLevels:
        """Return a new state: those of these codes that are possible now."""
        new = ReachableLevels.__new__(ReachableLevels)
        new.first, new.last, new.listed = self.first, self.last, {c for c in codes if self.holds(c)}
        new.without, new.frozen = set(), None
        new.unseen, new.missing = self.unseen and unseen, self.missing and missing
        return new

    def value(self) -> Levels:
        """Return the state as an immutable value, which is cached until the state changes."""
        if self.frozen is None:
            listed = None if self.listed is None else frozenset(self.listed)
            self.frozen = Levels(self.first, self.last, listed, frozenset(self.without), self.unseen, self.missing)
        return self.frozen

    def narrow(self, codes: Iterable[int], first: int, last: int, unseen: bool, missing: bool) -> Callable[[], None]:
        """Remove some codes, and all outside a range; return a function that undoes it."""
        before = (self.first, self.last, self.unseen, self.missing, self.frozen)
        removed = {c for c in codes if self.holds(c)}
        if self.listed is None:
            self.without |= removed
        else:
            self.listed -= removed
        self.first, self.last = max(first, self.first), min(last, self.last)
        self.unseen, self.missing, self.frozen = self.unseen and unseen, self.missing and missing, None

        def undo() -> None:
            self.first, self.last, self.unseen, self.missing, self.frozen = before
            if self.listed is None:
                self.without.difference_update(removed)
            else:
                self.listed |= removed

        return undo


class RegionTraversal:
    """The state at a node: the condition of each column tested above it, in the order of their first tests."""

    def __init__(self, tree: TreeStructure) -> None:
        a = tree.arrays
        self.encodings = tree.encodings
        self.now: dict[int, Interval | ReachableLevels] = {}
        self.kind, self.column, self.missing = a.kind.tolist(), a.column.tolist(), a.missing.tolist()
        self.other, self.cut, self.cut_int = a.other.tolist(), a.cut.tolist(), a.cut_int.tolist()
        self.parent, self.branches, self.ends = a.parent.tolist(), a.branches.tolist(), a.ends.tolist()
        self.start, self.codes = a.code_start.tolist(), a.codes.tolist()
        self.passed = [node == 0 for node in range(len(self.parent))]  # by move_to: the path to its node
        self.undo_stack: list[tuple[int, Callable[[], None]]] = []  # the same path from below the root

    def conditions(self) -> dict[int, Condition]:
        """Return the conditions of the current node, by column number."""
        return {c: now if isinstance(now, Interval) else now.value() for c, now in self.now.items()}

    def move_to(self, node: int) -> None:
        """Go to a node from the one of the last call (at first the root), by way of their nearest common ancestor."""
        down = []
        while not self.passed[node]:
            down.append(node)
            node = self.parent[node]
        while self.undo_stack and self.undo_stack[-1][0] != node:
            child, undo = self.undo_stack.pop()
            self.passed[child] = False
            undo()
        for child in reversed(down):
            self.undo_stack.append((child, self.take(self.parent[child], self.branches[child])))
            self.passed[child] = True

    def conditions_at(self, path: Sequence[int]) -> dict[int, Condition]:
        """Return the conditions at the end of a path from the root; the traversal stays at the root."""
        undo_stack = [self.take(parent, self.branches[child]) for parent, child in pairwise(path)]
        conditions = self.conditions()
        while undo_stack:
            undo_stack.pop()()
        return conditions

    def walk(self) -> Iterator[int]:
        """Iterate over the nodes in order; the state is that of the node just yielded."""
        undo_stack: list[tuple[int, Callable[[], None]]] = []  # with the end of the subtree where it is due
        for node, parent in enumerate(self.parent):
            while undo_stack and undo_stack[-1][0] <= node:
                undo_stack.pop()[1]()
            if parent >= 0:
                undo_stack.append((self.ends[node], self.take(parent, self.branches[node])))
            yield node
        while undo_stack:
            undo_stack.pop()[1]()

    def take(self, node: int, branch: int) -> Callable[[], None]:
        """Go down one branch of a node, or STAY with the levels that have none; return a function that undoes it."""
        column = self.column[node]
        before = self.now.get(column)
        missing = branch == self.missing[node]
        if self.kind[node] == THRESHOLD:
            current = before if isinstance(before, Interval) else Interval()
            self.now[column] = self._narrow_interval(current, node, branch, missing)
            return self._restorer(column, before)
        state = before if isinstance(before, ReachableLevels) else ReachableLevels(self.encodings[column])
        self.now[column] = state
        return self._take_levels(node, branch, missing, state, self._restorer(column, before))

    def _restorer(self, column: int, before: Interval | ReachableLevels | None) -> Callable[[], None]:
        def undo() -> None:
            if before is None:
                del self.now[column]
            else:
                self.now[column] = before

        return undo

    def _narrow_interval(self, current: Interval, node: int, branch: int, missing: bool) -> Interval:
        encoding = self.encodings[self.column[node]]
        cut = self.cut[node] if encoding.kind == "number" else self.cut_int[node]
        if branch > 1 or not current.present:
            return Interval(present=False, missing=current.missing and missing)
        low, high = current.low, current.high
        if branch == 0:
            high = cut if high is None else min(high, cut)
        else:
            low = cut if low is None else max(low, cut)
        return make_interval(low, high, current.missing and missing, encoding)

    def _take_levels(
        self, node: int, branch: int, missing: bool, state: ReachableLevels, restore: Callable[[], None]
    ) -> Callable[[], None]:
        column, kind = self.column[node], self.kind[node]
        codes = self.codes[self.start[node] : self.start[node + 1]]
        last = len(self.encodings[column].levels) - 1

        def replace(only: Iterable[int], unseen: bool) -> Callable[[], None]:
            self.now[column] = state.only(only, unseen, missing)
            return restore

        def change(excluded: Iterable[int], low: int, high: int, unseen: bool) -> Callable[[], None]:
            undo = state.narrow(excluded, low, high, unseen, missing)

            def undo_both() -> None:
                undo()
                restore()

            return undo_both

        if kind == ORDINAL:  # never-seen levels take the branch of missing values
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

    def may_stay(self, node: int) -> bool:
        """Return whether a level may have no branch at a node: a multiway test without a branch for other levels."""
        return bool(self.kind[node] == MULTIWAY and self.other[node] < 0)

    def terminal_nodes(self) -> Iterator[int]:
        """Iterate over the nodes at which a row may stop; the state is that of the rows that stop at the node."""
        for node in self.walk():
            if self.kind[node] == LEAF:
                yield node
            elif self.may_stay(node):
                undo = self.take(node, STAY)
                condition = self.now[self.column[node]]
                assert isinstance(condition, ReachableLevels)
                if condition.value().present:
                    yield node
                undo()
