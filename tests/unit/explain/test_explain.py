"""Explanations of one prediction: path, contributions, unusual values, every format."""

import json
import math

import numpy as np
import pytest

import treewise as tw
from tests.support.shapley import unusual_rows, varied_trees

APPLICANT = {"GPA": "3.7", "University": "top20", "Published": "no"}


@pytest.fixture(scope="module")
def admissions():
    return tw.grow("admissions", preset="id3")


@pytest.fixture(scope="module")
def penguins():
    return tw.grow("penguins", max_leaf_nodes=4)


def test_the_applicant_of_the_notes(admissions):
    why = admissions.explain(APPLICANT)
    assert why.sentences == (
        "Class = P (100.0 %: 1 of 1 row like this), because GPA is 3.7, Published is no and University is top20.",
        "It would be N (100.0 %: 4 of 4 rows like that) if GPA were 3.5.",
        "Recommendation was not given and is not needed.",
    )
    assert [(s.node, s.condition, s.cell.text, s.child, s.rows) for s in why.steps] == [
        (0, "GPA = 3.7", "3.7", 2, 5),
        (2, "Published = no", "no", 3, 3),
        (3, "University = top20", "top20", 5, 1),
    ]
    assert [s.after for s in why.steps] == [0.6, 1 / 3, 1.0]
    assert (why.base, why.output, why.prediction, why.node) == (0.5, 1.0, "P", 5)


@pytest.mark.parametrize("seed", range(4))
def test_moves_add_up_to_prediction_less_root(seed):
    for tree, table in varied_trees(seed):
        rows = unusual_rows(table, seed)
        for i, why in enumerate(tree.explain(rows)):
            own = {name: cells[i] for name, cells in rows.items()}
            assert why.prediction == tree.predict(own)
            assert why.node == tree.apply(own)
            if tree.task == "regression":
                root, end = tree[0].prediction, tree.predict(own)
            else:
                place = tree.classes.index(why.prediction)
                root, end = tree.probabilities(0)[place], tree.predict_proba(own)[place]
            assert why.base == root
            assert why.output == end
            scale = max(1.0, abs(root), abs(end))
            assert abs(math.fsum(step.contribution for step in why.steps) - (end - root)) <= 1e-12 * scale
            assert abs(math.fsum(why.contributions.values()) - (end - root)) <= 1e-12 * scale
            assert list(why.contributions) == list(dict.fromkeys(step.column for step in why.steps))


@pytest.mark.parametrize("estimate", ["laplace", "m_estimate=4", "shrinkage"])
def test_estimates_are_followed_on_the_way(estimate):
    tree = tw.grow("penguins", max_depth=3)
    for why in tree.explain(tw.datasets.penguins().take(np.arange(0, 344, 40)), estimate=estimate):
        place = tree.classes.index(why.prediction)
        assert why.output == why.path.outputs[-1, place]
        assert f"% by {estimate.split('=')[0]}" in why.sentence
    row = {"flipper_length_mm": 190, "bill_length_mm": 40}
    why = tree.explain(row, estimate=estimate)
    assert why.output == tree.predict_proba(row, estimate=estimate)[tree.classes.index(why.prediction)]


