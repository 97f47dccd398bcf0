"""The page on stability lists the public names, each once."""

import re
from pathlib import Path

import treewise as tw

PAGE = Path(__file__).parents[2] / "docs" / "stability.md"


def test_every_public_name_is_listed_once():
    table = re.search(r"<!-- public names -->(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    listed = re.findall(r"`(\w+)`", table)
    assert sorted([*listed, "__version__"]) == sorted(tw.__all__)
