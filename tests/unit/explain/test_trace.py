"""The trace: every candidate with its arithmetic, against the lecture notes and the reference search."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support.criteria import CLASSIFICATION, REGRESSION
from treewise.explain.trace import NodeTrace
from treewise.train import criteria
from treewise.train.candidates import group_by_value
from treewise.train.criteria import RowStats
from treewise.train.grow import prepare
from treewise.train.reference import find_best_split

ADMISSIONS = """\
node 0 · all rows · 12 rows: 6 N, 6 P                   12·H(6/12) = 12.000 bits
  GPA             12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]
                = 12 − [4(0) + 5(0.97095) + 3(0)]
                = 12 − 4.855   = 7.145  ◄ best
  University      12 − [5·H(3/5) + 3·H(2/3) + 4·H(1/4)]
                = 12 − [5(0.97095) + 3(0.91830) + 4(0.81128)]
                = 12 − 10.855  = 1.145
  Published       12 − [7·H(3/7) + 5·H(3/5)]
                = 12 − [7(0.98523) + 5(0.97095)]
                = 12 − 11.751  = 0.249
  Recommendation  12 − [8·H(5/8) + 4·H(1/4)]
                = 12 − [8(0.95443) + 4(0.81128)]
                = 12 − 10.881  = 1.119
  → split on GPA; next best University, 6.000 behind

node 1 · GPA = 3.5 · 4 rows: 4 N · pure

node 2 · GPA = 3.7 · 5 rows: 2 N, 3 P                      5·H(3/5) = 4.855 bits
  GPA             used above (all rows 3.7)
  University      4.855 − [2·H(1/2) + 1·H(1/1) + 2·H(1/2)]
                = 4.855 − [2(1) + 1(0) + 2(1)]
                = 4.855 − 4                      = 0.855
  Published       4.855 − [3·H(1/3) + 2·H(2/2)]
                = 4.855 − [3(0.91830) + 2(0)]
                = 4.855 − 2.755                  = 2.100  ◄ best
  Recommendation  4.855 − [5·H(3/5)]
                  all 5 rows are good: no split  = 0.000
  → split on Published; next best University, 1.245 behind

node 3 · GPA = 3.7 and Published = no · 3 rows: 2 N, 1 P   3·H(1/3) = 2.755 bits
  GPA             used above (all rows 3.7)
  University      2.755 − [1·H(0/1) + 1·H(1/1) + 1·H(0/1)]
                = 2.755 − [1(0) + 1(0) + 1(0)]
                = 2.755 − 0                      = 2.755  ◄ best
  Published       used above (all rows no)
  Recommendation  2.755 − [3·H(1/3)]
                  all 3 rows are good: no split  = 0.000
  → split on University

node 4 · GPA = 3.7 and Published = no and University = top10 · 1 row: 1 N · pure
node 5 · GPA = 3.7 and Published = no and University = top20 · 1 row: 1 P · pure
node 6 · GPA = 3.7 and Published = no and University = top30 · 1 row: 1 N · pure
node 7 · GPA = 3.7 and Published = yes · 2 rows: 2 P · pure
node 8 · GPA = 4.0 · 3 rows: 3 P · pure

H(p) in bits, p the share of P; information gain is H(Y) − H(Y|Z).
Rounded for display; differences are taken before rounding."""

WIDE = """\
  GPA             3.5 [4 0]  3.7 [2 3]  4.0 [0 3]         12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)] = \
12 − 4.855  = 7.145  ◄ best
  University      top10 [2 3]  top20 [1 2]  top30 [3 1]   12 − [5·H(3/5) + 3·H(2/3) + 4·H(1/4)] = \
12 − 10.855 = 1.145
  Published       no [4 3]  yes [2 3]                     12 − [7·H(3/7) + 5·H(3/5)]            = \
12 − 11.751 = 0.249
  Recommendation  good [3 5]  normal [3 1]                12 − [8·H(5/8) + 4·H(1/4)]            = \
