"""Tree comparison: missing markers, wide integers, datetime units, unusual rows, targets."""

import sys

import numpy as np
import pytest

import treewise as tw
from tests.support.handmade_trees import build_tree, leaf
from treewise.data.encoding import Encoding
from treewise.tree.arrays import Target

LEVELS = ("a", "b", "c", "d")


def test_a_marker_of_one_tree_only_is_a_place_of_its_own():
    y = list("bbaaaabb")
    a = tw.grow({"x": [-999, -999, 1, 2, 3, 4, 5, 6], "y": y}, "y", na_values=("-999",))
    b = tw.grow({"x": [None, None, 1, 2, 3, 4, 5, 6], "y": y}, "y")
    comparison = tw.compare(a, b, {"x": [-999, 1, None]})
    assert not comparison.equivalent
    assert (comparison.rows_differ, comparison.witness, comparison.witness_row) == (1, {"x": -999}, 1)
    assert [(w.text, w.prediction_texts, w.rows) for w in comparison.where] == [("x = -999", ("b", "a"), 1)]
    made = tw.compare(a, b)
    assert a.predict(made.witness) != b.predict(made.witness)
    again = tw.compare(b, a)
    assert a.predict(again.witness) != b.predict(again.witness)
    assert tw.compare(a, a, {"x": [-999, 1, None]}).equivalent


@pytest.mark.parametrize("marked", [(("?",), ()), ((), ("?",)), (("?", "a"), ("b", "zz"))])
@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_value"])
def test_markers_among_levels_agree_with_predictions(marked, categorical):
    cells = ["a", "b", "c", "d", "?", "zz", None]
    trees = [
        tw.grow(
            {"c": list("aabbccdd??"), "d": list("abcdabcdab"), "y": list(answers)},
            "y",
            na_values=marks,
            categorical=categorical,
        )
        for marks, answers in zip(marked, ("NNPPNPNPNN", "NPPPNNNPPP"), strict=True)
    ]
    table = {"c": [c for c in cells for _ in cells], "d": cells * len(cells)}
    one, two = (tree.predict(table) for tree in trees)
    comparison = tw.compare(*trees, table)
    assert comparison.rows_differ == sum(x != y for x, y in zip(one, two, strict=True))
    assert comparison.equivalent == (comparison.rows_differ == 0)
    made = tw.compare(*trees)
    assert made.equivalent == comparison.equivalent
    if not made.equivalent:
        assert trees[0].predict(made.witness) != trees[1].predict(made.witness)


def test_the_witness_is_no_marker_of_who_asks():
    y = list("AABBABAB")
    a = tw.grow({"c": list("bbccbb99"), "y": y}, "y", na_values=["9"], missing="branch")
    b = tw.grow({"c": list("99cc99bb"), "y": y}, "y", max_leaf_nodes=1)
    comparison = tw.compare(a, b)
    assert not comparison.equivalent
    assert a.predict(comparison.witness) != b.predict(comparison.witness)
    assert comparison.cases == 2


def test_markers_that_cannot_be_told_apart_are_refused():
    days = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]
    a = tw.grow({"t": days, "y": list("aabb")}, "y", na_values=["9999-12-31"])
    b = tw.grow({"t": days, "y": list("aabb")}, "y")
    with pytest.raises(
        tw.TreewiseError, match='"9999-12-31" means missing to first only: the trees cannot be compared'
    ):
        tw.compare(a, b)


def test_the_witness_between_two_doubles_is_one():
    big = 2**60
    a = tw.grow({"n": [big + 1, big + 255, big + 256, big + 300], "y": list("ABAB")}, "y")
    b = build_tree([Encoding("n", "number")], Target("y", "classification", ("A", "B")), leaf("B", {"B": 2}))
    comparison = tw.compare(a, b)
    assert a.predict(comparison.witness) == "A"
    table = {"n": [big + 1, big + 2, big + 300]}
    other = tw.grow({"n": [0.5, 1.5, 2.5, 3.5], "y": list("ABBB")}, "y")
    wide = tw.grow({"n": [big + 1, big + 2, big + 3, big + 4], "y": list("ABBB")}, "y")
    comparison = tw.compare(wide, other, table)
    assert comparison.rows_differ == sum(w.rows for w in comparison.where) == 1


