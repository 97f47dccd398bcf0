"""Subtree raising: C4.5 may also replace a node by its largest branch (Quinlan 1993, chapter 4).

Stands beside ``pessimistic.py``, which compares the estimates; the rows are needed, because those of the other branches
are sent down the one that is raised, and everything there is counted anew. As in C4.5 a node is looked at after its
branches, and again, with all below it, once it was replaced. That costs the nodes below for each node: nodes × depth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from treewise.predict.costs import cost_matrix_of, least_costly
from treewise.predict.predict import find_leaves
from treewise.prune.decision import Bools, Floats, Ints
from treewise.train.edit import estimate, rearranged
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import STOPS
from treewise.tree.history import Step
from treewise.tree.tree import Tree

Estimate = Callable[[Floats, Floats], Floats]  # (weights, errors of them) → estimated errors


class SubtreeRaiser:
    """A tree while its subtrees are cut and raised: who stands below whom, and the class counts where rows end."""

    def __init__(self, tree: Tree, training_set: TrainingSet, estimated: Estimate, slack: float) -> None:
        self.tree, self.training_set, self.estimated, self.slack = tree, training_set, estimated, slack
        self.cost = cost_matrix_of(tree)
        self.children: list[tuple[int, ...]] = [tree.children(node) for node in range(len(tree))]
        self.stands_for = list(range(len(tree)))  # the node whose test each place asks now
        self.weight = np.ldexp(training_set.weight.astype(np.float64), -training_set.weight_scale)
        ends = find_leaves(tree, training_set.columns, len(training_set))
        self.rows: list[Ints] = [np.empty(0, np.int64)] * len(tree)  # that end at each place
        for place, rows in _rows_by_leaf(ends, np.arange(len(training_set))).items():
            self.rows[place] = rows
        self.rows_at_first = [len(rows) for rows in self.rows]
        self.cut = np.zeros(len(tree), bool)
        self.raised = np.full(len(tree), -1)
        self.before, self.after = np.full(len(tree), np.nan), np.full(len(tree), np.nan)

    def run(self) -> None:
        """Look at every node after its branches; at a node that was replaced again."""
        waiting = [(0, False)]
        while waiting:
            place, below_done = waiting.pop()
            if not self.children[place]:
                continue
            if not below_done:
                waiting.append((place, True))
                waiting.extend((child, False) for child in self.children[place])
            elif self.decide(place):
                waiting.append((place, False))

    def decide(self, place: int) -> bool:
        """Keep a node, make it a leaf, or raise its largest branch; tell whether it was raised."""
        everyone = self.rows_below(place)
        as_leaf = self.errors([everyone])
        as_tree = self.errors([self.rows[below] for below in self.below(place)])
        branches = [self.rows_below(child) for child in self.children[place]]
        largest = int(np.argmax([self.weight[rows].sum() for rows in branches]))
        branch = self.children[place][largest]
        strangers = np.concatenate([rows for i, rows in enumerate(branches) if i != largest] + [self.rows[place]])
        moved = self.sent_down(branch, strangers)
        as_branch = self.errors([np.append(self.rows[at], moved.get(at, [])) for at in self.below(branch)])
        self.before[place], self.after[place] = as_tree, as_leaf
        if as_leaf <= as_tree + self.slack and as_leaf <= as_branch + self.slack:
            self.rows[place], self.children[place], self.cut[place] = everyone, (), True
            return False
        if as_branch > as_tree + self.slack:
            return False
        for at, rows in moved.items():
            self.rows[at] = np.append(self.rows[at], rows)
        self.raised[place] = self.stands_for[branch]
        self.rows[place], self.children[place] = self.rows[branch], self.children[branch]
        self.stands_for[place], self.cut[place] = self.stands_for[branch], self.cut[branch]
        return True

    def below(self, place: int) -> list[int]:
        """Return the places at and below one, in pre-order."""
        found, waiting = [], [place]
        while waiting:
            at = waiting.pop()
            found.append(at)
            waiting.extend(reversed(self.children[at]))
        return found

    def rows_below(self, place: int) -> Ints:
        """Return all rows that end at or below a place."""
        return np.concatenate([self.rows[at] for at in self.below(place)])

    def errors(self, groups: list[Ints]) -> float:
        """Add up the estimated errors of groups of rows, each predicting one class as a node of the tree would."""
        k = len(self.tree.classes)
        owner = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
        rows = np.concatenate(groups).astype(np.int64)
        flat = np.bincount(owner * k + self.training_set.y[rows], self.weight[rows], len(groups) * k).astype(np.float64)
        counts = flat.reshape(len(groups), k)
        total = counts.sum(axis=1)
        right = counts[np.arange(len(groups)), least_costly(counts, self.cost)]
        return float(self.estimated(total, total - right).sum())

    def sent_down(self, place: int, rows: Ints) -> dict[int, Ints]:
        """Send rows down a branch as it is now, and return those that end at each place of it."""
        places = self.below(place)
        branch = self.subtree(places)
        ends = find_leaves(branch, [values[rows] for values in self.training_set.columns], len(rows))
        return {places[at]: some for at, some in _rows_by_leaf(ends, rows).items()}

    def subtree(self, places: list[int], stop: int = STOPS.index("by_hand")) -> Tree:
        """Make a tree of the places of a subtree, as they stand now."""
        number = {place: i for i, place in enumerate(places)}
        parents = np.full(len(places), -1)
        for place in places:
            for child in self.children[place]:
                parents[number[child]] = number[place]
        nodes = np.array([self.stands_for[place] for place in places])
        leaves: Bools = np.array([not self.children[place] for place in places])
        return rearranged(self.tree, nodes, parents, leaves, stop)

    def outcome(self) -> tuple[Tree, Ints]:
        """Return the new tree, counted anew on the rows; and the number in it of each node of the old one."""
        places = self.below(0)
        made = self.subtree(places, STOPS.index("pruned(pessimistic)"))
        stop = made.arrays.stop.copy()
        kept = [i for i, place in enumerate(places) if not self.children[place] and self.as_it_was(place)]
        stop[kept] = self.tree.arrays.stop[[places[i] for i in kept]]
        made = replace(made, arrays=replace(made.arrays, stop=stop))
        now = np.full(len(self.tree), -1)
        for i, place in enumerate(places):
            now[self.stands_for[place]] = i
        return estimate(made, self.training_set, Step(did="prune")), now

    def as_it_was(self, place: int) -> bool:
        """Tell whether a leaf is one of the old tree, with the rows it had."""
        return (
            not self.cut[place]
            and self.stands_for[place] == place
            and len(self.rows[place]) == self.rows_at_first[place]
        )


def _rows_by_leaf(ends: Ints, rows: Ints) -> dict[int, Ints]:
    """Return the rows that end at each node, in their order.

    >>> {node: rows.tolist() for node, rows in by_end(np.array([2, 1, 2]), np.array([7, 8, 9])).items()}
    {1: [8], 2: [7, 9]}
    """
    order = np.argsort(ends, kind="stable")
    nodes, starts = np.unique(ends[order], return_index=True)
    return dict(zip(nodes.tolist(), np.split(rows[order], starts[1:]), strict=False))
