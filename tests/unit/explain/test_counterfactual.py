"""Counterfactuals against brute force over grids; fixed columns, desired classes, missing and unseen values."""

import math
from itertools import product

import numpy as np
import pytest

import treewise as tw
from tests.support.shapley import unusual_rows, varied_trees
from treewise.explain.row_explanation.counterfactual import parse_desired
from treewise.tree.splits import Threshold


def candidates(tree, column, own):
    """All values of a column that could matter, with what they cost: its own, each level, and just past each cut."""
    encoding = tree.encodings[column]
    missing = own is None
    if encoding.is_categorical:
        for level in encoding.levels:
            yield level, 0.0 if level == own else 1.0
        if own not in encoding.levels:
            yield own, 0.0
        return
    cuts = sorted(
        {s.cut for s in map(tree.split_at, range(len(tree))) if isinstance(s, Threshold) and s.column == encoding.name}
    )
    ends = tree.quartiles.get(encoding.name, (0.0, 0.0))
    size = ends[1] - ends[0] or (max(cuts) - min(cuts) if cuts else 0.0) or 1.0
    yield own, 0.0
    for cut in cuts:
        for value in (cut, math.nextafter(cut, math.inf)):
            if math.isfinite(value):
                yield value, 1.0 if missing else abs(value - own) / size


def brute_force(tree, row, wanted, fixed=()):
    """The least (columns, distance) over the whole grid."""
    requested = sorted(set(tree.arrays.column[tree.arrays.column >= 0].tolist()))
    names = [tree.columns[c] for c in requested]
    options = [
        [(row[name], 0.0)] if name in fixed else list(candidates(tree, c, row[name]))
        for c, name in zip(requested, names, strict=True)
    ]
    cells = list(product(*options))
    table = {name: [cell[i][0] for cell in cells] for i, name in enumerate(names)}
    labels = tree.predict(tw.read(table)) if cells else []
    best = None
    for cell, label in zip(cells, labels, strict=True):
        place = label if tree.task == "regression" else tree.classes.index(label)
        if wanted(place):
            costs = [cost for (value, cost), name in zip(cell, names, strict=True) if cost > 0]
            key = (len(costs), math.fsum(costs))
            best = key if best is None else min(best, key)
    return best


def plain_row(tree, rows, i):
    cells = {name: rows[name][i] for name in tree.columns}
    return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in cells.items()}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fixed", [(), ("c",), ("x", "b")])
def test_nothing_nearer_on_the_whole_grid(seed, fixed):
    small = [(tree, table) for tree, table in varied_trees(seed) if tree.n_leaves <= 16]
    assert small
    for tree, table in small:
        rows = unusual_rows(table, seed)
        middle = float(np.median(tree.predict(rows))) if tree.task == "regression" else None
        for i in range(6):
            row = plain_row(tree, rows, i)
            row["b"] = None if row["b"] is None else str(bool(row["b"])).lower()
            desired = None if middle is None else f"> {middle}" if tree.predict(row) <= middle else f"<= {middle}"
            why = tree.explain(row, desired=desired, fixed=[name for name in fixed if name in tree.columns])
            expected = parse_desired(tree, desired, why.prediction)
            best = brute_force(tree, row, expected, fixed)
            if best is None:
                assert why.counterfactual is None
                continue
            assert (len(why.counterfactual.changes), pytest.approx(why.counterfactual.distance, rel=1e-12)) == best
            changed = row | {change.column: change.value for change in why.counterfactual.changes}
            assert tree.predict(changed) == why.counterfactual.prediction
            assert not {change.column for change in why.counterfactual.changes} & set(fixed)


def patients():
    rng = np.random.default_rng(5)
    prior, age = rng.integers(0, 6, 400), rng.integers(20, 90, 400)
    return {"prior": prior, "age": age, "y": np.where((prior > 1) | (age > 70), "yes", "no")}


