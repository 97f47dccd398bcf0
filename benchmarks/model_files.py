"""Measure saving and loading of a tree with a million nodes: time and memory.

    python -m benchmarks.model_files [NODES]

Each load runs in a subprocess; memory is the increase of its peak.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import treewise as tw
from treewise.tree.tree import Tree

MB = 1 << 20


def random_tree(nodes: int) -> Tree:
    """Grow a full tree with about this many nodes on noise."""
    rows, rng = round(nodes * 1.2), np.random.default_rng(0)
    columns = {"x": rng.normal(size=rows).round(6), "z": rng.integers(0, 1000, rows).astype(float)}
    return tw.grow({**columns, "y": rng.integers(0, 2, rows)}, "y")


def peak_memory() -> int:
    """Return the peak memory of this process in bytes (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def load(path: str) -> None:
    """Load a file and print time and memory."""
    from treewise.formats.model_file.model_file import load

    before = peak_memory()
    begin = time.perf_counter()
    tree = load(path)
    seconds = time.perf_counter() - begin
    peak = peak_memory() - before
    arrays = sum(getattr(tree.arrays, name).nbytes for name in tree.arrays.__dataclass_fields__)
    size = os.path.getsize(path)
    print(
        f"load {seconds:6.2f} s   peak {peak / MB:5.0f} MB = file {size / MB:.0f} + tree {arrays / MB:.0f}"
        f" + {(peak - size - arrays) / size:.1f} × file"
    )


def main(nodes: int) -> None:
    """Save a tree in both forms and load each of them."""
    tree = random_tree(nodes)
    print(f"{len(tree):,} nodes, depth {tree.depth}")
    with tempfile.TemporaryDirectory() as folder:
        for name, compact in (("packed", True), ("lists", False)):
            path = Path(folder) / f"{name}.json"
            begin = time.perf_counter()
            tree.save(path, compact=compact)
            seconds = time.perf_counter() - begin
            print(f"{name:7} {path.stat().st_size / MB:5.0f} MB   save {seconds:6.2f} s   ", end="", flush=True)
            subprocess.run([sys.executable, "-m", "benchmarks.model_files", "load", str(path)], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["load"]:
        load(sys.argv[2])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 1_000_000)