def test_a_cut_that_finer_moments_cannot_tell_is_refused():
    near = np.array(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"], "datetime64[D]")
    moments = near.astype("datetime64[ns]") + np.arange(1, 5)
    far = np.array(["2400-01-01", "2400-01-02", "2400-01-03", "2400-01-04"], "datetime64[D]")
    b = tw.grow({"t": moments, "y": list("abbb")}, "y")
    assert not tw.compare(tw.grow({"t": near, "y": list("aabb")}, "y"), b).equivalent
    with pytest.raises(
        tw.TreewiseError, match="one tree splits at 2400-01-02, which is out of range in the other's unit"
    ):
        tw.compare(tw.grow({"t": far, "y": list("aabb")}, "y"), b)


def test_rows_of_other_oddities_are_no_places(monkeypatch):
    monkeypatch.setattr(sys.modules["treewise.explain.compare.compare"], "_MAX_BOXES", 1)
    a = tw.parse("u = p or missing -> A\nu = q -> A\nu otherwise\n  v = r -> B\n  v otherwise -> A")
    b = tw.parse("u = p -> A\nu = q -> A\nu otherwise or missing -> C")
    comparison = tw.compare(a, b, {"u": ["zz", None, None, None, "q"], "v": ["r"] * 5})
    assert [(w.text, w.rows) for w in comparison.where] == [("u never seen and v = r", 1)]
    assert "Only regions that contain rows of the table are listed" in str(comparison)
    comparison = tw.compare(a, b, {"u": [None, None, "q"], "v": ["r"] * 3})
    assert (comparison.rows_differ, comparison.where_is_all) == (2, False)
    assert "Only regions that contain rows" not in str(comparison)


def test_rows_of_every_place_are_counted_as_one_by_one():
    rng = np.random.default_rng(3)
    data = {f"x{i}": np.where(rng.random(400) < 0.1, np.nan, rng.integers(0, 30, 400)) for i in range(3)}
    data["c"] = [LEVELS[i] for i in rng.integers(0, 4, 400)]
    trees = [tw.grow(data | {"y": rng.choice(["N", "P"], 400)}, "y", max_leaf_nodes=20) for _ in range(2)]
    comparison = tw.compare(*trees, data)
    rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    assert comparison.rows_differ == sum(w.rows for w in comparison.where) + comparison.rows_incomplete
    for where in comparison.where[:20]:
        assert where.rows == sum(where.region.contains(row) for row in rows if all(c == c for c in row.values()))


def test_both_are_judged_by_what_the_grown_one_predicts():
    table = {"x": [1, 2, 3, 4], "class": ["First", "Second", "First", "Third"], "survived": [1, 1, 0, 0]}
    grown, written = tw.grow(table, "survived", columns=["x"]), tw.parse("x <= 2.5 -> 1\nx > 2.5 -> 0")
    for pair in ((written, grown), (grown, written), (written, written)):
        assert [side.error.wrong for side in tw.compare(*pair, data=table).sides] == [0, 0]


def test_chains_are_compared_in_linear_time(monkeypatch):
    from treewise.explain.compare.joint_traversal import BranchTable
    from treewise.tree.regions.traverse import RegionTraversal

    steps = []

    def count_calls(cls, name):
        original = getattr(cls, name)
        monkeypatch.setattr(cls, name, lambda *words: steps.append(1) or original(*words))

    count_calls(BranchTable, "partition")
    count_calls(RegionTraversal, "take")

    def cost(rows):
        steps.clear()
        x, y = np.arange(rows), np.arange(rows) % 2
        comparison = tw.compare(tw.grow({"x": x, "y": y}, "y"), tw.grow({"x": x + 0.25, "y": y}, "y"))
        assert not comparison.equivalent
        assert comparison.where
        return len(steps)

    assert cost(800) < 2.5 * cost(400)
    assert cost(800) < 20 * 800
