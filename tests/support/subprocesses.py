"""Processes of their own for the tests of faults and of global state.

A test file is also the program that its children run: ``run(__file__, "forks", 4)`` calls ``forks("4")`` in a new
process, by way of the two lines at the end of that file.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start(file, name, *words, **settings):
    """Start a function of a test file in a process of its own."""
    module = ".".join(Path(file).resolve().relative_to(ROOT).with_suffix("").parts)
    return subprocess.Popen(
        [sys.executable, "-m", module, name, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **settings,
    )


def run(file, name, *words, timeout=300):
    """Run one to its end, and return what it says; it must end well."""
    with start(file, name, *words, stderr=subprocess.PIPE) as process:
        try:
            said, complaints = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 0, f"{name} {words} ended with {process.returncode}: {complaints[-2000:]}"
    return said


def answer(value):
    """Say something to the process that started this one."""
    print(json.dumps(value), flush=True)
