"""Every node of a tree as a group of a table's rows, compared with the rows outside it.

Between ``departure.py``, which compares two parts, and the front, which shows what was found. A subtree is a run of
node numbers, so that the rows of every node are differences of running sums over the nodes where rows end.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from treewise.data import encoding as encode
from treewise.evaluate.evaluate import PredictionComparison, refuse_infinite, seen_before
from treewise.explain.subgroups.statistics import (
    GroupDifference,
    GroupStatistics,
    departure,
    departures,
    holm,
    in_steps,
    p_value,
)
from treewise.train.true_labels import class_places
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]

ALL_BUT_FEW = 0.95  # of all rows: two groups beside each other that have so many are one another's opposite
ALL = -1  # instead of a group: the whole table
LITTLE = 0.25  # a part that departs by less than this share of what the whole does says hardly more


@dataclass(frozen=True)
class GroupTest:
    """A group and the rest on other rows: whether what was found is found again."""

    group: GroupStatistics
    rest: GroupStatistics
    departure: GroupDifference | None  # None where one of the two is empty
    p_adjusted: float = 1.0
    confirmed: bool = False


@dataclass(frozen=True)
class NodeGroup:
    """One node as a group."""

    node: int
    place: int | None  # of the class that is counted
    group: GroupStatistics
    rest: GroupStatistics
    departure: GroupDifference
    p_adjusted: float = 1.0
    like: str = ""  # why it says no more than another group
    test: GroupTest | None = None

    @property
    def rank(self) -> tuple[float, float, int]:
        """The order of groups: by how far they depart at least, then by how far they seem to."""
        return -self.departure.at_least, -abs(self.departure.difference), self.node


class GroupTally:
    """The rows of a table, added up for every node of a tree."""

    def __init__(self, here: PredictionComparison[Tree], place: int | None) -> None:
        self.tree, self.place, self.n = here.model, place, len(here.table)
        self.seen = seen_before(here)
        self.name, self._nodes = here.table.name, here.leaves
        self.numbers = here.model.task == "regression"
        if self.numbers:
            self._values = encode.encode_numbers(here.column)
            refuse_infinite(self._values, here)
        else:
            self._truth = class_places(here.model, here.column)[0]
        self.rows = self._counted(np.ones(self.n, np.bool_))
        self._hits: dict[int, Ints] = {}

    def _counted(self, which: npt.NDArray[np.bool_]) -> Ints:
        """Count some of the rows of every node."""
        ends = self.tree.arrays.ends
        running = np.append(0, np.cumsum(np.bincount(self._nodes[which], minlength=len(self.tree))))
        found: Ints = running[ends] - running[: len(self.tree)]
        return found

    def counted_class(self, node: int) -> int | None:
        """Return the class whose share is compared: the one asked for, or the one the node predicts."""
        if self.numbers:
            return None
        return int(self.tree.arrays.label[node]) if self.place is None else self.place

    def part(self, node: int, place: int | None) -> GroupStatistics:
        """Return the rows of a node, with hits of a class or sums of numbers."""
        n = int(self.rows[node])
        if place is None:
            (totals, squares, step), end = self._running, int(self.tree.arrays.ends[node])
            return GroupStatistics(n, totals[end] - totals[node], squares[end] - squares[node], step)
        if place not in self._hits:
            self._hits[place] = self._counted(self._truth == place)
        hits = int(self._hits[place][node])
        return GroupStatistics(n, hits, hits)

    @cached_property
    def _running(self) -> tuple[list[int], list[int], int]:
        """The sums of the numbers and of their squares over the nodes before each; exact, so that they may be large."""
        numbers, step = in_steps(self._values)
        totals, squares = [0] * len(self.tree), [0] * len(self.tree)
        for node, number in zip(self._nodes.tolist(), numbers, strict=True):
            totals[node] += number
            squares[node] += number * number
        return list(accumulate(totals, initial=0)), list(accumulate(squares, initial=0)), step


def findings(tally: GroupTally, least: float, confidence: float) -> list[NodeGroup]:
    """Compare every group of enough rows with the rest, best first; nodes with the rows of their parent are it."""
    tree, rows = tally.tree, tally.rows
    parent = tree.arrays.parent
    nodes = np.flatnonzero((rows[1:] >= max(1, least)) & (rows[1:] < rows[parent[1:]])) + 1
    places = [(node, tally.counted_class(node)) for node in nodes.tolist()]
    places = [(node, place) for node, place in places if place != -1]  # a node of a hand-written tree may say nothing
    groups = [tally.part(node, place) for node, place in places]
    rests = [tally.part(0, place) - group for (_, place), group in zip(places, groups, strict=True)]
    apart = departures(groups, rests, confidence)
    found = [
        NodeGroup(node, place, group, rest, each)
        for (node, place), group, rest, each in zip(places, groups, rests, apart, strict=True)
    ]
    adjusted = holm([each.departure.p for each in found])
    found = [replace(each, p_adjusted=p) for each, p in zip(found, adjusted, strict=True)]
    return sorted(found, key=lambda each: each.rank)


def tested(found: list[NodeGroup], tally: GroupTally, confidence: float) -> list[NodeGroup]:
    """Look for the groups again on other rows."""
    trials: list[NodeGroup] = []
    for each in found:
        group = tally.part(each.node, each.place)
        rest = tally.part(0, each.place) - group
        enough = group.n > 0 and rest.n > 0
        trial = GroupTest(group, rest, departure(group, rest, confidence) if enough else None)
        trials.append(replace(each, test=trial))
    return corrected(trials, confidence)


def corrected(tried: Sequence[NodeGroup], confidence: float) -> list[NodeGroup]:
    """Correct the p-values of groups on other rows for how many of them there are, and say which are confirmed."""
    trials = [each.test for each in tried if each.test is not None]
    done = []
    adjusted = holm([1.0 if trial.departure is None else trial.departure.p for trial in trials])
    for each, trial, p in zip(tried, trials, adjusted, strict=True):
        again = trial.departure is not None and trial.departure.difference * each.departure.difference > 0
        done.append(replace(each, test=replace(trial, p_adjusted=p, confirmed=again and p < 1 - confidence)))
    return done


# -- nesting --------------------------------------------------------------------------------------------------


def without_repeats(tree: Tree, ranked: list[NodeGroup], confidence: float) -> tuple[list[NodeGroup], list[NodeGroup]]:
    """Part groups that say something new from those that repeat one before them, which are told why."""
    kept: dict[int | None, KeptGroups] = {}
    ends: list[int] = tree.arrays.ends.tolist()
    groups: list[NodeGroup] = []
    repeats: list[NodeGroup] = []
    for each in ranked:
        before = kept.setdefault(each.place, KeptGroups(ends, confidence))
        like = before.repeated_by(each)
        (repeats if like else groups).append(replace(each, like=like))
        if not like:
            before.add(each)
    return groups, repeats


class KeptGroups:
    """The groups of one class that were kept so far, found by where they lie in the tree."""

    def __init__(self, ends: list[int], confidence: float) -> None:
        self.ends, self.confidence = ends, confidence
        self.by_node: dict[int, NodeGroup] = {}
        self.large: list[NodeGroup] = []
        self.within: dict[int, list[int]] = {ALL: []}  # group → the outermost groups within it, in order

    def add(self, each: NodeGroup) -> None:
        """Keep a group."""
        beside = self.within[self._around(each.node)]
        first, last = self._run(beside, each.node)
        self.within[each.node] = beside[first:last]
        beside[first:last] = [each.node]
        self.by_node[each.node] = each
        self.large += [each] * (each.group.n >= ALL_BUT_FEW / 2 * (each.group.n + each.rest.n))

    def repeated_by(self, each: NodeGroup) -> str:
        """Say which group before it a group repeats, and how; nothing if none."""
        if (other := self._opposite(each)) is not None:
            few = "" if other.group.n == each.rest.n else ", but for a few"
            return f"the rows outside node {other.node}{few}"
        around = self.by_node.get(self._around(each.node))
        if around is not None:
            further = abs(each.group.mean - around.group.mean) >= LITTLE * abs(around.departure.difference)
            if not further or p_value(each.group, around.group - each.group) >= 1 - self.confidence:
                return f"hardly different from node {around.node}, of which it is a part"
        inside = self._inside(each.node)
        left = each.group
        for other in inside:
            left = left - other.group
        if inside and not self._departs_too(left, each):
            names = " and ".join(f"node {other.node}" for other in inside[:3])
            return f"only by {names}, {'which is a part of it' if len(inside) == 1 else 'which are parts of it'}"
        return ""

    def _opposite(self, each: NodeGroup) -> NodeGroup | None:
        """Return a group beside this one that has nearly all other rows: one of the two is large."""
        enough = ALL_BUT_FEW * (each.group.n + each.rest.n)
        candidates = self.by_node.values() if each.group.n >= enough / 2 else self.large
        for other in candidates:
            apart = other.node >= self.ends[each.node] or each.node >= self.ends[other.node]
            if apart and other.group.n + each.group.n >= enough:
                return other
        return None

    def _around(self, node: int) -> int:
        """Return the nearest group that holds a node; ALL where none does."""
        found = ALL
        while True:
            beside = self.within[found]
            place = bisect_left(beside, node) - 1
            if place < 0 or node >= self.ends[beside[place]]:
                return found
            found = beside[place]

    def _run(self, beside: list[int], node: int) -> tuple[int, int]:
        """Return where the groups within a node begin and end among others."""
        return bisect_right(beside, node), bisect_left(beside, self.ends[node])

    def _inside(self, node: int) -> list[NodeGroup]:
        """Return the outermost groups within a node."""
        beside = self.within[self._around(node)]
        first, last = self._run(beside, node)
        return [self.by_node[other] for other in beside[first:last]]

    def _departs_too(self, left: GroupStatistics, each: NodeGroup) -> bool:
        """Tell whether what is left of a group, without the groups inside, still departs to its side."""
        if left.n == 0:
            return False
        further = (left.mean - each.rest.mean) / each.departure.difference >= LITTLE
        return further and p_value(left, each.rest) < 1 - self.confidence
