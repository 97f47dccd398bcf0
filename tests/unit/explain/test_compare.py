"""Tree comparison: verdict, counts and regions agree with exhaustive enumeration."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.handmade_trees import N_P, NodeSpec, build_tree, leaf, node, splits
from treewise.data.encoding import INT64_MAX, INT64_MIN, Encoding
from treewise.explain.compare.compare import Scope, TreeComparer
from treewise.explain.compare.input_space import InputSpace
from treewise.predict.predict import find_leaves
from treewise.tree.arrays import LEAF, STOPS, Target
from treewise.tree.splits import Multiway, OneValue, Ordinal, Subset, Threshold

NAMES = ("first", "second")
LEVELS = ("a", "b", "c", "d")


@st.composite
def encodings_of_two(draw):
    """Columns for two trees: the same kinds, but levels in other orders, more or fewer; or only in one tree."""
    kinds = draw(
        st.lists(st.sampled_from(["number", "integer", "boolean", "nominal", "ordered"]), min_size=1, max_size=3)
    )
    pairs = []
    for i, kind in enumerate(kinds):
        two = []
        for _ in range(2):
            levels = ("false", "true") if kind == "boolean" else ()
            if kind in ("nominal", "ordered"):
                levels = tuple(draw(st.permutations(LEVELS)))[: draw(st.integers(2, 4))]
            two.append(Encoding(f"x{i}", kind, levels))
        pairs.append(two)
    return [p[0] for p in pairs], [p[1] for p in pairs]


@st.composite
def trees_on(draw, columns, classes=("N", "P")):
    root = NodeSpec()
    leaves = [root]
    for _ in range(draw(st.integers(0, 5))):
        at = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        encoding = draw(st.sampled_from(columns))
        cuts = st.integers(-2, 2)
        at.split = draw(splits(encoding))
        if isinstance(at.split, Threshold) and draw(st.booleans()):  # cuts that meet those of the other tree
            cut = draw(cuts)
            at.split = Threshold(
                encoding.name, float(cut) if encoding.kind == "number" else cut, missing=at.split.missing
            )
        at.children = [NodeSpec() for _ in range(at.split.n_branches)]
        leaves.extend(at.children)
    for made in leaves:
        made.prediction = draw(st.sampled_from(classes))
        made.counts = draw(st.sampled_from([{}, {made.prediction: 2}, {"N": 1, "P": 1}]))
        made.stop = STOPS[2]
    target = Target("y", "classification", tuple(draw(st.permutations(classes))))
    return build_tree(columns, target, root)


@st.composite
def pairs_of_trees(draw):
    one, two = draw(encodings_of_two())
    return draw(trees_on(one)), draw(trees_on(two))


def values_of(name, trees):
    """Everything that may matter in a column: (cell, its code in either tree)."""
    encodings = [next(e for e in t.encodings if e.name == name) for t in trees]
    kind = encodings[0].kind
    if encodings[0].is_categorical:
        texts = dict.fromkeys([*encodings[0].levels, *encodings[1].levels])
        more = [(None, (-1, -1)), *([("new", (-2, -2))] if kind != "boolean" else [])]
        return [*((t, tuple(e.levels.index(t) if t in e.levels else -2 for e in encodings)) for t in texts), *more]
    cuts = set()
    for tree in trees:
        a = tree.arrays
        at = (a.column == tree.columns.index(name)) & (a.kind != LEAF)
        cuts |= set((a.cut if kind == "number" else a.cut_int)[at].tolist())
    if kind == "number":
        near = {v for c in cuts for v in (c, math.nextafter(c, math.inf))} | {-math.inf, math.inf}
        return [*((v, (v, v)) for v in sorted(near)), (None, (math.nan, math.nan))]
    near = {v for c in cuts for v in (c, c + 1) if INT64_MIN < v <= INT64_MAX} | {INT64_MIN + 1, INT64_MAX}
    return [*((v, (v, v)) for v in sorted(near)), (None, (INT64_MIN, INT64_MIN))]


def grid_of(trees, names):
    grids = [values_of(name, trees) for name in names]
    return list(itertools.product(*grids)) if math.prod(map(len, grids)) <= 60_000 else None


def answers_on(tree, which, names, grid, what="prediction"):
    columns = []
    for encoding in tree.encodings:
        kind = {"number": np.float64, "integer": np.int64}.get(encoding.kind, np.int32)
        if encoding.name in names:
            at = names.index(encoding.name)
            columns.append(np.array([row[at][1][which] for row in grid], kind))
        else:
            columns.append(np.zeros(len(grid), kind))
    nodes = find_leaves(tree, columns, len(grid))
    return [tree.prediction(n) for n in nodes.tolist()]


@settings(deadline=None, max_examples=150)
@given(pairs_of_trees())
def test_verdict_counts_and_places_agree_with_trying_everything(pair):
    a, b = pair
    space = InputSpace.of(a, b, NAMES)
    names = [axis.name for axis in space.axes]
    grid = grid_of(pair, names)
    if grid is None:
        return
    one, two = answers_on(a, 0, names, grid), answers_on(b, 1, names, grid)
    differ = [x != y for x, y in zip(one, two, strict=True)]
    complete = [all(cell is not None and cell != "new" for cell, _ in row) for row in grid]
    comparison = tw.compare(a, b)
    assert comparison.equivalent == (not any(differ))
    assert comparison.equivalent_on_complete_rows == (not any(d and c for d, c in zip(differ, complete, strict=True)))
    assert tw.compare(a, b, complete=True).equivalent == comparison.equivalent_on_complete_rows
    check_witness(a, b, comparison)
    if comparison.cases is not None:
        assert comparison.cases == sum(complete)
        assert comparison.differ_on == sum(d and c for d, c in zip(differ, complete, strict=True))
    check_boxes(TreeComparer(a, b, "prediction", 0.0, False, NAMES), grid, differ)
    if not comparison.equivalent and not comparison.equivalent_on_complete_rows:
        expected = [d and c for d, c in zip(differ, complete, strict=True)]
        rows = [{name: cell for name, (cell, _) in zip(names, row, strict=True)} for row in grid]
        some = [i for i in range(len(grid)) if complete[i]][:40]
        for i in some:
            assert any(w.region.contains(rows[i]) for w in comparison.where) == expected[i]


def check_boxes(comparer, grid, differ):
    """Every point of the grid lies in one box if the trees differ on it, and in none if they do not."""
    axes = comparer.space.axes
    boxes = list(comparer.differing_boxes(Scope(unseen=True, missing=True)))
    for row, different in zip(grid[:300], differ[:300], strict=True):
        inside = 0
        for box in boxes:
            conditions = [axis.condition(cells) for axis, cells in zip(axes, box.cells, strict=True)]
            codes = [code_in(axis, cell) for axis, (cell, _) in zip(axes, row, strict=True)]
            inside += all(c.holds(code) for c, code in zip(conditions, codes, strict=True))
        assert inside == different


def code_in(axis, cell):
    if not axis.is_categorical or cell is None:
        return cell
    return axis.encoding.levels.index(cell) if cell in axis.encoding.levels else -2


def answer_of(tree, row):
    try:
        return tree.predict(row)
    except tw.DataError:
        return None


def check_witness(a, b, found):
    assert (found.witness is None) == found.equivalent
    if found.witness is None:
        return
    if found.witness == {}:
        assert len(a) == len(b) == 1
        return
    answers = [answer_of(t, found.witness) for t in (a, b)]
    assert answers[0] != answers[1]
    assert answers == [side.prediction for side in found.sides]
    assert [t.apply(found.witness) for t in (a, b)] == [side.node for side in found.sides]
    assert bool(found.witness_needs) == found.equivalent_on_complete_rows


@settings(deadline=None, max_examples=80)
@given(pairs_of_trees())
def test_probabilities_are_compared_where_asked_for(pair):
    a, b = pair
    names = [axis.name for axis in InputSpace.of(a, b, NAMES).axes]
    grid = grid_of(pair, names)
    if grid is None:
        return
    comparison = tw.compare(a, b, what="probability")

    def chances(tree, which):
        columns = []
        for encoding in tree.encodings:
            kind = {"number": np.float64, "integer": np.int64}.get(encoding.kind, np.int32)
            at = names.index(encoding.name) if encoding.name in names else None
            columns.append(np.array([0 if at is None else row[at][1][which] for row in grid], kind))
        nodes = find_leaves(tree, columns, len(grid)).tolist()
        order = [tree.classes.index(c) for c in ("N", "P")]
        return [None if tree.prediction(n) is None else tuple(tree.probabilities(n)[order].tolist()) for n in nodes]

    assert comparison.equivalent == (chances(a, 0) == chances(b, 1))


# -- the same tree in other clothes ---------------------------------------------------------------------------


def adult_like(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(17, 90, n),
        "hours": rng.normal(40, 10, n).round(1),
        "town": rng.choice(["Bari", "Rome", "Turin", "Pisa"], n),
        "flag": rng.random(n) < 0.5,
        "y": rng.choice(["no", "yes"], n),
    }


@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_value", "any"])
def test_a_tree_is_equivalent_to_itself_saved_copied_and_pruned_of_nothing(categorical, tmp_path):
    tree = tw.grow(adult_like(), "y", categorical=categorical)
    tree.save(tmp_path / "m.json")
    for other in (tw.load(tmp_path / "m.json"), tw.parse(tree.export("text")), tree.prune("collapse")):
        comparison = tw.compare(tree, other, adult_like(), what="prediction")
        assert comparison.equivalent
        assert comparison.rows_differ == 0
        assert comparison.differ_on in (None, 0)
        assert comparison.witness is None
        assert "equivalent" in str(comparison).splitlines()[0]


def test_reordered_branches_are_no_difference():
    one = tw.parse("c = a -> N\nc = b -> P\nc otherwise -> N")
    two = tw.parse("c = b -> P\nc = a or missing -> N\nc otherwise -> N")
    comparison = tw.compare(one, two)
    assert comparison.equivalent
    assert comparison.changes == ()


def test_refitting_moves_probabilities_but_not_the_tests():
    data = adult_like()
    tree = tw.grow(data, "y", max_depth=3)
    refitted = tree.refit(adult_like(seed=1))
    same = tw.compare(tree, refitted)
    assert {c.kind for c in same.changes} <= {"prediction"}
    assert not tw.compare(tree, refitted, what="probability").equivalent
    assert tw.compare(tree, refitted, what="probability", tolerance=1.0).equivalent


def test_rows_of_a_table_are_counted_and_one_is_the_witness():
    data = adult_like()
    one, two = (tw.grow(data, "y", max_depth=d) for d in (2, 4))
    comparison = tw.compare(one, two, data)
    differ = one.predict(data) != two.predict(data)
    assert (comparison.rows, comparison.rows_differ) == (400, differ.sum())
    assert comparison.share_of_rows == differ.mean()
    assert comparison.witness_row == np.flatnonzero(differ)[0] + 1
    assert one.predict(comparison.witness) != two.predict(comparison.witness)
    assert comparison.where_is_all
    assert sum(w.rows for w in comparison.where) == differ.sum()
    assert f"differ on {differ.sum()} of the 400 rows" in str(comparison)


def test_missing_values_and_never_seen_levels_are_part_of_the_space():
    one = tw.parse("age <= 5 or missing -> N\nage > 5 -> P")
    two = tw.parse("age <= 5 -> N\nage > 5 or missing -> P")
    comparison = tw.compare(one, two)
    assert not comparison.equivalent
    assert comparison.equivalent_on_complete_rows
    assert comparison.witness == {"age": None}
    assert comparison.witness_needs == ("age missing",)
    assert comparison.verdict == "not equivalent, but they differ only on rows with missing or unseen values"
    assert tw.compare(one, two, complete=True).verdict == "equivalent on rows without missing or unseen values"
    listed = tw.parse("c in {a, b} -> N\nc otherwise -> P")
    rest = tw.parse("c = d -> P\nc = e -> P\nc otherwise -> N")
    comparison = tw.compare(listed, rest)
    assert comparison.witness == {"c": "something else"}
    assert comparison.witness_needs == ("c never seen",)
    assert [w.text for w in comparison.where] == ["c never seen"]
    assert (comparison.differ_on, comparison.cases) == (0, 4)


def test_a_tree_that_refuses_missing_values_is_not_asked_about_them():
    data = {"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "a", "b", "b"]}
    strict = tw.grow(data, "y", missing="error")
    other = tw.parse("x <= 2.5 -> a\nx > 2.5 or missing -> b")
    assert tw.compare(strict, other).equivalent


def test_whole_numbers_and_days_are_exact():
    large, days = Encoding("n", "integer"), Encoding("day", "datetime", unit="D")
    seconds = Encoding("day", "datetime", unit="s")
    cut = 2**60

    def on(encoding, value):
        return build_tree([encoding], N_P, node(Threshold(encoding.name, value, missing=1), leaf("N"), leaf("P")))

    assert tw.compare(on(large, cut), on(large, cut + 1)).witness == {"n": cut + 1}
    assert tw.compare(on(large, cut), on(Encoding("n", "number"), float(cut))).equivalent
    assert tw.compare(on(large, 3), on(Encoding("n", "number"), 3.5)).witness == {"n": 3.5}
    assert tw.compare(on(days, 19797), on(seconds, 19798 * 86400 - 1)).equivalent
    comparison = tw.compare(on(days, 19797), on(seconds, 19797 * 86400))
    assert comparison.witness["day"].startswith("2024-03-15 ")


def test_levels_are_read_as_predictions_read_them():
    one = tw.parse("GPA = 4 -> P\nGPA = 3 -> N")
    two = tw.parse("GPA = 4.0 -> P\nGPA = 3.0 -> N")
    comparison = tw.compare(one, two)
    assert comparison.equivalent
    assert comparison.cases == 2


def test_numbers_are_compared_within_a_tolerance():
    one, two = (tw.parse(f"x <= 1 -> {v}\nx > 1 -> 7.5", target="y", task="regression") for v in (2.5, 2.75))
    comparison = tw.compare(one, two)
    assert [side.prediction for side in comparison.sides] == [2.5, 2.75]
    assert tw.compare(one, two, tolerance=0.25).equivalent
    assert comparison.sides[0].text == "2.5"
    assert comparison.where[0].text == "x <= 1"
    assert comparison.distance is None
    comparison = tw.compare(one, two, {"x": [0, 1, 2, None]})
    assert (comparison.distance.mean, comparison.distance.largest) == (0.1875, 0.25)
    assert "mean difference over all rows of the table 0.1875, largest 0.25" in str(comparison)


def test_rows_that_differ_for_a_missing_value_are_reported_apart():
    one, two = (tw.grow("penguins", max_leaf_nodes=n) for n in (3, 4))
    comparison = tw.compare(one, two, "penguins")
    assert (comparison.rows_differ, comparison.rows_incomplete, sum(w.rows for w in comparison.where)) == (8, 1, 7)
    assert str(comparison).count("1 more row differs because of a missing or unseen value; the") == 1
    assert tw.compare(one, two, "penguins", complete=True).rows_differ == 7


def test_large_trees_say_the_places_that_hold_rows():
    one, two = (tw.grow(adult_like(4000, seed), "y") for seed in (1, 2))
    data = adult_like(300, 3)
    comparison = tw.compare(one, two, data)
    assert not comparison.where_is_all
    assert (
        sum(w.rows for w in comparison.where)
        == comparison.rows_differ
        == (one.predict(data) != two.predict(data)).sum()
    )
    assert "Only regions that contain rows of the table are listed" in str(comparison)


def test_two_trees_that_learned_the_same_truth_table_are_equivalent():
    """Every row of nine columns, learned in other orders: nothing in common but what they say."""
    rng = np.random.default_rng(5)
    cells = np.array(list(itertools.product("ab", repeat=9)))
    data = {f"x{i}": cells[:, i] for i in range(9)} | {"y": rng.choice(["no", "yes"], len(cells))}
    one = tw.grow(data, "y")
    two = tw.grow(data, "y", columns=[f"x{i}" for i in range(8, -1, -1)], criterion="error", categorical="multiway")
    comparison = tw.compare(one, two, complete=True)
    assert comparison.equivalent
    assert (comparison.differ_on, comparison.cases) == (0, 512)
    data["y"][100] = "no" if data["y"][100] == "yes" else "yes"
    comparison = tw.compare(one, tw.grow(data, "y", criterion="gini"), complete=True)
    assert (comparison.differ_on, comparison.cases) == (1, 512)
    assert comparison.witness == {name: str(data[name][100]) for name in comparison.witness}


def test_probabilities_of_two_classes_are_reported_by_the_positive_one():
    one, two = (tw.grow("admissions", preset="id3", max_depth=d) for d in (1, 2))
    comparison = tw.compare(one, two, what="probability")
    assert [side.text for side in comparison.sides] == ["P 60.0 %", "P 33.3 %"]
    assert [side.prediction for side in comparison.sides] == [{"N": 0.4, "P": 0.6}, {"N": 2 / 3, "P": 1 / 3}]
    one, two = (tw.grow("penguins", max_leaf_nodes=n) for n in (2, 3))
    message = tw.compare(one, two, what="probability").sides[0].text
    assert message == "Adelie 70.0 %, Chinstrap 29.6 %, Gentoo 0.5 %"


def test_levels_of_an_order_are_reported_as_one_only_where_both_trees_have_it():
    one, two = "size <= M -> N\nsize > M -> P", "size <= S -> N\nsize > S -> P"
    levels = "order size: S < M < L\n"
    assert [w.text for w in tw.compare(tw.parse(levels + one), tw.parse(levels + two)).where] == ["size = M"]
    more = tw.parse("order size: S < M < L < XL < XXL\n" + two)
    comparison = tw.compare(tw.parse(levels + one), more)
    assert [w.text for w in comparison.where] == ["size in {M, XL, XXL}"], "the first tree has not seen XL"
    turned = tw.parse("order size: L < M < S\nsize <= L -> N\nsize > L -> P")
    assert [w.text for w in tw.compare(tw.parse(levels + one), turned).where] == ["size in {S, M}", "size = L"]


def test_what_stays_at_a_node_is_answered_as_the_tree_says():
    data = {"x": [0, 0, 0, 1, 1, 1, 1, 1], "c": list("aabaabbb"), "y": list("nnpppppp")}
    one, two = (tw.grow(data, "y", categorical="multiway", empty_branch=e) for e in ("parent", "root"))
    comparison = tw.compare(one, two)
    assert comparison.equivalent_on_complete_rows
    assert comparison.witness == {"x": 0, "c": "something else"}
    assert [side.prediction for side in comparison.sides] == ["n", "p"]


def test_a_level_one_tree_has_no_branch_for_is_a_difference():
    one, two = tw.parse("c = a -> P\nc = b -> P"), tw.parse("c = z -> P\nc otherwise -> P", target="class")
    comparison = tw.compare(one, two.with_(target=one.target))
    assert (comparison.differ_on, comparison.cases, comparison.witness) == (1, 3, {"c": "z"})
    assert [side.text for side in comparison.sides] == ["no prediction", "P"]


# -- how they are built ---------------------------------------------------------------------------------------


def kinds_and_texts(a, b):
    return [(c.kind, c.where, c.text) for c in tw.compare(tw.parse(a), tw.parse(b)).changes]


def test_changes_are_reported():
    base = "age <= 5 -> N\nage > 5\n  c in {a, b} -> N\n  c otherwise -> P"
    assert kinds_and_texts(base, base) == []
    assert kinds_and_texts(base, base.replace("5", "6")) == [("threshold", "all rows", "age <= 5 became age <= 6")]
    assert kinds_and_texts(base, base.replace("{a, b}", "{a, d}")) == [
        ("levels", "age > 5", "c in {a, b} became c in {a, d}")
    ]
    assert kinds_and_texts(base, base.replace("5 -> N", "5 -> P")) == [
        ("prediction", "age <= 5", "predicts P instead of N")
    ]
    shorter = "age <= 5 -> N\nage > 5 -> P"
    assert kinds_and_texts(base, shorter) == [
        ("vanished", "age > 5", "the split c in {a, b} (2 leaves below) became a leaf: P")
    ]
    assert kinds_and_texts(shorter, base) == [
        ("appeared", "age > 5", "the leaf P was split by c in {a, b} (2 leaves below)")
    ]
    inside = "c in {a, b} -> N\nc otherwise -> P"
    assert kinds_and_texts(inside, base) == [
        ("inserted", "all rows", "a new split age <= 5 above c in {a, b}, which is now node 2")
    ]
    assert kinds_and_texts(base, inside) == [
        ("removed", "all rows", "the split age <= 5 was removed; c in {a, b}, formerly node 2, took its place")
    ]
    assert kinds_and_texts(shorter, "h <= 1 -> N\nh > 1 -> P") == [
        ("replaced", "all rows", "h <= 1 (2 leaves) replaced age <= 5 (2 leaves)")
    ]
    many, more = "c = a -> N\nc = b -> P", "c = a -> N\nc = d -> P\nc = e -> N"
    assert kinds_and_texts(many, more) == [("levels", "all rows", "branches of c: without b; added d, e")]
    assert kinds_and_texts(many, "c in {a, d} -> N\nc otherwise -> P")[0][0] == "kind"


def test_a_subtree_that_moved_is_found():
    one = "x <= 1\n  a <= 1 -> N\n  a > 1 -> P\nx > 1\n  b <= 1 -> N\n  b > 1 -> P"
    two = "x <= 1\n  b <= 1 -> N\n  b > 1 -> P\nx > 1\n  a <= 1 -> N\n  a > 1 -> P"
    assert [c[0] for c in kinds_and_texts(one, two)] == ["moved", "moved"]
    assert kinds_and_texts(one, two)[0][2] == "a <= 1 (2 leaves) moved to node 4; b <= 1 (2 leaves) took its place"


def test_tests_asked_in_another_order_are_found():
    one = "x <= 1\n  a <= 1 -> N\n  a > 1 -> P\nx > 1 -> N"
    two = "a <= 1 -> N\na > 1\n  x <= 1 -> P\n  x > 1 -> N"
    assert kinds_and_texts(one, two) == [("swapped", "all rows", "a <= 1 now comes before x <= 1, not after it")]
    assert tw.compare(tw.parse(one), tw.parse(two), complete=True).equivalent


def test_most_of_many_levels_are_reported_by_those_left_out():
    one = tw.parse("c in {a, b} -> N\nc otherwise -> P")
    two = tw.parse("c in {c, d, e, f} -> N\nc otherwise -> N")
    comparison = tw.compare(one, two)
    assert [w.text for w in comparison.where] == ["c not in {a, b}"]
    assert not comparison.where[0].region.contains({"c": "z"})


# -- what cannot be compared ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        ("x <= 1 -> N\nx > 1 -> P", "x = a -> N\nx = b -> P", {},
         'column "x" is a number in first and a category in second: the trees cannot be compared. '
         "Grow both with the same kinds."),
        ("x <= 1 -> N\nx > 1 -> P", "x <= 1 -> A\nx > 1 -> B", {}, "they have no class in common"),
        ("x <= 1 -> N\nx > 1 -> P", "x <= 1 -> N\nx > 1 -> P", {"what": "class"},
         'what="class": must be one of prediction, probability.'),
        ("x <= 1 -> N\nx > 1 -> P", "x <= 1 -> N\nx > 1 -> P", {"tolerance": -1}, "tolerance=-1: must be 0 or more"),
        ("x <= 1 -> N\nx > 1 -> P", "x <= 1 -> N\nx > 1 -> P", {"tolerance": 0.1}, "classes are equal or not"),
    ],
)  # fmt: skip
def test_incomparable_models_are_refused(a, b, options, message):
    with pytest.raises(tw.ParameterError) as error:
        tw.compare(tw.parse(a), tw.parse(b), **options)
    assert message in str(error.value)


def test_only_trees_are_compared_and_only_with_their_like():
    tree = tw.grow("admissions", preset="id3")
    with pytest.raises(tw.ParameterError, match=r'b: "m\.json" is not a tree\. Trees come from grow, load or parse\.'):
        tw.compare(tree, "m.json")
    numbers = tw.grow({"x": [1, 2], "y": [0.5, 1.5]}, "y")
    with pytest.raises(tw.ParameterError, match="first predicts classes and second numbers"):
        tw.compare(tree, numbers)
    with pytest.raises(tw.ParameterError, match="is for classes; these trees predict numbers"):
        tw.compare(numbers, numbers, what="probability")
    with pytest.raises(tw.ParameterError, match=r'names=\(.old.,\): must be two, such as \("old", "new"\)\.'):
        tw.compare(tree, tree, names=("old",))
    with pytest.raises(tw.ColumnError, match='has no column "Published"'):
        tw.compare(tree, tree, {"GPA": ["4.0"], "University": ["top10"]})


# -- forms, and size ------------------------------------------------------------------------------------------


def test_every_form_says_the_same_and_names_are_data():
    odd = "<b>\x1b[31m|`\n"
    columns = [Encoding(odd, "nominal", ("<i>", "|b|"))]
    target = Target("y", "classification", ("<N>", "P"))
    one, two = (build_tree(columns, target, node(OneValue(odd, "<i>"), leaf(x), leaf("P"))) for x in ("<N>", "P"))
    comparison = tw.compare(one, two, names=("<one>", "two"))
    assert "\x1b" not in str(comparison)
    assert "<b>" not in comparison.to_html()
    assert "<one>" not in comparison.to_html()
    assert json.loads(json.dumps(comparison.to_dict()))["differ_on"] == 1
    assert comparison.to_frame().shape == (1, 4)
    assert comparison.to_csv().count("\n") >= 2
    assert set(comparison._repr_mimebundle_()) == {"text/plain", "text/html", "text/markdown"}


def test_a_deep_chain_and_many_levels():
    n = 2000
    levels = tuple(map(str, range(n)))
    columns = [Encoding("c", "nominal", levels)]
    below = leaf("P")
    for i, level in enumerate(reversed(levels)):
        below = node(OneValue("c", level, missing=1), leaf("NP"[i % 2]), below)
    chain = build_tree(columns, N_P, below)
    wide = build_tree(
        columns,
        N_P,
        node(Multiway("c", levels, missing=n), *(leaf("NP"[(n - 1 - i) % 2]) for i in range(n)), leaf("P")),
    )
    comparison = tw.compare(chain, wide)
    assert comparison.equivalent_on_complete_rows
    assert comparison.witness == {"c": "something else"}, "the wide tree has no branch for it"
    assert (comparison.differ_on, comparison.cases) == (0, n)
    ordered = build_tree([Encoding("c", "ordered", levels)], N_P, node(Ordinal("c", "5"), leaf("N"), leaf("P")))
    listed = build_tree(columns, N_P, node(Subset("c", levels[:6]), leaf("N"), leaf("P")))
    assert tw.compare(ordered, listed, complete=True).equivalent
