"""``grow(search="lookahead")``: the best tree of depth two or three near the root, greedy growth below.

As SPLIT (Babbar et al. 2025), on raw columns: near the root few tests decide much, and there greedy growth goes wrong
where columns matter only together. The search of ``optimal.py`` runs on some cuts of every column, then on finer cuts
around those that it chose, on at most 20,000 rows; below its leaves the tree grows greedily. Of the greedy tree and
these, the one with the smallest training objective is returned, so none is worse than the greedy one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewise import _core
from treewise._lib.text import format_rounded
from treewise.errors import ParameterError
from treewise.predict.predict import find_leaves
from treewise.train.canonical_rows import canonical_order
from treewise.train.grow import grow_step, grow_training_set, resolve_n_jobs
from treewise.train.optimal.optimal import PlacedSplit, place_nodes, tree_cost, tree_of_splits
from treewise.train.optimal.problem import OptimalProblem, with_searchable_splits
from treewise.train.resampling import take_rows
from treewise.train.settings import Settings
from treewise.train.training_set import TrainingSet
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree

_MAX_ROWS = 20_000  # on which the cuts near the root are chosen
_FEW_CELLS = 60_000  # orders times rows of a small table
_SMALL, _LARGE = (64, 24, 3), (12, 12, 2)  # cuts of a column: at first, around each chosen one; rounds
_MOST_CELLS = 1_000_000  # orders times rows for which depth three is searched
_SLOW_ROWS = 1_000  # squared error and more than two classes with costs: no vectorised scan
MEASURES = {"error": "training error", "cost": "training cost", "squared_error": "mean squared training error"}
_UNLIMITED = (
    "min_samples_split", "min_samples_leaf", "max_leaf_nodes", "min_weight_fraction_leaf", "min_impurity_decrease",
    "sufficient_accuracy", "monotone", "interactions", "feature_costs", "max_features", "splitter", "alpha", "ties",
)  # fmt: skip


def grow_lookahead(training_set: TrainingSet, n_jobs: int | None = None) -> Tree:
    """Grow a tree greedily and with look-ahead, and return the better one, with a note on what changed."""
    _check_settings(training_set.settings)
    greedy = grow_training_set(training_set, n_jobs=n_jobs)
    depth = training_set.settings.max_depth
    if depth is not None and depth < 2:
        return _noted(greedy, training_set, "look-ahead: a tree of one test has nothing to look ahead to")
    objective = _objective(training_set)
    searchable = with_searchable_splits(training_set)
    whole = OptimalProblem.of(searchable, objective, 60, None, 0.0)
    best, best_cost = greedy, tree_cost(whole, greedy)
    greedy_cost = best_cost
    rows = _sample(training_set, _MAX_ROWS if objective != "squared_error" else _SLOW_ROWS)
    for horizon in (2, 3):
        is_large = len(whole.orders) * len(rows) > _MOST_CELLS or objective == "squared_error"
        if (depth is not None and horizon > depth) or (horizon == 3 and is_large):
            break
        tree = _grow_below(whole, _search_near_root(whole, rows, horizon, n_jobs), training_set, n_jobs)
        if (cost := tree_cost(whole, tree)) < best_cost:
            best, best_cost = tree, cost
    if best is greedy:
        return _noted(greedy, training_set, "look-ahead: no better than greedy growth, which is kept")
    was, now = (tree[0].split for tree in (greedy, best))
    changed = "another root" if was != now else "the same root, other tests below"
    figures = " → ".join(format_rounded(whole.value(cost)) for cost in (greedy_cost, best_cost))
    return _noted(best, training_set, f"look-ahead: {changed}; {MEASURES[objective]} {figures}, beside the greedy tree")


class LookAheadGain(NamedTuple):
    """The training objective of the rows of a node, as the mean per weight."""

    objective: str
    in_tree: float
    greedily: float  # grown greedily from that node on


def measure_gain(tree: Tree, node: int, training_set: TrainingSet, rows: npt.NDArray[np.int64]) -> LookAheadGain:
    """Compare the subtree below a node of a tree with the greedy one, on the rows of that node."""
    part, settings = take_rows(training_set, rows), training_set.settings
    rest = None if settings.max_depth is None else settings.max_depth - int(tree.depths[node])
    greedy = grow_training_set(replace(part, settings=replace(settings, max_depth=rest)))
    objective = _objective(training_set)
    problem = OptimalProblem.of(part, objective, 60, None, 0.0, columns=())
    costs = [problem.value(problem.tree_cost(find_leaves(t, part.columns, len(part)))) for t in (tree, greedy)]
    return LookAheadGain(objective, *costs)


def _objective(training_set: TrainingSet) -> str:
    if training_set.fit_options.cost is not None:
        return "cost"
    return "error" if training_set.target.task == "classification" else "squared_error"


def _check_settings(settings: Settings) -> None:
    for name in _UNLIMITED:
        default = Settings.__dataclass_fields__[name].default
        if getattr(settings, name) != default:
            raise ParameterError(
                "the search near the root knows no such limit.",
                parameter=name,
                value=getattr(settings, name),
                hint="Leave it out, or grow greedily.",
            )


def _noted(tree: Tree, training_set: TrainingSet, note: str) -> Tree:
    step = HistoryStep(grow_step(training_set) | {"search": "lookahead"})
    return tree.with_(notes=(*tree.notes, note), history=(step,))


def _sample(training_set: TrainingSet, most: int) -> npt.NDArray[np.int64]:
    """Return the rows that are searched: all, or as many as allowed, whatever their order in the table."""
    n = len(training_set)
    if n <= most:
        return np.arange(n)
    order = canonical_order(training_set, np.asarray(training_set.weight)).astype(np.int64)
    return np.sort(order[:most])


def _search_near_root(
    whole: OptimalProblem, rows: npt.NDArray[np.int64], depth: int, n_jobs: int | None
) -> list[tuple[int, int]]:
    """Return the best tree of some rows and cuts, as (order, rank) in pre-order."""
    ranks = whole.ranks[:, rows]
    n_coarse, n_fine, n_rounds = _SMALL if ranks.size <= _FEW_CELLS else _LARGE
    kept = [_spread(np.sort(rank[rank < rank.max()]), n_coarse) for rank in ranks]
    nodes, known = [(-1, -1)], None
    for _ in range(n_rounds):
        coarse = [np.searchsorted(cuts, rank, "left") for cuts, rank in zip(kept, ranks, strict=True)]
        arguments = whole.arguments() | {
            "ranks": np.array(coarse, np.int32).reshape(ranks.shape),
            "target": np.ascontiguousarray(whole.target[rows]),
            "weight": np.ascontiguousarray(whole.weight[rows]),
            "max_depth": depth,
            "max_leaves": 1 << depth,
        }
        solved = _core.solve_optimal(**arguments, n_threads=resolve_n_jobs(n_jobs), incumbent=known)
        if solved["nodes"]:
            nodes = [(order, int(kept[order][rank]) if order >= 0 else -1) for order, rank in solved["nodes"]]
        if solved["objective"] == known:
            break
        known = solved["objective"]
        kept = [
            _refine(cuts, rank, [cut for order, cut in nodes if order == number], n_fine)
            for number, (cuts, rank) in enumerate(zip(kept, ranks, strict=True))
        ]
    return nodes


def _spread(cuts: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    """Return some cuts out of a sorted list, evenly, each once."""
    if len(cuts) == 0:
        return np.zeros(0, np.int64)
    return np.unique(cuts[np.unique(np.linspace(0, len(cuts) - 1, most).astype(np.int64))])


def _refine(cuts: npt.NDArray[Any], rank: npt.NDArray[Any], chosen: Sequence[int], most: int) -> npt.NDArray[Any]:
    """Add finer cuts between the neighbours of those that were chosen."""
    finer = [cuts]
    for cut in chosen:
        low = cuts[cuts < cut].max(initial=-1)
        high = cuts[cuts > cut].min(initial=int(rank.max()))
        finer.append(_spread(np.arange(low + 1, high), most))
    return np.unique(np.concatenate(finer)).astype(np.int64)


def _grow_below(
    whole: OptimalProblem, nodes: Sequence[tuple[int, int]], training_set: TrainingSet, n_jobs: int | None
) -> Tree:
    """Return the tree of some splits near the root with greedy subtrees below its leaves."""
    settings, placed = training_set.settings, list[PlacedSplit]()
    number_of: dict[int, int] = {}
    for top, node in enumerate(place_nodes(whole, nodes)):
        parent = number_of.get(node.parent, -1)
        number_of[top] = len(placed)
        if node.split is not None:
            placed.append(node._replace(parent=parent))
            continue
        rest = None if settings.max_depth is None else settings.max_depth - node.depth
        own = replace(take_rows(training_set, node.rows), settings=replace(settings, max_depth=rest))
        subtree, first = grow_training_set(own, n_jobs=n_jobs), len(placed)
        for number in range(len(subtree)):
            above = parent if number == 0 else first + int(subtree.arrays.parent[number])
            placed.append(PlacedSplit(subtree[number].split, above, 0, node.rows[:0], subtree[number].stop))
    step = HistoryStep(grow_step(training_set))
    return tree_of_splits(training_set, placed, step)
