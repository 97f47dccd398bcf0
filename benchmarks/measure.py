"""Measure one library on one table in a subprocess: wall and CPU time, peak memory, tree size, test score.

    python -m benchmarks.measure '{"workload": "W2", "learner": "treewise", "rows": 10000, "home": …, "turn": [2, 8]}'

``measure_in_subprocess`` starts such a process and reads the JSON line it prints. The process loads the table, warms
the library up on a few rows, and repeats the fit for the duration of its turn. The first fit gives the peak memory, all
fits together the best time. Libraries take turns of equal length, one process after the other, so that load on the
machine affects all of them alike.
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
from benchmarks.workloads import PREDICT_TRAINING_ROWS, WORKLOADS, Array, Workload, load_table

WARM_UP = 500  # rows
ONE_BY_ONE = 300  # rows predicted singly
SLOW = 10.0  # seconds: a fit that takes longer is not repeated in the same turn
Turn = tuple[int, float]  # minimum number of fits, and seconds for further ones


def measure_in_subprocess(workload: Workload, learner: Learner, rows: int, home: Path, turn: Turn) -> dict[str, float]:
    """Measure in a child process; return an empty dict if the library failed."""
    request = {"workload": workload.name, "learner": learner.name, "rows": rows, "home": str(home), "turn": turn}
    threads = {"OMP_NUM_THREADS": str(THREADS)}
    completed = subprocess.run(
        r_command(request) if learner.in_r else [sys.executable, "-m", "benchmarks.measure", json.dumps(request)],
        capture_output=True,
        text=True,
        env={**os.environ, **threads},
        check=False,
    )
    if completed.returncode:
        reason = next(reversed(completed.stderr.strip().splitlines()), f"ended by signal {-completed.returncode}")
        print(f"{learner.name} failed on {workload.name}: {reason}", file=sys.stderr)
        return {}
    parsed: dict[str, float] = json.loads(completed.stdout.splitlines()[-1])
    return parsed


def r_command(request: dict[str, Any]) -> list[str]:
    """Return the command that measures an R library (ranger.R)."""
    workload = next(w for w in WORKLOADS if w.name == request["workload"])
    limits = [workload.limits["n_estimators"], workload.limits["max_features"]]
    words = [request["home"], request["rows"], *request["turn"], *limits, THREADS, int(workload.predict)]
    return ["Rscript", "--vanilla", str(Path(__file__).with_name("ranger.R")), *map(str, words)]


def process_memory(field: str) -> float:
    """Return a memory field of /proc/self/status in MB; NaN where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def reset_peak_memory() -> None:
    """Reset the peak memory of this process."""
    if Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")


def best_times(work: Callable[[], Any], turn: Turn) -> dict[str, float]:
    """Return the minimum wall and CPU seconds of several runs."""
    least, seconds = turn
    wall, cpu = [], []
    while len(wall) < least or sum(wall) < seconds:
        began, busy = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - busy)
    return {"wall": min(wall), "cpu": min(cpu)}


def measure_fit(workload: Workload, learner: Learner, rows: int, home: Path, turn: Turn) -> dict[str, float]:
    """Measure fitting, and score the model on held-out rows."""
    x, y, x_new, y_new = load_table(home, rows)
    learner.fit(workload, learner.prepare(workload, x[:WARM_UP]), y[:WARM_UP])
    prepared, models = learner.prepare(workload, x), []
    del x
    reset_peak_memory()
    before = process_memory("VmRSS")
    first = best_times(lambda: models.append(learner.fit(workload, prepared, y)), (1, 0.0))
    peak = process_memory("VmHWM") - before
    left = (turn[0] - 1, turn[1] - first["wall"])
    again = first["wall"] < SLOW and (left[0] > 0 or left[1] > 0)
    rest = best_times(lambda: learner.fit(workload, prepared, y), left) if again else first
    predicted = learner.predict(models[0], learner.prepare(workload, x_new))
    size = model_size(workload, learner, models[0], rows, home) if workload.ensemble else {}
    return {
        **{kind: min(first[kind], rest[kind]) for kind in first},
        "peak": peak,
        "nodes": learner.nodes(models[0]),
        "quality": test_score(workload, predicted, y_new),
        **size,
    }


def model_size(workload: Workload, learner: Learner, model: Any, rows: int, home: Path) -> dict[str, float]:
    """Return the file size of the model, and the memory needed to load it and predict."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        learner.save(model, path)
        files = [path] if path.is_file() else [part for part in path.rglob("*") if part.is_file()]
        request = {"workload": workload.name, "learner": learner.name, "rows": rows, "home": str(home)}
        words = [sys.executable, "-m", "benchmarks.measure", json.dumps({**request, "model": str(path)})]
        kept = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["kept"]
        return {"kept": kept, "file": sum(part.stat().st_size for part in files) / 2**20}


def measure_model(workload: Workload, learner: Learner, rows: int, home: Path, path: Path) -> dict[str, float]:
    """Return the memory a loaded model takes."""
    x, y, x_new, _ = load_table(home, rows)
    few = learner.prepare(workload, x[:WARM_UP])
    learner.predict(learner.fit(workload, few, y[:WARM_UP]), few)
    prepared = learner.prepare(workload, x_new)
    release_memory()
    before = process_memory("VmRSS")
    model = learner.load(path)
    learner.predict(model, prepared)
    release_memory()
    return {"kept": process_memory("VmRSS") - before}


def release_memory() -> None:
    """Return freed memory to the operating system, so that the resident size is what is in use."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def test_score(workload: Workload, predicted: Array, truth: Array) -> float:
    """Return the accuracy, or R² for regression."""
    if workload.task == "regression":
        return float(1 - np.mean((predicted - truth) ** 2) / np.var(truth))
    return float(np.mean(np.asarray(predicted) == truth))


def measure_prediction(workload: Workload, learner: Learner, rows: int, home: Path, turn: Turn) -> dict[str, float]:
    """Measure prediction of all rows at once and of single rows."""
    x, y, _, _ = load_table(home, rows)
    grown = min(PREDICT_TRAINING_ROWS, rows)
    model = learner.fit(workload, learner.prepare(workload, x[:grown]), y[:grown])
    prepared = learner.prepare(workload, x)
    learner.predict(model, learner.prepare(workload, x[:WARM_UP]))
    reset_peak_memory()
    before = process_memory("VmRSS")
    actual = best_times(lambda: learner.predict(model, prepared), turn)
    peak = process_memory("VmHWM") - before
    if learner.name == "treewise":
        single = [cells.tolist() for cells in x[:ONE_BY_ONE]]
        predict = model.predict
    else:
        single = [learner.prepare(workload, x[i : i + 1]) for i in range(ONE_BY_ONE)]
        predict = lambda row: learner.predict(model, row)  # noqa: E731
    one = best_times(lambda: [predict(row) for row in single], (turn[0] + 1, turn[1] / 8))["wall"] / ONE_BY_ONE
    return {**actual, "peak": peak, "nodes": learner.nodes(model), "one_row_us": one * 1e6}


def main() -> None:
    """Run one measurement and print it as a JSON line."""
    request = json.loads(sys.argv[1])
    workload = next(w for w in WORKLOADS if w.name == request["workload"])
    learner = next(one for one in LEARNERS if one.name == request["learner"])
    rows, home = request["rows"], Path(request["home"])
    if "model" in request:
        actual = measure_model(workload, learner, rows, home, Path(request["model"]))
    else:
        actual = (measure_prediction if workload.predict else measure_fit)(
            workload, learner, rows, home, tuple(request["turn"])
        )
    print(json.dumps(actual))


if __name__ == "__main__":
    main()
