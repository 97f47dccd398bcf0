"""Time and bytes per level of one tree on a cluster, on paper: from constants that are measured on this machine.

    python -m benchmarks.simulate_cluster                         a million to a billion rows, one to a hundred workers
    python -m benchmarks.simulate_cluster --rows 1000000000 --workers 100 --levels
    python -m benchmarks.simulate_cluster --measure               measure the constants first (a minute)

Assumptions: one thread per worker, and partitions of at most ``--partition-rows``; counts alone, as where no node fits
into one worker; rows divide evenly, levels are full, each partition has rows in every bin; the answers go to one driver
with ``--bandwidth``, which adds them up and decides while nothing is counted; no worker is lost or slow. A question is
one task per partition; each level asks twice: for bins, and for finer ones in a twentieth of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

BINS = 256
_FINER = 0.05  # of the bytes and the cells of a level, for the second question


@dataclass(frozen=True)
class Constants:
    """What was measured: CPU of one core, two classes; the cost of a task is Dask's documented one millisecond."""

    encode: float = 20.0  # ns per cell: profile and encode a partition, once
    count: float = 9.0  # ns per cell and level
    bin_bytes: float = 22.0  # of the packed answer per node, column and bin: two counts and two ends
    merge: float = 4.4  # ns per byte of the answers, on the driver
    decide: float = 820.0  # µs per node and column, on the driver
    task: float = 1.0  # ms per task, on the scheduler


@dataclass(frozen=True)
class Level:
    """What a level costs: seconds of a worker, of the network, and of the driver; bytes that arrive there."""

    nodes: int
    counting: float
    network: float
    driver: float
    sent: float

    @property
    def seconds(self) -> float:
        """The time by the clock."""
        return self.counting + self.network + self.driver


def simulate(
    constants: Constants, rows: float, columns: int, depth: int, workers: int, partition_rows: float, bandwidth: float
) -> list[Level]:
    """Return the levels of a tree."""
    partitions = max(workers, int(np.ceil(rows / partition_rows)))
    levels = []
    for nodes in (2**level for level in range(depth)):
        bins = min(BINS, rows / partitions / nodes)  # a partition answers with bins that have rows
        sent = (1 + _FINER) * partitions * nodes * columns * bins * constants.bin_bytes
        counting = (1 + _FINER) * rows / workers * columns * constants.count * 1e-9
        driver = sent * constants.merge * 1e-9 + nodes * columns * constants.decide * 1e-6
        driver += 2 * partitions * constants.task * 1e-3
        levels.append(Level(nodes, counting, sent / bandwidth, driver, sent))
    return levels


def measure() -> Constants:
    """Measure on a million cells in four partitions: CPU seconds of this process."""
    import pandas as pd

    from treewise.sources import partitions
    from treewise.sources.frontier_counts import FrontierCounts
    from treewise.train.bin_search import first_grid
    from treewise.train.column_roles import ColumnRoles
    from treewise.train.grow_source import SourceGrower
    from treewise.train.settings import Settings
    from treewise.train.source import Request

    rng = np.random.default_rng(0)
    n, columns, parts = 200_000, 20, 4
    x = rng.normal(size=(n, columns))
    table = pd.DataFrame(x).rename(columns=str).assign(y=(x[:, 0] + x[:, 1] * x[:, 2] > 0).astype(int))
    frames = [table.iloc[i * n // parts : (i + 1) * n // parts] for i in range(parts)]
    roles, settings = ColumnRoles("y", task="classification"), Settings(criterion="gini", max_depth=3)
    executor = _HereExecutor()
    encode, source = _timed(lambda: partitions.summarise_partitions(executor, frames, roles, settings, "the table"))
    grower = SourceGrower(source)
    executor.seconds = 0.0
    grown, _ = _timed(grower.grow)
    searched = sum(1 for node in grower.nodes if node.depth < settings.max_depth)
    decide = (grown - executor.seconds) / searched / columns
    tree = grower._arrays(range(15))
    leaves = [node for node in range(15) if not grower.nodes[node].parent < 0 and node >= 7]
    requests = [
        Request(node, column, first_grid(*ends, BINS)) for column, ends in enumerate(source.ranges()) for node in leaves
    ]
    count, answers = _timed(lambda: [block.count_frontier(tree, requests).pack() for block in source.blocks])
    sent = sum(answer.nbytes for answer in answers)
    merge, _ = _timed(lambda: FrontierCounts.merge([answer.unpack() for answer in answers], source.summary, requests))
    bins = sum(int((answer.bin >= 0).sum()) for answer in answers)
    return replace(
        Constants(),
        encode=encode * 1e9 / n / columns,
        count=count * 1e9 / n / columns,
        bin_bytes=sent / bins,
        merge=merge * 1e9 / sent,
        decide=decide * 1e6,
    )


class _HereExecutor:
    """Calls functions in this process, and adds up their CPU seconds."""

    seconds = 0.0

    def capacity(self) -> Any:
        """Return that no rows may be brought together."""
        from treewise.sources.partitions import Capacity

        return Capacity(1, 0, 1)

    def ask(self, function: Callable[..., Any], calls: Any) -> list[Any]:
        """Call a function."""
        seconds, answers = _timed(lambda: [function(*call) for call in calls])
        self.seconds += seconds
        return answers

    keep = ask


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    value = call()
    return time.process_time() - began, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 1e7, 1e8, 1e9])
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 10, 100])
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--partition-rows", type=float, default=1e7)
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes per second into the driver")
    parser.add_argument("--levels", action="store_true", help="print each level")
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    constants = measure() if options.measure else Constants()
    print("constants: " + ", ".join(f"{f.name} {getattr(constants, f.name):.3g}" for f in fields(constants)))
    print(
        f"{options.columns} columns, depth {options.depth}, {options.bandwidth:.3g} bytes per second into the driver\n"
    )
    print(
        "| rows | workers | encode s | grow s | of it counting | network | driver | MB, last level | MB, all levels |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for rows in options.rows:
        for workers in options.workers:
            shape = rows, options.columns, options.depth, workers, options.partition_rows, options.bandwidth
            levels = simulate(constants, *shape)
            parts = [sum(getattr(level, name) for level in levels) for name in ("counting", "network", "driver")]
            encode = rows * options.columns / workers * constants.encode * 1e-9
            numbers = [encode, sum(level.seconds for level in levels), *parts]
            sent = [levels[-1].sent / 1e6, sum(level.sent for level in levels) / 1e6]
            cells = [f"{number:,.1f}" for number in numbers] + [f"{number:,.0f}" for number in sent]
            print(f"| {rows:,.0f} | {workers} | " + " | ".join(cells) + " |")
            for i, level in enumerate(levels if options.levels else ()):
                print(
                    f"  level {i}: {level.nodes} nodes, {level.seconds:.2f} s, counting {level.counting:.2f},"
                    f" network {level.network:.2f}, driver {level.driver:.2f}, {level.sent / 1e6:,.1f} MB"
                )


if __name__ == "__main__":
    main()
