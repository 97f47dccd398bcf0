"""The handouts can be made from today's output, and hold the numbers of the notes."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NUMBERS = {
    "id3-notes": ("0.3255", "0.4807", "log 3 − 1/2·log 2", "errs no more as a leaf"),
    "chapter-8": ("0.1281", "0.5239 + 0.4613 = 0.9852", "24/49", "useful &lt;= 0.5"),
    "cs221-section-5": ("7.145", "2.755", "witness", "1/12 / (2 · 1/6) = 1/4"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_handout_holds_the_numbers_of_the_notes(name):
    spec = importlib.util.spec_from_file_location("make_handouts", DOCS / "make_handouts.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = script.page(name)
    for number in NUMBERS[name]:
        assert number in page, number
    assert page.count("<svg") + page.count("<img") >= 2
    assert (DOCS / "handouts" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
