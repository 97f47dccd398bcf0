"""Run every ``$ treewise …`` command in README and docs and compare its output.

A block of lines that starts with ``$`` is run in a fresh folder with a POSIX shell; the output may be cut with a line
that is only ``…``.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def examples(page):
    """Return the fenced blocks that show a terminal."""
    return re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)


def matches(expected, found):
    """Compare line by line; ``…`` alone on a line stands for any lines."""
    pattern = "".join(
        ".*" if line.strip() == "…" else re.escape(line.rstrip()) + "\n" for line in expected.splitlines()
    )
    found = "".join(line.rstrip() + "\n" for line in found.splitlines())
    return re.fullmatch(pattern, found, re.S) is not None


BLOCKS = [pytest.param(b, id=f"{p.relative_to(ROOT).as_posix()}-{i}") for p in PAGES for i, b in enumerate(examples(p))]


@pytest.mark.parametrize("block", BLOCKS)
def test_block(block, tmp_path):
    bin_folder = Path(sys.executable).parent
    env = {
        **os.environ,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        completed = subprocess.run(
            command,
            check=False,
            shell=True,
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
        )
        actual = completed.stdout if completed.stdout or not expected else completed.stderr
        assert matches(expected, actual), f"$ {command}\n{actual}{completed.stderr}"
