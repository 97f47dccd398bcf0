"""Regions: every row lies in the region of exactly one leaf, the one the core routes it to."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.handmade_trees import N_P, build_tree, leaf, node, trees
from treewise.data.encoding import INT64_MAX, INT64_MIN, Encoding
from treewise.predict.predict import find_leaves
from treewise.tree.arrays import LEAF
from treewise.tree.regions.condition import intersect
from treewise.tree.regions.region import Interval, Levels, Region, cell_value, region_of, regions, terminal_regions
from treewise.tree.splits import Multiway, OneValue, Ordinal, Subset, Threshold

CITY = Encoding("city", "nominal", ("Bari", "Rome", "Turin"))
SIZE = Encoding("size", "ordered", ("S", "M", "L", "XL"))
AGE = Encoding("age", "number")
FLAG = Encoding("x3", "boolean", ("false", "true"))
LARGE = Encoding("n", "integer")


def values_of(tree, column):
    """What may stand in a column: its cuts, their neighbours, the ends of the line, levels, never-seen and missing."""
    encoding = tree.encodings[column]
    at = np.flatnonzero((tree.arrays.column == column) & (tree.arrays.kind != LEAF))
    if encoding.is_categorical:
        return np.array([*range(-2 if encoding.kind != "boolean" else -1, len(encoding.levels))], np.int32)
    if encoding.kind == "number":
        cuts = tree.arrays.cut[at]
        near = [np.nextafter(cuts, -np.inf), cuts, np.nextafter(cuts, np.inf), [-np.inf, np.inf, np.nan, 0.0]]
        return np.concatenate(near)
    cuts = [int(c) + d for c in tree.arrays.cut_int[at] for d in (-1, 0, 1)]
    return np.array(
        [*(c for c in cuts if INT64_MIN < c <= INT64_MAX), INT64_MIN, INT64_MIN + 1, INT64_MAX, 0], np.int64
    )


def draw_rows(tree, n, seed):
    rng = np.random.default_rng(seed)
    return [rng.choice(values_of(tree, i), n) for i in range(len(tree.encodings))]


def as_value(encoding, value):
    gone = math.isnan(value) if encoding.kind == "number" else value == (-1 if encoding.is_categorical else INT64_MIN)
    return None if gone else value


def homes(tree, columns, n):
    """The ends in whose region each row lies."""
    actual = [[] for _ in range(n)]
    rows = [
        [as_value(tree.encodings[i], v) for i, v in enumerate(row)]
        for row in zip(*map(np.ndarray.tolist, columns), strict=True)
    ]
    for end, region in terminal_regions(tree):
        for k, row in enumerate(rows):
            if all(condition.holds(row[i]) for i, condition in region.conditions.items()):
                actual[k].append(end)
    return actual


@settings(deadline=None, max_examples=150)
@given(trees(max_inner=8), st.integers(0, 99))
def test_every_row_lies_in_exactly_one_end_and_stops_there(tree, seed):
    n = 60
    columns = draw_rows(tree, n, seed)
    assert homes(tree, columns, n) == [[end] for end in find_leaves(tree, columns, n).tolist()]


@settings(deadline=None, max_examples=100)
@given(trees(max_inner=8))
def test_a_member_stops_where_its_region_says_and_an_empty_region_has_none(tree):
    for end, region in terminal_regions(tree):
        if region.empty:
            assert region.example() == {}
            continue
        columns = []
        for i, encoding in enumerate(tree.encodings):
            condition = region.conditions.get(i)
            cell = None if condition is None else region.example()[encoding.name]
            if encoding.kind == "datetime" and cell is not None:
                code = np.datetime64(cell.replace(" ", "T"), encoding.unit).astype(np.int64).item()
            elif encoding.is_categorical and cell is not None:
                text = str(cell).lower() if encoding.kind == "boolean" else cell
                code = encoding.levels.index(text) if text in encoding.levels else -2
            else:
                code = cell
            assert condition is None or condition.holds(code)
            kind = {"number": np.float64}.get(encoding.kind, np.int32 if encoding.is_categorical else np.int64)
            gone = {"number": math.nan}.get(encoding.kind, -1 if encoding.is_categorical else INT64_MIN)
            columns.append(np.array([gone if code is None else code], kind))
        assert find_leaves(tree, columns, 1).tolist() == [end]


@settings(deadline=None, max_examples=60)
@given(trees(max_inner=8), st.integers(0, 99))
def test_regions_of_nodes_nest_and_agree_with_the_path(tree, seed):
    actual = dict(regions(tree))
    assert list(actual) == list(range(len(tree)))
    for number, region in actual.items():
        assert region == region_of(tree, number)
        up = int(tree.arrays.parent[number])
        if up >= 0:
            assert (region & actual[up]).conditions == region.conditions
    some = {int(np.random.default_rng(seed).integers(len(tree)))}
    assert [(n, r) for n, r in regions(tree, some)] == [(n, actual[n]) for n in some]


@pytest.mark.parametrize("options", [{}, {"categorical": "multiway"}, {"categorical": "any", "missing": "branch"}])
def test_rows_of_a_table_are_contained_where_they_stop(options):
    table = tw.datasets.penguins()
    tree = tw.grow(table, **options)
    regions_of_ends = list(terminal_regions(tree))
    rows = [*table.to_polars().to_dicts()[::9], dict.fromkeys(table.columns), {**table.to_polars().to_dicts()[0]}]
    rows[-1]["island"] = "Atlantis"
    for row in rows:
        assert [end for end, region in regions_of_ends if region.contains(row)] == [tree.apply(row)]


def test_cells_are_read_as_predictions_read_them():
    assert cell_value(CITY, "Rome") == 1
    assert cell_value(CITY, "Oslo") == -2
    assert cell_value(CITY, None) is None
    assert cell_value(AGE, math.nan) is None
    assert cell_value(LARGE, 2**60 + 1) == 2**60 + 1
    with pytest.raises(tw.ColumnError, match=r'the row has no column "age"\. Did you mean "Age"\?'):
        Region((AGE,), {0: Interval(1.0)}).contains({"Age": 3})


def test_words_are_merged():
    def said(encoding, condition, **options):
        return Region((encoding,), {0: condition}).describe(**options)

    assert said(AGE, Interval(3.2, 7.0)) == ("3.2 < age <= 7 or missing",)
    assert said(AGE, Interval(3.2, 7.0), or_missing=False) == ("3.2 < age <= 7",)
    assert said(AGE, Interval(0.0, None, missing=False)) == ("age > 0",)
    assert said(AGE, Interval(present=False)) == ("age missing",)
    assert said(AGE, Interval(present=False, missing=False)) == ("age impossible",)
    assert said(AGE, Interval(missing=False)) == ("age present",)
    assert said(AGE, Interval()) == ()
    assert said(LARGE, Interval(2**60, 2**60 + 1, missing=False)) == (f"n = {2**60 + 1}",)
    assert said(FLAG, Levels(0, 1, frozenset({1}), unseen=False, missing=False)) == ("x3 is true",)
    assert said(FLAG, Levels(0, 1, unseen=False, missing=False)) == ("x3 present",)
    assert said(CITY, Levels(0, 2, frozenset({0, 2}), unseen=False, missing=False)) == ("city in {Bari, Turin}",)
    assert said(CITY, Levels(0, 2, without=frozenset({0, 2}))) == ("city = Rome or missing or never seen",)
    assert said(CITY, Levels(0, 2, without=frozenset({0, 2})), or_unseen=False) == ("city = Rome or missing",)
    assert said(CITY, Levels(0, 2, frozenset(), missing=False)) == ("city never seen",)
    four = Encoding("town", "nominal", ("a", "b", "c", "d", "e"))
    assert said(four, Levels(0, 4, without=frozenset({0, 1}), missing=False)) == ("town not in {a, b}",)
    assert said(SIZE, Levels(0, 1, unseen=False, missing=False)) == ("size <= M",)
    assert said(SIZE, Levels(1, 3, unseen=False, missing=False)) == ("size > S",)
    assert said(SIZE, Levels(1, 2, unseen=False, missing=False)) == ("S < size <= L",)
    assert said(SIZE, Levels(0, 3, frozenset({0, 2}), unseen=False, missing=False)) == ("size in {S, L}",)
    assert said(SIZE, Levels(3, 3, unseen=False, missing=False)) == ("size = XL",)


def test_a_sentence_puts_alternatives_in_brackets():
    region = Region((AGE, CITY), {0: Interval(3.0, None), 1: Levels(0, 2, frozenset({0}), unseen=False, missing=False)})
    assert str(region) == "(age > 3 or missing) and city = Bari"
    assert str(Region((AGE,), {0: Interval(3.0, None)})) == "age > 3 or missing"
    assert str(Region((AGE,), {})) == "all rows"


def test_contradictory_tests_leave_an_empty_region():
    below = node(Threshold("age", 5.0, missing=1), leaf("N"), leaf("P"))
    tree = build_tree([AGE], N_P, node(Threshold("age", 3.0, missing=1), below, leaf("P")))
    assert [(end, region.empty) for end, region in terminal_regions(tree)] == [(2, False), (3, True), (4, False)]
    whole = build_tree([LARGE], N_P, node(Threshold("n", INT64_MAX, missing=0), leaf("N"), leaf("P")))
    assert [region.empty for _, region in terminal_regions(whole)] == [False, True]


def test_levels_without_a_branch_stay_at_the_node():
    tree = build_tree([CITY, FLAG], N_P, node(Multiway("city", ("Bari",), missing=1), leaf("N"), leaf("P")))
    assert [(end, str(region)) for end, region in terminal_regions(tree)] == [
        (0, "city != Bari"),
        (1, "city = Bari"),
        (2, "city missing"),
    ]
    full = build_tree([FLAG], N_P, node(Multiway("x3", ("false", "true")), leaf("N"), leaf("P")))
    assert [end for end, _ in terminal_regions(full)] == [1, 2], "a boolean has no third level"


def test_never_seen_levels_go_with_the_missing_ones_where_there_is_an_order():
    tree = build_tree([SIZE], N_P, node(Ordinal("size", "M", missing=2), leaf("N"), leaf("P"), leaf("N")))
    assert [str(region) for _, region in terminal_regions(tree)] == [
        "size <= M",
        "size > M",
        "size missing or never seen",
    ]


def test_intersections_of_levels_are_those_of_sets():
    rng = np.random.default_rng(1)

    def some():
        listed = frozenset(rng.choice(8, rng.integers(0, 8)).tolist()) if rng.random() < 0.5 else None
        without = frozenset(rng.choice(8, rng.integers(0, 4)).tolist()) if listed is None else frozenset()
        first = int(rng.integers(0, 4))
        return Levels(first, int(rng.integers(first, 8)), listed, without, *(rng.random(2) < 0.5).tolist())

    encoding = Encoding("c", "nominal", tuple("abcdefgh"))
    for _ in range(300):
        one, two = some(), some()
        meet = intersect(one, two, encoding)
        for code in (None, -2, *range(8)):
            assert meet.holds(code) == (one.holds(code) and two.holds(code))
        assert meet.n == len(list(meet.codes()))
        assert (one == two) == all(one.holds(c) == two.holds(c) for c in (None, -2, *range(8)))


def test_deep_chains_and_many_levels():
    n = 3_000
    levels = tuple(map(str, range(n)))
    below = leaf("N", {"N": 1})
    for level in reversed(levels):
        below = node(OneValue("c", level, missing=1), leaf("P", {"P": 1}), below)
    tree = build_tree([Encoding("c", "nominal", levels)], N_P, below)
    assert sum(1 for _ in terminal_regions(tree)) == n + 1
    wide = build_tree(
        [Encoding("c", "nominal", levels)], N_P, node(Multiway("c", levels), *(leaf("P") for _ in levels))
    )
    assert sum(region.conditions[0].n for _, region in terminal_regions(wide)) == n
    listed = build_tree([Encoding("c", "nominal", levels)], N_P, node(Subset("c", levels[::2]), leaf("P"), leaf("N")))
    assert [region.conditions[0].n for _, region in terminal_regions(listed)] == [n // 2, n // 2]


def test_a_member_of_a_region_beside_minus_infinity():
    tree = tw.grow({"x": [-math.inf, -math.inf, 1, 2, 3, 4], "y": list("aabbcc")}, "y", min_samples_leaf=1)
    for _, region in terminal_regions(tree):
        assert region.contains(region.example())
    assert tree.predict(region_of(tree, 3).example()) == "b"
    assert Region((AGE,), {0: Interval(-1.7e308, 1.7e308)}).example() == {"age": 0}
    assert Region((AGE,), {0: Interval(1e305, 1.7e308)}).example()["age"] > 1e305


def test_a_region_reads_cells_as_its_tree_does():
    tree = tw.grow({"x": [-999, -999, 1, 2, 3, 4], "y": list("bbaaaa")}, "y", na_values=("-999",), missing="branch")
    for cell in (-999, "-999", None, 1, -1000):
        at = tree.apply({"x": cell})
        assert [node for node, region in terminal_regions(tree) if region.contains({"x": cell})] == [at]
        assert [rule.node for rule in tree.rules() if rule.covers({"x": cell})] == [at]


def test_a_member_is_no_marker():
    tree = build_tree([AGE], N_P, node(Threshold("age", -999.0), leaf("N", {"N": 2}), leaf("P", {"P": 2})))
    marked = tree.with_(history=({"did": "grown", "na_values": ["-999", "-998"]},))
    members = [region.example()["age"] for _, region in terminal_regions(marked)]
    assert members[0] == -1000
    assert members[1] not in (-999, -998)
    assert [marked.predict({"age": age}) for age in members] == ["N", "P"]


def test_no_such_column_in_a_region():
    with pytest.raises(tw.TreewiseError, match=r'the region has no column "Age"\. Did you mean "age"'):
        Region((AGE,), {})["Age"]
