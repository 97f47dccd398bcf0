"""A person at the workbench: seconds from a request to its answer, over HTTP, on a large table.

Starts ``treewise explore`` on a table of numbers and categories with a share of the rows held out, and asks as the page
does: candidates of the root and of nodes below, then edits. Prints for each request the time by the clock, the CPU time
of the server, and the size of the answer; the best of several, in one run.

python -m benchmarks.editing [--rows 1000000] [--turns 3] [--regression]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

VALIDATION = 1 / 6  # of the rows of the file, so that the training rows are those that were asked for
N_NUMBERS, N_CATEGORIES = 7, 3


def make_table(n_rows: int, is_regression: bool) -> pl.DataFrame:
    """Return a table of seven numbers (one rounded, one with missing values) and three categories."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(N_NUMBERS, n_rows))
    numbers[1] = numbers[1].round(1)
    codes = [rng.integers(0, levels, n_rows) for levels in (3, 12, 60)]
    signal = numbers[0] + np.where(numbers[1] > 0.5, numbers[2], -numbers[3]) + 0.3 * (codes[1] % 4)
    table = {f"x{i}": numbers[i] for i in range(N_NUMBERS)}
    table["x4"] = np.where(rng.random(n_rows) < 0.05, np.nan, table["x4"])
    table |= {f"c{i}": np.char.add("level ", code.astype(str)) for i, code in enumerate(codes)}
    noisy = signal + rng.normal(size=n_rows)
    return pl.DataFrame({**table, "y": noisy if is_regression else np.where(noisy > 0, "yes", "no")}).fill_nan(None)


class Server:
    """``treewise explore`` in a process of its own, and a connection to it that is kept, as a browser's."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "treewise", "explore", *arguments, "--no-open"]
        self.process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        address = None
        while address is None:
            line = self.process.stderr.readline()
            if not line:
                raise RuntimeError("the server ended")
            address = re.search(r"http://127.0.0.1:(\d+)/\?token=(\S+)", line)
        self.connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=600)
        self.token = address[2]

    def cpu(self) -> float:
        """Return the CPU seconds of the server so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, message: dict[str, Any]) -> tuple[dict[str, Any], float, float, int]:
        """Return the answer, the seconds by the clock, those of the CPU, and the bytes of the answer."""
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.token}"}
        cpu, began = self.cpu(), time.perf_counter()
        self.connection.request("POST", "/ask", json.dumps(message), headers)
        body = self.connection.getresponse().read()
        seconds = time.perf_counter() - began
        answer = json.loads(body)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer, seconds, self.cpu() - cpu, len(body)

    def close(self) -> None:
        """End the server."""
        self.connection.close()
        self.process.terminate()
        self.process.communicate()


def requests() -> list[tuple[str, dict[str, Any]]]:
    """Return what the page asks, in order: each edit is followed by the candidates of the node that is selected."""

    def edit(verb: str, **given: Any) -> dict[str, Any]:
        return {"do": "edit", "verb": verb, "with": given}

    return [
        ("candidates of the root", {"do": "candidates", "node": 0}),
        ("split the root, best test", edit("split", node=0)),
        ("candidates of the root, again", {"do": "candidates", "node": 0}),
        ("candidates of node 1", {"do": "candidates", "node": 1}),
        ("split node 1, typed", edit("split", node=1, column="x2", at=0.25)),
        ("candidates of node 2", {"do": "candidates", "node": 2}),
        ("split node 2, best test", edit("split", node=2)),
        ("rows of node 2", {"do": "rows", "node": 2}),
        ("lock node 1", edit("lock", what=1)),
        ("undo", edit("undo")),
        ("prune node 1", edit("prune", node=1)),
        ("regrow node 1 to depth 2", edit("regrow", node=1, max_depth=2)),
    ]


def main(words: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.editing")
    parser.add_argument("--rows", type=int, default=1_000_000, help="training rows")
    parser.add_argument("--turns", type=int, default=3, help="sessions; the best of each request counts")
    parser.add_argument("--regression", action="store_true")
    options = parser.parse_args(words)
    best: dict[str, tuple[float, float, int]] = {}
    with tempfile.TemporaryDirectory(prefix="treewise-editing-") as folder:
        n_rows = round(options.rows / (1 - VALIDATION))
        make_table(n_rows, options.regression).write_parquet(Path(folder) / "table.parquet")
        for _ in range(options.turns):
            arguments = ("table.parquet", "--target", "y", "--validation", str(VALIDATION), "--fresh")
            server = Server(Path(folder), *arguments)
            try:
                server.ask({"do": "state"})
                for name, message in requests():
                    _, seconds, cpu, size = server.ask(message)
                    known = best.get(name, (np.inf, np.inf, 0))
                    best[name] = (min(seconds, known[0]), min(cpu, known[1]), size)
            finally:
                server.close()
    print(f"{n_rows:,} rows, {VALIDATION:.0%} of them held out; {N_NUMBERS} numbers, {N_CATEGORIES} categories")
    print(f"{'':32}{'seconds':>8}{'CPU s':>8}{'KB':>8}")
    for name, (seconds, cpu, size) in best.items():
        print(f"{name:32}{seconds:8.3f}{cpu:8.2f}{size / 1000:8.1f}")


if __name__ == "__main__":
    main()
