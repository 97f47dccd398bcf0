"""Regions of two columns: what is drawn becomes splits, and the areas are those of the tree."""

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from treewise.edit.rectangle import cut_out, propose_splits
from treewise.workbench.opening import open_session
from treewise.workbench.regions import MAX_POINTS


@pytest.fixture
def session():
    return open_session(tw.read("penguins"), None, {"target": "species"})


BOX = [["bill_length_mm", 35.0, 43.3], ["bill_depth_mm", 16.3, 30.0]]


def test_the_sides_of_a_rectangle_are_splits_with_the_gains_of_the_learner(session):
    editor = session.editor
    answer = session.handle({"do": "propose", "node": 0, "sides": BOX})
    gains = [side["gain"] for side in answer["sides"]]
    assert gains == sorted(gains, reverse=True)
    assert len(gains) == 3  # nothing lies above the upper side
    candidates = editor.candidates(0)
    for side in answer["sides"]:
        tree = tw.Editor("species", "penguins").split(0, side["column"], at=side["at"])
        assert tree.evaluate("penguins").error * 344 == pytest.approx(side["wrong"])
        gain_at = {point.threshold: point.gain for point in candidates.of(side["column"]).points}
        assert side["gain"] == pytest.approx(gain_at[float(side["at"])])
    frame = tw.read("penguins").to_polars()
    inside = frame.filter(
        (frame["bill_length_mm"] > 35) & (frame["bill_length_mm"] <= 43.3)
        & (frame["bill_depth_mm"] > 16.3) & (frame["bill_depth_mm"] <= 30)
    )  # fmt: skip
    assert answer["rows"] == len(inside)
    assert answer["counts"] == [(inside["species"] == name).sum() for name in editor.tree.classes]


def test_a_rectangle_is_cut_out_by_ordinary_edits(session):
    editor = session.editor
    assert "error" not in session.handle({"do": "cut_out", "node": 0, "sides": BOX, "reason": "as drawn"})
    steps = editor.all_steps
    assert [step["edit"] for step in steps] == ["split"] * 3
    assert {step["reason"] for step in steps} == {"as drawn"}
    inside = {step["touched_before"]["training"][0] for step in steps}
    assert len(inside) == 3
    rows = session.handle({"do": "propose", "node": 0, "sides": BOX})["rows"]
    assert rows in editor.tree.arrays.rows.tolist()
    for _ in range(3):
        editor.undo()
    assert editor.tree.n_leaves == 1


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_rows_inside_are_those_of_one_leaf(seed):
    rng = np.random.default_rng(seed)
    n = 40
    table = {"a": rng.integers(0, 9, n) * 1.0, "b": rng.integers(0, 9, n), "t": rng.choice(list("pq"), n)}
    editor = tw.Editor("t", table)
    sides = {name: tuple(sorted(rng.uniform(-1, 9, 2).tolist())) for name in ("a", "b")}
    rectangle = propose_splits(editor, 0, sides)
    if not rectangle.sides:
        with pytest.raises(tw.ParameterError, match="across the points"):
            cut_out(editor, 0, sides)
        return
    tree = cut_out(editor, 0, sides)
    if rectangle.rows:
        is_leaf = tree.arrays.kind == 0
        assert rectangle.rows in tree.arrays.rows[is_leaf].tolist()


def test_what_cannot_be_cut_out_changes_nothing(session):
    editor = session.editor
    editor.lock("bill_depth_mm")
    before = editor.tree
    answer = session.handle({"do": "cut_out", "node": 0, "sides": BOX})
    assert "locked" in answer["error"]
    assert editor.tree is before
    editor.unlock("bill_depth_mm")
    editor.split(0)
    editor.lock(1)
    assert "locked" in session.handle({"do": "cut_out", "node": 1, "sides": BOX})["error"]


@pytest.mark.parametrize("sides", [
    None, [], [[]], [["bill_length_mm", 1]], [["bill_length_mm", "x", 2]], [["bill_length_mm", True, 2]],
    [["nothing", 1, 2]],
    [["island", 1, 2]], [["species", 1, 2]], [[1, 2, 3]], [["bill_length_mm", float("nan"), 2]], [BOX[0]] * 3,
    [["bill_length_mm", 10**400, None]],
])  # fmt: skip
def test_messages_that_are_no_rectangle_are_refused(session, sides):
    for verb in ("propose", "cut_out"):
        assert "error" in session.handle({"do": verb, "node": 0, "sides": sides})
    assert session.editor.tree.n_leaves == 1


def test_ends_beyond_64_bits_are_numbers(session):
    for name in ("bill_length_mm", "flipper_length_mm"):
        sides = [[name, -(2**70), 2**70]]
        assert "no side of the rectangle" in session.handle({"do": "cut_out", "node": 0, "sides": sides})["error"]
    whole = session.handle({"do": "propose", "node": 0, "sides": sides})
    assert (whole["rows"], whole["sides"]) == (342, [])


def test_the_areas_are_those_of_the_leaves(session):
    editor = session.editor
    editor.regrow(0, max_leaf_nodes=6)
    facts = session.handle({"do": "regions", "node": 0, "x": "bill_length_mm", "y": "flipper_length_mm"})
    assert facts["shown"] <= MAX_POINTS
    assert {area["node"] for area in facts["areas"]} <= set(np.flatnonzero(editor.tree.arrays.kind == 0).tolist())
    covered = sum((x1 - x0) * (y1 - y0) for x0, x1, y0, y1 in (area["box"] for area in facts["areas"]))
    x, y = facts["x"], facts["y"]
    assert covered == pytest.approx((x["high"] - x["low"]) * (y["high"] - y["low"]))
    below = session.handle({"do": "regions", "node": 1})
    assert all(1 <= area["node"] < int(editor.tree.arrays.ends[1]) for area in below["areas"])
    assert "no column of numbers" in session.handle({"do": "regions", "node": 0, "x": "island"})["error"]
    assert "error" in session.handle({"do": "regions", "node": 99})


def test_dates_and_wide_integers_keep_their_values():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(20)]
    table = {"day": days, "n": [2**60 + i for i in range(20)], "t": ["a"] * 7 + ["b"] * 13}
    opened = open_session(tw.read(table), None, {"target": "t"})
    facts = opened.handle({"do": "regions", "node": 0})
    day = facts["x"] if facts["x"]["name"] == "day" else facts["y"]
    assert day["texts"][0].startswith("2024-01-01")
    ends = [facts["points"][i][0 if day is facts["x"] else 1] + day["origin"] for i in (6, 7)]
    answer = opened.handle({"do": "propose", "node": 0, "sides": [["day", None, sum(ends) / 2]]})
    assert answer["sides"][0]["wrong"] == 0
    assert "error" not in opened.handle({"do": "cut_out", "node": 0, "sides": [["day", None, sum(ends) / 2]]})
    assert opened.editor.losses().training.lost == 0


def test_a_table_with_one_column_of_numbers_has_no_chart():
    opened = open_session(tw.read("admissions"), None, {"target": "Class", "preset": "id3"})
    assert "two columns of numbers" in opened.handle({"do": "regions", "node": 0})["error"]
