"""The table of a cluster on paper is what the simulator prints, and its bytes are a sum that can be done by hand."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_is_that_of_the_simulator():
    command = [sys.executable, "-m", "benchmarks.simulate_cluster", "--rows", "1e7", "1e9"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    page = (ROOT / "docs" / "when-one-machine-is-not-enough.md").read_text(encoding="utf-8")
    table = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(table) == 8
    assert "\n".join(table) in page


def test_bytes_of_levels():
    """One partition with rows in all bins: 22 bytes for each of 256 bins, 20 columns and all nodes, and a twentieth."""
    command = [sys.executable, "-m", "benchmarks.simulate_cluster", "--rows", "1e7", "--workers", "1"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    last = printed.splitlines()[-1].split("|")
    assert round(1.05 * 22 * 256 * 20 * 255 / 1e6) == int(last[-2])
