"""Subtree raising: C4.5 may also replace a node by its largest branch (Quinlan 1993, chapter 4).

``pessimistic.py`` supplies the estimates. The training rows are needed, because the rows of the other branches are sent
down the raised one and counted again there. As in C4.5, a node is considered after its branches, and again, with its
subtree, once it was replaced; the cost is nodes × depth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from treewise.predict.costs import cost_matrix_of, least_costly
from treewise.predict.predict import find_leaves
from treewise.prune.decision import Bools, Floats, Ints
from treewise.train.edit import estimate, rearrange
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import BY_HAND, STOPS
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree

Estimate = Callable[[Floats, Floats], Floats]  # (weights, errors of them) → estimated errors


class SubtreeRaiser:
    """A tree while its subtrees are cut and raised: the children of each position, and the rows of each leaf."""

    def __init__(self, tree: Tree, training_set: TrainingSet, estimated: Estimate, tolerance: float) -> None:
        self.tree, self.training_set, self.estimated, self.tolerance = tree, training_set, estimated, tolerance
        self.cost = cost_matrix_of(tree)
        self.children: list[tuple[int, ...]] = [tree.children(node) for node in range(len(tree))]
        self.node_at = list(range(len(tree)))  # the node whose split each position has now
        self.weight = np.ldexp(training_set.weight.astype(np.float64), -training_set.weight_scale)
        ends = find_leaves(tree, training_set.columns, len(training_set))
        self.rows: list[Ints] = [np.empty(0, np.int64)] * len(tree)  # the rows that end at each position
        for position, rows in _rows_by_leaf(ends, np.arange(len(training_set))).items():
            self.rows[position] = rows
        self.initial_rows = [len(rows) for rows in self.rows]
        self.is_pruned = np.zeros(len(tree), bool)
        self.raised = np.full(len(tree), -1)
        self.before, self.after = np.full(len(tree), np.nan), np.full(len(tree), np.nan)

    def run(self) -> None:
        """Consider every node after its branches, and a replaced node again."""
        stack = [(0, False)]
        while stack:
            position, children_done = stack.pop()
            if not self.children[position]:
                continue
            if not children_done:
                stack.append((position, True))
                stack.extend((child, False) for child in self.children[position])
            elif self.decide(position):
                stack.append((position, False))

    def decide(self, position: int) -> bool:
        """Keep a node, make it a leaf, or raise its largest branch; return whether it was raised."""
        rows_here = self.rows_below(position)
        as_leaf = self.estimate_errors([rows_here])
        as_tree = self.estimate_errors([self.rows[at] for at in self.positions_below(position)])
        branches = [self.rows_below(child) for child in self.children[position]]
        largest = int(np.argmax([self.weight[rows].sum() for rows in branches]))
        branch = self.children[position][largest]
        other_rows = np.concatenate([rows for i, rows in enumerate(branches) if i != largest] + [self.rows[position]])
        moved = self.send_down(branch, other_rows)
        as_branch = self.estimate_errors(
            [np.append(self.rows[at], moved.get(at, [])) for at in self.positions_below(branch)]
        )
        self.before[position], self.after[position] = as_tree, as_leaf
        if as_leaf <= as_tree + self.tolerance and as_leaf <= as_branch + self.tolerance:
            self.rows[position], self.children[position], self.is_pruned[position] = rows_here, (), True
            return False
        if as_branch > as_tree + self.tolerance:
            return False
        for at, rows in moved.items():
            self.rows[at] = np.append(self.rows[at], rows)
        self.raised[position] = self.node_at[branch]
        self.rows[position], self.children[position] = self.rows[branch], self.children[branch]
        self.node_at[position], self.is_pruned[position] = self.node_at[branch], self.is_pruned[branch]
        return True

    def positions_below(self, position: int) -> list[int]:
        """Return a position and all below it, in pre-order."""
        positions, stack = [], [position]
        while stack:
            at = stack.pop()
            positions.append(at)
            stack.extend(reversed(self.children[at]))
        return positions

    def rows_below(self, position: int) -> Ints:
        """Return the rows that end at or below a position."""
        return np.concatenate([self.rows[at] for at in self.positions_below(position)])

    def estimate_errors(self, groups: list[Ints]) -> float:
        """Sum the estimated errors of groups of rows, each predicted as a leaf of the tree would."""
        k = len(self.tree.classes)
        owner = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
        rows = np.concatenate(groups).astype(np.int64)
        flat = np.bincount(owner * k + self.training_set.y[rows], self.weight[rows], len(groups) * k).astype(np.float64)
        counts = flat.reshape(len(groups), k)
        total = counts.sum(axis=1)
        right = counts[np.arange(len(groups)), least_costly(counts, self.cost)]
        return float(self.estimated(total, total - right).sum())

    def send_down(self, position: int, rows: Ints) -> dict[int, Ints]:
        """Send rows down the current state of a branch, and return those that end at each position."""
        positions = self.positions_below(position)
        branch = self.subtree(positions)
        ends = find_leaves(branch, [values[rows] for values in self.training_set.columns], len(rows))
        return {positions[at]: moved for at, moved in _rows_by_leaf(ends, rows).items()}

    def subtree(self, positions: list[int], stop: int = BY_HAND) -> Tree:
        """Build a tree of the current state of some positions."""
        index = {position: i for i, position in enumerate(positions)}
        parents = np.full(len(positions), -1)
        for position in positions:
            for child in self.children[position]:
                parents[index[child]] = index[position]
        nodes = np.array([self.node_at[position] for position in positions])
        leaves: Bools = np.array([not self.children[position] for position in positions])
        return rearrange(self.tree, nodes, parents, leaves, stop)

    def result(self) -> tuple[Tree, Ints]:
        """Return the new tree, with statistics of the training rows, and the number of each old node in it."""
        positions = self.positions_below(0)
        tree = self.subtree(positions, STOPS.index("pruned(pessimistic)"))
        stop = tree.arrays.stop.copy()
        leaves = [i for i, position in enumerate(positions) if not self.children[position]]
        unchanged = [i for i in leaves if self._is_unchanged(positions[i])]
        stop[unchanged] = self.tree.arrays.stop[[positions[i] for i in unchanged]]
        tree = replace(tree, arrays=replace(tree.arrays, stop=stop))
        new_numbers = np.full(len(self.tree), -1)
        for i, position in enumerate(positions):
            new_numbers[self.node_at[position]] = i
        return estimate(tree, self.training_set, HistoryStep(did="prune")), new_numbers

    def _is_unchanged(self, position: int) -> bool:
        """Whether a leaf is a leaf of the old tree, with the same rows."""
        return (
            not self.is_pruned[position]
            and self.node_at[position] == position
            and len(self.rows[position]) == self.initial_rows[position]
        )


def _rows_by_leaf(ends: Ints, rows: Ints) -> dict[int, Ints]:
    """Return the rows that end at each node, in their order.

    >>> {node: rows.tolist() for node, rows in _rows_by_leaf(np.array([2, 1, 2]), np.array([7, 8, 9])).items()}
    {1: [8], 2: [7, 9]}
    """
    order = np.argsort(ends, kind="stable")
    nodes, starts = np.unique(ends[order], return_index=True)
    return dict(zip(nodes.tolist(), np.split(rows[order], starts[1:]), strict=False))
