"""A table larger than the memory allowed: files read in batches, beside reading them at once and scikit-learn.

    python -m benchmarks.out_of_core                 5,000,000 rows × 20 columns in 10 Parquet files, 1 GB
    python -m benchmarks.out_of_core --rows 1000000 --memory 300MB

Every learner runs in a process of its own. "limited" sets the operating system's limit on the memory that a process
may allocate (RLIMIT_DATA); pages of files that are mapped do not count, since the system drops them when it needs room.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from treewise.data.batches import parse_memory

DEPTH = 8


def write_files(folder: Path, n_rows: int, n_columns: int, n_files: int) -> None:
    import polars as pl

    for i in range(n_files):
        rng = np.random.default_rng(i)
        x = rng.normal(size=(n_rows // n_files, n_columns))
        score = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=len(x))
        frame = pl.DataFrame(x, schema=[f"x{j}" for j in range(n_columns)])
        frame.with_columns(y=pl.Series(np.where(score > 0.5, "yes", "no"))).write_parquet(folder / f"{i:02}.parquet")


def run(learner: str, folder: str, memory: str | None, limit: int | None) -> dict[str, object]:
    """Grow one tree; return wall and CPU seconds, and the peak of the resident memory, mapped files included."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    started, cpu = time.perf_counter(), time.process_time()
    if learner == "treewise":
        import treewise as tw
        from treewise.formats.model_file.model_file import dumps

        tree = tw.grow(f"{folder}/*.parquet", "y", max_depth=DEPTH, memory=memory)
        outcome = {"leaves": tree.n_leaves, "model": hash_of(dumps(tree))}
    else:
        import polars as pl
        from sklearn.tree import DecisionTreeClassifier

        frame = pl.read_parquet(f"{folder}/*.parquet")
        y = frame["y"].to_numpy()
        x = frame.drop("y").cast(pl.Float32).to_numpy()
        fitted = DecisionTreeClassifier(criterion="entropy", max_depth=DEPTH).fit(x, y)
        outcome = {"leaves": int(fitted.get_n_leaves()), "model": ""}
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1000
    return {"wall": time.perf_counter() - started, "cpu": time.process_time() - cpu, "peak": peak, **outcome}


def hash_of(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:12]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        learner, folder, memory, limit = args.run
        print(json.dumps(run(learner, folder, memory or None, int(limit) if limit else None)))
        return
    limit = str(parse_memory(args.memory))
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), args.rows, args.columns, 10)
        size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 10**6
        print(f"{args.rows:,} rows × {args.columns} columns, {size:,.0f} MB of Parquet, depth {DEPTH}\n")
        print(f"{'':<44}{'wall s':>8}{'CPU s':>8}{'peak MB':>9}{'leaves':>8}  model")
        for title, learner, memory, data_limit in (
            (f"treewise, {args.memory}, limited", "treewise", args.memory, limit),
            ("treewise, everything in memory", "treewise", "1TB", ""),
            ("scikit-learn (float32)", "scikit-learn", "", ""),
            (f"scikit-learn, {args.memory}, limited", "scikit-learn", "", limit),
        ):
            command = [sys.executable, "-m", "benchmarks.out_of_core", "--run", learner, folder, memory, data_limit]
            completed = subprocess.run(command, capture_output=True, text=True, check=False)
            if completed.returncode:
                last = (
                    completed.stderr.strip().splitlines()[-1]
                    if completed.stderr.strip()
                    else f"exit {completed.returncode}"
                )
                print(f"{title:<44}{'fails:':>8} {last[:70]}")
                continue
            out = json.loads(completed.stdout)
            figures = f"{out['wall']:>8.1f}{out['cpu']:>8.1f}{out['peak']:>9,.0f}{out['leaves']:>8}"
            print(f"{title:<44}{figures}  {out['model']}")


if __name__ == "__main__":
    main()