def test_a_number_moves_just_past_its_cut_to_a_natural_value():
    tree = tw.grow(patients(), "y")
    why = tree.explain({"prior": 3, "age": 50})
    (change,) = why.counterfactual.changes
    assert (change.column, change.value, change.condition) == ("prior", 1.0, "prior <= 1.5")
    assert why.sentences[1].startswith("It would be no (100.0 %: ")
    assert why.sentences[1].endswith(" if prior were 1 (<= 1.5).")
    both = tree.explain({"prior": 3, "age": 80})
    assert [(c.column, c.value) for c in both.counterfactual.changes] == [("prior", 1.0), ("age", 70.0)]


def test_decimals_are_those_of_the_column():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    why = tree.explain({"flipper_length_mm": 190, "bill_length_mm": 40.1})
    assert why.counterfactual.changes[0].text == "43.4"
    down = tree.explain({"flipper_length_mm": 190, "bill_length_mm": 50})
    assert down.counterfactual.changes[0].text == "43.3"


def test_the_desired_prediction_is_a_class_or_a_bound():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    row = {"flipper_length_mm": 190, "bill_length_mm": 40, "island": "Dream"}
    why = tree.explain(row, desired="Gentoo")
    assert why.counterfactual.prediction == "Gentoo"
    assert {change.column for change in why.counterfactual.changes} == {"flipper_length_mm", "island"}
    assert tree.explain(row, desired="Adelie").sentences[1] == "It is already Adelie."
    assert tree.explain(row, desired="Gentoo", fixed=["island"]).sentences[1] == (
        "No change that keeps island fixed would make it Gentoo."
    )
    assert tree.explain(row, fixed=tree.columns).counterfactual is None
    with pytest.raises(tw.ParameterError, match=r'^desired="Gento": no such class\. Did you mean "Gentoo"\?'):
        tree.explain(row, desired="Gento")
    with pytest.raises(tw.ParameterError, match=r'^fixed: no column "iland" in the tree\. Did you mean "island"\?'):
        tree.explain(row, fixed=["iland"])
    numbers = tw.grow({"x": [1, 2, 3, 4], "y": [1.0, 1.5, 7.0, 8.0]}, "y")
    assert numbers.explain({"x": 1}).counterfactual is None
    assert numbers.explain({"x": 1}, desired="> 5").counterfactual.prediction == 7.0
    assert numbers.explain({"x": 1}, desired="> 7").counterfactual.prediction == 8.0
    assert numbers.explain({"x": 1}, desired=">= 100").sentences[1] == "No change would make it >= 100."
    assert numbers.explain({"x": 4}, desired="> 5").sentences[1] == "It is already > 5."
    for bad in (5, "5", "high", ">", "> high"):
        with pytest.raises(tw.ParameterError, match="the tree predicts numbers; give a bound"):
            numbers.explain({"x": 1}, desired=bad)


def test_absent_columns_must_become_known():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    why = tree.explain({"flipper_length_mm": 190, "bill_length_mm": 40}, desired="Gentoo")
    assert [(c.column, c.distance) for c in why.counterfactual.changes][1] == ("island", 1.0)
    assert "island were Biscoe" in why.sentences[1]


def test_missing_and_unseen_values_become_known_but_never_the_reverse():
    tree = tw.grow({"c": ["p", "p", "q", "q", None, None], "y": ["a", "a", "b", "b", "z", "z"]}, "y", missing="branch")
    why = tree.explain({"c": None})
    assert why.prediction == "z"
    assert [(c.column, c.value, c.distance) for c in why.counterfactual.changes] == [("c", "p", 1.0)]
    assert tree.explain({"c": "p"}).counterfactual.prediction == "b"
    assert tree.explain({"c": "p"}, desired="z").counterfactual is None  # nobody makes a value missing
    numbers = tw.grow({"x": [1.0, 2, 3, 4, np.nan, np.nan], "y": list("aabbzz")}, "y")
    explanation = numbers.explain({"x": None}, desired="a")
    assert (
        explanation.counterfactual.changes[0].distance,
        numbers.predict({"x": explanation.counterfactual.changes[0].value}),
    ) == (
        1.0,
        "a",
    )


