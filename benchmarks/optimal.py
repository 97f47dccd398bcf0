"""Optimal trees: treewise, ConTree, STreeD and GOSDT on the same tables, in one run.

    pip install pycontree pystreed gosdt
    python -m benchmarks.optimal FOLDER [--table NAME] [--depth 2 --depth 3] [--limit 60] [--penalty 0.01]

FOLDER has ``continuous/*.csv`` and ``binary/*.csv``, classes in the first column, no missing cells: the tables on which
the authors of these solvers measure. Each solver runs in a process of its own, on one thread unless ``--threads`` says
otherwise (treewise only), and prints errors, whether they are proven, processor seconds without reading the file, and
the largest memory of the process. With ``--penalty``, errors plus a penalty for each leaf are minimised, beside GOSDT.
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


def run_treewise(x, y, depth, limit, threads, penalty):
    import treewise as tw

    result = tw.optimal(x, y.astype(str), max_depth=depth, time_limit=limit, n_jobs=threads, penalty=penalty)
    n = len(y)
    if penalty:
        return {"errors": round(result.objective, 5), "bound": round(result.lower_bound, 5), "proven": result.is_proven}
    return {"errors": round(result.objective * n), "bound": round(result.lower_bound * n), "proven": result.is_proven}


def run_contree(x, y, depth, limit, _threads, _penalty):
    from pycontree import ConTree

    model = ConTree(max_depth=depth, time_limit=limit)
    began = time.monotonic()
    model.fit(x, y)
    errors = int((model.predict(x) != y).sum())
    return {"errors": errors, "proven": time.monotonic() - began < limit}


def run_streed(x, y, depth, limit, _threads, _penalty):
    from pystreed import STreeDClassifier

    model = STreeDClassifier("accuracy", max_depth=depth, time_limit=limit)
    began = time.monotonic()
    model.fit(x.astype(int), y)
    errors = int((model.predict(x.astype(int)) != y).sum())
    return {"errors": errors, "proven": time.monotonic() - began < limit}


def run_gosdt(x, y, depth, limit, _threads, penalty):
    import pandas as pd
    from gosdt import GOSDTClassifier

    # Its predict() fails with scikit-learn 1.9; its model knows its objective.
    model = GOSDTClassifier(regularization=penalty, depth_budget=depth, time_limit=int(limit), allow_small_reg=True)
    model.fit(pd.DataFrame(x.astype(bool)), y)
    result = model.result_
    return {"errors": round(result.upperbound, 5), "proven": result.upperbound - result.lowerbound < 1e-5}


RUNS = {"treewise": run_treewise, "contree": run_contree, "streed": run_streed, "gosdt": run_gosdt}


def measure(solver: str, path: Path, depth: int, limit: float, threads: int, penalty: float) -> None:
    """Run one solver, in this process, and print what came of it."""
    x, y = load(path)
    began, wall = time.process_time(), time.monotonic()
    found = RUNS[solver](x, y, depth, limit, threads, penalty)
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
    parser.add_argument("--penalty", type=float, default=0.0, help="per leaf: tables of 0 and 1, beside GOSDT")
    parser.add_argument("--solver", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.solver:
        return measure(
            options.solver, options.folder, options.depth[0], options.limit, options.threads, options.penalty
        )
    print("| table | depth | solver | errors | proven | CPU s | wall s | MB |\n|---|---|---|---|---|---|---|---|")
    for path in sorted([*options.folder.glob("continuous/*.csv"), *options.folder.glob("binary/*.csv")]):
        if options.table and path.stem not in options.table:
            continue
        is_binary = path.parent.name == "binary"
        if options.penalty and not is_binary:
            continue
        peer = "gosdt" if options.penalty else "streed" if is_binary else "contree"
        for depth in options.depth or (2, 3):
            for solver in ("treewise", peer):
                call = [sys.executable, "-m", "benchmarks.optimal", str(path), "--solver", solver]
                call += ["--depth", str(depth), "--limit", str(options.limit), "--threads", str(options.threads)]
                call += ["--penalty", str(options.penalty)]
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
