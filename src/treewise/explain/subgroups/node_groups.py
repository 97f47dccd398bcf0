"""Compare the rows of every node of a tree with the rows outside it, and drop groups that are redundant.

Between ``statistics.py``, which compares two groups, and ``subgroups.py``, which shows the result. A subtree is a
contiguous range of node numbers, so the sums of every node are differences of running sums.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from treewise.data import encoding as encode
from treewise.evaluate.evaluate import EvaluationData, looks_like_training_data, refuse_infinite
from treewise.explain.subgroups.statistics import (
    GroupDifference,
    GroupStatistics,
    compare_groups,
    holm,
    p_value,
    scale_to_integers,
)
from treewise.train.target import encode_known_labels
from treewise.tree.tree import Tree

Ints = npt.NDArray[np.int64]

WHOLE_TABLE = -1  # instead of a node

_COMPLEMENT = 0.95  # two disjoint groups that have at least this share of all rows are complements
_MIN_EFFECT = 0.25  # a part must differ by at least this share of the difference of the whole to be worth listing


@dataclass(frozen=True)
class GroupTest:
    """A group and the rest on other rows: whether the difference is confirmed there."""

    group: GroupStatistics
    rest: GroupStatistics
    difference: GroupDifference | None  # None if one of the two is empty
    p_adjusted: float = 1.0
    confirmed: bool = False


@dataclass(frozen=True)
class NodeGroup:
    """The rows of one node as a group."""

    node: int
    class_index: int | None  # of the class whose share is compared
    group: GroupStatistics
    rest: GroupStatistics
    difference: GroupDifference
    p_adjusted: float = 1.0
    redundancy: str = ""  # why it adds nothing to another group
    test: GroupTest | None = None

    @property
    def rank(self) -> tuple[float, float, int]:
        """The sort key: the conservative difference, then the difference itself."""
        return -self.difference.at_least, -abs(self.difference.value), self.node


class GroupTally:
    """The sums over the rows of a table for every node of a tree."""

    def __init__(
        self,
        tree: Tree,
        class_index: int | None,
        nodes: Ints,
        truth: npt.NDArray[Any],
        *,
        name: str = "",
        is_training_data: bool = True,
    ) -> None:
        """``nodes`` are where the rows end, ``truth`` are their class numbers, or numbers."""
        self.tree, self.class_index, self.n = tree, class_index, len(nodes)
        self.name, self.is_training_data = name, is_training_data
        self._nodes, self._truth = nodes, truth
        self.rows = self._count(np.ones(self.n, np.bool_))
        self._hits: dict[int, Ints] = {}

    @classmethod
    def of(cls, comparison: EvaluationData[Tree], class_index: int | None) -> GroupTally:
        """Sum over the rows of a table with labels."""
        tree = comparison.model
        if tree.task == "regression":
            truth: npt.NDArray[Any] = encode.encode_numbers(comparison.column)
            refuse_infinite(truth, comparison)
        else:
            truth = encode_known_labels(tree, comparison.column)[0]
        is_training_data = looks_like_training_data(comparison)
        name = comparison.table.name
        return cls(tree, class_index, comparison.leaves, truth, name=name, is_training_data=is_training_data)

    def _count(self, mask: npt.NDArray[np.bool_]) -> Ints:
        """Count some of the rows of every node."""
        running = np.append(0, np.cumsum(np.bincount(self._nodes[mask], minlength=len(self.tree))))
        counts: Ints = running[self.tree.arrays.ends] - running[: len(self.tree)]
        return counts

    def class_of(self, node: int) -> int | None:
        """Return the class whose share is compared: the given one, or the prediction of the node."""
        if self.tree.task == "regression":
            return None
        return int(self.tree.arrays.label[node]) if self.class_index is None else self.class_index

    def statistics(self, node: int, class_index: int | None) -> GroupStatistics:
        """Return the statistics of the rows of a node: hits of a class, or sums of numbers."""
        n = int(self.rows[node])
        if class_index is None:
            (totals, squares, exponent), end = self._running, int(self.tree.arrays.ends[node])
            return GroupStatistics(n, totals[end] - totals[node], squares[end] - squares[node], exponent)
        if class_index not in self._hits:
            self._hits[class_index] = self._count(self._truth == class_index)
        hits = int(self._hits[class_index][node])
        return GroupStatistics(n, hits, hits)

    @cached_property
    def _running(self) -> tuple[list[int], list[int], int]:
        """The running sums of the numbers and of their squares over the nodes; exact, of any size."""
        integers, exponent = scale_to_integers(self._truth)
        totals, squares = [0] * len(self.tree), [0] * len(self.tree)
        for node, integer in zip(self._nodes.tolist(), integers, strict=True):
            totals[node] += integer
            squares[node] += integer * integer
        return list(accumulate(totals, initial=0)), list(accumulate(squares, initial=0)), exponent


def compare_nodes(tally: GroupTally, min_rows: float, confidence: float) -> list[NodeGroup]:
    """Compare every node of enough rows with the rest, best first; nodes with all rows of their parent are skipped."""
    rows, parent = tally.rows, tally.tree.arrays.parent
    nodes = np.flatnonzero((rows[1:] >= max(1, min_rows)) & (rows[1:] < rows[parent[1:]])) + 1
    pairs = [(node, tally.class_of(node)) for node in nodes.tolist()]
    pairs = [(node, label) for node, label in pairs if label != -1]  # a hand-written inner node may predict nothing
    groups = [tally.statistics(node, label) for node, label in pairs]
    rests = [tally.statistics(0, label) - group for (_, label), group in zip(pairs, groups, strict=True)]
    differences = compare_groups(groups, rests, confidence)
    adjusted = holm([difference.p for difference in differences])
    compared = [
        NodeGroup(node, label, group, rest, difference, p)
        for (node, label), group, rest, difference, p in zip(pairs, groups, rests, differences, adjusted, strict=True)
    ]
    return sorted(compared, key=lambda group: group.rank)


def retest(groups: list[NodeGroup], tally: GroupTally, confidence: float) -> list[NodeGroup]:
    """Compare the groups on other rows."""
    retested: list[NodeGroup] = []
    for node_group in groups:
        group = tally.statistics(node_group.node, node_group.class_index)
        rest = tally.statistics(0, node_group.class_index) - group
        has_both = group.n > 0 and rest.n > 0
        difference = compare_groups([group], [rest], confidence)[0] if has_both else None
        retested.append(replace(node_group, test=GroupTest(group, rest, difference)))
    return adjust_tests(retested, confidence)


def adjust_tests(groups: Sequence[NodeGroup], confidence: float) -> list[NodeGroup]:
    """Adjust the p-values of groups on other rows for their number, and decide which are confirmed."""
    tests = [group.test for group in groups if group.test is not None]
    adjusted = holm([1.0 if test.difference is None else test.difference.p for test in tests])
    result = []
    for group, test, p in zip(groups, tests, adjusted, strict=True):
        same_sign = test.difference is not None and test.difference.value * group.difference.value > 0
        result.append(replace(group, test=replace(test, p_adjusted=p, confirmed=same_sign and p < 1 - confidence)))
    return result


# -- redundancy -----------------------------------------------------------------------------------------------


def separate_redundant(
    tree: Tree, ranked: list[NodeGroup], confidence: float
) -> tuple[list[NodeGroup], list[NodeGroup]]:
    """Separate groups that add information from those that are redundant given a better one, which get a reason."""
    kept_by_class: dict[int | None, KeptGroups] = {}
    ends: list[int] = tree.arrays.ends.tolist()
    groups: list[NodeGroup] = []
    redundant: list[NodeGroup] = []
    for group in ranked:
        kept_groups = kept_by_class.setdefault(group.class_index, KeptGroups(ends, confidence))
        redundancy = kept_groups.redundancy_of(group)
        (redundant if redundancy else groups).append(replace(group, redundancy=redundancy))
        if not redundancy:
            kept_groups.add(group)
    return groups, redundant


class KeptGroups:
    """The groups of one class kept so far, indexed by their position in the tree."""

    def __init__(self, ends: list[int], confidence: float) -> None:
        self.ends, self.confidence = ends, confidence
        self.by_node: dict[int, NodeGroup] = {}
        self.large: list[NodeGroup] = []
        self.within: dict[int, list[int]] = {WHOLE_TABLE: []}  # group → the outermost groups within it, in order

    def add(self, group: NodeGroup) -> None:
        """Keep a group."""
        siblings = self.within[self._around(group.node)]
        first, last = self._range(siblings, group.node)
        self.within[group.node] = siblings[first:last]
        siblings[first:last] = [group.node]
        self.by_node[group.node] = group
        self.large += [group] * (group.group.n >= _COMPLEMENT / 2 * (group.group.n + group.rest.n))

    def redundancy_of(self, group: NodeGroup) -> str:
        """Describe why a group is redundant given those kept; "" if it is not."""
        if (other := self._complement(group)) is not None:
            nearly = "" if other.group.n == group.rest.n else "nearly "
            return f"{nearly}the complement of node {other.node}"
        around = self.by_node.get(self._around(group.node))
        if around is not None:
            is_large = abs(group.group.mean - around.group.mean) >= _MIN_EFFECT * abs(around.difference.value)
            if not is_large or p_value(group.group, around.group - group.group) >= 1 - self.confidence:
                return f"hardly different from node {around.node}, which contains it"
        inside = self._inside(group.node)
        remainder = group.group
        for other in inside:
            remainder = remainder - other.group
        if inside and not self._still_differs(remainder, group):
            return f"due to {' and '.join(f'node {other.node}' for other in inside[:3])}, which it contains"
        return ""

    def _complement(self, group: NodeGroup) -> NodeGroup | None:
        """Return a disjoint group that has nearly all other rows: one of the two is large."""
        enough = _COMPLEMENT * (group.group.n + group.rest.n)
        candidates = self.by_node.values() if group.group.n >= enough / 2 else self.large
        for other in candidates:
            is_disjoint = other.node >= self.ends[group.node] or group.node >= self.ends[other.node]
            if is_disjoint and other.group.n + group.group.n >= enough:
                return other
        return None

    def _around(self, node: int) -> int:
        """Return the smallest kept group that contains a node."""
        around = WHOLE_TABLE
        while True:
            siblings = self.within[around]
            i = bisect_left(siblings, node) - 1
            if i < 0 or node >= self.ends[siblings[i]]:
                return around
            around = siblings[i]

    def _range(self, siblings: list[int], node: int) -> tuple[int, int]:
        """Return where the groups within a node begin and end among siblings."""
        return bisect_right(siblings, node), bisect_left(siblings, self.ends[node])

    def _inside(self, node: int) -> list[NodeGroup]:
        """Return the outermost kept groups within a node."""
        siblings = self.within[self._around(node)]
        first, last = self._range(siblings, node)
        return [self.by_node[other] for other in siblings[first:last]]

    def _still_differs(self, remainder: GroupStatistics, group: NodeGroup) -> bool:
        """Tell whether a group without the groups inside it still differs in the same direction."""
        if remainder.n == 0:
            return False
        is_large = (remainder.mean - group.rest.mean) / group.difference.value >= _MIN_EFFECT
        return is_large and p_value(remainder, group.rest) < 1 - self.confidence
