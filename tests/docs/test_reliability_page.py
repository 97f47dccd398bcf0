"""docs/reliability.md names tests, files and commands that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_every_test_it_names_exists():
    known = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 15
    assert named <= known


def test_every_file_it_names_exists():
    named = set(re.findall(r"\b(?:tests|\.ci)/[\w/]+(?:\.py)?", PAGE))
    modules = set(re.findall(r"python -m (tests[\w.]+)", PAGE))
    assert len(named) > 8
    assert len(modules) >= 3
    for path in {*named, *(f"{module.replace('.', '/')}.py" for module in modules)}:
        assert (ROOT / path).exists(), path


def test_every_promise_has_a_row():
    rows = re.findall(r"^\| (R\d+(?:, R\d+)*) \|", PAGE, re.MULTILINE)
    assert [number for row in rows for number in row.split(", ")] == [f"R{i}" for i in range(1, 20)]
