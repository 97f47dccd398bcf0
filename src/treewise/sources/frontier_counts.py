"""The answers of one partition to all requests of a level, in flat arrays: added up, and sent in few bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewise import _core
from treewise.train.source import Array, Bins, Ints, Request, Stats, TrainingSummary

_MISSING_ROWS = -2  # the "bin" of the rows without a value: the first group of each answer (bin_counter.hpp)


@dataclass(frozen=True, eq=False)
class FrontierCounts:
    """Groups of rows, those of one request after those of another, as the core counts them.

    The first group of a request is its rows without a value; the bins follow in order of value.
    """

    n_classes: int  # 0: regression
    groups: Array  # the number of groups of each request
    grid: Array
    bin: Array
    low: Array  # the bits of doubles in columns of numbers, else integers
    high: Array
    rows: Array
    weight: Array
    counts: Array  # classification: one entry per group and class
    target_high: Array  # regression: Σ w·y is target_high·2^64 + target_low
    target_low: Array
    deviations: Array
    squares: Array

    @classmethod
    def of(cls, counted: Mapping[str, Array], n_classes: int) -> FrontierCounts:
        """Return what the core has counted."""
        return cls(n_classes, **counted)

    @property
    def arrays(self) -> dict[str, Array]:
        """The arrays by name."""
        return {name: value for name, value in self.__dict__.items() if name != "n_classes"}

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def pack(self) -> FrontierCounts:
        """Return the same in the smallest integers; sums that follow from others are left out.

        >>> import numpy as np
        >>> one, none = np.ones(1, np.int64), np.empty(0, np.int64)
        >>> counts = FrontierCounts(1, one, 0 * one, -2 * one, one, one, one, one, one, none, none, none, none)
        >>> counts.nbytes, counts.pack().nbytes, counts.pack().unpack().nbytes
        (64, 5, 64)
        """
        none = np.empty(0, np.int8)
        left_out: dict[str, Array] = {} if self.grid.any() else {"grid": none}
        if self.n_classes:
            left_out["weight"] = none
        if np.array_equal(self.rows, self.weight):
            left_out["rows"] = none
        packed = {name: _smallest(array) for name, array in (self.arrays | left_out).items()}
        return FrontierCounts.of(packed, self.n_classes)

    def unpack(self) -> FrontierCounts:
        """Return the arrays as they were before ``pack``."""
        wide = {
            name: array.astype(np.uint64 if name == "target_low" else np.int64) for name, array in self.arrays.items()
        }
        n = len(wide["bin"])
        if not len(wide["grid"]):
            wide["grid"] = np.zeros(n, np.int64)
        if not len(wide["weight"]):
            wide["weight"] = wide["counts"].reshape(n, self.n_classes).sum(axis=1)
        if not len(wide["rows"]):
            wide["rows"] = wide["weight"]
        return FrontierCounts.of(wide, self.n_classes)

    @staticmethod
    def merge(parts: Sequence[FrontierCounts], summary: TrainingSummary, requests: Sequence[Request]) -> FrontierCounts:
        """Add up the answers of several partitions."""
        if len(parts) == 1:
            return parts[0]
        is_number = [encoding.kind == "number" for encoding in summary.encodings]
        kinds = np.array([is_number[request.column] for request in requests], np.uint8)
        n_classes = parts[0].n_classes
        return FrontierCounts.of(_core.merge_counts([part.arrays for part in parts], kinds, n_classes), n_classes)

    def split(self, summary: TrainingSummary, requests: Sequence[Request]) -> list[Bins]:
        """Return the answer to each request."""
        stats = self._stats()
        ends = np.cumsum(self.groups).tolist()
        answers = []
        for request, start, end in zip(requests, [0, *ends], ends, strict=False):
            missing, own = slice(start, start + 1), slice(start + 1, end)
            low, high = self.low[own], self.high[own]
            if summary.encodings[request.column].kind == "number":
                low, high = low.view(np.float64), high.view(np.float64)
            ends = low, high, np.ones(len(low), bool)
            answers.append(Bins(self.grid[own], self.bin[own], *ends, stats.take(own), stats.take(missing)))
        return answers

    def _stats(self) -> Stats:
        n = len(self.rows)
        counts: Ints = self.counts.reshape(n, self.n_classes)
        if self.n_classes:
            return Stats.of(self.rows, self.weight, counts)
        target_sum = self.target_high.astype(object) * (1 << 64) + self.target_low.astype(object)
        sums: dict[str, Any] = {"deviations": self.deviations, "squares": self.squares}
        return Stats.of(self.rows, self.weight, counts, target_sum=target_sum, **sums)


def _smallest(array: Array) -> Array:
    """Return integers in the smallest type that has all of them."""
    if not len(array) or array.dtype == np.uint64:
        return array
    low, high = int(array.min()), int(array.max())
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return array.astype(dtype)
    return array