def test_the_other_column_wins_where_it_is_nearer_in_its_own_spread():
    rng = np.random.default_rng(1)
    wide, narrow = rng.uniform(0, 1000, 500), rng.uniform(0, 1, 500)
    tree = tw.grow({"wide": wide, "narrow": narrow, "y": (wide > 500) & (narrow > 0.5)}, "y", max_depth=2)
    near = tree.explain({"wide": 550.0, "narrow": 0.9})
    assert [c.column for c in near.counterfactual.changes] == ["wide"]
    far = tree.explain({"wide": 900.0, "narrow": 0.55})
    assert [c.column for c in far.counterfactual.changes] == ["narrow"]


def test_without_quartiles_the_range_of_cuts_or_the_unit_measures():
    tree = tw.parse("x <= 1 -> a\nx > 1\n    x <= 5 -> b\n    x > 5 -> c")
    why = tree.explain({"x": 9.0})
    assert why.counterfactual.distance == 1.0  # from 9 to 5, with cuts 4 apart
    assert (
        why.sentences[2]
        == "(The distance in x is scaled by the range of its thresholds: its interquartile range is unknown.)"
    )
    single = tw.parse("x <= 1 -> a\nx > 1 -> b").explain({"x": 9.0})
    assert single.counterfactual.distance == 8.0
    assert "The distance in x is not scaled" in single.sentences[2]


def test_whole_numbers_dates_and_ends_of_the_scale():
    big = 2**60
    tree = tw.grow({"n": [big, big + 1, big + 2, big + 3], "y": list("aabb")}, "y")
    why = tree.explain({"n": big})
    assert why.counterfactual.changes[0].value == big + 2
    dates = tw.grow(
        {"d": np.array(["2024-01-01", "2024-01-03", "2024-02-01", "2024-03-01"], "M8[D]"), "y": list("aabb")}, "y"
    )
    assert "if d were 2024-01-18 (> 2024-01-17)" in dates.explain({"d": "2024-01-01"}).sentences[1]
    infinite = tw.grow({"x": [0.0, 1.0, 2.0, 3.0], "y": list("aabb")}, "y").explain({"x": math.inf})
    assert infinite.counterfactual.changes[0].value == 1.0


def test_of_ordered_levels_the_nearest_is_named():
    sizes = ["S", "M", "L", "XL"]
    tree = tw.grow({"s": sizes * 5, "y": [0, 0, 1, 1] * 5}, "y", kinds={"s": sizes})
    assert [tree.explain({"s": s}).counterfactual.changes[0].value for s in sizes] == ["L", "L", "M", "M"]
    assert tree.explain({"s": None}).counterfactual.changes[0].value == "L"


def test_costs_decide_what_is_another_answer():
    tree = tw.grow("penguins", max_depth=1).with_cost({"Gentoo": {"Adelie": 500}})
    why = tree.explain({"flipper_length_mm": 190})
    assert (why.prediction, why.counterfactual.prediction) == ("Chinstrap", "Gentoo")


def test_a_single_class_has_no_other():
    tree = tw.grow({"x": [1, 2], "y": ["a", "a"]}, "y")
    assert tree.explain({"x": 1}).counterfactual is None
    assert len(tree.explain({"x": 1}).sentences) == 1


def days(*ends):
    return np.array([f"2022-01-{day:02d}" for day in ends for _ in range(4)], "M8[D]")


