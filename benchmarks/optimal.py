"""Optimal trees: treewise, ConTree and STreeD on the same tables, in one run.

    pip install pycontree pystreed
    python -m benchmarks.optimal FOLDER [--table NAME] [--depth 2 --depth 3] [--limit 60]

FOLDER has ``continuous/*.csv`` and ``binary/*.csv``, classes in the first column, no missing cells: the tables on which
the authors of these solvers measure. Each solver runs in a process of its own, on one thread unless ``--threads`` says
otherwise (treewise only), and prints errors, whether they are proven, and processor seconds without reading the file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the classes of a table."""
    cells = np.genfromtxt(path, delimiter=",", skip_header=1)
    return cells[:, 1:], cells[:, 0].astype(int)


def run_treewise(x, y, depth, limit, threads):
    import treewise as tw

    result = tw.optimal(x, y.astype(str), max_depth=depth, time_limit=limit, n_jobs=threads)
    n = len(y)
    return {"errors": round(result.objective * n), "bound": round(result.lower_bound * n), "proven": result.is_proven}


def run_contree(x, y, depth, limit, _threads):
    from pycontree import ConTree

    model = ConTree(max_depth=depth, time_limit=limit)
    began = time.monotonic()
    model.fit(x, y)
    errors = int((model.predict(x) != y).sum())
    return {"errors": errors, "proven": time.monotonic() - began < limit}


def run_streed(x, y, depth, limit, _threads):
    from pystreed import STreeDClassifier

    model = STreeDClassifier("accuracy", max_depth=depth, time_limit=limit)
    began = time.monotonic()
    model.fit(x.astype(int), y)
    errors = int((model.predict(x.astype(int)) != y).sum())
    return {"errors": errors, "proven": time.monotonic() - began < limit}


RUNS = {"treewise": run_treewise, "contree": run_contree, "streed": run_streed}


def measure(solver: str, path: Path, depth: int, limit: float, threads: int) -> None:
    """Run one solver, in this process, and print what came of it."""
    x, y = load(path)
    began, wall = time.process_time(), time.monotonic()
    found = RUNS[solver](x, y, depth, limit, threads)
    found |= {"cpu": time.process_time() - began, "wall": time.monotonic() - wall}
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def main(words: list[str] | None = None) -> None:
    """Measure the solvers that suit each table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--table", action="append", help="only these tables")
    parser.add_argument("--depth", action="append", type=int, help="2 and 3 unless given")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per solver and table")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--solver", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.solver:
        return measure(options.solver, options.folder, options.depth[0], options.limit, options.threads)
    print("| table | depth | solver | errors | proven | CPU s | wall s | MB |\n|---|---|---|---|---|---|---|---|")
    for path in sorted([*options.folder.glob("continuous/*.csv"), *options.folder.glob("binary/*.csv")]):
        if options.table and path.stem not in options.table:
            continue
        for depth in options.depth or (2, 3):
            for solver in ("treewise", "contree" if path.parent.name == "continuous" else "streed"):
                call = [sys.executable, "-m", "benchmarks.optimal", str(path), "--solver", solver]
                call += ["--depth", str(depth), "--limit", str(options.limit), "--threads", str(options.threads)]
                done = subprocess.run(
                    call, capture_output=True, text=True, check=False, timeout=options.limit * 20 + 60
                )
                print(f"| {path.stem} | {depth} | {solver} | {_cells(done)} |", flush=True)
    return None


def _cells(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1][:60]} | | | |"
    found = json.loads(done.stdout.strip().splitlines()[-1])
    bound = f" (bound {found['bound']})" if found.get("bound", found["errors"]) < found["errors"] else ""
    errors = f"{found['errors']}{bound}"
    proven = "yes" if found["proven"] else "no"
    return f"{errors} | {proven} | {found['cpu']:.3f} | {found['wall']:.2f} | {found['megabytes']:.0f}"


if __name__ == "__main__":
    main()
