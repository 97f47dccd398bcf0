"""The source of encoded arrays in NumPy: slow, readable, and independent of the core's counts."""

from __future__ import annotations

import numpy as np

from treewise import _core
from treewise.data import encoding as encode
from treewise.predict.predict import to_core_columns
from treewise.sources.memory import MemorySource
from treewise.train.source import SINGLE_VALUE, Bins, Stats, TargetRange, merge_bins


class NumpySource(MemorySource):
    """What ``MemorySource`` answers, counted row by row, without anything kept between questions."""

    def nodes(self, tree):
        columns = to_core_columns(self.summary.encodings, self.columns)
        return _core.find_leaves(tree.for_core, columns, len(self.weight))

    def count(self, tree, requests):
        nodes = self.nodes(tree)
        return [self.count_node(request, np.flatnonzero(nodes == request.node)) for request in requests]

    def count_node(self, request, rows):
        encoding, values = self.summary.encodings[request.column], self.columns[request.column][rows]
        is_missing = encode.is_missing(encoding, values)
        none = np.zeros(0, np.int64)
        missing = self.stats(rows[is_missing & request.is_first])
        total = missing.total() if len(missing) else Stats.zeros(1, missing.counts.shape[1])
        parts = [Bins(none, none, values[:0], values[:0], none > 0, self.stats(rows[:0]), total)]
        grids = (None,) if encoding.is_categorical else request.grids
        for i, grid in enumerate(grids):
            chosen = ~is_missing if grid is None else (values >= grid.low) & (values <= grid.high) & ~is_missing
            inside = values[chosen]
            bins = np.full(len(inside), SINGLE_VALUE) if grid is None or grid.n == 0 else grid.bins(inside)
            empty = Stats.zeros(1, missing.counts.shape[1])
            stats = self.stats(rows[chosen])
            parts.append(Bins(np.full(len(inside), i), bins, inside, inside, bins == bins, stats, empty))
        return merge_bins(parts)

    def stats(self, rows):
        """Return the statistics of each of some rows."""
        y, weight = self.y[rows].astype(np.int64), self.weight[rows]
        if self.summary.target.task == "classification":
            counts = np.zeros((len(rows), len(self.summary.target.classes)), np.int64)
            counts[np.arange(len(rows)), y] = weight
            return Stats.of(np.ones(len(rows), np.int64), weight, counts)
        centre, shift = self.summary.deviation_scale
        q = (y - centre) >> shift
        sums = {"target_sum": y.astype(object) * weight, "deviations": weight * q, "squares": weight * q * q}
        return Stats.of(np.ones(len(rows), np.int64), weight, np.zeros((len(rows), 0), np.int64), **sums)

    def target_ranges(self, tree, nodes):
        at = self.nodes(tree)
        actual = []
        for node in nodes:
            y, raw = self.y[at == node], self.raw[at == node]
            actual.append(TargetRange(int(y.min()), int(y.max()), float(raw.min()), float(raw.max())))
        return actual

    def moments(self, tree, about):
        at = self.nodes(tree)
        actual = {}
        for node, (mean, shift) in about.items():
            deviations = (self.y[at == node].astype(object) - mean) >> shift
            weights = self.weight[at == node]
            actual[node] = int((weights * deviations).sum()), int((weights * deviations * deviations).sum())
        return actual
