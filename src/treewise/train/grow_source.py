"""Grow a tree on a statistics source: level by level, or in batches of the best-first frontier.

The counterpart of the core's growth loop (``src/core/grow/grower.hpp``) for rows that are elsewhere. A node is searched
by ``bin_search.py``, which decides with the code of the specification; this file keeps the nodes, asks the source
for all open nodes at once, and writes the tree's arrays. The tree is the one that ``grow`` finds in memory.

A source may bring the rows of a node together: once they fit into the memory of one process, the core grows the subtree
there, many times faster than counts are sent (PLANET does the same: Panda, Herbach, Basu and Bayardo, VLDB 2009, 3.2).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from treewise._lib import rng
from treewise.errors import DataError, ParameterError
from treewise.train.bin_search import BinScorer, NodeBins, finer_grids, first_grid
from treewise.train.constraints import UNCONSTRAINED, NodeConstraints, predicted_value
from treewise.train.criteria import RowStats
from treewise.train.fixed_point import node_target_scale
from treewise.train.grow import finish_tree
from treewise.train.price import deviation_shift
from treewise.train.reference import Candidate, impurity_decrease, leaf_condition_of
from treewise.train.source import (
    BinGrid,
    Bins,
    Request,
    Source,
    Subtree,
    SubtreeStart,
    TargetRange,
    TrainingSummary,
)
from treewise.train.summary import check_source_criterion
from treewise.train.training_set import name_quartiles
from treewise.tree.arrays import DTYPES, STOPS, Arrays, split_entries
from treewise.tree.splits import Ordinal, Threshold
from treewise.tree.tree import Tree

Progress = Callable[[float], None]
_BATCH = 16  # best-first: nodes whose children are counted together


@dataclass(eq=False)
class GrowingNode:
    """A node while the tree grows."""

    stats: RowStats
    key: int  # of its random draws
    depth: int = 0
    parent: int = -1
    path: tuple[int, ...] = ()  # best-first: branch numbers from the root, to compare nodes in pre-order
    constraints: NodeConstraints = UNCONSTRAINED
    target_range: TargetRange | None = None
    stop: str = ""
    value: float = math.nan
    spread: float = 0.0
    impurity: float = 0.0
    gain: float = 0.0
    priority: tuple[bool, int, float] = (False, 0, 0.0)
    sum_of_squares: int | None = None
    best: Candidate | None = None
    children: list[int] = field(default_factory=list)
    subtree: Arrays | None = None  # grown by the core; its first node is this one again


def check_source_settings(summary: TrainingSummary) -> None:
    """Raise for options that cannot be decided from additive statistics."""
    settings = summary.settings
    check_source_criterion(summary.criterion)
    refused: list[tuple[str, Any, bool]] = [
        ("selection", settings.selection, settings.selection == "test"),
        ("splitter", settings.splitter, settings.splitter == "random"),
        ("max_features", settings.max_features, settings.features_of(len(summary.encodings)) < len(summary.encodings)),
    ]
    for name, value, is_refused in refused:
        if is_refused:
            raise ParameterError(
                "is not available where the rows are elsewhere.",
                parameter=name,
                value=value,
                hint="Leave it out, or grow in memory.",
            )


def grow_on(source: Source, progress: Progress | None = None) -> Tree:
    """Grow a tree on a source; ``progress`` receives the share of rows that have reached a leaf."""
    grower = SourceGrower(source, progress)
    if source.summary.n_rows <= source.most_rows:
        arrays, quartile_list = grower.grow_at_once()
    else:
        quartile_list = grower.quartiles()
        arrays = grower.grow()
    quartiles = name_quartiles(source.summary.encodings, quartile_list)
    for name in DTYPES:
        getattr(arrays, name).flags.writeable = False
    return finish_tree(source.summary, arrays, quartiles)


class SourceGrower:
    """Grows one tree on a source."""

    def __init__(self, source: Source, progress: Progress | None = None) -> None:
        check_source_settings(source.summary)
        self.source, self.summary, self.progress = source, source.summary, progress
        self.nodes = [GrowingNode(self.summary.root, rng.mix64(0, self.summary.settings.random_state))]
        self.codes = [{level: code for code, level in enumerate(e.levels)} for e in self.summary.encodings]
        self.n_leaves = 1
        self.at_root: dict[int, Bins] = {}  # the columns of numbers, counted for the quartiles

    @cached_property
    def ranges(self) -> Sequence[tuple[Any, Any] | None]:
        """The smallest and the largest value of each column of numbers; None for the other columns."""
        return self.source.ranges()

    def _first_grids(self, n_nodes: int) -> list[tuple[BinGrid, ...] | None]:
        """Return the bins in which each column of numbers is counted first; None for the other columns."""
        most = self.source.most_first_bins(n_nodes)
        return [None if ends is None else first_grid(*ends, most) for ends in self.ranges]

    def grow_at_once(self) -> Subtree:
        """Grow the whole tree where the rows are brought together."""
        if self.progress is not None:
            self.progress(0.0)
        return self._grow_subtrees([0])[0]

    def grow(self) -> Arrays:
        """Grow the tree and return its arrays, numbered in pre-order."""
        if self.progress is not None:
            self.progress(0.0)
        self._prepare([0])
        self._search([0])
        if self.summary.settings.max_leaf_nodes is None:
            level = [0]
            while level := self._split_all([node for node in level if self.nodes[node].best is not None]):
                self._report()
        else:
            self._grow_best_first(self.summary.settings.max_leaf_nodes)
        order = self._preorder()
        subtrees = {i: subtree for i, node in enumerate(order) if (subtree := self.nodes[node].subtree) is not None}
        return _insert_subtrees(self._arrays(order), subtrees) if subtrees else self._arrays(order)

    def _report(self) -> None:
        """Report the share of the rows that have reached a leaf."""
        if self.progress is not None:
            n_rows_done = sum(node.stats.rows for node in self.nodes if not node.children and node.best is None)
            self.progress(n_rows_done / max(1, self.summary.n_rows))

    # -- the order of growth -----------------------------------------------------------------------------------------

    def _split_all(self, nodes: Sequence[int]) -> list[int]:
        """Split nodes and search all of their children at once; return the children."""
        for node in nodes:
            self._split(node)
        children = [child for node in nodes for child in self.nodes[node].children]
        self._prepare(children)
        for node in nodes:
            self._constrain_children(node)
        still_open = [child for child in children if not self.nodes[child].stop]
        small = self._list_small(still_open)
        self._search([child for child in still_open if child not in small])
        for child, subtree in zip(small, self._grow_subtrees(small), strict=True):
            self.nodes[child].subtree = self._fill_empty_nodes(subtree.arrays)
        return children

    def _list_small(self, numbers: Sequence[int]) -> list[int]:
        """Return the nodes whose rows may be brought together; best-first growth compares all nodes with each other."""
        if self.summary.settings.max_leaf_nodes is not None:
            return []
        return [number for number in numbers if self.nodes[number].stats.rows <= self.source.most_rows]

    def _fill_empty_nodes(self, subtree: Arrays) -> Arrays:
        """Let nodes without rows predict what the root of the whole tree predicts, if that is wanted."""
        if self.summary.settings.empty_branch != "root":
            return subtree
        root, is_empty = self._entries(0), subtree.rows == 0
        named = {
            name: np.where(is_empty, root[name], getattr(subtree, name)) for name in ("label", "value") if name in root
        }
        return replace(subtree, **{name: array.astype(DTYPES[name]) for name, array in named.items()})

    def _grow_subtrees(self, numbers: Sequence[int]) -> list[Subtree]:
        """Let the source grow what is below some nodes."""
        if not numbers:
            return []
        starts = [
            SubtreeStart(number, node.stats.rows, node.depth, node.key, node.constraints)
            for number in numbers
            for node in (self.nodes[number],)
        ]
        return self.source.grow_subtrees(self._arrays(range(len(self.nodes))), starts)

    def _grow_best_first(self, max_leaves: int) -> None:
        """Split the node of the largest gain next; the children of the next few are counted together, ahead of time."""
        frontier = [self._heap_entry(0)] if self.nodes[0].best is not None else []
        while frontier:
            _, _, node = heapq.heappop(frontier)
            best = self.nodes[node].best
            assert best is not None
            if self.n_leaves + best.split.n_branches - 1 > max_leaves:
                for left in (node, *(entry[-1] for entry in frontier)):
                    self.nodes[left].stop, self.nodes[left].best, self.nodes[left].children = "max_leaf_nodes", None, []
                break
            if not self.nodes[node].children:
                next_best = [n for _, _, n in heapq.nsmallest(_BATCH - 1, frontier) if not self.nodes[n].children]
                self._split_all([node, *next_best[: max(0, max_leaves - self.n_leaves - 1)]])
                self._report()
            self.n_leaves += best.split.n_branches - 1
            for child in self.nodes[node].children:
                if self.nodes[child].best is not None:
                    heapq.heappush(frontier, self._heap_entry(child))

    def _heap_entry(self, node: int) -> tuple[Any, tuple[int, ...], int]:
        growing = self.nodes[node]
        return tuple(-part for part in growing.priority), growing.path, node

    # -- one level ---------------------------------------------------------------------------------------------------

    def _split(self, number: int) -> None:
        """Make the children of a node, whose statistics follow from its split."""
        node = self.nodes[number]
        assert node.best is not None
        is_best_first = self.summary.settings.max_leaf_nodes is not None
        for branch, stats in enumerate(node.best.branches):
            path = (*node.path, branch) if is_best_first else ()
            node.children.append(len(self.nodes))
            self.nodes.append(GrowingNode(stats, rng.mix64(node.key, branch), node.depth + 1, number, path))

    def _prepare(self, numbers: Sequence[int]) -> None:
        """Find what nodes predict, and which of them are leaves."""
        filled = [number for number in numbers if self.nodes[number].stats.rows]
        if filled and self.summary.target.task == "regression":
            self._find_target_ranges(filled)
        for number in numbers:
            node = self.nodes[number]
            is_constant = node.target_range is not None and node.target_range.raw_low == node.target_range.raw_high
            node.stop = leaf_condition_of(self.summary, node.stats, node.depth, is_constant)
            if not node.stats.rows:
                continue
            if node.target_range is None:
                measure = self.summary.criterion.impurity_at(node.stats)
                impurity = float(measure.total_impurity(node.stats))
                node.impurity = impurity * measure.unit_value / float(node.stats.weight)
                if len(node.stats.counts) == 2:
                    node.value = predicted_value(self.summary, node.stats)
            else:
                node.value = node.target_range.raw_low if is_constant else predicted_value(self.summary, node.stats)

    def _find_target_ranges(self, numbers: Sequence[int]) -> None:
        """Ask for the range of the targets of nodes and for their squares about the mean (regression)."""
        tree = self._arrays(range(len(self.nodes)))
        centres = {}
        for number, target_range in zip(numbers, self.source.target_ranges(tree, numbers), strict=True):
            node = self.nodes[number]
            node.target_range = target_range
            node.stats = node.stats._replace(low=target_range.low, high=target_range.high)
            self._check_scale(target_range)
            if target_range.low < target_range.high:
                centres[number] = node.stats.target_sum // node.stats.weight, deviation_shift(node.stats)
            else:
                node.sum_of_squares = 0
        for number, (deviations, squares) in (self.source.moments(tree, centres) if centres else {}).items():
            node, shift = self.nodes[number], centres[number][1]
            weight, node.sum_of_squares = float(node.stats.weight), squares
            mean = float(deviations) / weight
            variance = max(0.0, float(squares) / weight - mean * mean)
            exponent = shift - self.summary.target_scale
            node.impurity = _scale(variance, 2 * exponent)
            node.spread = _scale(math.sqrt(variance), exponent)

    def _check_scale(self, target_range: TargetRange) -> None:
        """Refuse targets so different that a node would need a finer scale (``fixed_point.node_target_scale``)."""
        largest, top = max(abs(target_range.raw_low), abs(target_range.raw_high)), self.summary.target_top
        if top is not None and largest and node_target_scale(top, largest) != self.summary.target_scale:
            raise DataError(
                f'target "{self.summary.target.name}": some nodes have targets a million times smaller than the'
                " largest, which needs rows in memory.",
                hint="Grow on the logarithm of the target, or leave the largest out.",
            )

    def _constrain_children(self, number: int) -> None:
        """Give the children of a node their constraints, and clip what they predict."""
        node = self.nodes[number]
        assert node.best is not None
        split, column = node.best.split, node.best.order.column
        values = [self.nodes[child].value for child in node.children]
        is_ordered = isinstance(split, Threshold | Ordinal)
        below = node.constraints.of_branches(self.summary.constraints[column], is_ordered, values)
        for child, constraints in zip(node.children, below, strict=True):
            self.nodes[child].constraints = constraints
            self.nodes[child].value = constraints.clip(self.nodes[child].value)

    def _search(self, numbers: Sequence[int]) -> None:
        """Find the best split of nodes: ask for coarse bins, then for finer ones where a better cut may hide."""
        numbers = [number for number in numbers if not self.nodes[number].stop]
        if not numbers:
            return
        tree = self._arrays(range(len(self.nodes)))
        searches = {number: NodeBins(self._scorer(number), number) for number in numbers}
        grids = self._first_grids(len(numbers))
        requests = [
            Request(number, column, grids[column] or ())
            for column in range(len(self.summary.encodings))
            for number in numbers
            if number or column not in self.at_root
        ]
        if 0 in searches:
            searches[0].columns |= self.at_root
        open_nodes = set(numbers)
        while open_nodes:
            for request, bins in zip(requests, self.source.count(tree, requests) if requests else (), strict=True):
                searches[request.node].add(request, bins)
            requests = [request for number in sorted(open_nodes) for request in searches[number].questions()]
            requests.sort(key=lambda request: (request.column, request.node))
            open_nodes = {request.node for request in requests}
        for number, search in searches.items():
            self._decide(number, search)

    def _scorer(self, number: int) -> BinScorer:
        node = self.nodes[number]
        measure = self.summary.criterion.impurity_at(node.stats)
        no_rows = np.empty(0, np.int64)
        return BinScorer(self.summary, no_rows, node.stats, measure, node.constraints, node.sum_of_squares)

    def _decide(self, number: int, search: NodeBins) -> None:
        node, scorer = self.nodes[number], search.scorer
        is_random = self.summary.settings.ties == "random"
        result = search.search(partial(rng.tie_key, node.key) if is_random else None)
        node.stop, node.best = result.reason, result.best
        if node.best is None:
            return
        node.gain = impurity_decrease(self.summary, scorer.measure, node.best.total_gain, node.stats.weight)
        if node.best.total_gain > 0:
            mantissa, exponent = math.frexp(float(node.best.total_gain) * scorer.measure.unit_value)
            rounded, carried = math.frexp(float(np.rint(math.ldexp(mantissa, 40))))
            scale = self.summary.criterion.degree * self.summary.target_scale
            node.priority = (True, exponent + carried - scale, rounded)

    # -- the arrays --------------------------------------------------------------------------------------------------

    def _preorder(self) -> list[int]:
        order, stack = [], [0]
        while stack:
            order.append(stack.pop())
            stack += reversed(self.nodes[order[-1]].children)
        return order

    def _arrays(self, order: Sequence[int]) -> Arrays:
        """Write nodes as arrays, numbered in this order; those without children yet are leaves."""
        position = {number: i for i, number in enumerate(order)}
        columns: dict[str, list[Any]] = {name: [] for name in DTYPES}
        columns["code_start"].append(0)
        columns["count_start"].append(0)
        for number in order:
            entries = self._entries(number)
            entries["parent"] = position.get(self.nodes[number].parent, -1)
            for name in ("codes", "count_class", "count_weight"):
                columns[name] += entries.pop(name)
            entries["code_start"], entries["count_start"] = len(columns["codes"]), len(columns["count_class"])
            for name, value in entries.items():
                columns[name].append(value)
        return Arrays(**{name: np.array(values, DTYPES[name]) for name, values in columns.items()})

    def _entries(self, number: int) -> dict[str, Any]:
        node, scale = self.nodes[number], -self.summary.weight_scale
        source = node if node.stats.rows else self.nodes[self._predicting(node)]
        entries: dict[str, Any] = {
            "kind": 0, "column": -1, "cut": 0.0, "cut_int": 0, "missing": -1, "other": -1, "codes": [],
            "stop": 0 if node.children else STOPS.index(node.stop), "rows": node.stats.rows, "missing_rows": 0,
            "weight": math.ldexp(float(node.stats.weight), scale), "impurity": node.impurity, "gain": 0.0,
            "count_class": [], "count_weight": [],
        }  # fmt: skip
        if node.best is not None and node.children:
            column = node.best.order.column
            entries |= split_entries(node.best.split, column, self.summary.encodings[column], self.codes[column])
            entries |= {"missing_rows": node.best.missing_rows, "gain": node.gain}
        if self.summary.target.task == "regression":
            return entries | {"value": source.value, "spread": node.spread}
        present = [(cls, weight) for cls, weight in enumerate(node.stats.counts) if weight]
        return entries | {
            "label": source.stats.counts.index(max(source.stats.counts)),
            "count_class": [cls for cls, _ in present],
            "count_weight": [math.ldexp(float(weight), scale) for _, weight in present],
        }

    def _predicting(self, node: GrowingNode) -> int:
        """Return the node whose prediction a node without rows uses."""
        return 0 if self.summary.settings.empty_branch == "root" else node.parent

    # -- the quartiles -----------------------------------------------------------------------------------------------

    def quartiles(self) -> list[tuple[Any, Any] | None]:
        """Return the weighted quartiles of each column of numbers; None for the others."""
        first = {column: grids for column, grids in enumerate(self._first_grids(1)) if grids is not None}
        requests = [Request(0, column, grids) for column, grids in first.items()]
        search = NodeBins(self._scorer(0), 0, self.at_root)
        while requests:
            for request, bins in zip(requests, self.source.count(self._arrays([0]), requests), strict=True):
                search.add(request, bins)
            requests = [
                Request(0, column, grids, is_first=False)
                for column in first
                if (grids := tuple(_open_quartiles(self.at_root[column])))
            ]
        return [_quartiles_of(self.at_root[column]) if column in first else None for column in range(len(self.ranges))]


def _insert_subtrees(tree: Arrays, subtrees: Mapping[int, Arrays]) -> Arrays:
    """Put subtrees in the places of leaves; the tree and the subtrees are in pre-order, and so is the result."""
    pieces, first = [], 0  # (arrays, first node, node after the last, parents by their new numbers)
    sizes = np.ones(len(tree), np.int64)
    for leaf, subtree in subtrees.items():
        sizes[leaf] = len(subtree)
    position = np.cumsum(sizes) - sizes
    parent = np.where(tree.parent >= 0, position[tree.parent], -1)
    for leaf in sorted(subtrees):
        below = subtrees[leaf].parent + position[leaf]
        below[0] = parent[leaf]
        pieces += [(tree, first, leaf, parent[first:leaf]), (subtrees[leaf], 0, len(subtrees[leaf]), below)]
        first = leaf + 1
    pieces.append((tree, first, len(tree), parent[first:]))
    joined: dict[str, Any] = {"parent": np.concatenate([parents for *_, parents in pieces])}
    for starts, items in (("code_start", ("codes",)), ("count_start", ("count_class", "count_weight"))):
        lengths = [np.diff(getattr(part, starts)[i : j + 1]) for part, i, j, _ in pieces]
        joined[starts] = np.append(0, np.cumsum(np.concatenate(lengths)))
        for name in items:
            cuts = [(getattr(part, starts)[i], getattr(part, starts)[j]) for part, i, j, _ in pieces]
            joined[name] = np.concatenate([getattr(p[0], name)[i:j] for p, (i, j) in zip(pieces, cuts, strict=True)])
    for array_field in fields(Arrays):
        if array_field.name not in joined:
            joined[array_field.name] = np.concatenate(
                [getattr(part, array_field.name)[i:j] for part, i, j, _ in pieces]
            )
    return Arrays(**joined)


def _scale(number: float, exponent: int) -> float:
    """Return number·2^exponent, infinite where it overflows, as the core has it."""
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        return math.inf


def _quartile_bins(bins: Bins) -> list[int]:
    """Return the bins in which the lower and the upper quartile are (``problem/quartiles.hpp``)."""
    cumulative = np.cumsum(bins.stats.weight)
    total = int(cumulative[-1])
    return [int(np.searchsorted(cumulative, required)) for required in ((total + 3) // 4, (3 * total + 3) // 4)]


def _open_quartiles(bins: Bins) -> list[BinGrid]:
    is_open = np.zeros(len(bins), bool)
    is_open[_quartile_bins(bins) if len(bins) else []] = True
    return list(finer_grids(bins, is_open & (bins.low < bins.high)))


def _quartiles_of(bins: Bins) -> tuple[Any, Any] | None:
    if not len(bins):
        return None
    low, high = _quartile_bins(bins)
    return bins.low[low].item() + 0, bins.low[high].item() + 0  # -0.0 becomes 0.0
