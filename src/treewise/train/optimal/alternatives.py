"""The next best trees: ``OptimalResult.alternatives``.

Trees that differ in a threshold by one row are of no use to a reader, so a further tree must do without at least one
column of every tree before it. The best such tree tests no column of some set that hits them all. These sets are
searched best first, as in Reiter's hitting-set trees (1987): from the best tree without the columns H, continue with H
and one column of that tree; since fewer columns never help, trees come in the order of their objective.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import numpy.typing as npt

from treewise._lib.checks import check_choice, check_integer, check_number
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import safe
from treewise.errors import ParameterError, did_you_mean
from treewise.predict.predict import find_leaves
from treewise.train.optimal.optimal import OptimalResult, solve
from treewise.tree.tree import Tree

DISTINCT = ("columns",)


@dataclass(frozen=True, eq=False, repr=False)
class Alternatives(Displayable):
    """Trees in the order of their objective; ``[0]`` is the best."""

    results: tuple[OptimalResult, ...]

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: int) -> Tree:
        return self.results[index].tree

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The trees."""
        return tuple(result.tree for result in self.results)

    def result_table(self) -> ResultTable:
        """Return a row for each tree: what it costs, which columns it tests, and where it differs from the first."""
        columns = (
            ColumnSpec("tree", "count"),
            ColumnSpec("objective", "number"),
            ColumnSpec("leaves", "count"),
            ColumnSpec("proven", "flag"),
            ColumnSpec("differs", "share", "differs %"),
            ColumnSpec("columns", break_at=", "),
        )
        first = _predictions(self.results[0])
        rows = [
            (
                number,
                result.objective,
                result.tree.n_leaves,
                result.is_proven,
                float(np.mean(_predictions(result) != first)),
                ", ".join(columns_of(result.tree)),
            )
            for number, result in enumerate(self.results, 1)
        ]
        title = "The best trees, each without a column of every tree above it"
        return ResultTable(title, columns, rows, row_name="tree")


def find_alternatives(
    best: OptimalResult, k: int, within: float | None, without: Sequence[str], distinct: str
) -> Alternatives:
    """Search for the next best trees of a result."""
    check_integer("k", k, minimum=1)
    check_choice("distinct", distinct, DISTINCT)
    if within is not None:
        check_number("within", within, 0.0, math.inf)
    names = [encoding.name for encoding in best.problem.training_set.encodings]
    if isinstance(without, str):
        raise ParameterError("must be a list of columns.", parameter="without", value=without)
    for name in without:
        if name not in names:
            hint = did_you_mean(name, names)
            raise ParameterError(f'no column is called "{safe(name)}".', parameter="without", hint=hint)
    first = _solve_without(best, frozenset(without)) if set(without) & set(columns_of(best.tree)) else best
    order, seen = count(), {frozenset(without)}
    open_sets = [(first.objective, next(order), frozenset(without), first)]
    listed: list[OptimalResult] = []
    while open_sets and len(listed) < k:
        objective, _, excluded, result = heapq.heappop(open_sets)
        if within is not None and objective > first.objective + within + 1e-12:
            break
        tested = set(columns_of(result.tree))
        if not any(set(columns_of(earlier.tree)) <= tested for earlier in listed):
            listed.append(result)
        for name in sorted(tested):
            further = excluded | {name}
            if further not in seen:
                seen.add(further)
                successor = _solve_without(best, further)
                heapq.heappush(open_sets, (successor.objective, next(order), further, successor))
    return Alternatives(tuple(listed))


def columns_of(tree: Tree) -> list[str]:
    """Return the names of the columns that a tree tests, the root's first."""
    numbers = tree.arrays.column[tree.arrays.column >= 0].tolist()
    return [tree.encodings[number].name for number in dict.fromkeys(numbers)]


def _solve_without(best: OptimalResult, excluded: frozenset[str]) -> OptimalResult:
    problem = best.problem
    encodings = problem.training_set.encodings
    kept = [i for i, order in enumerate(problem.orders) if encodings[order.column].name not in excluded]
    smaller = replace(problem, orders=tuple(problem.orders[i] for i in kept), ranks=problem.ranks[kept])
    return solve(smaller, time_limit=best.options["time_limit"], n_jobs=best.options["n_jobs"])


def _predictions(result: OptimalResult) -> npt.NDArray[np.float64]:
    training_set, tree = result.problem.training_set, result.tree
    names = [encoding.name for encoding in training_set.encodings]
    columns = tuple(training_set.columns[names.index(encoding.name)] for encoding in tree.encodings)
    leaves = find_leaves(tree, columns, len(training_set))
    answers = tree.arrays.label if tree.task == "classification" else tree.arrays.value
    return np.asarray(answers[leaves], np.float64)
