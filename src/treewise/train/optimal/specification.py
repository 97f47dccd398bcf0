"""The specification of optimal trees in readable Python: all trees of a small table, by dynamic programming.

The core (``src/core/optimal``) solves the same problem by branch and bound; a test compares the two on many tables.

    objective   the sum over the leaves of what a leaf costs, plus ``penalty`` for each leaf
    leaf        errors, costs of mistakes, squared error, gini or entropy of its rows, under the best single prediction
    tests       those of ``grow``: a number or an ordered category is cut between neighbouring values; a category is one
                level against the others, or a set against the others; missing values go to either side, or are told
                apart from all others. Every test has two branches.
    limits      ``max_depth`` tests on a path, ``max_leaf_nodes`` leaves

Of equally good trees the first counts: a leaf before a split; then the first test in the order of columns, and of these
in the order of ``list_tests``; then the first of the left branch, then of the right one.

All costs are integers (``problem.py`` scales them), so that "equally good" and "proven" mean just that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

MAX_SUBSET_LEVELS = 8  # of a column that is split by sets: all of them are tried

LeafCost = Callable[[int], int]  # of a set of rows, given as bits


class SpecifiedTree(NamedTuple):
    """A tree, or a leaf: then it has no test."""

    cost: int
    leaves: int
    test: int = -1  # the index of the test; its rows go left
    left: SpecifiedTree | None = None
    right: SpecifiedTree | None = None


def list_tests(values: Sequence[Any], kind: str) -> Iterator[int]:
    """Yield the tests of a column as sets of the rows that go left, in the order of ties.

    ``values`` are the cells, None where missing; levels as their numbers. ``kind`` is ``"threshold"`` or ``"ordinal"``
    (cuts), ``"one_value"`` or ``"subset"``.

    >>> [f"{rows:03b}" for rows in list_tests([1, 5, None], "threshold")]          # the last row is the first digit
    ['100', '101', '001', '011']
    """
    distinct = sorted({value for value in values if value is not None})
    missing = _rows_of(values, {None})
    if kind in ("threshold", "ordinal"):
        # Missing values below all others, then above them; cut after each, so that a cut may set them apart.
        below = [missing] * bool(missing) + [missing | _up_to(values, cut) for cut in distinct[:-1]]
        above = [_up_to(values, cut) for cut in (distinct if missing else distinct[:-1])]
        yield from [*below, *above] if missing else above
        return
    if kind == "one_value":
        sets = [(level,) for level in distinct] if len(distinct) > 1 else []
    else:
        # Each division into two once: the side with the first level is not listed.
        rest = distinct[1:]
        sets = [chosen for size in range(1, len(rest) + 1) for chosen in combinations(rest, size)]
    for chosen in sets:
        rows = _rows_of(values, set(chosen))
        yield from (rows, rows | missing) if missing else (rows,)
    if missing and distinct:
        yield missing


def _up_to(values: Sequence[Any], cut: Any) -> int:
    return sum(1 << row for row, value in enumerate(values) if value is not None and value <= cut)


def _rows_of(values: Sequence[Any], chosen: set[Any]) -> int:
    return sum(1 << row for row, value in enumerate(values) if value in chosen)


def find_best_tree(
    tests: Sequence[int], leaf_cost: LeafCost, n_rows: int, max_depth: int, max_leaf_nodes: int, penalty: int = 0
) -> SpecifiedTree:
    """Return the first of the trees of least objective, by trying every test at every node.

    >>> labels = [0, 1, 1, 0]                                                                        # exclusive or
    >>> def errors(rows):
    ...     ones = sum(labels[row] for row in range(4) if rows >> row & 1)
    ...     return min(ones, rows.bit_count() - ones)
    >>> tests = [*list_tests([0, 0, 1, 1], "threshold"), *list_tests([0, 1, 0, 1], "threshold")]
    >>> [find_best_tree(tests, errors, 4, depth, 99)[:3] for depth in (1, 2)]
    [(2, 1, -1), (0, 4, 0)]
    """

    @cache
    def best(rows: int, depth: int, leaves: int) -> SpecifiedTree:
        tree = SpecifiedTree(leaf_cost(rows) + penalty, 1)
        if depth == 0 or leaves < 2:
            return tree
        for index, test in enumerate(tests):
            if not rows & test or not rows & ~test:
                continue
            for n_left, n_right in leaf_shares(depth, leaves):
                left, right = best(rows & test, depth - 1, n_left), best(rows & ~test, depth - 1, n_right)
                if left.cost + right.cost < tree.cost:
                    tree = SpecifiedTree(left.cost + right.cost, left.leaves + right.leaves, index, left, right)
        return tree

    return best((1 << n_rows) - 1, max_depth, max_leaf_nodes)


def leaf_shares(depth: int, leaves: int) -> list[tuple[int, int]]:
    """Return how many leaves the two branches may have, in the order of ties; more leaves never cost more.

    >>> leaf_shares(2, 3), leaf_shares(2, 9), leaf_shares(3, 6)
    ([(1, 2), (2, 1)], [(2, 2)], [(2, 4), (3, 3), (4, 2)])
    """
    max_leaves = 1 << depth - 1  # of each child
    if leaves >= 2 * max_leaves:
        return [(max_leaves, max_leaves)]
    first, last = max(1, leaves - max_leaves), min(max_leaves, leaves - 1)
    return [(left, leaves - left) for left in range(first, last + 1)]
