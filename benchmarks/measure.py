"""One library on one table, in a process of its own: wall and CPU time, peak memory, tree size, accuracy held out.

    python -m benchmarks.measure '{"workload": "W2", "learner": "treewise", "rows": 10000, "home": …, "turn": [2, 8]}'

``run`` starts such a process and reads the line of JSON it prints. The process loads the table, warms the library up on
a few rows, and fits ``repeat`` times, and again while ``seconds`` are left: the first fit gives the peak memory beyond
what the process had, all together the best time. Every library has the same time for its turn, and turns alternate, one
process after the other, so that a busy minute hits all alike.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import LEARNERS, THREADS, Learner
from benchmarks.workloads import GROWN_ON, WORKLOADS, Array, Workload, load

WARM_UP = 500  # rows
ONE_BY_ONE = 300  # rows predicted singly
SLOW = 10.0  # seconds: a fit that takes longer is not repeated in the same turn
Turn = tuple[int, float]  # at least so many fits, and as many more as begin within so many seconds


def run(workload: Workload, learner: Learner, rows: int, home: Path, turn: Turn) -> dict[str, float]:
    """Measure in a child process; an empty answer if the library could not do it."""
    asked = {"workload": workload.name, "learner": learner.name, "rows": rows, "home": str(home), "turn": turn}
    threads = {"OMP_NUM_THREADS": str(THREADS)}
    done = subprocess.run(
        r_command(asked) if learner.in_r else [sys.executable, "-m", "benchmarks.measure", json.dumps(asked)],
        capture_output=True,
        text=True,
        env={**os.environ, **threads},
        check=False,
    )
    if done.returncode:
        reason = next(reversed(done.stderr.strip().splitlines()), f"ended by signal {-done.returncode}")
        print(f"{learner.name} failed on {workload.name}: {reason}", file=sys.stderr)
        return {}
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def r_command(asked: dict[str, Any]) -> list[str]:
    """Return the words that measure a library of R's (ranger.R)."""
    workload = next(w for w in WORKLOADS if w.name == asked["workload"])
    limits = [workload.limits["n_estimators"], workload.limits["max_features"]]
    words = [asked["home"], asked["rows"], *asked["turn"], *limits, THREADS, int(workload.predict)]
    return ["Rscript", "--vanilla", str(Path(__file__).with_name("ranger.R")), *map(str, words)]


def memory(field: str) -> float:
    """Return what Linux says of this process's memory, in MB; NaN elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def forget_peak() -> None:
    """Let the peak of memory begin anew."""
    if Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")


def best_time(work: Callable[[], Any], turn: Turn) -> dict[str, float]:
    """Return the least wall and CPU seconds of several runs."""
    least, seconds = turn
    wall, cpu = [], []
    while len(wall) < least or sum(wall) < seconds:
        began, busy = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - busy)
    return {"wall": min(wall), "cpu": min(cpu)}


def measure_fit(workload: Workload, learner: Learner, rows: int, home: Path, turn: Turn) -> dict[str, float]:
    """Fit, and judge the tree on the rows held out."""
    x, y, x_new, y_new = load(home, rows)
    learner.fit(workload, learner.given(workload, x[:WARM_UP]), y[:WARM_UP])
    given, models = learner.given(workload, x), []
    del x
    forget_peak()
    before = memory("VmRSS")
    first = best_time(lambda: models.append(learner.fit(workload, given, y)), (1, 0.0))
    peak = memory("VmHWM") - before
    left = (turn[0] - 1, turn[1] - first["wall"])
    again = first["wall"] < SLOW and (left[0] > 0 or left[1] > 0)
    rest = best_time(lambda: learner.fit(workload, given, y), left) if again else first
    said = learner.predict(models[0], learner.given(workload, x_new))
    size = model_size(workload, learner, models[0], rows, home) if workload.ensemble else {}
    return {
        **{kind: min(first[kind], rest[kind]) for kind in first},
        "peak": peak,
        "nodes": learner.nodes(models[0]),
        "quality": quality(workload, said, y_new),
        **size,
    }


def model_size(workload: Workload, learner: Learner, model: Any, rows: int, home: Path) -> dict[str, float]:
    """Return the size of the model's file, and the memory a process gains that reads the file and predicts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        learner.save(model, path)
        files = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
        asked = {"workload": workload.name, "learner": learner.name, "rows": rows, "home": str(home)}
        words = [sys.executable, "-m", "benchmarks.measure", json.dumps({**asked, "model": str(path)})]
        kept = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["kept"]
        return {"kept": kept, "file": sum(part.stat().st_size for part in files) / 2**20}


def measure_model(workload: Workload, learner: Learner, rows: int, home: Path, path: Path) -> dict[str, float]:
    """Read a model and predict; what it takes while it is there."""
    x, y, x_new, _ = load(home, rows)
    few = learner.given(workload, x[:WARM_UP])
    learner.predict(learner.fit(workload, few, y[:WARM_UP]), few)
    given = learner.given(workload, x_new)
    give_back()
    before = memory("VmRSS")
    model = learner.load(path)
    learner.predict(model, given)
    give_back()
    return {"kept": memory("VmRSS") - before}


def give_back() -> None:
    """Return to the system what is free, so that what is left is what is used."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def quality(workload: Workload, said: Array, truth: Array) -> float:
    """Return the accuracy, or for numbers the share of variance explained."""
    if workload.task == "regression":
        return float(1 - np.mean((said - truth) ** 2) / np.var(truth))
    return float(np.mean(np.asarray(said) == truth))


def measure_prediction(workload: Workload, learner: Learner, rows: int, home: Path, turn: Turn) -> dict[str, float]:
    """Predict many rows at once, and rows one by one as a program that serves one would have them."""
    x, y, _, _ = load(home, rows)
    grown = min(GROWN_ON, rows)
    model = learner.fit(workload, learner.given(workload, x[:grown]), y[:grown])
    given = learner.given(workload, x)
    learner.predict(model, learner.given(workload, x[:WARM_UP]))
    forget_peak()
    before = memory("VmRSS")
    found = best_time(lambda: learner.predict(model, given), turn)
    peak = memory("VmHWM") - before
    if learner.name == "treewise":
        single = [cells.tolist() for cells in x[:ONE_BY_ONE]]
        predict = model.predict
    else:
        single = [learner.given(workload, x[i : i + 1]) for i in range(ONE_BY_ONE)]
        predict = lambda row: learner.predict(model, row)  # noqa: E731
    one = best_time(lambda: [predict(row) for row in single], (turn[0] + 1, turn[1] / 8))["wall"] / ONE_BY_ONE
    return {**found, "peak": peak, "nodes": learner.nodes(model), "one_row_us": one * 1e6}


def main() -> None:
    """Measure what the command line says, and print it as one line of JSON."""
    asked = json.loads(sys.argv[1])
    workload = next(w for w in WORKLOADS if w.name == asked["workload"])
    learner = next(one for one in LEARNERS if one.name == asked["learner"])
    rows, home = asked["rows"], Path(asked["home"])
    if "model" in asked:
        found = measure_model(workload, learner, rows, home, Path(asked["model"]))
    else:
        found = (measure_prediction if workload.predict else measure_fit)(
            workload, learner, rows, home, tuple(asked["turn"])
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
