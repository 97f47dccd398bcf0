"""Grow an ensemble on a table in partitions: the same bytes as in memory, however the table is cut.

A sample depends on the content of the rows alone (``bootstrap.py``), so it can be drawn anywhere. There are two ways:

    one task has room for the table     each task brings all rows together and grows some of the trees, as memory does
    one task has room for a sample      the rows are ranked across the partitions (``partition_samples.py``); each tree
                                        takes the rows it has drawn of every partition, and is grown by one task

Out-of-bag predictions are made where the rows are, and their sums are exact, so the score is the same, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from treewise._lib.rng import mix64
from treewise._lib.text import plural
from treewise.data.frames import is_dask_frame
from treewise.ensemble import partition_samples as tasks
from treewise.ensemble.bootstrap import BootstrapSamples
from treewise.ensemble.grow import (
    Floats,
    OnOob,
    assemble_ensemble,
    check_ensemble_options,
    fingerprint_of_sum,
    record_of,
    sample_features,
    stump_of,
)
from treewise.ensemble.model import Ensemble, OutOfBag
from treewise.ensemble.oob import accuracy_of, mean_of, r2_of
from treewise.ensemble.packed_trees import PackedTrees
from treewise.ensemble.params import BaggingParams
from treewise.errors import DataError, Param, ParameterError
from treewise.sources.fit import OpenSource
from treewise.sources.partitions import PartitionedSource, chunks
from treewise.train.grow import OnPrepared, Progress, finish_tree, note_leakage, read_options
from treewise.train.grow_source import SourceGrower, check_source_settings
from treewise.train.resampling import power_of_two_scale
from treewise.train.summary import check_source_roles

_TREES_PER_TASK = 25  # of a table that is brought together: a killed worker costs so many
_RANGE_BYTES = 48  # per row whose hash is ranked by a task

Members = list[tuple[PackedTrees, Floats]]


def is_partitioned(data: Any, engine: Any = None) -> bool:
    """Tell whether the rows are in partitions, on a cluster."""
    return is_dask_frame(data) if engine is None else not (isinstance(engine, str) and engine == "memory")


def grow_partitions(
    data: Any,
    target: Any,
    options: Mapping[str, Any],
    params: BaggingParams,
    function: Callable[..., Ensemble],
    progress: Progress | None = None,
    on_prepared: OnPrepared | None = None,
    on_oob: OnOob | None = None,
) -> Ensemble:
    """Grow an ensemble on a Dask dataframe, or on files that the workers of a cluster read."""
    from treewise.sources.dask_source import dask_source

    if on_oob is not None:
        raise ParameterError(
            "needs the rows in memory; on a cluster, out-of-bag predictions stay on the workers.",
            parameter="on_oob",
        )
    options = dict(options)
    open_source = dask_source(data, options.pop("engine", None))
    options.pop("memory", None)
    return grow_on_source(open_source, target, options, params, function, progress, on_prepared)


def grow_on_source(
    open_source: OpenSource,
    target: Any,
    options: Mapping[str, Any],
    params: BaggingParams,
    function: Callable[..., Ensemble],
    progress: Progress | None = None,
    on_prepared: OnPrepared | None = None,
) -> Ensemble:
    """Grow an ensemble on a partitioned source."""
    roles, settings, _ = read_options(target, check_ensemble_options(options, function))
    with open_source(check_source_roles(roles), settings) as source:
        assert isinstance(source, PartitionedSource)
        check_source_settings(stump_of(source.summary))
        if params.method != "bagging":
            source = replace(source, summary=sample_features(source.summary))
        if on_prepared is not None:
            on_prepared(source.summary)
        return EnsembleGrower(source, params, progress or (lambda _: None)).grow()


@dataclass(eq=False)
class EnsembleGrower:
    """Grows one ensemble on partitions."""

    source: PartitionedSource
    params: BaggingParams
    progress: Progress

    @cached_property
    def samples(self) -> BootstrapSamples:
        """How rows and columns are drawn, without the rows."""
        return self.params.samples(self.source.summary)

    @cached_property
    def fits_one_task(self) -> bool:
        """Whether a task has room for all rows."""
        return self.source.summary.n_rows <= self.source.rows_per_task

    def grow(self) -> Ensemble:
        """Grow the trees, and estimate the out-of-bag error."""
        self.progress(0.0)
        draws = () if self.fits_one_task else self._draw()
        grown = self._grow_on_all() if self.fits_one_task else self._grow_on_samples(draws)
        members = grown[0][0]
        for more, _ in grown[1:]:
            members = members.concat(more)
        decreases = np.concatenate([of_tree for _, of_tree in grown])
        summary = self.source.summary
        sums = self._ask(tasks.sum_block_hashes, summary)
        table = record_of(fingerprint_of_sum(summary, summary.n_rows, sum(sums)), summary.root.counts)
        ensemble = assemble_ensemble(summary, self.params, members, decreases, self._notes(members), table)
        if not self.params.oob_score:
            return ensemble
        return ensemble.with_(oob=self._score_all(ensemble) if self.fits_one_task else self._score(ensemble, draws))

    def _notes(self, members: PackedTrees) -> list[str]:
        """Return the notes of ``perfect_column_notes``; their stump is grown by counts where the rows do not fit."""
        if not members.has_perfect_stump():
            return []
        summary, executor = self.source.summary, self.source.executor
        if self.fits_one_task:
            notes: list[str] = executor.ask(tasks.note_perfect_column, [(self.source.blocks, summary, members)])[0]
            return notes
        arrays = SourceGrower(replace(self.source, summary=stump_of(summary))).grow()
        return note_leakage(finish_tree(stump_of(summary), arrays, {}))

    def _ask(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return self.source.executor.ask(function, [(block, *args) for block in self.source.blocks])

    # -- all rows together ---------------------------------------------------------------------------------------------

    def _grow_on_all(self) -> Members:
        """Let each task grow some of the trees on all rows."""
        executor, n = self.source.executor, self.params.n_estimators
        capacity = executor.capacity()
        size = min(_TREES_PER_TASK, math.ceil(n / capacity.tasks))
        calls = [
            (self.source.blocks, self.source.summary, self.params, first, min(size, n - first), 1)
            for first in range(0, n, size)
        ]
        grown: Members = []
        for some in chunks(calls, capacity.tasks):
            grown += executor.ask(tasks.grow_on_all, some)
            self.progress(sum(len(members) for members, _ in grown) / n)
        return grown

    def _score_all(self, ensemble: Ensemble) -> OutOfBag:
        call = (self.source.blocks, self.source.summary, self.params, ensemble)
        score: OutOfBag = self.source.executor.ask(tasks.score_all, [call])[0]
        return score

    # -- a sample at a time --------------------------------------------------------------------------------------------

    @cached_property
    def _ranked(self) -> list[Any]:
        """The rows of each block with their positions in the canonical order of all rows; kept where the blocks are."""
        executor, blocks, summary = self.source.executor, self.source.blocks, self.source.summary
        n_ranges = math.ceil(summary.n_rows * _RANGE_BYTES / max(1, executor.capacity().task_bytes))
        n_ranges = max(1, min(n_ranges, summary.n_rows))
        hashed = executor.keep(tasks.hash_block, [(block, summary) for block in blocks])
        slices = [
            executor.keep(tasks.take_range, [(rows, part, n_ranges) for rows in hashed]) for part in range(n_ranges)
        ]
        ranges = executor.keep(tasks.rank_range, [(parts,) for parts in slices])
        sizes = executor.ask(tasks.count_range, [(ranked,) for ranked in ranges])
        offsets = [0, *np.cumsum(sizes).tolist()][:-1]
        picked = [executor.keep(tasks.pick_block, [(ranked, i) for ranked in ranges]) for i in range(len(blocks))]
        return executor.keep(tasks.join_ranges, [(parts, offsets) for parts in picked])

    def _draw(self) -> Sequence[Any]:
        """Draw the positions of each tree's sample, where there is room for them; kept there."""
        drawn, capacity = self.samples.n_drawn, self.source.rows_per_task
        n = _count_units(self.source)
        if not drawn or min(drawn, self.source.summary.n_rows) > capacity:
            share = math.floor(100 * capacity / n) / 100
            rows = Param("max_samples", share if share > 0 else max(1, capacity))
            raise DataError(
                f"each tree draws {plural(drawn or n, 'row')}, and one task of the cluster has room for {capacity:,}.",
                hint="Give " + rows + ", or workers with more memory.",
            )
        if n >= 2**32:
            raise DataError(f"samples are drawn of at most {2**32 - 1:,} rows, and these count {n:,}.")
        seeds = [mix64(self.source.summary.settings.random_state, t) for t in range(self.params.n_estimators)]
        calls = [(n, drawn, self.samples.replace, seed) for seed in seeds]
        return self.source.executor.keep(tasks.draw_positions, calls)

    def _grow_on_samples(self, draws: Sequence[Any]) -> Members:
        """Grow each tree by one task, on the rows it has drawn of all blocks; as many at once as there are tasks."""
        executor, summary, blocks = self.source.executor, self.source.summary, self.source.blocks
        ranked, samples = self._ranked, replace(self.samples, training_set=summary)
        grown: Members = []
        for trees in chunks(range(len(draws)), executor.capacity().tasks):
            calls = [
                (block, rows, draws[t], summary) for t in trees for block, rows in zip(blocks, ranked, strict=True)
            ]
            parts = chunks(executor.keep(tasks.take_sample, calls), len(blocks))
            grown += executor.ask(
                tasks.grow_sample, [(part, summary, samples, t) for part, t in zip(parts, trees, strict=True)]
            )
            self.progress(len(grown) / len(draws))
        return grown

    def _score(self, ensemble: Ensemble, draws: Sequence[Any]) -> OutOfBag:
        """Return the out-of-bag estimate, from exact sums over the blocks."""
        executor, summary = self.source.executor, self.source.summary
        calls = [(rows, drawn) for rows in self._ranked for drawn in draws]
        masks = chunks(executor.keep(tasks.mark_out_of_bag, calls), len(draws))
        scored = executor.keep(
            tasks.score_block,
            [(block, mask, ensemble, summary) for block, mask in zip(self.source.blocks, masks, strict=True)],
        )

        def ask(name: str, *args: Any) -> list[Any]:
            return executor.ask(tasks.ask_scored, [(rows, name, *args) for rows in scored])

        rows = sum(ask("rows"))
        if not rows:
            score = math.nan
        elif summary.target.task == "classification":
            score = accuracy_of(ask("count_correct"))
        else:
            scale = power_of_two_scale(summary.raw)
            score = r2_of(ask("sum_squares", scale, mean_of(ask("sum_targets", scale))))
        return OutOfBag(score, rows, summary.n_rows)


def _count_units(source: PartitionedSource) -> int:
    """Return how many rows are drawn from: a row whose weight is a count stands for so many."""
    repeats = source.summary.repeats
    return source.summary.n_rows if repeats is None else int(repeats.times.sum())
