"""``treewise.optimal``: the tree of least training objective of a given size, with a proof or a bound.

``problem.py`` turns the table into integers, the core (``src/core/optimal``) searches, ``build_tree`` writes the answer
as an ordinary tree. The search starts from a greedy tree of the same size and of the same tests, so no result is worse
than that one. Where greedy growth may take tests that the search leaves out, that tree is compared with the result.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.checks import check_choice, check_number
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded, plural
from treewise._version import __version__
from treewise.errors import refuse_unknown
from treewise.predict.predict import find_leaves
from treewise.train.edit import estimate
from treewise.train.grow import ROLES, OnPrepared, grow_training_set, note_leakage, prepare, resolve_n_jobs
from treewise.train.optimal.problem import OBJECTIVES, OptimalProblem, check_objective, with_searchable_splits
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import DTYPES, STOPS, Arrays, split_entries
from treewise.tree.history import HistoryStep
from treewise.tree.splits import Split
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.prune.optimal_size import OptimalSizes
    from treewise.train.optimal.alternatives import Alternatives

Status = Literal["proven", "stopped"]
_CRITERIA = {"error": "error", "cost": "error"}  # by which a node's impurity is shown; else the objective itself
OPTIONS = (*ROLES, "cost", "categorical", "missing", "n_jobs")
_MAX_BYTES = 1 << 29  # of solved nodes that are remembered


class SearchProgress(NamedTuple):
    """The progress of a search: the objective of its best tree, and a lower bound for all trees."""

    objective: float
    lower_bound: float
    seconds: float

    @property
    def gap(self) -> float:
        """How much better another tree may still be, as a share of the objective."""
        return (self.objective - self.lower_bound) / self.objective if self.objective else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class OptimalResult(Displayable):
    """The best tree that was found, and what is known about all others.

    >>> import treewise as tw
    >>> result = tw.optimal("distractor", max_depth=2)
    >>> result.status, result.objective, result.greedy_objective
    ('proven', 0.0, 0.25)
    """

    tree: Tree
    cost: int  # the objective of the tree, as an integer of the problem
    bound: int  # of every tree within the limits
    status: Status
    greedy: Tree  # grown greedily under the same limits, also by tests that are not searched
    greedy_objective: float
    seconds: float
    evaluated: int  # pairs of sides that were compared
    problem: OptimalProblem
    options: Mapping[str, Any]
    sizes: OptimalSizes | None = None  # what cross-validation compared, with pruning="cv"

    @property
    def objective(self) -> float:
        """The objective of the tree: the mean over the rows, plus the penalty for each leaf."""
        return self.problem.value(self.cost)

    @property
    def lower_bound(self) -> float:
        """What no tree within the limits is below, of those whose tests are searched."""
        return self.problem.value(self.bound)

    @property
    def gap(self) -> float:
        """How much better another tree may be, as a share of the objective; 0 if this one is proven best."""
        return SearchProgress(self.objective, self.lower_bound, 0.0).gap

    @property
    def is_proven(self) -> bool:
        """Whether no tree within the limits has a smaller objective, of those whose tests are searched.

        Sets of a column of more than eight levels are not searched, nor other tests than those by order with
        ``categorical="any"``; ``in_words`` then says so, and ``greedy`` may be better.
        """
        return self.status == "proven"

    def alternatives(
        self,
        k: int = 10,
        *,
        within: float | None = None,
        without: Sequence[str] = (),
        distinct: str = "columns",
    ) -> Alternatives:
        """Return the next best trees in the order of their objective, this one first.

        Each further tree does without at least one column of every tree before it (``distinct="columns"``), and is the
        best of those that do. ``within`` is the largest difference from the best objective; ``without`` names columns
        that no tree may test.

        >>> import treewise as tw
        >>> result = tw.optimal("penguins", "species", max_depth=2)
        >>> print(result.alternatives(2, without=["bill_depth_mm"]))
        The best trees, each without a column of every tree above it
        tree  objective  leaves  proven  differs %  columns
           1   0.017442       4  yes           0.0  island, bill_length_mm, flipper_length_mm
           2   0.040698       4  yes           5.2  island, bill_length_mm
        """
        from treewise.train.optimal.alternatives import find_alternatives

        return find_alternatives(self, k, within, without, distinct)

    def certificate(self, path: str | os.PathLike[str]) -> None:
        """Write a file by which anybody can check that no tree is better, or the bound, without treewise.

        ``treewise check-certificate FILE DATA``, or ``python check_certificate.py FILE DATA.csv``: 350 lines of Python
        without any library. Writing takes several times as long as the search, checking longer.

        >>> import os, tempfile
        >>> import treewise as tw
        >>> path = os.path.join(tempfile.mkdtemp(), "proof.json")
        >>> tw.optimal("distractor", max_depth=2).certificate(path)
        >>> tw.check_certificate(path, "distractor").in_words().split(", and ")[0]
        'The error of the tree in the file is 0 on 8 of 8 rows'
        """
        from treewise.train.optimal.certificate import save_certificate

        save_certificate(self, path)

    def result_table(self) -> ResultTable:
        """Return the conclusion, and the two trees in numbers."""
        columns = (
            ColumnSpec("tree"),
            ColumnSpec("leaves", "count"),
            ColumnSpec("depth", "count"),
            ColumnSpec("objective", "number"),
        )
        rows = [
            ("optimal" if self.is_proven else "best so far", self.tree.n_leaves, self.tree.depth, self.objective),
            ("greedy", self.greedy.n_leaves, self.greedy.depth, self.greedy_objective),
        ]
        return ResultTable("", columns, rows, above=(self.in_words(),), row_name="tree")

    def to_dict(self) -> dict[str, Any]:
        """Return the result in plain values; the trees in numbers."""
        return {
            "measure": self.problem.objective,
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "status": self.status,
            "max_depth": self.problem.max_depth,
            "max_leaf_nodes": self.problem.max_leaf_nodes,
            "penalty": self.problem.value(self.problem.penalty),
            "leaves": self.tree.n_leaves,
            "depth": self.tree.depth,
            "greedy_objective": self.greedy_objective,
            "greedy_leaves": self.greedy.n_leaves,
            "conclusion": self.in_words(),
        }

    def __str__(self) -> str:
        return f"{self.in_words()}\n\n{self.tree}"

    def in_words(self) -> str:
        """Say in one or two sentences how good the tree is, beside the greedy one.

        >>> import treewise as tw
        >>> print(tw.optimal("distractor", max_depth=2).in_words())
        This tree of 4 leaves misclassifies 0 of 8 rows (0.0 %), and no tree of depth 2 does better: proven. \
