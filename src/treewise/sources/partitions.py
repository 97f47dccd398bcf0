"""Grow on a table in partitions: profiles and counts of each are added up, wherever it is.

The functions of the middle part run where a partition is, and are given all they need; a ``PartitionExecutor``
(``dask_source.py``) calls them. Partitions are read for a profile, once more if some classes have no weight, and to
encode them; the executor keeps the encoded blocks, and can make them again. Then each question is one call per block,
with the tree so far, and the answers are added up in integers. A node whose rows fit into one process is sent to one,
which grows the subtree.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from treewise._lib.text import safe
from treewise.data import encoding as encode
from treewise.data.column import Column, truncate
from treewise.data.column_sample import join_samples, sample_column
from treewise.data.encoding import Encoding
from treewise.data.table import Table, read
from treewise.errors import DataError, join_few
from treewise.sources.frontier_counts import FrontierCounts
from treewise.sources.memory import MemorySource, grow_subtree
from treewise.train.column_roles import ColumnRoles, find_target, select_columns
from treewise.train.fixed_point import to_units
from treewise.train.settings import Settings
from treewise.train.source import (
    Array,
    Bins,
    Ints,
    Pair,
    Request,
    Source,
    Subtree,
    SubtreeStart,
    TargetRange,
    TrainingSummary,
)
from treewise.train.summary import TargetFacts, TargetSummary, build_summary, needs_values, summarise_target
from treewise.train.target import encode_target
from treewise.train.weights import read_sample_weights
from treewise.tree.arrays import Arrays

Calls = Sequence[tuple[Any, ...]]  # the arguments of each call; the first is the partition, its block, or several

_CELL_BYTES = 40  # of memory that a cell needs where a subtree is grown: it is there twice, with its order and its rank
_SMALL_CELLS = 1 << 26  # a table that is brought together at once; of larger ones each task gets a part


class Capacity(NamedTuple):
    """The capacity of an executor."""

    tasks: int
    task_bytes: int  # of memory that one task may use
    threads: int  # of a task that is alone


class PartitionExecutor(Protocol):
    """Calls functions where partitions are."""

    def capacity(self) -> Capacity:
        """Return what can be done at once."""

    def keep(self, function: Callable[..., Any], calls: Calls) -> list[Any]:
        """Call a function, keep the results where they are, and return handles for later calls."""

    def ask(self, function: Callable[..., Any], calls: Calls) -> list[Any]:
        """Call a function and return the results, in the order of the calls."""


# -- what runs where the partitions are ------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartitionReader:
    """Reads one partition, a dataframe or the path of a file, under the options of ``grow``."""

    roles: ColumnRoles
    table_name: str
    name: str  # of the partition, in messages

    def read(self, partition: Any) -> Table | None:
        """Return a partition as a table; None if it has no rows."""
        if not isinstance(partition, str | os.PathLike) and not len(partition):
            return None
        return read(partition, na_values=self.roles.na_values, name=self.name)

    def used_rows(self, table: Table) -> tuple[Ints, Array]:
        """Return the rows that have a target and a weight, and the sample weight of all rows."""
        weight = read_sample_weights(table, self.roles.sample_weight)
        return np.flatnonzero(~find_target(table, self.roles.target).is_missing() & (weight > 0)), weight


class PartitionProfile(NamedTuple):
    """Facts about one partition."""

    target: TargetFacts
    samples: dict[str, Column]  # of the rows that are used
    n_missing: dict[str, int]
    columns: list[str]  # of the partition, used or not


def profile_partition(
    partition: Any, reader: PartitionReader, target_summary: TargetSummary | None
) -> PartitionProfile | None:
    """Return the profile of a partition, None without rows; with a summary, of the rows whose class has a weight."""
    table, roles = reader.read(partition), reader.roles
    if table is None:
        return None
    target = find_target(table, roles.target)
    rows, weight = reader.used_rows(table)
    if target_summary is not None:
        y, _ = encode_target(target.take(rows), target_summary.target, table.name, rows)
        rows = rows[np.isin(y, target_summary.pairs.y)]
    samples, n_missing = {}, {}
    for name in select_columns(replace(table, name=reader.table_name), target.name, roles):
        column = _take(table[name], rows)
        n_missing[name] = int(np.count_nonzero(column.is_missing()))
        samples[name] = sample_column(column, needs_values((roles.kinds or {}).get(name)))
    return PartitionProfile(TargetFacts.of(target, weight), samples, n_missing, list(table.columns))


def encode_partition(partition: Any, reader: PartitionReader, summary: TrainingSummary) -> MemorySource:
    """Return the encoded rows of a partition."""
    table = reader.read(partition)
    is_numeric = summary.target.task == "regression"
    dtype = np.int64 if is_numeric else np.uint8 if len(summary.target.classes) <= 256 else np.int32
    if table is None:
        columns = [_no_cells(encoding) for encoding in summary.encodings]
        given = None if reader.roles.sample_weight is None else np.empty(0)
        return MemorySource(summary, columns, np.empty(0, dtype), np.empty(0, np.int64), np.empty(0), given)
    rows, sample = reader.used_rows(table)
    y, raw = encode_target(_take(table[summary.target.name], rows), summary.target, table.name, rows)
    weight = _integer_weights(y, sample[rows], summary.integer_weight_of)
    kept = np.flatnonzero(weight)
    rows, y, weight, raw = rows[kept], y[kept], weight[kept], raw[kept] if is_numeric else raw
    columns = [encode.encode_column(e, _take(table[e.name], rows), table.name) for e in summary.encodings]
    if is_numeric:
        y = to_units(raw, summary.target_scale)
    given = None if reader.roles.sample_weight is None else sample[rows]
    return MemorySource(summary, columns, y.astype(dtype), weight, raw, given)


def _take(column: Column, rows: Ints) -> Column:
    """Return some rows of a column, in order; all of them without a copy."""
    return column if len(rows) == len(column) else column.take(rows)


def _no_cells(encoding: Encoding) -> Array:
    return np.empty(0, np.float64 if encoding.kind == "number" else np.int32 if encoding.is_categorical else np.int64)


def _integer_weights(y: Ints, sample: Array, integer_weight_of: Mapping[Pair, int]) -> Ints:
    """Return the integer weight of each row by its class and sample weight; 0 where the class has none."""
    weights, of_row = np.unique(sample, return_inverse=True)
    n = max(1, len(weights))
    pairs, inverse = np.unique(y * n + of_row.reshape(-1), return_inverse=True)
    of_pair = [integer_weight_of.get((pair // n, float(weights[pair % n])), 0) for pair in pairs.tolist()]
    result: Ints = np.array(of_pair, np.int64)[inverse.reshape(-1)]
    return result


def find_ranges(block: MemorySource) -> list[tuple[Any, Any] | None]:
    """Return the ends of each column of a block."""
    return block.ranges()


def sum_targets(block: MemorySource) -> int:
    """Return Σ w·y of a block (regression)."""
    return int((block.y.astype(object) * block.weight).sum()) if len(block.y) else 0


def count_block(block: MemorySource, question: bytes) -> FrontierCounts:
    """Return the answers of a block to the requests of a level, in few bytes."""
    return block.count_frontier(*pickle.loads(question)).pack()


def find_target_ranges(block: MemorySource, question: bytes) -> list[tuple[int, int, float, float] | None]:
    """Return the range of the targets of nodes in a block."""
    return block.block_target_ranges(*pickle.loads(question))


def sum_moments(block: MemorySource, question: bytes) -> dict[int, tuple[int, int]]:
    """Return the sums of deviations of nodes in a block."""
    return block.moments(*pickle.loads(question))


def take_rows(block: MemorySource, question: bytes, nodes: Sequence[int]) -> list[MemorySource]:
    """Return the rows of a block at some nodes, each node by itself."""
    (tree,) = pickle.loads(question)
    return [block.take(tree, node) for node in nodes]


def grow_subtrees(
    parts: Sequence[Sequence[MemorySource]], starts: Sequence[SubtreeStart], n_jobs: int
) -> list[Subtree]:
    """Grow what is below some nodes, from the rows that ``take_rows`` has taken of each block."""
    return [
        grow_subtree(of_node, start, n_jobs) for of_node, start in zip(zip(*parts, strict=True), starts, strict=True)
    ]


def grow_whole(blocks: Sequence[MemorySource], start: SubtreeStart, n_jobs: int) -> list[Subtree]:
    """Grow the whole tree from all blocks."""
    return [grow_subtree(blocks, start, n_jobs)]


# -- the table as a whole --------------------------------------------------------------------------------------------


def summarise_partitions(
    executor: PartitionExecutor, partitions: Sequence[Any], roles: ColumnRoles, settings: Settings, table_name: str
) -> PartitionedSource:
    """Find out what the columns are, encode the partitions, and return them as a source."""
    readers = [
        PartitionReader(roles, table_name, _partition_name(partition, i, table_name))
        for i, partition in enumerate(partitions)
    ]
    profiles_or_none = executor.ask(
        profile_partition, list(zip(partitions, readers, [None] * len(readers), strict=True))
    )
    profiles = _check_schemas(profiles_or_none, readers)
    target_summary = summarise_target(
        _join_targets([profile.target for profile in profiles]), roles, settings, table_name
    )
    if len(np.unique(target_summary.pairs.y)) < len(target_summary.target.classes):  # some classes have no weight
        profiles_or_none = executor.ask(
            profile_partition, list(zip(partitions, readers, [target_summary] * len(readers), strict=True))
        )
        profiles = [profile for profile in profiles_or_none if profile is not None]
    samples = {name: join_samples([profile.samples[name] for profile in profiles]) for name in profiles[0].samples}
    n_missing = {name: sum(profile.n_missing[name] for profile in profiles) for name in samples}
    summary = build_summary(target_summary, samples, n_missing)
    blocks = executor.keep(encode_partition, [(p, r, summary) for p, r in zip(partitions, readers, strict=True)])
    if summary.target.task == "regression":
        total = sum(executor.ask(sum_targets, [(block,) for block in blocks]))
        summary = replace(summary, root=summary.root._replace(target_sum=total))
    return PartitionedSource(summary, executor, blocks)


def _partition_name(partition: Any, number: int, table_name: str) -> str:
    is_path = isinstance(partition, str | os.PathLike)
    return truncate(Path(partition).name) if is_path else f"partition {number + 1} of {table_name}"


def _join_targets(parts: Sequence[TargetFacts]) -> TargetFacts:
    """Return the facts of the target; partitions in which it is missing have no type."""
    joined = TargetFacts.join([part for part in parts if len(part.rows)] or parts[:1])
    return replace(joined, n_missing=sum(part.n_missing for part in parts))


def _check_schemas(
    profiles: Sequence[PartitionProfile | None], readers: Sequence[PartitionReader]
) -> list[PartitionProfile]:
    """Return the profiles of the partitions with rows, which must have the same columns of the same types."""
    named = [(profile, reader.name) for profile, reader in zip(profiles, readers, strict=True) if profile is not None]
    if not named:
        raise DataError(f"{readers[0].table_name if readers else 'the table'} has no rows. Give at least one row.")
    first, first_name = named[0]
    forms: dict[str, tuple[str, str]] = {}  # of each column: its form, and where that was seen first
    for profile, name in named:
        differing = set(first.columns) ^ set(profile.columns)
        if differing:
            column = min(differing)
            has, lacks = (name, first_name) if column in profile.columns else (first_name, name)
            raise DataError(
                f'{safe(lacks)} has no column "{truncate(column)}", which {safe(has)} has.'
                f" Columns: {join_few([safe(n) for n in (profile if lacks == name else first).columns])}.",
                hint="Give all parts of the table the same columns.",
            )
        for sample in (profile.target.column, *profile.samples.values()):
            if sample.is_all_missing():
                continue
            form = "number" if sample.form in ("int", "float") else sample.form
            seen, where = forms.setdefault(sample.name, (form, name))
            if seen != form:
                raise DataError(
                    f'column "{truncate(sample.name)}" is {seen} in {safe(where)}, and {form} in {safe(name)}.',
                    hint="Give it one type.",
                    column=sample.name,
                )
    return [profile for profile, _ in named]


@dataclass(eq=False)
class PartitionedSource(Source):
    """Encoded blocks of a table, which an executor keeps."""

    summary: TrainingSummary
    executor: PartitionExecutor
    blocks: Sequence[Any]

    @cached_property
    def rows_per_task(self) -> int:
        """The most rows that one task has memory to grow trees on."""
        return self.executor.capacity().task_bytes // (_CELL_BYTES * (len(self.summary.encodings) + 2))

    @cached_property
    def most_rows(self) -> int:
        """The most rows of a node that one task grows: what fits into memory, and does not let the others wait."""
        fair = max(
            _SMALL_CELLS // (len(self.summary.encodings) + 2), self.summary.n_rows // self.executor.capacity().tasks
        )
        return min(fair, self.rows_per_task)

    def ranges(self) -> list[tuple[Any, Any] | None]:
        """Return the smallest and the largest value of each column of numbers."""
        ranges = self.executor.ask(find_ranges, [(block,) for block in self.blocks])
        ends: list[tuple[Any, Any] | None] = []
        for of_column in zip(*ranges, strict=True):
            present = [pair for pair in of_column if pair is not None]
            ends.append((min(low for low, _ in present), max(high for _, high in present)) if present else None)
        return ends

    def count(self, tree: Arrays, requests: Sequence[Request]) -> list[Bins]:
        """Count rows by bins."""
        parts = self._ask(count_block, tree, requests)
        counts = FrontierCounts.merge([part.unpack() for part in parts], self.summary, requests)
        return counts.split(self.summary, requests)

    def target_ranges(self, tree: Arrays, nodes: Sequence[int]) -> list[TargetRange]:
        """Return the range of the targets of each node."""
        by_block = self._ask(find_target_ranges, tree, nodes)
        ranges = []
        for of_node in zip(*by_block, strict=True):
            lows, highs, raw_lows, raw_highs = zip(*(ends for ends in of_node if ends is not None), strict=True)
            ranges.append(TargetRange(min(lows), max(highs), min(raw_lows), max(raw_highs)))
        return ranges

    def moments(self, tree: Arrays, centres: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """Return Σ w·d and Σ w·d² of each node for d = (y − mean) >> shift."""
        moments = self._ask(sum_moments, tree, dict(centres))
        return {node: (sum(f[node][0] for f in moments), sum(f[node][1] for f in moments)) for node in centres}

    def _ask(self, function: Callable[..., Any], *question: Any) -> list[Any]:
        """Ask each block the same question, which is made into bytes once."""
        written = pickle.dumps(question, pickle.HIGHEST_PROTOCOL)
        return self.executor.ask(function, [(block, written) for block in self.blocks])

    def grow_subtrees(self, tree: Arrays, starts: Sequence[SubtreeStart]) -> list[Subtree]:
        """Return the subtrees below some nodes, each grown by one task; as many at once as there are tasks."""
        capacity = self.executor.capacity()
        if not starts[0].depth:
            subtrees: list[Subtree] = self.executor.ask(grow_whole, [(self.blocks, starts[0], capacity.threads)])[0]
            return subtrees
        question = pickle.dumps((tree,), pickle.HIGHEST_PROTOCOL)
        grown: dict[int, Subtree] = {}
        for batches in chunks(_pack(starts, self.most_rows), capacity.tasks):
            calls = [(block, question, [start.node for start in batch]) for batch in batches for block in self.blocks]
            kept = chunks(self.executor.keep(take_rows, calls), len(self.blocks))
            answers = self.executor.ask(
                grow_subtrees, [(parts, batch, 1) for parts, batch in zip(kept, batches, strict=True)]
            )
            for batch, subtrees in zip(batches, answers, strict=True):
                grown |= zip((start.node for start in batch), subtrees, strict=True)
        return [grown[start.node] for start in starts]


def _pack(starts: Sequence[SubtreeStart], most_rows: int) -> list[list[SubtreeStart]]:
    """Put nodes together that are not too many rows, the largest first."""
    batches: list[list[SubtreeStart]] = []
    free: list[int] = []
    for start in sorted(starts, key=lambda s: (-s.rows, s.node)):
        if not free or free[-1] < start.rows:
            batches.append([])
            free.append(most_rows)
        batches[-1].append(start)
        free[-1] -= start.rows
    return batches


def chunks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Cut a list into lists of ``size`` items, the last one shorter."""
    return [items[first : first + size] for first in range(0, len(items), size)]
