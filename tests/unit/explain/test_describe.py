"""Descriptions of tables, against plain counting."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw


def test_columns_are_counted_and_ranked():
    description = tw.describe("penguins", "species")
    columns = {column.name: column for column in description.columns}
    frame = tw.datasets.penguins().to_polars()
    for name, column in columns.items():
        assert column.missing == frame[name].null_count()
        assert column.distinct == frame[name].drop_nulls().n_unique()
        assert sum(column.histogram) == len(frame) - column.missing
    assert columns["sex"].summary == "MALE (168), FEMALE (165)"
    assert description.columns[0].name == "species"
    strengths = [column.strength for column in description.columns[1:]]
    assert strengths == sorted(strengths, reverse=True)
    stump = tw.grow("penguins", "species", max_depth=1)
    root = tw.entropy([152, 68, 124])
    assert strengths[0] == pytest.approx(float(stump.impurity_decreases.max()) / root)


def test_without_a_target_nothing_is_ranked():
    description = tw.describe({"b": [1, 2, 3], "a": ["x", "y", "x"]})
    assert [column.name for column in description.columns] == ["b", "a"]
    assert all(column.strength is None for column in description.columns)
    assert (description.target, description.task) == (None, "")
    assert "strength" not in str(description)


@pytest.mark.parametrize(
    ("table", "note"),
    [
        ({"id": range(100), "y": [0, 1] * 50}, "id: 100 different values in 100 rows"),
        ({"x": [999] * 30 + list(range(70)), "y": [0, 1] * 50}, "x: 999 in 30 % of the rows"),
        ({"price": ["$1.50", "$2.00"] * 50, "y": [0, 1] * 50}, "price: read as categories, but its cells look like"),
        ({"x": [0, 1] * 50, "y": ["no", "yes"] * 50}, "x: one split removes 100.0 % of the uncertainty about y"),
        ({"x": [1, 2] * 50, "y": [0] * 98 + [1] * 2}, "y: rare class 1 (2.0 %)"),
        ({"x": [1, 2] * 50, "y": [0, 1, 1, 0] * 25}, "96 rows (96.0 %) repeat an earlier row"),
    ],
)
def test_what_may_be_wrong_is_noted(table, note):
    description = tw.describe({name: list(cells) for name, cells in table.items()}, "y")
    assert note in " ".join(str(description).split())
    assert note in " ".join([*map(str, description.notes), *(str(n) for c in description.columns for n in c.notes)])


def test_options_are_those_of_grow():
    table = {"code": [1, 2, 3, -9], "id": [1, 2, 3, 4], "y": ["a", "b", "a", "b"]}
    description = tw.describe(table, "y", kinds={"code": "nominal"}, ignore=["id"])
    assert [(column.name, column.kind) for column in description.columns[1:]] == [("code", "nominal")]
    assert tw.describe({"x": ["1", "?!", "2"]}, na_values=["?!"]).columns[0].missing == 1
    with pytest.raises(tw.ColumnError, match='Did you mean "code"'):
        tw.describe(table, "cod")
    with pytest.raises(tw.DataError):
        tw.describe({"x": []})


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.none() | st.floats(-5, 5)), min_size=1))
def test_duplicates_and_missing_are_those_of_a_set(rows):
    table = {"i": [r[0] for r in rows], "s": [r[1] for r in rows], "f": np.array([r[2] for r in rows], float)}
    description = tw.describe(table)
    assert description.duplicates == len(rows) - len({(a, b, None if c is None else c + 0.0) for a, b, c in rows})
    assert description.columns[2].missing == sum(c is None for _, _, c in rows)
    assert json.loads(json.dumps(description.to_dict()))["rows"] == len(rows)


def test_extreme_numbers_have_a_histogram():
    description = tw.describe({"x": [-np.inf, -1e308, 0.0, 1e308, np.inf], "t": [2**62, 0, -(2**62), 1, 2]})
    assert all(sum(column.histogram) == 5 for column in description.columns)


def test_a_leak_and_a_wrong_separator_name_their_option():
    leak = {"leak": [0, 1] * 20, "y": ["a", "b"] * 20}
    assert 'leave it out: ignore=["leak"]' in str(tw.describe(leak, "y").columns[1].notes[-1])
    lines = tw.describe({"a;b;c": ["1;2;3", "4;5;6"]})
    assert [str(note) for note in lines.notes] == ['If this is a line of several fields: separator=";".']


def test_amounts_are_no_keys_and_a_missing_target_is_counted():
    amounts = {"amount": [250 + 19 * (i % 920) for i in range(1000)], "y": [0.0, 1.0, None, 1.0] * 250}
    assert len(set(amounts["amount"])) > 900
    description = tw.describe(amounts, "y")
    assert not description.columns[0].notes or "memorise" not in str(description.columns[0].notes[0])
    assert any("y: missing in 250 rows" in str(note) for note in description.notes)
