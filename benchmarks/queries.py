"""Trees grown by queries in DuckDB, beside memory: CPU time per cell and level, and the same bytes.

python benchmarks/queries.py [rows] [columns] [depth]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import treewise as tw


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(rows: int = 2_000_000, columns: int = 20, depth: int = 4) -> None:
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        path = Path(folder, "table.parquet")
        noise = ", ".join(f"random() + random() + random() AS x{i}" for i in range(columns))
        label = "CASE WHEN x0 + x1 * x2 + 0.7 * random() > 3.6 THEN 'yes' ELSE 'no' END AS y"
        database.execute("SELECT setseed(0.5)")
        database.execute(f"COPY (SELECT *, {label} FROM (SELECT {noise} FROM range({rows}))) TO '{path}'")
        relation = database.read_parquet(str(path))
        texts: list[str] = []
        trees = {}
        for where, options in (("queries", {"show_queries": texts.append}), ("memory", {"engine": "memory"})):
            began, began_cpu = time.monotonic(), cpu()
            trees[where] = tw.grow(relation, "y", max_depth=depth, **options)
            seconds, used = time.monotonic() - began, cpu() - began_cpu
            per_cell = 1e9 * used / (rows * columns * depth)
            print(f"{where:8} {seconds:7.1f} s  {used:7.1f} CPU s  {per_cell:6.1f} CPU ns per cell and level")
        same = trees["queries"].with_(notes=()) == trees["memory"].with_(notes=())
        outcome = "the same tree" if same else "NOT the same tree"
        print(f"{len(texts)} queries, {len(trees['queries'])} nodes; {outcome}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
