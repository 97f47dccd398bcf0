"""Run functions of a test file in a new process, for tests of faults and global state.

``run_function(__file__, "forks", 4)`` calls ``forks("4")`` in a new process, through that file's ``__main__`` block.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def start_function(file, name, *words, **settings):
    """Start a function of a test file in a new process."""
    module = ".".join(Path(file).resolve().relative_to(ROOT).with_suffix("").parts)
    return subprocess.Popen(
        [sys.executable, "-m", module, name, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **settings,
    )


def run_function(file, name, *words, timeout=300):
    """Run a function of a test file in a new process, require exit code 0 and return its standard output."""
    with start_function(file, name, *words, stderr=subprocess.PIPE) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 0, f"{name} {words} ended with {process.returncode}: {err[-2000:]}"
    return out


def send_result(value):
    """Print a result as JSON for the parent process."""
    print(json.dumps(value), flush=True)
