"""``treewise predict`` on a large CSV beside polars reading it: time, CPU time and memory of whole processes.

python benchmarks/predict_files.py [rows] [times]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import treewise as tw

TOWNS = np.array(["Rome", "Bari", "Milan", "Turin", "Genoa"])


def draw(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Twelve columns, of which the tree tests about half, as in many tables."""
    numbers = {f"x{i}": np.round(rng.normal(size=n), 4) for i in range(4)}
    return pl.DataFrame(
        {
            "id": rng.integers(0, 10**9, n),
            "age": rng.integers(18, 90, n),
            "income": np.round(rng.normal(40_000, 15_000, n), 2),
            "score": np.round(rng.random(n), 4),
            "visits": rng.poisson(4, n),
            "town": TOWNS[rng.integers(0, 5, n)],
            "height": np.round(rng.normal(170, 10, n), 1),
            "code": rng.integers(1000, 9999, n).astype(str),
            **numbers,
        }
    )


LAUNCHER = """
import resource, subprocess, sys, time
began = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)
"""


def run(command: list[str]) -> tuple[float, float, float]:
    """Return seconds, CPU seconds and the largest resident memory in MB of a process.

    A small process starts it: the memory of the one that forks counts as the child's.
    """
    completed = subprocess.run([sys.executable, "-c", LAUNCHER, *command], capture_output=True, text=True, check=True)
    seconds, cpu, memory = map(float, completed.stdout.split())
    return seconds, cpu, memory


def main(rows: int = 10_000_000, times: int = 3) -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path, model, out = (Path(folder, name) for name in ("rows.csv", "model.json", "out.csv"))
        train = draw(100_000, rng)
        rule = (train["age"] > 40) & (train["income"] > 35_000) | (train["town"] == "Rome") & (train["score"] > 0.3)
        noisy = rule.to_numpy() ^ (rng.random(len(train)) < 0.1)
        tree = tw.grow(train.with_columns(pl.Series("y", np.where(noisy, "yes", "no"))), "y", max_leaf_nodes=30)
        tree.save(model)
        with path.open("wb") as file:
            for begin in range(0, rows, 500_000):
                part = draw(min(500_000, rows - begin), rng)
                file.write(part.write_csv(include_header=begin == 0).encode())
        megabytes, used = path.stat().st_size / 1e6, len(tree.used_columns)
        print(f"{rows:,} rows, {megabytes:,.0f} MB, 12 columns, of which the tree tests {used}; best of {times}")
        reading = [sys.executable, "-c", f"import polars as pl; pl.read_csv({str(path)!r})"]
        predicting = [sys.executable, "-m", "treewise", "predict", str(model), str(path), "-o", str(out)]
        commands = {"polars.read_csv": reading, "treewise predict": predicting}
        best: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
        for _ in range(times):  # in turn, so that other work on the machine hits both
            for name, command in commands.items():
                best[name].append(run(command))
        for name, runs in best.items():
            seconds, cpu, memory = (min(column) for column in zip(*runs, strict=True))
            print(f"{name:17} {seconds:6.1f} s  {cpu:6.2f} CPU s  {memory:6.0f} MB")
        ratios = [
            min(run[i] for run in best["polars.read_csv"]) / min(run[i] for run in best["treewise predict"])
            for i in (0, 1)
        ]
        print(
            f"speed of polars' bare reading: {100 * ratios[0]:.0f} % by the clock, {100 * ratios[1]:.0f} % by CPU time"
        )
        with out.open("rb") as file:
            assert sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) == rows + 1


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
