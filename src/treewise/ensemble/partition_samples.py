"""Bootstrap samples of a table in partitions: the functions that run where the partitions are.

A sample draws positions in the canonical order of all rows (``bootstrap.py``). A row's position is the rank of its
hash, so the hashes are ranked across the partitions, a range of them at a time; then every partition can tell how often
each of its rows is drawn for a tree. Equal rows have positions one after another, and are interchangeable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from treewise._lib.rng import mix64
from treewise.ensemble.bootstrap import ROW_STREAM, BootstrapSamples
from treewise.ensemble.grow import Floats, grow_members, perfect_column_notes, sum_of_hashes
from treewise.ensemble.model import Ensemble, OutOfBag
from treewise.ensemble.oob import ScoredRows, predict_oob
from treewise.ensemble.packed_trees import PackedTrees
from treewise.ensemble.params import BaggingParams
from treewise.ensemble.predict import masked_means
from treewise.sources.memory import MemorySource, join_parts
from treewise.train.canonical_rows import GOLDEN, Hashes, hash_rows, mix64_array
from treewise.train.fixed_point import scale_weights
from treewise.train.resampling import bound_weights
from treewise.train.source import TrainingSummary

Ints = npt.NDArray[np.int64]

_CHUNK = 1 << 20  # keys that are looked at at a time

# -- canonical order ---------------------------------------------------------------------------------------------------


class HashedRows(NamedTuple):
    """The rows of a partition, sorted by the hash of their content."""

    hashes: Hashes
    times: Ints | None  # how many rows each stands for; None: one
    row: npt.NDArray[np.int64]

    def between(self, part: int, n_parts: int) -> HashedRows:
        """Return one of so many equal ranges of hashes."""
        ends = [np.uint64((2**64 * i) // n_parts - (i == n_parts)) for i in (part, part + 1)]
        first = int(np.searchsorted(self.hashes, ends[0]))
        last = len(self.hashes) if part + 1 == n_parts else int(np.searchsorted(self.hashes, ends[1]))
        chosen = slice(first, last)
        return HashedRows(self.hashes[chosen], None if self.times is None else self.times[chosen], self.row[chosen])


class RankedRows(NamedTuple):
    """The rows of a partition, or some of them, with their positions in the canonical order."""

    row: npt.NDArray[np.int64]
    start: Ints
    end: Ints

    def count_draws(self, draws: Ints) -> tuple[npt.NDArray[np.int64], Ints]:
        """Return the rows that are drawn, and how often, from the sorted positions of a sample."""
        times = np.searchsorted(draws, self.end) - np.searchsorted(draws, self.start)
        drawn = np.flatnonzero(times)
        return self.row[drawn], times[drawn]


def unit_weights(summary: TrainingSummary) -> tuple[Ints, int]:
    """Return the integer weight of one repetition of a row by class (numbers: one), and the scale."""
    assert summary.repeats is not None
    of_pair, scale = scale_weights(summary.repeats.factor, summary.repeats.times)
    of_class = np.full(max(1, len(summary.target.classes)), of_pair[0])
    if summary.target.classes:
        of_class[summary.y] = of_pair
    return of_class, scale


def _weight_of_rows(block: MemorySource, summary: TrainingSummary) -> Ints:
    """Return the weight of each row, or of one repetition of it (``canonical_rows``)."""
    if summary.repeats is None:
        return np.asarray(block.weight)
    of_class = unit_weights(summary)[0]
    return of_class[block.y] if summary.target.classes else np.full(len(block.y), of_class[0])


def hash_block(block: MemorySource, summary: TrainingSummary) -> HashedRows:
    """Return the hashes of the rows of a partition."""
    training_set = join_parts([block], summary)
    hashes = hash_rows(training_set, _weight_of_rows(block, summary))
    order = np.argsort(hashes, kind="stable")
    times = None if training_set.repeats is None else training_set.repeats.times[order]
    return HashedRows(hashes[order], times, order)


def take_range(rows: HashedRows, part: int, n_parts: int) -> HashedRows:
    """Return the rows of a partition in a range of hashes."""
    return rows.between(part, n_parts)


def rank_range(parts: Sequence[HashedRows]) -> list[RankedRows]:
    """Rank the rows of all partitions in a range of hashes; positions begin at 0."""
    hashes = np.concatenate([part.hashes for part in parts])
    times = np.concatenate([np.ones(len(p.row), np.int64) if p.times is None else p.times for p in parts])
    order = np.lexsort((times, hashes))
    end = np.empty(len(order), np.int64)
    end[order] = np.cumsum(times[order])
    ends = np.split(end, np.cumsum([len(part.row) for part in parts])[:-1])
    each = np.split(times, np.cumsum([len(part.row) for part in parts])[:-1])
    return [RankedRows(p.row, e - t, e) for p, e, t in zip(parts, ends, each, strict=True)]


def count_range(ranked: Sequence[RankedRows]) -> int:
    """Return how many positions a range has."""
    return max((int(rows.end.max()) for rows in ranked if len(rows.row)), default=0)


def pick_block(ranked: Sequence[RankedRows], block: int) -> RankedRows:
    """Return the rows of one partition in a range."""
    return ranked[block]


def join_ranges(ranges: Sequence[RankedRows], offsets: Sequence[int]) -> RankedRows:
    """Return the rows of a partition in all ranges, each of which begins at an offset."""
    starts = [ranked.start + offset for ranked, offset in zip(ranges, offsets, strict=True)]
    ends = [ranked.end + offset for ranked, offset in zip(ranges, offsets, strict=True)]
    return RankedRows(np.concatenate([r.row for r in ranges]), np.concatenate(starts), np.concatenate(ends))


# -- the sample of a tree ----------------------------------------------------------------------------------------------


def draw_positions(n: int, n_drawn: int, replace: bool, seed: int) -> Ints:
    """Return the sorted positions below n that are drawn for the tree of a seed (``bootstrap.draw_counts``).

    >>> draw_positions(5, 5, True, mix64(0, 0)).tolist(), draw_positions(5, 3, False, mix64(0, 0)).tolist()
    ([0, 1, 2, 3, 4], [0, 2, 4])
    """
    key = mix64(seed, ROW_STREAM)
    if replace:
        parts = [_below(_keys(key, first, n_drawn), n) for first in range(0, n_drawn, _CHUNK)]
        return np.sort(np.concatenate(parts))
    share = n_drawn / n  # the keys are uniform: those below a bound are a few more than are drawn
    while True:
        share = min(1.0, 1.02 * share + 64 / n)
        bound = np.uint64(min(2**64 - 1, int(share * 2.0**64)))
        small, at = [], []
        for first in range(0, n, _CHUNK):
            keys = _keys(key, first, n)
            chosen = np.flatnonzero(keys <= bound)
            small.append(keys[chosen])
            at.append(chosen + first)
        keys = np.concatenate(small)
        if len(keys) >= n_drawn:
            chosen = np.argpartition(keys, n_drawn - 1)[:n_drawn]
            return np.sort(np.concatenate(at)[chosen])


def _keys(key: int, first: int, n: int) -> Hashes:
    """Return mix64(key, i) for the next chunk of i below n."""
    i = np.arange(first, min(n, first + _CHUNK), dtype=np.uint64)
    with np.errstate(over="ignore"):
        return mix64_array(np.uint64(key) + GOLDEN * i)


def _below(keys: Hashes, n: int) -> Ints:
    """Map 64 random bits each to a number below n < 2^32 (``rng.uniform_below``)."""
    size, half = np.uint64(n), np.uint64(32)
    low = (keys & np.uint64(2**32 - 1)) * size >> half
    return (((keys >> half) * size + low) >> half).astype(np.int64)


def take_sample(block: MemorySource, rows: RankedRows, draws: Ints, summary: TrainingSummary) -> MemorySource:
    """Return the rows of a partition that are drawn, weighted by how often."""
    drawn, times = rows.count_draws(draws)
    return block.take_rows(drawn, _weight_of_rows(block, summary)[drawn] * times)


def grow_sample(
    parts: Sequence[MemorySource], summary: TrainingSummary, samples: BootstrapSamples, tree: int
) -> tuple[PackedTrees, Floats]:
    """Grow a tree on its sample, from the rows that ``take_sample`` has taken of each partition."""
    scale = summary.weight_scale if summary.repeats is None else unit_weights(summary)[1]
    training_set = bound_weights(replace(join_parts(parts, summary), weight_scale=scale))
    training_set.__dict__["observation_weight"] = summary.observation_weight
    return grow_members(replace(samples, training_set=training_set, n_drawn=0), tree, 1, n_jobs=1)


def mark_out_of_bag(rows: RankedRows, draws: Ints) -> npt.NDArray[np.uint8]:
    """Return which rows of a partition are out of bag, packed into bits."""
    is_out = np.ones(len(rows.row), np.uint8)
    is_out[rows.count_draws(draws)[0]] = 0
    return np.packbits(is_out, bitorder="little")


def score_block(
    block: MemorySource, masks: Sequence[npt.NDArray[np.uint8]], ensemble: Ensemble, summary: TrainingSummary
) -> ScoredRows:
    """Return the rows of a partition that are out of bag for some tree, with their outputs."""
    outputs, n_trees = masked_means(ensemble, list(block.columns), len(block.weight), np.stack(masks))
    units = np.asarray(scale_weights(summary.evaluation_weight, summary.sample_rows)[0])
    if block.sample is None:
        unit = np.broadcast_to(units[0], len(block.weight))
    else:
        given, first = np.unique(summary.evaluation_weight, return_index=True)
        unit = units[first][np.searchsorted(given, block.sample)]
    is_number = summary.target.task == "regression"
    rows = ScoredRows(block.y, block.raw, outputs[:, 0] if is_number else outputs, unit)
    return rows.take(np.flatnonzero(n_trees))


def ask_scored(rows: ScoredRows, name: str, *args: Any) -> Any:
    """Return sums over scored rows."""
    return len(rows.y) if name == "rows" else getattr(rows, name)(*args)


# -- all rows together -------------------------------------------------------------------------------------------------


def grow_on_all(
    parts: Sequence[MemorySource], summary: TrainingSummary, params: BaggingParams, first: int, n: int, n_jobs: int
) -> tuple[PackedTrees, Floats]:
    """Grow some of the trees from all rows."""
    return grow_members(params.samples(join_parts(parts, summary)), first, n, n_jobs=n_jobs)


def note_perfect_column(parts: Sequence[MemorySource], summary: TrainingSummary, members: PackedTrees) -> list[str]:
    """Return the notes on a column that predicts the target perfectly."""
    return perfect_column_notes(join_parts(parts, summary), members, n_jobs=1)


def score_all(
    parts: Sequence[MemorySource], summary: TrainingSummary, params: BaggingParams, ensemble: Ensemble
) -> OutOfBag:
    """Return the out-of-bag estimate from all rows."""
    training_set = join_parts(parts, summary)
    return predict_oob(ensemble, training_set, params.samples(training_set)).summary


def sum_block_hashes(block: MemorySource, summary: TrainingSummary) -> int:
    """Return the part of the table's fingerprint that a partition has."""
    return sum_of_hashes(join_parts([block], summary))