The greedy tree of that size misclassifies 2 (25.0 %).
        """
        own = self._amount(self.tree, self.objective)
        total = f" of {plural(len(self.problem.training_set), 'row')}" if self._counts_rows else ""
        own = own.replace(" (", f"{total} (", 1) if total else own
        leaves = plural(self.tree.n_leaves, "leaf", "leaves")
        sizes = "" if self.sizes is None else f" {self.sizes.in_words()}"
        return f"This tree of {leaves} {own}, {self._proof_in_words()} {self._greedy_in_words()}{sizes}"

    def _proof_in_words(self) -> str:
        none, gap = (
            f"and no tree {_size_in_words(self.problem)}{self.problem.family}",
            f"a gap of {100 * self.gap:.1f} %.",
        )
        if self.problem.penalty:
            per_leaf = format_rounded(self.problem.value(self.problem.penalty))
            total = f"sum of {_NAMES[self.problem.objective]} and penalty ({per_leaf} per leaf)"
            own = f"here {format_rounded(self.objective)}"
            if self.is_proven:
                return f"{none} has a lower {total}, {own}: proven."
            return f"{none} has a {total} below {self._bound_in_words()}, {own}: {gap}"
        if self.is_proven:
            return f"{none} does better: proven."
        return f"{none} goes below {self._bound_in_words()}: {gap}"

    def _greedy_in_words(self) -> str:
        is_same_size = self.greedy.n_leaves == self.tree.n_leaves
        name = f"The greedy tree {'of that size' if is_same_size else 'within these limits'}"
        if self.greedy_objective == self.objective:
            return f"{name} is as good."
        amount = self._amount(self.greedy, self.greedy_objective)
        if self.greedy_objective < self.objective:
            name += ", which also divides by other tests, is better: it"
        if not self.problem.penalty:
            return f"{name} {amount}."
        leaves = plural(self.greedy.n_leaves, "leaf", "leaves")
        return f"{name} {amount} with {leaves}, a sum of {format_rounded(self.greedy_objective)}."

    @property
    def _counts_rows(self) -> bool:
        return self.problem.objective == "error" and self.problem.training_set.weight_scale == 0

    def _amount(self, tree: Tree, objective: float) -> str:
        rows_objective = objective - tree.n_leaves * self.problem.value(self.problem.penalty)
        if self._counts_rows:
            errors = round(rows_objective * int(self.problem.training_set.weight.sum()))
            return f"misclassifies {errors:,} ({100 * rows_objective:.1f} %)"
        name = _NAMES[self.problem.objective]
        return f"has {'an' if name == 'error' else 'a'} {name} of {format_rounded(rows_objective)}"

    def _bound_in_words(self) -> str:
        if self._counts_rows and not self.problem.penalty:
            return f"{round(self.lower_bound * int(self.problem.training_set.weight.sum())):,}"
        return format_rounded(self.lower_bound)


_NAMES = {
    "error": "error",
    "cost": "mean cost",
    "squared_error": "mean squared error",
    "entropy": "mean entropy",
    "gini": "mean gini impurity",
}


def optimal(
    data: Any,
    target: Any = None,
    *,
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    penalty: float = 0.0,
    objective: str | None = None,
    pruning: Any = None,
    time_limit: float | None = None,
    progress: Callable[[SearchProgress], None] | None = None,
    on_prepared: OnPrepared | None = None,
    **options: Any,
) -> OptimalResult:
    """Find the tree of least training objective under limits on its size, and prove it or state a bound.

    Numbers are cut between any two neighbouring values; nothing is binarised. Categories are divided into any two sets,
    one level against the others where they have more than eight, or by their order; missing values take the better
    side, or are told apart. Where greedy growth may ask more (sets of many levels), the conclusion names the tests that
    were searched, and the greedy tree beside the result may be better.

    >>> import treewise as tw
    >>> result = tw.optimal("penguins", "species", max_depth=2)
    >>> print(result.in_words())
    This tree of 4 leaves misclassifies 6 of 344 rows (1.7 %), and no tree of depth 2 does better: proven. \
