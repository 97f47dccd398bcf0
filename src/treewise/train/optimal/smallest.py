"""``treewise.smallest``: the tree of fewest leaves with at most a given training error, proven.

"Finding the smallest decision tree that fits a training dataset is computationally difficult" (ID3 notes). For one
leaf, two leaves, … the search of ``optimal.py`` either finds a tree that errs no more, or proves that there is none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from treewise import _core
from treewise._lib.checks import check_number, decimal_fraction
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import plural
from treewise.errors import ParameterError, refuse_unknown
from treewise.train.grow import grow_training_set, resolve_n_jobs
from treewise.train.optimal.optimal import OPTIONS, build_tree, prepare_search, tree_cost
from treewise.train.optimal.problem import OptimalProblem
from treewise.tree.tree import Tree


@dataclass(frozen=True, eq=False, repr=False)
class SmallestResult(Displayable):
    """The smallest tree that was found, and the number of leaves that no tree can do with less than.

    >>> import treewise as tw
    >>> result = tw.smallest("distractor")
    >>> result.tree.n_leaves, result.least_leaves, result.is_proven, result.greedy.n_leaves
    (4, 4, True, 6)
    """

    tree: Tree
    least_leaves: int  # every tree with so small an error has at least so many
    greedy: Tree  # the greedy tree without limits
    error: float  # the training error that was allowed
    family: str = ""  # which trees were compared, as the end of "no tree"; all if empty

    @property
    def is_proven(self) -> bool:
        """Whether no tree with so small an error has fewer leaves."""
        return self.tree.n_leaves == self.least_leaves

    def in_words(self) -> str:
        """Say in a sentence how small the tree is, beside the greedy one."""
        limit = "without a training error" if self.error == 0 else f"with a training error of at most {self.error:.4g}"
        own, greedy = (plural(tree.n_leaves, "leaf", "leaves") for tree in (self.tree, self.greedy))
        if self.is_proven:
            proof = f"No tree{self.family and f'{self.family},'} {limit} has fewer than {own}: proven."
        else:
            proof = f"This tree {limit} has {own}; whether one of {self.least_leaves:,} or more does, is not known."
            if self.family:
                proof += f" Compared was every tree{self.family}."
        return f"{proof} The greedy tree has {greedy}."

    def result_table(self) -> ResultTable:
        """Return the conclusion, and the two trees in numbers."""
        columns = (ColumnSpec("tree"), ColumnSpec("leaves", "count"), ColumnSpec("depth", "count"))
        trees = {"smallest" if self.is_proven else "smallest so far": self.tree, "greedy": self.greedy}
        rows = [(name, tree.n_leaves, tree.depth) for name, tree in trees.items()]
        return ResultTable("", columns, rows, above=(self.in_words(),), row_name="tree")

    def __str__(self) -> str:
        return f"{self.in_words()}\n\n{self.tree}"


def smallest(
    data: Any,
    target: Any = None,
    *,
    error: float = 0.0,
    time_limit: float | None = None,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> SmallestResult:
    """Find the tree of fewest leaves that misclassifies at most a share ``error`` of the rows, and prove it.

    >>> import treewise as tw
    >>> print(tw.smallest("or").in_words())
    No tree without a training error has fewer than 3 leaves: proven. The greedy tree has 3 leaves.

    Of several smallest trees, the one with the fewest errors. ``time_limit`` is in seconds; then the smallest tree
    known is returned, with a bound. ``progress`` is called with each number of leaves before it is tried. ``options``
    are those of ``optimal``.
    """
    refuse_unknown(options, OPTIONS, "help(treewise.smallest)")
    check_number("error", error, 0.0, 1.0)
    if time_limit is not None:
        check_number("time_limit", time_limit, 0.0, math.inf)
    n_jobs = options.pop("n_jobs", None)
    training_set, _ = prepare_search(data, target, "error", options)
    began = time.monotonic()
    problem = OptimalProblem.of(training_set, "error", None, 1, 0.0)
    allowed = int(decimal_fraction(error) * int(problem.weight.sum()))
    _check_reachable(problem, allowed)
    settings = replace(training_set.settings, criterion="entropy", selection="gain", min_level_rows=1)
    greedy = grow_training_set(replace(training_set, settings=settings), n_jobs=n_jobs)
    fits = tree_cost(problem, greedy) <= allowed

    def in_time(_best: int | None, _bound: int) -> bool:
        return time_limit is None or time.monotonic() - began < time_limit

    leaves = 1
    while not fits or leaves < greedy.n_leaves:
        if progress is not None:
            progress(leaves)
        sized = replace(problem, max_depth=min(leaves - 1, 60), max_leaf_nodes=leaves)
        solved = _core.solve_optimal(
            **sized.arguments(),
            n_threads=resolve_n_jobs(n_jobs),
            incumbent=allowed,
            progress=in_time,
        )
        if solved["nodes"]:
            details = {"objective": "error", "penalty": 0.0, "proven": bool(solved["proven"])}
            return SmallestResult(
                build_tree(sized, solved["nodes"], details), leaves, greedy, float(error), problem.family
            )
        if not solved["proven"]:
            return SmallestResult(greedy, leaves, greedy, float(error), problem.family)
        leaves += 1
    return SmallestResult(greedy, leaves, greedy, float(error), problem.family)


def _check_reachable(problem: OptimalProblem, allowed: int) -> None:
    """Raise if rows that no test tells apart make the error impossible."""
    if len(problem.orders):
        group = np.unique(problem.ranks.T, axis=0, return_inverse=True)[1].reshape(-1)
    else:
        group = np.zeros(len(problem.target), np.int64)
    least = problem.tree_cost(group)
    if least > allowed:
        share = float(Fraction(least, int(problem.weight.sum())))
        raise ParameterError(
            f"no tree errs less than {share:.4g}: rows that no test tells apart have different classes.",
            parameter="error",
            hint="Allow that much, or add columns.",
        )
