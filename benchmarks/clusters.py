"""One tree on a Dask cluster of worker processes (two by default): treewise, LightGBM and Spark MLlib on the same rows.

    python -m benchmarks.clusters --rows 1000000 --peers lightgbm spark
    python -m benchmarks.clusters --workers 1 2 4

CPU is that of all processes: the workers, Spark's Java, and this one. Every library begins with the rows on the
cluster, in memory. Bytes per level are those of the answers. Their arithmetic minimum is, for each (node, column, bin)
with rows, one count per class, in integers of the smallest size that has the largest of them, and the smallest and the
largest value. Spark needs `pip install pyspark` and Java.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import psutil

import treewise as tw
from treewise.sources import partitions
from treewise.sources.dask_executor import DaskExecutor

COLUMNS = 20


def make_table(rows: int) -> Any:
    """Two classes that depend on four of the columns."""
    import pandas as pd

    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, COLUMNS))
    score = x[:, 0] + x[:, 1] * x[:, 2] + (x[:, 3] > 0.5) + rng.normal(size=rows) / 2
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(COLUMNS)]).assign(y=(score > 0.3).astype(np.int64))


def cpu_seconds() -> float:
    """The CPU seconds of this process and those below it."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def measure(name: str, fit: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """Return the least wall and CPU seconds of several fits."""
    actual = []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), cpu_seconds()
        fit()
        actual.append((time.perf_counter() - wall, cpu_seconds() - cpu))
    best = min(wall for wall, _ in actual), min(cpu for _, cpu in actual)
    print(f"{name:28} wall {best[0]:7.2f} s   cpu {best[1]:7.2f} s", flush=True)
    return best


class Traffic:
    """The bytes of the answers to the questions about bins."""

    def __init__(self) -> None:
        self.levels: list[tuple[int, int, int]] = []  # requests, bytes, least bytes

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record what ``DaskExecutor.ask`` returns."""
        ask = DaskExecutor.ask

        def recording(executor: DaskExecutor, function: Any, calls: Any) -> list[Any]:
            answers = ask(executor, function, calls)
            if function is partitions.count_block:
                self.levels.append((len(answers[0].groups), *map(sum, zip(*map(self.bytes_of, answers), strict=True))))
            return answers

        DaskExecutor.ask = recording  # type: ignore[method-assign]
        try:
            yield
        finally:
            DaskExecutor.ask = ask  # type: ignore[method-assign]

    @staticmethod
    def bytes_of(answer: Any) -> tuple[int, int]:
        buckets = int((answer.bin != -2).sum())
        return answer.nbytes, buckets * (16 + answer.n_classes * answer.counts.itemsize)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--workers", type=int, nargs="*", default=[2])
    parser.add_argument("--peers", nargs="*", choices=["lightgbm", "spark"], default=[])
    options = parser.parse_args()
    table = make_table(options.rows)
    print(f"{options.rows:,} rows x {COLUMNS} columns, depth {options.depth}, {options.partitions} partitions")
    fit = {"max_depth": options.depth, "task": "classification", "criterion": "gini"}
    measure("treewise in memory", lambda: tw.grow(table, "y", **fit), options.repeat)
    for workers in options.workers:
        on_dask(table, options, fit, workers)
    if "spark" in options.peers:
        on_spark(table, options)


def on_dask(table: Any, options: Any, fit: dict[str, Any], workers: int) -> None:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster, wait

    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        frame = dd.from_pandas(table, npartitions=options.partitions).persist()
        wait(frame)
        trees: list[Any] = []

        def grow() -> None:
            trees.append(tw.grow(frame, "y", **fit, engine=client))

        print(f"{workers} worker processes")
        measure("treewise on Dask", grow, options.repeat)
        traffic = Traffic()
        with traffic.recorded(), patch.object(partitions, "_CELL_BYTES", 1 << 60):
            measure("treewise, by counts alone", grow, 1)
        in_memory = tw.grow(table, "y", **fit)
        print(f"  the tree of memory: {all(tree == in_memory for tree in trees)}; {in_memory.n_leaves} leaves")
        for requests, sent, least in traffic.levels:
            print(f"  {requests:6,} questions {sent:12,} bytes, {sent / max(1, least):.2f} times the minimum")
        sent, least = (sum(level[i] for level in traffic.levels) for i in (1, 2))
        print(f"  all levels        {sent:12,} bytes, {sent / max(1, least):.2f} times the minimum")
        if "lightgbm" in options.peers:
            from lightgbm import DaskLGBMClassifier

            x, y = (part.to_dask_array(lengths=True).persist() for part in (frame.drop(columns="y"), frame["y"]))
            wait([x, y])
            learner = {"n_estimators": 1, "max_depth": options.depth, "num_leaves": 2**options.depth, "verbose": -1}

            def lightgbm() -> None:
                DaskLGBMClassifier(**learner, min_child_samples=1, learning_rate=1.0, client=client).fit(x, y)

            measure("LightGBM on Dask", lightgbm, options.repeat)


def on_spark(table: Any, options: Any) -> None:
    from pyspark.ml.classification import DecisionTreeClassifier
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": "3g",
        "spark.ui.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    columns = [f"x{i}" for i in range(COLUMNS)]
    frame = VectorAssembler(inputCols=columns, outputCol="features").transform(spark.createDataFrame(table))
    frame = frame.select("features", "y").repartition(options.partitions).cache()
    frame.count()
    for bins in (32, 256):
        learner = DecisionTreeClassifier(labelCol="y", maxDepth=options.depth, maxBins=bins)
        measure(f"Spark MLlib, {bins} bins", partial(learner.fit, frame), options.repeat)
    spark.stop()


if __name__ == "__main__":
    main()
