"""Deep and large trees: chains of 100,000 levels, a million categories, 10,000 classes, 100,000 columns.

Each case runs in a process of its own, in a thread with a stack of 8 MB: fit, print, save, load, predict, and every row
must be answered right. By default the sizes are a twentieth of these; ``TREEWISE_SIZES=1`` tries them in full
(``.ci/nightly``), any other share is possible. ``python -m tests.invariants.test_sizes`` prints what each step takes.
"""

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import treewise as tw
from tests.support.subprocesses import run_function, send_result
from treewise.formats.model_file.model_file import dumps

SHARE = float(os.environ.get("TREEWISE_SIZES", "0.05"))
STACK = 8 << 20  # bytes
TOGETHER = 3600  # seconds in which a case must be done, on a busy machine too


def chain(rows):
    """Classes that alternate along one column: the purest cut is always the first, so the tree is one long chain."""
    return {"x": np.arange(rows, dtype=float), "y": np.where(np.arange(rows) % 2, "odd", "even")}


def categories(levels):
    """Two rows of each level; every other level is of the same class."""
    level = np.tile(np.arange(levels), 2)
    return {"x": np.char.add("k", level.astype(str)), "y": np.where(level % 2, "odd", "even")}


def classes(count):
    """Two rows of each class, side by side in one column; another column that says nothing."""
    number = np.repeat(np.arange(count), 2)
    noise = np.random.default_rng(0).normal(size=2 * count)
    return {"x": number.astype(float), "noise": noise, "y": np.char.add("c", number.astype(str))}


def columns(count):
    """Of many columns of noise one decides."""
    noise = np.random.default_rng(0).normal(size=(count, 100))
    data = {f"x{i}": cells for i, cells in enumerate(noise)}
    return {**data, "y": np.where(noise[count // 2] > 0, "high", "low")}


# A case: the table, its full size, and the depth and leaves of the tree.
CASES = {
    "chain": (chain, 100_000, lambda n: (n - 1, n)),
    "categories": (categories, 1_000_000, lambda n: (1, 2)),
    "classes": (classes, 10_000, lambda n: (None, n)),
    "columns": (columns, 100_000, lambda n: (1, 2)),
}


def take(name, size):
    """Go through a case; answer what each step took, and the most memory the process ever had."""
    data = CASES[name][0](size)
    took = {}

    def step(called, work):
        began = time.process_time()
        done = work()
        took[called] = time.process_time() - began
        return done

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.json"
        tree = step("grow", lambda: tw.grow(data, "y", selection="gain", min_level_rows=1))  # names every level
        text = step("print", lambda: str(tree))
        step("save", lambda: tree.save(path))
        again = step("load", lambda: tw.load(path))
        message = step("predict", lambda: again.predict(data))
        took["file"] = path.stat().st_size / 2**20
    assert text
    assert (np.asarray(message) == data["y"]).all()
    assert dumps(again) == dumps(tree)
    return took | {"depth": tree.depth, "leaves": tree.n_leaves, "memory": peak()}


def peak():
    """Return the most memory this process had, in MB; getrusage would count what its parent had before exec."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def case(name, size):
    """Run in a thread whose stack is what a process has by default, and answer."""
    answers = []
    threading.stack_size(STACK)
    thread = threading.Thread(target=lambda: answers.append(take(name, int(size))))
    thread.start()
    thread.join()
    send_result(answers[0])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures memory as Linux tells it")
@pytest.mark.parametrize("name", CASES)
def test_large_tables_are_grown_printed_saved_loaded_and_predicted(name):
    _, full, shape = CASES[name]
    size = max(100, int(full * SHARE))
    parsed = json.loads(run_function(__file__, "case", name, size, timeout=TOGETHER))
    depth, leaves = shape(size)
    assert parsed["leaves"] == leaves
    assert depth is None or parsed["depth"] == depth
    assert parsed["memory"] < 500 + 4000 * SHARE


def table(sizes):
    """Print a table of what every case takes, for the docs."""
    print("| | grow | print | save | load | predict | file | memory |\n|---|---|---|---|---|---|---|---|")
    for name, size in sizes.items():
        parsed = json.loads(run_function(__file__, "case", name, size, timeout=TOGETHER))
        steps = " | ".join(f"{parsed[step]:.1f} s" for step in ("grow", "print", "save", "load", "predict"))
        print(f"| {size:,} {name} | {steps} | {parsed['file']:.0f} MB | {parsed['memory']:.0f} MB |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        case(*sys.argv[2:])
    else:
        table({name: int(full * SHARE) for name, (_, full, _) in CASES.items()})
