"""Fuzzed rows typed into the report: the page ends at the leaf at which ``predict`` ends.

Numbers at thresholds and one ulp beside them, integers past 2^53, moments, categories, missing and never-seen values.
``TREEWISE_LONG=1`` tries more trees and rows.
"""

import os
import random
import re

import numpy as np
import pytest

import treewise as tw

LONG = bool(os.environ.get("TREEWISE_LONG"))
TREES, ROWS = (12, 100) if LONG else (2, 60)

# Fill the form, a row at a time, and return what the page predicts for each.
TYPE_ROWS = """rows => rows.map(row => {
  document.querySelector("#clear").click();
  for (const [column, kind, value] of row) {
    const control = document.querySelector(`#input-${column}`);
    if (!control) continue;
    if (kind === "missing" && control.tagName !== "SELECT") {
      control.closest(".field").querySelector("button").click();
      continue;
    }
    if (control.tagName === "SELECT") {
      const label = kind === "missing" ? "(missing)" : kind === "unseen" ? "(some other value)" : value;
      control.value = [...control.options].find(option => option.label === label).value;
    } else control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
    control.dispatchEvent(new Event("change", { bubbles: true }));
  }
  return document.querySelector("#prediction").innerText;
})"""


def fuzzed_table(draw, n):
    return {
        "x": [draw.choice([None, round(draw.gauss(0, 1), 3), 5e-324, -1e300, 0.1 + 0.2]) for _ in range(n)],
        "id": [2**60 + draw.randint(0, 40) for _ in range(n)],
        "at": [f"2024-03-{draw.randint(10, 28)} 08:30:00.00000{draw.randint(0, 9)}" for _ in range(n)],
        "town": [draw.choice(["Rome", "Bari", "Oslo", None]) for _ in range(n)],
        "size": [draw.choice(["S", "M", "L"]) for _ in range(n)],
        "y": [draw.choice("abc") for _ in range(n)],
    }  # fmt: skip


def fuzzed_row(draw, table, cuts):
    """Return a row as Python sees it, and as (column, kind, text) for the page."""
    cut = draw.choice(cuts) if cuts else 0.0
    x = draw.choice([None, cut, np.nextafter(cut, np.inf).item(), np.nextafter(cut, -np.inf).item(), draw.gauss(0, 2)])
    row = {
        "x": x,
        "id": draw.choice([None, 2**60 + draw.randint(-3, 45)]),
        "at": draw.choice([None, *table["at"][:20]]),
        "town": draw.choice(["Rome", "Bari", "Oslo", None, "Atlantis"]),
        "size": draw.choice(["S", "M", "L", None]),
    }
    kinds = {name: "missing" if v is None else "unseen" if v == "Atlantis" else "value" for name, v in row.items()}
    texts = {name: repr(v) if isinstance(v, float) else str(v) for name, v in row.items()}
    return row, [[i, kinds[name], texts[name]] for i, name in enumerate(row)]


@pytest.mark.parametrize("seed", range(TREES))
def test_the_page_ends_where_predict_ends(tmp_path, open_page, seed):
    draw = random.Random(seed)
    table = fuzzed_table(draw, 150)
    categorical = ["subset", "multiway", "one_value"][seed % 3]
    kinds = {"at": "datetime", "size": ["S", "M", "L"]}
    tree = tw.grow(table, "y", kinds=kinds, categorical=categorical, max_depth=6 + seed % 4)
    path = tmp_path / "page.html"
    tree.report(path, table)
    cuts = [node.split.cut for node in tree if isinstance(node.split, tw.Threshold) and node.split.column == "x"]
    rows = [fuzzed_row(draw, table, cuts) for _ in range(ROWS)]
    here = open_page(path)
    evaluation = here.page.evaluate(TYPE_ROWS, [typed for _, typed in rows])
    for (row, _), message in zip(rows, evaluation, strict=True):
        expected = tree.apply({name: [value] for name, value in row.items()})[0]
        assert re.search(rf"node {expected}\b", message), (row, expected, message)
