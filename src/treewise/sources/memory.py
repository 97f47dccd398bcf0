"""The source of encoded arrays: rows in memory, and what each partition of a cluster runs.

The core counts (``src/core/grow/bin_counter.hpp``); ``tests/support/numpy_source.py`` is the readable version. A
tree grown on this source is the tree of ``train/grow.py``, which is faster for tables in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from treewise import _core
from treewise.data import encoding as encode
from treewise.predict.predict import to_core_columns
from treewise.sources.frontier_counts import FrontierCounts
from treewise.train.candidates import compute_stats
from treewise.train.grow import core_columns, core_settings, core_target
from treewise.train.settings import SETTINGS
from treewise.train.source import (
    Array,
    Bins,
    Ints,
    Request,
    Source,
    Subtree,
    SubtreeStart,
    TargetRange,
    TrainingSummary,
)
from treewise.train.training_set import TrainingSet
from treewise.train.weights import Repeats
from treewise.tree.arrays import Arrays


def summarise(training_set: TrainingSet) -> TrainingSummary:
    """Return the summary of a training set in memory."""
    values = {name: getattr(training_set, name) for name in TrainingSet.__dataclass_fields__}
    y = training_set.y
    ends = (int(y.min()), int(y.max())) if training_set.target.task == "regression" else (0, 0)
    root = compute_stats(training_set, np.arange(len(training_set)))
    return TrainingSummary(**values | {"columns": ()}, n_rows=len(training_set), root=root, low=ends[0], high=ends[1])


class RowsAtNodes(NamedTuple):
    """Where the rows are in a tree; kept between two questions, to route them on from there."""

    tree: Arrays
    nodes: Ints
    order: Array  # the rows by node …
    starts: Ints  # … and where those of each node begin


@dataclass(eq=False)
class MemorySource(Source):
    """Encoded columns, integer targets and weights of all rows, or of one partition."""

    summary: TrainingSummary
    columns: Sequence[Array]
    y: Array  # classes as the core has them, or scaled targets
    weight: Ints
    raw: Array  # regression: the targets as given
    sample: Array | None = None  # the sample weights as given, for ensembles; None: 1 each
    n_jobs: int = 1
    most_rows: int = 0  # of a node whose subtree is grown at once
    at: RowsAtNodes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, training_set: TrainingSet) -> MemorySource:
        """Return a training set as a source."""
        t = training_set
        return cls(summarise(t), t.columns, t.y, t.weight, t.raw)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("core_columns", "core_target")}
        return kept | {"at": None}

    @cached_property
    def core_columns(self) -> list[_core.Column]:
        """The columns for the core."""
        return to_core_columns(self.summary.encodings, self.columns)

    @cached_property
    def core_target(self) -> _core.Target:
        """The target and the weights for the core."""
        s = self.summary
        scales = (s.target_scale, s.weight_scale, s.target_top)
        return _core.Target(self.y, self.raw, self.weight, len(s.target.classes), *scales)

    def ranges(self) -> list[tuple[Any, Any] | None]:
        """Return the smallest and the largest value of each column of numbers."""
        ends: list[tuple[Any, Any] | None] = []
        for encoding, values in zip(self.summary.encodings, self.columns, strict=True):
            present = values[:0] if encoding.is_categorical else values[~encode.is_missing(encoding, values)]
            ends.append((present.min().item(), present.max().item()) if len(present) else None)
        return ends

    def route(self, tree: Arrays) -> RowsAtNodes:
        """Return the rows of each node."""
        at = self.at
        if at is None or not _is_same(at.tree, tree):
            start = at.nodes if at is not None and _continues(at.tree, tree) else None
            nodes = _core.find_leaves(tree.for_core, self.core_columns, len(self.weight), start)
            at = self.at = RowsAtNodes(tree, nodes, *_core.rows_by_node(nodes, len(tree.kind)))
        return at

    def count(self, tree: Arrays, requests: Sequence[Request]) -> list[Bins]:
        """Count rows by bins."""
        return self.count_frontier(tree, requests).split(self.summary, requests)

    def count_frontier(self, tree: Arrays, requests: Sequence[Request]) -> FrontierCounts:
        """Count rows by bins; the answers to all requests in flat arrays."""
        at = self.route(tree)
        grids = [grid for request in requests for grid in request.grids]
        counted = _core.count_bins(
            self.core_columns,
            self.core_target,
            at.order,
            at.starts,
            np.array([request.node for request in requests], np.int64),
            np.array([request.column for request in requests], np.int64),
            np.array([request.is_first for request in requests], np.uint8),
            np.array([len(request.grids) for request in requests], np.int64),
            np.array([_bits(grid.low) for grid in grids], np.int64),
            np.array([_bits(grid.high) for grid in grids], np.int64),
            np.array([grid.n for grid in grids], np.int64),
            *self.summary.deviation_scale,
            self.n_jobs,
        )
        return FrontierCounts.of(counted, len(self.summary.target.classes))

    def target_ranges(self, tree: Arrays, nodes: Sequence[int]) -> list[TargetRange]:
        """Return the range of the targets of each node."""
        return [TargetRange(*ends) for ends in self.block_target_ranges(tree, nodes) if ends is not None]

    def block_target_ranges(self, tree: Arrays, nodes: Sequence[int]) -> list[tuple[int, int, float, float] | None]:
        """Return the range of the targets of each node; None for a node without rows here."""
        at = self.route(tree)
        return _core.target_ranges(self.core_target, at.order, at.starts, np.array(nodes, np.int64))

    def moments(self, tree: Arrays, centres: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """Return Σ w·d and Σ w·d² of each node for d = (y − mean) >> shift."""
        at = self.route(tree)
        nodes, means = np.array(list(centres), np.int64), np.array(list(centres.values()), np.int64).reshape(-1, 2)
        means = np.ascontiguousarray(means.T)
        moments = _core.target_moments(self.core_target, at.order, at.starts, nodes, *means)
        return dict(zip(centres, moments, strict=True))

    def take(self, tree: Arrays, node: int) -> MemorySource:
        """Return the rows of a node."""
        at = self.route(tree)
        rows = at.order[at.starts[node] : at.starts[node + 1]]
        return self.take_rows(rows, self.weight[rows])

    def take_rows(self, rows: Array, weight: Ints) -> MemorySource:
        """Return some rows, with these weights."""
        columns = [values[rows] for values in self.columns]
        raw = self.raw[rows] if len(self.raw) else self.raw
        return MemorySource(self.summary, columns, self.y[rows], weight, raw)

    def grow_subtrees(self, tree: Arrays, starts: Sequence[SubtreeStart]) -> list[Subtree]:
        """Return the subtrees below some nodes."""
        return [grow_subtree([self.take(tree, start.node)], start, self.n_jobs) for start in starts]


def join_parts(parts: Sequence[MemorySource], summary: TrainingSummary) -> TrainingSet:
    """Return the rows of several parts as one training set, the one that memory would have."""
    columns = tuple(np.concatenate(of_column) for of_column in zip(*(part.columns for part in parts), strict=True))
    names = ("y", "weight", "raw")
    values = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    n, y = len(values["y"]), values["y"]
    samples = [part.sample for part in parts if part.sample is not None]
    sample = np.concatenate(samples) if samples else np.broadcast_to(np.float64(1.0), n)
    repeats = None
    if summary.repeats is not None and samples:
        of_class = np.ones(len(summary.target.classes))  # numbers have no class weights
        if len(of_class):
            of_class[summary.y] = summary.repeats.factor
        factor = of_class[y] if len(of_class) else np.broadcast_to(np.float64(1.0), n)
        repeats = Repeats(sample.astype(np.int64), factor)
    shared = {name: getattr(summary, name) for name in TrainingSet.__dataclass_fields__}
    own = {"columns": columns, "evaluation_weight": sample, "repeats": repeats, "rows": range(n)}
    return TrainingSet(**shared | values | own)


def grow_subtree(parts: Sequence[MemorySource], start: SubtreeStart, n_jobs: int = 1) -> Subtree:
    """Grow what is below a node, from its rows in parts, by the core: as a part of the whole tree."""
    summary = parts[0].summary
    training_set = join_parts(parts, summary)
    settings, is_root = core_settings(training_set), start.depth == 0
    for name, limit in summary.limits.items():
        setattr(settings, SETTINGS[name].core, limit)
    settings.total_weight = summary.root.weight
    settings.root_depth, settings.root_key = start.depth, start.key
    settings.root_low, settings.root_high = start.constraints.low, start.constraints.high
    settings.root_groups, settings.root_acquired = start.constraints.interaction_groups, start.constraints.acquired
    settings.n_jobs, settings.quartiles = n_jobs, is_root
    grown = _core.grow(core_columns(training_set), core_target(training_set), settings, None)
    quartiles = grown.pop("quartiles") if is_root else ()
    return Subtree(Arrays(**grown), quartiles)


def _bits(value: Any) -> int:
    """Return a number of a grid as the core reads it: a float by its bits."""
    return int(np.float64(value).view(np.int64)) if isinstance(value, float) else value


_SHAPE = ("kind", "column", "cut", "cut_int", "missing", "other", "parent", "codes", "code_start")


def _is_same(one: Arrays, other: Arrays) -> bool:
    return one is other or all(np.array_equal(getattr(one, n), getattr(other, n)) for n in _SHAPE)


def _continues(before: Arrays, tree: Arrays) -> bool:
    """Whether a tree has the nodes of the one before, with the same numbers and tests, and possibly more."""
    inner, n = before.kind != 0, len(before.kind)
    if n > len(tree.kind) or not np.array_equal(before.parent, tree.parent[:n]):
        return False
    same = all(np.array_equal(getattr(before, k)[inner], getattr(tree, k)[:n][inner]) for k in _SHAPE[:6])
    return same and all(
        np.array_equal(
            before.codes[before.code_start[i] : before.code_start[i + 1]],
            tree.codes[tree.code_start[i] : tree.code_start[i + 1]],
        )
        for i in np.flatnonzero(inner).tolist()
        if before.code_start[i] < before.code_start[i + 1]
    )