def test_a_day_not_given_becomes_one_that_is_allowed():
    tree = tw.grow({"d": days(1, 2), "y": list("aaaabbbb")}, "y")
    missing = tree.explain({"d": None})
    (change,) = missing.counterfactual.changes
    assert (change.value, change.condition) == ("2022-01-02", "d > 2022-01-01")
    assert tree.predict({"d": change.value}) == missing.counterfactual.prediction == "b"
    hand = tw.parse("d <= 2022-01-01 -> a\nd > 2022-01-01\n  d <= 2022-01-02 -> b\n  d > 2022-01-02 -> a")
    for row in ({"d": "2022-01-01"}, {"d": "2022-02-01"}):
        (change,) = hand.explain(row).counterfactual.changes
        assert (change.value, hand.predict({"d": change.value})) == ("2022-01-02", "b")
    middle = hand.explain({"d": None}, desired="b").counterfactual.changes[0]
    assert (middle.value, middle.condition) == ("2022-01-02", "d = 2022-01-02")


def test_a_wide_integer_not_given_stays_exact():
    big = 2**60 + 1
    tree = tw.grow({"n": [big] * 4 + [big + 1] * 4 + [None] * 9, "y": list("aaaabbbbccccccccc")}, "y")
    for to in "ab":
        why = tree.explain({"n": None}, desired=to)
        assert tree.predict({"n": why.counterfactual.changes[0].value}) == to


def test_what_a_column_should_become_can_be_put_into_the_row():
    days_of = {"d": days(1, 9), "y": list("aaaabbbb")}
    flags = {"flag": [True] * 4 + [False] * 4, "y": list("aaaabbbb")}
    for data, row, to in ((days_of, {"d": "2022-01-01"}, "2022-01-06"), (flags, {"flag": True}, False)):
        tree = tw.grow(data, "y")
        counterfactual = tree.explain(row).counterfactual
        (change,) = counterfactual.changes
        assert change.value == to
        assert type(change.value) is type(to)
        assert tree.predict({**row, change.column: change.value}) == counterfactual.prediction == "b"
        assert tree.explain(row).to_dict()["counterfactual"]["changes"][0]["value"] == to


def test_two_columns_that_are_infinitely_far():
    tree = tw.parse("x <= 1\n  z <= 1 -> A\n  z > 1 -> B\nx > 1 -> B")
    why = tree.explain({"x": math.inf, "z": math.inf})
    assert [(c.column, c.value, c.distance) for c in why.counterfactual.changes] == [
        ("x", 1.0, math.inf),
        ("z", 1.0, math.inf),
    ]
    assert why.counterfactual.distance == math.inf
    tiny = tw.grow(
        {"x": [0.0, 1e-310] * 4, "z": [0.0, 1e-310] * 2 + [1e-310, 0.0] * 2, "y": [1, 0, 1, 0, 0, 0, 0, 0]}, "y"
    )
    assert tiny.explain({"x": 5.0, "z": 5.0}, desired=1).counterfactual.distance == math.inf


def test_the_fewest_infinite_changes_win():
    hand = "a <= 1\n  b <= 1 -> P\n  b > 1 -> Q\na > 1\n  c <= 1\n    b <= 1 -> Q\n    b > 1 -> P\n  c > 1 -> Q"
    counterfactual = tw.parse(hand).explain({"a": 2.0, "b": math.inf, "c": 9.0}).counterfactual
    assert [change.column for change in counterfactual.changes] == ["c"]
    both = tw.parse(
        "a <= 1\n  b <= 1 -> P\n  b > 1 -> Q\na > 1\n  c <= 1\n    d <= 1 -> P\n    d > 1 -> Q\n  c > 1 -> Q"
    )
    row = {"a": math.inf, "b": math.inf, "c": math.inf, "d": 9.0}
    for names in (row, {**row, "d": math.inf, "b": 9.0}):
        counterfactual = both.explain(names).counterfactual
        assert sum(math.isinf(change.distance) for change in counterfactual.changes) == 1


def test_large_numbers_have_many_decimals():
    tree = tw.parse("x <= 20000000000000.5 -> a\nx > 20000000000000.5 -> b")
    (change,) = tree.explain({"x": 0.1 + 0.2}).counterfactual.changes
    assert 20000000000000.5 < change.value < 20000000000000.6
