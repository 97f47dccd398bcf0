"""For every number of leaves: the greedy tree, and the best tree that a lesson offers.

The best tree is found by dynamic programming over the situations: what a situation costs with at most k leaves is the
least, over its tests, of what the branches cost with k leaves between them. A lesson need not offer every test (a test
is offered with the best placement of missing rows only), so ``treewise.optimal`` finds the best trees of all tests
first, and their tests are offered too: a student can find them, and the lesson can say that no tree of that size does
better.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from treewise.predict.predict import find_leaves, subtree_sizes
from treewise.train.candidates import Rows
from treewise.train.grow import grow_training_set
from treewise.train.optimal.optimal import solve
from treewise.train.optimal.problem import OptimalProblem, unsearched_columns, with_searchable_splits
from treewise.train.training_set import TrainingSet
from treewise.tree.splits import Split
from treewise.tree.tree import Tree
from treewise.workbench.lesson.situations import RowsKey, Situations, rows_key

Choices = list[int | None]  # the test of each node in pre-order; None is a leaf
Floats = npt.NDArray[np.float64]

MAX_LEAVES = 24  # of trees that are compared by size; larger ones with the best of any size


@dataclass(frozen=True)
class BestTree:
    """The best tree of at most so many leaves, beside the greedy one."""

    leaves: int  # at most
    lost: float
    choices: Choices
    is_proven: bool  # no tree of that size and depth does better, whatever its tests
    greedy_lost: float
    greedy_choices: Choices | None  # None where the greedy tree asks a test that is not offered


@dataclass
class OptimalSplits:
    """The splits of the optimal trees of a table, and what these trees lose."""

    training_set: TrainingSet
    seconds: float  # for all of them
    # by the depth and the number of leaves: what the best tree loses, and whether that is proven
    lost: dict[int | None, dict[int, tuple[float, bool]]] = field(default_factory=dict)
    _splits: dict[int | None, Mapping[RowsKey, Sequence[Split]]] = field(default_factory=dict)

    def at_depth(self, depth: int | None) -> Mapping[RowsKey, Sequence[Split]]:
        """Return the splits of the best trees of a depth, by the rows of their nodes."""
        if depth not in self._splits:
            self.lost[depth] = {}
            self._splits[depth] = self._find(depth)
        return self._splits[depth]

    def _find(self, depth: int | None) -> Mapping[RowsKey, Sequence[Split]]:
        splits: dict[RowsKey, list[Split]] = defaultdict(list)
        if not can_be_optimal(self.training_set):
            return splits
        searchable, until = with_searchable_splits(self.training_set), time.monotonic() + self.seconds
        objective = "error" if searchable.target.task == "classification" else "squared_error"
        for leaves in range(2, _most_leaves(depth) + 1):
            if (left := until - time.monotonic()) <= 0:
                break
            problem = OptimalProblem.of(searchable, objective, depth, leaves, 0.0)
            result = solve(problem, time_limit=left)
            total = float(np.ldexp(float(searchable.weight.sum()), -searchable.weight_scale))
            self.lost[depth][leaves] = (result.objective * total, result.is_proven)
            for split, rows in splits_with_rows(result.tree, searchable):
                if split not in splits[rows_key(rows)]:
                    splits[rows_key(rows)].append(split)
            if result.objective == 0:
                break
        return splits


def _most_leaves(depth: int | None) -> int:
    """Return the leaves of the largest trees that are compared."""
    return MAX_LEAVES if depth is None else min(MAX_LEAVES, 2**depth)


def can_be_optimal(training_set: TrainingSet) -> bool:
    """Tell whether ``treewise.optimal`` compares all trees of a lesson: tests of two branches, no limits on leaves.

    A column of many levels has more sets than it compares, and than a lesson offers.
    """
    settings = training_set.settings.non_default_values()
    limits = {"min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "sufficient_accuracy"}
    limits |= {"min_impurity_decrease", "alpha"}
    kinds = {kind for column in training_set.split_kinds for kind in column}
    if "multiway" in kinds or training_set.settings.missing != "learn" or limits & settings.keys():
        return False
    return not unsearched_columns(with_searchable_splits(training_set))


def splits_with_rows(tree: Tree, training_set: TrainingSet) -> list[tuple[Split, Rows]]:
    """Return each split of a tree with the rows of its node, in pre-order."""
    by_name = {e.name: values for e, values in zip(training_set.encodings, training_set.columns, strict=True)}
    leaves = find_leaves(tree, tuple(by_name[e.name] for e in tree.encodings), len(training_set))
    ends = np.arange(len(tree)) + np.asarray(subtree_sizes(tree))
    divided = []
    for node in range(len(tree)):
        if (split := tree.split_at(node)) is not None:
            divided.append((split, np.flatnonzero((leaves >= node) & (leaves < ends[node]))))
    return divided


def compare_sizes(
    situations: Situations, training_set: TrainingSet, optimal: OptimalSplits
) -> tuple[list[BestTree], float]:
    """Return the best tree of every size, beside the greedy one; also what the best tree of any size loses."""
    costs, depth = _SizeCosts(situations), situations.limits.depth
    root = costs.of(0, 0)
    proven = optimal.lost.get(depth, {})
    n_useful = int(np.flatnonzero(root <= root[-1])[0]) + 1  # more leaves do not help
    n_greedy = _grow(training_set, None, depth).n_leaves
    trees = []
    for leaves in range(
        1, min(MAX_LEAVES, max(n_useful, n_greedy, _most_leaves(depth) if depth is not None else 1)) + 1
    ):
        lost, best = float(root[leaves - 1]), proven.get(leaves)
        is_proven = lost == 0 or leaves == 1 or (best is not None and best[1] and lost <= best[0] * (1 + 1e-9) + 1e-9)
        greedy = _lost_by(_grow(training_set, leaves, depth), situations, training_set)
        trees.append(BestTree(leaves, _plain(lost), costs.choices(leaves), is_proven, *greedy))
    return trees, _plain(costs.unlimited(0, 0))


def _grow(training_set: TrainingSet, leaves: int | None, depth: int | None) -> Tree:
    """Grow the greedy tree of a size; of one leaf too."""
    settings = replace(training_set.settings, max_leaf_nodes=leaves, max_depth=depth)
    return grow_training_set(replace(training_set, settings=settings))


def _plain(lost: float) -> float:
    """Return a number of rows as an integer."""
    return int(lost) if lost == int(lost) else lost


def _lost_by(tree: Tree, situations: Situations, training_set: TrainingSet) -> tuple[float, Choices | None]:
    """Return what a tree loses, and its tests as choices."""
    leaves = find_leaves(tree, training_set.columns, len(training_set))
    choices: Choices | None = []
    lost = 0.0
    ends = np.arange(len(tree)) + np.asarray(subtree_sizes(tree))
    for node in range(len(tree)):
        rows = np.flatnonzero((leaves >= node) & (leaves < ends[node]))
        if not len(rows):
            continue  # a branch for levels that never came
        number = situations.keys.get(rows_key(rows))
        if tree.split_at(node) is None:
            lost += situations[number].lost if number is not None else np.nan
            choice = None
        else:
            below = [np.flatnonzero((leaves >= c) & (leaves < ends[c])) for c in tree.children(node)]
            keys = [rows_key(part) for part in below if len(part)]
            choice = None if number is None else _test_with(situations, number, keys)
            if choice is None:
                choices = None
        if choices is not None:
            choices.append(choice)
    return _plain(lost), choices


def _test_with(situations: Situations, number: int, below: Sequence[RowsKey]) -> int | None:
    """Return the test of a situation whose branches have these rows."""
    numbers = sorted(situations.keys.get(key, -1) for key in below)
    for i, test in enumerate(situations[number].tests):
        if sorted(test.branches) == numbers:
            return i
    return None


class _SizeCosts:
    """What the best tree of every size costs at each situation and depth."""

    def __init__(self, situations: Situations) -> None:
        self.situations = situations
        self.known: dict[tuple[int, int], Floats] = {}
        self.any_size: dict[tuple[int, int], float] = {}

    def _may_divide(self, number: int, depth: int) -> bool:
        limit = self.situations.limits.depth
        return bool(self.situations[number].tests) and (limit is None or depth < limit)

    def _level(self, depth: int) -> int:
        """Return the depth that a result depends on: without a limit, any is like the first."""
        return 0 if self.situations.limits.depth is None else depth

    def of(self, number: int, depth: int) -> Floats:
        """Return the least loss with at most 1, 2, … leaves."""
        key = number, self._level(depth)
        if key not in self.known:
            best = np.full(MAX_LEAVES, self.situations[number].lost)
            if self._may_divide(number, depth):
                for test in self.situations[number].tests:
                    best = np.minimum(best, self._together([self.of(b, depth + 1) for b in test.branches]))
            self.known[key] = np.minimum.accumulate(best)
        return self.known[key]

    def unlimited(self, number: int, depth: int) -> float:
        """Return the least loss with any number of leaves."""
        key = number, self._level(depth)
        if key not in self.any_size:
            best = self.situations[number].lost
            if self._may_divide(number, depth):
                for test in self.situations[number].tests:
                    best = min(best, sum(self.unlimited(b, depth + 1) for b in test.branches))
            self.any_size[key] = best
        return self.any_size[key]

    @staticmethod
    def _together(parts: Sequence[Floats]) -> Floats:
        """Return what branches cost with so many leaves between them; infinity with fewer leaves than branches."""
        total = np.concatenate([[np.inf], parts[0]])  # by the number of leaves, from 0
        for part in parts[1:]:
            joined = np.full(MAX_LEAVES + 1, np.inf)
            for own in range(1, MAX_LEAVES):  # leaves of this branch
                joined[own:] = np.minimum(joined[own:], total[: MAX_LEAVES + 1 - own] + part[own - 1])
            total = joined
        return total[1:]

    def choices(self, leaves: int) -> Choices:
        """Return a best tree of at most so many leaves, with as few leaves as it needs."""
        tests: Choices = []
        stack = [(0, 0, leaves)]
        while stack:
            number, depth, most = stack.pop()
            costs = self.of(number, depth)
            most = int(np.flatnonzero(costs[:most] <= costs[most - 1] * (1 + 1e-12))[0]) + 1
            choice, shares = self._choose(number, depth, most)
            tests.append(choice)
            if choice is not None:
                branches = self.situations[number].tests[choice].branches
                stack += [(b, depth + 1, n) for b, n in reversed(list(zip(branches, shares, strict=True)))]
        return tests

    def _choose(self, number: int, depth: int, most: int) -> tuple[int | None, list[int]]:
        """Return the test that reaches the least loss, and how many leaves each branch gets."""
        least = self.of(number, depth)[most - 1]
        if self.situations[number].lost <= least * (1 + 1e-12) or not self._may_divide(number, depth):
            return None, []
        for i, test in enumerate(self.situations[number].tests):
            parts = [self.of(b, depth + 1) for b in test.branches]
            if self._together(parts)[most - 1] <= least * (1 + 1e-12):
                return i, self._share(parts, most)
        raise AssertionError  # the least is that of a test

    def _share(self, parts: Sequence[Floats], most: int) -> list[int]:
        """Return the leaves of each branch, so that together they lose least."""
        shares, left = [], most
        for i, part in enumerate(parts[:-1]):
            rest = np.concatenate([[np.inf], self._together(parts[i + 1 :])])
            totals = [part[n - 1] + rest[left - n] for n in range(1, left)]
            shares.append(int(np.argmin(totals)) + 1)
            left -= shares[-1]
        return [*shares, left]
