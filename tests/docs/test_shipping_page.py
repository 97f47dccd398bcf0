"""docs/shipping-a-tree.md lists every export format with its endings and options."""

from pathlib import Path

import pytest

from treewise.formats.export.export import FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "shipping-a-tree.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_listed(name):
    rows = [row for row in ROWS if f"`{name}`" in row.split("|")[1]]
    assert len(rows) == 1, f"{name} stands in {len(rows)} rows of the table"
    format = FORMATS[name]
    assert all(f"`{ending}`" in rows[0] for ending in format.endings), rows[0]
    own = [option for option in format.options if option != "estimate"]
    assert all(f"`{option}`" in rows[0].split("|")[-2] for option in own), rows[0]
    assert ("| yes |" in rows[0]) == format.ensembles