The greedy tree of that size misclassifies 13 (3.8 %).

    Parameters
    ----------
    data, target : as in ``grow``.
    max_depth, max_leaf_nodes : the size of the trees that are compared. One of them is needed.
    penalty : added to the objective for each leaf, in its unit: with 0.01, a leaf must pay for itself by 1 % of the
        rows.
    objective : ``"error"``, ``"cost"`` (with ``cost``), ``"entropy"`` or ``"gini"`` for classes, ``"squared_error"``
        for numbers. Default: the error, the cost if there are costs, the squared error.
    pruning : ``"cv"`` chooses depth and penalty, up to ``max_depth`` and from ``penalty`` on, by cross-validation:
        what it compared is ``result.sizes``. A dict gives options, as in ``grow``: ``{"method": "cv", "rule": "best",
        "folds": 5, "repeats": 3, "loss": "log_loss"}``.
    time_limit : seconds for each search; then the best tree is returned with its gap. Ctrl-C does the same at any time.
    progress : called several times a second with the best objective, the bound and the time.
    on_prepared : called with the training set before the search begins.
    options : those of ``grow`` that describe the table: ``kinds``, ``ignore``, ``columns``, ``na_values``,
        ``sample_weight``, ``class_weight``, ``cost``, ``positive``, …; ``categorical``, ``n_jobs``. The result does not
        depend on ``n_jobs``.
    """
    refuse_unknown(options, OPTIONS, "help(treewise.optimal)")
    n_jobs = options.pop("n_jobs", None)
    training_set, objective = prepare_search(data, target, objective, options)
    if on_prepared is not None:
        on_prepared(training_set)
    problem = OptimalProblem.of(training_set, objective, max_depth, max_leaf_nodes, penalty)
    if time_limit is not None:
        check_number("time_limit", time_limit, 0.0, math.inf)
    if pruning is not None:
        from treewise.prune.optimal_size import choose_size

        return choose_size(problem, pruning, {"time_limit": time_limit, "n_jobs": n_jobs})
    return solve(problem, time_limit=time_limit, n_jobs=n_jobs, progress=progress)


def prepare_search(
    data: Any, target: Any, objective: str | None, options: Mapping[str, Any]
) -> tuple[TrainingSet, str]:
    """Prepare a table for ``OptimalProblem``; also return the objective, by default that of the target."""
    if objective is not None:
        check_choice("objective", objective, OBJECTIVES)
    return choose_objective(prepare(data, target, **options), objective)


def choose_objective(training_set: TrainingSet, objective: str | None) -> tuple[TrainingSet, str]:
    """Return a training set with the splits that can be searched, and the objective: by default that of the target."""
    training_set = with_searchable_splits(training_set)
    if objective is None:
        by_task = {"classification": "error", "regression": "squared_error"}
        objective = "cost" if training_set.fit_options.cost is not None else by_task[training_set.target.task]
    check_objective(objective, training_set)
    settings = replace(training_set.settings, criterion=_CRITERIA.get(objective, objective))
    return replace(training_set, settings=settings), objective


def solve(
    problem: OptimalProblem,
    *,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    progress: Callable[[SearchProgress], None] | None = None,
    incumbent: Tree | None = None,
    without: Sequence[str] = (),
) -> OptimalResult:
    """Search for the best tree of a prepared problem, from a greedy tree or a better one that is known."""
    began = time.monotonic()
    greedy = known = grow_greedily(problem, n_jobs)
    greedy_cost = known_cost = tree_cost(problem, greedy)
    if problem.family:  # the greedy tree may ask what the search leaves out
        greedy = grow_greedily(problem, n_jobs, all_tests=True)
        greedy_cost = tree_cost(problem, greedy)
    if incumbent is not None and (cost := tree_cost(problem, incumbent)) < known_cost:
        known, known_cost = incumbent, cost

    def report(best: int | None, bound: int) -> bool:
        seconds = time.monotonic() - began
        if progress is not None:
            best = known_cost if best is None else min(best, known_cost)
            progress(SearchProgress(problem.value(best), problem.value(min(bound, best)), seconds))
        return time_limit is None or seconds < time_limit

    found_tree = _core.solve_optimal(
        **problem.arguments(),
        n_threads=resolve_n_jobs(n_jobs),
        incumbent=known_cost,
        max_bytes=_MAX_BYTES,
        without=list(without),
        progress=report,
    )
    cost, bound, is_proven = found_tree["objective"], found_tree["lower_bound"], found_tree["proven"]
    details = {
        "objective": problem.objective,
        "penalty": problem.value(problem.penalty),
        "proven": bool(is_proven),
    }
    n_leaves = sum(order < 0 for order, _ in found_tree["nodes"])
    if n_leaves and (cost, n_leaves) <= (known_cost, known.n_leaves):
        tree = build_tree(problem, found_tree["nodes"], details)
    else:
        tree, cost = _record(known, problem, details), known_cost
    tree = tree.with_(notes=(*tree.notes, *(note for note in note_leakage(greedy) if note not in tree.notes)))
    return OptimalResult(
        tree=tree,
        cost=cost,
        bound=cost if is_proven else min(bound, cost),
        status="proven" if is_proven else "stopped",
        greedy=greedy,
        greedy_objective=problem.value(greedy_cost),
        seconds=time.monotonic() - began,
        evaluated=found_tree["evaluated"],
        problem=problem,
        options={"time_limit": time_limit, "n_jobs": n_jobs},
    )


def grow_greedily(problem: OptimalProblem, n_jobs: int | None = None, *, all_tests: bool = False) -> Tree:
    """Grow the greedy tree under the limits of a problem: by entropy, as ``grow`` does by default.

    By the tests that are searched, or by all tests that may be asked.
    """
    training_set = problem.training_set
    default = "entropy" if training_set.target.task == "classification" else "squared_error"
    limits = {"selection": "gain", "min_level_rows": 1, "max_leaf_nodes": None, **_limits(problem)}
    columns = sorted({order.column for order in problem.orders})
    kept = replace(
        training_set,
        settings=replace(training_set.settings, criterion=default, **limits),
        encodings=tuple(training_set.encodings[i] for i in columns),
        columns=tuple(training_set.columns[i] for i in columns),
        split_kinds=tuple(training_set.split_kinds[i][: None if all_tests else 1] for i in columns),
    )
    return grow_training_set(kept, n_jobs=n_jobs)


def tree_cost(problem: OptimalProblem, tree: Tree) -> int:
    """Return the objective of a tree on the training rows, as an integer of the problem."""
    names = {
        encoding.name: values
        for encoding, values in zip(problem.training_set.encodings, problem.training_set.columns, strict=True)
    }
    columns = tuple(names[encoding.name] for encoding in tree.encodings)
    return problem.tree_cost(find_leaves(tree, columns, len(problem.training_set)))


# -- the tree ----------------------------------------------------------------------------------------------------------


class PlacedSplit(NamedTuple):
    """A node: its split, or why it is a leaf."""

    split: Split | None
    parent: int
    depth: int
    rows: npt.NDArray[np.int64]
    stop: str = ""


def build_tree(problem: OptimalProblem, nodes: Sequence[tuple[int, int]], details: Mapping[str, Any]) -> Tree:
    """Return the tree of a solution: ``nodes`` are (order, rank) in pre-order, -1 at leaves."""
    training_set = problem.training_set
    placed = place_nodes(problem, nodes)
    return tree_of_splits(training_set, placed, _step(problem, details))


def tree_of_splits(training_set: TrainingSet, placed: Sequence[PlacedSplit], step: HistoryStep) -> Tree:
    """Return the tree of some splits in pre-order, with the statistics of the training rows."""
    tree = Tree(
        training_set.encodings,
        training_set.target,
        _write_arrays(training_set, placed),
        str(training_set.settings.criterion),
        training_set.settings.empty_branch,
        history=(step,),
    )
    return replace(estimate(tree, training_set, {"did": "refit"}), history=(step,))


def place_nodes(problem: OptimalProblem, nodes: Sequence[tuple[int, int]]) -> list[PlacedSplit]:
    """Return the splits of a solution in the order of the tree, with the rows of each node."""
    return list(_place_splits(problem, _parse(iter(nodes)), np.arange(len(problem.training_set))))


class _Parsed(NamedTuple):
    order: int
    rank: int
    left: _Parsed | None = None
    right: _Parsed | None = None


def _parse(remaining: Iterator[tuple[int, int]]) -> _Parsed:
    order, rank = next(remaining)
    if order < 0:
        return _Parsed(-1, -1)
    left = _parse(remaining)
    return _Parsed(order, rank, left, _parse(remaining))


def _place_splits(
    problem: OptimalProblem, parsed: _Parsed, rows: npt.NDArray[np.int64], parent: int = -1, depth: int = 0
) -> Iterator[PlacedSplit]:
    """Yield the nodes in the order of the tree: branches may be swapped (``OptimalProblem.split_rows``)."""
    stack = [(parsed, rows, -1, 0)]
    n_placed = 0
    while stack:
        node, rows, parent, depth = stack.pop()
        number, n_placed = n_placed, n_placed + 1
        if node.order < 0:
            yield PlacedSplit(None, parent, depth, rows, _why_leaf(problem, rows, depth))
            continue
        split, first, second = problem.split_rows(node.order, node.rank, rows)
        yield PlacedSplit(split, parent, depth, rows)
        assert node.left is not None
        assert node.right is not None
        is_left_first = bool((problem.ranks[node.order][first[:1]] <= node.rank).all())
        branches = (node.left, node.right) if is_left_first else (node.right, node.left)
        stack += [(branches[1], second, number, depth + 1), (branches[0], first, number, depth + 1)]


def _write_arrays(training_set: TrainingSet, placed: Sequence[PlacedSplit]) -> Arrays:
    names = {encoding.name: i for i, encoding in enumerate(training_set.encodings)}
    columns: dict[str, list[Any]] = {name: [] for name in DTYPES}
    columns["code_start"].append(0)
    columns["count_start"].append(0)
    is_regression = training_set.target.task == "regression"
    for node in placed:
        entries: dict[str, Any] = {
            "parent": node.parent, "kind": 0, "column": -1, "cut": 0.0, "cut_int": 0, "missing": -1, "other": -1,
            "codes": [], "stop": 0, "rows": 0, "missing_rows": 0, "weight": 0.0, "impurity": 0.0, "gain": 0.0,
        }  # fmt: skip
        if node.split is None:
            entries["stop"] = STOPS.index(node.stop)
        else:
            column = names[node.split.column]
            encoding = training_set.encodings[column]
            entries |= split_entries(
                node.split, column, encoding, {level: i for i, level in enumerate(encoding.levels)}
            )
        columns["codes"] += entries.pop("codes")
        entries |= {"value": np.nan, "spread": 0.0} if is_regression else {"label": 0}
        entries |= {"code_start": len(columns["codes"]), "count_start": 0}
        for name, value in entries.items():
            columns[name].append(value)
    return Arrays(**{name: np.array(values, DTYPES[name]) for name, values in columns.items()})


def _why_leaf(problem: OptimalProblem, rows: npt.NDArray[np.int64], depth: int) -> str:
    targets = problem.target[rows]
    if len(targets) and (targets == targets[0]).all():
        return "pure"
    return "max_depth" if depth >= problem.max_depth else "min_impurity_decrease"


def _step(problem: OptimalProblem, details: Mapping[str, Any]) -> HistoryStep:
    training_set = problem.training_set
    return HistoryStep(
        {
            "did": "grow",
            "treewise": __version__,
            "rows": len(training_set),
            "settings": training_set.settings.non_default_values() | _limits(problem),
            "optimal": dict(details),
            **training_set.fit_options.to_step(),
        }
    )


def _record(tree: Tree, problem: OptimalProblem, details: Mapping[str, Any]) -> Tree:
    """Return a known tree that the search did not improve, with the record of the search."""
    return replace(tree, history=(_step(problem, details),))


def _limits(problem: OptimalProblem) -> dict[str, Any]:
    """Return the limits on size as settings; the one on leaves if depth does not imply it."""
    binds = problem.max_leaf_nodes < 1 << min(problem.max_depth, 20)
    return {"max_depth": problem.max_depth} | ({"max_leaf_nodes": problem.max_leaf_nodes} if binds else {})


def _size_in_words(problem: OptimalProblem) -> str:
    depth, leaves = problem.max_depth, problem.max_leaf_nodes
    if leaves < 1 << min(depth, 20):
        deep = f" and depth {depth}" if depth < leaves - 1 else ""
        return f"of {plural(leaves, 'leaf', 'leaves')}{deep}"
    return f"of depth {depth}"
