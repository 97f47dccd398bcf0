"""The source of encoded arrays: the specification of all sources, and what each partition of a cluster runs.

A tree grown on it is the tree of ``train/grow.py``; ``tests/oracles/test_sources.py`` compares them. Counting here is
NumPy; for tables in memory the core is many times faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise import _core
from treewise.data import encoding as encode
from treewise.predict.predict import to_core_columns
from treewise.train.candidates import compute_stats
from treewise.train.source import (
    SINGLE_VALUE,
    Array,
    Buckets,
    Ints,
    Request,
    Stats,
    Totals,
    TrainingSummary,
    merge_buckets,
)
from treewise.train.training_set import TrainingSet
from treewise.tree.arrays import Arrays


def summarise(training_set: TrainingSet) -> TrainingSummary:
    """Return the summary of a training set in memory."""
    values = {name: getattr(training_set, name) for name in TrainingSet.__dataclass_fields__}
    y = training_set.y
    ends = (int(y.min()), int(y.max())) if training_set.target.task == "regression" else (0, 0)
    root = compute_stats(training_set, np.arange(len(training_set)))
    return TrainingSummary(**values | {"columns": ()}, n_rows=len(training_set), root=root, low=ends[0], high=ends[1])


@dataclass(eq=False)
class MemorySource:
    """Encoded columns, integer targets and weights of all rows, or of one partition."""

    summary: TrainingSummary
    columns: Sequence[Array]
    y: Ints
    weight: Ints
    raw: Array  # regression: the targets as given

    @classmethod
    def of(cls, training_set: TrainingSet) -> MemorySource:
        """Return a training set as a source."""
        t = training_set
        return cls(summarise(t), t.columns, np.asarray(t.y), np.asarray(t.weight), t.raw)

    def ranges(self) -> list[tuple[Any, Any] | None]:
        """Return the smallest and the largest value of each column of numbers."""
        ends: list[tuple[Any, Any] | None] = []
        for encoding, values in zip(self.summary.encodings, self.columns, strict=True):
            present = values[~encode.is_missing(encoding, values)]
            has_ends = not encoding.is_categorical and len(present)
            ends.append((present.min().item(), present.max().item()) if has_ends else None)
        return ends

    def route(self, tree: Arrays) -> Ints:
        """Return the node of each row."""
        columns = to_core_columns(self.summary.encodings, self.columns)
        return _core.find_leaves(tree.for_core, columns, len(self.weight))

    def count(self, tree: Arrays, requests: Sequence[Request]) -> list[Buckets]:
        """Count rows by bins."""
        nodes = self.route(tree)
        order = np.argsort(nodes, kind="stable")
        ends = np.searchsorted(nodes[order], [(r.node, r.node + 1) for r in requests])
        return [self._count_node(r, order[first:last]) for r, (first, last) in zip(requests, ends, strict=True)]

    def _count_node(self, request: Request, rows: Ints) -> Buckets:
        encoding, values = self.summary.encodings[request.column], self.columns[request.column][rows]
        is_missing = encode.is_missing(encoding, values)
        none = np.zeros(0, np.int64)
        missing = self._stats(rows[is_missing & request.is_first])
        start = Buckets(none, none, values[:0], values[:0], self._stats(rows[:0]), _total(missing))
        grids = (None,) if encoding.is_categorical else request.grids
        parts = [start]
        for i, grid in enumerate(grids):
            chosen = ~is_missing if grid is None else (values >= grid.low) & (values <= grid.high) & ~is_missing
            inside = values[chosen]
            bins = np.full(len(inside), SINGLE_VALUE) if grid is None or grid.n == 0 else grid.bins(inside)
            empty = Stats.zeros(1, missing.counts.shape[1])
            stats = self._stats(rows[chosen])
            parts.append(Buckets(np.full(len(inside), i), bins, inside, inside, stats, empty))
        return merge_buckets(parts)

    def _stats(self, rows: Ints) -> Stats:
        """Return the statistics of each of some rows."""
        y, weight = self.y[rows], self.weight[rows]
        if self.summary.target.task == "classification":
            counts = np.zeros((len(rows), len(self.summary.target.classes)), np.int64)
            counts[np.arange(len(rows)), y] = weight
            return Stats.of(np.ones(len(rows), np.int64), weight, counts)
        centre, shift = self.summary.deviations
        q = (y - centre) >> shift
        sums = {"target_sum": y.astype(object) * weight, "deviations": weight * q, "squares": weight * q * q}
        return Stats.of(np.ones(len(rows), np.int64), weight, np.zeros((len(rows), 0), np.int64), **sums)

    def totals(self, tree: Arrays, nodes: Sequence[int]) -> list[Totals]:
        """Return the range of the targets of each node."""
        at = self.route(tree)
        found = []
        for node in nodes:
            y, raw = self.y[at == node], self.raw[at == node]
            found.append(Totals(int(y.min()), int(y.max()), float(raw.min()), float(raw.max())))
        return found

    def moments(self, tree: Arrays, about: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """Return Σ w·d and Σ w·d² of each node for d = (y − mean) >> shift."""
        at = self.route(tree)
        found = {}
        for node, (mean, shift) in about.items():
            deviations = (self.y[at == node].astype(object) - mean) >> shift
            weights = self.weight[at == node]
            found[node] = int((weights * deviations).sum()), int((weights * deviations * deviations).sum())
        return found


def _total(stats: Stats) -> Stats:
    return stats.total() if len(stats) else Stats.zeros(1, stats.counts.shape[1])