def test_tests_on_one_column_are_merged(penguins):
    tree = tw.grow({"x": range(40), "y": [i // 10 % 2 for i in range(40)]}, "y")
    why = tree.explain({"x": 12})
    assert len(why.steps) > 1
    assert why.sentence == "y = 1 (100.0 %: 10 of 10 rows like this), because x is 12 (9.5 < x <= 19.5)."
    one = penguins.explain({"flipper_length_mm": 210, "island": "Dream"})
    assert one.sentence == (
        "species = Chinstrap (62.5 %: 5 of 8 rows like this), because flipper_length_mm is 210 (> 206.5)"
        " and island is Dream (in {Dream, Torgersen})."
    )


def test_where_a_missing_or_never_seen_value_went(penguins):
    why = penguins.explain({"flipper_length_mm": None, "island": "Mars"})
    assert (
        "because flipper_length_mm is missing (treated like > 206.5)"
        ' and island is "Mars" (never seen in training, treated like Biscoe).'
    ) in why.sentence
    assert [step.cell.status for step in why.steps] == ["missing", "never seen"]


def test_a_never_seen_level_without_a_branch_stays(admissions):
    row = {"GPA": "3.7", "Published": "no", "University": "top99"}
    why = admissions.explain(row)
    assert why.steps[-1].stays
    assert (why.node, why.steps[-1].contribution, why.prediction) == (3, 0.0, "N")
    assert why.sentences[0].startswith("Class = N (66.7 %: 2 of 3 rows like this), because GPA is 3.7, Published is no")
    assert 'University is "top99" (never seen in training).' in why.sentences[0]
    assert (
        "The tree has no branch for this University; the prediction is that of node 3, which splits on it."
        in why.sentences
    )
    rooted = tw.grow("admissions", preset="id3", empty_branch="root").explain(row)
    assert "The tree has no branch for this University; the prediction is that of the root." in rooted.sentences
    assert (rooted.output, rooted.steps[-1].contribution) == (0.5, pytest.approx(0.5 - 2 / 3))


def test_a_branch_without_rows_says_who_answers():
    tree = tw.grow({"c": ["p", "q"] * 4, "y": ["a", "b"] * 4}, "y", kinds={"c": {"p", "q", "r"}}, preset="id3")
    assert tree.explain({"c": "r"}).sentence == (
        "y = a (50.0 %, from node 0: no training row like this), because c is r."
    )
    numbers = tw.grow(
        {"c": ["p", "q"] * 4, "y": [1.5, 2.5] * 4}, "y", kinds={"c": {"p", "q", "r"}}, categorical="multiway"
    )
    assert numbers.explain({"c": "r"}).sentence == "y = 2 (from node 0: no training row like this), because c is r."


def test_numbers():
    tree = tw.grow({"x": [1, 2, 3, 4], "y": [1.0, 1.5, 7.0, 8.0]}, "y", max_depth=1)
    why = tree.explain({"x": 3.5})
    assert why.sentences == ("y = 7.5 (2 rows like this, sd 0.5), because x is 3.5 (> 2.5).",)
    assert (why.base, why.output, why.contributions) == (4.375, 7.5, {"x": 3.125})
    assert "+3.125" in str(why)


def test_weights_are_reported():
    tree = tw.grow({"x": [0, 0, 1], "w": [2.5, 1, 1], "y": ["a", "b", "b"]}, "y", sample_weight="w")
    assert "a (71.4 %: weight 2.5 of 3.5 like this)" in tree.explain({"x": 0}).sentence


def test_a_tree_written_by_hand_knows_its_path_alone():
    tree = tw.parse("x <= 1 -> a\nx > 1\n    c = p -> b\n    c = q -> a")
    why = tree.explain({"x": 2, "c": "p"})
    assert why.sentences[0] == "class = b, because x is 2 (> 1) and c is p."
    assert why.contributions == {}
    assert [step.contribution for step in why.steps] == [None, None]
    assert why.to_frame().columns == ["step", "node", "condition", "value"]
    single = tw.grow({"x": [1, 1], "y": ["a", "b"]}, "y").explain({"x": 1})
    assert single.sentence.endswith("because the tree has no split.")


def test_rows_of_a_table_and_of_dataframes(penguins):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"flipper_length_mm": [190, 210], "bill_length_mm": [50, 40], "island": ["Dream", "Biscoe"]}
    )
    both = penguins.explain(frame)
    assert [why.row for why in both] == [1, 2]
    alone = penguins.explain(frame.iloc[1])
    assert alone.sentence == both[1].sentence
    assert str(both).startswith("row 1\nspecies = Chinstrap")
    assert both.to_frame()["row"].to_list() == [1, 1, 1, 2, 2, 2]
    assert len(both.to_dict()["explanations"]) == 2
    floats = penguins.explain(
        {"flipper_length_mm": np.float32([190.1]), "bill_length_mm": np.float32([40.3]), "island": ["Dream"]}
    )
    assert "flipper_length_mm is 190.1 (<= 206.5)" in floats[0].sentence


def test_forms(admissions):
    why = admissions.explain(APPLICANT)
    assert json.loads(json.dumps(why.to_dict()))["contributions"]["University"] == pytest.approx(2 / 3)
    assert why.to_dict()["counterfactual"]["changes"][0]["column"] == "GPA"
    assert why.to_frame().columns == ["step", "node", "condition", "value", "rows", "probability", "contribution"]
    assert "| 1 | 2 | GPA = 3.7 | 3.7 | 5 | 60.0 | +10.0 |" in why.to_markdown()
    assert "<script" not in why._repr_mimebundle_()["text/html"]
    assert why.to_csv().splitlines()[1] == "0,0,all rows,,12,0.5,"


def test_hostile_names_stay_data():
    name, level, label = "<b>\n\x1b[31m", 'a|b"\n', "=cmd</td>"
    tree = tw.grow({name: [level, "other"] * 3, "y": [label, "x"] * 3}, "y")
    why = tree.explain({name: level})
    for text in (str(why), why.to_markdown(), why.to_html()):
        assert "\x1b" not in text
    assert "<b>" not in why.to_html()
    assert "</td><" in why.to_html()  # ours
    assert "=cmd</td>" not in why.to_html()


def test_bad_input():
    tree = tw.grow("penguins", max_leaf_nodes=4)
    with pytest.raises(tw.ColumnError, match='the row has no column "bill_length_mm", which node 1 tests'):
        tree.explain({"flipper_length_mm": 190})
    with pytest.raises(tw.DataError, match="the row has 2 values"):
        tree.explain([1, 2])
    with pytest.raises(tw.ParameterError, match='estimate="nonsense"'):
        tree.explain({"flipper_length_mm": 190, "bill_length_mm": 1}, estimate="nonsense")
    hand = tw.parse("c = p -> a\nc = q -> b")
    with pytest.raises(tw.DataError, match="stops at node 0"):
        hand.explain({"c": "never"})


def test_long_paths_stay_short_in_words():
    n = 3000
    lines = [f"{'  ' * i}x <= {i} -> {i % 2}\n{'  ' * i}x > {i}" for i in range(n)]
    chain = "\n".join([*lines, "  " * n + f"x <= {n} -> 1", "  " * n + f"x > {n} -> 0"])
    tree = tw.parse(chain, target="y")
    why = tree.explain({"x": n})
    assert why.sentence == f"y = 1, because x is {n} ({n - 1} < x <= {n})."
    assert len(str(why).splitlines()) < 80
    assert len(why.to_frame()) == n + 2


def test_sets_of_many_levels_are_shortened():
    towns = [f"t{i:02d}" for i in range(40)]
    tree = tw.grow({"town": towns * 2, "y": [i % 2 for i in range(40)] * 2}, "y", max_depth=1, min_level_rows=1)
    assert len(tree.explain({"town": "t00"}).sentence) < 160
    assert "+15}" in tree.explain({"town": "t00"}).sentence
    assert "town is t01 (" in tree.explain({"town": "t01"}).sentence


def test_rows_of_a_table_are_made_when_asked_for(penguins):
    every = penguins.explain("penguins")
    assert len(every) == 344
    assert str(every).endswith("… 324 more rows")
    assert [why.row for why in every[5:7]] == [6, 7]
    assert every[-1].row == 344
    nothing = penguins.explain(tw.datasets.penguins().take(np.array([], np.int64)))
    assert (len(nothing), str(nothing), nothing.to_dict()) == (0, "", {"explanations": []})
    assert penguins.shap(tw.datasets.penguins().take(np.array([], np.int64))).values.shape == (0, 6, 3)


def test_levels_are_reported_as_they_are():
    tree = tw.grow({"c": ["a != b"] * 4 + ["q"] * 4, "y": list("nnnnmmmm")}, "y", missing="branch")
    assert "because c is a != b." in tree.explain({"c": "a != b"}).sentence
    hand = tw.parse('c in {"a != b", "= q"} -> 1\nc otherwise -> 2')
    assert "because c is = q (in {= q, a != b})." in hand.explain({"c": "= q"}).sentence
    other = tw.grow({"c": ["a != b"] * 9 + ["p", "q", "r"], "y": [0] * 9 + [1] * 3}, "y", categorical="one_value")
    assert "because c is p (not a != b)." in other.explain({"c": "p"}).sentence
    sizes = ["s odd", "s M", "L", "XL"]
    ordered = tw.grow({"s": sizes * 5, "y": [0, 1, 1, 0] * 5}, "y", kinds={"s": sizes})
    assert "because s is L (s odd < s <= L)." in ordered.explain({"s": "L"}).sentence
    numbered = tw.parse("1 <= 1 -> a\n1 > 1\n  1 <= 2 -> b\n  1 > 2 -> a")
    assert "if 1 were 2 (1 < 1 <= 2)." in numbered.explain({"1": 9.0}).sentences[1]


def test_a_tree_written_by_hand_knows_the_levels_of_the_table():
    tree = tw.parse("University = top20 -> P\nUniversity otherwise -> N", target="Class")
    message = [why.sentence for why in tree.explain("admissions")]
    assert message[0] == "Class = N, because University is top10 (not top20)."
    typed = tree.explain({"University": "top99"})  # a row alone does not say which levels there are
    assert typed.sentence == 'Class = N, because University is "top99" (not mentioned in the tree).'
    assert typed.steps[0].condition == "University not top20"
    sizes = tw.parse("order s: S < M < L\ns <= M -> a\ns > M -> b")
    assert (
        sizes.explain({"s": "XS"}).sentence
        == 'class = a, because s is "XS" (not mentioned in the tree, treated like <= M).'
    )


def test_what_was_never_seen_goes_with_nothing_known():
    hand = tw.parse("c = p -> a\nc otherwise -> b", target="y")
    tree = hand.refit({"c": ["p"] * 4, "y": list("aaab")})
    assert tree.explain({"c": "zzz"}).sentence.endswith('because c is "zzz" (never seen in training).')


def test_an_infinite_spread_is_called_so():
    x = [-math.inf] * 3 + [0.0, 1.0] + [math.inf] * 3
    tree = tw.grow({"x": x, "y": list("aaaabbbb")}, "y", max_depth=1)
    assert "its interquartile range is infinite" in tree.explain({"x": 0.0}).sentences[2]


def test_data_forms_make_no_words(penguins, monkeypatch):
    explanation = penguins.explain("penguins")
    frame = explanation.to_frame()

    def refuse(*given):
        raise AssertionError("words are made")

    for name in ("nearest_counterfactual", "_reason_sentence", "_notes"):
        monkeypatch.setattr(f"treewise.explain.row_explanation.row_explanation.{name}", refuse)
    assert penguins.explain("penguins").to_frame().equals(frame)
    assert len(explanation.to_csv().splitlines()) == len(frame) + 1
    assert len(explanation[0].to_frame()) == len(explanation[0].steps) + 1
    with pytest.raises(AssertionError, match="words are made"):
        str(explanation[0])


def test_the_ends_of_a_tree_are_walked_once_for_all_rows(penguins, monkeypatch):
    from treewise.explain.row_explanation import path as path_module

    made = []

    class Counted(path_module.RegionTraversal):
        def __init__(self, tree):
            made.append(tree)
            super().__init__(tree)

    monkeypatch.setattr(path_module, "RegionTraversal", Counted)
    kept = [why.sentences for why in penguins.explain("penguins")]
    assert len(made) == 2  # one for the ends, one for the paths
    monkeypatch.setattr(path_module, "_MAX_CACHED", 3)
    assert [why.sentences for why in penguins.explain("penguins")] == kept  # a tree too large to be kept says the same
    assert len(made) > 300
