"""Result tables in every output format."""

import csv
import io
import json
import math
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hostile_names import NAMES
from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable, to_plain
from treewise._lib.text import display_width
from treewise._lib.text_columns import wrap_text

HEADINGS = (
    ColumnSpec("rule"),
    ColumnSpec("class", "label"),
    ColumnSpec("rows", "count"),
    ColumnSpec("low", "share", only="data"),
    ColumnSpec("high", "share", only="data"),
    ColumnSpec("interval", "text", "95 % interval", lambda ends: f"{ends[0]} to {ends[1]}", only="text"),
)
ROWS = [
    ("age <= 31.5 and town in {Bari, Rome}", "yes", 1200, 0.25, 1 / 3, (0.25, 0.33)),
    ("age > 31.5", "no", 7, 0.0, 0.5, (0, 0.5)),
]


def sheet_of(rows=ROWS, **more):
    return ResultTable("Rules of y", HEADINGS, rows, **more)


def test_text_is_aligned_and_numbers_stand_to_the_right():
    assert sheet_of().to_text().splitlines() == [
        "Rules of y",
        "rule                                  class   rows  95 % interval",
        "age <= 31.5 and town in {Bari, Rome}  yes    1,200  0.25 to 0.33",
        "age > 31.5                            no         7  0 to 0.5",
    ]


def test_words_are_wrapped_and_numbers_never_are():
    lines = sheet_of().to_text(64).splitlines()
    assert all(display_width(line) <= 64 for line in lines)
    assert any("1,200" in line for line in lines)
    assert " ".join(line[:34].strip() for line in lines[2:4]).startswith("age <= 31.5 and town in {Bari, Rome}")


def test_long_words_in_the_last_column_stand_below_their_row():
    rule = " AND ".join(f"column_{i} <= {i}.5" for i in range(12))
    sheet = ResultTable(
        "", (ColumnSpec("rows", "count"), ColumnSpec("rule", break_at=" AND ")), [(5, rule), (6, "all rows")]
    )
    lines = sheet.to_text(60).splitlines()
    assert lines[:3] == ["rows", "      rule", "   5"]
    assert lines[3] == "      column_0 <= 0.5 AND column_1 <= 1.5 AND"
    assert lines[-2:] == ["   6", "      all rows"]
    assert all(len(line) <= 60 for line in lines)


def test_in_a_narrow_window_rows_stand_one_below_the_other():
    lines = sheet_of().to_text(40).splitlines()
    assert all(display_width(line) <= 40 for line in lines)
    assert "rows           1,200" in lines
    assert "rows           7" in lines


def test_readers_see_some_rows_and_data_has_all():
    many = sheet_of(ROWS * 40, row_name="rule")
    assert many.to_text().splitlines()[-1] == "… 30 more rules"
    assert len(many.to_text(max_rows=3).splitlines()) == 2 + 3 + 1
    assert len(many.to_frame()) == len(many.records()) == len(many.to_csv().splitlines()) - 1 == 80


def test_columns_for_readers_and_columns_for_programs():
    sheet = sheet_of()
    assert list(sheet.to_frame().columns) == ["rule", "class", "rows", "low", "high"]
    assert sheet.to_frame().schema["high"] == sheet.to_frame().schema["low"]
    assert sheet.records()[0]["high"] == 1 / 3
    assert "0.3333333333333333" in sheet.to_csv()
    assert "low" not in sheet.to_markdown()
    assert "95 % interval" in sheet.to_markdown()


def test_a_sheet_without_rows_is_its_words():
    empty = sheet_of([], above=("nothing was found",))
    assert empty.to_text() == "Rules of y\nnothing was found"
    assert "<table" not in empty.to_html()
    assert empty.to_csv() == "rule,class,rows,low,high\n"
    assert empty.to_frame().shape == (0, 5)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.cells = set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data):
        self.cells.append(data)


@pytest.mark.parametrize("name", [name for name in NAMES if len(name) < 100])
def test_names_are_data_in_every_form(name):
    sheet = ResultTable(name, (ColumnSpec(name), ColumnSpec("n", "count")), [(name, 1)], (name,), (name,))
    text = sheet.to_text()
    assert len(text.splitlines()) == 5
    assert all(line.isprintable() for line in text.splitlines())
    assert not any(ch in sheet.to_html() for ch in "\x1b\u202e")
    tags = Tags()
    tags.feed(sheet.to_html())
    assert tags.seen == {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert len(sheet.to_markdown().split("\n\n")) == 4
    table = [line for line in sheet.to_markdown().splitlines() if line.startswith("| ")]
    assert len(table) == 3
    assert list(csv.reader(io.StringIO(sheet.to_csv(), newline=""))) == [[name, "n"], [name, "1"]]
    assert sheet.to_frame().rows() == [(name, 1)]


@given(st.text(), st.integers(1, 30))
def test_wrapping_loses_nothing_and_keeps_to_the_width(text, width):
    lines = wrap_text(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(display_width(line) <= max(width, 2) for line in lines)


def test_values_for_json():
    held = {"a": (np.int64(3), math.nan), 1: {"b": np.float32(0.5)}, "c": np.bool_(True)}
    assert to_plain(held) == {"a": [3, None], "1": {"b": 0.5}, "c": True}
    json.dumps(to_plain(held), allow_nan=False)


def test_labels_of_any_kind_have_a_column():
    def frame(*labels):
        return ResultTable("", (ColumnSpec("class", "label"),), [(label,) for label in labels]).to_frame()["class"]

    assert frame(True, False).to_list() == [True, False]
    assert frame(1, 2).to_list() == [1, 2]
    assert frame("a", 1, None).to_list() == ["a", "1", None]


@dataclass(frozen=True, repr=False)
class Towns(Displayable):
    names: tuple[str, ...]

    def result_table(self):
        return ResultTable("Towns", (ColumnSpec("town"),), [(name,) for name in self.names])


def test_a_result_has_every_form():
    towns = Towns(("Rome", "<b>"))
    assert str(towns) == repr(towns) == "Towns\ntown\nRome\n<b>"
    assert towns.to_dict() == {"title": "Towns", "rows": [{"town": "Rome"}, {"town": "<b>"}]}
    bundle = towns._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "text/markdown"}
    assert bundle["text/html"] == towns.to_html()
    assert "&lt;b&gt;" in bundle["text/html"]
    assert towns.to_csv() == "town\nRome\n<b>\n"
    assert towns.to_frame()["town"].to_list() == ["Rome", "<b>"]


def test_headings_may_be_strong():
    marked = Towns(("Rome",)).to_text(emphasis=lambda message: f"**{message}**")
    assert marked == "**Towns**\n**town**\nRome"