12 − 10.881 = 1.119"""

PENGUINS = """\
  column             best test                  tried  branches               H after    gain
  flipper_length_mm  <= 206.5 (missing with >)     54  [149 63 1] [3 5 123]    0.7161  0.7975  ◄
  bill_length_mm     <= 42.35 (missing with >)    163  [139 1 3] [13 67 121]   0.8015  0.7121
  bill_depth_mm      <= 16.35 or missing           79  [7 0 115] [145 68 9]    0.8298  0.6838
  island             = Biscoe                       3  [44 0 124] [108 68 0]   0.8976  0.6161
  body_mass_g        <= 4325 (missing with >)      93  [136 63 8] [16 5 116]   0.9575  0.5561
  sex                missing                        1  [6 0 5] [146 68 119]    1.5033  0.0103
  393 candidates scored (missing rows tried in every branch, and apart)"""


@pytest.fixture(scope="module")
def admissions():
    return tw.grow("admissions", preset="id3").trace("admissions", per="total")


@pytest.fixture(scope="module")
def penguins():
    return tw.candidates("penguins")


# -- as the notes write it ---------------------------------------------------------------------------------


def test_cs221_section_5_in_80_columns(admissions):
    assert str(admissions) == ADMISSIONS


def test_cs221_section_5_on_a_wide_terminal(admissions):
    assert WIDE in admissions.render(width=140)


def test_id3_notes_in_nats():
    root = tw.candidates("seven_points", unit="nats")
    assert str(root).splitlines()[7:10] == [
        "  x2 <= 0.5  0.5983 − [3/7·H(1/3) + 4/7·H(4/4)]",
        "           = 0.5983 − [3/7(0.63651) + 4/7(0)]",
        "           = 0.5983 − 0.2728  = 0.3255  ◄ best",
    ]
    matches = re.findall(r"\d  (= 0\.\d{4})", str(root))
    assert matches == ["= 0.2121", "= 0.2022", "= 0.3255", "= 0.1175"]


def test_chapter_8_by_entropy_and_by_gini():
    by_entropy, by_gini = (tw.candidates("seven_rows", criterion=c) for c in ("entropy", "gini"))
    assert [round(c.gain, 3) for c in by_entropy.columns.values()] == [0.128, 0.020, 0.020]
    assert [round(c.gain, 3) for c in by_gini.columns.values()] == [0.085, 0.014, 0.014]
    assert by_gini["X1"].formula == "0.4898 − [3/7·G(1/3) + 4/7·G(3/4)]"
    assert by_gini["X1"].arithmetic == "0.4898 − [3/7(0.44444) + 4/7(0.37500)]"


def test_gain_ratio_divides_by_the_split_information():
    gpa = tw.candidates("admissions", criterion="gain_ratio", categorical="multiway", per="total")["GPA"]
    assert gpa.formula == "(12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]) / [12·H(4/12, 5/12, 3/12)]"
    assert gpa.arithmetic == "(12 − [4(0) + 5(0.97095) + 3(0)]) / [12(1.55459)]"
    assert gpa.score == pytest.approx(7.145247 / (12 * tw.entropy([4, 5, 3])))
    assert gpa.gain == pytest.approx(7.145247)


def test_c45_pays_for_its_thresholds_and_leaves_out_columns_below_average():
    root = tw.candidates("outlier", criterion="c45")
    assert root["x1"].formula.startswith("(0.9928 − [8/20·H(0/8) + 12/20·H(11/12)] − log₂(7)/20) / H(")
    gain = tw.information_gain([9, 11], [[8, 0], [1, 11]])
    assert root["x1"].score == pytest.approx((gain - math.log2(7) / 20) / tw.entropy([8, 12]))
    assert (root["x2"].score, root["x2"].note) == (None, "gain below average")
    assert (root.winner, root.runner_up, root.margin) == ("x1", None, None)


def test_c45_shows_the_deduction_and_the_average():
    root = tw.candidates("four_points", criterion="c45")
    assert root.average == pytest.approx((root["x1"].net + root["x2"].net) / 2)
    assert root["x1"].net == pytest.approx(root["x1"].gain - math.log2(2) / 4)
    text = str(root)
    assert "\n             gain 0.3113 − log₂(2)/4 = 0.0613: below average\n" in text
    assert "\n             gain 0.1226\n" in text
    assert "→ split on x2 <= 0.5; average gain 0.0919; columns below it do not compete" in text
    assert r"\text{(gain 0.3113 $-$ log$_2$(2)/4 = 0.0613: below average)}" in root.render("latex")
    sheet = root.render(blanks=True)
    assert "average gain _____; columns" in sheet
    assert "below average" not in sheet
    table = str(tw.candidates("penguins", criterion="c45"))
    assert re.search(r"flipper_length_mm .* 0\.7975  0\.7807  0\.8144  ◄", table)
    assert tw.candidates("four_points").average is None


def test_any_compares_per_further_branch():
    gpa = tw.candidates("admissions", categorical="any", per="total")["GPA"]
    multiway = next(t for t in gpa.tests if t.candidate.split.kind == "multiway")
    assert multiway.formula == "(12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]) / 2"
    assert multiway.score == pytest.approx(multiway.gain / 2, abs=1e-9)
    assert gpa.words == "GPA = 3.5"


def test_three_classes_show_all_shares():
    tests = tw.candidates("penguins", columns=["island"])["island"].tests
    assert tests[0].formula.startswith("1.5136 − [124/344·H(56/124, 68/124, 0/124) + ")


def test_regression_shows_variances():
    data = {"x": [1, 2, 3, 4], "y": [1.0, 2.0, 8.0, 9.5]}
    best = tw.candidates(data, "y", per="total")["x"]
    assert (best.words, best.formula) == ("x <= 2.5", "54.187 − [2·Var₁ + 2·Var₂]")
    assert best.arithmetic == "54.187 − [2(0.2500) + 2(0.5625)]"
    assert best.branches == ((2, 1.5), (2, 8.75))
    text = str(tw.candidates(data, "y"))
    assert "4 rows, mean 5.125" in text
    assert "Var₁: 2 rows, mean 1.5 · Var₂: 2 rows, mean 8.75\n" in text
    assert r"\text{Var$_1$: 2 rows, mean 1.5; Var$_2$: 2 rows, mean 8.75}" in tw.candidates(data, "y").render("latex")


def test_regression_writes_all_numbers_alike():
    data = {"x": [1, 2, 3, 4], "y": [100.0, 200.0, 350.0, 250.5]}
    best = tw.candidates(data, "y")["x"]
    assert best.arithmetic == "8,131.3 − [2/4(2,500.0) + 2/4(2,475.1)]"
    weighted = str(tw.candidates(data, "y", sample_weight=[2, 1, 1, 1]))
    assert "Var₁: 2 rows, weight 3, mean 133.33 · Var₂: 2 rows, mean 300.25" in weighted


def test_weights_stand_for_counts():
    root = tw.candidates("admissions", sample_weight=[0.5] * 6 + [1.25] * 6, preset="id3", per="total")
    assert root["GPA"].formula == "9.063 − [5·H(0/5) + 4·H(1.5/4) + 1.5·H(1.5/1.5)]"
    assert "12 rows, weight 10.5: 7.5 N, 3 P" in str(root)


# -- columns with many candidates --------------------------------------------------------------------------


def test_penguins_as_a_table(penguins):
    assert PENGUINS in penguins.render(width=120)
    assert (penguins.tried, penguins["flipper_length_mm"].tried) == (393, 54)
    assert penguins.margin == pytest.approx(0.0854, abs=5e-5)
    assert "205.5 0.7893 · 206.5 0.7975 · 207.5 0.7859" in str(penguins)
    assert "  gain at each threshold of flipper_length_mm\n    173 ▏" in str(penguins)
    by_ratio = tw.candidates("penguins", criterion="gain_ratio", columns=["bill_length_mm"])
    assert "  gain ratio at each threshold of bill_length_mm\n" in str(by_ratio)


def test_missing_rows_are_tried_on_both_sides_and_apart(penguins):
    tests = [t for t in penguins["flipper_length_mm"].tests if " 206.5" in t.words]
    assert [t.words for t in tests] == ["flipper_length_mm <= 206.5 or missing", "flipper_length_mm > 206.5 or missing"]
    assert [t.label for t in tests] == [
        "flipper_length_mm <= 206.5 or missing",
        "flipper_length_mm <= 206.5 (missing with >)",
    ]
    assert penguins["flipper_length_mm"].tests[-1].words == "flipper_length_mm present"
    apart = tw.candidates("penguins", missing="branch", columns=["sex"])["sex"]
    assert apart.words == apart.best.label == "sex = FEMALE (missing apart)"
    assert [sum(b) for b in apart.branches] == [165, 168, 11]


def test_missing_rows_are_reported_as_the_tree_says_them():
    tree = tw.grow("penguins", max_depth=1)
    text = str(tree.trace("penguins"))
    assert "flipper_length_mm > 206.5 or missing" in str(tree)
    assert "→ split on flipper_length_mm > 206.5 or missing; next best bill_length_mm > 42.35 or missing" in joined(
        text
    )
    data = {"c": ["u", "v", "w", None], "y": ["p", "q", "q", "q"]}
    best = tw.candidates(data, "y", categorical="one_value")["c"]
    assert best.words == best.best.label == "c = u (missing with the others)"
    multiway = tw.candidates(data, "y", categorical="multiway")
    assert multiway["c"].words == "c = u | v | w (missing with v)"
    assert "→ split on c (missing with v)" in str(multiway)


def joined(text):
    """Undo the breaking of lines."""
    return re.sub(r"\s+", " ", text)


def test_top_means_columns():
    text = tw.candidates("penguins", top=2).render(width=100)
    assert "bill_length_mm" in text
    assert "bill_depth_mm" not in text
    assert "… 4 more columns" in text


def test_column_lists_all_its_candidates():
    root = tw.candidates("penguins", column="bill_depth_mm")
    listed = [line for line in str(root).splitlines() if re.match(r"  bill_depth_mm", line)]
    assert len(listed) == len(root["bill_depth_mm"].tests) == 2 * 79 + 1


# -- reasons -----------------------------------------------------------------------------------------------


def test_columns_that_cannot_split_say_why():
    data = {
        "same": [1, 1, 1, 1],
        "gone": [None] * 4,
        "flag": [True] * 4,
        "x": [1, 2, 3, 4],
        "y": list("abab"),
    }
    root = tw.candidates(data, "y", min_samples_leaf=3)
    assert {name: column.note for name, column in root.columns.items()} == {
        "same": "all 4 rows are 1: no split",
        "gone": "all rows missing",
        "flag": "all 4 rows are true: no split",
        "x": "every test leaves a branch too small (min_samples_leaf=3)",
    }
    assert [c.gain for c in root.columns.values()][:3] == [0, 0, 0]
    assert not any(test.eligible for test in root["x"].tests)
    assert root.winner is None
    assert "→ a leaf: every split leaves a branch below min_samples_leaf" in str(root)


def test_one_value_and_missing_rows_can_be_split():
    root = tw.candidates({"x": [1, 1, None, None], "y": [0, 0, 1, 1]}, "y")
    assert (root["x"].words, root["x"].gain, root["x"].tried) == ("x present", 1, 1)  # as the tree prints it


def test_a_leaf_records_why_it_stopped_and_what_it_could_have_asked():
    trace = tw.grow("admissions", preset="id3", max_depth=1).trace("admissions", per="total")
    assert "→ a leaf: max_depth is reached; best would be Published (2.100)" in str(trace)
    assert [node.id for node in trace] == [0, 2]


def test_ties_are_reported():
    root = tw.candidates("xor")
    assert (root.winner, root.runner_up, root.margin, root.tie) == ("x1", "x2", 0, True)
    assert "x2 <= 0.5 is as good: the earlier column is taken" in str(root)


def test_with_random_ties_the_one_that_was_drawn_wins():
    winners = set()
    for seed in range(8):
        tree = tw.grow("xor", ties="random", random_state=seed)
        root = tree.trace("xor")[0]
        assert root.winner == tree[0].split.column
        assert root.agrees
        winners.add(root.winner)
    assert winners == {"x1", "x2"}


# -- against the search, and by hand -----------------------------------------------------------------------


def value_of(arithmetic):
    """Compute ``12 − [4(0) + 5(0.97095)]`` as Python would."""
    plain = arithmetic.replace("−", "-").replace("[", "(").replace("]", ")")
    return eval(re.sub(r"(?<=\d)\(", "*(", plain))


tables = st.integers(2, 9).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "a": st.lists(st.sampled_from([1, 2, 3, None]), min_size=n, max_size=n),
            "b": st.lists(st.sampled_from(["u", "v", "w", None]), min_size=n, max_size=n),
            "y": st.lists(st.sampled_from(["p", "q", "r"]), min_size=n, max_size=n),
        }
    )
)
options = st.fixed_dictionaries(
    {
        "criterion": st.sampled_from(CLASSIFICATION),
        "categorical": st.sampled_from(["subset", "multiway", "one_value", "ordinal", "any"]),
        "missing": st.sampled_from(["learn", "branch"]),
        "min_samples_leaf": st.integers(1, 2),
    }
).filter(
    lambda o: o["criterion"] != "c45" or o["min_samples_leaf"] == 1
)  # with a limit, what C4.5 pays depends on where missing rows fit


@settings(max_examples=60, deadline=None)
@given(tables, options, st.sampled_from(["row", "total"]))
def test_the_winner_is_the_learners_and_the_arithmetic_adds_up(data, chosen, per):
    data["b"] = ["u", *data["b"][1:]]  # a column of nothing but missing would be one of numbers
    root = tw.candidates(data, "y", per=per, **chosen)
    if root.settled:
        assert len(set(data["y"])) == 1
        return
    training_set = prepare(data, "y", **chosen)
    search = find_best_split(training_set, np.arange(len(training_set)))
    if search.winner is None:
        assert root.winner is None
    else:
        assert root[root.winner].best.candidate.split == search.winner.split
    for column in root.columns.values():
        for test in column.tests:
            assert sum(map(sum, test.branches)) == len(data["y"])
            assert value_of(test.arithmetic) == pytest.approx(test.score, abs=3e-3)
        if column.score is not None:
            assert value_of(column.arithmetic) == pytest.approx(column.score, abs=3e-3)


@settings(max_examples=30, deadline=None)
@given(tables)
def test_gains_are_those_of_the_formula(data):
    for criterion in ("entropy", "gini", "error"):
        root = tw.candidates({**data, "b": ["u", *data["b"][1:]]}, "y", criterion=criterion)
        parent = list(root.counts.values())
        for test in (t for column in root.columns.values() for t in column.tests):
            expected = tw.information_gain(parent, test.branches, criterion=criterion)
            assert test.gain == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("uvw"), st.floats(0, 100)), min_size=2, max_size=8))
def test_regression_before_is_after_plus_gain(rows):
    data = {"a": [r[0] for r in rows], "b": [r[1] for r in rows], "y": [r[2] for r in rows]}
    for criterion in REGRESSION:
        root = tw.candidates(data, "y", task="regression", criterion=criterion)
        for test in (t for column in root.columns.values() for t in column.tests):
            after = sum(b.weight * b.impurity for b in test.parts) / len(rows)
            assert after + test.gain == pytest.approx(root.impurity, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("criterion", ["entropy", "gini", "gain_ratio", "c45"])
@pytest.mark.parametrize("categorical", ["subset", "multiway", "any"])
def test_every_node_of_a_grown_tree_agrees_with_its_trace(criterion, categorical):
    tree = tw.grow("penguins", criterion=criterion, categorical=categorical, max_depth=4)
    trace = tree.trace("penguins")
    inner = [node for node in trace if node.split is not None]
    assert len(inner) == sum(not n.is_leaf for n in tree)
    assert all(node.agrees for node in inner)
    assert [node.chosen.gain for node in inner] == pytest.approx([tree[node.id].gain for node in inner])
    assert [node.impurity for node in inner] == pytest.approx([tree[node.id].impurity for node in inner])
    assert [node.rows for node in inner] == [tree[node.id].rows for node in inner]


def test_units_and_totals():
    bits, nats = tw.candidates("penguins"), tw.candidates("penguins", unit="nats")
    total = tw.candidates("penguins", per="total")
    for name in bits:
        assert nats[name].gain == pytest.approx(bits[name].gain * math.log(2))
        assert total[name].gain == pytest.approx(bits[name].gain * 344)
    assert total.impurity == pytest.approx(344 * bits.impurity)


def test_a_weight_of_two_is_the_row_twice():
    data = {"x": [1, 2, 3, 4], "y": list("abba")}
    twice = {
        name: [v for v, w in zip(cells, (2, 1, 1, 3), strict=True) for _ in range(w)] for name, cells in data.items()
    }
    weighted = tw.candidates(data, "y", sample_weight=[2, 1, 1, 3])
    repeated = tw.candidates(twice, "y")
    assert [t.formula for t in weighted["x"].tests] == [t.formula for t in repeated["x"].tests]
    assert [t.gain for t in weighted["x"].tests] == [t.gain for t in repeated["x"].tests]


def test_weights_given_as_an_array_are_traced():
    data = {"x": [1, 2, 3, 4, 5], "y": list("abbab")}
    weight = [0.5, 3, 1, 2.25, 1]
    tree = tw.grow(data, "y", sample_weight=weight)
    trace = tree.trace(data, sample_weight=np.array(weight))
    assert trace.notes == ()
    inner = [node for node in trace if node.split is not None]
    assert [node.chosen.gain for node in inner] == pytest.approx([tree[node.id].gain for node in inner])
    assert [node.id for node in inner if node.agrees] == [n.id for n in tree if not n.is_leaf]
    named = tree.trace({**data, "w": weight}, sample_weight="w")
    assert str(named) == str(trace)


def test_weights_that_are_not_given_are_missed():
    data = {"x": [1, 2, 3, 4], "y": list("abba")}
    tree = tw.grow(data, "y", sample_weight=[2, 1, 1, 3])
    (note,) = tree.trace(data).notes
    assert note.startswith("the tree was grown with weights; give sample_weight=")
    assert note in joined(str(tree.trace(data)))
    (note,) = tree.trace(data, sample_weight=[1, 1, 1, 1.5]).notes
    assert note == "the tree was grown with other weights: a total of 7, here 4.5"
    assert tw.grow(data, "y").trace(data).notes == ()
    assert tree.trace({"x": [1, 2], "y": ["a", "b"]}).notes == ()
    balanced = tw.grow({**data, "w": [2, 1, 1, 3]}, "y", sample_weight="w", class_weight="balanced")
    assert balanced.trace({**data, "w": [2, 1, 1, 3]}).notes == ()


@pytest.mark.parametrize("weight", [None, 1e-300, 1.0, 1e300])
def test_counts_of_a_column_are_exact_whole_numbers(weight):
    weights = None if weight is None else np.random.default_rng(1).random(344) * weight
    training_set = prepare("penguins", sample_weight=weights)
    rows = np.arange(0, len(training_set), 3)
    for column, values in enumerate(training_set.columns):
        scene = group_by_value(training_set, column, rows)
        for stats, its_rows in [(b.stats, rows[values[rows] == b.value]) for b in scene.value_stats]:
            counts = [0, 0, 0]
            for row in its_rows:
                counts[training_set.y[row]] += int(training_set.weight[row])
            assert stats == RowStats(len(its_rows), sum(counts), tuple(counts))
            assert all(type(c) is int for c in (stats.rows, stats.weight, *stats.counts))


# -- trees made by hand, and other tables ------------------------------------------------------------------


def test_a_split_by_hand_that_is_not_the_best_is_reported():
    points = tw.datasets.four_points()
    root = tw.grow(points, max_depth=0).split(0, "x1 <= 1.5", points).trace(points)[0]
    assert not root.agrees
    assert (root.winner, root["x1"].words, root.chosen.words) == ("x1", "x1 <= 0.5", "x1 <= 1.5")
    text = str(root)
    assert "→ the tree splits on x1 <= 1.5 (0.1226); best here is x1 <= 0.5 (0.3113)" in text
    assert "= 0.1226  ◄ tree\n" in text


def test_any_threshold_between_two_neighbours_is_the_same_test():
    points = tw.datasets.four_points()
    root = tw.grow(points, max_depth=0).split(0, "x1 <= 0.3", points).trace(points)[0]
    assert root.agrees
    assert len(root["x1"].tests) == 2
    assert "→ split on x1 <= 0.3, which is the same as x1 <= 0.5; next best" in str(root)


@pytest.mark.parametrize("criterion", ["absolute_error", "squared_error", "poisson"])
def test_a_grown_tree_of_numbers_has_each_test_once(criterion):
    data = {"x": [2, 0, 1, 4, None, 3], "c": list("uvwuvw"), "y": [2.0, 0.5, 1.0, 7.0, 3.0, 3.5]}
    tree = tw.grow(data, "y", task="regression", criterion=criterion)
    for node in tree.trace(data):
        assert node.agrees
        for column in node.columns.values():
            words = [t.words for t in column.tests]
            assert len(set(words)) == len(words)
    assert "◄ tree" not in str(tree.trace(data))


def test_a_written_tree_is_traced_with_its_own_kind_of_split():
    tree = tw.parse("GPA = 3.5 -> N\nGPA = 3.7 -> P\nGPA = 4.0 -> P", target="Class")
    root = tree.trace("admissions", per="total")[0]
    assert root.chosen.formula == "12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]"
    assert root.agrees
    assert root["GPA"].words == "GPA = 3.5 | 3.7 | 4.0"


def test_another_table_is_seen_as_the_tree_parts_it():
    tree = tw.grow("admissions", preset="id3")
    new = {
        "GPA": ["3.7", "3.7", "2.0", "4.0"],
        "University": ["top10", "top20", "top20", "top20"],
        "Published": ["no", "no", "yes", "no"],
        "Recommendation": ["good", "normal", "good", "normal"],
        "Class": ["N", "P", "P", "N"],
    }
    trace = tree.trace(new)
    assert [trace[i].rows for i in (0, 1, 2, 8)] == [4, 0, 2, 1]
    assert trace[1].settled == "no_rows"
    assert trace[2].chosen is None
    text = trace.render(width=120)
    assert "note  GPA: 1 row with a level the tree has never seen, counted as missing here" in text
    assert "→ the tree splits on Published, which sends all rows to one branch; best is University (1.0000)" in text


def test_only_the_requested_node():
    trace = tw.grow("admissions", preset="id3").trace("admissions", node=2)
    assert [node.id for node in trace] == [2]
    assert str(trace).startswith("node 2 · GPA = 3.7")
    assert trace[0].winner == "GPA"


# -- sizes and shapes --------------------------------------------------------------------------------------


def test_a_deep_tree_is_traced_node_by_node():
    n = 1500
    data = {"x": list(range(n)), "y": [i % 2 for i in range(n)]}
    tree = tw.grow(data, "y")
    trace = tree.trace(data)
    assert tree.depth == n - 1
    assert len(trace) == n - 1
    deepest = trace[len(tree) - 3]
    assert (deepest.rows, deepest.margin) == (2, None)
    assert deepest.words.startswith("… and x > ")
    assert deepest.words.count(" and ") == 5


def test_names_are_made_safe():
    data = {"a\x1b[31m": ["u\n", "v", "u\n", "v"], "y": ["p\x07", "q", "p\x07", "q"]}
    text = str(tw.candidates(data, "y"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "a\\x1b[31m" in text


def test_numbers_as_classes_are_not_mistaken_for_counts():
    text = str(tw.candidates({"x": [1, 2, 3, 4], "died": [0, 1, 1, 1]}, "died"))
    assert text.startswith("node 0 · all rows · 4 rows, died 0: 1, 1: 3 ")


def test_a_pure_table_has_nothing_to_compute():
    root = tw.candidates({"x": [1, 2], "y": ["a", "a"]}, "y")
    assert isinstance(root, NodeTrace)
    assert (root.settled, dict(root.columns), root.winner) == ("pure", {}, None)
    assert str(root).startswith("node 0 · all rows · 2 rows: 2 a · pure")


def test_one_line_representations(admissions):
    assert repr(admissions) == "<Trace of Class · 12 rows · 3 nodes>"
    assert repr(admissions[0]) == "<node 0 · all rows · 12 rows · 4 candidates · best GPA>"


@pytest.mark.parametrize("size", [1e100, 1e-100, 1e9])
def test_targets_of_any_size_can_be_shown(size):
    root = tw.candidates({"x": [1, 2, 3, 4], "y": [0.5 * size, -size, 1.5 * size, size]}, "y", task="regression")
    assert root["x"].words == "x <= 2.5"
    assert "◄ best" in str(root)


def test_a_rule_of_ones_own_is_shown_beside_the_gain(monkeypatch):
    """As CONTRIBUTING.md says: an entry, a line in RULES, and what the candidates compete by."""
    by_gini = replace(criteria.CRITERIA["gini"], name="evenness", rule="even", impurity="gini")
    monkeypatch.setitem(criteria.CRITERIA, "evenness", by_gini)
    legend = "candidates compete by how even their branches are"
    rule = criteria.ScoreRule(legend, lambda gain, tolerance, node, groups: (min(g.weight for g in groups) << 60, 0))
    monkeypatch.setitem(criteria.RULES, "even", rule)
    root = tw.candidates("four_points", criterion="evenness")
    assert root.winner == "x1"
    assert [test.score for test in root["x1"].tests] == [2.0, 1.0]
    message = str(root)
    assert re.search(r"column +best test .* gain +even\n", message)
    assert "; candidates compete by how even their branches are." in " ".join(message.split())


def test_scores_are_headed_as_their_rule_says(monkeypatch):
    rule = replace(criteria.RULES["ratio"], name="evenness of branches", heading="even")
    monkeypatch.setitem(criteria.RULES, "ratio", rule)
    assert re.search(r"test +gain +even ", tw.stump("admissions", criterion="gain_ratio").to_text())
    unstable = tw.stability("admissions", criterion="gain_ratio", resamples=2)
    assert "Best split on another column, by evenness of branches" in unstable.to_text()
